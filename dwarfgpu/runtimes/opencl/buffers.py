"""Buffers: memory that programs create, copy, fill and map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.opencl.commands import enqueues, memory_of, put
from dwarfgpu.runtimes.opencl.contexts import MOST_ALLOCATED, creates, ends_with, properties_at
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.info import answer, half_word, word
from dwarfgpu.runtimes.opencl.objects import (
    ALLOC_HOST,
    COPY_HOST,
    HOST_NO_ACCESS,
    HOST_READ_ONLY,
    HOST_WRITE_ONLY,
    MAP_READ,
    MAP_WRITE,
    MAP_WRITE_ALL,
    READ_ONLY,
    READ_WRITE,
    USE_HOST,
    WRITE_ONLY,
    ClContext,
    ClMapping,
    ClMemory,
    ClQueue,
    ClWork,
)
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

READ, WRITE, COPY, MAP, UNMAP, FILL = 0x11F3, 0x11F4, 0x11F5, 0x11FB, 0x11FD, 0x1207
READ_BOX, WRITE_BOX, COPY_BOX = 0x1201, 0x1202, 0x1203
"""The kinds of commands: ``CL_COMMAND_READ_BUFFER`` and others."""
_ALIGNED = 128
"""The bytes that CL_DEVICE_MEM_BASE_ADDR_ALIGN says in bits."""
_REGION = 0x1220
_ACCESS, _OF_HOST = READ_WRITE | WRITE_ONLY | READ_ONLY, HOST_WRITE_ONLY | HOST_READ_ONLY | HOST_NO_ACCESS
_MEMORY = USE_HOST | ALLOC_HOST | COPY_HOST
_PATTERNS = (1, 2, 4, 8, 16, 32, 64, 128)
Triple = tuple[int, int, int]


def check_flags(flags: int, host: int) -> int:
    """Return the flags of a memory object, with those that nothing says; refuse those that contradict each other."""
    known = (1 << 6) - 1 | _OF_HOST
    if flags & ~known or (flags & _ACCESS).bit_count() > 1 or (flags & _OF_HOST).bit_count() > 1:
        refuse(ClError.INVALID_VALUE, f"the flags {flags:#x} contradict each other")
    if flags & USE_HOST and flags & (ALLOC_HOST | COPY_HOST):
        refuse(ClError.INVALID_VALUE, "CL_MEM_USE_HOST_PTR excludes the other flags for memory of the host")
    if bool(host) != bool(flags & (USE_HOST | COPY_HOST)):
        wanted = "is missing" if not host else "is given without CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR"
        refuse(ClError.INVALID_HOST_PTR, f"the pointer to memory of the host {wanted}")
    return flags if flags & _ACCESS else flags | READ_WRITE


@creates("void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int *error)")
async def create_buffer(call: HostCall, context: int, flags: int, size: int, host: int) -> ClMemory:
    return await _buffer(call, context, flags, size, host)


@creates(
    "void *clCreateBufferWithProperties(void *context, const void *properties, uint64_t flags, size_t size, "
    "void *host, int *error)"
)
async def create_buffer_with(
    call: HostCall, context: int, properties: int, flags: int, size: int, host: int
) -> ClMemory:
    if await properties_at(call, properties):
        refuse(ClError.INVALID_PROPERTY, "buffers have no properties here")
    made = await _buffer(call, context, flags, size, host)
    made.properties = word(0) if properties else b""
    return made


async def _buffer(call: HostCall, context: int, flags: int, size: int, host: int) -> ClMemory:
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    flags = check_flags(flags, host)
    if not 0 < size <= MOST_ALLOCATED:
        refuse(ClError.INVALID_BUFFER_SIZE, f"a buffer has 1 to {MOST_ALLOCATED} bytes, and not {size}")
    is_shared = bool(flags & USE_HOST) and host in program.device.arena
    if is_shared and program.device.memory_at(host, size) is None:
        refuse(ClError.INVALID_BUFFER_SIZE, f"{size} bytes at {host:#x} are more than clSVMAlloc has given")
    address = host if is_shared else program.allocate(call, size, flags)
    made = ClMemory(origin=call, context=owner, flags=flags, size=size, host=host, address=address, is_shared=is_shared)
    if host and not is_shared:
        program.copy(call, address, host, size)
        await program.begin_use(call, made)
    return program.keep(call, made)


@creates("void *clCreateSubBuffer(void *buffer, uint64_t flags, unsigned kind, const void *region, int *error)")
async def create_part(call: HostCall, handle: int, flags: int, kind: int, region: int) -> ClMemory:
    program: OpenClProgram = call.process
    parent = program.find(call, handle, ClMemory)
    if parent.parent is not None or parent.image is not None:
        refuse(ClError.INVALID_MEM_OBJECT, f"{program.named(parent)} is no buffer that can be divided")
    if kind != _REGION or not region:
        refuse(ClError.INVALID_VALUE, "a part is given by CL_BUFFER_CREATE_TYPE_REGION and its region")
    offset, size = await program.words_at(call, region, 2)
    flags = inherited_flags(call, parent, flags)
    if not size:
        refuse(ClError.INVALID_BUFFER_SIZE, "the part has no bytes")
    if offset + size > parent.size:
        refuse(ClError.INVALID_VALUE, f"bytes {offset} to {offset + size - 1} are asked of {parent.size}")
    if offset % _ALIGNED:
        refuse(ClError.MISALIGNED_SUB_BUFFER_OFFSET, f"a part begins at a multiple of {_ALIGNED}, and not at {offset}")
    parent.uses += 1
    made = ClMemory(
        origin=call, context=parent.context, flags=flags, size=size, host=parent.host and parent.host + offset,
        address=parent.address + offset, parent=parent, offset=offset, is_shared=parent.is_shared,
    )  # fmt: skip
    return program.keep(call, made)


def inherited_flags(call: HostCall, parent: ClMemory, flags: int) -> int:
    """Return the flags of what shares the memory of a buffer; refuse those that contradict the buffer's."""
    access, host_access = parent.flags & _ACCESS, parent.flags & _OF_HOST
    is_wrong = flags & _MEMORY or (access != READ_WRITE and flags & _ACCESS & ~access)
    if is_wrong or (host_access and flags & _OF_HOST & ~(host_access | HOST_NO_ACCESS)):
        message = f"the flags {flags:#x} contradict those of {call.process.named(parent)}"
        refuse(ClError.INVALID_VALUE, message)
    flags = (flags if flags & _ACCESS else flags | access) | (parent.flags & _MEMORY)
    return flags if flags & _OF_HOST else flags | host_access


