"""Arithmetic on bit patterns that are the same in every slot, or differ from slot to slot.

``Bits`` is a Python int when all slots agree, else an array with one element a slot: ``uint64`` for patterns of at
most 64 bits, Python ints (``object``) for wider ones. Every pattern is unsigned and smaller than ``2**width``; what
it means, the type decides. This module is the only one that knows that there are two forms: everything
built on it is written once, for one lane and for six hundred thousand.

Arguments named ``mask`` are ``2**width - 1``. numpy is imported only where an array must be made, so one lane never
needs it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Bits: TypeAlias = int | NDArray[Any]
    Flags: TypeAlias = bool | NDArray[np.bool_]
    """A condition: one for all slots, or one a slot."""
    Positions: TypeAlias = int | NDArray[Any]
    """One slot, or an index array of slots."""

MASK64 = (1 << 64) - 1

_numpy: list[bool] = []
"""Whether numpy can be used, once it was tried."""
MOST_IN_TURN = 256
"""So many slots are evaluated in turn before numpy is loaded for them."""
_in_turn = [0]
"""How many were."""


def has_arrays() -> bool:
    """Return whether many slots can be evaluated together, which takes numpy; without it they are evaluated in turn.

    The Python inside a debugger may have none, or one that was built for another version of Python.
    """
    if not _numpy:
        try:
            import numpy as np
        except ImportError:
            _numpy.append(False)
        else:
            _numpy.append(hasattr(np, "uint64"))
    return _numpy[0]


def arrays_pay(count: int) -> bool:
    """Return whether so many slots are better evaluated together than in turn.

    Importing numpy takes as long as some thousand slots: while nothing has loaded it, the first ones are taken in turn.
    """
    if not _numpy and "numpy" not in sys.modules:
        _in_turn[0] += count
        if _in_turn[0] <= MOST_IN_TURN:
            return False
    return has_arrays()


def select(bits: Bits, positions: Positions) -> Bits:
    """Return the patterns of some slots; of one slot an int."""
    if isinstance(bits, int):
        return bits
    chosen = bits[positions]
    return int(chosen) if isinstance(positions, int) else chosen


def comparable(bits: Bits | None) -> object:
    """Return what ``==`` compares as a whole, for fields of attrs classes; only what is no array can be hashed."""
    return bits if bits is None or isinstance(bits, int) else bits.tolist()


def array(values: Sequence[int], width: int) -> Array:
    """Return an array of patterns of ``width`` bits, one a slot."""
    import numpy as np

    return np.array(values, dtype=np.uint64 if width <= 64 else object)


def flags(values: Sequence[bool]) -> Array:
    """Return a condition with one answer a slot."""
    import numpy as np

    return np.array(values, dtype=bool)


def of_flags(flags: Flags) -> Bits:
    """Return 1 where a condition holds, else 0."""
    return int(flags) if isinstance(flags, bool) else flags.astype("u8")


def reduced(result: Any, mask: int) -> Bits:
    """Reduce an intermediate result modulo ``2**width``; ``uint64`` arrays wrap by themselves."""
    if type(result) is int or mask != MASK64:
        return result & mask  # type: ignore[no-any-return]
    return result  # type: ignore[no-any-return]


def add(left: Any, right: Any, mask: int) -> Bits:
    """Return the sum, modulo ``2**width``."""
    return reduced(left + right, mask)


def sub(left: Any, right: Any, mask: int) -> Bits:
    """Return the difference, modulo ``2**width``."""
    return reduced(left - right, mask)


def mul(left: Bits, right: Bits, mask: int) -> Bits:
    """Return the product, modulo ``2**width``."""
    return reduced(left * right, mask)


def neg(bits: Bits, mask: int) -> Bits:
    """Return the two's complement."""
    return reduced(0 - bits, mask)


def invert(bits: Bits, mask: int) -> Bits:
    """Return the one's complement."""
    return bits ^ mask


def shl(bits: Bits, count: Bits, width: int) -> Bits:
    """Shift to the left; a count of ``width`` or more leaves nothing."""
    if type(count) is int:
        return reduced(bits << count, (1 << width) - 1) if count < width else bits & 0
    shifted = reduced(_shiftable(bits, width) << _capped(count, width), (1 << width) - 1)
    return choose(count < width, shifted, 0)


def shr(bits: Bits, count: Bits, width: int) -> Bits:
    """Shift right, filling with zeros; a count of ``width`` or more leaves nothing."""
    if type(count) is int:
        return bits >> count if count < width else bits & 0
    return choose(count < width, _shiftable(bits, width) >> _capped(count, width), 0)


def sar(bits: Bits, count: Bits, width: int) -> Bits:
    """Shift right, filling with the sign; a count of ``width`` or more leaves only the sign."""
    mask = (1 << width) - 1
    return choose(
        is_negative(bits, width), invert(shr(invert(bits, mask), count, width), mask), shr(bits, count, width)
    )


def _shiftable(bits: Bits, width: int) -> Any:
    """Return an operand that a count a slot can shift: an int must become an array, or numpy would choose the type."""
    return bits if type(bits) is not int else array([bits], width)


