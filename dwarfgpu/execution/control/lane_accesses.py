"""What memory one lane accesses while a machine runs, with what it loads and stores, whatever other lanes do there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import halts
from dwarfgpu.execution.access_shapes import BUFFER, FLAT, GLOBAL, LOCAL, SCRATCH, changed_in_turn
from dwarfgpu.execution.control.watching import PRIVATE
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device

LOAD, STORE, ATOMIC = "load", "store", "atomic"
LOW = (1 << 32) - 1


@frozen
class LaneAccess:
    """An access of one lane."""

    action: str
    kind: str
    """``global``, ``ds`` or ``private``."""
    address: int
    """In memory of this kind."""
    size: int
    data: bytes | None = None
    """What the lane has loaded or stored; None if that is not known, or the lane's own memory has it."""
    old: bytes | None = None
    """What an atomic operation has found."""

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


class LaneAccesses:
    """Is told of the accesses of a machine, and keeps those of one lane.

    The memory of a machine is asked after an instruction, but then it also has what other lanes and waves have stored.
    So what a lane stores is taken from the instruction, and what it loads from memory before the instruction.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory = device.memory
        self._lane: tuple[WaveBatch, int, int] | None = None
        """The batch that executes an instruction, the row of the wave there, and the lane."""
        self._found: list[tuple[LaneAccess, Any]] = []
        """The accesses of the instruction, each with what tells how an atomic operation has changed memory."""
        self._others = self._memory.watch, self._memory.watch_waves
        self._memory.watch, self._memory.watch_waves = self._access, self._access_of_wave

    def end(self) -> None:
        """Be told of no accesses any more, if nobody else has begun to be told meanwhile."""
        self._lane = None
        if self._memory.watch == self._access and self._memory.watch_waves == self._access_of_wave:
            self._memory.watch, self._memory.watch_waves = self._others

    def begin(self, batch: WaveBatch, row: int, lane: int) -> None:
        """Keep the accesses of a lane by the instruction that waves begin."""
        self._lane = batch, row, lane

    def pause(self) -> None:
        """Keep no more accesses, since other waves execute."""
        self._lane = None

    def take(self) -> list[LaneAccess]:
        """Return what the instruction has accessed."""
        found, self._found = self._found, []
        return [self._settled(access, *operands) if operands else access for access, operands in found]

    def _access(self, space: str, address: Any, mask: Any, size: int) -> None:
        others, _waves = self._others
        if others is not None:
            others(space, address, mask, size)
        if self._lane is None:
            return
        batch, row, lane = self._lane
        if not (halts.executing(batch) if mask is None else mask)[row, lane]:
            return
        column = np.asarray(address)
        number = int(column[row if column.shape[0] > 1 else 0, lane if column.shape[1] > 1 else 0])
        (action, _extent), moved = self._memory.moving, self._memory.moved
        kind, place = self._place(space, number)
        data = b"".join(value[row, lane].tobytes() for value in moved) if action == STORE else None
        operands = (*moved, row, lane) if action == ATOMIC and not self._memory.is_weak else ()
        self._keep(action, kind, place, size, data, operands)

    def _access_of_wave(self, space: str, address: Any, size: int, action: str) -> None:
        _lanes, others = self._others
        if others is not None:
            others(space, address, size, action)
        if self._lane is None or action != LOAD:
            return
        batch, row, lane = self._lane
        if halts.executing(batch)[row, lane]:
            numbers = np.asarray(address).reshape(-1)
            self._keep(action, *self._place(space, int(numbers[row if len(numbers) > 1 else 0])), size, None, ())

    def _keep(self, action: str, kind: str, address: int, size: int, data: bytes | None, operands: Any) -> None:
        if action == LOAD:
            data = self._bytes(kind, address, size)
        self._found.append((LaneAccess(action, kind, address, size, data), operands))

    def _place(self, space: str, number: int) -> tuple[str, int]:
        """Return the kind of memory that an address of a space leads to, and the address there."""
        assert self._lane is not None  # noqa: S101 (the callers have looked)
        batch, row, lane = self._lane
        return place_in(self._device, space, number, int(batch.waves[row]), lane)

    def _bytes(self, kind: str, address: int, size: int) -> bytes | None:
        """Return what memory has now; None if a load takes time, and may find something else."""
        assert self._lane is not None  # noqa: S101 (the callers have looked)
        batch, row, lane = self._lane
        if kind == PRIVATE:
            return self._memory.private_bytes(int(batch.waves[row]), lane, address, size) or None
        if self._memory.is_weak:
            return None
        if kind == LOCAL:
            start = int(self._memory.group_of[batch.waves[row]]) * self._memory.local_size + address
            return bytes(self._memory.local.data[start : start + size].tobytes())
        segment = self._memory.memory.segment_of(address, address + size - 1)
        if segment is None:
            return None
        return bytes(segment.data[address - segment.start : address - segment.start + size].tobytes())

    @staticmethod
    def _settled(access: LaneAccess, shape: Any, data: Any, other: Any, result: Any, row: int, lane: int) -> LaneAccess:
        """Return an access with what an atomic operation has found and stored."""
        one = result[row : row + 1, lane].copy()
        old = one.tobytes()
        values = (None if value is None else value[row : row + 1, lane].astype(one.dtype) for value in (data, other))
        changed_in_turn(one, np.zeros(1, np.intp), shape, *values)
        return LaneAccess(access.action, access.kind, access.address, access.size, one.tobytes(), old)


def place_in(device: Device, space: str, number: int, wave: int, lane: int) -> tuple[str, int]:
    """Return the kind of memory that an address of a space leads to in a lane, and the address there."""
    memory = device.memory
    if space == FLAT:
        kinds = {memory.private_aperture >> 32: PRIVATE, memory.shared_aperture >> 32: LOCAL}
        kind = kinds.get(number >> 32, GLOBAL)
        return kind, number if kind == GLOBAL else number & LOW
    if space in (SCRATCH, PRIVATE, LOCAL):
        return LOCAL if space == LOCAL else PRIVATE, number & LOW
    assert space in (GLOBAL, BUFFER)  # noqa: S101 (there are no others)
    # dwords of all lanes take turns in the private memory of a wave, which is somewhere in global memory, too
    place, line = number - (memory.scratch_base + wave * memory.scratch_size), 4 * memory.lanes
    if 0 <= place < memory.scratch_size and place % line // 4 == lane:
        return PRIVATE, place // line * 4 + place % 4
    return GLOBAL, number
