"""The memory of a process that several files hold together. The files are mapped, and never read as a whole."""

from __future__ import annotations

import mmap
import os
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.columns import Cells
from dwarfgpu.machines.extents import Extents
from dwarfgpu.regular_files import open_input, watch

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
"""Linux then reserves no swap for pages that are never written; Python names the flag from 3.11 on."""


def map_file(path: str) -> memoryview:
    """Map a file. What is written to the mapping stays in memory; where the system refuses that, it is read-only."""
    try:
        with open_input(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                return memoryview(b"")
            mapping = _mapped(file.fileno(), size)
            watch(mapping, file.fileno(), path)
            return memoryview(mapping)
    except (OSError, ValueError) as error:
        raise MalformedFile("unreadable", f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _mapped(number: int, size: int) -> mmap.mmap:
    try:
        if _NO_RESERVE:
            flags, access = mmap.MAP_PRIVATE | _NO_RESERVE, mmap.PROT_READ | mmap.PROT_WRITE
            return mmap.mmap(number, size, flags=flags, prot=access)
        return mmap.mmap(number, size, access=mmap.ACCESS_COPY)
    except OSError:  # as much memory is not to be had
        return mmap.mmap(number, size, access=mmap.ACCESS_READ)


@frozen
class Stretch:
    """Bytes of memory that a file holds."""

    address: int
    size: int
    file: int
    offset: int


class FileMemory(Extents):
    """Memory by address. Where stretches overlap, the one that was given first is used."""

    def __init__(self, files: Iterable[memoryview], stretches: Iterable[Stretch]) -> None:
        Extents.__init__(self)
        self.blocks = [Cells("|u1", (len(view),), view) for view in files]
        self.cut: list[tuple[int, int]] = []
        """The stretches that files end before, from the first address to the last."""
        kept: list[tuple[int, int, int, int]] = []
        for stretch in stretches:
            size = len(self.blocks[stretch.file].buffer)
            _insert(kept, stretch, size)
            if stretch.offset + stretch.size > size:
                self.cut.append((stretch.address, stretch.address + stretch.size))
        for columns in kept:
            self._put(len(self.starts), *columns)

    @property
    def is_writable(self) -> bool:
        """Whether its bytes can be changed (in memory; never in the files)."""
        return not any(block.buffer.readonly for block in self.blocks)

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(self.lasts) - sum(self.starts) + len(self.starts)

    def number(self, address: int, size: int) -> int | None:
        """Return a number in little-endian byte order."""
        data = self.read(address, size)
        return None if data is None else int.from_bytes(data, "little")

    def text(self, address: int, limit: int) -> bytes | None:
        """Return the bytes from an address up to a NUL, which must be among the first ``limit``."""
        data = b""
        while len(data) < limit:
            room = self.room(address + len(data))
            part = self.read(address + len(data), min(room, 256, limit - len(data))) if room else None
            if not part:
                return None
            data += part
            if b"\0" in part:
                return data[: data.index(b"\0")]
        return None

    def room(self, address: int) -> int:
        """Return how many bytes from an address on are in one stretch of a file."""
        index = bisect_right(self.starts, address) - 1
        return max(0, self.lasts[index] - address + 1) if index >= 0 else 0

    def locate(self, address: int, size: int) -> tuple[int, int] | None:
        """Return the file and the offset of a range that is in one stretch."""
        if self.room(address) < size:
            return None
        index = bisect_right(self.starts, address) - 1
        return (self.owners[index], self.offsets[index] + address - self.starts[index]) if index >= 0 else None

    def stretches(self, address: int, size: int) -> list[Stretch]:
        """Return the parts of a range that the files have."""
        parts: list[Stretch] = []
        end, starts = address + size, self.starts
        for index in range(max(0, bisect_right(starts, address) - 1), bisect_left(starts, end)):
            first, last = max(address, starts[index]), min(end - 1, self.lasts[index])
            if first <= last:
                offset = self.offsets[index] + first - starts[index]
                parts.append(Stretch(first, last - first + 1, self.owners[index], offset))
        return parts

    def windows(self, windows: Iterable[tuple[int, int, int]]) -> Extents:
        """Return an address space whose memory is part of this one: windows as (key, address, size).

        The keys ascend and do not overlap. A write through one is seen through the other.
        """
        view = Extents()
        view.blocks = [*self.blocks]
        low, high, owner, move = 1, 0, 0, 0
        for key, address, size in windows:
            if not low <= address <= high - size + 1:
                place = self.locate(address, size)
                if place is not None:  # the next windows are probably in the same stretch
                    owner, move = place[0], place[1] - address
                    low, high = address, address + self.room(address) - 1
            if low <= address <= high - size + 1 and size > 0:
                view._put(len(view.starts), key, key + size - 1, owner, address + move)  # noqa: SLF001 (it is one of these)
                continue
            for part in self.stretches(address, size):
                at = key + part.address - address
                view._put(len(view.starts), at, at + part.size - 1, part.file, part.offset)  # noqa: SLF001
        return view


def _insert(kept: list[Any], stretch: Stretch, file_size: int) -> None:
    """Insert the parts of a stretch that no other has yet, cut to its file."""
    size = min(stretch.size, file_size - stretch.offset, (1 << 64) - stretch.address)
    if size <= 0 or stretch.offset < 0:
        return
    position, end = stretch.address, stretch.address + size
    index = bisect_right(kept, (position, 1 << 64, 0, 0)) - 1
    if index >= 0 and kept[index][1] >= position:
        position = kept[index][1] + 1
    index += 1
    while position < end:
        following = kept[index][0] if index < len(kept) else end
        if following > position:
            last = min(end, following) - 1
            kept.insert(index, (position, last, stretch.file, stretch.offset + position - stretch.address))
            index += 1
        if index >= len(kept):
            break
        position = max(position, kept[index][1] + 1) if following < end else end
        index += following < end
