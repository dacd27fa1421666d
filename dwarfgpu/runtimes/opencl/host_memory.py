"""Memory of the host that only commands may change for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dwarfgpu.immutable import define, field

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall

_AT_ONCE = 4096


@define(eq=False)
class HostBytes:
    """Bytes of the host, and what they were when they were last looked at."""

    start: int
    known: bytearray
    exchanged: list[range] = field(init=False, factory=list)
    """Those that the command which is executed copies to the host, or from it."""

    def exchange(self, address: int, size: int) -> None:
        """Take note of bytes of the host that a command copies."""
        part = range(max(address - self.start, 0), min(address - self.start + size, len(self.known)))
        if part:
            self.exchanged.append(part)

    async def refresh(self, call: HostCall) -> None:
        """Read the bytes that were copied."""
        for part in self.exchanged:
            self.known[part.start : part.stop] = await call.read(self.start + part.start, len(part))
        self.exchanged.clear()

    async def changes(self, call: HostCall) -> list[int]:
        """Return which bytes the host has changed."""
        now = await call.read(self.start, len(self.known))
        found = [] if now == self.known else _differences(now, self.known)
        self.known[:] = now
        return found

    def end(self) -> None:
        """Called when it is followed no more."""


@define(eq=False)
class HostMemory(HostBytes):
    """The memory of the host that an object uses; kernels access that of the device (OpenCL API 3.0, 5.2.1)."""

    device: memoryview
    """What kernels have."""
    is_result: bool
    """Whether kernels only write it, so that it is meant for the host."""
    name: Callable[[], str]
    """Returns how messages name the object."""
    report: Callable[[str, HostCall | None], object]
    maps: int = 0
    """How often it is mapped for writing."""
    unseen: HostCall | None = None
    """The launch that has changed it, if no command has used it since."""

    async def check(self, call: HostCall) -> None:
        """Report what the host has written without a map, so that kernels do not see it (OpenCL API 3.0, 5.5.4)."""
        if self.maps:
            return
        changed = [at for at in await self.changes(call) if self.known[at] != self.device[at]]
        if changed:
            message = (
                f"the host writes {bytes_text(changed)} of the memory that {self.name()} uses without a map for it"
            )
            self.report(message, call.doing)

    def launched(self, call: HostCall, before: bytes) -> None:
        """Take note of a launch."""
        if self.is_result and before != self.device:
            self.unseen = call

    def end(self) -> None:
        """Report results that nothing has shown to the host."""
        changed = [] if self.unseen is None else _differences(bytes(self.device), self.known)
        if changed:
            message = (
                f"no map or read shows the host {bytes_text(changed)} of {self.name()}, which a kernel has written"
            )
            self.report(message, self.unseen)


def bytes_text(changed: list[int]) -> str:
    """Return how messages name bytes."""
    return f"byte {changed[0]}" if len(changed) == 1 else f"bytes {changed[0]} to {changed[-1]}"


def _differences(first: bytes, second: bytes | bytearray) -> list[int]:
    """Return which bytes differ."""
    return [
        at
        for start in range(0, len(first), _AT_ONCE)
        if first[start : start + _AT_ONCE] != second[start : start + _AT_ONCE]
        for at in range(start, min(start + _AT_ONCE, len(first)))
        if first[at] != second[at]
    ]
