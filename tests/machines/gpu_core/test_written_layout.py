"""What the writer writes, read by a description of the layout that shares nothing with it."""

import struct
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.machines.gpu_core.writing import CoreForm, write_host
from dwarfgpu.machines.protocol import WaveStop
from tests.builders.core_layout import HARDWARE, Bytes, read_waves
from tests.builders.gpu_cores import PROCESSORS, filled, written


def waves_of(folder, machine, kind="merged", **more):
    paths = written(folder, machine, kind=kind, **more)
    return read_waves(Bytes(*(Path(path).read_bytes() for path in paths)))


def partner(machine, wave):
    """The wave of the machine that a wave of the file is: by its work-group and its number in that."""
    for index in range(machine.wave_count):
        _dispatch, group, number = machine.place_of(index)
        if (group, number) == (wave["group"], wave["number"]):
            return index
    raise AssertionError(wave)


def value_of(machine, name, wave):
    register = machine.register_named(name)
    data = machine.read_register(register, wave, None)
    if register.lane_bits:
        return struct.unpack(f"<{len(data) // 4}I", data)
    return int.from_bytes(data, "little")


@pytest.mark.parametrize("xccs", [1, 2])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_another_reader_reads_each_register_and_each_byte_of_memory(processor, xccs, tmp_path):
    machine = filled(processor)
    form = CoreForm(xccs=xccs, engines=2, has_events=True, r_version=12)
    waves = waves_of(tmp_path, machine, form=form)
    assert len(waves) == machine.wave_count
    own_scratch = processor.startswith(("gfx942", "gfx950", "gfx11", "gfx12"))
    for wave in waves:
        index = partner(machine, wave)
        names = [register.name for file in machine.files for register in file.registers]
        for name in names:
            if not (name == "flat_scratch" and own_scratch):
                assert wave[name] == value_of(machine, name, index), name
        assert (wave["is_stopped"], wave["trap"], wave["packet"]) == (True, 0, 0)
        assert wave["is_first"] == (wave["number"] == 0)
        assert wave["is_last"] == (wave["number"] == 1)
        local = machine.target.space_named("local")
        if wave["is_first"]:
            assert wave["lds"][:768] == machine.read_memory(local, 0, 768, index, None)
        private = machine.target.space_named("private_wave")
        assert wave["scratch"][:3072] == machine.read_memory(private, 0, 3072, index, None)
    assert {wave["xcc"] for wave in waves} == set(range(xccs))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_hardware_registers_have_their_places(processor, tmp_path):
    machine = filled(processor, waves=1, group=1)
    names = HARDWARE[processor.partition("-")[0]]
    for number, name in enumerate(names):
        if name in ("exec", "flat_scratch", "xnack_mask"):
            continue
        machine.set_register(name, 0x1000_0000 + number)
    (wave,) = waves_of(tmp_path, machine)
    for number, name in enumerate(names):
        if name not in ("exec", "flat_scratch", "xnack_mask"):
            assert wave[name] == 0x1000_0000 + number, name


@pytest.mark.parametrize("r_version", [8, 9, 12])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_pc_of_a_wave_is_where_the_version_has_it(processor, r_version, tmp_path):
    machine = filled(processor, waves=2, group=1)
    waves = waves_of(
        tmp_path, machine, form=CoreForm(r_version=r_version), stops=lambda _m, wave: WaveStop(is_stopped=wave == 0)
    )
    for wave in waves:
        assert wave["pc"] == value_of(machine, "pc", partner(machine, wave))
    assert [wave["is_stopped"] for wave in waves] == [True, False]


@pytest.mark.parametrize("trap", [1, 2, 3, 7, 15])
@pytest.mark.parametrize(
    "processor", ["gfx90a", "gfx942", "gfx1030-wave32", "gfx1100-wave64", "gfx1200-wave32", "gfx1250"]
)
def test_the_trap_id_has_its_place(processor, trap, tmp_path):
    machine = filled(processor, waves=1, group=1)
    (wave,) = waves_of(tmp_path, machine, form=CoreForm(r_version=12), stops=lambda _m, _w: WaveStop(trap=trap))
    assert wave["trap"] == trap


@pytest.mark.parametrize("kind", ["merged", "pair"])
@pytest.mark.parametrize("sizes", [(120, 64), (128, 64), (136, 80)])
def test_entries_of_the_note_may_grow(kind, sizes, tmp_path):
    machine = filled("gfx90a", waves=2)
    form = CoreForm(agent_size=sizes[0], queue_size=sizes[1])
    assert len(waves_of(tmp_path, machine, kind=kind, form=form)) == 2


@pytest.mark.parametrize("address", [(1 << 64) - 4, 1 << 64, -8])
def test_memory_behind_the_last_address_has_no_place(address):
    """The addresses of program headers have 64 bits (gABI, "Program Header")."""
    contents = SimpleNamespace(host=[(address, bytes(8))], device=[], form=SimpleNamespace(host_notes=b""))
    with pytest.raises(UsageError, match=f"memory of 8 bytes at {address:#x} has no place in a core file"):
        write_host(BytesIO(), contents)
