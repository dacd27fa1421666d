"""`info waves`, `info lanes`, `info work-groups`, `lanes`: tables and maps, on waves of 32 and 64 lanes."""

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


@every(option=["", "-each"], question=["waves", "work-groups", "lanes"])
def test_text_and_json_have_the_same_rows(run, question, option):
    rows = json.loads(run(f"info {question} {option} -json"))[question.replace("-", "_")]
    assert len(run(f"info {question} {option}").splitlines()) == 1 + len(rows)


def test_all_or_some_waves_as_rocgdb_has_them(run):
    assert run("info waves").splitlines() == [
        "  Id Active Target Id                         Frame",
        '* 1  12/64  AMDGPU Wave 1:1:1:1 (0,0,0)/0 "X" X () at lane-pc.c:16',
        '  2  12/64  AMDGPU Wave 1:1:2:1 (1,0,0)/0 "X" X () at lane-pc.c:16',
        '  3  16/64  AMDGPU Wave 1:1:3:1 (2,0,0)/0 "X" X () at lane-pc.c:21',
    ]
    assert run("info threads") == run("i th") == run("info waves")
    assert [line[:3] for line in run("info waves 1,3").splitlines()[1:]] == ["* 1", "  3"]
    assert run.fails("info waves 9").message == "No waves match '9'."
    assert run.fails("info waves x").message == "Unknown wave x."
    assert run.fails("info waves 3-1").message == "inverted range"
    assert run.fails("info waves -1").message == "Unrecognized option at: -1"


def test_equal_neighbours_are_one_row():
    run = Run(TINY, width=100)
    run("target launch tiny 640000 64", "wave 42")
    assert run("info waves").splitlines()[1:] == [
        '  1-41     64/64  AMDGPU Wave 1:1:1:1 (0,0,0)/0 "tiny" to 1:1:1:41 (40,0,0)/0 tiny () at tiny.hip:8',
        '* 42       64/64  AMDGPU Wave 1:1:1:42 (41,0,0)/0 "tiny"                      tiny () at tiny.hip:8',
        '  43-10000 64/64  AMDGPU Wave 1:1:1:43 (42,0,0)/0 "tiny" to 1:1:1:10000 (9999,0,0)/0',
        "    tiny () at tiny.hip:8",
    ]
    assert len(run("info waves -each 1-50").splitlines()) == 51
    assert len(run("info waves 3-9").splitlines()) == 2


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


@pytest.mark.parametrize("command", ["info lanes", "map", "map x", "lane", "lane 1", "info work-groups"])
def test_threads_have_no_lanes(threads, command):
    error = threads.fails(command)
    assert (error.message, error.kind) == ("threads of x86_64 have no lanes", "no_lane")


def test_work_groups_of_one_or_several_waves(run):
    assert run("info work-groups").splitlines() == [
        "  Dispatch Work-group Waves Active Frame",
        "* 1        (0,0,0)    1     12/40  X () at lane-pc.c:16",
        "  1        (1,0,0)    2     12/40  X () at lane-pc.c:16",
        "  1        (2,0,0)    3     16/40  X () at lane-pc.c:21",
    ]
    assert "takes no arguments" in run.fails("info work-groups 3").message
    run = Run(ROOT / "fixtures/amdgpu/launch.gfx1100.w32.O2.co", width=90)
    run("target launch group_x 1000 64 0x1000", "wave 5")
    assert run("info work-groups").splitlines() == [
        "  Dispatch Work-group          Waves               Active Frame",
        "  1        (0,0,0) to (1,0,0)  1-4 (2 waves each)  64/64  group_x () at launch.cl:9",
        "* 1        (2,0,0)             5-6                 64/64  group_x () at launch.cl:9",
        "  1        (3,0,0) to (14,0,0) 7-30 (2 waves each) 64/64  group_x () at launch.cl:9",
        "  1        (15,0,0)            31-32               40/40  group_x () at launch.cl:9",
    ]


