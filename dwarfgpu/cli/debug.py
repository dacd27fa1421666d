"""``dwarfgpu debug``, the debugger; ``serve``, which shows waves to GDB; ``gdb-script``, which loads dwarfgpu there."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import dwarfgpu
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.registry import operand, option
from dwarfgpu.questions.selection import FORCE, FRAME, LANE, MAYBE_FILE, MAYBE_STATE, READ_AS, WAVE

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


class _InOrder(argparse.Action):
    """Keeps scripts and commands in the order in which they were given."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        known = namespace.commands or []
        namespace.commands = [*known, (self.const, values)]


def _debug(session: Session, options: Any) -> int:
    from dwarfgpu.repl.start import debug

    return debug(session, options)


def _serve(session: Session, options: Any) -> int:
    if session.wants_json:
        raise UsageError("`serve` does not answer in JSON", hint="leave out --json and --jsonl")
    from types import SimpleNamespace

    from dwarfgpu.serve.listener import say_to_user, serve

    given = {name.removeprefix("operand "): value for name, value in vars(options).items()}
    return serve(SimpleNamespace(**given), say_to_user)


def entry_path() -> str:
    """Return the file of this installation that GDB sources."""
    package = os.path.abspath(dwarfgpu.__path__[0])  # noqa: PTH100 (`pathlib` costs start-up time)
    return f"{package}/gdbplugin/entry.py"


def _gdb_script(session: Session, _options: Any) -> int:
    if session.wants_json:
        session.print_json({"path": entry_path()})
    else:
        session.print(entry_path())
    return 0


# --- Their arguments ----------------------------------------------------------------------------------------------

SUMMARIES = {
    "debug": "look at a snapshot, a core file or code, command by command",
    "serve": "show the waves of a snapshot to any GDB, through its remote protocol",
    "gdb-script": "print the path of the script that loads dwarfgpu into GDB",
    "completion": "print the script with which a shell completes dwarfgpu's words",
}
DESCRIPTIONS = {
    "debug": """\
A debugger with the commands of GDB and ROCgdb, over a snapshot, a core file, or a file of code alone. `help` lists the
commands. Without a terminal they are read from standard input.""",
    "serve": """\
Serve the waves of a snapshot, the threads of a core file, or the waves of a kernel that is launched, to one GDB after
the other. What to type in GDB is printed. Nothing runs; writes change the copy in memory, which the next GDB sees. ^C
ends the server.""",
    "gdb-script": """\
GDB has a Python of its own, which does not know this installation. The script tells it, checks what that Python has,
and makes `import dwarfgpu.gdb` possible in scripts of GDB.""",
    "completion": """\
For bash put `eval "$(dwarfgpu completion bash)"` into ~/.bashrc; for zsh write the output to a file `_dwarfgpu` in a
folder of $fpath; for fish to ~/.config/fish/completions/dwarfgpu.fish.""",
}
EXAMPLES = {
    "debug": (
        "dwarfgpu debug k.co --state stopped.json",
        "dwarfgpu debug k.co --state stopped.dgs -batch -ex 'info lanes' -ex 'print x'",
        "dwarfgpu debug program --state core -x look.gdb",
    ),
    "serve": (
        "dwarfgpu serve stopped.json --port 2345",
        "dwarfgpu serve k.co --launch saxpy --grid 1024 --work-group 256 --once",
        "gdb -ex 'target remote | dwarfgpu serve stopped.dgs --stdio'",
    ),
    "gdb-script": ('gdb -x "$(dwarfgpu gdb-script)" ./program',),
    "completion": ('eval "$(dwarfgpu completion bash)"',),
}
RUN = {"debug": _debug, "serve": _serve, "gdb-script": _gdb_script}
ARGUMENTS = {
    "debug": (MAYBE_FILE, MAYBE_STATE, WAVE, FRAME, LANE, *READ_AS, FORCE),
    "serve": (
        operand("STATE", "a snapshot or a core file; with --launch the file of the kernel"),
        operand("[FILE]", "the file of code, if it is not where STATE says"),
        option("-port N", "the port to listen at (one that is free)", read=int),
        option("-host ADDRESS", "the address to listen at (127.0.0.1)"),
        option("-socket PATH", "listen at a socket in the file system"),
        option("-stdio", "talk through standard input and output"),
        option("-once", "end after the first connection"),
        option("-launch KERNEL", "launch a kernel, and serve its waves at their first instruction"),
        option("-grid X,Y,Z", "the work-items of its grid"),
        option("-work-group X,Y,Z", "the work-items of a work-group"),
        option("-arg VALUE", "its next argument, or NAME=VALUE (all are 0)", is_many=True),
        FORCE,
    ),
}
"""The arguments of those that have some; `add_arguments` declares more of the debugger."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only the debugger has."""
    for flags, metavar, kind, text in (
        (("-ex", "--ex"), "CMD", "command", "run a command; may be repeated"),
        (("-x", "--command"), "SCRIPT", "file", "run the commands of a file; may be repeated"),
    ):
        parser.add_argument(*flags, dest="commands", metavar=metavar, action=_InOrder, const=kind, help=text)
    for flags, name, text in (
        (("-batch", "--batch"), "batch", "leave after that; the exit status is the worst of all commands"),
        (("-nx", "--nx"), "no_init", "do not read the init file"),
        (("-q", "--quiet"), "quiet", "say nothing at the start"),
    ):
        parser.add_argument(*flags, dest=name, action="store_true", help=text)
