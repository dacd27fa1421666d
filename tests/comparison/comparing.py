"""The comparison of a file with what llvm-dwarfdump prints about it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dwarfgpu.program.codeobject import CodeObject, opened
from tests.comparison.differences import DIFFERENCES
from tests.comparison.library import Library
from tests.comparison.llvm import rows_of
from tests.comparison.rows import Difference, differences
from tools import golden


def against(text: str, file: CodeObject) -> list[Difference]:
    """What differs between a file and a text of llvm-dwarfdump."""
    return differences(rows_of(text, file.target.target), Library(file).rows())


def live(tool: str, path: Path, explained: Collection[str] = (), attributes: str | None = None) -> list[str]:
    """What differs between any file and what the tool prints about it, but for the kinds that are explained."""
    found = against(golden.printed(tool, path.name, path.parent), opened(str(path), attributes))
    kinds = [each for each in DIFFERENCES if each.name in explained]
    assert len(kinds) == len(explained)
    return [str(each) for each in found if not any(kind.matches(each) for kind in kinds)]
