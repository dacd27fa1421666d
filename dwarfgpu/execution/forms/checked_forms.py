"""Forms of checked waves: where all that an instruction reads is defined, what it writes is, too.

A wave has marks beside its state, and memory has marks of the same shape: a 1 for each undefined bit. A form looks at
the marks of what its instruction reads. If there is any, it refuses, and Python executes the instruction: it follows
undefined bits, and tells where they count. Else the form clears the marks of what it writes. So forms never make marks.

The marks of a vector register have a byte, which is 0 if there is none in any lane: most forms read only those bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dwarfgpu.execution.batch import VCC
from dwarfgpu.execution.checks.touched_cells import (
    ACCESSES,
    BRANCHES,
    CLEARS,
    COMPUTES,
    SCC,
    Cell,
    is_by_lane,
    touched_by,
)
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms import layout
from dwarfgpu.execution.forms.form_writer import WORD, FormWriter, Move, Rows, nothing
from dwarfgpu.execution.forms.layout import Place, Rule
from dwarfgpu.execution.forms.memory_functions import DECLARED, DEFINE, IS_COPY, IS_DEFINED
from dwarfgpu.execution.forms.operations import first_lane, lane_of
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction


class CheckedForm(FormWriter):
    """Writes the form of an instruction of checked waves."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._marks = ""
        """The marks of the wave, once they are needed."""
        self._offsets: dict[Cell, list[str]] = {}
        """Where the registers are that the instruction touches, each time that it does."""
        self._values: dict[int, str] = {}
        """The numbers of the slot that there are."""
        self._written: tuple[Cell, ...] = ()
        """What is to be defined behind the last check."""
        self._data: list[Cell] = []
        """What an access moves, where that may be undefined if it is a copy."""

    # --- Registers ------------------------------------------------------------------------------------------------

    def marks(self) -> str:
        """Return the state with the marks of the wave."""
        if not self._marks:
            self._marks = self.load("ptr", self.at("%wave", str(int(Place.MARKS))), 8)
        return self._marks

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

    def _spread_exec(self) -> None:
        super()._spread_exec()
        self.rule |= Rule.ENDS_STRETCH

    def _cells(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Yield registers as states have them: accumulation registers are behind the others, masks are words."""
        for file, index in cells:
            yield ("v", index + self.accumulation) if file == "a" else (file, index)
            if (file, index) == ("s", VCC) and self.lanes == 64:
                yield file, index + 1

    # --- Instructions ---------------------------------------------------------------------------------------------

    def touched(self, instruction: GpuInstruction) -> tuple[list[Cell], list[Cell], str]:
        """Return the registers that an instruction reads and writes, and what it does."""
        touched = touched_by(instruction, self.lanes, self.mode)
        if touched is None:
            return [], [], ""
        if touched.is_by_number:
            raise UnknownInstruction("registers by number")
        branch = [BRANCHES[instruction.name]] if instruction.name in BRANCHES else []
        first = (*touched.addresses, *branch)
        self._data = [*self._cells(touched.read)] if touched.does == ACCESSES else []
        read = self._cells(first if self._data else (*first, *touched.read))
        return [*read], [*dict.fromkeys(self._cells(touched.written))], touched.does

    def begin(self, instruction: GpuInstruction) -> None:
        self._offsets, self._values, self._written = {}, {}, ()
        read, written, does = self.touched(instruction)
        is_one_lane = instruction.name in _LANE_MOVES and any(each[0] == "v" for each in read)
        in_all_lanes = does == COMPUTES and not is_by_lane(instruction)
        self._written = (*written,)
        if is_one_lane:
            self._look_at_lane(instruction, [each for each in read if each[0] != "v"])
        elif read:
            self._look(read, in_all_lanes=in_all_lanes)
        if does in (COMPUTES, CLEARS) or instruction.name in BRANCHES:
            self.end_checks()
            if not is_one_lane and not (in_all_lanes and any(each[0] == "v" for each in read)):
                self.rule |= Rule.IS_CHECKED

    def end_checks(self, *, is_private: bool = False) -> None:
        """Return if the instruction was only asked; all are asked, as Python is to execute it for all waves at once."""
        super().end_checks()
        self._define(self._written)
        self._written = ()

    def leave(self, slot: str) -> None:
        if self._written:
            raise UnknownInstruction("an instruction whose checks have no end")
        super().leave(slot)

    def refuse_unless(self, condition: str) -> None:
        if self.state == "%wave":  # memory of marks has the same shape
            super().refuse_unless(condition)

    def room(self, name: str, count: int, kind: str) -> str:
        return super().room(name if self.state == "%wave" else f"{name}.marks", count, kind)

    def _look(self, read: Iterable[Cell], *, in_all_lanes: bool = False) -> None:
        """Write that an instruction refuses undefined registers."""
        read = [*read]
        scalars = self._either([self._word_of_marks(each) for each in read if each[0] != "v"])
        registers = [self._register_of_marks(each) for each in read if each[0] == "v"]
        any_mark = self._either([scalars, *(byte for _offset, byte in registers)])
        with self._where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            flags = [self.one.operate("icmp eq", WORD, scalars, "0")]
            for offset, _byte in registers:
                numbers = f"ptr %wave, i64 {offset}, i1 {str(in_all_lanes).lower()}"
                flags.append(self.ir.put(f"call i1 {self._function(IS_DEFINED)}({numbers})"))
            self._go_on_if(flags, behind)

    def _go_on_if(self, flags: list[str], behind: str) -> None:
        """Refuse the instruction unless all flags are true."""
        condition = flags[0]
        for flag in flags[1:]:
            condition = self.one.operate("and", FLAG, condition, flag)
        wrong = self.ir.name("wrong")
        self.fork(condition, behind, wrong)
        self.ir.label(wrong)
        self.refuse()

    def _define(self, written: Sequence[Cell]) -> None:
        """Write that registers are defined in executing lanes."""
        for first, count in _runs(each for each in written if each[0] != "v"):
            place = self._place_of_word(first)
            for number in range(count):
                self.ir.do(f"store i32 0, ptr {self.at(place, str(4 * number))}, align 4")
        registers = [self._register_of_marks(each) for each in written if each[0] == "v"]
        if not registers:
            return
        any_mark = self._either([byte for _offset, byte in registers])
        with self._where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            for offset, _byte in registers:
                self.ir.do(f"call void {self._function(DEFINE)}(ptr %wave, i64 {offset}, ptr null, ptr {self.slot})")
            self.jump(behind)

    def _function(self, name: str) -> str:
        name = f"{name}{self.lanes}"
        self.ir.declared[name] = DECLARED[name]
        return f"@{name}"

    def _either(self, words: Sequence[str]) -> str:
        words = [each for each in words if each != "0"]
        found = words[0] if words else "0"
        for word in words[1:]:
            found = self.one.operate("or", WORD, found, word)
        return found

    def _word_of_marks(self, cell: Cell) -> str:
        return self.load("i32", self._place_of_word(cell))

    def _place_of_word(self, cell: Cell) -> str:
        """Return where the marks of a scalar register are."""
        if cell == SCC:
            return self.at(self.marks(), str(4 * layout.SCC))
        index = super().scalar_number(cell[1])
        self._offsets.setdefault(cell, []).append(index)
        return self.ir.put(f"getelementptr i32, ptr {self.marks()}, i64 {index}")

    def _register_of_marks(self, cell: Cell) -> tuple[str, str]:
        """Return where a vector register is in the state, and the byte of its marks."""
        offset = super().row_offset(cell[1])
        self._offsets.setdefault(cell, []).append(offset)
        byte = self.load("i8", self.row_in(self.marks(), offset)[1], 1)
        return offset, self.ir.put(f"zext i8 {byte} to i32")

    # --- One lane of a register -----------------------------------------------------------------------------------

    def _look_at_lane(self, instruction: GpuInstruction, scalars: list[Cell]) -> None:
        """Write the checks of a move from or to one lane of a register; others may be undefined."""
        if scalars:
            self._look(scalars)
        register, lane = instruction.sources[0], instruction.sources[-1]
        is_first = instruction.name == "v_readfirstlane_b32"
        number = first_lane(self) if is_first else lane_of(self, self.scalar(lane, 32))
        row = self.row_in(self.marks(), super().row_offset(self.vector_register(register)))[0]
        place = self.lane_at(row, number)
        if instruction.name == "v_writelane_b32":
            self._written = ()
            super().end_checks()
            self.ir.do(f"store i32 0, ptr {place}, align 4")
        else:
            self.refuse_unless(self.one.operate("icmp eq", WORD, self.load("i32", place), "0"))

    # --- Memory ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _memory_of_marks(self) -> Iterator[None]:
        """Let what is written reach marks in place of memory."""
        self.state = self.marks()
        try:
            yield
        finally:
            self.state = "%wave"

    def beside(self, find: Callable[[], Move], count: int, *, is_load: bool) -> Callable[[], None]:
        if self._data:
            self._look(self._data)
        with self._memory_of_marks():
            move = find()
        whole, room = self.vectors.type(WORD), self.room("moved", count * self.lanes, "i32")
        rows = [self.at(room, str(4 * self.lanes * number)) for number in range(count)]
        for row in rows:
            self.ir.do(f"store {whole} zeroinitializer, ptr {row}, align 64")

        def finish() -> None:
            with self._memory_of_marks():
                move(rows)

        if not is_load:
            return finish
        finish()
        self.refuse_unless(self._is_defined([self.load(whole, row, 64) for row in rows]))
        return nothing

    def beside_rows(
        self, find: Callable[[], Rows | None], registers: list[int], *, is_load: bool
    ) -> Callable[[], None]:
        """Move marks beside numbers, too, where the register has had the same ones from there."""
        with self._memory_of_marks():
            line, step = find() or ("", "")
        lines, whole, vectors = [line], self.vectors.type(WORD), self.vectors
        for _register in registers[1:]:
            lines.append(self.at(lines[-1], step))
        own = [self._register_of_marks(("v", register)) for register in registers]
        places = [*zip((offset for offset, _byte in own), lines, strict=True)]
        has_marks = self.one.operate("icmp ne", WORD, self._either([byte for _offset, byte in own]), "0")
        moves_marks = has_marks
        if is_load:
            is_defined = self._is_defined([self.load(whole, each, 4) for each in lines])
            moves_marks = self.one.operate("xor", FLAG, is_defined, "true")
        with self._where(moves_marks) as some:
            rest = f"i1 {str(is_load).lower()}"
            calls = (f"{self._function(IS_COPY)}(ptr %wave, i64 {at}, ptr {row}, {rest})" for at, row in places)
            self._go_on_if([self.ir.put(f"call i1 {each}") for each in calls], some)
        self._written = ()
        self.rule |= Rule.ENDS_STRETCH if is_load else Rule(0)  # what is behind it has to look at the register

        def finish() -> None:
            if not is_load:
                others = vectors.operate("xor", WORD, self.exec_row(), vectors.constant(-1, WORD))
                for offset, row in places:
                    left = vectors.operate("and", WORD, self.load(whole, row, 4), others)
                    new = self.load(whole, self.row_in(self.marks(), offset)[0], 64)
                    new = vectors.operate("or", WORD, left, vectors.operate("and", WORD, new, self.exec_row()))
                    self.ir.do(f"store {whole} {new}, ptr {row}, align 4")
                return
            with self._where(self.one.operate("or", FLAG, has_marks, moves_marks)) as behind:
                for offset, row in places:
                    numbers = f"ptr %wave, i64 {offset}, ptr {row}, ptr {self.slot}"
                    self.ir.do(f"call void {self._function(DEFINE)}({numbers})")
                self.jump(behind)

        return finish

    @contextmanager
    def _where(self, condition: str) -> Iterator[str]:
        """Write what is done where a condition is true; yield the name of what follows."""
        some, behind = self.ir.name("some"), self.ir.name("behind")
        self.fork(condition, some, behind)
        self.ir.label(some)
        yield behind
        self.go_on(behind)

    def beside_words(self, find: Callable[[], str], count: int) -> None:
        with self._memory_of_marks():
            pointer = find()
        words = [self.load("i32", self.at(pointer, str(4 * number)), 1) for number in range(count)]
        self.refuse_unless(self.one.operate("icmp eq", WORD, self._either(words), "0"))

    def _is_defined(self, rows: list[str]) -> str:
        """Return whether executing lanes have no mark."""
        vectors, found = self.vectors, rows[0]
        for row in rows[1:]:
            found = vectors.operate("or", WORD, found, row)
        return self.none(vectors.operate("icmp ne", WORD, found, vectors.constant(0, WORD)))


class CheckedStretch(CheckedForm, StretchWriter):
    """Writes a stretch of checked waves: before the first instruction it looks for all, and then none refuses."""

    def write_stretch(self, parts: Sequence[StretchPart], begin: int, end: int) -> str:
        read: list[Cell] = []
        written: dict[Cell, int] = {}
        for number, part in enumerate(parts):
            own, results, _does = self.touched(part.instruction)
            read += [each for each in own if number and each not in written]
            written |= dict.fromkeys(results, number)
        self._others, self._last = [*dict.fromkeys(read)], written
        return super().write_stretch(parts, begin, end)

    def begin(self, instruction: GpuInstruction) -> None:
        """Look for all instructions before the first; later, only say what is defined, where it is written last."""
        if not self._done:
            if self._others:
                self._look(self._others)
            super().begin(instruction)
            if not self.rule & Rule.IN_STEP and self.touched(instruction)[2] == "":
                FormWriter.end_checks(self)
            return
        self._offsets, self._values = {}, {}
        self._define([each for each in self.touched(instruction)[1] if self._last[each] == self._done])


def _runs(cells: Iterable[Cell]) -> list[tuple[Cell, int]]:
    """Return registers that follow each other as the first one and their number."""
    found: list[tuple[Cell, int]] = []
    for file, index in cells:
        if found and found[-1][0] == (file, index - found[-1][1]):
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append(((file, index), 1))
    return found


_LANE_MOVES = frozenset(("v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32"))
