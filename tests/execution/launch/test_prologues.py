"""The initial state against what compilers make of it: the code that reads it, of every kernel of the fixtures.

The golden files are what ``llvm-objdump`` says about the fixtures (tests/builders/prologue.py).
"""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dwarfgpu.execution.launch.dispatch import PlannedDispatch, initial_state
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.planning import plan
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.targets.amdgpu.initial_state import InitialRegisters
from dwarfgpu.targets.amdgpu.processors import processor_named, processors
from tests.builders.lane import Lane
from tests.builders.parameters import for_each, in_one_test
from tests.builders.prologue import (
    FOLDERS,
    GOLDEN,
    ROOT,
    SMALL,
    SMALL_KERNELS,
    Prologue,
    beginning,
    compiled,
    live_in,
    read_golden,
    read_small,
    registers,
    straight,
    write_golden,
    write_small,
)

OUT = 0x5000_0000_0000
WAVE_OPTIONS = {32: "-mno-wavefrontsize64", 64: "-mwavefrontsize64"}
GRID = (50, 12, 6)
WORK_GROUP = (16, 4, 2)


@functools.cache
def planned(folder: str, file: str, kernel: str) -> PlannedDispatch:
    code_object = opened(str(ROOT / "fixtures" / folder / file))
    metadata = code_object.kernels_named([kernel])[0].metadata
    size = metadata.reqd_workgroup_size if metadata is not None else None
    return plan(code_object, kernel, LaunchOptions((64, 64, 64), size or (64, 1, 1)))


def owners(dispatch: PlannedDispatch) -> dict[str, tuple[InitialRegisters, int]]:
    """The row that sets each numbered register, and which of its words that is."""
    return {
        f"{row.kind}{row.first + word}": (row, word)
        for row in dispatch.rows
        if row.first is not None and row.is_set
        for word in range(row.count)
    }


CASES = [(folder, one) for folder in FOLDERS for one in read_golden(folder)]


def unread_offset(dispatch: PlannedDispatch, name: str, line: str) -> bool:
    """Whether it is the wave offset of a kernel without scratch memory.

    LLVM adds it to the V# where a kernel calls functions, also when neither needs a stack and it has not asked for the
    offset (ENABLE_PRIVATE_SEGMENT is 0). Nothing is accessed through that V#.
    """
    start = dispatch.start
    following = max(int(each[1:]) for each in owners(dispatch) if each.startswith("s")) + 1
    return (
        bool(re.fullmatch(rf"s_add_u32 s0, s0, {name}", line))
        and name == f"s{following}"
        and start.private_segment_size == start.field("ENABLE_PRIVATE_SEGMENT") == 0
    )


def unread_half(name: str, line: str) -> bool:
    """Whether it is the upper half of a 64-bit addend, of whose sum the lower half alone is used."""
    return re.fullmatch(r"v_mad_(?:co_)?u64_u32 (v\[1:2\]), .*, v\[0:1\]", line) is not None and name == "v1"


@in_one_test("folder, prologue", CASES)
@pytest.mark.slow
def test_a_kernel_reads_what_the_table_sets(folder: str, prologue: Prologue) -> None:
    dispatch = planned(folder, prologue.file, prologue.kernel)
    known = owners(dispatch)
    for names, line in prologue.reads:
        for name in names:
            expected = unread_offset(dispatch, name, line) or unread_half(name, line)
            assert name in known or expected, f"{name} in {line}"
    known = owners(planned(folder, prologue.file, prologue.kernel))
    for names, line in prologue.reads:
        if line.startswith("s_load"):
            base = registers(line.split(", ")[1])
            if base[0] in names:
                rows = [known[name] for name in base]
                assert [word for _row, word in rows] == [0, 1], line
                assert rows[0][0] is rows[1][0], line
                assert rows[0][0].rule.name in POINTERS, line
    # Wave offsets are added to the V# and to Flat Scratch Init, and to nothing else.
    dispatch = planned(folder, prologue.file, prologue.kernel)
    known = owners(dispatch)
    offsets = [name for name, (row, _word) in known.items() if row.rule.name == "Scratch Wavefront Offset"]
    bases = ("Private Segment Buffer", "Flat Scratch Init")
    for line in dict.fromkeys(line for _names, line in prologue.reads):
        match = re.fullmatch(r"s_add_u32 (\S+), (s\d+), (s\d+)", line)
        if match and match[3] in offsets:
            row, word = known[match[2]]
            assert (row.rule.name in bases, word) == (True, 0), line


POINTERS = ("Kernarg Segment Ptr", "Dispatch Ptr", "Queue Ptr")


@pytest.mark.slow
def test_everything_that_can_be_asked_for_is_read_by_some_kernel() -> None:
    found = set()
    for folder, prologue in CASES:
        known = owners(planned(folder, prologue.file, prologue.kernel))
        found |= {known[name][0].rule.name for names, _line in prologue.reads for name in names if name in known}
    assert found == {
        "Private Segment Buffer", "Dispatch Ptr", "Queue Ptr", "Kernarg Segment Ptr", "Dispatch Id",
        "Flat Scratch Init", "Preloaded Kernargs", "Work-Group Id X", "Work-Group Id Y", "Work-Group Id Z",
        "Work-Group Id Y, Z", "Scratch Wavefront Offset", "Work-Item Id X", "Work-Item Id Y", "Work-Item Id Z",
        "Work-Item Id X, Y, Z"}  # fmt: skip


