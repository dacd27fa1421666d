"""Commands, declared once: name and summary in a row here, what only running one needs in its own module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session


class Argument(NamedTuple):
    """An argument of a command, as argparse takes it: flags (or one name) and options."""

    flags: tuple[str, ...]
    options: dict[str, Any]


class Command(NamedTuple):
    """A command: ``run(session, arguments)`` prints its result and returns the exit status."""

    description: str
    arguments: tuple[Argument, ...]
    run: Callable[[Session, Any], int]
    examples: tuple[str, ...] = ()


class Row(NamedTuple):
    """What is known of a command before its module is imported."""

    module: str
    """The module of `cli` whose ``COMMANDS`` has the declaration."""
    summary: str


def argument(*flags: str, **options: Any) -> Argument:
    """Declare an argument."""
    return Argument(flags, options)


ROWS = {
    "eval": Row("evaluate", "evaluate expressions in a frame, or a DWARF expression"),
    "locals": Row("variables", "show parameters and local variables of a frame, in every lane"),
    "debug": Row("debug", "look around in a machine that stands still, command by command"),
    "gdb-script": Row("debug", "print the path of the script that loads dwarfgpu into GDB"),
}
"""All commands, as help lists them. Only the module of the command that runs is imported."""


def load(name: str) -> Command:
    """Import the module of a command and return its declaration."""
    from importlib import import_module

    module = import_module(f"dwarfgpu.cli.{ROWS[name].module}")
    command: Command = module.COMMANDS[name]
    return command
