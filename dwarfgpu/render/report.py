"""The page of a report: one file of HTML that needs no network, no library and no rights.

Whatever a file says is text on the page and never markup. The page forbids itself everything but its own style sheet
and its one script (Content-Security-Policy), and its size has a limit: what does not fit is counted where it is
missing. All of it can be read without its script, which filters functions and says what is at a place of a picture.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.render import lane_svg, pictures
from dwarfgpu.render.layout import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.verify.findings import FileFinding
    from dwarfgpu.render.pictures import Strip

MAX_PAGE = 2_800_000
"""How many bytes a page has at most, but for its frame."""
LONGEST_TEXT = 400
"""A longer name or message is cut."""

PALETTE = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "quiet": ("#59636e", "#9198a1"),
    "line": ("#d1d9e0", "#3d444d"),
    "shade": ("#f6f8fa", "#151b23"),
    "border": ("#848d97", "#6e7681"),
    "link": ("#0550ae", "#6cb6ff"),
    "bad": ("#b3261e", "#ff8a80"),
    "warn": ("#7d5200", "#e3b341"),
}
"""The colours of the page on light and on dark paper. `quiet`, `link`, `bad` and `warn` are colours of text."""

_LAYOUT = """\
* { box-sizing: border-box; }
html { scroll-padding-top: 8px; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 1200px; padding: 0 16px 64px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: start; justify-content: space-between;
  padding-top: 24px; }
header p { margin: 0; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.2rem; margin: 40px 0 8px; padding-top: 16px; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 20px 0 4px; }
a { color: var(--link); } p { margin: 4px 0 8px; } .quiet { color: var(--quiet); }
.skip { position: absolute; left: -9999px; } .skip:focus { left: 8px; top: 8px; padding: 8px; z-index: 1;
  background: var(--paper); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 0; margin: 16px 0; list-style: none; }
button, input { font: inherit; color: inherit; background: var(--shade); border: 1px solid var(--border);
  border-radius: 6px; padding: 4px 12px; min-height: 34px; }
