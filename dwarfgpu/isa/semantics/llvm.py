"""Formulas as LLVM IR: for a vector of some lanes, or for one number that all lanes share.

The third writer beside `dwarfgpu.isa.semantics.columns` and `dwarfgpu.isa.semantics.numbers`. It writes text and needs
no LLVM. The terms of a formula are exact and have types, so each of them is one instruction or few. A function of
formulas that has no row in `CALLS` is not written: `NotWritten` says so, and whoever compiles leaves the operation to
the other writers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        """Write an operation on values of one type."""
        return self.ir.put(f"{operation} {self.type(kind)} {', '.join(values)}")

    def cast(self, operation: str, value: str, source: str, target: str) -> str:
        """Write a conversion."""
        return self.ir.put(f"{operation} {self.type(source)} {value} to {self.type(target)}")

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
        whole = self.type(kind)
        return self.ir.call(f"llvm.{name}.{self.suffix(kind)}", whole, *((whole, value) for value in values))

    # --- Floats ---------------------------------------------------------------------------------------------------

    def absolute(self, value: str, kind: str) -> str:
        """Return a float without its sign."""
        return self.intrinsic("fabs", kind, value)

    def is_nan(self, value: str, kind: str) -> str:
        """Return whether floats are NaNs."""
        return self.operate("fcmp uno", kind, value, self.constant(0, kind))

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
        raise NotWritten(str(term.args[0]))

    def source(self, term: Term) -> str:
        """An operand, or a name of the formula."""
        return self.names[term.args[0]]

    def number(self, term: Term) -> str:
        """A number is a constant."""
        return self.vectors.constant(term.args[0], term.type)

    def arithmetic(self, term: Term) -> str:
        """Integers are cut to their type."""
        if term.type == "f16":
            raise NotWritten("sums of halfs")
        operation = (_FLOAT if term.is_float else _INTEGER)[term.op]
        return self.vectors.operate(operation, term.type, *map(self.text, term.args))

    bitwise = arithmetic

    def inverted(self, term: Term) -> str:
        """All bits of the type, the other way round."""
        return self.vectors.operate("xor", term.type, self.text(term.args[0]), self.vectors.constant(-1, term.type))

    def negative(self, term: Term) -> str:
        """A float with the other sign."""
        return self.vectors.operate("fneg", term.type, self.text(term.args[0]))

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
        if "f16" in (have, want):
            raise NotWritten("conversions of halfs")
        if value.is_float and term.is_float:
            return self.vectors.cast("fptrunc" if value.bits > term.bits else "fpext", text, have, want)
        if term.is_float:
            return self.vectors.cast("sitofp" if value.is_signed else "uitofp", text, have, want)
        if value.is_float:
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
        if kind == "f16" and name not in _OF_HALFS:
            raise NotWritten(f"{name} of halfs")
        if call is None:
            raise NotWritten(name)
        return call(self.vectors, term.type, kind, *map(self.text, arguments))


# --- Functions of formulas ----------------------------------------------------------------------------------------

Call = Callable[..., str]
"""A function of the vectors, the types of the result and of the first argument, and the values of the arguments."""

_OF_HALFS = frozenset(("min", "max", "abs", "isnan"))
"""Those that only look at the bits of halfs; the processor may lack the others, and what they do with a NaN differs."""


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


def _through_double(function: Callable[[Vectors, str], str]) -> Call:
    """A function that is computed with doubles and rounded."""

    def call(vectors: Vectors, _result: str, kind: str, value: str) -> str:
        if kind == "f64":
            return function(vectors, value)
        wide = function(vectors, vectors.cast("fpext", value, kind, "f64"))
        return vectors.cast("fptrunc", wide, "f64", kind)

    return call


def _reciprocal(vectors: Vectors, value: str) -> str:
    return vectors.operate("fdiv", "f64", vectors.constant(1, "f64"), value)


def _root(vectors: Vectors, value: str) -> str:
    return vectors.intrinsic("sqrt", "f64", value)


def _fused(vectors: Vectors, _result: str, kind: str, left: str, right: str, other: str) -> str:
    """One rounding; a product that is a NaN is the result, whatever is added."""
    product = vectors.operate("fmul", kind, left, right)
    whole = vectors.intrinsic("fma", kind, left, right, other)
    return vectors.choose(vectors.is_nan(product, kind), kind, product, whole)


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
    "rcp": _through_double(_reciprocal), "sqrt": _through_double(_root),
    "rsq": _through_double(lambda vectors, value: _reciprocal(vectors, _root(vectors, value))),
}  # fmt: skip
"""The functions by name; with f for floats where there is another one for these."""
