"""One debug session: messages come in and are answered, while the kernel runs, too, and its stops are told."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.dap.requests import AFTER, NOW, REQUESTS, STOPS, RequestArguments
from dwarfgpu.dap.wire import BadMessage, Wire
from dwarfgpu.errors import DwarfGpuError, UsageError, exhausted, nearest_hint
from dwarfgpu.immutable import frozen
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.execution import KernelRun, session
from dwarfgpu.regular_files import check_mappings

if TYPE_CHECKING:
    from dwarfgpu.dap.breakpoints import ClientPoints
    from dwarfgpu.dap.variables import Parts
    from dwarfgpu.execution.breakpoints import Breakpoint
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.program.code.source_files import SourceFile

    Json = dict[str, Any]

HOST = 2**31 - 1
"""The thread that stands for the host while it is at a call, and no kernel is there."""
WIDTH = 100
"""The columns of what the console shows."""
NO_ANSWER, NO_MESSAGE, NO_REQUEST, BROKEN = 1, 2, 3, 4
"""The numbers of errors: a request cannot be answered, a message cannot be read, a request is not known, a defect."""
SHOWS_PROGRESS_AFTER, SHOWS_PROGRESS_EVERY = 0.5, 1.0
NOT_STOPPED = "notStopped"
"""The word of the protocol for a request that can be answered only where the kernel has stopped."""


@frozen
class Viewpoint:
    """A frame of a wave, by their numbers from 0."""

    wave: int
    frame: int


class Handles:
    """What clients know by numbers until the kernel runs. A number is given once, so that an old one is an error."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._known: dict[int, Any] = {}

    def add(self, thing: Any) -> int:
        """Return the number of something new."""
        number = next(self._numbers)
        self._known[number] = thing
        return number

    def get(self, number: int, what: str) -> Any:
        """Return what a number means."""
        if number not in self._known:
            raise UsageError(f"{what} {number} is not known, or not any more: the kernel has run since")
        return self._known[number]

    def clear(self) -> None:
        """Forget them all."""
        self._known.clear()


