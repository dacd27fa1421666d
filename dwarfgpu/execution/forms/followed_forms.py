"""Forms of waves that have a state beside theirs, which says something of each register and of memory.

There a vector register has a byte, which is 0 if nothing is to be said of any lane: most forms read only those bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from dwarfgpu.execution.batch import VCC
from dwarfgpu.execution.checks.touched_cells import SCC, Cell
from dwarfgpu.execution.forms import layout
from dwarfgpu.execution.forms.form_writer import WORD, FormWriter
from dwarfgpu.execution.forms.layout import Place


class FollowedForm(FormWriter):
    """Writes the form of an instruction of such waves."""

    BESIDE: ClassVar[Place]
    """Where the state of a wave has the address of the one beside it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._beside = ""
        """The state beside that of the wave, once it is needed."""
        self._offsets: dict[Cell, list[str]] = {}
        """Where the registers are that the instruction touches, each time that it does."""
        self._values: dict[int, str] = {}
        """The numbers of the slot that there are."""

    # --- Registers ------------------------------------------------------------------------------------------------

    def followed(self) -> str:
        """Return the state beside that of the wave."""
        if not self._beside:
            self._beside = self.load("ptr", self.at("%wave", str(int(self.BESIDE))), 8)
        return self._beside

    def number(self, value: int) -> str:
        if self.state != "%wave" and value in self._values:
            return self._values[value]
        self._values[value] = super().number(value)
        return self._values[value]

    def scalar_number(self, register: int) -> str:
        return self._again(("s", register)) or super().scalar_number(register)

    def row_offset(self, register: int) -> str:
        return self._again(("v", register)) or super().row_offset(register)

    def _again(self, cell: Cell) -> str:
        """Return where a register is that has been looked at; each operand has a number of its own."""
        known = self._offsets.get(cell, [""])
        return known.pop(0) if len(known) > 1 else known[0]

    def cells(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Yield registers as states have them: accumulation registers are behind the others, masks are words."""
        for file, index in cells:
            yield ("v", index + self.accumulation) if file == "a" else (file, index)
            if (file, index) == ("s", VCC) and self.lanes == 64:
                yield file, index + 1

    def either(self, words: Sequence[str]) -> str:
        """Return the bits that any of some words has."""
        words = [each for each in words if each != "0"]
        found = words[0] if words else "0"
        for word in words[1:]:
            found = self.one.operate("or", WORD, found, word)
        return found

    def word_of(self, cell: Cell) -> str:
        """Return what the state beside says of a scalar register."""
        return self.load("i32", self.word_place(cell))

    def word_place(self, cell: Cell) -> str:
        """Return where the state beside has a scalar register."""
        if cell == SCC:
            return self.at(self.followed(), str(4 * layout.SCC))
        index = super().scalar_number(cell[1])
        self._offsets.setdefault(cell, []).append(index)
        return self.ir.put(f"getelementptr i32, ptr {self.followed()}, i64 {index}")

    def byte_of(self, cell: Cell) -> tuple[str, str]:
        """Return where a vector register is in a state, and its byte in the one beside."""
        offset = super().row_offset(cell[1])
        self._offsets.setdefault(cell, []).append(offset)
        byte = self.load("i8", self.row_in(self.followed(), offset)[1], 1)
        return offset, self.ir.put(f"zext i8 {byte} to i32")


def runs(cells: Iterable[Cell]) -> list[tuple[Cell, int]]:
    """Return registers that follow each other as the first one and their number."""
    found: list[tuple[Cell, int]] = []
    for file, index in cells:
        if found and found[-1][0] == (file, index - found[-1][1]):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append(((file, index), 1))
    return found