def _capped(count: Any, width: int) -> Any:
    import numpy as np

    return np.minimum(count, width - 1)


_SIGNED = {8: "i1", 16: "i2", 32: "i4", 64: "i8"}
"""The types of numpy with a sign, by their width."""


def signed(bits: Bits, width: int) -> Any:
    """Return the patterns read as two's complement: an int, an ``int64`` array, or an array of Python ints."""
    half = 1 << (width - 1)
    if type(bits) is int:
        return (bits ^ half) - half
    if width == 64 and bits.dtype.kind == "u":  # type: ignore[union-attr]
        return bits.view("i8")  # type: ignore[union-attr]
    if width in _SIGNED and bits.dtype != object:  # type: ignore[union-attr]
        return bits.astype(_SIGNED[width]).astype("i8")  # type: ignore[union-attr]
    result = (bits ^ half) - half
    return result.view("i8") if bits.dtype != object else result  # type: ignore[union-attr]


def resized(bits: Bits, width: int) -> Bits:
    """Return the low ``width`` bits, zero-extended when there are fewer."""
    if type(bits) is int:
        return bits & ((1 << width) - 1)
    if width > 64:
        return bits.astype(object) & ((1 << width) - 1)  # type: ignore[union-attr]
    result = bits & ((1 << width) - 1)
    return result.astype("u8") if result.dtype == object else result  # type: ignore[union-attr]


def widened(bits: Bits) -> Bits:
    """Return the same patterns, in a form that computes with more than 64 bits."""
    return bits if isinstance(bits, int) else bits.astype(object)


def of_signed(numbers: Any, width: int) -> Bits:
    """Return the two's complement patterns of signed numbers, modulo ``2**width``."""
    if type(numbers) is not int and numbers.dtype == "i8":
        numbers = numbers.view("u8") if width <= 64 else numbers.astype(object)
    return resized(numbers, width)


def is_negative(bits: Bits, width: int) -> Flags:
    """Return whether the sign bit is set."""
    flags = bits >> (width - 1)
    return flags == 1


def magnitude(bits: Bits, width: int) -> Bits:
    """Return the absolute value of two's complement patterns; the most negative one is its own."""
    return choose(is_negative(bits, width), neg(bits, (1 << width) - 1), bits)


def choose(flags: Flags, yes: Bits, no: Bits) -> Bits:
    """Return ``yes`` where the condition holds, else ``no``."""
    if isinstance(flags, bool):
        return yes if flags else no
    import numpy as np

    wide = any(type(x) is not int and x.dtype == object for x in (yes, no))  # type: ignore[union-attr]
    wide = wide or any(type(x) is int and x > MASK64 for x in (yes, no))
    kind: Any = object if wide else np.uint64
    return np.where(flags, np.asarray(yes, dtype=kind), np.asarray(no, dtype=kind))


def is_zero(bits: Bits) -> Flags:
    """Return whether no bit is set."""
    return bits == 0


def divide(left: Bits, right: Bits, width: int, *, is_signed: bool) -> Bits:
    """Return the quotient, rounded towards zero. No divisor may be zero. ``INT_MIN / -1`` wraps to ``INT_MIN``."""
    if not is_signed:
        return left // right
    quotient = magnitude(left, width) // magnitude(right, width)
    differ = is_negative(left ^ right, width)
    return choose(differ, neg(quotient, (1 << width) - 1), quotient)


def remainder(left: Bits, right: Bits, width: int, *, is_signed: bool) -> Bits:
    """Return the remainder of a division; if signed, it has the sign of the dividend. No divisor may be zero."""
    if not is_signed:
        return left % right
    rest = magnitude(left, width) % magnitude(right, width)
    return choose(is_negative(left, width), neg(rest, (1 << width) - 1), rest)


def less(left: Bits, right: Bits, width: int, *, is_signed: bool) -> Flags:
    """Return whether left < right."""
    if is_signed:  # flipping the sign bit maps signed order to unsigned order
        sign = 1 << (width - 1)
        left = left ^ sign
        right = right ^ sign
    return left < right


def equal(left: Bits, right: Bits) -> Flags:
    """Return whether all bits agree."""
    return left == right


def set_in_any(bits: Bits) -> int:
    """Return the bits that are set in at least one slot."""
    if type(bits) is int:
        return bits
    import numpy as np

    return int(np.bitwise_or.reduce(bits))


def all_of(flags: Flags) -> bool:
    """Return whether a condition holds in every slot."""
    return flags if isinstance(flags, bool) else bool(flags.all())


def either(left: Flags, right: Flags) -> Flags:
    """Return whether at least one of two conditions holds."""
    if isinstance(left, bool):
        return True if left else right
    if isinstance(right, bool):
        return True if right else left
    return left | right


def both(left: Flags, right: Flags) -> Flags:
    """Return whether two conditions hold."""
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    return left & right


def negated(flags: Flags) -> Flags:
    """Return whether a condition does not hold."""
    return not flags if isinstance(flags, bool) else ~flags


def positions_of(flags: Array) -> Array:
    """Return the slots in which a condition holds."""
    return flags.nonzero()[0]


