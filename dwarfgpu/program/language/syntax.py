"""The syntax tree of a source expression."""

from __future__ import annotations

from dwarfgpu.immutable import frozen

MAX_PARTS = 100
"""How many parts a name may have: ``a::b::c`` has three."""


@frozen
class SyntaxNode:
    """A part of an expression."""

    position: int
    """Where it is in the text, for error messages."""


@frozen
class TypeNode(SyntaxNode):
    """A type in an expression."""


@frozen
class Name(SyntaxNode):
    """``x``, ``ns::T::x``, ``::x``, ``'file.c'::x``, ``fn::x``. An empty first part is the outermost scope."""

    parts: tuple[str, ...]
    file: str | None = None
    """The source file that the name is looked up in."""

    @property
    def text(self) -> str:
        return "::".join(self.parts)


@frozen
class RegisterName(SyntaxNode):
    """``$pc``, ``$v4``, ``$lane``: a register, or a number of the state; without the dollar."""

    name: str


@frozen
class Integer(SyntaxNode):
    """A number as it was written: its type depends on the sizes of the target (`arithmetic.literal`)."""

    value: int
    suffix: str
    is_decimal: bool


@frozen
class Float(SyntaxNode):
    """``1.5f``: numerator and denominator, so that nothing is lost."""

    numerator: int
    denominator: int
    suffix: str


@frozen
class Character(SyntaxNode):
    """``'a'``, ``L'a'``."""

    value: int
    prefix: str


@frozen
class StringLiteral(SyntaxNode):
    """``"text"``: its characters without the zero at the end."""

    value: str
    prefix: str


@frozen
class Boolean(SyntaxNode):
    """``true`` and ``false``."""

    value: bool


@frozen
class Null(SyntaxNode):
    """``nullptr``."""


@frozen
class MemberAccess(SyntaxNode):
    """``s.m``, ``p->m``; the name may have a scope, ``s.Base::m``."""

    operand: SyntaxNode
    name: tuple[str, ...]
    is_arrow: bool


@frozen
class MemberPointerAccess(SyntaxNode):
    """``s.*m``, ``p->*m``."""

    operand: SyntaxNode
    pointer: SyntaxNode
    is_arrow: bool


@frozen
class Subscript(SyntaxNode):
    """``a[i]``."""

    operand: SyntaxNode
    index: SyntaxNode


@frozen
class ArrayPart(SyntaxNode):
    """``a[0:4, 2]``: a part of an array, as in Python: an index or a range for each dimension."""

    operand: SyntaxNode
    parts: tuple[SyntaxNode | tuple[SyntaxNode | None, SyntaxNode | None], ...]


@frozen
class Unary(SyntaxNode):
    """``*p``, ``&x``, ``!x``, ``~x``, ``-x``, ``+x``."""

    operator: str
    operand: SyntaxNode


@frozen
class Binary(SyntaxNode):
    """``+ - * / % << >> < <= > >= == != & ^ |``, and ``&&`` and ``||``, which may not evaluate the right operand."""

    operator: str
    left: SyntaxNode
    right: SyntaxNode


@frozen
class Conditional(SyntaxNode):
    """``c ? a : b``."""

    condition: SyntaxNode
    yes: SyntaxNode
    no: SyntaxNode


@frozen
class Assignment(SyntaxNode):
    """``x = y``; with an operator ``x += y``, of which ``++x`` and ``x++`` are cases."""

    target: SyntaxNode
    operator: str
    """Empty for ``=``."""
    value: SyntaxNode
    is_postfix: bool = False
    """Whether its value is the old one, as of ``x++``."""


@frozen
class Cast(SyntaxNode):
    """``(type) x``."""

    type: TypeNode
    operand: SyntaxNode


@frozen
class SizeOf(SyntaxNode):
    """``sizeof x``, ``sizeof (type)``."""

    operand: SyntaxNode | TypeNode


@frozen
class Repeat(SyntaxNode):
    """``x@8``: consecutive objects as an array."""

    operand: SyntaxNode
    count: SyntaxNode


@frozen
class At(SyntaxNode):
    """``{type} address``: the object at an address."""

    type: TypeNode
    address: SyntaxNode


@frozen
class InSpace(SyntaxNode):
    """``aspace#address``."""

    space: str
    address: SyntaxNode


@frozen
class Call(SyntaxNode):
    """``f(x)``. Functions are not called; conversions are written so too, ``int(x)``."""

    function: SyntaxNode | TypeNode
    arguments: tuple[SyntaxNode, ...]


# --- Types --------------------------------------------------------------------------------------------------------


@frozen
class NamedType(TypeNode):
    """A type by its name; ``keyword`` is the ``struct``, ``class``, ``union`` or ``enum`` before it, if any."""

    name: str
    keyword: str


@frozen
class QualifiedType(TypeNode):
    """``const T``; ``words`` in the order they were written."""

    words: tuple[str, ...]
    to: TypeNode


@frozen
class PointerType(TypeNode):
    """``T *``, ``T &``, ``T &&``; in an address space ``T @local *``."""

    sign: str
    to: TypeNode
    space: str | None = None


@frozen
class MemberPointerType(TypeNode):
    """``T C::*``."""

    owner: str
    to: TypeNode


@frozen
class ArrayType(TypeNode):
    """``T [4]``; None for ``T []``."""

    element: TypeNode
    count: int | None


@frozen
class FunctionType(TypeNode):
    """``T (int, char *)``."""

    result: TypeNode
    parameters: tuple[TypeNode, ...]
    is_variadic: bool
