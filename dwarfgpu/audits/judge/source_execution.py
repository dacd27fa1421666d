"""The text of a kernel, executed for one work-item: which values its variables of integers take.

What is not known is left out, never guessed: floats, structures, memory that a kernel writes, functions without a text.
An ``if`` or a ``switch`` that depends on such values is executed in all ways: variables have been what any way makes
them, and what they are behind it is known where all ways agree. A loop that depends on them may or may not be executed:
the variables that it may change can be anything from there on, and nothing is known of those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.recorded_values import INTEGER, Leaf, scalar_leaf
from dwarfgpu.audits.judge.source_functions import FunctionText, declarations
from dwarfgpu.audits.judge.source_syntax import (
    UNSIGNED,
    BranchStatement,
    Declaration,
    ExpressionStatement,
    JumpStatement,
    LoopStatement,
    StatementBlock,
    SwitchStatement,
    UnreadableSource,
    UnreadStatement,
    read_body,
)
from dwarfgpu.immutable import astuple, define, field, frozen
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.types.model import Base, Enumeration, Type, stripped

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.source_syntax import StatementText
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.types.reader import Types

MOST_STEPS = 20_000
"""The parts of expressions that are computed for a work-item."""
MOST_CALLS = 16
"""How deep calls may be nested."""
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64}
_KEPT = re.compile(r"\b(?:static|extern|volatile|local|__local|__shared__|constant|__constant)\b|&")
"""What stands before a variable that is changed otherwise: it outlives its function, or is a reference."""
_CHANGED = r"\b{0}\b\s*(?:[-+*/%&|^]=|<<=|>>=|\+\+|--|=(?!=))|(?:\+\+|--|&)\s*\(?\s*{0}\b"
"""What may change a variable: assignments, and its address."""
_PASSED = r"|[(,]\s*{0}\s*[,)]"
"""A call to which a variable may be passed by reference."""
_INTEGERS = dw.DW_ATE_signed, dw.DW_ATE_unsigned, dw.DW_ATE_signed_char, dw.DW_ATE_unsigned_char
_JUMP = re.compile(r"\b(?:return|break|continue)\b")
_JUMP_FROM_SWITCH = re.compile(r"\b(?:return|continue)\b")
_JUMP_FROM_LOOP = re.compile(r"\breturn\b")


class _Jumped(Exception):
    def __init__(self, word: str, value: Any = None) -> None:
        super().__init__(word)
        self.word, self.value = word, value


@frozen
class Number:
    """An integer of the source, with its type."""

    value: int
    kind: Leaf


@frozen(eq=False)
class KnownBuffer:
    """Memory of integers that a kernel only reads."""

    content: bytes
    element: Leaf


VariableKey = tuple[str, int, str]
"""The file, the line and the name of a declaration."""


@frozen(eq=False)
class SourceFunction:
    """A function that can be executed."""

    name: str
    file: str
    body: StatementBlock
    parameters: tuple[tuple[VariableKey, Leaf | None], ...]
    result: Leaf | None
    types: Mapping[tuple[int, str], Leaf | None]
    """The types of its variables of integers, by line and name."""
    has_references: bool
    """Whether a call may change its arguments."""


def read_function(text: FunctionText, die: Die, code: str, types: Types) -> SourceFunction:
    """Read a function from its text, in which macros and the identifiers of the work-item are replaced."""
    start = code.find("{", code.find((die.name or "").partition("<")[0]))
    if start < 0:
        raise UnreadableSource(die.name)
    parameters: list[tuple[VariableKey, Leaf | None]] = []
    kinds: dict[tuple[int, str], Leaf | None] = {}
    for each in declarations([*die.origins()][-1]):
        line, name, kind = each.find("DW_AT_decl_line"), each.name or "", integer_leaf(types.type_of(each))
        place = 0 if line is None else int(line.value), name
        kinds[place] = None if place in kinds else kind
        if each.tag == dw.DW_TAG_formal_parameter:
            parameters.append(((text.file, *place), kind))
    body = read_body(code[start:], text.first + code.count("\n", 0, start))
    result = None if die.find("DW_AT_type") is None else integer_leaf(types.type_of(die))
    return SourceFunction(die.name or "", text.file, body, tuple(parameters), result, kinds, text.has_references)


def integer_leaf(kind: Type) -> Leaf | None:
    """Return how an integer of a type is read, or an enumeration; None for any other type."""
    inner = stripped(kind)
    is_integer = isinstance(inner, Base) and inner.encoding in _INTEGERS and inner.vector_size is None
    is_integer |= isinstance(inner, Enumeration)
    leaf = scalar_leaf(kind) if is_integer else None
    return None if leaf is None else _integer(leaf.bits, is_signed=leaf.is_signed)


@define
class _Variable:
    key: VariableKey
    kind: Leaf | None
    value: Number | KnownBuffer | None = None


def _integer(bits: int, *, is_signed: bool) -> Leaf:
    return Leaf("", INTEGER, bits, is_signed)


INT = _integer(32, is_signed=True)


@define
class _Call:
    """A call that is executed."""

    function: SourceFunction
    may_return: bool = False
    """Whether it may have ended: what follows is what it executes otherwise."""
    loops: list[set[str]] = field(factory=list)
    """For each loop and ``switch`` around, the jumps by which it, or its round, may have ended."""


@define
class SourceExecution:
    """Executes functions of the source for one work-item."""

    function: Callable[[str], SourceFunction | None]
    """Returns the function with a name."""
    values: dict[VariableKey, set[int]] = field(factory=dict)
    """What each variable has been."""
    open: set[VariableKey] = field(factory=set)
    """Those that can have been anything."""
    constants: Mapping[str, int] = field(factory=dict)
    """The enumerators."""
    has_unknown_calls: bool = False
    """Whether functions may have been called with arguments that are not known."""
    _scopes: list[dict[str, _Variable]] = field(factory=list)
    _calls: list[_Call] = field(factory=list)
    _steps: int = 0

    def call(self, function: SourceFunction, arguments: Sequence[Number | KnownBuffer | None]) -> Number | None:
        """Execute a function, and return its value; `UnreadableSource` if it is not known what it executes."""
        if len(self._calls) >= MOST_CALLS or len(arguments) != len(function.parameters):
            raise UnreadableSource(function.name)
        outer, self._scopes = self._scopes, [{}]
        self._calls.append(_Call(function))
        for (key, kind), value in zip(function.parameters, arguments, strict=True):
            self._declare(_Variable(key, kind), value)
        value = None
        try:
            self._execute(function.body)
        except _Jumped as jump:
            value = jump.value
        may_return = self._calls.pop().may_return
        self._scopes = outer
        is_known = isinstance(value, Number) and function.result is not None and not may_return
        return _converted(value, function.result) if is_known else None  # type: ignore[arg-type]

    # --- Variables ------------------------------------------------------------------------------------------------

    def _declare(self, variable: _Variable, value: Number | KnownBuffer | None) -> None:
        self._scopes[-1][variable.key[2]] = variable
        self._assign(variable, value)

    def _share(self, node: Any) -> None:
        """Take notice of an operand that is a variable, or one of two, which anything can change from here on."""
        if isinstance(node, s.Conditional):
            self._share(node.yes)
            self._share(node.no)
        elif isinstance(node, s.Assignment):
            self._share(node.target)
        variable = self._find(node.text) if isinstance(node, s.Name) else None
        if variable is not None:
            variable.kind = None
            self._assign(variable, None)

    def _assign(self, variable: _Variable, value: Number | KnownBuffer | None) -> Number | KnownBuffer | None:
        if isinstance(value, Number):
            value = None if variable.kind is None else _converted(value, variable.kind)
        if isinstance(value, Number):
            self.values.setdefault(variable.key, set()).add(value.value)
        else:
            self.open.add(variable.key)
        variable.value = value
        return value

    def _find(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _changed_in(self, part: StatementText) -> Iterator[_Variable]:
        """Yield the variables that a part of the text may change."""
        changed = _CHANGED + _PASSED * self._calls[-1].function.has_references
        for scope in self._scopes:
            for variable in scope.values():
                if re.search(changed.format(re.escape(variable.key[2])), part.text):
                    yield variable

    def _forget(self, whole: StatementText, jumps: re.Pattern[str]) -> None:
        """Take notice of a statement that may or may not be executed, in whole or in part."""
        for word in jumps.findall(whole.text):
            self._may_jump(word)
        for variable in self._changed_in(whole):
            variable.kind = None
            self._assign(variable, None)
        last, caller = whole.line + whole.text.count("\n"), self._calls[-1].function
        for line, name in caller.types:
            if whole.line <= line <= last:
                self._declare(_Variable((caller.file, line, name), None), None)
        self.has_unknown_calls |= any(self.function(name) for name in re.findall(r"(\w+)\s*\(", whole.text))

    def _may_jump(self, word: str) -> None:
        """Take notice of a jump that may have been executed: what follows is executed otherwise."""
        call = self._calls[-1]
        if word == "return":
            call.may_return = True
        elif call.loops:
            call.loops[-1].add(word)
        else:
            raise UnreadableSource(word)

    def _blur(self, part: StatementText) -> None:
        """Take notice of a part that may have been left before its end: what it changes has one of its values."""
        for variable in self._changed_in(part):
            variable.value = None

    # --- Statements -----------------------------------------------------------------------------------------------

    def _execute(self, statement: Any) -> None:
        if statement is None:
            return
        if isinstance(statement, tuple):
            for part in statement:
                self._execute(part)
        elif isinstance(statement, StatementBlock):
            self._scopes.append({})
            self._execute(statement.parts)
            self._scopes.pop()
        elif isinstance(statement, ExpressionStatement):
            self._value(statement.tree)
        elif isinstance(statement, Declaration):
            self._execute_declaration(statement)
        elif isinstance(statement, JumpStatement):
            raise _Jumped(statement.word, None if statement.value is None else self._value(statement.value))
        elif isinstance(statement, UnreadStatement):
            is_switch = statement.whole.text.startswith("switch")
            self._forget(statement.whole, _JUMP_FROM_SWITCH if is_switch else _JUMP)
        elif isinstance(statement, BranchStatement):
            self._execute_branch(statement)
        else:
            self._execute_around(statement)

    def _execute_declaration(self, statement: Declaration) -> None:
        caller = self._calls[-1].function
        kind = None if _KEPT.search(statement.words) else caller.types.get((statement.line, statement.name))
        value = None if statement.value is None else self._value(statement.value)
        if "&" in statement.words:
            self._share(statement.value)
        self._declare(_Variable((caller.file, statement.line, statement.name), kind), value)

    def _execute_around(self, statement: SwitchStatement | LoopStatement) -> None:
        """Execute a statement that ``break`` leaves."""
        loops = self._calls[-1].loops
        loops.append(set())
        try:
            if isinstance(statement, SwitchStatement):
                self._execute_all([statement.parts[place:] for place in self._entries(statement)], ending="break")
                if "break" in self._calls[-1].loops[-1]:
                    self._blur(statement.whole)
            else:
                self._execute_loop(statement)
        finally:
            jumps = loops.pop()
        if "continue" in jumps:  # from a switch
            self._may_jump("continue")

    def _execute_branch(self, branch: BranchStatement) -> None:
        is_true = None if branch.condition is None else _truth(self._value(branch.condition))
        if branch.condition is None:
            self._forget(branch.whole, _JUMP)
        elif is_true is None:
            self._execute_all([(branch.yes,), (branch.no,)])
        else:
            self._execute(StatementBlock((branch.yes if is_true else branch.no,)))

    def _entries(self, switch: SwitchStatement) -> Iterable[int]:
        """Return the parts at which a statement may begin: one, if the number and the labels are known."""
        number, default = self._number(switch.condition), len(switch.parts)
        places: list[int] = []
        for label, place in switch.labels:
            value = None if label is None else self._number(label)
            if label is None:
                default = place
            elif number is None or value is None:
                places.append(place)
            elif _converted(value, _promoted(number).kind) == _promoted(number):
                return (place,)
        return dict.fromkeys((*places, default))

    def _execute_all(self, ways: Sequence[tuple[Any, ...]], ending: str = "") -> None:
        """Execute all ways of a statement of which one is executed; ``ending`` is the jump that leaves it."""
        variables = [variable for scope in self._scopes for variable in scope.values()]
        before = [variable.value for variable in variables]
        ends: list[list[Number | KnownBuffer | None]] = []
        jumps: list[str] = []
        for way in ways:
            for variable, value in zip(variables, before, strict=True):
                variable.value = value
            depth = len(self._scopes)
            try:
                self._execute(StatementBlock(way))
                ends.append([variable.value for variable in variables])
            except _Jumped as jump:
                del self._scopes[depth:]
                if jump.word == ending:
                    ends.append([variable.value for variable in variables])
                elif len(ways) == 1:
                    raise
                else:
                    jumps.append(jump.word)
        for word in jumps:
            self._may_jump(word)
        if not ends:
            raise _Jumped(jumps[0])
        for variable, *values in zip(variables, *ends, strict=True):
            variable.value = values[0] if all(value == values[0] for value in values) else None

    def _execute_loop(self, loop: LoopStatement) -> None:
        depth, jumps = len(self._scopes), self._calls[-1].loops[-1]
        self._scopes.append({})
        self._execute(loop.first)
        is_tested = loop.is_tested_first
        while True:
            self._step()
            is_true: bool | None = True
            if is_tested and loop.condition is not None:
                is_true = _truth(self._value(loop.condition))
            if is_true is None:
                self._forget(loop.whole, _JUMP_FROM_LOOP)
            if not is_true:
                break
            try:
                self._execute(StatementBlock((loop.body,)))
            except _Jumped as jump:
                del self._scopes[depth + 1 :]
                if jump.word == "break":
                    break
                if jump.word != "continue":
                    raise
            if "continue" in jumps:
                jumps.remove("continue")
                self._blur(loop.inside)
            self._execute(loop.steps)
            is_tested = True
        if "break" in jumps:
            self._blur(loop.whole)
        self._scopes.pop()

    # --- Expressions ----------------------------------------------------------------------------------------------

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise UnreadableSource("too long")

    def _value(self, node: Any) -> Number | KnownBuffer | None:
        self._step()
        name = type(node).__name__.lower()
        compute = getattr(self, f"_of_{name}", None)
        if compute is not None:
            return compute(node)  # type: ignore[no-any-return]
        for part in astuple(node):
            for each in part if isinstance(part, tuple) else (part,):
                if isinstance(each, s.SyntaxNode) and not isinstance(each, s.TypeNode):
                    self._value(each)
        return None

    def _number(self, node: Any) -> Number | None:
        value = self._value(node)
        return value if isinstance(value, Number) else None

    def _of_sizeof(self, _node: s.SizeOf) -> None:
        return None  # the operand is not evaluated

    def _of_integer(self, node: s.Integer) -> Number:
        unsigned = "u" in node.suffix.lower()
        for bits in (64,) if "l" in node.suffix.lower() else (32, 64):
            if not unsigned and not node.value >> (bits - 1):
                return Number(node.value, _integer(bits, is_signed=True))
            if (unsigned or not node.is_decimal) and not node.value >> bits:
                return Number(node.value, _integer(bits, is_signed=False))
        raise UnreadableSource(str(node.value))

    def _of_boolean(self, node: s.Boolean) -> Number:
        return Number(int(node.value), INT)

    def _of_name(self, node: s.Name) -> Number | KnownBuffer | None:
        variable = self._find(node.text)
        if variable is not None:
            return variable.value
        constant = self.constants.get(node.text)
        return None if constant is None else _exact(constant, INT)

    def _of_subscript(self, node: s.Subscript) -> Number | None:
        buffer, index = self._value(node.operand), self._number(node.index)
        if not isinstance(buffer, KnownBuffer) or index is None:
            return None
        size = buffer.element.bits // 8
        start = index.value * size
        if not 0 <= start <= len(buffer.content) - size:
            return None
        content = buffer.content[start : start + size]
        return Number(int.from_bytes(content, "little", signed=buffer.element.is_signed), buffer.element)

    def _of_cast(self, node: s.Cast) -> Number | None:
        number, kind = self._number(node.operand), _type_of(node.type)
        return None if number is None or kind is None else _converted(number, kind)

    def _of_unary(self, node: s.Unary) -> Number | None:
        if node.operator == "&":
            self._share(node.operand)
        number = self._number(node.operand)
        if number is None:
            return None
        if node.operator == "!":
            return Number(int(not number.value), INT)
        number = _promoted(number)
        if node.operator == "-":
            return _exact(-number.value, number.kind)
        if node.operator == "~":
            return _converted(Number(~number.value, number.kind), number.kind)
        return number if node.operator == "+" else None

    def _of_conditional(self, node: s.Conditional) -> Number | None:
        is_true = _truth(self._value(node.condition))
        if is_true is None:
            self._skip(node.yes, node.no)
            return None
        number = self._number(node.yes if is_true else node.no)
        other = self._kind_of(node.no if is_true else node.yes)
        if number is None or other is None:
            return None
        return _converted(number, _common(_promoted(number).kind, other))

    def _kind_of(self, node: Any) -> Leaf | None:
        """Return the type of an operand that is not evaluated, if it is a name or a number."""
        if isinstance(node, (s.Name, s.Integer)):
            number = self._number(node)
            return None if number is None else _promoted(number).kind
        if isinstance(node, s.Unary) and node.operator in "-+~":
            return self._kind_of(node.operand)
        if isinstance(node, s.Binary) and node.operator in ("+", "-", "*", "/", "%", "&", "|", "^"):
            left, right = self._kind_of(node.left), self._kind_of(node.right)
            return None if left is None or right is None else _common(left, right)
        return _type_of(node.type) if isinstance(node, s.Cast) else None

    def _of_binary(self, node: s.Binary) -> Number | None:
        if node.operator in ("&&", "||"):
            left = _truth(self._value(node.left))
            if left is None:
                self._skip(node.right)
                return None
            if left == (node.operator == "||"):
                return Number(int(left), INT)
            right = _truth(self._value(node.right))
            return None if right is None else Number(int(right), INT)
        one, two = self._number(node.left), self._number(node.right)
        return None if one is None or two is None else _computed(node.operator, one, two)

    def _of_call(self, node: s.Call) -> Number | None:
        arguments = [self._value(each) for each in node.arguments]
        if isinstance(node.function, s.TypeNode):
            kind = _type_of(node.function)
            number = arguments[0] if len(arguments) == 1 else None
            return _converted(number, kind) if isinstance(number, Number) and kind is not None else None
        function = self.function(node.function.text) if isinstance(node.function, s.Name) else None
        if function is not None and isinstance(node.function, s.Name) and self._find(node.function.text) is None:
            kinds = [kind for _key, kind in function.parameters]
        else:
            function, kinds = None, []
        if self._calls[-1].function.has_references:
            for index, each in enumerate(node.arguments):
                if index >= len(kinds) or kinds[index] is None:
                    self._share(each)
        return None if function is None else self.call(function, arguments)

    def _of_assignment(self, node: s.Assignment) -> Number | KnownBuffer | None:
        variable = self._find(node.target.text) if isinstance(node.target, s.Name) else None
        old = self._value(node.target)
        new = self._value(node.value)
        if node.operator:
            is_known = isinstance(old, Number) and isinstance(new, Number)
            new = _computed(node.operator, old, new) if is_known else None  # type: ignore[arg-type]
        if variable is None:
            return None
        new = self._assign(variable, new)
        return old if node.is_postfix else new

    def _skip(self, *nodes: Any) -> None:
        """Take notice of operands that may or may not be evaluated: they must not change anything."""
        for node in nodes:
            if isinstance(node, (s.Assignment, s.Call)):
                raise UnreadableSource(type(node).__name__)
            if isinstance(node, tuple):
                self._skip(*node)
            elif isinstance(node, s.SyntaxNode):
                self._skip(*astuple(node))


# --- Arithmetic (C11, 6.3.1 and 6.5) ------------------------------------------------------------------------------


def _truth(value: Number | KnownBuffer | None) -> bool | None:
    return bool(value.value) if isinstance(value, Number) else None


def _type_of(node: Any) -> Leaf | None:
    """Return the integer type that a tree names."""
    while isinstance(node, s.QualifiedType):
        node = node.to
    if not isinstance(node, s.NamedType) or node.keyword or node.name == "char":
        return None  # whether char is signed depends on the compiler
    is_unsigned = node.name in UNSIGNED or "unsigned" in node.name
    words = [word for word in UNSIGNED.get(node.name, node.name).split() if word not in ("signed", "unsigned")]
    bits = {"": 32, "long long": 64}.get(" ".join(words)) or _BITS.get(" ".join(words))
    return None if bits is None else _integer(bits, is_signed=not is_unsigned)


def _converted(number: Number, kind: Leaf) -> Number:
    value = number.value & ((1 << kind.bits) - 1)
    if kind.is_signed and value >> (kind.bits - 1):
        value -= 1 << kind.bits
    return Number(value, kind)


def _promoted(number: Number) -> Number:
    return number if number.kind.bits >= INT.bits else Number(number.value, INT)


def _common(one: Leaf, two: Leaf) -> Leaf:
    """Return the type of both operands after the usual arithmetic conversions."""
    if one.bits == two.bits:
        return two if one.is_signed else one
    return one if one.bits > two.bits else two


def _exact(value: int, kind: Leaf) -> Number:
    """Return a result, which must be in the range of a signed type: else the behaviour is undefined."""
    number = _converted(Number(value, kind), kind)
    if kind.is_signed and number.value != value:
        raise UnreadableSource("overflow")
    return number


def _computed(operator: str, one: Number, two: Number) -> Number | None:
    one, two = _promoted(one), _promoted(two)
    if operator in ("<<", ">>"):
        if not 0 <= two.value < one.kind.bits:
            raise UnreadableSource("shift")
        shifted = one.value << two.value if operator == "<<" else one.value >> two.value
        return _converted(Number(shifted, one.kind), one.kind)
    kind = _common(one.kind, two.kind)
    left, right = _converted(one, kind).value, _converted(two, kind).value
    if operator in ("/", "%"):
        if not right:
            raise UnreadableSource("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _exact(quotient if operator == "/" else left - quotient * right, kind)
    compared = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    compared |= {"==": left == right, "!=": left != right}
    if operator in compared:
        return Number(int(compared[operator]), INT)
    results = {"+": left + right, "-": left - right, "*": left * right}
    results |= {"&": left & right, "|": left | right, "^": left ^ right}
    return _exact(results[operator], kind) if operator in results else None
