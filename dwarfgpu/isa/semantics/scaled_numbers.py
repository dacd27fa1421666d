"""Floats of 8, 6 and 4 bits of GFX950 with scales: conversions, and products with a scale for each 32 neighbouring K.

The scale of a conversion is the exponent of a single, whatever its sign and fraction (CDNA 4 ISA document, 7.3).

``D = A x B + C``; CBSZ and BLGP say the types of A and B (CDNA 4 ISA document, 7.1.6.2). A lane has 32 elements of one
row of A, or of one column of B. Those of 6 and 4 bits have neighbouring K; of those of 8 bits the first and the second
sixteen have neighbouring K of the first and of the second half (7.1.5.1). A scale is a power of two: the byte of a
register that OP_SEL_HI and OP_SEL name is its exponent, of a lane for its row and its 32 K; 0xff is a NaN (7.2.1).

Each product is added with one rounding in the order of K, as in `matrices`. How many products hardware adds before it
rounds is not documented, so the last bits can differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics import narrow_floats
from dwarfgpu.isa.semantics.matrices import MatrixModifiers, MatrixShape, addends, places_of_results, registers_of
from dwarfgpu.isa.semantics.narrow_floats import FORMATS, NarrowFormat, codes_of, from_bf16, numbers_of, to_bf16

Lanes = Any

LANES = 64
KINDS = ("fp8", "bf8", "fp6", "bf6", "fp4")
"""The types by their numbers."""
EACH = 32
"""The elements of a lane, and the K that share a scale."""


@frozen
class NarrowTypes:
    """What an instruction says of the elements of A and B."""

    kinds: tuple[str, str]
    scale_bytes: tuple[int, int]
    """Which byte of the registers of scales counts."""


def narrow_types(modifiers: Mapping[str, int]) -> NarrowTypes | None:
    """Return what the modifiers of an instruction say; None if they name no type."""
    kinds, low, high = KINDS, modifiers.get("op_sel", 0), modifiers.get("op_sel_hi", 0)
    left, right = modifiers.get("cbsz", 0), modifiers.get("blgp", 0)
    if max(left, right) >= len(kinds):
        return None
    return NarrowTypes((kinds[left], kinds[right]), ((high & 1) << 1 | low & 1, high & 2 | low >> 1 & 1))


@cache
def numbers_of_kind(kind: str) -> Any:
    """Return the number of each code, as doubles."""
    return numbers_of(FORMATS[kind, False]).astype(np.float64)


def _powers(exponents: Lanes) -> Lanes:
    return np.where(exponents == 0xFF, np.nan, np.ldexp(1.0, exponents - 127))


def power_of(scale: Lanes) -> Lanes:
    """Return the power of two that a single scales with."""
    return _powers((scale.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.int64))


WIDENED: dict[str, Callable[[Lanes], Lanes]] = {
    "f16": lambda codes: codes.astype(np.uint16).view(np.float16),
    "bf16": from_bf16,
}
"""What makes numbers of the codes of 16 bits."""


def next_random(noise: Lanes) -> Lanes:
    """Return the random numbers that follow (v_prng_b32)."""
    return noise << np.uint32(1) ^ (noise >> np.uint32(31)) * np.uint32(197)


def narrowed_words(
    parts: Sequence[Lanes], scale: Lanes, form: NarrowFormat, *, saturates: bool, noise: Lanes = None
) -> list[Lanes]:
    """Return numbers, divided by a scale, as codes side by side in registers; each has another random number."""
    codes = []
    for part in parts:
        codes.append(narrow_floats.narrowed(np.copysign(part / scale, part), form, saturates=saturates, noise=noise))
        noise = None if noise is None else next_random(noise)
    words = narrow_floats.words_of(np.stack(np.broadcast_arrays(*codes), axis=-1), form.bits)
    return [words[..., number] for number in range(words.shape[-1])]


def widened_parts(words: Sequence[Lanes], kind: str, count: int, scale: Lanes) -> list[Lanes]:
    """Return the numbers of codes that lie side by side in registers, times a scale."""
    form = FORMATS[kind, False]
    codes = codes_of(np.stack(np.broadcast_arrays(*words), axis=-1), form.bits)
    return [numbers_of_kind(kind).take(codes[..., number]) * scale for number in range(count)]


def half_codes(numbers: Lanes, *, saturates: bool) -> Lanes:
    """Return numbers as halfs; with FP16_OVFL what is too large is the largest number, unless it was infinite."""
    with np.errstate(over="ignore"):
        halfs = numbers.astype(np.float16)
    if saturates:
        halfs = np.where(np.isinf(halfs) & np.isfinite(numbers), np.copysign(np.float16(65504), halfs), halfs)
    return halfs.view(np.uint16).astype(np.uint32)


def bf16_codes(numbers: Lanes) -> Lanes:
    """Return numbers as bf16 numbers."""
    return to_bf16(numbers.astype(np.float32)).astype(np.uint32)


def _elements(shape: MatrixShape, types: NarrowTypes, side: int, words: Lanes, scales: Lanes) -> Lanes:
    """Return A or B as ``[wave, row, K]``, with its scales."""
    kind = types.kinds[side]
    bits = FORMATS[kind, False].bits
    codes = codes_of(words, bits)[:, :, :EACH]
    # [wave, group of lanes, row, half of the elements of a lane, element]
    parts = numbers_of_kind(kind)[codes].reshape(len(words), -1, shape.rows, 2, EACH // 2)
    order = (0, 2, 3, 1, 4) if bits == 8 else (0, 2, 1, 3, 4)
    elements = parts.transpose(order).reshape(len(words), shape.rows, shape.depth)
    if scales is None:
        return elements
    exponents = (scales >> np.uint32(8 * types.scale_bytes[side]) & np.uint32(0xFF)).astype(np.int64)
    powers = _powers(exponents)
    by_row = powers.reshape(len(powers), -1, shape.rows).transpose(0, 2, 1)
    return elements * np.repeat(by_row, EACH, axis=2)


def narrow_product(
    shape: MatrixShape, types: NarrowTypes, left: Lanes, right: Lanes, other: Lanes, *scales: Lanes
) -> Lanes:
    """Return the registers of D, ``[wave, lane, register]``, of those of A, B, C and of the scales of A and B."""
    modifiers = MatrixModifiers(LANES, "gfx950", 9)
    lane, item = places_of_results(shape, 1, LANES, 9)
    total = addends(shape, modifiers, other, lane, item)[:, 0]
    a, b = (
        _elements(shape, types, side, words, scales[side] if scales else None)
        for side, words in enumerate((left, right))
    )
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(shape.depth):
            total = (total + a[:, :, number, None] * b[:, None, :, number]).astype(np.float32)
    return registers_of(shape, modifiers, total[:, None], lane, item)
