"""``.debug_names``: the producer's own index of names (DWARF 5 section 6.1.1, A.6.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.contributions import each_contribution, initial_length
from dwarfgpu.objfile.entries.forms import FLAG_PRESENT, form_name, read_value
from dwarfgpu.objfile.source import decode
from dwarfgpu.objfile.units.tables import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.objfile.source import Source

SECTION = ".debug_names"
SPEC = "DWARF 5, 6.1.1.4"

COMPILE_UNIT, TYPE_UNIT, DIE_OFFSET, PARENT, TYPE_HASH = range(1, 6)
GNU_INTERNAL, GNU_EXTERNAL = 0x2000, 0x2001
"""The attributes of entries (DWARF 5, table 7.23)."""

MAX_ENTRIES = 1 << 20
"""A name with more entries than this is refused."""


@frozen
class NameEntry:
    """One entry of a name: an entry of a unit."""

    offset: int
    """Where it stands in the section."""
    tag: int
    die_offset: int
    """The offset of the DIE, counted from the header of its unit."""
    unit: int | None
    """The offset of the unit's header in ``.debug_info``; for a foreign type unit of the skeleton, if it says so."""
    signature: int | None = None
    """Of a type unit that is in another file."""
    parent: int | None = None
    """Where the entry of the DIE's parent stands, if it has one."""
    is_external: bool | None = None
    """Whether it is visible outside its unit, where the producer says so (GNU)."""


