"""Commands about types: ``ptype`` and ``whatis``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.types.declaration import declaration, declaration_with_offsets, type_text
from dwarfgpu.program.types.finding import find_type
from dwarfgpu.program.types.layout_text import HEAD
from dwarfgpu.program.types.model import Struct, Typedef
from dwarfgpu.program.variables.declared import variables_named
from dwarfgpu.program.variables.evaluator import Evaluator
from dwarfgpu.program.variables.expression import type_named

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.frame import Frame

_TAGGED = re.compile(r"\s*(struct|union|class|enum)\s+(\w+)\s*$")


def ptype(debugger: Debugger, arguments: Arguments) -> None:
    """Names are opened once, and of a structure the members are shown; with /o also the offset and size of each, and
    the holes between them. An expression is not evaluated further than its type needs.
    """
    offsets = "o" in arguments.format
    if arguments.format.strip("o"):
        hint = "/o shows offsets and sizes"
        raise UsageError(f"`ptype` has no format {arguments.format[:20]!r}", hint=hint)
    found, _is_name = _asked(debugger, arguments)
    if not offsets:
        _show(debugger, declaration(found))
        return
    head = HEAD if isinstance(found, Struct) else ""
    _show(debugger, declaration_with_offsets(found), head)


def whatis(debugger: Debugger, arguments: Arguments) -> None:
    """Of a typedef it shows what that stands for, one level of it. An expression is not evaluated further than its
    type needs.
    """
    found, is_name = _asked(debugger, arguments)
    _show(debugger, type_text(found.target if is_name and isinstance(found, Typedef) else found))


def _show(debugger: Debugger, text: str, head: str = "") -> None:
    debugger.output.lines(f"{head}type = {text}".splitlines())


def _template(frame: Frame, text: str) -> Type | None:
    """The type that a template makes of its arguments, which is no type that a text can be read as."""
    for code in frame.state.loaded.codes:
        found = find_type(code.file.dwarf, frame.state.types, text) if code.file.has_dwarf else None
        if found is not None:
            return found
    return None


def _asked(debugger: Debugger, arguments: Arguments) -> tuple[Type, bool]:
    """The type that is meant, and whether it was named itself."""
    text = arguments.text or "$"
    frame = debugger.frame
    try:
        return type_named(frame, text), True
    except UsageError:
        whole = _template(frame, text) if "<" in text else None
        if whole is not None:
            return whole, True
        tagged = _TAGGED.match(text)
        if tagged is not None:
            message = f"No {tagged[1]} type named {tagged[2]}."
            raise UsageError(message, kind="no_type") from None
    if debugger.attached is None:  # where a variable is does not matter for its type
        named = variables_named(frame, text)
        if named:
            return named[0].type, False
    quantity = frame.expression(text)
    evaluator = Evaluator(frame, frame.lane(debugger.lane), text)
    variable = evaluator.named(quantity.tree)
    if variable is not None:
        return variable.type, False
    try:
        value = evaluator.value(quantity.tree)
    except UsageError:
        raise
    except DwarfGpuError as error:
        error.hint = error.hint or "the type of an expression that leads through memory needs a value"
        raise
    return value.type, False
