"""Grids: how work-items make work-groups, and work-groups make waves.

AMDGPU usage, "Kernel Dispatch"; the *HSA Platform System Architecture Specification*, "Kernel dispatch packet", which
counts a grid in work-items. If a grid is not a multiple of the work-group, the last work-group of a dimension is
partial. Work-items are numbered in the order x, y, z within their (perhaps partial) work-group. Consecutive work-items
make a wave; the last wave of a work-group may be partial.

The arithmetic works on ints, and on arrays of all waves of a dispatch. Arrays must have signed 64-bit numbers, which
are large enough for all results.
"""

from __future__ import annotations

from typing import Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

Triple = tuple[int, int, int]

AXES = ("x", "y", "z")
MAX_GROUP_SIZE = (1 << 16) - 1
"""The most work-items in one dimension: the packet has 16 bits for it."""
MAX_GRID_SIZE = (1 << 32) - 1
MAX_GROUP_ITEMS = 1024
"""The most work-items of a work-group on any processor (LLVM: the default of "amdgpu-flat-work-group-size")."""


@frozen
class GridPosition:
    """The position of a wave in its dispatch. The numbers are ints, or arrays with an element for each wave."""

    group: tuple[Any, Any, Any]
    wave: Any
    """The number of the wave in its work-group."""
    number: Any
    """The number of the wave in the dispatch: work-groups in the order x, y, z."""


