"""``context``: its sections, how they fit a screen, and when they are shown."""

import pytest

from tests.builders.folders import FIXTURES, ROOT
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"
SECTIONS = "source locals lanes registers stack"


@pytest.fixture
def run() -> Run:
    found = Run(LANES, STATE)
    found(f"directory {FIXTURES}")
    return found


def titles(text: str) -> list[str]:
    return [line[3:].rstrip("- ") for line in text.splitlines() if line.startswith("-- ")]


def test_it_is_shown_by_itself_only_to_somebody_at_a_prompt(run):
    assert run("show context").startswith("context  auto\n")
    assert titles(run("lane 3")) == []
    run.debugger.is_watched = True
    assert titles(run("set context-sections stack", "lane 4")) == ["stack"]
    assert titles(run("set context off", "lane 5")) == []


def test_it_takes_no_more_than_the_command_before_it_has_left(run):
    run("set context on")
    run.debugger.output.height = 20
    whole = run("lane 3").splitlines()
    run.debugger.output.rows = 5
    assert len(run("lane 4").splitlines()) <= len(whole) - 5


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("height", [6, 12, 24, 50])
def test_it_fits_the_screen(run, width, height):
    run.debugger.output.width, run.debugger.output.height = width, height
    lines = run(f"context {SECTIONS}").splitlines()
    assert len(lines) <= max(4, height - 3)
    assert all(len(line) <= width for line in lines), lines
    assert titles("\n".join(lines))
    assert [line for line in lines if "=> 15" in line]


def test_what_is_left_out_is_counted(run):
    run.debugger.output.height = 14
    text = run("context locals stack")
    assert "more lines" in text
    assert titles(text) == ["locals in lane 0", "stack"]


WAITS = """kernel void waits(global int *flag, global int *out) {
  int k = 5, i = get_local_id(0);
  while (atomic_add(flag, 0) == 0)
    ;
  out[i] = k;
}
"""


def test_the_view_follows_moves_and_not_questions_that_look_back(require_tool, tmp_path):
    """It has the line before code that the compiler has made, and first the variables of that line."""
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(WAITS)
    run = Run(str(tmp_path / "k.cl"), width=200)
    run("target launch waits 32 32 flag=zeros(1) out=zeros(32)", "set context on", "set context-sections source,locals")
    assert "-- source" in run("break k.cl:3", "run")
    assert "-- source" not in run("history k")
    shown = run("delete", "continue")
    assert "`info fault` explains the wait." in shown
    view = shown.partition("-- source: ")[2]
    assert "k.cl:3, waits -" in view.partition("\n")[0]
    assert " => 3    while (atomic_add(flag, 0) == 0)\n" in view
    assert view.partition("-- locals ")[2].splitlines()[1].startswith("flag = ")
    for question in ("print k", "print i", "info locals", "info fault", "info waves"):
        assert "-- source" not in run(question)
    assert "-- source" in run("set var -all k = 3")
    assert "-- source" in run("lane 3")
