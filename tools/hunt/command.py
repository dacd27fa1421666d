"""The command of the hunt: from the gravest finding of a source to a small source and the pass behind it."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict

from dwarfgpu.cli.session import Session
from dwarfgpu.compilers import is_source
from dwarfgpu.compilers.sources import USUAL_PROCESSOR
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError, nearest_hint, until_interrupt
from dwarfgpu.progress import counted
from dwarfgpu.questions.document import INTERRUPTED, NO_ANSWER, Document
from hunt.cause_finder import CauseFinder
from hunt.reducer import MOST_TESTS
from hunt.report import report_text
from hunt.source_levels import LOST, RESULT, SourceLevels
from hunt.source_variants import SourceVariants

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hunt.source_levels import LevelVerdict, SourceFinding

RULES = (
    RESULT, "value-failed", "value-source", "value-lanes", "against-wrong", "against-between", "against-together",
    "against-order", "value-written", "value-changed", "against-access", LOST,
)  # fmt: skip
"""The rules, the gravest first."""


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    words = argparse.ArgumentParser(
        prog="hunt", description="Reduce what `judge` found in the clang of $CLANG, and name the pass (README.md)."
    )
    words.add_argument("source", help="k.cl or k.hip; k.cl@gfx90a names the processor")
    words.add_argument("kernel", nargs="?", help="the kernel whose finding is reduced (all)")
    words.add_argument("--rule", metavar="RULE", help="a finding of this rule or group of rules (the gravest)")
    words.add_argument("--json", action="store_true", help="print one JSON document")
    words.add_argument("-o", "--output", metavar="FILE", help="write the answer to a file")
    return words


def main(words: Sequence[str]) -> int:
    """Answer a command line; return the exit status."""
    options = parser().parse_args(words)
    session = Session(form="json" if options.json else "")
    try:
        with nullcontext() if options.output is None else session.written_to(options.output):
            path, _at, processor = options.source.partition("@")
            document = reduced(Path(path), processor or USUAL_PROCESSOR, options.rule, options.kernel)
            document.write(session.output(), session.form)
    except DwarfGpuError as error:
        return session.report(error)
    except KeyboardInterrupt:
        session.err.write("hunt: interrupted\n")
        return INTERRUPTED
    for hint in document.hints:
        session.hint(hint)
    return document.status


def reduced(path: Path, processor: str, wanted: str | None, kernel: str | None) -> Document:
    """Return the report of one finding of a source."""
    parts = {rule.partition("-")[0] for rule in RULES}
    if wanted is not None and wanted not in {*RULES, *parts}:
        hint = nearest_hint(wanted, (*RULES, *parts), f"the rules are {', '.join(RULES)}")
        raise UsageError(f"--rule knows no rule {wanted[:60]!r}", hint=hint)
    if not is_source(str(path)):
        raise UsageError("hunt needs a source, k.cl or k.hip, not a code object")
    source = SourceLevels(str(path), processor)
    found = ranked(counted(source.verdicts(kernel), "builds judged"))
    chosen = next((each for each in found if _is_wanted(each[1].rule, wanted)), None)
    if chosen is None:
        what = "no variable is wrong" if wanted is None else f"no finding of {wanted}"
        others = ", ".join(sorted({finding.rule for _verdict, finding in found}))
        hint = f"there are findings of {others}" if others else None
        raise NotFound("no_finding", f"{path} has at -O1 to -O3 {what}", hint=hint)
    verdict, finding = chosen
    with SourceVariants(source, verdict.kernel) as variants:
        finder = CauseFinder(variants, verdict.level, finding)
        with until_interrupt() as interrupt:
            cause = finder.cause()
        if interrupt.has_come:
            cause = finder.described()
    document = Document({**asdict(cause), "interrupted": interrupt.has_come}, [*report_text(cause)])
    if interrupt.has_come:
        document.hints.append("^C ended this early: the source may be smaller still, and its pass is not known")
    elif cause.is_cut:
        document.hints.append(f"the source may be smaller still: the reduction ends after {MOST_TESTS} variants")
    document.status = INTERRUPTED if interrupt.has_come else NO_ANSWER
    return document


def ranked(verdicts: Iterable[LevelVerdict]) -> list[tuple[LevelVerdict, SourceFinding]]:
    """Return findings, the gravest first, each variable of a kernel at the lowest level that has it."""
    first: dict[tuple[str, ...], tuple[LevelVerdict, SourceFinding]] = {}
    for verdict in verdicts:
        for finding in verdict.findings:
            key = finding.rule, verdict.kernel, finding.function, finding.variable
            first.setdefault(key, (verdict, finding))
    return sorted(first.values(), key=lambda each: _rank(each[1].rule))


def _rank(rule: str) -> int:
    return RULES.index(rule) if rule in RULES else len(RULES)


def _is_wanted(rule: str, wanted: str | None) -> bool:
    """Return whether a finding of a rule answers; without a wanted one, unless a variable is only lost."""
    return rule != LOST if wanted is None else wanted in (rule, rule.partition("-")[0])
