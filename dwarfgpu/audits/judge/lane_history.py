"""What a debugger would show of one lane, statement by statement, and which of it is known to be wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.audits.judge.comparison import MISSING, ComparedValue, StopNumber
from dwarfgpu.audits.judge.comparison import WRONG as DIFFERENT
from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.statement_record import DeclarationKey, key_of
from dwarfgpu.audits.judge.statements import CodeLines
from dwarfgpu.audits.judge.variable_values import is_in_prologue, is_read_reference
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.halts import uninterrupted
from dwarfgpu.expr.storages import Composite, Memory, Register
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.answers import LaneAnswer, answer
from dwarfgpu.program.frames.variable import STATIC, Variable

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.judgement import Judge
    from dwarfgpu.audits.judge.sightings import Sighting
    from dwarfgpu.audits.judge.source_statements import SourceStatements
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running

MAX_STEPS = 600
"""The statements of a lane that are kept."""
MAX_VARIABLES = 200
WRONG, NO_VALUE, LACKING = "wrong", "none", "missing"
"""The kinds of what is wrong, of what has no value, and of what has none while the source needs it."""


@frozen
class LaneStep:
    """A statement at which a lane was about to begin."""

    pc: int
    function: str
    file: str
    line: int
    depth: int
    """Of calls; 0 is the kernel."""
    frames: str
    """What there is of call frames: ``right``, ``wrong`` or ``missing``."""
    problem: str = ""
    """What is to be said of a step to it."""


@frozen
class ShownValue:
    """What a debugger shows of a variable in the lane."""

    kind: str
    """``register``, ``memory``, ``composite``, ``implicit``, ``constant``, ``none``, ``missing`` or ``wrong``."""
    text: str
    """The value, or why there is none."""
    meant: str = ""
    """What it was before something else than a statement that names it changed it."""
    other: str = ""
    """What it is in another build; empty where that is not known."""
    part: str = ""
    """The part of it that is something else in the other build, by its path."""
    is_value: bool = True
    """Whether the text is a value, and not why there is none."""
    is_compared: bool = False
    """Whether it was compared with another build."""


@frozen
class LaneHistory:
    """The statements of a lane in the order of time, and for each variable what it was where it is in scope."""

    wave: str
    lane: int
    steps: tuple[LaneStep, ...]
    variables: dict[tuple[str, str, int], dict[int, ShownValue]]
    """By function, name and entry; the numbers are those of steps."""
    left_out: int
    """How many statements more there were."""


class LaneRecorder:
    """Follows one lane of a kernel that runs, and reads its variables where statements begin."""

    def __init__(
        self,
        running: Running,
        judge: Judge,
        wave: str,
        lane: int,
        texts: SourceStatements,
        value_text: Callable[[LaneAnswer], str],
    ) -> None:
        self.running = running
        self._judge = judge
        """Has judged the same launch before."""
        self._name, self._lane = wave, lane
        self._wave: int | None = None
        """The number of the wave in the machine, while it is there."""
        self._round = -1
        self._texts = texts
        self._value_text = value_text
        self._wrong: dict[int, list[tuple[str, str]]] = {}
        """By instruction the variables that change where nothing assigns them, with the messages."""
        for subject, pc, sighting in judge.sightings.of_part("value"):
            if subject.rule.name == "value-changed":
                self._wrong.setdefault(pc, []).append((subject.name, sighting.message))
        self._steps_wrong = {
            pc: sighting.message
            for subject, pc, sighting in judge.sightings.of_part("statement")
            if subject.rule.name == "statement-back"
        }
        self._followed = FollowedRun(running, self._observe, self._end_call)
        self._lines = CodeLines(running, judge.sightings)
        self._steps: list[LaneStep] = []
        self._variables: dict[tuple[str, str, int], dict[int, ShownValue]] = {}
        self._good: dict[tuple[int, tuple[str, str, int]], str] = {}
        """The last value of each variable that was right, by call."""
        self._bad: dict[tuple[int, tuple[str, str, int]], tuple[str, str]] = {}
        """The variables that are wrong now: why, and where they were when they became so."""
        self._passed: list[tuple[str, str]] = []
        self._compared: dict[StopNumber, dict[DeclarationKey, ComparedValue]] = {}
        """What comparing the lane with another build has shown."""
        if judge.comparison is not None and judge.recorder is not None:
            item = judge.recorder.history.item_of(wave, lane)
            self._compared = {} if item is None else judge.comparison.of_item(item)
        self._arrivals: dict[int, int] = {}
        """How often the lane has come to each statement."""
        self._left_out = 0

    def run(self, limit: int | None) -> LaneHistory:
        """Run the kernel until the wave has ended."""
        uninterrupted(self._followed.run(limit))
        return LaneHistory(self._name, self._lane, tuple(self._steps), self._variables, self._left_out)

    def _end_call(self, call: Any, batch: WaveBatch, rows: Any) -> None:
        if self._wave in batch.waves[rows]:
            for known in (self._good, self._bad):
                for key in [key for key in known if key[0] == call.number]:
                    del known[key]

    def _observe(self, batch: WaveBatch, arrivals: list[InstructionVisit], *_others: Any) -> None:
        machine = self.running.machine
        if machine.device.rounds != self._round:
            self._round = machine.device.rounds
            self._wave = machine.ids.index(self._name) if self._name in machine.ids else None
        if self._wave is None or not int(self._followed.lanes.active[self._wave]) >> self._lane & 1:
            return
        if self._wave in batch.waves.tolist():
            self._arrive(batch, self._wave, arrivals)

    def _arrive(self, batch: WaveBatch, wave: int, arrivals: list[InstructionVisit]) -> None:
        self._passed += self._wrong.get(batch.pc, ())
        line = self._lines[batch.pc]
        if not line.is_start:
            return
        arrival = self._arrivals.get(batch.pc, 0)
        self._arrivals[batch.pc] = arrival + 1
        compared = self._compared.get((batch.pc, arrival), {})
        if len(self._steps) >= MAX_STEPS:
            self._left_out += 1
            return
        call = next((each.call for each in arrivals if wave in batch.waves[each.rows]), None)
        number = 0 if call is None else call.number
        counts = self._judge.sightings.counts(batch.pc)
        frames = "wrong" if batch.pc in counts.wrong else "missing" if batch.pc in counts.missing else "right"
        depth = 0 if call is None else call.depth
        name = self._judge.sightings.function(batch.pc)[0]
        before = self._steps[-1] if self._steps else None
        index = len(self._steps)
        self._steps.append(
            LaneStep(batch.pc, name, line.file, line.line, depth, frames, self._steps_wrong.get(batch.pc, ""))
        )
        self._followed.registers.show(batch)
        inlined = self._followed.stopped.stack(wave).call(0)
        can_fail = not is_in_prologue(self.running, inlined[-1], batch.pc)
        for frame in inlined:
            for variable in frame.variables():
                if variable.kind != STATIC and not variable.is_artificial:
                    key = frame.name or name, variable.name, variable.die.offset
                    if key in self._variables or len(self._variables) < MAX_VARIABLES:
                        shown = self._shown(number, key, variable, before)
                        if shown.kind == WRONG and not shown.is_value and not can_fail:
                            shown = evolve(shown, kind=NO_VALUE)
                        if compared and frame is inlined[0]:
                            shown = _beside(shown, compared.get(key_of(variable)))
                        self._variables.setdefault(key, {})[index] = shown
        self._passed = []

    def _shown(self, call: int, key: tuple[str, str, int], variable: Variable, before: LaneStep | None) -> ShownValue:
        """Return what a debugger shows of a variable, and whether that is right."""
        try:
            values = answer(variable, variable.name, [self._lane])
            lane_answer = values.by_lane[0]
        except DwarfGpuError as error:
            return ShownValue(WRONG, error.message, is_value=False)
        known = call, key
        if lane_answer.value is None:
            self._bad.pop(known, None)
            reason = lane_answer.reason
            message = "" if reason is None else reason.message
            is_wrong = reason is not None and reason.state == "error" and not is_read_reference(variable, self._lane)
            return ShownValue(WRONG if is_wrong else NO_VALUE, message, is_value=False)
        text = self._value_text(lane_answer)
        kind, place = _place_of(lane_answer)
        for name, message in self._passed:
            if name == variable.name:
                self._bad[known] = message, place
        if known in self._bad and (self._bad[known][1] != place or self._is_named(variable.name, before)):
            del self._bad[known]
        if known in self._bad:
            return ShownValue(WRONG, f"{text} ({self._bad[known][0]})", self._good.get(known, ""))
        self._good[known] = text
        return ShownValue(kind, text)

    def _is_named(self, name: str, before: LaneStep | None) -> bool:
        """Return whether the statement before names a variable, and may have given it a value."""
        text = None if before is None else self._texts.text_of(before.file, before.line)
        return text is not None and re.search(rf"\b{re.escape(name)}\b", text) is not None


def _place_of(lane_answer: LaneAnswer) -> tuple[str, str]:
    """Return the kind of a location, and a text that is the same as long as the location is."""
    location = lane_answer.location
    if location is None:
        return "constant", ""
    place = location.single
    storage: Any = None if place is None else place.storage
    kinds: Iterable[tuple[type, str]] = ((Register, "register"), (Memory, "memory"), (Composite, "composite"))
    kind = next((name for known, name in kinds if isinstance(storage, known)), "implicit")
    return kind, repr(location)


def _beside(shown: ShownValue, compared: ComparedValue | None) -> ShownValue:
    """Return what is shown of a variable with what it is in another build."""
    if compared is None:
        return shown
    if compared.result == MISSING:
        kind = shown.kind if shown.kind == WRONG else LACKING
        return evolve(shown, kind=kind, text=compared.value, other=compared.other, is_value=False, is_compared=True)
    if compared.result == DIFFERENT:
        return ShownValue(WRONG, compared.value, shown.meant, compared.other, compared.path, is_compared=True)
    return evolve(shown, is_compared=True)


def chosen_lane(judge: Judge) -> tuple[str, int]:
    """Return the wave and the lane that show most: those of the first wrong value, else the first of the first wave.

    With another build they are those of a work-item that is compared, if there is one.
    """
    stops = () if judge.recorder is None else judge.recorder.history.stops
    compared = {stop.wave for stop in stops}
    seen: list[Sighting] = []
    for rules in (("against-wrong",), ("value-failed", "value-changed"), ("against-missing",)):
        seen += judge.sightings.of_rules(*rules)
    for part in ("statement", "unwind"):
        seen += [sighting for _subject, _pc, sighting in judge.sightings.of_part(part)]
    places = [(sighting.wave, sighting.lane) for sighting in seen if sighting.lane is not None]
    places = [place for place in places if place[0] in compared] or places
    return places[0] if places else (judge.first_wave, 0)
