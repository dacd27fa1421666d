"""``list``, ``info line``, ``info source``: where source is found, which lines, and what is marked."""

import pytest

from dwarfgpu.questions.sources import line_text
from tests.builders.folders import FIXTURES, ROOT
from tests.builders.parameters import for_each
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"


@pytest.fixture
def run() -> Run:
    """A wave whose lanes stand at three lines of a source that is in `fixtures`."""
    found = Run(LANES, STATE)
    found(f"directory {FIXTURES}")
    return found


def numbers(text: str) -> list[str]:
    """The numbers of the lines, with their marks."""
    return [line.partition("\t")[0] for line in text.splitlines()]


@pytest.mark.parametrize("line", ["info line *0x1518", "info symbol 0x1518", "list *0x1518", "info scope *0x1518"])
def test_a_question_about_an_address_does_not_search_for_main(line, monkeypatch):
    run = Run(LANES)

    def searched(*_arguments: object) -> None:
        raise AssertionError("the whole program is searched")

    monkeypatch.setattr("dwarfgpu.questions.sources.start_of", searched)
    assert run(line)


def test_a_frame_is_shown_with_its_line_and_file(run):
    assert line_text(run.debugger, run.debugger.frame) == "15\t    } else {"
    assert run("frame").splitlines()[1] == "15\t    } else {"
    assert "12\t    if ((lane & 1) == 0) {  // c2" in run("lane 5")  # where the lane is
    assert run("info source") == (
        "Current source file is src/asm/lane-pc.c\n"
        "Compilation directory is .\n"
        f"Located in {FIXTURES}/src/asm/lane-pc.c\n"
        "Contains 32 lines.\n"
        "Source language is c.\n"
        "Producer is hand-written assembly.\n"
        "Compiled with DWARF 5 debugging format.\n"
        "Does not include preprocessor macro info.\n"
    )


def test_what_is_missing_or_would_steer_a_terminal(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = Run(LANES, STATE)
    assert run("list") == "10\tsrc/asm/lane-pc.c: No such file or directory.\n"
    assert run("list 15") == "10\tin src/asm/lane-pc.c\n"
    assert line_text(run.debugger, run.debugger.frame) is None
    assert run("info source").splitlines()[2] == "Located in src/asm/lane-pc.c: No such file or directory."
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "src/asm"
    folder.mkdir(parents=True)
    (folder / "lane-pc.c").write_bytes(b"one\n\ttwo \x1b[31m\n\xff\n")
    assert Run(LANES, STATE)("list 1,3") == "1\tone\n2\t\ttwo \\x1b[31m\n3\t\\xff\n"


def test_directories_and_substituted_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = Run(LANES, STATE)
    assert run("directory /nowhere") == "Source directories searched: /nowhere:$cdir:$cwd\n"
    assert run("list 15,15") == "15\tsrc/asm/lane-pc.c: No such file or directory.\n"
    run(f"directory {FIXTURES}")
    assert run("list 15,15") == "15>\t    } else {\n"
    assert run("directory") == "Source directories searched: $cdir:$cwd\n"
    assert run("list 15,15") == "15\tsrc/asm/lane-pc.c: No such file or directory.\n"
    run(f"set directories {FIXTURES / 'src/asm'}")  # the name of the file is enough
    assert run("list 15,15") == "15>\t    } else {\n"
    monkeypatch.chdir(tmp_path)
    run = Run(LANES, STATE)
    run("set directories /nowhere", f"set substitute-path src {FIXTURES / 'src'}")
    assert run("list 15,15") == "15>\t    } else {\n"
    assert run("show substitute-path").splitlines()[1] == f"  `src' -> `{FIXTURES / 'src'}'."
    run("unset substitute-path src")
    assert "src/asm/lane-pc.c" in run("list 15,15")
    assert run.fails("unset substitute-path src").message == "No substitution rule defined for `src'"
    assert run.fails("set substitute-path src").kind == "usage"


def test_a_source_that_is_no_file_is_not_read(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src/asm/lane-pc.c").mkdir(parents=True)
    assert Run(LANES, STATE)("list") == "10\tsrc/asm/lane-pc.c: It is not a file.\n"


@for_each("what, text",
    ("", 'Line 15 of "{}" starts at address 0x7f0000001548 <X+72> and ends at 0x7f000000154c <X+76>.'),
    ("15", 'Line 15 of "{}" starts at address 0x7f0000001548 <X+72> and ends at 0x7f000000154c <X+76>.'),
    (
        "*0x7f000000154a",
        'Line 15 of "{}" starts at address 0x7f0000001548 <X+72> and ends at 0x7f000000154c <X+76>.',
    ),
    ("X", 'Line 5 of "{}" starts at address 0x7f0000001500 <X> and ends at 0x7f0000001510 <X+16>.'),
    ("7", 'Line 7 of "{}" is at address 0x7f0000001510 <X+16> but contains no code.'),
    ("lane-pc.c:14", 'Line 14 of "{}" starts at address 0x7f0000001544 <X+68> and ends at 0x7f0000001548 <X+72>.'),
    ("*0", "No line number information available for address 0x0"))  # fmt: skip
def test_info_line(run, what, text):
    run.debugger.output.width = 132
    assert run(f"info line {what}") == text.format("src/asm/lane-pc.c") + "\n"


def test_sentences_go_on_where_the_screen_ends(run):
    run.debugger.output.width = 40
    assert run("info line 12").splitlines() == [
        'Line 12 of "src/asm/lane-pc.c"',
        "  starts at address 0x7f000000152c <X+44>",
        "  and ends at 0x7f0000001540 <X+64>.",
    ]
    expected = ['Line 7 of "src/asm/lane-pc.c"', "  is at address 0x7f0000001510 <X+16>", "  but contains no code."]
    assert run("info line 7").splitlines() == expected
