"""Decoding of instructions: from bytes to operands and modifiers.

The formats say where the fields are, the rows of the tables which fields an opcode has and how each is read. A row is
compiled when it is first met; operands are made once for each value of a field and then shared.
"""

from __future__ import annotations

import re
from functools import cache

from dwarfgpu.immutable import evolve
from dwarfgpu.isa.codes import ACCUMULATION, HIGH_HALF, LITERAL, NOT_IN_CLASS, VECTOR, WIDE_LITERAL, CodeBook, CodeKind
from dwarfgpu.isa.formats import InstructionFormat, Pieces, bits_of, extract, formats
from dwarfgpu.isa.instruction import (
    BRANCHES,
    JUMPS,
    GpuInstruction,
    GpuOperand,
    InstructionForm,
    OperandKind,
    OperandRole,
)
from dwarfgpu.isa.modifiers import ALIASES, Writer, sign_extended, signed_bits, writer_of
from dwarfgpu.isa.names import IMMEDIATES
from dwarfgpu.isa.tables import ALIASES as TABLE_ALIASES
from dwarfgpu.isa.tables import LONG_LITERALS, WIDE_LITERALS, OpcodeTable, OperandSpec, generation, is_gfx12_5, table
from dwarfgpu.targets.amdgpu.processors import processor_named

SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")
NEGATED, ABSOLUTE, EXTENDED, HALF, ACCUMULATED, WIDENED, OFFSET_ENABLED, INDEX_ENABLED = (
    1 << bit for bit in range(12, 20)
)
"""Marks of a field's value: bits elsewhere in the instruction that change the operand."""
CODE = NEGATED - 1
FIELD_NAMES = {"soffset_": "soffset"}
"""Fields of one name that are at two places have other names in the formats."""
NOTHING = 209
"""A code that names nothing."""
SIZE_SHIFT = 20
"""Where the format of a matrix is, in the value of a field of a source whose width depends on it."""
SIZES = {2: 6, 3: 6, 4: 4}
"""The bits of the elements of matrices of 6-bit and 4-bit floats; others have 8."""
SIZE_FIELDS = (("cbsz", "blgp"), ("matrix_a_fmt", "matrix_b_fmt"))
"""The modifiers that say the format of the first and of the second matrix."""
WORDS = 16
"""The bytes of the longest instruction without a literal or further addresses."""
WITH_UNUSED_FIELDS = {"VOP1", "VOP2", "VOPC", "VOP3", "VOPD", "DS", "SOPP"}
"""The formats in which a field that an operation does not have changes nothing else."""
INVALID = InstructionForm(".long", ".long", "", "", 0)
"""The form of what is not an instruction."""

POSITIONS = {
    "src0": 0,
    "src1": 1,
    "vsrc1": 1,
    "src2": 2,
    "vdst": 3,
    "vdata": 3,
    "data": 3,
    "data0": 0,
    "data1": 1,
    "srcx0": 0,
    "vsrcx1": 1,
    "vsrcx2": 2,
    "srcy0": 0,
    "vsrcy1": 1,
    "vsrcy2": 2,
}
"""Which of the numbered bits belong to an operand: neg0 to neg2 to the sources, sel3 to the destination."""


def has_literals(layout: InstructionFormat, *, has_long: bool) -> bool:
    """Return whether a literal can follow an instruction."""
    return layout.size == 4 or (has_long and layout.variant != "scale")


def size_field(layout: InstructionFormat, position: int) -> Pieces:
    """Return the field that says the format of the first or of the second matrix."""
    names = (pair[position] for pair in SIZE_FIELDS)
    return next(layout.modifiers[name] for name in names if name in layout.modifiers)


def is_scalar(code: int) -> bool:
    """Return whether the code of a source can only be a scalar register."""
    return code < 128 or 209 <= code <= 239 or 249 <= code <= 254


