"""Objects as Python and numpy have them: the number of a scalar, and the array of what many slots have."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from dwarfgpu import budget
from dwarfgpu.bits import comparable
from dwarfgpu.errors import UsageError, shown
from dwarfgpu.immutable import field, immutable
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import byte_size, known_size, resolved
from dwarfgpu.program.values.objects import MAX_READ, Object, optimized_out
from dwarfgpu.program.values.scalars import Scalar, scalar_of
from dwarfgpu.regular_files import whole_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.program.values.storage import Reading


# --- One value ----------------------------------------------------------------------------------------------------


def python_value(value: Object) -> Any:
    """Return a value as Python has it: the number of a scalar; anything else is the object itself."""
    value = value.target()
    scalar = value.scalar
    if scalar is None:
        return value
    reading = pattern_of(value, scalar)
    if reading.undefined:
        raise optimized_out()
    number = scalar.number(reading.bits)
    if scalar.kind == "boolean" and number in (0, 1) and not isinstance(resolved(value.type), t.Enumeration):
        return bool(number)
    return number


def pattern_of(value: Object, scalar: Scalar) -> Reading:
    """Return what `Object.pattern` gives, where the scalar is known already."""
    reading = value.place.read(scalar.storage_bits)
    if scalar.bits == scalar.storage_bits and not scalar.swapped:
        return reading
    return value.pattern()


# --- An object of many slots as an array --------------------------------------------------------------------------

WORD = 8
"""Bytes that are read at once: numbers of more than 64 bits would be Python's, one by one."""


@immutable
class Column:
    """What an object is in its slots."""

    kind: Any
    """The numpy type."""
    numbers: Any = field(eq=comparable)
    """One element for all slots, or an array."""
    undefined: Any = field(eq=comparable)
    """Not 0 where bits have no value: one number, or an array."""


def column_of(value: Object, byte_order: ByteOrder) -> Column:
    """Return what an object is in its slots."""
    value = value.target()
    scalar = value.scalar
    if scalar is not None:
        reading = pattern_of(value, scalar)
        return Column(_dtype_named(numpy_name(scalar)), scalar.number(reading.bits), reading.undefined)
    import numpy as np

    kind = dtype_of(value.type, byte_order)
    size = byte_size(value.type)
    if kind.names == _PADDED:  # what is behind the last element need not have a value
        kind = kind[0]
        size = kind.itemsize
    if not size:
        return Column(kind, np.zeros((), kind), 0)
    if value.bit_size is not None or size <= WORD:
        readings = [value.read()]
    else:
        sizes = [min(WORD, size - at) for at in range(0, size, WORD)]
        readings = [value.place.moved(8 * WORD * i).read(8 * length) for i, length in enumerate(sizes)]
    undefined = readings[0].undefined
    for part in readings[1:]:
        undefined = undefined | (part.undefined != 0)
    numbers = _joined([part.bits for part in readings], size, byte_order, kind)
    return Column(_elements_in(kind), numbers, undefined)


def _elements_in(kind: Any) -> Any:
    """Return a numpy type with the elements of padded vectors, without what is behind them."""
    import numpy as np

    if kind.subdtype is None:
        return kind[0] if kind.names == _PADDED else kind
    element, shape = kind.subdtype
    return np.dtype((_elements_in(element), shape))


def _joined(words: list[Any], size: int, byte_order: ByteOrder, kind: Any) -> Any:
    """Return patterns, word after word, as records: one that is the same for all, or an array."""
    import numpy as np

    count = max((1 if isinstance(bits, int) else len(bits)) for bits in words)
    raw = np.empty((count, size), dtype=np.uint8)
    for i, bits in enumerate(words):
        length = min(WORD, size - WORD * i)
        raw[:, WORD * i : WORD * i + length] = _bytes_of(bits, length, byte_order)
    shape: tuple[int, ...] = ()
    while kind.subdtype is not None:  # an array of vectors is one in another
        kind, inner = kind.subdtype
        shape += inner
    records = raw.reshape(-1).view(kind).reshape(count, *shape)
    if kind.names == _PADDED:
        records = records[_PADDED[0]]
    return records[0] if all(isinstance(bits, int) for bits in words) else records


def _bytes_of(bits: Any, size: int, byte_order: ByteOrder) -> Any:
    """Return patterns of at most one word as bytes: ``[slot, byte]``."""
    import numpy as np

    if isinstance(bits, int):
        return np.frombuffer(bits.to_bytes(size, byte_order), dtype=np.uint8)
    order = "<" if byte_order == "little" else ">"
    raw = bits.astype(f"{order}u8").view(np.uint8).reshape(-1, WORD)
    return raw[:, :size] if byte_order == "little" else raw[:, WORD - size :]


# --- Types of a program as numpy has them -------------------------------------------------------------------------

MAX_ELEMENTS = 1 << 12
"""Arrays with more elements are kept as bytes, or as objects where there is no numpy."""
MAX_DEPTH = 16
_PADDED = ("elements",)
"""The only member of the record that a vector is whose size is larger than that of its elements, such as float3."""


def numpy_name(scalar: Scalar) -> str:
    """Return the numpy type that holds the numbers of a scalar."""
    if scalar.layout is not None:
        return f"f{scalar.layout.bit_size // 8}" if scalar.layout.code else "f8"
    if scalar.scale is not None:
        return "f8"
    if scalar.kind == "boolean" and scalar.bits == 8:
        return "u1"
    for size in (1, 2, 4, 8):
        if scalar.bits <= 8 * size:
            return f"{'i' if scalar.is_signed else 'u'}{size}"
    return "O"


