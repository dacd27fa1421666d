"""The evaluator of source expressions, which makes objects of trees, for one lane or for many at once.

An object in a location stays there, because ``&x`` and assignments need the location. Numbers are patterns with one
element a lane, and arithmetic on them is C's (`language.arithmetic`). Where lanes need different answers, as in ``c ?
a : b``, the evaluation raises `Diverge`, and the caller evaluates each part of the lanes again.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import evolve, field

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, UsageError, nearest
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Implicit
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import LaneSet, uniform, uniform_flag
from dwarfgpu.program.code.scopes import scope_of_name
from dwarfgpu.program.frames import registers
from dwarfgpu.program.frames.names import NamedEnumerator, NamedFunction, Names
from dwarfgpu.program.frames.variable import PARAMETER, STATIC, Variable
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.arithmetic import Arithmetic, kept_in_space
from dwarfgpu.program.language.operands import (
    DataModel,
    ScalarOperand,
    converted,
    is_integral,
    is_pointer,
    is_true,
    loaded,
)
from dwarfgpu.program.language.tokens import ExpressionError, UnknownName, string_bytes
from dwarfgpu.program.language.type_names import TypeBuilder
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.members import MAX_DEPTH, is_new, member_named, methods_named
from dwarfgpu.program.types.model import byte_size, known_size, number_size, resolved, stripped
from dwarfgpu.program.types.reader import is_cplus
from dwarfgpu.program.values.arrays import definite
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address

if TYPE_CHECKING:
    from collections.abc import Collection

    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.names import Meaning


_LEFT = {
    s.Binary: "left",
    s.Subscript: "operand",
    s.MemberAccess: "operand",
    s.MemberPointerAccess: "operand",
    s.Repeat: "operand",
    s.Assignment: "target",
}
"""The operators that associate to the left, and their first operand, of which trees are as deep as the text is long."""
_WORD = re.compile(r"(?<!^)([A-Z])")
_CODE_TYPE = t.Function(t.Lazy.known(t.VOID), t.Lazy.known(()))
_TEXT = t.Typedef("<text variable, no debug info>", t.Lazy.known(_CODE_TYPE))
_DATA = t.UnspecifiedType("<data variable, no debug info>")
"""The types of what only symbols describe, as GDB calls them."""


@frozen
class Write:
    """An assignment to be made."""

    target: Object
    pattern: b.Bits = field(eq=b.comparable)
    bit_size: int


@frozen
class OfThis:
    """A member of the object that ``this`` points to."""

    this: Variable


class Evaluator:
    """The evaluator of trees in a frame, for some lanes."""

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
            target=target,
        )
        self.compute = Arithmetic(model)
        self.builder = TypeBuilder(
            model, lambda name, keyword: frame.state.part(Names).type(frame, name, keyword), self._space_number
        )
        self.writes: list[Write] = []
        self.notes: list[tuple[str, Object]] = []
        """The convenience variables to be set."""
        self._computed: dict[int, Any] = {}
        """The values of left operands, until their operators take them."""

    def _space_number(self, name: str) -> int | None:
        space = self.frame.target.space_named(name)
        return None if space is None else space.number

    # --- Values and numbers ---------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        """Return the value of a tree: an `Object`, or a `ScalarOperand` where it was computed.

        Left operands are computed first, one operator after the other, so that a long sum needs no deep stack.
        """
        if id(node) in self._computed:
            return self._computed.pop(id(node))
        operators: list[Any] = []
        left = getattr(node, _LEFT.get(type(node), ""), None)
        while type(left) in _LEFT:
            operators.append(left)
            left = getattr(left, _LEFT[type(left)])
        for operator in reversed(operators):
            self._computed[id(operator)] = self._value(operator)
        return self._value(node)

    def _value(self, node: Any) -> Any:
        name = _WORD.sub(r"_\1", type(node).__name__).lower()
        try:
            return getattr(self, f"_{name}")(node)
        except ExpressionError:
            raise
        except UsageError as error:
            raise self.error(node, error.message, hint=error.hint, kind=error.kind) from error

    def object(self, node: Any) -> Object:
        """Return the value of a tree as an object; a computed value is in an implicit location."""
        value = self.value(node)
        return self._placed(value) if isinstance(value, ScalarOperand) else value

    def operand(self, node: Any) -> ScalarOperand:
        """Return the value of a tree as a number."""
        try:
            return self._loaded(self.value(node))
        except ExpressionError:
            raise
        except UsageError as error:
            raise self.error(node, error.message, hint=error.hint, kind=error.kind) from error

    def error(self, node: Any, message: str, *, hint: str | None = None, kind: str = "") -> ExpressionError:
        """Return an error that points at a part of the expression."""
        error = ExpressionError(self.text, node.position, message, hint=hint)
        if kind:
            error.kind = kind
        return error

    def _placed(self, operand: ScalarOperand) -> Object:
        kind = operand.type
        size = 8 * byte_size(kind)
        scalar = scalar_of(kind)
        bits: Any = operand.bits
        if scalar is not None and isinstance(bits, int):
            bits = scalar.stored(bits, self.around.context.target.byte_order)
        return Object(kind, self.around.located(locations.at(Implicit(bits, size))))

    def _loaded(self, value: Any) -> ScalarOperand:
        if isinstance(value, ScalarOperand):
            return value
        value = value.target()
        inner = resolved(value.type)
        if isinstance(inner, t.Function) or (isinstance(inner, t.Array) and not inner.is_vector):
            address = value.address
            if address is None:
                raise UsageError(f"the {_noun(inner)} is not in memory, so it has no address", kind="no_address")
            return ScalarOperand(self.compute.decayed(value.type, address.space), address.value)
        return loaded(value)

    def built(self, node: Any) -> t.Type:
        """Return the type that a tree names."""
        try:
            return self.builder.build(node)
        except UsageError as error:
            name = node
            while not isinstance(name, s.NamedType) and isinstance(getattr(name, "to", None), s.TypeNode):
                name = name.to
            raise self.error(name, error.message, hint=error.hint, kind=error.kind) from error

    def named(self, node: Any) -> Variable | None:
        """Return the variable that a tree names, if it is a name alone."""
        meaning = self.meaning(node) if isinstance(node, s.Name) else None
        return meaning if isinstance(meaning, Variable) else None

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
        meaning = self.meaning(node)
        if isinstance(meaning, Variable):
            return meaning.find(self.lanes)
        if isinstance(meaning, NamedEnumerator):
            return self._enumerator(meaning.enumeration, meaning.die)
        if isinstance(meaning, NamedFunction):
            return self._function(meaning)
        if isinstance(meaning, OfThis):
            return self._of_this(meaning, node)
        kind, address = self._symbol(node)
        if kind is _DATA:
            hint = f"cast it: *(int *) &{node.text}"
            raise self.error(
                node, f"`{node.text[:80]}` is a symbol, whose type is not known", hint=hint, kind="no_type"
            )
        return Object(kind, self.around.memory(Address(None, address)))

    def _symbol(self, node: s.Name) -> tuple[t.Type, int]:
        """Return what an ELF symbol stands for that no debugging information describes."""
        if node.file is None:
            for code in self.frame.state.loaded.codes:
                found = code.symbol(node.text.strip("'"))
                if found is not None:
                    return _TEXT if found[1] else _DATA, found[0]
        raise self._unknown(node)

    def _function(self, meaning: NamedFunction) -> Object:
        address = meaning.code.in_program(meaning.address)
        return Object(self.frame.state.types.of(meaning.die), self.around.memory(Address(None, address)))

    def _of_this(self, member: OfThis, node: s.Name) -> Object:
        whole = member.this.find(self.lanes).dereferenced()
        for name in node.parts[:-1]:
            whole = base_named(whole, name)
        return whole.target().member(node.parts[-1])

    def meaning(self, node: s.Name) -> Meaning | OfThis | None:
        """Return what a name means in the frame, which looks it up once."""
        key = node.parts, node.file
        known = self.frame.meanings.get(key) or self._meaning(node)
        if known is not None:
            self.frame.meanings[key] = known
        return known

    def _meaning(self, node: s.Name) -> Meaning | OfThis | None:
        """Look a name up: first in the blocks, then as a member of ``*this``, then further out."""
        names = self.frame.state.part(Names)
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
            if isinstance(member, OfThis) and has_base(member.this.type, node.parts[:-1]):
                return member
        return outer

    def _member_of_this(self, name: str) -> Variable | OfThis | None:
        """Return the member of ``*this`` with a name, if the frame is that of a method."""
        this = next((variable for variable in self.frame.variables() if variable.name == "this"), None)
        inner = None if this is None else resolved(this.type)
        if this is None or not isinstance(inner, t.Pointer):
            return None
        member = member_named(inner.target, name)
        if isinstance(member, t.StaticMember):
            return Variable(self.frame, member.die, self.frame.code_of(member.die.unit), STATIC)
        return None if member is None else OfThis(this)

    def _enumerator(self, owner: Any, die: Any) -> ScalarOperand:
        kind = self.frame.state.types.of(owner)
        assert isinstance(kind, t.Enumeration)  # noqa: S101 (the entry has that tag)
        value = next((enumerator.value for enumerator in kind.enumerators if enumerator.name == die.name), 0)
        return ScalarOperand(kind, value & (1 << 8 * number_size(kind)) - 1)

    def _unknown(self, node: s.Name) -> ExpressionError:
        scope = node.file if node.file is not None else self.frame.name or "this scope"
        hint = hint_for(self.frame, node)
        error = UnknownName(self.text, node.position, f"no variable `{node.text[:80]}` in {scope}", hint=hint)
        error.kind = "no_name"
        return error

    def check_name(self, tree: Any) -> None:
        """Raise `UnknownName` if a tree is a name alone that means nothing here."""
        if isinstance(tree, s.Name) and self.meaning(tree) is None:
            self._symbol(tree)

    def _register_name(self, node: s.RegisterName) -> Any:
        return registers.value(self, node)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _member_access(self, node: s.MemberAccess) -> Object:
        owner = self.object(node.operand).target()
        if node.is_arrow or isinstance(resolved(owner.type), t.Pointer):
            owner = self._followed(owner)
        *owners, name = node.name
        for base in owners:
            owner = base_named(owner, base)
        owner = owner.target()
        methods = methods_named(owner.type, name) if member_named(owner.type, name) is None else []
        return self._method(methods, node) if methods else owner.member(name)

    def _method(self, methods: list[t.Method], node: s.MemberAccess) -> Object:
        if len(methods) > 1:
            message = f"cannot resolve overloaded method `{methods[0].name}': no arguments supplied"
            hint = f"name it with its class and the types of its parameters: 'CLASS::{methods[0].name}(int)'"
            raise self.error(node, message, hint=hint, kind="overloaded")
        meaning = self.frame.state.part(Names).method(methods[0])
        if meaning is None:
            raise self.error(node, f"the member function {methods[0].name} has no code", kind="no_code")
        return self._function(meaning)

    def _member_pointer_access(self, node: s.MemberPointerAccess) -> Object:
        owner = self.object(node.operand).target()
        owner = self._followed(owner) if node.is_arrow else owner
        return owner.through(self.object(node.pointer).target())

    def _subscript(self, node: s.Subscript) -> Object:
        operand = self.value(node.operand)
        index = self.operand(node.index)
        if not (is_integral(index.type) or is_pointer(index.type)):
            raise self.error(node, 'Non-integral right operand for "[]" operator', kind="bad_index")
        if isinstance(operand, Object):
            operand = operand.target()
            if not isinstance(resolved(operand.type), t.Pointer):
                return self._element(operand, index, node)
            if operand.implied() is not None:
                return operand.element(self._whole(node.index, index, "an index"))
        elif is_pointer(index.type):  # 3[p]
            return self._pointed(self.compute.binary("+", index, operand))
        return self._pointed(self.compute.binary("+", self._loaded(operand), index))

    def _whole(self, node: Any, operand: ScalarOperand, noun: str) -> int:
        number = evolve(operand, bits=uniform(operand.bits)).number()
        if not isinstance(number, float):
            return int(number)
        raise self.error(node, f"{noun} must be an integer, and {number} has a type of floats", kind="bad_operand")

    def _element(self, owner: Object, index: ScalarOperand, node: s.Subscript) -> Object:
        """Return an element.

        An index that differs between lanes needs an address, else each lane is evaluated alone.
        """
        if isinstance(resolved(index.type), t.Pointer):
            return self._pointed(self.compute.binary("+", self._loaded(owner), index))
        if not isinstance(index.bits, int) and not b.all_of(index.bits == index.bits[0]):
            elements = owner.array()
            address = elements.place.address
            if address is not None and elements.state is None and elements.stride % 8 == 0:
                mask = (1 << 8 * self.compute.model.pointer_size) - 1
                count = converted(index, self.compute.model.base("long")).bits
                count = b.sub(count, elements.lower & mask, mask)
                moved = b.add(address.value, b.mul(count, elements.stride // 8 & mask, mask), mask)
                return Object(elements.element, self.around.memory(Address(address.space, moved)))
        return owner.element(self._whole(node.index, index, "an index"))

    def _followed(self, pointer: Object) -> Object:
        """Return the target of a pointer, also of an implicit pointer, which has no number."""
        if isinstance(resolved(pointer.type), t.Pointer):
            return pointer.dereferenced()
        return self._pointed(self._loaded(pointer))

    def _pointed(self, pointer: ScalarOperand) -> Object:
        inner = resolved(pointer.type)
        if not isinstance(inner, t.Pointer):
            message = f"a value of the type {safe_text(pointer.type)} is not a pointer"
            raise UsageError(message, kind="not_a_pointer")
        return self._placed(pointer).dereferenced()

    # --- Operators ------------------------------------------------------------------------------------------------

    def _unary(self, node: s.Unary) -> Any:
        if node.operator == "*":
            target = self.value(node.operand)
            if isinstance(target, Object):
                target = target.target()
                inner = resolved(target.type)
                return target if isinstance(inner, t.Function) else self._followed(target)
            return self._pointed(target)
        if node.operator == "&":
            return self._address(node)
        return self.compute.unary(node.operator, self.operand(node.operand))

    def _address(self, node: s.Unary) -> ScalarOperand:
        pointer = address_of(self, node.operand) if isinstance(node.operand, s.Name) else None
        if pointer is not None:
            return pointer
        if isinstance(node.operand, s.Name) and self.meaning(node.operand) is None:
            kind, symbol_address = self._symbol(node.operand)
            return ScalarOperand(self.compute.model.pointer_to(kind), symbol_address)
        target = self.value(node.operand)
        if isinstance(target, ScalarOperand):
            raise self.error(node, "a computed value has no address", kind="no_address")
        target = definite(target.target())
        address = target.address
        if address is None:
            what = "a bit-field" if target.bit_size is not None else "an object that is not in memory"
            hint = "show where it is with the option `location`"
            raise self.error(node, f"{what} has no address", hint=hint, kind="no_address")
        pointer_type = self.compute.model.pointer_to(target.type, address.space)
        # `&a[n]` may be beyond the last address, as `a + n` may.
        return ScalarOperand(pointer_type, b.resized(address.value, 8 * byte_size(pointer_type)))

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
        value = self.value(node.operand)
        if isinstance(stripped(kind), t.Struct) or isinstance(inner, t.Array):
            if isinstance(value, Object) and byte_size(value.target().type) >= byte_size(kind):
                return Object(kind, value.target().place)
            raise self.error(node, f"a value cannot be cast to {safe_text(kind)}", kind="type_mismatch")
        if isinstance(inner, t.Pointer) and inner.is_reference and isinstance(value, Object):
            return seen_as(value.target(), inner.target)
        operand = self._loaded(value)
        source = resolved(operand.type)
        if isinstance(inner, t.Pointer) and isinstance(source, t.Pointer):
            if inner.address_space is None:
                # an address stays in its space
                kind = inner = kept_in_space(inner, source)
            operand = self._of_class(operand, source.target, inner.target)
        if inner == t.VOID:
            return ScalarOperand(self.compute.model.base("int"), 0)
        if isinstance(inner, t.Pointer) and inner.is_reference:
            return self._pointed(self.compute.cast(operand, evolve(inner, sign="*")))
        return self.compute.cast(operand, kind)

    def _of_class(self, operand: ScalarOperand, source: t.Type, target: t.Type) -> ScalarOperand:
        """Convert a pointer between a class and a base of it; a null pointer stays as it is."""
        if not (isinstance(stripped(source), t.Struct) and isinstance(stripped(target), t.Struct)):
            return operand
        if not uniform_flag(is_true(operand)):
            return operand
        moved = class_moved(self._pointed(operand), target)
        return operand if moved is None else evolve(operand, bits=b.resized(moved, operand.scalar.bits))

    def _size_of(self, node: s.SizeOf) -> ScalarOperand:
        if isinstance(node.operand, s.TypeNode):
            return self.compute.size(self.built(node.operand))
        kind = self.type_of(node.operand)
        if known_size(kind) is None:  # an array has the bounds that it has now
            kind = definite(self.object(node.operand).target()).type
        return self.compute.size(kind)

    def type_of(self, node: Any) -> t.Type:
        """Return the type of a tree. A variable needs no location for it."""
        variable = self.named(node)
        if variable is not None:
            kind = variable.type
            inner = resolved(kind)
            return inner.target if isinstance(inner, t.Pointer) and inner.is_reference else kind
        value = self.value(node)
        return value.type if isinstance(value, ScalarOperand) else value.target().type

    def _repeat(self, node: s.Repeat) -> Object:
        if isinstance(node.count, s.Name) and node.count.parts == ("entry",):
            return self._at_entry(node)
        first = self.value(node.operand)
        if isinstance(first, ScalarOperand):
            message = "a computed value has no address, which @ needs"
            raise self.error(node, message, hint="write *p@8", kind="no_address")
        first = definite(first.target())
        count = self.operand(node.count)
        if not is_integral(count.type):
            raise self.error(node, 'Non-integral right operand for "@" operator', kind="bad_index")
        number = self._whole(node.count, count, "a count")
        return Object(self.compute.repeated(first.type, number), first.place)

    def _at_entry(self, node: s.Repeat) -> Object:
        """Return ``x@entry``: the value of a parameter when the function was called, as GDB writes it."""
        parameter = self.named(node.operand)
        if parameter is not None and parameter.kind != PARAMETER:  # a variable of a block has its name
            same = (variable for variable in parameter.frame.variables() if variable.name == parameter.name)
            parameter = next((variable for variable in same if variable.kind == PARAMETER), None)
        if parameter is None:
            raise self.error(node, "only a parameter has a value at entry", kind="no_name")
        return self._placed(parameter.at_entry(self.lanes))

    def _at(self, node: s.At) -> Object:
        kind = self.built(node.type)
        address = self.operand(node.address)
        inner = resolved(address.type)
        space = inner.address_space if isinstance(inner, t.Pointer) else None
        return Object(kind, self.around.memory(Address(space, address.bits)))

    def _in_space(self, node: s.InSpace) -> ScalarOperand:
        number = self._space_number(node.space)
        if number is None:
            names = (space.name for space in self.frame.target.address_spaces)
            known = ", ".join(name for name in names if not name[-1].isdigit())
            message = f"Address space {node.space[:80]} not recognised by the architecture"
            raise self.error(node, message, hint=f"it has {known}", kind="no_address_space")
        return self.compute.address_in(self.operand(node.address), number)

    def _call(self, node: s.Call) -> Any:
        if isinstance(node.function, s.TypeNode) and len(node.arguments) == 1:
            return self._cast(s.Cast(node.position, node.function, node.arguments[0]))
        raise self.error(node, "function calls are not supported", kind="unsupported")

    # --- Assignment -----------------------------------------------------------------------------------------------

    def _assignment(self, node: s.Assignment) -> Any:
        if isinstance(node.target, s.RegisterName) and registers.may_set(self, node.target.name):
            return registers.note(self, node, node.target.name)
        target = None
        if isinstance(node.target, s.RegisterName):
            target = registers.counter_place(self, node.target.name)
        if target is None:
            target = self.value(node.target)
        if isinstance(target, ScalarOperand):
            message = "the left side of an assignment must be a variable, a register or memory"
            raise self.error(node, message, kind="not_writable")
        before = operand = self.operand(node.value)
        if node.operator:
            before = self._loaded(target)
            operand = self.compute.binary(node.operator, before, operand)
        after = self.assign(target, operand)
        return before if node.is_postfix else after

    def assign(self, target: Object, operand: ScalarOperand) -> ScalarOperand:
        """Note an assignment, to be made when everything has been evaluated; return the value of its target."""
        target = target.target()
        scalar = target.scalar
        if scalar is None:
            message = f"a value of the type {safe_text(target.type)} cannot be assigned as a whole"
            raise UsageError(message, hint="assign its members or elements", kind="not_a_scalar")
        kind = target.type
        value = self.compute.assigned(operand, kind)
        bits = value.bits
        if target.bit_size is not None:
            bits = b.resized(bits, target.bit_size)
        order = self.around.context.target.byte_order
        if isinstance(bits, int):
            stored: b.Bits = scalar.stored(bits, order)
        else:
            stored = b.array([scalar.stored(int(number), order) for number in bits.tolist()], scalar.storage_bits)
        self.writes.append(Write(target, stored, scalar.storage_bits))
        return value


def _noun(type: t.Type) -> str:
    return "function" if isinstance(type, t.Function) else "array"


# --- Members and bases of classes ---------------------------------------------------------------------------------


def base_named(owner: Object, name: str) -> Object:
    """Return the part of an object that is a base class."""
    inner = stripped(owner.type)
    if not isinstance(inner, t.Struct):
        raise UsageError(f"the type {safe_text(owner.type)} has no bases", kind="no_member")
    if inner.name is not None and inner.name.rpartition("::")[2] == name:
        return owner
    for base in inner.body.bases:
        own = stripped(base.type).name or ""
        if own == name or own.rpartition("::")[2] == name:
            return owner.base(base)
    raise UsageError(f"{safe_text(owner.type)} has no base {name}", kind="no_member")


def has_base(pointer: t.Type, names: tuple[str, ...]) -> bool:
    """Return whether a chain of names leads from the class that a pointer points to down its bases."""
    kind = stripped(pointer)
    target = kind.target if isinstance(kind, t.Referring) else None
    for name in names:
        inner = None if target is None else stripped(target)
        if not isinstance(inner, t.Struct):
            return False
        if (inner.name or "").rpartition("::")[2] == name:
            continue
        named = {(stripped(base.type).name or "").rpartition("::")[2]: base for base in inner.body.bases}
        if name not in named:
            return False
        target = named[name].type
    return True


def seen_as(owner: Object, type: t.Type) -> Object:
    """Return an object as one of another type: its base of that name, or an object in the same place."""
    wanted = stripped(type).name
    part = None if wanted is None else _part(owner, wanted, 0, set())
    return Object(type, owner.place, container=owner.container) if part is None else part


def class_moved(owner: Object, type: t.Type) -> b.Bits | None:
    """Return the address of an object converted to a pointer to a base, or to a class derived from it.

    None where neither class is a base of the other, and the address stays as it is.
    """
    name, wanted = stripped(owner.type).name, stripped(type).name
    address = owner.address
    if name is None or wanted is None or name == wanted or address is None:
        return None
    part = _part(owner, wanted, 0, set())
    if part is not None:
        moved = part.address
        return None if moved is None else moved.value
    part = _part(Object(type, owner.place), name, 0, set())
    moved = None if part is None else part.address
    if moved is None:
        return None
    mask = (1 << 64) - 1
    return b.sub(address.value, b.sub(moved.value, address.value, mask), mask)


def _part(owner: Object, name: str, depth: int, seen: set[object]) -> Object | None:
    inner = stripped(owner.type)
    if not isinstance(inner, t.Struct) or depth > MAX_DEPTH or not is_new(inner, seen):
        return None
    if inner.name == name:
        return owner
    return next(filter(None, (_part(owner.base(base), name, depth + 1, seen) for base in inner.body.bases)), None)


# --- Pointers to members ------------------------------------------------------------------------------------------


def address_of(evaluator: Evaluator, name: s.Name) -> ScalarOperand | None:
    """Return the pointer to a member that ``&`` of a name gives; None for a name that has an address."""
    *scopes, last = name.parts
    if name.file is not None or not scopes:
        return None
    frame, size = evaluator.frame, evaluator.compute.model.pointer_size
    named = frame.state.part(Names).type(frame, "::".join(scopes))
    owner = None if named is None else stripped(named)
    if not isinstance(owner, t.Struct):
        return None
    meaning = evaluator.meaning(name)
    if isinstance(meaning, Variable):
        return None
    if isinstance(meaning, NamedFunction):
        same = [method for method in owner.body.methods if method.name == last]
        if not same or any(method.is_static or method.is_virtual for method in same):
            return None  # a function as any other; a virtual one depends on the class of the object
        method = t.Lazy.known(frame.state.types.of(meaning.die))
        kind = t.MemberPointer(method, t.Lazy.known(owner), 2 * size)  # with what is added to `this`, which is 0
        return ScalarOperand(kind, meaning.code.in_program(meaning.address))
    data_member = _data_member(owner, last, 0, set())
    if data_member is None:
        return None
    whole, member, offset = data_member
    if member.bit_size is not None:
        raise UsageError("a bit-field has no address", kind="no_address")
    if offset is None:
        raise UsageError("a member with a computed place has no constant offset", kind="no_address")
    return ScalarOperand(t.MemberPointer(member.to, t.Lazy.known(whole), size), offset // 8)


def _data_member(type: t.Type, name: str, depth: int, seen: set[object]) -> tuple[t.Type, t.Member, int | None] | None:
    """Return a data member by name: the class or base that has it, the member, and its bit offset in that."""
    inner = stripped(type)
    if not isinstance(inner, t.Struct) or depth > MAX_DEPTH or not is_new(inner, seen):
        return None
    for candidate in inner.body.members:
        if candidate.name == name:
            return type, candidate, candidate.bit_offset
        is_unnamed = candidate.name is None
        inner_member = _data_member(candidate.type, name, depth + 1, seen) if is_unnamed else None
        if inner_member is not None:
            _unnamed, member, offset = inner_member
            return (
                type,
                member,
                None if offset is None or candidate.bit_offset is None else offset + candidate.bit_offset,
            )
    return next(filter(None, (_data_member(base.type, name, depth + 1, seen) for base in inner.body.bases)), None)


# --- Hints for unknown names --------------------------------------------------------------------------------------

MANY, FEW = 10, 4
"""How many names, and how many of them for the same thing, are shown."""


def hint_for(frame: Frame, node: s.Name) -> str | None:
    """Return what to do about a name that is not found."""
    code = frame.code
    if code is not None and not code.file.has_dwarf:
        return f"{code.file.name} has no debugging information"
    others = [candidate for candidate in _elsewhere(frame, node) if candidate != node.text]
    if others:
        return f"did you mean {_listed(others, FEW)}?"
    ranges = _in_other_blocks(frame, node)
    if ranges:
        return f"it is in scope at {_listed([f'{low:#x} to {high:#x}' for low, high in ranges], FEW)}"
    if frame.place is None:
        return nearly(frame, node.text) or "locals need a frame: give an address, or attach a state"
    known = [variable.name for variable in frame.variables() if not variable.is_shadowed]
    near = nearest(node.text, known)
    if near is not None:
        return f"did you mean {near}?"
    here = f"there are {_listed(known, MANY)}" if known else None
    return " ".join(filter(None, (nearly(frame, node.text), here))) or None


def nearly(frame: Frame, name: str, kinds: Collection[str] = ()) -> str | None:
    """Return the hint of a name that the file of the frame nearly has; without a frame the first files are asked."""
    from dwarfgpu.program.code.completion_index import did_you_mean

    codes = islice(frame.state.loaded.codes, FEW) if frame.code is None else (frame.code,)
    return did_you_mean([code.file for code in codes], name, kinds)


def _elsewhere(frame: Frame, node: s.Name) -> list[str]:
    """Return the names by which variables of other scopes or files are reached."""
    names = frame.state.part(Names)
    if node.file is None:
        return names.candidates(node.parts[-1])
    return [f"{file}::{node.parts[-1]}" for file in names.files_of(node.parts[-1])]


def _in_other_blocks(frame: Frame, node: s.Name) -> list[tuple[int, int]]:
    """Return the addresses at which other blocks of the function have a variable with the name."""
    if frame.code is None or frame.function is None or len(node.parts) != 1:
        return []
    ranges = scope_of_name(frame.function, node.parts[0])
    return [(frame.code.in_program(low), frame.code.in_program(high)) for low, high in ranges]


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names[:count]) + (", ..." if len(names) > count else "")
