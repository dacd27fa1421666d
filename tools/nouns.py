"""The nouns of docs/architecture.md, and the classes of dwarfgpu that carry each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
GOLDEN = ROOT / "tests/golden/classes-by-noun.txt"
ROW = re.compile(r"^\| ([a-z -]+) \| .* \| `([\w/]+\.py)` \|$", re.MULTILINE)
CLASS = re.compile(r"^ *class _?(\w+)[(:]", re.MULTILINE)


def homes() -> dict[str, str]:
    """Return each noun with the module where it lives."""
    return dict(ROW.findall(PAGE.read_text("utf-8")))


@cache
def classes() -> list[str]:
    """Return the names of all classes."""
    paths = (ROOT / "dwarfgpu").rglob("*.py")
    return sorted({name for path in paths for name in CLASS.findall(path.read_text("utf-8"))})


def carriers(noun: str) -> list[str]:
    """Return the classes that have a noun in their names."""
    own = re.split("[ -]", noun.title())
    return [name for name in classes() if _contains(re.findall("[A-Z][a-z]+|[A-Z]+(?![a-z])", name), own)]


def _contains(words: list[str], part: list[str]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words)))


def listing() -> str:
    """Return the text of the golden file."""
    head = "# Written by `python3 tools/dev.py docs`: the classes that carry each noun of docs/architecture.md.\n"
    return head + "".join(f"{noun}: {' '.join(carriers(noun))}\n" for noun in homes())
