"""Values on the stack (A.2.5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field

from dwarfgpu import bits as b
from dwarfgpu.immutable import immutable

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits, Positions
    from dwarfgpu.expr.storages import ImplicitPointer
    from dwarfgpu.expr.types import BaseType


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
