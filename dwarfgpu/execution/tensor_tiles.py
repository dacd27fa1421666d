"""Tiles of tensors that GFX12.5 moves between global and local memory: the descriptors in scalar registers.

CDNA 5 ISA document, 10.11; Triton and MLIR write the same descriptors. A tile begins at an address, and its elements
lie in local memory one behind the other, the first dimension the fastest. Elements beyond the tensor are read as 0, and
are not stored. Loads may leave room in local memory after each so many dwords.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.immutable import frozen


@frozen(eq=False)
class TensorTile:
    """The elements of a tile, in the order in which they are moved."""

    size: int
    """The bytes of each: 1, 2, 4 or 8."""
    places: Any
    """Where each is in local memory."""
    addresses: Any
    inside: Any
    """Whether each is in the tensor."""
    barrier: int | None = None
    """Where a barrier in local memory is, at which the wave arrives when all are moved."""


def _bits(whole: int, first: int, count: int) -> int:
    return whole >> first & (1 << count) - 1


@lru_cache(maxsize=256)
def tile_of(words: tuple[int, ...], is_load: bool, is_in_cluster: bool) -> TensorTile | None:  # noqa: FBT001
    """Return the tile that a descriptor of 20 words says; None if nothing is moved.

    A load for other work-groups of a cluster is made by each of them, so a wave moves its own (10.7).
    """
    start, form, more, last = (
        sum(word << 32 * place for place, word in enumerate(words[first : first + count]))
        for first, count in ((0, 4), (4, 8), (12, 4), (16, 4))
    )
    if not _bits(start, 0, 2):
        return None
    if _bits(start, 0, 3) != 1 or _bits(start, 126, 2) != 2:
        raise UnknownInstruction("the descriptor of a tensor that no program may use, or of another type")
    if _bits(form, 0, 16) and not is_in_cluster:
        raise UnknownInstruction("a tensor for other work-groups, outside of a cluster")
    barrier = 8 * _bits(form, 32, 16) if _bits(form, 18, 1) else None
    sizes = [_bits(form, 112, 16), _bits(form, 128, 16), _bits(form, 144, 16)]
    limits = [_bits(form, 48, 32), _bits(form, 80, 32), _bits(more, 0, 32)]
    steps = [1, _bits(form, 160, 48), _bits(form, 208, 48)]
    is_gathered, is_repeated = bool(_bits(start, 31, 1)), bool(_bits(form, 19, 1))
    times, beside, between = 1, 0, 0
    rows = np.arange(max(sizes[1], 1), dtype=np.int64)
    if is_gathered:
        bits = 32 if _bits(start, 30, 1) else 16
        whole = more | last << 128
        if sizes[1] > 256 // bits:
            raise UnknownInstruction(f"a tensor with {sizes[1]} chosen rows, of {256 // bits} at most")
        rows = np.array([_bits(whole, bits * place, bits) for place in range(sizes[1])], np.int64)
        if (np.diff(rows) < 0).any() and (rows >= limits[1]).any():
            raise UnknownInstruction("a tensor whose chosen rows are outside of it, and do not grow")
        del sizes[2:], limits[2:], steps[2:]
    elif is_repeated:
        times, beside, between = _bits(more, 112, 16) + 1, _bits(more, 32, 32), _bits(more, 64, 48)
    else:
        sizes += [_bits(more, 112, 16), _bits(last, 80, 16)]
        limits += [_bits(more, 32, 32), _bits(last, 48, 32)]
        steps += [_bits(more, 64, 48), _bits(last, 0, 48)]
    if barrier is not None and (times > 1 or not sizes[0] or not len(rows)):
        raise UnknownInstruction("a barrier with a tile that is repeated, or of nothing: no document says who arrives")
    if not sizes[0] or not len(rows):
        return None
    coordinates: list[Any] = [np.arange(sizes[0], dtype=np.int64), rows]
    coordinates += [np.arange(max(size, 1), dtype=np.int64) for size in sizes[2:]]
    inside: Any = np.array(True)
    distance: Any = np.zeros((), np.int64)
    for dimension, (coordinate, size, limit, step) in enumerate(zip(coordinates, sizes, limits, steps, strict=True)):
        column = coordinate.reshape((-1,) + (1,) * dimension)  # the first dimension is the fastest
        distance = distance + column * step
        inside = inside & ((column < limit) | (size == 0))
    if times > 1 and not inside.all():
        raise UnknownInstruction("a repeated tile that is partly outside of its tensor: no document says what it moves")
    width = 1 << _bits(form, 16, 2)
    distance, inside = distance.reshape(-1), np.broadcast_to(inside, distance.shape).reshape(-1)
    places = np.arange(len(distance), dtype=np.int64) * width
    if is_load and _bits(form, 20, 1):
        places += places // (8 << _bits(form, 22, 3)) * 4 * (_bits(form, 25, 7) + 1)
    again = np.arange(times, dtype=np.int64)[:, None]
    places = _bits(start, 32, 32) + (places + again * beside * width).reshape(-1)
    addresses = (_bits(start, 64, 57) + (distance + again * between) * width).reshape(-1)
    return TensorTile(width, places, addresses.astype(np.uint64), np.tile(inside, times), barrier)
