"""Memory that a program maps at addresses that it has reserved: a handle has the memory, a piece its place."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.faults import READ_ONLY
from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.arena import DEVICE, Allocation

if TYPE_CHECKING:
    from dwarfgpu.runtimes.device import ProgramDevice

NONE, READ, READ_AND_WRITE = 0, 1, 3
"""``hipMemAccessFlags``."""


@define(eq=False)
class HipMemory:
    """Memory that has no address while it is not mapped."""

    size: int
    properties: bytes
    handle: int = 0
    kept: int = 0
    """Where its content is while it is not mapped; 0 at first."""
    is_mapped: bool = False
    references: int = 1
    """How often it is to be released."""


@define(eq=False)
class Piece:
    """A part of a reservation that has memory."""

    address: int
    memory: HipMemory
    origin: Any
    """The call that mapped it."""
    access: int = NONE

    @property
    def end(self) -> int:
        return self.address + self.memory.size


@define(eq=False)
class Reservation:
    """Addresses that a program has reserved."""

    address: int
    size: int
    pieces: list[Piece] = field(factory=list)
    """By their addresses."""
    buffers: list[Allocation] = field(factory=list)
    """What kernels and copies may access: pieces that touch each other are one buffer."""

    def holds(self, address: int, size: int = 1) -> bool:
        """Return whether some addresses are of these."""
        return self.address <= address and address + size <= self.address + self.size

    def within(self, address: int, size: int) -> list[Piece]:
        """Return the pieces that are some addresses exactly, none if they are not."""
        found = [piece for piece in self.pieces if address <= piece.address and piece.end <= address + size]
        is_whole = all(left.end == right.address for left, right in pairwise(found))
        is_exact = bool(found) and (found[0].address, found[-1].end) == (address, address + size)
        return found if is_whole and is_exact else []

    def update(self, device: ProgramDevice) -> None:
        """Let kernels access what the pieces are now."""
        for buffer in self.buffers:
            device.withdraw(buffer)
        self.buffers = []
        for piece in self.pieces:
            access = READ_ONLY if piece.access == READ else ""
            last = self.buffers[-1] if self.buffers else None
            if piece.access == NONE:
                continue
            if last is not None and last.address + last.size == piece.address and last.access == access:
                last.size += piece.memory.size
            else:
                self.buffers.append(Allocation(piece.address, piece.memory.size, DEVICE, piece.origin, access))
        for buffer in self.buffers:
            device.place(buffer)
