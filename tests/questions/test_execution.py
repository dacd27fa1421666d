"""Kernels that run under the debugger: stops, steps, watchpoints, and the way back."""

import json
import re
import shutil

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.compiled import native
from dwarfgpu.execution.compiled.native import is_available
from dwarfgpu.execution.control import checkpoints
from dwarfgpu.questions.completion import complete
from dwarfgpu.questions.execution import KernelRun
from dwarfgpu.questions.stopping import WAYS_BACK
from tests.builders.commands import run as command_line
from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, STATE, Run

FILE = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
LAUNCH = "target launch divergent 64 64 out=zeros(64) limit=40"
IN_LANES = "break kernels.cl:100 if step == 4 && rest > 20"


def recorded(function, calls):
    return lambda *words: calls.append(words) or function(*words)


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


def test_a_first_stop_in_another_lane_is_told():
    run = Run(FILE, width=120)
    launch = "target launch saxpy 64 64 x=zeros(64) y=zeros(64) a=0.5 n=64"
    assert "[Current wave is 1, lane 0 " in run(launch)
    assert "\n[Switching to wave 1, lane 23 " in run("break kernels.cl:79 if $_lane > 22", "run")


def test_a_place_may_be_an_address_that_the_selected_frame_gives(launched):
    text = launched("start", "break *$pc", "until *$pc+8")
    assert "no state" not in text
    pc = int(re.search(r"Breakpoint 2 at (0x\w+)", text)[1], 16)
    assert f"Breakpoint 3 at {pc + 12:#x}" in launched("break *($pc+4)")


def test_start_stops_behind_the_prologue_and_advance_goes_on(launched):
    assert "hit Temporary breakpoint 1, with lanes [0-31]" in launched("start")
    assert launched("print limit") == "$1 = 40\n"
    assert "No breakpoints" in launched("info breakpoints")
    launched("start")
    assert "kernels.cl:88" in launched("advance kernels.cl:88")
    assert "kernels.cl:96" in launched("until kernels.cl:96")
    assert "Continuing at" in launched("jump kernels.cl:102")


def test_run_starts_again_and_needs_a_launch(launched):
    launched(IN_LANES, "run", "continue")
    assert "with lanes [29-31]" in launched("run")
    assert "already hit 2 times" in launched("info breakpoints")
    assert "not being run" in str(Run(FILE).fails("step"))
    assert launched("delete", "kill") == "[Inferior 1 (divergent) killed]\n"
    assert "not being run" in str(launched.fails("step"))
    assert "exited normally" in launched("run")


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


def test_steps_go_back_again_by_instructions_and_lines(launched):
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
    launched(IN_LANES, "run")
    assert [launched("next").rsplit(":", 1)[1].strip() for _ in range(3)] == ["99", "100", "99"]
    assert [launched("reverse-next").rsplit(":", 1)[1].strip() for _ in range(2)] == ["100", "99"]
    assert launched("print step") == "$1 = 4\n"  # the loop has not counted on yet


def test_a_watchpoint_stops_at_a_change_and_back_at_the_last_one(launched):
    launched(IN_LANES, "run")
    assert launched("watch step") == "Hardware watchpoint 2: step\n"
    text = launched("continue")
    assert "hit Hardware watchpoint 2: step, with lane [29]" in text
    assert "Old value = 4\nNew value = 5\n" in text
    text = launched("reverse-continue")
    assert "Old value = 5\nNew value = 4\n" in text


def test_a_watchpoint_selects_a_lane_that_wrote(spaces):
    """The lane in which the expression was read need not be one of them."""
    spaces("break kernels.cl:115", "run", "delete", "watch out[5]")
    assert "with lane [5]" in spaces("continue")
    assert ", lane 5 " in spaces("thread")


def test_reads_are_watched(launched):
    launched(IN_LANES, "run", "rwatch step")
    text = launched("continue")
    assert "hit Hardware read watchpoint 2: step" in text
    assert "Value = 4" in text


def test_all_memory_goes_back(launched):
    assert "exited normally" in launched("run", "print *out@4")
    assert "No more reverse-execution history." in launched("reverse-continue")
    assert "limit=<not set yet>" in launched("frame"), "registers are unknown again"


def test_a_wave_runs_alone(launched):
    launched("start", "delete", "set scheduler-locking on")
    before = launched("wave 2", "output/x $pc").rsplit("\n", 1)[1]
    launched("wave 1", "stepi 20")
    assert launched("wave 2", "output/x $pc").rsplit("\n", 1)[1] == before
    launched("wave 1", "reverse-stepi")
    assert launched("wave 2", "output/x $pc").rsplit("\n", 1)[1] == before


def test_an_assigned_program_counter_is_where_it_goes_on(launched):
    launched("start", "break kernels.cl:102")
    address = next(word for word in launched("info line kernels.cl:102").split() if word.startswith("0x"))
    launched("set scheduler-locking on", f"set var $pc = {address}")
    assert "hit Breakpoint 2" in launched("continue")


def test_faults_and_traps_are_caught_with_their_lanes_and_go_back(tmp_path):
    run = Run(FILE)
    text = run("target launch saxpy 64 64 x=zeros(64) y=zeros(8) a=0.5 n=64", "run")
    assert "Wave 1 received signal SIGSEGV, Segmentation fault." in text
    assert "(just past the end of `y`, which has 32 bytes); lanes [8-31]]" in " ".join(text.split())
    run(f"save snapshot {tmp_path}/fault.json")
    assert "[Current wave is 1, lane 8 " in Run(FILE)(f"target snapshot {tmp_path}/fault.json")
    before = _pc(run)
    run("reverse-stepi")
    assert _pc(run) != before
    assert "SIGSEGV" in run("continue")
    for path in PROCESSORS.values():
        run = Run(path, width=120)
        run("target launch saxpy 64 64 x=zeros(64) y=zeros(8) a=0.5 n=64", "catch fault", "catch trap")
        text = run("run")
        assert "hit Catchpoint 1 (fault)\n" in text
        assert "received signal SIGSEGV, Segmentation fault." in text
        assert re.search(
            r"\[Stop reason: MEMORY_VIOLATION: no memory at 0x\w+ \(.*\); lanes \[8-", " ".join(text.split())
        )
        assert "already hit 1 time" in run("info breakpoints 1")
        assert "the wave has stopped: MEMORY_VIOLATION" in str(run.fails("stepi"))
        before = line_of(text)
        assert line_of(run("reverse-next")) in (before, before - 1)


