"""``dwarfgpu exec``: run a whole program whose kernels execute here."""

from __future__ import annotations

import os
import re
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import folder_of_run
from dwarfgpu.cli.running import begun_histories, check_followed, check_of_seeds, end_histories, traced, written_steps
from dwarfgpu.compilers import BUILD, SOURCES
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions.document import INTERRUPTED, NO_ANSWER
from dwarfgpu.render.layout import fitted, ranges_text, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.cli.session import Session
    from dwarfgpu.execution.control.tracing import StepTrace
    from dwarfgpu.execution.control.value_history import ValueHistory
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.runtimes.calling import CallingProgram
    from dwarfgpu.runtimes.device import HostLaunch, ProgramDevice
    from dwarfgpu.runtimes.report import ProgramReport


LOOKS = ("trace", "wave", "lane", "watch", "history")
"""The options that say what is shown of the waves of a launch."""
OF_ONE_RUN = (*LOOKS, "profile", "core", "break_at_fault")
NOT_DEBUGGED = ("kernel", "launch", "profile", "report", "sarif", "core", *LOOKS, "seeds", "lazy")
"""The options that `--break-at-fault` does not take."""
OUTPUT, STATUS = "output", "exit status"
"""The results of a program."""
_LEAKS = re.compile(r"^nanobind: .*\n( - .*\n)*(See https://nanobind.*refleaks\.html)?", re.MULTILINE)
"""What the library under Triton writes at the end of a script about its own objects, with their addresses."""


def execute_program(session: Session, options: Any) -> int:
    """Run a program to its end with a device of its own; return its exit status."""
    from dwarfgpu.execution.forms.native import interpreted_text
    from dwarfgpu.runtimes.report import ProgramReport, check_report_file
    from dwarfgpu.runtimes.started import check_program, check_system

    targets = options.target or ()
    check_system(targets)
    words = [_program_of(options.program, targets, BUILD.level), *options.rest]
    check_program(words)
    files = [*(options.report or ()), *([options.sarif] if options.sarif else ())]
    if options.sarif and not options.sarif.endswith(".sarif"):
        raise UsageError(f"--sarif takes a file that ends in .sarif, not {options.sarif}", hint="--report takes others")
    for path in files:
        check_report_file(path)
    if options.core is not None and not os.path.isdir(options.core):
        raise UsageError(f"{options.core} is no folder", hint="--core takes a folder that exists")
    check_followed(options)
    if options.history is not None and len(options.launch or ()) != 1:
        raise UsageError("--history writes the values of one launch", hint="name it with --launch N")
    if options.seeds is not None:
        check_of_seeds(options, OF_ONE_RUN)
    if text := interpreted_text():
        session.hint(text)
    report = ProgramReport(options.program, session.tell, session.output(), options.profile, options.core)
    looks, chosen = _Looks(session, options, report), _Chosen(options)
    run = partial(_run_once, words, options, report, looks, chosen)
    status = run(options.seed) if options.seeds is None else _run_seeds(session, options, run)
    report.end()
    for name in files:
        report.write(name)
    lacks_answer = looks.end()
    if report.has_kernel_errors and not any(getattr(options, name) for name in NOT_DEBUGGED):
        again = shlex.join(["dwarfgpu", "exec", "--break-at-fault", *options.typed, *options.rest])
        session.hint(f"`{again}` stops in the debugger where the first error was found")
    chosen.check()
    return status or (NO_ANSWER if report.has_errors or lacks_answer else 0)


def _program_of(word: str, targets: Sequence[str], level: str) -> str:
    """Return the program to start, which is compiled here if it is a source of HIP."""
    if os.path.splitext(word)[1] not in SOURCES:
        return word
    from dwarfgpu.runtimes.hip.hipcc import program_of

    return program_of(word, targets, level)


def _run_once(
    words: list[str],
    options: Any,
    report: ProgramReport,
    looks: _Looks,
    chosen: _Chosen,
    seed: int | None,
    *,
    is_apart: bool = False,
    output: int | None = None,
) -> int:
    """Run a program to its end; return its exit status."""
    from dwarfgpu.runtimes.started import StartedProgram

    begin = partial(_program, options=options, report=report, looks=looks, chosen=chosen, seed=seed)
    started = StartedProgram(
        words, begin, targets=options.target or (), debug=options.g, is_apart=is_apart, output=output
    )
    with started:
        is_there = True
        while is_there:
            try:
                is_there = started.serve()
            except KeyboardInterrupt:
                if is_apart:
                    raise
                continue  # the program has it, too, and decides
        return started.status or 0


