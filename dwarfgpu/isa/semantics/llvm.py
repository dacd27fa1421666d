"""Formulas as LLVM IR: for a vector of some lanes, or for one number that all lanes share.

The third writer beside `dwarfgpu.isa.semantics.columns` and `dwarfgpu.isa.semantics.numbers`. It writes text and needs
no LLVM. The terms of a formula are exact and have types, so each of them is one instruction or few. A function of
formulas that has no row in `CALLS` is not written: `NotWritten` says so, and whoever compiles leaves the operation to
the other writers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dwarfgpu.isa.formulas import FLAG, Formula, Term, Writer, bits_of

_INTEGER = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_ORDERED = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_PREDICATES = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_FLOATS = {"f16": "half", "f32": "float", "f64": "double"}
_FRACTIONS = {"f16": 10, "f32": 23, "f64": 52}


class NotWritten(Exception):
    """An operation that has no text in LLVM IR here."""


class LlvmText:
    """The lines of a function, with names for what they compute and the intrinsics that they call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.block = "entry"
        """The basic block that is written."""
        self._names = 0

    def name(self, stem: str = "t") -> str:
        """Return a new name."""
        self._names += 1
        return f"{stem}{self._names}"

    def do(self, line: str) -> None:
        """Add a line without a result."""
        self.lines.append(f"  {line}")

    def put(self, text: str) -> str:
        """Add a line with a result; return its name."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")
        self.block = name

    def call(self, intrinsic: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call an intrinsic with arguments (type, value); return the name of its result."""
        self.declared[intrinsic] = f"declare {result} @{intrinsic}({', '.join(kind for kind, _ in arguments)})"
        return self.put(f"call {result} @{intrinsic}({', '.join(f'{kind} {value}' for kind, value in arguments)})")


