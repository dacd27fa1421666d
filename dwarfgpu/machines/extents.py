"""Sparse bytes in columns: extents of a 64-bit key, each a stretch of some array of bytes.

A key is an address, or, for memory of which there are several instances, the number of the instance above a 32-bit
address. One structure then holds the memory of ten thousand waves, and finding the bytes of six hundred thousand slots
is a few array operations: a search among the extents, or, where each instance has one, arithmetic. One access is
a binary search, and needs no numpy.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, compress, repeat
from operator import add, le
from typing import TYPE_CHECKING, Any

from dwarfgpu.bits import comparable, groups, set_in_any
from dwarfgpu.immutable import field, frozen
from dwarfgpu.machines.columns import Cells

if TYPE_CHECKING:
    from dwarfgpu.bits import Array

INSTANCE_SHIFT = 32
LAST_KEY = (1 << 64) - 1


class Overlap(Exception):
    """Bytes were added at keys that already have some."""

    def __init__(self, key: int) -> None:
        Exception.__init__(self)
        self.key = key


@frozen
class _Columns:
    """The extents as arrays."""

    starts: Array = field(eq=comparable)
    lasts: Array = field(eq=comparable)
    owners: Array = field(eq=comparable)
    offsets: Array = field(eq=comparable)
    is_dense: bool
    """Whether there is one extent for each instance, from the first on, which begins at its first address."""


class Extents:
    """Known bytes by their keys."""

    __slots__ = ("_columns", "_free", "blocks", "lasts", "moves", "offsets", "owners", "starts")

    def __init__(self) -> None:
        self.blocks: list[Cells] = []
        """Bytes, which the extents are stretches of."""
        self._free: list[int] = []
        """The numbers of blocks whose extents have been removed."""
        self.starts = array("Q")
        """The first key of each extent, ascending."""
        self.lasts = array("Q")
        """The last key of each extent."""
        self.owners = array("q")
        """The number of the block that each extent is in."""
        self.offsets = array("q")
        """The start of each extent in its block."""
        self.moves = 0
        """How often extents got other positions, because some were removed, or were not added behind all others."""
        self._columns: _Columns | None = None

    # --- Adding ---------------------------------------------------------------------------------------------------

    def add(self, starts: Any, sizes: Any, data: Any) -> None:
        """Add extents that follow each other in a buffer, which is used without a copy.

        Raises `Overlap`, and adds nothing, where some bytes are known already.
        """
        starts, sizes = numbers(starts), numbers(sizes)
        offsets = list(accumulate(sizes, initial=0))[:-1]
        if 0 in sizes:
            starts, offsets = list(compress(starts, sizes)), list(compress(offsets, sizes))
            sizes = list(filter(None, sizes))
        lasts = list(map(add, starts, map((-1).__add__, sizes)))
        if len(starts) == 1:
            self._insert(starts[0], lasts[0])
        elif starts:
            self._merge(starts, lasts, offsets)
        self._keep(data if isinstance(data, Cells) else Cells.of_bytes(data))

    def remove(self, start: int) -> None:
        """Remove the extent that begins at a key."""
        index = self.starts.index(start)
        columns = self.starts, self.lasts, self.owners, self.offsets
        _start, _last, owner, _offset = [column.pop(index) for column in columns]
        if owner not in self.owners:
            self.blocks[owner] = Cells.of_bytes(b"")
            self._free.append(owner)
        self.moves += 1
        self._columns = None

    def _number(self) -> int:
        """Return the number of the block that is kept next."""
        return self._free[-1] if self._free else len(self.blocks)

    def _keep(self, block: Cells) -> None:
        if self._free:
            self.blocks[self._free.pop()] = block
        else:
            self.blocks.append(block)
        self._columns = None

    def _put(self, index: int, *extent: int) -> None:
        """Add an extent at a position: its keys, its block and its place there."""
        self.moves += index < len(self.starts)
        for column, value in zip((self.starts, self.lasts, self.owners, self.offsets), extent, strict=True):
            column.insert(index, value)

    def describe(self, key: int, data: bytes) -> int | None:
        """Add bytes, some of which may be known already; return the first key whose known byte differs."""
        if not data:
            return None
        try:
            self._insert(key, key + len(data) - 1)
        except Overlap:
            return self._describe_gaps(key, data)
        self._keep(Cells.of_bytes(data))
        return None

    def _describe_gaps(self, key: int, data: bytes) -> int | None:
        """Add those bytes of a range that are not known yet, if the others agree; see `describe`."""
        gaps = list(self.gaps(key, len(data)))
        position = 0
        for start, end in (*gaps, (key + len(data), 0)):
            if self.read(key + position, start - key - position) != data[position : start - key]:
                known = range(position, start - key)
                return next(key + i for i in known if self.read(key + i, 1) != data[i : i + 1])
            position = end - key
        for start, end in gaps:
            self._insert(start, end - 1)
            self._keep(Cells.of_bytes(data[start - key : end - key]))
        return None

    def gaps(self, key: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a range that are not known: the first key, and the one behind."""
        end = key + size
        while key < end and (missing := self.missing(key, end - key)) is not None:
            following = bisect_right(self.starts, missing)
            key = min(end, self.starts[following]) if following < len(self.starts) else end
            yield missing, key

    def _insert(self, start: int, last: int) -> None:
        index = bisect_right(self.starts, start)
        if index and self.lasts[index - 1] >= start:
            raise Overlap(start)
        if index < len(self.starts) and self.starts[index] <= last:
            raise Overlap(self.starts[index])
        self._put(index, start, last, self._number(), 0)

    def _merge(self, starts: list[int], lasts: list[int], offsets: list[int]) -> None:
        owners = repeat(self._number(), len(starts))
        merged = [
            [*old, *new]
            for old, new in ((self.starts, starts), (self.lasts, lasts), (self.owners, owners), (self.offsets, offsets))
        ]
        keys = merged[0]
        if any(map(le, keys[1:], keys)):
            order = sorted(range(len(keys)), key=keys.__getitem__)
            merged = [list(map(column.__getitem__, order)) for column in merged]
            self.moves += 1
        keys, ends = merged[:2]
        if any(map(le, keys[1:], ends)):
            raise Overlap(next(key for key, end in zip(keys[1:], ends, strict=False) if key <= end))
        self.starts, self.lasts = array("Q", merged[0]), array("Q", merged[1])
        self.owners, self.offsets = array("q", merged[2]), array("q", merged[3])

    @property
    def columns(self) -> _Columns:
        """The extents as arrays, for many accesses at once."""
        columns = self._columns
        if columns is None:
            import numpy as np

            starts, lasts = np.array(self.starts), np.array(self.lasts)
            owners, offsets = np.array(self.owners), np.array(self.offsets)
            instances = np.arange(len(starts), dtype=np.uint64) << np.uint64(INSTANCE_SHIFT)
            is_dense = len(starts) > 1 and bool((starts == instances).all())
            columns = self._columns = _Columns(starts, lasts, owners, offsets, is_dense)
        return columns

    def joined(self) -> Array:
        """Return all bytes, in the order of their keys."""
        import numpy as np

        parts = [
            self.blocks[owner].array[start : start + last - first + 1]
            for owner, start, first, last in zip(self.owners, self.offsets, self.starts, self.lasts, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)

    # --- One access -----------------------------------------------------------------------------------------------

    def _pieces(self, key: int, size: int) -> tuple[list[tuple[memoryview, int, int]], int | None]:
        """Return the stretches (bytes, offset, size) that hold a range, and the first key that none holds."""
        stretches: list[tuple[memoryview, int, int]] = []
        end = key + size
        index = bisect_right(self.starts, key) - 1
        while key < end:
            if not 0 <= index < len(self.starts) or not self.starts[index] <= key <= self.lasts[index]:
                return stretches, key
            skip = key - self.starts[index]
            length = min(self.lasts[index] + 1, end) - key
            stretches.append((self.blocks[self.owners[index]].buffer, self.offsets[index] + skip, length))
            key += length
            index += 1
        return stretches, None

    def missing(self, key: int, size: int) -> int | None:
        """Return the first key of a range whose byte is not known."""
        return self._pieces(key, size)[1]

    def read(self, key: int, size: int) -> bytes | None:
        """Return the bytes of a range, if all are known."""
        index = bisect_right(self.starts, key) - 1
        if index >= 0 and key + size - 1 <= self.lasts[index]:  # the usual range: it is in one extent
            start = self.offsets[index] + key - self.starts[index]
            return bytes(self.blocks[self.owners[index]].buffer[start : start + size])
        stretches, missing = self._pieces(key, size)
        if missing is not None:
            return None
        return b"".join([block[start : start + length] for block, start, length in stretches])

    def write(self, key: int, data: bytes) -> None:
        """Change bytes, all of which must be known."""
        position = 0
        for block, start, length in self._pieces(key, len(data))[0]:
            block[start : start + length] = data[position : position + length]
            position += length

    # --- Many accesses --------------------------------------------------------------------------------------------

    def gather(self, keys: Array, size: int) -> tuple[Array, Array]:
        """Return the bytes of many ranges, ``[range, byte]``, and flags of those that are known."""
        import numpy as np

        block, offsets, known = self._locate(keys, size)
        if block is not None and known.all():
            return gathered_rows(self.blocks[block].array, offsets, size), known
        rows = np.zeros((len(keys), size), dtype=np.uint8)
        for number, slots in self._by_block(block, keys, known):
            rows[slots] = gathered_rows(self.blocks[number].array, offsets[slots], size)
        rest = self._across(keys, known, size)
        if len(rest):
            rows[rest], known[rest] = self._bytewise(keys[rest], size)
        return rows, known

    def known(self, keys: Array, size: int) -> Array:
        """Return flags of the ranges all of whose bytes are known."""
        _block, _offsets, known = self._locate(keys, size)
        rest = self._across(keys, known, size)
        if len(rest):
            known[rest] = self._bytewise(keys[rest], size)[1]
        return known

    def _locate(self, keys: Array, size: int) -> tuple[int | None, Array, Array]:
        """Return for each range its array (or the one of all), its start in the array, and whether it is whole."""
        import numpy as np

        columns = self.columns
        if len(self.starts) == 1 and size <= self.lasts[0] - self.starts[0] + 1:
            delta = keys - self.starts[0]
            is_whole = delta <= self.lasts[0] - self.starts[0] + 1 - size
            delta += np.uint64(self.offsets[0])
            return self.owners[0], delta.view(np.int64), is_whole
        if not len(self.starts):
            return None, np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        if columns.is_dense:
            index = (keys >> np.uint64(INSTANCE_SHIFT)).view(np.int64)
            is_whole = index < len(self.starts)
        else:
            index = columns.starts.searchsorted(keys, side="right") - 1
            is_whole = index >= 0
        if not is_whole.all():
            index[~is_whole] = 0
        lasts = columns.lasts[index]
        is_whole &= keys <= lasts
        is_whole &= lasts - keys >= np.uint64(size - 1)
        offsets = (keys - columns.starts[index]).view(np.int64) + columns.offsets[index]
        return 0 if len(self.blocks) == 1 else None, offsets, is_whole

    def _by_block(self, block: int | None, keys: Array, located: Array) -> list[tuple[int, Array]]:
        """Return the located ranges by the array they are in, in their order."""
        slots = located.nonzero()[0]
        if not len(slots):
            return []
        if block is not None:
            return [(block, slots)]
        owners = self.columns.owners[self.columns.starts.searchsorted(keys[slots], side="right") - 1]
        return [(int(owners[members[0]]), slots[members]) for members in groups(owners)]

    def _across(self, keys: Array, located: Array, size: int) -> Array:
        """Read the ranges that are not within one extent, but may be in several adjacent ones."""
        import numpy as np

        if size <= 1 or located.all() or len(self.starts) < 2:
            return np.zeros(0, dtype=np.intp)
        rest: Any = (~located).nonzero()[0]
        return rest[keys[rest] <= np.uint64(LAST_KEY - size + 1)]  # type: ignore[no-any-return]

    def _bytewise(self, keys: Array, size: int) -> tuple[Array, Array]:
        import numpy as np

        single = (keys[:, None] + np.arange(size, dtype=np.uint64)).reshape(-1)
        rows, known = self.gather(single, 1)
        whole: Any = known.reshape(-1, size).all(axis=1)
        return rows.reshape(-1, size), whole


def numbers(given: Any) -> list[int]:
    """Return numbers, or an array of them, as a list."""
    return given.tolist() if hasattr(given, "tolist") else list(given)


_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


def _words(block: Array, offsets: Array, size: int) -> tuple[Array, Array] | None:
    """Return an array of bytes as words, and the indices of the words at some offsets; None if not aligned."""
    if size == 1:
        return block, offsets
    if size not in _WORDS or set_in_any(offsets) & (size - 1):
        return None
    words = block[: len(block) & -size].view(_WORDS[size])  # those that are whole
    return (words, offsets >> (size.bit_length() - 1)) if words.flags.aligned else None


def gathered_rows(block: Array, offsets: Array, size: int) -> Array:
    """Return rows of bytes at some offsets, all inside the array."""
    import numpy as np

    words = _words(block, offsets, size)
    if words is not None:
        taken: Array = words[0].take(words[1])
        return taken.view(np.uint8).reshape(len(offsets), size)
    windows = np.lib.stride_tricks.sliding_window_view(block, size)
    gathered: Array = windows[offsets]
    return gathered
