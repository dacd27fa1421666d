"""``dwarfgpu debug``: what happens before the first prompt, and instead of one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.commands.scripts import run_script
from dwarfgpu.commands.debugger import Debugger, Quit
from dwarfgpu.commands.files import attach_state, open_file
from dwarfgpu.commands.output import Output
from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from typing import TextIO

    class Session(Protocol):
        """What the command line keeps for all its commands."""

        out: TextIO
        err: TextIO

        def style(self, style: str, text: str, stream: TextIO | None = None) -> str: ...

        def report(self, error: DwarfGpuError, file: str = "") -> int: ...


INTERRUPTED = 130


def debug(session: Session, options: Any) -> int:
    """Run the debugger as the options say; return the exit status."""
    output = Output(session.out.write, session.style)
    debugger = Debugger(output)
    try:
        return _debug(session, debugger, options)
    except Quit as leaving:
        return leaving.status


def _debug(session: Session, debugger: Debugger, options: Any) -> int:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not options.batch
    if not options.no_init:
        _initialise(session, debugger)
    _open(debugger, options)
    status = 0
    for kind, text in options.commands or ():
        try:
            if kind == "file":
                run_script(debugger, text)
            else:
                debugger.execute(text)
        except DwarfGpuError as error:
            if options.debug:
                raise
            status = session.report(error)
            if options.batch:
                return status
    if options.batch:
        return 0
    if is_terminal:
        from dwarfgpu.repl.prompt import Prompt

        return Prompt(session, debugger, quiet=options.quiet).run()
    return max(status, _read_lines(session, debugger))


def _open(debugger: Debugger, options: Any) -> None:
    """Open what the command line names, and look at what it names."""
    if options.file is None:
        if options.state is not None:
            raise UsageError("a state needs the file of code that it is of", hint="name FILE before --state")
        return
    debugger.settings.set("repair", options.repair or "auto")
    open_file(debugger, options.file)
    if options.state is None:
        return
    attach_state(debugger, options.state, force=options.force)
    if options.wave is not None:
        from dwarfgpu.program.machines.backtrace import waves_of

        debugger.select_wave(waves_of(debugger.machine.stopped, options.wave)[0])
    if options.frame is not None:
        debugger.select_frame(options.frame)
    if options.lane is not None:
        debugger.select_lane(options.lane)


def _initialise(session: Session, debugger: Debugger) -> None:
    """Run the init file, if there is one: `$XDG_CONFIG_HOME/dwarfgpu/init`."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111
    path = os.path.join(folder, "dwarfgpu", "init")  # noqa: PTH118 (`pathlib` costs start-up time)
    if not os.path.exists(path):  # noqa: PTH110
        return
    try:
        run_script(debugger, path)
    except DwarfGpuError as error:  # what is wrong in it does not keep anybody from working
        session.report(error)


def _read_lines(session: Session, debugger: Debugger) -> int:
    """Run the lines of standard input; the status of the worst error."""
    status = 0

    def next_line(_prompt: str) -> str | None:
        return sys.stdin.readline() or None

    debugger.next_line = next_line
    while (line := next_line("")) is not None:
        try:
            debugger.execute(line)
        except DwarfGpuError as error:
            if debugger.settings["debug"]:
                raise
            status = max(status, session.report(error))
    return status