class Vectors:
    """Values of one number of lanes: their types, constants and operations. One lane is a number."""

    def __init__(self, ir: LlvmText, lanes: int) -> None:
        self.ir = ir
        self.lanes = lanes

    def type(self, kind: str) -> str:
        """Return the type of LLVM for a type of formulas."""
        name = "i1" if kind == FLAG else _FLOATS.get(kind) or f"i{kind[1:]}"
        return name if self.lanes == 1 else f"<{self.lanes} x {name}>"

    def suffix(self, kind: str) -> str:
        """Return the end of the name of an intrinsic for a type."""
        name = f"f{kind[1:]}" if kind[0] == "f" and kind != FLAG else f"i{bits_of(kind)}"
        return name if self.lanes == 1 else f"v{self.lanes}{name}"

    def constant(self, value: float, kind: str) -> str:
        """Return a number of a type."""
        if kind == FLAG:
            text, name = ("true" if value else "false"), "i1"
        elif kind in _FLOATS:
            name = _FLOATS[kind]
            if kind == "f16":
                text = f"0xH{int(np.float16(value).view(np.uint16)):04X}"
            else:
                rounded = float(np.float32(value)) if kind == "f32" else float(value)
                text = f"0x{int(np.float64(rounded).view(np.uint64)):016X}"
        else:
            bits = bits_of(kind)
            name, text = f"i{bits}", str((int(value) & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1))
        return text if self.lanes == 1 else f"splat ({name} {text})"

    def spread(self, number: str, kind: str) -> str:
        """Return one number for all lanes."""
        if self.lanes == 1:
            return number
        whole, one = self.type(kind), Vectors(self.ir, 1).type(kind)
        first = self.ir.put(f"insertelement {whole} poison, {one} {number}, i32 0")
        return self.ir.put(f"shufflevector {whole} {first}, {whole} poison, <{self.lanes} x i32> zeroinitializer")

    def operate(self, operation: str, kind: str, *values: str) -> str:
        """Write an operation on values of one type. Halfs are computed as singles, as numpy does."""
        if kind == "f16" and operation != "fneg":
            result = self.operate(operation, "f32", *(self.widened(value, "f32") for value in values))
            return result if operation.startswith("fcmp") else self.halved(result, "f32")
        return self.ir.put(f"{operation} {self.type(kind)} {', '.join(values)}")

    def cast(self, operation: str, value: str, source: str, target: str) -> str:
        """Write a conversion."""
        return self.ir.put(f"{operation} {self.type(source)} {value} to {self.type(target)}")

    def as_float(self, value: str, source: str, target: str) -> str:
        """Return a float as one of another type, rounded to nearest."""
        if source == target:
            return value
        if source == "f16":
            return self.widened(value, target)
        if target == "f16":
            return self.halved(value, source)
        return self.cast("fptrunc" if bits_of(source) > bits_of(target) else "fpext", value, source, target)

    def widened(self, value: str, target: str) -> str:
        """Return halfs as floats of another type. Processors without such an instruction exist."""
        number = partial(self.constant, kind="u32")
        bits = self.resized(self.view(value, "f16", "u16"), "u16", "u32")
        sign = self.operate("shl", "u32", self.operate("and", "u32", bits, number(0x8000)), number(16))
        moved = self.operate("shl", "u32", self.operate("and", "u32", bits, number(0x7FFF)), number(13))
        scaled = self.operate("fmul", "f32", self.view(moved, "u32", "f32"), self.constant(2.0**112, "f32"))
        is_finite = self.operate("icmp ult", "u32", moved, number(0x1F << 23))
        special = self.operate("or", "u32", moved, number(0xFF << 23))
        result = self.choose(is_finite, "u32", self.view(scaled, "f32", "u32"), special)
        return self.as_float(self.view(self.operate("or", "u32", result, sign), "u32", "f32"), "f32", target)

    def halved(self, value: str, source: str) -> str:
        """Return floats of another type as the nearest halfs."""
        bits, fraction = bits_of(source), _FRACTIONS[source]
        kind, bias, lost = f"u{bits}", (1 << bits - fraction - 2) - 1, fraction - 10
        number = partial(self.constant, kind=kind)
        whole = self.view(value, source, kind)
        sign = self.operate("and", kind, whole, number(1 << bits - 1))
        size = self.operate("xor", kind, whole, sign)
        # The last bit of a sum with this number is that of the smallest half, which rounds denormal halfs.
        magic = number(bias - 15 + lost + 1 << fraction)
        small = self.operate("fadd", source, self.view(size, kind, source), self.view(magic, kind, source))
        small = self.operate("sub", kind, self.view(small, source, kind), magic)
        odd = self.operate("and", kind, self.operate("lshr", kind, size, number(lost)), number(1))
        rounded = self.operate("add", kind, size, number((15 - bias << fraction) + (1 << lost - 1) - 1))
        result = self.operate("lshr", kind, self.operate("add", kind, rounded, odd), number(lost))
        is_small = self.operate("icmp ult", kind, size, number(bias - 14 << fraction))
        result = self.choose(is_small, kind, small, result)
        is_large = self.operate("icmp uge", kind, size, number(bias + 16 << fraction))
        result = self.choose(is_large, kind, number(0x7C00), result)
        is_nan = self.operate("icmp ugt", kind, size, number(2 * bias + 1 << fraction))
        payload = self.operate("or", kind, self.operate("lshr", kind, size, number(lost)), number(0x7C00))
        payload = self.operate("and", kind, payload, number(0x7FFF))
        is_lost = self.operate("icmp eq", kind, payload, number(0x7C00))
        result = self.choose(is_nan, kind, self.choose(is_lost, kind, number(0x7C01), payload), result)
        sign = self.operate("lshr", kind, sign, number(bits - 16))
        return self.view(self.resized(self.operate("or", kind, result, sign), kind, "u16"), "u16", "f16")

    def view(self, value: str, source: str, target: str) -> str:
        """Return the same bits as another type."""
        return value if self.type(source) == self.type(target) else self.cast("bitcast", value, source, target)

    def resized(self, value: str, source: str, target: str) -> str:
        """Return an integer, or a flag, with as many bits as another type has."""
        have, want = bits_of(source), bits_of(target)
        if have == want:
            return value
        operation = "trunc" if have > want else "sext" if source[0] == "i" else "zext"
        return self.cast(operation, value, source, target)

    def choose(self, flags: str, kind: str, chosen: str, other: str) -> str:
        """Return one value where a flag is set, else another."""
        whole = self.type(kind)
        return self.ir.put(f"select {self.type(FLAG)} {flags}, {whole} {chosen}, {whole} {other}")

    def intrinsic(self, name: str, kind: str, *values: str) -> str:
        """Call an intrinsic whose arguments and result have one type."""
        if kind == "f16" and name != "fabs":
            return self.halved(self.intrinsic(name, "f32", *(self.widened(value, "f32") for value in values)), "f32")
        whole = self.type(kind)
        return self.ir.call(f"llvm.{name}.{self.suffix(kind)}", whole, *((whole, value) for value in values))

    # --- Floats ---------------------------------------------------------------------------------------------------

    def absolute(self, value: str, kind: str) -> str:
        """Return a float without its sign."""
        return self.intrinsic("fabs", kind, value)

    def negated(self, value: str, kind: str) -> str:
        """Return a float with the other sign, also a NaN: LLVM would make a difference of a sum with it."""
        result = self.operate("fneg", kind, value)
        return result if kind == "f16" else self.as_it_is(result, kind)

    def as_it_is(self, value: str, kind: str) -> str:
        """Return a float of which LLVM must not make another one; the sign of a NaN counts here."""
        return self.intrinsic("arithmetic.fence", kind, value)

    def is_nan(self, value: str, kind: str) -> str:
        """Return whether floats are NaNs."""
        return self.operate("fcmp uno", kind, value, self.constant(0, kind))

    def calculated(self, operation: str, kind: str, left: str, right: str) -> str:
        """Write an operation on floats whose result is the left one if that is a NaN, whatever LLVM puts first."""
        if kind == "f16":
            operands = (self.widened(value, "f32") for value in (left, right))
            return self.halved(self.calculated(operation, "f32", *operands), "f32")
        if operation == "fsub":  # LLVM would add a constant with the other sign
            right = self.as_it_is(right, kind)
        return self.operate(operation, kind, left, self.unless_nan(left, right, kind))

    def unless_nan(self, left: str, right: str, kind: str) -> str:
        """Return a right operand with the left one where that is a NaN, which is the result then in any order."""
        return right if left == right else self.choose(self.is_nan(left, kind), kind, left, right)

    def sign_of(self, value: str, kind: str) -> str:
        """Return 0 with the sign of a float."""
        bits = f"u{bits_of(kind)}"
        sign = self.operate("and", bits, self.view(value, kind, bits), self.constant(1 << bits_of(kind) - 1, bits))
        return self.view(sign, bits, kind)

    def flushed(self, value: str, kind: str) -> str:
        """Return floats with 0 for the denormal ones."""
        tiny = self.constant(float(np.finfo(f"f{bits_of(kind) // 8}").tiny), kind)
        is_small = self.operate("fcmp olt", kind, self.absolute(value, kind), tiny)
        return self.choose(is_small, kind, self.sign_of(value, kind), value)

    def clipped(self, value: str, kind: str, low: float, high: float) -> str:
        """Return floats within two limits, and NaNs."""
        for limit, relation in ((low, "olt"), (high, "ogt")):
            bound = self.constant(limit, kind)
            value = self.choose(self.operate(f"fcmp {relation}", kind, value, bound), kind, bound, value)
        return value

    def extreme(self, left: str, right: str, kind: str, relation: str) -> str:
        """Return the smaller (olt) or larger (ogt) float; a NaN is no number, and -0 is smaller than +0."""
        first = self.operate(f"fcmp {relation}", kind, left, right)
        is_equal = self.operate("fcmp oeq", kind, left, right)
        bits = f"u{bits_of(kind)}"
        words = self.view(left, kind, bits), self.view(right, kind, bits)
        both = self.view(self.operate("or" if relation == "olt" else "and", bits, *words), bits, kind)
        result = self.choose(first, kind, left, right)
        result = self.choose(is_equal, kind, both, result)
        result = self.choose(self.is_nan(right, kind), kind, left, result)
        return self.choose(self.is_nan(left, kind), kind, right, result)

    def is_signalling(self, value: str, kind: str) -> str:
        """Return where floats are signalling NaNs."""
        bits = f"u{bits_of(kind)}"
        quiet = self.constant(1 << _FRACTIONS[kind] - 1, bits)
        masked = self.operate("and", bits, self.view(value, kind, bits), quiet)
        is_loud = self.operate("icmp eq", bits, masked, self.constant(0, bits))
        return self.operate("and", FLAG, is_loud, self.is_nan(value, kind))


