"""The memory of waves that are checked: checks are told of accesses, waits, invalidates, barriers and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.access_shapes import BUFFER, GLOBAL, LOCAL, SCRATCH, AccessShape, shape_of
from dwarfgpu.execution.barriers import GROUP
from dwarfgpu.execution.batch import WaveBatch, return_addresses
from dwarfgpu.execution.buffer_formats import NAMES as FORMATTED
from dwarfgpu.execution.caches import AGENT, WORK_GROUP, cached_family, reach_of_access
from dwarfgpu.execution.checks.align_check import AlignCheck, multiple
from dwarfgpu.execution.checks.barrier_check import BarrierCheck
from dwarfgpu.execution.checks.bounds_check import (
    BoundsCheck,
    PointerShadow,
    base_and_offset,
    loaded_operands,
    loads_pointers,
    stored_operands,
    word,
)
from dwarfgpu.execution.checks.findings import (
    ALIGN,
    ATOMIC,
    BARRIER,
    BOUNDS,
    INIT,
    NAN,
    RACE,
    READ,
    WAIT,
    WRITE,
    CheckFinding,
    FindingSide,
    NamedArray,
)
from dwarfgpu.execution.checks.init_check import InitCheck
from dwarfgpu.execution.checks.kept_state import KeptState, size_of
from dwarfgpu.execution.checks.nan_check import NanCheck
from dwarfgpu.execution.checks.order import KnownOrder
from dwarfgpu.execution.checks.provenance import NONE, ProvenanceWriter, known, simple, words_of
from dwarfgpu.execution.checks.races import (
    PLAIN,
    RMW,
    SMALL_STORE,
    SWAP_LOAD,
    SYNC_LOAD,
    SYNC_STORE,
    RaceCheck,
    bytes_of,
)
from dwarfgpu.execution.checks.updates import Update, UpdatesOfLoads
from dwarfgpu.execution.checks.wait_check import WaitCheck
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from dwarfgpu.execution.instructions import barrier_number
from dwarfgpu.execution.memory_access import MemoryAccess, Place
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.instruction import BRANCHES, JUMPS, GpuInstruction
from dwarfgpu.targets.amdgpu.geometry import GridPosition, geometry

if TYPE_CHECKING:
    from dwarfgpu.execution.block_writer import BlockWriter
    from dwarfgpu.execution.checks.findings import CheckSettings
    from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment

Lanes = Any
_DONE = {"load": READ, "store": WRITE, "atomic": ATOMIC}
_COUNTERS = ("ds_append", "ds_consume")
_SIGN = 1 << 31
_RECORD_BITS = 24
"""The bits that number the records of a log, below a place in a segment."""
_NO_CHANGE = np.array([np.iinfo(np.int64).max]), np.zeros(1, np.uint8)
MOST_BEFORE_SWAP = 64
"""The instructions from a load to a compare-and-swap that are looked at."""
MOST_REACHED = 100_000
"""The instructions that are followed for what there is to be covered."""
MOST_ATOMIC = 8
"""The bytes of a lane that can be atomic."""


class CheckedMemory(MemoryAccess):
    """The memory of one dispatch whose waves are checked."""

    def __init__(
        self,
        memory: GlobalMemory,
        machine: Any,
        settings: CheckSettings,
        *,
        processor: str,
        generation: int,
        **others: Any,
    ) -> None:
        self.machine = machine
        self.settings = settings
        self.generation = generation
        self.family = cached_family(processor, generation)
        is_followed = RACE in settings.checks
        self.order = KnownOrder(processor, generation, settings.mode, is_followed=is_followed)
        self.is_counted = bool(settings.checks & {RACE, WAIT})
        """Whether a check asks which accesses are complete."""
        self.races = RaceCheck(self.order, others["lanes"], self._side, self._local_starts)
        self.races.looks_in_waves = settings.has_barriers
        self.races.says_items, self.races.has_tensors = self._says_items, self._has_tensors
        self.barrier_check = BarrierCheck(self.order, self._side, self._used)
        self.wait_check = WaitCheck(self.order, self._side, self._used)
        self.bounds: BoundsCheck | None = None
        self.align: AlignCheck | None = None
        if settings.checks & {BOUNDS, ALIGN}:
            self.bounds = BoundsCheck(machine.buffers, self._side, lambda: self.order.first, self._arrays_of,
                                      settings.preloaded)  # fmt: skip
            self.provenance = ProvenanceWriter(self.bounds.start)
        if self.bounds is not None and ALIGN in settings.checks:
            apertures = others["apertures"]
            self.align = AlignCheck(
                self.bounds, self._side, lambda: self.order.first, self._alignment_of, generation, apertures
            )
        self.init_check: InitCheck | None = None
        if INIT in settings.checks:
            self.init_check = InitCheck(
                memory, settings, self._side, lambda: self.order.first, generation=generation, **others
            )
        self.nan_check: NanCheck | None = None
        if NAN in settings.checks:
            self.nan_check = NanCheck(
                memory, settings, self._side, lambda: self.order.first, generation=generation, **others
            )
        self.launched: list[tuple[int, list[str], Any, Any]] = []
        """The first of some waves, their names, work-groups, and numbers in them; also of those that have ended."""
        self._behind_waits: set[int] = set()
        self._behind_local: set[int] = set()
        """The instructions behind waits for stores to global memory, and those behind waits for local memory."""
        self._instructions: dict[int, GpuInstruction] = {}
        self._updates = UpdatesOfLoads(self.instruction, generation)
        self._sites: dict[int, int] = {}
        """The numbers of accesses that the check is told of later, by address."""
        self._changed: dict[int, tuple[Lanes, Lanes]] = {}
        """By segment, what logged accesses have changed: places with numbers of records, in order, and old bytes."""
        super().__init__(memory, **others)
        self.watch_waves = self.own_watch_waves = self._wave_access if RACE in settings.checks else None

    @property
    def findings(self) -> list[CheckFinding]:
        """What was found, errors first."""
        every = [self.races.found, self.barrier_check.found, self.wait_check.found]
        every += [self.bounds.found] if self.bounds is not None and BOUNDS in self.settings.checks else []
        every += [check.found for check in (self.align, self.init_check, self.nan_check) if check is not None]
        found = [finding for check in every for finding in check.values()]
        return sorted(found, key=lambda finding: not finding.is_error)

    def accesses(self, entry: int) -> tuple[set[int], set[int]]:
        """Return the accesses that the race check has looked at, and with them those that branches lead to."""
        covered, found, seen = self.races.covered, set[int](), set[int]()
        waiting = [entry, *covered]
        while waiting:
            pc = waiting.pop()
            while pc not in seen and len(seen) < MOST_REACHED:
                seen.add(pc)
                try:
                    instruction = self.machine.device.instruction(pc)
                except MachineFault:
                    break
                name, action = instruction.name, actions.action_of(instruction, self.generation)
                if (action.operation or name in _COUNTERS) and action.space != actions.PRIVATE:
                    found.add(pc)
                if instruction.branch is not None:
                    waiting.append(pc + instruction.branch)
                if name.startswith("s_endpgm") or name in BRANCHES | JUMPS:
                    break
                pc += instruction.size
        return covered, found | covered

    def is_like(self, settings: Any) -> bool:
        return False  # another launch is checked on its own

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Use the memory of other waves."""
        super().use(local, group_of, scratch)
        self.order.use(group_of)
        self.races.use_local(self.local)
        self.races.local_count = len(local)
        machine = self.machine
        if count := len(group_of):
            numbers = machine.places["wave_in_group"].array[:, 0].copy()
            self.launched.append((self.order.first, [*machine.ids], machine.work_group.copy(), numbers))
        self.barrier_check.use(count)
        self.wait_check.use(count if self.looks_at_waits else 0)
        if self.bounds is not None:
            self.bounds.use()
            kernarg = machine.dispatches[-1].kernarg if count else None
            if kernarg is not None and kernarg not in self.bounds.shadows:
                data = machine.launched_segment(len(machine.dispatches) - 1)
                self.bounds.set_arguments(kernarg, data or b"")
        if self.init_check is not None:
            self.init_check.use(local, group_of, scratch)
        if self.nan_check is not None:
            self.nan_check.use(local, group_of, scratch)

    def undefined_bytes(self, batch: WaveBatch, row: int, lane: int, space: str, address: int, size: int) -> bytes:
        if self.init_check is None:
            return b""
        memory = self.init_check.memory
        if space == LOCAL:
            first = int(memory.group_of[batch.waves[row]]) * memory.local_size + address
            return bytes(memory.local.data[first : first + size].tobytes())
        return memory.private_bytes(int(batch.waves[row]), lane, address, size)

    def _every_check(self) -> list[KeptState]:
        checks = self.order, self.races, self.barrier_check, self.wait_check, self.bounds, self.align
        return [check for check in (*checks, self.init_check, self.nan_check) if check is not None]

    def saved(self) -> list[dict[str, Any]]:
        return [check.saved() for check in self._every_check()]

    def restore(self, saved: list[dict[str, Any]]) -> None:
        for check, state in zip(self._every_check(), saved, strict=True):
            check.restore(state)

    def saved_size(self, saved: list[dict[str, Any]]) -> int:
        return size_of(saved)

    # --- Who ----------------------------------------------------------------------------------------------------------

    def _place(self, wave: int) -> tuple[str, GridPosition, Any]:
        first, ids, groups, numbers = next(each for each in reversed(self.launched) if each[0] <= wave)
        dispatch = self.machine.dispatches[-1]
        at = wave - first
        grid = geometry(dispatch.grid, dispatch.work_group, self.lanes)
        return ids[at], GridPosition(tuple(groups[at].tolist()), int(numbers[at]), 0), grid

    def _side(
        self, action: str, pc: int, wave: int, lanes: Lanes, lane: int | None = None, value: bytes | None = None, *,
        batch: WaveBatch | None = None,
    ) -> FindingSide:  # fmt: skip
        """Return what a wave did, with the calls it is in if it is in a batch that executes it now."""
        name, place, grid = self._place(wave)
        instruction = self.machine.device.instruction(pc)
        is_scalar = actions.action_of(instruction, self.generation).space == actions.SCALAR
        if is_scalar:  # the shadows of all accesses name a lane
            lanes, lane = lanes[:0], None
        mask = sum(1 << lane for lane in set(lanes.tolist()))
        ends = [int(lanes.min()), int(lanes.max())] if len(lanes) else []
        ends += [] if lane is None else [lane]
        items = tuple((int(x), int(y), int(z)) for x, y, z in (grid.item(place, lane) for lane in ends))
        items, item = items[:2], None if lane is None else items[2]
        callers: tuple[int, ...] | None = ()
        if batch is not None:
            callers = return_addresses(batch.each_calls()[batch.waves.tolist().index(wave - self.order.first)])
        return FindingSide(action, pc, name, place.group, mask, items, lane, item, value, callers or (), is_scalar)

    def _used(self, waves: Lanes) -> Lanes:
        _first, _ids, groups, numbers = self.launched[-1]
        dispatch = self.machine.dispatches[-1]
        grid = geometry(dispatch.grid, dispatch.work_group, self.lanes)
        lanes = grid.lanes_of(GridPosition(tuple(groups[waves].T), numbers[waves], 0))
        return np.broadcast_to(lanes, waves.shape)

    # --- Text ---------------------------------------------------------------------------------------------------------

    def write_instruction(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess
    ) -> bool:
        """Write an instruction, behind what tells the checks of it; return whether it ends the block."""
        if self.nan_check is None:
            return self._write_checked(writer, instruction, address, memory)
        self.nan_check.write(writer, instruction, address)
        ends = self._write_checked(writer, instruction, address, memory)
        self.nan_check.write_behind(writer)
        return ends

    def _write_checked(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess
    ) -> bool:
        if self.init_check is not None:
            self.init_check.write(writer, instruction, address)
        action, name = actions.action_of(instruction, self.generation), instruction.name
        kinds = tuple(map(self.order.names.index, action.counters))
        if self.is_counted:
            self._write_counts(writer, instruction, action, kinds)
        if action.invalidate:
            self._tell(writer, self.order.invalidate, action.invalidate, is_counted=bool(kinds))
        if action.write_back:
            self._tell(writer, self.order.write_back, action.write_back)
        elif name == "s_barrier" or (name.startswith("s_barrier_signal") and barrier_number(instruction) == GROUP):
            self._tell(writer, self._arrive, address, is_split=name != "s_barrier")
        elif name == "s_barrier_wait" and barrier_number(instruction) == GROUP:
            self._tell(writer, self.order.wait_at_barrier)
        elif name.startswith("s_barrier_signal"):
            if RACE in self.settings.checks:
                writer.barriers.tell(self.order)
            if BARRIER in self.settings.checks:
                self._tell(writer, self.barrier_check.reach, address)
        elif name.startswith("s_endpgm"):
            self._tell(writer, self._end, address)
        is_access = bool(action.operation) or name in _COUNTERS
        if self._may_race(instruction, action):
            self._tell(writer, self.races.begin, self._site(instruction, action, address))
        if self.bounds is not None:
            does = _DONE.get(action.operation, ATOMIC) if is_access else ""
            return self._write_in_bounds(writer, instruction, address, memory, does)
        return instructions.write_instruction(writer, instruction, address, memory)

    def _write_in_bounds(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess, does: str
    ) -> bool:
        """Write an instruction where addresses are looked at, and pointers followed if they are asked for."""
        assert self.bounds is not None  # noqa: S101 (the caller knows)
        is_followed = BOUNDS in self.settings.checks
        if is_followed:
            self.provenance.open(writer)
        if does:
            self.bounds.formatted.update([address] if FORMATTED.match(instruction.name) else ())
            texts = self._address_words(instruction) if is_followed else [NONE] * 3
            self._tell(writer, self.bounds.begin, address, does, texts=texts)
            ends = instructions.write_instruction(writer, instruction, address, memory)
            if is_followed:
                self._write_loaded(writer, instruction)
            return ends
        if is_followed:
            self.provenance.write(writer, instruction)
        return instructions.write_instruction(writer, instruction, address, memory)

    def _write_counts(
        self, writer: BlockWriter, instruction: GpuInstruction, action: actions.MemoryAction, kinds: tuple[int, ...]
    ) -> None:
        """Write what counts accesses and waits, and looks at the registers that are used."""
        address, is_looked_at = writer.address, self.looks_at_waits
        if is_looked_at:
            self.wait_check.write_use(writer, instruction, action)
        if action.waits:
            waits = self.note_waits(instruction, action, address)
            self._tell(writer, self.order.wait, waits)
            if is_looked_at:
                self.wait_check.write_wait(writer, waits)
        if kinds:
            self._tell(writer, self.order.issue, kinds, is_direct=action.is_direct)
            if is_looked_at:
                self.wait_check.write_access(writer, action, kinds)

    def _may_race(self, instruction: GpuInstruction, action: actions.MemoryAction) -> bool:
        """Return whether an instruction may access what others see, while races are looked for."""
        is_access = bool(action.operation) or instruction.name in _COUNTERS
        may_be_shared = action.space != actions.PRIVATE or action.is_by_descriptor
        return RACE in self.settings.checks and is_access and may_be_shared

    def _site(self, instruction: GpuInstruction, action: actions.MemoryAction, address: int) -> int:
        """Add an instruction that may race; return its number."""
        place, is_release = self._class(instruction, action, address), address in self._behind_local
        kind = self.order.names.index(action.counters[0])
        site = self.races.site(address, kind, *place, is_release=is_release, action=action)
        if action.space == actions.PRIVATE:
            self.races.private.add(address)
        if action.operation == actions.LOAD:
            updates = filter(partial(self._has_no_barrier, address), self._updates.of(address))
            self.races.add_updates(address, updates)
        return site

    def instruction(self, address: int) -> GpuInstruction:
        """Return an instruction that is behind another one, for many of these."""
        if address not in self._instructions:
            self._instructions[address] = self.machine.device.instruction(address)
        return self._instructions[address]

    def is_told(self, instruction: GpuInstruction, action: actions.MemoryAction) -> bool:
        """Return whether a check must be told of an instruction at once, since the order of waves depends on it."""
        is_cache_control = bool(action.invalidate or action.write_back) and RACE in self.settings.checks
        return is_cache_control or (self._may_race(instruction, action) and not self.is_logged(instruction, action))

    def is_logged(self, instruction: GpuInstruction, action: actions.MemoryAction) -> bool:
        """Return whether a check can be told of an access later."""
        return bool(action.operation) and not action.is_direct and self._may_race(instruction, action)

    def tell_of_access(self, accesses: Sequence[Any], index: int) -> None:
        """Tell the check of races of one of the logged accesses that waves have done.

        What the check knows of their order is as it was then.
        """
        access, address = accesses[index], accesses[index].address
        if not index:
            self._changed.clear()
        if address not in self._sites:
            instruction = self.instruction(address)
            self._sites[address] = self._site(instruction, actions.action_of(instruction, self.generation), address)
        self.races.begin(access, self._sites[address])
        others = self.bounds, self.align
        self.bounds = self.align = None  # they have looked at it already
        try:
            for number, (space, size, places, distance) in enumerate(access.parts):
                self.races.before = partial(self._before, accesses, index, number)
                new = partial(access.changes, number, is_new=True) if access.does == WRITE else None
                if not space:
                    self._wave_access(GLOBAL, places, size, "load")
                elif space == LOCAL and not size & 3:
                    first = (self.group_of[access.waves] * self.local_size)[:, None] + distance
                    self.races.access_places(self.local, places, first, access.mask, size, access.does, new)
                else:
                    for place in self._places_of(access, number):
                        self._told(access, place, size, access.does, new)
        finally:
            self.bounds, self.align = others
            self.races.before = bytes_of

    def _places_of(self, access: Any, number: int) -> list[Place]:
        space, size, places, distance = access.parts[number]
        return self._places(access, space, places.astype(np.int64) + distance if space == LOCAL else places, size)

    def _before(self, accesses: Sequence[Any], now: int, part: int, segment: MemorySegment, at: Lanes) -> Lanes:
        """Return bytes as they were before a part of one of some accesses, of which all waves have done earlier parts.

        Compiled code does all parts of a wave before those of the next one.
        """
        if segment.start not in self._changed:
            changed = [
                (each << _RECORD_BITS | number * access.count + waves, old)
                for number, access in enumerate(accesses)
                for each, waves, old in self._changes(access, range(len(access.parts)), segment, is_new=False)
            ]
            keys, old = (np.concatenate(each) for each in zip(*changed, _NO_CHANGE, strict=True))
            order = np.argsort(keys, kind="stable")
            self._changed[segment.start] = keys[order], old[order]
        keys, old = self._changed[segment.start]
        index = np.searchsorted(keys, at << _RECORD_BITS | now * accesses[now].count)
        found = np.where(keys[index] >> _RECORD_BITS == at, old[index], segment.data[at])
        for places, _waves, new in self._changes(accesses[now], range(part), segment, is_new=True):
            order = np.argsort(places, kind="stable")
            index = np.searchsorted(places[order], at, side="right") - 1
            is_same = places[order[index]] == at
            found[is_same] = new[order[index]][is_same]
        return found

    def _changes(
        self, access: Any, parts: Iterable[int], segment: MemorySegment, *, is_new: bool
    ) -> Iterator[tuple[Lanes, Lanes, Lanes]]:
        """Yield where parts of an access change bytes of a segment, lane after lane, with the waves and the bytes."""
        for number in parts if access.does != READ else ():
            for other, mask, offsets in self._places_of(access, number):
                if other is segment:
                    waves, lanes = np.nonzero(np.ones_like(offsets, bool) if mask is None else mask)
                    changed = access.changes(number, is_new=is_new)[waves, lanes]
                    places = offsets[waves, lanes].astype(np.int64)[:, None] + np.arange(changed.shape[1])
                    yield places.reshape(-1), np.repeat(waves, changed.shape[1]), changed.reshape(-1)

    @property
    def looks_at_waits(self) -> bool:
        return WAIT in self.settings.checks

    @property
    def looks_for_races(self) -> bool:
        return RACE in self.settings.checks

    def note_waits(
        self, instruction: GpuInstruction, action: actions.MemoryAction, address: int
    ) -> tuple[tuple[int, int], ...]:
        """Note which instruction is behind a wait; return what it waits for, by the numbers of counters."""
        waits = tuple((self.order.names.index(counter), left) for counter, left in action.waits)
        store = self.order.names.index(actions.counters_of(self.generation).store)
        for counter, addresses in ((store, self._behind_waits), (self.order.local, self._behind_local)):
            if address in addresses or (counter, 0) in waits:
                addresses.add(address + instruction.size)
        return waits

    @staticmethod
    def _address_words(instruction: GpuInstruction) -> list[str]:
        """Return the texts of the provenance of an address and what is added to it, and of what is written there."""
        base, offset = base_and_offset(instruction)
        parts = [NONE, NONE] if base is None else words_of(base, 2)
        parts += [NONE] if offset is None else words_of(offset)
        words = [text for each in stored_operands(instruction) for text in words_of(each, each.count)]
        if any(text != NONE for text in words):
            parts.append(f"({', '.join(words)},)")
        return parts

    def _write_loaded(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """Write the provenance of what an access has loaded."""
        assert self.bounds is not None  # noqa: S101 (the caller knows)
        for operand in loaded_operands(instruction):
            words = words_of(operand, operand.count)
            if loads_pointers(instruction) and words[0] != NONE:
                file, _, first = words[0].rstrip("]").partition("[")
                mask = "None" if file == "qs" else "m"
                found = f"{writer.name(self.bounds)}.loaded"
                test = " or ".join(f"{each} is not None" for each in [found, *words])
                call = f"{writer.name(self.bounds.keep)}({file}, {first}, {len(words)}, {mask})"
                writer.write(f"if {test}: {call}")
                continue
            for place in words:
                self.provenance.set(writer, place, NONE)

    @staticmethod
    def _tell(
        writer: BlockWriter, function: Callable[..., Any], *others: Any, texts: Sequence[str] = (), **options: Any
    ) -> None:
        words = ["b", *map(writer.name, others), *texts, *(f"{name}={value}" for name, value in options.items())]
        writer.write(f"{writer.name(function)}({', '.join(words)})")

    def _class(self, instruction: GpuInstruction, action: actions.MemoryAction, address: int) -> tuple[int, int]:
        """Return what an access is for races, and how far it reaches; of a load at address 0 only what it says."""
        reach = AGENT if action.space == actions.SCALAR else reach_of_access(
            self.family, action.operation, instruction.modifiers
        )  # fmt: skip
        if action.operation.startswith("rmw") or instruction.name in _COUNTERS:
            return RMW, reach if self.family.startswith("GFX12") else AGENT
        if action.operation == actions.LOAD and address and self._begins_swap(instruction, address):
            return SWAP_LOAD, reach
        if action.space == actions.SCALAR or instruction.encoding == "DS":
            return PLAIN, reach
        if self.family == "GFX11" and "dlc" in action.bits:  # volatile; atomic loads of this family have glc alone
            return PLAIN, reach
        shape = shape_of(instruction.name)
        if shape is None or shape.size * shape.count > MOST_ATOMIC:
            return PLAIN, reach
        has_scopes = self.family == "GFX942" or self.family.startswith("GFX12")
        if action.operation == actions.LOAD:
            return SYNC_LOAD if reach >= WORK_GROUP else PLAIN, reach
        if has_scopes:
            return SYNC_STORE if reach >= WORK_GROUP else PLAIN, reach
        return SYNC_STORE if address in self._behind_waits else SMALL_STORE, AGENT  # nothing in it says how far

    def _says_items(self, pc: int) -> bool:
        return self.machine.source is not None and self.machine.source.says_items(pc)

    def _has_tensors(self, pc: int) -> bool:
        return self.machine.source is not None and self.machine.source.has_tensors(pc)

    def _has_no_barrier(self, load: int, update: Update) -> bool:
        """Return whether no barrier can have been between a load and a store, as in ``x++``, which is one place."""
        source = self.machine.source
        return self.settings.has_barriers or (source is not None and source.is_one_place(load, update.store))

    def _begins_swap(self, load: GpuInstruction, address: int) -> bool:
        """Return whether clang has made a load and a loop that compares and swaps of one atomic operation.

        The line table has both at the same place, and no load of that size between them.
        """
        source, size = self.machine.source, sum(each.bits for each in load.destinations) // 8
        at = address + load.size
        for _number in range(MOST_BEFORE_SWAP if source is not None else 0):
            try:
                instruction = self.instruction(at)
            except MachineFault:
                break
            shape = shape_of(instruction.name)
            if shape is not None and shape.action in ("cmpswap", "cmpst") and shape.size == size:
                return bool(source.is_one_place(address, at))
            if actions.action_of(instruction, self.generation).operation == actions.LOAD:
                is_like = sum(each.bits for each in instruction.destinations) // 8 == size
                if is_like and instruction.encoding == load.encoding and source.is_one_place(address, at):
                    break
            at += instruction.size
        return False

    # --- What waves do ------------------------------------------------------------------------------------------------

    def _arrive(self, batch: WaveBatch, pc: int, *, is_split: bool) -> None:
        if BARRIER in self.settings.checks:
            self.barrier_check.arrive(batch, pc)
        if not is_split:
            self.order.is_waiting[batch.waves] = True
        self._meet(self.order.signal(batch))

    def _end(self, batch: WaveBatch, pc: int) -> None:
        self.barrier_check.end(batch, pc)
        self._meet(self.order.end(batch))

    def _meet(self, groups: Any) -> None:
        if len(groups):
            if BARRIER in self.settings.checks:
                self.barrier_check.meet(groups)
            self.order.reset(groups)

    def arrive(self, batch: WaveBatch, address: Lanes, count: Any) -> Lanes:
        if RACE in self.settings.checks:
            raise UnknownInstruction("races are not looked for between waves that meet at a barrier in local memory")
        return super().arrive(batch, address, count)

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def _local_index(self, *place: Any) -> Any:
        """Return where dwords of local memory are, if no check looks at each lane."""
        if self.bounds is not None and (self.bounds.local is not None or self.bounds.stores_pointers):
            return None
        if self._may_leave_array(*place):
            return None
        if self.align is not None:
            _batch, address, offsets, count = place
            bits = int(np.bitwise_or.reduce(address, axis=None)) | sum(offsets)
            if bits & (multiple(4 * count) - 1):
                return None
        return super()._local_index(*place)

    def load_local(self, batch: WaveBatch, address: Lanes, offsets: tuple[int, ...], count: int) -> list[Lanes]:
        if RACE in self.settings.checks:
            places = self._local_index(batch, address, offsets, count)
            for offset in offsets if places is not None else ():
                self.races.access_places(self.local, places.index << 2, offset, batch.mask, 4 * count)
        return super().load_local(batch, address, offsets, count)

    def store_local(self, batch: WaveBatch, address: Lanes, offset: int, values: list[Lanes]) -> None:
        if RACE in self.settings.checks and batch.mask is None:
            places = self._local_index(batch, address, (offset,), len(values))
            if places is not None:
                new = partial(self._bytes, batch, values)
                self.races.access_places(self.local, places.index << 2, offset, None, 4 * len(values), WRITE, new)
        super().store_local(batch, address, offset, values)

    def _told(self, batch: WaveBatch, place: Place, size: int, action: str,
              new: Callable[[], Lanes] | None = None) -> None:  # fmt: skip
        segment, mask, offsets = place
        if RACE not in self.settings.checks or segment is self.scratch:
            return
        if segment is self.local:
            self.races.number_as_local(batch)
        elif segment.start in (self.scratch_base, self.machine.host and self.machine.host.buffer):
            return
        self.races.access(segment, offsets, mask, size, action, new)

    def _read(self, batch: WaveBatch, space: str, place: Place, size: int, count: int) -> list[Lanes]:
        self._told(batch, place, size * count, READ)
        if self.bounds is not None:
            self._look(batch, space, place, size * count)
            segment, mask, offsets = place
            shadow = self._shadow(segment)
            if shadow is not None and size == 4:
                step = self.lanes if self._is_interleaved(space, segment) else 1
                self.bounds.read(shadow.at(offsets, mask, count, step), None if mask is batch.mask else mask)
        return super()._read(batch, space, place, size, count)

    def _write(self, batch: WaveBatch, space: str, place: Place, size: int, values: list[Lanes]) -> None:
        if RACE in self.settings.checks:
            self._told(batch, place, size * len(values), WRITE, partial(self._bytes, batch, values))
        if self.bounds is not None:
            self._look(batch, space, place, size * len(values), values)
            segment, mask, offsets = place
            shadow = self._shadow(segment, is_new=self.bounds.stores_pointers and size == 4)
            if shadow is not None:
                step = self.lanes if self._is_interleaved(space, segment) else 1
                count = len(values) if size == 4 else 1
                shadow.put(offsets, mask, self.bounds.written(count) if size == 4 else (None,), step)
                if shadow is self.bounds.private and self.bounds.stores_pointers:
                    first = (offsets if mask is None else offsets[mask]) % self.scratch_size // (4 * self.lanes)
                    for number in range(count):
                        self.bounds.pointers[first + number] = True
        super()._write(batch, space, place, size, values)

    @staticmethod
    def _bytes(batch: WaveBatch, values: list[Lanes]) -> Lanes:
        shape = batch.count, batch.lanes
        columns = [np.broadcast_to(value, shape) for value in values]
        return np.ascontiguousarray(np.stack(columns, axis=-1)).view(np.uint8)

    def _change(
        self, batch: WaveBatch, segment: MemorySegment, lanes: Lanes, offsets: Lanes, shape: AccessShape, *data: Lanes
    ) -> Lanes:
        places = np.zeros(lanes.shape, np.int64)
        places[lanes] = offsets
        self._told(batch, (segment, lanes, places), shape.size, ATOMIC)
        if self.bounds is not None:
            self._look(batch, GLOBAL, (segment, lanes, places), shape.size)
            if (shadow := self._shadow(segment)) is not None:
                shadow.put(places, lanes, (None,) * (shape.size // 4), 1)
        return super()._change(batch, segment, lanes, offsets, shape, *data)

    # --- Bounds -------------------------------------------------------------------------------------------------------

    def _look(self, batch: WaveBatch, space: str, place: Place, size: int, values: Any = None) -> None:
        """Look whether an access is in the memory that its pointer came from."""
        assert self.bounds is not None  # noqa: S101 (the caller knows)
        segment, mask, offsets = place
        if self.bounds.now is None or space == SCRATCH or segment is self.local or self._is_private(segment):
            return

        def value(row: int, lane: int) -> bytes:
            if values is None:
                return word(segment.data, int(offsets[row, lane]), size)
            return bytes(self._bytes(batch, values)[row, lane].reshape(-1)[:8])

        self.bounds.access(batch, segment, mask, offsets, size, value)

    def _is_private(self, segment: MemorySegment) -> bool:
        return segment is self.scratch or (segment.start == self.scratch_base and self.scratch_size > 0)

    def _shadow(self, segment: MemorySegment, *, is_new: bool = False) -> PointerShadow | None:
        """Return what is known of the pointers in a segment, if there are any."""
        bounds = self.bounds
        assert bounds is not None  # noqa: S101 (the caller knows)
        if segment is self.local:
            if bounds.local is None and is_new:
                bounds.local = PointerShadow(len(segment.data))
            return bounds.local
        if self._is_private(segment):
            if bounds.private is None and is_new:
                bounds.private = PointerShadow(len(segment.data))
                bounds.pointers = np.zeros(-(-self.scratch_size // (4 * self.lanes)), bool)
            return bounds.private
        if is_new and segment.start not in bounds.shadows:
            bounds.shadows[segment.start] = PointerShadow(len(segment.data))
        return bounds.shadows.get(segment.start)

    def _places(self, batch: WaveBatch, space: str, address: Lanes, size: int) -> list[Place]:
        if self.align is not None:
            self.align.access(batch, space, address, size)
        if space == BUFFER and self.bounds is not None and self.scratch_size:
            self._look_at_stack(batch, address, size)
        try:
            return super()._places(batch, space, address, size)
        except MachineFault as fault:
            self._note_fault(batch, fault, size)
            raise

    def _look_at_stack(self, batch: WaveBatch, address: Lanes, size: int) -> None:
        """Look at an access of a stack that is a buffer: where dwords of lanes take turns."""
        assert self.bounds is not None  # noqa: S101 (the caller knows)
        first = np.uint64(self.scratch_base) + batch.waves.astype(np.uint64) * np.uint64(self.scratch_size)
        place = np.broadcast_to(address - first[:, None], (batch.count, batch.lanes)).view(np.int64)
        inside = (place >= 0) & (place < self.scratch_size)
        inside = inside if batch.mask is None else inside & batch.mask
        if inside.any() and BOUNDS in self.settings.checks:
            private = (place // (4 * self.lanes) << 2) + (place & 3)
            self.bounds.array(batch, "private", private, inside, size)

    def _alignment_of(self, pc: int) -> tuple[int, str] | None:
        source = self.machine.source
        return None if source is None else source.alignment(pc)

    def _arrays_of(self, *access: Any) -> tuple[NamedArray, ...]:
        source = self.machine.source
        return () if source is None else source.arrays(*access)

    def _local_starts(self) -> Sequence[int]:
        source = self.machine.source
        return () if source is None else source.local_starts

    def _scratch_places(self, batch: WaveBatch, address: Lanes, mask: Lanes, size: int) -> list[Place]:
        if self.bounds is not None and BOUNDS in self.settings.checks:
            self.bounds.array(batch, "private", address, mask, size)
        return super()._scratch_places(batch, address, mask, size)

    def _local_places(self, batch: WaveBatch, address: Lanes, mask: Lanes, size: int) -> list[Place]:
        if self.bounds is not None and BOUNDS in self.settings.checks:
            signed = (address.astype(np.int64) ^ _SIGN) - _SIGN
            self.bounds.array(batch, "local", signed, mask, size)
        return super()._local_places(batch, address, mask, size)

    def _may_leave_array(self, batch: WaveBatch, address: Lanes, offsets: tuple[int, ...], count: int) -> bool:
        """Return whether dwords of local memory may be outside of the arrays that their line names."""
        bounds = self.bounds
        if bounds is None or BOUNDS not in self.settings.checks:
            return False
        arrays = bounds.arrays_of("local", bounds.pc, batch, 0)
        low, high = int(address.min()) + min(offsets), int(address.max()) + max(offsets) + 4 * count
        return bool(arrays) and not any(each.start <= low and high <= each.start + each.size for each in arrays)

    def buffer_address(self, batch: WaveBatch, words: Any, *place: Any) -> Lanes:
        try:
            return super().buffer_address(batch, words, *place)
        except MachineFault as fault:
            self._note_fault(batch, fault, place[-1])
            raise

    def _refuse(self, batch: WaveBatch, fault: MachineFault, size: int) -> None:
        super()._refuse(batch, fault, size)
        self._note_fault(batch, fault, size)

    def _note_fault(self, batch: WaveBatch, fault: MachineFault, size: int) -> None:
        if self.bounds is not None and not self.is_tried:
            self.bounds.fault(batch, fault, size)

    def load(self, batch: WaveBatch, space: str, address: Lanes, size: int, count: int) -> list[Lanes]:
        if self.bounds is None:
            return super().load(batch, space, address, size, count)
        before, self.bounds.loaded = self.bounds.loaded, None
        found = super().load(batch, space, address, size, count)
        self.bounds.follow(before, count)
        return found

    def store(self, batch: WaveBatch, space: str, address: Lanes, size: int, values: list[Lanes]) -> None:
        super().store(batch, space, address, size, values)
        if self.nan_check is not None and space not in (GLOBAL, LOCAL):
            self.nan_check.changed.clear()  # private memory may be among what was written
        if self.bounds is not None and self.bounds.stored:
            self.bounds.stored = self.bounds.stored[len(values) :]

    def load_private(self, batch: WaveBatch, address: Any, size: int, count: int) -> list[Lanes] | None:
        if self._is_misaligned(address, size * count):
            return None
        found = super().load_private(batch, address, size, count)
        bounds = self.bounds
        if found is not None and bounds is not None and size == 4 and bounds.private is not None:
            words = slice(address >> 2, (address >> 2) + count)
            if bounds.pointers[words].any():
                rows = self._private_pointers()[batch.index, words]
                bounds.loaded = [simple(rows[:, number]) for number in range(count)]
        return found

    def store_private(self, batch: WaveBatch, address: Any, size: int, values: list[Lanes]) -> bool:
        if self._is_misaligned(address, size * len(values)) or not super().store_private(batch, address, size, values):
            return False
        if self.nan_check is not None:
            self.nan_check.note_change(batch, address, size * len(values))
        bounds = self.bounds
        if bounds is not None and (bounds.stores_pointers or bounds.private is not None):
            self._shadow(self.scratch, is_new=True)
            count = len(values) if size == 4 else 1
            columns = bounds.written(count) if size == 4 else (None,)
            for at, column in enumerate(columns, address >> 2):
                bounds.pointers[at] |= column is not None
                if bounds.pointers[at]:
                    row = self._private_pointers()
                    mask, new = batch.mask, known(column)
                    row[batch.index, at] = new if mask is None else np.where(mask, new, row[batch.index, at])
        return True

    def _is_misaligned(self, address: Any, size: int) -> bool:
        """Return whether an access of private memory is to be looked at by lanes."""
        return self.align is not None and isinstance(address, int) and bool(address & (multiple(size) - 1))

    def private_provenance(self) -> PointerShadow:
        """Return the provenance of private memory."""
        found = self._shadow(self.scratch, is_new=True)
        assert found is not None  # noqa: S101 (it is new)
        return found

    def _private_pointers(self) -> Lanes:
        """Return the pointers in private memory, ``[wave, dword, lane]``."""
        assert self.bounds is not None and self.bounds.private is not None  # noqa: S101, PT018 (the caller knows)
        words = self.scratch_size >> 2
        count = len(self.scratch.data) // self.scratch_size
        rows = self.bounds.private.words[: count * words].reshape(count, words)
        return rows[:, : words // self.lanes * self.lanes].reshape(count, -1, self.lanes)

    def load_scalar(self, address: Any, size: int, count: int, is_signed: bool) -> list[Any]:  # noqa: FBT001 (of a text)
        bounds = self.bounds
        if bounds is None:
            return super().load_scalar(address, size, count, is_signed)
        try:
            found = super().load_scalar(address, size, count, is_signed)
        except MachineFault as fault:
            self._note_fault(bounds.batch, fault, size * count)
            raise
        batch, addresses = bounds.batch, np.asarray(address, np.uint64).reshape(-1, 1)
        if self.align is not None and size == 4:
            self.align.scalar(batch, addresses, size * count)
        if isinstance(address, int):
            segment = self.memory.latest
            if segment is not None and not bounds.holds(segment):
                self._look_scalar(batch, segment, None, addresses, size, count)
            return found
        for segment, mask, _offsets in self.memory.places(addresses, None, size * count):
            self._look_scalar(batch, segment, mask, addresses, size, count)
        return found

    def _look_scalar(
        self, batch: WaveBatch, segment: MemorySegment, mask: Lanes, addresses: Lanes, size: int, count: int
    ) -> None:
        assert self.bounds is not None  # noqa: S101 (the caller knows)
        offsets = addresses.view(np.int64) - segment.start
        if (shadow := self._shadow(segment)) is not None and size == 4:
            self.bounds.read(shadow.at(offsets & ~3, mask, count, 1), mask)
        if self.bounds.now is not None and not self._is_private(segment):
            shape = batch.count, batch.lanes
            flags = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
            flags = flags if batch.mask is None else flags & batch.mask
            self._look(batch, GLOBAL, (segment, flags, np.broadcast_to(offsets, shape)), size * count)

    def _wave_access(self, space: str, address: Any, size: int, done: str) -> None:
        """Look at an access of whole waves."""
        count = len(self.races.waves)
        addresses = np.broadcast_to(np.asarray(address, np.uint64).reshape(-1), (count,)).astype(np.int64)
        if space != GLOBAL:
            rows = self.group_of[self.races.waves - self.order.first] * self.local_size
            self.races.access(self.local, (addresses + rows)[:, None], None, size, _DONE[done])
            return
        addresses &= ~3
        first = int(addresses[0])
        segment = self.memory.segment_of(first, first + size - 1)
        inside = addresses >= 0 if segment is None else (addresses >= segment.start) & (addresses < segment.end)
        if segment is not None and segment.start != self.scratch_base:
            places = np.where(inside, addresses - segment.start, 0)[:, None]
            self.races.access(segment, places, inside[:, None], size, _DONE[done])
