"""Watchpoints: memory or a variable of a lane, looked at after each instruction that may change or read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.backends.running import halts
from dwarfgpu.backends.running.memory_access import BUFFER, FLAT, GLOBAL, LOCAL, SCRATCH
from dwarfgpu.program.running.breakpoints import ACCESS_WATCH, READ_WATCH, WATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.backends.running.batch import WaveBatch
    from dwarfgpu.backends.running.device import Device
    from dwarfgpu.program.running.breakpoints import StoppingPoint

PRIVATE = "private"


class Watched:
    """What a watchpoint watches: bytes of memory, or else the text of a value."""

    def __init__(self, wave: int, lane: int, value: Callable[[], str]) -> None:
        self.wave = wave
        self.lane = lane
        self.value = value
        """Gives the value as a text."""
        self.space = ""
        """``global``, ``ds`` or ``private``; empty for what is in registers."""
        self.address = 0
        self.size = 0
        self.data: Callable[[], bytes] | None = None
        """Gives the bytes of the memory."""
        self.text = ""
        """The value when it was last looked at."""
        self.bytes = b""

    def look(self) -> None:
        """Remember what is there now."""
        if self.data is not None:
            self.bytes = self.data()
        self.text = self.value()


class Watcher:
    """Looks at watchpoints while a machine runs."""

    def __init__(self, device: Device, points: list[StoppingPoint], groups: Any) -> None:
        self._device = device
        self._points = points
        self._groups = groups
        self._batch: WaveBatch | None = None
        self._accessed: dict[int, tuple[str, dict[int, int]]] = {}
        self._pc = 0
        self.hit: StoppingPoint | None = None
        self.old = ""
        self.new = ""
        for point in points:
            point.watched.look()

    def access(self, space: str, address: Any, mask: Any, size: int) -> None:
        """Take note of an access of lanes."""
        batch = self._batch
        if batch is None:
            return
        action, extent = self._device.memory.moving
        size = max(size, extent)
        for point in self._points:
            watched = point.watched
            if not watched.space or not point.is_enabled:
                continue
            flags = self._reaching(watched, space, address, size)
            if flags is None:
                continue
            flags = np.broadcast_to(flags, (batch.count, batch.lanes)) & halts.executing(batch)
            if mask is not None:
                flags = flags & mask
            if watched.space == PRIVATE:
                own = np.zeros_like(flags)
                own[batch.waves == watched.wave, watched.lane] = True
                flags = flags & own
            elif watched.space == LOCAL:
                flags = flags & (self._groups[batch.waves] == self._groups[watched.wave])[:, None]
            lanes = halts.lane_masks(batch.waves, flags)
            if lanes:
                known = self._accessed.get(point.number)
                self._accessed[point.number] = (action if known is None else f"{known[0]} {action}", lanes)

    def _reaching(self, watched: Watched, space: str, address: Any, size: int) -> Any:
        memory = self._device.memory
        base = 0
        if watched.space == GLOBAL:
            if space not in (GLOBAL, BUFFER, FLAT):
                return None
        elif space == FLAT:
            base = memory.private_aperture if watched.space == PRIVATE else memory.shared_aperture
        elif space != (SCRATCH if watched.space == PRIVATE else LOCAL):
            return None
        numbers = np.asarray(address).astype(np.uint64)
        first = np.uint64(watched.address + base)
        last = np.uint64(watched.address + base + watched.size - 1)
        return (numbers <= last) & (numbers + np.uint64(size - 1) >= first)

    def observe(self, batch: WaveBatch) -> bool:
        """Look before an instruction at what the one before it has done; return whether waves stop."""
        before, self._batch = self._batch, batch
        pc, self._pc = self._pc, batch.pc
        if before is None:
            return False
        for point in self._points:
            if point.is_enabled and self._triggers(point, before):
                watched = point.watched
                _action, lanes = self._accessed.get(point.number, ("", {watched.wave: 1 << watched.lane}))
                self.old, old = watched.text, watched.bytes
                watched.look()
                self.new = watched.text
                has_changed = self.old != self.new or old != watched.bytes
                if point.kind == WATCH and not has_changed:
                    continue
                if not point.counts():
                    continue
                self.hit = point
                self._device.halt = halts.Halt(halts.STEP, point.kind, pc, lanes)
        self._accessed.clear()
        if self._device.halt is not None:
            self._batch = None
            return True
        return False

    def _triggers(self, point: StoppingPoint, before: WaveBatch) -> bool:
        watched = point.watched
        known = self._accessed.get(point.number)
        if point.kind == READ_WATCH:
            return known is not None and "store" not in known[0].split()
        if point.kind == ACCESS_WATCH and known is not None:
            return True
        if watched.data is not None:
            return bool(watched.data() != watched.bytes)
        if watched.wave not in before.waves:
            return False
        self._device.write_back()
        return bool(watched.value() != watched.text)
