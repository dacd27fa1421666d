"""Arrays in ``.npy`` files, mapped and not read, so that only the pages in use are loaded.

The format is that of `numpy.lib.format`: magic, version, length of the header, and a header that is a Python
dictionary with ``descr``, ``fortran_order`` and ``shape``. A file is opened, checked and mapped without numpy, whose
import would take most of the time of opening a snapshot. A mapping is private: a change never reaches the
file.
"""

from __future__ import annotations

import mmap
import os
import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.backends.cells import Cells, byte_size, item_size
from dwarfgpu.errors import MalformedFile

if TYPE_CHECKING:
    from pathlib import Path

    from dwarfgpu.bits import Array

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000

_LENGTH = rb"(?:0|[1-9]\d{0,13})"
_USUAL = re.compile(
    rb"\{'descr': '([<>|=\w]{2,20})', 'fortran_order': (True|False), "
    rb"'shape': \((|%b,|%b(?:, %b)+)\), \}\s*" % (_LENGTH, _LENGTH, _LENGTH)
)
"""A header as numpy writes it. Any other is read as the dictionary of Python that it is, which takes `ast`."""
_KIND = re.compile(r"([<>|=])([ubiU])(\d{1,7})")


def open_array(path: str, kinds: tuple[str, ...], shape: tuple[int | None, ...], what: str) -> Cells:
    """Return the array in a file. It must be of one of some types and of a shape, in which None is any length.

    ``what`` names the key of the array, for messages.
    """
    name = os.path.basename(path)  # noqa: PTH119 (`pathlib` costs start-up time)
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            offset, kind, order, actual = _header(file.read(MAX_HEADER + 12), what, name)
            if not any(_is_kind(kind, wanted) for wanted in kinds):
                raise _bad(what, name, f"holds {kind[:20]}, and {' or '.join(kinds)} is needed")
            if order:
                raise _bad(what, name, "is in Fortran order, and C order is needed")
            if len(actual) != len(shape) or any(
                expected not in (None, has) for expected, has in zip(shape, actual, strict=True)
            ):
                wanted = "x".join("any" if expected is None else str(expected) for expected in shape)
                shown = "x".join(map(str, actual)) or "()"
                raise _bad(what, name, f"has the shape {shown}, and {wanted} is needed")
            needed, size = byte_size(kind, actual), os.fstat(file.fileno()).st_size - offset
            if size < needed:
                raise _bad(what, name, f"has {size} bytes of data, {needed} are needed")
            if not needed:
                return Cells(kind, actual)
            whole = memoryview(mmap.mmap(file.fileno(), offset + needed, access=mmap.ACCESS_COPY))
    except (OSError, ValueError) as error:
        raise _bad(what, name, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return Cells(kind, actual, whole[offset:])


def texts(cells: Cells) -> list[str] | None:
    """Return all elements of an array of text; None if it holds numbers that are no characters."""
    width = item_size(cells.kind) // 4
    try:
        text = str(cells.buffer, "utf-32-le", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return [text[start : start + width].rstrip("\0") for start in range(0, len(text), width)]


def write_array(path: Path, data: Array) -> None:
    """Write an array to a file that does not exist yet."""
    import numpy as np

    with path.open("xb") as file:
        np.lib.format.write_array(file, np.asarray(data), allow_pickle=False)


def _header(data: bytes, what: str, name: str) -> tuple[int, str, bool, tuple[int, ...]]:
    """Return the start of the data, its type, whether it is in Fortran order, and its shape."""
    if data[:6] != MAGIC or len(data) < 12:
        raise _bad(what, name, "is not a .npy file")
    if data[6] == 1:
        start, length = 10, int.from_bytes(data[8:10], "little")
    elif data[6] in (2, 3):
        start, length = 12, int.from_bytes(data[8:12], "little")
    else:
        raise _bad(what, name, f"is a .npy file of version {data[6]}")
    text = data[start : start + length]
    if length > MAX_HEADER or len(text) < length:
        raise _bad(what, name, "has a header that is cut off or too long")
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        lengths = tuple(int(size) for size in usual[3].split(b",") if size)
        return start + length, usual[1].decode(), usual[2] == b"True" and len(lengths) > 1, lengths
    import ast

    try:
        header = ast.literal_eval(text.decode().strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise _bad(what, name, "has a header that cannot be read") from None
    if not isinstance(header, dict) or sorted(map(str, header)) != ["descr", "fortran_order", "shape"]:
        raise _bad(what, name, "has a header without descr, fortran_order and shape")
    shape: Any = header.get("shape")
    kind, order = header.get("descr"), header.get("fortran_order")
    if not isinstance(kind, str) or not isinstance(order, bool) or not _is_shape(shape):
        raise _bad(what, name, "has a header whose fields are not a type, a flag and a shape")
    return start + length, kind, order and len(shape) > 1, shape


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple) and all(type(length) is int and 0 <= length < 1 << 48 for length in shape)


def _is_kind(kind: str, wanted: str) -> bool:
    """Return whether a type is of a kind; ``<U`` is text of any width, and a byte has no order."""
    match = _KIND.fullmatch(kind)
    if match is None:
        return False
    order, letter, width = match.groups()
    if wanted == "<U":
        return order == "<" and letter == "U" and int(width) > 0
    return f"{letter}{width}" == wanted[1:] and (width == "1" or order == wanted[0])


def _bad(what: str, name: str, why: str) -> MalformedFile:
    return MalformedFile("bad_snapshot", f"{what}: {name} {why}")
