"""The parts of a section, in one form for all sections: each with facts about it and with tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, TypeAlias, cast

from dwarfgpu.immutable import frozen

Kind: TypeAlias = Literal["number", "rare", "address", "text", "bytes", "code", "source"]
"""How a cell is shown: an address in hexadecimal, a source by its number of lines; a rare number is mostly 0."""
Columns: TypeAlias = "tuple[tuple[str, Kind], ...]"


@cache
def _columns(head: str) -> Columns:
    return tuple((name, cast("Kind", kind)) for name, kind in (word.split(":") for word in head.split()))


@frozen
class Table:
    """Rows with the same columns. A cell may be None."""

    name: str
    head: str
    """The columns, as ``index:number name:text``."""
    rows: Iterable[tuple[Any, ...]]
    """Made while they are shown: there may be very many."""

    @property
    def columns(self) -> Columns:
        return _columns(self.head)


@frozen
class SectionPart:
    """One table, list or header of a section."""

    section: str
    offset: int
    title: str
    facts: dict[str, Any]
    tables: tuple[Table, ...] = ()
