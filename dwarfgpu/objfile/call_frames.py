"""Call frame information as a file holds it: the entries of ``.debug_frame`` and ``.eh_frame``, and their addresses.

``.debug_frame`` is DWARF 5 section 6.4.1 and A.6.4.1; ``.eh_frame`` is the same with small differences, which the Linux
Standard Base (10.6) and the ABI of each machine describe. This module finds the instructions, and all that their
encoding depends on, and does not interpret them.

An address is looked up through ``.eh_frame_hdr`` (LSB 5.0, 10.6.2), a sorted table of which only the rows are read that
are compared. Without one, the locations of all entries are read once, and nothing else of them.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.budget import remembered
from dwarfgpu.dwarf_constants import DW_EH_PE_absptr, DW_EH_PE_omit
from dwarfgpu.encoding import (
    FIXED,
    Bases,
    Cursor,
    EncodedPointer,
    Format,
    FrameFormat,
    pointer_kind,
    read_pointer,
    read_size,
)
from dwarfgpu.errors import DwarfGpuError, IllFormed, MalformedFile, Unsupported
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.objfile.contributions import ADDRESS_SIZES, each_contribution, following, initial_length
from dwarfgpu.objfile.info.readers import CODES, order_code
from dwarfgpu.objfile.info.scopes import Ranges, is_dead
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder


EH_FRAME = ".eh_frame"
DEBUG_FRAME = ".debug_frame"
VERSIONS = frozenset((1, 3, 4))
"""The versions of .debug_frame in DWARF 2, in DWARF 3, and since DWARF 4; .eh_frame has 1, or 3 from some producers."""


@frozen
class _Head:
    """What every entry begins with."""

    offset: int
    end: int
    offset_size: int
    body: int
    """The position after the id."""
    cie: int | None
    """Where the CIE of an FDE is; None for a CIE."""


class FrameSection:
    """One ``.debug_frame`` or ``.eh_frame``, whose entries are read when they are asked for."""

    def __init__(
        self,
        data: bytes,
        name: str = DEBUG_FRAME,
        *,
        byte_order: ByteOrder = "little",
        address_size: int = 8,
        bases: Bases = Bases(),  # noqa: B008 (immutable)
    ) -> None:
        self.data = data
        self.name = name
        self.byte_order: ByteOrder = byte_order
        self.address_size = address_size
        """The bytes of an address for a CIE that does not say it: before version 4."""
        self.bases = bases
        self.is_eh = name == EH_FRAME
        self._beginnings: set[int] = set()
        self._walked = 0

    def __repr__(self) -> str:
        return f"FrameSection({self.name!r}, {len(self.data)} bytes)"

    def entries(self) -> Iterator[Entry | DwarfGpuError]:
        """Yield all entries in order, with an error in place of a broken one."""
        return each_contribution(self.data, self.byte_order, self.entry_at, lambda entry: entry.end)

    def entry_at(self, offset: int) -> Entry:
        """Read the entry that begins at an offset."""
        try:
            head = self._head(offset)
            if head is None:
                end = offset + 4  # a linker leaves a hole of zero lengths: it is one entry
                while self.data[end : end + 4] == b"\0\0\0\0":
                    end += 4
                return Terminator(self.name, offset, end)
            return self.cie_at(offset) if head.cie is None else self._fde(head, head.cie)
        except DwarfGpuError as error:
            raise error.at(section=self.name, offset=offset) from None

    @remembered
    def cie_at(self, offset: int) -> Cie:
        """Return the CIE at an offset, which is read once; raise an error if no CIE begins there."""
        try:
            head = self._head(offset) if self._begins_cie(offset) else None
            if head is None:
                raise IllFormed("bad_cie", f"no CIE begins at {offset:#x}", spec=SPEC)
            return self._cie(head)
        except DwarfGpuError as error:
            raise error.at(section=self.name, offset=offset) from None

    def _begins_cie(self, offset: int) -> bool:
        """Return whether one of the entries, which follow one another, begins at an offset and is a CIE.

        Bytes in the middle of another entry are not accepted: there could be as many such CIEs as there are bytes, each
        reaching to the end of the section.
        """
        data, order, position = self.data, self.byte_order, self._walked
        cie_id = bytes(4) if self.is_eh else b"\xff" * 4
        while position <= offset and position < len(data):
            length = int.from_bytes(data[position : position + 4], order)
            if 4 <= length < 0xFFFFFFF0:
                is_cie, after = data[position + 4 : position + 8] == cie_id, position + 4 + length
            else:
                is_cie, after = self._unusual_entry(position)
            if is_cie:
                self._beginnings.add(position)
            position = after
        self._walked = position
        return offset in self._beginnings

    def _unusual_entry(self, position: int) -> tuple[bool, int]:
        """Return whether an entry without a plain length is a CIE, and where the next one begins."""
        try:
            head = self._head(position)
        except DwarfGpuError:
            return False, following(self.data, position, self.byte_order) or len(self.data)
        return (False, position + 4) if head is None else (head.cie is None, head.end)

    def _cursor(self, position: int, end: int | None = None) -> Cursor:
        return Cursor(self.data, position, end, byte_order=self.byte_order, error=MalformedFile, section=self.name)

    def _head(self, offset: int) -> _Head | None:
        cursor = self._cursor(offset)
        length, offset_size = initial_length(cursor)
        if length == 0:
            return None
        end = cursor.position + length
        if end > cursor.end:
            message = f"an entry of {length} bytes is longer than the {cursor.remaining} left"
            raise cursor.fail("truncated", message, SPEC, offset)
        cursor.end = end
        field = cursor.position
        # in .eh_frame the id is of 4 bytes in both formats (LSB 5.0, 10.6.1.1.1)
        id_ = cursor.unsigned(4 if self.is_eh else offset_size)
        is_cie = id_ == (0 if self.is_eh else (1 << 8 * offset_size) - 1)
        cie = None if is_cie else field - id_ if self.is_eh else id_
        return _Head(offset, end, offset_size, cursor.position, cie)

    def _cie(self, head: _Head) -> Cie:
        cursor = self._cursor(head.body, head.end)
        version = cursor.unsigned(1)
        if version not in VERSIONS:
            message = f"the CIE has the unknown version {version}; the known ones are 1, 3 and 4"
            raise IllFormed("bad_cie", message, spec="DWARF 5, 7.24")
        augmentation = decode(cursor.string("the augmentation string", SPEC))
        cie = Cie(self.name, head.offset, head.end, head.offset_size, version, augmentation)
        letters = gnu_letters(augmentation)
        if letters is None:
            return cie
        has_eh, letters = letters.startswith("eh"), letters.removeprefix("eh")
        address_size, segment_size = self.address_size, 0
        if version >= 4:
            address_size, segment_size = cursor.unsigned(1), cursor.unsigned(1)
        if address_size not in ADDRESS_SIZES or segment_size > 8:
            field = "an address" if address_size not in ADDRESS_SIZES else "a segment selector"
            size = address_size if field == "an address" else segment_size
            raise IllFormed("bad_cie", f"{field} cannot have {size} bytes", spec=SPEC)
        if has_eh:
            cursor.bytes(address_size)  # the EH Data of GCC 2, for its own use
        code_alignment, data_alignment = cursor.uleb(), cursor.sleb()
        return_address = cursor.unsigned(1) if version == 1 else cursor.uleb()
        form = Format(address_size, head.offset_size, self.byte_order)
        frame_format = FrameFormat(
            form, code_alignment, data_alignment, DW_EH_PE_absptr, self.bases, segment_size=segment_size
        )
        cie = evolve(cie, format=frame_format, return_address=return_address)
        return with_augmentation(cie, letters, cursor)

    def _fde(self, head: _Head, cie_offset: int) -> Fde:
        if cie_offset < 0:
            message = f"its CIE would begin {-cie_offset:#x} bytes before the section"
            raise IllFormed("bad_cie", message, spec=SPEC)
        try:
            cie = self.cie_at(cie_offset)
        except DwarfGpuError as error:
            raise IllFormed("bad_cie", f"its CIE cannot be read: {error}", spec=SPEC) from None
        cursor = self._cursor(head.body, head.end)
        frame_format = cie.format
        if frame_format is None:  # the range can be read, with the addresses of the file
            frame_format = FrameFormat(Format(self.address_size, head.offset_size, self.byte_order))
        segment = cursor.unsigned(frame_format.segment_size) if frame_format.segment_size else None
        low, high = read_range(cursor, frame_format)
        entry = Fde(self.name, head.offset, head.end, cie, low, high, segment=segment)
        if cie.format is None:
            return entry
        data = lsda = None
        function = evolve(frame_format, bases=evolve(frame_format.bases, function=low))
        if cie.augmentation_data is not None:
            data = read_augmentation_data(cursor)
            lsda = read_lsda(cie, function, self._cursor(cursor.position - len(data), cursor.position))
        elif cie.lsda_encoding != DW_EH_PE_omit:
            lsda = read_lsda(cie, function, cursor)
        return evolve(
            entry,
            format=function,
            augmentation_data=data,
            lsda=lsda,
            instructions=self.data[cursor.position : head.end],
            instructions_offset=cursor.position,
        )


# --- The entries of call frame information ------------------------------------------------------------------------
# The augmentation string says what else an entry holds. Strings in the form that A.6.4.1 recommends,
# ``[vendor:v1.2:options]``, add no fields, so entries with them can be read by those who do not know the
# vendor. The letters of GNU can be read, and letters after a ``z`` that are not known can be skipped. With
# any other string, only what A.6.4.1 lists can be read: length, id, version and augmentation of a CIE;
# length, CIE and addresses of an FDE.

SPEC = "A.6.4.1"
_VENDORS = re.compile(r"(?:\[[^\]]*\])*")
_GNU = re.compile(r"(eh)?(z?[^\[\]]*)")


@frozen
class Cie:
    """A common information entry."""

    section: str
    offset: int
    end: int
    """Where the next entry begins."""
    offset_size: int
    """4 in the 32-bit format, 8 in the 64-bit format."""
    version: int
    augmentation: str
    format: FrameFormat | None = None
    """None if the augmentation is unknown: then nothing below could be read either."""
    return_address: int | None = None
    """The column of the return address (return_address_register)."""
    augmentation_data: bytes | None = None
    personality: EncodedPointer | None = None
    lsda_encoding: int = DW_EH_PE_omit
    is_signal_frame: bool = False
    """Whether its frames are those of signal handlers' callers, in which execution is at the address itself."""
    unknown: str = ""
    """The letters of the augmentation that are not known."""
    instructions: bytes = b""
    instructions_offset: int = 0


