"""What is known about a source file: the language it is in, and what was compiled with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_AT_GNU_macros,
    DW_AT_language,
    DW_AT_language_name,
    DW_AT_macro_info,
    DW_AT_macros,
    names,
)

if TYPE_CHECKING:
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.sources.files import SourceFile

_PLAIN = {
    "C_plus_plus": "c++",
    "ObjC": "objective-c",
    "ObjC_plus_plus": "objective-c++",
    "OpenCL_C": "opencl",
}
_CALLED = {"Assembly": "asm", "Mips_Assembler": "asm", "LLVM_HIP": "hip", "CPP_for_OpenCL": "c++ for opencl"}


@frozen
class SourceFacts:
    """A source file and the unit that it is the source of."""

    file: SourceFile
    directory: str | None
    language: str | None
    producer: str | None
    version: int
    has_macros: bool
    is_embedded: bool
    """Whether the line table has its text."""


def facts_of(file: SourceFile) -> SourceFacts | None:
    """What is known about a file; None for one that no unit has."""
    unit = file.unit
    if unit is None:
        return None
    return SourceFacts(
        file,
        file.directory,
        language_of(unit),
        unit.producer,
        unit.version,
        unit.root_value(DW_AT_macros, DW_AT_macro_info, DW_AT_GNU_macros) is not None,
        file.embedded() is not None,
    )


def language_of(unit: Unit) -> str | None:
    """The language of a unit as GDB calls it: without the year of its standard."""
    number, kind = unit.root_number(DW_AT_language), "DW_LANG"
    if number is None:
        number, kind = unit.root_number(DW_AT_language_name), "DW_LNAME"
    name = None if number is None else names(kind).get(number)
    if name is None:
        return None
    name = name.removeprefix("DW_LANG_").removeprefix("DW_LNAME_")
    if name in _CALLED:
        return _CALLED[name]
    plain = name.rstrip("0123456789").rstrip("_")
    return _PLAIN.get(plain, plain.lower())
