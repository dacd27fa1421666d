"""Files, packages and links that the documentation names are there."""

import re
from pathlib import Path

import pytest

from tests.builders.folders import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(?:console|python|json|c|sh)\n.*?^```$", re.MULTILINE | re.DOTALL)
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
    names = {name for quoted in re.findall(r"`([^`\n]+)`", prose(page)) for name in MODULE.findall(quoted)}
    assert not [name for name in names if not any((base / name).exists() for base in (ROOT, ROOT / "dwarfgpu"))]
    for target, anchor in LINK.findall(prose(page)):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), f"{target}#{anchor}"