@frozen
class Fde:
    """A frame description entry: what applies to a range of addresses."""

    section: str
    offset: int
    end: int
    """Where the next entry begins."""
    cie: Cie
    low: int
    """The first address (initial_location)."""
    high: int
    """The address after the last one: initial_location + address_range."""
    format: FrameFormat | None = None
    """The format of the CIE, with the address of the function; None if the augmentation of the CIE is unknown."""
    segment: int | None = None
    augmentation_data: bytes | None = None
    lsda: EncodedPointer | None = None
    """Where the language-specific data for exceptions is."""
    instructions: bytes = b""
    instructions_offset: int = 0

    def covers(self, address: int) -> bool:
        return self.low <= address < self.high


@frozen
class Terminator:
    """A length of zero: the end of ``.eh_frame`` for a runtime that walks it, padding elsewhere."""

    section: str
    offset: int
    end: int


Entry: TypeAlias = "Cie | Fde | Terminator"


def gnu_letters(augmentation: str) -> str | None:
    """Return the letters of GNU in an augmentation string.

    Return None if there are others and no ``z`` by which to skip them.
    """
    match = _GNU.match(augmentation)
    if match is None or not _VENDORS.fullmatch(augmentation, match.end()):
        return None
    letters = match[2]
    return match[0] if letters.startswith("z") or not letters.strip("PLRSBG") else None