@API("int clSetMemObjectDestructorCallback(void *object, void *function, void *data)")
async def memory_ends_with(call: HostCall, handle: int, function: int, data: int) -> None:
    await ends_with(call, call.process.find(call, handle, ClMemory), function, data)


@API("int clGetMemObjectInfo(void *object, unsigned wanted, size_t size, void *value, size_t *needed)")
def memory_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    memory = call.process.find(call, handle, ClMemory)
    answers: Answers = {
        0x1100: half_word(memory.kind),
        0x1101: word(memory.flags),
        0x1102: word(memory.size),
        0x1103: word(memory.host if memory.flags & USE_HOST else 0),
        0x1104: half_word(sum(map(len, memory.mappings.values()))),
        0x1105: half_word(memory.references),
        0x1106: word(memory.context.handle),
        0x1107: word(0 if memory.parent is None else memory.parent.handle),
        0x1108: word(memory.offset),
        0x1109: half_word(memory.is_shared),
        0x110A: memory.properties,
    }
    answer(call, answers, wanted, size, value, needed)


# --- Copies -----------------------------------------------------------------------------------------------------------


def check_range(call: HostCall, memory: ClMemory, offset: int, size: int, *, may_be_empty: bool = False) -> None:
    """Refuse bytes that a buffer does not have."""
    program: OpenClProgram = call.process
    if memory.image is not None:
        refuse(ClError.INVALID_MEM_OBJECT, f"{program.named(memory)} is an image")
    if offset + size > memory.size:
        last = offset + size - 1
        refuse(ClError.INVALID_VALUE, f"bytes {offset} to {last} of {program.named(memory)}, which has {memory.size}")
    if not size and not may_be_empty:
        refuse(ClError.INVALID_VALUE, "no bytes are asked for")


def check_host_access(call: HostCall, memory: ClMemory, *, is_read: bool) -> None:
    """Refuse an access of the host that the flags of a memory object exclude."""
    if memory.flags & (HOST_NO_ACCESS | (HOST_WRITE_ONLY if is_read else HOST_READ_ONLY)):
        what = "reads" if is_read else "writes"
        refuse(ClError.INVALID_OPERATION, f"the host {what} {call.process.named(memory)}, and its flags exclude that")


