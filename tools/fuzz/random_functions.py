"""Random functions of LLVM IR, of which each work-item gets the result of its own words.

IR leaves open the bits of a NaN, and which of two zeros is the smaller: no result depends on them. What clang-22 is
known to do wrong is left out; quotation marks have a heading of tools/hunt/miscompilations.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

STATEMENTS, WORDS = (5, 16), 16
"""The statements of a function, and the words that a work-item reads."""
FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "bfloat": 16, "float": 32, "double": 64}
NUMBERS = ("0.0", "-0.0", "1.0", "-1.0", "0.5", "2.0", "-3.0", "1.5", "100.0", "0.25")
WRONG_CONSTANTS = {"half": ("-0.0",), "bfloat": ("1.0", "-1.0", "0.5", "2.0")}
""""A negative zero in a vector of halves", "one in a vector of bfloat"."""
ON_INTEGERS = (
    *(f"{name} T A, A" for name in ("add", "sub", "mul", "and", "or", "xor") * 2),
    *(f"{name} T A, SHIFT" for name in ("shl", "lshr", "ashr") * 2),
    *(f"{name} T A, ODD" for name in ("udiv", "urem") * 2),
    *(f"{name} T A, POSITIVE" for name in ("sdiv", "srem") * 2),
    *(f"call T @llvm.{name}.S(T A)" for name in ("ctpop", "bitreverse", "bswap")),
    *(f"call T @llvm.{name}.S(T A, i1 false)" for name in ("ctlz", "cttz", "abs")),
    *(f"call T @llvm.{name}.S(T A, T A)" for name in ("smin", "smax", "umin", "umax")),
    *(f"call T @llvm.{name}.sat.S(T A, T A)" for name in ("sadd", "uadd", "ssub", "usub")),
    *(f"call T @llvm.{name}.sat.S(T A, T SHIFT)" for name in ("sshl", "ushl")),
    *(f"call T @llvm.{name}.S(T A, T A, T A)" for name in ("fshl", "fshr")),
)
"""Operations, in which words in capitals are types and values: see `Function.written`."""
ON_FLOATS = (
    *(f"{name} T A, A" for name in ("fadd", "fmul", "fdiv", "frem")),
    "fsub T NONZERO, A",  # "a difference taken for a negation"
    "fneg T A",
    *(f"call T @llvm.{name}.S(T A)" for name in ("fabs", "floor", "ceil", "trunc", "rint", "roundeven", "sqrt")),
    *(f"call T @llvm.{name}.S(T A, T A)" for name in ("minimum", "maximum")),
    *(f"call T @llvm.{name}.S(T A, T NONZERO)" for name in ("minnum", "maxnum")),
    "call T @llvm.copysign.S(T A, T NUMBER)",
    "call T @llvm.canonicalize.S(T A)",
    "call T @llvm.fma.S(T A, T A, T A)",
    "call T @llvm.ldexp.S.P(T A, POWER)",
)
ENDS_OF_INTEGERS = ("add T A, C", "mul T A, C", "xor T A, C", "udiv T A, C")
ENDS_OF_FLOATS = (
    "fadd T A, C",
    "fdiv T A, C",
    *(f"call T @llvm.{name}.S(T A, T C)" for name in ("minimum", "maximum")),
)
"""What the ways of a branch end with."""
LEFT_OUT = {
    "(v.)?i8 .*bswap": "no such function",
    "v.* .*canonicalize": "clang ends with a crash for pairs on the host",
    "(v.)?bf16 frem": "clang has no code for it",
    "(v.)?b?f16 .*(fma|ldexp)": "the host rounds twice",
    "(v.)?bf16 fmul": "the host rounds denormal products twice",
    "(v.)?bf16 .*copysign": "clang gives a zero the wrong sign on the host",
}
"""Types with operations, and why no function has them."""
PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
FLOAT_PREDICATES = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")


class Type(NamedTuple):
    """A scalar or a vector."""

    element: str
    size: int = 1

    def __str__(self) -> str:
        return self.element if self.size == 1 else f"<{self.size} x {self.element}>"

    def suffix(self) -> str:
        """Return its part of the name of an intrinsic function."""
        name = FLOATS.get(self.element, self.element)
        return name if self.size == 1 else f"v{self.size}{name}"

    def is_float(self) -> bool:
        return self.element in FLOATS

    def integers(self) -> Type:
        """Return integers of as many bits."""
        return Type(f"i{BITS[self.element]}", self.size)

    def all(self, number: float) -> str:
        """Return a constant whose elements are one number."""
        return str(number) if self.size == 1 else f"splat ({self.element} {number})"


INT = Type("i32")


class Function:
    """A function: its lines, and the values that are known at its end."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self.chance, self.block = name, chance, "entry"
        self.lines: list[str] = []
        self.values: dict[Type, list[str]] = {}
        self.inlining = chance.choice(("noinline", "alwaysinline"))
        for _number in range(5):
            self.load()
        for _number in range(chance.randint(*STATEMENTS)):
            self.statement(0)

    # --- Values ---------------------------------------------------------------------------------------------------

    def part(self, text: str) -> str:
        """Write a value that only the same statement uses."""
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def keep(self, kind: Type, name: str) -> str:
        """Let later statements use a value."""
        self.values.setdefault(kind, []).append(name)
        return name

    def type(self, sizes: Sequence[int] = (1, 1, 1, 2, 2, 4, 3)) -> Type:
        return Type(self.chance.choice([*BITS]), self.chance.choice(sizes))

    def constant(self, kind: Type) -> str:
        if kind.size > 1:
            each = Type(kind.element)
            return f"<{', '.join(f'{each} {self.constant(each)}' for _number in range(kind.size))}>"
        if kind.is_float():
            return self.chance.choice([text for text in NUMBERS if text not in WRONG_CONSTANTS.get(kind.element, ())])
        bits = BITS[kind.element]
        edges = (0, 1, -1, 1 << bits - 1, (1 << bits - 1) - 1, self.chance.getrandbits(bits), self.chance.randint(0, 9))
        number = self.chance.choice(edges) % (1 << bits)
        return str(number - (1 << bits) * (number >> bits - 1))

    def value(self, kind: Type) -> str:
        """Return a value, a late one more often than an early one, or a constant."""
        known, singles = self.values.get(kind, []), self.values.get(Type(kind.element), [])
        if known and self.chance.random() < 0.9:
            return known[-1 - min(int(self.chance.expovariate(0.5)), len(known) - 1)]
        if kind.size > 1 and singles and self.chance.random() < 0.7:
            single, at = f"{kind.element} {singles[-1]}", self.chance.randrange(kind.size)
            return self.keep(kind, self.part(f"insertelement {kind} {self.constant(kind)}, {single}, i32 {at}"))
        return self.constant(kind)

    def number(self, kind: Type, value: str, predicate: str = "ord") -> str:
        """Put 1.5 in place of NaNs; with the predicate `one`, of zeros too."""
        flags = Type("i1", kind.size)
        chosen = self.part(f"fcmp {predicate} {kind} {value}, {kind.all(0.0)}")
        return self.part(f"select {flags} {chosen}, {kind} {value}, {kind} {kind.all(1.5)}")

    def load(self) -> None:
        """Read some words; a NaN becomes a number."""
        kind = self.type((1, 1, 2))
        whole, size = kind.integers(), BITS[kind.element] * kind.size // 8
        at = self.chance.randrange(WORDS * 4 // size) * size
        place = self.part(f"getelementptr i8, ptr addrspace(1) %in, i32 {at}")
        read = self.keep(whole, self.part(f"load {whole}, ptr addrspace(1) {place}, align {size}"))
        if kind.is_float():
            self.keep(kind, self.number(kind, self.part(f"bitcast {whole} {read} to {kind}")))

    def written(self, text: str, kind: Type) -> str:
        """Return an operation with types and values in place of its words in capitals."""
        power, bits = Type("i32", kind.size), BITS[kind.element]
        words: dict[str, Callable[[], object]] = {
            "T": lambda: kind,
            "S": kind.suffix,
            "P": power.suffix,
            "A": lambda: self.value(kind),
            "SHIFT": lambda: self.part(self.written(f"and T A, {kind.all(bits - 1)}", kind)),
            "ODD": lambda: self.part(self.written(f"or T A, {kind.all(1)}", kind)),
            "POSITIVE": lambda: self.part(self.written(f"and T ODD, {kind.all((1 << bits - 1) - 1)}", kind)),
            "POWER": lambda: f"{power} {self.part(self.written(f'or T A, {power.all(-32)}', power))}",
            "NUMBER": lambda: self.number(kind, self.value(kind)),
            "NONZERO": lambda: self.number(kind, self.value(kind), "one"),
        }
        return re.sub("[A-Z]+", lambda found: str(words[found[0]]()), text)

    def write(self, text: str, kind: Type, of: Type | None = None) -> str:
        """Write an operation on values of a type, whose result later statements may use."""
        return self.keep(kind, self.part(self.written(text, of or kind)))

    # --- Statements -----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        pick = self.chance.random()
        if depth < 2 and pick < 0.16:
            (self.branches if pick < 0.1 else self.loop)(depth)
        else:
            ways = (self.operation,) * 5 + (self.conversion,) * 3 + (self.selection,) * 2 + (self.elements,)
            self.chance.choice(ways)(self.type())

    def operation(self, kind: Type) -> None:
        text = self.chance.choice(ON_FLOATS if kind.is_float() else ON_INTEGERS)
        if not any(re.match(pattern, f"{kind.suffix()} {text}") for pattern in LEFT_OUT):
            self.write(text, kind)

    def conversion(self, kind: Type) -> None:
        source = Type(self.chance.choice([*BITS]), kind.size)
        wider, floats = BITS[kind.element] - BITS[source.element], (source.is_float(), kind.is_float())
        names: tuple[str, ...] = ()
        if floats == (True, False):
            suffixes = f"{kind.suffix()}.{source.suffix()}"
            text = f"call {kind} @llvm.{self.chance.choice(('fptosi', 'fptoui'))}.sat.{suffixes}(T A)"
            self.write(text, kind, source)
        elif floats == (False, True):  # the host rounds more bits twice
            names = ("sitofp", "uitofp") if kind.element != "bfloat" or wider > 0 else ()
        elif wider:
            names = (("trunc",), ("zext", "sext"), ("fptrunc",), ("fpext",))[2 * floats[0] + (wider > 0)]
        if names:
            self.write(f"{self.chance.choice(names)} T A to {kind}", kind, source)

    def condition(self, size: int) -> str:
        kind = self.type((size,))
        name, words = ("fcmp", FLOAT_PREDICATES) if kind.is_float() else ("icmp", PREDICATES)
        return self.part(self.written(f"{name} {self.chance.choice(words)} T A, A", kind))

    def selection(self, kind: Type) -> None:
        flags = Type("i1", self.chance.choice((1, kind.size)))
        self.write(f"select {flags} {self.condition(flags.size)}, T A, T A", kind)

    def elements(self, kind: Type) -> None:
        """Move elements of vectors, at constant indexes or others."""
        wide, single = Type(kind.element, max(kind.size, 2)), Type(kind.element)
        index = str(self.chance.randrange(wide.size))
        if wide.size != 3 and self.chance.random() < 0.5:
            index = self.part(f"and i32 {self.value(INT)}, {wide.size - 1}")
        found = self.write(f"extractelement T A, i32 {index}", single, wide)
        self.write(f"insertelement T A, {single} {found}, i32 {index}", wide)
        order = ", ".join(f"i32 {self.chance.randrange(2 * wide.size)}" for _number in range(wide.size))
        self.write(f"shufflevector T A, T A, <{wide.size} x i32> <{order}>", wide)

    # --- Blocks ---------------------------------------------------------------------------------------------------

    def begin(self, block: str) -> None:
        self.block = block
        self.lines.append(f"{block}:")

    def inside(self, depth: int, kind: Type, known: dict[Type, list[str]], way: int = 0) -> str:
        """Write some statements with values of their own; return what an operation makes that each way has for itself.

        Else the operation could be moved behind the ways, and these end with what "a value after a switch" loses.
        """
        self.values = {each: [*names] for each, names in known.items()}
        for _number in range(self.chance.randint(1, 3)):
            self.statement(depth + 1)
        last = (ENDS_OF_FLOATS if kind.is_float() else ENDS_OF_INTEGERS)[way]
        made = self.write(last.replace("C", kind.all(1.5 if kind.is_float() else 3)), kind)
        self.values = known
        return made

    def branches(self, depth: int) -> None:
        """Write a branch or a switch, whose ways meet again."""
        kind, count, number = self.type(), self.chance.choice((2, 2, 3, 4)), len(self.lines)
        ways, end, met = [f"way{number}.{way}" for way in range(count)], f"end{number}", []
        if count == 2:
            self.lines.append(f"  br i1 {self.condition(1)}, label %{ways[0]}, label %{ways[1]}")
        else:
            chosen = self.part(f"and i32 {self.value(INT)}, 7")
            cases = " ".join(f"i32 {case}, label %{way}" for case, way in enumerate(ways[1:], 1))
            self.lines.append(f"  switch i32 {chosen}, label %{ways[0]} [ {cases} ]")
        for number, way in enumerate(ways):
            self.begin(way)
            met.append(f"[ {self.inside(depth, kind, self.values, number)}, %{self.block} ]")
            self.lines.append(f"  br label %{end}")
        self.begin(end)
        self.keep(kind, self.part(f"phi {kind} {', '.join(met)}"))

    def loop(self, depth: int) -> None:
        """Write a loop of at most 8 rounds that changes a value."""
        kind, number = self.type(), len(self.lines)
        start, most, outside = self.value(kind), self.part(f"and i32 {self.value(INT)}, 7"), self.block
        self.lines.append(f"  br label %loop{number}")
        self.begin(f"loop{number}")
        place, known = len(self.lines), self.values
        self.lines += ["", ""]
        now = f"%now{number}"
        made = self.inside(depth, kind, {**known, kind: [*known.get(kind, []), now]})
        self.values = known
        self.lines[place] = f"  {now} = phi {kind} [ {start}, %{outside} ], [ {made}, %{self.block} ]"
        following = self.part(f"add i32 %round{number}, 1")
        self.lines[place + 1] = f"  %round{number} = phi i32 [ 0, %{outside} ], [ {following}, %{self.block} ]"
        goes_on = self.part(f"icmp ule i32 {following}, {most}")
        self.lines.append(f"  br i1 {goes_on}, label %loop{number}, label %end{number}")
        self.begin(f"end{number}")
        self.keep(kind, made)

    def text(self, *, is_host: bool, only: str = "") -> str:
        """Return the function, whose result depends on the latest values of each type, or on one value."""
        end, total = len(self.lines), "0"
        for kind, names in self.values.items():
            whole = kind.integers()
            for value in [only] * (only in names) if only else names[-2:]:
                given = self.part(f"bitcast {kind} {self.number(kind, value)} to {whole}") if kind.is_float() else value
                for at in range(kind.size):
                    one = given if kind.size == 1 else self.part(f"extractelement {whole} {given}, i32 {at}")
                    one = one if whole.element == "i64" else self.part(f"zext {whole.element} {one} to i64")
                    total = self.part(f"add i64 {self.part(f'mul i64 {total}, -7046029254386353131')}, {one}")
        lines = "\n".join(self.lines)
        del self.lines[end:]
        how = "void" if is_host else "protected amdgpu_kernel void"
        given = ", i32 %lane)" if is_host else ') "amdgpu-flat-work-group-size"="64,64"'
        lane = "" if is_host else "  %lane = call i32 @llvm.amdgcn.workitem.id.x()\n"
        return f"""define internal i64 @{self.name}.body(ptr addrspace(1) %in) {self.inlining} {{
entry:
{lines}
  ret i64 {total}
}}
define {how} @{self.name}(ptr addrspace(1) %in, ptr addrspace(1) %out{given} {{
{lane}  %from = getelementptr [{WORDS} x i32], ptr addrspace(1) %in, i32 %lane
  %to = getelementptr i64, ptr addrspace(1) %out, i32 %lane
  %made = call i64 @{self.name}.body(ptr addrspace(1) %from)
  store i64 %made, ptr addrspace(1) %to
  ret void
}}
"""
