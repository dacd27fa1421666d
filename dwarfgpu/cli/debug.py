"""``dwarfgpu debug``, the debugger, and ``dwarfgpu gdb-script``, which says how GDB finds the package."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import dwarfgpu
from dwarfgpu.cli.machines import FORCE
from dwarfgpu.cli.registry import Command, argument

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


COMMANDS = {
    "debug": Command(
        """\
A debugger with the commands of GDB and ROCgdb, over a snapshot, a core file, or a file of code alone. `help` lists the
commands. Without a terminal they are read from standard input.""",
        (
            argument(
                "file", metavar="FILE", nargs="?", help="a file, FILE@gfx90a, FILE@2, or a code object URI"
            ),
            argument("--state", metavar="S", help="a snapshot, or a core file"),
            argument("--wave", metavar="N", help="the wave or thread to look at, by number from 1 or by id"),
            argument("--frame", type=int, metavar="N", help="the frame to look at, 0 for the innermost (0)"),
            argument("--lane", type=int, metavar="N", help="the lane to look at (the first active one)"),
            argument(
                "-ex",
                "--ex",
                dest="commands",
                metavar="CMD",
                action=_InOrder,
                const="command",
                help="run a command; may be repeated",
            ),
            argument(
                "-x",
                "--command",
                dest="commands",
                metavar="SCRIPT",
                action=_InOrder,
                const="file",
                help="run the commands of a file; may be repeated",
            ),
            argument(
                "-batch",
                "--batch",
                action="store_true",
                help="leave after that; the first error ends it with its status",
            ),
            argument("-nx", "--nx", dest="no_init", action="store_true", help="do not read the init file"),
            argument("-q", "--quiet", dest="quiet", action="store_true", help="say nothing at the start"),
            argument(
                "--repair", metavar="R", help="read idioms of compilers as they are meant: auto, off, names"
            ),
            FORCE,
        ),
        _debug,
        (
            "dwarfgpu debug k.co --state stopped.json",
            "dwarfgpu debug k.co --state stopped.dgs -batch -ex 'info lanes' -ex 'print x'",
            "dwarfgpu debug program --state core -x look.gdb",
        ),
    ),
    "gdb-script": Command(
        """\
GDB has a Python of its own, which does not know this installation. The script tells it, checks what that Python has,
and makes `import dwarfgpu.gdb` possible in scripts of GDB.""",
        (),
        _gdb_script,
        ('gdb -x "$(python3 -m dwarfgpu gdb-script)" ./program',),
    ),
}
