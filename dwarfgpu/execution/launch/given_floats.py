"""Where the floats are that a kernel is given, for the check that tells what NaNs came in with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.program.code.kernel_parameters import DescribedKernel, explicit_arguments
from dwarfgpu.program.frames.launch_record import argument_type
from dwarfgpu.program.language.arithmetic import DataModel
from dwarfgpu.program.types.model import Array, Base, Pointer, Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.faults import NamedBuffer
    from dwarfgpu.execution.launch.dispatch import PlannedDispatch


def floats_of(planned: PlannedDispatch, buffers: Sequence[NamedBuffer]) -> Iterator[tuple[int, int, str]]:
    """Yield where floats of arguments are, and their type as numpy writes it: what is given, else what is declared."""
    known = set()
    for buffer in planned.buffers:
        given = str(buffer.form[0])
        if given[1:2] == "f":
            known.add(buffer.address)
            yield buffer.address, buffer.size, given
    arguments, segment = explicit_arguments(planned.kernel), planned.start.kernarg_bytes
    for argument, parameter in zip_longest(arguments, DescribedKernel(planned.file, planned.kernel).parameters or ()):
        kind = None if argument is None else argument_type(DataModel(), argument, parameter)
        kind = kind and resolved(kind)
        start, size = (0, 0) if kind is None else (argument.offset or 0, argument.size or 0)
        if not isinstance(kind, Pointer):
            start, float_type = start + planned.places.kernarg, float_of(kind)
        else:
            start, float_type = int.from_bytes(segment[start : start + size], "little"), float_of(kind.to.get())
            size = next((each.address + each.size - start for each in buffers if each.holds(start)), 0)
        if float_type is not None and start not in known:
            yield start, size, float_type
        elif not isinstance(kind, Pointer):
            yield from floats_in(kind, start)


def floats_in(type: Type | None, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield where the floats among the members of a structure are."""
    kind = None if type is None else resolved(type)
    for member in kind.body.members if isinstance(kind, Struct) and kind.kind != "union" else ():
        own, offset = member.to.get(), member.bit_offset
        if offset is not None and (float_type := float_of(own)) is not None:
            yield start + offset // 8, known_size(own) or 0, float_type
        elif offset is not None:
            yield from floats_in(own, start + offset // 8)


def float_of(type: Type | None) -> str | None:
    """Return the type of the floats that an object consists of, as numpy writes it; None if they are not all alike."""
    kind = None if type is None else resolved(type)
    if isinstance(kind, Array):
        return float_of(kind.element)
    if isinstance(kind, Struct):
        kinds = {float_of(member.to.get()) for member in kind.body.members}
        return kinds.pop() if len(kinds) == 1 else None
    if not isinstance(kind, Base) or kind.encoding != dw.DW_ATE_float or "bf16" in (kind.name or ""):
        return None
    return f"<f{known_size(kind)}" if known_size(kind) in (2, 4, 8) else None
