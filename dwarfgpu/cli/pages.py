"""``dwarfgpu docs``: the pages of the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError, nearest_hint
from dwarfgpu.immutable import frozen
from dwarfgpu.questions.document import OK
from dwarfgpu.render.layout import beside, reflowed, room, wrapped

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE / "share" / "docs", PACKAGE.parent / "docs")
"""Where the pages are: in the package that a wheel installs, or beside the package in a checkout."""
LINK = re.compile(r"\[[^]]+\]\(((?:\w+/)?([\w-]+)\.md)\)")
"""A link of the index to a page."""


@frozen
class Page:
    """A page that the index lists."""

    name: str
    reader: str
    """What a reader does who needs the page: "have a core file"."""
    path: Path

    def json(self) -> dict[str, str]:
        return {"name": self.name, "reader": self.reader, "path": str(self.path)}


def pages() -> dict[str, Page]:
    """Return the pages by name, in the order of the index."""
    folder = next((folder for folder in FOLDERS if folder.is_dir()), None)
    if folder is None:
        raise UsageError("this installation has no pages", kind="no_pages", hint="install dwarfgpu again, with pip")
    lines = (folder / "README.md").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| [")]
    found = [
        Page(name, reader.removesuffix(" |"), folder / path)
        for links, reader in rows
        for path, name in LINK.findall(links)
    ]
    return {page.name: page for page in found}


def docs(session: Session, options: Any) -> int:
    """List the pages, or print one: as it is written, but on a terminal as wide as that."""
    known = pages()
    if options.page is None:
        if session.wants_json:
            session.print_json({"pages": [page.json() for page in known.values()]})
            return OK
        session.print("`dwarfgpu docs PAGE` prints a page. Read it if you")
        start = max(map(len, known)) + 4
        for page in known.values():
            head = f"  {session.style('name', page.name)}{' ' * (start - 2 - len(page.name))}"
            for line in beside(head, wrapped(page.reader, room(start)), start):
                session.print(line)
        return OK
    if options.page not in known:
        hint = nearest_hint(options.page, known, "`dwarfgpu docs` lists the pages")
        raise UsageError(f"no page is called {options.page[:60]!r}", hint=hint)
    page = known[options.page]
    text = page.path.read_text("utf-8")
    if session.wants_json:
        session.print_json({**page.json(), "text": text})
        return OK
    is_code = False
    for line in reflowed(text.splitlines(), session.out.fold):
        is_code ^= line.startswith("```")
        session.print(session.style("name", line) if line.startswith("#") and not is_code else line)
    return OK
