"""The meaning of source expressions: trees become objects, for one lane or for many at once.

What is in a location stays there: ``&x`` and assignments need it. Numbers are patterns with one element a lane, and
arithmetic on them is C's (`source.arithmetic`). Where lanes need different answers, as in ``c ? a : b``, the evaluation
raises `Diverge`, and whoever asked asks again for each part of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Implicit
from dwarfgpu.lanes import uniform, uniform_flag
from dwarfgpu.program.source import syntax as s
from dwarfgpu.program.source.arithmetic import Arithmetic
from dwarfgpu.program.source.data_model import DataModel
from dwarfgpu.program.source.errors import ExpressionError
from dwarfgpu.program.source.literals import string_bytes
from dwarfgpu.program.source.operands import Operand, converted, is_pointer, is_true, loaded
from dwarfgpu.program.source.type_builder import TypeBuilder
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import VOID, Array, Enumeration, Function, Pointer, StaticMember, Struct
from dwarfgpu.program.types.naming import is_cplus
from dwarfgpu.program.types.sizes import byte_size, known_size, resolved, stripped
from dwarfgpu.program.values.arrays import definite
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address
from dwarfgpu.program.variables import dollars, member_pointers
from dwarfgpu.program.variables.classes import base_named, class_moved, has_base, member_named, seen_as
from dwarfgpu.program.variables.names import NamedEnumerator, NamedFunction
from dwarfgpu.program.variables.unknown_names import hint_for
from dwarfgpu.program.variables.variable import STATIC, Variable

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.names import Meaning

MAX_TEXT = 1 << 16
"""A string in an expression has at most so many characters."""
_WORD = re.compile(r"(?<!^)([A-Z])")


@frozen
class Write:
    """An assignment that is to be made."""

    target: Object
    pattern: Bits = field(eq=b.comparable)
    bit_size: int


@frozen
class OfThis:
    """A member of the object that a method is about."""

    this: Variable


class Evaluator:
    """Evaluates trees in a frame, for some lanes."""

    def __init__(self, frame: Frame, lanes: LaneSet, text: str) -> None:
        self.frame = frame
        self.lanes = lanes
        self.text = text
        self.around = frame.around(lanes)
        target = frame.target
        unit = frame.unit
        model = DataModel(
            is_cplus=unit is not None and is_cplus(unit),
            pointer_size=target.address_size,
            long_size=min(8, target.address_size),
            byte_order=target.byte_order,
        )
        self.compute = Arithmetic(model)
        self.builder = TypeBuilder(
            model, lambda name, keyword: frame.state.names.type(frame, name, keyword), self._space_number
        )
        self.writes: list[Write] = []
        self.notes: list[tuple[str, Object]] = []
        """The convenience variables that are to be set."""

    def _space_number(self, name: str) -> int | None:
        found = self.frame.target.space_named(name)
        return None if found is None else found.number

    # --- Values and numbers ---------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        """The value of a tree: an `Object`, or an `Operand` where it was computed."""
        name = _WORD.sub(r"_\1", type(node).__name__).lower()
        try:
            return getattr(self, f"_{name}")(node)
        except UsageError as error:
            if isinstance(error, ExpressionError):
                raise
            raise self.error(node, error.message, hint=error.hint, kind=error.kind) from error

    def object(self, node: Any) -> Object:
        """The value of a tree as an object; what was computed is in an implicit location."""
        found = self.value(node)
        return self._placed(found) if isinstance(found, Operand) else found

    def operand(self, node: Any) -> Operand:
        """The value of a tree as a number."""
        try:
            return self._loaded(self.value(node))
        except UsageError as error:
            if isinstance(error, ExpressionError):
                raise
            raise self.error(node, error.message, hint=error.hint, kind=error.kind) from error

    def error(self, node: Any, message: str, *, hint: str | None = None, kind: str = "") -> ExpressionError:
        """An error that points at a part of the expression."""
        found = ExpressionError(self.text, node.position, message, hint=hint)
        if kind:
            found.kind = kind
        return found

    def _placed(self, operand: Operand) -> Object:
        kind = operand.type
        size = 8 * byte_size(kind)
        scalar = scalar_of(kind)
        bits: Any = operand.bits
        if scalar is not None and isinstance(bits, int):
            bits = scalar.stored(bits, self.around.context.target.byte_order)
        return Object(kind, self.around.located(locations.at(Implicit(bits, size))))

    def _loaded(self, found: Any) -> Operand:
        if isinstance(found, Operand):
            return found
        found = found.target()
        inner = resolved(found.type)
        if isinstance(inner, Function) or (isinstance(inner, Array) and not inner.is_vector):
            address = found.address
            if address is None:
                raise UsageError(
                    f"the {_noun(inner)} is in no memory, so it has no address", kind="no_address"
                )
            return Operand(self.compute.decayed(found.type, address.space), address.value)
        return loaded(found)

    def built(self, node: Any) -> Type:
        """The type that a tree names."""
        try:
            return self.builder.build(node)
        except UsageError as error:
            name = node
            while not isinstance(name, s.NamedType) and isinstance(getattr(name, "to", None), s.TYPE_NODES):
                name = name.to
            raise self.error(name, error.message, hint=error.hint, kind=error.kind) from error

    def named(self, node: Any) -> Variable | None:
        """The variable that a tree names, if it is a name alone."""
        found = self.meaning(node) if isinstance(node, s.Name) else None
        return found if isinstance(found, Variable) else None

    # --- Literals -------------------------------------------------------------------------------------------------

    def _integer(self, node: Any) -> Operand:
        return self.compute.literal(node)

    _float = _character = _boolean = _null = _integer

    def _string(self, node: s.String) -> Object:
        name, data = string_bytes(node, self.compute.model)
        element = self.compute.model.base(name)
        kind = self.compute.repeated(element, len(data) // byte_size(element))
        where = Implicit(int.from_bytes(data, self.compute.model.byte_order), 8 * len(data))
        return Object(kind, self.around.located(locations.at(where)))

    # --- Names ----------------------------------------------------------------------------------------------------

    def _name(self, node: s.Name) -> Any:
        found = self.meaning(node)
        if isinstance(found, Variable):
            return found.find(self.lanes)
        if isinstance(found, NamedEnumerator):
            return self._enumerator(found.enumeration, found.die)
        if isinstance(found, NamedFunction):
            address = found.code.in_program(found.address)
            return Object(self.frame.state.types.of(found.die), self.around.memory(Address(None, address)))
        if isinstance(found, OfThis):
            return self._of_this(found, node)
        raise self._unknown(node)

    def _of_this(self, found: OfThis, node: s.Name) -> Object:
        """A member of the object that a method is about: ``x``, or ``Base::x``."""
        whole = found.this.find(self.lanes).dereferenced()
        for name in node.parts[:-1]:
            whole = base_named(whole, name)
        return whole.target().member(node.parts[-1])

    def meaning(self, node: s.Name) -> Meaning | OfThis | None:
        """What a name means: in the blocks around the place, as a member of the object, and then further out."""
        names = self.frame.state.names
        if node.file is None and len(node.parts) == 1:
            local = names.local(self.frame, node.parts[0])
            if local is not None:
                return local
            member = self._member_of_this(node.parts[0])
            if member is not None:
                return member
        outer = names.outer(self.frame, node.parts, node.file)
        if outer is None and node.file is None and len(node.parts) > 1:
            member = self._member_of_this(node.parts[-1])
            this = member.this if isinstance(member, OfThis) else None
            if this is not None and has_base(this.type, node.parts[:-1]):
                return member
        return outer

    def _member_of_this(self, name: str) -> Variable | OfThis | None:
        """In a method a name may be that of a member of the object."""
        this = next((each for each in self.frame.variables() if each.name == "this"), None)
        inner = None if this is None else resolved(this.type)
        if this is None or not isinstance(inner, Pointer):
            return None
        member = member_named(inner.target, name)
        if isinstance(member, StaticMember):
            return Variable(self.frame, member.die, self.frame.code_of(member.die.unit), STATIC)
        return None if member is None else OfThis(this)

    def _enumerator(self, owner: Any, die: Any) -> Operand:
        kind = self.frame.state.types.of(owner)
        assert isinstance(kind, Enumeration)  # noqa: S101 (the entry has that tag)
        value = next((each.value for each in kind.enumerators if each.name == die.name), 0)
        return Operand(kind, value & (1 << 8 * byte_size(kind)) - 1)

    def _unknown(self, node: s.Name) -> ExpressionError:
        where = f" in {node.file}" if node.file is not None else ""
        name = self.frame.name
        here = f" in {name}" if name and not where else where
        hint = hint_for(self.frame, node)
        return self.error(node, f"there is no {node.text[:80]}{here}", hint=hint, kind="no_name")

    def _register_name(self, node: s.RegisterName) -> Any:
        return dollars.value(self, node)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _member(self, node: s.Member) -> Object:
        found = self.object(node.operand).target()
        if node.is_arrow or isinstance(resolved(found.type), Pointer):
            found = self._followed(found)
        *owners, name = node.name
        for each in owners:
            found = base_named(found, each)
        return found.target().member(name)

    def _member_pointer_access(self, node: s.MemberPointerAccess) -> Object:
        found = self.object(node.operand).target()
        found = self._followed(found) if node.is_arrow else found
        return found.through(self.object(node.pointer).target())

    def _index(self, node: s.Index) -> Object:
        found = self.value(node.operand)
        index = self.operand(node.index)
        if isinstance(found, Object):
            found = found.target()
            if not isinstance(resolved(found.type), Pointer):
                return self._element(found, index)
            if found.implied() is not None:
                return found.element(int(evolve(index, bits=uniform(index.bits)).number()))
        elif is_pointer(index.type):  # 3[p]
            return self._pointed(self.compute.binary("+", index, found))
        return self._pointed(self.compute.binary("+", self._loaded(found), index))

    def _element(self, found: Object, index: Operand) -> Object:
        """An element; where the index differs from lane to lane, in memory by its address, elsewhere lane by lane."""
        if isinstance(resolved(index.type), Pointer):
            return self._pointed(self.compute.binary("+", self._loaded(found), index))
        if not isinstance(index.bits, int) and not b.all_of(index.bits == index.bits[0]):
            elements = found.array()
            address = elements.place.address
            if address is not None and elements.state is None and elements.stride % 8 == 0:
                mask = (1 << 8 * self.compute.model.pointer_size) - 1
                count = converted(index, self.compute.model.base("long")).bits
                count = b.sub(count, elements.lower & mask, mask)
                moved = b.add(address.value, b.mul(count, elements.stride // 8 & mask, mask), mask)
                return Object(elements.element, self.around.memory(Address(address.space, moved)))
        uniform(index.bits)
        number = evolve(
            index, bits=index.bits if isinstance(index.bits, int) else int(index.bits[0])
        ).number()
        return found.element(int(number))

    def _followed(self, found: Object) -> Object:
        """What an object leads to: an implicit pointer has no number, and leads somewhere all the same."""
        if isinstance(resolved(found.type), Pointer):
            return found.dereferenced()
        return self._pointed(self._loaded(found))

    def _pointed(self, pointer: Operand) -> Object:
        inner = resolved(pointer.type)
        if not isinstance(inner, Pointer):
            message = f"a value of the type {safe_text(pointer.type)} leads to no object"
            raise UsageError(message, kind="not_a_pointer")
        return self._placed(pointer).dereferenced()

    # --- Operators ------------------------------------------------------------------------------------------------

    def _unary(self, node: s.Unary) -> Any:
        if node.operator == "*":
            found = self.value(node.operand)
            if isinstance(found, Object):
                found = found.target()
                inner = resolved(found.type)
                return found if isinstance(inner, Function) else self._followed(found)
            return self._pointed(found)
        if node.operator == "&":
            return self._address(node)
        return self.compute.unary(node.operator, self.operand(node.operand))

    def _address(self, node: s.Unary) -> Operand:
        pointer = member_pointers.address_of(self, node.operand) if isinstance(node.operand, s.Name) else None
        if pointer is not None:
            return pointer
        found = self.value(node.operand)
        if isinstance(found, Operand):
            raise self.error(node, "a computed value has no address", kind="no_address")
        found = definite(found.target())
        address = found.address
        if address is None:
            what = "a bit-field" if found.bit_size is not None else "what is in no memory"
            hint = "the option `location` shows where it is"
            raise self.error(node, f"{what} has no address", hint=hint, kind="no_address")
        return Operand(self.compute.model.pointer_to(found.type, address.space), address.value)

    def _binary(self, node: s.Binary) -> Operand:
        left = self.operand(node.left)
        if node.operator in ("&&", "||"):
            if uniform_flag(is_true(left)) is (node.operator == "||"):
                return Operand(self.compute.model.truth, int(node.operator == "||"))
            return self.compute.logical(node.operator, left, self.operand(node.right))
        right = self.operand(node.right)
        try:
            return self.compute.binary(node.operator, left, right)
        except EvaluationError as error:  # a division by zero
            if error.where.operation is None:
                error.at(operation=f"{node.operator} at column {node.position + 1}")
            raise

    def _conditional(self, node: s.Conditional) -> Any:
        chosen = node.yes if uniform_flag(is_true(self.operand(node.condition))) else node.no
        return self.value(chosen)

    def _cast(self, node: s.Cast) -> Any:
        kind = self.built(node.type)
        inner = resolved(kind)
        found = self.value(node.operand)
        if isinstance(stripped(kind), Struct) or isinstance(inner, Array):
            if isinstance(found, Object) and byte_size(found.target().type) >= byte_size(kind):
                return Object(kind, found.target().place)
            raise self.error(node, f"a value does not become a {safe_text(kind)}", kind="type_mismatch")
        if isinstance(inner, Pointer) and inner.is_reference and isinstance(found, Object):
            return seen_as(found.target(), inner.target)
        operand = self._loaded(found)
        source = resolved(operand.type)
        if isinstance(inner, Pointer) and isinstance(source, Pointer):
            if inner.address_space is None:
                kind = inner = evolve(
                    inner, address_space=source.address_space
                )  # an address stays in its space
            operand = self._of_class(operand, source.target, inner.target)
        if inner == VOID:
            return Operand(self.compute.model.base("int"), 0)
        if isinstance(inner, Pointer) and inner.is_reference:
            return self._pointed(self.compute.cast(operand, evolve(inner, sign="*")))
        return self.compute.cast(operand, kind)

    def _of_class(self, operand: Operand, source: Type, target: Type) -> Operand:
        """A pointer to a class as one to a base of it, or the other way; one that leads nowhere stays as it is."""
        if not (isinstance(stripped(source), Struct) and isinstance(stripped(target), Struct)):
            return operand
        if not uniform_flag(is_true(operand)):
            return operand
        moved = class_moved(self._pointed(operand), target)
        return operand if moved is None else evolve(operand, bits=moved)

    def _size_of(self, node: s.SizeOf) -> Operand:
        if isinstance(node.operand, s.TYPE_NODES):
            return self.compute.size(self.built(node.operand))
        kind = self.type_of(node.operand)
        if known_size(kind) is None:  # an array has the bounds that it has now
            kind = definite(self.object(node.operand).target()).type
        return self.compute.size(kind)

    def type_of(self, node: Any) -> Type:
        """The type of a tree. Of a variable it is known without a location."""
        found = self.named(node)
        if found is not None:
            kind = found.type
            inner = resolved(kind)
            return inner.target if isinstance(inner, Pointer) and inner.is_reference else kind
        value = self.value(node)
        return value.type if isinstance(value, Operand) else value.target().type

    def _repeat(self, node: s.Repeat) -> Object:
        if isinstance(node.count, s.Name) and node.count.parts == ("entry",):
            return self._at_entry(node)
        found = self.value(node.operand)
        if isinstance(found, Operand):
            raise self.error(
                node, "a computed value has nothing behind it", hint="write *p@8", kind="no_address"
            )
        found = definite(found.target())
        count = self.operand(node.count)
        number = evolve(count, bits=uniform(count.bits)).number()
        return Object(self.compute.repeated(found.type, int(number)), found.place)

    def _at_entry(self, node: s.Repeat) -> Object:
        """``x@entry``: what a parameter was when the function was called, as GDB writes it."""
        from dwarfgpu.program.variables.entry import at_entry
        from dwarfgpu.program.variables.variable import PARAMETER

        found = self.named(node.operand)
        if found is None:
            raise self.error(node, "only a parameter has a value at entry", kind="no_name")
        if found.kind != PARAMETER:  # a variable of a block has its name
            same = (each for each in found.frame.variables() if each.name == found.name)
            found = next((each for each in same if each.kind == PARAMETER), None)
        if found is None:
            raise self.error(node, "only a parameter has a value at entry", kind="no_name")
        return self._placed(at_entry(found, self.lanes))

    def _at(self, node: s.At) -> Object:
        kind = self.built(node.type)
        found = self.operand(node.address)
        inner = resolved(found.type)
        space = inner.address_space if isinstance(inner, Pointer) else None
        return Object(kind, self.around.memory(Address(space, found.bits)))

    def _in_space(self, node: s.InSpace) -> Operand:
        number = self._space_number(node.space)
        if number is None:
            names = (each.name for each in self.frame.target.address_spaces)
            known = ", ".join(name for name in names if not name[-1].isdigit())
            message = f"Address space {node.space[:80]} not recognised by the architecture"
            raise self.error(node, message, hint=f"it has {known}", kind="no_address_space")
        address = self.operand(node.address)
        size = -(-self.frame.target.space(number).address_bits // 8)  # type: ignore[union-attr]
        kind = evolve(self.compute.model.pointer_to(VOID, number), byte_size=size)
        return self.compute.cast(address, kind)

    def _call(self, node: s.Call) -> Any:
        if isinstance(node.function, s.TYPE_NODES) and len(node.arguments) == 1:
            return self._cast(s.Cast(node.function, node.arguments[0], node.position))
        raise self.error(node, "nothing is called: the program stands still", kind="unsupported")

    # --- Assignment -----------------------------------------------------------------------------------------------

    def _assignment(self, node: s.Assignment) -> Any:
        if isinstance(node.target, s.RegisterName) and dollars.may_set(self, node.target.name):
            return dollars.note(self, node, node.target.name)
        found = self.value(node.target)
        if isinstance(found, Operand):
            raise self.error(node, "a computed value cannot be assigned to", kind="not_writable")
        operand = self.operand(node.value)
        before = self._loaded(found) if node.operator else operand
        after = self.assign(
            found, self.compute.binary(node.operator, before, operand) if node.operator else operand
        )
        return before if node.is_postfix else after

    def assign(self, found: Object, operand: Operand) -> Operand:
        """Note an assignment, which is made when everything has been evaluated; its value is that of the target."""
        found = found.target()
        scalar = found.scalar
        if scalar is None:
            message = f"a value of the type {safe_text(found.type)} is not assigned as a whole"
            raise UsageError(message, hint="assign its parts", kind="not_a_scalar")
        kind = found.type
        value = self.compute.assigned(operand, kind)
        bits = value.bits
        if found.bit_size is not None:
            bits = b.resized(bits, found.bit_size)
        order = self.around.context.target.byte_order
        if isinstance(bits, int):
            stored: Bits = scalar.stored(bits, order)
        else:
            stored = b.array([scalar.stored(int(each), order) for each in bits.tolist()], scalar.storage_bits)
        self.writes.append(Write(found, stored, scalar.storage_bits))
        return value


def _noun(type: Type) -> str:
    return "function" if isinstance(type, Function) else "array"