button { cursor: pointer; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; margin: 8px 0 12px; }
.tools label { flex: 1 1 240px; max-width: 420px; font-size: 13px; color: var(--quiet); }
.tools input { display: block; width: 100%; color: var(--ink); }
.tools [role=status] { flex: 1 1 100%; margin: 0; font-size: 13px; }
[hidden] { display: none !important; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 8px; margin: 16px 0 0; }
.tiles div { background: var(--shade); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tiles dt { font-size: 13px; color: var(--quiet); }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3; }
.tiles small { display: block; font-size: 13px; font-weight: 400; color: var(--quiet); }
details, .row { border: 1px solid var(--line); border-radius: 8px; margin: 8px 0; padding: 0 14px; }
details[open] { padding-bottom: 10px; }
summary { padding: 7px 0; cursor: pointer; font-weight: 600; }
summary .facts, .row .facts { font-weight: 400; }
.row { padding: 7px 14px 7px 31px; }
.facts { color: var(--quiet); font-size: 13px; display: inline-block; margin-left: 12px; }
.meter { width: 64px; height: 8px; margin: 0 6px 0 2px; vertical-align: baseline; }
.meter .track { fill: var(--shade); stroke: var(--border); stroke-width: 1; vector-effect: non-scaling-stroke; }
.meter .done { fill: var(--link); }
.percent { display: inline-block; min-width: 6ch; text-align: right; font-variant-numeric: tabular-nums; }
@media (min-width: 1000px) {
  #functions > * > summary > .name, .row > .name { display: inline-block; width: calc(100% - 780px); }
  .row > .name { width: calc(100% - 763px); }
  #functions > * > summary > .facts, .row > .facts { width: 235px; margin-left: 6px; vertical-align: top; }
}
.name, pre, code, .source td, .source th[colspan], .strip-label, .mono {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.name, code { font-size: 0.93em; }
pre { margin: 0 0 8px; padding: 10px; background: var(--shade); border-radius: 6px; font-size: 12.5px;
  line-height: 1.45; overflow-x: auto; overflow-wrap: normal; }
.scroll { overflow-x: auto; margin: 8px 0; } .scroll svg { display: block; }
.scroll .heat { min-width: 480px; height: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; font-size: 13px; color: var(--quiet); }
td, th { padding: 4px 12px 4px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
.grid { font-size: 13px; overflow-wrap: normal; } .grid td { font-variant-numeric: tabular-nums; }
.grid .number { text-align: right; white-space: nowrap; }
.grid td:first-child { min-width: 12ch; overflow-wrap: anywhere; }
.source { font-size: 12.5px; line-height: 1.45; table-layout: fixed; }
.source td { white-space: pre-wrap; } .source th[colspan] { color: var(--quiet); padding-top: 10px; font-weight: 400; }
.source .number { width: 7ch; text-align: right; color: var(--quiet); }
.here { font-weight: 700; color: var(--link); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; margin: 8px 0 12px; list-style: none;
  font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 6px; }
.swatch { width: 14px; height: 14px; flex: none; }
.strip-rows { display: grid; grid-auto-flow: dense;
  grid-template-columns: minmax(60px, max-content) minmax(0, 1fr) max-content; gap: 5px 12px;
  align-items: center; font-size: 12.5px; margin: 8px 0 2px; padding: 4px; border-radius: 6px; }
.strip-label { max-width: 30ch; white-space: pre-wrap; }
.strip-rows .strip { grid-column: 2; } .strip-note { grid-column: 3; }
.strip { width: 100%; height: 14px; display: block; } .strip rect { height: 14px; }
.strip-note { text-align: right; font-variant-numeric: tabular-nums; color: var(--quiet); }
.ends { grid-column: 2; display: flex; justify-content: space-between; font-size: 12px; color: var(--quiet); }
.at { stroke: var(--ink) !important; stroke-width: 2.5 !important; vector-effect: non-scaling-stroke; }
.readout { min-height: 1.5em; font-size: 13px; color: var(--quiet); margin: 0 0 8px 4px; }
.findings { margin: 4px 0 8px; padding: 0; list-style: none; }
.findings li { padding: 6px 0; border-top: 1px solid var(--line); }
.findings p { margin: 0; font-size: 13px; }
.error { color: var(--bad); font-weight: 600; } .warning { color: var(--warn); font-weight: 600; }
.note { font-weight: 600; }
footer { margin-top: 48px; padding-top: 12px; border-top: 1px solid var(--line); font-size: 13px; }
@media (max-width: 640px) {
  h1 { font-size: 1.25rem; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); }
  .tiles dd { font-size: 1.1rem; }
  .facts { margin: 0 12px 0 0; }
  summary .facts, .row .facts { display: block; padding-left: 14px; }
  .row { padding-left: 14px; }
  details { padding: 0 10px; }
  .strip-rows { grid-template-columns: minmax(0, 1fr) max-content; gap: 1px 8px; }
  .strip-rows .strip, .ends { grid-column: 1 / -1; } .strip-rows .strip { margin-bottom: 6px; }
  .strip-note { grid-column: 2; }
  .strip-label { max-width: none; }
  .source.beside, .source.beside tbody, .source.beside tr, .source.beside td, .source.beside th { display: block; }
  .source.beside thead { display: none; }
  .source.beside td { border: none; padding: 2px 0; width: auto; text-align: left; }
  .source.beside td.code { padding-left: 14px; } .source.beside tr { border-bottom: 1px solid var(--line); }
  .source.beside td.number { display: inline-block; padding-right: 1ch; }
  .source.beside td.text { display: inline; }
}
"""
_SCRIPT = """\
(function () {
  "use strict";
  var root = document.documentElement;
  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }

  var theme = document.getElementById("theme"), names = ["system", "light", "dark"], chosen = 0;
  theme.hidden = false;
  theme.addEventListener("click", function () {
    chosen = (chosen + 1) % 3;
    if (chosen) { root.setAttribute("data-theme", names[chosen]); } else { root.removeAttribute("data-theme"); }
    theme.textContent = "Colours: " + names[chosen];
  });

  all("[data-opens]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var folds = all("#" + button.getAttribute("data-opens") + " > details:not([hidden])");
      var isOpen = folds.some(function (fold) { return !fold.open; });
      folds.forEach(function (fold) { fold.open = isOpen; });
    });
  });

  var filter = document.getElementById("filter");
  if (filter) {
    var rows = all("#functions > details, #functions > .row"), said = document.getElementById("filtered");
    filter.parentNode.hidden = false;
    filter.addEventListener("input", function () {
      var wanted = filter.value.trim().toLowerCase(), count = 0;
      rows.forEach(function (row) {
        row.hidden = row.querySelector(".name").textContent.toLowerCase().indexOf(wanted) < 0;
        count += row.hidden ? 0 : 1;
      });
      said.textContent = wanted ? count + " of " + rows.length + " functions on this page" : "";
    });
    document.addEventListener("keydown", function (event) {
      var field = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        filter.focus();
      } else if (event.key === "Escape" && event.target === filter) {
        filter.value = "";
        filter.dispatchEvent(new Event("input"));
      }
    });
  }

  all(".pick").forEach(function (picture) {
    var readout = picture.nextElementSibling, now = null;
    function parts() {
      return all("title", picture).map(function (title) { return title.parentNode; }).filter(function (part) {
        return part.tagName.toLowerCase() !== "svg";
      });
    }
    function show(part, marks) {
      if (now) { now.classList.remove("at"); }
      now = part;
      if (marks) { part.classList.add("at"); }
      readout.textContent = part.querySelector("title").textContent;
    }
    function middle(part) { var box = part.getBoundingClientRect(); return [box.left + box.width / 2, box.top]; }
    picture.addEventListener("focus", function () {
      if (!now) { readout.textContent = "The arrow keys go from part to part."; }
    });
    picture.addEventListener("pointerover", function (event) {
      var part = event.target;
      while (part && part !== picture && !(part.firstElementChild && part.firstElementChild.tagName === "title")) {
        part = part.parentNode;
      }
      if (part && part !== picture && part.tagName.toLowerCase() !== "svg") { show(part, false); }
    });
    picture.addEventListener("keydown", function (event) {
      var way = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 2, ArrowUp: -2 }[event.key];
      if (!way) { return; }
      event.preventDefault();
      var known = parts(), index = known.indexOf(now), next = null;
      if (index < 0) {
        next = known[0];
      } else if (way === 1 || way === -1) {
        next = known[index + way];
      } else {
        var here = middle(now), best = null;
        known.forEach(function (part) {
          var place = middle(part), down = (place[1] - here[1]) * (way > 0 ? 1 : -1);
          if (down > 2) {
            var far = down * 1000 + Math.abs(place[0] - here[0]);
            if (best === null || far < best) { best = far; next = part; }
          }
        });
      }
      if (next) {
        show(next, true);
        if (next.scrollIntoView) { next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
      }
    });
  });
})();
"""


class PageSection:
    """One part of a page, with its own share of the room."""

    def __init__(self, name: str, title: str, noun: str, room: int, count: int | None = None) -> None:
        self.name = name
        self.noun = noun
        """What its parts are."""
        self.title = title
        self.room = room
        self.count = count
        """What the link to it counts."""
        self.parts: list[str] = []
        self.size = 0
        self.left_out = 0
        """How many parts did not fit."""
        self.how_to_see = ""
        """The question that shows what is left out."""

    def add(self, part: str) -> bool:
        """Add some HTML if there is room for it; return whether there was."""
        size = len(part.encode("utf-8", "replace")) + 1
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
            how = f" {self.how_to_see}" if self.how_to_see else ""
            yield note(f"Left out, because the page would be too large: {counted(self.left_out, self.noun)}.{how}")
        yield "</section>"


@frozen
class Tile:
    """A figure at the top of a page."""

    name: str
    figure: str
    more: str = ""


KIND = "Debug information report of dwarfgpu"


def page(title: str, tiles: Iterable[Tile], sections: Sequence[PageSection], kind: str = KIND) -> Iterator[str]:
    """Yield a page: a title and what kind of page it is, some figures about all of it, and sections."""
    sheet = style_sheet()
    policy = (
        f"default-src 'none'; style-src '{_digest(sheet)}'; script-src '{_digest(_SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{text(title)}: dwarfgpu report</title>"
    yield f"<style>{sheet}</style>\n</head>"
    yield '<body>\n<a class="skip" href="#content">Skip to the content</a>'
    yield f'<header><div><h1>{text(title)}</h1><p class="quiet">{text(kind)}</p></div>'
    yield '<button id="theme" type="button" hidden>Colours: system</button></header>'
    yield '<nav aria-label="Sections"><ul>'
    for section in sections:
        count = "" if section.count is None else f' <span class="quiet">{section.count}</span>'
        yield f'<li><a href="#{section.name}">{text(section.title)}</a>{count}</li>'
    yield '</ul></nav>\n<main id="content" tabindex="-1">'
    yield '<dl class="tiles">'
    for tile in tiles:
        more = f"<small>{text(tile.more)}</small>" if tile.more else ""
        yield f"<div><dt>{text(tile.name)}</dt><dd>{text(tile.figure)}{more}</dd></div>"
    yield "</dl>"
    for section in sections:
        yield from section.html()
    yield "</main>"
    yield f"<script>{_SCRIPT}</script>"
    yield "</body>\n</html>"


def style_sheet() -> str:
    """Return the style sheet of a page, with that of its pictures."""
    light, dark = (
        " ".join(f"--{name}: {colours[number]};" for name, colours in PALETTE.items()) for number in range(2)
    )
    return "\n".join(
        (
            f":root {{ color-scheme: light dark; {light} }}",
            f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}",
            f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}",
            ":root[data-theme=light] { color-scheme: light; }",
            *map(pictures.page_style, (pictures.style(), pictures.heat_style(), lane_svg.STYLE)),
            _LAYOUT,
        )
    )


def _digest(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


# --- Parts ------------------------------------------------------------------------------------------------------------


def text(content: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text of a file as HTML: nothing in it is markup, and nothing in it controls the direction of writing."""
    whole = shown(content)
    return escape(whole if len(whole) <= longest else f"{whole[: longest - 1]}…")


