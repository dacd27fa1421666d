"""What becomes of undefined bits when an instruction is executed, as a function of a batch for each instruction.

A batch has the undefined bits of its registers as another batch. The text that fetches operands and puts results into
registers is the same for both: DPP, SDWA, halves and pairs move undefined bits as they move values. So a function here
is the text of `BlockWriter`, first for the values of the operands, then for their undefined bits; between them is what
`dwarfgpu.isa.semantics.undefined_bits` says of the formula. Its names are those of a block, and ``z``, ``uv``, ``ua``
and ``us`` for the undefined bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dwarfgpu.execution import instructions, lane_moves
from dwarfgpu.execution.batch import M0, number_of
from dwarfgpu.execution.block_writer import BITS, KINDS, BlockWriter, cell, code_of, needed
from dwarfgpu.execution.checks.touched_cells import NO_BITS
from dwarfgpu.execution.checks.undefined_registers import UNDEFINED, FollowedBits
from dwarfgpu.execution.narrow_operations import element_bits, write_narrow
from dwarfgpu.immutable import evolve
from dwarfgpu.isa.formulas import single_name
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, OperandKind
from dwarfgpu.isa.semantics.narrow_floats import codes_of, words_of
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import MEANINGS, InstructionMeaning, meaning_of, meaning_of_half
from dwarfgpu.isa.semantics.undefined_bits import undefined_results

Lanes = Any
_M0 = re.compile(rf"\bs\[{M0}\]")
_INDEX = re.compile(rf"\bs\[{M0}\](?= & 0xff\b)")
"""M0 where it counts registers."""
MOVES = frozenset((
    "v_swap_b32", "v_swap_b16", "v_permlane16_swap_b32", "v_permlane32_swap_b32", "ds_swizzle_b32",
    "v_permlane64_b32", "v_movrels_b32", "v_movreld_b32",
    "v_movrelsd_b32", "v_movrelsd_2_b32", "v_swaprel_b32", "s_movrels_b32", "s_movrels_b64", "s_movreld_b32",
    "s_movreld_b64", "s_movrelsd_2_b32", "v_readfirstlane_b32",
))  # fmt: skip
"""Operations that move bits and do nothing else; M0 counts registers."""
_RELATIVE = re.compile("mov?rel|swaprel")


class UndefinedWriter(BlockWriter):
    """Writes the text that fetches and puts undefined bits; constants have none."""

    def __init__(self, model: BlockWriter) -> None:
        super().__init__(model.lanes, model.mode)
        self.processor, self.generation = model.processor, model.generation
        self.names_of_apertures = dict.fromkeys(model.names_of_apertures, 0)
        self.address, self.barriers = model.address, model.barriers

    def constant(self, _number: int, kind: str) -> str:
        return super().constant(0, kind)

    def scalar(self, operand: GpuOperand, bits: int | None = None) -> str:
        is_constant = operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE)
        return "0" if is_constant else super().scalar(operand, bits)

    def special(self, register: str, index: int, bits: int) -> str:
        return "0" if register in NO_BITS else super().special(register, index, bits)

    def set_scalar(self, operand: GpuOperand, text: str, bits: int | None = None) -> None:
        if operand.register in ("exec", "exec_lo", "exec_hi"):
            self.write(f"exec_is(B, {text})")
        elif operand.register != "null":
            super().set_scalar(operand, text, bits)

    def vector(self, operand: GpuOperand, kind: str, instruction: GpuInstruction, position: int) -> str:
        plain = evolve(operand, negated=False, absolute=False) if operand.negated or operand.absolute else operand
        unsigned = kind if kind == "mask" else f"b{BITS[kind]}"
        return super().vector(plain, unsigned, instruction, position)

    def flushed_source(self, text: str, _numpy_kind: str) -> str:
        return text

    def float_result(self, text: str, _kind: str, _instruction: GpuInstruction) -> str:
        return text

    def operation(self, _name: str, _function: Any, kind: str) -> str:
        return self.name(_TAINTED[KINDS[kind][1]])

    def name(self, value: Any) -> str:
        known = self._constants.get(("object", id(value)))
        if known is None:
            known = self._constants["object", id(value)] = f"u{len(self.names)}"
            self.names[known] = value
        return known


def _same(value: Any) -> Any:
    return value


def _tainted(size: str) -> Callable[..., Lanes]:
    def run(*parts: Lanes) -> Lanes:
        flags = parts[0].view(f"u{parts[0].dtype.itemsize}") != 0
        for part in parts[1:]:
            flags = flags | (part.view(f"u{part.dtype.itemsize}") != 0)
        return np.negative(flags.astype(f"i{size}")).view(f"u{size}")

    return run


_TAINTED = {size: _tainted(size) for size in "248"}
"""All bits of a result if any bit of an operand is undefined, by the bytes of the result."""


def compiled(lines: list[str], names: dict[str, Any], followed: FollowedBits) -> Callable[[Any], None]:
    """Return lines as a function of a batch, in which `followed_of` returns the bits of a check."""
    body = "\n".join(f" {line}" for line in lines)
    names["followed_of"] = followed.of
    exec(code_of(f"def propagate(b):\n{body}\n", "<undefined>"), names)  # noqa: S102 (the text is made here)
    made: Callable[[Any], None] = names["propagate"]
    return made


def in_any_lane(bits: Lanes, mask: Lanes) -> Lanes:
    """Return the bits that any executing lane has, for all lanes."""
    return np.bitwise_or.reduce(bits if mask is None else bits * mask, axis=1, keepdims=True)


def column(number: Any, kind: str) -> Lanes:
    """Return a scalar number as a column."""
    array = np.array([[number]], np.uint64) if isinstance(number, int) else number.astype(np.uint64)
    return array != 0 if kind == "bool" else array.astype(f"u{kind[1:]}").view(kind)


def as_number(value: Lanes) -> Any:
    """Return a column as a scalar number."""
    return number_of(np.atleast_2d(value).astype(np.uint64))


def undefined_elements(words: list[Lanes], rest: Lanes, count: int, source_bits: int, target_bits: int) -> list[Lanes]:
    """Return the undefined bits of converted elements.

    All bits of an element are undefined if one bit of its source is, or one of an operand that all elements need.
    """
    codes = codes_of(np.stack(np.broadcast_arrays(*words), axis=-1), source_bits)[..., :count]
    flags = (codes != 0) | (rest != 0)[..., None]
    kind = np.dtype(f"u{max(target_bits // 8, 1)}").type
    made = words_of(np.where(flags, kind((1 << target_bits) - 1), kind(0)), target_bits)
    return [made[..., number] for number in range(made.shape[-1])]


class PropagationWriter:
    """Writes the function of one instruction."""

    def __init__(self, model: BlockWriter, instruction: GpuInstruction) -> None:
        self.model = model
        self.instruction = instruction
        self.values = model.alike(model.address)
        self.bits = UndefinedWriter(model)
        self.before: list[str] = []
        """The lines in which ``v``, ``a`` and ``s`` are the real registers."""

    def function(self, exec_is: Callable[..., None], followed: FollowedBits) -> Callable[[Any], None]:
        """Return the function, which is told of undefined bits of EXEC by the text that sets them."""
        names = self.values.names | self.bits.names
        names |= {"exec_is": exec_is, "column": column, "as_number": as_number}
        index = _M0 if self.is_relative else _INDEX
        lines = [
            "v = b.vector; a = b.accumulation; s = S = b.scalar; m = b.mask; V = v; B = b; z = followed_of(b)",
            *self.values.lines,
            *self.before,
            "z.mask = m; b = z; v = uv = z.vector; a = ua = z.accumulation; s = us = z.scalar",
            *(index.sub(f"S[{M0}]", line) for line in self.bits.lines),
        ]
        return compiled(lines, names, followed)

    is_relative = False

    # --- Formulas -------------------------------------------------------------------------------------------------

    def write(self) -> bool:
        """Write what is known of the instruction; return False if nothing is, so that all results are tainted."""
        instruction, name = self.instruction, self.instruction.name
        if name in MOVES:
            self.is_relative = bool(_RELATIVE.search(name))
            instructions.SPECIAL_FORMS[name](self.bits, instruction)
            return True
        special = _SPECIAL.get(name)
        if special is not None:
            special(self)
            return True
        if instruction.components:
            results = list[str]()
            for number, part in enumerate(instruction.components):
                meaning = meaning_of_half(part)
                if meaning is None:
                    return False
                results.append(meaning.results[0])
                self._evaluate(part, meaning, f"e{number}")
            for number, part in enumerate(instruction.components):
                self.bits.set_vector(
                    part.destinations[0], f"e{number}[0]", f"b{BITS[results[number]]}", part, clamps=False
                )
            return True
        if (elements := element_bits(name)) is not None:
            self._elements(*elements)
            return True
        if name.startswith("v_pk_"):
            self.bits.names |= {"absolute": _same, "negative": _same}
            return MEANINGS.get(single_name(name)) is not None and write_narrow(self.bits, instruction)
        if "_mix" in name or (name.startswith("v_dot") and instruction.encoding == "VOP3P"):
            return False
        meaning = meaning_of(instruction, self.model.generation)
        if meaning is None:
            return False
        (self._vector if meaning.unit == "vector" else self._scalar)(meaning)
        return True

    def _evaluate(self, instruction: GpuInstruction, meaning: InstructionMeaning, result: str) -> None:
        """Write the undefined bits of the results of a vector operation as a list with a name."""
        values = instructions.source_texts(self.values, instruction, meaning)
        given = f"values_{result}"
        self.values.write(f"{given} = ({', '.join(values)},)")
        texts = instructions.source_texts(self.bits, instruction, meaning)
        kinds = [BITS.get(kind) for kind in meaning.sources]
        texts = [
            f"({text}).view('u{bits // 8}')" if bits else f"({text})" for text, bits in zip(texts, kinds, strict=True)
        ]
        evaluate = self.bits.name(undefined_results)
        self.bits.write(f"{result} = {evaluate}({self.bits.name(meaning.formula)}, {given}, ({', '.join(texts)},))")
        if {"clamp", "omod"} & instruction.modifiers.keys() and meaning.results[0] in KINDS:
            size = KINDS[meaning.results[0]][1]
            self.bits.write(f"{result}[0] = {self.bits.name(_TAINTED[size])}({', '.join(texts)})")

    def _vector(self, meaning: InstructionMeaning) -> None:
        instruction = self.instruction
        self._evaluate(instruction, meaning, "e")
        destinations = instruction.destinations
        if instruction.name.startswith("v_cmpx"):
            self.bits.write("r = mask_of(e[0], b)")
            for operand in destinations:
                if not operand.register.startswith("exec"):
                    self.bits.set_scalar(operand, "r", self.model.lanes)
            self.bits.write("exec_is(B, r)")
            return
        for number, (kind, operand) in enumerate(zip(meaning.results, destinations, strict=False)):
            unsigned = kind if kind == "mask" else f"b{BITS[kind]}"
            self.bits.set_vector(operand, f"e[{number}]", unsigned, instruction, clamps=False)

    def _scalar(self, meaning: InstructionMeaning) -> None:
        instruction = self.instruction
        values, texts = [], []
        for kind, position in zip(meaning.sources, _positions(meaning.sources), strict=True):
            if kind == "scc":
                values.append("column(b.scc, 'bool')")
                texts.append("column(b.scc, 'bool')")
                continue
            if kind == "exec":
                wide = meaning.formula.type_of(kind)
                values.append(f"column(b.exec, '{KINDS[wide]}')")
                texts.append(f"column(0, '{KINDS[wide]}')")
                continue
            operand, wide = instruction.sources[position], KINDS[kind]
            bits = 8 * int(wide[1])
            values.append(f"column({self.values.scalar(operand, bits)}, '{wide}')")
            texts.append(f"column({self.bits.scalar(operand, bits)}, 'u{wide[1]}')")
        self.before.append(f"values = ({', '.join(values)},)")
        evaluate = self.bits.name(undefined_results)
        self.bits.write(f"e = {evaluate}({self.bits.name(meaning.formula)}, values, ({', '.join(texts)},))")
        kinds = [kind for kind in meaning.results if kind != "nonzero"]
        kinds += ["scc"] * (len(meaning.results) - len(kinds))
        destinations = iter(instruction.destinations)
        for number, kind in enumerate(kinds):
            if kind == "scc":
                self.bits.write(f"b.scc = as_number(e[{number}])")
            elif kind == "exec":
                self.bits.write(f"exec_is(B, as_number(e[{number}]))")
            else:
                bits = max(BITS[kind], 32)
                self.bits.set_scalar(next(destinations), f"as_number(e[{number}])", bits)

    def _elements(self, count: int, source_bits: int, target_bits: int) -> None:
        """Write a conversion of elements that are packed in registers: each makes one element of the result."""
        instruction, target = self.instruction, self.instruction.destinations[0]
        first, *others = (each for number in range(3) if (each := instruction.operand(f"src{number}")) is not None)
        words = ", ".join(cell(first, number) for number in range(max(first.count, 1)))
        rest = " | ".join(self.bits.vector(each, "b32", instruction, at) for at, each in enumerate(others, 1))
        made = self.bits.name(undefined_elements)
        self.bits.write(f"e = {made}([{words}], {rest}, {count}, {source_bits}, {target_bits})")
        for number in range(max(target.count, 1)):
            self.bits.write_register(cell(target, number), f"e[{number}]")

    # --- Lanes of other lanes -------------------------------------------------------------------------------------

    def read_lane(self) -> None:
        """Write v_readlane; the number of the lane is the real one."""
        register, lane = self.instruction.sources
        read, lanes = self.bits.name(instructions.read_lane), self.model.lanes
        text = f"{read}({cell(register)}, lane, b.count, {lanes}) if not {self._flag(lane)} else {LOW}"
        self.before.append(f"lane = {self.values.scalar(lane)}")
        self.bits.set_scalar(self.instruction.destinations[0], text, 32)

    def _flag(self, operand: GpuOperand) -> str:
        """Return the text of whether a scalar number has an undefined bit in a wave."""
        return f"np.any({self.bits.scalar(operand)})"

    def write_lane(self) -> None:
        """Write v_writelane; the number of the lane is the real one."""
        target, value, lane = self.instruction.sources
        self.before.append(f"lane = {self.values.scalar(lane)}")
        write, lanes = self.bits.name(instructions.write_lane), self.model.lanes
        register = cell(target)
        text = f"{write}({register}, {self.bits.scalar(value)}, lane, b.count, {lanes})"
        self.bits.write(f"{register} = {text} if not {self._flag(lane)} else {self.bits.name(UNDEFINED)}")

    def permuted(self) -> None:
        """Write ds_permute and ds_bpermute: the address is the real one; what an undefined one chooses is undefined."""
        instruction, name = self.instruction, self.instruction.name
        function = {"ds_permute_b32": lane_moves.pushed, "ds_bpermute_b32": lane_moves.pulled}
        move = self.bits.name(function.get(name, lane_moves.pulled_from_all))
        address, data, target = (cell(needed(instruction, each)) for each in ("addr", "data0", "vdst"))
        span = 32 if self.model.generation >= 10 else self.model.lanes
        offset = instruction.modifiers.get("offset", 0)
        text = f"{move}(b, V{address[1:]} + {offset}, {data}, {span})"
        unsure = f"{self.bits.name(_TAINTED['4'])}({address})"
        if name == "ds_permute_b32":  # one that gives its number to an undefined lane may give it to any
            unsure = f"{self.bits.name(in_any_lane)}({unsure}, m)"
        self.bits.write_register(target, f"{text} | {unsure}")

    def row_permuted(self) -> None:
        """Write the permutations within rows of 16 lanes; the numbers of lanes are the real ones."""
        instruction, target = self.instruction, self.instruction.destinations[0]
        source, *chosen = [operand for operand in instruction.operands if operand is not target][:3]
        selection = instruction.modifiers.get("op_sel", 0)
        permute = self.bits.name(
            partial(
                lane_moves.permuted, crosses="permlanex" in instruction.name, fetches_inactive=bool(selection & 1),
                is_bounded=bool(selection & 2),
            )
        )  # fmt: skip
        numbers = f"V{cell(chosen[0])[1:]}"
        if "_var_" not in instruction.name:
            row = self.values.name(lane_moves.numbers_of_row)
            self.before.append(f"numbers = {row}(b, {', '.join(map(self.values.scalar, chosen))})")
            numbers = "numbers"
        register = cell(target)
        self.bits.write_register(register, f"{permute}(b, {cell(source)}, {numbers}, {register})")


def _positions(kinds: tuple[str, ...]) -> list[int]:
    """Return which operand each source is; SCC and EXEC are none."""
    found, number = [], 0
    for kind in kinds:
        found.append(number)
        number += kind not in ("scc", "exec")
    return found


_SPECIAL: dict[str, Callable[[PropagationWriter], None]] = {
    "v_readlane_b32": PropagationWriter.read_lane,
    "v_writelane_b32": PropagationWriter.write_lane,
    **dict.fromkeys(
        ("v_permlane16_b32", "v_permlanex16_b32", "v_permlane16_var_b32", "v_permlanex16_var_b32"),
        PropagationWriter.row_permuted,
    ),
    **dict.fromkeys(("ds_permute_b32", "ds_bpermute_b32", "ds_bpermute_fi_b32"), PropagationWriter.permuted),
}  # fmt: skip
