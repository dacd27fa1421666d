"""All answers at one look: waves by stack, values of variables over the inputs, findings by rule, what failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, define

from dwarfgpu.fleet.answers import ANSWERED
from dwarfgpu.render import report as html
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.fleet.parts import AnswerFolder, InputOutcome

MOST_VALUES = 4096
"""So many different values of a variable are counted by themselves; more are joined by their magnitude."""
MOST_SHOWN = 12
"""How many groups are shown of each kind."""
EXAMPLES = 3
"""How many inputs a group names."""
COLUMNS = (
    *("input", "waves", "frame", "stack", "variable", "value", "number", "state", "rule", "lane_count", "error_kind"),
)


@define
class FleetGroup:
    """Answers that are the same: how many waves or lanes, in how many inputs, and the first of these."""

    count: int = 0
    inputs: int = 0
    examples: list[str] = Factory(list)
    _last: str = ""

    def add(self, name: str, count: int) -> None:
        """Add something of an input; the rows of an input follow each other."""
        self.count += count
        if name != self._last:
            self._last = name
            self.inputs += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(name)

    def join(self, other: FleetGroup) -> None:
        """Add what another group has."""
        self.count += other.count
        self.inputs += other.inputs
        self.examples = [*self.examples, *other.examples][:EXAMPLES]

    def json(self) -> dict[str, Any]:
        """Return the group as a JSON object."""
        return {"count": self.count, "inputs": self.inputs, "examples": self.examples}


class FleetValues:
    """The values of a variable over all inputs."""

    def __init__(self) -> None:
        self.groups: dict[str, FleetGroup] = {}
        self.numbers: dict[str, float] = {}
        self.is_joined = False
        """Whether there were too many values, so that numbers of one magnitude are one group."""

    def add(self, name: str, text: str, number: float | None, count: int) -> None:
        """Add the value that some lanes of an input have."""
        if number is not None and self.is_joined:
            text, number = _magnitude(number)
        group = self.groups.get(text)
        if group is None:
            if len(self.groups) >= MOST_VALUES and not self.is_joined:
                self._join()
                self.add(name, text, number, count)
                return
            if len(self.groups) >= MOST_VALUES and number is None:
                text = "other values"
            group = self.groups.setdefault(text, FleetGroup())
            if number is not None:
                self.numbers[text] = number
        group.add(name, count)

    def _join(self) -> None:
        self.is_joined = True
        groups, numbers = self.groups, self.numbers
        self.groups, self.numbers = {}, {}
        for text, group in groups.items():
            number = numbers.get(text)
            if number is not None:
                text, number = _magnitude(number)  # noqa: PLW2901
                self.numbers[text] = number
            self.groups.setdefault(text, FleetGroup()).join(group)

    def outliers(self) -> list[tuple[str, FleetGroup]]:
        """Return the groups, those of the fewest inputs first."""
        numbers = self.numbers

        def order(item: tuple[str, FleetGroup]) -> tuple[int, int, float, str]:
            text, group = item
            return group.inputs, group.count, numbers.get(text, 0.0), text

        return sorted(self.groups.items(), key=order)


def _magnitude(number: float) -> tuple[str, float]:
    """Return the range of the powers of two that a number is in, and where it begins."""
    if not math.isfinite(number) or not number:
        return f"{number:g}", number
    sign = "-" if number < 0 else ""
    exponent = math.frexp(abs(number))[1]
    return f"{sign}2^{exponent - 1} to {sign}2^{exponent}", math.copysign(2.0 ** (exponent - 1), number)


class Summary:
    """What many answers say together."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.inputs = 0
        self.answered = 0
        self.rows = 0
        self.bytes = 0
        self.failures: dict[str, FleetGroup] = {}
        self.failed_names: dict[str, str] = {}
        """Inputs without an answer, with the reason of each."""
        self.stacks: dict[str, FleetGroup] = {}
        self.variables: dict[str, FleetValues] = {}
        self.rules: dict[str, FleetGroup] = {}

    def add_outcomes(self, outcomes: Iterable[InputOutcome]) -> None:
        """Take what became of inputs."""
        for outcome in outcomes:
            self.inputs += 1
            self.rows += outcome.rows
            self.bytes += outcome.size
            if outcome.status == ANSWERED:
                self.answered += 1
            else:
                self.failed_names[outcome.name] = outcome.error

    def add_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows; those of an input follow each other."""
        for row in rows:
            name, state = row["input"], row["state"]
            if row["stack"] is not None:
                self.stacks.setdefault(row["stack"], FleetGroup()).add(name, row["waves"] or 1)
            if row["rule"] is not None:
                if state == "finding":
                    self.rules.setdefault(row["rule"], FleetGroup()).add(name, 1)
            elif row["variable"] is not None:
                lanes = row["lane_count"] or 1
                values = self.variables.setdefault(row["variable"], FleetValues())
                text = row["value"] if row["value"] is not None else f"<{row['error_kind'] or state}>"
                values.add(name, text, row["number"], lanes)
            elif state == "error":
                self.failures.setdefault(row["error_kind"] or "error", FleetGroup()).add(name, 1)

    def json(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {
            "question": self.question,
            "inputs": self.inputs,
            "answered": self.answered,
            "rows": self.rows,
            "bytes": self.bytes,
            "failures": {kind: group.json() for kind, group in self.failures.items()},
            "failed": self.failed_names,
            "stacks": [{"stack": text, **group.json()} for text, group in rarest(self.stacks)],
            "variables": {
                name: {"values": [{"value": text, **group.json()} for text, group in values.outliers()[:MOST_VALUES]]}
                for name, values in self.variables.items()
            },
            "rules": {rule: group.json() for rule, group in commonest(self.rules)},
        }


def rarest(groups: Mapping[str, FleetGroup]) -> list[tuple[str, FleetGroup]]:
    """Return groups, the smallest first."""
    return sorted(groups.items(), key=lambda item: (item[1].count, item[0]))


def commonest(groups: Mapping[str, FleetGroup]) -> list[tuple[str, FleetGroup]]:
    """Return groups, the largest first."""
    return sorted(groups.items(), key=lambda item: (-item[1].count, item[0]))


def summary_of(folder: AnswerFolder, question: str) -> Summary:
    """Return the summary of all parts of a folder; they are read one after the other."""
    summary = Summary(question)
    summary.add_outcomes(folder.outcomes())
    summary.add_rows(folder.rows(COLUMNS))
    return summary


def number_of(count: int, noun: str) -> str:
    """Return ``1 input``, ``4,000 inputs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def without_name(name: str, why: str) -> str:
    """Return a message without the name of the input that it begins with."""
    return why.removeprefix(f"{name}: ")


