"""How DWARF and .eh_frame encode numbers, blocks, the operands of operations, and pointers.

- `Cursor` reads over bytes; it knows where it is, and never reads past its end.
- `read_operand` and `write_operand` know the kinds of operands, named as in the encoding tables of the standard
  (DWARF 5, 7.7.1): ``u1`` to ``s8``, ``uleb``, ``sleb``, ``address`` (address size), ``ref`` (offset size, as
  DW_FORM_ref_addr), ``branch`` (2 bytes, signed), ``block`` and ``expression`` (a ULEB128 length, then bytes),
  ``block1`` (a 1-byte length, then bytes), ``tail`` (all that is left), ``encoded`` (a DW_EH_PE byte, then a pointer).
- `read_pointer` reads the pointers of ``.eh_frame`` and ``.eh_frame_hdr`` (Linux Standard Base, 10.5.1). One byte says
  how the number is encoded (its low four bits) and what it is relative to (the next three). The highest bit means that
  the number is the address of a stored address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import names
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported, shown
from dwarfgpu.immutable import field, frozen

if TYPE_CHECKING:
    ByteOrder = Literal["little", "big"]


_WIDE = 77
"""From so many bits on, the bytes of a LEB128 number can only repeat its sign."""


class Cursor:
    """A reader of numbers and blocks from ``data[position:end]``.

    ``error`` is the class of the errors it raises: ill-formed for an expression, malformed for a section.
    """

    __slots__ = ("byte_order", "data", "end", "error", "position", "section")

    def __init__(
        self,
        data: bytes,
        position: int = 0,
        end: int | None = None,
        *,
        byte_order: ByteOrder = "little",
        error: type[DwarfGpuError] = IllFormed,
        section: str | None = None,
    ) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else min(end, len(data))
        self.byte_order: ByteOrder = byte_order
        self.error = error
        self.section = section

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def fail(self, kind: str, message: str, spec: str, offset: int | None = None) -> DwarfGpuError:
        """Make the error of this cursor, standing at ``offset`` or here."""
        error = self.error(kind, message, spec=spec)
        return error.at(section=self.section, offset=self.position if offset is None else offset)  # type: ignore[no-any-return]

    def string(self, what: str, spec: str) -> bytes:
        """Read the bytes up to a zero byte; ``what`` has no end if there is none."""
        end = self.data.find(b"\0", self.position, self.end)
        if end < 0:
            raise self.fail("truncated", f"{what} has no end", spec)
        data = self.data[self.position : end]
        self.position = end + 1
        return data

    def bytes(self, size: int) -> bytes:
        start = self.position
        stop = start + size
        if stop > self.end:
            left = max(0, self.remaining)
            raise self.fail("truncated", f"{size} bytes are needed, {left} are left", "DWARF 5, 7")
        self.position = stop
        return self.data[start:stop]

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), self.byte_order)

    def signed(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), self.byte_order, signed=True)

    def uleb(self) -> int:
        data, position, end = self.data, self.position, self.end
        if position + 2 < end:  # almost every one has three bytes at most
            first = data[position]
            if first < 0x80:
                self.position = position + 1
                return first
            second = data[position + 1]
            if second < 0x80:
                self.position = position + 2
                return first + (second << 7) - 0x80
            if data[position + 2] < 0x80:
                self.position = position + 3
                return first + (second << 7) + (data[position + 2] << 14) - 0x4080
        result, _ = self._leb(position)
        if result >> MAX_BITS:
            message = "an unsigned LEB128 number has more than 64 bits"
            raise self.fail("leb128_overflow", message, "DWARF 5, 7.6", position)
        return result

    def sleb(self) -> int:
        start = self.position
        result, width = self._leb(start)
        if result >> (width - 1):
            result -= 1 << width
        if not -(1 << (MAX_BITS - 1)) <= result < 1 << (MAX_BITS - 1):
            raise self.fail("leb128_overflow", "a signed LEB128 number has more than 64 bits", "DWARF 5, 7.6", start)
        return result

    def _leb(self, start: int) -> tuple[int, int]:
        """Return the bits of a LEB128 number and how many there are."""
        data, position, end = self.data, start, self.end
        result = shift = 0
        while position < end:
            byte = data[position]
            position += 1
            if shift < _WIDE:
                result |= (byte & 0x7F) << shift
                shift += 7
            elif byte & 0x7F != (0x7F if result >> (_WIDE - 1) else 0):  # not padding: stop before it gets slow
                raise self.fail("leb128_overflow", "a LEB128 number has more than 64 bits", "DWARF 5, 7.6", start)
            if byte < 0x80:
                self.position = position
                return result, shift
        raise self.fail("truncated", "a LEB128 number has no last byte", "DWARF 5, 7.6", start)


MAX_BITS = 64
"""No number of DWARF needs more; one that does is an error, while redundant padding of a small one is not."""


def encode_unsigned(value: int) -> bytes:
    """Encode an unsigned number in as few bytes as it needs."""
    if value < 0:
        raise IllFormed("bad_operand", f"an unsigned LEB128 number cannot be {shown(value)}", spec="DWARF 5, 7.6")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_signed(value: int) -> bytes:
    """Encode a signed number in as few bytes as it needs."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


