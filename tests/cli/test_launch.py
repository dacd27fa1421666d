import json
from typing import Any

import numpy as np
import pytest

from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.machines import snapshot
from dwarfgpu.program.code.code_object import opened
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

EXAMPLE = "dwarfgpu/examples/launch.json"
QUEUE, PACKET, SIGNAL, DESCRIPTOR = "0x7f0000010000", "0x7f0000011000", "0x7f0000012080", "0x7f0000000540"


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def fixture(name: str) -> str:
    return f"fixtures/amdgpu/launch.{name}.co"


def state(run: Any, file: str, kernel: str, *words: str) -> Any:
    status, out, err = run("state", file, kernel, *words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("path", sorted(ROOT.glob("fixtures/amdgpu/launch*.co")), ids=lambda path: path.name)
def test_text_is_at_most_80_columns_and_has_every_register(run, path):
    words = ("state", str(path), "everything", "--grid", "100,6,2", "--work-group", "16,4,2", "--wave", "4")
    status, out, _err = run(*words)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for each in state(run, str(path), "everything", *words[3:])["registers"]:
        assert f"\n    {each['registers']} " in out
        assert each["name"] in out


def test_arguments_by_name(run, monkeypatch):
    from attrs import evolve

    from dwarfgpu.execution.launch import planning

    facts = planning._facts

    def named(file, kernel):
        found = facts(file, kernel)
        (first, *rest) = found.kernel.metadata.args
        metadata = evolve(found.kernel.metadata, args=(evolve(first, name="out"), *rest))
        return evolve(found, kernel=evolve(found.kernel, metadata=metadata))

    monkeypatch.setattr(planning, "_facts", named)
    words = (fixture("gfx90a.w64.O2"), "group_x", "--grid", "64", "--work-group", "64")
    found = state(run, *words, "--arg", "out=0x77")
    assert found["kernarg"]["arguments"][0]["bytes"] == "77" + "00" * 7
    for more, message in (
        (("--arg", "out=1", "--arg", "2"), "group_x has 1 argument, and 2 values are given"),
        (("--arg", "out=1", "--arg", "out=2"), "--arg out is given twice"),
        (("--arg", "in=1"), "group_x has no argument 'in'"),
    ):
        status, out, err = run("state", *words, *more)
        assert (status, out) == (2, "")
        assert message in err


@for_each("kind, address, name",
    ("queue", QUEUE, "amd_queue_t"), ("packet", PACKET, "hsa_kernel_dispatch_packet_t"),
    ("signal", SIGNAL, "amd_signal_t"), ("kernel-descriptor", DESCRIPTOR, "kernel descriptor"))  # fmt: skip
def test_hsa_shows_each_structure(run, kind, address, name):
    status, out, err = run("hsa", kind, address, "--state", EXAMPLE)
    assert (status, err) == (0, "")
    assert out.startswith(f"{name} at {address}, ")
    assert max(map(len, out.splitlines())) <= 80
    status, out, _err = run("hsa", kind, f"global#{address}", "--state", EXAMPLE, "--json")
    found = json.loads(out)
    assert (found["name"], found["address"], found["problems"]) == (name, address, [])
    end = 0
    for field in found["fields"]:
        assert field["offset"] == end
        end += field["size"]
    assert end == found["size"]


def test_hsa_shows_amd_kernel_code_t(run, tmp_path):
    file = "fixtures/asm/clrx.gfx801.co"
    machine = machine_for(file, "test1")
    done = launch(machine, file, "test1", grid=(64,), work_group=(64,))
    snapshot.save(machine, tmp_path / "clrx.dgs")
    address = done.plan.load_address + done.plan.kernel.symbol.value
    status, out, _err = run("hsa", "kernel-code", hex(address), "--state", str(tmp_path / "clrx.dgs"))
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    rows = {tuple(line.split()) for line in out.splitlines()}
    assert ("48", "4", "compute_pgm_rsrc1", "0x2c0041") in rows
    assert ("84", "2", "wavefront_sgpr_count", "15") in rows
    assert ("103", "1", "wavefront_size_log2", "6") in rows
    assert ("PRIVATE_ELEMENT_SIZE", "1", "(4", "bytes)") in rows


def test_hsa_needs_a_target_with_such_queues(run, tmp_path):
    path = tmp_path / "host.json"
    path.write_text('{"schema": 1, "target": "x86_64", "waves": []}')
    status, _out, err = run("hsa", "queue", "0x10", "--state", str(path))
    assert (status, "x86_64 is not an AMD GPU, which has such structures" in err) == (2, True)


def test_the_example_is_what_a_launch_gives(tmp_path):
    """The example is what a launch writes; the path of the code object depends on the place of the snapshot."""
    file = "fixtures/containers/tiny.gfx90a.co"
    machine = machine_for(file, "tiny")
    launch(machine, file, "tiny", grid=(128,), work_group=(64,), args=[np.arange(4, dtype=np.int32), 5])
    snapshot.save(machine, tmp_path / "launch.json")
    made, kept = (json.loads(path.read_text()) for path in (tmp_path / "launch.json", ROOT / EXAMPLE))
    assert made["code_objects"][0].pop("path") != kept["code_objects"][0].pop("path")
    assert made == kept
    assert opened(file).kernels.kernels[0].name == "tiny"