def note(content: str) -> str:
    """Return a remark, in which commands between backticks are code."""
    words = _COMMAND.sub(r"<code>\1</code>", text(content))
    return f'<p class="quiet">{words}</p>'


def items(contents: Iterable[str]) -> str:
    """Return remarks as a list."""
    return f'<ul class="findings">{"".join(f"<li>{text(content)}</li>" for content in contents)}</ul>'


_COMMAND = re.compile("`((?:dwarfgpu|disassemble) [^`]+)`")
"""A name of a file may hold a backtick too."""


def listing(lines: Iterable[str]) -> str:
    """Return lines of text as they are."""
    return f'<pre tabindex="0">{chr(10).join(text(line) for line in lines)}</pre>'


def fold(
    summary: str, parts: Iterable[str], *, facts: Iterable[str] = (), is_name: bool = False, is_open: bool = False
) -> str:
    """Return what is shown when its summary, which may be a name of the file, is opened; facts are HTML."""
    kind = ' class="name"' if is_name else ""
    head = f"<summary><span{kind}>{text(summary)}</span>{_facts(facts)}</summary>"
    return f"<details{' open' if is_open else ''}>{head}{''.join(parts)}</details>"


def row(name: str, facts: Iterable[str]) -> str:
    """Return what has no more to show, but is listed beside what has."""
    return f'<div class="row"><span class="name">{text(name)}</span>{_facts(facts)}</div>'


