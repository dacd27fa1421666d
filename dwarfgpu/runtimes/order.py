"""What a program has ordered by streams, events and synchronizations: the happens-before of its host side.

CUDA and HIP programming guides, "Asynchronous Concurrent Execution" and "Stream Synchronization Behavior".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import define, field

if TYPE_CHECKING:
    from dwarfgpu.runtimes.arena import Allocation, Arena

LEGACY = 0
"""The stream that waits for all blocking ones, as these wait for it."""
READ, WRITE, ATOMIC = "reads", "writes", "changes"

Clock = dict[int, int]
"""By stream, up to which number of its work everything is done."""


@define(eq=False)
class Work:
    """A copy, a fill or a launch in a stream."""

    stream: int
    number: int
    known: Clock
    """What is done before it begins."""
    what: str
    call: Any

    def is_before(self, clock: Clock) -> bool:
        """Return whether it is done where a clock is."""
        return clock.get(self.stream, 0) >= self.number


@define(eq=False)
class Access:
    """Memory that some work uses."""

    start: int
    end: int
    kind: str
    work: Work

    def conflicts(self, other: Access) -> bool:
        """Return whether both use the same bytes in a way that needs an order."""
        is_harmless = self.kind == other.kind and self.kind != WRITE
        return not is_harmless and self.start < other.end and other.start < self.end


@define(eq=False)
class HostOrder:
    """The work that a program has given to streams, and what of it is ordered."""

    host: Clock = field(factory=dict)
    """What the host knows to be done."""
    non_blocking: set[int] = field(factory=set)
    """The streams that do not wait for the legacy one."""
    _clocks: dict[int, Clock] = field(factory=dict)
    _accesses: dict[tuple[int, int, int, str], Access] = field(factory=dict)

    def issue(self, stream: int, what: str, call: Any) -> Work:
        """Return new work at the end of a stream."""
        known = dict(self.host)
        before = [stream] if stream in self.non_blocking else [stream, LEGACY]
        if stream == LEGACY:
            before = [each for each in self._clocks if each not in self.non_blocking]
        for each in before:
            _join(known, self._clocks.get(each, {}))
        number = self._clocks.get(stream, {}).get(stream, 0) + 1
        self._clocks[stream] = known | {stream: number}
        return Work(stream, number, known, what, call)

    def use(self, work: Work, start: int, end: int, kind: str) -> Iterator[Access]:
        """Take note of memory that work uses; yield the earlier uses that nothing orders before it."""
        access = Access(start, end, kind, work)
        for key, earlier in [*self._accesses.items()]:
            if earlier.work.is_before(self.host):
                del self._accesses[key]
            elif earlier.work is not work and earlier.conflicts(access) and not earlier.work.is_before(work.known):
                yield earlier
        self._accesses[work.stream, start, end, kind] = access

    def clock(self, stream: int) -> Clock:
        """Return what is done where a stream is now, as an event keeps it."""
        found = dict(self._clocks.get(stream, {}))
        if stream == LEGACY:
            for other, clock in self._clocks.items():
                if other not in self.non_blocking:
                    _join(found, clock)
        return found

    def wait(self, stream: int, clock: Clock) -> None:
        """Let a stream wait for an event."""
        _join(self._clocks.setdefault(stream, {}), clock)

    def synchronize(self, stream: int | None = None, clock: Clock | None = None) -> None:
        """Let the host wait for a stream, for an event, or else for everything."""
        if clock is not None:
            _join(self.host, clock)
            return
        for each in [*self._clocks] if stream is None else [stream]:
            _join(self.host, self.clock(each))


def shared_place(
    arena: Arena, name_of: Callable[[Allocation], str], earlier: Access, start: int, end: int
) -> tuple[str, Allocation | None]:
    """Return how a message says which bytes an access shares with an earlier one, and the buffer they are in."""
    buffer = arena.holding(start)
    first, last = max(start, earlier.start), min(end, earlier.end) - 1
    name, base = ("a variable of the device", start) if buffer is None else (name_of(buffer), buffer.address)
    return f"bytes {first - base} to {last - base} of {name}", buffer


def _join(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        clock[stream] = max(clock.get(stream, 0), number)
