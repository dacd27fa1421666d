"""Which frame description entry an address has: through ``.eh_frame_hdr``, or by an index of its own.

The header (LSB 5.0, 10.6.2) has a sorted table, of which a look-up reads the rows that it compares. Without one, the
locations of all entries are read once, and nothing else of them.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import FIXED, Format, pointer_kind
from dwarfgpu.encoding.pointers import Bases, read_pointer
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import following
from dwarfgpu.objfile.frames.frame_section import Fde
from dwarfgpu.objfile.info.pc_ranges import Ranges
from dwarfgpu.objfile.info.readers import CODES, order_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.objfile.frames.frame_section import Entry, FrameSection

EH_FRAME_HDR = ".eh_frame_hdr"
SPEC = "LSB 5.0, 10.6.2"
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
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.row(middle)[0] <= address:
                low = middle + 1
            else:
                high = middle
        return self.row(low - 1) if low else None


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
        raise Unsupported("bad_version", message, spec=SPEC).at(section=EH_FRAME_HDR, offset=0)
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
        raise cursor.fail("truncated", message, SPEC)
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
        """Return the entry that the header's table gives for an address, if it is right.

        The table is only a shortcut.
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
        return entry if isinstance(entry, Fde) and entry.covers(address) else None

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
