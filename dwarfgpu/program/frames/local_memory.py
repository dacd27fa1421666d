"""What lies where in local memory: the variables of a kernel, and the memory that its arguments point to.

Compilers give most of these variables no location. LLVM makes one structure of them (AMDGPULowerModuleLDSPass,
OptimizedStructLayout): each time the one that leaves the smallest gap follows, of those the most aligned, then the
largest, then the one whose name in the compiler's code comes first. If this fills the memory that the kernel has, they
are there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import field

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.scopes import DECLARED
from dwarfgpu.program.frames.launch_record import LOCAL
from dwarfgpu.program.frames.variable import owner_of, variables_of
from dwarfgpu.program.types.model import Array, Pointer, Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.launch_record import LaunchRecord
    from dwarfgpu.program.frames.variable import Variable

_UNDEFINED = "DW_OP_LLVM_undefined"
_IN_FRAME = b"\x91"  # DW_OP_fbreg
LARGEST_ALIGNMENT = 16
"""LLVM aligns a variable of more than 8 bytes to so many, whatever its type."""
MAX_VARIABLES = 64
OPENCL = 0x15
"""The language whose local variables have the names of their functions in front; others are mangled."""


@frozen
class LocalObject:
    """A variable in local memory, or what an argument points to there."""

    name: str
    address: int | None
    """Where it begins; None if the file does not tell."""
    size: int
    type: Type = field(eq=False, repr=False)
    """Of an argument, what it points to."""
    is_certain: bool = True
    """Whether no other variable, as large and as aligned, may have its place: their names alone decide."""
    is_argument: bool = False


def local_objects(frame: Frame, launch: LaunchRecord) -> list[LocalObject]:
    """Return what lies in the local memory of a work-group, as far as it is known."""
    return [*_variables(frame, launch), *_arguments(launch)]


def _arguments(launch: LaunchRecord) -> Iterator[LocalObject]:
    """Yield the memory of arguments: up to that of the next one, or to the end."""
    rows = sorted((row.number, row) for row in launch.arguments if row.kind == LOCAL and row.number is not None)
    ends = [number for number, _row in rows[1:]] + [launch.local_size]
    for (start, row), end in zip(rows, ends, strict=False):
        pointer = resolved(row.type)
        if end is not None and end > start and isinstance(pointer, Pointer):
            yield LocalObject(row.name, start, end - start, pointer.to.get(), is_argument=True)


def _variables(frame: Frame, launch: LaunchRecord) -> Iterator[LocalObject]:
    """Yield the variables of the kernel, and of functions that are inlined or called."""
    code, function, kernel = launch.code, launch.function, launch.kernel
    if code is not None and function is not None and kernel is not None:
        yield from _variables_of(frame, code, function, kernel)


def _variables_of(frame: Frame, code: LoadedCode, function: Die, kernel: Kernel) -> Iterator[LocalObject]:
    room = 0 if kernel.descriptor is None else kernel.descriptor.group_segment_fixed_size
    if not room:
        return
    own: list[Variable] = []
    others: list[Variable] = []
    for variable in variables_of(frame, code, function.unit):
        size = known_size(variable.type)
        place = _place(variable)
        if place is not None and size:
            yield LocalObject(variable.name, place, size, variable.type)
        elif size and _may_be_local(variable):
            (own if owner_of(variable) in {kernel.source_name, function.name} else others).append(variable)
    large = [each for each in own if _is_large(each)]  # other ones may be those that the compiler has removed
    for group, slack in ((large, 1), (own, LARGEST_ALIGNMENT), (own + others, LARGEST_ALIGNMENT)):
        placed = _placed(group[:MAX_VARIABLES], room, slack)
        if placed:
            yield from placed
            return
    yield from (LocalObject(each.name, None, known_size(each.type) or 0, each.type) for each in own if _is_large(each))


class UnwrittenPlaces:
    """Where variables of unoptimized kernels are that have no location: those in local memory."""

    def __init__(self, state: Execution) -> None:
        self._state = state
        self._known: dict[Die, dict[str, int]] = {}

    def place(self, variable: Variable) -> int | None:
        """Return the address of a variable without a location, if it is certain."""
        function = next((each for each in variable.die.ancestors() if each.tag == dw.DW_TAG_subprogram), None)
        if function is None or not variable.code.file.is_amdgpu:
            return None
        if function not in self._known:
            self._known[function] = {}  # variables whose places are searched have none
            self._known[function] = dict(self._found(variable.code, function))
        return self._known[function].get(variable.name)

    def _found(self, code: LoadedCode, function: Die) -> Iterator[tuple[str, int]]:
        """Yield variables with their addresses: all are certain, and nothing but them has no location."""
        from dwarfgpu.program.frames.frame import Frame

        name = function.name
        kernels = [] if name is None else [each for each in code.file.kernels.kernels if each.source_name == name]
        if len(kernels) != 1 or not _is_unoptimized(function):
            return
        rows = list(_variables_of(Frame(self._state, code, None), code, function, kernels[0]))
        if all(row.is_certain and row.address is not None for row in rows):
            yield from ((row.name, row.address) for row in rows if row.address is not None)


def _is_unoptimized(function: Die) -> bool:
    """Return whether each variable of a function is in its frame, or has no location."""
    entries = [die for die, _depth in function.walk() if die.tag in DECLARED]
    if any(die.number(dw.DW_AT_const_value) is not None for die in entries):
        return False
    located = [found for die in entries if (found := die.number(dw.DW_AT_location)) is not None]
    return all(each.value_class != "loclist" and each.block().data[:1] == _IN_FRAME for each in located)


def _place(variable: Variable) -> int | None:
    """Return where a variable is in local memory, if its location says so for all waves."""
    try:
        address = variable.object(None).address
    except DwarfGpuError:
        return None
    space = None if address is None else variable.frame.target.space(address.space or 0)
    if address is None or space is None or space.name != "local":
        return None
    return address.value if isinstance(address.value, int) else None


def _may_be_local(variable: Variable) -> bool:
    """Return whether a variable has no location: of those with one, it tells."""
    if variable.kind == "parameter" or variable.is_constant():
        return False
    return all(each.repaired == _UNDEFINED for each in variable.locations())


def _is_large(variable: Variable) -> bool:
    return isinstance(resolved(variable.type), (Array, Struct))


def _placed(variables: Sequence[Variable], room: int, slack: int) -> list[LocalObject]:
    """Return variables in the order of LLVM, if they fill the room, but for less than some bytes behind them."""
    rows = [(-_alignment(each.type), -(known_size(each.type) or 0), _name(each), each) for each in variables]
    unknown = {row[:2] for row in rows if not row[2]}
    counts = Counter(row[:3] for row in rows)
    sizes = Counter(row[:2] for row in rows)
    found, at = [], 0
    while rows:
        alignment, size, name, variable = row = min(rows, key=lambda row: (-at % -row[0], row[:3]))
        rows.remove(row)
        at += -at % -alignment
        is_known = (alignment, size) not in unknown and counts[alignment, size, name] == 1
        is_certain = is_known or sizes[alignment, size] == 1
        found.append(LocalObject(variable.name, at, -size, variable.type, is_certain=is_certain))
        at -= size
    most = max((_alignment(each.type) for each in found), default=1) if slack > 1 else 1
    return found if at <= room < at + max(most, slack) else []


def _name(variable: Variable) -> str:
    """Return what orders a variable of a function among others, as compilers name it there; empty if not known."""
    *_others, unit = variable.die.ancestors()
    language, owner = unit.find_number(dw.DW_AT_language), owner_of(variable)
    if owner is None or language is None:
        return ""
    return f"{owner}.{variable.name}" if language.value == OPENCL else f"{owner}.{len(variable.name)}{variable.name}"


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
