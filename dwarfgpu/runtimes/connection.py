"""Calls of a program that come over a socket, and what is done for them in the program.

A program's thread sends a call: the number of the function, its arguments as words, and the return addresses of its
stack. The answer is a sequence of effects, which `shim/core.c` carries out in the program, the last of which returns.
Functions are coroutines that await what they read of the program, so no call waits for that of another thread.
"""

from __future__ import annotations

import array
import inspect
import os
import selectors
import socket
import struct
import types
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen

CALL, REPLY, HELLO, MISSING = 1, 2, 3, 4
RETURN, READ, TEXT, GATHER, WRITE, COPY, PRINT, INVOKE, PROTECT = range(1, 10)
CLOSED, READABLE, OPEN = 0, 1, 3
"""What the program may do with memory: ``PROT_READ`` and ``PROT_WRITE``."""
MOST_TEXT = 1 << 20
PATIENCE = 60.0
"""Seconds in which a program must go on with a message that it has begun."""
HEAD = struct.Struct("<4I")
EFFECT = struct.Struct("<IIQQQ")
_MOST_WORDS = 256
_MOST_REPLY = 1 << 34
_AT_ONCE = 1 << 16
"""The bytes that are received at once."""

Function = Callable[..., Any]
"""Returns a number, or a coroutine that does."""


@types.coroutine
def _reply() -> Generator[None, bytes, bytes]:
    """Wait for what the program replies."""
    return (yield)


@types.coroutine
def _until(condition: Callable[[], bool]) -> Generator[Callable[[], bool], None, None]:
    """Wait until something is true."""
    while not condition():
        yield condition


def _sized(reply: bytes, size: int) -> bytes:
    """Return a reply that has the size that was asked for."""
    if len(reply) != size:
        raise EOFError(f"the program replies {len(reply)} bytes in place of {size}")
    return reply


class Process(Protocol):
    """A program, or a child of it, that makes calls."""

    def hello(self) -> tuple[int, int, int]:
        """Return the size of the arena, the address that it should have, and the descriptor of its memory."""

    def mapped(self, base: int) -> None:
        """Called once the program has mapped the arena; 0 if it could not."""

    def function(self, number: int) -> Function:
        """Return what is called with a `Call` and the arguments."""

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        """Return what a call gets that an error has ended."""

    def missing(self, call: HostCall, address: int, size: int, *, is_written: bool) -> Exception:
        """Report memory that a call needs and the program lacks; return what is raised in the call."""

    def memory(self, address: int, size: int) -> bytes | None:
        """Return bytes of its memory; None if only a thread of it can read them."""

    def holds(self, call: HostCall) -> bool:
        """Return whether a call waits until `HostThread.begin`."""

    def answered(self, send: Callable[[], object]) -> None:
        """Called when a call has its answer; the program goes on when it is sent."""

    def settle(self) -> None:
        """Called when a message was handled: calls that wait may go on."""

    def idle(self) -> None:
        """Called when nothing has come for a while."""

    def ended(self) -> None:
        """Called when it has ended."""