def test_a_wave_of_no_work_group(tmp_path):
    def change(document: Any) -> None:
        for wave in document["waves"]:
            del wave["work_group"], wave["dispatch"]

    run = Run(LANES, changed(tmp_path, change))
    rows = run("info work-groups").splitlines()
    assert rows[1].split()[:4] == ["*", "?", "1-3", "40/192"]


def test_lanes_as_rocgdb_has_them_and_by_state(run):
    rows = run("info lanes 0-2,24-63").splitlines()
    assert rows == [
        "  Id    State Target Id                                    Frame",
        "  0     I     AMDGPU Lane 1:1:1:1/0 (0,0,0)[0,0,0]         X () at lane-pc.c:19",
        "* 1     A     AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0]         X () at lane-pc.c:16",
        "  2     I     AMDGPU Lane 1:1:1:1/2 (0,0,0)[2,0,0]         X () at lane-pc.c:19",
        "  24-39 I     AMDGPU Lane 1:1:1:1/24-39 (0,0,0)[24-39,0,0] X () at lane-pc.c:10",
    ]
    assert {line[5] for line in run("info lanes -active").splitlines()[1:]} == {"A"}
    assert {line[8] for line in run("info lanes -inactive").splitlines()[1:]} == {"I"}
    assert run("info lanes -all 38-45").splitlines()[2].split() == [
        *("40-45", "U", "AMDGPU", "Lane", "1:1:1:1/40-45", "(0,0,0)", "(unused)")
    ]
    assert len(run("info lanes -each").splitlines()) == 1 + 40
    assert len(run("info lanes -each -all").splitlines()) == 1 + 64
    assert len(run("i la").splitlines()) == len(run("info lanes").splitlines()) == 1 + 24 + 1
    run("lane 30")
    rows = [line[:10].rstrip() for line in run("info lanes 24-39").splitlines()[1:]]
    assert rows == ["  24-29 I", "* 30    I", "  31-39 I"]


@for_each("command, message",
    ("info lanes 64", "No lanes match '64'."),                ("info lanes -active 0", "No lanes match '-active 0'."),
    ("info lanes 50", "No lanes match '50'."),                ("info lanes -1", "Unrecognized option at: -1"),
    ("info lanes x", "'x' is not a list of lanes such as 0,3,8-11"),
    ("info lanes -odd", "`info lanes`: -odd is not an option"),
    ("map -row 5", "`map` has rows of 4, 8, 16, 32 lanes, not '5'"),
    ("map nothing", "no variable `nothing` in X"))  # fmt: skip
def test_what_cannot_be_asked_of_lanes(run, command, message):
    assert message in run.fails(command).message


def test_lanes_and_maps_of_waves_of_32():
    run = Run(CALLS, CALLS_STATE)
    rows = run("info lanes").splitlines()
    assert rows[1:] == [
        "* 0     A     AMDGPU Lane 1:1:1:1/0 (0,0,0)[0,0,0]       leaf () at calls.hip:13",
        "  1-15  A     AMDGPU Lane 1:1:1:1/1-15 (0,0,0)[1-15,0,0] leaf () at calls.hip:13",
        "  16-31 I     AMDGPU Lane 1:1:1:1/16-31 (0,0,0)[16-31,0,0] (inactive)",
    ]
    lines = run("map").splitlines()
    assert lines[2] == "   0  [A] A  A  A  A  A  A  A  A  A  A  A  A  A  A  A"
    assert lines[3] == "  16   a  a  a  a  a  a  a  a  a  a  a  a  a  a  a  a"
    assert lines[5:] == [
        "    State       Frame                   Lanes",
        "* A 16 active   leaf () at calls.hip:13 0-15",
        "  a 16 inactive (inactive)              16-31",
    ]
    run("up 4")
    assert "leaf" not in run("map")
    assert "  A 16 active" in run("map").replace("* A", "  A")
    assert run("map lane").splitlines()[1:3] == ["lane  int", "lane is repaired (vector-register)"]


