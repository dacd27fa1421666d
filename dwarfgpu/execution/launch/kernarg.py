"""The kernarg segment of a dispatch: argument values and those that the runtime adds, laid out by the metadata.

AMDGPU usage, "Code Object Metadata": each argument has an offset, a size and a ``value_kind``; the kinds that begin
with ``hidden_`` are the runtime's (table "Code Object V5 Kernel Argument Metadata Map Additions and Changes").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError, nearest, shown
from dwarfgpu.execution.launch.argument_values import (
    ArgumentPath,
    ArgumentType,
    BitPattern,
    converted,
    encoded,
    is_without_contents,
)
from dwarfgpu.execution.launch.images import ImageArgument, read_argument
from dwarfgpu.expr.floats import DOUBLE, HALF, SINGLE
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.kernel_parameters import KernelParameter, explicit_arguments, fitting
from dwarfgpu.program.frames.launch_record import argument_type
from dwarfgpu.program.language.arithmetic import DataModel
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Pointer, Type, known_size
from dwarfgpu.program.values.scalars import Scalar, scalar_of
from dwarfgpu.regular_files import read_input
from dwarfgpu.targets.amdgpu.initial_state import align

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.targets.amdgpu.geometry import Geometry

MAX_SIZE = 1 << 20
"""A limit that no compiler comes near: packet processors read segments of a few KiB."""

_MODEL = DataModel()
_FLOATS = {2: HALF, 4: SINGLE, 8: DOUBLE}
POINTERS = ("global_buffer", "pipe", "queue", "image", "sampler")


SEGMENT = "(segment)"
"""The name of all arguments, where they are given as bytes."""


@frozen
class Written:
    """One part of the kernarg segment."""

    offset: int
    size: int
    name: str
    """The argument's name, or ``value_kind`` for what the runtime adds."""
    value: bytes
    is_given: bool
    """Whether the launch gave a value; without one it is 0."""


@frozen
class Buffer:
    """Memory for an argument that is an array, or for an array that a pointer in a structure points to."""

    address: int
    data: bytes
    name: str
    """Of the argument, or of the member of it, as in ``view.data``."""
    position: int | None
    """That of the argument that points to it; None where a structure does."""
    form: tuple[Any, tuple[int, ...]] = ("|u1", ())
    """The type of its numbers, of numpy or as numpy writes it, and its shape; without one it is a row."""
    has_contents: bool = True
    """Whether a kernel finds something there that has been written."""
    pointed: Type | None = None
    """The type of its elements, where that is known."""
    image: ImageArgument | None = None
    """What it is, if it is an image."""

    @property
    def header(self) -> bytes:
        """What stands in front of the bytes: the description of an image."""
        return b"" if self.image is None else self.image.header


@frozen
class Kernarg:
    """The arguments of a dispatch."""

    size: int
    parts: tuple[Written, ...]
    buffers: tuple[Buffer, ...]
    dynamic_local: int
    """Bytes of local memory that arguments ask for, from the end of the kernel's own."""
    left_out: int = 0
    """The last arguments that the source does not have and nobody has given a value."""


@frozen
class LaunchFacts:
    """The facts of a launch that hidden arguments hold."""

    geometry: Geometry
    queue: int
    group_aperture_hi: int
    private_aperture_hi: int
    dynamic_local: int
    printf_buffer: int = 0
    """The address of the buffer for `printf`; 0 where the kernel needs none."""
    offset: tuple[int, ...] = (0, 0, 0)
    """What is added to the global IDs of work-items (OpenCL API 3.0, clEnqueueNDRangeKernel)."""


# --- The segment --------------------------------------------------------------------------------------------------