class LlvmWriter(Writer):
    """Writes a formula for values of one number of lanes."""

    def __init__(self, ir: LlvmText, lanes: int) -> None:
        self.ir = ir
        self.vectors = Vectors(ir, lanes)
        self.names: dict[str, str] = {}

    def results(self, formula: Formula, sources: Sequence[str]) -> list[str]:
        """Write a formula of sources that have the types of its row; return its results."""
        self.names = dict(zip(formula.operands, sources, strict=True))
        for targets, term in formula.statements:
            values = self.called_for_all(term) if len(targets) > 1 else (self.text(term),)
            self.names |= zip(targets, values, strict=True)
        return [self.names[name] for name in formula.targets]

    def called_for_all(self, term: Term) -> tuple[str, ...]:
        """Write a call with several results."""
        name, *arguments = term.args
        if name != "div_scale":
            raise NotWritten(name)
        return _scaled_for_division(self.vectors, arguments[0].type, *map(self.text, arguments))

    def source(self, term: Term) -> str:
        """An operand, or a name of the formula."""
        return self.names[term.args[0]]

    def number(self, term: Term) -> str:
        """A number is a constant."""
        return self.vectors.constant(term.args[0], term.type)

    def arithmetic(self, term: Term) -> str:
        """Integers are cut to their type."""
        write = self.vectors.calculated if term.is_float else self.vectors.operate
        return write((_FLOAT if term.is_float else _INTEGER)[term.op], term.type, *map(self.text, term.args))

    bitwise = arithmetic

    def inverted(self, term: Term) -> str:
        """All bits of the type, the other way round."""
        return self.vectors.operate("xor", term.type, self.text(term.args[0]), self.vectors.constant(-1, term.type))

    def negative(self, term: Term) -> str:
        """A float with the other sign."""
        return self.vectors.negated(self.text(term.args[0]), term.type)

    def shifted(self, term: Term) -> str:
        """A count of all bits or more, which LLVM leaves open, gives 0 or the sign."""
        value, count = term.args
        kind, bits = term.type, term.bits
        left, by = self.text(value), self.text(count)
        operation = "shl" if term.op == "<<" else "ashr" if term.is_signed else "lshr"
        is_inside = count.args[0] < bits if count.op == "number" else 1 << count.width <= bits
        if is_inside:
            return self.vectors.operate(operation, kind, left, by)
        last = self.vectors.constant(bits - 1, kind)
        limited = self.vectors.intrinsic("umin", kind, by, last)
        shifted = self.vectors.operate(operation, kind, left, limited)
        if operation == "ashr":
            return shifted
        is_far = self.vectors.operate("icmp ugt", kind, by, last)
        return self.vectors.choose(is_far, kind, self.vectors.constant(0, kind), shifted)

    def compared(self, term: Term) -> str:
        """A NaN is not equal, not smaller and not larger."""
        left, right = term.args
        if left.is_float:
            relation = f"fcmp {_ORDERED[term.op]}"
        else:
            sign = "" if term.op in ("==", "!=") else "s" if left.is_signed else "u"
            relation = f"icmp {sign}{_PREDICATES[term.op]}"
        return self.vectors.operate(relation, left.type, self.text(left), self.text(right))

    def chosen(self, term: Term) -> str:
        """Both are computed."""
        condition, chosen, other = map(self.text, term.args)
        return self.vectors.choose(condition, term.type, chosen, other)

    def part(self, term: Term) -> str:
        """Bits of a number, shifted down."""
        value, high, low = term.args
        text = self.text(value)
        if low:
            text = self.vectors.operate("lshr", value.type, text, self.vectors.constant(low, value.type))
        if high == value.bits - 1:
            return text
        return self.vectors.operate(
            "and", value.type, text, self.vectors.constant((1 << high - low + 1) - 1, value.type)
        )

    def extended(self, term: Term) -> str:
        """Bits of a number with their sign."""
        (value,) = term.args
        unused = term.bits - value.width
        if value.op == "bits":
            value, high, _low = value.args
            unused = term.bits - 1 - high
        text = self.text(value)
        for operation, count in (("shl", unused), ("ashr", term.bits - term.width)):
            if count:
                text = self.vectors.operate(operation, term.type, text, self.vectors.constant(count, term.type))
        return text

    def joined(self, term: Term) -> str:
        """Parts above each other."""
        whole, at = self.vectors.constant(0, term.type), 0
        for part in reversed(term.args):
            text = self.vectors.resized(self.text(part), f"u{bits_of(part.type)}", term.type)
            if at:
                text = self.vectors.operate("shl", term.type, text, self.vectors.constant(at, term.type))
            whole = self.vectors.operate("or", term.type, whole, text)
            at += part.size
        return whole

    def converted(self, term: Term) -> str:
        """A number as one of another type."""
        (value,) = term.args
        text, have, want = self.text(value), value.type, term.type
        if value.is_float and term.is_float:
            return self.vectors.as_float(text, have, want)
        if term.is_float:
            near = "f32" if want == "f16" else want
            text = self.vectors.cast("sitofp" if value.is_signed else "uitofp", text, have, near)
            return self.vectors.as_float(text, near, want)
        if value.is_float:
            if have == "f16":
                text, have = self.vectors.widened(text, "f32"), "f32"
            name = f"llvm.fpto{'s' if term.is_signed else 'u'}i.sat"
            types = f"{self.vectors.suffix(want)}.{self.vectors.suffix(have)}"
            return self.ir.call(f"{name}.{types}", self.vectors.type(want), (self.vectors.type(have), text))
        return self.vectors.resized(text, "u1" if have == FLAG else have, want)

    def viewed(self, term: Term) -> str:
        """The same bits as another type."""
        return self.vectors.view(self.text(term.args[0]), term.args[0].type, term.type)

    def called(self, term: Term) -> str:
        """A function of formulas that has a row here."""
        name, *arguments = term.args
        kind = arguments[0].type
        call = CALLS.get(f"{name} {kind[0]}") or CALLS.get(name)
        if call is None:
            raise NotWritten(name)
        return call(self.vectors, term.type, kind, *map(self.text, arguments))


