"""Types by name, as a user writes them: ``unsigned long``, ``struct Node``, ``zoo::Buffer<short, 4>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.types.model import Enumeration, Struct
from dwarfgpu.program.types.naming import canonical, spellings

if TYPE_CHECKING:
    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.types.reader import Types

_CLASSES = ("struct", "class")


def find_type(dwarf: Dwarf, types: Types, name: str, keyword: str = "") -> Type | None:
    """The type with a name; of several a defined one. None if there is none.

    ``keyword`` is ``struct``, ``class``, ``union`` or ``enum``. In C the names behind these keywords are apart from all
    others (C23, 6.2.3), so there they must be said; in C++ they need not.
    """
    declared: Type | None = None
    for spelling in spellings(canonical(name)):
        for entry in dwarf.index.find(spelling):
            if entry.kind != "type":
                continue
            try:
                found = types.of(entry.die)
            except DwarfGpuError as error:
                dwarf.note(error)
                continue
            if not _is_meant(found, keyword):
                continue
            if not getattr(found, "is_incomplete", False):
                return found
            declared = declared or found
    return declared


def _is_meant(type: Type, keyword: str) -> bool:
    if isinstance(type, Struct):
        word, is_cplus = type.kind, type.is_cplus
    elif isinstance(type, Enumeration):
        word, is_cplus = "enum", type.is_cplus
    else:
        return not keyword
    if not keyword:
        return is_cplus
    return word == keyword or (word in _CLASSES and keyword in _CLASSES)
