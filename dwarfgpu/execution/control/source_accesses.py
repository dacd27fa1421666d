"""What a line of the source says of the memory that it accesses: how its types are aligned, and which arrays it names.

The code alone does not tell: where hardware allows it, compilers load packed members at once. So the types of the
pointers that a line follows decide, and where one is not known nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.checks.findings import NamedArray
from dwarfgpu.execution.control.placed import memory_of
from dwarfgpu.execution.control.watching import PRIVATE
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.program.code.source_files import SourceText, SourceTexts
from dwarfgpu.program.frames.launch_record import LOCAL, POINTERS
from dwarfgpu.program.frames.variable import all_variables, owner_of
from dwarfgpu.program.types.model import Array, Base, Pointer, Qualified, Struct, Typedef, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.program.frames.local_memory import LocalObject

_SIZES = {
    "char": 1, "uchar": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "unsigned": 4, "float": 4,
    "long": 8, "ulong": 8, "double": 8, "size_t": 8, **{f"{u}int{8 * n}_t": n for n in (1, 2, 4, 8) for u in ("u", "")},
}  # fmt: skip
"""The types of OpenCL and HIP that casts name."""
_QUALIFIERS = re.compile(
    r"\b(?:_*(?:global|local|private|constant|generic)|const|volatile|restrict|__restrict|signed)\b"
)
_TYPE = r"(?:\(|reinterpret_cast<)\s*([A-Za-z_][\w\s]*?)\s*\*\s*(?:const\s*|volatile\s*)?(?:\)|>)"
_CASTS = re.compile(rf"\*\s*{_TYPE}"), re.compile(rf"\(\s*{_TYPE}\s*\(?[\w.]+\)?\s*\)\s*(?:\[|->)")
"""Casts to pointers that are followed at once: ``*(int *)p``, ``((int *)p)[i]``."""
_VECTOR = re.compile(r"([a-z_]+?)(2|3|4|8|16)?$")
_FOLLOWED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:(?:->|\[[^\]]*\]\s*\.)\s*(\w+)|\[)")
_STARRED = re.compile(r"(?:^|[=(,;{+\-*/%&|!~<>?:]|\breturn\b)\s*\*+\s*\(?\s*([A-Za-z_]\w*)()\b")
_MEMBER = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\.\s*(\w+)")
"""A member of a variable, which is a structure, or a vector, whose components are not looked at."""
_FARTHER = re.compile(r"(?:->|\.)\s*\w+\s*(?:\[[^\]]*\]\s*)?(?:->|\.\s*[A-Za-z_])")
"""A member of a member, or of what one points to."""
_PACKED = re.compile(r"packed\b|struct\s*__attribute|\]\]")
_PRAGMA = re.compile(r"\s*#\s*pragma\s+pack|.*_Pragma")
MOST_LINES = 200
"""The lines that the definition of a structure is looked for in."""
_DEFINITION = re.compile(r"\s*#\s*define\s+(\w+)(?:\([^)]*\))?\s+(.*)")
_WAVE_BARRIER = re.compile(r"__syncwarp|wave_barrier|sub_group_\w*barrier|tiled_partition|coalesced_threads")
STACK_REGISTERS = 32, 33
"""The stack pointer and the frame pointer, which variables in private memory count from."""
MOST_DEPTH = 8
"""The types in types that are looked at, and the macros in macros."""


_CONTINUES = re.compile(r"\s*(?:[=+\-*/%&|^<>?:.,)\[]|$)")
"""How a line begins that goes on with a statement."""
MOST_BEFORE = 8
"""The lines of a statement that are looked at."""
_WORDS = re.compile(r"[A-Za-z_]\w*")
_ARRAY = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\[")
_UNKNOWN_MACRO = re.compile(r"\b([A-Z_][A-Z0-9_]*)\s*\(")
Alignment = tuple[int, str]
"""What an address must be a multiple of, and the type that demands it."""


class SourceAccesses:
    """What the source says of the accesses of a run, by the addresses of their instructions."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.texts = SourceTexts()
        self._alignments: dict[int, Alignment | None] = {}
        self._named: dict[int, list[str]] = {}
        """The arrays that the line of an instruction names, if it says what it accesses."""
        self._owned: dict[str, list[tuple[str | None, Any]]] = {}
        """Variables by name, each with the function that it belongs to."""
        self._places: dict[tuple[int, tuple[int, ...]], tuple[NamedArray, ...]] = {}
        self._items: dict[str, bool] = {}
        self._local_places: dict[int, tuple[NamedArray, ...]] = {}

    def alignment(self, pc: int) -> Alignment | None:
        """Return how what an instruction accesses must be aligned; None if the source does not say it for certain."""
        if pc not in self._alignments:
            try:
                self._alignments[pc] = self._alignment(pc)
            except DwarfGpuError:
                self._alignments[pc] = None
        return self._alignments[pc]

    def _alignment(self, pc: int) -> Alignment | None:
        text, code = self._line(pc)
        functions = self.functions(pc)
        found = [*self._cast(code), *self._followed(code, functions, text)]
        known = [each for each in found if each is not None]
        return min(known) if known and len(known) == len(found) else None

    def _line(self, pc: int) -> tuple[SourceText, str]:
        """Return the text of the file of an instruction, and the code of its line."""
        line = self.running.line_at(pc)
        if line is None or not line.line:
            return SourceText(), ""
        text = self.texts.read(line.file)
        return text, self.expanded(text.line(line.line) or "", text)

    def _statement(self, pc: int) -> tuple[SourceText, str]:
        """Return the same with the lines before it, if the statement begins there."""
        text, code = self._line(pc)
        line = self.running.line_at(pc)
        number = line.line if line is not None else 0
        for before in range(number - 1, max(number - MOST_BEFORE, 0), -1):
            if not _CONTINUES.match(text.line(before + 1) or ""):
                break
            code = f"{self.expanded(text.line(before) or '', text)} {code}"
        return text, code

    def functions(self, pc: int) -> set[str | None]:
        """Return the names of the functions of an instruction, also of those that are inlined there, and None."""
        calls = self.running.attached.state.loaded.calls_at(pc)
        return {name for call in calls for name in (call.function, call.linkage_name)} | {None}

    def is_one_place(self, pc: int, other: int) -> bool:
        """Return whether two instructions belong to the same column of a line, inlined into the same calls."""
        loaded = self.running.attached.state.loaded
        calls = loaded.calls_at(pc)
        return bool(calls[0].source and calls[0].source.column) and calls == loaded.calls_at(other)

    def says_items(self, pc: int) -> bool:
        """Return whether the file of an instruction is in OpenCL C or HIP, and has no barrier of a wave.

        Such barriers leave no code, so what they order cannot be told.
        """
        line = self.running.line_at(pc)
        if line is None or not line.line or self.has_tensors(pc):
            return False
        text = self.texts.read(line.file)
        known = self._items.get(line.file.name)
        if known is None:
            known = bool(text.lines) and not any(map(_WAVE_BARRIER.search, text.lines))
            self._items[line.file.name] = known
        return known

    def has_tensors(self, pc: int) -> bool:
        """Return whether the file of an instruction is in Python, as of Triton, which has tensors in place of items.

        Where LLVM has made one instruction of those of several lines, it has no line: then the producer tells.
        """
        line = self.running.line_at(pc)
        return self._is_of_triton if line is None or not line.line else line.file.name.endswith(".py")

    @cached_property
    def _is_of_triton(self) -> bool:
        try:
            return any(unit.producer == "triton" for _code, unit in self.running.attached.state.sources.units())
        except DwarfGpuError:
            return False

    # --- Arrays -------------------------------------------------------------------------------------------------------

    def arrays(self, space: str, pc: int, batch: WaveBatch, row: int) -> tuple[NamedArray, ...]:
        """Return the arrays in private or local memory of which an instruction may access one, or none.

        There are none if its line leaves a doubt.
        """
        if space == "local":
            return self.local_arrays(pc)
        if not self.names_arrays(pc):
            return ()
        stack = tuple(batch.scalar[number] for number in STACK_REGISTERS)
        if not all(isinstance(each, int) for each in stack):
            return ()
        key = pc, stack
        if key not in self._places:
            self._places[key] = tuple(self._placed_arrays(pc, batch, row))
        return self._places[key]

    def names_arrays(self, pc: int) -> bool:
        """Return whether the line of an instruction names arrays, and leaves no doubt."""
        if pc not in self._named:
            try:
                self._named[pc] = self._arrays(pc)
            except DwarfGpuError:
                self._named[pc] = []
        return bool(self._named[pc])

    def local_arrays(self, pc: int) -> tuple[NamedArray, ...]:
        """Return the arrays in local memory that a line names; none if it is not known where one is."""
        if not self.names_arrays(pc):
            return ()
        if pc in self._local_places:
            return self._local_places[pc]
        (text, code), functions = self._statement(pc), self.functions(pc)
        found: list[NamedArray] = []
        known = {each.name for each in self.running.local_objects}
        for name in {*self._named[pc], *(known & {*_WORDS.findall(code)})}:  # also those that are no arrays
            objects = [each for each in self.running.local_objects if each.name == name]
            variables = self._variables_of(name, functions)
            located = ((each.repaired for each in variable.locations()) for variable in variables)
            if not objects and all(any(text != "DW_OP_LLVM_undefined" for text in each) for each in located):
                continue  # it is elsewhere
            if len(objects) != 1 or not objects[0].is_certain or not self._is_one(variables, objects[0], text):
                found = []
                break
            start = objects[0].address
            found += [] if start is None else [NamedArray(name, start, objects[0].size, objects[0].type)]
        self._local_places[pc] = tuple(found)
        return self._local_places[pc]

    def _is_one(self, variables: list[Any], place: LocalObject, text: SourceText) -> bool:
        """Return whether a name is one variable: of an argument, one of the kernel that is nowhere assigned to."""
        if not place.is_argument:
            lines = (each.die.find_number(dw.DW_AT_decl_line) for each in variables)
            return len({None if line is None else line.value for line in lines}) == 1
        plan = self.running.launched.plan
        is_own = {owner_of(each) for each in variables} <= {plan.kernel.source_name}
        return is_own and not any(re.search(rf"\b{place.name}\s*=(?!=)", line) for line in text.lines)

    @cached_property
    def local_starts(self) -> list[int]:
        """Where variables begin in local memory, and what arguments point to there."""
        return sorted(each.address for each in self.running.local_objects if each.address is not None)

    def _arrays(self, pc: int) -> list[str]:
        """Return the arrays that a statement names; none if it also follows pointers that may lead anywhere."""
        text, code = self._statement(pc)
        macros = self._macros(text)
        if not code or any(match[1] not in macros for match in _UNKNOWN_MACRO.finditer(code)):
            return []
        named, functions = set(), self.functions(pc)
        if any(self._may_refer(name, functions) for name in {*_WORDS.findall(code), "this"}):
            return []
        for name in {match[1] for pattern in (_ARRAY, _FOLLOWED, _STARRED) for match in pattern.finditer(code)}:
            kinds = {type(resolved(each.type)) for each in self._variables_of(name, functions)}
            if Pointer in kinds and name not in self._arguments:
                return []
            if Array in kinds or self._arguments.get(name) == LOCAL:
                named.add(name)
        return sorted(named)

    def _may_refer(self, name: str, functions: set[str | None]) -> bool:
        """Return whether a name is a reference, or the object of a method: it may be anywhere."""
        kinds = (resolved(each.type) for each in self._variables_of(name, functions))
        return any(isinstance(kind, Pointer) and (name == "this" or kind.sign != "*") for kind in kinds)

    @cached_property
    def _arguments(self) -> dict[str, str]:
        """The arguments that point to buffers or to local memory, each with its kind."""
        launch = self.running.attached[0].launch
        return {each.name: each.kind for each in launch.arguments if each.kind in (*POINTERS, LOCAL)}

    def _placed_arrays(self, pc: int, batch: WaveBatch, row: int) -> list[NamedArray]:
        """Return the arrays of a line that are in private memory; none if it is not known where one is."""
        words = {*_WORDS.findall(self._line(pc)[1])}
        before, batch.pc = batch.pc, pc
        try:
            self.running.machine.device.written(batch)
            frame = next(iter(self.running.attached[int(batch.waves[row])]))
            lanes = LaneSet.product(b.array([int(batch.waves[row])], 64), b.array([0], 64))
            known = {variable.name: variable for variable in frame.variables()}
            private = [
                name for name in self._named[pc] if all(each.name != name for each in self.running.local_objects)
            ]
            arrays = [(known[name], memory_of(known[name], lanes)) for name in private]
            beside = [known[name] for name in words & {*known} - {*self._named[pc]}]
            places = [(memory_of(each, lanes), known_size(each.type)) for each in beside]
        except (DwarfGpuError, Diverge, LaneFault, LookupError):
            return []
        finally:
            batch.pc = before
        ends = tuple((place[1], place[1] + size) for place, size in places if place and place[0] == PRIVATE and size)
        found = []
        for variable, place in arrays:
            size = known_size(variable.type)
            if place is None or not size:
                return []
            found += [NamedArray(variable.name, place[1], size, variable.type, ends)] if place[0] == PRIVATE else []
        return found

    # --- Text ---------------------------------------------------------------------------------------------------------

    def expanded(self, line: str, text: SourceText) -> str:
        """Return a line of code without comments and strings, with the macros of its file behind it."""
        code = re.sub(r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"', " ", line)
        words, new = set[str](), {*re.findall(r"\w+", code)}
        for _depth in range(MOST_DEPTH):
            new &= self._macros(text).keys()
            more = [self._macros(text)[word] for word in sorted(new - words)]
            words |= new
            code = " ; ".join([code, *more])
            new = {word for each in more for word in re.findall(r"\w+", each)}
        return code

    @staticmethod
    def _macros(text: SourceText) -> dict[str, str]:
        return {match[1]: match[2] for line in text.lines if (match := _DEFINITION.match(line))}

    @staticmethod
    def _cast(code: str) -> Iterator[Alignment | None]:
        for match in (match for pattern in _CASTS for match in pattern.finditer(code)):
            words = _QUALIFIERS.sub(" ", match[1]).split()
            name = " ".join(dict.fromkeys(word for word in words if word != "unsigned" or len(words) == 1))
            base, count = _VECTOR.match(name.lower()), 1
            if name not in _SIZES and base is not None and base[1] in _SIZES:
                name, count = base[1], int(base[2] or 1)
            size = _SIZES.get(name)
            if name != "void":
                yield None if size is None else (size * (4 if count == 3 else count), match[1].split()[-1])

    def _followed(self, code: str, functions: set[str | None], text: SourceText) -> Iterator[Alignment | None]:
        """Yield the alignment of what each pointer or array of a line leads to."""
        if _FARTHER.search(code):
            yield None
        patterns = _FOLLOWED, _STARRED, _MEMBER
        matches = ((match, pattern is _MEMBER) for pattern in patterns for match in pattern.finditer(code))
        for name, member, is_own in sorted({(match[1], match[2] or "", is_own) for match, is_own in matches}):
            for variable in self._variables_of(name, functions):
                kind = resolved(variable.type)
                if is_own and not isinstance(kind, Struct):
                    continue
                target = kind.to.get() if isinstance(kind, Pointer) else kind
                target = kind.element if isinstance(kind, Array) and not kind.is_vector else target
                behind = ((led, "") for led in _led_to(target, member))  # which the line may read, too
                for accessed, its_member in ((target, member), *behind):
                    size = natural(accessed, text, its_member)
                    names = getattr(accessed, "name", None) or "object", its_member
                    yield None if size is None else (size, ".".join(filter(None, names)))

    def _variables_of(self, name: str, functions: set[str | None]) -> list[Any]:
        """Return the variables of some functions that have a name."""
        if name not in self._owned:
            self._owned[name] = [(owner_of(each), each) for each in self._variables.get(name, ())]
        return [variable for owner, variable in self._owned[name] if owner in functions]

    @cached_property
    def _variables(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for variable in all_variables(self.running.program.outside):
            found.setdefault(variable.name, []).append(variable)
        return found


def _led_to(kind: Any, name: str) -> Iterator[Any]:
    """Yield what a member of a structure points to."""
    kind = resolved(kind)
    members = kind.body.members if isinstance(kind, Struct) else ()
    for member in members:
        pointer = resolved(member.to.get())
        if member.name == name and isinstance(pointer, Pointer):
            yield pointer.to.get()


def natural(kind: Any, text: SourceText, member: str = "", depth: int = 0) -> int | None:
    """Return how objects of a type, or a member, are aligned; None if that is not known, 1 in packed structures."""
    if depth > MOST_DEPTH:
        return None
    die = getattr(kind, "die", None)
    given = None if die is None else die.find_number(dw.DW_AT_alignment)
    if given is not None and isinstance(given.value, int):
        return given.value
    if isinstance(kind, (Typedef, Qualified)):
        return natural(kind.to.get(), text, member, depth + 1)
    if isinstance(kind, Struct):
        return _of_members(kind, text, member, depth)
    if isinstance(kind, Array) and not kind.is_vector:
        return natural(kind.element, text, member, depth + 1)
    size = known_size(kind) if isinstance(kind, (Base, Pointer, Array)) else None
    return size if size and not size & (size - 1) else None


def _may_be_packed(kind: Struct, text: SourceText) -> bool:
    """Return whether a structure is packed, or defined where its definition is not seen."""
    line = None if kind.die is None else kind.die.find_number(dw.DW_AT_decl_line)
    first = line.value - 1 if line is not None and isinstance(line.value, int) else -1
    lines = text.lines[first : first + MOST_LINES] if first >= 0 else ()
    if not lines or not re.search(r"\b(struct|class|union)\b", lines[0]) or any(map(_PRAGMA.match, text.lines)):
        return True
    last = next((number for number, each in enumerate(lines) if "}" in each), len(lines) - 1)
    return any(map(_PACKED.search, lines[: last + 1])) or bool(first and _PACKED.search(text.lines[first - 1]))


def _of_members(kind: Struct, text: SourceText, name: str, depth: int) -> int | None:
    """Return how a member of a structure is aligned; without a name that which is aligned least."""
    least, size = None, known_size(kind)
    for member in kind.body.members:
        aligned = natural(member.to.get(), text, "", depth + 1)
        if aligned is None or member.bit_offset is None or member.bit_size is not None or size is None:
            return None
        if _may_be_packed(kind, text) or member.bit_offset // 8 % aligned or size % aligned:
            return 1
        if name in ("", member.name):
            least = aligned if least is None else min(least, aligned)
    return least
