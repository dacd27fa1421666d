"""What the file says of lanes, judged by execution: which are active, and where the others wait.

A lane that is not active waits between the instruction that it executed last and the one that it executes next. Where
the file says it is must be one of them, or on the source line of one. Which instruction is next shows later, so what
is said is kept until the lane goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.sightings import Sighting, Subject
from dwarfgpu.audits.verify.findings import ERROR, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.frames.lane_state import Simt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.audits.judge.call_record import RecordedCall
    from dwarfgpu.audits.judge.sightings import Sightings
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.program.frames.lane_state import LanePc
    from dwarfgpu.states.stopped import Stopped

RULES: dict[str, CheckRule] = rules(
    "lane",
    ("missing", WARNING, "A.3.3.5 (5)", "A function in which lanes wait says where they are.",
     "write DW_AT_LLVM_lane_pc for the function"),
    ("failed", ERROR, "A.3.3.5 (5)", "What is said of lanes can be evaluated where code is executed.",
     "correct the expression for the addresses that are named"),
    ("active", ERROR, "A.3.3.5 (6)", "The active lanes are those that execute the source.",
     "write DW_AT_LLVM_active_lane where EXEC is changed for other purposes than the control flow of the source"),
    ("place", ERROR, "A.3.3.5 (5)", "A lane that waits is where it stopped, or where it goes on.",
     "correct the place of the lane in the region of the code that is named"),
    ("entered", ERROR, "A.3.3.5 (5)", "A lane has a place in a function exactly if it was active when this was called.",
     "write the undefined location description for lanes that were not active at the call, and for no other"),
)  # fmt: skip

_WHOLE = ("s_or_saveexec_b64", "s_or_saveexec_b32", "s_xor_saveexec_b64", "s_xor_saveexec_b32", "s_mov_b64",
          "s_mov_b32", "s_or_saveexec", "s_orn2_saveexec_b64")  # fmt: skip
"""Instructions with which code makes all lanes active, or those that were not, if the constant -1 is their source."""
MAX_WAITING = 4096
"""What is said of the waiting lanes of a wave, as long as it cannot be judged."""


class LaneRecord:
    """Which lanes of each wave execute the source, and where each did last."""

    def __init__(self, running: Running) -> None:
        self.machine = running.machine
        self.lanes = running.machine.target.lane_count
        self._resize()

    def _resize(self) -> None:
        count = self.machine.wave_count
        self.active = np.zeros(count, np.uint64)
        """The lanes that execute the source: those of EXEC, but for code that the compiler has for a whole wave."""
        self.entered = np.zeros(count, np.uint64)
        """The lanes that were active when the kernel began."""
        self.last = np.zeros((count, self.lanes), np.uint64)
        """The instruction that each lane executed last."""
        self._exec = np.zeros(count, np.uint64)
        self._is_whole = np.zeros(count, bool)
        self._becomes_whole = np.zeros(count, bool)

    def observe(self, batch: WaveBatch, instruction: GpuInstruction) -> Any:
        """Take notice of waves that are about to execute an instruction; return which lanes go on, as masks."""
        if len(self.active) != self.machine.wave_count:
            self._resize()
        waves = batch.waves
        masks = _masks(batch)
        before = self.active[waves]
        new = self.entered[waves] == 0
        if new.any():
            self.entered[waves[new]] = masks[new]
        becomes = self._becomes_whole[waves]
        changed = (masks != self._exec[waves]) & ~becomes
        self._is_whole[waves] = (self._is_whole[waves] & ~changed) | becomes
        active = np.where(self._is_whole[waves], before, masks)
        self.active[waves] = active
        self._exec[waves] = masks
        self._becomes_whole[waves] = _makes_whole(instruction)
        flags = np.unpackbits(active.view(np.uint8).reshape(len(waves), 8), axis=1, bitorder="little")
        flags = flags[:, : self.lanes].astype(bool)
        self.last[waves] = np.where(flags, np.uint64(batch.pc), self.last[waves])
        return active & ~before

    def end(self, batch: WaveBatch) -> None:
        """Forget waves that end."""
        waves = batch.waves
        self.active[waves] = self.entered[waves] = self._exec[waves] = 0
        self._is_whole[waves] = self._becomes_whole[waves] = False
        self.last[waves] = 0


def _masks(batch: WaveBatch) -> Any:
    value = batch.exec
    return np.full(batch.count, value, np.uint64) if isinstance(value, int) else value[:, 0].astype(np.uint64)


def _makes_whole(instruction: GpuInstruction) -> bool:
    """Return whether an instruction makes lanes active that the control flow of the source does not."""
    if instruction.name not in _WHOLE:
        return False
    source = instruction.sources[0] if instruction.sources else None
    if source is None or source.kind not in (OperandKind.CONSTANT, OperandKind.LITERAL):
        return False
    if source.value not in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF):
        return False
    return "saveexec" in instruction.name or any(
        operand.register.startswith("exec") for operand in instruction.destinations
    )


class LaneJudge:
    """Judges what the functions of a file say of lanes."""

    def __init__(self, running: Running, sightings: Sightings, stopped: Stopped) -> None:
        self.running = running
        self.sightings = sightings
        self.stopped = stopped
        self.record = LaneRecord(running)
        self._waiting: dict[int, dict[tuple[int, int, int, int], tuple[int, int]]] = {}
        """For each wave what is said of waiting lanes: by call, instruction, place and last instruction the mask of the
        lanes and the visit."""

    def observe(self, batch: WaveBatch, instruction: GpuInstruction) -> None:
        """Take notice of a batch that is about to execute an instruction; it is judged if the visit is one of those."""
        going_on = self.record.observe(batch, instruction)
        if self._waiting and going_on.any():
            for row in np.nonzero(going_on)[0].tolist():
                self._go_on(int(batch.waves[row]), int(going_on[row]), batch.pc)

    def end(self, batch: WaveBatch) -> None:
        """Take notice of waves that end: where their waiting lanes would have gone on is not known."""
        for wave in batch.waves.tolist():
            self._waiting.pop(wave, None)
        self.record.end(batch)

    def leave(self, call: RecordedCall, waves: Iterable[int]) -> None:
        """Forget what is said of lanes in a call that ends."""
        for wave in waves:
            said = self._waiting.get(wave)
            for key in [key for key in said or () if key[0] == call.number]:
                del self._waiting[wave][key]

    def judge(self, batch: WaveBatch, call: RecordedCall | None, row: int, visits: int) -> None:
        """Judge what is said of the lanes of one wave."""
        wave = int(batch.waves[row])
        frame = self.stopped.stack(wave).top
        if frame.code is None or frame.function is None:
            return
        entered = int(self.record.entered[wave])
        if call is not None:
            mask = call.start.exec
            start = call.rows[wave]
            entered = int(mask) if isinstance(mask, int) else int(mask[start, 0])
        active = int(self.record.active[wave]) & entered
        simt = Simt(frame)
        try:
            self._judge_active(batch, row, simt, active, visits)
            if not simt.says_places:
                if active != entered:
                    count = (active ^ entered).bit_count()
                    waiting = f"{'1 lane waits' if count == 1 else f'{count} lanes wait'}, and nothing says where"
                    self._see("missing", "places", batch, row, waiting, visits, active ^ entered)
                return
            places = simt.lane_pcs()
        except DwarfGpuError as error:
            self._see("failed", "lanes", batch, row, error.message, visits)
            return
        self._judge_places(batch, call, row, places, active, entered, visits)

    def _see(self, rule: str, name: str, batch: WaveBatch, row: int, message: str, visits: int, lanes: int = 0) -> None:
        lane = first_lane(lanes) if lanes else None
        self._add(rule, name, batch.pc, int(batch.waves[row]), message, visits, lane)

    def _add(self, rule: str, name: str, pc: int, wave: int, message: str, visits: int, lane: int | None) -> None:
        sighting = Sighting(message, self.running.machine.ids[wave], lane, visits)
        self.sightings.add(Subject(RULES[rule], name), pc, sighting)

    def _judge_active(self, batch: WaveBatch, row: int, simt: Simt, active: int, visits: int) -> None:
        said: Any = simt.active_mask()
        if said == active:
            return
        attribute = simt.find("DW_AT_LLVM_active_lane")
        if attribute is None:
            message = f"EXEC is {said:#x} for a while, and {active:#x} execute the source, which nothing says"
            self._see("active", "EXEC", batch, row, message, visits, said ^ active)
            return
        message = f"DW_AT_LLVM_active_lane is {said:#x}, and {active:#x} execute the source"
        self._see("active", "mask", batch, row, message, visits, said ^ active)

    def _judge_places(
        self,
        batch: WaveBatch,
        call: RecordedCall | None,
        row: int,
        places: tuple[LanePc, ...],
        active: int,
        entered: int,
        visits: int,
    ) -> None:
        wave = int(batch.waves[row])
        number = 0 if call is None else call.number
        last = self.record.last[wave].tolist()
        for lane, place in enumerate(places):
            flag = 1 << lane
            if place.error is not None:
                self._see("failed", "lanes", batch, row, place.error.message, visits, flag)
            elif bool(entered & flag) != (place.pc is not None):
                what = "was active at the call and has no place" if entered & flag else "was not active at the call"
                self._see("entered", "entered" if entered & flag else "outside", batch, row,
                          f"lane {lane} {what}", visits, flag)  # fmt: skip
            elif active & flag:
                if place.pc != batch.pc:
                    message = f"lane {lane} executes this instruction, and is said to be at {self._name(place.pc)}"
                    self._see("place", "active", batch, row, message, visits, flag)
            elif entered & flag and not self._is_near(place.pc, last[lane]):
                said = self._waiting.setdefault(wave, {})
                key = number, batch.pc, place.pc or 0, last[lane]
                if key in said or len(said) < MAX_WAITING:
                    said[key] = said.get(key, (0, visits))[0] | flag, visits

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
                message = f"lane {lane} is said to be at {self._name(place)}, and waits between {self._name(last)} and "
                self._add("place", f"{place:#x}", where, wave, message + self._name(pc), visits, lane)
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
        if (
            first is None
            or second is None
            or not first.line
            or self.sightings.function(place)[0] != (self.sightings.function(other)[0])
        ):
            return False
        return first.file.name == second.file.name and first.line == second.line

    def _name(self, pc: int | None) -> str:
        if not pc:
            return "no place"
        function, offset = self.sightings.function(pc)
        line = self.running.line_at(pc)
        return f"{function}+{offset:#x}" + (f" (line {line.line})" if line is not None and line.line else "")
