"""What a wave was launched with, asked back bit for bit: from the machine, from snapshots and from core files."""

import random
from pathlib import Path
from typing import Any

from attrs import evolve

import dwarfgpu as dg
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.launch_record import AT_LAUNCH, IN_SEGMENT, LaunchRecord
from dwarfgpu.program.frames.wave import Wave
from dwarfgpu.states.core_writing import write_core
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each

VERSIONS = {  # files by the version of the code object (`e_ident[EI_ABIVERSION]` + 2)
    "V3": "compilers/cl.clang13.gfx900.w64.O2.v5.hsa3.co",   "V4": "compilers/hip.clang13.gfx1030.w32.O2.v4.co",
    "V5": "compilers/hip.clang19.gfx1100.w32.O2.v5.co",      "V6": "amdgpu/cl-kernels.gfx90a.w64.O0.v5.co",
    "V6 wave32": "amdgpu/cl-kernels.gfx1200.w32.O2.v5.co"}  # fmt: skip


def explicit(path: Path, kernel: str) -> Any:
    metadata = opened(str(path)).kernels_named([kernel])[0].metadata
    assert metadata is not None
    return [argument for argument in metadata.args if not argument.is_hidden]


def launched(path: Path, kernel: str, args: Any) -> tuple[Any, Wave]:
    machine = machine_for(str(path), kernel)
    launch(machine, str(path), kernel, grid=64, work_group=64, args=args)
    return machine, dg.open(str(path)).attach(machine)[0]


def check_bytes(record: LaunchRecord, given: bytes, origin: str) -> None:
    assert not record.problems
    arguments = [argument for argument in record.arguments if not argument.is_hidden]
    assert arguments
    for argument in arguments:
        assert argument.data == given[argument.offset : argument.offset + argument.size], argument
        assert (argument.origin, argument.written) == (origin, None)


@for_each("name", *VERSIONS)
def test_each_byte_of_each_argument_is_asked_back(name, tmp_path):
    path = FIXTURES / VERSIONS[name]
    kernel = next(each for each in opened(str(path)).kernels.kernels if explicit(path, each.name)).name
    described = explicit(path, kernel)
    given = random.Random(name).randbytes(max(each.offset + each.size for each in described))
    machine, wave = launched(path, kernel, given)
    record = wave.launch
    assert record.found == "the launch"
    check_bytes(record, given, AT_LAUNCH)
    hidden = {each.name: each.number for each in record.arguments if each.is_hidden}
    assert hidden.get("hidden_group_size_x", 64) == 64
    assert hidden.get("hidden_block_count_x", 1) == 1
    dg.save_snapshot(machine, tmp_path / "state.json")
    (core,) = write_core(wave.stopped, str(tmp_path / "core")).names
    for state in (tmp_path / "state.json", core):
        later = dg.open(str(path)).attach(str(state))[0].launch
        assert later.found is not None
        assert later.found.startswith("the dispatch packet at 0x")
        assert later.kernarg == record.kernarg
        check_bytes(later, given, IN_SEGMENT)


SAXPY = FIXTURES / "amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"


def test_names_types_and_buffers():
    machine, wave = launched(SAXPY, "saxpy", {"x": bytearray(256), "y": bytearray(300), "a": 2.5, "n": 64})
    arguments = {each.name: each for each in wave.launch.arguments}
    assert {name: each.type_name for name, each in arguments.items()} == {
        "y": "float*", "x": "float*", "a": "float", "n": "int"}  # fmt: skip
    around = wave.frame().around(wave.frame().lane(None))
    values = {name: python_value(each.object_in(around)) for name, each in arguments.items()}
    assert values == {"y": arguments["y"].number, "x": arguments["x"].number, "a": 2.5, "n": 64}
    for name, size in (("x", 256), ("y", 300)):
        memory = arguments[name].memory
        assert (memory.address, memory.size, memory.is_buffer) == (arguments[name].number, size, True)
    assert machine.memory_around(arguments["x"].number + 256) is None
    assert wave.launch.argument("n") is wave.launch.argument(3)
    assert wave.launch is wave.launch, "asked once while nothing changes"


def test_what_the_kernel_wrote_to_its_segment_is_no_argument():
    machine, wave = launched(SAXPY, "saxpy", {"x": 0, "y": 0, "a": 2.5, "n": 64})
    address = wave.launch.kernarg + wave.launch.argument("n").offset
    machine.write_memory(machine.target.default_space, address, b"\7\0\0\0", 0, None)
    after = wave.launch.argument("n")
    assert (after.number, after.written, after.origin) == (64, b"\7\0\0\0", AT_LAUNCH)


def test_without_a_packet_registers_tell_only_at_the_first_instruction(tmp_path):
    machine, wave = launched(SAXPY, "saxpy", {"x": 0, "y": 0, "a": 2.5, "n": 64})
    machine.dispatches[0] = evolve(machine.dispatches[0], kernarg=None, packet=None)
    record = wave.launch
    assert record.found is not None
    assert record.found.endswith("at the first instruction of the kernel")
    assert record.argument("n").number == 64
    machine.write_register(machine.target.register_named("pc"), (wave.pc + 4).to_bytes(8, "little"), 0, None)
    record = dg.open(str(SAXPY)).attach(machine)[0].launch
    assert (record.kernarg, record.argument("n").data) == (None, None)
    assert "the arguments are not known: no dispatch packet is known" in record.problems[0]


def test_a_packet_that_a_later_one_replaced_is_not_believed():
    machine, wave = launched(SAXPY, "saxpy", None)
    machine.dispatches[0] = evolve(machine.dispatches[0], kernel="divergent")
    record = wave.launch
    assert record.arguments == ()
    assert "a later packet has overwritten the wave's packet" in record.problems[0]