def _transfers(kind: int, name: str, *, is_read: bool) -> None:
    @enqueues(
        kind, f"int {name}(void *queue, void *buffer, unsigned is_blocking, size_t offset, size_t size, "
        "void *pointer, unsigned count, const void *waits, void **event)",
    )  # fmt: skip
    def transfer(
        call: HostCall, queue: ClQueue, handle: int, is_blocking: int, offset: int, size: int, pointer: int
    ) -> ClWork:
        memory = memory_of(call, queue, handle)
        check_range(call, memory, offset, size)
        check_host_access(call, memory, is_read=is_read)
        _check_pointer(pointer)
        address = memory.address + offset
        to, source = (pointer, address) if is_read else (address, pointer)
        return ClWork(
            lambda by: by.process.copy(by, to, source, size),
            (memory,),
            writes=None if is_read else memory,
            host=(pointer, size),
            is_blocking=bool(is_blocking),
        )


_transfers(READ, "clEnqueueReadBuffer", is_read=True)
_transfers(WRITE, "clEnqueueWriteBuffer", is_read=False)


def _check_pointer(pointer: int) -> None:
    if not pointer:
        refuse(ClError.INVALID_VALUE, "the pointer of the host is NULL")


@enqueues(
    COPY, "int clEnqueueCopyBuffer(void *queue, void *source, void *target, size_t from, size_t to, size_t size, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
def copy_buffer(
    call: HostCall, queue: ClQueue, source: int, target: int, source_offset: int, offset: int, size: int
) -> ClWork:
    first, second = memory_of(call, queue, source), memory_of(call, queue, target)
    check_range(call, first, source_offset, size)
    check_range(call, second, offset, size)
    start, to = first.address + source_offset, second.address + offset
    if start < to + size and to < start + size:
        refuse(ClError.MEM_COPY_OVERLAP, "the source and the destination overlap")
    return ClWork(lambda by: by.process.move(by, to, start, size), (first, second), writes=second)


@enqueues(
    FILL, "int clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t offset, "
    "size_t size, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def fill_buffer(
    call: HostCall, queue: ClQueue, handle: int, pattern: int, pattern_size: int, offset: int, size: int
) -> ClWork:
    memory = memory_of(call, queue, handle)
    check_range(call, memory, offset, size, may_be_empty=True)
    if not pattern or pattern_size not in _PATTERNS or offset % pattern_size or size % pattern_size:
        refuse(ClError.INVALID_VALUE, f"{size} bytes at {offset} are no multiple of a pattern of {pattern_size} bytes")
    content = await call.read(pattern, pattern_size)
    times = size // pattern_size
    return ClWork(lambda by: by.process.fill(by, memory.address + offset, content, times), (memory,), writes=memory)


# --- Boxes ------------------------------------------------------------------------------------------------------------


class ClBox:
    """A region of bytes in three dimensions, by its origin and its pitches."""

    def __init__(self, base: int, origin: Triple, region: Triple, row: int, slice_: int) -> None:
        self.base, self.origin, self.region = base, origin, region
        self.row = row or region[0]
        self.slice = slice_ or region[1] * self.row
        if self.row < region[0] or self.slice < region[1] * self.row or self.slice % self.row:
            refuse(ClError.INVALID_VALUE, f"rows of {self.row} bytes and slices of {self.slice} do not hold {region}")
        self.start = origin[0] + origin[1] * self.row + origin[2] * self.slice
        self.end = self.start + (region[2] - 1) * self.slice + (region[1] - 1) * self.row + region[0]

    @property
    def place(self) -> Triple:
        """Its address, and how far rows and slices are apart."""
        return self.base + self.start, self.row, self.slice


def box_parts(region: Triple, first: Triple, second: Triple) -> Iterator[Triple]:
    """Yield the parts of a region of bytes that two places have: both addresses, and the size.

    A place is an address, and how far rows and slices are apart. Rows that follow each other in both are one part.
    """
    (size, rows, slices), (start, row, slice_), (other, other_row, other_slice) = region, first, second
    if rows == 1 or row == other_row == size:
        size, rows = size * rows, 1
        if slice_ == other_slice == size:
            size, slices = size * slices, 1
    for z in range(slices):
        for y in range(rows):
            yield start + z * slice_ + y * row, other + z * other_slice + y * other_row, size


async def triple(call: HostCall, pointer: int) -> Triple:
    """Return three sizes that a program has."""
    if not pointer:
        refuse(ClError.INVALID_VALUE, "an origin or a region is NULL")
    first, second, third = await call.process.words_at(call, pointer, 3)
    return first, second, third


def _box_of(call: HostCall, memory: ClMemory, origin: Triple, region: Triple, row: int, slice_: int) -> ClBox:
    if not all(region):
        refuse(ClError.INVALID_VALUE, f"the region {region} is empty")
    box = ClBox(memory.address, origin, region, row, slice_)
    check_range(call, memory, box.start, box.end - box.start)
    return box


def _transfer_box(kind: int, name: str, *, is_read: bool) -> None:
    @enqueues(
        kind, f"int {name}(void *queue, void *buffer, unsigned is_blocking, const void *buffer_origin, "
        "const void *host_origin, const void *region, size_t row, size_t slice, size_t host_row, size_t host_slice, "
        "void *pointer, unsigned count, const void *waits, void **event)",
    )  # fmt: skip
    async def transfer(
        call: HostCall, queue: ClQueue, handle: int, is_blocking: int, origin: int, host_origin: int, region: int,
        row: int, slice_: int, host_row: int, host_slice: int, pointer: int,
    ) -> ClWork:  # fmt: skip
        memory = memory_of(call, queue, handle)
        check_host_access(call, memory, is_read=is_read)
        _check_pointer(pointer)
        sizes = await triple(call, region)
        box = _box_of(call, memory, await triple(call, origin), sizes, row, slice_)
        other = ClBox(pointer, await triple(call, host_origin), sizes, host_row, host_slice)

        def run(by: HostCall) -> None:
            for own, of_host, size in box_parts(sizes, box.place, other.place):
                to, source = (of_host, own) if is_read else (own, of_host)
                by.process.copy(by, to, source, size)

        return ClWork(run, (memory,), writes=None if is_read else memory, is_blocking=bool(is_blocking))


_transfer_box(READ_BOX, "clEnqueueReadBufferRect", is_read=True)
_transfer_box(WRITE_BOX, "clEnqueueWriteBufferRect", is_read=False)


@enqueues(
    COPY_BOX, "int clEnqueueCopyBufferRect(void *queue, void *source, void *target, const void *source_origin, "
    "const void *origin, const void *region, size_t source_row, size_t source_slice, size_t row, size_t slice, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def copy_box(
    call: HostCall, queue: ClQueue, source: int, target: int, source_origin: int, origin: int, region: int,
    source_row: int, source_slice: int, row: int, slice_: int,
) -> ClWork:  # fmt: skip
    first, second = memory_of(call, queue, source), memory_of(call, queue, target)
    sizes = await triple(call, region)
    start = _box_of(call, first, await triple(call, source_origin), sizes, source_row, source_slice)
    to = _box_of(call, second, await triple(call, origin), sizes, row, slice_)
    if first is second and (start.row, start.slice) != (to.row, to.slice):
        refuse(ClError.INVALID_VALUE, "the pitches differ in one buffer")
    if _overlap(start, to):
        refuse(ClError.MEM_COPY_OVERLAP, "the source and the destination overlap")

    def run(by: HostCall) -> None:
        for from_, to_, size in box_parts(sizes, start.place, to.place):
            by.process.move(by, to_, from_, size)

    return ClWork(run, (first, second), writes=second)


def _overlap(first: ClBox, second: ClBox) -> bool:
    """Return whether two boxes have bytes in common: in one buffer, and with the same pitches."""
    if first.base != second.base:
        start, to = first.base + first.start, second.base + second.start
        return start < second.base + second.end and to < first.base + first.end
    return all(
        first.origin[axis] < second.origin[axis] + second.region[axis]
        and second.origin[axis] < first.origin[axis] + first.region[axis]
        for axis in range(3)
    )


# --- Maps -------------------------------------------------------------------------------------------------------------


def check_map(call: HostCall, memory: ClMemory, flags: int) -> None:
    """Refuse flags of a map that contradict each other, or those of the memory object."""
    if not flags or flags & ~(MAP_READ | MAP_WRITE | MAP_WRITE_ALL) or (flags & MAP_WRITE_ALL and flags & 3):
        refuse(ClError.INVALID_VALUE, f"the flags of the map are {flags:#x}")
    if flags & MAP_READ:
        check_host_access(call, memory, is_read=True)
    if flags & (MAP_WRITE | MAP_WRITE_ALL):
        check_host_access(call, memory, is_read=False)


@creates(
    "void *clEnqueueMapBuffer(void *queue, void *buffer, unsigned is_blocking, uint64_t flags, size_t offset, "
    "size_t size, unsigned count, const void *waits, void **event, int *error)"
)
async def map_buffer(
    call: HostCall, queue: int, handle: int, is_blocking: int, flags: int, offset: int, size: int, count: int,
    waits: int, event: int,
) -> int:  # fmt: skip
    def make(on: ClQueue) -> tuple[ClMemory, int, ClMapping]:
        program: OpenClProgram = call.process
        memory = memory_of(call, on, handle)
        check_range(call, memory, offset, size)
        check_map(call, memory, flags)
        address = memory.address + offset
        pointer = memory.host + offset if memory.uses_host else address

        def fetch(by: HostCall) -> None:
            if memory.uses_host:
                program.copy(by, pointer, address, size)

        def store(by: HostCall) -> None:
            if memory.uses_host:
                program.copy(by, address, pointer, size)
            else:
                program.device.define(address, size)

        mapping = ClMapping(flags, fetch, store, call, range(offset, offset + size))
        _check_overlap(call, memory, mapping)
        return memory, pointer, mapping

    return await map_memory(call, queue, make, is_blocking, count, waits, event)


def _check_overlap(call: HostCall, memory: ClMemory, mapping: ClMapping) -> None:
    """Refuse to map bytes for writing twice (OpenCL API 3.0, clEnqueueMapBuffer)."""
    for other in chain.from_iterable(memory.mappings.values()):
        start, end = max(mapping.bytes.start, other.bytes.start), min(mapping.bytes.stop, other.bytes.stop)
        if mapping.is_written and other.is_written and start < end:
            name = call.process.named(memory)
            refuse(ClError.INVALID_OPERATION, f"bytes {start} to {end - 1} of {name} are mapped for writing already")


async def map_memory(
    call: HostCall,
    queue: int,
    make: Callable[[ClQueue], tuple[ClMemory, int, ClMapping]],
    is_blocking: int,
    count: int,
    waits: int,
    event: int,
) -> int:
    """Enqueue a map; return the pointer that the host has."""
    pointer = 0

    def work(on: ClQueue) -> ClWork:
        nonlocal pointer
        memory, pointer, mapping = make(on)
        memory.mappings.setdefault(pointer, []).append(mapping)
        used = memory.host_memory

        async def run(by: HostCall) -> None:
            if used is not None:
                await used.check(by)
                used.maps += mapping.is_written
            if not mapping.flags & MAP_WRITE_ALL:
                mapping.fetch(by)
            by.process.open(by, memory, mapping.access)
            memory.mapped.append(mapping)

        return ClWork(run, (memory,), is_access=False, is_blocking=bool(is_blocking))

    await put(call, queue, MAP, work, count, waits, event)
    return pointer


@enqueues(
    UNMAP, "int clEnqueueUnmapMemObject(void *queue, void *object, void *pointer, unsigned count, const void *waits, "
    "void **event)",
)  # fmt: skip
def unmap(call: HostCall, queue: ClQueue, handle: int, pointer: int) -> ClWork:
    memory = memory_of(call, queue, handle)
    if not memory.mappings.get(pointer):
        refuse(ClError.INVALID_VALUE, f"{call.process.named(memory)} is not mapped at {pointer:#x}")
    mapping = memory.mappings[pointer].pop()
    if not memory.mappings[pointer]:
        del memory.mappings[pointer]

    async def run(by: HostCall) -> None:
        if mapping.is_written:
            mapping.store(by)
        by.process.open(by, memory, mapping.access, change=-1)
        memory.mapped = [each for each in memory.mapped if each is not mapping]
        used = memory.host_memory
        if used is not None:
            used.maps -= mapping.is_written
            await by.done()
            await used.check(by)

    return ClWork(run, (memory,), is_access=False)
