"""``dwarfgpu dap`` as editors start it, and as a server at a port."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dwarfgpu.dap import listener
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
@pytest.mark.sampled(4)
def test_the_end_of_input_ends_it_while_the_kernel_runs_too(launch: dict[str, object]) -> None:
    client = ProgramClient(*DAP)
    client.start(**launch)
    client.ask("configurationDone")
    assert client.close() == 0


@contextmanager
def serving(*words: str) -> Iterator[tuple[int, int]]:
    """Start a server; yield its process and its port."""
    command = [*words, "--port", "0", "--token", TOKEN]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    told = process.stderr.readline()
    match = re.search(r'127\.0\.0\.1:(\d+); configurations need "token": "not-a-secret"', told)
    assert match is not None, told
    yield process.pid, int(match[1])
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    process.stderr.close()


@pytest.fixture
def server() -> Iterator[int]:
    with serving(*DAP) as (_process, port):
        yield port


def test_sessions_end_with_the_server() -> None:
    with ExitStack() as stack:
        with serving(*DAP) as (_process, port):
            client = stack.enter_context(connected(port))
            client.launched({"line": 88}, token=TOKEN)
        assert client.next() is None


@contextmanager
def connected(port: int) -> Iterator[Client]:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        yield Client(lambda: connection.recv(1 << 16), connection.sendall)


@pytest.mark.slow
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


def is_there(process: str) -> bool:
    """Return whether a process has files: one that ends has none, and is a child for a while."""
    try:
        return bool(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="it counts processes")
@pytest.mark.slow
def test_clients_that_say_nothing_are_few_and_do_not_stay() -> None:
    program = (
        "from dwarfgpu.dap import listener; listener.PATIENCE = 0.2; from dwarfgpu.cli import main; raise SystemExit"
    )
    with serving(sys.executable, "-c", f"{program}(main())", "dap") as (process, port), ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(9)]
        most = 0
        while not all(select.select([each], [], [], 0)[0] for each in silent):
            children = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split()
            most = max(most, sum(map(is_there, children)))
        assert most <= listener.MOST_STRANGERS
        assert {each.recv(1) for each in silent} == {b""}


def test_a_web_page_cannot_talk_to_it(server: int) -> None:
    body = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": INITIALIZE})
    with connected(server) as client:
        client.raw(f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        while client.next() is not None:
            pass
        assert [title(each) for each in client.log] == ["<!"]


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = run("dap", "--port", str(taken.getsockname()[1]))
    assert "cannot be used" in found.stderr
