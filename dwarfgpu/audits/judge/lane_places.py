"""What the file says of lanes, judged by execution: which are active, and where the others wait.

A lane that is not active waits between the instruction that it executed last and the one that it executes next. Where
the file says it is must be one of them, or on the source line of one. Which instruction is next shows later, so what
is said is kept until the lane goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject, active_limit, places_limit
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.frames.lane_state import LanePc, Simt

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit, RecordedCall
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.execution.batch import WaveBatch

RULES: dict[str, CheckRule] = rules(
    "lane",
    ("missing", WARNING, "A.3.3.5 (5)", "A function in which lanes wait says where they are.",
     "write DW_AT_LLVM_lane_pc for the function"),
    ("failed", ERROR, "A.3.3.5 (5)", "The places and the mask of lanes can be evaluated where code is executed.",
     "correct the expression for the addresses that are named"),
    ("active", ERROR, "A.3.3.5 (6)", "The active lanes are those that execute the source.",
     "write DW_AT_LLVM_active_lane where EXEC is changed for other purposes than the control flow of the source"),
    ("place", ERROR, "A.3.3.5 (5)", "A lane that waits is where it stopped, or where it goes on.",
     "correct the place of the lane in the region of the code that is named"),
    ("entered", ERROR, "A.3.3.5 (5)", "A lane has a place in a function exactly if it was active when this was called.",
     "write the undefined location description for lanes that were not active at the call, and for no other"),
)  # fmt: skip

MAX_WAITING = 4096
"""What is said of the waiting lanes of a wave, as long as it cannot be judged."""


class LaneJudge:
    """Judges what the functions of a file say of lanes."""

    def __init__(self, run: FollowedRun, sightings: Sightings) -> None:
        self.run = run
        self.running = run.running
        self.sightings = sightings
        self._waiting: dict[int, dict[tuple[int, int, int, int], tuple[int, int]]] = {}
        """For each wave what is said of waiting lanes: by call, instruction, place and last instruction the mask of the
        lanes and the visit."""

    def observe(self, batch: WaveBatch, going_on: Any) -> None:
        """Judge what was said of lanes that go on now; these are masks."""
        if self._waiting and going_on.any():
            for row in np.nonzero(going_on)[0].tolist():
                self._go_on(int(batch.waves[row]), int(going_on[row]), batch.pc)

    def end(self, waves: Iterable[int]) -> None:
        """Take notice of waves that end: where their waiting lanes would have gone on is not known."""
        for wave in waves:
            self._waiting.pop(wave, None)

    def leave(self, call: RecordedCall, waves: Iterable[int]) -> None:
        """Forget what is said of lanes in a call that ends."""
        for wave in waves:
            said = self._waiting.get(wave)
            for key in [key for key in said or () if key[0] == call.number]:
                del self._waiting[wave][key]

    def judge(self, arrival: InstructionVisit, row: int) -> None:
        """Judge what is said of the lanes of one wave."""
        wave, call = arrival.wave(row), arrival.call
        frame = self.run.stopped.stack(wave).top
        if frame.code is None or frame.function is None:
            return
        entered = int(self.run.lanes.entered[wave])
        if call is not None:
            mask = call.start.exec
            entered = int(mask) if isinstance(mask, int) else int(mask[call.rows[wave], 0])
        active = int(self.run.lanes.active[wave]) & entered
        simt = Simt(frame)
        try:
            self._judge_active(arrival, row, simt, active)
            if not simt.says_places:
                if active != entered:
                    count = (active ^ entered).bit_count()
                    waiting = f"{'1 lane waits' if count == 1 else f'{count} lanes wait'}, and nothing says where"
                    limit = self.sightings.limit(places_limit, arrival.pc)
                    self._see("missing", "places", arrival, row, waiting, active ^ entered, limit)
                return
            places = simt.lane_pcs()
        except DwarfGpuError as error:
            self._see("failed", "lanes", arrival, row, error.message)
            return
        self._judge_places(arrival, row, places, active, entered)

    def _see(
        self,
        rule: str,
        name: str,
        arrival: InstructionVisit,
        row: int,
        message: str,
        lanes: int = 0,
        limit: str | None = None,
    ) -> None:
        self.sightings.see(RULES[rule], name, arrival, row, message, lanes=lanes, limit=limit)

    def _judge_active(self, arrival: InstructionVisit, row: int, simt: Simt, active: int) -> None:
        said: Any = simt.active_mask()
        if said == active:
            return
        if simt.find("DW_AT_LLVM_active_lane") is None:
            message = f"EXEC is {said:#x} for a while, and {active:#x} execute the source, which nothing says"
            limit = self.sightings.limit(active_limit, arrival.pc)
            self._see("active", "EXEC", arrival, row, message, said ^ active, limit)
            return
        message = f"DW_AT_LLVM_active_lane is {said:#x}, and {active:#x} execute the source"
        self._see("active", "mask", arrival, row, message, said ^ active)

    def _judge_places(
        self, arrival: InstructionVisit, row: int, places: tuple[LanePc, ...], active: int, entered: int
    ) -> None:
        wave = arrival.wave(row)
        last = self.run.lanes.last[wave].tolist()
        for lane, place in enumerate(places):
            flag = 1 << lane
            if place.error is not None:
                self._see("failed", "lanes", arrival, row, place.error.message, flag)
            elif bool(entered & flag) != (place.pc is not None):
                what = "was active at the call and has no place" if entered & flag else "was not active at the call"
                name = "entered" if entered & flag else "outside"
                self._see("entered", name, arrival, row, f"lane {lane} {what}", flag)
            elif active & flag:
                if place.pc != arrival.pc:
                    message = f"lane {lane} executes this instruction, but is placed at {self._name(place.pc)}"
                    self._see("place", "active", arrival, row, message, flag)
            elif entered & flag and not self._is_near(place.pc, last[lane]):
                said = self._waiting.setdefault(wave, {})
                key = arrival.number, arrival.pc, place.pc or 0, last[lane]
                if key in said or len(said) < MAX_WAITING:
                    said[key] = said.get(key, (0, 0))[0] | flag, arrival.visits

    def _go_on(self, wave: int, lanes: int, pc: int) -> None:
        """Judge what was said of lanes while they waited, now that they go on."""
        said = self._waiting.get(wave)
        if not said:
            return
        for key, (mask, visits) in list(said.items()):
            judged = mask & lanes
            if not judged:
                continue
            _call, where, place, last = key
            if not self._is_near(place, pc):
                lane = first_lane(judged)
                message = f"lane {lane} is placed at {self._name(place)}, but waits between {self._name(last)} and "
                sighting = Sighting(message + self._name(pc), self.running.machine.ids[wave], lane, visits, judged)
                self.sightings.add(Subject(RULES["place"], f"{place:#x}"), where, sighting)
            if mask == judged:
                del said[key]
            else:
                said[key] = mask ^ judged, visits

    def _is_near(self, place: int | None, other: int) -> bool:
        """Return whether two addresses are the same, or in the same function on the same line of the source."""
        if place is None or not other:
            return False
        if place == other:
            return True
        first, second = self.running.line_at(place), self.running.line_at(other)
        if first is None or second is None or not first.line or first.line != second.line:
            return False
        return (
            first.file.name == second.file.name
            and self.sightings.function(place)[0] == self.sightings.function(other)[0]
        )

    def _name(self, pc: int | None) -> str:
        if not pc:
            return "no place"
        function, offset = self.sightings.function(pc)
        line = self.running.line_at(pc)
        return f"{function}+{offset:#x}" + (f" (line {line.line})" if line is not None and line.line else "")
