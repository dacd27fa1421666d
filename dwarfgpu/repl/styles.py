"""The colours of the prompt: its style sheet, and those of the line that is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse bg:ansibrightblack ansiwhite",
        "auto-suggestion": "ansibrightblack",
        "pygments.keyword": "ansicyan bold",
        "pygments.keyword.type": "ansigreen",
        "pygments.name.attribute": "ansiyellow",
        "pygments.name.variable": "ansimagenta",
        "pygments.name.namespace": "ansimagenta",
        "pygments.literal.number": "ansiyellow",
        "pygments.literal.string": "ansigreen",
        "pygments.comment": "ansibrightblack",
        "title": "bold ansicyan",
        "border": "ansibrightblack",
        "lane": "reverse",
        "inactive": "ansibrightblack",
        "current": "bold",
        "error": "ansired bold",
    }
)


class CommandColors(Lexer):
    """The colours of what is typed. What they are made with is imported when something is."""

    def __init__(self) -> None:
        self._lexer: Lexer | None = None

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        if not document.text.strip():
            lines = document.lines
            return lambda number: [("", lines[number])] if number < len(lines) else []
        if self._lexer is None:
            from prompt_toolkit.lexers import PygmentsLexer

            from dwarfgpu.repl.lexers import CommandLexer

            self._lexer = PygmentsLexer(CommandLexer, sync_from_start=True)
        return self._lexer.lex_document(document)
