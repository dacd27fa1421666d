"""``dwarfgpu dap``: one session on standard input and output, or sessions of clients that connect to a port."""

from __future__ import annotations

import gc
import os
import secrets
import select
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from dwarfgpu.children import end_with
from dwarfgpu.dap.session import DebugSession
from dwarfgpu.dap.wire import Wire
from dwarfgpu.errors import UsageError
from dwarfgpu.progress import show_on
from dwarfgpu.regular_files import signals_raise

HOST = "127.0.0.1"
MAX_PORT = (1 << 16) - 1
MOST_STRANGERS = 8
"""How many clients at a time may not have shown the token yet; others wait until they are accepted."""
PATIENCE = 30.0
"""Seconds that a client has to show the token."""
MOST = 1 << 16
"""The bytes that are read at once."""


def serve(options: Any, say: Callable[[str], object]) -> None:
    """Talk to one client on standard input and output, or to those that connect to a port."""
    if options.port is None:
        if options.token is not None:
            raise UsageError("--token is for --port", hint="leave it out: standard input is the client's own")
        if os.isatty(0):
            say("[`dwarfgpu dap` talks to an editor, which starts it: see `dwarfgpu docs editors`. ^D leaves]")
        # whatever else writes to standard output goes to standard error
        source, target = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        gc.disable()  # until the kernel runs: an eighth of the time to the first stop
        DebugSession(Wire(partial(os.read, source, MOST), partial(_write, target))).serve()
        return
    if not 0 <= options.port <= MAX_PORT:
        raise UsageError(f"--port is 0 to {MAX_PORT}, not {options.port}")
    if not hasattr(os, "fork"):
        raise UsageError(
            "--port needs fork, which this system does not have", hint="let the editor start `dwarfgpu dap`"
        )
    show_on(None)  # the editor shows progress, and nobody sits at a terminal to end what takes too long
    token = options.token or secrets.token_urlsafe(16)
    with signals_raise(), socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, options.port))
        except OSError as error:
            hint = "choose another one; 0 is any that is free"
            raise UsageError(f"{HOST}:{options.port} cannot be used: {error.strerror}", hint=hint) from None
        listener.listen(8)
        say(f'[Debug Adapter Protocol at {HOST}:{listener.getsockname()[1]}; configurations need "token": "{token}"]')
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the sessions
        strangers: list[int] = []
        while True:
            accepting = [listener.fileno()] if len(strangers) < MOST_STRANGERS else []
            for ready in select.select([*strangers, *accepting], [], [])[0]:
                if ready == listener.fileno():
                    strangers.append(_accept(listener, token))
                else:
                    os.close(ready)
                    strangers.remove(ready)


def _accept(listener: socket.socket, token: str) -> int:
    """Serve the next client; return the pipe that is closed when it has shown the token, or has gone."""
    connection, _address = listener.accept()
    known, stranger = os.pipe()
    parent = os.getpid()
    if not os.fork():  # a session changes the folder and the settings of its process
        end_with(parent)
        listener.close()
        _serve_connection(connection, token, stranger)
    connection.close()
    os.close(stranger)
    return known


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _serve_connection(connection: socket.socket, token: str, stranger: int) -> None:
    """Talk to a client in a process of its own, which ends then, or soon if the client shows no token."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)  # SIGALRM ends the process

    def admit() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(stranger)

    status = 1
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = Wire(partial(connection.recv, MOST), connection.sendall, is_strict=True)
        DebugSession(wire, token=token, admit=admit).serve()
        status = 0
    finally:
        os._exit(status)
