"""``dwarfgpu eval``: evaluate expressions of the source language, an expression of DWARF, or a file of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cli.registry import Command, argument
from dwarfgpu.cli.session import NO_ANSWER, OK, given, read_input
from dwarfgpu.cli.variables import COLUMNS, FORMAT, FRAME, LOCATION, PC, REPAIR
from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.cases.case import Case
    from dwarfgpu.cli.session import Session
    from dwarfgpu.expr.location_json import Outcome

ENCODING = (
    argument("--target", metavar="T", help="generic, x86_64, amdgcn-gfx90a, amdgcn-gfx1100-wave32, ..."),
    argument("--dialect", metavar="D", help="how operations are encoded (that of the target)"),
    argument("--address-size", type=int, metavar="N", help="bytes of an address, for generic (8)"),
    argument("--byte-order", choices=("little", "big"), help="for generic (little)"),
    argument("--offset-size", type=int, choices=(4, 8), help="DWARF format: 4 or 8 bytes (4)"),
    argument("--dwarf-version", type=int, metavar="N", help="of the unit the expression is in (5)"),
)
"""What an encoding depends on: the same options for every command that reads expressions."""

ARGUMENTS = (
    argument("file", nargs="?", metavar="FILE", help="a file, FILE@gfx90a, FILE@2, or a code object URI"),
    argument("expressions", nargs="*", metavar="EXPR", help='of the source language, such as "s->a[3] + 1"'),
    argument("--ops", metavar="TEXT", help='operations, such as "DW_OP_lit1; DW_OP_plus_uconst 4"'),
    argument("--hex", metavar="BYTES", help="the bytes of an expression"),
    argument("--cases", metavar="FILE", help="a case a line, answered as JSON a line"),
    argument(
        "--state", metavar="FILE", help="a snapshot, or registers, memory and the rest of a context as JSON"
    ),
    argument("--wave", metavar="N", help="the wave of a snapshot, by number from 1 or by id"),
    argument("--lane", metavar="N", help="one lane, a list such as 0,3,8-11, or all; for EXPR also active"),
    FRAME,
    PC,
    FORMAT,
    LOCATION,
    REPAIR,
    *COLUMNS,
    argument("--rules", metavar="R", help="dwarf5, amd or dwarf6 (those of the target)"),
    argument("--want", choices=("value", "location"), help="the kind the result must have"),
    argument(
        "--read", metavar="WHAT", help="also read the result: a number of bytes, or a type such as float32"
    ),
    argument("--write", metavar="BYTES", help="write bytes to the result first"),
    argument("--stack", action="store_true", help="show the whole final stack, the top last"),
    argument("--trace", action="store_true", help="show each operation with the stack before and after it"),
    argument("--force", action="store_true", help="use a state although its code has changed"),
    *ENCODING,
)

_ONE_EXPRESSION = (
    *(
        "state",
        "wave",
        "force",
        "lane",
        "rules",
        "want",
        "read",
        "write",
        "stack",
        "trace",
        "target",
        "dialect",
        "address_size",
    ),
    *("byte_order", "offset_size", "dwarf_version"),
)
"""The options that are about a single expression."""

_SOURCE = ("frame", "pc", "format", "location", "repair", "npz", "csv")
"""The options that are about expressions of the source language."""
_DWARF = (
    *("rules", "want", "read", "write", "stack"),
    *("target", "address_size", "byte_order", "offset_size", "dwarf_version"),
)
"""Those that are about an expression of DWARF."""

DESCRIPTION = """\
Evaluate expressions of the source language in a frame of a program: FILE EXPR... Where nothing else is said it is the
innermost frame, in the lanes that are active. Without a state, globals, constants and locations are known.

With --ops or --hex, evaluate an expression of DWARF against a machine state, for one lane or many.

