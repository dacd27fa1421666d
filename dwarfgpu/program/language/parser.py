"""The parser of source expressions: C's operators by precedence, with GDB's additions.

Whether ``(T) x`` is a cast depends on whether ``T`` is a type, which ``is_type`` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.tokens import ASSIGNMENTS, STEPS, ExpressionError, Token
from dwarfgpu.program.language.tokens import character as character_literal
from dwarfgpu.program.language.tokens import floating as floating_literal
from dwarfgpu.program.language.tokens import integer as integer_literal
from dwarfgpu.program.language.type_names import TypeParser

if TYPE_CHECKING:
    from collections.abc import Callable


PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "@": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11, ".*": 12, "->*": 12,
}  # fmt: skip
"""How tightly binary operators bind. ``@`` is between shifts and sums, as in GDB."""
UNARY = frozenset(("*", "&", "!", "~", "-", "+"))
MAX_DEPTH = 100
"""How deep expressions may be nested."""
MAX_OPERATORS = 2000
"""How many operators an expression may have: the tree of a long sum is as deep as the sum is long."""
SOURCE_FILES = frozenset(
    ("c", "cc", "cp", "cpp", "cppm", "cxx", "C", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "def", "hip", "cl",
     "clcpp", "cu", "cuh", "m", "mm", "s", "S", "asm", "ll", "f", "F", "f90", "F90", "f95", "f03", "f08", "rs", "go",
     "d", "py", "metal", "comp", "glsl", "hlsl")
)  # fmt: skip
"""The endings of source file names: ``a.c::x`` is ``x`` of a file, ``a.b::x`` a member of the base ``b``."""
_CONSTANTS = {"true": True, "false": False}


def parse(text: str, is_type: Callable[[str], bool] | None = None) -> s.SyntaxNode:
    """Parse an expression. ``is_type`` says whether a name is that of a type; without it only C's own are."""
    parser = Parser(text, is_type)
    tree = parser.expression()
    if parser.token.kind != "end":
        no_type = ""
        if isinstance(tree, s.Name) and text.lstrip().startswith("("):  # what follows would be a cast
            no_type = f": {tree.text[:80]} is not a type"
        raise parser.error(f"{parser.shown()} does not belong here{no_type}")
    return tree


def _step(target: s.SyntaxNode, token: Token, *, is_postfix: bool = False) -> s.SyntaxNode:
    """Return ``++x`` as ``x += 1``."""
    step = s.Integer(token.position, 1, "", is_decimal=True)
    return s.Assignment(token.position, target, token.text[0], step, is_postfix)


def parse_type(text: str, is_type: Callable[[str], bool] | None = None) -> s.TypeNode:
    """Parse a type."""
    parser = Parser(text, is_type)
    tree = parser.needed_type()
    if parser.token.kind != "end":
        raise parser.error(f"{parser.shown()} does not belong here")
    return tree


