"""`info waves`, `info lanes`, `lanes`: tables and maps, on waves of 32 and 64 lanes."""

import json
from pathlib import Path
from typing import Any

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.program.frames.selectors import numbers_of
from dwarfgpu.questions.waves import positions
from tests.builders import cores
from tests.builders.folders import ROOT
from tests.builders.parameters import every, for_each
from tests.questions.harness import Run

LANES = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/lanes.json"
CALLS = ROOT / "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
CALLS_STATE = ROOT / "dwarfgpu/examples/calls.json"
TINY = ROOT / "fixtures/containers/tiny.gfx90a.co"
HOST = ROOT / "fixtures/host/frames.gcc.O2.v5.x86_64"


def changed(tmp_path: Path, change: Any, state: Path = STATE, code: Path = LANES) -> Path:
    """An example state with something else in it."""
    document = json.loads(state.read_text())
    document["code_objects"][0]["path"] = str(code)
    change(document)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def run() -> Run:
    return Run(LANES, STATE)


@pytest.fixture
def threads(tmp_path) -> Run:
    path = tmp_path / "core"
    path.write_bytes(
        cores.core_file(
            [cores.Thread(7, {"rip": 0x401100, "rsp": 0x7000}), cores.Thread(8, {"rip": 0x5, "rsp": 0x8000})],
            {0x7000: (0x40119E).to_bytes(8, "little") + bytes(8) + (0x401211).to_bytes(8, "little")},
            [(0x400000, 0x403000, 0, str(HOST))],
        )
    )
    return Run(HOST, path)


@every(option=["", "-each"], question=["waves", "lanes"])
def test_text_and_json_have_the_same_rows(run, question, option):
    rows = json.loads(run(f"info {question} {option} -json"))[question.replace("-", "_")]
    assert len(run(f"info {question} {option}").splitlines()) == 1 + len(rows)


def test_a_wave_of_which_little_is_known(tmp_path):
    def change(document: Any) -> None:
        document["waves"][0] = {"id": "lost"}
        del document["waves"][1]["exec"]

    run = Run(LANES, changed(tmp_path, change))
    assert run("info waves").splitlines()[1:3] == [
        "* 1  ?      AMDGPU Wave lost                  ??",
        '  2  ?      AMDGPU Wave 1:1:2:1 (1,0,0)/0 "X" X () at lane-pc.c:16',
    ]
    assert "has no program counter" in run.fails("info lanes").message
    run("wave 2")
    assert run("info lanes 0").splitlines()[1].startswith("* 0  ?")
    assert "?  ?  ?" in run("map")


def test_threads_are_listed_selected_and_found(threads):
    rows = threads("info threads").splitlines()
    assert rows[0].split() == ["Id", "Target", "Id", "Frame"]
    assert rows[1].startswith("* 1  LWP 7")
    assert "aligned (" in rows[1] + rows[2]
    assert rows[-1] == "  2  LWP 8     0x5 in ?? ()"
    assert threads("info threads 2").splitlines()[1:] == ["  2  LWP 8     0x5 in ?? ()"]
    assert threads.fails("info threads 3").message == "No threads match '3'."
    assert threads("thread") == "[Current thread is 1 (LWP 7)]\n"
    assert threads("thread 2").splitlines() == ["[Switching to thread 2 (LWP 8)]", "#0  0x5 in ?? ()"]
    assert threads.fails("thread 3").message == "Unknown thread 3."
    assert threads("thread find LWP 8") == "Thread 2 has LWP 8 0x5 in ?? ()\n"
    assert threads("thread find aligned").startswith("Thread 1 has LWP 7 ")
    expected = ["[Current thread is 1 (LWP 7)]", "[Current thread is 2 (LWP 8)]"]
    assert threads("thread apply all -q thread").splitlines() == expected


@pytest.mark.parametrize("command", ["info lanes", "map", "map x", "lane", "lane 1"])
def test_threads_have_no_lanes(threads, command):
    error = threads.fails(command)
    assert (error.message, error.kind) == ("threads of x86_64 have no lanes", "no_lane")


def test_values_that_are_no_numbers_have_letters(tmp_path):
    def change(document: Any) -> None:
        words = b"".join(number.to_bytes(4, "little") for number in range(64))
        document["memory"] = [{"space": "global", "address": "0x10000", "bytes": words.hex()}]

    run = Run(LANES, changed(tmp_path, change))
    lines = run("map *(out + lane % 2)@2").splitlines()
    assert lines[1] == "*(out + lane % 2)@2  int [2]"
    assert lines[3].startswith("   0  (A) B (A) B")
    assert lines[9].startswith("  A 20    {0, 1}")
    assert lines[11].startswith("  B 20    {1, 2}")
    lines = run("map *(out + lane)@2").splitlines()
    assert lines[5].startswith("  32  (+)(+)(+)")
    assert "  + 14    14 other values 26-39" in lines


def test_positions_are_those_of_rocgdb(run, threads):
    expected = {"_dispatch_pos": "(0,0,0)/0", "_thread_workgroup_pos": "0", "_lane_workgroup_pos": "[1,0,0]"}
    assert positions(run.debugger) == expected
    run("lane 50")
    assert "_lane_workgroup_pos" not in positions(run.debugger)
    assert positions(threads.debugger) == {}
    assert positions(Run(LANES).debugger) == {}


def test_a_number_comes_before_an_id(tmp_path):
    text = STATE.read_text().replace("../../fixtures", str(ROOT / "fixtures"))
    for old, new in (("1:1:1:1", "2"), ("1:1:2:1", "3"), ("1:1:3:1", "7")):
        text = text.replace(f'"id": "{old}"', f'"id": "{new}"')
    path = tmp_path / "state.json"
    path.write_text(text)
    run = Run(LANES, path)
    assert run("wave 2").startswith("[Switching to wave 2, lane 1 (AMDGPU Lane 3/1 ")
    assert run("wave 7").startswith("[Switching to wave 3, ")


@for_each("line, count",
    ("lane apply all -q lane", 40),                           ("lane apply -all all -q lane", 64),
    ("lane apply all -q -all lane", 64),                      ("lane apply -active all -q lane", 12),
    ("lane apply all -active -q lane", 12),                   ("lane apply all -inactive -q lane", 28),
    ("lane apply 1 -inactive -q lane", 0),  # it is active, and nothing is said
    ("lane apply 0 -active -q lane", 0),                      ("lane apply 0-3 5 7,9 -q lane", 7),
    ("lane apply 60-70 -all -q lane", 4))  # fmt: skip
def test_which_lanes(run, line, count):
    assert len(run(line).splitlines()) == count


def test_watchers_are_told_of_a_new_focus_alone(run):
    seen = []
    run.debugger.watchers.append(lambda: seen.append(run.debugger.lane))
    run("lane apply 1-3 lane", "wave apply all frame", "frame apply all frame")
    assert seen == [1]  # the machine that was attached
    run("lane 5")
    assert seen == [1, 5]


def test_lists_of_numbers_that_must_be_there():
    assert numbers_of("1,4-6 2", 1, 9, "wave") == [1, 4, 5, 6, 2]
    for text in ("0", "8-10", "99999999-999999999"):
        with pytest.raises(UsageError, match="there is no wave"):
            numbers_of(text, 1, 9, "wave")