def read_augmentation_data(cursor: Cursor) -> bytes:
    """Read the data that follow their size, if the augmentation begins with ``z``."""
    start = cursor.position
    size = cursor.uleb()
    if size > cursor.remaining:
        message = f"augmentation data of {size} bytes is longer than the {cursor.remaining} left"
        error = IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1")
        raise error.at(section=cursor.section, offset=start)
    return cursor.bytes(size)


def with_augmentation(cie: Cie, letters: str, cursor: Cursor) -> Cie:
    """Return a CIE with what its augmentation says. The letters have the order of their data (LSB 5.0, 10.6.1.1.1)."""
    data = None
    inner = cursor
    if letters.startswith("z"):
        data = read_augmentation_data(cursor)
        start, order = cursor.position - len(data), cursor.byte_order
        inner = Cursor(cursor.data, start, cursor.position, byte_order=order, section=cursor.section)
        letters = letters[1:]
    frame_format = cie.format or FrameFormat()
    personality, lsda, signal, unknown = None, DW_EH_PE_omit, False, ""
    try:
        for i, letter in enumerate(letters):
            if letter == "R":
                frame_format = evolve(frame_format, pointers=inner.unsigned(1))
            elif letter == "L":
                lsda = inner.unsigned(1)
            elif letter == "P":
                encoding = inner.unsigned(1)
                if encoding != DW_EH_PE_omit:
                    personality = read_pointer(inner, encoding, frame_format.form, frame_format.bases)
            elif letter == "S":
                signal = True
            elif letter not in "BG":  # B and G say how AArch64 signs and tags, and have no data
                unknown = letters[i:]
                break
        if "R" in unknown:
            message = f"the encoding of locations follows the unknown augmentation letter {unknown[0]!r}"
            raise IllFormed("bad_augmentation", message, spec=SPEC)
    except DwarfGpuError as error:
        if error.kind != "truncated":
            raise
        message = f"the augmentation {cie.augmentation!r} needs more data than the {len(data or b'')} bytes there are"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.1.1") from None
    return evolve(
        cie,
        format=frame_format,
        augmentation_data=data,
        personality=personality,
        lsda_encoding=lsda,
        is_signal_frame=signal,
        unknown=unknown,
        instructions=cursor.data[cursor.position : cursor.end],
        instructions_offset=cursor.position,
    )


