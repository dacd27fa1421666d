"""Addresses and machines as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import counted, labelled, plain_style, shown, table

if TYPE_CHECKING:
    from dwarfgpu.program.machines.snapshots import Summary
    from dwarfgpu.program.waves.address_views import View, Views
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]


# --- Addresses ----------------------------------------------------------------------------------------------------


def views_text(found: Views, style: Style = plain_style) -> list[str]:
    """All views of an address, one a line."""
    first = found.asked
    whose = [f"wave {found.wave}"] if found.wave is not None else []
    whose += [f"lane {first.lane}"] if first.lane is not None else []
    name = f"{first.space.name}#{first.address:#x}"
    lines = [style("kind", name) + (f" of {', '.join(whose)}" if whose else "")]
    has_machine = any(view.available is not None for view in found.views)
    head = ("address", "lane", "valid", "there" if has_machine else "", "how")
    rows = [head, *(_row(view, with_machine=has_machine) for view in found.views)]
    lines += table(rows, "lrrrl")
    if found.note:
        lines.append(f"  {found.note}")
    return lines


def _row(view: View, *, with_machine: bool) -> tuple[str, ...]:
    lane = "" if view.lane is None else str(view.lane)
    there = f"{view.available:#x}" if with_machine and view.available is not None else ""
    return f"{view.space.name}#{view.address:#x}", lane, f"{view.length:#x}", there, view.formula or "itself"


def views_json(found: Views) -> Json:
    """All views of an address."""
    return {
        "target": found.target.name,
        "wave": found.wave,
        "address": _view_json(found.asked),
        "views": [_view_json(view) for view in found.views[1:]],
        "note": found.note or None,
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


def summary_text(found: Summary, style: Style = plain_style) -> list[str]:
    """What is in a snapshot."""
    lines = [style("kind", shown(found.name))]
    for label, text in (
        ("target", f"{found.target}, waves of {found.lane_count} lanes"),
        ("waves", _waves(found)),
        ("registers", found.registers or "none"),
        ("dispatches", "; ".join(found.dispatches) or "none"),
        ("code objects", "; ".join(found.code_objects) or "none"),
    ):
        lines += labelled(label, text, style)
    for space, count, size in found.memory:
        lines += labelled(space, f"{counted(size, 'byte')} in {counted(count, 'extent')}", style)
    if not found.memory:
        lines += labelled("memory", "none", style)
    lines += [style("error", problem) for problem in found.problems]
    return lines


def _waves(found: Summary) -> str:
    names = ", ".join(found.wave_ids)
    more = ", ..." if found.wave_count > len(found.wave_ids) else ""
    return f"{found.wave_count}: {names}{more}" if names else str(found.wave_count)


def summary_json(found: Summary) -> Json:
    """What is in a snapshot."""
    memory = [{"space": space, "extents": count, "bytes": size} for space, count, size in found.memory]
    return {
        "name": found.name,
        "target": found.target,
        "lane_count": found.lane_count,
        "wave_count": found.wave_count,
        "registers": found.registers,
        "dispatches": found.dispatches,
        "code_objects": found.code_objects,
        "memory": memory,
        "problems": found.problems,
    }
