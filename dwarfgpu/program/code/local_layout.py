"""How LLVM lays out the variables of a kernel in local memory, to most of which compilers give no location.

LLVM makes one structure of them (AMDGPULowerModuleLDSPass, OptimizedStructLayout): each time the one that leaves the
smallest gap follows, of those the most aligned, then the largest, then the one whose name in the compiler's code comes
first. If this fills the memory that the kernel has, they are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import field, frozen
from dwarfgpu.objfile.info.scopes import enclosing_function, qualified_name
from dwarfgpu.program.code.scopes import DECLARED
from dwarfgpu.program.types.model import Array, Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.types.reader import Types

LARGEST_ALIGNMENT = 16
"""LLVM aligns a variable of more than 8 bytes to so many, whatever its type."""
MAX_VARIABLES = 64
OPENCL = 0x15
"""The language whose local variables have the names of their functions in front; others are mangled with them."""
_FIXED = (b"\x91", b"\x03", b"\xa1")
"""DW_OP_fbreg, DW_OP_addr, DW_OP_addrx: where unoptimized code keeps variables."""


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
    """Return the address in local memory of a variable of unoptimized code that has no location.

    The others of a function are in its frame, and those without a location fill the local memory of its kernel.
    """
    function = enclosing_function(die)
    if function is None or function.tag != dw.DW_TAG_subprogram or not code.file.is_amdgpu:
        return None
    kernels = code.file.kernels.kernels
    key = None if len(kernels) == 1 else function
    if key not in code.unwritten_places:
        named = [each for each in kernels if key is None or each.source_name == function.name]
        descriptor = named[0].descriptor if len(named) == 1 else None
        room = 0 if descriptor is None else descriptor.group_segment_fixed_size
        try:
            found = laid_out(_unwritten(code, key, types), room) if room else []
        except DwarfGpuError:  # what is broken is said where it is asked for
            found = []
        is_certain = all(each.is_certain for each in found)
        code.unwritten_places[key] = {each.die: each.address for each in found if is_certain}
    return code.unwritten_places[key].get(die)


def is_unwritten(code: LoadedCode, die: Die, types: Types) -> bool:
    """Return whether a variable of unoptimized code has no location since it is in local memory."""
    has_room = any(each.descriptor and each.descriptor.group_segment_fixed_size for each in code.file.kernels.kernels)
    if not code.file.is_amdgpu or not has_room:
        return False
    if code.unwritten_variables is None:
        code.unwritten_variables = frozenset(entry for entry, _type in _unwritten(code, None, types))
    return die in code.unwritten_variables


def _unwritten(code: LoadedCode, function: Die | None, types: Types) -> list[tuple[Die, Type]]:
    """Return the variables without a location of a function, or of all functions, which one kernel calls.

    Nothing is returned where one of the others may be in a register, as in optimized code: what has no location there
    may have been optimized away.
    """
    roots = [unit.root for unit in code.file.dwarf.compile_units()] if function is None else [function]
    entries = (die for root in roots for die, _depth in root.walk() if die.tag in DECLARED and die.name)
    without: dict[Die, Type] = {}
    placed: set[Die] = set()
    for entry in entries:
        owner, location = enclosing_function(entry), entry.number(dw.DW_AT_location)
        if owner is None:
            continue
        *_others, first = entry.origins()
        if location is not None:
            placed.add(first)
            if location.value_class == "loclist" or location.block().data[:1] not in _FIXED:
                return []
        elif entry.number(dw.DW_AT_const_value) is not None:
            return []
        elif entry.tag == dw.DW_TAG_variable:
            without[entry] = types.type_of(entry)
        elif owner.find_number(dw.DW_AT_inline) is None:
            return []
    result = [(entry, kind) for entry, kind in without.items() if entry not in placed]
    return result if all(known_size(kind) for _entry, kind in result) else []


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
    if function is None or owner is None or language is None or die.name is None:
        return ""
    if language.value == OPENCL:
        return f"{owner}.{die.name}"
    mangled = function.linkage_name or f"_Z{len(owner)}{owner}"
    return f"_Z{mangled[1:]}E{len(die.name)}{die.name}"


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
