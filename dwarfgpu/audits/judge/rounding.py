"""How far apart roundings can put two floats of builds of the same source.

A compiler may contract a multiplication and an addition, or may not (C11, 6.5 (8)). Each result is then a little off,
by a share of itself. Where a sum cancels, the difference stays as large as its terms have made it, however small the
sum is: it is measured by the terms of the statement that assigns the variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.parser import parse

_ASSIGNED = r"(?<![.>\w])\b{}\s*([-+*/]?)=(?!=)([^;]*)"
_CHANGED_OTHERWISE = r"(?:&|\+\+|--)\s*{0}\b|\b{0}\s*(?:\+\+|--|[.[])"
_ELEMENT_WRITTEN = r"\b{0}\s*\[[^;]*\]\s*[-+*/]?=(?!=)|[=(,]\s*&?\s*{0}\b(?!\s*\[)"
"""An array of which an element is assigned, or that becomes known by another name."""
MOST_TERMS = 4
"""The statements, one for the operands of another, that are followed."""


def differ_by_rounding(floats: Any, others: Any, scale: Any = 0.0) -> Any:
    """Return which floats may be the same but for rounding.

    They agree in half of their digits, or in three quarters of those of the terms that they are sums of, or neither is
    a number: IEEE 754 gives a NaN no sign (6.3). What a rounding leaves of a product of two terms has a digit within
    twice their digits; a difference beyond four times as many, such as an integer that is read as a float, is none.
    """
    digits = np.finfo(floats.dtype).nmant
    floats, others = np.float64(floats), np.float64(others)
    with np.errstate(all="ignore"):
        distance = np.abs(floats - others)
        is_near = distance <= 2.0 ** -(digits // 2) * np.minimum(np.abs(floats), np.abs(others))
        is_left = (distance == 0) | (distance >= 2.0 ** (-4 * digits) * scale)
        is_left &= (distance <= 2.0 ** -(digits * 3 // 4) * scale) & (scale > 0)
        is_near = (is_near & (floats != 0)) | is_left
    return (is_near & np.isfinite(floats)) | (np.isnan(floats) & np.isnan(others))


def size_of_terms(name: str, statements: Collection[str], values: Mapping[str, float]) -> float:
    """Return how large the terms of a variable are in the statements that have assigned it and its operands.

    An operand that is not known, such as an element of a buffer, counts as the largest of the variables.
    """
    return _SummedTerms(statements, values).of(name, MOST_TERMS)


def may_be_rounded(name: str, statements: Collection[str], depth: int = MOST_TERMS) -> bool:
    """Return whether builds may round a variable in different ways, by the statements that assign it.

    They may not where each gives it a number, an element of an array that none assigns, or another such variable.
    """
    word = re.escape(name)
    if not depth or any(re.search(_CHANGED_OTHERWISE.format(word), text) for text in statements):
        return True
    assignments = [found for text in statements for found in re.finditer(_ASSIGNED.format(word), text)]
    return not assignments or any(found[1] or not _is_exact(found[2], statements, depth) for found in assignments)


def _is_exact(text: str, statements: Collection[str], depth: int) -> bool:
    try:
        node = parse(text)
    except DwarfGpuError:
        return False
    while isinstance(node, s.Cast):
        node = node.operand
    if isinstance(node, s.Subscript) and isinstance(node.operand, s.Name):
        written = _ELEMENT_WRITTEN.format(re.escape(node.operand.parts[-1]))
        return not any(re.search(written, each) for each in statements)
    if isinstance(node, s.Name) and len(node.parts) == 1:
        return not may_be_rounded(node.parts[0], statements, depth - 1)
    return isinstance(node, (s.Integer, s.Float))


@lru_cache(1 << 10)
def _assigned_to(name: str, statements: tuple[str, ...]) -> list[s.SyntaxNode | None]:
    """Return what statements assign to a variable; None for what cannot be read."""
    pattern = re.compile(_ASSIGNED.format(re.escape(name)))
    nodes: list[s.SyntaxNode | None] = []
    for found in filter(None, map(pattern.search, statements)):
        try:
            nodes.append(parse(f"{name} {found[1]} ({found[2]})" if found[1] else found[2]))
        except DwarfGpuError:
            nodes.append(None)
    return nodes


class _SummedTerms:
    def __init__(self, statements: Collection[str], values: Mapping[str, float]) -> None:
        self.statements = tuple(statements)
        self.values = values
        self.largest = max(values.values(), default=0.0)

    def of(self, name: str, depth: int) -> float:
        """Return the size of a variable: its own, or that of its terms."""
        assignments = _assigned_to(name, self.statements)
        is_known = assignments or depth < MOST_TERMS  # the terms of a parameter are those of a caller
        size = self.values.get(name, self.largest) if is_known else self.largest
        for node in assignments if depth else ():
            try:
                size = max(size, self.largest if node is None else self._size(node, depth - 1, name))
            except DwarfGpuError:
                size = max(size, self.largest)
        return size

    def _size(self, node: s.SyntaxNode, depth: int, assigned: str) -> float:
        if isinstance(node, s.Integer):
            return float(node.value)
        if isinstance(node, s.Float):
            return node.numerator / node.denominator
        if isinstance(node, s.Cast) or (isinstance(node, s.Unary) and node.operator in "+-"):
            return self._size(node.operand, depth, assigned)
        if isinstance(node, s.Name) and len(node.parts) == 1:
            (name,) = node.parts
            return self.values.get(name, self.largest) if name == assigned else self.of(name, depth)
        if isinstance(node, s.Conditional):
            return max(self._size(each, depth, assigned) for each in (node.yes, node.no))
        if isinstance(node, s.Binary) and node.operator in "+-*/":
            left, right = (self._size(each, depth, assigned) for each in (node.left, node.right))
            if node.operator in "+-":
                return left + right
            return left * right if node.operator == "*" else left / right if right else self.largest
        return self.largest
