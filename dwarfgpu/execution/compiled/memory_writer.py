"""Accesses to memory in compiled code: first the places of all lanes are found, then they are read or written.

Where a place is not found, or a number is in two dwords of private memory, nothing has been changed yet, and the
interpreter executes the instruction: it knows what is wrong, and says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dwarfgpu.execution.access_shapes import (
    BUFFER,
    FLAT,
    GLOBAL,
    LOCAL,
    SCALAR_LOAD,
    SCRATCH,
    SIZES,
    AccessShape,
    shape_of,
)
from dwarfgpu.execution.batch import EXEC, EXEC_HI
from dwarfgpu.execution.block_writer import needed, register_of
from dwarfgpu.execution.compiled.layout import Cell, Exit
from dwarfgpu.execution.compiled.region_writer import CHUNK, LONG, WORD, LaneGroup, RegionWriter
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.atomics import CHANGES
from dwarfgpu.execution.forms.dispatcher import FIND, FIND_TEXT
from dwarfgpu.execution.memory_access import has_base, local_offsets
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.llvm import Vectors

LOW = 0xFFFF_FFFF


def write_memory(writer: RegionWriter, instruction: GpuInstruction) -> bool:
    """Write an access to memory; return whether the instruction is one."""
    name, modifiers = instruction.name, instruction.modifiers
    if (scalar := SCALAR_LOAD.match(name)) is not None:
        _write_scalar_load(writer, instruction, scalar)
        return True
    shape = shape_of(name)
    if shape is None or instruction.encoding == "SMEM":
        return False
    if any(modifiers.get(each) for each in ("gds", "tfe", "lds")):
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    if shape.action == "load":
        _write_load(writer, instruction, shape)
    elif shape.action == "store":
        _write_store(writer, instruction, shape)
    else:
        _write_atomic(writer, instruction, shape)
    return True


# --- Loads and stores ---------------------------------------------------------------------------------------------


def _write_load(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
    destination = needed(instruction, "vdst", "vdata")
    first = writer.vector_register(destination)
    half = shape.half if destination.half is None else destination.half
    checked = _find_local_numbers(writer, instruction, shape) or _find_row(writer, instruction, shape)
    places = checked or _find_shared(writer, instruction, shape) or _find(writer, instruction, shape)

    def action(lanes: LaneGroup) -> None:
        vectors, kind = lanes.vectors, f"u{8 * shape.size}"
        source = f"i{8 * shape.size}" if shape.is_signed else kind
        for number, value in enumerate(places.read(lanes)):
            word = vectors.resized(value, source, WORD)
            if half is not None and shape.size < 4:
                word = _in_half(vectors, word, lanes.read(first), half)
            lanes.write(first + number, word)

    writer.in_lanes(action)


def _in_half(vectors: Vectors, value: str, old: str, half: int) -> str:
    """Return a register in one half of which is a number of 16 bits."""
    value = vectors.operate("and", WORD, value, vectors.constant(0xFFFF, WORD))
    if half:
        value = vectors.operate("shl", WORD, value, vectors.constant(16, WORD))
    kept = vectors.constant(0xFFFF if half else 0xFFFF0000, WORD)
    return vectors.operate("or", WORD, value, vectors.operate("and", WORD, old, kept))


def _write_store(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
    if shape.space == LOCAL:
        parts = [needed(instruction, f"data{number}") for number in range(2 if shape.pair else 1)]
    else:
        parts = [needed(instruction, "vdata", "data0", "data")]
    registers = [writer.vector_register(data) + number for data in parts for number in range(shape.count)]
    checked = _find_row(writer, instruction, shape) or _find_shared(writer, instruction, shape)
    places = checked if isinstance(checked, AlignedNumbers) else _find(writer, instruction, shape)
    for number, register in enumerate(registers):
        writer.in_lanes(_scatter(places, register, number, shape, parts[0]))
        if len(registers) > 1 and isinstance(places, ScatteredNumbers):  # the last lane wins for each number in turn
            writer.end_phase()


def _scatter(
    places: ScatteredNumbers | AlignedNumbers, register: int, number: int, shape: AccessShape, data: GpuOperand
) -> Callable[[LaneGroup], None]:
    def action(lanes: LaneGroup) -> None:
        vectors = lanes.vectors
        value = lanes.read(register)
        if shape.size < 4:
            if shape.half == 1 or data.half == 1:
                value = vectors.operate("lshr", WORD, value, vectors.constant(16, WORD))
            value = vectors.resized(value, WORD, f"u{8 * shape.size}")
        places.write(lanes, number, value)

    return action


def _gathered(lanes: LaneGroup, places: str, kind: str) -> str:
    whole, long = lanes.vectors.type(kind), lanes.vectors.type(LONG)
    _declare_moves(lanes, kind)
    return lanes.ir.put(f"call {whole} @gather{kind}({long} {places}, i8 {_bits(lanes, lanes.active)})")


def _scattered(lanes: LaneGroup, places: str, value: str, kind: str) -> None:
    whole, long = lanes.vectors.type(kind), lanes.vectors.type(LONG)
    _declare_moves(lanes, kind)
    lanes.ir.do(f"call void @scatter{kind}({whole} {value}, {long} {places}, i8 {_bits(lanes, lanes.active)})")


def _declare_moves(lanes: LaneGroup, kind: str) -> None:
    """Declare the functions that read and write numbers of a chunk: in a row, or anywhere."""
    flags, of, size = f"<{CHUNK} x i1>", lanes.vectors.suffix(kind), int(kind[1:]) // 8
    known = lanes.ir.declared
    for name, result, types in (
        (f"llvm.masked.load.{of}.p0", "whole", "ptr, i32, flags, whole"),
        (f"llvm.masked.gather.{of}.v{CHUNK}p0", "whole", "places, i32, flags, whole"),
        (f"llvm.masked.store.{of}.p0", "void", "whole, ptr, i32, flags"),
        (f"llvm.masked.scatter.{of}.v{CHUNK}p0", "void", "whole, places, i32, flags"),
    ):
        text = f"declare {result} @{name}({types})".replace("whole", lanes.vectors.type(kind))
        known[name] = text.replace("places", f"<{CHUNK} x ptr>").replace("flags", flags)
    steps = ", ".join(f"i64 {lane * size}" for lane in range(CHUNK))
    known[f"moves {kind}"] = _MOVES.format(
        type=lanes.vectors.type(kind),
        of_one=f"i{kind[1:]}",
        of=of,
        kind=kind,
        row=_ROW.format(steps=steps, lanes=CHUNK),
        lanes=CHUNK,
    )


_ROW = """
  %first = extractelement <{lanes} x i64> %places, i32 0
  %one = insertelement <{lanes} x i64> poison, i64 %first, i32 0
  %all = shufflevector <{lanes} x i64> %one, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer
  %row = add <{lanes} x i64> %all, <{steps}>
  %differs = icmp ne <{lanes} x i64> %places, %row
  %flags = bitcast i{lanes} %mask to <{lanes} x i1>
  %others = and <{lanes} x i1> %differs, %flags
  %bits = bitcast <{lanes} x i1> %others to i{lanes}
  %is.row = icmp eq i{lanes} %bits, 0
  br i1 %is.row, label %in.row, label %each
in.row:
  %first.place = inttoptr i64 %first to ptr
  %is.full = icmp eq i{lanes} %mask, -1
  br i1 %is.full, label %full, label %some
