"""What the file says of places in the source, compared with the text: lines, columns, and declarations.

Only the text that was compiled counts: its MD5 is that of the line table, or the line table embeds it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import Factory, define, evolve

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.sightings import Subject
from dwarfgpu.audits.judge.source_scopes import TextBlock, TextBlocks, is_wrapper
from dwarfgpu.audits.judge.source_statements import quiet, source_loops
from dwarfgpu.audits.verify.findings import ERROR, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError, noting
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.code.loaded import location_list
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Pointer, Struct, Type, stripped
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dwarfgpu.audits.judge.sightings import Sighting, Sightings
    from dwarfgpu.audits.judge.source_statements import SourceLoop, SourceStatements
    from dwarfgpu.audits.judge.statements import CodeLine, CodeLines
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Attribute, Die

RULES: dict[str, CheckRule] = rules(
    "source",
    ("line", ERROR, "DWARF 5, 6.2.2", "The line of an instruction is in the function of the instruction.",
     "correct the line of the row, or the function whose code it is"),
    ("column", ERROR, "DWARF 5, 6.2.2", "The column of an instruction is where a word or a sign of its line begins.",
     "correct the line or the column of the row"),
    ("scope", ERROR, "DWARF 5, 3.5", "A block or an inlined call has the code whose lines are its own, and no other.",
     "correct the ranges of the block or of the inlined call, or the line of the row"),
    ("name", ERROR, "DWARF 5, 2.14",
     "The line of a declaration or of an inlined call has the name of what it declares or calls.",
     "correct DW_AT_decl_line or DW_AT_call_line"),
    ("constant", ERROR, "DWARF 5, 2.10", "A constant variable has the number that its declaration or call gives it.",
     "correct DW_AT_const_value"),
    ("type", ERROR, "DWARF 5, 4.1 (6)", "A variable has the type that its declaration names.",
     "let DW_AT_type refer to the type that the source names"),
)  # fmt: skip

_FAMILY = re.compile(r"\.(?:c|cc|cl|cpp|cu|cxx|h|hip|hpp|inc)$")
"""The files in C and its relatives."""
_WORDS = "auto char const constant double extern float global half inline int local long private register restrict"
_WORDS += " short signed static unsigned volatile bool _Bool __constant __global __local __private __restrict"
_WORDS += " __restrict__ __shared__ __device__ __constant__ constexpr"
_SPECIFIER = "|".join(_WORDS.split())
_DECLARED = (
    r"(?:^|[;{{}}(,])\s*((?:(?:{words})\s+|(?:{words})(?=\s*[*&]))+)"
    r"((?:[*&\s]|\b(?:{words})\b)*)\b{name}\b\s*([\[=;,){{:]|$)"
)
"""A declaration by words of the language alone: its words, the signs of pointers, and what is behind the name."""
_BASES = frozenset(["bool", "_Bool", "char", "double", "float", "half", "int", "long", "short", "signed", "unsigned"])
_WHOLE = frozenset([dw.DW_ATE_signed, dw.DW_ATE_unsigned])
_INTEGERS = {1: "char", 2: "short", 4: "int", 8: "long"}


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", re.MULTILINE)
"""A macro without parameters."""
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:(if)|(endif))", re.MULTILINE)
_LIKE_A_FUNCTION = re.compile(r"^[ \t]*#[ \t]*(?:define[ \t]+\w+\(|include\b)", re.MULTILINE)
"""What may be a macro with parameters."""
_CHANGED = r"\b{0}\b\s*(?:[-+*/%&|^]=|<<=|>>=|\+\+|--|=(?!=))|(?:\+\+|--|(?<!&)&)\s*\(?\s*{0}\b"
"""A change of a variable, or its address; a sum with `&` looks like one, which costs a judgement and nothing else."""
_REFERRED = r"[(,]\s*{0}\s*[,)]|&\s*\w+\s*[=({{]\s*{0}\b"
"""A call that may change an argument, or a reference to a variable."""
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b.*", re.MULTILINE)
"""What changes no other line."""
_UNKNOWN_FLOW = re.compile(r"asm|goto")
_LITERAL = re.compile(r"-?\s*(?:0x[0-9a-fA-F]+|0|[1-9]\d*)[uUlL]*")
_USED = re.compile(r"(?:[-=+/%^|!~?[]|\breturn)\s*$")
"""What is in front of a name that is used, and not declared."""
_AS_VALUE = ["DW_OP_swap", "DW_OP_xderef", "DW_OP_stack_value"]
"""What clang writes behind a constant and the number of an address space."""
MOST_EXPANSIONS = 8
MOST_NAMED = 6
"""The variables of a wrong type that a message names."""


@frozen(eq=False)
class FunctionText:
    """The text of a function, from its declaration to its closing brace, without comments and literals."""

    file: str
    first: int
    last: int
    code: str
    macros: Mapping[str, str]
    has_references: bool
    """Whether a call may change its arguments, as in C++ and of macros."""
    loops: tuple[SourceLoop, ...]

    @property
    def head_end(self) -> int:
        """The line of its opening brace."""
        return self.first + self.code.count("\n", 0, max(0, self.code.find("{")))

    def block(self, first: int, last: int) -> TextBlock:
        """Return the block between two positions of the code."""
        return TextBlock(self._place(first), self._place(last))

    def _place(self, position: int) -> tuple[int, int]:
        before = self.code[:position]
        return self.first + before.count("\n"), len(before.rpartition("\n")[2].encode()) + 1

    def is_in_loop(self, line: int) -> bool:
        """Return whether a line may be executed more than once in a call of the function."""
        return bool(self.loops_at(line))

    def loops_at(self, line: int) -> list[SourceLoop]:
        """Return the loops that a line is in."""
        return [loop for loop in self.loops if loop.first <= line <= loop.last]

    def is_declaration(self, position: int) -> bool:
        """Return whether a name that is assigned there is declared there, behind its type."""
        before = re.search(r"(\w+)[\s*&]*$", self.code[:position])
        return before is not None and before[1] not in ("return", "else", "do")

    def changes(self, name: str) -> list[re.Match[str]]:
        """Return where a variable is assigned, counted on, or has its address taken."""
        return [*re.finditer(_CHANGED.format(re.escape(name)), self.code)]

    def is_constant(self, name: str, *, is_parameter: bool) -> bool:
        """Return whether the function changes a variable nowhere but in its declaration."""
        changes = self.changes(name)
        declared = [each for each in changes if self.is_declaration(each.start())]
        most = not is_parameter  # a declaration with the name of a parameter hides it
        return len(changes) == len(declared) <= most and not self.may_change(name)

    def may_change(self, name: str) -> bool:
        """Return whether code may change a variable that it does not assign."""
        is_passed = self.has_references and re.search(_REFERRED.format(re.escape(name)), self.code)
        return bool(is_passed or _UNKNOWN_FLOW.search(self.code))

    def expanded(self, text: str) -> str:
        """Return a text with the macros that have no parameters."""
        for _ in range(MOST_EXPANSIONS):
            text, before = re.sub(r"\b\w+\b", lambda word: self.macros.get(word[0], word[0]), text), text
            if text == before:
                break
        return text


class FunctionTexts:
    """The texts of functions, where they are certain to be those that were compiled."""

    def __init__(self, running: Running, texts: SourceStatements) -> None:
        self.running = running
        self.texts = texts
        self.types = Types()
        self.of = cache(self._find)
        self.lines = cache(self._find_lines)
        self.has_other_types = cache(self._has_other_types)

    def _find_lines(self, file: str) -> tuple[str, ...]:
        """Return the lines of a file in C without comments and literals; none if it is not what was compiled."""
        lines = self.texts.compiled_lines(file) if _FAMILY.search(file) else ()
        return tuple(_PRAGMA.sub("", quiet("\n".join(lines))).split("\n")) if lines else ()

    def _find(self, function: Die) -> FunctionText | None:
        place = self.declared_at(function)
        if place is None or function.find("DW_AT_artificial") is not None:
            return None
        parent = [*function.origins()][-1].parent()
        if parent is not None and parent.tag in (dw.DW_TAG_class_type, dw.DW_TAG_structure_type):
            return None  # what it does may stand at members
        file, first = place
        lines = self.lines(file)
        last = _last_line(lines, first, function.name or "")
        if last is None:
            return None
        text = "\n".join(lines)
        code = "\n".join(lines[first - 1 : last])
        loops = tuple(source_loops(text))
        has_references = not file.endswith((".c", ".cl")) or _LIKE_A_FUNCTION.search(text) is not None
        return FunctionText(file, first, last, code, _macros(text), has_references, loops)

    def _has_other_types(self, function: Die) -> bool:
        """Return whether a variable of a function has another type than its declaration: then its values say little."""
        return any(self.other_types(die, self.types.type_of(die)) for die in declarations([*function.origins()][-1]))

    def other_types(self, die: Die, kind: Type) -> list[tuple[str, int]]:
        """Return the types that the line of a declaration gives it, if the one that it has is none of them."""
        place = self.declared_at(die)
        lines = () if place is None else self.lines(place[0])
        if place is None or not die.name or place[1] > len(lines):
            return []
        declared = [*declared_types(lines[place[1] - 1], die.name)]
        return [] if _shape(kind) in declared else declared

    def declared_at(self, die: Die) -> tuple[str, int] | None:
        """Return the file and the line of a declaration."""
        return self._place(die.find("DW_AT_decl_file"), die.find("DW_AT_decl_line"))

    def called_at(self, die: Die) -> tuple[str, int] | None:
        """Return the file and the line of an inlined call."""
        return self._place(die.get("DW_AT_call_file"), die.get("DW_AT_call_line"))

    def is_unnamed(self, name: str, file: str, line: int, first: int = 1, last: int | None = None) -> bool:
        """Return whether a line is certain not to name something that other lines, or those of a function, name.

        A macro may stand for a name. If a macro of the command line does so, no line of the text has the name.
        """
        lines = self.lines(file)
        text = "\n".join(lines)
        if not lines or not name.isidentifier() or name.startswith("__") or _LIKE_A_FUNCTION.search(text):
            return False
        word = re.compile(rf"\b{re.escape(name)}\b")
        if any(word.search(each) for each in lines if each.lstrip().startswith("#")):
            return False
        here = lines[line - 1] if 0 < line <= len(lines) else ""
        return not word.search(here) and any(word.search(each) for each in lines[first - 1 : last])

    def declared_elsewhere(self, name: str, file: str, line: int, first: int, last: int) -> int | None:
        """Return the one line of a function that declares a name, if another line is certain only to use it."""
        lines = self.lines(file)
        if not 0 < line <= len(lines) or _LIKE_A_FUNCTION.search("\n".join(lines)):
            return None
        text, found = lines[line - 1], [*re.finditer(rf"\b{re.escape(name)}\b", lines[line - 1])]
        is_used = found and all(_USED.search(text[: each.start()]) for each in found)
        others = [number for number in range(first, last + 1) if [*declared_types(lines[number - 1], name)]]
        return others[0] if is_used and len(others) == 1 else None

    def constants_of(self, die: Die) -> Iterator[int]:
        """Yield the numbers that an entry gives a variable, in the forms of compilers."""
        constant, location = die.number(dw.DW_AT_const_value), die.number(dw.DW_AT_location)
        if constant is not None and isinstance(constant.value, int):
            yield constant.value
        if location is None or location.value_class not in ("exprloc", "loclist"):
            return
        if location.value_class == "exprloc":
            block = location.block()
            places = [(block.data, block.section, block.offset)]
        else:
            listed = location_list(location)
            places = [(each.expression, listed.section, each.expression_offset) for each in listed.entries]
        code = self.running.attached.state.loaded.code_of(die.unit)
        for place in places:
            operations = code.expression(place[0], die.unit.format, *place[1:]).instructions
            names = [each.name for each in operations]
            if names[1:] not in (["DW_OP_stack_value"], [*names[1:2], *_AS_VALUE]):
                continue
            if names[0].startswith("DW_OP_const"):
                yield int(operations[0].operands[0])
            elif names[0].startswith("DW_OP_lit"):
                yield int(names[0].removeprefix("DW_OP_lit"))

    def number_of(self, die: Die, scope: Die) -> int | None:
        """Return the number that the source gives a variable of a function or an inlined call, if that is a literal."""
        text, name = self.of(scope), die.name or ""
        is_parameter = die.tag == dw.DW_TAG_formal_parameter
        if text is None or not text.is_constant(name, is_parameter=is_parameter):
            return None
        if not is_parameter:
            found = re.findall(rf"\b{re.escape(name)}\s*=(?!=)\s*([^,;]*)[,;]", text.code)
            return _number(found[0]) if len(found) == 1 else None
        place, column, origins = (
            self.called_at(scope),
            scope.get("DW_AT_call_column"),
            [*scope.origins()][-1].children(),
        )
        names = [each.name for each in origins if each.tag == dw.DW_TAG_formal_parameter]
        lines = () if place is None else self.lines(place[0])
        if place is None or column is None or place[1] > len(lines) or names.count(name) != 1:
            return None
        called = lines[place[1] - 1].encode()[int(column.value) - 1 :].decode("utf-8", "replace")
        given = re.match(rf"{re.escape(scope.name or '')}\s*\(([^()]*)\)", called)
        values = [] if given is None else given[1].split(",")
        return _number(values[names.index(name)]) if len(values) == len(names) else None

    def is_only_called(self, name: str, file: str) -> bool:
        """Return whether a file has a name only where it is declared or called, so that no pointer leads to it."""
        found = [*re.finditer(rf"\b{re.escape(name)}\b\s*(.?)", "\n".join(self.lines(file)))]
        return len(found) > 1 and all(each[1] == "(" for each in found)

    def _place(self, file: Attribute | None, line: Attribute | None) -> tuple[str, int] | None:
        if file is None or line is None:
            return None
        unit = file.die.unit
        try:
            table = line_table(self.running.attached.state.loaded.code_of(unit).file, unit)
            path = None if table is None else table.path(int(file.value), unit.directory or "")
        except DwarfGpuError:
            return None
        return None if path is None else (tidy(path), int(line.value))


def _macros(text: str) -> Mapping[str, str]:
    """Return the macros of a text without parameters, with what they stand for everywhere in it."""
    conditions = [(match.start(), 1 if match[1] else -1) for match in _CONDITION.finditer(text)]
    found = [*_MACRO.finditer(text)]
    names = Counter(match[1] for match in found)
    return {
        match[1]: match[2]
        for match in found
        if names[match[1]] == 1 and not sum(step for place, step in conditions if place < match.start())
    }


def _last_line(lines: tuple[str, ...], first: int, name: str) -> int | None:
    """Return the line of the closing brace of a function; None where that is not certain."""
    depth = 0
    for number in range(first, len(lines) + 1):
        text = lines[number - 1]
        if text.lstrip().startswith("#"):
            return None  # another text may be what was compiled
        for letter in text if number > first else text[max(0, text.find(name)) :]:
            if letter == ";" and not depth:
                return None
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "}" and depth <= 0:
                return None if depth else number
    return None


class SourceJudge:
    """Judges the lines and the declarations of code that was executed by the text of the source."""

    def __init__(self, lines: CodeLines, texts: FunctionTexts, sightings: Sightings) -> None:
        self.lines = lines
        self.texts = texts
        self.sightings = sightings
        self._scopes = TextBlocks(texts)
        self._calls: set[Die] = set()
        """The inlined calls whose lines were judged."""
        self._wrong: dict[str, WrongType] = {}
        """The base types that are not what their names say, by name."""

    def judge(self, executed: Mapping[int, Sighting]) -> None:
        """Judge the instructions that lanes have executed, each with the first of them."""
        functions: dict[Die, tuple[int, Sighting]] = {}
        for pc, sighting in sorted(executed.items()):
            line = self.lines[pc]
            if line.function is None:
                continue
            functions.setdefault(line.function, (pc, sighting))
            lines = self.texts.lines(line.file) if line.line else ()
            if lines:
                self._judge_line(pc, line, lines, sighting)
        for function, (pc, sighting) in functions.items():
            with noting(function.unit.dwarf.note):
                self._judge_declarations(function, pc, sighting)
        for each in self._wrong.values():
            self.sightings.explain(*each.finding())

    # --- Lines ----------------------------------------------------------------------------------------------------

    def _judge_line(self, pc: int, line: CodeLine, lines: tuple[str, ...], sighting: Sighting) -> None:
        assert line.function is not None  # noqa: S101 (so it was asked)
        self.sightings.note(RULES["line"], pc)
        self.sightings.note(RULES["column"], pc)
        function = self.texts.of(line.function)
        text = lines[line.line - 1] if line.line <= len(lines) else ""
        problem = None
        if not text.strip():
            problem = f"line {line.line} has no code" if line.line <= len(lines) else f"there is no line {line.line}"
        elif function is not None and function.file == line.file and not function.first <= line.line <= function.last:
            problem = f"line {line.line} is not in {line.function.name}, which has the lines "
            problem += f"{function.first} to {function.last}"
        if problem is not None:
            self.sightings.add(Subject(RULES["line"], f"{line.line}"), pc, evolve(sighting, message=problem))
        elif line.column and not _begins(text, line.column):
            message = f"no word or sign begins in column {line.column} of line {line.line}: {text.strip()[:60]}"
            subject = Subject(RULES["column"], f"{line.line}:{line.column}")
            self.sightings.add(subject, pc, evolve(sighting, message=message))
        else:
            self._judge_scopes(pc, line, sighting)

    def _judge_scopes(self, pc: int, line: CodeLine, sighting: Sighting) -> None:
        """Report the blocks and inlined calls that an instruction is in, or is not in, by its line and column."""
        code = self.texts.running.attached.state.loaded.at(pc)
        scopes = () if code is None else code.functions_at(pc)
        if code is None or not scopes:
            return
        self.sightings.note(RULES["scope"], pc)
        with noting(code.file.dwarf.note):
            for scope, caller in pairwise(scopes):
                if scope.die not in self._calls:
                    self._calls.add(scope.die)
                    self._judge_call(scope.die, caller.die, pc, sighting)
            for die, message in self._scopes.problems(line, scopes, code.in_file(pc)):
                self.sightings.add(Subject(RULES["scope"], f"{die.offset}"), pc, evolve(sighting, message=message))

    def _judge_call(self, call: Die, caller: Die, pc: int, sighting: Sighting) -> None:
        """Report the line of an inlined call that is certain not to call the function, and its wrong constants."""
        self._judge_constants(call, pc, sighting)
        place, function, name = self.texts.called_at(call), self.texts.of(caller), call.name
        if place is None or function is None or place[0] != function.file or name is None:
            return
        problem = None
        if is_wrapper(caller) and is_body(call.linkage_name):
            if place[1] != function.head_end:  # clang's call of the body has the place of its brace
                problem = f"and the body of the kernel begins in line {function.head_end}"
        elif not function.first <= place[1] <= function.last:
            problem = f"which is not in {caller.name}"
        elif self._is_no_call(call, name, place):
            problem = "which does not name it"
        if problem is not None:
            message = f"the inlined call of {name} is in line {place[1]}, {problem}"
            self.sightings.add(Subject(RULES["name"], name, call), pc, evolve(sighting, message=message))

    def _is_no_call(self, call: Die, name: str, place: tuple[str, int]) -> bool:
        declared = self.texts.declared_at(call)
        is_here = declared is not None and declared[0] == place[0]
        return is_here and self.texts.is_unnamed(name, *place) and self.texts.is_only_called(name, place[0])

    # --- Declarations ---------------------------------------------------------------------------------------------

    def _judge_declarations(self, function: Die, pc: int, sighting: Sighting) -> None:
        text = self.texts.of(function)
        self._judge_name(function, pc, sighting)
        self._judge_constants(function, pc, sighting)
        for die in declarations(function):
            if text is not None:
                self._judge_name(die, pc, sighting, text.first, text.last)
            kind = self.texts.types.type_of(die)
            self._judge_type(die, kind, pc, sighting)
            inner, _depth = _innermost(kind)
            if isinstance(inner, Struct) and not inner.is_incomplete:
                for member in inner.body.members:
                    if member.die is not None:
                        self._judge_type(member.die, member.type, pc, sighting)

    def _judge_name(self, die: Die, pc: int, sighting: Sighting, *lines: int) -> None:
        """Report an entry whose line does not have its name, which is in some lines."""
        place = self.texts.declared_at(die)
        if place is not None and self.texts.is_unnamed(die.name or "", *place, *lines):
            message = f"{die.name} is declared in line {place[1]}, which does not name it"
            self.sightings.add(Subject(RULES["name"], f"{die.name}", die), pc, evolve(sighting, message=message))
        elif place is not None and len(lines) == 2:
            other = self.texts.declared_elsewhere(die.name or "", *place, *lines)
            if other is not None:
                message = f"{die.name} is declared in line {place[1]}, which only uses it: line {other} declares it"
                self.sightings.add(Subject(RULES["name"], f"{die.name}", die), pc, evolve(sighting, message=message))

    def _judge_constants(self, scope: Die, pc: int, sighting: Sighting) -> None:
        """Report the constants of a function or an inlined call that are not the literals of the source."""
        for die in declarations(scope):
            kind, constants = stripped(self.texts.types.type_of(die)), {*self.texts.constants_of(die)}
            if not constants or not isinstance(kind, Base) or kind.encoding not in _WHOLE or not kind.byte_size:
                continue
            number = self.texts.number_of(die, scope)
            for each in constants:
                if number is not None and (number - each) % (1 << 8 * kind.byte_size):
                    message = f"{die.name} is the constant {each}, and {number} in the source"
                    subject = Subject(RULES["constant"], f"{die.name}", die)
                    variable = self.sightings.function(pc)[0], f"{die.name}"
                    self.sightings.explain(subject, pc, evolve(sighting, message=message), {variable})

    def _judge_type(self, die: Die, kind: Type, pc: int, sighting: Sighting) -> None:
        """Report an entry whose type is no base type like that of its declaration."""
        declared, place = self.texts.other_types(die, kind), self.texts.declared_at(die)
        if not declared or place is None:
            return
        base, name = _innermost(kind)[0], f"{die.name}"
        words = normal(base.name.split()) if isinstance(base, Base) else None
        if words is not None and words != _shape(base)[0]:
            wrong = self._wrong.setdefault(words, WrongType(words, _shape(base)[0], pc, sighting))
            wrong.names.setdefault(name)
            wrong.variables.add((self.sightings.function(pc)[0], name))
            return
        meant, got = (" ".join([words, "*" * count]).rstrip() for words, count in (declared[0], _shape(kind)))
        its = f"its type is {got}" if safe_text(kind) == got else f"its type, {safe_text(kind)}, is like {got}"
        message = f"{name} is declared as {meant} in line {place[1]}, and {its}"
        subject = Subject(RULES["type"], name, die)
        self.sightings.explain(subject, pc, evolve(sighting, message=message), {(self.sightings.function(pc)[0], name)})


@define
class WrongType:
    """A base type that is not what its name says, and the variables that have it."""

    name: str
    got: str
    pc: int
    sighting: Sighting
    names: dict[str, None] = Factory(dict)
    variables: set[tuple[str, str]] = Factory(set)

    def finding(self) -> tuple[Subject, int, Sighting, set[tuple[str, str]]]:
        """Return the one finding about it."""
        names = [*self.names]
        few = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else "")
        have = "has" if len(names) == 1 else "have"
        message = f"the type {self.name} is like {self.got}, and {few} {have} it"
        return Subject(RULES["type"], self.name), self.pc, evolve(self.sighting, message=message), self.variables


def declarations(function: Die) -> Iterator[Die]:
    """Yield the parameters and variables of a function and of its blocks."""
    for child in function.children():
        if child.tag in (dw.DW_TAG_formal_parameter, dw.DW_TAG_variable):
            if child.find("DW_AT_artificial") is None and child.find("DW_AT_type") is not None:
                yield child
        elif child.tag == dw.DW_TAG_lexical_block:
            yield from declarations(child)


def _number(text: str) -> int | None:
    """Return the number that a literal is; None for any other expression."""
    text = text.strip()
    return int(re.sub(r"[\suUlL]", "", text), 0) if _LITERAL.fullmatch(text) else None


def _begins(text: str, column: int) -> bool:
    """Return whether a word or a sign begins in a column of a line."""
    data = text.encode()
    if column > len(data):
        return False
    here, before = data[column - 1 : column], data[column - 2 : column - 1] if column > 1 else b" "
    if here.isspace():
        return False
    return not (_is_word(here) and _is_word(before))


def _is_word(letter: bytes) -> bool:
    return letter.isalnum() or letter == b"_" or letter >= b"\x80"


def declared_types(line: str, name: str) -> Iterator[tuple[str, int]]:
    """Yield the types that a line declares a name with, by words of the language: words, and how many pointers."""
    pattern = _DECLARED.format(words=_SPECIFIER, name=re.escape(name))
    for match in re.finditer(pattern, line):
        words = normal(match[1].split())
        if words is not None:
            yield words, len(re.findall(r"[*&]", match[2])) + (match[3] == "[")


def normal(words: list[str]) -> str | None:
    """Return the one name of a base type that some words stand for; None if that depends on more."""
    kinds = [word for word in words if word in _BASES]
    is_unsigned = "unsigned" in kinds
    rest = [kind for kind in kinds if kind not in ("signed", "unsigned")]
    if not kinds or (rest.count("long") and "double" in rest):
        return None
    if set(rest) <= {"int"}:
        size = "int"
    elif set(rest) <= {"long", "int"}:
        size = "long"
    elif set(rest) <= {"short", "int"}:
        size = "short"
    elif len(rest) == 1:
        size = "bool" if rest[0] == "_Bool" else rest[0]
    else:
        return None
    return f"unsigned {size}" if is_unsigned and size != "char" else size


def _innermost(kind: Type) -> tuple[Type, int]:
    """Return what a type is made of, and through how many pointers and arrays."""
    depth = 0
    kind = stripped(kind)
    while isinstance(kind, (Pointer, Array)):
        kind, depth = stripped(kind.element if isinstance(kind, Array) else kind.target), depth + 1
    return kind, depth


def _shape(kind: Type) -> tuple[str, int]:
    """Return a type as `declared_types` does: the name of what it is made of, and how many pointers and arrays."""
    kind, depth = _innermost(kind)
    if not isinstance(kind, Base) or kind.vector_size is not None:
        return safe_text(kind), depth
    size = kind.byte_size or 0
    if kind.encoding == dw.DW_ATE_boolean:
        return "bool", depth
    if kind.encoding == dw.DW_ATE_float:
        return {2: "half", 4: "float", 8: "double"}.get(size, kind.name), depth
    if kind.encoding in (dw.DW_ATE_signed_char, dw.DW_ATE_unsigned_char) and size == 1:
        return "char", depth
    name = _INTEGERS.get(size, kind.name)
    return ("unsigned " if kind.encoding == dw.DW_ATE_unsigned and size > 1 else "") + name, depth
