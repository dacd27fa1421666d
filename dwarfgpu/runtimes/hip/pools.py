"""Pools of memory: what they are asked for; what is freed is given back at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.memory import malloc_async
from dwarfgpu.runtimes.hip.program import API, HipPool, refuse

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_FOLLOW_EVENTS, _OPPORTUNISTIC, _INTERNAL, _THRESHOLD, _RESERVED, _MOST_RESERVED, _USED, _MOST_USED = range(1, 9)
"""``hipMemPoolAttr``."""
_PINNED, _DEVICE = 1, 1
"""The only ``hipMemAllocationType`` and ``hipMemLocationType`` that pools have."""
_READ_AND_WRITE = 3


def _pool(call: HostCall, handle: int) -> HipPool:
    pool: HipPool = call.process.find(handle, HipPool)
    return pool


def _default(program: HipProgram) -> HipPool:
    if not program.pools:
        program.pools.append(HipPool())
        program.pools[0].handle = program.keep(program.pools[0])
    return program.pools[0]


@API("hipError_t hipDeviceGetDefaultMemPool(void **pool, int device)")
def default_pool(call: HostCall, pool: int, device: int) -> None:
    if not pool or device:
        refuse(errors.INVALID_VALUE if not pool else errors.INVALID_DEVICE)
    call.write_number(pool, _default(call.process).handle)


@API("hipError_t hipDeviceGetMemPool(void **pool, int device)")
def pool_of_device(call: HostCall, pool: int, device: int) -> None:
    if not pool or device:
        refuse(errors.INVALID_VALUE if not pool else errors.INVALID_DEVICE)
    call.write_number(pool, (call.process.pool or _default(call.process)).handle)


@API("hipError_t hipDeviceSetMemPool(int device, void *pool)")
def set_pool_of_device(call: HostCall, device: int, pool: int) -> None:
    if device:
        refuse(errors.INVALID_DEVICE)
    call.process.pool = _pool(call, pool)


@API("hipError_t hipMemPoolCreate(void **pool, const void *properties)")
async def create_pool(call: HostCall, pointer: int, properties: int) -> None:
    program: HipProgram = call.process
    if not pointer or not properties:
        refuse(errors.INVALID_VALUE)
    kind, place, device = [await call.number_at(properties + offset, 4) for offset in (0, 8, 12)]
    if kind != _PINNED or place != _DEVICE or device:
        refuse(errors.INVALID_VALUE)
    _default(program)
    pool = HipPool()
    pool.handle = program.keep(pool)
    program.pools.append(pool)
    call.write_number(pointer, pool.handle)


@API("hipError_t hipMemPoolDestroy(void *pool)")
def destroy_pool(call: HostCall, handle: int) -> None:
    program: HipProgram = call.process
    pool = _pool(call, handle)
    if pool is _default(program):
        refuse(errors.INVALID_VALUE)
    program.pools.remove(pool)
    del program.objects[handle]
    if program.pool is pool:
        program.pool = None


@API("hipError_t hipMemPoolTrimTo(void *pool, size_t size)")
def trim_pool(call: HostCall, pool: int, _size: int) -> None:
    _pool(call, pool)


@API("hipError_t hipMemPoolGetAttribute(void *pool, int attribute, void *value)")
def pool_attribute(call: HostCall, handle: int, attribute: int, value: int) -> None:
    pool = _pool(call, handle)
    used = sum(pool.buffers.values())
    known = {_RESERVED: used, _USED: used, _MOST_RESERVED: pool.most, _MOST_USED: pool.most, _THRESHOLD: 0}
    if not value or not _FOLLOW_EVENTS <= attribute <= _MOST_USED:
        refuse(errors.INVALID_VALUE)
    number = pool.attributes.get(attribute, known.get(attribute, 1))
    call.write_number(value, number, 4 if attribute <= _INTERNAL else 8)


@API("hipError_t hipMemPoolSetAttribute(void *pool, int attribute, void *value)")
async def set_pool_attribute(call: HostCall, handle: int, attribute: int, value: int) -> None:
    pool = _pool(call, handle)
    if not value or not _FOLLOW_EVENTS <= attribute <= _MOST_USED:
        refuse(errors.INVALID_VALUE)
    number = await call.number_at(value, 4 if attribute <= _INTERNAL else 8)
    if attribute <= _THRESHOLD:
        pool.attributes[attribute] = number
    elif attribute in (_MOST_RESERVED, _MOST_USED) and not number:
        pool.most = sum(pool.buffers.values())
    else:
        refuse(errors.INVALID_VALUE)


@API("hipError_t hipMemPoolSetAccess(void *pool, const void *accesses, size_t count)")
async def set_pool_access(call: HostCall, pool: int, accesses: int, count: int) -> None:
    """The device has access to its pools, which it cannot lose."""
    _pool(call, pool)
    if not accesses or count > 1:
        refuse(errors.INVALID_VALUE)
    for at in range(accesses, accesses + 12 * count, 12):
        place, device, access = [await call.number_at(at + offset, 4) for offset in (0, 4, 8)]
        if place != _DEVICE or access != _READ_AND_WRITE:
            refuse(errors.INVALID_VALUE)
        if device:
            refuse(errors.INVALID_DEVICE)


@API("hipError_t hipMemPoolGetAccess(int *access, void *pool, const void *place)")
async def pool_access(call: HostCall, access: int, pool: int, place: int) -> None:
    _pool(call, pool)
    is_right = access and place and await call.number_at(place, 4) == _DEVICE
    if not is_right or await call.number_at(place + 4, 4):
        refuse(errors.INVALID_VALUE)
    call.write_number(access, _READ_AND_WRITE, 4)


@API("hipError_t hipMallocFromPoolAsync(void **pointer, size_t size, void *pool, void *stream)")
def malloc_from_pool(call: HostCall, pointer: int, size: int, handle: int, stream: int) -> None:
    _malloc(call, pointer, size, _pool(call, handle), stream)


@API("hipError_t hipMallocAsync(void **pointer, size_t size, void *stream)")
def malloc_from_current_pool(call: HostCall, pointer: int, size: int, stream: int) -> None:
    _malloc(call, pointer, size, call.process.pool or _default(call.process), stream)


def _malloc(call: HostCall, pointer: int, size: int, pool: HipPool, stream: int) -> None:
    malloc_async(call, pointer, size, stream)
    if size:
        pool.buffers[call.process.device.arena.buffers[-1].address] = size
        pool.most = max(pool.most, sum(pool.buffers.values()))
