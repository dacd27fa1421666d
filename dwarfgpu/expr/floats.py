"""Formats of binary floating point: bit patterns to numbers and back, rounded to nearest even.

A format whose numbers a double holds is computed with in double precision and rounded once more to the format. That is
the correctly rounded result, since a double has more than twice the precision of the narrower formats plus two bits.
Numbers of any format are also decoded exactly, as a `fractions.Fraction`, or as a float that is infinite, not a number
or negative zero. A result that is not a number becomes the one quiet NaN of the format, so that a lane computes the
same pattern alone and among others.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from fractions import Fraction

    from dwarfgpu.bits import Bits

    Number: TypeAlias = Fraction | float


_DOUBLE_PRECISION = 53


@frozen
class FloatFormat:
    """A format of floating-point numbers: a sign, an exponent and a fraction, in a number of bits."""

    name: str
    bit_size: int
    exponent_bits: int
    fraction_bits: int
    """Without the leading one, unless it is explicit."""
    bias: int
    code: str = ""
    """Letter of `struct`, which numpy knows as ``f<size>``; empty if they do not know the format."""
    leading: bool = False
    """Whether the leading one is stored (x87)."""
    special: str = "ieee"
    """``ieee``: the highest exponent is infinity and not-a-number. ``fn``: only the highest pattern is not-a-number and
    there is no infinity. ``fnuz``: neither, and what would be negative zero is not-a-number."""

    @property
    def precision(self) -> int:
        """The number of significant bits."""
        return self.fraction_bits + (0 if self.leading else 1)

    @property
    def fits_double(self) -> bool:
        """Whether a double holds every number of the format."""
        return self.precision <= _DOUBLE_PRECISION

    @property
    def digits(self) -> int:
        """The number of decimal digits that tell any two numbers apart: what GDB shows."""
        return 1 + math.ceil(self.precision * 0.30103)

    @property
    def sign(self) -> int:
        return 1 << (self.bit_size - 1)

    @property
    def nan(self) -> int:
        """The quiet NaN that every invalid result becomes."""
        if self.special == "fnuz":
            return self.sign
        ones = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        if self.special == "fn":
            return ones | ((1 << self.fraction_bits) - 1)
        return ones | (3 << (self.fraction_bits - 2) if self.leading else 1 << (self.fraction_bits - 1))

    @property
    def largest(self) -> int:
        """The pattern of infinity; of a format without infinity that of the largest number."""
        if self.special == "fnuz":
            return self.sign - 1
        ones = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        if self.special == "fn":
            return ones | ((1 << self.fraction_bits) - 2)
        return ones | (1 << (self.fraction_bits - 1) if self.leading else 0)

    # --- Decoding -------------------------------------------------------------------------------------------------

    def decode(self, bits: Bits) -> Any:
        """Return the numbers of patterns as doubles; a number that no double holds is rounded."""
        if self is BFLOAT:  # the upper half of a single
            return SINGLE.decode(bits << 16)
        if not self.code:
            return b.each(bits, lambda pattern: as_float(self.exact(int(pattern))))
        size = self.bit_size // 8
        if type(bits) is int:
            return struct.unpack(f"<{self.code}", bits.to_bytes(size, "little"))[0]
        with b.quiet():
            return bits.astype(f"u{size}").view(f"f{size}").astype("f8")  # type: ignore[union-attr]

    def exact(self, pattern: int) -> Number:
        """Return the number of a pattern. Negative zero is a float, because a fraction has no sign then."""
        from fractions import Fraction

        sign, exponent, fraction = self.fields(pattern)
        kind = self.kind(pattern)
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

    def fields(self, pattern: int) -> tuple[int, int, int]:
        """Return sign, exponent and fraction of a pattern."""
        fraction = pattern & ((1 << self.fraction_bits) - 1)
        exponent = pattern >> self.fraction_bits & ((1 << self.exponent_bits) - 1)
        return pattern >> (self.bit_size - 1) & 1, exponent, fraction

    def kind(self, pattern: int) -> str:
        """Tell what a pattern is: ``finite``, ``infinite`` or ``nan``."""
        sign, exponent, fraction = self.fields(pattern)
        highest = (1 << self.exponent_bits) - 1
        if self.special == "fnuz":
            return "nan" if sign and not exponent and not fraction else "finite"
        if exponent != highest:
            return "finite"
        if self.special == "fn":
            return "nan" if fraction == (1 << self.fraction_bits) - 1 else "finite"
        payload = fraction & ((1 << (self.fraction_bits - 1)) - 1) if self.leading else fraction
        return "nan" if payload else "infinite"

    # --- Encoding -------------------------------------------------------------------------------------------------

    def encode(self, numbers: Any) -> Bits:
        """Return the patterns nearest to numbers: a float or an int, or an array of them."""
        if isinstance(numbers, float) and self.code:
            if math.isnan(numbers):
                return self.nan
            try:
                return int.from_bytes(struct.pack(f"<{self.code}", numbers), "little")
            except OverflowError:
                return self.largest | (self.sign if numbers < 0 else 0)
        if isinstance(numbers, (int, float)):
            return self.encode_exact(numbers)
        if not self.code or numbers.dtype.kind != "f":
            return b.array([self.encode_exact(number) for number in numbers.tolist()], self.bit_size)
        size = self.bit_size // 8
        with b.quiet():
            patterns = numbers.astype(f"f{size}").view(f"u{size}").astype("u8")
        return b.choose(b.is_nan(numbers), self.nan, patterns)

    def encode_exact(self, number: Number | int) -> int:
        """Return the pattern nearest to a number, computed with integers alone."""
        has_zeros = self.special != "fnuz"
        if isinstance(number, float):
            if math.isnan(number):
                return self.nan
            sign = self.sign if math.copysign(1.0, number) < 0 else 0
            if math.isinf(number):
                return sign | self.largest if has_zeros else self.nan
            if number == 0:
                return sign if has_zeros else 0
        if not number:
            return 0
        sign = self.sign if number < 0 else 0
        ratio: tuple[int, int] = number.as_integer_ratio()
        size, unit = abs(ratio[0]), ratio[1]
        power = size.bit_length() - unit.bit_length()
        if size << max(-power, 0) < unit << max(power, 0):
            power -= 1  # now 2**power <= size / unit < 2**(power + 1)
        power = max(power, 1 - self.bias)
        cut = power - self.precision + 1
        steps, rest = divmod(size << max(-cut, 0), unit := unit << max(cut, 0))
        steps += 2 * rest > unit or (2 * rest == unit and steps & 1)  # to nearest even
        if steps >> self.precision:
            steps >>= 1
            power += 1
        exponent = power + self.bias if steps >> (self.precision - 1) else 0
        if not self.leading:
            steps &= (1 << self.fraction_bits) - 1
        if exponent >= 1 << self.exponent_bits:
            return sign | self.largest
        pattern = exponent << self.fraction_bits | steps
        return sign | min(pattern, self.largest) if has_zeros or pattern else pattern


def as_float(number: Number) -> float:
    """Return the nearest double."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


