"""GPU core files as text and JSON."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.backtrace import standing_text
from dwarfgpu.render.layout import counted, fitted, labelled, plain, room, shown, style
from dwarfgpu.render.records import Record, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.states.core_conversion import ConversionSummary
    from dwarfgpu.states.gpu_cores import OpenedCore

    Rows = dict[str, list[dict[str, Any]]]

MAX_ROWS = 12
"""The rows of one part that are shown."""


def core_text(opened: OpenedCore, parts: Rows) -> Iterator[str]:
    """Yield what is in GPU core files, of which `core_rows` gives the rows."""
    files, core, loaded = opened.files, opened.core, opened.loaded()
    for name in files.names:
        note = " (found beside it)" if name == files.companion else ""
        yield style("kind", shown(name)) + note
    version = "not known" if core.r_version is None else str(core.r_version)
    kind = "host and GPU" if files.has_host else "GPU alone"
    major, minor = core.state.ioctl
    ranges = counted(len(core.memory.starts), "range")
    yield from labelled("memory", f"{kind}, {core.memory.size:,} bytes in {ranges}")
    yield from labelled("runtime", f"r_version {version}, kernel interface {major}.{minor}")
    for name, (title, record) in TABLES.items():
        rows = [SimpleNamespace(**row, loaded=loaded) for row in parts[name]]
        if rows:
            yield style("name", title)
            yield from record.lines(rows[:MAX_ROWS], width=room())
            if len(rows) > MAX_ROWS:
                yield f"  ... and {len(rows) - MAX_ROWS} more (--json has all)"
    if not parts["waves"]:
        yield from labelled("waves", "none can be read")
    if opened.problems:
        yield style("name", "What is missing or wrong")
        for problem in opened.problems:
            yield from (style("error", line) for line in fitted(f"  {problem}", 4))
            if problem.hint:
                yield from (style("hint", line) for line in fitted(f"    hint: {problem.hint}", 6))


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


def core_json(opened: OpenedCore, parts: Rows) -> dict[str, Any]:
    """Return what is in GPU core files as plain values."""
    plain_parts, loaded = plain(parts), opened.loaded()
    for row in plain_parts["waves"]:
        row["frame"] = standing_text(loaded, row["pc"])
    return {**SUMMARY.json(opened), **plain_parts, "problems": [*map(PROBLEM.json, opened.problems)]}


SUMMARY = Record(
    "files=files.names companion=files.companion has_host=files.has_host r_version=core.r_version",
    "kernel_interface=core.state.ioctl bytes=core.memory.size",
    fact("ranges", value=lambda opened: len(opened.core.memory.starts)),
)
PROBLEM = Record("kind message hint")


def conversion_text(summary: ConversionSummary) -> Iterator[str]:
    """Yield what a small snapshot has, and what was left out."""
    yield style("kind", shown(summary.written))
    yield from labelled("waves", f"{summary.waves} of {summary.all_waves}")
    yield from labelled("memory", f"{summary.bytes_:,} bytes")
    if summary.dispatches:
        yield from labelled("dispatches", "; ".join(summary.dispatches))
    yield from labelled("code objects", ", ".join(summary.code_objects) or "none")
    yield from labelled("left out", "; ".join(summary.left_out) or "nothing")


def conversion_json(summary: ConversionSummary) -> dict[str, Any]:
    """Return what a small snapshot has as plain values."""
    data: dict[str, Any] = plain(summary)
    data["bytes"] = data.pop("bytes_")
    return data