def _run_seeds(session: Session, options: Any, run: Callable[..., int]) -> int:
    """Run a program with several seeds, show which results differ, and print what it writes with the first one."""
    from dwarfgpu.execution.control.seeds import SeedReport, SeedResults
    from dwarfgpu.render.running import seeds_hint, seeds_text

    found, is_interrupted, first = SeedResults(), False, options.seed or 0
    runs: dict[int, tuple[str, int]] = {}

    def results(seed: int) -> tuple[str, int]:
        with (folder_of_run() / "output").open("w+b") as stream:
            status = run(seed, is_apart=True, output=stream.fileno())
            stream.seek(0)
            return _LEAKS.sub("", stream.read().decode(errors="replace")), status

    for seed in range(first, first + options.seeds):
        try:
            output, status = runs[seed] = results(seed)
        except KeyboardInterrupt:
            is_interrupted = True
            break
        if seed == first:
            session.out.write(output)
        found.add(seed, OUTPUT, output)
        found.add(seed, STATUS, str(status))
    report = SeedReport(options.program, "seed", (*runs,), found.grouped(), len(runs), is_interrupted)
    for line in seeds_text(report):
        session.tell(line)
    if is_interrupted:
        return INTERRUPTED
    if report.differing:
        session.tell(f"seed {first} runs once more, to see whether results differ without another order")
        own = f"they differ between two runs with seed {first}, too: they depend on more than the order"
        session.hint(own if results(first) != runs[first] else seeds_hint(report))
    return max(status for _output, status in runs.values()) or (NO_ANSWER if report.differing else 0)


class _Looks:
    """What is shown of chosen launches while they run: the steps of a wave, and the values of expressions."""

    def __init__(self, session: Session, options: Any, report: ProgramReport) -> None:
        self._session, self._options, self._report = session, options, report
        self._trace: StepTrace | None = None
        self._histories: list[ValueHistory] = []
        self._hints: dict[str, None] = {}
        self._refused: set[str] = set()
        self._is_shown = False
        """Whether anything was shown that was asked for."""

    @property
    def is_asked(self) -> bool:
        return bool(self._options.trace or self._options.watch)

    def begin(self, launch: HostLaunch) -> None:
        """Look at a launch whose waves are at the first instruction."""
        running, options = launch.running, self._options
        assert running is not None  # noqa: S101 (it is about to run)
        title = [f"launch {launch.number}, {shown(launch.short_name)}:"]
        try:
            if options.trace is not None:
                self._trace = traced(running, options, written_steps(lambda line: self._report.show([line])))
            self._histories = begun_histories(running, options)
        except DwarfGpuError as error:
            if str(error) not in self._refused:
                self._refused.add(str(error))
                title += fitted(f"  {error}", 4)
                self._hints |= {} if error.hint is None else {error.hint: None}
            elif self._trace is None:
                title = []
        self._report.show(title)

    def finish(self) -> None:
        """Show the rest while the machine is as the launch has left it."""
        trace, self._trace = self._trace, None
        histories, self._histories = self._histories, []
        if trace is not None:
            trace.end()
            self._is_shown = True
        if not histories:
            return
        from dwarfgpu.questions.value_history import hints_of, history_text

        end_histories(histories, self._options.history)
        for history in histories:
            self._report.show([*history_text(history, self._options.history, "--launch N --history")])
            self._hints |= dict.fromkeys(hints_of(history))
            self._is_shown |= history.problem is None

    def end(self) -> bool:
        """Give hints; return whether nothing was shown of what was asked for."""
        for hint in self._hints:
            self._session.hint(hint)
        return self.is_asked and not self._is_shown


def words_to_fault(options: Any) -> list[str]:
    """Return what `debug` is given to run a program up to the first error of a kernel."""
    for name in NOT_DEBUGGED:
        if getattr(options, name):
            raise UsageError(f"--break-at-fault leads to the debugger, and takes no --{name}")
    given = [*(f"--target={each}" for each in options.target or ()), *["--permissive"] * options.permissive]
    given += [] if options.check is None else [f"--check={options.check}"]
    given += [] if options.seed is None else [f"--seed={options.seed}"]
    return [*given, "-ex", "continue", "--args", options.program, *options.rest]


