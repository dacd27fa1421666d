"""The waves of GPU core files: registers, places, memory, reasons, and what is said of damaged files."""

import struct
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from dwarfgpu.errors import EvaluationError, MalformedFile
from dwarfgpu.machines.gpu_core.core_waves import FEW, SavedGpu, read_gpu_core
from dwarfgpu.machines.gpu_core.layout import FAMILIES, family_of, shape_of
from dwarfgpu.machines.gpu_core.note import AQL, SDMA, QueueEntry
from dwarfgpu.machines.gpu_core.stop_reasons import reasons_of
from dwarfgpu.machines.gpu_core.writing import CoreForm
from dwarfgpu.machines.protocol import REASONS, WaveStop
from dwarfgpu.regular_files import forget_changed_mappings
from dwarfgpu.states.gpu_cores import open_core_files, open_core_waves
from dwarfgpu.targets.resolve import resolve
from tests.builders.core_layout import Bytes
from tests.builders.gpu_cores import LOAD_ADDRESS, PROCESSORS, filled, written
from tests.builders.parameters import every, for_each
from tests.machines.conformance import BackendConformance
from tests.machines.test_conformance import machine_of

FOLDER = []


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory):
    FOLDER[:] = [tmp_path_factory.mktemp("cores")]


def core_of(folder, machines, kind="merged", **more):
    files = open_core_files(written(folder, machines, kind=kind, **more))
    return read_gpu_core(files.state, files.memory)


def only(core) -> SavedGpu:
    (machine,) = core.machines
    return machine


def texts(core):
    return [str(problem) for problem in core.problems]


def place_in(machine, other, wave):
    """The wave of a machine at the place of a wave of another."""
    place = other.place_of(wave)[1:]
    return next(index for index in range(machine.wave_count) if machine.place_of(index)[1:] == place)


@every(kind=["merged", "pair"], processor=PROCESSORS)
def test_a_machine_survives_being_written_and_read(processor, kind, tmp_path):
    machine = filled(processor)
    found = only(core_of(tmp_path, machine, kind, form=CoreForm(xccs=2, engines=2, has_events=True)))
    assert found.target.name == machine.target.name
    assert found.wave_count == machine.wave_count
    for wave in range(found.wave_count):
        index = place_in(machine, found, wave)
        for file in machine.files:
            for register in file.registers:
                if register.name != "flat_scratch":
                    assert found.read_register(register, wave, None) == machine.read_register(register, index, None)
        for name, size in (("local", 768), ("private_wave", 3072), ("private_lane", 40)):
            space = machine.target.space_named(name)
            assert found.read_memory(space, 0, size, wave, 3) == machine.read_memory(space, 0, size, index, 3)
        assert found.read_memory(machine.target.default_space, LOAD_ADDRESS, 64, wave, None) == machine.read_memory(
            machine.target.default_space, LOAD_ADDRESS, 64, 0, None
        )


@every(group=[1, 2], processor=["gfx90a", "gfx1100-wave32"])
def test_one_gather_reads_what_single_accesses_read(processor, group, tmp_path):
    found = only(core_of(tmp_path, filled(processor, waves=10, group=group)))
    lanes = found.target.lane_count
    count = found.wave_count * lanes
    waves, lane = (
        np.repeat(np.arange(found.wave_count, dtype=np.uint64), lanes),
        np.tile(np.arange(lanes, dtype=np.uint64), found.wave_count),
    )
    for name in ("v5", "s3", "exec", "pc", "ttmp6", "vcc", "v13"):
        register = found.register_named(name)
        size = 4
        offsets = lane * np.uint64(4) if register.lane_bits else 0
        rows, known = found.gather_register(register, offsets, size, waves, None, count)
        for slot in range(0, count, 7):
            if not known[slot]:
                with pytest.raises(EvaluationError):
                    found.read_register(register, int(waves[slot]), None)
                continue
            start = int(lane[slot]) * 4 if register.lane_bits else 0
            assert rows[slot].tobytes() == found.read_register(register, int(waves[slot]), None)[start : start + size]
    for name in ("private_lane", "local"):
        space = found.target.space_named(name)
        rows, known = found.gather_memory(space, 12, 8, waves, lane, count)
        assert known.all()
        for slot in range(0, count, 11):
            assert rows[slot].tobytes() == found.read_memory(space, 12, 8, int(waves[slot]), int(lane[slot]))


