"""Launching kernels: what is in memory and in registers, what is refused, and that a snapshot keeps it all."""

import contextlib
import hashlib
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import dwarfgpu
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.launch import planning
from dwarfgpu.execution.launch.dispatch import initial_state
from dwarfgpu.execution.launch.launch import Launched, launch, machine_for
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.planning import plan
from dwarfgpu.execution.launch.structures import read_object
from dwarfgpu.execution.launch.triton import triton_launch
from dwarfgpu.execution.starting import places
from dwarfgpu.machines import snapshot
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.linking import linked
from dwarfgpu.objfile.elf.loading import load
from dwarfgpu.objfile.kernels.kernel import parse_descriptor, parse_kernel_code
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.targets.resolve import resolve
from tests.builders.commands import run as run_command
from tests.builders.elf import ElfBuilder
from tests.builders.errors import raised
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each

GRID, GROUP = (50, 12, 6), (16, 4, 2)
UNIFORM = (48, 12, 6)
"""A grid without partial work-groups."""
O2 = sorted((FIXTURES / "amdgpu").glob("launch*.O2.co"))
V2 = FIXTURES / "asm/code-object-v2.gfx803.co"
CLRX = FIXTURES / "asm/clrx.gfx801.co"
EVERY = [
    *((path, "everything") for path in sorted((FIXTURES / "amdgpu").glob("launch*.co"))),
    *((path, None) for path in sorted((FIXTURES / "amdgpu").glob("code-object-v*.co"))),
    *((path, None) for path in sorted((FIXTURES / "amdgpu").glob("target.*.co"))),      (V2, None),
    (FIXTURES / "asm/code-object-v3.gfx906.co", None),      (CLRX, None)]  # fmt: skip


def fixture(name: str) -> str:
    return str(FIXTURES / "amdgpu" / f"launch.{name}.co")


def launched(path: Path | str, kernel: str | None = None, **options: Any) -> tuple[Gpu, Launched]:
    (found, *_more) = opened(str(path)).kernels_named([kernel]) if kernel else opened(str(path)).kernels.kernels
    name = found.name
    machine = machine_for(str(path), name)
    given = {"grid": GRID, "work_group": GROUP}
    if found.metadata is not None and found.metadata.reqd_workgroup_size:
        given["work_group"] = found.metadata.reqd_workgroup_size
    if found.metadata is not None and found.metadata.uniform_work_group_size:
        given["grid"] = UNIFORM
    given |= options
    return machine, launch(machine, str(path), name, **given)


def registers_of(machine: Gpu, wave: int) -> dict[str, int | list[int]]:
    """Every register of a wave that is known: a number, or one a lane."""
    found: dict[str, int | list[int]] = {}
    for file in machine.files:
        for register in file.registers:
            if machine.knows(register, wave):
                value = machine.column(register.name)[wave]
                found[register.name] = value.tolist()
    return found


