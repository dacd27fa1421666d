"""Sparse bytes in columns: extents of a 64-bit key, each a stretch of some array of bytes.

A key is an address, or, for memory of which there are several instances, the number of the instance above a 32-bit
address. One structure then holds the memory of ten thousand waves, and finding the bytes of six hundred thousand slots
is a few array operations: either a search among the extents, or, where all extents are alike, arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.bits import groups
from dwarfgpu.records import record

if TYPE_CHECKING:
    from dwarfgpu.bits import Array

INSTANCE_SHIFT = 32
LAST_KEY = (1 << 64) - 1


class Overlap(Exception):
    """Bytes were added where there are some."""

    def __init__(self, key: int) -> None:
        Exception.__init__(self)
        self.key = key


@record
class Even:
    """Extents that are all alike: one for each instance from the first on, all in one array of bytes."""

    first: int
    """The key of the first byte."""
    count: int
    length: int
    block: int
    offset: int
    stride: int
    """How far the extents are apart in the array."""


class Extents:
    """Known bytes under their keys."""

    __slots__ = ("_even", "blocks", "lasts", "offsets", "owners", "starts")

    def __init__(self) -> None:
        import numpy as np

        self.blocks: list[Array] = []
        """Arrays of bytes."""
        self.starts: Array = np.zeros(0, dtype=np.uint64)
        """The first key of each extent, ascending."""
        self.lasts: Array = np.zeros(0, dtype=np.uint64)
        """The last key of each extent."""
        self.owners: Array = np.zeros(0, dtype=np.int64)
        """The array of bytes that each extent is in."""
        self.offsets: Array = np.zeros(0, dtype=np.int64)
        """Where it begins there."""
        self._even: Even | None = None

    # --- Adding ---------------------------------------------------------------------------------------------------

    def add(self, starts: Array, sizes: Array, data: Array) -> None:
        """Add extents that stand one behind the other in an array of bytes, which is kept and not copied.

        Raises `Overlap`, and adds nothing, where there are bytes already.
        """
        import numpy as np

        ends = np.cumsum(sizes, dtype=np.int64)
        some = sizes > 0
        firsts = starts[some].astype(np.uint64)
        lasts = firsts + (sizes[some].astype(np.uint64) - np.uint64(1))
        offsets = (ends - sizes.astype(np.int64))[some]
        owners = np.full(len(firsts), len(self.blocks), dtype=np.int64)
        merged = [
            np.concatenate(pair)
            for pair in (
                (self.starts, firsts),
                (self.lasts, lasts),
                (self.owners, owners),
                (self.offsets, offsets),
            )
        ]
        if len(merged[0]) > 1 and not (merged[0][1:] > merged[0][:-1]).all():
            order = np.argsort(merged[0], kind="stable")
            merged = [column[order] for column in merged]
        clash = (merged[0][1:] <= merged[1][:-1]).nonzero()[0]
        if len(clash):
            raise Overlap(int(merged[0][clash[0] + 1]))
        self.starts, self.lasts, self.owners, self.offsets = merged
        self.blocks.append(data)
        self._even = self._find_even()

    def _find_even(self) -> Even | None:
        """The extents as `Even`, if they are."""
        count = len(self.starts)
        if count == 0 or (self.owners != self.owners[0]).any():
            return None
        first, length = int(self.starts[0]), int(self.lasts[0] - self.starts[0]) + 1
        block, offset, stride = int(self.owners[0]), int(self.offsets[0]), 0
        if count > 1:
            stride = int(self.offsets[1] - self.offsets[0])
            apart = self.starts[1:] - self.starts[:-1]
            even = (
                (apart == 1 << INSTANCE_SHIFT).all()
                and (self.lasts - self.starts == length - 1).all()
                and (self.offsets[1:] - self.offsets[:-1] == stride).all()
            )
            if not even:
                return None
        return Even(first, count, length, block, offset, stride)

    def joined(self) -> Array:
        """All bytes, in the order of their keys."""
        import numpy as np

        even = self._even
        if even is not None and even.stride in (0, even.length):
            return self.blocks[even.block][even.offset : even.offset + even.count * even.length]
        stretches = zip(
            self.owners.tolist(), self.offsets.tolist(), (self.lasts - self.starts).tolist(), strict=True
        )
        parts = [self.blocks[owner][start : start + size + 1] for owner, start, size in stretches]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)

    # --- One access -----------------------------------------------------------------------------------------------

    def _pieces(self, key: int, size: int) -> tuple[list[tuple[Array, int, int]], int | None]:
        """The stretches (array, offset, size) that hold a range, and the first key that none holds."""
        found: list[tuple[Array, int, int]] = []
        end = key + size
        index = int(self.starts.searchsorted(_u64(key), side="right")) - 1
        while key < end:
            if not 0 <= index < len(self.starts) or not int(self.starts[index]) <= key <= int(
                self.lasts[index]
            ):
                return found, key
            skip = key - int(self.starts[index])
            length = min(int(self.lasts[index]) + 1, end) - key
            found.append((self.blocks[self.owners[index]], int(self.offsets[index]) + skip, length))
            key += length
            index += 1
        return found, None

    def missing(self, key: int, size: int) -> int | None:
        """The first key of a range whose byte is not known."""
        return self._pieces(key, size)[1]

    def read(self, key: int, size: int) -> bytes | None:
        """The bytes of a range, if all are known."""
        found, missing = self._pieces(key, size)
        if missing is not None:
            return None
        return b"".join([block[start : start + length].tobytes() for block, start, length in found])

    def write(self, key: int, data: bytes) -> None:
        """Change bytes, all of which are known."""
        import numpy as np

        new = np.frombuffer(data, dtype=np.uint8)
        position = 0
        for block, start, length in self._pieces(key, len(data))[0]:
            block[start : start + length] = new[position : position + length]
            position += length

    # --- Many accesses --------------------------------------------------------------------------------------------

    def gather(self, keys: Array, size: int) -> tuple[Array, Array]:
        """The bytes of many ranges, ``[range, byte]``, and flags of those that are known."""
        import numpy as np

        block, offsets, found = self._locate(keys, size)
        if block is not None and found.all():
            return _rows(self.blocks[block], offsets, size), found
        rows = np.zeros((len(keys), size), dtype=np.uint8)
        for number, slots in self._by_block(block, keys, found):
            rows[slots] = _rows(self.blocks[number], offsets[slots], size)
        rest = self._across(keys, found, size)
        if len(rest):
            rows[rest], found[rest] = self._bytewise(keys[rest], size)
        return rows, found

    def scatter(self, keys: Array, rows: Array) -> None:
        """Write many ranges, all of whose bytes are known, in order."""
        import numpy as np

        size = rows.shape[1]
        block, offsets, found = self._locate(keys, size)
        if found.all():  # ranges that overlap are in one extent, so in one array, where their order is kept
            for number, slots in self._by_block(block, keys, found):
                _put(self.blocks[number], offsets[slots], rows[slots])
            return
        single = (keys[:, None] + np.arange(size, dtype=np.uint64)).reshape(-1)
        self.scatter(single, rows.reshape(-1, 1))

    def known(self, keys: Array, size: int) -> Array:
        """Flags of the ranges all of whose bytes are known."""
        _block, _offsets, found = self._locate(keys, size)
        rest = self._across(keys, found, size)
        if len(rest):
            found[rest] = self._bytewise(keys[rest], size)[1]
        return found

    def _locate(self, keys: Array, size: int) -> tuple[int | None, Array, Array]:
        """For each range the array it is in, if that is one for all, where it begins there, and whether it is whole."""
        import numpy as np

        even = self._even
        if even is not None and size <= even.length:
            delta = keys - np.uint64(even.first)
            room = np.uint64(even.length - size)
            if even.count == 1:
                return even.block, _moved(delta, even.offset), delta <= room
            inner = delta & np.uint64((1 << INSTANCE_SHIFT) - 1)
            delta >>= np.uint64(INSTANCE_SHIFT)
            found = inner <= room
            if int(delta.max(initial=0)) >= even.count:
                found &= delta < np.uint64(even.count)
            delta *= np.uint64(even.stride)
            delta += inner
            return even.block, _moved(delta, even.offset), found
        if not len(self.starts):
            return None, np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        index = self.starts.searchsorted(keys, side="right") - 1
        found = index >= 0
        index[~found] = 0
        lasts = self.lasts[index]
        found &= keys <= lasts
        found &= lasts - keys >= np.uint64(size - 1)
        offsets = (keys - self.starts[index]).view(np.int64) + self.offsets[index]
        same = len(self.blocks) == 1
        return 0 if same else None, offsets, found

    def _owners_of(self, keys: Array) -> Array:
        """The number of the array of bytes in which each of some known keys is."""
        return self.owners[self.starts.searchsorted(keys, side="right") - 1]

    def _by_block(self, block: int | None, keys: Array, found: Array) -> list[tuple[int, Array]]:
        """The ranges that were found, by the array they are in; in each of them in their order."""
        slots = found.nonzero()[0]
        if not len(slots):
            return []
        if block is not None:
            return [(block, slots)]
        owners = self._owners_of(keys[slots])
        return [(int(owners[some[0]]), slots[some]) for some in groups(owners)]

    def _across(self, keys: Array, found: Array, size: int) -> Array:
        """The ranges that were not found whole, but may be in several extents that touch."""
        import numpy as np

        if size <= 1 or found.all() or len(self.starts) < 2:
            return np.zeros(0, dtype=np.intp)
        rest: Any = (~found).nonzero()[0]
        return rest[keys[rest] <= np.uint64(LAST_KEY - size + 1)]  # type: ignore[no-any-return]

    def _bytewise(self, keys: Array, size: int) -> tuple[Array, Array]:
        """Ranges gathered byte by byte."""
        import numpy as np

        single = (keys[:, None] + np.arange(size, dtype=np.uint64)).reshape(-1)
        rows, found = self.gather(single, 1)
        whole: Any = found.reshape(-1, size).all(axis=1)
        return rows.reshape(-1, size), whole


def _u64(number: int) -> Any:
    import numpy as np

    return np.uint64(number)


def _moved(offsets: Array, by: int) -> Array:
    import numpy as np

    if by:
        offsets += np.uint64(by)
    return offsets.view(np.int64)


_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


def _words(block: Array, offsets: Array, size: int) -> tuple[Array, Array] | None:
    """An array of bytes as one of words, and which of these stand at some offsets, if that is possible."""
    import numpy as np

    if size not in _WORDS or len(block) % size or block.ctypes.data % size:
        return None
    if size == 1:
        return block, offsets
    if (offsets & (size - 1)).any():
        return None
    return block.view(np.dtype(_WORDS[size])), offsets >> (size.bit_length() - 1)


def _rows(block: Array, offsets: Array, size: int) -> Array:
    """Rows of bytes at some offsets, all inside the array."""
    import numpy as np

    words = _words(block, offsets, size)
    if words is not None:
        taken: Array = words[0].take(words[1])
        return taken.view(np.uint8).reshape(len(offsets), size)
    windows = np.lib.stride_tricks.sliding_window_view(block, size)
    found: Array = windows[offsets]
    return found


def _put(block: Array, offsets: Array, rows: Array) -> None:
    """Write rows of bytes at some offsets, all inside the array; where rows overlap the last one stays."""
    import numpy as np

    size = rows.shape[1]
    words = _words(block, offsets, size)
    if words is not None:
        words[0][words[1]] = np.ascontiguousarray(rows).view(words[0].dtype).reshape(-1)
        return
    # Overlapping rows of a window view would be written in no order: bytes, in the order of the rows, have one.
    block[(offsets[:, None] + np.arange(size)).reshape(-1)] = rows.reshape(-1)
