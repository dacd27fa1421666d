"""`backtrace`, `frame`, `up`, `down`, `info frame`: waves, threads of a core file, and what GDB says of the same."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.builders.hostile import bounded
from tests.questions.harness import Run
from tests.questions.test_waves import CALLS, CALLS_STATE, LANES, STATE, TINY, changed, threads  # noqa: F401


@pytest.fixture
def run() -> Run:
    return Run(CALLS, CALLS_STATE)


def test_frames_that_are_left_out_are_counted(run):
    (stack,) = json.loads(run("bt --json 2"))["stacks"]
    assert (len(stack["frames"]), stack["frames_left_out"]) == (2, 3)
    assert "frames_left_out" not in json.loads(run("bt --json"))["stacks"][0]


PAIRS = """typedef struct { float x, y; } Pair;
typedef struct { int all[40]; } Table;
float sum(Pair p, Table t) {
  return p.x + p.y + t.all[3];
}
kernel void k(global float *out) {
  int i = get_global_id(0);
  Pair p = {i, 2};
  Table t;
  t.all[3] = 7;
  out[i] = sum(p, t);
}
"""


def test_small_structures_are_shown_among_the_arguments(require_tool, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(PAIRS)
    run = Run(str(tmp_path / "k.cl"), width=120)
    run("target launch k 32 32 out=zeros(32)", "break sum", "run")
    assert "#0  sum (p={x = 5, y = 2}, t=...) at " in run("lane 5")
    run("set print frame-arguments none")
    assert run("frame").startswith("#0  sum (...) at ")


def test_inactive_inner_frames_are_skipped(run):
    """The outer functions were called by all lanes, the inner ones by half of them."""
    for frame in run.debugger.wave:
        mask = 0xFFFF if frame.number < 2 else 0xFFFFFFFF
        frame.active_lanes = lambda mask=mask: mask
    outer = run("bt -3")
    run("lane 20")
    assert run("bt") == f"warning: lane is divergent, skipping inactive frames\n{outer}"
    assert run("bt -lane 20") == f"warning: lane 20 is divergent, 2 frames are left out\n{outer}"


def test_threads_of_a_process(threads):  # noqa: F811
    lines = threads("bt").splitlines()
    assert [line.split(" (")[0] for line in lines if line.startswith("#")] == [
        *("#0  aligned", "#1  0x40119e in indirect", "#2  0x401211 in program")
    ]
    assert lines[-1].startswith("Backtrace stopped: ") or lines[-2].startswith("Backtrace stopped: ")
    lines = threads("info frame").splitlines()
    assert lines[0] == "Stack level 0, frame at 0x7008:"
    assert lines[1].startswith(" rip = 0x401100 in aligned (")
    assert lines[-2:] == [" Saved registers:", "  rip at 0x7000"]
    assert threads.fails("bt -lane 0").message == "threads of x86_64 have no lanes"


SOURCE = """
struct S { int a; double b; };
enum color { RED, GREEN };
int sink;
static inline __attribute__((always_inline)) int inlined(int q, const char *name) {
  sink = q;
  return *(volatile int *)0 + name[0];
}
__attribute__((noinline)) int leaf(int x, struct S s, struct S *p, enum color c, double d, char ch,
                                   const char *t, _Bool flag, unsigned short *null) {
  int local = x * 2;
  return inlined(local, t) + s.a + p->a + c + (int)d + ch + flag + (null != 0);
}
__attribute__((noinline)) int recursion(int n, long long big, unsigned char u, int array[3]) {
  struct S s = {n, 1.5};
  if (n) {
    int deeper = recursion(n - 1, big * 2, u, array);
    return deeper + 1;
  }
  return leaf(5, s, &s, GREEN, 2.5, 'c', "hello", 1, 0) + (int)big + u + array[0];
}
int main(int argc, char **argv) {
  int array[3] = {1, 2, 3};
  return recursion(3, 1LL << 40, 200, array);
}
"""


@pytest.fixture(scope="module", params=["gcc -O0", "clang-22 -O0"])
def crashed(request, tmp_path_factory, require_tool) -> tuple[Run, Path, Path, str]:
    """A program that has ended in an inlined function, and its core file."""
    gdb = require_tool("gdb")
    compiler, *options = request.param.split()
    folder = tmp_path_factory.mktemp("crashed")
    source, program, core = folder / "c.c", folder / "c", folder / "core.c"
    source.write_text(SOURCE)
    subprocess.run([require_tool(compiler), *options, "-g", str(source), "-o", str(program)], check=True, cwd=folder)
    script = ["-ex", "run", "-ex", f"generate-core-file {core}"]
    subprocess.run([gdb, "-nx", "-batch", *script, str(program)], capture_output=True, check=True, cwd=folder)
    return Run(program, core, width=2000), program, core, gdb


def gdb_says(crashed: tuple[Run, Path, Path, str], *lines: str) -> list[str]:
    _run, program, core, gdb = crashed
    marked = [word for line in lines for word in ("-ex", "echo ----\\n", "-ex", line)]
    command = [gdb, "-nx", "-batch", *marked, str(program), str(core)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=program.parent)
    return [block.strip("\n") for block in done.stdout.split("----\n")[1:]]


def alike(text: str) -> str:
    """Addresses without leading zeros, files without folders."""
    text = re.sub(r"0x0+(?=[0-9a-f])", "0x", text)
    return re.sub(r" at \S*/(?=\w+\.c:)", " at ", text)


@pytest.mark.slow
def test_backtraces_and_messages_are_those_of_gdb(crashed):
    run = crashed[0]
    run("set print frame-arguments scalars")
    whole, limited, full = gdb_says(crashed, "bt", "bt 2", "bt -full")
    found = [line for line in alike(run("bt")).splitlines() if int(line[1:3]) <= 6]
    assert found == alike(whole).splitlines()
    assert alike(run("bt 2")).splitlines()[:-1] == alike(limited).splitlines()
    found = alike(run("bt -full")).splitlines()
    assert found[: len(full.splitlines())] == alike(full).splitlines()
    run = crashed[0]
    up, apply_, unknown = gdb_says(crashed, "up 3", "frame apply level 2-3 -q frame", "frame function main")
    assert alike(run("up 3")).splitlines() == alike(up).splitlines()
    run("frame 0")
    assert alike(run("frame apply level 2-3 -q frame")).splitlines() == alike(apply_).splitlines()
    assert alike(run("frame function main")).splitlines() == alike(unknown).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_frames_are_those_of_gdb(crashed, number):
    """The lines that GDB and dwarfgpu both have."""
    run = crashed[0]
    _frame, said = gdb_says(crashed, f"frame {number}", "info frame")
    run("frame 0", f"frame {number}")
    theirs, ours = (re.sub(r"\s+", " ", re.sub(r"\S*/(?=c\.c:)", "", text)) for text in (said, run("info frame")))
    for fact in (
        r"Stack level \d+, frame at 0x[0-9a-f]+:",
        r"rip = 0x[0-9a-f]+ in \w+ \(c\.c:\d+\); saved rip = 0x[0-9a-f]+",
        r"inlined into frame \d+",
        r"called by frame at 0x[0-9a-f]+",
        r"caller of frame at 0x[0-9a-f]+",
        r"Previous frame's sp is 0x[0-9a-f]+",
        r"Saved registers: .*",
    ):
        if number == 0 and ("sp is" in fact or "Saved" in fact):
            continue  # of an inlined function GDB says what belongs to the one around it
        found = re.search(fact, theirs)
        assert (found and found[0].strip()) == ((match := re.search(fact, ours)) and match[0].strip())


DEEP = """
#include <stdlib.h>
int sink;
__attribute__((noinline)) int down(int n) { if (n == 0) abort(); int r = down(n - 1); sink += r; return r + n; }
int main(int argc, char **argv) { return down(atoi(argv[1])); }
"""


@pytest.fixture
def deep(request, tmp_path, require_tool) -> tuple[Path, Path]:
    """A program that has ended some calls deep, and its core file."""
    folder = tmp_path
    source, program, core = folder / "deep.c", folder / "deep", folder / "core.deep"
    source.write_text(DEEP)
    command = [require_tool("gcc"), "-g", "-O1", "-fno-optimize-sibling-calls", str(source), "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    script = ["-ex", f"run {request.param}", "-ex", f"generate-core-file {core}"]
    words = [require_tool("gdb"), "-nx", "-batch", *script, str(program)]
    subprocess.run(words, capture_output=True, check=True, cwd=folder)
    return program, core


@pytest.mark.slow
@pytest.mark.parametrize("deep", [20_000], indirect=True)
def test_the_outermost_frames_of_a_deep_stack_are_shown(deep) -> None:
    outcome = bounded("bt", *deep[:1], "--state", deep[1], "-5", seconds=60)
    assert outcome.status == 0, outcome.text
    assert "in main (argc=2" in outcome.out
    assert "in _start ()" in outcome.out
    assert outcome.memory < 300 << 20
    (number,) = re.findall(r"^#(\d+) .* in main ", outcome.out, re.MULTILINE)
    assert int(number) > 20_000


@pytest.mark.parametrize("deep", [1000], indirect=True)
@pytest.mark.sampled(4)
def test_the_number_of_frames_is_a_setting(deep) -> None:
    run = Run(*deep, width=2000)
    out = run("set backtrace limit 100", "bt -3", "show backtrace limit")
    assert "#99 " in out
    assert "#110 " not in out  # inlined functions of the C library count, and are not limited
    assert "Backtrace stopped: there are more than 100 frames (`set backtrace limit`)" in out
    out = run("set backtrace limit unlimited", "bt -3")
    assert "in _start ()" in out
    assert "Backtrace stopped" not in out
