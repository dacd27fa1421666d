"""The question ``report``: a page about a file, and about the waves of a state."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.coverage.availability import FileAvailability, VariableAvailability
from dwarfgpu.audits.coverage.code_scope import CodeScope, distinct_names
from dwarfgpu.audits.coverage.sums import selector
from dwarfgpu.audits.verify.reports import check_file
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.instructions import Disassembler, ProgramCode
from dwarfgpu.program.code.kernel_parameters import DescribedKernel
from dwarfgpu.program.code.source_files import LineAt, SourceFile, SourceTexts
from dwarfgpu.program.frames.all_waves import by_place
from dwarfgpu.program.frames.lanes import UNUSED, Lanes, lanes_of_wave
from dwarfgpu.program.frames.wave_groups import Cohort, wave_groups, wave_runs
from dwarfgpu.questions.coverage import percent, strip_of, sum_of
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.sources import sources_of
from dwarfgpu.regular_files import whole_output
from dwarfgpu.render import report as html
from dwarfgpu.render.faults import fault_text, faults_in
from dwarfgpu.render.kernels import KERNEL_COLUMNS, kernel_row, kernel_text
from dwarfgpu.render.lanes import stop_text
from dwarfgpu.render.layout import WIDTH, counted, laid_out, ranges_text
from dwarfgpu.render.pictures import COLOURS, NOTHING, Strip, StripPart, heat_map_svg, heat_rows, kinds_of
from dwarfgpu.render.source_places import line_text, standing_text
from dwarfgpu.render.wave_map import lanes_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.program import Attached
    from dwarfgpu.states.stopped import Stopped

    Spans = Sequence[tuple[int, int]]

MAX_KERNELS, MAX_FIELDS = 400, 40
"""How many kernels are shown; where there are fewer than the second number, every field of them."""
MAX_FUNCTIONS, MAX_LISTED = 200, 4000
"""How many functions are shown with their variables and instructions, and how many by name."""
FEWEST_STRIPS, MOST_STRIPS, BYTES_OF_STRIP = 12, 200, 600
"""How many variables of a function are drawn: few where there are many functions; and what one takes of the page."""
MAX_MISSING = 20
"""How many source files that were not found are listed."""
FEWEST_INSTRUCTIONS, MOST_INSTRUCTIONS = 40, 4000
"""How many instructions of a function are shown: few where there are many functions."""
BYTES_OF_INSTRUCTION = 90
"""About how much of the page an instruction takes, with its line of the source."""
MAX_MAPS, MAX_WAVES, MAX_FRAMES = 16, 256, 64
MAX_PLACES, MAX_VARIABLES, MAX_VALUE_WAVES = 6, 12, 32
MOST_VALUES = 6
MAX_REASONS = 4
AROUND = 3
"""How many lines of the source are shown around a line that lanes are at."""
MAX_PROBLEMS, PROBLEM_ROOM = 100, 50_000
KERNEL_ROOM, FINDING_ROOM, LISTED_ROOM, STATE_ROOM = 300_000, 300_000, 650_000, 400_000
"""The bytes of the sections of the page, and of functions by name; functions with more have the rest."""


@laid_out(WIDTH)
def report(selection: Selection, arguments: Arguments) -> Document:
    file, attached = selection.opened.file, selection.attached
    output = arguments.get("o")
    if output is not None:
        names = [file.image.path, file.debug_path, None if attached is None else attached.stopped.name]
        for name in names:
            try:
                is_same = name is not None and os.path.samefile(name, output)
            except (OSError, ValueError):  # it does not exist yet
                continue
            if is_same:
                message = f"{output} cannot be written: the report is about this file"
                raise UsageError(message, kind="unwritable", hint="name another file")
    marks = _marks(attached, file)
    reader = _reader(selection, arguments.get("directories"))
    sections = [_kernels(file)]
    if attached is not None and attached.has_waves:
        sections[:0] = _faults(selection, attached.stopped, reader)
        sections += [_lanes(attached, reader), _stacks(attached), _values(attached)]
    elif attached is not None:
        sections.append(_stacks(attached))
    findings, verdict = _findings(file, selection.reading()["dialect"])
    room = html.MAX_PAGE - findings.size - PROBLEM_ROOM - sum(section.size for section in sections)
    functions, tiles = _functions(selection, arguments.text, room, marks, reader)
    tiles = [html.Tile("Target", file.target.target_id or file.target.target.name, file.target.reason), *tiles, verdict]
    if attached is not None:
        machine = attached.stopped.machine
        tiles.append(html.Tile("State", counted(len(attached), selection.noun), machine.target.name))
        if attached.has_waves:
            tiles += _stopped_tiles(machine)
    sections += [findings, functions]
    if selection.problems:
        sections.insert(0, _problems(selection.problems))
    title = file.name if "://" in file.name else file.name.rpartition("/")[2]
    lines = list(html.page(title, tiles, sections))
    if output is None:
        return Document({"file": file.name, "html": "\n".join(lines)}, lines, is_file=True)

    with whole_output(output, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return Document({"file": file.name, "written": output}, ())


def _stopped_tiles(machine: Any) -> Iterator[html.Tile]:
    """Yield how many waves have stopped, for each reason."""
    counts = Counter(stop.common for wave in range(machine.wave_count) if (stop := machine.stop_of(wave)) is not None)
    for stop, count in counts.most_common(MAX_REASONS):
        if stop.reasons:
            yield html.Tile("Stopped", counted(count, "wave"), stop.name + (f" ({stop.signal})" if stop.signal else ""))


def _reader(selection: Selection, directories: str | None) -> SourceTexts:
    """Return what reads source files: from some directories, or from those of the settings."""
    reader = sources_of(selection).reader
    if directories is not None:
        reader = SourceTexts()
        reader.directories = tuple(folder for folder in directories.split(":") if folder)
    return reader.for_page(selection.opened.file.name)


def _problems(errors: Iterable[DwarfGpuError]) -> html.PageSection:
    words = list(dict.fromkeys(str(error) for error in errors))
    section = html.PageSection("problems", "Problems", "problem", PROBLEM_ROOM, len(words))
    section.add(html.note("Not all of the file, or of the state, could be read. What follows is about the rest."))
    section.add(html.items(words[:MAX_PROBLEMS]))
    section.left_out = max(0, len(words) - MAX_PROBLEMS)
    return section


def _kernels(file: CodeObject) -> html.PageSection:
    kernels = file.kernels.kernels if file.is_amdgpu else ()
    section = html.PageSection("kernels", "Kernels", "kernel", KERNEL_ROOM, len(kernels))
    section.how_to_see = "`dwarfgpu kernels` shows all."
    if not kernels:
        section.add(html.note("The file has no kernels."))
        return section
    section.add(html.note("Code and memory in bytes; local memory is that of a work-group, private of a lane."))
    grid = html.grid(KERNEL_COLUMNS, map(kernel_row, kernels[:MAX_KERNELS]), numbers_from=1)
    section.add(grid if len(kernels) <= MAX_FIELDS else html.fold("All in one table", [grid]))
    if len(kernels) > 1:
        section.add(html.tools(section.name))
    for kernel in kernels[:MAX_KERNELS]:
        try:
            described = DescribedKernel(file, kernel)
            parts = [html.listing(kernel_text(described)[1:])]
            if len(kernels) <= MAX_FIELDS:
                fields = kernel_text(described, fields=True)
                parts.append(html.fold("Every field, and hidden arguments", [html.listing(fields)]))
        except DwarfGpuError as error:
            parts = [html.note(f"<{error.what}>")]
        section.add(html.fold(kernel.demangled, parts, is_name=True, is_open=len(kernels) == 1))
    section.left_out += max(0, len(kernels) - MAX_KERNELS)
    return section


def _functions(
    selection: Selection, name: str, room: int, marks: dict[int, str], reader: SourceTexts
) -> tuple[html.PageSection, list[html.Tile]]:
    """Return the section of functions, those that lack most first, and figures about them all."""
    file = selection.opened.file
    section = html.PageSection("functions", "Functions", "function", room)
    by_function: dict[CodeScope, list[VariableAvailability]] = {}
    is_wanted, reading = selector(name or None, None), selection.reading()
    if file.has_dwarf:
        for record in FileAvailability(file, dialect=reading["dialect"], repair=reading["repair"]):
            if record.scope is not None and is_wanted(record):
                by_function.setdefault(record.scope.function, []).append(record)
    if name and not by_function:
        hint = "`coverage` lists the functions with variables"
        raise NotFound("no_variable", f"no function `{name}` with variables has code in {file.name}", hint=hint)
    names = distinct_names(by_function)
    functions = [
        _ReportedFunction(names[scope], tuple(scope.spans), tuple(records), _unwinding(file, scope.spans))
        for scope, records in by_function.items()
    ]
    functions.sort(key=lambda function: sum(record.located - record.size for record in function.records))
    if not name:
        functions += _symbols(file, {low for scope in by_function for low, _high in scope.spans})
    lines = _SourceLines(selection.opened.state, reader)
    _add_functions(
        section, functions, _FunctionWriter(lines, marks, room // max(1, min(len(functions), MAX_FUNCTIONS)))
    )
    section.count = len(functions)
    if not file.has_dwarf:
        section.parts.insert(0, html.note("The file has no debugging information: no variables, and no source lines."))
    elif not functions:
        section.add(html.note("No function has code."))
    total = sum_of(record for function in functions for record in function.records)
    located = percent(total.share), f"of the scopes of {counted(total.variables, 'variable')}"
    size = sum(function.size for function in functions)
    unwound = sum(function.unwound for function in functions)
    return section, [
        html.Tile("Functions", str(len(functions)), f"{counted(size, 'byte')} of code"),
        html.Tile("Variables located", *(located if file.has_dwarf else ("-", "no debugging information"))),
        html.Tile("Code that unwinds", percent(unwound / size if size else None), "has call frame information"),
    ]


def _symbols(file: CodeObject, covered: set[int]) -> list[_ReportedFunction]:
    """Return the functions that only symbols tell of, or that have no variables."""
    known = {}
    for symbol in file.symbol_image.symbols():
        if symbol.type == "FUNC" and symbol.is_defined and symbol.size and symbol.value not in covered:
            spans = ((symbol.value, symbol.value + symbol.size),)
            known[symbol.value] = _ReportedFunction(symbol.demangled, spans, (), _unwinding(file, spans))
    return [known[low] for low in sorted(known)]


def _unwinding(file: CodeObject, spans: Spans) -> tuple[tuple[int, int, str], ...]:
    """Return the addresses with rows of call frame information that have rules, and what the rows say."""
    found: list[tuple[int, int, str]] = []
    for low, high in spans:
        place = low
        for start, end, words in sorted(_rows(file, low, high)):
            begin, behind = max(start, place), min(end, high)
            if behind > begin:
                place = behind
                if found and found[-1][1:] == (begin, words):
                    begin = found.pop()[0]
                found.append((begin, behind, words))
    return tuple(found)


def _rows(file: CodeObject, low: int, high: int) -> Iterator[tuple[int, int, str]]:
    try:
        for fde in file.frames.fdes_between(low, high):
            for row in file.frames.rows(fde):
                if not row.is_empty:
                    cfa = "CFA and " if row.cfa else "no CFA, "
                    yield row.start, row.end, f"{cfa}rules of {counted(len(row.registers), 'register')}"
    except DwarfGpuError:
        return  # the findings say what is wrong with it


@frozen
class _ReportedFunction:
    """A function on the page."""

    name: str
    spans: tuple[tuple[int, int], ...]
    records: tuple[VariableAvailability, ...]
    unwinding: tuple[tuple[int, int, str], ...]

    @property
    def size(self) -> int:
        return sum(high - low for low, high in self.spans)

    @property
    def unwound(self) -> int:
        """How many bytes have rules of call frames."""
        return sum(high - low for low, high, _words in self.unwinding)

    def facts(self, *, is_short: bool = False) -> list[str]:
        """Return what is said beside its name, as HTML, with pictures of the shares or without."""
        place = "no code" if not self.spans else f"{self.spans[0][0]:#x}, {counted(self.size, 'byte')}"
        variables = f"of {counted(len(self.records), 'variable')}" if self.records else "no variables"
        unwound = self.unwound / self.size if self.size else None
        shares = [(sum_of(self.records).share, variables), (unwound, "can be unwound")]
        return [
            html.text(place),
            *(html.share(number, percent(number), words, is_drawn=not is_short) for number, words in shares),
        ]

    def unwinding_strip(self) -> Strip:
        """Return where it can be unwound, as a strip over its addresses."""
        parts: list[StripPart] = []

        def add(begin: int, end: int, kind: str, words: str) -> None:
            if end > begin:
                parts.append(StripPart(end - begin, kind, f"{begin:#x}-{end:#x}: {words}"))

        for low, high in self.spans:
            place = low
            for begin, end, words in self.unwinding:
                if low <= begin < high:
                    add(place, begin, NOTHING, "no rules of call frames")
                    add(begin, end, "unwinding", words)
                    place = end
            add(place, high, NOTHING, "no rules of call frames")
        return Strip("call frames", tuple(parts), percent(self.unwound / self.size if self.size else None))


def _add_functions(section: html.PageSection, functions: list[_ReportedFunction], writer: _FunctionWriter) -> None:
    """Add the functions that have room with all that is known, and the others by name."""
    shown: list[str] = []
    kinds: dict[str, None] = {}
    room = section.room - (LISTED_ROOM if len(functions) > 1 else 0)
    for function in functions[:MAX_FUNCTIONS]:
        part = writer.html(function, kinds, is_open=not shown)  # one is open, to show what the others have
        room -= len(part.encode("utf-8", "replace"))
        if room < 0:
            break
        shown.append(part)
    rest = functions[len(shown) :]
    if functions:
        lead = "Where each variable of a function can be seen, address by address; below it which code can be unwound."
        if len(functions) > 1:
            lead += " Functions that lack most come first."
        section.add(html.note(lead))
        section.add(html.legend(name for name in COLOURS if name in kinds))
        section.add(html.tools(section.name, has_filter=len(functions) > 1))
    for part in shown:
        section.add(part)
    if rest:
        words = f"The page has room for {counted(len(shown), 'function')} with variables and instructions. "
        words += "`dwarfgpu report FILE NAME` shows those of one name."
        section.add(html.note(words))
    for number, function in enumerate(rest):
        if number == MAX_LISTED or not section.add(html.row(function.name, function.facts(is_short=True))):
            section.left_out = len(rest) - number
            section.how_to_see = "`dwarfgpu coverage FILE --json` lists all functions with variables."
            break
    missing = [f"{name}: {reason}" for name, reason in sorted(writer.lines.missing.items())]
    if len(missing) > MAX_MISSING:
        missing[MAX_MISSING:] = [f"and {len(missing) - MAX_MISSING} more files"]
    for name in missing:
        section.add(html.note(f"The source was not found: {name}"))


class _FunctionWriter:
    """Writes functions: strips, and instructions beside the source."""

    def __init__(self, lines: _SourceLines, marks: dict[int, str], room: int) -> None:
        self.lines = lines
        self.marks = marks
        self.code = ProgramCode(lines.state, Disassembler())
        self.most = min(MOST_INSTRUCTIONS, max(FEWEST_INSTRUCTIONS, room // 2 // BYTES_OF_INSTRUCTION))
        """How many instructions of a function are shown."""
        self.most_strips = min(MOST_STRIPS, max(FEWEST_STRIPS, room // 2 // BYTES_OF_STRIP))

    def html(self, function: _ReportedFunction, kinds: dict[str, None], *, is_open: bool) -> str:
        """Return one function; add the names of the colours that it has."""
        spans, records = function.spans, function.records
        strips = [*map(strip_of, records[: self.most_strips]), function.unwinding_strip()]
        kinds.update(dict.fromkeys(kinds_of(strips)))
        ends = (f"{spans[0][0]:#x}", f"{spans[-1][1]:#x}") if spans else ("", "")
        parts = []
        if len(spans) > 1:
            places = ", ".join(f"{low:#x}-{high:#x}" for low, high in spans[:8])
            parts.append(html.note(f"The code is in {len(spans)} parts: {places}"))
        parts.append(html.strip_rows(strips, ends, f"variables of {function.name} by address"))
        if len(records) > self.most_strips:
            more = counted(len(records) - self.most_strips, "more variable")
            parts.append(html.note(f"{more} not drawn: `dwarfgpu coverage FILE NAME` lists them."))
        parts.append(self._instructions(spans))
        return html.fold(function.name, parts, facts=function.facts(), is_name=True, is_open=is_open)

    def _instructions(self, spans: Spans) -> str:
        """Return the instructions beside the lines they come from, and the waves that are at them."""
        blocks: list[tuple[tuple[str, int | None, str], list[str]]] = []
        count = 0
        is_whole = True
        for low, high in spans:
            end = min(high, low + 8 * self.most)
            is_whole &= end == high
            try:
                listing = self.code.between(low, end)
            except DwarfGpuError as error:
                blocks.append((("", None, ""), [html.text(f"<{error.what}>")]))
                continue
            for instruction in listing.instructions:
                if count == self.most:
                    is_whole = False
                    break
                count += 1
                source = self.lines.at(instruction.address)
                if not blocks or blocks[-1][0] != source:
                    blocks.append((source, []))
                here = self.marks.get(instruction.address)
                mark = f'  <span class="here">\u25c0 {html.text(here)}</span>' if here else ""
                words = html.text(f"{instruction.address:#x}  {' '.join(instruction.text.split())}")
                blocks[-1][1].append(words + mark)
        rows = [html.SourceBlock(*source, tuple(lines)) for source, lines in blocks]
        parts = [html.source_table(rows, "instructions")]
        if not is_whole:
            more = "`dwarfgpu report FILE NAME` shows more, and `disassemble /s NAME` in `dwarfgpu debug FILE` all."
            parts.append(html.note(f"Only the first {counted(count, 'instruction')}: {more}"))
        marked = any(low <= address < high for low, high in spans for address in self.marks)
        return html.fold("Source and instructions", parts, is_open=marked and len(rows) < FEWEST_INSTRUCTIONS)


class _SourceLines:
    """Finds the line of the source for addresses."""

    def __init__(self, state: Execution, reader: SourceTexts) -> None:
        self.state = state
        self.reader = reader
        self.missing: dict[str, str] = {}
        """The files that were not found, with the reason."""

    def place(self, address: int) -> LineAt | None:
        """Return the line of an address."""
        try:
            return self.state.sources.at(address)
        except DwarfGpuError:
            return None

    def at(self, address: int) -> tuple[str, int | None, str]:
        """Return the name of a file, the line in it and its text, as far as they are known."""
        place = self.place(address)
        return ("", None, "") if place is None else (place.file.name, place.line, self.text(place.file, place.line))

    def text(self, file: SourceFile, line: int) -> str:
        """Return a line of a file; empty if it was not found."""
        source = self.reader.read(file)
        if source.missing:
            self.missing[file.name] = source.missing
        return (source.line(line) or "").expandtabs(4).rstrip()


def _marks(attached: Attached | None, file: CodeObject) -> dict[int, str]:
    """Return the waves that are in the code of a file, by the addresses of the file."""
    places: dict[int, str] = {}
    try:
        groups = wave_groups(attached.stopped) if attached is not None and attached.has_waves else ()
    except DwarfGpuError:  # the sections of the state say what is wrong
        return places
    for group in groups:
        code = None if attached is None or group.pc is None else attached.stopped.loaded.at(group.pc)
        if code is not None and group.pc is not None and code.file is file:
            places[code.in_file(group.pc)] = _waves_text(group.numbers)
    return places


def _waves_text(indices: Sequence[int]) -> str:
    numbers = [index + 1 for index in indices]
    return f"wave{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}"


def _findings(file: CodeObject, dialect: str | None) -> tuple[html.PageSection, html.Tile]:
    checked = check_file(file, dialect=dialect)
    command = "dwarfgpu verify FILE --all"
    section, figure = html.findings_section(checked.findings, checked.left_out or {}, FINDING_ROOM, command)
    if not checked.findings:
        section.add(html.note("`dwarfgpu verify` finds nothing wrong."))
    checks = f"{counted(checked.entries, 'entry', 'entries')} checked"
    idioms = sum(finding.idiom is not None for finding in checked.findings)
    if idioms and not checked.left_out:
        are_all = idioms == len(checked.findings)
        checks += f"; {'all findings' if are_all else idioms} are forms that the compiler always writes"
    return section, html.Tile("Findings", figure, checks)


# --- Waves ------------------------------------------------------------------------------------------------------------


def _faults(selection: Selection, stopped: Stopped, reader: SourceTexts) -> Iterator[html.PageSection]:
    """Yield why waves have stopped, if any has for a reason; the page of a crash begins with it."""
    section = html.PageSection("faults", "Why waves stopped", "place", STATE_ROOM)
    section.how_to_see = "`dwarfgpu fault S FILE` shows all."
    try:
        for fault in faults_in(stopped, reader, selection.call_writer):
            section.add(html.listing(fault_text(fault)))
    except DwarfGpuError as error:
        section.add(html.note(f"<{error.what}>"))
    if section.parts:
        yield section


def _lanes(attached: Attached, reader: SourceTexts) -> html.PageSection:
    """Return where lanes are: on the source, and as a map for each run of waves that are alike."""
    section = html.PageSection("lanes", "Lanes", "map", STATE_ROOM)
    section.how_to_see = "`dwarfgpu lanes FILE --state S --wave N --svg` draws the lanes of a wave."
    stopped = attached.stopped
    runs = wave_runs(stopped)
    known: dict[str, Lanes] = {}
    maps: list[str] = []
    for run in runs[:MAX_WAVES]:
        name = _waves_text(run.numbers)
        try:
            lanes = known[name] = lanes_of_wave(stopped, run.numbers[0])
        except DwarfGpuError as error:
            section.add(html.note(f"{name}: {error.what}"))
            continue
        if len(maps) < MAX_MAPS:
            drawn = lanes_svg(lanes, lanes.lanes, is_alone=False)
            maps.append(html.fold(f"Map of {name}", [html.picture(drawn, f"lanes of {name}")], is_open=not maps))
    for part in (*_lanes_on_source(known, _SourceLines(attached.state, reader)), *maps):
        section.add(part)
    section.left_out += max(0, len(runs) - len(maps))
    return section


def _lanes_on_source(known: dict[str, Lanes], source: _SourceLines) -> Iterator[str]:
    """Yield the lines that lanes of waves are at, with those around them where the source is found."""
    files: dict[str, tuple[SourceFile, dict[int, list[str]]]] = {}
    elsewhere: dict[str, list[str]] = {}
    for name, lanes in known.items():
        places: dict[tuple[int | None, str], list[int]] = {}
        for lane in lanes.lanes:
            if lane.state != UNUSED:
                places.setdefault((lane.pc, lane.state), []).append(lane.number)
        for (pc, state), numbers in places.items():
            words = f"{name}: {len(numbers)} {state}, lane{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}"
            place = None if pc is None else source.place(pc)
            if place is None:
                elsewhere.setdefault("place not known" if pc is None else f"{pc:#x}", []).append(words)
            else:
                files.setdefault(place.file.name, (place.file, {}))[1].setdefault(place.line, []).append(words)
    blocks: list[html.SourceBlock] = []
    for name, (file, lines) in sorted(files.items()):
        before = 0
        for line in sorted({line + offset for line in lines for offset in range(-AROUND, AROUND + 1)}):
            text = source.text(file, line)
            if line not in lines and not text:
                continue
            if before and line > before + 1 and text:
                blocks.append(html.SourceBlock(name, None, "...", ()))
            before = line
            blocks.append(html.SourceBlock(name, line, text, _some(lines.get(line, ()))))
    blocks += [html.SourceBlock("", None, where, _some(words)) for where, words in sorted(elsewhere.items())]
    if blocks:
        yield html.source_table(blocks, "lanes")
    for name, reason in sorted(source.missing.items()):
        yield html.note(f"The source was not found: {name}: {reason}")


def _some(words: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of the lanes at a line, as HTML, or the beginning if it is long."""
    shown = [f'<span class="here">{html.text(line)}</span>' for line in words[:MAX_MAPS]]
    if len(words) > MAX_MAPS:
        shown.append(f"and {len(words) - MAX_MAPS} more")
    return tuple(shown)


