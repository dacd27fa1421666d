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

from dwarfgpu.execution.checks.touched_cells import ACCESSES, BRANCHES, CLEARS, COMPUTES, Cell, is_by_lane, touched_by
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.followed_forms import FollowedForm, runs
from dwarfgpu.execution.forms.form_writer import WORD, FormWriter, Move, Rows, nothing
from dwarfgpu.execution.forms.layout import Place, Rule
from dwarfgpu.execution.forms.memory_functions import DEFINE, IS_COPY, IS_DEFINED
from dwarfgpu.execution.forms.operations import first_lane, lane_of
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction


class CheckedForm(FollowedForm):
    """Writes the form of an instruction of checked waves."""

    BESIDE = Place.MARKS

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._written: tuple[Cell, ...] = ()
        """What is to be defined behind the last check."""
        self._data: list[Cell] = []
        """What an access moves, where that may be undefined if it is a copy."""

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
        self._data = [*self.cells(touched.read)] if touched.does == ACCESSES else []
        read = self.cells(first if self._data else (*first, *touched.read))
        return [*read], [*dict.fromkeys(self.cells(touched.written))], touched.does

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
        scalars = self.either([self.word_of(each) for each in read if each[0] != "v"])
        registers = [self.byte_of(each) for each in read if each[0] == "v"]
        any_mark = self.either([scalars, *(byte for _offset, byte in registers)])
        with self.where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            flags = [self.one.operate("icmp eq", WORD, scalars, "0")]
            for offset, _byte in registers:
                numbers = f"ptr %wave, i64 {offset}, i1 {str(in_all_lanes).lower()}"
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

    def _define(self, written: Sequence[Cell]) -> None:
        """Write that registers are defined in executing lanes."""
        for first, count in runs(each for each in written if each[0] != "v"):
            place = self.word_place(first)
            for number in range(count):
                self.ir.do(f"store i32 0, ptr {self.at(place, str(4 * number))}, align 4")
        registers = [self.byte_of(each) for each in written if each[0] == "v"]
        if not registers:
            return
        any_mark = self.either([byte for _offset, byte in registers])
        with self.where(self.one.operate("icmp ne", WORD, any_mark, "0")) as behind:
            for offset, _byte in registers:
                self.ir.do(f"call void {self.helper(DEFINE)}(ptr %wave, i64 {offset}, ptr null, ptr {self.slot})")
            self.jump(behind)

    # --- One lane of a register -----------------------------------------------------------------------------------

    def _look_at_lane(self, instruction: GpuInstruction, scalars: list[Cell]) -> None:
        """Write the checks of a move from or to one lane of a register; others may be undefined."""
        if scalars:
            self._look(scalars)
        register, lane = instruction.sources[0], instruction.sources[-1]
        is_first = instruction.name == "v_readfirstlane_b32"
        number = first_lane(self) if is_first else lane_of(self, self.scalar(lane, 32))
        row = self.row_in(self.followed(), super().row_offset(self.vector_register(register)))[0]
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
        self.state = self.followed()
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
        self, _found: Rows, find: Callable[[], Rows | None], registers: list[int], *, is_load: bool
    ) -> Callable[[], None]:
        """Move marks beside numbers, too, where the register has had the same ones from there."""
        with self._memory_of_marks():
            line, step = find() or ("", "")
        lines, whole, vectors = [line], self.vectors.type(WORD), self.vectors
        for _register in registers[1:]:
            lines.append(self.at(lines[-1], step))
        own = [self.byte_of(("v", register)) for register in registers]
        places = [*zip((offset for offset, _byte in own), lines, strict=True)]
        has_marks = self.one.operate("icmp ne", WORD, self.either([byte for _offset, byte in own]), "0")
        moves_marks = has_marks
        if is_load:
            is_defined = self._is_defined([self.load(whole, each, 4) for each in lines])
            moves_marks = self.one.operate("xor", FLAG, is_defined, "true")
        with self.where(moves_marks) as some:
            rest = f"i1 {str(is_load).lower()}"
            calls = (f"{self.helper(IS_COPY)}(ptr %wave, i64 {at}, ptr {row}, {rest})" for at, row in places)
            self._go_on_if([self.ir.put(f"call i1 {each}") for each in calls], some)
        self._written = ()
        self.rule |= Rule.ENDS_STRETCH if is_load else Rule(0)  # what is behind it has to look at the register

        def finish() -> None:
            if not is_load:
                others = vectors.operate("xor", WORD, self.exec_row(), vectors.constant(-1, WORD))
                for offset, row in places:
                    left = vectors.operate("and", WORD, self.load(whole, row, 4), others)
                    new = self.load(whole, self.row_in(self.followed(), offset)[0], 64)
                    new = vectors.operate("or", WORD, left, vectors.operate("and", WORD, new, self.exec_row()))
                    self.ir.do(f"store {whole} {new}, ptr {row}, align 4")
                return
            with self.where(self.one.operate("or", FLAG, has_marks, moves_marks)) as behind:
                for offset, row in places:
                    numbers = f"ptr %wave, i64 {offset}, ptr {row}, ptr {self.slot}"
                    self.ir.do(f"call void {self.helper(DEFINE)}({numbers})")
                self.jump(behind)

        return finish

    def beside_words(self, find: Callable[[], str], first: int, count: int) -> Callable[[], None]:
        with self._memory_of_marks():
            pointer = find()
        words = [self.load("i32", self.at(pointer, str(4 * number)), 1) for number in range(count)]
        self.refuse_unless(self.one.operate("icmp eq", WORD, self.either(words), "0"))
        return nothing

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


_LANE_MOVES = frozenset(("v_readlane_b32", "v_writelane_b32", "v_readfirstlane_b32"))
