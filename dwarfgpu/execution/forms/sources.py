"""How forms read the sources of vector operations and write their results: parts, modifiers, MODE."""

from __future__ import annotations

import numpy as np

from dwarfgpu.execution import lane_moves
from dwarfgpu.execution.batch import VCC
from dwarfgpu.execution.block_writer import BITS, DX10_CLAMP, IEEE, KEEPING, bits_of_constant, register_of
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.form_writer import CONSTANTS, LONG, SCALARS, WORD, FormWriter, lane_numbers
from dwarfgpu.isa.formulas import FLAG
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
from dwarfgpu.isa.semantics.llvm import Vectors
from dwarfgpu.isa.semantics.rows import InstructionMeaning


def type_of(kind: str) -> str:
    """Return the type that formulas have for a kind of operand."""
    return f"u{BITS[kind]}" if kind[0] == "b" else kind


def denormals(writer: FormWriter, kind: str) -> int:
    """Return MODE.FP_DENORM of a type of floats: bit 0 keeps denormal sources, bit 1 denormal results."""
    return writer.mode >> (4 if kind == "f32" else 6) & 3


# --- Sources ------------------------------------------------------------------------------------------------------


def read_sources(writer: FormWriter, instruction: GpuInstruction, meaning: InstructionMeaning) -> tuple[list[str], str]:
    """Return the sources of a vector operation, and the row of lanes that it writes if DPP says so."""
    operands = [operand for operand in instruction.sources if operand.name != "simm"]
    is_accumulating = bool(operands) and operands[0] in instruction.destinations
    position, index = (-1 if is_accumulating else 0), 0
    found, written = [], ""
    for kind in meaning.sources:
        if kind in ("vcc", "mask"):
            operand = None
            if kind == "mask" and index < len(operands):  # the short encoding does not name it
                operand = operands[index]
                index += 1
                position += 1
            found.append(_flags(writer, operand))
            continue
        value, lanes = _source(writer, operands[index], kind, instruction, position)
        found.append(value)
        written = lanes or written
        index += 1
        position += 1
    return found, written


def _flags(writer: FormWriter, operand: GpuOperand | None) -> str:
    if operand is None:
        return writer.flags(writer.mask(VCC))
    if operand.kind in CONSTANTS:
        return writer.flags(writer.scalar(operand, writer.lanes))
    if operand.register == "null":
        return writer.vectors.constant(0, FLAG)
    return writer.flags(writer.mask(register_of(operand)))


def _source(
    writer: FormWriter, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int
) -> tuple[str, str]:
    if instruction.name.startswith("v_interp"):
        raise UnknownInstruction(f"{instruction.mnemonic} of other lanes")
    value, written = _plain_source(writer, operand, kind, instruction, position)
    flushes = kind[0] == "f" and not denormals(writer, kind) & 1
    if operand.absolute or operand.negated or flushes:
        value = modified(writer.vectors, value, operand, kind, flushes=flushes)
    return value, written


def modified(vectors: Vectors, value: str, operand: GpuOperand, kind: str, *, flushes: bool) -> str:
    """Return a source with the modifiers of its operand, and without denormals if they are flushed."""
    of, as_float = type_of(kind), f"f{BITS[kind]}"
    value = vectors.view(value, of, as_float)
    if operand.absolute:
        value = vectors.absolute(value, as_float)
    if operand.negated:
        value = vectors.negated(value, as_float)
    if flushes:
        value = vectors.flushed(value, as_float)
    return vectors.view(value, as_float, of)