def lay_out(
    kernel: Kernel,
    args: Any,
    local_size: int,
    parameters: Sequence[KernelParameter] = (),
    added: int = 0,
    *,
    allocate: Callable[[int], int],
) -> Kernarg:
    """Lay out the explicit arguments of a kernel.

    ``args`` is a sequence by position, a mapping by name, ``bytes``, which are the segment as it is, or None: all are
    0. A number becomes what the argument's size and type say, ``bytes`` are taken as they are, and an object with a
    buffer, such as an array of numpy, is copied to memory where the argument, or a member of a structure, is a
    pointer; ``allocate`` returns the address of so many bytes. Texts, lists and dictionaries are what
    `argument_values` makes of them. An argument that points to local memory is given as the number of bytes it points
    to. ``local_size`` is where such memory begins. ``parameters`` are what the debugging information knows of the
    arguments; without them, ``added`` is how many follow those of the source.
    """
    size = segment_size(kernel)[0]
    if kernel.metadata is None and isinstance(args, (list, Mapping)) and len(args) == 1:
        (given,) = args.values() if isinstance(args, Mapping) else args
        args = given if isinstance(given, bytes) else args  # without metadata there is one argument: the segment
    if isinstance(args, (bytes, bytearray)):
        if len(args) > size:
            raise UsageError(f"the kernarg segment of {kernel.source_name} has {size} bytes, but {len(args)} are given")
        part = Written(0, len(args), SEGMENT, bytes(args), is_given=True)
        return Kernarg(size, (part,), (), 0)
    explicit = _explicit(kernel, size) if args is not None or kernel.metadata is not None else []
    parts: list[Written] = []
    memory = _ArgumentMemory(allocate)
    local = local_size
    known = list(fitting(parameters, explicit) or ())
    left_out = len(explicit) - len(known) if known else min(added, len(explicit))
    names = _names(explicit)
    for index, (argument, given) in enumerate(_matched(kernel, explicit, args, known, left_out)):
        what = _described(index, argument, kernel)
        offset, length = _place(argument, what, size)
        kind = argument_type(_MODEL, argument, known[index] if index < len(known) else None)
        text = argument.type_name or argument.value_type or (known[index].type if index < len(known) else None)
        described = ArgumentType(text, argument.value_kind in POINTERS, kind)
        value = read_argument(given, argument, str(what), read_input)
        image = value if isinstance(value, ImageArgument) else None
        if image is not None:
            value = image.texels
        elif given is not _NOTHING:
            value = converted(value, described, what, read_input, memory.of_member)
        if value is _NOTHING:
            data = bytes(length)
        elif argument.value_kind == "dynamic_shared_pointer":
            local = align(local, max(argument.pointee_align or 16, 1))
            data = _address(local, length, what)
            local += _local_bytes(value, what)
        elif argument.value_kind in POINTERS:
            data = memory.pointer(value, length, what, names[index], index, described.object_type, image)
        else:
            data = _by_value(value, kind, length, what)
        parts.append(Written(offset, length, names[index], data, is_given=value is not _NOTHING))
    left_out = sum(not part.is_given for part in parts[len(parts) - left_out :]) if left_out else 0
    return Kernarg(size, tuple(parts), tuple(memory.buffers), local - local_size, left_out)


class _ArgumentMemory:
    """The memory of arguments that point to arrays."""

    def __init__(self, allocate: Callable[[int], int]) -> None:
        self.allocate = allocate
        self.buffers: list[Buffer] = []

    def pointer(
        self,
        value: Any,
        length: int,
        what: ArgumentPath,
        name: str,
        position: int | None,
        pointed: Type | None,
        image: ImageArgument | None = None,
    ) -> bytes:
        """Return the bytes of a pointer to what is given: an array gets memory, a number is an address."""
        contents = None if isinstance(value, bytes) else _buffer(value)
        if contents is None:
            return _address(value, length, what)
        kind, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
        form = ("|u1", ()) if kind is None else (kind if kind.names else str(kind.str), tuple(shape))
        address = self.allocate(len(contents) + (0 if image is None else len(image.header)))
        buffer = Buffer(address, contents, name, position, form, not is_without_contents(value), pointed, image)
        self.buffers.append(buffer)
        return address.to_bytes(8, "little").ljust(length, b"\0")[:length]

    def of_member(self, value: Any, kind: Pointer, what: ArgumentPath) -> int:
        """Return the address that a pointer in a structure gets, by what it is given."""
        described = ArgumentType(safe_text(kind), is_pointer=True, type=kind)
        given = converted(value, described, what, read_input, self.of_member)
        data = self.pointer(given, known_size(kind) or 8, what, what.path, None, described.object_type)
        return int.from_bytes(data, "little")


