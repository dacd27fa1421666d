"""Look-up of functions, variables and types by name and by address.

What a producer has written for it is used: ``.debug_names`` and ``.debug_aranges``, for the units they cover. For all
others nothing is prepared: a name is searched for in the bytes of the sections, an address in the ranges of the units,
and only the units a question needs are read. A unit that is asked again and again gets an index of its own. Whoever is
going to ask much calls `build` first.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.entries import KIND_OF, KINDS, Entry, kind_of
from dwarfgpu.objfile.name_search import LookAtAll, NameSearch, Needle, entries_at
from dwarfgpu.objfile.scopes import ANONYMOUS, in_scopes, scopes_of, split_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dwarfgpu.objfile.address_index import AddressIndex
    from dwarfgpu.objfile.dies import Die
    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.entries import Kind
    from dwarfgpu.objfile.name_index import NameIndex
    from dwarfgpu.objfile.names import NameEntry, NameTable
    from dwarfgpu.objfile.units import Unit

SEARCHES = 4
"""A unit that has been searched more often than this gets an index."""


class Index:
    """The index of one file and of the split units that belong to it."""

    def __init__(self, dwarf: Dwarf) -> None:
        self.dwarf = dwarf
        self._units: tuple[Unit, ...] | None = None
        self._groups: list[NameSearch] | None = None
        self._tables: list[NameTable] | None = None
        self._covered: set[Unit] = set()
        self._names: dict[Unit, NameIndex] = {}
        self._addresses: dict[Unit, AddressIndex] = {}
        self._searched: dict[Unit, int] = {}
        self._spans: list[tuple[int, int, Unit]] | None = None

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units it is about: split units instead of their skeletons, as far as they can be found."""
        if self._units is None:
            self._units = tuple(self.dwarf.compile_units())
        return self._units

    def build(self) -> None:
        """Make the index of every unit."""
        for unit in self.units:
            try:
                self.names_of(unit)
                self.addresses_of(unit)
            except DwarfGpuError as error:
                self.dwarf.note(error)

    def names_of(self, unit: Unit) -> NameIndex:
        """The index of the names in a unit."""
        found = self._names.get(unit)
        if found is None:
            from dwarfgpu.objfile.name_index import NameIndex

            found = self._names[unit] = NameIndex(unit)
        return found

    def addresses_of(self, unit: Unit) -> AddressIndex:
        """The index of the functions in a unit by address."""
        found = self._addresses.get(unit)
        if found is None:
            from dwarfgpu.objfile.address_index import AddressIndex

            found = self._addresses[unit] = AddressIndex(unit)
        return found

    # --- By name ----------------------------------------------------------------------------------------------------

    def find(self, name: str, kinds: Collection[Kind] = KINDS) -> list[Entry]:
        """All that a name can mean: ``f``, ``ns::f``, ``::f`` for the outermost scope alone, or a linkage name.

        They are in the order of the units. Of a function that has code, the abstract instance of its inlined calls is
        left out.
        """
        *scopes, last = split_name(name)
        wanted = last.encode("utf-8", "surrogateescape")
        found: dict[Die, Entry] = {}
        for die in self._named(wanted):
            try:
                kind = kind_of(die)
                if kind in kinds and kind is not None and in_scopes(tuple(scopes), scopes_of(die) if scopes else []):
                    found[die] = Entry(kind, die)
            except DwarfGpuError as error:
                self.dwarf.note(error)
        return _without_abstract(list(found.values()))

    def _named(self, name: bytes) -> Iterator[Die]:
        """The entries that may have a name."""
        tables = self.tables
        in_tables = list(self._in_tables(tables, name)) if tables else []
        yield from in_tables
        needles: dict[int, Needle] = {}
        for group in self._search_groups():
            source = group.source
            needle = needles.setdefault(id(source), Needle(source, name))
            pending = []
            for unit in group.units:
                if in_tables and unit in self._covered:
                    continue
                if unit in self._names:
                    yield from self._indexed(unit, needle)
                else:
                    pending.append(unit)
            if pending:
                yield from self._searched_for(group, pending, needle)

    def _search_groups(self) -> list[NameSearch]:
        """The units by the section they are in."""
        if self._groups is None:
            groups: dict[tuple[int, str], list[Unit]] = {}
            for unit in self.units:
                groups.setdefault((id(unit.dwarf), unit.section), []).append(unit)
            self._groups = [NameSearch(sorted(units, key=lambda unit: unit.offset)) for units in groups.values()]
        return self._groups

    def _searched_for(self, group: NameSearch, pending: list[Unit], needle: Needle) -> Iterator[Die]:
        wanted = set(pending)
        try:
            candidates = list(group.candidates(needle, wanted))
        except DwarfGpuError as error:
            self.dwarf.note(error)
            candidates = [(unit, None) for unit in pending]
        for unit, places in candidates:
            times = self._searched[unit] = self._searched.get(unit, 0) + 1
            try:
                if places is not None and times <= SEARCHES:
                    try:
                        yield from entries_at(unit, places, needle)
                        continue
                    except LookAtAll:
                        pass
                self.names_of(unit)
                yield from self._indexed(unit, needle)
            except DwarfGpuError as error:
                self.dwarf.note(error)

    def _indexed(self, unit: Unit, needle: Needle) -> Iterator[Die]:
        names = self._names[unit].names
        for key in needle.keys(unit):
            for offset in names.get(key, ()):
                yield unit.die_at(offset)
