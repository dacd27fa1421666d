"""Commands about debugging information: ``explain``, ``locate``, ``verify``, ``maint print``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.program.code import encoding_context
from dwarfgpu.program.language.expression import variables_in
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.program.variables.variable import (
    Variable,
    all_variables,
    checked,
    variables_named,
)
from dwarfgpu.questions import asking
from dwarfgpu.questions.values import frame_repaired
from dwarfgpu.render.explanations import Explainer
from dwarfgpu.render.layout import counted, lanes_text, shown, wrapped
from dwarfgpu.render.trace import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


MAX_FOUND = 50
"""How many variables with one name are shown."""


# --- explain --------------------------------------------------------------------------------------------------------


def explain(debugger: Debugger, arguments: Arguments) -> None:
    """It shows the entry that declares the variable, its location list with the entry that holds here, each operation
    with the stack before and after it (those of frame bases, call frame information and call sites too), where the
    value is, and the value; or why there is none. Of an expression every variable in it is explained. Without a
    machine it shows what the file says.
    """
    text = arguments.needed()
    explainer = _explainer(debugger)
    if debugger.attached is None:
        for each in _named(debugger, text):
            debugger.output.lines(explainer.declared(each))
            debugger.output.lines(explainer.places(each))
        return
    lanes = asking.lanes_of(debugger, arguments)
    frame = frame_repaired(debugger, arguments.get("repair") or debugger.settings["repair"])
    quantity: Any = frame[text]
    variables = [quantity] if isinstance(quantity, Variable) else variables_in(frame, quantity.tree)
    for number, each in enumerate(variables):
        if number:
            debugger.output.line()
        debugger.output.lines(explainer.declared(each))
        debugger.output.lines(explainer.places(each))
        _show_evaluation(debugger, frame, each, each.name, lanes)
    if variables[:1] != [quantity]:
        if variables:
            debugger.output.line()
        _show_evaluation(debugger, frame, quantity, text, lanes, is_whole=True)


def _show_evaluation(
    debugger: Debugger, frame: Frame, quantity: Any, text: str, lanes: Any, *, is_whole: bool = False
) -> None:
    """What is done to find a value, where it is, and what it is; of a ``whole`` expression only the last."""
    from dwarfgpu.render.trace import Tracer

    tracer = Tracer(frame.target, sections=True)
    frame.follow(tracer.record)
    try:
        found = answer(quantity, text, lanes)
    finally:
        frame.follow(None)
    if not is_whole:
        debugger.output.lines(f"  {line}" for line in tracer.lines(debugger.output.width - 2))
    debugger.output.lines(asking.renderer(debugger, frame=frame, locations=not is_whole).text(found))


def _explainer(debugger: Debugger) -> Explainer:
    return Explainer(debugger.output.width, debugger.output.style)


def _named(debugger: Debugger, name: str) -> list[Variable]:
    found = variables_named(debugger.frame, name)
    if not found:
        hint = "`info variables` and `info scope FUNCTION` list what there is"
        raise UsageError(f'No symbol "{name[:80]}" in current context.', kind="no_name", hint=hint)
    return found[:MAX_FOUND]


# --- locate, verify -------------------------------------------------------------------------------------------------


def locate(debugger: Debugger, arguments: Arguments) -> None:
    """For each part of the value, in the lane that is looked at if nothing else is said; lanes that have it in the same
    places are shown together. A part in the lane's own part of a register or of memory is said to be its own.
    """
    text = arguments.needed()
    if debugger.attached is None:
        for each in _named(debugger, text):
            debugger.output.lines(asking.renderer(debugger).described(each))
        return
    found = asking.asked(debugger, text, asking.lanes_of(debugger, arguments))
    debugger.output.lines(_explainer(debugger).parts(found))


def verify(debugger: Debugger, arguments: Arguments) -> None:
    """Branch targets, the depth of the stack and kinds of entries over every path, operands. Without NAME: all that the
    frame sees; without a machine all variables of the file.
    """
    frame = debugger.frame
    if arguments.text:
        variables: Iterable[Variable] = _named(debugger, arguments.text)
    else:
        variables = all_variables(frame) if frame.place is None else [*frame.variables(), *frame.statics()]
    explainer = _explainer(debugger)
    places = count = wrong = 0
    for each in variables:
        count += 1
        try:
            found = checked(each)
        except DwarfGpuError as error:
            wrong += 1
            debugger.output.line(f"{shown(each.name)}: {debugger.output.style('error', str(error))}")
            continue
        places += len(found)
        for one in found:
            if one.findings:
                wrong += len(one.findings)
                debugger.output.lines(explainer.findings(one))
    what = f"{counted(count, 'variable')}, {counted(places, 'location')}"
    debugger.output.line(f"{what}: {counted(wrong, 'finding') if wrong else 'no findings'}")


# --- maint print ----------------------------------------------------------------------------------------------------


def print_die(debugger: Debugger, arguments: Arguments) -> None:
    """NAME is that of a function, variable or type, as f, ns::f or _Z1fv; OFFSET the place of an entry, such as 0x2a or
    .debug_types+0x2a. -depth shows entries below it, as many levels as it says.
    """
    from dwarfgpu.program.dump.entries import EntryDump, Selection, ShownUnit
    from dwarfgpu.render import dump as render

    text, _, behind = arguments.needed().partition(" -depth ")
    depth = behind.strip() or arguments.get("depth")
    if depth is not None and not (depth.isdecimal() and depth.isascii()):
        raise UsageError(f"-depth is a number of levels, not {depth[:40]!r}")
    is_offset = text[0].isdecimal() or text[0] == "."
    selection = Selection(
        () if is_offset else (text,),
        entries=(text,) if is_offset else (),
        depth=0 if depth is None else min(int(depth), 1000),
    )
    for item in EntryDump(_code(debugger).file, selection):
        if not isinstance(item, ShownUnit):
            debugger.output.lines(render.entry_text(item, debugger.output.style))


def print_expression(debugger: Debugger, arguments: Arguments) -> None:
    """Every location that the file gives it, operation by operation: offset, bytes, operation, what registers are
    called. `explain` says what comes of it.
    """
    for each in _named(debugger, arguments.needed()):
        debugger.output.lines(_explainer(debugger).operations(each))


def print_cfi(debugger: Debugger, arguments: Arguments) -> None:
    """The row that holds at an address, by default where the frame stands; of a FUNCTION all rows of its entries."""
    from dwarfgpu.program.code.code_lookup import parse_address
    from dwarfgpu.program.code.frame_rows import code_name, fdes_of, frames_at
    from dwarfgpu.render import call_frame_info as render

    code = _code(debugger)
    file, text = code.file, arguments.text
    frames, style = file.frames, debugger.output.style
    if text[:1].isalpha() or text[:1] == "_":
        if "+" not in text:
            for number, entry in enumerate(fdes_of(file, text)):
                if number:
                    debugger.output.line()
                name = code_name(file, entry)
                debugger.output.lines(render.listed_text(frames.listed(entry), frames, style, name=name))
            return
        address = parse_address(file, text)
    elif text:
        from dwarfgpu.questions.memory import address_of

        where: Any = address_of(debugger, text).value
        address = code.in_file(where)
    else:
        place = debugger.frame.place
        if place is None:
            raise UsageError("No frame selected.", kind="no_frame", hint="name an address or a function")
        address = code.in_file(place)
    for number, found in enumerate(frames_at(file, address)):
        if number:
            debugger.output.line()
        name = code_name(file, found.fde)
        debugger.output.lines(render.at_text(found, frames, style, name=name))


def _code(debugger: Debugger) -> LoadedCode:
    """The file whose code the frame executes."""
    frame = debugger.frame
    return frame.code or frame.state.loaded.codes[0]


# --- ``eval -ops`` and ``eval -hex`` ------------------------------------------------------------------


def evaluate_operations(debugger: Debugger, arguments: Arguments, frame: Frame, lanes: Any) -> None:
    """Evaluate the operations, or the bytes, that the arguments have; lanes with one result are shown together."""
    where = encoding_context.of_frame(frame)
    if arguments.has("hex"):
        if arguments.has("ops"):
            raise arguments.wrong("takes -ops or -hex, not both")
        expression = where.decoded(_bytes(_unquoted(arguments.text)))
    else:
        expression = where.parsed(_unquoted(arguments.text))
    numbers = frame.lane_numbers(lanes)
    tracer = Tracer(frame.target)
    if arguments.has("trace"):
        frame.follow(tracer.record)
    try:
        found = encoding_context.evaluated(expression, frame, frame.lane_set(numbers))
    finally:
        frame.follow(None)
    debugger.output.lines(tracer.lines(debugger.output.width))
    writer = TextRenderer(frame.target.byte_order)
    if len(numbers) == 1:
        debugger.output.line(writer.entry(found.one()))
        return
    groups: dict[tuple[bool, str], int] = {}
    for lane, outcome in zip(numbers, found, strict=True):
        is_error = isinstance(outcome, DwarfGpuError)
        text = str(outcome) if isinstance(outcome, DwarfGpuError) else writer.entry(outcome)
        groups[is_error, text] = groups.get((is_error, text), 0) | 1 << (lane or 0)
    for (is_error, text), mask in groups.items():
        first, *rest = wrapped(f"{lanes_text(mask)}: {text}", debugger.output.width - 4)
        style = debugger.output.style
        debugger.output.line(style("error", first) if is_error else first)
        debugger.output.lines(f"    {style('error', line) if is_error else line}" for line in rest)


def _unquoted(text: str) -> str:
    """A text without the quotes that it needs on a command line."""
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def _bytes(text: str) -> bytes:
    digits = "".join(text.split()).removeprefix("0x")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        message = f"{text[:60]!r} is not bytes: an even number of hex digits is needed"
        raise UsageError(message) from None
