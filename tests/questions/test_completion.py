"""What a line can go on with."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dwarfgpu.questions.completion import KINDS, complete, operand_before
from dwarfgpu.questions.registry import Command
from dwarfgpu.questions.table import COMMANDS
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each, told
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


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_row_of_the_table_has_help_and_says_what_is_known(command: Command) -> None:
    assert command.completes in ("", *KINDS)
    assert not command.run or command.help


class TestCommands:
    @for_each("line, expected",
        ("ptyp", ["ptype"]),
        ("  ptyp", ["  ptype"]),
        ("info lan", ["info lanes"]),               ("i lan", ["i lanes"]),
        ("maint print addr", ["maint print address-spaces"]),             ("mt p addr", ["mt p address-spaces"]),
        ("wher", ["where"]),  ("help inf", ["help info"]),                ("help info lan", ["help info lanes"]),
        ("pipe ptyp", ["pipe ptype"]),              ("| ptyp", ["| ptype"]),
        ("alias p0 = ptyp", ["alias p0 = ptype"]),  ("lane app", ["lane apply"]),
        ("lane apply al", ["lane apply all"]),      ("lane apply all ptyp", ["lane apply all ptype"]),
        ("lane apply 0-3,5 info lan", ["lane apply 0-3,5 info lanes"]),
        ("wave apply 1 2 ptyp", ["wave apply 1 2 ptype"]),                ("zzz", []),          ("zzz x", []),
        ("info zzz x", []),
        ("# ptyp", []),
        ("alias p", []))  # fmt: skip
    def test_names(self, run: Run, line: str, expected: list[str]) -> None:
        assert texts(run, line) == expected

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
    @pytest.mark.parametrize("line, expected", told("""
        set pagination o -> set pagination on, set pagination off
        set context-sections source st -> set context-sections source stack
        print -l -> print -lane      print -lane ac -> print -lane active
        print -lane active ev -> print -lane active even          print/x ev -> print/x even   print/ | show user z ->
        explain -repair o -> explain -repair off                  core-file -f -> core-file -force
        set pagin -> set pagination                               set style enabled of -> set style enabled off
        set width a -> set width auto                             set print elements u -> set print elements unlimited
        set editing-mode v -> set editing-mode vi                 show confir -> show confirm
        context loc -> context locals                             set var ev -> set var even   set ev -> set even
        info registers exe -> info registers exec                 info registers $exe -> info registers $exec
        target launch X -> target launch X                        wave 1:1 -> wave 1:1:1:1
        lane 6 -> lane 6, lane 60, lane 61, lane 62, lane 63      list X -> list X
        list lane- -> list lane-pc.c:                             disassemble whole -> disassemble whole_wave
        maint print die whole -> maint print die whole_wave       info line X la -> info line X lane-pc.c:
        """))  # fmt: skip
    def test_operands(self, run: Run, line: str, expected: str) -> None:
        assert ", ".join(texts(run, line)) == expected

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
    @for_each("line, expected",
        ("print ev", ["print even"]),
        ("print 2*ev", ["print 2*even"]),
        ("print left + ev", ["print left + even"]),
        ("print slots[ev", ["print slots[even"]),
        ("print $exe", ["print $exec"]),
        ("print $v25", ["print $v25", *(f"print $v25{digit}" for digit in range(6))]),
        ("print private_l", ["print private_lane#"]),
        ("print sizeo", ["print sizeof"]),
        ("print X", ["print X"]),
        ("print even.", []),
        ("print 1.", []),
        ("print nothing->", []))  # fmt: skip
    def test_names(self, run: Run, line: str, expected: list[str]) -> None:
        assert texts(run, line) == expected

    @for_each("text, expected",
        ("a->", "a"),         ("2 * a.", "a"),      ("a->b[1 + c].", "a->b[1 + c]"),
        ("f(a, (b)).", "f(a, (b))"),                ("(*p).", "(*p)"),    ("x + (*p)->q . r .", "(*p)->q . r"),
        ("ns::a->", "ns::a"), ("$1.", "$1"),        (")].", ")]"),        ("+ .", ""))  # fmt: skip
    def test_what_a_member_is_of(self, text: str, expected: str) -> None:
        assert operand_before(text, len(text.removesuffix(".").removesuffix("->"))) == expected

    def test_without_a_file_there_are_no_names(self) -> None:
        run = Run(None)
        assert texts(run, "print x") == []
        assert texts(run, "list x") == []
        assert texts(run, "wave ") == ["wave apply", "wave find"]


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

    def test_members_of_variables_and_arguments_of_kernels(self) -> None:
        """A type needs no value: neither a lane, nor a location, nor memory."""
        run = Run("fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co")
        run("target launch records 64 64")
        assert texts(run, "print list->") == [f"print list->{name}" for name in ("next", "item", "value")]
        assert texts(run, "print list->next->va") == ["print list->next->value"]
        assert texts(run, "print (*list).") == [f"print (*list).{name}" for name in ("next", "item", "value")]
        assert texts(run, "print list[3].n") == ["print list[3].next"]
        assert run("whatis list->next->value") == "type = int\n"
        frame = run.debugger.frame
        assert str(frame["list"].type) == str(frame.expression("list").type)
        assert frame.expression("list[2].next").type.byte_size == 8
        run = Run("fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co")
        assert texts(run, "target launch sa") == ["target launch saxpy"]
        assert texts(run, "target launch saxpy 6") == []
        assert texts(run, "target launch saxpy 64 64 ") == [f"target launch saxpy 64 64 {name}=" for name in "yxan"]
        assert texts(run, "target launch saxpy 64 64 y=ones(64) ") == [
            f"target launch saxpy 64 64 y=ones(64) {name}=" for name in "xan"
        ]
        assert texts(run, "target launch nobody 64 64 ") == []
        assert texts(run, "maint judge saxpy ") == [f"maint judge saxpy {name}=" for name in "yxan"]
        run = Run("fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co")
        assert texts(run, "target launch objects 64 64 o") == ["target launch objects 64 64 out="]

    def test_names_in_scopes(self, host: Run) -> None:
        assert texts(host, "print space::insi") == ["print space::inside"]
        assert texts(host, "ptype deri") == ["ptype derived"]
        assert texts(host, "list x.") == ["list x.cc:"]
