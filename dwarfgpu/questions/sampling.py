"""The question ``annotate``: what samples of a profiler say of the code that they were taken in."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.samples.annotation import Annotation, annotate
from dwarfgpu.audits.samples.sample_files import read_samples
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.locations import Implicit
from dwarfgpu.questions import profiles
from dwarfgpu.questions.document import NO_ANSWER, Document, Output
from dwarfgpu.render.layout import Record, counted, fact, folded, left_out, number, room, style
from dwarfgpu.render.values import value_line
from dwarfgpu.states.program import open_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.samples.annotation import Annotation, HotInstruction, HotLine
    from dwarfgpu.audits.samples.sample_files import SampleCounts
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def annotate_(selection: Selection, arguments: Arguments) -> Document:
    path, *words = arguments.words or [""]
    if not path:
        raise arguments.wrong("needs a file of samples")
    programs = [open_program(word) for word in words] or [selection.opened]
    for program in programs:
        if not program.file.is_amdgpu:
            raise UsageError(f"{program.file.name} is not a code object of a GPU", hint="name one: FILE@gfx90a")
    annotation = annotate(read_samples(path), programs)
    if arguments.form == "html":  # a page is sent to others: it has no files from elsewhere
        annotation.texts = annotation.texts.for_page(*(program.file.name for program in programs))
    files = ", ".join(program.file.name.rpartition("/")[2] for program in programs)
    if arguments.has("profile-format"):
        return _profile(annotation, arguments.get("profile-format"))
    document = Document(annotation_json(annotation), lambda _output: annotation_text(annotation, files), rows="lines")
    if not annotation.placed:
        document.status = NO_ANSWER
        document.hints.append(f"no sample of {annotation.samples.path} is of this code: name the file that was sampled")
    if annotation.samples.first_broken:
        document.hints.append(f"{annotation.samples.path}: {annotation.samples.first_broken}")
    return document


def _profile(annotation: Annotation, kind: str) -> Document:
    content = profiles.written(annotation.stacks(), kind)

    def write(output: Output) -> Iterator[str]:
        if output.binary is None:
            raise UsageError(f"{kind} is not written to a terminal", hint="write -o FILE")
        output.binary.write(content)
        return iter(())

    if kind == profiles.PPROF:
        return Document({"profile_format": kind, "bytes": len(content)}, write, is_file=True)
    text = content.decode()
    return Document({"profile_format": kind, "profile": text}, text.splitlines(), is_file=True)


# --- Text and JSON ----------------------------------------------------------------------------------------------------


MAX_LINES, MAX_LOOPS, MAX_HOT, MAX_VARIABLES = 20, 12, 4, 12
"""How many lines, loops and instructions the text shows, and how many variables of an instruction."""
MAX_JSON_HOT = 64
"""How many instructions have their variables in JSON."""
MAX_REASONS = 3
MAX_VALUE = 40


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else ""


def _reasons(counts: SampleCounts, most: int = MAX_REASONS) -> str:
    """Return why most of the waves did not go on: ``WAITCNT 62%, SLEEP_WAIT 8%``, of all samples there."""
    return ", ".join(f"{name} {100 * count / counts.samples:.0f}%" for name, count in counts.reasons.most_common(most))


def _record(annotation: Annotation, *head: Any, tail: Any = "") -> Record:
    """Return what is counted, beside what all samples have."""
    total, lanes = annotation.placed, annotation.lane_count
    facts = [
        *head,
        number("samples=counts.samples", "samples"),
        fact("", "share", lambda row: _share(row.counts.samples, total), side="r"),
        "active_lanes=counts.lanes",
        fact("", "active", lambda row: _share(row.counts.lanes, row.counts.samples * lanes), side="r"),
    ]
    if annotation.has_stalls:
        facts += [
            "issued=counts.issued stalled=counts.stalled",
            fact("stall_reasons", value=lambda row: dict(row.counts.reasons.most_common())),
            fact("", "stalled", lambda row: _share(row.counts.stalled, row.counts.samples), side="r"),
            fact("", "why", lambda row: _reasons(row.counts, 1)),
        ]
    return Record(*facts, tail)


def _line_name(row: HotLine) -> str:
    return f"{row.file.rpartition('/')[2]}:{row.line}" if row.file else row.function or "no line"


def _records(annotation: Annotation) -> tuple[Record, Record, Record]:
    """Return the records of lines, of loops and of instructions."""
    text = fact("text", "source", text=lambda text: (text or "").strip())
    has_text = any(row.text for row in annotation.lines())
    tail = text if has_text else "text"
    lines = _record(annotation, fact("", "line", _line_name), "file line? function", tail=tail)
    loops = _record(
        annotation,
        fact("", "loop", lambda row: f"{'  ' * row.depth}{_loop_name(row)}"),
        "low# high# depth function file first_line=first? last_line=last?",
    )
    instructions = _record(annotation, "address#", fact("instruction", value=lambda row: row.text), "calls")
    return lines, loops, instructions


def _loop_name(loop: Any) -> str:
    if not loop.file or not loop.first:
        return f"{loop.function or ''} {loop.low:#x}-{loop.high:#x}".strip()
    last = f"-{loop.last}" if loop.last != loop.first else ""
    return f"{loop.file.rpartition('/')[2]}:{loop.first}{last}"


def _call_text(call: SourceCall) -> str:
    source = call.source
    where = f" ({source.file}:{source.line}:{source.column})" if source is not None and source.line else ""
    return f"{call.function or call.linkage_name or 'code without a name'}{where}"


def _place_of(variable: Variable) -> str:
    """Return where a variable of lane 0 is, ``v3`` or ``private_lane#0x8``; the operations if these need a state."""
    with suppress(DwarfGpuError):
        place = variable.location(0).single
        if place is not None and isinstance(place.storage, Implicit):
            return f"always {value_line(variable.object(0), MAX_VALUE)}"
        return TextRenderer(variable.frame.target.byte_order).entry(variable.location(0))
    found = variable.locations_here()
    return found[0].repaired or found[0].operations if found else "a constant"


