"""Commands about displays: expressions that are shown after each change of what is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.commands import asking, memory
from dwarfgpu.commands.values import why_none, without_value
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.memory import Format
    from dwarfgpu.commands.words import Arguments


@frozen
class Display:
    """An expression that is shown again and again."""

    number: int
    text: str
    letter: str | None
    memory: Format | None = None
    """How the memory that it leads to is shown, if that is meant and not its value."""

    @property
    def format(self) -> str:
        """The format as `info display` shows it."""
        if self.memory is not None:
            return f"/{self.memory.count}{self.memory.size or 'b'}{self.memory.letter} "
        return "" if self.letter is None else f"/{self.letter} "

    @property
    def head(self) -> str:
        """What stands before the value."""
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
    """It is shown at once, and after each change of wave, lane or frame in which it has a meaning; by itself the
    command shows all of them now. /F is a letter as in `print`. With i, s, a count or a size it shows memory as `x`
    does: `display/i $pc`. A format stands right behind the command.
    """
    known = debugger.state_of(Displays)
    if not arguments.text:
        if arguments.format:
            raise UsageError("Argument required (expression to compute).", kind="no_expression")
        show_displays(debugger)
        return
    form = arguments.format
    of_memory = None
    if any(each in "isbhwg" or each.isdecimal() for each in form):
        of_memory = memory.read_format(form, memory.Format())
    letter = None if of_memory is not None else asking.print_format(arguments)
    found = Display(known.last + 1, arguments.text, letter, of_memory)
    debugger.frame.expression(found.text)  # what cannot be read is no display
    if debugger.has_moved:  # then it is shown with the others
        asking.asked(debugger, found.text, asking.focus(debugger))
    else:
        _show(debugger, found)
    known.last += 1
    known.every[found.number] = found
    if not known.is_watching:
        known.is_watching = True
        debugger.watchers.append(lambda: _moved(debugger))


def undisplay(debugger: Debugger, arguments: Arguments) -> None:
    """By numbers as `info display` shows them, such as 1 3-5; without a number all of them."""
    known = debugger.state_of(Displays)
    if not arguments.text:
        known.every.clear()
        return
    from dwarfgpu.commands.focus import numbers_of

    for number in numbers_of(arguments.text, 1, max(known.last, 1), "display"):
        if number not in known.every:
            raise UsageError(f"No display number {number}.", kind="no_display")
        del known.every[number]


def info_display(debugger: Debugger, arguments: Arguments) -> None:
    """With their numbers and formats."""
    arguments.none()
    known = debugger.state_of(Displays)
    if not known.every:
        debugger.output.line("There are no auto-display expressions now.")
        return
    debugger.output.line("Auto-display expressions now in effect:")
    debugger.output.line("Num Enb Expression")
    for each in known.every.values():
        debugger.output.line(f"{each.number}:   y  {each.format}{shown(each.text)}")


def _moved(debugger: Debugger) -> None:
    if not debugger.shows_context("expressions"):
        show_displays(debugger)


def show_displays(debugger: Debugger) -> None:
    """Show what is displayed, as far as it has a meaning where the debugger looks."""
    if debugger.program is None:
        return
    for each in list(debugger.state_of(Displays).every.values()):
        try:
            _show(debugger, each)
        except DwarfGpuError as error:
            if error.kind == "no_name":  # of another function
                continue
            head = each.head if each.memory is None else f"{each.head}: "
            debugger.output.line(f"{head}{debugger.output.style('error', f'<error: {error.message}>')}")


def _show(debugger: Debugger, found: Display) -> None:
    """A value on a line; memory below a line that says what it is."""
    if found.memory is not None:
        where = memory.address_of(debugger, found.text)
        end = "\n" if found.memory.count != 1 or found.memory.letter == "i" else "  "
        debugger.output.write(f"{found.head}{end}")
        try:
            memory.show(debugger, found.memory, where)
        except DwarfGpuError as error:
            debugger.output.line(debugger.output.style("error", f"<error: {error.message}>"))
        return
    one = asking.asked(debugger, found.text, asking.focus(debugger)).lanes[0]
    if one.value is not None:
        debugger.output.line(f"{found.head}{asking.renderer(debugger, found.letter).cell(one)}")
        return
    head = found.head.removesuffix(" = ")
    debugger.output.lines(without_value(debugger, head, why_none(one)))
