"""A client of the Debug Adapter Protocol: in this process for `DebugSession`, or for a program that it starts.

Each message in both directions is checked against the protocol.
"""

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from dwarfgpu.dap.session import DebugSession
from dwarfgpu.dap.wire import Wire
from tests.builders.dap_protocol import message_problems
from tests.builders.folders import FIXTURES, ROOT

PATIENCE = 60.0
KERNELS = FIXTURES / "src/opencl/kernels.cl"
LAUNCH = {
    "program": str(FIXTURES / "amdgpu/cl-kernels.gfx90a.w64.O0.v5.co"), "directories": str(FIXTURES),
    "kernel": "divergent", "grid": 128, "workGroup": 64, "args": {"out": "zeros(128)", "limit": 40},
}  # fmt: skip
"""A kernel whose sources are in this repository."""
UNDERSTANDS = (
    *("VariableType", "VariablePaging", "MemoryReferences", "ProgressReporting", "InvalidatedEvent", "MemoryEvent"),
)
INITIALIZE = {
    "adapterID": "dwarfgpu", "linesStartAt1": True, "columnsStartAt1": True, "pathFormat": "path",
    **{f"supports{name}": True for name in UNDERSTANDS},
}  # fmt: skip


class Client:
    """Asks, and keeps everything that comes back."""

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], Any], *, is_checked: bool = True) -> None:
        self._wire = Wire(read, write)
        self._is_checked = is_checked
        self._write = write
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._number = 0
        self.log: list[dict[str, Any]] = []
        """All messages of the server."""
        self._seen = 0
        Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        message: Any = 1
        while message is not None:
            try:
                message = self._wire.receive()
            except (OSError, ValueError):
                message = None
            self._inbox.put(message)

    def next(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        try:
            message: dict[str, Any] | None = self._inbox.get(timeout=patience)
        except Empty:
            raise AssertionError(f"no message; before it {[*map(title, self.log)]}") from None
        if message is not None:
            self.log.append(message)
            assert not self._is_checked or message_problems(message) == []
        return message

    def until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message for which a question says so, of those that were not looked at."""
        while True:
            while self._seen < len(self.log):
                self._seen += 1
                if is_it(self.log[self._seen - 1]):
                    return self.log[self._seen - 1]
            assert self.next() is not None, [*map(title, self.log)]

    def send(self, command: str, **arguments: Any) -> int:
        """Send a request; return its number."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        assert not self._is_checked or message_problems(message) == []
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._number

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self._write(data)

    def answer(self, number: int) -> dict[str, Any]:
        """Return the answer to a request, wherever it is among the messages."""
        found = None
        while found is None:
            found = next((each for each in self.log if each.get("request_seq") == number), None)
            if found is None:
                assert self.next() is not None, [*map(title, self.log)]
        return found

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the body of an answer, which must be a success."""
        answer = self.answer(self.send(command, **arguments))
        assert answer["success"], answer
        body: dict[str, Any] = answer.get("body") or {}
        return body

    def fails(self, command: str, **arguments: Any) -> str:
        """Return the text of an error."""
        answer = self.answer(self.send(command, **arguments))
        assert not answer["success"], answer
        text: str = answer["body"]["error"]["variables"]["text"]
        return text

    def event(self, name: str) -> dict[str, Any]:
        """Return the body of the next event with a name."""
        body: dict[str, Any] = self.until(lambda each: each.get("event") == name).get("body") or {}
        return body

    # --- Sessions ---------------------------------------------------------------------------------------------------

    def start(self, command: str = "launch", *, points: Sequence[Any] = (), filters: Any = None, **how: Any) -> int:
        """Initialize, launch or attach, set breakpoints in the kernels; return the number of the launch."""
        self.ask("initialize", **INITIALIZE)
        number = self.send(command, **how)
        first = self.until(lambda each: each.get("event") == "initialized" or each.get("request_seq") == number)
        assert first["type"] == "event", first
        lines = [each if isinstance(each, dict) else {"line": each} for each in points]
        if lines:
            self.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=lines)
        if filters is not None:
            self.ask("setExceptionBreakpoints", filters=filters)
        return number

    def launched(self, *points: Any, filters: Any = None, **how: Any) -> dict[str, Any]:
        """Launch the kernel; return its first stop."""
        number = self.start(points=points, filters=filters, **{**LAUNCH, **how})
        self.ask("configurationDone")
        assert self.answer(number)["success"]
        return self.event("stopped")

    def attached(self, **how: Any) -> dict[str, Any]:
        """Attach a state; return the first stop."""
        self.start("attach", **how)
        self.ask("configurationDone")
        return self.event("stopped")

    def goes(self, command: str, thread: int = 1, **how: Any) -> dict[str, Any]:
        """Let the kernel run; return how it has stopped."""
        self.ask(command, threadId=thread, **how)
        return self.event("stopped")

    def top(self, thread: int = 1) -> dict[str, Any]:
        """Return the innermost frame of a wave."""
        frame: dict[str, Any] = self.ask("stackTrace", threadId=thread, levels=1)["stackFrames"][0]
        return frame

    def line(self, thread: int = 1) -> int:
        """Return the line of a wave."""
        number: int = self.top(thread)["line"]
        return number

    def scope(self, name: str, thread: int = 1) -> dict[str, dict[str, Any]]:
        """Return the variables of the scope whose name begins so, by their names."""
        scopes = self.ask("scopes", frameId=self.top(thread)["id"])["scopes"]
        (found,) = [each for each in scopes if each["name"].startswith(name)]
        return self.parts(found["variablesReference"])

    def parts(self, reference: int, **which: int) -> dict[str, dict[str, Any]]:
        """Return the parts of something by their names."""
        rows = self.ask("variables", variablesReference=reference, **which)["variables"]
        return {row["name"]: row for row in rows}

    def value(self, expression: str, context: str = "watch", thread: int = 1) -> str:
        """Return what an expression is in the innermost frame."""
        body = self.ask("evaluate", expression=expression, context=context, frameId=self.top(thread)["id"])
        result: str = body["result"]
        return result

    def console(self, line: str) -> str:
        """Return what the console answers."""
        result: str = self.ask("evaluate", expression=line, context="repl")["result"]
        return result


def title(message: dict[str, Any]) -> str:
    """Return a message in a word: an event by its name, an answer with a sign."""
    sign = {"event": "", "response": "<"}[message["type"]] + ("" if message.get("success", True) else "!")
    return f"{sign}{message.get('event') or message.get('command')}"


class LocalClient(Client):
    """A client of a session in a thread of this process."""

    def __init__(self, *, is_checked: bool = True, token: str | None = None, is_strict: bool = False) -> None:
        (there, self._there), (self._here, here) = os.pipe(), os.pipe()
        wire = Wire(partial(os.read, there, 1 << 16), partial(_write, here), is_strict=is_strict)
        self.session = DebugSession(wire, token=token)
        self.thread = Thread(target=self._serve, args=(there, here), daemon=True)
        self.thread.start()
        Client.__init__(
            self, partial(os.read, self._here, 1 << 16), partial(_write, self._there), is_checked=is_checked
        )

    def _serve(self, *files: int) -> None:
        self.session.serve()
        os.close(files[1])

    def close(self) -> None:
        """Leave, whatever the session does."""
        os.close(self._there)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


class ProgramClient(Client):
    """A client of a program."""

    def __init__(self, *command: str, is_checked: bool = True) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        read, write = self.process.stdout.fileno(), self.process.stdin.fileno()
        Client.__init__(self, partial(os.read, read, 1 << 16), partial(_write, write), is_checked=is_checked)

    def close(self) -> int:
        """End the input of the program; return its status."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        while self.next() is not None:
            pass
        self.process.stdout.close()
        return status


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