def read_range(cursor: Cursor, frame_format: FrameFormat) -> tuple[int, int]:
    """Read the addresses of an FDE: none if a linker has put a tombstone for code that it dropped."""
    encoding, form = frame_format.pointers, frame_format.form
    start = cursor.position
    if encoding == DW_EH_PE_omit:
        raise IllFormed("bad_augmentation", "the augmentation omits the location of the entry", spec=SPEC)
    pointer = read_pointer(cursor, encoding, form, frame_format.bases)
    if pointer.indirect:
        message = f"the location of the entry is in memory at {pointer.address:#x}, not in the file"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    size = read_size(cursor, encoding, form)
    if is_dead(pointer.address, form.address_size):
        return pointer.address, pointer.address
    if size < 0 or pointer.address + size > 1 << 8 * form.address_size:
        message = f"the range of {size:#x} bytes from {pointer.address:#x} goes past the last address"
        raise cursor.fail("overflow", message, SPEC, start)
    return pointer.address, pointer.address + size


def read_lsda(cie: Cie, frame_format: FrameFormat, cursor: Cursor) -> EncodedPointer | None:
    """Read the pointer to language-specific data of an FDE."""
    if cie.lsda_encoding == DW_EH_PE_omit or (cie.augmentation_data is not None and not cursor.remaining):
        return None
    try:
        pointer = read_pointer(cursor, cie.lsda_encoding, frame_format.form, frame_format.bases)
    except DwarfGpuError as error:
        message = f"the pointer to language-specific data cannot be read: {error.message}"
        raise IllFormed("bad_augmentation", message, spec="LSB 5.0, 10.6.1.2") from None
    return None if pointer.is_null else pointer


EH_FRAME_HDR = ".eh_frame_hdr"
HEADER_SPEC = "LSB 5.0, 10.6.2"
MAX_PROBLEMS = 1000