# --- Functions of formulas ----------------------------------------------------------------------------------------

Call = Callable[..., str]
"""A function of the vectors, the types of the result and of the first argument, and the values of the arguments."""


def _same(intrinsic: str) -> Call:
    return lambda vectors, _result, kind, *values: vectors.intrinsic(intrinsic, kind, *values)


def _extreme(relation: str) -> Call:
    return lambda vectors, _result, kind, left, right: vectors.extreme(left, right, kind, relation)


def _integer_extreme(name: str) -> Call:
    def call(vectors: Vectors, _result: str, kind: str, *values: str) -> str:
        return vectors.intrinsic(f"{kind[0].replace('i', 's')}{name}", kind, *values)

    return call


def _clamp(vectors: Vectors, _result: str, kind: str, value: str, low: str, high: str) -> str:
    """The number within two limits; a NaN stays."""
    below, above = (
        ("fcmp olt", "fcmp ogt") if kind[0] == "f" else (f"icmp {kind[0].replace('i', 's')}{x}" for x in ("lt", "gt"))
    )
    value = vectors.choose(vectors.operate(below, kind, value, low), kind, low, value)
    return vectors.choose(vectors.operate(above, kind, value, high), kind, high, value)


def _counted(intrinsic: str) -> Call:
    """Zeros above or below the 1 that is found first; -1 if there is none."""

    def call(vectors: Vectors, result: str, kind: str, value: str) -> str:
        whole = vectors.type(kind)
        name = f"llvm.{intrinsic}.{vectors.suffix(kind)}"
        count = vectors.ir.call(name, whole, (whole, value), ("i1", "false"))
        count = vectors.resized(count, f"u{bits_of(kind)}", result)
        none = vectors.operate("icmp eq", kind, value, vectors.constant(0, kind))
        return vectors.choose(none, result, vectors.constant(-1, result), count)

    return call


