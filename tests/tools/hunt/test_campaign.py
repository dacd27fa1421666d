"""Campaigns: random sources, what is judged of them and kept, the tables, and the command."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve
from hunt import campaign_folder, cause_finder, command, source_variants
from hunt.blamed_pass import BlamedPass
from hunt.campaign_folder import CampaignFolder, SourceAnswer, answer_of, source_levels, text_of
from hunt.campaign_text import campaign_json, campaign_page, causes_svg, report_text, variables_svg
from hunt.cause_finder import CauseFinder, FindingCause
from hunt.causes import cause_from, counted_rules, examples, grouped
from hunt.host_results import host_kernels
from hunt.random_sources import OPTIONS, random_source
from hunt.source_levels import LevelVerdict, SourceFinding, SourceLevels
from hunt.source_variants import SourceVariants

from dwarfgpu.audits.judge import judgement
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.halts import Halt, uninterrupted
from tests.builders.commands import ROOT
from tests.builders.commands import run as run_command

UNROLLED = ROOT / "dwarfgpu" / "examples" / "findings" / "unrolled.cl"
FINDING = SourceFinding("against-wrong", "k0", "v1", 0x30, 4, "v1 is 0, and 64 in -O0")
VERDICTS = (
    LevelVerdict("k0", "1", 10, 6, 1, 3, 8, 1, 1, 0, 10, 9, 4, 3, (FINDING,)),
    LevelVerdict("k0", "2", 10, 6, 1, 3, 8, 1, 1, 0, 10, 9, 4, 3, (FINDING,), "it has not ended"),
)
ANSWER = SourceAnswer("random-1-0000.cl", "gfx90a", 1.5, VERDICTS)
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


def test_a_random_kernel_depends_on_its_number_alone(tmp_path):
    both = random_source(5, 0, 2)
    assert both == f"{random_source(5, 0, 1)}\n{random_source(5, 1, 1)}"
    assert random_source(6, 1, 1) != random_source(5, 1, 1)
    path = tmp_path / "random-5-0000.cl"
    path.write_text(both)
    assert text_of(path, "k1") == f"{random_source(5, 1, 1)}\n"
    assert text_of(UNROLLED, "unrolled") == UNROLLED.read_text()


def test_a_campaign_goes_on_and_is_of_one_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign_folder, "find_clang", lambda: SimpleNamespace(banner="clang version 22\nTarget"))
    judged = []

    def judge(path, processor):
        judged.append(path.name)
        yield SourceAnswer(path.name, "gfx90a", 0.5, VERDICTS[:1])
        yield SourceAnswer(path.name, "gfx90a", 1.0, VERDICTS)

    monkeypatch.setattr(campaign_folder, "growing_answers", judge)
    folder = CampaignFolder(str(tmp_path))
    sources = [*folder.make_sources(1, 12)]
    assert [path.name for path in sources] == ["random-1-0000.cl", "random-1-0001.cl"]
    assert sources[1].read_text().count("kernel void") == 4
    first = [folder.judge(path) for path in sources]
    assert [CampaignFolder(str(tmp_path)).judge(path) for path in sources] == first
    assert judged == ["random-1-0000.cl", "random-1-0001.cl"]
    assert [*folder.answers()] == first
    monkeypatch.setattr(campaign_folder, "find_clang", lambda: SimpleNamespace(banner="clang version 24\nTarget"))
    with pytest.raises(UsageError, match="is a campaign of clang version 22, and this is clang version 24"):
        CampaignFolder(str(tmp_path))


def test_findings_are_examples_at_the_lowest_level_and_causes_are_kept(tmp_path):
    lost = SourceFinding("against-missing", "k0", "v2", 0, 1, "v2 has no value")
    more = LevelVerdict("k1", "1", findings=(lost, FINDING))
    answer = SourceAnswer("a.cl", "gfx90a", 1.0, (*VERDICTS, more))
    found = [*examples([answer])]
    assert [(each.finding.rule, each.verdict.kernel, each.verdict.level) for each in found] == [
        ("against-wrong", "k0", "1"), ("against-wrong", "k1", "1"), ("against-missing", "k1", "1"),
    ]  # fmt: skip
    assert counted_rules([answer]) == {"against-wrong": 2, "against-missing": 1}
    assert len([*examples([answer], most=1)]) == 2
    (group,) = grouped([(each, CAUSE) for each in found[:2]])
    assert (group.rule, group.name, group.confirmed, len(group.found)) == ("against-wrong", "postmisched", 2, 2)
    from attrs import asdict

    assert cause_from(asdict(CAUSE)) == CAUSE
    assert answer_of(asdict(ANSWER)) == ANSWER


def test_a_campaign_has_tables_and_pictures():
    groups = grouped([(each, CAUSE) for each in examples([ANSWER])])
    page = [*campaign_page("clang version 22", [ANSWER], groups, counted_rules([ANSWER]))]
    assert page[0] == "clang version 22: 1 kernel of 1 source, 2 builds judged."
    assert "| gfx90a | -O1 | 1 | 60.0% | 10.0% | 30.0% | 80.0% | 10.0% | 10.0% | none | 90.0% | 75.0% |" in page
    assert "| all | -O2 | 1 | 60.0% | 10.0% | 30.0% | 80.0% | 10.0% | 10.0% | none | 90.0% | 75.0% |" in page
    assert "Not judged to the end: 1 build. Not compiled: 0 sources." in page
    assert page[-1] == "| against-wrong | postmisched | 1 | 1 | random-1-0000.cl k0 -O1 |"
    data = campaign_json("clang version 22", [ANSWER], groups, counted_rules([ANSWER]))
    assert data["ways"][0]["values_right"] == "80.0%"
    assert data["causes"][0]["pass"] == "postmisched"
    assert data["causes"][0]["examined"] == 1
    for lines in (variables_svg([ANSWER]), causes_svg(groups)):
        assert ET.fromstring("\n".join(lines)).tag.endswith("svg")


@pytest.mark.parametrize("place", ["source", "cause", "report"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_is_lost_when_a_campaign_is_interrupted(is_kept, place, monkeypatch, tmp_path):
    def answers(path, _processor):
        yield evolve(ANSWER, name=path.name, verdicts=VERDICTS[:1])
        if place == "source":
            raise KeyboardInterrupt
        yield evolve(ANSWER, name=path.name)

    def cause(_folder, _variants, _example, *, is_reduced, of=""):
        if place == ("report" if is_reduced else "cause"):
            raise KeyboardInterrupt
        return CAUSE

    if place == "report" and not is_kept:
        return
    monkeypatch.setattr(campaign_folder, "growing_answers", answers)
    monkeypatch.setattr(command, "cause_of", cause)
    folder = tmp_path / "kept"
    done = hunted("--fuzz", "1", *(("--campaign", str(folder)) if is_kept else ()))
    assert done.returncode == 130
    name = "postmisched " if place == "report" else "not examined"
    assert f"against-wrong  {name}" in done.stdout
    assert f"{1 if place == 'source' else 2} build" in done.stdout
    again = "the same command" if is_kept else "with --campaign DIR, the same command"
    assert f"hint: ^C ended this early; {again} continues\n" in done.stderr
    assert [each.name for each in folder.glob("*.json")] == ["random-0-0000.json"] * (is_kept and place != "source")


def test_a_machine_that_is_interrupted_ends_the_campaign():
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
    source = tmp_path / "random-7-0000.cl"
    source.write_text(random_source(7, 0, 8) + "\n")
    with SourceVariants(source_levels(source, "gfx90a"), "k1") as variants:
        cause = CauseFinder(variants, "1", SourceFinding("value-source", "k1", "n", 0x28, 0, "n is 0")).cause(tests=0)
    text = "\n".join(report_text(cause))
    commands = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    done = subprocess.run(["bash", "-e"], input=commands, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(line in done.stdout.split("\n") for line in cause.dwarf.split("\n"))
    assert cause.dwarf.count("DW_TAG_formal_parameter") == 1  # not that of the function for calls
    assert f"` ({cause.address:#x})" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (("k.co", "--fuzz", "3"), "name no FILE"),
        (("--fuzz", "0"), "needs one kernel at least"),
        (("--reduce",), "needs a source"),
        (("fixtures/asm/lane-pc.gfx90a.w64.co", "--reduce"), "not a code object"),
        ((str(UNROLLED),), "--reduce, or --campaign DIR"),
        ((), "needs a source"),
    ],
)
def test_questions_that_make_no_sense_are_refused(words, message):
    done = hunted(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_host_computes_what_c_says(clang):
    text = "kernel void k0(global int *out, global const int *in, int n) {\n"
    text += "  out[__builtin_amdgcn_workitem_id_x()] = in[1] + n;\n}\n"
    host = host_kernels(text)
    results = host.run("k0", {"out": bytes(64), "in": bytes([0, 0, 0, 0, 5, 0, 0, 0])})
    assert results["out"][:8] == (69).to_bytes(4, "little") * 2
    assert host_kernels("kernel void k0( {") is None


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
        return LevelVerdict("own", "1", findings=(finding,) if b"int v" in code else ())

    def stopped(*_arguments):
        raise KeyboardInterrupt

    answer = evolve(ANSWER, problem=None, verdicts=(LevelVerdict("own", "1", findings=(finding,)),))
    monkeypatch.setattr(command, "judge_source", lambda *_: answer)
    monkeypatch.setattr(source_variants, "judged", judged)
    monkeypatch.setattr(source_variants, "open_program", lambda code: code)
    monkeypatch.setattr(
        SourceLevels, "compiled", lambda source, *_: SimpleNamespace(code=Path(source.path).read_bytes())
    )
    monkeypatch.setattr(SourceVariants, "span", lambda *_: range(0))
    monkeypatch.setattr(CauseFinder, "_blamed", stopped)
    monkeypatch.setattr(cause_finder, "dwarf_text", lambda *_: "")
    done = hunted(str(path), "--reduce", "-o", str(output))
    assert done.returncode == 130
    hint = "hint: ^C ended this early: the source may be smaller still, and its pass is not known\n"
    assert " ".join(done.stderr.split()) == hint.strip()
    assert [name in output.read_text() for name in ("other", "n * 3", "int v")] == {
        "first": [True, True, True], "reduction": [False, True, True], "pass": [False, False, True],
    }[place]  # fmt: skip
    tested.clear()
    assert hunted_document(str(path), "--reduce", status=130)["interrupted"]


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


@pytest.mark.slow
def test_random_kernels_give_what_the_host_gives(clang, tmp_path):
    path = tmp_path / "random-2-0000.cl"
    path.write_text(random_source(2, 0, 4) + "\n")
    verdicts = [*SourceLevels(str(path), "gfx1100", OPTIONS).verdicts(host=host_kernels(path.read_text()))]
    assert len(verdicts) == 12
    assert not [each.problem for each in verdicts if each.problem]
    assert not [each for verdict in verdicts for each in verdict.findings if each.rule == "result"]
