"""What goes wrong in a whole program: written as it happens, and kept for the files that the user wants."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import define, field
from dwarfgpu.progress import Progress, begin
from dwarfgpu.questions.document import Output
from dwarfgpu.regular_files import check_output, whole_output
from dwarfgpu.render.layout import WIDTH, counted, fitted, laid_out, shown
from dwarfgpu.runtimes.rules import RULES, program_finding

if TYPE_CHECKING:
    from dwarfgpu.audits.verify.findings import FileFinding
    from dwarfgpu.execution.control.check_report import Coverage, NamedFinding
    from dwarfgpu.execution.control.profile import Counts, Profile
    from dwarfgpu.runtimes.calling import CallingProgram
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import HostLaunch, Misuse
    from dwarfgpu.runtimes.host import HostLine

MOST_FRAMES = 6
"""The calls of the program that a report shows."""
MOST_LEAKS = 8
ENDINGS = (".html", ".sarif", ".json")
"""How the names of files end that a report can be written to."""

Calls = tuple[tuple[str, list["HostLine"]], ...]
"""Calls of the program, innermost function first, each with what it is: ``launched``, ``allocated``."""


def check_report_file(path: str) -> None:
    """Refuse a file for a report that has no known form, or cannot be written."""
    if not path.endswith(ENDINGS):
        raise UsageError(f"{path} ends in none of {', '.join(ENDINGS)}", hint="the name of a report says its form")
    check_output(path)


@define(eq=False)
class ProgramReport:
    """What goes wrong in a program and its children."""

    name: str
    tell: Callable[[str], object]
    """Writes a line."""
    output: Output
    is_profiled: bool = False
    cores: str | None = None
    """The folder for a core file of each launch that a fault ends."""
    found: list[tuple[FileFinding, Calls]] = field(factory=list)
    launches: int = 0
    instructions: int = 0
    progress: Progress | None = None
    has_kernel_errors: bool = False
    """Whether a kernel has done something wrong, where a debugger would stop."""
    _checks: tuple[str, ...] = ()
    _known: set[Any] = field(factory=set)
    _counts: Counter[str] = field(factory=Counter)
    _kernels: dict[str, Coverage | None] = field(factory=dict)
    """The kernels by their names, with what the race check has seen of the launch that executed most."""
    _profile: Profile | None = None
    _lines: dict[str, dict[Any, tuple[Counts, int]]] = field(factory=dict)
    """What was counted of the lines of each kernel, with the lanes of a wave."""

    @property
    def has_errors(self) -> bool:
        return bool(self._counts["error"])

    # --- While the program runs ---------------------------------------------------------------------------------------

    def problem(self, program: CallingProgram, problem: Misuse) -> None:
        """Report an error of the host."""
        origin, others = _calls(program, "", problem.origin), [_calls(program, *each) for each in problem.more]
        line = next((line for line in origin[1] if line.line), None)
        key = problem.rule, line, problem.origin.number if line is not None and problem.origin else problem.message
        if key in self._known:
            return
        self._known.add(key)
        self._keep(problem.rule, problem.message, (origin, *others))
        if problem.rule == "leak":
            if self._counts["leak"] < MOST_LEAKS:
                self.show(fitted(f"note: {problem.message}", 2))
            self._counts["leak"] += 1
            return
        severity = RULES[problem.rule].severity
        self._counts[severity] += 1
        stacks = chain.from_iterable(map(_stack, (origin, *others)))
        self.show([*fitted(f"{severity}: {problem.message}", 2), *stacks])

    def begin(self, launch: HostLaunch) -> None:
        """Follow a launch that is about to run."""
        assert launch.running is not None  # noqa: S101 (it is about to run)
        device = launch.running.machine.device
        if self.is_profiled:
            from dwarfgpu.execution.control.profile import Profile

            self._profile = Profile(device)
        if self.progress is None:
            self.progress = begin("launches")

        def show(_device: Any) -> None:
            assert self.progress is not None  # noqa: S101 (set above)
            done = self.instructions + device.executed
            self.progress.note = f", {counted(done, 'instruction')}, now {shown(launch.short_name)}"
            self.progress.advance(0)

        device.on_turn = show

    def launch(self, program: CallingProgram, launch: HostLaunch) -> None:
        """Report what has become of a launch: a fault, or findings of checks."""
        self.launches += 1
        self._kernels.setdefault(launch.name, None)
        launched = _calls(program, "launched", launch.origin)
        if launch.error is not None:
            self._counts["error"] += 1
            message = f"{launch.name} cannot be launched: {launch.error}"
            self._keep("kernel-refused", message, (launched,))
            self.show([*fitted(f"error: {message}", 2), *_stack(launched)])
        elif lines := [*self._found(program, launch, launched)]:
            self.show([*lines, *_stack(launched)])
        if launch.running is not None:
            self.instructions += launch.running.machine.device.executed
            launch.running.machine.device.on_turn = None
            if self._profile is not None:
                self._add_lines(launch, self._profile)
        if self.progress is not None:
            self.progress.advance()

    def end(self) -> None:
        """Write what concerns all launches, and the last line: how much was executed, and what was found."""
        if self.progress is not None:
            self.progress.end()
        for name, coverage in self._kernels.items():
            if coverage is not None and coverage.missing:
                from dwarfgpu.render.findings import coverage_text

                self.show(fitted(f"in {name}, {coverage_text(coverage)}", 2))
        for name, lines in self._lines.items():
            from dwarfgpu.execution.control.profile import ProfiledLine
            from dwarfgpu.render.running import profile_text

            rows = [
                ProfiledLine(file, line, function, counts, lanes)
                for (file, line, function), (counts, lanes) in lines.items()
            ]
            rows.sort(key=lambda row: -row.counts.instructions)
            self.show(["", f"in {shown(name)}:", *profile_text((*rows,))])
        counts = [counted(self._counts[name], name) for name in ("error", "warning") if self._counts[name]]
        more = [f"{counted(self._counts['leak'], 'buffer')} not freed"] * bool(self._counts["leak"])
        text = f"{counted(self.launches, 'launch', 'launches')}, {counted(len(self._kernels), 'kernel')}"
        of_checks = f" ({', '.join(self._checks)})" if self._checks else ""
        self.show([", ".join([text, *(counts or ["no error"]), *more]) + of_checks])

    # --- Files --------------------------------------------------------------------------------------------------------

    def write(self, path: str) -> None:
        """Write all findings to a file, in the form that its name says."""
        from dwarfgpu.audits.run_checks import RULES as RULES_OF_RUNS
        from dwarfgpu.audits.verify.reports import FileReport
        from dwarfgpu.questions.verification import sarif_log

        report = FileReport(self.name, tuple(finding for finding, _calls in self.found), self.instructions)
        if path.endswith(".html"):
            from dwarfgpu.render.report import checked_page

            command = "dwarfgpu exec --report FILE.json PROGRAM"
            with laid_out(WIDTH):
                page = checked_page(f"{os.path.basename(self.name)} executed", self.instructions, report, command)
                text = "".join(f"{line}\n" for line in page)
        elif path.endswith(".sarif"):
            text = json.dumps(sarif_log([report], RULES | RULES_OF_RUNS), indent=2) + "\n"
        else:
            text = json.dumps(self._json(), indent=2) + "\n"
        with whole_output(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)

    def _json(self) -> dict[str, Any]:
        from dwarfgpu.render.verification import FINDING

        names = "error", "warning"
        return {
            "program": self.name,
            "launches": self.launches,
            "instructions": self.instructions,
            "kernels": [*self._kernels],
            **{f"{name}s": self._counts[name] for name in names},
            "findings": [
                FINDING.json(finding) | {"calls": [*map(_calls_json, calls)]} for finding, calls in self.found
            ],
        }

    # --- Launches -----------------------------------------------------------------------------------------------------

    def _found(
        self, program: CallingProgram, launch: HostLaunch, launched: tuple[str, list[HostLine]]
    ) -> Iterator[str]:
        from dwarfgpu.render.findings import finding_lines

        running = launch.running
        if running is None or launch.halt is None:
            return
        if (checked := launch.checked) is not None:
            from dwarfgpu.audits.run_checks import run_report

            self._checks = checked.checks
            known = self._kernels[launch.name]
            if checked.coverage is not None and (known is None or checked.coverage.executed > known.executed):
                self._kernels[launch.name] = checked.coverage
            for finding, of_file in zip(checked.findings, run_report(checked).findings, strict=True):
                lines = tuple((side.position.file, side.position.line) for side in finding.sides)
                key = launch.kernel, finding.check, finding.kind, finding.severity, lines
                if key not in self._known:
                    self._known.add(key)
                    self._counts[finding.severity] += 1
                    self.has_kernel_errors |= finding.severity == "error"
                    self.found.append((of_file, (launched,)))
                    yield from fitted(f"in {launch.name}:", 2)
                    yield from finding_lines(finding, with_source=True)
                    yield from _buffer_line(program, finding)
        if not launch.has_ended:
            self._counts["error"] += 1
            self.has_kernel_errors = True
            yield from self._fault(program, launch, launched)

    def _fault(
        self, program: CallingProgram, launch: HostLaunch, launched: tuple[str, list[HostLine]]
    ) -> Iterator[str]:
        """Yield why a launch has not ended, and which buffers of the program are concerned."""
        from dwarfgpu.execution.control.report import report
        from dwarfgpu.questions.faults import faults_of_run
        from dwarfgpu.questions.selection import Selection
        from dwarfgpu.render.faults import faults_text
        from dwarfgpu.render.running import report_text

        running, halt = launch.running, launch.halt
        assert running is not None  # noqa: S101 (the caller knows)
        assert halt is not None  # noqa: S101
        faults = faults_of_run(Selection(self.output), running) if halt.kind in ("fault", "trap") else []
        result, concerned = report(running, halt), []
        yield from report_text(result, faults_text(faults, result.kernel))
        stops = running.machine.stops.values()
        addresses = [stop.address for stop in stops if stop.address is not None]
        near = [program.device.near(address) for address in addresses]
        of_host = [address for address, buffer in zip(addresses, near, strict=True) if buffer is None]
        for address in of_host[:1]:
            name = program.host.mapping(address)
            if name is not None:
                what = f"{address:#x} is memory of the host{name and f', {name}'}: kernels cannot access it"
                yield from fitted(f"  {what}", 4)
        for buffer in {buffer.address: buffer for buffer in near if buffer is not None}.values():
            freed = "" if buffer.freed is None else ", freed"
            what = "registered" if buffer.address in program.device.pinned else "allocated"
            yield from fitted(f"  {program.name_of(buffer)}: {buffer.size} bytes{freed}", 4)
            concerned.append(_calls(program, what, buffer.origin))
            yield from _stack(concerned[-1])
        place = result.position
        where = None if place is None or place.file is None else (place.file, place.line)
        self._keep("kernel-fault", f"{launch.name}: {halt.reason}", (launched, *concerned), where)
        if self.cores is not None:
            from dwarfgpu.states.core_writing import write_core

            path = os.path.join(self.cores, f"{launch.short_name}-{launch.number}.core")
            try:
                write_core(running.attached.stopped, path)
            except DwarfGpuError as error:
                yield f"  no core file: {error}"
            else:
                yield f"  core file: {path}"

    def _add_lines(self, launch: HostLaunch, profile: Profile) -> None:
        """Add what a launch has counted to what others of the kernel have."""
        assert launch.running is not None  # noqa: S101 (the caller knows)
        lines = self._lines.setdefault(launch.name, {})
        for row in profile.rows(launch.running):
            known = lines.setdefault((row.file, row.line, row.function), (row.counts, row.lane_count))
            if known[0] is not row.counts:
                known[0].add(row.counts)

    # --- Text ---------------------------------------------------------------------------------------------------------

    def _keep(self, rule: str, message: str, calls: Calls, source: tuple[str, int] | None = None) -> None:
        stack = next((lines for _what, lines in calls if lines), [])
        places = ((line.file, line.line) for line in stack if line.file and line.line)
        path = tuple(line.function for line in reversed(stack))
        self.found.append((program_finding(rule, message, self.name, path, source or next(places, None)), calls))

    def show(self, lines: list[str]) -> None:
        """Write lines, in place of the progress that is shown."""
        sys.stdout.flush()
        if self.progress is not None:
            self.progress.clear()
        for line in "\n".join(filter(None, lines)).splitlines():
            self.tell(line.replace("\t", "  "))


def _buffer_line(program: CallingProgram, finding: NamedFinding) -> Iterator[str]:
    """Yield which buffer of the program a finding is about."""
    address = finding.address if finding.space == "global" else None
    buffer = None if address is None else program.device.near(address if finding.buffer is None else finding.buffer)
    if buffer is not None and address is not None:
        yield from fitted(f"  {program.place_in(buffer, address)}, which has {buffer.size} bytes", 4)


def _calls(program: CallingProgram, what: str, call: HostCall | None) -> tuple[str, list[HostLine]]:
    return what, [] if call is None else program.host.stack(call.frames)


def _calls_json(calls: tuple[str, list[HostLine]]) -> dict[str, Any]:
    what, lines = calls
    frames = [{"function": line.function, "file": line.file, "line": line.line or None} for line in lines]
    return {"what": what or "called", "frames": frames}


def _stack(calls: tuple[str, list[HostLine]]) -> Iterator[str]:
    """Yield the lines of a call of the program."""
    what, lines = calls
    for number, line in enumerate(lines[:MOST_FRAMES]):
        first = f"  {what} at " if what else "  at "
        yield from fitted(f"{'    called from ' if number else first}{line}", 6)