def test_waves_are_named_by_agent_queue_dispatch_and_number(tmp_path):
    first, second = filled("gfx90a", waves=4), filled("gfx1100-wave32", waves=2)
    first.ids = ["1:1:1:1", "1:1:1:2", "1:2:1:3", "1:2:1:4"]
    extra = (QueueEntry(queue_type=SDMA, gpu_id=1),)
    core = core_of(tmp_path, [first, second], form=CoreForm(extra_queues=extra))
    names = [machine.ids for machine in core.machines]
    assert names == [["1:2:1:1", "1:2:1:2", "1:3:2:3", "1:3:2:4"], ["2:4:3:5", "2:4:3:6"]]
    assert [queue.wave_count for queue in core.queues] == [0, 2, 2, 2]
    assert [machine.target.name for machine in core.machines] == ["amdgcn-gfx90a", "amdgcn-gfx1100-wave32"]


def test_machines_dispatches_and_groups_of_waves(tmp_path):
    core = core_of(tmp_path, [filled("gfx1030-wave32"), filled("gfx1030-wave64")])
    assert [machine.target.lane_count for machine in core.machines] == [32, 64]
    core = core_of(tmp_path, filled("gfx90a"))
    (dispatch,), (packet,) = core.dispatches, core.packets
    assert (dispatch.grid, dispatch.work_group) == ((384, 1, 1), (128, 1, 1))
    assert (packet.index, packet.number, packet.header & 0xFF == 2, packet.is_outside) == (0, 0, True, False)
    machine = filled("gfx90a", waves=6, group=3)
    found = only(core_of(tmp_path, machine))
    assert list(found.group_numbers) == [0, 0, 0, 3, 3, 3]
    local = found.target.space_named("local")
    assert found.read_memory(local, 0, 8, 1, None) == found.read_memory(local, 0, 8, 0, None)
    assert found.read_memory(local, 0, 8, 4, None) != found.read_memory(local, 0, 8, 0, None)


def test_registers_beyond_the_allocation_are_not_available(tmp_path):
    found = only(core_of(tmp_path, filled("gfx90a", vgprs=5)))
    assert found.knows(found.register_named("v7"), 0)  # the registers of a block
    for name in ("v8", "ttmp0", "ttmp12", "tba"):
        assert not found.knows(found.register_named(name), 0), name


def test_shared_vector_registers_have_the_same_dwords_in_both_halves(tmp_path):
    machine = filled("gfx1030-wave64", waves=1, group=1, vgprs=4)
    (path,) = written(tmp_path, machine)
    data = bytearray(Path(path).read_bytes())
    shared = 1 << 26  # 8 shared registers of 128 bytes each, which the writer leaves out
    place, state = _state_word(data)
    shape = shape_of(family_of("gfx1030"), state | shared)
    assert (shape.vgprs, shape.shared) == (4, 8)
    assert shape.size == shape_of(family_of("gfx1030"), state).size + 1024
    found = only(_with_longer_record(path, data, place, state | shared, 1024))
    v4 = found.read_register(found.register_named("v4"), 0, None)
    assert v4[:128] == v4[128:] == bytes([7]) * 128
    assert found.read_register(found.register_named("v3"), 0, None) == machine.read_register(
        machine.register_named("v3"), 0, None
    )
    rows, known = found.gather_register(
        found.register_named("v4"), np.arange(64, dtype=np.uint64) * np.uint64(4), 4, 0, None, 64
    )
    assert known.all()
    assert rows.tobytes() == v4


