import json
import re
import subprocess
from pathlib import Path

import pytest

import dwarfgpu as dg
from tests.gdb.running import ROOT, python, run_gdb, stub, typed
from tests.gdb.test_waves import EXAMPLES, LOAD_ADDRESS, SNAPSHOTS, connected, states


def full(require_tool, program, *commands: str) -> str:
    return run_gdb(require_tool, *typed(*commands, "break stop_here; run; bt -full"), program=program)


@pytest.mark.slow
def test_what_gdb_cannot_read_is_shown(require_tool, runnable_host):
    text = full(require_tool, runnable_host)
    for line in (
        "        counter = 5",
        "        selected = {-1, 2, -3, 4}",
        '        split = "{low = 84281096, high = 4009689105}"',
        '        gone = "<its location is undefined here (DW_OP_LLVM_undefined)>"',
        '        element = "<the evaluation needs a current lane, which the context does not have>"',
        "        local = 42",
        "        in_rbx = 1234605616436508552",
    ):
        assert f"{line}\n" in text, text
    assert "error reading" not in text
    assert len(re.findall("^#", text, re.MULTILINE)) == 3
    off = full(require_tool, runnable_host, "set dwarfgpu frame-filter off")
    assert off.count("Unhandled dwarf expression opcode 0xe9") >= 4
    assert "        std_counter = 5\n" in off


@pytest.mark.slow
@pytest.mark.parametrize("level, language", [("-O0", "c"), ("-O2", "c"), ("-O0", "cpp")])
def test_what_gdb_can_read_is_shown_as_without_a_filter(require_tool, tmp_path, level, language):
    """What variables were at the call (x=x@entry=3) is GDB's own, and not there if all come from dwarfgpu.

    Of optimized C++ GDB 13 itself ends with an internal error, at a reference in a record that is in parts.
    """
    source = ROOT / "tests" / "program" / "corpus" / f"stops.{language}"
    program = tmp_path / "program"
    compiler = require_tool("g++" if language == "cpp" else "gcc")
    subprocess.run([compiler, "-g", level, "-w", source, "-o", program], check=True)
    modes = ("off", "unreadable", "all")[: 3 if level == "-O0" else 2]
    # one process for all modes: what is not initialized yet is something else in each
    asked = [word for mode in modes for word in (f"echo == {mode}\\n", f"set dwarfgpu frame-filter {mode}", "bt -full")]
    commands = ["set width 0", "break checkpoint", "run", *asked, *(["continue 3", *asked] * 5)]
    text = run_gdb(require_tool, *typed(*commands), program=program)
    shown: dict[str, list[str]] = {mode: [] for mode in modes}
    for part in text.split("== ")[1:]:
        mode, *lines = part.splitlines()
        frames = "\n".join(lines).partition("\nWill ignore")[0].splitlines()
        shown[mode] += [line for line in frames if line.startswith(("#", " ", "No locals."))]
    assert all(lines == shown["off"] for lines in shown.values())
    assert sum(" = " in line for line in shown["off"]) > 40


THREADS = """
#include <pthread.h>
int sink;
void clear(void) { volatile char stack[4096]; for (int i = 0; i < 4096; i++) stack[i] = 0; }
void later(int n) { int next = n, many[n + 1]; many[n] = next; sink = many[n]; }
void *work(void *unused) { int here = 7; clear(); later(here); return unused; }
int main(void) { pthread_t one; pthread_create(&one, 0, work, 0); pthread_join(one, 0); return sink; }
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["unreadable", "all"])
def test_a_variable_that_nothing_can_read_in_another_thread(require_tool, tmp_path, mode):
    """GDB 13 ends with an internal error if a thread is selected while it asks a filter; all frames are shown."""
    (tmp_path / "threads.c").write_text(THREADS)
    program = tmp_path / "threads"
    subprocess.run([require_tool("gcc"), "-g", "-O0", tmp_path / "threads.c", "-o", program, "-pthread"], check=True)
    commands = typed(f"set dwarfgpu frame-filter {mode}; break later; run; bt -full")
    text = run_gdb(require_tool, *commands, program=program)
    assert "internal-error" not in text
    assert "Exception" not in text
    shown = text[text.index("\n#0 ") :]
    assert re.search('        many = "?.*Cannot access memory', shown), text
    assert "        here = 7\n" in shown
    assert "\n#2 " in shown


LATER = """
import gdb.FrameDecorator as theirs
from dwarfgpu.gdbplugin import frame_filter
class SymValueWrapper:
    def __init__(self, frame, symbol):
        self.frame, self.sym = frame, symbol
    def symbol(self):
        return self.sym
    def value(self):
        return None if self.frame is None else self.frame.read_var(self.sym)
