"""Forms that refuse stores to watched memory: Python executes these, and looks at what they have changed.

The state of a wave has the ranges that are watched: the first address of each, and its size. Where private memory is
watched, all waves meet before an access to it, so that they are at one instruction when Python executes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import BUFFER, FLAT, LOCAL, SCRATCH, shape_of
from dwarfgpu.execution.forms.form_writer import LONG, FormWriter
from dwarfgpu.execution.forms.layout import Place, WatchedRange
from dwarfgpu.execution.forms.stretches import StretchWriter
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import CALLS, GpuInstruction

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch

_GLOBAL = WatchedRange.GLOBAL, WatchedRange.WINDOW
_RANGES = {
    LOCAL: (WatchedRange.LOCAL,), SCRATCH: (WatchedRange.PRIVATE,),
    FLAT: (*_GLOBAL, WatchedRange.FLAT_PRIVATE, WatchedRange.FLAT_LOCAL),
}  # fmt: skip
"""What an access may reach; of all others `_GLOBAL`."""
NOWHERE = 1 << 62
"""The first address of a range that is not there."""


class WatchedForm(FormWriter):
    """Writes the form of an instruction of waves whose memory is watched."""

    _is_store = False
    """Whether the instruction may change memory."""

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        shape = shape_of(instruction.name)
        self._is_store = shape is None or shape.action != "load"

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        if not self._is_store:
            return
        if space == BUFFER:  # dwords of a stack are as far from each other as a row is long
            size *= 64
        vectors, place = (self.one if is_row else self.vectors), addresses()
        for number in _RANGES.get(space, _GLOBAL):
            at = int(Place.WATCHED) + 16 * number
            first, length = (self.load("i64", self.at("%wave", str(each)), 8) for each in (at, at + 8))
            begin = self.one.operate("sub", LONG, first, str(size - 1))
            length = self.one.operate("add", LONG, length, str(size - 1))
            behind = vectors.operate("sub", LONG, place, vectors.spread(begin, LONG))
            reaches = vectors.operate("icmp ult", LONG, behind, vectors.spread(length, LONG))
            self.refuse_unless(self.one.operate("xor", FLAG, reaches, "true") if is_row else self.none(reaches))

    def change_calls(self, instruction: GpuInstruction, target: str) -> None:
        """Let Python execute returns of a wave that may leave the function whose variable is watched."""
        if instruction.name not in CALLS:
            flag = self.load("i64", self.at("%wave", str(int(Place.RETURNS_SEEN))), 8)
            self.refuse_unless(self.one.operate("icmp eq", LONG, flag, "0"))


class WatchedStretch(WatchedForm, StretchWriter):
    """Writes a stretch of such waves."""


class PrivateForm(WatchedForm):
    """Writes the form of an instruction of waves whose private memory is watched."""

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        super().reach(space, size, addresses, is_row=is_row)
        self.ask()


class PrivateStretch(PrivateForm, StretchWriter):
    """Writes a stretch of such waves."""


class WatchedMemory:
    """The ranges of memory that are watched while waves run."""

    needs_order = True
    """Whether waves go in step."""

    def __init__(self, waves: int) -> None:
        self.count = waves
        self._ranges = np.zeros((waves, 2 * len(WatchedRange) + 1), np.int64)
        self._ranges[:, : 2 * len(WatchedRange) : 2] = NOWHERE
        self._has_private = False

    @property
    def writers(self) -> tuple[type[FormWriter], type[StretchWriter]]:
        """What writes forms and stretches."""
        return (PrivateForm, PrivateStretch) if self._has_private else (WatchedForm, WatchedStretch)

    def prepare(self, _library: Any) -> None:
        """These forms call nothing of their own."""

    def add(self, rows: Any, kind: WatchedRange, first: int, size: int) -> None:
        """Let some waves refuse stores to more memory, and to what is between that and other memory of the kind."""
        self._has_private |= kind == WatchedRange.PRIVATE
        columns = self._ranges[:, 2 * kind : 2 * kind + 2]
        for row in np.arange(len(self._ranges))[rows].tolist():
            old, length = columns[row].tolist()
            begin, end = min(old, first), first + size if old == NOWHERE else max(old + length, first + size)
            columns[row] = begin, end - begin

    def see_returns(self, wave: int) -> None:
        """Let Python execute the returns of a wave."""
        self._ranges[wave, -1] = 1

    def enter(self, _program: FormProgram, batch: FormBatch) -> bool:
        """Let waves know what is watched."""
        batch.states.put_watched(batch.index, self._ranges[batch.index])
        return True