class OperandPlan:
    """How one operand of a row is made."""

    def __init__(
        self,
        spec: OperandSpec,
        role: OperandRole,
        layout: InstructionFormat,
        pieces: Pieces,
        marks: tuple[tuple[int, int], ...],
        decoder: Decoder,
    ) -> None:
        self.spec = spec
        self.name = FIELD_NAMES.get(spec.name, spec.name)
        self.pieces = pieces
        self.is_simple = len(pieces) == 1
        self.shift = pieces[0][0] if pieces else 0
        self.mask = (1 << pieces[0][1]) - 1 if pieces else 0
        self.marks = marks
        self.decoder = decoder
        self.cache: dict[int, GpuOperand | None] = decoder.operand_cache(spec, role, layout.name)
        self.is_matrix = layout.name == "VOP3P"
        self.role = role
        self.is_literal = spec.prefix in {"K", "L"}
        kind = spec.kind
        self.takes_literals = (
            kind is not None and spec.prefix in {"", "A", "W"} and kind.type not in {"c32", "r", "i32"}
        )
        self.takes_wide_literals = self.takes_literals or (kind is not None and kind.type == "i32")

    def literal_size(self, key: int) -> int:
        """Return the bytes of the literal that a field's value asks for."""
        return 8 if self.spec.prefix == "L" or (not self.is_literal and key & CODE == WIDE_LITERAL) else 4

    def key(self, word: int) -> int:
        """Return the value of the field, with the marks of what changes the operand."""
        key = word >> self.shift & self.mask if self.is_simple else extract(word, self.pieces)
        for shift, mark in self.marks:
            if word >> shift & 1:
                key |= mark
        return key

    def code(self, key: int) -> int:  # noqa: C901, PLR0912 (one branch for each kind of field)
        """Return the code of the operand."""
        spec = self.spec
        if spec.code is not None:
            return spec.code
        code = key & CODE
        prefix = spec.prefix
        if prefix in {"v", "b"}:
            code = code & 255 | VECTOR
        elif prefix == "a":
            code |= ACCUMULATION
        elif prefix == "w":
            code |= VECTOR
        elif prefix == "x":
            code ^= VECTOR
            if code == LITERAL:
                return NOTHING
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

    def make(self, key: int, literal: int = 0) -> GpuOperand | None:  # noqa: C901, PLR0912 (one branch for each mark)
        """Return the operand of a field's value; None if there is none."""
        spec = self.spec
        if spec.kind is None:
            if spec.immediate == "off":
                return GpuOperand(OperandKind.OFF, self.name, self.role, 0, "off")
            decoder = self.decoder
            text = IMMEDIATES[spec.immediate](key, decoder.major, decoder.table.names)
            if text is None:
                return None
            value = key - 0x10000 if self.mask == 0xFFFF and key & 0x8000 and spec.immediate == "x" else key
            if spec.immediate in ("s21", "s24"):
                value = sign_extended(key, int(spec.immediate[1:]))
            return GpuOperand(OperandKind.IMMEDIATE, self.name, self.role, 0, text, value=value)
        kind = spec.kind
        if spec.prefix == "b":
            if not key & (OFFSET_ENABLED | INDEX_ENABLED):
                return GpuOperand(OperandKind.OFF, self.name, self.role, 0, "off")
            if not (key & OFFSET_ENABLED and key & INDEX_ENABLED):
                kind = CodeKind(32)
        if key & WIDENED:
            bits = kind.bits + 32
            class_name = f"VReg_{bits}_Align2" if spec.is_aligned else kind.class_name
            kind = CodeKind(bits, kind.type, class_name, kind.has_halves)
        if spec.is_sized:
            bits = kind.bits * SIZES.get(key >> SIZE_SHIFT & 7, 8) // 8
            kind = CodeKind(bits, kind.type, kind.class_name.replace(str(kind.bits), str(bits)))
        code = (WIDE_LITERAL if spec.prefix == "L" else LITERAL) if self.is_literal else self.code(key)
        if key & ACCUMULATED and not self.is_matrix and not kind.class_name.startswith("AV_"):
            # Memory instructions of GFX90A take any accumulation registers, those before take none.
            is_taken = self.decoder.has_accumulation_loads
            class_name = "" if is_taken else "VGPR_32" if kind.bits <= 32 else f"VReg_{kind.bits}"
            kind = CodeKind(kind.bits, kind.type, class_name, kind.has_halves)
            code = code if is_taken else code | NOT_IN_CLASS
        if self.is_literal and not kind.type:
            return GpuOperand(OperandKind.LITERAL, self.name, self.role, 32, f"{literal:#x}", value=literal)
        named = self.decoder.book.name(kind, code, literal)
        if named is None:
            return None
        text = named.text
        if key & ACCUMULATED and self.is_matrix:
            text = text.replace("'VReg_", "'AReg_")  # matrix operations have a class for each register file
        is_constant = named.kind in {OperandKind.CONSTANT, OperandKind.LITERAL}
        if key & EXTENDED:
            text = f"sext({text})"
        if key & ABSOLUTE:
            text = f"|{text}|"
        if key & NEGATED:
            is_bare = is_constant and not key & ABSOLUTE and not text.startswith("lit")
            text = f"neg({text})" if is_bare else f"-{text}"
        return GpuOperand(
            *(named.kind, self.name, self.role, self.decoder.book.bits(kind), text, named.index, named.register),
            *(named.value, kind.type, named.half, bool(key & NEGATED), bool(key & ABSOLUTE), bool(key & EXTENDED)),
        )


