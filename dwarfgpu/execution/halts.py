"""Why a machine that runs has come to a halt, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.breakpoints import Breakpoint

ENDED, BREAKPOINT, FAULT, TRAP, LIMIT, INTERRUPT, STEP, STUCK, CHECK = (
    "ended", "breakpoint", "fault", "trap", "limit", "interrupted", "step", "stuck", "check",
)  # fmt: skip
FAILURES = FAULT, TRAP, STUCK
"""The kinds of halts after which a kernel cannot go on as it should."""


@frozen(eq=False)
class ValueChange:
    """What a watchpoint has seen, as texts."""

    old: str
    new: str
    at: int | None = None
    """The first byte in memory that differs, which a text may have left out."""


@frozen(eq=False)
class WatchHit:
    """What a watchpoint has seen of an instruction."""

    point: Breakpoint
    time: int
    """Before the instruction."""
    pc: int
    lanes: dict[int, int]
    change: ValueChange
    is_inside: bool = True
    """Whether the function whose variable it is was executed then, if it is one of a function."""
    has_left: bool = False
    """Whether the wave has left that function."""


@frozen(eq=False)
class Halt:
    """Why and where a machine has come to a halt."""

    kind: str
    """``ended``, ``breakpoint``, ``fault``, ``trap``, ``limit``, ``interrupted``, ``step``, ``stuck`` or ``check``."""
    reason: str
    """The reason as a text; of a fault or a trap in the words of ROCgdb's library."""
    pc: int | None = None
    lanes: dict[int, int] | None = None
    """The waves that it concerns, by index, with the mask of their lanes."""
    points: tuple[Breakpoint, ...] = ()
    """The breakpoints, watchpoints or catchpoints that have stopped them."""
    change: ValueChange | None = None
    """What the first of them has seen, if it is a watchpoint."""
    further: tuple[WatchHit, ...] = ()
    """The watchpoints after the first that the same instruction has hit; at the start, the last stores that changed
    nothing."""
    problem: str | None = None
    """Why a condition had no value, and stopped for that."""
    loop: tuple[int, ...] | None = None
    """The instructions of a loop that waves do not leave, the branch that could leave it first; none of several loops,
    None if waves are in no such loop."""
    is_at_start: bool = False
    """Whether going back has come to the earliest time that is known."""
    finding: Any = None
    """The `NamedFinding` that a check has stopped the waves for."""

    def __str__(self) -> str:
        """Return the reason, the place and the number of waves; the text of a place that waves were to run to."""
        reason = next((point.text for point in self.points if not point.number and point.text), self.reason)
        where = "" if self.pc is None else f" at {self.pc:#x}"
        who = "" if self.lanes is None else f", {len(self.lanes)} wave{'' if len(self.lanes) == 1 else 's'}"
        problem = "" if self.problem is None else f"; the condition has no value: {self.problem}"
        return f"{reason}{where}{who}{problem}"

    def __repr__(self) -> str:
        return f"<Halt {self.kind}: {self}>"

    @property
    def breakpoint(self) -> Breakpoint | None:
        """The first breakpoint that has stopped waves."""
        return self.points[0] if self.points else None

    @property
    def waves(self) -> tuple[int, ...]:
        """The indices of the waves that it concerns."""
        return tuple(self.lanes or ())

    @property
    def has_ended(self) -> bool:
        """Whether all waves have ended."""
        return self.kind == ENDED


def uninterrupted(halt: Halt) -> Halt:
    """Return a halt; after ^C, which stops only the machine, end everything."""
    if halt.kind == INTERRUPT:
        raise KeyboardInterrupt
    return halt


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