def _stacks(attached: Attached) -> html.PageSection:
    """Return the stacks of waves, equal ones once."""
    noun = "wave" if attached.has_waves else "thread"
    section = html.PageSection("stacks", "Stacks", "stack", STATE_ROOM)
    section.how_to_see = f"`dwarfgpu bt FILE --state S --wave all` shows those of all {noun}s."
    groups: dict[tuple[str, ...], list[int]] = {}
    for number in range(min(len(attached), MAX_WAVES)):
        frames: list[str] = []
        try:
            for level, frame in enumerate(islice(attached[number], MAX_FRAMES + 1)):
                source = frame.call.source
                place = "" if source is None else f" at {line_text(source)}"
                more = f"... (more than {MAX_FRAMES} frames)"
                frames.append(more if level == MAX_FRAMES else f"#{level}  {frame.name or '??'} (){place}")
        except DwarfGpuError as error:
            frames.append(f"<{error.what}>")
        groups.setdefault(tuple(frames), []).append(number + 1)

    for texts, numbers in groups.items():
        stops = [attached[number - 1].stop for number in numbers]
        reasons = dict.fromkeys(stop_text(stop) for stop in stops if stop is not None and stop.reasons)
        head = f"{counted(len(numbers), noun)}: {ranges_text(numbers)}{''.join(f', {reason}' for reason in reasons)}"
        section.add(html.fold(head, [html.listing(texts)], is_open=len(groups) <= 8))
    section.left_out += max(0, len(attached) - MAX_WAVES)
    return section


