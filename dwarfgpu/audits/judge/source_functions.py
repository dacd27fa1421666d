"""The text of functions, where it is certain to be what was compiled.

Only the text that was compiled counts: its MD5 is that of the line table, or the line table embeds it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.source_statements import SourceLoop, SourceStatements, source_loops
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.language.source_text import quiet

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Attribute, Die

_FAMILY = re.compile(r"\.(?:c|cc|cl|cpp|cu|cxx|h|hip|hpp|inc)$")
"""The files in C and its relatives."""
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
MOST_EXPANSIONS = 8


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

    def is_in_loop(self, line: int) -> bool:
        """Return whether a line may be executed more than once in a call of the function."""
        return any(loop.first <= line <= loop.last for loop in self.loops)

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
        self.of = cache(self._find)
        self.lines = cache(self._find_lines)

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

    def declared_at(self, die: Die) -> tuple[str, int] | None:
        return self._place(die.find("DW_AT_decl_file"), die.find("DW_AT_decl_line"))

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
    """Return the line of the closing brace of a function; None where that is not certain.

    A macro may make a function: then its parameters do not follow its name in the line of its declaration.
    """
    declared = re.search(rf"\b{re.escape(name)}\s*\(", "".join(lines[first - 1 : first]))
    depth = 0
    for number in range(first, len(lines) + 1 if declared else 0):
        text = lines[number - 1]
        if text.lstrip().startswith("#"):
            return None  # another text may be what was compiled
        for letter in text if number > first or declared is None else text[declared.start() :]:
            if letter == ";" and not depth:
                return None
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "}" and depth <= 0:
                return None if depth else number
    return None


def declarations(function: Die) -> Iterator[Die]:
    """Yield the parameters and variables of a function and of its blocks."""
    for child in function.children():
        if child.tag in (dw.DW_TAG_formal_parameter, dw.DW_TAG_variable):
            if child.find("DW_AT_artificial") is None and child.find("DW_AT_type") is not None:
                yield child
        elif child.tag == dw.DW_TAG_lexical_block:
            yield from declarations(child)
