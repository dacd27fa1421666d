"""Variables judged by execution: whether they can be read, and whether only statements that name them change them.

A variable that is in registers has a new value when these are written. Where code writes them that belongs to a
statement which does not name the variable, the register has got another use, and the location says too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.lane_values import AT_LAUNCH, LaneValues, StaleLane, VectorSource
from dwarfgpu.audits.judge.located_variables import Declaration, LocatedVariable, LocatedVariables, declared_line
from dwarfgpu.audits.judge.recorded_values import POINTER, Leaf, PointerNames, leaf_text, scalar_leaf
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.source_values import SourceValues
from dwarfgpu.audits.judge.wave_registers import column_of
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Composite, Location, Register, is_undefined
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import lanes_in, mask_of, outer_of
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.types.model import Pointer, known_size, stripped
from dwarfgpu.program.values.storage import Located

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.source_functions import FunctionTexts
    from dwarfgpu.audits.judge.source_statements import SourceStatements
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable

RULES: dict[str, CheckRule] = rules(
    "value",
    ("written", ERROR, "A.4.1 (1)",
     "The location of a variable is right as it is written, not only as dwarfgpu corrects it.",
     "correct the location; `dwarfgpu ops --repairs NAME` shows what is written and what is meant"),
    ("failed", ERROR, "A.4.1 (1)", "A variable with a location can be read at every instruction after the prologue.",
     "correct the location, or let the list say nothing for the addresses that are named"),
    ("changed", WARNING, "A.4.1 (1)", "A variable in registers changes only where a statement names it.",
     "end the range of the location where its register gets another value"),
    ("source", ERROR, "A.4.1 (1)",
     "A variable has only values that the source, as far as it is known, gives it.",
     "correct the location, or let the list say nothing for the addresses that are named"),
    ("lanes", ERROR, "A.4.1 (1)", "A value that was computed for some lanes is shown in these alone.",
     "end the range of the location where lanes become active that have not computed the value"),
)  # fmt: skip

_PACKED = ("v_pk_", "ds_load_2addr", "ds_read2")
"""The beginnings of the names of instructions that compilers make of two operations."""
_SELECTS = ("v_cndmask", "s_cselect")
"""What optimized code has in place of an ``if``, with the line of its head: they assign what its branches assign."""
_CHANGES = (
    r"(?:&|\+\+|--)\s*{name}\b|\b{name}\b\s*(?:(?:\.|->)\s*\w+\s*|\[[^\]]*\]\s*)*"
    r"(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
)
"""What may assign a variable, or let others do so."""
_MOVES = ("v_mov_", "v_accvgpr_", "s_mov_", "s_movk_")
MOST_VISITS = 3
"""The visits of an instruction at which variables are compared with the source."""
FOLLOWED = 4
"""The waves whose variables are followed from instruction to instruction."""


@frozen
class Home:
    """The register, or one of several, that a variable is in."""

    variable: str
    die: int
    register: str
    is_own_lane: bool
    """Whether each lane has its element of a vector register."""
    mask: int
    """The bits of the register, or of its element, that are the variable's."""
    leaf: Leaf | None = None
    """How the bits are read, if the whole variable is a number in this register."""

    def text(self, number: int) -> str:
        """Return the contents of the register as a message writes them."""
        bits = number & self.mask
        return f"{bits:#x}" if self.leaf is None else leaf_text(self.leaf, bits, PointerNames(()))


@frozen(eq=False)
class FoundPlace:
    """Where the value of a variable is, by the entries of its location."""

    homes: tuple[Home, ...] = ()
    sources: tuple[VectorSource, ...] = ()
    """The vector registers that its value comes from."""


NO_PLACE = FoundPlace()


@frozen(eq=False)
class WatchedInstruction:
    """What is known of an instruction: the variables in registers, and the lines whose statement it belongs to."""

    homes: tuple[Home, ...]
    sources: frozenset[VectorSource]
    lines: tuple[tuple[str, int], ...]
    texts: tuple[str, ...] | None
    """The statements of these lines; None where the text of the source is not known."""
    fixed: frozenset[int]
    """The variables, by their entries, that their declaration assigns, and nothing else."""


@frozen(eq=False)
class _Before:
    """What a wave had before the instruction that it executed last in a call."""

    place: WatchedInstruction
    row: int
    active: int
    columns: dict[str, Any]


