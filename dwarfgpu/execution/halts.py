"""Where and why a machine that runs comes to a halt: breakpoints, the waves that reach them, and what is told then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.machines.machine import Machine

    Condition = Callable[["Arrival"], Any]

ENDED, BREAKPOINT, FAULT, TRAP, LIMIT, INTERRUPT, STEP, STUCK = (
    "ended", "breakpoint", "fault", "trap", "limit", "interrupted", "step", "stuck",
)  # fmt: skip


class Arrival:
    """Waves of one batch that are about to execute an instruction."""

    def __init__(self, device: Device, batch: WaveBatch) -> None:
        self._device = device
        self._batch = batch
        self.pc = batch.pc

    def __repr__(self) -> str:
        return f"Arrival({self.pc:#x}, {self._batch.count} waves)"

    @property
    def waves(self) -> Any:
        """The indices of the waves in the machine."""
        return self._batch.waves

    @property
    def lanes(self) -> Any:
        """The lanes that execute, as flags ``[wave, lane]``."""
        return executing(self._batch)

    @property
    def machine(self) -> Machine:
        """The machine, with the registers that these waves have now."""
        return self._device.written(self._batch)

    def register(self, name: str) -> Any:
        """Return a register of these waves: ``[wave, lane]`` for v5 and a5, ``[wave]`` for others such as s5."""
        batch, file = self._batch, {"v": self._batch.vector, "a": self._batch.accumulation}.get(name[:1])
        if file is None or not name[1:].isdigit():
            return self.machine.column(name)[batch.waves]
        if int(name[1:]) >= len(file):
            raise UsageError(f"the waves have no register {name}", hint=f"they have {len(file)} of these")
        return np.broadcast_to(file[int(name[1:])], (batch.count, batch.lanes))


class Breakpoint:
    """An address at which waves stop: all that arrive, or those for which a function says so.

    The function takes an `Arrival` and returns True or False, or flags of waves or of lanes (``[wave, lane]``). Lanes
    that do not execute never stop a wave.
    """

    def __init__(self, number: int, address: int, condition: Condition | None = None) -> None:
        self.number = number
        self.address = address
        self.condition = condition
        self.is_enabled = True
        self.hits = 0
        """How often waves have stopped here."""

    def __repr__(self) -> str:
        return f"Breakpoint({self.number}, {self.address:#x})"

    @property
    def reason(self) -> str:
        """Why waves stop here; number 0 is the end of a run."""
        return f"breakpoint {self.number}" if self.number else "the run has come"

    def stopping(self, arrival: Arrival) -> Any:
        """Return the lanes that stop, as flags ``[wave, lane]``."""
        lanes = arrival.lanes
        if self.condition is None:
            return lanes
        answer = np.asarray(self.condition(arrival))
        if answer.ndim == 1:
            answer = answer[:, None]
        return lanes & answer.astype(bool)


@frozen(eq=False)
class Halt:
    """Why and where a machine has come to a halt."""

    kind: str
    """``ended``, ``breakpoint``, ``fault``, ``trap``, ``limit``, ``interrupted``, ``step`` or ``stuck``."""
    reason: str
    """The reason as a text; of a fault or a trap in the words of ROCgdb's library."""
    pc: int | None = None
    lanes: dict[int, int] | None = None
    """The waves that it concerns, by index, with the mask of their lanes."""
    breakpoint: Breakpoint | None = None

    def __str__(self) -> str:
        where = "" if self.pc is None else f" at {self.pc:#x}"
        who = ""
        if self.lanes is not None:
            count = len(self.lanes)
            who = f", {count} wave{'' if count == 1 else 's'}"
        return f"{self.reason}{where}{who}"

    @property
    def waves(self) -> tuple[int, ...]:
        """The indices of the waves that it concerns."""
        return tuple(self.lanes or ())

    @property
    def has_ended(self) -> bool:
        """Whether all waves have ended."""
        return self.kind == ENDED


def executing(batch: WaveBatch) -> Any:
    """Return the executing lanes of a batch as flags ``[wave, lane]``."""
    shape = batch.count, batch.lanes
    return np.ones(shape, bool) if batch.mask is None else np.broadcast_to(batch.mask, shape)


def lane_masks(waves: Any, flags: Any) -> dict[int, int]:
    """Return the masks of lanes of the waves that have a flag."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return {
        int(wave): int.from_bytes(row.tobytes(), "little")
        for wave, row in zip(waves.tolist(), packed, strict=True)
        if row.any()
    }
