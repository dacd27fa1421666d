"""Memory that a program allocates, copies and fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.runtimes.arena import DEVICE, HOST, MANAGED
from dwarfgpu.runtimes.connection import CLOSED, OPEN
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.runtimes.hip.streams import check_no_capture, record_node, stream_for_work, streamed
from dwarfgpu.runtimes.hip.work import MEM_ALLOC, MEM_FREE, MEMCPY, MEMSET, GraphNode
from dwarfgpu.runtimes.order import READ, WRITE

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

TO_HOST, TO_DEVICE, FROM_DEVICE, IN_DEVICE, BY_ADDRESS = range(5)
"""The directions of a copy; the first is from host to host."""
_DIRECTIONS = {
    TO_HOST: ("HostToHost", (False, False)),
    TO_DEVICE: ("HostToDevice", (True, False)),
    FROM_DEVICE: ("DeviceToHost", (False, True)),
    IN_DEVICE: ("DeviceToDevice", (True, True)),
}
"""Their names, and whether the destination and the source are memory of the device."""
TOTAL = 16 << 30
"""The bytes of memory that the device says to have."""
MOST_ROWS = 1 << 22
"""The rows that a call copies or fills."""
_ADDRESSES = 1 << 64
ALIGNED = 256


def allocate(call: HostCall, pointer: int, size: int, kind: str) -> None:
    """Allocate memory, and write its address."""
    program: HipProgram = call.process
    program.check_device()
    if not pointer:
        refuse(errors.INVALID_VALUE)
    if not size:
        call.write_number(pointer, 0)
        if kind == MANAGED:
            refuse(errors.INVALID_VALUE)
        return
    address = program.device.malloc(size, kind, call) if size <= TOTAL else 0
    call.write_number(pointer, address)
    if not address:
        refuse(errors.OUT_OF_MEMORY)
    if kind != DEVICE:
        call.protect(address, -(-size // 4096) * 4096, OPEN)


@API(
    "hipError_t hipMalloc(void **pointer, size_t size)",
    "hipError_t hipExtMallocWithFlags(void **pointer, size_t size, unsigned flags)",
)
def malloc(call: HostCall, pointer: int, size: int, *_more: int) -> None:
    check_no_capture(call)
    allocate(call, pointer, size, DEVICE)


def malloc_async(call: HostCall, pointer: int, size: int, stream: int) -> None:
    """Allocate memory; in a capture it is there from now on, and each launch has it."""
    on = stream_for_work(call, stream)
    allocate(call, pointer, size, DEVICE)
    if size and on is not None and on.capture is not None:
        record_node(call, on, GraphNode(MEM_ALLOC, None, (call.process.device.arena.buffers[-1].address,), call.frames))


@API("hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags)")
def malloc_managed(call: HostCall, pointer: int, size: int, _flags: int) -> None:
    allocate(call, pointer, size, MANAGED)


@API(
    "hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags)",
    "hipError_t hipHostAlloc(void **pointer, size_t size, unsigned flags)",
    "hipError_t hipMallocHost(void **pointer, size_t size)",
    "hipError_t hipMemAllocHost(void **pointer, size_t size)",
)
def malloc_host(call: HostCall, pointer: int, size: int, _flags: int = 0) -> None:
    allocate(call, pointer, size, HOST)


@API(
    "hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)",
    "hipError_t hipMemAllocPitch(void **pointer, size_t *pitch, size_t width, size_t height, unsigned element)",
)
def malloc_rows(call: HostCall, pointer: int, pitch: int, width: int, height: int, _element: int = 0) -> None:
    row = -(-width // ALIGNED) * ALIGNED
    call.write_number(pitch, row)
    allocate(call, pointer, row * height, DEVICE)


@API(
    "hipError_t hipFree(void *pointer)",
    "hipError_t hipHostFree(void *pointer)",
    "hipError_t hipFreeHost(void *pointer)",
)
def free(call: HostCall, pointer: int) -> None:
    """Free memory, also that of another kind: the documents call that an error, and ROCm does it."""
    check_no_capture(call)
    program: HipProgram = call.process
    name, buffer = program.name_of_call(call), program.device.memory_at(pointer)
    kind, other = (HOST, "hipHostFree") if name == "hipFree" else (DEVICE, "hipFree")
    if buffer is not None and buffer.kind == kind:
        message = f"{program.name_of(buffer)} is freed by {name}: {other} does that"
        program.problem("free-other", message, call, ("allocated", buffer.origin))
    release(call, pointer)


@API("hipError_t hipFreeAsync(void *pointer, void *stream)")
def free_async(call: HostCall, pointer: int, stream: int) -> None:
    """Free memory; in a capture at each launch, unless a node of the graph has allocated it."""
    on = stream_for_work(call, stream)
    if on is None or on.capture is None:
        release(call, pointer)
        return
    is_own = any(node.kind == MEM_ALLOC and node.arguments == (pointer,) for node in on.capture.graph.nodes)
    if is_own:
        call.process.of_graphs.add(pointer)
    record_node(call, on, GraphNode(MEM_FREE, None if is_own else release, (pointer,), call.frames))


def release(call: HostCall, pointer: int) -> None:
    """Free memory."""
    program: HipProgram = call.process
    program.check_device()  # after a fault nothing was allocated any more
    if not pointer:
        return
    if pointer in program.device.arena:
        for pool in program.pools:
            pool.buffers.pop(pointer, None)
    if any(found.holds(pointer) for found in program.reservations):
        refuse(errors.INVALID_VALUE)
    freed = program.device.free(pointer, call)
    if freed is None:
        refuse(errors.INVALID_VALUE)
    call.protect(freed.address, freed.pages, CLOSED)
    if program.order is not None:
        program.order.synchronize(call)


# --- Copies -----------------------------------------------------------------------------------------------------------


def _copy(call: HostCall, to: int, source: int, size: int, kind: int = BY_ADDRESS) -> None:
    """Copy bytes between the host and the device, once both are known to be there."""
    program: HipProgram = call.process
    program.check_device()
    if not 0 <= kind <= BY_ADDRESS:
        refuse(errors.INVALID_DIRECTION)
    if not size:
        return
    if not to or not source:
        program.problem("null-copy", f"{size} bytes are copied {'to' if not to else 'from'} a null pointer", call)
        refuse(errors.INVALID_VALUE)
    arena = program.device.arena
    is_inside = to in arena, source in arena
    ends = ((to, "the destination of a copy"), (source, "the source of a copy"))
    if not all(is_reachable(call, address, size, what) for address, what in ends):
        refuse(errors.INVALID_VALUE)
    _check_direction(call, is_inside, kind)
    if all(is_inside):
        program.device.copy(to, source, size)
    else:
        call.copy(to, source, size)
        if is_inside[0]:
            program.device.define(to, size)
    if program.order is not None:
        for address, inside, use in zip((to, source), is_inside, (WRITE, READ), strict=True):
            if inside:
                program.order.use(call, address, size, use)
        if is_inside[0]:
            program.order.close(call, to)
        else:  # memory that is not pinned is copied at once
            program.order.finish(call)


def is_reachable(call: HostCall, address: int, size: int, what: str) -> bool:
    """Return whether bytes are in a buffer, in code or of the host; report it if they cannot be."""
    device = call.process.device
    if address not in device.arena:
        if address + size > _ADDRESSES:
            call.process.problem("host-memory", f"{what} goes beyond all addresses: {size} bytes at {address:#x}", call)
        return address + size <= _ADDRESSES
    if device.arena.has_code_at(address) and address + size <= device.arena.end:
        return True
    return device.buffer(address, size, what, call) is not None


def _check_direction(call: HostCall, is_inside: tuple[bool, bool], kind: int) -> None:
    """Report a direction that contradicts the addresses."""
    if kind == BY_ADDRESS:
        return
    name, asked = _DIRECTIONS[kind]
    for side, of_device, inside in zip(("destination", "source"), asked, is_inside, strict=True):
        if of_device and not inside:
            message = f"a copy of kind hipMemcpy{name} has a {side} that is memory of the host"
            call.process.problem("direction", message, call)


@API(
    "hipError_t hipMemcpy(void *to, const void *source, size_t size, int kind)",
    "hipError_t hipMemcpy_spt(void *to, const void *source, size_t size, int kind)",
    "hipError_t hipMemcpyAsync(void *to, const void *source, size_t size, int kind, void *stream)",
    "hipError_t hipMemcpyAsync_spt(void *to, const void *source, size_t size, int kind, void *stream)",
    "hipError_t hipMemcpyWithStream(void *to, const void *source, size_t size, int kind, void *stream)",
)
@streamed(MEMCPY)
def memcpy(call: HostCall, to: int, source: int, size: int, kind: int, _stream: int = 0) -> None:
    _copy(call, to, source, size, kind)


@API(
    "hipError_t hipMemcpyHtoD(void *to, void *source, size_t size)",
    "hipError_t hipMemcpyDtoH(void *to, void *source, size_t size)",
    "hipError_t hipMemcpyDtoD(void *to, void *source, size_t size)",
    "hipError_t hipMemcpyHtoDAsync(void *to, void *source, size_t size, void *stream)",
    "hipError_t hipMemcpyDtoHAsync(void *to, void *source, size_t size, void *stream)",
    "hipError_t hipMemcpyDtoDAsync(void *to, void *source, size_t size, void *stream)",
)
@streamed(MEMCPY)
def memcpy_plain(call: HostCall, to: int, source: int, size: int, _stream: int = 0) -> None:
    _copy(call, to, source, size)


@API(
    "hipError_t hipMemcpyPeer(void *to, int to_device, const void *source, int device, size_t size)",
    "hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *source, int device, size_t size, void *stream)",
)
@streamed(MEMCPY)
def memcpy_peer(
    call: HostCall, to: int, _to_device: int, source: int, _device: int, size: int, _stream: int = 0
) -> None:
    _copy(call, to, source, size)


@API(
    "hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width, size_t height, "
    "int kind)",
    "hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width, "
    "size_t height, int kind, void *stream)",
)
@streamed(MEMCPY)
def memcpy_rows(
    call: HostCall,
    to: int,
    to_pitch: int,
    source: int,
    pitch: int,
    width: int,
    height: int,
    kind: int,
    _stream: int = 0,
) -> None:
    if width > min(pitch, to_pitch):
        refuse(errors.INVALID_PITCH)
    copy_rows(call, (to, to_pitch), (source, pitch), (width, height), kind)


def copy_rows(
    call: HostCall, to: tuple[int, int], source: tuple[int, int], extent: tuple[int, int], kind: int = BY_ADDRESS
) -> None:
    """Copy rows of some bytes between addresses, each with the distance of its rows."""
    width, height = extent
    if height > MOST_ROWS:
        refuse(errors.INVALID_VALUE)
    if not width:
        return
    if to[1] == source[1] == width:
        width, height = width * height, 1
    for row in range(height):
        _copy(call, to[0] + row * to[1], source[0] + row * source[1], width, kind)


# --- Variables of the device ------------------------------------------------------------------------------------------


def _symbol(call: HostCall, shadow: int, size: int, offset: int) -> int:
    """Return the address of a part of a variable, which must have it."""
    found = call.process.symbol(shadow)
    if found is None:
        refuse(errors.INVALID_SYMBOL)
    if offset + size > found[1]:
        name = call.process.variables[shadow].name
        message = f"bytes {offset} to {offset + size - 1} of the variable {name} are copied, which has {found[1]} bytes"
        call.process.problem("bounds-host", message, call)
        refuse(errors.INVALID_SYMBOL)
    return int(found[0]) + offset


@API(
    "hipError_t hipMemcpyToSymbol(const void *symbol, const void *source, size_t size, size_t offset, int kind)",
    "hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size, size_t offset, int kind, "
    "void *stream)",
)
@streamed(MEMCPY)
def copy_to_symbol(
    call: HostCall, symbol: int, source: int, size: int, offset: int, kind: int, _stream: int = 0
) -> None:
    _copy(call, _symbol(call, symbol, size, offset), source, size, kind)


@API(
    "hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind)",
    "hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int kind, "
    "void *stream)",
)
@streamed(MEMCPY)
def copy_from_symbol(call: HostCall, to: int, symbol: int, size: int, offset: int, kind: int, _stream: int = 0) -> None:
    _copy(call, to, _symbol(call, symbol, size, offset), size, kind)


@API("hipError_t hipGetSymbolAddress(void **address, const void *symbol)")
def symbol_address(call: HostCall, address: int, symbol: int) -> None:
    found = call.process.symbol(symbol)
    if found is None:
        refuse(errors.INVALID_SYMBOL)
    call.write_number(address, found[0])


@API("hipError_t hipGetSymbolSize(size_t *size, const void *symbol)")
def symbol_size(call: HostCall, size: int, symbol: int) -> None:
    found = call.process.symbol(symbol)
    if found is None:
        refuse(errors.INVALID_SYMBOL)
    call.write_number(size, found[1])


# --- Filling ----------------------------------------------------------------------------------------------------------


def _fill(call: HostCall, address: int, value: int, count: int, width: int) -> None:
    program: HipProgram = call.process
    program.check_device()
    if not count:
        return
    pattern = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    if any(memory.holds(address, count * width) for memory in program.device.pinned.values()):
        call.write(address, pattern * count)
        return
    if address not in program.device.arena or not is_reachable(call, address, count * width, "what is set"):
        refuse(errors.INVALID_VALUE)
    program.device.fill(address, pattern, count)
    if program.order is not None:
        program.order.use(call, address, count * width, WRITE)
        program.order.close(call, address)


@API(
    "hipError_t hipMemset(void *to, int value, size_t size)",
    "hipError_t hipMemsetAsync(void *to, int value, size_t size, void *stream)",
    "hipError_t hipMemsetD8(void *to, int value, size_t count)",
    "hipError_t hipMemsetD8Async(void *to, int value, size_t count, void *stream)",
)
@streamed(MEMSET)
def memset(call: HostCall, to: int, value: int, size: int, _stream: int = 0) -> None:
    _fill(call, to, value, size, 1)


@API(
    "hipError_t hipMemsetD16(void *to, int value, size_t count)",
    "hipError_t hipMemsetD16Async(void *to, int value, size_t count, void *stream)",
)
@streamed(MEMSET)
def memset_halves(call: HostCall, to: int, value: int, count: int, _stream: int = 0) -> None:
    _fill(call, to, value, count, 2)


@API(
    "hipError_t hipMemsetD32(void *to, int value, size_t count)",
    "hipError_t hipMemsetD32Async(void *to, int value, size_t count, void *stream)",
)
@streamed(MEMSET)
def memset_words(call: HostCall, to: int, value: int, count: int, _stream: int = 0) -> None:
    _fill(call, to, value, count, 4)


@API(
    "hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)",
    "hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, void *stream)",
)
def memset_rows(call: HostCall, to: int, pitch: int, value: int, width: int, height: int, stream: int = 0) -> Any:
    return fill_rows(call, to, pitch, value, 1, width, height, stream)


@streamed(MEMSET)
def fill_rows(
    call: HostCall, to: int, pitch: int, value: int, size: int, width: int, height: int, _stream: int = 0
) -> None:
    """Fill rows with so many elements of some bytes each."""
    if height > MOST_ROWS:
        refuse(errors.INVALID_VALUE)
    for row in range(height if width else 0):
        _fill(call, to + row * pitch, value, width, size)