def bytes_text(count: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


# --- As text ----------------------------------------------------------------------------------------------------------


def summary_text(summary: Summary, width: int) -> Iterator[str]:
    """Yield the lines of a summary."""
    missing = summary.inputs - summary.answered
    yield (
        f"{summary.question}: {number_of(summary.inputs, 'input')}, {summary.answered:,} answered"
        + (f", {missing:,} not" if missing else "")
        + f"; {number_of(summary.rows, 'row')}"
    )
    if summary.stacks:
        yield ""
        yield f"waves by stack, {number_of(len(summary.stacks), 'stack')}, the rarest first"
        yield from _groups_text(rarest(summary.stacks), width)
    for name, values in summary.variables.items():
        yield ""
        yield f"{shown(name)}: {number_of(len(values.groups), 'value')}, those of the fewest inputs first"
        yield from _groups_text(values.outliers(), width)
    if summary.rules:
        yield ""
        yield "findings by rule"
        yield from _groups_text(commonest(summary.rules), width, keeps_first=True)
    if summary.failed_names:
        yield ""
        yield f"{number_of(missing, 'input')} without an answer"
        for index, (name, why) in enumerate(summary.failed_names.items()):
            if index == MOST_SHOWN:
                yield f"  and {missing - index:,} more"
                break
            yield f"  {shown(name)}: {shown(without_name(name, why))}"[: max(width, 40) * 2]


def _groups_text(groups: Sequence[tuple[str, FleetGroup]], width: int, *, keeps_first: bool = False) -> Iterator[str]:
    """Yield a line for each group: rare ones, and of many also the largest."""
    rest = groups
    if len(groups) > MOST_SHOWN:
        rest = [*groups[:MOST_SHOWN]] if keeps_first else [*groups[: MOST_SHOWN - 1], groups[-1]]
    left_out = len(groups) - len(rest)
    for index, (text, group) in enumerate(rest):
        if left_out and index == len(rest) - 1 and not keeps_first:
            yield f"  {'':>9}  {left_out:,} more"
        where = f"{group.inputs:,} inputs" if group.inputs > EXAMPLES else ", ".join(map(shown, group.examples))
        yield f"  {group.count:>9,}  {shown(text)[: max(width, 40)]}  ({where})"
    if left_out and keeps_first:
        yield f"  {'':>9}  {left_out:,} more"


# --- As a page --------------------------------------------------------------------------------------------------------

KIND = "Answers about many inputs, by dwarfgpu"
STACK_ROOM, VALUE_ROOM, RULE_ROOM, FAILURE_ROOM = 700_000, 1_300_000, 200_000, 500_000
MOST_ON_PAGE = 500
"""So many values of a variable are on the page."""
FIRST = 20
"""So many of them are shown at once."""
OPEN = 3
"""So many variables are shown without being opened."""


def page(summary: Summary) -> Iterator[str]:
    """Yield the summary as a page that needs nothing else."""
    missing = summary.inputs - summary.answered
    tiles = [
        html.Tile("Inputs", f"{summary.inputs:,}", bytes_text(summary.bytes)),
        html.Tile("Answered", f"{summary.answered:,}", f"{missing:,} not" if missing else "all"),
        html.Tile("Rows", f"{summary.rows:,}"),
    ]
    if summary.stacks:
        waves = sum(group.count for group in summary.stacks.values())
        tiles.append(html.Tile("Stacks", f"{len(summary.stacks):,}", f"of {number_of(waves, 'wave')}"))
    if summary.rules:
        findings = sum(group.count for group in summary.rules.values())
        tiles.append(html.Tile("Findings", f"{findings:,}", f"of {number_of(len(summary.rules), 'rule')}"))
    sections = [make(summary) for make in (_stack_section, _value_section, _rule_section, _failure_section)]
    shown_sections = [section for section in sections if section.parts or section.left_out]
    yield from html.page(summary.question, tiles, shown_sections, KIND)


def _stack_section(summary: Summary) -> html.PageSection:
    count = len(summary.stacks)
    section = html.PageSection("stacks", "Waves by stack, the rarest first", "stack", STACK_ROOM, count)
    section.how_to_see = "The column `stack` of the answers has all of them."
    all_waves = sum(group.count for group in summary.stacks.values())
    for stack, group in rarest(summary.stacks):
        frames = stack.split(" < ")
        parts = [html.listing(f"{index:>3}  {name}" for index, name in enumerate(frames)), _where(group)]
        facts = _facts(group, all_waves, "wave")
        section.add(html.fold(stack, parts, facts=facts, is_name=True, is_open=count <= OPEN))
    return section


def _value_section(summary: Summary) -> html.PageSection:
    section = html.PageSection("values", "Values", "variable", VALUE_ROOM, len(summary.variables))
    section.how_to_see = "The columns `variable` and `value` of the answers have all of them."
    for index, (name, values) in enumerate(summary.variables.items()):
        groups = values.outliers()
        facts = [html.text(number_of(len(groups), "value"))]
        section.add(html.fold(name, _values_html(groups), facts=facts, is_name=True, is_open=index < OPEN))
    return section


def _values_html(groups: Sequence[tuple[str, FleetGroup]]) -> Iterator[str]:
    """Yield tables of values; after the first ones they are shown when they are opened."""
    if len(groups) > 1:
        yield html.note("The values of the fewest inputs are first.")
    rows = []
    for text, group in groups[:MOST_ON_PAGE]:
        where = ", ".join(group.examples) + (", ..." if group.inputs > len(group.examples) else "")
        rows.append((text, where, f"{group.count:,}", f"{group.inputs:,}"))
    columns = "value", "where", "lanes", "inputs"
    yield html.grid(columns, rows[:FIRST], numbers_from=2)
    left_out = len(groups) - len(rows)
    if len(rows) > FIRST:
        parts = [html.grid(columns, rows[FIRST:], numbers_from=2)]
        parts += [html.note(f"summary.json has {left_out:,} more.")] if left_out else []
        yield html.fold(f"{number_of(len(groups) - FIRST, 'more value')}", parts)


def _rule_section(summary: Summary) -> html.PageSection:
    section = html.PageSection("rules", "Findings by rule", "rule", RULE_ROOM, len(summary.rules))
    all_findings = sum(group.count for group in summary.rules.values())
    for rule, group in commonest(summary.rules):
        section.add(html.fold(rule, [_where(group)], facts=_facts(group, all_findings, "finding"), is_name=True))
    return section


def _failure_section(summary: Summary) -> html.PageSection:
    count = len(summary.failed_names)
    section = html.PageSection("failures", "Inputs without an answer", "input", FAILURE_ROOM, count)
    section.how_to_see = "summary.json names all of them."
    for name, why in summary.failed_names.items():
        section.add(html.row(name, [html.text(without_name(name, why))]))
    return section


def _facts(group: FleetGroup, whole: int, noun: str) -> list[str]:
    """Return how many of all a group has, as a part that is drawn, and in how many inputs."""
    part = group.count / whole if whole else 0.0
    words = f"{number_of(group.count, noun)} in {number_of(group.inputs, 'input')}"
    return [html.share(part, f"{part:.1%}", words, is_drawn=True)]


def _where(group: FleetGroup) -> str:
    more = group.inputs - len(group.examples)
    return html.items([*group.examples, *([f"and {number_of(more, 'more input')}"] if more > 0 else [])])
