"""What lies where in local memory: the variables of a kernel, and the memory that its arguments point to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import field, frozen
from dwarfgpu.program.code.local_layout import is_large, laid_out
from dwarfgpu.program.frames.launch_record import LOCAL, LaunchRecord
from dwarfgpu.program.frames.variable import Variable, owner_of, variables_of
from dwarfgpu.program.types.model import Pointer, Type, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame

_UNDEFINED = "DW_OP_LLVM_undefined"


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

    def offset_of(self, address: int) -> int | None:
        """Return how far an address in it is from its beginning; None if it is elsewhere, as far as the file tells."""
        offset = None if self.address is None else address - self.address
        return offset if offset is not None and 0 <= offset < self.size else None


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
    described = None if kernel is None else kernel.descriptor
    if code is None or function is None or kernel is None or described is None:
        return
    room = described.group_segment_fixed_size
    if not room:
        return
    own, others = list[Variable](), list[Variable]()
    is_told, names = False, {kernel.source_name, function.name}
    kernels = {each.source_name for each in code.file.kernels.kernels} - names
    for variable in variables_of(frame, code, function.unit):
        owner = owner_of(variable)
        if owner in kernels:  # whose local memory is another
            continue
        size = known_size(variable.type)
        place = _place(variable)
        if place is not None and size:
            is_told = True
            yield LocalObject(variable.name, place, size, variable.type)
        elif size and _may_be_local(variable):
            (own if owner in names else others).append(variable)
    filling = [each for each in own if known_size(each.type) == room]
    groups = (own, own + others, filling if len(filling) == 1 else [])  # others are perhaps private
    typed = [[(each.die, each.type) for each in group] for group in groups]
    for group in () if is_told else typed:
        placed = laid_out(group, room)
        if placed:
            for each in placed:
                is_certain = each.is_certain and group is not typed[-1]
                yield LocalObject(each.name, each.address, each.size, each.type, is_certain=is_certain)
            return
    yield from (
        LocalObject(each.name, None, known_size(each.type) or 0, each.type) for each in own if is_large(each.type)
    )


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
