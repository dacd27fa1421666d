"""``dwarfgpu exec``: run a whole program whose kernels execute here."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import PrivateFolder, start_program
from dwarfgpu.errors import UsageError
from dwarfgpu.questions.document import NO_ANSWER
from dwarfgpu.render.findings import coverage_text
from dwarfgpu.render.layout import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cli.session import Session
    from dwarfgpu.execution.control.check_report import Coverage
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import HostLaunch, Misuse
    from dwarfgpu.runtimes.hip.program import HipProgram

MOST_FRAMES = 6
"""The calls of the program that a report shows."""
MOST_LEAKS = 8
SECONDS = 0.1
"""How often the end of the program is looked for where the system does not tell it."""


def execute_program(session: Session, options: Any) -> int:
    """Run a program to its end with a device of its own; return its exit status."""
    from dwarfgpu.runtimes.connection import Server, socket_path
    from dwarfgpu.runtimes.device import ProgramDevice
    from dwarfgpu.runtimes.hip.library import install
    from dwarfgpu.runtimes.hip.program import HipProgram

    if sys.platform != "linux":
        raise UsageError("`exec` needs Linux", hint="`dwarfgpu run` executes a kernel on any system")
    words = [options.program, *options.rest]
    if shutil.which(words[0]) is None:
        hint = f"./{words[0]} names a program in this folder" if os.path.isfile(words[0]) else None
        raise UsageError(f"there is no program {words[0]!r}", kind="no_program", hint=hint)
    report = _Report(session)
    with PrivateFolder() as folder:
        library = folder.path / "lib"
        library.mkdir()
        install(library)
        path = socket_path(folder.path)

        def begin(number: int) -> HipProgram:
            device = ProgramDevice(
                check=options.check, seed=options.seed, permissive=options.permissive, target=options.target
            )
            program = HipProgram(number, device, report.problem)
            device.report_launch = lambda launch: report.launch(program, launch)
            return program

        server = Server(path, begin)
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
    return status or (NO_ANSWER if report.has_errors else 0)


def compile_hip(_session: Session, options: Any) -> int:
    """Compile a program as hipcc would."""
    from dwarfgpu.compilers.programs import compile_program
    from dwarfgpu.runtimes.hip.library import install

    return compile_program([*options.word, *options.rest], install)


class _Report:
    """What goes wrong in a program, written to standard error as it happens."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: set[Any] = set()
        self._counts: Counter[str] = Counter()
        self._kernels: dict[str, Coverage | None] = {}
        """The kernels by their names, with what the race check has seen of the launch that executed most."""
        self._launches = 0
        self._leaks = 0

    @property
    def has_errors(self) -> bool:
        return bool(self._counts["error"])

    def problem(self, program: HipProgram, problem: Misuse) -> None:
        """Report an error of the host."""
        if problem.rule == "leak":
            self._leaks += 1
            if self._leaks <= MOST_LEAKS:
                self._write([f"note: {shown(problem.message)}"])
            return
        line = None if problem.origin is None else program.host.line(problem.origin.frames)
        key = problem.rule, line, None if line is not None else problem.message
        is_new = key not in self._known
        self._known.add(key)
        self._counts[problem.severity] += is_new
        if is_new:
            self._write([f"{problem.severity}: {shown(problem.message)}", *_stack(program, "", problem.origin)])
            for what, call in problem.more:
                self._write(_stack(program, what, call))

    def launch(self, program: HipProgram, launch: HostLaunch) -> None:
        """Report what has become of a launch: a fault, or findings of checks."""
        self._launches += 1
        self._kernels.setdefault(launch.name, None)
        if launch.error is not None:
            self._counts["error"] += 1
            self._write([f"error: {shown(launch.name)} cannot be launched: {launch.error}"])
            self._write(_stack(program, "launched", launch.origin))
        elif lines := [*self._found(program, launch)]:
            self._write([*lines, *_stack(program, "launched", launch.origin)])

    def end(self) -> None:
        """Write the last line: how much was executed, and what was found."""
        for name, coverage in self._kernels.items():
            if coverage is not None and coverage.missing:
                self._write([f"in {shown(name)}, {coverage_text(coverage)}"])
        counts = [counted(self._counts[name], name) for name in ("error", "warning") if self._counts[name]]
        more = [f"{counted(self._leaks, 'buffer')} not freed"] * bool(self._leaks)
        text = f"{counted(self._launches, 'launch', 'launches')}, {counted(len(self._kernels), 'kernel')}"
        self._write([", ".join([text, *(counts or ["no error"]), *more])])

    def _found(self, program: HipProgram, launch: HostLaunch) -> Iterator[str]:
        from dwarfgpu.execution.control.check_report import check_report
        from dwarfgpu.execution.control.report import report
        from dwarfgpu.questions.faults import faults_of_run
        from dwarfgpu.questions.selection import Selection
        from dwarfgpu.render.findings import finding_lines
        from dwarfgpu.render.running import report_text
        from dwarfgpu.runtimes.arena import GUARD

        running, halt = launch.running, launch.halt
        if running is None or halt is None:
            return
        if running.machine.checks is not None:
            checked = check_report(running)
            known = self._kernels[launch.name]
            if checked.coverage is not None and (known is None or checked.coverage.executed > known.executed):
                self._kernels[launch.name] = checked.coverage
            for finding in checked.findings:
                lines = tuple((side.position.file, side.position.line) for side in finding.sides)
                key = launch.kernel, finding.check, finding.kind, finding.severity, lines
                if key not in self._known:
                    self._known.add(key)
                    self._counts[finding.severity] += 1
                    yield from chain([f"in {shown(launch.name)}:"], finding_lines(finding))
        if not launch.has_ended:
            self._counts["error"] += 1
            faults = faults_of_run(Selection(self._session.output()), running) if halt.kind in ("fault", "trap") else []
            yield from report_text(report(running, halt), faults)
            stops = running.machine.stops.values()
            for address in {stop.address: None for stop in stops if stop.address is not None}:
                buffer = program.device.arena.holding(address)
                if buffer is not None and address < buffer.address + buffer.pages + GUARD:
                    freed = "" if buffer.freed is None else ", freed"
                    yield f"  {program.name_of(buffer)}: {buffer.size} bytes{freed}"
                    yield from _stack(program, "allocated", buffer.origin)

    def _write(self, lines: list[str]) -> None:
        sys.stdout.flush()
        for line in lines:
            self._session.tell(line.replace("\t", "  "))


def _stack(program: HipProgram, what: str, call: HostCall | None) -> list[str]:
    """Return the lines of a call of the program."""
    lines = [] if call is None else program.host.stack(call.frames)[:MOST_FRAMES]
    first = f"  {what} at " if what else "  at "
    return [f"{first if number == 0 else '    called from '}{shown(str(line))}" for number, line in enumerate(lines)]
