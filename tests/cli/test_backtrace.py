import json
import re

from tests.builders import cores
from tests.builders.folders import ROOT

CALLS = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
STATE = ROOT / "dwarfgpu/examples/calls.json"
HOST = ROOT / "fixtures/host/frames.gcc.O2.v5.x86_64"


def names_in(text: str) -> list[str]:
    return re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", text, re.MULTILINE)


def test_json_and_lines_of_json_have_what_the_text_has(run):
    status, out, _ = run("bt", CALLS, "--state", STATE, "--json", "--registers", "--lane", "1")
    document = json.loads(out)
    assert (status, document["schema"], document["target"]) == (0, 1, "amdgcn-gfx1100-wave32")
    first = document["stacks"][0]
    assert first["waves"] == ["1:1:1:1", "1:1:1:2"]
    assert first["end"] == {"kind": "outermost", "message": "the return address is undefined"}
    middle = first["frames"][2]
    assert (middle["function"], middle["linkage_name"], middle["lanes"]) == ("middle", "_Z6middleii", "0xffff")
    assert middle["source"] == {"file": "src/hip/calls.hip", "line": 31, "column": 13}
    assert middle["cfa"]["space_name"] == "private_wave"
    assert middle["registers"]["v41"] == [
        {
            "lanes": [0, 15],
            "location": {"kind": "memory", "space": 6, "space_name": "private_wave", "address": 0x1A00, "bit": 0},
        },
        {"lanes": [16, 31], "location": {"kind": "register", "register": 1577, "name": "v41", "bit_offset": 512}},
    ]
    assert middle["registers"]["s35"] == [
        {"bits": [0, 31], "location": {"kind": "register", "register": 1544, "name": "v8", "bit_offset": 32}}
    ]
    status, out, _ = run("bt", CALLS, "--state", STATE, "--jsonl")
    documents = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [each["waves"] for each in documents] == [["1:1:1:1", "1:1:1:2"], ["1:1:1:3"]]
    assert all(each["schema"] == 1 for each in documents)


def test_a_file_that_is_not_the_one_of_the_snapshot_is_refused(run, tmp_path):
    other = CALLS.parent / "hip-calls.gfx90a.w64.O0.co"
    status, out, err = run("bt", other, "--state", STATE)
    assert (status, out) == (3, "")
    assert "is not the code object that the snapshot was made with" in err
    assert "--force" in err.splitlines()[1]
    assert "leaf" in run("bt", other, "--state", STATE, "--force")[1]
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