def segment_size(kernel: Kernel) -> tuple[int, int]:
    """Return the size and alignment of the segment, at least 16 bytes ("Kernel Dispatch", 3)."""
    size, alignment = 0, 16
    if kernel.code is not None:
        size, alignment = (kernel.code.kernarg_segment_byte_size, 1 << min(kernel.code.kernarg_segment_alignment, 32))
    elif kernel.descriptor is not None:
        size = kernel.descriptor.kernarg_size
    if kernel.metadata is not None:
        size = size or kernel.metadata.kernarg_segment_size or 0
        alignment = kernel.metadata.kernarg_segment_align or alignment
    if not 0 <= size <= MAX_SIZE or not 0 < alignment <= MAX_SIZE or alignment & (alignment - 1):
        message = (
            f"the kernel {kernel.source_name} asks for {shown(size)} bytes of arguments, aligned to {shown(alignment)}"
        )
        raise UsageError(message, hint=f"at most {MAX_SIZE} bytes are supported")
    return size, max(16, alignment)


def _explicit(kernel: Kernel, size: int) -> list[KernelArgument]:
    if kernel.metadata is None:
        if size == 0:
            return []
        message = f"the file has no metadata for the arguments of {kernel.source_name}"
        hint = f"give the kernarg segment as one argument, bytes:0a0b..., of up to {size} bytes"
        raise UsageError(message, hint=hint)
    return explicit_arguments(kernel)


def _place(argument: KernelArgument, what: object, size: int) -> tuple[int, int]:
    offset, length = argument.offset, argument.size
    if offset is None or length is None or not 0 <= offset <= offset + length <= size:
        message = f"{what} has no place in the kernarg segment of {size} bytes"
        raise UsageError(message, hint="the metadata of the kernel gives its offset and size")
    return offset, length


# --- Matching values to arguments ---------------------------------------------------------------------------------

_NOTHING = object()


def _matched(
    kernel: Kernel, explicit: list[KernelArgument], args: Any, parameters: list[KernelParameter], left_out: int
) -> list[tuple[KernelArgument, Any]]:
    """Return each argument with its value. With no values at all, every argument is 0."""
    if args is None:
        return [(argument, _NOTHING) for argument in explicit]
    if isinstance(args, Mapping):
        return _by_name(kernel, explicit, args, parameters, left_out)
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise UsageError(f"arguments are a sequence, a mapping or bytes, not {type(args).__name__}")
    return _by_name(kernel, explicit, dict(enumerate(args)), parameters, left_out)


def _by_name(
    kernel: Kernel,
    explicit: list[KernelArgument],
    args: Mapping[Any, Any],
    parameters: list[KernelParameter],
    left_out: int,
) -> list[tuple[KernelArgument, Any]]:
    """Match values by the names of the metadata or of the debugging information.

    A number counts the arguments that are not named in the mapping.
    """
    positions: dict[Any, int] = {parameter.name: index for index, parameter in enumerate(parameters) if parameter.name}
    positions |= {argument.name: index for index, argument in enumerate(explicit) if argument.name}
    names = list(positions)
    named = {positions[name] for name in args if name in positions}
    positions |= dict(enumerate(index for index in range(len(explicit)) if index not in named))
    values: dict[int, Any] = {}
    for name, value in args.items():
        index = positions.get(name)
        if isinstance(name, int) and index is None:
            noun = "argument" if len(explicit) == 1 else "arguments"
            message = f"{kernel.source_name} has {len(explicit)} {noun}, and {len(args)} values are given"
            raise UsageError(message, hint=_listed(kernel, explicit))
        if index is None:
            near = nearest(str(name), names)
            hint = _listed(kernel, explicit) if names else "the metadata has no names: give them by position"
            hint = f"did you mean {near}? {hint}" if near else hint
            raise UsageError(f"{kernel.source_name} has no argument {name!r}", hint=hint)
        if index in values:
            raise UsageError(f"{_described(index, explicit[index], kernel)} is given twice")
        values[index] = value
    needed = range(len(explicit) - left_out)
    missing = [explicit[index].name or f"argument {index}" for index in needed if index not in values]
    if missing:
        message = f"no value for {', '.join(missing[:6])} of {kernel.source_name}"
        raise UsageError(message, hint=_listed(kernel, explicit))
    return [(argument, values.get(index, _NOTHING)) for index, argument in enumerate(explicit)]