def test_a_map_of_where_lanes_are(run):
    assert run("map").splitlines() == [
        'AMDGPU Wave 1:1:1:1 (0,0,0)/0 "X": 64 lanes, 12 active, 28 inactive, 24 unused',
        "       0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15",
        "   0   b [A] b  A  b  A  b  A  b  A  b  A  b  A  b  A",
        "  16   b  A  b  A  b  A  b  A  c  c  c  c  c  c  c  c",
        "  32   c  c  c  c  c  c  c  c  .  .  .  .  .  .  .  .",
        "  48   .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .",
        "",
        "    State       Frame                Lanes",
        "  b 12 inactive X () at lane-pc.c:19 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22",
        "* A 12 active   X () at lane-pc.c:16 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23",
        "  c 16 inactive X () at lane-pc.c:10 24-39",
        "  . 24 unused   (unused)             40-63",
    ]


@pytest.mark.parametrize("row, rows", [("8", 8), ("16", 4), ("32", 2)])
def test_rows_of_a_map(row, rows):
    run = Run(LANES, STATE, width=120)
    assert run(f"map -row {row}").splitlines().index("") == 2 + rows


def test_maps_of_narrow_screens_and_eight_wide_work_groups():
    run = Run(LANES, STATE, width=40)
    lines = run("map").splitlines() + run("map lane").splitlines() + run("info lanes").splitlines()
    assert max(map(len, lines)) <= 40
    run = Run(TINY)
    run("target launch tiny 64,8 8,8")
    lines = run("map").splitlines()
    assert lines[1] == "       0  1  2  3  4  5  6  7"
    assert lines[2] == "   0  [A] A  A  A  A  A  A  A"
    assert run("info lanes 1-63").splitlines()[1].split()[5:] == ["(0,0,0)[1,0,0]-[7,7,0]"]


def test_values_have_shades_floats_and_marks(run):
    lines = run("map limit - lane").splitlines()
    assert lines[1] == "limit - lane  int"
    assert lines[3] == "   0  (@) @ (@) @ (@) # (#) # (#) # (%) % (%) % (%) *"
    assert lines[-2:] == ["  . 24    (unused)   40-63", "  (parentheses: the lane is inactive)"]
    assert "  @ 5     20 to 24   0-4" in lines
    assert "  : 5     -15 to -11 35-39" in lines
    lines = run("map/x lane % 3").splitlines()
    assert lines[3].startswith("   0  (:) * (@) : (*) @ (:)")
    assert [line[:16].rstrip() for line in lines[9:12]] == ["  : 14    0x0", "  * 13    0x1", "  @ 13    0x2"]
    assert run("map 7").splitlines()[9] == "  : 40    7        0-39"
    lines = run("map (lane - 3) / (lane == 5 ? 0.0 : 2.0)").splitlines()
    assert lines[1].endswith("double")
    assert any("inf" in line for line in lines)
    lines = run("map 0.0 / (lane == 5 ? 0.0 : 2.0)").splitlines()
    assert lines[3].startswith("   0  (:) : (:) : (:) n (:)")
    assert any(line.split() == ["n", "1", "nan", "5"] for line in lines)
    lines = run("map unused").splitlines()
    assert lines[3].startswith("   0  (x) x (x)")
    assert lines[-1].startswith("x it has ")
    lines = run("map *(int *) 16").splitlines()
    assert "!" in lines[3]
    assert any("<error>" in line for line in lines)


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


def test_without_a_machine():
    for command in ("info waves", "info lanes", "map", "info work-groups", "wave", "lane"):
        assert Run(LANES).fails(command).message == "no state"


def test_a_wave_by_number_and_by_id(run):
    assert run("wave") == "[Current wave is 1, lane 1 (AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0])]\n"
    expected = [
        "[Switching to wave 2, lane 1 (AMDGPU Lane 1:1:2:1/1 (1,0,0)[1,0,0])]",
        "#0  X (out=generic#0x10000, limit=24) at src/asm/lane-pc.c:16",
    ]
    for line in ("wave 2", "thread 2", "t 2", "wave 1:1:2:1"):
        run("wave 1")
        assert run(line).splitlines() == expected
    assert run("t").startswith("[Current wave is 2, lane 1 (")


