"""The text of one form: how it reaches the numbers of its slot, scalar registers, vector registers and EXEC.

What differs between instructions that do the same is a number of the slot: registers, constants, distances. So the text
alone tells forms apart, and nothing has to know what a form depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dwarfgpu.execution.batch import EXEC, EXEC_HI, VCC
from dwarfgpu.execution.block_writer import register_of
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.layout import MOST_NUMBERS, NUMBERS, SCC, SLOT, STEP, VECTORS, Place, Rule
from dwarfgpu.execution.forms.memory_functions import DECLARED, FIND, RESOLVE
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.llvm import LlvmText, Vectors

Move = Callable[[list[str], bool], None]
"""What writes a move between memory and rows at some places: to the rows if it is a load."""
Rows = tuple[str, str]
"""Where a row is, and the distance to the next."""
WORD, LONG = "u32", "u64"
LOW = 0xFFFF_FFFF
REFUSED = "ret ptr null"
"""What a form says that lets Python execute the instruction."""
CONSTANTS = (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE)
SCALARS = (OperandKind.SGPR, OperandKind.SPECIAL)


class FormWriter:
    """Writes the form of an instruction."""

    def __init__(
        self, *, lanes: int, generation: int, mode: int, accumulation: int, apertures: dict[str, int],
        address: int = 0, processor: str = "",
    ) -> None:  # fmt: skip
        self.lanes, self.generation, self.mode, self.processor = lanes, generation, mode, processor
        self.accumulation = accumulation
        """The number of the first accumulation register among the vector registers."""
        self.apertures = apertures
        self._address = address
        self.answers: list[tuple[str, Callable[[Any, int], Any], Any]] = []
        """What parts of checks have said of that place: the name of each, the question, and the answer."""
        self.ir = LlvmText()
        self.vectors, self.one = Vectors(self.ir, lanes), Vectors(self.ir, 1)
        self.slot, self.state = "%slot", "%wave"
        """The slot of the instruction, and the state that says where memory is."""
        self.numbers: list[int] = []
        self.rule = Rule(0)
        self._is_last = True
        """Whether the instruction is the last one of the function."""
        self._is_asked, self._can_be_asked_before = False, True
        """Whether a check lets waves be asked, and whether the first instruction of a stretch can be asked for it."""
        self._changes: list[Callable[[], None]] = []
        """What writes the changes that checks make, once no wave refuses the instruction any more."""
        self._rooms: dict[str, str] = {}

    # --- Text -----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The form as a function."""
        lines = [*self._rooms.values(), *self.ir.lines]
        head = "define ptr @form(ptr noalias %wave, ptr noalias %slot, i1 %probe) {"
        return "\n".join((head, "entry:", *lines, "}"))

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.go_on(name)

    def go_on(self, name: str) -> None:
        """Begin a basic block that only what is before it leads to."""
        self.ir.label(name)

    def jump(self, name: str) -> None:
        self.ir.do(f"br label %{name}")

    def fork(self, condition: str, then: str, other: str) -> None:
        self.ir.do(f"br i1 {condition}, label %{then}, label %{other}")

    def leave(self, slot: str) -> None:
        """Go to a slot; ``null`` refuses the instruction."""
        self.ir.do(f"ret ptr {slot}")

    def go_behind(self, size: int) -> None:
        """Go to the next instruction, behind this one of some bytes."""
        self.leave(self.at(self.slot, str(SLOT * (size // 4))))

    def _target(self, distance: int) -> str:
        return self.at(self.slot, self.signed_number(distance << STEP))

    def go_to(self, distance: int) -> None:
        """Go to an instruction, some bytes from this one."""
        self.leave(self._target(distance))

    def choose_way(self, condition: str, distance: int, size: int) -> None:
        """Go there if a condition is true, else to the next instruction."""
        following = self.at(self.slot, str(SLOT * (size // 4)))
        self.leave(self.ir.put(f"select i1 {condition}, ptr {self._target(distance)}, ptr {following}"))

    def refuse_unless(self, condition: str) -> None:
        """Let Python execute the instruction if a condition is false; nothing has been changed yet."""
        fine, wrong = self.ir.name("fine"), self.ir.name("wrong")
        self.fork(condition, fine, wrong)
        self.ir.label(wrong)
        self.refuse()
        self.go_on(fine)

    def refuse(self) -> None:
        """Let Python execute the instruction."""
        self.ir.do(REFUSED)

    def ask(self, *, before: bool = False) -> None:
        """Let waves be asked whether they refuse the instruction; maybe before the first one of a stretch."""
        self._is_asked, self._can_be_asked_before = True, self._can_be_asked_before and before

    def end_checks(self, *, is_seen: bool = True) -> None:
        """Return if a wave was only asked whether it refuses the instruction, which other waves may see.

        Of others it is asked only if a check wants that. Behind it are the changes that checks make.
        """
        if is_seen or self._is_asked:
            self.rule |= Rule.IN_STEP if is_seen or not self._can_be_asked_before else Rule.IN_STEP | Rule.IS_CHECKED
            self.return_if_asked()
        changes, self._changes = self._changes, []
        for change in changes:
            change()

    def return_if_asked(self) -> None:
        """Return if a wave was only asked."""
        asked, go = self.ir.name("asked"), self.ir.name("go")
        self.fork("%probe", asked, go)
        self.label(asked)
        self.ir.do("ret ptr %slot")
        self.label(go)

    def room(self, name: str, count: int, kind: str) -> str:
        """Return memory of the function."""
        self._rooms[name] = f"  %{name} = alloca [{count} x {kind}], align 64"
        return f"%{name}"

    def at(self, base: str, offset: str) -> str:
        return self.ir.put(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, kind: str, place: str, align: int = 4) -> str:
        return self.ir.put(f"load {kind}, ptr {place}, align {align}")

    def field(self, place: Place, kind: str = "i64") -> str:
        """Return what the state says of memory."""
        return self.load(kind, self.at(self.state, str(int(place))), 8)

    @contextmanager
    def each_lane(self) -> Iterator[str]:
        """Write a loop over the executing lanes, the lowest first; yield the name of the number of a lane."""
        head, behind = self.ir.name("lane"), self.ir.name("behind")
        left, rest = f"%{self.ir.name('left')}", f"%{self.ir.name('rest')}"
        mask = self.active_lanes()
        before = self.ir.block
        self.fork(self.one.operate("icmp eq", LONG, mask, "0"), behind, head)
        self.label(head)
        at = len(self.ir.lines)
        number = self.ir.call("llvm.cttz.i64", "i64", ("i64", left), ("i1", "true"))
        yield number
        less = self.one.operate("sub", LONG, left, "1")
        self.ir.do(f"{rest} = and i64 {left}, {less}")
        self.ir.lines.insert(at, f"  {left} = phi i64 [ {mask}, %{before} ], [ {rest}, %{self.ir.block} ]")
        self.fork(self.one.operate("icmp ne", LONG, rest, "0"), head, behind)
        self.label(behind)

    @contextmanager
    def where(self, condition: str) -> Iterator[str]:
        """Write what is done where a condition is true; yield the name of what follows."""
        some, behind = self.ir.name("some"), self.ir.name("behind")
        self.fork(condition, some, behind)
        self.go_on(some)
        yield behind
        self.go_on(behind)

    def exchanged(self, place: str, kind: str, size: int, changed: Callable[[str], str]) -> str:
        """Write how a number in memory, which other threads may change, becomes another; return what it was."""
        again, behind, seen = self.ir.name("again"), self.ir.name("changed"), f"%{self.ir.name('seen')}"
        first = self.ir.put(f"load atomic {kind}, ptr {place} monotonic, align {size}")
        before = self.ir.block
        self.jump(again)
        self.go_on(again)
        old = self.ir.put(f"phi {kind} [ {first}, %{before} ], [ {seen}, %{again} ]")
        both = self.ir.put(f"cmpxchg ptr {place}, {kind} {old}, {kind} {changed(old)} seq_cst seq_cst, align {size}")
        self.ir.do(f"{seen} = extractvalue {{ {kind}, i1 }} {both}, 0")
        self.fork(self.ir.put(f"extractvalue {{ {kind}, i1 }} {both}, 1"), behind, again)
        self.go_on(behind)
        return old

    def lane_at(self, base: str, lane: str, size: int = 4) -> str:
        """Return where a lane has its number in a row."""
        return self.ir.put(f"getelementptr i{8 * size}, ptr {base}, i64 {lane}")

    def helper(self, name: str) -> str:
        """Declare a function for waves of this size; return its name in the text."""
        name = f"{name}{self.lanes}"
        self.ir.declared[name] = DECLARED[name]
        return f"@{name}"

    def resolved(self, lanes: str, space: int) -> str:
        """Write the search for addresses of lanes; return the distance of a number to the next, 0 to refuse them."""
        return self.ir.put(f"call i64 {self.helper(RESOLVE)}({lanes} {space})")

    def resolved_word(self, address: str, size: int) -> str:
        """Write the search for bytes at the address of a wave; return that of the host, 0 to refuse it."""
        self.ir.declared[FIND] = DECLARED[FIND]
        return self.ir.put(f"call i64 @{FIND}(ptr {self.field(Place.TABLE, 'ptr')}, i64 {address}, i64 {size})")

    # --- What checks add ------------------------------------------------------------------------------------------

    def begin(self, instruction: GpuInstruction) -> None:
        """Write the checks that an instruction begins with: here none."""
        self._is_asked, self._can_be_asked_before = False, True

    def beside(self, find: Callable[[FormWriter], Move], count: int, *, is_load: bool) -> None:
        """Write the checks of a move of some dwords, which a writer finds: here none."""

    def change(self, read: Callable[[list[str]], None], count: int, new: list[str], *, is_high: bool = False) -> None:
        """Write what is to be done where some dwords of each lane change, which can be read to rows: here nothing.

        A store has the rows of what is ``new``, maybe in the high halves.
        """

    def beside_rows(
        self, found: Rows, find: Callable[[FormWriter], Rows | None], registers: list[int], *, is_load: bool
    ) -> None:
        """Write the checks of a move between registers and rows of private memory."""

    def beside_words(self, find: Callable[[FormWriter], str], first: int, count: int) -> None:
        """Write the checks of a load of some words to scalar registers."""

    def look_at_local(self, places: str) -> None:
        """Write what is to be looked at where lanes reach local memory."""

    def look_at_private(self, places: str, step: str, size: int) -> None:
        """Do the same where each lane reaches a place of its own in private memory."""

    def look_at_flat(self, places: str, step: str, size: int) -> None:
        """Do the same where generic addresses of lanes may be in private memory."""

    # --- What profiles add ----------------------------------------------------------------------------------------

    def reach(self, space: str, size: int, addresses: Callable[[], str], *, is_row: bool = False) -> None:
        """Write what is to be done where lanes reach so many bytes each, from addresses on: here nothing.

        Of private memory at one offset of all lanes, ``addresses`` returns only that of the first lane.
        """

    def change_calls(self, instruction: GpuInstruction, target: str) -> None:
        """Write what is to be done before the checks of a call or a jump to a slot: here nothing."""

    # --- Numbers --------------------------------------------------------------------------------------------------

    def number(self, value: int) -> str:
        """Return a number of 32 bits, which the slot has."""
        place = len(self.numbers)
        if place >= MOST_NUMBERS:
            raise UnknownInstruction("more numbers than a slot has")
        self.numbers.append(value & LOW)
        return self.load("i32", self.at(self.slot, str(NUMBERS + 4 * place)))

    def long_number(self, value: int) -> str:
        """Return a number of 64 bits, which the slot has."""
        return self.joined(self.number(value), self.number(value >> 32))

    def signed_number(self, value: int) -> str:
        """Return a number of 32 bits as one of 64, with its sign."""
        return self.ir.put(f"sext i32 {self.number(value)} to i64")

    def of_place(self, name: str, part: Any, ask: Callable[[Any, int], Any]) -> Any:
        """Return what a part of a check says of the place of the instruction; the form holds while it says the same."""
        self.answers.append((name, ask, ask(part, self._address)))
        return self.answers[-1][2]

    def address(self, offset: int = 0) -> str:
        """Return the address of the instruction, or one near it."""
        return self.long_number(self.of_place("", None, lambda _part, address: address) + offset)

    def joined(self, low: str, high: str) -> str:
        """Return two words as one number."""
        wide = self.one.resized(low, WORD, LONG), self.one.resized(high, WORD, LONG)
        return self.one.operate("or", LONG, self.one.operate("shl", LONG, wide[1], "32"), wide[0])

    # --- Scalar registers -----------------------------------------------------------------------------------------

    def _scalar_place(self, register: int) -> tuple[str, str]:
        """Return where a scalar register is, and where is whether it is known."""
        if register in (EXEC, SCC) or (register == EXEC_HI and self.lanes == 64):
            return self.at("%wave", str(4 * register)), ""
        index = self.scalar_number(register)
        known = self.at("%wave", self.ir.put(f"add i64 {index}, {int(Place.KNOWN)}"))
        return self.ir.put(f"getelementptr i32, ptr %wave, i64 {index}"), known

    def scalar_number(self, register: int) -> str:
        """Return the number of a scalar register."""
        return self.one.resized(self.number(register), WORD, LONG)

    def word(self, register: int) -> str:
        """Return a scalar register."""
        return self.load("i32", self._scalar_place(register)[0])

    def pair(self, register: int) -> str:
        """Return two scalar registers as one number."""
        return self.joined(self.word(register), self.word(register + 1))

    def set_word(self, register: int, value: str) -> None:
        """Write a scalar register."""
        place, known = self._scalar_place(register)
        self.ir.do(f"store i32 {value}, ptr {place}, align 4")
        if known:
            self.ir.do(f"store i8 1, ptr {known}")
        elif register in (EXEC, EXEC_HI):
            self._spread_exec()

    def set_words(self, first: int, values: list[str]) -> None:
        """Write scalar registers that follow each other."""
        if first <= EXEC < first + len(values):
            raise UnknownInstruction("EXEC among several registers")
        place, known = self._scalar_place(first)
        for number, value in enumerate(values):
            self.ir.do(f"store i32 {value}, ptr {self.at(place, str(4 * number))}, align 4")
            self.ir.do(f"store i8 1, ptr {self.at(known, str(number))}")

    def set_pair(self, register: int, value: str) -> None:
        """Write two scalar registers."""
        low = self.one.resized(value, LONG, WORD)
        high = self.one.resized(self.one.operate("lshr", LONG, value, "32"), LONG, WORD)
        if register == EXEC and self.lanes == 64:
            self.set_exec(value)
            return
        self.set_word(register, low)
        self.set_word(register + 1, high)

    def scalar(self, operand: GpuOperand, bits: int) -> str:
        """Return a scalar source of 32 or 64 bits."""
        kind = LONG if bits > 32 else WORD
        if operand.kind in CONSTANTS:
            return self.long_number(operand.value) if bits > 32 else self.number(operand.value)
        if operand.kind not in SCALARS or bits not in (32, 64):
            raise UnknownInstruction(f"{operand.text} as a scalar operand")
        register = operand.register
        if register == "null":
            return "0"
        if register.startswith("src_flat_scratch_base"):
            base = self.field(Place.PRIVATE_BASE)
            base = self.one.operate("lshr", LONG, base, "32") if register.endswith("hi") else base
            return self.one.resized(base, LONG, kind)
        if register in self.apertures:
            return self.one.constant(self.apertures[register] & (1 << bits) - 1, kind)
        if register in ("scc", "src_scc"):
            return self.one.resized(self.word(SCC), WORD, kind)
        if register in ("vccz", "src_vccz", "execz", "src_execz"):
            return self.one.cast("zext", self.is_zero(VCC if "vcc" in register else EXEC), FLAG, kind)
        if register == "exec" and bits > 32 and self.lanes == 32:
            return self.one.resized(self.word(EXEC), WORD, LONG)
        number = register_of(operand)
        return self.word(number) if bits == 32 else self.pair(number)

    def set_scalar(self, operand: GpuOperand, value: str, bits: int) -> None:
        """Write a scalar result of 32 or 64 bits."""
        if operand.register == "null":
            return
        register = register_of(operand)
        if bits <= 32:
            self.set_word(register, value)
        elif register == EXEC and self.lanes == 32:
            raise UnknownInstruction("EXEC of 64 bits in waves of 32 lanes")
        else:
            self.set_pair(register, value)

    # --- Masks ----------------------------------------------------------------------------------------------------

    def mask(self, register: int) -> str:
        """Return a number with a bit for each lane."""
        return self.pair(register) if self.lanes == 64 else self.word(register)

    def active_lanes(self) -> str:
        """Return EXEC as a number of 64 bits."""
        return self.one.resized(self.mask(EXEC), f"u{self.lanes}", LONG)

    def is_zero(self, register: int) -> str:
        """Return whether VCC or EXEC is 0."""
        return self.one.operate("icmp eq", f"u{self.lanes}", self.mask(register), "0")

    def flags(self, mask: str) -> str:
        """Return the bits of a mask as flags of the lanes."""
        halves = [mask]
        if self.lanes == 64:
            upper = self.one.operate("lshr", LONG, mask, "32")
            halves = [self.one.resized(each, LONG, WORD) for each in (mask, upper)]
        words = "poison"
        for index, half in enumerate(halves):
            words = self.ir.put(f"insertelement <2 x i32> {words}, i32 {half}, i32 {index}")
        order = lane_numbers("i32", (lane >> 5 for lane in range(self.lanes)))
        every = self.ir.put(f"shufflevector <2 x i32> {words}, <2 x i32> poison, {self.vectors.type(WORD)} {order}")
        bits = lane_numbers("i32", (1 << (lane & 31) for lane in range(self.lanes)))
        return self.vectors.operate(
            "icmp ne", WORD, self.vectors.operate("and", WORD, every, bits), self.vectors.constant(0, WORD)
        )

    def bits(self, flags: str) -> str:
        """Return flags of the lanes as a mask."""
        return self.ir.put(f"bitcast {self.vectors.type(FLAG)} {flags} to i{self.lanes}")

    def executing(self, flags: str) -> str:
        """Return flags of the executing lanes as a mask."""
        return self.one.operate("and", f"u{self.lanes}", self.bits(flags), self.mask(EXEC))

    def set_mask(self, register: int, value: str) -> None:
        """Write a mask with a bit for each lane."""
        if register == EXEC:
            self.set_exec(value)
        elif self.lanes == 64:
            self.set_pair(register, value)
        else:
            self.set_word(register, value)

    def set_exec(self, value: str) -> None:
        """Change the executing lanes."""
        place = self.at("%wave", str(4 * EXEC))
        self.ir.do(f"store i{self.lanes} {value}, ptr {place}, align 8")
        self._spread_exec()

    def _spread_exec(self) -> None:
        """Let the row of EXEC be as the number."""
        row = self.vectors.cast("sext", self.flags(self.mask(EXEC)), FLAG, WORD)
        self.ir.do(f"store {self.vectors.type(WORD)} {row}, ptr {self._exec_row()}, align 64")

    def _exec_row(self) -> str:
        return self.at("%wave", str(int(Place.EXEC)))

    def exec_row(self) -> str:
        """Return -1 in the lanes that execute, else 0."""
        return self.load(self.vectors.type(WORD), self._exec_row(), 64)

    def active(self) -> str:
        """Return flags of the executing lanes."""
        return self.vectors.operate("icmp ne", WORD, self.exec_row(), self.vectors.constant(0, WORD))

    def none(self, flags: str) -> str:
        """Return whether no executing lane has a flag."""
        return self.one.operate("icmp eq", f"u{self.lanes}", self.executing(flags), "0")

    # --- Vector registers -----------------------------------------------------------------------------------------

    def vector_register(self, operand: GpuOperand) -> int:
        """Return the number of the (first) vector register of an operand."""
        if operand.kind is OperandKind.VGPR:
            return operand.index
        if operand.kind is OperandKind.AGPR:
            return self.accumulation + operand.index
        raise UnknownInstruction(f"{operand.text} as a vector operand")

    def row_offset(self, register: int) -> str:
        """Return where a vector register is in the state."""
        return self.one.resized(self.number(VECTORS + 4 * self.lanes * register), WORD, LONG)

    def row(self, register: int) -> tuple[str, str]:
        """Return where a vector register is, and where is whether it is known."""
        return self.row_in("%wave", self.row_offset(register))

    def row_in(self, state: str, offset: str) -> tuple[str, str]:
        """Return where a vector register is in a state, and the byte that it has there."""
        size = 4 * self.lanes
        index = self.ir.put(f"lshr i64 {offset}, {size.bit_length() - 1}")
        known = self.ir.put(f"add i64 {index}, {int(Place.KNOWN_VECTORS) - VECTORS // size}")
        return self.at(state, offset), self.at(state, known)

    def read(self, register: int) -> str:
        """Return a vector register."""
        return self.load(self.vectors.type(WORD), self.row(register)[0], 64)

    def write(self, register: int, value: str, mask: str = "") -> None:
        """Write a vector register in the lanes that have -1 in a row: in those that execute, if there is none."""
        place, known = self.row(register)
        old = self.load(self.vectors.type(WORD), place, 64)
        value = self.blended(mask or self.exec_row(), value, old)
        self.ir.do(f"store {self.vectors.type(WORD)} {value}, ptr {place}, align 64")
        self.ir.do(f"store i8 1, ptr {known}")

    def blended(self, mask: str, value: str, old: str) -> str:
        """Return one value in lanes that have -1 in a row, and another in those that have 0."""
        taken = self.vectors.operate("and", WORD, value, mask)
        other = self.vectors.operate("xor", WORD, mask, self.vectors.constant(-1, WORD))
        return self.vectors.operate("or", WORD, taken, self.vectors.operate("and", WORD, old, other))

    def know(self, register: int) -> str:
        """Note that a vector register is written; return where it is."""
        place, known = self.row(register)
        self.ir.do(f"store i8 1, ptr {known}")
        return place


def lane_numbers(kind: str, numbers: Iterable[int]) -> str:
    """Return a constant with a number for each lane."""
    return f"<{', '.join(f'{kind} {number}' for number in numbers)}>"