def _listed(kernel: Kernel, explicit: list[KernelArgument]) -> str:
    if not explicit:
        return f"{kernel.source_name} takes no arguments"
    shown_args = [_declared(index, argument) for index, argument in enumerate(explicit)]
    more = ", ..." if len(shown_args) > 12 else ""
    return f"it takes {', '.join(shown_args[:12])}{more}"


def _declared(index: int, argument: KernelArgument) -> str:
    if argument.name is None:
        return argument.type_name or f"argument {index}"
    return f"{argument.type_name} {argument.name}" if argument.type_name else argument.name


def _names(arguments: Iterable[KernelArgument]) -> list[str]:
    """Return what arguments are called: by name, else by type if that is the only one, else by position."""
    told = [argument.name or argument.type_name for argument in arguments]
    return [name if name and told.count(name) == 1 else f"argument {index}" for index, name in enumerate(told)]


def _described(index: int, argument: KernelArgument, kernel: Kernel) -> ArgumentPath:
    name = str(index) if argument.name is None else argument.name
    return ArgumentPath(name, kernel.source_name, argument.type_name)


# --- Values -------------------------------------------------------------------------------------------------------


def _buffer(value: object) -> bytes | None:
    """Return the bytes of an object that has a buffer, such as an array; None for a number."""
    if getattr(value, "shape", None) == ():  # a number of numpy
        return None
    if getattr(value, "dtype", None) is not None:  # members may overlap, which a view of memory cannot say
        return bytes(value.tobytes())  # type: ignore[attr-defined]
    try:
        return memoryview(value).tobytes()  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return None


