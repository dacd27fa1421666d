"""Commands, declared once: name, help and arguments. Parsing, help and documentation all read the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session


@record
class Argument:
    """An argument of a command, as argparse takes it: flags (or one name) and options."""

    flags: tuple[str, ...]
    options: dict[str, Any]


@record
class Command:
    """A command: ``run(session, arguments)`` prints its result and returns the exit status."""

    name: str
    help: str
    description: str
    arguments: tuple[Argument, ...]
    run: Callable[[Session, Any], int]
    examples: tuple[str, ...] = ()


def argument(*flags: str, **options: Any) -> Argument:
    """Declare an argument."""
    return Argument(flags, options)


MODULES = {
    "eval": "evaluate",
    "disasm": "listings",
    "asm": "listings",
    "verify": "listings",
    "ops": "operations",
    "ls": "files",
    "info": "files",
    "kernels": "files",
    "dump": "dump",
    "lists": "files",
    "cfi": "frames",
    "bt": "backtrace",
    "lanes": "lanes",
    "waves": "lanes",
    "frames": "backtrace",
    "locals": "variables",
    "state": "launch",
    "hsa": "launch",
    "address": "machines",
    "snapshot": "machines",
    "debug": "debug",
    "gdb-script": "gdbscript",
}
"""The module of each command: only that of the command that runs is imported."""

SUMMARIES = {
    "eval": "evaluate expressions in a frame, or a DWARF expression",
    "disasm": "list the operations of an expression",
    "asm": "assemble an expression to bytes",
    "verify": "check an expression without evaluating it",
    "ops": "the reference of all operations",
    "ls": "list the code objects in a file",
    "info": "show what a file is, what is at an address, or what a name means",
    "kernels": "show the kernels of a code object",
    "dump": "show debugging information entries, and other sections in full",
    "lists": "read location lists from a file of cases",
    "cfi": "show the call frame information of a file",
    "bt": "show the call frames of waves or threads",
    "lanes": "show where each lane of a wave stands",
    "waves": "list the waves of a snapshot",
    "frames": "the same as bt",
    "locals": "show parameters and local variables of a frame, in every lane",
    "state": "explain the registers of a wave at its first instruction",
    "hsa": "show a queue, signal, packet or kernel descriptor in memory",
    "address": "show one address in every address space that reaches it",
    "snapshot": "convert, check or summarise a snapshot",
    "debug": "look around in a machine that stands still, command by command",
    "gdb-script": "print the path of the script that loads dwarfgpu into GDB",
}


def load(name: str) -> Command:
    """Import the module of a command and return its declaration."""
    from importlib import import_module

    module = import_module(f"dwarfgpu.cli.{MODULES[name]}")
    command: Command = module.COMMANDS[name]
    return command