def test_displays_are_shown_at_each_stop(launched):
    launched(IN_LANES, "run", "display step")
    assert "1: step = 4" in launched("next")


def test_a_bad_condition_sets_no_breakpoint(launched):
    for condition in ("nowhere > 3", "step == nowhere", "step && rest + nowhere"):  # `step` has no value without a wave
        assert "no variable `nowhere` in " in launched.fails(f"break kernels.cl:100 if {condition}").message
    assert "No breakpoints" in launched("info breakpoints")
    assert launched.fails("break nowhere.cl:3")


PROCESSORS = {
    "gfx90a": "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co",
    "gfx1030": "fixtures/amdgpu/cl-kernels.gfx1030.w32.O0.v5.co",
    "gfx1200": "fixtures/amdgpu/cl-kernels.gfx1200.w32.O0.v5.co"}  # fmt: skip
SPACES = "target launch spaces 64 64 out=zeros(64) shared_by_host=256 table=arange(64,i4) n=5"


@pytest.fixture(params=PROCESSORS)
def spaces(request):
    """A kernel with calls, local and private memory and a barrier, before its first instruction."""
    run = Run(PROCESSORS[request.param], width=120)
    run(SPACES)
    return run


@pytest.fixture(params=PROCESSORS)
def divergent(request):
    run = Run(PROCESSORS[request.param], width=120)
    run("target launch divergent 64 64 out=zeros(64) limit=40")
    return run


def line_of(text):
    """The line of the source where the last stop is."""
    return int(re.findall(r"kernels\.cl:(\d+)", text)[-1])


def test_conditions_choose_lanes_on_each_processor(divergent):
    divergent(IN_LANES)
    text = divergent("run")
    is_wide = divergent.debugger.machine.state.target.lane_count == 64
    assert f"with lanes [{'61-63' if is_wide else '29-31'}]\n" in text
    assert line_of(text) == 100
    assert divergent("print rest") == "$1 = 21\n"


def test_start_next_and_step_follow_the_lines(divergent):
    divergent("break 85")
    assert line_of(divergent("run")) == 85
    lines = [line_of(divergent("next")) for _ in range(3)]
    assert lines[:2] == [86, 87]
    assert lines[2] in (88, 98)  # the side that is first in the code
    assert [line_of(divergent("reverse-next")) for _ in range(2)] == [87, 86]
    assert line_of(divergent("step 2")) == lines[2]


def test_a_line_without_code_does_not_lead_into_another_function(divergent):
    assert "hint: line 80 has no code of its own, so it stops at line 81\n" in divergent("break 80")
    for command in "until 95", "advance 95":
        assert divergent("start", command).endswith("\nhint: line 95 has no code of its own, so it stops at line 96\n")
    assert str(divergent.fails("break 74")) == "line 74 has no code; the next line with code is 75, in saxpy"


def test_a_condition_has_variables_of_the_callers_of_several_waves(spaces):
    text = spaces("break weigh if spaces::n == 6", "break 122 if spaces::n == 5", "run")
    assert "the condition has no value" not in text
    assert line_of(text) == 122


def test_lanes_at_code_of_no_line_are_at_no_line():
    run = Run("fixtures/amdgpu/cl-kernels.gfx1030.w32.O0.v5.co", width=120)
    run("target launch divergent 64 64 out=zeros(64) limit=40", "break divergent", "run")
    while ":0 (made by" not in run("stepi") or "(inactive)\n" in run("info lanes"):
        pass  # an error at the end of the kernel
    assert "kernels.cl, no line\n" in run("info lanes")


def test_next_goes_from_a_kernel_into_its_body():
    """clang 22 makes the body of an OpenCL kernel a function of its own, which the source does not call."""
    run = Run("dwarfgpu/examples/reverse.co", width=120)
    run("target launch reverse 64 64 in=arange(64,i4) out=zeros(64,i4)", "tbreak *reverse", "run")
    lines = [int(re.findall(r"reverse\.cl:(\d+)", run("next"))[-1]) for _ in range(3)]
    assert lines == [3, 4, 5]


def test_calls_are_entered_finished_and_left_backwards(spaces):
    spaces("break kernels.cl:121", "run", "delete")
    assert line_of(spaces("step")) == 57
    assert " weigh (" in spaces("frame")
    text = spaces("finish")
    assert text.startswith("Run till exit from #0  weigh (")
    assert " in spaces (" in text
    assert line_of(text) == 121
    assert line_of(spaces("reverse-step")) == 62
    assert " in spaces (" in spaces("reverse-finish")
    assert line_of(spaces("next")) == 122
    assert line_of(spaces("reverse-next")) == 121
    spaces("tbreak *spaces", "run")
    assert "not meaningful in the outermost frame" in str(spaces.fails("finish"))
    assert "not meaningful in the outermost frame" in str(spaces.fails("reverse-finish"))


def test_nexti_goes_over_a_call_and_reverse_nexti_back_over_it(spaces):
    spaces("break kernels.cl:121", "run", "delete")
    places = [_pc(spaces)]
    while line_of(spaces("nexti")) == 121 and len(places) < 200:
        places.append(_pc(spaces))
        assert " spaces (" in spaces("frame")
    assert 10 < len(places) < 200
    back = []
    for _ in places:
        spaces("reverse-nexti")
        back.append(_pc(spaces))
    assert back == places[::-1]


def test_until_leaves_a_loop_and_advance_enters_calls(spaces):
    spaces("break kernels.cl:116", "run", "delete")
    assert line_of(spaces("next")) == 115
    assert line_of(spaces("until")) == 117
    assert " weigh (" in spaces("advance weigh")
    assert line_of(spaces("advance kernels.cl:62")) == 62
    assert line_of(spaces("until kernels.cl:60")) == 121  # the function has returned