class OpcodeDecoder:
    """A row of a table, ready to decode."""

    def __init__(self, decoder: Decoder, layout: InstructionFormat, opcode: int, line: str) -> None:
        mnemonic, tokens = decoder.table.row(layout.key.removesuffix("fi"), line)
        name = mnemonic.rstrip()
        for suffix in SUFFIXES:
            if name.endswith(suffix):
                name = name.removesuffix(suffix)
                break
        self.size = layout.size
        self.mask = self.match = 0
        self.plans: list[OperandPlan] = []
        self.modifiers: list[tuple[str, Pieces]] = []
        self.offset_bits = 0
        """The bits of an offset that may be negative."""
        self.writers: list[tuple[str, Writer]] = []
        self.is_branch = False
        self.has_signed_literals = SIGNED.search(name) is not None
        self.literal_codes = (LITERAL, WIDE_LITERAL) if decoder.book.has_wide_literals else (LITERAL,)
        self.has_wide_literals = layout.name != "TENSOR" and layout.variant in {"", "x", "y"}
        self.has_literals = has_literals(layout, has_long=LONG_LITERALS in decoder.table.names["option"])
        for token in tokens:
            if self._reads(token):
                continue
            if token[0] == "+":
                self._read_modifiers(decoder, layout, token[1:])
            elif token[0] == "!":
                mask, _, match = token[1:].partition("/")
                self.mask, self.match = int(mask, 16), int(match, 16)
            else:
                spec = decoder.table.operand(token)
                role = _role_of(name, layout.name, spec.name, len(self.plans))
                self.plans.append(self._plan(decoder, layout, spec, role))
        is_branch = any(plan.spec.immediate == "d" for plan in self.plans) and layout.name in {"SOPP", "SOPK"}
        self.is_branch = is_branch or name in BRANCHES
        if layout.variant == "dpp8fi":
            self.writers.append(("fi", lambda value, others: " fi:1"))
        variant = layout.variant.removesuffix("fi")
        encoding = layout.name
        if encoding == "FLAT":
            segment = name.partition("_")[0]
            encoding = "GLOBAL" if segment == "cluster" else segment.upper()
        self.form = InstructionForm(name, mnemonic, encoding, variant, opcode, tuple(self.writers))
        self.modifier_mask = 0
        for _, pieces in self.modifiers:
            self.modifier_mask |= bits_of(pieces)
        self.sets: dict[int, dict[str, int]] = {}
        self.has_fetch_inactive = layout.variant == "dpp8fi"
        self.ignored = self._ignored(layout) if layout.name in WITH_UNUSED_FIELDS else 0
        """Bits that must be 0 by the tables, and that hardware ignores."""

    def _ignored(self, layout: InstructionFormat) -> int:
        """Return the bits of operands that the operation does not have, and those of an output modifier of integers."""
        names = {plan.spec.name for plan in self.plans}
        present = {POSITIONS.get(name) for name in names}
        fields = [bits_of(pieces) for name, pieces in layout.operands.items() if name not in names and name != "sdst"]
        for name, bit in layout.bits.items():
            if name[:3] in ("neg", "abs") and int(name[3]) not in present:
                fields.append(1 << bit)
        if all(key != "omod" for key, _ in self.modifiers):
            fields.append(bits_of(layout.modifiers.get("omod", ())))
        used = self.match | self.modifier_mask
        for plan in self.plans:
            used |= bits_of(plan.pieces)
        ignored = 0
        for field in fields:
            ignored |= 0 if field & used else field
        return ignored & self.mask

    def _reads(self, token: str) -> bool:
        """Return whether a token is one that only rows of a special format have."""
        return False

    def _read_modifiers(self, decoder: Decoder, layout: InstructionFormat, specs: str) -> None:
        for spec in filter(None, specs.split(",")):
            key = spec.partition(":")[0]
            self.modifiers.append((key, layout.modifiers[ALIASES.get(spec) or ALIASES.get(key, key)]))
            self.writers.append((key, writer_of(spec, decoder.major, decoder.table.names)))
            self.offset_bits = signed_bits(spec) or self.offset_bits

    def _set_modifiers(self, word: int) -> dict[str, int]:
        """Return the modifiers that are set; offsets that may be negative have their sign."""
        modifiers = {name: value for name, pieces in self.modifiers if (value := extract(word, pieces))}
        if self.offset_bits and "offset" in modifiers:
            modifiers["offset"] = sign_extended(modifiers["offset"], self.offset_bits)
        return modifiers

    def _plan(self, decoder: Decoder, layout: InstructionFormat, spec: OperandSpec, role: OperandRole) -> OperandPlan:
        pieces = layout.operands.get(spec.name, ())
        if spec.code is not None or spec.prefix in {"K", "L"} or spec.immediate == "off":
            return OperandPlan(spec, role, layout, (), (), decoder)
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
            at = (shift + bit for shift, width in size_field(layout, position) for bit in range(width))
            marks.extend((shift, 1 << SIZE_SHIFT + bit) for bit, shift in enumerate(at))
        if spec.prefix == "b":
            marks.append((layout.modifiers["offen"][0][0], OFFSET_ENABLED))
            marks.append((layout.modifiers["idxen"][0][0], INDEX_ENABLED))
        if spec.is_widened:
            marks.append((layout.modifiers["tfe"][0][0], WIDENED))
        return OperandPlan(spec, role, layout, pieces, tuple(marks), decoder)

    def _with_literal(self, plan: OperandPlan, key: int, literal: int) -> GpuOperand | None:
        operand = plan.make(key, literal)
        is_negative = self.has_signed_literals and literal >> 31 and plan.code(key) == LITERAL
        if is_negative and operand is not None and operand.bits == 64:
            return evolve(operand, value=literal - (1 << 32) + (1 << 64))
        return operand

    def make(self, word: int, code: bytes, offset: int) -> GpuInstruction | None:  # noqa: C901, PLR0912 (inlined)
        """Return the instruction; None if an operand is invalid or code is missing."""
        operands = []
        size = self.size
        literal = 0
        for plan in self.plans:
            key = word >> plan.shift & plan.mask if plan.is_simple else extract(word, plan.pieces)
            for shift, mark in plan.marks:
                if word >> shift & 1:
                    key |= mark
            if plan.is_literal or (
                key & CODE in self.literal_codes
                and (plan.takes_literals or (plan.takes_wide_literals and key & CODE == WIDE_LITERAL))
            ):
                length = plan.literal_size(key)
                if not self.has_literals or (length == 8 and not self.has_wide_literals):
                    return None
                if size == self.size:
                    size += length
                    data = code[offset + self.size : offset + size]
                    if len(data) < length:
                        return None
                    literal = int.from_bytes(data, "little")
                elif size != self.size + length:
                    return None
                operand = self._with_literal(plan, key, literal)
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
            modifiers = self._set_modifiers(word)
            if self.has_fetch_inactive:
                modifiers["fi"] = 1
            if len(self.sets) < 4096:
                self.sets[set_bits] = modifiers
        branch = None
        if self.is_branch:
            distance = operands[-1].value
            if operands[-1].kind is OperandKind.IMMEDIATE:
                branch = 4 + 4 * (distance - ((distance & 0x8000) << 1))
            elif operands[-1].kind in (OperandKind.CONSTANT, OperandKind.LITERAL):  # bytes, of 64 bits
                branch = size + (distance & (1 << 64) - 1 ^ 1 << 63) - (1 << 63)
        return GpuInstruction(self.form, tuple(operands), modifiers, code[offset : offset + size], branch)


