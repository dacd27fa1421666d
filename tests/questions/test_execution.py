"""Kernels that run under the debugger: stops, steps, watchpoints, and the way back."""

import json
import re
import shutil

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.control import checkpoints
from dwarfgpu.execution.forms import native
from dwarfgpu.execution.forms.engine import library
from dwarfgpu.questions.execution import KernelRun
from dwarfgpu.questions.stopping import WAYS_BACK
from tests.builders.commands import run as command_line
from tests.builders.parameters import for_each
from tests.questions.harness import Run

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


def test_commands_run_when_it_stops(launched):
    lines = iter(["print step + 100", "end"])
    launched.debugger.next_line = lambda _prompt: next(lines, None)
    launched(IN_LANES)
    launched("commands")
    assert "$1 = 104\n" in launched("run")


def test_a_fault_is_saved_with_its_lanes_and_goes_back(tmp_path):
    run = Run(FILE)
    text = run("target launch saxpy 64 64 x=zeros(64) y=zeros(8) a=0.5 n=64", "run")
    assert "Wave 1 received signal SIGSEGV, Segmentation fault." in text
    run(f"save snapshot {tmp_path}/fault.json")
    assert "[Current wave is 1, lane 8 " in Run(FILE)(f"target snapshot {tmp_path}/fault.json")
    before = _pc(run)
    run("reverse-stepi")
    assert _pc(run) != before
    assert "SIGSEGV" in run("continue")


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


def line_of(text):
    """The line of the source where the last stop is."""
    return int(re.findall(r"kernels\.cl:(\d+)", text)[-1])


@pytest.mark.sampled(6)
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


def test_a_condition_without_a_value_is_told_where_no_lane_came():
    run = Run(FILE.replace("O0", "O2"), width=200)
    run(LAUNCH, "break kernels.cl:93 if limit > 3")
    kernel = run.debugger.state_of(KernelRun)
    missed = kernel.debugging.running.missed_text("kernels.cl:93", list(kernel.points), "limit > 3")
    assert missed == "no lane came to kernels.cl:93, where `limit > 3` has no value"


def test_commands_that_run_on_do_not_nest(launched):
    lines = iter(["silent", "print step", "continue", "print 99", "end"])
    launched.debugger.next_line = lambda _prompt: next(lines, None)
    launched("break kernels.cl:100", "commands")
    text = launched("run")
    assert text.count("$") >= 23
    assert "99" not in text
    assert "Breakpoint" not in text
    assert text.endswith(f"exited normally]\nhint: {WAYS_BACK}\n")


def ask(run, line):
    return json.loads(run(line))


@for_each("line",
    "start", "step", "next 2", "stepi", "nexti", "until", "until 87", "advance 88", "finish", "jump 88",
     "reverse-step", "reverse-next", "reverse-stepi", "reverse-nexti", "reverse-finish")  # fmt: skip
@pytest.mark.sampled(6)
def test_every_step_answers_as_json(launched, line):
    launched("break weigh", "target launch spaces 64 64 out=zeros(64) shared_by_host=256 table=zeros(64,i4) n=5", "run")
    word, _, rest = line.partition(" ")
    rest = rest.replace("87", "60").replace("88", "62")
    if word == "jump":
        launched("delete")
    document = ask(launched, f"{word} --json {rest}")
    assert document["schema"] == 1
    assert document["reason"] in ("end-stepping-range", "exited-normally", "breakpoint-hit", "no-history")


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


def test_what_is_compiled_is_told(launched):
    stop = launched(IN_LANES, "set jit off", "run", "bt")
    assert launched("info machine") == (
        "gfx1100, 2 waves of 32 lanes, 682 instructions executed\njit off: nothing is compiled\n"
    )
    assert launched("set jit on", "run", "bt").partition("Wave 2 hit")[2] == stop.partition("Wave 2 hit")[2]
    row = ask(launched, "info machine --json")["machine"]
    assert (row["jit"], row["executed"], row["lanes"]) == ("on", 682, 32)
    assert row["compiler"].startswith("LLVM ")
    assert row["forms"] > 0 < row["bytes"]
    assert launched.fails("set jit now").kind == "bad_setting"


def test_checkpoints_tell_their_memory_and_how_far_back_they_lead(launched):
    launched(IN_LANES, "run")
    row = ask(launched, "info checkpoints --json")["checkpoints"]
    assert (row["count"], row["first"], row["executed"]) == (1, 0, 682)
    assert 0 < row["bytes"] < row["most_bytes"]
    assert launched("info checkpoints") == (
        f"1 checkpoint: {row['bytes']:,} of at most 536,870,912 bytes\n"
        "you can go back over 682 instructions, to the launch\n"
    )


def test_machine_tells_why_nothing_is_compiled(launched, monkeypatch):
    def fails(*_args):
        raise RuntimeError("no such processor")

    library.cache_clear()
    monkeypatch.setattr(native, "_object_code", fails)
    launched(IN_LANES, "set jit on", "run", "bt")
    line = launched("info machine").splitlines()[1]
    assert line.startswith("jit on: nothing more is compiled, because LLVM ")
    assert line.endswith(" failed: no such processor")
    assert ask(launched, "info machine --json")["machine"]["problem"] == "no such processor"


@pytest.mark.slow
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


@pytest.mark.slow
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
