"""Sums over the variables of a function, a unit or a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from operator import attrgetter

from dwarfgpu.audits.coverage.availability import FileAvailability, VariableAvailability
from dwarfgpu.audits.coverage.code_scope import CodeScope
from dwarfgpu.audits.coverage.tally import CoverageSum, Tally
from dwarfgpu.audits.coverage.unit_walk import STATIC
from dwarfgpu.audits.noting import noted
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy


@immutable
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
        return noted(self.unit, lambda: self.unit.name or "(unnamed)", "(unreadable)")


@frozen
class FileCoverage:
    """The variables of a file."""

    name: str
    sum: CoverageSum
    units: tuple[UnitCoverage, ...]
    functions: tuple[CodeScope, ...]
    """Worst first: by the bytes that lack a location."""
    repairs: tuple[tuple[str, int], ...]
    """The repairs that tell what is meant, each with the number of variables."""
    scopes_without_code: int
    """How many functions and inlined calls have no code; their variables have no scope."""
    problems: tuple[DwarfGpuError, ...]


def file_coverage(file: CodeObject, dialect: str | None = None, repair: Policy = AUTO) -> FileCoverage:
    """Return the sums over a file."""
    units: defaultdict[Unit, Tally] = defaultdict(Tally)
    available = FileAvailability(file, dialect, repair)
    repairs: Counter[str] = Counter()
    for record in available:
        tally = units[record.unit] if record.scope is None else record.scope.function.tally
        tally.add(record)
        repairs.update(record.repairs)
    functions = [function for function in available.functions if function.tally]
    for function in functions:
        units[function.unit].merge(function.tally)
    whole = Tally()
    for tally in units.values():
        whole.merge(tally)
    in_order = [UnitCoverage(unit, units[unit]) for unit in sorted(units, key=attrgetter("offset"))]
    return FileCoverage(
        file.name,
        whole.sum(),
        tuple(sorted(in_order, key=_missing, reverse=True)),
        tuple(sorted(functions, key=_missing, reverse=True)),
        tuple(sorted(repairs.items())),
        available.scopes_without_code,
        tuple(file.dwarf.problems),
    )


def _missing(part: UnitCoverage | CodeScope) -> int:
    """Return how many bytes of a unit or a function lack a location."""
    return part.tally.missing()


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
