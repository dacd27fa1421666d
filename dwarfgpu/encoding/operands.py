"""How the operands of operations are encoded: one small reader and writer for each kind.

The kinds are named as in the encoding tables of the standard (DWARF 5, 7.7.1): ``u1`` to ``s8``, ``uleb``, ``sleb``,
``address`` (address size), ``ref`` (offset size, as DW_FORM_ref_addr), ``branch`` (2 bytes, signed), ``block`` and
``expression`` (a ULEB128 length, then bytes), ``block1`` (a 1-byte length, then bytes), ``tail`` (all that is left) and
``encoded`` (a DW_EH_PE byte, then a pointer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import cursor
from dwarfgpu.errors import IllFormed, Unsupported, shown
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder, Cursor


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


def read(kind: str, cursor: Cursor, form: Format) -> Any:
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
        return encoding, read(pointer_kind(encoding), cursor, form)
    length = cursor.unsigned(1) if kind == "block1" else cursor.uleb()
    if length > cursor.remaining:
        message = f"a block of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, "DWARF 5, 7.7.1")
    return cursor.bytes(length)


def write(kind: str, value: Any, form: Format) -> bytes:
    """Encode one operand; out of range is an error, never a truncation."""
    if kind == "uleb":
        if value >> cursor.MAX_BITS:
            raise _out_of_range(kind, value)
        return cursor.encode_unsigned(value)
    if kind == "sleb":
        if not -(1 << 63) <= value < 1 << 63:
            raise _out_of_range(kind, value)
        return cursor.encode_signed(value)
    if kind in BLOCKS:
        data: bytes = value
        if kind == "tail":
            return data
        if kind == "block1":
            return write("u1", len(data), form) + data
        return cursor.encode_unsigned(len(data)) + data
    if kind == "encoded":
        encoding, number = value
        if not 0 <= encoding <= 0xFF:
            raise _out_of_range("u1", encoding)
        return bytes([encoding]) + write(pointer_kind(encoding), number, form)
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
