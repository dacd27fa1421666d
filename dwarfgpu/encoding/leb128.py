"""LEB128 numbers (DWARF 5 section 7.6)."""

from __future__ import annotations

from dwarfgpu.errors import IllFormed, shown

MAX_BITS = 64
"""No number of DWARF needs more; one that does is an error, while redundant padding of a small one is not."""


def encode_unsigned(value: int) -> bytes:
    """Encode an unsigned number in as few bytes as it needs."""
    if value < 0:
        raise IllFormed(
            "bad_operand", f"an unsigned LEB128 number cannot be {shown(value)}", spec="DWARF 5, 7.6"
        )
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_signed(value: int) -> bytes:
    """Encode a signed number in as few bytes as it needs."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
