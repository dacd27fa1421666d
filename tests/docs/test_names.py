"""Files, packages and links that the documentation names are there."""

import re
from pathlib import Path

import pytest

from tests.builders.folders import ROOT

PAGES = [ROOT / ".ci" / "run", ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(?:console|python|json|c|sh)\n.*?^```$", re.MULTILINE | re.DOTALL)
FENCED_ANY = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"(?<![\w./*<-])((?:\w+/)+(?:\w+\.py)?)(?![\w*<])")
LINK = re.compile(r"\]\(([^)#: ]*)(?:#([^)]*))?\)")


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as code hosts make them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_modules_and_packages_are_there(page):
    names = {name for quoted in re.findall(r"`[^`\n]+`|tests/\S+[.]py", prose(page)) for name in MODULE.findall(quoted)}
    assert not [name for name in names if not any((base / name).exists() for base in (ROOT, ROOT / "dwarfgpu"))]
    for target, anchor in LINK.findall(prose(page)):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), f"{target}#{anchor}"


def test_the_documentation_can_be_read():
    """At most 20 pages and their index, 3,300 lines of prose, 220 KB with pictures, and paragraphs of five lines."""
    pages = [path for path in PAGES if path.parent == ROOT / "docs" and path.name != "README.md"]
    assert len(pages) <= 20
    assert sum(prose(page).count("\n") for page in pages) <= 3300
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file() and "examples" not in path.parts]
    assert sum(path.stat().st_size for path in files) <= 220_000
    for page in PAGES[1:]:
        for part in re.split(r"\n\s*\n|^(?=[-*|#`!]|\d+\. )", FENCED_ANY.sub("", page.read_text()), flags=re.MULTILINE):
            assert part.strip().count("\n") < 5 or part.startswith(("    ", "|")), f"{page.name}: {part}"
