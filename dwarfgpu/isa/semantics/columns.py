"""Formulas as functions of columns: arrays of numpy with one element for each wave and lane.

An integer is an array of its own type, so sums and products are cut to it by themselves. Numbers of a formula are made
once, as arrays without an axis, which numpy combines faster than numbers of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dwarfgpu.isa.formulas import FLAG, Formula, PythonWriter, Term
from dwarfgpu.isa.semantics.floats import left_first, multiplied
from dwarfgpu.isa.semantics.functions import FUNCTIONS, merged, saturated


def dtype_of(kind: str) -> Any:
    """Return the type of numpy for a type of formulas."""
    return np.dtype(bool if kind == FLAG else f"{kind[0]}{int(kind[1:]) // 8}")


_LEFT_FIRST = {"+": ("added", left_first(np.add)), "*": ("multiplied", multiplied)}


class Columns(PythonWriter):
    """Writes a formula for columns."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[tuple[str, str], str] = {}

    def source(self, term: Term) -> str:
        """An operand has the type that the row gives it."""
        return str(term.args[0])

    def number(self, term: Term) -> str:
        """A number is made once."""
        return self._constant(term.args[0], term.type)

    def kind(self, kind: str) -> str:
        """Return the type in which terms of a type are computed."""
        return kind

    def _constant(self, value: float, kind: str) -> str:
        kind = self.kind(kind)
        array = np.array([[value]] if kind == FLAG else value, dtype_of(kind))
        array.setflags(write=False)
        known = self._numbers.setdefault((kind, str(value)), f"c{len(self._numbers)}")
        return self.name(known, array)

    def _dtype(self, kind: str) -> str:
        return self.name(self.kind(kind), dtype_of(self.kind(kind)))

    def arithmetic(self, term: Term) -> str:
        """Arrays overflow as registers do. Of two NaNs a sum or product is the left one."""
        left, right = (self.text(part) for part in term.args)
        if term.is_float and term.op in _LEFT_FIRST:
            return f"{self.name(*_LEFT_FIRST[term.op])}({left}, {right})"
        return f"({left} {term.op} {right})"

    bitwise = shifted = compared = arithmetic

    def inverted(self, term: Term) -> str:
        """The type says which bits there are."""
        return f"(~{self.text(term.args[0])})"

    def negative(self, term: Term) -> str:
        """A float with the other sign."""
        return f"(-{self.text(term.args[0])})"

    def chosen(self, term: Term) -> str:
        """Both are computed, and one is taken for each lane."""
        texts = ", ".join(self.text(part) for part in term.args)
        is_plain = not term.is_float and all(part.op != "number" for part in term.args)
        name = self.name("merged", merged) if is_plain else self.name("where", np.where)
        return f"{name}({texts})"

    def part(self, term: Term) -> str:
        """Bits of a number, shifted down."""
        value, high, low = term.args
        text = self.text(value)
        if low:
            text = f"({text} >> {self._constant(low, value.type)})"
        return text if high == value.bits - 1 else f"({text} & {self._constant((1 << high - low + 1) - 1, value.type)})"

    def extended(self, term: Term) -> str:
        """Bits of a number with their sign."""
        (value,) = term.args
        bits = 8 * dtype_of(self.kind(term.type)).itemsize
        unused = bits - value.width
        if value.op == "bits":
            value, high, _low = value.args
            unused = bits - 1 - high
        text = self.text(value)
        if self.kind(value.type) != self.kind(term.type):
            text = f"{text}.view({self._dtype(term.type)})"
        text = f"({text} << {self._constant(unused, term.type)})" if unused else text
        return f"({text} >> {self._constant(bits - term.width, term.type)})" if term.width < bits else text

    def joined(self, term: Term) -> str:
        """Parts above each other."""
        texts, at = [], 0
        for part in reversed(term.args):
            text = self._as(part, term.type)
            texts.append(f"({text} << {self._constant(at, term.type)})" if at else text)
            at += part.size
        return f"({' | '.join(texts)})"

    def _as(self, term: Term, kind: str) -> str:
        text = self.text(term)
        if term.type == kind:
            return text
        is_view = term.bits == int(kind[1:]) and term.type != FLAG and not term.is_float
        return f"{text}.{'view' if is_view else 'astype'}({self._dtype(kind)})"

    def converted(self, term: Term) -> str:
        """A number as one of another type."""
        (value,) = term.args
        if value.is_float and term.type[0] != "f":
            limited = self.name("saturated", saturated)
            return f"{limited}({self.name('trunc', np.trunc)}({self.text(value)}), {self._dtype(term.type)})"
        if term.type[0] == "f":
            return f"{self.text(value)}.astype({self._dtype(term.type)})"
        return self._as(value, term.type)

    def viewed(self, term: Term) -> str:
        """The same bits as another type."""
        return f"{self.text(term.args[0])}.view({self._dtype(term.type)})"

    def called(self, term: Term) -> str:
        """A function of arrays; some are another one for integers, or for each type of floats."""
        name, *arguments = term.args
        key = self.name(f"{name}_{arguments[0].type}", self._called(*term.args))
        return f"{key}({', '.join(self.text(each) for each in arguments)})"

    @staticmethod
    def _called(name: str, first: Term, *_others: Term) -> Callable[..., Any]:
        kind = first.type
        return FUNCTIONS.get(f"{name} {kind}") or FUNCTIONS.get(f"{name} {kind[0]}") or FUNCTIONS[name]

    def function(self, formula: Formula) -> Callable[..., Any]:
        """Compile a formula; one that only calls a function is that function."""
        (_names, term), *others = formula.statements
        if others or term.op != "call" or tuple(part.args[0] for part in term.args[1:]) != formula.operands:
            return super().function(formula)
        return self._called(*term.args)


class _ExactColumns(Columns):
    """Writes a formula of 16 or 32 bits for columns of 64 bits, in which nothing overflows."""

    def kind(self, kind: str) -> str:
        return "i64" if kind[0] in "ui" else kind

    def converted(self, term: Term) -> str:
        return self.text(term.args[0])


def clamped_function(formula: Formula) -> Callable[..., Any]:
    """Return a formula as a function whose result is the nearest number where the exact one does not fit."""
    exact = _ExactColumns().function(formula)
    limits = np.iinfo(dtype_of(formula.type_of(formula.results[0])))

    def run(*columns: Any) -> Any:
        total = exact(*(column.astype(np.int64) for column in columns))
        return np.clip(total, limits.min, limits.max).astype(limits.dtype)

    return run
