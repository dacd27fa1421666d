"""Registers that are used before what loads them is complete, as the counters say on the path that was executed.

AMDGPU usage, "Memory Model": waits "are required to ensure registers are defined before being used". A load is complete
once a wait for a counter of it lets no more accesses remain than have begun behind it. Where accesses are not complete
in order, none may remain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.checks.findings import ATOMIC, EARLY_USE, READ, USE, WAIT, CheckFinding, FindingSide
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.memory_actions import needed_registers, register_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.block_writer import BlockWriter
    from dwarfgpu.execution.checks.order import KnownOrder
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.isa.memory_actions import MemoryAction, Register


@frozen
class LoadSite:
    """An instruction that loads registers."""

    pc: int
    action: MemoryAction
    kinds: tuple[int, ...]
    """The numbers of its counters."""


class LatestLoads(KeptState):
    """By wave, the latest instruction that loads a register, or 0, and the number of its access in each counter."""

    def __init__(self, count: int, kinds: int) -> None:
        self.sites = np.zeros(count, np.int32)
        self.numbers = np.zeros((count, kinds), np.int64)


class WaitCheck(KeptState):
    """Looks at registers that loads write, where they are first used."""

    CHANGING = "found", "loaded"

    def __init__(self, order: KnownOrder, side: Callable[..., FindingSide], used: Callable[[Any], Any]) -> None:
        self.order = order
        self.side = side
        self.used = used
        """Returns how many lanes of waves have a work-item."""
        self.found: dict[tuple[int, int], CheckFinding] = {}
        self.sites: list[LoadSite] = []
        self._block: BlockWriter | None = None
        self._seen: set[Register] = set()
        """The registers that the block has looked at, and not loaded since."""

    def use(self, count: int) -> None:
        """Begin with other waves."""
        self.count = count
        self.loaded: dict[Register, LatestLoads] = {}

    def unseen(self, block: BlockWriter, instruction: GpuInstruction, action: MemoryAction) -> frozenset[Register]:
        """Return the registers that the next instruction of a block needs, and that the block has not looked at."""
        if block is not self._block:
            self._block, self._seen = block, set()
        needed = needed_registers(instruction, action)
        unseen = needed - self._seen
        self._seen |= needed
        self._seen -= action.written
        return unseen

    def site(self, *place: Any) -> int:
        """Add an instruction that loads; return its number, from 1 on."""
        self.sites.append(LoadSite(*place))
        return len(self.sites)

    def load(self, batch: WaveBatch, number: int) -> None:
        """Take note that registers are loaded."""
        numbers = self.order.issued[batch.index]
        for register in self.sites[number - 1].action.written:
            known = self.loaded.get(register)
            if known is None:
                known = self.loaded[register] = LatestLoads(self.count, len(self.order.names))
            known.sites[batch.index] = number
            known.numbers[batch.index] = numbers

    def look(self, batch: WaveBatch, pc: int, registers: frozenset[Register]) -> None:
        """Look whether the loads of registers that an instruction needs are complete."""
        for register in self.loaded.keys() & registers:
            known = self.loaded[register]
            sites = known.sites[batch.index]
            for number in sorted({*sites.tolist()} - {0}):
                site, waves = self.sites[number - 1], batch.waves[sites == number]
                complete = self.order.complete if site.action.is_ordered else self.order.emptied
                is_open = np.ones(len(waves), bool)
                for kind in site.kinds:  # a flat access is in one of two memories
                    is_open &= known.numbers[waves, kind] > complete[waves, kind]
                if is_open.any():
                    self._report(site, pc, register, waves[is_open])
            if batch.count == self.count:
                del self.loaded[register]
            else:
                known.sites[batch.index] = 0

    def _report(self, site: LoadSite, pc: int, register: Register, waves: Any) -> None:
        finding = self.found.get((site.pc, pc))
        if finding is None:
            wave, lanes = int(waves[0]) + self.order.first, np.arange(self.used(waves[:1])[0])
            begun = ATOMIC if site.action.operation.startswith("rmw") else READ
            sides = self.side(begun, site.pc, wave, lanes), self.side(USE, pc, wave, lanes)
            finding = CheckFinding(WAIT, EARLY_USE, sides, register=register_text(register))
            self.found[site.pc, pc] = finding
        finding.count += len(waves)
