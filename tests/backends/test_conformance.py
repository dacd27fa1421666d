"""The backends that there are, each a member of the suite."""

from __future__ import annotations

import numpy as np
import pytest

from dwarfgpu.backends import snapshot
from dwarfgpu.backends.described import DescribedMachine, Region
from dwarfgpu.backends.machine import Machine
from dwarfgpu.backends.snapshot import Snapshot
from tests.backends.conformance import BackendConformance

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


class TestDescribed(BackendConformance):
    backend = DescribedMachine

    def make(self, state):
        registers = {
            state.target.register_named(name).number: value for name, value in state.registers.items()
        }
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
