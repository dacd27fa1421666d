"""Memory that is as weak as the memory model allows: accesses complete late and out of order, caches are stale.

`WeakMemory` takes the place of `MemoryAccess` in a machine that has `WeakSettings`. An access that is issued is
*performed*, so that memory or a cache has it, at a time that chance gives, at the latest when a wait says so; what it
loads *lands* in registers at that wait, not before. What stays in order is what the hardware keeps in order (AMDGPU
usage, "Memory Model GFX6-GFX9" to "... GFX12"): accesses of a compute unit to the same word, LDS operations of a wave,
a write-back behind the stores of its wave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.access_shapes import AccessShape, changed_in_turn, shape_of
from dwarfgpu.execution.batch import M0, NOTHING, VCC, VCC_HI, WaveBatch, number_of
from dwarfgpu.execution.block_writer import BlockWriter
from dwarfgpu.execution.caches import (
    SYSTEM,
    UNITS,
    WHOLE,
    Caches,
    cached_family,
    invalidated_kinds,
    reach_of_access,
    reach_of_control,
)
from dwarfgpu.execution.device_memory import WORDS, GlobalMemory, MemorySegment
from dwarfgpu.execution.faults import BROKEN, MachineFault
from dwarfgpu.execution.memory_access import MemoryAccess, Place
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.memory_actions import (
    ACCUMULATION_BASE,
    SCALAR,
    SCALAR_BASE,
    MemoryAction,
    action_of,
    counters_of,
    registers_of,
)

if TYPE_CHECKING:
    from random import Random

    from dwarfgpu.isa.instruction import GpuInstruction

Lanes = Any
Rows = Any
"""Flags, or indices, of the waves of an operation."""

LATEST = 256
"""How many memory instructions later an access is performed, at the latest."""
RESTS, RUNS, PAUSES = 0.3, 0.4, 0.5
"""How likely a wave that has no haste rests for some time instead of running, one does not run this time, one rests
behind an access."""
HASTE = (0.1, 0.4, 0.95)
"""How likely the accesses of a wave are performed at once: each wave has one of these, so that in one test some waves
are through while others have only begun."""


@frozen
class WeakSettings:
    """How weak the memory of a machine is."""

    seed: int = 0
    agents: int = 1
    """The agents that the work-groups of a dispatch are shared out to."""
    mode: str = "cu"
    """The execution mode: ``cu``, ``wgp`` or ``tgsplit``; it says where the waves of a work-group are."""
    fine_grained: tuple[tuple[int, int], ...] = ()
    """The first and the last address of memory that L2 does not keep, whatever instructions say."""


@frozen(eq=False)
class WeakInstruction:
    """An instruction that accesses memory, or counts as if it did."""

    address: int
    text: str
    name: str
    action: MemoryAction
    function: Any
    """What performs it, on the registers that its waves had when it was issued."""
    vectors: tuple[int, ...]
    accumulations: tuple[int, ...]
    """The registers that it reads or writes."""
    reach: int
    bits: int
    """The bits of the registers of lanes that it writes."""
    writes_back: int | None = None
    """How far it writes back."""


@frozen(eq=False)
class OutstandingNow:
    """An operation of a wave that is outstanding in a machine that runs."""

    wave: int
    address: int
    instruction: str
    counters: tuple[tuple[str, int], ...]
    """The counters that it counts in, with how many operations have begun after it."""
    is_performed: bool
    registers: tuple[int | str, ...]


class IssuedInstruction:
    """An instruction that some waves have issued, until it is complete for all of them."""

    def __init__(self, instruction: WeakInstruction, batch: WaveBatch, due: Rows) -> None:
        self.instruction = instruction
        self.waves = batch.waves
        self.shadow = batch
        """The registers that the waves had."""
        self.mask = batch.mask
        count = batch.count
        self.is_performed = np.zeros(count, bool)
        self.has_landed = np.zeros(count, bool)
        self.due = due
        self.next_due = int(due.min()) if count else 0
        """When the next wave performs it; -1 if none is left."""
        self.numbers: dict[str, Rows] = {}
        """By counter, how many operations each wave had issued with it."""
        self.open: dict[str, Rows] = {}
        """By counter, the waves that have not waited for it."""
        self.keys = np.zeros(0, np.int64)
        """The words that it accesses, with their compute units, sorted."""
        self.rows_of_keys = np.zeros(0, np.int64)
        self.is_local = False
        self.vector: dict[int, Lanes] = {}
        self.accumulation: dict[int, Lanes] = {}
        self.scalar: dict[int | str, Any] = {}

    def copy(self) -> IssuedInstruction:
        """Return an operation that goes on on its own."""
        other = object.__new__(IssuedInstruction)
        other.__dict__.update(self.__dict__)
        for name in ("is_performed", "has_landed"):
            setattr(other, name, getattr(self, name).copy())
        other.open = {counter: rows.copy() for counter, rows in self.open.items()}
        for name in ("vector", "accumulation"):
            columns = getattr(self, name)
            setattr(other, name, {number: column.copy() for number, column in columns.items()})
        return other


class WeakMemory(MemoryAccess):
    """The memory of one dispatch, as weak as it may be."""

    is_weak = True

    def __init__(
        self, memory: GlobalMemory, settings: WeakSettings, *, processor: str, generation: int, **others: Any
    ) -> None:
        self.settings = settings
        self.family = cached_family(processor, generation)
        self.random = np.random.default_rng(settings.seed)
        self.generation = generation
        self.names = counters_of(generation)
        self.operations: list[IssuedInstruction] = []
        self.now = 0
        super().__init__(memory, **others)
        self.has_shortcuts = False
        self._reach = SYSTEM
        self._touched: list[tuple[MemorySegment, Lanes, Lanes, int]] | None = None
        """While an access is tried: what it touches."""

    def is_like(self, settings: WeakSettings | None) -> bool:
        """Return whether memory that is as weak as some settings say can be this object; take over the settings."""
        if settings is None:
            return False
        self.settings, self.random = settings, np.random.default_rng(settings.seed)
        return True

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Use the memory of other waves, and give each of them a place."""
        super().use(local, group_of, scratch)
        self.operations = []
        self.caches = Caches(self.family, self.settings.agents, self.mapped, self.random)
        groups = int(group_of.max()) + 1 if len(group_of) else 0
        agents = self.random.integers(0, self.settings.agents, groups)
        units = self.random.integers(0, UNITS, groups)[group_of] if groups else np.zeros(0, np.int64)
        if self.settings.mode == "tgsplit":
            units = self.random.integers(0, UNITS, len(group_of))
            if self.family == "GFX942":  # the waves of a work-group share an XCC
                units = units % 2 + 2 * self.random.integers(0, UNITS // 2, groups)[group_of]
        elif self.settings.mode == "wgp":
            units = units // 2 * 2 + self.random.integers(0, 2, len(group_of))
        self.units = (agents[group_of] * UNITS if groups else 0) + units
        """The compute unit of each wave, counted over all agents."""
        self.issued = {counter: np.zeros(len(group_of), np.int64) for counter in self.names.all}
        self.left_waves = np.zeros(len(group_of), bool)
        self.haste = self.random.choice(HASTE, len(group_of))
        begins = self.random.integers(0, LATEST, len(group_of))
        self.rests = self.now + np.where(self.random.random(len(group_of)) < 0.5, begins, 0)
        """The time until which each wave does not run."""

    # --- Text ---------------------------------------------------------------------------------------------------------

    def write_instruction(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess
    ) -> bool:
        """Write an instruction; return whether it ends the block, which each one does that concerns memory."""
        action = action_of(instruction, self.generation)
        if instruction.name.startswith("s_endpgm"):
            writer.write(f"{writer.name(self.leave)}(b)")
        has_place = all(
            isinstance(register, int) or register in ("vcc_lo", "vcc_hi", "m0") for register in action.written
        )
        if not (action.counters or action.waits or action.invalidate or action.write_back) or not has_place:
            return instructions.write_instruction(writer, instruction, address, memory)
        if action.waits:
            writer.write(f"{writer.name(self.wait)}(b, {writer.name(action.waits)})")
        if action.invalidate:
            kinds = invalidated_kinds(self.family, instruction.name, instruction.modifiers)
            writer.write(f"{writer.name(self.invalidate)}(b, {kinds})")
        if action.counters or action.write_back:
            writer.write(f"{writer.name(self.issue)}(b, {writer.name(self._compiled(writer, instruction, address))})")
        writer.write(f"return {address + instruction.size}")
        return True

    def _compiled(self, writer: BlockWriter, instruction: GpuInstruction, address: int) -> WeakInstruction:
        from dwarfgpu.isa.decoder import text

        action = action_of(instruction, self.generation)
        inner = writer.alike(address)
        instructions.write_instruction(inner, instruction, address, self)
        inner.write("return 0")
        used = {register for operand in instruction.operands for register in registers_of(operand)}
        numbers = sorted(register for register in used if isinstance(register, int) and register < SCALAR_BASE)
        shape = shape_of(instruction.name)
        half = None
        if shape is not None and shape.action == "load" and shape.size < 4:
            target = instruction.operand("vdst") or instruction.operand("vdata")
            half = target.half if target is not None and target.half is not None else shape.half
        return WeakInstruction(
            address,
            text(instruction),
            instruction.name,
            action,
            inner.function(),
            tuple(number for number in numbers if number < ACCUMULATION_BASE),
            tuple(number - ACCUMULATION_BASE for number in numbers if number >= ACCUMULATION_BASE),
            reach_of_access(self.family, action.operation, instruction.modifiers),
            WHOLE if half is None else 0xFFFF << 16 * half,
            reach_of_control(self.family, instruction.modifiers) if action.write_back else None,
        )

    # --- Issue --------------------------------------------------------------------------------------------------------

    def issue(self, batch: WaveBatch, instruction: WeakInstruction) -> None:
        """Begin an instruction that accesses memory."""
        self._tick()
        touched = [place for place in self._tried(batch, instruction) if place[1] is None or place[1].any()]
        counters = instruction.action.counters
        if len(counters) > 1 and touched:  # a flat access counts in two, and is complete in that of where it is
            is_local = [segment is self.local for segment, *_rest in touched]
            counters = counters[1:] if all(is_local) else counters if any(is_local) else counters[:1]
        shadow = _shadow(batch, instruction)
        operation = IssuedInstruction(instruction, shadow, self._due(batch.waves))
        for counter in instruction.action.counters:
            self.issued[counter][batch.waves] += 1
            operation.numbers[counter] = self.issued[counter][batch.waves]
        operation.open = {counter: np.ones(batch.count, bool) for counter in counters}
        is_near = any(segment is self.local for segment, *_rest in touched)
        operation.is_local = is_near and self.names.local in operation.open  # the others come late
        keys = [self._keys(batch, *place) for place in touched if id(place[0]) in self.caches.first_of]
        if keys:
            every, rows = (np.concatenate(parts) for parts in zip(*keys, strict=True))
            operation.keys, first = np.unique(every * (len(self.units) + 1) + rows, return_index=True)
            operation.keys, operation.rows_of_keys = every[first], rows[first]
        if instruction.action.space == SCALAR or not (
            keys or operation.is_local or instruction.writes_back is not None
        ):
            operation.due[:] = self.now
        for segment, mask, _offsets, _size in touched:  # whatever instruction reaches private memory
            if segment is not self.local and id(segment) not in self.caches.first_of:
                operation.due[slice(None) if mask is None else mask.any(axis=1)] = self.now
        operation.next_due = int(operation.due.min()) if batch.count else 0
        self.operations.append(operation)
        self._perform(operation, operation.due <= self.now)
        self._pause(batch.waves)
        self._forget()

    def _tried(self, batch: WaveBatch, instruction: WeakInstruction) -> list[tuple[MemorySegment, Lanes, Lanes, int]]:
        """Return what an instruction touches; a fault is one now."""
        if instruction.writes_back is not None or not instruction.action.operation:
            return []
        self._touched = []
        try:
            instruction.function(batch.copy())
            return self._touched
        except MachineFault as fault:
            raise fault.with_traceback(None) from None
        except BROKEN as problem:
            raise MachineFault(f"the instruction cannot be executed ({problem})") from None
        finally:
            self._touched = None

    def _pause(self, waves: Rows) -> None:
        """Let some waves rest while accesses of theirs are on the way, so that others get far before they wait."""
        has_access = np.zeros(len(self.units), bool)
        for operation in self.operations:
            if operation.next_due >= 0:
                has_access[operation.waves[~operation.is_performed]] = True
        resting = waves[has_access[waves] & (self.random.random(len(waves)) < PAUSES)]
        self.rests[resting] = self.now + self.random.integers(1, LATEST, len(resting))

    def _due(self, waves: Rows) -> Rows:
        count = len(waves)
        pick = self.random.random(count) < self.haste[waves]
        soon, late = self.random.integers(1, 8, count), self.random.integers(1, LATEST, count)
        return self.now + np.where(pick, 0, np.where(self.random.random(count) < 0.5, soon, late))

    def _keys(
        self, batch: WaveBatch, segment: MemorySegment, mask: Lanes, offsets: Lanes, size: int
    ) -> tuple[Rows, Rows]:
        """Return the words that lanes access, with their compute units, and the rows of their waves."""
        first = self.caches.first_of[id(segment)]
        rows = np.broadcast_to(np.arange(batch.count)[:, None], offsets.shape)
        if mask is not None:
            offsets, rows = offsets[mask], rows[mask]
        offsets, rows = offsets.reshape(-1), rows.reshape(-1)
        units = self.units[batch.waves][rows]
        count = (size + 3) // 4 + (1 if size % 4 or (offsets & 3).any() else 0)
        words = first + (offsets[:, None] >> 2) + np.arange(count)
        return (units[:, None] * self.caches.words + words).reshape(-1), np.repeat(rows, count)

    # --- Performing ---------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Let time pass: perform what is due."""
        self.now += 1
        waiting = [operation for operation in self.operations if 0 <= operation.next_due <= self.now]
        for index in self.random.permutation(len(waiting)).tolist():
            operation = waiting[index]
            self._perform(operation, operation.due <= self.now)
        self.caches.evict()
        self._forget()

    def _perform(self, operation: IssuedInstruction, rows: Rows) -> None:
        """Perform an operation of some waves, and what must be before it."""
        rows = rows & ~operation.is_performed
        if not rows.any():
            return
        self._perform_earlier(operation, rows)
        operation.is_performed |= rows
        left = operation.due[~operation.is_performed]
        operation.next_due = int(left.min()) if len(left) else -1
        instruction = operation.instruction
        index = np.flatnonzero(rows)
        if instruction.writes_back is not None:
            self.caches.write_back(self.units[operation.waves[index]], instruction.writes_back)
            return
        part = operation.shadow.copy() if rows.all() else operation.shadow.part(rows)
        self._reach, watches = instruction.reach, (self.watch, self.watch_waves)
        self.watch = self.watch_waves = None
        try:
            instruction.function(part)
        finally:
            self.watch, self.watch_waves = watches
        for register in instruction.action.written:
            self._keep_result(operation, part, register, index)

    def _keep_result(self, operation: IssuedInstruction, part: WaveBatch, register: int | str, index: Rows) -> None:
        """Keep what an operation has written to a register, until it lands."""
        if not isinstance(register, int) or register >= SCALAR_BASE:
            number, _bits = self._scalar_place(register)
            operation.scalar[register] = part.scalar[number]  # it is performed for all waves at once
            return
        is_vector = register < ACCUMULATION_BASE
        source = part.vector[register] if is_vector else part.accumulation[register - ACCUMULATION_BASE]
        results = operation.vector if is_vector else operation.accumulation
        number = register if is_vector else register - ACCUMULATION_BASE
        column = results.get(number)
        if column is None:
            column = results[number] = np.zeros((len(operation.waves), self.lanes), np.uint32)
        column[index] = np.broadcast_to(source, (len(index), self.lanes))

    def _perform_earlier(self, operation: IssuedInstruction, rows: Rows) -> None:
        """Perform what the hardware keeps in order before an operation of some waves."""
        waves = operation.waves[rows]
        keys = operation.keys[rows[operation.rows_of_keys]]
        for other in self.operations:
            if other is operation:
                break
            if other.next_due < 0:
                continue
            needed = np.zeros(len(other.waves), bool)
            if operation.instruction.writes_back is not None:
                needed |= np.isin(other.waves, waves) & (not other.is_local)
            elif operation.is_local and other.is_local:
                needed |= np.isin(other.waves, waves)
            if "async_barrier" in operation.instruction.name and other.open.keys() & {"asynccnt", "tensorcnt"}:
                needed |= np.isin(other.waves, waves)
            if len(keys) and len(other.keys) and keys[0] <= other.keys[-1] and keys[-1] >= other.keys[0]:
                needed[other.rows_of_keys[np.isin(other.keys, keys)]] = True
            self._perform(other, needed)

    def _forget(self) -> None:
        self.operations = [
            operation
            for operation in self.operations
            if operation.next_due >= 0 or (operation.instruction.action.written and not operation.has_landed.all())
        ]

    # --- Waits --------------------------------------------------------------------------------------------------------

    def wait(self, batch: WaveBatch, waits: tuple[tuple[str, int], ...]) -> None:
        """Let waves wait until at most some operations remain in counters."""
        rows_of = np.full(len(self.units), -1, np.int64)
        rows_of[batch.waves] = np.arange(batch.count)
        done = []
        for operation in self.operations:
            own = rows_of[operation.waves]
            concerned = (own >= 0) & ~operation.has_landed
            if not concerned.any():
                continue
            is_ordered = operation.instruction.action.is_ordered
            for counter, most in waits:
                if counter in operation.open and (most == 0 or is_ordered):
                    younger = self.issued[counter][operation.waves] - operation.numbers[counter]
                    operation.open[counter] &= ~(concerned & (younger >= most))
            complete = concerned & ~np.logical_or.reduce(list(operation.open.values()))
            if complete.any():
                done.append((operation, complete, own))
        for index in self.random.permutation(len(done)).tolist():
            self._perform(*done[index][:2])
        for operation, complete, own in done:
            self._land(batch, operation, complete, own)
        self._forget()

    def _land(self, batch: WaveBatch, operation: IssuedInstruction, rows: Rows, own: Rows) -> None:
        """Put what an operation has loaded into the registers of waves."""
        operation.has_landed |= rows
        index = np.flatnonzero(rows)
        place = own[index]
        for results, registers in ((operation.vector, batch.vector), (operation.accumulation, batch.accumulation)):
            for number, result in results.items():
                column = np.array(np.broadcast_to(registers[number], (batch.count, self.lanes)))
                new = result[index]
                bits = np.uint32(operation.instruction.bits)
                if operation.instruction.bits != WHOLE:
                    new = column[place] & ~bits | new & bits
                if operation.mask is not None:
                    mask = np.broadcast_to(operation.mask, (len(operation.waves), self.lanes))[index]
                    new = np.where(mask, new, column[place])
                column[place] = new
                registers[number] = column
        for register, value in operation.scalar.items():
            number, bits = self._scalar_place(register)
            old = batch.scalar[number]
            column = np.full((batch.count, 1), old, np.uint64) if isinstance(old, int) else old.astype(np.uint64)
            chosen = np.full((len(index), 1), value, np.uint64) if isinstance(value, int) else value[index]
            column[place] = column[place] & ~np.uint64(bits) | chosen & np.uint64(bits)
            batch.scalar[number] = number_of(column)

    def _scalar_place(self, register: int | str) -> tuple[int, int]:
        """Return where a scalar register is, and which bits of what is there."""
        if isinstance(register, int):
            return register - SCALAR_BASE, WHOLE
        if register == "vcc_hi":
            return (VCC, WHOLE << 32) if self.lanes == 64 else (VCC_HI, WHOLE)
        return {"vcc_lo": VCC, "m0": M0}[register], WHOLE

    def invalidate(self, batch: WaveBatch, depths: tuple[int, ...]) -> None:
        """Invalidate the caches of waves."""
        self._tick()
        self.caches.invalidate(self.units[batch.waves], depths)

    def chosen(self, batches: list[WaveBatch], random: Random) -> WaveBatch:
        """Return a batch in which a wave does not rest, by chance; any if all waves rest."""
        for index in self.random.permutation(len(batches)).tolist():
            batch: WaveBatch = batches[index]
            if (self.rests[batch.waves] <= self.now).any():
                return batch
        return super().chosen(batches, random)

    def going(self, batch: WaveBatch) -> Rows:
        """Return flags of the waves of a batch that run while the others rest; so each gets a time of its own."""
        is_awake = self.rests[batch.waves] <= self.now
        pick = self.random.random(batch.count)
        resting = batch.waves[is_awake & (pick < RESTS * (1 - self.haste[batch.waves]))]
        self.rests[resting] = self.now + self.random.integers(1, LATEST // 4, len(resting))
        flags = is_awake & (pick > RUNS)
        if not flags.any():
            flags = is_awake
        return flags if 0 < flags.sum() < batch.count else None

    def leave(self, batch: WaveBatch) -> None:
        """Let waves end: what they have loaded goes nowhere, what they have stored is performed some time."""
        self.left_waves[batch.waves] = True
        for operation in self.operations:
            operation.has_landed |= self.left_waves[operation.waves]
        if self.left_waves.all():
            self.finish()

    def finish(self) -> None:
        """Perform all that is outstanding and write back all caches, as at the end of a dispatch."""
        for operation in self.operations:
            self._perform(operation, ~operation.is_performed)
        self._forget()
        self.caches.clean()

    def outstanding(self, wave: int) -> list[OutstandingNow]:
        """Return what a wave waits for, or has not waited for, the oldest first."""
        found = []
        for operation in self.operations:
            for row in np.flatnonzero((operation.waves == wave) & ~operation.has_landed).tolist():
                instruction = operation.instruction
                counters = tuple(
                    (counter, int(self.issued[counter][wave] - operation.numbers[counter][row]))
                    for counter, rows in operation.open.items()
                    if rows[row]
                )
                if counters:
                    is_performed = bool(operation.is_performed[row])
                    written = tuple(sorted(instruction.action.written, key=str))
                    found.append(
                        OutstandingNow(wave, instruction.address, instruction.text, counters, is_performed, written)
                    )
        return found

    # --- Access -------------------------------------------------------------------------------------------------------

    @property
    def is_tried(self) -> bool:  # type: ignore[override]
        return self._touched is not None

    def _places(self, batch: WaveBatch, space: str, address: Lanes, size: int) -> list[Place]:
        places = super()._places(batch, space, address, size)
        if self._touched is not None:
            self._touched += [(*place, size) for place in places]
        return places

    def _reach_of(self, segment: MemorySegment) -> int:
        for first, last in self.settings.fine_grained:
            if segment.start <= first and last < segment.end:
                return SYSTEM
        return self._reach

    def _read(self, batch: WaveBatch, space: str, place: Place, size: int, count: int) -> list[Lanes]:
        segment, mask, offsets = place
        results = [np.zeros(offsets.shape, WORDS[size]) for _ in range(count)]
        if self.is_tried:
            return results
        if id(segment) not in self.caches.first_of:
            return super()._read(batch, space, place, size, count)
        lanes = np.ones(offsets.shape, bool) if mask is None else mask
        unit = self._units_of(batch, lanes)
        for number, result in enumerate(results):
            result[lanes] = self._numbers(segment, unit, offsets[lanes] + size * number, size)
        return results

    def _units_of(self, batch: WaveBatch, lanes: Lanes) -> Rows:
        """Return the compute units of the lanes with a flag."""
        return np.broadcast_to(self.units[batch.waves][:, None], lanes.shape)[lanes]

    def _numbers(self, segment: MemorySegment, unit: Rows, offset: Rows, size: int) -> Rows:
        first, reach = self.caches.first_of[id(segment)], self._reach_of(segment)
        if not (offset & (size - 1)).any():
            words = self.caches.read(unit, first + (offset >> 2), reach)
            return (words >> ((offset & 3) * 8).astype(np.uint32)).astype(WORDS[size])
        total = np.zeros(len(offset), WORDS[size])
        for byte in range(size):
            total |= self._numbers(segment, unit, offset + byte, 1).astype(WORDS[size]) << WORDS[size](8 * byte)
        return total

    def _write(self, batch: WaveBatch, space: str, place: Place, size: int, values: list[Lanes]) -> None:
        segment, mask, offsets = place
        if self.is_tried:
            return
        if id(segment) not in self.caches.first_of:
            super()._write(batch, space, place, size, values)
            return
        lanes = np.ones(offsets.shape, bool) if mask is None else mask
        unit = self._units_of(batch, lanes)
        for number, value in enumerate(values):
            self._put(segment, unit, offsets[lanes] + size * number, size, value[lanes])

    def _put(self, segment: MemorySegment, unit: Rows, offset: Rows, size: int, value: Rows) -> None:
        first, reach = self.caches.first_of[id(segment)], self._reach_of(segment)
        if not (offset & (size - 1)).any():
            shift = ((offset & 3) * 8).astype(np.uint32)
            bits = np.uint32((1 << 8 * size) - 1) << shift
            self.caches.store(unit, first + (offset >> 2), value.astype(np.uint32) << shift, bits, reach)
            return
        for byte in range(size):
            part = (value >> value.dtype.type(8 * byte)).astype(np.uint8)
            self._put(segment, unit, offset + byte, 1, part)

    def _change(
        self, batch: WaveBatch, segment: MemorySegment, lanes: Lanes, offsets: Lanes, shape: AccessShape, *data: Lanes
    ) -> Lanes:
        if self.is_tried:
            return 0
        if id(segment) not in self.caches.first_of:
            return super()._change(batch, segment, lanes, offsets, shape, *data)
        old: list[Lanes] = []

        def change(words: Lanes, place: Rows) -> None:
            view = words.view(WORDS[shape.size]).reshape(-1)
            old.append(changed_in_turn(view, place, shape, *data))

        word = (self.caches.first_of[id(segment)] + (offsets >> 2))[:, None] + np.arange(shape.size // 4)
        self.caches.change(self._units_of(batch, lanes), word, self._reach_of(segment), change)
        return old[0]

    # --- Going back ---------------------------------------------------------------------------------------------------

    def saved(self) -> Any:
        """Return what `restore` needs."""
        issued = {counter: numbers.copy() for counter, numbers in self.issued.items()}
        operations = [operation.copy() for operation in self.operations]
        waves = self.left_waves.copy(), self.rests.copy()
        return operations, self.caches.saved(), issued, waves, self.now, self.random.bit_generator.state

    def restore(self, saved: Any) -> None:
        """Bring outstanding operations and caches back to what they were."""
        operations, caches, issued, (left, rests), self.now, state = saved
        self.operations = [operation.copy() for operation in operations]
        self.caches.restore(caches)
        self.issued = {counter: numbers.copy() for counter, numbers in issued.items()}
        self.left_waves, self.rests = left.copy(), rests.copy()
        self.random.bit_generator.state = state


def _shadow(batch: WaveBatch, instruction: WeakInstruction) -> WaveBatch:
    shadow = batch.copy()
    vector, accumulation = set(instruction.vectors), set(instruction.accumulations)
    shadow.vector = [column if number in vector else NOTHING for number, column in enumerate(batch.vector)]
    shadow.accumulation = [
        column if number in accumulation else NOTHING for number, column in enumerate(batch.accumulation)
    ]
    return shadow
