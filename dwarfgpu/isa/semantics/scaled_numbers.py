"""Floats of 8, 6 and 4 bits with scales: conversions, and products with a scale for each 32 or 16 neighbouring K.

The scale of a conversion is the exponent of a single, whatever its sign and fraction (CDNA 4 ISA document, 7.3).

``D = A x B + C``; modifiers say the types of A and B (CDNA 4 ISA document, 7.1.6.2; CDNA 5, 7.12.6). A lane has
elements of one row of A, or of one column of B: runs of 32 neighbouring K, of those of 8 bits runs of 16. Groups of
lanes have these runs in turn (CDNA 4, 7.1.5.1; CDNA 5, 7.12.6.1).

**GFX950**: a scale is a power of two: the byte of a register that OP_SEL_HI and OP_SEL name is its exponent, of a lane
for its row and its 32 K; 0xff is a NaN (7.2.1). **GFX12.5**: each byte of one register, or of two for runs of 16 K, is
the scale of a row and a run, the lowest K first; the rows are in lanes 0 to 15, or in lanes 16 to 31. A product of 32
rows needs all lanes. A scale has one of three formats, a scalar register has one scale for all, and 0 is 1 (7.12.6.2).

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
from dwarfgpu.isa.tables import generation

Lanes = Any

KINDS = ("fp8", "bf8", "fp6", "bf6", "fp4")
"""The types by their numbers."""
SCALES = ("e8m0", "e5m3", "e4m3")
"""The formats of scales by their numbers."""
EACH = 32
"""The elements of a lane of GFX950, and the K that share a scale there."""
_WAVES = {9: 64, 12: 32}
"""The lanes of a wave, by generation."""


@frozen
class NarrowTypes:
    """What an instruction says of the elements of A and B."""

    processor: str
    kinds: tuple[str, str]
    scale_places: tuple[int, int]
    """Which byte of the registers of scales counts; on GFX12.5, which half of their lanes."""
    scale_kinds: tuple[str, str] = ("e8m0", "e8m0")
    addend_signs: int = 0
    """Bit 0 negates C, bit 1 first makes it positive (GFX12.5)."""

    @property
    def modifiers(self) -> MatrixModifiers:
        """Return what places of results and addends depend on."""
        major, signs = generation(self.processor), self.addend_signs
        return MatrixModifiers(
            _WAVES[major], self.processor, major, negated_low=signs << 2 & 4, negated_high=signs << 1 & 4
        )


def narrow_types(name: str, modifiers: Mapping[str, int], processor: str) -> NarrowTypes | None:
    """Return what the modifiers of an instruction say; None if they name no type, or types that do not go together."""

    def both(first: str, second: str) -> tuple[int, int]:
        return modifiers.get(first, 0), modifiers.get(second, 0)

    if generation(processor) < 12:
        (low, high), types = both("op_sel", "op_sel_hi"), both("cbsz", "blgp")
        if max(types) >= len(KINDS):
            return None
        places = (high & 1) << 1 | low & 1, high & 2 | low >> 1 & 1
        return NarrowTypes(processor, (KINDS[types[0]], KINDS[types[1]]), places)
    types = (4, 4) if name.endswith("_f4") else both("matrix_a_fmt", "matrix_b_fmt")
    scales, signs = both("matrix_a_scale_fmt", "matrix_b_scale_fmt"), both("neg_lo", "neg_hi")
    if max(types) >= len(KINDS) or max(scales) >= len(SCALES) or (signs[0] | signs[1]) & 3:
        return None
    kinds, scale_kinds = (KINDS[types[0]], KINDS[types[1]]), (SCALES[scales[0]], SCALES[scales[1]])
    # Only numbers of 4 bits have other scales than powers of two, and two of them have scales of one format.
    if any(scale != "e8m0" and kind != "fp4" for kind, scale in zip(kinds, scale_kinds, strict=True)):
        return None
    if kinds == ("fp4", "fp4") and scales[0] != scales[1]:
        return None
    places = both("matrix_a_scale", "matrix_b_scale")
    return NarrowTypes(processor, kinds, places, scale_kinds, signs[0] >> 2 & 1 | signs[1] >> 1 & 2)


@cache
def numbers_of_kind(kind: str) -> Any:
    """Return the number of each code, as doubles."""
    return numbers_of(FORMATS[kind, False]).astype(np.float64)


def _powers(exponents: Lanes) -> Lanes:
    return np.where(exponents == 0xFF, np.nan, np.ldexp(1.0, exponents - 127))


def power_of(scale: Lanes) -> Lanes:
    """Return the power of two that a single scales with."""
    return _powers((scale.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.int64))


def scales_of_lanes(words: Lanes, byte: int, is_by_half: bool, lanes: int) -> Lanes:  # noqa: FBT001 (of a text)
    """Return the power of two of each lane: a byte of the lane with its number in the first half of the wave.

    The second half has the byte that follows, where ``is_by_half`` (CDNA 5 ISA document, tables 36 and 37; MLIR's
    amdgpu.scaled_ext_packed_matrix).
    """
    half = np.broadcast_to(words, (words.shape[0], lanes))[:, : lanes // 2]
    first, second = (half >> np.uint32(8 * at) & np.uint32(0xFF) for at in (byte, byte + is_by_half))
    return _powers(np.concatenate((first, second), axis=1).astype(np.int64))


WIDENED: dict[str, Callable[[Lanes], Lanes]] = {
    "f16": lambda codes: codes.astype(np.uint16).view(np.float16),
    "bf16": from_bf16,
}
"""What makes numbers of the codes of 16 bits."""


def next_random(noise: Lanes) -> Lanes:
    """Return the random numbers that follow (v_prng_b32)."""
    return noise << np.uint32(1) ^ (noise >> np.uint32(31)) * np.uint32(197)


def narrowed_words(
    parts: Sequence[Lanes], scale: Lanes, form: NarrowFormat, *, saturates: bool, noise: Lanes = None,
    keeps_none: bool = False,
) -> list[Lanes]:  # fmt: skip
    """Return numbers, divided by a scale, as codes side by side in registers; each has another random number.

    ``keeps_none`` makes infinities NaNs where numbers saturate, of the floats of 8 bits (CDNA 5 ISA document, 7.6.2).
    """
    codes = []
    for part in parts:
        if keeps_none and saturates and form.bits == 8:
            part = np.where(np.isinf(part), np.nan, part)  # noqa: PLW2901
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


def bf16_codes(numbers: Lanes, *, saturates: bool = False) -> Lanes:
    """Return numbers as bf16 numbers; with FP16_OVFL what is too large is the largest number, as in `half_codes`."""
    with np.errstate(over="ignore"):
        codes = to_bf16(numbers.astype(np.float32)).astype(np.uint32)
    if saturates:
        codes = np.where((codes & 0x7FFF == 0x7F80) & np.isfinite(numbers), codes & 0x8000 | 0x7F7F, codes)
    return codes


@cache
def _scales_of_kind(kind: str) -> Any:
    """Return the number of each byte as a scale; NaN if it is none (CDNA 5, 7.12.6)."""
    bytes_ = np.arange(256)
    if kind == "e8m0":
        return _powers(bytes_)
    form = NarrowFormat(5, 3, 15, 0xFE, None, 0xFF) if kind == "e5m3" else NarrowFormat(4, 3, 7, 0x7E, None, 0x7F)
    return np.array([form.number(byte) if byte <= form.highest else np.nan for byte in bytes_.tolist()])


def _elements(shape: MatrixShape, types: NarrowTypes, side: int, words: Lanes, scales: Lanes) -> Lanes:
    """Return A or B as ``[wave, row, K]``, with its scales."""
    kind, rows = types.kinds[side], (shape.rows, shape.columns)[side]
    lanes, bits = types.modifiers.lanes, FORMATS[kind, False].bits
    codes = codes_of(words, bits)[:, :, : rows * shape.depth // lanes]
    run, together = 16 if bits == 8 else 32, min(shape.rows, shape.columns)
    # [wave, group of lanes, row, block of rows, run of a lane, element]
    runs = shape.depth * together // (lanes * run)
    parts = numbers_of_kind(kind)[codes].reshape(len(words), -1, together, rows // together, runs, run)
    elements = parts.transpose(0, 3, 2, 4, 1, 5).reshape(len(words), rows, shape.depth)
    return elements if scales is None else elements * _scales(shape, types, side, scales)


def _scales(shape: MatrixShape, types: NarrowTypes, side: int, words: Lanes) -> Lanes:
    """Return the scale of each element, ``[wave, row, K]``, of registers ``[wave, lane, register]``."""
    rows, place = (shape.rows, shape.columns)[side], types.scale_places[side]
    table = _scales_of_kind(types.scale_kinds[side])
    bytes_ = np.ascontiguousarray(words).view(np.uint8)
    if generation(types.processor) < 12:
        by_row = table[bytes_[:, :, place]].reshape(len(words), -1, rows).transpose(0, 2, 1)
    elif words.shape[1] == 1:  # one for all
        by_row = table[bytes_[:, :, :1]]
    else:
        by_row = table[bytes_ if rows == words.shape[1] else bytes_[:, rows * place : rows * place + rows]]
    return np.repeat(by_row, shape.depth // by_row.shape[2], axis=2)


def narrow_product(
    shape: MatrixShape, types: NarrowTypes, left: Lanes, right: Lanes, other: Lanes, *scales: Lanes
) -> Lanes:
    """Return the registers of D, ``[wave, lane, register]``, of those of A, B, C and of the scales of A and B."""
    modifiers = types.modifiers
    lane, item = places_of_results(shape, 1, modifiers.lanes, modifiers.generation)
    total = addends(shape, modifiers, other, lane, item)[:, 0]
    a, b = (
        _elements(shape, types, side, words, scales[side] if scales else None)
        for side, words in enumerate((left, right))
    )
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(shape.depth):
            total = (total + a[:, :, number, None] * b[:, None, :, number]).astype(np.float32)
    return registers_of(shape, modifiers, total[:, None], lane, item)
