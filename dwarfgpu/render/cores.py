"""GPU core files as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.backtrace import standing_text
from dwarfgpu.render.layout import WIDTH, counted, fitted, labelled, plain, plain_style, shown, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.render.layout import Style
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
    for title, rows in _tables(summary):
        body = list(rows)
        if len(body) > 1:
            yield style("name", title)
            more = len(body) - 1 - MAX_ROWS
            yield from table(body[: MAX_ROWS + 1], "l" * len(body[0]), width=width, style=style)
            if more > 0:
                yield f"  ... and {more} more (--json has all)"
    if not summary.waves:
        yield from labelled("waves", "none can be read", style)
    if summary.problems:
        yield style("name", "What is missing or wrong")
        for problem in summary.problems:
            yield from (style("error", line) for line in fitted(f"  {problem}", width, 4))
            if problem.hint:
                yield from (style("hint", line) for line in fitted(f"    hint: {problem.hint}", width, 6))


def _tables(summary: CoreSummary) -> Iterator[tuple[str, Iterable[tuple[str, ...]]]]:
    """Yield the tables: a title, and rows of which the first is the head."""
    yield (
        "Agents",
        [
            ("Id", "Processor", "Engines", "XCCs", "Waves"),
            *(
                (str(row.number), row.processor, str(row.engines), str(row.xccs), str(row.waves))
                for row in summary.agents
            ),
        ],
    )
    yield (
        "Queues",
        [
            ("Id", "Agent", "Type", "Packets", "Read", "Write", "Waves"),
            *(
                (
                    str(row.number),
                    str(row.agent),
                    row.kind,
                    str(row.packets),
                    _number(row.read),
                    _number(row.write),
                    str(row.waves),
                )
                for row in summary.queues
            ),
        ],
    )
    yield (
        "Dispatches",
        [
            ("Packet", "Waves", "Dispatch"),
            *(
                (_number(row.number if row.number is not None else row.packet), str(row.waves), row.text)
                for row in summary.dispatches
            ),
        ],
    )
    yield (
        "Waves",
        [
            ("Count", "Target", "First", "Stop", "Signal", "Frame"),
            *(
                (
                    str(row.count),
                    row.target,
                    row.first,
                    row.stop,
                    row.signal or "",
                    standing_text(summary.loaded, row.pc, short=True),
                )
                for row in summary.waves
            ),
        ],
    )
    yield (
        "Code objects",
        [
            ("Address", "Found", "URI"),
            *(
                (f"{row.address:#x}", row.where + ("" if row.has_dwarf in (True, None) else ", no DWARF"), row.uri)
                for row in summary.code_objects
            ),
        ],
    )
    yield (
        "Threads of the host",
        [
            ("Pid", "Signal", "Rip"),
            *(
                (str(row.pid), str(row.signal or ""), "" if row.rip is None else f"{row.rip:#x}")
                for row in summary.threads
            ),
        ],
    )


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def core_json(summary: CoreSummary) -> dict[str, Any]:
    """Return what is in GPU core files as plain values."""
    data: dict[str, Any] = {
        "files": [*summary.names], "companion": summary.companion, "has_host": summary.has_host,
        "r_version": summary.r_version, "kernel_interface": [*summary.ioctl], "bytes": summary.bytes_,
        "ranges": summary.ranges,
    }  # fmt: skip
    for name in ("agents", "queues", "dispatches", "waves", "code_objects", "threads"):
        data[name] = [plain(row) for row in getattr(summary, name)]
    for row, frame in zip(data["waves"], summary.waves, strict=True):
        row["frame"] = standing_text(summary.loaded, frame.pc)
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
