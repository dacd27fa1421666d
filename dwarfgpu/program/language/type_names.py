"""Types in source expressions: ``unsigned long``, ``struct S *``, ``int (*)[3]``, ``int @local *``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.tokens import ExpressionError, Token, integer, tokens
from dwarfgpu.program.types.model import Array, Dimension, Function, Lazy, MemberPointer, Qualified, Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.program.language.operands import DataModel

    Lookup = Callable[[str, str], "Type | None"]
    SpaceNumber = Callable[[str], "int | None"]


QUALIFIERS = ("const", "volatile", "restrict", "__restrict", "__restrict__", "_Atomic")
KEYWORDS = ("struct", "class", "union", "enum")
ARITHMETIC = frozenset(
    ("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool", "_Bool", "wchar_t",
     "char8_t", "char16_t", "char32_t", "__int128", "_Float16", "__bf16", "_Complex")
)  # fmt: skip
"""The words that make up C's own types."""
MAX_DECLARATORS = 64


class TypeParser:
    """Parses the type that begins at the current token."""

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
            return self._array(node)
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

    def _array(self, node: s.ArrayType) -> Type:
        """Return an array type; merge arrays of arrays into one with several dimensions, as compilers describe them."""
        element = self.build(node.element)
        dimension = Dimension(0, count=node.count)
        if isinstance(element, Array) and not element.is_vector and isinstance(node.element, s.ArrayType):
            return Array(element.element_type, (dimension, *element.dimensions))
        return Array(Lazy.known(element), (dimension,))

    def _space(self, name: str) -> int:
        number = None if self.space_number is None else self.space_number(name)
        if number is None:
            raise UsageError(f"there is no address space named {name}", kind="no_address_space")
        return number
