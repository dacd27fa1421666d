"""GPU core files as text and JSON."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.backtrace import standing_text
from dwarfgpu.render.layout import WIDTH, Style, counted, fitted, labelled, plain, plain_style, shown
from dwarfgpu.render.records import Record, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.states.core_conversion import ConversionSummary
    from dwarfgpu.states.core_summary import CoreSummary

MAX_ROWS = 12
"""The rows of one part that are shown."""


def core_text(summary: CoreSummary, width: int = WIDTH, style: Style = plain_style) -> Iterator[str]:
    """Yield what is in GPU core files."""
    for name in summary.names:
        note = " (found beside it)" if name == summary.companion else ""
        yield style("kind", shown(name)) + note
    version = "not known" if summary.r_version is None else str(summary.r_version)
    kind = "host and GPU" if summary.has_host else "GPU alone"
    major, minor = summary.ioctl
    yield from labelled("memory", f"{kind}, {summary.bytes_:,} bytes in {counted(summary.ranges, 'range')}", style)
    yield from labelled("runtime", f"r_version {version}, kernel interface {major}.{minor}", style)
    for name, (title, record) in TABLES.items():
        rows = [SimpleNamespace(**row, loaded=summary.loaded) for row in summary.parts[name]]
        if rows:
            yield style("name", title)
            yield from record.lines(rows[:MAX_ROWS], width=width, style=style)
            if len(rows) > MAX_ROWS:
                yield f"  ... and {len(rows) - MAX_ROWS} more (--json has all)"
    if not summary.parts["waves"]:
        yield from labelled("waves", "none can be read", style)
    if summary.problems:
        yield style("name", "What is missing or wrong")
        for problem in summary.problems:
            yield from (style("error", line) for line in fitted(f"  {problem}", width, 4))
            if problem.hint:
                yield from (style("hint", line) for line in fitted(f"    hint: {problem.hint}", width, 6))


def _found(row: Any) -> str:
    return f"{row.where}{', no DWARF' if row.has_dwarf is False else ''}"


TABLES = {
    "agents": ("Agents", Record("number:Id processor:Processor engines:Engines xccs:XCCs waves:Waves")),
    "queues": (
        "Queues", Record("number:Id agent:Agent kind:Type packets:Packets read:Read write:Write waves:Waves")
    ),
    "dispatches": (
        "Dispatches",
        Record(
            fact("", "Packet", lambda row: row.packet if row.number is None else row.number),
            "waves:Waves text:Dispatch",
        ),
    ),
    "waves": (
        "Waves",
        Record(
            "count:Count target:Target first:First stop:Stop signal:Signal",
            fact("", "Frame", lambda row: standing_text(row.loaded, row.pc, short=True)),
        ),
    ),
    "code_objects": ("Code objects", Record("address#:Address", fact("", "Found", _found), "uri:URI")),
    "threads": ("Threads of the host", Record("pid:Pid signal?:Signal rip#:Rip")),
}  # fmt: skip
"""The title of each part, and its columns."""


def core_json(summary: CoreSummary) -> dict[str, Any]:
    """Return what is in GPU core files as plain values."""
    parts = plain(summary.parts)
    for row in parts["waves"]:
        row["frame"] = standing_text(summary.loaded, row["pc"])
    return {**SUMMARY.json(summary), **parts, "problems": [*map(PROBLEM.json, summary.problems)]}


SUMMARY = Record("files=names companion has_host r_version kernel_interface=ioctl bytes=bytes_ ranges")
PROBLEM = Record("kind message hint")


def conversion_text(summary: ConversionSummary, style: Style = plain_style) -> Iterator[str]:
    """Yield what a small snapshot has, and what was left out."""
    yield style("kind", shown(summary.written))
    yield from labelled("waves", f"{summary.waves} of {summary.all_waves}", style)
    yield from labelled("memory", f"{summary.bytes_:,} bytes", style)
    if summary.dispatches:
        yield from labelled("dispatches", "; ".join(summary.dispatches), style)
    yield from labelled("code objects", ", ".join(summary.code_objects) or "none", style)
    yield from labelled("left out", "; ".join(summary.left_out) or "nothing", style)


def conversion_json(summary: ConversionSummary) -> dict[str, Any]:
    """Return what a small snapshot has as plain values."""
    data: dict[str, Any] = plain(summary)
    data["bytes"] = data.pop("bytes_")
    return data
