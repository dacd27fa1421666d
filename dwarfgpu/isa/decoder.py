"""Decoding of instructions: from bytes to operands and modifiers.

The formats say where the fields are, the rows of the tables which fields an opcode has and how each is read. A row is compiled when it is
first met; operands are made once for each value of a field and then shared.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu.isa.codes import ACCUMULATION, HIGH_HALF, LITERAL, VECTOR, CodeBook, CodeKind
from dwarfgpu.isa.formats import Format, Pieces, bits_of, extract, formats
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand, InstructionForm, OperandKind, OperandRole
from dwarfgpu.isa.modifiers import ALIASES, Writer, writer_of
from dwarfgpu.isa.names import IMMEDIATES
from dwarfgpu.isa.tables import OpcodeTable, OperandSpec, generation, table

if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")
DESTINATIONS = {"vdst", "sdst", "vdstx", "vdsty"}
ROLES = {">": OperandRole.DST, "<": OperandRole.SRC, "*": OperandRole.DST_SRC}

NEGATED, ABSOLUTE, EXTENDED, HALF, ACCUMULATED, WIDENED, OFFSET_ENABLED, INDEX_ENABLED = (1 << bit for bit in range(12, 20))
"""Marks of a field's value: bits elsewhere in the instruction that change the operand."""
CODE = NEGATED - 1
NOTHING = 209
"""A code that names nothing."""
SIZE_SHIFT = 20
"""Where the format of a matrix is, in the value of a field of a source whose width depends on it."""
SIZES = {2: 192, 3: 192, 4: 128}
"""The bits of matrices of 6-bit and 4-bit floats."""
WORDS = 12
"""The bytes of the longest instruction without a literal or further addresses."""
INVALID = InstructionForm(".long", ".long", "", "", 0)
"""The form of what is not an instruction."""

POSITIONS = {"src0": 0, "src1": 1, "vsrc1": 1, "src2": 2, "vdst": 3, "vdata": 3, "data": 3, "data0": 0, "data1": 1}
"""Which of the numbered bits belong to an operand: neg0 to neg2 to the sources, sel3 to the destination."""


def has_literals(layout: Format, has_long: bool) -> bool:
    """Return whether a literal can follow an instruction."""
    return layout.size == 4 or has_long


def is_scalar(code: int) -> bool:
    """Return whether the code of a source can only be a scalar register."""
    return code < 128 or 209 <= code <= 239 or 249 <= code <= 254


