"""The ``context`` view: everything around the place that is selected, section by section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.lanes import ACTIVE, Lanes, LaneStatus
from dwarfgpu.program.frames.selectors import numbers_of
from dwarfgpu.questions import memory
from dwarfgpu.questions.document import SOURCE
from dwarfgpu.questions.examined import MemoryFormat
from dwarfgpu.questions.registry import SIZES, Arguments
from dwarfgpu.questions.settings import SECTIONS
from dwarfgpu.questions.sources import shown_line, sources_of, standing_lanes, start_of, text_of
from dwarfgpu.questions.variables import why_none, without_value
from dwarfgpu.questions.waves import lanes_here
from dwarfgpu.render.lanes import same_places
from dwarfgpu.render.layout import Style, counted, fitted, lanes_text, shortened, shown
from dwarfgpu.render.values import OPTIMIZED_OUT, launched_note
from dwarfgpu.render.variables import VariablesRenderer, frame_text
from dwarfgpu.render.wave_map import place_letters
from dwarfgpu.render.written_text import without_styles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.program.code.source_files import SourceFile
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.render.written_text import StyleName


LOWEST = 4
"""So many lines are shown however low the screen is."""
KEPT_FREE = 3
"""Lines of the screen for the prompt, the toolbar, and one that is answered."""
MAX_LOCALS = 16
MAX_FRAMES = 8
MAX_ELSEWHERE = 3
"""How many lines outside the part of the source that is shown are named because lanes are there."""
REGISTERS = {
    "amdgcn": "pc exec vcc m0 scc s32 s33 v0 v1 v2 v3",
    "x86_64": "rip rsp rbp rax rbx rcx rdx rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 rflags",
}
"""The registers that are shown: of the lane those that have lanes."""


def context(debugger: Debugger, arguments: Arguments) -> None:
    chosen = [_section(word) for word in arguments.text.replace(",", " ").split()]
    debugger.opened  # noqa: B018 (an error where there is nothing to show)
    output = debugger.output
    sections: list[tuple[str, list[str]]] = []
    for name in chosen or debugger.settings["context-sections"]:
        head, lines = _made(debugger, name, debugger.settings["listsize"])
        if lines:
            sections.append((name, [title(head, output.width, output.style), *lines]))
    if output.height is not None:
        room = max(LOWEST, output.height - output.rows - KEPT_FREE)
        counts = shares([len(lines) - 1 for _, lines in sections], room)
        sections = [
            (name, _fitted(debugger, name, lines, count))
            for (name, lines), count in zip(sections, counts, strict=True)
            if count
        ]
    for _, lines in sections:
        output.lines(lines)


def _section(word: str) -> str:
    meant = [name for name in SECTIONS if name.startswith(word)]
    if len(meant) != 1:
        raise UsageError(f"there is no section {word[:40]!r}", kind="no_section", hint=", ".join(SECTIONS))
    return meant[0]


def _fitted(debugger: Debugger, name: str, lines: list[str], count: int) -> list[str]:
    """Return a section with fewer lines: of the source those that are nearest."""
    if len(lines) - 1 <= count:
        return lines
    if name == "source":
        lines = [lines[0], *_made(debugger, name, count)[1]]
    return [lines[0], *beginning(lines[1:], count, debugger.output.style)]


def _made(debugger: Debugger, name: str, size: int) -> tuple[str, list[str]]:
    """Return the title and the lines of a section. What fails in it is said in it, and hides no other."""
    try:
        return _MAKERS[name](debugger, size)
    except DwarfGpuError as error:
        text = clipped(" ".join(str(error).split()), debugger.output.width)
        return name, [debugger.output.style("error", text)]


# --- The sections ---------------------------------------------------------------------------------------------------


def _source(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    frame = debugger.frame
    file, line = start_of(debugger)
    function = "" if frame.name is None else f", {shown(frame.name)}"
    head = f"source: {shown(file.name)}:{line}{function}"
    lanes = standing_lanes(debugger)
    masks = {number: mask for (path, number), mask in lanes.items() if path == file.path}
    text = text_of(debugger, file)
    if text.missing is not None:
        sources_of(debugger).told.add(file.path)
        told = f"{file.name}: {text.missing} `directory DIR` looks elsewhere."
        lines = fitted(told, 4)
        return head, [*lines, *_elsewhere(debugger, lanes, file, range(0))]
    elsewhere = 0
    if size > 2 * MAX_ELSEWHERE:  # on a low screen the lines around the frame matter more
        outside = sum(key[0] != file.path or abs(key[1] - line) > size // 2 for key in lanes)
        elsewhere = min(outside, MAX_ELSEWHERE)
    size -= elsewhere
    first = max(1, min(line - size // 2, len(text.lines) - size + 1))
    numbers = range(first, min(first + size, len(text.lines) + 1))
    lines = _numbered(debugger, file, numbers, line, masks)
    return head, [*lines, *(_elsewhere(debugger, lanes, file, numbers) if elsewhere else ())]


def _numbered(debugger: Debugger, file: SourceFile, numbers: range, line: int, masks: dict[int, int]) -> list[str]:
    """Return source lines with their numbers, and before those the lanes that are there."""
    output = debugger.output
    text = text_of(debugger, file)
    digits = len(str(numbers[-1])) if numbers else 1
    left = 0 if debugger.lane is None else GUTTER + 1
    room = max(8, output.width - left - digits - 5)
    plain = [clipped(shown_line(text.line(number) or "").expandtabs(4), room) for number in numbers]
    lines = []
    for number, code in zip(numbers, output.code(SOURCE, plain, file.path), strict=True):
        mark = "=>" if number == line else "  "
        who = f"{gutter(masks.get(number, 0)):>{GUTTER}} " if left else ""
        head = f"{who}{mark} {number:>{digits}}"
        if number == line or number in masks:
            head = output.style("name", head)
        lines.append(f"{head}  {code}".rstrip())
    return lines


def _elsewhere(debugger: Debugger, lanes: dict[tuple[str, int], int], file: SourceFile, numbers: range) -> list[str]:
    """Return the lines that lanes are at, but that are not shown."""
    outside = [key for key in sorted(lanes) if key[0] != file.path or key[1] not in numbers]
    lines = [
        clipped(f"{gutter(lanes[path, line]):>{GUTTER}}    at {path}:{line}", debugger.output.width)
        for path, line in outside[:MAX_ELSEWHERE]
    ]
    if len(outside) > MAX_ELSEWHERE:
        rest = len(outside) - MAX_ELSEWHERE + 1
        lines[-1] = debugger.output.style("dim", f"{'':>{GUTTER}}    at {rest} more lines")
    return lines


def _locals(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    frame, lane = debugger.frame, debugger.lane
    head = "locals" if lane is None else f"locals in lane {lane}"
    renderer = VariablesRenderer(frame)
    variables = [variable for variable in frame.variables() if not variable.is_shadowed]
    named = set(re.findall(r"\w+", _line_text(debugger)))  # on a low screen the variables of the line matter more
    variables.sort(key=lambda variable: variable.name not in named)
    lines = [_variable(debugger, renderer, variable, lane) for variable in variables[:MAX_LOCALS]]
    if len(variables) > MAX_LOCALS:
        lines.append(debugger.output.style("dim", f"... {len(variables) - MAX_LOCALS} more"))
    return head, lines or ["No locals."]


def _line_text(debugger: Debugger) -> str:
    try:
        file, line = start_of(debugger)
        return text_of(debugger, file).line(line) or ""
    except DwarfGpuError:
        return ""


def _variable(debugger: Debugger, renderer: VariablesRenderer, variable: Variable, lane: int | None) -> str:
    output = debugger.output
    name = shown(variable.name)
    style: StyleName = "dim"
    try:
        if variable.frame.activation is None:
            text = "no state"
        else:
            lane_answer = answer(variable, name, None if lane is None else [lane]).by_lane[0]
            reason = lane_answer.reason
            text = OPTIMIZED_OUT if reason is None else reason.placeholder + launched_note(reason, renderer.look)
            if lane_answer.value is not None:
                text, style = renderer.cell(lane_answer), "plain" if lane_answer.is_active else "dim"
            elif reason is not None and reason.placeholder == "<error>":
                text, style = f"<error: {reason.message}>", "error"
    except DwarfGpuError as error:
        text, style = f"<error: {error.message}>", "error"
    text = clipped(text, output.width - len(name) - 3) if len(name) < output.width - 10 else "..."
    return f"{output.style('name', clipped(name, output.width - 6))} = {output.style(style, text)}"


def _lanes(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    if debugger.lane is None:
        return "lanes", []
    here = lanes_here(debugger)

    def where(lane: LaneStatus) -> str:
        call = lane.call
        if call is None or not here.has_place(lane):
            return "" if lane.error is None else lane.error.message
        source = call.source
        place = "" if source is None else f" at {source.file or '??'}:{source.line}"
        return f"{call.function or '??'}{place}"

    head = f"lanes of wave {shown(here.wave)}"
    return head, lanes_lines(here, debugger.lane, where, debugger.output.width, debugger.output.style)


def _registers(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    frame, lane = debugger.frame, debugger.lane
    if frame.activation is None:
        raise UsageError("no state, so no registers", kind="no_machine")
    head = "registers" if lane is None else f"registers, of lane {lane} those that have lanes"
    known = next((names for start, names in REGISTERS.items() if frame.target.name.startswith(start)), "")
    names = known.split() or [register.name for register in list(frame.target.registers())[:16]]
    texts = [text for text in (_register(frame, name, lane) for name in names) if text is not None]
    return head, cells(texts, debugger.output.width)


def _register(frame: Frame, name: str, lane: int | None) -> str | None:
    """Return a register with what it holds; None for one that has nothing to say here."""
    try:
        quantity = frame.expression(f"${name}")
        value = quantity.value(lane)
        if isinstance(value, int):
            size = quantity.object(lane).bits()
            return f"{name} {value & ((1 << size) - 1):#x}"
        element = frame.expression(f"${name}[{lane or 0}]").value(lane)
        return f"{name} {element & 0xFFFFFFFF:#x}" if isinstance(element, int) else None
    except DwarfGpuError:
        return None


def _stack(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    if debugger.attached is None:
        raise UsageError("no state, so no frames", kind="no_machine")
    lines: list[str] = []
    chosen = debugger.frame_number
    first = max(0, chosen - MAX_FRAMES + 1)
    for frame in debugger.seen_wave:
        if frame.number < first:
            continue
        if len(lines) == MAX_FRAMES:
            lines.append(debugger.output.style("dim", "   ..."))
            break
        mark = "=>" if frame.number == chosen else "  "
        text = clipped(without_styles(frame_text(frame)), debugger.output.width - 3)
        lines.append(f"{mark} {debugger.output.style('name', text) if frame.number == chosen else text}")
    return "stack", lines


def _expressions(debugger: Debugger, size: int) -> tuple[str, list[str]]:
    with debugger.output.collected() as texts:
        show_displays(debugger)
    lines = "".join(texts).split("\n")[:-1]
    return "expressions", [clipped(line, debugger.output.width) for line in lines]


_MAKERS: dict[str, Callable[[Debugger, int], tuple[str, list[str]]]] = {
    "source": _source,
    "locals": _locals,
    "lanes": _lanes,
    "registers": _registers,
    "stack": _stack,
    "expressions": _expressions,
}


# --- The view of everything around the place that is selected ----------------------------------------

GUTTER = 13
"""Columns that say which lanes are at a line."""
LEAST = 2
"""Fewer lines than this are no section."""


def clipped(text: str, width: int) -> str:
    """Return a text on one line that is not wider than that."""
    return shortened(shown(text), width)


def title(text: str, width: int, style: Style) -> str:
    """Return the line above a section."""
    head = f"-- {clipped(text, width - 4)} "
    return style("kind", head.ljust(width, "-"))


def gutter(mask: int) -> str:
    """Return the lanes that are at a line, or how many if the list is long."""
    if not mask:
        return ""
    numbers = lanes_text(mask).split(" ", 1)[1]
    return numbers if len(numbers) <= GUTTER else counted(mask.bit_count(), "lane")


def shares(natural: Sequence[int], room: int) -> list[int]:
    """Return the lines of each section and its title: the longest give way, then the last; 0 is no room at all."""
    widths = list(natural)
    while widths and sum(widths) + sum(1 for width in widths if width) > room:
        longest = max(widths)
        if longest > LEAST:
            widths[widths.index(longest)] = longest - 1
        elif any(widths[1:]):
            widths[max(place for place, width in enumerate(widths) if width)] = 0
        else:
            widths[0] = max(0, room - 1)
            break
    return widths


def beginning(lines: list[str], count: int, style: Style) -> list[str]:
    """Return the first lines, and how many more there are."""
    if len(lines) <= count:
        return lines
    return [*lines[: count - 1], style("dim", f"... {counted(len(lines) - count + 1, 'more line')}")]


def lanes_lines(
    lanes: Lanes, current: int | None, where: Callable[[LaneStatus], str], width: int, style: Style
) -> list[str]:
    """Return the lanes on one line, with a letter for each place, and below it what the letters mean.

    Capitals are the places of active lanes, and A is that of the wave. `^` is below the lane that is selected.
    """
    groups = sorted(same_places(lanes.lanes), key=lambda group: group[0].state != ACTIVE)
    letters = place_letters([group[0].place for group in groups])
    lines = []
    per_line = max(8, width // 8 * 8)
    for start in range(0, lanes.lane_count, per_line):
        shown_lanes = lanes.lanes[start : start + per_line]
        signs = (style("name" if each.state == ACTIVE else "dim", letters[each.place]) for each in shown_lanes)
        lines.append("".join(signs))
        if current is not None and start <= current < start + per_line:
            label = f"^ lane {current}"
            column = current - start
            after = column + len(label) <= width
            lines.append(" " * column + label if after else f"lane {current} ^".rjust(column + 1))
    for group in groups:
        what = f"{len(group)} {group[0].state}"
        lines.append(clipped(f"{letters[group[0].place]}  {what:12}  {where(group[0])}", width).rstrip())
    return lines


def cells(texts: Sequence[str], width: int) -> list[str]:
    """Short texts in columns that are equally wide."""
    if not texts:
        return []
    column = max(map(len, texts)) + 2
    per_line = max(1, (width + 2) // column)
    return [
        "".join(text.ljust(column) for text in texts[start : start + per_line]).rstrip()[:width]
        for start in range(0, len(texts), per_line)
    ]


# --- Commands about displays --------------------------------------------------------------------------


@frozen
class Display:
    """An expression that is shown again and again."""

    number: int
    text: str
    letter: str | None
    memory: MemoryFormat | None = None
    """How the memory that it leads to is shown, if that is meant and not its value."""

    @property
    def format(self) -> str:
        """The format as `info display` shows it."""
        if self.memory is not None:
            return f"/{self.memory.count}{self.memory.size or 'b'}{self.memory.letter} "
        return "" if self.letter is None else f"/{self.letter} "

    @property
    def head(self) -> str:
        """The text before the value."""
        if self.memory is None:
            return f"{self.number}: {self.format}{self.text} = "
        form = self.memory
        count = "" if form.count == 1 else str(form.count)
        size = "" if form.letter in "is" else form.size
        return f"{self.number}: x/{count}{form.letter}{size} {self.text}"


class Displays:
    """The displays there are."""

    def __init__(self) -> None:
        self.every: dict[int, Display] = {}
        self.last = 0
        self.is_watching = False


def display(debugger: Debugger, arguments: Arguments) -> None:
    known = debugger.state_of(Displays)
    if not arguments.text:
        if arguments.format:
            raise UsageError("Argument required (expression to compute).", kind="no_expression")
        show_displays(debugger)
        return
    form = arguments.format
    of_memory = None
    if any(character in ("i", "s", *SIZES) or character.isdecimal() for character in form):
        of_memory = memory.read_format(form, MemoryFormat())
    letter = None if of_memory is not None else arguments.letter
    added = Display(known.last + 1, arguments.text, letter, of_memory)
    debugger.frame.expression(added.text)  # what cannot be read is no display
    if debugger.has_moved:  # then it is shown with the others
        debugger.asked(added.text, debugger.selected_lanes)
    else:
        _show(debugger, added)
    known.last += 1
    known.every[added.number] = added
    if not known.is_watching:
        known.is_watching = True
        debugger.watchers.append(lambda: _moved(debugger))


def undisplay(debugger: Debugger, arguments: Arguments) -> None:
    known = debugger.state_of(Displays)
    if not arguments.text:
        known.every.clear()
        return
    if not known.every:
        raise UsageError("There are no auto-display expressions now.", kind="no_display")
    for number in numbers_of(arguments.text, 1, known.last, "display"):
        if number not in known.every:
            raise UsageError(f"No display number {number}.", kind="no_display")
        del known.every[number]


def info_display(debugger: Debugger, arguments: Arguments) -> None:
    known = debugger.state_of(Displays)
    if not known.every:
        debugger.output.line("There are no auto-display expressions now.")
        return
    debugger.output.line("Auto-display expressions now in effect:")
    debugger.output.line("Num Enb Expression")
    for displayed in known.every.values():
        debugger.output.line(f"{displayed.number}:   y  {displayed.format}{shown(displayed.text)}")


def _moved(debugger: Debugger) -> None:
    if not debugger.is_quiet and not debugger.shows_context("expressions"):
        show_displays(debugger)


def show_displays(debugger: Debugger) -> None:
    """Show what is displayed, as far as it has a meaning where the debugger looks."""
    if debugger.program is None:
        return
    for displayed in list(debugger.state_of(Displays).every.values()):
        try:
            _show(debugger, displayed)
        except DwarfGpuError as error:
            if error.kind == "no_name":  # of another function
                continue
            head = displayed.head if displayed.memory is None else f"{displayed.head}: "
            debugger.output.line(f"{head}{debugger.output.style('error', f'<error: {error.message}>')}")


def _show(debugger: Debugger, displayed: Display) -> None:
    """Show a value on a line; memory below a line that says what it is."""
    if displayed.memory is not None:
        where = memory.address_of(debugger, displayed.text)
        end = "\n" if displayed.memory.count != 1 or displayed.memory.letter == "i" else "  "
        debugger.output.write(f"{displayed.head}{end}")
        try:
            memory.show(debugger, displayed.memory, where)
        except DwarfGpuError as error:
            debugger.output.line(debugger.output.style("error", f"<error: {error.message}>"))
        return
    lane_answer = debugger.asked(displayed.text, debugger.selected_lanes).by_lane[0]
    if lane_answer.value is not None:
        debugger.output.line(f"{displayed.head}{debugger.renderer(displayed.letter).cell(lane_answer)}")
        return
    head = displayed.head.removesuffix(" = ")
    debugger.output.lines(without_value(debugger, head, why_none(lane_answer)))