def _left_out(annotation: Annotation) -> Iterator[str]:
    for reason, count in annotation.left_out.most_common():
        yield f"{counted(count, 'sample')} {reason}"


# --- Text -----------------------------------------------------------------------------------------------------------


def annotation_text(annotation: Annotation, files: str) -> Iterator[str]:
    """Yield what samples say: lines of the source, loops, and the instructions with most of them."""
    samples, width = annotation.samples, room()
    head = f"{samples.path}: {annotation.placed:,} of {counted(samples.count, 'sample')} are of {files}"
    yield from folded(head, width, 2)
    yield from (f"  left out: {text}" for text in _left_out(annotation))
    if annotation.shared:
        yield from folded(
            f"  {counted(annotation.shared, 'sample')} fit several instructions of a line, and count at the first",
            width,
            4,
        )
    lines, loops, _instructions = _records(annotation)
    rows = annotation.lines()
    if rows:
        yield ""
        yield from lines.lines(rows, MAX_LINES, "line", width=width)
    around = annotation.loops()
    if around:
        yield ""
        yield from loops.lines(around, MAX_LOOPS, "loop", width=width)
    for each in annotation.instructions[:MAX_HOT]:
        yield ""
        yield from _instruction_text(annotation, each)


def _instruction_text(annotation: Annotation, each: HotInstruction) -> Iterator[str]:
    counts, width = each.counts, room()
    share = _share(counts.samples, annotation.placed)
    why = f": {_reasons(counts)}" if counts.reasons else ""
    yield from folded(f"{style('name', f'{each.address:#x}')}  {each.text}", width, 4)
    yield f"  {counted(counts.samples, 'sample')}, {share}{why}"
    for depth, call in enumerate(each.calls):
        inlined = "inlined into" if depth and each.calls[depth - 1].inlined else "in"
        yield from folded(f"  {inlined} {_call_text(call)}", width, 4)
    for variable in each.variables[:MAX_VARIABLES]:
        yield from folded(f"  {variable.name}: {_place_of(variable)}", width, 4)
    yield from left_out(len(each.variables), MAX_VARIABLES, "variable")


# --- JSON -----------------------------------------------------------------------------------------------------------


def annotation_json(annotation: Annotation) -> dict[str, Any]:
    """Return what samples say as JSON."""
    lines, loops, instructions = _records(annotation)
    samples = annotation.samples
    return {
        "samples_file": samples.path, "method": samples.method, "samples": samples.count, "placed": annotation.placed,
        "left_out": dict(annotation.left_out.most_common()), "shared": annotation.shared,
        "lane_count": annotation.lane_count,
        "lines": [*map(lines.json, annotation.lines())],
        "loops": [*map(loops.json, annotation.loops())],
        "instructions": (
            {**instructions.json(each), **({} if place >= MAX_JSON_HOT else _details_json(each))}
            for place, each in enumerate(annotation.instructions)
        ),
    }  # fmt: skip


def _details_json(each: HotInstruction) -> dict[str, Any]:
    variables = [{"name": variable.name, "location": _place_of(variable)} for variable in each.variables]
    return {"variables": variables}
