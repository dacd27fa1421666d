"""What a debugger stops at: breakpoints, watchpoints and catchpoints, with their numbers, conditions and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.execution.control.watching import Watched, WatchHit
    from dwarfgpu.execution.halts import Breakpoint, Halt
    from dwarfgpu.program.frames.frame import Frame

BREAK, WATCH, READ_WATCH, ACCESS_WATCH, CATCH, DPRINTF = (
    "breakpoint", "hw watchpoint", "read watchpoint", "acc watchpoint", "catchpoint", "dprintf",
)  # fmt: skip
"""The kinds, as ``info breakpoints`` of GDB calls them."""
FAULTS, TRAPS = "fault", "trap"
"""What can be caught."""


class StoppingPoint:
    """A breakpoint, watchpoint or catchpoint of a user. It outlives the machine that it is set in."""

    def __init__(self, number: int, kind: str, text: str) -> None:
        self.number = number
        self.kind = kind
        self.text = text
        """The place, the expression, or what is caught."""
        self.condition: str | None = None
        self.is_temporary = False
        self.is_enabled = True
        self.hits = 0
        self.ignored = 0
        """How often it is still passed over."""
        self.commands: tuple[str, ...] = ()
        self.points: list[Breakpoint] = []
        """Where it is set in the machine that runs now."""
        self.watched: Watched | None = None
        """What a watchpoint watches."""

        self.texts: Callable[[Frame, list[int]], Iterable[str]] | None = None
        """What a dprintf prints in lanes of a frame; it stops no wave."""

    def __repr__(self) -> str:
        return f"StoppingPoint({self.number}, {self.kind}, {self.text})"

    @property
    def addresses(self) -> list[int]:
        """Where it is set."""
        return [point.address for point in self.points]

    def counts(self) -> bool:
        """Count a hit; return whether it stops."""
        self.hits += 1
        if self.ignored:
            self.ignored -= 1
            return False
        return True


class StoppingPoints:
    """All of them, by number."""

    def __init__(self) -> None:
        self.by_number: dict[int, StoppingPoint] = {}
        self.last = 0

    def add(self, kind: str, text: str) -> StoppingPoint:
        """Add one, with the next number."""
        self.last += 1
        point = self.by_number[self.last] = StoppingPoint(self.last, kind, text)
        return point

    def take_back(self, point: StoppingPoint) -> None:
        """Remove the one that was added last, because it could not be set; its number is free again."""
        del self.by_number[point.number]
        self.last = point.number - 1

    def numbered(self, number: int) -> StoppingPoint:
        """Return the one with a number."""
        point = self.by_number.get(number)
        if point is None:
            raise UsageError(f"No breakpoint number {number}.", kind="no_breakpoint")
        return point

    def __iter__(self) -> Iterator[StoppingPoint]:
        return iter(list(self.by_number.values()))


@frozen(eq=False)
class ValueChange:
    """What a watchpoint has seen, as texts."""

    old: str
    new: str


@frozen(eq=False)
class Stop:
    """Where and why a kernel has stopped under a debugger."""

    halt: Halt
    points: tuple[StoppingPoint, ...] = ()
    """The breakpoints, watchpoints or catchpoints that have stopped it."""
    change: ValueChange | None = None
    """What the first of them has seen, if it is a watchpoint."""
    further: tuple[WatchHit, ...] = ()
    """The watchpoints after the first that the same instruction has hit."""
    problem: str | None = None
    """Why a condition had no value, and stopped for that."""
    is_at_start: bool = False
    """Whether going back has come to the earliest time that is known."""
