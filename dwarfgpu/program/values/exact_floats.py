"""Arithmetic of floating-point formats that no double holds, exactly and rounded once: x87, binary128, 8-bit formats.

It answers the same questions as `expr.arithmetic.Floats`, slot by slot.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.expr.arithmetic import FloatOperations

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.bits import Bits, Flags
    from dwarfgpu.program.values.formats import Layout, Number


class ExactFloats(FloatOperations):
    """Numbers of one layout."""

    __slots__ = ("layout", "width")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.width = layout.bit_size

    def neg(self, bits: Bits) -> Bits:
        return bits ^ (1 << (self.width - 1))

    def less(self, left: Bits, right: Bits) -> Flags:
        return self._compare(lambda x, y: x < y, left, right)

    def equal(self, left: Bits, right: Bits) -> Flags:
        return self._compare(lambda x, y: x == y, left, right)

    def is_true(self, bits: Bits) -> Flags:
        return self._compare(lambda x, _: x != 0, bits, bits)

    def _compute(self, function: Callable[[Any, Any], Number], left: Bits, right: Bits) -> Bits:
        decode, encode = self.layout.decode, self.layout.encode
        return pairwise(lambda x, y: encode(_mixed(function, decode(x), decode(y))), left, right, self.width)

    def _divide(self, left: Any, right: Any) -> Number:
        if right != 0:
            return left / right  # type: ignore[no-any-return]
        if left == 0 or left != left:  # noqa: PLR0124 (not a number is not itself)
            return math.nan
        sign = math.copysign(1.0, right) if isinstance(right, float) else 1.0
        return math.inf * sign if left > 0 else -math.inf * sign

    def _compare(self, function: Callable[[Any, Any], bool], left: Bits, right: Bits) -> Flags:
        decode = self.layout.decode
        found = pairwise(lambda x, y: int(function(decode(x), decode(y))), left, right, 64)
        return bool(found) if isinstance(found, int) else found == 1


def pairwise(function: Callable[[int, int], int], left: Bits, right: Bits, width: int) -> Bits:
    """A function of two patterns in every slot."""
    if isinstance(left, int) and isinstance(right, int):
        return function(left, right)
    both: Any = (left, right)
    count = max(1 if isinstance(each, int) else len(each) for each in both)
    pairs = ((int(b.select(left, slot)), int(b.select(right, slot))) for slot in range(count))
    return b.array([function(*pair) for pair in pairs], width)


def _mixed(function: Callable[[Any, Any], Number], left: Number, right: Number) -> Number:
    """A function of two numbers of which each is exact, or infinite, or not a number, or negative zero."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return function(left, right)
    special = [each for each in (left, right) if isinstance(each, float) and each != 0]
    if special:  # of the finite one only sign and zero count
        return function(*(each if isinstance(each, float) else float(_sign(each)) for each in (left, right)))
    if left == 0 and right == 0:
        return function(float(left), float(right))
    exact = function(Fraction(left), Fraction(right))
    if exact != 0:
        return exact
    return function(
        *(math.copysign(float(_sign(each)), each) if each else float(each) for each in (left, right))
    )


def _sign(number: Number) -> int:
    return (number > 0) - (number < 0)
