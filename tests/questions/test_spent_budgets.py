"""A question whose budget is spent changes no later answer: nothing that was cut short is remembered."""

import re
import subprocess

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.table import COMMANDS
from tests.questions.harness import CALLS, IN_CALLS, KERNEL, STATE, Run, commands

AMPLE = 100_000_000
SIZES = [(400,), pytest.param((1, 50, 6400), marks=pytest.mark.slow)]
RUNNING = re.compile(r"advance|continue|finish|next|reverse|run|step|until|maint judge|verify|coverage")
"""The first words of questions that run waves, or that are about a whole file and know no frame."""

DEEP = """
#include <stdlib.h>
int f(int n) { volatile int a = n; if (n == 0) abort(); return f(n - 1) + a; }
int main(void) { return f(150); }
"""


def questions(*names):
    """Yield every question, about each name or alone; alone, those about an expression depend on earlier ones."""
    for row in COMMANDS:
        if row.is_question and not RUNNING.match(row.name):
            if not any(word in row.operands for word in ("EXPR", "ADDRESS")):
                yield row.name
            if any(word in row.operands for word in ("EXPR", "REGEXP", "FUNCTION")):
                yield from (f"{row.name} {name}" for name in names)


def answers(run, lines):
    found = {}
    for number, line in enumerate(lines):
        try:
            text = run(line)
        except DwarfGpuError as error:
            text = str(error)
        found[number, line] = re.sub(r"^\$\d+ = ", "", text)
    return found


def later_answers(file, state, lines, size=AMPLE):
    """Return what the lines answer with a large budget, after they were asked with another one."""
    run = Run(file, state)
    run(f"set budget {size}")
    answers(run, lines)
    run("frame 0")
    run(f"set budget {AMPLE}")
    return answers(run, lines)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("file, state, names", [(KERNEL, STATE, ("in", "lane_pc_kernel")), (CALLS, IN_CALLS, ("x",))])
@pytest.mark.sampled(4)
def test_a_spent_budget_changes_no_later_answer(file, state, names, sizes):
    lines = [*questions(*names), "up", "info locals", "info frame", "print $pc"]
    expected = later_answers(file, state, lines)
    for size in sizes:
        assert later_answers(file, state, lines, size) == expected


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
def test_a_deep_stack_is_whole_after_a_budget_that_ended_it(require_tool, tmp_path, sizes):
    source, program, core = tmp_path / "deep.c", tmp_path / "deep", tmp_path / "deep.core"
    source.write_text(DEEP)
    subprocess.run([require_tool("gcc"), "-g", "-O0", "-o", program, source], check=True)
    gdb = [require_tool("gdb"), "-nx", "-q", "-batch", "-ex", "run", "-ex", f"generate-core-file {core}", program]
    subprocess.run(gdb, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    lines = commands("bt -3; frame 120; info locals; info frame; info registers rip rbx; up; info locals; print n")
    expected = later_answers(program, core, lines)
    assert "_start ()" in expected[0, "bt -3"]
    for size in sizes:
        assert later_answers(program, core, lines, size) == expected