def _state_word(data):
    """The place and the value of the first state word in a file."""
    memory = Bytes(bytes(data))
    address = struct.unpack_from("<Q", memory.note, 40 + 16 + 120 + 32)[0]
    start = next(start for start, part in memory.loads if start == address)
    content = next(part for start_, part in memory.loads if start_ == start)
    place = bytes(data).index(content[:4096])
    word = struct.unpack_from("<I", content, 64 + 8)[0]
    assert word & 1 << 31
    return place, word


def _with_longer_record(path, data, place, state, extra):
    """Read a file after its only record got some bytes, all 7, between its vector and its scalar registers."""
    head = list(struct.unpack_from("<4I", data, place))
    stack = bytes(data[place + 64 : place + 64 + head[1]])
    record = bytes(data[place + head[2] - head[3] : place + head[2]])
    vectors = 4 * 256
    record = record[:vectors] + bytes([7]) * extra + record[vectors:]
    stack = stack[:8] + struct.pack("<I", state) + stack[12:]
    area = struct.pack("<4I", 64, head[1], head[2] + extra, len(record)).ljust(64, b"\0") + stack + record
    files = open_core_files([path])
    address = files.state.queues[0].save_area
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory, Stretch

    stretches = [Stretch(address, len(area), 1, 0)]
    stretches += [
        Stretch(segment.address, segment.file_size, 0, segment.offset)
        for segment in files.images[0].segments
        if segment.type == 1
    ]
    return read_gpu_core(files.state, FileMemory([files.images[0].data, memoryview(bytearray(area))], stretches))


def test_a_wave_that_gave_its_vector_registers_back_has_none(tmp_path):
    machine = filled("gfx1100-wave32", waves=2)
    machine.set_register("status", np.array([1 << 24, 0]))
    found = only(core_of(tmp_path, machine))
    v0 = found.register_named("v0")
    assert [found.knows(v0, wave) for wave in range(2)] == [False, True]
    rows, known = found.gather_register(v0, 0, 4, np.arange(2), None, 2)
    assert known.tolist() == [False, True]
    assert rows[1].tobytes() == machine.read_register(v0, 1, None)[:4]


def test_sizes_and_families():
    family = family_of("gfx1201")
    word = 1 << 31 | 1 << 24 | 1 << 6 | 3 << 10
    assert shape_of(family, word).lds == 131072
    assert shape_of(family_of("gfx1100"), word).lds == 3 * 512
    assert family_of(resolve("amdgcn-gfx90a").name.removeprefix("amdgcn-")) is not None
    assert reasons_of(family_of("gfx90a"), 0, {"trapsts": 1 << 8 | 1 << 28}) == ("MEMORY_VIOLATION",)
    assert reasons_of(family_of("gfx1200"), 0, {"excp_flag_priv": 1 << 4 | 1 << 12}) == ("MEMORY_VIOLATION",)


def test_writes_stay_in_memory_and_memory_and_registers_agree(tmp_path):
    (path,) = written(tmp_path, filled("gfx942"))
    before = Path(path).read_bytes()
    files = open_core_files([path])
    found = only(read_gpu_core(files.state, files.memory))
    v3, private = found.register_named("v3"), found.target.space_named("private_wave")
    found.write_register(v3, bytes(range(256)), 1, None)
    found.write_memory(private, 8, b"abcd", 1, None)
    assert found.read_register(v3, 1, None) == bytes(range(256))
    assert found.gather_register(v3, 4, 4, np.array([0, 1]), None, 2)[0][1].tobytes() == bytes(range(4, 8))
    assert found.read_memory(private, 8, 4, 1, None) == b"abcd"
    assert found.changes > 0
    region = found.columns.scratch[1][0]  # the same bytes, seen as global memory
    assert found.read_memory(found.target.default_space, region + 8, 4, 0, None) == b"abcd"
    assert Path(path).read_bytes() == before


