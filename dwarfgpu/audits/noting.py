"""Reading on past what is broken: an error becomes a problem of the file, and something else takes its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.unit import Unit

T = TypeVar("T")


def noted(unit: Unit, read: Callable[[], T], otherwise: T) -> T:
    """Return what is read of a unit; where it cannot be read, note the error and return what stands for it."""
    try:
        return read()
    except DwarfGpuError as error:
        unit.dwarf.note(error)
        return otherwise
