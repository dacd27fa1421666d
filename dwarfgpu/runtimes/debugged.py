"""A whole program under the debugger: it stops at its launches, and at calls from lines of its host."""

from __future__ import annotations

import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.children import PrivateFolder
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.breakpoints import BREAK, Breakpoint
from dwarfgpu.execution.control.past_launches import PastLaunches
from dwarfgpu.execution.halts import FAILURES
from dwarfgpu.program.code.code_object import CodeObject, list_contents, opened
from dwarfgpu.program.frames.linespec import Linespecs
from dwarfgpu.render.layout import counted
from dwarfgpu.runtimes.hostcalls import HostCalls
from dwarfgpu.runtimes.started import StartedProgram, check_program
from dwarfgpu.states.program import Program

if TYPE_CHECKING:
    from dwarfgpu.execution.control.past_launches import KeptLaunch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.runtimes.calling import CallingProgram
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import HostLaunch, Misuse, ProgramDevice
    from dwarfgpu.runtimes.host import HostLine
    from dwarfgpu.runtimes.report import ProgramReport

_LINE = re.compile(r"(?:(.*):)?(\d+)$")
_IS_LAUNCH = re.compile(r"[Ll]aunch|NDRange|EnqueueTask")
_FRAME = re.compile(r"#(\d+)\s+")
_SECONDS_OF_GDB = 60


