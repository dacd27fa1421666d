"""Core files of GPUs as others see them, from the ELF form over the note to each register, and damaged ones."""

import re
import struct
import subprocess
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from fuzz import cores, frame
from hypothesis import given

from dwarfgpu.errors import MalformedFile, UsageError
from dwarfgpu.machines.gpu_core.file_memory import FileMemory, Stretch, map_file
from dwarfgpu.machines.gpu_core.note import (
    AgentEntry,
    CoreState,
    QueueEntry,
    arguments_note,
    elf_note,
    exceptions_in,
    read_arguments,
    read_note,
    target_version,
    write_note,
)
from dwarfgpu.machines.gpu_core.writing import CoreForm, write_host
from dwarfgpu.machines.protocol import WaveStop
from tests.builders.core_layout import HARDWARE, Bytes, read_waves
from tests.builders.gpu_cores import LOAD_ADDRESS, PROCESSORS, filled, written
from tests.builders.parameters import every, for_each, share


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_file_of_the_gpu_has_the_header_of_the_runtime(tmp_path):
    (path,) = written(tmp_path, filled("gfx90a"), kind="gpu")
    data = Path(path).read_bytes()
    assert data[:9] == b"\x7fELF\x02\x01\x01\x40\x00"
    kind, machine, version, entry, segments, sections, flags = struct.unpack_from("<HHIQQQI", data, 16)
    assert (kind, machine, version, entry, segments, sections, flags) == (4, 224, 1, 0, 64, 0, 0)
    assert struct.unpack_from("<HH", data, 52) == (64, 56)
    assert struct.unpack_from("<HHH", data, 58) == (0, 0, 0)
    count = struct.unpack_from("<H", data, 56)[0]
    rows = [struct.unpack_from("<IIQQQQQQ", data, 64 + 56 * index) for index in range(count)]
    assert rows[0][0] == 4
    assert (rows[0][2], rows[0][7], rows[0][5] == rows[0][6]) == (64 + 56 * count, 2, True)
    assert all((row[0], row[1] & 2, row[7], row[2] % 16) == (1, 2, 4, 0) for row in rows[1:])


def test_readelf_sees_the_note_and_the_ranges(tmp_path, require_tool):
    tool = require_tool("readelf")  # LLVM's refuses the alignment of the runtime's note segment, which is a shift
    host, gpu = written(tmp_path, filled("gfx90a"), kind="pair")
    text = output(tool, "-hlnW", gpu)
    assert "CORE (Core file)" in text
    assert re.search(r"AMDGPU\s+0x0*[1-9a-f]", text)
    own = set(re.findall(r"LOAD +0x\w+ (0x\w+) 0x\w+ (0x\w+)", text))
    text = output(tool, "-hlnW", host)
    assert "X86-64" in text
    rows = re.findall(r"LOAD +0x\w+ (0x\w+) 0x\w+ (0x\w+) (0x\w+)", text)
    empty = {(address, size) for address, there, size in rows if int(there, 16) == 0}
    assert {int(address, 16) for address, _size in empty} == {int(address, 16) for address, _size in own}
    assert "NT_PRSTATUS" in text
    assert "AMDGPU" not in text


def test_gdb_reads_a_merged_file_as_a_core_file_of_the_host(tmp_path, require_tool):
    tool = require_tool("gdb")
    (path,) = written(tmp_path, filled("gfx1030-wave32"), form=CoreForm(pid=77))
    text = output(tool, "-nx", "-batch", "-ex", f"core {path}", "-ex", "info threads", "-ex", f"x/4xb {LOAD_ADDRESS}")
    assert "LWP 77" in text
    assert re.search(r"0x00\s+0x07\s+0x0e\s+0x15", text), text


