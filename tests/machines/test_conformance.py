"""The backends that there are, each a member of the suite."""

import numpy as np
import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines import snapshot
from dwarfgpu.machines.described import DescribedMachine, Region
from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.machines.machine import Machine
from dwarfgpu.machines.snapshot import Snapshot
from tests.machines.conformance import BackendConformance

FOLDER = []


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory):
    """Where snapshots are saved, once for each state."""
    FOLDER[:] = [tmp_path_factory.mktemp("states")]


def machine_of(state):
    """Two waves, each in a work-group of its own: the first as it is described, the second with another s0."""
    machine = Machine(state.target)
    machine.add_waves(2, work_group=[[0, 0, 0], [1, 0, 0]], wave_in_group=0)
    for name, value in state.registers.items():
        machine.set_register(name, np.array(value, dtype=np.uint64), 0)
    for name in ("s0", "r0"):
        if name in state.registers:
            machine.set_register(name, state.registers[name] + 1, 1)
    for name, address, data in state.memory:
        machine.memory.map(state.target.space_named(name), address, data)
    return machine


class ProcessOfMachine:
    """What GDB answers about a process, from a machine of the library."""

    has_moved_on = False
    changes = file_changes = 0

    def __init__(self, machine):
        self.machine = machine
        self.ids = machine.ids

    def _register(self, name):
        found = self.machine.register_named(name)
        if found is None:
            raise Refused(f"there is no register {name}")
        return found

    def calls_of(self, name):
        return ()

    def read_register(self, thread, name):
        order = self.machine.target.byte_order
        return int.from_bytes(asked(self.machine.read_register, self._register(name), thread, None), order)

    def write_register(self, thread, name, content):
        register = self._register(name)
        data = content.to_bytes(register.bit_size // 8, self.machine.target.byte_order)
        asked(self.machine.write_register, register, data, thread, None)
        self.changes += 1

    def read_memory(self, thread, space, address, size):
        where = self.machine.target.space_named(space or "none")
        return asked(self.machine.read_memory, where, address, size, thread, None)

    def write_memory(self, thread, space, address, data):
        asked(self.machine.write_memory, self.machine.target.space_named(space or "none"), address, data, thread, None)
        self.changes += 1


def asked(ask, *arguments):
    try:
        return ask(*arguments)
    except DwarfGpuError as error:
        raise Refused(error.message) from None


class TestGdb(BackendConformance):
    """GDB's backend with a process that needs no GDB; `tests.gdb.test_waves` has a real one."""

    backend = GdbBackend

    def make(self, state):
        return GdbBackend(state.target, ProcessOfMachine(machine_of(state)))


class TestDescribed(BackendConformance):
    backend = DescribedMachine

    def make(self, state):
        registers = {state.target.register_named(name).number: value for name, value in state.registers.items()}
        regions = [Region(state.target.space_named(name), at, data) for name, at, data in state.memory]
        return DescribedMachine(state.target, registers, regions)


class TestMachine(BackendConformance):
    backend = Machine

    def make(self, state):
        return machine_of(state)


class TestSnapshotOfJson(BackendConformance):
    backend = Snapshot
    suffix = "json"

    def make(self, state):
        path = FOLDER[0] / f"{id(state)}.{self.suffix}"
        if not path.exists():
            snapshot.save(machine_of(state), path)
        return snapshot.load(path)


class TestSnapshotOfFolder(TestSnapshotOfJson):
    suffix = "dgs"
