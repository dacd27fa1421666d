"""Binary floating point of any layout, exactly: x87, binary128, half, bfloat16, and the 8-bit formats.

`expr.floats` computes in double precision what DWARF expressions compute. Values of a program come in more formats,
and are shown with all their digits, so here a number is a `fractions.Fraction`, or a float that is infinite or not
a number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from dwarfgpu import bits as b
from dwarfgpu.expr.floats import FORMATS, FloatFormat

if TYPE_CHECKING:
    from fractions import Fraction

    from dwarfgpu.bits import Bits

    Number: TypeAlias = Fraction | float


@frozen
class Layout:
    """A sign, an exponent and a fraction, in a number of bits."""

    name: str
    bit_size: int
    exponent_bits: int
    fraction_bits: int
    """Without the leading one, unless it is explicit."""
    bias: int
    leading: bool = False
    """Whether the leading one is stored (x87)."""
    special: str = "ieee"
    """``ieee``: the highest exponent is infinity and not-a-number. ``fn``: only the highest pattern is not-a-number and
    there is no infinity. ``fnuz``: neither, and what would be negative zero is not-a-number."""
    quick: FloatFormat | None = None
    """What decodes arrays of it, where that is exact."""

    @property
    def precision(self) -> int:
        """Significant bits."""
        return self.fraction_bits + (0 if self.leading else 1)

    @property
    def digits(self) -> int:
        """Decimal digits that tell any two numbers apart: what GDB shows."""
        return 1 + math.ceil(self.precision * 0.30103)

    # --- Decoding -------------------------------------------------------------------------------------------------

    def fields(self, bits: int) -> tuple[int, int, int]:
        """Sign, exponent and fraction."""
        fraction = bits & ((1 << self.fraction_bits) - 1)
        exponent = bits >> self.fraction_bits & ((1 << self.exponent_bits) - 1)
        return bits >> (self.bit_size - 1) & 1, exponent, fraction

    def kind(self, bits: int) -> str:
        """``finite``, ``infinite`` or ``nan``."""
        sign, exponent, fraction = self.fields(bits)
        highest = (1 << self.exponent_bits) - 1
        if self.special == "fnuz":
            return "nan" if sign and not exponent and not fraction else "finite"
        if exponent != highest:
            return "finite"
        if self.special == "fn":
            return "nan" if fraction == (1 << self.fraction_bits) - 1 else "finite"
        payload = fraction & ((1 << (self.fraction_bits - 1)) - 1) if self.leading else fraction
        return "nan" if payload else "infinite"

    def decode(self, bits: int) -> Number:
        """The number of a pattern. Negative zero is a float, as a fraction has no sign then."""
        from fractions import Fraction  # which costs start-up time

        sign, exponent, fraction = self.fields(bits)
        kind = self.kind(bits)
        if kind != "finite":
            number = math.nan if kind == "nan" else math.inf
            return -number if sign else number
        if not exponent:
            exponent = 1
        elif not self.leading:
            fraction |= 1 << self.fraction_bits
        if not fraction:
            return -0.0 if sign else Fraction(0)
        power = exponent - self.bias - self.precision + 1
        size = Fraction(fraction << power) if power >= 0 else Fraction(fraction, 1 << -power)
        return -size if sign else size

    def doubles(self, bits: Bits) -> Any:
        """The numbers of patterns as doubles, for arrays too; those that no double has are rounded."""
        if self.quick is not None:
            return self.quick.decode(bits)
        return b.each(bits, lambda each: as_float(self.decode(int(each))))

    # --- Encoding -------------------------------------------------------------------------------------------------

    @property
    def nan(self) -> int:
        """The quiet not-a-number that every invalid result becomes."""
        if self.special == "fnuz":
            return 1 << (self.bit_size - 1)
        ones = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        if self.special == "fn":
            return ones | ((1 << self.fraction_bits) - 1)
        return ones | (3 << (self.fraction_bits - 2) if self.leading else 1 << (self.fraction_bits - 1))

    @property
    def largest(self) -> int:
        """The pattern of infinity, or of what stands for it: the largest number there is."""
        if self.special == "fnuz":
            return (1 << (self.bit_size - 1)) - 1
        ones = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        if self.special == "fn":
            return ones | ((1 << self.fraction_bits) - 2)
        return ones | (1 << (self.fraction_bits - 1) if self.leading else 0)

    def encode(self, number: Number | int) -> int:
        """The pattern nearest to a number; of two as near the even one."""
        from fractions import Fraction

        if isinstance(number, float):
            if math.isnan(number):
                return self.nan
            sign = 1 << (self.bit_size - 1) if math.copysign(1.0, number) < 0 else 0
            if math.isinf(number):
                return self.nan if self.special == "fnuz" else sign | self.largest
            if number == 0:
                return 0 if self.special == "fnuz" else sign
        exact = Fraction(number)
        if not exact:
            return 0
        sign = 1 << (self.bit_size - 1) if exact < 0 else 0
        size = abs(exact)
        power = size.numerator.bit_length() - size.denominator.bit_length()
        if size < Fraction(2) ** power:
            power -= 1  # now 2**power <= size < 2**(power + 1)
        power = max(power, 1 - self.bias)
        steps = round(size / Fraction(2) ** (power - self.precision + 1))
        if steps >> self.precision:
            steps >>= 1
            power += 1
        exponent = power + self.bias if steps >> (self.precision - 1) else 0
        if not self.leading:
            steps &= (1 << self.fraction_bits) - 1
        if exponent >= 1 << self.exponent_bits:
            return sign | self.largest
        pattern = exponent << self.fraction_bits | steps
        return sign | min(pattern, self.largest) if self.special != "fnuz" or pattern else pattern


def as_float(number: Number) -> float:
    """The nearest double."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _quick(name: str) -> FloatFormat:
    return FORMATS[name]


