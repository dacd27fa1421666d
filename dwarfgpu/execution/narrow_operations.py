"""Operations on parts of registers: packed halves, mixed precision, dot products, and floats of 8 bits.

ISA documents, "Packed Math" (op_sel, op_sel_hi, neg_lo, neg_hi), and the descriptions of V_FMA_MIX, V_DOT and V_CVT.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from attrs import evolve

from dwarfgpu.execution.block_writer import BITS, KINDS, BlockWriter, cell, constant_bits, needed
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.isa.formulas import single_name
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics import floats, narrow_floats, scaled_numbers
from dwarfgpu.isa.semantics.dots import integer_dot
from dwarfgpu.isa.semantics.rows import MEANINGS

Lanes = Any
OVERFLOW = 1 << 23
"""MODE, FP16_OVFL: results that are too large become the largest number."""


def write_narrow(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write an operation on parts of registers; return whether it is one."""
    name = instruction.name
    if name in _MIXED:
        _write_mixed(writer, instruction)
    elif name.startswith("v_dot") and (instruction.encoding == "VOP3P" or name in _SHORT_DOTS):
        _write_dot(writer, instruction)
    elif (conversion := _CONVERSION.match(name)) is not None:
        _write_conversion(writer, instruction, conversion)
    elif (scaled := _SCALED.match(name)) is not None:
        _write_scaled_conversion(writer, instruction, scaled)
    else:
        return _write_packed(writer, instruction)
    return True


def _word(writer: BlockWriter, operand: GpuOperand, instruction: GpuInstruction, position: int) -> str:
    """Return the text of a source as 32 bits, without its sign and absolute value."""
    return writer.vector(evolve(operand, negated=False, absolute=False), "b32", instruction, position)


# --- Both halves --------------------------------------------------------------------------------------------------

_UNCLAMPED = re.compile(r"v_pk_(min|max|mov|lshlrev|lshrrev|ashrrev)")
"""Operations whose results are always within their type."""