# --- Operands ---------------------------------------------------------------------------------------------------------


@frozen
class Format:
    """The format of encoded expressions: the sizes and the byte order of their unit.

    >>> import dwarfgpu as dg
    >>> dg.Format(address_size=4).byte_order
    'little'
    """

    address_size: int = 8
    offset_size: int = 4
    byte_order: ByteOrder = "little"
    version: int = 5

    @property
    def reference_size(self) -> int:
        """Size of DW_FORM_ref_addr: the offset size, but an address in DWARF 2 (DWARF 3, 7.5.4)."""
        return self.address_size if self.version == 2 else self.offset_size


def dwarf_format(offset_size: int) -> str:
    """Return what DWARF calls the format of a unit or a table (DWARF 5, 7.4)."""
    return "DWARF64" if offset_size == 8 else "DWARF32"


FIXED = {"u1": 1, "s1": 1, "u2": 2, "s2": 2, "u4": 4, "s4": 4, "u8": 8, "s8": 8, "branch": 2}
BLOCKS = frozenset(("block", "block1", "expression", "tail"))
KINDS = frozenset((*FIXED, *BLOCKS, "uleb", "sleb", "address", "ref", "encoded"))


def read_operand(kind: str, cursor: Cursor, form: Format) -> Any:
    """Read one operand: an int, bytes, or for ``encoded`` the pair of encoding and number."""
    if kind == "uleb":
        return cursor.uleb()
    if kind == "sleb":
        return cursor.sleb()
    size = FIXED.get(kind)
    if size is not None:
        return cursor.unsigned(size) if kind[0] == "u" else cursor.signed(size)
    if kind == "address":
        return cursor.unsigned(form.address_size)
    if kind == "ref":
        return cursor.unsigned(form.reference_size)
    if kind == "tail":
        return cursor.bytes(cursor.remaining)
    if kind == "encoded":
        encoding = cursor.unsigned(1)
        return encoding, read_operand(pointer_kind(encoding), cursor, form)
    length = cursor.unsigned(1) if kind == "block1" else cursor.uleb()
    if length > cursor.remaining:
        message = f"a block of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, "DWARF 5, 7.7.1")
    return cursor.bytes(length)


def write_operand(kind: str, value: Any, form: Format) -> bytes:
    """Encode one operand; out of range is an error, never a truncation."""
    if kind == "uleb":
        if value >> MAX_BITS:
            raise _out_of_range(kind, value)
        return encode_unsigned(value)
    if kind == "sleb":
        if not -(1 << 63) <= value < 1 << 63:
            raise _out_of_range(kind, value)
        return encode_signed(value)
    if kind in BLOCKS:
        data: bytes = value
        if kind == "tail":
            return data
        if kind == "block1":
            return write_operand("u1", len(data), form) + data
        return encode_unsigned(len(data)) + data
    if kind == "encoded":
        encoding, number = value
        if not 0 <= encoding <= 0xFF:
            raise _out_of_range("u1", encoding)
        return bytes([encoding]) + write_operand(pointer_kind(encoding), number, form)
    size = FIXED.get(kind) or (form.address_size if kind == "address" else form.reference_size)
    try:
        return int(value).to_bytes(size, form.byte_order, signed=kind[0] in "sb")
    except OverflowError:
        raise _out_of_range(kind, value) from None


def _out_of_range(kind: str, value: int) -> IllFormed:
    message = f"the operand {shown(value)} does not fit its encoding ({kind})"
    return IllFormed("bad_operand", message, spec="DWARF 5, 7.7.1")