class ValueJudge:
    """Judges where the variables of a file are said to be."""

    def __init__(
        self, run: FollowedRun, sightings: Sightings, texts: SourceStatements, functions: FunctionTexts
    ) -> None:
        self.run = run
        self.running = run.running
        self.sightings = sightings
        self.texts = texts
        self._source = SourceValues(run, sightings, functions, RULES["source"])
        self._functions = functions
        self._is_assigned_once = cache(self._find_assigned_once)
        self._places: dict[int, WatchedInstruction] = {}
        self._located = LocatedVariables()
        self._homes: dict[LocatedVariable, FoundPlace] = {}
        self._lanes = LaneValues(run)
        self._readable: set[LocatedVariable] = set()
        """What is in registers, and was read."""
        self._before: dict[tuple[int, int], _Before] = {}
        self._read: set[int] = set()
        self.located: set[tuple[str, int, int]] = set()
        """The variables that have a location at an instruction: name, line of the declaration, and address."""
        self.absent: set[tuple[str, int, int]] = set()
        """Those that are in scope there and have none."""
        self.repaired: dict[tuple[str, int, int], tuple[Subject, Sighting]] = {}
        """Those whose location is not taken as it is written."""
        self._undefined: dict[LocatedVariable, bool] = {}
        """Whether the entry of a location says that there is no value."""
        count = self.running.machine.wave_count
        self.followed = {index * max(1, count // FOLLOWED) for index in range(FOLLOWED)}
        """The waves whose variables are followed from instruction to instruction."""

    def observe(self, arrival: InstructionVisit) -> None:
        """Take notice of waves that are about to execute an instruction, and judge what the last one has changed."""
        for row in arrival.rows.tolist():
            if arrival.wave(row) in self.followed:
                self._follow(arrival, row, arrival.wave(row))

    def end(self, waves: Any, number: int) -> None:
        """Forget waves that end, or that return from a call."""
        for wave in waves.tolist():
            self._before.pop((wave, number), None)
            self._lanes.end(wave, number)
            if not number:
                self._source.end(wave)

    def _follow(self, arrival: InstructionVisit, row: int, wave: int) -> None:
        batch = arrival.batch
        place = self._places.get(batch.pc)
        if place is None:
            self.run.registers.show(batch)
            place = self._places[batch.pc] = self._place(arrival, wave)
        key = wave, arrival.number
        before = self._before.get(key)
        if before is not None:
            for home in before.place.homes:
                is_fixed = home.die in place.fixed
                if home in place.homes and (before.place.texts is not None or is_fixed):
                    self._compare(batch, row, wave, before, home, is_fixed=is_fixed)
        for source, stale in self._lanes.stale(arrival, row, place.sources):
            self._judge_lanes(arrival, wave, source, stale)
        columns = {home.register: column_of(batch, home.register) for home in place.homes}
        self._before[key] = _Before(place, row if batch.count > 1 else 0, int(self.run.lanes.active[wave]), columns)

    def _compare(self, batch: WaveBatch, row: int, wave: int, before: _Before, home: Home, *, is_fixed: bool) -> None:
        """Compare what a variable was before an instruction and is behind it, in the lanes that execute both.

        One that its declaration alone assigns has its value from the first instruction on at which it has a location.
        """
        old, new = before.columns[home.register], column_of(batch, home.register)
        if old is new or old is None or new is None:
            return  # what nothing has written can be no value, whatever writes it first
        changed: Any = (_of_row(old, before.row) ^ _of_row(new, row)) & home.mask != 0
        changed = np.broadcast_to(changed, (batch.lanes if home.is_own_lane else 1,))
        active = before.active & int(self.run.lanes.active[wave]) if home.is_own_lane else 1
        flags = [lane for lane in np.nonzero(changed)[0].tolist() if active >> lane & 1]
        if not flags:
            return
        index = flags[0]
        lane = index if home.is_own_lane else None
        place = before.place
        word = re.compile(rf"\b{re.escape(home.variable)}\b")
        if not is_fixed and any(word.search(text) for text in place.texts or ()):
            return
        where = f"{_line_text(place) if place.lines else 'no line'} changes" + (
            "" if lane is None else f" in lane {lane}"
        )
        was, is_now = (home.text(_number(_of_row(*each), index)) for each in ((old, before.row), (new, row)))
        message = f"{home.variable} is located in {home.register}, which the code of {where} from {was} to {is_now}"
        message += ", and its declaration alone assigns it" if is_fixed else ""
        sighting = Sighting(message, self.running.machine.ids[wave], lane, lanes=0 if lane is None else mask_of(flags))
        self.sightings.add(Subject(RULES["changed"], home.variable, home), batch.pc, sighting)

    def _judge_lanes(self, arrival: InstructionVisit, wave: int, source: VectorSource, stale: list[StaleLane]) -> None:
        """Report the lanes in which a register has what belongs to a statement that does not name the variable."""
        word = re.compile(rf"\b{re.escape(source.variable)}\b")
        for each in stale:
            writer = self._places.get(each.written)
            texts = None if writer is None else writer.texts
            if each.written and (texts is None or any(word.search(text) for text in texts)):
                continue
            if not each.computed:
                of = f"which nothing has written in lane {each.lane}"
            elif each.computed == AT_LAUNCH:
                of = "which only other lanes have had since the launch"
            else:
                where, offset = self.sightings.function(each.computed)
                of = f"which {where}+{offset:#x} has written only for other lanes"
            message = f"{source.variable} is located in v{each.register}, {of}"
            if writer is not None:
                message += f": lane {each.lane} still has the value of {_line_text(writer)} there"
            sighting = Sighting(message, self.running.machine.ids[wave], each.lane, arrival.visits)
            self.sightings.add(Subject(RULES["lanes"], source.variable, source), arrival.pc, sighting)

    # --- Reading --------------------------------------------------------------------------------------------------

    def judge(self, arrival: InstructionVisit, row: int) -> None:
        """Read the variables at an instruction behind the first statement of a function; report what fails."""
        pc = arrival.pc
        is_first = pc not in self._read
        if not is_first and arrival.visits > MOST_VISITS:
            return
        active = int(self.run.lanes.active[arrival.wave(row)])
        if not active:
            return  # no lane has a value that could be right or wrong
        self._read.add(pc)
        frames = self.run.stopped.stack(arrival.wave(row)).call(0)
        if frames[-1].scope is None:
            return
        if is_in_prologue(self.running, frames[-1], pc):
            return
        for name in ("written", "failed", "source"):
            self.sightings.note(RULES[name], pc)
        declared: set[Declaration] = set()
        for frame in frames:  # the innermost first, which a debugger shows
            places, scope = self._located.at(frame), self._located.in_scope(frame)
            variables = {variable.die: variable for variable in frame.variables()}
            lanes = lanes_in(active) if frame.has_lanes else []
            present = set()
            for here in places:
                variable = variables.get(here.die)
                if variable is None:
                    continue
                if variable.repairs:
                    self._note_repairs(arrival, row, variable)
                if not self._is_undefined(here, variable):
                    present.add(here.die)
                    self._judge_variable(arrival, row, here, variable, lanes, is_first=is_first)
            for die, declaration in scope:
                if declaration not in declared:
                    declared.add(declaration)
                    (self.located if die in present else self.absent).add((*declaration, pc))

    def _judge_variable(
        self, arrival: InstructionVisit, row: int, here: LocatedVariable, variable: Variable, lanes: list[int], *,
        is_first: bool,
    ) -> None:  # fmt: skip
        """Judge the value of a variable in the first and the last lane, and in all lanes if it is in several places."""
        variables = variable.in_each_place()
        for each in variables:
            self._source.judge(arrival, row, each, lanes, is_first=is_first)
        if len(variables) > 1:
            for each in (*variables, variable):  # a place that cannot be read, or has another value than the others
                self._judge_value(arrival, row, each, in_all=True)
        elif is_first and here not in self._readable:
            is_read = self._judge_value(arrival, row, variable)
            if is_read and self._homes.get(here, NO_PLACE).homes:
                self._readable.add(here)  # what is written in a register can be read from then on

    def _note_repairs(self, arrival: InstructionVisit, row: int, variable: Variable) -> None:
        """Note that a variable is judged by what the producer means, which is not what it has written."""
        key = variable.name, declared_line(variable.die), arrival.pc
        if key not in self.repaired:
            names = ", ".join(repair.name for repair in variable.repairs)
            subject = Subject(RULES["written"], variable.name, variable.die.offset, idiom=names)
            message = f"{variable.name} is not what its location says: {variable.repairs[0].meaning}"
            wave = self.running.machine.ids[arrival.wave(row)]
            self.repaired[key] = subject, Sighting(message, wave, visit=arrival.visits)

    def report_repairs(self) -> None:
        """Report the variables that are not taken as written, behind all findings that count."""
        for (_name, _line, pc), (subject, sighting) in self.repaired.items():
            self.sightings.add(subject, pc, sighting)

    def _is_undefined(self, here: LocatedVariable, variable: Variable) -> bool:
        known = self._undefined.get(here)
        if known is None:
            frame = variable.frame
            try:
                storage = variable.find(frame.lane(0 if frame.has_lanes else None)).described.storage
                known = isinstance(storage, Located) and is_undefined(storage.location)
            except DwarfGpuError:
                known = False
            self._undefined[here] = known
        return known

    def _judge_value(self, arrival: InstructionVisit, row: int, variable: Variable, *, in_all: bool = False) -> bool:
        """Return whether a variable can be read in the first and the last lane, or in all; report it if it cannot."""
        lanes = 0
        try:
            active = lanes_in(variable.frame.active_mask or 0)
            if variable.frame.has_lanes and not active:
                return False
            failed = _failed(variable, active if in_all else outer_of(active))
            if not failed or is_read_reference(variable, failed[0].lane):
                return True
            if failed[0].lane is not None:
                failed = _failed(variable, active) or failed
                lanes = mask_of(each.lane for each in failed)
            message = failed[0].reason.message
        except DwarfGpuError as error:
            message = error.message
        message, said = f"{variable.name}: {message}", variable.die.offset
        self.sightings.see(RULES["failed"], variable.name, arrival, row, message, said=said, lanes=lanes)
        return False

    # --- Places ---------------------------------------------------------------------------------------------------

    def _place(self, arrival: InstructionVisit, wave: int) -> WatchedInstruction:
        frames = self.run.stopped.stack(wave).call(0)
        homes: list[Home] = []
        sources: list[VectorSource] = []
        lines: list[SourceLine] = []
        visible: dict[Die, Frame] = {}
        for frame in frames:
            source = frame.call.source
            if source is not None and source.file and source.line:
                lines.append(source)
            variables: dict[Die, Variable] | None = None
            for here in self._located.at(frame):
                known = self._homes.get(here)
                if known is None:
                    if variables is None:
                        variables = {variable.die: variable for variable in frame.variables()}
                    variable = variables.get(here.die)
                    is_own = variable is not None and not variable.is_artificial
                    known = self._found(frame, variable) if variable is not None and is_own else NO_PLACE
                    self._homes[here] = known
                homes += known.homes
                sources += known.sources
            visible.update((die, frame) for die, _name in self._located.in_scope(frame))
        is_known = bool(frames) and len(lines) == len(frames) and not self._has_doubtful_line(arrival, frames[-1])
        places = [(str(line.file), line.line, line.column) for line in lines] if is_known else []
        is_select = arrival.instruction.name.startswith(_SELECTS)
        texts = [self.texts.text_of(*place, with_branches=is_select) for place in places] or [None]
        return WatchedInstruction(
            tuple(homes),
            frozenset(sources),
            tuple((str(line.file), line.line) for line in lines) if len(lines) == len(frames) else (),
            None if None in texts else tuple(text for text in texts if text is not None),
            frozenset(die.offset for die, frame in visible.items() if self._is_fixed(die, frame, frames)),
        )

    def _is_fixed(self, die: Die, frame: Frame, frames: Sequence[Frame]) -> bool:
        """Return whether a variable is assigned once while its function executes, which is in no loop."""
        outer = frames[frames.index(frame) + 1 :]
        return self._is_assigned_once(die, frame.scope and frame.scope.die) and not any(map(self._is_in_loop, outer))

    def _is_in_loop(self, frame: Frame) -> bool:
        """Return whether the line of a frame may be executed more than once in its function."""
        text = None if frame.scope is None else self._functions.of(frame.scope.die)
        source = frame.call.source
        return text is None or source is None or text.is_in_loop(source.line)

    def _find_assigned_once(self, die: Die, function: Die | None) -> bool:
        text, place = None if function is None else self._functions.of(function), self._functions.declared_at(die)
        if text is None or place is None or not die.name or text.has_references:
            return False
        changes = [*re.finditer(_CHANGES.format(name=re.escape(die.name)), text.expanded(text.code))]
        if die.tag == dw.DW_TAG_formal_parameter:
            return not changes
        line = text.code.split("\n")[place[1] - text.first] if text.first <= place[1] <= text.last else ""
        is_initialized = re.search(rf"\b{re.escape(die.name)}\s*=(?!=)", line) is not None
        return len(changes) == 1 and is_initialized and not text.is_in_loop(place[1])

    def _has_doubtful_line(self, arrival: InstructionVisit, frame: Frame) -> bool:
        """Return whether an instruction may belong to another statement than its row of the line table says.

        A dual or packed instruction has two statements and the line of one. A move in the middle of a row may have no
        line: a row goes on over constants and copies that the compiler has put there, and so does that of a prologue.
        """
        instruction = arrival.instruction
        is_shared = bool(instruction.components) or instruction.name.startswith(_PACKED)
        if is_shared or is_in_prologue(self.running, frame, arrival.pc):
            return True
        if not instruction.name.startswith(_MOVES):
            return False
        line = self.running.line_at(arrival.pc)
        return line is None or line.start != arrival.pc

    def _found(self, frame: Frame, variable: Variable) -> FoundPlace:
        """Return the registers that a variable is in, and those that its value comes from."""
        read = self.run.registers.read
        read.clear()
        homes = tuple(home for each in variable.in_each_place() for home in _homes(frame, each))
        names = sorted({*read, *(home.register for home in homes)})
        vectors = tuple(int(name[1:]) for name in names if name[0] == "v" and name[1:].isdigit())
        expressions = variable.expressions_at(frame.place_in_file) if vectors else ()
        sources = (VectorSource(variable.name, variable.die.offset, expressions, vectors),) if vectors else ()
        return FoundPlace(homes, sources)


def is_in_prologue(running: Running, frame: Frame, pc: int) -> bool:
    """Return whether an instruction belongs to the first line of the function of a frame, at its start."""
    entry = None if frame.scope is None else frame.scope.die.find("DW_AT_low_pc")
    if entry is None:
        return False
    first = running.line_at(entry.address() + (0 if frame.code is None else frame.code.bias))
    return first is not None and first.start <= pc < first.end


def is_read_reference(variable: Variable, lane: int | None) -> bool:
    """Return whether a variable is a reference that can be read, whatever becomes of the object that it refers to."""
    try:
        kind = stripped(variable.type)
        if not isinstance(kind, Pointer) or not kind.is_reference:
            return False
        variable.find(variable.frame.lane(lane if variable.frame.has_lanes else None)).read()
    except DwarfGpuError:
        return False
    return True


def _failed(variable: Variable, lanes: list[int]) -> list[Any]:
    """Return the answers of those of some lanes in which reading a variable is an error."""
    values = answer(variable, variable.name, lanes or None)
    return [each for each in values.by_lane if each.state == "error" and each.reason is not None]


def _line_text(place: WatchedInstruction) -> str:
    """Return the line of an instruction as messages name it, without the folders of the file."""
    file, line = place.lines[0]
    return f"{file.rpartition('/')[2]}:{line}"


def _of_row(column: Any, row: int) -> Any:
    if isinstance(column, int):
        return np.array([int(column)], np.uint64)
    return column[row if column.shape[0] > 1 else 0]


def _number(values: Any, index: int) -> int:
    return int(values[index if len(values) > 1 else 0])


def _homes(frame: Frame, variable: Variable) -> Iterator[Home]:
    """Yield the registers that a variable is in, if it is in registers alone."""
    try:
        locations = [_location(frame, variable, lane) for lane in ((0, 1) if frame.has_lanes else (0,))]
    except DwarfGpuError:
        return
    if any(location is None for location in locations):
        return
    parts = [[*_registers(location)] for location in locations if location is not None]
    is_one = all(len(of_lane) == 1 for of_lane in parts)
    size = known_size(stripped(variable.type)) if is_one else None
    if not all(parts) or len({len(each) for each in parts}) != 1 or any(None in each for each in parts):
        return
    for of_lane in zip(*parts, strict=True):
        (register, offset), *others = [each for each in of_lane if each is not None]
        lane_bits = register.register.lane_bits
        is_own = bool(lane_bits) and bool(others) and others[0][1] == offset + lane_bits and offset < lane_bits
        if is_own or (not lane_bits and offset == 0):
            bits = lane_bits if is_own else register.register.bit_size
            mask = (1 << (bits if size is None else min(bits, 8 * size))) - 1
            leaf = scalar_leaf(variable.type) if is_one else None
            if leaf is not None and (leaf.kind == POINTER or leaf.bits > bits):
                leaf = None
            yield Home(variable.name, variable.die.offset, register.register.name, is_own, mask, leaf)


def _location(frame: Frame, variable: Variable, lane: int) -> Location | None:
    storage = variable.find(frame.lane(lane if frame.has_lanes else None)).described.storage
    return storage.location if isinstance(storage, Located) else None


def _registers(location: Location) -> Iterator[tuple[Register, int] | None]:
    """Yield the registers of a location with their offsets in bits; None for any other storage."""
    place = location.single
    storage: Any = None if place is None else place.storage
    if type(storage) is Register and place is not None:
        yield storage, int(place.bit_offset)
    elif type(storage) is Composite:
        for part in storage.parts:
            yield from _registers(part.location)
    else:
        yield None