def test_jump_and_an_assigned_pc_go_elsewhere(divergent):
    divergent("start", "break kernels.cl:102")
    assert line_of(divergent("jump 102")) == 102
    assert "Continuing at 0x" in divergent("jump 102")


def test_a_condition_without_a_value_at_a_breakpoint_is_told_when_it_is_set():
    run = Run(FILE.replace("O0", "O2"), width=200)
    run(LAUNCH)
    text = run("break kernels.cl:93 if limit > 3")
    stop = "so waves that come there stop whatever `limit > 3` is: it has"
    assert f"warning: limit has no value at 2 of 2 places, {stop}" in text
    kernel = run.debugger.state_of(KernelRun)
    missed = kernel.debugging.running.missed_text("kernels.cl:93", list(kernel.points), "limit > 3")
    assert missed == "no lane came to kernels.cl:93, where `limit > 3` has no value"
    assert "hint: break where it has a value, or compile with -O0" in text
    assert "warning: result has no value at 2 of 2 places" in run("condition 1 result > 3")
    assert "hit Breakpoint 1" in run("run")
    assert "warning" not in run("break kernels.cl:97 if result > 3", "condition 1 lane > 3", "condition 1")


def test_a_breakpoint_of_one_thread_or_lane_has_a_condition(launched):
    assert "`if $_thread == 2`" in str(launched.fails("break kernels.cl:100 thread 2"))
    assert "`if $_lane == 30`" in str(launched.fails("tbreak kernels.cl:100 lane 30"))
    assert "with lane [30]" in launched("break kernels.cl:100 if $_lane == 30", "run")


def test_waves_that_stop_with_the_same_lanes_are_one_line():
    run = Run(FILE, width=120)
    text = run("target launch divergent 128 64 out=zeros(128) limit=40", "break divergent", "run")
    assert "Wave 1 hit Breakpoint 1, with lanes [0-31]\nWaves 2-4 hit it too, with lanes [0-31]\n" in text


def test_breakpoints_before_a_launch_are_pending():
    run = Run(FILE, width=120)
    assert run("break divergent") == "Breakpoint 1 (divergent) pending.\n"
    assert run("tbreak kernels.cl:100 -all if rest > 20", "break 102 if nothere > 3").count("pending") == 2
    assert 'Function "nosuch" not defined' in str(run.fails("break nosuch"))
    assert "stop only if rest > 20" in run("info breakpoints")
    text = run(LAUNCH, "run")
    assert "hit Breakpoint 1, with lanes" in text
    assert "Error in re-setting breakpoint 3: no variable `nothere`" in text
    assert "hit Temporary breakpoint 2, with lanes" in run("continue")
    assert "exited normally" in run("continue")


def test_watchpoints_have_conditions(divergent):
    divergent("break 100 if step == 4 && rest > 20", "run", "delete")
    assert divergent("watch result if result > 300") == "Hardware watchpoint 2: result\n"
    assert int(re.search(r"New value = (\d+)", divergent("continue"))[1]) > 300
    assert "\tstop only if result > 300\n" in divergent("info breakpoints")
    divergent("condition 2 result > 500")
    assert int(re.search(r"New value = (\d+)", divergent("continue"))[1]) > 500
    assert divergent("condition 2") == "Breakpoint 2 now unconditional.\n"
    assert int(re.search(r"New value = (\d+)", divergent("reverse-continue", "reverse-continue"))[1]) <= 500
    assert "nothere" in str(divergent.fails("condition 2 nothere > 3"))
    assert "needs an expression" in str(divergent.fails("watch result if"))
    assert "needs an expression" in str(divergent.fails("watch if result"))
    divergent("delete", "watch result if *(int *)0 > 3")
    assert "warning: the condition has no value, so it stopped: *(int *)0 > 3: " in divergent("continue")


def test_memory_of_each_space_is_watched(spaces):
    spaces("break kernels.cl:115", "run", "delete")
    spaces("watch histogram[2]", "lane 3", "watch all.to_local[3]", "awatch out[5]", "rwatch histogram[1]")
    kinds = []
    while "exited" not in (text := spaces("continue")):
        if "has left the block" not in text:
            number = int(re.search(r"watchpoint (\d+)", text)[1])
            kinds.append((number, re.search(r"with lanes? \[(.*)\]", text)[1]))
    assert kinds[:2] == [(2, "0"), (3, "3")]
    assert (4, "5") in kinds
    assert (5, "3") in kinds
    assert {lanes for number, lanes in kinds if number == 5} == {"3"}


def test_a_variable_of_a_function_is_not_watched_when_it_has_returned(spaces):
    spaces("break kernels.cl:58", "run", "delete", "watch sum")
    texts = []
    while "deleted" not in (text := spaces("continue")):
        texts.append(text)
        assert len(texts) < 20
    assert len(texts) == 8
    assert "Watchpoint 2 deleted because the program has left the block in\nwhich its expression is valid.\n" in text
    assert line_of(text) == 121
    assert spaces("info breakpoints") == "No breakpoints or watchpoints.\n"


def test_all_watchpoints_of_a_function_go_when_it_has_returned(spaces):
    spaces("break kernels.cl:58", "run", "delete", "watch sum", "rwatch sum", "lane 3", "awatch sum", "disable 2-4")
    text = spaces("continue")
    for number in (2, 3, 4):
        assert f"Watchpoint {number} deleted because the program has left the block in\nwhich" in text
    assert spaces("info breakpoints") == "No breakpoints or watchpoints.\n"


def test_watchpoints_that_one_instruction_hits_are_all_shown(spaces):
    spaces("break kernels.cl:58", "run", "delete", "rwatch sum", "lane 3", "awatch sum")
    text = spaces("continue")
    assert "hit Hardware read watchpoint 2: sum, with lane [0]" in text
    assert "hit Hardware access (read/write) watchpoint 3: sum, with lane [3]" in text


def test_a_watchpoint_goes_back_to_each_change(spaces):
    spaces("break kernels.cl:58", "run", "delete", "watch sum")
    there = [re.findall(r"(?:Old|New) value = (.*)", spaces("continue")) for _ in range(5)]
    back = [re.findall(r"(?:Old|New) value = (.*)", spaces("reverse-continue")) for _ in range(5)]
    assert back == [change[::-1] for change in reversed(there)]
    assert "No more reverse-execution history." in spaces("reverse-continue")
    assert "Hardware watchpoint 2: sum" in spaces("continue")


