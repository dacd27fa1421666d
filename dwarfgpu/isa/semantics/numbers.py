"""Numbers of scalar operations: a Python integer, or unsigned 64-bit integers ``[wave, 1]`` if waves differ."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = Any

LOW = 0xFFFF_FFFF
ALL = (1 << 64) - 1


def signed(number: Number, bits: int) -> Number:
    """Return the signed number of some bits: an integer, or an array of signed 64-bit integers."""
    sign = 1 << (bits - 1)
    if isinstance(number, int):
        return (number ^ sign) - sign
    if bits == 64:
        return number.view(np.int64)
    return (number ^ np.uint64(sign)).view(np.int64) - np.int64(sign)


def unsigned(number: Number, bits: int) -> Number:
    """Return the lowest bits of a number that may be signed."""
    if isinstance(number, int):
        return number & ((1 << bits) - 1)
    words = number.view(np.uint64) if number.dtype == np.int64 else number
    return words if bits == 64 else words & np.uint64((1 << bits) - 1)


def flag(condition: Any) -> Number:
    """Return 0 or 1 for a condition."""
    return condition.astype(np.uint64) if isinstance(condition, np.ndarray) else int(condition)


def choose(condition: Any, chosen: Number, other: Number) -> Number:
    """Return one number where a condition holds, and the other elsewhere."""
    if isinstance(condition, np.ndarray):
        return np.where(condition != 0, np.asarray(chosen, np.uint64), np.asarray(other, np.uint64))
    return chosen if condition else other


def map_bits(function: Any, number: Number) -> Number:
    """Apply a function of one Python integer."""
    if isinstance(number, int):
        return function(number)
    return np.array([[function(int(one))] for one in number[:, 0]], np.uint64)


def shifted_left(number: Number, count: Number, bits: int) -> Number:
    """Shift left by a number of bits below the size, whose higher bits are ignored."""
    return unsigned(number << (count & (bits - 1)), bits)


def shifted_right(number: Number, count: Number, bits: int) -> Number:
    """Shift right, with zeros."""
    return number >> (count & (bits - 1))


def shifted_arithmetic(number: Number, count: Number, bits: int) -> Number:
    """Shift right, with copies of the sign."""
    count = count & (bits - 1)
    if isinstance(number, int) and isinstance(count, int):
        return signed(number, bits) >> count & ((1 << bits) - 1)
    words = np.asarray(number, np.uint64)
    return unsigned(signed(words, bits) >> np.asarray(count, np.uint64).view(np.int64), bits)
