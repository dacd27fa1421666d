"""Formulas as functions of numbers that all lanes share: integers of Python, or a column where waves differ.

A number is a Python integer if all waves have the same, else an array ``[wave, 1]`` of unsigned 64-bit integers. The
formula is written for integers first. Where the text for arrays is another one, the function asks which it has got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dwarfgpu.isa.formulas import FLAG, Formula, PythonWriter, Term

Number: TypeAlias = Any

LOW = 0xFFFF_FFFF
ALL = (1 << 64) - 1


def flag(condition: Any) -> Number:
    """Return 0 or 1 for a condition."""
    return condition.astype(np.uint64) if isinstance(condition, np.ndarray) else int(condition)


# --- Functions of the bits of an integer --------------------------------------------------------------------------


def lowest_one(number: int) -> int:
    """Return the position of the lowest 1."""
    return (number & -number).bit_length() - 1 if number else LOW


def reversed_bits(bits: int) -> Callable[[int], int]:
    """Return the function that reverses numbers of some bits."""
    return lambda number: int(f"{number:0{bits}b}"[::-1], 2)


def leading_zeros(bits: int) -> Callable[[int], int]:
    """Return the function that counts the zeros above the highest 1 of numbers of some bits."""
    return lambda number: bits - number.bit_length() if number else LOW


def leading_signs(bits: int) -> Callable[[int], int]:
    """Return the function that counts the highest bits that are alike in numbers of some bits."""

    def count(number: int) -> int:
        differing = number ^ ((1 << bits) - 1) if number >> (bits - 1) else number
        return bits - differing.bit_length() if differing else LOW

    return count


def whole_quads(value: int) -> int:
    """Return a mask with all bits of a quad where one is set."""
    return sum(15 << at for at in range(0, 64, 4) if value >> at & 15)


def quads(number: int) -> int:
    """Return a mask with a bit for each quad that has one."""
    return sum(1 << at // 4 for at in range(0, 64, 4) if number >> at & 15)


def replicated(number: int) -> int:
    """Return a number with each bit twice."""
    return sum(3 << 2 * at for at in range(32) if number >> at & 1)


OF_BITS: dict[str, Callable[[int], Callable[[int], int]]] = {
    "ones": lambda _bits: int.bit_count,
    "ctz": lambda _bits: lowest_one,
    "clz": leading_zeros,
    "cls": leading_signs,
    "reversed": reversed_bits,
    "whole_quads": lambda _bits: whole_quads,
    "quads": lambda _bits: quads,
    "replicated": lambda _bits: replicated,
}
"""The functions of formulas, for numbers of some bits."""


# --- Writing ------------------------------------------------------------------------------------------------------


class Numbers(PythonWriter):
    """Writes a formula for integers of Python, which know no size: a term is cut where its higher bits would count.

    Signed terms are integers with a sign, all others have none.
    """

    def source(self, term: Term) -> str:
        """Registers are unsigned integers."""
        return str(term.args[0])

    def number(self, term: Term) -> str:
        """Numbers are as they are."""
        return f"{term.args[0]:#x}" if term.args[0] > 9 else str(term.args[0])

    def exact(self, term: Term) -> str:
        """Return the text of a term that is within its type."""
        text = self.text(term)
        if term.type == FLAG or term.width <= term.bits:
            return text
        text = f"({self.as_unsigned(text, term)} & {(1 << term.bits) - 1:#x})"
        return self.signed(text, term.bits) if term.is_signed else text

    def signed(self, text: str, bits: int) -> str:
        """Return an unsigned number of some bits as a signed one."""
        sign = f"{1 << bits - 1:#x}"
        return f"(({text} ^ {sign}) - {sign})"

    def as_unsigned(self, text: str, _term: Term) -> str:
        """Return a term whose lowest bits are those of an unsigned one."""
        return text

    def as_signed(self, text: str) -> str:
        """Return an unsigned term, which has room for a sign, as a signed one."""
        return text

    def result(self, term: Term) -> str:
        """Registers have unsigned integers."""
        return self.integer(term) if term.type == FLAG else self.exact(term)

    def integer(self, term: Term) -> str:
        """Return 0 or 1 for a flag."""
        if term.op == "source":
            return str(term.args[0])
        value, *others = term.args
        if term.op == "!=" and value.width == 1 and others[0].args == (0,):  # a bit
            return self.exact(value)
        return f"({self.integer(value)} ^ 1)" if term.op == "~" else self.flag(term)

    def flag(self, term: Term) -> str:
        """Return 0 or 1 for a condition."""
        return f"(1 if {self.text(term)} else 0)"

    def arithmetic(self, term: Term) -> str:
        """Sums and products may be too large for a time."""
        left, right = (self.text(part) for part in term.args)
        return f"({left} {term.op} {right})"

    def bitwise(self, term: Term) -> str:
        """Conditions are joined by words."""
        op = {"&": "and", "|": "or"}[term.op] if term.type == FLAG else term.op
        left, right = (self.text(part) for part in term.args)
        return f"({left} {op} {right})"

    def inverted(self, term: Term) -> str:
        """The bits of the type, the other way round."""
        text = self.text(term.args[0])
        return f"(not {text})" if term.type == FLAG else f"({text} ^ {(1 << term.bits) - 1:#x})"

    def shifted(self, term: Term) -> str:
        """To the right only what is exact."""
        value, count = term.args
        left = self.text(value) if term.op == "<<" else self.exact(value)
        if count.op == "convert" and count.is_signed:
            return f"({left} {term.op} {self.as_signed(self.exact(count.args[0]))})"
        return f"({left} {term.op} {self.exact(count)})"

    def compared(self, term: Term) -> str:
        """Only what is exact; signed numbers are in the order of unsigned ones if the sign is the other one."""
        if all(part.op == "view" for part in term.args):
            sign = f"{1 << term.args[0].bits - 1:#x}"
            left, right = (f"({self.exact(part.args[0])} ^ {sign})" for part in term.args)
        else:
            left, right = (self.exact(part) for part in term.args)
        return f"({left} {term.op} {right})"

    def chosen(self, term: Term) -> str:
        """Only one is computed."""
        condition, chosen, other = (self.text(part) for part in term.args)
        return f"({chosen} if {condition} else {other})"

    def part(self, term: Term) -> str:
        """Bits of a number, shifted down."""
        value, high, low = term.args
        text = self.as_unsigned(self.text(value), value)
        text = f"({text} >> {low})" if low else text
        is_whole = value.width <= high + 1 and not value.is_signed
        return text if is_whole else f"({text} & {(1 << high - low + 1) - 1:#x})"

    def extended(self, term: Term) -> str:
        """Bits of a number with their sign."""
        return self.signed(self.exact(term.args[0]), term.width)

    def joined(self, term: Term) -> str:
        """Parts above each other."""
        texts, at = [], 0
        for part in reversed(term.args):
            text = self.exact(part)
            texts.append(f"{text} << {at}" if at else text)
            at += part.size
        return f"({' | '.join(texts)})"

    def converted(self, term: Term) -> str:
        """A number as one of another type."""
        (value,) = term.args
        if value.type == FLAG:
            return self.integer(value)
        text = self.exact(value) if term.bits > value.bits or term.is_signed else self.text(value)
        if value.is_signed and not term.is_signed:
            return f"({self.as_unsigned(text, value)} & {(1 << term.bits) - 1:#x})"
        if term.is_signed and not value.is_signed:
            return self.signed(text, term.bits) if value.width >= term.bits else self.as_signed(text)
        return text

    def viewed(self, term: Term) -> str:
        """The same bits as another type."""
        return self.converted(term)

    def called(self, term: Term) -> str:
        """A function of integers."""
        name, *arguments = term.args
        texts = [self.exact(each) for each in arguments]
        if name in ("min", "max"):
            return f"{self.extreme(name)}({', '.join(texts)})"
        bits = arguments[0].bits
        return self.applied(self.name(f"{name}_{bits}", OF_BITS[name](bits)), texts[0])

    def extreme(self, name: str) -> str:
        """Return the function that is called for min or max."""
        return name

    def applied(self, function: str, text: str) -> str:
        """Return the result of a function of one integer."""
        return f"{function}({text})"


class NumberColumns(Numbers):
    """Writes a formula for arrays of unsigned 64-bit integers; a signed term is an array of signed ones."""

    def source(self, term: Term) -> str:
        """A flag is 0 or 1."""
        return f"({term.args[0]} != 0)" if term.type == FLAG else str(term.args[0])

    def signed(self, text: str, bits: int) -> str:
        """Return an unsigned number of some bits as a signed one."""
        if bits == 64:
            return f"{text}.view('i8')"
        return f"(({text} ^ {1 << bits - 1:#x}).view('i8') - {1 << bits - 1:#x})"

    def as_unsigned(self, text: str, term: Term) -> str:
        """Return a term whose lowest bits are those of an unsigned one."""
        return f"{text}.view('u8')" if term.is_signed else text

    def as_signed(self, text: str) -> str:
        """Return an unsigned term, which has room for a sign, as a signed one."""
        return f"{text}.view('i8')"

    def flag(self, term: Term) -> str:
        """Return 0 or 1 for a condition."""
        return f"{self.text(term)}.astype('u8')"

    bitwise = Numbers.arithmetic

    def inverted(self, term: Term) -> str:
        """Flags are arrays, too."""
        return f"(~{self.text(term.args[0])})" if term.type == FLAG else super().inverted(term)

    def chosen(self, term: Term) -> str:
        """Both are computed."""
        texts = [self.text(part) if part.op != "number" else f"c({self.text(part)})" for part in term.args]
        self.name("c", np.int64 if term.is_signed else np.uint64)
        return f"{self.name('where', np.where)}({', '.join(texts)})"

    def extreme(self, name: str) -> str:
        """Return the function that is called for min or max."""
        return self.name(name, np.minimum if name == "min" else np.maximum)

    def applied(self, function: str, text: str) -> str:
        """Return the results of a function of one integer."""
        return f"{self.name('mapped', mapped)}({function}, {text})"


def mapped(function: Callable[[int], int], numbers: Number) -> Number:
    """Apply a function of one integer to an array."""
    return np.array([[function(int(one))] for one in numbers[:, 0]], np.uint64)


def column(number: Number) -> Number:
    """Return a number as an array."""
    return number if isinstance(number, np.ndarray) else np.array([[number]], np.uint64)


def alone(result: Number) -> Number:
    """Return an array as a number: an integer if all waves have the same operands."""
    return int(result[0, 0]) if len(result) == 1 else result


def number_function(formula: Formula) -> Callable[..., Any]:
    """Return a formula as a function of numbers."""
    integers, columns = Numbers(), NumberColumns()
    text, other = integers.function_text(formula), columns.function_text(formula)
    if text == other:
        return integers.function(formula)
    names = formula.operands
    head, *lines = other.split("\n")
    lines = [*(f" if not isinstance({name}, array): {name} = column({name})" for name in names), *lines]
    columns.values.update(array=np.ndarray, column=column)
    together = columns.compiled(formula.name, "\n".join([head, *lines]))
    head, *lines = text.split("\n")
    asked = " or ".join(f"isinstance({name}, array)" for name in names)
    results = "tuple(map(alone, {}))" if len(formula.targets) > 1 else "alone({})"
    lines = [f" if {asked}: return {results.format(f'together({chr(44).join(names)})')}", *lines]
    integers.values.update(array=np.ndarray, together=together, alone=alone)
    return integers.compiled(formula.name, "\n".join([head, *lines]))