def _number(value: object) -> int | float | None:
    """Return the Python number of a number of Python or numpy; None for other objects."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
    return value if isinstance(value, (int, float)) else None


def _local_bytes(value: object, what: ArgumentPath) -> int:
    number = _number(value)
    if not isinstance(number, int) or not 0 < number <= 1 << 32:
        given = "null" if number == 0 else "an array" if hasattr(value, "dtype") else _told(value)
        message = f"{what} is a pointer to local memory, not {given}"
        raise UsageError(message, hint="give the number of bytes that it points to")
    return number


def _address(value: object, length: int, what: ArgumentPath) -> bytes:
    if isinstance(value, bytes):
        return _exact(value, length, what)
    number = 0 if value is None else _number(value)
    if not isinstance(number, int):
        hint = "give an address, an array, which gets memory, or bytes of the pointer itself"
        raise UsageError(f"{what} is a pointer, not {_told(value)}", hint=hint)
    if not 0 <= number < 1 << length * 8:
        raise UsageError(f"{what} is a pointer of {length} bytes, which {shown(number)} does not fit")
    return number.to_bytes(length, "little")


def _by_value(value: object, kind: Type | None, length: int, what: ArgumentPath) -> bytes:
    data = value if isinstance(value, bytes) else _buffer(value)
    if data is not None:
        return _exact(data, length, what)
    scalar = None if kind is None else scalar_of(kind)
    if kind is not None and (scalar is None or scalar.layout is not None or scalar.kind == "boolean"):
        return encoded(value, kind, what)
    number = _number(value)
    if number is None:
        message = f"{what} is not a pointer, so it cannot be {_told(value)}"
        raise UsageError(message, hint="give a number, bytes or an array")
    if isinstance(number, float):
        if scalar is not None:
            raise UsageError(f"{what} is an integer, not {number!r}")
        if length not in _FLOATS:
            raise UsageError(f"{what} has {length} bytes, and no float has that size", hint="give bytes or an array")
        pattern = int(_FLOATS[length].encode(number))
        if _FLOATS[length].kind(pattern) == "infinite" and abs(number) != math.inf:
            raise UsageError(f"{what} is a float of {length} bytes, which the number does not fit")
        return pattern.to_bytes(length, "little")
    if scalar is not None and not isinstance(value, BitPattern) and getattr(value, "itemsize", None) != length:
        _check_range(number, scalar, what)
    low = -(1 << (length * 8 - 1)) if length else 0
    if not low <= number < 1 << length * 8:
        raise UsageError(f"{what} has {length} bytes, which {shown(number)} does not fit")
    return (number % (1 << length * 8)).to_bytes(length, "little")


def _check_range(number: int, scalar: Scalar, what: ArgumentPath) -> None:
    """Refuse a number that is no value of an integer type."""
    count = 1 << scalar.bits
    low, high = (-count // 2, count // 2 - 1) if scalar.is_signed else (0, count - 1)
    if not low <= number <= high:
        message = f"{what} takes {low} to {high}, not {shown(number)}"
        hint = f"a value may be given by its bits in hex, as {count - 1:#x}, or in Python as a number of numpy"
        raise UsageError(message, hint=hint)


def _exact(data: bytes, length: int, what: ArgumentPath) -> bytes:
    if len(data) != length:
        raise UsageError(f"{what} has {length} bytes, but {len(data)} are given")
    return data


def _told(value: object) -> str:
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "None" if value is None else f"a {type(value).__name__} of Python"


# --- Hidden arguments ---------------------------------------------------------------------------------------------


def _of_axes(name: str, rule: Callable[[Geometry, int], int]) -> dict[str, Callable[[LaunchFacts], int]]:
    def of(axis: int) -> Callable[[LaunchFacts], int]:
        return lambda told: rule(told.geometry, axis)

    return {f"hidden_{name}_{letter}": of(axis) for axis, letter in enumerate("xyz")}


HIDDEN: dict[str, Callable[[LaunchFacts], int]] = {
    **_of_axes("block_count", lambda shape, axis: shape.grid[axis] // shape.work_group[axis]),  # without a partial one
    **_of_axes("group_size", lambda shape, axis: shape.work_group[axis]),
    **_of_axes("remainder", lambda shape, axis: shape.remainders[axis]),
    "hidden_global_offset_x": lambda told: told.offset[0],
    "hidden_global_offset_y": lambda told: told.offset[1],
    "hidden_global_offset_z": lambda told: told.offset[2],
    "hidden_grid_dims": lambda told: told.geometry.dimensions,
    "hidden_dynamic_lds_size": lambda told: told.dynamic_local,
    "hidden_private_base": lambda told: told.private_aperture_hi,
    "hidden_shared_base": lambda told: told.group_aperture_hi,
    "hidden_queue_ptr": lambda told: told.queue,
    "hidden_printf_buffer": lambda told: told.printf_buffer,
}
"""What is not here is 0: there is no hostcall buffer, no heap, no second queue."""
ABSENT = {
    "hidden_hostcall_buffer": "no host answers calls of the kernel (printf of HIP, malloc, assert)",
    "hidden_heap_v1": "there is no heap for malloc in kernels",
    "hidden_default_queue": "there is no queue for kernels that kernels enqueue",
    "hidden_completion_action": "there is no queue for kernels that kernels enqueue",
    "hidden_multigrid_sync_arg": "the grid is the only one, and cannot synchronise with others",
}
"""What a kernel may ask for and does not get."""


def hidden_kinds(kernel: Kernel) -> set[str]:
    """Return what the runtime adds to the arguments of a kernel."""
    arguments = kernel.metadata.args if kernel.metadata is not None else ()
    return {argument.value_kind or "" for argument in arguments if argument.is_hidden}


def absent_parts(kernel: Kernel) -> tuple[str, ...]:
    """Return what a kernel asks for and does not get. A kernel that was not optimized asks for everything."""
    kinds = hidden_kinds(kernel)
    if kinds >= ABSENT.keys() - {"hidden_heap_v1"}:
        return ()
    return tuple(dict.fromkeys(f"{kind} is 0: {why}" for kind, why in ABSENT.items() if kind in kinds))


def hidden_parts(kernel: Kernel, size: int, told: LaunchFacts) -> tuple[Written, ...]:
    """Return the arguments that the runtime adds."""
    parts = []
    for argument in kernel.metadata.args if kernel.metadata is not None else ():
        if not argument.is_hidden:
            continue
        kind = argument.value_kind or ""
        offset, length = _place(argument, f"{kind} of {kernel.source_name}", size)
        rule = HIDDEN.get(kind)
        value = rule(told) if rule is not None else 0
        if value >> length * 8:
            raise UsageError(f"{kind} of {kernel.source_name} has {length} bytes, which {value} does not fit")
        parts.append(Written(offset, length, kind, value.to_bytes(length, "little"), rule is not None))
    return tuple(parts)


def segment_bytes(size: int, parts: tuple[Written, ...]) -> bytes:
    """Return the bytes of the segment with all its parts."""
    data = bytearray(size)
    for part in parts:
        data[part.offset : part.offset + part.size] = part.value
    return bytes(data)
