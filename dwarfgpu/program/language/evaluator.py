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
from dwarfgpu.program.code.scopes import scope_of_name
from dwarfgpu.program.language import history
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.arithmetic import Arithmetic
from dwarfgpu.program.language.names import NamedEnumerator, NamedFunction
from dwarfgpu.program.language.operands import (
    DataModel,
    ScalarOperand,
    converted,
    is_pointer,
    is_true,
    loaded,
)
from dwarfgpu.program.language.tokens import ExpressionError, string_bytes
from dwarfgpu.program.language.type_names import TypeBuilder
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import (
    VOID,
    Array,
    Enumeration,
    Function,
    Lazy,
    MemberPointer,
    Pointer,
    StaticMember,
    Struct,
)
from dwarfgpu.program.types.reader import is_cplus
from dwarfgpu.program.types.sizes import byte_size, known_size, resolved, stripped
from dwarfgpu.program.values.arrays import definite
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address
from dwarfgpu.program.variables.variable import STATIC, Variable

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.language.names import Meaning
    from dwarfgpu.program.language.syntax import Name
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.types.model import Member, Type


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
        return self._placed(found) if isinstance(found, ScalarOperand) else found

    def operand(self, node: Any) -> ScalarOperand:
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

    def _placed(self, operand: ScalarOperand) -> Object:
        kind = operand.type
        size = 8 * byte_size(kind)
        scalar = scalar_of(kind)
        bits: Any = operand.bits
        if scalar is not None and isinstance(bits, int):
            bits = scalar.stored(bits, self.around.context.target.byte_order)
        return Object(kind, self.around.located(locations.at(Implicit(bits, size))))

    def _loaded(self, found: Any) -> ScalarOperand:
        if isinstance(found, ScalarOperand):
            return found
        found = found.target()
        inner = resolved(found.type)
        if isinstance(inner, Function) or (isinstance(inner, Array) and not inner.is_vector):
            address = found.address
            if address is None:
                raise UsageError(
                    f"the {_noun(inner)} is in no memory, so it has no address", kind="no_address"
                )
            return ScalarOperand(self.compute.decayed(found.type, address.space), address.value)
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

    def _integer(self, node: Any) -> ScalarOperand:
        return self.compute.literal(node)

    _float = _character = _boolean = _null = _integer

    def _string_literal(self, node: s.StringLiteral) -> Object:
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

    def _enumerator(self, owner: Any, die: Any) -> ScalarOperand:
        kind = self.frame.state.types.of(owner)
        assert isinstance(kind, Enumeration)  # noqa: S101 (the entry has that tag)
        value = next((each.value for each in kind.enumerators if each.name == die.name), 0)
        return ScalarOperand(kind, value & (1 << 8 * byte_size(kind)) - 1)

    def _unknown(self, node: s.Name) -> ExpressionError:
        where = f" in {node.file}" if node.file is not None else ""
        name = self.frame.name
        here = f" in {name}" if name and not where else where
        hint = hint_for(self.frame, node)
        return self.error(node, f"there is no {node.text[:80]}{here}", hint=hint, kind="no_name")

    def _register_name(self, node: s.RegisterName) -> Any:
        return history.value(self, node)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _member_access(self, node: s.MemberAccess) -> Object:
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

    def _subscript(self, node: s.Subscript) -> Object:
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

    def _element(self, found: Object, index: ScalarOperand) -> Object:
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

    def _pointed(self, pointer: ScalarOperand) -> Object:
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

    def _address(self, node: s.Unary) -> ScalarOperand:
        pointer = address_of(self, node.operand) if isinstance(node.operand, s.Name) else None
        if pointer is not None:
            return pointer
        found = self.value(node.operand)
        if isinstance(found, ScalarOperand):
            raise self.error(node, "a computed value has no address", kind="no_address")
        found = definite(found.target())
        address = found.address
        if address is None:
            what = "a bit-field" if found.bit_size is not None else "what is in no memory"
            hint = "the option `location` shows where it is"
            raise self.error(node, f"{what} has no address", hint=hint, kind="no_address")
        return ScalarOperand(self.compute.model.pointer_to(found.type, address.space), address.value)

    def _binary(self, node: s.Binary) -> ScalarOperand:
        left = self.operand(node.left)
        if node.operator in ("&&", "||"):
            if uniform_flag(is_true(left)) is (node.operator == "||"):
                return ScalarOperand(self.compute.model.truth, int(node.operator == "||"))
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
            return ScalarOperand(self.compute.model.base("int"), 0)
        if isinstance(inner, Pointer) and inner.is_reference:
            return self._pointed(self.compute.cast(operand, evolve(inner, sign="*")))
        return self.compute.cast(operand, kind)

    def _of_class(self, operand: ScalarOperand, source: Type, target: Type) -> ScalarOperand:
        """A pointer to a class as one to a base of it, or the other way; one that leads nowhere stays as it is."""
        if not (isinstance(stripped(source), Struct) and isinstance(stripped(target), Struct)):
            return operand
        if not uniform_flag(is_true(operand)):
            return operand
        moved = class_moved(self._pointed(operand), target)
        return operand if moved is None else evolve(operand, bits=moved)

    def _size_of(self, node: s.SizeOf) -> ScalarOperand:
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
        return value.type if isinstance(value, ScalarOperand) else value.target().type

    def _repeat(self, node: s.Repeat) -> Object:
        if isinstance(node.count, s.Name) and node.count.parts == ("entry",):
            return self._at_entry(node)
        found = self.value(node.operand)
        if isinstance(found, ScalarOperand):
            raise self.error(
                node, "a computed value has nothing behind it", hint="write *p@8", kind="no_address"
            )
        found = definite(found.target())
        count = self.operand(node.count)
        number = evolve(count, bits=uniform(count.bits)).number()
        return Object(self.compute.repeated(found.type, int(number)), found.place)

    def _at_entry(self, node: s.Repeat) -> Object:
        """``x@entry``: what a parameter was when the function was called, as GDB writes it."""
        from dwarfgpu.program.stack.call_sites import at_entry
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

    def _in_space(self, node: s.InSpace) -> ScalarOperand:
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
        if isinstance(node.target, s.RegisterName) and history.may_set(self, node.target.name):
            return history.note(self, node, node.target.name)
        found = self.value(node.target)
        if isinstance(found, ScalarOperand):
            raise self.error(node, "a computed value cannot be assigned to", kind="not_writable")
        operand = self.operand(node.value)
        before = self._loaded(found) if node.operator else operand
        after = self.assign(
            found, self.compute.binary(node.operator, before, operand) if node.operator else operand
        )
        return before if node.is_postfix else after

    def assign(self, found: Object, operand: ScalarOperand) -> ScalarOperand:
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


