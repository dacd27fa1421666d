"""Which bits of a result are undefined, from a formula, its operands, and which bits of these are undefined.

The undefined bits of a number are a number of the same size, a 1 for each; those of a flag are a flag. A bit of a
result is undefined if another value of an undefined bit of an operand could change it, as far as the operation tells:

- and, or, xor, shifts, slices, joins, choices, comparisons and sums of integers have rules, which look at the values of
  the bits that are defined;
- of a product of integers the bits are undefined from the lowest on that can change;
- of all else all bits are undefined if any bit of an operand is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dwarfgpu.isa.formulas import FLAG, Formula, Term, bits_of
from dwarfgpu.isa.semantics.columns import Columns
from dwarfgpu.isa.semantics.functions import permute_bytes, reversed_bits

Lanes = Any
_LONG_CALLS = ("ones", "clz", "ctz", "cls", "reversed", "quads", "whole_quads", "replicated")
"""Functions of bits that columns have for 32 bits only, or not at all."""


class _UnknownValue(Exception):
    """A part of a formula has no value as a column."""


def undefined_results(formula: Formula, values: Sequence[Lanes], undefined: Sequence[Lanes]) -> list[Lanes]:
    """Return the undefined bits of the results of an operation, ``nonzero`` among them.

    Values have the types of the formula, undefined bits unsigned ones.
    """
    rules = _Rules(
        dict(zip(formula.operands, values, strict=True)), dict(zip(formula.operands, undefined, strict=True))
    )
    try:
        rules.run(formula)
        found = [rules.undefined[name] for name in formula.targets]
        if "nonzero" in formula.results:
            found.append(_ordered(rules.values["D"], found[0], 0, 0, "!="))
    except _UnknownValue:
        is_any = _is_any(undefined)
        kinds = [FLAG if kind == "nonzero" else formula.type_of(kind) for kind in formula.results]
        found = [_spread(is_any, kind) for kind in kinds]
    return found


def _is_any(parts: Sequence[Lanes]) -> Lanes:
    flags = parts[0] != 0
    for part in parts[1:]:
        flags = flags | (part != 0)
    return flags


def _spread(flags: Lanes, kind: str) -> Lanes:
    """Return flags as numbers of a type with all bits, or none."""
    if kind == FLAG:
        return flags
    size = bits_of(kind) // 8
    return np.negative(flags.astype(f"i{size}")).view(f"u{size}")


def _unsigned(value: Lanes) -> Lanes:
    return value if value.dtype.kind in "ub" else value.view(f"u{value.dtype.itemsize}")


def _lowest(value: Lanes) -> Lanes:
    """Return the lowest 1 of each number alone."""
    return value & np.negative(value)


def _from_lowest(value: Lanes) -> Lanes:
    """Return all bits from the lowest 1 on."""
    return value | np.negative(value)


def _limits(value: Lanes, undefined: Lanes) -> tuple[Lanes, Lanes]:
    """Return the least and the greatest number that the undefined bits make."""
    if value.dtype.kind != "i":
        return value & ~undefined, value | undefined
    size = value.dtype.itemsize
    sign, bits = undefined & undefined.dtype.type(1 << 8 * size - 1), _unsigned(value)
    return (bits & ~undefined | sign).view(value.dtype), ((bits | undefined) & ~sign).view(value.dtype)


def _ordered(left: Lanes, left_undefined: Lanes, right: Lanes, right_undefined: Lanes, op: str) -> Lanes:
    """Return whether a comparison of integers is undefined."""
    any_undefined = (left_undefined != 0) | (right_undefined != 0)
    if op in ("==", "!="):
        left, right = (_unsigned(each) if hasattr(each, "dtype") else each for each in (left, right))
        return any_undefined & ((left ^ right) & ~(left_undefined | right_undefined) == 0)
    least, most = _limits(left, left_undefined)
    other_least, other_most = _limits(right, right_undefined)
    if op in ("<", ">="):
        return any_undefined & (least < other_most) & ~(most < other_least)
    return any_undefined & (other_least < most) & ~(other_most < least)


class _Rules:
    """The undefined bits of the terms of a formula, and the values of those that are needed."""

    METHODS: dict[str, str] = {  # noqa: RUF012 (never changed)
        **dict.fromkeys("+-", "_sum"), "*": "_product", "&": "_and", "|": "_or", "^": "_either", "~": "_same",
        "<<": "_shifted", ">>": "_shifted", **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), "_compared"),
        "source": "_source", "number": "_number", "negative": "_same", "if": "_chosen", "bits": "_part",
        "signext": "_extended", "join": "_joined", "convert": "_converted", "view": "_same", "call": "_called",
    }  # fmt: skip

    def __init__(self, values: dict[str, Lanes], undefined: dict[str, Lanes]) -> None:
        self.values = values
        self.undefined = undefined

    def run(self, formula: Formula) -> None:
        """Go through the statements."""
        statements = formula.statements
        needs_last = "nonzero" in formula.results
        for number, (names, term) in enumerate(statements):
            if len(names) > 1:
                flags = self._any(term)
                self.undefined |= {names[0]: _spread(flags, term.type), **dict.fromkeys(names[1:], flags)}
                return  # nothing reads what such a function returns
            undefined = self.bits(term)
            if number + 1 < len(statements) or needs_last:
                self.values[names[0]] = self.value(term)
            self.undefined[names[0]] = undefined

    def bits(self, term: Term) -> Lanes:
        """Return the undefined bits of a term."""
        method: Callable[[Term], Lanes] | None = getattr(self, self.METHODS.get(term.op, ""), None)
        return _spread(self._any(term), term.type) if method is None else method(term)

    def value(self, term: Term) -> Lanes:
        """Return the value of a term."""
        names, function = _value_of(term)
        return function(*(self.values[name] for name in names))

    def _unsigned_value(self, term: Term) -> Lanes:
        return _unsigned(self.value(term))

    def _any(self, term: Term) -> Lanes:
        return _is_any([self.bits(part) for part in _parts(term)])

    def _source(self, term: Term) -> Lanes:
        return self.undefined[term.args[0]]

    def _number(self, term: Term) -> Lanes:
        return np.zeros((1, 1), bool if term.type == FLAG else f"u{term.bits // 8}")

    def _same(self, term: Term) -> Lanes:
        return self.bits(term.args[0])

    def _either(self, term: Term) -> Lanes:
        return self.bits(term.args[0]) | self.bits(term.args[1])

    def _and(self, term: Term) -> Lanes:
        (left, right), (low, high) = map(self.bits, term.args), map(self._unsigned_value, term.args)
        return left & right | left & high | low & right

    def _or(self, term: Term) -> Lanes:
        (left, right), (low, high) = map(self.bits, term.args), map(self._unsigned_value, term.args)
        return left & right | left & ~high | ~low & right

    def _sum(self, term: Term) -> Lanes:
        if term.is_float:
            return _spread(self._any(term), term.type)
        left, right = map(self.bits, term.args)
        low, high = map(self._unsigned_value, term.args)
        if term.op == "+":
            ends = (low & ~left) + (high & ~right), (low | left) + (high | right)
        else:
            ends = (low & ~left) - (high | right), (low | left) - (high & ~right)
        return left | right | ends[0] ^ ends[1]

    def _product(self, term: Term) -> Lanes:
        if term.is_float:
            return _spread(self._any(term), term.type)
        left, right = map(self.bits, term.args)
        low, high = map(self._unsigned_value, term.args)
        first = _lowest(left) * _lowest(high | right)
        second = _lowest(right) * _lowest(low | left)
        return _from_lowest(first) | _from_lowest(second)

    def _shifted(self, term: Term) -> Lanes:
        value, count = term.args
        bits, unsure = self.bits(value), self.bits(count) != 0
        if value.is_signed and term.op == ">>":
            shifted = (bits.view(f"i{term.bits // 8}") >> self.value(count)).view(bits.dtype)
        else:
            by = self._unsigned_value(count)
            shifted = bits << by if term.op == "<<" else bits >> by
        if not unsure.any():
            return shifted
        is_zero = self._unsigned_value(value) | bits == 0
        return np.where(unsure, _spread(~is_zero, f"u{term.bits}"), shifted)

    def _compared(self, term: Term) -> Lanes:
        left, right = term.args
        if left.is_float or left.type == FLAG:
            return self._any(term)
        undefined = map(self.bits, term.args)
        return _ordered(self.value(left), next(undefined), self.value(right), next(undefined), term.op)

    def _chosen(self, term: Term) -> Lanes:
        condition, first, second = term.args
        unsure, left, right = map(self.bits, term.args)
        chosen = np.where(self.value(condition), left, right)
        if not unsure.any():
            return chosen
        return np.where(unsure, left | right | self._unsigned_value(first) ^ self._unsigned_value(second), chosen)

    def _part(self, term: Term) -> Lanes:
        value, high, low = term.args
        bits = self.bits(value)
        return bits >> low & bits.dtype.type((1 << high - low + 1) - 1)

    def _extended(self, term: Term) -> Lanes:
        bits = self.bits(term.args[0])
        unused = term.bits - term.width
        return ((bits << unused).view(f"i{term.bits // 8}") >> unused).view(bits.dtype)

    def _joined(self, term: Term) -> Lanes:
        whole, at = np.zeros((1, 1), f"u{term.bits // 8}"), 0
        for part in reversed(term.args):
            whole = whole | self.bits(part).astype(whole.dtype) << at
            at += part.size
        return whole

    def _converted(self, term: Term) -> Lanes:
        (value,) = term.args
        if term.is_float or value.is_float:
            return _spread(self._any(term), term.type)
        bits = self.bits(value)
        if value.is_signed:
            bits = bits.view(f"i{bits.dtype.itemsize}")
        return bits.astype(f"u{term.bits // 8}")

    def _called(self, term: Term) -> Lanes:
        name, *arguments = term.args
        kind = arguments[0].type
        if name == "abs":
            bits = self.bits(arguments[0])
            return bits & bits.dtype.type((1 << bits_of(kind) - 1) - 1)
        if name in ("min", "max") and kind[0] != "f":
            return self._extreme(*arguments, op="<" if name == "min" else ">")
        if name == "reversed" and bits_of(kind) == 32:
            return reversed_bits(self.bits(arguments[0]))
        if name == "permute_bytes":
            high, low, selector = map(self.bits, arguments)
            chosen = self._unsigned_value(arguments[2])
            for shift in (0, 8, 16, 24):  # the constants have no undefined bits
                is_constant = (chosen >> shift & 0xFF) > 12
                chosen = np.where(is_constant, chosen & np.uint32(~(0xFF << shift) & 0xFFFFFFFF) | 12 << shift, chosen)
            return permute_bytes(high, low, chosen) | _spread(selector != 0, "u32")
        flags = self._any(term)
        if name in ("ctz", "clz"):  # a 1 that is met before any undefined bit decides
            bits = self.bits(arguments[0])
            ones = self._unsigned_value(arguments[0]) & ~bits
            flags = flags & ((ones == 0) | (_lowest(ones) > _lowest(bits)) if name == "ctz" else ones < bits)
        whole = _spread(flags, term.type)
        return whole & whole.dtype.type(2 * bits_of(kind) - 1) if name == "ones" else whole

    def _extreme(self, left: Term, right: Term, *, op: str) -> Lanes:
        first, second, low, high = self.bits(left), self.bits(right), self.value(left), self.value(right)
        unsure = _ordered(low, first, high, second, op)
        chosen = np.where(low < high if op == "<" else low > high, first, second)
        return np.where(unsure, first | second | _unsigned(low) ^ _unsigned(high), chosen)


def _parts(term: Term) -> Iterator[Term]:
    yield from (each for each in term.args if hasattr(each, "op"))


def _sources(term: Term) -> Iterator[str]:
    if term.op == "source":
        yield term.args[0]
    for part in _parts(term):
        yield from _sources(part)


_KNOWN: dict[int, tuple[Term, tuple[tuple[str, ...], Any]]] = {}
"""Functions of the values of terms; the terms of formulas stay."""


def _value_of(term: Term) -> tuple[tuple[str, ...], Callable[..., Any]]:
    """Return a term as a function of columns, and the names that it needs."""
    known = _KNOWN.get(id(term))
    if known is None:
        if not _has_value(term):
            raise _UnknownValue
        names = tuple(dict.fromkeys(_sources(term)))
        writer = Columns()
        function = writer.compiled("value", f"def value({', '.join(names)}): return {writer.text(term)}")
        known = _KNOWN[id(term)] = term, (names, function)
    return known[1]


def _has_value(term: Term) -> bool:
    if term.op == "call" and term.args[0] in _LONG_CALLS and (
        bits_of(term.args[1].type) == 64 or term.args[0] in ("quads", "whole_quads", "replicated")
    ):  # fmt: skip
        return False
    return all(map(_has_value, _parts(term)))
