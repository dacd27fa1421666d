"""The server of ``dwarfgpu serve`` for tests: several snapshots at once, each connection with a copy of its own.

    python -m tests.gdb.stub [--plain] SOCKET=FILE...

With ``--plain`` it tells GDB neither the files nor what only dwarfgpu asks for, like the stub of another program.
"""

import os
import select
import signal
import socket
import sys
from functools import partial

from dwarfgpu.serve.listener import open_served
from dwarfgpu.serve.packets import MAX_PACKET, converse
from dwarfgpu.serve.remote import RemoteStub

HIDDEN = ("exec-file", "libraries")


class PlainStub(RemoteStub):
    """A server that is none of dwarfgpu's."""

    def __init__(self, served):
        super().__init__(served)
        self.layout.registers.pop()
        self.layout.features["org.dwarfgpu.wave"].pop()

    def _transfers(self):
        return {name: make for name, make in super()._transfers().items() if name not in HIDDEN}


def main(words: list[str]) -> None:
    """Listen on sockets; each connection is served by a process of its own."""
    make = PlainStub if words[0] == "--plain" else RemoteStub
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listeners = {}
    for place in words[make is PlainStub :]:
        path, _, state = place.partition("=")
        served, _problems = open_served(state)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        listeners[listener] = served
    print("ready", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        for listener in select.select(list(listeners), [], [], 1)[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                converse(partial(connection.recv, MAX_PACKET), connection.sendall, make(listeners[listener]).answers)
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1:])
