"""Names of core files: ``core@gfx90a`` is what a core file says of one processor, ``core@host`` that of the host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HOST = "host"
"""``core@host`` is about the threads of the host."""


def without_part(path: str) -> str:
    """Return the name of a core file without ``@gfx90a`` behind it."""
    name, at, _part = path.rpartition("@")
    return name if at and not os.path.exists(path) else path  # noqa: PTH110


def part_of(paths: Sequence[str]) -> str | None:
    """Return what follows the ``@`` in the name of a core file: the processor whose waves are meant, or ``host``."""
    parts = [path[len(name) + 1 :] for path in paths if (name := without_part(path)) != path]
    return parts[0] if parts else None


def is_about_host(paths: Sequence[str]) -> bool:
    """Return whether core files are asked about the threads of the host."""
    return part_of(paths) == HOST
