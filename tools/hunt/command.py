"""The command of the hunt: random kernels, the reduction of a source, and the tables of a campaign."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict

from dwarfgpu.children import PrivateFolder
from dwarfgpu.cli.session import Session
from dwarfgpu.compilers import is_source
from dwarfgpu.errors import DwarfGpuError, Interrupt, NotFound, UsageError, nearest_hint, until_interrupt
from dwarfgpu.progress import begin
from dwarfgpu.progress import counted as counted_progress
from dwarfgpu.questions.document import INTERRUPTED, NO_ANSWER, Document, Output
from hunt import campaign_text as text_of
from hunt.campaign_folder import CampaignFolder, judge_source, source_levels, write_whole
from hunt.cause_finder import CauseFinder
from hunt.causes import RULES, ExampleFinding, cause_of, counted_rules, examples, grouped, kept_cause, with_variants
from hunt.reducer import MOST_TESTS
from hunt.source_levels import LEVELS, LOST
from hunt.source_variants import SourceVariants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hunt.campaign_folder import SourceAnswer
    from hunt.causes import CauseGroup

PAGE, PICTURES = "campaign.md", ("variables.svg", "causes.svg")
"""What is written about a campaign into its folder."""


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    words = argparse.ArgumentParser(prog="hunt", description="Judge the compiler that $CLANG names (README.md).")
    words.add_argument("source", nargs="?", help="k.cl or k.hip; k.cl@gfx90a names the processor")
    words.add_argument("kernel", nargs="?", help="the kernel to reduce (all)")
    words.add_argument(
        "--reduce",
        nargs="?",
        const="",
        metavar="RULE",
        help="make the source small as long as its first finding (of RULE) stays, and name the pass",
    )
    words.add_argument("--fuzz", type=int, metavar="N", help="judge N random kernels at -O1 to -O3")
    words.add_argument("--seed", type=int, default=0, help="the first random kernel (0)")
    words.add_argument("--campaign", metavar="DIR", help="keep sources, answers and causes, and continue from there")
    words.add_argument("--json", action="store_true", help="print one JSON document")
    words.add_argument("-o", "--output", metavar="FILE", help="write the answer to a file")
    return words  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Answer a command line; return the exit status."""
    options = parser().parse_args(words)
    session = Session(form="json" if options.json else "")
    try:
        with nullcontext() if options.output is None else session.written_to(options.output):
            document = campaign(options)
            document.write(session.output(), session.form)
    except DwarfGpuError as error:
        return session.report(error)
    except KeyboardInterrupt:
        session.err.write("hunt: interrupted\n")
        return INTERRUPTED
    for hint in document.hints:
        session.hint(hint)
    return document.status


def campaign(options: argparse.Namespace) -> Document:
    """Return the answer to a command line."""
    if options.fuzz is not None:
        if options.source is not None:
            raise UsageError("--fuzz makes its sources: name no FILE")
        return _fuzz(options)
    if options.source is None:
        if options.campaign is not None and options.reduce is None:
            return _summary(CampaignFolder(options.campaign))
        raise UsageError("hunt needs a source, k.cl or k.hip, or --fuzz N")
    if not is_source(options.source):
        raise UsageError("hunt needs a source, k.cl or k.hip, not a code object")
    path, _at, processor = options.source.partition("@")
    if options.reduce is not None:
        return _reduced(Path(path), processor or None, options.reduce or None, options.kernel)
    if options.campaign is None:
        raise UsageError("what is to be done with the source?", hint="--reduce, or --campaign DIR")
    return _one(CampaignFolder(options.campaign).judge(Path(path), processor or None))


def _fuzz(options: argparse.Namespace) -> Document:
    """Judge random kernels, in a folder that stays or for this answer alone."""
    if options.fuzz < 1:
        raise UsageError("--fuzz needs one kernel at least")
    if options.campaign is not None:
        return _judged(CampaignFolder(options.campaign), options.seed, options.fuzz)
    with PrivateFolder() as folder:
        return _judged(CampaignFolder(str(folder.path)), options.seed, options.fuzz, is_kept=False)


def _judged(folder: CampaignFolder, seed: int, count: int, *, is_kept: bool = True) -> Document:
    """Judge random kernels until all are judged, or until ^C."""
    paths = [*folder.make_sources(seed, count)]
    partial: SourceAnswer | None = None
    progress = begin("builds judged", count * len(LEVELS))
    with until_interrupt() as interrupt:
        for path in paths:
            before = progress.done
            for partial in folder.judging(path):
                progress.advance(before + len(partial.verdicts) - progress.done)
            partial = None
    progress.end()
    return _summary(folder, () if partial is None else (partial,), interrupt, is_kept=is_kept)


def _one(answer: SourceAnswer) -> Document:
    """Return the answer about one source."""
    data = {"source": answer.name, "processor": answer.processor, "problem": answer.problem}
    rows = [*text_of.verdict_rows(answer)]

    def text(_output: Output) -> Iterator[str]:
        yield from text_of.answer_text(answer)

    document = Document({**data, "verdicts": rows}, text, rows="verdicts", row=data)
    document.status = NO_ANSWER if text_of.is_wrong([answer]) else 0
    return document


# --- A finding --------------------------------------------------------------------------------------------------------


