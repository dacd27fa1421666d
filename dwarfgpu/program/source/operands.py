"""What operators work on: a type and a pattern, the same in every slot or one a slot; and how types convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from dwarfgpu import bits as b
from dwarfgpu.errors import UsageError
from dwarfgpu.expr.arithmetic import ExactFloats, Floats, Integers
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Base, Enumeration, Pointer
from dwarfgpu.program.types.sizes import byte_size, resolved
from dwarfgpu.program.values.objects import optimized_out
from dwarfgpu.program.values.scalars import Scalar, scalar_of

if TYPE_CHECKING:
    from typing import TypeAlias

    from dwarfgpu.bits import Bits, Flags
    from dwarfgpu.expr.floats import FloatFormat
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object

    Computing: TypeAlias = Integers | Floats


@frozen
class Operand:
    """A value of a scalar type: its pattern, as an unsigned number."""

    type: Type
    bits: Bits = field(eq=b.comparable)

    @property
    def scalar(self) -> Scalar:
        return scalar_or_error(self.type)

    def number(self) -> Any:
        """The number that it is."""
        return self.scalar.number(self.bits)


def loaded(found: Object) -> Operand:
    """The value of an object as an operand; a bit-field has the type that it was declared with.

    OPEN: C has a narrow bit-field become int, whatever its type is (6.3.1.1); GDB computes in its type, and so it is
    here.
    """
    reading = found.read() if found.scalar is None else found.pattern()
    if type(reading.undefined) is not int or reading.undefined:
        raise optimized_out()
    bits = reading.bits
    if found.bit_size is not None:
        narrow, wide = found.scalar, scalar_or_error(found.type)
        if narrow is not None and narrow.is_signed:
            bits = b.of_signed(b.signed(bits, narrow.bits), wide.bits)
    return Operand(found.type, bits)


def scalar_or_error(type: Type) -> Scalar:
    """How the bits of a type are read; an error for one that has no arithmetic."""
    found = scalar_of(type)
    if found is None or found.kind == "bytes" or not found.bits:
        raise UsageError(
            f"a value of the type {safe_text(type)} cannot be computed with", kind="not_a_scalar"
        )
    return found


def computing(type: Type) -> Computing:
    """What computes with the patterns of a type."""
    scalar = scalar_or_error(type)
    layout = scalar.layout
    if layout is None:
        return Integers(scalar.bits, is_signed=scalar.is_signed)
    return Floats(layout) if layout.fits_double else ExactFloats(layout)


def is_float(type: Type) -> bool:
    """Whether a type is one of floating point."""
    return scalar_or_error(type).layout is not None


def is_pointer(type: Type) -> bool:
    """Whether a type is a pointer or a reference."""
    return isinstance(resolved(type), Pointer)


def is_integral(type: Type) -> bool:
    """Whether a type counts as an integer: enumerations and bool too."""
    inner = resolved(type)
    return isinstance(inner, (Base, Enumeration)) and scalar_or_error(type).layout is None


def is_true(operand: Operand) -> Flags:
    """Whether a value counts as true."""
    scalar = operand.scalar
    if scalar.layout is not None:
        return computing(operand.type).is_true(operand.bits)
    return operand.bits != 0


def of_flags(flags: Flags, type: Type) -> Operand:
    """The value of a condition."""
    return Operand(type, b.of_flags(flags))


# --- Conversions (C23, 6.3) ---------------------------------------------------------------------------------------


def converted(operand: Operand, type: Type) -> Operand:
    """The value as another type has it; what does not fit is cut, as C does."""
    source, target = operand.scalar, scalar_or_error(type)
    if target.kind == "boolean":
        return of_flags(is_true(operand), type)
    return Operand(type, _pattern(operand.bits, source, target))


def _pattern(bits: Bits, source: Scalar, target: Scalar) -> Bits:
    if source.layout is None and target.layout is None:
        if source.is_signed and target.bits > source.bits:
            return b.of_signed(b.signed(bits, source.bits), target.bits)
        return b.resized(bits, target.bits)
    if source.layout is None:
        assert target.layout is not None  # noqa: S101 (both are integers otherwise)
        numbers = b.signed(bits, source.bits) if source.is_signed else bits
        return target.layout.encode(numbers)
    if target.layout is None:
        return _truncated(bits, source.layout, target)
    if source.layout is target.layout:
        return bits
    return _reencoded(bits, source.layout, target.layout)


def _truncated(bits: Bits, layout: FloatFormat, target: Scalar) -> Bits:
    """Floating-point numbers cut to integers; what does not fit becomes the nearest that does."""
    mask = (1 << target.bits) - 1
    highest = mask >> 1 if target.is_signed else mask
    lowest = -highest - 1 if target.is_signed else 0

    def cut(pattern: int) -> int:
        number = layout.exact(int(pattern))
        if isinstance(number, float) and number - number != 0:  # infinite, or not a number
            return 0 if number != number else (highest if number > 0 else lowest) & mask  # noqa: PLR0124
        return min(max(int(number), lowest), highest) & mask

    return _each(bits, cut, target.bits)


def _reencoded(bits: Bits, source: FloatFormat, target: FloatFormat) -> Bits:
    if source.fits_double:
        return target.encode(source.decode(bits))
    return _each(bits, lambda pattern: target.encode_exact(source.exact(int(pattern))), target.bit_size)


def _each(numbers: Any, function: Any, width: int) -> Bits:
    """A function of one number in every slot."""
    if isinstance(numbers, int):
        found: int = function(numbers)
        return found
    return b.array([function(number) for number in numbers.tolist()], width)


def size_of_target(pointer: Type) -> int:
    """By how many bytes a pointer moves: the size of its target, 1 where that has none."""
    inner = resolved(pointer)
    assert isinstance(inner, Pointer)  # noqa: S101 (asked of pointers alone)
    return max(1, byte_size(inner.target))
