"""Images and samplers: a description that the functions of the library read, and texels without gaps behind it."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from dwarfgpu.runtimes.opencl.buffers import (
    Triple,
    box_parts,
    check_flags,
    check_host_access,
    check_map,
    check_range,
    inherited_flags,
    map_memory,
    triple,
)
from dwarfgpu.runtimes.opencl.commands import enqueues, memory_of
from dwarfgpu.runtimes.opencl.contexts import MOST_DEEP, MOST_OF_BUFFER, MOST_WIDE, creates, properties_at
from dwarfgpu.runtimes.opencl.errors import ClError, refuse
from dwarfgpu.runtimes.opencl.info import answer, half_word, word
from dwarfgpu.runtimes.opencl.objects import (
    COPY_HOST,
    IMAGE_1D,
    IMAGE_1D_ARRAY,
    IMAGE_1D_BUFFER,
    IMAGE_2D,
    IMAGE_2D_ARRAY,
    IMAGE_3D,
    KERNEL_READ_WRITE,
    USE_HOST,
    ClContext,
    ClMapping,
    ClMemory,
    ClQueue,
    ClSampler,
    ClWork,
    ImageForm,
)
from dwarfgpu.runtimes.opencl.program import API

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.opencl.info import Answers
    from dwarfgpu.runtimes.opencl.program import OpenClProgram

HEADER = 64
"""The bytes of the description of an image, in front of its texels unless a buffer has them."""
READ, WRITE, COPY, TO_BUFFER, FROM_BUFFER, FILL = 0x11F6, 0x11F7, 0x11F8, 0x11F9, 0x11FA, 0x1208
"""The kinds of commands: ``CL_COMMAND_READ_IMAGE`` and others."""
_MOST_ROWS = 1 << 20
_CHANNELS = {0x10B0: 1, 0x10B1: 1, 0x10B2: 2, 0x10B3: 2, 0x10B5: 4, 0x10B6: 4, 0x10B7: 4, 0x10B8: 1, 0x10B9: 1}
"""CL_R, _A, _RG, _RA, _RGBA, _BGRA, _ARGB, _INTENSITY and _LUMINANCE: their channels."""
_BYTES = {
    0x10D0: 1, 0x10D1: 2, 0x10D2: 1, 0x10D3: 2, 0x10D7: 1, 0x10D8: 2, 0x10D9: 4, 0x10DA: 1, 0x10DB: 2, 0x10DC: 4,
    0x10DD: 2, 0x10DE: 4,
}  # fmt: skip
"""The types of channels, CL_SNORM_INT8 to CL_FLOAT: their bytes."""
_R, _A, _RG, _RGBA, _BGRA, _ARGB, _INTENSITY, _LUMINANCE = (
    0x10B0, 0x10B1, 0x10B2, 0x10B5, 0x10B6, 0x10B7, 0x10B8, 0x10B9,
)  # fmt: skip
_EIGHT_BITS = (0x10D0, 0x10D2, 0x10D7, 0x10DA)
_NORMALIZED = (0x10D0, 0x10D1, 0x10D2, 0x10D3, 0x10DD, 0x10DE)
_ORDERS = {
    order: tuple(_BYTES) for order in (_R, _A, _RG, _RGBA)
} | {_BGRA: _EIGHT_BITS, _ARGB: _EIGHT_BITS, _INTENSITY: _NORMALIZED, _LUMINANCE: _NORMALIZED}  # fmt: skip
"""The types that channels of an order can have (OpenCL API 3.0, Table 15)."""
_FORMATS = [(order, kind) for order, kinds in _ORDERS.items() for kind in kinds]
_SIGNED, _UNSIGNED = {0x10D7: "b", 0x10D8: "h", 0x10D9: "i"}, {0x10DA: "B", 0x10DB: "H", 0x10DC: "I"}
_SCALES = {0x10D0: ("b", 127), 0x10D1: ("h", 32767), 0x10D2: ("B", 255), 0x10D3: ("H", 65535)}
_FLOATS = {0x10DD: ("e", 65520), 0x10DE: ("f", math.inf)}
"""Their letters, and the least number that is rounded to infinity."""
_ADDRESSING = {0x1130: 0, 0x1131: 2, 0x1132: 4, 0x1133: 6, 0x1134: 8}
_NEAREST, _LINEAR = 0x1140, 0x1141
_NORMALIZED_KEY, _ADDRESSING_KEY, _FILTER_KEY = 0x1152, 0x1153, 0x1154
_DESCRIPTION = struct.Struct("<I4x6QIIQ")
"""``cl_image_desc``."""


# --- Creation ---------------------------------------------------------------------------------------------------------


@creates(
    "void *clCreateImage(void *context, uint64_t flags, const void *format, const void *description, void *host, "
    "int *error)"
)
async def create_image(call: HostCall, context: int, flags: int, form: int, description: int, host: int) -> ClMemory:
    order, kind = await _format(call, form)
    if not description:
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, "the description of the image is NULL")
    fields = _DESCRIPTION.unpack(await call.read(description, _DESCRIPTION.size))
    shape, width, height, depth, layers, row, slice_, levels, samples, source = fields
    if levels or samples:
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, "an image has neither levels nor samples")
    return await _image(
        call, context, flags, (order, kind), (shape, width, height, depth, layers), (row, slice_), host, source
    )


@creates(
    "void *clCreateImageWithProperties(void *context, const void *properties, uint64_t flags, const void *format, "
    "const void *description, void *host, int *error)"
)
async def create_image_with(
    call: HostCall, context: int, properties: int, flags: int, form: int, description: int, host: int
) -> ClMemory:
    if await properties_at(call, properties):
        refuse(ClError.INVALID_PROPERTY, "images have no properties here")
    made: ClMemory = await create_image(call, context, flags, form, description, host)
    made.properties = word(0) if properties else b""
    return made


@creates(
    "void *clCreateImage2D(void *context, uint64_t flags, const void *format, size_t width, size_t height, size_t row, "
    "void *host, int *error)"
)
async def create_plane(
    call: HostCall, context: int, flags: int, form: int, width: int, height: int, row: int, host: int
) -> ClMemory:
    shape = (IMAGE_2D, width, height, 0, 0)
    return await _image(call, context, flags, await _format(call, form), shape, (row, 0), host, 0)


@creates(
    "void *clCreateImage3D(void *context, uint64_t flags, const void *format, size_t width, size_t height, "
    "size_t depth, size_t row, size_t slice, void *host, int *error)"
)
async def create_block(
    call: HostCall, context: int, flags: int, form: int, width: int, height: int, depth: int, row: int, slice_: int,
    host: int,
) -> ClMemory:  # fmt: skip
    shape = (IMAGE_3D, width, height, depth, 0)
    return await _image(call, context, flags, await _format(call, form), shape, (row, slice_), host, 0)


async def _format(call: HostCall, pointer: int) -> tuple[int, int]:
    if not pointer:
        refuse(ClError.INVALID_IMAGE_FORMAT_DESCRIPTOR, "the format of the image is NULL")
    order, kind = struct.unpack("<II", await call.read(pointer, 8))
    if order not in _CHANNELS or kind not in _BYTES:
        refuse(ClError.IMAGE_FORMAT_NOT_SUPPORTED, f"there are no images of order {order:#x} and type {kind:#x}")
    if kind not in _ORDERS.get(order, ()):
        refuse(ClError.INVALID_IMAGE_FORMAT_DESCRIPTOR, f"the order {order:#x} excludes the type {kind:#x}")
    return order, kind


async def _image(
    call: HostCall,
    context: int,
    flags: int,
    of_texels: tuple[int, int],
    shape: tuple[int, int, int, int, int],
    pitches: tuple[int, int],
    host: int,
    source: int,
) -> ClMemory:
    """Create an image; ``source`` is the buffer that an image is made from."""
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    parent = program.find(call, source, ClMemory) if source else None
    form = _form(of_texels, shape, pitches, has_host=bool(host), has_buffer=parent is not None)
    if parent is None if form.kind == IMAGE_1D_BUFFER else parent is not None and form.kind != IMAGE_2D:
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, "an image of a buffer needs one, and others have none")
    if parent is not None:
        if parent.image is not None or form.size > parent.size:
            message = f"{program.named(parent)} does not hold {form.height} rows of {form.row} bytes"
            refuse(ClError.INVALID_IMAGE_DESCRIPTOR, message)
        flags, host = inherited_flags(call, parent, flags), parent.host
        parent.uses += 1
    else:
        flags = check_flags(flags, host)
    description = program.allocate(call, HEADER + (form.size if parent is None else 0), 0)
    address = description + HEADER if parent is None else parent.address
    away = address - description - HEADER
    extents = form.width, form.height, form.depth, form.layers
    header = struct.pack("<6IqI", *extents, form.order, form.type, away, form.gap)
    program.device.write(description, header.ljust(HEADER, b"\0"))
    made = ClMemory(
        origin=call, context=owner, flags=flags, size=form.size, host=host, address=address, description=description,
        image=form, kind=form.kind, parent=parent, is_shared=parent is not None and parent.is_shared,
    )  # fmt: skip
    if parent is None and flags & (USE_HOST | COPY_HOST):
        _transfer(call, made, (0, 0, 0), form.extents, host, (form.host_row, form.host_slice), is_read=False)
        await program.begin_use(call, made)
    return program.keep(call, made)


def _form(
    of_texels: tuple[int, int],
    shape: tuple[int, int, int, int, int],
    pitches: tuple[int, int],
    *,
    has_host: bool,
    has_buffer: bool,
) -> ImageForm:
    """Return what an image is; refuse extents and pitches that it cannot have."""
    (order, type_), (kind, width, height, depth, layers), (row, slice_) = of_texels, shape, pitches
    if kind not in (IMAGE_1D, IMAGE_1D_ARRAY, IMAGE_1D_BUFFER, IMAGE_2D, IMAGE_2D_ARRAY, IMAGE_3D):
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, f"{kind:#x} is no type of an image")
    height = height if kind in (IMAGE_2D, IMAGE_2D_ARRAY, IMAGE_3D) else 1
    depth = depth if kind == IMAGE_3D else 1
    layers = layers if kind in (IMAGE_1D_ARRAY, IMAGE_2D_ARRAY) else 1
    if not all((width, height, depth, layers)):
        refuse(ClError.INVALID_IMAGE_SIZE, f"an extent of the image is 0: {width}x{height}x{depth}, {layers} layers")
    most = MOST_DEEP if kind == IMAGE_3D else MOST_OF_BUFFER if kind == IMAGE_1D_BUFFER else MOST_WIDE
    if max(width, height) > most or max(depth, layers) > MOST_DEEP:
        refuse(ClError.INVALID_IMAGE_SIZE, f"the image is too large: {width}x{height}x{depth}, {layers} layers")
    texel = _CHANNELS[order] * _BYTES[type_]
    if (row or slice_) and not has_host and not (has_buffer and kind == IMAGE_2D):
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, "pitches are given, and no memory of the host")
    if row and (row < texel * width or row % texel):
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, f"rows of {row} bytes do not hold {width} texels of {texel}")
    host_row = row or texel * width
    host_slice = slice_ or host_row * height
    if slice_ and (slice_ < host_row * height or slice_ % host_row):
        refuse(ClError.INVALID_IMAGE_DESCRIPTOR, f"slices of {slice_} bytes do not hold {height} rows of {host_row}")
    gap = host_row - texel * width if has_buffer else 0
    return ImageForm(kind, order, type_, width, height, depth, layers, texel, host_row, host_slice, gap)


@API(
    "int clGetSupportedImageFormats(void *context, uint64_t flags, unsigned kind, unsigned room, void *formats, "
    "unsigned *count)"
)
def formats(call: HostCall, context: int, flags: int, kind: int, room: int, pointer: int, count: int) -> None:
    call.process.find(call, context, ClContext)
    check_flags(flags & ~(USE_HOST | COPY_HOST | KERNEL_READ_WRITE), 0)
    if kind not in range(0x10F1, 0x10F7) or (pointer and not room):
        refuse(ClError.INVALID_VALUE, f"{kind:#x} is no type of an image, or there is no room")
    if pointer:
        call.write(pointer, b"".join(half_word(*pair) for pair in _FORMATS[:room]))
    if count:
        call.write_number(count, len(_FORMATS), 4)


@API("int clGetImageInfo(void *image, unsigned wanted, size_t size, void *value, size_t *needed)")
def image_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    memory = call.process.find(call, handle, ClMemory)
    form = _form_of(call, memory)
    has_slices = form.kind in (IMAGE_3D, IMAGE_2D_ARRAY, IMAGE_1D_ARRAY)
    answers: Answers = {
        0x1110: half_word(form.order, form.type),
        0x1111: word(form.texel),
        0x1112: word(form.host_row),
        0x1113: word(form.host_slice if has_slices else 0),
        0x1114: word(form.width),
        0x1115: word(form.height if form.kind in (IMAGE_2D, IMAGE_2D_ARRAY, IMAGE_3D) else 0),
        0x1116: word(form.depth if form.kind == IMAGE_3D else 0),
        0x1117: word(form.layers if form.kind in (IMAGE_1D_ARRAY, IMAGE_2D_ARRAY) else 0),
        0x1118: word(0 if memory.parent is None else memory.parent.handle),
        0x1119: half_word(0),
        0x111A: half_word(0),
    }
    answer(call, answers, wanted, size, value, needed)


def _form_of(call: HostCall, memory: ClMemory) -> ImageForm:
    if memory.image is None:
        refuse(ClError.INVALID_MEM_OBJECT, f"{call.process.named(memory)} is no image")
    return memory.image


# --- Copies -----------------------------------------------------------------------------------------------------------


def _box(memory: ClMemory, origin: Triple, region: Triple) -> tuple[Triple, Triple]:
    """Return the size of a region in bytes, and its place."""
    form = memory.image
    assert form is not None  # noqa: S101 (the caller knows)
    start = origin[2] * form.slice + origin[1] * form.row + origin[0] * form.texel
    return (region[0] * form.texel, *region[1:]), (memory.address + start, form.row, form.slice)


def _transfer(
    call: HostCall,
    memory: ClMemory,
    origin: Triple,
    region: Triple,
    pointer: int,
    pitches: tuple[int, int],
    *,
    is_read: bool,
) -> None:
    """Copy a region between an image and memory of the host, which has pitches of its own; 0 means no gaps."""
    box, place = _box(memory, origin, region)
    row = pitches[0] or box[0]
    slice_ = pitches[1] or row * region[1]
    if memory.kind == IMAGE_1D_ARRAY:
        row, slice_ = pitches[1] or row, 0
    for address, there, size in box_parts(box, place, (pointer, row, slice_)):
        to, source = (there, address) if is_read else (address, there)
        call.process.copy(call, to, source, size)


async def _region(call: HostCall, memory: ClMemory, origin: int, region: int) -> tuple[Triple, Triple]:
    """Return the origin and the size of a region, which the image must have."""
    start, sizes = await triple(call, origin), await triple(call, region)
    form = _form_of(call, memory)
    ends = [first + size for first, size in zip(start, sizes, strict=True)]
    if not all(sizes) or any(end > whole for end, whole in zip(ends, form.extents, strict=True)):
        message = f"the region {sizes} at {start} is not in {call.process.named(memory)}, which has {form.extents}"
        refuse(ClError.INVALID_VALUE, message)
    if sizes[1] * sizes[2] > _MOST_ROWS:
        refuse(ClError.OUT_OF_RESOURCES, f"{sizes[1] * sizes[2]} rows are too many")
    return start, sizes


def _transfers(kind: int, name: str, *, is_read: bool) -> None:
    @enqueues(
        kind, f"int {name}(void *queue, void *image, unsigned is_blocking, const void *origin, const void *region, "
        "size_t row, size_t slice, void *pointer, unsigned count, const void *waits, void **event)",
    )  # fmt: skip
    async def transfer(
        call: HostCall, queue: ClQueue, handle: int, is_blocking: int, origin: int, region: int, row: int, slice_: int,
        pointer: int,
    ) -> ClWork:  # fmt: skip
        memory = memory_of(call, queue, handle)
        start, sizes = await _region(call, memory, origin, region)
        check_host_access(call, memory, is_read=is_read)
        size = sizes[0] * _form_of(call, memory).texel
        if not pointer or (row and row < size) or (slice_ and slice_ < (row or size)):
            refuse(ClError.INVALID_VALUE, f"rows of {row} bytes and slices of {slice_} do not hold the region {sizes}")

        def run(by: HostCall) -> None:
            _transfer(by, memory, start, sizes, pointer, (row, slice_), is_read=is_read)

        return ClWork(run, (memory,), writes=None if is_read else memory, is_blocking=bool(is_blocking))


_transfers(READ, "clEnqueueReadImage", is_read=True)
_transfers(WRITE, "clEnqueueWriteImage", is_read=False)


@enqueues(
    COPY, "int clEnqueueCopyImage(void *queue, void *source, void *target, const void *source_origin, "
    "const void *origin, const void *region, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def copy_image(
    call: HostCall, queue: ClQueue, source: int, target: int, source_origin: int, origin: int, region: int
) -> ClWork:
    first, second = memory_of(call, queue, source), memory_of(call, queue, target)
    start, sizes = await _region(call, first, source_origin, region)
    to, _sizes = await _region(call, second, origin, region)
    form, other = _form_of(call, first), _form_of(call, second)
    if (form.order, form.type) != (other.order, other.type):
        refuse(ClError.IMAGE_FORMAT_MISMATCH, "the formats of the images differ")
    if first is second and all(abs(a - b) < size for a, b, size in zip(start, to, sizes, strict=True)):
        refuse(ClError.MEM_COPY_OVERLAP, "the source and the destination overlap")

    def run(by: HostCall) -> None:
        box, place = _box(first, start, sizes)
        for address, there, size in box_parts(box, place, _box(second, to, sizes)[1]):
            by.process.move(by, there, address, size)

    return ClWork(run, (first, second), writes=second)


@enqueues(
    TO_BUFFER, "int clEnqueueCopyImageToBuffer(void *queue, void *image, void *buffer, const void *origin, "
    "const void *region, size_t offset, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def copy_to_buffer(
    call: HostCall, queue: ClQueue, image: int, buffer: int, origin: int, region: int, offset: int
) -> ClWork:
    return await _between(call, queue, image, buffer, origin, region, offset, is_to_image=False)


@enqueues(
    FROM_BUFFER, "int clEnqueueCopyBufferToImage(void *queue, void *buffer, void *image, size_t offset, "
    "const void *origin, const void *region, unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def copy_from_buffer(
    call: HostCall, queue: ClQueue, buffer: int, image: int, offset: int, origin: int, region: int
) -> ClWork:
    return await _between(call, queue, image, buffer, origin, region, offset, is_to_image=True)


async def _between(
    call: HostCall, queue: ClQueue, image: int, buffer: int, origin: int, region: int, offset: int, *, is_to_image: bool
) -> ClWork:
    memory, other = memory_of(call, queue, image), memory_of(call, queue, buffer)
    start, sizes = await _region(call, memory, origin, region)
    box, place = _box(memory, start, sizes)
    check_range(call, other, offset, math.prod(box))

    def run(by: HostCall) -> None:
        for address, there, size in box_parts(box, place, (other.address + offset, box[0], box[0] * box[1])):
            to, source = (address, there) if is_to_image else (there, address)
            by.process.move(by, to, source, size)

    return ClWork(run, (memory, other), writes=memory if is_to_image else other)


@enqueues(
    FILL, "int clEnqueueFillImage(void *queue, void *image, const void *color, const void *origin, const void *region, "
    "unsigned count, const void *waits, void **event)",
)  # fmt: skip
async def fill_image(call: HostCall, queue: ClQueue, handle: int, color: int, origin: int, region: int) -> ClWork:
    memory = memory_of(call, queue, handle)
    start, sizes = await _region(call, memory, origin, region)
    if not color:
        refuse(ClError.INVALID_VALUE, "the color is NULL")
    texel = _texel(_form_of(call, memory), await call.read(color, 16))

    def run(by: HostCall) -> None:
        box, place = _box(memory, start, sizes)
        for address, _same, size in box_parts(box, place, place):
            by.process.fill(by, address, texel, size // len(texel))

    return ClWork(run, (memory,), writes=memory)


def _texel(form: ImageForm, color: bytes) -> bytes:
    """Return a color of four channels as a texel; integers and floats by the type of the channels."""
    if form.type in _SIGNED or form.type in _UNSIGNED:
        code = _SIGNED.get(form.type) or _UNSIGNED[form.type]
        size = 8 * struct.calcsize(code)
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if form.type in _SIGNED else (0, (1 << size) - 1)
        given = struct.unpack("<4i" if form.type in _SIGNED else "<4I", color)
        channels = [struct.pack(f"<{code}", max(low, min(high, each))) for each in given]
    else:
        floats = struct.unpack("<4f", color)
        if form.type in _FLOATS:
            code, infinite = _FLOATS[form.type]
            numbers = [math.copysign(math.inf, each) if abs(each) >= infinite else each for each in floats]
            channels = [struct.pack(f"<{code}", each) for each in numbers]
        else:
            code, scale = _SCALES[form.type]
            least = -1.0 if code in "bh" else 0.0
            inside = [0.0 if math.isnan(each) else max(least, min(1.0, each)) for each in floats]
            scaled = struct.unpack("<4f", struct.pack("<4f", *(each * scale for each in inside)))
            channels = [struct.pack(f"<{code}", round(each)) for each in scaled]
    order = {_A: (3,), _BGRA: (2, 1, 0, 3), _ARGB: (3, 0, 1, 2)}.get(form.order, range(_CHANNELS[form.order]))
    return b"".join(channels[each] for each in order)


@creates(
    "void *clEnqueueMapImage(void *queue, void *image, unsigned is_blocking, uint64_t flags, const void *origin, "
    "const void *region, size_t *row, size_t *slice, unsigned count, const void *waits, void **event, int *error)"
)
async def map_image(
    call: HostCall, queue: int, handle: int, is_blocking: int, flags: int, origin: int, region: int, row: int,
    slice_: int, count: int, waits: int, event: int,
) -> int:  # fmt: skip
    program: OpenClProgram = call.process
    memory = program.find(call, handle, ClMemory)
    start, sizes = await _region(call, memory, origin, region)
    form = _form_of(call, memory)
    if not row or (not slice_ and form.kind in (IMAGE_3D, IMAGE_2D_ARRAY, IMAGE_1D_ARRAY)):
        refuse(ClError.INVALID_VALUE, "there is no room for a pitch of the map")
    pitches = (form.host_row, form.host_slice) if memory.uses_host else (form.row, form.slice)

    def make(on: ClQueue) -> tuple[ClMemory, int, ClMapping]:
        memory_of(call, on, handle)
        check_map(call, memory, flags)
        base = memory.host if memory.uses_host else memory.address
        second = start[1] * (pitches[1] if form.kind == IMAGE_1D_ARRAY else pitches[0])
        pointer = base + start[2] * pitches[1] + second + start[0] * form.texel

        def fetch(by: HostCall) -> None:
            if memory.uses_host:
                _transfer(by, memory, start, sizes, pointer, pitches, is_read=True)

        def store(by: HostCall) -> None:
            if memory.uses_host:
                _transfer(by, memory, start, sizes, pointer, pitches, is_read=False)
            else:
                program.device.define(memory.address, memory.size)

        return memory, pointer, ClMapping(flags, fetch, store, call)

    pointer = await map_memory(call, queue, make, is_blocking, count, waits, event)
    call.write_number(row, pitches[0])
    if slice_:
        has_slices = form.kind in (IMAGE_3D, IMAGE_2D_ARRAY, IMAGE_1D_ARRAY)
        call.write_number(slice_, pitches[1] if has_slices else 0)
    return pointer


# --- Samplers ---------------------------------------------------------------------------------------------------------


@creates(
    "void *clCreateSampler(void *context, unsigned is_normalized, unsigned addressing, unsigned filter, int *error)"
)
def create_sampler(call: HostCall, context: int, is_normalized: int, addressing: int, filter_: int) -> ClSampler:
    return _sampler(call, context, (is_normalized, addressing, filter_), b"")


@creates("void *clCreateSamplerWithProperties(void *context, const void *properties, int *error)")
async def create_sampler_with(call: HostCall, context: int, properties: int) -> ClSampler:
    words = await properties_at(call, properties)
    given = {_NORMALIZED_KEY: 1, _ADDRESSING_KEY: 0x1132, _FILTER_KEY: _NEAREST}
    keys = words[::2]
    if len({*keys}) < len(keys) or not {*keys} <= {*given}:
        refuse(ClError.INVALID_VALUE, "a property of the sampler is unknown, or given twice")
    given |= dict(zip(keys, words[1::2], strict=True))
    return _sampler(call, context, (*given.values(),), word(*words, 0) if properties else b"")


def _sampler(call: HostCall, context: int, given: tuple[int, ...], properties: bytes) -> ClSampler:
    program: OpenClProgram = call.process
    owner = program.find(call, context, ClContext)
    is_normalized, addressing, filter_ = given
    if addressing not in _ADDRESSING or filter_ not in (_NEAREST, _LINEAR) or is_normalized > 1:
        refuse(ClError.INVALID_VALUE, f"there are no samplers of {is_normalized}, {addressing:#x} and {filter_:#x}")
    made = ClSampler(
        origin=call, context=owner, is_normalized=bool(is_normalized), addressing=addressing, filter=filter_,
        properties=properties,
    )  # fmt: skip
    return program.keep(call, made)


def flags_of(sampler: ClSampler) -> int:
    """Return a sampler as kernels have it."""
    how = 0x20 if sampler.filter == _LINEAR else 0x10
    return int(sampler.is_normalized) | _ADDRESSING[sampler.addressing] | how


@API("int clGetSamplerInfo(void *sampler, unsigned wanted, size_t size, void *value, size_t *needed)")
def sampler_info(call: HostCall, handle: int, wanted: int, size: int, value: int, needed: int) -> None:
    sampler = call.process.find(call, handle, ClSampler)
    answers: Answers = {
        0x1150: half_word(sampler.references),
        0x1151: word(sampler.context.handle),
        0x1152: half_word(sampler.is_normalized),
        0x1153: half_word(sampler.addressing),
        0x1154: half_word(sampler.filter),
        0x1158: sampler.properties,
    }
    answer(call, answers, wanted, size, value, needed)
