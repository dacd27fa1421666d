"""Memory that the host and kernels share by its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.runtimes.arena import MANAGED
from dwarfgpu.runtimes.connection import CLOSED, OPEN
from dwarfgpu.runtimes.opencl.commands import enqueues
from dwarfgpu.runtimes.opencl.contexts import MOST_ALLOCATED
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.objects import ClContext, ClQueue, ClWork
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from dwarfgpu.runtimes.arena import Allocation
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

FREE, COPY, FILL, MAP, UNMAP, MIGRATE = 0x1209, 0x120A, 0x120B, 0x120C, 0x120D, 0x120E
"""The kinds of commands: ``CL_COMMAND_SVM_FREE`` and others."""
_FLAGS, _FINE, _ATOMICS = 0xC07, 0x400, 0x800
_MOST_ALIGNED = 128


@API("void *clSVMAlloc(void *context, uint64_t flags, size_t size, unsigned alignment)")
def allocate(call: HostCall, context: int, flags: int, size: int, alignment: int) -> int:
    program: OpenClProgram = call.process
    program.find(call, context, ClContext)
    is_wrong = flags & ~_FLAGS or (flags & 7).bit_count() > 1 or (flags & _ATOMICS and not flags & _FINE)
    if is_wrong or alignment > _MOST_ALIGNED or alignment & alignment - 1 or not 0 < size <= MOST_ALLOCATED:
        return 0
    if flags & _ATOMICS:
        return 0  # the device has none with the host
    address = program.device.malloc(size, MANAGED, call)
    if address:
        call.protect(address, -(-size // 4096) * 4096, OPEN)
    return address


@API("void clSVMFree(void *context, void *pointer)")
def free(call: HostCall, context: int, pointer: int) -> None:
    call.process.find(call, context, ClContext)
    if pointer:
        _free(call, pointer)


def _free(call: HostCall, pointer: int) -> None:
    program: OpenClProgram = call.process
    buffer = program.device.free(pointer, call)
    if buffer is not None:
        call.protect(buffer.address, buffer.pages, CLOSED)


@enqueues(
    FREE, "int clEnqueueSVMFree(void *queue, unsigned number, void **pointers, void *function, void *data, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def free_later(call: HostCall, queue: ClQueue, number: int, pointers: int, function: int, data: int) -> ClWork:
    program: OpenClProgram = call.process
    if bool(number) != bool(pointers):
        refuse(ClError.INVALID_VALUE, f"{number} pointers are given at {pointers:#x}")
    found = await program.words_at(call, pointers, number)

    async def run(by: HostCall) -> None:
        if function:
            await by.invoke(function, queue.handle, number, pointers, data)
        else:
            for pointer in filter(None, found):
                _free(by, pointer)

    return ClWork(run)


def _shared(call: HostCall, pointer: int, size: int) -> Allocation | None:
    """Return the memory that bytes are in, if the device has them; refuse bytes behind its end."""
    program: OpenClProgram = call.process
    if pointer not in program.device.arena:
        return None
    buffer = program.device.memory_at(pointer, size)
    if buffer is None:
        refuse(ClError.INVALID_VALUE, f"{size} bytes at {pointer:#x} are not shared memory")
    return buffer


@enqueues(
    COPY, "int clEnqueueSVMMemcpy(void *queue, unsigned is_blocking, void *to, const void *source, size_t size, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
def copy(call: HostCall, _queue: ClQueue, is_blocking: int, to: int, source: int, size: int) -> ClWork:
    if not to or not source:
        refuse(ClError.INVALID_VALUE, "a pointer is NULL")
    _shared(call, to, size)
    _shared(call, source, size)
    if to < source + size and source < to + size and size:
        refuse(ClError.MEM_COPY_OVERLAP, "the source and the destination overlap")
    return ClWork(lambda by: by.process.copy(by, to, source, size), is_blocking=bool(is_blocking))


@enqueues(
    FILL, "int clEnqueueSVMMemFill(void *queue, void *pointer, const void *pattern, size_t pattern_size, size_t size, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def fill(call: HostCall, _queue: ClQueue, pointer: int, pattern: int, pattern_size: int, size: int) -> ClWork:
    is_size = pattern_size in (1, 2, 4, 8, 16, 32, 64, 128)
    if not pointer or not pattern or not is_size or pointer % pattern_size or size % pattern_size:
        refuse(ClError.INVALID_VALUE, f"{size} bytes are no multiple of a pattern of {pattern_size}")
    _shared(call, pointer, size)
    content = await call.read(pattern, pattern_size)

    def run(by: HostCall) -> None:
        if pointer in by.process.device.arena:
            by.process.fill(by, pointer, content, size // pattern_size)
        else:
            by.write(pointer, content * (size // pattern_size))

    return ClWork(run)


@enqueues(
    MAP, "int clEnqueueSVMMap(void *queue, unsigned is_blocking, uint64_t flags, void *pointer, size_t size, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
def map_shared(call: HostCall, _queue: ClQueue, is_blocking: int, flags: int, pointer: int, size: int) -> ClWork:
    """Do nothing when its time has come: the host has the memory at the same address."""
    if not pointer or not size or not flags or flags & ~7:
        refuse(ClError.INVALID_VALUE, f"{size} bytes at {pointer:#x} are mapped with the flags {flags:#x}")
    buffer = _shared(call, pointer, size)

    def run(by: HostCall) -> None:
        if buffer is not None and flags & 6:
            by.process.device.define(pointer, size)

    return ClWork(run, is_blocking=bool(is_blocking))


@enqueues(
    UNMAP, "int clEnqueueSVMUnmap(void *queue, void *pointer, unsigned count, const void *waits, void **event)",
)  # fmt: skip
def unmap_shared(_call: HostCall, _queue: ClQueue, pointer: int) -> ClWork:
    if not pointer:
        refuse(ClError.INVALID_VALUE, "the pointer is NULL")
    return ClWork()


@enqueues(
    MIGRATE, "int clEnqueueSVMMigrateMem(void *queue, unsigned number, const void *pointers, const void *sizes, "
    "uint64_t flags, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def migrate(call: HostCall, _queue: ClQueue, number: int, pointers: int, sizes: int, flags: int) -> ClWork:
    """Do nothing: there is one memory."""
    program: OpenClProgram = call.process
    if not number or not pointers or flags & ~3:
        refuse(ClError.INVALID_VALUE, f"{number} pointers are given, and the flags {flags:#x}")
    found = await program.words_at(call, pointers, number)
    lengths = await program.words_at(call, sizes, number) if sizes else [1] * number
    for pointer, size in zip(found, lengths, strict=True):
        if _shared(call, pointer, max(size, 1)) is None:
            refuse(ClError.INVALID_VALUE, f"{pointer:#x} is no shared memory")
    return ClWork()
