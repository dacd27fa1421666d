"""C's operators on values: the type of the result, and its bit pattern (C23, 6.3 and 6.5).

The operators accept one bit pattern for all slots, or an array with one pattern per slot. The rules:

* Integers narrower than int become int (6.3.1.1); then both operands get the type of the higher rank, unsigned where
  the unsigned one is not of lower rank or the signed one cannot hold all its numbers (6.3.1.8).
* If an operand is floating point, both operands get the wider floating-point type.
* ``p + n`` advances by n objects, ``p - q`` counts objects. Each address space has its own pointer width and its own
  null (A.5.3). A literal 0 is the null of the pointer that it is compared with or assigned to; a cast makes it address
  0, as in GDB. A pointer that meets a generic one becomes generic: generic memory contains global, local and private
  memory. Two different spaces without a generic one are an error.
* OPEN in C: a shift by a negative count, or by the width or more, shifts all bits out; signed overflow wraps; integer
  division by zero is an error, and floating-point division by zero gives infinity or a NaN.
* OPEN: a character constant has type char even in C, as in GDB, so that it prints as a character.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.expr.arithmetic import ExactFloats, Floats, Integers
from dwarfgpu.immutable import evolve, field, frozen, immutable
from dwarfgpu.lanes import refuse
from dwarfgpu.program.language.syntax import Boolean, Character, Float, Integer, Null, StringLiteral
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import byte_size, resolved
from dwarfgpu.program.values.objects import Object, optimized_out
from dwarfgpu.program.values.scalars import Scalar, scalar_of
from dwarfgpu.targets import amdgpu

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.floats import FloatFormat
    from dwarfgpu.targets.amdgpu.address_spaces import Apertures
    from dwarfgpu.targets.target import Target

    Computing: TypeAlias = Integers | Floats


COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_INTEGER_ONLY = frozenset(("%", "&", "|", "^"))
_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
STRINGS = {"": "char", "u8": "char8_t", "u": "char16_t", "U": "char32_t", "L": "wchar_t"}
"""The type of the characters of a string, by its prefix."""


class Arithmetic:
    """C's operators, with the types of one target and language."""

    def __init__(self, model: DataModel | None = None) -> None:
        self.model = DataModel() if model is None else model

    # --- Literals (C23, 6.4.4) ----------------------------------------------------------------------------------------

    def literal(self, node: Integer | Float | Character | Boolean | Null) -> ScalarOperand:
        """Return the value of a literal."""
        if isinstance(node, Integer):
            return self._integer(node)
        if isinstance(node, Float):
            names = {"f": "float", "l": "long double", "f16": "_Float16", "bf16": "__bf16"}
            kind = self.model.base(names.get(node.suffix, "double"))
            layout = scalar_or_error(kind).layout
            assert layout is not None  # noqa: S101 (they are all floating point)
            return ScalarOperand(kind, layout.encode_exact(Fraction(node.numerator, node.denominator)))
        if isinstance(node, Character):
            kind = self.model.base(STRINGS[node.prefix])
            return ScalarOperand(kind, node.value & ((1 << 8 * byte_size(kind)) - 1))
        if isinstance(node, Boolean):
            return ScalarOperand(self.model.base("_Bool"), int(node.value))
        return ScalarOperand(self.model.pointer_to(t.VOID), 0)

    def _integer(self, node: Integer) -> ScalarOperand:
        """Return an integer in the first type that holds it; a decimal one prefers signed types (6.4.4.1)."""
        order = ["int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"]
        if "ll" in node.suffix:
            order = order[4:]
        elif "l" in node.suffix:
            order = order[2:]
        if "u" in node.suffix:
            order = [name for name in order if name.startswith("unsigned")]
        elif node.is_decimal:
            order = [name for name in order if not name.startswith("unsigned")] + ["unsigned long"]
        for name in order:
            kind = self.model.base(name)
            scalar = scalar_or_error(kind)
            if node.value >> (scalar.bits - scalar.is_signed) == 0:
                return ScalarOperand(kind, node.value, is_written_zero=not node.value)
        raise UsageError("a number is too large for any type", kind="too_large")

    def size(self, type: t.Type) -> ScalarOperand:
        """Return the value of ``sizeof``."""
        return ScalarOperand(self.model.base("unsigned long"), byte_size(type))

    # --- Types of results ---------------------------------------------------------------------------------------------

    def promoted(self, type: t.Type) -> t.Type:
        """Return the type of an operand after integer promotion (6.3.1.1)."""
        if not is_integral(type):
            return type
        scalar = scalar_or_error(type)
        number = self.model.base("int")
        width = 8 * byte_size(number)
        if scalar.bits < width or scalar.kind == "boolean":
            return number
        if isinstance(resolved(type), t.Enumeration):
            return self._integer_type(scalar.bits, is_signed=scalar.is_signed)
        name = RANKS[self._rank(type)]
        return self.model.base(name if scalar.is_signed else f"unsigned {name}")

    def common(self, left: t.Type, right: t.Type) -> t.Type:
        """Return the common type of two arithmetic operands (6.3.1.8)."""
        floats = [kind for kind in (left, right) if is_float(kind)]
        if floats:
            return max(floats, key=lambda kind: (_precision(kind), byte_size(kind)))
        left, right = self.promoted(left), self.promoted(right)
        first, second = scalar_or_error(left), scalar_or_error(right)
        ranks = (self._rank(left), self._rank(right))
        if first.is_signed == second.is_signed:
            return left if ranks[0] >= ranks[1] else right
        signed, unsigned = (left, right) if first.is_signed else (right, left)
        if self._rank(unsigned) >= self._rank(signed):
            return unsigned
        if scalar_or_error(signed).bits > scalar_or_error(unsigned).bits:
            return signed
        return self.model.base(f"unsigned {RANKS[self._rank(signed)]}")

    def _rank(self, type: t.Type) -> int:
        """Return the rank of an integer type: by its name, else that of the first type at least as large."""
        inner = resolved(type)
        name = (inner.name or "").replace("unsigned ", "").replace(" unsigned", "")
        if name in RANKS and isinstance(inner, t.Base):
            return RANKS.index(name)
        bits = scalar_or_error(type).bits
        for rank, candidate in enumerate(RANKS):
            if 8 * byte_size(self.model.base(candidate)) >= bits:
                return rank
        return len(RANKS) - 1

    def _integer_type(self, bits: int, *, is_signed: bool) -> t.Base:
        """Return the first integer type that has at least a number of bits."""
        for name in RANKS[3:]:
            if 8 * byte_size(self.model.base(name)) >= bits:
                return self.model.base(name if is_signed else f"unsigned {name}")
        return self.model.base("unsigned __int128")

    # --- Operators ----------------------------------------------------------------------------------------------------

    def unary(self, operator: str, operand: ScalarOperand) -> ScalarOperand:
        """Apply ``+``, ``-``, ``~`` or ``!``, to the elements of a vector and the parts of a complex number too."""
        vector = _vector(operand.type)
        if vector is not None and operator == "!":
            raise _no_operator(operator, operand.type)
        if vector is not None:
            return self.packed(vector[0], [self.unary(operator, each) for each in self.elements(operand)])
        if _is_complex(operand.type):
            real, imaginary = self._parts(operand)
            if operator == "!":
                return self.unary("!", self.logical("||", real, imaginary))
            if operator == "~":  # the conjugate, as GNU C has it
                return self._joined(operand.type, [real, self.unary("-", imaginary)])
            return self._joined(operand.type, [self.unary(operator, real), self.unary(operator, imaginary)])
        if operator == "!":
            return of_flags(b.negated(is_true(operand)), self.model.truth)
        if is_pointer(operand.type) or (operator == "~" and not is_integral(operand.type)):
            raise _no_operator(operator, operand.type)
        kind = self.promoted(operand.type)
        operand = converted(operand, kind)
        if operator == "-":
            return ScalarOperand(kind, computing(kind).neg(operand.bits))
        if operator == "~":
            return ScalarOperand(kind, b.invert(operand.bits, (1 << operand.scalar.bits) - 1))
        return operand

    def binary(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        """Apply an operator that evaluates both of its operands."""
        if _vector(left.type) is not None or _vector(right.type) is not None:
            return self._on_vectors(operator, left, right)
        if _is_complex(left.type) or _is_complex(right.type):
            return self._on_complex(operator, left, right)
        if is_pointer(left.type) or is_pointer(right.type):
            return self._with_pointers(operator, left, right)
        if isinstance(resolved(left.type), t.MemberPointer) or isinstance(resolved(right.type), t.MemberPointer):
            if operator in ("==", "!="):
                flags = b.equal(left.bits, right.bits)
                return of_flags(flags if operator == "==" else b.negated(flags), self.model.truth)
            raise _no_operators(operator, left, right)
        if operator in ("<<", ">>"):
            return self._shift(operator, left, right)
        kind = self.common(left.type, right.type)
        if operator in _INTEGER_ONLY and is_float(kind):
            raise _no_operators(operator, left, right)
        left, right = converted(left, kind), converted(right, kind)
        if operator in COMPARISONS:
            return of_flags(_compared(operator, kind, left, right), self.model.truth)
        if operator in ("&", "|", "^"):
            return ScalarOperand(kind, _bitwise(operator, left.bits, right.bits))
        return ScalarOperand(kind, getattr(computing(kind), _NAMES[operator])(left.bits, right.bits))

    def logical(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        """Apply ``&&`` or ``||`` to operands that have both been evaluated."""
        first, second = is_true(left), is_true(right)
        if operator == "||":
            return of_flags(b.either(first, second), self.model.truth)
        return of_flags(b.negated(b.either(b.negated(first), b.negated(second))), self.model.truth)

    def cast(self, operand: ScalarOperand, type: t.Type) -> ScalarOperand:
        """Convert an operand to a type, as ``(type) operand`` does."""
        vector = _vector(type)
        if _is_complex(type):
            part = self.model.base(_PARTS[byte_size(type)])
            return self._joined(type, [self.cast(each, part) for each in self._parts(operand)])
        if _is_complex(operand.type):
            return self.cast(self._parts(operand)[0], type)
        if vector is not None and _vector(operand.type) is None:
            return self.packed(vector[0], [operand] * vector[1])
        if vector is not None and byte_size(operand.type) != byte_size(type):
            raise UsageError("cannot convert between vectors of different sizes", kind="type_mismatch")
        if vector is not None:
            return ScalarOperand(type, operand.bits)
        if is_pointer(operand.type) and is_pointer(type):
            return self.in_space(operand, type)
        return converted(operand, type)

    def assigned(self, operand: ScalarOperand, type: t.Type) -> ScalarOperand:
        """Convert an operand as an assignment does; a pointer keeps its address space, or becomes generic."""
        operand = null_pointer(operand, type)
        if is_pointer(operand.type) and is_pointer(type):
            # as in an assignment, only a null pointer may change to a space other than generic
            source, target = _pointer(operand.type), _pointer(type)
            first, second = source.address_space or 0, target.address_space or 0
            if second not in (first, amdgpu.GENERIC) and not b.all_of(b.negated(is_true(operand))):
                names = f"a pointer into {self._space_name(first)} to a pointer into {self._space_name(second)}"
                hint = "a cast works if both address spaces contain the address"
                raise UsageError(f"cannot convert {names}", kind="address_space_mismatch", hint=hint)
            return self.in_space(operand, type)
        return self.cast(operand, type)

    def _shift(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        if not (is_integral(left.type) and is_integral(right.type)):
            raise _no_operators(operator, left, right)
        kind = self.promoted(left.type)
        left = converted(left, kind)
        scalar = left.scalar
        count = converted(right, self.model.base("long")).bits  # a negative count is a very large one here
        if operator == "<<":
            return ScalarOperand(kind, b.shl(left.bits, count, scalar.bits))
        shifted = b.sar if scalar.is_signed else b.shr
        return ScalarOperand(kind, shifted(left.bits, count, scalar.bits))

    # --- Pointers and address spaces ----------------------------------------------------------------------------------

    def in_space(self, operand: ScalarOperand, type: t.Type) -> ScalarOperand:
        """Convert a pointer to another type and address space; an address that is not in the space is an error."""
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
        """Return whether addresses of a space convert to other spaces; those of the target `generic` do not."""
        target = self.model.target
        return target is not None and target.name != "generic" and target.space(space) is not None

    def _space_name(self, space: int) -> str:
        known = None if self.model.target is None else self.model.target.space(space)
        return f"address space {space}" if known is None else known.name

    def _too_large(self, operand: ScalarOperand, slot: int, kind: t.Pointer) -> UsageError:
        name = self._space_name(kind.address_space or 0)
        message = (
            f"{b.select(operand.bits, slot):#x} is not an address of {name}: its addresses have {kind.byte_size} bytes"
        )
        return UsageError(message, kind="bad_address")

    def _not_there(self, operand: ScalarOperand, slot: int, first: int, second: int) -> EvaluationError:
        address = f"{self._space_name(first)}#{b.select(operand.bits, slot):#x}"
        message = f"{address} is not an address of {self._space_name(second)}"
        hint = "to keep the number, cast it to an integer first"
        return EvaluationError("address_space_mismatch", message, spec="A.2.13", hint=hint)

    def _in_one_space(self, left: ScalarOperand, right: ScalarOperand) -> tuple[ScalarOperand, ScalarOperand]:
        """Convert two pointers to one address space: their common one, or the generic one if either is generic."""
        first, second = (_pointer(operand.type).address_space or 0 for operand in (left, right))
        if first == second:
            return left, right
        if amdgpu.GENERIC not in (first, second):
            names = f"{self._space_name(first)} and {self._space_name(second)}"
            message, hint = (
                f"pointers into {names} cannot be compared or subtracted",
                "cast both to the generic address space",
            )
            raise UsageError(message, kind="address_space_mismatch", hint=hint)
        left, right = (
            self.in_space(each, self.model.pointer_to(_pointer(each.type).target, amdgpu.GENERIC))
            for each in (left, right)
        )
        return left, right

    def _equality(self, left: ScalarOperand, right: ScalarOperand) -> b.Flags | None:
        """Compare a pointer with an operand that is null in every slot; return None if neither operand is."""
        for operand, other in ((left, right), (right, left)):
            if is_pointer(operand.type) and _is_null(other):
                return b.negated(is_true(operand))
        return None

    def _comparable(self, left: ScalarOperand, right: ScalarOperand) -> tuple[t.Type, ScalarOperand, ScalarOperand]:
        """Return a common type and both operands converted to it; at least one of them is a pointer."""
        if is_pointer(left.type) and is_pointer(right.type):
            left, right = self._in_one_space(left, right)
            widest = max(left.type, right.type, key=byte_size)
            return widest, converted(left, widest), converted(right, widest)
        kind = left.type if is_pointer(left.type) else right.type
        wide = self.model.base("unsigned long")
        if byte_size(kind) == 8 or max(left.scalar.bits, right.scalar.bits) <= 8 * byte_size(kind):
            return kind, converted(left, kind), converted(right, kind)
        return wide, converted(left, wide), converted(right, wide)

    def _difference(self, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
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

    def _with_pointers(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        first, second = is_pointer(left.type), is_pointer(right.type)
        if operator in COMPARISONS and ((first and second) or is_integral((right if first else left).type)):
            flags = self._equality(left, right) if operator in ("==", "!=") else None
            if flags is not None:
                return of_flags(flags if operator == "==" else b.negated(flags), self.model.truth)
            kind, left, right = self._comparable(left, right)
            return of_flags(_compared(operator, kind, left, right), self.model.truth)
        if operator == "-" and first and second:
            return self._difference(left, right)
        if operator == "+" and second and not first:
            left, right, first, second = right, left, True, False
        if operator in ("+", "-") and first and not second and is_integral(right.type):
            width = left.scalar.bits
            mask = (1 << width) - 1
            steps = b.mul(_extended(right, width), size_of_target(left.type) & mask, mask)
            compute = b.add if operator == "+" else b.sub
            return ScalarOperand(left.type, compute(left.bits, steps, mask))
        raise _no_operators(operator, left, right)

    def decayed(self, type: t.Type, space: int | None = None) -> t.Type:
        """Return the pointer type that an array or a function decays to (6.3.2.1), or any other type unchanged."""
        inner = resolved(type)
        if isinstance(inner, t.Array) and not inner.is_vector:
            element = inner.element
            if len(inner.dimensions) > 1:
                element = t.Array(inner.element_type, inner.dimensions[1:], die=inner.die)
            return self.model.pointer_to(element, space)
        if isinstance(inner, t.Function):
            return self.model.pointer_to(type, space)
        return type

    def repeated(self, type: t.Type, count: int) -> t.Array:
        """Return the type of ``x@count``."""
        if not 0 < count < 1 << 60:
            raise UsageError(f"an array cannot have {count} elements", kind="bad_index")
        return t.Array(t.Lazy.known(type), (t.Dimension(0, count=count),))

    # --- Complex numbers and vectors ----------------------------------------------------------------------------------

    def _split(self, operand: ScalarOperand, element: t.Type, count: int) -> list[ScalarOperand]:
        """Return the elements that are one behind the other in a pattern, the first in memory first."""
        width, bits = 8 * byte_size(element), scalar_or_error(element).bits
        places = range(count) if self.model.byte_order == "little" else range(count - 1, -1, -1)
        shifted = (b.shr(operand.bits, place * width, width * count) for place in places)
        return [ScalarOperand(element, b.resized(each, bits)) for each in shifted]

    def _joined(self, type: t.Type, values: list[ScalarOperand]) -> ScalarOperand:
        """Return the pattern of a type in which values are one behind the other."""
        total = 8 * byte_size(type)
        width = total // max(len(values), 1)
        bits: Any = 0
        for place, value in enumerate(values if self.model.byte_order == "little" else values[::-1]):
            bits = bits | b.shl(b.resized(value.bits, total), place * width, total)
        return ScalarOperand(type, bits)

    def _parts(self, operand: ScalarOperand) -> list[ScalarOperand]:
        """Return the real and the imaginary part of a number."""
        if not _is_complex(operand.type):
            return [operand, ScalarOperand(self.model.base("int"), 0)]
        return self._split(operand, self.model.base(_PARTS[byte_size(operand.type)]), 2)

    def _on_complex(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        kind = max(filter(_is_complex, (left.type, right.type)), key=byte_size)
        part = self.model.base(_PARTS[byte_size(kind)])
        for operand in (left, right):  # complex float and double are computed as complex double
            if not _is_complex(operand.type) and is_float(operand.type) and byte_size(operand.type) > byte_size(part):
                part = self.model.base(_PARTS[2 * byte_size(operand.type)])
                kind = self.model.base(f"complex {part.name}")
        (a, c), (e, f) = ([self.cast(each, part) for each in self._parts(side)] for side in (left, right))
        of = self.binary
        if operator in ("==", "!="):
            same = self.logical("&&", of("==", a, e), of("==", c, f))
            return same if operator == "==" else self.unary("!", same)
        if operator in ("+", "-"):
            return self._joined(kind, [of(operator, a, e), of(operator, c, f)])
        if operator == "*":
            real = of("-", of("*", a, e), of("*", c, f))
            return self._joined(kind, [real, of("+", of("*", a, f), of("*", c, e))])
        if operator == "/":
            size = of("+", of("*", e, e), of("*", f, f))
            real = of("/", of("+", of("*", a, e), of("*", c, f)), size)
            return self._joined(kind, [real, of("/", of("-", of("*", c, e), of("*", a, f)), size)])
        raise _no_operator(operator, kind)

    def elements(self, operand: ScalarOperand) -> list[ScalarOperand]:
        """Return the elements of a vector; none of another value."""
        vector = _vector(operand.type)
        return [] if vector is None else self._split(operand, *vector)

    def packed(self, element: t.Type, values: list[ScalarOperand]) -> ScalarOperand:
        """Return a vector of values."""
        kind = t.Array(t.Lazy.known(element), (t.Dimension(0, count=len(values)),), is_vector=True)
        return self._joined(kind, [self.cast(value, element) for value in values])

    def _on_vectors(self, operator: str, left: ScalarOperand, right: ScalarOperand) -> ScalarOperand:
        """Apply an operator to each element; repeat a scalar operand. A comparison gives 0 or -1 per element."""
        shape = _vector(left.type) or _vector(right.type)
        assert shape is not None  # noqa: S101 (the caller has checked)
        element, count = shape
        sides = []
        for operand in (left, right):
            vector = _vector(operand.type)
            if vector is None:
                sides.append([self.cast(operand, element)] * count)
                continue
            if vector[1] != count or byte_size(vector[0]) != byte_size(element):
                raise UsageError("operators need vectors of the same shape", kind="type_mismatch")
            sides.append(self.elements(operand))
        values = [self.binary(operator, *pair) for pair in zip(*sides, strict=True)]
        if operator in COMPARISONS:
            names = {1: "signed char", 2: "short", 4: "int"}
            element = self.model.base(names.get(byte_size(element), "long"))
            values = [self.unary("-", value) for value in values]
        return self.packed(element, values)


# --- Pointers ---------------------------------------------------------------------------------------------------------


def generic_address(target: Target, space: int, address: int, *, null: int) -> int:
    """Convert an address of an address space to a generic address."""
    model = DataModel(target=target)
    pointer = evolve(model.pointer_to(t.VOID, space), null=null)
    generic = model.pointer_to(t.VOID, amdgpu.GENERIC)
    try:
        return int(Arithmetic(model).in_space(ScalarOperand(pointer, address), generic).bits)
    except EvaluationError as error:
        raise UsageError(error.message, kind=error.kind, hint=error.hint) from error


def kept_in_space(type: t.Pointer, source: t.Pointer) -> t.Pointer:
    """Return a pointer type with the address space, size and null of another pointer type."""
    return evolve(type, address_space=source.address_space, byte_size=source.byte_size, null=source.null)


def _pointer(type: t.Type) -> t.Pointer:
    inner = resolved(type)
    assert isinstance(inner, t.Pointer)  # noqa: S101 (callers pass only pointers)
    return inner


def _is_null(operand: ScalarOperand) -> bool:
    """Return whether an operand is a null pointer in every slot, or a literal 0."""
    if is_pointer(operand.type):
        return b.all_of(b.negated(is_true(operand)))
    return operand.is_written_zero


def _extended(count: ScalarOperand, width: int) -> Any:
    scalar = count.scalar
    if scalar.is_signed:
        return b.of_signed(b.signed(count.bits, scalar.bits), width)
    return b.resized(count.bits, width)


def null_pointer(operand: ScalarOperand, type: t.Type) -> ScalarOperand:
    """Convert a literal 0 to the null of a pointer type; return any other operand unchanged."""
    inner = resolved(type)
    if isinstance(inner, t.Pointer) and operand.is_written_zero:
        return ScalarOperand(type, inner.null)
    return operand


# --- Comparisons, bits and checks -------------------------------------------------------------------------------------


def _compared(operator: str, type: t.Type, left: ScalarOperand, right: ScalarOperand) -> b.Flags:
    numbers = computing(type)
    if operator == "==":
        return numbers.equal(left.bits, right.bits)
    if operator == "!=":
        return b.negated(numbers.equal(left.bits, right.bits))
    if operator in (">", "<="):
        left, right = right, left
    less = numbers.less(left.bits, right.bits)
    if operator in ("<", ">"):
        return less
    # a NaN is neither less than nor equal to any number, so `not less` would be wrong
    return b.either(numbers.less(right.bits, left.bits), numbers.equal(left.bits, right.bits))


def _bitwise(operator: str, left: Any, right: Any) -> Any:
    if operator == "&":
        return left & right
    return left | right if operator == "|" else left ^ right


def _precision(type: t.Type) -> int:
    layout = scalar_or_error(type).layout
    return 0 if layout is None else layout.precision


def _no_operator(operator: str, type: t.Type) -> UsageError:
    return UsageError(f"{operator} is not defined for the type {safe_text(type)}", kind="bad_operand")


def _no_operators(operator: str, left: ScalarOperand, right: ScalarOperand) -> UsageError:
    types = f"{safe_text(left.type)} and {safe_text(right.type)}"
    return UsageError(f"{operator} is not defined for the types {types}", kind="bad_operand")


# --- Complex numbers and vectors --------------------------------------------------------------------------------------

_PARTS = {8: "float", 16: "double", 32: "long double", 4: "_Float16"}
"""The types of the parts of complex numbers, by the bytes of these."""
MAX_ELEMENTS = 1024


def _is_complex(type: t.Type) -> bool:
    inner = resolved(type)
    return isinstance(inner, t.Base) and inner.encoding == dw.DW_ATE_complex_float and inner.byte_size in _PARTS


def _vector(type: t.Type) -> tuple[t.Type, int] | None:
    """Return the element type and the count of a vector type; None for any other type."""
    inner = resolved(type)
    if isinstance(inner, t.Base) and inner.vector_size is not None:
        return _limited(inner.element, inner.vector_size)
    if isinstance(inner, t.Array) and inner.is_vector and len(inner.dimensions) == 1:
        length = inner.dimensions[0].length
        return None if length is None else _limited(inner.element, length)
    return None


def _limited(element: t.Type, count: int) -> tuple[t.Type, int]:
    if count > MAX_ELEMENTS:
        raise UsageError(f"vectors of more than {MAX_ELEMENTS} elements are not supported", kind="limit_exceeded")
    return element, count


# --- Operands: a type and a pattern, the same in every slot or one a slot; and how types convert ----------------------


@immutable
class ScalarOperand:
    """A value of a scalar type: its pattern, as an unsigned number."""

    type: t.Type
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


def scalar_or_error(type: t.Type) -> Scalar:
    """Return how the bits of a type are read; raise an error for a type without arithmetic."""
    scalar = scalar_of(type)
    if scalar is None or scalar.kind == "bytes" or not scalar.bits:
        raise UsageError(f"a value of the type {safe_text(type)} cannot be computed with", kind="not_a_scalar")
    return scalar


def computing(type: t.Type) -> Computing:
    """Return the arithmetic on the patterns of a type."""
    scalar = scalar_or_error(type)
    layout = scalar.layout
    if layout is None:
        return Integers(scalar.bits, is_signed=scalar.is_signed)
    return Floats(layout) if layout.fits_double else ExactFloats(layout)


def is_float(type: t.Type) -> bool:
    """Return whether a type is one of floating point."""
    return scalar_or_error(type).layout is not None


def is_pointer(type: t.Type) -> bool:
    """Return whether a type is a pointer or a reference."""
    return isinstance(resolved(type), t.Pointer)


def is_integral(type: t.Type) -> bool:
    """Return whether a type counts as an integer: enumerations and bool too."""
    inner = resolved(type)
    return isinstance(inner, (t.Base, t.Enumeration)) and scalar_or_error(type).layout is None


def is_true(operand: ScalarOperand) -> b.Flags:
    """Return whether a value counts as true; a pointer does where it is not the null of its address space."""
    scalar = operand.scalar
    if scalar.layout is not None:
        return computing(operand.type).is_true(operand.bits)
    return operand.bits != scalar.null


def of_flags(flags: b.Flags, type: t.Type) -> ScalarOperand:
    """Return the value of a condition."""
    return ScalarOperand(type, b.of_flags(flags))


# --- Conversions (C23, 6.3) ---------------------------------------------------------------------------------------


def converted(operand: ScalarOperand, type: t.Type) -> ScalarOperand:
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


def size_of_target(pointer: t.Type) -> int:
    """Return how many bytes a pointer moves in a step: the size of its target, 1 where that has none."""
    inner = resolved(pointer)
    assert isinstance(inner, t.Pointer)  # noqa: S101 (asked of pointers alone)
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

    def type(self, name: str) -> t.Base | t.Void:
        """Return a type of the language by its usual name, such as ``unsigned long``."""
        if name == "void":
            return t.VOID
        kind = self.find(name)
        if kind is None:
            raise UsageError(f"there is no type named {name}", kind="no_type")
        return kind

    def base(self, name: str) -> t.Base:
        """Return a type of the language that has values, by a name that exists."""
        kind = self.find(name)
        assert kind is not None, name  # noqa: S101 (only names of this package come here)
        return kind

    def find(self, name: str) -> t.Base | None:
        """Return a type that has values; None where the language has none of that name."""
        name = {"bool": "_Bool", "unsigned": "unsigned int", "signed": "int"}.get(name, name)
        if name == "_Bool":
            return t.Base("bool" if self.is_cplus else "_Bool", dw.DW_ATE_boolean, 1)
        if name == "char":
            return t.Base(name, dw.DW_ATE_signed_char if self.char_is_signed else dw.DW_ATE_unsigned_char, 1)
        if name in ("signed char", "unsigned char"):
            return t.Base(name, dw.DW_ATE_signed_char if name[0] == "s" else dw.DW_ATE_unsigned_char, 1)
        sizes = {"short": 2, "int": 4, "long": self.long_size, "long long": 8, "__int128": 16}
        plain = name.removeprefix("unsigned ")
        if plain in sizes:
            return t.Base(name, dw.DW_ATE_signed if plain == name else dw.DW_ATE_unsigned, sizes[plain])
        floats = {"float": 4, "double": 8, "long double": self.long_double_size, "_Float16": 2, "__bf16": 2}
        if name in floats:
            return t.Base(name, dw.DW_ATE_float, floats[name])
        part = name.removeprefix("complex ")
        if part != name and part in floats:
            return t.Base(name, dw.DW_ATE_complex_float, 2 * floats[part])
        characters = {"char8_t": 1, "char16_t": 2, "char32_t": 4}
        if name in characters:
            return t.Base(name, dw.DW_ATE_UTF, characters[name])
        if name == "wchar_t":
            return t.Base(name, dw.DW_ATE_signed, self.wchar_size)
        return None

    def pointer_to(self, type: t.Type, space: int | None = None, sign: str = "*") -> t.Pointer:
        """Return a pointer to a type, in the width and with the null of its address space (A.5.3)."""
        known = None if self.target is None or space is None else self.target.space(space)
        if known is None:
            return t.Pointer(sign, t.Lazy.known(type), self.pointer_size, space)
        return t.Pointer(sign, t.Lazy.known(type), -(-known.address_bits // 8), space, null=known.null or 0)

    @property
    def apertures(self) -> Apertures | None:
        """The apertures of the generic address space, where they are known."""
        from dwarfgpu.targets.amdgpu.address_spaces import GenericView

        spaces = () if self.target is None else self.target.address_spaces
        return next((space.alias.apertures for space in spaces if isinstance(space.alias, GenericView)), None)

    @property
    def truth(self) -> t.Base:
        """The type of a comparison: bool in C++, int in C."""
        return self.base("_Bool" if self.is_cplus else "int")


def string_bytes(node: StringLiteral, model: DataModel) -> tuple[str, bytes]:
    """Return the type name of a string's characters, and its bytes with the null character at the end."""
    size = {"": 1, "u8": 1, "u": 2, "U": 4, "L": model.wchar_size}[node.prefix]
    order = "" if size == 1 else f"-{model.byte_order[0]}e"
    errors = "surrogateescape" if size == 1 else "surrogatepass"
    try:
        return STRINGS[node.prefix], f"{node.value}\0".encode(f"utf-{8 * size}{order}", errors)
    except UnicodeEncodeError:
        raise UsageError("a string of bytes cannot have a surrogate", hint='write L"..."', kind="bad_operand") from None
