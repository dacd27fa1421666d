"""The question ``report``: a page about a file, and about the waves of a state."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.document import Document
from dwarfgpu.render import report as html
from dwarfgpu.render.layout import counted, ranges_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.coverage.availability import VariableAvailability
    from dwarfgpu.program.coverage.code_scope import CodeScope
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.stack.execution import Execution
    from dwarfgpu.program.stack.lanes import Lanes
    from dwarfgpu.program.stack.wave_groups import WaveGroup
    from dwarfgpu.program.variables.answers import LaneAnswer, Values
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.render.pictures import HeatRow, Strip

MAX_KERNELS, MAX_FUNCTIONS, MAX_STRIPS, MAX_INSTRUCTIONS, MAX_ROWS = 200, 200, 40, 400, 200
MAX_OF_RULE = 20
"""How many findings of one rule are listed."""
MAX_MAPS, MAX_WAVES, MAX_FRAMES = 16, 256, 64
MAX_PLACES, MAX_VARIABLES, MAX_VALUE_WAVES = 6, 12, 32
KERNEL_ROOM, FINDING_ROOM, STATE_ROOM = 300_000, 300_000, 500_000
"""The bytes of each section of the page; the functions have the rest."""


def report(selection: Selection, arguments: Arguments) -> Document:
    """A page of HTML in one file, which needs no network: what the kernels start with, where the variables of functions
    can be seen, the source beside the instructions, call frame information and the findings of `verify`. With a state
    also where the lanes are, the stacks of the waves, and the values of variables as maps and histograms.

    With FUNCTION, the functions are those of that name. The page has a limit of 3 MB; it says what was left out.
    """
    file = selection.opened.file
    state = selection.opened.state
    sections = [_kernels(file), *_state_sections(selection.attached)]
    findings, summary = _findings(file, selection.reading()["dialect"])
    room = html.MAX_PAGE - findings.size - sum(section.size for section in sections)
    functions, share = _functions(file, state, arguments.text, room, selection.reading())
    sections[1:1] = [functions, findings]
    target = file.target
    lead = [f"Target: {target.target_id} ({target.target.name}), {target.reason}.", share, summary]
    if selection.attached is not None:
        noun = "wave" if selection.attached.has_waves else "thread"
        lead.append(f"State: {counted(len(selection.attached), noun)}.")
    title = f"{file.name.rpartition('/')[2]}: report of dwarfgpu"
    lines = list(html.page(title, lead, sections))
    data = {"file": file.name, "html": "\n".join(lines)}
    return Document(data, lines, problems=file.problems)


# --- Kernels ----------------------------------------------------------------------------------------------------------


def _kernels(file: CodeObject) -> html.Section:
    from dwarfgpu.program.code.kernel_parameters import parameters_of, with_parameters
    from dwarfgpu.render.kernels import kernel_text

    section = html.Section("kernels", "Kernels", KERNEL_ROOM)
    kernels = file.kernels.kernels if file.is_amdgpu else ()
    for kernel in kernels[:MAX_KERNELS]:
        try:
            lines = kernel_text(with_parameters(file, kernel), parameters=parameters_of(file, kernel), fields=True)
        except DwarfGpuError as error:
            lines = [f"<{error.what}>"]
        section.add(html.fold(f"{kernel.demangled}", [html.listing(lines)], is_open=len(kernels) == 1))
    section.left_out += max(0, len(kernels) - MAX_KERNELS)
    if not kernels:
        section.add(html.note("The file has no kernels."))
    return section


# --- Functions --------------------------------------------------------------------------------------------------------


def _functions(
    file: CodeObject, state: Execution, name: str, room: int, reading: dict[str, Any]
) -> tuple[html.Section, str]:
    """Return the section of functions, those that lack most first, and a sentence about them all."""
    from dwarfgpu.errors import NotFound
    from dwarfgpu.program.coverage.availability import FileAvailability
    from dwarfgpu.program.coverage.sums import Tally, selector
    from dwarfgpu.render.coverage import percent

    section = html.Section("functions", "Functions", room)
    if not file.has_dwarf:
        section.add(html.note("The file has no debugging information."))
        return section, "No debugging information."
    by_function: dict[CodeScope, list[VariableAvailability]] = {}
    tally = Tally()
    is_wanted = selector(name or None, None)
    for record in FileAvailability(file, dialect=reading["dialect"], repair=reading["repair"]):
        if is_wanted(record):
            tally.add(record)
            if record.scope is not None:
                by_function.setdefault(record.scope.function, []).append(record)
    if name and not by_function:
        raise NotFound("no_variable", f"no function `{name}` with variables has code in {file.name}")
    covered = {low for function in by_function for low, _high in function.spans}
    plain = [] if name else _symbols(file, covered)
    ordered = sorted(by_function.items(), key=lambda item: sum(record.located - record.size for record in item[1]))
    writer = _FunctionWriter(file, state)
    for function, records in ordered[:MAX_FUNCTIONS]:
        total = Tally()
        for record in records:
            total.add(record)
        if not section.add(writer.html(function.name, function.spans, records, percent(total.sum().share))):
            break
    shown = len(section.parts)
    for symbol_name, low, high in plain[: max(0, MAX_FUNCTIONS - shown)]:
        if not section.add(writer.html(symbol_name, [(low, high)], [], "")):
            break
        shown += 1
    section.left_out = len(ordered) + len(plain) - shown
    if not ordered and not plain:
        section.add(html.note("No function has code."))
    total_sum = tally.sum()
    return section, (
        f"{counted(len(ordered) + len(plain), 'function')}; variables are located in {percent(total_sum.share)} of their "
        f"scopes ({counted(total_sum.variables, 'variable')})."
    )


def _symbols(file: CodeObject, covered: set[int]) -> list[tuple[str, int, int]]:
    """Return the functions that only symbols tell of, or that have no variables."""
    spans = {}
    for symbol in file.symbol_image.symbols():
        if symbol.type == "FUNC" and symbol.is_defined and symbol.size and symbol.value not in covered:
            spans[symbol.value] = symbol.demangled, symbol.value, symbol.value + symbol.size
    return [spans[low] for low in sorted(spans)]


class _FunctionWriter:
    """Writes functions: strips, instructions beside the source, call frame information."""

    def __init__(self, file: CodeObject, state: Execution) -> None:
        from dwarfgpu.program.code.instructions import Disassembler, ProgramCode

        self.file = file
        self.state = state
        self.code = ProgramCode(state, Disassembler())
        self.lines = _SourceLines(state)

    def html(
        self, name: str, spans: Sequence[tuple[int, int]], records: Sequence[VariableAvailability], share: str
    ) -> str:
        """Return one function."""
        from dwarfgpu.render.coverage import strip_of
        from dwarfgpu.render.pictures import StripGroup, strip_svg

        unwinding, unwound = self._unwinding(spans)
        where = f"{spans[0][0]:#x}-{spans[-1][1]:#x}" if spans else "no code"
        head = f"{name}  {where}" + (f", variables {share}" if share else "") + f", unwinding {unwound}"
        strips = [*map(strip_of, records[:MAX_STRIPS]), unwinding]
        drawn = strip_svg(
            "where each variable can be seen", [StripGroup(f"{name}  {where}", tuple(strips))], is_alone=False
        )
        parts = [html.picture(drawn, f"variables of {name}")]
        if len(records) > MAX_STRIPS:
            parts.append(html.note(f"{len(records) - MAX_STRIPS} more variables: `dwarfgpu coverage` lists them."))
        parts.append(self._instructions(spans))
        return html.fold(head, parts)

    def _unwinding(self, spans: Sequence[tuple[int, int]]) -> tuple[Strip, str]:
        """Return the addresses with rows of call frame information as a strip, and their share."""
        from dwarfgpu.render.coverage import percent
        from dwarfgpu.render.pictures import NOTHING, Strip, StripPart

        parts: list[StripPart] = []
        covered = total = 0
        for low, high in spans:
            place = low
            total += high - low
            for start, end, words in self._rows(low, high):
                begin, behind = max(start, place), min(end, high)
                if behind <= begin:
                    continue
                if begin > place:
                    parts.append(StripPart(begin - place, NOTHING, f"{place:#x}-{begin:#x}: no rows"))
                parts.append(StripPart(behind - begin, "unwinding", f"{begin:#x}-{behind:#x}: {words}"))
                covered += behind - begin
                place = behind
            if place < high:
                parts.append(StripPart(high - place, NOTHING, f"{place:#x}-{high:#x}: no rows"))
        share = percent(covered / total if total else None)
        return Strip("(call frame information)", tuple(parts), share), share

    def _rows(self, low: int, high: int) -> Iterator[tuple[int, int, str]]:
        """Yield where rows of call frame information with rules are, and of how many registers."""
        try:
            rows = [
                (
                    row.start,
                    row.end,
                    f"{'CFA and ' if row.cfa else ''}rules of {counted(len(row.registers), 'register')}",
                )
                for fde in self.file.frames.fdes_between(low, high)[:1]
                for row in islice(self.file.frames.rows(fde), MAX_ROWS)
                if not row.is_empty
            ]
        except DwarfGpuError:
            return  # the findings say what is wrong with it
        yield from sorted(rows)

    def _instructions(self, spans: Sequence[tuple[int, int]]) -> str:
        blocks: list[tuple[str, list[str]]] = []
        count = 0
        for low, high in spans:
            try:
                listing = self.code.between(low, min(high, low + 16 * MAX_INSTRUCTIONS))
            except DwarfGpuError as error:
                blocks.append(("", [f"<{error.what}>"]))
                continue
            for instruction in listing.instructions:
                count += 1
                if count > MAX_INSTRUCTIONS:
                    break
                source = self.lines.at(instruction.address)
                if not blocks or blocks[-1][0] != source:
                    blocks.append((source, []))
                blocks[-1][1].append(f"{instruction.address:#x}  {' '.join(instruction.text.split())}")
        parts = [
            html.source_table([html.SourceBlock(source, tuple(lines)) for source, lines in blocks], "instructions")
        ]
        if count > MAX_INSTRUCTIONS or any(high - low > 16 * MAX_INSTRUCTIONS for low, high in spans):
            parts.append(
                html.note(f"Only the first {MAX_INSTRUCTIONS} instructions: `dwarfgpu disassemble` shows all.")
            )
        return html.fold("Source and instructions", parts)


class _SourceLines:
    """Finds the line of the source for addresses."""

    def __init__(self, state: Execution) -> None:
        from dwarfgpu.program.code.source_files import SourceReader

        self.state = state
        self.reader = SourceReader()

    def at(self, address: int) -> str:
        """Return ``k.c:17  the line``; nothing where no line is known."""
        try:
            place = self.state.sources.at(address)
        except DwarfGpuError:
            return ""
        if place is None:
            return ""
        line = self.reader.read(place.file).line(place.line)
        return f"{place.file.name}:{place.line}" + ("" if line is None else f"  {line.expandtabs(4).strip()}")


# --- Findings ---------------------------------------------------------------------------------------------------------


def _findings(file: CodeObject, dialect: str | None) -> tuple[html.Section, str]:
    from dwarfgpu.verification.reports import check_file

    section = html.Section("findings", "Findings", FINDING_ROOM)
    checked = check_file(file, dialect=dialect)
    by_rule: dict[str, list[Any]] = {}
    for finding in checked.findings:
        by_rule.setdefault(finding.rule.name, []).append(finding)
    more = Counter(checked.left_out or {})
    for name, findings in by_rule.items():
        rule = findings[0].rule
        parts = [html.note(f"{rule.summary} ({rule.clause}) {rule.advice}"), "<ul>"]
        parts += map(html.finding_html, findings[:MAX_OF_RULE])
        parts.append("</ul>")
        rest = len(findings) - MAX_OF_RULE + more[name]
        if rest > 0:
            parts.append(html.note(f"and {rest} more: `dwarfgpu verify --all` lists them."))
        section.add(html.fold(f"{name}: {len(findings) + more[name]}", parts))
    severities = Counter(finding.severity for finding in checked.findings)
    summary = f"{counted(severities['error'], 'error')}, {counted(severities['warning'], 'warning')}"
    if more:
        summary += f", and {sum(more.values())} findings more"
    if not checked.findings:
        section.add(html.note(f"No findings in {checked.entries} entries."))
    return section, f"Findings: {summary}."


# --- Waves ------------------------------------------------------------------------------------------------------------


def _state_sections(attached: Attached | None) -> list[html.Section]:
    if attached is None:
        return []
    sections = [_stacks(attached)]
    if attached.has_waves:
        sections = [_lanes(attached), *sections, _values(attached)]
    return sections


def _lanes(attached: Attached) -> html.Section:
    """Return where lanes are: on the source, and as a map for each run of waves that are alike."""
    from dwarfgpu.program.stack.lanes import UNUSED, lanes_of_wave
    from dwarfgpu.program.stack.wave_groups import wave_runs
    from dwarfgpu.render.lane_svg import lanes_svg

    section = html.Section("lanes", "Lanes", STATE_ROOM)
    stopped = attached.stopped
    runs = wave_runs(stopped)
    lines = _SourceLines(attached.state)
    by_line: dict[str, list[str]] = {}
    maps: list[str] = []
    for run in runs[:MAX_WAVES]:
        name = f"waves {run.first + 1}-{run.last + 1}" if run.count > 1 else f"wave {run.first + 1}"
        try:
            lanes: Lanes = lanes_of_wave(stopped, run.first)
        except DwarfGpuError as error:
            section.add(html.note(f"{name}: {error.what}"))
            continue
        places: dict[tuple[str, str], list[int]] = {}
        for lane in lanes.lanes:
            if lane.state != UNUSED:
                where = "place not known" if lane.pc is None else lines.at(lane.pc) or f"{lane.pc:#x}"
                places.setdefault((where, lane.state), []).append(lane.number)
        for (where, state), numbers in places.items():
            by_line.setdefault(where, []).append(f"{name}: {len(numbers)} {state}, lanes {ranges_text(numbers)}")
        if len(maps) < MAX_MAPS:
            drawn = lanes_svg(lanes, lanes.lanes, is_alone=False)
            maps.append(html.fold(name, [html.picture(drawn, f"lanes of {name}")], is_open=not maps))
    if by_line:
        blocks = [html.SourceBlock(where, tuple(found[:MAX_MAPS])) for where, found in sorted(by_line.items())]
        section.add(html.source_table(blocks, "waves and lanes"))
    for part in maps:
        section.add(part)
    hidden = len(runs) - len(maps)
    if hidden > 0:
        section.add(
            html.note(f"{hidden} more runs of waves without a map: `dwarfgpu lanes --wave N --svg` draws them.")
        )
    return section


def _stacks(attached: Attached) -> html.Section:
    """Return the stacks of waves, equal ones once."""
    from dwarfgpu.render.backtrace import line_text

    section = html.Section("stacks", "Stacks", STATE_ROOM)
    noun = "wave" if attached.has_waves else "thread"
    groups: dict[tuple[str, ...], list[int]] = {}
    for number in range(min(len(attached), MAX_WAVES)):
        frames: list[str] = []
        try:
            for level, frame in enumerate(islice(attached[number], MAX_FRAMES)):
                source = frame.call.source
                place = "" if source is None else f" at {line_text(source)}"
                frames.append(f"#{level}  {frame.name or '??'} (){place}")
        except DwarfGpuError as error:
            frames.append(f"<{error.what}>")
        groups.setdefault(tuple(frames), []).append(number + 1)
    for texts, numbers in groups.items():
        head = f"{counted(len(numbers), noun)}: {ranges_text(numbers)}"
        section.add(html.fold(head, [html.listing(texts)], is_open=len(groups) <= 8))
    if len(attached) > MAX_WAVES:
        section.add(html.note(f"{len(attached) - MAX_WAVES} more {noun}s: `dwarfgpu bt --wave all` shows them."))
    return section


# --- Values -----------------------------------------------------------------------------------------------------------


def _values(attached: Attached) -> html.Section:
    """Return the variables of the innermost frames in lanes and waves, as maps and histograms."""
    from dwarfgpu.program.stack.wave_groups import wave_groups
    from dwarfgpu.render.backtrace import standing_text

    section = html.Section("values", "Values", STATE_ROOM)
    groups = wave_groups(attached.stopped)
    for group in groups[:MAX_PLACES]:
        numbers = group.numbers
        where = standing_text(attached.stopped.loaded, group.pc)
        parts = list(_values_at(attached, group))
        left = len(numbers) - MAX_VALUE_WAVES
        if left > 0:
            parts.append(html.note(f"{left} more waves at this place are not drawn."))
        section.add(html.fold(f"{counted(len(numbers), 'wave')} at {where}", parts, is_open=group is groups[0]))
    section.left_out += max(0, len(groups) - MAX_PLACES)
    return section


def _values_at(attached: Attached, group: WaveGroup) -> Iterator[str]:
    from dwarfgpu.program.stack.all_waves import all_waves
    from dwarfgpu.render.pictures import heat_map_svg, histogram_svg

    waves = group.numbers[:MAX_VALUE_WAVES]
    try:
        variables = attached[waves[0]].frame(0).variables()
    except DwarfGpuError as error:
        yield html.note(f"No variables: {error.what}")
        return
    names = list(dict.fromkeys(variable.name for variable in variables if variable.name))
    for name in names[:MAX_VARIABLES]:
        try:
            rows = [row for values in all_waves(attached, name, waves=waves) for row in _heat_rows(values)]
        except DwarfGpuError as error:
            yield html.note(f"{name}: {error.what}")
            continue
        yield f"<h3>{html.text(name)}</h3>"
        yield html.picture(
            heat_map_svg(f"{name} in lanes (across) and waves", rows, is_alone=False), f"values of {name}"
        )
        numbers = [cell.number for row in rows for cell in row.cells if cell.number is not None]
        if numbers:
            drawn = histogram_svg(f"{name}: how often", numbers, is_alone=False)
            yield html.picture(drawn, f"histogram of {name}")
    if not names:
        yield html.note("No variables here.")
    if len(names) > MAX_VARIABLES:
        yield html.note(f"{len(names) - MAX_VARIABLES} more variables are not drawn.")


def _heat_rows(values: Values) -> Iterator[HeatRow]:
    from dwarfgpu.render.pictures import HeatRow
    from dwarfgpu.render.values import Look

    look = Look()
    for wave, name in enumerate(values.names):
        yield HeatRow(name, tuple(_heat_cell(values.at(wave, lane), look) for lane in range(len(values.lanes))))


def _heat_cell(answer: LaneAnswer, look: Any) -> Any:
    from dwarfgpu.program.variables.columns import python_value
    from dwarfgpu.render.pictures import HeatCell
    from dwarfgpu.render.values import value_text

    idle = "" if answer.is_active else " (inactive)"
    if answer.value is None:
        return HeatCell(f"{answer.state}{idle}")
    try:
        words = " ".join(value_text(answer.value, look).split())
        number = python_value(answer.value)
    except DwarfGpuError as error:
        return HeatCell(f"<{error.what}>{idle}")
    is_number = isinstance(number, (int, float)) and number == number  # noqa: PLR0124 (not a number)
    return HeatCell(words[:60] + idle, number if is_number else None)
