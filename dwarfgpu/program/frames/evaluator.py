"""The evaluator of source expressions, which makes objects of trees, for one lane or for many at once.

An object in a location stays there, because ``&x`` and assignments need the location. Numbers are patterns with one
element a lane, and arithmetic on them is C's (`language.arithmetic`). Where lanes need different answers, as in ``c ?
a : b``, the evaluation raises `Diverge`, and the caller evaluates each part of the lanes again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError, nearest
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Implicit, Register
from dwarfgpu.immutable import evolve, field, fields, frozen, has
from dwarfgpu.lanes import Group, LaneSet, each_part, uniform, uniform_flag
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.code.scopes import names_within, scope_of_name
from dwarfgpu.program.frames.answers import Quantity, location_of, store
from dwarfgpu.program.frames.history import NOTHING, READ_ONLY, Remembered
from dwarfgpu.program.frames.names import NamedEnumerator, NamedFunction, Names, variable_called
from dwarfgpu.program.frames.reasons import LAUNCH_UNKNOWN, UNDEFINED_RULE, Unavailable, lost_register, unavailable
from dwarfgpu.program.frames.registers import part_of, type_of
from dwarfgpu.program.frames.variable import PARAMETER, STATIC, Variable
from dwarfgpu.program.frames.wave_positions import waves_of
from dwarfgpu.program.frames.work_items import FUNCTIONS, VARIABLES, WorkItemNumbers
from dwarfgpu.program.language import arithmetic as c
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.arithmetic import Arithmetic, DataModel, ScalarOperand, string_bytes
from dwarfgpu.program.language.parser import TypeBuilder, parse, parse_type
from dwarfgpu.program.language.tokens import ExpressionError, UnknownName
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import byte_size, known_size, number_size, resolved, stripped
from dwarfgpu.program.types.reader import is_cplus
from dwarfgpu.program.values.objects import Object, definite, section
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.launch_record import LaunchArgument
    from dwarfgpu.program.frames.names import Meaning
    from dwarfgpu.targets.target import TargetRegister


_LEFT = {
    s.Binary: "left",
    s.Subscript: "operand",
    s.ArrayPart: "operand",
    s.MemberAccess: "operand",
    s.MemberPointerAccess: "operand",
    s.Repeat: "operand",
    s.Assignment: "target",
}
"""The operators that associate to the left, and their first operand, of which trees are as deep as the text is long."""
_INTEGERS = {8: "signed char", 16: "short", 32: "int", 64: "long", 128: "unsigned __int128"}
_STACK = ("sp", "fp", "rsp", "rbp")
_NUMBERED = re.compile(r"(?:s|ttmp)\d+")
"""General registers; what the others of a wave hold are bits and addresses, and no signed numbers."""
_LANE = ("lane", "_lane")
_WAVE = ("wave", "_wave")
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
        """Return the value of a tree; long chains of left operands are computed in a loop, not on a deep stack."""
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
        try:
            return self._methods[type(node)](self, node)
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
        return c.loaded(value)

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
            return self._found(meaning, node)
        if isinstance(meaning, NamedEnumerator):
            return self._enumerator(meaning.enumeration, meaning.die)
        if isinstance(meaning, NamedFunction):
            return self._function(meaning)
        if isinstance(meaning, OfThis):
            whole = meaning.this.find(self.lanes).dereferenced()
            for name in node.parts[:-1]:
                whole = base_named(whole, name)
            return whole.target().member(node.parts[-1])
        if isinstance(meaning, WorkItemNumbers):
            numbers = [self._number(meaning, axis, "unsigned int") for axis in range(3)]
            return self.compute.packed(numbers[0].type, numbers)
        kind, address = self._symbol(node)
        if kind is _DATA:
            hint = f"cast it: *(int *) &{node.text}"
            raise self.error(
                node, f"`{node.text[:80]}` is a symbol, whose type is not known", hint=hint, kind="no_type"
            )
        return Object(kind, self.around.memory(Address(None, address)))

    def _found(self, variable: Variable, node: s.Name) -> Object:
        """Return a variable as an object; the reason why a part of an expression has no value names the part."""
        try:
            return variable.find(self.lanes)
        except Unavailable as error:
            if node.text == self.text.strip():
                raise
            raise Unavailable(evolve(error.reason, message=f"{node.text}: {error.reason.message}")) from error

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

    def meaning(self, node: s.Name) -> Meaning | OfThis | WorkItemNumbers | None:
        """Return what a name means in the frame, which looks it up once."""
        key = node.parts, node.file
        known = self.frame.meanings.get(key) or self._meaning(node)
        if known is not None:
            self.frame.meanings[key] = known
        return known

    def _meaning(self, node: s.Name) -> Meaning | OfThis | WorkItemNumbers | None:
        """Look a name up: first in the blocks, then as a member of ``*this``, then further out."""
        names = self.frame.state.part(Names)
        if node.file is None and len(node.parts) == 1:
            local = names.local(self.frame, node.parts[0])
            if local is not None:
                return local
            member = self._member_of_this(node.parts[0])
            if member is not None:
                return member
            if node.text in VARIABLES and self.frame.has_lanes:  # HIP's headers declare objects of these names
                return WorkItemNumbers(node.text)
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
        member = t.member_named(inner.target, name)
        if isinstance(member, t.StaticMember):
            return Variable(self.frame, member.die, self.frame.code_of(member.die.unit), STATIC)
        return None if member is None else OfThis(this)

    def _number(self, meaning: WorkItemNumbers, axis: int, kind: str) -> ScalarOperand:
        stopped = None if self.frame.stack is None else self.frame.stack.stopped
        return ScalarOperand(self.compute.model.base(kind), meaning.along(axis, stopped, self.lanes))

    def _enumerator(self, owner: Any, die: Any) -> ScalarOperand:
        kind = self.frame.state.types.of(owner)
        assert isinstance(kind, t.Enumeration)  # noqa: S101 (the entry has that tag)
        value = next((enumerator.value for enumerator in kind.enumerators if enumerator.name == die.name), 0)
        return ScalarOperand(kind, value & (1 << 8 * number_size(kind)) - 1)

    def _unknown(self, node: s.Name) -> ExpressionError:
        scope = node.file if node.file is not None else self.frame.name or "this scope"
        hint = hint_for(self.frame, node)
        if node.text.isupper() and self.frame.unit is not None and not self.frame.has_macros:
            macro = f"if {node.text[:80]} is a macro, compile with -fdebug-macro (GCC: -g3)"
            hint = macro if hint is None else f"{hint}; {macro}"
        message = f"no variable `{node.text[:80]}` in {scope}{_ended_text(self.frame)}"
        error = UnknownName(self.text, node.position, message, hint=hint)
        error.kind = "no_name"
        return error

    def check_name(self, tree: Any) -> None:
        """Raise `UnknownName` if a tree is a name alone that means nothing here."""
        if isinstance(tree, s.Name) and self.meaning(tree) is None:
            self._symbol(tree)

    # --- Names with a dollar --------------------------------------------------------------------------------------

    def _dollar(self, name: str) -> Any:
        """Return the value of ``$name``: a register as an object, or a number; None if nothing has that name."""
        frame, lanes = self.frame, self.lanes
        model = self.compute.model
        if name in _LANE and frame.has_lanes:
            if lanes.lane is None:
                raise UsageError(
                    "$lane needs a lane", hint="select a lane, on the command line with --lane", kind="no_lane"
                )
            return ScalarOperand(model.base("int"), lanes.lane)
        if name in _WAVE and frame.stack is not None and lanes.wave is not None:
            return ScalarOperand(model.base("int"), lanes.wave + 1)  # as users number waves
        register = self._register(name)
        part = part_of(frame.target, name) if register is None else None
        if part is not None:
            register = self._register(part[0])
        counter = frame.target.program_counter
        if frame.pc is not None and (name == "pc" or (register is not None and register.number == counter)):
            code = t.Function(t.Lazy.known(t.VOID), t.Lazy.known(()), is_prototyped=model.is_cplus)
            return ScalarOperand(model.pointer_to(code), frame.pc)
        if register is None:
            return None
        location = self._register_location(register)
        kind = self._register_type(register)
        if not frame.has_lanes and name in _STACK:
            kind = model.pointer_to(t.VOID)
        place = self.around.located(location)
        if part is not None:
            return Object(part[1], place.moved(part[2]))
        if kind is None:
            raise unavailable(
                UNDEFINED_RULE, f"{register.name} has {register.bit_size} bits, and no type has that size"
            )
        return Object(kind, place)

    def _register_location(self, register: TargetRegister) -> locations.Location:
        """Return where a register of the frame is; one without a DWARF number is known of the innermost frame alone."""
        lanes, activation = self.lanes, self.frame.activation
        info = self.around.context.frame
        if info is not None and register.number >= 0:
            return info.register(register.number, lanes)
        if info is None or activation is None:
            raise UsageError("no frame is selected, so there are no registers", kind="no_frame")
        if activation.level:
            message = f"{register.name} has no DWARF number, so call frame information does not keep it for a caller"
            raise unavailable(UNDEFINED_RULE, message)
        return locations.at(Register(register, activation.thread.wave if lanes.wave is None else lanes.wave))

    def _counter_place(self, name: str) -> Object | None:
        """Return the program counter as an object that can be assigned to; None if a name is of something else."""
        frame, counter = self.frame, self.frame.target.program_counter
        register = self._register("pc" if name == "pc" and counter is None else name)
        if name == "pc" and counter is not None:
            register = frame.target.register(counter)
        if register is None or register.number != counter or frame.pc is None:
            return None
        model = self.compute.model
        kind = model.base("unsigned long" if register.bit_size == 64 else "unsigned int")
        return Object(kind, self.around.located(self._register_location(register)))

    def _knows(self, name: str) -> bool:
        """Return whether ``$name`` is a register of the target, or a number such as ``$lane``."""
        is_part = part_of(self.frame.target, name) is not None
        return is_part or name in (*_LANE, *_WAVE, "pc") or self._register(name) is not None

    def lost(self, name: str) -> Unavailable | None:
        """Return why a register has no value in a frame, if its callee did not keep it."""
        register, activation = self._register(name), self.frame.activation
        if register is None or activation is None:
            return None
        return lost_register(activation, register.number, self.lanes)

    def _register(self, name: str) -> TargetRegister | None:
        target = self.frame.target
        machine: Any = self.frame.backend
        find = getattr(machine, "register_named", None) or target.register_named
        lower = name.lower()
        register: TargetRegister | None = find(lower)
        if register is None and lower in ("sp", "fp") and target.stack_pointer is not None:
            numbers = {"sp": target.stack_pointer, "fp": 6 if target.name.startswith("x86") else None}
            number = numbers[lower]
            register = None if number is None else target.register(number)
        return register or target.unnumbered_register(lower)

    def _register_type(self, register: TargetRegister) -> t.Type | None:
        model = self.compute.model
        known = type_of(self.frame.target, register.name)
        if known is not None:
            return known
        if self.frame.has_lanes and not register.lane_bits and not _NUMBERED.fullmatch(register.name):
            return model.base({32: "unsigned int", 64: "unsigned long"}.get(register.bit_size, "unsigned int"))
        unit = register.lane_bits or register.bit_size
        element: t.Type | None = None
        if unit in _INTEGERS:
            element = model.base(_INTEGERS[unit])
        elif unit % 8 == 0:
            element = t.Array(t.Lazy.known(model.base("unsigned char")), (t.Dimension(0, count=unit // 8),))
        if element is None or not register.lane_bits:
            return element
        count = register.bit_size // register.lane_bits
        return t.Array(t.Lazy.known(element), (t.Dimension(0, count=count),))

    def _register_name(self, node: s.RegisterName) -> Any:
        """Return what a name means: in this order a value of the history, a register, a convenience variable."""
        remembered = self.frame.state.remembered
        kept = None if remembered is None else remembered.of_history(node.name, self)
        operand = self._dollar(node.name) if kept is None else kept.of(self.around)
        if operand is None and remembered is not None:
            operand = self._convenience(remembered, node.name)
        if operand is None:
            hint = "registers are named as the target names them, such as $pc, $exec or $v4"
            error = UnknownName(self.text, node.position, f"there is no register ${node.name[:80]}", hint=hint)
            error.kind = "no_register"
            raise error
        return operand

    def _may_set(self, name: str) -> bool:
        """Return whether a convenience variable has or can get this name."""
        remembered = self.frame.state.remembered
        return remembered is not None and remembered.may_set(name) and not self._knows(name)

    def _note(self, node: s.Assignment, name: str) -> Object:
        """Note that a convenience variable is to be set, to a value of any type."""
        if node.operator:
            result = self.object(s.Binary(node.position, node.operator, node.target, node.value))
        else:
            result = self.object(node.value).target()
        self.notes.append((name, result))
        return self.object(node.target) if node.is_postfix else result

    def _convenience(self, remembered: Remembered, name: str) -> Object | ScalarOperand:
        """Return what ``$foo`` is, without the dollar; a variable that has not been set is void."""
        kept = remembered.variable(name, self)
        if kept is not None:
            return kept.of(self.around)
        selected = remembered.computed().get(name) if name in READ_ONLY else None
        if isinstance(selected, str):
            return self.object(s.StringLiteral(0, selected, ""))
        if selected is not None:
            return ScalarOperand(self.compute.model.base("int"), selected)
        return NOTHING.of(self.around)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _member_access(self, node: s.MemberAccess) -> Object:
        owner = self.object(node.operand).target()
        if node.is_arrow or isinstance(resolved(owner.type), t.Pointer):
            owner = self._followed(owner)
        *owners, name = node.name
        for base in owners:
            owner = base_named(owner, base)
        owner = owner.target()
        methods = t.methods_named(owner.type, name) if t.member_named(owner.type, name) is None else []
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

    def _subscript(self, node: s.Subscript) -> Any:
        operand = self.value(node.operand)
        index = self.operand(node.index)
        if not (c.is_integral(index.type) or c.is_pointer(index.type)):
            raise self.error(node, 'Non-integral right operand for "[]" operator', kind="bad_index")
        if isinstance(operand, Object):
            operand = operand.target()
            if not isinstance(resolved(operand.type), t.Pointer):
                return self._element(operand, index, node)
            if operand.implied() is not None:
                return operand.element(self._whole(node.index, index, "an index"))
        elif c.is_pointer(index.type):  # 3[p]
            return self._pointed(self.compute.binary("+", index, operand))
        elif elements := self.compute.elements(operand):
            number = self._whole(node.index, index, "an index")
            if 0 <= number < len(elements):
                return elements[number]
            raise self.error(node, f"the vector has no element {number}", kind="bad_index")
        return self._pointed(self.compute.binary("+", self._loaded(operand), index))

    def _section(self, node: s.ArrayPart) -> Object:
        operand = self.value(node.operand)
        if not isinstance(operand, Object):
            raise self.error(node, "only an array has sections", kind="no_elements")

        def number(part: s.SyntaxNode | None) -> int | None:
            return None if part is None else self._whole(part, self.operand(part), "an index")

        parts = [
            (number(part[0]), number(part[1])) if isinstance(part, tuple) else number(part) or 0 for part in node.parts
        ]
        return section(operand.target(), parts)

    def _whole(self, node: Any, operand: ScalarOperand, noun: str) -> int:
        number = evolve(operand, bits=uniform(operand.bits)).number()
        if not isinstance(number, float):
            return int(number)
        raise self.error(node, f"{noun} must be an integer, and {number} has a type of floats", kind="bad_operand")

    def _element(self, owner: Object, index: ScalarOperand, node: s.Subscript) -> Object:
        """Return an element; an index that differs between lanes needs an address, or each lane is evaluated alone."""
        if isinstance(resolved(index.type), t.Pointer):
            return self._pointed(self.compute.binary("+", self._loaded(owner), index))
        if not isinstance(index.bits, int) and not b.all_of(index.bits == index.bits[0]):
            elements = owner.array()
            address = elements.place.address
            if address is not None and elements.state is None and elements.stride % 8 == 0:
                mask = (1 << 8 * self.compute.model.pointer_size) - 1
                count = c.converted(index, self.compute.model.base("long")).bits
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
            raise UsageError(f"a value of the type {safe_text(pointer.type)} is not a pointer", kind="not_a_pointer")
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
            if uniform_flag(c.is_true(left)) is (node.operator == "||"):
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
        chosen = node.yes if uniform_flag(c.is_true(self.operand(node.condition))) else node.no
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
            if inner.address_space is None and source.address_space is not None:
                # an address stays in its space
                kind = inner = c.kept_in_space(inner, source)
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
        if not uniform_flag(c.is_true(operand)):
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
            parameter = self.named(node.operand)
            if parameter is not None and parameter.kind != PARAMETER:  # a variable of a block has its name
                same = (variable for variable in parameter.frame.variables() if variable.name == parameter.name)
                parameter = next((variable for variable in same if variable.kind == PARAMETER), None)
            if parameter is None:
                raise self.error(node, "only a parameter has a value at entry", kind="no_name")
            return self._placed(parameter.at_entry(self.lanes))
        first = self.value(node.operand)
        if isinstance(first, ScalarOperand):
            message = "a computed value has no address, which @ needs"
            raise self.error(node, message, hint="write *p@8", kind="no_address")
        first = definite(first.target())
        count = self.operand(node.count)
        if not c.is_integral(count.type):
            raise self.error(node, 'Non-integral right operand for "@" operator', kind="bad_index")
        number = self._whole(node.count, count, "a count")
        return Object(self.compute.repeated(first.type, number), first.place)

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
        if isinstance(node.function, s.RegisterName) and node.function.name == ARGUMENT:
            return self._launched(node)
        name = node.function.text if isinstance(node.function, s.Name) and self.frame.has_lanes else ""
        if name in FUNCTIONS and len(node.arguments) == 1:
            axis = uniform(self.operand(node.arguments[0]).bits)
            return self._number(WorkItemNumbers(name), axis, "unsigned long")
        hint = "a NaN differs from itself: x != x" if name == "isnan" else None
        raise self.error(node, "function calls are not supported", kind="unsupported", hint=hint)

    def _launched(self, node: s.Call) -> Object:
        """Return ``$_arg("n")`` or ``$_arg(0)``: what the kernel was launched with."""
        argument = launch_argument(self, node)
        found = argument.object_in(self.around)
        if found is None:
            why = "its place in memory is not known" if argument.why is None else argument.why.message
            message = f"what {argument.name} was at the launch is not known: {why}"
            raise unavailable(LAUNCH_UNKNOWN, message, error=argument.why)
        return found

    # --- Assignment -----------------------------------------------------------------------------------------------

    def _assignment(self, node: s.Assignment) -> Any:
        if isinstance(node.target, s.RegisterName) and self._may_set(node.target.name):
            return self._note(node, node.target.name)
        target = None
        if isinstance(node.target, s.RegisterName):
            target = self._counter_place(node.target.name)
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
            location_of(target)  # without one, its elements cannot be assigned either
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

    _methods: ClassVar[Mapping[type, Callable[[Evaluator, Any], Any]]] = {
        **dict.fromkeys((s.Integer, s.Float, s.Character, s.Boolean, s.Null), _integer),
        s.StringLiteral: _string_literal,
        s.Name: _name,
        s.RegisterName: _register_name,
        s.MemberAccess: _member_access,
        s.MemberPointerAccess: _member_pointer_access,
        s.Subscript: _subscript,
        s.ArrayPart: _section,
        s.Unary: _unary,
        s.Binary: _binary,
        s.Conditional: _conditional,
        s.Cast: _cast,
        s.SizeOf: _size_of,
        s.Repeat: _repeat,
        s.At: _at,
        s.InSpace: _in_space,
        s.Call: _call,
        s.Assignment: _assignment,
    }
    """What evaluates the nodes of a tree, by their classes."""


ARGUMENT = "_arg"
"""The function that gives an argument of the launch."""


def launch_argument(evaluator: Evaluator, node: s.Call) -> LaunchArgument:
    """Return the argument of the launch that a call of ``$_arg`` names, for waves of one dispatch."""
    stack, waves = evaluator.frame.stack, evaluator.lanes.wave
    if stack is None or not evaluator.frame.has_lanes or waves is None:
        raise evaluator.error(node, "only a wave has been launched", hint="attach a state", kind="no_machine")
    if not isinstance(waves, int):
        dispatch_of = {wave: waves_of(stack.stopped).place_of(wave)[0] + 1 for wave in set(waves.tolist())}
        uniform(b.array([dispatch_of[wave] for wave in waves.tolist()], 64))
        waves = int(waves[0])
    record = stack.stopped.wave(waves).launch
    key: Any = node.arguments[0] if len(node.arguments) == 1 else None
    name = key.value if isinstance(key, s.StringLiteral) else None if key is None else evaluator.operand(key).bits
    found = record.argument(name) if isinstance(name, (str, int)) else None
    if found is None:
        names = ", ".join(argument.name for argument in record.arguments if not argument.is_hidden)
        why = record.problems[0] if record.problems and not names else f"the arguments are {names or 'none'}"
        text = "$_arg takes the name or the position of an argument" if name is None else f"no argument {name!r}"
        raise evaluator.error(node, text, hint=why, kind="no_name")
    if found.data is None and record.problems:
        raise unavailable(LAUNCH_UNKNOWN, record.problems[0])
    return found


def _noun(type: t.Type) -> str:
    return "function" if isinstance(type, t.Function) else "array"


# --- Expressions --------------------------------------------------------------------------------------------------


class SourceExpression(Quantity):
    """An expression such as ``s->a[3] + 1`` in a frame."""

    def __init__(self, frame: Frame, text: str, written: str | None = None) -> None:
        self.frame = frame
        self.text = text
        self.written = text if written is None else written
        """How it was written, with its macros."""
        self.tree: s.SyntaxNode = parse(text, lambda name: frame.state.part(Names).type(frame, name) is not None)

    def __repr__(self) -> str:
        return f"SourceExpression({self.text!r})"

    @property
    def type(self) -> t.Type:
        """The type of the value, found without lane or location; an error if it depends on a value that is missing."""
        frame = self.frame
        known = static_type(Evaluator(frame, frame.lane(None), self.text), self.tree)
        if known is not None:
            return known
        lanes = frame.lane_numbers("active") if frame.has_lanes and frame.activation is not None else (None,)
        # what depends on a value is asked where there is one; assignments in it are not made
        return self.evaluate(frame.lane(lanes[0] if lanes else 0))[0].type

    @cached_property
    def depends_on_place(self) -> bool:
        return any(len(node.parts) == 1 and node.file is None for node in _names_in(self.tree))

    def in_frame(self, frame: Frame) -> Quantity:
        return frame.quantity(self.written)

    def check_name(self) -> None:
        Evaluator(self.frame, self.frame.lane(None), self.text).check_name(self.tree)

    def check_names(self) -> None:
        """Raise `UnknownName` for the first name in it that means nothing here, whatever the others mean."""
        evaluator = Evaluator(self.frame, self.frame.lane(None), self.text)
        called = [node.function for node in _nodes_in(self.tree) if isinstance(node, s.Call)]
        for node in _names_in(self.tree):
            if any(node is each for each in called):
                continue
            try:
                evaluator.check_name(node)
            except UnknownName:
                raise
            except DwarfGpuError:  # a name of a function that is not on the call stack
                continue

    def evaluate(self, lanes: LaneSet) -> tuple[Object, Evaluator]:
        """Return the value in some lanes, and the evaluator that has what is to be assigned."""
        evaluator = Evaluator(self.frame, lanes, self.text)
        try:
            return evaluator.object(self.tree), evaluator
        except RecursionError:
            message = "the expression is nested too deep to be computed"
            raise UsageError(message, kind="too_deep", hint="compute it in parts") from None

    def find(self, lanes: LaneSet) -> Object:
        """Return the value as an object, for some lanes. Assignments in it are made."""
        value, evaluator = self.evaluate(lanes)
        finish([evaluator])
        return value

    def groups(self, lanes: LaneSet) -> list[Group[Object]]:
        """Return the value in some lanes. Assignments wait for all lanes: no lane sees those of another."""
        evaluators: dict[int, Evaluator] = {}

        def find(part: LaneSet) -> Object:
            value, evaluator = self.evaluate(part)
            evaluators[id(value)] = evaluator
            return value

        groups = each_part(lanes, find)
        finish([evaluators[id(group.result)] for group in groups if group.result is not None])
        return groups

    def perform(self, numbers: tuple[int | None, ...]) -> None:
        """Evaluate it for its assignments, which are made if it has a value in all of the lanes."""
        evaluators: list[Evaluator] = []
        for place, lanes in self.frame.places_of(numbers, self):
            expression = self if place is self.frame else SourceExpression(place, self.text)
            for chosen, lane_set in place.lane_sets(lanes):
                groups = each_part(lane_set, expression.evaluate)
                evaluators += [_result(group, lane_set, chosen)[1] for group in groups]
        finish(evaluators)

    def explain(self, lanes: LaneSet) -> Unavailable | None:
        """Return why there is no value: the reason of the variable or register that the expression is part of."""
        evaluator = Evaluator(self.frame, lanes, self.text)
        tree = self.tree
        while isinstance(tree, (s.Subscript, s.ArrayPart)) or (isinstance(tree, s.MemberAccess) and not tree.is_arrow):
            tree = tree.operand
        if isinstance(tree, s.RegisterName):
            return evaluator.lost(tree.name)
        variable = evaluator.named(tree)
        return variable.explain(lanes) if isinstance(variable, Variable) else None


def static_type(evaluator: Evaluator, tree: Any) -> t.Type | None:
    """Return the type of a tree that declarations alone tell; None where a value is needed."""
    if isinstance(tree, s.Name):
        variable = evaluator.named(tree)
        return None if variable is None else variable.type
    if isinstance(tree, s.Cast):
        return evaluator.built(tree.type)
    if isinstance(tree, s.Assignment):
        return static_type(evaluator, tree.target)
    if isinstance(tree, s.Call) and isinstance(tree.function, s.RegisterName) and tree.function.name == ARGUMENT:
        return launch_argument(evaluator, tree).type
    if isinstance(tree, s.MemberAccess):
        owner = static_type(evaluator, tree.operand)
        member = None if owner is None else t.member_named(_pointed(owner), tree.name[-1])
        return None if member is None else member.type
    if isinstance(tree, s.Subscript) or (isinstance(tree, s.Unary) and tree.operator == "*"):
        owner = static_type(evaluator, tree.operand)
        return None if owner is None else _element(owner)
    return None


def _pointed(owner: t.Type) -> t.Type:
    """Return what a pointer or a reference leads to; any other type as it is."""
    for _ in range(2):  # a reference to a pointer
        inner = resolved(owner)
        if isinstance(inner, t.Pointer):
            owner = inner.target
    return owner


def _element(owner: t.Type) -> t.Type | None:
    """Return the type of an element of an array, or of what a pointer leads to; None where an object tells."""
    inner = resolved(owner)
    if isinstance(inner, t.Pointer) and inner.is_reference:
        inner = resolved(inner.target)
    if isinstance(inner, t.Pointer):
        return inner.target
    if not isinstance(inner, t.Array) or inner.column_major or inner.generic is not None or not inner.dimensions:
        return None
    return inner.element if len(inner.dimensions) == 1 else evolve(inner, dimensions=inner.dimensions[1:], name=None)


def finish(evaluators: Iterable[Evaluator]) -> None:
    """Make the assignments of an expression, each evaluator those of its lanes."""
    notes: dict[str, list[tuple[LaneSet, Object]]] = {}
    remembered: Remembered | None = None
    for evaluator in evaluators:
        for write in evaluator.writes:
            store(write.target, write.pattern, write.bit_size, evaluator.frame, evaluator.lanes)
        for name, value in evaluator.notes:
            notes.setdefault(name, []).append((evaluator.lanes, value))
        remembered = evaluator.frame.state.remembered
    for name, pieces in notes.items():
        assert remembered is not None  # noqa: S101 (nothing is noted without)
        remembered.set(name, pieces)


def assign(frame: Frame, target: Quantity, text: str, lanes: Iterable[int] | int | str | None) -> None:
    """Make the assignment ``target = text`` in some lanes, after all values have been computed."""
    numbers = frame.lane_numbers(lanes)
    writes: list[tuple[Write, LaneSet]] = []
    for place, lanes_there in frame.places_of(numbers, target):
        there = target if place is frame else target.in_frame(place)
        writes += _assignments(place, there, text, lanes_there)
    for write, part in writes:
        store(write.target, write.pattern, write.bit_size, frame, part)


def _assignments(
    frame: Frame, target: Quantity, text: str, numbers: tuple[int | None, ...]
) -> Iterator[tuple[Write, LaneSet]]:
    tree = parse(text, lambda name: frame.state.part(Names).type(frame, name) is not None)

    def find(part: LaneSet) -> Any:
        evaluator = Evaluator(frame, part, text)
        evaluator.assign(target.find(part), evaluator.operand(tree))
        return evaluator.writes[-1], part

    for lane_numbers, chosen in frame.lane_sets(numbers):
        yield from (_result(group, chosen, lane_numbers) for group in each_part(chosen, find))


def _result(group: Group[Any], lanes: LaneSet, numbers: Sequence[int | None] | None = None) -> Any:
    """Return the result of a group of lanes, or raise its error with the first of its lanes."""
    if group.result is not None:
        return group.result
    error = group.outcome(0)
    assert isinstance(error, DwarfGpuError)  # noqa: S101 (a group without a result has errors)
    slot = group.slots(lanes.count)[0]
    if numbers is not None:
        lane: Any = numbers[slot]
    else:
        lane = None if lanes.count == 1 else lanes.select(slot).lane
    if lane is not None and not isinstance(error, ExpressionError):
        error.message = f"{error.message} (lane {lane})"
    raise error


def type_named(frame: Frame, name: str) -> t.Type:
    """Return the type that a text such as ``struct S *`` means in a frame."""
    tree = parse_type(name, lambda word: frame.state.part(Names).type(frame, word) is not None)
    return Evaluator(frame, frame.lane(None), name).built(tree)


def variables_in(frame: Frame, tree: Any) -> list[Variable]:
    """Return the variables that an expression names, each once."""
    variables: dict[Die, Variable] = {}
    for node in _names_in(tree):
        with suppress(DwarfGpuError):
            variable = variable_called(frame, node.parts, node.file)
            if variable is not None:
                variables.setdefault(variable.die, variable)
    return list(variables.values())


def is_constant(tree: Any) -> bool:
    """Return whether an expression names nothing that could change: no variable, register or memory."""
    changing = s.Name, s.RegisterName, s.Subscript, s.MemberAccess, s.Unary
    return not any(isinstance(node, changing) for node in _nodes_in(tree))


def _names_in(tree: Any) -> Iterator[s.Name]:
    yield from (node for node in _nodes_in(tree) if isinstance(node, s.Name))


def _nodes_in(tree: Any) -> Iterator[Any]:
    """Yield the parts of an expression, in the order of the text; nothing is part of a name."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, s.Name):
            continue
        if isinstance(node, tuple):
            waiting += reversed(node)
        elif has(type(node)):
            waiting += [getattr(node, part.name) for part in reversed(fields(type(node)))]


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
    if not isinstance(inner, t.Struct) or depth > t.MAX_INHERITED or not t.is_new(inner, seen):
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
    if not isinstance(inner, t.Struct) or depth > t.MAX_INHERITED or not t.is_new(inner, seen):
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
MOST_FRAMES = 16
"""How many callers are searched for a name."""


