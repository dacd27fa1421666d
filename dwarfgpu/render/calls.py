"""Call frames on one line each, as GDB writes them: ``#1  0x1136 in add (a=1, b=2) at k3.c:5``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.files.codelookup import begins_line
from dwarfgpu.program.types.model import Array, Pointer, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.program.variables.variable import PARAMETER
from dwarfgpu.render.columns import fitted
from dwarfgpu.render.layout import WIDTH, cut, plain_style, shown
from dwarfgpu.render.values import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.files.codelookup import SourceLine
    from dwarfgpu.program.machines.loaded import Loaded
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.layout import Style
    from dwarfgpu.render.values import Look

OPTIMIZED_OUT = "<optimized out>"
ERROR = "<error>"
SIGNAL_HANDLER = "<signal handler called>"
INDENT = 4


class CallWriter:
    """Writes frames on one line each. ``arguments`` is ``scalars``, ``all`` or ``none``: which of them are shown."""

    def __init__(self, lane: int | None, look: Look, arguments: str = "scalars") -> None:
        self.lane = lane
        self.look = look
        self.arguments = arguments

    def text(self, frame: Frame) -> str:
        """A frame without its number."""
        return " ".join(self._parts(frame)).rstrip()

    def _parts(self, frame: Frame) -> tuple[str, str]:
        """The call, and where it stands."""
        physical = frame.physical
        if physical is not None and physical.is_signal_frame and not frame.is_inlined:
            return SIGNAL_HANDLER, ""
        return f"{_address(frame)}{shown(frame.name or '??')} ({self._arguments(frame)})", _place(frame)

    def lines(self, frame: Frame, width: int = WIDTH, style: Style = plain_style) -> list[str]:
        """A frame with its number, in lines that fit the screen."""
        head = f"#{frame.number}".ljust(3) + " "
        call, place = self._parts(frame)
        whole = f"{head}{call} {place}".rstrip()
        if len(whole) > width >= len(head + call):  # as GDB does, it is rather broken before the place
            lines = [head + call, *fitted(" " * INDENT + place, width, INDENT)]
        else:
            lines = fitted(whole, width, INDENT)
        name = shown(frame.name or "??")
        before, found, after = lines[0].partition(f"{name} (")
        if found:
            lines[0] = f"{before}{style('name', name)} ({after}"
        return lines

    def _arguments(self, frame: Frame) -> str:
        parameters = [each for each in frame.variables() if each.kind == PARAMETER]
        if not parameters:
            return ""
        if self.arguments == "none":
            return "..."
        return ", ".join(f"{shown(each.name)}={self._value(each, frame)}" for each in parameters)

    def _value(self, variable: Variable, frame: Frame) -> str:
        """The value of an argument in the lane, on one line; why there is none is what other commands tell."""
        try:
            if self.arguments == "scalars" and _has_parts(variable.type):
                return "..."
            (found,) = answer(variable, variable.name, None if self.lane is None else [self.lane]).lanes
            if found.value is None:
                return ERROR if found.state == "error" else OPTIMIZED_OUT
            kind = variable.type
            return cut(Writer(self.look, is_cplus=False).text(found.value, 0, is_top=_is_reference(kind)))
        except DwarfGpuError:
            return ERROR


def _has_parts(kind: Type) -> bool:
    """Whether a value is too large for one line: a structure, an array, or a reference to one."""
    inner = resolved(kind)
    if isinstance(inner, Pointer) and inner.is_reference:
        inner = resolved(inner.target)
    return isinstance(inner, (Struct, Array))


def _is_reference(kind: Type) -> bool:
    inner = resolved(kind)
    return isinstance(inner, Pointer) and inner.is_reference


def _address(frame: Frame) -> str:
    """The address, where it is not the first one of the line; functions that share a frame do not repeat it."""
    if frame.pc is None or frame.code is None:
        return "" if frame.pc is None else f"{frame.pc:#x} in "
    if not frame.is_innermost or (
        frame.pc == frame.place and begins_line(frame.code.file, frame.code.in_file(frame.pc))
    ):
        return ""
    return f"{frame.pc:#x} in "


def _place(frame: Frame) -> str:
    """``at k3.c:5``; of code without lines, ``from k3.hsaco``."""
    source = frame.call.source
    if source is None or source.file is None:
        return "" if frame.code is None else f"from {shown(frame.code.file.name)}"
    return f"at {line_text(source)}"


def line_text(source: SourceLine, *, short: bool = False) -> str:
    """``src/k3.c:5``; or, where there is not much room, ``k3.c:5``."""
    name = source.file or "??"
    return f"{shown(name.rpartition('/')[2] if short else name)}:{source.line}"


def standing_text(loaded: Loaded, pc: int | None, *, short: bool = False) -> str:
    """Where something stands that is not looked at: ``0x1136 in add () at k3.c:5``."""
    if pc is None:
        return "??"
    call = loaded.calls_at(pc)[0]
    code = loaded.at(pc)
    starts = code is not None and begins_line(code.file, code.in_file(pc))
    where = ""
    if call.source is not None and call.source.file is not None:
        where = f" at {line_text(call.source, short=short)}"
    return f"{'' if starts else f'{pc:#x} in '}{shown(call.function or '??')} (){where}"


def call_lines(frames: Iterator[Frame], writer: CallWriter, width: int, style: Style) -> Iterator[str]:
    """Some frames."""
    for frame in frames:
        yield from writer.lines(frame, width, style)
