"""Forms of waves that are checked for races and waits: what they access is counted, and what they have waited for.

The numbers are those of the checks themselves, in their arrays. A form refuses registers whose loads are not complete,
and, where races are looked for, all that orders waves: barriers, write-backs, invalidates. Python executes these.
Accesses are written to a log, of which the check is told before anything changes the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.access_shapes import BUFFER, LOCAL, SCRATCH, shape_of
from dwarfgpu.execution.checks.align_check import multiple
from dwarfgpu.execution.checks.wait_check import NUMBER_BITS
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.access_log import LoggedParts, head_of
from dwarfgpu.execution.forms.followed_forms import runs
from dwarfgpu.execution.forms.form_writer import LONG, LOW, WORD, FormWriter
from dwarfgpu.execution.forms.layout import NUMBERS, LogField, Place, Rule
from dwarfgpu.execution.forms.memory_functions import load
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter
from dwarfgpu.execution.memory_access import local_offsets
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import CALLS, JUMPS, GpuInstruction
from dwarfgpu.isa.memory_actions import MemoryAction, action_of, needed_registers

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.checked_memory import CheckedMemory

PACKED = 3
"""The rows of registers that one number of a slot has; the last one must be below 1,024."""
_ROW_BITS, _MOST_LAST = 11, 1 << 10
IS_COMPLETE = "forms_is_complete"
"""``i1 @forms_is_complete(ptr wave, i64 row)``: whether the latest load of a register is complete, which is then
forgotten."""


def _is_open(name: str, place: int) -> str:
    """Write whether a number of an access is not complete."""
    return f"""{load(name, "%own", place)}
  %{name}.late = and i64 %{name}, 1
  %{name}.is.late = icmp ne i64 %{name}.late, 0
  %{name}.limits = select i1 %{name}.is.late, ptr %emptied, ptr %complete
  %{name}.shifted = lshr i64 %{name}, 1
  %{name}.kind = and i64 %{name}.shifted, {(1 << NUMBER_BITS - 1) - 1}
  %{name}.limit.at = getelementptr i64, ptr %{name}.limits, i64 %{name}.kind
  %{name}.limit = load i64, ptr %{name}.limit.at
  %{name}.number = lshr i64 %{name}, {NUMBER_BITS}
  %{name}.open = icmp sgt i64 %{name}.number, %{name}.limit