@cache
def _dtype_named(name: str) -> Any:
    import numpy as np

    return np.dtype(name)


def dtype_of(type: t.Type, byte_order: ByteOrder, depth: int = 0) -> Any:
    """Return the numpy type with the layout of a type of the program; plain bytes where numpy has none."""
    import numpy as np

    size = known_size(type)
    if size is None or size > MAX_READ:
        what = "of a size that depends on the object" if size is None else f"of {shown(size)} bytes"
        raise UsageError(
            f"values {what} have no array", kind="no_array", hint="ask for one lane, or for a part of the value"
        )
    inner = resolved(type)
    opaque = np.dtype(f"V{size}")
    if depth > MAX_DEPTH:
        return opaque
    if isinstance(inner, t.Struct):
        return _record_type(inner, size, byte_order, depth) or opaque
    if isinstance(inner, t.Array):
        return _array_type(inner, size, byte_order, depth) or opaque
    if isinstance(inner, t.Base) and inner.vector_size is not None:
        return np.dtype((dtype_of(inner.element, byte_order, depth + 1), (inner.vector_size,)))
    return _stored_type(type, size, byte_order) or opaque


def masked_array(element: t.Type, shape: Sequence[int], data: bytes, undefined: bytes) -> Any:
    """Return an array of some bytes; an element with a byte that has no value is masked."""
    import numpy as np

    kind = dtype_of(element, "little")
    mask = np.frombuffer(undefined, np.uint8).reshape(*shape, kind.itemsize).any(-1)
    return np.ma.MaskedArray(np.frombuffer(data, kind).reshape(shape), mask)


def _stored_type(type: t.Type, size: int, byte_order: ByteOrder) -> Any:
    """Return the numpy type of a scalar as it is stored; None where numpy has none."""
    import numpy as np

    scalar = scalar_of(type, byte_order)
    if scalar is None or scalar.swapped or scalar.scale is not None or scalar.bits != 8 * size:
        return None
    if size not in (1, 2, 4, 8) or scalar.kind == "bytes":
        return None
    name = numpy_name(scalar)
    if int(name[1:]) != size:
        return None
    return np.dtype(f"{'<' if byte_order == 'little' else '>'}{name}")


def _array_type(type: t.Array, size: int, byte_order: ByteOrder, depth: int) -> Any:
    import numpy as np

    lengths = [dimension.length for dimension in type.dimensions]
    if type.is_dynamic or type.column_major or not lengths or None in lengths:
        return None
    total = 1
    for length in lengths:
        total *= length or 0
    element = byte_size(type.element)
    is_whole = total * element == size or (type.is_vector and total * element < size)
    if not 0 < total <= MAX_ELEMENTS or not is_whole or t.element_bits(type) != 8 * element:
        return None
    kind = np.dtype((dtype_of(type.element, byte_order, depth + 1), tuple(lengths)))
    if kind.itemsize == size:
        return kind
    return np.dtype({"names": _PADDED, "formats": [kind], "offsets": [0], "itemsize": size})


def _record_type(type: t.Struct, size: int, byte_order: ByteOrder, depth: int) -> Any:
    """Return a record with the members of a structure; None where numpy has no type for one of them."""
    import numpy as np

    body = type.body
    members: list[tuple[str | None, Any]] = [(member.name, member) for member in t.named_members(body.members)]
    if body.variant_parts or any(base.is_virtual for base in body.bases) or type.kind == "union":
        return None
    names: list[str] = []
    formats, offsets = [], []
    for name, member in [*members, *((base.type.name or "", base) for base in body.bases)]:
        bit_size = getattr(member, "bit_size", None)
        if member.location is not None or member.bit_offset is None or bit_size is not None or not name:
            return None
        if name in names or known_size(member.type) is None or member.bit_offset % 8:
            return None
        budget.spend(64)
        names.append(name)
        kind = dtype_of(member.type, byte_order, depth + 1)
        formats.append(kind[0] if kind.names == _PADDED else kind)
        offsets.append(member.bit_offset // 8)
    if not names or any(o + f.itemsize > size for o, f in zip(offsets, formats, strict=True)):
        return None
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def without_padding(array: Any) -> Any:
    """Return an array of records with 0 in the bytes between the members; any other array is returned as it is."""
    if array.dtype.fields is None:
        return array
    raw = array.reshape(-1).view("u1").reshape(array.size, array.dtype.itemsize)
    return (raw * _meant(array.dtype)).reshape(-1).view(array.dtype).reshape(array.shape)


def _meant(kind: Any) -> Any:
    """Return 1 for each byte of a record that belongs to a member, else 0."""
    import numpy as np

    if kind.subdtype is not None:
        element, shape = kind.subdtype
        return np.tile(_meant(element), int(np.prod(shape)))
    mask = np.full(kind.itemsize, kind.fields is None, dtype=np.uint8)
    for part, offset, *_ in (kind.fields or {}).values():
        mask[offset : offset + part.itemsize] |= _meant(part)
    return mask


def save(file: str | BinaryIO, columns: dict[str, Any]) -> None:
    """Write arrays and lists of texts to a file of numpy, or to a stream as its bytes."""
    import numpy as np

    arrays = {name: _plain(column) for name, column in columns.items()}
    if not isinstance(file, str):
        np.savez(file, **arrays)
        return
    with whole_output(file) as stream:
        np.savez(stream, **arrays)


def _plain(values: Any) -> Any:
    """Return an array that a file of numpy holds without Python objects: numbers beyond 64 bits become text."""
    import numpy as np

    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array
