"""The dialects: one module for each encoding in use, which cites the source of its numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dwarfgpu.dialects.dwarf5 import DWARF5
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.expr.dialect import Dialect, Path

NAMES = ("dwarf5", "gnu", "llvm-user", "llvm-legacy", "amdgpu-2020", "dwarf6")

_MADE: dict[str, Dialect] = {"dwarf5": DWARF5}


def get(name: str) -> Dialect:
    """Return the dialect with a name."""
    dialect = _MADE.get(name)
    if dialect is None:
        if name not in NAMES:
            raise UsageError(f"there is no dialect {name!r}", hint=f"the dialects are {', '.join(NAMES)}")
        dialect = _MADE[name] = _make(name)
    return dialect


def _make(name: str) -> Dialect:
    if name == "gnu":
        from dwarfgpu.dialects.dwarf5 import GNU

        return GNU
    if name == "dwarf6":
        from dwarfgpu.dialects.dwarf6 import DWARF6

        return DWARF6
    from dwarfgpu.dialects import llvm

    return {"llvm-user": llvm.LLVM_USER, "llvm-legacy": llvm.LLVM_LEGACY, "amdgpu-2020": llvm.AMDGPU_2020}[name]


def encoding_in(operation: str) -> tuple[str, ...]:
    """Return the dialects that have a number for an operation."""
    return tuple(name for name in NAMES if operation in get(name).by_name)


@lru_cache(1024)
def known_in(path: Path) -> tuple[str, ...]:
    """Return the dialects that know a path, with the operation it encodes there."""
    dialects = []
    for name in NAMES:
        dialect = get(name)
        encoding = dialect.by_path.get(path)
        if encoding is not None:
            dialects.append(f"{name} ({encoding.name})")
        elif path in dialect.prefixes:
            dialects.append(f"{name} (prefix)")
    return tuple(dialects)
