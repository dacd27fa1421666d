"""Binary floating point: patterns to numbers and back, rounded to nearest even.

All arithmetic is done in double precision and rounded once more to the format. For the narrower formats that is the
correctly rounded result, since a double has more than twice their precision plus two bits. A number is a Python float
or a ``float64`` array; a result that is not a number becomes the one quiet NaN of the format, so that a lane computes
the same pattern alone and among others.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.records import record

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits


_DOUBLE_PRECISION = 53


@record
class FloatFormat:
    """An interchange format of IEEE 754, or bfloat16: a sign, an exponent and a fraction."""

    name: str
    bit_size: int
    fraction_bits: int
    code: str
    """Letter of `struct`, and of numpy's ``f<size>``; that of bfloat16 is the format it is the upper half of."""

    @property
    def nan(self) -> int:
        """The quiet NaN that every invalid result becomes."""
        return (1 << (self.bit_size - 1)) - (1 << (self.fraction_bits - 1))

    @property
    def infinity(self) -> int:
        return (1 << (self.bit_size - 1)) - (1 << self.fraction_bits)

    @property
    def sign(self) -> int:
        return 1 << (self.bit_size - 1)

    @property
    def _container(self) -> tuple[int, int]:
        """The size in bytes of the format that decodes the pattern, and the shift of the pattern to the left in it."""
        return (4, 16) if self.name == "bfloat16" else (self.bit_size // 8, 0)

    def decode(self, bits: Bits) -> Any:
        """Return the numbers that patterns encode."""
        size, shift = self._container
        if type(bits) is int:
            return struct.unpack(f"<{self.code}", (bits << shift).to_bytes(size, "little"))[0]
        with b.quiet():
            return (bits << shift).astype(f"u{size}").view(f"f{size}").astype("f8")  # type: ignore[union-attr]

    def encode(self, numbers: Any) -> Bits:
        """Return the patterns nearest to some numbers."""
        if isinstance(numbers, float):
            return self._encode_one(numbers)
        if self.name == "bfloat16":
            return b.array([self._encode_one(float(number)) for number in numbers], self.bit_size)
        size = self.bit_size // 8
        with b.quiet():
            patterns = numbers.astype(f"f{size}").view(f"u{size}").astype("u8")
        return b.choose(b.is_nan(numbers), self.nan, patterns)

    def double_of(self, number: int) -> float:
        """Return the double that an integer becomes on its way to the format.

        For the narrower formats it rounds as the integer itself would: rounding a long integer twice could go wrong at
        a tie, which a low bit for everything that was cut off ("round to odd") prevents.
        """
        size = abs(number).bit_length()
        try:
            if size <= _DOUBLE_PRECISION or self.name == "float64":
                return float(number)
            cut = size - _DOUBLE_PRECISION
            kept = abs(number) >> cut
            if abs(number) & ((1 << cut) - 1):
                kept |= 1
            result = math.ldexp(float(kept), cut)
        except OverflowError:
            result = math.inf
        return -result if number < 0 else result

    def _encode_one(self, number: float) -> int:
        if math.isnan(number):
            return self.nan
        if self.name == "bfloat16":
            return self._round(number)
        try:
            return int.from_bytes(struct.pack(f"<{self.code}", number), "little")
        except OverflowError:
            return self.infinity | (self.sign if number < 0 else 0)

    def _round(self, number: float) -> int:
        """Round a double to the format by hand, for a format that `struct` does not know."""
        sign = self.sign if math.copysign(1.0, number) < 0 else 0
        if math.isinf(number):
            return sign | self.infinity
        if number == 0:
            return sign
        fraction, exponent = math.frexp(
            abs(number)
        )  # abs(number) == fraction * 2**exponent, 0.5 <= fraction < 1
        bias = (1 << (self.bit_size - 2 - self.fraction_bits)) - 1
        biased = max(exponent + bias - 1, 1)  # 1 is also the exponent of subnormal numbers
        steps = math.ldexp(
            fraction, exponent - biased + bias + self.fraction_bits
        )  # in units of the last place
        # round() is to nearest even; a carry out of the fraction moves into the exponent by itself
        return sign | min(round(steps) + ((biased - 1) << self.fraction_bits), self.infinity)


FORMATS = {
    "float16": FloatFormat("float16", 16, 10, "e"),
    "float32": FloatFormat("float32", 32, 23, "f"),
    "float64": FloatFormat("float64", 64, 52, "d"),
    "bfloat16": FloatFormat("bfloat16", 16, 7, "f"),
}
