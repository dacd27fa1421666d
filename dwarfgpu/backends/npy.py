"""Arrays in ``.npy`` files, mapped and not read: the pages that are used are all that is loaded.

The format is that of `numpy.lib.format`: magic, version, length of the header, and a header that is a Python
dictionary with ``descr``, ``fortran_order`` and ``shape``. A file is opened and checked without numpy, whose import
would take most of the time of opening a snapshot. A mapping is private: a change stays in memory and never meets the
file.
"""

from __future__ import annotations

import array
import ast
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.records import record

if TYPE_CHECKING:
    from dwarfgpu.bits import Array

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000

_KIND = re.compile(r"([<>|=])([ubiU])(\d{1,7})")


@record
class ArrayFile:
    """An array that is in a file, and was found to be whole."""

    path: Path
    kind: str
    """The type of its elements, as numpy writes it."""
    shape: tuple[int, ...]
    offset: int
    """Where its data begins."""
    what: str
    """The key that asks for it, for messages."""

    @property
    def byte_size(self) -> int:
        size = _element_size(self.kind)
        for length in self.shape:
            size *= length
        return size

    def map(self) -> Array:
        """The array, mapped."""
        import numpy as np

        if self.byte_size == 0:
            return np.zeros(self.shape, dtype=self.kind)
        try:
            mapped = np.memmap(self.path, dtype=self.kind, mode="c", offset=self.offset, shape=self.shape)
        except (OSError, ValueError) as error:  # it has changed since it was opened
            raise _bad(self.what, self.path.name, f"cannot be mapped: {error}") from None
        return mapped.view(np.ndarray)

    def numbers(self) -> array.array[int]:
        """All elements of an array of 64-bit numbers."""
        found = array.array("Q" if "u" in self.kind else "q")
        found.frombytes(self._data())
        if sys.byteorder == "big":
            found.byteswap()
        return found

    def texts(self) -> list[str]:
        """All elements of an array of text."""
        width = _element_size(self.kind)
        data = self._data()
        try:
            return [
                data[start : start + width].decode("utf-32-le", "surrogatepass").rstrip("\0")
                for start in range(0, len(data), width)
            ]
        except UnicodeDecodeError:
            raise _bad(self.what, self.path.name, "holds numbers that are no characters") from None

    def _data(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                return file.read(self.byte_size)
        except OSError as error:
            raise _bad(self.what, self.path.name, f"cannot be read: {error.strerror or error}") from None


def open_array(path: Path, kinds: tuple[str, ...], shape: tuple[int | None, ...], what: str) -> ArrayFile:
    """The array in a file. It must be of one of some types and of a shape, in which None is any length.

    ``what`` names the key that asks for the array, for messages.
    """
    try:
        with path.open("rb") as file:
            offset, kind, order, found = _header(file.read(MAX_HEADER + 12), what, path.name)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        raise _bad(what, path.name, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not any(_is_kind(kind, wanted) for wanted in kinds):
        raise _bad(what, path.name, f"holds {kind[:20]}, and {' or '.join(kinds)} is needed")
    if order:
        raise _bad(what, path.name, "is in Fortran order, and C order is needed")
    if len(found) != len(shape) or any(one not in (None, has) for one, has in zip(shape, found, strict=True)):
        wanted = "x".join("any" if one is None else str(one) for one in shape)
        raise _bad(
            what, path.name, f"has the shape {'x'.join(map(str, found)) or '()'}, and {wanted} is needed"
        )
    opened = ArrayFile(path, kind, found, offset, what)
    if size - offset < opened.byte_size:
        raise _bad(what, path.name, f"has {size - offset} bytes of data, {opened.byte_size} are needed")
    return opened


def write_array(path: Path, data: Array) -> None:
    """Write an array to a file that does not exist yet."""
    import numpy as np

    with path.open("xb") as file:
        np.lib.format.write_array(file, np.asarray(data), allow_pickle=False)


def _header(data: bytes, what: str, name: str) -> tuple[int, str, bool, tuple[int, ...]]:
    """Where the data begins, its type, whether it is in Fortran order, and its shape."""
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
    return isinstance(shape, tuple) and all(type(one) is int and 0 <= one < 1 << 48 for one in shape)


def _is_kind(kind: str, wanted: str) -> bool:
    """Whether a type is one; ``<U`` is text of any width, and a byte has no order."""
    found = _KIND.fullmatch(kind)
    if found is None:
        return False
    order, letter, width = found.groups()
    if wanted == "<U":
        return order == "<" and letter == "U" and int(width) > 0
    return f"{letter}{width}" == wanted[1:] and (width == "1" or order == wanted[0])


def _element_size(kind: str) -> int:
    return int(kind[2:]) * (4 if kind[1] == "U" else 1)


def _bad(what: str, name: str, why: str) -> MalformedFile:
    return MalformedFile("bad_snapshot", f"{what}: {name} {why}")
