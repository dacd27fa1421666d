"""Registers that are used before what loads them is complete, as the counters say on the path that was executed.

AMDGPU usage, "Memory Model": waits "are required to ensure registers are defined before being used". A load is complete
once a wait for a counter of it lets no more accesses remain than have begun behind it. Where accesses are not complete
in order, none may remain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dwarfgpu.execution.checks.findings import ATOMIC, EARLY_USE, READ, USE, WAIT, CheckFinding, FindingSide
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.memory_actions import (
    ACCUMULATION_BASE,
    SCALAR_BASE,
    MemoryAction,
    Register,
    needed_registers,
    register_text,
)

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.block_writer import BlockWriter
    from dwarfgpu.execution.checks.order import KnownOrder
    from dwarfgpu.isa.instruction import GpuInstruction

ACCUMULATION_ROWS, SCALAR_ROWS, SPECIAL_ROWS, ROWS = 512, 1024, 1152, 1280
"""Where the rows of registers begin behind those of vector registers: waves with accumulation registers have up to
512 of both, others up to 1,024."""
NUMBER_BITS = 5
"""The bits of a number of an access below the number: whether it is complete out of order, and its counter."""


@frozen
class LoadSite:
    """An instruction that loads registers."""

    pc: int
    action: MemoryAction
    kinds: tuple[int, ...]
    """The numbers of its counters."""


@frozen(eq=False)
class BlockLoad:
    """A load in the block that is being written."""

    line: int
    """The line of the block that takes note of it."""
    registers: frozenset[Register]
    numbers: dict[int, int]
    """By counter, how many accesses of the block have begun with it."""
    is_ordered: bool

    def is_complete(self, issued: list[int], waits: tuple[tuple[int, int], ...]) -> bool:
        """Return whether waits end it, after so many accesses of the block."""
        return any(
            kind in self.numbers and self.numbers[kind] <= issued[kind] - left and (self.is_ordered or not left)
            for kind, left in waits
        )


class WaitCheck(KeptState):
    """Looks at registers that loads write, where they are first used.

    Most loads are waited for in their block before they are used. That is known when the block is written, so nothing
    is looked at when it is executed.
    """

    CHANGING = "found", "loaded", "latest", "numbers"
    _special: ClassVar[dict[str, int]] = {}
    """The rows of special registers, for all forms of the process."""

    def __init__(self, order: KnownOrder, side: Callable[..., FindingSide], used: Callable[[Any], Any]) -> None:
        self.order = order
        self.side = side
        self.used = used
        """Returns how many lanes of waves have a work-item."""
        self.found: dict[tuple[int, int], CheckFinding] = {}
        self.sites: list[LoadSite] = []
        self._numbers_of_sites: dict[int, int] = {}
        self._block: BlockWriter | None = None
        self.of_forms = set[Register]()
        """What compiled code loads, which keeps it in `latest` and `numbers` alone."""

    def use(self, count: int) -> None:
        """Begin with other waves."""
        self.count = count
        self.loaded = set[Register](self.of_forms)
        """The registers of which any wave may have a load that is to be looked at."""
        self.latest = np.zeros((count, ROWS), np.int32)
        """By wave and row of a register, the number of the latest instruction that loads it, or 0."""
        self.numbers = np.zeros((count, ROWS, 2), np.int64)
        """The number of its access in each of two counters at most, with `NUMBER_BITS`."""

    def restore(self, saved: dict[str, Any]) -> None:
        super().restore(saved)
        self.loaded |= self.of_forms

    def row(self, register: Register) -> int:
        """Return the row of a register."""
        if isinstance(register, str):
            return self._special.setdefault(register, SPECIAL_ROWS + len(self._special))
        if register >= SCALAR_BASE:
            return SCALAR_ROWS + register - SCALAR_BASE
        return register if register < ACCUMULATION_BASE else ACCUMULATION_ROWS + register - ACCUMULATION_BASE

    def site(self, pc: int, action: MemoryAction, kinds: tuple[int, ...]) -> int:
        """Return the number of an instruction that loads registers."""
        if pc not in self._numbers_of_sites:
            self.sites.append(LoadSite(pc, action, kinds))
            self._numbers_of_sites[pc] = len(self.sites)
        return self._numbers_of_sites[pc]

    def form_site(self, pc: int, action: MemoryAction, kinds: tuple[int, ...]) -> int:
        """Return the same for an instruction that is a form."""
        self.of_forms |= action.written
        self.loaded |= action.written
        return self.site(pc, action, kinds)

    # --- Text ---------------------------------------------------------------------------------------------------------

    def write_use(self, block: BlockWriter, instruction: GpuInstruction, action: MemoryAction) -> None:
        """Write what looks at the registers that an instruction needs, if the block does not know them yet."""
        if block is not self._block:
            self._block = block
            self._issued = [0] * len(self.order.names)
            self._known: set[Register] = set()
            """The registers that the block has looked at or waited for, and not loaded since."""
            self._latest: dict[Register, BlockLoad] = {}
            self._open: list[BlockLoad] = []
            """The loads of the block that it has not waited for, and whose registers it has not used."""
        unknown = needed_registers(instruction, action) - self._known
        if unknown:
            check = block.name(self)
            block.write(f"if {check}.loaded: {check}.look(b, {block.address}, {block.name(unknown)})")
            used = [self._latest[register] for register in unknown & self._latest.keys()]
            self._open = [load for load in self._open if load not in used]
            self._known |= unknown

    def write_wait(self, block: BlockWriter, waits: tuple[tuple[int, int], ...]) -> None:
        """Take out of a block what takes note of the loads that a wait ends."""
        check = block.name(self)
        for load in [each for each in self._open if each.is_complete(self._issued, waits)]:
            self._open.remove(load)
            block.lines[load.line] = f"if {check}.loaded: {check}.forget(b, {block.name(load.registers)})"
            self._known |= {register for register in load.registers if self._latest[register] is load}

    def write_access(self, block: BlockWriter, action: MemoryAction, kinds: tuple[int, ...]) -> None:
        """Write what takes note of the registers that an instruction loads, behind what counts its access."""
        for kind in kinds:
            self._issued[kind] += 1
        if not action.written:
            return
        site = self.site(block.address, action, kinds)
        numbers = {kind: self._issued[kind] for kind in kinds}
        load = BlockLoad(len(block.lines), action.written, numbers, action.is_ordered)
        block.write(f"{block.name(self)}.load(b, {site})")
        self._open.append(load)
        self._known -= action.written
        self._latest |= dict.fromkeys(action.written, load)

    # --- What waves do ------------------------------------------------------------------------------------------------

    def load(self, batch: WaveBatch, number: int) -> None:
        """Take note that registers are loaded."""
        site = self.sites[number - 1]
        self.loaded |= site.action.written
        rows, is_late = [self.row(each) for each in site.action.written], not site.action.is_ordered
        waves = batch.waves[:, None]
        self.latest[waves, rows] = number
        for column, kind in enumerate((site.kinds[0], site.kinds[-1])):
            numbers = self.order.issued[waves, kind] << NUMBER_BITS | kind << 1 | is_late
            self.numbers[waves, rows, column] = numbers

    def forget(self, batch: WaveBatch, registers: frozenset[Register]) -> None:
        """Take note that no load of some registers is to be looked at."""
        known = self.loaded & registers
        if known:
            self.latest[batch.waves[:, None], [self.row(each) for each in known]] = 0
        if batch.count == self.count:
            self.loaded -= known - self.of_forms

    def look(self, batch: WaveBatch, pc: int, registers: frozenset[Register]) -> None:
        """Look whether the loads of registers that an instruction needs are complete."""
        for register in sorted(self.loaded & registers, key=self.row):
            row = self.row(register)
            sites = self.latest[batch.index, row]
            for number in sorted({*sites.tolist()} - {0}):
                site, waves = self.sites[number - 1], batch.waves[sites == number]
                complete = self.order.complete if site.action.is_ordered else self.order.emptied
                is_open = np.ones(len(waves), bool)
                for column, kind in enumerate((site.kinds[0], site.kinds[-1])):  # a flat access is in one of two
                    is_open &= self.numbers[waves, row, column] >> NUMBER_BITS > complete[waves, kind]
                if is_open.any():
                    self._report(site, pc, register, batch, waves[is_open])
        self.forget(batch, registers)

    def _report(self, site: LoadSite, pc: int, register: Register, batch: WaveBatch, waves: Any) -> None:
        finding = self.found.get((site.pc, pc))
        if finding is None:
            wave, lanes = int(waves[0]) + self.order.first, np.arange(self.used(waves[:1])[0])
            if batch.mask is not None:
                flags = np.broadcast_to(batch.mask, (batch.count, batch.lanes))[batch.waves == waves[0]][0]
                lanes = lanes[flags[lanes]]
            begun = ATOMIC if site.action.operation.startswith("rmw") else READ
            sides = self.side(begun, site.pc, wave, lanes[:0]), self.side(USE, pc, wave, lanes)
            finding = CheckFinding(WAIT, EARLY_USE, sides, register=register_text(register))
            self.found[site.pc, pc] = finding
        finding.count += len(waves)
