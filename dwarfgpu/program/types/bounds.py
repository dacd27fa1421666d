"""The bounds and counts of subranges, and other properties that may be computed (DWARF 5, 2.19 and 5.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_bit_stride,
    DW_AT_byte_size,
    DW_AT_byte_stride,
    DW_AT_count,
    DW_AT_encoding,
    DW_AT_language,
    DW_AT_lower_bound,
    DW_AT_type,
    DW_AT_upper_bound,
    DW_ATE_signed,
    DW_ATE_signed_char,
    DW_ATE_signed_fixed,
    DW_FORM_data1,
    DW_FORM_data2,
    DW_FORM_data4,
    DW_FORM_data8,
    DW_FORM_data16,
    DW_TAG_base_type,
)
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.indexes.variable_index import FROM_ONE
from dwarfgpu.program.types.model import Dimension, Dynamic

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.entries.values import Attribute
    from dwarfgpu.program.types.model import Bound

_DATA = frozenset((DW_FORM_data1, DW_FORM_data2, DW_FORM_data4, DW_FORM_data8, DW_FORM_data16))
_SIGNED = frozenset((DW_ATE_signed, DW_ATE_signed_char, DW_ATE_signed_fixed))


def bound(die: Die, number: int) -> Bound:
    """The value of an attribute, by number; None if the entry does not have it."""
    found = die.number(number)
    return None if found is None else bound_of(found)


def bound_of(found: Attribute) -> Bound:
    """The value of an attribute that may be a number, an expression or an entry (2.19)."""
    kind = found.value_class
    if kind == "constant":
        return int(found.value)
    if kind == "reference":
        return Dynamic(found, found.reference())
    if kind in ("exprloc", "block", "loclist"):
        return Dynamic(found)
    error = MalformedFile(
        "bad_class",
        f"{found.name} is neither a number nor computed ({found.form_name})",
        spec="DWARF 5, 2.19",
    )
    raise found.die.unit.error(error, found.die.offset)


def dimension(die: Die) -> Dimension:
    """The dimension that a DW_TAG_subrange_type or DW_TAG_generic_subrange describes."""
    lower = _signed(die, DW_AT_lower_bound)
    if lower is None:
        lower = int(die.unit.root_number(DW_AT_language) in FROM_ONE)
    bit_stride, byte_stride = strides(die)
    return Dimension(lower, _signed(die, DW_AT_upper_bound), _count(die), bit_stride, byte_stride)


def strides(die: Die) -> tuple[Bound, Dynamic | None]:
    """DW_AT_bit_stride, or DW_AT_byte_stride: in bits if it is a number, else as it is computed."""
    found = die.number(DW_AT_byte_stride)
    if found is None:
        found = die.number(DW_AT_bit_stride)
        return (None if found is None else _constant_signed(found)), None
    value = _constant_signed(found)
    return (value * 8, None) if isinstance(value, int) else (None, value)


def _constant_signed(found: Attribute) -> Bound:
    return found.signed() if found.value_class == "constant" else bound_of(found)


def _count(die: Die) -> Bound:
    """The number of elements. All ones is what LLVM once wrote for an array without one."""
    found = die.number(DW_AT_count)
    if found is None:
        return None
    value = bound_of(found)
    if isinstance(value, int) and (value < 0 or (found.form == DW_FORM_data8 and value == (1 << 64) - 1)):
        return None
    return value


def _signed(die: Die, number: int) -> Bound:
    """A bound. Its sign is that of the index type: producers write bounds in forms that have none (7.5.5).

    So 0xff in DW_FORM_data1 is 255, whatever the index; but a pattern that is negative in the index type is negative,
    and so is one of 64 bits that begins with a one.
    """
    found = die.number(number)
    if found is None:
        return None
    value = bound_of(found)
    if not isinstance(value, int) or found.form not in _DATA or value < 0:
        return value
    bits = 64 if found.form == DW_FORM_data8 and value >> 63 else _signed_index_bits(die)
    if bits and value >> (bits - 1) == 1:
        return value - (1 << bits)
    return value


def _signed_index_bits(die: Die) -> int:
    """How many bits the index type of a subrange has, if it is signed; else 0."""
    index = die.type() if die.number(DW_AT_type) is not None else None
    for _ in range(8):
        if index is None or index.tag == DW_TAG_base_type:
            break
        index = index.type()
    if index is None or index.tag != DW_TAG_base_type:
        return 0
    encoding, size = index.number(DW_AT_encoding), index.number(DW_AT_byte_size)
    if encoding is None or size is None or encoding.value not in _SIGNED or type(size.value) is not int:
        return 0
    return 8 * size.value if 0 < size.value <= 16 else 0
