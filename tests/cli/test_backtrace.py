import json
import re

from tests.builders import cores
from tests.builders.folders import ROOT

CALLS = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
STATE = ROOT / "dwarfgpu/examples/calls.json"
HOST = ROOT / "fixtures/host/frames.gcc.O2.v5.x86_64"


def names_in(text: str) -> list[str]:
    return re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", text, re.MULTILINE)


def test_a_copy_of_the_file_of_the_snapshot_is_that_file(run, tmp_path):
    copy = tmp_path / "copy.co"
    copy.write_bytes(CALLS.read_bytes())
    assert run("bt", copy, "--state", STATE)[0] == 0


def test_a_stack_that_cannot_be_unwound_has_what_there_is(run, tmp_path):
    document = json.loads(STATE.read_text())
    document["code_objects"][0]["path"] = str(CALLS)
    del document["waves"][1:], document["waves"][0]["registers"]["v8"]
    document["memory"] = [each for each in document["memory"] if each["wave"] == "1:1:1:1"]
    state = tmp_path / "state.json"
    state.write_text(json.dumps(document))
    status, out, err = run("bt", CALLS, "--state", state)
    lines = out.splitlines()
    assert (status, err) == (1, "")
    assert names_in(out) == ["leaf", "inner"]
    # the return address of `inner` is in lanes of v8
    assert lines[-2:] == [
        "Backtrace stopped: the caller cannot be found: the contents of register v8 are",
        "not available [A.2.5.4.4.4]",
    ]


def test_a_wave_outside_all_code(run, tmp_path):
    document = json.loads(STATE.read_text())
    document["code_objects"][0]["path"] = str(CALLS)
    document["waves"][0]["pc"] = "0x10"
    del document["waves"][1]["pc"]
    state = tmp_path / "state.json"
    state.write_text(json.dumps(document))
    status, out, _ = run("bt", CALLS, "--state", state)
    blocks = out.split("\n\n")
    assert status == 1
    assert blocks[0].splitlines() == [
        "Wave 1 (1:1:1:1):",
        "#0  0x10 in ?? ()",
        "Backtrace stopped: the address 0x10 is not in any loaded code",
    ]
    assert blocks[1].splitlines()[0] == "Wave 2 (1:1:1:2):"
    assert "has no program counter" in blocks[1]
    document = json.loads(run("bt", CALLS, "--state", state, "--json")[1])
    assert document["stacks"][0]["frames"][0]["cfa_error"]["kind"] == "outside_code"
    assert document["stacks"][1]["error"]["kind"] == "pc"


def test_threads_of_a_core_file(run, tmp_path):
    core = cores.core_file(
        [cores.Thread(7, {"rip": 0x401100, "rsp": 0x7000}),
            cores.Thread(8, {"rip": 0x401100, "rsp": 0x8000}, signal=11)],
        {0x7000: (0x40119E).to_bytes(8, "little") + bytes(8) + (0x401211).to_bytes(8, "little"),
            0x8000: (0x5).to_bytes(8, "little")},
        [(0x400000, 0x403000, 0, str(HOST))])  # fmt: skip
    path = tmp_path / "core"
    path.write_bytes(core)
    status, out, _ = run("bt", HOST, "--state", path, "--registers")
    first, second = out.split("\n\n")
    lines = first.splitlines()
    assert status == 1  # the memory ends before the stack does
    assert lines[0] == "Thread 1 (7):"
    assert names_in(first) == ["aligned", "indirect", "program"]
    assert "        rip: default#0x7000" in lines
    assert second.splitlines()[-1] == "Backtrace stopped: the return address 0x5 is not in any loaded code"
    document = json.loads(run("bt", HOST, "--state", path, "--wave", "8", "--json")[1])
    assert document["stacks"][0]["threads"] == ["8"]
    assert "lanes" not in document["stacks"][0]["frames"][0]
