"""Copies and fills of boxes, and arrays, whose layout is that of the device: here rows without gaps."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import define
from dwarfgpu.runtimes.arena import DEVICE
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.memory import ALIGNED, BY_ADDRESS, MOST_ROWS, allocate, copy_rows, fill_rows
from dwarfgpu.runtimes.hip.program import API, refuse
from dwarfgpu.runtimes.hip.streams import streamed
from dwarfgpu.runtimes.hip.work import MEMCPY, MEMSET

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

BOX = struct.Struct("<19Qi4x")
"""``hipMemcpy3DParms``: array, position and pitched pointer of the source and of the destination, extent, kind."""
_SIDE = struct.Struct("<4Qi4x5Q")
_PLANE = struct.Struct("<2Qi4x4Q")
"""A side of ``HIP_MEMCPY3D`` and of ``hip_Memcpy2D``."""
_FORMATS = {1: (8, 1), 2: (16, 1), 3: (32, 1), 8: (8, 0), 9: (16, 0), 10: (32, 0), 16: (16, 2), 32: (32, 2)}
"""``hipArray_Format``: the bits of a channel, and its ``hipChannelFormatKind``."""
SIGNED, UNSIGNED, FLOAT = range(3)
_MOST_EXTENT = 1 << 20
_CUBE = 4
"""``hipArrayCubemap``."""


@define(eq=False)
class HipArray:
    """An array: elements of some channels in one to three dimensions."""

    address: int
    bits: tuple[int, ...]
    """Of each of the four channels."""
    kind: int
    extent: tuple[int, int, int]
    """As it was asked for: 0 in dimensions that it does not have."""
    flags: int

    @property
    def element(self) -> int:
        """The bytes of an element."""
        return sum(self.bits) // 8

    @property
    def pitch(self) -> int:
        return self.element * self.extent[0]

    @property
    def rows(self) -> int:
        return max(1, self.extent[1])


# --- Boxes ------------------------------------------------------------------------------------------------------------


@define(eq=False)
class _Side:
    """One side of a copy: the address of its first byte, and how far rows and slices are apart."""

    address: int
    pitch: int
    slice: int


def _side_of_array(array: HipArray, x: int, y: int, z: int) -> _Side:
    layer = array.pitch * array.rows
    return _Side(array.address + x + y * array.pitch + z * layer, array.pitch, layer)


def _side(call: HostCall, handle: int, x: int, y: int, z: int, pointer: int, pitch: int, _x: int, rows: int) -> _Side:
    if not handle:
        return _Side(pointer + x + y * pitch + z * pitch * rows, pitch, pitch * rows)
    array = call.process.find(handle, HipArray)
    return _side_of_array(array, x * array.element, y, z)


def _copy_slices(call: HostCall, to: _Side, source: _Side, extent: tuple[int, ...], kind: int) -> None:
    width, height, depth = extent
    if height * depth > MOST_ROWS:
        refuse(errors.INVALID_VALUE)
    if not width or not height:
        return
    if height > 1 and width > min(to.pitch, source.pitch):
        refuse(errors.INVALID_PITCH)
    for z in range(depth):
        start, origin = to.address + z * to.slice, source.address + z * source.slice
        copy_rows(call, (start, to.pitch), (origin, source.pitch), (width, height), kind)


@streamed(MEMCPY)
def copy_box(call: HostCall, fields: tuple[int, ...], _stream: int = 0) -> None:
    """Copy a box between pointers or arrays; an extent counts elements if there is an array, else bytes."""
    source, to, (width, height, depth, kind) = fields[:8], fields[8:16], fields[16:]
    arrays = [call.process.find(side[0], HipArray) for side in (source, to) if side[0]]
    width *= arrays[0].element if arrays else 1
    _copy_slices(call, _side(call, *to), _side(call, *source), (width, height, depth), kind)


@API(
    "hipError_t hipMemcpy3D(const void *parameters)",
    "hipError_t hipMemcpy3D_spt(const void *parameters)",
    "hipError_t hipMemcpy3DAsync(const void *parameters, void *stream)",
    "hipError_t hipMemcpy3DAsync_spt(const void *parameters, void *stream)",
)
async def memcpy_box(call: HostCall, parameters: int, stream: int = 0) -> Any:
    return copy_box(call, BOX.unpack(await call.read(parameters, BOX.size)), stream)


@streamed(MEMCPY)
def _copy_sides(call: HostCall, to: _Side, source: _Side, extent: tuple[int, ...], _stream: int = 0) -> None:
    _copy_slices(call, to, source, extent, BY_ADDRESS)


def _side_of_driver(call: HostCall, x: int, y: int, z: int, pointers: tuple[int, ...], height: int) -> _Side:
    host, device, handle, pitch = pointers
    if handle:
        return _side_of_array(call.process.find(handle, HipArray), x, y, z)
    return _Side((device or host) + x + y * pitch + z * pitch * height, pitch, pitch * height)


@API(
    "hipError_t hipDrvMemcpy3D(const void *parameters)",
    "hipError_t hipDrvMemcpy3DAsync(const void *parameters, void *stream)",
)
async def memcpy_of_driver(call: HostCall, parameters: int, stream: int = 0) -> Any:
    content = await call.read(parameters, 2 * _SIDE.size + 24)
    sides = []
    for at in (_SIDE.size, 0):
        x, y, z, _level, _kind, *pointers, height = _SIDE.unpack_from(content, at)
        sides.append(_side_of_driver(call, x, y, z, tuple(pointers), height))
    return _copy_sides(call, *sides, struct.unpack_from("<3Q", content, 2 * _SIDE.size), stream)


@API(
    "hipError_t hipMemcpyParam2D(const void *parameters)",
    "hipError_t hipMemcpyParam2DAsync(const void *parameters, void *stream)",
    "hipError_t hipDrvMemcpy2DUnaligned(const void *parameters)",
)
async def memcpy_plane(call: HostCall, parameters: int, stream: int = 0) -> Any:
    content = await call.read(parameters, 2 * _PLANE.size + 16)
    sides = []
    for at in (_PLANE.size, 0):
        x, y, _kind, *pointers = _PLANE.unpack_from(content, at)
        sides.append(_side_of_driver(call, x, y, 0, tuple(pointers), 1))
    return _copy_sides(call, *sides, (*struct.unpack_from("<2Q", content, 2 * _PLANE.size), 1), stream)


@API("hipError_t hipMalloc3D(void *pointer, hipExtent extent)")
def malloc_box(call: HostCall, pointer: int, extent: tuple[int, ...]) -> None:
    width, height, depth = extent
    if not pointer:
        refuse(errors.INVALID_VALUE)
    pitch = -(-width // ALIGNED) * ALIGNED
    allocate(call, pointer, pitch * height * depth, DEVICE)
    call.write(pointer + 8, struct.pack("<3Q", pitch, width, height))


@API(
    "hipError_t hipMemset3D(hipPitchedPtr box, int value, hipExtent extent)",
    "hipError_t hipMemset3DAsync(hipPitchedPtr box, int value, hipExtent extent, void *stream)",
)
@streamed(MEMSET)
def memset_box(call: HostCall, box: tuple[int, ...], value: int, extent: tuple[int, ...], _stream: int = 0) -> Any:
    address, pitch, _width, rows = box
    width, height, depth = extent
    if height * depth > MOST_ROWS:
        refuse(errors.INVALID_VALUE)
    for z in range(depth if width and height else 0):
        fill_rows(call, address + z * pitch * rows, pitch, value, 1, width, height)


# --- Arrays -----------------------------------------------------------------------------------------------------------


def is_format(bits: Sequence[int], kind: int) -> bool:
    """Return whether elements can have such channels: one, two or four of the same size."""
    count = sum(each > 0 for each in bits)
    is_even = tuple(bits) == (bits[0],) * count + (0,) * (4 - count)
    return is_even and count in (1, 2, 4) and (bits[0], kind) in _FORMATS.values()


def _allocate_array(
    call: HostCall, pointer: int, bits: tuple[int, ...], kind: int, extent: tuple[int, ...], flags: int
) -> None:
    program: HipProgram = call.process
    if flags & _CUBE:
        program.problem("not-supported", "an array that is a cube map is not supported", call)
        refuse(errors.NOT_SUPPORTED)
    if not pointer or not is_format(bits, kind) or not extent[0]:
        refuse(errors.INVALID_VALUE)
    size = sum(bits) // 8
    for length in extent:
        size *= max(1, length)
    if max(extent) > _MOST_EXTENT or size > 1 << 34:
        refuse(errors.OUT_OF_MEMORY)
    address = program.device.malloc(size, DEVICE, call)
    if not address:
        refuse(errors.OUT_OF_MEMORY)
    call.write_number(pointer, program.keep(HipArray(address, bits, kind, (*extent,), flags)))  # type: ignore[arg-type]


@API("hipError_t hipMallocArray(void **array, const void *channels, size_t width, size_t height, unsigned flags)")
async def malloc_array(call: HostCall, array: int, channels: int, width: int, height: int, flags: int) -> None:
    *bits, kind = struct.unpack("<5i", await call.read(channels, 20))
    _allocate_array(call, array, tuple(bits), kind, (width, height, 0), flags)


@API("hipError_t hipMalloc3DArray(void **array, const void *channels, hipExtent extent, unsigned flags)")
async def malloc_box_array(call: HostCall, array: int, channels: int, extent: tuple[int, ...], flags: int) -> None:
    *bits, kind = struct.unpack("<5i", await call.read(channels, 20))
    _allocate_array(call, array, tuple(bits), kind, extent, flags)


def _described(call: HostCall, array: int, extent: tuple[int, ...], form: int, channels: int, flags: int) -> None:
    if form not in _FORMATS or channels not in (1, 2, 4):
        refuse(errors.INVALID_VALUE)
    size, kind = _FORMATS[form]
    _allocate_array(call, array, tuple([size] * channels + [0] * (4 - channels)), kind, extent, flags)


@API("hipError_t hipArrayCreate(void **array, const void *description)")
async def create_array(call: HostCall, array: int, description: int) -> None:
    width, height, form, channels = struct.unpack("<QQiI", await call.read(description, 24))
    _described(call, array, (width, height, 0), form, channels, 0)


@API("hipError_t hipArray3DCreate(void **array, const void *description)")
async def create_box_array(call: HostCall, array: int, description: int) -> None:
    *extent, form, channels, flags, _gap = struct.unpack("<QQQiIII", await call.read(description, 40))
    _described(call, array, tuple(extent), form, channels, flags)


@API("hipError_t hipFreeArray(void *array)", "hipError_t hipArrayDestroy(void *array)")
def free_array(call: HostCall, handle: int) -> None:
    program: HipProgram = call.process
    if not handle:
        return
    array = program.find(handle, HipArray, errors.CONTEXT_DESTROYED)
    del program.objects[handle]
    if program.device.free(array.address, call) is None:
        refuse(errors.INVALID_VALUE)


@API("hipError_t hipArrayGetInfo(void *channels, void *extent, unsigned *flags, void *array)")
def array_info(call: HostCall, channels: int, extent: int, flags: int, handle: int) -> None:
    array = call.process.find(handle, HipArray, errors.INVALID_HANDLE)
    content = {
        channels: struct.pack("<5i", *array.bits, array.kind),
        extent: struct.pack("<3Q", *array.extent),
        flags: struct.pack("<I", array.flags),
    }
    for pointer, part in content.items():
        if pointer:
            call.write(pointer, part)


@API("hipError_t hipGetChannelDesc(void *channels, const void *array)")
def array_channels(call: HostCall, channels: int, handle: int) -> None:
    if not channels:
        refuse(errors.INVALID_VALUE)
    array_info(call, channels, 0, 0, handle)


def _in_array(call: HostCall, handle: int, x: int, y: int, size: int, height: int = 1) -> _Side:
    """Return a part of an array, whose rows a linear copy goes on with."""
    array = call.process.find(handle, HipArray)
    side = _side_of_array(array, x, y, 0)
    end = array.address + array.pitch * array.rows * max(1, array.extent[2])
    if side.address + (height - 1) * side.pitch + size > end or (height > 1 and x + size > array.pitch):
        refuse(errors.INVALID_VALUE)
    return side


@API(
    "hipError_t hipMemcpy2DToArray(void *array, size_t x, size_t y, const void *source, size_t pitch, size_t width, "
    "size_t height, int kind)",
    "hipError_t hipMemcpy2DToArrayAsync(void *array, size_t x, size_t y, const void *source, size_t pitch, "
    "size_t width, size_t height, int kind, void *stream)",
)
@streamed(MEMCPY)
def copy_to_array(
    call: HostCall, array: int, x: int, y: int, source: int, pitch: int, width: int, height: int, kind: int,
    _stream: int = 0,
) -> None:  # fmt: skip
    to = _in_array(call, array, x, y, width, height)
    copy_rows(call, (to.address, to.pitch), (source, pitch), (width, height), kind)


@API(
    "hipError_t hipMemcpy2DFromArray(void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width, "
    "size_t height, int kind)",
    "hipError_t hipMemcpy2DFromArrayAsync(void *to, size_t pitch, const void *array, size_t x, size_t y, "
    "size_t width, size_t height, int kind, void *stream)",
)
@streamed(MEMCPY)
def copy_from_array(
    call: HostCall, to: int, pitch: int, array: int, x: int, y: int, width: int, height: int, kind: int,
    _stream: int = 0,
) -> None:  # fmt: skip
    source = _in_array(call, array, x, y, width, height)
    copy_rows(call, (to, pitch), (source.address, source.pitch), (width, height), kind)


@API("hipError_t hipMemcpyToArray(void *array, size_t x, size_t y, const void *source, size_t size, int kind)")
def copy_line_to_array(call: HostCall, array: int, x: int, y: int, source: int, size: int, kind: int) -> Any:
    return copy_to_array(call, array, x, y, source, size, size, 1, kind)


@API("hipError_t hipMemcpyFromArray(void *to, const void *array, size_t x, size_t y, size_t size, int kind)")
def copy_line_from_array(call: HostCall, to: int, array: int, x: int, y: int, size: int, kind: int) -> Any:
    return copy_from_array(call, to, size, array, x, y, size, 1, kind)


@API("hipError_t hipMemcpyHtoA(void *array, size_t x, const void *source, size_t size)")
def copy_host_to_array(call: HostCall, array: int, x: int, source: int, size: int) -> Any:
    return copy_to_array(call, array, x, 0, source, size, size, 1, BY_ADDRESS)


@API("hipError_t hipMemcpyAtoH(void *to, const void *array, size_t x, size_t size)")
def copy_array_to_host(call: HostCall, to: int, array: int, x: int, size: int) -> Any:
    return copy_from_array(call, to, size, array, x, 0, size, 1, BY_ADDRESS)
