"""The instructions that compiled code executes without telling the observer of a device.

An observer that looks where lines begin need not see the instructions between. Code is told apart by its *kind*, such
as the line. Where straight code changes its kind, compiled code stops, and a branch that may lead to another kind is
executed by Python. So the observer sees the first instruction of each kind, and knows which one was executed before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.isa.instruction import GpuInstruction


TRIALS, WORTH = 64, 32
"""So many times compiled code is tried; waves must execute so many instructions each time, in the mean, or Python is
as fast: to leave compiled code takes as long as Python takes for 16 instructions of one wave."""
ENDS = "s_branch", "s_endpgm"
"""The instructions that are not followed by the next one."""


class QuietObserver(Protocol):
    """An observer that need not see each instruction."""

    def kind_of(self, address: int) -> Any:
        """Return what tells an instruction from those where the observer has to look."""

    def must_see(self, address: int, instruction: GpuInstruction) -> bool:
        """Return whether the observer has to be told of an instruction wherever waves come from."""

    def has_seen(self, batch: WaveBatch) -> bool:
        """Return whether waves may go on where they are without a look."""

    def has_missed(self, batch: WaveBatch) -> None:
        """Take note that waves have executed instructions unseen."""


class QuietCode:
    """What compiled code may execute of the code that some observers look at."""

    def __init__(self, *observers: QuietObserver) -> None:
        self.observers = observers
        self.stops: set[int] = set()
        """Where straight code changes its kind, and branches that may lead to another kind."""
        self.before: dict[int, int] = {}
        """The instructions that compiled code may have executed, by the address behind each."""
        self._runs = self._executed = 0

    @property
    def pays(self) -> bool:
        """Whether waves execute so much at a time that compiled code is faster than Python."""
        return self._runs < TRIALS or self._executed >= WORTH * self._runs

    def _kind(self, address: int) -> tuple[Any, ...]:
        return tuple(each.kind_of(address) for each in self.observers)

    def holds(self, address: int, instruction: GpuInstruction) -> bool:
        """Return whether compiled code may execute an instruction; then it stops where the code changes its kind."""
        if address in self.stops or any(each.must_see(address, instruction) for each in self.observers):
            return False
        behind, branch, kind = address + instruction.size, instruction.branch, self._kind(address)
        is_other = instruction.name not in ENDS and self._kind(behind) != kind
        if branch is not None and (is_other or self._kind(address + branch) != kind):
            self.stops.add(address)
            return False
        if is_other:
            self.stops.add(behind)
        self.before[behind] = address
        return True

    def enters(self, batch: WaveBatch) -> bool:
        """Return whether waves may go on in compiled code."""
        return batch.pc not in self.stops and all(each.has_seen(batch) for each in self.observers)

    def passed(self, batch: WaveBatch, count: int) -> None:
        """Tell the observers that each of some waves has executed so many instructions."""
        self._runs, self._executed = self._runs + 1, self._executed + count
        for each in self.observers:
            each.has_missed(batch)
