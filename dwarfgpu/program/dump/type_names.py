"""The names of types as a dump shows them: ``int (*)[4]``, ``const physics::Vec3 &``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.objfile.entries import attributes as at
from dwarfgpu.objfile.entries.constants import TAG
from dwarfgpu.objfile.entries.scopes import qualified_name
from dwarfgpu.program.types.declaration import Declarer
from dwarfgpu.program.types.model import Opaque
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.program.types.model import Type

_NUMBERS = {name.removeprefix("DW_TAG_"): number for number, name in TAG.items()}
_DECLARATORS = frozenset(
    _NUMBERS[name]
    for name in (
        "array_type", "atomic_type", "const_type", "immutable_type", "LLVM_ptrauth_type", "packed_type", "pointer_type",
        "ptr_to_member_type", "reference_type", "restrict_type", "rvalue_reference_type", "shared_type",
        "subroutine_type", "volatile_type",
    )
)  # fmt: skip
TYPES = _DECLARATORS | frozenset(
    _NUMBERS[name]
    for name in (
        "base_type", "class_type", "enumeration_type", "interface_type", "set_type", "string_type", "structure_type",
        "template_alias", "typedef", "union_type", "unspecified_type", "coarray_type", "dynamic_type", "file_type",
    )
)  # fmt: skip
"""The tags of types."""


class _EntryTypes(Types):
    """Types of which nothing is read but what their names are made of, in the words of the entries."""

    def _make(self, die: Die) -> Type:
        if die.tag in _DECLARATORS:
            return super()._make(die)
        signature = die.number(at.SIGNATURE)
        if signature is not None:  # the declaration of what a type unit defines (DWARF 5, 5.7.1)
            die = signature.reference()
        return Opaque(die.tag_name, qualified_name(die), None, die)


def type_name(die: Die | None) -> str:
    """Return the name of a type. None is void."""
    return Declarer(is_cplus=False, is_tight=True).text(_EntryTypes().of(die), "", -1, 0)
