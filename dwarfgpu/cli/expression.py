"""An expression of DWARF that is evaluated without a program: `eval --ops` and `eval --hex` without FILE."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.cli.session import ALONE, ENCODING, given, read_input
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.question import ExpressionQuestion, Read
from dwarfgpu.program.code.encoding_context import setting
from dwarfgpu.program.frames.lone_wave import context_of
from dwarfgpu.questions.document import NO_ANSWER, OK
from dwarfgpu.questions.expressions import bytes_of
from dwarfgpu.questions.selection import one_state

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.location_json import Outcome
    from dwarfgpu.program.code.encoding_context import EncodingContext

NEEDS_FILE = frozenset(("frame", "unit"))
"""What operations need of a program: its call frames, and its debugging information."""


def file_of_state(given_options: dict[str, Any]) -> str | None:
    """Return the code object that a snapshot names, where operations cannot be evaluated without it; else None."""
    from dwarfgpu.states.snapshot_files import code_paths

    options = SimpleNamespace(**given_options)
    if (options.ops is None) == (options.hex is None) or given(options, ALONE):
        return None
    machine = _waves(options)
    paths = code_paths(machine)
    if options.frame is None and paths:
        expression = _expression(options, setting(machine.target.name, options.dialect))
        if not any(step.operation.needs & NEEDS_FILE for step in expression.code):
            return None
    return paths[0] if paths else None


def evaluate(session: Session, given_options: dict[str, Any], cost: int) -> int:
    """Evaluate an expression, without any state or in a wave of one, and print the answer."""
    options = SimpleNamespace(**given_options)
    with budget.question(cost):
        names: dict[str, Any] = {}
        machine = index = None
        if options.state is not None:
            from dwarfgpu.program.frames.selectors import wave_of

            machine = _waves(options)
            index = wave_of(machine, options.wave)
            names["wave"] = machine.ids[index]
        elif options.wave is not None:
            message = "--wave chooses a wave of a snapshot, and no snapshot is given"
            raise UsageError(message, hint="name one with --state")
        question = _question(options, machine, index or 0)
        lane = question.context.lanes.lane
        if machine is not None and isinstance(lane, int) and (question.lanes is None or question.problem is not None):
            names["lane"] = lane
        tracer = None
        if options.trace:
            from dwarfgpu.render.trace import Tracer

            tracer = Tracer(question.context.target)
        outcomes = question.answer(tracer.record if tracer is not None else None)
        if session.wants_json:
            _show_json(session, question.json(outcomes, names), tracer)
        else:
            if tracer is not None:
                for line in tracer.lines():
                    session.print(line)
            _show_text(session, question, outcomes, names)
    return NO_ANSWER if any(each.error is not None for each in outcomes) else OK


def _waves(options: Any) -> Any:
    """Return the machine of the state: a snapshot, or a core file with the code that it names."""
    from dwarfgpu.states.opening import begins_json, is_elf, names_its_code, open_snapshot, open_with_its_code

    path = one_state(options.state)
    if (is_elf(path) or not begins_json(path)) and names_its_code([path]):
        return open_with_its_code([path]).machine
    hint = "an expression needs a snapshot, which has a schema, or a core file"
    return open_snapshot(path, read_input, force=options.force, hint=hint)


def _expression(options: Any, encoding: EncodingContext) -> Expression:
    return encoding.parsed(options.ops) if options.hex is None else encoding.decoded(bytes_of(options.hex))


def _question(options: Any, machine: Any, wave: int) -> ExpressionQuestion:
    """Return the question that the options ask, about a wave of a machine or about none."""
    from dwarfgpu.program.frames.selectors import lanes_of

    sizes = {name: getattr(options, name) for name in ENCODING[1:] if getattr(options, name) is not None}
    target = options.target or "generic"
    if machine is not None:
        if options.target is not None:
            raise UsageError("the target is that of the snapshot", hint="leave out --target")
        target = machine.target_name
        if machine.target.name == "generic":  # its name does not say how it stores and counts
            sizes |= {"byte_order": machine.target.byte_order, "address_size": machine.target.address_size}
    encoding = setting(target, options.dialect, options.rules, **sizes)
    problem, expression, read = None, encoding.decoded(b""), None
    try:
        expression = _expression(options, encoding)
        read = None if options.read is None else _read(options.read, encoding)
    except UsageError:
        raise
    except DwarfGpuError as error:  # it is the answer
        problem = error
    named = [] if options.lane is None else lanes_of(options.lane)
    asked: Any = tuple(range(encoding.target.lane_count)) if named == "all" else tuple(named)
    context = context_of(encoding, machine, wave, asked, options.want)
    written = None if options.write is None else bytes_of(options.write)
    lanes = None if len(asked) <= 1 and named != "all" else asked
    return ExpressionQuestion(expression, context, lanes, read, written, options.stack, problem)


def _read(text: str, encoding: EncodingContext) -> Read:
    """Return what is read of the result: a number of bytes, or a type such as `signed32`, `float64`, `unsigned8x4`."""
    from dwarfgpu.expr import types

    if text.isdecimal():
        if len(text) > 20:
            raise UsageError("a number of more than 20 digits cannot be read: at most 65536 bytes are")
        return Read(int(text))
    if text == "generic":
        return Read(type=types.generic(encoding.target.address_size))
    match = re.fullmatch(r"(bfloat|[A-Za-z_]+?)_?(\d{1,9})(?:x(\d{1,9}))?", text)
    name = "" if match is None else "bfloat16" if match[1] == "bfloat" and match[2] == "16" else match[1]
    if match is None or name not in types.ENCODINGS:
        message = f"{text!r} is neither a number of bytes nor a type"
        raise UsageError(message, hint="a type is generic, or an encoding and bits: signed32, float64, unsigned8x4")
    return Read(type=types.BaseType(name, int(match[2]), vector_size=int(match[3]) if match[3] else None))


def _show_json(session: Session, document: dict[str, Any], tracer: Any) -> None:
    if tracer is not None:
        document["trace"] = tracer.documents()
    others = {key: value for key, value in document.items() if key != "lanes"}
    by_lane = ({"lane": int(lane), **others, **one} for lane, one in document.get("lanes", {}).items())
    session.print_json(document, (lambda: by_lane) if "lanes" in document else "")


def _show_text(session: Session, question: ExpressionQuestion, outcomes: list[Outcome], names: dict[str, Any]) -> None:
    from dwarfgpu.expr.location_text import TextRenderer

    renderer = TextRenderer(question.context.target.byte_order)
    is_one = question.lanes is None or question.problem is not None
    width = len(str(max(question.lanes or (0,))))
    for lane, outcome in zip((None,) if is_one else question.lanes or (), outcomes, strict=True):
        if is_one and outcome.error is not None:
            raise outcome.error
        shown = names.get("lane") if is_one else lane
        wave = f"wave {names['wave']}" if "wave" in names else ""
        place = ", ".join(filter(None, (wave, "" if shown is None else f"lane {shown:>{width}}")))
        prefix = session.style("dim", f"{place}:") + " " if place else ""
        if outcome.error is not None:
            session.print(f"{prefix}{session.style('error', 'error:')} {outcome.error}")
            continue
        for number, entry in enumerate(outcome.stack):
            session.print(f"{prefix}{session.style('dim', f'stack {number}:')} {renderer.entry(entry)}")
        session.print(f"{prefix}{renderer.outcome(outcome)}")
