"""Forms of checked waves: where all that an instruction reads is defined, what it writes is, too.

A wave has marks beside its state, and memory has marks of the same shape: a 1 for each undefined bit. A form looks at
the marks of what its instruction reads. If there is any, it refuses, and Python executes the instruction: it follows
undefined bits, and tells where they count. Else the form clears the marks of what it writes. So forms never make marks.

The marks of a vector register have a byte, which is 0 if there is none in any lane: most forms read only those bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from dwarfgpu.execution.checks.touched_cells import ACCESSES, BRANCHES, COMPUTES, Cell, is_by_lane, touched_by
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.followed_forms import FollowedForm
from dwarfgpu.execution.forms.form_writer import WORD, FormWriter, Move, Rows
from dwarfgpu.execution.forms.layout import Place, Rule
from dwarfgpu.execution.forms.memory_functions import DEFINE, IS_COPY, IS_DEFINED
from dwarfgpu.execution.forms.operations import first_lane, lane_of
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction


class MarkMemory(FormWriter):
    """Writes what reaches the marks of memory, which has the same shape as memory itself: so it refuses nothing."""

    _known_numbers: dict[int, str]

    def number(self, value: int) -> str:
        return self._known_numbers[value] if value in self._known_numbers else super().number(value)

    def refuse_unless(self, condition: str) -> None:
        """Memory has been looked at."""

    def room(self, name: str, count: int, kind: str) -> str:
        return super().room(f"{name}.marks", count, kind)


class MarkMemoryOfStretch(MarkMemory, StretchWriter):
    """Does the same in a stretch."""


class CheckedForm(FollowedForm):
    """Writes the form of an instruction of checked waves."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._defined: Sequence[Cell] = ()
        """What is to be defined behind the last check."""
        self._moved: list[Cell] = []
        """What an access moves, where that may be undefined if it is a copy."""
        self._known_numbers: dict[int, str] = {}

    def number(self, value: int) -> str:
        self._known_numbers[value] = super().number(value)
        return self._known_numbers[value]

    def _spread_exec(self) -> None:
        super()._spread_exec()
        self.rule |= Rule.ENDS_STRETCH

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
        self._moved = [*self.cells(touched.read)] if touched.does == ACCESSES else []
        read = self.cells(first if self._moved else (*first, *touched.read))
        return [*read], [*dict.fromkeys(self.cells(touched.written))], touched.does

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        self._known_numbers = {}
        read, self._defined, does = self.touched(instruction)
        is_one_lane = instruction.name in _LANE_MOVES and any(each[0] == "v" for each in read)
        in_all_lanes = does == COMPUTES and not is_by_lane(instruction)
        self._changes.append(self._define)
        if is_one_lane:
            self._look_at_lane(instruction, [each for each in read if each[0] != "v"])
        elif read:
            self._look_at_marks(read, in_all_lanes=in_all_lanes)
        if read or does == ACCESSES:
            is_lanes = is_one_lane or (in_all_lanes and any(each[0] == "v" for each in read))
            self.ask(before=not is_lanes and does != ACCESSES)

    def _look_at_marks(self, read: Iterable[Cell], *, in_all_lanes: bool = False) -> None:
        """Write that an instruction refuses undefined registers."""
        read = [*read]
        scalars = self.either([self.said_of(Place.MARKS, each) for each in read if each[0] != "v"])
        registers = [each for each in read if each[0] == "v"]
        any_mark = self.either([scalars, *(self.said_of(Place.MARKS, each) for each in registers)])
        with self.where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            flags = [self.one.operate("icmp eq", WORD, scalars, "0")]
            for each in registers:
                numbers = f"ptr %wave, i64 {self.offset(each)}, i1 {str(in_all_lanes).lower()}"
                flags.append(self.ir.put(f"call i1 {self.helper(IS_DEFINED)}({numbers})"))
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

    def _define(self) -> None:
        """Write that registers are defined in executing lanes."""
        self.clear_words(Place.MARKS, self._defined)
        registers = [each for each in self._defined if each[0] == "v"]
        if not registers:
            return
        any_mark = self.either([self.said_of(Place.MARKS, each) for each in registers])
        with self.where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            for each in registers:
                self._take_marks(each, "null")
            self.jump(behind)

    def _take_marks(self, cell: Cell, row: str) -> None:
        """Write that a register gets the marks of a row in executing lanes."""
        numbers = f"ptr %wave, i64 {self.offset(cell)}, ptr {row}, ptr {self.slot}"
        self.ir.do(f"call void {self.helper(DEFINE)}({numbers})")

    # --- One lane of a register -----------------------------------------------------------------------------------

    def _look_at_lane(self, instruction: GpuInstruction, scalars: list[Cell]) -> None:
        """Write the checks of a move from or to one lane of a register; others may be undefined."""
        if scalars:
            self._look_at_marks(scalars)
        register, lane = instruction.sources[0], instruction.sources[-1]
        is_first = instruction.name == "v_readfirstlane_b32"
        number = first_lane(self) if is_first else lane_of(self, self.scalar(lane, 32))
        row = self.row_beside(Place.MARKS, ("v", self.vector_register(register)))[0]
        place = self.lane_at(row, number)
        if instruction.name == "v_writelane_b32":
            self._defined = ()
            self._changes.append(partial(self.ir.do, f"store i32 0, ptr {place}, align 4"))
        else:
            self.refuse_unless(self.one.operate("icmp eq", WORD, self.load("i32", place), "0"))

    # --- Memory ---------------------------------------------------------------------------------------------------

    @property
    def _memory_of_marks(self) -> FormWriter:
        """What writes the same text, and reaches marks in place of memory."""
        kind = MarkMemoryOfStretch if isinstance(self, StretchWriter) else MarkMemory
        marks = kind.__new__(kind)
        vars(marks).update(vars(self), state=self.followed(Place.MARKS))
        return marks

    def beside(self, find: Callable[[FormWriter], Move], count: int, *, is_load: bool) -> None:
        super().beside(find, count, is_load=is_load)
        if self._moved:
            self._look_at_marks(self._moved)
        marks = self._memory_of_marks
        move, whole, room = find(marks), self.vectors.type(WORD), marks.room("moved", count * self.lanes, "i32")
        rows = [self.at(room, str(4 * self.lanes * number)) for number in range(count)]
        for row in rows:
            self.ir.do(f"store {whole} zeroinitializer, ptr {row}, align 64")
        if is_load:
            move(rows, True)
            self.refuse_unless(self._is_defined([self.load(whole, row, 64) for row in rows]))
        else:
            self._changes.append(partial(move, rows, False))

    def beside_rows(
        self, found: Rows, find: Callable[[FormWriter], Rows | None], registers: list[int], *, is_load: bool
    ) -> None:
        """Move marks beside numbers, too, where the register has had the same ones from there."""
        super().beside_rows(found, find, registers, is_load=is_load)
        line, step = find(self._memory_of_marks) or ("", "")
        lines, whole, vectors = [line], self.vectors.type(WORD), self.vectors
        for _register in registers[1:]:
            lines.append(self.at(lines[-1], step))
        cells: list[Cell] = [("v", register) for register in registers]
        said = self.either([self.said_of(Place.MARKS, each) for each in cells])
        has_marks = moves_marks = self.one.operate("icmp ne", WORD, said, "0")
        if is_load:
            is_defined = self._is_defined([self.load(whole, each, 4) for each in lines])
            moves_marks = self.one.operate("xor", FLAG, is_defined, "true")
        with self.where(moves_marks) as some:
            rest = f"i1 {str(is_load).lower()}"
            numbers = (
                f"ptr %wave, i64 {self.offset(each)}, ptr {row}, {rest}" for each, row in zip(cells, lines, strict=True)
            )
            self._go_on_if([self.ir.put(f"call i1 {self.helper(IS_COPY)}({each})") for each in numbers], some)
        self._defined = ()
        self.rule |= Rule.ENDS_STRETCH if is_load else Rule(0)  # what is behind it has to look at the register

        def store() -> None:
            others = vectors.operate("xor", WORD, self.exec_row(), vectors.constant(-1, WORD))
            for each, row in zip(cells, lines, strict=True):
                left = vectors.operate("and", WORD, self.load(whole, row, 4), others)
                new = self.load(whole, self.row_beside(Place.MARKS, each)[0], 64)
                new = vectors.operate("or", WORD, left, vectors.operate("and", WORD, new, self.exec_row()))
                self.ir.do(f"store {whole} {new}, ptr {row}, align 4")

        def load() -> None:
            with self.where(self.one.operate("or", FLAG, has_marks, moves_marks)) as behind:
                for each, row in zip(cells, lines, strict=True):
                    self._take_marks(each, row)
                self.jump(behind)

        self._changes.append(load if is_load else store)

    def beside_words(self, find: Callable[[FormWriter], str], first: int, count: int) -> None:
        super().beside_words(find, first, count)
        pointer = find(self._memory_of_marks)
        words = [self.load("i32", self.at(pointer, str(4 * number)), 1) for number in range(count)]
        self.refuse_unless(self.one.operate("icmp eq", WORD, self.either(words), "0"))

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
        super().begin(instruction)
        if self._done:
            self._defined = [each for each in self._defined if self._last[each] == self._done]
        elif self._others:
            self._look_at_marks(self._others)

    def _look_at_marks(self, read: Iterable[Cell], *, in_all_lanes: bool = False) -> None:
        if not self._done:
            super()._look_at_marks(read, in_all_lanes=in_all_lanes)


_LANE_MOVES = frozenset(("v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32"))
