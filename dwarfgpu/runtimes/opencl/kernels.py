"""Kernels, their arguments, and the ranges of work-items that execute them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dwarfgpu.program.code.kernel_parameters import explicit_arguments
from dwarfgpu.runtimes.opencl.code import names_of
from dwarfgpu.runtimes.opencl.commands import enqueues, memory_of
from dwarfgpu.runtimes.opencl.contexts import LOCAL, MOST_ITEMS, creates, list_out
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.images import flags_of
from dwarfgpu.runtimes.opencl.info import answer, half_word, text, word
from dwarfgpu.runtimes.opencl.objects import (
    READ_ONLY,
    WRITE_ONLY,
    ClCode,
    ClDevice,
    ClKernel,
    ClMemory,
    ClObject,
    ClQueue,
    ClSampler,
    ClWork,
)
from dwarfgpu.runtimes.opencl.program import API
from dwarfgpu.targets.amdgpu.initial_state import align

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import KernelArgument, KernelMetadata
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import ModuleKernel
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

NDRANGE, TASK = 0x11F0, 0x11F1
_LOCAL = "dynamic_shared_pointer"
_MEMORY = ("global_buffer", "image", "pipe")
_SPACES = {"global": 0x119B, "local": 0x119C, "constant": 0x119D}
_ACCESSES = {"read_only": 0x11A0, "write_only": 0x11A1, "read_write": 0x11A2}
_EXCLUDED = {"read_only": WRITE_ONLY, "write_only": READ_ONLY, "read_write": READ_ONLY | WRITE_ONLY}
"""The flags that an image cannot have which a kernel accesses so."""
_PRIVATE, _NO_ACCESS = 0x119E, 0x11A3
_CONST, _RESTRICT, _VOLATILE = 1, 2, 4
_POINTERS, _FINE_SYSTEM = 0x11B6, 0x11B7
"""``CL_KERNEL_EXEC_INFO_SVM_PTRS``, of which no bytes are the empty set, and _SVM_FINE_GRAIN_SYSTEM."""
_WAVES_FOR = (64, 4, 1)
"""The largest extents of a work-group that nobody has chosen, along each axis of several."""


def _kernel(call: HostCall, code: ClCode, name: str) -> ClKernel:
    program: OpenClProgram = call.process
    if code.module is None:
        refuse(ClError.INVALID_PROGRAM_EXECUTABLE, f"{program.named(code)} is not built")
    if name not in names_of(code):
        known = ", ".join(names_of(code)) or "none"
        refuse(ClError.INVALID_KERNEL_NAME, f"there is no kernel {name!r:.60} (there are: {known})")
    found = code.module.file.kernels_named([name])[0]
    code.uses += 1
    made = ClKernel(origin=call, code=code, kernel=code.module.kernel(name), arguments=explicit_arguments(found))
    return program.keep(call, made)


@creates("void *clCreateKernel(void *program, const char *name, int *error)")
async def create_kernel(call: HostCall, handle: int, name: int) -> ClKernel:
    code = call.process.find(call, handle, ClCode)
    if not name:
        refuse(ClError.INVALID_VALUE, "the name of the kernel is NULL")
    return _kernel(call, code, await call.text(name))


@API("int clCreateKernelsInProgram(void *program, unsigned room, void **kernels, unsigned *count)")
def create_kernels(call: HostCall, handle: int, room: int, pointer: int, count: int) -> None:
    code = call.process.find(call, handle, ClCode)
    names = names_of(code)
    if code.module is None:
        refuse(ClError.INVALID_PROGRAM_EXECUTABLE, f"{call.process.named(code)} is not built")
    if pointer and room < len(names):
        refuse(ClError.INVALID_VALUE, f"there is room for {room} of {len(names)} kernels")
    if pointer:
        made = [_kernel(call, code, name).handle for name in names]
        list_out(call, made, room, pointer, count)
    elif count:
        call.write_number(count, len(names), 4)


@creates("void *clCloneKernel(void *kernel, int *error)")
def clone(call: HostCall, handle: int) -> ClKernel:
    program: OpenClProgram = call.process
    kernel = program.find(call, handle, ClKernel)
    kernel.code.uses += 1
    made = ClKernel(
        origin=call, code=kernel.code, kernel=kernel.kernel, arguments=kernel.arguments, values={**kernel.values}
    )
    return program.keep(call, made)


# --- Arguments --------------------------------------------------------------------------------------------------------


def _argument(call: HostCall, kernel: ClKernel, number: int) -> KernelArgument:
    if number >= len(kernel.arguments):
        refuse(
            ClError.INVALID_ARG_INDEX, f"{kernel.kernel.name} has {len(kernel.arguments)} arguments, and no {number}"
        )
    return kernel.arguments[number]


def _named(kernel: ClKernel, number: int) -> str:
    """Return how messages name an argument."""
    name = kernel.arguments[number].name
    return f"argument {number} of {kernel.kernel.name}" + (f", `{name}`," if name else "")


@API("int clSetKernelArg(void *kernel, unsigned number, size_t size, const void *value)")
async def set_argument(call: HostCall, handle: int, number: int, size: int, value: int) -> None:
    program: OpenClProgram = call.process
    kernel = program.find(call, handle, ClKernel)
    argument = _argument(call, kernel, number)
    what = _named(kernel, number)
    if argument.value_kind == _LOCAL:
        if value:
            refuse(ClError.INVALID_ARG_VALUE, f"{what} is in local memory, and has no value")
        if not size:
            refuse(ClError.INVALID_ARG_SIZE, f"{what} is in local memory, and is given no size")
        kernel.values[number] = size
        return
    is_memory, is_sampler = argument.value_kind in _MEMORY, argument.value_kind == "sampler"
    wanted = 8 if is_memory or is_sampler else argument.size or 0
    if size != wanted:
        refuse(ClError.INVALID_ARG_SIZE, f"{what} has {wanted} bytes, and {size} are given")
    if not value:
        if is_sampler:
            refuse(ClError.INVALID_SAMPLER, f"{what} is given no sampler")
        if not is_memory or argument.value_kind == "image":
            refuse(ClError.INVALID_ARG_VALUE, f"{what} is given no value")
        kernel.values[number] = bytes(8)
        return
    content = await call.read(value, size)
    if is_sampler:
        kernel.values[number] = program.find(call, int.from_bytes(content, "little"), ClSampler)
    elif is_memory:
        kernel.values[number] = _memory(call, int.from_bytes(content, "little"), argument, what)
    else:
        kernel.values[number] = content


def _memory(call: HostCall, handle: int, argument: KernelArgument, what: str) -> ClMemory | bytes:
    program: OpenClProgram = call.process
    if not handle and argument.value_kind != "image":
        return bytes(8)
    found = program.objects.get(handle)
    if not isinstance(found, ClMemory):
        problem = "a sampler" if isinstance(found, ClSampler) else f"{handle:#x}, which is no memory object"
        refuse(ClError.INVALID_MEM_OBJECT, f"{what} is given {problem}")
    memory: ClMemory = program.find(call, handle, ClMemory)
    if (memory.image is not None) != (argument.value_kind == "image"):
        given = "a buffer" if memory.image is None else "an image"
        refuse(ClError.INVALID_MEM_OBJECT, f"{what} is given {given}: {program.named(memory)}")
    if memory.image is not None and memory.flags & _EXCLUDED.get(argument.access or "", 0):
        message = f"{what} is {argument.access}, and the flags of {program.named(memory)} exclude that"
        refuse(ClError.INVALID_ARG_VALUE, message)
    return memory


@API("int clSetKernelArgSVMPointer(void *kernel, unsigned number, const void *pointer)")
def set_pointer(call: HostCall, handle: int, number: int, pointer: int) -> None:
    kernel = call.process.find(call, handle, ClKernel)
    if _argument(call, kernel, number).value_kind != "global_buffer":
        refuse(ClError.INVALID_ARG_VALUE, f"{_named(kernel, number)} is no pointer")
    kernel.values[number] = word(pointer)


@API("int clSetKernelExecInfo(void *kernel, unsigned wanted, size_t size, const void *value)")
def set_use(call: HostCall, handle: int, wanted: int, size: int, value: int) -> None:
    """Do nothing: all shared memory can be reached."""
    call.process.find(call, handle, ClKernel)
    is_empty = wanted == _POINTERS and not size and not value
    if wanted not in (_POINTERS, _FINE_SYSTEM) or not ((size and value) or is_empty):
        refuse(ClError.INVALID_VALUE, f"{wanted:#x} is nothing that a kernel can be told")


# --- What is known of kernels -----------------------------------------------------------------------------------------


def metadata_of(kernel: ModuleKernel) -> KernelMetadata | None:
    """Return what the code says of a kernel."""
    return kernel.module.file.kernels_named([kernel.name])[0].metadata


def _attributes(kernel: ModuleKernel) -> str:
    """Return the attributes of a kernel as its source has them."""
    metadata = metadata_of(kernel)
    if metadata is None:
        return ""
    sizes = {"reqd_work_group_size": metadata.reqd_workgroup_size, "work_group_size_hint": metadata.workgroup_size_hint}
    found = [f"{name}({','.join(map(str, size))})" for name, size in sizes.items() if size]
    return " ".join([*found, *([f"vec_type_hint({metadata.vec_type_hint})"] if metadata.vec_type_hint else [])])


@API("int clGetKernelInfo(void *kernel, unsigned wanted, size_t size, void *value, size_t *needed)")
def kernel_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    kernel = call.process.find(call, handle, ClKernel)
    answers: Answers = {
        0x1190: text(kernel.kernel.name),
        0x1191: half_word(len(kernel.arguments)),
        0x1192: half_word(kernel.references),
        0x1193: word(kernel.code.context.handle),
        0x1194: word(kernel.code.handle),
        0x1195: lambda: text(_attributes(kernel.kernel)),
    }
    answer(call, answers, wanted, size, value, needed)


@API("int clGetKernelArgInfo(void *kernel, unsigned number, unsigned wanted, size_t size, void *value, size_t *needed)")
def argument_info(call: HostCall, handle: int, number: int, wanted: int, size: int, value: int, needed: int) -> None:
    kernel = call.process.find(call, handle, ClKernel)
    argument = _argument(call, kernel, number)
    flags = (argument.is_const, _CONST), (argument.is_restrict, _RESTRICT), (argument.is_volatile, _VOLATILE)
    space = "local" if argument.value_kind == _LOCAL else argument.address_space or ""
    if argument.value_kind == "image":
        space = "global"
    answers: Answers = {
        0x1196: half_word(_SPACES.get(space, _PRIVATE)),
        0x1197: half_word(_ACCESSES.get(argument.access or "", _NO_ACCESS)),
        0x1198: text(argument.type_name or ""),
        0x1199: word(sum(bit for is_set, bit in flags if is_set)),
        0x119A: text(argument.name or ""),
    }
    answer(call, answers, wanted, size, value, needed)


def _group_limit(kernel: ModuleKernel) -> int:
    metadata = metadata_of(kernel)
    return min((metadata.max_flat_workgroup_size if metadata else None) or MOST_ITEMS, MOST_ITEMS)


def _required(kernel: ModuleKernel) -> tuple[int, ...]:
    metadata = metadata_of(kernel)
    return tuple((metadata.reqd_workgroup_size if metadata else None) or (0, 0, 0))


def _wave(kernel: ModuleKernel) -> int:
    metadata = metadata_of(kernel)
    return (metadata.wavefront_size if metadata else None) or 64


def _on(call: HostCall, kernel: ClKernel, device: int) -> ModuleKernel:
    """Return a kernel as it is on a device; NULL means the only one (OpenCL API 3.0, 5.9.3)."""
    if not device and len(kernel.code.builds) > 1:
        refuse(ClError.INVALID_DEVICE, "the kernel has several devices, and none is given")
    found = kernel.on(call.process.find(call, device, ClDevice)) if device else kernel.kernel
    if found is None:
        refuse(ClError.INVALID_DEVICE, "the device does not belong to the kernel")
    return found


def _local_size(kernel: ClKernel, on: ModuleKernel) -> int:
    metadata = metadata_of(on)
    fixed = (metadata.group_segment_fixed_size if metadata else None) or 0
    return fixed + sum(value for value in kernel.values.values() if isinstance(value, int))


@API(
    "int clGetKernelWorkGroupInfo(void *kernel, void *device, unsigned wanted, size_t size, void *value, "
    "size_t *needed)"
)
def group_info(call: HostCall, handle: int, device: int, wanted: int, size: int, value: int, needed: int) -> None:
    kernel = call.process.find(call, handle, ClKernel)
    on = _on(call, kernel, device)
    metadata = metadata_of(on)
    private = (metadata.private_segment_fixed_size if metadata else None) or 0
    answers: Answers = {
        0x11B0: word(_group_limit(on)),
        0x11B1: word(*_required(on)),
        0x11B2: word(_local_size(kernel, on)),
        0x11B3: word(_wave(on)),
        0x11B4: word(private),
    }
    answer(call, answers, wanted, size, value, needed)


@API(
    "int clGetKernelSubGroupInfo(void *kernel, void *device, unsigned wanted, size_t input_size, const void *input, "
    "size_t size, void *value, size_t *needed)",
    "int clGetKernelSubGroupInfoKHR(void *kernel, void *device, unsigned wanted, size_t input_size, const void *input, "
    "size_t size, void *value, size_t *needed)",
)
async def sub_group_info(
    call: HostCall, handle: int, device: int, wanted: int, input_size: int, pointer: int, size: int, value: int,
    needed: int,
) -> None:  # fmt: skip
    program: OpenClProgram = call.process
    kernel = program.find(call, handle, ClKernel)
    on = _on(call, kernel, device)
    wave, limit = _wave(on), _group_limit(on)
    given = await program.words_at(call, pointer, input_size // 8) if pointer else []
    if wanted in (0x2033, 0x2034, 0x11B8) and not given:
        refuse(ClError.INVALID_VALUE, "the size of a work-group, or a number of sub-groups, is needed")
    items = math.prod(given)
    row = [wave * items, *[1] * (size // 8 - 1)] if wave * items <= limit else [0] * max(1, size // 8)
    answers: Answers = {
        0x2033: word(min(wave, items)),
        0x2034: word(-(-items // wave)),
        0x11B8: word(*row),
        0x11B9: word(-(-limit // wave)),
        0x11BA: word(0),
    }
    answer(call, answers, wanted, size, value, needed)


@API(
    "int clGetKernelSuggestedLocalWorkSizeKHR(void *queue, void *kernel, unsigned axes, const void *offset, "
    "const void *range, void *size)"
)
async def suggest(call: HostCall, queue: int, handle: int, axes: int, _offset: int, pointer: int, target: int) -> None:
    program: OpenClProgram = call.process
    on = program.find(call, queue, ClQueue).device
    kernel = program.find(call, handle, ClKernel)
    if not 1 <= axes <= 3 or not pointer or not target:
        refuse(ClError.INVALID_VALUE, "a range and room for a size are needed")
    grid = await program.words_at(call, pointer, axes)
    call.write(target, word(*_chosen(kernel, _on(call, kernel, on.handle), grid)))


# --- Execution --------------------------------------------------------------------------------------------------------


@enqueues(
    NDRANGE, "int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned axes, const void *offset, "
    "const void *range, const void *group, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def execute(
    call: HostCall, queue: ClQueue, handle: int, axes: int, offset: int, range_: int, group: int
) -> ClWork:
    program: OpenClProgram = call.process
    kernel = program.find(call, handle, ClKernel)
    if not 1 <= axes <= 3:
        refuse(ClError.INVALID_WORK_DIMENSION, f"a range has 1 to 3 dimensions, and not {axes}")
    grid = await program.words_at(call, range_, axes) if range_ else [0] * axes
    places = await program.words_at(call, offset, axes) if offset else [0] * axes
    sizes = await program.words_at(call, group, axes) if group else None
    return _work(call, queue, kernel, grid, sizes, places)


@enqueues(
    TASK, "int clEnqueueTask(void *queue, void *kernel, unsigned count, const void *waits, void **event)",
)  # fmt: skip
def execute_one(call: HostCall, queue: ClQueue, handle: int) -> ClWork:
    return _work(call, queue, call.process.find(call, handle, ClKernel), [1], [1], [0])


def _work(
    call: HostCall, queue: ClQueue, kernel: ClKernel, grid: list[int], group: list[int] | None, offset: list[int]
) -> ClWork:
    """Check a range, and take what the arguments are now."""
    program: OpenClProgram = call.process
    name = kernel.kernel.name
    if kernel.code.context is not queue.context:
        refuse(ClError.INVALID_CONTEXT, f"{name} belongs to another context than the queue")
    on = kernel.on(queue.device)
    if on is None:
        refuse(ClError.INVALID_PROGRAM_EXECUTABLE, f"{name} is not built for {queue.device.processor}")
    missing = [_named(kernel, number) for number in range(len(kernel.arguments)) if number not in kernel.values]
    if missing:
        verb = "were" if len(missing) > 1 else "was"
        refuse(ClError.INVALID_KERNEL_ARGS, f"{' and '.join(missing)} {verb} given no value")
    sizes = _checked(kernel, on, grid, group)
    if _local_size(kernel, on) > LOCAL:
        refuse(
            ClError.OUT_OF_RESOURCES, f"{name} needs {_local_size(kernel, on)} bytes of local memory: there are {LOCAL}"
        )
    segment, shared = _segment(kernel, on)
    used = tuple(
        memory_of(call, queue, value.handle) if isinstance(value, ClMemory) else value
        for value in kernel.values.values()
        if isinstance(value, ClObject)
    )

    async def run(by: HostCall) -> None:
        if not all(grid):
            return
        await by.done()
        of_host = [each.host_memory for each in used if isinstance(each, ClMemory) and each.host_memory is not None]
        for memory in of_host:
            await memory.check(by)
        before = [bytes(memory.device) for memory in of_host]
        launch = program.device.launch(
            on, tuple(grid), sizes, segment, shared=shared, offset=tuple(offset), origin=call
        )
        if launch.running is not None and launch.halt is None:  # a debugger ends it
            await program.wait(by, lambda: launch.halt is not None)
        for memory, content in zip(of_host, before, strict=True):
            memory.launched(call, content)
        program.time += launch.executed
        if program.order is not None:
            if by.work is not None:
                by.work.what = launch.name
            program.order.end(by.work, launch)
        if not launch.has_ended:
            refuse(ClError.OUT_OF_RESOURCES)

    return ClWork(run, (kernel, *used), kernel=name)


def _checked(kernel: ClKernel, on: ModuleKernel, grid: list[int], group: list[int] | None) -> tuple[int, ...]:
    """Return the size of work-groups, which a program may leave to the platform."""
    name, limit, required = on.name, _group_limit(on), _required(on)
    if any(size >= 1 << 32 for size in grid):
        refuse(ClError.INVALID_GLOBAL_WORK_SIZE, f"{name} is executed for {grid} work-items")
    if group is None:
        return _chosen(kernel, on, grid)
    text_ = "x".join(map(str, group))
    if not all(group):
        refuse(ClError.INVALID_WORK_GROUP_SIZE, f"{name} is executed in work-groups of {text_} work-items")
    if any(size > MOST_ITEMS for size in group):
        refuse(
            ClError.INVALID_WORK_ITEM_SIZE, f"a work-group has at most {MOST_ITEMS} work-items along an axis: {text_}"
        )
    if math.prod(group) > limit:
        refuse(ClError.INVALID_WORK_GROUP_SIZE, f"work-groups of {name} have at most {limit} work-items: {text_}")
    if any(required) and (*group, 1, 1)[:3] != required:
        wanted = "x".join(map(str, required))
        refuse(ClError.INVALID_WORK_GROUP_SIZE, f"{name} demands work-groups of {wanted}, and not {text_}")
    if any(whole % size for whole, size in zip(grid, group, strict=True)) and not _may_be_uneven(kernel):
        whole = "x".join(map(str, grid))
        message = f"work-groups of {text_} do not divide {whole} work-items, and OpenCL C 1.2 needs that"
        refuse(ClError.INVALID_WORK_GROUP_SIZE, message)
    return tuple(group)


def _may_be_uneven(kernel: ClKernel) -> bool:
    """Return whether the last work-groups may be smaller."""
    is_new = kernel.code.standard in ("CL2.0", "CL3.0") or kernel.code.source is None
    return is_new and all("-cl-uniform-work-group-size" not in build.options for build in kernel.code.builds.values())


def _chosen(kernel: ClKernel, on: ModuleKernel, grid: list[int]) -> tuple[int, ...]:
    """Return a size of work-groups: one that divides a range, unless only much smaller ones do and it need not."""
    required = _required(on)
    if any(required):
        return tuple(required[: len(grid)])
    limit = _group_limit(on)
    most = _WAVES_FOR if len(grid) > 1 else (256,)
    sizes: list[int] = []
    for whole, largest in zip(grid, most, strict=False):
        room = max(1, min(whole, largest, limit // math.prod(sizes)))
        divisor = next(size for size in range(room, 0, -1) if not whole % size)
        sizes.append(room if 2 * divisor < room and _may_be_uneven(kernel) else divisor)
    return tuple(sizes)


def _segment(kernel: ClKernel, on: ModuleKernel) -> tuple[bytes, int]:
    """Return the arguments as the kernel reads them, and the bytes of local memory that they need."""
    metadata = metadata_of(on)
    fixed = local = (metadata.group_segment_fixed_size if metadata else None) or 0
    values = []
    for number, argument in enumerate(kernel.arguments):
        value: Any = kernel.values[number]
        size = argument.size or 0
        if isinstance(value, int):
            local = align(local, max(argument.pointee_align or 16, 1))
            values.append(local.to_bytes(size, "little"))
            local += value
        elif isinstance(value, ClMemory):
            values.append(word(value.description or value.address))
        elif isinstance(value, ClSampler):
            values.append(word(flags_of(value)))
        else:
            values.append(value)
    return on.segment(values), local - fixed