def test_a_number_comes_before_an_id(tmp_path):
    text = STATE.read_text().replace("../../fixtures", str(ROOT / "fixtures"))
    for old, new in (("1:1:1:1", "2"), ("1:1:2:1", "3"), ("1:1:3:1", "7")):
        text = text.replace(f'"id": "{old}"', f'"id": "{new}"')
    path = tmp_path / "state.json"
    path.write_text(text)
    run = Run(LANES, path)
    assert run("wave 2").startswith("[Switching to wave 2, lane 1 (AMDGPU Lane 3/1 ")
    assert run("wave 7").startswith("[Switching to wave 3, ")


@pytest.mark.parametrize("name", ["0", "4", "x", "1:1:9:1", "99999999999999999999", "²"])
def test_waves_that_do_not_exist(run, name):
    error = run.fails(f"wave {name}")
    assert error.message == f"Unknown wave {name}."
    assert error.hint == "there are 3: 1 (1:1:1:1), 2 (1:1:2:1), 3 (1:1:3:1)"


def test_each_wave_keeps_its_lane_and_counts_the_used_ones(run):
    run("lane 5", "wave 2", "lane 7", "wave 1")
    assert run("lane").startswith("[Current wave is 1, lane 5 ")
    assert run("wave 2").startswith("[Switching to wave 2, lane 7 ")
    assert run("print $_lane_count") == "$1 = 40\n"


def test_a_lane(run):
    assert run("lane 5").splitlines() == [
        "[Switching to wave 1, lane 5 (AMDGPU Lane 1:1:1:1/5 (0,0,0)[5,0,0])]",
        "#0  X (out=generic#0x10000, limit=24) at src/asm/lane-pc.c:16",
    ]
    assert run("lane 4").splitlines()[2] == "lane 4 is inactive; it is in X () at src/asm/lane-pc.c:19"
    assert run("lane 50").splitlines()[2] == "lane 50 is unused: it has no work-item"
    assert run("lane 0x11").startswith("[Switching to wave 1, lane 17 ")


@pytest.mark.parametrize("number", ["64", "-1", "99999999999"])
def test_lanes_that_do_not_exist(run, number):
    assert run.fails(f"lane {number}").message == f"Lane {number} does not exist on this thread."


def test_a_command_in_several_lanes(run):
    run("lane 3")
    assert run("lane apply 5,0-1 lane").splitlines() == [
        "",
        "Lane 5 (AMDGPU Lane 1:1:1:1/5 (0,0,0)[5,0,0]):",
        "[Current wave is 1, lane 5 (AMDGPU Lane 1:1:1:1/5 (0,0,0)[5,0,0])]",
        "",
        "Lane 0 (AMDGPU Lane 1:1:1:1/0 (0,0,0)[0,0,0]):",
        "[Current wave is 1, lane 0 (AMDGPU Lane 1:1:1:1/0 (0,0,0)[0,0,0])]",
        "",
        "Lane 1 (AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0]):",
        "[Current wave is 1, lane 1 (AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0])]",
    ]
    assert run("lane").startswith("[Current wave is 1, lane 3 ")


@for_each("line, count",
    ("lane apply all -q lane", 40),                           ("lane apply -all all -q lane", 64),
    ("lane apply all -q -all lane", 64),                      ("lane apply -active all -q lane", 12),
    ("lane apply all -active -q lane", 12),                   ("lane apply all -inactive -q lane", 28),
    ("lane apply 1 -inactive -q lane", 0),  # it is active, and nothing is said
    ("lane apply 0 -active -q lane", 0),                      ("lane apply 0-3 5 7,9 -q lane", 7),
    ("lane apply 60-70 -all -q lane", 4))  # fmt: skip
def test_which_lanes(run, line, count):
    assert len(run(line).splitlines()) == count


