"""An object of many slots as an array, read without doing anything slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from dwarfgpu.bits import comparable
from dwarfgpu.program.types.sizes import byte_size
from dwarfgpu.program.variables.columns import pattern_of
from dwarfgpu.program.variables.numpy_types import dtype_of, numpy_name

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object

WORD = 8
"""Bytes that are read at once: numbers of more than 64 bits would be Python's, one by one."""


@frozen
class Column:
    """The values of some slots."""

    type: Type
    kind: Any
    """The numpy type."""
    numbers: Any = field(eq=comparable)
    """One element for all slots, or an array."""
    undefined: Any = field(eq=comparable)
    """Not 0 where bits have no value: one number, or an array."""


def column_of(found: Object, byte_order: ByteOrder) -> Column:
    """What an object is in its slots."""
    import numpy as np

    declared = found.type
    found = found.target()
    scalar = found.scalar
    if scalar is not None:
        reading = pattern_of(found, scalar)
        return Column(declared, np.dtype(numpy_name(scalar)), scalar.number(reading.bits), reading.undefined)
    kind = dtype_of(found.type, byte_order)
    size = byte_size(found.type)
    if not size:
        return Column(declared, kind, np.zeros((), kind), 0)
    if found.bit_size is not None or size <= WORD:
        readings = [found.read()]
    else:
        sizes = [min(WORD, size - at) for at in range(0, size, WORD)]
        readings = [found.place.moved(8 * WORD * i).read(8 * length) for i, length in enumerate(sizes)]
    undefined = readings[0].undefined
    for each in readings[1:]:
        undefined = undefined | (each.undefined != 0)
    return Column(
        declared, kind, _joined([each.bits for each in readings], size, byte_order, kind), undefined
    )


def _joined(words: list[Any], size: int, byte_order: ByteOrder, kind: Any) -> Any:
    """Patterns, word after word, as records: one that is the same for all, or an array."""
    import numpy as np

    count = max((1 if isinstance(bits, int) else len(bits)) for bits in words)
    raw = np.empty((count, size), dtype=np.uint8)
    for i, bits in enumerate(words):
        length = min(WORD, size - WORD * i)
        raw[:, WORD * i : WORD * i + length] = _bytes_of(bits, length, byte_order)
    records = raw.reshape(-1).view(kind.base).reshape(count, *kind.shape)
    return records[0] if all(isinstance(bits, int) for bits in words) else records


def _bytes_of(bits: Any, size: int, byte_order: ByteOrder) -> Any:
    """Patterns of at most one word as bytes: ``[slot, byte]``."""
    import numpy as np

    if isinstance(bits, int):
        return np.frombuffer(bits.to_bytes(size, byte_order), dtype=np.uint8)
    order = "<" if byte_order == "little" else ">"
    raw = bits.astype(f"{order}u8").view(np.uint8).reshape(-1, WORD)
    return raw[:, :size] if byte_order == "little" else raw[:, WORD - size :]
