"""The instruction formats of each generation: which bits tell a format, and where its fields are.

They are read from ``formats.txt``, whose head says how a row is written. Which of the operands and modifiers of a
format an opcode has is said by its row in the opcode tables.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dwarfgpu.immutable import frozen

Pieces = tuple[tuple[int, int], ...]
"""Where the bits of a field are: shift and width of each piece, the lowest bits first."""


@frozen
class InstructionFormat:
    """One instruction format, or the variant of one that is extended."""

    name: str
    variant: str
    size: int
    """Its bytes, without a literal."""
    match: int
    mask: int
    opcode: Pieces
    operands: dict[str, Pieces]
    """Fields that operands are made from, in the order of the text."""
    bits: dict[str, int]
    modifiers: dict[str, Pieces]
    """Fields of modifiers, in the order of the text."""

    @property
    def key(self) -> str:
        """The name with the variant."""
        return f"{self.name}.{self.variant}" if self.variant else self.name


def extract(word: int, pieces: Pieces) -> int:
    """Return the value of a field."""
    value = at = 0
    for shift, width in pieces:
        value |= (word >> shift & (1 << width) - 1) << at
        at += width
    return value


def insert(value: int, pieces: Pieces) -> int:
    """Return the bits of a word where a field has a value."""
    word = 0
    for shift, width in pieces:
        word |= (value & (1 << width) - 1) << shift
        value >>= width
    return word


def bits_of(pieces: Pieces) -> int:
    """Return the mask of the bits of a field."""
    return insert(-1, pieces)


def _pieces(text: str) -> Pieces:
    return tuple((int(shift), int(width)) for shift, _, width in (piece.partition(":") for piece in text.split("+")))


def _fields(text: str) -> dict[str, Pieces]:
    return {name: _pieces(place) for name, _, place in (item.partition("=") for item in text.split())}


def _row(line: str) -> InstructionFormat:
    head, operands, bits, modifiers = line.split("|")
    name, size, match, opcode = head.split()
    name, _, variant = name.partition(".")
    matched, _, mask = match.partition("/")
    return InstructionFormat(
        *(name, variant, int(size), int(matched, 16), int(mask, 16), _pieces(opcode), _fields(operands)),
        {bit: int(shift) for bit, _, shift in (item.partition("=") for item in bits.split())},
        _fields(modifiers),
    )


@cache
def formats(major: int) -> dict[str, InstructionFormat]:
    """Return the formats of a generation by their keys."""
    text = Path(__file__).with_name("formats.txt").read_text("ascii")
    _, _, rest = text.partition(f"\ngeneration {major}\n")
    rows, _, _ = rest.partition("\ngeneration ")
    return {row.key: row for row in map(_row, rows.rstrip("\n").split("\n"))}
