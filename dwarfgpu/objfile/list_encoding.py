"""Location lists and range lists: entries, addresses, and the offsets before them (DWARF 5 section 2.6.2 and 2.17.3).

The name of a section says how its lists are encoded: ``.debug_loclists`` and ``.debug_rnglists`` as 7.7.3 and 7.25 say,
``.debug_loc`` and ``.debug_ranges`` as pairs of addresses, and ``.debug_loc.dwo`` in GNU's form. All are read as the
kinds of version 5 that they mean. Which entries of a location list apply at a program location is said in A.2.5.5.

A linker that drops a function keeps its debug information, with a *tombstone* where the address was. All ones
is one in version 5; before, where all ones mark a base address, all ones minus one. An entry that starts at a
tombstone, or counts from one, is *dead*: its range is empty, so it never matches, but it is still listed. What linkers
leave by default, 0 and (in ``.debug_loc`` and ``.debug_ranges``) 1, cannot be told from an address here: only a caller
that knows where code begins can leave such ranges out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.immutable import field, frozen, immutable
from dwarfgpu.objfile import contributions

AddressAt: TypeAlias = Callable[[int], int]
"""The address with an index in the unit's ``.debug_addr`` table."""

MAX_ENTRIES = 1 << 20
"""A longer list is refused: no producer writes one, and a broken section must not fill the memory."""

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder

_LOCATIONS = ("", "x", "xxE", "xuE", "uuE", "E", "a", "aaE", "auE", "uu")
"""For each kind of an entry (DW_LLE) its operands: ``a`` an address, ``x`` the index of one, ``u`` an offset or length,
``E`` an expression after its length."""
_GNU_SPLIT = ("", "x", "xxe", "x4e", "44e")
"""Those of ``.debug_loc.dwo`` (GCC wiki, DebugFission): ``4`` has 4 bytes, and the length before ``e`` has 2."""
_RANGES = tuple(_LOCATIONS[kind].rstrip("E") for kind in range(9) if kind != dw.DW_LLE_default_location)
"""Range lists (DW_RLE) have no default entry, so that from there on their numbers are one less."""


@frozen
class ListContext:
    """What the entries of a list depend on."""

    address_size: int = 8
    byte_order: ByteOrder = "little"
    base: int | None = None
    """The base address of the unit: its DW_AT_low_pc (DWARF 5, 3.1.1)."""
    address_at: AddressAt | None = None
    last: int = field(init=False, eq=False)
    """The last address."""

    @last.default
    def _last(self) -> int:
        return (1 << 8 * self.address_size) - 1


@immutable
class RawEntry:
    """One entry as it is encoded."""

    offset: int
    kind: int
    operands: tuple[int, ...]
    expression: bytes | None = None
    expression_offset: int = 0


class ListReading:
    """The entries of one list, read one after the other; what stops the reading is kept in ``error``.

    Entries before an error are good. An entry whose addresses make no sense is an error as well, but hides no other.
    ``end`` bounds the list if the end of its table is known.
    """

    __slots__ = ("cursor", "entries", "error")

    def __init__(self, data: bytes, offset: int, section: str, context: ListContext, end: int | None = None) -> None:
        if offset < 0:
            message = f"a list cannot begin at {offset}"
            raise MalformedFile("bad_offset", message, spec="DWARF 5, 7.5.5").at(section=section)
        self.cursor = Cursor(data, offset, end, byte_order=context.byte_order, error=MalformedFile, section=section)
        contributions.check_address_size(self.cursor, context.address_size)
        self.entries = _entries(self.cursor, section, context.address_size)
        self.error: DwarfGpuError | None = None

    def __iter__(self) -> Iterator[RawEntry]:
        try:
            for count, entry in enumerate(self.entries):
                if count == MAX_ENTRIES:
                    message = f"a list has more than {MAX_ENTRIES} entries"
                    raise self.cursor.fail("limit_exceeded", message, "DWARF 5, 2.6.2")
                yield entry
        except DwarfGpuError as error:
            self.note(error, self.cursor.position)

    def note(self, error: DwarfGpuError, offset: int) -> None:
        """Keep the first error."""
        if self.error is None:
            self.error = error.at(section=self.cursor.section, offset=offset)


