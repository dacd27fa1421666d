"""Commands, declared once: name, aliases, arguments, help. Prompt, completion, help, pages and GDB read the table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.settings import Setting
    from dwarfgpu.commands.words import Arguments

    Run = Callable[[Debugger, Arguments], None]

WORD = re.compile(r"[!|?]|[A-Za-z_][\w-]*")
"""A word that names a command."""
PYTHON_DOES = frozenset(("document", "if", "else", "while", "loop_break", "loop_continue"))
"""Commands of GDB's scripts that there are not, because a Python script does the same."""


@frozen
class Option:
    """An option of a command: ``-all``, or ``-lane LIST``."""

    flag: str
    metavar: str | None
    """What its argument is called; None if it has none."""
    help: str
    setting: Setting | None = None
    """The setting that is another one while the command runs: ``-elements 3``, ``-pretty``, ``-symbol off``."""

    @property
    def usage(self) -> str:
        return self.flag if self.metavar is None else f"{self.flag} {self.metavar}"


@frozen
class Command:
    """A row of the table."""

    name: str
    """All its words: ``info lanes``."""
    summary: str
    run: str
    """The module and the function that is it: ``values.print_value``. Its docstring is the rest of the help."""
    group: str
    aliases: tuple[str, ...] = ()
    operands: str = ""
    """What stands behind options, as help shows it."""
    options: tuple[Option, ...] = ()
    formats: str = ""
    """What may stand behind a slash, as help shows it; empty if nothing may."""
    completes: str = ""
    """What its operands are, for completion: a name of `completion.KINDS`."""
    repeats: str = "same"
    """What an empty line does after it: ``same``, ``onwards`` (without its operands) or ``nothing``."""
    gdb: str | None = None
    """Its name behind ``dwarfgpu`` in GDB, if it makes sense there."""

    @property
    def usage(self) -> str:
        """How it is written."""
        parts = [f"{self.name}{f'[/{self.formats}]' if self.formats else ''}"]
        parts += [f"[{option.usage}]" for option in self.options if option.setting is None]
        if any(option.setting is not None for option in self.options):
            parts.append("[-SETTING [VALUE]... --]")
        return " ".join([*parts, self.operands]).strip()

    def load(self) -> Run:
        """The function that is the command; its module is imported only now."""
        from importlib import import_module

        module, _, name = self.run.partition(".")
        found: Run = getattr(import_module(f"dwarfgpu.commands.{module}"), name)
        return found

    @property
    def details(self) -> str:
        """What help says below the summary."""
        from inspect import getdoc

        return getdoc(self.load()) or ""


class Registry:
    """The commands there are, with the aliases and commands that a user has defined."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands: dict[str, Command] = {}
        self._names: dict[str, dict[str, Command]] = {}
        """For each prefix command, and for none, the next words with what they mean."""
        for command in commands:
            self.add(command)

    def add(self, command: Command) -> None:
        """Add a command, or put another one in its place."""
        self.commands[command.name] = command
        for name in (command.name, *command.aliases):
            prefix, _, word = name.rpartition(" ")
            self._names.setdefault(prefix, {})[word] = command

    def names(self, prefix: str = "") -> dict[str, Command]:
        """The words that may follow a prefix command (none: that may begin a line), aliases too."""
        return self._names.get(prefix, {})

    def is_prefix(self, name: str) -> bool:
        """Whether there are commands with one more word."""
        return name in self._names

    def find(self, line: str) -> tuple[Command, str]:
        """The command that a line names, abbreviated or not, and the text behind it."""
        command, rest = self._next("", line.lstrip())
        while self.is_prefix(command.name) and rest.strip():
            try:
                command, rest = self._next(command.name, rest.lstrip())
            except UsageError:
                if not command.run:  # by itself it only lists what follows
                    raise
                break
        return command, rest

    def _next(self, prefix: str, text: str) -> tuple[Command, str]:
        match = WORD.match(text)
        names = self.names(prefix)
        ask = f"`help {prefix}`".replace(" `", "`")
        if match is None:
            what = f"{text[:40]!r} is no command{f' of `{prefix}`' if prefix else ''}"
            raise UsageError(what, kind="no_command", hint=f"{ask} lists the commands")
        word = match.group()
        found = names.get(word)
        if found is None:
            found = self._abbreviated(prefix, word, names, ask)
        return found, text[match.end() :]

    def _abbreviated(self, prefix: str, word: str, names: dict[str, Command], ask: str) -> Command:
        meant = {name: command for name, command in names.items() if name.startswith(word)}
        commands = {command.name: command for command in meant.values()}
        whole = f"{prefix} {word}".lstrip()
        if len(commands) == 1:
            return next(iter(commands.values()))
        if commands:
            raise UsageError(f"`{whole}` is ambiguous: {', '.join(sorted(meant))}", kind="ambiguous_command")
        near = nearest(word, names)
        hint = f"did you mean `{f'{prefix} {near}'.lstrip()}`?" if near else f"{ask} lists the commands"
        if whole in PYTHON_DOES:
            raise python_does(whole)
        raise UsageError(f"there is no command `{whole[:60]}`", kind="no_command", hint=hint)


def python_does(word: str) -> UsageError:
    """Return the error for a part of GDB's script language that Python does here."""
    message = f"there is no `{word[:60]}` here: write it in Python and run it with `source FILE.py`"
    return UsageError(message, kind="no_command")


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that is most like a word, if one is."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(names), 1, 0.6)
    return found[0] if found else None


def option(usage: str, help: str) -> Option:
    """Declare an option: ``-all``, ``-lane LIST``."""
    flag, _, metavar = usage.partition(" ")
    return Option(flag, metavar or None, help)


def setting_option(setting: Setting) -> Option:
    """An option that is a setting of ``print`` for one command."""
    flag = f"-{setting.name.removeprefix('print ')}"
    metavar = "|".join(setting.choices) or ("[on|off]" if isinstance(setting.default, bool) else "N")
    return Option(flag, metavar, setting.help, setting)


def command(name: str, summary: str, run: str, **fields: Any) -> Command:
    """Declare a command; ``aliases`` are words of one text."""
    prefix = name.rpartition(" ")[0]
    aliases = tuple(
        alias.replace("_", " ") if "_" in alias else f"{prefix} {alias}".lstrip()
        for alias in fields.pop("aliases", "").split()
    )
    return Command(name, summary, run, aliases=aliases, **fields)
