"""What instructions compute, as formulas: the rows of `formulas.txt`, taken apart into terms with types.

A row says everything about an operation: its names, the types of what it reads and writes, and the formula:

    s_bfm_b32 | b32 b32 -> b32 | D = ((1 << S0[4:0]) - 1) << S1[4:0]

The head of the file explains the grammar. Nothing here computes: a *writer* makes something that does, from the terms
of a row. `dwarfgpu.isa.semantics.columns` writes numpy for lanes, `dwarfgpu.isa.semantics.numbers` writes Python for
numbers that all lanes share.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from dwarfgpu.immutable import frozen, immutable

FLAG = "flag"
FLAGS = {"mask": "VCC", "vcc": "VCC", "scc": "SCC"}
"""Operands that are a flag, and their names in formulas."""
SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.And: "&", ast.Or: "|", ast.USub: "-", ast.Invert: "~", ast.Not: "~",
}  # fmt: skip
TYPES = frozenset(("u16", "u32", "u64", "i16", "i32", "i64", "f16", "f32", "f64"))


class FormulaError(ValueError):
    """A row of the table that cannot be read."""


@immutable
class Term:
    """A part of a formula."""

    op: str
    """``source`` (its name), ``number`` (its value), the symbol of an operator or a comparison, ``if`` (when, then,
    else), ``bits`` (of what, highest, lowest), ``signext``, ``join`` (the highest part first), ``convert`` (to the
    type of the term, by value), ``view`` (the same bits) or ``call`` (the name of the function, arguments)."""
    type: str
    """u16 to u64, i16 to i64, f16 to f64, or flag."""
    args: tuple[Any, ...]
    width: int
    """How many of the lowest bits can be other than 0 (of signed numbers: other than the sign), before the term is cut
    to its type. If there are more than the type has, a sum or a product may be too large for it."""

    @property
    def bits(self) -> int:
        """The size of the type."""
        return bits_of(self.type)

    @property
    def size(self) -> int:
        """The size as a part of a row of parts: that of a slice, or of the type."""
        return self.width if self.op == "bits" else self.bits

    @property
    def is_float(self) -> bool:
        """Whether the term is a float."""
        return self.type[0] == "f" and self.type != FLAG

    @property
    def is_signed(self) -> bool:
        """Whether the term is a signed integer."""
        return self.type[0] == "i"


Statement = tuple[tuple[str, ...], Term]
"""What gets a value, in its order: results, or a name that later statements read; and the value."""


def bits_of(kind: str) -> int:
    """Return the size of a type in bits."""
    return 1 if kind == FLAG else int(kind[1:])


@frozen
class FormulaFunction:
    """A function that formulas call."""

    name: str
    parameters: tuple[str, ...]
    result: str
    """The type of its (first) result: ``T`` that of the first argument, ``=`` that of what gets the result."""
    body: str
    """A formula of its parameters; empty for functions that writers know."""
    text: str


@frozen
class Formula:
    """One operation: a row of the table for one of its names."""

    name: str
    sources: tuple[str, ...]
    results: tuple[str, ...]
    text: str
    flags: frozenset[str]

    @property
    def unit(self) -> str:
        """``scalar`` for operations on one number for all lanes, else ``vector``."""
        return "scalar" if self.name.startswith(("s_", "v_s_")) else "vector"

    @property
    def types(self) -> str:
        """The types of sources and results, as in the table."""
        return f"{' '.join(self.sources)} -> {' '.join(self.results)}"

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The names of the sources in the formula; one that reads the destination gets it first."""
        numbers = iter(range(len(self.sources)))
        first = "D" if _reads_destination(self.text) else f"S{next(numbers)}"
        rest = (FLAGS.get(kind) or ("EXEC" if kind == "exec" else f"S{next(numbers)}") for kind in self.sources[1:])
        return (first, *rest)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The names of the results in the formula."""
        kinds = [kind for kind in self.results if kind != "nonzero"]
        first = "SCC" if kinds[0] == "scc" else "D"
        return (first, *(FLAGS.get(kind, "EXEC") for kind in kinds[1:]))

    def type_of(self, kind: str) -> str:
        """Return the type that terms have for a kind of operand."""
        if kind in FLAGS:
            return FLAG
        return f"u{self.sources[0][1:]}" if kind == "exec" else kind.replace("b", "u")

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The formula as terms."""
        return _statements(self)

    @property
    def functions(self) -> tuple[FormulaFunction, ...]:
        """The functions of the table that the formula calls, and those that their bodies call."""
        known = functions()
        found: dict[str, FormulaFunction] = {}
        texts = [self.text]
        while texts:
            for name in re.findall(r"(\w+)\(", texts.pop()):
                if name in known and name not in found:
                    found[name] = known[name]
                    texts.append(known[name].body)
        return tuple(found.values())


