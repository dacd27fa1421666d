"""What checks have found, in words of the source: lines, the calls that are inlined there, and variables."""

from __future__ import annotations

import re
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.budget import remembered
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.access_shapes import LOCAL
from dwarfgpu.execution.batch import WaveBatch, return_addresses
from dwarfgpu.execution.checks.findings import (
    BOUNDS,
    CAME_IN,
    DIFFERENT,
    FORBIDDEN,
    IN_WAVE,
    LOST_UPDATE,
    NAN,
    RACE,
    READ_WRITE,
    SAME_VALUE,
    WRITE_WRITE,
    MadeOf,
    Padding,
)
from dwarfgpu.execution.control.line_inputs import LineInputs, LineNames, sets
from dwarfgpu.execution.control.placed import global_addresses_of, memory_of
from dwarfgpu.execution.control.source_accesses import STACK_REGISTERS
from dwarfgpu.execution.control.watching import PRIVATE
from dwarfgpu.execution.faults import FREED
from dwarfgpu.execution.launch.padding import padding_in
from dwarfgpu.expr.locations import Register
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.code.weighted_stacks import calls_of, stack_levels
from dwarfgpu.program.frames.launch_record import POINTERS
from dwarfgpu.program.frames.variable import STATIC, all_variables, owner_of
from dwarfgpu.program.types.model import Array, Base, Pointer, Struct, element_bits, known_size, resolved
from dwarfgpu.program.values.storage import Located
from dwarfgpu.program.values.tensors import Layout, layout_of
from dwarfgpu.targets.amdgpu.initial_state import first_instruction

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.findings import CheckFinding, FindingSide
    from dwarfgpu.execution.checks.made_numbers import PastInstruction
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.control.suppressions import Suppression
    from dwarfgpu.program.code.scopes import SourceCall

_WORD = re.compile(r"[A-Za-z_]\w*")
_OPERAND = re.compile(r"(?<![\w.>])[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[(?:[^][]|\[[^][]*\])*\])*(?!\w|\s*\()")
"""A variable or a part of one in a line of the source."""
_ASSIGNED = re.compile(r"^(?:[^()]|\((?:[^()]|\([^()]*\))*\))*?(?<![-+*/%&|^<>=!])=(?!=)")
"""What a line sets: an argument of a call in Python is named inside of parentheses."""
_NAN, _CALL = re.compile("nan", re.IGNORECASE), re.compile(r"[A-Za-z_]\w*\s*\(")


def _sets_part(name: str, lines: str) -> bool:
    """Return whether lines of the source may set a variable, or one in the index of an element."""
    return any(sets(each, lines) for each in (name, *(_WORD.findall(name) if "[" in name else ())))


_DOES = {
    "make": "makes it", "turn": "makes a NaN of it", "lose": "loses it",
    "read": "read", "write": "write", "atomic": "atomic operation", "arrive": "these lanes wait at a barrier",
    "end": "this wave has ended", "use": "use", "left-out": "write without these lanes",
    "": "these lanes do not execute it",
}  # fmt: skip
_RACES = READ_WRITE, WRITE_WRITE, IN_WAVE
"""What lanes whose updates are lost do, too."""
_SEVERITIES = {SAME_VALUE: "note", CAME_IN: "note", IN_WAVE: "warning"}
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
MOST_PAST, PAST_OF_WAVES = 1024, 1 << 16
"""The instructions before one that are looked at for what it has read; of all waves together."""
MOST_AGE = 128
"""The instructions before one that are looked at for variables."""
MOST_ELEMENTS = 4
"""The elements of vectors that are shown."""
MOST_DEPTH = 8
"""The parts of parts that a name has."""


@frozen
class NamedSide:
    """What one wave did, and where."""

    side: FindingSide
    position: CodePosition
    function: str | None
    """The function of the source, also if its code has another name; else the place in the code."""
    calls: tuple[SourceCall, ...]
    """The calls that this is in, innermost first, with the lines of the next ones."""
    value: int | float | None
    as_float: float | None = None
    """The float with the bits of a number whose type is not known, where it is likely to be one."""
    text: str | None = None
    """The line of the source."""
    origin: tuple[int, int, int] | None = None
    """The global id of the first work-item of the work-group."""

    @property
    def action(self) -> str:
        """What it did, in words."""
        return "scalar " * self.side.is_scalar + _DOES[self.side.action]

    @property
    def done(self) -> str:
        """What it did, and where."""
        place, value = self.position, self.value
        number = "" if value is None else f" of {value:g}" if isinstance(value, float) else f" of {value}"
        number += "" if self.as_float is None else f" ({self.as_float:g} as a float)"
        source = f" at {place.file}:{place.line}" if place.file else ""
        return f"{self.action}{number}{source} in {self.function or '?'}, {place.address:#x}"

    @property
    def line(self) -> tuple[str, int] | None:
        """The file and the line, of a caller if this is code without lines."""
        lines = ((call.source.file, call.source.line) for call in self.calls if call.source is not None)
        own = self.position.file, self.position.line
        return next(((file, line) for file, line in (own, *lines) if file is not None and line), None)

    @property
    def source(self) -> tuple[Any, ...]:
        """What it does in which line of the source, and in which calls."""
        return self.side.action, self.line, self.calls[0].function, self.calls[1:]