def _entries(cursor: Cursor, section: str, address_size: int) -> Iterator[RawEntry]:
    if section.startswith(".debug_loclists"):
        return _of_kinds(cursor, address_size, _LOCATIONS, "location", "7.7.3")
    if section.startswith(".debug_loc"):
        is_gnu = section.endswith(".dwo")
        return (
            _of_kinds(cursor, address_size, _GNU_SPLIT, "GNU location", "7.7.3")
            if is_gnu
            else _pairs(cursor, address_size, "e")
        )
    if section.startswith(".debug_ranges"):
        return _pairs(cursor, address_size, "a")
    return _of_kinds(cursor, address_size, _RANGES, "range", "7.25")


def _of_kinds(cursor: Cursor, address_size: int, kinds: tuple[str, ...], name: str, clause: str) -> Iterator[RawEntry]:
    data, end = cursor.data, cursor.end
    while True:
        offset = cursor.position
        kind = data[offset] if offset < end else cursor.unsigned(1)
        cursor.position = offset + 1
        if kind == dw.DW_LLE_end_of_list:
            return
        if kind >= len(kinds):
            message = f"the {name} list entry kind {kind:#x} is not known"
            raise cursor.fail("unknown_entry_kind", message, f"DWARF 5, {clause}", offset)
        letters = kinds[kind]
        if kinds is _RANGES and kind >= dw.DW_LLE_default_location:
            kind += 1
        operands: tuple[int, ...] = ()
        for letter in letters:
            if letter in "xu":
                operands += (cursor.uleb(),)
            elif letter not in "eE":
                operands += (cursor.unsigned(4 if letter == "4" else address_size),)
        yield _entry(cursor, offset, kind, operands, letter)


def _pairs(cursor: Cursor, address_size: int, expression: str) -> Iterator[RawEntry]:
    """Yield the pairs of ``.debug_loc``, with their expressions, or of ``.debug_ranges``, without the end (0, 0).

    A pair counts from the base address, unless the first is all ones: then the second is the new base address
    (DWARF 4, 2.6.2 and 2.17.3).
    """
    all_ones = (1 << 8 * address_size) - 1
    while True:
        offset = cursor.position
        begin, end = cursor.unsigned(address_size), cursor.unsigned(address_size)
        if begin == end == 0:
            return
        if begin == all_ones:
            yield RawEntry(offset, dw.DW_LLE_base_address, (end,))
        else:
            yield _entry(cursor, offset, dw.DW_LLE_offset_pair, (begin, end), expression)


def _entry(cursor: Cursor, offset: int, kind: int, operands: tuple[int, ...], expression: str) -> RawEntry:
    if expression not in "eE":
        return RawEntry(offset, kind, operands)
    length = cursor.uleb() if expression == "E" else cursor.unsigned(2)
    start = cursor.position
    return RawEntry(offset, kind, operands, cursor.bytes(length), start)


@cache
def kind_name(kind: int, section: str) -> str:
    """Return the name of an entry kind as the standard or GNU writes it; before version 5 kinds have no names."""
    if section.startswith(".debug_loclists"):
        return dw.name_of("DW_LLE", kind)
    if section.startswith(".debug_rnglists"):
        return dw.name_of("DW_RLE", kind - (kind > dw.DW_LLE_default_location))
    return dw.name_of("DW_LLE_GNU", kind) if section.startswith(".debug_loc") and section.endswith(".dwo") else ""


