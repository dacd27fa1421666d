"""Random kernels in C on whose results all machines agree: the same text is compiled for a GPU and for the host.

Nothing in them is undefined: shifts are masked, divisors are tested, numbers are clamped before they become integers,
signaling NaNs do not occur and the bits of a NaN are never seen. Operations of floats are those of IEEE 754, without
contraction. Lanes go different ways by their numbers, and meet at barriers between phases; atomic operations are such
that their order does not matter.

A kernel is a list of phases, a phase a list of statements; a statement is a line or a block with statements in it. Any
of them can be left out, so that a kernel that shows a difference can be made small.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = 64
"""The lanes of a work-group."""
GROUPS = 2
INPUTS = 1024
"""The 32-bit numbers that a kernel can read."""
CELLS = 16
"""The 64-bit numbers that lanes change together."""
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "f32", "f64")
SCALARS = INTEGERS + FLOATS
COUNTS = (2, 3, 4)
WORK = (8, 16, 32, 64)
"""How much one phase does: about so many operations of 32 bits."""
DIVISION = 8
"""How many operations a division or a root is."""
C_NAMES = {
    "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int",
    "u32": "unsigned int", "i64": "long", "u64": "unsigned long", "f32": "float", "f64": "double",
}  # fmt: skip
ROUNDINGS = ("floor", "ceil", "trunc", "rint", "roundeven")
EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)
FLOAT_EDGES = ("0.0", "1.0", "0.5", "-1.0", "3.0", "1e-7", "65504.0", "1e30", "16777217.0", "0.1", "1e-40", "1e-310")

WORD = re.compile(r"\w+")
DECLARED = re.compile(r"\b(?:[vwa]\d+|x[01])\b(?= =|\[\d+\];)")
"""The variables that a declaration makes."""
ZERO = re.compile(r"\W*f\d\w*[()]*(?:0\.0|1e-40|1e-310)\)*$")
"""A number that is zero in some type."""


def bits_of(kind: str) -> int:
    """Return the bits of a scalar type."""
    return int(kind[1:])


def _prelude() -> Iterator[str]:  # noqa: PLR0915 (one after the other)
    """Yield the types, and the functions that say what an operation gives where C leaves that open."""
    yield "#ifdef __OPENCL_C_VERSION__"
    yield "#pragma OPENCL EXTENSION cl_khr_fp16 : enable"
    yield "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
    yield "#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable"
    yield "#pragma OPENCL EXTENSION __cl_clang_bitfields : enable"
    yield "typedef half f16;"
    yield "#define CONSTANT constant"
    yield "#else"
    yield "typedef _Float16 f16;"
    yield "#define CONSTANT static const"
    yield "#define bool _Bool"
    yield "#endif"
    for kind, name in C_NAMES.items():
        yield f"typedef {name} {kind};"
    for kind in SCALARS:
        for count in COUNTS:
            yield f"typedef {kind} {kind}x{count} __attribute__((ext_vector_type({count})));"
    yield "#define NOINLINE __attribute__((noinline)) static"
    yield "#define INLINE __attribute__((always_inline)) static"
    yield "#ifdef __AMDGCN__"
    yield "#define GLOBAL __attribute__((address_space(1)))"
    yield "#define LOCAL __attribute__((address_space(3)))"
    yield "#ifdef __OPENCL_C_VERSION__"
    yield f"#define KERNEL kernel __attribute__((amdgpu_flat_work_group_size({GROUP}, {GROUP})))"
    yield "#undef GLOBAL\n#undef LOCAL\n#define GLOBAL global\n#define LOCAL local"
    yield "#else"
    yield f"#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size({GROUP}, {GROUP})))"
    yield "#endif"
    yield (
        '#define BARRIER do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier();'
        ' __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)'
    )
    yield (
        "#define BEGIN u32 lid = __builtin_amdgcn_workitem_id_x();"
        f" u32 gid = __builtin_amdgcn_workgroup_id_x() * {GROUP} + lid; u64 acc = gid;"
        f" LOCAL u32 *lt = (LOCAL u32 *)(t + {GROUP}); if (lid < 8) lt[lid] = 0; t[lid] = gid; BARRIER;"
    )
    yield "#define PHASE(f) acc = f(lid, gid, acc, in, t, cells);"
    yield "#define SHARE BARRIER; t[lid] = acc; BARRIER;"
    yield "#define END BARRIER; out[gid] = acc * 31 + lt[lid & 7];"
    yield "#else"
    yield "#define GLOBAL\n#define LOCAL\n#define KERNEL"
    yield (
        f"#define BEGIN for (u32 group = 0; group < {GROUPS}; group++) {{ u32 first = group * {GROUP};"
        f" u64 accs[{GROUP}]; u32 *lt = (u32 *)(t + {GROUP}); for (u32 l = 0; l < 8; l++) lt[l] = 0;"
        f" for (u32 l = 0; l < {GROUP}; l++) t[l] = accs[l] = first + l;"
    )
    yield f"#define PHASE(f) for (u32 l = 0; l < {GROUP}; l++) accs[l] = f(l, first + l, accs[l], in, t, cells);"
    yield f"#define SHARE for (u32 l = 0; l < {GROUP}; l++) t[l] = accs[l];"
    yield f"#define END for (u32 l = 0; l < {GROUP}; l++) out[first + l] = accs[l] * 31 + lt[l & 7]; }}"
    yield "#endif"
    yield (
        "#define ATOMIC(name, p, v) (void)__scoped_atomic_fetch_##name(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)"
    )
    for kind in INTEGERS:
        bits = bits_of(kind)
        guard = "!b" if kind[0] == "u" else f"(b == 0 || b == ({kind})-1)"
        yield f"INLINE {kind} div_{kind}({kind} a, {kind} b) {{ return {guard} ? a : ({kind})(a / b); }}"
        yield f"INLINE {kind} rem_{kind}({kind} a, {kind} b) {{ return {guard} ? b : ({kind})(a % b); }}"
        wide = {8: "i32", 16: "i32", 32: "i64"}.get(bits)
        if wide:
            wide = wide if kind[0] == "i" else "u" + wide[1:]
            yield f"INLINE {kind} mulhi_{kind}({kind} a, {kind} b) {{ return ({kind})(({wide})a * ({wide})b >> {bits}); }}"  # noqa: E501 (C)
        else:
            word = "__int128" if kind[0] == "i" else "unsigned __int128"
            yield f"INLINE {kind} mulhi_{kind}({kind} a, {kind} b) {{ return ({kind})(({word})a * ({word})b >> 64); }}"
        yield (
            f"INLINE {kind} rot_{kind}({kind} a, u32 n) {{ u{bits} x = a; n &= {bits - 1};"
            f" return ({kind})(u{bits})(x << n | x >> (-n & {bits - 1})); }}"
        )
        yield f"INLINE {kind} absdiff_{kind}({kind} a, {kind} b) {{ return ({kind})(a > b ? a - b : b - a); }}"
        yield (
            f"INLINE {kind} carry_{kind}({kind} a, {kind} b) {{ {kind} r; bool o = __builtin_add_overflow(a, b, &r);"
            f" return ({kind})(r + o); }}"
        )
        yield (
            f"INLINE {kind} mulo_{kind}({kind} a, {kind} b) {{ {kind} r; bool o = __builtin_mul_overflow(a, b, &r);"
            f" return ({kind})(r ^ o); }}"
        )
        for source in FLOATS:
            low, high = (
                ("-1.0", float(2**bits)) if kind[0] == "u" else (f"-{float(2 ** (bits - 1))}", 2.0 ** (bits - 1))
            )
            sign = ">" if kind[0] == "u" else ">="
            yield (
                f"INLINE {kind} {kind}_of_{source}({source} x) {{"
                f" return (f64)x {sign} {low} && (f64)x < {high} ? ({kind})x : ({kind})77; }}"
            )
    for kind, exponent, quiet in (
        ("f16", 0x7C00, 0x200),
        ("f32", 0x7F800000, 0x400000),
        ("f64", 0x7FF0000000000000, 0x8000000000000),
    ):
        word = f"u{bits_of(kind)}"
        suffix = "ul" if kind == "f64" else "u"
        yield (
            f"INLINE {word} bits_{kind}({kind} x) {{ union {{ {kind} f; {word} u; }} p; p.f = x;"
            f" return x != x ? ({word}){exponent | quiet:#x}{suffix} : p.u; }}"
        )
        yield (
            f"INLINE {kind} float_{kind}({word} x) {{ union {{ {kind} f; {word} u; }} p;"
            f" p.u = (x & {2 * exponent - 1 & ~(1 << bits_of(kind) - 1) | exponent:#x}{suffix}) > {exponent:#x}{suffix}"
            f" ? x | {quiet:#x}{suffix} : x; return p.f; }}"
        )
        for name in ("min", "max"):
            yield (
                f"INLINE {kind} {name}_{kind}({kind} a, {kind} b) {{"
                f" return a == b ? a : ({kind})__builtin_elementwise_{name}num(a, b); }}"
            )
        yield (
            f"INLINE {kind} sign_{kind}({kind} a, {kind} b) {{"
            f" return b != b ? a : ({kind})__builtin_elementwise_copysign(a, b); }}"
        )
    # clang makes v_fma_mixlo_f16 of a product that becomes a half, and adds 0 in it: -0 becomes 0.
    yield "INLINE f16 f16_of_f32(f32 x) { return x == 0 ? (f16)0.0f : (f16)x; }"
    yield "INLINE f32 scale_f32(f32 a, i32 n) { return __builtin_ldexpf(a, n % 200); }"
    yield "INLINE f64 scale_f64(f64 a, i32 n) { return __builtin_ldexp(a, n % 1500); }"
    yield "INLINE f16 scale_f16(f16 a, i32 n) { return f16_of_f32(__builtin_ldexpf((f32)a, n % 30)); }"
    yield "INLINE u64 mix(u64 acc, u64 v) { return (acc << 7 | acc >> 57) + v; }"
    yield "struct pair { u32 a; i16 b; u8 c; f32 d; };"
    yield "struct wide { u64 a[3]; u16 b; f64 c; };"
    yield "struct fields { u32 a : 5; i32 b : 11; u32 c : 16; i64 d : 37; u64 e : 27; };"


PRELUDE = "\n".join(_prelude())


@dataclass
class Block:
    """A statement with others in it."""

    head: str
    body: list[str | Block]
    tail: str = "}"

    def lines(self) -> Iterator[str]:
        """Yield its text."""
        yield self.head
        yield from lines_of(self.body)
        yield self.tail


def lines_of(statements: list[str | Block]) -> Iterator[str]:
    """Yield the text of statements."""
    for statement in statements:
        if isinstance(statement, Block):
            yield from statement.lines()
        else:
            yield statement


def used(declarations: list[str], text: str) -> list[str]:
    """Return those declarations that a text needs, each of which may need earlier ones."""
    needed: list[str] = []
    for declaration in reversed(declarations):
        if set(DECLARED.findall(declaration)) & set(WORD.findall(text)):
            needed.insert(0, declaration)
            text += declaration
    return needed


@dataclass
class Phase:
    """What lanes do between two barriers."""

    name: str
    attribute: str
    declarations: list[str]
    statements: list[str | Block]
    result: str

    def text(self) -> str:
        """Return the function."""
        head = (
            f"{self.attribute} u64 {self.name}(u32 lid, u32 gid, u64 acc, GLOBAL const u32 *in,"
            " LOCAL u64 *t, GLOBAL u64 *cells) {"
        )
        body = (*self.declarations, *lines_of(self.statements), self.result, "return acc;")
        return "\n".join((head, *body, "}"))


@dataclass
class Kernel:
    """A kernel, with the functions that only it calls."""

    name: str
    functions: list[str]
    phases: list[Phase]

    def text(self) -> str:
        """Return the kernel in C."""
        steps = " SHARE ".join(f"PHASE({phase.name})" for phase in self.phases)
        head = f"KERNEL void {self.name}(GLOBAL u64 *out, GLOBAL const u32 *in, GLOBAL u64 *cells, LOCAL u64 *t)"
        parts = (*self.functions, *(phase.text() for phase in self.phases), f"{head} {{ BEGIN {steps} END }}")
        return "\n".join(parts)


@dataclass
class Scope:
    """What an expression can name."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    """Names by type."""
    arrays: list[tuple[str, str, int]] = field(default_factory=list)
    """Name, type and size of private arrays."""
    functions: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    """Name, result and parameters."""
    changed: set[str] = field(default_factory=set)
    """The names of variables that statements change."""
    has_memory: bool = False
    """Whether ``in``, ``t`` and ``cells`` are there."""
    reads_local: bool = False


class Writer:
    """Write random expressions and statements."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.scope = Scope()
        self.loops = 0
        self.names = 0
        self.left = WORK[-1]
        """How much more a phase or a function may do."""

    def chance(self, share: float) -> bool:
        """Return True in a share of cases."""
        return self.random.random() < share

    def any(self, kinds: tuple[str, ...] = SCALARS) -> str:
        """Return a type."""
        return self.random.choice(kinds)

    def depth(self) -> int:
        """Return how deep an expression is."""
        return self.random.choice((1, 2, 2, 3))

    def changing(self, name: str) -> str:
        """Return a name, and remember that its variable changes."""
        self.scope.changed.add(name)
        return name

    # --- Expressions ----------------------------------------------------------------------------------------------

    def literal(self, kind: str) -> str:
        """Return a constant of a type."""
        element, _, count = kind.partition("x")
        if count:
            return f"(({kind})({self.leaf(element)}))"
        if kind[0] == "f":
            text = self.random.choice(FLOAT_EDGES) if self.chance(0.5) else repr(self.random.uniform(-100, 100))
            return f"({kind}){text}"
        bits = bits_of(kind)
        number = self.random.choice((*EDGES, *range(12))) if self.chance(0.6) else self.random.getrandbits(bits)
        number &= (1 << bits) - 1
        return f"({kind}){number:#x}{'ul' if bits == 64 else 'u'}"

    def leaf(self, kind: str) -> str:
        """Return a variable or a constant."""
        names = self.scope.variables.get(kind, [])
        if names and self.chance(0.75):
            return self.random.choice(names)
        arrays = [array for array in self.scope.arrays if array[1] == kind]
        if arrays and self.chance(0.5):
            name, _kind, size = self.random.choice(arrays)
            return f"{name}[{self.index(size)}]"
        others = [other for other in self.scope.variables if "x" not in other]
        if "x" not in kind and others and self.chance(0.6):
            other = self.random.choice(others)
            return self.converted(kind, other, self.random.choice(self.scope.variables[other]))
        return self.literal(kind)

    def converted(self, kind: str, source: str, text: str) -> str:
        """Return a number of a scalar type as one of another."""
        if source == kind:
            return text
        if (source[0] == "f" and kind[0] != "f") or (kind, source) == ("f16", "f32"):
            return f"{kind}_of_{source}({text})"
        return f"({kind}){text}"

    def work(self, kind: str, times: int = 1) -> None:
        """Count an operation of a type."""
        element, _, count = kind.partition("x")
        self.left -= times * int(count or 1) * (2 if bits_of(element) == 64 else 1)

    def minuend(self, kind: str, text: str) -> str:
        """Return an expression from which another is subtracted: not zero, as clang makes 0 - x into -x for some users.

        They are those whose operands can be negated on the way, which is wrong for an x of zero.
        """
        number = ZERO.match(text)
        return f"(({kind})(1.0))" if number else text

    def divides(self, kind: str) -> bool:
        """Return whether integers are to be divided; those of 64 bits are hundreds of instructions each."""
        if "64" in kind and (self.left < WORK[0] or self.chance(0.7)):
            return False
        self.work(kind, 4 * DIVISION if "64" in kind else DIVISION)
        return True

    def index(self, size: int) -> str:
        """Return an index below a power of two."""
        text = self.leaf("u32") if self.chance(0.7) else self.expression("u32", 1)
        return f"({text}) & {size - 1}"

    def condition(self, depth: int) -> str:
        """Return what is true or not."""
        if self.chance(0.15):
            both = self.random.choice(("&&", "||"))
            return f"({self.condition(depth - 1)} {both} {self.condition(depth - 1)})"
        kind = self.any()
        sign = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({self.expression(kind, depth - 1)} {sign} {self.expression(kind, depth - 1)})"

    def expression(self, kind: str, depth: int) -> str:
        """Return an expression of exactly this type."""
        self.work(kind)
        if depth <= 0 or self.left <= 0 or self.chance(0.08):
            return self.leaf(kind)
        if "x" in kind:
            return self.vector(kind, depth)
        roll = self.random.random()
        if roll < 0.08:
            return (
                f"({kind})({self.condition(depth)} ? {self.expression(kind, depth - 1)}"
                f" : {self.expression(kind, depth - 1)})"
            )
        if roll < 0.13:
            calls = [function for function in self.scope.functions if function[1] == kind]
            if calls:
                name, _result, parameters = self.random.choice(calls)
                return f"{name}({', '.join(self.expression(each, depth - 1) for each in parameters)})"
        if roll < 0.2:
            count = self.random.choice(COUNTS)
            vector = f"{kind}x{count}"
            if self.scope.variables.get(vector):
                name = self.random.choice(self.scope.variables[vector])
                place = self.random.randrange(count) if self.chance(0.5) else f"({self.leaf('u32')}) % {count}"
                return f"({kind}){name}[{place}]"
        return self.floating(kind, depth) if kind[0] == "f" else self.integer(kind, depth)

    def integer(self, kind: str, depth: int) -> str:  # noqa: C901, PLR0911, PLR0912 (one for each form)
        """Return an expression of an integer type."""
        bits = bits_of(kind)

        def sub(other: str = kind) -> str:
            return self.expression(other, depth - 1)

        form = self.random.randrange(22)
        if form < 6:
            return f"({kind})({sub()} {self.random.choice(('+', '-', '*', '&', '|', '^'))} {sub()})"
        if form < 8:
            return f"({kind})({sub()} {self.random.choice(('<<', '>>'))} ({sub('u32')} & {bits - 1}))"
        if form == 8 and self.divides(kind):
            return f"{self.random.choice(('div', 'rem'))}_{kind}({sub()}, {sub()})"
        if form == 9:
            return f"{self.random.choice(('mulhi', 'absdiff', 'carry', 'mulo'))}_{kind}({sub()}, {sub()})"
        if form == 10:
            return f"rot_{kind}({sub()}, {sub('u32')})"
        if form == 11:
            return f"({kind})({self.random.choice('~-!')}{sub()})"
        if form == 12:
            name = self.random.choice(("popcount", "bitreverse"))
            unsigned = f"u{bits}"
            return f"({kind})__builtin_elementwise_{name}(({unsigned}){sub()})"
        if form == 13:
            name = self.random.choice(("clzg", "ctzg"))
            return f"({kind})__builtin_{name}((u{bits}){sub()}, {bits})"
        if form == 14:
            name = self.random.choice(("min", "max", "add_sat", "sub_sat"))
            return f"({kind})__builtin_elementwise_{name}({sub()}, {sub()})"
        if form == 15:
            source = self.any(FLOATS)
            return self.converted(kind, source, sub(source))
        if form == 16:
            source = {16: "f16", 32: "f32", 64: "f64"}.get(bits, "f32")
            return f"({kind})bits_{source}({sub(source)})"
        if form == 17:
            return f"({kind}){self.condition(depth)}"
        if form == 18:
            low, high = sorted(self.random.sample(range(bits), 2))
            mask = (1 << high - low) - 1
            return f"({kind})({sub()} >> {low} & ({kind}){mask:#x}{'ul' if bits == 64 else 'u'})"
        if form == 19 and self.scope.has_memory:
            return self.loaded(kind)
        if form == 20 and bits == 32:
            return self.pattern(kind, depth)
        return f"({kind}){sub(self.any(INTEGERS))}"

    def pattern(self, kind: str, depth: int) -> str:
        """Return what compilers have an instruction of three operands for."""

        def sub(other: str = kind) -> str:
            return self.expression(other, depth - 1)

        form = self.random.randrange(7)
        if form == 0:
            return f"({kind})(({sub()} << ({sub('u32')} & 31)) {self.random.choice('+|')} {sub()})"
        if form == 1:
            return f"({kind})({sub()} + {sub()} + {sub()})"
        if form == 2:
            return f"({kind})({sub()} ^ {sub()} ^ {sub()})"
        if form == 3:
            return f"({kind})({sub()} & {sub()} | {sub()})"
        if form == 4:
            small = self.any(("i8", "u8", "i16", "u16"))
            return f"({kind})(({kind}){sub(small)} * ({kind}){sub(small)} + {sub()})"
        if form == 5:
            shift = self.random.choice((8, 16, 24, 5))
            return f"({kind})(u32)(((u64)(u32){sub()} << 32 | (u32){sub()}) >> {shift})"
        return f"({kind})__builtin_elementwise_max({sub()}, __builtin_elementwise_min({sub()}, {sub()}))"

    def loaded(self, kind: str) -> str:
        """Return a number of memory."""
        bits = bits_of(kind)
        if self.scope.reads_local and self.chance(0.4):
            return f"({kind})t[{self.index(GROUP)}]"
        if self.chance(0.3):
            return f"({kind})table[{self.index(16)}]"
        count = INPUTS * 32 // bits
        return f"((GLOBAL const {kind} *)in)[{self.index(count)}]"

    def floating(self, kind: str, depth: int) -> str:
        """Return an expression of a floating type."""

        def sub(other: str = kind) -> str:
            return self.expression(other, depth - 1)

        form = self.random.randrange(14)
        if form < 5:
            sign = self.random.choice("+-*+-*/")
            self.work(kind, DIVISION if sign == "/" else 1)
            return f"({kind})({self.minuend(kind, sub()) if sign == '-' else sub()} {sign} {sub()})"
        if form == 5:
            if kind == "f16":
                return f"({kind})({self.minuend(kind, sub())} - {sub()})"
            return f"({kind})__builtin_elementwise_fma({sub()}, {sub()}, {sub()})"
        if form == 6:
            self.work(kind, DIVISION)
            return f"({kind})__builtin_elementwise_sqrt(({kind})__builtin_elementwise_abs({sub()}))"
        if form == 7:
            return f"({kind})__builtin_elementwise_{self.random.choice(ROUNDINGS)}({sub()})"
        if form == 8:
            return f"{self.random.choice(('min', 'max', 'sign'))}_{kind}({sub()}, {sub()})"
        if form == 9:
            return f"({kind})({self.random.choice(('-', '__builtin_elementwise_abs'))}({sub()}))"
        if form == 10:
            return f"float_{kind}({sub(f'u{bits_of(kind)}')})"
        if form == 11:
            return f"scale_{kind}({sub()}, {sub('i32')})"
        source = self.any()
        return self.converted(kind, source, sub(source))

    def vector(self, kind: str, depth: int) -> str:  # noqa: PLR0911 (one for each form)
        """Return an expression of a vector type."""
        element, _, count = kind.partition("x")

        def sub(other: str = kind) -> str:
            return self.expression(other, depth - 1)

        form = self.random.randrange(10)
        if form == 0:
            return f"(({kind}){{{', '.join(self.expression(element, depth - 1) for _ in range(int(count)))}}})"
        if form == 1:
            places = [str(self.random.randrange(2 * int(count))) for _ in range(int(count))]
            return f"__builtin_shufflevector({sub()}, {sub()}, {', '.join(places)})"
        if form == 2:
            sources = (
                INTEGERS if element[0] != "f" else tuple(each for each in SCALARS if element != "f16" or each != "f32")
            )
            return f"__builtin_convertvector({sub(f'{self.any(sources)}x{count}')}, {kind})"
        if form == 3:
            mask = f"i{bits_of(element)}x{count}"
            return f"({sub(mask)} < {sub(mask)} ? {sub()} : {sub()})"
        if element[0] == "f":
            if form == 4 and element != "f16":
                return f"__builtin_elementwise_fma({sub()}, {sub()}, {sub()})"
            if form == 5:
                return f"(-{sub()})"
            sign = self.random.choice("+-*+-*/")
            self.work(kind, DIVISION if sign == "/" else 1)
            return f"({self.minuend(kind, sub()) if sign == '-' else sub()} {sign} {sub()})"
        if form == 4:
            return f"({sub()} {self.random.choice(('<<', '>>'))} ({sub()} & ({kind})({bits_of(element) - 1})))"
        if form == 5:
            name = self.random.choice(("min", "max", "add_sat", "sub_sat"))
            return f"__builtin_elementwise_{name}({sub()}, {sub()})"
        if form == 6 and self.divides(kind):
            return f"({sub()} {self.random.choice('/%')} (({sub()} & ({kind})63) | ({kind})1))"
        return f"({sub()} {self.random.choice('+-*&|^')} {sub()})"

    # --- Statements -----------------------------------------------------------------------------------------------

    def name(self, letter: str) -> str:
        """Return a name that nothing has yet."""
        self.names += 1
        return f"{letter}{self.names}"

    def statement(self, depth: int) -> str | Block:
        """Return a statement."""
        self.left -= 3
        roll = self.random.random()
        if depth > 0 and roll < 0.4:
            return self.block(depth)
        if self.loops and roll < 0.46:
            return f"if {self.condition(1)} {self.random.choice(('break', 'continue'))};"
        if roll < 0.54 and self.scope.arrays:
            name, kind, size = self.random.choice(self.scope.arrays)
            sign = "" if kind[0] == "f" else self.random.choice(("", "+", "^"))
            return f"{self.changing(name)}[{self.index(size)}] {sign}= {self.expression(kind, 2)};"
        if roll < 0.6 and self.scope.has_memory:
            return self.atomic()
        vectors = [kind for kind in self.scope.variables if "x" in kind]
        if roll < 0.75 and vectors:
            kind = self.random.choice(vectors)
            name = self.changing(self.random.choice(self.scope.variables[kind]))
            if self.chance(0.3):
                element, _, count = kind.partition("x")
                return f"{name}[({self.leaf('u32')}) % {count}] = {self.expression(element, 2)};"
            return f"{name} = {self.expression(kind, 2)};"
        if roll < 0.82:
            return self.structure()
        kind = self.any()
        names = self.scope.variables.get(kind)
        if not names:
            return f"acc = mix(acc, {self.expression('u64', 2)});"
        return f"{self.changing(self.random.choice(names))} = {self.expression(kind, self.depth())};"

    def structure(self) -> str:
        """Return a statement with an object of a structure."""
        name = self.name("s")
        form = self.random.randrange(3)
        if form == 0:
            return (
                f"{{ struct pair {name} = pairs({self.leaf('u32')}, {self.expression('f32', 1)});"
                f" acc = mix(acc, {name}.a + {name}.b * 3 + {name}.c * 5 + bits_f32({name}.d)); }}"
            )
        if form == 1:
            return (
                f"{{ struct wide {name} = wides({self.expression('u64', 1)}, {self.leaf('f64')});"
                f" acc = mix(acc, {name}.a[{self.leaf('u32')} % 3] + {name}.b + bits_f64({name}.c)); }}"
            )
        return (
            f"{{ struct fields {name}; {name}.a = {self.leaf('u32')}; {name}.b = {self.leaf('i32')};"
            f" {name}.c = {self.leaf('u32')}; {name}.d = {self.expression('i64', 1)}; {name}.e = {self.leaf('u64')};"
            f" {name}.b += {name}.a; {name}.d ^= {name}.c;"
            f" acc = mix(acc, (u64){name}.a + (u64){name}.b * 3 + {name}.c * 5 + (u64){name}.d * 7 + {name}.e); }}"
        )

    def atomic(self) -> str:
        """Return an atomic operation; each cell has one operation, of which the order does not matter."""
        cell = self.random.randrange(13)
        if cell < 6:
            name = ("add", "or", "and", "xor", "max", "min")[cell]
            return f"ATOMIC({name}, &cells[{cell}], {self.expression('u64', 1)});"
        if cell < 8:
            name = ("max", "min")[cell - 6]
            return f"ATOMIC({name}, (GLOBAL i64 *)&cells[{cell}], {self.expression('i64', 1)});"
        if cell < 11:
            name, kind = (("add", "u32"), ("max", "i32"), ("xor", "u32"))[cell - 8]
            return f"ATOMIC({name}, (GLOBAL {kind} *)&cells[{cell}], {self.expression(kind, 1)});"
        if cell == 11:
            return f"ATOMIC(add, (GLOBAL f32 *)&cells[{cell}], (f32)({self.leaf('u32')} & 15));"
        place = self.random.randrange(8)
        name, kind = (
            ("add", "u32"), ("max", "u32"), ("min", "u32"), ("or", "u32"), ("xor", "u32"), ("max", "i32"),
            ("sub", "u32"), ("and", "u32"),
        )[place]  # fmt: skip
        return f"ATOMIC({name}, (LOCAL {kind} *)(t + {GROUP}) + {place}, {self.expression(kind, 1)});"

    def body(self, depth: int, most: int = 4) -> list[str | Block]:
        """Return some statements."""
        count = self.random.randrange(1, most)
        return [self.statement(depth - 1) for number in range(count) if number == 0 or self.left > 0]

    def block(self, depth: int) -> Block:
        """Return a branch, a switch or a loop."""
        form = self.random.randrange(6)
        if form < 2:
            return Block(f"if {self.condition(2)} {{", self.body(depth))
        if form == 2:
            other = Block("} else {", self.body(depth))
            return Block(f"if {self.condition(2)} {{", [*self.body(depth), other], "")
        if form == 3:
            cases: list[str | Block] = []
            before, self.loops = self.loops, 0  # `continue` would be right, `break` is not what leaves the loop
            for number in range(self.random.randrange(2, 6)):
                end = "}" if self.chance(0.05) else "break; }"  # clang 22 loses values of lanes that fall through
                cases.append(Block(f"case {number}: {{", self.body(depth, 3), end))
            if self.chance(0.5):
                cases.append(Block("default: {", self.body(depth, 3)))
            self.loops = before
            return Block(f"switch (({self.expression('u32', 1)}) & 7) {{", cases)
        self.loops += 1
        count = self.name("n")
        if form == 4:
            made = Block(
                f"for (u32 {count} = 0; {count} < (({self.expression('u32', 1)}) & 7); {count}++) {{", self.body(depth)
            )
        else:
            made = Block(f"for (u32 {count} = 0; {count}++ < 6 && {self.condition(1)};) {{", self.body(depth))
        self.loops -= 1
        return made

    # --- Functions ------------------------------------------------------------------------------------------------

    def function(self, prefix: str) -> tuple[str, tuple[str, str, tuple[str, ...]]]:
        """Return a function that is not inlined: its text, and its name, result and parameters."""
        result = self.any()
        parameters = tuple(self.any() for _ in range(self.random.randrange(1, 4)))
        name = f"{prefix}_{self.name('f')}"
        outer, self.scope = self.scope, Scope(functions=[])
        self.left = self.random.choice(WORK[:2])
        for number, kind in enumerate(parameters):
            self.scope.variables.setdefault(kind, []).append(f"p{number}")
        heads = ", ".join(f"{kind} p{number}" for number, kind in enumerate(parameters))
        if self.chance(0.25):
            step = ", ".join(self.expression(kind, 1) for kind in parameters)
            text = (
                f"NOINLINE {result} {name}_r(u32 depth, {heads}) {{ if (!depth) return {self.expression(result, 2)};"
                f" {result} deeper = {name}_r(depth - 1, {step});"
                f" return ({result})(deeper + {self.expression(result, 2)}); }}\n"
                f"NOINLINE {result} {name}({heads}) {{ return {name}_r({self.index(4)}, {', '.join(f'p{n}' for n in range(len(parameters)))}); }}"  # noqa: E501 (C)
            )
        else:
            text = f"NOINLINE {result} {name}({heads}) {{ return {self.expression(result, self.depth())}; }}"
        self.scope = outer
        return text, (name, result, parameters)

    def kernel(self, name: str, size: int) -> Kernel:
        """Return a kernel with about so many statements."""
        made = [self.function(name) for _ in range(self.random.randrange(3))]
        functions = [text for text, _ in made]
        known = [signature for _, signature in made]
        if self.chance(0.15):
            functions.append(
                f"NOINLINE u32 {name}_a(u32 p0, u32 p1) {{ return p0 * 3 + p1; }}\n"
                f"NOINLINE u32 {name}_b(u32 p0, u32 p1) {{ return p0 ^ p1 >> 3; }}\n"
                f"NOINLINE u32 {name}_p(u32 p0, u32 p1) {{ u32 (*f)(u32, u32) = p0 & 1 ? {name}_a : {name}_b; return f(p0, p1); }}"  # noqa: E501 (C)
            )
            known.append((f"{name}_p", "u32", ("u32", "u32")))
        phases = []
        for number in range(1 if self.chance(0.6) else self.random.randrange(2, 4)):
            self.scope = Scope(functions=known, has_memory=True, reads_local=True)
            self.left = self.random.choice(WORK)
            declarations = self.declarations()
            statements = [self.statement(2) for _ in range(max(2, self.random.randrange(size)))]
            attribute = "NOINLINE" if self.chance(0.2) else "INLINE"
            result = self.result()
            declarations = used(declarations, "\n".join((*lines_of(statements), result)))
            phases.append(Phase(f"{name}_{number}", attribute, declarations, statements, result))
        return Kernel(name, functions, phases)

    def declarations(self) -> list[str]:
        """Return variables of some types, with numbers of memory in them."""
        lines = ["u32 x0 = in[gid], x1 = lid;"]
        self.scope.variables["u32"] = ["x0", "x1", "lid"]
        for kind in self.random.sample(SCALARS, 4):
            name = self.name("v")
            bits = bits_of(kind)
            load = f"((GLOBAL const u{bits} *)in)[(gid * {self.random.randrange(1, 8)} + {self.random.randrange(64)}) & {INPUTS * 32 // bits - 1}]"  # noqa: E501 (C)
            lines.append(f"{kind} {name} = {f'float_{kind}({load})' if kind[0] == 'f' else f'({kind}){load}'};")
            self.scope.variables.setdefault(kind, []).append(name)
        self.scope.variables.setdefault("u64", []).append("acc")
        for _ in range(self.random.randrange(3)):
            kind = f"{self.any()}x{self.random.choice(COUNTS)}"
            name = self.name("w")
            lines.append(f"{kind} {name} = {self.vector_start(kind)};")
            self.scope.variables.setdefault(kind, []).append(name)
        for _ in range(self.random.choice((0, 0, 1))):
            kind, size, name = self.any(), self.random.choice((4, 8, 8, 16)), self.name("a")
            lines.append(
                f"{kind} {name}[{size}]; for (u32 i = 0; i < {size}; i++) {name}[i] = ({kind})(in[(gid + i) & {INPUTS - 1}] >> (i & 15));"  # noqa: E501 (C)
            )
            self.scope.arrays.append((name, kind, size))
        return lines

    def vector_start(self, kind: str) -> str:
        """Return the first value of a vector."""
        element, _, count = kind.partition("x")
        return f"({kind}){{{', '.join(self.expression(element, 1) for _ in range(int(count)))}}}"

    def result(self) -> str:
        """Return the statements that put every variable into the result."""
        lines = []
        for kind, names in self.scope.variables.items():
            element, _, count = kind.partition("x")
            for name in names:
                for place in range(int(count or 1)):
                    text = f"{name}[{place}]" if count else name
                    text = f"bits_{element}({text})" if element[0] == "f" else f"(u64){text}"
                    if name in self.scope.changed and name not in ("acc", "lid"):
                        lines.append(f"acc = mix(acc, {text});")
        for name, kind, size in self.scope.arrays:
            text = f"bits_{kind}({name}[i])" if kind[0] == "f" else f"(u64){name}[i]"
            if name in self.scope.changed:
                lines.append(f"for (u32 i = 0; i < {size}; i++) acc = mix(acc, {text});")
        return "\n".join(lines)


SHARED = """CONSTANT u64 table[16] = {1, 2, 3, 0x8000000000000000ul, 5, 0x7ffffffful, 7, 0x123456789abcdeful, 9,
0xfffffffful, 11, 12, 0xfffffffffffffffful, 14, 0x80000000ul, 16};
NOINLINE struct pair pairs(u32 a, f32 d) {
struct pair p; p.a = a * 3; p.b = (i16)(a >> 3); p.c = (u8)a; p.d = d + 1.0f; return p; }
NOINLINE struct wide wides(u64 a, f64 c) {
struct wide w; w.a[0] = a; w.a[1] = a * a; w.a[2] = ~a; w.b = (u16)(a >> 7); w.c = c * 2.0; return w; }
"""


def kernels(seed: str, count: int, size: int = 5) -> list[Kernel]:
    """Return random kernels: the same ones for the same seed."""
    return [Writer(f"{seed}/{number}").kernel(f"k{number}", size) for number in range(count)]


def source(made: list[Kernel]) -> str:
    """Return the text of a file with kernels."""
    return "\n".join((PRELUDE, SHARED, *(kernel.text() for kernel in made), ""))
