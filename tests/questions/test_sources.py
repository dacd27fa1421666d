"""``list``, ``info line``, ``info source``: where source is found, which lines, and what is marked."""

import pytest

from dwarfgpu.questions.sources import line_text
from tests.builders.folders import FIXTURES, ROOT
from tests.questions.harness import Run

LANES = FIXTURES / "asm/lane-pc.gfx90a.w64.co"
STATE = ROOT / "dwarfgpu/examples/variables.json"


@pytest.mark.parametrize("line", ["info line *0x1518", "info symbol 0x1518", "list *0x1518", "info scope *0x1518"])
def test_a_question_about_an_address_does_not_search_for_main(line, monkeypatch):
    run = Run(LANES)

    def searched(*_arguments: object) -> None:
        raise AssertionError("the whole program is searched")

    monkeypatch.setattr("dwarfgpu.questions.sources.start_of", searched)
    assert run(line)


def test_what_is_missing_or_would_steer_a_terminal(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = Run(LANES, STATE)
    assert line_text(run.debugger, run.debugger.frame) is None
    folder = tmp_path / "src/asm"
    folder.mkdir(parents=True)
    (folder / "lane-pc.c").write_bytes(b"one\n\ttwo \x1b[31m\n\xff\n")
    assert Run(LANES, STATE)("list 1,3") == "1\tone\n2\t\ttwo \\x1b[31m\n3\t\\xff\n"


def test_a_source_that_is_no_file_is_not_read(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src/asm/lane-pc.c").mkdir(parents=True)
    assert Run(LANES, STATE)("list") == "10\tsrc/asm/lane-pc.c: It is not a file.\n"
