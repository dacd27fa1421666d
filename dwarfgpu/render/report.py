"""The page of a report: one file of HTML that needs no network, no library and no rights.

Whatever a file says is text on the page and never markup. The page forbids itself everything but its own style sheet
and its one script (Content-Security-Policy), and its size has a limit: what does not fit is counted where it is
missing.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.render import lane_svg, pictures
from dwarfgpu.render.layout import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.verification.findings import FileFinding

MAX_PAGE = 2_800_000
"""How many bytes a page has at most, but for its frame."""
LONGEST_TEXT = 400
"""A longer name or message is cut."""

STYLE = """\
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0;
  --shade: #f6f8fa; --link: #0969da; --bad: #b3261e; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --paper: #0d1117; --ink: #e6edf3;
  --quiet: #9198a1; --line: #3d444d; --shade: #151b23; --link: #58a6ff; --bad: #ff8a80; --warn: #e3b341; } }
:root[data-theme=dark] { color-scheme: dark; --paper: #0d1117; --ink: #e6edf3; --quiet: #9198a1; --line: #3d444d;
  --shade: #151b23; --link: #58a6ff; --bad: #ff8a80; --warn: #e3b341; }
:root[data-theme=light] { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1200px; padding: 0 16px 48px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: baseline; justify-content: space-between; }
h1 { font-size: 1.5rem; margin: 16px 0 4px; } h2 { font-size: 1.25rem; margin: 32px 0 8px; }
h3 { font-size: 1rem; margin: 16px 0 4px; }
a { color: var(--link); } p { margin: 4px 0 8px; } .quiet { color: var(--quiet); }
.skip { position: absolute; left: -9999px; } .skip:focus { left: 8px; top: 8px; padding: 8px;
  background: var(--paper); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; list-style: none; }
button { font: inherit; color: inherit; background: var(--shade); border: 1px solid var(--line); border-radius: 6px;
  padding: 4px 12px; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 8px 0; padding: 0 12px; }
summary { padding: 8px 0; cursor: pointer; }
pre, code, td.code, table.source { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: 0 0 8px; padding: 8px; background: var(--shade); font-size: 13px; line-height: 1.4; overflow-x: auto;
  overflow-wrap: normal; }
.scroll { overflow-x: auto; margin: 8px 0; } .scroll svg { display: block; }
.scroll .strips { width: 100%; min-width: 720px; max-width: 960px; height: auto; }
.scroll .heat { width: auto; max-width: none; height: auto; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; }
td, th { padding: 3px 8px 3px 0; vertical-align: top; border-top: 1px solid var(--line); }
table.source { font-size: 13px; table-layout: fixed; } table.source td { white-space: pre-wrap; }
.error { color: var(--bad); font-weight: 600; } .warning { color: var(--warn); font-weight: 600; }
.heat { min-width: 480px; }
@media (max-width: 640px) { table.source, table.source tbody, table.source tr, table.source td { display: block; }
  table.source td { border: none; } table.source td + td { padding-left: 16px; }
  table.source tr { border-top: 1px solid var(--line); } }
"""
SCRIPT = """\
(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var names = ["system", "light", "dark"], now = 0;
  button.hidden = false;
  button.addEventListener("click", function () {
    now = (now + 1) % 3;
    if (now) { root.setAttribute("data-theme", names[now]); } else { root.removeAttribute("data-theme"); }
    button.textContent = "Colours: " + names[now];
  });
})();
"""


class Section:
    """One part of a page, with its own share of the room."""

    def __init__(self, name: str, title: str, room: int) -> None:
        self.name = name
        self.title = title
        self.room = room
        self.parts: list[str] = []
        self.size = 0
        self.left_out = 0
        """How many parts did not fit."""

    def add(self, part: str) -> bool:
        """Add some HTML if there is room for it; return whether there was."""
        size = len(part.encode("utf-8", "replace"))
        if self.size + size > self.room:
            self.left_out += 1
            return False
        self.parts.append(part)
        self.size += size
        return True

    def html(self) -> Iterator[str]:
        """Yield the section."""
        yield f'<section id="{self.name}" aria-labelledby="{self.name}-title">'
        yield f'<h2 id="{self.name}-title">{text(self.title)}</h2>'
        yield from self.parts
        if self.left_out:
            yield note(f"{counted(self.left_out, 'part')} of this section left out: the page would be too large.")
        yield "</section>"


def page(title: str, lead: Iterable[str], sections: Sequence[Section]) -> Iterator[str]:
    """Yield a page: a title, some lines about all of it, and sections."""
    sheet = "\n".join([STYLE, *map(pictures.page_style, (pictures.style(), pictures.heat_style(), lane_svg.STYLE))])
    policy = (
        f"default-src 'none'; style-src '{_digest(sheet)}'; script-src '{_digest(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{text(title)}</title>"
    yield f"<style>{sheet}</style>\n</head>"
    yield '<body>\n<a class="skip" href="#content">Skip to the content</a>'
    yield f'<header><h1>{text(title)}</h1><button id="theme" type="button" hidden>Colours: system</button></header>'
    yield '<nav aria-label="Sections"><ul>'
    yield from (f'<li><a href="#{section.name}">{text(section.title)}</a></li>' for section in sections)
    yield '</ul></nav>\n<main id="content" tabindex="-1">'
    yield from (f"<p>{text(line)}</p>" for line in lead)
    for section in sections:
        yield from section.html()
    yield "</main>"
    yield f"<script>{SCRIPT}</script>"
    yield "</body>\n</html>"


def _digest(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


# --- Parts ------------------------------------------------------------------------------------------------------------


def text(content: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text of a file as HTML: nothing in it is markup, and nothing in it controls the direction of writing."""
    whole = shown(content)
    return escape(whole if len(whole) <= longest else f"{whole[: longest - 1]}…")


