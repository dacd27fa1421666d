"""Encoded pointers: how ``.eh_frame`` and ``.eh_frame_hdr`` hold addresses (DW_EH_PE; Linux Standard Base, 10.5.1).

One byte says how the number is encoded (its low four bits) and what it is relative to (the next three). The highest
bit means that the number is the address of a stored address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.encoding import operands
from dwarfgpu.errors import Unsupported
from dwarfgpu.records import record

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import Cursor
    from dwarfgpu.encoding.operands import Format

SPEC = "LSB 5.0, 10.5.1"

ABSOLUTE = 0x00
OMIT = 0xFF
"""There is no pointer, and no bytes for one."""
INDIRECT = 0x80

PCREL, TEXTREL, DATAREL, FUNCREL, ALIGNED = 0x10, 0x20, 0x30, 0x40, 0x50
_APPLICATION = 0x70

APPLICATIONS = {
    0: "",
    PCREL: "pcrel",
    TEXTREL: "textrel",
    DATAREL: "datarel",
    FUNCREL: "funcrel",
    ALIGNED: "aligned",
}
FORMATS = {
    0: "absptr",
    1: "uleb128",
    2: "udata2",
    3: "udata4",
    4: "udata8",
    9: "sleb128",
    10: "sdata2",
    11: "sdata4",
    12: "sdata8",
}


@record
class Bases:
    """The addresses that encoded pointers are relative to; None where one is not known."""

    section: int = 0
    """The address of the section that contains the pointers."""
    text: int | None = None
    data: int | None = None
    function: int | None = None
    """The start of the function of the frame description entry."""


@record
class Pointer:
    """A pointer as it is stored in a section."""

    address: int
    indirect: bool = False
    """Whether ``address`` is where the pointer is, which only the memory of the program knows."""
    is_null: bool = False
    """Whether the number is 0, which means no pointer where a pointer is optional."""


def read_pointer(cursor: Cursor, encoding: int, form: Format, bases: Bases) -> Pointer:
    """Read a pointer that is there: the encoding is not OMIT."""
    start = cursor.position
    mask = (1 << 8 * form.address_size) - 1
    indirect = bool(encoding & INDIRECT)
    application = encoding & _APPLICATION
    if application == ALIGNED:
        cursor.bytes(-(bases.section + start) % form.address_size)
        number = cursor.unsigned(form.address_size)
        return Pointer(number, indirect, number == 0)
    base = _base(application, start, bases)
    if base is None:
        name = APPLICATIONS.get(application, "not defined")
        message = f"what pointers with the encoding {encoding:#x} ({name}) count from is not known"
        raise Unsupported("pointer_encoding", message, spec=SPEC).at(section=cursor.section, offset=start)
    try:
        kind = operands.pointer_kind(encoding)
    except Unsupported as error:
        raise error.at(section=cursor.section, offset=start) from None
    number = operands.read(kind, cursor, form)
    return Pointer((base + number) & mask, indirect, number == 0)


def read_size(cursor: Cursor, encoding: int, form: Format) -> int:
    """Read a size, which is encoded like a pointer but not relative to anything."""
    if encoding & _APPLICATION == ALIGNED:
        return cursor.unsigned(form.address_size)
    size: int = operands.read(operands.pointer_kind(encoding), cursor, form)
    return size


def encoding_text(encoding: int) -> str:
    """Return the name of an encoding, such as ``pcrel sdata4`` or ``omit``."""
    if encoding == OMIT:
        return "omit"
    if encoding & _APPLICATION == ALIGNED:
        return "aligned"
    application = APPLICATIONS.get(encoding & _APPLICATION)
    format_ = FORMATS.get(encoding & 0x0F)
    if application is None or format_ is None:
        return f"{encoding:#x}"
    words = ["indirect" if encoding & INDIRECT else "", application, format_]
    return " ".join(filter(None, words))


def _base(application: int, position: int, bases: Bases) -> int | None:
    known = {
        0: 0,
        PCREL: bases.section + position,
        TEXTREL: bases.text,
        DATAREL: bases.data,
        FUNCREL: bases.function,
    }
    return known.get(application)
