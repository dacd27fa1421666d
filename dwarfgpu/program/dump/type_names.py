"""The names of types as a dump shows them: ``int (*)[4]``, ``const physics::Vec3 &``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_signature,
    DW_TAG_array_type,
    DW_TAG_atomic_type,
    DW_TAG_base_type,
    DW_TAG_class_type,
    DW_TAG_coarray_type,
    DW_TAG_const_type,
    DW_TAG_dynamic_type,
    DW_TAG_enumeration_type,
    DW_TAG_file_type,
    DW_TAG_immutable_type,
    DW_TAG_interface_type,
    DW_TAG_LLVM_ptrauth_type,
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
    DW_TAG_subroutine_type,
    DW_TAG_template_alias,
    DW_TAG_typedef,
    DW_TAG_union_type,
    DW_TAG_unspecified_type,
    DW_TAG_volatile_type,
)
from dwarfgpu.objfile.entries.scopes import qualified_name
from dwarfgpu.program.types.declaration import Declarer
from dwarfgpu.program.types.model import Opaque
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.program.types.model import Type

_DECLARATORS = frozenset(
    (
        DW_TAG_array_type,
        DW_TAG_atomic_type,
        DW_TAG_const_type,
        DW_TAG_immutable_type,
        DW_TAG_LLVM_ptrauth_type,
        DW_TAG_packed_type,
        DW_TAG_pointer_type,
        DW_TAG_ptr_to_member_type,
        DW_TAG_reference_type,
        DW_TAG_restrict_type,
        DW_TAG_rvalue_reference_type,
        DW_TAG_shared_type,
        DW_TAG_subroutine_type,
        DW_TAG_volatile_type,
    )
)
TYPES = _DECLARATORS | frozenset(
    (
        DW_TAG_base_type,
        DW_TAG_class_type,
        DW_TAG_enumeration_type,
        DW_TAG_interface_type,
        DW_TAG_set_type,
        DW_TAG_string_type,
        DW_TAG_structure_type,
        DW_TAG_template_alias,
        DW_TAG_typedef,
        DW_TAG_union_type,
        DW_TAG_unspecified_type,
        DW_TAG_coarray_type,
        DW_TAG_dynamic_type,
        DW_TAG_file_type,
    )
)
"""The tags of types."""


class _EntryTypes(Types):
    """Types of which nothing is read but what their names are made of, in the words of the entries."""

    def _make(self, die: Die) -> Type:
        if die.tag in _DECLARATORS:
            return super()._make(die)
        signature = die.number(DW_AT_signature)
        if signature is not None:  # the declaration of what a type unit defines (DWARF 5, 5.7.1)
            die = signature.reference()
        return Opaque(die.tag_name, qualified_name(die), None, die)


def type_name(die: Die | None) -> str:
    """Return the name of a type. None is void."""
    return Declarer(is_cplus=False, is_tight=True).text(_EntryTypes().of(die), "", -1, 0)