@frozen
class SearchTable:
    """``.eh_frame_hdr``: where ``.eh_frame`` is, and a table of locations and entries, sorted by location."""

    data: bytes
    form: Format
    bases: Bases
    eh_frame: int | None
    """The address of .eh_frame."""
    count: int
    encoding: int
    """How the numbers of the table are encoded."""
    table: int
    """Where the table begins."""

    @property
    def end(self) -> int:
        """Where the table ends."""
        return self.table + 2 * (_fixed_size(self.encoding, self.form) or 0) * self.count

    def row(self, index: int) -> tuple[int, int]:
        """Return a location, and the address of the entry that begins there."""
        size = _fixed_size(self.encoding, self.form) or 0
        position, order = self.table + 2 * size * index, self.form.byte_order
        cursor = Cursor(self.data, position, byte_order=order, error=MalformedFile, section=EH_FRAME_HDR)
        location = read_pointer(cursor, self.encoding, self.form, self.bases)
        entry = read_pointer(cursor, self.encoding, self.form, self.bases)
        return location.address, entry.address

    def find(self, address: int) -> tuple[int, int] | None:
        """Return the last row whose location is not after an address."""
        behind = bisect_right(range(self.count), address, key=lambda index: self.row(index)[0])
        return self.row(behind - 1) if behind else None


def read_frame_header(
    data: bytes, *, address: int = 0, byte_order: ByteOrder = "little", address_size: int = 8
) -> SearchTable | None:
    """Read the header; return None for one without a table that can be searched."""
    form = Format(address_size, 4, byte_order)
    bases = Bases(section=address, data=address)  # data-relative: relative to the header (LSB 5.0, 10.6.2)
    cursor = Cursor(data, byte_order=byte_order, error=MalformedFile, section=EH_FRAME_HDR)
    version = cursor.unsigned(1)
    if version != 1:
        message = f"version {version} of this header is not known"
        raise Unsupported("bad_version", message, spec=HEADER_SPEC).at(section=EH_FRAME_HDR, offset=0)
    frame_encoding, count_encoding, encoding = (cursor.unsigned(1) for _ in range(3))
    if dw.DW_EH_PE_omit in (count_encoding, encoding):
        return None
    has_frame = frame_encoding != dw.DW_EH_PE_omit
    where = read_pointer(cursor, frame_encoding, form, bases).address if has_frame else None
    count = read_pointer(cursor, count_encoding, form, bases).address
    try:
        size = _fixed_size(encoding, form)
    except Unsupported as error:
        raise error.at(section=EH_FRAME_HDR, offset=3) from None
    if size is None:
        return None
    if 2 * size * count > cursor.remaining:
        message = f"a table of {count} entries is longer than the {cursor.remaining} bytes left"
        raise cursor.fail("truncated", message, HEADER_SPEC)
    return SearchTable(data, form, bases, where, count, encoding, cursor.position)


def _fixed_size(encoding: int, form: Format) -> int | None:
    """Return the bytes of a number, or None if they differ, so that the table cannot be searched."""
    kind = pointer_kind(encoding)
    return form.address_size if kind == "address" else FIXED.get(kind)


