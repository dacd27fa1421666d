"""What commands use without an order: no queue, event, barrier or call that waits comes between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.order import ATOMIC, READ, WRITE, HostOrder, shared_place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.runtimes.arena import Allocation, Arena
    from dwarfgpu.runtimes.device import HostLaunch
    from dwarfgpu.runtimes.opencl.objects import ClCommand, ClEvent, ClQueue
    from dwarfgpu.runtimes.order import Clock, Work

_KINDS = {"read": READ, "write": WRITE}


@define(eq=False)
class CommandOrder:
    """The order of the commands of a program, where races are looked for."""

    arena: Arena
    name_of: Callable[[Allocation], str]
    """Returns how messages name a buffer."""
    problem: Callable[..., object]
    """Reports what is not ordered."""
    order: HostOrder = field(factory=HostOrder)
    _barriers: dict[ClQueue, Clock] = field(factory=dict)
    """What is done behind the last barrier of each queue that is out of order."""
    _all: dict[ClQueue, Clock] = field(factory=dict)
    """What is done behind all commands of a queue."""
    _streams: int = 0

    def begin(self, command: ClCommand, what: str, waits: Sequence[ClEvent]) -> None:
        """Give a command its place: in a queue that is out of order it follows barriers and events only."""
        queue = command.queue
        if queue.is_out_of_order:
            self._streams += 1
            stream = self._streams
        else:
            stream = queue.handle
        self.order.non_blocking.add(stream)
        before = [self._barriers.get(queue, {}), *(event.clock for event in waits)]
        if command.does.is_barrier and queue.is_out_of_order:
            before.append(self._all.get(queue, {}))
        for clock in before:
            self.order.wait(stream, clock)
        command.work = self.order.issue(stream, what, command.call)
        command.clock = self.order.clock(stream)
        whole = self._all.setdefault(queue, {})
        whole |= {each: max(number, whole.get(each, 0)) for each, number in command.clock.items()}
        if command.does.is_barrier:
            self._barriers[queue] = {**whole}

    def use(self, work: Work | None, address: int, size: int, kind: str) -> None:
        """Take note of memory of the device that a command uses."""
        if work is None or address not in self.arena or not size:
            return
        for earlier in self.order.use(work, address, address + size, kind):
            where, buffer = shared_place(self.arena, self.name_of, earlier, address, address + size)
            message = (
                f"{work.what} {kind} {where}, which {earlier.work.what} {earlier.kind}: no queue, event or barrier "
                "orders both"
            )
            more = [] if buffer is None else [("created", buffer.origin)]
            self.problem("command-order", message, work.call, ("the other", earlier.work.call), *more)

    def end(self, work: Work | None, launch: HostLaunch) -> None:
        """Take note of what a kernel has used."""
        for start, end, kind in launch.touched:
            self.use(work, start, end - start, _KINDS.get(kind, ATOMIC))

    def set_by_host(self, event: ClEvent) -> None:
        """Keep in an event of the user what the host knows to be done."""
        event.clock_of_user = {**self.order.host}

    def synchronize(self, clock: Clock) -> None:
        """Let the host know what is done behind a command, or an event."""
        self.order.synchronize(clock=clock)

    def finish(self, queue: ClQueue) -> None:
        """Let the host wait for all commands of a queue."""
        self.order.synchronize(clock=self._all.get(queue, {}))
