"""Commands that say where a value comes from: ``explain``, ``locate``, ``maint print expression``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.expr.listing import lines as operation_lines
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.evaluator import variables_in
from dwarfgpu.program.frames.variable import Checked, Described, Variable, owner_of
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.questions.document import Document, Output, listing
from dwarfgpu.questions.expressions import LINE, bytes_text, variables_called
from dwarfgpu.questions.variables import expression_document, traced
from dwarfgpu.render.layout import beside, counted, lane_masks, lanes_text, room, shown, style, wrapped
from dwarfgpu.render.variables import RepairNotes, VariablesRenderer, repaired_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.reasons import ValueSource
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


def explain(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.needed()
    if debugger.attached is None:
        variables = variables_called(debugger, text)
        return listing("variables", variable_json, variables, _declared)
    lanes = debugger.lanes_of(arguments)
    _program, attached = debugger.repaired(arguments.get("repair") or debugger.settings["repair"])
    assert attached is not None  # noqa: S101 (there is a machine)
    frame = attached[debugger.wave.index].seen_by(debugger.lane).frame(debugger.frame_number)
    quantity: Any = frame[text]
    variables = [quantity] if isinstance(quantity, Variable) else variables_in(frame, quantity.tree)
    is_whole = variables[:1] != [quantity]
    writer = debugger.renderer(frame=frame, locations=True)

    def lines(output: Output) -> Iterator[str]:
        notes = RepairNotes()
        for number, variable in enumerate(variables):
            yield from ("",) if number else ()
            yield from _declared([variable])
            with traced(frame) as tracer:
                values = answer(variable, variable.name, lanes)
            yield from (f"  {line}" for line in tracer.lines(output.width - 2))
            yield from writer.text(notes.noted(values))
        if is_whole:
            yield from ("",) if variables else ()
            values = notes.noted(answer(quantity, text, lanes))
            yield from debugger.renderer(frame=frame).text(values)
        yield from notes.lines()

    def explained() -> Iterator[dict[str, Any]]:
        for variable in variables:
            with traced(frame) as tracer:
                values = answer(variable, variable.name, lanes)
            yield {**variable_json(variable), "trace": tracer.documents(), "answer": writer.document(values)}

    whole = (writer.document(answer(quantity, text, lanes)) for _ in range(is_whole))
    data = {"variables": explained() if variables else [], "answers": whole}
    return Document(data, lines, rows=lambda: chain.from_iterable(data.values()))


def _declared(variables: Iterable[Variable]) -> Iterator[str]:
    for variable in variables:
        yield from chain(declared(variable), located(variable))


def locate(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.needed()
    writer = debugger.renderer(locations=True)
    if debugger.attached is None:
        variables = variables_called(debugger, text)
        lines_of = lambda rows: chain.from_iterable(map(writer.described, rows))  # noqa: E731
        return listing("answers", writer.described_json, variables, lines_of)
    found = debugger.asked(text, debugger.lanes_of(arguments))

    def lines(output: Output) -> Iterator[str]:
        notes = RepairNotes()
        yield from parts(notes.noted(found))
        yield from notes.lines()

    return expression_document(debugger, writer, found, lines)


def print_expression(debugger: Debugger, arguments: Arguments) -> Document:
    variables = variables_called(debugger, arguments.needed())
    text = lambda rows: chain.from_iterable(map(operations, rows))  # noqa: E731
    return listing("variables", variable_json, variables, text)


# --- Explanations as text and JSON ------------------------------------------------------------------------------------


KINDS = {"parameter": "a parameter", "local": "a local variable", "static": "a variable", "constant": "a constant"}


# --- What a variable is ---------------------------------------------------------------------------------------


def declared(variable: Variable) -> Iterator[str]:
    """Yield the name and type of a variable, and the entry that declares it."""
    die = variable.die
    owner = owner_of(variable)
    where = f" of {shown(owner)}" if owner else ""
    entry = f"{die.unit.section}+{die.section_offset:#x}"
    name = style("name", shown(variable.name))
    words = f"{shown(variable.name)}: {safe_text(variable.type)}, {KINDS[variable.kind]}{where} ({entry})"
    first, *rest = wrapped(words)
    yield first.replace(shown(variable.name), name, 1)
    yield from (f"    {line}" for line in rest)


def located(variable: Variable) -> Iterator[str]:
    """Yield every location of a variable; the one that is valid at the current address is marked."""
    places = variable.locations()
    address = variable.frame.place
    if not places:
        what = "its value is the constant DW_AT_const_value of the entry"
        if not variable.is_here():
            what = "optimized out: the entry gives no location"
        yield from _indented(what, 2)
        return
    if len(places) == 1 and places[0].range is None and not places[0].is_default:
        yield from _indented(f"wherever it is in scope: {places[0].operations}", 2)
        yield from _repaired(places[0], 4)
        return
    here = [place for place in places if holds(place, address)] or [place for place in places if place.is_default]
    known = "" if address is None else f"; at {address:#x} {'the marked one is valid' if here else 'none is valid'}"
    yield from _indented(f"its location list has {counted(len(places), 'entry', 'entries')}{known}:", 2)
    for place in places:
        mark = "=>" if address is not None and place in here else "  "
        lines = wrapped(f"{range_text(place)}: {place.operations}", room(5))
        yield from beside(f"  {mark} ", lines, 7)
        yield from _repaired(place, 7)


def _repaired(place: Described, indent: int) -> Iterator[str]:
    """Yield the operations that are evaluated in place of those of the file."""
    if place.repaired is not None:
        lines = _indented(f"{repaired_head(place)}{place.repaired}", indent)
        yield from (style("dim", line) for line in lines)


def _indented(text: str, indent: int) -> Iterator[str]:
    yield from beside(" " * indent, wrapped(text, room(indent + 2)), indent + 2)


# --- Operations -----------------------------------------------------------------------------------------------


def operations(variable: Variable) -> Iterator[str]:
    """Yield every location of a variable, operation by operation, with the bytes."""
    yield from declared(variable)
    places = variable.locations()
    if not places:
        yield from located(variable)
    for place in places:
        yield f"  {range_text(place)}:"
        if place.expression is not None:
            yield from _listing(place, variable)


def _listing(place: Described, variable: Variable) -> Iterator[str]:
    assert place.written is not None  # noqa: S101 (`operations` has checked it)
    lines = operation_lines(place.written, variable.frame.target)
    if not lines:
        yield "    (no operations)"
    width = min(max((len(line.text) for line in lines), default=0), 28)
    for line in lines:
        note = f"{' ' * (width - len(line.text))}  # {line.note}" if line.note else ""
        texts = wrapped(f"{line.text}{note}", room(39))
        yield from beside(f"    {line.offset:#06x}  {bytes_text(line):26} ", texts, 41)
    yield from _repaired(place, 4)


# --- Parts ----------------------------------------------------------------------------------------------------


def parts(values: Values) -> Iterator[str]:
    """Yield the places of the parts of a value; lanes with the same places are together."""
    known = [each for each in values.by_lane if each.value is not None]
    groups = lane_masks(
        (each.lane, tuple((_extent(source), _place(source, each.lane)) for source in each.sources())) for each in known
    )
    missing = lane_masks(
        (each.lane, "no value" if each.reason is None else each.reason.message)
        for each in values.by_lane
        if each.value is None
    )
    has_lanes = any(lane_answer.lane is not None for lane_answer in values.by_lane)
    kind = "" if values.type is None else f": {safe_text(values.type)}"
    yield f"{style('name', shown(values.text))}{kind}"
    for rows, mask in groups.items():
        if has_lanes:
            yield from wrapped(f"  {lanes_text(mask).replace(',', ', ')}")
        extents = max(len(extent) for extent, _place in rows) if rows else 0
        for extent, where in rows:
            places = wrapped(where, room(extents + 6))
            yield from beside(f"    {extent:{extents}}  ", places, extents + 6)
    for reason, mask in missing.items():
        head = f"{lanes_text(mask)}: " if has_lanes else ""
        yield from (style("error", line) for line in _indented(f"{head}{reason}", 2))


# --- Findings -------------------------------------------------------------------------------------------------


def findings_text(checked: Checked) -> Iterator[str]:
    """Yield what is wrong with one location."""
    name = style("name", shown(checked.variable.name))
    yield f"{name} {range_text(checked.place)}:"
    for finding in checked.findings:
        clause = f" [{finding.spec}]" if finding.spec else ""
        text = f"{finding.offset:#06x}  {finding.severity}: {finding.message}{clause}"
        first, *rest = wrapped(text, room(10))
        yield f"  {style(finding.severity, first)}"
        yield from (f"          {line}" for line in rest)


def variable_json(variable: Variable) -> dict[str, Any]:
    """Return where the file says a variable is, with the entry that declares it, and operation by operation."""
    document = VariablesRenderer(variable.frame).described_json(variable)
    for place, location in zip(variable.locations(), document["locations"], strict=True):
        lines = () if place.written is None else operation_lines(place.written, variable.frame.target)
        location["listing"] = [*map(LINE.json, lines)]
    die = variable.die
    document |= {"owner": owner_of(variable), "section": die.unit.section, "offset": die.section_offset}
    document |= {"pc": variable.frame.place, "is_constant": not document["locations"] and variable.is_here()}
    return document


def holds(place: Described, address: int | None) -> bool:
    """Whether a location is valid at an address."""
    return place.range is not None and address is not None and place.range[0] <= address < place.range[1]


def range_text(place: Described) -> str:
    """Return the addresses where a location is valid."""
    if place.is_default:
        return "elsewhere"
    return "everywhere" if place.range is None else f"{place.range[0]:#x} to {place.range[1]:#x}"


def _extent(source: ValueSource) -> str:
    first, size = source.bit_offset, source.bit_size
    if first % 8 or size % 8:
        return f"bit {first}" if size == 1 else f"bits {first}-{first + size - 1}"
    return f"byte {first // 8}" if size == 8 else f"bytes {first // 8}-{(first + size) // 8 - 1}"


def _place(source: ValueSource, lane: int | None) -> str:
    bit = f" from bit {source.bit} on" if source.bit else ""
    if source.kind == "register":
        own = ""
        if source.lane is not None:
            own = ", its own lane" if source.lane == lane else f", lane {source.lane}"
        return f"{source.register}{own}{bit}"
    if source.kind == "memory":
        own = ""
        if source.lane is not None:
            own = ", its own" if source.lane == lane else f" of lane {source.lane}"
        return f"{source.space}#{source.address:#x}{own}{bit}"
    return {"constant": "a constant", "pointer": "an implicit pointer", "undefined": "no value"}[source.kind]