def fetched(self):
    return [SymValueWrapper(self.frame, each) for each in self.frame.block() if each.is_variable]
frame_filter.SymValueWrapper = theirs.SymValueWrapper = SymValueWrapper
theirs.FrameVars.fetch_frame_locals = fetched
theirs.FrameVars.fetch_frame_args = fetched
"""


@pytest.mark.slow
def test_a_newer_gdb_reads_the_variables_of_its_own_class(require_tool, runnable_host, tmp_path):
    """Since GDB 14 it is made of a frame and a symbol, and fails to have a value where GDB cannot read it."""
    (tmp_path / "later.py").write_text(LATER)
    text = full(require_tool, runnable_host, f"source {tmp_path / 'later.py'}")
    assert "        counter = 5\n" in text, text
    assert "#0  inner (counter=5, std_counter=5" in text
    assert "Exception" not in text


def unwound(require_tool, folder, name: str, *more: str) -> str:
    commands = typed("set dwarfgpu unwinder on; bt; dwarfgpu bt", *more)
    with stub(folder, states([name])) as sockets:
        return run_gdb(require_tool, *connected(sockets, name), *commands)


@pytest.mark.slow
def test_callers_of_waves(require_tool, tmp_path):
    text = unwound(require_tool, tmp_path, "calls", "thread 3", "bt", "dwarfgpu bt")
    line = re.compile(r"^#\d+ +(?:0x0*([0-9a-f]+) in )?(\w+)", re.MULTILINE)
    stacks = [line.findall(part) for part in re.split("(?=#0 )", text)]
    first, ours, again, last, ours_last = (each for each in stacks if each)
    assert [name for _, name in first] == ["leaf", "inner", "middle", "outer", "calls"]
    assert [pc for pc, _ in first] == ["", "7f0000001b20", "7f0000001c5c", "7f0000001da4", "7f000000275c"]
    assert [name for _, name in ours] == [name for _, name in first]
    assert [name for _, name in last] == [name for _, name in ours_last] == ["inner", "middle", "outer", "calls"]
    assert again[0][1] == "inner"


NAMELESS = """
import gdb
class Thread:
    def __init__(self, thread):
        self.thread = thread
    def __getattr__(self, name):
        if name == "ptid_string":
            raise AssertionError("GDB would find all frames anew")
        return getattr(self.thread, name)
thread = Thread(gdb.selected_thread())
gdb.selected_thread = lambda: thread
"""


@pytest.mark.slow
def test_the_unwinder_does_not_ask_for_names(require_tool, tmp_path):
    """GDB 14 and later would end with an internal error."""
    script = tmp_path / "nameless.py"
    script.write_text(NAMELESS)
    with stub(tmp_path, states(["calls"])) as sockets:
        commands = typed(f"source {script}; set dwarfgpu unwinder on; set dwarfgpu frame-filter off; bt")
        text = run_gdb(require_tool, *connected(sockets, "calls"), *commands)
    assert re.findall(r"^#\d.* (\w+) \(", text, re.MULTILINE)[:5] == ["leaf", "inner", "middle", "outer", "calls"]


SAVED = """
import json
import gdb
found = []
frame = gdb.newest_frame()
while frame is not None and frame.pc():
    registers = {}
    for name in ("s2", "s5", "s30", "s31", "s32", "s33", "s34", "v40", "v41", "v42"):
        try:
            value = frame.read_register(name)
            registers[name] = None if value.is_optimized_out else value.format_string(format="x", repeat_threshold=0,
                                                                                      max_elements=0)
        except gdb.error:
            registers[name] = None
    found.append(registers)
    frame = frame.older()
