"""Why waves stop, and what ends an instruction that cannot be executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import numpy as np

from dwarfgpu.immutable import frozen
from dwarfgpu.machines.protocol import WaveStop

MEMORY_VIOLATION = "MEMORY_VIOLATION"
ADDRESS_ERROR = "ADDRESS_ERROR"
ILLEGAL_INSTRUCTION = "ILLEGAL_INSTRUCTION"
BROKEN = (ArithmeticError, LookupError, TypeError, ValueError)
"""What an instruction raises whose operands make no sense, such as registers that a wave does not have."""
READ_ONLY, WRITE_ONLY, FREED = "read-only", "write-only", "freed"
"""What a buffer is that does not allow all accesses."""


class Pause(IntEnum):
    """What the last instruction of a block asks for in place of the next address."""

    END = -1
    BARRIER = -2
    TRAP = -3
    HALT = -4
    FATAL_HALT = -5
    MESSAGE = -6


@frozen
class NamedBuffer:
    """Memory that faults name: that of an argument, or all that a work-item or a work-group has."""

    name: str
    address: int
    size: int
    padding: int = 0
    """The bytes before and behind it that have no memory."""
    access: str = ""
    """``read-only`` or ``write-only``, if a check is to see that it is; ``freed`` if its memory is no longer there."""

    def holds(self, address: int) -> bool:
        """Return whether an address is inside; that of a buffer without bytes is."""
        return self.address <= address < self.address + max(self.size, 1)

    def distance(self, address: int) -> int:
        """Return how far an address is behind the end, or, as a negative number, before the start; 0 for one inside."""
        return min(address - self.address, 0) or max(address - (self.address + self.size), 0)

    def reach(self, address: int, last: int | None = None) -> str:
        """Return how far outside an access begins, or several on one side do, up to the last."""
        near, far = self.distance(address), self.distance(address if last is None else last)
        side = "before the start" if near < 0 else "past the end"
        if not near and self.address <= address < self.address + self.size:
            across = f"from byte {address - self.address} across the end"
            return across if far == near else f"{across} and up to {abs(far)} bytes {side}"
        if far != near:
            return f"{abs(near)} to {abs(far)} bytes {side}"
        return f"{abs(near)} byte{'s' if abs(near) > 1 else ''} {side}" if near else f"just {side}"

    def where(self, address: int, last: int | None = None) -> str:
        """Return the same with the name and the size of the buffer."""
        if self.access == FREED and self.holds(address):
            return f"in {self.name}, which had {self.size} bytes and was freed"
        return f"{self.reach(address, last)} of {self.name}, which has {self.size} bytes"


def _signed(address: int) -> int:
    return address - (address >> 31 << 32) if 0 <= address < 1 << 32 else address


def _beyond(memory: str, address: int, size: int, option: str) -> tuple[str, bool]:
    """Return where an offset outside of local or private memory is, and whether it is not before the start.

    The high half of the offsets is what negative numbers become.
    """
    start = _signed(address)
    more = f"; {option} gives more" if start >= 0 else ""
    return f"no {memory} at {address:#x} ({NamedBuffer(memory, 0, size).where(start)}{more})", start >= size


class MachineFault(Exception):
    """An instruction that some waves cannot execute. Nothing has been changed."""

    def __init__(
        self,
        detail: str,
        lanes: Any = None,
        *,
        kind: str = "",
        addresses: Any = None,
        describe: Callable[[int], str] | None = None,
    ) -> None:
        self.kind = kind
        """The stop reason in the words of ROCgdb's library; empty where the machine has a reason of its own."""
        self.detail = detail
        super().__init__(self.reason)
        self.lanes = lanes
        """Flags of the waves in the batch that it concerns, or of their lanes, ``[wave, lane]``; None for all."""
        self.addresses = addresses
        """The global addresses that were accessed, one for all or ``[wave, lane]``; None without global memory."""
        self.describe = describe
        """Returns the detail for the address of a wave, where waves have different ones."""
        self.outside: tuple[NamedBuffer, int] | None = None
        """The local or private memory that an address is outside of, and the address."""

    @classmethod
    def of_private(cls, address: int, size: int, lanes: Any) -> MachineFault:
        """Return the fault of lanes that reach beyond the private memory of a work-item, where its stack is."""
        where, is_behind = _beyond("private memory", address, size, "--private-size")
        text = f"{'stack overflow or wrong index: ' if is_behind else ''}{where}"
        fault = cls(text, lanes, kind=MEMORY_VIOLATION)
        fault.outside = NamedBuffer("private memory", 0, size), _signed(address)
        return fault

    @classmethod
    def of_local(cls, address: int, size: int, lanes: Any) -> MachineFault:
        """Return the fault of lanes that reach beyond the local memory of their work-group."""
        fault = cls(_beyond("local memory", address, size, "--dynamic-local")[0], lanes, kind=ADDRESS_ERROR)
        fault.outside = NamedBuffer("local memory", 0, size), _signed(address)
        return fault

    @property
    def reason(self) -> str:
        """Why, in the words of a stopped wave."""
        return ": ".join(filter(None, (self.kind, self.detail)))

    @property
    def waves(self) -> Any:
        """Flags of the waves that it concerns; None for all."""
        return self.lanes if self.lanes is None or self.lanes.ndim == 1 else self.lanes.any(axis=1)

    def stops(self, trap: int | None = None) -> Iterator[WaveStop]:
        """Yield why each wave stops; ``lanes`` has flags of lanes."""
        reasons = (self.kind,) if self.kind else ()
        for wave, flags in enumerate(self.lanes):
            address = self.addresses
            if address is not None and not isinstance(address, int):
                address = int(np.broadcast_to(address, self.lanes.shape)[wave, flags.argmax()])
            mask = int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
            detail = self.detail if self.describe is None or address is None else self.describe(address)
            yield WaveStop(reasons, mask or None, address, detail, trap=trap)


NO_SOURCE = "no public source gives its meaning"
"""Why an instruction is not executed that AMD's documents name, or LLVM alone."""
SOURCES_DIFFER = "public sources differ on its meaning"
"""Why an instruction is not executed that AMD's documents, emulators and tests describe in different ways."""


class UnknownInstruction(Exception):
    """An instruction without a meaning here."""
