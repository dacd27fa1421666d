"""Help, settings, other programs, the log, and what is typed about the debugger itself."""

from pathlib import Path

import pytest

from dwarfgpu.questions.debugger import Quit
from dwarfgpu.render.written_text import styled
from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, STATE, Run


@pytest.fixture
def run() -> Run:
    return Run(None)


class TestHelp:
    def test_by_itself_it_lists_all_commands_by_groups(self, run: Run) -> None:
        text = run("help")
        for group in ("Files and machines:", "Waves, lanes and frames:", "Data:", "The debugger itself:"):
            assert group in text
        for command in run.debugger.registry.commands.values():
            assert not command.run or command.name in " ".join(text.split())

    def test_a_prefix_a_group_and_words_list_commands(self, run: Run) -> None:
        assert "  info lanes " in run("info") == run("help info")
        text = run("help data")
        assert "  print " in text
        assert "  lane " not in text
        assert "set pagination -- " in run("apropos screen")
        assert "backtrace -- " in run("apropos ^where|where")

    @pytest.mark.parametrize("width", [40, 80, 132])
    def test_it_fits_the_width(self, run: Run, width: int) -> None:
        run.debugger.output.width = width
        names = [name for name, command in run.debugger.registry.commands.items() if command.run]
        for line in run("help", "help info", *(f"help {name}" for name in names)).splitlines():
            assert len(line) <= width or " " not in line.strip()


class TestSettings:
    def test_show_has_all(self, run: Run) -> None:
        assert len(run("show").splitlines()) == len(run.debugger.settings.declared)

    @for_each("line, name, value",
        ("set confirm off", "confirm", False),
        ("set confirm", "confirm", True),
        ("set conf no", "confirm", False),
        ("set width 0", "width", 1 << 31),
        ("set width unlimited", "width", 1 << 31),
        ("set width auto", "width", -1),
        ("set width 0x50", "width", 80),
        ("set style off", "style enabled", False),
        ("set style enabled off", "style enabled", False),
        ("set print elem 5", "print elements", 5),
        ("set editing-mode v", "editing-mode", "vi"),
        ("set context-sections lanes, source", "context-sections", ("lanes", "source")),
        ("set context-sections", "context-sections", ()),
        ("set history size unlimited", "history size", 1 << 31),
        ("set history filename ~/h x", "history filename", "~/h x"))  # fmt: skip
    def test_they_are_read_as_gdb_reads_them(self, run: Run, line: str, name: str, value: object) -> None:
        run(line)
        assert run.debugger.settings[name] == value

    def test_a_setting_that_changes_is_told(self, run: Run) -> None:
        told: list[str] = []
        run.debugger.settings.watchers.append(told.append)
        run("set width 40", "set confirm off")
        assert told == ["width", "confirm"]


class TestTheRest:
    @for_each("line, text",
        (r"echo hello\n", "hello\n"),        ("echo", ""),                        (r"echo a\tb\\c", "a\tb\\c"),
        (r"echo \101\n", "A\n"),             ("echo \\ indented \\", " indented "))  # fmt: skip
    def test_echo(self, run: Run, line: str, text: str) -> None:
        assert run(line) == text

    def test_history_shows_what_was_typed(self, run: Run) -> None:
        run.debugger.typed += [f"echo {number}" for number in range(12)] + ["define x\necho\nend"]
        assert run("history 2") == "   12  echo 11\n   13  define x\n       echo\n       end\n"
        assert len(run("history").splitlines()) == 12
        assert run("history 0") == ""

    def test_quit_has_a_status_and_the_version_is_shown(self, run: Run) -> None:
        assert run("show version").startswith("dwarfgpu ")
        for line, status in (("quit", 0), ("q 3", 3), ("exit 0x101", 1)):
            with pytest.raises(Quit) as leaving:
                run(line)
            assert leaving.value.status == status

    def test_the_full_screen_is_whatever_the_face_has(self, run: Run) -> None:
        run.debugger.full_screen = lambda: run.written.append("shown")
        assert run("tui") == "shown"
        assert run("layout") == "shown"


class TestNames:
    def test_an_empty_line_repeats_what_may_be_repeated(self, run: Run) -> None:
        assert run("# echo x", "", "   ") == ""
        assert run("show confirm", "") == run("show confirm") * 2
        assert run(r"echo x\n", "") == "x\n"


def test_programs_and_pipes(run: Run) -> None:
    assert run("shell echo hello") == "hello\n"
    assert run("!echo hello") == "hello\n"
    assert run("! echo to stderr >&2") == "to stderr\n"
    run("shell exit 3")
    assert run.debugger.shell_status == 3
    run("pipe echo x | cat")
    assert run.debugger.shell_status == 0
    assert run("pipe show confirm | head -1") == "confirm  on\n"
    assert run("| echo a\\nb\\n | sort -r") == "b\na\n"
    assert run("pipe -d // echo a|b // tr a-z A-Z") == "A|B"
    assert run(r"echo x\n") == "x\n"


def test_a_log_has_what_was_written(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log"
    run.debugger.output.style = lambda _style, text: styled("1", text)
    text = run(
        f"set logging file {path}", "set logging on", "echo a\\n", "show confirm", "set logging off", "echo b\\n"
    )
    assert text.startswith(f"Copying output to {path}.\na\n")
    assert text.endswith(f"Done logging to {path}.\nb\n")
    assert path.read_text().splitlines()[:2] == ["a", "confirm  on"]
    run("set logging enabled on", "echo c\\n", "set logging enabled off")
    assert path.read_text().endswith("c\n")
    run("set logging overwrite on", "set logging redirect on", "set logging on")
    assert run("echo d\\n") == ""
    run("set logging off")
    assert path.read_text() == "d\n"


@for_each("line, expected",
    ("complete info sourc", "info source\ninfo sources\n"),
    ("complete disassem", "disassemble\n"),
    ("complete print nothing_of_the_kind", ""),
    ("info sources lane-pc", f"{KERNEL}:\n  src/asm/lane-pc.c\n"))  # fmt: skip
def test_facts_about_the_program(line, expected):
    assert Run(KERNEL, STATE, width=200)(line) == expected