class DebuggedProgram:
    """A program whose launches a debugger runs one after the other."""

    def __init__(
        self,
        words: Sequence[str],
        points: Callable[[], Iterable[Breakpoint]],
        report: ProgramReport,
        device: Callable[[], ProgramDevice],
        *,
        targets: Sequence[str] = (),
        output: int | None = None,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """``device`` makes one for each process; ``output`` is a file for what the program writes."""
        check_program(words)
        self.words = words
        self.launches: list[HostLaunch] = []
        self._why = "The program is not being run."
        self.status: int | None = None
        """The exit status, once it has ended."""
        self._points, self._report, self._device = points, report, device
        self._targets, self._output, self._is_interrupted = targets, output, is_interrupted
        self._path = shutil.which(words[0]) or words[0]
        self._programs: list[Program] | None = None
        self._started: StartedProgram | None = None
        self.past = PastLaunches()
        """The launches that one can go back into; the last one is that which is there, if one is."""
        self._back = 0
        """How many launches before the present the one is that is executed again; 0 in the present."""
        self.has_come_back = False
        """Whether it has just gone on from there into the present."""
        self._current: HostLaunch | None = None
        self._held: HostCall | None = None
        """A call that waits because a breakpoint is at its line."""
        self._send: Callable[[], object] | None = None
        """Sends the answer of the call that has launched."""
        self._point: Breakpoint | None = None
        """The breakpoint at that call, or at the one that launches."""

    # --- What runs it -------------------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self._started is not None

    def start(self) -> None:
        """Start the program, once more if it runs."""
        self.end()
        self.launches.clear()
        self.past, self.status = PastLaunches(), None
        self._started = StartedProgram(
            self.words, self._new_process, targets=self._targets, debug=True, is_apart=True, output=self._output
        )

    def end(self) -> None:
        """End the program."""
        started, self._started, self._back = self._started, None, 0
        self._current = self._held = self._send = self._point = None
        if started is not None:
            started.close()
            self._why = f"{self.words[0]} was ended"

    @property
    def in_past(self) -> HostLaunch | None:
        """The launch that is executed again; None in the present."""
        return self._ended[-self._back].of if self._back else None

    @property
    def why(self) -> str:
        """Why the program is where it is."""
        if not self._back:
            return self._why
        again = self._ended[-self._back]
        return self._launch_text(again.of, again.launched, " again")

    @property
    def point(self) -> Breakpoint | None:
        """The breakpoint at the call that is held, or that launches; None in the past."""
        return None if self._back else self._point

    @property
    def process(self) -> object:
        """The process that has launched."""
        call = self._call()
        return self if call is None else call.process

    @property
    def _ended(self) -> list[KeptLaunch]:
        """The launches that are kept and have ended."""
        return self.past.kept[: len(self.past.kept) - (self._current is not None)]

    @property
    def can_go_back(self) -> bool:
        """Whether the launch before is kept."""
        return self._back < len(self._ended)

    def go_back(self) -> Running | None:
        """Return the launch before at its end, executed again on a machine of its own; None if it is not kept."""
        if not self.can_go_back:
            return None
        running = self._ended[-self._back - 1].again(self.past.size)
        running.machine.past.run_to_end()
        self._back += 1
        return running

    def go_on(self) -> Running | None:
        """End the launch that is there, and go to the next one; None if the program has ended, or a call is held."""
        self.has_come_back = self._back == 1
        if self._back:
            now = None if self._current is None else self._current.running
            later = now if self.has_come_back else self._ended[1 - self._back].again(self.past.size)
            self._back -= 1
            return later
        started = self._started
        assert started is not None  # noqa: S101 (the caller knows)
        with _interrupts() as came:
            self._release()
            is_there = True
            while is_there and self._current is None and self._held is None and not came:
                is_there = started.serve()
                if self._is_interrupted():
                    break
        if self._current is not None:
            now = self._current.running
            assert now is not None  # noqa: S101 (a launch that runs)
            self._why = self._launch_text(self._current, now.launched)
            return now
        if self._held is not None:
            number = "" if self._point is None else f"Breakpoint {self._point.number}, "
            self._why = f"{number}{self._held.process.name_of_call(self._held)} is called{self._place()}"
            return None
        if is_there:
            self._why = "Interrupted: the program executes code of the host"
            return None
        status = self.status = started.status
        started.close()
        self.end()
        how = f"exited with code {status:02o}" if status else "exited normally"
        self._why = f"{self.words[0]} {how} after {counted(len(self.launches), 'launch', 'launches')}"
        return None

    def _release(self) -> None:
        """Let the program go on from where it is."""
        self._point = None
        if self._current is not None:
            launch, self._current = self._current, None
            assert launch.running is not None  # noqa: S101 (a launch that runs)
            launch.halt = launch.running.machine.device.halt
            if launch.running.machine.past.is_changed:
                self.past.forget(f"launch {launch.number} was changed here, and would not run again as it did")
            launch.origin.process.finish_launch(launch)
        send, self._send = self._send, None
        if send is not None:
            with suppress(OSError):  # it may be gone
                send()
        held, self._held = self._held, None
        if held is not None:
            with suppress(OSError, EOFError):
                held.thread.begin(held)

    # --- What the program does ----------------------------------------------------------------------------------------

    def _new_process(self, kind: type[CallingProgram], number: int) -> CallingProgram:
        def report_problem(program: CallingProgram, problem: Misuse) -> None:
            if self.is_running:  # what was ended has not freed its memory
                self._report.problem(program, problem)

        device = self._device()
        device.execute = self._launched
        program = kind(number, device, report_problem)
        program.debugger = self
        device.report_launch = partial(self._reported, program)
        return program

    def _reported(self, program: CallingProgram, launch: HostLaunch) -> None:
        """Report a launch that cannot be executed; what others come to is seen in the debugger."""
        if launch.error is not None:
            self.launches.append(launch)
            self._report.launch(program, launch)

    def _launched(self, device: ProgramDevice, launch: HostLaunch) -> None:
        assert launch.running is not None  # noqa: S101 (it is about to run)
        self._current = launch
        self.launches.append(launch)
        self.past.keep(launch, launch.running, partial(HostCalls, device.host.buffer))

    def holds(self, program: CallingProgram, call: HostCall) -> bool:
        """Return whether a call waits: a breakpoint is at a line or a function that it comes from."""
        lines = program.host.stack(call.frames) if call.number else []
        point = next((point for point in self._points() if _is_at(point, lines)), None)
        if point is None or not point.counts():
            return False
        if point.is_temporary:
            point.is_enabled = False
        self._point = point
        if _IS_LAUNCH.search(program.name_of_call(call)):
            return False  # it stops at the first instruction of the kernel
        self._held = call
        return True

    def answered(self, send: Callable[[], object]) -> None:
        """Send the answer of a call, once a kernel that it has launched was finished."""
        if self._current is None:
            send()
        else:
            self._send = send

    # --- Questions ----------------------------------------------------------------------------------------------------

    def lines(self) -> list[HostLine]:
        """Return the lines of the calls of the host in which it is, innermost first."""
        call = self._call()
        return [] if call is None else call.process.host.stack(call.frames)

    def calls(self) -> list[str]:
        """Return these calls as text."""
        return [*map(str, self.lines())]

    def rows(self) -> list[dict[str, Any]]:
        """Return what it has launched."""
        return [
            {
                "number": launch.number,
                "kernel": launch.name,
                "grid": "x".join(map(str, launch.grid)),
                "work_group": "x".join(map(str, launch.work_group)),
                "state": "running again" if launch is self.in_past else _state(launch),
                "place": next(map(str, launch.origin.process.host.stack(launch.origin.frames)), None),
            }
            for launch in self.launches
        ]

    def is_of_host(self, place: str) -> bool | None:
        """Return whether the nearest code at a place is of the host; None if it has none, False if some may come."""
        programs = self.programs()
        found = [(1 << 64, False)] if len(programs) < 2 else []
        for program in programs:
            here = ((file, 1) for file in program.outside.state.sources.all())
            with suppress(DwarfGpuError):
                specs = Linespecs(program.outside, lambda files=here: next(files, None)).read(place)  # type: ignore[misc]
                lines = (0 if spec.file is None else spec.file.next_line(spec.line) for spec in specs)
                found += [(line, program is programs[0]) for line in lines if line is not None]
        return min(found)[1] if found else None

    def ask(self, line: str) -> str:
        """Return what GDB answers to a command about the host, in the frame of the call where it is."""
        call = self._call()
        if call is None:
            raise UsageError("the host is at no call", hint="`run` goes to the first launch")
        if self.in_past is not None:
            raise UsageError("the host has gone on since this launch", hint="`continue` goes to where it is")
        gdb = shutil.which("gdb")
        if gdb is None:
            raise UsageError("there is no gdb, which reads the variables of the host", hint="apt install gdb")
        stack, number = self.lines(), 0
        if chosen := _FRAME.match(line):
            number, line = int(chosen[1]), line[chosen.end() :]
            if number >= len(stack):
                raise UsageError(f"the host has no frame #{number}", hint="`host` shows its frames")
        frame = [] if not stack else ["-ex", f"frame function {stack[number].function.partition('(')[0]}"]
        words = [gdb, "-nx", "-batch", "-p", str(call.process.number), "-ex", "set confirm off"]
        with PrivateFolder() as folder:
            done = folder.run([*words, *frame, "-ex", "echo <answer>\\n", "-ex", line], limit=_SECONDS_OF_GDB)
        text, problems = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
        answer = text.partition("<answer>\n")[2].rpartition("[Inferior 1 ")[0]
        if not answer.strip():
            reason = (problems.strip().splitlines() or ["it says nothing"])[-1]
            raise UsageError(f"gdb: {reason}", kind="no_answer")
        return answer

    def _call(self) -> HostCall | None:
        launch = self.in_past or self._current
        call: HostCall | None = None if launch is None else launch.origin
        return call if self.in_past is not None else self._held or call

    def _place(self) -> str:
        return next((f", at {line}" for line in self.calls()), "")

    def _launch_text(self, launch: HostLaunch, launched: Launched, again: str = "") -> str:
        groups = counted(launched.geometry.group_count, "work-group")
        waves = counted(launched.geometry.wave_count, "wave")
        return f"Launch {launch.number}{again}: {launch.name}, {groups}, {waves}{self._place()}"

    def code(self) -> Program | None:
        """Return the first code with kernels in the file of the program."""
        return next((program for program in self.programs() if program.file.is_amdgpu), None)

    def programs(self) -> list[Program]:
        """Return the program, and the code in its file."""
        if self._programs is None:
            self._programs = [*self._read_programs()]
        return self._programs

    def _read_programs(self) -> Iterator[Program]:
        try:
            yield Program(opened(self._path))
            for number, entry in enumerate(list_contents(self._path).entries):
                if entry.kind != "host" and entry.format != "empty":
                    code: CodeObject = opened(f"{self._path}@{number}")
                    if code.is_amdgpu:
                        yield Program(code)
        except DwarfGpuError:
            return


def _is_at(point: Breakpoint, lines: Sequence[HostLine]) -> bool:
    """Return whether a breakpoint is at one of some lines, or in a function that is named like its place."""
    if point.kind != BREAK or not point.is_enabled or point.addresses:
        return False
    found = _LINE.fullmatch(point.text)
    if found is None:
        return any(line.function.partition("(")[0] == point.text for line in lines)
    file, number = found[1], int(found[2])
    return any(
        line.line == number and line.file is not None and (file is None or f"/{line.file}".endswith(f"/{file}"))
        for line in lines
    )


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Let ^C be noted, and interrupt nothing: a call that is being carried out gets its answer."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _state(launch: HostLaunch) -> str:
    halt = launch.halt if launch.running is None else launch.running.machine.device.halt
    if launch.running is not None and (halt is None or halt.kind not in FAILURES):
        return "running"
    return "cannot run" if halt is None else "has ended" if halt.has_ended else halt.kind