print("@@" + json.dumps(found))
"""


@pytest.mark.slow
def test_registers_of_callers(require_tool, tmp_path):
    """What GDB has of each frame's registers is what the library has of them in the snapshot."""
    script = tmp_path / "registers.py"
    script.write_text(SAVED)
    text = unwound(require_tool, tmp_path, "calls", f"source {script}")
    found = json.loads(text.partition("@@")[2].splitlines()[0])
    wave = dg.open(SNAPSHOTS["calls"]).attach(EXAMPLES / "calls.json")[0]
    frames = [each for each in wave.frames() if not each.is_inlined]
    assert len(found) == len(frames) == 5
    compared = 0
    for theirs, frame in zip(found, frames, strict=True):
        for name, text in theirs.items():
            values = frame.eval(f"${name}", lanes=[0])
            if text is None or "unavailable" in text:
                continue
            numbers = [int(each, 16) for each in re.findall(r"0x[0-9a-f]+", text)]
            ours = values.array[0]
            expected = [int(each) & 0xFFFFFFFF for each in (ours.tolist() if ours.shape else [ours])]
            assert values.states[0] != "error"
            assert numbers == expected, (frame, name)
            compared += 1
    assert compared >= 30


LISTED = """
import gdb, sys
calls = []
def count(_frame, event, what):
    if event == "c_call":
        calls.append(what.__name__)
def counted(command):
    calls.clear()
    sys.setprofile(count)
    try:
        gdb.execute(command, to_string=True)
    finally:
        sys.setprofile(None)
    return calls.count("read_register"), calls.count("threads")
gdb.execute("thread 3")
print("@@", *counted("thread apply all bt 1"))
gdb.execute("maintenance flush register-cache", to_string=True)
gdb.execute("set dwarfgpu unwinder on")
print("@@", *counted("info threads"))
gdb.execute('print $dwarfgpu("$exec")', to_string=True)
print("@@", *counted('print $dwarfgpu("$exec")'))
for number in (3, 1, 2):
    gdb.execute(f"thread {number}", to_string=True)
    frame, names = gdb.newest_frame(), []
    while frame is not None and frame.pc():
        names.append(frame.name())
        frame = frame.older()
    print("@@", *names)
print(gdb.execute("info threads", to_string=True))
"""


@pytest.mark.slow
def test_a_list_of_threads_asks_for_no_callers(require_tool, tmp_path):
    """Registers are read in the thread that stays selected alone; callers of all threads are there afterwards."""
    script = tmp_path / "listed.py"
    script.write_text(LISTED)
    text = unwound(require_tool, tmp_path, "calls", f"source {script}")
    all_stacks, listed, warm, *stacks = [line[3:].split() for line in text.splitlines() if line.startswith("@@")]
    assert int(all_stacks[0]) > 2 * int(listed[0]) > 0
    assert warm[1] == "0"
    callers = ["inner", "middle", "outer", "calls"]
    assert stacks == [callers, ["leaf", *callers], ["leaf", *callers]]
    listed = re.findall(r"^[* ] +\d.*\b(leaf|inner) \(", text.rpartition("@@")[2], re.MULTILINE)
    assert listed == ["leaf", "leaf", "inner"]


@pytest.mark.slow
def test_a_hook_of_the_user_stays(require_tool, tmp_path):
    hook = tmp_path / "hook"
    hook.write_text("define info hook-threads\necho mine\\n\nend\n")
    with stub(tmp_path, states(["calls"])) as sockets:
        words = typed(f"source {hook}; set dwarfgpu unwinder on; info threads; bt")
        text = run_gdb(require_tool, *connected(sockets, "calls"), *words)
    assert "\nmine\n" in text
    assert text.count(" in calls") == 1


