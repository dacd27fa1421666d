"""Random machines, and what two machines must have in common to be the same."""

from collections.abc import Iterable
from typing import Any

import hypothesis.strategies as st
import numpy as np

from dwarfgpu.machines.machine import NONE, Dispatch, LoadedCodeObject, Machine
from dwarfgpu.targets.amdgpu.address_spaces import Apertures
from dwarfgpu.targets.resolve import resolve

TARGETS = ("amdgcn-gfx90a:xnack+", "amdgcn-gfx1100-wave32", "amdgcn-gfx1030-wave64", "amdgcn-gfx803", "gfx1250")
REGISTERS = ("pc", "exec", "vcc", "status", "m0", "mode", "s0", "s3", "s63", "s64", "v0", "v1", "v255")
ADDRESSES = st.integers(0, (1 << 64) - 1)
IDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
PLACES = st.tuples(*[st.integers(0, 3)] * 3)


@st.composite
def machines(draw: Any) -> Machine:
    """A machine with a few waves, of which much may be unknown."""
    machine = Machine(resolve(draw(st.sampled_from(TARGETS))))
    count = draw(st.integers(0, 4))
    for number in range(draw(st.integers(0, 2))):
        machine.dispatches.append(
            Dispatch(
                number + 3, draw(st.none() | st.sampled_from(["saxpy", "k\u00e4se"])),
                draw(st.none() | st.just((256, 2, 1))), draw(st.none() | st.just((64, 1, 1))),
                draw(st.none() | ADDRESSES), draw(st.none() | st.just(0x4000)),
            )
        )  # fmt: skip
    if draw(st.booleans()):
        machine.code_objects.append(LoadedCodeObject("/nowhere/k.co", draw(st.none() | ADDRESSES), "ab" * 32))
    if draw(st.booleans()):
        machine.set_apertures(Apertures(5 << 32, 7 << 32))
    known = range(NONE, len(machine.dispatches))
    machine.add_waves(
        count,
        dispatch=[draw(st.sampled_from(known)) for _ in range(count)],
        work_group=[draw(st.just((NONE, NONE, NONE)) | PLACES) for _ in range(count)] or NONE,
        wave_in_group=[draw(st.sampled_from([NONE, 0, 1])) for _ in range(count)],
        ids=[f"1:1:{i}:{draw(IDS)}" for i in range(count)],
    )
    for name in draw(st.lists(st.sampled_from(REGISTERS), unique=True, max_size=6)):
        register: Any = machine.register_named(name)
        for wave in range(count):
            if draw(st.booleans()):
                size = register.bit_size // 8
                machine.write_register(register, draw(st.binary(min_size=size, max_size=size)), wave, None)
    _add_memory(draw, machine)
    return machine


def _add_memory(draw: Any, machine: Machine) -> None:
    groups = machine.groups()
    for name in ("global", "region", "local", "private_wave"):
        space: Any = machine.target.space_named(name)
        instances = {"local": sorted({int(group) for group in groups} - {NONE})}
        for instance in instances.get(name, range(machine.wave_count) if name == "private_wave" else [0]):
            address = draw(st.integers(0, 300))
            for _ in range(draw(st.integers(0, 3))):
                data = draw(st.binary(max_size=20))
                machine.memory.map(space, address, data, instance=instance)
                address += len(data) + draw(st.integers(0, 5))


def contents(machine: Machine) -> dict[str, Any]:
    """All that a machine holds, in a form that can be compared."""
    registers = {}
    for file in machine.files:
        for register in file.registers:
            for wave in range(machine.wave_count):
                if machine.knows(register, wave):
                    registers[register.name, wave] = machine.read_register(register, wave, None)
    memory = {}
    for number in machine.memory.stores:
        space: Any = machine.target.space(number)
        for owner, address, size in machine.memory.extents(space):
            data = machine.memory.read(space, address, size, owner, None)
            memory.update({(space.name, owner, address + i): byte for i, byte in enumerate(data)})
    return {
        "target": machine.target,                   "apertures": machine.apertures,
        "code_objects": machine.code_objects,       "dispatches": machine.dispatches,           "ids": machine.ids,
        "places": np.column_stack([machine.dispatch, machine.work_group, machine.wave_in_group]).tolist(),
        "registers": registers,                     "memory": memory}  # fmt: skip


def in_columns(described: Any, regions: Iterable[tuple[int, int, int]]) -> Machine:
    """A machine of one wave in columns of numpy, with the registers and some memory of a described one."""
    target = described.target
    machine = Machine(target)
    machine.add_waves(1, work_group=(0, 0, 0))
    for register in filter(lambda register: described.knows(register, 0), target.registers()):
        machine.write_register(register, described.read_register(register, 0, None), 0, None)
    for number, address, size in regions:
        space = target.space(number)
        machine.memory.map(space, address, described.read_memory(space, address, size, 0, None))
    return machine
