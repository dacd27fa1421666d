"""The dispatches that GDB shows: ROCgdb's table of them, which another GDB does not have."""

from __future__ import annotations

import re

import gdb

from dwarfgpu.backends.machine import Dispatch

COMMAND = "info dispatches"
_ROW = re.compile(
    r"AMDGPU Dispatch (\d+:\d+:(\d+)).*?\s\[(\d+),(\d+),(\d+)\]\s+\[(\d+),(\d+),(\d+)\]\s+(?:[A-Z]\S*\|\S+\s+)?(.*)$",
    re.MULTILINE,
)
"""``AMDGPU Dispatch 1:1:1 (PKID 0) [256,1,1] [128,1,1] B|Aa|Ra saxpy(int)``: grid, work-group, fence, kernel."""


def known_dispatches() -> dict[str, Dispatch]:
    """Return the table of dispatches, by agent:queue:dispatch."""
    try:
        text = gdb.execute(COMMAND, to_string=True)
    except gdb.error:  # there is no such command
        return {}
    return listed(text)


def listed(text: str) -> dict[str, Dispatch]:
    """Parse the rows of the table."""
    dispatches = {}
    for row in _ROW.finditer(text):
        numbers = [int(row[index]) for index in range(3, 9)]
        grid, group = numbers[:3], numbers[3:]
        dispatches[row[1]] = Dispatch(int(row[2]), row[9].strip() or None, _triple(grid), _triple(group))
    return dispatches


def _triple(numbers: list[int]) -> tuple[int, int, int]:
    x, y, z = numbers
    return x, y, z
