"""Variables of Triton's kernels, which LLVM keeps in private memory and describes in DWARF, as clang does for C.

Triton's compiler has marks (`marks.py`) where a variable gets a value: inline assembly with one operand, once for each
element that a thread holds, in the order of its registers. Here marks become stores. Their memory is a structure:

    assigned    how often the variable got a value; 0 while it gets one, and where it has none
    kind        which of its types it has: in Python a name can mean a tensor of one shape, then of another
    elements    those that a lane holds, named by the layout: a linear map from the bits of register, lane and warp;
                of a buffer in shared memory a pointer to it, whose high half says which element is its first

The type of the elements is named as Triton's compiler does: ``tensor<32x32xf32, #ttg.amd_mfma<{...}>>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dwarfgpu.immutable import frozen

MARK = "; dwarfgpu"
"""How the text of a mark begins, in assembly a comment.

The number of the mark follows, the function, the name, the number of the parameter and the type.
"""
_CALL = re.compile(
    rf'(?m)^  (?P<result>%\S+) = (?:tail )?call \w+ asm sideeffect "{MARK} (?P<number>\d+) [^"]*", "[^"]*"'
    r"\((?P<type>\w+) (?P<value>[^)]+)\).*, !dbg !(?P<place>\d+)$"
)
END = "; end of dwarfgpu"
"""How the text begins of a mark before shared memory gets another meaning; its first byte and its end follow."""
_END = re.compile(
    rf'  (?P<result>%\S+) = (?:tail )?call \w+ asm sideeffect "{END} (?P<start>\d+) (?P<end>\d+)".*, '
    r"!dbg !(?P<place>\d+)$"
)
_LABEL = re.compile(r"\S.*:(?:\s*;.*)?$")
_PLACE = re.compile(
    r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+),.*?scope: !(\d+)(?:, inlinedAt: !(\d+))?", re.MULTILINE
)
_COMPUTED = re.compile(r"  %\S+ = (?P<what>.*), !dbg !(?P<place>\d+)$")
_DOES_MORE = re.compile(
    r"(?:load|atomicrmw|cmpxchg|invoke|(?:tail |musttail |notail )?call)\b"
    r"(?!.*@llvm\.(?:amdgcn\.(?:workitem\.id|workgroup\.id|wave\.id|readfirstlane|mbcnt)|(?!amdgcn|mem)))"
)
"""An instruction that does not only compute."""
_NODE = re.compile(r"^!(\d+) = ", re.MULTILINE)
_IN_ORDER = '  call void asm sideeffect "", "~{memory}"(), !dbg !'
"""What no access moves across: else the processor would access shared memory before or after the variable has it."""
_HEAD = 16
"""The bytes before the elements: assigned, kind, and how often the variable got a value."""
_ELEMENTS = {
    "fp64": ("f64", "double", 64, "float"), "fp32": ("f32", "float", 32, "float"),
    "fp16": ("f16", "_Float16", 16, "float"), "bf16": ("bf16", "__bf16", 16, "float"),
    "int1": ("i1", "bool", 8, "boolean"), "int8": ("i8", "int8", 8, "signed"), "int16": ("i16", "short", 16, "signed"),
    "int32": ("i32", "int", 32, "signed"), "int64": ("i64", "long", 64, "signed"),
    "uint8": ("ui8", "uint8", 8, "unsigned"), "uint16": ("ui16", "unsigned short", 16, "unsigned"),
    "uint32": ("ui32", "unsigned int", 32, "unsigned"), "uint64": ("ui64", "unsigned long", 64, "unsigned"),
}  # fmt: skip
"""The types of elements by Triton's names: their names in types of tensors and in DWARF, bits, and encoding."""


