"""How commands ask for values: in which lanes, by which format, with which look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.types.declaration import speaks_cplus
from dwarfgpu.questions.registry import LETTERS
from dwarfgpu.render.values import ValueWriter, problem
from dwarfgpu.render.variables import VariablesRenderer

if TYPE_CHECKING:
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.answers import Values
    from dwarfgpu.program.variables.reasons import Reason
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection

OTHERS = "bhwgi"
"""Letters that ``x`` knows and ``print`` does not."""


# --- Lanes ----------------------------------------------------------------------------------------------------------


def names_lanes(arguments: Arguments) -> bool:
    """Whether the lanes are said."""
    return any(arguments.has(name) for name in ("lane", "all", "active"))


def focus(debugger: Debugger) -> list[int] | None:
    """The lane that is looked at."""
    return None if debugger.lane is None else [debugger.lane]


def lanes_of(debugger: Debugger, arguments: Arguments, default: str | None = None) -> list[int] | str | None:
    """The lanes that a command is about: those that are said, else ``default``, else the one that is looked at."""
    if names_lanes(arguments):
        from dwarfgpu.questions.waves import needs_lanes

        needs_lanes(debugger)
        said = arguments.get("lane")
        if said is None or said in ("all", "active"):
            return "all" if arguments.has("all") or said == "all" else "active"
        from dwarfgpu.program.stack.selectors import numbers_of

        return numbers_of(said, 0, debugger.frame.target.lane_count - 1, "lane")
    chosen = focus(debugger)
    return chosen if default is None or chosen is None else default


# --- Formats --------------------------------------------------------------------------------------------------------


def print_format(arguments: Arguments) -> str | None:
    """The letter behind the slash of a command that shows values."""
    text, name = arguments.format, arguments.command.name
    if text[:1].isdecimal() or text[:1] == "-":
        raise UsageError(f'Item count other than 1 is meaningless in "{name}" command.', kind="bad_format")
    found: str | None = None
    for letter in text:
        if letter in "bhwg":
            raise UsageError(f'Size letters are meaningless in "{name}" command.', kind="bad_format")
        if letter == "i":
            raise UsageError(f'Format letter "i" is meaningless in "{name}" command.', kind="bad_format")
        if letter not in LETTERS:
            hint = f"the formats are {', '.join(LETTERS)}"
            raise UsageError(f'Undefined output format "{letter[:1]}".', kind="bad_format", hint=hint)
        if letter != "r" or found is None:
            found = letter
    return found


# --- Looks ----------------------------------------------------------------------------------------------------------


def renderer(
    debugger: Selection, letter: str | None = None, *, frame: Frame | None = None, locations: bool = False
) -> VariablesRenderer:
    """What writes values as the settings say."""
    settings = debugger.settings
    found = VariablesRenderer(frame or debugger.frame, letter, debugger.output.style, locations=locations)
    found.look = evolve(
        found.look,
        elements=settings["print elements"],
        repeats=settings["print repeats"],
        depth=settings["print max-depth"],
        static_members=settings["print static-members"],
        is_pretty=settings["print pretty"],
        symbol=found.look.symbol if settings["print symbol"] else None,
    )
    return found


def part_text(writer: VariablesRenderer, value: Object) -> str:
    """A value behind a name: a pointer does not say its type, which `print` says."""
    found = ValueWriter(writer.look, is_cplus=speaks_cplus(value.type))
    try:
        return found.text(value, 0, is_top=True)
    except DwarfGpuError as error:
        return problem(error)


def why(reason: Reason | None) -> str:
    """Why there is no value, in GDB's words where it has some."""
    if reason is None:
        return ""
    is_memory = reason.error is not None and reason.error.kind == "memory_unavailable"
    return reason.error.message if reason.error is not None and is_memory else reason.message


def asked(debugger: Debugger, text: str, lanes: list[int] | str | None) -> Values:
    """What an expression is, in some lanes."""
    from dwarfgpu.program.variables.answers import answer

    return answer(debugger.frame[text], text, lanes)
