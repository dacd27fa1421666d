"""Operators on complex numbers and on vectors: part by part, with the operators of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.dwarf_constants import DW_ATE_complex_float
from dwarfgpu.errors import UsageError
from dwarfgpu.program.source.operands import Operand, is_float, of_flags
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Dimension, Lazy
from dwarfgpu.program.types.sizes import byte_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.program.source.arithmetic import Arithmetic
    from dwarfgpu.program.types.model import Type

_PARTS = {8: "float", 16: "double", 32: "long double", 4: "_Float16"}
MAX_ELEMENTS = 1024


def unary(computer: Arithmetic, operator: str, operand: Operand) -> Operand | None:
    """An operator on a complex number or a vector; None for any other operand."""
    if _is_complex(operand.type):
        real, imaginary = _parts(computer, operand)
        if operator == "!":
            none = computer.logical("||", real, imaginary)
            return computer.unary("!", none)
        if operator == "~":  # the conjugate, as GNU C has it
            return _complex(operand.type, real, computer.unary("-", imaginary))
        return _complex(operand.type, computer.unary(operator, real), computer.unary(operator, imaginary))
    vector = _vector(operand.type)
    if vector is None:
        return None
    if operator == "!":
        raise _refused(operator, operand.type)
    element, count = vector
    found = [computer.cast(computer.unary(operator, each), element) for each in _elements(computer, operand)]
    return _packed(computer, element, count, found)


def binary(computer: Arithmetic, operator: str, left: Operand, right: Operand) -> Operand | None:
    """An operator of which an operand is a complex number or a vector; None for any others."""
    if _vector(left.type) is not None or _vector(right.type) is not None:
        return _on_vectors(computer, operator, left, right)
    if _is_complex(left.type) or _is_complex(right.type):
        return _on_complex(computer, operator, left, right)
    return None


def cast(computer: Arithmetic, operand: Operand, type: Type) -> Operand | None:
    """A conversion from or to a complex number or a vector; None for any other."""
    if _is_complex(type):
        part = computer.model.base(_PARTS[byte_size(type)])
        if _is_complex(operand.type):
            real, imaginary = _parts(computer, operand)
        else:
            real, imaginary = operand, Operand(computer.model.base("int"), 0)
        return _complex(type, computer.cast(real, part), computer.cast(imaginary, part))
    if _is_complex(operand.type):
        return computer.cast(_parts(computer, operand)[0], type)
    target = _vector(type)
    if target is not None:
        element, count = target
        if _vector(operand.type) is not None:
            if byte_size(operand.type) != byte_size(type):
                raise UsageError("vectors of different sizes do not convert", kind="type_mismatch")
            return Operand(type, operand.bits)
        return _packed(computer, element, count, [computer.cast(operand, element)] * count)
    return None


# --- Complex numbers ----------------------------------------------------------------------------------------------


def _is_complex(type: Type) -> bool:
    inner = resolved(type)
    return isinstance(inner, Base) and inner.encoding == DW_ATE_complex_float and inner.byte_size in _PARTS


def _parts(computer: Arithmetic, operand: Operand) -> tuple[Operand, Operand]:
    if not _is_complex(operand.type):
        return operand, Operand(computer.model.base("int"), 0)
    size = byte_size(operand.type) // 2
    part = computer.model.base(_PARTS[2 * size])
    used = {"long double": 80}.get(part.name, 8 * size)
    low = b.resized(operand.bits, used)
    high = b.resized(b.shr(operand.bits, 8 * size, 16 * size), used)
    pair = (low, high) if computer.model.byte_order == "little" else (high, low)
    return Operand(part, pair[0]), Operand(part, pair[1])


def _complex(type: Type, real: Operand, imaginary: Operand) -> Operand:
    """The real part stands first; as a number of a little-endian target that is the low half."""
    half = 4 * byte_size(type)
    high = b.shl(b.resized(imaginary.bits, 2 * half), half, 2 * half)
    return Operand(type, b.resized(real.bits, 2 * half) | high)


def _on_complex(computer: Arithmetic, operator: str, left: Operand, right: Operand) -> Operand:
    kinds = [each for each in (left.type, right.type) if _is_complex(each)]
    kind = max(kinds, key=byte_size)
    part = computer.model.base(_PARTS[byte_size(kind)])
    for each in (left, right):  # complex float and double are computed as complex double
        if not _is_complex(each.type) and is_float(each.type) and byte_size(each.type) > byte_size(part):
            part = computer.model.base(_PARTS[2 * byte_size(each.type)])
            kind = computer.model.base(f"complex {part.name}")
    (a, c), (e, f) = (
        (computer.cast(x, part), computer.cast(y, part))
        for x, y in (_parts(computer, left), _parts(computer, right))
    )
    if operator in ("==", "!="):
        same = computer.logical("&&", computer.binary("==", a, e), computer.binary("==", c, f))
        return same if operator == "==" else computer.unary("!", same)
    if operator in ("+", "-"):
        return _complex(kind, computer.binary(operator, a, e), computer.binary(operator, c, f))
    product = computer.binary
    if operator == "*":
        real = product("-", product("*", a, e), product("*", c, f))
        return _complex(kind, real, product("+", product("*", a, f), product("*", c, e)))
    if operator == "/":
        size = product("+", product("*", e, e), product("*", f, f))
        real = product("/", product("+", product("*", a, e), product("*", c, f)), size)
        imaginary = product("/", product("-", product("*", c, e), product("*", a, f)), size)
        return _complex(kind, real, imaginary)
    raise _refused(operator, kind)


# --- Vectors ------------------------------------------------------------------------------------------------------


def _vector(type: Type) -> tuple[Type, int] | None:
    """Element and count of a vector type; None for any other type."""
    inner = resolved(type)
    if isinstance(inner, Base) and inner.vector_size is not None:
        return _limited(inner.element, inner.vector_size)
    if isinstance(inner, Array) and inner.is_vector and len(inner.dimensions) == 1:
        length = inner.dimensions[0].length
        return None if length is None else _limited(inner.element, length)
    return None


def _limited(element: Type, count: int) -> tuple[Type, int]:
    if count > MAX_ELEMENTS:
        message = f"vectors of more than {MAX_ELEMENTS} elements are not computed with"
        raise UsageError(message, kind="limit_exceeded")
    return element, count


def _elements(computer: Arithmetic, operand: Operand) -> list[Operand]:
    vector = _vector(operand.type)
    if vector is None:
        return []
    element, count = vector
    width = 8 * byte_size(element)
    places = range(count) if computer.model.byte_order == "little" else range(count - 1, -1, -1)
    total = width * count
    return [Operand(element, b.resized(b.shr(operand.bits, place * width, total), width)) for place in places]


def _packed(computer: Arithmetic, element: Type, count: int, found: list[Operand]) -> Operand:
    width = 8 * byte_size(element)
    total = width * count
    if computer.model.byte_order == "big":
        found.reverse()
    bits: Any = 0
    for place, each in enumerate(found):
        bits = bits | b.shl(b.resized(each.bits, total), place * width, total)
    kind = Array(Lazy.known(element), (Dimension(0, count=count),), is_vector=True)
    return Operand(kind, bits)


def _on_vectors(computer: Arithmetic, operator: str, left: Operand, right: Operand) -> Operand:
    """Element by element; a scalar beside a vector stands for as many of it. A comparison gives 0 and -1."""
    found = _vector(left.type) or _vector(right.type)
    assert found is not None  # noqa: S101 (the caller has looked)
    element, count = found
    sides = []
    for each in (left, right):
        vector = _vector(each.type)
        if vector is None:
            sides.append([computer.cast(each, element)] * count)
            continue
        if vector[1] != count or byte_size(vector[0]) != byte_size(element):
            raise UsageError("vectors of different shapes have no common operator", kind="type_mismatch")
        sides.append(_elements(computer, each))
    pairs = zip(*sides, strict=True)
    if operator in ("==", "!=", "<", "<=", ">", ">="):
        size = byte_size(element)
        mask = computer.model.base({1: "signed char", 2: "short", 4: "int", 8: "long"}.get(size, "long"))
        one = [computer.unary("-", computer.binary(operator, *pair)) for pair in pairs]
        return _packed(computer, mask, count, [computer.cast(each, mask) for each in one])
    return _packed(
        computer, element, count, [computer.cast(computer.binary(operator, *pair), element) for pair in pairs]
    )


def _refused(operator: str, type: Type) -> UsageError:
    return UsageError(f"{operator} has no meaning for the type {safe_text(type)}", kind="bad_operand")


__all__ = ["binary", "cast", "of_flags", "unary"]
