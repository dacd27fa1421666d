"""The statements of a function in C, as a tree: what they declare, compute and decide.

Expressions are read by the parser of source expressions. A statement that this does not read stands in the tree as it
is, so that what it may change is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dwarfgpu.audits.judge.source_statements import end_of_statement
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language.parser import parse
from dwarfgpu.program.language.syntax import SyntaxNode
from dwarfgpu.program.language.tokens import split_at_commas

UNSIGNED = {"uchar": "char", "ushort": "short", "uint": "int", "ulong": "long", "size_t": "long"}
"""The names that OpenCL C has for unsigned types."""
_DECLARATION = re.compile(r"\s*(?:[A-Za-z_]\w*(?:\s*[*&]+\s*|\s+))+[A-Za-z_]\w*\s*(?:=(?!=)|[\[({,]|$)")
_NO_DECLARATION = re.compile(r"\s*(?:throw|delete|new|using|typedef)\b")
_DECLARATOR = re.compile(r"(?P<before>[\w\s*&]*?)(?P<name>[A-Za-z_]\w*)\s*(?:=(?!=)(?P<value>.*))?", re.DOTALL)
_NAME_BEFORE = re.compile(r"([A-Za-z_]\w*)\s*[\[({=]")
_UNKNOWN_FLOW = re.compile(
    r"\b(?:asm|__asm__|goto|try)\b|\[[^\[\]]*\]\s*(?:\([^()]*\)\s*)?(?:mutable\s*)?(?:->\s*\w+\s*)?\{"
)
"""Labels, and lambdas, which change variables of the function that they are in."""
_WORD = re.compile(r"\s*([A-Za-z_]\w*|)")


class UnreadableSource(Exception):
    """The text of a function is not understood."""


@frozen(eq=False)
class StatementText:
    """A part of the text of a function."""

    text: str
    line: int
    """The line of the file where it begins."""


@frozen(eq=False)
class UnreadStatement:
    """A statement that is not understood."""

    whole: StatementText


@frozen(eq=False)
class StatementBlock:
    """Statements in a scope of their own."""

    parts: tuple[Any, ...]


@frozen(eq=False)
class Declaration:
    """A variable, with its initializer."""

    name: str
    line: int
    words: str
    """What stands before its name: its type."""
    value: SyntaxNode | None


@frozen(eq=False)
class ExpressionStatement:
    """An expression that is a statement."""

    tree: SyntaxNode


@frozen(eq=False)
class BranchStatement:
    """An ``if`` statement."""

    condition: SyntaxNode | None
    yes: Any
    no: Any
    whole: StatementText


@frozen(eq=False)
class SwitchStatement:
    """A ``switch`` statement."""

    condition: SyntaxNode
    labels: tuple[tuple[SyntaxNode | None, int], ...]
    """The value of each label, None for ``default``, and the first of the parts that is behind it."""
    parts: tuple[Any, ...]
    whole: StatementText


@frozen(eq=False)
class LoopStatement:
    """A ``for``, ``while`` or ``do`` statement."""

    first: tuple[Any, ...]
    condition: SyntaxNode | None
    """None in ``for (;;)``, too."""
    steps: tuple[Any, ...]
    body: Any
    inside: StatementText
    """The text of the body."""
    is_tested_first: bool
    whole: StatementText


@frozen(eq=False)
class JumpStatement:
    """A ``return``, ``break`` or ``continue`` statement."""

    word: str
    value: SyntaxNode | None


def read_body(text: str, line: int) -> StatementBlock:
    """Read the body of a function, without comments and macros, that begins in a line of its file."""
    if _UNKNOWN_FLOW.search(text):
        raise UnreadableSource("labels")
    body = StatementReader(text, line).statement()
    assert isinstance(body, StatementBlock)  # noqa: S101 (it begins with a brace)
    return body


class StatementReader:
    """Reads the statements of a body one by one."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line, self.at = text, line, 0

    def statement(self) -> Any:
        """Read one statement, which may be a block."""
        word = self._word()
        start = self.at
        if self.text.startswith("{", start):
            return self._block()
        if word in ("if", "for", "while", "do", "switch"):
            self.at += len(word)
            made = getattr(self, f"_{word}")(start)
            return UnreadStatement(self._since(start)) if made is None else made
        if word in ("case", "default", "else", "goto", "asm", "__asm__", "try"):
            raise UnreadableSource(word)
        text = self._until(";")
        if word in ("return", "break", "continue"):
            value = self._tree(text[len(word) :]) if text[len(word) :].strip() else None
            return JumpStatement(word, value)
        parts = tuple(self._simple(text, start))
        return parts[0] if len(parts) == 1 else parts

    def _block(self) -> StatementBlock:
        self.at += 1
        parts = []
        while self._word() or not self.text.startswith("}", self.at):
            if self.at >= len(self.text):
                raise UnreadableSource("}")
            parts.append(self.statement())
        self.at += 1
        return StatementBlock(tuple(parts))

    def _if(self, start: int) -> BranchStatement:
        condition = self._tree(self._head())
        yes, no, end = self.statement(), None, self.at
        if self._word() == "else":
            self.at += len("else")
            no, end = self.statement(), self.at
        self.at = end
        return BranchStatement(condition, yes, no, self._since(start))

    def _switch(self, start: int) -> SwitchStatement | None:
        condition, is_read = self._tree(self._head()), True
        if self._word() or not self.text.startswith("{", self.at):
            raise UnreadableSource("switch")
        self.at += 1
        labels: list[tuple[SyntaxNode | None, int]] = []
        parts: list[Any] = []
        while (word := self._word()) or not self.text.startswith("}", self.at):
            if word in ("case", "default"):
                self.at += len(word)
                label = self._tree(self._until(":"))
                is_read &= (label is None) == (word == "default")
                labels.append((label, len(parts)))
            elif self.at >= len(self.text):
                raise UnreadableSource("}")
            else:
                parts.append(self.statement())
        self.at += 1
        if condition is None or not is_read:
            return None
        return SwitchStatement(condition, tuple(labels), tuple(parts), self._since(start))

    def _while(self, start: int) -> LoopStatement | None:
        condition, body = self._tree(self._head()), self._body()
        return None if condition is None else LoopStatement((), condition, (), *body, True, self._since(start))

    def _do(self, start: int) -> LoopStatement | None:
        body = self._body()
        if self._word() != "while":
            raise UnreadableSource("do")
        self.at += len("while")
        condition = self._tree(self._head())
        self._until(";")
        return None if condition is None else LoopStatement((), condition, (), *body, False, self._since(start))

    def _for(self, start: int) -> LoopStatement | None:
        place = self.text.find("(", self.at) + 1
        parts, body = self._head().split(";"), self._body()
        if len(parts) != 3:
            return None
        condition = self._tree(parts[1])
        if condition is None and parts[1].strip():
            return None
        first, steps = (tuple(self._simple(each, place)) for each in (parts[0], parts[2]))
        return LoopStatement(first, condition, steps, *body, True, self._since(start))

    def _body(self) -> tuple[Any, StatementText]:
        """Read what a loop repeats: the statement, and its text."""
        start = self.at
        return self.statement(), self._since(start)

    def _simple(self, text: str, start: int) -> Iterator[Any]:
        """Yield the declarations or expressions of a statement without a word of its own."""
        if not text.strip():
            return
        if _NO_DECLARATION.match(text) or not _DECLARATION.match(text):
            for part in split_at_commas(text, "([{)]}"):
                tree = self._tree(part)
                yield (
                    UnreadStatement(StatementText(part, self._line(start)))
                    if tree is None
                    else ExpressionStatement(tree)
                )
            return
        words, place = None, start
        for part in split_at_commas(text, "([{)]}"):
            found = _DECLARATOR.fullmatch(part)
            tree = self._tree(found["value"]) if found is not None and found["value"] else None
            if found is None or (found["value"] and tree is None):
                yield UnreadStatement(StatementText(part, self._line(place)))
            name = found or _NAME_BEFORE.search(part)
            if name is None:
                raise UnreadableSource(part)
            words = (part[: name.start(1 if found is None else "name")] or " ") if words is None else words
            known = words if found is not None else ""
            line = self._line(place + name.start(1 if found is None else "name"))
            yield Declaration(name[1 if found is None else "name"], line, known, tree)
            place += len(part) + 1

    # --- The text -------------------------------------------------------------------------------------------------

    def _word(self) -> str:
        """Go to the next word or sign, and return the word."""
        match = _WORD.match(self.text, self.at)
        assert match is not None  # noqa: S101 (it matches nothing, too)
        self.at = match.start(1)
        return match[1]

    def _head(self) -> str:
        """Read what is in the brackets behind a word."""
        start = self.text.find("(", self.at)
        end = end_of_statement(self.text, start, closing=")")
        if start < 0 or self.text[self.at : start].strip() or end >= len(self.text):
            raise UnreadableSource("(")
        self.at = end + 1
        return self.text[start + 1 : end]

    def _until(self, sign: str) -> str:
        """Read up to a sign that is in no brackets."""
        start, depth = self.at, 0
        for place in range(start, len(self.text)):
            letter = self.text[place]
            depth += (letter in "([{") - (letter in ")]}")
            if depth < 0:
                break
            if letter == sign and not depth:
                self.at = place + 1
                return self.text[start:place]
        raise UnreadableSource(sign)

    def _line(self, place: int) -> int:
        return self.line + self.text.count("\n", 0, place)

    def _since(self, start: int) -> StatementText:
        return StatementText(self.text[start : self.at], self._line(start))

    @staticmethod
    def _tree(text: str) -> SyntaxNode | None:
        try:
            return parse(" ".join(text.split()), UNSIGNED.__contains__) if text.strip() else None
        except DwarfGpuError:
            return None