def _leading_signs(vectors: Vectors, result: str, kind: str, value: str) -> str:
    sign = vectors.operate("ashr", kind, value, vectors.constant(bits_of(kind) - 1, kind))
    return _counted("ctlz")(vectors, result, kind, vectors.operate("xor", kind, value, sign))


def _ones(vectors: Vectors, result: str, kind: str, value: str) -> str:
    return vectors.resized(vectors.intrinsic("ctpop", kind, value), f"u{bits_of(kind)}", result)


def _through_double(function: Callable[[Vectors, str, str], str], kinds: tuple[str, ...]) -> Call:
    """A function that is computed in some types, and with doubles and rounded in others.

    One quotient or root that is rounded twice is what it is if it is rounded once.
    """

    def call(vectors: Vectors, _result: str, kind: str, value: str) -> str:
        if kind in kinds:
            return function(vectors, value, kind)
        return vectors.as_float(function(vectors, vectors.as_float(value, kind, "f64"), "f64"), "f64", kind)

    return call


def _reciprocal(vectors: Vectors, value: str, kind: str) -> str:
    return vectors.operate("fdiv", kind, vectors.constant(1, kind), value)


def _root(vectors: Vectors, value: str, kind: str) -> str:
    return vectors.intrinsic("sqrt", kind, value)


def _fused(vectors: Vectors, _result: str, kind: str, left: str, right: str, other: str) -> str:
    """One rounding; a product that is a NaN is the result, whatever is added."""
    if kind == "f16":
        return vectors.halved(_fused_to_odd(vectors, kind, left, right, other), "f64")
    right = vectors.unless_nan(left, right, kind)
    product = vectors.operate("fmul", kind, left, right)
    return vectors.intrinsic("fma", kind, left, right, vectors.unless_nan(product, other, kind))


def _fused_to_odd(vectors: Vectors, kind: str, *sources: str) -> str:
    """The product and sum of halfs or singles as a double whose last bit is set if it is not exact."""
    left, right, other = (vectors.as_float(source, kind, "f64") for source in sources)
    product = vectors.calculated("fmul", "f64", left, right)
    total = vectors.calculated("fadd", "f64", product, other)
    part = vectors.operate("fsub", "f64", total, product)
    first = vectors.operate("fsub", "f64", product, vectors.operate("fsub", "f64", total, part))
    error = vectors.operate("fadd", "f64", first, vectors.operate("fsub", "f64", other, part))
    zero, bits = vectors.constant(0, "f64"), vectors.view(total, "f64", "i64")
    is_inexact = vectors.operate("fcmp one", "f64", error, zero)  # false for infinities, whose error is a NaN
    is_even = vectors.operate(
        "icmp eq", "i64", vectors.operate("and", "i64", bits, vectors.constant(1, "i64")), vectors.constant(0, "i64")
    )
    signs = [vectors.operate("fcmp ogt", "f64", value, zero) for value in (error, total)]
    is_below = vectors.operate("xor", FLAG, *signs)
    step = vectors.choose(is_below, "i64", vectors.constant(-1, "i64"), vectors.constant(1, "i64"))
    moved = vectors.view(vectors.operate("add", "i64", bits, step), "i64", "f64")
    return vectors.choose(vectors.operate("and", FLAG, is_inexact, is_even), "f64", moved, total)


def _power_of_two(vectors: Vectors, exponent: str) -> str:
    """A double, of an exponent of 32 bits from -1022 to 1023."""
    field = vectors.operate("add", "i32", exponent, vectors.constant(1023, "i32"))
    field = vectors.operate("shl", "u64", vectors.resized(field, "u32", "u64"), vectors.constant(52, "u64"))
    return vectors.view(field, "u64", "f64")


def _scaled(vectors: Vectors, result: str, kind: str, value: str, exponent: str) -> str:
    """A float times a power of 2."""
    if kind == "f16":
        scaled = _scaled(vectors, "f32", "f32", vectors.widened(value, "f32"), vectors.resized(exponent, "i16", "i32"))
        return vectors.halved(scaled, "f32")
    value = vectors.as_float(value, kind, "f64")
    if kind == "f64":
        value, exponent = _scaled_in_part(vectors, value, exponent)
    else:  # the product is exact as a double, and 0 or too large for a single at the limits
        exponent = vectors.intrinsic("smin", "i32", exponent, vectors.constant(400, "i32"))
        exponent = vectors.intrinsic("smax", "i32", exponent, vectors.constant(-400, "i32"))
    scaled = vectors.operate("fmul", "f64", value, _power_of_two(vectors, exponent))
    return vectors.as_float(scaled, "f64", result)


