"""What an index is about: functions, variables, types, namespaces and labels that are defined somewhere.

The rule is that of ``.debug_names`` (DWARF 5 section 6.1.1.1, A.6.1.1.1), with three differences. Inlined calls are not
entries of their own: the function they are calls of is. A function or a variable at namespace scope without code or
location is one too, because "it was optimized out" is an answer. And a local variable belongs to it if its location
begins with an address or a constant, so that it does not depend on a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_AT_abstract_origin,
    DW_AT_linkage_name,
    DW_AT_location,
    DW_AT_low_pc,
    DW_AT_MIPS_linkage_name,
    DW_AT_name,
    DW_AT_specification,
    DW_TAG_array_type,
    DW_TAG_atomic_type,
    DW_TAG_base_type,
    DW_TAG_class_type,
    DW_TAG_coarray_type,
    DW_TAG_const_type,
    DW_TAG_constant,
    DW_TAG_dynamic_type,
    DW_TAG_entry_point,
    DW_TAG_enumeration_type,
    DW_TAG_file_type,
    DW_TAG_generic_subrange,
    DW_TAG_immutable_type,
    DW_TAG_interface_type,
    DW_TAG_label,
    DW_TAG_module,
    DW_TAG_namespace,
    DW_TAG_packed_type,
    DW_TAG_pointer_type,
    DW_TAG_ptr_to_member_type,
    DW_TAG_reference_type,
    DW_TAG_restrict_type,
    DW_TAG_rvalue_reference_type,
    DW_TAG_set_type,
    DW_TAG_shared_type,
    DW_TAG_string_type,
    DW_TAG_structure_type,
    DW_TAG_subprogram,
    DW_TAG_subrange_type,
    DW_TAG_subroutine_type,
    DW_TAG_template_alias,
    DW_TAG_thrown_type,
    DW_TAG_typedef,
    DW_TAG_union_type,
    DW_TAG_unspecified_type,
    DW_TAG_variable,
    DW_TAG_volatile_type,
)
from dwarfgpu.objfile.entries.scan import is_declaration
from dwarfgpu.objfile.entries.scopes import is_local, qualified_name

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.dies import Die

    Kind: TypeAlias = Literal["function", "variable", "type", "namespace", "label"]

KINDS: tuple[Kind, ...] = ("function", "variable", "type", "namespace", "label")

_TAGS: dict[Kind, tuple[int, ...]] = {
    "function": (DW_TAG_subprogram, DW_TAG_entry_point),
    "variable": (DW_TAG_variable, DW_TAG_constant),  # variable, constant
    "type": (
        DW_TAG_array_type,
        DW_TAG_class_type,
        DW_TAG_enumeration_type,
        DW_TAG_pointer_type,
        DW_TAG_reference_type,
        DW_TAG_string_type,
        DW_TAG_structure_type,
        DW_TAG_subroutine_type,
        DW_TAG_typedef,
        DW_TAG_union_type,
        DW_TAG_ptr_to_member_type,
        DW_TAG_set_type,
        DW_TAG_subrange_type,
        DW_TAG_base_type,
        DW_TAG_const_type,
        DW_TAG_file_type,
        DW_TAG_packed_type,
        DW_TAG_thrown_type,
        DW_TAG_volatile_type,
        DW_TAG_restrict_type,
        DW_TAG_interface_type,
        DW_TAG_unspecified_type,
        DW_TAG_shared_type,
        DW_TAG_rvalue_reference_type,
        DW_TAG_template_alias,
        DW_TAG_coarray_type,
        DW_TAG_generic_subrange,
        DW_TAG_dynamic_type,
        DW_TAG_atomic_type,
        DW_TAG_immutable_type,
    ),  # all types of DWARF 5; only those with a name count
    "namespace": (DW_TAG_namespace, DW_TAG_module),  # namespace, module
    "label": (DW_TAG_label,),
}
KIND_OF: dict[int, Kind] = {tag: kind for kind, tags in _TAGS.items() for tag in tags}

_ADDRESSES = b"\x03\xa1\xfb"  # DW_OP_addr, addrx, GNU_addr_index
_CONSTANTS = bytes(
    (*range(0x08, 0x12), *range(0x30, 0x50), 0xA2, 0xFC)
)  # const*, lit*, constx, GNU_const_index
_STACK_VALUE = 0x9F
_NAMED = (DW_AT_name, DW_AT_specification, DW_AT_linkage_name, DW_AT_MIPS_linkage_name)


@frozen
class Entry:
    """One entry of an index."""

    kind: Kind
    die: Die

    @property
    def name(self) -> str | None:
        return self.die.name

    @property
    def qualified_name(self) -> str | None:
        """The name with its scopes, such as ``ns::f``."""
        return qualified_name(self.die)


def is_static(location: bytes) -> bool:
    """Return whether a location does not depend on a frame.

    It begins with an address, or with a constant and is a location.
    """
    if not location:
        return False
    return location[0] in _ADDRESSES or (location[0] in _CONSTANTS and location[-1] != _STACK_VALUE)


def may_be_entry(abbreviation: Abbreviation) -> bool:
    """Return whether entries of an abbreviation can be entries of an index."""
    kind = KIND_OF.get(abbreviation.tag)
    if kind is None or is_declaration(abbreviation):
        return False
    known = abbreviation.attributes
    if kind == "variable":
        return DW_AT_abstract_origin not in known and any(number in known for number in _NAMED)
    if kind == "function":
        return DW_AT_abstract_origin in known or any(number in known for number in _NAMED)
    if kind == "label":
        return DW_AT_name in known and DW_AT_low_pc in known
    return kind == "namespace" or DW_AT_name in known


def kind_of(die: Die) -> Kind | None:
    """Return the kind of an entry in an index, or None if the index leaves it out."""
    if not may_be_entry(die.abbreviation) or die.is_declaration:
        return None
    kind = KIND_OF[die.tag]
    if kind == "variable":
        location = die.number(DW_AT_location)
        if location is not None and location.value_class == "exprloc" and location.value:
            return kind if is_static(location.value) else None
        return None if is_local(die) else kind
    return kind