@frozen
class NamedOperand:
    """A variable or a register that a number was made of, its value, and where it was last changed if that is known."""

    name: str
    value: str
    changed: CodePosition | None = None
    came_in: str | None = None
    """The element or the argument that it came in with, if it is a NaN or an infinity that did."""
    is_certain: bool = True
    """Whether the value is not that of another turn of a loop, which optimized code mixes."""

    def __str__(self) -> str:
        place = self.changed
        where = "" if place is None or not place.file else f" (last changed at {Path(place.file).name}:{place.line})"
        value = f"{self.value}{'' if self.is_certain else ' (uncertain)'}"
        return f"{self.name} = {value}{where if self.came_in is None else f' (came in with `{self.came_in}`)'}"


@frozen
class NamedFinding:
    """A finding in words of the source."""

    check: str
    kind: str
    severity: str
    """``error``, ``warning`` or ``note``."""
    space: str | None
    address: int | None
    size: int
    register: str | None
    variable: str | None
    """The element at the address; one of several where compilers say no more."""
    is_certain: bool
    """Whether it is this variable for certain."""
    reach: str | None
    """How far outside of which memory an access is."""
    count: int
    sides: tuple[NamedSide, ...]
    places: int = 1
    """How many instructions, or pairs of them, of the same lines do it."""
    buffer: int | None = None
    """The address of the buffer that its pointer belongs to, where that is known."""
    operands: tuple[NamedOperand, ...] = ()
    """What a number was made of."""
    groups: frozenset[tuple[int, int]] = frozenset()
    """The work-groups that numbers were made in."""

    @property
    def message(self) -> str:
        """What is wrong with which memory."""
        text = f"{self.kind}: {self.register}" if self.register else self.kind
        if self.operands:
            text += f": {', '.join(map(str, self.operands))}"
        if self.address is None:
            return text
        name = "" if self.variable is None else f"{'' if self.is_certain else 'probably '}`{self.variable}`, "
        size = f"{self.size} byte{'' if self.size == 1 else 's'}"
        return f"{text}: {name}{size} at {self.address:#x} in {self.space} memory"


@frozen
class Coverage:
    """How many of the instructions that access memory, which others may see, were executed."""

    executed: int
    total: int
    missing: tuple[CodePosition, ...]
    """Where the others are, each line once."""


@frozen
class CheckReport:
    """What was checked, and found."""

    file: str
    checks: tuple[str, ...]
    findings: tuple[NamedFinding, ...]
    suppressed: int = 0
    """How many were left out because a file of suppressions names them."""
    known: int = 0
    """How many more are those of an earlier answer."""
    coverage: Coverage | None = None
    """What the race check has looked at; None if it was not asked for."""


def check_report(running: Running, suppressions: tuple[Suppression, ...] = ()) -> CheckReport:
    """Return what the checks of a run have found."""
    machine = running.machine
    every = _without_echoes(running, machine.device.memory.findings)  # type: ignore[attr-defined]
    kept: list[NamedFinding] = []
    left_out: list[NamedFinding] = []
    for row in map(FindingNames(running).named, every):
        (left_out if any(known.holds(row) for known in suppressions) else kept).append(row)
    assert machine.checks is not None  # noqa: S101 (the caller knows)
    checks = tuple(sorted(machine.checks.checks))
    coverage = _coverage(running) if RACE in checks else None
    name = running.launched.plan.file.name
    return CheckReport(name, checks, _of_lines(kept), len(_of_lines(left_out)), coverage=coverage)


def _coverage(running: Running) -> Coverage:
    memory: Any = running.machine.device.memory
    executed, every = memory.accesses(first_instruction(running.launched.plan.start))
    places = map(running.position, sorted(every - executed))
    lines = {(place.file, place.line) if place.line else place.address: place for place in places}
    return Coverage(len(executed), len(every), (*lines.values(),))


