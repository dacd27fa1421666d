"""Forms of accesses to memory: where the lanes reach, whether all of that is memory, and what they read or write.

A form that finds no memory, or a number in two dwords of private memory, refuses before it has changed anything, and
Python executes the instruction: it knows what is wrong, and says it.
"""

from __future__ import annotations

import re
from functools import partial

from dwarfgpu.execution.access_shapes import BUFFER, FLAT, LOCAL, SCALAR_LOAD, SCRATCH, SIZES, AccessShape, shape_of
from dwarfgpu.execution.block_writer import needed, register_of
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.atomics import CHANGES
from dwarfgpu.execution.forms.buffers import buffer_places, stack_row
from dwarfgpu.execution.forms.form_writer import LONG, LOW, WORD, FormWriter, Move, lane_numbers
from dwarfgpu.execution.forms.layout import Place, Rule
from dwarfgpu.execution.forms.memory_functions import (
    CHECK_LOCAL,
    FLAT_SPACE,
    GLOBAL_SPACE,
    PRIVATE_SPACE,
    READ,
    READ_LOCAL,
    WRITE,
    WRITE_LOCAL,
)
from dwarfgpu.execution.memory_access import has_base, local_offsets, size_of_unit
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.tables import is_gfx12_5


def is_access(instruction: GpuInstruction) -> bool:
    """Return whether an instruction is an access to memory, which ends its checks itself."""
    return shape_of(instruction.name) is not None or SCALAR_LOAD.match(instruction.name) is not None


def write_access(writer: FormWriter, instruction: GpuInstruction) -> None:
    """Write an access to memory."""
    name, modifiers = instruction.name, instruction.modifiers
    if (scalar := SCALAR_LOAD.match(name)) is not None:
        _write_scalar_load(writer, instruction, scalar)
        return
    shape = shape_of(name)
    assert shape is not None  # noqa: S101 (it is an access)
    if any(modifiers.get(each) for each in ("gds", "tfe", "lds")) or "_lds_" in name:
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    if shape.action in ("load", "store"):
        _write_move(writer, instruction, shape)
    else:
        _write_atomic(writer, instruction, shape)


@frozen
class _Places:
    """Where the lanes have their numbers: addresses of the host in memory of the function."""

    start: str
    """Where the addresses are."""
    step: str
    """The distance of a number to the next."""


# --- Loads and stores ---------------------------------------------------------------------------------------------


