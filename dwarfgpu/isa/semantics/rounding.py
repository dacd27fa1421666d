"""Floats that are not rounded to the nearest: MODE says so (FP_ROUND: 1 up, 2 down, 3 to zero).

A result is computed to the nearest float first, with what it lacks, and then moved to its neighbour where the direction
wants it. Singles and halfs are computed as doubles that are rounded to odd, so they lose nothing; doubles as fractions,
lane by lane.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics import floats

Lanes = Any
Function = Callable[..., Any]
NEAREST, UP, DOWN, TO_ZERO = range(4)

_ARITHMETIC = re.compile(
    r"[vs]_(add|sub|subrev|mul|fma|fmac|fmaak|fmamk|mad|mac|madak|madmk)_(?:legacy_)?(f16|f32|f64)$"
)
_CONVERSION = re.compile(r"[vs]_cvt_(f16|f32)_(f32|f64|i32|u32|i16|u16|ubyte\d)$")
_INEXACT = re.compile(
    r"(ldexp|div_fmas|fma_legacy|fmac_legacy|fma_dx9|fmac_dx9|mul_legacy|mul_dx9|mad_legacy_f32|mullit)"
)
"""Operations that round, but for which no direction is known here; all others do not round, or do it their own way."""


def direction(mode: int, kind: str) -> int:
    """Return how MODE rounds floats of a type."""
    return mode & 3 if kind == "f32" else mode >> 2 & 3


def in_direction(name: str, function: Function, kind: str, mode: int) -> Function | None:
    """Return an operation as MODE rounds its results of a type; None if that is not known."""
    if kind not in ("f16", "f32", "f64"):
        return function
    way = direction(mode, kind)
    if way == NEAREST:
        return function
    arithmetic, conversion = _ARITHMETIC.match(name), _CONVERSION.match(name)
    if arithmetic and not ("legacy" in name and kind == "f32"):
        return _arithmetic(arithmetic[1], kind, way)
    if conversion:
        return _converted(conversion[1], way)
    return None if _INEXACT.search(name) else function


@cache
def _converted(kind: str, way: int) -> Function:
    return lambda value: moved(value.astype(np.float64), _TYPES[kind], way)


_TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@cache
def _arithmetic(operation: str, kind: str, way: int) -> Function:
    """Return an operation; those that accumulate get their destination first."""
    dtype = _TYPES[kind]

    def fused(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        return _sum_of_product(left, right, other, dtype, way)

    def add(left: Lanes, right: Lanes) -> Lanes:
        return fused(left, dtype(1) + np.zeros((1, 1), dtype), right)

    def multiply(left: Lanes, right: Lanes) -> Lanes:
        zero = np.where(np.signbit(left) ^ np.signbit(right), dtype(-0.0), dtype(0.0))
        return _sum_of_product(left, right, zero, dtype, way)

    def twice(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        return add(multiply(left, right), other)

    functions: dict[str, Function] = {
        "add": add,
        "sub": lambda left, right: add(left, -right),
        "subrev": lambda left, right: add(right, -left),
        "mul": multiply,
        "fma": fused,
        "fmaak": fused,
        "fmamk": fused,
        "fmac": lambda old, left, right: fused(left, right, old),
        "mad": twice,
        "madak": twice,
        "madmk": twice,
        "mac": lambda old, left, right: twice(left, right, old),
    }
    return functions[operation]


def _sum_of_product(left: Lanes, right: Lanes, other: Lanes, dtype: Any, way: int) -> Lanes:
    """Return ``left * right + other``, rounded once, in a direction."""
    left, right, other = np.broadcast_arrays(left, right, other)
    if dtype is np.float64:
        nearest, error = _exactly(left, right, other)
    else:
        nearest, error = _narrowed(floats.fused_double(left, right, other), dtype)
    result = _neighbour(nearest, error, way)
    if way == DOWN:  # a sum of opposite numbers is -0, but not one of two +0
        are_positive = (other == 0) & ~np.signbit(other) & ~np.signbit(left * right)
        result = np.where((nearest == 0) & (error == 0) & ~are_positive, dtype(-0.0), result)
    return result


def moved(wide: Lanes, dtype: Any, way: int) -> Lanes:
    """Return doubles as floats of a type, rounded in a direction."""
    return _neighbour(*_narrowed(wide, dtype), way)


def _narrowed(wide: Lanes, dtype: Any) -> tuple[Lanes, Lanes]:
    """Return the nearest floats, and what they lack."""
    with np.errstate(all="ignore"):
        nearest = wide.astype(dtype)
        error = wide - nearest.astype(np.float64)
    return nearest, np.where(np.isinf(wide), 0, error)


def _neighbour(nearest: Lanes, error: Lanes, way: int) -> Lanes:
    """Return a float or the one beside it: ``error`` has the sign of the exact number less the float."""
    kind = nearest.dtype.type
    up, down = error > 0, error < 0
    if way == TO_ZERO:
        up, down = up & (nearest < 0), down & (nearest > 0)
    elif way == UP:
        down = np.zeros_like(down)
    else:
        up = np.zeros_like(up)
    result = np.where(up, np.nextafter(nearest, kind(np.inf)), nearest)
    result = np.where(down, np.nextafter(nearest, kind(-np.inf)), result)
    # What is rounded up from below 0 to 0 is -0.
    return np.where((result == 0) & (nearest < 0), kind(-0.0), result)


def _exactly(left: Lanes, right: Lanes, other: Lanes) -> tuple[Lanes, Lanes]:
    """Return the nearest doubles, and the sign of what they lack."""
    nearest = floats.fused_long(left, right, other)
    error = np.zeros(nearest.shape)
    finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(other)
    for index in zip(*np.nonzero(finite), strict=True):
        exact = Fraction(float(left[index])) * Fraction(float(right[index])) + Fraction(float(other[index]))
        rounded = float(nearest[index])
        if np.isinf(rounded):
            error[index] = -rounded
        else:
            error[index] = (exact > Fraction(rounded)) - (exact < Fraction(rounded))
    return nearest, error
