"""How LLVM lays out the variables of a kernel in local memory, to most of which compilers give no location.

LLVM makes one structure of them (AMDGPULowerModuleLDSPass, OptimizedStructLayout): each time the one that leaves the
smallest gap follows, of those the most aligned, then the largest, then the one whose name in the compiler's code comes
first. If this fills the memory that the kernel has, they are there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import field

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info.scopes import enclosing_function, qualified_name
from dwarfgpu.program.code.scopes import DECLARED
from dwarfgpu.program.types.model import Array, Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.types.reader import Types

LARGEST_ALIGNMENT = 16
"""LLVM aligns a variable of more than 8 bytes to so many, whatever its type."""
MAX_VARIABLES = 64
OPENCL = 0x15
"""The language whose local variables have the names of their functions in front; others are mangled."""
_IN_FRAME = b"\x91"  # DW_OP_fbreg


@frozen
class LaidOut:
    """Where a variable is in local memory."""

    die: Die = field(repr=False)
    address: int
    size: int
    type: Type = field(eq=False, repr=False)
    is_certain: bool
    """Whether no other variable, as large and as aligned, may have its place: their names alone decide."""

    @property
    def name(self) -> str:
        return self.die.name or "(unnamed)"


def laid_out(variables: Sequence[tuple[Die, Type]], room: int) -> list[LaidOut]:
    """Return variables in the order of LLVM, if they, or the large ones of them alone, fill the room."""
    large = [each for each in variables if is_large(each[1])]  # other ones may be those that the compiler has removed
    return _filling(large[:MAX_VARIABLES], room, 1) or _filling(variables[:MAX_VARIABLES], room, LARGEST_ALIGNMENT)


def is_large(type_: Type) -> bool:
    """Return whether a variable of a type is mostly kept in memory."""
    return isinstance(resolved(type_), (Array, Struct))


def unwritten_place(code: LoadedCode, die: Die, types: Types) -> int | None:
    """Return the address in local memory of a variable of an unoptimized kernel that has no location.

    The others of the kernel are in its frame, and those without a location fill its local memory at certain places.
    """
    function = enclosing_function(die)
    if function is None or function.tag != dw.DW_TAG_subprogram or not code.file.is_amdgpu:
        return None
    if function not in code.unwritten_places:
        try:
            found = list(_unwritten(code, function, types))
        except DwarfGpuError:  # what is broken is said where it is asked for
            found = []
        is_certain = all(each.is_certain for each in found)
        code.unwritten_places[function] = {each.die: each.address for each in found if is_certain}
    return code.unwritten_places[function].get(die)


def _unwritten(code: LoadedCode, function: Die, types: Types) -> Iterator[LaidOut]:
    name = function.name
    kernels = [each for each in code.file.kernels.kernels if each.source_name == name]
    descriptor = kernels[0].descriptor if len(kernels) == 1 else None
    if descriptor is None or not descriptor.group_segment_fixed_size:
        return
    entries = [die for die, _depth in function.walk() if die.tag in DECLARED and die.name]
    without = []
    for entry in entries:
        location = entry.number(dw.DW_AT_location)
        if location is None:
            if entry.tag != dw.DW_TAG_variable or entry.number(dw.DW_AT_const_value) is not None:
                return
            without.append((entry, types.type_of(entry)))
        elif location.value_class == "loclist" or location.block().data[:1] != _IN_FRAME:
            return
    if all(known_size(kind) for _entry, kind in without):
        yield from laid_out(without, descriptor.group_segment_fixed_size)


def _filling(variables: Sequence[tuple[Die, Type]], room: int, slack: int) -> list[LaidOut]:
    """Return variables in the order of LLVM, if they fill the room, but for less than some bytes behind them."""
    rows = [(-_alignment(kind), -(known_size(kind) or 0), _name(die), die, kind) for die, kind in variables]
    unknown = {row[:2] for row in rows if not row[2]}
    counts = Counter(row[:3] for row in rows)
    sizes = Counter(row[:2] for row in rows)
    found, at = [], 0
    while rows:
        alignment, size, name, die, kind = row = min(rows, key=lambda row: (-at % -row[0], row[:3]))
        rows.remove(row)
        at += -at % -alignment
        is_known = (alignment, size) not in unknown and counts[alignment, size, name] == 1
        is_certain = is_known or sizes[alignment, size] == 1
        found.append(LaidOut(die, at, -size, kind, is_certain))
        at -= size
    most = max((_alignment(each.type) for each in found), default=1) if slack > 1 else 1
    return found if at <= room < at + max(most, slack) else []


def _name(die: Die) -> str:
    """Return what orders a variable of a function among others, as compilers name it there; empty if not known."""
    *_others, unit = die.ancestors()
    language, function = unit.find_number(dw.DW_AT_language), enclosing_function(die)
    owner = None if function is None else qualified_name(function)
    if owner is None or language is None or die.name is None:
        return ""
    return f"{owner}.{die.name}" if language.value == OPENCL else f"{owner}.{len(die.name)}{die.name}"


def _alignment(type_: Type) -> int:
    """Return the alignment that LLVM gives a variable of local memory."""
    size = known_size(type_) or 1
    return max(min(1 << (size - 1).bit_length(), LARGEST_ALIGNMENT), _natural(type_))


def _natural(type_: Type) -> int:
    """Return the alignment of a type: that of its largest part, of a vector its size."""
    kind = resolved(type_)
    if isinstance(kind, Array) and not kind.is_vector:
        return _natural(kind.element)
    if isinstance(kind, Struct):
        return max((_natural(member.to.get()) for member in kind.body.members), default=1)
    return 1 << (max(known_size(kind) or 1, 1) - 1).bit_length()
