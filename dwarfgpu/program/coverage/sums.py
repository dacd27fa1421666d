"""Sums over the variables of a function, a unit or a file."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.repairs import AUTO
from dwarfgpu.program.coverage.availability import (
    REASONS,
    FileAvailability,
    VariableAvailability,
    by_kind,
    count_bytes,
)
from dwarfgpu.program.coverage.kinds import KINDS, Meaning
from dwarfgpu.program.coverage.unit_walk import STATIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.repairs import Policy
    from dwarfgpu.program.coverage.availability import Bytes, Counts
    from dwarfgpu.program.coverage.code_scope import CodeScope
    from dwarfgpu.program.coverage.unit_walk import Said

    Key = TypeVar("Key", "Unit", "CodeScope")


@frozen
class CoverageSum:
    """How much of the scopes of some variables has a location. Bytes are those of code, once for each variable."""

    variables: int = 0
    """How many variables have a scope: parameters, local variables and constants."""
    whole: int = 0
    """How many of them have a location everywhere in it."""
    nowhere: int = 0
    """How many have none."""
    size: int = 0
    """The bytes of all scopes."""
    located: int = 0
    """The bytes with a location, as the file has it."""
    located_repaired: int = 0
    """The bytes with a location, with the repairs."""
    written: tuple[tuple[str, int], ...] = ()
    """The bytes of each kind, as the file has it."""
    repaired: tuple[tuple[str, int], ...] = ()
    """The bytes of each kind, with the repairs."""
    missing: tuple[tuple[str, int], ...] = ()
    """The bytes without a location, by reason."""
    statics: int = 0
    """How many variables are outside of functions."""
    statics_located: int = 0
    """How many of them have a location."""

    @property
    def share(self) -> float | None:
        """The part of the bytes with a location; None without any."""
        return self.located / self.size if self.size else None

    @property
    def share_repaired(self) -> float | None:
        """The same with the repairs."""
        return self.located_repaired / self.size if self.size else None


class Tally:
    """A sum that is being made."""

    __slots__ = ("nowhere", "said", "statics", "statics_located", "variables", "whole")

    def __init__(self) -> None:
        self.variables = self.whole = self.nowhere = self.statics = self.statics_located = 0
        self.said: Bytes = {}

    def add(self, record: VariableAvailability) -> None:
        """Add a variable."""
        if record.scope is None:
            self.add_static(is_located=bool(record.written))
            return
        self.variables += 1
        self.whole += bool(record.written and not record.missing)
        self.nowhere += not record.written
        self._add_bytes(record.said)

    def add_list(self, scope: CodeScope, said: Said, start: int | None) -> None:
        """Add a variable of a scope of which nothing else is known."""
        is_located, is_missing = count_bytes(scope, said, start, self.said)
        self.variables += 1
        if not is_located:
            self.nowhere += 1
        elif not is_missing:
            self.whole += 1

    def add_everywhere(self, said: Meaning | str, variables: int, size: int) -> None:
        """Add variables of which the same is said everywhere in their scopes, which have so many bytes."""
        self.variables += variables
        if isinstance(said, str) or not said.is_located:
            self.nowhere += variables
        else:
            self.whole += variables
        self.said[said] = self.said.get(said, 0) + size

    def add_static(self, *, is_located: bool) -> None:
        """Add a variable outside of functions."""
        self.statics += 1
        self.statics_located += is_located

    def merge(self, other: Tally) -> None:
        """Add what another tally has."""
        self.variables += other.variables
        self.whole += other.whole
        self.nowhere += other.nowhere
        self.statics += other.statics
        self.statics_located += other.statics_located
        self._add_bytes(other.said.items())

    def _add_bytes(self, said: Iterable[tuple[Meaning | str, int]]) -> None:
        sums = self.said
        for key, count in said:
            sums[key] = sums.get(key, 0) + count

    @property
    def missing(self) -> int:
        """How many bytes have no location, as the file has it."""
        missing = 0
        for said, count in self.said.items():
            if isinstance(said, str) or not said.is_located:
                missing += count
        return missing

    def sum(self) -> CoverageSum:
        """Return the sum as it is now."""
        written, repaired, missing = by_kind(self.said.items())
        located = sum([count for _kind, count in written])
        return CoverageSum(
            self.variables,
            self.whole,
            self.nowhere,
            located + sum([count for _reason, count in missing]),
            located,
            sum([count for _kind, count in repaired]),
            _ordered(written, KINDS),
            _ordered(repaired, KINDS),
            _ordered(missing, tuple(REASONS)),
            self.statics,
            self.statics_located,
        )


def _ordered(counts: Counts, names: tuple[str, ...]) -> Counts:
    """Return counts in the order of the names; of several memories by their spaces."""

    def place(item: tuple[str, int]) -> tuple[int, str]:
        first = item[0] if item[0] in names else item[0].partition(" ")[0]
        return (names.index(first) if first in names else len(names)), item[0]

    return tuple(sorted(((name, count) for name, count in counts if count), key=place))


@frozen
class FunctionCoverage:
    """The variables of a function that has code, with those of the calls that are inlined in it."""

    scope: CodeScope
    tally: Tally

    @property
    def sum(self) -> CoverageSum:
        """The sum over them."""
        return self.tally.sum()

    @property
    def name(self) -> str:
        return self.scope.name


@frozen
class UnitCoverage:
    """The variables of a unit."""

    unit: Unit
    tally: Tally

    @property
    def sum(self) -> CoverageSum:
        """The sum over them."""
        return self.tally.sum()

    @property
    def name(self) -> str:
        try:
            return self.unit.name or "(unnamed)"
        except DwarfGpuError as error:
            self.unit.dwarf.note(error)
            return "(unreadable)"


@frozen
class FileCoverage:
    """The variables of a file."""

    name: str
    sum: CoverageSum
    units: tuple[UnitCoverage, ...]
    functions: tuple[FunctionCoverage, ...]
    """Worst first: by the bytes that lack a location."""
    repairs: tuple[tuple[str, int], ...]
    """The repairs that tell what is meant, each with the number of variables."""
    scopes_without_code: int
    """How many functions and inlined calls have no code; their variables have no scope."""
    problems: tuple[DwarfGpuError, ...]


def file_coverage(
    file: CodeObject,
    dialect: str | None = None,
    repair: Policy = AUTO,
    *,
    wanted: Callable[[VariableAvailability], bool] | None = None,
) -> FileCoverage:
    """Return the sums over a file: over all variables, or those that are wanted."""
    units: dict[Unit, Tally] = {}
    functions: dict[CodeScope, Tally] = {}
    repaired_as: dict[tuple[str, ...], int] = {}
    available = FileAvailability(file, dialect, repair)
    if wanted is None:
        _add_all(available, units, functions, repaired_as)
    else:
        for record in available:
            if wanted(record):
                scope = record.scope
                (_tally(units, record.unit) if scope is None else _tally(functions, scope.function)).add(record)
                if record.repairs:
                    repaired_as[record.repairs] = repaired_as.get(record.repairs, 0) + 1
    repairs: dict[str, int] = {}
    for names, count in repaired_as.items():
        for name in names:
            repairs[name] = repairs.get(name, 0) + count
    whole = Tally()
    for scope, tally in functions.items():
        _tally(units, scope.unit).merge(tally)
    for tally in units.values():
        whole.merge(tally)
    rows = [FunctionCoverage(scope, tally) for scope, tally in functions.items()]
    return FileCoverage(
        file.name,
        whole.sum(),
        tuple(sorted((UnitCoverage(unit, tally) for unit, tally in units.items()), key=_worst)),
        tuple(sorted(rows, key=_worst)),
        tuple(sorted(repairs.items())),
        available.scopes_without_code,
        tuple(file.dwarf.problems),
    )


def _add_all(
    available: FileAvailability,
    units: dict[Unit, Tally],
    functions: dict[CodeScope, Tally],
    repaired_as: dict[tuple[str, ...], int],
) -> None:
    """Add all variables to the sums, and count the sets of repairs that tell what they mean."""
    for row in available.rows(are_alike_counted=True):
        unit, _offset, _kind, scope, said, start = row
        names = _repairs(said)
        if names:
            repaired_as[names] = repaired_as.get(names, 0) + 1
        if scope is None:
            is_located = bool(VariableAvailability.of_row(row).written)
            _tally(units, unit).add_static(is_located=is_located)
        else:
            _tally(functions, scope.function).add_list(scope, said, start)
    for function in available.functions:
        if function.alike:
            tally = _tally(functions, function)
            for said, (count, size) in function.alike.items():
                tally.add_everywhere(said, count, size)
                names = _repairs(said)
                if names:
                    repaired_as[names] = repaired_as.get(names, 0) + count


def _repairs(said: Said) -> tuple[str, ...]:
    """Return the repairs that tell what is said of a variable."""
    if isinstance(said, list):
        repaired = [meaning.repairs for _low, _high, meaning in said if meaning.repairs]
        if not repaired or repaired.count(repaired[0]) == len(repaired):
            return repaired[0] if repaired else ()
        return tuple(dict.fromkeys(chain(*repaired)))
    return () if isinstance(said, str) else said.repairs


def _tally(tallies: dict[Key, Tally], key: Key) -> Tally:
    """Return the sum of a unit or a function."""
    tally = tallies.get(key)
    if tally is None:
        tally = tallies[key] = Tally()
    return tally


def _worst(part: UnitCoverage | FunctionCoverage) -> tuple[int, int, int]:
    missing = part.tally.missing
    unit = part.unit if isinstance(part, UnitCoverage) else part.scope.unit
    return -missing, unit.offset, 0 if isinstance(part, UnitCoverage) else part.scope.offset


def selector(function: str | None, variable: str | None) -> Callable[[VariableAvailability], bool]:
    """Return what tells whether a variable is of a function, or of a call of it that is inlined, and has a name."""
    known: dict[CodeScope, bool] = {}

    def in_function(scope: CodeScope | None) -> bool:
        if scope is None:
            return False
        if scope not in known:
            known[scope] = any(names(call) for call in scope.calls())
        return known[scope]

    def names(call: CodeScope) -> bool:
        name = call.name
        return name == function or name.endswith(f"::{function}") or call.linkage_name == function

    def wanted(record: VariableAvailability) -> bool:
        return (function is None or in_function(record.scope)) and (
            variable is None
            or record.name == variable
            or (record.kind == STATIC and record.name.endswith(f"::{variable}"))
        )

    return wanted
