"""`info layout`: which register of which lane and warp holds each element of a tensor, or where in a buffer it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.values.tensors import layout_of
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.render.layout import beside, fitted, packed, room, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.values.tensors import Layout, SharedLayout
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.render.layout import Json


def info_layout(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.needed()
    found = debugger.frame.expression(text).object(debugger.lane)
    known = layout_of(found)
    if known is None:
        hint = "only tensors of Triton's kernels that dwarfgpu has compiled have layouts"
        raise UsageError(f"{shown(text[:80])} is no tensor", kind="no_layout", hint=hint)
    layout, elements = known
    holders, most = layout.holders(), debugger.renderer().look.elements

    def lines(_output: Output) -> Iterator[str]:
        yield from fitted(f"type = {shown(type_text(found.type, has_spaces=True))}", 2)
        yield from _map_lines(layout)
        copies, place = len(holders[0]), ":".join(bases).upper()
        first = "" if copies == 1 else f", the first of {copies}"
        yield f"Each element with its place, {place}{first}:"
        yield from _places(layout, elements[:most], holders)
        if len(elements) > most:
            yield f"{len(elements) - most} more: the limit is that of `set print elements`; EXPR may be `c[0:4, :]`"

    def documents() -> Iterator[Json]:
        for element in elements:
            for place in holders.get(element, ()):
                yield {"index": [*layout.index(element)], **dict(zip(bases, place, strict=True))}

    bases = {noun: [*map(list, rows)] for noun, rows in layout.bases().items()}
    data = {"expression": text, "shape": [*layout.shape], "bases": bases, "elements": documents()}
    return Document(data, lines, rows="elements")


def _map_lines(layout: Layout | SharedLayout) -> Iterator[str]:
    """Yield what each bit of a register, lane and warp adds to the index, or of an offset in shared memory."""
    for noun, bases in layout.bases().items():
        texts = (f"{1 << bit}: {[*basis]}" for bit, basis in enumerate(bases))
        yield from beside(f"  {noun:<10}", packed(texts, room(12)) if bases else ["0"], 12)
    yield "  (an index is the exclusive or of these, for the bits that are set)"
    for after, more in getattr(layout, "padding", ()):
        yield f"  (each {after} elements are followed by a gap of {more}, which counts in offsets)"


def _places(
    layout: Layout | SharedLayout, elements: list[int], holders: dict[int, list[tuple[int, ...]]]
) -> Iterator[str]:
    """Yield lines of elements, each with the index of its first; a row of the tensor begins a line."""
    places = [":".join(map(str, *holders.get(element, ("-",))[:1])) for element in elements]
    labels = [str([*layout.index(element)]) for element in elements]
    width, margin = max(map(len, places), default=0) + 1, max(map(len, labels), default=0) + 3
    count = 1 << max(room(margin) // width, 1).bit_length() - 1
    line, label = "", ""
    for at, (element, place) in enumerate(zip(elements, places, strict=True)):
        begins = not at or element != elements[at - 1] + 1 or layout.index(element)[-1] % count == 0
        if begins and line:
            yield f"  {label:<{margin - 2}}{line}"
        line, label = (f"{place:>{width}}", labels[at]) if begins else (f"{line}{place:>{width}}", label)
    if line:
        yield f"  {label:<{margin - 2}}{line}"