def hint_for(frame: Frame, node: s.Name) -> str | None:
    """Return what to do about a name that is not found."""
    code = frame.code
    if code is not None and not code.file.has_dwarf:
        return f"{code.file.name} has no debugging information"
    if _ended_text(frame):
        return 'stop them before, at a line: `break FILE:LINE`, or in Python `run(until="FILE:LINE")`'
    other = None if node.file is not None or len(node.parts) > 1 else _in_other_frame(frame, node.text)
    if other is not None:
        return other
    others = [candidate for candidate in _elsewhere(frame, node) if candidate != node.text]
    if others:
        return f"did you mean {_listed(others, FEW)}?"
    ranges = _in_other_blocks(frame, node)
    if ranges:
        addresses = _listed([f"{low:#x} to {high:#x}" for low, high in ranges], FEW)
        return f"it is in scope at {_lines_of(frame, ranges) or addresses}"
    if frame.place is None:
        return nearly(frame, node.text) or "locals need a frame: give an address, or attach a state"
    same = frame.state.part(Names).find(frame.name or "", ("function",))
    if any(node.text in names_within(die) for _code, die in same if is_body(die.linkage_name)):
        return f"it is in the body of {frame.name}, where `break {frame.name}` stops"
    known = [variable.name for variable in frame.variables() if not variable.is_shadowed]
    if not known and (undescribed := hint_without_variables(frame)) is not None:
        return undescribed
    inner = () if frame.function is None else names_within(frame.function)
    near = nearest(node.text, known) or nearest(node.text, inner, 0.75)
    if near is not None:
        return f"did you mean {near}?"
    here = f"there are {_listed(known, MANY)}" if known else None
    return " ".join(filter(None, (nearly(frame, node.text), here))) or None


