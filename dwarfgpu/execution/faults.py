"""Why waves stop, and what ends an instruction that cannot be executed."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.machines.protocol import WaveStop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORY_VIOLATION = "MEMORY_VIOLATION"
ADDRESS_ERROR = "ADDRESS_ERROR"
ILLEGAL_INSTRUCTION = "ILLEGAL_INSTRUCTION"


class Pause(IntEnum):
    """What the last instruction of a block asks for in place of the next address."""

    END = -1
    BARRIER = -2
    TRAP = -3
    HALT = -4


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

    @classmethod
    def of_private(cls, address: int, size: int, lanes: Any) -> MachineFault:
        """Return the fault of lanes that reach beyond the private memory of a work-item, where its stack is."""
        detail = f"no private memory at {address:#x}"
        if address >= size:
            detail = f"stack overflow: {detail} (a work-item has {size} bytes; --private-size gives more)"
        return cls(detail, lanes, kind=MEMORY_VIOLATION)

    @classmethod
    def of_local(cls, address: int, size: int, lanes: Any) -> MachineFault:
        """Return the fault of lanes that reach beyond the local memory of their work-group."""
        detail = f"no local memory at {address:#x} (a work-group has {size} bytes; --dynamic-local gives more)"
        return cls(detail, lanes, kind=ADDRESS_ERROR)

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


class UnknownInstruction(Exception):
    """An instruction without a meaning here."""