def _plain_source(
    writer: FormWriter, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int
) -> tuple[str, str]:
    vectors, bits, of, words = writer.vectors, BITS[kind], type_of(kind), f"u{BITS[kind]}"
    selection, written = lane_moves.part_of(instruction, position), ""
    if operand.kind in CONSTANTS:
        if selection != lane_moves.DWORD:
            raise UnknownInstruction(f"{instruction.mnemonic} of a part of {operand.text}")
        number = bits_of_constant(operand, bits // 8)
        value = writer.long_number(number) if bits == 64 else writer.number(number)
        value = writer.one.resized(value, WORD, words) if bits < 32 else value
        return vectors.view(vectors.spread(value, words), words, of), ""
    is_high = _is_high(operand, instruction, position)
    if operand.kind in SCALARS:
        value = writer.scalar(operand, 64 if bits == 64 else 32)
        if selection == lane_moves.DWORD:
            if bits == 16:
                value = writer.one.operate("lshr", WORD, value, "16") if is_high else value
                value = writer.one.resized(value, WORD, words)
            return vectors.view(vectors.spread(value, words), words, of), ""
        word = vectors.spread(value, WORD)
    elif bits == 64:
        register = writer.vector_register(operand)
        if instruction.variant:
            raise UnknownInstruction(f"{instruction.mnemonic} of other lanes")
        low, high = (vectors.resized(writer.read(register + part), WORD, LONG) for part in (0, 1))
        high = vectors.operate("shl", LONG, high, vectors.constant(32, LONG))
        return vectors.view(vectors.operate("or", LONG, high, low), LONG, of), ""
    else:
        word = writer.read(writer.vector_register(operand))
        if instruction.variant in ("dpp", "dpp8") and position == 0:
            word, written = _moved(writer, instruction, word)
    if selection != lane_moves.DWORD:
        size, first = lane_moves.bits_of_part(selection)
        word = vectors.operate("shl", WORD, word, vectors.constant(32 - size - first, WORD))
        way = "ashr" if operand.sign_extended else "lshr"
        word = vectors.operate(way, WORD, word, vectors.constant(32 - size, WORD))
    elif bits == 32 and operand.half is not None:
        how = ("lshr", 16) if operand.half else ("and", 0xFFFF)
        word = vectors.operate(how[0], WORD, word, vectors.constant(how[1], WORD))
    elif bits == 16 and is_high:
        word = vectors.operate("lshr", WORD, word, vectors.constant(16, WORD))
    return vectors.view(vectors.resized(word, WORD, words), words, of), written


def _is_high(operand: GpuOperand, instruction: GpuInstruction, position: int) -> bool:
    if operand.half is not None:
        return operand.half == 1
    return bool(instruction.modifiers.get("op_sel", 0) >> (3 if position < 0 else position) & 1) and (
        instruction.variant != "sdwa"
    )


def _moved(writer: FormWriter, instruction: GpuInstruction, word: str) -> tuple[str, str]:
    """Return what lanes read of others by DPP, and the row of the lanes that write."""
    vectors, modifiers, lanes = writer.vectors, instruction.modifiers, writer.lanes
    if instruction.variant == "dpp":
        source, valid = lane_moves.dpp_sources(modifiers.get("dpp_ctrl", 0), lanes)
        enabled = lane_moves.dpp_enabled(modifiers.get("row_mask", 0), modifiers.get("bank_mask", 0), lanes)
    else:
        source, valid = lane_moves.dpp8_sources(modifiers.get("dpp8", 0), lanes)
        enabled = valid
    whole, exec_row = vectors.type(WORD), writer.exec_row()
    order = f"{whole} {lane_numbers('i32', source.tolist())}"

    def shuffled(value: str) -> str:
        return writer.ir.put(f"shufflevector {whole} {value}, {whole} poison, {order}")

    def row(flags: np.ndarray) -> str:
        return lane_numbers("i32", (-int(each) for each in flags.reshape(-1).tolist()))

    good = row(valid)
    if not modifiers.get("fi"):
        good = vectors.operate("and", WORD, shuffled(exec_row), good)
    values = shuffled(word)
    writing = vectors.operate("and", WORD, exec_row, row(enabled))
    if instruction.variant == "dpp8" or modifiers.get("bound_ctrl"):
        return vectors.operate("and", WORD, values, good), writing
    return values, vectors.operate("and", WORD, writing, good)


def packed_source(writer: FormWriter, operand: GpuOperand, kind: str, *, is_high: bool, is_negated: bool) -> str:
    """Return the low or the high part of a source of a packed operation."""
    vectors, bits, of, words = writer.vectors, BITS[kind], type_of(kind), f"u{BITS[kind]}"
    if operand.kind in CONSTANTS:
        number = bits_of_constant(operand, bits // 8) if kind == "f16" else operand.value
        value = writer.number(number >> (bits if is_high else 0) & (1 << bits) - 1)
        value = vectors.spread(writer.one.resized(value, WORD, words), words)
    elif operand.kind in SCALARS:
        size = operand.bits or 32
        value = writer.scalar(operand, size)
        have = f"u{size}"
        if is_high and bits < size:
            value = writer.one.operate("lshr", have, value, str(bits))
        elif is_high:
            value = "0"
        value = vectors.spread(writer.one.resized(value, have, words), words)
    elif bits == 32:
        value = writer.read(writer.vector_register(operand) + is_high)
    else:
        value = writer.read(writer.vector_register(operand))
        value = vectors.operate("lshr", WORD, value, vectors.constant(16, WORD)) if is_high else value
        value = vectors.resized(value, WORD, words)
    value = vectors.view(value, words, of)
    if is_negated:
        value = vectors.negated(value, kind)
    return vectors.flushed(value, kind) if kind[0] == "f" and not denormals(writer, kind) & 1 else value


# --- Results ------------------------------------------------------------------------------------------------------


def write_result(
    writer: FormWriter, operand: GpuOperand, kind: str, instruction: GpuInstruction, value: str, mask: str = ""
) -> None:
    """Write a result of a vector operation in the executing lanes, or in those of a row."""
    vectors, bits, of, words = writer.vectors, BITS[kind], type_of(kind), f"u{BITS[kind]}"
    register, modifiers = writer.vector_register(operand), instruction.modifiers
    value = vectors.view(float_result(writer, value, kind, instruction) if kind[0] == "f" else value, of, words)
    if bits == 64:
        writer.write(register, vectors.resized(value, LONG, WORD), mask)
        high = vectors.operate("lshr", LONG, value, vectors.constant(32, LONG))
        writer.write(register + 1, vectors.resized(high, LONG, WORD), mask)
        return
    if bits == 16 or operand.half is not None:
        value = vectors.resized(value, words, WORD)
        is_high = operand.half == 1 or bool(modifiers.get("op_sel", 0) >> 3 & 1)
        keeps = operand.half is not None or writer.generation >= 10 or "op_sel" in modifiers
        keeps = keeps or (writer.generation == 9 and bool(KEEPING.match(instruction.name)))
        if is_high:
            value = vectors.operate("shl", WORD, value, vectors.constant(16, WORD))
        if is_high or keeps:
            value = _beside(writer, register, value, 0xFFFF if is_high else 0xFFFF0000)
    selection = modifiers.get("dst_sel", lane_moves.DWORD) if instruction.variant == "sdwa" else lane_moves.DWORD
    if selection != lane_moves.DWORD:
        size, first = lane_moves.bits_of_part(selection)
        unused = modifiers.get("dst_unused", 0)
        value = vectors.operate("shl", WORD, value, vectors.constant(32 - size, WORD))
        way = "ashr" if unused == lane_moves.SIGN_EXTENDED else "lshr"
        value = vectors.operate(way, WORD, value, vectors.constant(32 - size - first, WORD))
        if unused == lane_moves.PRESERVED:
            value = _beside(writer, register, value, ~((1 << size) - 1 << first))
    writer.write(register, value, mask)


def _beside(writer: FormWriter, register: int, value: str, kept: int) -> str:
    """Return a value with bits that a register keeps."""
    vectors = writer.vectors
    old = vectors.operate("and", WORD, writer.read(register), vectors.constant(kept, WORD))
    return vectors.operate("or", WORD, value, old)


def float_result(
    writer: FormWriter, value: str, kind: str, instruction: GpuInstruction, vectors: Vectors | None = None
) -> str:
    """Return a float result after output modifiers and what MODE says of denormal numbers."""
    vectors = vectors or writer.vectors
    omod = instruction.modifiers.get("omod", 0)
    if not denormals(writer, kind) & 2:
        value = vectors.flushed(value, kind)
        if omod and not (writer.mode & IEEE and writer.generation <= 11):
            value = vectors.operate("fmul", kind, value, vectors.constant((1, 2, 4, 0.5)[omod], kind))
            value = vectors.operate("fadd", kind, vectors.flushed(value, kind), vectors.constant(0, kind))
    if not instruction.modifiers.get("clamp"):
        return value
    limited = vectors.clipped(value, kind, 0, 1)
    if writer.generation <= 11 and not writer.mode & DX10_CLAMP:
        return limited
    return vectors.choose(vectors.is_nan(value, kind), kind, vectors.constant(0, kind), limited)


def quieted(vectors: Vectors, result: str, values: list[str], kind: str) -> str:
    """Return a minimum or maximum as MODE.IEEE wants it: a signalling NaN gives a NaN."""
    words = f"u{kind[1:]}"
    signalling = vectors.is_signalling(values[-1], kind)
    if len(values) == 2:
        signalling = vectors.operate("or", FLAG, signalling, vectors.is_signalling(values[0], kind))
    nan = int(np.array(np.nan, f"f{BITS[kind] // 8}").view(f"u{BITS[kind] // 8}"))
    return vectors.choose(signalling, kind, vectors.view(vectors.constant(nan, words), words, kind), result)
