"""The blocks of the source in which variables are declared, and whether their code is what the file says.

A compiler gives an instruction its line together with the scope that the line is in: the block, the function, the
inlined call. So the code of a block is exactly what has a place in its text, wherever it was moved.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.source_statements import end_of_statement
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.code.scopes import holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.source_places import FunctionText, FunctionTexts
    from dwarfgpu.audits.judge.statements import CodeLine
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.scopes import FunctionScope

_FOR = re.compile(r"\bfor\s*$")
_PAIRS = {")": "(", "]": "[", "}": "{"}


@frozen
class TextBlock:
    """The text of a block: places are lines and columns, both from 1 on."""

    first: tuple[int, int]
    """Of its brace, or of the word ``for``."""
    last: tuple[int, int]
    """Of its last letter."""

    def has(self, line: int, column: int) -> bool | None:
        """Return whether a place is in the block; None where its ends, or a line without a column, leave it open."""
        if self.first[0] < line < self.last[0]:
            return True
        if not self.first[0] <= line <= self.last[0]:
            return False
        place = line, column
        if not column or place in (self.first, self.last):
            return None
        return self.first < place < self.last


class TextBlocks:
    """Compares the code of blocks, and of the bodies of kernels, with the text of the source."""

    def __init__(self, texts: FunctionTexts) -> None:
        self.texts = texts
        self._blocks = cache(self._find_blocks)
        self._is_wrapper = cache(is_wrapper)

    def problems(self, line: CodeLine, scopes: tuple[FunctionScope, ...], place: int) -> Iterator[tuple[Die, str]]:
        """Yield the scopes whose code an address of the file should be, or should not, each with why."""
        scope = scopes[0]
        function = self.texts.of(scope.die)
        if function is None or function.file != line.file:
            return
        where = f"line {line.line}" + (f", column {line.column}," if line.column else "")
        if self._is_wrapper(scope.die) and function.head_end < line.line < function.last:
            yield (scope.die, f"{where} is in the body of {scope.die.name}, whose inlined call this is not")
        elif scope.is_inlined and is_body(scope.die.linkage_name) and function.head_end < function.last == line.line:
            yield (scope.die, f"{where} is the end of {scope.die.name}, which no inlined call of it has")
        for block, text in self._blocks(scope.die):
            is_inside = text.has(line.line, line.column)
            names = ", ".join(str(each.name) for each in _variables(block))
            if is_inside is True and not holds(block, place):
                yield block, f"{where} is in the block of {names}, whose code this is not"
            elif is_inside is False and block in scope.blocks:
                yield block, f"{where} is not in the block of {names}, whose code this is"

    def _find_blocks(self, function: Die) -> tuple[tuple[Die, TextBlock], ...]:
        text = self.texts.of(function)
        if text is None:
            return ()
        found = []
        for die in _blocks_of(function):
            blocks = {self._block_around(text, variable) for variable in _variables(die)}
            block = blocks.pop() if len(blocks) == 1 else None
            if block is not None:
                found.append((die, block))
        return tuple(found)

    def _block_around(self, function: FunctionText, variable: Die) -> TextBlock | None:
        """Return the innermost block around a declaration; None where that is not certain."""
        place = self.texts.declared_at(variable)
        if place is None or place[0] != function.file or not function.first <= place[1] <= function.last:
            return None
        code, line = function.code, place[1] - function.first
        start = sum(len(each) + 1 for each in code.split("\n")[:line])
        names = [*re.finditer(rf"\b{re.escape(variable.name or '')}\b", code[start:].partition("\n")[0])]
        if not names or not function.is_declaration(start + names[0].start()):
            return None
        opened: list[int] = []
        for position, letter in enumerate(code[: start + names[0].start()]):
            if letter in "([{":
                opened.append(position)
            elif letter in _PAIRS and (not opened or code[opened.pop()] != _PAIRS[letter]):
                return None
        if len(opened) < 2 or any(code[each] == "[" for each in opened):
            return None
        first = opened[-1]
        if code[first] == "(":
            word = _FOR.search(code[:first])
            head = code[first : end_of_statement(code, first, closing=")")]
            if word is None or head.count(";") != 2:
                return None
            return function.block(word.start(), end_of_statement(code, first))
        if code[:first].rstrip().endswith("(") or any(code[each] == "(" for each in opened):
            return None
        return function.block(first, end_of_statement(code, first))


def is_wrapper(function: Die) -> bool:
    """Return whether a function is a kernel that does nothing but call its body, and this call is inlined."""
    if function.tag != dw.DW_TAG_subprogram or is_body(function.linkage_name):
        return False
    return any(
        child.tag == dw.DW_TAG_inlined_subroutine and is_body(child.linkage_name) and child.name == function.name
        for child in function.children()
    )


def _blocks_of(scope: Die) -> Iterator[Die]:
    """Yield the blocks of a function that have an entry and code."""
    for child in scope.children():
        if child.tag == dw.DW_TAG_lexical_block:
            if child.ranges():
                yield child
            yield from _blocks_of(child)


def _variables(block: Die) -> list[Die]:
    """Return the variables that a block declares, also those that a copy leaves out."""
    abstract = [*block.origins()][-1]
    return [each for each in abstract.children() if each.tag == dw.DW_TAG_variable and each.name]
