"""What is wrong with a source expression, and in which column."""

from __future__ import annotations

from dwarfgpu.errors import UsageError

SHORT = 60
"""An expression with no more characters is quoted."""


class ExpressionError(UsageError):
    """A source expression that cannot be read. ``column`` counts from 1."""

    def __init__(self, text: str, position: int, message: str, *, hint: str | None = None) -> None:
        self.text = text
        self.position = position
        what = "the expression" if len(text) > SHORT or not text.isprintable() else repr(text)
        shown = f"{message}, at column {position + 1} of {what}"
        UsageError.__init__(self, shown, hint=hint, kind="bad_expression")

    @property
    def column(self) -> int:
        return self.position + 1

    def pointed(self) -> tuple[str, str]:
        """The expression, and a line with a mark below the place; a long expression is cut around it."""
        first = max(0, self.position - 50)
        line = self.text[first : first + 76].replace("\n", " ").replace("\t", " ")
        return line, " " * (self.position - first) + "^"