class ExportDecoder(OpcodeDecoder):
    """The row of an export, whose sources are enabled one by one."""

    def __init__(self, decoder: Decoder, layout: InstructionFormat, opcode: int, line: str) -> None:
        OpcodeDecoder.__init__(self, decoder, layout, opcode, line)
        self.targets = decoder.table.names["target"]
        self.has_compression = "compr" in layout.modifiers

    def make(self, word: int, code: bytes, offset: int) -> GpuInstruction | None:
        number = word >> 4 & 63
        target = self.targets.get(number, f"invalid_target_{number}")
        operands = [GpuOperand(OperandKind.IMMEDIATE, "tgt", OperandRole.DST, 0, target, value=number)]
        is_compressed = self.has_compression and word >> 10 & 1
        for source in range(4):
            name = f"vsrc{source}"
            if word >> source & 1:
                index = word >> 32 + 8 * (source >> is_compressed) & 255
                operands.append(GpuOperand(OperandKind.VGPR, name, OperandRole.SRC, 32, f"v{index}", index))
            else:
                operands.append(GpuOperand(OperandKind.OFF, name, OperandRole.SRC, 0, "off"))
        modifiers = self._set_modifiers(word)
        return GpuInstruction(self.form, tuple(operands), modifiers, code[offset : offset + self.size])


