"""GDB as a member of the suite of all backends. pytest runs this inside GDB, see `tests.gdb.test_waves`."""

import os

import gdb

from dwarfgpu.machines.gdb.backend import GdbBackend
from dwarfgpu.machines.gdb.process import GdbProcess, threads_of
from tests.gdb.inside import spaces
from tests.machines.conformance import BackendConformance

SOCKETS = os.environ["STUB_SOCKETS"]
KEPT = 6
"""So many connections are left open for backends that were made for one test."""
OPEN: list[int] = []
"""The inferiors of these, oldest first."""

spaces.teach()


def connected(name: str) -> GdbProcess:
    """A new inferior of GDB, which is connected to the stub with a state."""
    text = gdb.execute("add-inferior -no-connection", to_string=True)  # [New inferior 2]
    number = int(text.split()[2].rstrip("]"))
    gdb.execute(f"inferior {number}", to_string=True)
    gdb.execute(f"target remote {SOCKETS}/{name}", to_string=True)
    inferior = gdb.selected_inferior()
    return GdbProcess(inferior, threads_of(inferior))


class TestGdb(BackendConformance):
    backend = GdbBackend

    def make(self, state):
        found = GdbBackend(state.target, connected(state.target.name))
        OPEN.append(found.process.inferior.num)
        if len(OPEN) > KEPT:
            close(OPEN.pop(0))
        return found

    def made(self, state):
        found = super().made(state)
        number = found.process.inferior.num
        if number in OPEN:  # it is used to the end
            OPEN.remove(number)
        return found


def close(number: int) -> None:
    gdb.execute(f"detach inferiors {number}", to_string=True)
    gdb.execute(f"remove-inferiors {number}", to_string=True)