def _facts(facts: Iterable[str]) -> str:
    return "".join(f' <span class="facts">{fact}</span>' for fact in facts)


def share(part: float | None, percent: str, words: str, *, is_drawn: bool) -> str:
    """Return a share, which may be drawn as a bar, with its number and what it is of."""
    if part is None:
        return text(words)
    if not is_drawn:
        return text(f"{percent} {words}")
    return (
        '<svg class="meter" viewBox="0 0 64 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="64" height="8"/><rect class="done" width="{64 * part:.1f}" height="8"/></svg>'
        f'<span class="percent">{text(percent)}</span> {text(words)}'
    )


def tools(section: str, *, has_filter: bool = False) -> str:
    """Return what filters and opens the parts of a section, where scripts run."""
    field = ""
    if has_filter:
        field = (
            '<label hidden>Filter functions by name (key /)<input id="filter" type="search" autocomplete="off" '
            'spellcheck="false"></label>'
        )
    said = '<p id="filtered" class="quiet" role="status"></p>' if has_filter else ""
    return (
        f'<div class="tools">{field}<button type="button" data-opens="{section}" hidden>Open or close all</button>'
        f"{said}</div>"
    )


def picture(lines: Iterable[str], label: str) -> str:
    """Return a picture that can be moved sideways where it is wider than the screen."""
    return _picked("scroll", "".join(lines), label)


def _picked(kind: str, content: str, label: str) -> str:
    """Return a picture of which a line says what is at the place that a reader points at."""
    return (
        f'<div class="{kind} pick" tabindex="0" role="group" aria-label="{text(label)}">{content}</div>'
        '<p class="readout" aria-live="polite"></p>'
    )


def strip_rows(strips: Iterable[Strip], ends: tuple[str, str], label: str) -> str:
    """Return strips with their labels and notes, over addresses of which the first and the last are shown."""
    rows = [
        f'<span class="strip-label">{text(strip.label)}</span><span class="strip-note">{text(strip.note)}</span>'
        f"{pictures.strip_bar(strip)}"
        for strip in strips
    ]
    rows.append(f'<span class="ends mono"><span>{text(ends[0])}</span><span>{text(ends[1])}</span></span>')
    return _picked("strip-rows", "".join(rows), label)