@pytest.mark.parametrize("path, kernel", EVERY, ids=lambda each: each.name if isinstance(each, Path) else "")
def test_a_launch_writes_exactly_the_rows_of_the_state(path, kernel):
    machine, done = launched(path, kernel)
    shape = done.geometry
    assert done.waves == range(shape.wave_count)
    for wave in {0, 1, shape.wave_count // 2, shape.wave_count - 1}:
        place = shape.place(wave)
        expected: dict[str, Any] = {}
        for each in initial_state(done.plan, place):
            row = each.row
            if not row.is_set:
                continue
            if row.kind == "v":
                expected[row.registers] = [*each.words, *[0] * (shape.wave_size - len(each.words))]
            elif row.first is None:
                expected[row.kind] = sum(word << 32 * at for at, word in enumerate(each.words))
            else:
                expected.update({f"{row.kind}{row.first + at}": word for at, word in enumerate(each.words)})
        assert registers_of(machine, wave) == expected
        assert machine.work_group[wave].tolist() == list(place.group)
        assert machine.wave_in_group[wave] == place.wave


def test_places_in_arrays_are_the_places_one_by_one():
    shape = launched(fixture("gfx90a.w64.O2"), "item_x")[1].geometry
    many = places(shape)
    for number in range(shape.wave_count):
        place = shape.place(number)
        assert tuple(int(axis[number]) for axis in many.group) == place.group
        assert (int(many.wave[number]), int(many.number[number])) == (place.wave, number)


def test_registers_are_allocated_as_the_descriptor_says():
    machine, done = launched(fixture("gfx90a.w64.O0"), "everything")
    assert (machine.sgpr.shape, machine.vgpr.shape) == ((len(done.waves), 48), (len(done.waves), 32, 64))
    machine, done = launched(fixture("gfx1100.w32.O2"), "everything")
    assert (machine.sgpr.shape[1], machine.vgpr.shape[2]) == (106, 32)
    machine, _done = launched(fixture("gfx1100.w32.O2"), "group_x")
    for name in ("s2", "s14", "vcc", "m0", "status", "v1"):
        with pytest.raises(EvaluationError, match=f"register {name} "):
            machine.read_register(machine.register_named(name), 0, None)
    found = [
        (path, kernel.name)
        for path in sorted((FIXTURES / "llvm24").glob("*gfx90a*.co"))
        for kernel in opened(str(path)).kernels.kernels
        if kernel.descriptor is not None and kernel.descriptor.vgprs > kernel.descriptor.accum_offset
    ]
    path, name = found[0]
    machine, _done = launched(path, name, grid=(64,), work_group=(64,))
    descriptor = opened(str(path)).kernels_named([name])[0].descriptor
    assert machine.vgpr.shape[1] == descriptor.accum_offset
    assert machine.agpr.shape[1] == descriptor.vgprs - descriptor.accum_offset


def read(machine: Gpu, space: str, address: int, size: int, wave: int = 0, lane: int | None = None) -> bytes:
    return machine.read_memory(machine.target.space_named(space), address, size, wave, lane)


def fields_of(machine: Gpu, kind: str, address: int) -> dict[str, int]:
    found = read_object(machine, machine.target, kind, address)
    assert found.violations == ()
    return {part.name: part.value for part in found.parts}


@pytest.mark.parametrize("path, kernel", EVERY, ids=lambda each: each.name if isinstance(each, Path) else "")
def test_structures_point_to_each_other(path, kernel):
    machine, done = launched(path, kernel)
    places_, start = done.plan.places, done.plan.start
    queue = fields_of(machine, "queue", places_.queue)
    packet = fields_of(machine, "packet", queue["base_address"])
    assert (queue["write_dispatch_id"], queue["read_dispatch_id"], queue["size"]) == (1, 1, 64)
    assert places_.queue >> 32 == places_.queue + 255 >> 32
    assert [packet[f"grid_size_{axis}"] for axis in "xyz"] == list(done.geometry.grid)
    assert [packet[f"workgroup_size_{axis}"] for axis in "xyz"] == list(done.geometry.work_group)
    assert packet["kernarg_address"] == start.kernarg
    signal = fields_of(machine, "signal", packet["completion_signal"])
    assert (signal["kind"], signal["value"]) == (1, 1)
    doorbell = fields_of(machine, "signal", queue["doorbell_signal"])
    assert (doorbell["kind"], doorbell["queue_ptr"]) == (-2 if start.processor.major <= 8 else -1, places_.queue)
    file_kernel = done.plan.kernel
    if file_kernel.code is not None:
        data = read(machine, "global", packet["kernel_object"], 256)
        assert parse_kernel_code(data) == file_kernel.code
        offset = file_kernel.code.kernel_code_entry_byte_offset
        kind = "kernel-code"
    else:
        data = read(machine, "global", packet["kernel_object"], 64)
        assert parse_descriptor(data, file_kernel.descriptor.generation) == file_kernel.descriptor
        offset = file_kernel.descriptor.kernel_code_entry_byte_offset
        kind = "kernel-descriptor"
    assert packet["kernel_object"] + offset == start.entry
    assert "compute_pgm_rsrc1" in fields_of(machine, kind, packet["kernel_object"])
    rest = read_object(machine, machine.target, "packet", queue["base_address"] + 64 * 63)
    assert rest.parts[0].bits[0].meaning == "invalid"


def test_code_is_at_the_program_counter():
    machine, done = launched(fixture("gfx90a.w64.O2"), "group_x")
    code = opened(fixture("gfx90a.w64.O2")).image.read(done.plan.kernel.entry, 16)
    assert read(machine, "global", int(machine.column("pc")[0]), 16) == code
    assert code[:8] == bytes.fromhex("020006c000000000")  # s_load_dwordx2 s[0:1], s[4:5], 0x0


def test_arrays_are_in_memory_and_their_addresses_in_the_kernarg_segment():
    values = np.arange(100, dtype=np.int32)
    machine, done = launched(fixture("gfx90a.w64.O2"), "scratch", args=[values, 7])
    kernarg = int(machine.sgpr[0, 4]) | int(machine.sgpr[0, 5]) << 32
    assert kernarg == done.plan.places.kernarg == machine.dispatches[0].kernarg
    pointer = int.from_bytes(read(machine, "global", kernarg, 8), "little")
    assert read(machine, "global", pointer, 400) == values.tobytes()
    assert read(machine, "global", kernarg + 8, 4) == b"\7\0\0\0"
    machine.write_memory(machine.target.default_space, pointer, b"\xff" * 4, 0, None)  # the array of the caller stays
    assert values[0] == 0


def test_local_and_scratch_memory_are_those_of_the_launch():
    machine, done = launched(
        fixture("gfx90a.w64.O2"), "fixed_size", grid=(16, 4, 2), work_group=(8, 4, 2), dynamic_local=64
    )
    size = done.plan.start.group_segment_size
    assert size == 256 + 64
    assert read(machine, "local", 0, size, wave=1) == bytes(size)
    raised(EvaluationError, read, machine, "local", size, 4, wave=1)
    machine, done = launched(fixture("gfx90a.w64.O2"), "scratch", private_size=100)
    wave_bytes = done.plan.start.scratch.wave_bytes
    assert wave_bytes == 7168  # 100 bytes for each of 64 lanes, in units of 1024
    assert read(machine, "private_wave", 0, wave_bytes, wave=3) == bytes(wave_bytes)
    assert read(machine, "private_lane", 96, 4, wave=3, lane=63) == bytes(4)
    raised(EvaluationError, read, machine, "private_wave", wave_bytes, 4, wave=3)


def test_generic_addresses_reach_the_memories_of_a_launch():
    for name in ("gfx803.w64.O2", "gfx90a.w64.O2", "gfx1200.w32.O2"):
        machine, done = launched(fixture(name), "fixed_size", grid=(8, 4, 2), work_group=(8, 4, 2))
        apertures = done.plan.apertures
        assert read(machine, "generic", apertures.shared + 4, 4) == bytes(4)
        if machine.target.name == "amdgcn-gfx803":
            assert machine.read_apertures(done.plan.places.queue) == apertures


def test_a_second_launch_finds_the_code_loaded():
    path = fixture("gfx90a.w64.O2")
    machine, first = launched(path, "group_x", grid=(128,), work_group=(64,))
    second = launch(machine, path, "item_x", grid=(64,), work_group=(64,))
    assert (first.waves, second.waves, second.id) == (range(2), range(2, 3), 2)
    assert len(machine.code_objects) == 1
    assert machine.code_objects[0].sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert second.plan.load_address == first.plan.load_address
    assert machine.ids == ["1:1:1:1", "1:1:1:2", "1:1:2:1"]
    assert int(machine.column("pc")[2]) == first.plan.load_address + second.plan.kernel.entry
    assert registers_of(machine, 0) == registers_of(launched(path, "group_x", grid=(128,), work_group=(64,))[0], 0)
    other = launch(machine, fixture("gfx90a.w64.O0"), "group_x", grid=(64,), work_group=(64,))
    assert len(machine.code_objects) == 2
    assert other.plan.load_address > first.plan.load_address


def test_launches_that_have_ended_leave_only_their_arrays():
    machine = Gpu(resolve("gfx90a"))
    sizes = set()
    for _number in range(4):
        launch(machine, fixture("gfx90a.w64.O2"), "group_x", grid=(64,), work_group=(64,))
        machine.run()
        memory, store = machine.device.memory.memory, machine.memory.store(machine.target.default_space)
        starts = [start for _instance, start, _size in machine.memory.extents(machine.target.default_space)]
        assert memory.starts == [each.start for each in memory.segments]
        window = [] if memory.window is None else [memory.starts[memory.window]]
        assert memory.starts == sorted([*starts, *window])
        sizes.add((len(starts), len(store.blocks), len(machine.dispatches), len(machine.segments), len(machine.traps)))
    assert len(sizes) == 1
    assert [dispatch.id for dispatch in machine.dispatches] == [4]


def test_a_file_that_has_changed_is_opened_again(tmp_path):
    path = tmp_path / "kernels.co"
    path.write_bytes(Path(fixture("gfx90a.w64.O2")).read_bytes())
    machine = machine_for(str(path), "group_x")
    files = []
    for added in (b"", b"", b"\0"):
        path.write_bytes(path.read_bytes() + added)
        files.append(launch(machine, str(path), "group_x", grid=(64,), work_group=(64,)).plan.file)
        machine.run()
    assert [len(file.image.data) - len(files[0].image.data) for file in files] == [0, 0, 1]
    assert len(machine.code_objects) == 2


def test_files_in_memory_and_kernels_that_require_a_work_group():
    content = Path(fixture("gfx90a.w64.O2")).read_bytes()
    file = opened(content)
    machine = machine_for(file, "group_x")
    launch(machine, file, "group_x", grid=(64,), work_group=(64,))
    assert machine.code_objects[0].sha256 == hashlib.sha256(content).hexdigest()
    assert plan(opened(fixture("gfx90a.w64.O2")), "fixed_size", LaunchOptions(64)).start.geometry.work_group == (
        8,
        4,
        2,
    )


@pytest.mark.parametrize("suffix", ["json", "dgs"])
@pytest.mark.parametrize("path", O2, ids=lambda path: path.name)
def test_a_snapshot_of_a_launch_is_the_same_machine(path, suffix, tmp_path):
    machine, done = launched(path, "everything", grid=(40, 5), args=[np.arange(9, dtype="i4"), -3])
    place = tmp_path / f"snapshot.{suffix}"
    snapshot.save(machine, place)
    again = snapshot.load(place)
    assert (again.target, again.apertures) == (machine.target, machine.apertures)
    assert (again.ids, again.dispatches) == (machine.ids, machine.dispatches)
    assert [code.sha256 for code in again.code_objects] == [code.sha256 for code in machine.code_objects]
    for name in ("dispatch", "work_group", "wave_in_group"):
        assert getattr(again, name).tolist() == getattr(machine, name).tolist()
    for wave in done.waves:
        assert registers_of(again, wave) == registers_of(machine, wave)
    for space in machine.target.spaces():
        if space.alias is None:
            extents = machine.memory.extents(space)
            assert sum(size for *_, size in again.memory.extents(space)) == sum(size for *_, size in extents)
            for owner, address, size in extents:
                assert again.read_memory(space, address, size, owner, None) == machine.read_memory(
                    space, address, size, owner, None
                )


@pytest.mark.slow
@pytest.mark.parametrize("path", [Path(fixture("gfx942.w64.O2")), V2, FIXTURES / "containers/tiny.gfx1100.co"], ids=str)
@given(st.data())
def test_any_bytes_are_launched_or_refused(path, data):
    content = bytearray(path.read_bytes())
    head = st.integers(0, min(2500, len(content) - 1))  # headers, notes, symbols, descriptors
    for at in data.draw(st.lists(st.one_of(head, st.integers(0, len(content) - 1)), max_size=6)):
        content[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DwarfGpuError):
        file = opened(bytes(content))
        for kernel in file.kernels.kernels:
            with contextlib.suppress(DwarfGpuError):
                planned = plan(file, kernel.name, LaunchOptions(70, 64))
                for number in range(planned.geometry.wave_count):
                    initial_state(planned, planned.geometry.place(number))
                launch(machine_for(file, kernel.name), file, kernel.name, grid=(70,), work_group=(64,))


@for_each("kernel, options, message",
    ("nothing", {}, "has no kernel 'nothing'"),
    ("group_x", {"grid": (1 << 33,)}, "the grid size x = 8589934592 does not fit"),
    ("group_x", {"grid": ()}, "a grid has 1 to 3 dimensions"),
    ("group_x", {"grid": "64"}, "grid is '64'"), ("group_x", {"grid": 64, "work_group": 64.0}, "work_group is 64.0"),
    ("group_x", {"grid": np.array([64, 1, 1, 1])}, "a grid has 1 to 3 dimensions, not 4"),
    ("group_x", {"work_group": (512,)}, "a work-group of 512 work-items is too large for group_x"),
    ("group_x", {"work_group": (2000,)}, "a work-group of 2000 work-items does not fit"),
    ("fixed_size", {}, "fixed_size requires work-groups of 8,4,2"),
    ("group_x", {"args": [1, 2]}, "group_x has 1 argument, and 2 values are given"),
    ("group_x", {"args": []}, "no value for out of group_x"),
    ("group_x", {"args": ["x"]}, "argument out (int*) of group_x is a pointer"),
    ("group_x", {"dynamic_local": 65537}, "65537 bytes of local memory do not fit"),
    ("group_x", {"dynamic_local": -1}, "-1 bytes of local memory: the number cannot be negative"),
    ("scratch", {"private_size": 4}, "4 bytes of private memory are not possible for scratch"),
    ("scratch", {"private_size": 1 << 32}, "4294967296 bytes of private memory are not possible for scratch"),
    ("scratch", {"private_size": 1 << 26}, "bytes of scratch memory do not fit: a work-group has 1 waves"))  # fmt: skip
def test_what_cannot_be_launched_leaves_the_machine_alone(kernel, options, message):
    path = fixture("gfx90a.w64.O2")
    machine = machine_for(path, "group_x")
    error = raised(DwarfGpuError, launch, machine, path, kernel, **{"grid": (1024,), "work_group": (64,), **options})
    assert message in error.message
    assert "\n" not in str(error)
    assert (machine.wave_count, machine.dispatches, machine.code_objects) == (0, [], [])
    assert machine.memory.extents(machine.target.default_space) == []
    assert machine.files == []


def test_machines_and_files_that_do_not_fit():
    with pytest.raises(UsageError, match="group_x is for amdgcn-gfx90a, and the machine is amdgcn-gfx942"):
        launch(Gpu(resolve("gfx942")), fixture("gfx90a.w64.O2"), "group_x", grid=(1,), work_group=(1,))
    with pytest.raises(UsageError, match="is for amdgcn-gfx1100-wave32, and the machine is amdgcn-gfx1100-wave64"):
        launch(Gpu(resolve("gfx1100-wave64")), fixture("gfx1100.w32.O2"), "group_x", grid=(1,), work_group=(1,))
    path = str(FIXTURES / "amdgpu/cl-kernels.gfx90a.w64.O0.v5.o")
    name = opened(path).kernels.kernels[0].name
    with pytest.raises(UsageError, match="a file that is not linked cannot be loaded"):
        plan(opened(path), name, LaunchOptions(64, 64))
    file = opened(fixture("gfx1200.w32.O2"))
    assert "65537 work-groups in y do not fit" in str(
        raised(UsageError, plan, file, "group_x", LaunchOptions((1, 65537), (1, 1)))
    )
    assert plan(file, "group_x", LaunchOptions((1, 65536), (1, 1))).geometry.wave_count == 65536


def test_many_waves_do_not_fit_beside_others_and_start_some_at_a_time():
    path = fixture("gfx90a.w64.O0")
    machine = machine_for(path, "everything")
    launch(machine, path, "everything", grid=(64,), work_group=(64,))
    with pytest.raises(UsageError, match=r"the registers and memories of \d+ waves take \d+ bytes"):
        launch(machine, path, "everything", grid=(1 << 26,), work_group=(64,))
    with pytest.raises(UsageError, match="a grid of 16777216 waves does not fit: a machine holds 1048576"):
        launch(machine, path, "everything", grid=(1 << 30,), work_group=(64,))
    assert (machine.wave_count, len(machine.dispatches)) == (1, 1)
    path = fixture("gfx90a.w64.O0")
    machine = machine_for(path, "everything")
    done = launch(machine, path, "everything", grid=(1 << 30,), work_group=(100,), at_once=8)
    assert done.geometry.wave_count == 2 * 10737418 + 1
    assert machine.wave_count == 8
    assert machine.ids == [f"1:1:1:{number}" for number in range(1, 9)]
    assert machine.work_group[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    machine.work_ahead.start(machine)
    assert machine.ids[0] == "1:1:1:9"
    assert machine.work_group[:, 0].tolist() == [4, 4, 5, 5, 6, 6, 7, 7]


def changed(monkeypatch: pytest.MonkeyPatch, file: str, kernel: str, **metadata: Any) -> Any:
    """A code object whose kernel has other metadata."""
    code_object = opened(file)
    (found,) = code_object.kernels_named([kernel])
    other = evolve(found, metadata=evolve(found.metadata, **metadata))
    monkeypatch.setattr(code_object, "kernels_named", lambda _names: (other,))
    return code_object


@for_each(
    "metadata, grid, message",
    ({"uniform_work_group_size": True}, (100,), "group_x does not allow partial work-groups"),
    ({"max_num_workgroups_x": 3}, (256,), "4 work-groups in x are too many for group_x"),
    ({"max_num_workgroups_z": 1}, (64, 1, 2), "2 work-groups in z are too many for group_x"),
    ({"cluster_dims": (2, 1, 1)}, (256,), "gfx90a has no clusters of work-groups"),
)
def test_what_the_metadata_asks(monkeypatch, metadata, grid, message):
    file = changed(monkeypatch, fixture("gfx90a.w64.O2"), "group_x", **metadata)
    assert raised(DwarfGpuError, plan, file, "group_x", LaunchOptions(grid, 64)).message == message


def test_a_name_that_several_kernels_have(monkeypatch):
    file = opened(fixture("gfx90a.w64.O2"))
    both = file.kernels_named(["group_x", "item_x"])
    monkeypatch.setattr(file, "kernels_named", lambda _names: both)
    assert raised(UsageError, plan, file, "k", LaunchOptions(1, 1)).hint == "name one: group_x, item_x"


def test_a_kernel_without_a_descriptor(monkeypatch):
    file = opened(fixture("gfx90a.w64.O2"))
    (found,) = file.kernels_named(["group_x"])
    monkeypatch.setattr(file, "kernels_named", lambda _names: (evolve(found, descriptor=None),))
    assert "the kernel group_x has no descriptor" in str(raised(UsageError, plan, file, "group_x", LaunchOptions(1, 1)))


def test_a_processor_that_is_not_known(monkeypatch):
    file = opened(fixture("gfx90a.w64.O2"))
    found = evolve(planning.find_target(file.image), is_known=False, reason="for a test")
    monkeypatch.setattr(planning, "find_target", lambda *_: found)
    assert "the processor of group_x is unknown" in str(raised(UsageError, plan, file, "group_x", LaunchOptions(1, 1)))


def test_a_wave_size_that_the_processor_has_not(monkeypatch):
    file = opened(fixture("gfx90a.w64.O2"))
    facts = evolve(planning._facts(file, "group_x"), wave_size=32)
    monkeypatch.setattr(planning, "_facts", lambda *_: facts)
    with pytest.raises(UsageError, match="group_x has waves of 32 lanes, which gfx90a does not support"):
        plan(file, "group_x", LaunchOptions(1, 1))


TRITON = "fixtures/llvm24/triton.gfx942.w64.co"
SCALED = {"x_ptr": "arange(1024)", "y_ptr": "ones(1024)", "out_ptr": "zeros(1024)", "n": 1024, "scale": 2}


@pytest.mark.parametrize("args", [SCALED, list(SCALED.values()), [*SCALED.values(), 0, 0]])
def test_arguments_that_the_source_does_not_have_are_null(args):
    machine = machine_for(TRITON, "add_scaled")
    done = launch(machine, TRITON, "add_scaled", grid=1024, work_group=256, args=args)
    notes = ("argument 5, argument 6 of add_scaled are null: the source has no such name",) if len(args) == 5 else ()
    assert done.plan.notes == notes
    assert machine.run().has_ended
    assert done.buffers["out_ptr"][:4].tolist() == [1, 3, 5, 7]
    assert done.buffers[2] is not None
    with pytest.raises(KeyError, match="the buffers are 0: x_ptr, 1: y_ptr, 2: out_ptr"):
        done.buffers["out"]


@for_each("text, local, notes",
    ('{"name": "add_scaled", "shared": 4096, "num_warps": 4, "threads_per_warp": 64}', 4096, 1),
    ('{"name": "add_scaled", "shared": 512, "num_warps": 1, "warp_size": 64}', 512, 0),
    ('{"name": "other", "shared": 4096}', 0, 0),
    ('{"name": "add_scaled", "shared": "4", "num_warps": [], "threads_per_warp": true}', 0, 0),
    ("[1", 0, 0))  # fmt: skip
def test_triton_says_how_large_local_memory_is(tmp_path, text, local, notes):
    path = str(tmp_path / "add_scaled.hsaco")
    (tmp_path / "add_scaled.hsaco").write_bytes(Path(TRITON).read_bytes())
    (tmp_path / "add_scaled.json").write_text(text)
    planned = launch(machine_for(path, "add_scaled"), path, "add_scaled", grid=64, work_group=64).plan
    assert planned.start.group_segment_size == local
    assert len([note for note in planned.notes if "was compiled for 256" in note]) == notes
    given = launch(machine_for(path, "add_scaled"), path, "add_scaled", grid=64, work_group=64, dynamic_local=64)
    assert given.plan.start.group_segment_size == 64


@pytest.mark.parametrize("named", [[], ["add_scaled"]])
def test_triton_names_the_kernel_and_its_work_group(tmp_path, named):
    path, facts = tmp_path / "add_scaled.hsaco", {"name": "add_scaled", "num_warps": 4, "threads_per_warp": 64}
    path.write_bytes(Path(TRITON).read_bytes())
    (tmp_path / "add_scaled.json").write_text(json.dumps(facts))
    done = run_command("run", str(path), *named, "--grid", "1024", *map(str, SCALED.values()), "--print", "out_ptr")
    assert done.stdout.endswith("out_ptr = {1, 3, 5, 7, 9, 11, 13, 15, ...} (1024 float32)\n")
    signature = (
        "tt.func public @add_scaled(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(#a), %n: i32 loc(#b)) {"
    )
    (tmp_path / "add_scaled.ttir").write_text(f"module {{\n  {signature}\n}}\n")
    assert triton_launch(opened(str(path))).arguments == ("x_ptr (!tt.ptr<f32>)", "n (i32)")
    error = run_command("run", str(path), *named).stderr
    assert "add_scaled needs --grid and values for x_ptr, " in error
    assert "--grid 1024 " in error
    assert "(4 programs of 256 work-items)" in error
    (tmp_path / "add_scaled.json").unlink()
    done = run_command("run", str(path), *named, "--grid", "1024")
    message = (
        "needs --work-group and values" if named else "the name of a kernel is missing\nhint: the file has add_scaled"
    )
    assert message in done.stderr


def test_arguments_have_the_names_of_the_source(tmp_path):
    path, facts = tmp_path / "add_scaled.hsaco", {"name": "add_scaled", "num_warps": 4, "threads_per_warp": 64}
    path.write_bytes(Path(TRITON).read_bytes())
    (tmp_path / "add_scaled.json").write_text(json.dumps(facts | {"global_scratch_size": 0, "profile_scratch_size": 0}))
    kinds = {"a": "!tt.ptr<f32>", "b": "!tt.ptr<f32>", "sum": "!tt.ptr<f32>", "count": "i32", "factor": "f32"}
    signature = ", ".join(f"%{name}: {kind} loc(#a)" for name, kind in kinds.items())
    (tmp_path / "add_scaled.ttir").write_text(f"module {{\n  tt.func public @add_scaled({signature}) {{\n}}\n")
    values = [f"{name}={value}" for name, value in zip(kinds, SCALED.values(), strict=True)]
    done = run_command("run", str(path), "--grid", "1024", *values[::-1], "--print", "sum")
    assert done.stdout.endswith("sum = {1, 3, 5, 7, 9, 11, 13, 15, ...} (1024 float32)\n")


FOLDER = Path("fixtures/amdgpu")
OBJECTS = ["cl-kernels.gfx1100.w32.O2.v5.o", "cl-kernels.gfx90a.w64.O0.v5.o", "cl-kernels.gfx90a.w64.O2.v4.o"]
SOURCE = """
__device__ int table_data[4] = {10, 20, 30, 40};
__device__ int *pointers[2] = {table_data + 1, table_data + 3};
extern "C" __device__ __attribute__((noinline)) int twice(int x) { return 2 * x + *pointers[x & 1]; }
__device__ int (*calls[2])(int) = {twice, twice};
extern "C" __global__ void use(int *out) { int i = __builtin_amdgcn_workitem_id_x(); out[i] = calls[i & 1](i); }
extern "C" __device__ int elsewhere(int);
extern "C" __global__ void other(int *out) { out[0] = MISSING; }
"""


def results(path, kernel, output, count=64, **args):
    machine = machine_for(path, kernel)
    done = launch(machine, path, kernel, grid=count, work_group=count, args=args)
    halt = machine.run()
    assert halt.has_ended, halt
    return done.buffers[output].tolist()


@pytest.mark.parametrize("name", OBJECTS)
def test_a_file_that_is_not_linked_runs_as_the_linked_one(name):
    paths = [str(FOLDER / name), str(FOLDER / name.replace(".o", ".co"))]
    first, second = (results(path, "divergent", "out", out="zeros(64)", limit=40) for path in paths)
    assert first == second
    saxpy = (results(path, "saxpy", "y", y="ones(64)", x="arange(64)", a=0.5, n=60) for path in paths)
    assert next(saxpy) == next(saxpy)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_words_with_addresses_and_operands_of_a_table(require_tool, tmp_path, processor):
    clang = require_tool("clang-22")
    head = "#define __device__ __attribute__((device))\n#define __global__ __attribute__((global))\n"
    (tmp_path / "k.hip").write_text(head + SOURCE)
    words = [clang, "-x", "hip", "--offload-device-only", f"--offload-arch={processor}", "-O1", "-g", "-w", "-nogpulib"]
    words += ["-nogpuinc", "--no-gpu-bundle-output", "-fgpu-rdc", "-fvisibility=default", "-S", "k.hip"]
    for missing, name in (("1", "whole"), ("elsewhere(1)", "part")):
        subprocess.run([*words, f"-DMISSING={missing}", "-emit-llvm", "-o", f"{name}.ll"], cwd=tmp_path, check=True)
        target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-O1", "-nogpulib", "-w"]
        subprocess.run([clang, *target, "-c", f"{name}.ll", "-o", f"{name}.o"], cwd=tmp_path, check=True)
    found = results(str(tmp_path / "whole.o"), "use", "out", 8, out="zeros(8)")
    assert found == [2 * i + (40 if i & 1 else 20) for i in range(8)]
    part = str(tmp_path / "part.o")
    machine = machine_for(part, "other")
    with pytest.raises(UsageError, match="is not linked, and elsewhere is not in the file"):
        launch(machine, part, "other", grid=1, work_group=1)


LOADED_AT = 0x7F0000000000
WORD = 24


def data_after_linking(number, *, addend=4, place=1, addends=True):
    """Return what the loaded word of a relocation of `.data` holds, S, P and G + GOT; its symbol is in `.text`."""
    builder = ElfBuilder(type=1, machine=224)
    builder.section(".text", bytes(0x400), flags=6, align=256)
    target = builder.section(".data", bytes(64), flags=3, align=8)
    table = builder.symbols([("here", 0x24, 0, 0, 1, place)])
    builder.relocations(target, table, [(WORD, number, 1, addend)], addends=addends)
    image = Image(linked(Image(builder.build())))
    text, data = (image.section(name).address for name in (".text", ".data"))
    content = load(image, LOADED_AT)
    slot = next(
        (at for at, words in content.items() if words[:8] == (text + 0x24 + LOADED_AT).to_bytes(8, "little")), 0
    )
    word = int.from_bytes(content[data + LOADED_AT][WORD : WORD + 8], "little")
    return word, text + 0x24 + LOADED_AT, data + WORD + LOADED_AT, slot


@for_each("number, formula, shift, bits",
    (0, "0", 0, 64), (1, "S + A", 0, 32), (2, "S + A", 32, 32), (3, "S + A", 0, 64), (4, "S + A - P", 0, 32),
    (5, "S + A - P", 0, 64), (7, "GOT + A - P", 0, 32), (8, "GOT + A - P", 0, 32), (9, "GOT + A - P", 32, 32),
    (10, "S + A - P", 0, 32), (11, "S + A - P", 32, 32), (14, "branch", 0, 16))  # fmt: skip
def test_each_relocation_is_applied_where_the_file_is_loaded(number, formula, shift, bits):
    """AMDGPU usage, "Relocation Records"; that of a branch counts words from its end."""
    word, symbol, place, slot = data_after_linking(number, addend=4)
    values = {"0": 0, "S + A": symbol + 4, "S + A - P": symbol + 4 - place, "GOT + A - P": slot + 4 - place}
    values["branch"] = (symbol + 4 - place - 4) // 4
    assert word == values[formula] >> shift & (1 << bits) - 1


@for_each("number, options, message",
    (6, {}, "R_AMDGPU_ABS32 gives 0x7f0000001028, more than 32 bits"),
    (12, {}, "the relocation of type 12 at .data+0x18 is not one of such files"),
    (13, {}, "the relocation R_AMDGPU_RELATIVE64 at .data+0x18 is not one of such files"),
    (99, {}, "the relocation of type 99 at .data+0x18 is not one of such files"),
    (4, {"place": 0xFFF1}, "the relocation R_AMDGPU_REL32 at .data+0x18 has the distance of a fixed address"),
    (3, {"place": 0}, "here is not in the file"),
    (3, {"addends": False}, "the relocations in .rel.data are of type REL, and AMDGPU's are RELA"))  # fmt: skip
def test_what_cannot_be_applied_is_refused(number, options, message):
    assert message in raised(DwarfGpuError, data_after_linking, number, **options).message


@pytest.mark.parametrize("number", range(60))
def test_damaged_files_are_linked_or_refused(number):
    numbers = random.Random(number)
    data = bytearray((FOLDER / OBJECTS[number % 3]).read_bytes())
    start = numbers.choice((0, len(data) - 64 * 30))
    for _ in range(numbers.randrange(1, 20)):
        data[numbers.randrange(start, len(data))] = numbers.choice((0, 1, 0x7F, 0xFF, numbers.randrange(256)))
    try:
        opened(linked(Image(bytes(data))))
    except DwarfGpuError:
        return


@pytest.mark.parametrize("named", [str, Path, dwarfgpu.open, opened])
def test_a_file_has_a_name_or_is_open(named):
    file = named("dwarfgpu/examples/blur.co")
    machine = machine_for(file, "blur")
    done = launch(machine, file, "blur", grid=64, work_group=64, args=["arange(50)", "zeros(50)", 49])
    machine.run()
    assert done.buffers["out"][:3].tolist() == [0.5, 1, 2]
