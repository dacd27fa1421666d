"""Commands that say where a value comes from: ``explain``, ``locate``, ``maint print expression``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.evaluator import variables_in
from dwarfgpu.program.frames.variable import Variable
from dwarfgpu.questions.document import Document, Output, listing
from dwarfgpu.questions.expressions import variables_called
from dwarfgpu.questions.variables import expression_document, traced
from dwarfgpu.render import explanations as render
from dwarfgpu.render.variables import RepairNotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


def explain(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.needed()
    if debugger.attached is None:
        variables = variables_called(debugger, text)
        return listing("variables", render.variable_json, variables, _declared)
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
            yield {**render.variable_json(variable), "trace": tracer.documents(), "answer": writer.document(values)}

    whole = (writer.document(answer(quantity, text, lanes)) for _ in range(is_whole))
    data = {"variables": explained() if variables else [], "answers": whole}
    return Document(data, lines, rows=lambda: chain.from_iterable(data.values()))


def _declared(variables: Iterable[Variable]) -> Iterator[str]:
    for variable in variables:
        yield from chain(render.declared(variable), render.located(variable))


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
        yield from render.parts(notes.noted(found))
        yield from notes.lines()

    return expression_document(debugger, writer, found, lines)


def print_expression(debugger: Debugger, arguments: Arguments) -> Document:
    variables = variables_called(debugger, arguments.needed())
    text = lambda rows: chain.from_iterable(map(render.operations, rows))  # noqa: E731
    return listing("variables", render.variable_json, variables, text)
