"""Floats of 8 and 16 bits that numpy does not have: bf16, and two formats of 8 bits in two flavours each.

``fp8`` has 4 bits of exponent and 3 of fraction, ``bf8`` 5 and 2. GFX940 and its successors up to gfx942 have the
flavour without infinities and without a negative zero, whose code is the only NaN (FNUZ); gfx950 and GFX12 have that
of the Open Compute Project, in which fp8 has no infinities and bf8 is as IEEE 754 (OCP).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.immutable import frozen

Lanes = Any


@frozen
class NarrowFormat:
    """A float of 8 bits."""

    exponent_bits: int
    fraction_bits: int
    bias: int
    highest: int
    """The code of the largest number."""
    infinity: int | None
    """The code of infinity, None if there is none."""
    nan: int
    has_negative_zero: bool = True


FORMATS = {
    ("fp8", True): NarrowFormat(4, 3, 8, 0x7F, None, 0x80, has_negative_zero=False),
    ("bf8", True): NarrowFormat(5, 2, 16, 0x7F, None, 0x80, has_negative_zero=False),
    ("fp8", False): NarrowFormat(4, 3, 7, 0x7E, None, 0x7F),
    ("bf8", False): NarrowFormat(5, 2, 15, 0x7B, 0x7C, 0x7F),
}
"""The formats, by name and by whether the processor has those without a negative zero."""


def narrow_format(name: str, processor: str) -> NarrowFormat:
    """Return the format that a processor has under a name."""
    return FORMATS[name, processor in {"gfx940", "gfx941", "gfx942", "gfx9-4-generic"}]


@cache
def numbers_of(form: NarrowFormat) -> Any:
    """Return the number of each code, as 256 singles."""
    numbers = np.empty(256, np.float32)
    for code in range(256):
        magnitude = code & 0x7F
        exponent, fraction = magnitude >> form.fraction_bits, magnitude & ((1 << form.fraction_bits) - 1)
        if exponent:
            value = ((1 << form.fraction_bits) + fraction) * 2.0 ** (exponent - form.bias - form.fraction_bits)
        else:
            value = fraction * 2.0 ** (1 - form.bias - form.fraction_bits)
        numbers[code] = -value if code & 0x80 else value
        if not form.has_negative_zero:
            numbers[code] = np.nan if code == form.nan else numbers[code]
        elif magnitude > form.highest:
            numbers[code] = np.nan if magnitude != form.infinity else np.copysign(np.inf, -1.0 if code & 0x80 else 1.0)
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
    largest = float(numbers_of(form)[form.highest])
    beyond = form.nan if form.infinity is None else form.infinity
    overflowing = (rounded > largest) | np.isinf(magnitude)
    code = np.where(overflowing, form.highest if saturates else beyond, code)
    code = np.where(np.isnan(magnitude), form.nan, code)
    negative = np.signbit(value)
    if form.has_negative_zero:
        return (code | np.where(negative, 0x80, 0)).astype(np.uint8)
    keeps = (code == 0) | (code == form.nan)
    return np.where(keeps, code, code | np.where(negative, 0x80, 0)).astype(np.uint8)


def from_bf16(codes: Lanes) -> Lanes:
    """Return bf16 numbers, given as unsigned integers, as singles."""
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(value: Lanes) -> Lanes:
    """Return singles as bf16 numbers, the nearest ones, ties to even."""
    bits = value.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)
    quiet = bits >> np.uint32(16) | np.uint32(0x40)
    return np.where(np.isnan(value), quiet, rounded).astype(np.uint16)
