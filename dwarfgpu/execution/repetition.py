"""Waves that go round a loop for ever, told by the state of the machine: it comes back.

What waves do depends on nothing but registers, memory and the order of batches, which is the same each time. So if all
of them are as they were before, they will be so again and again. A loop that counts, in a register or in memory, never
has the same state.

Looking is rare: after 8 million instructions, after 32 million, and so on. Only then one batch executes
single blocks, several have turns as always, and each time the state is compared with that at the beginning of the look,
or at its half, three quarters and so on: what leads to a loop may be outside of it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from dwarfgpu.execution import halts
from dwarfgpu.execution.halts import Halt, executing, lane_masks

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device

FIRST = 1 << 23
"""The instructions, counted for each wave, before the first look; there are 4 times as many before the next one."""
SHARE = 1 << 22
"""A look takes one block or turn for so many instructions that were executed before it."""
LEAST, LEAST_COMPILED = 512, 32
"""The blocks or turns of a look at least: single blocks of compiled code take 100 times as long as in a loop."""


class Repetition:
    """Looks now and then whether a device comes back to a state that it has had."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.start_anew()

    def start_anew(self) -> None:
        """Begin to count again, because the machine was changed by others than its waves."""
        self._since = self.device.executed
        self.due = self._since + FIRST
        """When to look: at that many instructions."""
        self._alone: WaveBatch | None = None
        """The only batch at the beginning of the look, which must stay whole."""
        self._begin: list[WaveBatch] = []
        """Copies of all batches as they were at the beginning; none while this does not look."""
        self._memory: bytes | None = None
        """The digest of memory at the beginning, once registers have come back."""
        self._left = 0
        self._path: list[tuple[int, int]] = []
        """The addresses and modes of the blocks since the beginning."""
        self._end: tuple[int, tuple[int, ...]] | None = None
        """Where waves stop that were found to be in a loop, and the instructions of the loop."""

    @property
    def is_looking(self) -> bool:
        """Whether states are compared now."""
        return bool(self._begin)

    def step(self, limit: int | None) -> int | None:
        """Return up to where the next turn goes: one block while one batch is looked at."""
        if self._alone is None:
            return limit
        return self.device.executed + 1 if limit is None else min(self.device.executed + 1, limit)

    def look(self) -> Halt | None:
        """Compare the device with what it was at the beginning of the look; return the halt of waves in a loop."""
        device = self.device
        if self._end is not None:
            pc, loop = self._end
            return self._halt(loop) if device.batches[0].pc == pc else None
        if self._alone is None and device.is_within_turn:
            return None
        if not self._begin:
            least = LEAST if device.compiled is None else LEAST_COMPILED
            self._left = max(least, (device.executed - self._since) // SHARE)
            self._start()
            return None
        self._left -= 1
        if self._alone is not None and [each.count for each in device.batches] == [self._alone.count]:
            self._alone = device.batches[0]  # as it is now, perhaps in compiled code
        elif self._alone is not None:
            self._left = -1
        if self._left < 0:
            self._give_up()
        elif self._is_back():
            digest = self._digest()
            if self._memory is None:
                self._start(digest)
            elif self._memory != digest:
                self._give_up()
            elif self._alone is None:
                return self._halt(())
            else:
                self._end = self._exit(self._alone.pc)
                return self.look()
        elif self._memory is None and not self._left & (self._left - 1):
            self._start()
        elif self._alone is not None:
            self._path.append((self._alone.pc, self._alone.mode))
        return None

    def _start(self, memory: bytes | None = None) -> None:
        batches = self.device.batches
        self._begin = [batch.copy() for batch in self._every_batch()]
        self._alone = batches[0] if len(batches) == 1 else None
        self._memory, self._path = memory, [(batches[0].pc, batches[0].mode)] if batches else []
        self._clock, self.due = self.device.clock.now, self.device.executed

    def _give_up(self) -> None:
        self._begin, self._alone = [], None
        self.due = self._since + 4 * max(self.device.executed - self._since, FIRST)

    def _every_batch(self) -> list[WaveBatch]:
        return [*self.device.batches, *self.device.waiting]

    def _is_back(self) -> bool:
        batches = self._every_batch()
        if len(batches) != len(self._begin) or self.device.clock.now != self._clock:
            return False
        pairs = [*zip(batches, self._begin, strict=True)]
        if self._alone is None and any(now.spent != then.spent for now, then in pairs):
            return False  # the order of batches is not the same
        return all(is_same_state(*pair) for pair in pairs)

    def _digest(self) -> bytes:
        """Return what tells the memory of the machine from any other, with what barriers know."""
        found = hashlib.blake2b()
        for store in self.device.machine.memory.stores.values():
            for block in store.blocks:
                found.update(block.buffer)
        for array in self.device.barriers.saved():
            found.update(np.ascontiguousarray(array).tobytes())
        return found.digest()

    def _exit(self, pc: int) -> tuple[int, tuple[int, ...]]:
        """Return where the block starts whose branch could leave the loop, else an address, and all instructions.

        The branch is the first of the instructions.
        """
        blocks = [self.device.straight_code(*start) for start in dict.fromkeys(self._path)]
        instructions = {address for block in blocks for address in block}
        for block in blocks:
            instruction = self.device.instruction(block[-1])
            targets = {block[-1] + instruction.size, block[-1] + (instruction.branch or 0)}
            if instruction.name.startswith("s_cbranch") and not targets <= instructions:
                return block[0], (block[-1], *sorted(instructions - {block[-1]}))
        return pc, (pc, *sorted(instructions - {pc}))

    def _halt(self, loop: tuple[int, ...]) -> Halt:
        lanes: dict[int, int] = {}
        batches = self.device.batches
        for batch in batches:
            lanes |= dict.fromkeys(batch.waves.tolist(), 0) | lane_masks(batch.waves, executing(batch))
        is_all = not (self.device.waiting or self.device.held or self.device.stopped)
        who = "all waves that have not ended go" if is_all else "all waves that can run go"
        return Halt(
            halts.STUCK,
            f"{who} round {'loops' if len(batches) > 1 else 'a loop'} for ever",
            batches[0].pc,
            lanes,
            loop=loop,
        )


def is_same_state(now: WaveBatch, then: WaveBatch) -> bool:
    """Return whether waves are at the same place with the same registers."""
    if (now.pc, now.mode, now.count) != (then.pc, then.mode, then.count):
        return False
    pairs = (
        (now.waves, then.waves), (now.exec, then.exec), (now.scc, then.scc), (now.status, then.status),
        *zip(now.scalar, then.scalar, strict=True), *zip(now.vector, then.vector, strict=True),
        *zip(now.accumulation, then.accumulation, strict=True),
    )  # fmt: skip
    return all(mine is other or bool(np.all(mine == other)) for mine, other in pairs)
