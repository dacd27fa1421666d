"""All values of an expression while a kernel runs, in all lanes: a row for each line that has changed it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError, EvaluationError, NotSetYet, UsageError
from dwarfgpu.execution.batch import WaveBatch, return_addresses
from dwarfgpu.execution.control.placed import Discoveries, number_in
from dwarfgpu.execution.control.placed_columns import Unplaced
from dwarfgpu.execution.control.report import absent_element
from dwarfgpu.execution.control.shared_places import IS_LOCAL, SharedPlaces
from dwarfgpu.execution.halts import executing
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decoder
from dwarfgpu.isa.instruction import CALLS, JUMPS
from dwarfgpu.isa.memory_actions import GENERIC, GLOBAL, LOAD, SCALAR, action_of
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.program.code.code_lookup import declared_at
from dwarfgpu.program.frames.all_waves import all_waves, frame_of
from dwarfgpu.program.frames.evaluator import variables_in
from dwarfgpu.program.frames.reasons import MISSING, NO_LOCATION_HERE, NOT_IN_SCOPE, Reason, reason_of
from dwarfgpu.program.frames.variable import LOCAL, owner_of
from dwarfgpu.program.frames.wave_groups import Cohort
from dwarfgpu.program.types.model import Array, Pointer, Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.forms.quiet_code import QuietCode
    from dwarfgpu.execution.forms.watched_forms import WatchedMemory
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.program.frames.answers import Values

    Writers = tuple[tuple[str, tuple[int, ...]], ...]
    Meaning = tuple[int, tuple["DeclaredAt", ...]]
    """A wave, and the variables that the names mean."""

MOST = 1 << 16
"""The rows that are kept."""
KINDS = "biuf"
"""The kinds of arrays of numpy that have numbers."""
ELEMENT = re.compile(r'\$_arg\("(\w+)"\)(?:\[\d+\])?(?:\.\w+)?((?:\[\d+\]|\.\w+)*)$')
"""A part of a buffer of the launch; what follows the first element or member may follow a pointer there."""
LARGEST = 64
"""The bytes of a vector, an array or a structure whose whole value is shown."""


@frozen
class DeclaredAt:
    """Where a variable is declared."""

    line: str
    """``k.cl:14``."""
    owner: str
    """The function."""

    def __str__(self) -> str:
        return f"{self.line} in {self.owner}" if "<" in self.owner else self.line


@frozen(eq=False)
class PastValue:
    """The values of an expression in the lanes of a wave, or of waves with equal ones, where a line begins."""

    time: int
    """The instructions that were executed before."""
    waves: tuple[str, ...]
    position: CodePosition | None
    """The line that has changed the values; None of what memory had that all lanes share, before a change."""
    values: Any
    """By lane, an array of numpy: numbers, or the texts of vectors, arrays and structures.

    Lanes that do not execute, and those without a value, are masked.
    """
    declarations: tuple[DeclaredAt, ...]
    """Where the variables are declared that the names mean there."""
    writers: Writers = ()
    """The waves, each with its lanes, that wrote to memory, where these are others."""

    @property
    def declared(self) -> str:
        """The declarations as text."""
        return ", ".join(map(str, self.declarations))


class BegunLines:
    """The lines that lanes of waves have begun."""

    def __init__(self) -> None:
        self._positions: list[CodePosition | None] = [None]
        """By number, where lines were begun."""
        self._numbers: dict[int, tuple[int, str]] = {}
        """By address, the number of the line that begins there, and ``k.cl:14``."""
        self._last: dict[int, Any] = {}
        """By wave, the number of the latest line of each lane; 0 if there is none."""
        self._begun: dict[tuple[int, str], Any] = {}
        """By wave and line, the lanes that have begun it."""

    def begin(self, wave: int, position: CodePosition, lanes: Any) -> None:
        """Take note that lanes of a wave begin a line."""
        known = self._numbers.get(position.address)
        if known is None:
            known = len(self._positions), _line_text(position.file, position.line)
            self._numbers[position.address] = known
            self._positions.append(position)
        number, line = known
        if (wave, line) not in self._begun:
            self._begun[wave, line] = np.zeros_like(lanes)
            self._last.setdefault(wave, np.zeros(len(lanes), np.intp))
        self._begun[wave, line] |= lanes
        self._last[wave][lanes] = number

    def begun(self, wave: int, line: str, lanes: int) -> Any:
        """Return flags of the lanes that have begun a line."""
        return self._begun.get((wave, line), np.zeros(lanes, bool))

    def of_lane(self, wave: int, lane: int) -> CodePosition | None:
        """Return the latest line of a lane."""
        return self._positions[self._last[wave][lane]] if wave in self._last else None

    def last(self, wave: int, position: CodePosition, lanes: int) -> Iterator[tuple[CodePosition, Any]]:
        """Yield the latest lines of a wave, or a position in place of none, each with flags of its lanes."""
        numbers = self._last.get(wave, np.zeros(lanes, np.intp))
        if (numbers == numbers[0]).all():
            yield self._positions[numbers[0]] or position, np.ones(lanes, bool)
            return
        places = [self._positions[number] or position for number in numbers.tolist()]
        keys = [(place.file, place.line) for place in places]
        for key in dict.fromkeys(keys):
            yield places[keys.index(key)], np.array([each == key for each in keys])


class ValueHistory:
    """Looks at an expression wherever a wave begins another line, and at stores to memory that lanes share."""

    _part: WatchedMemory | None = None
    together: tuple[ValueHistory, ...] = ()
    """This and the histories before it, if nobody else looks at instructions."""
    unseen_code: QuietCode | None = None
    """What compiled code may execute of the code that this and other histories look at."""
    stored_again: tuple[CodePosition, Writers] | None = None
    """The line of the latest store to shared memory and its lanes, if that has left a value as it was."""
    left = 0
    """How many rows were not kept."""
    _pc = 0
    """The address of the last instruction."""
    _unnamed = ""
    """What the first place says that lacks a name."""
    before: Any = None
    """Who was asked before each instruction, and still is."""

    def __init__(self, running: Running, text: str, wave: int | None = None, lane: int | None = None) -> None:
        self.text = text
        running.check_lane(wave, lane)
        self.wave, self.lane = wave, lane
        """The wave and the lane that are looked at; None for all."""
        self.rows: list[PastValue] = []
        self._running = running
        self._device = running.machine.device
        self._found = Discoveries(running.attached, self._device, number_in(text))
        self._places: dict[int, tuple[CodePosition, tuple[Any, ...] | None, bool, Any]] = {}
        """By address, the place, and what tells it from the line before; None in a prologue, which sets variables.

        And whether all variables have a location there, and their entries.
        """
        self._missed: set[int] = set()
        """The waves that have executed instructions since the last look at them."""
        self._unlocated: set[int] = set()
        """The waves that were last where that does not hold."""
        self._marks: dict[Meaning, tuple[Any, Any]] = {}
        """The lanes that had a value at the last look, and those changed by the last instruction with a location."""
        self._numbers: dict[tuple[Any, ...], int] = {}
        """The numbers of lines, from 1."""
        self._where, self._end = np.zeros((2, 0), np.int64)
        """By wave, the number of the line that it has begun last, and the address of its latest instruction there."""
        self._calls: dict[int, Any] = {}
        """By wave, the return addresses of the calls around that line."""
        self._lines = BegunLines()
        self._unknown: set[int] = set()
        """Where names of the expression mean nothing."""
        self._blank: dict[int, Any] = {}
        """By an address where a variable has no location, values that all lack."""
        self._seen: set[int] = set()
        """The addresses that were looked at, where the names mean something."""
        self._lacking: set[int] = set()
        """Those where a lane had no value."""
        self.lacking: Reason | None = None
        """Why the first lane without a value has none."""
        self.type: Type | None = None
        """The type of the expression; None as long as it is not known, and of integers, which are read as columns."""
        self._form: np.dtype[Any] | None = None
        """What the bytes of a vector, an array or a structure are."""
        self._latest: dict[Meaning, Any] = {}
        self._shared = SharedPlaces(self._device)
        self.access, self.access_of_waves = self._shared.note, self._shared.note_waves
        """What is told of accesses of lanes, and of whole waves."""
        self._views: dict[Meaning, Any] = {}
        """By wave and declaration, the keys of the places in shared memory that its lanes mean; 0 for no such place."""
        self._declared: dict[int, tuple[DeclaredAt, ...] | None] = {}
        """By address, where the variables are declared that the names mean there; None before a declaration."""
        self._stays: set[int] = set()
        """The addresses where all of these are at one place as long as they are in scope."""
        self._has_code: dict[str, bool] = {}
        """By its place, whether the line of a declaration has code, which sets the variable."""

    def start(self) -> None:
        """Be asked before each instruction of the machine."""
        from dwarfgpu.execution.forms.quiet_code import QuietCode

        self.before, self._device.observer = self._device.observer, self
        known = self.before.together if isinstance(self.before, ValueHistory) else ()
        if self.before is None or known:
            self.together = self, *known
            quiet = QuietCode(*self.together)
            for each in self.together:
                each.unseen_code = quiet
        self._part = self._watched()

    def end(self) -> None:
        """Look once more, and no more after that."""
        self._device.observer = self.before
        self.look()
        self.stop()

    def look(self) -> None:
        """Look at the waves that have not ended where they are now, which may be within a line."""
        self._see_stores()
        for batch, reason in self._device.every_batch():
            rows = [row for row, wave in enumerate(batch.waves.tolist()) if self.wave in (None, wave)]
            self._see_missed(batch)
            if rows and reason != HAS_ENDED and not self._running.reader.at(batch.pc).is_prologue:
                position = self._running.position(batch.pc)
                self._look_behind(batch, rows, position)
                self._look(batch, rows, position)

    def stop(self) -> None:
        """Look at no stores any more."""
        self._shared.stop()

    @property
    def problem(self) -> EvaluationError | None:
        """Why there is no value at all; None if there are some."""
        if self.rows:
            return None
        why = f": {reason}" if (reason := self.lacking or self._unnamed) else ""
        return EvaluationError("no_value", self._absent or f"{self.text[:60]} had no value where a line began{why}")

    @cached_property
    def _is_element(self) -> bool:
        """Whether it is at one place wherever waves are: a part of a buffer, to which no pointer in memory leads."""
        types = {buffer.name: buffer.pointed for buffer in self._running.launched.plan.buffers}
        match = ELEMENT.match(self.text)
        return match is not None and not (match[2] and _has_pointers(types.get(match[1])))

    @cached_property
    def _absent(self) -> str | None:
        """What is said of an element that its buffer does not have; None for any other expression."""
        return absent_element(self._running, re.sub(r'^\$_arg\("(\w+)"\)', r"\1", self.text))

    @property
    def declarations(self) -> list[str]:
        """Where the variables are declared that the names have meant: several if they are different ones."""
        return [*dict.fromkeys(row.declared for row in self.rows)]

    @property
    def gap(self) -> str | None:
        """Where values lack beside those that there are, and why; None if none do."""
        if self.lacking is None or not self.rows:
            return None
        places = f"{len(self._lacking)} of {len(self._seen)} places where a line began"
        return f"{self.text[:60]} had no value at {places} ({self.lacking}): the history is not complete"

    @property
    def lacks_last(self) -> dict[tuple[int, ...], list[str]]:
        """The lanes whose last value may be missing, each time with their waves."""
        found: dict[tuple[int, ...], list[str]] = {}
        for (wave, _declared), (_seen, lanes) in self._marks.items():
            if lanes.any():
                found.setdefault((*lanes.nonzero()[0].tolist(),), []).append(self._running.machine.ids[wave])
        return found

    def __call__(self, batch: WaveBatch) -> bool:
        """Look before an instruction at the waves that begin another line with it."""
        self._see_stores()
        if self.before is not None and self.before(batch):
            return True
        self._pc = batch.pc
        self._shared.batch = batch
        if self.compiled_part is not None:
            return False
        self._see_missed(batch)
        position, where, is_located, _means = self._place_at(batch.pc)
        if where is None:
            return False
        waves: list[int] = batch.waves.tolist()
        rows, are_new = self._rows(batch, where)
        begin: list[int] = rows[are_new].tolist()
        looked = [row for row in begin if self.wave in (None, waves[row])]
        if looked and self._is_element:
            if self.is_of_all and not self._seen:
                self._look(batch, [min(looked, key=waves.__getitem__)], position)  # all others mean the same
            self._part = self._watched()
            if self._part is not None:
                return False
        if looked:
            self._look_behind(batch, looked, position)
        if not is_located:
            own = (row for row in rows.tolist() if self.wave in (None, waves[row]))
            self._look_at_changes(batch, [row for row in own if waves[row] not in self._unlocated])
            self._unlocated.update(waves)
        elif self._unlocated:  # now: in optimized code the value may be gone when the next line begins
            new = (row for row in rows.tolist() if waves[row] in self._unlocated and self.wave in (None, waves[row]))
            looked = sorted({*looked, *new})
            self._unlocated.difference_update(waves)
        if looked:
            self._look(batch, looked, position, is_line=bool(begin))
        flags, calls = (executing(batch), batch.each_calls()) if begin else ([], [])
        self._where[batch.waves[begin]] = self._numbers[where]
        for row in begin:
            self._lines.begin(waves[row], position, flags[row])
            self._calls[waves[row]] = return_addresses(calls[row])
        self._end[batch.waves[rows]] = batch.pc
        return False

    def _rows(self, batch: WaveBatch, where: tuple[Any, ...] | None) -> tuple[Any, Any]:
        """Return the waves whose lines matter, by position, with flags of those that have not begun a line.

        Where others do not store to what one wave has, only that one matters.
        """
        lacking = self._device.machine.wave_count - len(self._where)
        if lacking > 0:
            self._where, self._end = (np.pad(each, (0, lacking)) for each in (self._where, self._end))
        is_of_one = self.wave is not None and not self.is_shared
        rows = np.flatnonzero(batch.waves == self.wave) if is_of_one else np.arange(batch.count)
        number = 0 if where is None else self._numbers.setdefault(where, len(self._numbers) + 1)
        return rows, self._where[batch.waves[rows]] != number

    def _place_at(self, pc: int) -> tuple[CodePosition, tuple[Any, ...] | None, bool, Any]:
        known = self._places.get(pc)
        if known is None:
            position = self._running.position(pc)
            is_set = position.line and not self._running.reader.at(pc).is_prologue
            place = (position.file, position.line, position.function) if is_set else None
            known = self._places[pc] = position, place, *self._meant_at(pc)
        return known

    # --- What compiled code does meanwhile ------------------------------------------------------------------------

    @property
    def quiet(self) -> QuietCode | None:
        """What compiled code executes meanwhile; None where stores are followed, or Python is as fast."""
        quiet = self.unseen_code
        if quiet is None or not quiet.pays or self.compiled_part is not None:
            return None
        return None if any(each.is_shared for each in self.together) else quiet

    def kind_of(self, address: int) -> Any:
        """Return the line of an instruction, and what the names of the expression mean there."""
        return self._place_at(address)[1:]

    def must_see(self, _address: int, instruction: GpuInstruction) -> bool:
        """Return whether an instruction leads to another function."""
        return instruction.name in CALLS or instruction.name in JUMPS

    def has_seen(self, batch: WaveBatch) -> bool:
        """Return whether waves are in the line that they were in at the last look."""
        _position, where, is_located, _means = self._place_at(batch.pc)
        if where is None:
            return True
        rows, are_new = self._rows(batch, where)
        waves: list[int] = batch.waves[rows].tolist()
        is_same = self._unlocated.isdisjoint(waves) if is_located else self._unlocated.issuperset(waves)
        return is_same and not are_new.any()

    def has_missed(self, batch: WaveBatch) -> None:
        """Take note that waves have executed instructions unseen."""
        self._missed.update(batch.waves[self._rows(batch, None)[0]].tolist())

    def _see_missed(self, batch: WaveBatch) -> None:
        """Take note of the last instruction of waves, if compiled code has executed it."""
        if not self._missed or self.unseen_code is None:
            return
        end, waves = self.unseen_code.before.get(batch.pc, batch.pc), self._missed.intersection(batch.waves.tolist())
        self._missed -= waves
        if self._place_at(end)[1] is not None:
            self._end[[*waves]] = end

    @property
    def compiled_part(self) -> WatchedMemory | None:
        """What compiled code does meanwhile: it refuses stores to the value; None where Python looks at each line."""
        is_of_all = self._part is not None and self._part.count == self._device.machine.wave_count
        return self._part if is_of_all else None

    def settle(self) -> bool:
        """Look at what the last instruction that Python has executed has stored."""
        if self.before is not None:
            self.before.settle()
        self._see_stores()
        return False

    def _watched(self) -> WatchedMemory | None:
        """Return the memory whose stores are all that changes the values of histories, if that is known."""
        from dwarfgpu.execution.forms.layout import WatchedRange
        from dwarfgpu.execution.forms.watched_forms import WatchedMemory

        watched = WatchedMemory(self._device.machine.wave_count)
        for each in self.together:
            if (places := each.places) is None:
                return None
            for place in places:
                watched.add(slice(None), WatchedRange.GLOBAL, *place)
        return watched if self.together else None

    @property
    def is_of_all(self) -> bool:
        """Whether all lanes of all waves are looked at."""
        return self.wave is None and self.lane is None

    @property
    def places(self) -> list[tuple[int, int]] | None:
        """The address and the size of the one place that all waves mean, or nothing if it is absent; else None."""
        if not self._is_element or self._device.memory.is_weak:
            return None
        found = [(key, place.value.nbytes) for key, place in self._shared.by_key.items() if key < IS_LOCAL]
        count = self._device.machine.wave_count if self.wave is None else 1
        is_seen = found and (self.is_of_all or len(self._views) == count) and self._has_lines_of_stores
        return found if is_seen or self._absent is not None else None

    @cached_property
    def _has_lines_of_stores(self) -> bool:
        """Whether each store of the code to memory that work-groups share has a line of its own."""
        running, device = self._running, self._device
        decode, plan = decoder(device.processor, device.lanes).decode, running.launched.plan
        for section in plan.file.image.code_sections:
            at, code = 0, plan.file.image.read(section.address, section.size)
            while at + 4 <= len(code):
                instruction = decode(code, at)
                action = action_of(instruction, device.generation)
                is_store = action.operation not in ("", LOAD) and action.space in (GLOBAL, GENERIC, SCALAR)
                if is_store and not running.position(plan.load_address + section.address + at).line:
                    return False
                at += instruction.size
        return True

    def _meant_at(self, pc: int) -> tuple[bool, tuple[Any, ...]]:
        """Return whether all variables of the expression have a location at an address, and their entries."""
        with suppress(DwarfGpuError):
            variables = self._running.variables_of(self.text, pc)
            return all(each.locations_here() for each in variables), tuple(each.die for each in variables)
        return False, ()

    def _look(self, batch: WaveBatch, rows: list[int], position: CodePosition, *, is_line: bool = True) -> None:
        if batch.pc in self._unknown:
            return
        declared = self._declared_at(batch)
        if declared is not None:
            self._seen |= {batch.pc} if is_line else set()
            for row, values, keys in self._values(batch, rows):
                self._keep(int(batch.waves[row]), position, values, keys, declared)

    def _look_behind(self, batch: WaveBatch, rows: list[int], position: CodePosition) -> None:
        """Look where the line before has ended at variables whose scope ended with it: they are where they were."""
        pc, here = batch.pc, self._declared_at(batch)
        for end, own in self._by_end(batch, rows).items():
            batch.pc = end
            declared = self._declared_at(batch)
            if not declared or declared == here or batch.pc not in self._stays:
                continue
            has_code = all(self._has_code.get(place.line) for place in declared)
            for row, values in self._values_behind(batch, own):
                wave = int(batch.waves[row])
                latest = self._latest.get((wave, declared))
                nothing = latest is None or np.ma.getmaskarray(latest)
                seen = np.ma.MaskedArray(values, self._unset(wave, declared, batch.lanes) if has_code else nothing)
                self._keep(wave, position, seen, np.zeros(batch.lanes, np.uint64), declared)
        batch.pc = pc

    def _look_at_changes(self, batch: WaveBatch, rows: list[int]) -> None:
        """Look where the value was until now: the last instruction may have set it, or may have taken its place."""
        pc = batch.pc
        for end, own in self._by_end(batch, rows).items():
            batch.pc = end
            declared = self._declared_at(batch)
            for row, values in self._values_behind(batch, own) if declared is not None else ():
                key = int(batch.waves[row]), declared or ()
                if key in self._marks:
                    seen, changed = self._marks[key]
                    self._marks[key] = seen, changed | seen & differ(self._latest[key].data, np.ma.getdata(values))
        batch.pc = pc

    def _by_end(self, batch: WaveBatch, rows: list[int]) -> dict[int, list[int]]:
        """Return waves that are still in the call of their last instruction, by its address."""
        ends: dict[int, list[int]] = {}
        for row in sorted(rows, key=lambda row: int(batch.waves[row])):
            wave = int(batch.waves[row])
            calls = self._calls.get(wave)
            if calls is not None and calls == return_addresses(batch.each_calls()[row]):
                ends.setdefault(int(self._end[wave]), []).append(row)
        return ends

    def _values_behind(self, batch: WaveBatch, rows: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield the values of variables in all lanes."""
        found = self._found.at(batch)
        with suppress(Unplaced):
            if found is not None:
                column = np.broadcast_to(found(batch), (batch.count, batch.lanes))
                yield from ((row, column[row]) for row in rows)
                return
        if self.text.isidentifier():
            yield from ((row, values) for row, values, _keys in self._values_of_frames(batch, rows))

    def _declared_at(self, batch: WaveBatch) -> tuple[DeclaredAt, ...] | None:
        return self._declared[batch.pc] if batch.pc in self._declared else self._declarations(batch)

    def _declarations(self, batch: WaveBatch) -> tuple[DeclaredAt, ...] | None:
        """Return where the variables are declared that the names mean for waves; None before a declaration."""
        self._device.written(batch)
        frame = frame_of(self._running.attached, Cohort([int(batch.waves[0])], batch.pc), 0)
        places: list[DeclaredAt] = []
        is_declared, is_everywhere, stays = True, True, True
        with suppress(DwarfGpuError):
            for variable in variables_in(frame, frame.expression(self.text).tree):
                place = declared_at(variable.code.file, variable.die)
                is_everywhere &= variable.frame is frame  # others depend on the caller
                stays &= not variable.is_listed
                if place is not None:
                    line = _line_text(place.file, place.line)
                    places.append(DeclaredAt(line, owner_of(variable) or ""))
                    location = variable.die.find("DW_AT_location")
                    is_fixed = location is not None and location.value_class == "exprloc"
                    if variable.kind == LOCAL and is_fixed and line not in self._has_code:
                        found = self._running.addresses(f"{place.file}:{place.line}")
                        self._has_code[line] = self._running.position(found[0]).line == place.line
                if variable.is_before_declaration:
                    self._unnamed = f"no line began behind the declaration of {variable.name} in its scope"
                    is_declared = False
        declared = tuple(places) if is_declared else None
        if is_everywhere:
            self._declared[batch.pc] = declared
            self._stays |= {batch.pc} if stays else set()
        return declared

    @property
    def is_shared(self) -> bool:
        """Whether the values are in memory that lanes share, whose stores are followed."""
        return bool(self._shared.by_key)

    @property
    def last_writer(self) -> tuple[int, int] | None:
        """The wave and the lane that stored last to the values in shared memory, perhaps what was there already."""
        return self._shared.last_writer

    @property
    def rivals(self) -> int:
        """How many waves have stored to one element at most: if several have, their order may decide its value."""
        return max(map(len, self._shared.storing.values()), default=0)

    @property
    def is_never_stored(self) -> bool:
        """Whether no lane has stored to the values, which are in a buffer of the launch."""
        return self.is_shared and self.last_writer is None and self.text.startswith("$_arg(")

    @property
    def sees_late(self) -> bool:
        """Whether stores may change the values later, when nobody knows any more who stored."""
        return self.is_shared and self._device.memory.is_weak

    @property
    def is_pointer(self) -> bool:
        """Whether the values are addresses."""
        return self.type is not None and isinstance(resolved(self.type), Pointer)

    @property
    def has_parts(self) -> bool:
        """Whether lanes have values of their own that are vectors, arrays or structures."""
        return self._form is not None and self.lane is None and not self.is_shared

    def _values(self, batch: WaveBatch, rows: list[int]) -> Iterator[tuple[int, Any, Any]]:
        """Yield the values in the lanes of some waves, a masked array for each, and their places in shared memory."""
        found, column = self._found.at(batch), None
        with suppress(Unplaced):
            column = None if found is None else np.broadcast_to(found(batch), (batch.count, batch.lanes))
        if column is None:
            yield from self._values_of_frames(batch, rows)
            return
        idle = ~executing(batch)
        for row in rows:
            yield row, np.ma.MaskedArray(column[row], idle[row]), np.zeros(batch.lanes, np.uint64)

    def _values_of_frames(self, batch: WaveBatch, rows: list[int]) -> Iterator[tuple[int, Any, Any]]:
        if batch.pc in self._blank:
            yield from ((row, self._blank[batch.pc], np.zeros(batch.lanes, np.uint64)) for row in rows)
            return
        machine = self._device.written(batch)
        row_of = {machine.ids[batch.waves[row]]: row for row in rows}
        try:
            waves = [int(batch.waves[row]) for row in rows]
            values = all_waves(self._running, self.text, waves=waves)
            _count, reason = next(values.missing(inactive=False, lane=self.lane), (0, None))
            if reason is not None:
                self._note(batch.pc, reason)
            self.type = self.type or values.type
            array = self._one_each(np.ma.asarray(values.array), values)
            keys = self._keys(values, array, batch.lanes)
            if reason is not None and reason.kind == NO_LOCATION_HERE and self.text.isidentifier():
                self._blank[batch.pc] = array[0]
            yield from ((row_of[name], array[at], keys[at]) for at, name in enumerate(values.names))
        except DwarfGpuError as error:
            if error.kind == "no_number":
                raise
            self._note(batch.pc, reason_of(error))
            self._unknown.add(batch.pc)

    def _one_each(self, array: Any, values: Values) -> Any:
        """Return one item for each lane: its number, or the bytes of a vector, an array or a structure."""
        if values.type is None or (array.dtype.kind in KINDS and array.ndim <= 2):
            return array
        form = np.dtype((array.dtype, array.shape[2:]))
        if form.hasobject or form.itemsize > LARGEST:
            kind = resolved(values.type)
            inner = (".x" if kind.is_vector else "[0]") if isinstance(kind, Array) else ".MEMBER"
            message = f"{self.text[:60]} is {values.type}, of more than {LARGEST} bytes"
            raise UsageError(message, kind="no_number", hint=f"name a part of it: `{self.text}{inner}`")
        self._form = form
        shape = array.shape[:2]
        data = np.ascontiguousarray(array.data).view(np.uint8).reshape(*shape, form.itemsize)
        lacks = np.ascontiguousarray(np.ma.getmaskarray(array)).view(bool).reshape(*shape, -1).any(axis=2)
        return np.ma.MaskedArray(data.view(f"V{form.itemsize}").reshape(shape), lacks)

    def _keys(self, values: Values, array: Any, lanes: int) -> Any:
        """Return the keys of places whose bytes are the numbers of an array; 0 for all others."""
        kind = None if values.type is None else resolved(values.type)
        is_whole = isinstance(kind, Array) or (kind is not None and array.itemsize == known_size(kind))
        if array.shape != (len(values.names), lanes) or not is_whole:
            return np.zeros((len(values.names), lanes), np.uint64)
        return self._shared.keys_of(values, lanes)

    def _note(self, pc: int, reason: Reason) -> None:
        """Remember why there is no value; a name that means nothing there only if no line has another reason."""
        if reason.kind in (NOT_IN_SCOPE, MISSING) or isinstance(reason.error, NotSetYet):
            self._unnamed = self._unnamed or reason.message
            self._seen.discard(pc)
        else:
            self.lacking = self.lacking or reason
            self._lacking.add(pc)

    def _keep(
        self, wave: int, position: CodePosition, values: Any, keys: Any, declared: tuple[DeclaredAt, ...]
    ) -> None:
        unset = self._unset(wave, declared, len(values))
        if unset.any():
            values = np.ma.MaskedArray(values, np.ma.getmaskarray(values) | unset)
        is_one = bool(keys.any()) and len({*keys[~np.ma.getmaskarray(values)].tolist()}) == 1
        if self.lane is not None:
            values = np.ma.MaskedArray(values, np.ma.getmaskarray(values) | (np.arange(len(values)) != self.lane))
        latest = self._latest.get((wave, declared))
        if latest is None or latest.dtype != values.dtype:
            latest = self._latest[wave, declared] = np.ma.MaskedArray(np.zeros_like(values.data), mask=True)
        has_value, is_first = ~np.ma.getmaskarray(values), self._see_places(wave, values, keys, declared, is_one=is_one)
        changed = has_value & (np.ma.getmaskarray(latest) | differ(latest.data, values.data))
        self._marks[wave, declared] = has_value, self._marks.get((wave, declared), (0, has_value))[1] & ~has_value
        if not changed.any():
            return
        latest[changed] = values[changed]
        for writer, lanes in self._lines.last(wave, position, len(values)):
            if changed[lanes].any():
                own = values.copy()
                own[~lanes & (not is_first)] = np.ma.masked
                self._add(wave, None if is_first else writer, own, declared)

    def _unset(self, wave: int, declared: tuple[DeclaredAt, ...], lanes: int) -> Any:
        """Return the lanes that have gone past a declaration without executing it."""
        unset = np.zeros(lanes, bool)
        for place in declared:
            if self._has_code.get(place.line):
                unset |= ~self._lines.begun(wave, place.line, lanes)
        return unset

    def _add(
        self, wave: int, writer: CodePosition | None, values: Any, declared: tuple[DeclaredAt, ...], by: Writers = ()
    ) -> None:
        if len(self.rows) == MOST:
            self.left += 1
        else:
            name = self._running.machine.ids[wave]
            shown = values if self._form is None else _texts(values, self._form)
            self.rows.append(PastValue(self._device.executed, (name,), writer, shown, declared, by))

    # --- Memory that lanes share ----------------------------------------------------------------------------------

    def _see_places(self, wave: int, values: Any, keys: Any, declared: tuple[DeclaredAt, ...], *, is_one: bool) -> bool:
        """Take note of the places that lanes mean now; what they had there is the latest value, whoever wrote it.

        Return whether all lanes share a place that nobody has seen before.
        """
        if not keys.any():
            return False
        latest, known = self._latest[wave, declared], self._shared.by_key
        view = self._views.setdefault((wave, declared), np.zeros_like(keys))
        has_value, was_first = ~np.ma.getmaskarray(values), False
        for key in {*view[has_value].tolist()} - {0}:
            latest[has_value & (view == key)] = known[key].value
        for key in {*keys[has_value].tolist()} - {0}:
            lanes = has_value & (keys == key)
            if key not in known:
                was_first = is_one
                self._shared.add(key, wave, values.data[lanes][0])
            elif is_one:
                latest[lanes & (view == 0)] = known[key].value
            known[key].value = values.data[lanes][0]
        view[has_value] = keys[has_value]
        return was_first

    def _see_stores(self) -> None:
        """Keep what the last instruction has changed: in the lanes that wrote, or else in those that mean the place."""
        rows: dict[tuple[Meaning, bool], tuple[Any, dict[str, list[int]]]] = {}
        position = None
        for key, writers, has_changed in self._shared.stores():
            named = _writers({self._running.machine.ids[wave]: lanes for wave, lanes in writers.items()})
            self.stored_again = None if has_changed else (self._line_of(writers), named)
            if not has_changed:
                continue
            value = self._shared.by_key[key].value
            position = position or self._line_of(writers)
            for wave, numbers in writers.items() if self.is_of_all and self._part is not None else ():
                self._views.setdefault((wave, ()), np.zeros(self._device.lanes, np.uint64))[numbers] = key
            own = {(wave, name): [lane for lane in writers.get(wave, ()) if view[lane] == key]
                   for (wave, name), view in self._views.items()}  # fmt: skip
            is_own = any(own.values())
            *overwritten, last = writers
            is_last = is_own and any(lanes for (wave, _declared), lanes in own.items() if wave == last)
            for means, view in self._views.items():
                lanes = own[means] if is_own else (view == key).nonzero()[0].tolist()
                if not lanes or (is_last and means[0] != last):  # what others stored at once was not seen
                    continue
                blank = np.ma.MaskedArray(np.zeros(len(view), value.dtype), mask=True)
                row, others = rows.setdefault((means, is_own), (blank, {}))
                row[lanes] = value
                for wave, numbers in () if is_own and not overwritten else writers.items():
                    others.setdefault(self._running.machine.ids[wave], []).extend(numbers)
        for ((wave, declared), _is_own), (row, others) in rows.items():
            self._add(wave, position, row, declared, _writers(others))

    def _line_of(self, writers: dict[int, list[int]]) -> CodePosition:
        """Return the line of the last instruction; in a function without lines, the one that its lanes have begun."""
        position = self._running.position(self._pc)
        wave, (lane, *_others) = next(iter(writers.items()))
        return position if position.line else self._lines.of_lane(wave, lane) or position


