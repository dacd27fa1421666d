"""What a compiler makes of sources: tables, pictures, and the report of a finding for those who write the compiler."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from attrs import asdict

from dwarfgpu.render.layout import counted, fitted, room, table, wrapped
from dwarfgpu.render.pictures import NOTHING, OUTSIDE, Strip, StripGroup, StripPart, strip_svg
from hunt.source_levels import LOST, RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hunt.campaign_folder import SourceAnswer
    from hunt.cause_finder import FindingCause
    from hunt.causes import CauseGroup
    from hunt.source_levels import LevelVerdict

HEADS = ("kernels", "right", "wrong", "absent", "values right", "wrong", "absent", "frames", "lanes", "lines")
"""The columns behind processor and level."""
VALUES_END = HEADS.index("frames")
"""The column behind those about variables and values."""


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
    yield from _share_tables(
        "kernel", [(f"{each.kernel} -O{each.level}", shares([each])) for each in answer.verdicts], 1
    )
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
    clang, *_words, name, _option, code = shlex.split(cause.command)
    yield from (
        "",
        f"{cause.compiler}:",
        "",
        "```sh",
        f"cat > {shlex.quote(name)} << 'EOF'",
        *cause.source.rstrip().split("\n"),
    )
    yield from ("EOF", cause.command)
    if cause.dwarf:
        yield f"{clang.replace('clang', 'llvm-dwarfdump')} --name={finding.variable} {code}"
    yield from ("```", "")
    if is_result:
        yield f"`{cause.kernel}` writes another result than it should: {finding.message}."
    else:
        address = "" if cause.address is None else f" ({cause.address:#x})"
        line = f", line {finding.line}" if finding.line else ""
        yield f"In a simulator, at `{finding.function}+{finding.offset:#x}`{address}{line}: {finding.message}."
    if blamed is not None:
        yield ""
        if blamed.is_confirmed:
            yield f"Without the pass `{blamed.name}` this does not happen ({blamed.how})."
        else:
            yield f"The pass is most likely `{blamed.name}` ({blamed.how})."
        for title, lines in (("Before", blamed.before), ("After", blamed.after)):
            if lines:
                yield from ("", f"{title} the pass:", "", "```", *lines, "```")
    if cause.dwarf:
        yield from ("", "llvm-dwarfdump, of this function:", "", "```", *cause.dwarf.split("\n"), "```")


# --- A campaign -------------------------------------------------------------------------------------------------------


def campaign_text(
    compiler: str, answers: Sequence[SourceAnswer], groups: Sequence[CauseGroup], counts: Mapping[str, int]
) -> Iterator[str]:
    """Yield the tables of a campaign for a screen."""
    first, *others = _introduction(compiler, answers)
    yield from wrapped(first)
    yield ""
    yield from _share_tables("build", [(f"{name} -O{level}", shares(found)) for name, level, found in by_way(answers)])
    for sentence in others:
        yield ""
        yield from wrapped(sentence)
    if counts:
        yield ""
        yield from table([("rule", "variables"), *_count_rows(counts)], "lr", is_headed=True)
    if groups:
        yield ""
        rows = [("rule", "pass", "examined", "gone", "example"), *map(_group_row, groups)]
        yield from table(rows, "llrrl", width=room(), is_headed=True)
    if any(group.examined for group in groups):
        yield ""
        yield from wrapped("gone: the examined findings that disappear without the pass")


def _share_tables(head: str, rows: Sequence[tuple[str, tuple[str, ...]]], first: int = 0) -> Iterator[str]:
    """Yield the cells of `HEADS` from the ``first`` column on: two tables, since one is wider than a screen."""
    for begin, end in ((first, VALUES_END), (VALUES_END, len(HEADS))):
        lines = [(head, *HEADS[begin:end]), *((label, *cells[begin:end]) for label, cells in rows)]
        if begin != first:
            yield ""
        yield from table(lines, "l" + "r" * (end - begin), width=room(), is_headed=True)


def campaign_page(
    compiler: str, answers: Sequence[SourceAnswer], groups: Sequence[CauseGroup], counts: Mapping[str, int]
) -> Iterator[str]:
    """Yield the tables of a campaign in Markdown."""
    first, *others = _introduction(compiler, answers)
    ways = [(name, f"-O{level}", *shares(found)) for name, level, found in by_way(answers)]
    yield from (first, "", *_markdown(("processor", "level", *HEADS), ways), "")
    for sentence in others:
        yield from (sentence, "")
    yield from (*_markdown(("rule", "variables"), _count_rows(counts)), "")
    yield from _markdown(("rule", "pass", "examined", "gone without it", "example"), [*map(_group_row, groups)])


def _introduction(compiler: str, answers: Sequence[SourceAnswer]) -> Iterator[str]:
    """Yield how much was judged and, if anything was not, how much was not."""
    verdicts = [verdict for answer in answers for verdict in answer.verdicts]
    kernels = len({(answer.name, verdict.kernel) for answer in answers for verdict in answer.verdicts})
    what = f"{counted(kernels, 'kernel')} of {counted(len(answers), 'source')}"
    yield f"{compiler}: {what}, {counted(len(verdicts), 'build')} judged."
    unfinished = sum(each.problem is not None for each in verdicts)
    failed = sum(answer.problem is not None for answer in answers)
    if unfinished or failed:
        yield f"Not judged to the end: {counted(unfinished, 'build')}. Not compiled: {counted(failed, 'source')}."


def _count_rows(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    return [(rule, f"{count:,}") for rule, count in sorted(counts.items())]


def _group_row(group: CauseGroup) -> tuple[str, ...]:
    example = group.smallest
    where = f"{example.answer.name} {example.verdict.kernel} -O{example.verdict.level}"
    return group.rule, group.name, f"{group.examined:,}", f"{group.confirmed:,}", where


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
            "examined": group.examined,
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
