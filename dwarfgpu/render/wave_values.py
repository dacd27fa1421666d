"""Values of many waves as text: waves that have the same in every lane together, and lanes with one value together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import beside, counted, lanes_text, plain_style, room, shown, wrapped
from dwarfgpu.render.variables import MAX_GROUPS, CachedLaneTexts, missing_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.render.layout import Style
    from dwarfgpu.render.variables import VariablesRenderer


def heading(values: Values, style: Style = plain_style) -> Iterator[str]:
    """Yield how many waves there are, and where they are."""
    call = None if values.frame is None else values.frame.call
    where = "at no known place" if values.pc is None else f"at pc {values.pc:#x}"
    if call is not None and call.function is not None:
        source = "" if call.source is None else f" at {source_text(call.source)}"
        where = f"in {shown(call.function)}{source}, pc {values.pc:#x}"
    yield from (style("kind", line) for line in wrapped(f"{counted(len(values.waves), 'wave')} {where}"))


def lines_of_waves(renderer: VariablesRenderer, values: Values) -> Iterator[str]:
    """Yield what something is in waves, those with the same in every lane together; below it why values are missing."""
    style = renderer.style
    kind = "" if values.type is None else style("dim", f"  {safe_text(values.type)}")
    yield f"  {style('name', shown(values.text))}{kind}"
    for waves, line, places in grouped(CachedLaneTexts(renderer, values)):
        label = shown(waves[0]) + (f" (+{len(waves) - 1})" if len(waves) > 1 else "")
        yield from beside("    ", wrapped(f"{label}: {line}", room(4)), 6)
        yield from (f"      {place}" for place in places)
    for count, reason in values.missing(inactive=not values.only_executing):
        what = f"{missing_word(reason)} in {counted(count, 'lane')}: {reason.message}"
        yield from (f"    {style('error', text)}" for text in wrapped(what, room(4)))
    for variable in values.repaired if renderer.verbose else ():
        names = ", ".join(repair.name for repair in variable.repairs)
        who = "" if variable.name == values.text else f"{variable.name}: "
        told = renderer.cell(variable.answer.at(0, 0))
        where = f"in lane {values.lanes[0]} of wave {values.names[0]}"
        note = f"{who}repaired ({names}); as written, {where}: {told}"
        yield from (f"    {style('dim', text)}" for text in wrapped(note, room(4)))


def grouped(cells: CachedLaneTexts) -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
    """Yield the waves, those with the same in every lane together: their names, the values, and where these are."""
    names = cells.values.names
    alike: dict[Any, list[int]] = {}
    for wave in range(len(names)):
        positions = cells.shown(wave)
        alike.setdefault((*positions, cells.key(wave, positions)), []).append(wave)
    for waves in alike.values():
        line = _lanes(cells, waves[0])
        rows: dict[tuple[str, ...], list[str]] = {}
        for wave in waves:
            rows.setdefault(cells.places(wave), []).append(names[wave])
        for places, chosen in rows.items():
            yield chosen, line, places


def _lanes(cells: CachedLaneTexts, wave: int) -> str:
    """Return the lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have is alone."""
    groups: dict[Any, list[int]] = {}
    for position in cells.shown(wave):
        key = bool(cells.executing[wave, position]), cells.key(wave, [position])
        groups.setdefault(key, []).append(position)
    if not groups:
        return "no lane is active"
    masks: dict[str, int] = {}
    lanes = cells.values.lanes
    for (is_active, _), positions in groups.items():
        text = cells.text(wave, positions[0])
        text = text if is_active else f"({text})"
        masks[text] = masks.get(text, 0) | sum(1 << (lanes[position] or 0) for position in positions)
    if len(masks) == 1:
        return next(iter(masks))
    if len(masks) > MAX_GROUPS and all(mask.bit_count() == 1 for mask in masks.values()):
        return ", ".join(f"[{mask.bit_length() - 1}]={text}" for text, mask in masks.items())
    return ", ".join(f"{lanes_text(mask)}: {text}" for text, mask in masks.items())