@cache
def _reads_destination(text: str) -> bool:
    for statement in ast.parse(text).body:
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == "D"]
        if names:
            return any(isinstance(node.ctx, ast.Load) for node in names)
    return False


# --- The table ----------------------------------------------------------------------------------------------------


class FormulaTable(Mapping[str, Formula]):
    """The rows by the name of the operation without the suffix of its encoding; taken apart when they are needed."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, tuple[str, str]] = {}
        self._known: dict[str, Formula] = {}
        self.functions: dict[str, FormulaFunction] = {}
        for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
            if line.startswith("function "):
                function = _function(*line.rsplit(" | ", 1))
                self.functions[function.name] = function
            elif line and line[0] != "#":
                names, _, rest = line.partition(" | ")
                for name, kind in expanded(names):
                    if name in self._lines:
                        raise FormulaError(f"{name} has two rows")
                    self._lines[name] = rest, kind

    def __getitem__(self, name: str) -> Formula:
        known = self._known.get(name)
        if known is None:
            base, _, table = name.partition("_0x")
            rest, kind = self._lines[base]
            types, _, text = rest.partition(" | ")
            types, _, flags = types.partition(", ")
            if kind:
                types, text = re.sub(r"\bT\b", kind, types), re.sub(r"\bT\b", kind.replace("b", "u"), text)
            if table:
                text = f"D = ({bits_by_table(int(table, 16))})"
            sources, _, results = types.partition("->")
            words = tuple(sources.split()), tuple(results.split()), text
            known = self._known[name] = Formula(name, *words, frozenset(flags.split()))
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@cache
def formulas() -> FormulaTable:
    """Return the table."""
    return FormulaTable(Path(__file__).with_name("formulas.txt").read_text("ascii"))


def bits_by_table(table: int) -> str:
    """Return the formula whose bit is that one of a table whose number the bits of S0, S1 and S2 are, S0 the highest.

    It is an exclusive or, or else an or of all prime implicants. Both are undefined only where the result depends on an
    undefined bit: if the defined bits decide it, they satisfy an implicant, or contradict each of them.
    """
    names = ("S0", "S1", "S2")
    for chosen, inverts in product(range(1, 8), (0, 1)):
        if all(table >> bits & 1 == ((bits & chosen).bit_count() + inverts) & 1 for bits in range(8)):
            text = " ^ ".join(name for at, name in enumerate(names) if chosen >> 2 - at & 1)
            return f"~({text})" if inverts else text
    cubes = {  # the bits that count, and what they are
        (mask, value) for mask in range(8) for value in range(8)
        if not value & ~mask and all(table >> bits & 1 for bits in range(8) if bits & mask == value)
    }  # fmt: skip
    primes = [
        (mask, value) for mask, value in sorted(cubes)
        if not any((mask & ~bit, value & ~bit) in cubes for bit in (1, 2, 4) if mask & bit)
    ]  # fmt: skip
    texts = [
        " & ".join(f"{'' if value >> 2 - at & 1 else '~'}{name}" for at, name in enumerate(names) if mask >> 2 - at & 1)
        for mask, value in primes
    ]
    return " | ".join(texts) or ("-1" if primes else "0")


CARRYING_ON_GFX8 = {f"v_{word}_u32": f"v_{word}_co_u32" for word in ("add", "sub", "subrev")}
"""Operations that also write a carry on GFX8, by the names that they have later."""
OTHERS_ON_GFX12 = {"v_lshl_add_u64": "v_lshl_few_add_u64"}
"""Operations that take shifts by more than 4 for none on GFX12.5 (CDNA 5 ISA document, V_LSHL_ADD_U64)."""


def single_name(name: str) -> str:
    """Return the operation that both halves of a packed one compute, or that half of a dual instruction computes."""
    return re.sub("^v_(pk|dual)_", "v_", name)


def functions() -> dict[str, FormulaFunction]:
    """Return the functions that formulas call, by name."""
    return formulas().functions


def _function(head: str, text: str) -> FormulaFunction:
    match = re.match(r"function (\w+)\(([\w, ]*)\) (?:-> ([\w=]+)(?:, flag)?|= (.*))$", head)
    if match is None:
        raise FormulaError(head)
    name, parameters, result, body = match.groups()
    return FormulaFunction(name, tuple(parameters.split(", ")), result or "", body or "", text)


def expanded(names: str) -> Iterator[tuple[str, str]]:
    """Yield each name of a row, with the type that T is for it: ``v_min_<u16,u32>`` are two, ``{s,v}_not`` too."""
    for word in names.split():
        if "<" not in word and "{" not in word:
            yield word, ""
            continue
        parts = re.split(r"([<{][^>}]*[>}])", word)
        choices = [[part] if part[:1] not in "<{" or not part else part[1:-1].split(",") for part in parts]
        at = next((index for index, part in enumerate(parts) if part[:1] == "<"), None)
        for chosen in product(*choices):
            yield "".join(chosen), "" if at is None else chosen[at]


# --- Terms --------------------------------------------------------------------------------------------------------


@cache
def _statements(formula: Formula) -> tuple[Statement, ...]:
    """Return the statements of a formula, with those that the bodies of functions add."""
    reader = _TermReader()
    for name, kind in zip(formula.operands, formula.sources, strict=True):
        reader.names[name] = source(name, formula.type_of(kind))
    wanted = {name: formula.type_of(kind) for name, kind in zip(formula.targets, formula.results, strict=False)}
    try:
        for node in ast.parse(formula.text).body:
            reader.assign(node, wanted)
    except FormulaError as error:
        raise FormulaError(f"{formula.name}: {error}") from error
    return tuple(reader.statements)


def source(name: str, kind: str) -> Term:
    """Return an operand as a term."""
    return Term("source", kind, (name,), bits_of(kind))


def named(name: str, value: Term) -> Term:
    """Return a name that has the value of a term as a term."""
    return Term("source", value.type, (name,), min(value.width, value.bits))


def number(value: float, kind: str) -> Term:
    """Return a number of a type."""
    if kind == FLAG:
        return Term("number", kind, (bool(value),), 1)
    if kind[0] == "f":
        return Term("number", kind, (float(value),), bits_of(kind))
    if not isinstance(value, int):
        raise FormulaError(f"{value} is not an integer")
    if kind[0] == "u":
        value &= (1 << bits_of(kind)) - 1
    return Term("number", kind, (value,), value.bit_length() + (kind[0] == "i"))


class _TermReader:
    """Makes terms of the nodes of Python's syntax tree."""

    def __init__(self) -> None:
        self.names: dict[str, Term] = {}
        self.statements: list[Statement] = []

    def assign(self, node: ast.stmt, wanted: dict[str, str]) -> None:
        """Read one statement; ``wanted`` has the types of results."""
        if not isinstance(node, ast.Assign):
            raise FormulaError(f"{ast.unparse(node)} sets nothing")
        (target,) = node.targets
        names = [part.id for part in ([target] if isinstance(target, ast.Name) else target.elts)]  # type: ignore[attr-defined]
        want = wanted.get(names[0])
        value = self.term(node.value, want)
        if len(names) == 1 and want is not None:
            value = self.fitted(value, want)
        self.statements.append((tuple(names), value))
        if len(names) == 1 and want is None:
            self.names[names[0]] = named(names[0], value)
        else:
            self.names |= {name: source(name, wanted.get(name, value.type)) for name in names}

    def fitted(self, value: Term, kind: str) -> Term:
        """Return a value as one of a type that it has or fits into."""
        if value.type == kind:
            return value
        if kind == FLAG and value.width == 1:
            return Term("!=", FLAG, (value, number(0, value.type)), 1)
        if value.type == FLAG and kind[0] in "ui":
            return Term("convert", kind, (value,), 1)
        if value.bits == bits_of(kind) and FLAG not in (value.type, kind):
            return Term("view", kind, (value,), value.width if value.type[0] == kind[0] else bits_of(kind))
        if "f" in (value.type[0], kind[0]) or value.width > bits_of(kind):
            raise FormulaError(f"{value.type} does not fit into {kind}: say {kind}(...)")
        return self.converted(value, kind)

    def converted(self, value: Term, kind: str) -> Term:
        """Return a value as one of another type: the same number, the nearest float, or its lowest bits."""
        if value.op == "number":
            return number(value.args[0], kind)
        if value.type == kind:
            return value
        width = bits_of(kind)
        if kind[0] in "ui" and not value.is_float:
            width = value.width if value.type[0] in (kind[0], "u", FLAG[0]) else bits_of(kind)
            if value.width > value.bits and bits_of(kind) > value.bits:
                width = value.bits
            width += kind[0] == "i" and not value.is_signed
        return Term("convert", kind, (value,), width)

    def term(self, node: ast.AST, want: str | None = None) -> Term:
        """Return a node as a term; ``want`` is the type of numbers that nothing else gives one."""
        method: Callable[[Any, str | None], Term] = getattr(self, f"_{type(node).__name__.lower()}")
        return method(node, want)

    def _weak(self, node: ast.AST) -> bool:
        """Return whether only numbers say what a term is, so its type comes from elsewhere."""
        if isinstance(node, ast.BinOp):
            return self._weak(node.left) and (isinstance(node.op, (ast.LShift, ast.RShift)) or self._weak(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._weak(node.operand)
        if isinstance(node, ast.IfExp):
            return self._weak(node.body) and self._weak(node.orelse)
        return isinstance(node, ast.Constant)

    def _alike(self, nodes: list[ast.expr], want: str | None) -> list[Term]:
        """Return terms of one type, which is that of the first that is no number."""
        strong = next((node for node in nodes if not self._weak(node)), None)
        terms: dict[int, Term] = {}
        if strong is not None:
            terms[id(strong)] = first = self.term(strong, want)
            want = first.type
        result = [terms.get(id(node)) or self.term(node, want) for node in nodes]
        kinds = {term.type for term in result}
        if len(kinds) == 2 and FLAG in kinds:  # a carry that is added
            (kind,) = kinds - {FLAG}
            return [Term("convert", kind, (term,), 1) if term.type == FLAG else term for term in result]
        if len(kinds) != 1:
            raise FormulaError(f"{', '.join(sorted(kinds))} together in {ast.unparse(nodes[0])}, ...")
        return result

    def _name(self, node: ast.Name, want: str | None) -> Term:
        if node.id in ("inf", "nan"):
            return number(float(node.id), want or "f32")
        if node.id not in self.names:
            raise FormulaError(f"{node.id} has no value")
        return self.names[node.id]

    def _constant(self, node: ast.Constant, want: str | None) -> Term:
        if want is None:
            raise FormulaError(f"{node.value!r} without a type")
        return number(node.value, want)  # type: ignore[arg-type]

    def _unaryop(self, node: ast.UnaryOp, want: str | None) -> Term:
        value, symbol = self.term(node.operand, want), SYMBOLS[type(node.op)]
        if isinstance(node.op, ast.Not):
            return Term("~", FLAG, (self.fitted(value, FLAG),), 1)
        if value.op == "number":
            return number(-value.args[0] if symbol == "-" else ~value.args[0], value.type)
        if symbol == "-" and not value.is_float:
            return Term("-", value.type, (number(0, value.type), value), value.bits + 1)
        return Term("negative" if symbol == "-" else "~", value.type, (value,), max(value.width, value.bits))

    def _binop(self, node: ast.BinOp, want: str | None) -> Term:
        symbol = SYMBOLS[type(node.op)]
        if symbol in ("<<", ">>"):
            return self._shifted(symbol, self.term(node.left, want), node.right)
        left, right = self._alike([node.left, node.right], want)
        if left.is_float or left.type == FLAG:
            return Term(symbol, left.type, (left, right), left.bits)
        width = max(left.width, right.width)
        if symbol == "+" or (symbol == "-" and left.is_signed):
            width += 1
        elif symbol == "-":
            width = left.bits + 1  # may be below 0
        elif symbol == "*":
            width = left.width + right.width
        elif symbol == "&" and not left.is_signed:
            width = min(left.width, right.width)
        return Term(symbol, left.type, (left, right), width)

    def _shifted(self, symbol: str, value: Term, by: ast.expr) -> Term:
        count = self.term(by, value.type)
        width = min(value.width, value.bits)
        if symbol == ">>":
            width = max(width - count.args[0], 1) if count.op == "number" else width
        else:
            most = count.args[0] if count.op == "number" else (1 << min(count.width, 7)) - 1
            width = value.width + most
        return Term(symbol, value.type, (value, self.converted(count, value.type)), width)

    def _compare(self, node: ast.Compare, _want: str | None) -> Term:
        left, right = self._alike([node.left, node.comparators[0]], None)
        return Term(SYMBOLS[type(node.ops[0])], FLAG, (left, right), 1)

    def _boolop(self, node: ast.BoolOp, _want: str | None) -> Term:
        result, *rest = (self.fitted(self.term(each), FLAG) for each in node.values)
        for term in rest:
            result = Term(SYMBOLS[type(node.op)], FLAG, (result, term), 1)
        return result

    def _ifexp(self, node: ast.IfExp, want: str | None) -> Term:
        chosen, other = self._alike([node.body, node.orelse], want)
        condition = self.fitted(self.term(node.test), FLAG)
        return Term("if", chosen.type, (condition, chosen, other), max(chosen.width, other.width))

    def _set(self, node: ast.Set, want: str | None) -> Term:
        parts = [self.term(each) for each in node.elts]
        if any(part.is_float for part in parts):
            parts = [self.fitted(part, f"u{part.bits}") for part in parts]
        width = sum(part.size for part in parts)
        kind = want if want and want[0] == "u" else next(f"u{size}" for size in (16, 32, 64) if width <= size)
        return Term("join", kind, tuple(parts), width)

    def _subscript(self, node: ast.Subscript, _want: str | None) -> Term:
        value = self.term(node.value)
        if not isinstance(node.slice, ast.Slice):
            if not isinstance(node.slice, ast.Constant):
                value = self._shifted(">>", value, node.slice)
            at = node.slice.value if isinstance(node.slice, ast.Constant) else 0
            return self._bits(value, at, at)
        return self._bits(value, *(part.value for part in (node.slice.lower, node.slice.upper)))  # type: ignore[union-attr]

    def _bits(self, value: Term, high: Any, low: Any) -> Term:
        if not 0 <= low <= high < value.bits or value.is_float:
            raise FormulaError(f"no bits {high} to {low} of {value.type}")
        kind = value.type
        if value.is_signed and high == value.bits - 1:
            kind = f"u{value.bits}"
            value = Term("view", kind, (value,), value.bits)
        return Term("bits", kind, (value, high, low), high - low + 1)

    def _attribute(self, node: ast.Attribute, _want: str | None) -> Term:
        value, kind = self.term(node.value), node.attr
        if value.bits != bits_of(kind):
            if value.width > bits_of(kind):
                raise FormulaError(f"{value.width} bits as {kind}")
            value = self.converted(value, f"u{kind[1:]}")
        return value if value.type == kind else Term("view", kind, (value,), bits_of(kind))

    def _call(self, node: ast.Call, want: str | None) -> Term:
        name = node.func.id  # type: ignore[attr-defined]
        if name in TYPES:
            (argument,) = node.args
            return self.converted(self.term(argument, name if self._weak(argument) else None), name)
        if name == "signext":
            value = self.term(node.args[0])
            return Term("signext", f"i{value.bits}", (value,), min(value.width, value.bits))
        known = functions().get(name)
        if known is None or len(node.args) != len(known.parameters):
            raise FormulaError(f"no function {name} of {len(node.args)}")
        count = known.parameters.count("T")
        arguments = self._alike(node.args[:count], want) if count else []
        arguments += [self.term(each, want) for each in node.args[count:]]
        if known.body:
            return self._expanded(known, arguments, want)
        kind = {"T": arguments[0].type, "=": want or ""}.get(known.result, known.result)
        return Term("call", kind, (name, *arguments), bits_of(kind))

    def _expanded(self, known: FormulaFunction, arguments: list[Term], want: str | None) -> Term:
        """Return the body of a function, with arguments that are read more than once as statements before it."""
        inner = _TermReader()
        inner.statements = self.statements
        for parameter, argument in zip(known.parameters, arguments, strict=True):
            value = argument
            if argument.op not in ("source", "number"):
                name = f"t{len(self.statements)}"
                self.statements.append(((name,), argument))
                value = named(name, argument)
            inner.names[parameter] = value
        return inner.term(ast.parse(known.body, mode="eval").body, want)


# --- Writing ------------------------------------------------------------------------------------------------------


class Writer:
    """Writes terms as text of a language. A subclass has a method for each kind of term, which gets the term."""

    METHODS: dict[str, str] = {  # noqa: RUF012 (never changed)
        **dict.fromkeys("+-*/", "arithmetic"), **dict.fromkeys("&|^", "bitwise"), "~": "inverted",
        **dict.fromkeys(("<<", ">>"), "shifted"), **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), "compared"),
        "source": "source", "number": "number", "negative": "negative", "if": "chosen", "bits": "part",
        "signext": "extended", "join": "joined", "convert": "converted", "view": "viewed", "call": "called",
    }  # fmt: skip

    def text(self, term: Term) -> str:
        """Return the text of a term."""
        text: str = getattr(self, self.METHODS[term.op])(term)
        return text


