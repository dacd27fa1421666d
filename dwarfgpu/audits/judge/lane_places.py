"""What the file says of lanes, judged by execution: which are active, and whether it says where the others wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.sightings import Sightings, active_limit, places_limit
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.frames.lane_state import Simt

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun

RULES: dict[str, CheckRule] = rules(
    "lane",
    ("missing", WARNING, "A.3.3.5 (5)", "A function in which lanes wait says where they are.",
     "write DW_AT_LLVM_lane_pc for the function"),
    ("failed", ERROR, "A.3.3.5 (5)", "The places and the mask of lanes can be evaluated where code is executed.",
     "correct the expression for the addresses that are named"),
    ("active", ERROR, "A.3.3.5 (6)", "The active lanes are those that execute the source.",
     "write DW_AT_LLVM_active_lane where EXEC is changed for other purposes than the control flow of the source"),
)  # fmt: skip


class LaneJudge:
    """Judges what the functions of a file say of lanes."""

    def __init__(self, run: FollowedRun, sightings: Sightings) -> None:
        self.run = run
        self.sightings = sightings

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
                    limit, lanes = self.sightings.limit(places_limit, arrival.pc), active ^ entered
                    self.sightings.see(RULES["missing"], "places", arrival, row, waiting, lanes=lanes, limit=limit)
                return
            places = simt.lane_pcs()
        except DwarfGpuError as error:
            self.sightings.see(RULES["failed"], "lanes", arrival, row, error.message)
            return
        for lane, place in enumerate(places):
            if place.error is not None:
                self.sightings.see(RULES["failed"], "lanes", arrival, row, place.error.message, lanes=1 << lane)

    def _judge_active(self, arrival: InstructionVisit, row: int, simt: Simt, active: int) -> None:
        said: Any = simt.active_mask()
        if said == active:
            return
        name, message = "mask", f"DW_AT_LLVM_active_lane is {said:#x}, and {active:#x} execute the source"
        limit = None
        if simt.find("DW_AT_LLVM_active_lane") is None:
            name, limit = "EXEC", self.sightings.limit(active_limit, arrival.pc)
            message = f"EXEC is {said:#x} for a while, and {active:#x} execute the source, which nothing says"
        self.sightings.see(RULES["active"], name, arrival, row, message, lanes=said ^ active, limit=limit)
