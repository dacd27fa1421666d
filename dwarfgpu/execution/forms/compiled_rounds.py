"""How waves run one after the other as forms."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import turns
from dwarfgpu.execution.batch import Calls, called_from, shared_calls
from dwarfgpu.execution.forms.layout import MOST_CALLS_OF_WAVE, SPAN, Place, RoundCell, RoundExit
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.native import CompilerError

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch

UNLIMITED = 1 << 60
"""No limit of instructions is as large."""
LEAST = 1 << 19
"""The instructions, counted for each wave, that are worth several threads."""
PARTS = 8
"""As many parts has each thread of the work-groups, since some take longer than others."""


@cache
def processors() -> int:
    """Return how many processors the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Turns:
    """The turns of some work-groups that follow each other."""

    __slots__ = ("end", "group", "last", "left", "reason", "row", "used", "waits")

    def __init__(self, group: int, end: int, row: int, left: int, used: int = 0) -> None:
        self.group, self.end, self.used = group, end, used
        """The position of the work-group that goes on, where they end, and the instructions that it has executed."""
        self.row, self.left = row, left
        """The position of the wave whose turn it is, and the instructions that are left of that."""
        self.reason, self.last = RoundExit.OVER, 0
        """Why Python is asked, and the slot of the call or jump that it has to note."""
        self.waits = False
        """Whether Python answers when all before are over."""

    @property
    def asks(self) -> bool:
        return self.reason != RoundExit.OVER


class _Worker:
    """What a thread has of its own while it lets waves run."""

    def __init__(self, forms: Any) -> None:
        self.cells = (ctypes.c_uint64 * len(RoundCell))()
        self.place, self._table = ctypes.addressof(self.cells), forms.table.copied()
        self.table = ctypes.addressof(self._table)
        self.executed = 0