@frozen
class Geometry:
    """The grid and the work-group of a dispatch, in work-items."""

    grid: Triple
    work_group: Triple
    wave_size: int
    dimensions: int = 3
    """The number of dimensions in the packet; the sizes of the others are 1."""
    cluster: Triple = (1, 1, 1)
    """How many work-groups a cluster has in each dimension."""

    @property
    def cluster_size(self) -> int:
        """The number of work-groups of a cluster; 1 without clusters."""
        x, y, z = self.cluster
        return x * y * z

    @property
    def groups(self) -> Triple:
        """The number of work-groups in each dimension, including partial ones."""
        (x, y, z), (in_x, in_y, in_z) = self.grid, self.work_group
        return -(-x // in_x), -(-y // in_y), -(-z // in_z)

    def origin(self, group: Triple) -> Triple:
        """Return the global id of the first work-item of a work-group."""
        (x, y, z), (in_x, in_y, in_z) = group, self.work_group
        return x * in_x, y * in_y, z * in_z

    @property
    def group_count(self) -> int:
        x, y, z = self.groups
        return x * y * z

    @property
    def remainders(self) -> Triple:
        """The size of the partial work-group in each dimension; 0 means that no work-group is partial."""
        x, y, z = (size % group for size, group in zip(self.grid, self.work_group, strict=True))
        return x, y, z

    def size_of(self, group: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """Return the size of one work-group, which may be partial."""
        x, y, z = (
            full - (number == last - 1) * (-size % full)
            for full, size, number, last in zip(self.work_group, self.grid, group, self.groups, strict=True)
        )
        return x, y, z

    def items_of(self, group: tuple[Any, Any, Any]) -> Any:
        """Return the number of work-items of a work-group."""
        x, y, z = self.size_of(group)
        return x * y * z

    def waves_of(self, group: tuple[Any, Any, Any]) -> Any:
        """Return the number of waves of a work-group."""
        return (self.items_of(group) + (self.wave_size - 1)) // self.wave_size

    def lanes_of(self, place: GridPosition) -> Any:
        """Return the number of lanes of a wave that have a work-item: its first lanes."""
        left = self.items_of(place.group) - place.wave * self.wave_size
        return left - (left > self.wave_size) * (left - self.wave_size)

    def item(self, place: GridPosition, lane: Any) -> tuple[Any, Any, Any]:
        """Return the work-item ID of one lane."""
        # OPEN: no text says how the work-items of a partial work-group are numbered; here it is within its own size,
        # as HSA's currentworkitemflatid is.
        x, y, _z = self.size_of(place.group)
        flat = place.wave * self.wave_size + lane
        return flat % x, flat // x % y, flat // (x * y)

    def of_item(self, global_id: Triple) -> tuple[Triple, int, int]:
        """Return the work-group of a work-item, its wave there, and its lane."""
        x, y, z = (at // size for at, size in zip(global_id, self.work_group, strict=True))
        group = x, y, z
        at_x, at_y, at_z = (at - first for at, first in zip(global_id, self.origin(group), strict=True))
        in_x, in_y, _in_z = self.size_of(group)
        return group, *divmod(at_x + in_x * (at_y + in_y * at_z), self.wave_size)

    @property
    def wave_count(self) -> int:
        """The number of waves of the dispatch."""
        return self._waves_before((0, 0, self.groups[2]))

    def place(self, number: int) -> GridPosition:
        """Return the place of a wave of the dispatch."""
        if not 0 <= number < self.wave_count:
            count = self.wave_count
            message = f"there is no wave {number}: the dispatch has {count} wave{'s' if count > 1 else ''}"
            raise UsageError(message, hint=f"waves are numbered from 0 to {count - 1}")
        low = [0, 0, 0]
        for axis in (2, 1, 0):  # the last work-group that does not begin after the wave
            first, last = 0, self.groups[axis] - 1
            while first < last:
                middle = (first + last + 1) // 2
                low[axis] = middle
                if self._waves_before((low[0], low[1], low[2])) <= number:
                    first = middle
                else:
                    last = middle - 1
            low[axis] = first
        group = (low[0], low[1], low[2])
        return GridPosition(group, number - self._waves_before(group), number)

    def _waves_before(self, group: Triple) -> int:
        """Return the number of waves of all work-groups before ``group``, which may be one past the end."""
        x, y, z = group
        all_x, all_y, _ = self.groups
        planes = self._waves_in((0, all_x), (0, all_y), (0, z))
        rows = self._waves_in((0, all_x), (0, y), (z, z + 1))
        return planes + rows + self._waves_in((0, x), (y, y + 1), (z, z + 1))

    def _waves_in(self, *ranges: tuple[int, int]) -> int:
        """Return the number of waves in a box of work-groups, given a first and an end in each dimension."""
        in_x, in_y, in_z = (self._uniform(axis, first, end) for axis, (first, end) in enumerate(ranges))
        return sum(
            count_x * count_y * count_z * self.waves_of((x, y, z))
            for x, count_x in in_x
            for y, count_y in in_y
            for z, count_z in in_z
        )

    def _uniform(self, axis: int, first: int, end: int) -> list[tuple[int, int]]:
        """Cut a range of work-groups of one dimension where their size changes, into (first, count)."""
        last = self.groups[axis] - 1
        full = (first, min(end, last) - first)
        return [run for run in (full, (max(first, last), end - max(first, last))) if run[1] > 0]


def geometry(grid: tuple[int, ...], work_group: tuple[int, ...], wave_size: int) -> Geometry:
    """Return a grid that a packet can describe, from one to three sizes; an error names the broken rule."""
    given = max(len(grid), len(work_group))
    sizes = []
    for name, size, limit in (("grid", grid, MAX_GRID_SIZE), ("work-group", work_group, MAX_GROUP_SIZE)):
        if not 1 <= len(size) <= 3:
            raise UsageError(f"a {name} has 1 to 3 dimensions, not {len(size)}")
        for axis, number in zip(AXES, size, strict=False):
            if not 1 <= number <= limit:
                hint = f"the dispatch packet holds 1 to {limit}"
                raise UsageError(f"the {name} size {axis} = {number} does not fit", hint=hint)
        sizes.append((*size, *(1,) * (3 - len(size))))
    items = sizes[1][0] * sizes[1][1] * sizes[1][2]
    if items > MAX_GROUP_ITEMS:
        raise UsageError(f"a work-group of {items} work-items does not fit: a processor has at most {MAX_GROUP_ITEMS}")
    (gx, gy, gz), (wx, wy, wz) = sizes
    return Geometry((gx, gy, gz), (wx, wy, wz), wave_size, given)
