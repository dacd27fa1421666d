"""Where a type that is only declared is defined: in a type unit, in the same unit, or anywhere in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_AT_signature,
    DW_TAG_class_type,
    DW_TAG_interface_type,
    DW_TAG_structure_type,
)
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.scopes import qualified_name

if TYPE_CHECKING:
    from dwarfgpu.objfile.entries.dies import Die

_CLASSES = frozenset((DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_interface_type))
"""Class, structure and interface: which of them a declaration says makes no difference."""


def definition(die: Die) -> Die:
    """The entry that defines what an entry declares; the entry itself if nothing does.

    A signature names a type unit (DWARF 5, 5.7.1); without one the name is all there is, as in C's ``struct node;``.
    """
    signature = die.number(DW_AT_signature)
    if signature is not None:
        return signature.reference()
    if not die.is_declaration:
        return die
    name = qualified_name(die)
    if name is None:
        return die
    found = None
    try:
        for entry in die.unit.dwarf.index.find(f"::{name}"):
            other = entry.die
            if entry.kind != "type" or not _same_kind(die.tag, other.tag) or other.is_declaration:
                continue
            if other.unit is die.unit:
                return other
            found = found or other
    except DwarfGpuError as error:  # that a unit is broken does not make the declaration so
        die.unit.dwarf.note(error)
    return found or die


def _same_kind(one: int, other: int) -> bool:
    return one == other or (one in _CLASSES and other in _CLASSES)
