"""NaNs and infinities among words that are the bits of floats, and the sums of integers that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.checks.findings import MADE_OF_BITS
from dwarfgpu.isa.semantics.narrow_floats import codes_of

if TYPE_CHECKING:
    from dwarfgpu.isa.semantics.narrow_floats import NarrowFormat

Lanes = Any
EXPONENTS = {"f16": 0x7C00, "bf16": 0x7F80}
"""The bits of the exponent of narrow floats: all are set in NaNs and infinities."""


def narrow_classes(words: Lanes, kind: str) -> tuple[Lanes, Lanes]:
    """Return where a word has a NaN in one of its narrow floats, and where an infinity."""
    bits, exponent = (16, EXPONENTS[kind]) if kind in EXPONENTS else (8, 0x7C if kind == "bf8" else 0x7F)
    nan = infinite = np.zeros(words.shape, bool)
    if kind in ("fp6", "bf6", "fp4", "i8", "iu8", "i4", "iu4"):
        return nan, infinite
    fraction = exponent ^ (1 << bits - 1) - 1
    for shift in range(0, 32, bits):
        part = words >> shift & (1 << bits) - 1
        odd = part & exponent == exponent
        is_nan = odd & (part & fraction != 0) if fraction else odd | (part == 0x80)
        nan, infinite = nan | is_nan, infinite | odd & ~is_nan
    return nan, infinite


def made_of_bits(given: Any, result: Any) -> Lanes:
    """Return where a sum rounds the bits of a float to those of a NaN or an infinity: all numbers but one are small."""
    made: Lanes = np.zeros((1, 1), bool)
    words = [each.view(f"u{each.dtype.itemsize}") for each in given]
    for kind, step in (("f4", 1 << 23), ("f2", 1 << 10)):
        is_rounded = sum((each <= step).astype(int) for each in words) >= len(words) - 1
        odd, *others = (~np.isfinite(_float_of(each, kind)) for each in (result, *given))
        for other in others:
            odd = odd & ~other
        made = made | odd & is_rounded
    return made


def _float_of(bits: Lanes, kind: str) -> Lanes:
    """Return words as single floats, or as halfs; 0 if the upper half is not 0."""
    if bits.dtype.itemsize == 2:
        return bits.view(np.float16) if kind == "f2" else np.zeros(bits.shape, np.float32)
    return bits.view(np.float32) if kind == "f4" else np.where(bits >> 16, 0, bits).astype(np.uint16).view(np.float16)


def floats_of_sum(given: Any, result: Any, made: Lanes) -> tuple[Any, ...]:
    """Return the integers of a sum as the floats that they are the bits of, None for the others."""
    kind = "f4" if (made & ~np.isfinite(_float_of(result, "f4"))).any() else "f2"
    floats = (_float_of(each, kind) for each in given)
    return tuple(each if (abs(each) >= np.finfo(each.dtype).smallest_normal).any() else None for each in floats)


def number_text(number: Any, kind: str) -> str:
    """Return the text of a number that another one was made of; of integers that are the bits of a float, the bits."""
    if kind == MADE_OF_BITS and np.asarray(number).dtype.kind in "ui":
        return f"{number:#x}"
    text = f"{number:g}"
    is_near = abs(number) < 1e6 and float(text) != number and float(text).is_integer()  # 1.0000001 is no cosine
    return str(number) if is_near else text


def narrow_floats_of(given: Any, result: Any) -> tuple[list[Lanes], list[Lanes], NarrowFormat]:
    """Return the numbers that a function of `narrow_operations` was given, and their codes."""
    if not isinstance(result, list):
        return [given[0]], [result], given[1]
    parts, scale, form = given
    codes = codes_of(np.stack(result, axis=-1), form.bits)
    return [part / scale for part in parts], [codes[..., number] for number in range(len(parts))], form
