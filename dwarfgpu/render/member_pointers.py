"""Pointers to members as text: ``&zoo::Dog::legs``, ``&virtual zoo::Dog::speak() const`` (Itanium C++ ABI, 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_vtable_elem_location
from dwarfgpu.program.types.declaration import Declarer, type_text
from dwarfgpu.program.types.model import Function, Struct
from dwarfgpu.program.types.sizes import resolved, stripped
from dwarfgpu.program.values.storage import Address
from dwarfgpu.render.numbers import formatted, signed

if TYPE_CHECKING:
    from dwarfgpu.program.types.model import MemberPointer, Method
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.render.values import Writer

_CONSTU = 0x10
MAX_DEPTH = 16


def text(writer: Writer, value: Object, type: MemberPointer, *, is_top: bool) -> str:
    """A pointer to a data member or to a member function."""
    size = type.byte_size
    reading = value.place.read(8 * size)
    if reading.undefined:
        return "<optimized out>"
    bits = int(reading.bits)
    is_method = isinstance(resolved(type.target), Function)
    letter = None if is_method and not is_top else writer.look.letter  # inside another value it has one look
    if letter == "a":
        return writer.address(Address(None, bits & ((1 << 64) - 1)), symbol=False)
    if letter is not None and letter not in "sr":
        return formatted(bits, 8 * size, letter, is_signed=True, layout=None)
    if is_method:
        return _method(writer, value, type)
    offset = signed(bits, 8 * size)
    if offset == -1:
        return "NULL"
    owner = stripped(type.owner.get())
    found = _member_at(owner, 8 * offset, 0) if isinstance(owner, Struct) else None
    return str(offset) if found is None else f"&{found}"


def _member_at(owner: Struct, bit_offset: int, depth: int) -> str | None:
    """The name of the member at an offset, in the class or a base."""
    if depth > MAX_DEPTH:
        return None
    for member in owner.body.members:
        if member.location is None and member.bit_offset == bit_offset and member.name is not None:
            return f"{owner.name or '(unnamed)'}::{member.name}"
    for base in owner.body.bases:
        inner = stripped(base.type)
        if base.location is None and isinstance(inner, Struct) and base.bit_offset is not None:
            found = _member_at(inner, bit_offset - base.bit_offset, depth + 1)
            if found is not None:
                return found
    return None


def _method(writer: Writer, value: Object, type: MemberPointer) -> str:
    """A pair of words: an address, or 1 plus the offset in the table of virtual functions; and what to add to this."""
    half = 4 * type.byte_size
    pointer = int(value.place.read(half).bits)
    adjustment = signed(int(value.place.moved(half).read(half).bits), half)
    if not pointer & 1:
        if not pointer:
            return "NULL"
        kind = type_text(value.type, is_cplus=writer.is_cplus)
        shown = f"({kind}) {writer.address(Address(None, pointer), symbol=True)}"
        return f"{shown}, this adjustment {adjustment}" if adjustment else shown
    offset = pointer - 1
    owner = stripped(type.owner.get())
    method = _virtual(owner, offset * 8 // half, 0) if isinstance(owner, Struct) else None
    shown = f"&virtual table offset {offset}" if method is None else f"&virtual {method}"
    return f"{shown}, this adjustment {adjustment}" if adjustment else shown


def _virtual(owner: Struct, slot: int, depth: int) -> str | None:
    """The name of the virtual function in a slot of the table, in the class or a base."""
    if depth > MAX_DEPTH:
        return None
    for method in owner.body.methods:
        if method.is_virtual and _slot(method) == slot:
            return _signature(owner, method)
    for base in owner.body.bases:
        inner = stripped(base.type)
        found = _virtual(inner, slot, depth + 1) if isinstance(inner, Struct) else None
        if found is not None:
            return found
    return None


def _slot(method: Method) -> int | None:
    found = None if method.die is None else method.die.number(DW_AT_vtable_elem_location)
    if found is None or found.value_class not in ("exprloc", "block"):
        return None
    data = found.block().data
    if len(data) < 2 or data[0] != _CONSTU:
        return None
    value = 0
    for index, byte in enumerate(data[1:10]):
        value |= (byte & 0x7F) << 7 * index
    return value


def _signature(owner: Struct, method: Method) -> str:
    parameters = Declarer(is_cplus=True).parameters(method.to.get(), skip=1)
    shown = "" if parameters == "void" else parameters
    qualifiers = [each for each in ("const", "volatile") if each in method.object_qualifiers]
    return " ".join([f"{owner.name or '(unnamed)'}::{method.name}({shown})", *qualifiers])