def test_watchpoints_are_set_again_in_a_new_launch(spaces):
    """A variable of a call is watched when the wave is in the same call; other memory from the launch on."""
    spaces("break kernels.cl:58", "run", "delete", "watch sum")
    before = [re.findall(r"watchpoint \d: .*|(?:Old|New) value = .*", spaces("continue")) for _ in range(4)]
    text = spaces("run")
    assert text.startswith("Watchpoint 2 (sum) will be set again when wave 1 is in weigh.\n")
    stops = [text, *(spaces("continue") for _ in range(3))]
    assert [re.findall(r"watchpoint \d: .*|(?:Old|New) value = .*", text) for text in stops] == before
    spaces("up", 'watch $_arg("out")[5]', "watch all.to_local[3]", "watch histogram[2]", "delete 2", "break 58")
    text = spaces("run")
    assert "Watchpoint 5 (histogram[2]) will be set again when wave 1 is in spaces.\n" in text
    assert "hit Hardware watchpoint 5: histogram[2], with lane [0]" in text
    assert line_of(text) == 116
    assert "hit Hardware watchpoint 4: all.to_local[3], with lane [3]" in spaces("continue")
    assert "hit Breakpoint 6" in spaces("continue")
    assert 'hit Hardware watchpoint 3: $_arg("out")[5], with lane [5]' in spaces("delete 4 5 6", "continue")


def test_watchpoints_that_wait_for_a_call_are_listed(spaces):
    spaces("break kernels.cl:58", "run", "watch sum", "delete 1", "break spaces")
    spaces("run")
    assert re.search(r"2 +hw watchpoint +keep +y +<PENDING> +sum \(wave 1, lane 0\)", spaces("info breakpoints"))
    text = spaces("delete 3", "jump kernels.cl:123")
    assert "Watchpoint 2 (sum) was not set again: wave 1 did not come to weigh as before" in text


def test_watchpoints_of_registers_are_set_again_where_they_have_a_value():
    run = Run(PROCESSORS["gfx90a"].replace("O0", "O2"), width=120)
    run("target launch divergent 64 64 out=zeros(64) limit=0", "break kernels.cl:100", "run", "delete", "watch step")
    before = re.findall("value = .", run("continue", "continue"))
    text = run("run")
    assert text.startswith("Watchpoint 2 (step) will be set again when wave 1 is in divergent and step has a value.\n")
    assert re.findall("value = .", text + run("continue")) == before


def test_watchpoints_of_another_launch_are_deleted(spaces):
    spaces("break kernels.cl:58", "run", "delete", "watch sum")
    text = spaces("target launch divergent 64 64 out=zeros(64) limit=40", "run")
    assert "Watchpoint 2 (sum) deleted: this launch has other addresses. `watch sum` sets it again.\n" in text
    assert spaces("info breakpoints") == "No breakpoints or watchpoints.\n"


def test_variables_in_registers_are_watched():
    run = Run(PROCESSORS["gfx90a"].replace("O0", "O2"), width=120)
    run("target launch divergent 64 64 out=zeros(64) limit=0", "break kernels.cl:100", "run", "delete")
    text = run("watch step", "continue")
    assert "Hardware watchpoint 2: step" in text
    old, new = re.findall(r"(?:Old|New) value = (.*)", text)
    assert old != new
    assert re.findall(r"(?:Old|New) value = (.*)", run("reverse-continue")) == [new, old]
    assert "cannot be implemented with read/access watchpoint" in str(run.fails("rwatch step"))


def test_breakpoints_go_back_from_hit_to_hit(divergent):
    divergent("break kernels.cl:100 if step > 1")
    stops = [divergent("run"), *(divergent("continue") for _ in range(3))]
    assert [divergent("print step") and divergent("output step") for _ in stops[:1]] == ["5"]
    values = []
    for _ in range(3):
        divergent("reverse-continue")
        values.append(divergent("output step"))
    assert values == ["4", "3", "2"]
    assert "No more" in divergent("reverse-continue")
    assert divergent("info breakpoints").count("already hit 7 times") == 1


def test_what_has_ended_goes_back(divergent):
    divergent("break kernels.cl:102", "run")
    assert divergent("continue").endswith(f"exited normally]\nhint: {WAYS_BACK}\n")
    assert "not being run" in str(divergent.fails("continue"))
    assert "the wave has ended" in str(divergent.fails("step"))
    assert line_of(divergent("reverse-continue")) == 102


def test_commands_that_run_on_do_not_nest(divergent):
    lines = iter(["silent", "print step", "continue", "print 99", "end"])
    divergent.debugger.next_line = lambda _prompt: next(lines, None)
    divergent("break kernels.cl:100", "commands")
    text = divergent("run")
    assert text.count("$") >= 23
    assert "99" not in text
    assert "Breakpoint" not in text
    assert text.endswith(f"exited normally]\nhint: {WAYS_BACK}\n")


def test_breakpoints_are_disabled_ignored_and_told_together(divergent):
    divergent("break kernels.cl:100", "break kernels.cl:102", "disable 1")
    assert "Breakpoint 2" in divergent("run")
    divergent("enable", "disable 2", "ignore 1 3")
    divergent("run")
    assert divergent("output step") == "3"
    divergent("continue 3")
    assert divergent("output step") == "6"
    divergent("delete", "start", "next")
    assert "nothing to ignore" in str(divergent.fails("continue 2"))
    divergent("break kernels.cl:102", "tbreak kernels.cl:102")
    assert "hit Breakpoint 4, Temporary breakpoint 5, with lanes" in divergent("run")
    assert divergent("info breakpoints").count("keep") == 1


def test_a_step_does_not_hide_the_next_breakpoint(divergent):
    divergent("break 99", "break 100", "run")
    lines = []
    for _ in range(4):
        divergent("stepi")
        lines.append(line_of(divergent("continue")))
    assert lines == [100] * 4
    assert divergent("output step") == "3"
    divergent("tbreak 99")
    assert [line_of(divergent("next")) for _ in range(2)] == [99, 100]
    divergent("delete", "tbreak 99")
    assert "Temporary breakpoint" in divergent("reverse-continue")
    assert "No breakpoints" in divergent("info breakpoints")


