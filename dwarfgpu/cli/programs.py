"""``dwarfgpu exec``: run a whole program whose kernels execute here."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import PrivateFolder, start_program
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import NO_ANSWER

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.runtimes.device import HostLaunch
    from dwarfgpu.runtimes.hip.program import HipProgram
    from dwarfgpu.runtimes.report import ProgramReport

SECONDS = 0.1
"""How often the end of the program is looked for where the system does not tell it."""


def execute_program(session: Session, options: Any) -> int:
    """Run a program to its end with a device of its own; return its exit status."""
    from dwarfgpu.runtimes.connection import Server, socket_path
    from dwarfgpu.runtimes.hip.library import install
    from dwarfgpu.runtimes.report import ProgramReport, check_report_file

    if sys.platform != "linux":
        raise UsageError("`exec` needs Linux", hint="`dwarfgpu run` executes a kernel on any system")
    words = [options.program, *options.rest]
    if shutil.which(words[0]) is None:
        hint = f"./{words[0]} names a program in this folder" if os.path.isfile(words[0]) else None
        raise UsageError(f"there is no program {words[0]!r}", kind="no_program", hint=hint)
    files = [*(options.report or ()), *([options.sarif] if options.sarif else ())]
    for path in files:
        check_report_file(path)
    if options.core is not None and not os.path.isdir(options.core):
        raise UsageError(f"{options.core} is no folder", hint="--core takes a folder that exists")
    report = ProgramReport(words[0], session.tell, session.output(), options.profile, options.core)
    with PrivateFolder() as folder:
        library = folder.path / "lib"
        library.mkdir()
        install(library)
        path = socket_path(folder.path)
        server = Server(path, lambda number: _program(number, options, report))
        try:
            searched = os.pathsep.join(filter(None, (str(library), os.environ.get("LD_LIBRARY_PATH"))))
            process = start_program(words, {"DWARFGPU_DEVICE": str(path), "LD_LIBRARY_PATH": searched})
            while process.poll() is None:
                try:
                    server.serve(SECONDS)
                except KeyboardInterrupt:
                    continue  # the program has it, too, and decides
            while server.serve(0):
                pass
        finally:
            server.close()
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    report.end()
    for name in files:
        report.write(name)
    return status or (NO_ANSWER if report.has_errors else 0)


def _program(number: int, options: Any, report: ProgramReport) -> HipProgram:
    """Return a process with a device of its own."""
    from dwarfgpu.runtimes.device import ProgramDevice
    from dwarfgpu.runtimes.hip.program import HipProgram

    def is_checked(launch: HostLaunch) -> bool:
        names = options.kernel or ()
        return (not names or launch.short_name in names or launch.kernel in names) and (
            not options.launch or launch.number in options.launch
        )

    device = ProgramDevice(
        check=options.check,
        seed=options.seed,
        permissive=options.permissive,
        target=options.target,
        is_checked=is_checked,
        begin_launch=report.begin,
    )
    program = HipProgram(number, device, report.problem)
    device.report_launch = lambda launch: report.launch(program, launch)
    return program


def compile_hip(_session: Session, options: Any) -> int:
    """Compile a program as hipcc would."""
    from dwarfgpu.compilers.programs import compile_program
    from dwarfgpu.runtimes.hip.library import install

    return compile_program([*options.word, *options.rest], install)
