"""Which wave has changed last what loops read, such as a lock: found by executing the past of a machine once more.

The order of waves is the same each time. If the past is long, only its beginning is executed again; that is enough
where each wave then waits at a barrier, has ended, or cannot leave its loop, because nothing changes any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.faults.rehearsal import spin_of
from dwarfgpu.machines.protocol import QUIET, LastChange

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.machines.machine import Machine

MOST = (10_000, 200_000, 2_000_000, 20_000_000)
"""So many instructions of waves are executed again: more where fewer do not tell."""
MOST_SECONDS = 6.0
"""So long, in processor time, the past is executed again."""
_STORES_NOTHING = re.compile(
    r"v_|s_(?!store|atomic|buffer|scratch|dcache)|(global|flat|scratch|buffer|ds)_(load|read)_"
)
_EXCHANGES = re.compile(r"(global|flat|buffer)_atomic_(swap|cmpswap)(_b32)?$")


def last_changes(machine: Machine, places: Mapping[int, int]) -> list[LastChange]:
    """Return who has changed memory last, by address and size; nothing where the past is not known.

    Raise `TimeoutError` where executing the past again takes too long.
    """
    past: Any = getattr(machine, "past", None)
    if past is None or not places or not past.is_whole:
        return []
    device = past.device
    present, until = device.executed, process_time() + MOST_SECONDS
    for most in MOST:
        recorder = _Recorder(device, dict(places), machine.ids, until)
        with past.replayed(min(present, most), recorder.observe):
            recorder.settle()
            if device.executed >= present or _goes_on_for_ever(machine, until):
                return [*recorder.changes.values()]
    return []


def _goes_on_for_ever(machine: Machine, until: float) -> bool:
    """Return whether no wave can do anything but wait."""
    for wave, stop in enumerate(machine.all_stops()):
        if stop is None or stop.detail not in QUIET:
            if process_time() > until:
                raise TimeoutError
            if spin_of(machine, wave) is None:
                return False
    return True


class _Recorder:
    """Looks at memory after each instruction."""

    def __init__(self, device: Device, places: Mapping[int, int], ids: list[str], until: float) -> None:
        self.device, self.places, self.ids = device, places, ids
        self._until = until
        self.changes = {address: LastChange(address) for address in places}
        self._values = {address: self._value(address) for address in places}
        self._is_quiet: dict[int, bool] = {}
        """By their address, whether instructions cannot change memory: nothing is compared after those."""
        self._exchanges: dict[int, GpuInstruction | None] = {}
        """By their address, the instructions that exchange a dword and return the old one; None for others."""
        self._before: tuple[WaveBatch, Any, int, list[Any]] | None = None
        """The batch that executes an instruction, its waves, the address, and what the instruction exchanges."""
        self._reached: list[tuple[Any, Any, int]] = []
        """The addresses, the lanes and the size of the accesses of the instruction."""

    def observe(self, batch: WaveBatch) -> bool:
        """Take note of the instruction that a batch is about to execute."""
        pc = batch.pc
        if process_time() > self._until:
            raise TimeoutError
        is_quiet = self._is_quiet.get(pc)
        if is_quiet and self._before is None:
            return False
        self.settle()
        if is_quiet is None:
            self._exchanges[pc] = self._exchange(pc)
            instruction = self.device.instruction(pc)
            may_store = self.device.memory.is_weak or "lds" in (*instruction.modifiers, *instruction.name.split("_"))
            is_quiet = self._is_quiet[pc] = not may_store and bool(_STORES_NOTHING.match(instruction.name))
        if is_quiet:
            self._before = None
            return False
        exchange, given = self._exchanges[pc], []
        if exchange is not None:
            data: Any = exchange.operand("vdata") or exchange.operand("data")
            given = [np.copy(batch.vector[data.index + word]) for word in range(max(data.count, 1))]
        self._before, self._reached = (batch, batch.waves, pc, given), []
        self.device.memory.watch = self._access
        return False

    def _access(self, _space: str, address: Any, mask: Any, size: int) -> None:
        self._reached.append((address, mask, size))

    def settle(self) -> None:
        """Say who has changed what is different now."""
        self.device.memory.watch = None
        for address in self.places:
            value = self._value(address)
            if value != self._values[address]:
                self._values[address] = value
                if self._before is not None:
                    self.changes[address] = self._change(address, *self._before)

    def _value(self, address: int) -> bytes:
        size = self.places[address]
        segment = self.device.memory.memory.segment_of(address, address + size - 1)
        return b"" if segment is None else bytes(segment.data[address - segment.start :][:size])

    def _exchange(self, pc: int) -> GpuInstruction | None:
        instruction = self.device.instruction(pc)
        return instruction if _EXCHANGES.match(instruction.name) and instruction.destinations else None

    def _change(self, address: int, batch: WaveBatch, waves: Any, pc: int, given: list[Any]) -> LastChange:
        flags = np.zeros((len(waves), batch.lanes), bool)
        for reached, mask, size in self._reached:
            inside = (reached <= address) & (address < reached + np.uint64(size))
            flags |= inside if mask is None else inside & mask
        exchange = self._exchanges[pc]
        if exchange is not None:
            old = batch.vector[exchange.destinations[0].index]
            flags &= (old == given[1]) & (given[0] != old) if len(given) > 1 else old != given[0]
        numbers = flags.any(axis=1).nonzero()[0].tolist() or range(len(waves))
        mask = int.from_bytes(np.packbits(flags[numbers[0]], bitorder="little").tobytes(), "little")
        ids = tuple(self.ids[int(waves[number])] for number in numbers)
        is_open = exchange is None and "swap" in self.device.instruction(pc).name  # which lanes have succeeded
        return LastChange(address, pc, ids, mask if mask and len(ids) == 1 and not is_open else None)