def ask(run, line):
    return json.loads(run(line))


def test_stops_are_documents_with_the_words_of_gdb(divergent):
    divergent(IN_LANES)
    stop = ask(divergent, "run --json")
    assert (stop["schema"], stop["reason"], stop["breakpoints"]) == (1, "breakpoint-hit", [1])
    (wave,) = stop["waves"]
    assert wave["lanes"] in ("0xe0000000", "0xe000000000000000")
    assert (stop["wave"], stop["file"], stop["line"]) == (wave["wave"], "src/opencl/kernels.cl", 100)
    assert ask(divergent, "next --json")["reason"] == "end-stepping-range"
    divergent("watch step")
    change = ask(divergent, "continue --json")
    assert (change["reason"], change["old"], change["new"]) == ("watchpoint-trigger", "4", "5")
    assert ask(divergent, "reverse-continue --json")["old"] == "5"
    divergent("delete")
    assert ask(divergent, "reverse-continue --jsonl")["reason"] == "no-history"
    assert ask(divergent, "continue --json")["reason"] == "exited-normally"


def test_breakpoints_are_documents(divergent):
    divergent(IN_LANES, "tbreak saxpy", "run", "watch -location step")
    rows = ask(divergent, "info breakpoints --json")["breakpoints"]
    assert [row["type"] for row in rows] == ["breakpoint", "breakpoint", "hw watchpoint"]
    assert (rows[0]["condition"], rows[0]["hits"]) == ("step == 4 && rest > 20", 1)
    assert rows[0]["locations"][0]["function"] == "divergent"
    assert rows[1]["is_temporary"]
    assert rows[2]["lane"] in (29, 61)
    assert json.loads(divergent("info breakpoints --jsonl 3"))["number"] == 3


@for_each("line",
    "start", "step", "next 2", "stepi", "nexti", "until", "until 87", "advance 88", "finish", "jump 88",
     "reverse-step", "reverse-next", "reverse-stepi", "reverse-nexti", "reverse-finish")  # fmt: skip
def test_every_step_answers_as_json(launched, line):
    launched("break weigh", "target launch spaces 64 64 out=zeros(64) shared_by_host=256 table=zeros(64,i4) n=5", "run")
    word, _, rest = line.partition(" ")
    rest = rest.replace("87", "60").replace("88", "62")
    if word == "jump":
        launched("delete")
    document = ask(launched, f"{word} --json {rest}")
    assert document["schema"] == 1
    assert document["reason"] in ("end-stepping-range", "exited-normally", "breakpoint-hit", "no-history")


def texts(run, line):
    start, candidates = complete(run.debugger, line)
    return [line[:start] + candidate.text for candidate in candidates]


def test_completion_knows_places_conditions_and_numbers(launched):
    assert texts(launched, "break diverg") == ["break divergent"]
    assert texts(launched, "tbreak kernels") == ["tbreak kernels.cl:"]
    assert texts(launched, "break divergent i") == ["break divergent if"]
    launched("start", "break divergent if limit > 3", "catch fault")
    assert texts(launched, "break 100 if lim") == ["break 100 if limit"]
    assert texts(launched, "watch lim") == ["watch limit"]
    assert texts(launched, "delete ") == ["delete display", "delete 2", "delete 3"]
    assert texts(launched, "condition 2 lim") == ["condition 2 limit"]
    assert texts(launched, "catch f") == ["catch fault"]
    assert texts(launched, "advance diverg") == ["advance divergent"]
    assert texts(launched, "reverse-st") == ["reverse-step", "reverse-stepi"]
    assert texts(launched, "set scheduler-locking o") == ["set scheduler-locking off", "set scheduler-locking on"]


@for_each("line, message",
    ("break nowhere", "nowhere"),         ("break *0x10", "no code at 0x10"),
    ("break 100 if", "needs an expression"),                 ("break 100 if step = 3", "is an assignment"),
    ("watch -lane 13 a b", "select it first: `lane 13`, then `watch a b`"),
    ("watch", "needs EXPR"),              ("watch 5", "Cannot watch constant value `5'."),
    ("catch rain", "takes fault or trap"),                   ("delete 9", "No breakpoint number 9."),
    ("enable x", "Bad breakpoint argument"),                 ("condition", "needs N [EXPR]"),
    ("condition 9 x", "No breakpoint number 9."),            ("ignore 1", "No breakpoint number 1."),
    ("commands 3", "No breakpoint number 3."),               ("continue 0", "takes a number from 1"),
    ("step x", "takes a number"),         ("advance", "needs PLACE"),           ("jump nowhere", "nowhere"),
    ("run now", "takes no arguments"),    ("finish", "not meaningful in the outermost frame"))  # fmt: skip
def test_errors_are_one_line(launched, line, message):
    error = str(launched.fails(line))
    assert message in error
    assert "\n" not in error
    assert launched("info breakpoints") == "No breakpoints or watchpoints.\n"


EVERY = (
    "run", "start", "kill", "continue", "step", "next", "stepi", "nexti", "finish", "until", "advance main", "jump 3",
    "reverse-continue", "reverse-step", "reverse-next", "reverse-stepi", "reverse-nexti", "reverse-finish", "break 3",
    "tbreak 3", "watch x", "rwatch x", "awatch x", "catch fault")  # fmt: skip


@pytest.mark.parametrize("line", EVERY)
def test_each_command_says_in_one_line_that_a_snapshot_does_not_run(line):
    error = Run(KERNEL, STATE).fails(line)
    assert error.kind == "cannot_run"
    assert str(error) == f"A snapshot cannot run. `{line.split()[0]}` works after `target launch`."


def test_a_core_file_does_not_run_either():
    run = Run(None, "dwarfgpu/examples/crash.core")
    assert str(run.fails("step")) == "A core file cannot run. `step` works after `target launch`."


@pytest.mark.parametrize("word", ["attach", "rbreak", "signal"])
def test_commands_for_processes_are_not_those_with_similar_names(word):
    error = Run(KERNEL, STATE).fails(word)
    assert (str(error), error.kind) == (f"dwarfgpu does not have GDB's command `{word}`", "no_command")