class Parser(TypeParser):
    """The parser of one expression, token by token."""

    depth = 0
    operators = 0

    def _count(self, position: int) -> None:
        self.operators += 1
        if self.operators > MAX_OPERATORS:
            raise self.error_at(position, f"an expression has more than {MAX_OPERATORS} operators")

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"an expression is nested more than {MAX_DEPTH} deep")

    # --- Operators ------------------------------------------------------------------------------------------------

    def expression(self) -> s.SyntaxNode:
        """Parse an expression, with assignments and conditions."""
        self._deeper()
        left = self._conditional()
        token = self.token
        if token.kind == "sign" and token.text in ASSIGNMENTS:
            self._count(token.position)
            self.advance()
            left = s.Assignment(token.position, left, token.text[:-1], self.expression())
        self.depth -= 1
        return left

    def _conditional(self) -> s.SyntaxNode:
        condition = self._binary(1)
        token = self.token
        if not self.accept("?"):
            return condition
        self._count(token.position)
        yes = self.expression()
        self.expect(":")
        self._deeper()
        no = self._conditional()
        self.depth -= 1
        return s.Conditional(token.position, condition, yes, no)

    def _binary(self, lowest: int) -> s.SyntaxNode:
        """Parse operators that bind at least as tightly as a precedence; those of one precedence associate left."""
        left = self._unary()
        while True:
            token = self.token
            power = PRECEDENCE.get(token.text) if token.kind == "sign" else None
            if power is None or power < lowest:
                return left
            self._count(token.position)
            self.advance()
            right = self._binary(power + 1)
            if token.text == "@":
                left = s.Repeat(token.position, left, right)
            elif power == 12:
                left = s.MemberPointerAccess(token.position, left, right, token.text == "->*")
            else:
                left = s.Binary(token.position, token.text, left, right)

    def _unary(self) -> s.SyntaxNode:
        self._deeper()
        operand = self._prefixed()
        self.depth -= 1
        return operand

    def _prefixed(self) -> s.SyntaxNode:
        token = self.token
        if token.kind == "sign":
            if token.text in UNARY:
                self.advance()
                return s.Unary(token.position, token.text, self._unary())
            if token.text in STEPS:
                self.advance()
                return _step(self._unary(), token)
            if token.text == "&&":  # the address of an address: there is none
                raise self.error("an operand is missing before &&")
            if token.text == "(" and self._is_cast():
                return self._cast()
            if token.text == "{":
                self.advance()
                kind = self.needed_type()
                self.expect("}")
                return s.At(token.position, kind, self._unary())
        if token.kind == "name":
            if token.text == "sizeof":
                return self._sizeof()
            if self.peek(1).text == "#" and self.peek(1).kind == "sign":
                self.advance(2)
                return s.InSpace(token.position, token.text, self._unary())
        return self._postfixed()

    def _is_cast(self) -> bool:
        self.index += 1
        is_cast = self.starts_type() and not self._is_conversion()
        self.index -= 1
        return is_cast

    def _is_conversion(self) -> bool:
        """Return whether a type in parentheses is the beginning of ``(int(x))`` or of ``(T::x)``."""
        start = self.index
        try:
            self.type()
            return self.token.text != ")"
        except ExpressionError:
            # reading it as a type gives the better error; a name that goes on with :: is an expression
            return self.tokens[start + 1].text == "(" and self.tokens[start].kind == "name"
        finally:
            self.index = start

    def _cast(self) -> s.SyntaxNode:
        position = self.advance().position
        kind = self.type()
        self.expect(")")
        self._count(position)
        return s.Cast(position, kind, self._unary())

    def _sizeof(self) -> s.SyntaxNode:
        position = self.advance().position
        if self.token.text == "(":
            self.index += 1
            if self.starts_type() and not self._is_conversion():
                kind = self.type()
                self.expect(")")
                return s.SizeOf(position, kind)
            self.index -= 1
        return s.SizeOf(position, self._unary())

    # --- Postfixes ------------------------------------------------------------------------------------------------

    def _postfixed(self) -> s.SyntaxNode:
        operand = self._primary()
        while self.token.kind == "sign":
            token = self.token
            if token.text == "[":
                self.advance()
                index = self.expression()
                self.expect("]")
                operand = s.Subscript(token.position, operand, index)
            elif token.text in (".", "->"):
                self.advance()
                operand = s.MemberAccess(token.position, operand, self._member_name(), token.text == "->")
            elif token.text == "(":
                operand = s.Call(token.position, operand, self._arguments())
            elif token.text in STEPS:
                self.advance()
                operand = _step(operand, token, is_postfix=True)
            else:
                break
            self._count(token.position)
        return operand

    def _member_name(self) -> tuple[str, ...]:
        parts: list[str] = []
        while not parts or self.accept("::"):
            if self.token.kind != "name":
                raise self.error("the name of a member is missing")
            parts.append(self.advance().text)
        return tuple(parts)

    def _arguments(self) -> tuple[s.SyntaxNode, ...]:
        self.expect("(")
        arguments: list[s.SyntaxNode] = []
        while not self.accept(")"):
            if arguments:
                self.expect(",")
            arguments.append(self.expression())
        return tuple(arguments)

    # --- Names and literals ---------------------------------------------------------------------------------------

    def _primary(self) -> s.SyntaxNode:
        token = self.token
        if token.kind == "integer":
            return integer_literal(self.advance(), self.text)
        if token.kind == "float":
            return floating_literal(self.advance(), self.text)
        if token.kind == "string":
            return self._string()
        if token.kind == "register":
            self.advance()
            return s.RegisterName(token.position, token.text[1:])
        if token.kind == "character":
            return self._character()
        if token.kind == "name":
            return self._name()
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if token.text == "::":
            return self._name()
        raise self.error(f"an operand is missing before {self.shown()}")

    def _string(self) -> s.SyntaxNode:
        first = self.advance()
        value = first.value
        while self.token.kind == "string" and self.token.prefix in ("", first.prefix):
            value += self.advance().value
        return s.StringLiteral(first.position, value, first.prefix)

    def _character(self) -> s.SyntaxNode:
        """Parse a character; or a name in quotes, if a scope follows or it cannot be a character."""
        token = self.advance()
        if self.token.text == "::" and self.token.kind == "sign" and not token.prefix:
            self.advance()
            return self._scoped(token.position, token.value)
        if len(token.value) != 1 and token.value and not token.prefix:
            names = tuple(token.value.split("::"))
            if len(names) > s.MAX_PARTS:
                raise self.error_at(token.position, f"a name has more than {s.MAX_PARTS} parts")
            return s.Name(token.position, names)
        return character_literal(token, self.text)

    def _name(self) -> s.SyntaxNode:
        token = self.token
        if token.kind == "name":
            if token.text in _CONSTANTS:
                self.advance()
                return s.Boolean(token.position, _CONSTANTS[token.text])
            if token.text == "nullptr":
                self.advance()
                return s.Null(token.position)
            if self.starts_type():
                converted = self._converted()
                if converted is not None:
                    return converted
            file = self._file_name()
            if file is not None:
                return self._scoped(token.position, file)
        return self._scoped(token.position, None)

    def _converted(self) -> s.SyntaxNode | None:
        """Parse a cast in the form of a call, ``int(x)``; None where a name only begins like that of a type."""
        start, position = self.index, self.token.position
        count = 1
        if self.token.text not in ("const", "volatile", "struct", "class", "union", "enum"):
            named = self.named_type()
            count = 1 if named is None else named[1]
            following = self.tokens[start + count]
            if following.text == "(":
                name = self.specifiers()
                arguments = self._arguments()
                if len(arguments) != 1:
                    raise self.error_at(position, "a conversion takes one value")
                return s.Cast(position, name, arguments[0])
            if following.text == "::" or named is not None:
                return None
        raise self.error_at(position, f"{self.tokens[start].text} is a type, and a value is needed")

    def _file_name(self) -> str | None:
        """Parse ``file.c`` of ``file.c::x``; a name with directories, or with another ending, must be in quotes."""
        index = self.index
        while self.tokens[index].kind == "name":
            index += 1
            is_file = self.tokens[index - 1].text in SOURCE_FILES and index > self.index + 1
            if self.tokens[index].text == "::" and is_file:
                file = self.text[self.token.position : self.tokens[index - 1].end]
                self.index = index + 1
                return file
            if self.tokens[index].text != "." or self.tokens[index].kind != "sign":
                return None
            index += 1
        return None

    def _scoped(self, position: int, file: str | None) -> s.SyntaxNode:
        names = [""] if self.accept("::") else []
        while True:
            token = self.token
            if token.kind == "sign" and token.text == "~" and names:
                self.advance()
                raise self.error_at(token.position, "a destructor has no value")
            if token.kind != "name":
                raise self.error(f"a name is missing before {self.shown()}")
            self.advance()
            name = token.text
            if name == "operator":
                name += self._operator()
            elif self.token.text == "<":
                closed = self.closing_angle(self.index)
                if closed is not None and self.tokens[closed + 1].text == "::":
                    name += self.template_text(self.index, closed)
                    self.index = closed + 1
            names.append(name)
            if len(names) > s.MAX_PARTS:
                raise self.error_at(position, f"a name has more than {s.MAX_PARTS} parts")
            if not self.accept("::"):
                return s.Name(position, tuple(names), file)

    def _operator(self) -> str:
        token = self.token
        if token.kind != "sign":
            raise self.error("the sign of an operator is missing")
        self.advance()
        closing = {"(": ")", "[": "]"}.get(token.text)
        if closing is not None:
            self.expect(closing)
            return token.text + closing
        return token.text
