"""NaNs and infinities that instructions have made: of what, in which lanes, and what had been executed before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.findings import FindingSide, MadeOf


@frozen(eq=False)
class PastInstruction:
    """An instruction that waves have executed, with their registers before it."""

    pc: int
    batch: WaveBatch
    vector: list[Any]
    scalar: list[Any]
    mask: Any
    """The lanes that have executed it; None for all."""
    waves: Any


@frozen
class MadeOrigin:
    """Which instruction made or read a number, which one made a NaN of it, and which one lost it."""

    pc: int
    kind: str
    lost_at: int | None = None
    nan_at: int | None = None
    """Where an infinity became a NaN, or a NaN that came in was first calculated with."""
    address: int = 0
    """Where a number that came in was in global memory."""
    size: int = 0


@frozen(eq=False)
class MadeNumbers:
    """Numbers that an instruction has made in the lanes of a wave, and of what."""

    wave: int
    lanes: tuple[int, ...]
    side: Callable[..., FindingSide]
    """What the wave did, in a lane."""
    operands: tuple[MadeOf, ...]
    """What the numbers were made of."""
    element: Callable[[int], str | None]
    """Which element of a matrix the number is, in a lane."""

    def of(self, lanes: Sequence[int]) -> MadeNumbers:
        """Return those of some of its lanes."""
        places = [self.lanes.index(lane) for lane in lanes]

        def some(values: Any) -> Any:
            return None if values is None else np.asarray(values)[places]

        def cut(each: MadeOf) -> MadeOf:
            names = each.names and [each.names[place] for place in places]
            return evolve(each, values=some(each.values), changes=some(each.changes), came=some(each.came), names=names)

        operands = tuple(map(cut, self.operands))
        return evolve(self, lanes=(*lanes,), operands=operands)
