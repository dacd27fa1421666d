"""The opcode tables: text files, one a generation, that tools/isa.py writes. docs/architecture.md explains them.

A table is read when a processor of its generation is first asked for; a row is taken apart when its opcode is first
met.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dwarfgpu.errors import Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.codes import CodeKind

GENERATIONS = (8, 9, 10, 11, 12)
LONG_LITERALS, WIDE_LITERALS = range(2)
"""Numbers of options: literals behind instructions of two words, and literals of 64 bits."""
ALIASES = {"gfx940": "gfx942", "gfx941": "gfx942", "gfx1154": "gfx1150"}
"""Processors that LLVM 22 does not know, and those whose instructions they have."""

_KIND = re.compile(
    r"([vawAWxpqyuKLeb]?)(m|\d+)?(v?2?(?:bf|[bfic])\d+n?|r)?([hln]?)([tTs]?)(?::(\w+))?([-|~]*)(?:@([0-9a-f]+))?$"
)


@frozen
class OperandSpec:
    """One operand of a row: its field, how the code is read, and the modifiers that it can have."""

    name: str
    kind: CodeKind | None
    """None for immediates and for ``off``."""
    immediate: str = ""
    """How a number is written: a key of ``IMMEDIATES``; ``off`` for the word."""
    prefix: str = ""
    """Which registers the field numbers: v vector, a accumulation, w either (A and W: codes of sources), x vector
    first (SDWA), e only scalar registers, p pairs and q quads of them; y a lane mask that is VCC unless bit 7 is set
    (SDWA); u the register of Y in a dual instruction; b the address of a buffer, which offen and idxen make longer; K
    is the literal behind the instruction, L one of 64 bits; empty for the codes of sources."""
    halves: str = ""
    """``h``: a bit of op_sel tells the half of a register; ``l``: bit 7 does; ``n``: only the first 128 registers."""
    is_widened: bool = False
    """Whether there is one more register when ``tfe`` is set."""
    is_aligned: bool = False
    """Whether the first of the registers must then have an even number."""
    is_sized: bool = False
    """Whether a format says how wide it is: cbsz that of src0, blgp that of src1."""
    can_negate: bool = False
    can_be_absolute: bool = False
    can_extend: bool = False
    code: int | None = None
    """The code, where it is always the same one."""


class OpcodeTable:
    """What a table says about one processor."""

    def __init__(self, text: str, processor: str, wave_size: int) -> None:
        self.names: dict[str, dict[int, str]] = {"hwreg": {}, "message": {}, "format": {}, "target": {}, "option": {}}
        self.classes: dict[str, frozenset[int]] = {}
        self.class_names: dict[str, str] = {}
        self.defaults: dict[str, tuple[str, ...]] = {}
        self.suffixes: dict[str, str] = {}
        self.shapes: dict[str, dict[str, str]] = {}
        self.rows: dict[str, dict[int, list[str]]] = {}
        self._sets: set[str] = set()
        self._read(text, {processor, f"{processor}/{wave_size}"})

    def _read(self, text: str, asked: set[str]) -> None:
        rows: dict[int, list[str]] = {}
        shapes: dict[str, str] = {}
        sets = self._sets
        for line in text.split("\n"):
            if not line or line[0] == "#":
                continue
            head, _, rest = line.partition(" ")
            if head == "set":
                letter, *processors = rest.split()
                if not asked.isdisjoint(processors):
                    sets.add(letter)
            elif head == "class":
                self._class(rest)
            elif head == "shape":
                name, _, tokens = rest.partition(" ")
                shapes[name] = tokens
            elif head == "format":
                name, *defaults = rest.split()
                rows = self.rows[name] = {}
                shapes = self.shapes[name] = {}
                self.defaults[name] = tuple(default for default in defaults if default[0] != "s")
                self.suffixes[name] = next((default[7:] for default in defaults if default[0] == "s"), "")
            elif head == "name":
                self._name(rest)
            else:
                before, at, chosen = rest.rpartition(" @")
                if not at:
                    rows.setdefault(int(head, 16), []).append(rest)
                elif not sets.isdisjoint(chosen):
                    rows.setdefault(int(head, 16), []).append(before)

    def _class(self, rest: str) -> None:
        short, name, ranges = rest.split()
        codes: set[int] = set()
        for item in ranges.split(",") if ranges != "-" else ():
            span, _, step = item.partition("/")
            first, _, last = span.partition("-")
            codes.update(range(int(first, 16), int(last or first, 16) + 1, int(step or "1")))
        self.classes[name] = frozenset(codes)
        self.class_names[short] = name

    def _name(self, rest: str) -> None:
        before, at, chosen = rest.rpartition(" @")
        if at and self._sets.isdisjoint(chosen):
            return
        kind, number, text = (before if at else rest).split(" ", 2)
        self.names[kind][int(number)] = text

    def operand(self, token: str) -> OperandSpec:
        """Return what a token such as ``vdst=v32`` or ``src0=32f32-|`` says."""
        match = re.match(r"(\w+)=(.*)", token)
        if match is None:
            raise AssertionError(token)
        name, kind = match[1], match[2]
        if kind.startswith("#"):
            return OperandSpec(name, None, kind[1:])
        if kind == "off":
            return OperandSpec(name, None, "off")
        parts = _KIND.match(kind)
        if parts is None:
            raise AssertionError(token)
        prefix, bits, type_name, halves, widened, short, marks, code = parts.groups()
        class_name = self.class_names[short] if short else ""
        return OperandSpec(
            *(
                name,
                CodeKind(0 if bits in {"m", None} else int(bits), type_name or "", class_name, halves in {"h", "l"}),
            ),
            prefix=prefix,
            halves=halves,
            is_widened=widened in {"t", "T"},
            is_aligned=widened == "T",
            is_sized=widened == "s",
            can_negate="-" in marks,
            can_be_absolute="|" in marks,
            can_extend="~" in marks,
            code=int(code, 16) if code else None,
        )

    def row(self, key: str, line: str) -> tuple[str, list[str]]:
        """Return the mnemonic of a row, and its tokens: operands and properties."""
        mnemonic, *tokens = line.split()
        if mnemonic[-1] == "-":
            mnemonic = mnemonic[:-1] + self.suffixes[key]
        if tokens and tokens[0][0] == "$":
            tokens = self.shapes[key][tokens[0]].split()
        for default in self.defaults.get(key, ()):
            if not any(token[0] == default[0] for token in tokens if token[0] in "+!"):
                tokens.append(default)
        return mnemonic.replace("~", " "), tokens


def generation(processor: str) -> int:
    """Return the major number of a processor's generation."""
    digits, _, generic = processor.removeprefix("gfx").partition("-")
    if generic:
        return int(digits)
    try:
        return int(digits[:-2])
    except ValueError:
        return 0


def is_gfx12_5(processor: str) -> bool:
    """Return whether a processor is of GFX12.5, which has its operations in the table of GFX12."""
    return processor.startswith(("gfx125", "gfx12-5"))


def text_of(major: int) -> str:
    """Return the table of a generation."""
    return Path(__file__).with_name(f"gfx{major}.txt").read_text("ascii")


@cache
def table(processor: str, wave_size: int) -> OpcodeTable:
    """Return the opcodes of a processor with waves of a size."""
    processor = ALIASES.get(processor, processor)
    major = generation(processor)
    if major in GENERATIONS:
        text = text_of(major)
        if processor in known(text):
            return OpcodeTable(text, processor, wave_size)
    raise Unsupported(
        "unknown_processor",
        f"the instructions of {processor} are not known",
        hint="they are known for GFX8, GFX9, GFX10, GFX11 and GFX12; `dwarfgpu targets` lists the processors",
    )


def known(text: str) -> Iterator[str]:
    """Yield the processors that the text of a table is about."""
    for line in text.split("\n"):
        if line.startswith("set "):
            yield from (name.partition("/")[0] for name in line.split()[2:])
