"""Machines as text and as JSON: the views of an address, snapshots, and agents, queues, dispatches and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import (
    WIDTH,
    TableRow,
    columns,
    counted,
    fitted,
    labels,
    plain,
    plain_style,
    shown,
    table,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.execution.launch.devices import Agent, DispatchRow, PacketRow, Queue
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.frames.address_aliases import View, Views
    from dwarfgpu.render.layout import Style
    from dwarfgpu.states.snapshot_files import SnapshotSummary

    Json = dict[str, Any]


# --- Addresses ----------------------------------------------------------------------------------------------------


def views_text(views: Views, style: Style = plain_style) -> list[str]:
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


def views_json(views: Views) -> Json:
    """Return all views of an address as a JSON object."""
    return {
        "target": views.target.name,
        "wave": views.wave,
        "address": _view_json(views.asked),
        "views": [_view_json(view) for view in views.views[1:]],
        "note": views.note or None,
    }


def _view_json(view: View) -> Json:
    return {
        "space": view.space.number,
        "space_name": view.space.name,
        "address": view.address,
        "lane": view.lane,
        "valid_bytes": view.length,
        "available_bytes": view.available,
        "formula": view.formula or None,
    }


# --- Snapshots ----------------------------------------------------------------------------------------------------


def summary_text(summary: SnapshotSummary, style: Style = plain_style) -> list[str]:
    """Return the contents of a snapshot as lines."""
    memory = [
        (space, f"{counted(size, 'byte')} in {counted(count, 'extent')}") for space, count, size in summary.memory
    ]
    pairs = [
        ("target", f"{summary.target}, waves of {summary.lane_count} lanes"),
        ("waves", _waves(summary)),
        ("registers", summary.registers or "none"),
        ("dispatches", "; ".join(summary.dispatches) or "none"),
        ("code objects", "; ".join(summary.code_objects) or "none"),
        *(memory or [("memory", "none")]),
    ]
    problems = [style("error", problem) for problem in summary.problems]
    return [style("kind", shown(summary.name)), *labels(pairs, style), *problems]


def _waves(summary: SnapshotSummary) -> str:
    names = ", ".join(summary.wave_ids)
    more = ", ..." if summary.wave_count > len(summary.wave_ids) else ""
    return f"{summary.wave_count}: {names}{more}" if names else str(summary.wave_count)


def summary_json(summary: SnapshotSummary) -> Json:
    """Return the contents of a snapshot as a JSON object."""
    document: Json = plain(summary)
    del document["wave_ids"], document["is_sound"]
    document["memory"] = [dict(zip(("space", "extents", "bytes"), row, strict=True)) for row in summary.memory]
    return document


# --- Agents, queues, dispatches and files -------------------------------------------------------------------------


def agents_table(
    found: list[Agent], current: int | None, width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """Yield agents; their state is A (stopped), as in ROCgdb."""
    rows = []
    for agent in found:
        head = agent.number, "A", f"AMDGPU Agent {agent.number}", agent.architecture
        cells = *head, f"wave{agent.lane_count}", str(len(agent.waves))
        rows.append(TableRow(cells, current in agent.waves))
    yield from columns(("Id", "State", "Target Id", "Architecture", "Lanes", "Waves"), rows, width, style)


def queues_table(
    found: list[Queue], current: int | None, width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """Yield queues; a value that is not in the memory of the machine is left blank."""
    rows = []
    for number, queue in enumerate(found, 1):
        numbers = ("" if value is None else str(value) for value in (queue.read, queue.write, queue.size))
        address = "" if queue.address is None else f"{queue.address:#x}"
        name = f"AMDGPU Queue {queue.agent}:{queue.number}"
        rows.append(TableRow((str(number), name, queue.kind or "", *numbers, address), current in queue.waves))
    head = ("Id", "Target Id", "Type", "Read", "Write", "Size", "Address")
    yield from columns(head, rows, width, style)


def packets_table(
    found: list[PacketRow], current: int | None, width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """Yield packets, with what the texts forbid of each below it."""
    rows = []
    for row in found:
        sizes = ["" if size is None else _sizes(size) for size in (row.grid, row.work_group)]
        cells = f"{row.queue}:{row.index}", f"{row.address:#x}", row.state, row.kind, *sizes, row.kernel or ""
        rows.append(TableRow(cells, current in row.waves))
    head = ("Packet", "Address", "State", "Type", "Grid", "Workgroup", "Kernel")
    yield from columns(head, rows, width, style)
    for row in found:
        for problem in row.problems:
            yield from (style("error", line) for line in wrapped(f"{row.queue}:{row.index}: {problem}", width))


def dispatches_table(
    found: list[DispatchRow], current: int | None, width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """Yield dispatches with their sizes in work-items."""
    rows = []
    for row in found:
        dispatch = row.dispatch
        name = f"AMDGPU Dispatch {row.agent}:{row.queue}:{dispatch.id}"
        sizes = _sizes(dispatch.grid), _sizes(dispatch.work_group)
        cells = str(dispatch.id), name, *sizes, row.fence or "", str(len(row.waves)), dispatch.kernel or "??"
        rows.append(TableRow(cells, current in row.waves))
    head = ("Id", "Target Id", "Grid", "Workgroup", "Fence", "Waves", "Kernel Function")
    yield from columns(head, rows, width, style)


def _sizes(sizes: tuple[int, int, int] | None) -> str:
    return "?" if sizes is None else f"[{','.join(map(str, sizes))}]"


def files_table(codes: Iterable[LoadedCode], width: int = WIDTH, style: Style = plain_style) -> Iterator[str]:
    """Yield the loaded files of code with the addresses of their instructions."""
    rows = []
    lacks = False
    for code in codes:
        low, high = code.text or (None, None)
        digits = 2 + 2 * code.file.image.address_size
        cells = ["" if address is None else f"{address:#0{digits}x}" for address in (low, high)]
        lacks = lacks or not code.file.has_dwarf
        rows.append(TableRow((*cells, "Yes" if code.file.has_dwarf else "Yes (*)", code.file.name)))
    yield from columns(("From", "To", "Syms Read", "File"), rows, width, style)
    if lacks:
        yield from fitted("(*): the file has no debugging information.", width)


def loaded_file_json(code: LoadedCode) -> Json:
    """Return a file of code with the addresses of its instructions."""
    low, high = code.text or (None, None)
    return {"file": code.file.name, "from": low, "to": high, "has_dwarf": code.file.has_dwarf}