def test_a_context_view_follows_each_stop(launched):
    launched("set context on", "set context-sections source locals expressions")
    launched(IN_LANES)
    text = launched("run")
    assert "step = 4" in launched("display step")
    assert "-- source: src/opencl/kernels.cl:100" in text
    assert "rest = 21" in text
    assert "-- source: src/opencl/kernels.cl:99" in launched("next")
    assert "-- source: src/opencl/kernels.cl:100" in launched("reverse-next")


def test_a_repair_setting_keeps_breakpoints_and_the_past(launched):
    launched(IN_LANES, "run", "stepi 3", "set repair off")
    launched("reverse-stepi 3")
    assert "No more" in launched("delete", "reverse-continue")


FAST = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co"


def test_what_is_outstanding_with_and_without_weak_memory():
    run = Run(FAST)
    run("set weak-memory 3", "target launch saxpy 64 64 y=ones(64) x=ones(64) a=2 n=64", "break *0x7f0000002374")
    run("continue")
    shown = run("info outstanding")
    assert "outstanding at saxpy+0x74:" in shown
    now = shown.partition("outstanding in wave 1:1:1:1 now:")[2]
    assert re.findall(r"global_load_b32 (v\d)", now) == ["v2", "v3"]
    assert re.findall(r"vmcnt \((\d) later\)", now) == ["1", "0"]
    run("stepi")
    assert "global_load_b32 v2" not in run("info outstanding")
    run("reverse-stepi")
    assert run("info outstanding") == shown
    run = Run(FAST)
    assert "outstanding at saxpy+0x74:" in run("info outstanding saxpy+0x74")
    assert "nothing is outstanding at saxpy+0x0" in run("info outstanding saxpy")
    assert "now" not in run("info outstanding saxpy+0x74")
    assert "weak-memory is off or a seed" in str(Run(FAST).fails("set weak-memory x"))


def test_json_at_the_prompt_keeps_its_quotes():
    with pytest.raises(UsageError, match="no value for list, halves, vectors, n of records"):
        Run(FILE)('target launch records 64 64 items={"weight":0.2} flags={"a b":[1]}')


def test_arguments_at_the_first_instruction_are_not_set_yet():
    run = Run(FILE)
    text = run("target launch saxpy 64 64 x=zeros(64) y=zeros(64) a=0.5 n=64", "info args")
    assert '$_arg("NAME") is an argument of the launch' in (run.fails("print n").hint or "")
    assert "a=<not set yet> (launched with 0.5), n=<not set yet> (launched with 64)) at" in " ".join(text.split())
    assert "n = <not set yet> (launched with 64): the function has not set up its frame yet\n" in text
    assert "saxpy (y=0x7f" in run("break saxpy", "run")


def test_a_variable_is_not_set_yet_before_its_declaration_is_executed():
    """Its memory has what was there before, which is no value of it; a watchpoint looks at memory."""
    run = Run("dwarfgpu/examples/blur.co")
    run("target launch blur 64 64 in=arange(64) out=zeros(64) n=63", "break blur.cl:6", "run")
    words = " ".join(run("info locals").split())
    assert words.startswith("i = 0 first = <not set yet> (line 6, which declares first, is still ahead) last =")
    assert str(run.fails("print first + 1")) == "line 6, which declares first, is still ahead"
    for command in "info locals -all", "map first", "map first + 1", "map -values first", "info locals -t int":
        assert "<not set yet>" in (text := run(command))
        assert "<error>" not in text
    assert re.fullmatch(
        r"\$\d+ = \(int \*\) private_lane#0x\w+\n\$\d+ = 4\n", run("print &first", "print sizeof(first)")
    )
    text = run("lane 7", "watch first", "continue")
    assert "Old value = 0\nNew value = 6\n" in text
    assert run("info locals").startswith("i = 7\nfirst = 6\nlast = <not set yet>")
    assert "j = 6" in run("delete", "break blur.cl:10", "continue", "info locals")
    assert "j = 7" in run("continue", "info locals")


def test_a_lane_that_has_returned_has_no_value_of_what_it_never_set():
    """Its memory has 0, as where the program stored 0."""
    run = Run("dwarfgpu/examples/blur.co", width=120)
    launch = "target launch blur 64 64 in=arange(64) out=zeros(64) n=40"
    text = run(launch, "break blur.cl:11", "run", "wave 2", "print -all first", "print -all i")
    assert "[7]=38, [8-31]=<not set yet>}\n  lanes 8-31: <not set yet> (the lane has never set first)\n" in text
    assert "[31]=(63)" in text
    assert "sum = <not set yet> (the lane has never set sum)" in run("lane 20", "info locals")
    assert str(run.fails("print last")) == "the lane has never set last"
    assert "! the lane has never set first" in run("map first")
    where = run("info registers pc exec")
    assert run("info registers pc exec") == where, "looking changes nothing"
    assert "exited normally" in run("delete", "continue")


def test_what_takes_too_long_to_find_is_not_looked_for_again(monkeypatch):
    """Where a search is bounded, each stop after it would cost as much again."""
    run, sought = Run("dwarfgpu/examples/blur.co"), []
    run("target launch blur 64 64 in=arange(64) out=zeros(64) n=40", "break blur.cl:11", "run", "wave 2", "lane 20")
    monkeypatch.setattr(checkpoints, "LONGEST_SEARCH", -1)
    monkeypatch.setattr(checkpoints.History, "interval", 100)
    monkeypatch.setattr(checkpoints.History, "visiting", recorded(checkpoints.History.visiting, sought))
    assert "sum = 0" in run("info locals")
    assert len(sought) == 1
    assert "sum = 0" in run("next", "lane 20", "info locals")
    assert len(sought) == 1


AT_100 = r'dprintf kernels.cl:100,"%d:%d ",$_lane,step'


