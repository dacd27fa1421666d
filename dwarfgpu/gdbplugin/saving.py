"""``dwarfgpu snapshot`` for the threads of a host program: GDB writes the core file, which is their snapshot."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import gdb

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger

COMMAND = "generate-core-file"


def save_threads(debugger: Debugger, text: str) -> None:
    """Write a core file of the process, and say how it is read."""
    words = shlex.split(text)
    if len(words) != 1:
        raise UsageError("`dwarfgpu snapshot` takes one file; a name with blanks stands in quotes")
    path = os.path.expanduser(words[0])  # noqa: PTH111 (`pathlib` costs start-up time)
    if os.path.exists(path):  # noqa: PTH110
        raise UsageError(f"{path} is there already, and is not overwritten", hint="name another file")
    if path.endswith((".json", ".dgs")):
        raise UsageError(
            f"{path} would be a snapshot of waves, and these are threads of {debugger.opened.target.name}",
            hint="they are saved as a core file: `dwarfgpu snapshot core`",
        )
    gdb.execute(f"{COMMAND} {path}", to_string=True)
    count = len(debugger.machine)
    threads = f"{count} thread{'' if count == 1 else 's'}"
    debugger.output.line(f"Saved {threads} to {path}, a core file")
    program = debugger.opened.file.name
    debugger.output.line(f"`dwarfgpu debug {shlex.quote(program)} --state {shlex.quote(path)}` opens it")
