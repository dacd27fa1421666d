"""Straight code as one Python function: the text of operands and results, written once and then executed.

The text of a block sees these names: ``b`` the batch, ``v``, ``a`` and ``s`` its vector, accumulation and scalar
registers, ``m`` the flags of the executing lanes (None for all), and constants of the block.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from dwarfgpu.execution import batch as columns
from dwarfgpu.execution import lane_moves
from dwarfgpu.execution.barriers import GroupBarriers
from dwarfgpu.execution.batch import EXEC, EXEC_HI, FLAT_SCRATCH, M0, VCC, VCC_HI
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics import functions
from dwarfgpu.isa.semantics.floats import quieted
from dwarfgpu.isa.semantics.functions import merged
from dwarfgpu.isa.semantics.numbers import LOW, flag
from dwarfgpu.isa.semantics.rounding import direction, in_direction

LONGEST = 256
"""The instructions of a block."""
INDEX_ENABLE, INDEX_SHIFT = 1 << 27, 28
"""MODE, GPR_IDX_EN of GFX9; above it we keep which operands M0 counts for: the three sources and the destination."""
DX10_CLAMP, IEEE = 1 << 8, 1 << 9
"""MODE up to GFX11: a NaN that is clamped becomes 0; signalling NaNs become quiet ones."""
KINDS = {
    "b16": "u2", "u16": "u2", "i16": "i2", "f16": "f2", "b32": "u4", "u32": "u4", "i32": "i4", "f32": "f4",
    "b64": "u8", "u64": "u8", "i64": "i8", "f64": "f8",
}  # fmt: skip
"""The types of rows, as numpy writes them."""
BITS = {name: 8 * int(kind[1:]) for name, kind in KINDS.items()}
SPECIAL = {
    "vcc": VCC, "vcc_lo": VCC, "vcc_hi": VCC_HI, "m0": M0, "flat_scratch_lo": FLAT_SCRATCH,
    "flat_scratch_hi": FLAT_SCRATCH + 1, "flat_scratch": FLAT_SCRATCH,
}  # fmt: skip
"""Where special registers are among the scalar ones."""
_WITH_EXEC = SPECIAL | {"exec": EXEC, "exec_lo": EXEC, "exec_hi": EXEC_HI}

KEEPING = re.compile(
    r"v_(mad|mac|fma|fmac|madak|madmk|div_fixup|min3|max3|med3)_[fiu]16$|v_(add|sub)_i16$|v_ashr_pk_|v_cvt_sr_b?f16_"
)
"""Operations of 16 bits that keep the other half of their destination on GFX9, where most others write 0 there."""
CHOOSES = re.compile(r"v_(min|max|min3|max3|med3|minmax|maxmin)_f(16|32|64)$")
"""Operations that choose among floats: up to GFX11, MODE says what a signalling NaN does."""
_HIGH = np.uint64(32)
_SIGNS = {"f2": np.uint16(0x8000), "f4": np.uint32(0x80000000), "f8": np.uint64(1 << 63)}


def joined(wide: dict[int, Any], registers: list[Any], index: int) -> Any:
    """Return two vector registers as one number of 64 bits, which is remembered."""
    low, high = registers[index], registers[index + 1]
    known = wide.get(index)
    if known is not None and known[0] is low and known[1] is high:
        return known[2]
    whole = high.astype(np.uint64)
    whole <<= _HIGH
    if whole.size == 1:
        whole = low.astype(np.uint64) | whole if whole[0, 0] else low.astype(np.uint64)
    else:
        whole = np.bitwise_or(whole, low, out=whole if low.size <= whole.size else None)
    wide[index] = low, high, whole
    return whole


def put_long(wide: dict[int, Any], registers: list[Any], index: int, value: Any, mask: Any) -> None:
    """Write two vector registers in the executing lanes."""
    whole = value.view(np.uint64)
    low, high = whole.astype(np.uint32), _upper(whole)
    if mask is None:
        wide[index] = low, high, whole
    else:
        low = merged(mask, low, registers[index])
        high = merged(mask, high, registers[index + 1])
    registers[index], registers[index + 1] = low, high


def _upper(whole: Any) -> Any:
    """Return the upper words of numbers of 64 bits; as one if all are the same, which those of addresses often are."""
    if whole.size >= functions.MANY:
        highest = int(whole.max()) >> 32
        if int(whole.min()) >> 32 == highest:
            return columns.uniform(highest)
    return (whole >> _HIGH).astype(np.uint32)


def absolute(value: Any) -> Any:
    """Return a float without its sign."""
    kind = value.dtype.str[1:]
    return (value.view(f"u{kind[1]}") & ~_SIGNS[kind]).view(kind)


def negative(value: Any) -> Any:
    """Return a float with the other sign."""
    kind = value.dtype.str[1:]
    return (value.view(f"u{kind[1]}") ^ _SIGNS[kind]).view(kind)


def flushed(value: Any) -> Any:
    """Return floats with 0 for the denormal ones."""
    tiny = np.finfo(value.dtype).tiny
    small = np.abs(value) < tiny
    return np.where(small, np.copysign(value.dtype.type(0), value), value) if small.any() else value


def multiplied_result(value: Any, factor: Any) -> Any:
    """Return results after an output modifier: denormal ones are 0 before and after it, and -0 becomes +0."""
    return flushed(flushed(value) * factor) + value.dtype.type(0)


def clamped(value: Any) -> Any:
    """Return floats between 0 and 1; a NaN becomes 0."""
    kind = value.dtype.type
    return np.where(np.isnan(value), kind(0), np.clip(value, kind(0), kind(1)))


def clamped_numbers(value: Any) -> Any:
    """Return floats between 0 and 1, and NaNs."""
    return np.clip(value, value.dtype.type(0), value.dtype.type(1))


HELPERS = {
    "np": np, "clamped_numbers": clamped_numbers,
    "joined": joined, "put_long": put_long, "absolute": absolute, "negative": negative, "flushed": flushed,
    "clamped": clamped, "merged": merged, "uniform": columns.uniform, "flags": columns.lane_flags,
    "mask_of": columns.lane_mask, "private_base": columns.private_base, "number": columns.number_of, "flag": flag,
}  # fmt: skip


def cell(operand: GpuOperand, number: int = 0) -> str:
    """Return the text of a register of an operand, such as ``v[5]``."""
    return f"{'a' if operand.kind is OperandKind.AGPR else 'v'}[{operand.index + number}]"


def needed(instruction: GpuInstruction, *names: str) -> GpuOperand:
    """Return the first operand with one of some names."""
    for name in names:
        operand = instruction.operand(name)
        if operand is not None:
            return operand
    raise UnknownInstruction(f"{instruction.mnemonic} without {' or '.join(names)}")


class Clock:
    """Time for programs that ask for it: it goes on by the same amount with each question."""

    now = 0

    def read(self) -> int:
        """Return the time."""
        self.now += 100
        return self.now


@functools.lru_cache(8192)
def code_of(text: str, name: str = "<block>") -> CodeType:
    """Return Python's code of a text, which machines that run the same code share (a fifth of a run with a seed)."""
    return compile(text, name, "exec")