HALF = Layout("float16", 16, 5, 10, 15, quick=_quick("float16"))
SINGLE = Layout("float32", 32, 8, 23, 127, quick=_quick("float32"))
DOUBLE = Layout("float64", 64, 11, 52, 1023, quick=_quick("float64"))
BFLOAT = Layout("bfloat16", 16, 8, 7, 127, quick=_quick("bfloat16"))
X87 = Layout("x87", 80, 15, 64, 16383, leading=True)
QUAD = Layout("float128", 128, 15, 112, 16383)
E4M3 = Layout("e4m3", 8, 4, 3, 7, special="fn")
E4M3_FNUZ = Layout("e4m3fnuz", 8, 4, 3, 8, special="fnuz")
E5M2 = Layout("e5m2", 8, 5, 2, 15)
E5M2_FNUZ = Layout("e5m2fnuz", 8, 5, 2, 16, special="fnuz")

BY_SIZE = {16: HALF, 32: SINGLE, 64: DOUBLE, 80: X87, 96: X87, 128: X87}


def layout_of(name: str, bit_size: int, *, has_quad: bool = False) -> Layout | None:
    """The layout of a floating-point type, by its size and, where that does not say, by its name.

    Eight bits are E5M2 where the name says so, E4M3 where it says that, and nothing else. ``fnuz`` in the name is what
    processors before gfx950 have. A type of 12 or 16 bytes is x87's, but where the name or the target says otherwise.
    """
    words = name.lower().replace("_", "").replace(" ", "")
    if bit_size == 8:
        unsigned_zero = "fnuz" in words
        if "e5m2" in words or "bf8" in words:
            return E5M2_FNUZ if unsigned_zero else E5M2
        if "e4m3" in words or "fp8" in words or "float8" in words:
            return E4M3_FNUZ if unsigned_zero else E4M3
        return None
    if bit_size == 16 and ("bf16" in words or "bfloat" in words):
        return BFLOAT
    if bit_size == 128 and (has_quad or "float128" in words or "kind=16" in words or "real(16)" in words):
        return QUAD
    return BY_SIZE.get(bit_size)
