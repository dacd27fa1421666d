"""The syntax tree of a source expression. Each node has its column, for error messages."""

from __future__ import annotations

from typing import TypeAlias

from dwarfgpu.immutable import frozen

MAX_PARTS = 100
"""How many parts a name may have: ``a::b::c`` has three."""


@frozen
class Name:
    """``x``, ``ns::T::x``, ``::x``, ``'file.c'::x``, ``fn::x``. An empty first part is the outermost scope."""

    parts: tuple[str, ...]
    position: int
    file: str | None = None
    """The source file that the name is looked up in."""

    @property
    def text(self) -> str:
        return "::".join(self.parts)


@frozen
class RegisterName:
    """``$pc``, ``$v4``, ``$lane``: a register, or a number of the state; without the dollar."""

    name: str
    position: int


@frozen
class Integer:
    """A number as it was written: its type depends on the sizes of the target (`arithmetic.literal`)."""

    value: int
    suffix: str
    is_decimal: bool
    position: int


@frozen
class Float:
    """``1.5f``: numerator and denominator, so that nothing is lost."""

    numerator: int
    denominator: int
    suffix: str
    position: int


@frozen
class Character:
    """``'a'``, ``L'a'``."""

    value: int
    prefix: str
    position: int


@frozen
class StringLiteral:
    """``"text"``: its characters without the zero at the end."""

    value: str
    prefix: str
    position: int


@frozen
class Boolean:
    """``true`` and ``false``."""

    value: bool
    position: int


@frozen
class Null:
    """``nullptr``."""

    position: int


@frozen
class MemberAccess:
    """``s.m``, ``p->m``; the name may have a scope, ``s.Base::m``."""

    operand: Node
    name: tuple[str, ...]
    is_arrow: bool
    position: int


@frozen
class MemberPointerAccess:
    """``s.*m``, ``p->*m``."""

    operand: Node
    pointer: Node
    is_arrow: bool
    position: int


@frozen
class Subscript:
    """``a[i]``."""

    operand: Node
    index: Node
    position: int


@frozen
class Unary:
    """``*p``, ``&x``, ``!x``, ``~x``, ``-x``, ``+x``."""

    operator: str
    operand: Node
    position: int


@frozen
class Binary:
    """``+ - * / % << >> < <= > >= == != & ^ |``, and ``&&`` and ``||``, which may not evaluate the right operand."""

    operator: str
    left: Node
    right: Node
    position: int


@frozen
class Conditional:
    """``c ? a : b``."""

    condition: Node
    yes: Node
    no: Node
    position: int


@frozen
class Assignment:
    """``x = y``; with an operator ``x += y``, of which ``++x`` and ``x++`` are cases."""

    target: Node
    operator: str
    """Empty for ``=``."""
    value: Node
    position: int
    is_postfix: bool = False
    """Whether its value is the old one, as of ``x++``."""


@frozen
class Cast:
    """``(type) x``."""

    type: TypeNode
    operand: Node
    position: int


@frozen
class SizeOf:
    """``sizeof x``, ``sizeof (type)``."""

    operand: Node | TypeNode
    position: int


@frozen
class Repeat:
    """``x@8``: consecutive objects as an array."""

    operand: Node
    count: Node
    position: int


@frozen
class At:
    """``{type} address``: the object at an address."""

    type: TypeNode
    address: Node
    position: int


@frozen
class InSpace:
    """``aspace#address``."""

    space: str
    address: Node
    position: int


@frozen
class Call:
    """``f(x)``. Functions are not called; conversions are written so too, ``int(x)``."""

    function: Node | TypeNode
    arguments: tuple[Node, ...]
    position: int


# --- Types --------------------------------------------------------------------------------------------------------


@frozen
class NamedType:
    """A type by its name; ``keyword`` is the ``struct``, ``class``, ``union`` or ``enum`` before it, if any."""

    name: str
    keyword: str
    position: int


@frozen
class QualifiedType:
    """``const T``; ``words`` in the order they were written."""

    words: tuple[str, ...]
    to: TypeNode
    position: int


@frozen
class PointerType:
    """``T *``, ``T &``, ``T &&``; in an address space ``T @local *``."""

    sign: str
    to: TypeNode
    position: int
    space: str | None = None


@frozen
class MemberPointerType:
    """``T C::*``."""

    owner: str
    to: TypeNode
    position: int


@frozen
class ArrayType:
    """``T [4]``; None for ``T []``."""

    element: TypeNode
    count: int | None
    position: int


@frozen
class FunctionType:
    """``T (int, char *)``."""

    result: TypeNode
    parameters: tuple[TypeNode, ...]
    is_variadic: bool
    position: int


TypeNode: TypeAlias = "NamedType | QualifiedType | PointerType | MemberPointerType | ArrayType | FunctionType"
Node: TypeAlias = (
    "Name | RegisterName | Integer | Float | Character"
    " | StringLiteral | Boolean | Null | MemberAccess | MemberPointerAccess | Subscript"
    " | Unary | Binary | Conditional | Assignment | Cast | SizeOf | Repeat | At | InSpace | Call"
)
TYPE_NODES = (NamedType, QualifiedType, PointerType, MemberPointerType, ArrayType, FunctionType)