@frozen
class ListEntry:
    """One entry that is valid for a range: an operation expression in a location list, only the range in a range list.

    An entry with start == end is empty: it never matches.
    """

    start: int
    """The lowest address; 0 for the default entry."""
    end: int
    """The first address past the range."""
    offset: int
    default: bool = False
    """Whether it is valid wherever no bounded entry is."""
    expression: bytes = b""
    expression_offset: int = 0
    """The offset of its expression there."""
    views: tuple[int, int] | None = None
    """The location views of GCC at start and end, which tell places of one address apart; not used here."""

    def covers(self, pc: int) -> bool:
        """Return whether it is a bounded entry whose range holds ``pc``."""
        return self.start <= pc < self.end


@frozen
class EntryList:
    """The entries of one list. Some may be missing when there is an ``error``."""

    section: str
    offset: int
    entries: tuple[ListEntry, ...]
    end: int
    """Where the next list may begin, or where the reading stopped."""
    error: DwarfGpuError | None = None

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges that are not empty, in the order of the list. A list with an error has no answer."""
        if self.error is not None:
            raise self.error.again()
        return [(entry.start, entry.end) for entry in self.entries if entry.start < entry.end]

    def matching(self, pc: int) -> tuple[ListEntry, ...]:
        """Return the entries that apply at a program location (A.2.5.5). A list with an error has no answer."""
        if self.error is not None:
            raise self.error.again()
        return matching(self.entries, pc)


def matching(entries: Sequence[ListEntry], pc: int) -> tuple[ListEntry, ...]:
    """Return the bounded entries whose range holds ``pc``, or else the default ones (A.2.5.5)."""
    bounded = tuple(entry for entry in entries if entry.covers(pc))
    return bounded or tuple(entry for entry in entries if entry.default)


def read_list(data: bytes, offset: int, *, section: str, context: ListContext, end: int | None = None) -> EntryList:
    """Read the list at an offset."""
    reading = ListReading(data, offset, section, context, end)
    bounds = Bounds(context, section)
    entries: list[ListEntry] = []
    views: tuple[int, int] | None = None
    for raw in reading:
        if raw.kind == dw.DW_LLE_GNU_view_pair:
            views = raw.operands[0], raw.operands[1]
            continue
        is_default = raw.kind == dw.DW_LLE_default_location
        try:
            span = (0, 0) if is_default else bounds.of(raw.kind, raw.operands)
        except DwarfGpuError as error:
            reading.note(error, raw.offset)
            views = None
            continue
        if span is not None:
            expression = raw.expression or b""
            entries.append(ListEntry(*span, raw.offset, is_default, expression, raw.expression_offset, views))
            views = None
    return EntryList(section, offset, tuple(entries), reading.cursor.position, reading.error)


def raw_list(
    data: bytes, offset: int, *, section: str, context: ListContext, end: int | None = None
) -> tuple[list[RawEntry], int, DwarfGpuError | None]:
    """Return the entries as they are encoded, where the list ends, and the error that cut it short, if any."""
    reading = ListReading(data, offset, section, context, end)
    return list(reading), reading.cursor.position, reading.error


class Bounds:
    """Turns the operands of entries into addresses, and remembers the applicable base address (DWARF 5, 2.6.2)."""

    __slots__ = ("address_at", "base", "dead", "mask", "relocated")

    def __init__(self, context: ListContext, section: str) -> None:
        before_5 = "lists" not in section
        self.mask = context.last
        self.dead = (self.mask, self.mask - 1) if before_5 else (self.mask,)
        self.relocated = before_5  # whether an offset pair may hold addresses, and so a tombstone
        self.base = context.base
        self.address_at = context.address_at

    def of(self, kind: int, operands: tuple[int, ...]) -> tuple[int, int] | None:
        """Return the range of an entry, with start == end for a dead one; None if the entry sets the base address."""
        if kind == dw.DW_LLE_offset_pair:
            begin, end = operands
            base = self.base
            if self.relocated and begin in self.dead:
                return begin, begin
            if base is None:
                message = "the entry is relative to the base address of its unit, which has none"
                raise MissingContext("unit_base", message, spec="DWARF 5, 2.6.2")
            return (base, base) if base in self.dead else self._checked(base + begin, base + end)
        if kind in (dw.DW_LLE_base_address, dw.DW_LLE_base_addressx):
            self.base = operands[0] if kind == dw.DW_LLE_base_address else self._indexed(operands[0])
            return None
        start, end = operands
        if kind in (dw.DW_LLE_startx_endx, dw.DW_LLE_startx_length):
            start = self._indexed(start)
        if start in self.dead:
            return start, start
        if kind in (dw.DW_LLE_startx_length, dw.DW_LLE_start_length):
            end += start
        elif kind == dw.DW_LLE_startx_endx:
            end = self._indexed(end)
        return self._checked(start, end)

    def _indexed(self, index: int) -> int:
        if self.address_at is None:
            raise MissingContext("debug_addr", f"the entry needs address {index}, but there is no .debug_addr table")
        return self.address_at(index)

    def _checked(self, start: int, end: int) -> tuple[int, int]:
        if start > self.mask:  # counted from a base above: addresses wrap around
            start &= self.mask
            end &= self.mask
        if end > self.mask + 1:  # the end may be the address after the last one
            message = f"the range ends at {end:#x}, past the last address"
            raise MalformedFile("address_overflow", message, spec="DWARF 5, 2.6.2")
        if start > end:
            message = f"the range begins at {start:#x}, after its end {end:#x}"
            raise MalformedFile("bad_range", message, spec="DWARF 5, 2.6.2")
        return start, end


@frozen
class ListTable:
    """A contribution to ``.debug_loclists`` or ``.debug_rnglists``: the lists of one unit (DWARF 5, 7.28 and 7.29)."""

    data: bytes
    header: contributions.TableHeader
    byte_order: ByteOrder
    section: str

    def __len__(self) -> int:
        return self.header.count

    def __getitem__(self, index: int) -> int:
        """Return where the list with an index begins: for DW_FORM_loclistx and DW_FORM_rnglistx (DWARF 5, 7.5.5)."""
        header = self.header
        if not 0 <= index < header.count:
            raise self._error("index_out_of_range", f"there is no list {index}, the table has {header.count}")
        start = header.base + index * header.offset_size
        if start + header.offset_size > header.end:
            raise self._error("truncated", f"the table claims {header.count} offsets, but ends before number {index}")
        place = header.base + int.from_bytes(self.data[start : start + header.offset_size], self.byte_order)
        if place >= header.end:
            raise self._error("bad_offset", f"list {index} begins at {place:#x}, past the end of its table")
        return place

    def __iter__(self) -> Iterator[int]:
        return (self[index] for index in range(len(self)))

    def _error(self, kind: str, message: str) -> MalformedFile:
        error = MalformedFile(kind, message, spec="DWARF 5, 7.28")
        return error.at(section=self.section, offset=self.header.start)  # type: ignore[no-any-return]


def list_table(
    data: bytes, base: int, *, section: str, offset_size: int = 4, byte_order: ByteOrder = "little"
) -> ListTable:
    """Return the table that DW_AT_loclists_base or DW_AT_rnglists_base names."""
    header = contributions.contribution_with_base(data, base, offset_size, byte_order, section)
    return ListTable(data, header, byte_order, section)


def list_table_at(data: bytes, start: int, *, section: str, byte_order: ByteOrder = "little") -> ListTable:
    """Return the table whose header begins at ``start``.

    A split unit has no base, its table is the first of its section.
    """
    return ListTable(data, contributions.contribution_at(data, start, byte_order, section), byte_order, section)


def list_tables(data: bytes, *, section: str, byte_order: ByteOrder = "little") -> Iterator[ListTable | DwarfGpuError]:
    """Yield all tables of a section in order, with an error in place of one that cannot be read."""
    for header in contributions.contributions(data, byte_order, section):
        yield header if isinstance(header, DwarfGpuError) else ListTable(data, header, byte_order, section)
