"""What a HIP program uses without having ordered it: found among streams, and between a stream and the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.arena import DEVICE, GUARD
from dwarfgpu.runtimes.connection import CLOSED, OPEN
from dwarfgpu.runtimes.hip.work import LEGACY_HANDLES, NON_BLOCKING, PER_THREAD
from dwarfgpu.runtimes.order import ATOMIC, LEGACY, WRITE, HostOrder, Work, shared_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.runtimes.arena import Allocation, Arena
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import HostLaunch
    from dwarfgpu.runtimes.hip.work import HipEvent, HipStream


@define(eq=False)
class ProgramOrder:
    """The order of the calls of a program, where races are looked for."""

    arena: Arena
    streams: Mapping[int, HipStream]
    name_of: Callable[[Allocation], str]
    """Returns how messages name a buffer."""
    problem: Callable[..., object]
    """Reports what is not ordered."""
    order: HostOrder = field(factory=HostOrder)
    _closed: dict[int, tuple[Allocation, Work]] = field(factory=dict)
    """The buffers that the host may not access until some work is done, by their addresses."""

    def _stream(self, call: HostCall, handle: int) -> int:
        if handle in LEGACY_HANDLES:
            return LEGACY
        stream = self.streams.get(handle)
        if stream is not None and stream.flags & NON_BLOCKING:
            self.order.non_blocking.add(handle)
        return handle if handle != PER_THREAD else -id(call.thread)

    # --- Work ---------------------------------------------------------------------------------------------------------

    def begin(self, call: HostCall, handle: int, name: str) -> None:
        """Begin the work that a call gives to a stream."""
        call.work = self.order.issue(self._stream(call, handle), name, call)

    def use(self, call: HostCall, address: int, size: int, kind: str) -> None:
        """Take note of memory of the device that the work of a call uses."""
        if call.work is not None:
            self._use(call.work, address, address + size, kind)

    def end(self, call: HostCall, launch: HostLaunch) -> None:
        """Take note of what the kernel of a call has used."""
        if call.work is None:
            return
        call.work.what = launch.name
        for start, end, kind in launch.touched:
            if start in self.arena:
                self._use(call.work, start, end, {"read": "reads", "write": WRITE}.get(kind, ATOMIC))
                if kind == "write":
                    self.close(call, start)

    def _use(self, work: Work, start: int, end: int, kind: str) -> None:
        for earlier in self.order.use(work, start, end, kind):
            where, buffer = shared_place(self.arena, self.name_of, earlier, start, end)
            message = (
                f"{work.what} {kind} {where}, which {earlier.work.what} in another stream {earlier.kind}: nothing "
                "orders both"
            )
            more = [] if buffer is None else [("allocated", buffer.origin)]
            self.problem("stream-order", message, work.call, ("the other", earlier.work.call), *more)

    def close(self, call: HostCall, address: int) -> None:
        """Keep the host from memory that work writes, until that is done."""
        buffer = self.arena.holding(address)
        if call.work is not None and buffer is not None and buffer.kind != DEVICE and buffer.origin is not None:
            self._closed[buffer.address] = buffer, call.work
            call.protect(buffer.address, buffer.pages, CLOSED)

    # --- What the host waits for --------------------------------------------------------------------------------------

    def synchronize(self, call: HostCall, handle: int | None = None, event: HipEvent | None = None) -> None:
        """Let the host wait for a stream, an event, or everything."""
        if event is not None:
            self.order.synchronize(clock=event.clock)
        else:
            self.order.synchronize(None if handle is None else self._stream(call, handle))
        self._open(call)

    def finish(self, call: HostCall) -> None:
        """Let the host wait for the work of a call, and for what is before it in its stream."""
        if call.work is not None:
            self.order.synchronize(call.work.stream)
            self._open(call)

    def _open(self, call: HostCall) -> None:
        """Let the host access what it has waited for."""
        for address, (buffer, work) in [*self._closed.items()]:
            if work.is_before(self.order.host):
                del self._closed[address]
                if buffer.freed is None:
                    call.protect(buffer.address, buffer.pages, OPEN)

    def record(self, call: HostCall, event: HipEvent, handle: int) -> None:
        """Keep in an event what is done where a stream is."""
        event.clock = self.order.clock(self._stream(call, handle))

    def wait(self, call: HostCall, event: HipEvent, handle: int) -> None:
        """Let a stream wait for an event."""
        self.order.wait(self._stream(call, handle), event.clock)

    def accessed(self, call: HostCall, address: int) -> bool:
        """Report that the host accesses what it has not waited for, and let it; return whether that is so."""
        buffer = self.arena.holding(address)
        if buffer is None or buffer.address not in self._closed or address >= buffer.address + buffer.pages + GUARD:
            return False
        _buffer, work = self._closed.pop(buffer.address)
        message = (
            f"the host accesses byte {address - buffer.address} of {self.name_of(buffer)}, which {work.what} "
            "writes, before it has waited for that"
        )
        more = ("written", work.call), ("allocated", buffer.origin)
        self.problem("host-order", message, call, *more)
        call.protect(buffer.address, buffer.pages, OPEN)
        return True