class NameTable:
    """One name index. Almost always there is one for all units of a file."""

    def __init__(self, source: Source, start: int) -> None:
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
        units, types, foreign, buckets, names, abbreviations, augmentation = (
            cursor.unsigned(4) for _ in range(7)
        )
        self.format = Format(8, offset_size, self._order, version)
        self.augmentation = decode(cursor.bytes(augmentation).rstrip(b"\0"))
        """The augmentation string. LLVM writes ``LLVM0700``; A.6.1.1.4.1 recommends ``[vendor:vX.Y:options]``."""
        self.compile_units = self._column(cursor, units, offset_size)
        self.type_units = self._column(cursor, types, offset_size)
        self.foreign_types = self._column(cursor, foreign, 8)
        self._buckets = self._column(cursor, buckets, 4)
        self._hashes = self._column(cursor, names if buckets else 0, 4)
        self._strings = self._column(cursor, names, offset_size)
        self._entries = self._column(cursor, names, offset_size)
        self._abbreviations = self._read_abbreviations(cursor, abbreviations)
        self._pool = cursor.position

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._strings)

    def _column(self, cursor: Cursor, count: int, size: int) -> Sequence[int]:
        if count * size > cursor.remaining:
            message = f"{count} elements of {size} bytes do not fit in the {cursor.remaining} left"
            raise cursor.fail("truncated", message, SPEC)
        start = cursor.position
        cursor.position += count * size
        return numbers(self._data, start, cursor.position, size, little=self._order == "little")

    def _read_abbreviations(
        self, cursor: Cursor, size: int
    ) -> dict[int, tuple[int, tuple[tuple[int, int], ...]]]:
        end = cursor.position + size
        order, stop = self._order, min(end, cursor.end)
        inner = Cursor(
            self._data, cursor.position, stop, byte_order=order, error=MalformedFile, section=SECTION
        )
        if end > cursor.end:
            raise cursor.fail("truncated", f"{size} bytes of abbreviations do not fit", SPEC)
        found: dict[int, tuple[int, tuple[tuple[int, int], ...]]] = {}
        while inner.remaining and (code := inner.uleb()):
            tag = inner.uleb()
            attributes = []
            while True:
                attribute, form = inner.uleb(), inner.uleb()
                if not attribute and not form:
                    break
                attributes.append((attribute, form))
            found[code] = (tag, tuple(attributes))
        cursor.position = end
        return found

    # --- Names ------------------------------------------------------------------------------------------------------

    def find(self, name: bytes) -> list[NameEntry]:
        """The entries of a name."""
        found: list[NameEntry] = []
        for i in self._places(name):
            if self.name(i) == name:
                found += self.entries(i)
                if len(found) > self.end - self._pool:
                    message = "names share their entries: there are more of them than the index has bytes"
                    raise self._error("limit_exceeded", message, self._pool)
        return found

    def name(self, index: int) -> bytes:
        """The name with an index, from 0."""
        return self._source.string(".debug_str", self._strings[index])

    def names(self) -> Iterator[bytes]:
        """All names."""
        return (self.name(i) for i in range(len(self._strings)))

    def entries(self, index: int) -> list[NameEntry]:
        """The entries of the name with an index."""
        position = self._pool + self._entries[index]
        if position >= self.end:
            raise self._error("bad_offset", f"the entries of name {index} begin past the end", position)
        cursor = self._cursor(position)
        found: list[NameEntry] = []
        while (entry := self._read_entry(cursor)) is not None:
            if len(found) == MAX_ENTRIES:
                raise self._error("limit_exceeded", f"a name has more than {MAX_ENTRIES} entries", position)
            found.append(entry)
        return found

    def entry_at(self, offset: int) -> NameEntry:
        """The entry that stands at an offset of the section, such as the parent of another."""
        found = self._read_entry(self._cursor(offset)) if self._pool <= offset < self.end else None
        if found is None:
            raise self._error("bad_reference", f"no entry stands at {offset:#x}", offset)
        return found

    def _places(self, name: bytes) -> Iterator[int]:
        """The indices of the names that may be the one."""
        count = len(self._buckets)
        if not count or not name.isascii():  # the hash of other letters depends on how they are folded
            from dwarfgpu.objfile.indexes.name_search import find_all

            wanted = set(find_all(self._source.data(".debug_str"), name + b"\0"))
            yield from (i for i, offset in enumerate(self._strings) if offset in wanted)
            return
        number = hash_of(name)
        i = self._buckets[number % count]
        while 0 < i <= len(self._hashes) and self._hashes[i - 1] % count == number % count:
            if self._hashes[i - 1] == number:
                yield i - 1
            i += 1

    def _cursor(self, position: int) -> Cursor:
        return Cursor(
            self._data, position, self.end, byte_order=self._order, error=MalformedFile, section=SECTION
        )

    def _read_entry(self, cursor: Cursor) -> NameEntry | None:
        start = cursor.position
        code = cursor.uleb()
        if not code:
            return None
        known = self._abbreviations.get(code)
        if known is None:
            raise self._error("unknown_abbreviation", f"the index has no abbreviation {code}", start)
        tag, attributes = known
        values: dict[int, Any] = {}
        parent = None
        for attribute, form in attributes:
            value = read_value(cursor, form, self.format)
            if type(value) is not int and form != FLAG_PRESENT:
                raise self._error("bad_form", f"{form_name(form)} is no number", start)
            if attribute == PARENT:
                parent = None if form == FLAG_PRESENT else self._pool + value
            values.setdefault(attribute, value)
        unit, signature = self._unit_of(values, start)
        external = GNU_EXTERNAL in values or (False if GNU_INTERNAL in values else None)
        return NameEntry(start, tag, values.get(DIE_OFFSET, 0), unit, signature, parent, external)

    def _unit_of(self, values: dict[int, Any], start: int) -> tuple[int | None, int | None]:
        """The unit of an entry, or the signature of the foreign type unit it is in (6.1.1.4.6)."""
        unit = None
        index = values.get(COMPILE_UNIT)
        if index is None and len(self.compile_units) == 1:
            index = 0  # the only unit need not be named
        if index is not None:
            if not 0 <= index < len(self.compile_units):
                raise self._error("index_out_of_range", f"there is no unit {index}", start)
            unit = self.compile_units[index]
        index = values.get(TYPE_UNIT)
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


def read_tables(source: Source) -> Iterator[NameTable | DwarfGpuError]:
    """All name indices of a file; for one that cannot be read its error, and then the next one."""
    return each_contribution(
        source.data(SECTION),
        source.byte_order,
        lambda start: NameTable(source, start),
        lambda table: table.end,
    )


def hash_of(name: bytes) -> int:
    """The hash of a name (DWARF 5, 7.33): that of Bernstein, after folding the case."""
    found = 5381
    for byte in name.lower():
        found = (found * 33 + byte) & 0xFFFFFFFF
    return found
