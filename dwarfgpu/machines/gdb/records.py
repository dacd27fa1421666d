"""What GDB gives of a process, or refuses."""

from __future__ import annotations

from typing import TypeAlias

from dwarfgpu.immutable import frozen


class Refused(Exception):
    """GDB refuses a request."""

    def __init__(self, why: str) -> None:
        Exception.__init__(self, why)
        self.why = why


@frozen
class LoadedFile:
    """A file of code in a process, and its address in GDB."""

    name: str
    """A path, a code object URI, or what GDB calls code that is in memory alone."""
    debug: str | None
    """The separate file with its debugging information, if GDB has found one."""
    code: tuple[tuple[int, int], ...]
    """The addresses of its sections with code: the first, and the first past them."""
    section: str
    start: int


WavePlace: TypeAlias = "tuple[tuple[int, int, int], int]"
"""The position of a work-group in the grid, and the number of a wave in it."""
