"""The parser of source expressions: C's operators by precedence with GDB's additions; ``is_type`` decides on casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.tokens import ASSIGNMENTS, STEPS, ExpressionError, Token, integer, literal, tokens
from dwarfgpu.program.types.model import Array, Dimension, Function, Lazy, MemberPointer, Qualified, Type

if TYPE_CHECKING:
    from dwarfgpu.program.language.arithmetic import DataModel

    Lookup = Callable[[str, str], "Type | None"]

    SpaceNumber = Callable[[str], "int | None"]


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
QUALIFIERS = ("const", "volatile", "restrict", "__restrict", "__restrict__", "_Atomic")
KEYWORDS = ("struct", "class", "union", "enum")
ARITHMETIC = frozenset(
    ("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool", "_Bool", "wchar_t",
     "char8_t", "char16_t", "char32_t", "__int128", "_Float16", "__bf16", "_Complex")
)  # fmt: skip
"""The words that make up C's own types."""
MAX_DECLARATORS = 64


def parse(text: str, is_type: Callable[[str], bool] | None = None) -> s.SyntaxNode:
    """Parse an expression. ``is_type`` says whether a name is that of a type; without it only C's own are."""
    parser = Parser(text, is_type)
    tree = parser.expression()
    if parser.token.kind != "end":
        no_type = ""
        if isinstance(tree, s.Name) and text.lstrip().startswith("("):  # what follows would be a cast
            no_type = f": {tree.text[:80]} is not a type"
        if parser.token.text == ",":
            raise parser.error("one expression is expected, and a comma follows it")
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