def _of_lines(rows: list[NamedFinding]) -> tuple[NamedFinding, ...]:
    """Return findings, those of two sides once for each pair of lines, of which an unrolled loop has many copies.

    What races in a statement whose updates are lost is said by these.
    """
    found: dict[Any, NamedFinding] = {}
    updates = {_statement(row) for row in rows if row.kind == LOST_UPDATE and row.severity == "error"}
    for row in rows:
        key: Any = id(row)
        if row.check == NAN and row.sides[0].line:
            key = row.kind, row.severity, row.sides[0].source
        elif len(row.sides) == 2 and all(side.line for side in row.sides):
            most = 2 if row.kind == SAME_VALUE else None  # that is said once of a line, whoever calls it
            sources = frozenset(side.source[:most] for side in row.sides)
            key = row.kind, row.severity, row.space, _variable(row), sources
        if row.kind in _RACES and _statement(row) in updates:
            continue
        first = found.get(key)
        if first is None:
            found[key] = row
            continue
        groups = first.groups | row.groups
        found[key] = evolve(first, count=first.count + row.count, places=first.places + 1, groups=groups)
    return (*found.values(),)


def _variable(row: NamedFinding) -> str | None:
    name = _WORD.match(row.variable or "")
    return name and name[0]


def _statement(row: NamedFinding) -> tuple[Any, ...]:
    """Return the memory, the variable and the lines of a finding."""
    return row.space, _variable(row), frozenset(side.line for side in row.sides)


def _without_echoes(running: Running, found: list[CheckFinding]) -> list[CheckFinding]:
    """Return findings without those of code that is there twice, and writes of the same value that also differ."""
    pairs = {tuple(sorted(side.pc for side in each.sides)) for each in found if each.is_error}
    kept = []
    for finding in found:
        lines = {(place.file, place.line) for place in (running.position(side.pc) for side in finding.sides)}
        is_copied = finding.kind == DIFFERENT and len(lines) == 1 and all(line for _file, line in lines)
        is_told = finding.kind == SAME_VALUE and tuple(sorted(side.pc for side in finding.sides)) in pairs
        if not (is_copied or is_told):
            kept.append(finding)
    return kept


