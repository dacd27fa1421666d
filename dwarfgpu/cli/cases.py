"""Files of cases (docs/files.md), and an expression of DWARF as a case of its own: what needs no program."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.cli.session import ALONE, ENCODING, MAX_REPORTED, given, read_input, read_lines
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import BAD_FILE, NO_ANSWER, OK

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cases.case import Case
    from dwarfgpu.cli.session import Session
    from dwarfgpu.expr.location_json import Outcome

SECTIONS = {"cfi": "run_frame_case", "lists": "run_list_case"}
"""The commands whose cases are sections in hex, and the functions that answer them."""


def sections(session: Session, name: str, path: str) -> int:
    """Answer the cases of `cfi --cases FILE` or `lists --cases FILE`."""
    from dwarfgpu.cases import section_cases

    return answer_cases(session, path, getattr(section_cases, SECTIONS[name]))


def answer_cases(
    session: Session, path: str, run: Callable[[object, int], dict[str, Any]], cost: int = budget.DEFAULT
) -> int:
    """Answer every case of a file in order, and report lines that are not cases."""
    import json

    from dwarfgpu.cases.case import parse_line
    from dwarfgpu.strict_json import NotACase

    bad = 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            with budget.question(cost):
                session.out.write(f"{json.dumps(run(parse_line(line, number), number))}\n")
        except NotACase as error:
            bad += 1
            if bad <= MAX_REPORTED:
                session.report(error, path)
        session.out.flush()  # a program may wait for the answer before it writes the next case
    if bad > MAX_REPORTED:
        session.err.write(f"dwarfgpu: error: {path}: and {bad - MAX_REPORTED} more lines that are not cases\n")
    return BAD_FILE if bad else OK


# --- An expression without a program ------------------------------------------------------------------------------


def evaluate(session: Session, given_options: dict[str, Any], cost: int) -> int:
    """Answer a file of cases, or evaluate an expression against a machine state."""
    options = SimpleNamespace(**given_options)
    if options.cases is None:
        with budget.question(cost):
            return _one(session, options)
    from dwarfgpu.cases.case import run_case

    for name in given(options, ("state", "wave", "force", "lane", "trace", "dialect", *ALONE)):
        raise UsageError(f"{name} does not go with --cases: each case says it for itself")
    return answer_cases(session, options.cases, run_case, cost)


NEEDS_FILE = frozenset(("frame", "unit"))
"""What operations need of a program: its call frames, and its debugging information."""


def file_of_state(given_options: dict[str, Any]) -> str | None:
    """Return the code object that a snapshot names, where operations cannot be evaluated without it; else None."""
    from dwarfgpu.cases import question
    from dwarfgpu.program.code.encoding_context import setting
    from dwarfgpu.questions.expressions import bytes_of
    from dwarfgpu.questions.selection import one_state
    from dwarfgpu.states.snapshot_files import code_paths

    options = SimpleNamespace(**given_options)
    if (options.ops is None) == (options.hex is None) or given(options, ALONE):
        return None
    state = question.open_state(one_state(options.state), read_input, force=options.force)
    if isinstance(state, dict):
        return None
    paths = code_paths(state)
    if options.frame is None and paths:
        context = setting(state.target.name, options.dialect)
        expression = context.decoded(bytes_of(options.hex)) if options.ops is None else context.parsed(options.ops)
        steps = expression.code
        if not any(step.operation.needs & NEEDS_FILE for step in steps):
            return None
    return paths[0] if paths else None


def _one(session: Session, options: Any) -> int:
    from dwarfgpu.cases import question
    from dwarfgpu.cases.case import answer_case
    from dwarfgpu.questions.selection import one_state

    state = None
    if options.state is not None:
        state = question.open_state(one_state(options.state), read_input, force=options.force)
    if state is None or isinstance(state, dict):
        if options.wave is not None:
            message = "--wave chooses a wave of a snapshot, and no snapshot is given"
            raise UsageError(message, hint="name one with --state")
        case = question.ask(_question(options), state, options.state or "")
    else:
        case = question.ask_machine(_question(options), state, options.wave)
    tracer = None
    if options.trace:
        from dwarfgpu.render.trace import Tracer

        tracer = Tracer(case.target)
    answer = answer_case(case, tracer.record if tracer is not None else None)
    outcomes: dict[Any, Outcome | None] = {**answer.by_lane} if answer.by_lane else {None: answer.outcome}
    if session.wants_json:
        _show_json(session, answer, tracer)
    else:
        if tracer is not None:
            for line in tracer.lines():
                session.print(line)
        _show_text(session, case, outcomes)
    return NO_ANSWER if any(one is None or one.error is not None for one in outcomes.values()) else OK


def _question(options: Any) -> dict[str, Any]:
    """Return the options as keys of a case."""
    from dwarfgpu.program.frames.selectors import lanes_of
    from dwarfgpu.questions.expressions import bytes_of

    asked: dict[str, Any] = {"ops": options.ops} if options.ops is not None else {"expr": bytes_of(options.hex).hex()}
    for key in ("target", "dialect", "rules", "want"):
        if getattr(options, key) is not None:
            asked[key] = getattr(options, key)
    if options.write is not None:
        asked["write"] = bytes_of(options.write).hex()
    asked |= {name: getattr(options, name) for name in ENCODING[1:] if getattr(options, name) is not None}
    if options.stack:
        asked["stack"] = True
    if options.read is not None:
        asked["read"] = _read(options.read)
    if options.lane is not None:
        lanes = lanes_of(options.lane)
        if len(lanes) == 1 and isinstance(lanes, list):
            asked["context"] = {"lane": lanes[0]}
        else:
            asked["lanes"] = lanes
    return asked


def _read(text: str) -> dict[str, Any]:
    from dwarfgpu.cases import question

    if text.isdecimal():
        if len(text) > 20:
            raise UsageError("a number of more than 20 digits cannot be read: at most 65536 bytes are")
        return {"bytes": int(text)}
    described = question.type_of(text)
    if described is None and text != "generic":
        message = f"{text!r} is neither a number of bytes nor a type"
        raise UsageError(message, hint="a type is generic, or an encoding and bits: signed32, float64, unsigned8x4")
    return {"type": described or text}


def _show_json(session: Session, answer: Any, tracer: Any) -> None:
    from dwarfgpu.cases.case import answer_json

    document = answer_json(answer)
    del document["id"]
    if tracer is not None:
        document["trace"] = tracer.documents()
    if session.as_lines and "lanes" in document:
        for lane, one in document.pop("lanes").items():
            session.print_json({"lane": int(lane), **document, **one})
    else:
        session.print_json(document)


def _show_text(session: Session, case: Case, outcomes: dict[Any, Outcome | None]) -> None:
    from dwarfgpu.expr.location_text import TextRenderer

    renderer = TextRenderer(case.target.byte_order)
    width = len(str(max(case.lanes or (0,))))
    for asked, outcome in outcomes.items():
        if outcome is None:
            continue
        if asked is None and outcome.error is not None:
            raise outcome.error
        lane = case.context.lanes.lane if asked is None and case.wave is not None else asked
        wave = "" if case.wave is None else f"wave {case.wave}"
        names = ", ".join(filter(None, (wave, "" if lane is None else f"lane {lane:>{width}}")))
        prefix = session.style("dim", f"{names}:") + " " if names else ""
        if outcome.error is not None:
            session.print(f"{prefix}{session.style('error', 'error:')} {outcome.error}")
            continue
        for number, entry in enumerate(outcome.stack):
            session.print(f"{prefix}{session.style('dim', f'stack {number}:')} {renderer.entry(entry)}")
        session.print(f"{prefix}{renderer.outcome(outcome)}")