@pytest.mark.parametrize("kind", ["merged", "pair", "gpu"])
def test_the_same_machine_gives_the_same_bytes(kind, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = [Path(path).read_bytes() for path in written(tmp_path / "a", filled("gfx1200-wave64"), kind=kind)]
    assert first == [Path(path).read_bytes() for path in written(tmp_path / "b", filled("gfx1200-wave64"), kind=kind)]


STATE = CoreState(
    (AgentEntry(gpu_id=7, gfx_target_version=90402, array_count=16, simd_arrays_per_engine=2, num_xcc=8),),
    (QueueEntry(queue_id=3, gpu_id=7, save_area=0x7000, ring_base=0x8000), QueueEntry(gpu_id=7, queue_type=1)),
    0x1234_5678)  # fmt: skip


@pytest.mark.parametrize("sizes", [(120, 64), (128, 64), (136, 72), (96, 56)])
def test_entries_are_read_as_far_as_they_are(sizes):
    state = read_note(write_note(STATE, agent_size=sizes[0], queue_size=sizes[1]))
    assert (state.r_debug, state.ioctl, state.ttmp_setup) == (0x1234_5678, (1, 18), True)
    assert (state.agents[0].gpu_id, state.agents[0].processor) == (7, "gfx942")
    assert [queue.save_area for queue in state.queues] == [0x7000, 0]
    assert [queue.kind for queue in state.queues] == ["compute (AQL)", "SDMA"]
    if sizes[0] >= 120:
        assert (state.agents[0].engines, state.agents[0].xccs) == (8, 8)


def test_fields_are_where_the_kernel_has_them():
    data = write_note(STATE)
    assert struct.unpack_from("<QIIQIIII", data) == (1, 1, 18, 16, 1, 120, 2, 64)
    assert struct.unpack_from("<QII", data, 40) == (0x1234_5678, 1, 1)
    agent = data[56:176]
    assert struct.unpack_from("<I", agent, 56) == (7,)
    assert struct.unpack_from("<6I", agent, 88) == (90402, 0, 0, 16, 2, 8)
    queue = data[176:240]
    assert struct.unpack_from("<2Q", queue, 0)[1] == 0x8000
    assert struct.unpack_from("<QII", queue, 32) == (0x7000, 3, 7)
    assert struct.unpack_from("<I", queue, 52) == (2,)


def test_the_names_of_arguments_are_a_note_of_their_own():
    known = {0x7EC000000000: (("x", "float*"), ("n", None)), 0x1000: ()}
    note = arguments_note(known)
    length, size, kind = struct.unpack("<III", note[:12])
    assert (note[12 : 12 + length], kind) == (b"dwarfgpu\0", 0x44475055)
    assert read_arguments(note[24 : 24 + size]) == {0x7EC000000000: known[0x7EC000000000]}
    assert arguments_note({0x1000: ()}) == b""


@given(st.binary() | st.sampled_from([b"[]", b'{"x": []}', b'{"1": [[1, "x"]]}', b'{"1": [["x"]]}', b"[" * 9999]))
def test_damaged_names_of_arguments(data):
    with suppress(MalformedFile):
        assert isinstance(read_arguments(data), dict)


def test_the_owner_exceptions_and_engines_of_a_note():
    note = elf_note(write_note(STATE))
    assert note[:12] == struct.pack("<III", 7, 40 + 16 + 120 + 128, 33)
    assert note[12:20] == b"AMDGPU\0\0"
    assert len(note) == 20 + 304
    assert exceptions_in(1 << 4 | 1 << 32) == ["wave memory violation", "memory violation"]
    assert exceptions_in(1 << 63) == ["code 64"]
    agent = AgentEntry(num_xcc=0)
    assert (agent.engines, agent.xccs) == (1, 1)


@for_each("data, text",
    (b"", "has 0 bytes"),        (write_note(STATE)[:100], "do not fit its 100 bytes"),
    (struct.pack("<Q", 2) + write_note(STATE)[8:], "has the version 2"),
    (write_note(STATE, agent_size=0), "agents of 0 bytes"),   (write_note(STATE, queue_size=0), "queues of 0 bytes"),
    (write_note(STATE)[:24] + b"\xff\xff\xff\xff" + write_note(STATE)[28:], "do not fit"),
    (write_note(STATE)[:16] + b"\xff" * 8 + write_note(STATE)[24:], "do not fit"))  # fmt: skip
def test_a_note_that_cannot_be_read_says_why(data, text):
    with pytest.raises(MalformedFile, match=text):
        read_note(data)


def test_processors_are_named_with_a_stepping_in_hexadecimal():
    for version, name in (
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (100300, "gfx1030"),
        (110501, "gfx1151"),
        (120500, "gfx1250"),
    ):
        assert AgentEntry(gfx_target_version=version).processor == name
        assert target_version(name) == version


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(200), range(200, 200 + share(3800))])
def test_damaged_files_give_answers_or_errors(numbers, tmp_path):
    setting = frame.Setting(tmp_path, ("gfx90a", "gfx1100-wave32", "gfx1250"))
    found = frame.results(cores.DRIVE, setting, (f"test/{number}" for number in numbers))
    assert [(each.name, each.failure) for each in found if each.failure] == []


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


@every(xccs=[1, 2], processor=PROCESSORS)
def test_another_reader_reads_each_register_and_each_byte_of_memory(processor, xccs, tmp_path):
    machine = filled(processor)
    waves = waves_of(tmp_path, machine, form=CoreForm(xccs=xccs, engines=2, has_events=True, r_version=12))
    assert len(waves) == machine.wave_count
    own_scratch = processor.startswith(("gfx942", "gfx950", "gfx11", "gfx12"))
    for wave in waves:
        index = partner(machine, wave)
        for name in [register.name for file in machine.files for register in file.registers]:
            if not (name == "flat_scratch" and own_scratch):
                assert wave[name] == value_of(machine, name, index), name
        assert (wave["is_stopped"], wave["trap"], wave["packet"]) == (True, 0, 0)
        assert (wave["is_first"], wave["is_last"]) == (wave["number"] == 0, wave["number"] == 1)
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


@every(r_version=[8, 9, 12], processor=PROCESSORS)
def test_the_pc_of_a_wave_is_where_the_version_has_it(processor, r_version, tmp_path):
    machine = filled(processor, waves=2, group=1)
    waves = waves_of(
        tmp_path, machine, form=CoreForm(r_version=r_version), stops=lambda _m, wave: WaveStop(is_stopped=wave == 0)
    )
    for wave in waves:
        assert wave["pc"] == value_of(machine, "pc", partner(machine, wave))
    assert [wave["is_stopped"] for wave in waves] == [True, False]


