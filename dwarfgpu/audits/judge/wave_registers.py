"""The registers of waves that run, read where they are, so that nothing is copied for a question about few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import M0, NOTHING, UNSET, VCC, WaveBatch
from dwarfgpu.machines.protocol import WaveBackend, register_unavailable

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.targets.target import AddressSpace, TargetRegister

_SPECIAL = {"vcc": VCC, "m0": M0}


class BatchRegisters(WaveBackend):
    """A machine that runs, with the registers that a batch of its waves has now. Nothing can be written to it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.target = machine.target
        self.ids = machine.ids
        self.capabilities = machine.capabilities
        self.batch: WaveBatch | None = None
        self.read: set[str] = set()
        """The names of the registers that were read since this was emptied."""
        self._rows: dict[int, int] = {}

    def show(self, batch: WaveBatch) -> None:
        """Have the registers of a batch from now on."""
        self.batch, self.ids = batch, self.machine.ids
        self._rows = {wave: row for row, wave in enumerate(batch.waves.tolist())}
        self.changes += 1

    def program_counter(self, wave: int) -> int | None:
        return None if self.batch is None or wave not in self._rows else self.batch.pc

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        batch = self.batch
        self.read.add(register.name)
        row = self._rows.get(wave)
        if batch is None or row is None:
            raise register_unavailable(register, "the wave is not at this instruction")
        data = contents(batch, register, row)
        if data is None:
            raise register_unavailable(register)
        return data

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        return self.machine.read_memory(space, address, size, wave, lane)

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        return self.machine.gather_memory(space, addresses, size, waves, lanes, count)

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        batch = self.batch
        self.read.add(register.name)
        row = self._rows.get(waves) if type(waves) is int else None
        data = None if batch is None or row is None else contents(batch, register, row)
        if data is None:  # one by one, or for the reason of each
            return super().gather_register(register, offsets, size, waves, lanes, count)
        whole = np.frombuffer(data, np.uint8)
        starts = np.broadcast_to(np.asarray(offsets, np.int64), (count,))
        is_inside = starts + size <= len(whole)
        places = np.minimum(starts[:, None] + np.arange(size), len(whole) - 1)
        return whole[places], is_inside


def contents(batch: WaveBatch, register: TargetRegister, row: int) -> bytes | None:
    """Return the bytes of a register of one wave of a batch; None if nothing has been written to it."""
    column = column_of(batch, register.name)
    if column is None:
        return None
    if register.lane_bits:
        lanes = np.broadcast_to(column, (batch.count, batch.lanes))[row]
        return np.ascontiguousarray(lanes, dtype="<u4").tobytes()
    number = column if isinstance(column, int) else int(column[row if len(column) > 1 else 0, 0])
    size = register.bit_size // 8
    return (int(number) & (1 << register.bit_size) - 1).to_bytes(size, "little")


def column_of(batch: WaveBatch, name: str) -> Any:
    """Return a register of all waves of a batch, as the batch keeps it; None if nothing has been written to it."""
    prefix, digits = name[:1], name[1:]
    value: Any
    if digits.isdigit() and prefix in "va":
        registers = batch.vector if prefix == "v" else batch.accumulation
        value = registers[int(digits)] if int(digits) < len(registers) else NOTHING
        return None if value is NOTHING else value
    if digits.isdigit() and prefix == "s":
        value = batch.scalar[int(digits)] if int(digits) < VCC else UNSET
    elif name == "exec":
        value = batch.exec
    elif name == "pc":
        value = batch.pc
    elif name == "mode":
        value = batch.mode
    else:
        value = batch.scalar[_SPECIAL[name]] if name in _SPECIAL else UNSET
    return None if value is UNSET else value
