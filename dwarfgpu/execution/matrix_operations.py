"""Matrix operations of a wave as lines of a block: they read and write registers of all lanes, whatever EXEC is."""

from __future__ import annotations

from typing import Any

import numpy as np

from dwarfgpu.execution.block_writer import BlockWriter, needed
from dwarfgpu.execution.faults import NO_SOURCE, UnknownInstruction
from dwarfgpu.immutable import evolve
from dwarfgpu.isa.decoder import text as text_of
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.matrices import MatrixModifiers, MatrixShape, blocks_of, is_of_gfx12_5, multiplied, shape_of
from dwarfgpu.isa.semantics.scaled_numbers import narrow_product, narrow_types
from dwarfgpu.isa.tables import is_gfx12_5

Lanes = Any
OVERFLOW = 1 << 23
"""MODE, FP16_OVFL: results that are too large become the largest number."""
ONE_AS_SCALE = 127
"""The power of two that is 1, as a byte."""
_FILES = {OperandKind.VGPR: "v", OperandKind.AGPR: "a"}


def write_matrix(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write a matrix operation; return whether it is one."""
    shape = shape_of(instruction.name)
    if shape is None:
        return False
    said = instruction.modifiers
    chosen = said.get("abid", said.get("index_key", 0))
    if shape.family == "smfmac" and said.get("cbsz"):
        chosen = 0  # then the first part of the positions counts
    if shape.left in ("f8f6f4", "f4"):
        _write_narrow(writer, instruction, shape)
        return True
    modifiers = MatrixModifiers(
        lanes=writer.lanes,
        processor=writer.processor,
        generation=writer.generation,
        broadcast=said.get("cbsz", 0),
        chosen_block=chosen,
        lane_pattern=said.get("blgp", said.get("neg", 0)),
        negated_low=said.get("neg_lo", 0),
        negated_high=said.get("neg_hi", 0),
        clamps=bool(said.get("clamp")),
        is_high=bool(said.get("op_sel", 0) & 4) and writer.generation == 11,
    )
    if is_gfx12_5(writer.processor):
        is_large = shape.result == "f16" and writer.mode & OVERFLOW
        if is_large or not is_of_gfx12_5(shape, modifiers):
            raise UnknownInstruction(f"{text_of(instruction)}: {NO_SOURCE}")
    target = instruction.destinations[0]
    left, right, third = (instruction.operand(name) for name in ("src0", "src1", "src2"))
    if left is None or right is None or third is None:
        raise UnknownInstruction(f"{instruction.mnemonic} without an operand")
    blocks = blocks_of(shape, left.count, writer.lanes, writer.generation)
    if not blocks:
        raise UnknownInstruction(f"{instruction.mnemonic} of {writer.lanes} lanes: where its elements are is not known")
    together = 1 << modifiers.broadcast
    if together > 1 and not shape.is_sparse and (together > blocks or chosen >= together):
        text = f"{instruction.mnemonic} with cbsz:{modifiers.broadcast} abid:{chosen}, and {blocks} blocks of A"
        raise UnknownInstruction(text)
    other = target if shape.is_sparse else third
    texts = [_registers(writer, operand) for operand in (left, right)]
    texts.append(_registers(writer, other) if other.kind in _FILES else writer.name(constant_of(other, shape)))
    if shape.is_sparse:
        kind = f".view('u{4 * third.count}')" if third.count > 1 else ""
        texts.append(f"{_registers(writer, third)}{kind}[:, :, 0]")
    function = writer.name(writer.observed(multiplied))
    call = f"{function}({writer.name(shape)}, {writer.name(modifiers)}, {', '.join(texts)})"
    file, first, count = _FILES[target.kind], target.index, target.count
    writer.write(f"x = {call}")
    if shape.result_bits == 16 and writer.generation == 11:
        place = "x[:, :, {0}] << 16 | {1} & 0xffff" if modifiers.is_high else "x[:, :, {0}] | {1} & 0xffff0000"
        for number in range(count):
            register = f"{file}[{first + number}]"
            writer.write(f"{register} = {place.format(number, register)}")
        return True
    if shape.is_sparse and shape.addend != shape.result:  # the halves of D are in the first registers of C
        target = evolve(target, bits=target.bits // 2)
    _write_result(writer, target)
    return True


def _write_narrow(writer: BlockWriter, instruction: GpuInstruction, shape: MatrixShape) -> None:
    """Write a product whose modifiers say the types of A and B, with the scales that it has."""
    types = narrow_types(instruction.name, instruction.modifiers, writer.processor)
    if types is None:
        raise UnknownInstruction(f"{text_of(instruction)}: no document has these types and scales")
    operands = [needed(instruction, name) for name in ("src0", "src1", "src2")]
    texts = [_registers(writer, operand) for operand in operands[:2]]
    third = operands[2]
    texts.append(_registers(writer, third) if third.kind in _FILES else writer.name(constant_of(third, shape)))
    scales = [each for number in (0, 1) if (each := instruction.operand(f"scale_src{number}")) is not None]
    for operand, kind in zip(scales, types.scale_kinds, strict=False):
        text = _scales(writer, instruction, operand)
        texts.append(f"{writer.name(without_signs)}({text})" if kind == "e4m3" else text)
    function = writer.name(writer.observed(narrow_product))
    writer.write(f"x = {function}({writer.name(shape)}, {writer.name(types)}, {', '.join(texts)})")
    _write_result(writer, instruction.destinations[0])


def _scales(writer: BlockWriter, instruction: GpuInstruction, operand: GpuOperand) -> str:
    """Return the text of scales; a number for all lanes has one, the lowest byte (CDNA 5, 7.12.6.2)."""
    if operand.kind in _FILES:
        return _registers(writer, operand)
    if writer.generation >= 12 and operand.kind is OperandKind.SGPR:
        return f"uniform({writer.scalar(operand, 32)} + 0).astype('u4')[:, :, None]"
    if writer.generation >= 12 and operand.text == "0":
        return writer.name(np.full((1, 1, 1), ONE_AS_SCALE, np.uint32))
    raise UnknownInstruction(f"{instruction.mnemonic} with {operand.text} as scales")


def without_signs(words: Lanes) -> Lanes:
    """Return scales of seven bits; stop where a byte has an eighth."""
    if (words & np.uint32(0x80808080)).any():
        raise UnknownInstruction("a scale of E4M3 whose highest bit is set: no document says what it is")
    return words


def _write_result(writer: BlockWriter, target: GpuOperand) -> None:
    names = ", ".join(f"{_FILES[target.kind]}[{target.index + number}]" for number in range(target.count))
    writer.write(f"{names}, = {writer.name(apart)}(x)")


def _registers(writer: BlockWriter, operand: GpuOperand) -> str:
    if operand.kind not in _FILES:
        raise UnknownInstruction(f"{operand.text} as a matrix")
    file = _FILES[operand.kind]
    return f"{writer.name(together)}({file}[{operand.index}:{operand.index + operand.count}], {writer.lanes})"


def together(registers: list[Lanes], lanes: int) -> Lanes:
    """Return registers as one array ``[wave, lane, register]``."""
    waves = max(column.shape[0] for column in registers)
    result = np.empty((waves, lanes, len(registers)), np.uint32)
    for number, column in enumerate(registers):
        result[:, :, number] = column
    return result


def apart(words: Lanes) -> list[Lanes]:
    """Return an array ``[wave, lane, register]`` as registers."""
    return list(np.ascontiguousarray(np.moveaxis(words, 2, 0)))


def constant_of(operand: GpuOperand, shape: MatrixShape) -> Lanes:
    """Return a constant C as one element of its type."""
    kind, text = shape.addend, operand.text
    bits = 64 if kind == "f64" else 32
    if operand.kind not in (OperandKind.CONSTANT, OperandKind.LITERAL):
        raise UnknownInstruction(f"{text} as a matrix")
    if "." in text:
        number = {"f64": np.float64, "f16": np.float16}.get(kind, np.float32)(text)
        whole = int(number.view(f"u{number.itemsize}"))
        if kind in ("f16", "bf16"):
            whole = whole >> 16 if kind == "bf16" else whole
            whole |= whole << 16
    else:
        whole = int(text, 0) & ((1 << bits) - 1)
        if kind in ("f16", "bf16"):
            whole = whole & 0xFFFF | (whole & 0xFFFF) << 16
    return np.array([[[whole]]], f"u{bits // 8}")
