"""The page of a report: one file of HTML that needs no network, no library and no rights.

Whatever a file says is text on the page and never markup. The page forbids itself everything but its own style sheet
and its one script (Content-Security-Policy), and its size has a limit: what does not fit is counted where it is
missing. All of it can be read without its script, which filters functions and says what is at a place of a picture.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from functools import cache
from hashlib import sha256
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.verify.findings import LIMITS
from dwarfgpu.immutable import define, field, frozen
from dwarfgpu.render import pictures, wave_map
from dwarfgpu.render.findings import times, who
from dwarfgpu.render.layout import counted, shown
from dwarfgpu.render.verification import severities_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.verify.findings import FileFinding
    from dwarfgpu.audits.verify.reports import FileReport
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
    parts: list[str] = field(factory=list)
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

    def missing(self) -> str:
        """Return what is left out, and how to see it."""
        how = f" {self.how_to_see}" if self.how_to_see else ""
        return f"Left out, because the page would be too large: {counted(self.left_out, self.noun)}.{how}"


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
    yield macros().page(policy, title, sheet, script, kind, tiles, sections)


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
        *map(pictures.page_style, (pictures.style(), pictures.heat_style(), wave_map.STYLE)),
        _resource("report.css"),
    ))  # fmt: skip


def _resource(name: str) -> str:
    return Path(__file__).with_name(name).read_text("ascii")


def _digest(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


# --- Parts ------------------------------------------------------------------------------------------------------------


@cache
def macros() -> Any:
    """Return the template, whose macros are the parts of pages; what is not HTML already is text in them."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(lambda name: "".join(map(str.strip, _resource(name).splitlines()))),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else _cut(str(value)),
    )
    environment.globals["newline"] = Markup("\n")
    environment.filters["bar"] = pictures.strip_bar
    environment.filters["with_commands"] = lambda content: _COMMAND.sub(r"<code>\1</code>", text(content))
    return environment.get_template("report.html").module


def _cut(content: str) -> str:
    whole = shown(content)
    return whole if len(whole) <= LONGEST_TEXT else f"{whole[: LONGEST_TEXT - 1]}…"


def text(content: str) -> str:
    """Return a text of a file as HTML: nothing in it is markup, and nothing in it controls the direction of writing."""
    return escape(_cut(content))


def note(content: str) -> str:
    """Return a remark, in which commands between backticks are code."""
    return str(macros().note(content))


def items(contents: Iterable[str]) -> str:
    """Return remarks as a list."""
    return str(macros().items(contents))


_COMMAND = re.compile("`((?:dwarfgpu|disassemble) [^`]+)`")
"""A name of a file may hold a backtick too."""


def listing(lines: Iterable[str]) -> str:
    """Return lines of text as they are."""
    return str(macros().listing(lines))


def fold(
    summary: str, parts: Iterable[str], *, facts: Iterable[str] = (), is_name: bool = False, is_open: bool = False
) -> str:
    """Return what is shown when its summary, which may be a name of the file, is opened; facts are HTML."""
    return str(macros().fold(summary, parts, facts, is_name, is_open))


def row(name: str, facts: Iterable[str]) -> str:
    """Return what has no more to show, but is listed beside what has."""
    return str(macros().row(name, facts))


def share(part: float | None, percent: str, words: str, *, is_drawn: bool) -> str:
    """Return a share, which may be drawn as a bar, with its number and what it is of."""
    if part is None:
        return text(words)
    return str(macros().meter(part, percent, words)) if is_drawn else text(f"{percent} {words}")


def tools(section: str, *, has_filter: bool = False) -> str:
    """Return what filters and opens the parts of a section, where scripts run."""
    return str(macros().tools(section, has_filter))


def picture(lines: Iterable[str], label: str) -> str:
    """Return a picture that can be moved sideways where it is wider than the screen."""
    return str(macros().picture("scroll", "".join(lines), label))


def strip_rows(strips: Iterable[Strip], ends: tuple[str, str], label: str) -> str:
    """Return strips with their labels and notes, over addresses of which the first and the last are shown."""
    return str(macros().picture("strip-rows", macros().strips(strips, ends), label))


def legend(kinds: Iterable[str]) -> str:
    """Return what the colours of strips mean."""
    return str(macros().legend((pictures.swatch(kind), pictures.kind_words(kind)) for kind in kinds))


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int) -> str:
    """Return a table of which the columns from one on are numbers."""
    return str(macros().grid(columns, rows, numbers_from))


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
    columns = ["line", "source", right] if any(block.text for block in blocks) else ["line", right]
    return str(macros().source_table(columns, groupby(blocks, lambda block: block.file)))


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
    """Return a finding; of one that waves made, each side with its line of the source, and the waves and lanes."""
    executed = finding.executed
    if executed is not None:
        notes = [times(executed), *(() if executed.reach is None else (executed.reach,))]
        sides = (
            (f"{side.done}; {'; '.join(who(side))}",
             None if side.text is None else f"{side.position.line}\t{side.text.strip()}")
            for side in executed.sides
        )  # fmt: skip
        return str(macros().executed(finding, notes, sides))
    where = " > ".join(finding.path[-3:])
    if finding.source is not None:
        where += f", {finding.source[0]}:{finding.source[1]}"
    repair = "" if finding.idiom is None else f" ({finding.idiom})"
    limit = "" if finding.limit is None else f"{LIMITS[finding.limit]}{repair}"
    return str(macros().finding(finding, where, limit))


def checked_page(title: str, executed: int, found: FileReport, command: str) -> Iterator[str]:
    """Yield the page about what the checks of a run have found."""
    findings, figure = findings_section(found.findings, {}, MAX_PAGE // 2, command)
    if not found.findings:
        findings.add(note("Nothing is wrong in what the run has executed."))
    known = f"{counted(found.known, 'finding')} of the baseline" if found.known else ""
    tiles = [Tile("Instructions", f"{executed:,}", "executed"), Tile("Findings", figure, known)]
    yield from page(title, tiles, [findings])