HALF = FloatFormat("float16", 16, 5, 10, 15, "e")
SINGLE = FloatFormat("float32", 32, 8, 23, 127, "f")
DOUBLE = FloatFormat("float64", 64, 11, 52, 1023, "d")
BFLOAT = FloatFormat("bfloat16", 16, 8, 7, 127)
X87 = FloatFormat("x87", 80, 15, 64, 16383, leading=True)
QUAD = FloatFormat("float128", 128, 15, 112, 16383)
E4M3 = FloatFormat("e4m3", 8, 4, 3, 7, special="fn")
E4M3_FNUZ = FloatFormat("e4m3fnuz", 8, 4, 3, 8, special="fnuz")
E5M2 = FloatFormat("e5m2", 8, 5, 2, 15)
E5M2_FNUZ = FloatFormat("e5m2fnuz", 8, 5, 2, 16, special="fnuz")

FORMATS = {known.name: known for known in (HALF, SINGLE, DOUBLE, BFLOAT)}
"""The formats of the base types that DWARF expressions compute with."""
BY_SIZE = {16: HALF, 32: SINGLE, 64: DOUBLE, 80: X87, 96: X87, 128: X87}


def float_format(name: str, bit_size: int, *, has_quad: bool = False) -> FloatFormat | None:
    """Return the format of a floating-point type, by its size and, where that does not say, by its name.

    Eight bits are E5M2 where the name says so, E4M3 where it says that, and nothing else. ``fnuz`` in the name is what
    processors before gfx950 have. A type of 12 or 16 bytes is x87's, unless the name or the target says otherwise.
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
