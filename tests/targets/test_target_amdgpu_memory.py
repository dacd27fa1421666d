"""The AMDGPU address spaces, the swizzle of scratch memory and the apertures."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dwarfgpu.errors import EvaluationError, MissingContext
from dwarfgpu.targets.amdgpu import address_spaces as ap
from dwarfgpu.targets.amdgpu.address_spaces import (
    PRIVATE_LANE,
    GenericView,
    LaneView,
    lane_segments,
    lane_to_wave,
    with_apertures,
)
from dwarfgpu.targets.resolve import resolve
from dwarfgpu.targets.target import Scope
from tests.builders.errors import raised
from tests.builders.parameters import for_each

WAVE_SIZES = st.sampled_from([32, 64])
SEGMENT = st.integers(0, (1 << 32) - 1)
SHARED, PRIVATE = 1 << 48, 2 << 48


def converted(source, space, address, apertures):
    """The address in another space, of which one is the generic one, 1; None if it has none."""
    found, is_lost = ap.convert(source, space, address, apertures)
    return None if is_lost else int(found)


@pytest.mark.parametrize("name, lanes", [("gfx90a", 64), ("gfx1100-wave32", 32), ("gfx1100-wave64", 64)])
def test_the_address_spaces_are_those_of_the_table(name, lanes):
    assert [(s.number, s.name, s.address_bits, s.null, s.scope) for s in resolve(name).spaces()] == [
        (0x00, "global", 64, 0, Scope.PROCESS),                (0x01, "generic", 64, 0, Scope.DEPENDS),
        (0x02, "region", 32, 0xFFFFFFFF, Scope.AGENT),         (0x03, "local", 32, 0xFFFFFFFF, Scope.WORKGROUP),
        (0x05, "private_lane", 32, 0xFFFFFFFF, Scope.LANE),    (0x06, "private_wave", 32, 0xFFFFFFFF, Scope.WAVE),
        *((0x20 + n, f"private_lane{n}", 32, 0xFFFFFFFF, Scope.WAVE) for n in range(lanes))]  # fmt: skip


@pytest.mark.parametrize("number", [4, 7, 0x1F, 0x60])
def test_reserved_spaces_do_not_exist(number):
    assert resolve("gfx90a").space(number) is None


def test_spaces_by_name_and_lanes_of_a_wave():
    assert resolve("gfx1100-wave32").space(0x20 + 40) is None
    assert resolve("gfx1100-wave64").space(0x20 + 40).name == "private_lane40"
    target = resolve("gfx90a")
    assert target.space_named("DW_ASPACE_AMDGPU_private_wave").number == 6
    assert target.space_named("DW_ASPACE_AMDGPU_private_lane63").number == 0x5F
    assert target.space_named("DW_ASPACE_none").number == 0
    assert target.space_named("private_lane64") is None


@pytest.mark.parametrize("name", ["gfx600", "gfx601", "gfx602"])
def test_gfx6_does_not_support_the_generic_address_space(name):
    assert resolve(name).space(1) is None


@for_each("address, lane, wave_size, wave_address",
    (0, 0, 64, 0),         (0, 1, 64, 4),         (3, 1, 64, 7),         (4, 0, 64, 256),       (4, 0, 32, 128),
    (0x30, 0, 64, 0xC00),  # dword aligned and lane 0: the address times the wave size
    (0x31, 63, 64, 0xC00 + 63 * 4 + 1),
    (0x40, 31, 32, 0x800 + 31 * 4))  # fmt: skip
def test_the_formula_of_the_document(address, lane, wave_size, wave_address):
    assert lane_to_wave(address, lane, wave_size) == wave_address


@given(address=st.integers(0, (1 << 30) - 1).map(lambda n: n * 4), wave_size=WAVE_SIZES)
def test_an_aligned_address_of_lane_0_is_multiplied_by_the_wave_size(address, wave_size):
    assert lane_to_wave(address, 0, wave_size) == address * wave_size


@given(addresses=st.lists(SEGMENT, min_size=1, max_size=64), wave_size=WAVE_SIZES)
def test_arrays_are_swizzled_like_numbers(addresses, wave_size):
    lanes = [i % wave_size for i in range(len(addresses))]
    address_array, lane_array = np.array(addresses, np.uint64), np.array(lanes, np.uint64)
    swizzled = lane_to_wave(address_array, lane_array, wave_size)
    assert swizzled.dtype == np.uint64
    assert swizzled.tolist() == [lane_to_wave(a, n, wave_size) for a, n in zip(addresses, lanes, strict=True)]


@given(address=SEGMENT, size=st.integers(0, 40), lane=st.integers(0, 31), wave_size=WAVE_SIZES)
def test_segments_hold_every_byte_once_and_in_order(address, size, lane, wave_size):
    segments = lane_segments(address, size, lane, wave_size)
    held = [start + i for start, length in segments for i in range(length)]
    assert held == [lane_to_wave(address + i, lane, wave_size) for i in range(size)]
    assert all(length > 0 and start % 4 + length <= 4 for start, length in segments)


def test_segments_of_an_unaligned_range():
    assert lane_segments(6, 7, lane=2, wave_size=64) == [(266, 2), (520, 4), (776, 1)]


APERTURES = st.builds(
    lambda shared, private: ap.Apertures(shared << 32, private << 32),
    st.integers(1, 1 << 31),
    st.integers((1 << 31) + 1, (1 << 32) - 1))  # fmt: skip


@for_each("generic, space, address",
    (0, 0, 0),         (0x7F0000001000, 0, 0x7F0000001000),  (SHARED - 1, 0, SHARED - 1),          (SHARED, 3, 0),
    (SHARED + 0xFFFFFFFF, 3, 0xFFFFFFFF), (SHARED + 0x100000000, 0, SHARED + 0x100000000),
    (0x2000000000030, 5, 0x30),           (PRIVATE + 0xFFFFFFFF, 5, 0xFFFFFFFF),
    (PRIVATE + 0x100000000, 0, PRIVATE + 0x100000000),       ((1 << 64) - 1, 0, (1 << 64) - 1))  # fmt: skip
def test_what_a_generic_address_means_on_gfx9(generic, space, address):
    assert ap.locate(generic, ap.GFX9) == (space, address)


@given(address=st.integers(0, (1 << 64) - 1), apertures=APERTURES)
def test_locating_a_generic_address_has_an_inverse(address, apertures):
    space, segment = ap.locate(address, apertures)
    assume((space, segment) not in ((3, 0xFFFFFFFF), (5, 0xFFFFFFFF)))  # the null of the segment
    assert converted(space, 1, segment, apertures) == address


@given(space=st.sampled_from([3, 5]), address=SEGMENT, apertures=APERTURES)
def test_a_segment_address_survives_the_way_to_generic_and_back(space, address, apertures):
    generic = converted(space, 1, address, apertures)
    assert converted(1, space, generic, apertures) == address
    assert converted(1, 8 - space, generic, apertures) in (None, 0xFFFFFFFF)  # local and private do not meet


@pytest.mark.parametrize("space", [3, 5])
def test_null_becomes_null(space):
    assert converted(space, 1, 0xFFFFFFFF, ap.GFX9) == 0
    assert converted(1, space, 0, ap.GFX9) == 0xFFFFFFFF
    assert converted(space, 1, 0, ap.GFX9) != 0  # address 0 is a place


def test_generic_addresses_lie_in_the_apertures_of_queues():
    assert [converted(*spaces, 0x1234, ap.GFX9) for spaces in ((0, 1), (1, 1), (1, 0))] == [0x1234] * 3
    assert converted(1, 1, SHARED, ap.GFX9) == SHARED
    assert converted(1, 0, SHARED, ap.GFX9) is None
    assert ap.of_queue(0x2000_0000, 0x2000_0001) == ap.Apertures(0x2000_0000 << 32, 0x2000_0001 << 32)
    addresses = np.array([0, SHARED, SHARED + 8, PRIVATE + 0x30, (1 << 64) - 1], np.uint64)
    assert ap.GFX9.is_local(addresses).tolist() == [False, True, True, False, False]
    assert ap.GFX9.is_private(addresses).tolist() == [False, False, False, True, False]
    assert ap.segment_address(addresses).tolist() == [0, 0, 8, 0x30, 0xFFFFFFFF]
    view = GenericView(ap.Apertures(shared=5 << 32, private=6 << 32))
    assert view.pieces((5 << 32) + 1, 2, None, 32) == [(3, 1, 2)]


@pytest.mark.parametrize("space", [2, 6, 0x20])
def test_other_spaces_are_not_in_the_generic_one(space):
    assert converted(space, 1, 0x10, ap.GFX9) is None
    assert converted(1, space, SHARED + 0x10, ap.GFX9) is None


def test_private_lanes_are_views_and_need_a_lane():
    assert resolve("gfx90a").space(5).alias.pieces(0x30, 6, 2, 64) == [(6, 0xC08, 4), (6, 0xD08, 2)]
    target = resolve("gfx90a")
    for lane in (None, 0, 7):
        assert target.space(0x22).alias.pieces(0x30, 4, lane, 64) == [(6, 0xC08, 4)]
    assert raised(MissingContext, PRIVATE_LANE.pieces, 0, 4, None, 64).kind == "lane"
    target = resolve("gfx90a")
    assert target.space(5).alias.scope(0) == Scope.LANE
    assert target.space(0x25).alias.scope(0) == Scope.WAVE
    alias = resolve("gfx90a").space(1).alias
    assert alias.pieces(0x1000, 4, None, 64) == [(0, 0x1000, 4)]
    raised(MissingContext, alias.pieces, PRIVATE, 4, None, 64)


@pytest.mark.parametrize("view, lane, size", [(PRIVATE_LANE, 32, 32), (PRIVATE_LANE, -1, 64), (LaneView(40), None, 32)])
def test_a_wave_has_no_lane_beyond_its_size(view, lane, size):
    with pytest.raises(EvaluationError, match=f"does not exist in a wave of {size} lanes"):
        view.pieces(0, 4, lane, size)


@pytest.mark.parametrize("number", [0, 2, 3, 6])
def test_the_other_spaces_have_their_own_storage(number):
    assert resolve("gfx90a").space(number).alias is None


@for_each("address, size, pieces, scope",
    (0x1000, 8, [(0, 0x1000, 8)], Scope.PROCESS),
    (SHARED + 0x10, 8, [(3, 0x10, 8)], Scope.WORKGROUP),
    (PRIVATE + 0x30, 4, [(6, 0xC00, 4)], Scope.LANE),
    (PRIVATE + 0x30, 8, [(6, 0xC00, 4), (6, 0xD00, 4)], Scope.LANE),
    (SHARED - 2, 4, [(0, SHARED - 2, 2), (3, 0, 2)], Scope.PROCESS),
    (SHARED + 0xFFFFFFFE, 4, [(3, 0xFFFFFFFE, 2), (0, SHARED + 0x100000000, 2)], Scope.WORKGROUP),
    (0xFFFFFFFE, 4, [(0, 0xFFFFFFFE, 4)], Scope.PROCESS),
    (PRIVATE, 0, [], Scope.LANE))  # fmt: skip
def test_generic_addresses_lead_to_the_storage(address, size, pieces, scope):
    alias = resolve("gfx90a").space(1).alias
    assert alias.pieces(address, size, 0, 64) == pieces
    assert alias.scope(address) == scope


@given(
    address=st.one_of(SEGMENT.map(lambda n: SHARED + n), SEGMENT.map(lambda n: PRIVATE + n), SEGMENT),
    size=st.integers(0, 24),
    lane=st.integers(0, 63),
)
def test_pieces_have_no_alias_and_hold_every_byte(address, size, lane):
    target = resolve("gfx90a")
    pieces = target.space(1).alias.pieces(address, size, lane, 64)
    assert sum(length for _space, _start, length in pieces) == size
    assert all(target.space(space).alias is None for space, _start, _length in pieces)


def test_gfx7_and_gfx8_need_the_apertures_of_the_queue():
    target = resolve("gfx803")
    assert raised(MissingContext, target.space(1).alias.pieces, 0x1000, 4, 0, 64).kind == "apertures"
    raised(MissingContext, target.space(1).alias.scope, 0x1000)
    told = with_apertures(target, ap.of_queue(0x2000_0000, 0x2000_0001))
    assert told.space(1).alias.pieces((0x2000_0001 << 32) + 4, 4, 1, 64) == [(6, 260, 4)]
    assert told.space(3) is target.space(3)
    assert told.name == target.name
