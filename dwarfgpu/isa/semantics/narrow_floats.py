"""Floats of 4 to 16 bits that numpy does not have: bf16, and two formats of 8 bits in two flavours each.

``fp8`` has 4 bits of exponent and 3 of fraction, ``bf8`` 5 and 2. GFX940 and its successors up to gfx942 have the
flavour without infinities and without a negative zero, whose code is the only NaN (FNUZ); gfx950 and GFX12 have that
of the Open Compute Project, in which fp8 has no infinities and bf8 is as IEEE 754 (OCP). ``fp6``, ``bf6`` and ``fp4``
have neither infinities nor NaNs (CDNA 4 ISA document, 7.3).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.immutable import frozen

Lanes = Any


@frozen
class NarrowFormat:
    """A float of at most 16 bits."""

    exponent_bits: int
    fraction_bits: int
    bias: int
    highest: int
    """The code of the largest number."""
    infinity: int | None
    """The code of infinity, None if there is none."""
    nan: int
    """What a NaN becomes; the largest number, if there is none."""
    has_negative_zero: bool = True
    keeps_infinity: bool = False
    """Whether an infinity remains one where results that are too large become the largest number."""

    @property
    def bits(self) -> int:
        """Return how many bits it has."""
        return 1 + self.exponent_bits + self.fraction_bits

    def number(self, code: int) -> float:
        """Return the number of a code without a sign, as if it were no infinity and no NaN."""
        exponent, fraction = code >> self.fraction_bits, code & ((1 << self.fraction_bits) - 1)
        whole = fraction + (1 << self.fraction_bits if exponent else 0)
        return float(whole * 2.0 ** (max(exponent, 1) - self.bias - self.fraction_bits))


FORMATS = {
    ("fp8", True): NarrowFormat(4, 3, 8, 0x7F, None, 0x80, has_negative_zero=False),
    ("bf8", True): NarrowFormat(5, 2, 16, 0x7F, None, 0x80, has_negative_zero=False),
    ("fp8", False): NarrowFormat(4, 3, 7, 0x7E, None, 0x7F),
    ("bf8", False): NarrowFormat(5, 2, 15, 0x7B, 0x7C, 0x7F),
    # OPEN: what a NaN becomes in the formats without one; the header of HIP and that of Composable Kernel agree.
    ("fp6", False): NarrowFormat(2, 3, 1, 0x1F, None, 0x1F),
    ("bf6", False): NarrowFormat(3, 2, 3, 0x1F, None, 0x1F),
    ("fp4", False): NarrowFormat(2, 1, 1, 0x7, None, 0x7),
    ("f16", False): NarrowFormat(5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF, keeps_infinity=True),
    ("bf16", False): NarrowFormat(8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF),
}
"""The formats, by name and by whether the processor has those without a negative zero."""


def narrow_format(name: str, processor: str) -> NarrowFormat:
    """Return the format that a processor has under a name."""
    return FORMATS[name, processor in {"gfx940", "gfx941", "gfx942", "gfx9-4-generic"}]


@cache
def numbers_of(form: NarrowFormat) -> Any:
    """Return the number of each code of at most 8 bits, as singles."""
    numbers = np.empty(1 << form.bits, np.float32)
    top = 1 << form.bits - 1
    for code in range(len(numbers)):
        magnitude = code % top
        sign = -1.0 if code & top else 1.0
        numbers[code] = sign * form.number(magnitude)
        if not form.has_negative_zero:
            numbers[code] = np.nan if code == form.nan else numbers[code]
        elif magnitude > form.highest:
            numbers[code] = np.nan if magnitude != form.infinity else sign * np.inf
    numbers.setflags(write=False)
    return numbers


def widened(codes: Lanes, form: NarrowFormat) -> Lanes:
    """Return floats of 8 bits as singles."""
    return numbers_of(form).take(codes)


def narrowed(value: Lanes, form: NarrowFormat, *, saturates: bool, noise: Lanes = None) -> Lanes:
    """Return singles as codes of a format: the nearest one, ties to even; with noise, rounded by chance.

    ``noise`` has a number of 32 bits for each lane, of which the highest are added below the fraction before it is cut.
    ``saturates`` (MODE, FP16_OVFL) makes what is too large the largest number instead of an infinity or a NaN.
    """
    # OPEN: that the highest bits count is documented of the floats of 8 bits only (V_CVT_SR_FP8_F32). The header of HIP
    # rounds those of 6 and 4 bits so, too; of those of 16 bits nothing is published.
    wide = value.astype(np.float64)
    magnitude = np.abs(wide)
    exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))[1] - 1
    lowest = 1 - form.bias
    step = np.maximum(exponent, lowest) - form.fraction_bits
    scaled = np.ldexp(np.where(np.isfinite(magnitude), magnitude, 0.0), -step)  # exact: a single in a double
    if noise is None:
        count = np.rint(scaled)
    else:
        lost = 23 - form.fraction_bits
        count = np.floor(scaled + np.ldexp((noise >> np.uint32(32 - lost)).astype(np.float64), -lost))
    rounded = np.ldexp(count, step)
    power = np.frexp(rounded)[1]
    is_normal = rounded >= 2.0**lowest
    field = np.where(is_normal, power - 1 + form.bias, 0)
    scale = np.where(is_normal, power - 1, lowest) - form.fraction_bits
    whole = np.ldexp(rounded, -scale).astype(np.int64)
    code = (field << form.fraction_bits) + np.where(is_normal, whole - (1 << form.fraction_bits), whole)
    beyond = form.nan if form.infinity is None else form.infinity
    overflowing, infinite = rounded > form.number(form.highest), np.isinf(magnitude)
    code = np.where(overflowing | infinite, form.highest if saturates else beyond, code)
    code = np.where(infinite, beyond, code) if form.keeps_infinity else code
    code = np.where(np.isnan(magnitude), form.nan, code)
    signed = code | np.where(np.signbit(value), 1 << form.bits - 1, 0)
    if not form.has_negative_zero:
        signed = np.where((code == 0) | (code == form.nan), code, signed)
    return signed.astype(np.uint8 if form.bits <= 8 else np.uint16)


def codes_of(words: Lanes, bits: int) -> Lanes:
    """Return the codes of so many bits that lie side by side in words; the last axis has those of a lane."""
    whole = np.ascontiguousarray(words)
    if bits % 8 == 0:
        return whole.view(f"u{bits // 8}")
    flags = np.unpackbits(whole.view(np.uint8), axis=-1, bitorder="little")
    flags = flags[..., : flags.shape[-1] // bits * bits].reshape(*whole.shape[:-1], -1, bits)
    return np.packbits(flags, axis=-1, bitorder="little")[..., 0]


def words_of(codes: Lanes, bits: int) -> Lanes:
    """Return words in which codes of so many bits lie side by side; the rest of the last word is 0."""
    whole = np.ascontiguousarray(codes)
    if bits % 8 == 0 and whole.shape[-1] * bits % 32 == 0:
        return whole.view(np.uint32)
    flags = np.unpackbits(whole[..., None].view(np.uint8), axis=-1, bitorder="little", count=bits)
    flags = flags.reshape(*whole.shape[:-1], -1)
    rest = np.zeros((*flags.shape[:-1], -flags.shape[-1] % 32), np.uint8)
    return np.packbits(np.concatenate((flags, rest), axis=-1), axis=-1, bitorder="little").view(np.uint32)


def from_bf16(codes: Lanes) -> Lanes:
    """Return bf16 numbers, given as unsigned integers, as singles."""
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(value: Lanes) -> Lanes:
    """Return singles as bf16 numbers, the nearest ones, ties to even."""
    bits = value.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)
    quiet = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(np.isnan(value), quiet, rounded).astype(np.uint16)
