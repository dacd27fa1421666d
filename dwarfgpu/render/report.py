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
from importlib.resources import files
from typing import TYPE_CHECKING

from attrs import Factory, define

from dwarfgpu.audits.verify.findings import LIMITS
from dwarfgpu.immutable import frozen
from dwarfgpu.render import lane_svg, pictures
from dwarfgpu.render.findings import times, who
from dwarfgpu.render.layout import counted, shown
from dwarfgpu.render.verification import severities_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.verify.findings import FileFinding
    from dwarfgpu.audits.verify.reports import FileReport
    from dwarfgpu.execution.control.check_report import NamedFinding
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


@define
class PageSection:
    """One part of a page, with its own share of the room."""

    name: str
    title: str
    noun: str
    """What its parts are."""
    room: int
    count: int | None = None
    """What the link to it counts."""
    parts: list[str] = Factory(list)
    size: int = 0
    left_out: int = 0
    """How many parts did not fit."""
    how_to_see: str = ""
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
    sheet, script = style_sheet(), _resource("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(sheet)}'; script-src '{_digest(script)}'; "
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
    yield f"<script>{script}</script>"
    yield "</body>\n</html>"


def style_sheet() -> str:
    """Return the style sheet of a page, with that of its pictures."""
    light, dark = (
        " ".join(f"--{name}: {colours[number]};" for name, colours in PALETTE.items()) for number in range(2)
    )
    return "\n".join((
        f":root {{ color-scheme: light dark; {light} }}",
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}",
        f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}",
        ":root[data-theme=light] { color-scheme: light; }",
        *map(pictures.page_style, (pictures.style(), pictures.heat_style(), lane_svg.STYLE)),
        _resource("report.css"),
    ))  # fmt: skip


def _resource(name: str) -> str:
    return (files("dwarfgpu.render") / name).read_text("ascii")


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
    """Return findings by rule and how many errors and warnings count; ``command`` lists them all."""
    section = PageSection("findings", "Findings", "rule", room)
    section.how_to_see = f"`{command}` lists all findings."
    by_rule: dict[str, list[FileFinding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.name, []).append(finding)
    severities: Counter[str] = Counter()
    worst = {name: min((each.counted_as for each in found), key=_SEVERITIES.index) for name, found in by_rule.items()}
    for number, name in enumerate(sorted(by_rule, key=lambda name: _SEVERITIES.index(worst[name]))):
        of_rule, severity = by_rule[name], worst[name]
        rule = of_rule[0].rule
        count = len(of_rule) + left_out.get(name, 0)
        counting = sum(each.limit is None for each in of_rule)
        severities[severity] += counting + (count - len(of_rule)) * bool(counting)
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
    section.count = sum(map(len, by_rule.values())) + sum(left_out.get(name, 0) for name in by_rule)
    return section, severities_text(severities) if severities.total() else "none"


_SEVERITIES = "error", "warning", "note", "limit"


def finding_html(finding: FileFinding) -> str:
    """Return a finding."""
    kind = finding.counted_as
    where = " > ".join(finding.path[-3:])
    if finding.source is not None:
        where += f", {finding.source[0]}:{finding.source[1]}"
    if finding.executed is not None:
        return _executed_html(finding, finding.executed)
    repair = "" if finding.idiom is None else f" ({finding.idiom})"
    idiom = "" if finding.limit is None else note(f"not counted: {LIMITS[finding.limit]}{repair}")
    return (
        f'<li><span class="{kind}">{kind}</span> <code>{text(finding.place)}</code> {text(finding.message)}'
        f"{note(f'in {where}') if where else ''}{idiom}{note(f'first: {finding.seen}') if finding.seen else ''}</li>"
    )


def _executed_html(finding: FileFinding, executed: NamedFinding) -> str:
    """Return what waves did: each side with its line of the source, and the waves, lanes and work-items."""
    kind = finding.severity
    parts = [f'<li><span class="{kind}">{kind}</span> {text(finding.message)}', note(times(executed))]
    if executed.reach is not None:
        parts.append(note(executed.reach))
    for side in executed.sides:
        parts.append(note(f"{side.done}; {'; '.join(who(side))}"))
        if side.text is not None:
            parts.append(listing([f"{side.position.line}\t{side.text.strip()}"]))
    return "".join([*parts, "</li>"])


def checked_page(title: str, executed: int, found: FileReport, command: str) -> Iterator[str]:
    """Yield the page about what the checks of a run have found."""
    findings, figure = findings_section(found.findings, {}, MAX_PAGE // 2, command)
    if not found.findings:
        findings.add(note("Nothing is wrong in what the run has executed."))
    known = f"{counted(found.known, 'finding')} of the baseline" if found.known else ""
    tiles = [Tile("Instructions", f"{executed:,}", "executed"), Tile("Findings", figure, known)]
    yield from page(title, tiles, [findings])
