"""The registers of waves that run, read where they are, so that nothing is copied for a question about few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError
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
        self.inputs: Inputs | None = None
        """Takes notice of what is read, if it is asked to."""
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
        if self.inputs is not None:
            self.inputs.add_register(register, wave, data)
        if data is None:
            raise register_unavailable(register)
        return data

    def contents_of(self, register: TargetRegister, wave: int) -> bytes | None:
        """Return the bytes of a register of a wave; None where it has none here."""
        row = self._rows.get(wave)
        return None if self.batch is None or row is None else contents(self.batch, register, row)

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        if self.inputs is not None:
            return self.inputs.read_memory(space, address, size, wave, lane)
        return self.machine.read_memory(space, address, size, wave, lane)

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        if self.inputs is not None:
            return self.inputs.gather_memory(space, addresses, size, waves, lanes, count)
        return self.machine.gather_memory(space, addresses, size, waves, lanes, count)

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        batch = self.batch
        self.read.add(register.name)
        row = self._rows.get(waves) if type(waves) is int else None
        data = None if batch is None or row is None else contents(batch, register, row)
        if self.inputs is not None and data is not None and type(waves) is int:
            self.inputs.add_register(register, waves, data)
        if data is None:  # one by one, or for the reason of each
            return super().gather_register(register, offsets, size, waves, lanes, count)
        whole = np.frombuffer(data, np.uint8)
        starts = np.broadcast_to(np.asarray(offsets, np.int64), (count,))
        is_inside = starts + size <= len(whole)
        places = np.minimum(starts[:, None] + np.arange(size), len(whole) - 1)
        return whole[places], is_inside


class Inputs:
    """The contents of registers and memory that a value comes from."""

    def __init__(self, registers: BatchRegisters) -> None:
        self._registers = registers
        self._machine = registers.machine
        self._of_registers: dict[tuple[TargetRegister, int], bytes | None] = {}
        self._reads: list[tuple[AddressSpace, int, int, int, int | None, bytes]] = []
        self._gathered: list[tuple[AddressSpace, Bits, int, Bits | None, Bits | None, int, Array]] = []
        self.is_whole = True
        """Whether everything that was read is known, and had a value."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read."""
        return self.is_whole and not (self._of_registers or self._reads or self._gathered)

    def add_register(self, register: TargetRegister, wave: int, data: bytes | None) -> None:
        """Take notice of a register that is read."""
        self._of_registers[register, wave] = data
        self.is_whole &= data is not None

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        """Read memory; what follows what was read before is one range with it."""
        was_whole, self.is_whole = self.is_whole, False  # until it has been read
        data = self._machine.read_memory(space, address, size, wave, lane)
        first, before = address, b""
        if self._reads and self._reads[-1][0] is space and self._reads[-1][3:5] == (wave, lane):
            _space, start, length, *_place, known = self._reads[-1]
            if start + length == address:
                first, before = start, known
                self._reads.pop()
        self._reads.append((space, first, size + len(before), wave, lane, before + data))
        self.is_whole = was_whole
        return data

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        """Read memory of several slots; what follows what was read before is one range with it."""
        was_whole, self.is_whole = self.is_whole, False
        rows, known = self._machine.gather_memory(space, addresses, size, waves, lanes, count)
        first, whole = addresses, rows
        if self._gathered and self._gathered[-1][0] is space and self._gathered[-1][3:5] == (waves, lanes):
            _space, start, length, *_place, before = self._gathered[-1]
            if before.shape[0] == count and np.all(np.asarray(start) + length == addresses):
                first, whole = start, np.concatenate((before, rows), axis=1)
                self._gathered.pop()
        self._gathered.append((space, first, whole.shape[1], waves, lanes, count, whole))
        self.is_whole = was_whole and bool(known.all())
        return rows, known

    def are_same(self) -> bool:
        """Return whether everything has the contents that it had."""
        of, machine = self._registers.contents_of, self._machine
        if not all(of(*place) == data for place, data in self._of_registers.items()):
            return False
        try:
            for space, address, size, wave, lane, data in self._reads:
                if machine.read_memory(space, address, size, wave, lane) != data:
                    return False
            for each in self._gathered:
                now, known = machine.gather_memory(*each[:-1])
                if not known.all() or not np.array_equal(now, each[-1]):
                    return False
        except DwarfGpuError:
            return False
        return True


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
