"""What one opcode in one format means, found by asking the oracle for variations of an instruction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isa_oracle import CRASHED, LONGEST, Oracle

from dwarfgpu.isa.codes import (
    ACCUMULATION,
    HIGH_HALF,
    LITERAL,
    VECTOR,
    WIDE_LITERAL,
    CodeBook,
    CodeKind,
    literal_text,
    wide_literal_text,
)
from dwarfgpu.isa.decoder import NOTHING, POSITIONS, SIZE_FIELDS, has_literals, is_scalar
from dwarfgpu.isa.formats import InstructionFormat, bits_of, extract, formats, insert
from dwarfgpu.isa.modifiers import writer_of
from dwarfgpu.isa.names import IMMEDIATES, MESSAGE_BITS
from dwarfgpu.isa.tables import LONG_LITERALS, WIDE_LITERALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILLER = bytes.fromhex("44332211") * 3
WIDE_FILLER = 0x1122334411223344
LITERALS = (
    0,
    1,
    64,
    65,
    0xFFFFFFF0,
    0x3F800000,
    0x3C00,
    0x3F80,
    0x3FE00000,
    0x12345678,
    0x3E22F983,
    0xFFFF3800,
    0x3C003C00,
    0x10001,
)
WIDE_LITERAL_VALUES = (
    *LITERALS,
    *(value << 32 | value for value in LITERALS),
    *(value << 32 for value in LITERALS),
    *(-1 & (1 << 64) - 1, -17 & (1 << 64) - 1, 0x3FC45F306DC9C882, 0x3FF0000000000000),
)

SOURCE_CODES = (
    *(
        0,
        1,
        2,
        3,
        4,
        5,
        8,
        98,
        99,
        100,
        101,
        102,
        103,
        104,
        105,
        106,
        107,
        108,
        109,
        110,
        111,
        112,
        113,
        116,
        120,
        121,
        122,
        123,
        124,
        125,
        126,
        127,
    ),
    *(128, 129, 192, 193, 208, 209, 230, 234, 235, 236, 237, 238, 239, 240, 241, 242, 247, 248, 251, 252, 253, 254),
)
VECTOR_CODES = (0, 1, 2, 3, 4, 127, 128, 129, 130, 249, 250, 252, 253, 254, 255)
TYPES = {
    1: ("b32", "f16", "i16", "v2f16", "v2i16", "v2bf16", "bf16", "i32", "v2f16n", "f16n", "c32", "i32n"),
    2: ("b64", "f64", "v2b32", "b32", "f16", "bf16"),
    0: ("b32", "f64", "b64", "f16", "v2f16", "bf16"),
}
IMMEDIATE_VALUES = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    64,
    65,
    129,
    255,
    256,
    0x1234,
    0x7FFF,
    0x8000,
    0xFFFC,
    0xFFFF,
    0xF83F,
    0x12345,
    0x8765,
    0xFE9F,
    0xFFFFF,
    0x100000,
    0x1FFFFF,
    0x800000,
    0xFFFFFF,
)

CLASS = re.compile(r"/\*Invalid register, operand has '(\w+)' register class\*/")
REGISTER = re.compile(r"(v|a|s|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(\.[lh])?")

MARKED = {
    "neg": re.compile(r"-|neg\("),
    "abs": re.compile(r"\|"),
    "sext": re.compile("sext"),
    "sel": re.compile(r".*\.[hl]"),
    "acc": re.compile("a"),
}
"""What shows in the text of an operand that a bit changes it."""
HALVES_AND_BYTES = {"op_sel_": re.compile(r"v_cvt_sr_[fb]\w+8_f16"), "op_sel_d": re.compile(r"v_cvt_f16_[fb]\w+8_")}
"""Instructions whose op_sel has bits for the sources, or for the destination only, for byte_sel has the others."""
WITH_CONSTANT = re.compile("[am]k_f(16|32)")
"""Instructions with a literal that no operand asks for."""
SIZED = "f8f6f4"
"""Instructions whose sources are as wide as their format says: cbsz that of the first, blgp that of the second."""

SELECTORS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "8:SMEM": (("imm", (0, 1)),),
    "9:SMEM": (("imm", (0, 1)), ("soe", (0, 1))),
    "10:SMEM": (("soffset", (125, -1)), ("offset", (0, -1))),
    "11:SMEM": (("soffset", (124, -1)), ("offset", (0, -1))),
    "12:SMEM": (("soffset", (124, -1)),),
    "MUBUF": (("lds", (0, 1)),),
    "11:MUBUF": (),
    "8:FLAT": (("glc", (0, 1)),),
    "9:VOP1.sdwa": (("dst_sel", (-1, 6)),),
    "9:FLAT": (("segment", (0, 1, 2)), ("saddr", (127, -1)), ("glc", (0, 1)), ("lds", (0, 1))),
    "10:FLAT": (("segment", (0, 1, 2)), ("saddr", (125, 127, -1)), ("glc", (0, 1)), ("lds", (0, 1))),
    "11:FLAT": (("segment", (0, 1, 2)), ("saddr", (124, -1)), ("glc", (0, 1)), ("sve", (0, 1))),
    "12:FLAT": (("segment", (0, 1, 2)), ("saddr", (124, -1)), ("returns", (0, 1)), ("sve", (0, 1))),
    "12:VOP3P": (("op_sel_hi", (-1, 3, 7)),),
}
"""Fields whose values tell several rows of one opcode apart; -1 stands for any other value."""

BASES: tuple[dict[str, int], ...] = (
    {"sdst": 0},
    {},
    {"vdsty": 21, "sdst": 0},
    {"vsrcx1": 0, "vsrcy1": 0},
    {"offen": 0, "sdst": 0},
    {"sdst": -1},
    {"src0": 24, "src1": 28, "src2": 32},
    {"src0": 264, "src1": 28},
    {"src0": 24, "src1": 268, "src2": 272},
    {"src0": 255, "ssrc0": 255},
    {"simm16": 5, "sdst": 0},
    {"sdst": 106},
    {"src0": 128, "src1": 128, "src2": 128},
    {"sdst": 0, "ssrc0": 0, "ssrc1": 0},
    {"vdst": 0, "src0": 0, "src1": 0, "src2": 0, "sdst": 0},
    {"vdst": 0, "src0": 0},
    {"offset": 0, "sdata": 0, "sbase": 0, "soffset": 0},
    {"vdst": 126, "sdst": 0},
    {"saddr": 124, "vdst": 0, "vdata": 0, "vaddr": 0, "data": 0, "vsrc": 0},
)
SCALAR_BASES = ({"sdst": 0, "src1": 28}, {"src1": 28})
HALF_BASES = ({"sdst": 0, "op_sel": 15}, {"sdst": 0, "op_sel": 14}, {"sdst": 0, "op_sel": 12}, {"sdst": 0, "op_sel": 6})
DEFAULTS = {
    "vdst": 4, "sdst": 20, "src0": 264, "src1": 268, "src2": 272, "vsrc1": 12, "ssrc0": 24, "ssrc1": 28, "simm16": 0,
    "sdata": 20, "sbase": 4, "soffset": 28, "offset": 16, "addr": 8, "data0": 12, "data1": 16, "data": 20, "vdata": 20,
    "vaddr": 8, "srsrc": 3, "ssamp": 5, "saddr": 40, "vsrc": 8, "attr": 5, "attrchan": 1, "srcx0": 264, "vsrcx1": 12,
    "vdstx": 20, "srcy0": 264, "vsrcy1": 12, "vdsty": 20, "vsrc0": 4, "vsrc2": 12, "vsrc3": 16, "scale_src0": 284,
    "scale_src1": 288,
}  # fmt: skip


def split(text: str) -> tuple[str, list[str], str]:
    """Take a text apart: the mnemonic, its operands, and the rest behind the last operand."""
    mnemonic, _, rest = text.partition(" ")
    if rest.startswith(" "):
        mnemonic, rest = mnemonic + "~", rest[1:]
    operands: list[str] = []
    at = 0
    depth = 0
    comment = False
    start = 0
    while at < len(rest):
        char = rest[at]
        if comment:
            comment = rest[at - 1 : at + 1] != "*/"
        elif rest[at : at + 2] == "/*":
            comment = True
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and not depth:
            operands.append(rest[start:at])
            start = at + 2
        elif char == " " and not depth and at > start:
            break
        at += 1
    else:
        at = len(rest)
    last = rest[start:at]
    if last and (last in FLAG_WORDS or (":" in last.split("[")[0] and not REGISTER.match(last))):
        return mnemonic, operands, f" {rest[start:]}"
    if last:
        operands.append(last)
    return mnemonic, operands, rest[at:]


def halved(operand: str) -> str:
    """Return an operand that does not say which half of the register it is."""
    return re.sub(r"\.[lh]", ".x", operand)


def bare(operand: str) -> str:
    """Return an operand without its modifiers."""
    return re.sub(r"[-|()]|neg|sext|\.[lh]", "", operand)


FLAG_WORDS = {
    *(
        "clamp",
        "gds",
        "glc",
        "slc",
        "dlc",
        "scc",
        "sc0",
        "sc1",
        "nt",
        "nv",
        "tfe",
        "lwe",
        "lds",
        "offen",
        "idxen",
        "row_mirror",
    )
}
WHOLE = {"s_waitcnt", "s_waitcnt_depctr", "s_wait_alu", "s_delay_alu"}


OTHER_HALF_X = 8 << 22 | 264 | 4 << 56
OTHER_HALF_Y = 8 << 17 | 264 << 32 | 2 << 49
OTHER_LONG_HALF_X = 8 << 18 | 264 | 4 << 64
OTHER_LONG_HALF_Y = 8 << 12 | 264 << 32 | 5 << 88
"""The other half of a dual instruction: a move."""


class Problem(Exception):
    """What a row would have to say cannot be said."""


class Learner:
    """Finds the rows of one processor."""

    def __init__(self, processor: str, major: int, wave_size: int) -> None:
        self.oracle = Oracle(processor, wave_size if major >= 10 else 0)
        self.other = Oracle(processor, 96 - wave_size) if major >= 10 else None
        self.processor = processor
        self.major = major
        self.classes: dict[str, frozenset[int]] = {}
        self.book = CodeBook(major, wave_size, self.classes)
        self.layouts = formats(major)
        self.has_long_literals = False
        self.problems: list[str] = []
        self.names = self._names()
        self.swept: dict[object, str] = {}

    def close(self) -> None:
        """End the processes that were asked."""
        self.oracle.close()
        if self.other is not None:
            self.other.close()

    # --- Numbers that have names ----------------------------------------------------------------------------------

    def _names(self) -> dict[str, dict[int, str]]:
        """Find the names of hardware registers, messages, buffer formats and targets of exports."""
        names: dict[str, dict[int, str]] = {"hwreg": {}, "message": {}, "format": {}, "target": {}, "option": {}}
        self.names = names
        read = self._opcode("SOPK", "s_getreg_b32")
        layout = self.layouts["SOPK"]
        words = [layout.match | insert(read, layout.opcode) | number for number in range(64)]
        for number, text in enumerate(self.ask(layout, words)):
            name = text.partition("hwreg(")[2].partition(",")[0]
            if not name.isdigit():
                names["hwreg"][number] = name
        send = self._opcode("SOPP", "s_sendmsg")
        layout = self.layouts["SOPP"]
        numbers = range(256) if self.major >= 11 else [number for number in range(1024) if not number & ~MESSAGE_BITS]
        words = [layout.match | insert(send, layout.opcode) | number for number in numbers]
        for number, text in zip(numbers, self.ask(layout, words), strict=True):
            name = text.partition("sendmsg(")[2].removesuffix(")")
            if name.startswith("MSG"):
                names["message"][number] = name
        layout = self.layouts.get("MTBUF") or self.layouts["VBUFFER"]
        load = self._opcode(layout.name, "tbuffer_load_format_x", or_none=True)
        base = self.base(layout, load, 0, {"saddr": 124})
        words = [base | insert(number, layout.modifiers["format"]) for number in range(128 * (load >= 0))]
        for number, text in enumerate(self.ask(layout, words)):
            name = text.partition("format:[")[2].partition("]")[0]
            if name or " format:" not in text:
                names["format"][number] = name
        layout = self.layouts["VOP3"]
        add = self._opcode("VOP3", "v_add_f32_e64")
        if self.ask(layout, [self.base(layout, add, 0, {"sdst": 0, "src0": LITERAL})])[0]:
            self.has_long_literals = True
            names["option"][LONG_LITERALS] = "literals"
        layout = self.layouts["SOP1"]
        move = self._opcode("SOP1", "s_mov_b64")
        if " 0x" in self.ask(layout, [self.base(layout, move, 0, {"sdst": 0, "ssrc0": WIDE_LITERAL})])[0]:
            names["option"][WIDE_LITERALS] = "wide literals"
            self.book = CodeBook(self.major, self.book.wave_size, self.classes, has_wide_literals=True)
        layout = self.layouts["EXP"]
        words = [layout.match | insert(number, layout.operands["tgt"]) for number in range(64)]
        for number, text in enumerate(self.ask(layout, words)):
            name = text.partition(" ")[2].partition(" ")[0]
            if name and not name.startswith("invalid"):
                names["target"][number] = name
        return names

    def _opcode(self, key: str, mnemonic: str, *, or_none: bool = False) -> int:
        layout = self.layouts[key]
        width = sum(size for _, size in layout.opcode)
        words = [self.base(layout, opcode, 0, {"sdst": 0}) for opcode in range(1 << width)]
        for opcode, text in enumerate(self.ask(layout, words)):
            if text.split(" ")[0] == mnemonic:
                return opcode
        if or_none:
            return -1
        raise Problem(f"{self.processor} has no {mnemonic}")

    # --- Asking ---------------------------------------------------------------------------------------------------

    def ask(
        self, layout: InstructionFormat, words: list[int], *, filler: bytes = FILLER, other: bool = False
    ) -> list[str]:
        oracle = self.other if other and self.other else self.oracle
        if layout.key == "VOPD.x":
            words = [word | OTHER_HALF_Y for word in words]
        elif layout.key == "VOPD.y":
            words = [word | OTHER_HALF_X for word in words]
        elif layout.name == "VOPD3":
            other_half = OTHER_LONG_HALF_X if layout.variant == "y" else OTHER_LONG_HALF_Y
            words = [word | other_half for word in words]
        pieces = [(word.to_bytes(layout.size, "little") + filler)[:LONGEST] for word in words]
        answers = oracle.texts(pieces)
        # A shorter instruction is one of another format.
        texts = ["" if text == CRASHED or size < layout.size else text for size, text in answers]
        if layout.name in {"VOPD", "VOPD3"}:
            return [text.split(" :: ")[layout.variant == "y"] if text else "" for text in texts]
        return texts

    def base(self, layout: InstructionFormat, opcode: int, fixed: int, changes: dict[str, int]) -> int:
        word = layout.match | insert(opcode, layout.opcode) | fixed
        taken = layout.mask | bits_of(layout.opcode)
        for name, pieces in layout.operands.items():
            width = sum(size for _, size in pieces)
            value = changes.get(name, DEFAULTS.get(name, 0))
            if name in {"src0", "src1", "src2"} and width == 8:
                value &= 255
            if width == 9 and layout.variant == "sdwa":
                value ^= 256
            if name == "sdst" and layout.variant == "sdwa":
                value = value | 128 if value >= 0 else 0
            if not bits_of(pieces) & (taken | fixed):
                word |= insert(value, pieces)
                taken |= bits_of(pieces)
        if "op_sel" in changes:
            word |= insert(changes["op_sel"], layout.modifiers["op_sel"])
        if "offen" in layout.modifiers and changes.get("offen", 1):
            word |= bits_of(layout.modifiers["offen"]) | bits_of(layout.modifiers["idxen"])
        return word

    # --- Rows -----------------------------------------------------------------------------------------------------

    def rows(self, layout: InstructionFormat) -> Iterator[tuple[int, str]]:  # noqa: C901, PLR0912 (formats have exceptions)
        """Yield the rows of a format: the opcode, and the row without it."""
        width = sum(size for _, size in layout.opcode)
        selectors = SELECTORS.get(f"{self.major}:{layout.key}", SELECTORS.get(layout.key, ()))
        if layout.name == "EXP":
            yield from self.exports(layout)
            return
        if layout.name in {"MIMG", "VIMAGE", "VSAMPLE"}:
            for opcode in range(1 << width):
                line = self.image(layout, opcode)
                if line:
                    yield opcode, line
            return
        for opcode in range(1 << width):
            if layout.name == "VOP2" and opcode >= 0x3E:
                continue
            if (layout.name, opcode) in {("SOPK", 0x1D), ("SOPK", 0x1E), ("SOPK", 0x1F)}:
                continue
            if layout.name == "VOP3" and opcode >= 0x380 and self.major < 10:
                continue
            if layout.name == "TENSOR" and opcode < 0xC0:
                continue
            if layout.name == "SOP2" and opcode >= 0x60:
                continue
            seen: list[str] = []
            telling = self.telling(layout, opcode, selectors)
            excluded = {name: {value for value in values if value >= 0} for name, values in telling if -1 in values}
            for mask, fixed in selections(layout, telling):
                line = self.row(layout, opcode, mask, fixed, excluded)
                if line and line not in seen:
                    seen.append(line)
            seen.sort(key=lambda line: -fixed_bits(line))
            for line in seen:
                yield opcode, line
            if seen and self.major >= 11 and layout.name == "VOP3" and re.search(r"=v?16\w*h", seen[0]):
                # With a scalar register, or a bit for an operand that is not there, LLVM does not tell halves.
                for excluded, changed in (({"src1": set(range(256, 512))}, SCALAR_BASES), ({}, HALF_BASES)):
                    line = self.row(layout, opcode, 0, 0, excluded, changed)
                    if line and line not in seen and not re.search(r"=v?16\w*h", line):
                        seen.append(line)
                        yield opcode, line

    def image(self, layout: InstructionFormat, opcode: int) -> str:
        """Return the row of an image instruction, whose operands are as long as masks and shapes say."""
        for changes in ({"sdst": 0}, {"vaddr": 9}, {"nsa": 1}, {"ssamp": 0}, {"ssamp": 0, "nsa": 1}):
            base = self.base(layout, opcode, 0, changes) | insert(1, layout.modifiers["dmask"])
            base &= ~(bits_of(layout.operands.get("nsa", ())) if "nsa" not in changes else 0)
            text = self.ask(layout, [base])[0]
            if text:
                break
        else:
            return ""
        if "cmpswap" in text:  # which has two registers of data for each component
            base |= insert(3, layout.modifiers["dmask"])
            text = self.ask(layout, [base])[0]
        try:
            return ImageLearner(self, layout, base, text).line()
        except Problem as problem:
            self.problems.append(f"{layout.key} {opcode:#x} {text!r}: {problem}")
            return ""

    def exports(self, layout: InstructionFormat) -> Iterator[tuple[int, str]]:
        """Yield the rows of exports: their operands are the same everywhere."""
        for opcode in range(2):
            base = self.base(layout, opcode, 0, {"tgt": 0, "en": 15})
            text = self.ask(layout, [base])[0]
            if not text:
                continue
            used = layout.mask
            for pieces in (*layout.operands.values(), *layout.modifiers.values()):
                used |= bits_of(pieces)
            free = [bit for bit in range(64) if not used >> bit & 1]
            texts = self.ask(layout, [base ^ 1 << bit for bit in free])
            mask = sum(1 << bit for bit, other in zip(free, texts, strict=True) if other != text)
            fixed = f" !{mask:x}/0" if mask else ""
            yield opcode, f"{text.split(' ')[0]} +{','.join(layout.modifiers)}{fixed}"

    def telling(
        self, layout: InstructionFormat, opcode: int, selectors: tuple[tuple[str, tuple[int, ...]], ...]
    ) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the selectors that make a difference for an opcode beside their own modifier."""
        result = []
        for selector in selectors:
            name, values = selector
            pieces = layout.operands.get(name) or layout.modifiers[name]
            others = tuple(other for other in selectors if other is not selector)
            for mask, fixed in selections(layout, others):
                shapes = set()
                is_first_valid = True
                for value in values:
                    chosen = insert(value, pieces) if value >= 0 else 0
                    bits = bits_of(pieces) if value >= 0 else 0
                    zeros = [
                        {name: 0 for bit, name in enumerate(layout.operands) if number >> bit & 1}
                        for number in range(16)
                    ]
                    words = [
                        self.base(layout, opcode, fixed | chosen, changes) & ~(mask | bits) | fixed | chosen
                        for changes in (*BASES, *zeros)
                    ]
                    texts = [text for text in self.ask(layout, words) if text]
                    if texts:
                        shapes.add(shape(texts[0]))
                    elif value == values[0]:
                        is_first_valid = False
                if any(shape.startswith("v_wmma") and SIZED in shape for shape in shapes):
                    break  # their formats are where others have op_sel_hi
                if len(shapes) > 1 or (shapes and not is_first_valid):
                    result.append(selector)
                    break
        return tuple(result)

    def row(
        self,
        layout: InstructionFormat,
        opcode: int,
        mask: int,
        fixed: int,
        excluded: dict[str, set[int]],
        changed: tuple[dict[str, int], ...] = (),
    ) -> str:
        """Return the row of an opcode where some bits are fixed; empty if there is none."""
        bases = [self.base(layout, opcode, fixed, changes) for changes in changed or BASES]
        bases = [word & ~mask | fixed for word in bases]
        texts = self.ask(layout, bases)
        if not any(texts) and not changed:
            names = list(layout.operands)
            zeros = [
                {name: 0 for bit, name in enumerate(names) if number >> bit & 1}
                for number in range(1 << min(len(names), 6))
            ]
            bases = [self.base(layout, opcode, fixed, changes) & ~mask | fixed for changes in zeros]
            texts = self.ask(layout, bases)
        counted = layout.name == "SOPP"

        def worth(number: int) -> tuple[object, ...]:
            text = texts[number]
            return bool(text), "/*" not in text, len(text.split(" ")) > 1 and counted, -number

        best = max(range(len(bases)), key=worth)
        if not texts[best] or (changed and re.search(r"\.[lh]\b", texts[best])):
            return ""
        try:
            return RowLearner(self, layout, mask, fixed, excluded, bases[best], texts[best]).line()
        except Problem as problem:
            self.problems.append(f"{layout.key} {opcode:#x} {texts[best]!r}: {problem}")
            return ""