@frozen
class Assigned:
    """A place where a variable gets a value."""

    name: str
    element: str
    """The type of an element, as Triton names it."""
    shape: tuple[int, ...] = ()
    """Of a number there is no shape."""
    layout: str = ""
    """Triton's name of the layout."""
    bases: str = ""
    """The same as a linear map: `#ttg.linear<{register = ..., lane = ..., warp = ..., block = ...}>`."""
    function: str = ""
    """The function that the variable is of."""
    parameter: int = 0
    """From 1 on, which parameter of the function it is; 0 for a variable."""
    held: int | None = 1
    """How many elements a thread holds; None if its value is not kept, and the variable has none from here on."""
    span: int = 0
    """The bytes of a buffer in shared memory, from its begin on; 0 for other variables."""

    @property
    def _element(self) -> tuple[str, str, int, str]:
        if self.pointed:
            return f"!tt.ptr<{self._of(self.pointed)[0]}>", "", 64, ""
        return self._of(self.element)

    @property
    def pointed(self) -> str:
        """The type that a pointer leads to; nothing for other types."""
        return self.element.removeprefix("pointer<")[:-1] if self.element.startswith("pointer<") else ""

    @staticmethod
    def _of(name: str) -> tuple[str, str, int, str]:
        return _ELEMENTS.get(name) or (name, name, 8, "unsigned")

    @property
    def bits(self) -> int:
        """The bits of an element in memory; those of a pointer to it if it is in shared memory."""
        return 64 if self.span else self.size

    @property
    def size(self) -> int:
        """The bits of an element."""
        return self._element[2]

    def base_type(self) -> str:
        """Return the type of an element, or of what it leads to, as metadata of LLVM."""
        _name, name, bits, encoding = self._of(self.pointed or self.element)
        return f'!DIBasicType(name: "{name}", size: {bits}, encoding: DW_ATE_{encoding})'

    @property
    def type_name(self) -> str:
        name = self._element[0]
        kind = "memdesc" if self.span else "tensor"
        return f"{kind}<{'x'.join(map(str, self.shape))}x{name}, {self.layout}>" if self.shape else name


class _Metadata:
    """Nodes that are added to the metadata of a module."""

    def __init__(self, text: str) -> None:
        self._next = max(map(int, _NODE.findall(text)), default=-1) + 1
        self._known: dict[str, str] = {}
        self.lines: list[str] = []

    def node(self, content: str) -> str:
        if content not in self._known:
            self._known[content] = f"!{self._next}"
            self.lines.append(f"!{self._next} = {content}")
            self._next += 1
        return self._known[content]

    def nodes(self, parts: Iterable[str]) -> str:
        return self.node(f"!{{{', '.join(parts)}}}")


@frozen
class _Place:
    """A location in the source."""

    line: int
    scope: str
    inlined: str

    def is_behind(self, other: _Place) -> bool:
        """Return whether it is a later line of the same call."""
        return self.line > other.line and (self.scope, self.inlined) == (other.scope, other.inlined)


@frozen
class _Memory:
    """The memory of a variable in a function."""

    pointer: str
    place: str
    """The location of the first mark."""
    scope: str
    name: str
    kinds: dict[str, Assigned]
    """All that it can be, by the names of their types and layouts."""

    def field(self, offset: int) -> str:
        return f"getelementptr (i8, ptr addrspace(5) {self.pointer}, i32 {offset})"


def with_variables(module: str, marks: Mapping[int, Assigned]) -> str:
    """Return a module of LLVM in which variables get values where it has marks."""
    metadata = _Metadata(module)
    module = _with_functions(module, marks, metadata)
    places = _places(module)
    lines: list[str] = []
    for part in re.split(r"(?m)(?=^define )", module):
        if not part.startswith("define "):
            lines += part.splitlines()
            continue
        body, end, rest = part.partition("\n}\n")
        lines += _Function(body.splitlines(), marks, places, metadata).lines()
        lines += (end + rest).splitlines()[1:]
    text = "\n".join([*lines, *metadata.lines, ""])
    return text.replace("emissionKind: LineTablesOnly", "emissionKind: FullDebug")


