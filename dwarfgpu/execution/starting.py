"""Waves that start: the initial state of a dispatch, written into the columns of a machine.

Only the rows of `targets.amdgpu.initial_state` are written. All other registers stay unknown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import define, frozen
from dwarfgpu.machines.machine import NumberedNames
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.geometry import Geometry, GridPosition
from dwarfgpu.targets.amdgpu.initial_state import InitialRegisters, Start, item_words

if TYPE_CHECKING:
    from dwarfgpu.bits import Array
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.targets.target import Target, TargetRegister

MAX_WAVES = 1 << 20
MAX_BYTES = 1 << 33
"""The most bytes of registers, local and scratch memory of all waves of a dispatch. Untouched memory costs little."""
AT_ONCE = 1 << 14
"""The waves of a dispatch that a machine has at once, unless a launch says otherwise. The others start when these have
ended, so a grid of any size runs in as much memory."""
BYTES_AT_ONCE = 1 << 30
"""The same for the waves that a machine has at once."""
_WINDOW = 1 << 16
"""The work-groups that a seed mixes."""
_CHUNK = 4096
"""Waves whose vector registers are computed at once."""


@frozen
class RegisterCounts:
    """The number of registers of each kind that a wave has."""

    scalar: int
    vector: int
    accumulation: int = 0


@frozen
class Demand:
    """The waves of a dispatch before they are added to a machine."""

    start: Start
    rows: tuple[InitialRegisters, ...]
    counts: RegisterCounts
    local_bytes: int


def bytes_of(waves: Demand, wave_count: int, group_count: int) -> int:
    """Return what the registers, scratch and local memory of some waves take."""
    counts = waves.counts
    registers = 4 * (counts.scalar + (counts.vector + counts.accumulation) * waves.start.geometry.wave_size)
    return wave_count * (registers + waves.start.scratch.wave_bytes) + group_count * waves.local_bytes


def groups_at_once(waves: Demand, wave_limit: int | None = None) -> int:
    """Return how many work-groups of a dispatch a machine has at once: at least one cluster."""
    geometry = waves.start.geometry
    x, y, z = geometry.work_group
    in_group = -(-x * y * z // geometry.wave_size)
    most = AT_ONCE if wave_limit is None else wave_limit
    each = bytes_of(waves, in_group, 1)
    size = geometry.cluster_size  # the work-groups of a cluster are there together
    return max(1, min(most // in_group, BYTES_AT_ONCE // max(1, each)) // size) * size


def check_room(waves: Demand) -> None:
    """Refuse a dispatch with more waves than a machine can hold."""
    geometry = waves.start.geometry
    count = geometry.wave_count
    bytes_ = bytes_of(waves, count, geometry.group_count)
    if count > MAX_WAVES:
        message = f"a grid of {count} waves does not fit: a machine holds {MAX_WAVES} of a dispatch"
        raise UsageError(message, hint="launch a smaller grid")
    if bytes_ > MAX_BYTES:
        message = f"the registers and memories of {count} waves take {bytes_} bytes, more than {MAX_BYTES}"
        raise UsageError(message, hint="launch a smaller grid")


def start_waves(
    machine: Machine, waves: Demand, dispatch: int, prefix: str, groups: Any = None, started: int = 0
) -> range:
    """Add the waves of a dispatch, which is given by its index in the machine; returns their indices.

    ``groups`` are the numbers of some work-groups, in the order x, y, z; without them all waves start. The names of the
    waves are a prefix and a number, after those of the waves that have started before.
    """
    if groups is None:
        check_room(waves)
    place = places(waves.start.geometry, groups)
    count = len(place.number)
    indices = machine.add_waves(
        count,
        dispatch=dispatch,
        work_group=np.stack(place.group, axis=1),
        wave_in_group=place.wave,
        ids=NumberedNames(prefix, range(started + 1, started + 1 + count)),
        groups=None if machine.wave_count else place.number - place.wave,
    )
    machine.allocate_registers(_registers(machine.target, waves.counts))
    for row in waves.rows:
        if row.is_set:
            _set_row(machine, row, waves.start, place, indices)
    map_memory(machine, waves.start, place.wave, indices)
    return indices


@define(eq=False)
class StartingWaves:
    """The work-groups of a dispatch that start when earlier ones have ended, some at a time.

    Clusters start in the order x, y, z, and the work-groups of a cluster together. With a seed, clusters are shuffled
    within windows of `_WINDOW`.
    """

    waves: Demand
    dispatch: int
    at_once: int
    prefix: str
    """The begin of the names of waves, which are numbered as they start."""
    seed: int | None = None
    groups_started: int = 0
    waves_started: int = 0

    @property
    def group_count(self) -> int:
        return self.waves.start.geometry.group_count

    @property
    def is_over(self) -> bool:
        return self.groups_started == self.group_count

    def start(self, machine: Machine) -> range:
        """Replace the waves of a machine by the next ones; return their indices, of which there may be none."""
        first, end = self.groups_started, min(self.groups_started + self.at_once, self.group_count)
        if first == end:
            return range(0)
        geometry = self.waves.start.geometry
        size = geometry.cluster_size
        first, last = first // size, end // size
        clusters = np.arange(first, last, dtype=np.int64)
        if self.seed is not None:
            clusters = self._shuffled(first, last, self.group_count // size, self.seed)
        groups = groups_of(geometry, clusters)
        machine.remove_waves()
        indices = start_waves(machine, self.waves, self.dispatch, self.prefix, groups, self.waves_started)
        self.groups_started = end
        self.waves_started += len(indices)
        return indices

    def _shuffled(self, first: int, end: int, count: int, seed: int) -> Any:
        """Return the numbers of the clusters that start at some positions of the order that a seed gives."""
        parts = []
        for window in range(first // _WINDOW, (end - 1) // _WINDOW + 1):
            start = window * _WINDOW
            order = np.random.default_rng((seed, window)).permutation(min(_WINDOW, count - start)) + start
            parts.append(order[max(0, first - start) : end - start])
        return np.concatenate(parts)


def groups_of(geometry: Geometry, clusters: Any) -> Any:
    """Return the numbers of the work-groups of some clusters, those of a cluster together."""
    (x, y, _z), (in_x, in_y, in_z) = geometry.groups, geometry.cluster
    at, inside = clusters[:, None], np.arange(geometry.cluster_size, dtype=np.int64)
    group_x = at % (x // in_x) * in_x + inside % in_x
    group_y = at // (x // in_x) % (y // in_y) * in_y + inside // in_x % in_y
    group_z = at // (x // in_x * (y // in_y)) * in_z + inside // (in_x * in_y)
    return (group_x + x * (group_y + y * group_z)).reshape(-1)


def places(geometry: Geometry, groups: Any = None) -> GridPosition:
    """Return the places of all waves, or of those of some work-groups, in arrays; waves are numbered from 0."""
    x, y, _z = geometry.groups
    chosen = np.arange(geometry.group_count, dtype=np.int64) if groups is None else groups
    positions = (chosen % x, chosen // x % y, chosen // (x * y))
    counts = np.broadcast_to(geometry.waves_of(positions), chosen.shape)
    number = np.arange(int(counts.sum()), dtype=np.int64)
    first = np.cumsum(counts) - counts
    of = np.repeat(np.arange(len(chosen)), counts)
    gx, gy, gz = (axis[of] for axis in positions)
    return GridPosition((gx, gy, gz), number - first[of], number)


@lru_cache(maxsize=64)
def _registers(target: Target, counts: RegisterCounts) -> tuple[TargetRegister, ...]:
    kinds = (("s", counts.scalar), ("v", counts.vector), ("a", counts.accumulation))
    named = (target.register_named(f"{prefix}{index}") for prefix, count in kinds for index in range(count))
    return tuple(register for register in named if register is not None)


def _set_row(machine: Machine, row: InitialRegisters, start: Start, place: GridPosition, indices: range) -> None:
    waves = slice(indices.start, indices.stop)
    if row.kind == "v":
        _set_vector(machine, row, start, place, indices)
        return
    words = row.words(start, place)
    if row.first is None:
        machine.set_register(row.kind, _joined(words, len(indices)), waves)
        return
    for index, word in enumerate(words, row.first):
        machine.set_register(f"{row.kind}{index}", _joined((word,), len(indices)), waves)


def _joined(words: tuple[Any, ...], count: int) -> Array:
    value = np.zeros(count, dtype=np.uint64)
    for position, word in enumerate(words):
        value |= np.asarray(word).astype(np.uint64) << np.uint64(32 * position)
    return value


def _set_vector(machine: Machine, row: InitialRegisters, start: Start, place: GridPosition, indices: range) -> None:
    """Set the words of the lanes that execute, and 0 for the others."""
    # OPEN: what lanes without a work-item hold is not said; they share a register with those that have one.
    lanes = np.arange(start.wave_size, dtype=np.int64)
    waves, is_alike = place.wave, not any(start.geometry.remainders)
    if is_alike:  # one group is computed for all: a tenth of the time for 20,000 waves
        number = np.arange(int(waves.max()) + 1)
        place = GridPosition((number * 0,) * 3, number, number)
    for first in range(0, len(place.wave), _CHUNK):
        chosen = slice(first, first + _CHUNK)
        x, y, z = (numbers[chosen, None] for numbers in place.group)
        executing = GridPosition((x, y, z), place.wave[chosen, None], place.number[chosen, None])
        values = np.where(lanes < start.geometry.lanes_of(executing), item_words(row, start, executing, lanes), 0)
        own = indices if is_alike else indices[chosen]
        if is_alike and len(values) > 1:
            values = values.astype(np.uint32)[waves]
        machine.set_register(row.registers, values, slice(own.start, own.stop))


def map_memory(machine: Machine, start: Start, wave_in_group: Array, indices: range) -> None:
    """Map local memory for each work-group and scratch memory for each wave, all zeros."""
    everyone = np.arange(indices.start, indices.stop, dtype=np.int64)
    for number, owners, size in (
        (LOCAL, everyone[wave_in_group == 0], start.group_segment_size),
        (PRIVATE_WAVE, everyone, start.scratch.wave_bytes),
    ):
        space = machine.target.space(number)
        if space is not None and size and len(owners):
            addresses = np.zeros(len(owners), dtype=np.uint64)
            sizes = np.full(len(owners), size, dtype=np.int64)
            machine.memory.map_all(space, owners, addresses, sizes, np.zeros(len(owners) * size, dtype=np.uint8))
