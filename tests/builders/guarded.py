"""Machines whose buffers lie between pages without access, so that compiled code cannot leave them unseen.

    python -m tests.builders.guarded start|end SEED COUNT

runs so many damaged kernels compiled, and compares them with the interpreter; an access beyond a buffer is a SIGSEGV.
``start`` and ``end`` say where the page begins that a buffer touches. ``beyond`` as a seed reads behind a buffer.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dwarfgpu.execution.forms import wave_states
from dwarfgpu.machines.columns import Cells

PAGE = mmap.PAGESIZE
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def guarded(size: int, *, at_end: bool) -> Any:
    """Return zeros of which the page before and the page behind cannot be accessed."""
    room = -(-max(size, 1) // PAGE) * PAGE
    whole = mmap.mmap(-1, room + 2 * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(whole))
    for page in (start, start + PAGE + room):
        if _LIBRARY.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(whole, np.uint8, size, PAGE + (room - size if at_end else 0))


class GuardedNumpy:
    """Numpy, with new arrays between such pages."""

    def __init__(self, *, at_end: bool) -> None:
        self.at_end = at_end

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any, kind: Any) -> Any:
        """Return an array of zeros."""
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        return guarded(size, at_end=self.at_end).view(kind).reshape(shape)

    empty = zeros


def guard(*, at_end: bool) -> None:
    """Let all memory of machines, and what compiled code gets, be between such pages from now on."""
    plain = Cells.of_bytes

    def of_bytes(data: Any) -> Cells:
        content = np.frombuffer(plain(data).buffer, np.uint8)
        copy = guarded(content.size, at_end=at_end)
        copy[:] = content
        return plain(copy)

    Cells.of_bytes = staticmethod(of_bytes)  # type: ignore[method-assign, assignment]
    wave_states.np = GuardedNumpy(at_end=at_end)  # type: ignore[assignment]


def main(where: str, seed: str, count: int) -> int:
    """Run damaged kernels; return 1 if one does not do what the interpreter does."""
    if seed == "beyond":
        ctypes.string_at(guarded(8, at_end=where == "end").ctypes.data + (8 if where == "end" else -1), 1)
        return 0
    sys.path.insert(0, "tools")
    from fuzz import frame, running

    guard(at_end=where == "end")
    names = [f"{seed}/{number}" for number in range(count)]
    found = list(frame.results(running.DRIVE, frame.Setting(Path(), jit="on"), names))
    print(dict(Counter(each.end for each in found)))
    return 1 if any(each.failure for each in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
