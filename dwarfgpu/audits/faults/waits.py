"""What the waves of a state that hangs wait for: at a barrier who is not there, at a counter what may be in flight.

A wave waits where the machine says so, or its registers. One that merely stands at a barrier may be about to arrive,
and one that stands behind it may have passed it.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.audits.memory_model.outstanding import MOST
from dwarfgpu.audits.memory_model.survey import outstanding_at
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.barriers import WITHOUT_EFFECT
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.program.frames.wave_groups import wave_groups
from dwarfgpu.program.frames.wave_positions import place_of, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.frames.wave_positions import Triple
    from dwarfgpu.states.stopped import Stopped

AT_BARRIER, NEAR_BARRIER, COUNTER, SLEEP, HALTED, CRASHED, ENDED, AT_END, ELSEWHERE = (
    "barrier", "near barrier", "counter", "sleep", "halted", "crashed", "ended", "at its end", "elsewhere",
)  # fmt: skip
WAITING = frozenset((AT_BARRIER, NEAR_BARRIER, COUNTER, SLEEP, HALTED))
CERTAIN = frozenset((AT_BARRIER, HALTED))
"""What no other wave or memory has to be asked about."""
BARRIERS = (AT_BARRIER, NEAR_BARRIER)
GONE = frozenset((ENDED, AT_END))
DETAILS = {"waits at a barrier": AT_BARRIER, "has ended": ENDED}
"""What a machine that has run says of waves."""


@frozen
class WaitSite:
    """An instruction that waves stand at, or wait at."""

    address: int
    kind: str
    """What the code alone says of waves here."""
    instruction: str | None = None
    flying: tuple[tuple[int, str], ...] = ()
    """The accesses that may not be complete, which a wait for a counter waits for: addresses and instructions."""


@frozen
class FlyingAccess:
    """An access that may not be complete where waves wait for its counter."""

    address: int
    instruction: str
    source: SourceLine | None


@frozen
class WaitingWaves:
    """Waves of work-groups that are alike, at one place for the same reason."""

    kind: str
    numbers: tuple[int, ...]
    """Those of the first work-group first."""
    waves: tuple[str, ...]
    address: int | None
    """Of the barrier, or where they stand; None where the program counter is not known."""
    instruction: str | None
    source: SourceLine | None
    flying: tuple[FlyingAccess, ...] = ()
    """What a wait for a counter waits for."""


@frozen
class WaitingGroups:
    """Work-groups whose waves wait for the same at the same places."""

    dispatch: int
    """The index of the dispatch, -1 if it is not known."""
    work_groups: tuple[Triple | None, ...]
    """None where it is not known which work-group it is."""
    rows: tuple[WaitingWaves, ...]
    absent: int
    """How many waves of each work-group are not in the state: they have ended, or were not saved."""

    def missing(self, row: WaitingWaves) -> list[WaitingWaves]:
        """Return the waves that have not arrived at the barrier where others wait."""
        is_barrier = row.kind in BARRIERS
        return [other for other in self.rows if is_barrier and other.kind not in (*BARRIERS, *GONE)]


def waiting_groups(stopped: Stopped) -> Iterator[WaitingGroups]:
    """Yield the work-groups in which waves wait, those that are alike together."""
    machine = waves_of(stopped)
    codes = _Codes(stopped)
    found: dict[int, tuple[str, WaitSite | None]] = {}
    same: dict[tuple[str, WaitSite | None], tuple[str, WaitSite | None]] = {}
    stops = machine.all_stops()
    for cohort in wave_groups(stopped):
        place = None if cohort.pc is None else codes.place(cohort.pc)
        known: dict[int, tuple[str, WaitSite | None]] = {}
        for wave in cohort.numbers:
            stop = stops[wave]
            if id(stop) not in known:
                kind = ELSEWHERE if place is None else place.kind
                if stop is not None:
                    halted = HALTED if stop.was_halted or stop.never_ran else kind
                    kind = CRASHED if stop.reasons else DETAILS.get(stop.detail, halted)
                told = kind, codes.own(place) if kind not in (AT_BARRIER, NEAR_BARRIER) else place
                known[id(stop)] = same.setdefault(told, told)
            found[wave] = known[id(stop)]
    members: dict[int, list[int]] = {}
    for wave, first in enumerate(machine.group_numbers):
        members.setdefault(first if first >= 0 else wave, []).append(wave)
    alike: dict[object, list[list[int]]] = {}
    numbers = machine.wave_in_group.tolist()
    for waves in members.values():
        kinds = {found[wave][0] for wave in waves} - GONE
        if not kinds & WAITING or kinds == {NEAR_BARRIER}:  # all have arrived: nothing keeps them
            continue
        likeness = machine.dispatch[waves[0]], *((numbers[wave], id(found[wave])) for wave in waves)
        alike.setdefault(likeness, []).append(waves)
    for groups in alike.values():
        yield _waiting(stopped, groups, found)


def _waiting(stopped: Stopped, groups: list[list[int]], found: dict[int, tuple[str, WaitSite | None]]) -> WaitingGroups:
    machine = waves_of(stopped)
    here = place_of(machine, groups[0][0])
    absent = 0
    if here.grid is not None and here.work_group is not None:
        absent = max(here.grid.waves_of(here.work_group) - len(groups[0]), 0)

    def order(wave: int) -> tuple[bool, int, str]:
        kind, place = found[wave]
        return kind not in WAITING, -1 if place is None else place.address, kind

    rows = []
    for _order, same in groupby(sorted(chain(*groups), key=order), order):
        numbers = tuple(same)
        kind, place = found[numbers[0]]
        ids = tuple(machine.ids[wave] for wave in numbers)
        if place is None:
            rows.append(WaitingWaves(kind, numbers, ids, None, None, None))
            continue
        source = stopped.loaded.calls_at(place.address)[0].source
        flying = (FlyingAccess(*each, stopped.loaded.calls_at(each[0])[0].source) for each in place.flying)
        rows.append(WaitingWaves(kind, numbers, ids, place.address, place.instruction, source, tuple(flying)))
    positions = tuple(place_of(machine, waves[0]).work_group for waves in groups)
    return WaitingGroups(machine.place_of(groups[0][0])[0], positions, tuple(rows), absent)


class _Codes:
    """The code where waves stand, each file and function read once."""

    def __init__(self, stopped: Stopped) -> None:
        self.stopped = stopped
        self.functions: dict[str, tuple[MemoryCheck, list[FunctionCode]]] = {}
        self.is_complete = getattr(stopped.machine, "weak_memory", False) is None
        """Whether it is a machine that runs, whose memory has everything at once."""
        self.standing: dict[WaitSite, WaitSite] = {}
        """By the place of a barrier the place behind it, where waves stand."""

    def own(self, place: WaitSite | None) -> WaitSite | None:
        """Return where waves stand that are at a place for another reason."""
        return None if place is None else self.standing.get(place, place)

    def place(self, pc: int) -> WaitSite:
        """Return what the code at a program counter says of waves there."""
        code = self.stopped.loaded.at(pc)
        if code is None:
            return WaitSite(pc, ELSEWHERE)
        here = code.in_file(pc)
        try:
            if code.file.name not in self.functions:
                check = MemoryCheck(code.file)
                self.functions[code.file.name] = check, [*check.code.functions()]
        except DwarfGpuError:
            return WaitSite(pc, ELSEWHERE)
        check, functions = self.functions[code.file.name]
        function = next((each for each in functions if here in each.addresses), None)
        if function is None:
            return WaitSite(pc, ELSEWHERE)

        def made(index: int, kind: str) -> WaitSite:
            text = instruction_text(function.steps[index].instruction)
            return WaitSite(code.in_program(function.addresses[index]), kind, text)

        index = function.addresses.index(here)
        name = function.steps[index].instruction.name
        for at in (index, index - 1):
            if at >= 0 and _is_barrier(function, at):
                place = made(at, NEAR_BARRIER)
                self.standing[place] = made(index, ELSEWHERE)
                return place
        waits = dict(function.steps[index].action.waits)
        if waits and not self.is_complete:
            rows = outstanding_at(check, here)[1]
            late = [
                row for row in rows if any(later >= waits.get(counter, MOST + 1) for counter, later in row.counters)
            ]
            flying = tuple((code.in_program(row.address), row.instruction) for row in late if row.address is not None)
            return evolve(made(index, COUNTER if flying else ELSEWHERE), flying=flying)
        if index > 0 and _is_halt(function, index - 1):
            return made(index, HALTED)
        return made(
            index, AT_END if name.startswith("s_endpgm") else SLEEP if name.startswith("s_sleep") else ELSEWHERE
        )


def _operand(function: FunctionCode, index: int) -> int:
    values: Iterable[int] = (operand.value for operand in function.steps[index].instruction.operands)
    return next(iter(values), 0) & 0xFFFF


def _is_barrier(function: FunctionCode, index: int) -> bool:
    name = function.steps[index].instruction.name
    own = (_operand(function, index) ^ 0x8000) - 0x8000
    return name == "s_barrier" or (name == "s_barrier_wait" and own not in WITHOUT_EFFECT)


def _is_halt(function: FunctionCode, index: int) -> bool:
    name = function.steps[index].instruction.name
    return name == "s_sendmsghalt" or (name == "s_sethalt" and bool(_operand(function, index) & 1))
