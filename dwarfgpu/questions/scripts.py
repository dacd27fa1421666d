"""Commands that are made of others: definitions, aliases and scripts."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from dwarfgpu.children import run_shell
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.registry import PYTHON_DOES, Arguments, Command, python_does
from dwarfgpu.questions.table import SUPPORT
from dwarfgpu.regular_files import read_input
from dwarfgpu.render.layout import counted
from dwarfgpu.render.written_text import own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.program import Attached


FIXED = ("define", "end")
"""The commands that lines of others are read by, so that they stay what they are."""
WITH_BODY = ("define", "commands")
"""The commands to which the lines up to an `end` belong."""
HOOKS = ("hook-", "hookpost-")
"""How the names of definitions begin that GDB runs before a command, or after it."""
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ARGUMENT = re.compile(r"\$arg(c|\d+)")


# --- Lines that follow ----------------------------------------------------------------------------------------------


def word_of(line: str) -> str:
    """Return the word that a line begins with."""
    return line.split(maxsplit=1)[0] if line.strip() else ""


def is_open(text: str) -> bool:
    """Whether further lines belong to what was typed: it ends with a backslash, or an `end` is missing."""
    lines = text.split("\n")
    if _goes_on(lines[-1]):
        return True
    depth = 0
    for line in joined(lines):
        word = word_of(line)
        if word == "end":
            depth = max(0, depth - 1)
        elif word in WITH_BODY and (depth or word == word_of(lines[0])):
            depth += 1
    return depth > 0


def joined(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, of which one that ends with a backslash goes on with the next."""
    start = ""
    for line in lines:
        if _goes_on(line):
            start += line[:-1]
        else:
            yield start + line
            start = ""
    if start:
        yield start


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def body(debugger: Debugger, what: str) -> list[str]:
    """Return the lines up to the `end` that belongs here."""
    if debugger.next_line is None:
        raise UsageError(f"{what} needs lines after it", hint="write it in a script, or at the prompt")
    lines: list[str] = []
    depth = 0
    while (line := debugger.next_line(">")) is not None:
        word = word_of(line)
        if word in PYTHON_DOES:
            raise python_does(word)
        if word == "end":
            if not depth:
                return lines
            depth -= 1
        elif word in WITH_BODY:
            depth += 1
        lines.append(line.rstrip("\n"))
    raise UsageError(f"{what} has no end", hint="its last line is `end`")


def run_lines(debugger: Debugger, lines: Iterable[str]) -> None:
    """Run lines that are there already: of a definition, of a script."""
    before = debugger.next_line
    source = joined(lines)
    debugger.next_line = lambda _prompt: next(source, None)
    try:
        while (line := debugger.next_line("")) is not None:
            if line.strip():
                debugger.execute(_filled(debugger, line))
    finally:
        debugger.next_line = before
        debugger.forget_line()


# --- Definitions ----------------------------------------------------------------------------------------------------


def define(debugger: Debugger, arguments: Arguments) -> None:
    name = arguments.needed()
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:60]!r} cannot be the name of a command", hint="a name is letters, digits, - and _")
    if name in PYTHON_DOES or name.startswith(HOOKS):
        raise python_does(name)
    known = debugger.registry.names().get(name)
    if name in FIXED or debugger.registry.is_prefix(name):
        raise UsageError(f"{name} cannot be redefined", hint="`alias` gives it another name")
    what = "Redefine" if name in debugger.macros else "Really redefine built-in"
    if known is not None and not debugger.confirmed(f'{what} command "{name}"?'):
        raise UsageError(f"{name} stays as it was", kind="not_confirmed")
    lines = tuple(body(debugger, f"the definition of {name}"))
    is_new = known is None or known.name not in debugger.macros
    summary = f"defined: {counted(len(lines), 'line')}" if is_new or known is None else known.summary
    # what else a command was called is this one now; but an alias of a command is a name that is free
    aliases = known.aliases if known is not None and known.name == name else ()
    debugger.macros[name] = lines
    about = "`show user` shows its lines."
    debugger.registry.add(Command(name, summary, run_macro, SUPPORT, aliases, operands="[WORD...]", help=about))


def run_macro(debugger: Debugger, arguments: Arguments) -> None:
    """Run the lines of a command that was defined."""
    before = debugger.called_with
    debugger.called_with = arguments.command.name, arguments.words
    try:
        run_lines(debugger, debugger.macros[arguments.command.name])
    finally:
        debugger.called_with = before


def _filled(debugger: Debugger, line: str) -> str:
    """Return a line of a definition with the words that it was called with."""
    if debugger.called_with is None or "$arg" not in line:
        return line
    name, words = debugger.called_with

    def value(match: re.Match[str]) -> str:
        which = match.group(1)
        if which == "c":
            return str(len(words))
        if len(which) > 4 or int(which) >= len(words):
            raise UsageError(f"{name} is called without $arg{which[:10]}", kind="no_argument")
        return words[int(which)]

    return _ARGUMENT.sub(value, line)


def show_user(debugger: Debugger, arguments: Arguments) -> None:
    names = [arguments.text] if arguments.text else list(debugger.macros)
    for name in names:
        if name not in debugger.macros:
            raise UsageError(f"{name[:60]!r} is not defined")
        debugger.output.line(f"define {name}")
        depth = 1
        for line in map(str.strip, debugger.macros[name]):
            depth -= word_of(line) == "end"
            debugger.output.line(f"{'  ' * depth}{line}")
            depth += word_of(line) == "define"
        debugger.output.line("end")