class HostCall:
    """A call of a function by a thread of a program."""

    def __init__(self, thread: HostThread, number: int, words: Sequence[int], frames: Sequence[int]) -> None:
        self.thread = thread
        self.process: Any = thread.process
        self.number = number
        self.words = words
        self.frames = frames
        """The return addresses, innermost first."""
        self.work: Any = None
        """What it has given to a stream."""
        self.doing: HostCall | None = None
        """The call whose command it does."""

    def at(self, frames: Sequence[int]) -> HostCall:
        """Return this call as if it came from another place."""
        return HostCall(self.thread, self.number, self.words, frames)

    async def read(self, address: int, size: int) -> bytes:
        """Return bytes of the program, which has carried out all effects before."""
        content: bytes | None = None if self.thread.has_pending else self.process.memory(address, size)
        if content is not None:
            return content
        self.thread.effect(READ, address, 0, size)
        return _sized(await _reply(), size)

    async def done(self) -> None:
        """Wait until the program has carried out all effects before."""
        if self.thread.has_pending:
            await self.read(0, 0)

    async def number_at(self, address: int, size: int = 8) -> int:
        """Return a number of the program."""
        return int.from_bytes(await self.read(address, size), "little")

    async def text(self, address: int) -> str:
        """Return a string of the program."""
        self.thread.effect(TEXT, address, 0, MOST_TEXT)
        return (await _reply()).partition(b"\0")[0].decode(errors="surrogateescape")

    async def gather(self, pointers: int, sizes: Sequence[int]) -> list[bytes]:
        """Return the bytes behind the pointers of an array."""
        self.thread.effect(GATHER, pointers, 0, len(sizes), struct.pack(f"<{len(sizes)}I", *sizes))
        joined, parts, at = _sized(await _reply(), sum(sizes)), [], 0
        for size in sizes:
            parts.append(joined[at : at + size])
            at += size
        return parts

    async def invoke(self, function: int, *words: int) -> int:
        """Call a function of the program in the thread of this call."""
        self.thread.effect(INVOKE, function, 0, len(words), struct.pack(f"<{len(words)}Q", *words))
        return int.from_bytes(await _reply(), "little")

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what calls of other threads do; `HostThread.go_on` looks whether it is true."""
        await _until(condition)

    def write(self, address: int, content: bytes) -> None:
        """Put bytes into the memory of the program; a call whose result goes to a null pointer is refused."""
        if not address:
            raise self.process.missing(self, address, len(content), is_written=True)
        self.thread.effect(WRITE, address, 0, len(content), content)

    def write_number(self, address: int, number: int, size: int = 8) -> None:
        self.write(address, (number & (1 << 8 * size) - 1).to_bytes(size, "little"))

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy memory of the program."""
        self.thread.effect(COPY, to, source, size)

    def print(self, text: bytes, *, to_errors: bool = False) -> None:
        """Write text through a stream of the program."""
        self.thread.effect(PRINT, 2 if to_errors else 1, 0, len(text), text)

    def protect(self, address: int, size: int, access: int) -> None:
        """Let the program access memory of the arena: `CLOSED`, `READABLE` or `OPEN`."""
        self.thread.effect(PROTECT, address, access, size)


class HostThread:
    """The connection of one thread of a program."""

    def __init__(self, connected: socket.socket, process: Process) -> None:
        self.socket = connected
        self.process = process
        self.state: dict[str, Any] = {}
        """What an API keeps for each thread."""
        self._running: list[tuple[HostCall, Coroutine[Callable[[], bool] | None, Any, int | None]]] = []
        self._pending = bytearray()
        self._received = bytearray()
        """What has come and was not handled."""
        self._waits_for: Callable[[], bool] | None = None
        self._returned: HostCall | None = None
        """The call whose answer was sent last, unless another effect was sent since."""
        self._error: Exception | None = None
        """What the next reply raises in the call that has it."""

    @property
    def has_pending(self) -> bool:
        """Whether there are effects that the program has not been told yet."""
        return bool(self._pending)

    def effect(self, kind: int, to: int, source: int, size: int, content: bytes = b"") -> None:
        self._pending += EFFECT.pack(kind, 0, to, source, size)
        self._pending += content

    def receive(self) -> bool:
        """Handle the messages that have come; return whether the program is still there."""
        is_there = self._receive()
        while is_there and self._received:
            is_there = self._receive()
        return is_there

    def _receive(self) -> bool:
        try:
            kind, number, words, frames = HEAD.unpack(self._take(HEAD.size))
            if kind == REPLY:
                size = words | frames << 32
                if not self._running or size > _MOST_REPLY or self._waits_for is not None:
                    return False
                self._resume(self._take(size))
            elif kind == CALL and words + frames <= _MOST_WORDS and self._waits_for is None:
                values = array.array("Q", self._take(8 * (words + frames)))
                call = HostCall(self, number, values[:words], values[words:])
                if not self.process.holds(call):
                    self.begin(call)
            elif kind == MISSING and words == 2 and (self._returned or self._running):
                self._miss(*array.array("Q", self._take(16)), is_written=bool(number))
            else:
                return False
            self.process.settle()
        except (OSError, EOFError):
            return False
        return True

    @property
    def call(self) -> HostCall | None:
        """The call that it is in."""
        return self._running[-1][0] if self._running else None

    def _miss(self, address: int, size: int, *, is_written: bool) -> None:
        call = self._returned or self._running[-1][0]
        error = self.process.missing(call, address, size, is_written=is_written)
        if self._returned is None:
            self._error = error

    def go_on(self) -> bool:
        """Go on with a call that waits, if what it waits for is true; return whether that was so."""
        if self._waits_for is None or not self._waits_for():
            return False
        with suppress(OSError):  # the thread may be gone
            self._resume(None)
        return True

    def close(self) -> None:
        for _call, running in reversed(self._running):
            running.close()
        self.socket.close()

    def begin(self, call: HostCall) -> None:
        """Do what a call asks for."""
        try:
            returned = self.process.function(call.number)(call, *call.words)
        except DwarfGpuError as error:
            returned = self.process.refused(call, error)
        if inspect.iscoroutine(returned):
            self._running.append((call, returned))
            self._resume(None)
        else:
            self._return(call, returned)

    def _resume(self, reply: bytes | None) -> None:
        call, running = self._running[-1]
        self._waits_for, problem, self._error = None, self._error, None
        try:
            self._waits_for = running.send(reply) if problem is None else running.throw(problem)
        except StopIteration as stop:
            self._running.pop()
            self._return(call, stop.value)
        except DwarfGpuError as error:
            self._running.pop()
            self._return(call, self.process.refused(call, error))
        else:
            self._returned = None
            self._flush()

    def _return(self, call: HostCall, result: Any) -> None:
        self._returned = call
        self.effect(RETURN, (result or 0) & (1 << 64) - 1, 0, 0)
        self.process.answered(self._flush)

    def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        self.socket.sendall(pending)

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            content = self.socket.recv(_AT_ONCE)
            if not content:
                raise EOFError
            self._received += content
        taken = bytes(memoryview(self._received)[:size])
        del self._received[:size]
        return taken


