"""``.debug_names``: the producer's own index of names (DWARF 5 section 6.1.1, A.6.1.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor, Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import each_contribution, initial_length
from dwarfgpu.objfile.info.forms import form_name, read_value
from dwarfgpu.objfile.info.unit_tables import numbers
from dwarfgpu.objfile.section_source import SectionSource, decode

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder

SECTION = ".debug_names"
SPEC = "DWARF 5, 6.1.1.4"


MAX_ENTRIES = 1 << 20
"""A name with more entries than this is refused."""


@frozen
class NameEntry:
    """One entry of a name: an entry of a unit."""

    offset: int
    tag: int
    die_offset: int
    """The offset of the DIE, counted from the header of its unit."""
    unit: int | None
    """The offset of the unit's header in ``.debug_info``; for a foreign type unit of the skeleton, if it says so."""
    signature: int | None = None
    """The signature of the type unit, if that is in another file."""
    parent: int | None = None
    """The offset of the index entry of the DIE's parent, if it has one."""


class NameTable:
    """One name index. Almost always there is one for all units of a file."""

    def __init__(self, source: SectionSource, start: int) -> None:
        self._source = source
        self._data = data = source.data(SECTION)
        self._order: ByteOrder = source.byte_order
        self.start = start
        cursor = Cursor(data, start, byte_order=self._order, error=MalformedFile, section=SECTION)
        length, offset_size = initial_length(cursor)
        if length > cursor.remaining:
            message = f"an index of {length} bytes is longer than the {cursor.remaining} left"
            raise cursor.fail("truncated", message, SPEC, start)
        self.end = cursor.end = cursor.position + length
        version = cursor.unsigned(2)
        if version not in (5, 6):
            error = Unsupported("bad_version", f"version {version} of the name index is not known", spec=SPEC)
            raise error.at(section=SECTION, offset=start)
        cursor.unsigned(2)
        units, types, foreign, buckets, names, abbreviations, augmentation = (cursor.unsigned(4) for _ in range(7))
        self.format = Format(8, offset_size, self._order, version)
        self.augmentation = decode(cursor.bytes(augmentation).rstrip(b"\0"))
        """The augmentation string. LLVM writes ``LLVM0700``; A.6.1.1.4.1 recommends ``[vendor:vX.Y:options]``."""
        self.compile_units = self._column(cursor, units, offset_size)
        self.type_units = self._column(cursor, types, offset_size)
        self.foreign_types = self._column(cursor, foreign, 8)
        self.buckets = self._column(cursor, buckets, 4)
        self.hashes = self._column(cursor, names if buckets else 0, 4)
        self.string_offsets = self._column(cursor, names, offset_size)
        self._entries = self._column(cursor, names, offset_size)
        self.repeated: list[int] = []
        """The codes that more abbreviations than one have."""
        self.abbreviations = self._read_abbreviations(cursor, abbreviations)
        self.pool = cursor.position

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.string_offsets)

    def _column(self, cursor: Cursor, count: int, size: int) -> Sequence[int]:
        if count * size > cursor.remaining:
            message = f"{count} elements of {size} bytes do not fit in the {cursor.remaining} left"
            raise cursor.fail("truncated", message, SPEC)
        start = cursor.position
        cursor.position += count * size
        return numbers(self._data, start, cursor.position, size, little=self._order == "little")

    def _read_abbreviations(self, cursor: Cursor, size: int) -> dict[int, tuple[int, tuple[tuple[int, int], ...]]]:
        end = cursor.position + size
        inner = self._cursor(cursor.position, min(end, cursor.end))
        if end > cursor.end:
            raise cursor.fail("truncated", f"{size} bytes of abbreviations do not fit", SPEC)
        abbreviations: dict[int, tuple[int, tuple[tuple[int, int], ...]]] = {}
        while inner.remaining and (code := inner.uleb()):
            tag = inner.uleb()
            attributes = []
            while True:
                attribute, form = inner.uleb(), inner.uleb()
                if not attribute and not form:
                    break
                attributes.append((attribute, form))
            if code in abbreviations:
                self.repeated.append(code)
            abbreviations[code] = (tag, tuple(attributes))
        cursor.position = end
        return abbreviations

    def find(self, name: bytes) -> list[NameEntry]:
        """Return the entries of a name."""
        entries: list[NameEntry] = []
        for i in self._places(name):
            if self.name(i) == name:
                entries += self.entries(i)
                if len(entries) > self.end - self.pool:
                    message = "names share their entries: there are more of them than the index has bytes"
                    raise self._error("limit_exceeded", message, self.pool)
        return entries

    def name(self, index: int) -> bytes:
        """Return the name with an index, from 0."""
        return self._source.string(".debug_str", self.string_offsets[index])

    def names(self) -> Iterator[bytes]:
        """Yield all names."""
        return (self.name(i) for i in range(len(self.string_offsets)))

    def entries(self, index: int) -> list[NameEntry]:
        """Return the entries of the name with an index."""
        position = self.pool + self._entries[index]
        if position >= self.end:
            raise self._error("bad_offset", f"the entries of name {index} begin past the end", position)
        cursor = self._cursor(position, self.end)
        entries: list[NameEntry] = []
        while (entry := self._read_entry(cursor)) is not None:
            if len(entries) == MAX_ENTRIES:
                raise self._error("limit_exceeded", f"a name has more than {MAX_ENTRIES} entries", position)
            entries.append(entry)
        return entries

    def entry_at(self, offset: int) -> NameEntry:
        """Return the entry at an offset of the section, such as the parent of another."""
        entry = self._read_entry(self._cursor(offset, self.end)) if self.pool <= offset < self.end else None
        if entry is None:
            raise self._error("bad_reference", f"no entry begins at {offset:#x}", offset)
        return entry

    def _places(self, name: bytes) -> Iterator[int]:
        count = len(self.buckets)
        if not count or not name.isascii():  # the hash of other letters depends on how they are folded
            from dwarfgpu.objfile.indexes.name_search import find_all

            wanted = set(find_all(self._source.data(".debug_str"), name + b"\0"))
            yield from (i for i, offset in enumerate(self.string_offsets) if offset in wanted)
            return
        number = hash_of(name)
        i = self.buckets[number % count]
        while 0 < i <= len(self.hashes) and self.hashes[i - 1] % count == number % count:
            if self.hashes[i - 1] == number:
                yield i - 1
            i += 1

    def _cursor(self, position: int, end: int) -> Cursor:
        return Cursor(self._data, position, end, byte_order=self._order, error=MalformedFile, section=SECTION)

    def _read_entry(self, cursor: Cursor) -> NameEntry | None:
        start = cursor.position
        code = cursor.uleb()
        if not code:
            return None
        known = self.abbreviations.get(code)
        if known is None:
            raise self._error("unknown_abbreviation", f"the index has no abbreviation {code}", start)
        tag, attributes = known
        values: dict[int, Any] = {}
        parent = None
        for attribute, form in attributes:
            value = read_value(cursor, form, self.format)
            if type(value) is not int and form != dw.DW_FORM_flag_present:
                raise self._error("bad_form", f"{form_name(form)} is not a number", start)
            if attribute == dw.DW_IDX_parent:
                parent = None if form == dw.DW_FORM_flag_present else self.pool + value
            values.setdefault(attribute, value)
        unit, signature = self._unit_of(values, start)
        return NameEntry(start, tag, values.get(dw.DW_IDX_die_offset, 0), unit, signature, parent)

    def _unit_of(self, values: dict[int, Any], start: int) -> tuple[int | None, int | None]:
        """Return the unit of an entry, or the signature of the foreign type unit it is in (6.1.1.4.6)."""
        unit = None
        index = values.get(dw.DW_IDX_compile_unit)
        if index is None and len(self.compile_units) == 1:
            index = 0  # the only unit need not be named
        if index is not None:
            if not 0 <= index < len(self.compile_units):
                raise self._error("index_out_of_range", f"there is no unit {index}", start)
            unit = self.compile_units[index]
        index = values.get(dw.DW_IDX_type_unit)
        if index is None:
            return unit, None
        if 0 <= index < len(self.type_units):
            return self.type_units[index], None
        index -= len(self.type_units)
        if not 0 <= index < len(self.foreign_types):
            raise self._error("index_out_of_range", f"there is no foreign type unit {index}", start)
        return unit, self.foreign_types[index]

    def _error(self, kind: str, message: str, offset: int) -> MalformedFile:
        return MalformedFile(kind, message, spec=SPEC).at(section=SECTION, offset=offset)  # type: ignore[no-any-return]


def read_tables(source: SectionSource) -> Iterator[NameTable | DwarfGpuError]:
    """Yield all name indices of a file, with an error in place of one that cannot be read."""
    data, read = source.data(SECTION), partial(NameTable, source)
    return each_contribution(data, source.byte_order, read, lambda table: table.end)


def hash_of(name: bytes) -> int:
    """Return the hash of a name (DWARF 5, 7.33): that of Bernstein, after folding the case."""
    digest = 5381
    for byte in name.lower():
        digest = (digest * 33 + byte) & 0xFFFFFFFF
    return digest