def shape(text: str) -> str:
    """Return the mnemonic and the kinds and widths of operands."""
    mnemonic, operands, _ = split(text)
    parts = [mnemonic]
    for operand in operands:
        match = REGISTER.match(operand)
        parts.append("number" if not match else match[1] if match[2] else f"{match[1]}{int(match[4]) - int(match[3])}")
        if operand in {"off", "null"}:
            parts[-1] = operand
    return " ".join(parts)


def fixed_bits(line: str) -> int:
    for token in line.split():
        if token[0] == "!":
            return int(token[1:].partition("/")[0], 16).bit_count()
    return 0


def selections(
    layout: InstructionFormat, selectors: tuple[tuple[str, tuple[int, ...]], ...]
) -> Iterator[tuple[int, int]]:
    """Yield the bits that tell rows of one opcode apart: their mask and their value."""
    chosen: list[tuple[int, int]] = [(0, 0)]
    for name, values in selectors:
        pieces = layout.operands.get(name) or layout.modifiers[name]
        mask = bits_of(pieces)
        chosen = [
            (before | mask, fixed | insert(value, pieces)) if value >= 0 else (before, fixed)
            for before, fixed in chosen
            for value in values
        ]
    yield from chosen


class RowLearner:
    """Finds what one row says."""

    def __init__(
        self,
        learner: Learner,
        layout: InstructionFormat,
        mask: int,
        fixed: int,
        excluded: dict[str, set[int]],
        base: int,
        text: str,
    ) -> None:
        self.excluded = excluded
        self.learner = learner
        self.layout = layout
        self.selected = mask
        self.fixed = fixed
        self.base = base
        self.text = text
        self.mnemonic, self.operands, self.tail = self.split(text)
        self.used = layout.mask | bits_of(layout.opcode)
        self.tokens: list[str] = []
        self.implied: set[str] = set()

    def split(self, text: str) -> tuple[str, list[str], str]:
        mnemonic, _, rest = text.partition(" ")
        if mnemonic in WHOLE:
            return mnemonic, [rest], ""
        return split(text)

    def ask(self, words: list[int], **options: object) -> list[str]:
        return self.learner.ask(self.layout, words, **options)  # type: ignore[arg-type]

    def set(self, name: str, value: int) -> int:
        pieces = self.layout.operands.get(name) or self.layout.modifiers[name]
        return self.base & ~bits_of(pieces) | insert(value, pieces)

    def line(self) -> str:
        places = self.places()
        for number, operand in enumerate(self.operands):
            name = places.get(number)
            if name is None:
                self.tokens.append(self.constant(number, operand))
            else:
                self.tokens.append(self.kind(number, name))
        modifiers = self.modifiers()
        # What the base has beside zero in fields that nothing reads is only an accident of the base.
        fixed = self.fixed_bits()
        if self.mnemonic == "buffer_store_lds_dword":
            modifiers.insert(modifiers.index("offset") + 1, modifiers.pop(modifiers.index("lds")))
        tokens = [self.mnemonic, *self.tokens, f"+{','.join(modifiers)}" if modifiers else "", fixed]
        return " ".join(filter(None, tokens))

    # --- Which field is which operand -----------------------------------------------------------------------------

    def places(self) -> dict[int, str]:
        """Return the field of each operand."""
        result: dict[int, str] = {}
        for name, pieces in self.layout.operands.items():
            bits = bits_of(pieces)
            if bits & (self.selected | self.layout.mask | bits_of(self.layout.opcode)):
                continue
            width = sum(size for _, size in pieces)
            now = extract(self.base, pieces)
            values = [
                value
                for value in (now ^ 4, now ^ 8, now ^ 16, 0, 1, 2, 128, now ^ 1, now ^ 2)
                if value != now and value < 1 << width
            ]
            changed: set[int] = set()
            for text in self.ask([self.set(name, value) for value in values]):
                if not text:
                    continue
                mnemonic, operands, _ = self.split(text)
                if mnemonic == self.mnemonic and len(operands) == len(self.operands):
                    changed = {
                        n for n, (a, b) in enumerate(zip(operands, self.operands, strict=True)) if bare(a) != bare(b)
                    }
                    if changed:
                        break
            if len(changed) == 1:
                number = changed.pop()
                if number in result and not bits & bits_of(self.layout.operands[result[number]]):
                    if name == "attrchan":
                        self.used |= bits
                        continue
                    raise Problem(f"operand {number} depends on {result[number]} and {name}")
                if number not in result or bool(REGISTER.match(self.operands[number])) == name.endswith("_"):
                    result[number] = name
            elif changed:
                raise Problem(f"operands {changed} depend on {name}")
        for name in result.values():
            self.used |= bits_of(self.layout.operands[name])
        return result

    def constant(self, number: int, operand: str) -> str:
        """Return the token of an operand that no field changes."""
        if operand in {"vcc", "vcc_lo"}:
            return "vcc=m@6a"
        if operand == "off":
            return f"{'vaddr' if number < 2 else 'saddr'}=off"
        if operand == "m0":
            return f"m0=32@{124 if self.learner.major < 11 else 125:x}"
        if operand in {"exec", "exec_lo"}:
            return "exec=m@7e"
        if operand == "0x11223344" or operand.startswith("lit(") or "0x11223344" in operand:
            return self.literal(number)
        if operand.startswith("exec_hi/*") and self.layout.name == "FLAT":
            match = CLASS.search(operand)
            name = match[1] if match else ""
            self.learner.classes.setdefault(name, frozenset())
            return f"saddr=32:{name}@7f"
        if operand == "src_lds_direct":
            return "lds=32@fe"
        if operand == "null":
            return (
                f"{'soffset' if self.layout.name == 'SMEM' else 'null'}=32@{125 if self.learner.major < 11 else 124:x}"
            )
        raise Problem(f"what is {operand}?")

    def literal(self, number: int) -> str:
        if f"{WIDE_FILLER:#x}" in self.operands[number]:
            for type_name in ("f64n", "f64", "b64"):
                if all(
                    self.split(self.ask([self.base], filler=literal.to_bytes(8, "little"))[0])[1][number]
                    == wide_literal_text(type_name, literal)[1]
                    for literal in WIDE_LITERAL_VALUES
                ):
                    return f"literal=L64{type_name}"
            raise Problem("no type of wide literals fits")
        for type_name in ("b32", "f16", "f64", "b64", "i16", "v2f16", "b32n"):
            for literal in LITERALS:
                text = self.ask([self.base], filler=literal.to_bytes(4, "little") * 3)[0]
                if self.split(text)[1][number] != literal_text(type_name, literal)[1]:
                    break
            else:
                bits = {"b32": 32, "f16": 16, "f64": 64, "b64": 64, "i16": 16, "v2f16": 32, "b32n": 32}[type_name]
                return f"literal=K{bits}{type_name}"
        for literal in LITERALS:
            text = self.ask([self.base], filler=literal.to_bytes(4, "little") * 3)[0]
            if self.split(text)[1][number] != f"{literal:#x}":
                raise Problem(f"literal {literal:#x} is {self.split(text)[1][number]}")
        return "literal=K32"

    # --- How an operand is read -----------------------------------------------------------------------------------

    def operand_texts(self, number: int, words: list[int], **options: object) -> list[str | None]:
        """Return the text of an operand in some variations; None where there is no instruction."""
        result: list[str | None] = []
        for text in self.ask(words, **options):
            if not text:
                result.append(None)
                continue
            mnemonic, operands, _ = self.split(text)
            result.append(operands[number] if mnemonic == self.mnemonic and number < len(operands) else None)
        return result

    def kind(self, number: int, name: str) -> str:  # noqa: C901, PLR0912, PLR0915 (fields have exceptions)
        """Return the token of an operand."""
        pieces = self.layout.operands[name]
        width = sum(size for _, size in pieces)
        text = self.operands[number]
        if name in {"simm16", "offset", "attr", "attrchan", "probe"} or (
            not REGISTER.match(text) and width not in {7, 8, 9}
        ):
            return self.immediate(number, name, width)
        values = [value for value in self.values(name, width) if value not in self.excluded.get(name, ())]
        texts = dict(zip(values, self.operand_texts(number, [self.set(name, value) for value in values]), strict=True))
        marks, halves, prefix_mark = self.marks(number, name)
        role = "="
        match = next((m for t in (text, *texts.values()) if t and (m := REGISTER.match(t))), None)
        if match is None:
            return self.immediate(number, name, width)
        count = 1 if match[2] else int(match[4]) - int(match[3]) + 1
        letter = match[1]
        if width in {5, 6}:
            prefix = {5: "q", 6: "p"}[width]
        elif self.layout.variant == "sdwa" and width == 9:
            prefix = "x"
        elif self.layout.variant == "sdwa" and name == "sdst":
            prefix = "y"
        elif prefix_mark == "w":
            prefix = "w" if width == 8 else "W"
        elif name == "vdsty" and len(pieces) == 2:
            prefix = "u"
        elif width == 9 and letter == "a":
            prefix = "A"
        elif (
            width in {8, 9}
            and letter in "va"
            and all(t is None or (REGISTER.match(t) and t[0] == letter) for t in texts.values())
            and width == 8
        ):
            prefix = letter
        else:
            prefix = ""
        if width == 9 and self.layout.name == "VBUFFER":
            prefix = "e"
        if width == 9 and not prefix and texts.get(0) and str(texts[0]).startswith("v0"):
            prefix = "v"
        if name == "vaddr" and "offen" in self.layout.modifiers and count == 2 and "offen" in self.tail:
            prefix = "b"
            self.implied |= {"offen", "idxen"}
        is_mask = self.is_mask(number, count)
        if match[5] and not halves:
            halves = "l"
        if prefix == "v" and texts.get(127) and not texts.get(128) and not texts.get(192):
            halves = "n"
        for candidate in self.candidates(count, prefix, halves, texts, is_mask=is_mask):
            if self.fits(candidate, prefix, halves, texts, number, name):
                # LLVM 22 shows the codes of constants where it has lost track of the operands.
                type_name = "b32" if candidate.type == "c32" else candidate.type
                kind = CodeKind(candidate.bits, type_name, candidate.class_name, candidate.has_halves)
                return self.token(name, role, prefix, kind, halves, marks, is_mask=is_mask)
        best: dict[int, object] = {}
        for candidate in self.candidates(count, prefix, halves, texts, is_mask=is_mask):
            wrong = {}
            for value, shown in texts.items():
                expected = self.predicted(candidate, prefix, halves, value)
                if expected != (shown and CLASS.sub("", shown.replace("/*Invalid immediate*/", ""))):
                    wrong[value] = shown, expected
            best[len(wrong)] = candidate, wrong
        raise Problem(f"no kind fits {name} {prefix}{best[min(best)]}"[:600])

    def values(self, name: str, width: int) -> list[int]:
        if width in {5, 6}:
            return list(range(1 << width))
        if width == 7:
            return [code for code in SOURCE_CODES if code < 128]
        if self.layout.variant == "sdwa" and width == 9:
            return [*VECTOR_CODES, *(256 + code for code in SOURCE_CODES)]
        if self.layout.variant == "sdwa" and name == "sdst":
            return [0, 5, *(128 + code for code in SOURCE_CODES if code < 128)]
        codes = {*SOURCE_CODES, *VECTOR_CODES} if width == 8 else {*SOURCE_CODES, 255, *(256 + c for c in VECTOR_CODES)}
        has_no_wide = self.layout.variant or self.layout.name == "TENSOR" or WITH_CONSTANT.search(self.mnemonic)
        if has_no_wide and self.learner.book.has_wide_literals:
            codes.remove(WIDE_LITERAL)
        return sorted(codes)

    def marks(self, number: int, name: str) -> tuple[str, str, str]:
        """Return the modifiers that a source has, how its half is told, and whether a bit tells the register file."""
        position = POSITIONS.get(name, 9)
        text = self.operands[number]
        marks = halves = prefix = ""
        for bit, mark in (("neg", "-"), ("abs", "|"), ("sext", "~"), ("sel", "h"), ("acc", "w")):
            shift = self.layout.bits.get(f"{bit}{position}")
            if shift is None or self.selected >> shift & 1:
                continue
            changed = self.operand_texts(number, [self.base ^ 1 << shift])[0]
            if changed is None or changed == text or not MARKED[bit].match(changed):
                continue
            if mark == "h":
                halves = "h"
            elif mark == "w":
                prefix = "w"
            else:
                marks += mark
            self.used |= 1 << shift
        wide = self.layout.modifiers.get("tfe")
        if name == "vdata" and wide and not bits_of(wide) & self.used:
            changed = self.operand_texts(number, [self.base | bits_of(wide)])[0]
            if changed and "[" in changed and changed != text:
                self.implied.add("tfe")
        return marks, halves, prefix

    def is_mask(self, number: int, count: int) -> bool:
        if self.learner.other is None:
            return False
        text = self.operand_texts(number, [self.base], other=True)[0]
        match = REGISTER.match(text or "")
        return match is not None and match[1] == "s" and (1 if match[2] else int(match[4]) - int(match[3]) + 1) != count

    def candidates(
        self, count: int, prefix: str, halves: str, texts: dict[int, str | None], *, is_mask: bool
    ) -> Iterator[CodeKind]:
        bits = 0 if is_mask else 32 * count
        class_name = next((m[1] for t in texts.values() if t and (m := CLASS.search(t))), "")
        if class_name and class_name not in self.learner.classes:
            self.learner.classes[class_name] = frozenset()
        has_constants = any(
            t and "/*Invalid immediate*/" not in t and (t[0].isdigit() or t[0] == "-") for t in texts.values()
        )
        if has_constants:
            for type_name in TYPES.get(count, TYPES[0]):
                size = 16 if type_name in {"f16", "i16", "bf16"} and count == 1 else bits
                yield CodeKind(size, type_name, class_name, halves in {"h", "l"})
        yield CodeKind(16 if halves in {"h", "l"} else bits, "", class_name, halves in {"h", "l"})
        yield CodeKind(bits, "r", class_name)

    def code(self, prefix: str, halves: str, value: int) -> int:
        if prefix in {"v", "w", "b"}:
            value = value & 255 | VECTOR
        elif prefix == "a" or (prefix == "A" and value >= VECTOR):
            value |= ACCUMULATION
        elif prefix == "x":
            value ^= VECTOR
        elif prefix == "e" and not is_scalar(value):
            return NOTHING
        elif prefix == "u":
            value = value ^ 1 | VECTOR
        elif prefix == "p":
            value <<= 1
        elif prefix == "q":
            value <<= 2
        elif prefix == "y":
            value = value & 127 if value & 128 else 106
        if halves == "n" and value & 0x80:
            return NOTHING
        if halves == "l" and value >= VECTOR:
            value = value & ~0x80 | (value & 0x80) * (HIGH_HALF // 0x80)
        return value

    def predicted(self, kind: CodeKind, prefix: str, halves: str, value: int) -> str | None:
        code = self.code(prefix, halves, value)
        is_literal = self.learner.book.is_literal(code)
        if is_literal and not has_literals(self.layout, has_long=self.learner.has_long_literals):
            return None
        literal = WIDE_FILLER if code == WIDE_LITERAL else 0x11223344
        named = self.learner.book.name(CodeKind(kind.bits, kind.type, "", kind.has_halves), code, literal)
        return None if named is None else named.text.replace("/*Invalid immediate*/", "")

    def fits(
        self, kind: CodeKind, prefix: str, halves: str, texts: dict[int, str | None], number: int, name: str
    ) -> bool:
        codes: dict[int, bool] = {}
        for value, text in texts.items():
            predicted = self.predicted(kind, prefix, halves, value)
            if text is None or predicted is None:
                if text != predicted:
                    return False
                continue
            plain = text.replace("/*Invalid immediate*/", "")
            match = CLASS.search(plain)
            if match:
                plain = CLASS.sub("", plain)
                if match[1] != kind.class_name:
                    return False
            if plain != predicted:
                return False
            if ("/*Invalid immediate*/" in text) != (kind.type in {"", "r"} and (text[0].isdigit() or text[0] in "-l")):
                return False
            codes[self.code(prefix, halves, value) & 1023] = match is None
        width = sum(size for _, size in self.layout.operands[name])
        if (
            kind.type
            and kind.type != "c32"
            and width in {8, 9}
            and prefix == ""
            and has_literals(self.layout, has_long=self.learner.has_long_literals)
        ):
            has_wide = self.learner.book.has_wide_literals and texts.get(WIDE_LITERAL) is not None
            if not self.fits_literals(kind.type, number, name, has_wide=has_wide):
                return False
        if kind.class_name:
            self.sweep(kind, prefix, halves, number, name, width)
        return True

    def fits_literals(self, type_name: str, number: int, name: str, *, has_wide: bool) -> bool:
        """Return whether literals are written as those of a type."""
        asked: list[tuple[int, int, tuple[int, ...], Callable[[str, int], tuple[int, str]]]] = [
            (LITERAL, 4, LITERALS, literal_text)
        ]
        if has_wide:
            asked.append((WIDE_LITERAL, 8, WIDE_LITERAL_VALUES, wide_literal_text))
        for code, size, literals, write in asked:
            word = self.set(name, code)
            for literal in literals:
                text = self.operand_texts(number, [word], filler=literal.to_bytes(size, "little") * (12 // size))[0]
                if text is None:
                    break
                if text != write(type_name, literal)[1]:
                    return False
        return True

    def sweep(self, kind: CodeKind, prefix: str, halves: str, number: int, name: str, width: int) -> None:
        """Find out which codes a class of registers has."""
        learner = self.learner
        key = kind.class_name, prefix, width
        if key in learner.swept:
            return
        learner.swept[key] = ""
        valid = set(learner.classes[kind.class_name])
        shifts = [0]
        if prefix in {"w", "W"}:
            shifts = [0, 1 << self.layout.bits[f"acc{POSITIONS.get(name, 0)}"]]
        for mark in shifts:
            words = [self.set(name, value) ^ mark for value in range(1 << width)]
            for value, text in enumerate(self.operand_texts(number, words)):
                is_wide = value == WIDE_LITERAL and width > 7 and self.learner.book.has_wide_literals
                if text and not CLASS.search(text) and not is_wide:
                    code = self.code(prefix, halves, value) & 1023
                    match = REGISTER.match(text)
                    if match and match[1] == "a":
                        code |= 512
                    valid.add(code)
        learner.classes[kind.class_name] = frozenset(valid)

    def token(
        self, name: str, role: str, prefix: str, kind: CodeKind, halves: str, marks: str, *, is_mask: bool
    ) -> str:
        bits = "m" if is_mask else str(kind.bits)
        class_name = f":{kind.class_name}" if kind.class_name else ""
        sized = "s" if SIZED in self.mnemonic and name in {"src0", "src1"} else ""
        if sized:
            self.sweep_sizes(kind, name, prefix)
        if name == "vdata" and "tfe" in self.implied:
            sized = "t"
            odd = 1 << self.layout.operands[name][0][0]
            word = (self.base | bits_of(self.layout.modifiers["tfe"])) & ~odd
            widened = self.operand_texts(0, [word | odd])[0]
            if widened and (match := CLASS.search(widened)):
                sized = "T"
                self.learner.classes.setdefault(match[1], frozenset())
                wide = CodeKind(kind.bits + 32, "", match[1])
                saved, self.base = self.base, word
                self.sweep(wide, prefix, "", 0, name, 8)
                self.base = saved
        return f"{name}{role}{prefix}{bits}{kind.type}{halves}{sized}{class_name}{marks}"

    def sweep_sizes(self, kind: CodeKind, name: str, prefix: str) -> None:
        """Find out which codes the classes of narrower formats have."""
        position = POSITIONS[name]
        key = next(pair[position] for pair in SIZE_FIELDS if pair[position] in self.layout.modifiers)
        number = {"src0": 1, "src1": 2}[name]
        saved = self.base
        for value, bits in ((2, 3 * kind.bits // 4), (4, kind.bits // 2)):
            self.base = self.set(key, value)
            class_name = kind.class_name.replace(str(kind.bits), str(bits))
            self.learner.classes.setdefault(class_name, frozenset())
            self.sweep(CodeKind(bits, "", class_name), prefix, "", number, name, 9)
            self.base = saved

    def immediate(self, number: int, name: str, width: int) -> str:
        values = [
            value for value in IMMEDIATE_VALUES if value < 1 << width and value not in self.excluded.get(name, ())
        ]
        if name == "simm16":
            values += [value * 0x101 & 0xFFFF for value in range(3, 250, 13)]
        texts = self.operand_texts(number, [self.set(name, value) for value in values])
        for is_strict in (True, False):
            for kind, write in IMMEDIATES.items():
                if kind == "attr":
                    continue
                try:
                    written = [write(value, self.learner.major, self.learner.names) or None for value in values]
                except (KeyError, IndexError):
                    continue
                pairs = zip(written, texts, strict=True)
                if all(text == ours or (text is None and not is_strict) for ours, text in pairs):
                    return f"{name}=#{kind}"
        if self.operands[number].startswith("attr"):
            return f"{name}=#attr"
        shown = dict(zip(values, texts, strict=True))
        best = {}
        for kind in IMMEDIATES:
            try:
                wrong = {
                    v: (t, w)
                    for v, t in shown.items()
                    if t and t != (w := IMMEDIATES[kind](v, self.learner.major, self.learner.names))
                }
            except (KeyError, IndexError):
                continue
            best[len(wrong)] = kind, wrong
        raise Problem(f"no number is written {best[min(best)]}"[:400])

    # --- Modifiers ------------------------------------------------------------------------------------------------

    def modifiers(self) -> list[str]:  # noqa: C901, PLR0912, PLR0915 (modifiers have exceptions)
        result = []
        failed: list[tuple[int, Problem]] = []
        halves = next((key for key, names in HALVES_AND_BYTES.items() if names.match(self.mnemonic)), "op_sel")
        for key, pieces in self.layout.modifiers.items():
            bits = bits_of(pieces)
            if key in {"op_sel", *HALVES_AND_BYTES} and key != halves:
                continue
            if key in self.implied:
                result.append(key)
                self.used |= bits
                continue
            if bits & self.used:
                bits &= ~self.used
                if key not in {"op_sel", *HALVES_AND_BYTES} and (
                    not bits or (bits != bits_of(pieces) and key not in {"neg_lo", "neg_hi"})
                ):
                    continue
            width = sum(size for _, size in pieces)
            values = [0, *(1 << bit for bit in range(width)), (1 << width) - 1]
            if width > 2:
                values += [5 & (1 << width) - 1, 0x1A5 & (1 << width) - 1, 6]
            if key == "dpp8":
                values.remove(128)  # which LLVM 22 takes for 0 in instructions that accumulate
            if key == "dpp_ctrl":
                values = list(range(512))
            if bits_of(pieces) & self.selected:
                told = bits_of(pieces) & self.selected
                values = sorted({value & ~extract(told, pieces) | extract(self.fixed, pieces) for value in values})
                if values == [0]:
                    continue
            texts = self.ask([self.base & ~bits_of(pieces) | insert(value, pieces) for value in values])
            tails = {}
            for value, text in zip(values, texts, strict=True):
                if text:
                    mnemonic, operands, tail = self.split(text)
                    same = operands == self.operands
                    if key in {"op_sel", *HALVES_AND_BYTES} and len(operands) == len(self.operands):
                        same = list(map(halved, operands)) == list(map(halved, self.operands))
                    if mnemonic == self.mnemonic and same:
                        tails[value] = tail
            if (len(tails) < 2 and not bits & self.selected) or (
                len(set(tails.values())) == 1 and not self.is_always(key) and not bits & self.selected
            ):
                continue
            try:
                try:
                    spec = self.modifier(key, tails)
                except Problem:
                    # LLVM 22 takes the control for a constant in operations that also read their destination.
                    if key != "dpp_ctrl":
                        raise
                    spec = self.modifier(key, {value: tail for value, tail in tails.items() if is_scalar(value)})
            except Problem as why:
                changing = (
                    value for value, tail in tails.items() if value & value - 1 == 0 and tail != tails.get(0, tail)
                )
                failed.append((insert(sum(changing), pieces), why))
                continue
            if spec is not None:
                result.append(spec)
                valid = sum(
                    value
                    for value in (1 << bit for bit in range(width))
                    if value in tails
                    or value | extract(self.fixed, pieces) in tails
                    or key in {"dpp_ctrl", "dpp8"}
                    or (SIZED in self.mnemonic and any(key in pair for pair in SIZE_FIELDS))
                )
                self.used |= insert(valid, pieces)
        for bits, problem in failed:
            if bits & ~self.used:
                raise problem
        return result

    def is_always(self, key: str) -> bool:
        return f"{key}:" in self.tail

    def modifier(self, key: str, tails: dict[int, str]) -> str | None:
        written: dict[int, str] = {}
        for spec in VARIANTS.get(key, (key,)):
            write = writer_of(spec, self.learner.major, self.learner.names)
            try:
                written = {value: write(value, {}) for value in tails}
            except IndexError:
                continue
            if len(set(written.values())) < 2 and len(tails) > 1:
                continue
            zero = tails.get(0, next(iter(tails.values())))
            start = written.get(0, next(iter(written.values())))
            for at in range(len(zero) - len(start) + 1):
                if zero[at : at + len(start)] == start:
                    before, after = zero[:at], zero[at + len(start) :]
                    if all(tails[value] == before + written[value] + after for value in tails):
                        return spec
        if len(set(tails.values())) > 1:
            best: dict[int, object] = {}
            for spec in VARIANTS.get(key, (key,)):
                write = writer_of(spec, self.learner.major, self.learner.names)
                wrong = {
                    value: (tail, write(value, {})) for value, tail in tails.items() if write(value, {}) not in tail
                }
                best[len(wrong)] = wrong
            raise Problem(f"no modifier writes {key}: {best[min(best)]}"[:500])
        return None

    def fixed_bits(self) -> str:
        """Return the bits that nothing reads, but that must have a value."""
        mask = self.selected
        value = self.fixed
        own = -1
        if self.layout.name == "VOPD3":
            other = self.learner.layouts["VOPD3.y" if self.layout.variant == "x" else "VOPD3.x"]
            for pieces in (other.opcode, *other.operands.values(), *other.modifiers.values()):
                own &= ~bits_of(pieces)
            for bit in other.bits.values():
                own &= ~(1 << bit)
        if self.layout.name == "VOPD":  # the other bits are the other half
            own = sum(bits_of(pieces) for pieces in self.layout.operands.values()) & ~(
                1 << 56 if self.layout.variant == "y" else 0
            )
        free = [bit for bit in range(8 * self.layout.size) if not (self.used | mask | ~own) >> bit & 1]
        words = [self.base ^ 1 << bit for bit in free]
        for bit, text in zip(free, self.ask(words), strict=True):
            if text != self.text:
                mask |= 1 << bit
                value |= self.base & 1 << bit
        return f"!{mask:x}/{value:x}" if mask else ""


DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def widths(operand: str) -> list[int]:
    """Return how many registers each part of an operand names; those of a list are in brackets."""
    return [1 if match[2] else int(match[4]) - int(match[3]) + 1 for match in REGISTER.finditer(operand)]


def stuck_digit(digit: str) -> str:
    """Return how a table says that neither the data nor the address is as long as masks and shapes say."""
    return chr(ord("A") + int(digit, 36))


class ImageLearner(RowLearner):
    """Finds the row of an image instruction."""

    def __init__(self, learner: Learner, layout: InstructionFormat, base: int, text: str) -> None:
        RowLearner.__init__(self, learner, layout, 0, 0, {}, base, text)

    def split(self, text: str) -> tuple[str, list[str], str]:
        mnemonic, operands, tail = split(text)
        return mnemonic.rstrip("~"), operands, tail

    def line(self) -> str:
        layout = self.layout
        names = ["vdata", "vaddr", "srsrc", "ssamp"][: len(self.operands)]
        for name in ("vdata", "vaddr", "nsa", *names[2:]):
            self.used |= bits_of(layout.operands.get(name, ()))
        accumulation = self.operand_texts(0, [self.base | bits_of(layout.modifiers["tfe"])])[0]
        if accumulation and accumulation[0] == "a":  # GFX90A has no tfe
            self.used |= bits_of(layout.modifiers["tfe"])
        for name in ("vaddr1", "vaddr2", "vaddr3", "vaddr4"):
            if name in layout.operands and any(
                self.ask([self.set(name, 40) | insert(dim, layout.modifiers["dim"]) for dim in range(8)])
            ):
                self.used |= bits_of(layout.operands[name])
        tokens = [self.mnemonic, f"vdata=&{self.data()}"]
        tokens += [
            f"vaddr=&{form}{self.gap(form)}/{self.addresses(form)}"
            for form in range(1 << sum(n for _, n in layout.operands.get("nsa", ())))
        ]
        tokens += [self.kind(number, name) for number, name in enumerate(names) if number >= 2]
        for key, pieces in layout.modifiers.items():
            if key in {"dmask", "dim", "tfe", "d16", "a16", "r128"} and not bits_of(pieces) & self.used:
                text = ""
                for value in (3, 1):
                    text = self.ask([self.base & ~bits_of(pieces) | insert(value, pieces)])[0]
                    if text and re.search(rf" {key}\b", text):
                        self.implied.add(key)
                        if key != "r128":
                            break
                if key == "r128" and key not in self.implied and text and " a16" in text:
                    self.implied.add("a16:r128")
        modifiers = self.modifiers()
        return " ".join(filter(None, [*tokens, f"+{','.join(modifiers)}", self.fixed_bits()]))

    def modifiers(self) -> list[str]:
        if "a16:r128" in self.implied:
            self.used |= bits_of(self.layout.modifiers["r128"])
        result = RowLearner.modifiers(self)
        if "a16:r128" in self.implied:
            place = sum(key in result for key in ("dmask", "unorm", "glc", "slc", "scc"))
            result.insert(place, "a16:r128")
        return result

    def widths_of(self, number: int, words: list[int]) -> list[list[int]]:
        texts = self.ask(words)
        return [widths(self.split(text)[1][number]) if text else [] for text in texts]

    def data(self) -> str:
        """Return the registers of the data: beyond the last register, and for each d16, tfe and component count."""
        modifiers = self.layout.modifiers
        words = []
        for d16 in range(2):
            for tfe in range(2):
                for mask in (0, 1, 3, 7, 15):
                    word = self.base & ~bits_of(modifiers["dmask"]) | insert(mask, modifiers["dmask"])
                    words.append(word | insert(d16, modifiers["d16"]) | insert(tfe, modifiers["tfe"]))
        beyond = (
            self.base
            | bits_of(self.layout.operands["vdata"])
            | insert(15, modifiers["dmask"])
            | insert(1, modifiers["tfe"])
        )
        found = self.widths_of(0, [beyond, *words])
        # Where LLVM has no instruction with so much data, the address also stays as it was decoded first.
        dim = self.telling_shape()
        bits = insert(dim or 0, modifiers.get("dim", ()))
        stuck = [
            dim is not None and parts == self.first_address
            for parts in self.widths_of(1, [word | bits for word in words])
        ]
        digits = [DIGITS[parts[0]] if parts else "0" for parts in found]
        return digits[0] + "".join(
            stuck_digit(digit) if is_stuck else digit for digit, is_stuck in zip(digits[1:], stuck, strict=True)
        )

    def telling_shape(self) -> int | None:
        """Return a shape for which the address is not as long as it is decoded first."""
        modifiers = self.layout.modifiers
        beyond = (
            self.base
            | bits_of(self.layout.operands["vdata"])
            | insert(15, modifiers["dmask"])
            | insert(1, modifiers["tfe"])
        )
        self.first_address = self.widths_of(1, [beyond])[0]
        shapes = [self.base | insert(dim, modifiers.get("dim", ())) for dim in range(8)]
        found = self.widths_of(1, shapes)
        return next((dim for dim, parts in enumerate(found) if parts and parts != self.first_address), None)

    def gap(self, form: int) -> str:
        """Return ``~`` where two spaces follow the mnemonic."""
        nsa = self.layout.operands.get("nsa", ())
        text = self.ask([self.base & ~bits_of(nsa) | insert(form, nsa)])[0]
        return "~" if f"{self.mnemonic}  " in text else ""

    def addresses(self, form: int) -> str:
        """Return the registers of the address beyond the last register of data, and for each a16 and shape."""
        modifiers = self.layout.modifiers
        nsa = self.layout.operands.get("nsa", ())
        base = self.base & ~bits_of(nsa) | insert(form, nsa)
        words = [
            base | insert(a16, modifiers.get("a16", ())) | insert(dim, modifiers.get("dim", ()))
            for a16 in range(2)
            for dim in range(8)
        ]
        beyond = (
            base | bits_of(self.layout.operands["vdata"]) | insert(15, modifiers["dmask"]) | insert(1, modifiers["tfe"])
        )
        found = self.widths_of(1, [beyond, *words])
        parts = [
            "".join(DIGITS[width] for width in entry)
            if len(set(entry)) > 1 and max(entry[:-1]) > 1
            else DIGITS[sum(entry)]
            for entry in found
        ]
        first = self.widths_of(0, [beyond])[0]
        plain = self.base & ~(bits_of(modifiers["dmask"]) | bits_of(nsa))
        masks = self.widths_of(0, [plain | insert(mask, modifiers["dmask"]) for mask in (3, 1, 15)])
        telling = next((mask for mask, width in zip((3, 1, 15), masks, strict=True) if width and width != first), None)
        if telling is not None and all(len(part) == 1 for part in parts):
            changed = [word & ~bits_of(modifiers["dmask"]) | insert(telling, modifiers["dmask"]) for word in words]
            for number, width in enumerate(self.widths_of(0, changed), 1):
                if width == first:
                    parts[number] = stuck_digit(parts[number])
        return "".join(parts) if all(len(part) == 1 for part in parts) else ":" + parts[0]


COUNTS = ("1", "2", "3", "1d", "2d", "3d")
VARIANTS: dict[str, tuple[str, ...]] = {
    "op_sel": (*(f"op_sel:{count}" for count in COUNTS), "op_sel:3db", "op_sel:3dc"),
    "op_sel_hi": tuple(f"op_sel_hi:{count}{mark}" for count in COUNTS[:3] for mark in ("", "z")),
    "neg_lo": tuple(f"neg_lo:{count}" for count in COUNTS[:3]),
    "neg_hi": tuple(f"neg_hi:{count}" for count in COUNTS[:3]),
    "dpp_ctrl": ("dpp_ctrl", "dpp_ctrl:new", "dpp_ctrl:64", "dpp_ctrl:dp"),
    "th": ("th:load", "th:store", "th:atomic"),
    "glc": ("glc", "sc0"),
    "slc": ("slc", "nt"),
    "scc": ("scc", "sc1"),
    "blgp": ("blgp", "neg:3"),
    "byte_sel_": ("byte_sel:hi",),
    "op_sel_": ("op_sel:2da",),
    "offset": (
        "offset",
        "offset:12",
        "offset:13",
        "offset:24",
        "offset:swizzle",
        "offset:swizzle8",
        "offset:x21",
        "offset:x20",
        "offset:X21",
        "offset:X24",
        "offset:x24",
    ),
}
