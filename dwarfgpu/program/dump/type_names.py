"""The names of types as a C or C++ programmer writes them: ``int (*)[4]``, ``const physics::Vec3 &``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_containing_type, DW_AT_signature
from dwarfgpu.objfile.entries.constants import TAG
from dwarfgpu.objfile.entries.scopes import qualified_name
from dwarfgpu.program.types.bounds import dimension

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die

MAX_DEPTH = 24
"""How many types a name goes through. No program has more, and a broken file may have a cycle."""
MAX_TYPES = 2000
"""How many types a name is made of: a broken file may have a function whose parameters have its own type."""

_NUMBERS = {name.removeprefix("DW_TAG_"): number for number, name in TAG.items()}


def _tags(*names: str) -> frozenset[int]:
    return frozenset(_NUMBERS[name] for name in names)


_QUALIFIERS = {
    _NUMBERS["const_type"]: "const",
    _NUMBERS["volatile_type"]: "volatile",
    _NUMBERS["restrict_type"]: "restrict",
    _NUMBERS["atomic_type"]: "_Atomic",
}
_POINTERS = {
    _NUMBERS["pointer_type"]: "*",
    _NUMBERS["reference_type"]: "&",
    _NUMBERS["rvalue_reference_type"]: "&&",
}
_TRANSPARENT = _tags("packed_type", "shared_type", "immutable_type", "LLVM_ptrauth_type")
_ARRAY, _SUBRANGE = _NUMBERS["array_type"], _tags("subrange_type", "generic_subrange")
_FUNCTION, _PARAMETER = _NUMBERS["subroutine_type"], _NUMBERS["formal_parameter"]
_VARIADIC, _MEMBER_POINTER = _NUMBERS["unspecified_parameters"], _NUMBERS["ptr_to_member_type"]
_NAMED = _tags(
    "base_type", "class_type", "enumeration_type", "interface_type", "set_type", "string_type", "structure_type",
    "template_alias", "typedef", "union_type", "unspecified_type", "coarray_type", "dynamic_type", "file_type",
)  # fmt: skip
TYPES = _NAMED | _TRANSPARENT | _QUALIFIERS.keys() | _POINTERS.keys() | {_ARRAY, _FUNCTION, _MEMBER_POINTER}
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
        if tag == _MEMBER_POINTER:
            owner = die.number(DW_AT_containing_type)
            scope = self.name(owner.reference(), "", depth + 1) if owner is not None else "?"
            return self.pointing(die.type(), f"{scope}::*{declarator}", depth)
        if tag == _ARRAY:
            bounds = "".join(f"[{_count(each)}]" for each in die.children() if each.tag in _SUBRANGE)
            return self.name(die.type(), f"{declarator}{bounds or '[]'}", depth + 1)
        if tag == _FUNCTION:
            return self.name(die.type(), f"{declarator}({self.parameters(die, depth)})", depth + 1)
        return _own_name(die) + _spaced(declarator)

    def qualified(self, die: Die, declarator: str, depth: int) -> str:
        """A qualifier stands before the name of a type, and behind the sign of a pointer."""
        word = _QUALIFIERS[die.tag]
        inner = die.type()
        if inner is not None and (inner.tag in _POINTERS or inner.tag == _MEMBER_POINTER):
            return self.name(inner, f"{word}{_spaced(declarator)}", depth + 1)
        name = self.name(inner, declarator, depth + 1)
        # GCC qualifies arrays and their elements
        return name if name.startswith(f"{word} ") else f"{word} {name}"

    def pointing(self, target: Die | None, declarator: str, depth: int) -> str:
        if target is not None and target.tag in (_ARRAY, _FUNCTION):
            declarator = f"({declarator})"
        return self.name(target, declarator, depth + 1)

    def parameters(self, die: Die, depth: int) -> str:
        found = []
        for each in die.children():
            if each.tag == _PARAMETER:
                found.append(self.name(each.type(), "", depth + 1))
            elif each.tag == _VARIADIC:
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