def _write_move(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
    is_load = shape.action == "load"
    if is_load:
        target = needed(instruction, "vdst", "vdata")
        registers = [writer.vector_register(target) + at for at in range(shape.count * (2 if shape.pair else 1))]
    elif shape.space == LOCAL:
        parts = [needed(instruction, f"data{number}") for number in range(2 if shape.pair else 1)]
        target = parts[0]
        registers = [writer.vector_register(data) + number for data in parts for number in range(shape.count)]
    else:
        target = needed(instruction, "vdata", "data0", "data")
        registers = [writer.vector_register(target) + number for number in range(shape.count)]
    half = shape.half if target.half is None else target.half
    if _write_private_row(writer, instruction, shape, registers, is_load=is_load):
        return
    if shape.space == LOCAL and shape.size == 4:
        find = partial(_local_move, instruction=instruction, shape=shape, loads=is_load)
    else:
        find = partial(_found_move, instruction=instruction, shape=shape, half=half, loads=is_load)
    move = find(writer)
    writer.beside(find, len(registers), is_load=is_load)
    if not is_load:
        new = [writer.row(register)[0] for register in registers]
        writer.change(lambda rows: move(rows, True), len(registers), new, is_high=half == 1)
    writer.end_checks()
    move([writer.know(register) if is_load else writer.row(register)[0] for register in registers], is_load)


def _found_move(
    writer: FormWriter, instruction: GpuInstruction, shape: AccessShape, half: int | None, *, loads: bool
) -> Move:
    """Write the search for the places of lanes; return what moves their numbers."""
    places = _places(writer, instruction, shape)

    def move(rows: list[str], is_load: bool) -> None:  # noqa: FBT001 (as in `Move`)
        if shape.size < 4:
            _move_parts(writer, places.start, shape, rows[0], half if is_load == loads else None, is_load=is_load)
        else:
            _move_dwords(writer, READ if is_load else WRITE, places, shape.count, rows[0])

    return move


def _move_dwords(writer: FormWriter, helper: str, places: _Places, count: int, row: str) -> None:
    """Move dwords between places and rows that follow each other."""
    numbers = f"i64 {writer.active_lanes()}, i64 {places.step}, i64 {count}, ptr {row}"
    writer.ir.do(f"call void {writer.helper(helper)}(ptr {places.start}, {numbers})")


def _local_move(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape, *, loads: bool) -> Move:
    """Write the check of dwords of local memory; return what moves them."""
    numbers, whole = writer.row(writer.vector_register(needed(instruction, "addr")))[0], writer.vectors.type(WORD)
    offsets = [writer.number(offset) for offset in local_offsets(instruction, shape)]
    if loads:  # it may write the register that has the places
        kept = writer.room("numbers", writer.lanes, "i32")
        writer.ir.do(f"store {whole} {writer.load(whole, numbers, 64)}, ptr {kept}, align 64")
        numbers = kept
    for offset in offsets:
        _check_local(writer, shape, numbers, offset)
        writer.reach(LOCAL, 4 * shape.count, partial(_local_addresses, writer, numbers, offset))

    def move(rows: list[str], is_load: bool) -> None:  # noqa: FBT001 (as in `Move`)
        helper, local = writer.helper(READ_LOCAL if is_load else WRITE_LOCAL), writer.field(Place.LOCAL, "ptr")
        for offset, row in zip(offsets, rows[:: shape.count], strict=True):
            base = writer.at(local, writer.one.resized(offset, WORD, LONG))
            rest = f"i64 {writer.active_lanes()}, i64 4, i64 {shape.count}, ptr {row}, ptr {base}"
            writer.ir.do(f"call void {helper}(ptr {numbers}, {rest})")

    return move


def _check_local(writer: FormWriter, shape: AccessShape, numbers: str, offset: str) -> None:
    """Let Python execute an access of which a lane is not in local memory."""
    rest = f"i64 {writer.active_lanes()}, i32 {offset}, i32 {shape.size * shape.count}"
    helper = writer.helper(CHECK_LOCAL)
    writer.refuse_unless(writer.ir.put(f"call i1 {helper}(ptr {writer.state}, ptr {numbers}, {rest})"))
    writer.look_at_local(f"ptr {numbers}, {rest}")


def _local_addresses(writer: FormWriter, numbers: str, offset: str) -> str:
    """Return the addresses of lanes in local memory."""
    number = writer.load(writer.vectors.type(WORD), numbers, 64)
    place = writer.vectors.operate("add", WORD, number, writer.vectors.spread(offset, WORD))
    return writer.vectors.resized(place, WORD, LONG)


def _move_parts(
    writer: FormWriter, start: str, shape: AccessShape, row: str, half: int | None, *, is_load: bool
) -> None:
    """Move the numbers of lanes that are smaller than a dword, one for each."""
    kind = f"u{8 * shape.size}"
    with writer.each_lane() as lane:
        place = writer.load("ptr", writer.lane_at(start, lane, 8), 8)
        if is_load:
            _put(writer, shape, row, lane, writer.load(writer.one.type(kind), place, 1), half)
        else:
            value = writer.load("i32", writer.lane_at(row, lane))
            value = writer.one.operate("lshr", WORD, value, "16") if half == 1 else value
            value = writer.one.resized(value, WORD, kind)
            writer.ir.do(f"store {writer.one.type(kind)} {value}, ptr {place}, align 1")


def _put(writer: FormWriter, shape: AccessShape, row: str, lane: str, value: str, half: int | None) -> None:
    """Put a number that has been read into the register of a lane."""
    place = writer.lane_at(row, lane)
    kind = f"{'i' if shape.is_signed else 'u'}{8 * shape.size}"
    if half is not None and shape.size < 4:
        value = writer.one.resized(value, kind, "u16")
        writer.ir.do(f"store i16 {value}, ptr {writer.at(place, str(2 * half))}, align 2")
        return
    writer.ir.do(f"store i32 {writer.one.resized(value, kind, WORD)}, ptr {place}, align 4")


def _write_private_row(
    writer: FormWriter, instruction: GpuInstruction, shape: AccessShape, registers: list[int], *, is_load: bool
) -> bool:
    """Write an access to dwords of private memory at one offset of all lanes; return whether it is one."""
    if shape.size != 4 or shape.space not in (SCRATCH, BUFFER):
        return False
    find = partial(_scratch_row if shape.space == SCRATCH else stack_row, instruction=instruction, count=shape.count)
    found = find(writer)
    if found is None:
        return False
    writer.beside_rows(found, find, registers, is_load=is_load)
    writer.end_checks(is_seen=False)
    (line, step), whole = found, writer.vectors.type(WORD)
    for number, register in enumerate(registers):
        line = writer.at(line, step) if number else line
        old = writer.load(whole, line, 4)
        if is_load:
            writer.write(register, old)
        else:
            value = writer.blended(writer.exec_row(), writer.read(register), old)
            writer.ir.do(f"store {whole} {value}, ptr {line}, align 4")
    return True


def _scratch_row(writer: FormWriter, instruction: GpuInstruction, count: int) -> tuple[str, str] | None:
    """Write the check of one offset of all lanes in private memory; return where the row is, and the next."""
    if _lane_offset(instruction) is not None:
        return None
    one, place = writer.one, _private_base(writer, instruction)
    end = one.operate("add", LONG, place, str(4 * count))
    for condition in (
        one.operate("icmp sge", LONG, place, "0"),
        one.operate("icmp sle", LONG, end, writer.field(Place.PRIVATE_SIZE)),
        one.operate("icmp eq", LONG, one.operate("and", LONG, place, "3"), "0"),
    ):
        writer.refuse_unless(condition)
    row = writer.at(writer.field(Place.PRIVATE, "ptr"), one.operate("mul", LONG, place, str(writer.lanes)))
    writer.reach(SCRATCH, 4 * count, lambda: place, is_row=True)
    return row, str(4 * writer.lanes)


# --- Places -------------------------------------------------------------------------------------------------------


def _places(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> _Places:
    """Write the search for the places that lanes reach."""
    if shape.space == LOCAL:
        return _local_places(writer, instruction, shape)
    if shape.space == SCRATCH:
        address = writer.vectors.spread(_private_base(writer, instruction), LONG)
        if (register := _lane_offset(instruction)) is not None:
            wide = _scaled(writer, writer.vectors.resized(writer.read(register), WORD, LONG), instruction, shape)
            address = writer.vectors.operate("add", LONG, address, wide)
        if writer.generation >= 12:
            address = writer.vectors.operate("and", LONG, address, writer.vectors.constant(LOW, LONG))
        return _resolved(writer, address, shape, PRIVATE_SPACE)
    if shape.space == BUFFER:
        address, step = buffer_places(writer, instruction, shape)
        if not step:
            return _resolved(writer, address, shape, GLOBAL_SPACE)
        places = _Places(_kept(writer, address), step)
        writer.look_at_private(places.start, step, shape.size * shape.count)
        return places
    if shape.space == FLAT and shape.count > 1:  # lanes with other distances are left to Python
        writer.rule |= Rule.IS_ASKED
    space = FLAT_SPACE if shape.space == FLAT else GLOBAL_SPACE
    address = _address(writer, instruction, shape)
    if shape.space == FLAT and is_gfx12_5(writer.processor):
        address = _generic(writer, address)
    return _resolved(writer, address, shape, space)


def _lane_offset(instruction: GpuInstruction) -> int | None:
    """Return the register with the offset of each lane in private memory, if there is one."""
    vaddr = instruction.operand("vaddr")
    has_lane = vaddr is not None and vaddr.kind is OperandKind.VGPR and not instruction.modifiers.get("sve_off")
    return vaddr.index if has_lane and vaddr is not None else None


def _offset(writer: FormWriter, instruction: GpuInstruction) -> str:
    return writer.signed_number(instruction.modifiers.get("offset", 0))


def _private_base(writer: FormWriter, instruction: GpuInstruction) -> str:
    saddr, one, offset = instruction.operand("saddr"), writer.one, _offset(writer, instruction)
    if saddr is None or not has_base(saddr):
        return offset
    base = one.operate("add", LONG, one.resized(writer.scalar(saddr, 32), WORD, LONG), offset)
    is_lanes = _lane_offset(instruction) is not None
    return one.operate("and", LONG, base, str(LOW)) if writer.generation >= 12 and not is_lanes else base


def _scaled(writer: FormWriter, number: str, instruction: GpuInstruction, shape: AccessShape) -> str:
    """Return the offsets of lanes, which may count units of an access."""
    unit = size_of_unit(instruction, shape)
    return number if unit == 1 else writer.vectors.operate("mul", LONG, number, writer.vectors.constant(unit, LONG))


def _address(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> str:
    """Return the addresses of lanes in global memory, or generic ones."""
    vaddr, saddr, vectors, one = instruction.operand("vaddr"), instruction.operand("saddr"), writer.vectors, writer.one
    base, is_wide = _offset(writer, instruction), True
    if saddr is not None and has_base(saddr):
        base, is_wide = one.operate("add", LONG, writer.scalar(saddr, 64), base), False
    if vaddr is None or vaddr.kind is not OperandKind.VGPR or instruction.modifiers.get("sve_off"):
        if is_wide:
            raise UnknownInstruction(f"{instruction.mnemonic} without an address")
        return vectors.spread(base, LONG)
    number = vectors.resized(writer.read(vaddr.index), WORD, LONG)
    if is_wide:
        high = vectors.resized(writer.read(vaddr.index + 1), WORD, LONG)
        number = vectors.operate("or", LONG, vectors.operate("shl", LONG, high, vectors.constant(32, LONG)), number)
    elif is_gfx12_5(writer.processor):
        number = vectors.cast("sext", writer.read(vaddr.index), WORD, LONG)  # see `scaled_offset`
        number = _scaled(writer, number, instruction, shape)
    return vectors.operate("add", LONG, number, vectors.spread(base, LONG))


def _generic(writer: FormWriter, address: str) -> str:
    """Return generic addresses of GFX12.5 as other processors have them, where private ones tell no wave and lane."""
    vectors, aperture = writer.vectors, writer.apertures["src_private_base"]
    first = vectors.spread(writer.field(Place.PRIVATE_BASE), LONG)
    lanes = lane_numbers("i64", (lane << 52 for lane in range(writer.lanes)))
    own = vectors.operate("sub", LONG, vectors.operate("sub", LONG, address, first), lanes)
    upper = vectors.operate("lshr", LONG, address, vectors.constant(58, LONG))
    is_private = vectors.operate("icmp eq", LONG, upper, vectors.constant(aperture >> 58, LONG))
    is_other = vectors.operate("icmp ugt", LONG, own, vectors.constant(LOW, LONG))
    writer.refuse_unless(writer.none(vectors.operate("and", FLAG, is_private, is_other)))
    return vectors.choose(is_private, LONG, vectors.operate("or", LONG, own, vectors.constant(aperture, LONG)), address)


def _kept(writer: FormWriter, address: str) -> str:
    """Put addresses into memory of the function."""
    room = writer.room("places", writer.lanes, "i64")
    writer.ir.do(f"store {writer.vectors.type(LONG)} {address}, ptr {room}, align 64")
    return room


def _resolved(writer: FormWriter, address: str, shape: AccessShape, space: int) -> _Places:
    """Write the search for the addresses of lanes."""
    room = _kept(writer, address)
    writer.reach(shape.space, shape.size * shape.count, lambda: address)
    numbers = f"i64 {writer.active_lanes()}, i64 {shape.size * shape.count}, i64 {shape.size}, i64"
    step = writer.resolved(f"ptr {writer.state}, ptr {room}, {numbers}", space)
    writer.refuse_unless(writer.one.operate("icmp ne", LONG, step, "0"))
    if space != GLOBAL_SPACE:
        look = writer.look_at_private if space == PRIVATE_SPACE else writer.look_at_flat
        look(room, step, shape.size * shape.count)
    return _Places(room, step)


def _local_places(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> _Places:
    """Write the search for numbers of local memory that are no dwords, or change."""
    vectors, row = writer.vectors, writer.row(writer.vector_register(needed(instruction, "addr")))[0]
    (distance,) = local_offsets(instruction, shape)
    offset = writer.number(distance)
    _check_local(writer, shape, row, offset)
    place = _local_addresses(writer, row, offset)
    writer.reach(LOCAL, shape.size, lambda: place)
    place = vectors.operate("add", LONG, place, vectors.spread(writer.field(Place.LOCAL), LONG))
    return _Places(_kept(writer, place), str(shape.size))


# --- Atomic operations --------------------------------------------------------------------------------------------


def _write_atomic(writer: FormWriter, instruction: GpuInstruction, shape: AccessShape) -> None:
    change = CHANGES.get(shape.action if shape.number != "f" else f"{shape.action} f")
    if change is None or shape.space == SCRATCH or instruction.name.startswith("ds_wrxchg2"):
        raise UnknownInstruction(f"{instruction.mnemonic} has no text here")
    one, ir, words = writer.one, writer.ir, shape.size // 4
    data, destination = needed(instruction, "vdata", "data0", "data"), instruction.operand("vdst")
    returns = destination is not None and shape.returns
    if shape.space == BUFFER:
        modifiers = instruction.modifiers
        destination = data
        returns = bool(modifiers.get("glc") or modifiers.get("sc0") or modifiers.get("th", 0) & 1)
    sources = [writer.vector_register(data)]
    if shape.action in ("cmpswap", "cmpst"):
        other = instruction.operand("data1")
        sources.append(sources[0] + words if other is None else writer.vector_register(other))
        if shape.action == "cmpst":  # first what is compared, then the new number
            sources.reverse()
    places = _places(writer, instruction, shape)
    _check_alignment(writer, places, shape)

    def read(writer: FormWriter, places: _Places) -> Move:
        return lambda rows, _is_load: _move_dwords(writer, READ, _Places(places.start, "4"), words, rows[0])

    writer.beside(lambda writer: read(writer, _places(writer, instruction, shape)), words, is_load=True)
    writer.change(lambda rows: read(writer, places)(rows, True), words, [])
    writer.end_checks()
    kind, number = f"u{8 * shape.size}", f"{shape.number}{8 * shape.size}"
    rows = [[writer.row(register + word)[0] for word in range(words)] for register in sources]
    target = writer.vector_register(destination) if returns and destination is not None else None
    results = [] if target is None else [writer.know(target + word) for word in range(words)]
    with writer.each_lane() as lane:
        values = []
        for row in rows:
            parts = [writer.load("i32", writer.lane_at(each, lane)) for each in row]
            values.append(parts[0] if words == 1 else writer.joined(*parts))
        place = writer.load("ptr", writer.lane_at(places.start, lane, 8), 8)

        def changed(old: str, values: list[str] = values) -> str:
            new = change(one, number, *(one.view(each, kind, number) for each in (old, *values)))
            return one.view(new, number, kind)

        if shape.space == LOCAL:
            old = writer.load(one.type(kind), place, 1)
            ir.do(f"store {one.type(kind)} {changed(old)}, ptr {place}, align 1")
        else:
            old = writer.exchanged(place, one.type(kind), shape.size, changed)
        for word, row_of_result in enumerate(results):
            part = old if not word else one.operate("lshr", kind, old, "32")
            part = one.resized(part, kind, WORD)
            ir.do(f"store i32 {part}, ptr {writer.lane_at(row_of_result, lane)}, align 4")


def _check_alignment(writer: FormWriter, places: _Places, shape: AccessShape) -> None:
    """Let Python stop the waves that have an address which is not aligned."""
    vectors = writer.vectors
    place = writer.load(vectors.type(LONG), places.start, 64)
    low = vectors.operate("and", LONG, place, vectors.constant(shape.size - 1, LONG))
    writer.refuse_unless(writer.none(vectors.operate("icmp ne", LONG, low, vectors.constant(0, LONG))))


# --- Scalar loads -------------------------------------------------------------------------------------------------


def _write_scalar_load(writer: FormWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    size, count, _is_signed = SIZES[match[2]]
    base, destination = needed(instruction, "sbase"), needed(instruction, "sdata")
    one = writer.one
    address = _scalar_base(writer, instruction, base, is_buffer=bool(match[1]))
    number = None
    for operand in (instruction.operand(name) for name in ("offset", "soffset")):
        if operand is None or operand.register == "null" or operand.kind is OperandKind.OFF:
            continue
        if operand.kind is OperandKind.IMMEDIATE:
            number = operand.value
        else:
            wide = one.resized(writer.scalar(operand, 32), WORD, LONG)
            if instruction.modifiers.get("scale_offset"):
                wide = one.operate("mul", LONG, wide, str(size * count))
            address = one.operate("add", LONG, address, wide)
    number = instruction.modifiers.get("offset", 0) if number is None else number
    address = one.operate("add", LONG, address, writer.signed_number(number))
    writer.refuse_unless(one.operate("icmp eq", LONG, one.operate("and", LONG, address, "3"), "0"))

    def find(writer: FormWriter) -> str:
        place = writer.resolved_word(address, size * count)
        writer.refuse_unless(one.operate("icmp ne", LONG, place, "0"))
        return writer.ir.put(f"inttoptr i64 {place} to ptr")

    pointer, first = find(writer), register_of(destination)
    writer.beside_words(find, first, count)
    writer.end_checks()
    values = [writer.load("i32", writer.at(pointer, str(4 * word)), 1) for word in range(count)]
    writer.set_words(first, values)


def _scalar_base(writer: FormWriter, instruction: GpuInstruction, base: GpuOperand, *, is_buffer: bool) -> str:
    if not is_buffer:
        return writer.scalar(base, 64)
    if base.kind is not OperandKind.SGPR or is_gfx12_5(writer.processor):
        raise UnknownInstruction(f"{instruction.mnemonic} of {base.text}")
    high = writer.one.operate("and", WORD, writer.word(base.index + 1), str(0xFFFF))
    return writer.joined(writer.word(base.index), high)