@pytest.mark.parametrize("trap", [1, 2, 3, 7, 15])
@for_each("processor", "gfx90a", "gfx942", "gfx1030-wave32", "gfx1100-wave64", "gfx1200-wave32", "gfx1250")
def test_the_trap_id_has_its_place(processor, trap, tmp_path):
    machine = filled(processor, waves=1, group=1)
    (wave,) = waves_of(tmp_path, machine, form=CoreForm(r_version=12), stops=lambda _m, _w: WaveStop(trap=trap))
    assert wave["trap"] == trap


@every(kind=["merged", "pair"], sizes=[(120, 64), (128, 64), (136, 80)])
def test_entries_of_the_note_may_grow(kind, sizes, tmp_path):
    machine = filled("gfx90a", waves=2)
    assert len(waves_of(tmp_path, machine, kind=kind, form=CoreForm(agent_size=sizes[0], queue_size=sizes[1]))) == 2


@pytest.mark.parametrize("address", [(1 << 64) - 4, 1 << 64, -8])
def test_memory_behind_the_last_address_has_no_place(address):
    """The addresses of program headers have 64 bits (gABI, "Program Header")."""
    contents = SimpleNamespace(host=[(address, bytes(8))], device=[], form=SimpleNamespace(host_notes=b""))
    with pytest.raises(UsageError, match=f"memory of 8 bytes at {address:#x} has no place in a core file"):
        write_host(BytesIO(), contents)


# --- The memory that several files hold together ------------------------------------------------------------------


def memory_of(*stretches, files=(bytes(range(64)), bytes(range(100, 164)))):
    return FileMemory([memoryview(bytearray(data)) for data in files], [Stretch(*stretch) for stretch in stretches])


STRETCHES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(0, 1), st.integers(0, 70)), max_size=6
)


@given(STRETCHES, st.integers(0, 100), st.integers(0, 30))
def test_the_first_stretch_that_has_a_byte_gives_it(stretches, address, size):
    files = (bytes(range(64)), bytes(range(100, 164)))
    expected: dict[int, int] = {}
    for start, length, number, offset in stretches:
        for position in range(length):
            if offset + position < len(files[number]):
                expected.setdefault(start + position, files[number][offset + position])
    memory = memory_of(*stretches)
    there = [expected.get(address + position) for position in range(size)]
    assert memory.read(address, size) == (None if None in there else bytes(there))
    parts = memory.stretches(address, size)
    assert [at for part in parts for at in range(part.address, part.address + part.size)] == [
        address + position for position, byte in enumerate(there) if byte is not None
    ]
    assert list(memory.starts) == sorted(memory.starts)
    if memory.locate(address, size) is not None and size:
        number, offset = memory.locate(address, size)
        assert files[number][offset : offset + size] == bytes(there)
        assert memory.room(address) >= size


@given(STRETCHES, st.lists(st.tuples(st.integers(0, 90), st.integers(0, 12)), max_size=5))
def test_windows_are_the_same_bytes_at_other_addresses(stretches, windows):
    memory = memory_of(*stretches)
    view = memory.windows((number << 32, address, size) for number, (address, size) in enumerate(windows))
    for number, (address, size) in enumerate(windows):
        for position in range(size):
            assert view.read(number << 32 | position, 1) == memory.read(address + position, 1)
        assert view.read(number << 32 | size, 1) is None


def test_windows_texts_and_addresses_outside_of_memory():
    memory = memory_of((0x1000, 64, 0, 0))
    memory.windows([(0, 0x1010, 8)]).write(4, b"\xff\xfe")
    assert memory.read(0x1012, 6) == bytes([18, 19, 0xFF, 0xFE, 22, 23])
    memory = memory_of((0x10, 5, 0, 0), (0x15, 9, 1, 0), files=(b"abcde", b"fgh\0ijklm"))
    assert memory.text(0x10, 100) == b"abcdefgh"
    assert memory.text(0x19, 100) is None
    assert memory.text(0x10, 4) is None
    assert memory.text(0x80, 100) is None
    assert memory.number(0x10, 2) == int.from_bytes(b"ab", "little")
    memory = memory_of(((1 << 64) - 8, 64, 0, 0))
    assert memory.read((1 << 64) - 8, 8) == bytes(range(8))
    for address, size in ((-1, 4), ((1 << 64) - 4, 8), (1 << 70, 1)):
        assert memory.read(address, size) is None
    assert memory.locate(-1, 4) is None
    assert memory.stretches(1 << 70, 4) == []


def test_files_are_mapped_and_never_changed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    view = map_file(str(path))
    assert bytes(view) == b"abcd"
    view[0:1] = b"x"
    assert path.read_bytes() == b"abcd"
    path.write_bytes(b"")
    assert bytes(map_file(str(path))) == b""
    for name in (str(tmp_path), str(tmp_path / "nothing"), "a\0b"):
        with pytest.raises((MalformedFile, UsageError)):
            map_file(name)
