"""How commands ask for values: by which format, with which look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.types.model import VOID
from dwarfgpu.program.types.reader import speaks_cplus
from dwarfgpu.program.values.storage import Address
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.registry import LETTERS
from dwarfgpu.render.values import ValueWriter, problem
from dwarfgpu.render.variables import VariablesRenderer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.render.backtrace import CallWriter

SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}
"""The bytes of a unit by the letters of sizes, which ``x`` knows and ``print`` does not."""


# --- Formats --------------------------------------------------------------------------------------------------------


def print_format(arguments: Arguments) -> str | None:
    """Return the letter behind the slash of a command that shows values."""
    text, name = arguments.format, arguments.command.name
    if text[:1].isdecimal() or text[:1] == "-":
        raise UsageError(f'Item count other than 1 is meaningless in "{name}" command.', kind="bad_format")
    chosen: str | None = None
    for letter in text:
        if letter in SIZES:
            raise UsageError(f'Size letters are meaningless in "{name}" command.', kind="bad_format")
        if letter == "i":
            raise UsageError(f'Format letter "i" is meaningless in "{name}" command.', kind="bad_format")
        if letter not in LETTERS:
            hint = f"the formats are {', '.join(LETTERS)}"
            raise UsageError(f'Undefined output format "{letter[:1]}".', kind="bad_format", hint=hint)
        if letter != "r" or chosen is None:
            chosen = letter
    return chosen


# --- Looks ----------------------------------------------------------------------------------------------------------


def renderer(
    selection: Selection, letter: str | None = None, *, frame: Frame | None = None, locations: bool = False
) -> VariablesRenderer:
    """Return what writes values as the settings say."""
    settings = selection.settings
    found = VariablesRenderer(
        frame or selection.frame, letter, selection.output.style, locations=locations, verbose=settings["verbose"]
    )
    found.look = evolve(
        found.look,
        elements=settings["print elements"],
        repeats=settings["print repeats"],
        depth=settings["print max-depth"],
        static_members=settings["print static-members"],
        is_raw=settings["print raw-values"],
        is_pretty=settings["print pretty"],
        symbol=found.look.symbol if settings["print symbol"] else None,
        printer=selection.value_printer(found.frame) if letter is None else None,
    )
    return found


def call_writer(selection: Selection, frame: Frame) -> CallWriter:
    """Return what writes frames with their arguments in the selected lane."""
    from dwarfgpu.render.backtrace import CallWriter

    lane = selection.lane if frame.has_lanes else None
    look = evolve(renderer(selection, frame=frame).look, is_pretty=False)
    return CallWriter(lane, look, selection.settings["print frame-arguments"])


def part_text(writer: VariablesRenderer, value: Object) -> str:
    """Return a value behind a name: a pointer does not say its type, which `print` says."""
    found = ValueWriter(writer.look, is_cplus=speaks_cplus(value.type))
    try:
        return found.text(value, 0, is_top=True)
    except DwarfGpuError as error:
        return problem(error)


def why(reason: Reason | None) -> str:
    """Return why there is no value, in GDB's words where it has some."""
    if reason is None:
        return ""
    is_memory = reason.error is not None and reason.error.kind == "memory_unavailable"
    return reason.error.message if reason.error is not None and is_memory else reason.message


def asked(selection: Selection, text: str, lanes: list[int] | str | None) -> Values:
    """Return what an expression is, in some lanes."""
    return answer(selection.frame.quantity(text), text, lanes)


def answered(
    selection: Selection,
    writer: VariablesRenderer,
    values: Values,
    text: Callable[[Output], Iterable[str]] | Iterable[str],
) -> Document:
    """Return the document of an expression in the selected frame, which has the same data as that of ``eval``."""
    head: dict[str, Any] = {}
    if selection.attached is not None and len(selection.attached) > 1:
        head["wave"] = selection.wave.id
    if selection.frame.place is not None:
        head["frame"] = selection.frame.number
    return Document(
        {"answers": ({**head, **document} for document in writer.documents(values))},
        text,
        rows=lambda: ({**head, **document} for document in writer.lane_documents(values)),
    )


# --- Where `x` goes on ------------------------------------------------------------------------------------------------


@frozen
class MemoryFormat:
    """How many units are shown, of which size, and how."""

    count: int = 1
    letter: str = "x"
    size: str = "w"


class Examined:
    """What ``x`` goes on with: the format of the last time, and the address behind what it has shown."""

    def __init__(self) -> None:
        self.format = MemoryFormat()
        self.next: Address | None = None


def begin_at(selection: Selection, address: int) -> None:
    """Let ``x`` by itself begin at an address, and ``$_`` be it."""
    from dwarfgpu.program.frames.evaluator import Evaluator
    from dwarfgpu.program.frames.history import Remembered, number

    selection.state_of(Examined).next = Address(None, address)
    model = Evaluator(selection.frame, selection.frame.lane(selection.lane), "").compute.model
    selection.state_of(Remembered).variables["_"] = number(model.pointer_to(VOID), address)
