"""What a line can go on with."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dwarfgpu.questions.completion import KINDS, complete, operand_before
from dwarfgpu.questions.registry import Command
from dwarfgpu.questions.table import COMMANDS
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each, in_one_test
from tests.questions.harness import Run

FILE = ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(FILE, STATE)


def texts(run: Run, line: str) -> list[str]:
    """The lines that a line can become."""
    start, found = complete(run.debugger, line)
    return [line[:start] + each.text for each in found]


@in_one_test("command", COMMANDS)
def test_every_row_of_the_table_has_help_and_says_what_is_known(command: Command) -> None:
    assert command.completes in ("", *KINDS)
    assert not command.run or command.help


class TestCommands:
    def test_nothing_lists_all_and_definitions_are_listed(self, run: Run) -> None:
        found = texts(run, "")
        assert {"print", "info", "quit"} <= set(found)
        assert "p" not in found
        assert complete(run.debugger, "quit")[1][0].meta == "leave the debugger"
        run("alias pq = echo")
        assert texts(run, "pq") == ["pq"]
        run.debugger.macros["qqq"] = ()
        assert texts(run, "define q") == ["define qqq"]


class TestOperands:
    def test_what_may_follow_a_blank(self, run: Run) -> None:
        assert texts(run, "  ptyp") == ["  ptype"]
        assert texts(Run(None), "wave ") == ["wave apply", "wave find"]
        run = Run("fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co")
        for begin, names in (
            *(("target launch saxpy 64 64 ", "yxan"), ("target launch saxpy 64 64 y=ones(64) ", "xan")),
            *(("target launch nobody 64 64 ", ""), ("maint judge saxpy ", "yxan")),
        ):
            assert texts(run, begin) == [f"{begin}{name}=" for name in names]
        run("target launch saxpy 64 64", "break saxpy", "catch fault")
        assert texts(run, "delete ") == ["delete display", "delete 1", "delete 2"]

    def test_the_type_of_an_expression_needs_no_value(self) -> None:
        run = Run("fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co")
        run("target launch records 64 64")
        frame = run.debugger.frame
        assert str(frame["list"].type) == str(frame.expression("list").type)
        assert frame.expression("list[2].next").type.byte_size == 8

    def test_lanes_say_whether_they_are_active_and_few_are_listed(self, run: Run) -> None:
        found = {each.text: each.meta for each in complete(run.debugger, "lane ")[1]}
        assert (found["0"], found["1"]) == ("active", "inactive")
        try:
            run("set max-completions 3")
            assert len(texts(run, "")) == 3
            assert len(texts(run, "print $")) == 3
        finally:
            run("set max-completions 200")

    def test_paths(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "one.gdb").touch()
        (tmp_path / "other").mkdir()
        (tmp_path / ".hidden").touch()
        assert texts(run, f"source {tmp_path}/o") == [f"source {tmp_path}/one.gdb", f"source {tmp_path}/other/"]
        assert len(texts(run, f"file {tmp_path}/")) == 2
        assert texts(run, f"file {tmp_path}/.") == [f"file {tmp_path}/.hidden"]
        assert texts(run, "file /nowhere/x") == []


class TestExpressions:
    @for_each("text, expected",
        ("a->", "a"),         ("2 * a.", "a"),      ("a->b[1 + c].", "a->b[1 + c]"),
        ("f(a, (b)).", "f(a, (b))"),                ("(*p).", "(*p)"),    ("x + (*p)->q . r .", "(*p)->q . r"),
        ("ns::a->", "ns::a"), ("$1.", "$1"),        (")].", ")]"),        ("+ .", ""))  # fmt: skip
    def test_what_a_member_is_of(self, text: str, expected: str) -> None:
        assert operand_before(text, len(text.removesuffix(".").removesuffix("->"))) == expected


SOURCE = """
struct base { int inherited; };
struct derived : base {
  int plain;
  union { int in_union; float other; };
  static int shared;
  derived *next;
};
int derived::shared = 3;
namespace space { int inside = 4; }
derived global_one;
derived *pointer = &global_one;
typedef derived *alias_of_pointer;
alias_of_pointer by_alias = pointer;
int main() { return space::inside + pointer->plain; }
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, require_tool: Callable[..., str]) -> Run:
    folder = tmp_path_factory.mktemp("host")
    (folder / "x.cc").write_text(SOURCE)
    subprocess.run([require_tool("g++"), "-g", "-o", "x", "x.cc"], cwd=folder, check=True)
    return Run(folder / "x")


class TestMembers:
    @pytest.mark.parametrize("base", ["global_one.", "pointer->", "by_alias->", "(*pointer).", "global_one.next->"])
    def test_members_of_classes_and_of_their_bases(self, host: Run, base: str) -> None:
        names = ["plain", "in_union", "other", "next", "shared", "inherited"]
        assert texts(host, f"print {base}") == [f"print {base}{name}" for name in names]
        assert texts(host, f"print 1+{base}in") == [f"print 1+{base}{name}" for name in ("in_union", "inherited")]

    def test_names_in_scopes(self, host: Run) -> None:
        assert texts(host, "print space::insi") == ["print space::inside"]
        assert texts(host, "ptype deri") == ["ptype derived"]
        assert texts(host, "list x.") == ["list x.cc:"]
