"""Commands about instructions: ``disassemble``, and what ``x/i`` shows."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.code.instructions import Disassembler, ListedInstruction, Listing, ProgramCode
from dwarfgpu.questions.document import ASSEMBLY, Document, Output
from dwarfgpu.questions.sources import (
    InstructionLines,
    function_json,
    function_offset,
    numbered_lines,
    padded_bytes,
    places_of,
)
from dwarfgpu.questions.waves import masks_by
from dwarfgpu.render.layout import problem_json, shown, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.code.source_files import LineAt, SourceFile
    from dwarfgpu.program.frames.linespec import CodeSpan
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments

MODIFIERS = "mrs"
Row: TypeAlias = "tuple[ListedInstruction, str, str]"
"""An instruction, its text and its bytes as text."""


class CodeCursor:
    """What commands about instructions keep."""

    def __init__(self) -> None:
        self.disassembler = Disassembler()
        self.told: set[str] = set()
        """What was said about the disassembler."""


def code_of(debugger: Debugger) -> ProgramCode:
    """Return the code of the program, read by the disassembler that the settings name."""
    kept = debugger.state_of(CodeCursor)
    if kept.disassembler.chosen != debugger.settings["disassembler"]:
        kept.disassembler = Disassembler(debugger.settings["disassembler"])
        kept.told.clear()
    return ProgramCode(debugger.frame.state, kept.disassembler)


def instructions_before(debugger: Debugger, address: int, count: int) -> Listing:
    """Return the instructions from the beginning of the function on: where else one begins is not known."""
    instructions: tuple[ListedInstruction, ...] = ()
    problem = None
    places = places_of(debugger)
    while len(instructions) < count:
        end = instructions[0].address if instructions else address
        span = next((stretch for stretch in places.stretches_at(end - 1) if stretch.low < end <= stretch.high), None)
        if span is None:
            break
        listing = code_of(debugger).between(span.low, end)
        instructions, problem = listing.instructions + instructions, listing.problem or problem
    if not instructions and count:
        message = f"No function contains the address before {address:#x}."
        raise UsageError(message, kind="no_function", hint="instructions are read onwards from a beginning")
    return Listing(instructions[-count:], problem)


def problem_lines(debugger: Debugger, listing: Listing, output: Output) -> Iterator[str]:
    """Say why there are no instructions, unless that was said before."""
    told, problem = debugger.state_of(CodeCursor).told, listing.problem
    if problem is not None and problem.message not in told:
        told.add(problem.message)
        yield from _told(problem, output)


def disassemble(debugger: Debugger, arguments: Arguments) -> Document:
    for letter in arguments.format:
        if letter not in MODIFIERS:
            raise arguments.wrong(f"has no modifier {letter!r}: /r shows bytes, /s and /m source lines")
    low_text, comma, high_text = arguments.text.partition(",")
    places = places_of(debugger)
    stretches: list[tuple[int, int, CodeSpan | None]]
    if comma:
        low = places.address(low_text)
        after = high_text.strip()
        high = low + places.address(after[1:]) if after.startswith("+") else places.address(after)
        if high <= low:
            raise UsageError(f"there is no code from {low:#x} to {high:#x}", kind="no_range")
        stretches = [(low, high, None)]
        head = f"from {low:#x} to {high:#x}"
    else:
        spans = _function(debugger, arguments.text.strip())
        stretches = [(span.low, span.high, span) for span in spans]
        head = f"for function {shown(spans[0].name)}"
    code = code_of(debugger)
    listings = [(code.between(low, high), low, high, span) for low, high, span in stretches]
    problem = listings[-1][0].problem

    def lines(output: Output) -> Iterator[str]:
        yield f"Dump of assembler code {head}:"
        for listing, low, high, span in listings:
            if len(listings) > 1:
                yield f"Address range {low:#x} to {high:#x}:"
            yield from _lines(debugger, arguments, listing, span, output)
        yield "End of assembler dump."
        if problem is not None:
            yield from _told(problem, output)

    def documents() -> Iterator[dict[str, Any]]:
        for listing, low, high, span in listings:
            function = None if span is None else span.name
            rows = instructions_json(debugger, listing.instructions)
            yield {"function": function, "low": low, "high": high, "instructions": rows}

    data = {"ranges": documents(), "problems": [] if problem is None else [problem_json(problem)]}
    return Document(data, lines, rows=lambda: chain.from_iterable(part["instructions"] for part in documents()))


def instructions_json(debugger: Debugger, rows: Iterable[ListedInstruction]) -> Iterator[dict[str, Any]]:
    """Yield instructions, each with its source line and the lanes that are there."""
    names = names_for(debugger)
    lanes, sources = standing_at(debugger), debugger.frame.state.sources
    for row in rows:
        at, mask = sources.at(row.address), lanes.get(row.address, 0)
        yield {
            "address": row.address,
            **function_json(debugger, row.address),
            "bytes": row.data.hex(),
            "text": names.text(row),
            "target": row.target,
            "source": None if at is None else {"file": at.file.name, "line": at.line},
            "is_frame": row.address == debugger.frame.pc,
            **({"lanes": f"{mask:#x}"} if mask else {}),
        }


def _function(debugger: Debugger, text: str) -> list[CodeSpan]:
    """Return the stretches of the function that a text means: by name, or by an address in it."""
    places = places_of(debugger)
    if not text:
        frame = debugger.frame
        if frame.place is None:
            raise UsageError("No frame selected.", kind="no_frame", hint="name a function or an address")
        stretches = places.stretches_at(frame.place)
        message = "No function contains program counter for selected frame."
    else:
        stretches = places.stretches_at(places.address(text.removeprefix("*")))
        message = "No function contains specified address."
    if not stretches:
        raise UsageError(message, kind="no_function", hint="FIRST,LAST or FIRST,+LENGTH shows a range")
    return stretches


def _told(problem: DwarfGpuError, output: Output) -> Iterator[str]:
    hint = f" ({problem.hint})" if problem.hint else ""
    return (output.style("hint", line) for line in wrapped(f"{problem.message}{hint}", output.width))


def names_for(debugger: Debugger, function: CodeSpan | None = None) -> InstructionLines:
    """Return what writes instructions with the names of functions."""
    return InstructionLines(
        debugger.frame.state.target.address_size, lambda address: function_offset(debugger, address), function
    )


def standing_at(debugger: Debugger) -> dict[int, int]:
    """Return the addresses of the lanes of the wave, each with a mask of the lanes."""
    return masks_by(debugger, lambda lane: lane.pc)


def _lines(
    debugger: Debugger, arguments: Arguments, listing: Listing, function: CodeSpan | None, output: Output
) -> Iterator[str]:
    """Yield instructions, with what was asked for beside them."""
    names = names_for(debugger, function)
    pc = debugger.frame.pc
    lanes = standing_at(debugger)
    rows = listing.instructions
    texts = output.code(ASSEMBLY, [names.text(instruction) for instruction in rows])
    raw = padded_bytes(rows) if "r" in arguments.format else [""] * len(rows)
    sources = _source_lines(debugger, rows) if "s" in arguments.format else {}
    table = list(zip(rows, texts, raw, strict=True))
    if "m" in arguments.format:
        table, sources = _by_line(debugger, table)
    for instruction, text, data in table:
        yield from sources.get(instruction.address, ())
        mark = "=> " if instruction.address == pc else " * " if instruction.address in lanes else "   "
        if mark.strip():
            mark = output.style("kind", mark)
        yield f"{mark}{names.head(instruction.address)}\t{data}{text}"
    if "m" in arguments.format:
        yield ""


def _by_line(debugger: Debugger, table: list[Row]) -> tuple[list[Row], dict[int, list[str]]]:
    """Return the instructions of the file that the first one is of, line after line, and what is before each line."""
    sources = debugger.frame.state.sources
    by_line: dict[int, list[Row]] = {}
    file: SourceFile | None = None
    for row in table:
        at = sources.at(row[0].address)
        file = file or (None if at is None else at.file)
        if at is not None and at.file is file:
            by_line.setdefault(at.line, []).append(row)
    shown_lines: dict[int, list[str]] = {}
    last = 0
    for line in sorted(by_line):
        assert file is not None  # noqa: S101 (the lines are its lines)
        blank = [""] if shown_lines else []
        shown_lines[by_line[line][0][0].address] = [
            *blank,
            *_numbered(debugger, file, last + 1 if last else line, line),
        ]
        last = line
    return [row for line in sorted(by_line) for row in by_line[line]], shown_lines


def _source_lines(debugger: Debugger, rows: Sequence[ListedInstruction]) -> dict[int, list[str]]:
    """Return the source lines that are shown before instructions, by the address of the instruction."""
    sources = debugger.frame.state.sources
    places: list[tuple[int, LineAt]] = []
    for instruction in rows:
        at = sources.at(instruction.address)
        if at is not None and (not places or (at.file, at.line) != (places[-1][1].file, places[-1][1].line)):
            places.append((instruction.address, at))
    with_code = {(at.file.path, at.line) for _, at in places}
    file: SourceFile | None = None
    shown_lines: dict[int, list[str]] = {}
    last = 0
    for address, at in places:
        lines = [""] if shown_lines else []
        least = last + 1
        if file is not at.file:
            file = at.file
            lines.append(f"{shown(file.name)}:")
            least = at.line if shown_lines else at.first
        first = at.line
        while least < first and (file.path, first - 1) not in with_code:
            first -= 1  # lines without code belong to the code behind them
        lines += _numbered(debugger, file, first, at.line)
        shown_lines[address] = lines
        last = at.line
    return shown_lines


def _numbered(debugger: Debugger, file: SourceFile, first: int, last: int) -> list[str]:
    return numbered_lines(debugger, file, first, last) or [f"{last}\tin {shown(file.name)}"]
