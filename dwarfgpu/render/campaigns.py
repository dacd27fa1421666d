"""What a compiler makes of sources: tables, pictures, and the report of a finding for those who write the compiler."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import asdict

from dwarfgpu.audits.campaign.source_levels import LOST, RESULT
from dwarfgpu.render.layout import counted, fitted, table
from dwarfgpu.render.pictures import NOTHING, OUTSIDE, Strip, StripGroup, StripPart, strip_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.campaign.campaign_folder import SourceAnswer
    from dwarfgpu.audits.campaign.cause_finder import FindingCause
    from dwarfgpu.audits.campaign.causes import CauseGroup
    from dwarfgpu.audits.campaign.source_levels import LevelVerdict

HEADS = ("kernels", "right", "wrong", "absent", "values right", "wrong", "absent", "frames", "lanes", "lines")
"""The columns behind processor and level."""


def is_wrong(answers: Iterable[SourceAnswer]) -> bool:
    """Return whether something is wrong in answers, and not only lost."""
    return any(each.rule != LOST for answer in answers for verdict in answer.verdicts for each in verdict.findings)


def _share(part: int, total: int) -> str:
    return f"{100 * part / total:.1f}%" if total else "-"


def _sum(verdicts: Sequence[LevelVerdict], name: str) -> int:
    return sum(getattr(verdict, name) for verdict in verdicts)


def shares(verdicts: Sequence[LevelVerdict]) -> tuple[str, ...]:
    """Return the cells of `HEADS` of some verdicts."""
    cells = [f"{len(verdicts):,}"]
    for prefix in ("", "values_"):
        counts = [_sum(verdicts, f"{prefix}{name}") for name in ("right", "wrong", "absent")]
        cells += [_share(count, sum(counts)) for count in counts]
    judged, missing = _sum(verdicts, "instructions"), _sum(verdicts, "frames_missing")
    cells.append("none" if judged and missing == judged else _share(_sum(verdicts, "frames"), judged))
    cells.append(_share(_sum(verdicts, "lanes"), judged))
    cells.append(_share(_sum(verdicts, "lines_reached"), _sum(verdicts, "lines")))
    return tuple(cells)


def by_way(answers: Sequence[SourceAnswer]) -> Iterator[tuple[str, str, list[LevelVerdict]]]:
    """Yield the verdicts of each processor and level, then those of each level."""
    ways: dict[tuple[str, str], list[LevelVerdict]] = {}
    for answer in answers:
        for verdict in answer.verdicts:
            for processor in (answer.processor, "all"):
                ways.setdefault((processor, verdict.level), []).append(verdict)
    for processor, level in sorted(ways, key=lambda way: (way[0] == "all", len(way[0]), way)):
        yield processor, level, ways[processor, level]


def verdict_rows(answer: SourceAnswer) -> Iterator[dict[str, Any]]:
    """Yield what came of each kernel at each level."""
    for verdict in answer.verdicts:
        yield asdict(verdict)


def answer_text(answer: SourceAnswer) -> Iterator[str]:
    """Yield what came of one source."""
    rows: list[tuple[str, ...]] = [("kernel", "level", *HEADS[1:])]
    rows += [(each.kernel, f"-O{each.level}", *shares([each])[1:]) for each in answer.verdicts]
    yield from table(rows, "ll" + "r" * len(HEADS[1:]), is_headed=True)
    for each in answer.verdicts:
        for finding in each.findings:
            if finding.rule != LOST:
                where = f"{finding.function}+{finding.offset:#x}, line {finding.line}"
                yield from fitted(f"-O{each.level}: {where}: {finding.message} ({finding.rule})", 4)
        if each.problem is not None:
            yield from fitted(f"{each.kernel} is not judged to its end at -O{each.level}: {each.problem}", 4)
    if answer.problem is not None:
        yield from fitted(f"{answer.name}: {answer.problem}", 4)


# --- A report ---------------------------------------------------------------------------------------------------------


def report_text(cause: FindingCause) -> Iterator[str]:
    """Yield a report in Markdown, as the tracker of LLVM takes it."""
    finding, blamed = cause.finding, cause.blamed
    is_result = finding.rule == RESULT
    who = "" if blamed is None else f"[{blamed.name}] "
    if is_result:
        yield f"# {who}Wrong result at -O{cause.level} ({cause.processor})"
    else:
        what = "has no location" if finding.rule == LOST else "has a wrong location"
        yield f"# {who}Variable `{finding.variable}` {what} at -O{cause.level} ({cause.processor})"
    yield from (
        "",
        f"{cause.compiler}:",
        "",
        f"    {cause.command}",
        "",
        "```c",
        *cause.source.rstrip().split("\n"),
        "```",
        "",
    )
    if is_result:
        yield f"`{cause.kernel}` writes another result than it should: {finding.message}."
    else:
        place = f"`{finding.function}+{finding.offset:#x}` (line {finding.line})"
        yield f"At {place}, executed in a simulator: {finding.message}."
    if blamed is not None:
        yield ""
        if blamed.is_confirmed:
            yield f"The pass is `{blamed.name}`: without it this does not happen ({blamed.how})."
        else:
            yield f"The pass is most likely `{blamed.name}` ({blamed.how})."
        for title, lines in (("Before", blamed.before), ("After", blamed.after)):
            if lines:
                yield from ("", f"{title} the pass:", "", "```", *lines, "```")
    if cause.dwarf:
        yield from ("", "llvm-dwarfdump:", "", "```", *cause.dwarf.split("\n"), "```")


# --- A campaign -------------------------------------------------------------------------------------------------------


def campaign_page(
    compiler: str, answers: Sequence[SourceAnswer], groups: Sequence[CauseGroup], counts: Mapping[str, int]
) -> Iterator[str]:
    """Yield the tables of a campaign in Markdown."""
    verdicts = [verdict for answer in answers for verdict in answer.verdicts]
    kernels = len({(answer.name, verdict.kernel) for answer in answers for verdict in answer.verdicts})
    what = f"{counted(kernels, 'kernel')} of {counted(len(answers), 'source')}"
    yield f"{compiler}: {what}, {len(verdicts):,} builds judged."
    yield ""
    yield from _markdown(("processor", "level", *HEADS), [
        (processor, f"-O{level}", *shares(found)) for processor, level, found in by_way(answers)
    ])  # fmt: skip
    yield ""
    problems = Counter(each.problem for each in verdicts if each.problem)
    failed = [answer for answer in answers if answer.problem]
    if problems or failed:
        yield f"{sum(problems.values()):,} builds were not judged to their end, {len(failed):,} sources not compiled."
        yield ""
    yield from _markdown(("rule", "variables"), [(rule, f"{count:,}") for rule, count in sorted(counts.items())])
    yield ""
    rows = [
        (
            *(group.rule, group.name, f"{len(group.found):,}", f"{group.confirmed:,}"),
            f"{group.smallest[0].answer.name} {group.smallest[0].verdict.kernel} -O{group.smallest[0].verdict.level}",
        )
        for group in groups
    ]
    yield from _markdown(("rule", "pass", "examined", "gone without it", "example"), rows)


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def campaign_json(
    compiler: str, answers: Sequence[SourceAnswer], groups: Sequence[CauseGroup], counts: Mapping[str, int]
) -> dict[str, Any]:
    """Return a campaign as a JSON document."""
    ways = [
        {"processor": processor, "level": level, **dict(zip(_keys(), shares(found), strict=True))}
        for processor, level, found in by_way(answers)
    ]
    causes = [
        {
            "rule": group.rule,
            "pass": group.name,
            "examined": len(group.found),
            "confirmed": group.confirmed,
            "examples": [example.name for example, _cause in group.found],
        }
        for group in groups
    ]
    return {"compiler": compiler, "sources": len(answers), "ways": ways, "rules": dict(counts), "causes": causes}


def _keys() -> list[str]:
    """Return the keys of the columns in JSON, in which the second of two equal titles is about values."""
    return [
        title.replace(" ", "_") if HEADS.index(title) == number else f"values_{title}"
        for number, title in enumerate(HEADS)
    ]


def variables_svg(answers: Sequence[SourceAnswer]) -> Iterator[str]:
    """Draw how much of the variables in scope at instructions is right, wrong and absent."""
    strips = []
    for processor, level, found in by_way(answers):
        counts = {name: _sum(found, name) for name in ("right", "wrong", "absent")}
        total = sum(counts.values())
        parts = tuple(
            StripPart(count, NOTHING if name == "absent" else name, f"{name}: {count:,}, {_share(count, total)}")
            for name, count in counts.items()
        )
        strips.append(Strip(f"{processor} -O{level}", parts, _share(counts["right"], total)))
    yield from strip_svg(
        "Variables of optimized kernels", [StripGroup("variables in scope at instructions", tuple(strips))]
    )


def causes_svg(groups: Sequence[CauseGroup]) -> Iterator[str]:
    """Draw how many of the findings that were examined each pass makes."""
    shown = []
    for rule in dict.fromkeys(group.rule for group in groups):
        of_rule = [group for group in groups if group.rule == rule]
        total = sum(len(group.found) for group in of_rule)
        strips = tuple(
            Strip(group.name, (
                StripPart(len(group.found), "wrong" if rule != LOST else NOTHING, f"{group.name}: {len(group.found)}"),
                StripPart(total - len(group.found), OUTSIDE, ""),
            ), f"{len(group.found)}")
            for group in of_rule
        )  # fmt: skip
        shown.append(StripGroup(rule, strips))
    yield from strip_svg("Findings by the pass that makes them", shown)
