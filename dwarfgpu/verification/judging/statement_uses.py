"""What statements of the source do with variables: whether they need one, or only assign it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class StatementUses:
    """Reads the statements of a source for the names in them."""

    def __init__(self, text_of: Callable[[str, int], str | None]) -> None:
        self._text_of = text_of
        """Returns the statement that a line of a file belongs to; None where the text is not known."""
        self._known: dict[tuple[str, str, int], bool | None] = {}

    def of(self, name: str, file: str, line: int) -> bool | None:
        """Return whether the statement of a line needs a variable, or assigns it; None if it does not name it.

        Without the text every statement counts as one that needs it.
        """
        key = name, file, line
        if key not in self._known:
            text = self._text_of(file, line)
            self._known[key] = True if text is None else _use_in(text, re.escape(name))
        return self._known[key]


def _use_in(text: str, word: str) -> bool | None:
    count = len(re.findall(rf"\b{word}\b", text))
    if not count:
        return None
    return count > 1 or not re.search(rf"(?<![.>])\b{word}\s*=(?!=)", text)
