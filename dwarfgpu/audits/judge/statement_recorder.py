"""Records what the lanes of a kernel do, statement by statement, while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.buffer_accesses import BufferAccesses
from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.recorded_values import (
    UNUSED,
    PointerNames,
    RecordedValue,
    is_shared,
    recorded,
    recorded_everywhere,
)
from dwarfgpu.audits.judge.statement_record import (
    CallContexts,
    Context,
    DeclarationKey,
    StatementHistory,
    StatementRows,
    StatementStop,
    VisibleVariable,
    caller_in,
    source_place,
    variables_of,
)
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.halts import uninterrupted
from dwarfgpu.program.frames.wave_positions import place_of
from dwarfgpu.targets.amdgpu import PRIVATE_WAVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.recorded_values import Leaf, Recorded
    from dwarfgpu.audits.judge.undefined_values import UndefinedValues
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.objfile.line_table import LineRow
    from dwarfgpu.program.frames.variable import Variable

FOLLOWED_WAVES = 4
"""The waves whose lanes are compared."""
BETWEEN_WAVES, BETWEEN_LANES = 2, 8
"""The waves and the lanes of an instruction between statements that are compared."""
MAX_STOPS = 20_000
MAX_VISITS = 16
"""The visits of one statement by one wave at which variables are read; in the other build twice as many.

