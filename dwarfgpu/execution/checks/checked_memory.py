"""The memory of waves that are checked: checks are told of accesses, waits, invalidates, barriers and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import instructions
from dwarfgpu.execution.access_shapes import GLOBAL, AccessShape, shape_of
from dwarfgpu.execution.caches import AGENT, WORK_GROUP, cached_family, invalidated_kinds, reach_of_access
from dwarfgpu.execution.checks.barrier_check import BarrierCheck
from dwarfgpu.execution.checks.findings import ATOMIC, BARRIER, RACE, READ, WAIT, WRITE, CheckFinding, FindingSide
from dwarfgpu.execution.checks.order import KnownOrder
from dwarfgpu.execution.checks.races import PLAIN, RMW, SMALL_STORE, SYNC_LOAD, SYNC_STORE, RaceCheck
from dwarfgpu.execution.checks.wait_check import WaitCheck
from dwarfgpu.execution.memory_access import MemoryAccess, Place
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.targets.amdgpu.geometry import GridPosition, geometry

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.block_writer import BlockWriter
    from dwarfgpu.execution.checks.findings import CheckSettings
    from dwarfgpu.execution.device_memory import GlobalMemory, MemorySegment
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.machines.machine import Machine

Lanes = Any
_DONE = {"load": READ, "store": WRITE, "atomic": ATOMIC}
_COUNTERS = ("ds_append", "ds_consume")
MOST_ATOMIC = 8
"""The bytes of a lane that can be atomic."""


class CheckedMemory(MemoryAccess):
    """The memory of one dispatch whose waves are checked."""

    def __init__(
        self,
        memory: GlobalMemory,
        machine: Machine,
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
        self.order = KnownOrder(generation, shares_cache=settings.shares_cache)
        self.races = RaceCheck(self.order, others["lanes"], self._side)
        self.barrier_check = BarrierCheck(self.order, self._side, self._used)
        self.wait_check = WaitCheck(self.order, self._side, self._used)
        self.launched: list[tuple[int, list[str], Any, Any]] = []
        """The first of some waves, their names, work-groups, and numbers in them; also of those that have ended."""
        self._behind_waits: set[int] = set()
        self._behind_local: set[int] = set()
        """Instructions directly behind waits for stores to global memory, and for local memory."""
        super().__init__(memory, **others)
        self.watch_waves = self._wave_access

    @property
    def findings(self) -> list[CheckFinding]:
        """What was found, errors first."""
        every = self.races, self.barrier_check, self.wait_check
        found = [finding for check in every for finding in check.found.values()]
        return sorted(found, key=lambda finding: not finding.is_error)

    def is_like(self, settings: Any) -> bool:
        return False  # another launch is checked on its own

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Use the memory of other waves."""
        super().use(local, group_of, scratch)
        self.order.use(group_of)
        self.races.use_local(self.local)
        self.races.local_count = len(local)
        if count := len(group_of):
            machine = self.machine
            numbers = machine.places["wave_in_group"].array[:, 0].copy()
            self.launched.append((self.order.first, [*machine.ids], machine.work_group.copy(), numbers))
        self.barrier_check.use(count)
        self.wait_check.use(count)

    # --- Who ----------------------------------------------------------------------------------------------------------

    def _place(self, wave: int) -> tuple[str, GridPosition, Any]:
        first, ids, groups, numbers = next(each for each in reversed(self.launched) if each[0] <= wave)
        dispatch = self.machine.dispatches[-1]
        at = wave - first
        grid = geometry(dispatch.grid, dispatch.work_group, self.lanes)  # type: ignore[arg-type]
        return ids[at], GridPosition(tuple(groups[at].tolist()), int(numbers[at]), 0), grid

    def _side(
        self, action: str, pc: int, wave: int, lanes: Lanes, lane: int | None = None, value: bytes | None = None
    ) -> FindingSide:
        name, place, grid = self._place(wave)
        mask = sum(1 << lane for lane in set(lanes.tolist()))
        ends = [int(lanes.min()), int(lanes.max())] if len(lanes) else []
        items = tuple((int(x), int(y), int(z)) for x, y, z in (grid.item(place, lane) for lane in ends))
        return FindingSide(action, pc, name, place.group, mask, items, lane, value)

    def _used(self, waves: Lanes) -> Lanes:
        _first, _ids, groups, numbers = self.launched[-1]
        dispatch = self.machine.dispatches[-1]
        grid = geometry(dispatch.grid, dispatch.work_group, self.lanes)  # type: ignore[arg-type]
        lanes = grid.lanes_of(GridPosition(tuple(groups[waves].T), numbers[waves], 0))
        return np.broadcast_to(lanes, waves.shape)

    # --- Text ---------------------------------------------------------------------------------------------------------

    def write_instruction(
        self, writer: BlockWriter, instruction: GpuInstruction, address: int, memory: MemoryAccess
    ) -> bool:
        """Write an instruction, behind what tells the checks of it; return whether it ends the block."""
        action, name = actions.action_of(instruction, self.generation), instruction.name
        kinds = tuple(map(self.order.names.index, action.counters))
        behind = address + instruction.size
        is_waiting = WAIT in self.settings.checks
        if is_waiting and (registers := self.wait_check.unseen(writer, instruction, action)):
            self._tell(writer, self.wait_check.look, address, registers)
        if action.waits:
            waits = tuple((self.order.names.index(counter), left) for counter, left in action.waits)
            self._tell(writer, self.order.wait, waits)
            store = self.order.names.index(actions.counters_of(self.generation).store)
            for counter, addresses in ((store, self._behind_waits), (self.order.local, self._behind_local)):
                if address in addresses or (counter, 0) in waits:
                    addresses.add(behind)
        elif action.invalidate and 0 in invalidated_kinds(self.family, name, instruction.modifiers):
            self._tell(writer, self.order.invalidate)
        elif name == "s_barrier" or name.startswith("s_barrier_signal"):
            self._tell(writer, self._arrive, address, is_split=name != "s_barrier")
        elif name == "s_barrier_wait":
            self._tell(writer, self.order.wait_at_barrier)
        elif name.startswith("s_endpgm"):
            self._tell(writer, self._end, address)
        if kinds:
            self._tell(writer, self.order.issue, kinds)
            if is_waiting and action.written:
                self._tell(writer, self.wait_check.load, self.wait_check.site(address, action, kinds))
        if RACE in self.settings.checks and (
            name in _COUNTERS or (action.operation and action.space != actions.PRIVATE)
        ):
            release = address in self._behind_local
            site = self.races.site(address, kinds[0], *self._class(instruction, action, address), is_release=release)
            self._tell(writer, self.races.begin, site)
        return instructions.write_instruction(writer, instruction, address, memory)

    @staticmethod
    def _tell(writer: BlockWriter, function: Callable[..., Any], *others: Any, **options: Any) -> None:
        words = ["b", *(writer.name(each) for each in others), *(f"{name}={value}" for name, value in options.items())]
        writer.write(f"{writer.name(function)}({', '.join(words)})")

    def _class(self, instruction: GpuInstruction, action: actions.MemoryAction, address: int) -> tuple[int, int]:
        """Return what an access is for races, and how far it reaches."""
        reach = AGENT if action.space == actions.SCALAR else reach_of_access(
            self.family, action.operation, instruction.modifiers
        )  # fmt: skip
        if action.operation.startswith("rmw") or instruction.name in _COUNTERS:
            return RMW, reach if self.family == "GFX12" else AGENT
        if action.space == actions.SCALAR or instruction.encoding == "DS":
            return PLAIN, reach
        if self.family == "GFX11" and "dlc" in action.bits:  # volatile; atomic loads of this family have glc alone
            return PLAIN, reach
        shape = shape_of(instruction.name)
        if shape is None or shape.size * shape.count > MOST_ATOMIC:
            return PLAIN, reach
        has_scopes = self.family in ("GFX942", "GFX12")
        if action.operation == actions.LOAD:
            return SYNC_LOAD if reach >= WORK_GROUP else PLAIN, reach
        if has_scopes:
            return SYNC_STORE if reach >= WORK_GROUP else PLAIN, reach
        return SYNC_STORE if address in self._behind_waits else SMALL_STORE, reach

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

    # --- Accesses -----------------------------------------------------------------------------------------------------

    def row(self, *_place: Any) -> Lanes:
        """Return that it is not known: each lane is looked at."""

    def load_near(self, *_place: Any) -> Any:
        """Return the same."""

    def _local_index(self, *_place: Any) -> Any:
        """Return the same."""

    def _told(self, batch: WaveBatch, place: Place, size: int, action: str, new: Lanes = None) -> None:
        segment, mask, offsets = place
        if RACE not in self.settings.checks or segment is self.scratch or segment.start == self.scratch_base:
            return
        if segment is self.local and len(self.order.names) and self.is_flat(batch):
            self.races.number_as_local(batch)
        self.races.access(segment, offsets, mask, size, action, new)

    def is_flat(self, _batch: WaveBatch) -> bool:
        """Return whether the instruction counts in another counter than that of local memory."""
        return int(self.races.kinds[self.races.now]) != self.order.local

    def _read(self, batch: WaveBatch, space: str, place: Place, size: int, count: int) -> list[Lanes]:
        self._told(batch, place, size * count, READ)
        return super()._read(batch, space, place, size, count)

    def _write(self, batch: WaveBatch, space: str, place: Place, size: int, values: list[Lanes]) -> None:
        shape = batch.count, batch.lanes
        columns = [np.broadcast_to(value, shape) for value in values]
        new = np.ascontiguousarray(np.stack(columns, axis=-1)).view(np.uint8)
        self._told(batch, place, size * len(values), WRITE, new)
        super()._write(batch, space, place, size, values)

    def _change(
        self, batch: WaveBatch, segment: MemorySegment, lanes: Lanes, offsets: Lanes, shape: AccessShape, *data: Lanes
    ) -> Lanes:
        places = np.zeros(lanes.shape, np.int64)
        places[lanes] = offsets
        self._told(batch, (segment, lanes, places), shape.size, ATOMIC)
        return super()._change(batch, segment, lanes, offsets, shape, *data)

    def _wave_access(self, space: str, address: Any, size: int, done: str) -> None:
        """Look at an access of whole waves."""
        if RACE not in self.settings.checks:
            return
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
