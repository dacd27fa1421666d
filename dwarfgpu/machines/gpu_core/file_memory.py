"""The memory of a process that several files hold together. The files are mapped, and never read as a whole."""

from __future__ import annotations

import mmap
import os
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import MalformedFile
from dwarfgpu.machines.columns import Cells
from dwarfgpu.machines.extents import Extents
from dwarfgpu.regular_files import open_input, watch

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_RESERVE = (
    getattr(mmap, "MAP_NORESERVE", 0x4000 if os.uname().sysname == "Linux" else 0) if os.name == "posix" else 0
)
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
    """The number of the file."""
    offset: int


class FileMemory:
    """Memory by address. Where stretches overlap, the one that was given first is used."""

    def __init__(self, files: Iterable[memoryview], stretches: Iterable[Stretch]) -> None:
        self.blocks = [Cells("|u1", (len(view),), view) for view in files]
        self.store = Extents()
        self.store.blocks = self.blocks
        kept: list[tuple[int, int, int, int]] = []
        for stretch in stretches:
            _insert(kept, stretch, len(self.blocks[stretch.file].buffer))
        starts, lasts, owners, offsets = zip(*kept, strict=True) if kept else ((), (), (), ())
        self.store.starts, self.store.lasts = array("Q", starts), array("Q", lasts)
        self.store.owners, self.store.offsets = array("q", owners), array("q", offsets)

    @property
    def is_writable(self) -> bool:
        """Whether its bytes can be changed (in memory; never in the files)."""
        return not any(block.buffer.readonly for block in self.blocks)

    def read(self, address: int, size: int) -> bytes | None:
        """Return the bytes of a range, if the files have all of them."""
        if address < 0 or size < 0 or address + size > 1 << 64:
            return None
        return self.store.read(address, size)

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
        starts, lasts = self.store.starts, self.store.lasts
        index = bisect_right(starts, address) - 1 if 0 <= address < 1 << 64 else -1
        return max(0, lasts[index] - address + 1) if index >= 0 else 0

    def locate(self, address: int, size: int) -> tuple[int, int] | None:
        """Return the file and the offset of a range that is in one stretch."""
        if not 0 <= address < 1 << 64:
            return None
        index = bisect_right(self.store.starts, address) - 1
        if index < 0 or address + size - 1 > self.store.lasts[index]:
            return None
        return self.store.owners[index], self.store.offsets[index] + address - self.store.starts[index]

    def stretches(self, address: int, size: int) -> list[Stretch]:
        """Return the parts of a range that the files have."""
        parts: list[Stretch] = []
        end = min(address + size, 1 << 64)
        starts, lasts = self.store.starts, self.store.lasts
        index = max(0, bisect_right(starts, address) - 1) if 0 <= address < 1 << 64 else len(starts)
        while index < len(starts) and starts[index] < end:
            first, last = max(address, starts[index]), min(end - 1, lasts[index])
            if first <= last:
                offset = self.store.offsets[index] + first - starts[index]
                parts.append(Stretch(first, last - first + 1, self.store.owners[index], offset))
            index += 1
        return parts

    def windows(self, windows: Iterable[tuple[int, int, int]]) -> Extents:
        """Return an address space whose memory is part of this one: windows as (key, address, size).

        The keys ascend and do not overlap. A write through one is seen through the other.
        """
        starts, lasts, owners, offsets = array("Q"), array("Q"), array("q"), array("q")
        low, high, owner, move = 1, 0, 0, 0
        for key, address, size in windows:
            if not low <= address <= high - size + 1:
                place = self.locate(address, size)
                if place is not None:  # the next windows are probably in the same stretch
                    owner, move = place[0], place[1] - address
                    low, high = address, address + self.room(address) - 1
            if low <= address <= high - size + 1 and size > 0:
                starts.append(key)
                lasts.append(key + size - 1)
                owners.append(owner)
                offsets.append(address + move)
                continue
            for part in self.stretches(address, size):
                at = key + part.address - address
                starts.append(at)
                lasts.append(at + part.size - 1)
                owners.append(part.file)
                offsets.append(part.offset)
        view = Extents()
        view.blocks = [*self.blocks]
        view.starts, view.lasts, view.owners, view.offsets = starts, lasts, owners, offsets
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