def register_of(operand: GpuOperand) -> int:
    """Return the number of the (first) scalar register of an operand, where EXEC is one."""
    if operand.kind is OperandKind.SGPR:
        return operand.index
    register = operand.register
    if register.startswith("ttmp"):
        return 108 + int(register[4:].strip("[").partition(":")[0].strip("]") or 0)
    if register in _WITH_EXEC:
        return _WITH_EXEC[register]
    raise UnknownInstruction(f"the register {register}")


class BlockWriter:
    """The text of a block, and the values that its names have."""

    def __init__(self, lanes: int, mode: int) -> None:
        self.lanes = lanes
        self.mode = mode
        self.clock = Clock()
        self.is_far_branch: Callable[[GpuInstruction, int], bool] = lambda _jump, _address: False
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(HELPERS)
        self.addresses: list[int] = []
        """The address of the instruction that each line is of."""
        self.address = 0
        self._constants: dict[tuple[str, int], str] = {}

    @functools.cached_property
    def barriers(self) -> GroupBarriers:
        """The barriers of the waves; a machine sets its own, since these take a third of a millisecond to make."""
        return GroupBarriers()

    def alike(self, address: int) -> BlockWriter:
        """Return a writer of other text for an instruction of the same waves."""
        other = BlockWriter(self.lanes, self.mode)
        other.processor, other.generation, other.address = self.processor, self.generation, address
        other.names_of_apertures, other.clock, other.barriers = self.names_of_apertures, self.clock, self.barriers
        return other

    # --- Text -----------------------------------------------------------------------------------------------------

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        self.addresses.append(self.address)

    def name(self, value: Any) -> str:
        """Return a name for a value."""
        known = self._constants.get(("object", id(value)))
        if known is None:
            known = f"k{len(self.names)}"
            self.names[known] = value
            self._constants["object", id(value)] = known
        return known

    def constant(self, number: int, kind: str) -> str:
        """Return a name for a number that all lanes have."""
        key = kind, number
        if key not in self._constants:
            self._constants[key] = self.name(columns.uniform(number & ((1 << 8 * int(kind[1:])) - 1), kind))
        return self._constants[key]

    def function(self) -> Any:
        """Return the block as a function of a batch."""
        body = "\n".join(f" {line}" for line in self.lines)
        text = f"def block(b):\n v = b.vector; a = b.accumulation; s = b.scalar; m = b.mask\n{body}\n"
        exec(code_of(text), self.names)  # noqa: S102 (the text is made here, from numbers)
        self.lines, self._constants = [], {}  # a check keeps the writer, but not what it has written
        return self.names["block"]

    # --- Scalars --------------------------------------------------------------------------------------------------

    def scalar(self, operand: GpuOperand, bits: int | None = None) -> str:
        """Return the text of a scalar source."""
        bits = bits or operand.bits or 32
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE):
            return str(operand.value & ((1 << bits) - 1))
        if operand.kind is OperandKind.SGPR:
            return self.sgpr(operand.index, bits)
        if operand.kind is not OperandKind.SPECIAL:
            raise UnknownInstruction(f"{operand.text} as a scalar operand")
        return self.special(operand.register, operand.index, bits)

    def sgpr(self, index: int, bits: int) -> str:
        """Return the text of scalar registers."""
        if bits <= 32:
            return f"s[{index}]"
        if bits == 64:
            return f"(s[{index}] | s[{index + 1}] << 32)"
        raise UnknownInstruction(f"a scalar operand of {bits} bits")

    def special(self, register: str, index: int, bits: int) -> str:  # noqa: PLR0911 (one for each register)
        """Return the text of a special register."""
        if register in ("exec", "exec_lo"):
            return "b.exec" if bits > 32 or self.lanes == 32 else f"(b.exec & {LOW})"
        if register == "exec_hi":
            return "(b.exec >> 32)" if self.lanes == 64 else f"s[{columns.EXEC_HI}]"
        if register in ("vcc", "vcc_lo"):
            if self.lanes == 32 and bits > 32:
                return f"(s[{VCC}] | s[{VCC_HI}] << 32)"
            return f"s[{VCC}]" if bits > 32 or self.lanes == 32 else f"(s[{VCC}] & {LOW})"
        if register == "vcc_hi":
            return f"(s[{VCC}] >> 32)" if self.lanes == 64 else f"s[{VCC_HI}]"
        if register == "null":
            return "0"
        if register in ("scc", "src_scc"):
            return "b.scc"
        if register in ("vccz", "src_vccz"):
            return f"flag(s[{VCC}] == 0)"
        if register in ("execz", "src_execz"):
            return "flag(b.exec == 0)"
        if register.startswith("ttmp"):
            return self.sgpr(108 + int(register[4:].strip("[").partition(":")[0].strip("]") or 0), bits)
        if register.startswith("src_flat_scratch_base"):
            whole = f"private_base(b, {self.names_of_apertures['src_private_base']})"
            return whole if bits > 32 else f"({whole} >> 32)" if register.endswith("hi") else f"({whole} & {LOW})"
        if register in self.names_of_apertures:
            return str(self.names_of_apertures[register] & (1 << bits) - 1)
        if register in SPECIAL:
            at = SPECIAL[register]
            return f"s[{at}]" if bits <= 32 else f"(s[{at}] | s[{at + 1}] << 32)"
        raise UnknownInstruction(f"the register {register}")

    names_of_apertures: dict[str, int] = {}  # noqa: RUF012 (set once for a machine)

    def set_scalar(self, operand: GpuOperand, text: str, bits: int | None = None) -> None:
        bits = bits or operand.bits
        if operand.kind is OperandKind.SGPR:
            self.set_sgpr(operand.index, text, bits)
            return
        register = operand.register
        if register in ("exec", "exec_lo", "exec_hi"):
            if register == "exec_hi" and self.lanes == 32:
                self.write(f"s[{columns.EXEC_HI}] = {text}")
                return
            if bits <= 32 and self.lanes == 64:
                kept = f"b.exec & {LOW << 32}" if register == "exec_lo" else f"b.exec & {LOW}"
                text = f"{kept} | ({text})" + (" << 32" if register == "exec_hi" else "")
            text = f"({text}) & {LOW}" if self.lanes == 32 else text
            self.write(f"b.set_exec({text}); m = b.mask")
        elif register in ("vcc", "vcc_lo", "vcc_hi"):
            if self.lanes == 32 and bits > 32:
                self.write(f"x = {text}; s[{VCC}] = x & {LOW}; s[{VCC_HI}] = x >> 32")
            elif bits > 32 or (self.lanes == 32 and register != "vcc_hi"):
                self.write(f"s[{VCC}] = {text}")
            elif self.lanes == 32:
                self.write(f"s[{VCC_HI}] = {text}")
            elif register == "vcc_hi":
                self.write(f"s[{VCC}] = s[{VCC}] & {LOW} | ({text}) << 32")
            else:
                self.write(f"s[{VCC}] = s[{VCC}] & {LOW << 32} | ({text})")
        elif register == "null":
            self.write(text)
        elif register.startswith("ttmp"):
            self.set_sgpr(108 + int(register[4:]), text, bits)
        elif register in SPECIAL:
            self.set_sgpr(SPECIAL[register], text, bits)
        else:
            raise UnknownInstruction(f"the register {register} as a result")

    def set_sgpr(self, index: int, text: str, bits: int) -> None:
        """Write scalar registers."""
        if bits <= 32:
            self.write(f"s[{index}] = {text}")
        else:
            self.write(f"x = {text}; s[{index}] = x & {LOW}; s[{index + 1}] = x >> 32")

    # --- Vectors --------------------------------------------------------------------------------------------------

    def vector(self, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int) -> str:
        """Return the text of a source of a vector operation, as an array of a type."""
        if kind == "mask":
            return f"flags({self.scalar(operand, self.lanes)}, {self.lanes})"
        numpy_kind = KINDS[kind]
        text = self._source(operand, numpy_kind, instruction, position)
        if operand.absolute or operand.negated:
            is_float = numpy_kind[0] == "f"
            if not is_float:
                text = f"{text}.view('f{numpy_kind[1]}')"
            if operand.absolute:
                text = f"absolute({text})"
            if operand.negated:
                text = f"negative({text})"
            if not is_float:
                text = f"{text}.view('{numpy_kind}')"
        return self.flushed_source(text, numpy_kind)

    def operation(self, name: str, function: Any, kind: str) -> str:
        """Return a name for an operation with results of a type, as MODE rounds them."""
        rounded = in_direction(name, function, kind, self.mode)
        if rounded is None:
            way = ("", "up", "down", "to zero")[direction(self.mode, kind)]
            raise UnknownInstruction(f"{name} rounded {way}")
        if self.mode & IEEE and self.generation <= 11 and CHOOSES.match(name):
            rounded = quieted(rounded)
        return self.name(self.observed(rounded))

    @staticmethod
    def observed(function: Any) -> Any:
        """Return a function of floats; a check puts another one in its place, that looks at operands and results."""
        return function

    def denormals(self, numpy_kind: str) -> int:
        """Return MODE.FP_DENORM of a type of floats: bit 0 keeps denormal sources, bit 1 denormal results."""
        return self.mode >> (4 if numpy_kind == "f4" else 6) & 3

    def flushed_source(self, text: str, numpy_kind: str) -> str:
        """Return a source, in which denormal floats are 0 if MODE says so."""
        return text if numpy_kind[0] != "f" or self.denormals(numpy_kind) & 1 else f"flushed({text})"

    def _source(self, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int) -> str:
        size = int(kind[1])
        is_constant = operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL)
        is_part = lane_moves.part_of(instruction, position) != lane_moves.DWORD
        if is_constant and is_part:
            raise UnknownInstruction(f"{instruction.mnemonic} of a part of {operand.text}")
        if is_constant:
            return self.constant(bits_of_constant(operand, size), kind)
        if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
            text = self.scalar(operand, 64 if size == 8 else 32)
            if is_part:
                text = self.rearranged(f"uniform({text}, 'u4')", operand, instruction, position)
                return _viewed(f"{text}.astype('u{size}')", kind, f"u{size}")
            if size == 2:
                shift = 16 if self.is_high(operand, instruction, position) else 0
                text = f"({text} >> {shift} & 0xffff)"
            return f"uniform({text}, '{kind}')"
        if operand.kind not in (OperandKind.VGPR, OperandKind.AGPR):
            raise UnknownInstruction(f"{operand.text} as a vector operand")
        word = cell(operand)
        if self.is_indexed(position) and word[0] == "v":
            if size == 8:
                raise UnknownInstruction(f"{instruction.mnemonic} of 64 bits with a register by number")
            word = f"{self.name(lane_moves.read_relative)}(v, {operand.index}, s[{M0}] & 0xff)"
        elif size == 8:
            return _viewed(f"joined(b.wide_{word[0]}, {word[0]}, {operand.index})", kind, "u8")
        word = self.rearranged(word, operand, instruction, position)
        if size == 4:
            if operand.half is not None:
                word = f"({word} >> 16)" if operand.half else f"({word} & 0xffff)"
            return _viewed(word, kind, "u4")
        if self.is_high(operand, instruction, position):
            word = f"({word} >> 16)"
        return _viewed(f"{word}.astype('u2')", kind, "u2")

    def is_indexed(self, position: int) -> bool:
        """Return whether M0 counts for a source, or for the destination (3), of vector operations now."""
        return bool(self.mode & INDEX_ENABLE and position >= 0 and self.mode >> INDEX_SHIFT + position & 1)

    def part(self, operand: GpuOperand, kind: str, *, is_high: bool) -> str:
        """Return the text of the low or the high part of a source of a packed operation."""
        size = BITS[kind] // 8
        numpy_kind = KINDS[kind]
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL):
            number = bits_of_constant(operand, size) if numpy_kind == "f2" else operand.value
            return self.constant(number >> (8 * size if is_high else 0), numpy_kind)
        if operand.kind in (OperandKind.VGPR, OperandKind.AGPR):
            if size == 4:
                return _viewed(cell(operand, is_high), numpy_kind, "u4")
            word = f"({cell(operand)} >> 16)" if is_high else cell(operand)
            return _viewed(f"{word}.astype('u2')", numpy_kind, "u2")
        text = self.scalar(operand, operand.bits or 32)
        shift = 8 * size if is_high else 0
        return f"uniform({text} >> {shift} & {(1 << 8 * size) - 1}, '{numpy_kind}')"

    def is_high(self, operand: GpuOperand, instruction: GpuInstruction, position: int) -> bool:
        if operand.half is not None:
            return operand.half == 1
        if position < 0:  # the destination, which is a source too
            position = 3
        return bool(instruction.modifiers.get("op_sel", 0) >> position & 1) and instruction.variant != "sdwa"

    def rearranged(self, word: str, operand: GpuOperand, instruction: GpuInstruction, position: int) -> str:
        """Return a source after SDWA or DPP."""
        variant, modifiers = instruction.variant, instruction.modifiers
        if (lane := lane_moves.PARAMETER_LANES.get((instruction.name[:12], position))) is not None:
            return f"{self.name(lane_moves.of_quads)}({word}, {lane})"
        selection = lane_moves.part_of(instruction, position)
        if selection != lane_moves.DWORD:
            return lane_moves.part_text(word, selection, is_signed=operand.sign_extended)
        if variant in ("dpp", "dpp8") and position == 0:
            if variant == "dpp":
                control = modifiers.get("dpp_ctrl", 0)
                written = dict(instruction.form.writers)["dpp_ctrl"](control, modifiers)
                if "/*" in written:  # a control that other processors have
                    raise UnknownInstruction(f"{instruction.mnemonic}: {written.strip(' /*')}")
                source, valid = lane_moves.dpp_sources(control, self.lanes)
                enabled = lane_moves.dpp_enabled(
                    modifiers.get("row_mask", 0), modifiers.get("bank_mask", 0), self.lanes
                )
            else:
                source, valid = lane_moves.dpp8_sources(modifiers.get("dpp8", 0), self.lanes)
                enabled = valid
            names = ", ".join(self.name(value) for value in (source, valid, enabled))
            is_bounded = variant == "dpp8" or bool(modifiers.get("bound_ctrl"))
            flags = f"fetches_inactive={bool(modifiers.get('fi'))}, is_bounded={is_bounded}"
            self.write(f"q, w = {self.name(lane_moves.moved)}(b, {word}, {names}, {flags})")
            self.write_mask = "w"
            return "q"
        return word

    write_mask = "m"
    """The name of the flags of the lanes that the present instruction writes."""

    def set_vector(
        self, operand: GpuOperand, text: str, kind: str, instruction: GpuInstruction, *, clamps: bool = True
    ) -> None:
        """Write a result of a vector operation in the executing lanes; an integer has been clamped if it is to be."""
        if kind == "mask":
            self.set_scalar(operand, f"mask_of({text}, b)", self.lanes)
            return
        numpy_kind = KINDS[kind]
        if numpy_kind[0] == "f":
            text = self.float_result(text, kind, instruction)
        elif clamps and instruction.modifiers.get("clamp") and kind not in ("b32", "b64", "b16"):
            raise UnknownInstruction(f"{instruction.mnemonic} with clamp")
        register, size = cell(operand), int(numpy_kind[1])
        if size == 8:
            file = register[0]
            self.write(f"put_long(b.wide_{file}, {file}, {operand.index}, {text}, {self.write_mask})")
            return
        text = _viewed(f"({text})", f"u{size}", numpy_kind)
        if size == 2 or operand.half is not None:
            text = self._half_result(text, register, operand, instruction)
        if instruction.variant == "sdwa" and instruction.modifiers.get("dst_sel", lane_moves.DWORD) != lane_moves.DWORD:
            selection, unused = instruction.modifiers["dst_sel"], instruction.modifiers.get("dst_unused", 0)
            lane_moves.bits_of_part(selection)
            text = f"{self.name(lane_moves.merged_part)}({register}, {text}, {selection}, {unused})"
        self.write_register(register, text)

    def write_register(self, register: str, text: str) -> None:
        """Write a register of 32 bits in the lanes that the instruction writes."""
        mask = self.write_mask
        if self.is_indexed(3) and register[0] == "v":
            index = register[2:-1]
            self.write(f"{self.name(lane_moves.write_relative)}(v, {index}, s[{M0}] & 0xff, {text}, {mask})")
            return
        self.write(f"x = {text}")
        self.write(f"{register} = x if {mask} is None else merged({mask}, x, {register})")

    def keep(self, register: str, text: str) -> None:
        """Write a register of 32 bits in the executing lanes."""
        self.write(f"y = {text}")
        self.write(f"{register} = y if m is None else merged(m, y, {register})")

    processor = ""
    generation = 9
    """The processor that the block is for, and the major number of its generation."""

    def _half_result(self, text: str, old: str, operand: GpuOperand, instruction: GpuInstruction) -> str:
        is_high = operand.half == 1 or bool(instruction.modifiers.get("op_sel", 0) >> 3 & 1)
        if is_high:
            return f"{text}.astype('u4') << 16 | {old} & 0xffff"
        keeps = operand.half is not None or self.generation >= 10 or "op_sel" in instruction.modifiers
        keeps = keeps or (self.generation == 9 and bool(KEEPING.match(instruction.name)))
        return f"{text}.astype('u4') | {old} & 0xffff0000" if keeps else f"{text}.astype('u4')"

    def float_result(self, text: str, kind: str, instruction: GpuInstruction) -> str:
        """Return a float result after the output modifiers and what MODE says of denormal numbers.

        Output modifiers are ignored where denormal results are kept, and where MODE.IEEE is set (ISA documents, "Output
        Modifiers"; GFX12 has no such bit).
        """
        kind = KINDS[kind]
        if kind[0] != "f":
            return text
        omod = instruction.modifiers.get("omod", 0)
        if not self.denormals(kind) & 2:
            if omod and not (self.mode & IEEE and self.generation <= 11):
                factor = self.name(np.dtype(kind).type((1, 2, 4, 0.5)[omod]))
                text = f"{self.name(multiplied_result)}({text}, {factor})"
            else:
                text = f"flushed({text})"
        if not instruction.modifiers.get("clamp"):
            return text
        keeps_nans = self.generation <= 11 and not self.mode & DX10_CLAMP
        return f"clamped_numbers({text})" if keeps_nans else f"clamped({text})"


def _viewed(text: str, kind: str, have: str) -> str:
    return text if kind == have else f"{text}.view('{kind}')"


def constant_bits(operand: GpuOperand, kind: str) -> int:
    """Return the bits of a constant in a float type; the tables expand it for one of the two types only."""
    text = re.sub(r"neg\(|[-|)]", "", operand.text) if operand.negated or operand.absolute else operand.text
    if "." not in text:
        return int(text, 0) & (0xFFFF if kind == "f2" else 0xFFFFFFFF)
    return int(np.dtype(kind).type(text).view(f"u{kind[1]}"))


def bits_of_constant(operand: GpuOperand, size: int) -> int:
    """Return the bits of a constant in an operation on numbers of some bytes.

    The operands of operations on halfs are in the tables of GFX9 as operands of 32 bits where they have modifiers.
    """
    is_half = size == 2 and operand.kind is OperandKind.CONSTANT and operand.bits == 32 and "." in operand.text
    return constant_bits(operand, "f2") if is_half else operand.value
