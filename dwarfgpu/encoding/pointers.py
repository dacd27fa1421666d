"""Encoded pointers: how ``.eh_frame`` and ``.eh_frame_hdr`` hold addresses (DW_EH_PE; Linux Standard Base, 10.5.1).

One byte says how the number is encoded (its low four bits) and what it is relative to (the next three). The highest
bit means that the number is the address of a stored address.
"""

from __future__ import annotations

from attrs import field

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import names
from dwarfgpu.encoding import operands
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import Unsupported
from dwarfgpu.immutable import frozen

SPEC = "LSB 5.0, 10.5.1"


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
        raise Unsupported("pointer_encoding", message, spec=SPEC).at(section=cursor.section, offset=start)
    try:
        kind = operands.pointer_kind(encoding)
    except Unsupported as error:
        raise error.at(section=cursor.section, offset=start) from None
    number = operands.read(kind, cursor, form)
    return EncodedPointer((base + number) & mask, indirect, number == 0)


def read_size(cursor: Cursor, encoding: int, form: Format) -> int:
    """Read a size, which is encoded like a pointer but not relative to anything."""
    if encoding & _APPLICATION == dw.DW_EH_PE_aligned:
        return cursor.unsigned(form.address_size)
    size: int = operands.read(operands.pointer_kind(encoding), cursor, form)
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
