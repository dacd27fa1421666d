"""Machines as text and as JSON: the views of an address, snapshots, and agents, queues, dispatches and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import counted, fitted, labels, shown, style, table, wrapped
from dwarfgpu.render.records import Record, fact, hexadecimal, nested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.execution.launch.devices import QueuedPacket
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.address_aliases import View, Views

    Json = dict[str, Any]


# --- Addresses ----------------------------------------------------------------------------------------------------


def views_text(views: Views) -> list[str]:
    """Return all views of an address as lines, one a line."""
    first = views.asked
    whose = [f"wave {views.wave}"] if views.wave is not None else []
    whose += [f"lane {first.lane}"] if first.lane is not None else []
    name = f"{first.space.name}#{first.address:#x}"
    lines = [style("kind", name) + (f" of {', '.join(whose)}" if whose else "")]
    has_machine = any(view.available is not None for view in views.views)
    head = ("address", "lane", "valid", "there" if has_machine else "", "how")
    rows = [head, *(_row(view, with_machine=has_machine) for view in views.views)]
    lines += table(rows, "lrrrl")
    if views.note:
        lines.append(f"  {views.note}")
    return lines


def _row(view: View, *, with_machine: bool) -> tuple[str, ...]:
    lane = "" if view.lane is None else str(view.lane)
    there = f"{view.available:#x}" if with_machine and view.available is not None else ""
    return f"{view.space.name}#{view.address:#x}", lane, f"{view.length:#x}", there, view.formula or "itself"


VIEW = Record(
    "space=space.number space_name=space.name address lane valid_bytes=length available_bytes=available formula?"
)
VIEWS = Record(
    "target=target.name wave",
    nested("address=asked", VIEW),
    fact("views", value=lambda views: [*map(VIEW.json, views.views[1:])]),
    "note?",
)


# --- Snapshots ----------------------------------------------------------------------------------------------------


def summary_text(summary: Json) -> list[str]:
    """Return the contents of a snapshot as lines."""
    memory = [
        (row["space"], f"{counted(row['bytes'], 'byte')} in {counted(row['extents'], 'extent')}")
        for row in summary["memory"]
    ]
    ids, count = summary["wave_ids"], summary["wave_count"]
    names = ", ".join(ids) + (", ..." if 0 < len(ids) < count else "")
    pairs = [
        ("target", f"{summary['target']}, waves of {summary['lane_count']} lanes"),
        ("waves", f"{count}: {names}" if names else str(count)),
        ("registers", summary["registers"] or "none"),
        ("dispatches", "; ".join(summary["dispatches"]) or "none"),
        ("code objects", "; ".join(summary["code_objects"]) or "none"),
        *(memory or [("memory", "none")]),
    ]
    problems = [style("error", problem) for problem in summary["problems"]]
    return [style("kind", shown(summary["name"])), *labels(pairs), *problems]


# --- Agents, queues, dispatches and files -------------------------------------------------------------------------


def _sizes(sizes: tuple[int, int, int] | None) -> str:
    return "?" if sizes is None else f"[{','.join(map(str, sizes))}]"


def _size(sizes: tuple[int, int, int] | None) -> str:
    return "" if sizes is None else _sizes(sizes)


def _count(waves: Sequence[int]) -> str:
    return str(len(waves))


AGENTS = Record(
    "number:Id",
    fact("", "State", lambda _agent: "A"),  # stopped, as in ROCgdb
    fact("", "Target Id", lambda agent: f"AMDGPU Agent {agent.number}"),
    "architecture:Architecture",
    fact("lane_count", "Lanes", text="wave{}".format),
    fact("waves", "Waves", text=_count),
)
QUEUES = Record(
    fact("", "Id", lambda queue: queue.index),
    fact("", "Target Id", lambda queue: f"AMDGPU Queue {queue.agent}:{queue.number}"),
    "agent number address waves kind:Type read:Read write:Write size:Size",
    fact("", "Address", lambda queue: hexadecimal(queue.address)),
)
"""A value that is not in the memory of the machine is left blank."""
PACKETS = Record(
    fact("", "Packet", lambda row: f"{row.queue}:{row.index}"),
    "queue index",
    fact("address", "Address", text=hex),
    "state:State kind:Type",
    fact("grid", "Grid", text=_size),
    fact("work_group", "Workgroup", text=_size),
    "kernel:Kernel waves problems",
)
DISPATCHES = Record(
    fact("", "Id", lambda row: row.dispatch.id),
    fact("", "Target Id", lambda row: f"AMDGPU Dispatch {row.agent}:{row.queue}:{row.dispatch.id}"),
    "agent queue dispatch",
    fact("", "Grid", lambda row: _sizes(row.dispatch.grid)),
    fact("", "Workgroup", lambda row: _sizes(row.dispatch.work_group)),
    fact("", "Fence", lambda row: row.fence),
    fact("waves", "Waves", text=_count),
    fact("", "Kernel Function", lambda row: row.dispatch.kernel or "??"),
    "fence",
)


def packet_problems(packets: Iterable[QueuedPacket]) -> Iterator[str]:
    """Yield what the texts forbid of packets."""
    for row in packets:
        for problem in row.problems:
            yield from (style("error", line) for line in wrapped(f"{row.queue}:{row.index}: {problem}"))


def _address(which: int) -> Callable[[LoadedCode], str]:
    def value(code: LoadedCode) -> str:
        return "" if code.text is None else f"{code.text[which]:#0{2 + 2 * code.file.image.address_size}x}"

    return value


FILES = Record(
    "file=file.name",
    fact("from", value=lambda code: code.text and code.text[0]),
    fact("to", value=lambda code: code.text and code.text[1]),
    fact("", "From", _address(0)),
    fact("", "To", _address(1)),
    fact("has_dwarf=file.has_dwarf", "Syms Read", text=lambda has_dwarf: "Yes" if has_dwarf else "Yes (*)"),
    fact("", "File", lambda code: code.file.name),
)
"""The loaded files of code, with the addresses of their instructions."""


def files_table(codes: Sequence[LoadedCode]) -> Iterator[str]:
    """Yield the loaded files of code."""
    yield from FILES.screen(codes)
    if not all(code.file.has_dwarf for code in codes):
        yield from fitted("(*): the file has no debugging information.")