@for_each("processor", "gfx900", "gfx90a", "gfx942", "gfx1030-wave32", "gfx1100-wave32", "gfx1200-wave64")
@pytest.mark.parametrize("r_version", [8, 10, 12])
def test_a_wave_behind_its_trap_is_shown_at_it(processor, r_version, tmp_path):
    machine = filled(processor, waves=2, group=1)
    trap = b"\x02\x00" + family_of(processor).trap_bytes
    space = machine.target.default_space
    pcs = [machine.program_counter(wave) for wave in range(2)]
    machine.memory.write(space, pcs[0], trap, None, None)
    core = core_of(tmp_path, machine, form=CoreForm(r_version=r_version), stops=lambda _m, _w: WaveStop(trap=2))
    found = only(core)
    moved = 0 if r_version == 12 else 4  # where no s_trap stands, the pc is that of the file
    assert [found.program_counter(wave) for wave in range(2)] == [pcs[0], pcs[1] + moved]
    assert any("after their s_trap" in text for text in texts(core)) == (r_version < 12)


def test_bits_above_the_address_are_no_part_of_the_pc(tmp_path):
    machine = filled("gfx1030-wave64", waves=1, group=1)
    machine.set_register("pc", LOAD_ADDRESS | 0xFC00 << 48)
    found = only(core_of(tmp_path, machine))
    assert found.program_counter(0) == LOAD_ADDRESS


TRAPSTS = {
    0: "FP_INVALID_OPERATION", 1: "FP_INPUT_DENORMAL", 2: "FP_DIVIDE_BY_0", 3: "FP_OVERFLOW", 4: "FP_UNDERFLOW",
    5: "FP_INEXACT", 6: "INT_DIVIDE_BY_0", 7: "WATCHPOINT", 8: "ADDRESS_ERROR", 11: "ILLEGAL_INSTRUCTION",
    12: "WATCHPOINT", 13: "WATCHPOINT", 14: "WATCHPOINT", 28: "MEMORY_VIOLATION"}  # fmt: skip
ONLY_IF_ENABLED = {*range(8), 12, 13, 14}


@every(bit=TRAPSTS, processor=["gfx900", "gfx942", "gfx1030-wave64", "gfx1100-wave32"])
def test_each_bit_of_trapsts_is_a_reason_where_it_is_enabled(processor, bit, tmp_path):
    machine = filled(processor, waves=2, group=1)
    machine.set_register("trapsts", 1 << bit)
    machine.set_register("mode", np.array([0xFF << 12, 0]))
    found = only(core_of(tmp_path, machine))
    enabled, disabled = (found.stop_of(wave).reasons for wave in range(2))
    assert enabled == (TRAPSTS[bit],)
    assert disabled == (() if bit in ONLY_IF_ENABLED else (TRAPSTS[bit],))


@pytest.mark.parametrize("bit, which", [(bit, min(7, bit)) for bit in range(7)])
def test_each_exception_has_its_own_bit_in_mode(bit, which):
    family = family_of("gfx90a")
    assert reasons_of(family, 0, {"trapsts": 1 << bit, "mode": 1 << 12 + which}) == (TRAPSTS[bit],)
    assert reasons_of(family, 0, {"trapsts": 1 << bit, "mode": ~(1 << 12 + which) & 0xFF000}) == ()


@for_each("processor", "gfx90a", "gfx1100-wave32", "gfx1200-wave64")
def test_reasons_of_many_waves_are_those_of_each(processor, tmp_path):
    machine, random = filled(processor, waves=2 * FEW, vgprs=2, lds=0, scratch=0), np.random.default_rng(1)
    stops = [*(WaveStop((name,)) for name in REASONS), WaveStop(), WaveStop(trap=5), WaveStop(is_stopped=False)]
    stops += [WaveStop(never_ran=True), WaveStop(was_halted=True)]
    for name in ("trapsts", "mode", "excp_flag_priv", "excp_flag_user", "trap_ctrl"):
        if machine.register_named(name) is not None:
            machine.set_register(name, random.choice([0, 1 << 8, 1 << 11, 1 << 28, 0xFFFF], machine.wave_count))
    found = only(core_of(tmp_path, machine, stops=lambda _m, wave: stops[wave * 7 % len(stops)]))
    waves = range(found.wave_count)
    for _time in range(2):  # the second time after a change
        assert list(found.all_stops()) == list(map(found.stop_of, waves))
        for name in ("trapsts", "excp_flag_priv"):
            if found.register_named(name) is not None:
                found.write_register(found.register_named(name), bytes(4), 3, None)