class ImageDecoder(OpcodeDecoder):
    """The row of an image instruction: masks and shapes say how many registers its data and addresses have.

    ``vdata=&`` is followed by a digit (of base 36) for data that would go beyond the last register, and then one for
    each d16, tfe and number of enabled components; a capital letter says that the address too is as long as beyond the
    last register. ``vaddr=&N/`` says the same about the address where N further words hold registers, for each a16 and
    shape; behind a colon stand the registers of each part.
    """

    def __init__(self, decoder: Decoder, layout: InstructionFormat, opcode: int, line: str) -> None:
        self.data: list[int] = []
        self.stuck: list[bool] = []
        self.addresses: dict[int, tuple[str, bool]] = {}
        OpcodeDecoder.__init__(self, decoder, layout, opcode, line)
        form = self.form
        self.wide_form = InstructionForm(form.name, form.mnemonic + " ", form.encoding, "", form.opcode, form.writers)
        self.layout = layout
        self.has_words = "nsa" in layout.operands
        self.has_accumulation = decoder.has_accumulation_loads
        self.role = OperandRole.DST
        if "atomic" in form.name:
            self.role = OperandRole.DST_SRC
        elif "store" in form.name:
            self.role = OperandRole.SRC
        self.slots = 4 if layout.name == "VSAMPLE" else 5

    def _reads(self, token: str) -> bool:
        name, _, rest = token.partition("=&")
        if name == "vdata":
            self.data = [ord(digit) - ord("A") if digit.isupper() else int(digit, 36) for digit in rest]
            self.stuck = [digit.isupper() for digit in rest]
            return True
        if name == "vaddr" and rest:
            form, _, lengths = rest.partition("/")
            self.addresses[int(form.rstrip("~"))] = lengths, form.endswith("~")
            return True
        return False

    def field(self, word: int, name: str) -> int:
        """Return the value of a modifier; 0 where the format has none of the name."""
        pieces = self.layout.modifiers.get(name)
        return extract(word, pieces) if pieces else 0

    def make(self, word: int, code: bytes, offset: int) -> GpuInstruction | None:
        places = self.layout.operands
        form = extract(word, places["nsa"]) if self.has_words else 0
        size = self.size + 4 * form
        data = code[offset : offset + size]
        lengths, is_wide = self.addresses[form]
        if len(data) < size:
            return None
        first = extract(word, places["vaddr"])
        if self.has_words:
            registers = [first, *data[self.size :]]
            slots = len(registers)
        else:
            registers = [
                first,
                *(extract(word, places[name]) for name in ("vaddr1", "vaddr2", "vaddr3", "vaddr4") if name in places),
            ]
            slots = self.slots
        components = self.field(word, "dmask").bit_count()
        entry = 1 + 10 * self.field(word, "d16") + 5 * self.field(word, "tfe") + components
        count, is_stuck = self.data[entry], self.stuck[entry]
        index = extract(word, places["vdata"])
        if lengths[:1] == ":":
            parts = [int(digit, 36) for digit in lengths[1:]]
            total = sum(parts)
        else:
            has_short = any(name.startswith("a16") for name, _ in self.modifiers)
            digit = lengths[1 + 8 * (self.field(word, "a16") if has_short else 0) + self.field(word, "dim")]
            beyond = int(lengths[0], 36)
            is_stuck = is_stuck or digit.isupper()
            total = beyond if is_stuck else int(digit, 36)
            is_odd = self.has_accumulation and index & 1 and count != self.data[0]  # GFX90A aligns pairs
            last = is_stuck or is_odd or (index + count > 256 and count != self.data[0])
            parts = self._parts(total, slots, is_list=len(registers) > 1)
            if last or (total != beyond and parts[-1:] > [1] and registers[len(parts) - 1] + parts[-1] > 256):
                count, total = self.data[0], beyond
                parts = self._parts(total, slots, is_list=len(registers) > 1)
        if not count or not total:
            return None
        operands = [self._registers("vdata", self.role, index, count, "")]
        if self.has_accumulation and self.field(word, "tfe"):
            data_operand = operands[0]
            operands[0] = evolve(data_operand, kind=OperandKind.AGPR, text=f"a{data_operand.text[1:]}")
        is_list = len(registers) > 1 and (self.has_words or total > 1)
        for number, length in enumerate(parts):
            marks = ("[" if is_list and not number else "") + ("]" if is_list and number == len(parts) - 1 else "")
            operands.append(self._registers(f"vaddr{number or ''}", OperandRole.SRC, registers[number], length, marks))
        for plan in self.plans:
            key = plan.key(word)
            if key == LITERAL and plan.takes_literals and self.has_literals:
                data = code[offset : offset + size + 4]
                operand = plan.make(key, int.from_bytes(data[size:], "little")) if len(data) == size + 4 else None
            else:
                operand = plan.cache.get(key) or plan.cache.setdefault(key, plan.make(key))
            if operand is None:
                return None
            operands.append(operand)
        modifiers = self._set_modifiers(word)
        return GpuInstruction(self.wide_form if is_wide else self.form, tuple(operands), modifiers, data)

    @staticmethod
    def _parts(total: int, slots: int, *, is_list: bool) -> list[int]:
        if not is_list:
            return [total]
        return [1] * total if total <= slots else [*[1] * (slots - 1), total - slots + 1]

    @staticmethod
    def _registers(name: str, role: OperandRole, index: int, count: int, marks: str) -> GpuOperand:
        text = f"v{index}" if count == 1 else f"v[{index}:{index + count - 1}]"
        if "[" in marks:
            text = f"[{text}"
        if "]" in marks:
            text += "]"
        return GpuOperand(OperandKind.VGPR, name, role, 32 * count, text, index)


