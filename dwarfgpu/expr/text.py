"""Programs as text: the statements, words and names that the assembler reads, with their positions.

Positions are indices in the text. Comments and commas are replaced by blanks and semicolons of the same length before
anything is split, so that a position in the clean text is one in the text that the user wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.errors import IllFormed
from dwarfgpu.expr import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    Word: TypeAlias = tuple[str, int]
    """A word and its position."""

PREFIX = "DW_OP_"
MAX_DEPTH = 64
"""How deep expressions may be nested in text; no evaluation nests deeper."""

OPERATION_SPEC = "DWARF 5, 7.7.1"
BRANCH_SPEC = "A.2.5.4.2 (3)"


class Text:
    """The text of a program."""

    __slots__ = ("clean", "closing", "original")

    def __init__(self, original: str) -> None:
        self.original = original
        self.clean = _without_commas(_without_comments(original).replace("\n", ";"))
        """Statements between semicolons, words between blanks."""
        self.closing: dict[int, int] = {}
        """The position of the parenthesis that closes the one at a position."""
        if "(" in self.clean or ")" in self.clean:
            self._match()

    def _match(self) -> None:
        opened: list[int] = []
        for index, mark in enumerate(self.clean):
            if mark == "(":
                opened.append(index)
                if len(opened) > MAX_DEPTH:
                    raise self.error(
                        "bad_operand", f"expressions are nested more than {MAX_DEPTH} deep", index
                    )
            elif mark == ")":
                if not opened:
                    raise self.error("bad_operand", "a parenthesis is closed that is not open", index)
                self.closing[opened.pop()] = index
        if opened:
            raise self.error("bad_operand", "a parenthesis is not closed", opened[-1])

    def statements(self, start: int, end: int) -> Iterator[Word]:
        """Yield the statements between two positions, each with its parentheses and all in them."""
        clean = self.clean
        position = start
        if not self.closing:
            for chunk in clean[start:end].split(";"):
                yield chunk, position
                position += len(chunk) + 1
            return
        opening = clean.find("(", start, end)
        index = clean.find(";", start, end)
        while index >= 0:
            while 0 <= opening < index:
                index = clean.find(";", self.closing[opening], end)
                opening = clean.find("(", self.closing[opening], end)
                if index < 0:
                    break
            else:
                yield clean[position:index], position
                position = index + 1
                index = clean.find(";", position, end)
        yield clean[position:end], position

    def words(self, chunk: str, position: int) -> Iterator[Word]:
        """Yield the words of a statement. A parenthesis and all in it is one word, and a colon ends a word."""
        start = -1
        index = 0
        while index < len(chunk):
            mark = chunk[index]
            is_blank = mark.isspace()
            if start >= 0 and (is_blank or mark == "("):
                yield chunk[start:index], position + start
                start = -1
            if start < 0 and not is_blank:
                start = index
            if mark == "(":
                index = self.closing[position + index] - position
            if mark in "(:":
                yield chunk[start : index + 1], position + start
                start = -1
            index += 1
        if start >= 0:
            yield chunk[start:], position + start

    def error(self, kind: str, message: str, position: int, *, hint: str | None = None) -> IllFormed:
        """Return an error with its position in the text."""
        spec = BRANCH_SPEC if kind == "bad_branch" else OPERATION_SPEC
        return IllFormed(kind, f"{message}, {self.place(position)}", spec=spec, hint=hint)

    def place(self, position: int) -> str:
        """Describe a position: the line, if there are several, and the column, both from 1."""
        before = self.original[:position]
        column = f"column {position - before.rfind(chr(10))}"
        return f"line {before.count(chr(10)) + 1}, {column}" if "\n" in self.original else column


def shown(word: str) -> str:
    """Return a word of the text for a message, shortened if it is long."""
    return word if len(word) <= 40 else word[:37] + "..."


def folded(word: str) -> str:
    """Return the name that a word means in any case and without its prefix, or the word if it names nothing."""
    wanted = word.upper()
    for name in table.names():
        if name.upper() in (wanted, PREFIX + wanted):
            return name
    return word


def similar(word: str) -> str | None:
    """Return a hint with names similar to a word that is not an operation."""
    import difflib

    name = folded(word)
    if name != word:
        return f"write {name}"
    near = difflib.get_close_matches(word[:64], table.names())
    return f"names like it: {', '.join(near)}" if near else None


def _without_comments(text: str) -> str:
    if "#" not in text:
        return text
    lines = [line.partition("#") for line in text.split("\n")]
    return "\n".join([code + " " * (len(mark) + len(comment)) for code, mark, comment in lines])


def _without_commas(text: str) -> str:
    """Replace commas between operations by semicolons, and those between operands by blanks."""
    if "," not in text:
        return text
    first, *rest = text.split(",")
    return first + "".join([(";" if _begins_operation(part) else " ") + part for part in rest])


def _begins_operation(part: str) -> bool:
    return part.lstrip()[: len(PREFIX)].upper() == PREFIX
