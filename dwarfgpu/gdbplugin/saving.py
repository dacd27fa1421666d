"""``dwarfgpu snapshot``: waves are saved as a snapshot, threads of a host program as a core file that GDB writes."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import gdb

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.program.program import Attached

COMMAND = "generate-core-file"


def save(debugger: Debugger, text: str) -> None:
    """Save what stands still, and say how it is read."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that nothing closes
        words = []
    if len(words) != 1:
        raise UsageError("`dwarfgpu snapshot` takes one file; a name with blanks stands in quotes")
    path = os.path.expanduser(words[0])  # noqa: PTH111 (`pathlib` costs start-up time)
    machine = debugger.machine
    if os.path.exists(path):  # noqa: PTH110
        raise UsageError(f"{path} is there already, and is not overwritten", hint="name another file")
    kind = _save_waves if machine.has_waves else _save_threads
    what = kind(machine, path)
    debugger.output.line(f"Saved {what} to {path}")
    words = ["dwarfgpu", "debug", machine.program.file.name, "--state", path]
    debugger.output.line(f"`{shlex.join(words)}` opens it")


def _save_waves(machine: Attached, path: str) -> str:
    from dwarfgpu.backends import snapshot
    from dwarfgpu.program.machines.captured import captured

    found = captured(machine)
    snapshot.save(found, path)
    return f"{found.wave_count} wave{'' if found.wave_count == 1 else 's'}"


def _save_threads(machine: Attached, path: str) -> str:
    if path.endswith((".json", ".dgs")):
        raise UsageError(
            f"{path} would be a snapshot of waves, and these are threads of {machine.state.target.name}",
            hint="they are saved as a core file: `dwarfgpu snapshot core`",
        )
    gdb.execute(f"{COMMAND} {path}", to_string=True)
    count = len(machine)
    return f"{count} thread{'' if count == 1 else 's'} as a core file"