class WaveVariables:
    """Names what waves have not written, while they are there."""

    def __init__(self, running: Running) -> None:
        self.running = running
        memory: Any = running.machine.device.memory
        for check in (memory.init_check, memory.align):
            if check is not None:
                check.on_finding = self.name
        if memory.init_check is not None:
            memory.init_check.padding_of_waves = self.padding
        if memory.nan_check is not None:
            memory.nan_check.variables, memory.nan_check.is_in_source = self.operands, self._is_in_source
            if running.is_optimized and memory.nan_check.past is None:
                most = min(MOST_PAST, PAST_OF_WAVES // max(len(running), 1))
                memory.nan_check.past = deque(maxlen=max(MOST_AGE, most))
        nan_check, place = memory.nan_check, FindingNames(running).place

        def given(places: Any) -> Any:
            return None if nan_check is None else nan_check.given.starts(places)

        self._names = LineNames(running, place, given)
        if nan_check is not None:
            nan_check.line_at, nan_check.divides = self._names.line, self._names.divides
        self._padding: dict[Any, Padding] = {}

    def name(self, finding: CheckFinding, batch: WaveBatch, row: int, place: tuple[str, int]) -> None:
        """Name the variable of a wave that is in a register, or at a private address."""
        if place[0] not in ("private", "v", "s", "a"):
            return
        side = finding.sides[-1]
        lane = (side.lanes & -side.lanes).bit_length() - 1 if side.lane is None else side.lane
        for variable, lanes in self._variables(batch, row, side.pc, max(lane, 0)):
            if variable.name and (part := _part_at(variable, lanes, place)) is not None:
                finding.variable = f"{variable.name}{part}", True
                return

    def _variables(self, batch: WaveBatch, row: int, pc: int, lane: int) -> list[tuple[Any, LaneSet]]:
        """Return the variables of a wave and its callers, each with the lane."""
        wave, before, batch.pc = int(batch.waves[row]), batch.pc, pc
        lanes, found = LaneSet.product(b.array([wave], 64), b.array([lane], 64)), []
        try:
            self.running.machine.device.written(batch)
            for frame in islice(self.running.attached[wave], MOST_DEPTH):
                found += [(variable, lanes) for variable in frame.variables()]
        except (DwarfGpuError, Diverge, LaneFault):
            pass
        finally:
            batch.pc = before
        return found

    def operands(
        self,
        batch: WaveBatch,
        row: int,
        pc: int,
        lanes: Any,
        past: Sequence[PastInstruction],
        operands: Any = (),
        result: Any = None,
        *,
        is_constant: bool,
    ) -> list[MadeOf] | None:
        """Return the variables that the line of an instruction names, with their numbers in lanes of a wave.

        In code without lines it is the line of the call. What has no value there has that of the latest instruction in
        the past of the batch, unless a line between sets it. None if the instruction chooses a NaN that is a constant,
        and the line calls nothing that could have it, or names it. ``operands`` are those of the instruction, by lane.
        """
        chosen, names, found, home = LaneSet.of(lanes.tolist(), int(batch.waves[row])), list[str](), list[MadeOf](), pc
        named, set_between, before = set[str](), "", (batch.pc, batch.vector, batch.scalar)
        warp = int(self.running.machine.places["wave_in_group"].array[int(batch.waves[row])].reshape(-1)[0])
        own = [each for each in past if each.batch is batch]
        steps = [(each.pc, each.vector, each.scalar) for each in own[:-MOST_AGE:-1]]
        places = dict[str, tuple[tuple[str, int] | None, Any]]()
        try:
            for age, (at, vector, scalar) in enumerate(steps or [(pc, batch.vector, batch.scalar)]):
                batch.vector, batch.scalar = vector, scalar
                set_between += "" if not age else f"{self._names.text(at) or ''}\n"
                missing = [each for each in names if each not in named and not _sets_part(each, set_between)]
                if age and not missing:
                    break
                if age and not any(self._is_there(at, home, each) for each in missing):
                    continue
                batch.pc = at
                self.running.machine.device.written(batch)
                for frame in islice(self.running.attached[int(batch.waves[row])], MOST_DEPTH):
                    here = at if not frame.level else (frame.pc or 1) - 1  # of the call, which is in front of it
                    text = self._names.text(here)
                    if not age and text is not None:
                        if is_constant and (_NAN.search(text) or not _CALL.search(text)):
                            return None
                        home = here
                        names = missing = [*dict.fromkeys(_OPERAND.findall(_ASSIGNED.sub("", text, count=1)))]
                    for name in missing:
                        numbers = _numbers(frame, name, chosen, warp, operands)
                        if not numbers:
                            continue
                        value = frame.expression(name)
                        changes = self._changes(value, batch, row, chosen, own, age)
                        came = None if age else self._came(value, batch, row, chosen)
                        found += [
                            MadeOf(each, values, changes, came, "<several elements>")
                            for each, values in numbers.items()
                        ]
                        named.add(name)
                        places[name] = _register_of(value, chosen), value.type
                    if text is not None:
                        break
        except (DwarfGpuError, Diverge, LaneFault):
            pass
        finally:
            batch.pc, batch.vector, batch.scalar = before
        missing = [name for name in names if name not in named and ("[" in name or self._variable(home, name))]
        if past and names:
            inputs = LineInputs(self._names, past, int(batch.waves[row]), lanes, home, result)
            found, missing = self._by_registers(inputs, found, missing, places)
        return found + [MadeOf(name, None) for name in missing if self._variable(home, name)]

    def _by_registers(
        self, inputs: LineInputs, found: list[MadeOf], missing: list[str], places: dict[str, Any]
    ) -> tuple[list[MadeOf], list[str]]:
        """Return the variables of a line of optimized code, and those without values, by what the line has read.

        Turns of a loop are mixed in such code: the file may give a variable the value of another turn.
        """
        home, count, asked = inputs.home, len(inputs.lanes), [*places, *missing]
        every = [*inputs.named(asked, [cell for cell, _type in places.values() if cell])]
        known = [each for each in every if missing or each.name in places]
        known += [MadeOf(name, values) for name, values in inputs.turns(every).items() if name in asked]
        told = {each.name for each in known}
        arguments = ((name, self._argument(home, name)) for name in missing if name not in told)
        known += [MadeOf(name, np.full(count, value)) for name, value in arguments if value is not None]
        told = {each.name for each in known}
        elements = {each.partition("[")[0] for each in told if "[" in each}
        missing = [each for each in missing if each not in told]
        if missing and sum("[" in each.name for each in known) >= len(missing):
            missing = []  # elements of arrays are there in place of variables with them
        kept = (each for each in found if each.name not in told and each.name.partition("[")[0] not in elements)
        return [evolve(each, is_certain=self._is_certain(inputs, each, places)) for each in kept] + known, missing

    def _is_certain(self, inputs: LineInputs, made: MadeOf, places: dict[str, Any]) -> bool:
        """Return whether what the file tells of a variable is of this turn of a loop."""
        cell, kind = places.get(made.name, (None, None))
        words = [made.name] if "." in made.name else _WORD.findall(made.name)
        is_kept = all(self._names.is_set_once(inputs.home, each) for each in words)
        return made.values is None or is_kept or inputs.reads(made.name, cell, made.values, kind)

    def _argument(self, pc: int, name: str) -> int | float | None:
        """Return the value that a launch gave to a parameter which nothing sets; None for any other variable."""
        argument = self.running.attached[0].launch.argument(name) if name.isidentifier() else None
        if argument is None or argument.is_hidden or argument.kind in POINTERS or not self._names.is_set_once(pc, name):
            return None
        (variable, *_others), kind = self.running.variables_of(name, pc), resolved(argument.type)
        return _number(argument.data, kind) if variable.kind == "parameter" and isinstance(kind, Base) else None

    def _changes(
        self, value: Any, batch: WaveBatch, row: int, lanes: LaneSet, past: Sequence[PastInstruction], age: int
    ) -> Any:
        """Return the instructions that have changed a variable last, in lanes; 0 where that is not known."""
        memory: Any = self.running.machine.device.memory
        if (place := memory_of(value, lanes)) is not None:
            known = memory.nan_check.changed.get(place[1] >> 2) if place[0] == PRIVATE and not place[1] & 3 else None
            return (
                None if known is None else known[int(batch.waves[row]), np.asarray(lanes.lane).reshape(-1).astype(int)]
            )
        file, index = _register_of(value, lanes) or ("", 0)
        if file != "v":
            return None
        now = batch.vector[index]
        shape, chosen = (batch.count, batch.lanes), np.asarray(lanes.lane).reshape(-1).astype(int)
        for each in reversed(past[: len(past) - 1 - age]):
            if each.vector[index] is not now:  # a write of the same number, or of other lanes, tells nothing
                differ = np.broadcast_to(each.vector[index], shape) != np.broadcast_to(now, shape)
                return np.where(differ[row, chosen], each.pc, 0)
        return None

    def _came(self, value: Any, batch: WaveBatch, row: int, lanes: LaneSet) -> Any:
        """Return where the numbers of a variable came from that are NaNs or infinities of arguments, by lane."""
        check: Any = self.running.machine.device.memory.nan_check  # type: ignore[attr-defined]
        chosen, wave = np.asarray(lanes.lane).reshape(-1).astype(int), int(batch.waves[row])
        if (cell := _register_of(value, lanes)) is not None:
            found = check.came_in(batch, cell, row)
            return None if found is None else found[chosen]
        if (place := memory_of(value, lanes)) is not None and place[0] == PRIVATE:
            found = check.came_to(place[1] >> 2, wave)
            return None if found is None else np.broadcast_to(found, batch.lanes)[chosen]
        addresses = global_addresses_of(value, lanes)
        return None if addresses is None else check.given.starts(np.broadcast_to(addresses, chosen.shape))

    def _is_in_source(self, pc: int) -> bool:
        """Return whether an instruction is in a function of the source; nothing is known of a file without any."""
        code = self.running.attached.state.loaded.at(pc)
        return code is None or not code.file.has_dwarf or code.function_at(pc) is not None

    @remembered
    def _variable(self, pc: int, name: str) -> tuple[int, bool] | None:
        """Return which variable with a number a name means at an address, and whether it has a place there."""
        with suppress(DwarfGpuError):
            for each in self.running.variables_of(name, pc)[:1]:
                if not isinstance(resolved(each.type), (Pointer, Struct)):
                    return each.die.section_offset, bool(each.locations_here())
        return None

    def _is_there(self, pc: int, home: int, name: str) -> bool:
        """Return whether a variable that a name means elsewhere has a place at an address, and the name there."""
        here, own = self._variable(pc, name), self._variable(home, name)
        return here is not None and own is not None and here == (own[0], True)

    def padding(self, space: str, batch: WaveBatch, pc: int) -> Padding:
        """Return the objects in local memory, or in the private memory of waves at an address, if one has padding."""
        calls, *others = {return_addresses(each) for each in batch.each_calls()}
        registers = [batch.scalar[number] for number in STACK_REGISTERS]
        key = (space,) if space == "local" else (pc, None if others else calls, *registers)
        if not all(isinstance(each, (str, int, tuple)) for each in key):
            return Padding()  # it is not known which variables are there
        if key not in self._padding:
            self._padding[key] = padding_in(self._objects(space, batch, pc))
        return self._padding[key]

    def _objects(self, space: str, batch: WaveBatch, pc: int) -> Iterator[tuple[int, int, Any]]:
        """Yield the address, the size and the type of objects in local or private memory."""
        for each in self.running.local_objects if space == "local" else ():
            if each.address is not None and each.is_certain:
                yield each.address, each.size, each.type
        for variable, lanes in self._variables(batch, 0, pc, 0) if space == PRIVATE else ():
            memory, size = memory_of(variable, lanes), known_size(variable.type)
            if memory is not None and memory[0] == PRIVATE and size:
                yield memory[1], size, variable.type


def _part_at(variable: Any, lanes: LaneSet, place: tuple[str, int]) -> str | None:
    """Return the part of a variable that is in a register or at a private address; None if it is elsewhere."""
    if place[0] == PRIVATE:
        memory = memory_of(variable, lanes)
        offset = -1 if memory is None or memory[0] != PRIVATE else place[1] - memory[1]
        return element_at(variable.type, offset)[0] if 0 <= offset < (known_size(variable.type) or 0) else None
    try:
        found = variable.find(lanes).place
    except (DwarfGpuError, Diverge, LaneFault):
        return None
    location = found.storage.location.single if isinstance(found.storage, Located) else None
    storage = None if location is None else location.storage
    return "" if isinstance(storage, Register) and storage.register.name == f"{place[0]}{place[1]}" else None


def _numbers(frame: Any, name: str, lanes: LaneSet, warp: int, operands: Any) -> dict[str, Any]:
    """Return the numbers of a variable, or of the elements of a small array, in lanes; None for those of a tensor.

    A lane has one number of a tensor: the element that it holds, or if it holds several, the one that is an operand.
    """
    found: dict[str, Any] = {}
    with suppress(DwarfGpuError, Diverge, LaneFault):
        value = frame.expression(name).find(lanes)
        if (known := layout_of(value)) is not None and isinstance(layout := known[0], Layout):
            held = [_held(value, layout, int(lane), warp) for lane in np.asarray(lanes.lane).reshape(-1)]
            meant = [[x for x in each if len(each) == 1 or x in own] for each, own in zip(held, operands, strict=True)]
            return {name: [each[0] for each in meant] if all(len(each) == 1 for each in meant) else None}
        kind = resolved(value.type)
        count = (known_size(kind) or 0) * 8 // (element_bits(kind) or 1) if isinstance(kind, Array) else 0
        names = [f"{name}[{number}]" for number in range(count)] if 0 < count <= MOST_ELEMENTS else [name]
        for each in names:
            number = np.asarray(frame.expression(each).find(lanes).number())
            found[each] = np.broadcast_to(number, (lanes.count,))
    return found


def _register_of(value: Any, lanes: LaneSet) -> tuple[str, int] | None:
    """Return the register that a variable is in, if it is in one."""
    storage = value.find(lanes).place.storage
    location = storage.location.single if isinstance(storage, Located) else None
    register = getattr(location and location.storage, "register", None)
    found = register and re.fullmatch(r"([vs])(\d+)", register.name)
    return (found[1], int(found[2])) if found else None


def _held(tensor: Any, layout: Layout, lane: int, warp: int) -> list[Any]:
    """Return the numbers of a tensor that a lane holds."""
    elements, found = {layout.element(each, lane, warp) for each in range(1 << len(layout.registers))}, []
    for element in elements:
        part = tensor
        for at in layout.index(element):
            part = part.array().at(at)
        found.append(part.number())
    return found


class FindingNames:
    """Names what findings concern."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.texts = SourceTexts()

    def named(self, finding: CheckFinding) -> NamedFinding:
        """Return a finding in words of the source."""
        name, is_certain, kind = None, True, None
        if finding.check == BOUNDS:
            name, kind = self._beyond(finding)
        elif finding.variable is not None:
            name, is_certain = finding.variable
        elif finding.space == "private":
            name, is_certain = self._in_line(finding.sides[0].pc), False
        elif finding.space in ("local", "global") and finding.address is not None:
            words = [self._words(side.pc) for side in finding.sides]
            is_local = finding.space == "local"
            named = self._local(finding.address, words) if is_local else self._global(finding.address)
            name, is_certain, kind = named
        sides = tuple(self._side(side, kind) for side in finding.sides)
        return NamedFinding(
            finding.check, finding.kind, _SEVERITIES.get(finding.kind, "error"), finding.space, finding.address,
            finding.size, finding.register, name, is_certain, self._reach(finding), finding.count, sides,
            buffer=None if finding.buffer is None else finding.buffer.address,
            operands=(*map(self._operand, finding.operands),), groups=frozenset(finding.groups),
        )  # fmt: skip

    def _operand(self, operand: tuple[str, str, int, int, bool]) -> NamedOperand:
        name, value, pc, came, is_certain = operand
        is_known = pc and not self.running.reader.at(pc).is_prologue
        position = self.running.position(pc) if is_known else None
        return NamedOperand(name, value, position, self._global(came)[0] if came else None, is_certain)

    def _beyond(self, finding: CheckFinding) -> tuple[str | None, Any]:
        """Return the element that an access outside of a buffer means, and its type."""
        argument, array = self._argument_of(finding), finding.array
        if finding.buffer is None or finding.address is None:
            return None, None
        if array is not None:
            offset, kind = finding.address - array.start, resolved(array.type)
            size = None if isinstance(kind, Array) else known_size(kind)
            part, kind = element_at(kind, offset % size if size else offset)
            return f"{array.name}{f'[{offset // size}]' if size else ''}{part}", kind
        if finding.space == "local" and not finding.buffer.address:
            return self._only_local(finding)
        if argument is None:
            return None, None
        name, _is_certain, kind = self._pointed(argument, finding.address - finding.buffer.address)
        return name, kind

    def _only_local(self, finding: CheckFinding) -> tuple[str | None, Any]:
        """Return the element that an access outside of local memory means, if the line names what fills that memory."""
        (side,) = finding.sides
        functions, words = self.running.machine.source.functions(side.pc) - {None}, self._words(side.pc)
        for variable in all_variables(self.running.program.outside):
            kind = resolved(variable.type)
            is_there = owner_of(variable) in functions and variable.kind != "parameter" and variable.name in words
            whole = finding.buffer is not None and known_size(kind) == finding.buffer.size
            if is_there and whole and isinstance(kind, Array) and finding.address is not None:
                size = known_size(kind.element) or 1
                return f"{variable.name}[{finding.address // size}]", resolved(kind.element)
        return None, None

    def _argument_of(self, finding: CheckFinding) -> Any:
        """Return the argument whose memory an access is outside of."""
        buffer = finding.buffer
        places = ((each, each.memory) for each in self._arguments if each.kind in POINTERS)
        return next((each for each, memory in places if memory and buffer and memory.address == buffer.address), None)

    def _reach(self, finding: CheckFinding) -> str | None:
        """Return how far outside of which memory an access is: ``8 bytes past the end of `in` (argument 1, ...)``."""
        if finding.address is None:
            return None
        if finding.needs is not None:
            bytes_, type_ = finding.needs
            rest = finding.address % bytes_
            return f"{rest} byte{'s' if rest > 1 else ''} past a multiple of {bytes_}, which {type_} needs"
        if finding.check != BOUNDS:
            return None
        buffer, argument = finding.buffer, self._argument_of(finding)
        if buffer is None:
            memory = self.running.machine.device.memory.memory
            return memory.missing(finding.address).replace(f" at {finding.address:#x}", " there")
        number = "" if argument is None else f"argument {argument.position}, "
        number = number if finding.array is None else f"{finding.space} memory, "
        if finding.kind in FORBIDDEN.values():
            return f"{buffer.name} ({number}{buffer.size} bytes) is {buffer.access}"
        if buffer.access == FREED and buffer.holds(finding.address):
            return f"{buffer.name} ({number}{buffer.size} bytes) was freed"
        near, far = finding.ends if finding.ends[0] >= buffer.address else finding.ends[::-1]
        return f"{buffer.reach(near, far)} of {buffer.name} ({number}{buffer.size} bytes)"

    def _side(self, side: FindingSide, kind: Any) -> NamedSide:
        calls = calls_of(stack_levels(self.running.attached.state.loaded, side.pc, side.callers))[::-1]
        if len(calls) > 1 and is_body(calls[-2].linkage_name):
            calls = calls[:-1]  # which is what clang makes of the kernel
        position = self.running.position(side.pc)
        function = calls[0].function or position.place
        value, origin = _number(side.value, kind), self.running.launched.geometry.origin(side.work_group)
        as_float = likely_float(side.value) if kind is None else None
        return NamedSide(side, position, function, calls, value, as_float, self._text(side.pc), origin)

    @cached_property
    def _arguments(self) -> list[Any]:
        launch = self.running.attached[0].launch
        return [each for each in launch.arguments if each.number is not None and not each.is_hidden]

    def place(self, space: str, address: int, pc: int) -> tuple[str, Any] | None:
        """Return the name and the type of the object at an address that an instruction reads."""
        named = self._local(address, [self._words(pc)]) if space == LOCAL else self._global(address)
        return None if named[0] is None else (named[0], named[2])

    def _global(self, address: int) -> tuple[str | None, bool, Any]:
        for argument in self._arguments:
            memory = argument.memory
            if argument.kind in POINTERS and memory and 0 <= address - memory.address < memory.size:
                return self._pointed(argument, address - argument.number)
            offset = address - self.running.launched.plan.places.kernarg
            if argument.kind not in POINTERS and argument.offset <= offset < argument.offset + argument.size:
                return argument.name, True, argument.type
        for name, start, size, type_ in self._statics:
            if start <= address < start + size:
                part, kind = element_at(type_, address - start)
                return f"{name}{part}", True, kind
        return None, True, None

    @cached_property
    def _statics(self) -> list[tuple[str, int, int, Any]]:
        """Where variables outside of functions are in global memory, and how large."""
        found = []
        for variable in all_variables(self.running.attached[0].frame(0)):
            with suppress(DwarfGpuError):
                address, size = variable.object(None).address if variable.kind == STATIC else None, variable.byte_size()
                if address is not None and isinstance(address.value, int) and size:
                    found.append((variable.qualified_name, address.value, size, variable.type))
        return found

    def _words(self, pc: int) -> set[str]:
        """Return the names in the line of an address."""
        return set(_WORD.findall(self._text(pc) or ""))

    def _text(self, pc: int) -> str | None:
        line = self.running.line_at(pc)
        return None if line is None else self.texts.read(line.file).line(line.line)

    def _in_line(self, pc: int) -> str | None:
        """Return the only variable of the functions at an address that its line names."""
        functions, words = self.running.machine.source.functions(pc) - {None}, self._words(pc)
        known = (variable for variable in all_variables(self.running.program.outside) if variable.kind != "parameter")
        names = {variable.name for variable in known if variable.name in words and owner_of(variable) in functions}
        return names.pop() if len(names) == 1 else None

    def _local(self, address: int, words: list[set[str]]) -> tuple[str | None, bool, Any]:
        """Return the variable or the argument at an address of local memory.

        If the file does not tell where variables are, it is the only one that both lines name.
        """
        for each in self.running.local_objects:
            if (offset := each.offset_of(address)) is not None:
                size = known_size(each.type) or 0
                index, rest = divmod(offset, size) if each.is_argument and size else (None, offset)
                part, kind = element_at(each.type, rest)
                return f"{each.name}{'' if index is None else f'[{index}]'}{part}", each.is_certain, kind
        tensors = {each: text for each in self.running.launched.plan.file.buffers if (text := each.part_at(address))}
        meant = [each for each in tensors if len(tensors) == 1 or any(each.name in of for of in words)]
        if len(meant) == 1:
            return tensors[meant[0]], meant[0].is_alone, meant[0].element
        unplaced = (each for each in self.running.local_objects if each.address is None)
        named = [each for each in unplaced if all(each.name in of for of in words)]
        if len({each.name for each in named}) != 1:
            return None, False, None
        kind = resolved(named[0].type)
        while isinstance(kind, Array):  # the element is not known, but all have one type
            kind = resolved(kind.element)
        return named[0].name, False, kind

    def _pointed(self, argument: Any, offset: int) -> tuple[str, bool, Any]:
        """Return the element of an argument at an offset from its start."""
        pointer = resolved(argument.type)
        element = pointer.to.get() if isinstance(pointer, Pointer) else None
        size = None if element is None else known_size(element)
        if element is None or not size:
            return f"{argument.name} + {offset} bytes", True, None
        part, kind = element_at(element, offset % size)
        return f"{argument.name}[{offset // size}]{part}", True, kind


def element_at(type: Any, offset: int, depth: int = 0) -> tuple[str, Any]:
    """Return the part of an object at an offset, as ``[3].x``, and its type."""
    kind = resolved(type)
    if depth >= MOST_DEPTH:
        return "", kind
    if isinstance(kind, Array) and (bits := element_bits(kind)):
        index, rest = divmod(8 * offset, bits)
        text = ""
        for dimension in reversed(kind.dimensions[1:]):
            index, inner = divmod(index, dimension.length or 1)
            text = f"[{inner}]{text}"
        part, inner_type = element_at(kind.element, rest // 8, depth + 1)
        return f"[{index}]{text}{part}", inner_type
    if isinstance(kind, Struct):
        parts = [*_parts(kind, offset, depth)]
        if kind.kind != "union" and parts:
            return parts[0]
        if parts and all(found == parts[0][1] for _text, found in parts):  # whichever member of a union is meant
            return parts[0] if not kind.name else ("", parts[0][1])
    return "", kind


def _parts(struct: Struct, offset: int, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the members of a structure at an offset: of a union several."""
    for member in struct.body.members:
        part_type = member.to.get()
        size = known_size(part_type)
        if member.bit_offset is not None and size and member.bit_size is None:
            start = member.bit_offset // 8
            if start <= offset < start + size:
                part, found = element_at(part_type, offset - start, depth + 1)
                yield f".{member.name}{part}" if member.name else part, found


def likely_float(value: bytes | None) -> float | None:
    """Return the single float of some bytes if it is neither very large nor very small: few integers are so."""
    found = struct.unpack("<f", value)[0] if value is not None and len(value) == 4 else 0.0
    return found if 1e-6 < abs(found) < 1e9 else None


def _number(value: bytes | None, kind: Any) -> int | float | None:
    """Return the number of a type that some bytes begin with, of no type an unsigned one; None for a part of it."""
    size = known_size(kind) if kind is not None else None
    if value is None or len(value) < (size or 0):
        return None
    encoding, value = kind.encoding if isinstance(kind, Base) else None, value[:size]
    if encoding == dw.DW_ATE_float and len(value) in _FLOATS:
        return float(struct.unpack(_FLOATS[len(value)], value)[0])
    return int.from_bytes(value, "little", signed=encoding in (dw.DW_ATE_signed, dw.DW_ATE_signed_char))