class Server:
    """A socket in a private folder, at which programs ask for a device."""

    def __init__(self, path: Path, begin: Callable[[int, int], Process]) -> None:
        """``begin`` makes what stands for a process that calls an API, by both their numbers."""
        self.path = path
        self._begin = begin
        self._processes: dict[tuple[int, int], Process] = {}
        self._selector = selectors.DefaultSelector()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        self._selector.register(self._listening, selectors.EVENT_READ)

    def serve(self, seconds: float | None) -> bool:
        """Handle what programs send meanwhile; return whether they have sent anything."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.data is None:
                with suppress(OSError, EOFError, struct.error):
                    self._accept()
            elif isinstance(key.data, _ProcessEnd) or not key.data.receive():
                self._forget(key.data)
        if not ready:
            for process in self._processes.values():
                process.idle()
        return bool(ready)

    def close(self) -> None:
        """End all connections."""
        for key in [*self._selector.get_map().values()]:
            if key.data is not None:
                self._forget(key.data)
        for caller in [*self._processes]:
            self._end(caller)
        self._selector.close()
        self._listening.close()

    def _accept(self) -> None:
        connected, _ = self._listening.accept()
        connected.settimeout(PATIENCE)
        try:
            caller = _greeting(connected)
            process = self._processes.get(caller) or self._begin(*caller)
            size, wish, memory = process.hello()
            socket.send_fds(connected, [struct.pack("<QQ", size, wish)], [memory])
            process.mapped(*struct.unpack("<Q", connected.recv(8, socket.MSG_WAITALL)))
        except BaseException:
            connected.close()
            raise
        if caller not in self._processes:
            self._processes[caller] = process
            with suppress(OSError, AttributeError):  # else it ends with the server
                self._watch_end(caller)
        self._selector.register(connected, selectors.EVENT_READ, HostThread(connected, process))

    def _watch_end(self, caller: tuple[int, int]) -> None:
        end = _ProcessEnd(os.pidfd_open(caller[0]), caller)
        self._selector.register(end.descriptor, selectors.EVENT_READ, end)

    def _end(self, caller: tuple[int, int]) -> None:
        process = self._processes.pop(caller, None)
        if process is not None:
            process.ended()

    def _forget(self, gone: Any) -> None:
        if isinstance(gone, _ProcessEnd):
            self._selector.unregister(gone.descriptor)
            os.close(gone.descriptor)
            self._end(gone.caller)
            return
        self._selector.unregister(gone.socket)
        gone.close()


def _greeting(connected: socket.socket) -> tuple[int, int]:
    """Return the number of the process and that of the API, with which a program begins."""
    kind, named, _thread, api = HEAD.unpack(connected.recv(HEAD.size, socket.MSG_WAITALL))
    if kind != HELLO:
        raise EOFError("the program does not begin with a greeting")
    process, _user, _group = struct.unpack("<3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return process or int(named), int(api)  # in a container, the program has another number for itself


@frozen
class _ProcessEnd:
    """A descriptor that can be read once a process has ended."""

    descriptor: int
    caller: tuple[int, int]


def socket_path(folder: Path) -> Path:
    """Return the path of a socket; names of sockets are short."""
    path = folder / "device"
    if len(os.fsencode(path)) > 100:
        raise OSError(f"{folder} is too long for the name of a socket")
    return path
