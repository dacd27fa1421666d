"""Pointers in source expressions: how they convert between address spaces, compare, move and differ.

An address space has pointers of its own width and its own null (A.5.3). The number 0 that is written in an expression
is the null of the pointer that it is compared with or assigned to; a cast makes it the address 0, as in GDB. Pointers
of different address spaces meet in the generic one, which contains global, local and private memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.lanes import refuse
from dwarfgpu.program.language.operands import DataModel, ScalarOperand, computing, converted, is_true, size_of_target
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.sizes import byte_size, resolved
from dwarfgpu.targets.amdgpu import numbers

if TYPE_CHECKING:
    from dwarfgpu.bits import Flags
    from dwarfgpu.targets.target import Target

EQUALITIES = frozenset(("==", "!="))


class Pointers:
    """The rules of pointers on one target."""

    def __init__(self, model: DataModel) -> None:
        self.model = model

    # --- Address spaces -------------------------------------------------------------------------------------------

    def in_space(self, operand: ScalarOperand, type: t.Type) -> ScalarOperand:
        """Convert a pointer to a pointer type, which may be one into another address space.

        An address that has none in the other space is an error.
        """
        source, target = _pointer(operand.type), _pointer(type)
        first, second = source.address_space or 0, target.address_space or 0
        if first == second or not (self._knows(first) and self._knows(second)):
            return converted(operand, type)
        from dwarfgpu.targets.amdgpu.address_spaces import convert

        # a pointer may be narrower or wider than the addresses of its space, and its null with it
        own = b.resized(operand.bits, 64)
        is_null = b.negated(is_true(operand))
        if b.all_of(is_null):
            return ScalarOperand(type, b.choose(is_null, target.null, own))
        bits, lost = convert(first, second, own, self.model.apertures)
        refuse(b.both(lost, b.negated(is_null)), lambda slot: self._not_there(operand, slot, first, second))
        return ScalarOperand(type, b.resized(b.choose(is_null, target.null, bits), 8 * target.byte_size))

    def assigned(self, operand: ScalarOperand, type: t.Type) -> ScalarOperand:
        """Convert a pointer as an assignment does: it stays in its address space, or becomes generic."""
        source, target = _pointer(operand.type), _pointer(type)
        first, second = source.address_space or 0, target.address_space or 0
        if second not in (first, numbers.GENERIC) and not b.all_of(b.negated(is_true(operand))):
            names = f"a pointer into {self.name(first)} to a pointer into {self.name(second)}"
            hint = "a cast converts it, where it is an address of both"
            raise UsageError(f"cannot convert {names}", kind="address_space_mismatch", hint=hint)
        return self.in_space(operand, type)

    def address_in(self, operand: ScalarOperand, space: int) -> ScalarOperand:
        """Return an integer as an address of a space: ``local#0x10``. A pointer counts as the number it holds."""
        scalar = operand.scalar
        if scalar.layout is not None:
            raise UsageError("an address must be an integer", kind="bad_operand")
        kind = self.model.pointer_to(t.VOID, space)
        address = converted(operand, kind)
        if scalar.bits > 8 * kind.byte_size:
            is_same = b.equal(b.resized(address.bits, scalar.bits), operand.bits)
            if scalar.is_signed:
                extended = b.of_signed(b.signed(address.bits, 8 * kind.byte_size), scalar.bits)
                is_same = b.either(is_same, b.equal(extended, operand.bits))
            refuse(b.negated(is_same), lambda slot: self._too_large(operand, slot, kind))
        return address

    def _knows(self, space: int) -> bool:
        """Return whether an address of a space is known in others; those declared for `generic` have no such rule."""
        target = self.model.target
        return target is not None and target.name != "generic" and target.space(space) is not None

    def name(self, space: int) -> str:
        """Return the name of an address space."""
        known = None if self.model.target is None else self.model.target.space(space)
        return f"address space {space}" if known is None else known.name

    def _too_large(self, operand: ScalarOperand, slot: int, kind: t.Pointer) -> UsageError:
        name = self.name(kind.address_space or 0)
        message = (
            f"{b.select(operand.bits, slot):#x} is no address of {name}, whose addresses have {kind.byte_size} bytes"
        )
        return UsageError(message, kind="bad_address")

    def _not_there(self, operand: ScalarOperand, slot: int, first: int, second: int) -> EvaluationError:
        address = f"{self.name(first)}#{b.select(operand.bits, slot):#x}"
        message = f"{address} is not an address of {self.name(second)}"
        hint = "to keep the number, cast it to an integer first"
        return EvaluationError("address_space_mismatch", message, spec="A.2.13", hint=hint)

    def _in_one_space(self, left: ScalarOperand, right: ScalarOperand) -> tuple[ScalarOperand, ScalarOperand]:
        """Return two pointers as pointers into one address space: their own, or the generic one."""
        first, second = (_pointer(operand.type).address_space or 0 for operand in (left, right))
        if first == second:
            return left, right
        if numbers.GENERIC not in (first, second):
            message = f"pointers into {self.name(first)} and {self.name(second)} cannot be compared or subtracted"
            raise UsageError(message, kind="address_space_mismatch", hint="cast both to the generic address space")
        return self._as_generic(left), self._as_generic(right)

    def _as_generic(self, operand: ScalarOperand) -> ScalarOperand:
        target = _pointer(operand.type).target
        return self.in_space(operand, self.model.pointer_to(target, numbers.GENERIC))

    # --- Operators ------------------------------------------------------------------------------------------------

    def equality(self, left: ScalarOperand, right: ScalarOperand) -> Flags | None:
        """Return where two operands are equal if one of them is null everywhere; None where neither is."""
        for operand, other in ((left, right), (right, left)):
            if isinstance(resolved(operand.type), t.Pointer) and _is_null(other):
                return b.negated(is_true(operand))
        return None

    def comparable(self, left: ScalarOperand, right: ScalarOperand) -> tuple[t.Type, ScalarOperand, ScalarOperand]:
        """Return two operands, of which one is a pointer or both are, as numbers of one type; and the type."""
        if isinstance(resolved(left.type), t.Pointer) and isinstance(resolved(right.type), t.Pointer):
            left, right = self._in_one_space(left, right)
            widest = max(left.type, right.type, key=byte_size)
            return widest, converted(left, widest), converted(right, widest)
        kind = left.type if isinstance(resolved(left.type), t.Pointer) else right.type
        wide = self.model.base("unsigned long")
        if byte_size(kind) == 8 or max(left.scalar.bits, right.scalar.bits) <= 8 * byte_size(kind):
            return kind, converted(left, kind), converted(right, kind)
        return wide, converted(left, wide), converted(right, wide)

    def moved(self, operator: str, pointer: ScalarOperand, count: ScalarOperand) -> ScalarOperand:
        """Return a pointer moved by a number of objects."""
        width = pointer.scalar.bits
        mask = (1 << width) - 1
        steps = b.mul(_extended(count, width), size_of_target(pointer.type) & mask, mask)
        compute = b.add if operator == "+" else b.sub
        return ScalarOperand(pointer.type, compute(pointer.bits, steps, mask))

    def difference(self, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        """Return the number of objects between two pointers."""
        left, right = self._in_one_space(left, right)
        size = size_of_target(left.type)
        if size != size_of_target(right.type):
            message = f"{safe_text(left.type)} and {safe_text(right.type)} point to objects of different sizes"
            raise UsageError(message, kind="type_mismatch")
        width = max(left.scalar.bits, right.scalar.bits)
        kind = self.model.base("long")
        between = b.sub(b.resized(left.bits, width), b.resized(right.bits, width), (1 << width) - 1)
        bits = b.of_signed(b.signed(between, width), 8 * byte_size(kind))
        return ScalarOperand(kind, computing(kind).div(bits, size))


def generic_address(target: Target, space: int, address: int, *, null: int) -> int:
    """Return an address of an address space as the generic one."""
    model = DataModel(target=target)
    pointer = evolve(model.pointer_to(t.VOID, space), null=null)
    generic = model.pointer_to(t.VOID, numbers.GENERIC)
    try:
        return int(Pointers(model).in_space(ScalarOperand(pointer, address), generic).bits)
    except EvaluationError as error:
        raise UsageError(error.message, kind=error.kind, hint=error.hint) from error


def kept_in_space(type: t.Pointer, source: t.Pointer) -> t.Pointer:
    """Return a pointer type without an address space as one into the address space of another."""
    return evolve(type, address_space=source.address_space, byte_size=source.byte_size, null=source.null)


def _pointer(type: t.Type) -> t.Pointer:
    inner = resolved(type)
    assert isinstance(inner, t.Pointer)  # noqa: S101 (asked of pointers alone)
    return inner


def _is_null(operand: ScalarOperand) -> bool:
    """Return whether an operand is a null pointer in every slot, or the number 0 as it is written."""
    if isinstance(resolved(operand.type), t.Pointer):
        return b.all_of(b.negated(is_true(operand)))
    return operand.is_written_zero


def _extended(count: ScalarOperand, width: int) -> Any:
    scalar = count.scalar
    if scalar.is_signed:
        return b.of_signed(b.signed(count.bits, scalar.bits), width)
    return b.resized(count.bits, width)


def null_pointer(operand: ScalarOperand, type: t.Type) -> ScalarOperand:
    """Return the number 0, as it is written, as the null of a pointer type; any other operand as it is."""
    inner = resolved(type)
    if isinstance(inner, t.Pointer) and operand.is_written_zero:
        return ScalarOperand(type, inner.null)
    return operand
