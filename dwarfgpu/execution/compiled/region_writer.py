"""Blocks of instructions as one function of LLVM IR, which executes all waves of a batch in step.

Instructions between two accesses to memory are a *phase*: a loop over the waves. In it, instructions of lanes that
follow each other are a *group*: a loop over chunks of some lanes, in which registers are vectors of LLVM. Scalar
registers are values of LLVM in a phase, and vector registers in a group; between them all are in memory, so that the
interpreter can go on at each access. An instruction without text ends its block, and the interpreter executes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution import lane_moves
from dwarfgpu.execution.batch import EXEC, EXEC_HI, VCC, VCC_HI
from dwarfgpu.execution.block_writer import BITS, CHOOSES, DX10_CLAMP, IEEE, KEEPING, bits_of_constant, register_of
from dwarfgpu.execution.compiled.layout import ACCUMULATION, MOST_CALLS, SCC, Cell, Exit
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.sources import modified, quieted
from dwarfgpu.execution.instructions import is_idle
from dwarfgpu.isa.formulas import FLAG, single_name
from dwarfgpu.isa.frame_state import RETURN_HIGH, RETURN_LOW
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind, OperandRole
from dwarfgpu.isa.semantics.llvm import LlvmText, LlvmWriter, Vectors
from dwarfgpu.isa.semantics.rounding import NEAREST, direction
from dwarfgpu.isa.semantics.rows import MEANINGS, InstructionMeaning, meaning_of

if TYPE_CHECKING:
    from dwarfgpu.execution.compiled.block_code import BlockCode, Ending

CHUNK = 8
"""The lanes of a vector of LLVM."""
_ROW = "{row}"
"""In the text: how many scalar registers there are; it is known once all blocks are written."""
WORD, LONG = "u32", "u64"
_CONSTANTS = (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE)
_SLOT = re.compile(r"\{s(\d+)\}")


def _slot(register: int) -> str:
    """Return what stands in the text for the place of a scalar register among those that the region uses."""
    return f"{{s{register}}}"


class LaneGroup:
    """A group being written: the values that registers have in a chunk of lanes."""

    def __init__(self, region: RegionWriter, at: str, *, is_whole: bool = False) -> None:
        self.region = region
        self.is_whole = is_whole
        """Whether all lanes execute."""
        self.vectors = region.lanes
        self.ir = region.ir
        self.at = at
        """The name of the number of the first lane."""
        self.words: dict[int, str] = {}
        self.written: set[int] = set()
        self._flags: dict[int, str] = {}
        self.known: dict[object, Any] = {}
        """What is known of values."""
        if is_whole:
            self._flags[EXEC] = self.vectors.constant(1, FLAG)
        self.active = self.flags(EXEC)

    def _cell(self, register: int, *, is_needed: bool) -> str:
        start = self.ir.put(f"add i64 {self.region.lane_start}, {self.at}")
        return self.ir.put(f"getelementptr i32, ptr {self.region.column(register, is_needed=is_needed)}, i64 {start}")

    def read(self, register: int, *, is_needed: bool = True) -> str:
        """Return a vector register; it is not needed if all executing lanes get another number."""
        if register not in self.words:
            cell = self._cell(register, is_needed=is_needed)
            self.words[register] = self.ir.put(f"load {self.vectors.type(WORD)}, ptr {cell}, align 4")
        return self.words[register]

    def write(self, register: int, value: str) -> None:
        """Write a vector register; in lanes that do not execute it is kept."""
        if not self.is_whole:
            value = self.vectors.choose(self.active, WORD, value, self.read(register, is_needed=False))
        self.words[register] = value
        self.written.add(register)
        self.region.note_vector(register, is_whole=True)

    def _flag_cell(self, register: int) -> str:
        self.region.touched_scalars |= {register, register + self.region.wave_size // 64}
        row = self.ir.put(f"getelementptr i32, ptr {self.region.row}, i64 {_slot(register)}")
        byte = self.ir.put(f"lshr i64 {self.at}, 3")
        return self.ir.put(f"getelementptr i8, ptr {row}, i64 {byte}")

    def flags(self, register: int) -> str:
        """Return the bits of scalar registers that are those of the lanes."""
        if register not in self._flags:
            bits = self.ir.put(f"load i{CHUNK}, ptr {self._flag_cell(register)}, align 1")
            self._flags[register] = self.ir.put(f"bitcast i{CHUNK} {bits} to {self.vectors.type(FLAG)}")
        return self._flags[register]

    def flags_of(self, mask: str) -> str:
        """Return the bits of a number of 64 bits that are those of the lanes."""
        low = self.ir.put(f"trunc i64 {self.ir.put(f'lshr i64 {mask}, {self.at}')} to i{CHUNK}")
        return self.ir.put(f"bitcast i{CHUNK} {low} to {self.vectors.type(FLAG)}")

    def write_flags(self, register: int, flags: str) -> None:
        """Write flags of the executing lanes to scalar registers; the other lanes have no bit."""
        if not self.is_whole:
            flags = self.vectors.operate("and", FLAG, flags, self.active)
        bits = self.ir.put(f"bitcast {self.vectors.type(FLAG)} {flags} to i{CHUNK}")
        self.ir.do(f"store i{CHUNK} {bits}, ptr {self._flag_cell(register)}, align 1")
        self._flags[register] = flags

    def store(self) -> None:
        """Put the registers that have been written into memory."""
        for register in sorted(self.written):
            kind = self.vectors.type(WORD)
            self.ir.do(f"store {kind} {self.words[register]}, ptr {self._cell(register, is_needed=False)}, align 4")


LaneAction = Callable[[LaneGroup], None]


class AccessRun:
    """Accesses to memory in one phase, all of which are checked in a phase before it, so that none has to be undone.

    They reach private memory, and read local memory and what is in global memory and is not private; waves do not see
    each other there until the phase ends.
    """

    def __init__(self, region: RegionWriter) -> None:
        self.at = len(region.ir.lines)
        """Where the next check is put into the text."""
        self.state: dict[str, Any] = {name: getattr(region, name) for name in _OF_TEXT}
        self.known: dict[object, Any] = {}
        """What checks have computed."""
        self.written: set[int] = set()
        self.written_vectors: set[int] = set()
        """The registers that have been written since the checks."""
        self.count = 0


_OF_TEXT = (
    "_label", "_scalars", "_changed", "_group", "_group_reads", "_group_writes", "place", "row", "position", "wave",
    "lane_start",
)  # fmt: skip
"""What a writer knows of the text that it writes."""


class _UnknownRegister(Exception):
    """A scalar register whose value is not known before the phase, or that must not be written there."""


class RegionWriter:
    """Writes blocks as a function."""

    def __init__(
        self,
        *,
        lanes: int,
        generation: int,
        apertures: dict[str, int],
        write_memory: Callable[[RegionWriter, GpuInstruction], bool],
        differing: frozenset[int] | set[int] = frozenset(),
    ) -> None:
        self.wave_size = lanes
        self.generation = generation
        self.apertures = apertures
        self._write_memory = write_memory
        self.differing = differing
        """The instructions that found something else than private memory at the one address of all lanes."""
        self.expecting: set[int] = set()
        """Those that expect it there."""
        self.ir = LlvmText()
        self.lanes = Vectors(self.ir, CHUNK)
        self.one = Vectors(self.ir, 1)
        self.mode = 0
        self.touched_scalars: set[int] = set()
        self.written_scalars: dict[int, dict[int, int]] = {}
        self.written_vectors: dict[int, dict[int, int]] = {}
        """The registers that each block writes, with the first instruction in it that does."""
        self.needed_vectors: dict[int, set[int]] = {}
        """The vector registers that each block reads as they were before it, if all lanes execute."""
        self.shared: dict[int, tuple[bool, int]] = {}
        """The vector registers that are one number in all executing lanes: a scalar register (true), or a constant."""
        self.asks_for_waves = False
        """Whether the text uses the number of a wave or of its work-group."""
        self.address = 0
        self._columns: dict[int, str] = {}
        self._scalars: dict[int, str] = {}
        self._changed: set[int] = set()
        self._group: list[tuple[int, LaneAction]] = []
        self._group_reads: set[int] = set()
        self._group_writes: set[int] = set()
        self._phase: tuple[str, str, str] | None = None
        self._run: AccessRun | None = None
        self._unknown: set[int] | None = None
        """The scalar registers that cannot be read while text is written before the phase."""
        self._label = "entry"
        self.place = 0
        """The block and the instruction that are written: ``block << 16 | instruction``."""

    # --- Text -----------------------------------------------------------------------------------------------------

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.ir.label(name)
        self._label = name

    def jump(self, name: str) -> None:
        """Go to a basic block."""
        self.ir.do(f"br label %{name}")

    def fork(self, condition: str, then: str, other: str) -> None:
        """Go to one of two basic blocks."""
        self.ir.do(f"br i1 {condition}, label %{then}, label %{other}")

    @contextmanager
    def loop(self, count: str, step: int = 1) -> Iterator[str]:
        """Write a loop; yield the name of its counter."""
        head, latch, behind = (self.ir.name(stem) for stem in ("head", "latch", "behind"))
        counter, following = f"%{self.ir.name('i')}", f"%{self.ir.name('i')}"
        before = self._label
        self.jump(head)
        self.label(head)
        self.ir.do(f"{counter} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        yield counter
        self.jump(latch)
        self.label(latch)
        self.ir.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        more = self.ir.put(f"icmp ult i64 {following}, {count}")
        self.ir.do(f"br i1 {more}, label %{head}, label %{behind}, !llvm.loop !0")
        self.label(behind)

    def cell(self, cell: Cell, kind: str = "i64") -> str:
        """Return a number that the function was called with."""
        place = self.ir.put(f"getelementptr i64, ptr %cells, i64 {int(cell)}")
        return self.ir.put(f"load {kind}, ptr {place}")

    def set_cell(self, cell: Cell, value: str) -> None:
        """Leave a number for the caller."""
        place = self.ir.put(f"getelementptr i64, ptr %cells, i64 {int(cell)}")
        self.ir.do(f"store i64 {value}, ptr {place}")

    def leave(self, reason: Exit) -> None:
        """Return to Python."""
        self.set_cell(Cell.PLACE, str(self.place))
        self.ir.do(f"store i64 {int(reason)}, ptr %reason")
        self.jump("leave")

    def leave_unless(self, condition: str) -> None:
        """Let the interpreter execute the instruction if a condition is false."""
        fine, wrong = self.ir.name("fine"), self.ir.name("wrong")
        self.fork(condition, fine, wrong)
        self.label(wrong)
        self.set_cell(Cell.CHECKED, str(self.address))
        self.leave(Exit.INSIDE)
        self.label(fine)

    # --- Phases ---------------------------------------------------------------------------------------------------

    row = ""
    """The scalar registers of the wave of the phase."""
    position = ""
    """Where a wave is among those that run."""
    wave = ""
    lane_start = ""
    """The number of the first lane of the wave among those of all waves."""

    def begin_phase(self) -> None:
        """Begin a loop over the waves, if none has begun."""
        if self._phase is not None:
            return
        head, latch, behind = (self.ir.name(stem) for stem in ("wave", "next", "waves"))
        before = self._label
        self.jump(head)
        self.label(head)
        self.position = f"%{self.ir.name('w')}"
        following = f"{self.position}n"
        self.ir.do(f"{self.position} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        self._phase = latch, behind, head
        self.wave = self._row_of(self.position)
        start = self.ir.put(f"mul i64 {self.wave}, {_ROW}")
        self.row = self.ir.put(f"getelementptr i32, ptr %scalars, i64 {start}")
        self.lane_start = self.ir.put(f"mul i64 {self.wave}, {self.wave_size}")

    def _row_of(self, position: str) -> str:
        return self.ir.put(f"load i64, ptr {self.ir.put(f'getelementptr i64, ptr %running, i64 {position}')}")

    def end_phase(self) -> None:
        """End the loop over the waves: registers are in memory."""
        if self._phase is None:
            return
        self.end_group()
        self.store_scalars()
        latch, behind, head = self._phase
        self._phase = self._run = None
        self._scalars = {}
        following = f"{self.position}n"
        self.jump(latch)
        self.label(latch)
        self.ir.do(f"{following} = add nuw nsw i64 {self.position}, 1")
        more = self.ir.put(f"icmp ult i64 {following}, %waves")
        self.ir.do(f"br i1 {more}, label %{head}, label %{behind}, !llvm.loop !0")
        self.label(behind)

    def store_scalars(self, *registers: int) -> None:
        """Put scalar registers into memory: some, or all that have been written."""
        for register in sorted(self._changed & set(registers) if registers else self._changed):
            place = self.ir.put(f"getelementptr i32, ptr {self.row}, i64 {_slot(register)}")
            self.ir.do(f"store i32 {self._scalars[register]}, ptr {place}, align 4")
            self._changed.discard(register)

    @contextmanager
    def checks(self, scalars: set[int], vectors: set[int]) -> Iterator[AccessRun]:
        """Write the check of an access before the phase; begin another phase if registers that it uses have changed."""
        run = self._run
        if run is None or run.written & scalars or run.written_vectors & vectors or run.count >= self.wave_size // 2:
            self.end_phase()
            self.begin_phase()
            run = AccessRun(self)
            self.end_phase()
            self.begin_phase()
            self._run = run
            run.state.update(_scalars={}, _changed=set(), _group=[], _group_reads=set(), _group_writes=set())
        with self._before(run):
            yield run
        run.count += 1

    @contextmanager
    def _before(self, run: AccessRun) -> Iterator[None]:
        """Write text behind the latest check, in the phase before."""
        state, lines = {name: getattr(self, name) for name in _OF_TEXT}, self.ir.lines
        self.__dict__.update(run.state)
        self.ir.lines = []
        try:
            yield
            lines[run.at : run.at] = self.ir.lines
            run.at += len(self.ir.lines)
            run.state["_label"] = self._label
        finally:
            self.ir.lines = lines
            self.__dict__.update(state)

    def write_twice(self, write: Callable[[], object]) -> None:
        """Write a scalar operation, and also before the phase if its sources are known there: checks use its result.

        So accesses whose addresses are computed from scalar registers need no phase of their own. Lanes find EXEC in
        memory, where it must not change before they execute.
        """
        run = self._run
        repeated: set[int] = set() if run is None else self._repeated(run, write)
        write()
        if run is not None:
            run.written -= repeated

    def _repeated(self, run: AccessRun, write: Callable[[], object]) -> set[int]:
        """Write an operation before the phase; return the registers that it writes, none if it cannot be there."""
        known = run.state["_scalars"]
        run.state.update(_scalars=dict(known), _changed=set())
        try:
            with self._before(run):
                self._run, self._unknown = None, run.written
                try:
                    write()
                finally:
                    self._run, self._unknown = run, None
        except _UnknownRegister:
            run.state["_scalars"] = known
            return set()
        changed: set[int] = run.state["_changed"]
        return changed

    # --- Groups ---------------------------------------------------------------------------------------------------

    def in_lanes(self, action: LaneAction, *, reads: set[int] = frozenset(), writes: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """Let an action be written in the loop over the lanes; it uses some scalar registers as flags of lanes."""
        self.begin_phase()
        reads = reads | {EXEC, EXEC_HI}
        if stored := self._changed & (reads - self._group_writes):
            self.store_scalars(*stored)
        self._group.append((self.place, action))
        self._group_reads |= reads
        self._group_writes |= writes
        self.touched_scalars |= reads | writes
        for register in writes:
            self._note_write(self.written_scalars, register)
        if writes & {EXEC, EXEC_HI}:
            self.end_group()

    def _note_write(self, written: dict[int, dict[int, int]], register: int) -> None:
        block, number = self.place >> 16, self.place & 0xFFFF
        if written is self.written_scalars:
            if self._run is not None:
                self._run.written.add(register)
            is_exec = register in (EXEC, EXEC_HI)
            self.shared = {at: word for at, word in self.shared.items() if not (is_exec or word == (True, register))}
        written.setdefault(block, {}).setdefault(register, number)

    def end_group(self) -> None:
        """Write the loop over the lanes: for waves all whose lanes execute, and for others."""
        if not self._group:
            return
        group, self._group = self._group, []
        now = self.place
        every, some, behind = (self.ir.name(stem) for stem in ("every", "some", "met"))
        is_whole = self.one.operate(
            "icmp eq", LONG, self.mask(EXEC), self.one.constant((1 << self.wave_size) - 1, LONG)
        )
        self.fork(is_whole, every, some)
        for label in (every, some):
            self.label(label)
            with self.loop(str(self.wave_size), CHUNK) as at:
                lanes = LaneGroup(self, at, is_whole=label == every)
                for place, action in group:
                    self.place = place
                    action(lanes)
                lanes.store()
            self.jump(behind)
        self.label(behind)
        self.place = now
        for register in self._group_writes:
            self._scalars.pop(register, None)
            self._changed.discard(register)
        self._group_reads, self._group_writes = set(), set()

    def note_vector(self, register: int, *, is_whole: bool = False) -> None:
        """Note that the instruction writes a vector register, in all executing lanes if it is whole."""
        block = self.place >> 16
        if not is_whole or not {EXEC, EXEC_HI}.isdisjoint(self.written_scalars.get(block, ())):
            self._note_need(register)
        self._note_write(self.written_vectors, register)

    def _note_need(self, register: int) -> None:
        block = self.place >> 16
        if register not in self.written_vectors.get(block, ()):
            self.needed_vectors.setdefault(block, set()).add(register)

    def column(self, register: int, *, is_needed: bool = True) -> str:
        """Return where a vector register of all waves is."""
        if is_needed:
            self._note_need(register)
        return self._columns.setdefault(register, f"%column{register}")

    # --- Scalars --------------------------------------------------------------------------------------------------

    def scalar_word(self, register: int) -> str:
        if self._unknown is not None and register in self._unknown:
            raise _UnknownRegister
        self.begin_phase()
        if register in self._group_writes:
            self.end_group()
        self.touched_scalars.add(register)
        if register not in self._scalars:
            place = self.ir.put(f"getelementptr i32, ptr {self.row}, i64 {_slot(register)}")
            self._scalars[register] = self.ir.put(f"load i32, ptr {place}, align 4")
        return self._scalars[register]

    def set_scalar_word(self, register: int, value: str) -> None:
        if self._unknown is not None and register in (EXEC, EXEC_HI):
            raise _UnknownRegister
        self.begin_phase()
        if register in self._group_reads | self._group_writes:
            self.end_group()
        self.touched_scalars.add(register)
        self._note_write(self.written_scalars, register)
        self._scalars[register] = value
        self._changed.add(register)

    def scalar(self, operand: GpuOperand, bits: int) -> str:
        """Return a scalar source of 32 or 64 bits."""
        kind = LONG if bits > 32 else WORD
        if operand.kind in _CONSTANTS:
            return self.one.constant(operand.value & (1 << bits) - 1, kind)
        if operand.kind not in (OperandKind.SGPR, OperandKind.SPECIAL) or bits not in (32, 64):
            raise UnknownInstruction(f"{operand.text} as a scalar operand")
        register = operand.register
        if register == "null":
            return "0"
        if register in self.apertures:
            return self.one.constant(self.apertures[register] & (1 << bits) - 1, kind)
        if register in ("scc", "src_scc"):
            return self.one.resized(self.scalar_word(SCC), WORD, kind)
        if register in ("vccz", "src_vccz", "execz", "src_execz"):
            return self.one.cast("zext", self.is_zero(VCC if "vcc" in register else EXEC), FLAG, kind)
        if register in ("exec", "vcc") and bits > 32 and self.wave_size == 32:
            if register == "vcc":
                return self.pair(VCC)
            return self.one.resized(self.scalar_word(EXEC), WORD, LONG)
        number = register_of(operand)
        return self.scalar_word(number) if bits == 32 else self.pair(number)

    def pair(self, register: int) -> str:
        """Return two scalar registers as one number."""
        low, high = (self.one.resized(self.scalar_word(each), WORD, LONG) for each in (register, register + 1))
        return self.one.operate("or", LONG, self.one.operate("shl", LONG, high, "32"), low)

    def mask(self, register: int) -> str:
        """Return VCC or EXEC as a number of 64 bits."""
        if self.wave_size == 64:
            return self.pair(register)
        return self.one.resized(self.scalar_word(register), WORD, LONG)

    def is_zero(self, register: int) -> str:
        """Return whether VCC or EXEC is 0."""
        return self.one.operate("icmp eq", LONG, self.mask(register), "0")

    def set_scalar(self, operand: GpuOperand, value: str, bits: int) -> None:
        """Write a scalar result of 32 or 64 bits."""
        if operand.register == "null":
            return
        register = register_of(operand)
        if bits <= 32:
            self.set_scalar_word(register, value)
            return
        if register == EXEC and self.wave_size == 32:
            raise UnknownInstruction("EXEC of 64 bits in waves of 32 lanes")
        self.set_pair(register, value)

    def set_pair(self, register: int, value: str) -> None:
        """Write two scalar registers."""
        self.set_scalar_word(register, self.one.resized(value, LONG, WORD))
        self.set_scalar_word(register + 1, self.one.resized(self.one.operate("lshr", LONG, value, "32"), LONG, WORD))

    # --- Instructions ---------------------------------------------------------------------------------------------

    def write(self, instruction: GpuInstruction) -> None:
        """Write an instruction that ends no block; raise an error where it has no text here."""
        self._write(instruction)
        written: set[int] = set()
        for operand in (each for part in (instruction, *instruction.components) for each in part.operands):
            if operand.kind in (OperandKind.VGPR, OperandKind.AGPR) and operand.role is not OperandRole.SRC:
                first = self.vector_register(operand)
                written |= {*range(first, first + max(operand.count, 1))}
        if self._run is not None:
            self._run.written_vectors |= written
        moved = _moved(instruction)
        self.shared = {register: word for register, word in self.shared.items() if register not in written} | moved

    def _write(self, instruction: GpuInstruction) -> None:
        name = instruction.name
        if is_idle(instruction):
            return
        if instruction.components:
            self._dual(instruction)
            return
        special = _SPECIAL.get(name)
        if special is not None:
            special(self, instruction)
            return
        meaning = meaning_of(instruction, self.generation)
        if meaning is None:
            if not (self._packed(instruction) or self._write_memory(self, instruction)):
                raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
        elif meaning.unit == "vector":
            self._vector(instruction, meaning)
        else:
            self.write_twice(lambda: self._scalar(instruction, meaning))

    def _scalar(self, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
        if meaning.sources[0][0] != "b":
            raise UnknownInstruction(f"{instruction.mnemonic} of floats")
        sources, values = iter(instruction.sources), []
        for kind in meaning.sources:
            if kind == "scc":
                values.append(self.one.operate("icmp ne", WORD, self.scalar_word(SCC), "0"))
            elif kind == "exec":
                bits = int(meaning.sources[0][1:])
                if bits != self.wave_size:
                    raise UnknownInstruction(f"{instruction.mnemonic} in waves of {self.wave_size} lanes")
                values.append(self.mask(EXEC) if bits == 64 else self.scalar_word(EXEC))
            else:
                values.append(self.scalar(next(sources), int(kind[1:])))
        results = LlvmWriter(self.ir, 1).results(meaning.formula, values)
        destinations = iter(instruction.destinations)
        for value, kind in zip((*results, ""), meaning.results, strict=False):
            if kind == "scc":
                self.set_scalar_word(SCC, self.one.resized(value, "u1", WORD))
            elif kind == "nonzero":
                of = f"u{meaning.results[0][1:]}"
                differs = self.one.operate("icmp ne", of, results[0], "0")
                self.set_scalar_word(SCC, self.one.resized(differs, "u1", WORD))
            elif kind == "exec":
                if int(meaning.sources[0][1:]) == 64:
                    self.set_pair(EXEC, value)
                else:
                    self.set_scalar_word(EXEC, value)
            else:
                self.set_scalar(next(destinations), value, int(kind[1:]))

    # --- Instructions of lanes ------------------------------------------------------------------------------------

    def flags_source(self, operand: GpuOperand | None) -> tuple[Callable[[LaneGroup], str], set[int]]:
        """Return how a source that is a flag of each lane is read, and the scalar registers that it is in."""
        register = VCC if operand is None else -1
        if operand is not None:
            if operand.kind in _CONSTANTS or operand.register == "null":
                number = self.one.constant(operand.value, LONG)
                return (lambda lanes: lanes.flags_of(number)), set()
            register = register_of(operand)
        return (lambda lanes: lanes.flags(register)), {register, register + 1}

    def source(
        self, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int
    ) -> Callable[[LaneGroup], str]:
        """Return how a source of lanes is read, as a value of a type."""
        is_moved = instruction.variant in ("dpp", "dpp8") or instruction.name.startswith("v_interp")
        if is_moved or (instruction.encoding == "VOP3P" and "accvgpr" not in instruction.name):
            raise UnknownInstruction(f"{instruction.mnemonic} of other lanes")
        read = self._plain_source(operand, kind, instruction, position)
        flushes = kind[0] == "f" and not self.denormals(kind) & 1
        if not (operand.absolute or operand.negated or flushes):
            return read

        return lambda lanes: modified(lanes.vectors, read(lanes), operand, kind, flushes=flushes)

    def _plain_source(
        self, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int
    ) -> Callable[[LaneGroup], str]:
        bits = BITS[kind]
        of = f"u{bits}" if kind[0] == "b" else kind
        words = f"u{bits}"
        selection = lane_moves.part_of(instruction, position)
        if selection != lane_moves.DWORD:
            return self._part_of_source(operand, words, of, *lane_moves.bits_of_part(selection))
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL):
            number = bits_of_constant(operand, bits // 8)
            return lambda lanes: lanes.vectors.view(lanes.vectors.constant(number, words), words, of)
        is_high = self._is_high(operand, instruction, position)
        if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
            value = self.scalar(operand, 64 if bits == 64 else 32)
            if bits == 16:
                value = self.one.operate("lshr", WORD, value, "16") if is_high else value
                value = self.one.resized(value, WORD, words)
            return lambda lanes: lanes.vectors.view(lanes.vectors.spread(value, words), words, of)
        register = self.vector_register(operand)
        if bits == 64:

            def joined(lanes: LaneGroup) -> str:
                vectors = lanes.vectors
                low, high = (vectors.resized(lanes.read(register + part), WORD, LONG) for part in (0, 1))
                high = vectors.operate("shl", LONG, high, vectors.constant(32, LONG))
                return vectors.view(vectors.operate("or", LONG, high, low), LONG, of)

            return joined

        def word(lanes: LaneGroup) -> str:
            vectors = lanes.vectors
            value = lanes.read(register)
            if bits == 32 and operand.half is not None:
                how = ("lshr", 16) if operand.half else ("and", 0xFFFF)
                value = vectors.operate(how[0], WORD, value, vectors.constant(how[1], WORD))
            if bits == 16:
                value = vectors.operate("lshr", WORD, value, vectors.constant(16, WORD)) if is_high else value
                value = vectors.resized(value, WORD, words)
            return vectors.view(value, words, of)

        return word

    def _part_of_source(
        self, operand: GpuOperand, words: str, of: str, bits: int, first: int
    ) -> Callable[[LaneGroup], str]:
        """Return how a part of a source, which SDWA selects, is read as all of it."""
        if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
            read = _spread_word(self.scalar(operand, 32))
        else:
            read = _read_word(self.vector_register(operand))
        way = "ashr" if operand.sign_extended else "lshr"

        def part(lanes: LaneGroup) -> str:
            vectors = lanes.vectors
            value = vectors.operate("shl", WORD, read(lanes), vectors.constant(32 - bits - first, WORD))
            value = vectors.operate(way, WORD, value, vectors.constant(32 - bits, WORD))
            return vectors.view(vectors.resized(value, WORD, words), words, of)

        return part

    def vector_register(self, operand: GpuOperand) -> int:
        """Return the number of the (first) vector register of an operand."""
        if operand.kind is OperandKind.VGPR:
            return operand.index
        if operand.kind is OperandKind.AGPR:
            return ACCUMULATION + operand.index
        raise UnknownInstruction(f"{operand.text} as a vector operand")

    @staticmethod
    def _is_high(operand: GpuOperand, instruction: GpuInstruction, position: int) -> bool:
        if operand.half is not None:
            return operand.half == 1
        return bool(instruction.modifiers.get("op_sel", 0) >> (3 if position < 0 else position) & 1)

    def denormals(self, kind: str) -> int:
        """Return MODE.FP_DENORM of a type of floats: bit 0 keeps denormal sources, bit 1 denormal results."""
        return self.mode >> (4 if kind == "f32" else 6) & 3

    def _sources(
        self, instruction: GpuInstruction, meaning: InstructionMeaning
    ) -> tuple[list[Callable[[LaneGroup], str]], set[int]]:
        found: list[Callable[[LaneGroup], str]] = []
        registers: set[int] = set()
        operands = [operand for operand in instruction.sources if operand.name != "simm"]
        is_accumulating = bool(operands) and operands[0] in instruction.destinations
        position, index = (-1 if is_accumulating else 0), 0
        for kind in meaning.sources:
            if kind in ("vcc", "mask"):
                operand = None
                if kind == "mask" and index < len(operands):
                    operand = operands[index]
                    index += 1
                    position += 1
                read, used = self.flags_source(operand)
                registers |= used
            else:
                read = self.source(operands[index], kind, instruction, position)
                index += 1
                position += 1
            found.append(read)
        return found, registers

    def _check(self, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
        """Raise an error where MODE wants results that have no text here."""
        kind = meaning.results[0]
        if kind[0] == "f" and direction(self.mode, kind) != NEAREST:
            raise UnknownInstruction(f"{instruction.mnemonic} rounded as MODE says")
        if self.mode & INDEXED:
            raise UnknownInstruction("registers by number")
        if instruction.modifiers.get("clamp") and kind[0] != "f":
            raise UnknownInstruction(f"{instruction.mnemonic} with clamp")

    def _vector(self, instruction: GpuInstruction, meaning: InstructionMeaning) -> None:
        self._check(instruction, meaning)
        sources, reads = self._sources(instruction, meaning)
        puts: list[Callable[[LaneGroup, str], None] | None] = []
        writes: set[int] = set()
        destinations = instruction.destinations
        is_compared = instruction.name.startswith("v_cmpx")
        if is_compared:
            writes |= {EXEC, EXEC_HI} if self.wave_size == 64 else {EXEC}
        for kind, operand in zip(meaning.results, destinations, strict=False):
            if kind == "mask":
                if operand.register != "null" and not operand.register.startswith("exec"):
                    register = register_of(operand)
                    writes |= {register, register + 1} if self.wave_size == 64 else {register}
                    puts.append(_flag_put(register))
                else:
                    puts.append(None)
            else:
                puts.append(self._put(operand, kind, instruction))
        quiets = self.mode & IEEE and self.generation <= 11 and bool(CHOOSES.match(instruction.name))

        def action(lanes: LaneGroup) -> None:
            values = [read(lanes) for read in sources]
            results = LlvmWriter(lanes.ir, CHUNK).results(meaning.formula, values)
            if quiets:
                results[0] = quieted(lanes.vectors, results[0], values, meaning.results[0])
            for value, put in zip(results, puts, strict=False):
                if put is not None:
                    put(lanes, value)
            if is_compared:
                lanes.write_flags(EXEC, results[0])

        self.in_lanes(action, reads=reads, writes=writes)

    def _put(self, operand: GpuOperand, kind: str, instruction: GpuInstruction) -> Callable[[LaneGroup, str], None]:
        """Return how a result of lanes is written."""
        register, bits = self.vector_register(operand), BITS[kind]
        of, words = (f"u{bits}" if kind[0] == "b" else kind), f"u{bits}"
        finish = self._float_result(kind, instruction) if kind[0] == "f" else None
        selection = instruction.modifiers.get("dst_sel", lane_moves.DWORD)
        unused = instruction.modifiers.get("dst_unused", 0)
        size, first = (32, 0) if selection == lane_moves.DWORD else lane_moves.bits_of_part(selection)
        is_high = operand.half == 1 or bool(instruction.modifiers.get("op_sel", 0) >> 3 & 1)
        keeps = operand.half is not None or self.generation >= 10 or "op_sel" in instruction.modifiers
        keeps = keeps or (self.generation == 9 and bool(KEEPING.match(instruction.name)))

        def put(lanes: LaneGroup, value: str) -> None:
            vectors = lanes.vectors
            value = vectors.view(finish(vectors, value) if finish else value, of, words)
            if bits == 64:
                lanes.write(register, vectors.resized(value, LONG, WORD))
                high = vectors.operate("lshr", LONG, value, vectors.constant(32, LONG))
                lanes.write(register + 1, vectors.resized(high, LONG, WORD))
                return
            if bits == 16 or operand.half is not None:
                value = vectors.resized(value, words, WORD)
                if is_high:
                    value = vectors.operate("shl", WORD, value, vectors.constant(16, WORD))
                if is_high or keeps:
                    kept = vectors.constant(0xFFFF if is_high else 0xFFFF0000, WORD)
                    old = vectors.operate("and", WORD, lanes.read(register), kept)
                    value = vectors.operate("or", WORD, value, old)
            if size < 32:
                value = vectors.operate("shl", WORD, value, vectors.constant(32 - size, WORD))
                way = "ashr" if unused == lane_moves.SIGN_EXTENDED else "lshr"
                value = vectors.operate(way, WORD, value, vectors.constant(32 - size - first, WORD))
            if size < 32 and unused == lane_moves.PRESERVED:
                kept = vectors.constant(~((1 << size) - 1 << first), WORD)
                old = vectors.operate("and", WORD, lanes.read(register), kept)
                value = vectors.operate("or", WORD, value, old)
            lanes.write(register, value)

        return put

    def _float_result(self, kind: str, instruction: GpuInstruction) -> Callable[[Vectors, str], str]:
        """Return what output modifiers and MODE do with a float result."""
        flushes = not self.denormals(kind) & 2
        omod = instruction.modifiers.get("omod", 0)
        factor = (1, 2, 4, 0.5)[omod] if flushes and not (self.mode & IEEE and self.generation <= 11) else 1
        clamps = instruction.modifiers.get("clamp")
        keeps_nans = self.generation <= 11 and not self.mode & DX10_CLAMP

        def finish(vectors: Vectors, value: str) -> str:
            if flushes:
                value = vectors.flushed(value, kind)
            if factor != 1:
                value = vectors.operate("fmul", kind, value, vectors.constant(factor, kind))
                value = vectors.flushed(value, kind)
                value = vectors.operate("fadd", kind, value, vectors.constant(0, kind))
            if clamps:
                limited = vectors.clipped(value, kind, 0, 1)
                if not keeps_nans:
                    limited = vectors.choose(vectors.is_nan(value, kind), kind, vectors.constant(0, kind), limited)
                value = limited
            return value

        return finish

    def _dual(self, instruction: GpuInstruction) -> None:
        parts = []
        reads: set[int] = set()
        for part in instruction.components:
            meaning = MEANINGS.get(part.name) or MEANINGS.get(single_name(part.name))
            if meaning is None:
                raise UnknownInstruction(f"{part.mnemonic} has no text here")
            self._check(part, meaning)
            sources, used = self._sources(part, meaning)
            reads |= used
            if self.mode & IEEE and self.generation <= 11 and CHOOSES.match(meaning.name):
                raise UnknownInstruction(f"{part.mnemonic} of signalling NaNs")
            parts.append((meaning, sources, self._put(part.destinations[0], meaning.results[0], part)))

        def action(lanes: LaneGroup) -> None:
            values = [
                LlvmWriter(lanes.ir, CHUNK).results(meaning.formula, [read(lanes) for read in sources])[0]
                for meaning, sources, _put in parts
            ]
            for value, (_meaning, _sources, put) in zip(values, parts, strict=True):
                put(lanes, value)

        self.in_lanes(action, reads=reads)

    def _packed(self, instruction: GpuInstruction) -> bool:
        """Write an operation on two numbers of 32 bits each; return whether it is one."""
        name, modifiers = instruction.name, instruction.modifiers
        is_move = name == "v_pk_mov_b32"
        meaning = MEANINGS.get("v_mov_b32" if is_move else name.replace("v_pk_", "v_", 1))
        if not name.startswith("v_pk_") or meaning is None or BITS[meaning.results[0]] != 32:
            return False
        self._check(instruction, meaning)
        kind = meaning.results[0]
        of = "u32" if kind[0] == "b" else kind
        negated = modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0)
        chosen = modifiers.get("op_sel", 0), modifiers.get("op_sel_hi", 0)
        if "fmac" in name or (any(negated) and kind[0] != "f"):
            raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
        halves = []
        for half in (0, 1):
            reads = []
            for position, operand in enumerate(instruction.sources):
                if is_move and position != half:
                    continue
                is_high = bool(chosen[0 if is_move else half] >> position & 1)
                reads.append(self._part(operand, kind, is_high=is_high, is_negated=bool(negated[half] >> position & 1)))
            halves.append(reads)
        finish = self._float_result(kind, instruction) if kind[0] == "f" else None
        register = self.vector_register(instruction.destinations[0])

        def action(lanes: LaneGroup) -> None:
            values = [
                LlvmWriter(lanes.ir, CHUNK).results(meaning.formula, [read(lanes) for read in reads])[0]
                for reads in halves
            ]
            for half, value in enumerate(values):
                result = finish(lanes.vectors, value) if finish else value
                lanes.write(register + half, lanes.vectors.view(result, of, WORD))

        self.in_lanes(action)
        return True

    def _part(self, operand: GpuOperand, kind: str, *, is_high: bool, is_negated: bool) -> Callable[[LaneGroup], str]:
        """Return how one of two numbers of 32 bits is read."""
        of = WORD if kind[0] == "b" else kind
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL):
            number = operand.value >> (32 if is_high else 0)
            read = _constant_words(number)
        elif operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
            value = self.scalar(operand, operand.bits or 32)
            if (operand.bits or 32) > 32:
                value = self.one.operate("lshr", LONG, value, "32") if is_high else value
                value = self.one.resized(value, LONG, WORD)
            elif is_high:
                value = "0"
            read = _spread_word(value)
        else:
            read = _read_word(self.vector_register(operand) + is_high)
        flushes = kind[0] == "f" and not self.denormals(kind) & 1

        def modified(lanes: LaneGroup) -> str:
            value = lanes.vectors.view(read(lanes), WORD, of)
            if is_negated:
                value = lanes.vectors.negated(value, kind)
            return lanes.vectors.flushed(value, kind) if flushes else value

        return modified

    # --- The function ---------------------------------------------------------------------------------------------

    def begin_block(self, number: int, block: BlockCode) -> None:
        self.mode = block.mode
        self.shared = {}
        self.place = number << 16
        self.label(f"block{number}")

    def end_block(self, number: int, block: BlockCode, targets: dict[tuple[int, int], int]) -> None:
        """End a block: count it, and go where the waves go."""
        ending = block.ending
        if ending is None:
            self.end_phase()
            self.leave(Exit.INSIDE)
            return
        if ending.condition or ending.address is not None:
            self._decide(block, ending)
        elif ending.link is not None:
            self.set_scalar(ending.link, str(block.following), 64)
        self.end_phase()
        if ending.end is not None:
            self._count(number, block)
            self.leave(Exit.END)
            return
        count = self._count(number, block)
        is_full = self._note_call(block, ending) if ending.link is not None or ending.address is not None else "false"
        if ending.is_whole:
            self.ir.do(f"store i64 {count}, ptr %whole")
            if ending.is_barrier:
                is_full = self.ir.put(f"icmp uge i64 {count}, {self.cell(Cell.BARRIER)}")
            self._ask_for_turn(ending, count, is_full)
            if ending.is_barrier:
                self.set_cell(Cell.PASSED, count)
        followers = [(address, targets.get((address, ending.mode))) for address in ending.targets]
        known = [(address, f"block{index}") for address, index in followers if index is not None]
        if ending.address is not None:
            known = [(address, f"block{index}") for (address, mode), index in targets.items() if mode == ending.mode]
        outside = self.ir.name("outside")
        if len(ending.targets) == 1 and known:
            self.jump(known[0][1])
            return
        if len(ending.targets) == 1 or not known:
            self.jump(outside)
        else:
            following = self.ir.put("load i64, ptr %next")
            cases = " ".join(f"i64 {address}, label %{label}" for address, label in known)
            self.ir.do(f"switch i64 {following}, label %{outside} [ {cases} ]")
        self.label(outside)
        if len(ending.targets) == 1:
            self.ir.do(f"store i64 {ending.targets[0]}, ptr %next")
        self.leave(Exit.TURN)

    def _count(self, number: int, block: BlockCode) -> str:
        """Count a block that has been executed to its end; return how many instructions have been executed."""
        count = self.ir.put("load i64, ptr %executed")
        count = self.ir.put(f"add i64 {count}, {block.count}")
        self.ir.do(f"store i64 {count}, ptr %executed")
        visited = self.ir.put(f"getelementptr i8, ptr %visited, i64 {number}")
        self.ir.do(f"store i8 1, ptr {visited}")
        return count

    def _decide(self, block: BlockCode, ending: Ending) -> None:
        """Write where each wave goes."""
        if ending.address is not None:
            following = self.scalar(ending.address, 64)
            if ending.link is not None:
                self.set_scalar(ending.link, str(block.following), 64)
        else:
            taken, other = ending.targets
            condition = self._condition(ending.condition)
            following = self.ir.put(f"select i1 {condition}, i64 {taken}, i64 {other}")
        self.begin_phase()
        place = self.ir.put(f"getelementptr i64, ptr %next, i64 {self.position}")
        self.ir.do(f"store i64 {following}, ptr {place}")
        self.end_phase()
        same, parted = self.ir.name("same"), self.ir.name("parted")
        first = self.ir.put("load i64, ptr %next")
        is_jump = ending.address is not None and ending.link is None
        is_call = self._is_call_by_hand(block, "0") if is_jump else ""
        with self.loop("%waves") as position:
            place = self.ir.put(f"getelementptr i64, ptr %next, i64 {position}")
            differs = self.ir.put(f"icmp ne i64 {self.ir.put(f'load i64, ptr {place}')}, {first}")
            if is_jump:
                is_other = self.ir.put(f"xor i1 {is_call}, {self._is_call_by_hand(block, position)}")
                differs = self.ir.put(f"or i1 {differs}, {is_other}")
            more = self.ir.name("more")
            self.fork(differs, parted, more)
            self.label(more)
        self.jump(same)
        self.label(parted)
        self._count(self.place >> 16, block)
        self.leave(Exit.PARTED)
        self.label(same)

    def _note_call(self, block: BlockCode, ending: Ending) -> str:
        """Note a call or a jump for Python; return whether there is no more room.

        All waves go to one address. A jump is a call by hand if the first wave says so, as then all do.
        """
        count = self.cell(Cell.CALL_COUNT)
        place = self.ir.put(f"getelementptr i64, ptr %calls, i64 {count}")
        more, note = self.ir.put(f"add i64 {count}, 1"), str(block.following)
        if ending.link is None:
            is_call = self._is_call_by_hand(block, "0")
            target = self.ir.put("load i64, ptr %next")
            last = self.ir.put(f"getelementptr i64, ptr {place}, i64 -1")
            is_return = self.ir.put(f"icmp eq i64 {self.ir.put(f'load i64, ptr {last}')}, {target}")
            is_return = self.ir.put(f"and i1 {is_return}, {self.ir.put(f'icmp ugt i64 {count}, 1')}")
            note = self.ir.put(f"select i1 {is_call}, i64 {note}, i64 {self.ir.put(f'or i64 {target}, 1')}")
            less = self.ir.put(f"sub i64 {count}, 1")
            more = self.ir.put(
                f"select i1 {is_call}, i64 {more}, i64 {count}"
                if ending.is_far_branch
                else f"select i1 {is_return}, i64 {less}, i64 {more}"
            )
        self.ir.do(f"store i64 {note}, ptr {place}")
        self.set_cell(Cell.CALL_COUNT, more)
        return self.ir.put(f"icmp uge i64 {more}, {MOST_CALLS}")

    def _is_call_by_hand(self, block: BlockCode, position: str) -> str:
        self.touched_scalars |= {RETURN_LOW, RETURN_HIGH}
        start = self.ir.put(f"mul i64 {self._row_of(position)}, {_ROW}")
        at = self.ir.put(f"add i64 {start}, {_slot(RETURN_LOW)}")
        link = self.ir.put(f"getelementptr i32, ptr %scalars, i64 {at}")
        return self.ir.put(f"icmp eq i64 {self.ir.put(f'load i64, ptr {link}, align 4')}, {block.following}")

    def _condition(self, condition: str) -> str:
        if condition.startswith("scc"):
            return self.one.operate("icmp ne" if condition == "scc1" else "icmp eq", WORD, self.scalar_word(SCC), "0")
        is_zero = self.is_zero(VCC if condition.startswith("vcc") else EXEC)
        return (
            is_zero
            if condition.endswith("z") and not condition.endswith("nz")
            else self.one.operate("xor", FLAG, is_zero, "true")
        )

    def _ask_for_turn(self, ending: Ending, count: str, is_full: str) -> None:
        """Leave where the turn of the batch may have ended; Python asks in which way."""
        if len(ending.targets) == 1 and ending.address is None:
            following = str(ending.targets[0])
            self.ir.do(f"store i64 {following}, ptr %next")
        else:
            following = self.ir.put("load i64, ptr %next")
        is_spent = self.ir.put(f"icmp uge i64 {count}, %stop")
        is_near = self.ir.put(f"icmp uge i64 {following}, %nearest")
        on, over = self.ir.name("on"), self.ir.name("over")
        is_over = self.ir.put(f"or i1 {is_spent}, {is_near}")
        self.fork(is_over if is_full == "false" else self.ir.put(f"or i1 {is_over}, {is_full}"), over, on)
        self.label(over)
        self.leave(Exit.TURN)
        self.label(on)

    def text(self, blocks: int, name: str, helpers: str) -> str:
        """Return the module."""
        head = LlvmText()
        pointers = {
            "scalars": Cell.SCALARS,
            "vectors": Cell.VECTORS,
            "next": Cell.NEXT,
            "running": Cell.RUNNING,
            "visited": Cell.VISITED,
            "places": Cell.PLACES,
            "steps": Cell.STEPS,
            "calls": Cell.CALLS,
            "rows": Cell.ROWS,
        }
        numbers = {"waves": Cell.WAVES, "stop": Cell.STOP, "nearest": Cell.NEAREST}
        for kind, cells in (("ptr", pointers), ("i64", numbers)):
            for variable, cell in cells.items():
                head.do(f"%{variable}.at = getelementptr i64, ptr %cells, i64 {int(cell)}")
                head.do(f"%{variable} = load {kind}, ptr %{variable}.at")
        head.do("%executed = alloca i64")
        head.do("store i64 0, ptr %executed")
        head.do("%whole = alloca i64")
        head.do("store i64 0, ptr %whole")
        head.do("%reason = alloca i64")
        for number in range(0, blocks, 8):
            head.do(f"%visited{number} = getelementptr i8, ptr %visited, i64 {number}")
            head.do(f"store i64 0, ptr %visited{number}")
        for slot, register in enumerate(sorted(self._columns)):
            head.do(f"%column{register}.at = getelementptr ptr, ptr %vectors, i64 {slot}")
            head.do(f"%column{register} = load ptr, ptr %column{register}.at")
        head.do(f"%entry.at = getelementptr i64, ptr %cells, i64 {int(Cell.ENTRY)}")
        head.do("%first = load i64, ptr %entry.at")
        cases = " ".join(f"i64 {number}, label %block{number}" for number in range(blocks))
        head.do(f"switch i64 %first, label %block0 [ {cases} ]")
        last = LlvmText()
        last.label("leave")
        last.do(f"%executed.at = getelementptr i64, ptr %cells, i64 {int(Cell.EXECUTED)}")
        last.do("%executed.last = load i64, ptr %executed")
        last.do("store i64 %executed.last, ptr %executed.at")
        last.do(f"%whole.at = getelementptr i64, ptr %cells, i64 {int(Cell.WHOLE)}")
        last.do("%whole.last = load i64, ptr %whole")
        last.do("store i64 %whole.last, ptr %whole.at")
        last.do("%reason.last = load i64, ptr %reason")
        last.do("ret i64 %reason.last")
        slots = {str(register): str(slot) for slot, register in enumerate(self.scalars)}
        lines = "\n".join(self.ir.lines).replace(_ROW, str(len(slots)))
        lines = _SLOT.sub(lambda match: slots[match[1]], lines)
        return "\n".join((
            *self.ir.declared.values(), helpers, f"define i64 @{name}(ptr noalias %cells) {{", "entry:",
            *head.lines, lines, *last.lines, "}",
            "!0 = distinct !{!0, !1}", '!1 = !{!"llvm.loop.unroll.disable"}',
        ))  # fmt: skip

    @property
    def scalars(self) -> tuple[int, ...]:
        """The scalar registers in memory, in their order; in waves of 64 lanes VCC and EXEC are two each."""
        used = self.touched_scalars
        for pair in ({VCC, VCC_HI}, {EXEC, EXEC_HI}) if self.wave_size == 64 else ():
            used = used | pair if used & pair else used
        return tuple(sorted(used))

    @property
    def columns(self) -> tuple[int, ...]:
        """The vector registers in memory, in their order."""
        return tuple(sorted(self._columns))


INDEXED = 1 << 27


def _moved(instruction: GpuInstruction) -> dict[int, tuple[bool, int]]:
    """Return the vector registers that an instruction gives one number in all executing lanes, and that number."""
    found = {}
    for part in instruction.components or (instruction,):
        is_pair = part.name == "v_pk_mov_b32"
        if not is_pair and (single_name(part.name) != "v_mov_b32" or part.variant or part.modifiers):
            continue
        target = part.destinations[0]
        for position, source in enumerate(part.sources):
            is_scalar, number = source.kind is OperandKind.SGPR and source.bits == (64 if is_pair else 32), source.index
            if is_scalar and is_pair:
                number += part.modifiers.get("op_sel", 0) >> position & 1
            elif not is_pair and source.kind in (OperandKind.CONSTANT, OperandKind.LITERAL):
                number = bits_of_constant(source, 4)
            elif not is_scalar:
                continue
            if target.kind is OperandKind.VGPR and not (source.negated or source.absolute or target.half is not None):
                found[target.index + position] = is_scalar, number
    return found


def _constant_words(number: int) -> Callable[[LaneGroup], str]:
    return lambda lanes: lanes.vectors.constant(number, WORD)


def _spread_word(value: str) -> Callable[[LaneGroup], str]:
    return lambda lanes: lanes.vectors.spread(value, WORD)


def _read_word(register: int) -> Callable[[LaneGroup], str]:
    return lambda lanes: lanes.read(register)


def _flag_put(register: int) -> Callable[[LaneGroup, str], None]:
    return lambda lanes, flags: lanes.write_flags(register, flags)


# --- Lanes of other lanes -----------------------------------------------------------------------------------------


def _lane_cell(writer: RegionWriter, operand: GpuOperand, lane: str) -> str:
    """Return where one lane of a vector register is."""
    writer.begin_phase()
    writer.end_group()
    wide = writer.one.resized(lane, WORD, LONG)
    place = writer.one.operate("and", LONG, wide, str(writer.wave_size - 1))
    start = writer.one.operate("add", LONG, place, writer.lane_start)
    return writer.ir.put(f"getelementptr i32, ptr {writer.column(writer.vector_register(operand))}, i64 {start}")


def _read_lane(writer: RegionWriter, instruction: GpuInstruction) -> None:
    register, lane = instruction.sources
    number = writer.scalar(lane, 32)
    value = writer.ir.put(f"load i32, ptr {_lane_cell(writer, register, number)}, align 4")
    writer.set_scalar(instruction.destinations[0], value, 32)


def _read_first_lane(writer: RegionWriter, instruction: GpuInstruction) -> None:
    (source,) = instruction.sources
    if source.kind not in (OperandKind.VGPR, OperandKind.AGPR):
        writer.set_scalar(instruction.destinations[0], writer.scalar(source, 32), 32)
        return
    mask = writer.mask(EXEC)
    first = writer.ir.call("llvm.cttz.i64", "i64", ("i64", mask), ("i1", "false"))
    number = writer.one.resized(first, LONG, WORD)  # 64 if no lane executes: that is lane 0
    value = writer.ir.put(f"load i32, ptr {_lane_cell(writer, source, number)}, align 4")
    writer.set_scalar(instruction.destinations[0], value, 32)


def _write_lane(writer: RegionWriter, instruction: GpuInstruction) -> None:
    target, value, lane = instruction.sources
    word, number = writer.scalar(value, 32), writer.scalar(lane, 32)
    writer.note_vector(writer.vector_register(target))
    writer.ir.do(f"store i32 {word}, ptr {_lane_cell(writer, target, number)}, align 4")


def _mask_count(first: int) -> Callable[[RegionWriter, GpuInstruction], None]:
    """Write how many bits of a mask of 32 lanes are below each lane, plus a number."""

    def write(writer: RegionWriter, instruction: GpuInstruction) -> None:
        mask, other = instruction.sources
        read = writer.source(mask, "u32", instruction, 0)
        added = writer.source(other, "u32", instruction, 1)
        put = writer._put(instruction.destinations[0], "u32", instruction)  # noqa: SLF001
        steps = ", ".join(f"i64 {number}" for number in range(CHUNK))

        def action(lanes: LaneGroup) -> None:
            vectors = lanes.vectors
            at = vectors.operate("add", LONG, vectors.spread(lanes.at, LONG), f"<{steps}>")
            distance = vectors.operate("sub", LONG, at, vectors.constant(first, LONG))
            count = vectors.intrinsic("smin", LONG, distance, vectors.constant(32, LONG))
            count = vectors.intrinsic("smax", LONG, count, vectors.constant(0, LONG))
            bit = vectors.operate("shl", LONG, vectors.constant(1, LONG), count)
            below = vectors.resized(vectors.operate("sub", LONG, bit, vectors.constant(1, LONG)), LONG, WORD)
            ones = vectors.intrinsic("ctpop", WORD, vectors.operate("and", WORD, read(lanes), below))
            put(lanes, vectors.operate("add", WORD, ones, added(lanes)))

        writer.in_lanes(action)

    return write


def _get_pc(writer: RegionWriter, instruction: GpuInstruction) -> None:
    following = str(writer.address + instruction.size)
    writer.write_twice(lambda: writer.set_scalar(instruction.destinations[0], following, 64))


_SPECIAL: dict[str, Callable[[RegionWriter, GpuInstruction], None]] = {
    "v_readlane_b32": _read_lane,
    "v_readfirstlane_b32": _read_first_lane,
    "v_writelane_b32": _write_lane,
    "v_mbcnt_lo_u32_b32": _mask_count(0),
    "v_mbcnt_hi_u32_b32": _mask_count(32),
    "s_getpc_b64": _get_pc,
}
"""Instructions whose meaning needs more than the values of their operands."""