def hint_without_variables(frame: Frame) -> str | None:
    """Return how to compile the code of a frame that has no variables, where that is known."""
    if frame.code is None or not any(unit.producer == "triton" for unit in frame.code.file.dwarf.compile_units()):
        return None
    return "`dwarfgpu exec -g python SCRIPT` compiles Triton's kernels with variables"


def _ended_text(frame: Frame) -> str:
    """Return that the waves of a frame have ended, if so, as the end of a message."""
    stack = frame.stack
    waves: Any = () if stack is None else [stack.wave] if isinstance(stack.wave, int) else stack.wave.tolist()
    stops = [None if stack is None else stack.machine.stop_of(wave) for wave in waves]
    if not stops or not all(stop is not None and stop.detail == HAS_ENDED for stop in stops):
        return ""
    return ": the wave has ended" if len(stops) == 1 else ": the waves have ended"


def _in_other_frame(frame: Frame, name: str) -> str | None:
    """Return which frame to select for a name that is a variable of a caller, or of a function that is called."""
    stack, here = frame.stack, frame.number
    if stack is None or not isinstance(stack.wave, int):
        return None
    with suppress(DwarfGpuError):
        for number in (*range(here + 1, here + MOST_FRAMES), *reversed(range(here))):
            other = stack.frame(number)
            if other is not None and any(variable.name == name for variable in other.variables()):
                word = {here + 1: "up", here - 1: "down"}.get(number, f"frame {number}")
                return f"it is in frame {number}, {other.name}: `{word}` or the option --frame {number} selects that"
    return None


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


def _lines_of(frame: Frame, ranges: list[tuple[int, int]]) -> str | None:
    """Return the source lines of a block, without those of calls that are inlined there; None without any."""
    code, lines = frame.code, set()
    assert code is not None  # noqa: S101 (the block is one of its code)
    whole = [(code.in_file(low), high - low) for low, high in ranges]
    for low, high in ranges:
        address = low
        while address < high:
            row = frame.state.sources.at(address)
            functions = code.functions_at(address)
            blocks = functions[0].blocks if functions else ()
            if row and any([(start, end - start) for start, end in block.ranges()] == whole for block in blocks):
                lines.add((row.file.name, row.line))
            address = row.end if row else address + 4  # a row of line 0 belongs to no line
    if not lines or len({name for name, _line in lines}) > 1:
        return None
    (file, first), (_file, last) = min(lines), max(lines)
    return f"{file}:{first}" if first == last else f"lines {first} to {last} of {file}"


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names[:count]) + (", ..." if len(names) > count else "")
