"""The debugging information of one file: its units, and look-up in them by name and by address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.objfile.info.debug_file import DebugFile

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.lookup import Index
    from dwarfgpu.objfile.info.unit import Unit


class Dwarf(DebugFile):
    """All units of one file, with their index."""

    _index: Index | None = None

    @property
    def index(self) -> Index:
        """Look-up by name and by address."""
        if self._index is None:
            from dwarfgpu.objfile.indexes.lookup import Index

            self._index = Index(self)
        return self._index

    def drop_caches(self) -> None:
        self._index = None
        super().drop_caches()


def index_of(unit: Unit) -> Index:
    """Return the index of the file that a unit is in."""
    file: Any = unit.dwarf
    return file.index  # type: ignore[no-any-return]
