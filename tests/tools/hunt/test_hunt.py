"""The report of a finding, and the command."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve
from hunt import cause_finder, command, source_variants
from hunt.blamed_pass import BlamedPass
from hunt.cause_finder import CauseFinder, FindingCause
from hunt.command import ranked
from hunt.report import report_text
from hunt.source_levels import LevelVerdict, SourceFinding, SourceLevels
from hunt.source_variants import SourceVariants

from dwarfgpu.audits.judge import judgement
from dwarfgpu.execution.halts import Halt, uninterrupted
from tests.builders.commands import ROOT
from tests.builders.commands import run as run_command

UNROLLED = ROOT / "dwarfgpu" / "examples" / "findings" / "unrolled.cl"
FINDING = SourceFinding("against-wrong", "k0", "v1", 0x30, 4, "v1 is 0, and 64 in -O0")
VERDICTS = LevelVerdict("k0", "1", (FINDING,)), LevelVerdict("k0", "2", (FINDING,), "it has not ended")
PASS = BlamedPass("postmisched", True, "`-mllvm -opt-disable=postmisched`", ("before",), ("after",))
CAUSE = FindingCause(
    FINDING,
    "k0",
    "1",
    "gfx90a",
    "clang-22 -g k.cl -o k.co",
    "clang version 22",
    "kernel void k0() {}\n",
    PASS,
    "DW_TAG",
    address=0x1630,
)


def hunted(*words):
    """What `python3 tools/dev.py hunt WORDS...` prints, and with which status it ends."""
    return run_command(*words, program=command.main)


def hunted_document(*words, status=0):
    done = hunted(*words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def clang(require_tool, monkeypatch):
    path = require_tool("clang-22", "clang")
    monkeypatch.setenv("CLANG", path)
    return path


def test_findings_are_those_at_the_lowest_level_the_gravest_first():
    lost = SourceFinding("against-missing", "k0", "v2", 0, 1, "v2 has no value")
    found = ranked([LevelVerdict("k1", "1", (lost, FINDING)), *VERDICTS])
    assert [(finding.rule, verdict.kernel, verdict.level) for verdict, finding in found] == [
        ("against-wrong", "k1", "1"), ("against-wrong", "k0", "1"), ("against-missing", "k1", "1"),
    ]  # fmt: skip


def test_a_machine_that_is_interrupted_ends_the_hunt():
    assert uninterrupted(Halt("ended", "the end")).has_ended
    assert not uninterrupted(Halt("limit", "the limit")).has_ended
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(Halt("interrupted", "interrupted"))
    running = SimpleNamespace(run=lambda **_limit: Halt("interrupted", "interrupted"))
    other = judgement.GpuBuild(None, "k.co", lambda: running)
    with pytest.raises(KeyboardInterrupt):
        other.behaviour(None)


def test_a_report_has_what_the_tracker_wants():
    text = "\n".join(report_text(CAUSE))
    assert text.startswith("# [postmisched] Variable `v1` has a wrong location at -O1 (gfx90a)")
    for part in (
        "```sh\ncat > k.cl << 'EOF'\nkernel void k0() {}\nEOF\nclang-22 -g k.cl -o k.co\n",
        "\nllvm-dwarfdump-22 --name=v1 k.co\n```\n",
        "In a simulator, at `k0+0x30` (0x1630), line 4: v1 is 0, and 64 in -O0.",
        "Without the pass `postmisched` this does not happen (`-mllvm -opt-disable=postmisched`).",
        "DW_TAG",
    ):
        assert part in text
    gap = evolve(CAUSE, finding=evolve(FINDING, rule="against-missing", line=0))
    text = "\n".join(report_text(gap))
    assert text.startswith("# [postmisched] Variable `v1` has no location at -O1 (gfx90a)")
    assert "In a simulator, at `k0+0x30` (0x1630): v1" in text


@pytest.mark.slow
def test_the_commands_of_a_report_run_as_they_stand(clang, require_tool, tmp_path):
    require_tool("llvm-dwarfdump-22")
    source = tmp_path / "k.cl"
    source.write_text(TWO)
    with SourceVariants(SourceLevels(str(source), "gfx90a"), "own") as variants:
        cause = CauseFinder(variants, "1", SourceFinding("value-source", "own", "n", 0x28, 0, "n is 0")).cause(tests=0)
    text = "\n".join(report_text(cause))
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    done = subprocess.run(["bash", "-e"], input=commands, cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = done.stdout.replace(f"{tmp_path}/", "").split("\n")
    assert all(line in printed for line in cause.dwarf.split("\n"))
    # the kernel has one of its own and an inlined one; that of the function for calls is not shown
    assert cause.dwarf.count("DW_TAG_formal_parameter") == 2
    assert done.stdout.count("DW_OP_xderef") > cause.dwarf.count("DW_OP_xderef")
    assert f"` ({cause.address:#x})" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (("fixtures/asm/lane-pc.gfx90a.w64.co",), "not a code object"),
        ((str(UNROLLED), "--rule", "value-fialed"), "value-failed"),
    ],
)
def test_questions_that_make_no_sense_are_refused(words, message):
    done = hunted(*words)
    assert done.returncode == 2
    assert message in done.stderr


TWO = """
kernel void other(global int *out) {
  out[0] = 1;
}
kernel void own(global int *out, int n) {
  int v = n * 3;
  out[0] = v;
  out[1] = n;
  out[2] = 2;
}
"""


@pytest.mark.parametrize("place", ["first", "reduction", "pass"])
def test_an_interrupted_reduction_keeps_the_smallest_source(place, monkeypatch, tmp_path):
    path, output, finding, tested = tmp_path / "k.cl", tmp_path / "report", evolve(FINDING, variable="v"), []
    path.write_text(TWO)

    def judged(code, *_more):
        tested.append(code)
        if (place, len(tested)) in {("first", 1), ("reduction", 3)}:
            raise KeyboardInterrupt
        return LevelVerdict("own", "1", (finding,) if b"int v" in code else ())

    def stopped(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(SourceLevels, "verdicts", lambda *_: iter([LevelVerdict("own", "1", (finding,))]))
    monkeypatch.setattr(source_variants, "judged", judged)
    monkeypatch.setattr(source_variants, "open_program", lambda code: code)
    monkeypatch.setattr(
        SourceLevels, "compiled", lambda source, *_: SimpleNamespace(code=Path(source.path).read_bytes())
    )
    monkeypatch.setattr(SourceVariants, "span", lambda *_: range(0))
    monkeypatch.setattr(CauseFinder, "_blamed", stopped)
    monkeypatch.setattr(cause_finder, "dwarf_text", lambda *_: "")
    done = hunted(str(path), "-o", str(output))
    assert done.returncode == 130
    hint = "hint: ^C ended this early: the source may be smaller still, and its pass is not known\n"
    assert " ".join(done.stderr.split()) == hint.strip()
    assert [name in output.read_text() for name in ("other", "n * 3", "int v")] == {
        "first": [True, True, True], "reduction": [False, True, True], "pass": [False, False, True],
    }[place]  # fmt: skip
    tested.clear()
    assert hunted_document(str(path), status=130)["interrupted"]


@pytest.mark.slow
def test_the_pass_that_moves_an_instruction_over_a_location(clang):
    source = SourceLevels(str(UNROLLED), "gfx1100", (), ("2",))
    (verdict,) = source.verdicts()
    assert verdict.problem is None
    finding = next(each for each in verdict.findings if (each.rule, each.variable) == ("against-wrong", "id"))
    with SourceVariants(source, "unrolled") as variants:
        cause = CauseFinder(variants, "2", finding).cause(tests=0)
    assert (cause.blamed.name, cause.blamed.is_confirmed) == ("postmisched", True)
    assert cause.command.endswith("-mcpu=gfx1100 -nogpulib -g -O2 unrolled.cl -o k.co")
