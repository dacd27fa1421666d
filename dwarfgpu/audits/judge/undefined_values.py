"""Values that undefined behaviour of a kernel can change: they say nothing about another build.

A build is executed once with the checks for races and for values that nothing has written, and once more with what the
races reach marked as undefined from the start. What a variable has then is certain where its bits are defined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.audits.judge.recorded_values import NoValue, Recorded, RecordedValue, is_private, recorded
from dwarfgpu.execution.access_shapes import LOCAL
from dwarfgpu.execution.checks.findings import INIT, RACE, UNDEFINED_ADDRESS, UNDEFINED_BRANCH
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable

CHECKS = f"{INIT},{RACE}"
_NOT_CERTAIN = NoValue("undefined behaviour may change it")


@frozen
class UndefinedBehaviour:
    """What a checked run of a kernel has shown."""

    text: str
    """The first fault in words."""
    races: tuple[tuple[str, int], ...]
    """The space and the address of each race."""


def behaviour_of(running: Running) -> UndefinedBehaviour | None:
    """Return the undefined behaviour that a checked run has shown, if any."""
    for each in running.findings:
        if each.severity == "error":
            name = each.register or "memory" if each.variable is None else f"`{each.variable}`"
            does = f"reads {name} before it is set" if each.check == INIT else f"has a data race on {name}"
            line = each.sides[0].line
            where = "" if line is None else f" at {line[0].rpartition('/')[2]}:{line[1]}"
            memory: Any = running.machine.device.memory
            races = tuple((found.space, found.address) for found in memory.races.found.values())
            return UndefinedBehaviour(f"the kernel {does}{where} (run --check={each.check})", races)
    return None


class UndefinedValues:
    """Follows what undefined behaviour may change while a kernel runs with the check for it."""

    def __init__(self, running: Running, behaviour: UndefinedBehaviour) -> None:
        memory: Any = running.machine.device.memory
        self._memory, self._check = memory, memory.init_check
        self._buffers = running.launched.plan.buffers
        self._marked = [
            each
            for each in self._buffers
            if any(
                space != LOCAL and each.address <= address < each.address + each.size
                for space, address in behaviour.races
            )
        ]
        self._is_local_marked = any(space == LOCAL for space, _address in behaviour.races)
        self._lost: set[int] = set()
        """The waves that have gone where undefined bits led them."""
        self._before: tuple[list[int], int] = [], 0
        """The waves that executed an instruction last, and what the check had found before."""

    def observe(self, batch: WaveBatch) -> None:
        """Take notice of waves that are about to execute an instruction."""
        waves, found = self._before
        count = sum(
            each.count for each in self._check.found.values() if each.kind in (UNDEFINED_BRANCH, UNDEFINED_ADDRESS)
        )
        if count > found:
            self._lost.update(waves)
            self._marked, self._is_local_marked = [*self._buffers], True
        self._before = batch.waves.tolist(), count
        for buffer in self._marked:
            self._check.memory.set_undefined(buffer.address, buffer.size)
        if self._is_local_marked:
            self._check.memory.local.data[...] = 0xFF

    def certain(
        self, wave: int, frame: Frame, variable: Variable, lanes: tuple[int, ...], values: list[Recorded]
    ) -> list[Recorded]:
        """Return values without the leaves that are not certain; only private memory is known."""
        if wave in self._lost or not is_private(frame, variable, lanes[0]):
            return [_NOT_CERTAIN] * len(values)
        data, undefined = self._memory.scratch.data, self._check.memory.scratch.data
        kept = data.copy()
        try:
            data[...] = undefined
            bits = recorded(frame, variable, lanes)
        finally:
            data[...] = kept
        return [_without(*each) for each in zip(values, bits, strict=True)]

    def in_buffers(self) -> dict[str, bytes]:
        """Return for each byte of the buffers whether it is certain: 0 if it is."""
        shadow: Any = self._check.memory.memory
        flags: dict[str, bytes] = {}
        for each in self._buffers:
            segment = shadow.segment_of(each.address, each.address + max(each.size, 1) - 1)
            start = 0 if segment is None else each.address - segment.start
            is_known = segment is not None and not self._lost
            flags[each.name] = bytes(segment.data[start : start + each.size]) if is_known else b"\xff" * each.size
        return flags


def _without(value: Recorded, undefined: Recorded) -> Recorded:
    """Return a value without the leaves that have an undefined bit."""
    if not isinstance(value, RecordedValue) or not isinstance(undefined, RecordedValue):
        return value if isinstance(value, NoValue) else _NOT_CERTAIN
    pairs = zip(value.patterns, undefined.patterns, strict=True)
    return RecordedValue(value.leaves, tuple(None if bits is None or bits else own for own, bits in pairs))


def without_uncertain(expected: bytes, content: bytes, uncertain: bytes) -> bytes:
    """Return the contents of a buffer with those of another build where they are not certain."""
    if not len(expected) == len(content) == len(uncertain):
        return expected
    own, other, flags = (np.frombuffer(each, np.uint8) for each in (expected, content, uncertain))
    return np.where(flags != 0, other, own).tobytes()