class CompiledRound:
    """The turns of some waves.

    Where their order makes no difference, work-groups run on several threads, which execute nothing but compiled code:
    what they share does not change meanwhile. If waves need Python, it is asked when all threads are done.
    """

    def __init__(
        self, forms: Any, batch: FormBatch, program: FormProgram, places: Any, turn: int, begin: tuple[int, int]
    ) -> None:
        self._forms, self._batch, self._program, self._turn = forms, batch, program, turn
        bounds, are_whole = forms.device.groups_of(batch.waves)
        self._bounds, self._are_whole = bounds.astype(np.int64), are_whole.astype(np.uint8)
        self._now = _Turns(0, len(are_whole), begin[0], turn, begin[1])
        self._waiting = [self._now]
        """The turns that are not over."""
        self._places, self._threads = places, 0
        """Where waves begin, and how many threads let them run; 0 as long as it is not known."""
        self._first, self._executed = _Worker(forms), 0
        batch.states.put(batch.waves, Place.COMPLETE, address_of(forms.device.barriers.complete) + batch.waves)
        batch.settle()
        batch.states.put(batch.waves, Place.NEXT, program.slots_of(places))
        self._calls: dict[int, Calls] = {}
        """The calls of waves that Python knows all of, by position."""
        self._before: Calls | list[Calls] = []
        """The calls of the wave of which Python executes an instruction."""
        outer, inner = batch.calls, list[int]()
        if not isinstance(outer, list):
            while outer[2] > 0 and len(inner) < MOST_CALLS_OF_WAVE // 2 and program.has(outer[0]):
                inner.insert(0, program.slot_of(outer[0]))
                outer = outer[1]
        self._outer: Calls | list[Calls] = outer
        """The calls around those that waves have noted."""
        batch.states.put_calls(batch.waves, inner)

    @property
    def row(self) -> int:
        """The position of the wave of which Python executes an instruction."""
        return self._now.row

    def run(self, room: int) -> FormBatch | None:
        """Let waves run; return one whose next instruction Python executes, or None where nothing is left to do."""
        forms, device = self._forms, self._forms.device
        while room > 0 and self._waiting and not (device.is_interrupted or forms.problem):
            first = self._waiting[0]
            asking = next((each for each in self._waiting if each.asks and (each is first or not each.waits)), None)
            if asking is not None:
                wave = self._answer(asking)
                if wave is not None:
                    return wave
                continue
            if not self._threads:
                self._choose_threads(room)
            ready = [each for each in self._waiting if not each.asks]
            self._first.executed = 0
            if self._threads > 1 and len(ready) > 1:
                self._run_at_once(ready)
            else:
                self._run_turns(first, self._first, room)
            self._waiting = [each for each in self._waiting if each.asks or each.group < each.end]
            for part in self._waiting:
                if part.reason == RoundExit.NOTED:  # also where nothing goes on
                    self._answer(part)
            self._executed += self._first.executed
            device.executed += self._first.executed
            room -= self._first.executed
        return None

    def can_be_counted(self, batch: FormBatch) -> bool:
        """Let waves count their instructions in the calls that they are in now; return whether there is room for it."""
        part = self._forms.device.compiled_part
        return part is None or part.enter(self._program, batch)

    def begins_again(self) -> bool:
        """Let all waves have other turns if they have had theirs, and none meets others; return whether they do."""
        if self._waiting or self._program.meets(self._batch.states.next_slots(self._batch.waves)):
            return False
        self._now, self._threads = _Turns(0, len(self._are_whole), 0, self._turn), 0
        self._waiting = [self._now]
        return True

    def _run_turns(self, part: _Turns, worker: _Worker, room: int) -> None:
        """Let waves have their turns, until Python is asked."""
        cells, batch, forms = worker.cells, self._batch, self._forms
        cells[RoundCell.WAVES], cells[RoundCell.COUNT] = address_of(batch.pointers), part.end
        cells[RoundCell.BOUNDS], cells[RoundCell.WHOLES] = address_of(self._bounds), address_of(self._are_whole)
        cells[RoundCell.TURN], cells[RoundCell.MOST], cells[RoundCell.HOT] = self._turn, SPAN, forms.hot
        cells[RoundCell.GROUP], cells[RoundCell.USED], cells[RoundCell.ROOM] = part.group, part.used, room
        cells[RoundCell.NUMBER], cells[RoundCell.LEFT] = part.row, part.left
        lanes = forms.device.lanes
        cells[RoundCell.COUNTED] = 0 if forms.device.compiled_part is None else (1 << lanes) - 1
        part.reason = forms.library.round(worker.place)
        part.group, part.used = cells[RoundCell.GROUP], cells[RoundCell.USED]
        part.row, part.left = cells[RoundCell.NUMBER], cells[RoundCell.LEFT]
        part.last = cells[RoundCell.LAST]
        worker.executed += cells[RoundCell.EXECUTED]

    def _answer(self, part: _Turns) -> FormBatch | None:
        """Do what waves need of Python; return the wave whose next instruction Python executes, if it is that.

        Python executes instructions in the order of work-groups: so faults are found in this order.
        """
        forms, batch, program = self._forms, self._batch, self._program
        self._now, reason, part.reason = part, part.reason, RoundExit.OVER
        wave = batch.waves[part.row : part.row + 1]
        address = program.address_of(int(batch.states.next_slots(wave)[0]))
        if reason == RoundExit.HOT:
            with suppress(CompilerError):  # what there is goes on
                program.extend(address)
        elif reason == RoundExit.NOTED:
            called = self._wave(address)
            forms.note(called, program.address_of(part.last), address)
            self._keep(called)
        elif not forms.fill(program, address):
            if forms.device.waves_meet(address, batch.mode):
                self._skip()
            elif part is self._waiting[0]:
                return self._wave(address)
            else:
                part.reason, part.waits = reason, True
        return None

    def go_on(self, wave: FormBatch) -> None:
        """Let the wave whose turn it is go on, of which Python has executed an instruction."""
        wave.settle()
        wave.states.put(wave.waves, Place.NEXT, self._program.slot_of(wave.pc))
        self._keep(wave)
        self._now.left, self._now.used = self._now.left - 1, self._now.used + 1

    def leave_out(self) -> None:
        """Let the next wave have its turn; that whose turn it is has none any more, so its work-group is not whole."""
        self._are_whole[self._now.group] = 0
        self._skip()

    def _skip(self) -> None:
        """Let the next wave have its turn."""
        self._now.row, self._now.left = self._now.row + 1, self._turn

    # --- Several threads ------------------------------------------------------------------------------------------

    def _choose_threads(self, room: int) -> None:
        """Choose how many threads let waves run, as soon as it is known what a work-group takes."""
        groups, program, jobs = len(self._are_whole), self._program, self._forms.device.machine.jobs
        most = min(jobs or processors(), groups)
        if most == 1 or room < UNLIMITED or self._forms.device.compiled_part is not None:
            self._threads = 1
            return
        if not program.work:
            first = self._waiting[0]
            if first.end == groups and groups > 1 and not self._executed:
                first.end = 1
                self._waiting.append(_Turns(1, groups, int(self._bounds[1]), self._turn))
            if first.group == 0:
                return
            program.work = self._executed
        rest = self._waiting[-1]
        is_worth = program.work * (rest.end - rest.group) >= LEAST
        is_right = is_worth and (jobs is not None or program.is_in_any_order(set(self._places.tolist())))
        self._threads = most if is_right else 1
        if is_right:
            self._split(rest, PARTS * most)

    def _split(self, part: _Turns, count: int) -> None:
        """Make several parts of one."""
        ends = sorted(set(np.linspace(part.group, part.end, count + 1, dtype=int).tolist()))
        part.end = ends[1]
        for first, end in pairwise(ends[1:]):
            self._waiting.append(_Turns(first, end, int(self._bounds[first]), self._turn))

    def _run_at_once(self, ready: list[_Turns]) -> None:
        """Let several threads run parts until none is left, or Python is asked."""
        states, waves, device, table = self._batch.states, self._batch.waves, self._forms.device, self._forms.table
        parts, problems = deque(ready), list[BaseException]()

        def take() -> _Turns | None:
            try:
                return None if problems else parts.popleft()
            except IndexError:
                return None

        def work(worker: _Worker) -> None:
            try:
                while (part := take()) is not None:
                    rows = slice(int(self._bounds[part.group]), int(self._bounds[part.end]))
                    states.put(waves[rows], Place.TABLE, worker.table)
                    while part.group < part.end and not (part.asks or problems or device.is_interrupted):
                        self._run_turns(part, worker, UNLIMITED)
            except BaseException as problem:  # noqa: BLE001 (raised below)
                problems.append(problem)

        workers = [_Worker(self._forms) for _number in range(self._threads - 1)]
        threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
        with suppress(RuntimeError):  # the system has no more threads
            for thread in threads:
                thread.start()
        work(self._first)
        for thread in threads:
            while thread.is_alive():  # none may run behind this
                try:
                    thread.join()
                except BaseException as problem:  # noqa: BLE001 (raised below)
                    problems.append(problem)
        states.put(waves, Place.TABLE, table.address)
        self._first.executed += sum(worker.executed for worker in workers)
        if problems:
            raise problems[0]

    def parts(self, flags: Any) -> Iterator[FormBatch]:
        """Yield the waves with a flag, those together that are at one place."""
        batch = self._batch
        batch.calls = self._calls_of(np.arange(batch.count))
        places = self._program.address_of(batch.states.next_slots(batch.waves))
        for place in np.unique(places[flags]).tolist():
            rows = np.flatnonzero(flags & (places == place))
            batch.states.join_known(batch.waves[rows])
            for first in range(0, len(rows), turns.WIDEST):
                part: Any = batch.take(rows[first : first + turns.WIDEST])
                part.pc = place
                yield part

    def _wave(self, address: int) -> FormBatch:
        """Return the wave whose turn it is."""
        rows = np.array([self.row])
        wave: Any = self._batch.take(rows)
        wave.pc, wave.calls = address, self._calls_of(rows)
        self._before = wave.calls
        return wave  # type: ignore[no-any-return]

    def _keep(self, wave: FormBatch) -> None:
        """Keep the calls of the wave whose turn it is, if they are others now."""
        if wave.calls is not self._before:
            (self._calls[self.row],) = wave.each_calls()
            wave.states.put_calls(wave.waves, [])

    def _calls_of(self, rows: Any) -> Calls | list[Calls]:
        """Return the calls that some waves are in."""
        noted, outer, own = self._batch.states.calls(self._batch.waves[rows]), self._outer, self._calls
        if not own and not isinstance(outer, list) and (noted == noted[0]).all():
            return self._inside(outer, noted[0, 1 : 1 + noted[0, 0]].tolist())
        noted, which = np.unique(noted, axis=0, return_inverse=True)
        slots = [row[1 : 1 + row[0]] for row in noted.tolist()]
        around = outer if isinstance(outer, list) else [outer] * self._batch.count
        each = zip(rows.tolist(), which.reshape(-1).tolist(), strict=True)
        return shared_calls([self._inside(own.get(row, around[row]), slots[number]) for row, number in each])

    def _inside(self, calls: Calls, slots: list[int]) -> Calls:
        for slot in slots:
            calls = called_from(calls, self._program.address_of(slot))
        return calls
