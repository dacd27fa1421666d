"""What Triton writes beside a code object about the launch of its kernel: ``NAME.json`` beside ``NAME.hsaco``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.regular_files import read_input

if TYPE_CHECKING:
    from dwarfgpu.program.code.code_object import CodeObject

MAX_SIZE = 1 << 20
"""Of the file; Triton writes some kilobytes."""
MOST = 1 << 24
"""Larger numbers are no sizes of a work-group."""


@frozen
class TritonLaunch:
    """How Triton launches a kernel."""

    path: str
    local_size: int
    """The bytes of local memory of a work-group, which the metadata of the kernel does not have."""
    work_items: int
    """Of a work-group; 0 if it is not known."""


def triton_launch(file: CodeObject, kernel: str) -> TritonLaunch | None:
    """Return how Triton launches a kernel; None where no file beside the code object is about it."""
    code = file.image.path
    if code is None or not code.endswith(".hsaco"):
        return None
    path = Path(code).with_suffix(".json")
    if not path.is_file():
        return None
    try:
        facts = json.loads(read_input(str(path), MAX_SIZE))
    except (DwarfGpuError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or facts.get("name") != kernel:
        return None
    shared, warps = facts.get("shared"), facts.get("num_warps")
    lanes = facts.get("threads_per_warp", facts.get("warp_size"))
    return TritonLaunch(str(path), _size(shared), _size(warps) * _size(lanes))


def _size(number: object) -> int:
    """Return a number that can be a size; 0 for all else."""
    return number if isinstance(number, int) and number is not True and 0 <= number < MOST else 0
