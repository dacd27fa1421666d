"""Geometry and the initial state: which registers hold what, for descriptors that ask for every combination."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import UsageError
from dwarfgpu.targets.amdgpu.geometry import GridPosition, geometry
from dwarfgpu.targets.amdgpu.initial_state import (
    SYSTEM_SGPRS,
    USER_SGPRS,
    Scratch,
    Start,
    item_words,
    mode,
    mode_fields,
    problems,
    rows,
    scratch_descriptor,
    scratch_wave_bytes,
)
from dwarfgpu.targets.amdgpu.processors import processor_named, processors
from tests.builders.errors import raised
from tests.builders.parameters import for_each, in_one_test

PACKET, QUEUE, KERNARG, ENTRY, BASE = (0x7F0000001000, 0x7F0000002000, 0x7F0000003000, 0x7F0000004000, 0x7F0000010000)
SHORT = {
    "psb": "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER", "disp": "ENABLE_SGPR_DISPATCH_PTR", "queue": "ENABLE_SGPR_QUEUE_PTR",
    "kernarg": "ENABLE_SGPR_KERNARG_SEGMENT_PTR", "dispid": "ENABLE_SGPR_DISPATCH_ID",
    "fsi": "ENABLE_SGPR_FLAT_SCRATCH_INIT", "pss": "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE",
    "cntx": "ENABLE_SGPR_GRID_WORKGROUP_COUNT_X", "cnty": "ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y",
    "cntz": "ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z", "x": "ENABLE_SGPR_WORKGROUP_ID_X", "y": "ENABLE_SGPR_WORKGROUP_ID_Y",
    "z": "ENABLE_SGPR_WORKGROUP_ID_Z", "info": "ENABLE_SGPR_WORKGROUP_INFO", "scratch": "ENABLE_PRIVATE_SEGMENT",
}  # fmt: skip
SIZES = {rule.enable: rule.count for rule in USER_SGPRS}


def start(processor, asked="", *, user=None, wave=64, grid=(200, 3, 2), group=(16, 2, 2), private=20, **fields):
    """A dispatch on a processor; ``asked`` are enables by their short names."""
    enabled = {SHORT[word]: 1 for word in asked.split()}
    count = sum(SIZES.get(name, 0) for name in enabled) if user is None else user
    found = processor_named(processor)
    wave_bytes = scratch_wave_bytes(found, private, wave)
    descriptor = scratch_descriptor(found, BASE, 1 << 16, wave)
    return Start(
        found, {**enabled, "USER_SGPR_COUNT": count, **fields}, geometry(grid, group, wave), ENTRY, PACKET, QUEUE,
        KERNARG, bytes(range(64)), 5, private, 0, Scratch(BASE, 0, wave_bytes, descriptor))  # fmt: skip


def table(one, number=0):
    """The rows of a wave: registers, name, words; of the registers that somebody sets."""
    place = one.geometry.place(number)
    return {row.registers: (row.rule.name, row.words(one, place)) for row in rows(one) if row.is_set}


def scalars(one):
    return {row.registers: row.rule.name for row in rows(one) if row.kind in ("s", "ttmp")}


@for_each("processor, asked, user, expected",
    (
        "gfx90a", "psb disp queue kernarg dispid fsi x y z scratch", 14,
        {"s[0:3]": "Private Segment Buffer", "s[4:5]": "Dispatch Ptr", "s[6:7]": "Queue Ptr",
         "s[8:9]": "Kernarg Segment Ptr", "s[10:11]": "Dispatch Id", "s[12:13]": "Flat Scratch Init",
         "s14": "Work-Group Id X", "s15": "Work-Group Id Y", "s16": "Work-Group Id Z",
         "s17": "Scratch Wavefront Offset"},
    ),
    ("gfx90a", "psb kernarg x", 6,
     {"s[0:3]": "Private Segment Buffer", "s[4:5]": "Kernarg Segment Ptr", "s6": "Work-Group Id X"}),
    ("gfx1100", "kernarg x", 15,
     {"s[0:1]": "Kernarg Segment Ptr", "s[2:14]": "(padding)", "s15": "Work-Group Id X"}),
    ("gfx1100", "disp queue kernarg dispid x y z scratch", 13,
     {"s[0:1]": "Dispatch Ptr", "s[2:3]": "Queue Ptr", "s[4:5]": "Kernarg Segment Ptr", "s[6:7]": "Dispatch Id",
      "s[8:12]": "(padding)", "s13": "Work-Group Id X", "s14": "Work-Group Id Y", "s15": "Work-Group Id Z"}),
    ("gfx1200", "kernarg x", 2,
     {"s[0:1]": "Kernarg Segment Ptr", "ttmp7": "Work-Group Id Y, Z", "ttmp8": "Wave Id",
      "ttmp9": "Work-Group Id X"}),
    ("gfx801", "psb disp kernarg x", 8,
     {"s[0:3]": "Private Segment Buffer", "s[4:5]": "Dispatch Ptr", "s[6:7]": "Kernarg Segment Ptr",
      "s8": "Work-Group Id X"}))  # fmt: skip
def test_system_sgprs_begin_at_user_sgpr_count(processor, asked, user, expected):
    assert scalars(start(processor, asked, user=user)) == expected


def test_every_user_sgpr_of_amd_kernel_code_t_has_its_place():
    assert table(start("gfx803", "disp queue kernarg dispid fsi pss cntx cnty cntz x y z info scratch"), 1) | {} == {
        "s[0:1]": ("Dispatch Ptr", (PACKET & 0xFFFFFFFF, PACKET >> 32)),
        "s[2:3]": ("Queue Ptr", (QUEUE & 0xFFFFFFFF, QUEUE >> 32)),
        "s[4:5]": ("Kernarg Segment Ptr", (KERNARG & 0xFFFFFFFF, KERNARG >> 32)),
        "s[6:7]": ("Dispatch Id", (5, 0)),  "s[8:9]": ("Flat Scratch Init", (0, 20)),
        "s10": ("Private Segment Size", (20,)),               "s11": ("Grid Work-Group Count X", (13,)),
        "s12": ("Grid Work-Group Count Y", (2,)),             "s13": ("Grid Work-Group Count Z", (1,)),
        "s14": ("Work-Group Id X", (1,)),   "s15": ("Work-Group Id Y", (0,)),   "s16": ("Work-Group Id Z", (0,)),
        "s17": ("Work-Group Info", (0x80000001,)),            "s18": ("Scratch Wavefront Offset", (2048,)),
        "v0": ("Work-Item Id X", ()),       "pc": ("PC", (ENTRY & 0xFFFFFFFF, ENTRY >> 32)),
        "exec": ("EXEC", (0xFFFFFFFF, 0xFFFFFFFF)),           "mode": ("MODE", (0,))}  # fmt: skip


def test_user_sgprs_are_16_or_32():
    one = start("gfx900", "psb disp queue kernarg dispid fsi pss cntx cnty x", user=17)
    assert scalars(one) | {} == {
        "s[0:3]": "Private Segment Buffer", "s[4:5]": "Dispatch Ptr", "s[6:7]": "Queue Ptr",
        "s[8:9]": "Kernarg Segment Ptr", "s[10:11]": "Dispatch Id", "s[12:13]": "Flat Scratch Init",
        "s14": "Private Segment Size", "s15": "Grid Work-Group Count X", "s16": "Work-Group Id X"}  # fmt: skip
    one = start("gfx1250", "kernarg", user=30, wave=32, KERNARG_PRELOAD_SPEC_LENGTH=28)
    assert scalars(one)["s[2:29]"] == "Preloaded Kernargs"
    one = start("gfx1250", "kernarg", user=4, wave=32, KERNARG_PRELOAD_SPEC_LENGTH=2)
    assert table(one)["pc"][1][0] == ENTRY & 0xFFFFFFFF


def test_registers_that_nothing_counts_or_sets_are_not_set():
    one = start("gfx900", "psb kernarg x", user=5)
    assert scalars(one) == {"s[0:3]": "Private Segment Buffer", "s4": "Kernarg Segment Ptr", "s5": "Work-Group Id X"}
    assert table(one)["s4"] == ("Kernarg Segment Ptr", (KERNARG & 0xFFFFFFFF,))
    one = start("gfx1100", "psb fsi kernarg", wave=32)
    assert [(row.registers, row.is_set) for row in rows(one) if row.kind == "s"] == [
        ("s[0:3]", False), ("s[4:5]", True), ("s[6:7]", False)]  # fmt: skip


@given(st.sets(st.sampled_from(sorted(SHORT))), st.sampled_from(["gfx600", "gfx701", "gfx906", "gfx1030", "gfx942"]))
def test_scalar_registers_are_dense(asked, processor):
    one = start(processor, " ".join(asked))
    at = 0
    for row in rows(one):
        if row.kind == "s":
            assert row.first == at
            at += row.count


@in_one_test("processor", [each.name for each in processors()])
def test_every_processor_has_a_state(processor):
    found = processor_named(processor)
    for wave in found.wave_sizes:
        known = table(start(processor, "kernarg x y z scratch", wave=wave))
        assert known["s[0:1]"][0] == "Kernarg Segment Ptr"
        assert len(known["exec"][1]) == wave // 32
        in_ttmp = found.major >= 12
        assert ("ttmp9" in known, "s2" in known) == (in_ttmp, not in_ttmp)
        assert ("v0" in known, "pc" in known, "mode" in known) == (True, True, True)


def test_the_info_and_ttmp_registers_name_waves_and_work_groups():
    one = start("gfx900", "info", grid=(1000,), group=(250,))
    assert [table(one, wave)["s0"][1] for wave in range(5)] == [(0x80000004,), (4,), (4,), (4,), (0x80000004,)]
    one = start("gfx1200", "x y z", wave=32, grid=(64, 12, 10), group=(16, 4, 2))
    place = one.geometry.place(one.geometry.wave_count - 1)
    assert place.group == (3, 2, 4)
    known = table(one, place.number)
    assert (known["ttmp9"][1], known["ttmp7"][1], known["ttmp8"][1]) == ((3,), (2 | 4 << 16,), (3 << 25,))
    one = start("gfx1200", "x y", wave=32, grid=(64, 12, 10), group=(16, 4, 2))
    assert table(one, one.geometry.wave_count - 1)["ttmp7"][1] == (2,)
    assert "ttmp9" not in table(start("gfx1200", "y", wave=32))


@for_each("ids, expected", (0, 3), (1, 3 | 1 << 10), (2, 3 | 1 << 10 | 1 << 20), (3, 3 | 1 << 10 | 1 << 20))
def test_packed_work_item_ids(ids, expected):
    one = start("gfx90a", ENABLE_VGPR_WORKITEM_ID=ids)
    (row,) = [row for row in rows(one) if row.kind == "v"]
    assert row.registers == "v0"
    assert item_words(row, one, one.geometry.place(0), 3 + 16 + 32) == expected


@pytest.mark.parametrize("ids, count", [(0, 1), (1, 2), (2, 3), (3, 3)])
def test_separate_work_item_ids(ids, count):
    one = start("gfx1030", ENABLE_VGPR_WORKITEM_ID=ids)
    found = [row for row in rows(one) if row.kind == "v"]
    assert [row.registers for row in found] == ["v0", "v1", "v2"][:count]
    assert [item_words(row, one, one.geometry.place(0), 3 + 16 + 32) for row in found] == [3, 1, 1][:count]


@for_each("wave, items, expected",
    (64, 64, (0xFFFFFFFF, 0xFFFFFFFF)), (64, 40, (0xFFFFFFFF, 0xFF)), (64, 32, (0xFFFFFFFF, 0)), (64, 1, (1, 0)),
    (32, 32, (0xFFFFFFFF,)), (32, 31, (0x7FFFFFFF,)), (32, 1, (1,)))  # fmt: skip
def test_exec_has_a_bit_for_each_work_item(wave, items, expected):
    assert table(start("gfx1100", wave=wave, grid=(items,), group=(256,)))["exec"] == ("EXEC", expected)


def test_preloaded_arguments_and_the_code_behind_their_block():
    known = table(start("gfx942", "kernarg x", user=6, KERNARG_PRELOAD_SPEC_LENGTH=4, KERNARG_PRELOAD_SPEC_OFFSET=2))
    assert known["s[2:5]"] == ("Preloaded Kernargs", (0x0B0A0908, 0x0F0E0D0C, 0x13121110, 0x17161514))
    assert known["s6"][0] == "Work-Group Id X"
    assert known["pc"][1][0] == (ENTRY + 256) & 0xFFFFFFFF
    assert len(table(start("gfx942", "kernarg", user=31, KERNARG_PRELOAD_SPEC_LENGTH=29))["s[2:15]"][1]) == 14
    short = start("gfx942", "kernarg", user=4, KERNARG_PRELOAD_SPEC_LENGTH=2, KERNARG_PRELOAD_SPEC_OFFSET=15)
    assert table(short)["s[2:3]"][1] == (0x3F3E3D3C, 0)


@for_each("processor, words",
    ("gfx701", (0, 20)), ("gfx803", (0, 20)), ("gfx900", (BASE & 0xFFFFFFFF, BASE >> 32)),
    ("gfx90a", (BASE & 0xFFFFFFFF, BASE >> 32)), ("gfx1030", (BASE & 0xFFFFFFFF, BASE >> 32)))  # fmt: skip
def test_flat_scratch_init(processor, words):
    assert table(start(processor, "fsi"))["s[0:1]"] == ("Flat Scratch Init", words)


@pytest.mark.parametrize("processor, per_wave", [("gfx942", 2048), ("gfx1100", 1280), ("gfx1200", 1280)])
def test_architected_flat_scratch_is_set_by_the_hardware(processor, per_wave):
    known = table(start(processor, "x scratch"), 3)
    address = BASE + 3 * per_wave
    assert known["flat_scratch"] == ("FLAT_SCRATCH", (address & 0xFFFFFFFF, address >> 32))
    assert not any(name == "Scratch Wavefront Offset" for name, _ in known.values())
    assert "flat_scratch" not in table(start(processor, "x"))


@pytest.mark.parametrize("processor, who", [("gfx701", "Offset"), ("gfx900", "Absolute"), ("gfx1030", "Absolute")])
def test_elsewhere_the_prolog_sets_it(processor, who):
    (row,) = [row for row in rows(start(processor)) if row.kind == "flat_scratch"]
    assert not row.is_set
    assert f"{who} flat scratch" in row.rule.clause


def test_what_processors_do_not_have():
    one = start("gfx600", "fsi")
    assert not [row for row in rows(one) if row.kind == "flat_scratch"]
    assert table(one).get("s[0:1]") is None
    assert scratch_descriptor(processor_named("gfx1100"), BASE, 1024, 32) == (0, 0, 0, 0)
    texts = {
        name: next(row for row in rows(start(name)) if row.kind == "m0").rule.meaning for name in ("gfx803", "gfx900")
    }
    assert "the prolog sets it" in texts["gfx803"]
    assert "not used" in texts["gfx900"]


@for_each("processor, private, wave, expected",
    ("gfx900", 0, 64, 0), ("gfx900", 1, 64, 1024), ("gfx900", 20, 64, 2048), ("gfx1030", 20, 32, 1024),
    ("gfx1100", 20, 32, 768), ("gfx1100", 20, 64, 1280), ("gfx1200", 1, 32, 256))  # fmt: skip
def test_scratch_of_a_wave_comes_in_units(processor, private, wave, expected):
    assert scratch_wave_bytes(processor_named(processor), private, wave) == expected


@for_each("processor, wave, word3",
    ("gfx600", 64, 0xEA4FAC), ("gfx803", 64, 0xEA4FAC), ("gfx90a", 64, 0xE24FAC), ("gfx1030", 32, 0x21C14FAC),
    ("gfx1030", 64, 0x21E14FAC))  # fmt: skip
def test_the_scratch_descriptor_swizzles_dwords_by_lane(processor, wave, word3):
    words = scratch_descriptor(processor_named(processor), BASE, 0x14000, wave)
    assert words == (BASE & 0xFFFFFFFF, 0x80000000 | BASE >> 32, 0x14000, word3)
    assert (words[3] >> 21 & 3, words[3] >> 23 & 1) == ({32: 2, 64: 3}[wave], 1)  # index stride, add thread ID


MODES = {
    "FLOAT_ROUND_MODE_32": 1, "FLOAT_ROUND_MODE_16_64": 2, "FLOAT_DENORM_MODE_32": 3, "FLOAT_DENORM_MODE_16_64": 1,
}  # fmt: skip
EXCEPTIONS = {
    "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION": 1, "ENABLE_EXCEPTION_FP_DENORMAL_SOURCE": 0,
    "ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO": 1, "ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW": 0,
    "ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW": 0, "ENABLE_EXCEPTION_IEEE_754_FP_INEXACT": 0,
    "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO": 1}  # fmt: skip


def test_mode_comes_from_the_descriptor():
    fields = {**MODES, **EXCEPTIONS, "ENABLE_DX10_CLAMP": 1, "ENABLE_IEEE_MODE": 1, "FP16_OVFL": 1}
    assert mode(fields) == 0b1001 | 0b0111 << 4 | 1 << 8 | 1 << 9 | 0b1000101 << 12 | 1 << 23
    fields = {**MODES, **EXCEPTIONS, "FP16_OVFL": 0}
    assert [name for name, *_ in mode_fields(fields)] == ["FP_ROUND", "FP_DENORM", "FP16_OVFL"]


@for_each("processor, asked, user, fields, expected",
    ("gfx90a", "psb kernarg x", 6, {}, ()),
    ("gfx1100", "kernarg x", 15, {}, ()),
    ("gfx900", "psb kernarg", 5, {},
     ("the fields ask for 6 user SGPRs, and USER_SGPR_COUNT is 5: they must match",)),
    ("gfx900", "psb disp queue kernarg dispid fsi pss cntx cnty", 17, {},
     ("17 user SGPRs are more than the 16 that gfx900 sets",)),
    ("gfx1100", "psb", 4, {}, ("ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER must be 0: gfx1100 does not support it",)),
    ("gfx600", "fsi", 2, {}, ("ENABLE_SGPR_FLAT_SCRATCH_INIT must be 0: gfx600 does not support it",)),
    ("gfx900", "x", 0, {"ENABLE_VGPR_WORKITEM_ID": 3}, ("ENABLE_VGPR_WORKITEM_ID is 3, which is undefined",)),
    ("gfx942", "kernarg", 2, {"KERNARG_PRELOAD_SPEC_LENGTH": 4},
     ("the fields ask for 6 user SGPRs, and USER_SGPR_COUNT is 2: they must match",)))  # fmt: skip
def test_problems_of_a_descriptor(processor, asked, user, fields, expected):
    assert problems(start(processor, asked, user=user, **fields)) == expected


def test_rules_cite_documents_and_descriptors_have_the_same_user_sgprs():
    """objfile names them without knowing a target."""
    from dwarfgpu.objfile.kernels.kernel import USER_SGPRS as READ

    assert dict(READ) == SIZES
    assert [name for name, _count in READ] == list(dict.fromkeys(rule.enable for rule in USER_SGPRS))
    for rule in (*USER_SGPRS, *SYSTEM_SGPRS):
        assert rule.clause.startswith(("AMDGPU usage", "AMDGPU Compute ABI", "LLVM"))
        assert rule.meaning


SMALL = st.tuples(*[st.integers(1, 40)] * 3)
GROUP = st.tuples(*[st.integers(1, 10)] * 3)
WAVE_SIZES = st.sampled_from([32, 64])


def by_hand(grid, work_group, wave_size):
    """Every wave in its order: work-group, number in it, the work-items of its lanes."""
    counts = [-(-g // w) for g, w in zip(grid, work_group, strict=True)]
    for z, y, x in itertools.product(*map(range, reversed(counts))):
        group = (x, y, z)
        size = [min(w, g - i * w) for g, w, i in zip(grid, work_group, group, strict=True)]
        items = [(i, j, k) for k in range(size[2]) for j in range(size[1]) for i in range(size[0])]
        for first in range(0, len(items), wave_size):
            yield group, first // wave_size, items[first : first + wave_size]


@given(SMALL, GROUP, WAVE_SIZES)
def test_waves_are_those_counted_by_hand_one_by_one_and_as_arrays(grid, work_group, wave_size):
    shape = geometry(grid, work_group, wave_size)
    waves = list(by_hand(grid, work_group, wave_size))
    assert shape.wave_count == len(waves)
    for number in {0, len(waves) // 3, len(waves) // 2, len(waves) - 1}:
        group, wave, items = waves[number]
        place = shape.place(number)
        assert place == GridPosition(group, wave, number)
        assert shape.lanes_of(place) == len(items)
        assert [shape.item(place, lane) for lane in range(len(items))] == items
    shape = geometry(grid, work_group, wave_size)
    places = [shape.place(number) for number in range(min(shape.wave_count, 50))]
    columns = np.array([[*place.group, place.wave, place.number] for place in places], dtype=np.int64).T
    many = GridPosition((columns[0], columns[1], columns[2]), columns[3], columns[4])
    assert list(shape.lanes_of(many)) == [shape.lanes_of(place) for place in places]
    items = shape.item(
        GridPosition(tuple(each[:, None] for each in many.group), columns[3][:, None], None), np.arange(4)
    )
    assert [tuple(int(axis[i, 3]) for axis in items) for i in range(len(places))] == [
        shape.item(place, 3) for place in places
    ]


def test_grids_that_are_huge_small_and_of_few_dimensions():
    shape = geometry((2**32 - 1, 2**20, 77), (1000, 1, 1), 64)
    assert shape.wave_count == 16 * 2**20 * 77 * 4294967 + 5 * 2**20 * 77
    assert shape.place(shape.wave_count - 1).group == (4294967, 2**20 - 1, 76)
    shape = geometry((100,), (64,), 64)
    assert (shape.grid, shape.work_group, shape.dimensions) == ((100, 1, 1), (64, 1, 1), 1)
    assert (shape.groups, shape.remainders, shape.group_count) == ((2, 1, 1), (36, 0, 0), 2)
    assert geometry((100,), (8, 8), 64).dimensions == 2
    shape = geometry((40,), (64,), 64)
    assert (shape.wave_count, shape.size_of((0, 0, 0)), shape.lanes_of(shape.place(0))) == (1, (40, 1, 1), 40)


@for_each("grid, work_group, message",
    ((), (1,), "a grid has 1 to 3 dimensions, not 0"),
    ((1,), (1, 1, 1, 1), "a work-group has 1 to 3 dimensions, not 4"),
    ((0,), (1,), "the grid size x = 0 does not fit"),
    ((1, 2**32), (1,), "the grid size y = 4294967296 does not fit"),
    ((1,), (1, 1, -1), "the work-group size z = -1 does not fit"),
    ((1,), (65536,), "the work-group size x = 65536 does not fit"),
    ((64,), (1025,), "a work-group of 1025 work-items does not fit: a processor has at most 1024"),
    ((64,), (32, 32, 2), "a work-group of 2048 work-items does not fit: a processor has at most 1024"))  # fmt: skip
def test_what_does_not_fit(grid, work_group, message):
    assert raised(UsageError, geometry, grid, work_group, 64).message == message


@pytest.mark.parametrize("number", [-1, 2, 1 << 70])
def test_a_wave_that_is_not_there(number):
    with pytest.raises(UsageError, match="there is no wave"):
        geometry((100,), (64,), 64).place(number)
