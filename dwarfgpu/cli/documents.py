"""JSON documents that are written while they become known: an iterator in one stands for a list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from typing import TextIO

STEP = "  "


class Document:
    """A document on its way to a stream."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.error: DwarfGpuError | None = None
        """What ended an iterator early. All lists end there, and the document is still whole."""

    def write(self, stream: TextIO) -> None:
        """Write the document, and end its last line.

        An error is raised when it is whole, or at once where nothing is known yet.
        """
        is_begun = False
        for piece in self._pieces(self.value, "\n"):
            if self.error is not None and not is_begun:
                raise self.error
            is_begun = True
            stream.write(piece)
        stream.write("\n")
        if self.error is not None:
            raise self.error

    def _pieces(self, value: object, newline: str) -> Iterator[str]:
        """The text of a value, of which lines after the first begin with ``newline``."""
        if isinstance(value, Iterator):
            yield from self._items(value, newline)
        elif _is_lazy(value):
            yield from self._fields(value, newline)  # type: ignore[arg-type]
        else:
            yield json.dumps(value, indent=len(STEP)).replace("\n", newline)

    def _fields(self, value: dict[str, Any], newline: str) -> Iterator[str]:
        """The text of an object, of which nothing is written before the first item of its first list is known."""
        inner = newline + STEP
        before = "{"
        for key, each in value.items():
            before += f"{inner}{json.dumps(key)}: "
            for piece in self._pieces(each, inner):
                before += piece
                if _is_lazy(each):
                    yield before
                    before = ""
            before += ","
        yield before.removesuffix(",") + newline + "}"

    def _items(self, values: Iterator[object], newline: str) -> Iterator[str]:
        inner = newline + STEP
        before = "["
        while self.error is None:
            try:
                value = next(values)
            except StopIteration:
                break
            except DwarfGpuError as error:
                self.error = error
                break
            before += inner
            for piece in self._pieces(value, inner):
                yield before + piece
                before = ""
            before = ","
        yield "[]" if before == "[" else newline + "]"


def _is_lazy(value: object) -> bool:
    """Whether a part of a document is an iterator, or an object that has one."""
    if isinstance(value, dict):
        return any(isinstance(each, Iterator) for each in value.values())
    return isinstance(value, Iterator)
