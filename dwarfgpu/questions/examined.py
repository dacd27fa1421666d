"""Where ``x`` goes on: the format of the last time, and the address behind what it has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.program.types.model import VOID
from dwarfgpu.program.values.storage import Address

if TYPE_CHECKING:
    from dwarfgpu.questions.selection import Selection


@frozen
class MemoryFormat:
    """How many units are shown, of which size, and how."""

    count: int = 1
    letter: str = "x"
    size: str = "w"


class Examined:
    """What ``x`` keeps from one time to the next."""

    def __init__(self) -> None:
        self.format = MemoryFormat()
        self.next: Address | None = None


def begin_at(selection: Selection, address: int) -> None:
    """Let ``x`` by itself begin at an address, and ``$_`` be it."""
    from dwarfgpu.program.frames.evaluator import Evaluator
    from dwarfgpu.program.frames.history import Remembered, number

    selection.state_of(Examined).next = Address(None, address)
    model = Evaluator(selection.frame, selection.frame.lane(selection.lane), "").compute.model
    selection.state_of(Remembered).variables["_"] = number(model.pointer_to(VOID), address)
