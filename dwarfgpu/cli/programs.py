"""``dwarfgpu exec``: run a whole program whose kernels execute here."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import NO_ANSWER

if TYPE_CHECKING:
    from dwarfgpu.cli.session import Session
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.runtimes.calling import CallingProgram
    from dwarfgpu.runtimes.device import HostLaunch, ProgramDevice
    from dwarfgpu.runtimes.report import ProgramReport


def execute_program(session: Session, options: Any) -> int:
    """Run a program to its end with a device of its own; return its exit status."""
    from dwarfgpu.runtimes.report import ProgramReport, check_report_file
    from dwarfgpu.runtimes.started import StartedProgram, check_program

    words = [options.program, *options.rest]
    targets = options.target or ()
    check_program(words, targets)
    files = [*(options.report or ()), *([options.sarif] if options.sarif else ())]
    if options.sarif and not options.sarif.endswith(".sarif"):
        raise UsageError(f"--sarif takes a file that ends in .sarif, not {options.sarif}", hint="--report takes others")
    for path in files:
        check_report_file(path)
    if options.core is not None and not os.path.isdir(options.core):
        raise UsageError(f"{options.core} is no folder", hint="--core takes a folder that exists")
    report = ProgramReport(words[0], session.tell, session.output(), options.profile, options.core)
    begin = partial(_program, options=options, report=report)
    with StartedProgram(words, begin, targets=targets, debug=options.g) as started:
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


def words_to_fault(options: Any) -> list[str]:
    """Return what `debug` is given to run a program up to the first error of a kernel."""
    for name in ("target", "kernel", "launch", "profile", "report", "sarif", "core"):
        if getattr(options, name):
            raise UsageError(f"--break-at-fault leads to the debugger, and takes no --{name}")
    given = ["--permissive"] * options.permissive
    given += [] if options.check is None else [f"--check={options.check}"]
    given += [] if options.seed is None else [f"--seed={options.seed}"]
    return [*given, "-ex", "continue", "--args", options.program, *options.rest]


def _program(kind: type[CallingProgram], number: int, options: Any, report: ProgramReport) -> CallingProgram:
    """Return a process with a device of its own, whose launches are executed and reported."""

    def is_checked(launch: HostLaunch) -> bool:
        names = options.kernel or ()
        return (not names or launch.short_name in names or launch.kernel in names) and (
            not options.launch or launch.number in options.launch
        )

    def execute(device: ProgramDevice, launch: HostLaunch) -> None:
        report.begin(launch)
        device.finish(launch)

    device = _device(options, options.check)
    device.execute, device.is_checked, device.is_lazy = execute, is_checked, options.lazy
    if options.target:
        device.target, *others = options.target
        device.others = (*others,)
    program = kind(number, device, report.problem)
    device.report_launch = lambda launch: report.launch(program, launch)
    return program


def _device(options: Any, check: str | None) -> ProgramDevice:
    from dwarfgpu.runtimes.device import ProgramDevice

    return ProgramDevice(check=check, seed=options.seed, permissive=options.permissive)


def begin_debugging(options: Any, debugger: Debugger, *, is_started: bool = False) -> None:
    """Let a debugger run a whole program."""
    from dwarfgpu.questions.execution import OF_LAUNCHES, KernelRun
    from dwarfgpu.runtimes.debugged import DebuggedProgram
    from dwarfgpu.runtimes.report import ProgramReport

    for name in ("file", "kernel", "grid", "state"):
        if getattr(options, name) is not None:
            raise UsageError(f"--args debugs a program, and takes no {name}", hint="its arguments follow its name")
    check = OF_LAUNCHES[0]
    if options.check is not None:
        debugger.settings.set(check, options.check)
    run = debugger.state_of(KernelRun)
    words, output = options.rest, debugger.output

    def device() -> ProgramDevice:
        return _device(options, {"off": None}.get(debugger.settings[check], debugger.settings[check]))

    program = DebuggedProgram(words, lambda: run.points, ProgramReport(words[0], output.line, output), device)
    run.whole, debugger.host_calls = program, program.calls
    code = program.code()
    if code is not None:
        debugger.use(code, None)
    if is_started:
        program.start()
    else:
        output.line(f"{words[0]} is debugged from launch to launch. `run` goes to the first one.")


def compile_hip(_session: Session, options: Any) -> int:
    """Compile a program as hipcc would."""
    from dwarfgpu.runtimes.hip.hipcc import compile_program

    return compile_program([*options.word, *options.rest])