def _has_pointers(type_: Type | None) -> bool:
    kind = None if type_ is None else resolved(type_)
    if isinstance(kind, Struct):
        return any(_has_pointers(member.type) for member in kind.body.members)
    return _has_pointers(kind.element) if isinstance(kind, Array) else isinstance(kind, Pointer)


def _writers(lanes: dict[str, list[int]]) -> Writers:
    return tuple((name, tuple(sorted({*numbers}))) for name, numbers in lanes.items())


def _texts(values: Any, form: np.dtype[Any]) -> Any:
    """Return the bytes of lanes as texts."""
    texts = [None if each is None else _whole_text(np.frombuffer(each, form)[0]) for each in values.tolist()]
    return np.ma.MaskedArray(np.array(texts, object), np.ma.getmaskarray(values))


def _whole_text(value: Any) -> str:
    """Return ``{1, 2.5}`` or ``{x = 1, y = 2.5}``."""
    if isinstance(value, np.void):
        parts = [f"{name} = {_whole_text(value[name])}" for name in value.dtype.names or ()]
    elif isinstance(value, np.ndarray):
        parts = [_whole_text(each) for each in value]
    else:
        return f"{value:g}" if isinstance(value, np.floating) else str(value)
    return f"{{{', '.join(parts)}}}"