Between statements they are the first, the second, the fourth and so on: rounds of a loop differ more as it goes on.
"""


class StatementRecorder:
    """Records the stops of waves of a device, or of some work-items."""

    def __init__(
        self, run: FollowedRun, judged: StatementHistory | None = None, undefined: UndefinedValues | None = None
    ) -> None:
        self.run = run
        self.undefined = undefined
        """What undefined behaviour may change, which is left out."""
        self.running = running = run.running
        self.judged = judged
        """The history of the build that is judged, if this is the other one, whose contexts are recorded alone."""
        self._contexts = None if judged is None else {stop.context for stop in judged.stops}
        self._most_visits = MAX_VISITS if judged is None else 2 * MAX_VISITS
        self.history = StatementHistory(PointerNames.of(running))
        self.rows = StatementRows(run.stopped.loaded)
        self.contexts = CallContexts(run.stopped.loaded)
        self._items: dict[tuple[int, int], tuple[WorkItem | None, ...]] = {}
        self._visits: dict[tuple[str, int], int] = {}
        self._known: set[DeclarationKey] = set()
        self._visible: dict[tuple[int, int], list[VisibleVariable]] = {}
        self._leaves: dict[tuple[Leaf, ...], tuple[Leaf, ...]] = {}
        self._one_of: dict[tuple[int, tuple[int | None, ...]], RecordedValue] = {}
        """Each value once, by the identity of its leaves, so that values are compared by identity first."""
        self.accesses = BufferAccesses(running, self.items_of, None if judged is None else judged.accesses)
        self.history.accesses = self.accesses
        count = running.launched.geometry.wave_count
        self._followed = {index * (count - 1) // (FOLLOWED_WAVES - 1) for index in range(FOLLOWED_WAVES)}

    def observe(self, arrival: InstructionVisit) -> None:
        """Record waves of one call that are about to execute an instruction, if a statement begins there."""
        batch, chain = arrival.batch, arrival.chain
        self.accesses.observe(batch)
        row = self.rows.at(batch.pc)
        if self.judged is None:
            self._observe_between(arrival, is_statement=row is not None)
        if row is None:
            return
        if len(self.history.stops) >= MAX_STOPS:
            self.history.is_cut = True
            return
        context = self.contexts.of(batch.pc, chain)
        is_known = self._contexts is None or context in self._contexts
        if not is_known and caller_in(context) not in (self._contexts or ()):
            return
        is_shown = False
        for wave in batch.waves[arrival.rows].tolist():
            items = self.items_of(wave)
            mask = int(self.run.lanes.active[wave])
            lanes = tuple(lane for lane, item in enumerate(items) if item is not None and mask >> lane & 1)
            if not is_known:  # a call that the build that is judged does not have
                self.history.note_call(context, [item for lane in lanes if (item := items[lane]) is not None])
            elif lanes:
                if not is_shown:
                    self.run.registers.show(batch)
                    is_shown = True
                visit = self._visit(wave, batch.pc, is_over=True)
                self.history.add(self._made(arrival, row, context, wave, visit, lanes, items))

    def _observe_between(self, arrival: InstructionVisit, *, is_statement: bool) -> None:
        """Record some lanes of waves in the functions of an instruction in which it does not begin a statement."""
        batch, chain = arrival.batch, arrival.chain
        around = self.contexts.around(batch.pc, chain)
        if is_statement:
            around = around[:-1]
        waves = batch.waves[arrival.rows].tolist() if around else []
        visits = {wave: self._visit(wave, batch.pc, is_over=not is_statement) for wave in waves}
        chosen = [wave for wave, visit in visits.items() if visit <= MAX_VISITS and not visit & visit - 1]
        for wave in chosen[:BETWEEN_WAVES]:
            items = self.items_of(wave)
            mask = int(self.run.lanes.active[wave])
            known = [lane for lane, item in enumerate(items) if item is not None and mask >> lane & 1]
            if not known:
                continue
            evenly = (known[index * (len(known) - 1) // (BETWEEN_LANES - 1)] for index in range(BETWEEN_LANES))
            lanes = tuple(dict.fromkeys(evenly))
            self.run.registers.show(batch)
            for number, context in around:
                self.history.add_between(self._made(arrival, None, context, wave, visits[wave], lanes, items, number))

    def _name(self, wave: int) -> str:
        return self.running.machine.ids[wave]

    def _visit(self, wave: int, pc: int, *, is_over: bool) -> int:
        """Return how often a wave has come to an instruction; with ``is_over`` the next one will be another visit."""
        place = self._name(wave), pc
        visit = self._visits.get(place, 0) + 1
        if is_over:
            self._visits[place] = visit
        return visit

    def items_of(self, wave: int) -> tuple[WorkItem | None, ...]:
        """Return the work-items of the lanes of a wave; None for those that are not followed."""
        machine = self.running.machine
        key = machine.device.rounds, wave
        items = self._items.get(key)
        if items is None:
            place = place_of(machine, wave)
            group = place.work_group
            number = int(machine.ids[wave].rpartition(":")[2]) - 1
            work_items: list[WorkItem | None] = []
            for lane in range(self.run.lanes.lanes):
                at = place.item(lane)
                item = None if at is None or group is None else (group, at)
                is_followed = (number in self._followed) if self.judged is None else item in self.judged.by_item
                work_items.append(item if is_followed else None)
            items = self._items[key] = tuple(work_items)
        return items

    def _made(
        self,
        arrival: InstructionVisit,
        row: LineRow | None,
        context: Context,
        wave: int,
        visit: int,
        lanes: tuple[int, ...],
        items: tuple[WorkItem | None, ...],
        frame: int = 0,
    ) -> StatementStop:
        """Return a stop; without a row of a statement it is on the line of the instruction, or of the inlined call."""
        name, pc = self._name(wave), arrival.pc
        call = self.run.stopped.loaded.calls_at(pc)[frame].source if frame else None
        place = (call.file or "", call.line, 0) if call is not None else source_place(row, self.running.line_at(pc))
        return StatementStop(
            pc,
            *place,
            context,
            name,
            visit,
            {items[lane]: position for position, lane in enumerate(lanes)},  # type: ignore[misc]
            lanes,
            self._values(pc, wave, lanes, frame, of_lists=row is None) if visit <= self._most_visits else None,
            arrival.number,
        )

    def _values(
        self, pc: int, wave: int, lanes: tuple[int, ...], number: int, *, of_lists: bool = False
    ) -> dict[DeclarationKey, list[Recorded]]:
        """Return what the variables are; with ``of_lists`` those alone whose location says where it begins."""
        values: dict[DeclarationKey, list[Recorded]] = {}
        read = recorded_everywhere if self.judged is None else recorded
        if (pc, number) not in self._visible:
            self._visible[pc, number] = [*self._visible_in(wave, number)]
        for each in self._visible[pc, number]:
            if of_lists and not each.is_listed:
                continue

            frame = self.run.stopped.stack(wave).call(0)[number]
            variable = frame.variables()[each.index]
            values[each.key] = [*map(self._one, read(frame, variable, lanes))]
            if self.undefined is not None:
                values[each.key] = self.undefined.certain(wave, frame, variable, lanes, values[each.key])
            if each.is_listed:
                self.history.listed.add(each.key)
            if each.key not in self._known:
                self._known.add(each.key)
                if is_shared(frame, variable, lanes[0]):
                    self.history.shared.add(each.key)
        return values

    def _visible_in(self, wave: int, number: int) -> Iterator[VisibleVariable]:
        for frame, variable, key in variables_of(self.run.stopped, wave, number):
            index = next(at for at, each in enumerate(frame.variables()) if each is variable)
            yield VisibleVariable(key, index, _has_list(variable))

    def _one(self, value: Recorded) -> Recorded:
        """Return the value that is equal to one, and was there first."""
        if not isinstance(value, RecordedValue) or value.elsewhere:
            return value
        leaves = self._leaves.setdefault(value.leaves, value.leaves)
        key = id(leaves), value.patterns
        known = self._one_of.get(key)
        if known is None:
            known = self._one_of[key] = RecordedValue(leaves, value.patterns)
        return known


def _has_list(variable: Variable) -> bool:
    try:
        location = variable.definition.find_number(dw.DW_AT_location)
    except DwarfGpuError:
        return False
    return location is not None and location.value_class == "loclist"


def record_run(
    running: Running, judged: StatementHistory, limit: int | None = None, undefined: UndefinedValues | None = None
) -> tuple[StatementHistory, Halt]:
    """Run a kernel to its end, and return what work-items do in it that another build has, and how it ends."""
    store = running.machine.memory.stores.get(PRIVATE_WAVE)
    for block in () if store is None else store.blocks:
        np.frombuffer(block.buffer, np.uint8)[:] = UNUSED

    def observe(batch: WaveBatch, arrivals: list[InstructionVisit], _ends: bool) -> None:  # noqa: FBT001
        if undefined is not None:
            undefined.observe(batch)
        for arrival in arrivals:
            recorder.observe(arrival)

    run = FollowedRun(running, observe)
    recorder = StatementRecorder(run, judged, undefined=undefined)
    halt = uninterrupted(run.run(limit))
    recorder.accesses.end()
    recorder.history.is_cut |= not halt.has_ended
    return recorder.history, halt
