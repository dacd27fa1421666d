"""Arguments for a kernel that a user has given none: made from their types, as large as the grid needs them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.execution.launch.argument_values import ArgumentPath, ArgumentType, encoded
from dwarfgpu.execution.launch.images import image_shape
from dwarfgpu.execution.launch.kernarg import POINTERS
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.program.code.source_files import COMPILED, HERE, SourceTexts
from dwarfgpu.program.frames.columns import dtype_of
from dwarfgpu.program.frames.launch_record import argument_type
from dwarfgpu.program.language.arithmetic import DataModel
from dwarfgpu.program.types.model import Array, Function, Pointer, Struct, Type, known_size, resolved
from dwarfgpu.program.values.scalars import scalar_of

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.states.program import Program

GROUPS, GROUP = 2, 64
"""The work-groups of a launch for which the user has given no sizes, and the most work-items of one."""
OF_ITEM, LEAST = 4, 1024
"""The elements of a buffer: so many for each work-item, and at least so many."""
MADE = "made"
"""The word that stands for all arguments of a kernel: they are made."""
MADE_BUFFERS = "the contents of the buffers are made; give them with NAME=@FILE.npy"
MOST_DEPTH = 8
FLOAT = 1.5
IMAGE = {1: (1024,), 2: (64, 64), 3: (16, 16, 16)}
"""The extents of an image by the number of its axes."""


@frozen
class MadeLaunch:
    """What a kernel was launched with that the user has not chosen, as text."""

    kernel: str
    grid: str
    work_group: str
    arguments: Mapping[str, str]
    """What each argument is, by its name; empty where the user has given them."""


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


def made_arguments(program: Program, kernel: str, items: int, seed: int) -> dict[int, Any]:
    """Return values for the arguments of a kernel by position; an error says which cannot be made.

    An integer is the number of work-items, a float 1.5. A pointer points to a buffer of four elements for each
    work-item: integers below that number, floats of few bits, structures like those by value. A pointer in a structure
    points to such a buffer, too; those in that buffer are null.
    An image has channels of the type that the source reads or writes, which are floats where the source is not found.
    """
    described = DescribedKernel(program.file, program.file.kernels_named([kernel])[0])
    generator = np.random.default_rng(seed)
    values: dict[int, Any] = {}
    for index, (argument, parameter) in enumerate(described.explicit):
        text = argument.type_name or argument.value_type or (None if parameter is None else parameter.type)
        is_pointer = argument.value_kind in POINTERS
        kind = ArgumentType(text, is_pointer, argument_type(DataModel(), argument, parameter))
        if argument.value_kind == "dynamic_shared_pointer":
            values[index] = OF_ITEM * 8 * GROUP
        elif argument.value_kind == "image":
            values[index] = _image(argument, _source(program, described.of_metadata.entry), generator)
        elif argument.value_kind == "sampler":
            values[index] = "sampler(nearest, clamp_to_edge)"
        elif argument.value_kind == "global_buffer":
            values[index] = _buffer(kind, max(LEAST, OF_ITEM * items), items, generator)
        elif is_pointer:
            raise Unsupported("argument", f"no {argument.value_kind} can be made for {argument.name or index}")
        else:
            values[index] = _value(kind, argument.size or 4, items, generator)
    return values


def argument_texts(file: CodeObject, kernel: str, values: Mapping[int, Any]) -> dict[str, str]:
    """Return what made arguments are, by their names; those without a value are left out."""
    described = DescribedKernel(file, file.kernels_named([kernel])[0])
    texts = {}
    for index, (argument, parameter) in enumerate(described.explicit):
        if index not in values:
            continue
        kind = ArgumentType(argument.type_name, is_pointer=False, type=argument_type(DataModel(), argument, parameter))
        texts[argument.name or f"argument {index}"] = _text(values[index], kind)
    return texts


def made_text(file: CodeObject, kernel: str, values: Mapping[int, Any]) -> str:
    """Return which numbers were made, and how to give others."""
    numbers = {index: value for index, value in values.items() if not isinstance(value, (np.ndarray, list))}
    texts = argument_texts(file, kernel, numbers)
    shown = ", ".join(f"{name} = {text}" for name, text in texts.items())
    return f"the arguments are made: {shown}; give them with {next(iter(texts))}=..." if texts else MADE_BUFFERS


def _text(value: Any, kind: ArgumentType) -> str:
    names = value.dtype.names if isinstance(value, np.void) else None
    if isinstance(value, dict) or names:
        nothing = ArgumentType(None, is_pointer=False)
        return f"{{{', '.join(f'{name}: {_text(value[name], nothing)}' for name in names or value)}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{len(value):,} of {_text(value[0], kind)}"
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            return f"{value.size:,} of {_text(value[0], kind)}"
        extents = "x".join(map(str, value.shape)) if value.ndim > 1 else f"{value.size:,}"
        return f"{value.size:,} bytes" if value.dtype == np.uint8 else f"{extents} {value.dtype.name}"
    if isinstance(value, bytes):
        number = np.dtype(kind.element or ("V" if kind.type is None else dtype_of(kind.type, "little")))
        if number.itemsize != len(value) or (number.kind == "V" and not number.names):
            return f"{len(value)} bytes"
        value = np.frombuffer(value, number)[0]
        return _text(value, kind) if number.names else f"{value}"
    return f"{value}"


def _image(argument: KernelArgument, source: str, generator: np.random.Generator) -> Any:
    """Return an image: four channels of numbers, or one of depths."""
    shape = image_shape(argument.type_name)
    extents = (*IMAGE[shape.axes], *([] if shape.is_depth else [4]))
    name = re.escape(argument.name or "")
    uses = re.search(rf"\b(?:read|write)_image(f|ui|i|h)\s*\(\s*{name}\b", source)
    code = {"ui": "u4", "i": "i4"}.get(uses[1] if uses else "f", "f4")
    if code == "f4":
        return (generator.integers(0, 9, extents) / 8).astype(code)
    return generator.integers(0, 100, extents).astype(code)


def _source(program: Program, entry: int | None) -> str:
    """Return the text of the file that has a kernel; empty where it is not found."""
    line = None if entry is None else program.state.sources.at(entry)
    reader = SourceTexts()
    reader.directories = (COMPILED, HERE, os.path.dirname(program.file.image.path or ""))
    return "" if line is None else "\n".join(reader.read(line.file).lines)


def _buffer(
    kind: ArgumentType, count: int, items: int, generator: np.random.Generator, *, is_last: bool = False
) -> Any:
    """Return what a pointer points to; ``is_last`` is whether pointers in that are null."""
    if kind.is_boolean:
        return generator.integers(0, 2, count, dtype=np.uint8)
    element, object_type = kind.element, kind.object_type
    structure = None if object_type is None else resolved(object_type)
    if isinstance(structure, Struct):
        contents = _object(object_type, known_size(structure) or 1, items, None if is_last else generator)
        form = kind.record or np.uint8
        return np.frombuffer(contents * count, form) if isinstance(contents, bytes) else [contents] * count
    if element is None:
        return np.zeros(8 * count, np.uint8)
    count *= kind.numbers
    if element[0] == "f":
        return (generator.integers(-32, 33, count) / 8).astype(element)
    return generator.integers(0, min(items, 100), count).astype(element)


def _value(kind: ArgumentType, size: int, items: int, generator: np.random.Generator) -> Any:
    if kind.type is not None:
        return _object(kind.type, size, items, generator)
    element = kind.element
    if element is not None and int(element[1:]) == size:
        return FLOAT if element[0] == "f" else min(items, 100)
    return min(items, 100) if element is None and size in (1, 2, 4, 8) else bytes(size)


def _object(type: Type, size: int, items: int, generator: np.random.Generator | None) -> Any:
    """Return an object: its bytes, or if pointers in it point to something, what its members have.

    It has only zeros where no form is known for its type, such as one with a base class.
    """
    pointed: list[Any] = []

    def buffer(kind: Pointer) -> Any:
        target = resolved(kind.target)
        if generator is None or known_size(kind) != 8 or isinstance(target, Function):
            return 0
        described, is_last = ArgumentType(None, is_pointer=True, type=kind), isinstance(target, Struct)
        pointed.append(_buffer(described, max(LEAST, OF_ITEM * items), items, generator, is_last=is_last))
        return pointed[-1]

    contents = _contents(type, items, buffer)
    try:
        data = encoded(contents, type, ArgumentPath("that is made", "the kernel"), lambda *_pointer: 0)
    except DwarfGpuError:
        return bytes(size)
    return contents if pointed else data


def _contents(type: Type, items: int, buffer: Callable[[Pointer], Any], depth: int = 0) -> Any:
    """Return the content of an object as JSON would write it; ``buffer`` makes what a pointer points to."""
    kind = resolved(type)
    if isinstance(kind, Pointer) and depth:
        return buffer(kind)
    if isinstance(kind, Pointer) or depth > MOST_DEPTH:
        return 0
    if isinstance(kind, Struct):
        named = [member for member in kind.body.members if member.name]
        chosen = named[:1] if kind.kind == "union" else named
        return {member.name: _contents(member.to.get(), items, buffer, depth + 1) for member in chosen}
    scalar = scalar_of(kind)
    vector = getattr(kind, "vector_size", None)
    if isinstance(kind, Array) or vector:
        length = vector or (kind.dimensions[0].length or 0 if isinstance(kind, Array) and kind.dimensions else 0)
        inner = kind.element if isinstance(kind, Array) and len(kind.dimensions) == 1 else None
        return [1 if inner is None else _contents(inner, items, buffer, depth + 1)] * length
    if scalar is not None and scalar.kind == "boolean":
        return 1
    if scalar is not None and scalar.layout is not None:
        return FLOAT
    return min(items, 100 if scalar is None or scalar.storage_bits == 8 else items)
