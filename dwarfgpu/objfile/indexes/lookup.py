"""The debugging information of a file, and look-up of functions, variables and types by name and by address.

A name is looked up in ``.debug_names`` for the units that it covers, and else in the bytes of the sections; an address
in the ranges of the units. Only the units that a question needs are read, and a unit that is asked again and again gets
an index of its own. Before many questions, call `build`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_AT_abstract_origin, DW_AT_inline, DW_TAG_inlined_subroutine
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.indexes.name_index import KIND_OF, KINDS, IndexEntry, NameIndex, is_named, kind_of
from dwarfgpu.objfile.info.debug_file import DebugFile
from dwarfgpu.objfile.info.forms import REF_UNIT
from dwarfgpu.objfile.info.scopes import ANONYMOUS, Budget, Ranges, covers, in_scopes, scopes_of, split_name
from dwarfgpu.objfile.section_source import decode
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.address_index import VariableIndex
    from dwarfgpu.objfile.indexes.debug_names import NameEntry, NameTable
    from dwarfgpu.objfile.indexes.name_index import Kind
    from dwarfgpu.objfile.indexes.name_search import NameSearch, Needle
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit


LONGEST = 1000
"""Names with more bytes are not listed."""
SEARCHES = 4
"""A unit that has been searched more often than this gets an index."""
KEPT_NAMES = 1024
"""How many names have their results kept: a debugger asks for the same ones again and again."""


class Dwarf(DebugFile):
    """All units of one file, with their index."""

    _index: Index | None = None

    @property
    def index(self) -> Index:
        """Look-up by name and by address."""
        if self._index is None:
            self._index = Index(self)
        return self._index

    def drop_caches(self) -> None:
        self._index = None
        super().drop_caches()


def index_of(unit: Unit) -> Index:
    """Return the index of the file that a unit is in."""
    file: Any = unit.dwarf
    return file.index  # type: ignore[no-any-return]


class Index:
    """The index of one file and of the split units that belong to it."""

    def __init__(self, dwarf: DebugFile) -> None:
        self.dwarf = dwarf
        self._covered: set[Unit] = set()
        self._names: dict[Unit, NameIndex] = {}
        self._addresses: dict[Unit, Ranges] = {}
        self._searched: dict[Unit, int] = {}
        self._results: dict[tuple[str, tuple[Kind, ...]], list[IndexEntry]] = {}
        self.spans_of = cache(self._read_spans)
        self.copies_in = cache(self._read_copies)
        self._variables_of = cache(self._read_variables)
        self._spanned = 0

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units it is about: split units instead of their skeletons, as far as they can be found."""
        return tuple(self.dwarf.compile_units())

    def build(self) -> None:
        """Make the index of every unit."""
        for unit in counted(self.units, "units", len(self.units)):
            with self.dwarf.noting:
                self.names_of(unit)
                self.addresses_of(unit)

    def names_of(self, unit: Unit) -> NameIndex:
        """Return the index of the names in a unit."""
        names = self._names.get(unit)
        if names is None:
            names = self._names[unit] = NameIndex(unit)
        return names

    def addresses_of(self, unit: Unit) -> Ranges:
        """Return the ranges of the functions in a unit, each with the offset of the function."""
        addresses = self._addresses.get(unit)
        if addresses is None:
            from dwarfgpu.objfile.indexes.address_index import functions_of

            addresses = self._addresses[unit] = functions_of(unit)
        return addresses

    def find(self, name: str, kinds: Collection[Kind] = KINDS) -> list[IndexEntry]:
        """Return all that a name can mean: ``f``, ``ns::f``, ``::f`` for the outermost scope alone, or a linkage name.

        The abstract instance of a function (DWARF 5, 3.3.8.1) is only among them where the function has no code of its
        own in that unit.
        """
        key = name, tuple(kinds)
        known = self._results.get(key)
        if known is None:
            if len(self._results) >= KEPT_NAMES:
                self._results.clear()
            known = self._results[key] = self._find(name, kinds)
        return list(known)

    def _find(self, name: str, kinds: Collection[Kind]) -> list[IndexEntry]:
        *scopes, last = split_name(name)
        entries: dict[Die, IndexEntry] = {}
        concrete: set[tuple[Unit, int]] = set()  # abstract instances of functions that have code of their own
        for die, kind in self._named(last.encode("utf-8", "surrogateescape")):
            with self.dwarf.noting:
                if kind in kinds and (not scopes or in_scopes(tuple(scopes), scopes_of(die))):
                    entries[die] = IndexEntry(kind, die)
                    origin = die.number(DW_AT_abstract_origin) if kind == "function" else None
                    if origin is not None and origin.form in REF_UNIT:
                        concrete.add((origin.die.unit, origin.value))
                    elif origin is not None:
                        other = origin.reference()
                        concrete.add((other.unit, other.offset))
        return [
            entry
            for die, entry in entries.items()
            if (die.unit, die.offset) not in concrete or DW_AT_inline not in die.abbreviation.attributes
        ]

    def _named(self, name: bytes) -> Iterator[tuple[Die, Kind]]:
        from dwarfgpu.objfile.indexes.name_search import Needle

        listed = list(self._in_tables(name))
        yield from listed
        needles: dict[int, Needle] = {}
        for group in self._search_groups:
            needle = needles.setdefault(id(group.source), Needle(group.source, name))
            units = [unit for unit in group.units if not (listed and unit in self._covered)]
            yield from self._searched_for(group, units, needle)

    def entries_with(self, names: Iterable[bytes]) -> Iterator[tuple[Unit, list[Die] | None]]:
        """Yield the units that may have an entry of any kind with one of some names, and the entries that may have it.

        It is None for these where reading all entries of the unit is the only way, or quicker.
        """
        from dwarfgpu.objfile.indexes.name_search import LookAtAll, Needle, entries_at

        for group in self._search_groups:
            dies: dict[Unit, list[Die] | None] = {}
            for name in names:
                needle = Needle(group.source, name, None)
                try:
                    candidates = list(group.candidates(needle, group.units))
                except DwarfGpuError as error:
                    self.dwarf.note(error)
                    candidates = [(unit, None) for unit in group.units]
                for unit, places in candidates:
                    try:
                        known = dies.setdefault(unit, [])
                        if places is None:
                            dies[unit] = None
                        elif known is not None:
                            known += entries_at(unit, places, needle)
                    except (LookAtAll, DwarfGpuError):  # reading the entries tells what is wrong
                        dies[unit] = None
            yield from dies.items()

    @cached_property
    def _search_groups(self) -> list[NameSearch]:
        from dwarfgpu.objfile.indexes.name_search import NameSearch

        groups: dict[tuple[int, str], list[Unit]] = {}
        for unit in self.units:
            groups.setdefault((id(unit.dwarf), unit.section), []).append(unit)
        return [NameSearch(sorted(units, key=lambda unit: unit.offset)) for units in groups.values()]

    def _searched_for(self, group: NameSearch, units: list[Unit], needle: Needle) -> Iterator[tuple[Die, Kind]]:
        from dwarfgpu.objfile.indexes.name_search import LookAtAll, entries_at

        indexed = units if needle.name == ANONYMOUS.encode() else [unit for unit in units if unit in self._names]
        found: dict[Unit, list[int] | None] = dict.fromkeys(indexed)
        searched = [unit for unit in units if unit not in found]
        try:
            found.update(group.candidates(needle, searched) if searched else {})
        except DwarfGpuError as error:
            self.dwarf.note(error)
        candidates = [(unit, found[unit]) for unit in units if unit in found]
        for unit, places in counted(candidates, "units", len(candidates)):
            times = self._searched[unit] = self._searched.get(unit, 0) + 1
            if places is not None and times <= SEARCHES:
                try:
                    yield from self._entries(entries_at(unit, places, needle), needle.name)
                    continue
                except LookAtAll:
                    pass
                except DwarfGpuError as error:
                    self.dwarf.note(error)
                    continue
            yield from self._indexed(unit, needle)

    def _indexed(self, unit: Unit, needle: Needle) -> Iterator[tuple[Die, Kind]]:
        with self.dwarf.noting:
            names = self.names_of(unit).names
            keys = list(needle.keys(unit))
            offsets = {offset for key in keys for offset in names.get(key, ())}
            yield from self._entries([unit.die_known_at(offset) for offset in sorted(offsets)], needle.name)

    def _entries(self, dies: Iterable[Die], name: bytes) -> Iterator[tuple[Die, Kind]]:
        for die in dies:
            with self.dwarf.noting:
                kind = kind_of(die)
                if kind is not None and is_named(die, name):
                    yield die, kind

    def names(self, prefix: str = "", kinds: Collection[Kind] = KINDS) -> list[str]:
        """Return all names with a prefix, without their scopes, in order. This makes the index of every unit."""
        self.build()
        names: set[str] = set()
        for unit, index in self._names.items():
            source, section = unit.source, ".debug_str" + unit.suffix
            for key, offsets in index.names.items():
                try:
                    text = source.text(section, key) if isinstance(key, int) else decode(key)
                    fit = (kind_of(unit.die_known_at(offset)) in kinds for offset in offsets)
                    if text not in names and text.startswith(prefix) and any(fit):
                        names.add(text)
                except DwarfGpuError as error:
                    self.dwarf.note(error)
        return sorted(names)

    def names_with_kinds(self) -> Iterator[tuple[str, Kind]]:
        """Yield all names without their scopes, each with the kinds it may be, one unit after the other.

        It reads no entries: some names may belong to one that is not in an index after all (`kind_of`).
        Names that are too long to be typed are left out, so that it takes no more memory than a file that means well.
        """
        for unit in counted(self.units, "units", len(self.units)):
            with self.dwarf.noting:
                names, strings = self.names_of(unit).names, unit.source.data(".debug_str" + unit.suffix)
                data, at = unit.data, unit.table.at
                kinds: dict[int, Kind] = {}  # by the code of the abbreviation, as far as it is one byte
                for key, offsets in names.items():
                    if isinstance(key, int):
                        end = strings.find(b"\0", key, key + LONGEST)
                        name = strings[key:end] if end >= 0 else b""
                    else:
                        name = key if len(key) < LONGEST else b""
                    if not name:
                        continue
                    text = decode(name)
                    for offset in offsets:
                        code = data[offset]
                        kind = kinds.get(code)
                        if kind is None:
                            kind = KIND_OF[at(data, offset)[0].tag]
                            if code < 128:
                                kinds[code] = kind
                        yield text, kind

    @cached_property
    def tables(self) -> list[NameTable]:
        """The name indices of the producer that can be read."""
        tables: list[NameTable] = []
        if self.dwarf.source.data(".debug_names"):
            from dwarfgpu.objfile.indexes.debug_names import read_tables

            for table in read_tables(self.dwarf.source):
                if isinstance(table, DwarfGpuError):
                    self.dwarf.note(table)
                    continue
                tables.append(table)
                for offset in (*table.compile_units, *table.type_units):
                    with self.dwarf.noting:
                        self._covered.add(self._listed_unit(offset))
        return tables

    def _listed_unit(self, offset: int) -> Unit:
        unit = self.dwarf.unit_at(offset)
        if unit.offset != offset:
            message = f"no unit begins at {offset:#x}"
            raise unit.error(MalformedFile("bad_reference", message, spec="DWARF 5, 6.1.1.4.2"))
        return self.dwarf.split_unit(unit) if unit.is_skeleton else unit

    def _in_tables(self, name: bytes) -> Iterator[tuple[Die, Kind]]:
        with self.dwarf.noting:
            for table in self.tables:
                for entry in table.find(name):
                    die = self._listed(entry)
                    if die.tag == DW_TAG_inlined_subroutine:
                        die = die.origin() or die
                    kind = KIND_OF.get(die.tag)
                    if kind is not None:
                        yield die, kind

    def _listed(self, entry: NameEntry) -> Die:
        if entry.signature is not None:
            owner = self.dwarf if entry.unit is None else self._listed_unit(entry.unit).dwarf
            return owner.type_unit(entry.signature, split=True).die_at(entry.die_offset)
        if entry.unit is None:
            message = f"the name entry at {entry.offset:#x} has no unit"
            raise MalformedFile("no_unit", message, spec="DWARF 5, 6.1.1.4.8")
        return self._listed_unit(entry.unit).die_at(entry.die_offset)

    def functions_at(self, address: int) -> list[Die]:
        """Return the functions with code at an address; one that is nested in another after it."""
        for unit in self._units_at(address):
            with self.dwarf.noting:
                offsets = self.addresses_of(unit).at(address)
                if offsets:
                    return [unit.die_known_at(offset) for offset in offsets]
        return []

    def _read_copies(self, unit: Unit) -> dict[Die, list[Die]]:
        """Return the functions of a unit that have code of their own, by their abstract instances."""
        copies: dict[Die, list[Die]] = {}
        for offset in sorted(self.addresses_of(unit).numbers()):
            with self.dwarf.noting:
                die = unit.die_known_at(offset)
                if DW_AT_abstract_origin in die.abbreviation.attributes:
                    copies.setdefault(die.origin() or die, []).append(die)
        return copies

    def unit_at(self, address: int) -> Unit | None:
        """Return the unit with code at an address."""
        return next(self._units_at(address), None)

    def _units_at(self, address: int) -> Iterator[Unit]:
        """Return the units that may have code at an address."""
        self._spanned += 1
        if self._spanned <= SEARCHES:
            return (unit for unit in self.units if covers(self.spans_of(unit), address))
        return (self.units[i] for i in sorted(set(self._unit_ranges.at(address))))

    @cached_property
    def _unit_ranges(self) -> Ranges:
        return Ranges((low, high, i) for i, unit in enumerate(self.units) for low, high in self.spans_of(unit))

    @cached_property
    def _budget(self) -> Budget:
        return Budget(sum(listed.header.end - listed.offset for listed in self.units))

    def _read_spans(self, unit: Unit) -> list[tuple[int, int]]:
        """Return the addresses of a unit: those of its unit entry, or of its skeleton's, or else of its functions."""
        if self._budget.is_spent or unit.header.is_type_unit:
            return []
        try:
            for owner in filter(None, (unit, unit.skeleton)):
                ranges: list[tuple[int, int]] = []
                with self.dwarf.noting:
                    ranges = owner.root.ranges()
                self._budget.spend(owner, ranges)
                if ranges:
                    return ranges
            return self.addresses_of(unit).spans()
        except DwarfGpuError as error:
            self.dwarf.note(unit.error(error))
            return []

    def variables_at(self, address: int, suffixes: Collection[bytes] = (b"",)) -> list[Die]:
        """Return the variables whose object contains an address, or begins there if its size is unknown.

        A variable is at an address if its location is an operation that pushes it. ``suffixes`` are what may follow
        that operation, for producers that name an address space there. All units are read.
        """
        variables = []
        for unit in self.units:
            with self.dwarf.noting:
                variables += self._variables_of(unit).at(address, suffixes)
        return variables

    def variable_addresses(self) -> set[int]:
        """Return where variables begin. All units are read."""
        addresses: set[int] = set()
        for unit in self.units:
            with self.dwarf.noting:
                addresses.update(self._variables_of(unit).addresses)
        return addresses

    def _read_variables(self, unit: Unit) -> VariableIndex:
        from dwarfgpu.objfile.indexes.address_index import VariableIndex

        return VariableIndex(unit)
