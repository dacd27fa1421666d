"""All answers at a glance: waves by stack, values of variables over the inputs, findings by rule, what failed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.fleet.answers import ANSWERED
from dwarfgpu.immutable import define, field
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
    examples: list[str] = field(factory=list)
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
            yield f"  {shown(name)}: {shown(why.removeprefix(f'{name}: '))}"[: max(width, 40) * 2]


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
