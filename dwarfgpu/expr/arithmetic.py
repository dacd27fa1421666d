"""Arithmetic of base types (DWARF 5 sections 2.5.1.4 to 2.5.1.6), on the patterns of their values.

`Integers` and `Floats` answer the same questions; a type without arithmetic has neither. Where the standard leaves
something open the choice is named here, and nowhere else:

* OPEN: the standard has DW_OP_div, DW_OP_abs and DW_OP_neg read their operands as signed. For the generic type that
  is done; a base type with an encoding is read as its encoding says, as debuggers do. DW_OP_mod of the generic type is
  unsigned, as all debuggers have it; a signed remainder has the sign of the dividend.
* OPEN: ``INT_MIN / -1`` wraps around, since operations "do not cause an exception on overflow".
* OPEN: a shift count of the width or more shifts everything out; counts are unsigned.
* OPEN: division of floats by zero gives infinity or NaN (IEEE 754); of integers it is an evaluation error.
* OPEN: converting a float to an integer truncates towards zero; what does not fit becomes the nearest number that
  does, and NaN becomes 0.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, IllFormed
from dwarfgpu.expr.floats import FloatFormat
from dwarfgpu.lanes import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.bits import Bits, Flags
    from dwarfgpu.expr.floats import Number
    from dwarfgpu.expr.rules import Rules


class Integers:
    """Integers of some width: signed, unsigned, or generic (signed only where an operation reads it so)."""

    __slots__ = ("compares_signed", "is_signed", "mask", "width")

    def __init__(self, width: int, *, is_signed: bool, is_generic: bool = False) -> None:
        self.width = width
        self.mask = (1 << width) - 1
        self.is_signed = is_signed
        self.compares_signed = is_signed or is_generic

    def add(self, left: Any, right: Any) -> Bits:
        result: Any = left + right
        return result & self.mask if type(result) is int else b.reduced(result, self.mask)

    def sub(self, left: Bits, right: Bits) -> Bits:
        return b.sub(left, right, self.mask)

    def mul(self, left: Any, right: Any) -> Bits:
        result: Any = left * right
        return result & self.mask if type(result) is int else b.reduced(result, self.mask)

    def div(self, left: Bits, right: Bits) -> Bits:
        refuse(b.is_zero(right), _division_by_zero)
        return b.divide(left, right, self.width, is_signed=self.compares_signed)

    def mod(self, left: Bits, right: Bits) -> Bits:
        refuse(b.is_zero(right), _division_by_zero)
        return b.remainder(left, right, self.width, is_signed=self.is_signed)

    def shl(self, left: Bits, right: Bits) -> Bits:
        return b.shl(left, right, self.width)

    def shr(self, left: Bits, right: Bits) -> Bits:
        return b.shr(left, right, self.width)

    def shra(self, left: Bits, right: Bits) -> Bits:
        return b.sar(left, right, self.width)

    and_, or_, xor = operator.and_, operator.or_, operator.xor

    def neg(self, bits: Bits) -> Bits:
        return b.neg(bits, self.mask)

    def abs(self, bits: Bits) -> Bits:
        return b.magnitude(bits, self.width) if self.compares_signed else bits

    def less(self, left: Bits, right: Bits) -> Flags:
        return b.less(left, right, self.width, is_signed=self.compares_signed)

    def equal(self, left: Bits, right: Bits) -> Flags:
        return b.equal(left, right)

    def is_true(self, bits: Bits) -> Flags:
        return bits != 0

    def convert_to(self, target: Arithmetic, bits: Bits) -> Bits:
        """Return the patterns of the same numbers in another type."""
        if isinstance(target, Integers):
            if self.is_signed and target.width > self.width:
                return b.of_signed(b.signed(bits, self.width), target.width)
            return b.resized(bits, target.width)
        numbers = b.signed(bits, self.width) if self.is_signed else bits
        return target.layout.encode(numbers)


class Floats:
    """Binary floating point numbers of one format, whose numbers a double holds."""

    __slots__ = ("layout", "width")

    def __init__(self, layout: FloatFormat) -> None:
        self.layout = layout
        self.width = layout.bit_size

    def add(self, left: Bits, right: Bits) -> Bits:
        return self._compute(operator.add, left, right)

    def sub(self, left: Bits, right: Bits) -> Bits:
        return self._compute(operator.sub, left, right)

    def mul(self, left: Bits, right: Bits) -> Bits:
        return self._compute(operator.mul, left, right)

    def div(self, left: Bits, right: Bits) -> Bits:
        return self._compute(self._divide, left, right)

    def mod(self, left: Bits, right: Bits) -> Bits:
        message = f"DW_OP_mod needs integral operands, found {self.layout.name}"
        raise IllFormed("integral_type_required", message, spec="DWARF 5, 2.5.1.4")

    def neg(self, bits: Bits) -> Bits:
        return bits ^ self.layout.sign

    def abs(self, bits: Bits) -> Bits:
        return bits & (self.layout.sign - 1)

    def less(self, left: Bits, right: Bits) -> Flags:
        return self.layout.decode(left) < self.layout.decode(right)  # type: ignore[no-any-return]

    def equal(self, left: Bits, right: Bits) -> Flags:
        return self.layout.decode(left) == self.layout.decode(right)  # type: ignore[no-any-return]

    def is_true(self, bits: Bits) -> Flags:
        return self.layout.decode(bits) != 0  # type: ignore[no-any-return]

    def convert_to(self, target: Arithmetic, bits: Bits) -> Bits:
        numbers = self.layout.decode(bits)
        if isinstance(target, Floats):
            return bits if target.layout is self.layout else target.layout.encode(numbers)
        highest = target.mask >> 1 if target.is_signed else target.mask
        lowest = -highest - 1 if target.is_signed else 0
        whole = b.each(numbers, lambda number: _truncated(number, lowest, highest) & target.mask)
        return b.array(list(whole), target.width) if type(whole) is not int else whole

    def _compute(self, function: Callable[[Any, Any], Any], left: Bits, right: Bits) -> Bits:
        with b.quiet():
            return self.layout.encode(function(self.layout.decode(left), self.layout.decode(right)))

    def _divide(self, left: Any, right: Any) -> Any:
        if not isinstance(left, float) or not isinstance(right, float):
            return left / right  # arrays follow IEEE 754 by themselves
        if right != 0:
            return left / right
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)


class ExactFloats(Floats):
    """Binary floating point numbers that no double holds (x87, binary128), computed exactly and rounded once."""

    __slots__ = ()

    def less(self, left: Bits, right: Bits) -> Flags:
        return self._compare(operator.lt, left, right)

    def equal(self, left: Bits, right: Bits) -> Flags:
        return self._compare(operator.eq, left, right)

    def is_true(self, bits: Bits) -> Flags:
        return self._compare(lambda number, _: number != 0, bits, bits)

    def _compute(self, function: Callable[[Any, Any], Any], left: Bits, right: Bits) -> Bits:
        return self._pairwise(lambda x, y: self.layout.encode_exact(_computed(function, x, y)), left, right, self.width)

    def _divide(self, left: Any, right: Any) -> Any:
        return left / right if right != 0 else super()._divide(float(_sign(left)), float(right))

    def _compare(self, function: Callable[[Any, Any], bool], left: Bits, right: Bits) -> Flags:
        flags = self._pairwise(lambda x, y: int(function(x, y)), left, right, 64)
        return bool(flags) if isinstance(flags, int) else flags == 1

    def _pairwise(self, function: Callable[[Any, Any], int], left: Bits, right: Bits, width: int) -> Bits:
        """Apply a function of two numbers to the patterns of every slot."""
        exact = self.layout.exact
        if isinstance(left, int) and isinstance(right, int):
            return function(exact(left), exact(right))
        count = max(1 if isinstance(bits, int) else len(bits) for bits in (left, right))
        pairs = [[exact(int(b.select(bits, slot))) for bits in (left, right)] for slot in range(count)]
        return b.array([function(*pair) for pair in pairs], width)


def _computed(function: Callable[[Any, Any], Number], left: Number, right: Number) -> Number:
    """Apply a function to two numbers of which each is exact, or infinite, or not a number, or negative zero."""
    from fractions import Fraction

    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return function(left, right)
    numbers = (left, right)
    if any(isinstance(number, float) and number != 0 for number in numbers):  # sign and zero of the other count
        return function(*(x if isinstance(x, float) else float(_sign(x)) for x in numbers))
    exact = function(Fraction(left), Fraction(right)) if left != 0 or right != 0 else 0
    if exact != 0 and abs(exact) != math.inf:
        return exact
    return function(*(float(_sign(x)) if x else float(x) for x in numbers))


def _sign(number: Number) -> float:
    """Return -1, 0 or 1; what is not a number stays it."""
    return number if number != number else (number > 0) - (number < 0)  # type: ignore[return-value]  # noqa: PLR0124


if TYPE_CHECKING:
    Arithmetic: TypeAlias = Integers | Floats


def with_one_type(left: Any, right: Any, rules: Rules) -> tuple[Any, Any]:
    """Return two operands with the type that they have in common, or that the rules give them."""
    one, other = left.type, right.type
    if one == other:
        return left, right
    if rules.mixed_operands == "wide_integral" and one.is_generic != other.is_generic:
        value, kind = (left, other) if one.is_generic else (right, one)
        if kind.is_integral and kind.bit_size >= value.type.bit_size:
            converted = type(value)(kind, value.type.arithmetic.convert_to(kind.arithmetic, value.bits))
            return (converted, right) if one.is_generic else (left, converted)
    message = f"both operands must have the same type, found {one} and {other}"
    raise IllFormed("type_mismatch", message, spec="DWARF 5, 2.5.1.4")


def computable(value: Any) -> Any:
    """Return the arithmetic of the type of a value; raise an error for a type that has none."""
    kind = value.type
    if kind.arithmetic is None:
        message = f"the standard defines no arithmetic for the type {kind}"
        raise IllFormed("unsupported_type_operation", message, spec="DWARF 5, 2.5.1.4")
    return kind.arithmetic


def _division_by_zero(_position: int) -> EvaluationError:
    return EvaluationError("division_by_zero", "the divisor is 0", spec="DWARF 5, 2.5.1.4")


def _truncated(number: float, lowest: int, highest: int) -> int:
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return highest if number > 0 else lowest
    return min(max(int(number), lowest), highest)
