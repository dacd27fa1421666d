"""Operations on parts of registers: packed halves, mixed precision, dot products, and floats of 4 to 8 bits.

ISA documents, "Packed Math" (op_sel, op_sel_hi, neg_lo, neg_hi), and the descriptions of V_FMA_MIX, V_DOT and V_CVT.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dwarfgpu.execution.block_writer import BITS, KINDS, BlockWriter, cell, constant_bits, needed
from dwarfgpu.execution.faults import SOURCES_DIFFER, UnknownInstruction
from dwarfgpu.execution.matrix_operations import OVERFLOW
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.formulas import single_name
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics import floats, narrow_floats, scaled_numbers
from dwarfgpu.isa.semantics.dots import integer_dot
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import MEANINGS
from dwarfgpu.isa.semantics.scaled_numbers import EACH
from dwarfgpu.isa.tables import is_gfx12_5

Lanes = Any


def write_narrow(writer: BlockWriter, instruction: GpuInstruction) -> bool:
    """Write an operation on parts of registers; return whether it is one."""
    name = instruction.name
    if name in _MIXED:
        _write_mixed(writer, instruction)
    elif name.startswith("v_dot") and (instruction.encoding == "VOP3P" or name in _SHORT_DOTS):
        _write_dot(writer, instruction)
    elif (conversion := _CONVERSION.match(name)) is not None:
        _write_conversion(writer, instruction, conversion)
    elif (halfs := _OF_HALFS.match(name)) is not None:
        _write_conversion_of_halfs(writer, instruction, halfs)
    elif (scaled := scaled_conversion(name)) is not None:
        _write_scaled_conversion(writer, instruction, scaled)
    elif (widening := _WIDENING.match(name)) is not None:
        _write_widening(writer, instruction, widening)
    elif (pairs := _PAIRS_OF_BF16.match(name)) is not None:
        _write_pairs_of_bf16(writer, instruction, pairs[1])
    elif (looked_up := _LOOK_UP.match(name)) is not None:
        _write_look_up(writer, instruction, int(looked_up[1]))
    else:
        return _write_packed(writer, instruction)
    return True


def _word(writer: BlockWriter, operand: GpuOperand, instruction: GpuInstruction, position: int) -> str:
    """Return the text of a source as 32 bits, without its sign and absolute value."""
    return writer.vector(evolve(operand, negated=False, absolute=False), "b32", instruction, position)


# --- Both halves --------------------------------------------------------------------------------------------------

_UNCLAMPED = re.compile(r"v_pk_(add_)?(min|max|mov|lshlrev|lshrrev|ashrrev)")
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
    lowest = KINDS[kind] == "i2" and modifiers.get("clamp") and name.startswith("v_pk_add_m")
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
        if lowest:  # clamp makes negative results 0
            writer.write(f"d{half} = {writer.name(np.maximum)}(d{half}, {writer.name(np.int16(0))})")
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
    for part in ("_f32", "lo_f16", "hi_f16", "_f32_bf16", "lo_bf16", "hi_bf16")
}


def _write_mixed(writer: BlockWriter, instruction: GpuInstruction) -> None:
    """Write D = S0 * S1 + S2 of singles, where op_sel_hi says of each source that it is a half, or a bf16 number."""
    if writer.mode & 15:
        raise UnknownInstruction(f"{instruction.mnemonic} that is not rounded to the nearest")
    modifiers = instruction.modifiers
    texts = []
    operands = [operand for operand in (instruction.operand(f"src{number}") for number in range(3)) if operand]
    for position, operand in enumerate(operands):
        if modifiers.get("op_sel_hi", 0) >> position & 1:
            is_high = bool(modifiers.get("op_sel", 0) >> position & 1)
            text = _half(writer, operand, instruction, position, is_high=is_high)
            if instruction.name.endswith("bf16"):
                if operand.kind is OperandKind.CONSTANT:
                    raise UnknownInstruction(f"{instruction.mnemonic} of {operand.text} as a bf16 number")
                text = f"{writer.name(narrow_floats.from_bf16)}({text}.view('u2'))"
            else:
                text = f"{text}.astype('f4')"
        else:
            text = _single(writer, operand, instruction, position)
        if operand.absolute:
            text = f"absolute({text})"
        if operand.negated:
            text = f"negative({text})"
        texts.append(writer.flushed_source(text, "f4"))
    call = f"{writer.name(writer.observed(_MIXED[instruction.name]))}({', '.join(texts)})"
    destination = instruction.destinations[0]
    if "_f32" in instruction.name:
        writer.set_vector(destination, call, "f32", instruction)
        return
    if instruction.name.endswith("bf16"):
        single = writer.float_result(call, "f32", instruction)
        half = f"{writer.name(narrow_floats.to_bf16)}({single}).astype('u4')"
    else:
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


# --- bf16 numbers -------------------------------------------------------------------------------------------------

_PAIRS_OF_BF16 = re.compile(r"v_pk_(add|mul|fma|min_num|max_num)_bf16$")


def bf16_codes(action: str, saturates: bool, *codes: Lanes) -> Lanes:  # noqa: FBT001 (of a text)
    """Return an operation on bf16 numbers, rounded once to the nearest; denormals stay (CDNA 5 ISA document, 7.7)."""
    singles = [narrow_floats.from_bf16(code) for code in codes]
    if action in ("min_num", "max_num"):
        return narrow_floats.to_bf16((floats.smaller if action == "min_num" else floats.larger)(*singles))
    left, right, other = (*singles, *([np.float32(0)] * (3 - len(singles))))
    if action == "add":
        right, other = np.float32(1), right
    elif action == "mul":
        other = np.copysign(np.float32(0), left) * np.copysign(np.float32(1), right)
    product, addend = left.astype(np.float64) * right, np.asarray(other, np.float64)
    total = product + addend  # the product is exact; the last bit of the sum is made odd where it is not
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    bits = total.view(np.uint64)
    odd = np.where((rest > 0) == (total > 0), bits, bits - np.uint64(1)) | np.uint64(1)
    exact = np.where((rest != 0) & np.isfinite(rest), odd, bits).view(np.float64)
    found = narrow_floats.narrowed(exact, narrow_floats.FORMATS["bf16", False], saturates=saturates)
    return np.where(np.isfinite(total), found, narrow_floats.to_bf16(total.astype(np.float32)))


def _write_pairs_of_bf16(writer: BlockWriter, instruction: GpuInstruction, action: str) -> None:
    modifiers, saturates = instruction.modifiers, bool(writer.mode & OVERFLOW)
    if modifiers.get("clamp"):
        raise UnknownInstruction(f"{instruction.mnemonic} with clamp")
    halves = []
    for half, (select, negate) in enumerate((("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi"))):
        texts = []
        for position, operand in enumerate(instruction.sources):
            is_high = bool(modifiers.get(select, 0) >> position & 1)
            if operand.kind is OperandKind.CONSTANT:  # a single, of which a half is taken
                text = writer.constant(constant_bits(operand, "f4") >> 16 * is_high & 0xFFFF, "u2")
            else:
                text = writer.part(operand, "b16", is_high=is_high)
            texts.append(
                f"{text} ^ {writer.name(np.uint16(0x8000))}" if modifiers.get(negate, 0) >> position & 1 else text
            )
        function = writer.name(writer.observed(bf16_codes))
        writer.write(f"d{half} = {function}('{action}', {saturates}, {', '.join(texts)})")
        halves.append(f"d{half}.astype('u4')")
    writer.write_register(cell(instruction.destinations[0]), f"{halves[0]} | {halves[1]} << 16")


# --- Tables of 16 codes -------------------------------------------------------------------------------------------

_LOOK_UP = re.compile(r"v_perm_pk16_b(4|6|8)_u4$")


def looked_up(table: list[Lanes], index: list[Lanes], bits: int) -> list[Lanes]:
    """Return the codes of so many bits that numbers of 4 bits choose of the 16 in a table (V_PERM_PK16)."""
    codes = narrow_floats.codes_of(np.stack(np.broadcast_arrays(*table), axis=-1), bits)
    chosen = narrow_floats.codes_of(np.stack(np.broadcast_arrays(*index), axis=-1), 4)
    shape = np.broadcast_shapes(codes.shape, chosen.shape)
    found = np.take_along_axis(np.broadcast_to(codes, shape), np.broadcast_to(chosen, shape).astype(np.int64), axis=-1)
    words = narrow_floats.words_of(found, bits)
    return [words[..., number] for number in range(words.shape[-1])]


def _write_look_up(writer: BlockWriter, instruction: GpuInstruction, bits: int) -> None:
    high, low, index = (_words(writer, needed(instruction, f"src{at}"), instruction, at) for at in range(3))
    table = ", ".join([*low, *high])
    writer.write(f"z = {writer.name(looked_up)}([{table}], [{', '.join(index)}], {bits})")
    target = instruction.destinations[0]
    for number in range(target.count):
        writer.write_register(cell(target, number), f"z[{number}]")


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


# --- Floats of 4 to 8 bits ----------------------------------------------------------------------------------------

_CONVERSION = re.compile(r"v_cvt_(?:(pk_)?f32_(fp8|bf8)|(pk|sr)_(fp8|bf8)_f32|(sr)_(b?f16)_f32|sr_(fp8|bf8)_f16)$")
_OF_HALFS = re.compile(r"v_cvt_(?:(pk_)?f16_(fp8|bf8)|pk_(fp8|bf8)_f16)$")
"""The conversions between halfs and floats of 8 bits, without a scale, that GFX12.5 has."""
_SCALED = re.compile(r"v_cvt_scalef32_(sr_)?(?:(pk|pk8|pk16|pk32|2xpk16)_)?([bf][fp]?\d+)_([bf][fp]?\d+)$")
_WIDENING = re.compile(r"v_cvt_scale_pk(8|16)_(f32|b?f16)_([bf][fp]?\d)$")
"""The conversions of GFX12.5 to wide numbers, with a byte as a power of two."""
_WIDE = {"f32": 32, "f16": 16, "bf16": 16}


@frozen
class ScaledConversion:
    """A conversion to or from narrow floats with a power of two: the exponent of the last source."""

    target: str
    source: str
    count: int
    is_random: bool

    @property
    def is_narrowing(self) -> bool:
        """Return whether the result is narrow."""
        return self.source in _WIDE

    def bits(self, selection: int) -> tuple[int, int]:
        """Return which bits of its first source it reads, and which of its destination it writes."""
        if self.count > 2:
            return LOW, LOW
        narrow = self.target if self.is_narrowing else self.source
        size = narrow_floats.FORMATS[narrow, False].bits * self.count
        chosen = selection >> (0 if not self.is_narrowing else 3 if size == 16 else 2)
        part = (1 << size) - 1 << size * (chosen & 32 // size - 1)
        is_half = self.count == 1 and _WIDE[self.source if self.is_narrowing else self.target] == 16
        if self.is_narrowing:
            return 0xFFFF if is_half else LOW, part
        return part, 0xFFFF << 16 * (selection >> 3 & 1) if is_half else LOW


def scaled_conversion(name: str) -> ScaledConversion | None:
    """Return what a name says of a conversion with a scale; None if it is of none."""
    match = _SCALED.match(name)
    if match is None:
        return None
    count = {None: 1, "pk": 2, "pk8": 8, "pk16": 16}.get(match[2], EACH)
    return ScaledConversion(match[3], match[4], count, match[1] is not None)


def element_bits(name: str) -> tuple[int, int, int] | None:
    """Return how many elements a conversion of GFX12.5 with a scale has, and their bits before and after it."""
    if (match := _WIDENING.match(name)) is not None:
        return int(match[1]), narrow_floats.FORMATS[match[3], False].bits, _WIDE[match[2]]
    scaled = scaled_conversion(name)
    if scaled is None or scaled.count not in (8, 16):
        return None
    return scaled.count, _WIDE[scaled.source], narrow_floats.FORMATS[scaled.target, False].bits


def converted_bits(instruction: GpuInstruction) -> tuple[int, int] | None:
    """Return which bits of its first source a conversion reads, and which of its destination it writes."""
    selection, byte = (instruction.modifiers.get(name) for name in ("op_sel", "byte_sel"))
    chosen = selection or 0
    if (plain := _CONVERSION.match(instruction.name)) is not None:
        if plain[1]:
            return 0xFFFF << 16 * (needed(instruction, "src0").half or chosen & 1), LOW
        if plain[2]:
            return 0xFF << 8 * (byte or 0), LOW
        if plain[3] == "pk" or plain[5]:
            return LOW, 0xFFFF << 16 * (instruction.destinations[0].half or chosen >> 3 & 1)
        read = 0xFFFF << 16 * (needed(instruction, "src0").half or 0) if plain[7] else LOW
        return read, 0xFF << 8 * (chosen >> 2 & 3 if byte is None else byte)
    if (halfs := _OF_HALFS.match(instruction.name)) is not None:
        source, target = needed(instruction, "src0"), instruction.destinations[0]
        if halfs[3]:
            return LOW, 0xFFFF << 16 * (target.half or 0)
        if halfs[1]:
            return 0xFFFF << 16 * (source.half or 0), LOW
        return 0xFF << 8 * (byte or 0), 0xFFFF << 16 * (target.half or 0)
    scaled = scaled_conversion(instruction.name)
    return None if scaled is None else scaled.bits(chosen)


def _lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1


def _put(writer: BlockWriter, register: str, text: str, bits: int) -> None:
    """Write the text of a number into some bits of a register, of which the others remain."""
    kept = "" if bits == LOW else f" << {_lowest(bits)} | {register} & {~bits & LOW:#x}"
    writer.write_register(register, f"({text}){kept}")


def _write_conversion(writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    kind = match[2] or match[4] or match[6] or match[7]
    form = narrow_floats.narrow_format(kind, writer.processor)
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
    narrowed = f"saturates={bool(writer.mode & OVERFLOW) and kind != 'bf16'}"
    call, format_name = writer.name(writer.observed(narrow_floats.narrowed)), writer.name(form)
    left = writer.vector(source, "f16" if match[7] else "f32", instruction, 0)
    left = f"({left}).astype('f4')" if match[7] else left
    if match[3] == "pk":
        right = writer.vector(second, "f32", instruction, 1)
        other = writer.name(writer.observed(narrow_floats.narrowed))
        pairs = (call, left), (other, right)
        low, high = (f"{each}({text}, {format_name}, {narrowed}).astype('u4')" for each, text in pairs)
        new = f"{low} | {high} << 8"
    else:
        noise = writer.vector(second, "u32", instruction, 1)
        new = f"{call}({left}, {format_name}, {narrowed}, noise={noise}).astype('u4')"
    _put(writer, f"v[{instruction.destinations[0].index}]", new, written)


def _write_conversion_of_halfs(writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    form = writer.name(narrow_floats.narrow_format(match[2] or match[3], writer.processor))
    read, written = converted_bits(instruction) or (0, 0)
    source, target = needed(instruction, "src0"), instruction.destinations[0]
    if source.kind is not OperandKind.VGPR or source.negated or source.absolute:
        raise UnknownInstruction(f"{instruction.mnemonic} of {source.text}")
    writer.write(f"y = {cell(source)} >> {_lowest(read)}")
    if match[3]:
        halves = (f"(y >> {at} & 0xffff).astype('u2').view('f2').astype('f4')" for at in (0, 16))
        saturates = bool(writer.mode & OVERFLOW)
        pairs = ((writer.name(writer.observed(narrow_floats.narrowed)), half) for half in halves)
        low, high = (f"{call}({half}, {form}, saturates={saturates}).astype('u4')" for call, half in pairs)
        _put(writer, cell(target), f"{low} | {high} << 8", written)
        return
    wide = writer.name(narrow_floats.widened)
    words = [f"{wide}(y >> {at} & 0xff, {form}).astype('f2').view('u2').astype('u4')" for at in (0, 8)]
    _put(writer, cell(target), f"{words[0]} | {words[1]} << 16" if match[1] else words[0], written)


def _write_scaled_conversion(writer: BlockWriter, instruction: GpuInstruction, scaled: ScaledConversion) -> None:
    """Write a conversion with a scale; the second source of one that rounds by chance is a random number."""
    (read, written), target = scaled.bits(instruction.modifiers.get("op_sel", 0)), instruction.destinations[0]
    sources = [each for number in range(3) if (each := instruction.operand(f"src{number}")) is not None]
    last = len(sources) - 1
    scale = f"{writer.name(scaled_numbers.power_of)}({writer.vector(sources[last], 'f32', instruction, last)})"
    ending = f"saturates={bool(writer.mode & OVERFLOW)}"
    if scaled.is_narrowing:
        if scaled.is_random and is_gfx12_5(writer.processor):
            raise UnknownInstruction(f"{instruction.mnemonic}: {SOURCES_DIFFER}: which random bits count")
        if scaled.is_random:
            ending += f", noise={writer.vector(sources[1], 'u32', instruction, 1)}"
        parts = ", ".join(_scaled_parts(writer, instruction, scaled, sources[: last - scaled.is_random]))
        form = writer.name(narrow_floats.narrow_format(scaled.target, writer.processor))
        ending += f", keeps_none={is_gfx12_5(writer.processor)}"
        narrowed = writer.name(writer.observed(scaled_numbers.narrowed_words))
        writer.write(f"z = {narrowed}([{parts}], {scale}, {form}, {ending})")
        for number in range(target.count):
            _put(writer, cell(target, number), f"z[{number}]", written)
        return
    words = ", ".join(f"{word} >> {_lowest(read)}" for word in _words(writer, sources[0], instruction, 0))
    widened = writer.name(scaled_numbers.widened_parts)
    writer.write(f"z = {widened}([{words}], '{scaled.source}', {scaled.count}, {scale})")
    if scaled.target == "f32":
        for number in range(scaled.count):
            part = evolve(target, index=target.index + number)
            writer.set_vector(part, f"z[{number}].astype('f4')", "f32", instruction)
        return
    made = writer.name(scaled_numbers.half_codes if scaled.target == "f16" else scaled_numbers.bf16_codes)
    tail = f", {ending}" if scaled.target == "f16" else ""
    writer.write(f"z = [{made}(each{tail}) for each in z]")
    for number in range(target.count):
        text = f"z[{number}]" if scaled.count == 1 else f"z[{2 * number}] | z[{2 * number + 1}] << 16"
        _put(writer, cell(target, number), text, written)


def _write_widening(writer: BlockWriter, instruction: GpuInstruction, match: re.Match[str]) -> None:
    """Write a conversion to wide numbers, times a power of two that a byte of the second source says."""
    count, target, kind = int(match[1]), match[2], match[3]
    chosen, first = instruction.modifiers.get("scale_sel", 0), needed(instruction, "src0")
    if first.kind is not OperandKind.VGPR or chosen not in ((0,) if kind[-1] == "8" else (0, 2)):
        # CDNA 5 ISA document, tables 36 and 37; the lowering of MLIR of LLVM 22 has these bits in the other order.
        raise UnknownInstruction(f"{instruction.mnemonic}: documents differ on what scale_sel:{chosen} says")
    scale = writer.vector(needed(instruction, "src1"), "u32", instruction, 1)
    scale = f"{writer.name(scaled_numbers.scales_of_lanes)}({scale}, {chosen}, {kind[-1] != '8'}, {writer.lanes})"
    words = ", ".join(_words(writer, first, instruction, 0))
    writer.write(f"z = {writer.name(scaled_numbers.widened_parts)}([{words}], '{kind}', {count}, {scale})")
    destination, saturates = instruction.destinations[0], bool(writer.mode & OVERFLOW)
    if target == "f32":
        for number in range(count):
            part = evolve(destination, index=destination.index + number)
            writer.set_vector(part, f"z[{number}].astype('f4')", "f32", instruction)
        return
    made = writer.name(scaled_numbers.half_codes if target == "f16" else scaled_numbers.bf16_codes)
    writer.write(f"z = [{made}(each, saturates={saturates}) for each in z]")
    for number in range(destination.count):
        writer.write_register(cell(destination, number), f"z[{2 * number}] | z[{2 * number + 1}] << 16")


def _words(writer: BlockWriter, operand: GpuOperand, instruction: GpuInstruction, position: int) -> list[str]:
    """Return the texts of the registers of a source."""
    if operand.count <= 1:
        return [_word(writer, operand, instruction, position)]
    if operand.kind not in (OperandKind.VGPR, OperandKind.AGPR):
        raise UnknownInstruction(f"{instruction.mnemonic} of {operand.text}")
    return [cell(operand, number) for number in range(operand.count)]


def _scaled_parts(
    writer: BlockWriter, instruction: GpuInstruction, scaled: ScaledConversion, sources: list[GpuOperand]
) -> list[str]:
    """Return the texts of the numbers that become narrow; those of two sources alternate."""
    is_single = scaled.source == "f32" and sources[0].count <= 1
    if is_single:
        return [writer.vector(each, "f32", instruction, at) for at, each in enumerate(sources)]
    if sources[0].negated or sources[0].absolute:
        raise UnknownInstruction(f"{instruction.mnemonic} of {sources[0].text}")
    columns = [_words(writer, each, instruction, at) for at, each in enumerate(sources)]
    words = [word for row in zip(*columns, strict=True) for word in row]
    if scaled.source == "f32":
        return [writer.flushed_source(f"{word}.view('f4')", "f4") for word in words]
    if scaled.count == 1 and instruction.modifiers.get("op_sel", 0) & 1:
        raise UnknownInstruction(f"{instruction.mnemonic} of the upper half of a source")
    halves = [f"{word} >> {at} & 0xffff" for word in words for at in (0, 16)][: scaled.count]
    return [f"{writer.name(scaled_numbers.WIDENED[scaled.source])}({half})" for half in halves]