def _values(attached: Attached) -> html.PageSection:
    """Return the variables of the innermost frames in lanes and waves, as maps."""
    section = html.PageSection("values", "Values", "place", STATE_ROOM)
    section.how_to_see = "`dwarfgpu eval FILE NAME --state S --wave N --all` shows values."
    try:
        groups = wave_groups(attached.stopped)
    except DwarfGpuError as error:
        section.add(html.note(f"<{error.what}>"))
        return section
    section.add(html.note("Variables of the innermost frame: a row for each wave, a cell for each lane."))
    for group in groups[:MAX_PLACES]:
        where = standing_text(attached.stopped.loaded, group.pc)
        parts = list(_values_at(attached, group))
        left = len(group.numbers) - MAX_VALUE_WAVES
        if left > 0:
            parts.append(html.note(f"{counted(left, 'more wave')} at this place not drawn."))
        head = f"{_waves_text(group.numbers)} at {where}"
        section.add(html.fold(head[:1].upper() + head[1:], parts, is_open=group is groups[0]))
    section.left_out += max(0, len(groups) - MAX_PLACES)
    return section


def _values_at(attached: Attached, group: Cohort) -> Iterator[str]:
    waves = group.numbers[:MAX_VALUE_WAVES]
    try:
        variables = attached[waves[0]].frame(0).variables()
    except DwarfGpuError as error:
        yield html.note(f"No variables: {error.what}")
        return
    names = list(dict.fromkeys(variable.name for variable in variables if variable.name))
    for name in names[:MAX_VARIABLES]:
        try:
            rows = [row for _at, values in by_place(attached, (name,), waves=waves) for row in heat_rows(values)]
        except DwarfGpuError as error:
            yield html.note(f"{name}: {error.what}")
            continue
        yield f"<h3><code>{html.text(name)}</code></h3>"
        numbers = [cell.number for _name, of_wave in rows for cell in of_wave if cell.number is not None]
        if len(set(numbers)) <= 1:
            executing = [cell.text for _name, of_wave in rows for cell in of_wave if not cell.is_idle]
            yield html.note(_summed_up(executing) if executing else "No lane executes this code.")
            continue
        yield html.picture(heat_map_svg(f"{name} in lanes and waves", rows, is_alone=False), f"values of {name}")
    if not names:
        yield html.note("No variables here.")
    if len(names) > MAX_VARIABLES:
        yield html.note(f"{counted(len(names) - MAX_VARIABLES, 'more variable')} not drawn.")


def _summed_up(texts: Iterable[str]) -> str:
    """Return what a variable is in how many lanes, the most frequent value first."""
    counts = Counter(texts)
    words = [f"{value} in {counted(count, 'lane')}" for value, count in counts.most_common(MOST_VALUES)]
    return "; ".join(words) + ("; and others" if len(counts) > MOST_VALUES else "")
