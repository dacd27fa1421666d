"""One address in every space that reaches it: the conversions of the documents, there and back."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.frames.address_aliases import parse_address, views_of
from dwarfgpu.states.gpu_cores import open_gpu_stopped
from dwarfgpu.targets.amdgpu.address_spaces import Apertures, with_apertures
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.parameters import for_each

WAVE64, WAVE32 = resolve("gfx90a"), resolve("gfx1100")
GFX8 = resolve("gfx803")
PRIVATE, SHARED = 2 << 48, 1 << 48


def shown(target, text, lane=None):
    space, address = parse_address(text, target)
    return [
        (f"{view.space.name}#{view.address:#x}", view.lane, view.length)
        for view in views_of(target, space, address, lane).views
    ]


def test_a_private_address_of_a_lane():
    assert shown(WAVE64, "private_lane#0x32", 5) == [
        ("private_lane#0x32", 5, (1 << 32) - 0x32),
        ("private_lane5#0x32", 5, (1 << 32) - 0x32),
        ("private_wave#0xc16", None, 2),
        ("generic#0x2000000000032", 5, (1 << 32) - 0x32),
    ]
    assert ("private_wave#0x616", None, 2) in shown(WAVE32, "private_lane5#0x32")


def test_a_private_address_of_a_wave_is_one_of_a_lane():
    assert shown(WAVE64, "private_wave#0xc16") == [
        ("private_wave#0xc16", None, (1 << 32) - 0xC16),
        ("private_lane#0x32", 5, 2),
        ("private_lane5#0x32", 5, 2),
        ("generic#0x2000000000032", 5, 2),
    ]


def test_local_global_and_region_addresses():
    assert shown(WAVE64, "local#16")[1:] == [("generic#0x1000000000010", None, (1 << 32) - 16)]
    assert shown(WAVE64, "0x1000")[1:] == [("generic#0x1000", None, SHARED - 0x1000)]
    assert shown(WAVE64, "generic#0x1000")[1:] == [("global#0x1000", None, SHARED - 0x1000)]
    assert shown(WAVE64, f"global#{3 << 48}")[1:] == [(f"generic#{3 << 48:#x}", None, (1 << 64) - (3 << 48))]
    assert shown(WAVE64, "region#4")[1:] == []
    assert shown(resolve("gfx600"), "global#4")[1:] == []
    assert shown(resolve("x86_64"), "64")[1:] == []


def test_null_is_converted_to_null():
    null = [("generic#0x0", None, 0), ("local#0xffffffff", None, 0), ("private_lane#0xffffffff", None, 0)]
    assert shown(WAVE64, "0") == [("global#0x0", None, 0), *null]
    assert shown(WAVE64, "local#0xffffffff")[0] == ("local#0xffffffff", None, 0)
    assert ("generic#0x0", None, 0) in shown(WAVE64, "private_lane#0xffffffff")


@given(
    target=st.sampled_from([WAVE64, WAVE32, with_apertures(GFX8, Apertures(5 << 32, 9 << 32))]),
    name=st.sampled_from(["private_lane", "private_wave", "private_lane7", "local", "global", "generic"]),
    address=st.integers(1, 1 << 20) | st.integers(1, (1 << 32) - 2),
    base=st.sampled_from([0, SHARED, PRIVATE, 5 << 32, 9 << 32]),
    lane=st.integers(0, 31),
)
def test_every_view_leads_back(target, name, address, base, lane):
    space = target.space_named(name)
    address += base if name in ("global", "generic") else 0
    found = views_of(target, space, address, lane)
    for view in found.views[1:]:
        back = views_of(target, view.space, view.address, view.lane if view.lane is not None else lane)
        owners = {None, view.lane}
        same = [one for one in back.views if one.space == space and {one.lane} <= owners | {found.asked.lane}]
        assert [one.address for one in same] == [address]
        assert 0 < view.length <= found.asked.length


def test_apertures_may_be_unknown():
    assert [view for view, _, _ in shown(GFX8, "local#16")] == ["local#0x10"]
    for text in ("local#16", "global#16"):
        assert "queue" in views_of(GFX8, *parse_address(text, GFX8)).note
    assert raised(MissingContext, shown, GFX8, "generic#16").kind == "apertures"


@pytest.mark.parametrize("text", ["private_lane#0x30", f"generic#{PRIVATE + 4}"])
def test_a_lane_must_be_chosen(text):
    assert raised(MissingContext, shown, WAVE64, text).kind == "lane"
    assert "no lane 64" in str(raised(UsageError, shown, WAVE64, text, 64))


@pytest.mark.parametrize("text", ["", "local#", "local#x", "nowhere#1", "local#0x100000000", "local#-1", "127#1"])
def test_what_is_no_address_is_refused(text):
    raised(UsageError, parse_address, text, WAVE64)


def test_spaces_have_their_numbers_and_names_of_the_text():
    for text in ("3#4", "DW_ASPACE_AMDGPU_local#4", "local#0x4"):
        assert parse_address(text, WAVE64) == (WAVE64.space_named("local"), 4)


def test_a_machine_says_what_is_there():
    machine = Machine(WAVE64)
    machine.add_waves(1, work_group=(0, 0, 0))
    machine.memory.map(WAVE64.space_named("private_wave"), 0, bytes(512))
    found = views_of(WAVE64, WAVE64.space_named("private_lane"), 2, 5, machine, 0)
    assert found.wave == "0"
    assert [view.available for view in found.views] == [6, 6, 512 - 22, 6]


BASE = 0x7F00_0001_0000


@for_each("name, registers, how",
    ("gfx90a", {"flat_scratch": BASE}, "flat_scratch 0x7f0000010000 + "),
    ("gfx1100", {"flat_scratch": BASE}, "flat_scratch 0x7f0000010000 + "),
    ("gfx803", "descriptor", "the base of the buffer descriptor s[0:3]"),
    ("gfx900", "descriptor", "the base of the buffer descriptor s[0:3]"),
    ("gfx1030", "descriptor", "the base of the buffer descriptor s[0:3]"),
    ("gfx900", {"s0": 0x10000, "s1": 0x7F00, "s2": 0x1000, "s3": 0}, None),  # another resource
    ("gfx900", {}, None))  # fmt: skip
def test_private_memory_has_a_global_address_where_its_base_is_known(name, registers, how):
    target = resolve(name)
    machine = Machine(target)
    machine.add_waves(1)
    if registers == "descriptor":  # AMDGPU usage: dword elements, swizzled with the wave size, ADD_TID_ENABLE
        stride = (3 if target.lane_count == 64 else 2) << 21
        registers = {"s0": 0x10000, "s1": 0x7F00 | 1 << 31, "s2": 0x1000, "s3": stride | 1 << 23 | 0x24000}
    for register, value in registers.items():
        machine.set_register(register, value)
    space, address = parse_address("private_lane#0x30", target)
    found = [view for view in views_of(target, space, address, 5, machine, 0).views if view.space.name == "global"]
    at = BASE + 0x30 // 4 * target.lane_count * 4 + 5 * 4
    assert [(view.address, view.length, view.formula.startswith(how)) for view in found] == (
        [(at, 4, True)] if how else []
    )


def test_waves_of_a_core_file_have_it_from_their_slot(tmp_path):
    from tests.builders.gpu_cores import filled, written

    core = open_gpu_stopped(written(tmp_path, filled("gfx900", waves=4))).machine
    space, address = parse_address("private_lane#0x8", core.target)
    for wave in range(core.wave_count):
        views = views_of(core.target, space, address, 3, core, wave).views
        (found,) = [view for view in views if view.space.name == "global"]
        private = core.read_memory(space, address, 4, wave, 3)
        assert core.read_memory(found.space, found.address, 4, wave, None) == private
