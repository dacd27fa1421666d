"""Loops as one function, by the writer of forms: registers stay values from block to block.

Waves that run one after the other stay in a loop as long as their turn lasts. Results are put into the state of the
wave where it leaves: behind the loop, at the end of its turn, or before an instruction that it refuses; and before code
that reaches a register by its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dwarfgpu.execution.batch import EXEC, EXEC_HI
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form import write_form
from dwarfgpu.execution.forms.form_writer import LONG, WORD
from dwarfgpu.execution.forms.layout import SLOT, Place
from dwarfgpu.execution.forms.stretches import StretchPart, StretchWriter
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.formulas import FLAG

LONGEST = 240
"""The most instructions of a loop."""
SHARE = 16
"""The instructions of a loop for each that may refuse. Where there are more of these, values are put into the state so
often that straight code is as fast, and it is compiled sooner."""
SEARCHED = 1000
"""The instructions among which a loop is searched."""
LEFT, WRITTEN = "left", "written"
Register = Any
"""What a loop keeps as a value: a scalar register by its number, ("v", number), `LEFT`, how many instructions are left
of the turn of the wave, or `WRITTEN`, a bit for each register that has been written."""
Blocks = dict[int, list[StretchPart]]
"""Straight code by its first address."""


# --- Which code is a loop -------------------------------------------------------------------------------------------


def loop_around(part_at: Callable[[int], StretchPart | None], start: int) -> Blocks:
    """Return the largest loop with an instruction that is not too long, the block with that first.

    There is none if the instruction is not in a loop of code that `part_at` knows.
    """
    parts: dict[int, StretchPart] = {}
    heads, pending = set[int](), [start]
    while pending:
        address: int | None = pending.pop()
        while address is not None and address not in parts and len(parts) < SEARCHED:
            part = part_at(address)
            if part is None:
                break
            parts[address] = part
            ways = part.ways
            if part.instruction.branch is not None:
                heads.update(ways)
                pending += ways
            address = ways[0] if len(ways) == 1 else None
    blocks = {head: [*_block(parts, heads, head)] for head in sorted(heads & parts.keys())}
    begin = next((head for head, block in blocks.items() if any(part.address == start for part in block)), None)
    if begin is None:
        return {}
    found: Blocks = {}
    back = ((part.address - way, way, part.address) for part in parts.values() for way in part.ways)
    for _length, first, last in sorted(each for each in back if each[1] <= begin <= each[2]):
        loop = _cycle({head: block for head, block in blocks.items() if first <= head <= last}, begin)
        parts_of_loop = [part for block in loop.values() for part in block]
        if len(parts_of_loop) > LONGEST:
            break
        if loop and SHARE * sum(part.form.may_refuse for part in parts_of_loop) <= len(parts_of_loop):
            found = loop
    return found


def _block(parts: dict[int, StretchPart], heads: set[int], head: int) -> Iterator[StretchPart]:
    address = head
    while address in parts:
        yield parts[address]
        ways = parts[address].ways
        if parts[address].instruction.branch is not None or ways[0] in heads:
            return
        address = ways[0]


def _cycle(blocks: Blocks, start: int) -> Blocks:
    """Return the blocks that a way leads through from a block to itself, that one first."""
    ways = {head: [way for way in block[-1].ways if way in blocks] for head, block in blocks.items()}
    back: dict[int, list[int]] = {head: [] for head in blocks}
    for head, following in ways.items():
        for way in following:
            back[way].append(head)
    found = _reached(ways, start) & _reached(back, start)
    return {head: blocks[head] for head in sorted(found, key=lambda head: (head != start, head))}


def _reached(ways: dict[int, list[int]], start: int) -> set[int]:
    """Return where ways lead from a block."""
    found, pending = set[int](), [*ways.get(start, ())]
    while pending:
        head = pending.pop()
        if head not in found:
            found.add(head)
            pending += ways[head]
    return found


# --- Text -----------------------------------------------------------------------------------------------------------


class _Changes:
    """What has become of registers since the begin of a block."""

    def __init__(self) -> None:
        self.known: dict[Any, str] = {}
        """The values that there are."""
        self.kept = set[Register]()
        """Those that the state has."""
        self.changed = set[Register]()
        """Those whose values the state does not have yet."""

    def copy(self) -> _Changes:
        """Return these as they are now."""
        found = _Changes()
        found.known, found.kept, found.changed = dict(self.known), set(self.kept), set(self.changed)
        return found


class _Block:
    """A block as it is written."""

    def __init__(self, label: str, count: int) -> None:
        self.label, self.end = label, label
        """The first label of its text, and the last."""
        self.count = count
        """Its instructions."""
        self.lines: list[str] = []
        self.last: list[str] = []
        """The line that leaves it."""
        self.before: list[_Block] = []
        """The blocks that lead to it, once for each way."""
        self.entered: dict[Register, str] = {}
        """The values that registers have at its begin, those that are asked for."""
        self.changes = _Changes()
        self.written = set[Register]()
        """The registers that it writes."""
        self.dirty = set[Register]()
        """Those whose values the state may not have at its begin."""
        self.puts: dict[str, Register] = {}
        """Lines in whose place a register is put into the state, if it is one of these."""

    @property
    def dirty_behind(self) -> set[Register]:
        """The same at its end."""
        return self.dirty - self.changes.kept | self.changes.changed


@frozen
class LoopExit:
    """A way out of the loop."""

    label: str
    block: _Block
    changes: _Changes
    address: int
    """Where the wave goes on."""
    done: int
    """The instructions of the block that it has executed."""
    refuses: bool


class LoopWriter(StretchWriter):
    """Writes a loop."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._entry = _Block("entry", 0)
        self._blocks: dict[int, _Block] = {}
        self._now = self._entry
        """The block that is written."""
        self._bits: dict[Register, int] = {}
        """The bits of `WRITTEN`."""
        self._exits: list[LoopExit] = []
        self._refusal = ""
        """The label of the exit before the instruction that is written, if it may refuse."""
        self._is_in_lanes = False

    def write_loop(self, blocks: Blocks, begin: int, end: int) -> str:
        """Return the function of a loop in a program that is between two addresses."""
        self._start = next(iter(blocks))
        self._blocks = {head: _Block(f"at{head - begin}", len(parts)) for head, parts in blocks.items()}
        self._blocks[self._start].before.append(self._entry)
        self._entry.last = [f"  br label %{self._blocks[self._start].label}"]
        for head, parts in blocks.items():
            self._write_block(self._blocks[head], parts, begin, end)
        written = [*self._blocks.values()]
        _spread_dirty(written)
        exits = [line for each in self._exits for line in self._written_exit(each)]
        for block in written:
            block.lines = [text for line in block.lines for text in self._put_where_dirty(block, line)]
        values = self._join_values(written)
        first = "define ptr @form(ptr noalias %wave, ptr noalias %slot, i1 %probe) {"
        lines = [first, "entry:", *self._rooms.values(), *self._entry.lines, *self._entry.last]
        for block in written:
            lines += [f"{block.label}:", *values[block.label], *block.lines, *block.last]
        return "\n".join((*lines, *exits, "}"))

    def _write_block(self, block: _Block, parts: Sequence[StretchPart], begin: int, end: int) -> None:
        self._now, self.ir.lines, self.ir.block = block, block.lines, block.label
        self._known = block.changes.known
        self._noted.clear()
        left = self._value(LEFT)
        self._done, self._address = 0, parts[0].address
        enough, over = self.ir.name("enough"), self._exit(parts[0].address, 0)
        self.fork(self.one.operate("icmp uge", LONG, left, str(len(parts))), enough, over)
        self.go_on(enough)
        self._set(LEFT, self.one.operate("sub", LONG, left, str(len(parts))))
        for number, part in enumerate(parts):
            self._address, self._done, self._is_last, self._refusal = part.address, number, part is parts[-1], ""
            self.slot = self.at("%slot", str(SLOT // 4 * (part.address - self._start)))
            write_form(self, part.instruction, part.address - begin, end - part.address)
        block.end = self.ir.block
        block.last = [block.lines.pop()]

    # --- Ways -----------------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        self.go_on(name)

    def leave(self, slot: str) -> None:
        raise UnknownInstruction("a way out of a loop that its writer does not know")

    def go_behind(self, size: int) -> None:
        if self._is_last:
            self.jump(self._way(self._address + size))

    def go_to(self, distance: int) -> None:
        self.jump(self._way(self._address + distance))

    def choose_way(self, condition: str, distance: int, size: int) -> None:
        there = self._way(self._address + distance)
        self.fork(condition, there, self._way(self._address + size))

    def _way(self, address: int) -> str:
        """Return the label of the block at an address, or of a way out of the loop."""
        block = self._blocks.get(address)
        if block is None:
            return self._exit(address, self._now.count)
        block.before.append(self._now)
        return block.label

    def _exit(self, address: int, done: int, *, refuses: bool = False) -> str:
        label = self.ir.name("exit")
        self._exits.append(LoopExit(label, self._now, self._now.changes.copy(), address, done, refuses))
        return label

    def refuse_unless(self, condition: str) -> None:
        self._refusal = self._refusal or self._exit(self._address, self._done, refuses=True)
        fine = self.ir.name("fine")
        self.fork(condition, fine, self._refusal)
        self.go_on(fine)

    def return_if_asked(self) -> None:
        """A wave that runs alone is not asked."""

    @contextmanager
    def each_lane(self) -> Iterator[str]:
        known, self._is_in_lanes = dict(self._known), True
        with super().each_lane() as lane:
            yield lane
        self._known.clear()
        self._known.update(known)
        self._is_in_lanes = False

    # --- Registers ------------------------------------------------------------------------------------------------

    def _kind(self, register: Register) -> str:
        if register in (LEFT, WRITTEN):
            return f"i{len(self._bits)}" if register == WRITTEN else "i64"
        return "i32" if isinstance(register, int) else self.vectors.type(WORD)

    def _value(self, register: Register) -> str:
        """Return what a register has."""
        if register not in self._known:
            kept = register in self._now.changes.kept
            self._known[register] = self._loaded(register) if kept else self._entered(self._now, register)
        return self._known[register]

    def _entered(self, block: _Block, register: Register) -> str:
        """Return the name of what a register has at the begin of a block."""
        if register not in block.entered:
            name = "".join(map(str, register)) if isinstance(register, tuple) else str(register)
            block.entered[register] = f"%{block.label}.{name}"
        return block.entered[register]

    def _set(self, register: Register, value: str) -> None:
        if self._is_in_lanes:
            raise UnknownInstruction("a register that is written lane by lane")
        self._known[register] = value
        self._now.changes.changed.add(register)
        if register != LEFT:
            self._now.written.add(register)
            self._bits.setdefault(register, len(self._bits))

    def _place(self, register: Register) -> tuple[str, str]:
        """Return where a register is in the state, with its alignment, and where is whether it is known."""
        if register == LEFT:
            return f"{self.at('%wave', str(int(Place.ROOM)))}, align 8", ""
        place, known = self._scalar_place(register) if isinstance(register, int) else super().row(register[1])
        return f"{place}, align {4 if isinstance(register, int) else 64}", known

    def _loaded(self, register: Register) -> str:
        return self.ir.put(f"load {self._kind(register)}, ptr {self._place(register)[0]}")

    def _put(self, register: Register, value: str, written: str = "") -> None:
        """Write that the state gets a register, which is known if it was or has a bit in what has been written."""
        place, known = self._place(register)
        self.ir.do(f"store {self._kind(register)} {value}, ptr {place}")
        if known and written:
            kind = self._kind(WRITTEN)
            bit = self.ir.put(f"lshr {kind} {written}, {self._bits[register]}")
            flag = self.ir.put(f"zext i1 {self.ir.put(f'trunc {kind} {bit} to i1')} to i8")
            was = self.load("i8", known, 1)
            self.ir.do(f"store i8 {self.ir.put(f'or i8 {flag}, {was}')}, ptr {known}")
        elif known:
            self.ir.do(f"store i8 1, ptr {known}")

    def word(self, register: int) -> str:
        return self._value(register)

    def set_word(self, register: int, value: str) -> None:
        self._set(register, value)
        if register == EXEC or (register == EXEC_HI and self.lanes == 64):
            self._spread_exec()

    def set_words(self, first: int, values: list[str]) -> None:
        if first <= EXEC < first + len(values):
            raise UnknownInstruction("EXEC among several registers")
        for register, value in enumerate(values, first):
            self._set(register, value)

    def set_exec(self, value: str) -> None:
        if self.lanes == 64:
            self._set(EXEC_HI, self.one.resized(self.one.operate("lshr", LONG, value, "32"), LONG, WORD))
            value = self.one.resized(value, LONG, WORD)
        self._set(EXEC, value)
        self._spread_exec()

    def _spread_exec(self) -> None:
        self._known.pop("flags", None)

    def active(self) -> str:
        """Return flags that a block makes of the number once: LLVM would make them of a row each time."""
        if "flags" not in self._known:
            self._known["flags"] = self.flags(self.mask(EXEC))
        return self._known["flags"]

    def exec_row(self) -> str:
        return self.vectors.cast("sext", self.active(), FLAG, WORD)

    def read(self, register: int) -> str:
        return self._value(("v", register))

    def write(self, register: int, value: str, mask: str = "") -> None:
        """Write a register by a choice; where it is stored at once, LLVM would make slow stores in some lanes of it."""
        lanes = self.vectors.operate("icmp slt", WORD, mask, self.vectors.constant(0, WORD)) if mask else self.active()
        self._set(("v", register), self.vectors.choose(lanes, WORD, value, self.read(register)))

    def row(self, register: int) -> tuple[str, str]:
        """Return where a vector register is in the state, which has it from now on."""
        key, changes = ("v", register), self._now.changes
        if key in changes.changed:
            self._put(key, self._known[key])
        elif key not in changes.kept:
            line = f"; {register}"
            self._now.puts[line] = key
            self.ir.lines.append(line)
        if key not in changes.kept and self._is_in_lanes:
            raise UnknownInstruction("a register that is reached lane by lane")
        changes.changed.discard(key)
        changes.kept.add(key)
        return super().row(register)

    def know(self, register: int) -> str:
        place, known = self.row(register)
        self._known.pop(("v", register), None)
        if register not in self._noted:
            self._noted.add(register)
            self.ir.do(f"store i8 1, ptr {known}")
        return place

    # --- What blocks have of each other ---------------------------------------------------------------------------

    def _written_exit(self, way: LoopExit) -> list[str]:
        """Return the text of a way out: all that the state does not have is put there."""
        block, changes, whole = way.block, way.changes, self._given(self._entry, LEFT)
        self.ir.lines = [f"{way.label}:"]
        dirty = block.dirty - changes.kept | changes.changed
        for register in sorted(dirty, key=str):
            if register in changes.changed and register != LEFT:
                self._put(register, changes.known[register])
            elif register != LEFT:
                value = changes.known.get(register) or self._entered(block, register)
                self._put(register, value, self._entered(block, WRITTEN))
        if dirty & {EXEC, EXEC_HI}:
            mask = self.load(f"i{self.lanes}", self.at("%wave", str(4 * EXEC)), 8)
            row = self.vectors.cast("sext", self.flags(mask), FLAG, WORD)
            self.ir.do(f"store {self.vectors.type(WORD)} {row}, ptr {self._exec_row()}, align 64")
        done = self.one.operate("sub", LONG, whole, self._entered(block, LEFT))
        done = self.one.operate("add", LONG, done, str(way.done))
        self.ir.do(f"store i64 {done}, ptr {self.at('%wave', str(int(Place.DONE)))}, align 8")
        slot = self.at("%slot", str(SLOT // 4 * (way.address - self._start)))
        if way.refuses:
            self.ir.do(f"store ptr {slot}, ptr {self.at('%wave', str(int(Place.NEXT)))}, align 8")
        self.ir.do(f"ret ptr {'null' if way.refuses else slot}")
        return self.ir.lines

    def _put_where_dirty(self, block: _Block, line: str) -> Iterable[str]:
        """Return a line, or what puts a register into the state in its place, if that may not have it."""
        register = block.puts.get(line)
        if register is None:
            return (line,)
        if register not in block.dirty:
            return ()
        self.ir.lines = []
        self._put(register, self._entered(block, register), self._entered(block, WRITTEN))
        return self.ir.lines

    def _given(self, block: _Block, register: Register) -> str:
        """Return what a register has at the end of a block."""
        known = block.changes.known
        if register == WRITTEN:
            if block is self._entry or register in known:
                return known.setdefault(register, "0")
            self.ir.lines = block.lines
            bits = sum(1 << self._bits[each] for each in block.written)
            known[register] = self.ir.put(f"or {self._kind(register)} {self._entered(block, register)}, {bits}")
        elif register not in known:
            if block is self._entry or register in block.changes.kept:
                self.ir.lines = block.lines
                known[register] = self._loaded(register)
            else:
                return self._entered(block, register)
        return known[register]

    def _join_values(self, blocks: list[_Block]) -> dict[str, list[str]]:
        """Return the lines that give registers their values at the begin of each block."""
        found: dict[str, list[str]] = {block.label: [] for block in blocks}
        done = set[str]()
        while waiting := [(each, key) for each in blocks for key in each.entered if each.entered[key] not in done]:
            for block, register in waiting:
                name = block.entered[register]
                done.add(name)
                ways = ", ".join(f"[ {self._given(each, register)}, %{each.end} ]" for each in block.before)
                found[block.label].append(f"  {name} = phi {self._kind(register)} {ways}")
        return found


def _spread_dirty(blocks: list[_Block]) -> None:
    """Find what the state may not have at the begin of each block."""
    is_more = True
    while is_more:
        is_more = False
        for block in blocks:
            dirty = set[Register]().union(*(each.dirty_behind for each in block.before))
            is_more |= dirty != block.dirty
            block.dirty = dirty