def groups(bits: Array) -> list[Array]:
    """Group the slots by equal pattern, in the order of the first slot of each group."""
    import numpy as np

    values, first, inverse = np.unique(bits, return_index=True, return_inverse=True)
    by_value = np.argsort(inverse.reshape(-1), kind="stable")
    counts = np.bincount(inverse.reshape(-1), minlength=len(values))
    split = np.split(by_value, np.cumsum(counts)[:-1])
    return [split[i] for i in np.argsort(first)]


_LARGE = 1 << 61
"""Sums of two numbers below this fit ``int64``."""
_SCALABLE = 1 << 57
"""Numbers below this times 8 are no larger than that."""


def moved(offset: Bits, displacement: Any) -> Any:
    """Return a bit offset plus a displacement from `scaled`. The result may be negative: the caller checks it."""
    if type(offset) is int and (type(displacement) is int or (not offset and displacement.dtype == "i8")):
        return offset + displacement if offset else displacement
    left, right = _exact(offset), _exact(displacement)
    if type(left) is int and abs(left) >= _LARGE:  # the sums may not fit 64 bits
        right = right.astype(object)
    elif type(right) is int and abs(right) >= _LARGE:
        left = left.astype(object)
    return left + right


def _exact(numbers: Any) -> Any:
    """Return numbers whose sums cannot wrap: ``int64`` while they are small, Python ints otherwise."""
    if type(numbers) is int or numbers.dtype != "u8":
        return numbers
    return numbers.view("i8") if numbers.max() < _LARGE else numbers.astype(object)


def scaled(numbers: Any, factor: int) -> Any:
    """Return signed or unsigned numbers times 1 or 8, in a form whose sums cannot wrap."""
    if type(numbers) is int:
        return numbers * factor
    if numbers.dtype != object:
        unsigned = numbers if numbers.dtype.kind == "u" else numbers.view("u8")
        small = unsigned.max() < _SCALABLE  # and none is negative, as usual
        if not small and unsigned is not numbers:
            small = numbers.max() < _SCALABLE and numbers.min() > -_SCALABLE
        numbers = numbers.view("i8") if small else numbers.astype(object)
    return numbers * factor


def all_inside(offset: Any, size: int) -> bool:
    """Return whether offsets in an array are seen at once to be neither negative nor past a size."""
    return offset.dtype != object and int(offset.view("u8").max()) <= size


def outside(offset: Any, size: int) -> Flags:
    """Return whether moved offsets are negative, or not below a size."""
    if type(offset) is not int and offset.dtype.kind == "i" and size <= 1 << 63:
        return offset.view("u8") >= size  # type: ignore[no-any-return]
    return either(offset < 0, offset >= size)


def settled(offset: Any) -> Bits:
    """Return offsets that are known not to be negative, as patterns."""
    if type(offset) is int:
        return offset
    return offset.view("u8") if offset.dtype.kind == "i" else offset  # type: ignore[no-any-return]


def quiet() -> Any:
    """Return a context in which arrays overflow, underflow and divide by zero as IEEE 754 says, without a warning."""
    import sys

    numpy = sys.modules.get("numpy")
    return numpy.errstate(all="ignore") if numpy is not None else _NOTHING


_NOTHING = contextlib.nullcontext()


def is_nan(numbers: Any) -> Any:
    """Return for each ``float64`` number whether it is a NaN."""
    import numpy as np

    return np.isnan(numbers)


def each(numbers: Any, function: Any) -> Any:
    """Apply a function of one number in every slot; a result of floats is ``float64``."""
    if type(numbers) is int or isinstance(numbers, float):
        return function(numbers)
    import numpy as np

    results = [function(number) for number in numbers.tolist()]
    return np.array(results, dtype=np.float64 if results and isinstance(results[0], float) else object)


def byte_swapped(bits: Bits, byte_size: int) -> Bits:
    """Return the patterns with their bytes in the other order."""
    if type(bits) is int:
        return int.from_bytes(bits.to_bytes(byte_size, "little"), "big")
    return array([int(byte_swapped(int(pattern), byte_size)) for pattern in bits], byte_size * 8)  # type: ignore[union-attr]


def arange(count: int) -> Array:
    """Return the slots 0 to ``count - 1``."""
    import numpy as np

    return np.arange(count)


def complement(positions: Array, count: int) -> Array:
    """Return the slots below ``count`` that are not in ``positions``."""
    import numpy as np

    rest = np.ones(count, dtype=bool)
    rest[positions] = False
    return rest.nonzero()[0]


def ranks(bounds: Sequence[int], numbers: Array) -> Array:
    """Return for each number how many of the ascending bounds are not above it."""
    import numpy as np

    if numbers.dtype != object and bounds[-1] <= MASK64:
        return np.searchsorted(np.array(bounds, dtype=np.uint64), numbers, side="right")
    from bisect import bisect_right

    return np.array([bisect_right(bounds, number) for number in numbers.tolist()])


def positions_in(known: Array, values: Bits) -> Positions:
    """Return the positions of values in an ascending array that has all of them."""
    positions: Any = known.searchsorted(values)
    return int(positions) if isinstance(values, int) else positions
