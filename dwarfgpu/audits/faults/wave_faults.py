"""Why waves have stopped: the access that failed, the lanes that missed memory, and the argument they missed.

A machine that runs stops before the instruction. Hardware stops later, so there the accesses that were still
outstanding are tried as well, with the addresses that their registers make, unless these were written since.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field

from dwarfgpu.audits.faults.lane_addresses import LaneAddresses, lane_addresses
from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.audits.memory_model.survey import outstanding_at
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.lanes import lanes_in
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.launch_record import POINTERS
from dwarfgpu.program.frames.wave import trap_at
from dwarfgpu.program.frames.wave_groups import wave_groups
from dwarfgpu.program.types.model import Pointer, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.machines.protocol import WaveStop
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.stopped import Stopped

MAX_WAVES = 8
"""Of so many waves at one place, with the same reasons, the registers are read."""
PAGE = 4096
NULL = 1 << 16
"""Addresses below this are those of a null pointer, with the offset of an element."""
NEAR = 1 << 16
"""An address that is not as near to a buffer may belong to any."""
MAX_TRIED = 64
"""How many expressions are compared with the addresses of the lanes."""
GLOBAL_SPACES = frozenset((actions.GLOBAL, actions.GENERIC, actions.SCALAR))
MEMORY_REASONS = frozenset(("MEMORY_VIOLATION", "ADDRESS_ERROR"))
_INDEXED = re.compile(r"\b[A-Za-z_]\w*(?:(?:->|\.)\w+)*\s*(?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])+")
_POINTED = re.compile(r"\b[A-Za-z_]\w*(?:->\w+)+|\*+\s*[A-Za-z_]\w*")
_NAME = re.compile(r"\b[A-Za-z_]\w*")


@frozen
class MissedBuffer:
    """An argument that lanes may have missed, and by how much."""

    name: str
    address: int
    size: int | None
    """The bytes it has; None of a pointer that points to no known memory."""
    nearest: int = 0
    """How far the nearest lane is behind the end, or, as a negative number, before the start."""
    farthest: int = 0
    why: str = "it is the nearest"
    """What speaks for it."""
    is_certain: bool = False
    """Whether more speaks for it than that it is near."""


@frozen
class LanesOutside:
    """The lanes of a wave that access memory that is not there."""

    wave: str
    number: int
    """The index of the wave."""
    work_group: tuple[int, int, int] | None
    lanes: tuple[int, ...]
    """Empty for a scalar access, which the whole wave makes."""
    first_item: tuple[int, int, int] | None
    last_item: tuple[int, int, int] | None
    addresses: tuple[int, ...] = field(repr=False)


@frozen
class FailedAccess:
    """A memory instruction that may have failed."""

    address: int
    instruction: str
    source: str | None
    """The line that it is from, if that is not the line of the wave."""
    action: str
    space: str
    size: int
    is_outstanding: bool
    """Whether it was issued before the place where the wave stands."""
    lanes: tuple[LanesOutside, ...]
    missed: tuple[MissedBuffer, ...]
    """The argument that is certain, or several: one of them."""
    is_null: bool = False
    expression: str | None = None
    """The part of the source line whose address is that of each lane."""
    misaligned: bool = False

    @property
    def is_global(self) -> bool:
        """Whether it is of memory that buffers are in."""
        return self.space in GLOBAL_SPACES


@frozen
class WaveFault:
    """What is known of waves that stand at one place for the same reasons."""

    waves: tuple[str, ...]
    numbers: tuple[int, ...]
    reasons: tuple[str, ...]
    signal: str | None
    detail: str
    kernel: str | None
    pc: int | None
    frame: Frame = field(eq=False, repr=False)
    line: str | None
    """The text of its source line."""
    accesses: tuple[FailedAccess, ...] = ()
    """Those that may have failed, the likeliest first."""
    values: tuple[tuple[str, str], ...] = ()
    """The variables of the source line, with what they are in the lanes that failed."""
    trap: str | None = None
    """What the trap means that the wave stands at."""
    examined: int = 0
    """In how many of the waves the registers were read."""
    problems: tuple[str, ...] = ()


def wave_faults(
    stopped: Stopped,
    source_line: Callable[[Frame], str | None],
    address: int | None = None,
    written: Callable[[Frame, Any], str] = lambda _frame, value: str(value),
) -> Iterator[WaveFault]:
    """Yield why waves have stopped, by place and reason; ``address`` is one that a driver has reported.

    Memory faults come first, and traps last.
    """
    found: list[tuple[tuple[int, int], int | None, list[int], WaveStop]] = []
    for group in wave_groups(stopped):
        by_reason: dict[tuple[str, ...], tuple[list[int], WaveStop]] = {}
        for wave in group.numbers:
            stop = stopped.machine.stop_of(wave)
            if stop is not None and stop.reasons:
                by_reason.setdefault(stop.reasons, ([], stop))[0].append(wave)
        for numbers, stop in by_reason.values():
            rank = 0 if MEMORY_REASONS & set(stop.reasons) else 2 if stop.signal == "SIGTRAP" else 1
            found.append(((rank, numbers[0]), group.pc, numbers, stop))
    checks: dict[str, MemoryCheck] = {}
    for _rank, pc, numbers, stop in sorted(found, key=lambda row: row[0]):
        yield FaultSearch(stopped, numbers, stop, pc, address, checks, written).fault(source_line)


class FaultSearch:
    """The search for what failed in waves at one place."""

    def __init__(
        self, stopped: Stopped, numbers: list[int], stop: WaveStop, pc: int | None, reported: int | None,
        checks: dict[str, MemoryCheck], written: Callable[[Frame, Any], str],
    ) -> None:  # fmt: skip
        self.stopped, self.numbers, self.stop, self.pc, self.reported = stopped, numbers, stop, pc, reported
        self.machine: Any = stopped.machine
        self.checks = checks
        self.written = written
        self.waves = [stopped.wave(number) for number in numbers[:MAX_WAVES]]
        self.frame = self.waves[0].frame(0)
        self.problems: list[str] = []
        self.launch = self.waves[0].launch if self.frame.has_lanes else None

    def fault(self, source_line: Callable[[Frame], str | None]) -> WaveFault:
        kernel = None if self.launch is None or self.launch.kernel is None else self.launch.kernel.source_name
        line = source_line(self.frame)
        accesses: list[FailedAccess] = []
        if MEMORY_REASONS & set(self.stop.reasons) and self.frame.has_lanes:
            accesses = sorted(self._accesses(line), key=self._rank)
            if any(access.lanes for access in accesses):
                accesses = [access for access in accesses if access.lanes]
        chosen = accesses[0].lanes[0] if accesses and accesses[0].lanes else None
        trap = trap_at(self.frame)
        return WaveFault(
            tuple(self.machine.ids[number] for number in self.numbers),
            tuple(self.numbers),
            self.stop.reasons,
            self.stop.signal,
            self.stop.detail,
            kernel,
            self.pc,
            self.frame,
            line,
            tuple(accesses),
            tuple(self._values(line, chosen)),
            None
            if trap is None or MEMORY_REASONS & set(self.stop.reasons)
            else f"s_trap {trap.number}: {trap.meaning}",
            len(self.waves),
            tuple(self.problems),
        )

    # --- Accesses -------------------------------------------------------------------------------------------------

    def _rank(self, access: FailedAccess) -> tuple[bool, bool, int]:
        """Return the order of candidates: in the page of the report, outside, and the latest one."""
        addresses = [at for lanes in access.lanes for at in lanes.addresses]
        reported = self._page()
        in_page = reported is not None and any(at // PAGE == reported for at in addresses)
        return not in_page, not addresses, -access.address

    def _page(self) -> int | None:
        address = self.reported if self.reported is not None else self.stop.address
        return None if address is None else address // PAGE

    def _accesses(self, line: str | None) -> Iterator[FailedAccess]:
        code = self.frame.code
        if code is None or self.pc is None:
            self.problems.append("the code where the waves stand is not known")
            return
        here = code.in_file(self.pc)
        try:
            check = self.checks.get(code.file.name) or MemoryCheck(code.file)
            self.checks[code.file.name] = check
            function, rows = outstanding_at(check, here)
        except DwarfGpuError as error:
            self.problems.append(f"the accesses at {self.pc:#x} are not known: {error.message}")
            return
        at = function.addresses.index(here)
        own = self._access(function, at, line, is_outstanding=False)
        is_precise = self.stop.lanes is not None or self.stop.address is not None
        if own is not None:
            yield own
        if own is not None and is_precise:
            return
        lost = 0
        for row in rows:
            index = -1 if row.address is None else function.addresses.index(row.address)
            if index < 0 or function.steps[index].action.space == actions.PRIVATE:
                continue
            if self._is_overwritten(function, index, at):
                lost += 1
                continue
            other = self._access(function, index, line, is_outstanding=True)
            if other is not None:
                yield other
        if lost:
            what = "1 access was" if lost == 1 else f"{lost} accesses were"
            why = "the registers of the addresses were written since (`info outstanding` lists them)"
            self.problems.append(f"{what} outstanding too, and may have failed: {why}")

    @staticmethod
    def _is_overwritten(function: FunctionCode, index: int, at: int) -> bool:
        """Return whether an instruction may have written a register of an address since, or a load its own."""
        read = actions.read_registers(function.steps[index].instruction)
        between = range(index, at) if index < at else range(len(function.steps))
        for number in between:
            written = function.steps[number].instruction.destinations
            if any(not read.isdisjoint(actions.registers_of(operand)) for operand in written):
                return True
        return False

    def _access(
        self, function: FunctionCode, index: int, line: str | None, *, is_outstanding: bool
    ) -> FailedAccess | None:
        step = function.steps[index]
        if not step.action.operation:
            return None
        outside, made, shape = [], [], None
        for wave in self.waves:
            mask = wave.frame(0).active_mask
            found = lane_addresses(wave, step.instruction, mask or 0)
            if found is None:
                continue
            shape = found
            flags = self._outside(wave, found)
            if flags.any():
                outside.append(self._lanes(wave, found, flags))
                made.append(found)
        address = function.addresses[index]
        code = self.frame.code
        source = None
        if code is not None and is_outstanding:
            place = self.checks[code.file.name].lines.place(address)
            source = None if place is None else f"{place.path}:{place.line}"
        loaded = address if code is None else code.in_program(address)
        size = shape.size if shape is not None else 0
        space = shape.space if shape is not None else step.action.space
        action = shape.action if shape is not None else step.action.operation.partition("-")[0]
        every = [at for lanes in outside for at in lanes.addresses]
        is_global = space in GLOBAL_SPACES
        expression = None
        if outside and is_global:
            expression = self._expression(line, outside[0])
        missed, is_null = self._missed(every, made[0], expression) if outside and is_global else ((), False)
        return FailedAccess(
            loaded, instruction_text(step.instruction), source, action, space, size, is_outstanding, tuple(outside),
            missed, is_null, expression, bool(size) and any(at % min(size, 4) for at in every),
        )  # fmt: skip

    def _outside(self, wave: Wave, found: LaneAddresses) -> Any:
        """Return flags of the lanes that access memory that is not there, or that the machine says have failed."""
        stop = wave.stop
        if stop is not None and stop.lanes is not None and len(found.lanes):
            return np.array([stop.lanes >> int(lane) & 1 for lane in found.lanes], bool)
        if found.space in (actions.LOCAL, actions.PRIVATE):
            return np.zeros(len(found.addresses), bool)
        flags = np.array([not self._is_known(int(at), found.size) for at in found.addresses.tolist()], bool)
        page = self._page()
        if page is not None:
            inside = found.addresses // np.uint64(PAGE) == page
            flags = inside if inside.any() else flags
        return flags

    def _is_known(self, address: int, size: int) -> bool:
        around = self.machine.memory_around(address)
        return around is not None and address + size <= around.address + around.size

    def _lanes(self, wave: Wave, found: LaneAddresses, flags: Any) -> LanesOutside:
        place: Any = wave.launch.place
        lanes = tuple(found.lanes[flags].tolist()) if len(found.lanes) else ()
        items = [place.item(lanes[0]), place.item(lanes[-1])] if lanes else [None, None]
        addresses = tuple(found.addresses[flags].tolist())
        return LanesOutside(wave.id, wave.index, place.work_group, lanes, items[0], items[1], addresses)

    # --- Arguments ------------------------------------------------------------------------------------------------

    def _pointers(self) -> list[tuple[str, int, int | None, int]]:
        """Return the name, address and size of the memory of each argument that is a pointer, and its value."""
        rows = []
        for argument in () if self.launch is None else self.launch.arguments:
            number = argument.number
            if argument.kind in POINTERS and not argument.is_hidden and number is not None:
                memory = argument.memory
                start, size = (number, None) if memory is None else (memory.address, memory.size)
                rows.append((argument.name, start, size, number))
        return rows

    def _missed(
        self, addresses: list[int], found: LaneAddresses, expression: str | None
    ) -> tuple[tuple[MissedBuffer, ...], bool]:
        """Return the arguments that addresses may belong to, one if it is certain, and whether a pointer is null."""
        rows = self._pointers()
        low, high = min(addresses), max(addresses)
        is_null = low < NULL
        named = None if expression is None else _NAME.search(expression)
        certain = [
            (row, f"`{expression}` has these addresses") for row in rows if named is not None and row[0] == named[0]
        ] or [
            (row, "the instruction counts from its address")
            for row in rows
            if found.base is not None and found.base == row[3]
        ]
        if is_null and not certain:
            certain = [(row, "it is null") for row in rows if not row[3]]
        if is_null:
            made = (MissedBuffer(row[0], row[3], row[2], low, high, why, is_certain=True) for row, why in certain)
            return tuple(made), all(not row[3] for row, _why in certain)
        if certain:
            made = (evolve(self._buffer(row, addresses), why=why, is_certain=True) for row, why in certain)
            return tuple(made), False
        near = sorted((self._buffer(row, addresses) for row in rows if row[2]), key=lambda row: abs(row.nearest))
        near = [row for row in near if abs(row.nearest) < NEAR]
        if near and abs(near[0].nearest) < PAGE and (len(near) == 1 or abs(near[1].nearest) >= PAGE):
            return (near[0],), False
        return tuple(near), False

    @staticmethod
    def _buffer(row: tuple[str, int, int | None, int], addresses: list[int]) -> MissedBuffer:
        name, start, size, _number = row
        end = start + (size or 0)
        distances = sorted((at - start if at < start else at - end for at in addresses), key=abs)
        return MissedBuffer(name, start, size, distances[0], distances[-1])

    # --- The source -----------------------------------------------------------------------------------------------

    def _expression(self, line: str | None, outside: LanesOutside) -> str | None:
        """Return the expression whose address is that of each lane that failed; of several none."""
        if not outside.lanes:
            return None
        if line is not None:
            texts = [match[0].strip() for pattern in (_INDEXED, _POINTED) for match in pattern.finditer(line)]
        else:
            variables = self._variables()
            pointers = [each.name for each in variables if isinstance(self._type(each), Pointer)]
            numbers = [each.name for each in variables if each.name not in pointers]
            texts = [f"{pointer}[{number}]" for pointer, number in product(pointers, numbers)]
        wanted = list(outside.addresses)
        frame = self.stopped.wave(outside.number).frame(0)
        fitting = [
            text
            for text in dict.fromkeys(texts[:MAX_TRIED])
            if self._numbers(frame, f"(unsigned long) &({text})", outside.lanes) == wanted
        ]
        names = {match[0] for text in fitting if (match := _NAME.search(text)) is not None}
        return fitting[0] if len(names) == 1 and (line is not None or len(fitting) == 1) else None

    @staticmethod
    def _type(variable: Any) -> Any:
        try:
            return resolved(variable.type)
        except DwarfGpuError:
            return None

    @staticmethod
    def _numbers(frame: Frame, text: str, lanes: Iterable[int]) -> list[Any] | None:
        """Return what an expression is in some lanes; None unless it is a number in each."""
        try:
            values = answer(frame.expression(text), text, list(lanes)).by_lane
            return [None if each.value is None else python_value(each.value) for each in values]
        except DwarfGpuError:
            return None

    def _variables(self) -> list[Any]:
        try:
            return [variable for variable in self.frame.variables() if variable.name]
        except DwarfGpuError:
            return []

    def _values(self, line: str | None, outside: LanesOutside | None) -> Iterator[tuple[str, str]]:
        """Yield the variables that the line names, with their values in the lanes that failed."""
        names = None if line is None else set(_NAME.findall(line))
        frame = self.frame if outside is None else self.stopped.wave(outside.number).frame(0)
        mask = self.stop.lanes or frame.active_mask or 0
        chosen: Any = (list(outside.lanes) if outside is not None else lanes_in(mask)) or None
        known = [variable for variable in self._variables() if names is None or variable.name in names]
        for variable in {each.name: each for each in reversed(known)}.values():
            if not frame.has_lanes or chosen is None:
                continue
            with suppress(DwarfGpuError):
                values = answer(frame.quantity(variable.name), variable.name, chosen).by_lane
                objects = [each.value for each in values if each.value is not None]
                if not objects:
                    continue
                numbers = [python_value(each) for each in objects]
                if all(isinstance(number, (int, float)) for number in numbers) and not self._is_pointer(variable):
                    low, high = min(numbers), max(numbers)
                    yield variable.name, f"{low}" if low == high else f"{low} .. {high}"
                    continue
                texts = dict.fromkeys(self.written(frame, each) for each in objects)
                yield variable.name, ", ".join([*texts][:3]) + (", ..." if len(texts) > 3 else "")

    def _is_pointer(self, variable: Any) -> bool:
        return isinstance(self._type(variable), Pointer)
