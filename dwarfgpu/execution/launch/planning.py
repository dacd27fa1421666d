"""The planner of dispatches, which checks a launch and gives everything that it needs an address.

AMDGPU usage, "Kernel Dispatch", steps 1 to 8. Nothing is written here: a launch that is not possible fails before a
machine is touched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch import kernarg
from dwarfgpu.execution.launch.argument_values import INTEGER, PlannedBuffer, form_hint, is_written
from dwarfgpu.execution.launch.dispatch import (
    GAP,
    MAX_SCRATCH,
    MOST_PADDING,
    PADDING,
    PRINTF_BYTES,
    QUEUE_PACKETS,
    UNWRITTEN,
    Addresses,
    DispatchAddresses,
    GlobalBlock,
    PlannedDispatch,
    apertures_of,
    scratch_waves,
    structures,
)
from dwarfgpu.execution.launch.options import LaunchOptions, number
from dwarfgpu.execution.launch.triton import TritonLaunch, triton_launch
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.tables import is_gfx12_5
from dwarfgpu.program.code.code_object import CodeObject, find_target, target_id
from dwarfgpu.program.code.kernel_parameters import DescribedKernel, explicit_arguments
from dwarfgpu.targets.amdgpu import queue
from dwarfgpu.targets.amdgpu.geometry import AXES, Geometry, geometry
from dwarfgpu.targets.amdgpu.initial_state import Scratch, Start, align, rows, scratch_descriptor, scratch_wave_bytes
from dwarfgpu.targets.amdgpu.processors import Processor, processor_named

if TYPE_CHECKING:
    from dwarfgpu.execution.launch.kernarg import Kernarg
    from dwarfgpu.objfile.kernels.kernel import Kernel
    from dwarfgpu.targets.target import Target


PAGE = 4096
MOST_IN_CLUSTER = 16
DYNAMIC_STACK = 1024
"""The bytes that a work-item gets beside its own where the size of the stack is not known, as ROCm gives by default."""


@frozen
class Facts:
    """The content of the descriptor or the ``amd_kernel_code_t`` of a kernel, in one form."""

    kernel: Kernel
    fields: dict[str, int]
    wave_size: int | None
    object_address: int
    """Of the descriptor or the ``amd_kernel_code_t`` in the file."""
    entry: int
    private_size: int
    group_size: int


def plan(
    file: CodeObject, kernel_name: str, options: LaunchOptions, args: Any = None, addresses: Addresses | None = None
) -> PlannedDispatch:
    """Plan the dispatch of a kernel. Without a work-group it has the one that the kernel requires, or Triton's.

    ``args`` are as `kernarg.lay_out` takes them. Without the option ``dynamic_local`` a kernel of Triton has the local
    memory that the file beside it says.
    """
    padding = PADDING if options.padding is None and not options.permissive else options.padding or 0
    if not 0 <= padding <= MOST_PADDING:
        raise UsageError(f"{padding} bytes of padding: there are 0 to {MOST_PADDING} before and after each buffer")
    addresses = addresses or Addresses()
    triton = triton_launch(file)
    if triton is not None:
        triton.name_arguments(file)
    facts = _facts(file, kernel_name)
    target, processor = _target(file, facts)
    if triton is not None and triton.kernel != facts.kernel.name:
        triton = None
    shape = geometry(options.grid, options.work_group or _work_group(facts.kernel, triton), target.lane_count)
    shape = _in_clusters(facts.kernel, processor, options.cluster, shape)
    _check_kernel(facts.kernel, shape, processor)
    private = _private_size(facts, options.private_size)
    dynamic_local = options.dynamic_local
    if dynamic_local is None:
        dynamic_local = max(0, triton.local_size - facts.group_size) if triton is not None else 0
    elif dynamic_local < 0:
        raise UsageError(f"{dynamic_local} bytes of local memory: the number cannot be negative")
    if args is not None and facts.kernel.metadata is None and not isinstance(args, (bytes, bytearray)):
        _check_readable(file)
    parameters = () if args is None else DescribedKernel(file, facts.kernel).parameters or ()
    added = triton.added if triton is not None else 0
    bias, code = _load(file, addresses)
    scratch = _scratch(processor, shape, private, addresses)
    places = _places(facts.kernel, addresses)
    printf_buffer = _printf_buffer(file, facts.kernel, addresses)
    printf_address = 0 if printf_buffer is None else printf_buffer.address
    local_size = facts.group_size + dynamic_local
    lay_out = partial(kernarg.lay_out, facts.kernel, local_size=local_size, parameters=parameters, added=added)
    laid_out = lay_out(args, allocate=lambda size: addresses.take(size, 256, padding))
    dynamic_local += laid_out.dynamic_local
    group = facts.group_size + dynamic_local
    if group > processor.local_memory_size:
        message = f"{group} bytes of local memory do not fit"
        has = f"a work-group of {facts.kernel.source_name} asks for them, and {processor.name} has"
        raise UsageError(message, hint=f"{has} {processor.local_memory_size}")
    described = tuple(
        PlannedBuffer(
            buffer.name,
            buffer.position,
            buffer.address + len(buffer.header),
            len(buffer.data),
            buffer.form,
            padding,
            buffer.has_contents,
            buffer.pointed,
            None if buffer.image is None else buffer.image.order,
        )
        for buffer in laid_out.buffers
    )
    bases = apertures_of(processor)
    upper = (0, 0) if bases is None else (bases.shared >> 32, bases.private >> 32)
    told = kernarg.LaunchFacts(
        shape, places.queue, *upper, dynamic_local, printf_address, (*options.global_offset, 0, 0, 0)[:3]
    )
    parts = (*laid_out.parts, *kernarg.hidden_parts(facts.kernel, laid_out.size, told))
    segment = kernarg.segment_bytes(laid_out.size, parts)
    start = Start(
        processor, facts.fields, shape, facts.entry + bias, places.ring, places.queue, places.kernarg, segment, 0,
        private, group, scratch,
    )  # fmt: skip
    blocks = (
        *code,
        *structures(start, places, facts.object_address + bias),
        *(
            GlobalBlock(f"argument {buffer.name}", buffer.address, buffer.header + buffer.data, stays=True)
            for buffer in laid_out.buffers
        ),
        GlobalBlock("kernarg segment", places.kernarg, segment.ljust(align(len(segment), GAP), b"\0")),
        *([] if printf_buffer is None else [printf_buffer]),
    )
    missing = [*_missing(facts.kernel, args)]
    return PlannedDispatch(
        file, facts.kernel, target, start, rows(start), bias, places, parts,
        tuple(block for block in blocks if block.data), described, printf_address,
        (*missing, *_notes(facts.kernel, shape, laid_out, triton)), lacks_arguments=bool(missing), lay_out=lay_out,
    )  # fmt: skip


# --- Kernel and processor -----------------------------------------------------------------------------------------


def _facts(file: CodeObject, name: str) -> Facts:
    kernel, *others = file.kernels_named([name])
    if others:
        names = dict(zip((kernel.name for kernel in file.kernels.kernels), file.kernel_names(), strict=True))
        known = ", ".join(quote(names[candidate.name]) for candidate in (kernel, *others[:6]))
        raise UsageError(f"{file.name} has several kernels {name!r}", hint=f"name one: {known}")
    kernel = DescribedKernel(file, kernel).kernel
    described = kernel.descriptor or kernel.code
    if described is None or kernel.symbol is None or kernel.entry is None:
        message = f"{file.name}: the kernel {kernel.source_name} has no descriptor"
        raise UsageError(message, hint="show what is known of it with `dwarfgpu kernels`")
    if kernel.code is not None:
        private = kernel.code.workitem_private_segment_byte_size
        group = kernel.code.workgroup_group_segment_byte_size
    else:
        descriptor: Any = kernel.descriptor
        private, group = descriptor.private_segment_fixed_size, descriptor.group_segment_fixed_size
    fields = {field.name: field.value for field in described.fields if not field.is_reserved}
    wave_size = described.wavefront_size
    if wave_size is None and kernel.metadata is not None:
        wave_size = kernel.metadata.wavefront_size
    return Facts(kernel, fields, wave_size, kernel.symbol.value, kernel.entry, private, group)


def _target(file: CodeObject, facts: Facts) -> tuple[Target, Processor]:
    choice = find_target(file.image, facts.wave_size)
    name = target_id(choice.target).partition(":")[0]
    processor = processor_named(name) if choice.is_known else None
    if processor is None:
        raise UsageError(f"{file.name}: the processor of {facts.kernel.source_name} is unknown", hint=choice.reason)
    if facts.wave_size is not None and choice.target.lane_count != facts.wave_size:
        message = f"{facts.kernel.source_name} has waves of {facts.wave_size} lanes, which {name} does not support"
        raise UsageError(message)
    return choice.target, processor


def _check_readable(file: CodeObject) -> None:
    """Raise what keeps the metadata of kernels from being read, if it is a missing package."""
    for problem in file.kernels.problems:
        if problem.kind in ("no_msgpack", "no_yaml"):
            raise problem


def _check_kernel(kernel: Kernel, shape: Geometry, processor: Processor) -> None:
    for axis in (1, 2):
        if processor.has("ttmp-ids") and shape.groups[axis] // shape.cluster[axis] > 1 << 16:
            message = f"{shape.groups[axis]} work-groups in {AXES[axis]} do not fit"
            raise UsageError(message, hint=f"{processor.name} has 16 bits for a work-group ID in y and z")
    metadata = kernel.metadata
    if metadata is None:
        return
    x, y, z = size = shape.work_group
    limit = metadata.max_flat_workgroup_size
    if limit is not None and x * y * z > limit:
        message = f"a work-group of {x * y * z} work-items is too large for {kernel.source_name}"
        raise UsageError(message, hint=f"it was compiled for at most {limit}")
    required = metadata.reqd_workgroup_size
    if required and any(required) and tuple(required) != size:
        asked = ",".join(map(str, required))
        raise UsageError(f"{kernel.source_name} requires work-groups of {asked}", hint=f"give --work-group {asked}")
    if metadata.uniform_work_group_size and any(shape.remainders):
        hint = "make each dimension of the grid a multiple of that of the work-group"
        raise UsageError(f"{kernel.source_name} does not allow partial work-groups", hint=hint)
    for axis, name in enumerate(AXES):
        most = getattr(metadata, f"max_num_workgroups_{name}")
        if most is not None and shape.groups[axis] > most:
            message = f"{shape.groups[axis]} work-groups in {name} are too many for {kernel.source_name}"
            raise UsageError(message, hint=f"it was compiled for at most {most}")


def _in_clusters(kernel: Kernel, processor: Processor, asked: tuple[int, ...] | None, shape: Geometry) -> Geometry:
    """Return a grid in clusters of as many work-groups as the kernel requires, or as a launch asks for."""
    metadata = kernel.metadata
    required = metadata.cluster_dims if metadata is not None and any(metadata.cluster_dims or ()) else None
    if asked is not None and required is not None and (*asked, 1, 1)[:3] != tuple(required):
        message = f"{kernel.source_name} requires clusters of {','.join(map(str, required))} work-groups"
        raise UsageError(message, hint="leave out --cluster")
    x, y, z = (*(asked or required or ()), 1, 1, 1)[:3]
    size = x * y * z
    if len(asked or ()) > 3:
        raise UsageError(f"a cluster has at most 3 dimensions, not {len(asked or ())}")
    if size > 1 and not is_gfx12_5(processor.name):
        raise UsageError(f"{processor.name} has no clusters of work-groups", hint="GFX12.5 has them, such as gfx1250")
    if min(x, y, z) < 1 or size > MOST_IN_CLUSTER:
        raise UsageError(f"a cluster of {size} work-groups does not fit", hint=f"there are 1 to {MOST_IN_CLUSTER}")
    uneven = any(groups % each for groups, each in zip(shape.groups, (x, y, z), strict=True))
    if size > 1 and (uneven or any(shape.remainders)):
        message = f"{kernel.source_name} runs in clusters of {x},{y},{z} work-groups, and the grid ends within one"
        raise UsageError(message, hint="make each dimension of the grid a multiple of the work-groups of a cluster")
    return evolve(shape, cluster=(x, y, z))


def _missing(kernel: Kernel, args: Any) -> Iterator[str]:
    """Yield that the pointers of a kernel are null, where no arguments are given at all."""
    known = () if args is not None or kernel.metadata is None else explicit_arguments(kernel)
    names = [argument.name or "an argument" for argument in known if argument.value_kind in kernarg.POINTERS]
    if names:
        yield f"no arguments were given: all are 0, so {', '.join(names)} of {kernel.source_name} point to no memory"


def _notes(kernel: Kernel, shape: Geometry, laid_out: Kernarg, triton: TritonLaunch | None) -> Iterator[str]:
    left = [part.name for part in laid_out.parts if not part.is_given]
    if laid_out.left_out and len(left) > (0 if triton is None else triton.added):
        verb = "is" if len(left) == 1 else "are"
        yield f"{', '.join(left)} of {kernel.source_name} {verb} null: the source has no such name"
    items = triton.work_items if triton is not None else 0
    if laid_out.left_out and not items and kernel.metadata is not None:  # of Triton, the limit is exact
        items = kernel.metadata.max_flat_workgroup_size or 0
    x, y, z = shape.work_group
    if x * y * z < items:
        yield f"the work-group has {x * y * z} work-items; {kernel.source_name} was compiled for {items}"
    if kernel.metadata is not None and any(kernel.metadata.reqd_workgroup_size or ()) and any(shape.remainders):
        last = math.prod(rest or whole for rest, whole in zip(shape.remainders, shape.work_group, strict=True))
        yield f"the last work-group has {last} work-items; {kernel.source_name} requires {x * y * z}"


def _work_group(kernel: Kernel, triton: TritonLaunch | None) -> tuple[int, ...]:
    required = kernel.metadata.reqd_workgroup_size if kernel.metadata is not None else None
    if required and all(required):
        return tuple(required)
    if triton is not None and triton.work_items:
        return (triton.work_items,)
    hint = "give --work-group X,Y,Z, in Python work_group=(X, Y, Z); it is known only if the kernel requires one"
    raise UsageError(f"{kernel.source_name} can have work-groups of several sizes", hint=hint)


def _private_size(facts: Facts, asked: int | None) -> int:
    if asked is None:
        metadata = facts.kernel.metadata
        return facts.private_size + (DYNAMIC_STACK if metadata is not None and metadata.uses_dynamic_stack else 0)
    if not facts.private_size <= asked < 1 << 32:
        message = f"{asked} bytes of private memory are not possible for {facts.kernel.source_name}"
        raise UsageError(message, hint=f"it needs {facts.private_size}, and the packet has 4 bytes for the size")
    return asked


# --- Addresses ----------------------------------------------------------------------------------------------------


def _load(file: CodeObject, addresses: Addresses) -> tuple[int, list[GlobalBlock]]:
    """Place the code object: return by how much its addresses are moved, and its segments."""
    from dwarfgpu.objfile.elf.loading import load, span

    if addresses.loaded is not None:
        return addresses.loaded, []
    first, size, alignment = span(file.image)
    alignment = max(PAGE, alignment)
    below = first % alignment
    bias = addresses.take(size + below, alignment) + below - first
    return bias, [GlobalBlock("code object", *segment, stays=True) for segment in load(file.image, bias).items()]


def _scratch(processor: Processor, shape: Geometry, private: int, addresses: Addresses) -> Scratch:
    """Allocate the scratch memory of the waves that run at a time. Its content belongs to the waves: it is no block."""
    wave_bytes = scratch_wave_bytes(processor, private, shape.wave_size)
    in_group = shape.waves_of((0, 0, 0))
    if wave_bytes * in_group > MAX_SCRATCH:
        message = f"{wave_bytes * in_group} bytes of scratch memory do not fit: a work-group has {in_group} waves"
        raise UsageError(message, hint=f"each needs {wave_bytes}, and all together can have {MAX_SCRATCH}")
    size = wave_bytes * scratch_waves(wave_bytes, shape.wave_count)
    # OPEN: SH_HIDDEN_PRIVATE_BASE_VIMID of GFX7-GFX8 is not visible to a kernel; here it is the base of this memory, so
    # that the offset from it is 0.
    base = addresses.take(size, 1 << 16)
    return Scratch(base, 0, wave_bytes, scratch_descriptor(processor, base, size, shape.wave_size))


def _places(kernel: Kernel, addresses: Addresses) -> DispatchAddresses:
    size, alignment = kernarg.segment_size(kernel)
    # "The entire AMD Queue object must not span a 4GiB boundary": aligned to its size, it does not
    return DispatchAddresses(
        queue=addresses.take(queue.QUEUE.size, queue.QUEUE.size),
        ring=addresses.take(QUEUE_PACKETS * queue.PACKET_SIZE, PAGE),
        doorbell=addresses.take(8, 8),
        doorbell_signal=addresses.take(queue.SIGNAL.size, queue.SIGNAL.alignment),
        completion_signal=addresses.take(queue.SIGNAL.size, queue.SIGNAL.alignment),
        kernarg=addresses.take(align(size, GAP), max(64, alignment)),
    )


def _printf_buffer(file: CodeObject, kernel: Kernel, addresses: Addresses) -> GlobalBlock | None:
    """Return the buffer that a kernel writes what it prints to: how much is used and how much there is, then that."""
    if "hidden_printf_buffer" not in kernarg.hidden_kinds(kernel):
        return None
    metadata = file.kernels.metadata
    if metadata is None or not metadata.printf:
        return None
    head = (0).to_bytes(4, "little") + PRINTF_BYTES.to_bytes(4, "little")
    return GlobalBlock(
        "printf buffer", addresses.take(PRINTF_BYTES, PAGE), head.ljust(PRINTF_BYTES, UNWRITTEN), stays=True
    )


# --- Launch options as text ---------------------------------------------------------------------------------------

_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)", re.ASCII)
_ENUMERATOR = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_BYTES = re.compile(r"bytes:((?:[0-9a-fA-F]{2})*)")
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def arguments(texts: Sequence[str], what: str) -> dict[Any, Any]:
    """Parse argument values: by name, as in ``n=5``, or at the positions that follow each other."""
    values: dict[Any, Any] = {}
    position = 0
    for text in texts:
        match = _NAMED.fullmatch(text)
        key: Any = match[1] if match else position
        position += match is None
        if key in values:
            raise UsageError(f"{what} {key} is given twice")
        is_name = match is not None and _ENUMERATOR.fullmatch(match[2]) is not None
        given = match[2] if match else text
        values[key] = given if is_name else value(given, what)
    return values


def value(text: str, what: str) -> Any:
    """Parse bytes, or check the form of a number; it is read when the type of the argument is known."""
    match = _BYTES.fullmatch(text)
    if match:
        return bytes.fromhex(match[1])
    if INTEGER.fullmatch(text):
        number(text, what)
    if is_written(text) or INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        return text
    raise UsageError(f"{what} {text[:40]!r} is not a value", hint=form_hint(text))
