"""``eval -ops`` and ``eval -hex``: an expression of DWARF in the frame that is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program import expressions
from dwarfgpu.render.layout import lanes_text, wrapped
from dwarfgpu.render.text import TextRenderer
from dwarfgpu.render.trace import Tracer

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments
    from dwarfgpu.program.variables.frame import Frame


def evaluate_operations(debugger: Debugger, arguments: Arguments, frame: Frame, lanes: Any) -> None:
    """Evaluate the operations, or the bytes, that the arguments have; lanes with one result are shown together."""
    where = expressions.of_frame(frame)
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
        found = expressions.evaluated(expression, frame, frame.lane_set(numbers))
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
