"""``dwarfgpu dap`` as editors start it, and as a server at a port."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.commands import run
from tests.builders.dap_client import INITIALIZE, KERNELS, LAUNCH, Client, ProgramClient, title
from tests.builders.folders import ROOT

DAP = (sys.executable, "-m", "dwarfgpu", "dap")
TOKEN = "not-a-secret"


def test_on_standard_input_and_output(tmp_path: Path) -> None:
    client = ProgramClient(*DAP)
    stop = client.launched({"line": 88}, cwd=str(tmp_path), initCommands=["set print elements 4", "shell echo noise"])
    assert stop["reason"] == "breakpoint"
    assert client.console("shell pwd") == str(tmp_path)
    client.send("disconnect")
    assert client.close() == 0


@pytest.mark.parametrize("launch", [LAUNCH, {**LAUNCH, "args": {"out": "zeros(128)", "limit": -2000000000}}])
def test_the_end_of_input_ends_it_while_the_kernel_runs_too(launch: dict[str, object]) -> None:
    client = ProgramClient(*DAP)
    client.start(**launch)
    client.ask("configurationDone")
    assert client.close() == 0


@pytest.fixture
def server() -> Iterator[int]:
    command = [*DAP, "--port", "0", "--token", TOKEN]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    told = process.stderr.readline()
    match = re.search(r'127\.0\.0\.1:(\d+); configurations need "token": "not-a-secret"', told)
    assert match is not None, told
    yield int(match[1])
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    process.stderr.close()


@contextmanager
def connected(port: int) -> Iterator[Client]:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        yield Client(lambda: connection.recv(1 << 16), connection.sendall)


def test_two_sessions_at_a_port(server: int) -> None:
    with connected(server) as first, connected(server) as second:
        stop = first.launched({"line": 88}, token=TOKEN)
        assert stop["reason"] == "breakpoint"
        second.ask("initialize", **INITIALIZE)
        assert '"token"' in second.fails("launch", **LAUNCH)
        second.send("launch", **LAUNCH, token=TOKEN)
        second.event("initialized")
        second.ask("setBreakpoints", source={"path": str(KERNELS)}, breakpoints=[{"line": 100}])
        second.ask("configurationDone")
        second.event("stopped")
        assert (first.line(), second.line()) == (88, 100)
        for client in (first, second):
            client.ask("disconnect")
            assert client.next() is None


def test_a_web_page_cannot_talk_to_it(server: int) -> None:
    body = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": INITIALIZE})
    with connected(server) as client:
        client.raw(f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        while client.next() is not None:
            pass
        assert [title(each) for each in client.log] == ["<!"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["--port", "70000"], "--port is 0 to 65535"), (["--token", "x"], "--token is for --port"),
        (["--json"], "talks to an editor"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(words: list[str], text: str) -> None:
    assert text in run("dap", *words).stderr


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = run("dap", "--port", str(taken.getsockname()[1]))
    assert "cannot be used" in found.stderr