class PythonWriter(Writer):
    """Writes a formula as a function of Python."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """What the names in the text are."""

    def name(self, key: str, value: Any) -> str:
        """Return a name of the text for a value."""
        self.values[key] = value
        return key

    def result(self, term: Term) -> str:
        """Return the text of what gets a name."""
        return self.text(term)

    def function_text(self, formula: Formula) -> str:
        """Return the definition of a function of the operands."""
        lines = [f"def {formula.name}({', '.join(formula.operands)}):"]
        *before, (names, term) = formula.statements
        lines += [f" {', '.join(targets)} = {self.result(value)}" for targets, value in before]
        results = formula.targets
        if names == results[-1:]:
            results = (*results[:-1], self.result(term))
        elif names != results or len(before):
            lines.append(f" {', '.join(names)} = {self.result(term)}")
        else:
            results = (self.result(term),)
        lines.append(f" return {', '.join(results)}")
        return "\n".join(lines)

    def function(self, formula: Formula) -> Callable[..., Any]:
        """Compile a formula."""
        return self.compiled(formula.name, self.function_text(formula))

    def compiled(self, name: str, text: str) -> Callable[..., Any]:
        """Return the function that a text defines."""
        exec(compile(text, f"<{name}>", "exec"), self.values)  # noqa: S102 (the text is made here, from the table)
        made: Callable[..., Any] = self.values[name]
        return made