def test_dprintf_prints_in_the_lanes_that_reach_a_place_and_goes_on(launched):
    assert launched(AT_100) == "Dprintf 1 at 0x7f00000042b4: file src/opencl/kernels.cl, line 100.\n"
    expected = [
        f"{lane}:{step} " for step in range(23) for lane in range(9 + step, 32)
    ]  # lanes of wave 2: rest = lane - 8
    assert launched("run") == f"{''.join(expected)}[Inferior 1 (divergent) exited normally]\nhint: {WAYS_BACK}\n"
    launched("run", "reverse-continue")
    assert launched.written[-1].count(":") < 4, "going back prints nothing"
    assert json.loads(launched("run --json"))["printed"] == expected


def test_dprintf_prints_once_where_all_lanes_agree_or_says_which_has_no_value(launched):
    launched(r'dprintf kernels.cl:102,"limit=%d %s\n",limit,"ok"')
    assert launched("run").startswith("limit=40 ok\n" * 2 + "[")
    assert launched("delete 1", r'dprintf kernels.cl:102,"end%%\n"', "run").count("end%\n") == 2
    launched(r'dprintf kernels.cl:100,"%d",*(int *)(lane == 41 ? 0x8 : (long)out)')
    text = launched("run")
    assert "dprintf, lane 9: " in text
    assert "dprintf, lane 10: " not in text


def test_dprintf_is_listed_limited_disabled_and_ignored(launched):
    launched(AT_100, "condition 1 step == 4 && rest > 20")
    assert launched("run").startswith("29:4 30:4 31:4 [")
    text = launched("info breakpoints").splitlines()
    assert text[1].split()[:4] == ["1", "dprintf", "keep", "y"]
    assert text[2:] == [
        "\tstop only if step == 4 && rest > 20",
        "\tbreakpoint already hit 1 time",
        r'        printf "%d:%d ",$_lane,step',
    ]
    launched("ignore 1 1")
    assert launched("run").startswith("[Inferior")
    launched("disable 1")
    assert launched("run").startswith("[Inferior")
    assert "has no commands" in str(launched.fails("commands 1"))


@for_each("operands, problem",
    ("kernels.cl:100", "Format string required"), (',"x"', "needs a place"),
    ('kernels.cl:100,"%d"', "Wrong number of arguments"),
    ('kernels.cl:100,"%q",step', "Unrecognized format specifier"),       ('kernels.cl:100,"%d",nosuch', "nosuch"),
    ('kernels.cl:100,"%d",step = 3', "is an assignment"),                ('nosuch.cl:1,"x"', "nosuch.cl"))  # fmt: skip
def test_what_dprintf_refuses(launched, operands, problem):
    assert problem in str(launched.fails(f"dprintf {operands}"))
    assert "No breakpoints" in launched("info breakpoints")
    assert launched("tbreak divergent").startswith("Temporary breakpoint 1 ")


@pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
def test_what_is_compiled_is_told(launched):
    stop = launched(IN_LANES, "set jit off", "run", "bt")
    assert launched("info machine") == (
        "gfx1100, 2 waves of 32 lanes, 682 instructions executed\njit off: nothing is compiled\n"
    )
    assert launched("set jit on", "run", "bt").partition("Wave 2 hit")[2] == stop.partition("Wave 2 hit")[2]
    row = ask(launched, "info machine --json")["machine"]
    assert (row["jit"], row["executed"], row["lanes"]) == ("on", 682, 32)
    assert row["compiler"].startswith("LLVM ")
    assert row["regions"] > 0 < row["bytes"]
    assert launched.fails("set jit now").kind == "bad_setting"


@pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
def test_machine_tells_why_nothing_is_compiled(launched, monkeypatch):
    def fails(*_args):
        raise RuntimeError("no such processor")

    monkeypatch.setattr(native, "_loaded", fails)
    launched(IN_LANES, "set jit on", "run", "bt")
    line = launched("info machine").splitlines()[1]
    assert line.startswith("jit on: nothing more is compiled, because LLVM ")
    assert line.endswith(" failed: no such processor")
    assert ask(launched, "info machine --json")["machine"]["problem"] == "no such processor"


