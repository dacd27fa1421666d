"""Another build whose code is the same: its debugging information is read where the judged build runs.

Both say of the same registers what a variable is, so every instruction is compared, and every bit of a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.audits.judge.recorded_values import PointerNames, RecordedValue, recorded
from dwarfgpu.audits.judge.statement_record import (
    CallContexts,
    StatementHistory,
    StatementRows,
    source_place,
    variables_of,
)
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.isa.decoder import decode
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
from dwarfgpu.states.stopped import Stopped
from dwarfgpu.targets.amdgpu.initial_state import first_instruction

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.statement_record import StatementStop
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.program.code.source_files import LineAt

ADDRESS_SIZE = 24
"""The bytes behind ``s_getpc_b64`` in which the halves of an address are added to what it gives."""


class SameCode:
    """The debugging information of a build, read at the addresses of one with the same instructions."""

    def __init__(self, run: FollowedRun, other: Running) -> None:
        self.run, self.other = run, other
        own, there = (each.launched.plan.start for each in (run.running, other))
        self.shift = first_instruction(own) - first_instruction(there)
        """What is added to its addresses."""
        codes = []
        for code in other.attached.stopped.loaded.codes:
            moved = LoadedCode(code.file, code.bias + self.shift, repair=code.repair)
            moved.dialect = code.dialect
            codes.append(moved)
        loaded = Loaded(codes)
        self._stopped = Stopped(run.registers, loaded)
        self._rows = StatementRows(loaded)
        self._contexts = CallContexts(loaded)
        machines = run.running.machine.device, other.machine.device
        self._known: set[int] = set()
        self.is_same = len({(each.processor, each.lanes) for each in machines}) == 1
        """Whether all instructions up to now are the same."""
        self.history = StatementHistory(PointerNames.of(run.running))
        """What it says at the stops of the other's history, one for one."""
        self.alike: dict[int, int] = {}
        """By instruction at which no statement begins, how many values both say are the same."""

    def has(self, pc: int, instruction: GpuInstruction) -> bool:
        """Return whether this and all earlier instructions are those of this build; relocated addresses may differ."""
        if pc not in self._known:
            self._known.add(pc)
            try:
                self.is_same = self.is_same and self._has(pc, instruction)
            except MachineFault:  # there is no code
                self.is_same = False
        return self.is_same

    def _has(self, pc: int, instruction: GpuInstruction) -> bool:
        device = self.run.running.machine.device
        own = device.code_at(pc)[: instruction.size]
        there = self.other.machine.device.code_at(pc - self.shift)[: instruction.size]
        if own == there or own[:4] != there[:4] or not instruction.name.startswith("s_add"):
            return own == there
        places = range(pc - ADDRESS_SIZE, pc, 4)
        before = (decode(device.code_at(place), 0, device.processor, device.lanes) for place in places)
        return any(each.name == "s_getpc_b64" for each in before)

    def add(self, stop: StatementStop, wave: int, chain: tuple[int, ...]) -> None:
        """Add a stop as this build describes it."""
        self.history.add(self._described(stop, wave, chain))

    def add_between(self, stop: StatementStop, wave: int, chain: tuple[int, ...]) -> StatementStop:
        """Add an instruction at which no statement begins, and return it, both with what is different alone."""
        described = self._described(stop, wave, chain)
        own, there = stop.values or {}, described.values or {}
        different = set()
        for key in own.keys() & there.keys():
            pairs = zip(own[key], there[key], strict=True)
            count = sum(isinstance(value, RecordedValue) and value == other for value, other in pairs)
            if count < len(own[key]):
                different.add(key)
            else:
                self.alike[stop.pc] = self.alike.get(stop.pc, 0) + count
        self.history.add_between(evolve(described, values={key: there[key] for key in different}))
        return evolve(stop, values={key: own[key] for key in different})

    def _described(self, stop: StatementStop, wave: int, chain: tuple[int, ...]) -> StatementStop:
        numbers = {context: number for number, context in self._contexts.around(stop.pc, chain)}
        number = numbers.get(stop.context)
        values = None
        if stop.values is not None:
            found = () if number is None else variables_of(self._stopped, wave, number)
            values = {key: recorded(frame, variable, stop.lanes) for frame, variable, key in found}
        file, line, column = source_place(self._rows.at(stop.pc), self.line_at(stop.pc))
        return evolve(stop, file=file, line=line, column=column, values=values)

    def different_lines(self) -> Iterator[tuple[int, int, int]]:
        """Yield the instructions that have another line in this build, with both lines."""
        for pc in sorted(self._known):
            own, there = self.run.running.line_at(pc), self.line_at(pc)
            if there is not None and there.line and (own is None or own.line != there.line):
                yield pc, 0 if own is None else own.line, there.line

    def line_at(self, pc: int) -> LineAt | None:
        """Return the line that this build gives an instruction of the other."""
        return self.other.line_at(pc - self.shift)