FLAGS = {
    0: "WATCHPOINT",            3: "WATCHPOINT",            4: "ADDRESS_ERROR",         6: "ILLEGAL_INSTRUCTION",
    8: "TRAP",                  9: "TRAP",                  11: "SINGLE_STEP",          12: "MEMORY_VIOLATION",
}  # fmt: skip


@pytest.mark.parametrize("processor", ["gfx1200-wave32", "gfx1250"])
def test_gfx12_has_its_reasons_in_the_flags_of_exceptions(processor, tmp_path):
    machine = filled(processor, waves=len(FLAGS) + 7, group=1)
    machine.set_register("excp_flag_priv", np.array([1 << bit for bit in FLAGS] + [0] * 7))
    machine.set_register("excp_flag_user", np.array([0] * len(FLAGS) + [1 << bit for bit in range(7)]))
    machine.set_register("trap_ctrl", 0xFF)
    found = only(core_of(tmp_path, machine))
    reasons = [found.stop_of(place_in(found, machine, wave)).reasons for wave in range(machine.wave_count)]
    assert reasons == [*((name,) for name in FLAGS.values()), *((TRAPSTS[bit],) for bit in range(7))]


@for_each("processor, bits",
    ("gfx942", {23: "TRAP", 24: "TRAP", 25: "SINGLE_STEP"}),
    ("gfx1100", {17: "TRAP", 18: "TRAP", 20: "SINGLE_STEP"}))  # fmt: skip
def test_begin_end_and_single_step_have_bits_of_their_own(processor, bits):
    for bit, name in bits.items():
        assert reasons_of(family_of(processor), 0, {"trapsts": 1 << bit}) == (name,)
        assert reasons_of(family_of("gfx90a"), 0, {"trapsts": 1 << bit}) == ()


@for_each("trap, name", (1, "BREAKPOINT"), (2, "ASSERT_TRAP"), (3, "DEBUG_TRAP"), (4, "TRAP"), (15, "TRAP"))
@pytest.mark.parametrize("processor", PROCESSORS)
def test_traps_are_reasons(processor, trap, name, tmp_path):
    machine = filled(processor, waves=1, group=1, vgprs=4, lds=0, scratch=0)
    found = only(core_of(tmp_path, machine, stops=lambda _m, _w: WaveStop(trap=trap)))
    stop = found.stop_of(0)
    assert (stop.is_stopped, stop.reasons, stop.signal) == (True, (name,), "SIGABRT" if trap == 2 else "SIGTRAP")


def test_a_wave_that_ran_says_what_it_has_raised(tmp_path):
    machine = filled("gfx90a", waves=1, group=1)
    machine.set_register("trapsts", 1 << 28)
    found = only(core_of(tmp_path, machine, stops=lambda _m, _w: WaveStop(is_stopped=False, trap=2)))
    stop = found.stop_of(0)
    assert (stop.text, stop.signal) == ("not stopped, raised MEMORY_VIOLATION", "SIGSEGV")


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100-wave32"])
def test_a_wave_that_never_ran_has_no_place(processor, tmp_path):
    machine = filled(processor, waves=1, group=1)
    found = only(core_of(tmp_path, machine, stops=lambda _m, _w: WaveStop(never_ran=True)))
    assert found.place_of(0) == (-1, (-1, -1, -1), -1)
    assert found.ids == ["1:1:0:1"]
    assert found.stop_text(0) == "launched halted, never ran"
    local = found.target.space_named("local")
    assert found.read_memory(local, 0, 4, 0, None) == machine.read_memory(local, 0, 4, 0, None)


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1030-wave32"])
def test_before_version_10_no_wave_is_marked(processor, tmp_path):
    machine = filled(processor, waves=1, group=1)
    stops = {"stops": lambda _m, _w: WaveStop(never_ran=True)}
    found = only(core_of(tmp_path, machine, form=CoreForm(r_version=9), **stops))
    assert found.place_of(0)[1] == (0, 0, 0)


