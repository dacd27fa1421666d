"""Waves that are alike, as those at one place, about which a question is answered once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.locations import Register
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import Diverge, LaneFault
from dwarfgpu.program.frames.frame import Stack, unknown_place
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.wave_positions import waves_of

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import WaveStop
    from dwarfgpu.states.stopped import Stopped
    from dwarfgpu.targets.target import TargetRegister


@frozen
class Cohort:
    """Waves at one place in the code; in a list also with the same active lanes and one stop reason."""

    numbers: Sequence[int]
    """Their indices, ascending."""
    pc: int | None
    """None where it is not known."""
    lane_count: int = 0
    mask: int | None = None
    """The active lanes; None where that is not known."""
    error: DwarfGpuError | None = None
    """What is not known, and why."""
    stop: WaveStop | None = None
    """Why they have stopped; of several without what differs between waves. None where the machine does not know."""

    @property
    def waves(self) -> b.Bits:
        """Their indices as slots have them: of one wave the index, of several an array."""
        return self.numbers[0] if len(self.numbers) == 1 else b.array(self.numbers, 64)


def wave_groups(stopped: Stopped, waves: Sequence[int] | None = None) -> list[Cohort]:
    """Group waves (by default all) by their places in the code, in the order of the first wave of each group."""
    machine = stopped.machine
    if waves is not None and len(waves) <= 1:
        return [Cohort([wave], machine.program_counter(wave)) for wave in waves]
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
        groups = [Cohort(known[group].tolist(), int(pcs[group[0]])) for group in b.groups(pcs)]
    if len(indices):
        groups.append(Cohort(indices.tolist(), None))
    return sorted(groups, key=lambda group: group.numbers[0])


def _contents(stopped: Stopped, register: TargetRegister, waves: b.Array) -> Any:
    machine = stopped.machine
    accessor = Accessor(machine, machine.target.byte_order, len(waves))
    return accessor.read(locations.at(Register(register, waves)), register.bit_size).bits


# --- Lists of waves -----------------------------------------------------------------------------------------------


def _by_wave(stopped: Stopped, waves: Sequence[int] | None = None) -> dict[int, Cohort]:
    """Return the waves (by default all), each with those at its place that have the same active lanes."""
    groups = wave_groups(stopped, waves)
    return {wave: cohort for group in groups for cohort in _masks(stopped, group) for wave in cohort.numbers}


def _masks(stopped: Stopped, group: Cohort) -> Iterator[Cohort]:
    """Yield the waves at one place, those with equal active lanes together."""
    numbers = group.numbers
    group = evolve(group, lane_count=stopped.machine.target.lane_count)
    if group.pc is None:
        yield evolve(group, error=unknown_place(stopped.machine.ids[numbers[0]]))
        return
    try:
        simt = Simt(Stack(stopped, group.waves).top)
        group = evolve(group, lane_count=simt.lane_count)
        masks = simt.active_mask()
    except (Parted, Diverge, LaneFault, DwarfGpuError) as error:
        if len(numbers) == 1 and isinstance(error, DwarfGpuError):
            yield evolve(group, error=error)
            return
        for wave in numbers:  # perhaps only of some
            yield from _masks(stopped, evolve(group, numbers=[wave]))
        return
    if isinstance(masks, int):
        yield evolve(group, mask=masks)
        return
    for positions in b.groups(masks):
        yield evolve(group, numbers=[numbers[i] for i in positions], mask=int(masks[positions[0]]))


def wave_runs(
    stopped: Stopped, waves: Sequence[int] | None = None, *, separate: bool = False, apart: Iterable[int | None] = ()
) -> list[Cohort]:
    """Return waves (by default all), those that have crashed first; neighbours that are alike are together.

    They are in the order of their numbers and of one dispatch. Those in ``apart`` are alone, and with ``separate`` all.
    """
    machine = waves_of(stopped)
    dispatches, alone = machine.dispatch.tolist(), set(apart)
    by_wave, stops = _by_wave(stopped, waves), machine.all_stops()

    def likeness(numbered: tuple[int, int]) -> Any:
        position, wave = numbered
        if separate or wave in alone:
            return wave
        stop = stops[wave]
        return wave - position, id(by_wave[wave]), dispatches[wave], None if stop is None else stop.name

    runs = []
    for _alike, numbered in groupby(enumerate(sorted(by_wave)), likeness):
        numbers = [wave for _position, wave in numbered]
        stop = stops[numbers[-1]]
        stop = stopped.or_sleeping(
            stop.common if stop is not None and len(numbers) > 1 else stop, by_wave[numbers[0]].pc
        )
        runs.append(evolve(by_wave[numbers[0]], numbers=numbers, stop=stop))
    return sorted(runs, key=lambda run: run.stop is None or not run.stop.is_crash)
