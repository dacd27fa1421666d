"""Two builds of a program compared: what can be seen better in the second one, and what worse."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dwarfgpu.audits.coverage.availability import FileAvailability, VariableAvailability
from dwarfgpu.audits.coverage.tally import CoverageSum, Tally
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy


@frozen
class VariableKey:
    """What tells that variables of two builds are the same."""

    calls: tuple[str, ...]
    """The function that has the code, and the calls that are inlined; empty outside of functions."""
    name: str
    type: str
    line: int | None


@frozen
class VariableChange:
    """A variable in two builds. Copies with the same key, such as those of two calls on a line, are added up."""

    key: VariableKey
    before: CoverageSum | None
    """What it was; None for one that is new."""
    after: CoverageSum | None
    """What it is; None for one that is gone."""

    @property
    def change(self) -> float | None:
        """By how much the share with a location has grown; None where one of them has no share."""
        before, after = (None if each is None else share_of(each) for each in (self.before, self.after))
        return None if before is None or after is None else after - before


def share_of(total: CoverageSum) -> float | None:
    """Return the share of a variable with a location; outside of functions that is all or nothing."""
    if total.size:
        return total.share
    return total.statics_located / total.statics if total.statics else None


@frozen
class BuildComparison:
    """What has changed from one build to another."""

    names: tuple[str, str]
    sums: tuple[CoverageSum, CoverageSum]
    """The sums over all variables."""
    functions: tuple[VariableChange, ...]
    """The functions, without the calls inlined in them, that have changed: worst first. Their name is empty."""
    worse: tuple[VariableChange, ...]
    """Worst first."""
    better: tuple[VariableChange, ...]
    """Best first."""
    gone: tuple[VariableChange, ...]
    new: tuple[VariableChange, ...]
    same: int
    """How many variables have the same share in both."""


def compare_builds(
    before: CodeObject,
    after: CodeObject,
    dialect: str | None = None,
    repair: Policy = AUTO,
    *,
    wanted: Callable[[], Callable[[VariableAvailability], bool]] | None = None,
) -> BuildComparison:
    """Compare the variables of two files, or those that are wanted."""
    first, second = (
        _Tallies(FileAvailability(file, dialect, repair), None if wanted is None else wanted())
        for file in (before, after)
    )
    changes = _changes(first.variables, second.variables)
    functions = _changes(first.functions, second.functions)

    def growth(change: VariableChange) -> float:
        return change.change or 0.0

    changed = [change for change in changes if change.change]
    return BuildComparison(
        (before.name, after.name),
        (first.whole.sum(), second.whole.sum()),
        tuple(sorted((each for each in functions if each.change), key=growth)),
        tuple(each for each in sorted(changed, key=growth) if growth(each) < 0),
        tuple(each for each in sorted(changed, key=growth, reverse=True) if growth(each) > 0),
        tuple(each for each in changes if each.after is None),
        tuple(each for each in changes if each.before is None),
        sum(1 for each in changes if each.before is not None and each.after is not None and not each.change),
    )


class _Tallies:
    """The variables of a file by their keys."""

    def __init__(
        self, records: Iterable[VariableAvailability], wanted: Callable[[VariableAvailability], bool] | None
    ) -> None:
        self.whole = Tally()
        self.variables: dict[VariableKey, Tally] = {}
        self.functions: dict[VariableKey, Tally] = {}
        for record in records:
            if wanted is not None and not wanted(record):
                continue
            calls = record.calls
            key = VariableKey(calls, record.name, record.type_name, record.line)
            for tally in (
                self.whole,
                self.variables.setdefault(key, Tally()),
                self.functions.setdefault(VariableKey(calls[:1], "", "", None), Tally()),
            ):
                tally.add(record)


def _changes(before: dict[VariableKey, Tally], after: dict[VariableKey, Tally]) -> list[VariableChange]:
    keys = dict.fromkeys((*before, *after))
    return [
        VariableChange(key, before[key].sum() if key in before else None, after[key].sum() if key in after else None)
        for key in keys
    ]
