import json
import os
import subprocess
import sys
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


def test_state_as_json(run):
    found = state(
        run, fixture("gfx90a.w64.O0"), "everything", "--grid", "100,6,2", "--work-group", "16,4,2", "--wave", "3",
        "--arg", "0x1000", "--arg", "-1")  # fmt: skip
    assert (found["schema"], found["target"], found["waves"]) == (1, "amdgcn-gfx90a", 20)
    assert found["wave"] == {"number": 3, "work_group": [1, 0, 0], "wave_in_group": 0, "lanes": 64}
    by_name = {each["registers"]: each for each in found["registers"]}
    kernarg = int(found["kernarg"]["address"], 16)
    assert by_name["s[8:9]"]["words"] == [kernarg & 0xFFFFFFFF, kernarg >> 32]
    assert by_name["s[8:9]"] == {
        "registers": "s[8:9]",               "name": "Kernarg Segment Ptr",       "set_by": "CP",
        "asked_by": "ENABLE_SGPR_KERNARG_SEGMENT_PTR",
        "meaning": "address of the kernarg segment: kernarg_address of the packet",
        "spec": 'AMDGPU usage, "Initial Kernel Execution State"',                 "words": by_name["s[8:9]"]["words"],
    }  # fmt: skip
    assert by_name["v0"]["lanes"][:18] == [*range(16), 0x400, 0x401]
    assert by_name["mode"]["parts"]["FP_DENORM"] == 0xF
    assert (by_name["m0"]["words"], by_name["m0"]["set_by"]) == (None, None)
    first, second, *_hidden = found["kernarg"]["arguments"]
    assert (first["bytes"], first["given"]) == ("0010000000000000", True)
    assert second["bytes"] == "ffffffff"
    assert {"code object", "queue", "packets", "completion signal"} <= {each["what"] for each in found["memory"]}


@pytest.mark.parametrize("path", sorted(ROOT.glob("fixtures/amdgpu/launch*.co")), ids=lambda path: path.name)
def test_text_is_at_most_80_columns_and_has_every_register(run, path):
    words = ("state", str(path), "everything", "--grid", "100,6,2", "--work-group", "16,4,2", "--wave", "4")
    status, out, _err = run(*words)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for each in state(run, str(path), "everything", *words[3:])["registers"]:
        assert f"\n    {each['registers']} " in out
        assert each["name"] in out


def test_values_of_every_kind_and_of_lanes(run):
    words = ("--grid", "20,20", "--work-group", "10,10", "--wave", "2")
    _status, out, _err = run("state", fixture("gfx1030.w32.O2"), "item_xyz", *words)
    assert "lanes 0-7: 0x2 to 0x9\n" in out
    assert "lanes 28-31: 0x0 to 0x3\n" in out
    _status, out, _err = run("state", fixture("gfx1030.w32.O2"), "item_xyz", "--grid", "1", "--work-group", "1")
    assert "lane 0: 0x0\n" in out
    assert "EXEC  0x1\n" in out
    arguments = ("7", "-2", "0x3", "4", "0.5", "1e3", "-.25", f"bytes:{'00' * 16}", f"bytes:{'11' * 32}",
                 f"bytes:{'22' * 16}", "0x1000", "0x2000", "64", "0x3000")  # fmt: skip
    words = [word for value in arguments for word in ("--arg", value)]
    found = state(run, fixture("gfx90a.w64.O2"), "arguments", "--grid", "64", "--work-group", "64", *words)
    given = [each["bytes"] for each in found["kernarg"]["arguments"] if each["given"]]
    assert (given[:2], given[4:7]) == (["07", "feff"], ["0038", "00007a44", "000000000000d0bf"])
    assert given[8] == "11" * 32


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


def test_state_of_what_has_no_kernels(run):
    words = ("--grid", "1", "--work-group", "1")
    assert run("state", "fixtures/asm/forms.powerpc64", "k", *words)[0] == 2
    status, _out, err = run("state", "README.md", "k", *words)
    assert (status, "README.md is neither an ELF file" in err) == (3, True)
    status, _out, err = run("state", "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.o", "records", *words)
    assert (status, "a file that is not linked cannot be loaded" in err) == (2, True)


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


def test_hsa_follows_a_packet_and_tells_what_must_not_be(run):
    _status, out, _err = run("hsa", "packet", PACKET, "--state", EXAMPLE, "--jsonl")
    fields = {field["name"]: field for field in json.loads(out)["fields"]}
    assert fields["kernel_object"]["value"] == DESCRIPTOR
    assert fields["completion_signal"]["value"] == SIGNAL
    assert fields["header"]["bits"][0] == {
        "name": "type", "shift": 0, "width": 8, "value": 2, "meaning": "kernel dispatch"}  # fmt: skip
    status, out, err = run("hsa", "packet", hex(int(PACKET, 16) + 1), "--state", EXAMPLE)
    assert (status, err) == (1, "")
    assert "must be aligned to 64 bytes" in out
    assert out.startswith("AQL packet at ")  # no type begins so
    status, out, err = run("hsa", "kernel-code", PACKET, "--state", EXAMPLE)
    assert status == 1
    assert "this is not an amd_kernel_code_t" in out
    status, out, err = run("hsa", "kernel-descriptor", QUEUE, "--state", EXAMPLE)
    assert status == 1
    status, out, err = run("hsa", "kernel-descriptor", hex(int(DESCRIPTOR, 16) - 4), "--state", EXAMPLE)
    assert "a kernel descriptor must be aligned to 64 bytes" in out


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


@pytest.mark.parametrize("what, size, bits", [("image", 48, "stride"), ("sampler", 32, "clamp_x")])
def test_hsa_decodes_images_and_samplers(run, what, size, bits):
    _status, out, err = run("hsa", what, "0x7f0000011000", "--state", EXAMPLE)
    assert err == ""
    assert f"at 0x7f0000011000, {size} bytes" in out
    assert f" {bits} " in out
    _status, out, err = run("hsa", what, "0x7f0000011000", "--state", EXAMPLE, "--json")
    fields = json.loads(out)["fields"]
    assert sum(field["size"] for field in fields) == size
    assert bits in [part["name"] for field in fields for part in field.get("bits", ())]


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


def test_state_starts_without_numpy():
    program = (
        "import sys; from dwarfgpu.cli import main; "
        f"main(['state', {fixture('gfx90a.w64.O2')!r}, 'group_x', '--grid', '64', '--work-group', '64']); "
        "sys.stderr.write(' '.join({'numpy'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
