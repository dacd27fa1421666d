"""Forms that count: how often waves execute each instruction, with how many lanes, and what these reach.

Each slot of a program has a record of `CountField` for each way that calls lead to it. The state of a wave says how far
its records are from the slots. Of straight code only the first and the last instruction are counted, while the same
lanes execute: what is between them follows when the records are read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from dwarfgpu.execution.access_shapes import LOCAL, SCRATCH, line_bytes
from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.counting_functions import BANKS, DECLARED, INNER_WAY, LINES, TURNS, CountField, WayField
from dwarfgpu.execution.forms.form_writer import LONG, WORD, FormWriter, lane_numbers
from dwarfgpu.execution.forms.layout import RULE, SLOT, Place, Rule
from dwarfgpu.execution.forms.loops import LoopExit, LoopWriter
from dwarfgpu.execution.forms.stretches import StretchWriter
from dwarfgpu.isa.instruction import CALLS, GpuInstruction


class CountedForm(FormWriter):
    """Writes the form of an instruction that counts itself. One that refuses does not count: Python counts it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._size = 0
        """The bytes of the instruction."""
        self._active = ""
        """The number of executing lanes, of all instructions since a record has got them, or of this one."""
        self._is_open = False
        """Whether a record has got them that another one is to take back."""
        self._is_changed = False
        """Whether the instruction changes which lanes execute."""
        self._reached: list[tuple[str, Callable[[str], str]]] = []
        """The spaces of memory that is reached, and what counts it."""
        self._line = line_bytes(self.generation)
        self._called = ""
        """The way of calls that the instruction leads to, if it is a call or a return."""

    def _behind(self, size: int) -> str:
        """Return the slot behind the instruction."""
        return self.at(self.slot, str(SLOT * (size // 4)))

    def _add(self, slot: str, field: CountField, number: str, operation: str = "add", distance: str = "") -> None:
        """Change a number of the record of a slot."""
        place = self.at(self.at(slot, distance or self.field(Place.RECORDS)), str(8 * field))
        self.ir.do(f"store i64 {self.one.operate(operation, LONG, self.load('i64', place, 8), number)}, ptr {place}")

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        self._size, self._is_changed, self._called = instruction.size, False, ""
        if not self._is_open:
            kind = f"i{self.lanes}"
            number = self.ir.call(f"llvm.ctpop.{kind}", kind, (kind, self.mask(EXEC)))
            self._active = self.one.resized(number, f"u{self.lanes}", LONG)

    def _spread_exec(self) -> None:
        super()._spread_exec()
        self._is_changed = True

    def _count(self) -> None:
        """Count the instruction, or change what records have where straight code begins and ends."""
        ends = self._is_changed or self._is_last
        if not self._is_open and ends:
            self._add(self.slot, CountField.INSTRUCTIONS, "1")
            self._add(self.slot, CountField.LANES, self._active)
        elif not self._is_open:
            self._change(self.slot, "add")
            self._is_open = True
        elif ends:
            self._change(self._behind(self._size), "sub")
            self._is_open = False

    def leave(self, slot: str) -> None:
        self._count()
        if self._called:
            self.ir.do(f"store ptr {self._called}, ptr {self.at('%wave', str(int(Place.WAY)))}, align 8")
            distance = self.load("i64", self.at(self._called, str(int(WayField.DISTANCE))), 8)
            self.ir.do(f"store i64 {distance}, ptr {self.at('%wave', str(int(Place.RECORDS)))}, align 8")
        super().leave(slot)

    def _change(self, slot: str, operation: str, distance: str = "") -> None:
        """Let a record have one execution more or less than the one before it."""
        self._add(slot, CountField.MORE, "1", operation, distance)
        self._add(slot, CountField.MORE_LANES, self._active, operation, distance)

    def refuse(self) -> None:
        if self._is_open:  # nothing that is read here is known elsewhere
            self._change(self.slot, "sub", self.load("i64", self.at("%wave", str(int(Place.RECORDS))), 8))
        super().refuse()

    # --- Memory ---------------------------------------------------------------------------------------------------

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        vectors, places = self.vectors, addresses()
        if space == SCRATCH and is_row:
            places, size = "0", 4
        elif space == SCRATCH:  # dwords of the lanes follow each other
            dword = vectors.operate("ashr", LONG, places, vectors.constant(2, LONG))
            row = vectors.operate("mul", LONG, dword, vectors.constant(4 * self.lanes, LONG))
            places, size = vectors.operate("add", LONG, row, self._dwords()), 4
        count = self._count_row if is_row else self._count_turns if space == LOCAL else self._count_lines
        self._reached.append((space, partial(count, places, size)))

    def end_checks(self, *, is_seen: bool = True) -> None:
        super().end_checks(is_seen=is_seen)
        reached, self._reached = self._reached, []
        lanes = self.active_lanes() if reached else ""
        for space, count in reached:
            self._add(self.slot, CountField.BANK_TURNS if space == LOCAL else CountField.TRANSACTIONS, count(lanes))
            self._add(self.slot, CountField.ACCESSES, self._is_any(lanes))

    def _is_any(self, lanes: str) -> str:
        """Return 1 if there is a lane, else 0."""
        return self.ir.put(f"zext i1 {self.one.operate('icmp ne', LONG, lanes, '0')} to i64")

    def _dwords(self) -> str:
        """Return how far the lanes are from the first, if each has a dword."""
        return lane_numbers("i64", (4 * lane for lane in range(self.lanes)))

    def _count_row(self, start: str, size: int, lanes: str) -> str:
        """Return how many lines lanes reach that are a dword apart from an address on, where a line mostly begins."""
        one, each, found = self.one, self._line // 4, "0"
        for first in range(0, self.lanes, each):
            own = one.operate("and", LONG, lanes, str((1 << each) - 1 << first))
            found = one.operate("add", LONG, found, self._is_any(own))
        within = one.operate("and", LONG, start, str(self._line - 1))
        is_begin = one.operate("icmp eq", LONG, within, "0") if size == 4 else "false"

        def apart() -> str:
            places = self.vectors.operate("add", LONG, self.vectors.spread(start, LONG), self._dwords())
            return self._call(LINES, self._kept(places, LONG), lanes, size)

        return self._usually(is_begin, found, apart)

    def _count_turns(self, places: str, _size: int, lanes: str) -> str:
        """Return the turns of local memory: mostly one, for dwords in a row of all banks."""
        words = self.vectors.resized(places, LONG, WORD)
        room = self._kept(words, WORD)
        is_one = self._are_together(room, WORD, 4 * BANKS, lanes, words)
        return self._usually(is_one, self._is_any(lanes), lambda: self._call(TURNS, room, lanes))

    def _count_lines(self, places: str, size: int, lanes: str) -> str:
        """Return how many lines lanes reach: mostly one."""
        room = self._kept(places, LONG)
        ends = self.vectors.operate("add", LONG, places, self.vectors.constant(size - 1, LONG))
        is_one = self._are_together(room, LONG, self._line, lanes, places, ends)
        return self._usually(is_one, self._is_any(lanes), lambda: self._call(LINES, room, lanes, size))

    def _kept(self, places: str, kind: str) -> str:
        """Return where functions find the addresses of the lanes."""
        room = self.room("reached", self.lanes, "i64")
        self.ir.do(f"store {self.vectors.type(kind)} {places}, ptr {room}, align 64")
        return room

    def _are_together(self, room: str, kind: str, width: int, lanes: str, *places: str) -> str:
        """Return whether what executing lanes reach is in one part of memory of a width, a power of 2."""
        vectors, one = self.vectors, self.one
        lowest = self.ir.call("llvm.cttz.i64", "i64", ("i64", lanes), ("i1", "false"))
        lane = one.operate("and", LONG, lowest, str(self.lanes - 1))
        number = one.type(kind)
        some = self.load(number, self.ir.put(f"getelementptr {number}, ptr {room}, i64 {lane}"))
        every = vectors.spread(some, kind)
        distances = [vectors.operate("xor", kind, each, every) for each in places]
        distance = reduce(partial(vectors.operate, "or", kind), distances)
        return self.none(vectors.operate("icmp uge", kind, distance, vectors.constant(width, kind)))

    def _usually(self, condition: str, number: str, other: Callable[[], str]) -> str:
        """Return a number if a condition is true, else another one that takes long."""
        rare, behind, before = self.ir.name("rare"), self.ir.name("counted"), self.ir.block
        self.fork(condition, behind, rare)
        self.go_on(rare)
        found = other()
        self.jump(behind)
        self.go_on(behind)
        return self.ir.put(f"phi i64 [ {number}, %{before} ], [ {found}, %{rare} ]")

    def _call(self, function: str, room: str, lanes: str, size: int = 0) -> str:
        name, more = f"{function}{self.lanes}", f", i64 {size}, i64 {self._line.bit_length() - 1}" if size else ""
        self.ir.declared[name] = DECLARED[name]
        return self.ir.put(f"call i64 @{name}(ptr {room}, i64 {lanes}{more})")

    # --- Calls ----------------------------------------------------------------------------------------------------

    def change_calls(self, instruction: GpuInstruction, target: str) -> None:
        way, one = self.load("ptr", self.at("%wave", str(int(Place.WAY))), 8), self.one
        if instruction.name in CALLS:
            self.ir.declared[INNER_WAY] = DECLARED[INNER_WAY]
            behind = self._behind(instruction.size)
            self._called = self.ir.put(f"call ptr @{INNER_WAY}(ptr {way}, ptr {behind})")
            self.refuse_unless(self.ir.put(f"icmp ne ptr {self._called}, null"))
            return
        rule = self.load("i32", self.at(self.slot, str(RULE)))
        is_near = one.operate("icmp eq", "u32", one.operate("and", "u32", rule, str(int(Rule.IS_FAR))), "0")
        self.refuse_unless(is_near)
        behind = self.load("ptr", self.at(way, str(int(WayField.BEHIND))), 8)
        self.refuse_unless(self.ir.put(f"icmp eq ptr {behind}, {target}"))
        self._called = self.load("ptr", self.at(way, str(int(WayField.OUTER))), 8)


class CountedStretch(CountedForm, StretchWriter):
    """Writes a stretch that counts its instructions."""


class CountedLoop(CountedForm, LoopWriter):
    """Writes a loop that counts its instructions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._open: dict[str, str] = {}
        """The lanes that a record has got when a wave leaves before an instruction, by the label of the way out."""

    def go_behind(self, size: int) -> None:
        self._count()
        super().go_behind(size)

    def go_to(self, distance: int) -> None:
        self._count()
        super().go_to(distance)

    def choose_way(self, condition: str, distance: int, size: int) -> None:
        self._count()
        super().choose_way(condition, distance, size)

    def _exit(self, address: int, done: int, *, refuses: bool = False) -> str:
        label = super()._exit(address, done, refuses=refuses)
        if refuses and self._is_open:
            self._open[label] = self._active
        return label

    def _written_exit(self, way: LoopExit) -> list[str]:
        label, *lines = super()._written_exit(way)
        if way.label in self._open:
            self.ir.lines, self._active = [], self._open[way.label]
            slot = self.at("%slot", str(SLOT // 4 * (way.address - self._start)))
            self._change(slot, "sub", self.load("i64", self.at("%wave", str(int(Place.RECORDS))), 8))
            lines = [*self.ir.lines, *lines]
        return [label, *lines]
