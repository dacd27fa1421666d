"""Kernels that run, as text and JSON: where they stop, what one wave does, and what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.demangle import demangled
from dwarfgpu.execution.control.report import FIRST_ELEMENTS, QuotedText
from dwarfgpu.lanes import lanes_in
from dwarfgpu.render.layout import (
    Record,
    counted,
    fact,
    fitted,
    folded,
    lanes_text,
    nested,
    number,
    packed,
    ranges_text,
    room,
    shortened,
    shown,
    style,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.execution.control.profile import ProfiledLine
    from dwarfgpu.execution.control.report import BufferPreview, EndlessLoop, RunReport, StoppedLine, StoppedWave
    from dwarfgpu.execution.control.seeds import SeedGroup, SeedReport, SeedResult
    from dwarfgpu.execution.control.tracing import TracedStep
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.render.layout import Json

MAX_WAVES = 8
"""The waves of a halt that are shown, and the results of several seeds."""
MAX_VALUE = 60
"""The characters of a value in the condition of a loop."""
OPTIMIZED = (
    "(optimized code: only lines with values are shown; loads and stores are what the lane did, and variables what the "
    "debugging information says, which compilers get wrong: `dwarfgpu judge` checks that)"
)
"""Comes before a trace of optimized code."""
MAX_LINES = 20
"""The lines of a profile that are shown."""


# --- Where it stopped ---------------------------------------------------------------------------------------------


def report_text(report: RunReport, faults: Sequence[str] = (), findings: Iterable[str] = ()) -> Iterator[str]:
    """Yield what a run has come to, with the lines of its faults and of what checks have found."""
    halt = report.halt
    name = style("name", demangled(report.kernel))
    is_asked = halt.breakpoint is not None and halt.breakpoint.number == 0  # the run was asked to stop there
    if halt.has_ended:
        waves = "the wave has" if report.waves_ended == 1 else f"all {report.waves_ended:,} waves have"
        yield from folded(f"{name}: {waves} ended after {report.instructions:,} instructions", room(), 2)
    elif faults:
        yield from faults
        yield _counts(report)
    else:
        from dwarfgpu.render.lanes import group_words, items_text

        where = "" if report.position is None else f" {'to' if is_asked else 'at'} {report.position}"
        reason = halt.reason if not report.has_failed else style("error", halt.reason)
        yield from folded(f"{name}: {reason}{where}", room(), 2)
        file = None if report.position is None else report.position.file
        for wave in report.waves[:MAX_WAVES]:
            parts = [
                f"  wave {wave.id}",
                group_words(wave.work_group, file),
                lanes_text(wave.lanes) if wave.lanes else "",
            ]
            parts.append("" if wave.work_items is None else items_text(wave.lanes, wave.work_items, wave.origin, file))
            yield from fitted(", ".join(filter(None, parts)), 4)
        more = len(report.waves) - MAX_WAVES
        if more > 0:
            yield f"  ... and {counted(more, 'more wave')} (--json has all)"
        if report.loop is not None:
            yield from loop_text(report.loop)
        if report.line is not None:
            yield from _line_text(report.line)
        yield f"  {_counts(report)}"
    for buffer in report.buffers:
        yield from folded(_elements_text(buffer, None if is_shown_whole(buffer) else FIRST_ELEMENTS), room(), 2)
    if report.profile is not None:
        yield ""
        yield from profile_text(report.profile)
    yield from findings
    if report.profile_file is not None:
        yield f"written: {report.profile_file}"
    if report.snapshot is not None:
        yield f"snapshot: {report.snapshot}"


def _counts(report: RunReport) -> str:
    ended = f"{report.waves_ended:,} of {report.wave_count:,} waves have ended"
    return f"{ended}, {report.instructions:,} instructions were executed"


def _line_text(line: StoppedLine) -> Iterator[str]:
    """Yield the line of the source where waves have stopped, and the values in it."""
    yield f"  {line.number}\t{shown(line.text.strip())}"
    if line.values:
        values = (shown(f"{name} = {_value_text(value)}") for name, value in line.values)
        yield from (f"  {part}" for part in packed((f"wave {line.wave + 1}, lane {line.lane}:", *values), room(2), 2))


def loop_text(loop: EndlessLoop) -> Iterator[str]:
    """Yield the lines of a loop that waves do not leave, the line of its condition, and the values there."""
    first, last = loop.first, loop.last
    lines = f"{first.file}:{first.line}" if first.file else f"at {first}"
    yield f"  the loop: {lines}{f' to {last.line}' if last.line != first.line else ''}"
    if loop.text is not None:
        yield f"  {loop.end.line}\t{loop.text.strip()}"
    values = "  ".join(f"{name} = {_value_text(value)}" for name, value in loop.values)
    if values:
        yield f"  {values}"
    for place, waves in loop.waiting.items():
        who = f"wave {waves[0]} waits" if len(waves) == 1 else f"wave {waves[0]} and {len(waves) - 1:,} more wait"
        yield from fitted(f"  {who} at the barrier of {f'{place.file}:{place.line}' if place.line else place}", 4)


def loop_json(loop: EndlessLoop) -> dict[str, Any]:
    """Return a loop as JSON."""
    return {
        "first": POSITION.json(loop.first), "last": POSITION.json(loop.last), "end": POSITION.json(loop.end),
        "text": loop.text, "values": _values_json(loop.values),
        "waiting": [POSITION.json(place) | {"waves": waves} for place, waves in loop.waiting.items()],
    }  # fmt: skip


def _values_json(values: Iterable[tuple[str, Object]]) -> dict[str, str]:
    return {name: _value_text(value) for name, value in values}


def is_shown_whole(buffer: BufferPreview) -> bool:
    """Return whether all elements of a buffer are shown: those that were named, a few, or those of one line."""
    is_given = buffer.is_part or len(buffer.first) <= FIRST_ELEMENTS
    return buffer.is_whole and (is_given or len(folded(_elements_text(buffer), room())) == 1)


def _elements_text(buffer: BufferPreview, most: int | None = None) -> str:
    more = "" if buffer.is_whole and most is None else ", ..."
    path = f" -> {buffer.path}" if buffer.path else ""
    first = ", ".join(map(_element_text, buffer.first[:most]))
    objects = f" = {buffer.objects}" if buffer.objects else ""
    shape = " x ".join(map(str, buffer.shape))
    return f"{style('name', buffer.name)} = {{{first}{more}}} ({shape} {buffer.type}{objects}){path}"


def _element_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_element_text(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"{{{', '.join(map(_element_text, value))}}}"
    if isinstance(value, QuotedText):
        return f'"{shown(value)}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def report_json(
    report: RunReport, printed: list[str], faults: Sequence[Json] = (), findings: Json | None = None
) -> Json:
    """Return what a run has come to as JSON, with that of its faults and of what checks have found."""
    halt = report.halt
    data: dict[str, Any] = {
        "kernel": report.kernel,
        "grid": list(report.grid),
        "work_group": list(report.work_group),
        "stop": {
            "kind": halt.kind,
            "reason": halt.reason,
            **(POSITION.json(report.position) if report.position is not None else {}),
            "waves": [*map(STOPPED.json, report.waves)],
            **({} if report.loop is None else {"loop": loop_json(report.loop)}),
            **({} if report.line is None else {"source": STOPPED_LINE.json(report.line)}),
        },
        "waves": report.wave_count,
        "waves_ended": report.waves_ended,
        "instructions": report.instructions,
        "printed": "".join(printed),
        "buffers": [*map(BUFFER.json, report.buffers)],
        "notices": list(report.notices),
    }  # fmt: skip
    if faults:
        data["faults"] = [*faults]
    if report.profile is not None:
        data["profile"] = [*map(_counted(report.profile).json, report.profile)]
    if findings is not None:
        data["check"] = findings
    if report.profile_file is not None:
        data["profile_file"] = report.profile_file
    if report.snapshot is not None:
        data["snapshot"] = report.snapshot
    return data


def _value_text(value: Object) -> str:
    """Return a value in one line."""
    from dwarfgpu.render.values import value_line

    return value_line(value, MAX_VALUE)


def _global_ids(wave: StoppedWave) -> Any:
    from dwarfgpu.render.lanes import global_ids

    return global_ids(wave.work_items, wave.origin)


POSITION = Record("pc=address# function=place file line?")
STOPPED_LINE = Record("text wave lane", fact("values", value=lambda line: _values_json(line.values)))
STOPPED = Record("id work_group", fact("lanes", value=lambda wave: lanes_in(wave.lanes)), "work_items",
                 fact("global_ids", value=_global_ids))  # fmt: skip
BUFFER = Record("name type shape first file=path")


# --- Several seeds ------------------------------------------------------------------------------------------------


def seeds_hint(report: SeedReport) -> str:
    """Return what leads to the cause where results differ, with the first seed that has others."""
    other = min(group.seeds[0] for result in report.differing for group in result.groups[1:])
    return f"--check=race without seeds may find the cause; --{report.option} {other} runs one that differs"


def seeds_text(report: SeedReport) -> Iterator[str]:
    """Yield how many runs there were, and with which seeds which results differ."""
    runs, differing = len(report.seeds), report.differing
    seeds = f"seed{'s' if runs > 1 else ''} {ranges_text(report.seeds)}"
    ended = f"{counted(runs, 'run')} with {seeds}, {'all have' if report.ended == runs else f'{report.ended}'} ended"
    yield f"{style('name', demangled(report.kernel))}: {ended}"
    for result in differing:
        yield f"{style('name', result.name)} {style('error', 'differs')} between seeds"
        for group in result.groups[:MAX_WAVES]:
            what = "the others are compared with it" if not group.count else _difference(result, group)
            yield from fitted(f"  seed{'s' if len(group.seeds) > 1 else ''} {ranges_text(group.seeds)}: {what}", 4)
        if len(result.groups) > MAX_WAVES:
            yield f"  ... and {counted(len(result.groups) - MAX_WAVES, 'more result')} (--json has all)"
    if not differing:
        yield "all results are the same"


def _difference(result: SeedResult, group: SeedGroup) -> str:
    """Return the first difference from the first seed, which need not be right."""
    if group.element is None:
        return shown(shortened(repr(group.value), MAX_VALUE))
    more = f"{counted(group.count, 'element')} differ{'s' if group.count == 1 else ''}"
    first = f"{group.first_value} with seed {result.groups[0].seeds[0]}"
    return f"{result.name}[{group.element}] is {group.value}, and {first} ({more})"


SEED_GROUP = Record("seeds differing=count element value first_value")
SEED_RESULT = Record("name", fact("differs", value=lambda result: len(result.groups) > 1), nested("groups", SEED_GROUP))
SEED_REPORT = Record("kernel option seeds ended", nested("results", SEED_RESULT))


# --- What one wave does -------------------------------------------------------------------------------------------


class TraceWriter:
    """Writes the steps of a trace, with a heading where the line of the source changes.

    In optimized code the instructions of lines are mixed, so only lines with values are shown there.
    """

    def __init__(self) -> None:
        self._line: tuple[str | None, int] | None = None
        self._heading: list[str] = []
        """That of the latest line, until it is shown."""
        self._has_begun = False

    def lines(self, step: TracedStep) -> Iterator[str]:
        """Yield the lines of a step."""
        position = step.position
        if step.text is None:
            yield from self._lines_of_source(step)
            return
        if (position.file, position.line) != self._line:
            self._line = position.file, position.line
            where = f"{position.file}:{position.line}" if position.file else position.place or "no line"
            yield f"{style('name', where)}, {lanes_text(step.active)}"
            yield from _source_line(step)
        changed = "  ".join([f"{name} = {value}" for name, value in step.results])
        changed += "" if step.idle is None else f"{'  ' * bool(changed)}(lane {step.idle} is inactive)"
        result = f"  # {changed}" if changed else ""
        yield f"  {position.address:#x}  {step.text}{style('dim', result)}"

    def _lines_of_source(self, step: TracedStep) -> Iterator[str]:
        """Yield what the line before has done, and the heading of a line."""
        passed, results = step.results[: step.passed], step.results[step.passed :]
        values = [*_named(passed), *_named(step.read, "reads "), *_named(results)]
        if step.returned is not None:
            values += fitted(f"    returns {shown(step.returned)}", 6)
        if values:
            yield from self._heading
        yield from values
        if step.is_optimized and not self._has_begun:
            yield from folded(OPTIMIZED, room(), 2)
        self._has_begun = True
        position = step.position
        function = "" if position.function is None else f" in {position.inlined or position.function}"
        at = f"{style('name', shown(f'{position.file}:{position.line}'))}{shown(function)}"
        lanes = lanes_text(step.active)
        heading = [*fitted(f"{at}, {lanes}", 4)]
        if len(heading) > 1:  # the place stays in one line, for grep
            heading = [f"{at},", *fitted(f"    {lanes}", 4)]
        self._heading = [*heading, *_source_line(step)]
        if not step.is_optimized:
            yield from self._heading
            self._heading = []


def _source_line(step: TracedStep) -> Iterator[str]:
    if step.source is not None:
        yield f"{step.position.line}\t{shown(step.source.strip())}"


def _named(values: Iterable[tuple[str, str]], head: str = "") -> Iterator[str]:
    texts = (shown(f"{name} = {value}") for name, value in values)
    for line in packed(texts, room(4 + len(head)), 2):
        yield f"    {head}{line}"
        head = " " * len(head)


STEP = Record(
    "pc=position.address# function=position.place inlined=position.inlined file=position.file",
    "line=position.line? instruction=text",
    fact("lanes", value=lambda step: lanes_in(step.active)),
    fact("results", value=lambda step: dict(step.results)),
    "source?",
    fact("read?", value=lambda step: dict(step.read) or None),
    "returned?",
    "inactive_lane=idle?",
)


# --- What was counted ---------------------------------------------------------------------------------------------


def profile_text(rows: tuple[ProfiledLine, ...]) -> Iterator[str]:
    """Yield a profile: the lines with most instructions."""
    yield from _counted(rows).lines(rows, MAX_LINES, "line", width=room())


def _counted(rows: tuple[ProfiledLine, ...]) -> Record:
    """Return what is counted of a line, beside what all lines have."""
    total = sum(row.counts.instructions for row in rows) or 1
    return Record(
        fact("", "line", _line),
        "file line? function",
        number("instructions=counts.instructions", "instructions"),
        fact("", "share", lambda row: f"{100 * row.counts.instructions / total:.1f}%", side="r"),
        "active_lanes=counts.lanes",
        fact("", "active", lambda row: f"{100 * row.active_share:.1f}%", side="r"),
        fact("active_share", value=lambda row: round(row.active_share, 6)),
        number("accesses=counts.accesses", "accesses"),
        number("transactions=counts.transactions", "transactions"),
        number("bank_turns=counts.bank_turns", "banks"),
    )


def _line(row: ProfiledLine) -> str:
    if row.file:
        return f"{row.file.rpartition('/')[2]}:{row.line}"
    return f"{row.function} (no line)" if row.function else "no line"
