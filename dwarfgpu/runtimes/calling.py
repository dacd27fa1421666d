"""A program that calls the functions of an API: what all APIs have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.connection import OPEN
from dwarfgpu.runtimes.device import Misuse, ProgramDevice
from dwarfgpu.runtimes.host import HostProgram
from dwarfgpu.runtimes.prototypes import Api, CallRefused

if TYPE_CHECKING:
    from dwarfgpu.children import PrivateFolder
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.runtimes.arena import Allocation
    from dwarfgpu.runtimes.connection import Function, HostCall, HostThread
    from dwarfgpu.runtimes.device import HostLaunch

LAST_ERROR = "last error"
"""What a thread keeps of the error of its last call, by this name."""


class HostDebugger(Protocol):
    """What stops a program at its calls."""

    def holds(self, program: CallingProgram, call: HostCall) -> bool:
        """Return whether a call waits."""

    def answered(self, send: Callable[[], object]) -> None:
        """Send the answer of a call once the program may go on."""


@define(eq=False)
class CallingProgram:
    """A process that calls functions of an API."""

    number: int
    device: ProgramDevice
    report_problem: Callable[[CallingProgram, Misuse], object]
    host: HostProgram = field(init=False)
    printed: list[tuple[str, bool]] = field(factory=list)
    """What kernels have printed and the program has not yet written, and whether it goes to the errors."""
    work: list[Callable[[], object]] = field(factory=list)
    """What is to do once the program has its answer."""
    lacking: dict[str, None] = field(factory=dict)
    """The functions that were called and do not exist here."""
    waiting: list[HostThread] = field(factory=list)
    """The threads whose calls wait for something."""
    debugger: HostDebugger | None = None
    folder: PrivateFolder | None = None
    """The sources that the program has compiled."""
    _strings: dict[str, int] = field(factory=dict)
    _room: tuple[int, int] = (0, 0)

    API: ClassVar[Api]
    LIBRARY: ClassVar[str]
    """The name of the library of the API."""
    MISSING: ClassVar[int]
    """What a function returns that is given a pointer to no memory."""

    def __attrs_post_init__(self) -> None:
        self.host = HostProgram(self.number, self.LIBRARY)
        self.device.report_problem = lambda problem: self.report_problem(self, problem)
        self.device.print_text = lambda *printed: self.printed.append(printed)
        self.device.name_of = self.name_of

    # --- What the server asks -----------------------------------------------------------------------------------------

    def hello(self) -> tuple[int, int, int]:
        arena = self.device.arena
        return arena.size, arena.base, arena.memory

    def mapped(self, base: int) -> None:
        if not base:
            raise EOFError
        self.device.arena.base = base

    def function(self, number: int) -> Function:
        def called(call: HostCall, *words: int) -> Any:
            if number == 0:
                return self.violated(call.at(self.host.at_access(call.frames)), *words)
            if not 1 <= number <= len(self.API.rows):
                raise EOFError(f"there is no function {number}")
            if self.host.unknown(call.frames):
                return self._read_names(call, words)
            return self.API.called(call, number, words, self.end_call)

        return called

    async def _read_names(self, call: HostCall, words: Sequence[int]) -> int:
        """Do a call of a script, after the names of its files and functions are known."""
        for address in self.host.unknown(call.frames):
            self.host.names[address] = await call.text(address)
        result = self.API.called(call, call.number, words, self.end_call)
        return int(await result if inspect.iscoroutine(result) else result)

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        raise NotImplementedError

    def missing(self, call: HostCall, address: int, size: int, *, is_written: bool) -> Exception:
        origin, there = call.doing or call, self.host.reach(address, size, is_written=is_written)
        which = f"only {there} of {size} bytes at {address:#x} can be {'written' if is_written else 'read'}"
        self.problem("host-memory", f"{self.name_of_call(origin)}: {which}", origin)
        return CallRefused(self.MISSING)

    def memory(self, address: int, size: int) -> bytes | None:
        return self.host.read(address, size)

    def holds(self, call: HostCall) -> bool:
        return self.debugger is not None and self.debugger.holds(self, call)

    def answered(self, send: Callable[[], object]) -> None:
        if self.debugger is None:
            send()
        self.finish_work()
        if self.debugger is not None:  # the host stays at the launch while its kernel runs
            self.debugger.answered(send)

    async def wait(self, call: HostCall, condition: Callable[[], bool]) -> None:
        """Let a call wait for what calls of other threads do."""
        if not condition():
            self.waiting.append(call.thread)
            try:
                await call.until(condition)
            finally:
                self.waiting.remove(call.thread)

    def settle(self) -> None:
        while any(thread.go_on() for thread in [*self.waiting]):
            pass

    def idle(self) -> None:
        """Called when no call has come for a while."""

    def finish_work(self) -> None:
        """Do what was put off until the program has its answer."""
        while self.work:
            self.work.pop(0)()

    def finish_launch(self, launch: HostLaunch) -> None:
        """End a launch that a debugger has stopped at."""
        self.device.finish(launch)
        self.settle()

    def ended(self) -> None:
        """Remove what was made for the program."""
        if self.folder is not None:
            self.folder.end()

    def name_of_call(self, call: HostCall) -> str:
        """Return the function of a call."""
        return self.API.rows[call.number - 1][0].name if 1 <= call.number <= len(self.API.rows) else "an access"

    def end_call(self, call: HostCall, result: Any) -> int:
        """Write what kernels have printed; return what the program gets."""
        for to_errors, texts in groupby(self.printed, itemgetter(1)):
            call.print("".join(text for text, _ in texts).encode("latin-1", "replace"), to_errors=to_errors)
        self.printed.clear()
        return self.string(call, result) if isinstance(result, ApiText) else int(result or 0)

    def violated(self, call: HostCall, address: int) -> int:
        """Report that the host accesses memory that only the device may; return 1 to let it."""
        buffer = self.device.arena.holding(address)
        if buffer is None:
            self.problem("host-access", f"the host accesses memory of the device at {address:#x}", call)
            return 0
        freed = () if buffer.freed is None else (("freed", buffer.freed),)
        state = "" if buffer.freed is None else ", which was freed"
        message = f"the host accesses byte {address - buffer.address} of {self.name_of(buffer)}{state}"
        self.problem("host-access", message, call, ("allocated", buffer.origin), *freed)
        return 0

    # --- Problems -----------------------------------------------------------------------------------------------------

    def problem(self, rule: str, message: str, origin: HostCall | None, *more: tuple[str, Any]) -> None:
        """Report something that the program does wrong."""
        self.report_problem(self, Misuse(rule, message, origin, more))

    def name_of(self, buffer: Allocation) -> str:
        """Return how messages name a buffer: by the variable that its allocation sets, and the line."""
        if buffer.origin is None:
            return f"the buffer at {buffer.address:#x}"
        line = self.host.line(buffer.origin.frames)
        name = self.host.named(buffer.origin.frames)
        where = f" from {line.place}" if line is not None else f" at {buffer.address:#x}"
        return f"`{name}`{where}" if name is not None else f"the {buffer.kind} buffer{where}"

    def place_in(self, buffer: Allocation, address: int) -> str:
        """Return how messages name a place in a buffer, or near it."""
        return f"byte {address - buffer.address} of {self.name_of(buffer)}"

    # --- Memory of the program ----------------------------------------------------------------------------------------

    def string(self, call: HostCall, text: str) -> int:
        """Return the address of a text in the program, which stays there."""
        if text not in self._strings:
            self._strings[text] = self.place(call, text.encode() + b"\0")
        return self._strings[text]

    def place(self, call: HostCall, content: bytes) -> int:
        """Put bytes into the program, where they stay; return their address."""
        size = -(-len(content) // 16) * 16
        address, left = self._room
        if left < size:
            left = max(1 << 14, size)
            address = self.device.malloc(left)
            call.protect(address, left, OPEN)
        call.write(address, content)
        self._room = address + size, left - size
        return address


class ApiText(str):
    """A text that a function of the API returns."""

    __slots__ = ()
