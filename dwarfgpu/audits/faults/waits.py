"""What the waves of a hanging kernel wait for: barriers, counters, and loops that they cannot leave.

A wave certainly waits if the machine or its registers say so. A wave whose program counter is at a barrier may not have
reached it yet, and one whose program counter is behind it may have passed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING

from dwarfgpu.audits.faults.last_changes import last_changes
from dwarfgpu.audits.faults.rehearsal import Spin, SpinRead, spin_of
from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.audits.memory_model.outstanding import MOST
from dwarfgpu.audits.memory_model.survey import outstanding_at
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.barriers import GROUP, WITHOUT_EFFECT
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.isa.memory_actions import LOCAL
from dwarfgpu.machines.protocol import HAS_ENDED, IS_HALTED, WAITS, LastChange
from dwarfgpu.program.frames.launch_record import POINTERS
from dwarfgpu.program.frames.local_memory import local_objects
from dwarfgpu.program.frames.wave_groups import wave_groups
from dwarfgpu.program.frames.wave_positions import Triple, place_of, waves_of

if TYPE_CHECKING:
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.states.stopped import Stopped

KINDS = AT_BARRIER, NEAR_BARRIER, SPIN, COUNTER, SLEEP, HALTED, NEAR_HALT, CRASHED, ELSEWHERE, ENDED, AT_END = (
    "barrier", "near barrier", "loop", "counter", "sleep", "halted", "near halt", "crashed", "elsewhere", "ended",
    "at its end",
)  # fmt: skip
WAITING = frozenset((AT_BARRIER, NEAR_BARRIER, SPIN, COUNTER, SLEEP, HALTED, NEAR_HALT))
CERTAIN = frozenset((AT_BARRIER, SPIN, HALTED))
"""Kinds that prove that a wave waits (a loop only with `WaitSite.is_certain`)."""
GOING = frozenset((COUNTER, SLEEP, ELSEWHERE))
"""Kinds of waves that may be stuck in a loop: a copy of the wave is executed, to see whether it can leave."""
FIRST_SPLIT = 12
"""The first generation whose barriers are in two parts: a wave signals, and waits later."""
MAX_FOLLOWED = 16
"""At most this many places are searched for a loop, with one wave each."""
BARRIERS = (AT_BARRIER, NEAR_BARRIER)
GONE = frozenset((ENDED, AT_END))
STILL = frozenset((AT_BARRIER, SPIN, HALTED, *GONE))
"""Kinds of waves that cannot continue by themselves."""
AT_SITE = frozenset((*BARRIERS, HALTED, NEAR_HALT))
"""Kinds reported at the barrier or halt itself; other kinds are reported where the program counter is."""
DETAILS = {WAITS: AT_BARRIER, HAS_ENDED: ENDED, IS_HALTED: HALTED}
"""The kinds, by the details of stops that a machine gives."""


@frozen
class WaitSite:
    """An instruction that waves stand at, or wait at."""

    address: int | None
    """None where the program counter is not known."""
    kind: str
    """The kind of waves here, judged by the code alone."""
    instruction: str | None = None
    source: SourceLine | None = None
    flying: tuple[WaitSite, ...] = ()
    """For a wait for a counter: the accesses that it may be waiting for."""
    is_in_loop: bool = False
    """Whether paths lead from the instruction to itself."""
    spin: Spin | None = None
    """The loop, if one of the waves here cannot leave it."""
    lines: tuple[SourceLine, ...] = ()
    """The first and the last line of the loop."""
    changes: tuple[tuple[SourceLine | None, tuple[str, ...]], ...] = ()
    """For each read of the loop: the line and the waves (as users name them) of the last change."""
    is_search_cut: bool = False
    """Whether the search for the last changes took too long."""
    has_signalled: bool | None = None
    """On GFX12, whether waves here have signalled the barrier that they wait for next; None if paths differ."""
    pending: tuple[int, ...] = ()
    """The addresses of loads that may not be complete. One that is not in the loop may still end it."""

    @property
    def is_certain(self) -> bool:
        """Whether the wave certainly cannot leave the loop: no load from outside the loop is under way."""
        return self.spin is not None and set(self.spin.path).issuperset(self.pending)


@frozen
class WaitingWaves:
    """Waves at one place for the same reason, from work-groups whose waves all wait alike."""

    kind: str
    numbers: tuple[int, ...]
    """The indices of the waves, those of the first work-group first."""
    waves: tuple[str, ...]
    site: WaitSite
    """The barrier or halt, or where the waves are."""

    @property
    def spin(self) -> Spin | None:
        """The loop that one of these waves was found to be stuck in; None if there is none."""
        spin = self.site.spin
        return spin if spin is not None and spin.wave in self.numbers else None


@frozen
class WaitingGroups:
    """Work-groups whose waves wait for the same at the same places."""

    dispatch: int
    """The index of the dispatch, -1 if it is not known."""
    work_groups: tuple[Triple | None, ...]
    """The positions of the work-groups; None if unknown."""
    rows: tuple[WaitingWaves, ...]
    absent: int
    """How many waves of each work-group are not in the state: they have ended, or were not saved."""
    is_still: bool = False
    """Whether each wave of the state waits, is in a loop that one of them cannot leave, or has ended."""

    def missing(self, row: WaitingWaves) -> list[WaitingWaves]:
        """Return the waves that have not arrived at the barrier where others wait, or may not have signalled it."""
        is_barrier = row.kind in BARRIERS
        others = [other for other in self.rows if is_barrier and other.kind not in (*BARRIERS, *GONE)]
        return [other for other in others if not other.site.has_signalled]


def waiting_groups(stopped: Stopped, *, is_after_crash: bool = False) -> Iterator[WaitingGroups]:
    """Yield the work-groups in which waves wait; work-groups that wait alike are yielded together.

    After a crash, yield only work-groups with a wave at a barrier; others may only have been interrupted.
    """
    machine = waves_of(stopped)
    codes = _Codes(stopped)
    found: dict[int, tuple[str, WaitSite]] = {}
    same: dict[tuple[str, WaitSite], tuple[str, WaitSite]] = {}
    stops, followed = machine.all_stops(), 0
    for cohort in wave_groups(stopped):
        site, is_followed = codes.site(cohort.pc), False
        known: dict[int, tuple[str, WaitSite]] = {}
        for wave in cohort.numbers:
            stop = stops[wave]
            if id(stop) not in known:
                kind = site.kind
                if stop is not None:
                    halted = HALTED if stop.was_halted or stop.never_ran else kind
                    kind = CRASHED if stop.has_failed else DETAILS.get(stop.detail, halted)
                if kind in GOING and site.is_in_loop and not is_followed and followed < MAX_FOLLOWED:
                    followed, is_followed = followed + 1, True
                    site = codes.followed(wave, site)
                kind = SPIN if kind in GOING and site.spin is not None else kind
                told = kind, site if kind in AT_SITE else codes.standing.get(site, site)
                known[id(stop)] = same.setdefault(told, told)
            found[wave] = known[id(stop)]
    if not WAITING & {kind for kind, _site in same}:
        return
    members: dict[object, list[int]] = {}
    places = [machine.place_of(wave) for wave in range(len(machine.ids))]
    for wave, (dispatch, position, _number) in enumerate(places):
        members.setdefault((dispatch, position) if min(position) >= 0 else wave, []).append(wave)
    alike: dict[object, list[list[int]]] = {}
    for waves in members.values():
        kinds = {found[wave][0] for wave in waves} - GONE
        if not kinds & WAITING or kinds == {NEAR_BARRIER}:  # all are at the barrier, which then opens
            continue
        if is_after_crash and AT_BARRIER not in kinds:
            continue
        likeness = places[waves[0]][0], *((places[wave][2], id(found[wave])) for wave in waves)
        alike.setdefault(likeness, []).append(waves)
    is_still = all(kind in STILL for kind, _site in found.values())
    for groups in alike.values():
        yield evolve(_waiting(stopped, groups, found), is_still=is_still)


def _waiting(stopped: Stopped, groups: list[list[int]], found: dict[int, tuple[str, WaitSite]]) -> WaitingGroups:
    machine = waves_of(stopped)
    here = place_of(machine, groups[0][0])
    absent = 0
    if here.grid is not None and here.work_group is not None:
        absent = max(here.grid.waves_of(here.work_group) - len(groups[0]), 0)

    def order(wave: int) -> tuple[int, int]:
        kind, site = found[wave]
        return KINDS.index(kind), site.address or 0

    rows = []
    for _order, same in groupby(sorted(chain(*groups), key=order), order):
        numbers = tuple(same)
        kind, site = found[numbers[0]]
        rows.append(WaitingWaves(kind, numbers, tuple(machine.ids[wave] for wave in numbers), site))
    positions = tuple(place_of(machine, waves[0]).work_group for waves in groups)
    return WaitingGroups(machine.place_of(groups[0][0])[0], positions, tuple(rows), absent)


def _followed(stopped: Stopped, wave: int, site: WaitSite, known: dict[int, LastChange | None]) -> WaitSite:
    """Return the site with the loop that the wave cannot leave, and the last changes of what it reads, if any."""
    spin = spin_of(waves_of(stopped), wave)
    if spin is None:
        return site
    own_wave = stopped.wave(wave)
    arguments = [each for each in own_wave.launch.arguments if each.kind in POINTERS]
    is_of_group = any(read.space == LOCAL for read in spin.reads)
    objects = local_objects(own_wave.frame(0), own_wave.launch) if is_of_group else []

    def named(read: SpinRead) -> SpinRead:
        for each in objects if read.space == LOCAL else ():
            if each.is_certain and (distance := each.offset_of(read.address)) is not None:
                return evolve(read, name=f"{each.name} + {distance}" if distance else each.name)
        for argument in arguments if read.space != LOCAL else ():
            distance, memory = read.address - (argument.number or 0), argument.memory
            if not distance or (memory is not None and memory.is_buffer and 0 <= distance < memory.size):
                return evolve(read, name=f"{argument.name} + {distance}" if distance else argument.name)
        return read

    sources = [source for at in spin.path if (source := stopped.loaded.calls_at(at)[0].source) and source.line]
    files = [source.file for source in sources]
    most = max(files, key=files.count, default=None)
    own = sorted((source for source in sources if source.file == most), key=lambda source: source.line)
    places = {read.address: read.size for read in spin.reads if read.space != LOCAL}
    is_cut = False
    if None not in known.values() and not known.keys() >= places.keys():
        found: list[LastChange] = []
        try:
            found = last_changes(waves_of(stopped), places)
        except TimeoutError:
            is_cut = True
        known |= {change.address: change for change in found} if found else dict.fromkeys(places)  # None: not known
    reads = tuple(evolve(named(read), last_change=known.get(read.address)) for read in spin.reads)
    machine, changes = waves_of(stopped), []
    for read in reads:
        pc, ids = (None, ()) if read.last_change is None else (read.last_change.pc, read.last_change.waves)
        indices = [(name, machine.wave_named(name)) for name in ids]
        names = tuple(name if index is None else str(index + 1) for name, index in indices)
        changes.append((None if pc is None else stopped.loaded.calls_at(pc)[0].source, names))
    return evolve(
        site, spin=evolve(spin, reads=reads), lines=(own[0], own[-1]) if own else (), changes=tuple(changes),
        is_search_cut=is_cut,
    )  # fmt: skip


class _Codes:
    """Describes the code where waves are; each file and each function is read once."""

    def __init__(self, stopped: Stopped) -> None:
        self.stopped = stopped
        self.functions: dict[str, tuple[MemoryCheck, list[FunctionCode]]] = {}
        self.is_complete = getattr(stopped.machine, "weak_memory", False) is None
        """Whether this is a simulated machine without weak memory, where no access is ever outstanding."""
        self.signals: dict[str, dict[int, list[set[bool]]]] = {}
        """What `_signals` returns, by file."""
        self.standing: dict[WaitSite, WaitSite] = {}
        """For the site of a barrier or halt, the site where the program counter is."""
        saved: Iterable[LastChange] = getattr(stopped.machine, "last_changes", ())
        self.changes: dict[int, LastChange | None] = {change.address: change for change in saved}
        """The last change of memory, by address; None if the search did not find it."""

    def followed(self, wave: int, site: WaitSite) -> WaitSite:
        """Return the site with the loop that a wave there cannot leave, if any."""
        return _followed(self.stopped, wave, site, self.changes)

    def site(self, pc: int | None) -> WaitSite:
        """Return the site at a program counter, judged by the code there."""
        code = None if pc is None else self.stopped.loaded.at(pc)
        if code is None or pc is None:
            return WaitSite(pc, ELSEWHERE)
        here = code.in_file(pc)
        try:
            if code.file.name not in self.functions:
                self.functions[code.file.name] = MemoryCheck(code.file), []
            check, functions = self.functions[code.file.name]
            function = next((each for each in functions if here in each.addresses), None)
            if function is None:
                function = next(each for each in check.code.functions(at=here) if here in each.addresses)
                functions.append(function)
            if code.file.name not in self.signals:
                is_split = function.major >= FIRST_SPLIT
                self.signals[code.file.name] = _signals([*check.code.functions()]) if is_split else {}
        except (DwarfGpuError, StopIteration):
            return WaitSite(pc, ELSEWHERE)
        signals = self.signals[code.file.name]

        def made(index: int, kind: str) -> WaitSite:
            text, address = instruction_text(function.steps[index].instruction), function.addresses[index]
            source = self.stopped.loaded.calls_at(code.in_program(address))[0].source
            known = signals[function.addresses[0]][index] if signals else set()
            has_signalled = next(iter(known)) if len(known) == 1 else None
            return WaitSite(
                code.in_program(address), kind, text, source, is_in_loop=function.is_in_loop(index),
                has_signalled=has_signalled,
            )  # fmt: skip

        index = function.addresses.index(here)
        name = function.steps[index].instruction.name
        for at in (index, index - 1):
            if at >= 0 and _is_barrier(function, at):
                place = made(at, NEAR_BARRIER)
                self.standing[place] = made(index, ELSEWHERE)
                return place
        if index > 0 and _is_halt(function, index - 1):
            place = made(index - 1, NEAR_HALT)
            self.standing[place] = made(index, ELSEWHERE)
            return place
        kind = AT_END if name == "s_endpgm" else SLEEP if self.stopped.may_sleep(pc) else ELSEWHERE
        site, waits = made(index, kind), dict(function.steps[index].action.waits)
        if not self.is_complete and (waits or site.is_in_loop):
            rows = outstanding_at(check, here)[1]
            places = [(row, function.addresses.index(row.address)) for row in rows if row.address is not None]
            loads = (place for _row, place in places if function.steps[place].instruction.destinations)
            site = evolve(site, pending=tuple(code.in_program(function.addresses[place]) for place in loads))
            if waits:
                late = (at for row, at in places if any(n >= waits.get(each, MOST + 1) for each, n in row.counters))
                flying = tuple(made(place, ELSEWHERE) for place in late)
                return evolve(site, kind=COUNTER if flying else ELSEWHERE, flying=flying)
        return site


def _signals(functions: Sequence[FunctionCode]) -> dict[int, list[set[bool]]]:
    """Return, for each function by address, whether waves at its instructions have signalled and not yet waited.

    A kernel starts unsignalled. Another function starts in any state of a call site, and after a call every state is
    possible in which a function returns.
    """
    entered, left = {False}, set[bool]()
    while True:
        known = {function.addresses[0]: _signals_in(function, entered, left) for function in functions}
        steps = [
            (step, before)
            for function in functions
            for step, before in zip(function.steps, known[function.addresses[0]], strict=True)
        ]
        called = entered.union(*(before for step, before in steps if step.is_call))
        returned = left.union(*(before for step, before in steps if step.is_exit and not step.is_call))
        if (called, returned) == (entered, left):
            return known
        entered, left = called, returned


def _signals_in(function: FunctionCode, entered: set[bool], left: set[bool]) -> list[set[bool]]:
    known: list[set[bool]] = [set() for _step in function.steps]
    waiting = [(0, {False} if function.is_kernel else entered)]
    while waiting:
        number, state = waiting.pop()
        block = function.blocks[number]
        if known[block.first] >= state and (number or known[0]):
            continue
        state = known[block.first] | state
        for index in range(block.first, block.stop):
            known[index] = known[index] | state
            name = function.steps[index].instruction.name
            if function.steps[index].is_call:
                state = left
            elif name.startswith("s_barrier_signal") and function.steps[index].instruction.operands[0].text == "m0":
                state = state | {True}  # m0 may name the barrier of the work-group
            elif name.startswith("s_barrier_signal") and _barrier(function, index) == GROUP:
                state = {True}
            elif name == "s_barrier" or (name == "s_barrier_wait" and _barrier(function, index) == GROUP):
                state = {False}
        waiting += [(successor, state) for successor in block.successors]
    return known


def _operand(function: FunctionCode, index: int) -> int:
    values: Iterable[int] = (operand.value for operand in function.steps[index].instruction.operands)
    return next(iter(values), 0) & 0xFFFF


def _barrier(function: FunctionCode, index: int) -> int:
    """Return the number of the barrier that an instruction of GFX12 names."""
    return (_operand(function, index) ^ 0x8000) - 0x8000


def _is_barrier(function: FunctionCode, index: int) -> bool:
    name = function.steps[index].instruction.name
    return name == "s_barrier" or (name == "s_barrier_wait" and _barrier(function, index) not in WITHOUT_EFFECT)


def _is_halt(function: FunctionCode, index: int) -> bool:
    name = function.steps[index].instruction.name
    return name == "s_sendmsghalt" or (name == "s_sethalt" and bool(_operand(function, index) & 1))
