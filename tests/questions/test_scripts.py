"""Definitions, aliases and scripts."""

from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions.scripts import is_open, joined, run_lines, run_script
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each
from tests.questions.harness import STATE, Run

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"


class Script(Run):
    """Runs the lines of a text as a script does."""

    def script(self, text: str) -> str:
        self.written.clear()
        run_lines(self.debugger, text.strip("\n").split("\n"))
        return "".join(self.written)

    def wrong(self, text: str) -> DwarfGpuError:
        with pytest.raises(DwarfGpuError) as raised:
            self.script(text)
        return raised.value


@pytest.fixture
def run() -> Script:
    return Script(ROOT / FILE, ROOT / STATE)


class TestDefinitions:
    def test_definitions_are_commands_with_their_own_arguments(self, run: Script) -> None:
        text = r"""
define twice
  echo $argc: $arg0 $arg1\n
end
twice a 'b c'
"""
        assert run.script(text) == "2: a b c\n"
        text = r"""
define inner
  echo inner $arg0\n
end
define outer
  inner $arg1
  echo outer $arg0\n
end
outer x y
"""
        assert run.script(text) == "inner y\nouter x\n"

    def test_lines_and_arguments_that_are_missing_are_told(self, run: Script) -> None:
        run.script("define g\necho $arg1\nend")
        assert run.fails("g a").message == "g is called without $arg1"

    def test_definitions_that_call_themselves_end(self, run: Script) -> None:
        run.script("define say\nsay\nend")
        assert "commands call each other more than 100 deep" in run.fails("say").message
        run.script("define print\nprint $arg0\nend")
        assert "more than 100 deep" in run.fails("print 1").message

    def test_show_user_shows_its_lines(self, run: Script) -> None:
        run.script("define say\ndefine inner\necho x\nend\n  echo y\nend")
        shown = "define say\n  define inner\n    echo x\n  end\n  echo y\nend\n"
        assert run("show user") == run("show user say") == shown

    def test_defining_again_asks(self, run: Script) -> None:
        asked: list[str] = []
        run.debugger.ask = lambda question: bool(asked.append(question))
        run.script("define say\necho 1\nend")
        assert "say stays as it was" in run.wrong("define say\necho 2\nend").message
        assert asked == ['Redefine command "say"?']
        assert run("set confirm off") == ""
        assert run.script("define say\necho 2\nend\nsay") == "2"

    def test_a_command_of_the_debugger_can_be_defined_anew(self, run: Script) -> None:
        asked: list[str] = []
        run.debugger.ask = lambda question: not asked.append(question)
        run.script("define whatis\necho what $arg0\\n\nend")
        assert asked == ['Really redefine built-in command "whatis"?']
        assert run("whatis lane") == "what lane\n"
        assert "whatis  defined: 1 line" in run("help user")
        run.script("define print\noutput $arg0\necho !\nend")
        assert run("print 1") == run("p 1") == run("inspect 1") == "1!"
        run.script("define where\necho there\nend")  # which was another name of backtrace
        assert run("where") == "there"
        assert run("bt").startswith("#0  X ")

    @for_each("text, message",
        ("define", "`define` needs NAME"),
        ("define a b\nend", "'a b' cannot be the name of a command"),
        ("define end\nend", "end cannot be redefined"),
        ("define while\nend", "there is no `while` here: write it in Python"),
        ("define hook-print\nend", "there is no `hook-print` here: write it in Python"),
        ("define say\nif 1\necho x\nend\nend", "there is no `if` here: write it in Python"),
        ("if 1\necho x\nend", "there is no `if` here: write it in Python and run it with `source FILE.py`"),
        ("while 1\nend", "there is no `while` here"),
        ("document say\nx\nend", "there is no `document` here"),
        ("define info\nend", "info cannot be redefined"),
        ("define say\necho x", "the definition of say has no end"),
        ("end", "`end` belongs to no command before it"),
        ("else", "there is no `else` here"))  # fmt: skip
    def test_what_is_wrong_is_one_line(self, run: Script, text: str, message: str) -> None:
        assert run.wrong(text).message.startswith(message)


class TestLines:
    def test_a_backslash_joins_lines(self) -> None:
        assert list(joined(["a \\", "b", "c\\\\", "d\\"])) == ["a b", "c\\\\", "d"]

    @for_each("text, expected",
        ("print x", False),        ("print x \\", True),      ("define say", True),
        ("define say\necho x", True),                         ("define say\necho x\nend", False),
        ("define say\ndefine inner\nend", True),              ("define say\ndefine inner\nend\nend", False),
        ("while 1", False),        ("end", False),            ("", False))  # fmt: skip
    def test_whether_lines_are_missing(self, text: str, expected: bool) -> None:
        assert is_open(text) is expected


class TestSource:
    def test_a_script_runs_sources_others_and_says_where_it_fails(self, run: Script, tmp_path: Path) -> None:
        script = tmp_path / "look.gdb"
        script.write_text("# a comment\necho one\\n\n\nlane 99\necho two\\n\n")
        assert run.fails(f"source {script}").message == f"{script}:4: Lane 99 does not exist on this thread."
        assert "".join(run.written) == "one\n"
        (tmp_path / "a").write_text(f"source {tmp_path}/b\n")
        (tmp_path / "b").write_text("lane 99")
        assert run.fails(f"source {tmp_path}/a").message.startswith(f"{tmp_path}/a:1: {tmp_path}/b:1: Lane 99")
        (tmp_path / "a").write_bytes(b"echo \xff")
        assert run.fails(f"source {tmp_path}/a").message.endswith("it is not UTF-8 text")


class TestPython:
    def test_a_script_asks_what_is_looked_at(self, run: Script, tmp_path: Path) -> None:
        script = tmp_path / "look.py"
        script.write_text(
            "import dwarfgpu.gdb as dg\n"
            "frame = dg.selected()\n"
            "print(dg.wave().id, frame.name, frame.selected_lane)\n"
            "print(dg.eval('even', [4]).array.tolist(), len(dg.waves()))\n"
            "print(dg.attached().has_waves)\n"
        )
        assert run("lane 4", f"source {script}").splitlines()[-3:] == ["1:1:1:1 X 4", "[18] 1", "True"]

    @for_each("text, message",
        ("x = 1\nx / 0\n", ":2: ZeroDivisionError: division by zero"),
        ("def f(:\n", ":1: SyntaxError: invalid syntax"),
        ("raise SystemExit(3)\n", ": exit status 3"),
        ("open('/nowhere/y')\n", ":1: FileNotFoundError: "))  # fmt: skip
    def test_what_a_script_raises_is_one_line(self, run: Script, tmp_path: Path, text: str, message: str) -> None:
        script = tmp_path / "bad.py"
        script.write_text(text)
        error = run.fails(f"source {script}")
        assert isinstance(error, UsageError)
        assert f"{script}{message}" in error.message

    def test_what_a_script_raises_of_ours_stays_and_leaving_is_no_error(self, run: Script, tmp_path: Path) -> None:
        script = tmp_path / "bad.py"
        script.write_text("import dwarfgpu.gdb as dg\ndg.selected().lane(99)\n")
        assert run.fails(f"source {script}").kind == "no_lane"
        script = tmp_path / "ends.py"
        script.write_text("print('a')\nraise SystemExit\n")
        run.written.clear()
        run_script(run.debugger, str(script))
        assert "".join(run.written) == "a\n"
