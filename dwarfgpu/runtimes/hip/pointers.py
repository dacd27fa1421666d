"""What pointers of a program point to, advice about memory, and memory of the host that kernels access."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.arena import DEVICE, HOST, MANAGED, Allocation
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.memory import TOTAL
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.runtimes.pinned import PinnedMemory

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_TYPES = {HOST: 1, DEVICE: 2, MANAGED: 3}
"""``hipMemoryType`` of HIP 6 and later."""
_NO_DEVICE = -2
"""``hipInvalidDeviceId``."""
_READ_MOSTLY, _PREFERRED, _ACCESSED_BY, _PREFETCHED, _COHERENCY = 1, 2, 3, 4, 100
"""``hipMemRangeAttribute``."""


# --- Memory of the host -----------------------------------------------------------------------------------------------


@API("hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags)")
def register(call: HostCall, pointer: int, size: int, _flags: int) -> None:
    """Let kernels access memory of the host, if the system lets `exec` do so."""
    program: HipProgram = call.process
    if not pointer or not size or pointer in program.device.arena or size > TOTAL:
        refuse(errors.INVALID_VALUE)
    for known in program.device.pinned.values():
        if pointer < known.buffer.address + known.buffer.size and known.buffer.address < pointer + size:
            refuse(errors.REGISTERED)
    memory = PinnedMemory(program.number, Allocation(pointer, size, HOST, call))
    if not memory.fetch():
        program.problem("bounds-host", f"{size} bytes at {pointer:#x} are registered that the host does not have", call)
        refuse(errors.INVALID_VALUE)
    program.device.pin(memory)


@API("hipError_t hipHostUnregister(void *pointer)")
def unregister(call: HostCall, pointer: int) -> None:
    program: HipProgram = call.process
    if pointer not in program.device.pinned:
        refuse(errors.NOT_REGISTERED)
    program.device.unpin(pointer)


@API("hipError_t hipHostGetDevicePointer(void **pointer, void *host, unsigned flags)")
def device_pointer(call: HostCall, pointer: int, host: int, flags: int) -> None:
    if not pointer or flags or call.process.device.memory_at(host) is None:
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, host)


@API("hipError_t hipHostGetFlags(unsigned *flags, void *host)")
def host_flags(call: HostCall, flags: int, host: int) -> None:
    if not flags or call.process.device.memory_at(host) is None:
        refuse(errors.INVALID_VALUE)
    call.write_number(flags, 0, 4)


# --- Questions --------------------------------------------------------------------------------------------------------


@API("hipError_t hipMemGetInfo(size_t *free, size_t *total)")
def memory_info(call: HostCall, free: int, total: int) -> None:
    used = sum(buffer.size for buffer in call.process.device.leaks() if buffer.kind == DEVICE)
    for pointer, number in ((free, max(0, TOTAL - used)), (total, TOTAL)):
        if pointer:
            call.write_number(pointer, number)


@API("hipError_t hipPointerGetAttributes(void *attributes, const void *pointer)")
def pointer_attributes(call: HostCall, attributes: int, pointer: int) -> None:
    buffer = call.process.device.memory_at(pointer)
    if buffer is None:
        refuse(errors.INVALID_VALUE)
    host = pointer if buffer.kind != DEVICE else 0
    fields = _TYPES[buffer.kind], 0, pointer, host, buffer.kind == MANAGED, 0
    call.write(attributes, struct.pack("<iiQQiI", *fields))


@API("hipError_t hipPointerGetAttribute(void *value, int attribute, void *pointer)")
def pointer_attribute(call: HostCall, value: int, attribute: int, pointer: int) -> None:
    """Write one of ``hipPointer_attribute``: a number of some bytes."""
    buffer = call.process.device.memory_at(pointer)
    if not value or buffer is None:
        refuse(errors.INVALID_VALUE)
    host = pointer if buffer.kind != DEVICE else 0
    known = {
        2: (_TYPES[buffer.kind], 4), 3: (pointer, 8), 4: (host, 8), 7: (buffer.address, 8), 8: (buffer.kind == MANAGED, 1),
        9: (0, 4), 11: (buffer.address, 8), 12: (buffer.size, 8), 13: (1, 1),
    }  # fmt: skip
    if attribute not in known:
        refuse(errors.INVALID_VALUE)
    call.write_number(value, *known[attribute])


@API("hipError_t hipPointerSetAttribute(const void *value, int attribute, void *pointer)")
def set_pointer_attribute(call: HostCall, value: int, attribute: int, pointer: int) -> None:
    """Take note of nothing: copies are done when they are asked for (HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS)."""
    is_known = value and attribute == 6 and call.process.device.memory_at(pointer) is not None
    if not is_known:
        refuse(errors.INVALID_VALUE)


@API("hipError_t hipMemGetAddressRange(void **start, size_t *size, void *pointer)")
def address_range(call: HostCall, start: int, size: int, pointer: int) -> None:
    buffer = call.process.device.memory_at(pointer)
    if buffer is None:
        refuse(errors.NOT_FOUND)
    for each, number in ((start, buffer.address), (size, buffer.size)):
        if each:
            call.write_number(each, number)


@API("hipError_t hipMemPtrGetInfo(void *pointer, size_t *size)")
def pointer_size(call: HostCall, pointer: int, size: int) -> None:
    buffer = call.process.device.memory_at(pointer)
    if not size or (buffer is None and pointer):
        refuse(errors.INVALID_VALUE)
    call.write_number(size, 0 if buffer is None else buffer.size)


# --- Advice -----------------------------------------------------------------------------------------------------------


@API("hipError_t hipMemAdvise(const void *pointer, size_t size, int advice, int device)")
def advise(call: HostCall, pointer: int, size: int, advice: int, device: int) -> None:
    buffer = call.process.device.memory_at(pointer)
    if buffer is None or not size or not (1 <= advice <= 6 or advice in (100, 101)) or device not in (-1, 0):
        refuse(errors.INVALID_VALUE)
    known = call.process.advice.setdefault(buffer.address, {})
    attribute = _COHERENCY if advice >= 100 else (advice + 1) // 2
    if advice % 2 == (attribute != _COHERENCY):
        known[attribute] = 1 if attribute in (_READ_MOSTLY, _COHERENCY) else device
    else:
        known.pop(attribute, None)


@API("hipError_t hipMemPrefetchAsync(const void *pointer, size_t size, int device, void *stream)")
def prefetch(call: HostCall, pointer: int, _size: int, device: int, stream: int) -> None:
    call.process.stream(stream)
    buffer = call.process.device.memory_at(pointer)
    if buffer is None or device not in (-1, 0):
        refuse(errors.INVALID_VALUE)
    call.process.advice.setdefault(buffer.address, {})[_PREFETCHED] = device


@API("hipError_t hipStreamAttachMemAsync(void *stream, void *pointer, size_t size, unsigned flags)")
def attach(call: HostCall, stream: int, pointer: int, _size: int, flags: int) -> None:
    call.process.stream(stream)
    buffer = call.process.device.memory_at(pointer)
    is_right = buffer is not None and buffer.kind == MANAGED and flags in (1, 2, 4)
    if not is_right:
        refuse(errors.INVALID_VALUE)


@API("hipError_t hipMemRangeGetAttribute(void *data, size_t size, int attribute, const void *pointer, size_t count)")
def range_attribute(call: HostCall, data: int, size: int, attribute: int, pointer: int, count: int) -> None:
    buffer = call.process.device.memory_at(pointer)
    defaults = {
        _READ_MOSTLY: 0,
        _PREFERRED: _NO_DEVICE,
        _ACCESSED_BY: _NO_DEVICE,
        _PREFETCHED: _NO_DEVICE,
        _COHERENCY: 0,
    }
    if buffer is None or not data or not count or attribute not in defaults or not 4 <= size <= 256 or size % 4:
        refuse(errors.INVALID_VALUE)
    number = call.process.advice.get(buffer.address, {}).get(attribute, defaults[attribute])
    call.write(data, struct.pack(f"<{size // 4}i", number, *[_NO_DEVICE] * (size // 4 - 1)))