def _places(module: str) -> dict[str, _Place]:
    return {number: _Place(int(line), scope, inlined) for number, line, scope, inlined in _PLACE.findall(module)}


def _with_functions(module: str, marks: Mapping[int, Assigned], metadata: _Metadata) -> str:
    """Return a module in which inlined functions have entries of their own, where Triton has a block of the kernel."""
    places, functions = _places(module), dict[tuple[str, str], str]()
    block = dict(re.findall(r"^!(\d+) = distinct !DILexicalBlockFile\(.*file: !(\d+)", module, re.MULTILINE))
    unit = re.search(r"!DISubprogram\(.* type: (!\d+),.* unit: (!\d+)", module)
    for call in _CALL.finditer(module):
        place = places[call["place"]]
        key = place.scope, place.inlined
        if not place.inlined or key in functions or place.scope not in block or unit is None:
            continue
        name, file, line = marks[int(call["number"])].function, f"!{block[place.scope]}", place.line
        functions[key] = metadata.node(
            f'distinct !DISubprogram(name: "{name}", scope: {file}, file: {file}, line: {line}, type: {unit[1]}, '
            f"scopeLine: {line}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit[2]}) ; {len(functions)}"
        )

    def moved(line: re.Match[str]) -> str:
        scope = functions.get((line[3], line[4]))
        return line[0] if scope is None else line[0].replace(f"scope: !{line[3]},", f"scope: {scope},")

    return _PLACE.sub(moved, module)


