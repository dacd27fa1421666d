import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import UsageError
from dwarfgpu.targets.amdgpu.geometry import GridPosition, geometry
from tests.builders.errors import raised

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
def test_waves_are_those_counted_by_hand(grid, work_group, wave_size):
    shape = geometry(grid, work_group, wave_size)
    waves = list(by_hand(grid, work_group, wave_size))
    assert shape.wave_count == len(waves)
    for number in {0, len(waves) // 3, len(waves) // 2, len(waves) - 1}:
        group, wave, items = waves[number]
        place = shape.place(number)
        assert place == GridPosition(group, wave, number)
        assert shape.lanes_of(place) == len(items)
        assert [shape.item(place, lane) for lane in range(len(items))] == items


@given(SMALL, GROUP, WAVE_SIZES)
def test_arrays_of_waves_are_the_same(grid, work_group, wave_size):
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


@pytest.mark.parametrize(
    "grid, work_group, message",
    [
        ((), (1,), "a grid has 1 to 3 dimensions, not 0"),
        ((1,), (1, 1, 1, 1), "a work-group has 1 to 3 dimensions, not 4"),
        ((0,), (1,), "the grid size x = 0 does not fit"),
        ((1, 2**32), (1,), "the grid size y = 4294967296 does not fit"),
        ((1,), (1, 1, -1), "the work-group size z = -1 does not fit"),
        ((1,), (65536,), "the work-group size x = 65536 does not fit"),
        ((64,), (1025,), "a work-group of 1025 work-items does not fit: a processor has at most 1024"),
        ((64,), (32, 32, 2), "a work-group of 2048 work-items does not fit: a processor has at most 1024"),
    ],
)
def test_what_does_not_fit(grid, work_group, message):
    assert raised(UsageError, geometry, grid, work_group, 64).message == message


@pytest.mark.parametrize("number", [-1, 2, 1 << 70])
def test_a_wave_that_is_not_there(number):
    with pytest.raises(UsageError, match="there is no wave"):
        geometry((100,), (64,), 64).place(number)
