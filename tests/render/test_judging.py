"""The text of a judgement fits a screen."""

from dwarfgpu.audits.judge.judgement import JudgedFunction, Judgement
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.execution.halts import ENDED, Halt
from dwarfgpu.render.judging import judgement_text


def test_long_names_of_functions_are_cut():
    report = FileReport("k.co")
    long = JudgedFunction("very::long<int, int>" * 9, 123_456, 123_456, 0, 0)
    functions = (long, JudgedFunction("short", 4, 2, 2, 0))
    judgement = Judgement(report, functions, Halt(ENDED, "all waves have ended"), 9)
    lines = list(judgement_text(judgement, report))
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("  very::long<int, int>very::long<...  ")
    assert lines[2].split() == ["short", "4", "50%", "50%", "0%"]
