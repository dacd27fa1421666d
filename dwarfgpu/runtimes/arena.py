"""The memory of a device: one range of addresses, which a program may have mapped at the same place."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right
from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import define

PAGE = 4096
GUARD = 1 << 16
"""The bytes without memory behind each buffer, and in front of the first one."""
BASE = 0x7EA0_0000_0000
"""Where the arena is, if nothing else is there: the sanitizers of clang leave it free."""
SIZES = (1 << 38, 1 << 36, 1 << 34, 1 << 32)
"""How large it can be; a limit of the system can forbid the larger ones."""
_NORESERVE = 0x4000
DEVICE, MANAGED, HOST = "device", "managed", "host"
"""Who may access a buffer: kernels; kernels and the host; both, in memory of the host."""


@define(eq=False)
class Allocation:
    """Memory that a program has allocated."""

    address: int
    size: int
    kind: str
    origin: Any = None
    """The call that allocated it."""
    access: str = ""
    """What kernels may do with it alone: `READ_ONLY` or `WRITE_ONLY`."""
    freed: Any = None
    """The call that freed it; None until then."""
    undefined: bytearray | None = None
    """Which of its bits nothing has written, where that is followed; None if all are defined."""

    @property
    def pages(self) -> int:
        """The bytes of memory that it takes."""
        return -(-max(self.size, 1) // PAGE) * PAGE

    def set_bits(self, address: int, bits: bytes) -> None:
        """Say which bits of some of its bytes are undefined."""
        if self.undefined is None and any(bits):
            self.undefined = bytearray(self.size)
        if self.undefined is not None:
            self.undefined[address - self.address : address - self.address + len(bits)] = bits

    def bits(self, address: int, size: int) -> bytes:
        """Return which bits of some of its bytes are undefined."""
        start = address - self.address
        return bytes(size) if self.undefined is None else bytes(self.undefined[start : start + size])


class Arena:
    """A range of addresses with buffers in its lower half, and code in the upper one. No address is used again."""

    def __init__(self) -> None:
        self.base = BASE
        self.memory = os.memfd_create("dwarfgpu", os.MFD_CLOEXEC)
        for self.size in SIZES:
            try:
                os.ftruncate(self.memory, self.size)
                self._mapping = mmap.mmap(self.memory, self.size, flags=mmap.MAP_SHARED | _NORESERVE)
                break
            except OSError:
                continue
        else:
            hint = "a limit forbids it: `ulimit -v unlimited`"
            raise UsageError(f"{SIZES[-1] >> 30} GiB of addresses for the device cannot be had", hint=hint)
        self._view = memoryview(self._mapping)
        self._top = GUARD
        self._code_top = self.size // 2
        self._starts: list[int] = []
        self.buffers: list[Allocation] = []
        """All that were ever allocated, by their addresses."""

    def __contains__(self, address: int) -> bool:
        return self.base <= address < self.base + self.size

    @property
    def end(self) -> int:
        return self.base + self.size

    def has_code_at(self, address: int) -> bool:
        """Return whether an address is in the upper half, where code and its variables are."""
        return self.base + self.size // 2 <= address < self.end

    def view(self, address: int, size: int) -> memoryview:
        """Return the memory of some addresses."""
        start = address - self.base
        return self._view[start : start + size]

    def allocate(self, size: int, kind: str, origin: Any) -> Allocation | None:
        """Return a new buffer; None if there is no room."""
        buffer = Allocation(self.base + self._top, size, kind, origin)
        if self._top + buffer.pages + GUARD > self.size // 2:
            return None
        self._top += buffer.pages + GUARD
        self._starts.append(buffer.address)
        self.buffers.append(buffer)
        return buffer

    def reserve(self, size: int, alignment: int) -> int:
        """Return addresses for buffers that come and go; 0 if there is no room."""
        start = -(-self._top // alignment) * alignment
        if start + size + GUARD > self.size // 2:
            return 0
        self._top = -(-(start + size + GUARD) // PAGE) * PAGE
        return self.base + start

    def insert(self, buffer: Allocation) -> None:
        """Add a buffer at addresses that are reserved."""
        number = bisect_right(self._starts, buffer.address)
        self._starts.insert(number, buffer.address)
        self.buffers.insert(number, buffer)

    def remove(self, buffer: Allocation) -> None:
        """Forget a buffer."""
        number = self.buffers.index(buffer)
        del self.buffers[number], self._starts[number]

    def place_code(self, size: int, alignment: int) -> int:
        """Return an address for code."""
        start = -(-self._code_top // alignment) * alignment
        self._code_top = -(-(start + size + GUARD) // PAGE) * PAGE
        return self.base + start

    def holding(self, address: int) -> Allocation | None:
        """Return the buffer that an address is in or behind, also a freed one; None where none is, as in code."""
        number = bisect_right(self._starts, address) if address < self.base + self.size // 2 else 0
        return self.buffers[number - 1] if number else None

    def around(self, address: int) -> list[Allocation]:
        """Return the buffer that an address is in or behind, and the one that it is before."""
        number = bisect_right(self._starts, address)
        return self.buffers[max(number - 1, 0) : number + 1]

    def discard(self, buffer: Allocation) -> None:
        """Give the pages of a buffer back to the system."""
        self._mapping.madvise(mmap.MADV_REMOVE, buffer.address - self.base, buffer.pages)

    def move(self, source: int, to: int, size: int) -> None:
        """Move whole pages of memory that is not in use; those that nothing has touched cost nothing."""
        at, end, by = source - self.base, source - self.base + size, to - source
        while at < end:
            try:
                at = os.lseek(self.memory, at, os.SEEK_DATA)
            except OSError:  # nothing was touched from here on
                break
            hole = min(os.lseek(self.memory, at, os.SEEK_HOLE), end)
            if at < hole:
                self._view[at + by : hole + by] = self._view[at:hole]
            at = hole if at < hole else end
        self._mapping.madvise(mmap.MADV_REMOVE, source - self.base, size)
