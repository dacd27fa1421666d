"""All values of an expression while a kernel runs, in all lanes: a row for each line that has changed it."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.execution.control.placed import Discoveries, Unplaced, number_in
from dwarfgpu.execution.halts import executing
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.program.code.code_lookup import declared_at
from dwarfgpu.program.frames.all_waves import all_waves, frame_of
from dwarfgpu.program.frames.evaluator import variables_in
from dwarfgpu.program.frames.reasons import MISSING, NOT_IN_SCOPE, Reason, reason_of
from dwarfgpu.program.frames.wave_groups import Cohort
from dwarfgpu.program.types.model import Array, Pointer, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.device import Device
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.types.model import Type

MOST = 1 << 16
"""The rows that are kept."""
KINDS = "biuf"
"""The kinds of arrays of numpy that a history is made of: numbers."""


@frozen(eq=False)
class PastValue:
    """The values of an expression in the lanes of a wave, where a line begins."""

    time: int
    """The instructions that were executed before."""
    wave: str
    position: CodePosition
    """The line that has changed the values: the one that these lanes have executed before."""
    values: Any
    """By lane, an array of numpy; lanes that do not execute, and those without a value, are masked."""
    declared: str
    """Where the variables are declared that the names mean there: ``k.cl:14``."""


class ValueHistory:
    """Looks at an expression wherever a wave begins another line."""

    def __init__(self, running: Running, text: str, wave: int | None = None, lane: int | None = None) -> None:
        self.text = text
        running.check_lane(wave, lane)
        self.wave, self.lane = wave, lane
        """The wave and the lane that are looked at; None for all."""
        self.rows: list[PastValue] = []
        self.left = 0
        """How many rows were not kept."""
        self._running = running
        self._device = running.machine.device
        self._number = number_in(text)
        self._found = Discoveries(running.attached, self._device, self._find)
        self._places: dict[int, tuple[CodePosition, tuple[Any, ...] | None]] = {}
        """By address, the place, and what tells it from the line before; None in a prologue, which sets variables."""
        self._where: dict[int, tuple[Any, ...]] = {}
        """By wave, the line that it has begun last."""
        self._executed: dict[int, list[CodePosition | None]] = {}
        """By wave and lane, the line that it has executed last."""
        self._unknown: set[int] = set()
        """Where names of the expression mean nothing."""
        self._seen: set[int] = set()
        """The addresses that were looked at, where the names mean something."""
        self._lacking: set[int] = set()
        """Those where a lane had no value."""
        self.lacking: Reason | None = None
        """Why the first lane without a value has none."""
        self._unnamed = ""
        """What the first place says that lacks a name."""
        self.type: Type | None = None
        """The type of the expression; None as long as it is not known."""
        self._latest: dict[tuple[int, str], Any] = {}
        self._declared: dict[int, str | None] = {}
        """By address, where the variables are declared that the names mean there; None before a declaration."""
        self._before: Any = None

    def start(self) -> None:
        """Be asked before each instruction of the machine."""
        self._before, self._device.observer = self._device.observer, self.observe

    def end(self) -> None:
        """Look once more, and no more after that."""
        self._device.observer = self._before
        self.look()

    def look(self) -> None:
        """Look at the waves that have not ended where they are now, which may be within a line."""
        for batch, reason in self._device.every_batch():
            rows = [row for row, wave in enumerate(batch.waves.tolist()) if self.wave in (None, wave)]
            if rows and reason != HAS_ENDED and not self._running.reader.at(batch.pc).is_prologue:
                self._look(batch, rows, self._running.position(batch.pc))

    @property
    def problem(self) -> EvaluationError | None:
        """Why there is no value at all; None if there are some."""
        if self.rows:
            return None
        why = f": {reason}" if (reason := self.lacking or self._unnamed) else ""
        return EvaluationError("no_value", f"{self.text[:60]} had no value where a line began{why}")

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

    def observe(self, batch: WaveBatch) -> bool:
        """Look before an instruction at the waves that begin another line with it."""
        if self._before is not None and self._before(batch):
            return True
        known = self._places.get(batch.pc)
        if known is None:
            position = self._running.position(batch.pc)
            is_set = position.line and not self._running.reader.at(batch.pc).is_prologue
            place = (position.file, position.line, position.function) if is_set else None
            known = self._places[batch.pc] = position, place
        position, where = known
        if where is None:
            return False
        waves: list[int] = batch.waves.tolist()
        begin = [row for row, wave in enumerate(waves) if self._where.get(wave) != where and self.wave in (None, wave)]
        if begin:
            self._look(batch, begin, position)
        for row in begin:
            self._where[waves[row]] = where
            executed = self._executed.setdefault(waves[row], [None] * batch.lanes)
            for lane in executing(batch)[row].nonzero()[0].tolist():
                executed[lane] = position
        return False

    def _look(self, batch: WaveBatch, rows: list[int], position: CodePosition) -> None:
        if batch.pc in self._unknown:
            return
        declared = self._declared[batch.pc] if batch.pc in self._declared else self._declarations(batch)
        if declared is not None:
            self._seen.add(batch.pc)
            for row, values in self._values(batch, rows):
                self._keep(int(batch.waves[row]), position, values, declared)

    def _declarations(self, batch: WaveBatch) -> str | None:
        """Return where the variables are declared that the names mean for waves; None before a declaration."""
        self._device.written(batch)
        frame = frame_of(self._running.attached, Cohort([int(batch.waves[0])], batch.pc), 0)
        places, is_declared, is_everywhere = [], True, True
        with suppress(DwarfGpuError):
            for variable in variables_in(frame, frame.expression(self.text).tree):
                place = declared_at(variable.code.file, variable.die)
                is_everywhere &= variable.frame is frame  # others depend on the caller
                if place is not None:
                    places.append(f"{PurePath(place.file or '').name}:{place.line}")
                if variable.is_before_declaration:
                    self._unnamed = f"no line began behind the declaration of {variable.name} in its scope"
                    is_declared = False
        declared = ", ".join(places) if is_declared else None
        if is_everywhere:
            self._declared[batch.pc] = declared
        return declared

    def _find(self, frame: Frame, lanes: LaneSet, device: Device) -> Any:
        self.type = self.type or frame.quantity(self.text).type
        return self._number(frame, lanes, device)

    @property
    def is_pointer(self) -> bool:
        """Whether the values are addresses."""
        return self.type is not None and isinstance(resolved(self.type), Pointer)

    def _values(self, batch: WaveBatch, rows: list[int]) -> Iterator[tuple[int, Any]]:
        """Yield the values in the lanes of some waves, a masked array for each."""
        found, column = self._found.at(batch), None
        with suppress(Unplaced):
            column = None if found is None else np.broadcast_to(found(batch), (batch.count, batch.lanes))
        if column is None:
            yield from self._values_of_frames(batch, rows)
            return
        idle = ~executing(batch)
        for row in rows:
            yield row, np.ma.MaskedArray(column[row], idle[row])

    def _values_of_frames(self, batch: WaveBatch, rows: list[int]) -> Iterator[tuple[int, Any]]:
        machine = self._device.written(batch)
        row_of = {machine.ids[batch.waves[row]]: row for row in rows}
        try:
            for values in all_waves(self._running.attached, self.text, waves=[int(batch.waves[row]) for row in rows]):
                _count, reason = next(values.missing(inactive=False, lane=self.lane), (0, None))
                if reason is not None:
                    self._note(batch.pc, reason)
                array = np.ma.asarray(values.array)
                if values.type is not None and (array.dtype.kind not in KINDS or array.ndim > 2):
                    message = f"{self.text[:60]} is {values.type}, not a number"
                    part = f"{self.text}[0]" if isinstance(resolved(values.type), Array) else f"{self.text}.MEMBER"
                    raise UsageError(message, kind="no_number", hint=f"name a part of it: `{part}`")
                yield from ((row_of[name], array[at]) for at, name in enumerate(values.names))
        except DwarfGpuError as error:
            if error.kind == "no_number":
                raise
            self._note(batch.pc, reason_of(error))
            self._unknown.add(batch.pc)

    def _note(self, pc: int, reason: Reason) -> None:
        """Remember why there is no value; a name that means nothing there only if no line has another reason."""
        if reason.kind in (NOT_IN_SCOPE, MISSING):
            self._unnamed = self._unnamed or reason.message
            self._seen.discard(pc)
        else:
            self.lacking = self.lacking or reason
            self._lacking.add(pc)

    def _keep(self, wave: int, position: CodePosition, values: Any, declared: str) -> None:
        if self.lane is not None:
            values = np.ma.MaskedArray(values, np.ma.getmaskarray(values) | (np.arange(len(values)) != self.lane))
        latest = self._latest.get((wave, declared))
        if latest is None or latest.dtype != values.dtype:
            latest = self._latest[wave, declared] = np.ma.MaskedArray(np.zeros_like(values.data), mask=True)
        changed = ~np.ma.getmaskarray(values) & (np.ma.getmaskarray(latest) | (latest.data != values.data))
        if not changed.any():
            return
        latest[changed] = values[changed]
        executed, time = self._executed.get(wave, [None] * len(values)), self._device.executed
        writers: dict[tuple[str | None, int | None], tuple[CodePosition, list[int]]] = {}
        for lane in changed.reshape(len(values), -1).any(axis=1).nonzero()[0].tolist():
            writer = executed[lane] or position
            writers.setdefault((writer.file, writer.line), (writer, []))[1].append(lane)
        for writer, lanes in writers.values():
            own = values.copy()
            if len(writers) > 1:
                own[[lane for lane in range(len(own)) if lane not in lanes]] = np.ma.masked
            if len(self.rows) == MOST:
                self.left += 1
                continue
            self.rows.append(PastValue(time, self._running.machine.ids[wave], writer, own, declared))


def csv_of(rows: Sequence[PastValue]) -> bytes:
    """Return a history as a table with a line for each value."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("time", "wave", "file", "line", "function", "lane", "value", "declared"))
    for row in rows:
        place = row.position
        first = row.time, row.wave, place.file, place.line, place.function
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
        wave=np.array([row.wave for row in rows], np.str_),
        source=np.array([row.position.file or "" for row in rows], np.str_),
        line=np.array([row.position.line or 0 for row in rows], np.int64),
        declared=np.array([row.declared for row in rows], np.str_),
        value=array.data,
        has_value=~np.ma.getmaskarray(array),
    )
    return stream.getvalue()