class OperandPlan:
    """How one operand of a row is made."""

    def __init__(self, spec: OperandSpec, pieces: Pieces, marks: tuple[tuple[int, int], ...], decoder: Decoder) -> None:
        self.spec = spec
        self.name = spec.name.rstrip("_")
        self.pieces = pieces
        self.is_simple = len(pieces) == 1
        self.shift = pieces[0][0] if pieces else 0
        self.mask = (1 << pieces[0][1]) - 1 if pieces else 0
        self.marks = marks
        self.decoder = decoder
        self.cache: dict[int, GpuOperand | None] = decoder.operand_cache(spec)
        self.role = ROLES.get(spec.role) or (OperandRole.DST if spec.name in DESTINATIONS else OperandRole.SRC)
        self.is_literal = spec.prefix == "K"
        kind = spec.kind
        self.takes_literals = kind is not None and spec.prefix in {"", "A", "W"} and kind.type not in {"c32", "r", "i32"}

    def key(self, word: int) -> int:
        """Return the value of the field, with the marks of what changes the operand."""
        key = word >> self.shift & self.mask if self.is_simple else extract(word, self.pieces)
        for shift, mark in self.marks:
            if word >> shift & 1:
                key |= mark
        return key

    def code(self, key: int) -> int:
        """Return the code of the operand."""
        spec = self.spec
        if spec.code is not None:
            return spec.code
        code = key & CODE
        prefix = spec.prefix
        if prefix == "v":
            code = code & 255 | VECTOR
        elif prefix == "a":
            code |= ACCUMULATION
        elif prefix == "w":
            code |= VECTOR
        elif prefix == "x":
            code ^= VECTOR
        elif prefix == "e" and not is_scalar(code):
            return NOTHING
        elif prefix == "u":
            code = code ^ 1 | VECTOR
        elif prefix == "p":
            code <<= 1
        elif prefix == "q":
            code <<= 2
        elif prefix == "y":
            code = code & 127 if code & 128 else 106
        if code >= VECTOR:
            if key & ACCUMULATED or prefix == "A":
                code |= 512
            if spec.halves == "n" and code & 0x80:
                return NOTHING
            if spec.halves == "l":
                code = code & ~0x80 | (code & 0x80) * (HIGH_HALF // 0x80)
            elif key & HALF:
                code |= HIGH_HALF
        return code

    def make(self, key: int, literal: int = 0) -> GpuOperand | None:
        """Return the operand of a field's value; None if there is none."""
        spec = self.spec
        if spec.kind is None:
            if spec.immediate == "off":
                return GpuOperand(OperandKind.OFF, self.name, self.role, 0, "off")
            decoder = self.decoder
            text = IMMEDIATES[spec.immediate](key, decoder.major, decoder.table.names)
            value = key - 0x10000 if self.mask == 0xFFFF and key & 0x8000 and spec.immediate == "x" else key
            return GpuOperand(OperandKind.IMMEDIATE, self.name, self.role, 0, text, value=value)
        kind = spec.kind
        if key & WIDENED:
            kind = CodeKind(kind.bits + 32, kind.type, kind.class_name, kind.has_halves)
        if spec.is_sized:
            bits = SIZES.get(key >> SIZE_SHIFT & 7, kind.bits)
            kind = CodeKind(bits, kind.type, kind.class_name.replace(str(kind.bits), str(bits)))
        code = LITERAL if self.is_literal else self.code(key)
        named = self.decoder.book.name(kind, code, literal)
        if named is None:
            return None
        text = named.text
        is_constant = named.kind in {OperandKind.CONSTANT, OperandKind.LITERAL}
        if key & EXTENDED:
            text = f"sext({text})"
        if key & ABSOLUTE:
            text = f"|{text}|"
        if key & NEGATED:
            text = f"neg({text})" if is_constant and not key & ABSOLUTE else f"-{text}"
        return GpuOperand(
            *(named.kind, self.name, self.role, self.decoder.book.bits(kind), text, named.index, named.register),
            *(named.value, kind.type, named.half, bool(key & NEGATED), bool(key & ABSOLUTE), bool(key & EXTENDED)),
        )


class CompiledRow:
    """A row of a table, ready to decode."""

    def __init__(self, decoder: Decoder, layout: Format, opcode: int, line: str) -> None:
        row = decoder.table.row(layout.key.removesuffix("fi"), opcode, line)
        mnemonic = row.mnemonic
        name = mnemonic.rstrip()
        for suffix in SUFFIXES:
            if name.endswith(suffix):
                name = name.removesuffix(suffix)
                break
        self.size = layout.size
        self.mask = self.match = 0
        self.plans: list[OperandPlan] = []
        self.modifiers: list[tuple[str, Pieces]] = []
        self.writers: list[tuple[str, Writer]] = []
        self.is_branch = False
        self.has_literals = has_literals(layout, bool(decoder.table.names["option"]))
        for token in row.tokens:
            if token[0] == "+":
                self._read_modifiers(decoder, layout, token[1:])
            elif token[0] == "!":
                mask, _, match = token[1:].partition("/")
                self.mask, self.match = int(mask, 16), int(match, 16)
            else:
                self.plans.append(self._plan(decoder, layout, decoder.table.operand(token)))
        self.is_branch = any(plan.spec.immediate == "d" for plan in self.plans) and layout.name in {"SOPP", "SOPK"}
        if layout.variant == "dpp8fi":
            self.writers.append(("fi", lambda value, others: " fi:1"))
        variant = layout.variant.removesuffix("fi")
        self.form = InstructionForm(name, mnemonic, layout.name, variant, opcode, tuple(self.writers))
        self.modifier_mask = 0
        for _, pieces in self.modifiers:
            self.modifier_mask |= bits_of(pieces)
        self.sets: dict[int, dict[str, int]] = {}
        self.has_fetch_inactive = layout.variant == "dpp8fi"

    def _read_modifiers(self, decoder: Decoder, layout: Format, specs: str) -> None:
        for spec in filter(None, specs.split(",")):
            key = spec.partition(":")[0]
            self.modifiers.append((key, layout.modifiers[ALIASES.get(spec) or ALIASES.get(key, key)]))
            self.writers.append((key, writer_of(spec, decoder.major, decoder.table.names)))

    def _plan(self, decoder: Decoder, layout: Format, spec: OperandSpec) -> OperandPlan:
        pieces = layout.operands.get(spec.name, ())
        if spec.code is not None or spec.prefix == "K" or spec.immediate == "off":
            return OperandPlan(spec, (), (), decoder)
        if spec.immediate == "attr":
            pieces = (*layout.operands["attrchan"], *pieces)
        position = POSITIONS.get(spec.name, 0)
        bits = layout.bits
        marks = []
        if spec.can_negate:
            marks.append((bits[f"neg{position}"], NEGATED))
        if spec.can_be_absolute:
            marks.append((bits[f"abs{position}"], ABSOLUTE))
        if spec.can_extend:
            marks.append((bits[f"sext{position}"], EXTENDED))
        if spec.halves == "h":
            marks.append((bits[f"sel{position}"], HALF))
        if spec.prefix in {"w", "W"}:
            marks.append((bits[f"acc{position}"], ACCUMULATED))
        if spec.is_sized:
            start = layout.modifiers["cbsz" if position == 0 else "blgp"][0][0]
            marks.extend((start + bit, 1 << SIZE_SHIFT + bit) for bit in range(3))
        if spec.is_widened:
            marks.append((layout.modifiers["tfe"][0][0], WIDENED))
        return OperandPlan(spec, pieces, tuple(marks), decoder)

    def make(self, word: int, code: bytes, offset: int) -> GpuInstruction | None:
        """Return the instruction; None if an operand is invalid or code is missing."""
        operands = []
        size = self.size
        literal = 0
        for plan in self.plans:
            key = word >> plan.shift & plan.mask if plan.is_simple else extract(word, plan.pieces)
            for shift, mark in plan.marks:
                if word >> shift & 1:
                    key |= mark
            if plan.is_literal or (key & CODE == LITERAL and plan.takes_literals):
                if not self.has_literals:
                    return None
                if size == self.size:
                    size += 4
                    data = code[offset + self.size : offset + size]
                    if len(data) < 4:
                        return None
                    literal = int.from_bytes(data, "little")
                operand = plan.make(key, literal)
            else:
                try:
                    operand = plan.cache[key]
                except KeyError:
                    operand = plan.cache[key] = plan.make(key)
            if operand is None:
                return None
            operands.append(operand)
        set_bits = word & self.modifier_mask
        modifiers = self.sets.get(set_bits)
        if modifiers is None:
            modifiers = {name: value for name, pieces in self.modifiers if (value := extract(word, pieces))}
            if self.has_fetch_inactive:
                modifiers["fi"] = 1
            if len(self.sets) < 4096:
                self.sets[set_bits] = modifiers
        branch = None
        if self.is_branch:
            distance = operands[-1].value
            branch = 4 + 4 * (distance - ((distance & 0x8000) << 1))
        return GpuInstruction(self.form, tuple(operands), modifiers, code[offset : offset + size], branch)


class FormatRows:
    """The rows of one format, compiled when they are met."""

    def __init__(self, decoder: Decoder, layout: Format) -> None:
        self.decoder = decoder
        self.layout = layout
        self.mask, self.match = layout.mask, layout.match
        self.size = layout.size
        self.opcode = layout.opcode
        self.lines = decoder.table.rows.get(layout.key.removesuffix("fi"), {})
        self.compiled: dict[int, tuple[CompiledRow, ...]] = {}

    def rows(self, opcode: int) -> tuple[CompiledRow, ...]:
        """Return the rows of an opcode, the most particular first."""
        known = self.compiled.get(opcode)
        if known is None:
            lines = self.lines.get(opcode, ())
            known = tuple(CompiledRow(self.decoder, self.layout, opcode, line) for line in lines)
            self.compiled[opcode] = known
        return known


class Decoder:
    """Decodes the instructions of one processor with waves of one size."""

    def __init__(self, processor: str, wave_size: int, opcodes: OpcodeTable, major: int) -> None:
        self.processor = processor
        self.wave_size = wave_size
        self.major = major
        self.table = opcodes
        self.book = CodeBook(major, wave_size, opcodes.classes)
        self._caches: dict[OperandSpec, dict[int, GpuOperand | None]] = {}
        layouts = [FormatRows(self, layout) for layout in formats(major).values()]
        layouts.sort(key=lambda rows: -bin(rows.mask).count("1"))
        self._formats: list[tuple[FormatRows, ...]] = []
        for top in range(512):
            low = top << 23
            chosen = (rows for rows in layouts if low & rows.mask & 0xFF800000 == rows.match & 0xFF800000)
            self._formats.append(tuple(chosen))

    def operand_cache(self, spec: OperandSpec) -> dict[int, GpuOperand | None]:
        """Return the operands that were made for equal fields."""
        return self._caches.setdefault(spec, {})

    def decode(self, code: bytes, offset: int = 0) -> GpuInstruction:
        """Return the instruction at an offset; one with the name ``.long`` for what is not an instruction."""
        head = code[offset : offset + WORDS]
        word = int.from_bytes(head, "little")
        available = len(head)
        if available >= 4:
            for rows in self._formats[word >> 23 & 511]:
                if word & rows.mask == rows.match and rows.size <= available:
                    opcode = extract(word, rows.opcode)
                    for row in rows.rows(opcode):
                        if word & row.mask == row.match:
                            instruction = row.make(word, code, offset)
                            if instruction is not None:
                                return instruction
        return invalid(head[:4])


def text(instruction: GpuInstruction) -> str:
    """Return an instruction as llvm-objdump writes it."""
    form = instruction.form
    others = instruction.modifiers
    operands = ", ".join([operand.text for operand in instruction.operands if operand.text])
    modifiers = "".join([write(others.get(key, 0), others) for key, write in form.writers])
    return f"{form.mnemonic} {operands}{modifiers}" if operands else f"{form.mnemonic}{modifiers}"


def invalid(data: bytes) -> GpuInstruction:
    """Return what stands for bytes that are not an instruction."""
    value = int.from_bytes(data, "little")
    text = f"{value:#0{2 + 2 * len(data)}x}"
    operand = GpuOperand(OperandKind.IMMEDIATE, "data", OperandRole.SRC, 8 * len(data), text, value=value)
    return GpuInstruction(INVALID, (operand,), {}, data)


@cache
def decoder(processor: str, wave_size: int) -> Decoder:
    """Return the decoder of a processor, ``gfx90a``, for waves of a size; 0 where there is only one."""
    major = generation(processor)
    wave_size = wave_size or (32 if major >= 10 else 64)
    return Decoder(processor, wave_size, table(processor, wave_size), major)


def decode(code: bytes, offset: int, processor: str, wave_size: int) -> GpuInstruction:
    """Return the instruction at an offset of some code."""
    return decoder(processor, wave_size).decode(code, offset)
