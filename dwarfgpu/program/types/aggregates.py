"""The parts of types: members, bases, variants and methods of classes (DWARF 5, 5.7), and bounds of arrays."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dialects.dwarf5 import DWARF5
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.indexes.address_index import FROM_ONE
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import byte_size

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.program.types.reader import Types


_ACCESS = {dw.DW_ACCESS_public: "public", dw.DW_ACCESS_protected: "protected", dw.DW_ACCESS_private: "private"}
_PLUS_UCONST = DWARF5.by_name["DW_OP_plus_uconst"].opcode
MAX_MEMBERS = 1 << 16
"""More than any type has: a limit against hostile input."""


def body(types: Types, die: Die) -> t.Body:
    """Read everything that the entry of a structure, class or union owns."""
    parts: defaultdict[str, list[Any]] = defaultdict(list)
    for index, child in enumerate(die.children()):
        if index > MAX_MEMBERS:
            message = f"a type has more than {MAX_MEMBERS} parts"
            raise die.unit.error(MalformedFile("limit_exceeded", message, spec="DWARF 5, 5.7"), die.offset)
        tag = child.tag
        if tag == dw.DW_TAG_inheritance:
            parts["bases"].append(_base(types, child))
        elif tag == dw.DW_TAG_variable or (tag == dw.DW_TAG_member and _is_static(child)):
            name = child.name or "(unnamed)"
            parts["order"].append(name)
            parts["statics"].append(t.StaticMember(name, types.lazy(child), child, _access(child)))
        elif tag == dw.DW_TAG_member:
            parts["order"].append(len(parts["members"]))
            parts["members"].append(member(types, child))
        elif tag == dw.DW_TAG_variant_part:
            parts["variant_parts"].append(_variant_part(types, child))
        elif tag == dw.DW_TAG_subprogram:
            parts["methods"].append(_method(types, child))
        elif tag == dw.DW_TAG_typedef:
            parts["typedefs"].append(types.of(child))
        elif tag == dw.DW_TAG_template_type_parameter:
            parts["arguments"].append(t.TemplateArgument(child.name or "", types.lazy(child)))
        elif tag == dw.DW_TAG_GNU_template_parameter_pack:
            parts["pack"] += [
                t.TemplateArgument(argument.name or "", types.lazy(argument))
                for argument in islice(child.children(), MAX_MEMBERS)
                if argument.tag == dw.DW_TAG_template_type_parameter
            ]
    return t.Body(**{name: tuple(found) for name, found in parts.items()})


def member(types: Types, die: Die) -> t.Member:
    """Read a data member."""
    to = types.lazy(die)
    bits = die.number(dw.DW_AT_bit_size)
    bit_size = None if bits is None else bits.unsigned()
    offset, location = _place(die)
    if location is None:
        offset = _bit_offset(die, to, offset, bit_size)
    return t.Member(die.name, to, offset, bit_size, location, _access(die), die.flag(dw.DW_AT_artificial), die)


def _place(die: Die) -> tuple[int, t.Dynamic | None]:
    """Return the offset that DW_AT_data_member_location states, in bits, or how it is computed; 0 without it."""
    offset = die.number(dw.DW_AT_data_member_location)
    if offset is None:
        return 0, None
    value = bound_of(offset)
    if isinstance(value, int):
        return value * 8, None
    if isinstance(value, t.Dynamic) and value.expression is not None:
        constant = _constant_offset(value.expression)
        if constant is not None:
            return constant * 8, None
    return 0, value


def _constant_offset(data: bytes) -> int | None:
    """Return the offset that a DW_OP_plus_uconst adds, which is how DWARF 2 writes every offset."""
    if data[:1] != _PLUS_UCONST or len(data) > 10:
        return None
    value = 0
    for index, byte in enumerate(data[1:]):
        value |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return value if index + 2 == len(data) else None
    return None


def _bit_offset(die: Die, to: t.Lazy[t.Type], offset: int, bit_size: int | None) -> int:
    """Return the bit at which a member begins.

    DW_AT_data_bit_offset counts from the beginning of the structure (DWARF 5, 5.7.6). DW_AT_bit_offset counts from the
    most significant bit of the storage unit, whose size is DW_AT_byte_size or that of the type (DWARF 3, 5.6.6).
    """
    new = die.number(dw.DW_AT_data_bit_offset)
    if new is not None:
        value = bound_of(new)
        return offset + value if isinstance(value, int) else offset
    old = die.number(dw.DW_AT_bit_offset)
    if old is None or bit_size is None or old.value_class != "constant":
        return offset
    from_top = old.signed()
    if die.unit.format.byte_order == "big":
        return offset + from_top
    unit_size = die.number(dw.DW_AT_byte_size)
    size = unit_size.unsigned() if unit_size is not None else byte_size(to.get())
    return offset + size * 8 - from_top - bit_size


def _base(types: Types, die: Die) -> t.BaseClass:
    offset, location = _place(die)
    return t.BaseClass(types.lazy(die), offset, location, _is_virtual(die) or location is not None, _access(die))


def _is_virtual(die: Die) -> bool:
    virtual = die.number(dw.DW_AT_virtuality)
    return virtual is not None and virtual.value not in (0, None)


def _is_static(die: Die) -> bool:
    """Return whether all objects share a member, which is a declaration before DWARF 5 made it a variable (5.7.7)."""
    return die.is_declaration or (die.flag(dw.DW_AT_external) and die.number(dw.DW_AT_data_member_location) is None)


# --- Variants -----------------------------------------------------------------------------------------------------


def _variant_part(types: Types, die: Die) -> t.VariantPart:
    discriminant = die.number(dw.DW_AT_discr)
    entry = None if discriminant is None else discriminant.reference()
    variants = []
    for child in die.children():
        if child.tag == dw.DW_TAG_variant:
            members = tuple(member(types, entry) for entry in child.children() if entry.tag == dw.DW_TAG_member)
            variants.append(t.Variant(_labels(child), members))
    return t.VariantPart(None if entry is None else member(types, entry), tuple(variants))


def _labels(die: Die) -> tuple[tuple[int, int], ...] | None:
    """Return the values of the discriminant that choose a variant; None for the default variant."""
    value = die.number(dw.DW_AT_discr_value)
    if value is not None:
        number = int(value.value) if value.form == dw.DW_FORM_udata else value.signed()
        return ((number, number),)
    values = die.number(dw.DW_AT_discr_list)
    return None if values is None else _label_list(values.block().data)


def _label_list(data: bytes) -> tuple[tuple[int, int], ...]:
    """Decode DW_AT_discr_list: DW_DSC_label and a value, or DW_DSC_range and two values (7.5.4)."""
    from dwarfgpu.encoding.cursor import Cursor

    cursor = Cursor(data)
    ranges = []
    while cursor.position < cursor.end:
        kind = cursor.unsigned(1)
        first = cursor.sleb()
        ranges.append((first, cursor.sleb() if kind else first))
    return tuple(ranges)


# --- Methods ------------------------------------------------------------------------------------------------------


def _method(types: Types, die: Die) -> t.Method:
    first = next((child for child in die.children() if child.tag == dw.DW_TAG_formal_parameter), None)
    has_object = die.number(dw.DW_AT_object_pointer) is not None or (
        first is not None and first.flag(dw.DW_AT_artificial)
    )
    qualifiers: tuple[str, ...] = ()
    if has_object and first is not None:
        qualifiers = object_qualifiers(types.type_of(first))
    to: t.Lazy[Any] = t.Lazy((die.unit, die.offset, "function"), lambda: types.of(die))
    return t.Method(
        die.name or "(unnamed)",
        to,
        _access(die),
        _is_virtual(die),
        not has_object,
        die.flag(dw.DW_AT_artificial),
        qualifiers,
        die.linkage_name,
        die,
    )


def object_qualifiers(kind: t.Type) -> tuple[str, ...]:
    """Return the qualifiers of the target of ``this``, which are those of the method."""
    while isinstance(kind, t.Qualified):
        kind = kind.target
    words: list[str] = []
    if isinstance(kind, t.Pointer):
        kind = kind.target
        while isinstance(kind, t.Qualified) and len(words) < 4:
            words.append(kind.word)
            kind = kind.target
    return tuple(words)


def _access(die: Die) -> str | None:
    access = die.number(dw.DW_AT_accessibility)
    return None if access is None else _ACCESS.get(access.value)


# --- Bounds, counts and strides of arrays -------------------------------------------------------------------------

_DATA = frozenset((dw.DW_FORM_data1, dw.DW_FORM_data2, dw.DW_FORM_data4, dw.DW_FORM_data8, dw.DW_FORM_data16))
_SIGNED = frozenset((dw.DW_ATE_signed, dw.DW_ATE_signed_char, dw.DW_ATE_signed_fixed))


def bound(die: Die, number: int) -> t.Bound:
    """Return the value of an attribute of an entry, by number; None if the entry does not have it."""
    attribute = die.number(number)
    return None if attribute is None else bound_of(attribute)


def bound_of(attribute: Attribute) -> t.Bound:
    """Return the value of an attribute that may be a number, an expression or a reference (2.19)."""
    kind = attribute.value_class
    if kind == "constant":
        return int(attribute.value)
    if kind == "reference":
        return t.Dynamic(attribute, attribute.reference())
    if kind in ("exprloc", "block", "loclist"):
        return t.Dynamic(attribute)
    message = f"{attribute.name} is neither a number nor computed ({attribute.form_name})"
    error = MalformedFile("bad_class", message, spec="DWARF 5, 2.19")
    raise attribute.die.unit.error(error, attribute.die.offset)


def dimension(die: Die) -> t.Dimension:
    """Read the dimension that a DW_TAG_subrange_type or DW_TAG_generic_subrange describes."""
    lower = _signed(die, dw.DW_AT_lower_bound)
    if lower is None:
        lower = int(die.unit.root_number(dw.DW_AT_language) in FROM_ONE)
    bit_stride, byte_stride = strides(die)
    return t.Dimension(lower, _signed(die, dw.DW_AT_upper_bound), _count(die), bit_stride, byte_stride)


def strides(die: Die) -> tuple[t.Bound, t.Dynamic | None]:
    """Return DW_AT_bit_stride, or DW_AT_byte_stride in bits if it is a number; else how it is computed."""
    stride = die.number(dw.DW_AT_byte_stride)
    if stride is None:
        stride = die.number(dw.DW_AT_bit_stride)
        return (None if stride is None else _constant_signed(stride)), None
    value = _constant_signed(stride)
    return (value * 8, None) if isinstance(value, int) else (None, value)


def _constant_signed(attribute: Attribute) -> t.Bound:
    return attribute.signed() if attribute.value_class == "constant" else bound_of(attribute)


def _count(die: Die) -> t.Bound:
    """Return the number of elements. LLVM once wrote all ones for an array without a count."""
    attribute = die.number(dw.DW_AT_count)
    if attribute is None:
        return None
    value = bound_of(attribute)
    if isinstance(value, int) and (value < 0 or (attribute.form == dw.DW_FORM_data8 and value == (1 << 64) - 1)):
        return None
    return value


def _signed(die: Die, number: int) -> t.Bound:
    """Return a bound with the sign of the index type: producers write bounds in forms without a sign (7.5.5).

    So 0xff in DW_FORM_data1 is 255, whatever the index; but a pattern that is negative in the index type is negative,
    and so is one of 64 bits that begins with a one.
    """
    attribute = die.number(number)
    if attribute is None:
        return None
    value = bound_of(attribute)
    if not isinstance(value, int) or attribute.form not in _DATA or value < 0:
        return value
    bits = 64 if attribute.form == dw.DW_FORM_data8 and value >> 63 else _signed_index_bits(die)
    if bits and value >> (bits - 1) == 1:
        return value - (1 << bits)
    return value


def base_type_of(die: Die) -> Die | None:
    """Return the base type that the type of an entry leads to, through names and qualifiers; None where it does not."""
    for _ in range(9):
        if die.number(dw.DW_AT_type) is None or (target := die.type()) is None:
            return None
        if target.tag == dw.DW_TAG_base_type:
            return target
        die = target
    return None


def _signed_index_bits(die: Die) -> int:
    """Return how many bits the index type of a subrange has if it is signed, else 0."""
    index = base_type_of(die)
    if index is None:
        return 0
    encoding, size = index.number(dw.DW_AT_encoding), index.number(dw.DW_AT_byte_size)
    if encoding is None or size is None or encoding.value not in _SIGNED or type(size.value) is not int:
        return 0
    return 8 * size.value if 0 < size.value <= 16 else 0
