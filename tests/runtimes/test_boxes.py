"""Regions of three dimensions that are copied."""

from itertools import product

from dwarfgpu.runtimes.opencl.buffers import box_parts
from tests.builders.parameters import for_each


@for_each("first, second, count",
    ((4, 12), (4, 12), 1),      ((4, 12), (4, 16), 2),        ((4, 16), (4, 16), 2),
    ((5, 15), (4, 12), 6),      ((5, 20), (5, 20), 6))  # fmt: skip
def test_rows_that_follow_each_other_in_both_places_are_one_part(first, second, count):
    size, rows, slices = region = 4, 3, 2
    parts = [*box_parts(region, (100, *first), (1000, *second))]
    assert len(parts) == count
    copied = {(start + byte, other + byte) for start, other, length in parts for byte in range(length)}
    assert copied == {
        tuple(base + z * slice_ + y * row + x for base, (row, slice_) in ((100, first), (1000, second)))
        for x, y, z in product(range(size), range(rows), range(slices))
    }


def test_one_row_in_each_slice_may_follow_the_one_before():
    assert [*box_parts((8, 1, 3), (0, 64, 8), (100, 8, 8))] == [(0, 100, 24)]
    assert [*box_parts((8, 3, 1), (0, 8, 0), (100, 8, 64))] == [(0, 100, 24)]
