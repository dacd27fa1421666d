"""The figures of `dwarfgpu dap`: until the first stop, a step of a line, a variable in all lanes."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from bench_measure import BARE, DWARFGPU, ROOT, best, compile_all, in_turns, process, show

LAUNCH = {
    "program": "fixtures/amdgpu/cl-kernels.gfx90a.w64.O0.v5.co", "directories": "fixtures",
    "kernel": "divergent", "grid": 4096, "workGroup": 64, "args": {"out": "zeros(4096)", "limit": -2000000000},
}  # fmt: skip
"""A loop that all lanes execute for ever."""
POINTS = {"source": {"path": "fixtures/src/opencl/kernels.cl"}, "breakpoints": [{"line": 100}]}
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"adapterID": "bench"}), ("launch", LAUNCH), ("setBreakpoints", POINTS), ("configurationDone", {}),
]  # fmt: skip
STEP, VARIABLES = 0.015, 0.010
"""Seconds that a step of a line and a variable in 64 lanes may take."""


def dap() -> None:
    """Measure the server: a whole process, and requests in this one."""
    compile_all()
    bodies = [
        json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        for number, (command, arguments) in enumerate(MESSAGES, 1)
    ]
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)

    def first_stop() -> None:
        done = subprocess.run((*DWARFGPU, "dap"), cwd=ROOT, input=data, capture_output=True, check=True)
        if b'"reason": "breakpoint"' not in done.stdout:
            raise RuntimeError(done.stdout[-500:])

    bare, first = in_turns([process(*BARE), first_stop], rounds=10)
    show("dwarfgpu dap, the first stop / python3 -c pass", first / bare, "at most 40", f"{first * 1e3:.0f} ms")
    session = Talk()
    session.ask("setBreakpoints", source=POINTS["source"], breakpoints=[])
    step = best(lambda: session.ask("next", threadId=1))
    show("a step of a line, 64 waves / 15 ms", step / STEP, "at most 1", f"{step * 1e3:.1f} ms")
    for name in ("lane", "out"):
        parts = session.lanes(name)
        seconds = best(lambda: session.ask("variables", variablesReference=parts))  # noqa: B023 (called at once)
        show(f"`{name}` in 64 lanes / 10 ms", seconds / VARIABLES, "at most 1", f"{seconds * 1e3:.1f} ms")


class Talk:
    """A session in this process, whose kernel has stopped in a loop."""

    def __init__(self) -> None:
        from dwarfgpu.dap.session import DebugSession
        from dwarfgpu.dap.wire import Wire

        self.sent: list[bytes] = []
        self.session = DebugSession(Wire(lambda: b"", self.sent.append))
        for command, arguments in MESSAGES:
            self.ask(command, **arguments)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the body of the answer to a request."""
        self.sent.clear()
        self.session.handle({"seq": 1, "type": "request", "command": command, "arguments": arguments})
        messages = [json.loads(data.partition(b"\r\n\r\n")[2]) for data in self.sent]
        for message in messages:
            if not message.get("success", True):
                raise RuntimeError(message["message"])
            if message.get("command") == command:
                return message.get("body") or {}
        return {}

    def lanes(self, name: str) -> int:
        """Return the number by which a variable in all lanes is asked for."""
        frame = self.ask("stackTrace", threadId=1)["stackFrames"][0]["id"]
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        (reference,) = [each["variablesReference"] for each in scopes if each["name"] == "Lanes"]
        rows = self.ask("variables", variablesReference=reference)["variables"]
        found: int = next(row["variablesReference"] for row in rows if row["name"] == name)
        return found
