"""Waves and work-groups as lists: neighbours that stand at the same places are one row, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.program.waves.groups import standings
from dwarfgpu.program.waves.places import place_of, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.machines.stopped import Stopped
    from dwarfgpu.program.waves.groups import Standing
    from dwarfgpu.program.waves.places import Triple


@frozen
class WaveRun:
    """Waves with numbers one behind the other that stand at one place of one dispatch, with the same lanes active."""

    first: int
    last: int
    standing: Standing

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def wave_runs(
    stopped: Stopped, waves: list[int] | None = None, *, each: bool = False, apart: Iterable[int | None] = ()
) -> list[WaveRun]:
    """Waves (all, if not said otherwise), in the order of their numbers; ``apart`` are some that stand alone."""
    machine = waves_of(stopped)
    dispatches = machine.dispatch.tolist()
    alone = set(apart)
    found = {wave: one for one in standings(stopped, waves) for wave in one.waves}
    runs: list[list[Any]] = []
    for wave in sorted(found):
        one = found[wave]
        if runs and not each and wave not in alone:
            _first, last, standing = runs[-1]
            is_next = last == wave - 1 and last not in alone
            if is_next and standing is one and dispatches[last] == dispatches[wave]:
                runs[-1][1] = wave
                continue
        runs.append([wave, wave, one])
    return [WaveRun(*run) for run in runs]


@frozen
class WorkGroup:
    """A work-group with its waves."""

    dispatch: int | None
    """The index of the dispatch."""
    position: Triple | None
    """None where nobody knows which work-group it is."""
    waves: tuple[int, ...]
    standings: tuple[Standing, ...]
    """Where each of them stands."""
    used: int | None
    """How many of their lanes have a work-item; None where that is not known."""

    @property
    def likeness(self) -> Any:
        """What is equal where work-groups are alike."""
        masks = tuple((one.pc, one.mask) for one in self.standings)
        return self.dispatch, masks, self.used, self.position is None

    @property
    def active(self) -> int | None:
        """How many lanes execute; None where that is not known."""
        masks = [one.mask for one in self.standings]
        known = [mask.bit_count() for mask in masks if mask is not None]
        return sum(known) if len(known) == len(masks) else None


def work_groups(stopped: Stopped) -> Iterator[WorkGroup]:
    """The work-groups of all dispatches, in the order of their first waves."""
    machine = waves_of(stopped)
    standing = {wave: one for one in standings(stopped) for wave in one.waves}
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


def work_group_runs(stopped: Stopped, apart: int | None = None) -> Iterator[tuple[WorkGroup, WorkGroup, int]]:
    """Work-groups that are alike and follow each other: the first, the last and how many.

    That of the wave ``apart`` stands alone.
    """
    run: list[WorkGroup] = []
    for group in work_groups(stopped):
        alone = apart in group.waves or (run and apart in run[0].waves)
        if run and (alone or group.likeness != run[0].likeness):
            yield run[0], run[-1], len(run)
            run = []
        run.append(group)
    if run:
        yield run[0], run[-1], len(run)