def _scaled_in_part(vectors: Vectors, value: str, exponent: str) -> tuple[str, str]:
    """A double and an exponent that a double has, for those of a product with any power of 2.

    Each step but the last is exact, or its result is so small that no bit remains.
    """
    for relation, limit, step in (("sgt", 1023, 1023), ("slt", -1022, -969)):
        for _ in range(2):
            is_far = vectors.operate(f"icmp {relation}", "i32", exponent, vectors.constant(limit, "i32"))
            moved = vectors.operate("fmul", "f64", value, vectors.constant(2.0**step, "f64"))
            value = vectors.choose(is_far, "f64", moved, value)
            nearer = vectors.operate("sub", "i32", exponent, vectors.constant(step, "i32"))
            exponent = vectors.choose(is_far, "i32", nearer, exponent)
        bound = "smin" if relation == "sgt" else "smax"
        exponent = vectors.intrinsic(bound, "i32", exponent, vectors.constant(limit, "i32"))
    return value, exponent


def _taken_apart(vectors: Vectors, kind: str, value: str) -> tuple[str, str, str]:
    """The fraction from 0.5 to below 1, the exponent, and whether a float is neither 0 nor special."""
    if kind == "f16":
        part, exponent, is_plain = _taken_apart(vectors, "f32", vectors.widened(value, "f32"))
        return vectors.halved(part, "f32"), exponent, is_plain
    words, fraction = f"u{bits_of(kind)}", _FRACTIONS[kind]
    highest = (1 << bits_of(kind) - 1 - fraction) - 1
    half = highest // 2 - 1
    size = vectors.absolute(value, kind)
    is_tiny = vectors.operate("fcmp olt", kind, size, vectors.constant(2.0 ** (1 - highest // 2), kind))
    larger = vectors.operate("fmul", kind, value, vectors.constant(2.0**54, kind))
    whole = vectors.choose(is_tiny, kind, larger, value)
    exponent = vectors.operate("sub", "i32", _exponent(vectors, kind, whole), vectors.constant(half, "i32"))
    lower = vectors.operate("sub", "i32", exponent, vectors.constant(54, "i32"))
    exponent = vectors.choose(is_tiny, "i32", lower, exponent)
    bits = vectors.view(whole, kind, words)
    bits = vectors.operate("and", words, bits, vectors.constant(~(highest << fraction), words))
    bits = vectors.operate("or", words, bits, vectors.constant(half << fraction, words))
    is_some = vectors.operate("fcmp one", kind, size, vectors.constant(0, kind))
    is_finite = vectors.operate("fcmp olt", kind, size, vectors.constant(np.inf, kind))
    return vectors.view(bits, words, kind), exponent, vectors.operate("and", FLAG, is_some, is_finite)


def _mantissa(vectors: Vectors, _result: str, kind: str, value: str) -> str:
    fraction, _exponent, is_plain = _taken_apart(vectors, kind, value)
    return vectors.choose(is_plain, kind, fraction, value)


def _exponent_of(vectors: Vectors, result: str, kind: str, value: str) -> str:
    _fraction, exponent, is_plain = _taken_apart(vectors, kind, value)
    return vectors.choose(is_plain, result, exponent, vectors.constant(0, result))


def _exponent(vectors: Vectors, kind: str, value: str) -> str:
    """The field of the exponent of a float."""
    words, fraction = f"u{bits_of(kind)}", _FRACTIONS[kind]
    field = vectors.operate("lshr", words, vectors.view(value, kind, words), vectors.constant(fraction, words))
    field = vectors.operate("and", words, field, vectors.constant((1 << bits_of(kind) - 1 - fraction) - 1, words))
    return vectors.resized(field, words, "i32")


def _is_of_class(vectors: Vectors, _result: str, kind: str, value: str, wanted: str) -> str:
    """Each class has a number; whether the bit of the number is set in a mask."""
    words, fraction_bits, bits = f"u{bits_of(kind)}", _FRACTIONS[kind], bits_of(kind)
    whole = vectors.view(value, kind, words)
    size = vectors.operate("and", words, whole, vectors.constant((1 << bits - 1) - 1, words))
    highest = (1 << bits - 1 - fraction_bits) - 1 << fraction_bits
    is_negative = vectors.operate("icmp ne", words, whole, size)
    # How large each class begins, and the numbers of the classes of positive and of negative floats
    classes = ((1, 7, 4), (1 << fraction_bits, 8, 3), (highest, 9, 2), (highest + 1, 0, 0),
               (highest + (1 << fraction_bits - 1), 1, 1))  # fmt: skip
    kind = "u16" if bits == 16 else "u32"
    number = vectors.choose(is_negative, kind, vectors.constant(5, kind), vectors.constant(6, kind))
    for start, positive, negative in classes:
        is_there = vectors.operate("icmp uge", words, size, vectors.constant(start, words))
        of_sign = vectors.choose(is_negative, kind, vectors.constant(negative, kind), vectors.constant(positive, kind))
        number = vectors.choose(is_there, kind, of_sign, number)
    return vectors.cast("trunc", vectors.operate("lshr", kind, wanted, number), kind, FLAG)


def _permuted_bytes(vectors: Vectors, _result: str, _kind: str, high: str, low: str, selector: str) -> str:
    """Bytes of two numbers, their signs, or 0 or 255, as each byte of a selector says."""
    number = partial(vectors.constant, kind="u64")
    wide, low, selector = (vectors.resized(each, "u32", "u64") for each in (high, low, selector))
    both = vectors.operate("or", "u64", vectors.operate("shl", "u64", wide, number(32)), low)
    whole = number(0)
    for index in range(4):
        chosen = vectors.operate("lshr", "u64", selector, number(8 * index))
        chosen = vectors.operate("and", "u64", chosen, number(0xFF))
        by = vectors.operate("shl", "u64", vectors.operate("and", "u64", chosen, number(7)), number(3))
        byte = vectors.operate("lshr", "u64", both, by)
        by = vectors.operate("shl", "u64", vectors.operate("and", "u64", chosen, number(3)), number(4))
        sign = vectors.operate("lshr", "u64", both, vectors.operate("add", "u64", by, number(15)))
        sign = vectors.operate("sub", "u64", number(0), vectors.operate("and", "u64", sign, number(1)))
        is_zero = vectors.operate("icmp eq", "u64", chosen, number(12))
        other = vectors.choose(is_zero, "u64", number(0), number(0xFF))
        is_sign = vectors.operate("icmp ult", "u64", chosen, number(12))
        is_byte = vectors.operate("icmp ult", "u64", chosen, number(8))
        byte = vectors.choose(is_byte, "u64", byte, vectors.choose(is_sign, "u64", sign, other))
        byte = vectors.operate("shl", "u64", vectors.operate("and", "u64", byte, number(0xFF)), number(8 * index))
        whole = vectors.operate("or", "u64", whole, byte)
    return vectors.resized(whole, "u64", "u32")


# --- Division -----------------------------------------------------------------------------------------------------

_SCALES = {"f32": (96, 64, 23, 255, 150), "f64": (768, 128, 53, 2047, 1075)}
"""Limits and steps of exponents, as the interpreter has them."""


def _selected(vectors: Vectors, kind: str, cases: Sequence[tuple[str, str]], other: str) -> str:
    """The value of the first case whose flag is set."""
    for flags, value in reversed(cases):
        other = vectors.choose(flags, kind, value, other)
    return other


def _any_of(vectors: Vectors, first: str, *flags: str) -> str:
    for each in flags:
        first = vectors.operate("or", FLAG, first, each)
    return first


def _both(vectors: Vectors, left: str, right: str) -> str:
    return vectors.operate("and", FLAG, left, right)


def _is_equal(vectors: Vectors, kind: str, value: str, number: float) -> str:
    return vectors.operate("fcmp oeq", kind, value, vectors.constant(number, kind))


def _is_denormal(vectors: Vectors, kind: str, value: str) -> str:
    none = vectors.operate("icmp eq", "i32", _exponent(vectors, kind, value), vectors.constant(0, "i32"))
    return _both(vectors, none, vectors.operate("fcmp une", kind, value, vectors.constant(0, kind)))


def _scaled_for_division(vectors: Vectors, kind: str, value: str, below: str, above: str) -> tuple[str, str]:
    """A number scaled for the division of one by another, and whether the quotient is to be scaled back."""
    far, step, tiny, _highest, _lost = _SCALES[kind]
    up, down = (vectors.operate("fmul", kind, value, vectors.constant(2.0**by, kind)) for by in (step, -step))
    small_inverse = _is_denormal(vectors, kind, vectors.operate("fdiv", kind, vectors.constant(1, kind), below))
    small_quotient = _is_denormal(vectors, kind, vectors.operate("fdiv", kind, above, below))
    is_below = vectors.operate("fcmp oeq", kind, value, below)
    is_above = vectors.operate("fcmp oeq", kind, value, above)
    exponents = [_exponent(vectors, kind, each) for each in (above, below)]
    distance = vectors.operate("sub", "i32", *exponents)
    cases = (
        (_any_of(vectors, _is_equal(vectors, kind, above, 0), _is_equal(vectors, kind, below, 0)),
         vectors.constant(np.nan, kind), False),
        (vectors.operate("icmp sge", "i32", distance, vectors.constant(far, "i32")),
         vectors.choose(is_below, kind, up, value), True),
        (_is_denormal(vectors, kind, below), up, False),
        (_both(vectors, small_inverse, small_quotient), vectors.choose(is_below, kind, down, value), True),
        (small_inverse, down, False),
        (small_quotient, vectors.choose(is_above, kind, up, value), True),
        (vectors.operate("icmp sle", "i32", exponents[0], vectors.constant(tiny, "i32")), up, False),
    )  # fmt: skip
    result = _selected(vectors, kind, [case[:2] for case in cases], value)
    flags = [(flag, vectors.constant(is_scaled, FLAG)) for flag, _result, is_scaled in cases]
    return result, _selected(vectors, FLAG, flags, vectors.constant(0, FLAG))


def _fused_for_division(vectors: Vectors, result: str, kind: str, *sources: str) -> str:
    """A product and sum of singles with one rounding, scaled back in lanes with a flag."""
    if kind != "f32":
        raise NotWritten("div_fmas of doubles")  # fractions decide what a denormal result is
    *numbers, flags = sources
    exponent = _exponent(vectors, kind, numbers[2])
    is_large = vectors.operate("icmp sgt", "i32", exponent, vectors.constant(127, "i32"))
    back = vectors.choose(is_large, "f64", *(vectors.constant(2.0**by, "f64") for by in (64, -64)))
    scaled = vectors.operate("fmul", "f64", _fused_to_odd(vectors, kind, *numbers), back)
    plain = _fused(vectors, result, kind, *numbers)
    return vectors.choose(flags, kind, vectors.as_float(scaled, "f64", kind), plain)


def _fixed_division(vectors: Vectors, _result: str, kind: str, quotient: str, below: str, above: str) -> str:
    """A quotient, or what a special case gives."""
    words = f"u{bits_of(kind)}"
    signs = [vectors.view(vectors.sign_of(each, kind), kind, words) for each in (below, above)]
    sign = vectors.operate("xor", words, *signs)

    def signed(value: str) -> str:
        return vectors.view(vectors.operate("or", words, vectors.view(value, kind, words), sign), words, kind)

    zero, infinity = signed(vectors.constant(0, kind)), signed(vectors.constant(np.inf, kind))
    zeros = [_is_equal(vectors, kind, each, 0) for each in (below, above)]
    infinite = [_is_equal(vectors, kind, vectors.absolute(each, kind), np.inf) for each in (below, above)]
    cases = [
        (vectors.is_nan(above, kind), above),
        (vectors.is_nan(below, kind), below),
        (_any_of(vectors, _both(vectors, *zeros), _both(vectors, *infinite)), vectors.constant(np.nan, kind)),
        (_any_of(vectors, zeros[0], infinite[1]), infinity),
        (_any_of(vectors, infinite[0], zeros[1]), zero),
    ]
    if kind != "f16":
        _far, _step, _tiny, highest, lost = _SCALES[kind]
        exponents = [_exponent(vectors, kind, each) for each in (above, below)]
        distance = vectors.operate("sub", "i32", *exponents)
        cases += [
            (vectors.operate("icmp slt", "i32", distance, vectors.constant(-lost, "i32")), zero),
            (vectors.operate("icmp eq", "i32", exponents[1], vectors.constant(highest, "i32")), infinity),
        ]
    cases.append((vectors.is_nan(quotient, kind), vectors.absolute(quotient, kind) if kind == "f16" else infinity))
    return _selected(vectors, kind, cases, signed(vectors.absolute(quotient, kind)))


def _fraction(vectors: Vectors, _result: str, kind: str, value: str) -> str:
    below = vectors.intrinsic("floor", kind, value)
    rest = vectors.operate("fsub", kind, value, below)
    last = float(np.nextafter(np.dtype(f"f{bits_of(kind) // 8}").type(1), np.dtype(f"f{bits_of(kind) // 8}").type(0)))
    bound = vectors.constant(last, kind)
    return vectors.choose(vectors.operate("fcmp ogt", kind, rest, bound), kind, bound, rest)


CALLS: dict[str, Call] = {
    "min": _integer_extreme("min"), "max": _integer_extreme("max"), "min f": _extreme("olt"), "max f": _extreme("ogt"),
    "clamp": _clamp, "ones": _ones, "clz": _counted("ctlz"), "ctz": _counted("cttz"), "cls": _leading_signs,
    "reversed": _same("bitreverse"), "fma": _fused, "abs": _same("fabs"), "trunc": _same("trunc"),
    "floor": _same("floor"), "ceil": _same("ceil"), "rint": _same("roundeven"), "fract": _fraction,
    "isnan": lambda vectors, _result, kind, value: vectors.is_nan(value, kind),
    "rcp": _through_double(_reciprocal, ("f32", "f64")), "sqrt": _through_double(_root, ("f32", "f64")),
    "rsq": _through_double(lambda vectors, *value: _reciprocal(vectors, _root(vectors, *value), value[1]), ("f64",)),
    "ldexp": _scaled, "frexp_mant": _mantissa, "frexp_exp": _exponent_of, "is_class": _is_of_class,
    "permute_bytes": _permuted_bytes, "div_fmas": _fused_for_division, "div_fixup": _fixed_division,
}  # fmt: skip
"""The functions by name; with f for floats where there is another one for these."""
