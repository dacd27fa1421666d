"""Kernels that run under the debugger: stops, steps, watchpoints, and the way back."""

from __future__ import annotations

import pytest

from tests.questions.harness import IN_CALLS, KERNEL, STATE, Run

FILE = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
LAUNCH = "target launch divergent 64 64 out=zeros(64) limit=40"
IN_LANES = "break kernels.cl:100 if step == 4 && rest > 20"


@pytest.fixture
def launched():
    run = Run(FILE, width=120)
    run(LAUNCH)
    return run


def _pc(run):
    run("output/x $pc")
    return "".join(run.written)


def test_a_breakpoint_with_a_condition_says_in_which_lanes_it_stops(launched):
    assert launched(IN_LANES) == "Breakpoint 1 at 0x7f00000042b4: file src/opencl/kernels.cl, line 100.\n"
    text = launched("run")
    assert "[Switching to wave 2, lane 29 " in text
    assert "Wave 2 hit Breakpoint 1, with lanes [29-31]\n" in text
    assert "kernels.cl:100" in text
    assert launched("print -lane 29-31 rest", "print step").count("21") == 1
    assert "exited normally" in launched("continue")


def test_start_stops_behind_the_prologue(launched):
    text = launched("start")
    assert "hit Temporary breakpoint 1, with lanes [0-31]" in text
    assert launched("print limit") == "$1 = 40\n"
    assert "No breakpoints" in launched("info breakpoints")


def test_run_starts_the_kernel_again(launched):
    launched(IN_LANES, "run", "continue")
    assert "with lanes [29-31]" in launched("run")
    assert "already hit 2 times" in launched("info breakpoints")


@pytest.mark.parametrize("command", ["step", "next", "continue", "run", "break 3", "reverse-step", "watch x", "kill"])
def test_a_snapshot_cannot_run(command):
    run = Run(KERNEL, STATE)
    assert "is for a program that runs" in str(run.fails(command))


def test_without_a_launch_nothing_is_run():
    assert "not being run" in str(Run(FILE).fails("step"))


def test_breakpoints_are_listed_disabled_ignored_and_deleted(launched):
    launched("break kernels.cl:99", "disable 1", "tbreak kernels.cl:102", "condition 1 lane > 3")
    text = launched("info breakpoints")
    assert "stop only if lane > 3" in text
    assert text.splitlines()[1].split()[:4] == ["1", "breakpoint", "keep", "n"]
    assert "del" in text
    assert launched("condition 1") == "Breakpoint 1 now unconditional.\n"
    launched("enable 1")
    assert launched("ignore 1 3") == "Will ignore next 3 crossings of breakpoint 1.\n"
    launched("delete 1")
    assert "hit Temporary breakpoint 2" in launched("run")
    assert "No breakpoint number 7" in str(launched.fails("delete 7"))


def test_a_count_of_ignored_stops_is_kept(launched):
    launched("break kernels.cl:100", "ignore 1 2", "run")
    assert launched("print step") == "$1 = 2\n"
    launched("continue 2")
    assert launched("print step") == "$2 = 4\n"


def test_commands_run_when_it_stops(launched):
    lines = iter(["print step + 100", "end"])
    launched.debugger.next_line = lambda _prompt: next(lines, None)
    launched(IN_LANES)
    launched("commands")
    assert "$1 = 104\n" in launched("run")


def test_steps_of_instructions_go_back_again(launched):
    launched(IN_LANES, "run")
    places = [_pc(launched)]
    for _ in range(12):
        launched("stepi")
        places.append(_pc(launched))
    back = [places[-1]]
    for _ in range(12):
        launched("reverse-stepi")
        back.append(_pc(launched))
    assert back == places[::-1]
    launched("reverse-stepi 5", "stepi 5")
    assert _pc(launched) == places[0]


def test_lines_are_stepped_over_and_back(launched):
    launched(IN_LANES, "run")
    lines = [launched("next").rsplit(":", 1)[1].strip() for _ in range(3)]
    assert lines == ["99", "100", "99"]
    assert [launched("reverse-next").rsplit(":", 1)[1].strip() for _ in range(2)] == ["100", "99"]
    assert launched("print step") == "$1 = 4\n"


def test_a_watchpoint_stops_at_a_change_and_back_at_the_last_one(launched):
    launched(IN_LANES, "run")
    assert launched("watch step") == "Hardware watchpoint 2: step\n"
    text = launched("continue")
    assert "hit Hardware watchpoint 2: step, with lane [29]" in text
    assert "Old value = 4\nNew value = 5\n" in text
    text = launched("reverse-continue")
    assert "Old value = 5\nNew value = 4\n" in text


def test_reads_are_watched(launched):
    launched(IN_LANES, "run", "rwatch step")
    text = launched("continue")
    assert "hit Hardware read watchpoint 2: step" in text
    assert "Value = 4" in text


def test_all_memory_goes_back(launched):
    before = launched("run", "print *out@4")
    assert "exited normally" in before
    text = launched("reverse-continue")
    assert "No more reverse-execution history." in text
    assert "limit=<error>" in launched("frame"), "registers are unknown again"


def test_a_wave_runs_alone(launched):
    launched("start", "delete", "set scheduler-locking on")
    before = launched("wave 2", "output/x $pc").rsplit("\n", 1)[1]
    launched("wave 1", "stepi 20")
    assert launched("wave 2", "output/x $pc").rsplit("\n", 1)[1] == before
    launched("wave 1", "reverse-stepi")
    assert launched("wave 2", "output/x $pc").rsplit("\n", 1)[1] == before


def test_a_run_to_a_place(launched):
    launched("start")
    assert "kernels.cl:88" in launched("advance kernels.cl:88")
    assert "kernels.cl:96" in launched("until kernels.cl:96")
    assert "Continuing at" in launched("jump kernels.cl:102")


def test_an_assigned_program_counter_is_where_it_goes_on(launched):
    launched("start", "break kernels.cl:102")
    text = launched("info line kernels.cl:102")
    address = next(word for word in text.split() if word.startswith("0x"))
    launched("set scheduler-locking on", f"set var $pc = {address}")
    assert "hit Breakpoint 2" in launched("continue")


def test_a_killed_kernel_can_be_run_again(launched):
    assert launched("kill") == "[Inferior 1 (divergent) killed]\n"
    assert "not being run" in str(launched.fails("step"))
    assert "exited normally" in launched("run")


def test_a_fault_stops_with_a_signal_and_goes_back():
    run = Run(FILE)
    text = run("target launch saxpy 64 64 x=zeros(64) y=zeros(8) a=0.5 n=64", "run")
    assert "Wave 1 received signal SIGSEGV, Segmentation fault." in text
    assert "[Stop reason: MEMORY_VIOLATION: no memory at 0x7f0000013220; lanes [8-31]]" in text
    before = _pc(run)
    run("reverse-stepi")
    assert _pc(run) != before
    assert "SIGSEGV" in run("continue")


def test_displays_are_shown_at_each_stop(launched):
    launched(IN_LANES, "run", "display step")
    assert "1: step = 4" in launched("next")


def test_a_bad_condition_sets_no_breakpoint(launched):
    assert launched.fails("break kernels.cl:100 if nowhere > 3")
    assert "No breakpoints" in launched("info breakpoints")
    assert launched.fails("break nowhere.cl:3")
    assert IN_CALLS