def test_without_trap_temporaries_waves_have_no_places(tmp_path):
    machine = filled("gfx90a", waves=4)
    core = core_of(tmp_path, machine, form=CoreForm(ttmp_setup=False))
    found = only(core)
    assert found.ids[0] == "1:1:0:1"
    assert list(found.group_numbers) == [0, 0, 2, 2]
    assert not found.stop_of(0).is_stopped
    assert any("were not set up" in text for text in texts(core))
    core = core_of(tmp_path / "..", machine, form=CoreForm(ttmp_setup=False, has_always_ttmps=True))
    assert only(core).stop_of(0).is_stopped


def test_every_reason_is_one_of_the_library():
    assert len(REASONS) == 18
    for family in FAMILIES:
        flags = {
            "trapsts": 0xFFFFFFFF,             "mode": 0xFFFFFFFF,                "excp_flag_priv": 0xFFFFFFFF,
            "trap_ctrl": 0xFF,                 "excp_flag_user": 0x7F}  # fmt: skip
        reasons = reasons_of(family, 1, flags)
        assert [REASONS.index(name) for name in reasons] == sorted(REASONS.index(name) for name in reasons)
        assert "MEMORY_VIOLATION" in reasons


def test_the_part_of_the_gpu_alone_says_what_is_missing(tmp_path):
    opened = open_core_waves(written(tmp_path, filled("gfx90a"), kind="gpu"))
    assert not opened.core.machines
    said = [str(problem) for problem in opened.problems]
    assert "is the part of the GPU alone" in said[0]
    assert any("the save area of queue 1 is at 0x" in text for text in said)
    assert any("r_debug" in text for text in said)


def test_problems_of_agents_and_queues(tmp_path):
    files = open_core_files(written(tmp_path, filled("gfx90a")))
    for version, name in ((70000, "gfx700"), (990000, "gfx9900")):
        agents = tuple(evolve(agent, gfx_target_version=version) for agent in files.state.agents)
        core = read_gpu_core(evolve(files.state, agents=agents), files.memory)
        assert not core.machines
        assert any(f"agent 1, a {name}, are not shown" in text for text in texts(core))
    queues = (evolve(files.state.queues[0], gpu_id=77), *files.state.queues)
    core = read_gpu_core(evolve(files.state, queues=queues), files.memory)
    assert core.wave_count == 6
    assert any("queue 1 belongs to no agent" in text for text in texts(core))
    agents = tuple(evolve(agent, gfx_target_version=100300) for agent in files.state.agents)
    core = read_gpu_core(evolve(files.state, agents=agents), files.memory)
    assert not core.wave_count
    assert any("widths of records are wrong" in text for text in texts(core))
    queues = tuple(evolve(queue, queue_type=0) for queue in files.state.queues)
    core = read_gpu_core(evolve(files.state, queues=queues), files.memory)
    assert (core.wave_count, core.queues[0].has_waves) == (0, False)
    assert AQL == 2


@pytest.mark.parametrize("field", [0, 4, 8, 12])
def test_a_damaged_header_is_a_problem_of_its_queue(field, tmp_path):
    files = open_core_files(written(tmp_path, filled("gfx90a")))
    files.memory.write(files.state.queues[0].save_area + field, struct.pack("<I", 0x7FFFFFF0))
    core = read_gpu_core(files.state, files.memory)
    assert not core.wave_count
    assert any("queue 1" in text for text in texts(core))


