"""What the codes of operands name: registers, inline constants and literals, and how each is written.

All formats share one space of codes: 0 to 255 are scalar registers, constants and special registers, 256 to 511 vector
registers, 768 to 1023 accumulation registers ("Scalar operands" and "Source operand" in the ISA documents). A kind of
operand says how many bits are meant, how a constant is expanded and which registers may stand there. Registers that
may not are decoded too, as LLVM does; the text has a comment.
"""

from __future__ import annotations

from collections.abc import Mapping

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.instruction import OperandKind

VECTOR = 256
ACCUMULATION = 768
LITERAL = 255
WIDE_LITERAL = 254
"""The code of a literal of 64 bits, on processors that have them; of ``src_lds_direct`` on others."""
NOT_IN_CLASS = 2048
"""Added to the code of a register that may not stand there, whatever its class says."""
HIGH_HALF = 1024
"""Added to the code of a vector register whose high half is meant."""

FLOATS: dict[str, tuple[int, ...]] = {
    "f16": (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118),
    "bf16": (0x3F00, 0xBF00, 0x3F80, 0xBF80, 0x4000, 0xC000, 0x4080, 0xC080, 0x3E22),
    "f32": (
        *(0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000),
        0x3E22F983,
    ),
    "f64": (
        *(value << 48 for value in (0x3FE0, 0xBFE0, 0x3FF0, 0xBFF0, 0x4000, 0xC000, 0x4010, 0xC010)),
        0x3FC45F306DC9C882,
    ),
}
"""The constants of the codes 240 to 248 in each floating-point format."""

FLOAT_TEXTS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")
LONG_INVERSE_PI = "0.15915494309189532"

TYPES: dict[str, str] = {
    "": "f32",
    "b32": "f32",
    "b32n": "f32",
    "i32": "f32",
    "i32n": "f32",
    "c32": "f32",
    "f16n": "f16",
    "v2b32": "f32",
    "b64": "f64",
    "f64": "f64",
    "f16": "f16",
    "v2f16": "f16",
    "v2f16n": "f16",
    "bf16": "bf16",
    "v2bf16": "bf16",
    "i16": "f16",
    "v2i16": "f32",
}
"""The floating-point format of the inline constants of a type of operand."""


@frozen
class CodeKind:
    """How the code of an operand is read. ``bits`` 0: the bits of a lane mask, as many as a wave has lanes."""

    bits: int
    type: str = ""
    """How constants are expanded; ``c32``: written as their codes.

    Where there may be none, it is empty if they are decoded even so, ``r`` if they are not.
    """
    class_name: str = ""
    """LLVM's name for the registers that may stand there, where some may not."""
    has_halves: bool = False
    """Whether it is one half of a vector register."""


@frozen
class CodeName:
    """What a code names."""

    kind: OperandKind
    text: str
    index: int = 0
    register: str = ""
    value: int = 0
    half: int | None = None