class _Chosen:
    """The launches that ``--kernel`` and ``--launch`` choose; all of them without these options."""

    def __init__(self, options: Any) -> None:
        self._kernels, self._numbers = set(options.kernel or ()), set(options.launch or ())
        self._found: dict[str, set[int]] = {}
        """The numbers of all launches, by the kernel."""
        self._met: set[str | int] = set()
        """What chose one of them."""

    def has(self, launch: HostLaunch) -> bool:
        """Return whether the options choose a launch."""
        is_named = not self._kernels or bool(self._kernels & {launch.short_name, launch.kernel})
        return is_named and (not self._numbers or launch.number in self._numbers)

    def note(self, launch: HostLaunch) -> None:
        """Take note of a launch of the program."""
        self._found.setdefault(launch.short_name, set()).add(launch.number)
        if self.has(launch):
            self._met |= {launch.short_name, launch.kernel, launch.number}

    def check(self) -> None:
        """Refuse what has chosen no launch."""
        for each in (*sorted(self._kernels), *sorted(self._numbers)):
            if each not in self._met:
                what = f"--launch {each}" if isinstance(each, int) else f"--kernel {each[:60]}"
                raise UsageError(f"{what} chose no launch", kind="no_launch", hint=self._hint())

    def _hint(self) -> str:
        kernels = (f"{shown(name)} ({ranges_text(sorted(numbers))})" for name, numbers in sorted(self._found.items()))
        return f"the program launched {', '.join(kernels) or 'no kernel'}"


def _program(
    kind: type[CallingProgram],
    number: int,
    options: Any,
    report: ProgramReport,
    looks: _Looks,
    chosen: _Chosen,
    seed: int | None,
) -> CallingProgram:
    """Return a process with a device of its own, whose launches are executed and reported."""

    def execute(device: ProgramDevice, launch: HostLaunch) -> None:
        report.begin(launch)
        if looks.is_asked and chosen.has(launch):
            assert launch.running is not None  # noqa: S101 (it is about to run)
            looks.begin(launch)
            launch.halt = launch.running.run()
        device.finish(launch)

    def reported(launch: HostLaunch) -> None:
        chosen.note(launch)
        report.launch(program, launch)
        looks.finish()

    device = _device(options, options.check, seed)
    device.execute, device.is_checked, device.is_lazy = execute, chosen.has, options.lazy
    device.is_traced = lambda launch: options.trace == "lines" and options.check is None and chosen.has(launch)
    program = kind(number, device, report.problem)
    device.report_launch = reported
    return program


def _device(options: Any, check: str | None, seed: int | None) -> ProgramDevice:
    from dwarfgpu.runtimes.device import ProgramDevice

    device = ProgramDevice(check=check, seed=seed, permissive=options.permissive)
    if options.target:
        device.target, *others = options.target
        device.others = (*others,)
    return device


def begin_debugging(options: Any, debugger: Debugger, *, is_started: bool = False) -> None:
    """Let a debugger run a whole program."""
    from dwarfgpu.questions.execution import OF_LAUNCHES, KernelRun
    from dwarfgpu.runtimes.debugged import DebuggedProgram
    from dwarfgpu.runtimes.report import ProgramReport
    from dwarfgpu.runtimes.started import check_system

    for name in ("file", "kernel", "grid", "state"):
        if getattr(options, name) is not None:
            raise UsageError(f"--args debugs a program, and takes no {name}", hint="its arguments follow its name")
    check = OF_LAUNCHES[0]
    if options.check is not None:
        debugger.settings.set(check, options.check)
    run = debugger.state_of(KernelRun)
    words, output, targets = [*options.rest], debugger.output, options.target or ()
    check_system(targets)
    words[:1] = [_program_of(word, targets, "0") for word in words[:1]]

    def device() -> ProgramDevice:
        return _device(options, {"off": None}.get(debugger.settings[check], debugger.settings[check]), options.seed)

    report = ProgramReport(words[0], output.line, output)
    program = DebuggedProgram(words, lambda: run.points, report, device, targets=targets)
    run.whole, debugger.host_calls, debugger.ask_host = program, program.calls, program.ask
    code = program.code()
    if code is not None:
        debugger.use(code, None)
    if is_started:
        program.start()
    else:
        output.line(f"{options.rest[0]} is debugged from launch to launch. `run` goes to the first one.")


def compile_hip(_session: Session, options: Any) -> int:
    """Compile a program as hipcc would."""
    from dwarfgpu.runtimes.hip.hipcc import compile_program

    return compile_program([*options.word, *options.rest])