class DebugSession:
    """A debug session with one client."""

    go_back: Callable[[Debugging], Halt] | None = None
    """Goes back to the last stop of a whole program."""

    def __init__(self, wire: Wire, *, token: str | None = None, admit: Callable[[], object] = lambda: None) -> None:
        self.wire = wire
        self.token = token
        """What `launch` and `attach` must contain; None if the client is known to be the user's own."""
        self.admit = admit
        """What is called when they do for the first time."""
        self.is_admitted = False
        self.debugger = Debugger(Output(self.print, width=WIDTH))
        self.client: Json = {}
        """The arguments of `initialize`."""
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.put_off: deque[Any] = deque()
        """The requests that wait until the kernel pauses or stops."""
        self.after: list[Callable[[], object]] = []
        """What is done when the request has been answered."""
        self.frames = Handles()
        self.parts: Handles = Handles()
        self.sources: dict[int, SourceFile] = {}
        """The source files that the client has no path for, by their numbers."""
        self.source_bodies: dict[SourceFile, Json] = {}
        self.targets: list[int] = []
        """The addresses that the client can go to, by their numbers."""
        self.configuration: Json = {}
        """The arguments of `launch` or `attach`."""
        self.start: Json | None = None
        """The `launch` or `attach` that is answered when the client has configured everything."""
        self.filters: set[str] = {"fault", "trap"}
        """The exceptions at which the kernel stops."""
        self.finding: Any = None
        """What a check has found, if the kernel has stopped for it."""
        self.findings_told: set[object] = set()
        """What identifies the findings of checks that the client knows."""
        self.threads: Json = {"threads": [{"id": 1, "name": "the kernel is not launched yet"}]}
        """The last answer to `threads`, which is also the answer while the kernel runs."""
        self.is_cap_told = False
        """Whether the client knows that not all waves are listed as threads."""
        self.is_running = self.is_pausing = self.is_leaving = self.has_ended = False
        self.can_pause = False
        """Whether the run can be interrupted for a request and go on unnoticed."""
        self.points: ClientPoints | None = None
        self.next_launch: Callable[[], bool] | None = None
        """Lets a whole program go on to a launch, or to a stop at the host; returns whether it has not ended."""
        self.at_end: Callable[[], object] = lambda: None
        """What is done when the client has left."""
        self.letter: str | None = None
        """The format of the values that the request wants."""
        self.is_copying = False
        """Whether a value is for the clipboard, where it is whole."""
        self._progress: tuple[float, str] | None = None
        """When progress is told next, and its name, which is empty before the first time."""
        self._progress_count = 0

    # --- Messages -------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer messages until the client leaves."""
        Thread(target=self._receive, daemon=True).start()
        while not self.is_leaving:
            message = self.put_off.popleft() if self.put_off else self.inbox.get()
            if message is None:
                break
            self.handle(message)
        self.at_end()
        self.debugger.log.close()

    def _receive(self) -> None:
        """Put messages where `serve` finds them; runs in a thread of its own."""
        while True:
            message = None
            with suppress(OSError, ValueError):  # the stream was closed
                message = self.wire.receive()
            self.inbox.put(message)
            if message is None:
                return

    def handle(self, message: Any) -> None:
        """Answer a message, and do what follows from it."""
        if isinstance(message, BadMessage):
            self.wire.refuse({}, NO_MESSAGE, message.message)
            return
        after, self.after = self.after, []
        try:
            body = self._answered(message)
            if message.get("command") not in ("launch", "attach"):
                self.wire.answer(message, body)
        except DwarfGpuError as error:
            self.after.clear()
            self.refuse(message, error)
        except Quit:
            self.wire.answer(message, {"result": "", "variablesReference": 0})
            self.after = [self.end]
        except (RecursionError, MemoryError) as error:
            self.refuse(message, exhausted(error))
        except KeyboardInterrupt:
            self.wire.refuse(message, NO_ANSWER, "interrupted", "cancelled")
        except Exception as error:  # noqa: BLE001 (the session goes on, and the defect is told)
            self.wire.refuse(message, BROKEN, f"a defect of dwarfgpu: {type(error).__name__}: {error}")
        todo, self.after = self.after, after
        for each in todo:
            try:
                each()
            except DwarfGpuError as error:
                self.print(f"{error_text(error)}\n", "important")

    def _answered(self, message: Json) -> Json | None:
        command = message.get("command")
        if message.get("type") != "request" or not isinstance(command, str) or type(message.get("seq")) is not int:
            raise BadMessage("a message is not a request with `seq` and `command`")
        request = REQUESTS.get(command)
        if request is None:
            hint = nearest_hint(command, REQUESTS, "")
            raise UsageError(f"there is no request {command[:40]!r}", kind="no_request", hint=hint or None)
        if not self.client and command not in ("initialize", "disconnect"):
            raise UsageError("the first request must be `initialize`")
        if request.needs_machine and self.debugger.attached is None and not self.is_at_host:
            raise UsageError(f"`{command}` needs a kernel: `launch` or `attach` comes first")
        arguments = RequestArguments(command, message.get("arguments"))
        self.letter = "x" if arguments.object("format").flag("hex") else None
        with self.asking():
            body: Json | None = request.load()(self, arguments)
        self.start = message if command in ("launch", "attach") else self.start
        return body

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask a question of the debugger."""
        debugger = self.debugger
        try:
            with debugger.output.laid_out(), budget.question(debugger.settings["budget"]):
                check_mappings()
                yield
        finally:
            debugger.notice_writes()

    def refuse(self, message: Json, error: DwarfGpuError) -> None:
        """Send the error of a request."""
        number = (
            NO_MESSAGE if isinstance(error, BadMessage) else NO_REQUEST if error.kind == "no_request" else NO_ANSWER
        )
        self.wire.refuse(message, number, error_text(error))

    def print(self, text: str, category: str = "console") -> None:
        """Show a text in the console of the client."""
        if text:
            self.wire.event("output", {"category": category, "output": text})

    def supports(self, what: str) -> bool:
        """Return whether the client understands something."""
        return self.client.get(what) is True

    def changed(self, *areas: str) -> None:
        """Tell the client that what it shows is not up to date."""
        if self.supports("supportsInvalidatedEvent"):
            self.wire.event("invalidated", {"areas": [*areas]})
        elif "stacks" in areas and self.debugger.wave_number is not None:
            self.wire.event(
                "stopped", {"reason": "lane", "threadId": self.debugger.wave_number + 1, "preserveFocusHint": True,
                            "allThreadsStopped": True},
            )  # fmt: skip

    def end(self) -> None:
        """Tell the client that the session is over."""
        if not self.has_ended:
            self.has_ended = True
            self.wire.event("terminated")

    @property
    def host_point(self) -> Breakpoint | None:
        """The breakpoint at which the host of a whole program has stopped; None if it has not."""
        whole = self.debugger.state_of(KernelRun).whole
        return None if whole is None else whole.point

    @property
    def is_at_host(self) -> bool:
        """Whether it is at a call that launches nothing, so that there are no waves."""
        return self.debugger.attached is None and self.host_point is not None

    # --- Places ---------------------------------------------------------------------------------------------------

    @property
    def line_base(self) -> int:
        """What is added to the numbers of lines of the client."""
        return int(self.client.get("linesStartAt1") is False)

    @property
    def column_base(self) -> int:
        """What is added to the numbers of columns of the client."""
        return int(self.client.get("columnsStartAt1") is False)

    @contextmanager
    def at(self, place: Viewpoint | None, lane: int | None = None) -> Iterator[Debugger]:
        """Select a frame and a lane meanwhile."""
        debugger = self.debugger
        with debugger.staying():
            if place is not None:
                debugger.wave_number, debugger.frame_number = place.wave, place.frame
                if lane is not None:
                    debugger.lanes[place.wave] = lane
            yield debugger

    def wave(self, arguments: RequestArguments) -> int:
        """Return the number of the wave, from 0, that a request is about."""
        number = arguments.number("threadId")
        machine = self.debugger.machine
        if not 1 <= number <= len(machine):
            raise UsageError(f"there is no thread {number}: there are {len(machine)}", kind="no_wave")
        return number - 1

    def host_frame(self, arguments: RequestArguments) -> int | None:
        """Return the number of the call of the host that a request names, if it names one."""
        number, whole = arguments.number("frameId", 0), self.debugger.state_of(KernelRun).whole
        place = self.frames.get(number, "frame") if number else None
        calls = [] if whole is None else [*whole.lines()]
        return calls.index(place) if place in calls else None

    def frame(self, arguments: RequestArguments, *, of_kernel: bool = True) -> Viewpoint | None:
        """Return the frame that a request names, if it names one; an error if it should be of a kernel, and is not."""
        if not arguments.number("frameId", 0):
            return None
        place = self.frames.get(arguments.number("frameId"), "frame")
        if isinstance(place, Viewpoint):
            return place
        if of_kernel:
            hint = "`host print NAME` in the console asks gdb"
            raise UsageError("a call of the host has no variables here", kind="no_frame", hint=hint)
        return None

    def add_parts(self, parts: Parts) -> int:
        """Return the number by which a client asks for parts."""
        return self.parts.add(parts)

    @property
    def debugging(self) -> Debugging:
        """What runs the kernel; an error where nothing can run."""
        debugger = self.debugger
        if debugger.state_of(KernelRun).launched is None and debugger.attached is not None:
            message = "The waves are those of a state that was saved: they cannot run on, and nothing can be stopped."
            hint = 'a configuration with "request": "launch" runs a kernel'
            raise UsageError(message, kind="cannot_run", hint=hint)
        found = session(debugger, debugger.registry.commands["continue"])
        found.device.on_turn = self.look
        return found

    # --- While the kernel runs ------------------------------------------------------------------------------------

    def look(self, device: Any) -> None:
        """Answer what has come meanwhile; is called between the turns of waves."""
        if not self.is_running:  # the past is searched for an answer
            return
        while not self.inbox.empty():
            message = self.inbox.get()
            row = None
            if isinstance(message, dict) and isinstance(message.get("command"), str):
                row = REQUESTS.get(message["command"])
            when = STOPS if message is None else NOW if row is None else row.running
            if when == NOW:
                self.handle(message)
            elif when in (STOPS, AFTER):
                self.put_off.append(message)
                self.is_pausing = self.is_pausing or when == STOPS
                if when == AFTER and self.can_pause:
                    device.interrupt()
            else:
                text = f"`{row.name}` needs a kernel that has stopped: `pause` stops it" if row is not None else ""
                self.wire.refuse(message, NO_ANSWER, text, NOT_STOPPED)
        if self.is_pausing:
            device.interrupt()
        if self._progress is not None and time.monotonic() >= self._progress[0]:
            self._tell_progress(device)

    def _tell_progress(self, device: Any) -> None:
        assert self._progress is not None  # noqa: S101 (the caller knows)
        _due, name = self._progress
        is_first, now = not name, time.monotonic()
        if is_first:
            self._progress_count += 1
            name = f"run-{self._progress_count}"
        self._progress = now + SHOWS_PROGRESS_EVERY, name
        text = f"{device.waves_ended:,} waves have ended, {device.executed:,} instructions"
        if is_first:
            head = {"title": "The kernel runs", "cancellable": True, "message": text}
            self.wire.event("progressStart", {"progressId": name, **head})
        else:
            self.wire.event("progressUpdate", {"progressId": name, "message": text})

    @contextmanager
    def running(self, *, can_pause: bool = False) -> Iterator[None]:
        """Let the kernel run meanwhile: what clients know of frames and variables is of no use any more."""
        self.frames.clear()
        self.parts.clear()
        self.targets.clear()
        self.is_running, self.can_pause, self.is_pausing = True, can_pause, False
        if self.supports("supportsProgressReporting"):
            self._progress = time.monotonic() + SHOWS_PROGRESS_AFTER, ""
        try:
            yield
        finally:
            self.is_running = False
            if self._progress is not None and self._progress[1]:
                self.wire.event("progressEnd", {"progressId": self._progress[1]})
            self._progress = None


def cancel(session: DebugSession, arguments: RequestArguments) -> None:
    """Refuse a request that still waits, or pause the run whose progress is shown."""
    number = arguments.number("requestId", 0)
    for message in [each for each in session.put_off if isinstance(each, dict) and each.get("seq") == number]:
        session.put_off.remove(message)
        session.wire.refuse(message, NO_ANSWER, "cancelled", "cancelled")
    if arguments.maybe_text("progressId") is not None and session.is_running:
        session.is_pausing = True


def error_text(error: DwarfGpuError) -> str:
    """Return an error with what can be done."""
    return f"{error} ({error.hint})" if error.hint else str(error)
