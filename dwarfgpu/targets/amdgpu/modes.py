"""The MODE register: how a wave rounds, flushes and traps.

A wave starts with the modes of its kernel descriptor (AMDGPU usage, "Kernel Descriptor", compute_pgm_rsrc1 and
compute_pgm_rsrc2). The instruction set documents, "MODE", say where each is in the register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#   name in the register, its first bit, and the fields of the descriptor from its lowest bit up, with their widths
LAYOUT: tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...] = (
    ("FP_ROUND", 0, (("FLOAT_ROUND_MODE_32", 2), ("FLOAT_ROUND_MODE_16_64", 2))),
    ("FP_DENORM", 4, (("FLOAT_DENORM_MODE_32", 2), ("FLOAT_DENORM_MODE_16_64", 2))),
    ("DX10_CLAMP", 8, (("ENABLE_DX10_CLAMP", 1),)),
    ("IEEE", 9, (("ENABLE_IEEE_MODE", 1),)),
    (
        "EXCP_EN",
        12,
        (
            ("ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION", 1),
            ("ENABLE_EXCEPTION_FP_DENORMAL_SOURCE", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW", 1),
            ("ENABLE_EXCEPTION_IEEE_754_FP_INEXACT", 1),
            ("ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO", 1),
        ),
    ),
    ("FP16_OVFL", 23, (("FP16_OVFL", 1),)),
)


def mode_fields(fields: Mapping[str, int]) -> tuple[tuple[str, int, int, int], ...]:
    """Return the parts of MODE that a generation has, as (name, first bit, width, value).

    ``fields`` are those of the descriptor. GFX12 has no DX10_CLAMP and IEEE, and keeps the exceptions in another
    register (TRAP_CTRL); there the descriptor has no ENABLE_IEEE_MODE.
    """
    rows = []
    for name, first, parts in LAYOUT:
        if any(part not in fields for part, _ in parts):
            continue
        if name == "EXCP_EN" and "ENABLE_IEEE_MODE" not in fields:
            continue
        value = width = 0
        for part, bits in parts:
            value |= fields[part] << width
            width += bits
        rows.append((name, first, width, value))
    return tuple(rows)


def mode(fields: Mapping[str, int]) -> int:
    """Return the MODE register of a kernel."""
    result = 0
    for _name, first, _width, value in mode_fields(fields):
        result |= value << first
    return result
