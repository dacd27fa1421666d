"""The names of types as a C or C++ programmer writes them: ``int (*)[4]``, ``const physics::Vec3 &``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_containing_type,
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
    DW_TAG_formal_parameter,
    DW_TAG_generic_subrange,
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
    DW_TAG_subrange_type,
    DW_TAG_subroutine_type,
    DW_TAG_template_alias,
    DW_TAG_typedef,
    DW_TAG_union_type,
    DW_TAG_unspecified_parameters,
    DW_TAG_unspecified_type,
    DW_TAG_volatile_type,
)
from dwarfgpu.objfile.entries.scopes import qualified_name
from dwarfgpu.program.types.bounds import dimension

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die

MAX_DEPTH = 24
"""How many types a name goes through. No program has more, and a broken file may have a cycle."""
MAX_TYPES = 2000
"""How many types a name is made of: a broken file may have a function whose parameters have its own type."""

_QUALIFIERS = {
    DW_TAG_const_type: "const",
    DW_TAG_volatile_type: "volatile",
    DW_TAG_restrict_type: "restrict",
    DW_TAG_atomic_type: "_Atomic",
}
_POINTERS = {
    DW_TAG_pointer_type: "*",
    DW_TAG_reference_type: "&",
    DW_TAG_rvalue_reference_type: "&&",
}
_TRANSPARENT = frozenset(
    (DW_TAG_packed_type, DW_TAG_shared_type, DW_TAG_immutable_type, DW_TAG_LLVM_ptrauth_type)
)
_SUBRANGE = frozenset((DW_TAG_subrange_type, DW_TAG_generic_subrange))
_NAMED = frozenset(
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
TYPES = (
    _NAMED
    | _TRANSPARENT
    | _QUALIFIERS.keys()
    | _POINTERS.keys()
    | {DW_TAG_array_type, DW_TAG_subroutine_type, DW_TAG_ptr_to_member_type}
)
"""The tags of types."""


def type_name(die: Die | None, declarator: str = "") -> str:
    """The name of a type; ``declarator`` is what stands in the place of a variable's name. None is void."""
    return _Writer().name(die, declarator, 0)


class _Writer:
    """Writes one name."""

    def __init__(self) -> None:
        self.left = MAX_TYPES

    def name(self, die: Die | None, declarator: str, depth: int) -> str:
        self.left -= 1
        if depth > MAX_DEPTH or self.left < 0:
            return f"...{_spaced(declarator)}"
        if die is None:
            return f"void{_spaced(declarator)}"
        tag = die.tag
        if tag in _TRANSPARENT:
            return self.name(die.type(), declarator, depth + 1)
        if tag in _QUALIFIERS:
            return self.qualified(die, declarator, depth)
        if tag in _POINTERS:
            return self.pointing(die.type(), _POINTERS[tag] + declarator, depth)
        if tag == DW_TAG_ptr_to_member_type:
            owner = die.number(DW_AT_containing_type)
            scope = self.name(owner.reference(), "", depth + 1) if owner is not None else "?"
            return self.pointing(die.type(), f"{scope}::*{declarator}", depth)
        if tag == DW_TAG_array_type:
            bounds = "".join(f"[{_count(each)}]" for each in die.children() if each.tag in _SUBRANGE)
            return self.name(die.type(), f"{declarator}{bounds or '[]'}", depth + 1)
        if tag == DW_TAG_subroutine_type:
            return self.name(die.type(), f"{declarator}({self.parameters(die, depth)})", depth + 1)
        return _own_name(die) + _spaced(declarator)

    def qualified(self, die: Die, declarator: str, depth: int) -> str:
        """A qualifier stands before the name of a type, and behind the sign of a pointer."""
        word = _QUALIFIERS[die.tag]
        inner = die.type()
        if inner is not None and (inner.tag in _POINTERS or inner.tag == DW_TAG_ptr_to_member_type):
            return self.name(inner, f"{word}{_spaced(declarator)}", depth + 1)
        name = self.name(inner, declarator, depth + 1)
        # GCC qualifies arrays and their elements
        return name if name.startswith(f"{word} ") else f"{word} {name}"

    def pointing(self, target: Die | None, declarator: str, depth: int) -> str:
        if target is not None and target.tag in (DW_TAG_array_type, DW_TAG_subroutine_type):
            declarator = f"({declarator})"
        return self.name(target, declarator, depth + 1)

    def parameters(self, die: Die, depth: int) -> str:
        found = []
        for each in die.children():
            if each.tag == DW_TAG_formal_parameter:
                found.append(self.name(each.type(), "", depth + 1))
            elif each.tag == DW_TAG_unspecified_parameters:
                found.append("...")
            if self.left < 0:
                break
        return ", ".join(found)


def _spaced(declarator: str) -> str:
    return f" {declarator}" if declarator and not declarator.startswith("[") else declarator


def _own_name(die: Die) -> str:
    signature = die.number(DW_AT_signature)
    if signature is not None:  # the declaration of what a type unit defines (DWARF 5, 5.7.1)
        die = signature.reference()
    return qualified_name(die) or f"(unnamed {die.tag_name.removeprefix('DW_TAG_').removesuffix('_type')})"


def _count(subrange: Die) -> str:
    """The number of elements, if it is a constant (DWARF 5, 5.13)."""
    length = dimension(subrange).length
    return "" if length is None else str(length)
