"""`info layout`: which register of which lane of which warp holds each element of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.values.tensors import layout_of
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.render.layout import beside, fitted, packed, room, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.values.tensors import Layout
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
        copies = len(holders[0])
        first = "" if copies == 1 else f", the first of {copies}"
        yield f"Each element with its place, WARP:LANE:REGISTER{first}:"
        yield from _places(layout, elements[:most], holders)
        if len(elements) > most:
            yield f"{len(elements) - most} more: the limit is that of `set print elements`; EXPR may be `c[0:4, :]`"

    def documents() -> Iterator[Json]:
        for element in elements:
            for warp, lane, register in holders.get(element, ()):
                yield {"index": [*layout.index(element)], "warp": warp, "lane": lane, "register": register}

    bases = {noun: [[*layout.index(basis)] for basis in rows] for noun, rows in layout.bases()}
    data = {"expression": text, "shape": [*layout.shape], "bases": bases, "elements": documents()}
    return Document(data, lines, rows="elements")


def _map_lines(layout: Layout) -> Iterator[str]:
    """Yield what each bit of a register, lane and warp adds to the index."""
    for noun, bases in layout.bases():
        texts = (f"{1 << bit}: {[*layout.index(basis)]}" for bit, basis in enumerate(bases))
        yield from beside(f"  {noun:<10}", packed(texts, room(12)) if bases else ["0"], 12)
    yield "  (an index is the exclusive or of these, for the bits that are set)"


def _places(layout: Layout, elements: list[int], holders: dict[int, list[tuple[int, int, int]]]) -> Iterator[str]:
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