@pytest.mark.slow
def test_gdb_does_not_die_of_our_call_frame_information(require_tool, tmp_path):
    """Its own unwinders must be off, or ours on before it meets a wave."""
    with stub(tmp_path, states(["calls"])) as sockets:
        text = run_gdb(
            require_tool,
            *typed(f"set dwarfgpu unwinder on; add-symbol-file {SNAPSHOTS['calls']} -o {LOAD_ADDRESS:#x}"),
            *typed(f"target remote {sockets / 'calls'}"),
            *python("from tests.gdb.inside import spaces; spaces.teach()"),
            *typed('bt; up 4; print $dwarfgpu("lane", 5); set dwarfgpu unwinder off; show dwarfgpu unwinder'),
        )
    assert "internal-error" not in text
    assert text.count(" in calls") == 2
    expected = dg.open(SNAPSHOTS["calls"]).attach(EXAMPLES / "calls.json")[0].frame(4)["lane"].value(5)
    assert f"$1 = {expected}\n" in text
    assert text.endswith('"dwarfgpu unwinder" is off.\n[Inferior 1 (Remote target) detached]\n')


@pytest.mark.slow
def test_threads_are_left_to_gdb(require_tool, runnable_host):
    shown = []
    for state in ("off", "on"):
        commands = typed(f"set dwarfgpu unwinder {state}; break stop_here; run; bt; up; info registers rbx")
        shown.append(run_gdb(require_tool, *commands, program=runnable_host))
    assert shown[0] == shown[1]


RECURSION = """
static inline __attribute__((always_inline)) int around(int n, int (*below)(int)) {
  int mine = n * 3;
  return below(n) + mine;
}
int deeper(int n) { int here = n * n; return n ? around(n - 1, deeper) + here : here; }
int main(void) { return deeper(12) & 1; }
"""
ANY_ORDER = """
import gdb, random
from dwarfgpu.gdbplugin.host import gdb_host
gdb.execute("break deeper if n == 0")
gdb.execute("run", to_string=True)
def frames():
    frame = gdb.newest_frame()
    while frame is not None:
        yield frame
        frame = frame.older()
def known(frame):
    found = gdb_host().frame_of(frame)
    names = [each.name for each in found.variables()]
    return [frame.name(), found.name, *((name, found[name].value(), int(frame.read_var(name))) for name in names)]
for command in ("", "set var $rbx = 1", "finish", "continue"):
    if command:
        gdb.execute(command, to_string=True)
    if not gdb.selected_inferior().pid:
        break
    every = list(frames())
    expected = [known(each) for each in every]
    for theirs, ours, *variables in expected:
        assert theirs == ours, (theirs, ours)
        assert all(one == other for _, one, other in variables), variables
    numbers = [*range(len(every))] * 3
    random.Random(1).shuffle(numbers)
    for number in numbers:
        assert known(every[number]) == expected[number], number
    print("@@", len(every), sum(len(each) - 2 for each in expected))
"""


@pytest.mark.slow
def test_frames_in_any_order(require_tool, tmp_path):
    """Calls of one function differ by nothing but their place, and those that are inlined have none of their own."""
    (tmp_path / "recursion.c").write_text(RECURSION)
    program, script = tmp_path / "recursion", tmp_path / "script.py"
    script.write_text(ANY_ORDER)
    subprocess.run([require_tool("gcc"), "-g", "-O0", tmp_path / "recursion.c", "-o", program], check=True)
    text = run_gdb(require_tool, program=program, script=script)
    assert re.findall("@@ (.*)", text) == ["26 62", "26 62", "25 60"], text


