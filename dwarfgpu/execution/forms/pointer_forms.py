"""Forms of waves whose pointers are followed: each access stays in the buffer that its address came from.

A wave has the provenance of its registers beside its state, a number for each lane, and private memory has it likewise.
Where an instruction touches a pointer, its form does with provenance what the `RULES` say. An access whose lanes all
have an address of one buffer looks only whether they stay in it. Whatever is not as clear refuses, and Python, which
has the same numbers, executes the instruction and tells what is wrong. Python also reaches all other memory in which
pointers were stored, besides scalar loads, as of the arguments of kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

from dwarfgpu.execution.access_shapes import BUFFER, shape_of
from dwarfgpu.execution.batch import VCC
from dwarfgpu.execution.block_writer import INDEX_ENABLE
from dwarfgpu.execution.checks.bounds_check import base_and_offset, loaded_operands, loads_pointers, stored_operands
from dwarfgpu.execution.checks.provenance import (
    LEAST_MASK,
    NONE,
    OTHER,
    RULES,
    SAME,
    WORD_BITS,
    ProvenanceWords,
    Register,
    registers_of,
    results_of,
)
from dwarfgpu.execution.checks.touched_cells import Cell
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.followed_forms import FollowedForm
from dwarfgpu.execution.forms.form_writer import CONSTANTS, LONG, LOW, WORD, FormWriter, Move, Rows
from dwarfgpu.execution.forms.layout import SCC, ArrayField, Place, PointerCell
from dwarfgpu.execution.forms.memory_functions import (
    FLAT_SPACE,
    IN_ARRAY,
    IN_OWN_ARRAY,
    NOT_LOCAL_SPACE,
    POINTER,
    POINTERS_DECLARED,
    PRIVATE_SPACE,
    PUT,
    PUT_ROW,
    REACH,
    REACH_WORDS,
    READ,
    WRITE,
)
from dwarfgpu.execution.forms.operations import first_lane, lane_of
from dwarfgpu.execution.forms.pointer_table import ArraysOfLines
from dwarfgpu.execution.forms.stretches import StretchWriter
from dwarfgpu.execution.instructions import is_idle
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
from dwarfgpu.isa.memory_actions import LOAD, action_of
from dwarfgpu.isa.semantics.llvm import LlvmWriter

ARRAY_SIZE = 8 * len(ArrayField)
"""The bytes of what is known of an array."""


class PointerForm(FollowedForm):
    """Writes the form of an instruction of such waves."""

    def __init__(self, *, arrays: ArraysOfLines, **options: Any) -> None:
        super().__init__(**options)
        self._arrays = arrays
        self._cleared: list[Cell] = []
        """What an access writes that is no pointer."""
        self._stored: list[Cell] = []
        self._access: GpuInstruction | None = None
        self._limits: list[str] | None = None
        """Where the arrays are that an access of local memory may be of."""
        self._buffer = "0"
        """The number of the buffer that an address belongs to, 0 for none."""
        self._found: tuple[str, str] | None = None
        """The distance of a number of a lane to the next, and how far its provenance is from it; 0 if it has none."""

    def helper(self, name: str) -> str:
        own = f"{name}{self.lanes}"
        if own not in POINTERS_DECLARED:
            return super().helper(name)
        self.ir.declared[own] = POINTERS_DECLARED[own]
        return f"@{own}"

    # --- Registers ------------------------------------------------------------------------------------------------

    @property
    def pointers(self) -> str:
        """The provenance of the wave."""
        return self.followed(Place.POINTERS)

    def cells_of(self, operand: GpuOperand | None, count: int = 0) -> list[Cell]:
        """Return the registers of the words of an operand, as states have them."""
        found = [] if operand is None else registers_of(operand, count or operand.count)
        return [self.cell(each) for each in found if each is not None]

    def cell(self, register: Register) -> Cell:
        """Return a register as states have it: accumulation registers are behind the others."""
        file, index = register
        return ("v", index + self.accumulation) if file == "a" else register

    def pointer_place(self, cell: Cell) -> str:
        """Return where the provenance of a register is."""
        if cell[0] == "s":
            return self.word_place(Place.POINTERS, cell)
        return self.row_beside(Place.POINTERS, cell)[0]

    def _any_pointer(self, cells: Iterable[Cell]) -> str:
        """Return a number that is not 0 where one of some registers is a pointer."""
        return self.either([self.said_of(Place.POINTERS, cell) for cell in dict.fromkeys(cells)])

    @contextmanager
    def _where_pointers(self, cells: Iterable[Cell]) -> Iterator[None]:
        """Write what is done where one of some registers is a pointer."""
        with self.where(self.one.operate("icmp ne", WORD, self._any_pointer(cells), "0")) as behind:
            yield
            self.jump(behind)

    def _refuse_pointers(self, cells: Sequence[Cell]) -> None:
        """Refuse an instruction where one of some registers is a pointer."""
        if cells:
            self.refuse_unless(self.one.operate("icmp eq", WORD, self._any_pointer(cells), "0"))

    def _clear(self) -> None:
        """Write that registers are no pointers, in executing lanes."""
        self.clear_words(Place.POINTERS, sorted(self._cleared))
        vectors = [each for each in self._cleared if each[0] == "v"]
        if vectors:
            with self._where_pointers(vectors):
                for cell in vectors:
                    self._put_pointers(cell)

    def _put_pointers(self, cell: Cell, row: str = "null") -> None:
        """Write the provenance of a vector register in executing lanes."""
        numbers = f"ptr %wave, ptr {self.pointers}, i64 {self.offset(cell)}, ptr {row}"
        self.ir.put(f"call i1 {self.helper(PUT)}({numbers})")

    # --- Instructions ---------------------------------------------------------------------------------------------

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        self._cleared, self._stored, self._found, self._access = [], [], None, None
        self._limits = None
        if is_idle(instruction):
            return
        if action_of(instruction, self.generation).operation:
            self._begin_access(instruction)
        elif self.mode & INDEX_ENABLE and instruction.name.startswith("v_"):
            raise UnknownInstruction("registers by number")
        else:
            self._begin_operation(instruction)

    def _begin_operation(self, instruction: GpuInstruction) -> None:
        touched = TouchedWords(self)
        results = [(self.cell(each), word) for each, word in results_of(touched, instruction) if each is not None]
        written = [cell for cell, _word in results]
        if touched.lane is not None and not touched.is_left:
            self._changes.append(partial(self._set_lane, *touched.lane, touched.cells))
        elif touched.is_left or all(word == NONE for _cell, word in results):
            self._cleared = written
            self._changes.append(self._clear)
            if touched.is_left:
                self._refuse_pointers(touched.cells)
                self.ask()
        else:
            self._changes.append(partial(self._follow, instruction, [*touched.cells, *written]))

    def _follow(self, instruction: GpuInstruction, cells: Sequence[Cell]) -> None:
        """Write the provenance of results, of which one may be a pointer where one of some registers is."""
        with self._where_pointers(cells):
            words = WrittenWords(self, instruction)
            results = [(self.cell(each), word) for each, word in results_of(words, instruction) if each is not None]
            rows = [(cell, words.row(word)) for cell, word in results if cell[0] == "v"]
            for cell, word in results:
                if cell[0] == "s":
                    place = self.pointer_place(cell)
                    self.ir.do(f"store i32 {'0' if word == NONE else word}, ptr {place}, align 4")
            for number, (cell, row) in enumerate(rows):
                room = self.room(f"pointers{number}", self.lanes, "i32")
                self.ir.do(f"store {self.vectors.type(WORD)} {row}, ptr {room}, align 64")
                self._put_pointers(cell, room)

    def _set_lane(self, cell: Cell, lane: GpuOperand, value: Sequence[Cell]) -> None:
        """Write the provenance of one lane of a register."""
        number = lane_of(self, self.scalar(lane, 32))
        with self._where_pointers([cell, *value]):
            word = self.load("i32", self.pointer_place(value[0])) if value else "0"
            row, byte = self.row_beside(Place.POINTERS, cell)
            self.ir.do(f"store i32 {word}, ptr {self.lane_at(row, number)}, align 4")
            self.ir.do(f"store i8 1, ptr {byte}")

    # --- Accesses -------------------------------------------------------------------------------------------------

    def _begin_access(self, instruction: GpuInstruction) -> None:
        self._access = instruction
        self._changes.append(self._clear)
        self._stored = [cell for each in stored_operands(instruction) for cell in self.cells_of(each)]
        self._cleared = [cell for each in loaded_operands(instruction) for cell in self.cells_of(each)]
        base, offset = base_and_offset(instruction)
        words, self._buffer = self.cells_of(base, 2), "0"
        if len(words) == 2 and words[0][0] == "v":
            numbers = f"ptr {self.pointers}, ptr %wave, i64 {self.offset(words[0])}, i64 {self.active_lanes()}"
            self._buffer = self.ir.put(f"call i64 {self.helper(POINTER)}({numbers})")
        elif len(words) == 2:
            low, high = (self.said_of(Place.POINTERS, each) for each in words)
            is_buffer = self.one.operate("icmp sgt", WORD, low, "0")
            is_buffer = self.one.operate("and", FLAG, is_buffer, self.one.operate("icmp eq", WORD, low, high))
            buffer = self.one.choose(is_buffer, WORD, low, "0")
            if added := self.cells_of(offset, 1):
                either = self.one.operate("icmp eq", WORD, self._any_pointer(added), "0")
                none = self.one.operate("icmp eq", WORD, buffer, "0")
                self.refuse_unless(self.one.operate("or", FLAG, either, none))
            self._buffer = self.one.resized(buffer, WORD, LONG)

    def _cell(self, cell: PointerCell) -> str:
        """Return the address that is among what a table says of pointers."""
        table = self.load("ptr", self.at(self.pointers, str(int(Place.TABLE))), 8)
        return self.load("ptr", self.at(table, str(8 * cell)), 8)

    def resolved(self, lanes: str, space: int) -> str:
        if space == PRIVATE_SPACE or self._access is None:
            return super().resolved(lanes, space)
        if space == FLAT_SPACE and self._array() is not None:
            space = NOT_LOCAL_SPACE
        is_load = action_of(self._access, self.generation).operation == LOAD
        rows = self._cell(PointerCell.READABLE if is_load else PointerCell.WRITABLE)
        found = self.room("distance", 1, "i64")
        more = f"ptr {self.pointers}, i1 {str(is_load).lower()}, ptr {found}"
        numbers = f"{lanes} {space}, i64 {self._buffer}, ptr {rows}, {more}"
        step = self.ir.put(f"call i64 {self.helper(REACH)}({numbers})")
        self._found = step, self.load("i64", found, 8)
        return step

    def resolved_word(self, address: str, size: int) -> str:
        self.ir.declared[REACH_WORDS] = POINTERS_DECLARED[REACH_WORDS]
        place = f"i64 {address}, i64 {size}, i64 {self._buffer}, ptr {self.room('found', 1, 'ptr')}"
        numbers = f"ptr %wave, ptr {self.pointers}, {place}"
        return self.ir.put(f"call i64 @{REACH_WORDS}({numbers})")

    def beside_words(self, find: Callable[[FormWriter], str], first: int, count: int) -> None:
        """Load the provenance of words, too."""
        super().beside_words(find, first, count)
        words, place = self.load("ptr", self.room("found", 1, "ptr"), 8), self.pointer_place(("s", first))
        self._cleared = []

        def change() -> None:
            for offset in (str(4 * number) for number in range(count)):
                word = self.load("i32", self.at(words, offset), 1)
                self.ir.do(f"store i32 {word}, ptr {self.at(place, offset)}, align 4")

        self._changes.append(change)

    def look_at_local(self, places: str) -> None:
        if self._limits is None:
            arrays = self.of_place("arrays", self._arrays, ArraysOfLines.local)
            self._limits = [f"i32 {self.number(start)}, i32 {self.number(size)}" for start, size in arrays]
        inside = [self.ir.put(f"call i1 {self.helper(IN_ARRAY)}({places}, {each})") for each in self._limits]
        if inside:
            self.refuse_unless(reduce(lambda one, more: self.one.operate("or", FLAG, one, more), inside))

    def look_at_private(self, places: str, step: str, size: int) -> None:
        self._found = step, self._private_distance()
        self._look_at_array(places, size, "")

    def look_at_flat(self, places: str, step: str, size: int) -> None:
        """Do the same where lanes may reach their private memory."""
        if self._found is not None:
            self._look_at_array(places, size, self.one.operate("icmp eq", LONG, self._found[1], "0"))

    def _look_at_array(self, places: str, size: int, unless: str) -> None:
        """Refuse lanes outside of an array in private memory that their line names, unless they are elsewhere."""
        number = self._array()
        if number is None:
            return
        offset = self.one.resized(self.number(ARRAY_SIZE * number), WORD, LONG)
        array = self.at(self._cell(PointerCell.ARRAYS), offset)
        numbers = f"ptr %wave, ptr {array}, ptr {places}, i64 {self.active_lanes()}, i64 {size}"
        inside = self.ir.put(f"call i1 {self.helper(IN_OWN_ARRAY)}({numbers})")
        self.refuse_unless(self.one.operate("or", FLAG, inside, unless) if unless else inside)

    def _array(self) -> int | None:
        """Return the number of the array in private memory that the line of an instruction names."""
        number: int | None = self.of_place("arrays", self._arrays, ArraysOfLines.number)
        return number

    def _private_distance(self) -> str:
        """Return how far the provenance of private memory is from its bytes."""
        beside = self.load("i64", self.at(self.pointers, str(int(Place.PRIVATE))), 8)
        return self.one.operate("sub", LONG, beside, self.field(Place.PRIVATE))

    def beside(self, find: Callable[[FormWriter], Move], count: int, *, is_load: bool) -> None:
        """Move provenance between registers and memory that has any, too."""
        super().beside(find, count, is_load=is_load)
        if self._found is None or self._access is None:
            self._refuse_pointers(self._stored)
            return
        shape, (step, distance), one = shape_of(self._access.name), self._found, self.one
        if shape is None or (shape.action not in ("load", "store") and shape.space == BUFFER):
            raise UnknownInstruction(f"{self._access.mnemonic} where there may be pointers")
        is_apart = shape.space == BUFFER and count > 1  # Python moves the bytes of a stack one by one
        if is_load and (is_apart or not loads_pointers(self._access)):
            if shape.action != "load":  # it changes memory
                self.refuse_unless(one.operate("icmp eq", LONG, distance, "0"))
            return
        moved = self._cleared if is_load else self._stored
        has_pointers = one.operate("icmp ne", WORD, self._any_pointer(moved), "0")
        has_some = one.operate("icmp ne", LONG, distance, "0")
        if not is_load:
            may_store = one.constant(0, FLAG) if is_apart else has_some
            none = one.operate("xor", FLAG, has_pointers, "true")
            self.refuse_unless(one.operate("or", FLAG, none, may_store))

        def change() -> None:
            with self.where(has_some) as behind:
                self._move_pointers(moved, count, step, distance, is_load=is_load)
                self.jump(behind)
            if not is_load and not is_apart:
                with self.where(one.operate("and", FLAG, has_some, has_pointers)) as behind:
                    self._flag_rows(step, count)
                    self.jump(behind)

        self._changes.append(change)

    def _move_pointers(self, cells: Sequence[Cell], count: int, step: str, distance: str, *, is_load: bool) -> None:
        """Write a move of provenance between registers and memory; what is stored in part is no pointer."""
        vectors, room = self.vectors, self.room("moved", count * self.lanes, "i32")
        wide, whole = vectors.type(LONG), vectors.type(WORD)
        beside = vectors.spread(distance, LONG)
        beside = vectors.operate("add", LONG, self.load(wide, self.room("places", self.lanes, "i64"), 64), beside)
        beside = vectors.operate("and", LONG, beside, vectors.constant(-4, LONG))
        start = self.room("beside", self.lanes, "i64")
        self.ir.do(f"store {wide} {beside}, ptr {start}, align 64")
        rows = [self.at(room, str(4 * self.lanes * number)) for number in range(count)]
        for number, row in enumerate(rows):
            is_stored = not is_load and number < len(cells)
            value = self.load(whole, self.pointer_place(cells[number]), 64) if is_stored else "zeroinitializer"
            self.ir.do(f"store {whole} {value}, ptr {row}, align 64")
        numbers = f"ptr {start}, i64 {self.active_lanes()}, i64 {step}, i64 {count}, ptr {room}"
        self.ir.do(f"call void {self.helper(READ if is_load else WRITE)}({numbers})")
        for cell, row in zip(cells if is_load else (), rows, strict=False):
            self._put_pointers(cell, row)

    def _flag_rows(self, step: str, count: int) -> None:
        """Say that there may be pointers where lanes have stored some in private memory."""
        one, flags, private = self.one, self._cell(PointerCell.POINTERS), self.field(Place.PRIVATE)
        with self.each_lane() as lane:
            place = self.load("i64", self.lane_at(self.room("places", self.lanes, "i64"), lane, 8), 8)
            within = one.operate("sub", LONG, place, private)
            for _number in range(count):
                row = one.operate("lshr", LONG, within, str((4 * self.lanes).bit_length() - 1))
                self.ir.do(f"store i8 1, ptr {self.at(flags, row)}")
                within = one.operate("add", LONG, within, step)

    def beside_rows(
        self, found: Rows, find: Callable[[FormWriter], Rows | None], registers: list[int], *, is_load: bool
    ) -> None:
        """Move provenance beside numbers, where the register or the row may have a pointer."""
        super().beside_rows(found, find, registers, is_load=is_load)
        line, step = found
        cells = [("v", register) for register in registers]
        self._cleared, looked = [], self._any_pointer(cells)
        flags, private, distance = self._cell(PointerCell.POINTERS), self.field(Place.PRIVATE), self._private_distance()
        rows = []
        for number, cell in enumerate(cells):
            line = self.at(line, step) if number else line
            within = self.one.operate("sub", LONG, self.ir.put(f"ptrtoint ptr {line} to i64"), private)
            flag = self.at(flags, self.one.operate("lshr", LONG, within, str((4 * self.lanes).bit_length() - 1)))
            looked = self.either([looked, self.ir.put(f"zext i8 {self.load('i8', flag, 1)} to i32")])
            rows.append((cell, self.at(line, distance), flag))

        def change() -> None:
            with self.where(self.one.operate("icmp ne", WORD, looked, "0")) as behind:
                for cell, row, flag in rows:
                    if is_load:
                        self._put_pointers(cell, row)
                        continue
                    numbers = f"ptr %wave, ptr {self.pointers}, i64 {self.offset(cell)}, ptr {row}, ptr {flag}"
                    self.ir.do(f"call void {self.helper(PUT_ROW)}({numbers})")
                self.jump(behind)

        self._changes.append(change)


class PointerStretch(PointerForm, StretchWriter):
    """Writes a stretch of such waves."""

    def _cell(self, cell: PointerCell) -> str:
        key = "cell", cell
        if key not in self._known:
            self._known[key] = super()._cell(cell)
        return self._known[key]

    def _private_distance(self) -> str:
        if "distance" not in self._known:
            self._known["distance"] = super()._private_distance()
        return self._known["distance"]

    @contextmanager
    def where(self, condition: str) -> Iterator[str]:
        """What is remembered inside holds only there."""
        known = dict(self._known)
        with super().where(condition) as behind:
            yield behind
        self._known.clear()
        self._known.update(known)


class TouchedWords(ProvenanceWords):
    """Writes nothing, and notes the registers of which an instruction moves provenance."""

    def __init__(self, form: PointerForm) -> None:
        self.form = form
        self.cells: list[Cell] = []
        self.is_left = False
        """Whether what the instruction makes of pointers is left to Python."""
        self.lane: tuple[Cell, GpuOperand] | None = None
        """The register of which it writes one lane, and the number of the lane."""

    def word(self, register: Register) -> str:
        self.cells.append(self.form.cell(register))
        return f"{register[0]}{register[1]}"

    def ruled(self, rule: str, words: list[str]) -> str:
        return rule

    def selected(self, instruction: GpuInstruction, left: str, right: str) -> str:
        return NONE if left == right == NONE else SAME

    def masked(self, sources: list[GpuOperand], number: int, left: str, right: str, *, is_scalar: bool) -> str:
        if left == right == NONE:
            return NONE
        self.is_left |= all(each.kind not in CONSTANTS for each in sources[:2])
        return OTHER

    def shifted(self, count: GpuOperand, word: str, low: str, high: str) -> str:
        self.is_left |= count.kind not in CONSTANTS
        return OTHER

    def moved(self, word: str) -> str:
        self.is_left |= word != NONE
        return word

    def of_lane(self, word: str, lane: GpuOperand | None = None) -> str:
        self.is_left |= word[0] in "va" and lane is not None and lane.kind not in CONSTANTS
        return word

    def forget(self, file: str, first: int) -> None:
        raise UnknownInstruction("registers by number")

    def set_lane(self, register: Register, word: str, lane: GpuOperand) -> None:
        if lane.kind in CONSTANTS:
            self.lane = self.form.cell(register), lane
        else:
            self.is_left = True
            self.cells.append(self.form.cell(register))


class WrittenWords(TouchedWords):
    """Writes provenance as LLVM IR: of vector operations in rows, of scalar ones as numbers."""

    def __init__(self, form: PointerForm, instruction: GpuInstruction) -> None:
        super().__init__(form)
        self.vectors = form.one if instruction.name[0] == "s" else form.vectors
        self._words: dict[Register, str] = {}
        self._cells: dict[str, Cell] = {}

    def row(self, word: str) -> str:
        """Return a word as a value."""
        return self.vectors.constant(0, WORD) if word == NONE else word

    def word(self, register: Register) -> str:
        if register not in self._words:
            form, cell = self.form, self.form.cell(register)
            place, is_row = form.pointer_place(cell), cell[0] == "v"
            value = form.load(form.vectors.type(WORD) if is_row else "i32", place, 64 if is_row else 4)
            self._words[register] = value if is_row else self.vectors.spread(value, WORD)
            self._cells[self._words[register]] = cell
        return self._words[register]

    def ruled(self, rule: str, words: list[str]) -> str:
        first, *more = [self.row(word) for word in words]
        for each in more or [self.row(NONE)]:
            (first,) = LlvmWriter(self.form.ir, self.vectors.lanes).results(RULES[rule], [first, each])
        return first

    def selected(self, instruction: GpuInstruction, left: str, right: str) -> str:
        if left == right:
            return left
        form, sources = self.form, instruction.sources
        if instruction.name[0] == "s":
            flags = form.one.operate("icmp ne", WORD, form.word(SCC), "0")
        else:
            flags = form.flags(form.scalar(sources[2], form.lanes) if len(sources) > 2 else form.mask(VCC))
        return self.vectors.choose(flags, WORD, self.row(right), self.row(left))

    def masked(self, sources: list[GpuOperand], number: int, left: str, right: str, *, is_scalar: bool) -> str:
        word, mask = (right, sources[0]) if left == NONE else (left, sources[1])
        bits = ((mask.value >> 32 * number) & LOW).bit_count()
        return NONE if word == NONE or not bits else word if bits >= LEAST_MASK else self(OTHER, word)

    def shifted(self, count: GpuOperand, word: str, low: str, high: str) -> str:
        return word if count.value == WORD_BITS else self(OTHER, low, high)

    def of_lane(self, word: str, lane: GpuOperand | None = None) -> str:
        if word == NONE:
            return word
        form, cell = self.form, self._cells[word]
        if cell[0] == "s":
            return form.load("i32", form.pointer_place(cell))
        number = first_lane(form) if lane is None else lane_of(form, form.scalar(lane, 32))
        return form.load("i32", form.lane_at(form.pointer_place(cell), number))
