"""Textures and surfaces: objects are descriptions in memory of the device, which functions of hip_textures.h read."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.immutable import define
from dwarfgpu.runtimes.arena import MANAGED
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.boxes import FLOAT, HipArray, is_format
from dwarfgpu.runtimes.hip.program import API, DeviceVariable, refuse

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.hip.program import HipProgram

_SIZE = 64
"""The bytes of ``hipResourceDesc``, and of ``hipTextureDesc``."""
_ARRAY, _MIPMAP, _LINEAR, _PITCH = range(4)
"""``hipResourceType``."""
_TEXTURE = struct.Struct("<5ii4fiIi3f")
"""``hipTextureDesc``: addressMode, filterMode, readMode, sRGB, borderColor, normalizedCoords, maxAnisotropy, mipmaps."""
_REFERENCE = struct.Struct("<6i20xi24xQ8x")
"""``textureReference``: normalized, readMode, filterMode, addressMode, sRGB, textureObject."""
_BOUND = 72
"""Where the object of a reference is."""
_WHOLE = (1 << 32) - 1
"""The size of memory that is bound to its end."""
_DESCRIPTION = struct.Struct("<QQ13I4f4x")
"""``dg_texture``."""
_MOST_EXTENT = 1 << 31


@define(eq=False)
class HipTexture:
    """A texture object, as it was made."""

    resource: bytes
    texture: bytes
    is_surface: bool = False


@define(eq=False)
class TextureReference(DeviceVariable):
    """A variable of both sides, each of which has the texture object that is bound to it."""


@define(eq=False)
class _Image:
    """What an object shows: an array, or memory of the device."""

    address: int
    pitch: int
    slice: int
    extent: tuple[int, int, int]
    bits: tuple[int, ...]
    kind: int


def _image(call: HostCall, resource: bytes) -> _Image:
    program: HipProgram = call.process
    (kind,) = struct.unpack_from("<i", resource)
    (pointer,) = struct.unpack_from("<Q", resource, 8)
    if kind == _ARRAY:
        array = program.find(pointer, HipArray)
        extent = array.extent[0], array.rows, max(1, array.extent[2])
        return _Image(array.address, array.pitch, array.pitch * array.rows, extent, array.bits, array.kind)
    if kind == _MIPMAP:
        program.problem("not-supported", "textures of mipmapped arrays are not supported", call)
        refuse(errors.NOT_SUPPORTED)
    *bits, form = struct.unpack_from("<5i", resource, 16)
    if kind not in (_LINEAR, _PITCH) or not is_format(bits, form):
        refuse(errors.INVALID_VALUE)
    size, height, pitch = struct.unpack_from("<3Q", resource, 40)
    element = sum(bits) // 8
    if kind == _LINEAR:
        width, height, pitch = size // element, 1, size
    else:
        width, size = size, pitch * max(0, height - 1) + size * element
    is_right = 0 < width < _MOST_EXTENT and 0 < height < _MOST_EXTENT and width * element <= pitch < 1 << 32
    if not is_right or program.device.buffer(pointer, size, "the memory of a texture", call) is None:
        refuse(errors.INVALID_VALUE)
    return _Image(pointer, pitch, pitch * height, (width, height, 1), tuple(bits), form)


def _described(call: HostCall, image: _Image, *sampled: float) -> int:
    """Put a description into memory; return its address, which is the object."""
    program: HipProgram = call.process
    channels = sum(each > 0 for each in image.bits)
    head = image.address, image.slice, image.pitch, *image.extent, channels, image.bits[0], image.kind
    content = _DESCRIPTION.pack(*head, *sampled)
    address = program.device.malloc(len(content), MANAGED)  # as what the host has written
    if not address:
        refuse(errors.OUT_OF_MEMORY)
    program.device.arena.view(address, len(content))[:] = content
    return address


def _made(call: HostCall, resource: bytes, texture: bytes) -> int:
    """Make a texture object; return its address."""
    made = HipTexture(resource, texture)
    *modes, filtered, read, gamma, red, green, blue, alpha, normalized, _most, _mip, _bias, _low, _high = (
        _TEXTURE.unpack(made.texture)
    )
    image = _image(call, made.resource)
    is_integer = image.kind != FLOAT and not read
    is_right = all(0 <= mode < 4 for mode in modes) and filtered in (0, 1) and read in (0, 1)
    if not is_right or (filtered and is_integer) or (read and image.bits[0] == 32 and image.kind != FLOAT):
        refuse(errors.INVALID_VALUE)
    if gamma:
        call.process.problem("not-supported", "a texture that is sRGB is not supported", call)
        refuse(errors.NOT_SUPPORTED)
    border = red, green, blue, alpha
    object_ = _described(call, image, *modes, filtered, int(bool(normalized)), read, *border)
    call.process.objects[object_] = made
    return object_


@API("hipError_t hipCreateTextureObject(void **object, const void *resource, const void *texture, const void *view)")
async def create_texture(call: HostCall, pointer: int, resource: int, texture: int, view: int) -> None:
    if not (pointer and resource and texture):
        refuse(errors.INVALID_VALUE)
    if view and await call.number_at(view, 4):
        call.process.problem("not-supported", "a texture with another format than its array is not supported", call)
        refuse(errors.NOT_SUPPORTED)
    call.write_number(pointer, _made(call, await call.read(resource, _SIZE), await call.read(texture, _SIZE)))


@API(
    "hipError_t hipCreateSurfaceObject(void **object, const void *resource)",
    # as the headers of HIP 5 declare it
    "hipError_t _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(void **object, const void *resource)",
)
async def create_surface(call: HostCall, pointer: int, resource: int) -> None:
    if not pointer or not resource:
        refuse(errors.INVALID_VALUE)
    made = HipTexture(await call.read(resource, _SIZE), b"", is_surface=True)
    if made.resource[0] != _ARRAY:
        refuse(errors.INVALID_VALUE)
    object_ = _described(call, _image(call, made.resource), *[0] * 6, *[0.0] * 4)
    call.process.objects[object_] = made
    call.write_number(pointer, object_)


def _destroy(call: HostCall, object_: int, *, is_surface: bool) -> None:
    program: HipProgram = call.process
    if not object_:
        return
    if program.find(object_, HipTexture).is_surface != is_surface:
        refuse(errors.INVALID_VALUE)
    del program.objects[object_]
    program.device.free(object_, call)


@API("hipError_t hipDestroyTextureObject(void *object)")
def destroy_texture(call: HostCall, object_: int) -> None:
    _destroy(call, object_, is_surface=False)


@API(
    "hipError_t hipDestroySurfaceObject(void *object)",
    "hipError_t _Z23hipDestroySurfaceObjectP13__hip_surface(void *object)",
)
def destroy_surface(call: HostCall, object_: int) -> None:
    _destroy(call, object_, is_surface=True)


@API("hipError_t hipGetTextureObjectResourceDesc(void *resource, void *object)")
def resource_of_texture(call: HostCall, resource: int, object_: int) -> None:
    found = call.process.find(object_, HipTexture)
    if not resource:
        refuse(errors.INVALID_VALUE)
    call.write(resource, found.resource)


@API("hipError_t hipGetTextureObjectTextureDesc(void *texture, void *object)")
def texture_of_texture(call: HostCall, texture: int, object_: int) -> None:
    found = call.process.find(object_, HipTexture)
    if not texture or found.is_surface:
        refuse(errors.INVALID_VALUE)
    call.write(texture, found.texture)


# --- References -------------------------------------------------------------------------------------------------------


@API(
    "void __hipRegisterTexture(void **binary, void *reference, char *host_name, const char *name, int kind, "
    "int is_normalized, int is_external)"
)
async def register_reference(call: HostCall, binary: int, reference: int, _host: int, name: int, *_more: int) -> None:
    known = TextureReference(call.process.binary(binary), await call.text(name), _REFERENCE.size)
    call.process.variables[reference] = known


async def _bind(call: HostCall, reference: int, resource: bytes | None) -> None:
    """Give both sides of a reference a new object, which samples as the reference says; without one, unbind it."""
    program: HipProgram = call.process
    symbol = program.symbol(reference)
    if symbol is None or not isinstance(program.variables[reference], TextureReference):
        refuse(errors.INVALID_SYMBOL)
    content = await call.read(reference, _REFERENCE.size)
    normalized, read, filtered, *modes, gamma, bound = _REFERENCE.unpack(content)
    if isinstance(program.objects.get(bound), HipTexture):
        _destroy(call, bound, is_surface=False)
    texture = _TEXTURE.pack(*modes, filtered, read, gamma, *[0.0] * 4, normalized, 0, 0, *[0.0] * 3)
    object_ = _made(call, resource, texture) if resource else 0
    call.write_number(reference + _BOUND, object_)
    program.device.arena.view(symbol[0] + _BOUND, 8)[:] = object_.to_bytes(8, "little")


@API(
    "hipError_t hipBindTexture(size_t *offset, const void *reference, const void *memory, const void *channels, "
    "size_t size)"
)
async def bind(call: HostCall, offset: int, reference: int, memory: int, channels: int, size: int) -> None:
    buffer = call.process.device.memory_at(memory)
    if not channels:
        refuse(errors.INVALID_VALUE)
    if size == _WHOLE and buffer is not None:
        size = buffer.address + buffer.size - memory
    if offset:
        call.write_number(offset, 0)
    resource = struct.pack("<iiQ20s4xQ", _LINEAR, 0, memory, await call.read(channels, 20), size)
    await _bind(call, reference, resource.ljust(_SIZE, b"\0"))


@API(
    "hipError_t hipBindTexture2D(size_t *offset, const void *reference, const void *memory, const void *channels, "
    "size_t width, size_t height, size_t pitch)"
)
async def bind_rows(
    call: HostCall, offset: int, reference: int, memory: int, channels: int, width: int, height: int, pitch: int
) -> None:
    if not channels:
        refuse(errors.INVALID_VALUE)
    if offset:
        call.write_number(offset, 0)
    format_ = await call.read(channels, 20)
    await _bind(call, reference, struct.pack("<iiQ20s4x3Q", _PITCH, 0, memory, format_, width, height, pitch))


@API("hipError_t hipBindTextureToArray(const void *reference, const void *array, const void *channels)")
async def bind_array(call: HostCall, reference: int, array: int, _channels: int) -> None:
    await _bind(call, reference, struct.pack("<iiQ48x", _ARRAY, 0, array))


@API("hipError_t hipUnbindTexture(const void *reference)")
async def unbind(call: HostCall, reference: int) -> None:
    await _bind(call, reference, None)


@API("hipError_t hipGetTextureAlignmentOffset(size_t *offset, const void *reference)")
def offset_of_reference(call: HostCall, offset: int, reference: int) -> None:
    """Memory is bound where it is, so that nothing has to be added."""
    if not offset or not reference:
        refuse(errors.INVALID_VALUE)
    call.write_number(offset, 0)


@API("hipError_t hipGetTextureReference(const void **pointer, const void *symbol)")
def reference_of(call: HostCall, pointer: int, symbol: int) -> None:
    if not pointer or not isinstance(call.process.variables.get(symbol), TextureReference):
        refuse(errors.INVALID_SYMBOL)
    call.write_number(pointer, symbol)
