"""Commands about the debugger itself: help, settings, scripts, definitions, other programs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dwarfgpu.commands.debugger import Quit
from dwarfgpu.commands.output import Output
from dwarfgpu.commands.registry import Command, nearest
from dwarfgpu.commands.table import GROUPS, SUPPORT
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.records import replace
from dwarfgpu.render.layout import counted, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "r": "\r"}
_ARGUMENT = re.compile(r"\$arg(c|\d+)")


# --- Help -----------------------------------------------------------------------------------------------------------


def help_(debugger: Debugger, arguments: Arguments) -> None:
    """`help print` says all about a command, `help info` lists the commands that begin with that word."""
    if not arguments.text:
        for group in GROUPS:
            known = debugger.registry.commands.values()
            debugger.output.line(debugger.output.style("name", f"{group[0].upper()}{group[1:]}:"))
            names = ", ".join(each.name for each in known if each.group == group and each.run)
            debugger.output.lines(f"  {line}" for line in wrapped(names, debugger.output.width - 2))
        debugger.output.line()
        debugger.output.line(
            "`help COMMAND` says more, `apropos WORD` finds commands. Names may be shortened."
        )
        return
    command, rest = debugger.registry.find(arguments.text)
    if rest.strip():
        raise UsageError(f"there is no command `{arguments.text[:60]}`", kind="no_command")
    if command.run:
        _help_of(debugger, command)
    if debugger.registry.is_prefix(command.name):
        inner = debugger.registry.names(command.name).values()
        _summaries(debugger, dict.fromkeys(each.name for each in inner))


def _help_of(debugger: Debugger, command: Command) -> None:
    output = debugger.output
    output.lines(wrapped(f"{command.usage}", output.width))
    output.lines(f"  {line}" for line in wrapped(_sentence(command.summary), output.width - 2))
    for one in command.options:
        first, *rest = wrapped(one.help, output.width - 20)
        output.line(f"  {one.usage:16}  {first}")
        output.lines(f"{' ' * 20}{line}" for line in rest)
    if command.aliases:
        output.line(f"  Also: {', '.join(command.aliases)}")
    details = " ".join(_details(debugger, command).split())
    if details:
        output.line()
        output.lines(wrapped(details, output.width))


def _details(debugger: Debugger, command: Command) -> str:
    return "" if command.name in debugger.macros else command.details


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _summaries(debugger: Debugger, names: Iterable[str]) -> None:
    rows = [(name, debugger.registry.commands[name].summary) for name in names]
    width = max(len(name) for name, _summary in rows)
    for name, summary in rows:
        first, *rest = wrapped(summary, debugger.output.width - width - 4)
        debugger.output.line(f"  {debugger.output.style('name', name)}{' ' * (width - len(name))}  {first}")
        debugger.output.lines(f"{' ' * (width + 4)}{line}" for line in rest)


def apropos(debugger: Debugger, arguments: Arguments) -> None:
    """REGEXP is searched in names, aliases, summaries and settings; case does not matter."""
    arguments.needed()
    pattern = re.compile(arguments.pattern().pattern, re.IGNORECASE)
    found = False
    for each in debugger.registry.commands.values():
        if pattern.search(" ".join((each.name, *each.aliases, each.summary))):
            debugger.output.line(f"{debugger.output.style('name', each.name)} -- {_sentence(each.summary)}")
            found = True
    for setting, _value in debugger.settings.shown():
        if pattern.search(f"{setting.name} {setting.help}"):
            name = debugger.output.style("name", f"set {setting.name}")
            debugger.output.line(f"{name} -- {_sentence(setting.help)}")
            found = True
    if not found:
        debugger.output.line(f"nothing is about {arguments.text!r}")


# --- Settings -------------------------------------------------------------------------------------------------------


def set_(debugger: Debugger, arguments: Arguments) -> None:
    """`show` lists the settings with their values. What names no setting is an assignment: `set x = 3`."""
    text = arguments.needed()
    if re.match(r"[^=]*[^=!<>]=(?!=)", text) and not debugger.settings.find(text.partition("=")[0]):
        debugger.execute(f"set var {text}")
        return
    found = debugger.settings.find(text)
    if found is None:
        near = nearest(text.split()[0], debugger.settings.declared)
        hint = f"did you mean `set {near}`?" if near else "`show` lists the settings"
        raise UsageError(f"there is no setting {text[:60]!r}", kind="no_setting", hint=hint)
    debugger.settings.set(*found)


def show(debugger: Debugger, arguments: Arguments) -> None:
    """Without a name: all settings."""
    known = debugger.settings.declared
    wanted = list(known)
    if arguments.text:
        found = debugger.settings.find(arguments.text)
        if found is not None and not found[1]:
            wanted = [found[0]]
        else:
            wanted = [name for name in known if name.startswith(arguments.text)]
    if not wanted:
        raise UsageError(
            f"there is no setting {arguments.text[:60]!r}", kind="no_setting", hint="`show` lists them"
        )
    width = max(map(len, wanted))
    for setting, value in debugger.settings.shown():
        if setting.name in wanted:
            debugger.output.line(f"{setting.name:{width}}  {debugger.output.style('number', value)}")
    if len(wanted) == 1:
        debugger.output.lines(wrapped(_sentence(known[wanted[0]].help), debugger.output.width))


def show_version(debugger: Debugger, arguments: Arguments) -> None:
    """Also which Python runs it."""
    import platform

    from dwarfgpu import __version__

    arguments.none()
    debugger.output.line(f"dwarfgpu {__version__}, Python {platform.python_version()}")


# --- Definitions ----------------------------------------------------------------------------------------------------


def define(debugger: Debugger, arguments: Arguments) -> None:
    """The lines up to `end` are the command. In them $arg0, $arg1, ... are the words it is called with, and $argc is
    their number.
    """
    name = arguments.needed()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} cannot be the name of a command", hint="a name is letters, digits, - and _"
        )
    known = debugger.registry.names().get(name)
    if known is not None and known.name not in debugger.macros:
        raise UsageError(f"{name} is a command of the debugger", hint="`alias` gives it another name")
    lines = tuple(_body(debugger, f"the definition of {name}"))
    debugger.macros[name] = lines
    summary = known.summary if known is not None else f"defined: {counted(len(lines), 'line')}"
    debugger.registry.add(Command(name, summary, "control.run_macro", SUPPORT, operands="[WORD...]"))


def _body(debugger: Debugger, what: str) -> Iterable[str]:
    if debugger.next_line is None:
        raise UsageError(f"{what} needs lines behind it", hint="write it in a script, or at the prompt")
    while (line := debugger.next_line(">")) is not None:
        if line.strip() == "end":
            return
        yield line
    raise UsageError(f"{what} has no end", hint="its last line is `end`")


def run_macro(debugger: Debugger, arguments: Arguments) -> None:
    """`show user` shows its lines."""
    name = arguments.command.name
    words = arguments.words

    def value(match: re.Match[str]) -> str:
        which = match.group(1)
        if which == "c":
            return str(len(words))
        if int(which) >= len(words):
            raise UsageError(f"{name} is called without $arg{which}", kind="no_argument")
        return words[int(which)]

    run_lines(debugger, [_ARGUMENT.sub(value, line) for line in debugger.macros[name]])


def run_lines(debugger: Debugger, lines: Iterable[str]) -> None:
    """Run lines that are there already: of a definition, of a script."""
    before = debugger.next_line
    source = iter(lines)
    debugger.next_line = lambda _prompt: next(source, None)
    try:
        while (line := debugger.next_line("")) is not None:
            if line.strip():
                debugger.execute(line)
    finally:
        debugger.next_line = before
        debugger.forget_line()


def document(debugger: Debugger, arguments: Arguments) -> None:
    """The lines up to `end` are what `help` says of the command."""
    name = arguments.needed()
    if name not in debugger.macros:
        raise UsageError(f"{name[:60]!r} is not defined", hint="`define` defines a command")
    text = " ".join(_body(debugger, f"the text about {name}"))
    debugger.registry.add(
        replace(debugger.registry.commands[name], summary=text.strip().rstrip(".") or "defined")
    )


def show_user(debugger: Debugger, arguments: Arguments) -> None:
    """Without a name: all of them."""
    names = [arguments.text] if arguments.text else list(debugger.macros)
    for name in names:
        if name not in debugger.macros:
            raise UsageError(f"{name[:60]!r} is not defined")
        debugger.output.line(f"define {name}")
        debugger.output.lines(f"  {line.strip()}" for line in debugger.macros[name])
        debugger.output.line("end")


def alias(debugger: Debugger, arguments: Arguments) -> None:
    """`alias v = info registers` makes v another name; words behind the command stay in front of those that are typed.
    Without arguments: the names that were given.
    """
    if not arguments.text:
        for name, meaning in debugger.aliases.items():
            debugger.output.line(f"alias {name} = {meaning}")
        return
    name, equals, text = (part.strip() for part in arguments.text.partition("="))
    if not equals or not text or not _NAME.fullmatch(name):
        raise arguments.wrong("needs a name, = and a command")
    if name in debugger.registry.names() and name not in debugger.aliases:
        raise UsageError(f"{name} is a command of the debugger")
    command, rest = debugger.registry.find(text)
    whole = f"{command.name} {rest.strip()}".rstrip()
    debugger.aliases[name] = whole
    summary = f"the same as `{whole}`"
    debugger.registry.add(
        replace(
            command, name=name, summary=summary, run="control.run_alias", aliases=(), options=(), gdb=None
        )
    )


def run_alias(debugger: Debugger, arguments: Arguments) -> None:
    """`alias` shows what it is another name of."""
    form = f"/{arguments.format}" if arguments.format else ""
    command, rest = debugger.registry.find(debugger.aliases[arguments.command.name])
    debugger.execute(f"{command.name}{form} {rest.strip()} {arguments.text}".rstrip())


# --- Scripts and programs -------------------------------------------------------------------------------------------


def source(debugger: Debugger, arguments: Arguments) -> None:
    """A file whose name ends in .py is a Python script: in it `import dwarfgpu.gdb as dg` gives what is looked at here.
    The first command of a script that fails ends it.
    """
    words = arguments.words
    if len(words) != 1:
        raise arguments.wrong("needs one file")
    path = os.path.expanduser(words[0])  # noqa: PTH111 (`pathlib` costs start-up time)
    if path.endswith(".py"):
        from dwarfgpu.commands.scripts import run_python

        run_python(debugger, path)
        return
    run_script(debugger, path)


def run_script(debugger: Debugger, path: str) -> None:
    """Run the commands of a file. An error says in which line."""
    text = _text_of(path)
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


def _text_of(path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (`pathlib` costs start-up time)
            return file.read().decode()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{path}: {why}", kind="unreadable") from None


def pipe(debugger: Debugger, arguments: Arguments) -> None:
    """`pipe bt | grep main`, or `| bt | grep main`. The program is run by the shell."""
    command, bar, program = arguments.text.partition("|")
    if not command.strip() or not bar or not program.strip():
        raise arguments.wrong("needs a command, | and a program")
    collected: list[str] = []
    output = debugger.output
    debugger.output = Output(collected.append, width=output.width)
    try:
        debugger.execute(command)
    finally:
        debugger.output = output
    run_program(debugger, program, "".join(collected))


def shell(debugger: Debugger, arguments: Arguments) -> None:
    """Without a program: a shell. Its exit status is $_shell_exitcode."""
    run_program(debugger, arguments.text or os.environ.get("SHELL") or "/bin/sh", None)


def run_program(debugger: Debugger, program: str, text: str | None) -> None:
    """Run a program, with a text for it to read if there is one; what it writes goes where output goes."""
    import subprocess

    takes_terminal = debugger.output.height is not None and text is None
    result = subprocess.run(  # noqa: S602 (that is what the command is for)
        program,
        shell=True,
        check=False,
        input=None if text is None else text.encode(),
        stdout=None if takes_terminal else subprocess.PIPE,
        stderr=None if takes_terminal else subprocess.STDOUT,
    )
    if result.stdout:
        debugger.output.write(result.stdout.decode(errors="backslashreplace"))
    if result.returncode:
        raise UsageError(f"{program[:60]}: exit status {result.returncode}", kind="program_failed")


def echo(debugger: Debugger, arguments: Arguments) -> None:
    r"""Escapes are those of C: `echo done\n`. There is no line end unless the text has one."""
    text = arguments.text.removesuffix("\\")
    debugger.output.write(_ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group(1)), text))


def history(debugger: Debugger, arguments: Arguments) -> None:
    """The last ten, or the last N."""
    count = arguments.integer() or 10
    lines = debugger.typed
    first = max(0, len(lines) - count)
    for number, line in enumerate(lines[first:], first + 1):
        debugger.output.line(f"{number:5}  {line}")


def tui(debugger: Debugger, arguments: Arguments) -> None:
    """^X a, or `quit`, leaves it again."""
    if debugger.full_screen is None:
        raise UsageError("there is no terminal for a full screen", kind="no_terminal")
    debugger.full_screen()


def quit_(debugger: Debugger, arguments: Arguments) -> None:
    """STATUS is the exit status, 0 without one."""
    raise Quit(arguments.integer() or 0)
