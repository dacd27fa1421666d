"""Random kernels in OpenCL C with many variables, whose results C defines: the same for each compiler and level.

Shifts are masked, integers wrap, indices stay within buffers and loops end. The text is also one for the host, where
`__builtin_amdgcn_workitem_id_x` is a macro. Each statement has a line of its own.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KERNELS = 8
"""The kernels of a source: a compiler takes longer to start than to compile one."""
OPTIONS = ("-fwrapv", "-ffp-contract=off")
"""The words for a compiler with which all results are defined."""
MASK = 255
"""The indices of buffers: within the least of what is made for a pointer."""
BITS = {"char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32, "long": 64, "ulong": 64}
KINDS = (*BITS, "int", "int", "uint", "float", "float")
"""The types of variables; those that come more often stand here more often."""
VECTOR = "uint4"
SIGNS = ("+", "-", "*", "&", "|", "^")
NUMBERS = (1, 2, 3, 5, 7, 11, 64, 255, 1000)
STATEMENTS = 8
"""The most statements of a kernel, those in blocks among them."""


def random_source(seed: int, first: int, count: int) -> str:
    """Return a source with some kernels; each depends only on the seed and its number."""
    return "\n".join(line for number in range(first, first + count) for line in SourceWriter(seed, number).kernel())


class SourceWriter:
    """Writes a kernel and the functions that it calls."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.kernel_name = f"k{number}"
        self.variables: list[tuple[str, str]] = []
        """What statements can name, with its type."""
        self.counters: set[str] = set()
        """The variables that no statement changes."""
        self.functions: list[tuple[str, str, tuple[str, ...]]] = []
        """The names, results and parameters of functions."""
        self.has_buffers = False
        self.names = 0
        self.left = 0
        """How many statements may still be written."""
        self.loops = 0

    def chance(self, share: float) -> bool:
        """Return True in a share of cases."""
        return self.random.random() < share

    def pick(self, *choices: str) -> str:
        """Return one of some texts."""
        return self.random.choice(choices)

    def name(self) -> str:
        """Return a name that nothing has yet."""
        self.names += 1
        return f"v{self.names}"

    # --- Expressions --------------------------------------------------------------------------------------------------

    def leaf(self, kind: str) -> str:
        """Return a variable, an element, or a number."""
        roll = self.random.random()
        same = [name for name, of in self.variables if of == kind]
        if same and roll < 0.6:
            return self.pick(*same[-4:])
        others = [name for name, of in self.variables if of not in (kind, VECTOR, "float")]
        if others and roll < 0.8:
            return f"({kind}){self.pick(*others[-4:])}"
        vectors = [name for name, of in self.variables if of == VECTOR]
        if vectors and kind != "float" and roll < 0.85:
            return f"({kind}){self.pick(*vectors)}.{self.pick(*'xyzw')}"
        if self.has_buffers and roll < 0.9:
            return f"({kind})in[{self.index()}]"
        return f"{self.random.randrange(9)}.5f" if kind == "float" else f"({kind}){self.random.choice(NUMBERS)}"

    def index(self) -> str:
        """Return an index of a buffer."""
        names = [name for name, kind in self.variables if kind in ("int", "uint")]
        return f"({self.pick('1', *names)} + {self.random.randrange(64)}) & {MASK}"

    def expression(self, kind: str, depth: int = 2) -> str:
        """Return an expression of a type."""
        if depth <= 0 or self.chance(0.15):
            return self.leaf(kind)
        calls = [each for each in self.functions if each[1] == kind]
        if calls and self.chance(0.4):
            name, _kind, parameters = self.random.choice(calls)
            return f"{name}({', '.join(self.expression(each, depth - 1) for each in parameters)})"
        left, right = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        if kind == "float":
            return f"({left} * 0.25f {self.pick('+', '-')} {right})"
        roll = self.random.random()
        if roll < 0.12:
            return f"({kind})({left} {self.pick('<<', '>>')} ({self.leaf('uint')} & {BITS[kind] - 1}))"
        if roll < 0.2:
            return f"({kind})({self.condition()} ? {left} : {right})"
        if roll < 0.24 and kind.startswith("u"):
            return f"({kind})({left} {self.pick('/', '%')} ({right} | 1))"
        return f"({kind})({left} {self.pick(*SIGNS)} {right})"

    def condition(self) -> str:
        """Return what is true or not."""
        kind = self.pick("int", "uint", "int", "float")
        if kind != "float" and self.chance(0.4):
            return f"({self.leaf(kind)} & {self.pick('1', '2', '3', '4', '7')})"
        number = self.random.choice(NUMBERS)
        return f"({self.leaf(kind)} {self.pick('<', '>', '<=', '!=')} {number}{'.0f' if kind == 'float' else ''})"

    # --- Statements ---------------------------------------------------------------------------------------------------

    def declaration(self) -> str:
        """Return a variable with its first value."""
        kind = VECTOR if self.chance(0.06) else self.pick(*KINDS)
        value = self.expression(kind) if kind != VECTOR else ", ".join(self.expression("uint", 1) for _ in "xyzw")
        name = self.name()
        self.variables.append((name, kind))
        return f"{kind} {name} = {value if kind != VECTOR else f'({kind})({value})'};"

    def assignment(self) -> str:
        """Return a statement that changes a variable."""
        name, kind = self.random.choice([each for each in self.variables if each[0] not in self.counters])
        if kind == "float":
            return f"{name} = {self.expression(kind)};"
        if kind == VECTOR:
            name, kind = f"{name}.{self.pick(*'xyzw')}", "uint"
        if self.chance(0.2):
            return f"{name}{self.pick('++', '--')};"
        return f"{name} {self.pick('', '', *SIGNS)}= {self.expression(kind)};"

    def block(self, head: str, depth: int) -> Iterator[str]:
        """Yield some statements in braces; the variables that they declare end with them."""
        before = len(self.variables)
        yield f"{head} {{"
        for number in range(self.random.randrange(1, 4)):
            if number == 0 or self.left > 0:
                yield from (f"  {line}" for line in self.statement(depth - 1))
        if len(self.variables) > before:  # what is in the block is of use behind it
            yield f"  n += {self.expression('int', 1)};"
        if self.loops and self.chance(0.1):
            yield f"  if {self.condition()}"
            yield f"    {self.pick('break', 'continue')};"
        yield "}"
        del self.variables[before:]

    def statement(self, depth: int) -> Iterator[str]:
        """Yield the lines of a statement."""
        self.left -= 1
        roll = self.random.random()
        if depth <= 0 or roll < 0.3:
            yield self.assignment()
        elif roll < 0.55:
            yield self.declaration()
        elif roll < 0.75:
            yield from self.block(f"if {self.condition()}", depth)
            if self.chance(0.5):
                yield from self.block("else", depth)
        elif roll < 0.83:
            yield from self.switch(depth)
        elif roll < 0.94:
            counter = self.name()
            bound = self.pick(f"({self.leaf('int')} & 3)", "3", "4")
            self.counters.add(counter)
            self.variables.append((counter, "int"))
            self.loops += 1
            yield from self.block(f"for (int {counter} = 0; {counter} < {bound}; ++{counter})", depth)
            self.loops -= 1
            self.variables.remove((counter, "int"))
        else:
            yield from self.array()

    def switch(self, depth: int) -> Iterator[str]:
        """Yield a switch, some of whose cases fall through."""
        loops, self.loops = self.loops, 0  # `continue` would be right, `break` is not what leaves the loop
        yield f"switch ({self.leaf('uint')} & 3) {{"
        for head in [f"case {number}:" for number in range(self.random.randrange(1, 4))] + ["default:"]:
            yield head
            yield f"  {self.assignment()}"
            if depth > 1 and self.chance(0.3):
                yield from (f"  {line}" for line in self.block(f"if {self.condition()}", depth - 1))
            if self.chance(0.7):
                yield "  break;"
        yield "}"
        self.loops = loops

    def array(self) -> Iterator[str]:
        """Yield a private array with what is in it, and a variable for an element of it."""
        name, counter, element = self.name(), self.name(), self.name()
        size = self.pick("4", "8")
        yield f"int {name}[{size}];"
        yield f"for (int {counter} = 0; {counter} < {size}; ++{counter})"
        yield f"  {name}[{counter}] = {counter} * {self.leaf('int')};"
        yield f"int {element} = {name}[{self.leaf('int')} & {int(size) - 1}];"
        self.variables.append((element, "int"))

    # --- Functions ----------------------------------------------------------------------------------------------------

    def function(self, number: int) -> Iterator[str]:
        """Yield a function, which may be inlined or not."""
        kind, parameters = self.pick(*KINDS), tuple(self.pick(*KINDS) for _ in range(self.random.randrange(1, 4)))
        self.variables = [(f"p{place}", each) for place, each in enumerate(parameters)]
        self.left = 2
        name = f"{self.kernel_name}_{number}"
        words = ", ".join(f"{of} {each}" for each, of in self.variables)
        yield f"{'__attribute__((noinline)) ' if self.chance(0.3) else ''}static {kind} {name}({words}) {{"
        yield f"  {self.declaration()}"
        while self.left > 0:
            yield from (f"  {line}" for line in self.statement(1))
        yield f"  return {self.expression(kind)};"
        yield "}"
        self.functions.append((name, kind, parameters))

    def kernel(self) -> Iterator[str]:
        """Yield the functions and the kernel."""
        for number in range(self.random.choice((0, 0, 1, 1, 2))):
            yield from self.function(number)
        self.variables, self.has_buffers = [("n", "int")], True
        self.left = self.random.randrange(2, STATEMENTS + 1)
        yield f"kernel void {self.kernel_name}(global int *out, global const int *in, int n) {{"
        yield "  int id = __builtin_amdgcn_workitem_id_x();"
        self.counters.add("id")
        self.variables.append(("id", "int"))
        yield f"  {self.declaration()}"
        while self.left > 0:
            yield from (f"  {line}" for line in self.statement(2))
        yield f"  out[id] = {self.result()};"
        yield "}"

    def result(self) -> str:
        """Return a sum of all variables."""
        parts = ["0"]
        for name, kind in self.variables:
            if kind == VECTOR:
                parts += [f"(int){name}.{each}" for each in "xyzw"]
            else:
                parts.append(f"as_int({name})" if kind == "float" else f"(int){name}")
        return " + ".join(parts)
