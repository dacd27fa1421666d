"""`file`, `core-file`, `target`, `save snapshot`, and what a machine is made of."""

import json
from typing import Any

import pytest

from tests.builders.folders import ROOT
from tests.questions.harness import Run
from tests.questions.test_waves import HOST, LANES, STATE, TINY, changed, threads  # noqa: F401

LAUNCH = ROOT / "fixtures/amdgpu/launch.gfx1100.w32.O2.co"


def test_a_file_that_cannot_be_opened(tmp_path):
    run = Run(LANES, STATE)
    run.fails("file nothing.co")
    assert run.debugger.opened.file.name == str(LANES)  # it stays open
    name = tmp_path / "with blanks.co"
    name.write_bytes(LANES.read_bytes())
    assert "with blanks.co... (amdgcn" in run(f"file '{name}'")
    assert run.debugger.attached is None


def test_states_of_which_something_is_missing(tmp_path):
    run = Run(LANES)

    def missing(document: Any) -> None:
        document["code_objects"].append({"path": "nothing.co", "load_address": "0x100000"})

    assert "warning: " in run(f"core {changed(tmp_path, missing)}")

    def lost(document: Any) -> None:
        document["waves"] = [{"id": "lost"}]

    assert "has no program counter" in Run(LANES)(f"core {changed(tmp_path, lost)}")
    run.fails("core nothing.json")
    assert len(run.debugger.machine) == 3  # the machine that was there stays


def test_attaching_a_core_file(threads):  # noqa: F811
    path = threads.debugger.machine.stopped.name
    lines = threads(f"core {path}").splitlines()
    assert lines[:2] == [f"[Attached {path}: 2 threads of x86_64]", "[Current thread is 1 (LWP 7)]"]
    assert lines[2].startswith("#0  aligned (")


def test_launching_kernels_with_their_arguments():
    run = Run(LAUNCH)
    for words in ("0x1234", "out=0x1234", "bytes:3412000000000000"):
        run(f"target launch group_x 64 64 {words}".replace("out=", ""))
        dispatch: Any = run.debugger.machine.stopped.machine
        memory = dispatch.memory.read(dispatch.target.default_space, dispatch.dispatches[0].kernarg, 8, None, None)
        assert int.from_bytes(memory, "little") == 0x1234
    assert "COMPUTE_PGM_RSRC1" in run("info kernels -fields")
    assert "COMPUTE_PGM_RSRC1" not in run("info kernels")
    assert max(map(len, Run(LAUNCH, width=50)("info kernels").splitlines())) <= 50


def test_kernels_of_no_code_object(threads):  # noqa: F811
    assert "not a code object with kernels" in threads.fails("target launch main 1 1").message
    assert "not a code object with kernels" in threads.fails("info kernels").message


@pytest.mark.parametrize("name", ["saved.json", "saved.dgs"])
def test_saving_the_machine_as_it_is_now(tmp_path, name):
    run = Run(LANES, STATE)
    run.debugger.frame.assign(run.debugger.frame["limit"], "7", "active")
    path = tmp_path / name
    assert run(f"save snapshot {path}") == f"Saved 3 waves to {path}\n"
    again = Run(LANES, path)
    assert "limit=7)" in again("frame")
    assert again("info waves") == run("info waves")
    error = run.fails(f"save snapshot {path}")
    assert (error.message, error.hint) == (f"{path} exists", "choose another name, or remove it first")


def test_saving_what_was_launched(tmp_path):
    run = Run(TINY)
    run("target launch tiny 128 64", f"save snapshot {tmp_path / 'launched.json'}")
    document = json.loads((tmp_path / "launched.json").read_text())
    assert len(document["waves"]) == 2
    assert "#0  tiny (" in Run(TINY, tmp_path / "launched.json")("frame")


def test_a_core_file_is_not_saved(threads, tmp_path):  # noqa: F811
    assert "cannot be saved" in threads.fails(f"save snapshot {tmp_path / 'x.json'}").message
    assert "0x0000000000401" in threads("info sharedlibrary")


def test_devices_of_which_little_is_known(tmp_path):
    def change(document: Any) -> None:
        document["waves"][0]["id"] = "first"
        document["waves"][1] |= {"id": "3:2:1:1"}
        document["dispatches"].append({"id": 7, "queue": "0x1000", "packet": "0x1000"})
        document["waves"][2] = {"id": "2:5:7:1", "dispatch": 7, "pc": "0x7f0000001564"}

    run = Run(LANES, changed(tmp_path, change))
    run("wave 3")
    assert run("info agents").splitlines()[1:] == [
        "  1  A     AMDGPU Agent 1 gfx90a       wave64 1",
        "  3  A     AMDGPU Agent 3 gfx90a       wave64 1",
        "* 2  A     AMDGPU Agent 2 gfx90a       wave64 1",
    ]
    assert [line.split() for line in run("info dispatches").splitlines()[1:]] == [
        ["1", "AMDGPU", "Dispatch", "1:1:1", "[120,1,1]", "[40,1,1]", "2", "X"],
        ["*", "7", "AMDGPU", "Dispatch", "2:5:7", "?", "?", "1", "??"],
    ]
    expected = [["1", "AMDGPU", "Queue", "1:1"], ["*", "2", "AMDGPU", "Queue", "2:5", "0x1000"]]
    assert [line.split() for line in run("info queues").splitlines()[1:]] == expected


def test_a_process_has_no_devices(threads):  # noqa: F811
    assert threads("info agents") == "No agents are currently active.\n"
    assert threads("info queues") == "No queues are currently active.\n"
    assert threads("info dispatches") == "No dispatches are currently active.\n"