def _line_text(file: str | None, line: int | None) -> str:
    return f"{PurePath(file or '').name}:{line}"


def csv_of(rows: Sequence[PastValue]) -> bytes:
    """Return a history as a table with a line for each value."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("time", "wave", "file", "line", "function", "lane", "value", "declared"))
    for row in rows:
        place = row.position
        first = row.time, *row.waves, *((place.file, place.line, place.function) if place else (None, None, None))
        values = [(lane, value) for lane, value in enumerate(row.values.tolist()) if value is not None]
        lines.writerows((*first, *value, row.declared) for value in values)
    return text.getvalue().encode()


def npz_of(rows: Sequence[PastValue]) -> bytes:
    """Return a history as arrays of numpy, in one file."""
    stream, values = io.BytesIO(), [row.values for row in rows]
    array = np.ma.stack(values) if values else np.ma.masked_array(np.zeros((0, 0)))
    np.savez_compressed(
        stream,
        time=np.array([row.time for row in rows], np.int64),
        wave=np.array([*chain.from_iterable(row.waves for row in rows)], np.str_),
        source=np.array([(row.position and row.position.file) or "" for row in rows], np.str_),
        line=np.array([row.position.line if row.position else 0 for row in rows], np.int64),
        declared=np.array([row.declared for row in rows], np.str_),
        value=array.data.astype(np.str_) if array.dtype.kind == "O" else array.data,
        has_value=~np.ma.getmaskarray(array),
    )
    return stream.getvalue()


def differ(old: Any, new: Any) -> Any:
    """Return where values are others; one NaN is as good as another."""
    are_others = old != new
    return are_others & ((old == old) | (new == new)) if new.dtype.kind == "f" else are_others  # noqa: PLR0124 (NaN)
