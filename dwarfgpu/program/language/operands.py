"""Scalar operands: a type and a pattern, the same in every slot or one a slot; and how types convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import UsageError
from dwarfgpu.expr.arithmetic import ExactFloats, Floats, Integers
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import VOID, Base, Enumeration, Lazy, Pointer, Type, Void, byte_size, resolved
from dwarfgpu.program.values.objects import Object, optimized_out
from dwarfgpu.program.values.scalars import Scalar, scalar_of

if TYPE_CHECKING:
    from dwarfgpu.expr.floats import FloatFormat

    Computing: TypeAlias = Integers | Floats
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.targets.amdgpu.address_spaces import Apertures
    from dwarfgpu.targets.target import Target


@immutable
class ScalarOperand:
    """A value of a scalar type: its pattern, as an unsigned number."""

    type: Type
    bits: b.Bits = field(eq=b.comparable)
    is_written_zero: bool = False
    """Whether it is the integer 0 of the text, which is a null pointer where it meets a pointer (C23, 6.3.2.3)."""

    @property
    def scalar(self) -> Scalar:
        return scalar_or_error(self.type)

    def number(self) -> Any:
        """Return the number of the pattern."""
        return self.scalar.number(self.bits)


def loaded(source: Object) -> ScalarOperand:
    """Return the value of an object as an operand; a bit-field has its declared type.

    OPEN: In C a narrow bit-field becomes int, whatever its type is (6.3.1.1); GDB computes in its type, as is done
    here.
    """
    reading = source.read() if source.scalar is None else source.pattern()
    if type(reading.undefined) is not int or reading.undefined:
        raise optimized_out()
    bits = reading.bits
    if source.bit_size is not None:
        narrow, wide = source.scalar, scalar_or_error(source.type)
        if narrow is not None and narrow.is_signed:
            bits = b.of_signed(b.signed(bits, narrow.bits), wide.bits)
    return ScalarOperand(source.type, bits)


def scalar_or_error(type: Type) -> Scalar:
    """Return how the bits of a type are read; raise an error for a type without arithmetic."""
    scalar = scalar_of(type)
    if scalar is None or scalar.kind == "bytes" or not scalar.bits:
        raise UsageError(f"a value of the type {safe_text(type)} cannot be computed with", kind="not_a_scalar")
    return scalar


def computing(type: Type) -> Computing:
    """Return the arithmetic on the patterns of a type."""
    scalar = scalar_or_error(type)
    layout = scalar.layout
    if layout is None:
        return Integers(scalar.bits, is_signed=scalar.is_signed)
    return Floats(layout) if layout.fits_double else ExactFloats(layout)


def is_float(type: Type) -> bool:
    """Return whether a type is one of floating point."""
    return scalar_or_error(type).layout is not None


def is_pointer(type: Type) -> bool:
    """Return whether a type is a pointer or a reference."""
    return isinstance(resolved(type), Pointer)


def is_integral(type: Type) -> bool:
    """Return whether a type counts as an integer: enumerations and bool too."""
    inner = resolved(type)
    return isinstance(inner, (Base, Enumeration)) and scalar_or_error(type).layout is None


def is_true(operand: ScalarOperand) -> b.Flags:
    """Return whether a value counts as true; a pointer does where it is not the null of its address space."""
    scalar = operand.scalar
    if scalar.layout is not None:
        return computing(operand.type).is_true(operand.bits)
    return operand.bits != scalar.null


def of_flags(flags: b.Flags, type: Type) -> ScalarOperand:
    """Return the value of a condition."""
    return ScalarOperand(type, b.of_flags(flags))


# --- Conversions (C23, 6.3) ---------------------------------------------------------------------------------------


def converted(operand: ScalarOperand, type: Type) -> ScalarOperand:
    """Convert a value to another type, cutting it as C does where it does not fit."""
    source, target = operand.scalar, scalar_or_error(type)
    if target.kind == "boolean":
        return of_flags(is_true(operand), type)
    return ScalarOperand(type, _pattern(operand.bits, source, target))


def _pattern(bits: b.Bits, source: Scalar, target: Scalar) -> b.Bits:
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


def _truncated(bits: b.Bits, layout: FloatFormat, target: Scalar) -> b.Bits:
    """Cut floating-point numbers to integers; a number that does not fit becomes the nearest that does."""
    mask = (1 << target.bits) - 1
    highest = mask >> 1 if target.is_signed else mask
    lowest = -highest - 1 if target.is_signed else 0

    def cut(pattern: int) -> int:
        number = layout.exact(int(pattern))
        if isinstance(number, float) and number - number != 0:  # infinite, or not a number
            return 0 if number != number else (highest if number > 0 else lowest) & mask  # noqa: PLR0124
        return min(max(int(number), lowest), highest) & mask

    return _each(bits, cut, target.bits)


def _reencoded(bits: b.Bits, source: FloatFormat, target: FloatFormat) -> b.Bits:
    if source.fits_double:
        return target.encode(source.decode(bits))
    return _each(bits, lambda pattern: target.encode_exact(source.exact(int(pattern))), target.bit_size)


def _each(numbers: Any, function: Any, width: int) -> b.Bits:
    if isinstance(numbers, int):
        result: int = function(numbers)
        return result
    return b.array([function(number) for number in numbers.tolist()], width)


def size_of_target(pointer: Type) -> int:
    """Return how many bytes a pointer moves in a step: the size of its target, 1 where that has none."""
    inner = resolved(pointer)
    assert isinstance(inner, Pointer)  # noqa: S101 (asked of pointers alone)
    return max(1, byte_size(inner.target))


# --- C's own types ------------------------------------------------------------------------------------------------

RANKS = ("_Bool", "char", "short", "int", "long", "long long", "__int128")
"""The integer types by rank (C23, 6.3.1.1): the unsigned ones have that of their signed ones."""


@frozen
class DataModel:
    """The sizes of C's types on a target. The defaults are those of AMDGPU and of x86-64: LP64."""

    is_cplus: bool = False
    pointer_size: int = 8
    long_size: int = 8
    byte_order: ByteOrder = "little"
    char_is_signed: bool = True
    long_double_size: int = 16
    wchar_size: int = 4
    target: Target | None = None
    """What says which address spaces there are; without it all pointers are of one kind."""

    def type(self, name: str) -> Base | Void:
        """Return a type of the language by its usual name, such as ``unsigned long``."""
        if name == "void":
            return VOID
        kind = self._find(name)
        if kind is None:
            raise UsageError(f"there is no type named {name}", kind="no_type")
        return kind

    def base(self, name: str) -> Base:
        """Return a type of the language that has values, by a name that exists."""
        kind = self._find(name)
        assert kind is not None, name  # noqa: S101 (only names of this package come here)
        return kind

    def _find(self, name: str) -> Base | None:
        name = {"bool": "_Bool", "unsigned": "unsigned int", "signed": "int"}.get(name, name)
        if name == "_Bool":
            return Base("bool" if self.is_cplus else "_Bool", dw.DW_ATE_boolean, 1)
        if name == "char":
            return Base(name, dw.DW_ATE_signed_char if self.char_is_signed else dw.DW_ATE_unsigned_char, 1)
        if name in ("signed char", "unsigned char"):
            return Base(name, dw.DW_ATE_signed_char if name[0] == "s" else dw.DW_ATE_unsigned_char, 1)
        sizes = {"short": 2, "int": 4, "long": self.long_size, "long long": 8, "__int128": 16}
        plain = name.removeprefix("unsigned ")
        if plain in sizes:
            return Base(name, dw.DW_ATE_signed if plain == name else dw.DW_ATE_unsigned, sizes[plain])
        floats = {"float": 4, "double": 8, "long double": self.long_double_size, "_Float16": 2, "__bf16": 2}
        if name in floats:
            return Base(name, dw.DW_ATE_float, floats[name])
        part = name.removeprefix("complex ")
        if part != name and part in floats:
            return Base(name, dw.DW_ATE_complex_float, 2 * floats[part])
        characters = {"char8_t": 1, "char16_t": 2, "char32_t": 4}
        if name in characters:
            return Base(name, dw.DW_ATE_UTF, characters[name])
        if name == "wchar_t":
            return Base(name, dw.DW_ATE_signed, self.wchar_size)
        return None

    def pointer_to(self, type: Type, space: int | None = None, sign: str = "*") -> Pointer:
        """Return a pointer to a type, in the width and with the null of its address space (A.5.3)."""
        known = None if self.target is None or space is None else self.target.space(space)
        if known is None:
            return Pointer(sign, Lazy.known(type), self.pointer_size, space)
        return Pointer(sign, Lazy.known(type), -(-known.address_bits // 8), space, null=known.null or 0)

    @property
    def apertures(self) -> Apertures | None:
        """The apertures of the generic address space, where they are known."""
        from dwarfgpu.targets.amdgpu.address_spaces import GenericView

        spaces = () if self.target is None else self.target.address_spaces
        return next((space.alias.apertures for space in spaces if isinstance(space.alias, GenericView)), None)

    @property
    def truth(self) -> Base:
        """The type of a comparison: bool in C++, int in C."""
        return self.base("_Bool" if self.is_cplus else "int")
