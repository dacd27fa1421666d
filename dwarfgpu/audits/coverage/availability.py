"""Where the variables of a file can be seen: a record of each, made in one walk over the entries.

The scope of a variable is the code of the innermost function or block around it; one without code of its own belongs to
what is around it. Each byte of the scope has a location of some kind, or a reason why it has none. What `extern` only
declares is left out, and a variable outside of functions has no scope, but may have a location.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.kinds import NO_LOCATION, LocationKinds, Meaning
from dwarfgpu.audits.coverage.tally import ELSEWHERE, by_kind, bytes_of, entries_of, repair_names, stretches, together
from dwarfgpu.audits.coverage.unit_walk import FileWalk, FunctionCopy, Row, UnitWalk
from dwarfgpu.audits.noting import noted
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import field, frozen, immutable
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code.code_object import AUTO, CodeObject, Policy
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.code_scope import CodeScope
    from dwarfgpu.audits.coverage.tally import Counts, Entries, Location
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit

FREE = 1 << 20
"""So much is read of lists whatever the size of the file; then no more than the sections have bytes."""


@frozen
class CoveredSpan:
    """Addresses of a scope at which a variable has the same kind of location."""

    low: int
    high: int
    written: str | None
    """The kind as the file has it; None where there is no location."""
    repaired: str | None
    """The kind with the repairs."""
    reason: str | None
    """Why there is no location, as the file has it."""


@immutable
class VariableAvailability:
    """Where one variable can be seen."""

    unit: Unit
    offset: int
    """The offset of its entry in the unit; of the entry in the abstract instance where a copy has none."""
    kind: str
    """``parameter``, ``local``, ``constant``, or ``static`` outside of functions."""
    scope: CodeScope | None
    """Where it is declared; None outside of functions."""
    location: Location = field(repr=False)
    start: int | None = None
    """Where its scope begins, if that is later than the block that it is in (DW_AT_start_scope)."""
    counts: Mapping[Meaning | str, int] = field(init=False)
    """The bytes of the scope by the location there, or by the reason why it is missing."""

    @counts.default
    def _counts(self) -> Mapping[Meaning | str, int]:
        if self.scope is not None:
            return bytes_of(self.scope, self.location, self.start)
        return {together(tuple([meaning for _low, _high, meaning in self.entries])): 0} if self.entries else {}

    @property
    def entries(self) -> Entries:
        """The entries of its location list; a location without a list is a default entry."""
        return entries_of(self.location)

    @property
    def reason(self) -> str | None:
        """Why there is no location where no entry holds, if that is the same everywhere."""
        if isinstance(self.location, str):
            return self.location
        (key,) = self.counts if len(self.counts) == 1 else (None,)
        if self.scope is None and isinstance(key, Meaning) and not key.is_located:
            return key.written
        return ELSEWHERE if key == ELSEWHERE else None

    @property
    def written(self) -> Counts:
        """How many bytes of the scope have a location of which kind, as the file has it."""
        return by_kind(self.counts.items())[0]

    @property
    def repaired(self) -> Counts:
        """The same with the repairs."""
        return by_kind(self.counts.items())[1]

    @property
    def missing(self) -> Counts:
        """How many bytes have none for which reason."""
        return () if self.scope is None else by_kind(self.counts.items())[2]

    @property
    def size(self) -> int:
        """How many bytes of code its scope has."""
        return sum(self.counts.values())

    @property
    def located(self) -> int:
        """How many of them have a location, as the file has it."""
        return sum(
            [count for location, count in self.counts.items() if isinstance(location, Meaning) and location.is_located]
        )

    @property
    def repairs(self) -> tuple[str, ...]:
        """The repairs that tell what the file means."""
        return repair_names([meaning for _low, _high, meaning in self.entries])

    # --- What it is called ----------------------------------------------------------------------------------------

    @property
    def die(self) -> Die:
        return self.unit.die_known_at(self.offset)

    @property
    def name(self) -> str:
        """The name; with its scopes outside of functions."""

        def read() -> str:
            return (qualified_name(self.die) if self.scope is None else self.die.name) or "(unnamed)"

        return noted(self.unit, read, "(unreadable)")

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions it is in: the one that has the code, then the calls that are inlined."""
        if self.scope is None:
            return ()
        return tuple(scope.name for scope in self.scope.calls())[::-1]

    @property
    def line(self) -> int | None:
        """The line of its declaration."""

        def read() -> int | None:
            line = self.die.find_number(dw.DW_AT_decl_line)
            return None if line is None else line.unsigned()

        return noted(self.unit, read, None)

    @property
    def type_name(self) -> str:
        from dwarfgpu.program.types.declaration import type_name

        return noted(self.unit, lambda: type_name(self.die.type()), "(unreadable)")

    # --- Where it is ----------------------------------------------------------------------------------------------

    def spans(self) -> Iterator[CoveredSpan]:
        """Yield its scope in parts that differ in the kind of location, by address."""
        if self.scope is None:
            return
        for low, high, location in stretches(self.scope, self.entries, self.reason, self.start):
            if isinstance(location, str):
                yield CoveredSpan(low, high, None, None, location)
                continue
            written = location.written if location.is_located else None
            repaired = None if location.repaired in NO_LOCATION else location.repaired
            yield CoveredSpan(low, high, written, repaired, None if location.is_located else location.written)


class FileAvailability:
    """The variables of a file. Iterating yields the records of all units, each when it is known.

    ``dialect`` replaces the dialect of the target, and ``repair`` says which repairs tell what expressions mean. What
    cannot be read is among the problems of ``file.dwarf``, and hides nothing else.
    """

    def __init__(self, file: CodeObject, dialect: str | None = None, repair: Policy = AUTO) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.scopes_without_code = 0
        """How many functions and inlined calls have no code, so that their variables have no scope."""
        self.functions: list[CodeScope] = []
        """The functions of the units that have been read."""
        sections = (".debug_info", ".debug_types", ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges")
        size = sum(len(self.dwarf.source.view(name)) for name in sections)
        self.walk = FileWalk(LocationKinds(file, dialect, repair), FREE + size)

    def __iter__(self) -> Iterator[VariableAvailability]:
        return starmap(VariableAvailability, self._rows())

    def _rows(self) -> Iterator[Row]:
        """Yield the variables as the walk finds them."""
        waiting: list[FunctionCopy] = []
        for unit in counted(tuple(self.dwarf.compile_units()), "units"):
            if unit.header.is_type_unit:
                continue
            walk = UnitWalk(unit, self.walk)
            copies: Iterable[FunctionCopy] = walk.copies
            try:
                yield from walk.rows()
            except DwarfGpuError as error:
                self.dwarf.note(error)
                copies = [copy for copy in walk.copies if copy.is_ended]
            yield from self._left_out(copies, waiting)
            self.functions += walk.functions
            self.scopes_without_code += walk.scopes_without_code
            unit.release()
        yield from self._left_out(waiting, [])

    def _left_out(self, copies: Iterable[FunctionCopy], unknown: list[FunctionCopy]) -> Iterator[Row]:
        """Yield the variables that copies leave out; add to ``unknown`` those of unknown abstract instances."""
        try:
            for copy in copies:
                variables = copy.abstract(self.walk)
                if variables is None:
                    unknown.append(copy)
                else:
                    yield from copy.rows(variables)
        except DwarfGpuError as error:
            self.dwarf.note(error)