def test_a_command_that_fails_ends_it_unless_a_flag_says_otherwise(run):
    assert run.fails("lane apply 1-3 frame 7").message == "No frame at level 7."
    out = run("lane apply 1-3 -c frame 7")
    assert out.count("No frame at level 7.") == 3
    assert out.count("\nLane ") == 3
    assert run("lane apply 1-3 -s frame 7") == ""
    assert run("lane apply 1-3 -q -c frame 7").splitlines()[0].startswith("No frame at level 7.")


@for_each("line, message",
    ("lane apply", "needs LIST"),                            ("lane apply 0", "needs a command"),
    ("lane apply all", "needs a command"),                   ("lane apply frame", "needs a list"),
    ("lane apply 64 lane", "No lanes match '64'."),          ("lane apply 50 lane", "No lanes match '50'."),
    ("lane apply 0 nonsense", "there is no command `nonsense`"),
    ("lane apply 0 -z lane", "has no flag -z"),              ("lane apply 0 -c -s lane", "not both"),
    ("wave apply 9 wave", "No waves match '9'."),            ("wave apply 1 -active wave", "has no flag -active"),
    ("wave apply 1", "needs a command"))  # fmt: skip
def test_what_cannot_be_applied(run, line, message):
    assert message in run.fails(line).message


def test_commands_in_several_waves_and_their_lanes(run):
    run("wave 2", "lane 9")
    for line in ("wave apply all wave", "thread apply all wave", "t apply 1-3 wave"):
        lines = run(line).splitlines()
        assert lines[1::3] == [
            "Wave 1, lane 1 (AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0]):",
            "Wave 2, lane 9 (AMDGPU Lane 1:1:2:1/9 (1,0,0)[9,0,0]):",
            "Wave 3, lane 24 (AMDGPU Lane 1:1:3:1/24 (2,0,0)[24,0,0]):",
        ]
    assert run("wave").startswith("[Current wave is 2, lane 9 ")
    out = run("wave apply 1-2 -q lane apply 3,5 -q lane")
    assert [line.split("Lane ")[1].split()[0] for line in out.splitlines()] == [
        *("1:1:1:1/3", "1:1:1:1/5", "1:1:2:1/3", "1:1:2:1/5")
    ]


def test_watchers_are_told_of_a_new_focus_alone(run):
    seen = []
    run.debugger.watchers.append(lambda: seen.append(run.debugger.lane))
    run("lane apply 1-3 lane", "wave apply all frame", "frame apply all frame")
    assert seen == [1]  # the machine that was attached
    run("lane 5")
    assert seen == [1, 5]


def test_finding_waves_by_all_that_is_shown_of_them(run):
    assert run("wave find 2,0,0").splitlines() == [
        'Wave 3 has AMDGPU Wave 1:1:3:1 (2,0,0)/0 "X" X () at src/asm/lane-pc.c:21'
    ]
    assert len(run("wave find pc.c:16$").splitlines()) == 2
    assert len(run('thread find "X"').splitlines()) == 3
    assert run("wave find nothing") == "No waves match 'nothing'\n"
    assert "regular expression" in run.fails("wave find (").message
    assert "needs REGEXP" in run.fails("wave find").message
    run = Run(TINY)
    run("target launch tiny 640000 64")
    assert run("wave find \\(7777,0,0\\)") == (
        'Wave 7778 has AMDGPU Wave 1:1:1:7778 (7777,0,0)/0 "tiny" tiny () at\n  src/hip/tiny.hip:8\n'
    )
    assert run("wave 10000").splitlines()[0].endswith("(AMDGPU Lane 1:1:1:10000/0 (9999,0,0)[0,0,0])]")


def test_lists_of_numbers_that_must_be_there():
    assert numbers_of("1,4-6 2", 1, 9, "wave") == [1, 4, 5, 6, 2]
    for text in ("0", "8-10", "99999999-999999999"):
        with pytest.raises(UsageError, match="there is no wave"):
            numbers_of(text, 1, 9, "wave")