def _write_packed(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write an operation on both halves of its operands, each as the operation on one."""
    name = instruction.name
    single = single_name(name)
    meaning = MEANINGS.get(single)
    if not name.startswith("v_pk_") or meaning is None:
        return False
    kind, function = meaning.results[0], meaning.function
    accumulates = len(meaning.sources) > 2 and "fmac" in name
    modifiers = instruction.modifiers
    if modifiers.get("clamp") and KINDS[kind][0] != "f" and not _UNCLAMPED.match(name):
        if meaning.clamped is None:
            raise UnknownInstruction(f"{instruction.mnemonic} with clamp")
        function = meaning.clamped
    is_packed = instruction.encoding == "VOP3P"
    chosen = (modifiers.get("op_sel", 0), modifiers.get("op_sel_hi", 0) if is_packed else 7)
    negated = (modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0))
    sources = instruction.sources
    if any(negated) and KINDS[kind][0] != "f":
        raise UnknownInstruction(f"{instruction.mnemonic} of integers with another sign")
    if accumulates and sources[0] is not instruction.destinations[0]:
        raise UnknownInstruction(f"{instruction.mnemonic} without its destination as a source")
    for half in (0, 1):
        texts = []
        for position, operand in enumerate(sources):
            if name == "v_pk_mov_b32" and position != half:
                continue
            place = position - accumulates
            is_high = bool(chosen[0 if name == "v_pk_mov_b32" else half] >> place & 1) if place >= 0 else bool(half)
            text = writer.part(operand, kind, is_high=is_high)
            if place >= 0 and negated[half] >> place & 1:
                text = f"negative({text})"
            texts.append(writer.flushed_source(text, KINDS[kind]))
        writer.write(f"d{half} = {writer.operation(single, function, kind)}({', '.join(texts)})")
    destination = instruction.destinations[0]
    if BITS[kind] == 32:
        for half in (0, 1):
            text = writer.float_result(f"d{half}", kind, instruction)
            writer.keep(cell(destination, half), f"({text}).view('u4')")
        return True
    halves = [f"({writer.float_result(f'd{half}', kind, instruction)}).view('u2').astype('u4')" for half in (0, 1)]
    writer.set_vector(destination, f"{halves[0]} | {halves[1]} << 16", "b32", instruction, clamps=False)
    return True


# --- Mixed precision ----------------------------------------------------------------------------------------------


def multiplied_and_added(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return ``left * right + other``, rounded twice."""
    return left * right + other


_MIXED = {
    f"v_{word}_mix{part}": function
    for word, function in (("mad", multiplied_and_added), ("fma", floats.fused_single))
    for part in ("_f32", "lo_f16", "hi_f16")
}


def _write_mixed(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write D = S0 * S1 + S2 of singles, where op_sel_hi says of each source that it is a half."""
    if writer.mode & 15:
        raise UnknownInstruction(f"{instruction.mnemonic} that is not rounded to the nearest")
    modifiers = instruction.modifiers
    texts = []
    operands = [operand for operand in (instruction.operand(f"src{number}") for number in range(3)) if operand]
    for position, operand in enumerate(operands):
        if modifiers.get("op_sel_hi", 0) >> position & 1:
            is_high = bool(modifiers.get("op_sel", 0) >> position & 1)
            text = f"{_half(writer, operand, instruction, position, is_high=is_high)}.astype('f4')"
        else:
            text = _single(writer, operand, instruction, position)
        if operand.absolute:
            text = f"absolute({text})"
        if operand.negated:
            text = f"negative({text})"
        texts.append(writer.flushed_source(text, "f4"))
    call = f"{writer.name(writer.observed(_MIXED[instruction.name]))}({', '.join(texts)})"
    destination = instruction.destinations[0]
    if instruction.name.endswith("f32"):
        writer.set_vector(destination, call, "f32", instruction)
        return
    half = writer.float_result(f"({call}).astype('f2')", "f16", instruction)
    half = f"({half}).view('u2').astype('u4')"
    register = cell(destination)
    if "mixhi" in instruction.name:
        writer.write_register(register, f"{half} << 16 | {register} & 0xffff")
    else:
        writer.write_register(register, f"{half} | {register} & 0xffff0000")


def _single(writer: BlockWriter, operand: GpuOperand, instruction: GpuInstruction, position: int) -> str:
    if operand.kind is OperandKind.CONSTANT:
        return writer.constant(constant_bits(operand, "f4"), "f4")
    return f"{_word(writer, operand, instruction, position)}.view('f4')"


def _half(
    writer: BlockWriter, operand: GpuOperand, instruction: GpuInstruction, position: int, *, is_high: bool
) -> str:
    if operand.kind is OperandKind.CONSTANT:
        return writer.constant(constant_bits(operand, "f2"), "f2")
    shift = " >> 16" if is_high else ""
    return f"({_word(writer, operand, instruction, position)}{shift} & 0xffff).astype('u2').view('f2')"


_SHORT_DOTS = ("v_dot2_f16_f16", "v_dot2_bf16_bf16")
"""Dot products in the encoding of other operations on three sources."""

# --- Dot products -------------------------------------------------------------------------------------------------


def arranged(word: Lanes, low: int, high: int, signs: int) -> Lanes:
    """Return registers with the chosen halves in place, and with some of their signs changed."""
    if (low, high) != (0, 1):
        word = word >> 16 * low & 0xFFFF | (word >> 16 * high & 0xFFFF) << 16
    return word ^ np.uint32(signs) if signs else word


def _write_dot(writer: BlockWriter, instruction: GpuInstruction) -> None:
    meaning = MEANINGS.get(instruction.name)
    if meaning is None:
        raise UnknownInstruction(f"{instruction.mnemonic} has no meaning here")
    function = meaning.function
    modifiers = instruction.modifiers
    signs = modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0)
    kinds = re.match(r"v_dot(\d)_\w+?_(i|u|iu|f|bf|fp)(\d+)", instruction.name)
    if kinds is None:
        raise UnknownInstruction(f"{instruction.mnemonic} has no meaning here")
    is_integer = kinds[2] in ("i", "u", "iu")
    if is_integer:
        flags = [bool(signs[0] >> position & 1) if kinds[2] == "iu" else kinds[2] == "i" for position in (0, 1)]
        clamps = bool(modifiers.get("clamp"))
        function = integer_dot(int(kinds[3]), left_signed=flags[0], right_signed=flags[1], clamps=clamps)
    operands = [operand for operand in (instruction.operand(f"src{number}") for number in range(3)) if operand]
    texts = []
    for position, operand in enumerate(operands[:2]):
        if instruction.encoding == "VOP3" and (operand.negated or operand.absolute):
            raise UnknownInstruction(f"{instruction.mnemonic} of {operand.text}")
        text = _word(writer, operand, instruction, position)
        if kinds[1] == "2" and instruction.encoding == "VOP3P":
            places = (modifiers.get(key, 0) >> position & 1 for key in ("op_sel", "op_sel_hi"))
            changed = (signs[0] >> position & 1) << 15 | (signs[1] >> position & 1) << 31
            low, high = places
            if (low, high, changed) != (0, 1, 0):
                text = f"{writer.name(arranged)}({text}, {low}, {high}, {0 if is_integer else changed})"
        texts.append(text)
    other = writer.vector(operands[2], meaning.sources[2], instruction, 2)
    if not is_integer and instruction.encoding == "VOP3P":
        other = f"absolute({other})" if signs[1] & 4 else other
        other = f"negative({other})" if signs[0] & 4 else other
    call = f"{writer.name(writer.observed(function))}({', '.join([*texts, other])})"
    writer.set_vector(instruction.destinations[0], call, meaning.results[0], instruction, clamps=not is_integer)


# --- Floats of 8 bits ---------------------------------------------------------------------------------------------

_CONVERSION = re.compile(r"v_cvt_(?:(pk_)?f32_(fp8|bf8)|(pk|sr)_(fp8|bf8)_f32)$")

_SCALED = re.compile(r"v_cvt_scalef32_(?:(pk_)?(f32|f16|bf16)_(fp8|bf8|fp4)|pk_(fp8|bf8)_(f32|f16|bf16))$")


def converted_bits(instruction: GpuInstruction) -> tuple[int, int] | None:
    """Return which bits of its first source a conversion reads, and which of its destination it writes."""
    selection, byte = (instruction.modifiers.get(name) for name in ("op_sel", "byte_sel"))
    chosen, whole = selection or 0, 0xFFFFFFFF
    if (plain := _CONVERSION.match(instruction.name)) is not None:
        if plain[1]:
            return 0xFFFF << 16 * (needed(instruction, "src0").half or chosen & 1), whole
        if plain[2]:
            return 0xFF << 8 * (byte or 0), whole
        if plain[3] == "pk":
            return whole, 0xFFFF << 16 * (instruction.destinations[0].half or chosen >> 3 & 1)
        return whole, 0xFF << 8 * (chosen >> 2 & 3 if byte is None else byte)
    scaled = _SCALED.match(instruction.name)
    if scaled is None:
        return None
    half = 0xFFFF << 16 * (chosen >> 3 & 1)
    if scaled[4]:
        return whole, half
    is_pair = scaled[1] and scaled[3] != "fp4"
    read = 0xFFFF << 16 * (chosen & 1) if is_pair else 0xFF << 8 * (chosen & 3)
    return read, whole if scaled[1] or scaled[2] == "f32" else half


def _lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def _write_conversion(writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    form = narrow_floats.narrow_format(match[2] or match[4], writer.processor)
    read, written = converted_bits(instruction) or (0, 0)
    source = needed(instruction, "src0")
    if match[2]:
        word = _word(writer, source, instruction, 0)
        target = instruction.destinations[0]
        writer.write(f"y = {word} >> {_lowest(read)}")
        for number in range(2 if match[1] else 1):
            text = f"{writer.name(narrow_floats.widened)}(y >> {8 * number} & 0xff, {writer.name(form)})"
            writer.set_vector(evolve(target, index=target.index + number), text, "f32", instruction)
        return
    second = needed(instruction, "src1")
    narrowed = f"saturates={bool(writer.mode & OVERFLOW)}"
    call, format_name = writer.name(narrow_floats.narrowed), writer.name(form)
    left = writer.vector(source, "f32", instruction, 0)
    target = instruction.destinations[0]
    if match[3] == "pk":
        right = writer.vector(second, "f32", instruction, 1)
        low, high = (f"{call}({text}, {format_name}, {narrowed}).astype('u4')" for text in (left, right))
        new = f"({low} | {high} << 8)"
    else:
        noise = writer.vector(second, "u32", instruction, 1)
        new = f"{call}({left}, {format_name}, {narrowed}, noise={noise}).astype('u4')"
    register = f"v[{target.index}]"
    writer.write_register(register, f"{new} << {_lowest(written)} | {register} & {~written & 0xFFFFFFFF}")


def _write_scaled_conversion(writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    """Write a conversion to or from narrow floats with a power of two: the exponent of the last source."""
    (read, written), target = converted_bits(instruction) or (0, 0), instruction.destinations[0]
    sources = [each for number in range(3) if (each := instruction.operand(f"src{number}")) is not None]
    scale = (
        f"{writer.name(scaled_numbers.power_of)}({writer.vector(sources[-1], 'f32', instruction, len(sources) - 1)})"
    )
    register = f"v[{target.index}]"
    kept = f" << {_lowest(written)} | {register} & {~written & 0xFFFFFFFF:#x}"
    if match[4]:
        if match[5] == "f32":
            parts = [writer.vector(each, "f32", instruction, at) for at, each in enumerate(sources[:2])]
        else:
            if sources[0].negated or sources[0].absolute:
                raise UnknownInstruction(f"{instruction.mnemonic} of {sources[0].text}")
            word = _word(writer, sources[0], instruction, 0)
            parts = [f"{writer.name(scaled_numbers.WIDENED[match[5]])}({word} >> {at} & 0xffff)" for at in (0, 16)]
        form = writer.name(narrow_floats.narrow_format(match[4], writer.processor))
        tail = f"{form}, saturates={bool(writer.mode & OVERFLOW)}).astype('u4')"
        low, high = (f"{writer.name(narrow_floats.narrowed)}({part} / {scale}, {tail}" for part in parts)
        writer.write_register(register, f"({low} | {high} << 8){kept}")
        return
    kind, count, bits = match[2], 2 if match[1] else 1, 4 if match[3] == "fp4" else 8
    writer.write(f"y, z = {_word(writer, sources[0], instruction, 0)} >> {_lowest(read)}, {scale}")
    numbers = writer.name(scaled_numbers.numbers_of_kind(match[3]))
    results = [f"{numbers}.take(y >> {bits * at} & {(1 << bits) - 1}) * z" for at in range(count)]
    if kind == "f32":
        writer.write(f"y, z = {results[0]}, {results[-1]}")
        for at, name in enumerate("yz"[:count]):
            writer.set_vector(evolve(target, index=target.index + at), f"{name}.astype('f4')", "f32", instruction)
        return
    made = writer.name(scaled_numbers.half_codes if kind == "f16" else scaled_numbers.bf16_codes)
    tail = f", saturates={bool(writer.mode & OVERFLOW)}" if kind == "f16" else ""
    halves = [f"{made}({each}{tail})" for each in results]
    writer.write_register(register, f"{halves[0]} | {halves[1]} << 16" if count == 2 else f"{halves[0]}{kept}")
