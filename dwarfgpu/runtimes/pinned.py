"""Memory of the host that kernels access: read before each launch; what a launch changes is written behind it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

from dwarfgpu.execution.faults import READ_ONLY
from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.arena import PAGE, Allocation

_LINE = 64
"""The bytes that are written at once, as caches of devices have them."""


@define(eq=False)
class PinnedMemory:
    """A range of addresses of a process."""

    process: int
    """Its number; the memory of this process is used in its place, unless it is read-only."""
    buffer: Allocation
    content: Any = field(init=False)
    """What kernels see."""
    _before: bytes = b""

    def __attrs_post_init__(self) -> None:
        if self._is_in_place:
            memory = (ctypes.c_char * self.buffer.size).from_address(self.buffer.address)
            self.content = memoryview(memory).cast("B")
        else:
            self.content = bytearray(self.buffer.size)

    @property
    def _is_in_place(self) -> bool:
        return self.process == os.getpid() and self.buffer.access != READ_ONLY

    def holds(self, address: int, size: int = 1) -> bool:
        return self.buffer.address <= address and address + size <= self.buffer.address + self.buffer.size

    def fetch(self) -> bool:
        """Read what the host has written; return whether the memory is there."""
        if self._is_in_place:
            return True
        try:
            memory = os.open(f"/proc/{self.process}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                is_there = os.preadv(memory, [self.content], self.buffer.address) == self.buffer.size
            finally:
                os.close(memory)
        except (OSError, OverflowError):
            return False
        self._before = bytes(self.content) if is_there else b""
        return is_there

    def store(self) -> bool:
        """Give the host what has changed since, line by line; return whether it may have changed."""
        if self._before in (self.content, b""):
            return True
        if self.buffer.access == READ_ONLY:
            return False
        try:
            memory = os.open(f"/proc/{self.process}/mem", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return True  # the program has ended
        try:
            for start in self._changed():
                os.pwrite(memory, self.content[start : start + _LINE], self.buffer.address + start)
        except OSError:
            pass  # `fetch` says so
        finally:
            os.close(memory)
        return True

    def _changed(self) -> Iterator[int]:
        """Yield where the lines begin that a launch has changed."""
        for page in range(0, self.buffer.size, PAGE):
            if self._before[page : page + PAGE] == self.content[page : page + PAGE]:
                continue
            for start in range(page, min(page + PAGE, self.buffer.size), _LINE):
                if self._before[start : start + _LINE] != self.content[start : start + _LINE]:
                    yield start