# --- Classes in expressions ---------------------------------------------------------------------------

MAX_DEPTH = 16
"""How deep bases and unnamed members are looked into."""


def member_named(type: Type, name: str, depth: int = 0) -> Member | StaticMember | None:
    """The member of a class with a name, its own or that of a base."""
    inner = stripped(type)
    if not isinstance(inner, Struct) or depth > MAX_DEPTH:
        return None
    body = inner.body
    parts: list[Member | StaticMember] = [*body.members, *body.statics]
    own = next((each for each in parts if each.name == name), None)
    if own is not None:
        return own
    inside = [each.type for each in body.members if each.name is None]
    inside += [base.type for base in body.bases]
    found = (member_named(each, name, depth + 1) for each in inside)
    return next((each for each in found if each is not None), None)


def base_named(found: Object, name: str) -> Object:
    """The part of an object that is a base class."""
    inner = stripped(found.type)
    if not isinstance(inner, Struct):
        raise UsageError(f"the type {safe_text(found.type)} has no bases", kind="no_member")
    if inner.name is not None and inner.name.rpartition("::")[2] == name:
        return found
    for base in inner.body.bases:
        own = str(getattr(stripped(base.type), "name", ""))
        if own == name or own.rpartition("::")[2] == name:
            return found.base(base)
    raise UsageError(f"{safe_text(found.type)} has no base {name}", kind="no_member")


def has_base(pointer: Type, names: tuple[str, ...]) -> bool:
    """Whether names lead from the class that a pointer is to, through itself and its bases, to one of them."""
    target = getattr(stripped(pointer), "target", None)
    for name in names:
        inner = None if target is None else stripped(target)
        if not isinstance(inner, Struct):
            return False
        if (inner.name or "").rpartition("::")[2] == name:
            continue
        named = {
            str(getattr(stripped(each.type), "name", "")).rpartition("::")[2]: each
            for each in inner.body.bases
        }
        if name not in named:
            return False
        target = named[name].type
    return True


def seen_as(found: Object, type: Type) -> Object:
    """An object as one of another type: its part that is a base of that name, or what is in the same place."""
    wanted = getattr(stripped(type), "name", None)
    part = None if wanted is None else _part(found, wanted, 0)
    return Object(type, found.place, container=found.container) if part is None else part


def class_moved(found: Object, type: Type) -> Bits | None:
    """The address of an object as a pointer to another class has it: to a base, or to what it is the base of.

    None where the classes have nothing to do with each other, and the address stays as it is.
    """
    name, wanted = getattr(stripped(found.type), "name", None), getattr(stripped(type), "name", None)
    address = found.address
    if name is None or wanted is None or name == wanted or address is None:
        return None
    part = _part(found, wanted, 0)
    if part is not None:
        moved = part.address
        return None if moved is None else moved.value
    part = _part(Object(type, found.place), name, 0)
    moved = None if part is None else part.address
    if moved is None:
        return None
    mask = (1 << 64) - 1
    return b.sub(address.value, b.sub(moved.value, address.value, mask), mask)


