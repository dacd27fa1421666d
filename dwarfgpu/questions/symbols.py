"""Commands about names: what is at an address, where a name is, what a place can see, what there is, and macros."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.listing import text as operations_text
from dwarfgpu.program.code.declarations import declared, undeclared
from dwarfgpu.program.code.repairs import as_written, repairs_of
from dwarfgpu.program.frames.evaluator import Evaluator, nearly, static_type, type_named
from dwarfgpu.program.frames.linespec import Linespec, frame_base_of, scope_at, symbol_at
from dwarfgpu.program.frames.macros import Definitions, expanded, macro_of
from dwarfgpu.program.frames.names import variable_called, variables_named
from dwarfgpu.program.frames.variable import Variable
from dwarfgpu.program.types.declaration import HEAD, declaration, declaration_with_offsets, type_text
from dwarfgpu.program.types.model import Hidden, Struct, Type, Typedef
from dwarfgpu.program.types.reader import find_type
from dwarfgpu.questions.debugger import Debugger, remembered
from dwarfgpu.questions.document import Document, Output, listing
from dwarfgpu.questions.explaining import variable_json
from dwarfgpu.questions.sources import LocationWords, declarations, places_of, symbol_lines, type_json
from dwarfgpu.render.layout import Record, plain, problem_json, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.questions.registry import Arguments


OPTIMIZED_OUT = "optimized out"


def info_symbol(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.needed()
    address = places_of(debugger).address(text.removeprefix("*"))
    found = symbol_at(debugger.frame.state, address)
    line = f"No symbol matches {shown(text)}."
    if found is not None:
        name = f"{shown(found.name)}{f' + {found.offset}' if found.offset else ''}"
        file = "" if debugger.attached is None else f" of {shown(found.file)}"
        line = f"{name} in section {shown(found.section)}{file}"
    return Document({"address": address, "symbol": plain(found)}, [line])


def info_address(debugger: Debugger, arguments: Arguments) -> Document:
    name = arguments.needed()
    variable = _variable(debugger, name)
    spans = [] if variable is not None else [*places_of(debugger).functions(name)]
    span = next((each for each in spans if each.name == name), spans[0] if spans else None)
    data: dict[str, Any] = {}
    if variable is not None:
        words, data["variable"] = _location_words(variable), _variable_json(variable)
    elif span is not None:
        is_known = not span.is_symbol
        words = f"a function at address {span.entry:#x}"
        if not is_known:
            words = f"at {span.entry:#x} in a file compiled without debugging"
        data["function"] = {"name": span.name, "address": span.entry, "has_debug_info": is_known}
    else:
        raise UsageError(f'No symbol "{name[:80]}" in current context.', kind="no_name")
    return Document({"name": name, **data}, f'Symbol "{shown(name)}" is {words}.'.split("\n"))


def _variable(debugger: Debugger, name: str) -> Variable | None:
    """Return the variable that a name means, which may have scopes; None where it is no variable."""
    try:
        quantity = debugger.frame[name]
    except UsageError:
        return None
    if isinstance(quantity, Variable):
        return quantity
    parts = tuple(name.split("::"))
    if not all(part.isidentifier() or not part for part in parts):
        return None
    return variable_called(debugger.frame, parts)


def _variable_json(variable: Variable) -> dict[str, Any]:
    base, address = frame_base_of(variable), _address(variable)
    document = variable_json(variable)
    document["byte_size"] = variable.byte_size()
    if variable.is_constant():
        document["constant"] = _constant(variable)
    if base is not None:
        target = variable.frame.target
        document["frame_base"] = operations_text(as_written(base), target)
        if repairs_of(base):
            document["frame_base_repairs"] = [repair.name for repair in repairs_of(base)]
            document["frame_base_repaired"] = operations_text(base, target)
    if address is not None:
        document["space"], document["address"] = address
    return document


def _location_words(variable: Variable) -> str:
    found = variable.locations()
    if not found:
        return "constant" if variable.is_constant() else OPTIMIZED_OUT
    address = _address(variable)
    text = None
    if address is not None:
        is_default = address[0] in (None, variable.frame.target.default_space.name)
        text = f"{address[1]:#x}" if is_default else f"{address[0]}#{address[1]:#x}"
    if not found[0].operations:
        return f"at {text}, which is not in the file (repaired: {', '.join(each.name for each in found[0].repairs)})"
    return LocationWords(variable.frame.target, frame_base_of(variable), text).text(found)


def _constant(variable: Variable) -> int | None:
    """Return the value of a constant without a location, where it is a number."""
    value = None if variable.locations() or not variable.is_constant() else variable.value(None)
    return value if isinstance(value, int) else None


def _address(variable: Variable) -> tuple[str | None, int] | None:
    """Return the space and the address of a variable that has one without a frame."""
    try:
        address = variable.object(None).address
    except DwarfGpuError:
        return None
    if address is None or not isinstance(address.value, int):
        return None
    space = variable.frame.target.space(address.space or 0)
    return None if space is None else space.name, address.value


def info_scope(debugger: Debugger, arguments: Arguments) -> Document:
    text = arguments.text
    if not text:
        raise arguments.wrong("requires an argument (function, line or *addr) to define a scope")
    place = next(iter(places_of(debugger).read(text)), None)
    address = None if place is None else _address_of(place)
    variables = () if address is None else scope_at(debugger.frame, address)

    def lines(_output: Output) -> Iterator[str]:
        if not variables:
            yield f"Scope for {shown(text)} contains no locals or arguments."
            return
        yield f"Scope for {shown(text)}:"
        for variable in variables:
            try:
                value = _constant(variable)
                words = _location_words(variable) if value is None else f"a constant with value {value} ({value:#x})"
            except DwarfGpuError as error:
                words = f"<error: {error.message}>"
            size = variable.byte_size()
            length = "" if size is None or words == OPTIMIZED_OUT else f", length {size}"
            yield from f"Symbol {shown(variable.name)} is {words}{length}.".split("\n")

    def documents() -> Iterator[dict[str, Any]]:
        for variable in variables:
            try:
                yield _variable_json(variable)
            except DwarfGpuError as error:
                yield {"name": variable.name, "kind": variable.kind, "error": problem_json(error)}

    return Document({"scope": text, "address": address, "variables": documents()}, lines, rows="variables")


def _address_of(place: Linespec) -> int | None:
    """Return the address of a place: of a line without code that of the next one with code."""
    if place.address is not None or place.file is None:
        return place.address
    line = place.file.next_line(max(1, place.line))
    return None if line is None else next(iter(place.file.starts(line)), None)


# --- What there is --------------------------------------------------------------------------------------------------


def info_functions(debugger: Debugger, arguments: Arguments) -> Document:
    noun = arguments.command.name.removeprefix("info ")
    kind: Any = noun.removesuffix("s")
    pattern = arguments.pattern()
    state = debugger.frame.state

    def symbols() -> Iterator[tuple[int, str]]:
        if kind != "type" and not arguments.has("n"):
            yield from undeclared(state, is_code=kind == "function", matches=pattern.search)

    def lines(_output: Output) -> Iterator[str]:
        head = f'All {noun} matching regular expression "{shown(arguments.text)}":'
        yield head if arguments.text else f"All defined {noun}:"
        yield from declarations(declared(state, kind, pattern.search))
        without = list(symbols())
        if without:
            yield from ("", "Non-debugging symbols:", *symbol_lines(without, state.target.address_size))

    data = {
        noun: map(plain, declared(state, kind, pattern.search)),
        "symbols": ({"address": address, "name": name} for address, name in symbols()),
    }
    return Document(data, lines, rows=lambda: chain.from_iterable(data.values()))


# --- Commands about types -----------------------------------------------------------------------------

_TAGGED = re.compile(r"\s*(struct|union|class|enum)\s+(\w+)\s*$")


def ptype(debugger: Debugger, arguments: Arguments) -> Document:
    offsets = "o" in arguments.format
    if arguments.format.strip("o"):
        raise UsageError(f"`ptype` has no format {arguments.format[:20]!r}", hint="/o shows offsets and sizes")
    found, _is_name = _asked(debugger, arguments)
    text = declaration_with_offsets(found) if offsets else declaration(found)
    return _type(found, text, HEAD if offsets and isinstance(found, Struct) else "")


def whatis(debugger: Debugger, arguments: Arguments) -> Document:
    found, is_name = _asked(debugger, arguments)
    if is_name and isinstance(found, Hidden):
        found = found.target
    if is_name and isinstance(found, Typedef):
        found = found.target
    return _type(found, type_text(found, has_spaces=True))


def _type(found: Type, text: str, head: str = "") -> Document:
    return Document(type_json(found, text), f"{head}type = {text}".splitlines())


def _template(frame: Frame, text: str) -> Type | None:
    """Return the type that a template makes of its arguments, which is no type that a text can be read as."""
    for code in frame.state.loaded.codes:
        found = find_type(code.file.dwarf, frame.state.types, text) if code.file.has_dwarf else None
        if found is not None:
            return found
    return None


def _asked(debugger: Debugger, arguments: Arguments) -> tuple[Type, bool]:
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
            raise UsageError(message, kind="no_type", hint=nearly(frame, tagged[2], ("type",))) from None
    if debugger.attached is None:  # where a variable is does not matter for its type
        named = variables_named(frame, text)
        if named:
            return named[0].type, False
    quantity = frame.expression(text)
    evaluator = Evaluator(frame, frame.lane(debugger.lane), text)
    known = static_type(evaluator, quantity.tree)
    if known is not None:
        return known, False
    try:
        value = evaluator.value(quantity.tree)
    except UsageError:
        raise
    except DwarfGpuError as error:
        error.hint = error.hint or "the type of an expression that leads through memory needs a value"
        raise
    return value.type, False


# --- Macros of the C preprocessor -------------------------------------------------------------------------------------


def _macros(debugger: Debugger) -> Definitions:
    """Return the macros at the place of the frame, which must have one, after those of the user."""
    frame, written = debugger.frame, remembered(debugger).macros
    if frame.place is None and not written:
        message = "No frame selected: which macros are defined depends on the place in the source."
        raise UsageError(message, kind="no_frame", hint="attach a state, or launch a kernel")
    return frame.macros


def info_macro(debugger: Debugger, arguments: Arguments) -> Document:
    name = arguments.needed()
    macro = _macros(debugger).get(name)
    if macro is None:
        source = debugger.frame.call.source
        place = f"{source.file}:{source.line}" if source is not None else "this place"
        hint = "`info source` says whether the file has macros; -g3 and -fdebug-macro write them"
        message = f"The symbol `{name[:80]}' has no definition as a C/C++ preprocessor macro at {place}"
        raise UsageError(message, kind="no_name", hint=hint)
    places = [{"file": file, "line": line} for file, line in macro.files]
    parameters = None if macro.parameters is None else [*macro.parameters]
    row = {"name": name, "parameters": parameters, "definition": macro.body, "defined_at": places}

    def lines(_output: Output) -> Iterator[str]:
        for number, (file, line) in enumerate(macro.files):
            yield f"{'  included at' if number else 'Defined at'} {shown(file)}:{line}"
        is_option = len(macro.files) == 1 and not macro.files[0][1]
        text = f"-D{macro.head}={macro.body}" if is_option else f"#define {macro.head} {macro.body}"
        yield shown(text.rstrip())

    return Document({"macro": row}, lines)


def macro_expand(debugger: Debugger, arguments: Arguments) -> Document:
    text = expanded(arguments.needed(), _macros(debugger), once=arguments.command.name.endswith("once"))
    return Document({"expanded": text}, [f"expands to: {shown(text)}"])


def macro_define(debugger: Debugger, arguments: Arguments) -> None:
    macro = macro_of(arguments.needed())
    names = () if macro is None else macro.parameters or ()
    is_open = macro is not None and macro.parameters is None and arguments.text[len(macro.name) :].startswith("(")
    if macro is None or is_open or not all(name.isidentifier() for name in names):
        raise arguments.wrong(f"takes a macro as `SQ(x) ((x) * (x))`, not {arguments.text[:80]!r}")
    if len({*names}) < len(names):
        raise UsageError("Two macro arguments with identical names.", kind="bad_macro")
    remembered(debugger).macros[macro.name] = arguments.text


def macro_undef(debugger: Debugger, arguments: Arguments) -> None:
    remembered(debugger).macros.pop(arguments.needed(), None)


def macro_list(debugger: Debugger, arguments: Arguments) -> Document:
    written = sorted(remembered(debugger).macros.items())
    macros = [macro for _name, text in written if (macro := macro_of(text)) is not None]
    lines = lambda known: [shown(f"macro define {each.head} {each.body}") for each in known]  # noqa: E731
    return listing("macros", Record("name parameters definition=body"), macros, lines)