def expected(kernel: str, group: tuple[int, int, int], item: tuple[int, int, int]) -> list[int] | None:
    """What a kernel of ``launch.cl`` stores: numbers of 4 bytes from ``out`` on."""
    return {
        "group_x": [group[0]],               "group_xyz": [*group],               "item_x": [item[0]],
        "item_xyz": [*item],                 "packet": [WORK_GROUP[0] | WORK_GROUP[1] << 16],
        "queue": [1, 1],  # hsa_queue_t: type and features
        "dispatch_number": [0, 0],
        "implicit": [GRID[0] // WORK_GROUP[0], WORK_GROUP[0], GRID[0]],
    }[kernel]  # fmt: skip


def check_kernel(file: str, kernel: str, lines: list[str]) -> None:
    """Run a kernel in some lanes of some waves, and compare what it stores."""
    dispatch = plan(opened(file), kernel, LaunchOptions(GRID, WORK_GROUP), [OUT])
    shape = dispatch.geometry
    for number in (0, 1, shape.wave_count // 2, shape.wave_count - 1):
        place = shape.place(number)
        for lane in (0, 1, shape.lanes_of(place) - 1):
            initial = {}
            for each in initial_state(dispatch, place):
                row = each.row
                if row.kind == "v":
                    initial[row.registers] = each.words[lane]
                elif row.first is not None:
                    names = (f"{row.kind}{row.first + word}" for word in range(row.count))
                    initial.update(zip(names, each.words, strict=False))
            stored = Lane(dispatch, initial).run(lines)
            data = b"".join(stored[address] for address in sorted(stored))
            words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
            assert (min(stored), words) == (OUT, expected(kernel, place.group, shape.item(place, lane)))


@pytest.mark.parametrize("file,kernel,lines", read_small(), ids=lambda each: each if isinstance(each, str) else "")
def test_kernels_store_what_they_are_given(file: str, kernel: str, lines: list[str]) -> None:
    check_kernel(str(ROOT / "fixtures/amdgpu" / file), kernel, lines)


LATER = ("gfx1154", "gfx1170", "gfx1171", "gfx1172", "gfx1310", "gfx11-7-generic", "gfx12-5-generic", "gfx13-generic")
"""Processors that LLVM 22 does not know."""
EARLIER = ("gfx940", "gfx941")
"""Processors that LLVM 22 knows no more."""
PROCESSORS = [
    (each.name, size) for each in processors() for size in each.wave_sizes if each.name not in (*LATER, *EARLIER)
]


@pytest.mark.slow
@pytest.mark.parametrize("processor, wave_size", PROCESSORS)
def test_every_processor_starts_as_its_compiler_expects(
    processor: str, wave_size: int, tmp_path: Path, require_tool: Callable[..., str]
) -> None:
    wave = [] if len(processor_named(processor).wave_sizes) == 1 else [WAVE_OPTIONS[wave_size]]
    # LLVM 22 stops with an internal error on GFX6 without optimization
    for level in ("-O0", "-O2") if processor_named(processor).major > 6 else ("-O2",):
        linked, code = compiled(tmp_path, require_tool, [f"-mcpu={processor}", *wave, level])
        for kernel in opened(str(linked)).kernels.kernels:
            group = kernel.metadata.reqd_workgroup_size or (64, 1, 1)
            dispatch = plan(opened(str(linked)), kernel.name, LaunchOptions((64, 64, 64), group))
            assert dispatch.target.lane_count == wave_size
            known = owners(dispatch)
            for names, line in live_in(beginning(code[kernel.name])):
                assert all(name in known or unread_offset(dispatch, name, line) for name in names), line
            if level == "-O2" and kernel.name in SMALL_KERNELS:
                check_kernel(str(linked), kernel.name, straight(code[kernel.name]))


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_golden_prologues_are_what_the_tool_says(folder: str, require_tool) -> None:
    require_tool("llvm-objdump-22")
    assert write_golden(folder) == (GOLDEN / FOLDERS[folder]).read_text()


@pytest.mark.slow
def test_golden_kernels_are_what_the_tool_says(require_tool) -> None:
    require_tool("llvm-objdump-22")
    assert write_small() == (GOLDEN / SMALL).read_text()


PAIR = "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1"


@for_each("lines,reads",
    (["s_mov_b32 s0, s1", "s_mov_b32 s2, s0"], [(("s1",), "s_mov_b32 s0, s1")]),
    (["s_load_dwordx2 s[0:1], s[4:5], 0x0"], [(("s4", "s5"), "s_load_dwordx2 s[0:1], s[4:5], 0x0")]),
    (["global_store_dword v0, v1, s[0:1]"], [(("v0", "v1", "s0", "s1"), "global_store_dword v0, v1, s[0:1]")]),
    ([PAIR], [(("v2", "v1"), PAIR)]),
    (["v_add_co_u32 v1, s[0:1], v0, s2"], [(("v0", "s2"), "v_add_co_u32 v1, s[0:1], v0, s2")]),
    (["s_cmp_eq_u32 s0, 0"], [(("s0",), "s_cmp_eq_u32 s0, 0")]),
    (["s_bitset1_b32 s0, 5"], [(("s0",), "s_bitset1_b32 s0, 5")]),
    (["v_mov_b32_e32 v0, ttmp9"], [(("ttmp9",), "v_mov_b32_e32 v0, ttmp9")]))  # fmt: skip
def test_reads_before_writes_are_found(lines: list[str], reads: list[tuple[tuple[str, ...], str]]) -> None:
    assert live_in(lines) == reads