PROGRAMS = Path(__file__).parent / "programs"
COMPARE = """
import gdb, json
import dwarfgpu.gdb as dg
def compared():
    found, number = [], 0
    frame = gdb.newest_frame()
    while frame is not None:
        frame.select()
        if frame.type() == gdb.NORMAL_FRAME and frame.function() is not None:
            ours = dg.selected()
            for variable in ours.variables():
                theirs = frame.read_var(variable.name).format_string()
                asked = gdb.execute(f"dwarfgpu eval {variable.name}", to_string=True).strip().partition(" = ")[2]
                value = gdb.parse_and_eval(f'$dwarfgpu("{variable.name}")').format_string()
                found.append([frame.name(), ours.name, variable.name, theirs, asked, value, ours.place - frame.pc()])
        elif frame.type() == gdb.DUMMY_FRAME:
            try:
                found.append(dg.selected().name)
            except dg.DwarfGpuError as error:
                found.append(error.kind)
        frame = frame.older()
    gdb.newest_frame().select()
    print("@@" + json.dumps(found))
gdb.execute("set width 0")
gdb.execute("break stop_here")
gdb.execute("run", to_string=True)
compared()
try:
    gdb.execute("print middle(5)", to_string=True)
except gdb.error:
    compared()
    gdb.execute("frame function middle")
    gdb.execute("dwarfgpu set n = 99")
    print("@@" + json.dumps([int(gdb.parse_and_eval("n")), gdb.selected_frame().name()]))
"""


@pytest.fixture(scope="module")
def bare(require_tool, tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("bare") / "bare"
    subprocess.run([require_tool("gcc"), "-g", "-O0", PROGRAMS / "bare.c", "-o", program], check=True)
    return program


@pytest.mark.slow
def test_frames_behind_code_without_information(require_tool, bare, tmp_path):
    script = tmp_path / "compare.py"
    script.write_text(COMPARE)
    text = run_gdb(require_tool, program=bare, script=script)
    assert "Traceback" not in text, text
    first, called, written = (json.loads(line[2:]) for line in text.splitlines() if line.startswith("@@"))
    assert [row[2] for row in first] == ["code", "n", "doubled", "many", "argc", "argv", "start"]
    assert called[4] == "no_frame"  # `<function called from gdb>`
    rows = [*first, *called[:4], *called[5:]]
    assert len(rows) == 7 + 4 + 7
    for theirs, ours, name, value, asked, function, _ in rows:
        assert theirs == ours
        assert value == function, name
        assert asked.endswith(value), name
    # a caller is looked up in its call; one that was stopped is looked up where it stopped
    assert [row[-1] for row in rows] == [0, *[-1] * 6, 0, *[-1] * 3, 0, *[-1] * 6]
    assert written == [99, "middle"]


@pytest.mark.slow
def test_backtraces_show_these_frames_and_where_they_end(require_tool, bare):
    commands = typed("set dwarfgpu frame-filter all; break stop_here; run; bt -full")
    text = run_gdb(require_tool, *commands, program=bare)
    assert "        doubled = 22\n        many = {11, 12, 13}\n" in text
    assert "        start = 11\n" in text
    text = run_gdb(require_tool, *typed("break stop_here; run; dwarfgpu bt"), program=bare)
    assert "Backtrace stopped: the callers are not known: " in text


@pytest.mark.slow
def test_the_beginning_of_a_thread(require_tool, tmp_path):
    """Every frame of a thread that GDB shows has an answer, also those of the C library that begin it."""
    source = "#include <pthread.h>\nvoid *work(void *p) { return p; }\nint main(void)\n{ pthread_t t;\n"
    (tmp_path / "a.c").write_text(source + "pthread_create(&t, 0, work, 0); return pthread_join(t, 0); }\n")
    subprocess.run([require_tool("gcc"), "-g", "-O0", "-pthread", tmp_path / "a.c", "-o", tmp_path / "a"], check=True)
    show = "import dwarfgpu.gdb as dg; print('@@', gdb.selected_frame().name(), dg.selected().name)"
    commands = typed("break work; run")
    for number in range(3):
        commands += [*typed(f"frame {number}"), *python(show), *typed("dwarfgpu eval $rsp")]
    text = run_gdb(require_tool, *commands, program=tmp_path / "a")
    frames = [line.split()[1:] for line in text.splitlines() if line.startswith("@@")]
    assert len(frames) == 3
    assert frames[0] == ["work", "work"]
    assert text.count("$rsp = (void *) 0x") == 3
