"""Core files as machines: what is in them, what files add to it, and what is broken in them."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MalformedFile, Unsupported, UsageError
from dwarfgpu.machines.core import CoreProcess
from dwarfgpu.objfile.elf.core import read_core
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.host_cores import bias_of, open_core
from dwarfgpu.states.stopped import OpenOptions
from dwarfgpu.targets.resolve import resolve
from tests.builders import cores
from tests.builders.errors import raised

X86_64 = resolve("x86_64")
SPACE = X86_64.default_space


def machine(**memory: Any) -> CoreProcess:
    threads = {"1": {"rax": (5).to_bytes(8, "little"), "rip": (0x1000).to_bytes(8, "little")}, "2": {}}
    return CoreProcess(X86_64, threads, [(0x1000, bytes(range(16))), (0x1010, b"abcd")], [(0x1008, b"z" * 32)])


def register(name: str) -> Any:
    return X86_64.register_named(name)


def test_threads_registers_and_memory():
    found = machine()
    assert (found.wave_count, found.ids, found.wave_named("2"), found.wave_named("3")) == (2, ["1", "2"], 1, None)
    assert (found.program_counter(0), found.program_counter(1)) == (0x1000, None)
    assert found.read_register(register("rax"), 0, None) == (5).to_bytes(8, "little")
    for name, wave in (("rbx", 0), ("rax", 1), ("rax", 2), ("rax", -1)):
        caught = raised(EvaluationError, found.read_register, register(name), wave, None)
        assert caught.kind == "register_unavailable"
    found.write_register(register("rbx"), bytes(8), 1, None)
    assert found.read_register(register("rbx"), 1, None) == bytes(8)
    raised(UsageError, found.write_register, register("rbx"), bytes(4), 1, None)
    raised(UsageError, CoreProcess, X86_64, {"1": {"rax": b"1"}})
    assert found.read_memory(SPACE, 0x1004, 4, 0, None) == bytes(range(4, 8))
    assert found.read_memory(SPACE, 0x100E, 10, 0, None) == bytes([14, 15]) + b"abcd" + b"zzzz"
    assert found.read_memory(SPACE, 0x1000, 0, 0, None) == b""
    for address, size in ((0xFFF, 2), (0x1026, 3), (0, 1), ((1 << 64) - 1, 2), (-1, 1)):
        caught = raised(EvaluationError, found.read_memory, SPACE, address, size, 0, None)
        assert caught.kind == "memory_unavailable"


def test_writes_change_the_copy_alone():
    found, other = machine(), machine()
    found.write_memory(SPACE, 0x100F, b"XY", 0, None)
    assert found.read_memory(SPACE, 0x100E, 4, 0, None) == b"\x0eXYb"
    assert other.read_memory(SPACE, 0x100E, 4, 0, None) == b"\x0e\x0fab"
    raised(EvaluationError, found.write_memory, SPACE, 0x1027, b"XY", 0, None)


def test_gathering_is_reading_each():
    import numpy as np

    addresses = np.array([0x1000, 0x1010, 0x5000], dtype=np.uint64)
    rows, flags = machine().gather_memory(SPACE, addresses, 2, 0, None, 3)
    assert flags.tolist() == [True, True, False]
    assert rows[:2].tolist() == [[0, 1], [97, 98]]


THREADS = [cores.Thread(7, {"rip": 0x401100, "rsp": 0x7000, "cs": 0x33}, xmm={3: 1 << 127}), cores.Thread(8, {}, 11)]


def test_a_core_file():
    mappings = [(0x400000, 0x402000, 0x1000, "/bin/x"), (0x500000, 0x501000, 0, "/lib/y")]
    data = cores.core_file(THREADS, {0x7000: b"stack", 0x5000: b"heap"}, mappings, {9: 0x401000, 33: 0x7000})
    core = read_core(open_image(data))
    assert [(each.pid, each.signal) for each in core.threads] == [(7, 0), (8, 11)]
    first = core.threads[0].registers
    assert first["rip"] == (0x401100).to_bytes(8, "little")
    assert (first["cs"], len(first["fs.base"]), len(first["st0"])) == (b"\x33\0", 8, 10)
    assert first["xmm3"] == (1 << 127).to_bytes(16, "little")
    assert [(address, bytes(found)) for address, found in core.memory] == [(0x5000, b"heap"), (0x7000, b"stack")]
    expected = [(0x400000, 0x1000, "/bin/x"), (0x500000, 0, "/lib/y")]
    assert [(each.start, each.offset, each.path) for each in core.mappings] == expected
    assert core.auxiliary == {9: 0x401000, 33: 0x7000}
    assert core.problems == ()


def test_what_is_broken_hides_nothing_else():
    short = cores.note(cores.NT_PRSTATUS, bytes(50)) + cores.note(cores.NT_FILE, bytes(3))
    short += cores.note(cores.NT_FILE, (1 << 40).to_bytes(8, "little") + bytes(8)) + cores.note(cores.NT_FPREGSET, b"")
    core = read_core(open_image(cores.core_file(THREADS, {}, extra=short)))
    assert len(core.threads) == 2
    assert [error.kind for error in core.problems] == ["truncated"] * 4
    core = read_core(open_image(cores.core_file(THREADS, {0x7000: bytes(64)})[:-10]))
    assert [len(data) for _, data in core.memory] == [54]
    assert "0x7000 reaches past the end of the file" in core.problems[0].message


def test_files_that_are_no_core_files_of_x86_64_or_have_no_threads(tmp_path):
    assert "not a core file" in str(raised(MalformedFile, read_core, open_image(cores.core_file(THREADS, {}, type_=3))))
    with pytest.raises(Unsupported, match="core files of AARCH64"):
        read_core(open_image(cores.core_file(THREADS, {}, machine=183)))
    path = tmp_path / "core"
    path.write_bytes(cores.core_file([], {}))
    with pytest.raises(MalformedFile, match="no threads"):
        open_core(opened("fixtures/host/frames.gcc.O2.v5.x86_64"), str(path))


def test_where_files_were_loaded(tmp_path):
    program = "fixtures/host/pie.clang.O2.v5.x86_64"
    image = open_image(program)
    base = 0x555500000000
    segments = [each for each in image.segments if each.type == 1]
    mappings = [
        (
            base + (each.address & ~0xFFF),                      base + each.address + each.file_size,
            each.offset & ~0xFFF,                                str(opened(program).image.path),
        )
        for each in segments
    ]  # fmt: skip
    path = tmp_path / "core"
    path.write_bytes(cores.core_file(THREADS, {}, mappings))
    stopped = open_core(opened(program), str(path))
    assert [(code.file.name, code.bias) for code in stopped.loaded.codes] == [(program, base)]
    # what the core file leaves out is in the file
    text: Any = image.section(".text")
    assert stopped.machine.read_memory(SPACE, base + text.address, 16, 0, None) == bytes(text.view[:16])
    assert bias_of(image, []) is None


def test_a_program_that_no_mapping_names_is_found_by_its_entry_point(tmp_path):
    program = "fixtures/host/pie.clang.O2.v5.x86_64"
    path = tmp_path / "core"
    path.write_bytes(cores.core_file(THREADS, {}, [(0, 1, 0, "/gone")], {9: open_image(program).entry + 0x7000}))
    assert [code.bias for code in open_core(opened(program), str(path)).loaded.codes] == [0x7000]
    path.write_bytes(cores.core_file(THREADS, {}))
    assert [code.bias for code in open_core(opened(program), str(path)).loaded.codes] == [0]


def test_a_program_that_the_process_cannot_have_run(tmp_path):
    pie = "fixtures/host/pie.clang.O2.v5.x86_64"
    fixed = "fixtures/host/frames.gcc.O2.v5.x86_64"
    path = tmp_path / "core"
    segments = len(open_image(fixed).segments)
    entry = open_image(fixed).entry
    for program, auxiliary, mappings, memory, why in (
        ("fixtures/asm/cfi.gfx90a.w64.co", {}, (), {}, "for another architecture"),
        (pie, {9: 0x1001}, (), {}, "began elsewhere"),
        (fixed, {9: entry + 0x1000}, (), {}, "began elsewhere"),
        (fixed, {9: entry, 5: segments + 1}, (), {}, "began elsewhere"),
        (fixed, {}, [(0x1000, 0x2000, 0, str(opened(fixed).image.path))], {0x1000: bytes(64)}, "has changed"),
    ):
        path.write_bytes(cores.core_file(THREADS, memory, mappings, auxiliary))
        with pytest.raises(MalformedFile, match=f"is not the program that .* is of: .*{why}") as caught:
            open_core(opened(program), str(path))
        assert "--force" in str(caught.value.hint)
        assert open_core(opened(program), str(path), OpenOptions(force=True)).loaded.codes
    path.write_bytes(cores.core_file(THREADS, {}, (), {9: entry, 5: segments}))
    assert open_core(opened(fixed), str(path)).loaded.codes[0].bias == 0


def test_a_program_that_was_stripped_or_relocated_is_the_same(tmp_path):
    """The table of sections is gone, and a page of the file is mapped a second time, to be written to."""
    fixed = opened("fixtures/host/frames.gcc.O2.v5.x86_64")
    first = bytearray(fixed.image.data[:0x1000])
    first[40:48] = bytes(8)
    first[58:64] = bytes(6)
    mappings = [(0x400000 + at, 0x401000 + at, 0, str(fixed.image.path)) for at in (0, 0x3000)]
    path = tmp_path / "core"
    path.write_bytes(cores.core_file(THREADS, {0x400000: bytes(first), 0x403000: b"\1" * 0x1000}, mappings, {}))
    assert open_core(fixed, str(path)).loaded.codes
    first[0x40 + 8] ^= 1
    path.write_bytes(cores.core_file(THREADS, {0x400000: bytes(first)}, mappings, {}))
    assert "it has changed since" in str(raised(MalformedFile, open_core, fixed, str(path)))


def test_code_that_only_the_memory_holds(tmp_path):
    from pathlib import Path

    shared = Path("fixtures/host/pie.clang.O2.v5.x86_64").read_bytes()
    path = tmp_path / "core"
    path.write_bytes(cores.core_file(THREADS, {0x7F0000: shared}, (), {33: 0x7F0000}))
    stopped = open_core(opened("fixtures/host/frames.gcc.O2.v5.x86_64"), str(path))
    assert [(code.file.name[-6:], code.bias) for code in stopped.loaded.codes][1] == ("[vdso]", 0x7F0000)
    path.write_bytes(cores.core_file(THREADS, {0x7F0000: b"\x7fELF no more"}, (), {33: 0x7F0000}))
    stopped = open_core(opened("fixtures/host/frames.gcc.O2.v5.x86_64"), str(path))
    assert len(stopped.loaded.codes) == 1


@given(st.data())
def test_any_bytes_are_a_core_file_or_an_error(data):
    whole = bytearray(cores.core_file(THREADS, {0x7000: bytes(32)}, [(0x400000, 0x402000, 0, "/x")], {33: 0x7000}))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(64, len(whole))) :]
    try:
        core = read_core(open_image(bytes(whole)))
    except DwarfGpuError:
        return
    CoreProcess(X86_64, {str(i): each.registers for i, each in enumerate(core.threads)}, core.memory)
