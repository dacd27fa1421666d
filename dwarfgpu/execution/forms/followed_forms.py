"""Forms of waves that have states beside theirs, which say something of each register and of memory.

There a vector register has a byte, which is 0 if nothing is to be said of any lane: most forms read only those bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dwarfgpu.execution.batch import VCC
from dwarfgpu.execution.checks.touched_cells import SCC, Cell
from dwarfgpu.execution.forms import layout
from dwarfgpu.execution.forms.form_writer import WORD, FormWriter
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.isa.instruction import GpuInstruction


class FollowedForm(FormWriter):
    """Writes the form of an instruction of such waves."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._states: dict[Place, str] = {}
        """The states beside that of the wave that are needed."""
        self._offsets: dict[Cell, str] = {}
        """Where the registers are that the instruction touches, as far as they have been looked at."""

    def begin(self, instruction: GpuInstruction) -> None:
        self._offsets = {}
        super().begin(instruction)

    def followed(self, place: Place) -> str:
        """Return the state beside that of the wave of which a place has the address."""
        if place not in self._states:
            self._states[place] = self.load("ptr", self.at("%wave", str(int(place))), 8)
        return self._states[place]

    def scalar_number(self, register: int) -> str:
        return self._offsets.get(("s", register)) or super().scalar_number(register)

    def row_offset(self, register: int) -> str:
        return self._offsets.get(("v", register)) or super().row_offset(register)

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

    def word_place(self, place: Place, cell: Cell) -> str:
        """Return where a state has a scalar register."""
        if cell == SCC:
            return self.at(self.followed(place), str(4 * layout.SCC))
        index = self._offsets[cell] = self.scalar_number(cell[1])
        return self.ir.put(f"getelementptr i32, ptr {self.followed(place)}, i64 {index}")

    def row_beside(self, place: Place, cell: Cell) -> tuple[str, str]:
        """Return where a state has a vector register, and where it has the byte of that."""
        return self.row_in(self.followed(place), self.offset(cell))

    def offset(self, cell: Cell) -> str:
        """Return where a vector register is in all states."""
        self._offsets[cell] = self.row_offset(cell[1])
        return self._offsets[cell]

    def said_of(self, place: Place, cell: Cell) -> str:
        """Return what a state says of a scalar register, or the byte of a vector register."""
        if cell[0] != "v":
            return self.load("i32", self.word_place(place, cell))
        byte = self.load("i8", self.row_beside(place, cell)[1], 1)
        return self.ir.put(f"zext i8 {byte} to i32")

    def clear_words(self, place: Place, cells: Iterable[Cell]) -> None:
        """Write that nothing is to be said of scalar registers among some."""
        for first, count in runs(each for each in cells if each[0] != "v"):
            start = self.word_place(place, first)
            for number in range(count):
                self.ir.do(f"store i32 0, ptr {self.at(start, str(4 * number))}, align 4")


def runs(cells: Iterable[Cell]) -> list[tuple[Cell, int]]:
    """Return registers that follow each other as the first one and their number."""
    found: list[tuple[Cell, int]] = []
    for file, index in cells:
        if found and found[-1][0] == (file, index - found[-1][1]):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append(((file, index), 1))
    return found
