"""Base types (A.2.5.2, DWARF 5 section 5.1), and the values of them on the stack."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.dwarf_constants import DW_ATE_lo_user, names
from dwarfgpu.errors import IllFormed, shown
from dwarfgpu.expr.arithmetic import Floats, Integers
from dwarfgpu.expr.floats import FORMATS
from dwarfgpu.immutable import field, immutable

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits, Positions
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.arithmetic import Arithmetic
    from dwarfgpu.expr.locations import ImplicitPointer


ENCODINGS: dict[str, int | None] = {
    **{name.removeprefix("DW_ATE_"): number for number, name in names("DW_ATE").items() if number < DW_ATE_lo_user},
    "lo_user": DW_ATE_lo_user,
    "bfloat16": None,
}
"""DW_ATE names and numbers. ``bfloat16`` is a DW_ATE_float that its name tells apart."""

INTEGRAL = frozenset(("signed", "signed_char", "unsigned", "unsigned_char", "boolean"))
"""The integral encodings of A.2.5.2.

OPEN: the text's note leaves open whether DW_ATE_address is integral; the list of the text, which lacks it, holds here.
"""

SIGNED = frozenset(("signed", "signed_char"))
UNSIGNED = frozenset(("unsigned", "unsigned_char", "boolean", "address", "UTF", "UCS", "ASCII"))

MAX_BIT_SIZE = 8192
"""Wider base types are refused: a limit against hostile input, four times the widest register there is."""


class BaseType:
    """A base type: size, encoding and endianity. Two that agree in these are the same type.

    The generic type (A.2.5.2) is integral, has the size of an address in the default address space, and unspecified
    signedness: each operation says how it reads it.
    """

    __slots__ = (
        "arithmetic", "bit_size", "byte_order", "byte_size", "encoding", "is_generic", "is_integral", "is_signed",
        "key", "mask", "vector_size",
    )  # fmt: skip

    def __init__(
        self,
        encoding: str,
        bit_size: int,
        *,
        vector_size: int | None = None,
        byte_order: ByteOrder | None = None,
        is_generic: bool = False,
    ) -> None:
        if vector_size is not None and vector_size <= 0:
            raise IllFormed("bad_type", f"the vector size {shown(vector_size)} is not greater than 0", spec="A.5.1 (1)")
        total = bit_size * (vector_size or 1)
        if not 0 < total <= MAX_BIT_SIZE:
            message = f"a base type of {shown(total)} bits is outside 1 to {MAX_BIT_SIZE}"
            raise IllFormed("bad_type", message, spec="DWARF 5, 5.1")
        self.encoding = encoding
        self.vector_size = vector_size
        self.bit_size = bit_size * (vector_size or 1)
        """All bits: of a vector, those of all its elements (A.5.1)."""
        self.byte_size = -(-self.bit_size // 8)
        """Whole bytes: what the size operand of DW_OP_deref_type and DW_OP_const_type must be."""
        self.byte_order = byte_order
        """DW_AT_endianity; None is the order of the target."""
        self.is_generic = is_generic
        self.is_integral = vector_size is None and (is_generic or encoding in INTEGRAL)
        self.is_signed = encoding in SIGNED
        self.mask = (1 << self.bit_size) - 1
        self.key = (encoding, bit_size, vector_size, byte_order, is_generic)
        self.arithmetic = self._arithmetic(bit_size)
        """The arithmetic of patterns of this type; None for types without arithmetic in DWARF."""

    def _arithmetic(self, bit_size: int) -> Arithmetic | None:
        if self.vector_size is not None:
            return None
        if self.is_generic or self.encoding in SIGNED or self.encoding in UNSIGNED:
            return Integers(bit_size, is_signed=self.is_signed, is_generic=self.is_generic)
        if self.encoding in ("float", "bfloat16"):
            name = "bfloat16" if self.encoding == "bfloat16" else f"float{bit_size}"
            layout = FORMATS.get(name)
            return Floats(layout) if layout is not None and layout.bit_size == bit_size else None
        return None

    @property
    def element(self) -> BaseType:
        """The type of one element of a vector (A.5.1); of any other type the type itself."""
        if self.vector_size is None:
            return self
        return BaseType(self.encoding, self.bit_size // self.vector_size, byte_order=self.byte_order)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, BaseType) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        if self.is_generic:
            return "generic"
        if self.vector_size is not None:
            return f"{self.element} x {self.vector_size}"
        return self.encoding if self.encoding == "bfloat16" else f"{self.encoding}{self.bit_size}"

    def __repr__(self) -> str:
        return f"BaseType({self})"


@cache
def generic(address_size: int) -> BaseType:
    """Return the generic type for addresses of some bytes."""
    return BaseType("unsigned", address_size * 8, is_generic=True)


@cache
def unsigned(bit_size: int) -> BaseType:
    """Return the unsigned type of some bits."""
    return BaseType("unsigned", bit_size)


@immutable
class Value:
    """A literal value of a base type: its pattern, as an unsigned number.

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_lit1; DW_OP_neg", dg.dialect("llvm-user"), dg.Format())
    >>> value = dg.evaluate(expression, dg.Context(dg.target("gfx90a"))).one()
    >>> hex(value.bits), value.type
    ('0xffffffffffffffff', BaseType(generic))
    """

    type: BaseType
    bits: Bits = field(eq=b.comparable)

    def displacement(self) -> Any:
        """Return the number, with the generic type read as signed."""
        kind = self.type
        return b.signed(self.bits, kind.bit_size) if kind.is_generic or kind.is_signed else self.bits

    def number(self) -> Any:
        """Return the number as its type reads it: a generic value as unsigned, a vector as its pattern."""
        kind = self.type
        if kind.encoding in ("float", "bfloat16") and kind.arithmetic is not None:
            return kind.arithmetic.layout.decode(self.bits)  # type: ignore[union-attr]
        return b.signed(self.bits, kind.bit_size) if kind.is_signed and not kind.is_generic else self.bits

    def select(self, positions: Positions) -> Value:
        if type(self.bits) is int:
            return self
        return Value(self.type, b.select(self.bits, positions))


@immutable
class ImplicitPointerValue:
    """The value of a dereferenced whole implicit pointer storage (A.2.5.4.4.5 (3), "IPV").

    It can become the location it points to, or an implicit pointer location again, and nothing else.
    """

    type: BaseType
    pointer: ImplicitPointer

    def select(self, _positions: Positions) -> ImplicitPointerValue:
        return self