class _Function:
    """A function, whose marks become stores."""

    def __init__(
        self, body: list[str], marks: Mapping[int, Assigned], places: Mapping[str, _Place], metadata: _Metadata
    ) -> None:
        self._body, self._marks, self._places, self._metadata = body, marks, places, metadata
        self._memory: dict[tuple[str, str, str], _Memory] = {}
        self._count = 0
        self._has_buffers = any(mark.span for mark in marks.values())

    def lines(self) -> Iterator[str]:
        self._body = [*self._in_order()][::-1]
        calls = [_CALL.match(line) for line in self._body]
        complete = self._complete(calls)
        for mark in filter(None, calls):
            self._of(mark)
        stored: list[str] = []
        seen: dict[str, int] = {}
        for number, (line, call) in enumerate(zip(self._body, calls, strict=True)):
            end = _END.match(line)
            if end is not None:
                stored += self._ends(end)
            elif call is None:
                if _LABEL.match(line):
                    seen.clear()
                stored.append(line)
            if call is None:
                continue
            at = seen.get(call["number"] + call["place"], 0)
            seen[call["number"] + call["place"]] = at + 1
            stored += self._stores(call, at, is_complete=number in complete)
        entry = next(number for number, line in enumerate(stored) if line.endswith("{")) + 1
        if entry < len(stored) and _LABEL.match(stored[entry]):
            entry += 1
        yield from stored[:entry]
        for memory in self._memory.values():
            yield from self._declared(memory)
        yield from stored[entry:]

    def _in_order(self) -> Iterator[str]:
        """Yield the lines, last first; what is computed early for a later line has the line where it is computed."""
        after: str | None = None
        for line in reversed(self._body):
            call, computed = _CALL.match(line), _COMPUTED.match(line)
            if computed is not None and _DOES_MORE.match(computed["what"]):
                computed = None
            if call is not None:
                after = call["place"]
            elif _LABEL.match(line):
                after = None
            elif computed is not None and after and self._places[computed["place"]].is_behind(self._places[after]):
                yield f"{line[: computed.start('place')]}{after}"
                continue
            yield line

    def _complete(self, calls: list[re.Match[str] | None]) -> set[int]:
        """Return the lines of marks that LLVM has left as they were: as many as a thread has elements in each block."""
        blocks: list[dict[str, list[int]]] = [{}]
        for number, call in enumerate(calls):
            if call is not None:
                blocks[-1].setdefault(call["number"] + " " + call["place"], []).append(number)
            elif _LABEL.match(self._body[number]):
                blocks.append({})
        complete: set[int] = set()
        for block in blocks:
            for key, lines in block.items():
                held = self._marks[int(key.partition(" ")[0])].held
                if held and len(lines) % held == 0:
                    complete.update(lines)
        return complete

    def _of(self, call: re.Match[str]) -> _Memory:
        """Return the memory of the variable that a mark is about."""
        mark = self._marks[int(call["number"])]
        place = self._places[call["place"]]
        key = place.scope, place.inlined, mark.name
        if key not in self._memory:
            self._memory[key] = _Memory(f"%dwarfgpu.{len(self._memory)}", call["place"], place.scope, mark.name, {})
        if mark.held:
            self._memory[key].kinds.setdefault(mark.type_name + mark.bases, mark)
        return self._memory[key]

    def _stores(self, call: re.Match[str], at: int, *, is_complete: bool) -> Iterator[str]:
        """Yield what a mark becomes."""
        mark, memory = self._marks[int(call["number"])], self._of(call)
        place = call["place"]
        if re.fullmatch(r"%\d+", call["result"]):
            yield f"  {call['result']} = add i32 0, 0"  # numbers of values have no gaps
        held = mark.held or 1
        if at % held == 0 and self._has_buffers:
            yield _IN_ORDER + place
        if at % held == 0 or not is_complete:
            yield from self._store("i32", "0", memory, 0, place)
        if not is_complete:
            return
        yield from self._store(
            call["type"], call["value"], memory, _HEAD + at % held * mark.bits // 8, place, bits=mark.bits
        )
        if at % held == held - 1:
            kind = [*memory.kinds].index(mark.type_name + mark.bases)
            old, new = self._new(), self._new()
            yield f"  {old}.at = getelementptr i8, ptr addrspace(5) {memory.pointer}, i32 8, !dbg !{place}"
            yield f"  {old} = load volatile i32, ptr addrspace(5) {old}.at, align 4, !dbg !{place}"
            yield f"  {new} = add i32 {old}, 1, !dbg !{place}"
            yield from self._store("i32", new, memory, 8, place)
            yield from self._store("i32", str(kind), memory, 4, place)
            yield from self._store("i32", new, memory, 0, place)

    def _ends(self, end: re.Match[str]) -> Iterator[str]:
        """Yield what takes its value from each variable whose buffer has bytes of those that get another meaning."""
        if re.fullmatch(r"%\d+", end["result"]):
            yield f"  {end['result']} = add i32 0, 0"
        yield _IN_ORDER + end["place"]
        for memory in self._memory.values():
            for number, mark in enumerate(memory.kinds.values()):
                if mark.span:
                    yield from (f"  {line}, !dbg !{end['place']}" for line in self._ended(memory, number, mark, end))
        yield _IN_ORDER + end["place"]

    def _ended(self, memory: _Memory, number: int, mark: Assigned, end: re.Match[str]) -> Iterator[str]:
        new = self._new()
        for offset, name in (0, "assigned"), (4, "kind"), (_HEAD, "first"):
            yield f"{new}.at.{name} = getelementptr i8, ptr addrspace(5) {memory.pointer}, i32 {offset}"
            yield f"{new}.{name} = load volatile i32, ptr addrspace(5) {new}.at.{name}, align 4"
        yield f"{new}.last = add i32 {new}.first, {mark.span - 1}"
        yield f"{new}.0 = icmp ne i32 {new}.assigned, 0"
        rest = (
            f"eq i32 {new}.kind, {number}",
            f"ult i32 {new}.first, {end['end']}",
            f"uge i32 {new}.last, {end['start']}",
        )
        for count, condition in enumerate(rest):
            yield f"{new}.is.{count} = icmp {condition}"
            yield f"{new}.{count + 1} = and i1 {new}.{count}, {new}.is.{count}"
        yield f"{new} = select i1 {new}.{len(rest)}, i32 -1, i32 {new}.assigned"
        yield f"store volatile i32 {new}, ptr addrspace(5) {new}.at.assigned, align 4"

    def _store(
        self, kind: str, value: str, memory: _Memory, offset: int, place: str, *, bits: int = 64
    ) -> Iterator[str]:
        pointer = self._new()
        if int(kind[1:]) > bits:
            yield f"  {pointer}.low = trunc {kind} {value} to i{bits}, !dbg !{place}"
            kind, value = f"i{bits}", f"{pointer}.low"
        yield f"  {pointer} = getelementptr i8, ptr addrspace(5) {memory.pointer}, i32 {offset}, !dbg !{place}"
        size = min(int(kind[1:]) // 8, 4)
        yield f"  store volatile {kind} {value}, ptr addrspace(5) {pointer}, align {size}, !dbg !{place}"

    def _new(self) -> str:
        self._count += 1
        return f"%dwarfgpu.value.{self._count}"

    def _declared(self, memory: _Memory) -> Iterator[str]:
        """Yield the memory of a variable, and what describes it."""
        sizes = [(mark.held or 0) * mark.bits // 8 for mark in memory.kinds.values()]
        size = _HEAD + max(sizes, default=0) + 7 & ~7
        yield f"  {memory.pointer} = alloca [{size} x i8], align 8, addrspace(5)"
        for offset in (0, 8):
            pointer = self._new()
            yield f"  {pointer} = getelementptr i8, ptr addrspace(5) {memory.pointer}, i32 {offset}"
            yield f"  store volatile i32 0, ptr addrspace(5) {pointer}, align 4"
        if memory.kinds:
            node = self._metadata.node
            parameter = next((f"arg: {mark.parameter}, " for mark in memory.kinds.values() if mark.parameter), "")
            variable = node(
                f'!DILocalVariable(name: "{memory.name}", {parameter}scope: !{memory.scope}, '
                f"type: {self._type(memory, size)})"
            )
            yield f"    #dbg_declare(ptr addrspace(5) {memory.pointer}, {variable}, !DIExpression(), !{memory.place})"

    def _type(self, memory: _Memory, size: int) -> str:
        node, nodes = self._metadata.node, self._metadata.nodes
        number = node('!DIBasicType(name: "unsigned int", size: 32, encoding: DW_ATE_unsigned)')
        tag = "tag: DW_TAG_member, name:"
        assigned = node(f'!DIDerivedType({tag} "assigned", baseType: {number}, size: 32)')
        kind = node(f'!DIDerivedType({tag} "kind", baseType: {number}, size: 32, offset: 32, flags: DIFlagArtificial)')
        variants = []
        for value, mark in enumerate(memory.kinds.values()):
            element, bits = node(mark.base_type()), (mark.held or 0) * mark.bits
            if mark.pointed:
                element = node(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {element}, size: 64)")
            kept = f"DW_TAG_pointer_type, baseType: {element}, size: {bits}"
            if not mark.span:
                subranges = nodes([node(f"!DISubrange(count: {mark.held})")])
                kept = f"DW_TAG_array_type, baseType: {element}, size: {bits}, elements: {subranges}"
            held = node(f"!DI{'Derived' if mark.span else 'Composite'}Type(tag: {kept})")
            tensor = node(f'!DIDerivedType(tag: DW_TAG_typedef, name: "{mark.type_name}", baseType: {held})')
            variants.append(
                node(
                    f'!DIDerivedType({tag} "{mark.bases}", baseType: {tensor}, size: {bits}, offset: {8 * _HEAD}, '
                    f"extraData: i32 {value})"
                )
            )
        chosen = node(
            f"!DICompositeType(tag: DW_TAG_variant_part, size: {8 * size}, elements: {nodes(variants)}, "
            f"discriminator: {kind})"
        )
        return node(
            f'!DICompositeType(tag: DW_TAG_structure_type, name: "triton.variable", size: {8 * size}, '
            f"elements: {nodes([assigned, kind, chosen])})"
        )
