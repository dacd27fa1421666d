"""Images and samplers as arguments, in the form that compilers/library/images.cl reads: a description, then the texels.

An image is ``@photo.png``, an array whose last axis may be the channels, or ``image(64x48, rgba, unorm8)``.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.execution.launch.png import SIGNATURE, png_bytes, read_png
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import KernelArgument

HEADER_SIZE = 64
MAX_BYTES = 1 << 30
ORDERS = {
    "r": (0x10B0, 1), "a": (0x10B1, 1), "rg": (0x10B2, 2), "ra": (0x10B3, 2), "rgb": (0x10B4, 3), "rgba": (0x10B5, 4),
    "bgra": (0x10B6, 4), "argb": (0x10B7, 4), "intensity": (0x10B8, 1), "luminance": (0x10B9, 1), "depth": (0x10BD, 1),
    "abgr": (0x10C3, 4),
}  # fmt: skip
"""The numbers of OpenCL for what the channels of an image are, and how many there are."""
USUAL_ORDERS = {1: "r", 2: "rg", 3: "rgb", 4: "rgba"}
TYPES = {
    "snorm8": (0x10D0, "i1"), "snorm16": (0x10D1, "i2"), "unorm8": (0x10D2, "u1"), "unorm16": (0x10D3, "u2"),
    "int8": (0x10D7, "i1"), "int16": (0x10D8, "i2"), "int32": (0x10D9, "i4"), "uint8": (0x10DA, "u1"),
    "uint16": (0x10DB, "u2"), "uint32": (0x10DC, "u4"), "half": (0x10DD, "f2"), "float": (0x10DE, "f4"),
}  # fmt: skip
"""The numbers of OpenCL for what a channel is, and its type in numpy. ``unorm8`` are the floats 0 to 1 in 8 bits."""
USUAL_TYPES = {
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "i1": "int8", "i2": "int16", "i4": "int32", "f2": "half",
    "f4": "float",
}  # fmt: skip
SAMPLER_WORDS = {
    "normalized": 1, "none": 0, "clamp_to_edge": 2, "clamp": 4, "repeat": 6, "mirrored_repeat": 8, "nearest": 0x10,
    "linear": 0x20,
}  # fmt: skip
FORM = "image(FILE.png, ...), image(FILE.npy, ...) or image(WIDTHxHEIGHT, ...), with an order and a type"
_CALL = re.compile(r"(image|sampler)\((.*)\)", re.DOTALL)
_SIZES = re.compile(r"\d{1,9}(?:x\d{1,9}){0,2}", re.ASCII)
_AXES = re.compile(r"image([123])d(_buffer|_array)?(_depth)?_t")


@frozen(eq=False)
class ImageArgument:
    """An image that has a place in memory as soon as its kernel is launched."""

    header: bytes
    """What the functions of the library read in front of the texels."""
    texels: Any
    """An array; the last axis are the channels if there are several."""
    order: str


@frozen
class ImageShape:
    """What the type of an argument says of its image."""

    axes: int
    """With that of the layers."""
    is_layered: bool
    is_depth: bool


def image_shape(type_name: str | None) -> ImageShape:
    """Return the shape of the image that a type is: ``image2d_array_t`` has three axes."""
    match = _AXES.match(type_name or "")
    axes = int(match[1]) + (match[2] == "_array") if match else 2
    return ImageShape(axes, bool(match and match[2] == "_array"), bool(match and match[3]))


def is_image_or_sampler(text: str) -> bool:
    """Return whether a text is written as an image or a sampler."""
    return _CALL.fullmatch(text) is not None


def read_argument(value: Any, argument: KernelArgument, what: str, read: Callable[[str], bytes]) -> Any:
    """Return the value of an argument that may be an image or a sampler; others as they are.

    ``what`` is the argument in messages, ``read`` reads a file.
    """
    if argument.value_kind == "sampler":
        return _sampler_flags(value, what)
    return _image(value, argument.type_name, what, read) if argument.value_kind == "image" else value


def _sampler_flags(value: Any, what: str) -> Any:
    call = _CALL.fullmatch(value.strip()) if isinstance(value, str) else None
    if call is None or call[1] != "sampler":
        return value
    flags = 0
    words = [word.strip() for word in call[2].split(",") if word.strip()]
    for word in words:
        if word not in SAMPLER_WORDS:
            hint = nearest_hint(word, SAMPLER_WORDS, f"its words are {', '.join(SAMPLER_WORDS)}")
            raise UsageError(f"{what}: a sampler is not {word[:40]!r}", hint=hint)
        flags |= SAMPLER_WORDS[word]
    if not {"nearest", "linear"} & {*words}:
        flags |= SAMPLER_WORDS["nearest"]
    return flags


def _image(value: Any, type_name: str | None, what: str, read: Callable[[str], bytes]) -> Any:
    shape = image_shape(type_name)
    order = kind = None
    is_picture = False
    if isinstance(value, str):
        text = value.strip()
        call = _CALL.fullmatch(text)
        words = [word.strip() for word in call[2].split(",")] if call and call[1] == "image" else [text[1:]]
        if not (call and call[1] == "image") and not text.startswith("@"):
            return value
        source = words[0].removeprefix("@")
        order, kind = _words(words[1:], what)
        if _SIZES.fullmatch(words[0]):
            order, kind = (
                order or ("depth" if shape.is_depth else "rgba"),
                kind or ("float" if shape.is_depth else "unorm8"),
            )
            value = _blank(words[0], shape.axes, order, kind, what)
        else:
            value, is_picture = _of_file(source, what, read)
    if getattr(value, "dtype", None) is None or not getattr(value, "shape", ()):
        return value
    texels, kind = _typed(value, kind, what, is_picture=is_picture)
    order = order or ("depth" if shape.is_depth else USUAL_ORDERS.get(_channels(texels, shape, what), ""))
    return ImageArgument(_header(texels, shape, order, kind, what), texels, order)


def _words(words: list[str], what: str) -> tuple[str | None, str | None]:
    order = kind = None
    for word in words:
        if word in ORDERS:
            order = word
        elif word in TYPES:
            kind = word
        else:
            known = (*ORDERS, *TYPES)
            hint = nearest_hint(word, known, f"its orders and types are {', '.join(known)}")
            raise UsageError(f"{what}: an image has no {word[:40]!r}", hint=hint)
    return order, kind


def _blank(text: str, axes: int, order: str, kind: str, what: str) -> Any:
    import numpy as np

    sizes = [int(word) for word in text.split("x")]
    if len(sizes) != axes:
        hint = f"write image({'x'.join(('WIDTH', 'HEIGHT', 'DEPTH')[:axes])}, ORDER, TYPE)"
        raise UsageError(f"{what} has {axes} extents, and {text} has {len(sizes)}", hint=hint)
    channels, code = ORDERS[order][1], TYPES[kind][1]
    size = math.prod((*sizes, channels, int(code[1:])))
    if not 0 < size <= MAX_BYTES:
        raise UsageError(f"{what}: an image of {text} has {size} bytes", hint=f"1 to {MAX_BYTES} bytes are possible")
    return np.zeros([*reversed(sizes), *([channels] if channels > 1 else [])], code)


def _of_file(path: str, what: str, read: Callable[[str], bytes]) -> tuple[Any, bool]:
    import numpy as np

    data = read(path)
    is_picture = data[:8] == SIGNATURE
    try:
        return (read_png(data) if is_picture else np.load(io.BytesIO(data), allow_pickle=False)), is_picture
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        why = error if is_picture or data[:6] == b"\x93NUMPY" else "it is neither a PNG file nor one of numpy"
        raise UsageError(f"{what}: {path} cannot be read: {why}", hint=f"write {FORM}") from None


def _typed(array: Any, kind: str | None, what: str, *, is_picture: bool) -> tuple[Any, str]:
    """Return an array with the type of its channels; pictures become floats where those are asked for."""
    import numpy as np

    code = f"{array.dtype.kind}{array.dtype.itemsize}"
    usual = f"unorm{8 * array.dtype.itemsize}" if is_picture else USUAL_TYPES.get(code)
    if usual is None:
        types = ", ".join(USUAL_TYPES.values())
        raise UsageError(f"{what}: the channels of an image are not {array.dtype.name}", hint=f"they are {types}")
    kind = kind or usual
    wanted = TYPES[kind][1]
    if is_picture and wanted[0] == "f":
        array, code = (array / np.float32(np.iinfo(array.dtype).max)).astype(wanted), wanted
    if code != wanted:
        raise UsageError(f"{what}: {kind} channels are not {array.dtype.name}", hint=f"write {usual}")
    return np.ascontiguousarray(array), kind


def _channels(texels: Any, shape: ImageShape, what: str) -> int:
    if texels.ndim not in (shape.axes, shape.axes + 1):
        names = ("depth or layers", "height or layers", "width")[3 - shape.axes :]
        message = f"{what} is an image of {shape.axes} axes, and the array has {texels.ndim}"
        raise UsageError(message, hint=f"they are {', '.join(names)}, and the channels if there are several")
    return texels.shape[-1] if texels.ndim > shape.axes else 1


def _header(texels: Any, shape: ImageShape, order: str, kind: str, what: str) -> bytes:
    """Return the description that functions read."""
    channels = _channels(texels, shape, what)
    if not order or ORDERS[order][1] != channels:
        raise UsageError(f"{what}: {channels} channels are not {order or 'those of an image'}")
    if not 0 < texels.nbytes <= MAX_BYTES:
        raise UsageError(f"{what}: an image of {texels.nbytes} bytes", hint=f"1 to {MAX_BYTES} bytes are possible")
    extents, layers = [*reversed(texels.shape[: shape.axes]), 1, 1][:3], 1
    if shape.is_layered:
        layers, extents[shape.axes - 1] = extents[shape.axes - 1], 1
    return struct.pack("<6I", *extents, layers, ORDERS[order][0], TYPES[kind][0]).ljust(HEADER_SIZE, b"\0")


def picture(texels: Any, order: str) -> bytes:
    """Return the PNG file of texels: numbers of 8 and 16 bits as they are, floats from 0 to 1 in 16 bits."""
    import numpy as np

    places = {"bgra": [2, 1, 0, 3], "argb": [1, 2, 3, 0], "abgr": [3, 2, 1, 0]}.get(order)
    if places is not None:
        texels = texels[..., places]
    if order == "rg":
        texels = np.concatenate((texels, np.zeros_like(texels[..., :1])), axis=-1)
    if texels.dtype.kind == "f":
        texels = np.rint(np.clip(np.nan_to_num(texels), 0, 1) * np.float64(65535)).astype(np.uint16)
    try:
        return png_bytes(texels)
    except ValueError as error:
        raise UsageError(str(error), hint="write --save NAME=FILE.npy") from None
