"""The launches of a program that a debugger can go back into, as each began.

The host of the program has gone on, and its memory stays as it is: a launch is executed again on a machine of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.control import checkpoints
from dwarfgpu.execution.control.checkpoints import History, KeptMemory, bytes_of
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.execution.launch.launch import begin
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.faults import NamedBuffer
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.machines.machine import LoadedCodeObject
    from dwarfgpu.states.program import Program

MOST = 1000
"""The launches that are kept."""


@frozen(eq=False)
class KeptLaunch:
    """A launch as it began."""

    of: Any
    """What the program knows it by."""
    launched: Launched
    """Without its machine, and without the blocks of its plan, which are in memory."""
    program: Program
    memory: KeptMemory
    """The global memory of all launches; equal chunks are those of the launch before."""
    extents: tuple[tuple[int, int, int, int], ...]
    """Where that is mapped: the first address, the size, the first address of the block, the offset in the block."""
    code_objects: tuple[LoadedCodeObject, ...]
    buffers: tuple[NamedBuffer, ...]
    settings: dict[str, Any]
    """Other attributes of the machine."""
    host: Callable[[], Any]
    """Makes what answers calls of kernels."""

    def again(self, beside: int) -> Running:
        """Return the launch at its first instruction, on a machine of its own and without checks.

        ``beside`` are the bytes that all launches keep.
        """
        machine = Gpu(self.launched.plan.target)
        space = machine.target.default_space
        machine.code_objects, machine.buffers = [*self.code_objects], [*self.buffers]
        for name, value in self.settings.items():
            setattr(machine, name, value)
        machine.host = self.host()
        blocks = {first: bytearray(b"".join(chunks)) for (_space, first), chunks in self.memory.items()}
        for address, size, first, offset in self.extents:
            machine.memory.map(space, address, memoryview(blocks[first])[offset : offset + size])
        launched = begin(machine, self.launched.plan, evolve(self.launched.options, check=None), self.launched.id)
        History(machine, self.memory, beside)
        return Running(launched, program=self.program)


class PastLaunches:
    """The latest launches of a program, whose memory takes at most half of what checkpoints may keep."""

    def __init__(self) -> None:
        self.kept: list[KeptLaunch] = []
        self.size = 0
        """The bytes that are kept."""
        self.why = ""
        """Why earlier ones are not kept; empty if all are."""

    def keep(self, of: Any, running: Running, host: Callable[[], Any]) -> None:
        """Remember a launch whose waves are at the first instruction; the machine then has its `History`."""
        machine = running.machine
        before = self.kept[-1].memory if self.kept else {}
        history = History(machine, before, self.size)
        number = machine.target.default_space.number
        memory = {place: chunks for place, chunks in history.checkpoints[0].memory.items() if place[0] == number}
        store = machine.memory.stores[number]
        firsts = dict(zip(reversed(store.owners), reversed(store.starts), strict=True))
        columns = zip(store.starts, store.lasts, store.owners, store.offsets, strict=True)
        extents = tuple((start, last + 1 - start, firsts[owner], offset) for start, last, owner, offset in columns)
        names = "folder", "padded_to", "jit", "jobs", "keeps_code"
        plan = evolve(running.launched.plan, blocks=())
        self.kept.append(
            KeptLaunch(
                of, evolve(running.launched, plan=plan, machine=None), running.program, memory, extents,
                tuple(machine.code_objects), tuple(machine.buffers), {name: getattr(machine, name) for name in names},
                host,
            )
        )  # fmt: skip
        self.size += _more(memory, before)
        while len(self.kept) > MOST or self.size > checkpoints.MOST_BYTES // 2:
            first = self.kept.pop(0)
            self.size -= _more(first.memory, self.kept[0].memory if self.kept else {})
            what = f"the last {len(self.kept):,} fill" if self.kept else "one has more than half of"
            self.why = f"{what} what `info checkpoints` shows"

    def forget(self, why: str) -> None:
        """Forget all launches for a reason."""
        self.kept, self.size, self.why = [], 0, why


def _more(memory: KeptMemory, other: KeptMemory) -> int:
    """Return the bytes of memory that are not kept for the launch before or after it."""
    return bytes_of([memory, other]) - bytes_of([other])