def note(content: str) -> str:
    """Return a remark."""
    return f'<p class="quiet">{text(content)}</p>'


def listing(lines: Iterable[str]) -> str:
    """Return lines of text as they are."""
    return f'<pre tabindex="0">{chr(10).join(text(line) for line in lines)}</pre>'


def fold(summary: str, parts: Iterable[str], *, is_open: bool = False) -> str:
    """Return what is shown when its summary is opened."""
    return f"<details{' open' if is_open else ''}><summary>{text(summary)}</summary>{''.join(parts)}</details>"


def picture(lines: Iterable[str], label: str) -> str:
    """Return a picture that can be moved sideways where it is wider than the screen."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{text(label)}">{"".join(lines)}</div>'


@frozen
class SourceBlock:
    """A line of the source, and what belongs to it."""

    source: str
    """``k.c:17  the line``."""
    lines: tuple[str, ...]


def source_table(blocks: Iterable[SourceBlock], right: str) -> str:
    """Return lines of the source beside what belongs to them."""
    rows = [f"<table class='source'><thead><tr><th>source</th><th>{text(right)}</th></tr></thead><tbody>"]
    for block in blocks:
        code = "\n".join(text(line) for line in block.lines)
        rows.append(f"<tr><td>{text(block.source)}</td><td>{code}</td></tr>")
    return "".join(rows) + "</tbody></table>"


def finding_html(finding: FileFinding) -> str:
    """Return a finding."""
    kind = "error" if finding.severity == "error" else "warning"
    where = " > ".join(finding.path[-3:])
    if finding.source is not None:
        where += f", {finding.source[0]}:{finding.source[1]}"
    idiom = "" if finding.idiom is None else note(f"an idiom of the producer: {finding.idiom}")
    return (
        f'<li><span class="{kind}">{kind}</span> <code>{text(finding.place)}</code> {text(finding.message)}'
        f"{note(f'in {where}') if where else ''}{idiom}</li>"
    )
