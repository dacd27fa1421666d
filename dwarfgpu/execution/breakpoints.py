"""Where waves stop: breakpoints, watchpoints and catchpoints, with their numbers, conditions and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.halts import executing

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.gpu import Gpu

    Condition = Callable[["Arrival"], Any]

BREAK, WATCH, READ_WATCH, ACCESS_WATCH, CATCH, DPRINTF = (
    "breakpoint", "hw watchpoint", "read watchpoint", "acc watchpoint", "catchpoint", "dprintf",
)  # fmt: skip
"""The kinds, as ``info breakpoints`` of GDB calls them."""
FAULTS, TRAPS = "fault", "trap"
"""What can be caught."""


class Arrival:
    """Waves of one batch that are about to execute an instruction."""

    def __init__(self, device: Device, batch: WaveBatch) -> None:
        self.device = device
        self.batch = batch
        self.pc = batch.pc

    def __repr__(self) -> str:
        return f"Arrival({self.pc:#x}, {self.batch.count} waves)"

    @property
    def waves(self) -> Any:
        """The indices of the waves in the machine."""
        return self.batch.waves

    @property
    def lanes(self) -> Any:
        """The lanes that execute, as flags ``[wave, lane]``."""
        return executing(self.batch)

    @property
    def machine(self) -> Gpu:
        """The machine, with the registers that these waves have now."""
        return self.device.written(self.batch)

    def register(self, name: str) -> Any:
        """Return a register of these waves: ``[wave, lane]`` for v5 and a5, ``[wave]`` for others such as s5."""
        batch, file = self.batch, {"v": self.batch.vector, "a": self.batch.accumulation}.get(name[:1])
        if file is None or not name[1:].isdigit():
            return self.machine.column(name)[batch.waves]
        if int(name[1:]) >= len(file):
            raise UsageError(f"the waves have no register {name}", hint=f"they have {len(file)} of these")
        return np.broadcast_to(file[int(name[1:])], (batch.count, batch.lanes))


class Breakpoint:
    """Addresses at which waves stop; also a watchpoint or a catchpoint of a user.

    All lanes that arrive stop, or those of which ``holds`` says so: it takes an `Arrival` and returns True or False, or
    flags of waves or of lanes (``[wave, lane]``). Lanes that do not execute never stop a wave. What a user has set
    outlives the machine in which it is set.
    """

    def __init__(
        self,
        number: int,
        addresses: Iterable[int] = (),
        holds: Condition | None = None,
        *,
        kind: str = BREAK,
        text: str = "",
        guard: Callable[[WaveBatch], Callable[[Any], None] | None] | None = None,
    ) -> None:
        self.number = number
        self.addresses = list(addresses)
        self.holds = holds
        self.guard = guard
        """Gives what writes the condition for compiled code, as it is where a batch stands; None where it cannot."""
        self.kind = kind
        self.text = text
        """The place, the expression, or what is caught."""
        self.condition: str | None = None
        self.is_temporary = False
        self.is_enabled = True
        self.hits = 0
        self.is_passed_without_lanes = False
        """Whether a wave has come there without any lane that executes."""
        self.is_reached = False
        """Whether a lane has come there, whatever the condition says."""
        self.ignored = 0
        """How often waves still pass it."""
        self.hit_rule: Callable[[int], bool] | None = None
        """Says at which hits it stops, which are counted from 1; None for all."""
        self.commands: tuple[str, ...] = ()
        self.watched: Any = None
        """What a watchpoint watches (`control.watching.Watched`)."""
        self.texts: Callable[[Any, list[int]], Iterable[str]] | None = None
        """What a dprintf prints in lanes of a frame; it stops no wave."""

    def __repr__(self) -> str:
        return f"Breakpoint({self.number}, {self.kind}, {self.text or [hex(address) for address in self.addresses]})"

    @property
    def address(self) -> int:
        """The first address."""
        return self.addresses[0]

    @property
    def reason(self) -> str:
        """Why waves stop here; number 0 is the end of a run."""
        return f"breakpoint {self.number}" if self.number else "the run has come"

    def stopping(self, arrival: Arrival) -> Any:
        """Return the lanes that stop, as flags ``[wave, lane]``."""
        lanes = arrival.lanes
        if self.holds is None:
            return lanes
        self.is_reached = self.is_reached or bool(lanes.any())
        answer = np.asarray(self.holds(arrival))
        return lanes & (answer[:, None] if answer.ndim == 1 else answer).astype(bool)

    def counts(self) -> bool:
        """Count a hit; return whether it stops."""
        self.hits += 1
        is_passed = self.ignored > 0
        self.ignored -= is_passed
        return not is_passed and (self.hit_rule is None or self.hit_rule(self.hits))


class Breakpoints:
    """The breakpoints of a user, by number."""

    def __init__(self) -> None:
        self.by_number: dict[int, Breakpoint] = {}
        self.last = 0

    def add(self, kind: str, text: str) -> Breakpoint:
        """Add one, with the next number."""
        self.last += 1
        point = self.by_number[self.last] = Breakpoint(self.last, kind=kind, text=text)
        return point

    def take_back(self, point: Breakpoint) -> None:
        """Remove the one that was added last, because it could not be set; its number is free again."""
        del self.by_number[point.number]
        self.last = point.number - 1

    def drop(self, point: Breakpoint) -> None:
        """Remove one, if it is still there."""
        self.by_number.pop(point.number, None)

    def numbered(self, number: int) -> Breakpoint:
        point = self.by_number.get(number)
        if point is None:
            raise UsageError(f"No breakpoint number {number}.", kind="no_breakpoint")
        return point

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(list(self.by_number.values()))
