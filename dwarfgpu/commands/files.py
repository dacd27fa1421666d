"""Commands about files and machines: ``file``, ``core-file``, ``target``, ``save snapshot``, what is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.program import Program
from dwarfgpu.program.repairs.repaired import policy_of

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments


def open_code(debugger: Debugger, arguments: Arguments) -> None:
    """FILE is a code object or a host program: FILE, FILE@gfx90a, FILE@2, or a code object URI. A machine that was
    attached is left.
    """
    open_file(debugger, arguments.needed())


def open_file(debugger: Debugger, path: str) -> None:
    """Open a file, and look at it."""
    from dwarfgpu.program.files.codeobject import opened

    debugger.use(Program(opened(path), repair=policy_of(debugger.settings["repair"])), None)


def attach(debugger: Debugger, arguments: Arguments) -> None:
    """FILE is a snapshot (.json or .dgs) of waves that execute the file that is open, or a core file of the program."""
    attach_state(debugger, arguments.needed(), force=arguments.has("force"))


def attach_state(debugger: Debugger, path: str, *, force: bool = False) -> None:
    """Attach the machine that a file has, and look at its first wave."""
    debugger.use(debugger.opened, debugger.opened.attach(path, force=force))
