"""Scalar values: `Scalar` turns bit patterns into numbers and back, for one lane and for arrays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.expr.floats import FloatFormat, float_format
from dwarfgpu.immutable import evolve, immutable
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import MAX_DEPTH, cycle, known_size, number_size, resolved, stripped

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder

_SIGNED = frozenset((dw.DW_ATE_signed, dw.DW_ATE_signed_char, dw.DW_ATE_signed_fixed))
_UNSIGNED = frozenset(
    (dw.DW_ATE_boolean, dw.DW_ATE_unsigned, dw.DW_ATE_unsigned_char, dw.DW_ATE_address, dw.DW_ATE_unsigned_fixed)
)
_KINDS = {dw.DW_ATE_boolean: "boolean", dw.DW_ATE_address: "pointer"}
"""What is no plain integer."""
_FLOATS = frozenset(
    getattr(dw, f"DW_ATE_{name}")
    for name in ("float", "imaginary_float", "HP_float128", "HP_imaginary_float90", "HP_imaginary_float128")
)
_COMPLEX = frozenset((dw.DW_ATE_complex_float, dw.DW_ATE_HP_complex_float, dw.DW_ATE_HP_complex_float128))
_CHARACTERS = {"char16_t": "u", "char32_t": "U", "wchar_t": "L", "char8_t": "u8"}
"""The types that are characters by their name, and the prefix of their literals."""


@immutable
class Scalar:
    """The way the bits of a scalar are read."""

    kind: str
    """``integer``, ``boolean``, ``character``, ``float``, ``pointer``, ``enumeration`` or ``bytes``."""
    storage_bits: int
    """The bits of the object."""
    bits: int
    """The bits of the value among them."""
    is_signed: bool = False
    shift: int = 0
    """Where the value begins among them, in storage order."""
    layout: FloatFormat | None = None
    swapped: bool = False
    """Whether the bytes are in the opposite order to those of the target."""
    prefix: str = ""
    """The prefix of a character in the source: ``L``, ``u``, ``U``."""
    scale: tuple[int, int] | None = None
    """Of a fixed-point number: the base and the power that the integer is multiplied with."""
    null: int = 0
    """The pattern that counts as false: of a pointer, the null of its address space."""

    def pattern(self, stored: b.Bits, byte_order: ByteOrder) -> b.Bits:
        """Return the value's own bits among those of the object."""
        if self.swapped:
            stored = b.byte_swapped(stored, self.storage_bits // 8)
        if self.bits == self.storage_bits:
            return stored
        low = self.shift
        if (byte_order == "big") is not self.swapped:
            low = self.storage_bits - self.shift - self.bits
        return b.resized(b.shr(stored, low, self.storage_bits), self.bits)

    def stored(self, pattern: int, byte_order: ByteOrder) -> int:
        """Return the bits of the object that holds a value, the inverse of `pattern`. Bits beside the value are 0."""
        low = self.shift
        if self.bits != self.storage_bits and (byte_order == "big") is not self.swapped:
            low = self.storage_bits - self.shift - self.bits
        bits = pattern << low
        return int(b.byte_swapped(bits, self.storage_bits // 8)) if self.swapped else bits

    def number(self, pattern: b.Bits) -> Any:
        """Return the number of a pattern: an int or float, or an ``int64``, ``uint64`` or ``float64`` array."""
        if self.layout is not None:
            return self.layout.decode(pattern)
        number = b.signed(pattern, self.bits) if self.is_signed and self.bits else pattern
        if self.scale is None:
            return number
        base, power = self.scale
        return number * float(base) ** power


def scalar_of(type: t.Type, byte_order: ByteOrder = "little", bit_size: int | None = None) -> Scalar | None:
    """Return how the bits of a type are read; None if a value has parts. ``bit_size`` is that of a bit-field."""
    inner = resolved(type)
    if isinstance(inner, t.Base):
        scalar = _base(inner, byte_order)
    elif isinstance(inner, t.Pointer):
        scalar = Scalar("pointer", number_size(inner) * 8, inner.byte_size * 8, null=inner.null)
    elif isinstance(inner, t.Enumeration):
        size = number_size(inner) * 8
        scalar = Scalar("enumeration", size, size, _enumeration_sign(inner))
    elif isinstance(inner, t.MemberPointer):
        scalar = Scalar("pointer", number_size(inner) * 8, inner.byte_size * 8, True)
    elif isinstance(inner, t.UnspecifiedType):
        scalar = Scalar("pointer", 64, 64)
    else:
        return None
    if scalar is not None and bit_size is not None:
        return evolve(scalar, storage_bits=bit_size, bits=bit_size, shift=0, swapped=False)
    outer = stripped(type)
    if scalar is not None and isinstance(outer, t.Subrange) and known_size(outer) != known_size(inner):
        size = number_size(outer) * 8
        return Scalar(scalar.kind, size, size, scalar.is_signed)
    return scalar


def _base(type: t.Base, byte_order: ByteOrder) -> Scalar | None:
    encoding = type.encoding
    if type.vector_size is not None or encoding in _COMPLEX:
        return None
    storage = number_size(type) * 8
    bits = storage if type.bit_size is None else min(type.bit_size, storage)
    shift = min(type.data_bit_offset, storage - bits)
    swapped = type.byte_order is not None and type.byte_order != byte_order
    if encoding in _FLOATS:
        layout = float_format(type.name, bits, has_quad=byte_order == "big")
        if layout is None:
            return Scalar("bytes", storage, storage)
        if layout.bit_size < bits:  # x87 in 12 or 16 bytes
            return Scalar("float", storage, layout.bit_size, True, 0, layout, swapped)
        return Scalar("float", storage, bits, True, shift, layout, swapped)
    is_signed = encoding in _SIGNED
    kind = _KINDS.get(encoding, "integer")
    prefix = _prefix(type)
    if prefix is not None:
        kind = "character"
    scale = None
    if type.binary_scale is not None:
        scale = (2, type.binary_scale)
    elif type.decimal_scale is not None:
        scale = (10, type.decimal_scale)
    if not is_signed and encoding not in _UNSIGNED and prefix is None:
        return Scalar("bytes", storage, storage, swapped=swapped)
    return Scalar(kind, storage, bits, is_signed, shift, None, swapped, prefix or "", scale)


def _prefix(type: t.Base) -> str | None:
    """Return the prefix of a character literal of a type; None if the type is not a character."""
    if type.encoding in (dw.DW_ATE_signed_char, dw.DW_ATE_unsigned_char, dw.DW_ATE_ASCII) and type.byte_size == 1:
        return ""
    if type.encoding in (dw.DW_ATE_UTF, dw.DW_ATE_UCS):
        return {1: "", 2: "u", 4: "U"}.get(type.byte_size or 0)
    return None


def _underlying(type: t.Enumeration) -> t.Type:
    """Return the type that is stored for an enumeration: the first one that is no enumeration of another type."""
    under: t.Type = type
    for _ in range(MAX_DEPTH):
        if not isinstance(under, t.Enumeration) or under.underlying is None:
            return under
        under = resolved(under.underlying.get())
    raise cycle(type)


def _enumeration_sign(type: t.Enumeration) -> bool:
    """Return whether values are signed: as the underlying type says, else where an enumerator is negative."""
    if type.underlying is not None:
        under = scalar_of(_underlying(type))
        if under is not None and under.is_signed:
            return True if type.is_cplus else any(enumerator.value < 0 for enumerator in type.enumerators)
        if under is not None:
            return False
    return any(enumerator.value < 0 for enumerator in type.enumerators)


def character_prefix(kind: t.Type) -> str | None:
    """Return the prefix of string literals of a character type or its typedef, ``L`` for wchar_t; None for others."""
    for _ in range(16):
        name = kind.name
        if name in _CHARACTERS and isinstance(kind, (t.Typedef, t.Base)):
            return "" if name == "char8_t" else _CHARACTERS[name]
        if not isinstance(kind, (t.Typedef, t.Qualified)):
            break
        kind = kind.target
    return _prefix(kind) if isinstance(kind, t.Base) else None


def complex_parts(type: t.Base, byte_order: ByteOrder) -> Scalar | None:
    """Return how the real and the imaginary part of a complex number are read; None for other types."""
    if type.encoding not in _COMPLEX or type.vector_size is not None:
        return None
    half = number_size(type) * 4
    layout = float_format(type.name, half, has_quad=byte_order == "big")
    if layout is None:
        return Scalar("bytes", half, half)
    return Scalar("float", half, layout.bit_size, True, 0, layout)
