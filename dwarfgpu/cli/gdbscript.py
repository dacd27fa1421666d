"""``dwarfgpu gdb-script``: how GDB finds the package."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import dwarfgpu
from dwarfgpu.cli.registry import Command

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session


def entry_path() -> str:
    """The file of this installation that GDB sources."""
    package = os.path.abspath(dwarfgpu.__path__[0])  # noqa: PTH100 (`pathlib` costs start-up time)
    return f"{package}/gdbplugin/entry.py"


def _gdb_script(session: Session, _options: Any) -> int:
    if session.wants_json:
        session.print_json({"path": entry_path()})
    else:
        session.print(entry_path())
    return 0


COMMANDS = {
    "gdb-script": Command(
        """\
GDB has a Python of its own, which does not know this installation. The script tells it, checks what that Python has,
and makes `import dwarfgpu.gdb` possible in scripts of GDB.""",
        (),
        _gdb_script,
        ('gdb -x "$(python3 -m dwarfgpu gdb-script)" ./program',),
    )
}
