"""The values of an expression while a kernel runs: where they are written to, and `history EXPR` in the debugger."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.execution import session
from dwarfgpu.questions.optimized_code import source_hint
from dwarfgpu.regular_files import check_output, whole_output
from dwarfgpu.render.layout import Record, counted, fact, fitted, ranges_text, room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.control.value_history import PastValue, ValueHistory, Writers
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
    """Refuse a file whose name does not end in .csv or .npz, or that cannot be written."""
    if not path.endswith((".csv", ".npz")):
        raise UsageError(f"{path[:60]} does not end in .csv or .npz", hint="name FILE.csv or FILE.npz")
    check_output(path)


def save_history(history: ValueHistory, path: str) -> None:
    """Write a line for each value (``.csv``), or arrays of numpy (``.npz``)."""
    from dwarfgpu.execution.control.value_history import csv_of, npz_of

    with whole_output(path) as stream:
        stream.write(csv_of(history.rows) if path.endswith(".csv") else npz_of(history.rows))


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
        with past.replayed(debugging.device.executed, found):
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


# --- History as text and JSON -----------------------------------------------------------------------------------------


MOST_OF_TEXT = 20
"""The rows that text shows."""
MOST_BESIDE_FILE = 10
"""The rows that text shows where a file has all."""


def values_text(values: Sequence[Any], *, is_pointer: bool = False, is_of_lane: bool = False) -> str:
    """Return the values of lanes that have one: ``7`` where all have the same, else ``{[0-31]=1, [32]=5}``.

    ``is_of_lane``: a single lane was asked for, which needs no number.
    """
    number = hex if is_pointer else _number
    lanes: dict[Any, list[int]] = {}
    for lane, value in enumerate(values):
        if value is not None:
            lanes.setdefault(_known(value), []).append(lane)
    if len(lanes) == 1 and (is_of_lane or None not in values):
        return number(next(iter(lanes)))
    return f"{{{', '.join(f'[{ranges_text(found)}]={number(value)}' for value, found in lanes.items())}}}"


def _known(value: Any) -> Any:
    """Return a value; of a NaN, which equals nothing, always the same object."""
    return math.nan if value != value else value  # noqa: PLR0124


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _place(row: PastValue) -> str:
    return "(before)" if row.position is None else _line(row.position)


def _line(position: CodePosition) -> str:
    return f"{(position.file or '').rpartition('/')[2]}:{position.line}"


def _of_place(name: str) -> Callable[[PastValue], Any]:
    return lambda row: None if row.position is None else getattr(row.position, name)


def _writers(writers: Writers | None) -> str:
    return "; ".join(f"{wave} lane{'s'[: len(lanes) > 1]} {ranges_text(lanes)}" for wave, lanes in writers or ())


def _waves(waves: Sequence[str]) -> str:
    return ", ".join(waves[:2]) + (f" and {len(waves) - 2} more" if len(waves) > 2 else "")


def _record(
    *, is_pointer: bool = False, is_of_lane: bool = False, has_declarations: bool = False, has_writers: bool = False
) -> Record:
    text = partial(values_text, is_pointer=is_pointer, is_of_lane=is_of_lane)
    return Record(
        fact("time", "instructions", side="r"), fact("waves", "wave", text=_waves),
        fact("", "line", value=_place), *(fact(name, value=_of_place(name)) for name in ("file", "line", "function")),
        fact("writers?*", "written by" if has_writers else None, text=_writers),
        fact("declared", "declared at" if has_declarations else None),
        fact("values", "value", lambda row: row.values.tolist(), text),
    )  # fmt: skip


PAST = _record()


def history_text(history: ValueHistory, path: str | None = None, flag: str = "-to") -> Iterator[str]:
    """Yield the first rows of a history; the option ``flag`` names a file for all of them."""
    if history.problem is not None:
        yield from fitted(history.problem.message, 4)
        return
    most = MOST_OF_TEXT if path is None else MOST_BESIDE_FILE
    where = " where a line begins (changes in between are not shown)"
    where = ": a row for each store that changed them" if history.is_shared else where
    where += " (weak memory: late stores have the line before they were seen)" if history.sees_late else ""
    yield from fitted(f"the values of {history.text}{where}", 4)
    declared = history.declarations
    if len(declared) > 1:
        name = history.text if history.text.isidentifier() else f"a name in {history.text}"
        yield from fitted(f"{name} means different variables, declared at {'; '.join(declared)}", 4)
    rows = _merged(history.rows)
    shown = rows[:most]
    record = _record(
        is_pointer=history.is_pointer, is_of_lane=history.lane is not None, has_declarations=len(declared) > 1,
        has_writers=any(row.writers for row in shown),
    )  # fmt: skip
    yield from record.lines(shown, width=room())
    if history.stored_again is not None:
        position, writers = history.stored_again
        yield from fitted(f"  the last store, at {_line(position)}, changed nothing: {_writers(writers)}", 4)
    if history.is_never_stored:
        yield f"  nothing was stored to {history.text}"
    more = len(rows) + history.left - most
    if more > 0:
        all_rows = f"; {flag} FILE.csv writes all" if path is None else ""
        yield from fitted(f"  ... and {counted(more, 'more row')}{all_rows}", 6)
    if path is not None:
        yield f"written: {path}"
    if history.gap is not None:
        yield from fitted(history.gap, 4)
    if left := [f"lanes {ranges_text(lanes)} of {_waves(waves)}" for lanes, waves in history.lacks_last.items()]:
        yield from fitted(f"the last value may be missing in {'; '.join(left[:most])}{' ...' * (len(left) > most)}", 4)


def _merged(rows: Sequence[PastValue]) -> list[PastValue]:
    """Return rows that differ in nothing but the wave as one."""
    found: dict[Any, list[PastValue]] = {}
    for row in rows:
        same = row.time, _of_place("file")(row), _of_place("line")(row), row.declarations, row.writers
        found.setdefault((*same, *map(_known, row.values.tolist())), []).append(row)
    return [evolve(same[0], waves=tuple(wave for row in same for wave in row.waves)) for same in found.values()]


def history_json(history: ValueHistory) -> dict[str, Any]:
    """Return a history as JSON."""
    problem: dict[str, Any] = {} if history.problem is None else {"problem": history.problem.message}
    problem |= {} if history.gap is None else {"incomplete": history.gap}
    missing = [{"waves": waves, "lanes": lanes} for lanes, waves in history.lacks_last.items()]
    problem |= {"last_value_missing": missing} if missing else {}
    rows = [*map(PAST.json, _merged(history.rows))]
    return {"expression": history.text, "rows": rows, "rows_left_out": history.left, **problem}
