"""Arguments for a kernel that a user has given none: made from their types, as large as the grid needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.execution.launch.argument_values import ArgumentType, encoded
from dwarfgpu.execution.launch.kernarg import POINTERS
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.program.frames.launch_record import argument_type
from dwarfgpu.program.language.arithmetic import DataModel
from dwarfgpu.program.types.model import Array, Pointer, Struct, known_size, resolved
from dwarfgpu.program.values.scalars import scalar_of

if TYPE_CHECKING:
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.types.model import Type

GROUPS, GROUP = 2, 64
"""The work-groups of a launch for which the user has given no sizes, and the most work-items of one."""
OF_ITEM, LEAST = 4, 1024
"""The elements of a buffer: so many for each work-item, and at least so many."""
MOST_DEPTH = 8
FLOAT = 1.5


def launch_sizes(file: CodeObject, kernel: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a grid and a work-group that a kernel allows."""
    metadata = file.kernels_named([kernel])[0].metadata
    required = () if metadata is None else tuple(metadata.reqd_workgroup_size or ())
    if required and all(required):
        group = required
    else:
        most = None if metadata is None else metadata.max_flat_workgroup_size
        group = (min(GROUP, most or GROUP),)
    return (group[0] * GROUPS, *group[1:]), group


def made_arguments(file: CodeObject, kernel: str, items: int, seed: int) -> dict[int, Any]:
    """Return values for the arguments of a kernel by position; an error says which cannot be made.

    An integer is the number of work-items, a float 1.5. A pointer points to a buffer of four elements for each
    work-item: integers below that number, floats of few bits, structures like those by value. Pointers inside are null.
    """
    described = DescribedKernel(file, file.kernels_named([kernel])[0])
    generator = np.random.default_rng(seed)
    values: dict[int, Any] = {}
    for index, (argument, parameter) in enumerate(described.explicit):
        text = argument.type_name or argument.value_type or (None if parameter is None else parameter.type)
        is_pointer = argument.value_kind in POINTERS
        kind = ArgumentType(text, is_pointer, argument_type(DataModel(), argument, parameter))
        if argument.value_kind == "dynamic_shared_pointer":
            values[index] = OF_ITEM * 8 * GROUP
        elif argument.value_kind == "global_buffer":
            values[index] = _buffer(kind, max(LEAST, OF_ITEM * items), items, generator)
        elif is_pointer:
            raise Unsupported("argument", f"no {argument.value_kind} can be made for {argument.name or index}")
        else:
            values[index] = _value(kind, argument.size or 4, items)
    return values


def _buffer(kind: ArgumentType, count: int, items: int, generator: np.random.Generator) -> Any:
    """Return what a pointer points to."""
    if kind.is_boolean:
        return generator.integers(0, 2, count, dtype=np.uint8)
    element, object_type = kind.element, kind.object_type
    structure = None if object_type is None else resolved(object_type)
    if isinstance(structure, Struct):
        return np.frombuffer(_bytes(object_type, known_size(structure) or 1, items) * count, np.uint8)
    lanes = 1 if object_type is None else max(1, (known_size(object_type) or 1) // max(1, int((element or "u1")[1:])))
    if element is None:
        return np.zeros(8 * count, np.uint8)
    if element[0] == "f":
        return (generator.integers(-32, 33, count * lanes) / 8).astype(element)
    return generator.integers(0, min(items, 100), count * lanes).astype(element)


def _value(kind: ArgumentType, size: int, items: int) -> Any:
    """Return an argument that is given by value."""
    if kind.type is not None:
        return _bytes(kind.type, size, items)
    element = kind.element
    if element is not None and int(element[1:]) == size:
        return FLOAT if element[0] == "f" else min(items, 100)
    return min(items, 100) if element is None and size in (1, 2, 4, 8) else bytes(size)


def _bytes(type: Type, size: int, items: int) -> bytes:
    """Return the bytes of an object; zeros where no form is known for its type, such as one with a base class."""
    try:
        return encoded(_contents(type, items), type, "what is made")
    except DwarfGpuError:
        return bytes(size)


def _contents(type: Type, items: int, depth: int = 0) -> Any:
    """Return the content of an object as JSON would write it."""
    kind = resolved(type)
    if isinstance(kind, Pointer) or depth > MOST_DEPTH:
        return 0
    if isinstance(kind, Struct):
        named = [member for member in kind.body.members if member.name]
        chosen = named[:1] if kind.kind == "union" else named
        return {member.name: _contents(member.to.get(), items, depth + 1) for member in chosen}
    scalar = scalar_of(kind)
    vector = getattr(kind, "vector_size", None)
    if isinstance(kind, Array) or vector:
        length = vector or (kind.dimensions[0].length or 0 if isinstance(kind, Array) and kind.dimensions else 0)
        inner = kind.element if isinstance(kind, Array) and len(kind.dimensions) == 1 else None
        return [1 if inner is None else _contents(inner, items, depth + 1)] * length
    if scalar is not None and scalar.kind == "boolean":
        return 1
    if scalar is not None and scalar.layout is not None:
        return FLOAT
    return min(items, 100 if scalar is None or scalar.storage_bits == 8 else items)
