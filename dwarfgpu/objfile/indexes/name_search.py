"""Finding a name in units that no index has been made of: the bytes say where it can be at all.

A name is in an entry itself, or in a string section, and then its offset or the index of that offset is in the entry.
So the units that can have a name are found by searching for bytes, and in each of them the places to read.
What is there is then read and compared, so that a coincidence of bytes is no answer; and where bytes alone cannot
exclude that there is more, `LookAtAll` says so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.indexes.name_index import COMPLETED, LINKAGE_NAMES, ORIGINS, Key, may_be_entry
from dwarfgpu.objfile.info.dies import Die

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import AbbreviationTable
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.section_source import SectionSource

MAX_COPIES = 16
"""With more copies of a name than this, also as the end of other names, it is quicker to read all entries."""
MAX_HITS = 200
"""With more places in a unit than this it is quicker to read all its entries."""

_HEAD = 256
"""How many bytes of a name are searched for; the rest is compared: an expression of a long name is slow to make."""
_NAMES = (dw.DW_AT_name, *LINKAGE_NAMES)
_DIRECT = frozenset((dw.DW_FORM_string, dw.DW_FORM_strp, dw.DW_FORM_line_strp))
# Fields of numbers by their sizes, 0 for LEB128 numbers.
_REFERENCES = {getattr(dw, f"DW_FORM_ref{size or '_udata'}"): size for size in (0, 1, 2, 4, 8)}
_INDICES = {getattr(dw, f"DW_FORM_strx{size or ''}"): size for size in range(5)} | {dw.DW_FORM_GNU_str_index: 0}
# A table of abbreviations in which names are in the file itself, and completed entries in the same unit: no
# DW_FORM_indirect, strp_sup or GNU_strp_alt for names, no ref_addr, ref_sig8, indirect, ref_sup4, ref_sup8 or
# GNU_ref_alt for DW_AT_specification and DW_AT_abstract_origin.
_PLAIN_TABLE = re.compile(
    rb"""(?xs)
    (?:
      [\x80-\xff]*[\x01-\x7f] [\x80-\xff]*[\x01-\x7f] .                   # code, tag, children
      (?:
        (?:
          (?: [\x03\x6e] | \x87\x40 ) (?! \x16 | \x1d | \xa1\x3e )
        | [\x31\x47] (?! \x10 | \x20 | \x16 | \x1c | \x24 | \xa0\x3e )
        | (?! [\x03\x6e\x31\x47] | \x87\x40 ) [\x80-\xff]*[\x01-\x7f]
        )
        (?: \x21 [\x80-\xff]*[\x00-\x7f] | (?! \x21 ) [\x80-\xff]*[\x01-\x7f] )
      )*
      \x00\x00
    )*
    (?: \x00 | \Z )
    """
)


class LookAtAll(Exception):
    """Searching is not quicker here, or cannot be exact: an index of the unit has the answer."""


class Needle:
    """A name, and where it is in the string sections of one file."""

    def __init__(self, source: SectionSource, name: bytes, completed: Collection[int] | None = COMPLETED) -> None:
        self.source = source
        self.name = name
        self.completed = completed
        """The tags of entries that others complete; None if entries that no index has are wanted, too."""
        self.offsets = cache(lambda section: list(find_all(source.view(section), name + b"\0")))
        """The offsets of the name in a string section, also those where it is the end of a longer string."""

    def keys(self, unit: Unit) -> Iterator[Key]:
        """Yield the name in the forms that the `NameIndex` of a unit has it in."""
        yield self.name
        yield from self.offsets(".debug_str" + unit.suffix)


class NameSearch:
    """The units of one section of a file, ready to be searched for names."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.source = units[0].source
        self._suffix = units[0].suffix
        self._order = units[0].format.byte_order
        self._starts = [unit.offset for unit in units]

    def candidates(self, needle: Needle, units: Sequence[Unit]) -> Iterator[tuple[Unit, list[int] | None]]:
        """Yield those of the units that may have a name, each with the places to read, or None to read all entries."""
        hits = self._direct_hits(needle)
        for unit in units:
            try:
                places = None if hits is None else self._places(unit, hits.get(unit, []), needle)
            except (LookAtAll, DwarfGpuError):  # reading the entries tells what is wrong
                places = None
            if places is None or places:
                yield unit, places

    def _places(self, unit: Unit, places: list[int], needle: Needle) -> list[int]:
        abbreviations = self.source.data(unit.part(".debug_abbrev")[1])
        if unit.table.keep("plain", lambda table: _PLAIN_TABLE.match(abbreviations, table.offset)) is None:
            raise LookAtAll  # entries may have names by other ways: through other units or files
        if unit.offset_size == 4:  # the search is for 4 bytes of an offset
            places = _in_fields(unit, places, _NAMES, _DIRECT, needle)
        indices = self._indices(unit, needle.offsets(".debug_str" + self._suffix))
        if indices:
            indexed = _places_of(unit, indices, _NAMES, _INDICES)
            places = places + _in_fields(unit, indexed, _NAMES, _INDICES, needle)
        if len(places) > MAX_HITS:
            raise LookAtAll
        return places

    def _direct_hits(self, needle: Needle) -> dict[Unit, list[int]] | None:
        """Return where the entries hold the name itself or its offset, or None if it has too many offsets."""
        copies = {offset for kind in ("str", "line_str") for offset in needle.offsets(f".debug_{kind}{self._suffix}")}
        if len(copies) > MAX_COPIES:
            return None
        data = self.source.view(self.units[0].section)
        hits: dict[Unit, list[int]] = {}
        places = ((offset & 0xFFFFFFFF).to_bytes(4, self._order) for offset in copies)
        for pattern in (needle.name + b"\0", *places):
            for position in find_all(data, pattern):
                i = bisect_right(self._starts, position) - 1
                if i >= 0:
                    hits.setdefault(self.units[i], []).append(position - self._starts[i])
        return hits

    def _indices(self, unit: Unit, offsets: Iterable[int]) -> list[int]:
        if unit.version < 5 and not unit.suffix:
            return []
        try:
            place = unit.tables.string_offsets_place()
        except DwarfGpuError:
            return []  # then no index leads to a string
        if place is None:
            return []
        data, start, end = place
        size = unit.offset_size
        positions = (p for offset in offsets for p in find_all(data, offset.to_bytes(size, self._order), start, end))
        return [(p - start) // size for p in positions if not (p - start) % size]


def entries_at(unit: Unit, places: Iterable[int], needle: Needle) -> list[Die]:
    """Return the entries of a unit that have the name at one of these places, and those that complete them."""
    named: dict[int, Die] = {}
    waiting: list[Die] = []
    for place in places:
        die = _entry_around(unit, place)
        names = () if die is None else [each.string() for each in filter(None, map(die.number, _NAMES))]
        if die is not None and die.offset not in named and needle.name in names:
            named[die.offset] = die
            waiting.append(die)
    while waiting:
        if len(named) > MAX_HITS:
            raise LookAtAll  # each of them is a search through the unit
        origin = waiting.pop()
        if needle.completed is not None and origin.tag not in needle.completed:
            continue
        for place in _references(unit, [origin.offset], needle):
            die = _entry_around(unit, place)
            if die is not None and die.offset not in named:
                references = filter(None, map(die.number, ORIGINS))
                if any(each.form in _REFERENCES and each.value == origin.offset for each in references):
                    named[die.offset] = die
                    waiting.append(die)
    return [named[offset] for offset in sorted(named)]


def _entry_around(unit: Unit, place: int) -> Die | None:
    offset = unit.tree.entry_around(place)
    return None if offset is None else unit.die_known_at(offset)


def _in_fields(
    unit: Unit, places: list[int], numbers: tuple[int, ...], fields: Collection[int], needle: Needle
) -> list[int]:
    """Return those of some places at which an entry may have one of some attributes in one of some forms.

    An abbreviation code stands as far before such a place as an abbreviation says.
    """
    if not places:
        return places
    data, wanted = unit.data, (numbers, tuple(fields), needle.completed)
    codes = unit.table.keep(wanted, lambda table: _codes(table, *wanted))

    def fits(place: int) -> bool:
        for before, (whole, declared) in (codes or {}).items():
            start = place - before
            if data[start] in whole or (not data[start] and data[start - 1] > 0x7F):  # a code may be padded
                return True
            if data[start] in declared:
                starts = [start]
                while data[starts[-1] - 1] > 0x7F:  # it may be a part of the code
                    starts.append(starts[-1] - 1)
                if _references(unit, starts, needle):
                    return True
        return False

    return places if codes is None else [place for place in places if unit.first < place < len(data) and fits(place)]


def _codes(
    table: AbbreviationTable, numbers: tuple[int, ...], fields: Collection[int], completed: Collection[int] | None
) -> dict[int, tuple[set[int], set[int]]] | None:
    """Return the last bytes of codes by how far they are before a field, None if that depends on the entry."""
    codes: dict[int, tuple[set[int], set[int]]] = {}
    for abbreviation in table.all():
        for number in numbers:
            if abbreviation.form_of(number) in fields:
                is_whole = completed is None or may_be_entry(abbreviation)
                if is_whole or (completed and abbreviation.tag in completed):
                    layout = abbreviation.layout
                    before = layout.family.fixed_size(1, layout.forms[: abbreviation.index_of(number)])
                    if before < 0:
                        return None
                    last = abbreviation.code >> 7 * (layout.lead - 1) & 0x7F
                    # a name in the second set counts only where others complete the entry
                    codes.setdefault(before, (set(), set()))[not is_whole and numbers is _NAMES].add(last)
    return codes


def _references(unit: Unit, offsets: list[int], needle: Needle) -> list[int]:
    """Return where entries of a unit may say that they complete those at some offsets."""
    return _in_fields(unit, _places_of(unit, offsets, ORIGINS, _REFERENCES), ORIGINS, _REFERENCES, needle)


def _places_of(unit: Unit, values: list[int], numbers: tuple[int, ...], sizes: Mapping[int, int]) -> list[int]:
    """Return where a unit may hold values of some attributes."""

    def used(table: AbbreviationTable) -> set[int]:
        return {sizes[form] for each in table.all() for form in map(each.form_of, numbers) if form in sizes}

    patterns: set[bytes] = set()
    for size in unit.table.keep(numbers, used):
        for value in values:
            if value < 1 << 8 * (size or 8):
                patterns.add(value.to_bytes(size, unit.format.byte_order) if size else encode_unsigned(value))
    places: list[int] = []
    for pattern in patterns:
        found = list(find_all(unit.data, pattern, unit.first)) if len(pattern) > 1 else []
        if not found[MAX_HITS:] and len(pattern) > 1:
            places += found
        else:
            raise LookAtAll
    return places


def find_all(data: bytes | memoryview, pattern: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield all places of a pattern, also those that overlap."""
    head = pattern[:_HEAD]
    search = re.compile(re.escape(head)).search  # twice as fast as bytes.find for patterns with zeros
    size = len(pattern)
    stop = len(data) if end is None else end
    match = search(data, start, stop)
    while match is not None:
        position = match.start()
        if size <= _HEAD or (position + size <= stop and data[position : position + size] == pattern):
            yield position
        match = search(data, position + 1, stop)