def _part(found: Object, name: str, depth: int) -> Object | None:
    inner = stripped(found.type)
    if not isinstance(inner, Struct) or depth > MAX_DEPTH:
        return None
    if inner.name == name:
        return found
    for base in inner.body.bases:
        part = _part(found.base(base), name, depth + 1)
        if part is not None:
            return part
    return None


# --- Pointers to members in expressions ---------------------------------------------------------------

MAX_BASES = 16
"""How deep bases and unnamed members are looked into."""


def address_of(evaluator: Evaluator, name: s.Name) -> ScalarOperand | None:
    """What ``&`` makes of a name if that is of such a member; None for anything else, which has an address."""
    *scopes, last = name.parts
    if name.file is not None or not scopes:
        return None
    frame, size = evaluator.frame, evaluator.compute.model.pointer_size
    named = frame.state.names.type(frame, "::".join(scopes))
    owner = None if named is None else stripped(named)
    if not isinstance(owner, Struct):
        return None
    meaning = evaluator.meaning(name)
    if isinstance(meaning, Variable):
        return None
    if isinstance(meaning, NamedFunction):
        same = [each for each in owner.body.methods if each.name == last]
        if not same or any(each.is_static or each.is_virtual for each in same):
            return (
                None  # a function as any other; of a virtual one the class of the object says which is meant
            )
        method = Lazy.known(frame.state.types.of(meaning.die))
        kind = MemberPointer(method, Lazy.known(owner), 2 * size)  # with what is added to `this`, which is 0
        return ScalarOperand(kind, meaning.code.in_program(meaning.address))
    found = _data_member(owner, last, 0)
    if found is None:
        return None
    whole, member, offset = found
    if member.bit_size is not None:
        raise UsageError("there is no pointer to a bit-field", kind="no_address")
    if offset is None:
        raise UsageError("there is no pointer to a member whose place is computed", kind="no_address")
    return ScalarOperand(MemberPointer(member.to, Lazy.known(whole), size), offset // 8)


def _data_member(type: Type, name: str, depth: int) -> tuple[Type, Member, int | None] | None:
    """A data member, the class that has it, which may be a base, and where it is in that, in bits."""
    inner = stripped(type)
    if not isinstance(inner, Struct) or depth > MAX_BASES:
        return None
    for each in inner.body.members:
        if each.name == name:
            return type, each, each.bit_offset
        found = _data_member(each.type, name, depth + 1) if each.name is None else None
        if found is not None:
            _unnamed, member, offset = found
            return (
                type,
                member,
                None if offset is None or each.bit_offset is None else offset + each.bit_offset,
            )
    bases = (_data_member(base.type, name, depth + 1) for base in inner.body.bases)
    return next((found for found in bases if found is not None), None)


# --- What to say of a name that means nothing at a place ----------------------------------------------

MANY, FEW = 10, 4
"""How many names, and how many that lead to the same thing, are shown."""


def hint_for(frame: Frame, node: Name) -> str | None:
    """What to do about a name that is not found."""
    code = frame.code
    if code is not None and not code.file.has_dwarf:
        return f"{code.file.name} has no debugging information"
    others = [each for each in _elsewhere(frame, node) if each != node.text]
    if others:
        return f"say which: {_listed(others, FEW)}"
    ranges = _in_other_blocks(frame, node)
    if ranges:
        return f"it is in scope at {_listed([f'{low:#x} to {high:#x}' for low, high in ranges], FEW)}"
    if frame.place is None:
        return "what a function declares needs a place: an address, or a machine that stands in it"
    known = [each.name for each in frame.variables() if not each.is_shadowed]
    return f"there are {_listed(known, MANY)}" if known else None


def _elsewhere(frame: Frame, node: Name) -> list[str]:
    """How what has the name can be called: with its scopes, or with its file."""
    names = frame.state.names
    if node.file is None:
        return names.candidates(node.parts[-1])
    return [f"{file}::{node.parts[-1]}" for file in names.files_of(node.parts[-1])]


def _in_other_blocks(frame: Frame, node: Name) -> list[tuple[int, int]]:
    """Where other blocks of the function have a variable with the name."""
    if frame.code is None or frame.function is None or len(node.parts) != 1:
        return []
    found = scope_of_name(frame.function, node.parts[0])
    return [(frame.code.in_program(low), frame.code.in_program(high)) for low, high in found]


def _listed(found: list[str], count: int) -> str:
    return ", ".join(found[:count]) + (", ..." if len(found) > count else "")