class Parser:
    """The parser of one expression, token by token."""

    depth = 0
    operators = 0

    def __init__(self, text: str, is_type: Callable[[str], bool] | None = None) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.index = 0
        self.is_type: Callable[[str], bool] = is_type or (lambda _name: False)

    # --- Words ----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def peek(self, count: int) -> Token:
        """Return a later token, or the end token if there are not that many."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self, count: int = 1) -> Token:
        """Move past the current token; return it."""
        token = self.token
        self.index = min(self.index + count, len(self.tokens) - 1)
        return token

    def accept(self, sign: str) -> bool:
        """Consume the current token if it is this sign; return whether it was."""
        token = self.token
        if token.kind == "sign" and token.text == sign:
            self.index += 1
            return True
        return False

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            place = "" if self.token.kind == "end" else f" before {self.shown()}"
            raise self.error(f"a {sign} is missing{place}")

    def shown(self) -> str:
        """Return the current token, for a message."""
        text = self.token.text
        return "the end" if self.token.kind == "end" else text if len(text) <= 40 else f"{text[:37]}..."

    def error(self, message: str, *, hint: str | None = None) -> ExpressionError:
        return self.error_at(self.token.position, message, hint=hint)

    def error_at(self, position: int, message: str, *, hint: str | None = None) -> ExpressionError:
        return ExpressionError(self.text, position, message, hint=hint)

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
                position = self.advance().position
                kind = self.type()
                self.expect(")")
                self._count(position)
                return s.Cast(position, kind, self._unary())
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
                operand = self._subscript(token.position, operand)
            elif token.text in (".", "->"):
                self.advance()
                parts: list[str] = []
                while not parts or self.accept("::"):
                    if self.token.kind != "name":
                        raise self.error("the name of a member is missing")
                    parts.append(self.advance().text)
                operand = s.MemberAccess(token.position, operand, tuple(parts), token.text == "->")
            elif token.text == "(":
                operand = s.Call(token.position, operand, self._arguments())
            elif token.text in STEPS:
                self.advance()
                operand = _step(operand, token, is_postfix=True)
            else:
                break
            self._count(token.position)
        return operand

    def _subscript(self, position: int, operand: s.SyntaxNode) -> s.SyntaxNode:
        parts = [self._index()]
        while self.accept(","):
            parts.append(self._index())
        self.expect("]")
        index = parts[0]
        if len(parts) > 1 or isinstance(index, tuple):
            return s.ArrayPart(position, operand, tuple(parts))
        return s.Subscript(position, operand, index)

    def _index(self) -> s.SyntaxNode | tuple[s.SyntaxNode | None, s.SyntaxNode | None]:
        """Read an index, or a range: its ends may be missing."""
        first = None if self.token.text == ":" else self.expression()
        if first is not None and self.token.text != ":":
            return first
        self.advance()
        return first, None if self.token.text in (",", "]") else self.expression()

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
        if token.kind in ("integer", "float"):
            return literal(self.advance(), self.text)
        if token.kind == "string":
            first = self.advance()
            value = first.value
            while self.token.kind == "string" and self.token.prefix in ("", first.prefix):
                value += self.advance().value
            return s.StringLiteral(first.position, value, first.prefix)
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
        return literal(token, self.text)

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

    # --- Types ----------------------------------------------------------------------------------------------------

    def starts_type(self) -> bool:
        """Return whether a type begins here."""
        token = self.token
        if token.kind != "name":
            return token.kind == "sign" and token.text == "::" and self.named_type() is not None
        if token.text in ARITHMETIC or token.text in QUALIFIERS or token.text in KEYWORDS:
            return True
        return self.named_type() is not None

    def needed_type(self) -> s.TypeNode:
        """Parse a type; raise an error if none begins here."""
        if not self.starts_type():
            raise self.error("a type is missing")
        return self.type()

    def type(self) -> s.TypeNode:
        """Parse a whole type: its name and its declarator."""
        return self._declarator(self.specifiers(), 0)

    # --- Specifiers -----------------------------------------------------------------------------------------------

    def specifiers(self) -> s.TypeNode:
        position = self.token.position
        qualifiers: list[str] = []
        words: list[str] = []
        named: s.NamedType | None = None
        while self.token.kind == "name" or (self.token.text == "::" and not words and named is None):
            word = self.token.text
            if word in QUALIFIERS:
                qualifiers.append("restrict" if word.startswith("__") else word)
                self.advance()
            elif named is None and word in ARITHMETIC:
                words.append(word)
                self.advance()
            elif named is None and not words and word in KEYWORDS:
                self.advance()
                named = s.NamedType(position, self._any_name(word), word)
            elif named is None and not words:
                named_type = self.named_type()
                if named_type is None:
                    break
                name, count = named_type
                self.advance(count)
                named = s.NamedType(position, name, "")
            else:
                break
        if named is None:
            named = s.NamedType(position, self._arithmetic(words, position), "")
        if qualifiers:
            return s.QualifiedType(position, tuple(dict.fromkeys(qualifiers)), named)
        return named

    def _any_name(self, keyword: str) -> str:
        longest = self._longest(lambda _name: True) if self.token.kind == "name" else None
        if longest is None:
            raise self.error(f"the name of a {keyword} is missing")
        name, count = longest
        self.advance(count)
        return name

    def named_type(self) -> tuple[str, int] | None:
        """Return the longest type name that begins here, and the number of its tokens."""
        return self._longest(self.is_type)

    def _longest(self, accepts: Callable[[str], bool]) -> tuple[str, int] | None:
        """Return the longest accepted qualified name, with its template arguments, and the number of its tokens."""
        best: tuple[str, int] | None = None
        index = self.index
        parts: list[str] = []
        words = self.tokens
        if words[index].text == "::":
            index += 1
        while words[index].kind == "name" and len(parts) < s.MAX_PARTS:
            parts.append(words[index].text)
            index += 1
            plain = "::".join(parts)
            if accepts(plain):
                best = plain, index - self.index
            if words[index].text == "<":
                closed = self.closing_angle(index)
                if closed is not None:
                    text = self.template_text(index, closed)
                    whole = "::".join([*parts[:-1], parts[-1] + text])
                    if accepts(whole):
                        best = whole, closed + 1 - self.index
                        parts[-1] += text
                        index = closed + 1
            if words[index].text != "::":
                break
            index += 1
        return best

    def _arithmetic(self, words: list[str], position: int) -> str:
        """Return the usual name of a type written as words, such as ``long unsigned int``."""
        if not words:
            raise self.error("a type is missing")
        rest = [word for word in words if word not in ("signed", "unsigned", "long", "short", "int")]
        longs, shorts = words.count("long"), words.count("short")
        signs = [word for word in words if word in ("signed", "unsigned")]
        is_complex = "_Complex" in rest
        if is_complex:
            rest.remove("_Complex")
        base = rest[0] if rest else ""
        is_long_double = base == "double" and longs == 1
        if (
            max(len(rest), shorts, len(signs), words.count("int")) > 1
            or longs > 2
            or (longs and shorts)
            or (base and (shorts or "int" in words or (longs and not is_long_double)))
            or (base and signs and base not in ("char", "__int128"))
            or (is_complex and base not in ("float", "double"))
        ):
            raise self.error_at(position, f"{' '.join(words)} is not a type")
        sign = "unsigned " if "unsigned" in signs else ""
        if base == "char":
            return f"{signs[0]} char" if signs else "char"
        if base:
            return f"{sign}{'long ' * longs}{base}" if not is_complex else f"complex {'long ' * longs}{base}"
        if shorts:
            return f"{sign}short"
        return f"{sign}{' '.join(['long'] * longs) or 'int'}"

    # --- Declarators ----------------------------------------------------------------------------------------------

    def _declarator(self, base: s.TypeNode, depth: int) -> s.TypeNode:
        """Parse a declarator without a name: ``*``, ``&``, ``(*)[3]``."""
        if depth > MAX_DECLARATORS:
            raise self.error("a type is nested too deep")
        base = self._pointers(base, depth)
        if self.token.text == "(" and self._is_group():
            # What follows the group applies before its contents: int (*)[3] is a pointer to an array.
            self.advance()
            start = self.index
            self._skip_group()
            base = self._suffixes(base, depth)
            after = self.index
            self.index = start
            kind = self._declarator(base, depth + 1)
            self.expect(")")
            self.index = after
            return kind
        return self._suffixes(base, depth)

    def _pointers(self, base: s.TypeNode, depth: int) -> s.TypeNode:
        space: str | None = None
        count = 0
        while True:
            token = self.token
            count += 1
            if count > MAX_DECLARATORS:
                raise self.error("a type is nested too deep")
            if token.text == "@" and self.peek(1).kind == "name":
                space = self.peek(1).text
                self.advance(2)
            elif token.text in ("*", "&", "&&") and token.kind == "sign":
                self.advance()
                base = s.PointerType(token.position, token.text, base, space)
                space = None
            elif token.kind == "name" and token.text in QUALIFIERS:
                self.advance()
                word = "restrict" if token.text.startswith("__") else token.text
                base = s.QualifiedType(token.position, (word,), base)
            elif token.kind == "name" and self._owner_words():
                base = self._member_pointer(base)
            else:
                break
        if space is not None:
            raise self.error("`*` is missing after an address space", hint=f"write @{space} *")
        return base

    def _owner_words(self) -> int:
        """Return the number of tokens of the ``C::*`` that begins here; 0 where there is none."""
        index = self.index
        while self.tokens[index].kind == "name":
            index += 1
            if self.tokens[index].text == "<":
                closed = self.closing_angle(index)
                index = index if closed is None else closed + 1
            if self.tokens[index].text != "::":
                return 0
            index += 1
            if self.tokens[index].text == "*":
                return index + 1 - self.index
        return 0

    def _member_pointer(self, base: s.TypeNode) -> s.TypeNode:
        count = self._owner_words()
        first, last = self.token, self.tokens[self.index + count - 3]
        owner = self.text[first.position : last.end]
        self.advance(count)
        return s.MemberPointerType(first.position, owner, base)

    def _is_group(self) -> bool:
        following = self.peek(1)
        if following.text in ("*", "&", "&&", "(", "[", "@") and following.kind == "sign":
            return True
        if following.kind != "name":
            return False
        self.index += 1
        is_owner = bool(self._owner_words())
        self.index -= 1
        return is_owner

    def _skip_group(self) -> None:
        depth = 1
        while depth:
            token = self.token
            if token.kind == "end":
                raise self.error("a ) is missing")
            if token.kind == "sign":
                depth += (token.text == "(") - (token.text == ")")
            self.advance()

    def _suffixes(self, base: s.TypeNode, depth: int) -> s.TypeNode:
        """Parse ``[4]`` and ``(int)`` after a declarator; the last one applies first."""
        token = self.token
        if token.text == "[" and token.kind == "sign":
            self.advance()
            count = self._dimension()
            self.expect("]")
            if depth > MAX_DECLARATORS:
                raise self.error("a type is nested too deep")
            return s.ArrayType(token.position, self._suffixes(base, depth + 1), count)
        if token.text == "(" and token.kind == "sign" and self._has_parameters():
            self.advance()
            parameters, is_variadic = self._parameters(depth)
            return s.FunctionType(token.position, self._suffixes(base, depth + 1), parameters, is_variadic)
        return base

    def _dimension(self) -> int | None:
        token = self.token
        if token.text == "]":
            return None
        if token.kind != "integer":
            raise self.error("an array size must be an integer")
        self.advance()
        count = integer(token, self.text).value
        if count >> 62:
            raise self.error_at(token.position, f"an array cannot have {token.text} elements")
        return count

    def _has_parameters(self) -> bool:
        self.index += 1
        starts = self.token.text == ")" or self.starts_type()
        self.index -= 1
        return starts

    def _parameters(self, depth: int) -> tuple[tuple[s.TypeNode, ...], bool]:
        parameters: list[s.TypeNode] = []
        is_variadic = False
        if depth > MAX_DECLARATORS:
            raise self.error("a type is nested too deep")
        while self.token.text != ")":
            if self.token.text == "...":
                is_variadic = True
                self.advance()
                break
            parameters.append(self._declarator(self.specifiers(), depth + 1))
            if self.token.text != ",":
                break
            self.advance()
        self.expect(")")
        only = parameters[0] if len(parameters) == 1 else None
        if isinstance(only, s.NamedType) and only.name == "void":
            return (), is_variadic
        return tuple(parameters), is_variadic

    # --- Template arguments ---------------------------------------------------------------------------------------

    def closing_angle(self, index: int) -> int | None:
        """Return the index of the ``>`` that closes a ``<``; None if no template arguments are between them."""
        depth = 0
        words = self.tokens
        for position in range(index, min(index + 200, len(words))):
            token = words[position]
            if token.kind == "sign":
                if token.text == "<":
                    depth += 1
                elif token.text == ">":
                    depth -= 1
                    if not depth:
                        return position
                elif token.text == ">>":
                    self._split(position)
                    return self.closing_angle(index)
                elif token.text not in ("::", ",", "*", "&", "&&", "(", ")", "[", "]", "-", "..."):
                    return None
            elif token.kind not in ("name", "integer", "character"):
                return None
        return None

    def _split(self, position: int) -> None:
        token = self.tokens[position]
        pair = [Token("sign", ">", token.position), Token("sign", ">", token.position + 1)]
        self.tokens[position : position + 1] = pair

    def template_text(self, first: int, last: int) -> str:
        """Return template arguments as written in type names: ``<int, 4>``, with a space between closing brackets."""
        text = ""
        before = ""
        for token in self.tokens[first : last + 1]:
            if token.text == "," and token.kind == "sign":
                text += ", "
            elif token.text == ">" and before == ">":
                text += " >"
            elif text and text[-1].isalnum() and (token.kind == "name" or token.text in ("*", "&", "&&")):
                text += f" {token.text}"
            else:
                text += token.text
            before = token.text
        return text


# --- Building types -----------------------------------------------------------------------------------------------


@frozen
class TypeBuilder:
    """Builds types. ``lookup`` finds a type by name and keyword, ``space_number`` an address space by name."""

    model: DataModel
    lookup: Lookup
    space_number: SpaceNumber | None = None

    def build(self, node: s.TypeNode) -> Type:
        """Return the type that a syntax tree describes."""
        if isinstance(node, s.NamedType):
            return self._named(node)
        if isinstance(node, s.QualifiedType):
            kind = self.build(node.to)
            for word in reversed(node.words):
                kind = Qualified(word, Lazy.known(kind))
            return kind
        if isinstance(node, s.PointerType):
            space = None if node.space is None else self._space(node.space)
            return self.model.pointer_to(self.build(node.to), space, node.sign)
        if isinstance(node, s.MemberPointerType):
            target = self.build(node.to)
            owner = self._named(s.NamedType(node.position, node.owner, ""))
            size = self.model.pointer_size * (2 if isinstance(target, Function) else 1)
            return MemberPointer(Lazy.known(target), Lazy.known(owner), size)
        if isinstance(node, s.ArrayType):
            element = self.build(node.element)
            dimension = Dimension(0, count=node.count)
            if isinstance(element, Array) and not element.is_vector and isinstance(node.element, s.ArrayType):
                return Array(element.element_type, (dimension, *element.dimensions))
            return Array(Lazy.known(element), (dimension,))
        assert isinstance(node, s.FunctionType)  # noqa: S101 (there are no others)
        parameters = tuple(Lazy.known(self.build(parameter)) for parameter in node.parameters)
        return Function(Lazy.known(self.build(node.result)), Lazy.known(parameters), node.is_variadic)

    def _named(self, node: s.NamedType) -> Type:
        built = self.lookup(node.name, node.keyword)
        if built is None and not node.keyword and ARITHMETIC.union(("complex",)).issuperset(node.name.split()):
            return self.model.type(node.name)
        if built is None:
            kind = node.keyword or "type"
            raise UsageError(f"there is no {kind} named {node.name}", kind="no_type")
        return built

    def _space(self, name: str) -> int:
        number = None if self.space_number is None else self.space_number(name)
        if number is None:
            raise UsageError(f"there is no address space named {name}", kind="no_address_space")
        return number
