"""Waves at one place as a group, about which a question is answered once.

A group has the same code and the same program location, so its waves have the same function, the same variables and the
same expressions; what differs between them is data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field

from dwarfgpu import bits as b
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.storages import Register
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import Diverge, LaneFault
from dwarfgpu.program.frames.call_stack import Stack, unknown_place
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.wave_positions import place_of, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.machines.protocol import WaveStop
    from dwarfgpu.program.frames.wave_positions import Triple
    from dwarfgpu.states.stopped import Stopped
    from dwarfgpu.targets.target import TargetRegister


@frozen
class WaveGroup:
    """Waves at one place."""

    waves: Bits = field(eq=b.comparable)
    """Their indices, ascending; of one wave the index."""
    pc: int | None
    """None where it is not known."""

    @property
    def numbers(self) -> list[int]:
        """Their indices."""
        return [self.waves] if isinstance(self.waves, int) else self.waves.tolist()


def wave_groups(stopped: Stopped, waves: list[int] | None = None) -> list[WaveGroup]:
    """Group waves (by default all) by their places in the code, in the order of the first wave of each group."""
    machine = stopped.machine
    if waves is not None and len(waves) <= 1:
        return [WaveGroup(wave, machine.program_counter(wave)) for wave in waves]
    indices = b.array(range(machine.wave_count) if waves is None else sorted(waves), 64)
    number = machine.target.program_counter
    register = None if number is None else machine.register(number)
    groups = []
    if register is not None and len(indices):
        known = indices
        try:
            pcs = _contents(stopped, register, known)
        except LaneFault as fault:  # the place of some waves is not known
            known = indices[b.complement(fault.positions, len(indices))]
            indices = indices[fault.positions]
            pcs = _contents(stopped, register, known) if len(known) else known
        else:
            indices = indices[:0]
        groups = [_group(known[group], int(pcs[group[0]])) for group in b.groups(pcs)]
    if len(indices):
        groups.append(_group(indices, None))
    return sorted(groups, key=lambda group: group.numbers[0])


def _contents(stopped: Stopped, register: TargetRegister, waves: Array) -> Any:
    """Return the content of a register in some waves."""
    machine = stopped.machine
    accessor = Accessor(machine, machine.target.byte_order, len(waves))
    return accessor.read(locations.at(Register(register, waves)), register.bit_size).bits


def _group(waves: Array, pc: int | None) -> WaveGroup:
    return WaveGroup(int(waves[0]) if len(waves) == 1 else waves, pc)


# --- Waves as a list ----------------------------------------------------------------------------------------------


@frozen
class WavesAtPlace:
    """Waves at one place with the same lanes active."""

    waves: tuple[int, ...]
    pc: int | None
    lane_count: int
    mask: int | None
    """The active lanes; None where that is not known."""
    error: DwarfGpuError | None = None
    """What is not known, and why."""


def standings(stopped: Stopped, waves: list[int] | None = None) -> Iterator[WavesAtPlace]:
    """Yield where waves (by default all) are in the code, and with which active lanes."""
    waves_of(stopped)
    for group in wave_groups(stopped, waves):
        for numbers, count, mask, error in _masks(stopped, group):
            yield WavesAtPlace(tuple(numbers), group.pc, count, mask, error)


def _masks(stopped: Stopped, group: WaveGroup) -> Iterator[tuple[list[int], int, int | None, DwarfGpuError | None]]:
    """Yield the waves of a group with equal active lanes: which, of how many lanes, the mask, or its error."""
    numbers = group.numbers
    count = stopped.machine.target.lane_count
    if group.pc is None:
        yield numbers, count, None, unknown_place(stopped.machine.ids[numbers[0]])
        return
    try:
        simt = Simt(Stack(stopped, group.waves).top)
        count = simt.lane_count
        masks = simt.active_mask()
    except (Parted, Diverge, LaneFault):
        for wave in numbers:
            yield from _masks(stopped, WaveGroup(wave, group.pc))
        return
    except DwarfGpuError as error:
        if len(numbers) == 1:
            yield numbers, count, None, error
        else:  # perhaps only of some
            for wave in numbers:
                yield from _masks(stopped, WaveGroup(wave, group.pc))
        return
    if isinstance(masks, int):
        yield numbers, count, masks, None
        return
    for positions in b.groups(masks):
        yield [numbers[i] for i in positions], count, int(masks[positions[0]]), None


# --- Work-groups and runs of waves --------------------------------------------------------------------------------


@frozen
class WaveRun:
    """Waves with consecutive numbers at one place of one dispatch, with the same lanes active and one stop reason."""

    first: int
    last: int
    standing: WavesAtPlace
    stop: WaveStop | None
    """Why they have stopped; of several without what differs between waves. None where the machine does not know."""

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def waves(self) -> range:
        """Their indices."""
        return range(self.first, self.last + 1)


def wave_runs(
    stopped: Stopped, waves: list[int] | None = None, *, separate: bool = False, apart: Iterable[int | None] = ()
) -> list[WaveRun]:
    """Return waves (by default all) in the order of their numbers; those in ``apart`` are alone in their run."""
    machine = waves_of(stopped)
    dispatches = machine.dispatch.tolist()
    alone = set(apart)
    by_wave = {wave: at_place for at_place in standings(stopped, waves) for wave in at_place.waves}
    runs: list[WaveRun] = []
    for wave in sorted(by_wave):
        at_place, stop = by_wave[wave], machine.stop_of(wave)
        if runs and not separate and wave not in alone:
            run = runs[-1]
            is_next = run.last == wave - 1 and run.last not in alone
            is_alike = run.standing is at_place and dispatches[run.last] == dispatches[wave]
            if is_next and is_alike and _name(stop) == _name(run.stop):
                runs[-1] = WaveRun(run.first, wave, at_place, None if stop is None else stop.common)
                continue
        runs.append(WaveRun(wave, wave, at_place, stop))
    return runs


def _name(stop: WaveStop | None) -> str | None:
    return None if stop is None else stop.name


@frozen
class WorkGroup:
    """A work-group with its waves."""

    dispatch: int | None
    """The index of the dispatch."""
    position: Triple | None
    """None where it is not known which work-group it is."""
    waves: tuple[int, ...]
    standings: tuple[WavesAtPlace, ...]
    """The place of each of them."""
    used: int | None
    """How many of their lanes have a work-item; None where that is not known."""

    @property
    def likeness(self) -> Any:
        """What is equal where work-groups are alike."""
        masks = tuple((standing.pc, standing.mask) for standing in self.standings)
        return self.dispatch, masks, self.used, self.position is None

    @property
    def active(self) -> int | None:
        """How many lanes execute; None where that is not known."""
        masks = [standing.mask for standing in self.standings]
        known = [mask.bit_count() for mask in masks if mask is not None]
        return sum(known) if len(known) == len(masks) else None


def work_groups(stopped: Stopped) -> Iterator[WorkGroup]:
    """Yield the work-groups of all dispatches, in the order of their first waves."""
    machine = waves_of(stopped)
    standing = {wave: at_place for at_place in standings(stopped) for wave in at_place.waves}
    members: dict[Any, list[int]] = {}
    owners = zip(machine.dispatch.tolist(), machine.work_group.tolist(), strict=True)
    for wave, (owner, group) in enumerate(owners):
        members.setdefault((owner, None if min(group) < 0 else tuple(group)), []).append(wave)
    for (owner, position), waves in members.items():
        used = [place_of(machine, wave).used for wave in waves]
        known = [count for count in used if count is not None]
        yield WorkGroup(
            None if owner < 0 else owner,
            position,
            tuple(waves),
            tuple(standing[wave] for wave in waves),
            sum(known) if len(known) == len(used) else None,
        )


def work_group_runs(stopped: Stopped, apart: int | None = None, *, separate: bool = False) -> Iterator[list[WorkGroup]]:
    """Yield runs of work-groups that are alike; the work-group of the wave ``apart`` is alone in its run."""
    run: list[WorkGroup] = []
    for group in work_groups(stopped):
        alone = separate or apart in group.waves or (run and apart in run[0].waves)
        if run and (alone or group.likeness != run[0].likeness):
            yield run
            run = []
        run.append(group)
    if run:
        yield run
