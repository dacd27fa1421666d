"""Commands about symbols: what is at an address, where a name is, what a place can see, what there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.code.declarations import declared, undeclared
from dwarfgpu.program.language.evaluator import Evaluator
from dwarfgpu.program.language.expression import type_named
from dwarfgpu.program.stack.linespec import frame_base_of, scope_at, symbol_at
from dwarfgpu.program.types.declaration import HEAD, declaration, declaration_with_offsets, type_text
from dwarfgpu.program.types.model import Struct, Typedef
from dwarfgpu.program.types.reader import find_type
from dwarfgpu.program.variables.variable import Variable, variable_called, variables_named
from dwarfgpu.questions.sources import places_of
from dwarfgpu.render.layout import shown
from dwarfgpu.render.source import LocationWords, declarations, symbol_lines

if TYPE_CHECKING:
    from typing import Any

    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.linespec import Linespec
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


OPTIMIZED_OUT = "optimized out"


def info_symbol(debugger: Debugger, arguments: Arguments) -> None:
    """EXPR is an address, a function, or a pointer. Symbols are those of the file that is loaded there."""
    text = arguments.needed()
    address = places_of(debugger).address(text.removeprefix("*"))
    found = symbol_at(debugger.frame.state, address)
    if found is None:
        debugger.output.line(f"No symbol matches {shown(text)}.")
        return
    name = f"{shown(found.name)}{f' + {found.offset}' if found.offset else ''}"
    file = "" if debugger.attached is None else f" of {shown(found.file)}"
    debugger.output.line(f"{name} in section {shown(found.section)}{file}")


def info_address(debugger: Debugger, arguments: Arguments) -> None:
    """A variable of the frame, or of the whole program, with all the locations that the file gives it."""
    name = arguments.needed()
    words = _variable_words(debugger, name)
    if words is None:
        words = _function_words(debugger, name)
    if words is None:
        raise UsageError(f'No symbol "{name[:80]}" in current context.', kind="no_name")
    _write(debugger, f'Symbol "{shown(name)}" is {words}.')


def _variable_words(debugger: Debugger, name: str) -> str | None:
    try:
        found = debugger.frame[name]
    except UsageError:
        return None
    if not isinstance(found, Variable):
        found = _named(debugger, name)
    return None if found is None else _location_words(found)


def _named(debugger: Debugger, name: str) -> Any:
    """A variable that is named with scopes, which an expression looks up."""
    parts = tuple(name.split("::"))
    if not all(part.isidentifier() or not part for part in parts):
        raise UsageError(f'No symbol "{name[:80]}" in current context.', kind="no_name")
    return variable_called(debugger.frame, parts)


def _function_words(debugger: Debugger, name: str) -> str | None:
    span = next(places_of(debugger).functions(name), None)
    if span is None:
        return None
    if span.is_symbol:
        return f"at {span.entry:#x} in a file compiled without debugging"
    return f"a function at address {span.entry:#x}"


def _location_words(variable: Variable) -> str:
    found = variable.locations()
    if not found:
        return "constant" if variable.is_constant() else OPTIMIZED_OUT
    return LocationWords(variable.frame.target, frame_base_of(variable), _address(variable)).text(found)


def _constant_words(variable: Variable) -> str | None:
    if variable.locations() or not variable.is_constant():
        return None
    value = variable.value(None)
    return f"a constant with value {value} ({value:#x})" if isinstance(value, int) else "constant"


def _address(variable: Variable) -> str | None:
    """The address of a variable that has one without a frame."""
    try:
        address = variable.object(None).address
    except DwarfGpuError:
        return None
    if address is None or not isinstance(address.value, int):
        return None
    space = variable.frame.target.space(address.space or 0)
    is_default = space is None or space is variable.frame.target.default_space
    return f"{address.value:#x}" if is_default or space is None else f"{space.name}#{address.value:#x}"


def info_scope(debugger: Debugger, arguments: Arguments) -> None:
    """The parameters and variables that can be seen at a place: those of the function and of the blocks around it."""
    text = arguments.text
    if not text:
        raise arguments.wrong("requires an argument (function, line or *addr) to define a scope")
    count = 0
    for place in places_of(debugger).read(text)[:1]:
        address = _address_of(place)
        for variable in () if address is None else scope_at(debugger.frame, address):
            if not count:
                debugger.output.line(f"Scope for {shown(text)}:")
            count += 1
            try:
                words = _constant_words(variable) or _location_words(variable)
            except DwarfGpuError as error:
                words = f"<error: {error.message}>"
            size = variable.byte_size()
            length = "" if size is None or words == OPTIMIZED_OUT else f", length {size}"
            _write(debugger, f"Symbol {shown(variable.name)} is {words}{length}.")
    if not count:
        debugger.output.line(f"Scope for {shown(text)} contains no locals or arguments.")


def _address_of(place: Linespec) -> int | None:
    """The address of a place: of a line without code that of the next one with code."""
    if place.address is not None or place.file is None:
        return place.address
    line = place.file.next_line(max(1, place.line))
    return None if line is None else next(iter(place.file.starts(line)), None)


def _write(debugger: Debugger, text: str) -> None:
    debugger.output.lines(text.split("\n"))


# --- What there is --------------------------------------------------------------------------------------------------


def info_functions(debugger: Debugger, arguments: Arguments) -> None:
    """REGEXP is searched in their names, with scopes; without one all are shown. `-n` leaves out those that only
    symbols tell of.
    """
    _list(debugger, arguments, "function", "functions", is_code=True)


def info_variables(debugger: Debugger, arguments: Arguments) -> None:
    """REGEXP is searched in their names, with scopes; without one all are shown. `-n` leaves out those that only
    symbols tell of.
    """
    _list(debugger, arguments, "variable", "variables", is_code=False)


def info_types(debugger: Debugger, arguments: Arguments) -> None:
    """REGEXP is searched in their names, with scopes; without one all are shown."""
    _list(debugger, arguments, "type", "types", is_code=None)


def _list(debugger: Debugger, arguments: Arguments, kind: Any, noun: str, *, is_code: bool | None) -> None:
    pattern = arguments.pattern()
    output = debugger.output
    state = debugger.frame.state
    head = f'All {noun} matching regular expression "{shown(arguments.text)}":'
    output.line(head if arguments.text else f"All defined {noun}:")
    output.lines(declarations(declared(state, kind, pattern.search)))
    if is_code is None or arguments.has("n"):
        return
    symbols = list(undeclared(state, is_code=is_code, matches=pattern.search))
    if symbols:
        output.line()
        output.line("Non-debugging symbols:")
        output.lines(symbol_lines(symbols, state.target.address_size))


# --- Commands about types -----------------------------------------------------------------------------

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