"""


WAIT_FUNCTIONS = f"""
define i1 @{IS_COMPLETE}(ptr %wave, i64 %row) {{
entry:
{load("latest", "%wave", Place.LATEST_LOADS, "ptr")}{load("numbers", "%wave", Place.LOAD_NUMBERS, "ptr")}\
{load("complete", "%wave", Place.WAITED, "ptr")}{load("emptied", "%wave", Place.EMPTIED, "ptr")}
  %site.at = getelementptr i32, ptr %latest, i64 %row
  %site = load i32, ptr %site.at
  %is.none = icmp eq i32 %site, 0
  br i1 %is.none, label %fine, label %some
some:
  %number.place = shl i64 %row, 4
  %own = getelementptr i8, ptr %numbers, i64 %number.place
{_is_open("first", 0)}{_is_open("second", 8)}
  %open = and i1 %first.open, %second.open
  br i1 %open, label %wrong, label %complete.now
complete.now:
  store i32 0, ptr %site.at
  br label %fine
fine:
  ret i1 true
wrong:
  ret i1 false
}}
"""
WAITS_DECLARED = {IS_COMPLETE: f"declare i1 @{IS_COMPLETE}(ptr, i64)"}


class OrderedForm(FormWriter):
    """Writes the form of an instruction of such waves."""

    def __init__(
        self, *, checked: CheckedMemory, logged: dict[tuple[str, int, bytes], LoggedParts], **options: Any
    ) -> None:
        super().__init__(**options)
        self._checked, self._logged = checked, logged
        self._action = MemoryAction()
        self._is_jump = False

    def begin(self, instruction: GpuInstruction) -> None:
        super().begin(instruction)
        checked, action = self._checked, action_of(instruction, self.generation)
        self._action, self._is_jump = action, instruction.name in CALLS | JUMPS
        self._reached: list[tuple[str, int, int, int]] = []
        self._addresses, self._instruction = "", instruction
        self._changed: tuple[Callable[[list[str]], None], int, list[str], bool] | None = None
        self._code = self.processor, self.lanes, instruction.data
        self._is_logged = checked.is_logged(instruction, action)
        if not action.is_by_descriptor and checked.is_told(instruction, action):
            raise UnknownInstruction(f"{instruction.mnemonic}, of which checks are told")
        if any(each not in checked.order.names for each in (*action.counters, *(name for name, _left in action.waits))):
            raise UnknownInstruction(f"{instruction.mnemonic} counts what is not known")
        if action.waits and checked.looks_for_races:
            self.of_place("checked", checked, lambda own, address: own.note_waits(instruction, action, address))
        if checked.looks_at_waits:
            self._look_at_loads(self._needed(instruction, action))
        self._changes.append(self._count)
        if checked.looks_at_waits and (action.waits or action.written):  # then other registers can be used
            self.rule |= Rule.ENDS_STRETCH

    # --- Loads ----------------------------------------------------------------------------------------------------

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        super().reach(space, size, addresses, is_row=is_row)
        if is_row or space == SCRATCH or not self._checked.looks_for_races:  # others do not see it
            return
        if not self._is_logged:
            raise UnknownInstruction("an access of which checks are told")
        if not self._reached:
            self._log_access(space, size, addresses())
        else:  # the second place in local memory
            shape = shape_of(self._instruction.name)
            assert shape is not None  # noqa: S101 (it is an access)
            first, second = local_offsets(self._instruction, shape)
            self._reached.append((space, size, 0, second - first))

    def resolved_word(self, address: str, size: int) -> str:
        if self._is_logged:
            self._log_access("", size, address)
        return super().resolved_word(address, size)

    def change_calls(self, instruction: GpuInstruction, target: str) -> None:
        """Let Python execute calls and returns behind accesses, of which it then says what calls waves were in."""
        super().change_calls(instruction, target)
        if self._checked.looks_for_races:
            log = self.field(Place.LOG, "ptr")
            ends = (self.load("i64", self.at(log, str(int(each))), 8) for each in (LogField.NEXT, LogField.FIRST))
            self.refuse_unless(self.one.operate("icmp eq", LONG, *ends))

    def change(self, read: Callable[[list[str]], None], count: int, new: list[str], *, is_high: bool = False) -> None:
        super().change(read, count, new, is_high=is_high)
        self._changed = read, count, new, is_high

    def _log_access(self, space: str, size: int, addresses: str) -> None:
        """Write that waves that are asked refuse an access for which the log has no room; it gets a record later."""
        words = (self.lanes // 2 if space == LOCAL else self.lanes) if space else 1
        self._reached.append((space, size, words, 0))
        self._addresses = addresses
        self._changes.append(self._write_record)
        log = self.field(Place.LOG, "ptr")
        fields = LogField.NEXT, LogField.FULL, LogField.END
        next_, *ends = (self.load("i64", self.at(log, str(int(each))), 8) for each in fields)
        has_room, has_end = (self.one.operate("icmp ult", LONG, next_, end) for end in ends)
        self.refuse_unless(self.one.operate("or", FLAG, has_room, self.one.operate("xor", FLAG, "%probe", "true")))
        self.refuse_unless(has_end)  # a wave that runs alone is not asked

    def _write_record(self) -> None:
        """Write a record of an access: the slot, what executes, how much the wave has issued and how much is complete.

        Behind these are where lanes reach, what was there if they change it, and what they store. Each part begins at a
        multiple of 64 bytes.
        """
        log, kinds, place = self.field(Place.LOG, "ptr"), len(self._checked.order.names), 16
        next_ = self.at(log, str(int(LogField.NEXT)))
        record = self.ir.put(f"inttoptr i64 {self.load('i64', next_, 8)} to ptr")
        self._store(record, self.ir.put(f"ptrtoint ptr {self.slot} to i64"))
        self._store(self.at(record, "8"), self.active_lanes())
        for each in (Place.ISSUED, Place.WAITED):  # the access has been counted already
            wide = self.load(f"<{kinds} x i64>", self.field(each, "ptr"), 8)
            value = self.ir.put(f"trunc <{kinds} x i64> {wide} to <{kinds} x i32>")
            self.ir.do(f"store <{kinds} x i32> {value}, ptr {self.at(record, str(place))}, align 4")
            place += 4 * kinds
        place = 8 * head_of(kinds)
        space, _size, words, _distance = self._reached[0]
        vectors, kind = self.vectors if space else self.one, WORD if space == LOCAL else LONG
        value = f"{vectors.type(kind)} {vectors.resized(self._addresses, LONG, kind)}"
        self.ir.do(f"store {value}, ptr {self.at(record, str(place))}, align 64")
        place += 8 * words
        read, count, new, is_high = self._changed or (None, 0, [], False)
        rows = [self.at(record, str(place + 4 * self.lanes * number)) for number in range(count + len(new))]
        if read is not None:
            read(rows[:count])
        for row, register in zip(rows[count:], new, strict=True):
            value = self.load(self.vectors.type(WORD), register, 64)
            value = self.vectors.operate("lshr", WORD, value, self.vectors.constant(16, WORD)) if is_high else value
            self.ir.do(f"store {self.vectors.type(WORD)} {value}, ptr {row}, align 64")
        parts = LoggedParts(tuple(self._reached), count, len(new) > 0)
        if parts.words(self.lanes, kinds) > LoggedParts.most_words(self.lanes, kinds):
            raise UnknownInstruction("an access whose record would be too long")
        behind = self.ir.put(f"ptrtoint ptr {self.at(record, str(8 * parts.words(self.lanes, kinds)))} to i64")
        self._store(next_, behind)
        self._logged[self._code] = parts

    def _needed(self, instruction: GpuInstruction, action: MemoryAction) -> list[int]:
        """Return the rows of the registers whose loads must be complete."""
        return sorted({*map(self._checked.wait_check.row, needed_registers(instruction, action))}, reverse=True)

    def number(self, value: int) -> str:
        if self._is_jump and value & LOW in self.numbers:  # else a slot would have too few
            return self.load("i32", self.at(self.slot, str(NUMBERS + 4 * self.numbers.index(value & LOW))))
        return super().number(value)

    # --- Counters -------------------------------------------------------------------------------------------------

    def _numbers(self, place: Place, kind: int) -> str:
        """Return where a number of a counter is."""
        return self.at(self.field(place, "ptr"), str(8 * kind))

    def _store(self, place: str, value: str) -> None:
        self.ir.do(f"store i64 {value}, ptr {place}, align 8")

    def _count(self) -> None:
        """Write that an access has begun, or that earlier ones are complete."""
        order, action, one = self._checked.order, self._action, self.one
        kinds = tuple(map(order.names.index, action.counters))
        issued = []
        for kind in kinds:
            place = self._numbers(Place.ISSUED, kind)
            issued.append(one.operate("add", LONG, self.load("i64", place, 8), "1"))
            self._store(place, issued[-1])
        if action.is_direct and order.load in kinds:
            place = self._numbers(Place.ISSUED, order.load)
            self._store(self._numbers(Place.ISSUED, order.direct), self.load("i64", place, 8))
        for name, left in action.waits:
            kind = order.names.index(name)
            done = self.load("i64", self._numbers(Place.ISSUED, kind), 8)
            if left:
                done = one.operate("sub", LONG, done, str(left))
            else:
                self._store(self._numbers(Place.EMPTIED, kind), done)
            for each in (kind, order.direct) if kind == order.load else (kind,):
                place = self._numbers(Place.WAITED, each)
                self._store(place, one.intrinsic("smax", LONG, self.load("i64", place, 8), done))
        if action.written and self._checked.looks_at_waits:
            self._note_loads(issued, kinds)

    # --- Registers that are loaded --------------------------------------------------------------------------------

    def _rows_of(self, rows: Sequence[int]) -> Iterable[str]:
        """Yield rows of registers as numbers of the form, of which a number of the slot has several."""
        left = [*rows]
        if left and left[0] >= 1 << _ROW_BITS:
            raise UnknownInstruction("a register without a row")
        while left:
            packed = [left.pop(0)]
            while left and len(packed) < PACKED and (len(packed) < PACKED - 1 or left[-1] < _MOST_LAST):
                packed.append(left.pop(-1 if len(packed) == PACKED - 1 else 0))
            word = sum(row << _ROW_BITS * number for number, row in enumerate(packed))
            wide = self.one.resized(self.number(word), WORD, LONG)
            for number in range(len(packed)):
                part = self.one.operate("lshr", LONG, wide, str(_ROW_BITS * number)) if number else wide
                yield self.one.operate("and", LONG, part, str((1 << _ROW_BITS) - 1))

    def _look_at_loads(self, rows: Sequence[int]) -> None:
        """Write that an instruction refuses registers whose loads are not complete."""
        if not rows:
            return
        self.ask(before=True)
        places = [*self._rows_of(rows)]
        latest, found = self.field(Place.LATEST_LOADS, "ptr"), "0"
        for place in places:
            word = self.load("i32", self.ir.put(f"getelementptr i32, ptr {latest}, i64 {place}"))
            found = word if found == "0" else self.one.operate("or", WORD, found, word)
        self.ir.declared.update(WAITS_DECLARED)
        with self.where(self.one.operate("icmp ne", WORD, found, "0")) as behind:
            for place in places:
                self.refuse_unless(self.ir.put(f"call i1 @{IS_COMPLETE}(ptr %wave, i64 {place})"))
            self.jump(behind)

    def _note_loads(self, issued: Sequence[str], kinds: tuple[int, ...]) -> None:
        """Write which instruction loads registers, and the number of its access."""
        check, action, one = self._checked.wait_check, self._action, self.one
        number = self.of_place("checked", self._checked, lambda own, at: own.wait_check.form_site(at, action, kinds))
        site = self.number(number)
        words = []
        for number, kind in zip((issued[0], issued[-1]), (kinds[0], kinds[-1]), strict=True):
            shifted = one.operate("shl", LONG, number, str(NUMBER_BITS))
            words.append(one.operate("or", LONG, shifted, str(kind << 1 | (not action.is_ordered))))
        latest, numbers = self.field(Place.LATEST_LOADS, "ptr"), self.field(Place.LOAD_NUMBERS, "ptr")
        for (_file, start), count in runs(("", row) for row in sorted(map(check.row, action.written))):
            first = one.resized(self.number(start), WORD, LONG)
            for more in range(count):
                row = one.operate("add", LONG, first, str(more)) if more else first
                place = self.ir.put(f"getelementptr i32, ptr {latest}, i64 {row}")
                self.ir.do(f"store i32 {site}, ptr {place}, align 4")
                place = self.at(numbers, one.operate("shl", LONG, row, "4"))
                self._store(place, words[0])
                self._store(self.at(place, "8"), words[1])


class OrderedStretch(OrderedForm, StretchWriter):
    """Writes a stretch of such waves, which looks at the registers of all instructions before the first."""

    def number(self, value: int) -> str:
        return StretchWriter.number(self, value)

    def write_stretch(self, parts: Sequence[StretchPart], begin: int, end: int) -> str:
        every = (self._needed(each.instruction, action_of(each.instruction, self.generation)) for each in parts)
        self._every_row = sorted({row for rows in every for row in rows}, reverse=True)
        return super().write_stretch(parts, begin, end)

    def _look_at_loads(self, rows: Sequence[int]) -> None:
        if not self._done:
            super()._look_at_loads(self._every_row)


class AlignedForm(FormWriter):
    """Writes the form of an instruction of waves whose accesses are aligned; others are refused."""

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        super().reach(space, size, addresses, is_row=is_row)
        self.ask()  # also of private memory, as Python is to execute the instruction for all waves
        low = multiple(size) - 1
        if space == BUFFER and is_row and low > 3:
            raise UnknownInstruction("several dwords of a stack, which are apart")
        if not low:
            return
        vectors = self.one if is_row else self.vectors
        bits = vectors.operate("and", LONG, addresses(), vectors.constant(low, LONG))
        wrong = vectors.operate("icmp ne", LONG, bits, vectors.constant(0, LONG))
        self.refuse_unless(self.one.operate("xor", FLAG, wrong, "true") if is_row else self.none(wrong))
