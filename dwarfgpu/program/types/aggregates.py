"""What structures, classes and unions consist of (DWARF 5, 5.7): members, bit-fields, bases, variants, methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.entries import attributes as at
from dwarfgpu.program.types.bounds import bound_of
from dwarfgpu.program.types.model import (
    BaseClass,
    Body,
    Dynamic,
    Lazy,
    Member,
    Method,
    Pointer,
    Qualified,
    StaticMember,
    TemplateArgument,
    Typedef,
    Variant,
    VariantPart,
)
from dwarfgpu.program.types.sizes import byte_size

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.program.types.model import Function, Type
    from dwarfgpu.program.types.reader import Types

_MEMBER, _INHERITANCE, _VARIANT_PART, _VARIANT, _VARIABLE = 0x0D, 0x1C, 0x33, 0x19, 0x34
_SUBPROGRAM, _TYPEDEF, _TEMPLATE_TYPE = 0x2E, 0x16, 0x2F
_BIT_OFFSET, _BIT_SIZE, _DATA_BIT_OFFSET, _LOCATION = 0x0C, 0x0D, 0x6B, 0x38
_ACCESSIBILITY, _ARTIFICIAL, _EXTERNAL, _VIRTUALITY = 0x32, 0x34, 0x3F, 0x4C
_DISCR, _DISCR_VALUE, _DISCR_LIST, _OBJECT_POINTER = 0x15, 0x16, 0x3D, 0x64
_ACCESS = {1: "public", 2: "protected", 3: "private"}
MAX_MEMBERS = 1 << 16
"""More than any type has: a limit against hostile input."""


def body(types: Types, die: Die) -> Body:
    """All that an entry owns."""
    bases: list[BaseClass] = []
    members: list[Member] = []
    statics: list[StaticMember] = []
    order: list[str | int] = []
    parts: list[VariantPart] = []
    methods: list[Method] = []
    typedefs: list[Typedef] = []
    arguments: list[TemplateArgument] = []
    for index, child in enumerate(die.children()):
        if index > MAX_MEMBERS:
            error = MalformedFile(
                "limit_exceeded", f"a type has more than {MAX_MEMBERS} parts", spec="DWARF 5, 5.7"
            )
            raise die.unit.error(error, die.offset)
        tag = child.tag
        if tag == _INHERITANCE:
            bases.append(_base(types, child))
        elif tag == _VARIABLE or (tag == _MEMBER and _is_static(child)):
            name = child.name or "(unnamed)"
            order.append(name)
            statics.append(StaticMember(name, types.lazy(child), child, _access(child)))
        elif tag == _MEMBER:
            order.append(len(members))
            members.append(member(types, child))
        elif tag == _VARIANT_PART:
            parts.append(_variant_part(types, child))
        elif tag == _SUBPROGRAM:
            methods.append(_method(types, child))
        elif tag == _TYPEDEF:
            typedefs.append(types.of(child))  # type: ignore[arg-type]
        elif tag == _TEMPLATE_TYPE:
            arguments.append(TemplateArgument(child.name or "", types.lazy(child)))
    return Body(
        tuple(bases),
        tuple(members),
        tuple(statics),
        tuple(order),
        tuple(parts),
        tuple(methods),
        tuple(typedefs),
        tuple(arguments),
    )


def member(types: Types, die: Die) -> Member:
    """One data member."""
    to = types.lazy(die)
    bits = die.number(_BIT_SIZE)
    bit_size = None if bits is None else bits.unsigned()
    offset, location = _place(die)
    if location is None:
        offset = _bit_offset(die, to, offset, bit_size)
    return Member(die.name, to, offset, bit_size, location, _access(die), die.flag(_ARTIFICIAL), die)


def _place(die: Die) -> tuple[int, Dynamic | None]:
    """DW_AT_data_member_location: in bits, or how it is computed. Without it the member is at the beginning."""
    found = die.number(_LOCATION)
    if found is None:
        return 0, None
    value = bound_of(found)
    if isinstance(value, int):
        return value * 8, None
    if isinstance(value, Dynamic) and value.expression is not None:
        constant = _constant_offset(value.expression)
        if constant is not None:
            return constant * 8, None
    return 0, value


def _constant_offset(data: bytes) -> int | None:
    """The offset that DW_OP_plus_uconst adds, which is how DWARF 2 writes every offset."""
    if data[:1] != b"\x23" or len(data) > 10:
        return None
    value = 0
    for index, byte in enumerate(data[1:]):
        value |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return value if index + 2 == len(data) else None
    return None


def _bit_offset(die: Die, to: Lazy[Type], offset: int, bit_size: int | None) -> int:
    """Where a member begins. Of the two ways to say where a bit-field is, one counts from the other end.

    DW_AT_data_bit_offset counts from the beginning of the structure (DWARF 5, 5.7.6). DW_AT_bit_offset counts from the
    most significant bit of the storage unit, whose size is DW_AT_byte_size or that of the type (DWARF 3, 5.6.6).
    """
    new = die.number(_DATA_BIT_OFFSET)
    if new is not None:
        value = bound_of(new)
        return offset + value if isinstance(value, int) else offset
    old = die.number(_BIT_OFFSET)
    if old is None or bit_size is None or old.value_class != "constant":
        return offset
    from_top = old.signed()
    if die.unit.format.byte_order == "big":
        return offset + from_top
    unit_size = die.number(at.BYTE_SIZE)
    size = unit_size.unsigned() if unit_size is not None else byte_size(to.get())
    return offset + size * 8 - from_top - bit_size


def _base(types: Types, die: Die) -> BaseClass:
    offset, location = _place(die)
    virtual = die.number(_VIRTUALITY)
    is_virtual = virtual is not None and virtual.value not in (0, None)
    return BaseClass(types.lazy(die), offset, location, is_virtual or location is not None, _access(die))


def _is_static(die: Die) -> bool:
    """Whether a member is one that all objects share: a declaration, before DWARF 5 made it a variable (5.7.7)."""
    return die.is_declaration or (die.flag(_EXTERNAL) and die.number(_LOCATION) is None)


# --- Variants -----------------------------------------------------------------------------------------------------


def _variant_part(types: Types, die: Die) -> VariantPart:
    discriminant = die.number(_DISCR)
    found = None if discriminant is None else discriminant.reference()
    variants = []
    for child in die.children():
        if child.tag == _VARIANT:
            members = tuple(member(types, each) for each in child.children() if each.tag == _MEMBER)
            variants.append(Variant(_labels(child), members))
    return VariantPart(None if found is None else member(types, found), tuple(variants))


def _labels(die: Die) -> tuple[tuple[int, int], ...] | None:
    """The values of the discriminant that a variant is for; None for the default one."""
    value = die.number(_DISCR_VALUE)
    if value is not None:
        number = int(value.value) if value.form == 0x0F else value.signed()
        return ((number, number),)
    found = die.number(_DISCR_LIST)
    return None if found is None else _label_list(found.block().data)


def _label_list(data: bytes) -> tuple[tuple[int, int], ...]:
    """DW_AT_discr_list: DW_DSC_label and a value, or DW_DSC_range and two (7.5.4)."""
    from dwarfgpu.encoding.cursor import Cursor

    cursor = Cursor(data)
    found = []
    while cursor.position < cursor.end:
        kind = cursor.unsigned(1)
        first = cursor.sleb()
        found.append((first, cursor.sleb() if kind else first))
    return tuple(found)


# --- Methods ------------------------------------------------------------------------------------------------------


def _method(types: Types, die: Die) -> Method:
    virtual = die.number(_VIRTUALITY)
    first = next((each for each in die.children() if each.tag == 0x05), None)
    has_object = die.number(_OBJECT_POINTER) is not None or (first is not None and first.flag(_ARTIFICIAL))
    qualifiers: tuple[str, ...] = ()
    if has_object and first is not None:
        qualifiers = _object_qualifiers(types.type_of(first))
    to: Lazy[Any] = Lazy((die.unit, die.offset, "function"), lambda: types.of(die))
    made: Lazy[Function] = to
    return Method(
        die.name or "(unnamed)",
        made,
        _access(die),
        virtual is not None and virtual.value not in (0, None),
        not has_object,
        die.flag(_ARTIFICIAL),
        qualifiers,
        die.linkage_name,
        die,
    )


def _object_qualifiers(kind: Type) -> tuple[str, ...]:
    """The qualifiers of what ``this`` points to: those of the method."""
    while isinstance(kind, Qualified):
        kind = kind.target
    found: list[str] = []
    if isinstance(kind, Pointer):
        kind = kind.target
        while isinstance(kind, Qualified) and len(found) < 4:
            found.append(kind.word)
            kind = kind.target
    return tuple(found)


def _access(die: Die) -> str | None:
    found = die.number(_ACCESSIBILITY)
    return None if found is None else _ACCESS.get(found.value)