def _reduced(path: Path, processor: str | None, wanted: str | None, kernel: str | None) -> Document:
    """Return the report of one finding of a source."""
    parts = {rule.partition("-")[0] for rule in RULES}
    if wanted is not None and wanted not in {*RULES, *parts}:
        hint = nearest_hint(wanted, (*RULES, *parts), f"the rules are {', '.join(RULES)}")
        raise UsageError(f"--reduce knows no rule {wanted[:60]!r}", hint=hint)
    answer = judge_source(path, processor, kernel)
    if answer.problem is not None:
        raise UsageError(answer.problem)
    every = [*examples([answer], most=None)]
    found = _chosen(every, wanted, kernel)
    if found is None:
        what = "no variable is wrong" if wanted is None else f"no finding of {wanted}"
        others = ", ".join(sorted({each.finding.rule for each in every}))
        hint = f"there are findings of {others}" if others else None
        raise NotFound("no_finding", f"{path} has at -O1 to -O3 {what}", hint=hint)
    with SourceVariants(source_levels(path, answer.processor), found.verdict.kernel) as variants:
        finder = CauseFinder(variants, found.verdict.level, found.finding)
        with until_interrupt() as interrupt:
            cause = finder.cause()
        if interrupt.has_come:
            cause = finder.described()
    document = Document({**asdict(cause), "interrupted": interrupt.has_come}, [*text_of.report_text(cause)])
    if interrupt.has_come:
        document.hints.append("^C ended this early: the source may be smaller still, and its pass is not known")
    elif cause.is_cut:
        document.hints.append(f"the source may be smaller still: the reduction ends after {MOST_TESTS} variants")
    document.status = INTERRUPTED if interrupt.has_come else NO_ANSWER
    return document


def _chosen(found: list[ExampleFinding], wanted: str | None, kernel: str | None) -> ExampleFinding | None:
    """Return the first finding of a rule or a part; without one the gravest that is not only a lost variable."""
    for example in found:
        rule = example.finding.rule
        is_wanted = rule != LOST if wanted is None else wanted in (rule, rule.partition("-")[0])
        if is_wanted and kernel in (None, example.verdict.kernel):
            return example
    return None


# --- All findings -----------------------------------------------------------------------------------------------------


def _summary(
    folder: CampaignFolder,
    partial: Sequence[SourceAnswer] = (),
    interrupt: Interrupt | None = None,
    *,
    is_kept: bool = True,
) -> Document:
    """Return the tables of a campaign, and write its page, its pictures and a report of each cause if they are kept.

    The reports take most of the time: the source of each is made small. After ^C no more causes are looked for.
    """
    interrupt = interrupt or Interrupt()
    answers = [*folder.answers(), *partial]
    if not answers:
        if interrupt.has_come:
            raise KeyboardInterrupt
        raise NotFound("no_answer", f"{folder.path} has no answers", hint="--fuzz N judges random kernels")
    groups = _cause_groups(folder, answers, interrupt)
    counts = counted_rules(answers)
    found = folder.compiler, answers, groups, counts
    if is_kept:
        write_whole(folder.path / PAGE, "\n".join(text_of.campaign_page(*found)) + "\n")
        for name, lines in zip(PICTURES, (text_of.variables_svg(answers), text_of.causes_svg(groups)), strict=True):
            write_whole(folder.path / name, "\n".join(lines) + "\n")
        if not interrupt.has_come:
            with until_interrupt(interrupt):
                _write_reports(folder, [group for group in groups if group.rule != LOST])
    document = Document(text_of.campaign_json(*found), lambda _output: text_of.campaign_text(*found), rows="causes")
    document.status = INTERRUPTED if interrupt.has_come else NO_ANSWER if text_of.is_wrong(answers) else 0
    if interrupt.has_come:
        again = "" if is_kept else "with --campaign DIR, "
        document.hints.append(f"^C ended this early; {again}the same command continues")
    elif groups and not is_kept:
        document.hints.append("--campaign DIR keeps the sources, and writes a report about each cause")
    return document


def _cause_groups(
    folder: CampaignFolder, answers: Sequence[SourceAnswer], interrupt: Interrupt
) -> Sequence[CauseGroup]:
    """Return findings by their causes; those that are not known are looked for until ^C."""
    every = [*examples(answers)]
    causes = {each: kept_cause(folder, each) for each in every}
    left = [] if interrupt.has_come else [each for each in every if causes[each] is None]
    with until_interrupt(interrupt):
        for variants, example in counted_progress(with_variants(folder, left), "causes", len(left)):
            causes[example] = cause_of(folder, variants, example, is_reduced=False)
    return grouped([*causes.items()])


def _write_reports(folder: CampaignFolder, groups: Sequence[CauseGroup]) -> None:
    """Write a report about the smallest source of each group."""
    reports = {group.smallest: group for group in groups}
    for number, (variants, example) in enumerate(with_variants(folder, reports), 1):
        cause = cause_of(folder, variants, example, is_reduced=True, of=f" for report {number} of {len(groups)}")
        group = reports[example]
        path = folder.path / "reports" / f"{group.rule}-{group.name.replace(' ', '-')}.md"
        write_whole(path, "\n".join(text_of.report_text(cause)) + "\n")
