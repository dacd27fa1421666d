"""Finding a name in units that no index has been made of: the bytes say where it can be at all.

A name is in an entry itself, or in a string section, and then its offset or the index of that offset is in the entry.
So the units that can have a name are found by searching for bytes, and in each of them the places to read.
What is there is then read and compared, so that a coincidence of bytes is no answer; and where bytes alone cannot
exclude that there is more, `LookAtAll` says so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.indexes.name_index import COMPLETED, LINKAGE_NAMES, ORIGINS, Key, may_be_entry
from dwarfgpu.objfile.info import forms
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
_REFERENCE_SIZES = {dw.DW_FORM_ref1: 1, dw.DW_FORM_ref2: 2, dw.DW_FORM_ref4: 4, dw.DW_FORM_ref8: 8}
_INDEX_SIZES = {dw.DW_FORM_strx1: 1, dw.DW_FORM_strx2: 2, dw.DW_FORM_strx3: 3, dw.DW_FORM_strx4: 4}
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

    def __init__(self, source: SectionSource, name: bytes) -> None:
        self.source = source
        self.name = name
        self.offsets = cache(lambda section: list(find_all(source.view(section), name + b"\0")))
        """The offsets of the name in a string section, also those where it is the end of a longer string."""

    def keys(self, unit: Unit) -> Iterator[Key]:
        """Yield the name in the forms that the `NameIndex` of a unit has it in."""
        yield self.name
        yield from self.offsets(".debug_str" + unit.suffix)


class NameSearch:
    """The units of one section of a file, ready to be searched for names."""

    def __init__(self, units: Sequence[Unit]) -> None:
        first = units[0]
        self.units = units
        self.source = first.source
        self._section = first.section
        self._suffix = first.suffix
        self._order = first.format.byte_order
        self._starts = [unit.offset for unit in units]
        self._odd: dict[int, bool] = {}

    def candidates(
        self, needle: Needle, units: Iterable[Unit], completed: Collection[int] | None = COMPLETED
    ) -> Iterator[tuple[Unit, list[int] | None]]:
        """Yield those of the units that may have a name, each with the places to read, or None to read all entries.

        ``completed`` is that of `entries_at`.
        """
        offsets = needle.offsets(".debug_str" + self._suffix)
        hits = self._direct_hits(needle, offsets)
        for unit in units:
            try:
                places = None if hits is None else self._places(unit, hits.get(unit, []), offsets, completed)
            except (LookAtAll, DwarfGpuError):  # reading the entries tells what is wrong
                places = None
            if places is None or places:
                yield unit, places

    def _places(
        self, unit: Unit, direct: list[int], offsets: Iterable[int], completed: Collection[int] | None
    ) -> list[int]:
        if self._is_odd(unit):
            raise LookAtAll
        if direct and unit.offset_size == 4:  # the search is for 4 bytes of an offset
            direct = _in_fields(unit, direct, _NAMES, _DIRECT, completed)
        indices = self._indices(unit, offsets)
        places = direct
        if indices:
            indexed = self._indexed_hits(unit, indices)
            places = direct + _in_fields(unit, indexed, _NAMES, frozenset(forms.STRING_INDEX), completed)
        if len(places) > MAX_HITS:
            raise LookAtAll
        return places

    def _direct_hits(self, needle: Needle, offsets: Iterable[int]) -> dict[Unit, list[int]] | None:
        """Return where the entries hold the name itself or its offset, or None if it has too many offsets."""
        copies = {*offsets, *needle.offsets(".debug_line_str" + self._suffix)}
        if len(copies) > MAX_COPIES:
            return None
        data = self.source.view(self._section)
        hits: dict[Unit, list[int]] = {}
        places = ((offset & 0xFFFFFFFF).to_bytes(4, self._order) for offset in copies)
        for pattern in (needle.name + b"\0", *places):
            for position in find_all(data, pattern):
                i = bisect_right(self._starts, position) - 1
                if i >= 0:
                    unit = self.units[i]
                    hits.setdefault(unit, []).append(position - unit.offset)
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

    def _indexed_hits(self, unit: Unit, indices: Iterable[int]) -> list[int]:
        used = {
            form
            for abbreviation in unit.table.all()
            for form in map(abbreviation.form_of, _NAMES)
            if form in forms.STRING_INDEX
        }
        return _places_of(unit, indices, set(map(_INDEX_SIZES.get, used)))

    def _is_odd(self, unit: Unit) -> bool:
        """Return whether entries of a unit may have names by other ways: through other units or files."""
        start, section = unit.part(".debug_abbrev")
        start += unit.header.abbreviations
        if start not in self._odd:
            data = self.source.data(section)  # without a table the unit has no entries that can be read
            self._odd[start] = start < len(data) and _PLAIN_TABLE.match(data, start) is None
        return self._odd[start]


def entries_at(
    unit: Unit, places: Iterable[int], needle: Needle, completed: Collection[int] | None = COMPLETED
) -> list[Die]:
    """Return the entries of a unit that have the name at one of these places, and those that complete them.

    ``completed`` are the tags of entries that others complete, None all of them.
    """
    named: dict[int, Die] = {}
    waiting: list[Die] = []
    for place in places:
        die = _entry_around(unit, place)
        if die is not None and die.offset not in named and _has_name(die, needle.name):
            named[die.offset] = die
            waiting.append(die)
    while waiting:
        if len(named) > MAX_HITS:
            raise LookAtAll  # each of them is a search through the unit
        origin = waiting.pop()
        if completed is not None and origin.tag not in completed:
            continue
        for place in _references(unit, [origin.offset], completed):
            die = _entry_around(unit, place)
            if die is not None and die.offset not in named and _completes(die, origin.offset):
                named[die.offset] = die
                waiting.append(die)
    return [named[offset] for offset in sorted(named)]


def _entry_around(unit: Unit, place: int) -> Die | None:
    offset = unit.tree.entry_around(place)
    return None if offset is None else unit.die_known_at(offset)


def _has_name(die: Die, name: bytes) -> bool:
    return any(attribute is not None and attribute.string() == name for attribute in map(die.number, _NAMES))


def _completes(die: Die, offset: int) -> bool:
    references = (die.number(number) for number in ORIGINS)
    return any(
        reference is not None and reference.form in forms.REF_UNIT and reference.value == offset
        for reference in references
    )


def _in_fields(
    unit: Unit, places: list[int], numbers: tuple[int, ...], fields: frozenset[int], completed: Collection[int] | None
) -> list[int]:
    """Return those of some places at which an entry may have one of some attributes in one of some forms.

    An abbreviation code stands as far before such a place as an abbreviation says. With ``completed``, an entry must
    also be fit for an index, or have one of these tags; what is named and not fit must be completed by others.
    """

    def distances(table: AbbreviationTable) -> dict[int, tuple[set[int], set[int]]] | None:
        """Return the last bytes of the codes by their distance; None if a distance depends on the entry."""
        codes: dict[int, tuple[set[int], set[int]]] = {}
        for abbreviation in table.all():
            is_whole = completed is None or may_be_entry(abbreviation)
            if is_whole or abbreviation.tag in completed:
                for number in numbers:
                    if abbreviation.form_of(number) in fields:
                        layout = abbreviation.layout
                        before = layout.family.fixed_size(1, layout.forms[: abbreviation.index_of(number)])
                        if before < 0:
                            return None
                        last = abbreviation.code >> 7 * (layout.lead - 1) & 0x7F
                        codes.setdefault(before, (set(), set()))[not is_whole and numbers is _NAMES].add(last)
        return codes

    codes = unit.table.keep((numbers, fields, completed), distances)
    if codes is None:
        return places
    data = unit.data

    def fits(place: int) -> bool:
        for before, (whole, declared) in codes.items():
            code = place - before
            byte = data[code]
            if byte in whole or (not byte and data[code - 1] > 0x7F):  # a code may be padded
                return True
            if byte in declared:
                starts = [code]
                while data[starts[-1] - 1] > 0x7F:  # it may be a part of the code
                    starts.append(starts[-1] - 1)
                if _references(unit, starts, completed):
                    return True
        return False

    return [place for place in places if fits(place)]


def _references(unit: Unit, offsets: Iterable[int], completed: Collection[int] | None) -> list[int]:
    """Return where entries of a unit may say that they complete those at some offsets."""
    used = {form for abbreviation in unit.table.all() for form in map(abbreviation.form_of, ORIGINS) if form}
    places = _places_of(unit, offsets, set(map(_REFERENCE_SIZES.get, used)))
    return _in_fields(unit, places, ORIGINS, frozenset(forms.REF_UNIT), completed)


def _places_of(unit: Unit, numbers: Iterable[int], sizes: Iterable[int | None]) -> list[int]:
    """Return where a unit may hold numbers in fields of these sizes; None is a LEB128 number."""
    patterns: set[bytes] = set()
    for size in sizes:
        for number in numbers:
            if size is None:
                patterns.add(encode_unsigned(number))
            elif number < 1 << 8 * size:
                patterns.add(number.to_bytes(size, unit.format.byte_order))
    return [p for pattern in patterns for p in _few(unit, pattern)]


def _few(unit: Unit, pattern: bytes) -> list[int]:
    if len(pattern) < 2:
        raise LookAtAll
    places = list(find_all(unit.data, pattern, unit.first))
    if len(places) > MAX_HITS:
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