@pytest.mark.slow
@pytest.mark.skipif(not is_available(), reason="needs the package llvmlite")
@for_each("commands",
    (IN_LANES, "run", "bt", "reverse-step", "info locals", "reverse-continue", "continue", "reverse-finish", "step"),
    ("break kernels.cl:100", "ignore 1 20", "run", "tbreak kernels.cl:102", "delete 1", "continue", "next",
        "stepi 333"),
    ("break kernels.cl:100", "run", "watch step", "continue", "continue", "info registers", "reverse-continue",
        "delete 2", "until", "finish"),
    ("start", "stepi 1000", "stepi 77", "reverse-stepi 200", "x/3i $pc", "advance kernels.cl:100", "info waves"),
    ("start", "break *$pc+64", "continue", "continue", "jump kernels.cl:96", "info registers", "delete", "continue"),
    ("break kernels.cl:100", "ignore 1 9", "run", "save snapshot FOLDER/state", "generate-core-file FOLDER/core",
        "continue", "target snapshot FOLDER/state", "bt", "info locals"),
    (IN_LANES, "run", "watch step if step > 5", "continue", "print step", "set var step = 30", "continue", "stepi"),
    (IN_LANES, "run", "print step + rest", "display step", "next 3", "info threads"),
)  # fmt: skip
def test_transcripts_are_the_same_compiled(commands, tmp_path):
    """Whatever a command stops at, it is where the interpreter stops."""

    def transcript(jit):
        run, written = Run(FILE, width=120), []
        run(LAUNCH, f"set jit {jit}")
        (folder := tmp_path / "saved").mkdir()
        for command in (*commands, "info registers pc", "info breakpoints", "continue"):
            try:
                written.append(run(command.replace("FOLDER", str(folder))))
            except UsageError as error:
                written.append(str(error))
        written += [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
        shutil.rmtree(folder)
        return written

    assert transcript("on") == transcript("off")


def test_a_store_of_the_same_value_is_told_where_going_back_ends(require_tool, tmp_path):
    require_tool("clang-22")
    source = tmp_path / "same.cl"
    source.write_text(
        "kernel void same(global int *out) {\n  local int tile[33];\n  int l = get_local_id(0);\n  tile[0] = 9;\n"
        "  tile[l + 1] = l < 7 ? 3 : 0;\n  out[l] = tile[l];\n}\n"
    )
    words = "same", "--grid=32", "--work-group=32", "out=zeros(32)", "-batch", "-ex=break 6", "-ex=run", "-ex=delete"

    def back(watch):
        answer = command_line("debug", str(source), *words, f"-ex={watch}", "-ex=reverse-continue")
        return " ".join(answer.stdout.split())

    text = back("watch tile[9]")
    assert "No more reverse-execution history. `tile[9]` was last written at same.cl:5 (wave 1, lane [8])," in text
    assert "with the same value; `awatch tile[9]` stops there" in text
    assert "tile[9], with lane [8]" in back("awatch tile[9]")
    assert "was last written" not in back("watch tile[0]")


def test_a_breakpoint_where_waves_stand_says_that_they_go_on(launched):
    launched("break kernels.cl:100", "run")
    there = "hint: wave 2 is there now: `continue` goes on from there, and stops when it comes there again\n"
    assert launched("break") == f"Breakpoint 2 at 0x7f00000042b4: file src/opencl/kernels.cl, line 100.\n{there}"
    assert "there now" not in launched("break kernels.cl:93")
    assert "\nWave 2 hit Breakpoint 2, " in launched("delete 1 3", "continue")


ONE_LINE = """int same(int a) { return a; }
int loop(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
kernel void k(global int *out) {
  int i = get_global_id(0);
  out[i] = same(i + 5) + loop(i & 3);
}
"""


def test_a_line_that_is_a_whole_function_begins_behind_its_prologue(require_tool, tmp_path):
    """As in GDB: there its parameters have values."""
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(ONE_LINE)
    run = Run(str(tmp_path / "k.cl"), width=120)
    run("target launch k 32 32 out=zeros(32)", "break 1", "break k.cl:2", "run", "lane 3")
    assert run("info args").startswith("a = 8\n")
    assert "\nn = 3\n" in run("continue", "info args")
    assert run("break same").partition(" at ")[2] == run("break 1").partition(" at ")[2]


def test_stops_at_findings_and_faults_name_the_way_back():
    run = Run("dwarfgpu/examples/reverse.co", width=120)
    found = run("set check race", "target launch reverse 128 64 in=arange(128) out=zeros(128)", "run")
    assert found.endswith("hint: `awatch tile[0]` and `reverse-continue` go to the accesses before\n")
    assert "hit Hardware access (read/write) watchpoint 1: tile[0]" in run("awatch tile[0]", "rc", "rc")
    run = Run("dwarfgpu/examples/blur.co", width=120)
    run("directory dwarfgpu/examples")
    hint = "hint: `info fault` says which access failed, and what changed its index last\n"
    assert run("target launch blur 64 64 random(50) zeros(50) 50", "run").endswith(hint)
    assert "`watch j` and `reverse-continue` go there" in run("info fault")
    assert hint not in run("reverse-step", "continue")


CALLS = """__attribute__((noinline)) int weigh(int at) {
  int twice = at * 2;
  if (at > 3)
    twice += 1;
  return twice;
}
kernel void k(global int *out) {
  int gid = get_global_id(0);
  int found = 0;
  if (gid % 2 == 0)
    found = weigh(gid);
  out[gid] = found;
}
"""


def test_a_caller_is_named_where_its_variable_is_asked_for_and_its_lanes_are_explained(tmp_path, require_tool):
    require_tool("clang-22")
    (source := tmp_path / "calls.cl").write_text(CALLS)
    words = "k", "--grid=32", "--work-group=32", "out=zeros(32)", "-batch", "-ex=break 4", "-ex=continue"

    def told(*steps):
        answer = command_line("debug", str(source), *words, *(f"-ex={step}" for step in steps))
        return answer.stdout + answer.stderr

    hint = "hint: it is in frame 1, k: `up` or the option --frame 1 selects that\n"
    for step in "print gid", "print found + 1", "watch found":
        assert hint in told(step)
    assert "hint: it is in frame 0, weigh: `down` or the option" in told("up", "print twice")
    assert "hint: it is in frame 0" not in told("up", "print nothing")
    assert "a caller" not in told("info lanes")
    text = " ".join(told("up", "info lanes").split())
    assert "A in frame 1, a caller: the lane was active at the call; of these, lanes 0,2 wait for the lanes" in text


def test_a_prompt_explains_once_how_a_caller_was_found():
    steps = ("-ex", "backtrace") * 2
    answer = command_line("debug", "--state", "dwarfgpu/examples/blur.core", "-batch", *steps)
    assert (answer.stdout + answer.stderr).count("hint: (by the code): without call frame information") == 1
    assert answer.stdout.count("by the code)\n") == 2


def test_clear_removes_the_breakpoints_of_a_line(launched):
    launched("break kernels.cl:99", "tbreak kernels.cl:102", "break kernels.cl:102", "break divergent")
    assert launched("clear kernels.cl:102") == "Deleted breakpoints 2 3\n"
    assert "No breakpoint at kernels.cl:102." in str(launched.fails("clear kernels.cl:102"))
    assert "hit Breakpoint 1" in launched("clear divergent", "run")
    assert launched("clear") == "Deleted breakpoint 1\n"
    assert "No breakpoint at this line." in str(launched.fails("clear"))


def test_a_lane_is_selected_by_its_work_item():
    run = Run(FILE, width=120)
    run("target launch divergent 128 64 out=zeros(128) limit=40")
    for text in ("[40,0,0]", "(40,0)", "[40]"):
        assert "wave 2, lane 8 (AMDGPU Lane 1:1:1:2/8 (0,0,0)[40,0,0])" in run("wave 1", f"lane {text}"), text
    assert "wave 4, lane 4 (AMDGPU Lane 1:1:1:4/4 (1,0,0)[36,0,0])" in run("lane global 100")
    assert "wave 3, lane 1 " in run("lane [1,0,0]"), "in the work-group of the selected wave"
    assert "the work-group has no work-item [77,0,0]" in str(run.fails("lane [77,0,0]"))
    assert "the grid has no work-item [128]" in str(run.fails("lane global 128"))
    assert "`lane [X,Y,Z]` selects a thread" in run.fails("cuda thread (77,0,0)").hint
