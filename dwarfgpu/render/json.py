"""Results as JSON: the forms of the case format, for whoever shows results.

They are written where they are read (`dwarfgpu.program`), so that an answer can be given back as part of a context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.cases.json_answers import JsonWriter, error_json, number_json, type_json

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.program.cases.answer import ReadBits
    from dwarfgpu.targets.target import Target

__all__ = [
    "JsonWriter",
    "entry_json",
    "error_json",
    "location_json",
    "number_json",
    "reading_json",
    "type_json",
]


def entry_json(entry: Entry, target: Target) -> dict[str, Any]:
    """A result or a stack entry: ``{"kind": "value", ...}`` or a location."""
    return JsonWriter(target.byte_order).entry(entry)


def location_json(location: Location, target: Target) -> dict[str, Any]:
    """A location of any kind."""
    return JsonWriter(target.byte_order).location(location)


def reading_json(reading: ReadBits) -> dict[str, Any]:
    """What was read from a location."""
    return JsonWriter(reading.byte_order).reading(reading)
