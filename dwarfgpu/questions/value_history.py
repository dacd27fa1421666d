"""The values of an expression while a kernel runs: where they are written to, and `history EXPR` in the debugger."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.execution import session
from dwarfgpu.questions.optimized_code import source_hint
from dwarfgpu.regular_files import check_output, whole_output
from dwarfgpu.render.value_history import history_json, history_svg, history_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.control.value_history import ValueHistory
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


_ELEMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?=\[)")


def of_launch(running: Running, text: str) -> str:
    """Return an expression that counts from a buffer of the launch as one of this buffer wherever the waves are.

    Optimized code may have no place for the parameter, and functions that are called may have other variables of its
    name.
    """
    found = _ELEMENT.match(text)
    is_buffer = found is not None and found[1] in running.launched.addresses
    return text if found is None or not is_buffer else f'$_arg("{found[1]}"){text[found.end() :]}'


def new_history(running: Running, text: str, wave: int | None = None, lane: int | None = None) -> ValueHistory:
    """Return what looks at an expression, in one wave or lane if they are given; refuse one that cannot be read."""
    from dwarfgpu.execution.control.running import check_readable
    from dwarfgpu.execution.control.value_history import ValueHistory
    from dwarfgpu.program.code.scopes import names_within
    from dwarfgpu.program.language.tokens import UnknownName

    frames = running.program.at(running.launched.plan.kernel.entry or 0)
    try:
        check_readable(text, frames[-1] if frames else running.program.outside, lambda expression: expression.value())
    except UnknownName as error:
        units = running.program.file.dwarf.units
        if not any(error.name in names_within(unit.root) for unit in units):  # else of a block or another function
            raise
    return ValueHistory(running, text, wave, lane)


def check_path(path: str) -> None:
    """Refuse a file whose name does not end in .csv, .npz or .svg, or that cannot be written."""
    if not path.endswith((".csv", ".npz", ".svg")):
        raise UsageError(f"{path[:60]} does not end in .csv, .npz or .svg", hint="name FILE.csv, FILE.npz or FILE.svg")
    check_output(path)


def save_history(history: ValueHistory, path: str) -> None:
    """Write a line for each value (``.csv``), arrays of numpy (``.npz``), or a picture (``.svg``)."""
    from dwarfgpu.execution.control.value_history import csv_of, npz_of

    if path.endswith(".svg"):
        data = "".join(f"{line}\n" for line in history_svg(history.text, history.rows)).encode()
    else:
        data = csv_of(history.rows) if path.endswith(".csv") else npz_of(history.rows)
    with whole_output(path) as stream:
        stream.write(data)


def history(debugger: Debugger, arguments: Arguments) -> Document:
    if not arguments.text or arguments.text.lstrip("-").isdecimal():
        return _typed(debugger, arguments)
    debugging, path = session(debugger, arguments.command), arguments.get("to")
    past = debugging.history
    if not past.is_whole:
        raise UsageError("The launch cannot be run again: memory or registers were changed since.", kind="no_history")
    if path is not None:
        check_path(path)
    found = new_history(debugging.running, arguments.text, *_selected(debugger, arguments))
    try:
        with past.replayed(debugging.device.executed, found.observe):
            found.look()
    finally:
        found.stop()
    hint = source_hint("debug {}", debugging.attached, debugging.running.launched) if found.lacking else None
    if (problem := found.problem) is not None:
        problem.hint = hint
        raise problem
    if path is not None:
        save_history(found, path)
    document = Document(history_json(found), lambda _output: history_text(found, path))
    document.hints += [*hints_of(found), *filter(None, (hint,))]
    return document


def _selected(debugger: Debugger, arguments: Arguments) -> tuple[int | None, int | None]:
    """Return the wave and the lane that options name, or else those that are selected; None for all."""
    from dwarfgpu.program.frames.selectors import wave_named

    wave, lane = arguments.get("wave"), arguments.get("lane")
    if arguments.has("all"):
        return None, None
    if wave is not None:
        return wave_named(debugger.machine.stopped.machine, wave), lane
    return debugger.wave_number, debugger.lane if lane is None else lane


def hints_of(history: ValueHistory) -> list[str]:
    """Return what to ask for in place of an address."""
    text = history.text if history.text.isidentifier() else f"({history.text})"
    hints = [f"`*{text}` or `{text}[0]` is what it points to"] if history.rows and history.is_pointer else []
    return [*hints, "--lane N shows the values in one lane"] if history.rows and history.has_parts else hints


def _typed(debugger: Debugger, arguments: Arguments) -> Document:
    count = arguments.integer()
    if count is not None and count < 0:
        raise arguments.wrong("takes an expression, or a number of lines")
    lines = debugger.typed
    first = max(0, len(lines) - (10 if count is None else count))

    def text(_output: Any) -> Iterator[str]:
        for number, line in enumerate(lines[first:], first + 1):
            start, *rest = line.split("\n")
            yield f"{number:5}  {start}"
            yield from (f"{'':5}  {one}" for one in rest)

    return Document({"lines": lines[first:]}, text)
