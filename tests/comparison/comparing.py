from collections.abc import Collection
from pathlib import Path

from dwarfgpu.program.code.code_object import CodeObject, opened
from tests.comparison import library, llvm
from tests.comparison.differences import DIFFERENCES
from tests.comparison.rows import Difference, differences
from tools import golden


def against(text: str, file: CodeObject, attributes: str | None = None) -> list[Difference]:
    """What differs between a text of llvm-dwarfdump and what dwarfgpu reads in a file."""
    return differences(llvm.rows_of(text, file.target.target), library.rows_of(file, attributes))


def live(tool: str, path: Path, explained: Collection[str] = ()) -> list[str]:
    """What differs between any file and what the tool prints about it, but for the kinds that are explained."""
    found = against(golden.printed(tool, path.name, path.parent), opened(str(path)))
    kinds = [each for each in DIFFERENCES if each.name in explained]
    assert len(kinds) == len(explained)
    return [str(each) for each in found if not any(kind.matches(each) for kind in kinds)]