"""
_MOVES = """
define internal {type} @gather{kind}(<{lanes} x i64> %places, i{lanes} %mask) noinline {{
{row}
full:
  %whole = load {type}, ptr %first.place, align 1
  ret {type} %whole
some:
  %part = call {type} @llvm.masked.load.{of}.p0(ptr %first.place, i32 1, <{lanes} x i1> %flags, {type} zeroinitializer)
  ret {type} %part
each:
  %elsewhere = icmp ne <{lanes} x i64> %places, %all
  %apart = and <{lanes} x i1> %elsewhere, %flags
  %apart.bits = bitcast <{lanes} x i1> %apart to i{lanes}
  %is.same = icmp eq i{lanes} %apart.bits, 0
  br i1 %is.same, label %same, label %different
same:
  %same.place = inttoptr i64 %first to ptr
  %number = load {of_one}, ptr %same.place, align 1
  %single = insertelement {type} poison, {of_one} %number, i32 0
  %numbers = shufflevector {type} %single, {type} poison, <{lanes} x i32> zeroinitializer
  ret {type} %numbers
different:
  %each.place = inttoptr <{lanes} x i64> %places to <{lanes} x ptr>
  %parts = call {type} @llvm.masked.gather.{of}.v{lanes}p0(<{lanes} x ptr> %each.place, i32 1, <{lanes} x i1> %flags, \
{type} zeroinitializer)
  ret {type} %parts
}}
define internal void @replace{kind}({type} %value, ptr %place, i{lanes} %mask) {{
  %flags = bitcast i{lanes} %mask to <{lanes} x i1>
  switch i{lanes} %mask, label %some [ i{lanes} -1, label %full i{lanes} 0, label %none ]
none:
  ret void
full:
  store {type} %value, ptr %place, align 1
  ret void
some:
  %old = load {type}, ptr %place, align 1
  %new = select <{lanes} x i1> %flags, {type} %value, {type} %old
  store {type} %new, ptr %place, align 1
  ret void
}}
define internal void @scatter{kind}({type} %value, <{lanes} x i64> %places, i{lanes} %mask) noinline {{
{row}
full:
  store {type} %value, ptr %first.place, align 1
  ret void
some:
  call void @llvm.masked.store.{of}.p0({type} %value, ptr %first.place, i32 1, <{lanes} x i1> %flags)
  ret void
each:
  %each.place = inttoptr <{lanes} x i64> %places to <{lanes} x ptr>
  call void @llvm.masked.scatter.{of}.v{lanes}p0({type} %value, <{lanes} x ptr> %each.place, i32 1, \
<{lanes} x i1> %flags)
  ret void
}}
"""


# --- Places -------------------------------------------------------------------------------------------------------


@frozen(eq=False)
class ScatteredNumbers:
    """Numbers that each lane has at a place of its own."""

    kind: str
    find: Callable[[LaneGroup], list[str]]
    writer: RegionWriter | None = None
    """Who writes the region, if the lanes of a wave may have their numbers in a row."""

    count: int = 1

    def read(self, lanes: LaneGroup) -> list[str]:
        """Read all numbers."""
        if self.writer is None:
            return [_gathered(lanes, place, self.kind) for place in self.find(lanes)]
        ir, whole = lanes.ir, lanes.vectors.type(self.kind)
        rowed, far, found = self._fork(lanes, self.writer)
        rows = [ir.put(f"load {whole}, ptr {place}, align 1") for place in self._row(lanes, self.writer)]
        self.writer.jump(found)
        self.writer.label(far)
        others = [_gathered(lanes, place, self.kind) for place in self.find(lanes)]
        self.writer.jump(found)
        self.writer.label(found)
        pairs = zip(rows, others, strict=True)
        return [ir.put(f"phi {whole} [ {row}, %{rowed} ], [ {other}, %{far} ]") for row, other in pairs]

    def write(self, lanes: LaneGroup, number: int, value: str) -> None:
        if self.writer is None:
            _scattered(lanes, self.find(lanes)[number], value, self.kind)
            return
        _rowed, far, found = self._fork(lanes, self.writer)
        place = self._row(lanes, self.writer)[number]
        _declare_moves(lanes, self.kind)
        whole = lanes.vectors.type(self.kind)
        lanes.ir.do(f"call void @replace{self.kind}({whole} {value}, ptr {place}, i8 {_bits(lanes, lanes.active)})")
        self.writer.jump(found)
        self.writer.label(far)
        _scattered(lanes, self.find(lanes)[number], value, self.kind)
        self.writer.jump(found)
        self.writer.label(found)

    def _fork(self, lanes: LaneGroup, writer: RegionWriter) -> tuple[str, str, str]:
        """Go apart where the lanes of a wave have a row; return the labels, of which the first is written."""
        rowed, far, found = (lanes.ir.name(stem) for stem in ("row", "far", "found"))
        line = lanes.ir.put(f"load i64, ptr {_row_cell(writer)}")
        writer.fork(lanes.ir.put(f"icmp ne i64 {line}, 0"), rowed, far)
        writer.label(rowed)
        return rowed, far, found

    def _row(self, lanes: LaneGroup, writer: RegionWriter) -> list[str]:
        """Return where the numbers of a row are."""
        ir, size = lanes.ir, int(self.kind[1:]) // 8
        place = ir.put(f"load i64, ptr {_place_cell(writer, '0')}")
        place = ir.put(f"add i64 {place}, {ir.put(f'mul i64 {lanes.at}, {size}')}")
        line, places = ir.put(f"load i64, ptr {_row_cell(writer)}"), []
        for _ in range(self.count):
            places.append(ir.put(f"inttoptr i64 {place} to ptr"))
            place = ir.put(f"add i64 {place}, {line}")
        return places


@frozen(eq=False)
class LocalNumbers:
    """Numbers that lanes read in local memory, at places that have been checked."""

    writer: RegionWriter
    shape: AccessShape
    register: int
    offsets: tuple[int, ...]
    start: str
    """Where the local memory of the work-group is."""

    def read(self, lanes: LaneGroup) -> list[str]:
        """Read all numbers: of lanes in a row, of lanes at one place, or of each alone."""
        vectors, ir, size = lanes.vectors, lanes.ir, self.shape.size
        kind = f"u{8 * size}"
        whole, one = vectors.type(kind), self.writer.one.type(kind)
        word = lanes.read(self.register)
        offsets = [offset + size * number for offset in self.offsets for number in range(self.shape.count)]
        key = word, lanes.active, size
        if key not in lanes.known:
            lanes.known[key] = self._ways(lanes, word)
        first, is_row, is_same = lanes.known[key]
        begin = ir.put(f"add i64 {ir.put(f'zext i32 {first} to i64')}, {self.start}")
        pointers = (f"inttoptr i64 {ir.put(f'add i64 {begin}, {offset}')} to ptr" for offset in offsets)
        places = [ir.put(each) for each in pointers]
        rowed, other, same, far, found = (ir.name(stem) for stem in ("row", "other", "same", "far", "found"))
        self.writer.fork(is_row, rowed, other)
        self.writer.label(rowed)
        rows = [ir.put(f"load {whole}, ptr {place}, align 1") for place in places]
        self.writer.jump(found)
        self.writer.label(other)
        self.writer.fork(is_same, same, far)
        self.writer.label(same)
        sames = [vectors.spread(ir.put(f"load {one}, ptr {place}, align 1"), kind) for place in places]
        self.writer.jump(found)
        self.writer.label(far)
        each = vectors.resized(word, WORD, LONG)
        each = vectors.operate("add", LONG, each, vectors.spread(self.start, LONG))
        alone = [vectors.operate("add", LONG, each, vectors.constant(offset, LONG)) for offset in offsets]
        others = [_gathered(lanes, place, kind) for place in alone]
        self.writer.jump(found)
        self.writer.label(found)
        return [
            ir.put(f"phi {whole} [ {row}, %{rowed} ], [ {same_one}, %{same} ], [ {other_one}, %{far} ]")
            for row, same_one, other_one in zip(rows, sames, others, strict=True)
        ]

    def _ways(self, lanes: LaneGroup, word: str) -> tuple[str, str, str]:
        """Return the first number of an address, and whether all lanes execute and have a row, or have it."""
        vectors, ir = lanes.vectors, lanes.ir
        first = ir.put(f"extractelement {vectors.type(WORD)} {word}, i32 0")
        idle = vectors.operate("xor", FLAG, lanes.active, vectors.constant(1, FLAG))
        steps = ", ".join(f"i32 {self.shape.size * number}" for number in range(CHUNK))
        same, found = vectors.spread(first, WORD), []
        for line in (vectors.operate("add", WORD, same, f"<{steps}>"), same):
            differs = vectors.operate("or", FLAG, vectors.operate("icmp ne", WORD, word, line), idle)
            found.append(ir.put(f"icmp eq i{CHUNK} {_bits(lanes, differs)}, 0"))
        return first, found[0], found[1]


def _find_local_numbers(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> LocalNumbers | None:
    """Write the check of numbers in local memory; return None for other accesses."""
    if shape.space != LOCAL:
        return None
    register, offsets = writer.vector_register(needed(instruction, "addr")), local_offsets(instruction, shape)
    one, ir = writer.one, writer.ir
    with writer.checks({EXEC, EXEC_HI}, {register}) as run:
        if register not in run.known:  # the highest number of an executing lane
            highest, vectors = "", writer.lanes
            for at in range(0, writer.wave_size, CHUNK):
                lanes = LaneGroup(writer, str(at))
                word = vectors.choose(lanes.active, WORD, lanes.read(register), vectors.constant(0, WORD))
                highest = vectors.intrinsic("umax", WORD, highest, word) if highest else word
            top = ir.call(f"llvm.vector.reduce.umax.v{CHUNK}i32", "i32", (vectors.type(WORD), highest))
            run.known[register] = one.resized(top, WORD, LONG)
        end = one.operate("add", LONG, run.known[register], str(max(offsets) + shape.size * shape.count))
        writer.leave_unless(one.operate("icmp ule", LONG, end, writer.cell(Cell.LOCAL_SIZE)))
    if "local" not in run.known:
        run.known["local"] = _start_of_local(writer)
    return LocalNumbers(writer, shape, register, offsets, run.known["local"])


@frozen(eq=False)
class AlignedNumbers:
    """Numbers that all lanes have at one offset in their private memory, so that their dwords follow each other."""

    writer: RegionWriter
    shape: AccessShape
    line: int
    """The distance to the next dword of a lane."""
    cell: int
    """Where its place is among those of the wave."""

    def _row(self, lanes: LaneGroup, number: int) -> str:
        ir = lanes.ir
        start = ir.put(f"load i64, ptr {_place_cell(self.writer, str(self.cell))}")
        lane = ir.put(f"add i64 {ir.put(f'shl i64 {lanes.at}, 2')}, {number * self.line}")
        return ir.put(f"inttoptr i64 {ir.put(f'add i64 {start}, {lane}')} to ptr")

    def _shift(self, lanes: LaneGroup) -> str:
        bits = lanes.ir.put(f"load i64, ptr {_place_cell(self.writer, str(self.cell + 1))}")
        return lanes.vectors.spread(self.writer.one.resized(bits, LONG, WORD), WORD)

    def _word(self, lanes: LaneGroup, number: int) -> str:
        kind = lanes.vectors.type(WORD)
        arguments = ("i32", "4"), (lanes.vectors.type(FLAG), lanes.active), (kind, "zeroinitializer")
        return lanes.ir.call(f"llvm.masked.load.v{CHUNK}i32.p0", kind, ("ptr", self._row(lanes, number)), *arguments)

    def read(self, lanes: LaneGroup) -> list[str]:
        """Read all numbers."""
        if self.shape.size == 4:
            return [self._word(lanes, number) for number in range(self.shape.count)]
        word = lanes.vectors.operate("lshr", WORD, self._word(lanes, 0), self._shift(lanes))
        return [lanes.vectors.resized(word, WORD, f"u{8 * self.shape.size}")]

    def write(self, lanes: LaneGroup, number: int, value: str) -> None:
        """Write one of them; the other bytes of its dword are kept."""
        vectors, bits = lanes.vectors, 8 * self.shape.size
        if bits < 32:
            shift = self._shift(lanes)
            value = vectors.operate("shl", WORD, vectors.resized(value, f"u{bits}", WORD), shift)
            hole = vectors.operate("shl", WORD, vectors.constant((1 << bits) - 1, WORD), shift)
            kept = vectors.operate("xor", WORD, hole, vectors.constant(-1, WORD))
            value = vectors.operate("or", WORD, value, vectors.operate("and", WORD, self._word(lanes, number), kept))
        name, types = f"llvm.masked.store.v{CHUNK}i32.p0", (vectors.type(WORD), "ptr", "i32", vectors.type(FLAG))
        lanes.ir.declared[name] = f"declare void @{name}({', '.join(types)})"
        values = zip(types, (value, self._row(lanes, number), "4", lanes.active), strict=True)
        lanes.ir.do(f"call void @{name}({', '.join(f'{kind} {each}' for kind, each in values)})")


@frozen(eq=False)
class SharedNumbers:
    """Numbers that all lanes read at one address."""

    writer: RegionWriter
    shape: AccessShape
    cell: int
    """Where its place is among those of the wave."""

    def read(self, lanes: LaneGroup) -> list[str]:
        """Read all numbers."""
        kind, ir, found = f"u{8 * self.shape.size}", lanes.ir, []
        start = ir.put(f"load i64, ptr {_place_cell(self.writer, str(self.cell))}")
        for number in range(self.shape.count):
            place = ir.put(f"inttoptr i64 {ir.put(f'add i64 {start}, {number * self.shape.size}')} to ptr")
            value = ir.put(f"load {self.writer.one.type(kind)}, ptr {place}, align 1")
            found.append(lanes.vectors.spread(value, kind))
        return found


def _find_shared(
    writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape
) -> AlignedNumbers | SharedNumbers | None:
    """Write the search for the one address of all lanes; return None where it is not known that they have one.

    A generic address is expected to be private, as nearly all are where the address is in scalar registers.
    """
    is_flat, vaddr, saddr = shape.space == FLAT, instruction.operand("vaddr"), instruction.operand("saddr")
    is_whole = shape.size == 4 or (shape.size < 4 and shape.count == 1)
    is_known = is_flat if shape.action == "store" else shape.action == "load" and shape.space in (FLAT, GLOBAL)
    if not (is_whole and is_known) or vaddr is None or writer.address in writer.differing:
        return None
    words = [writer.shared.get(vaddr.index + part) for part in range(1 if has_base(saddr) else 2)]
    if None in words or vaddr.kind is not OperandKind.VGPR:
        return None
    writer.expecting.add(writer.address)
    (offset,) = local_offsets(instruction, shape)
    registers = {number for is_register, number in filter(None, words) if is_register}
    with writer.checks(registers | _registers_of(writer, saddr), set()) as run:
        one, ir, cell = writer.one, writer.ir, 2 * run.count
        numbers = [writer.scalar_word(word) if is_register else str(word) for is_register, word in filter(None, words)]
        address = one.resized(numbers[0], WORD, LONG)
        if len(numbers) == 2:
            high = one.operate("shl", LONG, one.resized(numbers[1], WORD, LONG), "32")
            address = one.operate("or", LONG, high, address)
        elif saddr is not None:
            address = one.operate("add", LONG, address, writer.scalar(saddr, 64))
        address = one.operate("add", LONG, address, str(offset))
        if is_flat:
            place, within = _find_private_row(writer, address, shape)
            ir.do(f"store i64 {one.operate('shl', LONG, within, '3')}, ptr {_place_cell(writer, str(cell + 1))}")
        else:
            place = _find_for_all(writer, address, shape.size * shape.count)
        ir.do(f"store i64 {place}, ptr {_place_cell(writer, str(cell))}")
    if is_flat:
        return AlignedNumbers(writer, shape, 4 * writer.wave_size, cell)
    return SharedNumbers(writer, shape, cell)


def _find_for_all(writer: RegionWriter, address: str, size: int) -> str:
    """Write the search for global memory that is no private memory; return its place."""
    one = writer.one
    place = writer.ir.put(f"call i64 @find(ptr %cells, i64 {address}, i64 {size})")
    writer.leave_unless(one.operate("icmp ne", LONG, place, "0"))
    distance = one.operate("sub", LONG, address, writer.cell(Cell.SCRATCH_BASE))
    writer.leave_unless(one.operate("icmp uge", LONG, distance, writer.cell(Cell.SCRATCH_WHOLE)))
    return place


def _find_private_row(writer: RegionWriter, address: str, shape: AccessShape) -> tuple[str, str]:
    """Write the check of the private address of all lanes; return its dword and the bytes before it in that."""
    one, room = writer.one, writer.cell(Cell.SCRATCH_SIZE)
    upper = one.operate("lshr", LONG, address, "32")
    writer.leave_unless(one.operate("icmp eq", LONG, upper, writer.cell(Cell.PRIVATE)))
    place = one.operate("and", LONG, address, str(LOW))
    end = one.operate("add", LONG, place, str(shape.size * shape.count))
    limit = one.operate("udiv", LONG, room, str(writer.wave_size))
    writer.leave_unless(one.operate("icmp ule", LONG, end, limit))
    within = one.operate("and", LONG, place, "3")
    writer.leave_unless(one.operate("icmp ule", LONG, within, str(4 - shape.size)))
    own = one.operate("mul", LONG, _wave_cell(writer, Cell.NUMBERS), room)
    own = one.operate("add", LONG, own, writer.cell(Cell.SCRATCH))
    row = one.operate("mul", LONG, one.operate("sub", LONG, place, within), str(writer.wave_size))
    return one.operate("add", LONG, row, own), within


def _find_row(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> AlignedNumbers | None:
    """Write the search for private memory at an offset that all lanes share; return None for other accesses."""
    is_buffer = shape.space == BUFFER
    if shape.space != SCRATCH and not (is_buffer and writer.generation < 11):
        return None
    if _lane_offset(instruction, shape) is not None or (shape.size < 4 and shape.count > 1):
        return None
    shared = instruction.operand("soffset")
    if is_buffer and shared is not None and shared.kind is OperandKind.SGPR and shared.index not in (32, 33):
        return None  # a buffer that is no stack, most likely
    (offset,) = local_offsets(instruction, shape)
    resource = needed(instruction, "srsrc", "rsrc") if is_buffer else None
    inputs = (resource, shared) if is_buffer else (instruction.operand("saddr"),)
    with writer.checks(_registers_of(writer, *inputs), set()) as run:
        one, ir, cell = writer.one, writer.ir, 2 * run.count
        size = writer.cell(Cell.SCRATCH_SIZE)
        own = one.operate("mul", LONG, _wave_cell(writer, Cell.NUMBERS), size)
        total, whole = shape.size * shape.count, 4 * writer.wave_size
        if resource is not None:
            line, used = 256, sorted(_registers_of(writer, resource, shared))
            key = (*map(writer.scalar_word, used), shared and shared.text)
            if key not in run.known:
                words, base, limit, is_stack, is_swizzled = _buffer(writer, instruction)
                writer.leave_unless(is_stack)
                start = _start_of_stack(writer, words, base, is_swizzled)
                run.known[key] = one.operate("add", LONG, start, _scalar_offset(writer, instruction)), limit
            start, limit = run.known[key]
            at = one.operate("add", LONG, start, str((offset >> 2) * line + (offset & 3)))
            last = one.operate("add", LONG, at, str((shape.count - 1) * line + shape.size + whole - 4))
            end = one.operate("add", LONG, own, size)
            wrong = [("ugt", str(offset + total), limit), ("ult", at, own), ("ugt", last, end)]
        else:
            line, base = whole, _private_base(writer, instruction, offset)
            base = one.operate("and", LONG, base, str(LOW)) if writer.generation >= 12 else base
            last = one.operate("add", LONG, base, str(total))
            limit = one.operate("udiv", LONG, size, str(writer.wave_size))
            wrong = [("slt", base, "0"), ("sgt", last, limit)]
            dword = one.operate("mul", LONG, one.operate("lshr", LONG, base, "2"), str(line))
            at = one.operate("add", LONG, one.operate("add", LONG, own, dword), one.operate("and", LONG, base, "3"))
        within = one.operate("and", LONG, at, "3")
        wrong.append(("ugt", within, str(4 - shape.size)))
        row = one.operate("sub", LONG, at, within)
        beside = one.operate("and", LONG, one.operate("sub", LONG, row, own), str(whole - 1))
        wrong.append(("ne", beside, "0"))  # lanes would see the dwords of others
        for relation, left, right in wrong:
            is_wrong = one.operate(f"icmp {relation}", LONG, left, right)
            writer.leave_unless(one.operate("xor", FLAG, is_wrong, "true"))
        host = one.operate("add", LONG, row, writer.cell(Cell.SCRATCH))
        ir.do(f"store i64 {host}, ptr {_place_cell(writer, str(cell))}")
        ir.do(f"store i64 {one.operate('shl', LONG, within, '3')}, ptr {_place_cell(writer, str(cell + 1))}")
    return AlignedNumbers(writer, shape, line, cell)


def _registers_of(writer: RegionWriter, *operands: GpuOperand | None) -> set[int]:
    found = set()
    for operand in operands:
        if operand is None or operand.kind not in (OperandKind.SGPR, OperandKind.SPECIAL):
            continue
        if operand.register != "null" and operand.register not in writer.apertures:
            first = register_of(operand)
            found |= {*range(first, first + max(operand.count, 1))}
    return found


def _lane_offset(instruction: GpuInstruction, shape: AccessShape) -> int | None:
    """Return the register with the offset of each lane in private memory or in a buffer, if there is one."""
    vaddr, modifiers = instruction.operand("vaddr"), instruction.modifiers
    is_used = shape.space == SCRATCH or modifiers.get("offen")
    is_lane = vaddr is not None and vaddr.kind is OperandKind.VGPR and is_used and not modifiers.get("sve_off")
    return vaddr.index if is_lane and vaddr is not None else None


def _find(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> ScatteredNumbers:
    """Write the search for the places that lanes reach."""
    offsets = local_offsets(instruction, shape)
    writer.end_phase()
    writer.begin_phase()
    found = _find_lanes_in_row(writer, instruction, offsets[0], shape)
    step: int | None = shape.size
    if shape.space == LOCAL:
        _find_local(writer, instruction, offsets, shape.size * shape.count)
    elif shape.space == SCRATCH:
        _find_private(writer, instruction, offsets[0], shape)
        step = 4 * writer.wave_size
    elif shape.space == BUFFER:
        _find_in_buffer(writer, instruction, offsets[0], shape)
        step = None
    else:
        _find_global(writer, instruction, offsets[0], shape)
        step = shape.size if shape.space == GLOBAL else None
    if found:
        writer.jump(found)
        writer.label(found)
    writer.end_phase()

    def places(lanes: LaneGroup) -> list[str]:
        vectors = lanes.vectors
        place = lanes.ir.put(f"load {vectors.type(LONG)}, ptr {_place_cell(writer, lanes.at)}, align 8")
        found = [place]
        distance = vectors.constant(step or 0, LONG)
        if step is None and shape.count > 1:
            distance = lanes.ir.put(f"load {vectors.type(LONG)}, ptr {_step_cell(writer, lanes.at)}, align 8")
        for _ in range(shape.count - 1):
            found.append(vectors.operate("add", LONG, found[-1], distance))
        for offset in offsets[1:]:
            between = vectors.constant(offset - offsets[0], LONG)
            found += [vectors.operate("add", LONG, each, between) for each in found[: shape.count]]
        return found

    return ScatteredNumbers(f"u{8 * shape.size}", places, writer if found else None, shape.count)


def _find_lanes_in_row(writer: RegionWriter, instruction: GpuInstruction, offset: int, shape: AccessShape) -> str:
    """Write the search for lanes that have their numbers in a row; return where it is found, if it is looked for.

    Those of global memory follow each other, or all lanes have one place in private memory. It is enough that the
    executing lanes do, but memory must have the row of all lanes.
    """
    register, base, is_wide = _address_parts(writer, instruction, offset)
    is_flat, total, size = shape.space == FLAT, shape.size * shape.count, writer.wave_size
    if shape.space not in (GLOBAL, FLAT) or register is None or shape.action not in ("load", "store"):
        return ""
    if shape.count > 1 and not is_flat:
        return ""
    one, ir = writer.one, writer.ir
    far, found = ir.name("far"), ir.name("found")
    lane = ir.call("llvm.cttz.i64", "i64", ("i64", writer.mask(EXEC)), ("i1", "false"))
    lane = one.operate("and", LONG, lane, str(size - 1))
    at = one.operate("add", LONG, writer.lane_start, lane)
    words = [
        ir.put(f"load i32, ptr {ir.put(f'getelementptr i32, ptr {writer.column(each)}, i64 {at}')}, align 4")
        for each in (register, register + 1)[: 1 + is_wide]
    ]
    high = one.operate("shl", LONG, one.resized(words[1], WORD, LONG), "32") if is_wide else "0"
    step, is_private = str(shape.size), "false"
    if is_flat:
        address = one.operate("add", LONG, one.operate("or", LONG, high, one.resized(words[0], WORD, LONG)), base)
        upper = one.operate("lshr", LONG, address, "32")
        is_private = one.operate("icmp eq", LONG, upper, writer.cell(Cell.PRIVATE))
        step = one.choose(is_private, WORD, "0", step)
    start = one.operate("mul", WORD, one.resized(lane, LONG, WORD), step)
    start = one.operate("sub", WORD, words[0], start)
    ir.do(f"store i64 0, ptr {_row_cell(writer)}")
    _go_unless_in_row(writer, register, [start, *words[1:]], step, far)
    start = one.resized(start, WORD, LONG)
    address = one.operate("add", LONG, one.operate("or", LONG, high, start), base)
    fits, near, private, known = (ir.name(stem) for stem in ("fits", "near", "private", "known"))
    writer.fork(is_private, private, near)
    writer.label(near)
    end = one.operate("add", LONG, start, str(total * size))
    is_one = one.operate("icmp ule", LONG, end, str(1 << 32)) if shape.count == 1 else "false"
    writer.fork(is_one, fits, far)
    writer.label(fits)
    place = ir.put(f"call i64 @find(ptr %cells, i64 {address}, i64 {total * size})")
    writer.fork(one.operate("icmp ne", LONG, place, "0"), known, far)
    writer.label(known)
    _keep_row(writer, place, shape.size)
    writer.jump(found)
    writer.label(private)
    _find_near_row(writer, address, shape, far)
    writer.jump(found)
    writer.label(far)
    return found


def _go_unless_in_row(writer: RegionWriter, register: int, firsts: list[str], step: str, far: str) -> None:
    """Go to a label unless the executing lanes have numbers with one step, and the upper words that are given."""
    steps = ", ".join(f"i32 {number}" for number in range(CHUNK))
    with writer.loop(str(writer.wave_size), CHUNK) as chunk:
        lanes = LaneGroup(writer, chunk)
        vectors = lanes.vectors
        number = writer.one.resized(chunk, LONG, WORD)
        row = vectors.operate("add", WORD, vectors.spread(number, WORD), f"<{steps}>")
        row = vectors.operate("mul", WORD, row, vectors.spread(step, WORD))
        row = vectors.operate("add", WORD, row, vectors.spread(firsts[0], WORD))
        differs = vectors.operate("icmp ne", WORD, lanes.read(register), row)
        if len(firsts) > 1:
            other = vectors.operate("icmp ne", WORD, lanes.read(register + 1), vectors.spread(firsts[1], WORD))
            differs = vectors.operate("or", FLAG, differs, other)
        same = writer.ir.name("same")
        writer.fork(_none(lanes, differs), same, far)
        writer.label(same)


def _find_near_row(writer: RegionWriter, address: str, shape: AccessShape, far: str) -> None:
    one, fits, room = writer.one, writer.ir.name("fits"), writer.cell(Cell.SCRATCH_SIZE)
    place = one.operate("and", LONG, address, str(LOW))
    end = one.operate("add", LONG, place, str(shape.size * shape.count))
    is_inside = one.operate("icmp ule", LONG, end, one.operate("udiv", LONG, room, str(writer.wave_size)))
    is_aligned = one.operate("icmp eq", LONG, one.operate("and", LONG, place, "3"), "0")
    writer.fork(one.operate("and", FLAG, is_inside, is_aligned) if shape.size == 4 else "false", fits, far)
    writer.label(fits)
    own = one.operate("mul", LONG, _wave_cell(writer, Cell.NUMBERS), room)
    own = one.operate("add", LONG, own, writer.cell(Cell.SCRATCH))
    row = one.operate("mul", LONG, place, str(writer.wave_size))
    _keep_row(writer, one.operate("add", LONG, row, own), 4 * writer.wave_size)


def _row_cell(writer: RegionWriter) -> str:
    return writer.ir.put(f"getelementptr i64, ptr %rows, i64 {writer.wave}")


def _keep_row(writer: RegionWriter, place: str, line: int) -> None:
    writer.ir.do(f"store i64 {place}, ptr {_place_cell(writer, '0')}")
    writer.ir.do(f"store i64 {line}, ptr {_row_cell(writer)}")


def _place_cell(writer: RegionWriter, at: str) -> str:
    start = writer.ir.put(f"add i64 {writer.lane_start}, {at}")
    return writer.ir.put(f"getelementptr i64, ptr %places, i64 {start}")


def _step_cell(writer: RegionWriter, at: str) -> str:
    start = writer.ir.put(f"add i64 {writer.lane_start}, {at}")
    return writer.ir.put(f"getelementptr i64, ptr %steps, i64 {start}")


def _keep_places(writer: RegionWriter, lanes: LaneGroup, places: str, steps: str = "") -> None:
    kind = lanes.vectors.type(LONG)
    writer.ir.do(f"store {kind} {places}, ptr {_place_cell(writer, lanes.at)}, align 8")
    if steps:
        _keep_steps(writer, lanes, steps)


def _keep_steps(writer: RegionWriter, lanes: LaneGroup, steps: str) -> None:
    kind = lanes.vectors.type(LONG)
    writer.ir.do(f"store {kind} {steps}, ptr {_step_cell(writer, lanes.at)}, align 8")


def _none(lanes: LaneGroup, flags: str) -> str:
    """Return whether no executing lane has a flag."""
    flags = lanes.vectors.operate("and", FLAG, flags, lanes.active)
    return lanes.ir.put(f"icmp eq i{CHUNK} {_bits(lanes, flags)}, 0")


def _bits(lanes: LaneGroup, flags: str) -> str:
    return lanes.ir.put(f"bitcast {lanes.vectors.type(FLAG)} {flags} to i{CHUNK}")


def _wave_cell(writer: RegionWriter, cell: Cell) -> str:
    """Return the number of a row that the wave has."""
    writer.asks_for_waves = True
    place = writer.ir.put(f"getelementptr i64, ptr {writer.cell(cell, 'ptr')}, i64 {writer.wave}")
    return writer.ir.put(f"load i64, ptr {place}")


def _find_local(writer: RegionWriter, instruction: GpuInstruction, offsets: tuple[int, ...], total: int) -> None:
    register = writer.vector_register(needed(instruction, "addr"))
    start = _start_of_local(writer)
    with writer.loop(str(writer.wave_size), CHUNK) as at:
        lanes = LaneGroup(writer, at)
        vectors = lanes.vectors
        places = []
        for offset in offsets:
            word = vectors.operate("add", WORD, lanes.read(register), vectors.constant(offset, WORD))
            place = vectors.resized(word, WORD, LONG)
            writer.leave_unless(_none(lanes, _beyond(vectors, place, writer.cell(Cell.LOCAL_SIZE), total)))
            places.append(vectors.operate("add", LONG, place, vectors.spread(start, LONG)))
        _keep_places(writer, lanes, places[0])


def _start_of_local(writer: RegionWriter) -> str:
    row = writer.one.operate("mul", LONG, _wave_cell(writer, Cell.GROUPS), writer.cell(Cell.LOCAL_SIZE))
    return writer.one.operate("add", LONG, writer.cell(Cell.LOCAL), row)


def _private_base(writer: RegionWriter, instruction: GpuInstruction, offset: int) -> str:
    saddr = instruction.operand("saddr")
    if not has_base(saddr):
        return str(offset)
    number = writer.one.resized(writer.scalar(saddr, 32), WORD, LONG)  # type: ignore[arg-type]
    return writer.one.operate("add", LONG, number, str(offset))


def _find_private(writer: RegionWriter, instruction: GpuInstruction, offset: int, shape: AccessShape) -> None:
    """Write the search in the private memory of each lane: at a base, and the number in a register."""
    base, register = _private_base(writer, instruction, offset), _lane_offset(instruction, shape)
    with writer.loop(str(writer.wave_size), CHUNK) as at:
        lanes = LaneGroup(writer, at)
        vectors = lanes.vectors
        place = vectors.spread(base, LONG)
        if register is not None:
            place = vectors.operate("add", LONG, place, vectors.resized(lanes.read(register), WORD, LONG))
        if writer.generation >= 12:
            place = vectors.operate("and", LONG, place, vectors.constant(LOW, LONG))
        _keep_private(writer, lanes, place, shape)


def _keep_private(writer: RegionWriter, lanes: LaneGroup, place: str, shape: AccessShape, other: str = "") -> None:
    """Write where offsets in private memory are; the interpreter knows those outside, and some other lanes."""
    vectors, one = lanes.vectors, writer.one
    size = writer.cell(Cell.SCRATCH_SIZE)
    row = one.operate("mul", LONG, _wave_cell(writer, Cell.NUMBERS), size)
    start = one.operate("add", LONG, writer.cell(Cell.SCRATCH), row)
    limit = one.operate("udiv", LONG, size, str(writer.wave_size))
    within = vectors.operate("and", LONG, place, vectors.constant(3, LONG))
    wrong = vectors.operate("icmp slt", LONG, place, vectors.constant(0, LONG))
    end = vectors.operate("add", LONG, place, vectors.constant(shape.size * shape.count, LONG))
    outside = vectors.operate("icmp sgt", LONG, end, vectors.spread(limit, LONG))
    crosses = vectors.operate("icmp ugt", LONG, within, vectors.constant(4 - shape.size, LONG))
    for flags in (outside, crosses, other) if shape.size > 1 else (outside, other):
        wrong = vectors.operate("or", FLAG, wrong, flags) if flags else wrong
    writer.leave_unless(_none(lanes, wrong))
    dword = vectors.operate("lshr", LONG, place, vectors.constant(2, LONG))
    host = vectors.operate("mul", LONG, dword, vectors.constant(4 * writer.wave_size, LONG))
    for part in (within, _lane_bytes(lanes), vectors.spread(start, LONG)):
        host = vectors.operate("add", LONG, host, part)
    _keep_places(writer, lanes, host)


def _lane_bytes(lanes: LaneGroup) -> str:
    """Return four times the number of each lane."""
    vectors = lanes.vectors
    steps = ", ".join(f"i64 {4 * number}" for number in range(CHUNK))
    start = lanes.ir.put(f"shl i64 {lanes.at}, 2")
    return vectors.operate("add", LONG, vectors.spread(start, LONG), f"<{steps}>")


def _address_parts(writer: RegionWriter, instruction: GpuInstruction, offset: int) -> tuple[int | None, str, bool]:
    """Return the vector register of an address, what is added to it, and whether it is of 64 bits."""
    vaddr, saddr = instruction.operand("vaddr"), instruction.operand("saddr")
    base = str(offset)
    is_wide = True
    if has_base(saddr):
        base = writer.one.operate("add", LONG, writer.scalar(saddr, 64), str(offset))  # type: ignore[arg-type]
        is_wide = False
    return (vaddr.index if vaddr is not None and vaddr.kind is OperandKind.VGPR else None), base, is_wide


def _find_global(writer: RegionWriter, instruction: GpuInstruction, offset: int, shape: AccessShape) -> None:
    register, base, is_wide = _address_parts(writer, instruction, offset)
    if register is None and is_wide:
        raise UnknownInstruction(f"{instruction.mnemonic} without an address")

    def address(lanes: LaneGroup) -> str:
        vectors = lanes.vectors
        place = vectors.spread(base, LONG) if base != "0" else ""
        if register is not None:
            number = vectors.resized(lanes.read(register), WORD, LONG)
            if is_wide:
                high = vectors.resized(lanes.read(register + 1), WORD, LONG)
                high = vectors.operate("shl", LONG, high, vectors.constant(32, LONG))
                number = vectors.operate("or", LONG, number, high)
            place = vectors.operate("add", LONG, number, place) if place else number
        return place

    with writer.loop(str(writer.wave_size), CHUNK) as at:
        lanes = LaneGroup(writer, at)
        _find_in_segments(writer, lanes, address(lanes), lanes.active, shape)


def _find_in_segments(writer: RegionWriter, lanes: LaneGroup, address: str, wanted: str, shape: AccessShape) -> None:
    """Write the search for global addresses of a chunk: in the latest segment, or for each lane alone."""
    vectors, ir = lanes.vectors, writer.ir
    total = shape.size * shape.count
    is_flat = shape.space == FLAT
    latest = ir.put(f"mul i64 {writer.cell(Cell.LATEST)}, 3")
    segments = writer.cell(Cell.SEGMENTS, "ptr")
    start, size, host = (
        ir.put(f"load i64, ptr {ir.put(f'getelementptr i64, ptr {segments}, i64 {index}')}")
        for index in (latest, ir.put(f"add i64 {latest}, 1"), ir.put(f"add i64 {latest}, 2"))
    )
    offset = vectors.operate("sub", LONG, address, vectors.spread(start, LONG))
    room = ir.put(f"sub i64 {size}, {total}")
    room = ir.put(f"select i1 {ir.put(f'icmp slt i64 {room}, 0')}, i64 0, i64 {room}")
    outside = vectors.operate("icmp ugt", LONG, offset, vectors.spread(room, LONG))
    outside = vectors.operate("and", FLAG, outside, wanted)
    is_small = ir.put(f"icmp ult i64 {size}, {total}")
    is_inside = ir.put(f"icmp eq i{CHUNK} {_bits(lanes, outside)}, 0")
    is_inside = ir.put(f"and i1 {is_inside}, {ir.put(f'xor i1 {is_small}, true')}")
    near, far, found = (ir.name(stem) for stem in ("near", "far", "found"))
    step = vectors.constant(shape.size, LONG) if is_flat and shape.count > 1 else ""
    writer.fork(is_inside, near, far)
    writer.label(near)
    _keep_places(writer, lanes, vectors.operate("add", LONG, offset, vectors.spread(host, LONG)), step)
    writer.jump(found)
    writer.label(far)
    if is_flat:
        _find_in_apertures(writer, lanes, address, shape, found)
    _keep_places(writer, lanes, address, step)
    mask = ir.put(f"zext i{CHUNK} {_bits(lanes, wanted)} to i64")
    known = ir.put(f"call i1 @find_all(ptr %cells, ptr {_place_cell(writer, lanes.at)}, i64 {mask}, i64 {total})")
    writer.leave_unless(known)
    writer.jump(found)
    writer.label(found)


def _find_in_apertures(writer: RegionWriter, lanes: LaneGroup, address: str, shape: AccessShape, found: str) -> None:
    """Write the search for generic addresses of which some are private or shared; the interpreter knows a mixture."""
    vectors, ir = lanes.vectors, writer.ir
    upper = vectors.operate("lshr", LONG, address, vectors.constant(32, LONG))
    low = vectors.operate("and", LONG, address, vectors.constant(LOW, LONG))
    for cell in (Cell.PRIVATE, Cell.SHARED):
        differs = vectors.operate("icmp ne", LONG, upper, vectors.spread(writer.cell(cell), LONG))
        own = vectors.operate("xor", FLAG, differs, vectors.constant(-1, FLAG))
        here, elsewhere = ir.name("here"), ir.name("elsewhere")
        writer.fork(_none(lanes, own), elsewhere, here)
        writer.label(here)
        if cell == Cell.PRIVATE:
            _keep_private(writer, lanes, low, shape, differs)
        else:
            outside = _beyond(vectors, low, writer.cell(Cell.LOCAL_SIZE), shape.size * shape.count)
            writer.leave_unless(_none(lanes, vectors.operate("or", FLAG, outside, differs)))
            _keep_places(
                writer, lanes, vectors.operate("add", LONG, low, vectors.spread(_start_of_local(writer), LONG))
            )
        if shape.count > 1:
            distance = 4 * writer.wave_size if cell == Cell.PRIVATE else shape.size
            _keep_steps(writer, lanes, vectors.constant(distance, LONG))
        writer.jump(found)
        writer.label(elsewhere)


# --- Buffers ------------------------------------------------------------------------------------------------------


def _find_in_buffer(writer: RegionWriter, instruction: GpuInstruction, offset: int, shape: AccessShape) -> None:
    """Write the search in a buffer: the stack of a wave, or a plain one; the interpreter knows all others."""
    words, base, limit, is_stack, is_swizzled = _buffer(writer, instruction)
    scalar, register = _scalar_offset(writer, instruction), _lane_offset(instruction, shape)
    one, ir = writer.one, writer.ir
    stack, plain, found = (ir.name(stem) for stem in ("stack", "plain", "found"))
    writer.fork(is_stack, stack, plain)
    writer.label(stack)
    if writer.generation < 11:
        start = _start_of_stack(writer, words, base, is_swizzled)
        start = one.operate("add", LONG, start, scalar)
        with writer.loop(str(writer.wave_size), CHUNK) as at:
            lanes = LaneGroup(writer, at)
            _find_in_stack(writer, lanes, _buffer_offset(lanes, register, offset), start, limit, shape)
        writer.jump(found)
    else:
        writer.leave(Exit.INSIDE)
    writer.label(plain)
    writer.leave_unless(one.operate("xor", FLAG, is_swizzled, "true"))
    start = one.operate("add", LONG, base, scalar)
    with writer.loop(str(writer.wave_size), CHUNK) as at:
        lanes = LaneGroup(writer, at)
        vectors = lanes.vectors
        place = _buffer_offset(lanes, register, offset)
        writer.leave_unless(_none(lanes, _beyond(vectors, place, limit, shape.size * shape.count)))
        address = vectors.operate("add", LONG, place, vectors.spread(start, LONG))
        _keep_places(writer, lanes, address, vectors.constant(shape.size, LONG) if shape.count > 1 else "")
        _find_in_segments(writer, lanes, address, lanes.active, shape)
    writer.jump(found)
    writer.label(found)


def _scalar_offset(writer: RegionWriter, instruction: GpuInstruction) -> str:
    soffset = instruction.operand("soffset")
    if soffset is None or soffset.kind is OperandKind.OFF:
        return "0"
    return writer.one.resized(writer.scalar(soffset, 32), WORD, LONG)


def _buffer(writer: RegionWriter, instruction: GpuInstruction) -> tuple[list[str], str, str, str, str]:
    """Return the words of a buffer without a stride, its base, its limit, whether it is a stack, whether swizzled."""
    resource, one = needed(instruction, "srsrc", "rsrc"), writer.one
    if instruction.modifiers.get("idxen") or resource.kind is not OperandKind.SGPR:
        raise UnknownInstruction(f"{instruction.mnemonic} with an index")
    words = [writer.scalar_word(resource.index + number) for number in range(4)]
    high = one.resized(one.operate("and", WORD, words[1], str(0xFFFF)), WORD, LONG)
    base = one.operate("or", LONG, one.operate("shl", LONG, high, "32"), one.resized(words[0], WORD, LONG))
    flags = one.operate("lshr", WORD, words[1], "16")
    stride = one.operate("and", WORD, flags, str(0x3FFF))
    swizzle = one.operate("and", WORD, flags, str(0x8000 if writer.generation < 11 else 0xC000))
    is_stack = one.operate("icmp ne", WORD, one.operate("and", WORD, words[3], str(1 << 23)), "0")
    is_swizzled = one.operate("icmp ne", WORD, swizzle, "0")
    limit = _limit(writer, words, one.resized(words[2], WORD, LONG), _scalar_offset(writer, instruction))
    writer.leave_unless(one.operate("icmp eq", WORD, stride, "0"))
    return words, base, limit, is_stack, is_swizzled


def _start_of_stack(writer: RegionWriter, words: list[str], base: str, is_swizzled: str) -> str:
    """Return where a stack begins in private memory; the interpreter knows those that are not as usual."""
    one = writer.one
    span = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "21"), "3")
    start = one.operate("sub", LONG, base, writer.cell(Cell.SCRATCH_BASE))
    conditions = [
        one.operate("icmp eq", WORD, span, "3"),
        one.operate("icmp ult", LONG, start, writer.cell(Cell.SCRATCH_WHOLE)),
    ]
    if writer.generation < 9:
        element = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "19"), "3")
        conditions.append(one.operate("icmp eq", WORD, element, "1"))
    for condition in conditions:
        is_swizzled = one.operate("and", FLAG, is_swizzled, condition)
    writer.leave_unless(is_swizzled)
    return start


def _limit(writer: RegionWriter, words: list[str], records: str, scalar: str) -> str:
    """Return how many bytes of a buffer without a stride lanes may reach, beside the scalar offset."""
    one = writer.one
    every = one.constant(1 << 40, LONG)
    if writer.generation < 12 and writer.generation >= 10:
        scalar = "0"
    limit = one.operate("sub", LONG, records, scalar)
    limit = one.intrinsic("smax", LONG, limit, "0")
    if writer.generation >= 10:  # MODE of the resource: 3 counts bytes, 2 asks only whether there is a record
        kind = one.operate("and", WORD, one.operate("lshr", WORD, words[3], "28"), "3")
        some = one.choose(one.operate("icmp ne", LONG, records, "0"), LONG, every, "0")
        limit = one.choose(one.operate("icmp eq", WORD, kind, "3"), LONG, limit, one.choose(
            one.operate("icmp eq", WORD, kind, "2"), LONG, some, "0"
        ))  # fmt: skip
    return one.choose(one.operate("icmp eq", LONG, records, str(LOW)), LONG, every, limit)


def _beyond(vectors: Vectors, place: str, limit: str, total: int) -> str:
    end = vectors.operate("add", LONG, place, vectors.constant(total, LONG))
    return vectors.operate("icmp ugt", LONG, end, vectors.spread(limit, LONG))


def _find_in_stack(
    writer: RegionWriter, lanes: LaneGroup, place: str, start: str, limit: str, shape: AccessShape
) -> None:
    """Write the search in a stack that is a buffer: dwords of 64 lanes take turns in it."""
    vectors, one = lanes.vectors, writer.one
    own = one.operate("mul", LONG, _wave_cell(writer, Cell.NUMBERS), writer.cell(Cell.SCRATCH_SIZE))
    own_end = one.operate("add", LONG, own, writer.cell(Cell.SCRATCH_SIZE))
    within = vectors.operate("and", LONG, place, vectors.constant(3, LONG))
    at = vectors.operate(
        "mul", LONG, vectors.operate("lshr", LONG, place, vectors.constant(2, LONG)), vectors.constant(256, LONG)
    )
    for part in (within, _lane_bytes(lanes), vectors.spread(start, LONG)):
        at = vectors.operate("add", LONG, at, part)
    wrong = _beyond(vectors, place, limit, shape.size * shape.count)
    before = vectors.operate("icmp ult", LONG, at, vectors.spread(own, LONG))
    end = vectors.operate("add", LONG, at, vectors.constant((shape.count - 1) * 256 + shape.size, LONG))
    behind = vectors.operate("icmp ugt", LONG, end, vectors.spread(own_end, LONG))
    for flags in (before, behind):
        wrong = vectors.operate("or", FLAG, wrong, flags)
    if shape.size > 1:
        of_dword = vectors.operate("and", LONG, at, vectors.constant(3, LONG))
        crosses = vectors.operate("icmp ugt", LONG, of_dword, vectors.constant(4 - shape.size, LONG))
        wrong = vectors.operate("or", FLAG, wrong, crosses)
    writer.leave_unless(_none(lanes, wrong))
    host = vectors.operate("add", LONG, at, vectors.spread(writer.cell(Cell.SCRATCH), LONG))
    _keep_places(writer, lanes, host, vectors.constant(256, LONG) if shape.count > 1 else "")


def _buffer_offset(lanes: LaneGroup, register: int | None, offset: int) -> str:
    vectors = lanes.vectors
    constant = vectors.constant(offset, LONG)
    if register is None:
        return constant
    return vectors.operate("add", LONG, vectors.resized(lanes.read(register), WORD, LONG), constant)


# --- Atomic operations --------------------------------------------------------------------------------------------


def _write_atomic(writer: RegionWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
    change = CHANGES.get(shape.action if shape.number != "f" else f"{shape.action} f")
    if change is None or shape.space in (BUFFER, SCRATCH):
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    data = needed(instruction, "vdata", "data0", "data")
    destination = instruction.operand("vdst") if shape.returns else None
    words = shape.size // 4
    sources = [writer.vector_register(data)]
    if shape.action in ("cmpswap", "cmpst"):
        other = instruction.operand("data1")
        sources.append(sources[0] + words if other is None else writer.vector_register(other))
        if shape.action == "cmpst":  # first what is compared, then the new number
            sources.reverse()
    _find(writer, instruction, shape)
    _check_alignment(writer, shape)
    writer.begin_phase()
    ir, one = writer.ir, writer.one
    mask = writer.mask(126)
    kind = f"u{8 * shape.size}"
    with writer.loop(str(writer.wave_size)) as lane:
        skip, change_it = ir.name("skip"), ir.name("change")
        bit = ir.put(f"trunc i64 {ir.put(f'lshr i64 {mask}, {lane}')} to i1")
        writer.fork(bit, change_it, skip)
        writer.label(change_it)
        start = ir.put(f"add i64 {writer.lane_start}, {lane}")
        place = ir.put(f"load i64, ptr {ir.put(f'getelementptr i64, ptr %places, i64 {start}')}")
        pointer = ir.put(f"inttoptr i64 {place} to ptr")
        values = [_lane_number(writer, register, start, words) for register in sources]
        old = ir.put(f"load {one.type(kind)}, ptr {pointer}, align 1")
        number = f"{shape.number}{8 * shape.size}"
        new = change(one, number, *(one.view(each, kind, number) for each in (old, *values)))
        ir.do(f"store {one.type(kind)} {one.view(new, number, kind)}, ptr {pointer}, align 1")
        if destination is not None:
            first = writer.vector_register(destination)
            for word in range(words):
                writer.note_vector(first + word)
                part = old if not word else one.operate("lshr", kind, old, "32")
                part = one.resized(part, kind, WORD)
                at = ir.put(f"getelementptr i32, ptr {writer.column(first + word)}, i64 {start}")
                ir.do(f"store i32 {part}, ptr {at}, align 4")
        writer.jump(skip)
        writer.label(skip)
    writer.end_phase()


def _check_alignment(writer: RegionWriter, shape: AccessShape) -> None:
    """Let the interpreter stop the waves that have an address which is not aligned."""
    writer.begin_phase()
    with writer.loop(str(writer.wave_size), CHUNK) as at:
        lanes = LaneGroup(writer, at)
        vectors = lanes.vectors
        place = writer.ir.put(f"load {vectors.type(LONG)}, ptr {_place_cell(writer, at)}, align 8")
        low = vectors.operate("and", LONG, place, vectors.constant(shape.size - 1, LONG))
        writer.leave_unless(_none(lanes, vectors.operate("icmp ne", LONG, low, vectors.constant(0, LONG))))
    writer.end_phase()


def _lane_number(writer: RegionWriter, register: int, start: str, words: int) -> str:
    ir = writer.ir
    parts = [
        ir.put(f"load i32, ptr {ir.put(f'getelementptr i32, ptr {writer.column(register + word)}, i64 {start}')}")
        for word in range(words)
    ]
    if words == 1:
        return parts[0]
    low, high = (writer.one.resized(part, WORD, LONG) for part in parts)
    return writer.one.operate("or", LONG, writer.one.operate("shl", LONG, high, "32"), low)


# --- Scalar loads -------------------------------------------------------------------------------------------------


def _write_scalar_load(writer: RegionWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    size, count, _is_signed = SIZES[match[2]]
    base, destination = needed(instruction, "sbase"), needed(instruction, "sdata")
    one, ir = writer.one, writer.ir
    operands = [instruction.operand(name) for name in ("offset", "soffset")]
    with writer.checks(_registers_of(writer, base, *operands), set()) as run:
        cell = str(2 * run.count)
        if match[1]:
            if base.kind is not OperandKind.SGPR:
                raise UnknownInstruction(f"{instruction.mnemonic} of {base.text}")
            high = one.operate("and", WORD, writer.scalar_word(base.index + 1), str(0xFFFF))
            low = one.resized(writer.scalar_word(base.index), WORD, LONG)
            address = one.operate("or", LONG, one.operate("shl", LONG, one.resized(high, WORD, LONG), "32"), low)
        else:
            address = writer.scalar(base, 64)
        number = None
        for operand in operands:
            if operand is None or operand.register == "null" or operand.kind is OperandKind.OFF:
                continue
            if operand.kind is OperandKind.IMMEDIATE:
                number = operand.value
            else:
                address = one.operate("add", LONG, address, one.resized(writer.scalar(operand, 32), WORD, LONG))
        number = instruction.modifiers.get("offset", 0) if number is None else number
        address = one.operate("add", LONG, address, str(number))
        unaligned = one.operate("and", LONG, address, "3")
        writer.leave_unless(one.operate("icmp eq", LONG, unaligned, "0"))
        place = _find_for_all(writer, address, size * count)
        ir.do(f"store i64 {place}, ptr {_place_cell(writer, cell)}")

    def load() -> None:
        place = ir.put(f"load i64, ptr {_place_cell(writer, cell)}")
        pointer = ir.put(f"inttoptr i64 {place} to ptr")
        first = register_of(destination)
        for word in range(count):
            value = ir.put(f"load i32, ptr {ir.put(f'getelementptr i32, ptr {pointer}, i64 {word}')}, align 1")
            writer.set_scalar_word(first + word, value)

    writer.write_twice(load)  # nobody writes there within the phase


HELPERS = f"""
{FIND_TEXT.replace(f"define i64 @{FIND}", "define internal i64 @find")}
define internal i1 @find_all(ptr %cells, ptr %places, i64 %mask, i64 %total) noinline {{
entry:
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %n, %on ]
  %shifted = lshr i64 %mask, %i
  %bit = trunc i64 %shifted to i1
  br i1 %bit, label %look, label %on
look:
  %at = getelementptr i64, ptr %places, i64 %i
  %address = load i64, ptr %at
  %place = call i64 @find(ptr %cells, i64 %address, i64 %total)
  store i64 %place, ptr %at
  %known = icmp ne i64 %place, 0
  br i1 %known, label %on, label %nowhere
on:
  %n = add i64 %i, 1
  %more = icmp ult i64 %n, {CHUNK}
  br i1 %more, label %lane, label %all
all:
  ret i1 true
nowhere:
  ret i1 false
}}"""
"""Searches for places; they are called where the latest segment has not all lanes."""
