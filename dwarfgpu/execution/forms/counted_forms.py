"""Forms that count: how often waves execute each instruction, with how many lanes, and what these reach.

Each slot of a program has a record of `CountField` for each way that calls lead to it. The state of a wave says how far
its records are from the slots. Of straight code only the first and the last instruction are counted, while the same
lanes execute: what is between them follows when the records are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dwarfgpu.execution.access_shapes import LOCAL, SCRATCH
from dwarfgpu.execution.batch import EXEC
from dwarfgpu.execution.forms.counting_functions import (
    DECLARED,
    INNER_WAY,
    LINES,
    ROW_LINES,
    TURNS,
    CountField,
    WayField,
)
from dwarfgpu.execution.forms.form_writer import LONG, FormWriter, lane_numbers
from dwarfgpu.execution.forms.layout import RULE, SLOT, Place, Rule
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
        self._reached: list[tuple[str, str, str]] = []
        """What counts memory that is reached, the addresses of lanes or of the first one, and more for it."""
        self._way = ""
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
        self._size, self._is_changed, self._way = instruction.size, False, ""
        if not self._is_open:
            kind = f"i{self.lanes}"
            number = self.ir.call(f"llvm.ctpop.{kind}", kind, (kind, self.mask(EXEC)))
            self._active = self.one.resized(number, f"u{self.lanes}", LONG)

    def _spread_exec(self) -> None:
        super()._spread_exec()
        self._is_changed = True

    def leave(self, slot: str) -> None:
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
        if self._way:
            self.ir.do(f"store ptr {self._way}, ptr {self.at('%wave', str(int(Place.WAY)))}, align 8")
            distance = self.load("i64", self.at(self._way, str(int(WayField.DISTANCE))), 8)
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
            lanes = lane_numbers("i64", (4 * lane for lane in range(self.lanes)))
            places, size = vectors.operate("add", LONG, row, lanes), 4
        more = "" if space == LOCAL else f", i64 {size}, i64 {7 if self.generation >= 10 else 6}"
        self._reached.append((TURNS if space == LOCAL else ROW_LINES if is_row else LINES, places, more))

    def end_checks(self, *, is_seen: bool = True) -> None:
        super().end_checks(is_seen=is_seen)
        reached, self._reached = self._reached, []
        lanes = self.active_lanes() if reached else ""
        for function, places, more in reached:
            first = f"i64 {places}"
            if function != ROW_LINES:
                room = self.room("reached", self.lanes, "i64")
                self.ir.do(f"store {self.vectors.type(LONG)} {places}, ptr {room}, align 64")
                first = f"ptr {room}"
            name = f"{function}{self.lanes}"
            self.ir.declared[name] = DECLARED[name]
            number = self.ir.put(f"call i64 @{name}({first}, i64 {lanes}{more})")
            self._add(self.slot, CountField.BANK_TURNS if function == TURNS else CountField.TRANSACTIONS, number)
            is_any = self.one.operate("icmp ne", LONG, lanes, "0")
            self._add(self.slot, CountField.ACCESSES, self.ir.put(f"zext i1 {is_any} to i64"))

    # --- Calls ----------------------------------------------------------------------------------------------------

    def change_calls(self, instruction: GpuInstruction, target: str) -> None:
        way, one = self.load("ptr", self.at("%wave", str(int(Place.WAY))), 8), self.one
        if instruction.name in CALLS:
            self.ir.declared[INNER_WAY] = DECLARED[INNER_WAY]
            behind = self._behind(instruction.size)
            self._way = self.ir.put(f"call ptr @{INNER_WAY}(ptr {way}, ptr {behind})")
            self.refuse_unless(self.ir.put(f"icmp ne ptr {self._way}, null"))
            return
        rule = self.load("i32", self.at(self.slot, str(RULE)))
        is_near = one.operate("icmp eq", "u32", one.operate("and", "u32", rule, str(int(Rule.IS_FAR))), "0")
        self.refuse_unless(is_near)
        behind = self.load("ptr", self.at(way, str(int(WayField.BEHIND))), 8)
        self.refuse_unless(self.ir.put(f"icmp eq ptr {behind}, {target}"))
        self._way = self.load("ptr", self.at(way, str(int(WayField.OUTER))), 8)


class CountedStretch(CountedForm, StretchWriter):
    """Writes a stretch that counts its instructions."""