def legend(kinds: Iterable[str]) -> str:
    """Return what the colours of strips mean."""
    rows = (f"<li>{pictures.swatch(kind)}{text(pictures.kind_words(kind))}</li>" for kind in kinds)
    return f'<ul class="legend" aria-label="Colours">{"".join(rows)}</ul>'


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int) -> str:
    """Return a table of which the columns from one on are numbers."""
    kinds = [' class="number"' if index >= numbers_from else "" for index in range(len(columns))]
    head = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for name, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{text(cell)}</td>' for cell, kind in zip(cells, kinds, strict=True))}</tr>"
        for cells in rows
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="table"><table class="grid">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


@frozen
class SourceBlock:
    """A line of the source, and what belongs to it."""

    file: str
    line: int | None
    text: str
    """The line; empty where the file was not found."""
    lines: tuple[str, ...]
    """What belongs to it, as HTML."""


def source_table(blocks: Iterable[SourceBlock], right: str) -> str:
    """Return lines of the source beside what belongs to them, with the name of a file where it changes."""
    blocks = tuple(blocks)
    has_text = any(block.text for block in blocks)
    columns = ["line", "source", right] if has_text else ["line", right]
    kinds = [' class="number"', *[""] * (len(columns) - 1)]
    rows = [
        '<table class="source beside"><colgroup>',
        *(f"<col{kind}>" for kind in kinds),
        "</colgroup><thead><tr>",
        *(f'<th scope="col"{kind}>{text(name)}</th>' for name, kind in zip(columns, kinds, strict=True)),
        "</tr></thead><tbody>",
    ]
    file = None
    for block in blocks:
        if block.file != file:
            file = block.file
            rows.append(f'<tr><th colspan="{len(columns)}">{text(file or "no source line")}</th></tr>')
        line = "" if block.line is None else str(block.line)
        source = f'<td class="text">{text(block.text)}</td>' if has_text else ""
        code = chr(10).join(block.lines)
        rows.append(f'<tr><td class="number">{line}</td>{source}<td class="code">{code}</td></tr>')
    return "".join(rows) + "</tbody></table>"


MAX_RULES, MAX_OF_RULE = 200, 20
"""How many rules have findings on the page, and how many findings of each are listed."""


def findings_section(
    findings: Iterable[FileFinding], left_out: Mapping[str, int], room: int, command: str
) -> tuple[PageSection, str]:
    """Return findings, those of each rule together, and how many errors and warnings they are.

    ``command`` is the one that lists them all.
    """
    section = PageSection("findings", "Findings", "rule", room)
    section.how_to_see = f"`{command}` lists all findings."
    by_rule: dict[str, list[FileFinding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.name, []).append(finding)
    severities: Counter[str] = Counter()
    ordered = sorted(by_rule.items(), key=lambda item: _SEVERITIES.index(item[1][0].severity))
    for number, (name, of_rule) in enumerate(ordered):
        rule, severity = of_rule[0].rule, of_rule[0].severity
        count = len(of_rule) + left_out.get(name, 0)
        severities[severity] += count
        if number >= MAX_RULES:
            section.left_out += 1
            continue
        advice = f"{rule.advice[:1].upper()}{rule.advice[1:]}."
        parts = [note(f"{rule.summary} ({rule.clause})"), note(advice), '<ul class="findings">']
        parts += map(finding_html, of_rule[:MAX_OF_RULE])
        parts.append("</ul>")
        if count > MAX_OF_RULE:
            parts.append(note(f"and {count - MAX_OF_RULE} more: `{command}` lists them."))
        section.add(
            fold(name, parts, facts=[f'<span class="{severity}">{counted(count, severity)}</span>'], is_name=True)
        )
    section.count = sum(severities.values())
    figure = f"{counted(severities['error'], 'error')}, {counted(severities['warning'], 'warning')}"
    if severities["note"]:
        figure += f", {counted(severities['note'], 'note')}"
    return section, figure if by_rule else "none"


_SEVERITIES = "error", "warning", "note"


def finding_html(finding: FileFinding) -> str:
    """Return a finding."""
    kind = finding.severity
    where = " > ".join(finding.path[-3:])
    if finding.source is not None:
        where += f", {finding.source[0]}:{finding.source[1]}"
    idiom = "" if finding.idiom is None else note(f"an idiom of the producer: {finding.idiom}")
    return (
        f'<li><span class="{kind}">{kind}</span> <code>{text(finding.place)}</code> {text(finding.message)}'
        f"{note(f'in {where}') if where else ''}{idiom}{note(f'first: {finding.seen}') if finding.seen else ''}</li>"
    )