SPECIAL_ROWS: dict[str, type[OpcodeDecoder]] = {
    "EXP": ExportDecoder,
    "MIMG": ImageDecoder,
    "VIMAGE": ImageDecoder,
    "VSAMPLE": ImageDecoder,
}


class DualRows:
    """The rows of dual instructions: each half has its own."""

    def __init__(self, first: FormatRows, second: FormatRows) -> None:
        self.mask, self.match, self.size = first.mask, first.match, first.size
        self.opcode = (*second.opcode, *first.opcode)
        self.width = sum(width for _, width in second.opcode)
        self.first, self.second = first, second
        self.rows = cache(self._compiled)

    def _compiled(self, opcode: int) -> tuple[PairDecoder, ...]:
        """Return the row of two operations, if there are such."""
        firsts, seconds = self.first.rows(opcode >> self.width), self.second.rows(opcode & (1 << self.width) - 1)
        return tuple(PairDecoder(x, y, opcode) for x in firsts for y in seconds)


class PairDecoder:
    """A pair of operations that are encoded together."""

    mask = match = 0

    def __init__(self, first: OpcodeDecoder, second: OpcodeDecoder, opcode: int) -> None:
        self.first, self.second = first, second
        self.size = first.size
        self.ignored = first.ignored | second.ignored
        name = f"{first.form.name} :: {second.form.name}"
        self.form = InstructionForm(name, name, first.form.encoding, "", opcode)

    def make(self, word: int, code: bytes, offset: int) -> GpuInstruction | None:
        """Return the instruction; None if an operand is invalid or code is missing."""
        if word & self.first.mask != self.first.match or word & self.second.mask != self.second.match:
            return None
        first = self.first.make(word, code, offset)
        second = self.second.make(word, code, offset)
        if first is None or second is None:
            return None
        data = max(first.data, second.data, key=len)
        if len({first.size, second.size, self.size}) == 3:
            return None  # they share one literal
        return GpuInstruction(self.form, first.operands + second.operands, {}, data, None, (first, second))


class FormatRows:
    """The rows of one format, compiled when they are met."""

    def __init__(self, decoder: Decoder, layout: InstructionFormat) -> None:
        self.decoder = decoder
        self.layout = layout
        self.mask, self.match = layout.mask, layout.match
        self.size = layout.size
        self.opcode = layout.opcode
        self.lines = decoder.table.rows.get(layout.key.removesuffix("fi"), {})
        self.rows = cache(self._compiled)

    def _compiled(self, opcode: int) -> tuple[OpcodeDecoder, ...]:
        """Return the rows of an opcode, the most particular first."""
        make = SPECIAL_ROWS.get(self.layout.name, OpcodeDecoder)
        return tuple(make(self.decoder, self.layout, opcode, line) for line in self.lines.get(opcode, ()))


class Decoder:
    """Decodes the instructions of one processor with waves of one size."""

    def __init__(self, processor: str, wave_size: int, opcodes: OpcodeTable, major: int) -> None:
        self.processor = processor
        self.wave_size = wave_size
        self.major = major
        self.table = opcodes
        self.book = CodeBook(
            *(major, wave_size, opcodes.classes), has_wide_literals=WIDE_LITERALS in opcodes.names["option"]
        )
        row = processor_named(TABLE_ALIASES.get(processor, processor))
        self.has_accumulation_loads = row is not None and row.has("agprs-saved")
        self._caches: dict[tuple[OperandSpec, OperandRole, str], dict[int, GpuOperand | None]] = {}
        self._rows = {key: FormatRows(self, layout) for key, layout in formats(major).items()}
        simple = dict(self._rows)
        layouts: list[FormatRows | DualRows] = []
        for name in ("VOPD", "VOPD3"):
            if f"{name}.x" in simple:
                layouts += [DualRows(simple.pop(f"{name}.x"), simple.pop(f"{name}.y"))]
        layouts += simple.values()
        layouts.sort(key=lambda rows: -rows.mask.bit_count())
        self._formats: list[tuple[FormatRows | DualRows, ...]] = []
        for top in range(512):
            low = top << 23
            chosen = (rows for rows in layouts if low & rows.mask & 0xFF800000 == rows.match & 0xFF800000)
            self._formats.append(tuple(chosen))

    def rows(self, key: str, opcode: int) -> tuple[OpcodeDecoder, ...]:
        """Return the rows of an opcode of a format; those of VOPD.x and VOPD.y are halves of instructions."""
        return self._rows[key].rows(opcode)

    def operand_cache(self, spec: OperandSpec, role: OperandRole, name: str) -> dict[int, GpuOperand | None]:
        """Return the operands that were made for equal fields of a format."""
        return self._caches.setdefault((spec, role, name), {})

    def decode(self, code: bytes, offset: int = 0) -> GpuInstruction:
        """Return the instruction at an offset; one with the name ``.long`` for what is not an instruction."""
        return self._decode(code, offset) or invalid(code[offset : offset + 4])

    def executed(self, code: bytes, offset: int = 0) -> GpuInstruction:
        """Return the instruction that hardware executes, which ignores unused fields; LLVM wants 0 there."""
        found = self._decode(code, offset)
        if found is None:
            found = self._decode(code, offset, ignores=-1)
            if found is None or any("/*" in operand.text for operand in found.operands):
                return invalid(code[offset : offset + 4])
        return found

    def _decode(self, code: bytes, offset: int, ignores: int = 0) -> GpuInstruction | None:
        head = code[offset : offset + WORDS]
        word = int.from_bytes(head, "little")
        available = len(head)
        if available >= 4:
            for rows in self._formats[word >> 23 & 511]:
                if word & rows.mask == rows.match and rows.size <= available:
                    opcode = extract(word, rows.opcode)
                    for row in rows.rows(opcode):
                        read = word & ~(row.ignored & ignores)
                        if read & row.mask == row.match:
                            instruction = row.make(read, code, offset)
                            if instruction is not None:
                                return instruction
        return None


