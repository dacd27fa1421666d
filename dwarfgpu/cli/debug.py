"""``dwarfgpu debug``, the debugger, and ``dwarfgpu gdb-script``, which says how GDB finds the package."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import dwarfgpu
from dwarfgpu.questions.selection import FORCE, FRAME, LANE, MAYBE_FILE, MAYBE_STATE, REPAIR, WAVE

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
    "debug": "look around in a machine that stands still, command by command",
    "gdb-script": "print the path of the script that loads dwarfgpu into GDB",
}
DESCRIPTIONS = {
    "debug": """\
A debugger with the commands of GDB and ROCgdb, over a snapshot, a core file, or a file of code alone. `help` lists the
commands. Without a terminal they are read from standard input.""",
    "gdb-script": """\
GDB has a Python of its own, which does not know this installation. The script tells it, checks what that Python has,
and makes `import dwarfgpu.gdb` possible in scripts of GDB.""",
}
EXAMPLES = {
    "debug": (
        "dwarfgpu debug k.co --state stopped.json",
        "dwarfgpu debug k.co --state stopped.dgs -batch -ex 'info lanes' -ex 'print x'",
        "dwarfgpu debug program --state core -x look.gdb",
    ),
    "gdb-script": ('gdb -x "$(dwarfgpu gdb-script)" ./program',),
}
RUN = {"debug": _debug, "gdb-script": _gdb_script}
SELECTS = (MAYBE_FILE, MAYBE_STATE, WAVE, FRAME, LANE, REPAIR, FORCE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only the debugger has."""
    for flags, metavar, kind, text in (
        (("-ex", "--ex"), "CMD", "command", "run a command; may be repeated"),
        (("-x", "--command"), "SCRIPT", "file", "run the commands of a file; may be repeated"),
    ):
        parser.add_argument(*flags, dest="commands", metavar=metavar, action=_InOrder, const=kind, help=text)
    for flags, name, text in (
        (("-batch", "--batch"), "batch", "leave after that; the first error ends it with its status"),
        (("-nx", "--nx"), "no_init", "do not read the init file"),
        (("-q", "--quiet"), "quiet", "say nothing at the start"),
    ):
        parser.add_argument(*flags, dest=name, action="store_true", help=text)
