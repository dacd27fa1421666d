"""The functions that reserve addresses and map memory there."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.arena import PAGE, Allocation
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.mappings import NONE, READ, READ_AND_WRITE, HipMemory, Piece, Reservation
from dwarfgpu.runtimes.hip.memory import TOTAL
from dwarfgpu.runtimes.hip.program import API, refuse

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_PROPERTIES = struct.Struct("<4i16x")
"""``hipMemAllocationProp``: the type, the requested handles, the type and the number of the location."""
_ACCESS = struct.Struct("<3i")
"""``hipMemAccessDesc``: the type and the number of the location, and the flags."""
_PINNED, _DEVICE = 1, 1
_LEAST, _RECOMMENDED = PAGE, 2 << 20
"""What sizes are multiples of, by ``hipMemAllocationGranularity_flags``."""
_MOST_LOCATIONS = 64


def _reservation(call: HostCall, address: int, size: int) -> Reservation:
    program: HipProgram = call.process
    found = next((each for each in program.reservations if each.holds(address, size)), None)
    if found is None:
        program.problem("bounds-host", f"{size} bytes at {address:#x} are in no addresses that were reserved", call)
        refuse(errors.INVALID_VALUE)
    return found


def _pieces(call: HostCall, reservation: Reservation, address: int, size: int) -> list[Piece]:
    found = reservation.within(address, size)
    if not found:
        message = f"{size} bytes at {address:#x} are not those of memory that was mapped there"
        call.process.problem("bounds-host", message, call)
        refuse(errors.INVALID_VALUE)
    return found


def _memory(call: HostCall, handle: int) -> HipMemory:
    memory: HipMemory = call.process.find(handle, HipMemory)
    return memory


@API("hipError_t hipMemGetAllocationGranularity(size_t *granularity, const void *properties, int option)")
def granularity(call: HostCall, pointer: int, properties: int, option: int) -> None:
    if not pointer or not properties or option not in (0, 1):
        refuse(errors.INVALID_VALUE)
    call.write_number(pointer, (_LEAST, _RECOMMENDED)[option])


@API(
    "hipError_t hipMemAddressReserve(void **address, size_t size, size_t alignment, void *wanted, "
    "unsigned long long flags)"
)
def reserve(call: HostCall, pointer: int, size: int, alignment: int, _wanted: int, flags: int) -> None:
    program: HipProgram = call.process
    if not pointer or not size or size % _LEAST or alignment & (alignment - 1) or flags:
        refuse(errors.INVALID_VALUE)
    address = program.device.arena.reserve(size, max(alignment, _RECOMMENDED))
    if not address:
        refuse(errors.OUT_OF_MEMORY)
    program.reservations.append(Reservation(address, size))
    call.write_number(pointer, address)


@API("hipError_t hipMemAddressFree(void *address, size_t size)")
def free_addresses(call: HostCall, address: int, size: int) -> None:
    found = _reservation(call, address, size)
    if found.pieces or (found.address, found.size) != (address, size):
        refuse(errors.INVALID_VALUE)
    call.process.reservations.remove(found)


@API("hipError_t hipMemCreate(void **handle, size_t size, const void *properties, unsigned long long flags)")
async def create(call: HostCall, pointer: int, size: int, properties: int, flags: int) -> None:
    program: HipProgram = call.process
    if not pointer or not properties or not 0 < size <= TOTAL or size % _LEAST or flags:
        refuse(errors.INVALID_VALUE)
    content = await call.read(properties, _PROPERTIES.size)
    kind, _handles, place, device = _PROPERTIES.unpack(content)
    if (kind, place, device) != (_PINNED, _DEVICE, 0):
        refuse(errors.INVALID_VALUE)
    memory = HipMemory(size, content)
    memory.handle = program.keep(memory)
    call.write_number(pointer, memory.handle)


@API("hipError_t hipMemRelease(void *handle)")
def release(call: HostCall, handle: int) -> None:
    memory = _memory(call, handle)
    memory.references -= 1
    _drop(call, memory)


def _drop(call: HostCall, memory: HipMemory) -> None:
    """Forget memory that is neither mapped nor referred to."""
    if not memory.references and not memory.is_mapped:
        call.process.objects.pop(memory.handle, None)
        if memory.kept:
            call.process.device.arena.discard(Allocation(memory.kept, memory.size, ""))


@API("hipError_t hipMemMap(void *address, size_t size, size_t offset, void *handle, unsigned long long flags)")
def map_memory(call: HostCall, address: int, size: int, offset: int, handle: int, flags: int) -> None:
    program: HipProgram = call.process
    memory, found = _memory(call, handle), _reservation(call, address, size)
    if memory.is_mapped:
        program.problem("not-supported", "memory at two addresses at once is not supported", call)
        refuse(errors.NOT_SUPPORTED)
    is_free = all(piece.end <= address or address + size <= piece.address for piece in found.pieces)
    if offset or size != memory.size or flags or address % _LEAST or not is_free:
        refuse(errors.INVALID_VALUE)
    if memory.kept:
        program.device.arena.move(memory.kept, address, size)
    memory.is_mapped = True
    found.pieces.append(Piece(address, memory, call))
    found.pieces.sort(key=lambda piece: piece.address)


@API("hipError_t hipMemUnmap(void *address, size_t size)")
def unmap_memory(call: HostCall, address: int, size: int) -> None:
    program: HipProgram = call.process
    found = _reservation(call, address, size)
    pieces, arena = _pieces(call, found, address, size), program.device.arena
    for piece in pieces:
        piece.memory.kept = piece.memory.kept or arena.reserve(piece.memory.size, PAGE)
    if not all(piece.memory.kept for piece in pieces):
        refuse(errors.OUT_OF_MEMORY)
    found.pieces = [piece for piece in found.pieces if piece not in pieces]
    found.update(program.device)
    for piece in pieces:
        arena.move(piece.address, piece.memory.kept, piece.memory.size)
        piece.memory.is_mapped = False
        _drop(call, piece.memory)


@API("hipError_t hipMemSetAccess(void *address, size_t size, const void *access, size_t count)")
async def set_access(call: HostCall, address: int, size: int, access: int, count: int) -> None:
    if not access or not 0 < count <= _MOST_LOCATIONS:
        refuse(errors.INVALID_VALUE)
    content = await call.read(access, _ACCESS.size * count)
    found = _reservation(call, address, size)
    pieces = _pieces(call, found, address, size)
    for place, device, flags in _ACCESS.iter_unpack(content):
        if (place, device) != (_DEVICE, 0) or flags not in (NONE, READ, READ_AND_WRITE):
            refuse(errors.INVALID_VALUE)
        for piece in pieces:
            piece.access = flags
    found.update(call.process.device)


def _piece(call: HostCall, address: int) -> Piece:
    pieces = _reservation(call, address, 1).pieces
    found = next((each for each in pieces if each.address <= address < each.end), None)
    if found is None:
        refuse(errors.INVALID_VALUE)
    return found


@API("hipError_t hipMemGetAccess(unsigned long long *flags, const void *location, void *address)")
def get_access(call: HostCall, flags: int, location: int, address: int) -> None:
    if not flags or not location:
        refuse(errors.INVALID_VALUE)
    call.write_number(flags, _piece(call, address).access)


@API("hipError_t hipMemRetainAllocationHandle(void **handle, void *address)")
def retain(call: HostCall, pointer: int, address: int) -> None:
    memory = _piece(call, address).memory
    memory.references += 1
    call.process.objects[memory.handle] = memory
    call.write_number(pointer, memory.handle)


@API("hipError_t hipMemGetAllocationPropertiesFromHandle(void *properties, void *handle)")
def properties_of(call: HostCall, pointer: int, handle: int) -> None:
    call.write(pointer, _memory(call, handle).properties)
