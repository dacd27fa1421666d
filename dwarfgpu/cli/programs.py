"""``dwarfgpu exec``: run a whole program whose kernels execute here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.runtimes.device import HostLaunch, ProgramDevice
    from dwarfgpu.runtimes.hip.program import HipProgram
    from dwarfgpu.runtimes.report import ProgramReport

    Execute = Callable[[ProgramDevice, HostLaunch], None]


def execute_program(session: Session, options: Any) -> int:
    """Run a program to its end with a device of its own; return its exit status."""
    from dwarfgpu.runtimes.report import ProgramReport, check_report_file
    from dwarfgpu.runtimes.started import StartedProgram, check_program

    words = [options.program, *options.rest]
    check_program(words)
    files = [*(options.report or ()), *([options.sarif] if options.sarif else ())]
    for path in files:
        check_report_file(path)
    if options.core is not None and not os.path.isdir(options.core):
        raise UsageError(f"{options.core} is no folder", hint="--core takes a folder that exists")
    report = ProgramReport(words[0], session.tell, session.output(), options.profile, options.core)
    with StartedProgram(words, lambda number: _program(number, options, report)) as started:
        is_there = True
        while is_there:
            try:
                is_there = started.serve()
            except KeyboardInterrupt:
                continue  # the program has it, too, and decides
        status = started.status
    report.end()
    for name in files:
        report.write(name)
    return status or (NO_ANSWER if report.has_errors else 0)


def _program(number: int, options: Any, report: ProgramReport) -> HipProgram:
    """Return a process with a device of its own, whose launches are executed and reported."""

    def is_checked(launch: HostLaunch) -> bool:
        names = options.kernel or ()
        return (not names or launch.short_name in names or launch.kernel in names) and (
            not options.launch or launch.number in options.launch
        )

    def execute(device: ProgramDevice, launch: HostLaunch) -> None:
        report.begin(launch)
        device.finish(launch)

    program = _process(number, options, report, execute)
    program.device.is_checked = is_checked
    program.device.report_launch = lambda launch: report.launch(program, launch)
    return program


def _process(number: int, options: Any, report: ProgramReport, execute: Execute) -> HipProgram:
    from dwarfgpu.runtimes.device import ProgramDevice
    from dwarfgpu.runtimes.hip.program import HipProgram

    device = ProgramDevice(
        check=options.check,
        seed=options.seed,
        permissive=options.permissive,
        target=getattr(options, "target", None),
        execute=execute,
    )
    return HipProgram(number, device, report.problem, compile=_compile_kernels)


def _compile_kernels(path: str, processor: str, words: tuple[str, ...]) -> tuple[bytes, str]:
    """Compile what a program compiles while it runs."""
    from dwarfgpu.compilers.sources import Recipe, compile_source

    compiled = compile_source(path, Recipe(processor, "3", words, is_watched=False))
    return compiled.code, compiled.messages


def begin_debugging(options: Any, debugger: Debugger) -> None:
    """Let a debugger run a whole program."""
    from dwarfgpu.questions.execution import OF_LAUNCHES, KernelRun
    from dwarfgpu.runtimes.debugged import DebuggedProgram
    from dwarfgpu.runtimes.report import ProgramReport

    for name in ("file", "kernel", "grid", "state"):
        if getattr(options, name) is not None:
            raise UsageError(f"--args debugs a program, and takes no {name}", hint="its arguments follow its name")
    if options.check is not None:
        debugger.settings.set(OF_LAUNCHES[0], options.check)
    run = debugger.state_of(KernelRun)
    words, output = options.rest, debugger.output
    report = ProgramReport(words[0], output.line, output)

    def begin(number: int, execute: Execute) -> HipProgram:
        program = _process(number, options, report, execute)
        check = debugger.settings[OF_LAUNCHES[0]]
        program.device.check = None if check == "off" else check
        return program

    program = DebuggedProgram(words, begin, lambda: run.points)
    run.whole, debugger.host_calls = program, program.calls
    code = program.code()
    if code is not None:
        debugger.use(code, None)
    output.line(f"{words[0]} is debugged from launch to launch. `run` goes to the first one.")


def compile_hip(_session: Session, options: Any) -> int:
    """Compile a program as hipcc would."""
    from dwarfgpu.compilers.programs import compile_program
    from dwarfgpu.runtimes.hip.library import install

    return compile_program([*options.word, *options.rest], install)