def test_a_truncated_file_gives_what_it_holds(tmp_path):
    (path,) = written(tmp_path, filled("gfx90a", waves=8, vgprs=64))
    whole = Path(path).read_bytes()
    counts = set()
    for size in range(0, len(whole), 9973):
        Path(path).write_bytes(whole[:size])
        try:
            opened = open_core_waves([path])
        except MalformedFile:
            continue
        for machine in opened.core.machines:
            counts.add(machine.wave_count)
            for wave in range(machine.wave_count):
                for name in ("v0", "v63", "s0", "pc"):
                    register = machine.register_named(name)
                    if machine.knows(register, wave):
                        machine.read_register(register, wave, None)
                assert machine.stop_of(wave) is not None
    assert 8 in counts
    forget_changed_mappings()  # the tests that follow do not look at this file


def test_scratch_memory_is_where_the_register_says_it_is(tmp_path):
    files = open_core_files(written(tmp_path, filled("gfx942", waves=2)))
    core = read_gpu_core(files.state, files.memory)
    found = only(core)
    queue = core.queues[0].memory
    files.memory.write(queue.address + 160, struct.pack("<Q", queue.scratch + 4096))
    moved = read_gpu_core(files.state, files.memory)
    assert only(moved).columns.scratch == found.columns.scratch
    assert any("that their slots contradict" in text for text in texts(moved))


class TestGpuCore(BackendConformance):
    """The waves of a core file that was written from a described state."""

    backend = SavedGpu

    def make(self, state):
        path = FOLDER[0] / f"core.{id(state)}"
        if family_of(state.target.name.removeprefix("amdgcn-")) is None:
            return machine_of(state)  # a GPU core file has no threads of other processors
        if not path.exists():
            machine = machine_of(state)
            machine.dispatches.append(filled("gfx90a", waves=1).dispatches[0])
            machine.places["dispatch"].array[:] = 0
            (written_path,) = written(FOLDER[0], machine)
            Path(written_path).rename(path)
        files = open_core_files([str(path)])
        found = only(read_gpu_core(files.state, files.memory))
        for name, address, data in state.memory:  # a core file has no GDS
            if name == "region":
                found.memory.map(state.target.space_named(name), address, data)
        return found


@pytest.mark.parametrize("processor", ["gfx900", "gfx906", "gfx90a"])
def test_the_slots_of_named_registers_are_scalar_registers_too(processor, tmp_path):
    """Kernels that need no VCC or FLAT_SCRATCH use the registers that these are in."""
    machine = filled(processor)
    for index in range(100, 106):
        machine.set_register(f"s{index}", np.arange(machine.wave_count, dtype=np.uint32) + 0x700 + index)
    found = only(core_of(tmp_path, machine))
    for wave in range(found.wave_count):
        other = place_in(machine, found, wave)
        for index in range(94, 106):
            register = found.register_named(f"s{index}")
            assert found.read_register(register, wave, None) == machine.read_register(register, other, None)


@pytest.mark.parametrize("processor", ["gfx900", "gfx90a", "gfx942"])
def test_two_scalar_registers_of_gfx9_show_the_xnack_mask(processor, tmp_path):
    """AMD's library reads the two registers below VCC from the hardware registers, whatever their slots hold."""
    machine = filled(processor)
    machine.set_register("xnack_mask", np.full(machine.wave_count, 0x3333444411112222, np.uint64))
    found = only(core_of(tmp_path, machine))
    file = next(file for file in found.files if found.register_named("s104").number in file.positions)
    for name, wanted in (("s104", 0x11112222), ("s105", 0x33334444)):
        register = found.register_named(name)
        values = [found.read_register(register, wave, None) for wave in range(found.wave_count)]
        assert values == [wanted.to_bytes(4, "little")] * found.wave_count
        assert file.gather(np.arange(found.wave_count), register.number, 0, 4, found.wave_count).tobytes() == b"".join(
            values
        )