def text(instruction: GpuInstruction) -> str:
    """Return an instruction as llvm-objdump writes it."""
    form = instruction.form
    if instruction.components:
        return " :: ".join(map(text, instruction.components))
    others = instruction.modifiers
    operands = ", ".join([operand.text for operand in instruction.operands if operand.text])
    modifiers = "".join([write(others.get(key, 0), others) for key, write in form.writers])
    if form.encoding == "EXP":
        operands = operands.replace(", ", " ", 1)
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


def executed(code: bytes, offset: int, processor: str, wave_size: int) -> GpuInstruction:
    """Return the instruction at an offset of some code as hardware reads it."""
    return decoder(processor, wave_size).executed(code, offset)


# --- What an instruction reads and writes -------------------------------------------------------------------------

SIGNED = re.compile(r"_i64(_|$)")
"""Operations on signed numbers of 64 bits, whose literals of 32 bits have a sign; those of others are extended with
zeros ("Literal Constants" of the ISA documents)."""

DESTINATIONS = {"vdst", "sdst", "vdstx", "vdsty"}

READ_ONLY = re.compile(r"^s_(cmpk_|setreg_b32$|waitcnt_|cbranch_i_fork$|version$)|_load_async_to_lds_")
"""Operations on a field named as a destination that they only read."""

ACCUMULATING = re.compile(
    r"v_(dual_|pk_)?f?mac_|v_dual_dot2acc_|v_dot\d\w*c_|v_(perm)?(lane\w*_)?swap|v_writelane_|v_permlane(x?16|16var|x16var)_"
    r"|v_(mad|fma)_mix(lo|hi)_|v_s(mf|wm)mac_|v_interp_p2_(legacy_)?f\d+$|v_cvt_(pk|sr)_[fb]f?p?8|v_cvt_sr_b?f16_|v_cvt_scalef32_((sr_)?(pk_)?[fb]f?p?[48]_|f16_[fb])|v_cvt_pkaccum_|v_movreld?_"
    r"|s_(addk|mulk|cmovk|addk_co)_|s_cmov_|s_bitset|s_fmac_|s_subvector_loop_|v_swaprel_"
)
"""Operations that also read what they write."""
HALF_LOADS = re.compile(r"_load_.*d16|_read_.*d16|_load_short_d16|_load_(u|s)byte_d16|_load_sbyte_d16")
"""Loads that keep the other half of a register."""


def _role_of(name: str, encoding: str, field: str, position: int) -> OperandRole:
    """Return the role of an operand: of a field, at a position in the text.

    The encoding does not say it, so the names of the operation and of the field do ("Instructions" chapters of the ISA
    documents). An operand that keeps part of its old value, such as a register whose other half or other lanes stay, is
    both.
    """
    if field in {"vdata", "sdata"} and encoding != "FLAT":
        if "atomic" in name:
            return OperandRole.DST_SRC
        if "store" in name or "prefetch" in name or "probe" in name:
            return OperandRole.SRC
        return OperandRole.DST_SRC if HALF_LOADS.search(name) else OperandRole.DST
    if field in {"vcc", "exec"}:
        is_written = (position == 0 and encoding == "VOPC") or (position == 1 and encoding == "VOP2")
        return OperandRole.DST if is_written else OperandRole.SRC
    if field == "simm16":
        return OperandRole.DST if name.startswith("s_setreg") else OperandRole.SRC
    if field == "src0" and "swap" in name:
        return OperandRole.DST_SRC
    if field not in DESTINATIONS or READ_ONLY.search(name):
        return OperandRole.SRC
    if (ACCUMULATING.match(name) and encoding != "VINTERP") or HALF_LOADS.search(name):
        return OperandRole.DST_SRC
    return OperandRole.DST