# The low four bits of a pointer encoding (Linux Standard Base 10.5.1).
_POINTER_KINDS = {
    dw.DW_EH_PE_absptr: "address",
    dw.DW_EH_PE_uleb128: "uleb",
    dw.DW_EH_PE_udata2: "u2",
    dw.DW_EH_PE_udata4: "u4",
    dw.DW_EH_PE_udata8: "u8",
    dw.DW_EH_PE_sleb128: "sleb",
    dw.DW_EH_PE_sdata2: "s2",
    dw.DW_EH_PE_sdata4: "s4",
    dw.DW_EH_PE_sdata8: "s8",
}


def pointer_kind(encoding: int) -> str:
    """Return how the number of an encoded pointer is encoded; its high four bits say what it is relative to."""
    kind = _POINTER_KINDS.get(encoding & 0x0F)
    if kind is None:
        message = f"the pointer encoding {encoding:#x} is not defined"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
    return kind


# --- Pointers ---------------------------------------------------------------------------------------------------------


_FORMAT, _APPLICATION = 0x0F, 0x70


@frozen
class Bases:
    """The addresses that encoded pointers are relative to; None where one is not known."""

    section: int = 0
    """The address of the section that contains the pointers."""
    text: int | None = None
    data: int | None = None
    function: int | None = None
    """The start of the function of the frame description entry."""


@frozen
class EncodedPointer:
    """A pointer as it is stored in a section."""

    address: int
    indirect: bool = False
    """Whether ``address`` is where the pointer is, which only the memory of the program knows."""
    is_null: bool = False
    """Whether the number is 0, which means no pointer where a pointer is optional."""


def read_pointer(cursor: Cursor, encoding: int, form: Format, bases: Bases) -> EncodedPointer:
    """Read a pointer that is there: the encoding is not DW_EH_PE_omit."""
    start = cursor.position
    mask = (1 << 8 * form.address_size) - 1
    indirect = bool(encoding & dw.DW_EH_PE_indirect)
    application = encoding & _APPLICATION
    if application == dw.DW_EH_PE_aligned:
        cursor.bytes(-(bases.section + start) % form.address_size)
        number = cursor.unsigned(form.address_size)
        return EncodedPointer(number, indirect, number == 0)
    known = {
        0: 0,
        dw.DW_EH_PE_pcrel: bases.section + start,
        dw.DW_EH_PE_textrel: bases.text,
        dw.DW_EH_PE_datarel: bases.data,
        dw.DW_EH_PE_funcrel: bases.function,
    }
    base = known.get(application)
    if base is None:
        name = names("DW_EH_PE").get(application, "not defined").removeprefix("DW_EH_PE_")
        message = f"what pointers with the encoding {encoding:#x} ({name}) count from is not known"
        raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1").at(section=cursor.section, offset=start)
    try:
        kind = pointer_kind(encoding)
    except Unsupported as error:
        raise error.at(section=cursor.section, offset=start) from None
    number = read_operand(kind, cursor, form)
    return EncodedPointer((base + number) & mask, indirect, number == 0)


def read_size(cursor: Cursor, encoding: int, form: Format) -> int:
    """Read a size, which is encoded like a pointer but not relative to anything."""
    if encoding & _APPLICATION == dw.DW_EH_PE_aligned:
        return cursor.unsigned(form.address_size)
    size: int = read_operand(pointer_kind(encoding), cursor, form)
    return size


def encoding_text(encoding: int) -> str:
    """Return the name of an encoding, such as ``pcrel sdata4`` or ``omit``."""
    if encoding == dw.DW_EH_PE_omit:
        return "omit"
    if encoding & _APPLICATION == dw.DW_EH_PE_aligned:
        return "aligned"
    known = names("DW_EH_PE")
    parts = [*filter(None, (encoding & dw.DW_EH_PE_indirect, encoding & _APPLICATION)), encoding & _FORMAT]
    if parts[-1] == dw.DW_EH_PE_signed or any(part not in known for part in parts):
        return f"{encoding:#x}"
    return " ".join(known[part].removeprefix("DW_EH_PE_") for part in parts)


@frozen
class FrameFormat:
    """The encoding of the instructions of a common information entry, and of the entries that refer to it."""

    form: Format = field(factory=Format)
    code_alignment: int = 1
    """The factor of advances (code_alignment_factor)."""
    data_alignment: int = 1
    """The factor of factored offsets (data_alignment_factor)."""
    pointers: int = dw.DW_EH_PE_absptr
    """The encoding of addresses."""
    bases: Bases = field(factory=Bases)
    segment_size: int = 0
    """Bytes of a segment selector before the first address of an entry."""
