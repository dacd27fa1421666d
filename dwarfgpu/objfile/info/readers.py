"""Readers: how the entries of an abbreviation are laid out, and the functions that read and skip them.

An abbreviation whose values all have a fixed size needs no function, only a `struct.Struct`. For any other one it is
generated once it has been used a few times: for a single entry that would cost more than it gains, and no file,
however made, can then spend much more time on generating functions than on reading entries without them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.info.forms import FORMS, NO_DATA, fixed_size, form, read_value
from dwarfgpu.objfile.info.reader_codegen import CODES, ReaderBuilder, order_code

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dwarfgpu.encoding.operands import Format

    Read: TypeAlias = Callable[[bytes, int], tuple[int, tuple[Any, ...]]]
    """(data, position of the code) -> (next position, values). Forms without data have no value."""
    Pick: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]
    """(data, position of the code) -> (chosen values..., next position)."""
    Skip: TypeAlias = Callable[[bytes, int], int]
    """(data, position of the code) -> next position."""
    Unpack: TypeAlias = Callable[[bytes, int], tuple[Any, ...]]

FAILURES = (IndexError, ValueError, struct.error, OverflowError)
"""What the end of the data does to a generated function; `truncated` makes an error of it."""

FEW = 6
"""Entries that are read or skipped more often than this get a function of their own."""
MAX_LAYOUTS = 8192
_families: dict[Format, Family] = {}
_skips: dict[tuple[Any, ...], Skip] = {}


def truncated(offset: int, section: str) -> MalformedFile:
    """Return the error for an entry that ends after its unit."""
    error = MalformedFile("truncated", "an entry reaches past the end of its unit", spec="DWARF 5, 7.5.1")
    return error.at(section=section, offset=offset)  # type: ignore[no-any-return]


# --- Layouts ------------------------------------------------------------------------------------------------------


class EntryLayout:
    """How the entries of an abbreviation are laid out: a code of ``lead`` bytes, then a value for each form.

    Abbreviations with the same forms share a layout, in whatever table they are.
    """

    __slots__ = (
        "_picks",
        "_reads",
        "_skips",
        "_slots",
        "family",
        "format",
        "forms",
        "lead",
        "read",
        "size",
        "skip",
        "unpack",
    )

    def __init__(self, lead: int, forms: tuple[int, ...], family: Family) -> None:
        self.lead = lead
        self.forms = forms
        self.family = family
        self.format = family.format
        self._reads = self._skips = 0
        self._picks: dict[tuple[int, ...], Pick] = {}
        self._slots: tuple[int, ...] | None = None
        self.size = family.fixed_size(lead, forms)
        """How many bytes an entry has; -1 if that depends on the entry."""
        self.unpack: Unpack | None = None
        """(data, position of the code) -> values, where all are plain numbers. Known when an entry has been read."""
        self.read: Read = self._first_reads
        """(data, position of the code) -> (next position, values). It replaces itself, so look it up each time."""
        self.skip: Skip = self._first_skips
        """(data, position of the code) -> next position. It replaces itself, too."""

    @property
    def slots(self) -> tuple[int, ...]:
        """The index of each form's value among those in the data; -1 for a form without one."""
        if self._slots is None:
            slots, count = [], 0
            for code in self.forms:
                slots.append(-1 if code in NO_DATA else count)
                count += code not in NO_DATA
            self._slots = tuple(slots)
        return self._slots

    def _first_reads(self, data: bytes, position: int) -> tuple[int, tuple[Any, ...]]:
        self._reads += 1
        size = self.size
        if size >= 0 and self.unpack is None:
            self.unpack = unpack = self.picking_unpack(tuple(range(len(self.forms))))
            if unpack is not None:
                self.read = lambda data, position: (position + size, unpack(data, position))
                return self.read(data, position)
        if self._reads > FEW:
            self.read = ReaderBuilder(self.lead, self.forms, self.format).read()
            return self.read(data, position)
        cursor = Cursor(data, position + self.lead, byte_order=self.format.byte_order, error=MalformedFile)
        values = [read_value(cursor, code, self.format) for code in self.forms if code not in NO_DATA]
        return cursor.position, tuple(values)

    def _first_skips(self, data: bytes, position: int) -> int:
        self._skips += 1
        size = self.size
        if size >= 0:
            self.skip = lambda _, position: position + size
            return position + size
        key = self._shape()
        skip = _skips.get(key)
        if skip is None:
            if self._skips <= FEW:
                return self.read(data, position)[0]
            if len(_skips) >= MAX_LAYOUTS:
                _skips.clear()
            skip = _skips[key] = ReaderBuilder(self.lead, self.forms, self.format, ()).skip()
        self.skip = skip
        return skip(data, position)

    def _shape(self) -> tuple[Any, ...]:
        """Return what a function that skips depends on: values of fixed size count only by their sum."""
        shape: list[int | str] = [self.lead]
        for code in self.forms:
            encoding = form(code).encoding
            size = fixed_size(encoding, self.format)
            last = shape[-1]
            if size is None:
                shape.append("uleb" if encoding == "sleb" else encoding)
            elif isinstance(last, int):
                shape[-1] = last + size
            else:
                shape.append(size)
        return (*shape, self.format) if "indirect" in shape else (*shape, self.format.byte_order)

    def picker(self, wanted: tuple[int, ...]) -> Pick:
        """Return a function that decodes the values whose forms have these indices, in increasing order."""
        pick = self._picks.get(wanted)
        if pick is None:
            pick = self._picks[wanted] = ReaderBuilder(self.lead, self.forms, self.format, wanted).pick()
        return pick

    def picking_unpack(self, wanted: tuple[int, ...]) -> Unpack | None:
        """Return such a function for entries of fixed size, without the next position.

        It is None if a value is not a plain number.
        """
        known = [self.family.sizes.get(code, -1) for code in self.forms]
        if not all(known[i] in CODES or not known[i] for i in wanted):
            return None
        text = "".join(CODES.get(n, "") if i in wanted else f"{n}x" for i, n in enumerate(known))
        return struct.Struct(f"{order_code(self.format)}{self.lead}x{text}").unpack_from

    def positions(self, data: bytes, position: int) -> list[tuple[int, int]]:
        """Return where the value of each form begins and ends, with the length of a block as part of the value."""
        cursor = Cursor(data, position + self.lead, byte_order=self.format.byte_order, error=MalformedFile)
        positions = []
        for code in self.forms:
            start = cursor.position
            read_value(cursor, code, self.format)
            positions.append((start, cursor.position))
        return positions


class Family:
    """The layouts of one format of units."""

    def __init__(self, format: Format) -> None:
        self.format = format
        every = ((code, fixed_size(form.encoding, format)) for code, form in FORMS.items())
        self.sizes = {code: size for code, size in every if size is not None}
        """The size of the values of each form that has a fixed one."""
        self.layouts: dict[tuple[int, tuple[int, ...]], EntryLayout] = {}

    def layout(self, lead: int, forms: tuple[int, ...]) -> EntryLayout:
        """Return the layout of entries with a code of ``lead`` bytes and these forms."""
        known = self.layouts.get((lead, forms))
        if known is None:
            if len(self.layouts) > MAX_LAYOUTS:
                self.layouts.clear()
            known = self.layouts[lead, forms] = EntryLayout(lead, forms, self)
        return known

    def fixed_size(self, lead: int, forms: tuple[int, ...]) -> int:
        """Return the size of such entries, or -1 if it depends on the entry."""
        sizes = self.sizes
        for code in forms:
            if code not in sizes:
                return -1
            lead += sizes[code]
        return lead


def family(format: Format) -> Family:
    """Return the layouts of a format. Units of all files share them."""
    layouts = _families.get(format)
    if layouts is None:
        layouts = _families[format] = Family(format)
    return layouts
