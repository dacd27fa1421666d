"""Commands about macros of the C preprocessor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.program.frames.macros import Definitions, expanded, macro_of
from dwarfgpu.questions.debugger import Debugger, remembered
from dwarfgpu.questions.document import Document, Output, listing
from dwarfgpu.render.layout import Record, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.questions.registry import Arguments


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


def expand(debugger: Debugger, arguments: Arguments) -> Document:
    text = expanded(arguments.needed(), _macros(debugger), once=arguments.command.name.endswith("once"))
    return Document({"expanded": text}, [f"expands to: {shown(text)}"])


def define(debugger: Debugger, arguments: Arguments) -> None:
    macro = macro_of(arguments.needed())
    names = () if macro is None else macro.parameters or ()
    is_open = macro is not None and macro.parameters is None and arguments.text[len(macro.name) :].startswith("(")
    if macro is None or is_open or not all(name.isidentifier() for name in names):
        raise arguments.wrong(f"takes a macro as `SQ(x) ((x) * (x))`, not {arguments.text[:80]!r}")
    if len({*names}) < len(names):
        raise UsageError("Two macro arguments with identical names.", kind="bad_macro")
    remembered(debugger).macros[macro.name] = arguments.text


def undef(debugger: Debugger, arguments: Arguments) -> None:
    remembered(debugger).macros.pop(arguments.needed(), None)


def list_(debugger: Debugger, arguments: Arguments) -> Document:
    arguments.none()
    written = sorted(remembered(debugger).macros.items())
    macros = [macro for _name, text in written if (macro := macro_of(text)) is not None]
    lines = lambda known: [shown(f"macro define {each.head} {each.body}") for each in known]  # noqa: E731
    return listing("macros", Record("name parameters definition=body"), macros, lines)