The state is a snapshot (docs/snapshots.md), or a core file of FILE. For --ops and --hex it may also be a JSON file with
the `context` of a case or a case without its expression."""

EXAMPLES = (
    'dwarfgpu eval k.co x "s->a[3] + 1" --state stopped.json',
    "dwarfgpu eval k.co x --state stopped.dgs --wave 3 --frame 1 --lane all --location",
    'dwarfgpu eval k.co "sizeof(struct S)" global',
    'dwarfgpu eval --ops "DW_OP_lit1; DW_OP_plus_uconst 4"',
    'dwarfgpu eval --target amdgcn-gfx90a --lane all --ops "DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul"',
    "dwarfgpu eval --hex 9108 --state frame.json --trace",
    'dwarfgpu eval --state stopped.dgs --wave 3 --lane all --ops "DW_OP_regx v4"',
    "dwarfgpu eval --cases suite.jsonl",
)


def _eval(session: Session, options: Any) -> int:
    asked = given(options, ("ops", "hex", "cases"))
    if options.file is not None:
        return _source(session, options, asked)
    if len(asked) != 1:
        message = "FILE with expressions, or exactly one of --ops, --hex and --cases is needed"
        raise UsageError(message, hint="`dwarfgpu eval --help` shows examples")
    for name in given(options, _SOURCE):
        raise UsageError(f"{name} is for expressions of the source language", hint="name a FILE for them")
    if options.cases is not None:
        return _cases(session, options)
    return _one(session, options)


def _source(session: Session, options: Any, asked: list[str]) -> int:
    """Expressions of the source language."""
    from dwarfgpu.cli.variables import evaluate

    if asked:
        message = f"{asked[0]} does not go with expressions of the source language"
        raise UsageError(message, hint="leave out FILE and what follows it, or the option")
    for name in given(options, _DWARF):
        raise UsageError(f"{name} is for --ops, --hex and --cases")
    if not options.expressions:
        message = "an expression is missing"
        raise UsageError(
            message, hint=f"dwarfgpu eval {options.file} EXPR; `dwarfgpu locals` shows all variables"
        )
    return evaluate(session, options)


# --- Case files ---------------------------------------------------------------------------------------------------


def _cases(session: Session, options: Any) -> int:
    from dwarfgpu.cases.case import run_case
    from dwarfgpu.cli.cases import answer_cases

    for name in given(options, _ONE_EXPRESSION):
        raise UsageError(f"{name} does not go with --cases: each case says it for itself")
    return answer_cases(session, options.cases, run_case)


# --- One expression -----------------------------------------------------------------------------------------------


def _one(session: Session, options: Any) -> int:
    from dwarfgpu.cases import question
    from dwarfgpu.cases.case import answer_case

    state = None
    if options.state is not None:
        state = question.open_state(options.state, read_input, force=options.force)
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
            session.print_lines(tracer.lines())
        _show_text(session, case, outcomes)
    return NO_ANSWER if any(one is None or one.error is not None for one in outcomes.values()) else OK


def _question(options: Any) -> dict[str, Any]:
    """The options as keys of a case."""
    from dwarfgpu.program.stack.selectors import lanes_of

    asked: dict[str, Any] = (
        {"ops": options.ops} if options.ops is not None else {"expr": hex_digits(options.hex)}
    )
    for key in ("target", "dialect", "rules", "want"):
        if getattr(options, key) is not None:
            asked[key] = getattr(options, key)
    if options.write is not None:
        asked["write"] = hex_digits(options.write)
    asked.update(encoding_keys(options))
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


def hex_digits(text: str) -> str:
    """The hex digits of bytes, which may stand apart and begin with 0x."""
    digits = "".join(text.split()).removeprefix("0x")
    try:
        bytes.fromhex(digits)
    except ValueError:
        message = f"{text!r} is not bytes: an even number of hex digits is needed"
        raise UsageError(message) from None
    return digits


def encoding_keys(options: Any) -> dict[str, Any]:
    """The keys of a case for the options that an encoding depends on."""
    names = ("address_size", "byte_order", "offset_size", "dwarf_version")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _read(text: str) -> dict[str, Any]:
    from dwarfgpu.cases import question

    if text.isdecimal():
        return {"bytes": int(text)}
    described = question.type_of(text)
    if described is None and text != "generic":
        message = f"{text!r} is neither a number of bytes nor a type"
        raise UsageError(
            message, hint="a type is generic, or an encoding and bits: signed32, float64, unsigned8x4"
        )
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
    wave = "" if case.wave is None else f"wave {case.wave}"
    if None in outcomes:
        outcome = outcomes[None]
        if outcome is not None and outcome.error is not None:
            raise outcome.error
        if outcome is not None:
            lane = case.context.lanes.lane if case.wave is not None else None
            names = ", ".join(name for name in (wave, "" if lane is None else f"lane {lane}") if name)
            prefix = session.style("dim", f"{names}:") + " " if names else ""
            _show_stack(session, renderer, outcome, prefix)
            session.print(f"{prefix}{renderer.outcome(outcome)}")
        return
    width = len(str(max(outcomes, default=0)))
    for lane, outcome in outcomes.items():
        name = session.style("dim", f"{wave}{', ' if wave else ''}lane {lane:>{width}}:")
        if outcome is None or outcome.error is not None:
            error = outcome.error if outcome is not None else None
            session.print(f"{name} {session.style('error', 'error:')} {error}")
            continue
        _show_stack(session, renderer, outcome, f"{name} ")
        session.print(f"{name} {renderer.outcome(outcome)}")


def _show_stack(session: Session, renderer: Any, outcome: Outcome, prefix: str) -> None:
    for number, entry in enumerate(outcome.stack):
        session.print(f"{prefix}{session.style('dim', f'stack {number}:')} {renderer.entry(entry)}")


COMMANDS = {
    "eval": Command(
        DESCRIPTION,
        ARGUMENTS,
        _eval,
        EXAMPLES,
    )
}