def alias(debugger: Debugger, arguments: Arguments) -> None:
    if not arguments.text:
        for name, meaning in debugger.aliases.items():
            debugger.output.line(f"alias {name} = {meaning}")
        return
    name, equals, text = (part.strip() for part in arguments.text.partition("="))
    if not equals or not text or not _NAME.fullmatch(name):
        raise arguments.wrong("needs a name, = and a command")
    if name in debugger.registry.names() and name not in debugger.aliases:
        raise UsageError(f"{name} is a command of the debugger", hint="an alias has a name of its own")
    command, rest = debugger.registry.find(text)
    whole = f"{command.name} {rest.strip()}".rstrip()
    if command.name == name:
        raise UsageError(f"{name} cannot be an alias of itself", hint="give the name of the command that it runs")
    debugger.aliases[name] = whole
    summary = f"the same as `{whole}`"
    about = "`alias` shows which command it is a name of."
    row = evolve(command, name=name, summary=summary, run=run_alias, aliases=(), options=(), gdb=None, help=about)
    debugger.registry.add(row)


def run_alias(debugger: Debugger, arguments: Arguments) -> None:
    """Run the command that an alias is a name of."""
    command, rest = debugger.registry.find(debugger.aliases[arguments.command.name])
    form, rest = arguments.format, rest.strip()
    if form and rest.startswith("/"):  # the one that is typed counts
        rest = rest.partition(" ")[2]
    debugger.execute(f"{command.name}{f'/{form}' if form else ''} {rest} {arguments.text}".rstrip())


def stray(debugger: Debugger, arguments: Arguments) -> None:
    raise UsageError(f"`{arguments.command.name}` belongs to no command before it", kind="stray")


# --- Scripts --------------------------------------------------------------------------------------------------------


def source(debugger: Debugger, arguments: Arguments) -> None:
    words = arguments.words
    if len(words) != 1:
        raise arguments.wrong("needs one file")
    run_script(debugger, words[0])


def run_script(debugger: Debugger, path: str) -> None:
    """Run the commands of a file, or a Python script. An error says in which line."""
    path = os.path.expanduser(path)
    if path.endswith(".py"):
        run_python(debugger, path)
        return
    try:
        text = read_input(path, MAX_SCRIPT).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: it is not UTF-8 text", kind="unreadable") from None
    except MalformedFile as error:
        raise UsageError(error.message, kind="unreadable") from None
    number = 0

    def lines() -> Iterator[str]:
        nonlocal number
        for number, line in enumerate(text.splitlines(), 1):  # noqa: B007 (the error below tells it)
            yield line

    try:
        run_lines(debugger, lines())
    except DwarfGpuError as error:
        error.message = f"{path}:{number}: {error.message}"
        raise


MAX_SCRIPT = 1 << 26
"""A script has fewer bytes."""


# --- Python scripts run by the debugger ---------------------------------------------------------------


class DebuggerHost:
    """The debugger as the host of scripts: what it looks at is what is selected (`states.hosts.Host`)."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def attached(self) -> Attached:
        return self._debugger.machine

    def waves(self) -> Sequence[Wave]:
        return list(self._debugger.machine)

    def wave(self) -> Wave:
        return self._debugger.wave

    def frame(self) -> Frame:
        from dwarfgpu.states.hosts import in_lane

        return in_lane(self._debugger.frame, self._debugger.lane)


class _Written(io.TextIOBase):
    """What a script prints goes where the output of commands goes."""

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self._debugger = debugger

    def write(self, text: str) -> int:
        self._debugger.output.write(text)
        return len(text)


def run_python(debugger: Debugger, path: str) -> None:
    """Run a Python script about what the debugger looks at. What is wrong with it is one error, with its line."""
    from runpy import run_path

    from dwarfgpu.states.hosts import using

    try:
        with using(DebuggerHost(debugger)), redirect_stdout(_Written(debugger)):
            run_path(path, run_name="__main__")
    except (DwarfGpuError, Quit):
        raise
    except SystemExit as leaving:
        if leaving.code:
            raise UsageError(f"{path}: exit status {leaving.code}", kind="script_failed") from None
    except Exception as error:
        raise _wrong(path, error) from error


def _wrong(path: str, error: Exception) -> UsageError:
    """Return what a script raised, at the line of the script where it was."""
    from traceback import extract_tb

    if isinstance(error, OSError) and error.filename == path:
        return UsageError(f"{path}: {error.strerror}", kind="unreadable")
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in extract_tb(error.__traceback__):
        if frame.filename == path:
            line = frame.lineno
    where = path if line is None else f"{path}:{line}"
    hint = "`set debug on` shows the traceback"
    return UsageError(f"{where}: {type(error).__name__}: {error}", kind="script_failed", hint=hint)


# --- Commands that run other programs -----------------------------------------------------------------


def shell(debugger: Debugger, arguments: Arguments) -> None:
    run_program(debugger, arguments.text or os.environ.get("SHELL") or "/bin/sh", None)


def pipe(debugger: Debugger, arguments: Arguments) -> None:
    command, bar, program = arguments.text.partition(arguments.get("d") or "|")
    if not command.strip() or not bar or not program.strip():
        raise arguments.wrong("needs a command, | and a program")
    with debugger.output.collected() as texts:
        debugger.execute(command)
    run_program(debugger, program, "".join(texts))


def run_program(debugger: Debugger, program: str, text: str | None) -> None:
    """Run a program, with a text for it to read if there is one; what it writes goes where output goes."""
    has_terminal = debugger.output.height is not None and text is None
    data = None if text is None else text.encode(errors="backslashreplace")
    result = run_shell(program, data, has_terminal=has_terminal)
    if result.stdout:
        debugger.output.write(own(result.stdout.decode(errors="backslashreplace")))
    debugger.shell_status = result.returncode
