"""GPU core files as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.backtrace import standing_text
from dwarfgpu.render.layout import WIDTH, counted, fitted, labelled, plain, plain_style, shown, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.program.code.loaded import Loaded
    from dwarfgpu.render.layout import Style
    from dwarfgpu.states.core_conversion import ConversionSummary
    from dwarfgpu.states.core_summary import CoreSummary

    Row = dict[str, Any]

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
    for name, (title, _columns) in TABLES.items():
        body = list(_rows(summary, name))
        if len(body) > 1:
            yield style("name", title)
            more = len(body) - 1 - MAX_ROWS
            yield from table(body[: MAX_ROWS + 1], "l" * len(body[0]), width=width, style=style)
            if more > 0:
                yield f"  ... and {more} more (--json has all)"
    if not summary.parts["waves"]:
        yield from labelled("waves", "none can be read", style)
    if summary.problems:
        yield style("name", "What is missing or wrong")
        for problem in summary.problems:
            yield from (style("error", line) for line in fitted(f"  {problem}", width, 4))
            if problem.hint:
                yield from (style("hint", line) for line in fitted(f"    hint: {problem.hint}", width, 6))


def _hex(key: str) -> Callable[[Row, Loaded], str]:
    return lambda row, _loaded: "" if row[key] is None else f"{row[key]:#x}"


def _first_of(*keys: str) -> Callable[[Row, Loaded], Any]:
    return lambda row, _loaded: next((row[key] for key in keys if row[key] is not None), None)


def _found(row: Row, _loaded: Loaded) -> str:
    return f"{row['where']}{', no DWARF' if row['has_dwarf'] is False else ''}"


TABLES: dict[str, tuple[str, dict[str, str | Callable[[Row, Loaded], Any]]]] = {
    "agents": (
        "Agents",
        {"Id": "number", "Processor": "processor", "Engines": "engines", "XCCs": "xccs", "Waves": "waves"},
    ),
    "queues": (
        "Queues",
        {"Id": "number", "Agent": "agent", "Type": "kind", "Packets": "packets", "Read": "read", "Write": "write",
         "Waves": "waves"},
    ),
    "dispatches": ("Dispatches", {"Packet": _first_of("number", "packet"), "Waves": "waves", "Dispatch": "text"}),
    "waves": (
        "Waves",
        {"Count": "count", "Target": "target", "First": "first", "Stop": "stop", "Signal": "signal",
         "Frame": lambda row, loaded: standing_text(loaded, row["pc"], short=True)},
    ),
    "code_objects": ("Code objects", {"Address": _hex("address"), "Found": _found, "URI": "uri"}),
    "threads": (
        "Threads of the host", {"Pid": "pid", "Signal": lambda row, _loaded: row["signal"] or None, "Rip": _hex("rip")}
    ),
}  # fmt: skip
"""The title of each part, and its columns: a heading, and the key of the value or what computes it."""


def _rows(summary: CoreSummary, name: str) -> Iterator[tuple[str, ...]]:
    columns = TABLES[name][1]
    yield tuple(columns)
    for row in summary.parts[name]:
        values = (
            row[column] if isinstance(column, str) else column(row, summary.loaded) for column in columns.values()
        )
        yield tuple("" if value is None else str(value) for value in values)


def core_json(summary: CoreSummary) -> dict[str, Any]:
    """Return what is in GPU core files as plain values."""
    data: dict[str, Any] = {
        "files": [*summary.names], "companion": summary.companion, "has_host": summary.has_host,
        "r_version": summary.r_version, "kernel_interface": [*summary.ioctl], "bytes": summary.bytes_,
        "ranges": summary.ranges,
    }  # fmt: skip
    data.update(plain(summary.parts))
    for row in data["waves"]:
        row["frame"] = standing_text(summary.loaded, row["pc"])
    data["problems"] = [
        {"kind": problem.kind, "message": problem.message, "hint": problem.hint} for problem in summary.problems
    ]
    return data


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