SPECIAL_32: dict[int, str] = {
    106: "vcc_lo",
    107: "vcc_hi",
    126: "exec_lo",
    127: "exec_hi",
    230: "src_flat_scratch_base_lo",
    231: "src_flat_scratch_base_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
SPECIAL_64: dict[int, str] = {
    106: "vcc",
    126: "exec",
    230: "src_flat_scratch_base_lo",
    **{code: SPECIAL_32[code] for code in (*range(235, 240), 251, 252, 253)},
}
BEFORE_GFX10_32 = {102: "flat_scratch_lo", 103: "flat_scratch_hi", 104: "xnack_mask_lo", 105: "xnack_mask_hi"}
BEFORE_GFX10_64 = {102: "flat_scratch", 104: "xnack_mask"}
GFX8_32 = {108: "tba_lo", 109: "tba_hi", 110: "tma_lo", 111: "tma_hi"}
GFX8_64 = {108: "tba", 110: "tma"}


def is_small(value: int, bits: int) -> bool:
    """Return whether some bits are an integer that has a code."""
    return value <= 64 or value >= (1 << bits) - 16


class CodeBook:
    """Names the codes of one generation, for waves of one size."""

    def __init__(
        self, major: int, wave_size: int, classes: Mapping[str, frozenset[int]], *, has_wide_literals: bool = False
    ) -> None:
        self.wave_size = wave_size
        self.has_wide_literals = has_wide_literals
        self.classes = classes
        self.last_sgpr = 105 if major >= 10 else 101
        self.first_ttmp = 108 if major >= 9 else 112
        self.special_32 = dict(SPECIAL_32)
        self.special_64 = dict(SPECIAL_64)
        if major < 10:
            self.special_32 |= BEFORE_GFX10_32
            self.special_64 |= BEFORE_GFX10_64
        if major < 9:
            self.special_32 |= GFX8_32
            self.special_64 |= GFX8_64
        null, m0 = (124, 125) if major >= 11 else (125, 124)
        self.null = null
        self.special_32 |= {null: "null", m0: "m0"}
        self.special_64 |= {null: "null"}
        if has_wide_literals:
            del self.special_32[WIDE_LITERAL]

    def is_literal(self, code: int) -> bool:
        """Return whether a code stands for a literal behind the instruction."""
        return code == LITERAL or (code == WIDE_LITERAL and self.has_wide_literals)

    def bits(self, kind: CodeKind) -> int:
        """Return the number of bits of an operand."""
        return kind.bits or self.wave_size

    def name(self, kind: CodeKind, code: int, literal: int = 0) -> CodeName | None:
        """Return what a code names; None for codes that name nothing."""
        bits = self.bits(kind)
        if code >= VECTOR:
            return self._vector(kind, code, bits)
        named = self._scalar(kind, code, bits, literal)
        if named is None:
            return named
        if named.kind is OperandKind.CONSTANT or named.kind is OperandKind.LITERAL:
            comment = "" if kind.type not in {"", "r"} else "/*Invalid immediate*/"
        else:
            comment = self._comment(kind, code)
        return (
            named
            if not comment
            else CodeName(named.kind, named.text + comment, named.index, named.register, named.value)
        )

    def _comment(self, kind: CodeKind, code: int) -> str:
        if not kind.class_name or code in self.classes.get(kind.class_name, ()):
            return ""
        return f"/*Invalid register, operand has '{kind.class_name}' register class*/"

    def _vector(self, kind: CodeKind, code: int, bits: int) -> CodeName | None:
        index = code & 255
        half = None
        is_accumulation = bool(code & 512)
        letter = "a" if is_accumulation else "v"
        count = (bits + 31) // 32
        if index + count > 256 and is_accumulation:
            return None
        text = f"{letter}{index}" if count == 1 else f"{letter}[{index}:{index + count - 1}]"
        if kind.has_halves:
            half = int(bool(code & HIGH_HALF))
            text += (".l", ".h")[half]
        text += self._comment(kind, code & (1023 | NOT_IN_CLASS))
        return CodeName(OperandKind.AGPR if is_accumulation else OperandKind.VGPR, text, index, half=half)

    def _scalar(self, kind: CodeKind, code: int, bits: int, literal: int) -> CodeName | None:
        count = (bits + 31) // 32
        count = {6: 5, 32: 16}.get(count, count)  # so LLVM names scalar registers, which may not stand there
        if code <= self.last_sgpr:
            index = code - code % min(count, 4) if count != 3 else code & ~3
            if index + count > 106:
                return None
            text = f"s{index}" if count == 1 else f"s[{index}:{index + count - 1}]"
            return CodeName(OperandKind.SGPR, text, index)
        if self.first_ttmp <= code <= 123:
            index = code - self.first_ttmp
            index = index - index % min(count, 4) if count != 3 else index & ~3
            count = 8 if count in {3, 5} else count
            if index + count > 16:
                return None
            text = f"ttmp{index}" if count == 1 else f"ttmp[{index}:{index + count - 1}]"
            return CodeName(OperandKind.SPECIAL, text, code, register=text)
        is_literal = self.is_literal(code)
        if kind.type == "r" and (128 <= code <= 208 or 240 <= code <= 248 or is_literal):
            return None
        if kind.type == "c32" and (128 <= code <= 208 or 240 <= code <= 248 or is_literal):
            return CodeName(OperandKind.CONSTANT, f"{code:#x}", value=code)
        integer = code - 128 if 128 <= code <= 192 else 192 - code if 193 <= code <= 208 else None
        if integer is not None:
            return CodeName(OperandKind.CONSTANT, str(integer), value=integer & ((1 << bits) - 1))
        if 240 <= code <= 248:
            return self._float(kind, code, bits)
        if is_literal and (kind.type != "i32" or code == WIDE_LITERAL):
            read = wide_literal_text if code == WIDE_LITERAL else literal_text
            value, text = read(kind.type, literal)
            return CodeName(OperandKind.LITERAL, text, value=value)
        special = self.special_32.get(code) if count == 1 else self.special_64.get(code) if count == 2 else None
        if count > 2 and code == self.null:
            special = "null"
        return None if special is None else CodeName(OperandKind.SPECIAL, special, code, special)

    def _float(self, kind: CodeKind, code: int, bits: int) -> CodeName:
        value = FLOATS[TYPES[kind.type]][code - 240]
        text = FLOAT_TEXTS[code - 240]
        if kind.type in {"i16", "i32n"}:
            text = f"{value:#x}"
        elif code == 248 and TYPES[kind.type] == "f64":
            text = LONG_INVERSE_PI
        if kind.type == "v2b32":
            value |= value << 32
        return CodeName(OperandKind.CONSTANT, text, value=value)


def literal_text(type_name: str, literal: int) -> tuple[int, str]:  # noqa: PLR0911 (one for each kind of type)
    """Return the value of a literal of 32 bits for an operand of a type, and how it is written.

    One that has an inline code is written ``lit(...)``, so that an assembler encodes it the same way.
    """
    plain = f"{literal:#x}"
    if type_name == "f64":
        value = literal << 32
        if value in FLOATS["f64"]:
            position = FLOATS["f64"].index(value)
            return value, FLOAT_TEXTS[position]
        return value, plain if value else "0"
    if type_name == "b32n":
        if literal in FLOATS["f32"]:
            return literal, FLOAT_TEXTS[FLOATS["f32"].index(literal)]
        small = literal - ((literal >> 31) << 32)
        return literal, str(small) if -16 <= small <= 64 else plain
    if type_name == "i32n":
        return literal, str(literal - (literal >> 31 << 32)) if is_small(literal, 32) else plain
    if type_name == "b64":
        return literal, f"lit({plain})" if literal <= 64 else plain
    if type_name == "f16":
        low = literal & 0xFFFF
        return low, f"lit({plain})" if is_small(low, 16) or low in FLOATS["f16"] else f"{low:#x}"
    if type_name in {"bf16", "f16n"}:
        low = literal & 0xFFFF
        return literal, f"lit({plain})" if is_small(low, 16) or low in FLOATS[TYPES[type_name]] else plain
    if type_name == "v2f16n":
        low = literal & 0xFFFF
        is_inline = is_small(literal, 32) or (literal >> 16 == low and (low in FLOATS["f16"] or is_small(low, 16)))
        return literal, f"lit({plain})" if is_inline else plain
    floats = FLOATS["f32"] if type_name == "i16" else FLOATS[TYPES[type_name]]
    is_inline = is_small(literal, 32) or literal in floats
    if type_name == "i16":
        low = literal & 0xFFFF
        return low, f"lit({plain})" if is_inline else f"{low:#x}"
    return literal, f"lit({plain})" if is_inline else plain


def wide_literal_text(type_name: str, literal: int) -> tuple[int, str]:
    """Return the value of a literal of 64 bits for an operand of a type, and how it is written.

    One that 32 bits would do for is written ``lit64(...)``, so that an assembler encodes it the same way.
    """
    if not literal >> 32:
        return literal, f"lit64({literal:#x})"
    if type_name in {"f64", "f64n", "b64"}:
        bits, value = 64, literal
    else:
        bits, value = 16 if type_name in {"f16", "bf16"} else 32, literal & 0xFFFFFFFF
    low = value & (1 << bits) - 1
    shown = value & 0xFFFF if type_name in {"f16", "i16"} else value
    if type_name != "f64n":
        if is_small(low, bits):
            return shown, str(low - (low >> bits - 1 << bits))
        floats = () if type_name == "i32n" else FLOATS["f32" if type_name == "i16" else TYPES[type_name]]
        if type_name == "v2f16n":
            floats = tuple(number << 16 | number for number in floats)
        if low in floats:
            position = floats.index(low)
            return shown, LONG_INVERSE_PI if bits == 64 and position == 8 else FLOAT_TEXTS[position]
    if type_name in {"f64", "f64n"} and not value & 0xFFFFFFFF:
        return value, f"{value >> 32:#x}"
    return shown, f"{shown:#x}"