class FdeIndex:
    """The entries of a section by address. ``problems`` has the errors met on the way."""

    def __init__(self, section: FrameSection, header: SearchTable | None = None) -> None:
        self.section = section
        self.header = header
        self.problems: list[DwarfGpuError] = []

    def fde_at(self, address: int) -> Fde | None:
        """Return the entry that covers an address; of several the one that begins last.

        A broken one raises its error.
        """
        entry = self._through_header(address)
        if entry is not None:
            return entry
        return next(self._fdes(reversed(self.ranges.at(address))), None)

    def fdes_at(self, address: int) -> list[Fde]:
        """Return all entries that cover an address: in a file that is not linked there may be several."""
        return list(self._fdes(self.ranges.at(address)))

    def each_at(self, address: int) -> Iterator[Fde]:
        """Yield all entries that cover an address: with a header, first the one that its table leads to.

        Only for others the section is read. Of entries that overlap, the one that begins last comes first then.
        """
        first = self._through_header(address)
        if first is not None:
            yield first
        others = self.ranges.at(address)[:: -1 if self.header is not None else 1]
        yield from self._fdes(offset for offset in others if first is None or offset != first.offset)

    def fdes_between(self, low: int, high: int) -> list[Fde]:
        """Return all entries that cover an address from ``low`` up to ``high``."""
        return list(self._fdes(self.ranges.between(low, high)))

    def _fdes(self, offsets: Iterable[int]) -> Iterator[Fde]:
        """Yield the entries at these offsets. If all are broken, raise the error of the first."""
        is_found = False
        broken: DwarfGpuError | None = None
        for offset in offsets:
            try:
                entry = self.section.entry_at(offset)
            except DwarfGpuError as error:
                broken = broken or error
                continue
            if isinstance(entry, Fde):
                is_found = True
                yield entry
        if broken is not None and not is_found:
            raise broken

    @cached_property
    def ranges(self) -> Ranges:
        """The ranges of all entries that can be read, each with the offset of its entry."""
        return Ranges(self._spans())

    def _through_header(self, address: int) -> Fde | None:
        """Return the entry that the header's table gives for an address, if it begins where the table says.

        The table is only a shortcut: if it is wrong, the section has the answer.
        """
        if self.header is None:
            return None
        try:
            row = self.header.find(address)
            if row is None:
                return None
            entry = self.section.entry_at(row[1] - self.section.bases.section)
        except DwarfGpuError as error:
            self._note(error)
            return None
        return entry if isinstance(entry, Fde) and entry.covers(address) and entry.low == row[0] else None

    def _note(self, error: DwarfGpuError) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(error)

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and offset of each entry. Those in the plain form, nearly all, are not decoded for it."""
        section = self.section
        data, is_eh = section.data, section.is_eh
        head = struct.Struct(("<" if section.byte_order == "little" else ">") + "II").unpack_from
        cie_id = 0 if is_eh else 0xFFFFFFFF
        layouts: dict[int, _Layout | None] = {}
        position, end = 0, len(data)
        while position < end:
            length, id_ = head(data, position) if position + 8 <= end else (0, 0)
            after = position + 4 + length
            if 8 <= length < 0xFFFFFFF0 and after <= end:
                if id_ == cie_id:
                    position = after
                    continue
                cie = position + 4 - id_ if is_eh else id_
                if cie not in layouts:
                    layouts[cie] = self._layout(cie)
                layout = layouts[cie]
                if layout is not None and layout.size <= length - 4:
                    low, size = layout.unpack(data, position + 8)
                    if layout.pcrel is not None:
                        low += layout.pcrel + position + 8
                    low &= layout.mask
                    if 0 <= size <= layout.mask + 1 - low or low >= layout.mask - 1:
                        if size and low < layout.mask - 1:  # from there on there are only tombstones
                            yield low, low + size, position
                        position = after
                        continue
            entry = self._decoded(position)
            if isinstance(entry, Fde) and entry.low < entry.high:
                yield entry.low, entry.high, position
            position = entry.end if entry is not None else following(data, position, section.byte_order) or end

    def _decoded(self, position: int) -> Entry | None:
        try:
            return self.section.entry_at(position)
        except DwarfGpuError as error:
            self._note(error)
            return None

    def _layout(self, offset: int) -> _Layout | None:
        """Return how the entries of a CIE begin, if that is two numbers of a fixed size."""
        try:
            frame_format = self.section.cie_at(offset).format
        except DwarfGpuError:
            return None
        if frame_format is None or frame_format.segment_size:
            return None
        encoding, form = frame_format.pointers, frame_format.form
        kind = _PLAIN.get(encoding & ~dw.DW_EH_PE_pcrel)
        if kind is None:
            return None
        size = form.address_size if kind == "address" else FIXED[kind]
        code = CODES[size].lower() if kind[0] == "s" else CODES[size]
        pair = struct.Struct(f"{order_code(form)}{code}{code}")
        pcrel = self.section.bases.section if encoding & dw.DW_EH_PE_pcrel else None
        return _Layout(pair.unpack_from, 2 * size, (1 << 8 * form.address_size) - 1, pcrel)


_PLAIN = {
    dw.DW_EH_PE_absptr: "address",
    dw.DW_EH_PE_udata2: "u2",
    dw.DW_EH_PE_udata4: "u4",
    dw.DW_EH_PE_udata8: "u8",
    dw.DW_EH_PE_sdata2: "s2",
    dw.DW_EH_PE_sdata4: "s4",
    dw.DW_EH_PE_sdata8: "s8",
}
"""The pointer encodings of a fixed size, absolute or (with PCREL) relative to their own place."""


@frozen
class _Layout:
    unpack: Callable[[bytes, int], tuple[int, int]]
    size: int
    mask: int
    pcrel: int | None
    """The address of the section, where locations count from their own place."""
