"""What a debugger stops at: breakpoints, watchpoints and catchpoints, with their numbers, conditions and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.backends.running.halts import Breakpoint

BREAK, WATCH, READ_WATCH, ACCESS_WATCH, CATCH = (
    "breakpoint", "hw watchpoint", "read watchpoint", "acc watchpoint", "catchpoint",
)  # fmt: skip
"""The kinds, as ``info breakpoints`` of GDB calls them."""


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
        self.watched: Any = None
        """What a watchpoint watches."""

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

    def numbered(self, number: int) -> StoppingPoint:
        """Return the one with a number."""
        point = self.by_number.get(number)
        if point is None:
            raise UsageError(f"No breakpoint number {number}.", kind="no_breakpoint")
        return point

    def __iter__(self) -> Any:
        return iter(list(self.by_number.values()))