# --- Registers above v255 -----------------------------------------------------------------------------------------
# MODE of GFX12.5 adds bits to the numbers of vector registers, so that a wave has 1,024 of them. Each of four fields of
# two bits counts for some operands of an instruction (CDNA 5 ISA document, 3.3.2.3; LLVM has the same table for the
# lowering of ``s_set_vgpr_msb``). Their order in MODE is: destination, first, second, third source.

BANKS_SHIFT, BANKS = 12, 0xFF
"""Where the four fields are in MODE."""
_BANK_FIELDS = {
    **dict.fromkeys(("vdst", "vdstx", "vdsty"), 0),
    **dict.fromkeys(("src0", "srcx0", "srcy0", "addr", "vaddr"), 1),
    **dict.fromkeys(("src1", "vsrc1", "vsrcx1", "vsrcy1", "data0", "vdata"), 2),
    **dict.fromkeys(("src2", "vsrcx2", "vsrcy2", "data1"), 3),
    **dict.fromkeys(("scale_src0", "scale_src1"), None),
}
"""The number of the field that counts for an operand; scales of matrices have none."""


def has_banks(mode: int, processor: str) -> bool:
    """Return whether MODE adds to the numbers of vector registers."""
    return bool(mode >> BANKS_SHIFT & BANKS) and is_gfx12_5(processor)


def banks_in_mode(setting: int) -> int:
    """Return the fields that ``s_set_vgpr_msb`` sets, in the order of MODE: there the destination is the lowest one."""
    return (setting << 2 | setting >> 6) & BANKS


def bank_field_of(instruction: GpuInstruction, operand: GpuOperand) -> int | None:
    """Return the number of the field that counts for an operand in vector registers."""
    if operand.name == "vdata" and instruction.encoding == "VBUFFER":
        return 0
    if operand.name.startswith("vsrc") and "fmamk" in instruction.name:  # the literal is the second source
        return 3
    return _BANK_FIELDS[operand.name]


def with_banks(instruction: GpuInstruction, mode: int) -> GpuInstruction:
    """Return an instruction of GFX12.5 with the registers that it has in a mode."""
    banks = mode >> BANKS_SHIFT & BANKS
    components = tuple(with_banks(part, mode) for part in instruction.components)
    operands = tuple(operand for part in components for operand in part.operands)
    if not components:
        operands = tuple(_moved(instruction, operand, banks) for operand in instruction.operands)
    return evolve(instruction, operands=operands, components=components)


class BankFollower:
    """Follows which registers instructions have that are executed one after the other, from those of no added bits on.

    Compilers set the bits to 0 before branches and calls, and where paths meet (AMDGPU usage, "Call Convention").
    """

    def __init__(self, processor: str) -> None:
        self.mode = 0
        self._has_bits = is_gfx12_5(processor)

    def moved(self, instruction: GpuInstruction) -> GpuInstruction:
        """Return the next instruction with its registers."""
        found = with_banks(instruction, self.mode) if self.mode else instruction
        self.follow(instruction)
        return found

    def follow(self, instruction: GpuInstruction) -> None:
        """Let an instruction set the bits of those behind it."""
        name = instruction.name
        if not self._has_bits:
            return
        if name == "s_set_vgpr_msb":
            self.mode = banks_in_mode(instruction.operands[0].value & BANKS) << BANKS_SHIFT
        elif name == "s_setreg_imm32_b32" and instruction.operands[0].value & 63 == _MODE:  # whatever field it is
            self.mode = instruction.operands[1].value & BANKS << BANKS_SHIFT
        elif name in _LAST or name in JUMPS:
            self.mode = 0


_MODE = 1
"""The number of the hardware register."""
_LAST = BRANCHES | {"s_endpgm"}


def with_comments(instruction: GpuInstruction, mode: int) -> GpuInstruction:
    """Return an instruction whose registers are written as llvm-objdump does: with their numbers behind."""
    moved = with_banks(instruction, mode)
    parts = zip(instruction.components or (instruction,), moved.components or (moved,), strict=True)
    written = [evolve(each, operands=tuple(map(_commented, each.operands, new.operands))) for each, new in parts]
    return evolve(moved, components=tuple(written)) if instruction.components else written[0]


def _commented(old: GpuOperand, new: GpuOperand) -> GpuOperand:
    return old if old.text == new.text else evolve(new, text=f"{old.text} /*{new.text}*/")


def _moved(instruction: GpuInstruction, operand: GpuOperand, banks: int) -> GpuOperand:
    if operand.kind is not OperandKind.VGPR:
        return operand
    field = bank_field_of(instruction, operand)
    more = 0 if field is None else (banks >> 2 * field & 3) << 8
    text = re.sub(r"\d+", lambda number: str(int(number[0]) + more), operand.text)
    return evolve(operand, index=operand.index + more, text=text)
