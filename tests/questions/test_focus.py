"""`wave`, `lane`, and running commands in several of them."""

from pathlib import Path

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.program.frames.selectors import numbers_of
from tests.builders.parameters import for_each
from tests.questions.harness import Run
from tests.questions.test_waves import LANES, STATE, TINY, threads  # noqa: F401 (a fixture)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run() -> Run:
    return Run(LANES, STATE)


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


def test_a_thread_of_a_process(threads):  # noqa: F811
    assert threads("thread") == "[Current thread is 1 (LWP 7)]\n"
    assert threads("thread 2").splitlines() == ["[Switching to thread 2 (LWP 8)]", "#0  0x5 in ?? ()"]
    assert threads.fails("thread 3").message == "Unknown thread 3."


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


@for_each(
    "line, count",
    ("lane apply all -q lane", 40),
    ("lane apply -all all -q lane", 64),
    ("lane apply all -q -all lane", 64),
    ("lane apply -active all -q lane", 12),
    ("lane apply all -active -q lane", 12),
    ("lane apply all -inactive -q lane", 28),
    ("lane apply 1 -inactive -q lane", 0),  # it is active, and nothing is said
    ("lane apply 0 -active -q lane", 0),
    ("lane apply 0-3 5 7,9 -q lane", 7),
    ("lane apply 60-70 -all -q lane", 4),
)
def test_which_lanes(run, line, count):
    assert len(run(line).splitlines()) == count


def test_a_command_that_fails_ends_it_unless_a_flag_says_otherwise(run):
    assert run.fails("lane apply 1-3 frame 7").message == "No frame at level 7."
    out = run("lane apply 1-3 -c frame 7")
    assert out.count("No frame at level 7.") == 3
    assert out.count("\nLane ") == 3
    assert run("lane apply 1-3 -s frame 7") == ""
    assert run("lane apply 1-3 -q -c frame 7").splitlines()[0].startswith("No frame at level 7.")


@for_each(
    "line, message",
    ("lane apply", "needs LIST"),
    ("lane apply 0", "needs a command"),
    ("lane apply all", "needs a command"),
    ("lane apply frame", "needs a list"),
    ("lane apply 64 lane", "No lanes match '64'."),
    ("lane apply 50 lane", "No lanes match '50'."),
    ("lane apply 0 nonsense", "there is no command `nonsense`"),
    ("lane apply 0 -z lane", "has no flag -z"),
    ("lane apply 0 -c -s lane", "not both"),
    ("wave apply 9 wave", "No waves match '9'."),
    ("wave apply 1 -active wave", "has no flag -active"),
    ("wave apply 1", "needs a command"),
)
def test_what_cannot_be_applied(run, line, message):
    assert message in run.fails(line).message


def test_a_command_in_several_waves(run):
    run("wave 2", "lane 9")
    for line in ("wave apply all wave", "thread apply all wave", "t apply 1-3 wave"):
        lines = run(line).splitlines()
        assert lines[1::3] == [
            "Wave 1, lane 1 (AMDGPU Lane 1:1:1:1/1 (0,0,0)[1,0,0]):",
            "Wave 2, lane 9 (AMDGPU Lane 1:1:2:1/9 (1,0,0)[9,0,0]):",
            "Wave 3, lane 24 (AMDGPU Lane 1:1:3:1/24 (2,0,0)[24,0,0]):",
        ]
    assert run("wave").startswith("[Current wave is 2, lane 9 ")


def test_applying_one_command_inside_another(run):
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


def test_finding_threads(threads):  # noqa: F811
    assert threads("thread find LWP 8") == "Thread 2 has LWP 8 0x5 in ?? ()\n"
    assert threads("thread find aligned").startswith("Thread 1 has LWP 7 ")
    expected = ["[Current thread is 1 (LWP 7)]", "[Current thread is 2 (LWP 8)]"]
    assert threads("thread apply all -q thread").splitlines() == expected


def test_finding_one_wave_of_many():
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
