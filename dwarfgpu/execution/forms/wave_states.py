"""The states of the waves of a launch, as forms have them, and batches of such waves, as Python sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import (
    EXEC,
    NOTHING,
    NOWHERE,
    SCALARS,
    UNSET,
    VCC,
    VCC_HI,
    WaveBatch,
    joined_numbers,
    lane_flags,
    number_of,
    shared_calls,
)
from dwarfgpu.execution.forms.layout import SCC, VECTORS, Place
from dwarfgpu.execution.forms.memory_table import MemoryTable, address_of

if TYPE_CHECKING:
    from dwarfgpu.execution.memory_access import MemoryAccess

_PAD = 192
"""Bytes behind each state, so that states are not a power of two apart and share the places of the cache."""
LOW = 0xFFFF_FFFF


class WaveStates:
    """The states of all waves of a machine, for one launch after the other."""

    def __init__(self, count: int, lanes: int, counts: tuple[int, int], before: WaveStates | None = None) -> None:
        """Have room for waves and registers: that of states that nobody needs any more, if it is enough."""
        self.count, self.lanes, self.counts = count, lanes, counts
        self._memory: tuple[Any, ...] = ()
        size = VECTORS + 4 * lanes * sum(counts) + _PAD
        room = count * size + 64
        self.room: Any = np.empty(room, np.uint8) if before is None or before.room.size < room else before.room
        skipped = -address_of(self.room) % 64
        rows = self.room[skipped : skipped + count * size].reshape(count, size)
        self._words = rows.view(np.uint32)
        self._known = rows[:, Place.KNOWN : Place.KNOWN_VECTORS + sum(counts)]
        self._longs = rows.view(np.int64)
        self._known_eight = self._longs[:, Place.KNOWN // 8 : (Place.KNOWN_VECTORS + sum(counts) + 7) // 8]
        """The bytes of `_known`, eight at a time."""
        self.addresses = address_of(rows) + np.arange(count, dtype=np.int64) * size

    def are_of(self, memory: MemoryAccess) -> bool:
        """Return whether the waves of these states have some memory."""
        return bool(self._memory) and self._memory[0] is memory.local and self._memory[1] is memory.scratch

    def begin(self, memory: MemoryAccess, table: MemoryTable) -> None:
        """Let waves with other memory enter."""
        lanes, count = self.lanes, len(memory.group_of)
        numbers = np.arange(count, dtype=np.int64)
        self._memory = memory.local, memory.scratch
        self._places = [
            (place // 8, np.full(count, value, np.int64))
            for place, value in (
                (Place.LOCAL, address_of(memory.local.data) + memory.group_of * memory.local_size),
                (Place.LOCAL_SIZE, memory.local_size),
                (Place.PRIVATE, address_of(memory.scratch.data) + numbers * memory.scratch_size),
                (Place.PRIVATE_SIZE, memory.scratch_size // lanes),
                (Place.FIRST, numbers * memory.scratch_size),
                (Place.TABLE, table.address),
                (Place.PRIVATE_BASE, memory.private_aperture | numbers << 32),
            )
        ]

    def tell(self, places: Iterable[tuple[Place, Any]]) -> None:
        """Let all waves know more numbers."""
        more = [(place // 8, values) for place, values in places]
        known = {place for place, _values in more}
        self._places = [each for each in self._places if each[0] not in known] + more
        for place, values in more:
            self._longs[: len(values), place] = values

    def hide_local(self) -> None:
        """Let forms refuse all local memory."""
        place = Place.LOCAL_SIZE // 8
        self._places = [(each, np.zeros_like(values) if each == place else values) for each, values in self._places]
        self._longs[:, place] = 0

    def enter(self, batch: WaveBatch) -> FormBatch:
        """Take over the registers of a batch; return its waves."""
        rows = batch.index
        self._words[rows] = 0
        for place, values in self._places:
            self._longs[rows, place] = values[rows]
        entered = FormBatch(self, batch)
        for number, value in enumerate(batch.scalar):
            if value is not UNSET:
                entered.scalar[number] = value
        for registers, columns in ((batch.vector, entered.vector), (batch.accumulation, entered.accumulation)):
            for number, column in enumerate(registers):
                if column is not NOTHING:
                    columns[number] = column
        entered.exec, entered.scc = batch.exec, batch.scc
        entered.settle()
        return entered

    def join_known(self, rows: Any) -> None:
        """Let waves that meet know the registers that any of them has written."""
        known = self._known_eight[rows]
        if (known != known[0]).any():
            self._known_eight[rows] = np.bitwise_or.reduce(known)

    # --- Registers of some waves ----------------------------------------------------------------------------------

    def word(self, rows: Any, number: int) -> Any:
        """Return a scalar register: an integer if all waves have the same, else a column."""
        return number_of(self._words[rows, number][:, None])

    def scalars(self, rows: Any, _number: int) -> dict[int, Any]:
        """Return all scalar registers as a batch has them."""
        words, written = self._words[rows, :SCALARS], self._known[rows, :SCALARS]
        known: list[bool] = np.any(written, axis=0).tolist()
        same: list[bool] = np.all(words == words[0], axis=0).tolist()
        found = dict(enumerate(words[0].tolist()))
        for number, is_known in enumerate(known):
            if not is_known:
                found[number] = UNSET
            elif not same[number]:
                found[number] = words[:, number : number + 1].astype(np.uint64)
        if self.lanes == 64:
            found[VCC] = self.mask(rows, VCC) if known[VCC] or known[VCC_HI] else UNSET
            found[VCC_HI] = UNSET
        return found

    def mask(self, rows: Any, number: int) -> Any:
        """Return a number with a bit for each lane."""
        if self.lanes == 32:
            return self.word(rows, number)
        return number_of(self._words[rows, number : number + 2].copy().view(np.uint64))

    def put_scalar(self, rows: Any, number: int, value: Any) -> None:
        """Write a scalar register as a batch has it."""
        if number == VCC and self.lanes == 64:
            self.put_mask(rows, VCC, value)
            self._known[rows, VCC : VCC_HI + 1] = value is not UNSET
            return
        self._words[rows, number] = value[:, 0] if np.ndim(value) else int(value) & LOW
        self._known[rows, number] = value is not UNSET

    def put_mask(self, rows: Any, number: int, value: Any) -> None:
        """Write a number with a bit for each lane."""
        for word in range(self.lanes // 32):
            part = (value[:, 0] >> np.uint64(32 * word)) if np.ndim(value) else int(value) >> 32 * word
            self._words[rows, number + word] = part & (np.uint64(LOW) if np.ndim(value) else LOW)

    def put_exec(self, rows: Any, value: Any) -> None:
        """Change the executing lanes."""
        self.put_mask(rows, EXEC, value)
        flags = lane_flags(value, self.lanes)
        first = Place.EXEC // 4
        self._words[rows, first : first + self.lanes] = np.where(flags, np.uint32(LOW), np.uint32(0))

    def column(self, rows: Any, number: int) -> dict[int, Any]:
        """Return a vector register as a batch has it, by its number."""
        if not self._known[rows, Place.KNOWN_VECTORS - Place.KNOWN + number].any():
            return {number: NOTHING}
        first = VECTORS // 4 + self.lanes * number
        return {number: np.array(self._words[rows, first : first + self.lanes])}

    def put_column(self, rows: Any, number: int, value: Any) -> None:
        """Write a vector register as a batch has it."""
        first = VECTORS // 4 + self.lanes * number
        self._words[rows, first : first + self.lanes] = value
        self._known[rows, Place.KNOWN_VECTORS - Place.KNOWN + number] = value is not NOTHING

    def put_watched(self, rows: Any, ranges: Any) -> None:
        """Say which memory of waves is watched, and whether their returns are seen."""
        self._longs[rows, Place.WATCHED // 8 : Place.RETURNS_SEEN // 8 + 1] = ranges

    def next_slots(self, rows: Any) -> Any:
        """Return where waves go at the end of a block."""
        return self._longs[rows, Place.NEXT // 8]

    def put(self, rows: Any, place: Place, values: Any) -> None:
        """Tell waves a number."""
        self._longs[rows, place // 8] = values

    def calls(self, waves: Any) -> Any:
        """Return the calls that waves have noted: in a row for each, how many there are, and the slots."""
        first, counts = Place.CALLS // 8, self._longs[waves, Place.CALL_COUNT // 8][:, None]
        most = int(counts.max(initial=0))
        slots = self._longs[waves, first : first + most]
        return np.concatenate((counts, np.where(np.arange(most) < counts, slots, 0)), axis=1)

    def put_calls(self, waves: Any, slots: list[int]) -> None:
        """Let waves have noted calls."""
        first = Place.CALLS // 8
        self._longs[waves, Place.CALL_COUNT // 8] = len(slots)
        self._longs[waves, first : first + len(slots)] = slots


class Registers:
    """The registers of a batch of one kind, which are read when somebody asks, and written when the batch runs."""

    __slots__ = ("_batch", "_count", "_first", "_kept", "_put", "_read", "_written")

    def __init__(self, batch: FormBatch, first: int, count: int, read: Any, put: Any) -> None:
        self._batch, self._first, self._count, self._read, self._put = batch, first, count, read, put
        self._kept: dict[int, Any] = {}
        self._written: set[int] = set()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(self._count))]
        if not -self._count <= number < self._count:
            raise IndexError(number)
        number = number % self._count + self._first
        if number not in self._kept:
            self._kept = self._read(self._batch.index, number) | self._kept
        return self._kept[number]

    def __setitem__(self, number: int, value: Any) -> None:
        if not 0 <= number < self._count:
            raise IndexError(number)
        self._kept[self._first + number] = value
        self._written.add(self._first + number)

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(self._count))

    def settle(self) -> None:
        """Write what has been changed."""
        for number in sorted(self._written):
            self._put(self._batch.index, number, self._kept[number])
        if self._kept:
            self._written.clear()
            self._kept = {}


class FormBatch(WaveBatch):
    """Waves whose registers are in `WaveStates`."""

    __slots__ = ("_masks", "_read", "_written", "pointers", "states")

    def __init__(self, states: WaveStates, like: WaveBatch, waves: Any = None) -> None:
        self.states = states
        self.waves = like.waves if waves is None else waves
        self.count, self.lanes = len(self.waves), like.lanes
        self.pc, self.passed, self.spent, self.mode = like.pc, like.passed, like.spent, like.mode
        self.status, self.calls, self.beside = like.status, like.calls, like.beside and dict(like.beside)
        self.pointers = states.addresses[self.waves]
        """The addresses of the states of the waves."""
        self._index = None
        self._read: tuple[Registers, ...] = ()
        """The scalar, vector and accumulation registers, once somebody has asked for any."""
        self._masks: dict[str, Any] = {}
        self._written: set[str] = set()
        self._forget()

    def _forget(self) -> None:
        """Forget what is remembered of columns."""
        self.wide_v, self.wide_a = {}, {}
        self.local, self.stack = [], (None,) * 6

    def settle(self) -> None:
        """Put what Python has changed into the states; what it has read is old now."""
        if not self._read and not self._masks:
            return
        for registers in self._read:
            registers.settle()
        if "exec" in self._written:
            self.states.put_exec(self.index, self._masks["exec"])
        if "scc" in self._written:
            self.states.put_scalar(self.index, SCC, self._masks["scc"])
        self._written.clear()
        self._masks.clear()
        if self.wide_v or self.wide_a or self.local or self.stack[0] is not None:
            self._forget()

    def _registers(self, kind: int) -> Registers:
        if not self._read:
            states, (first, others) = self.states, self.states.counts
            self._read = (
                Registers(self, 0, SCALARS, states.scalars, states.put_scalar),
                Registers(self, 0, first, states.column, states.put_column),
                Registers(self, first, others, states.column, states.put_column),
            )
        return self._read[kind]

    @property
    def scalar(self) -> Any:  # type: ignore[override]
        return self._registers(0)

    @property
    def vector(self) -> Any:  # type: ignore[override]
        return self._registers(1)

    @property
    def accumulation(self) -> Any:  # type: ignore[override]
        return self._registers(2)

    @property
    def exec(self) -> Any:
        if "exec" not in self._masks:
            self._masks["exec"] = self.states.mask(self.index, EXEC)
        return self._masks["exec"]

    @exec.setter
    def exec(self, value: Any) -> None:
        self._masks["exec"] = value
        self._masks.pop("mask", None)
        self._written.add("exec")

    @property
    def mask(self) -> Any:
        if "mask" not in self._masks:
            value = self.exec
            every = isinstance(value, int) and value == (1 << self.lanes) - 1
            self._masks["mask"] = None if every else lane_flags(value, self.lanes)
        return self._masks["mask"]

    @mask.setter
    def mask(self, value: Any) -> None:
        self._masks["mask"] = value

    @property
    def scc(self) -> Any:
        if "scc" not in self._masks:
            self._masks["scc"] = self.states.word(self.index, SCC)
        return self._masks["scc"]

    @scc.setter
    def scc(self, value: Any) -> None:
        self._masks["scc"] = value
        self._written.add("scc")

    # --- Parting and joining --------------------------------------------------------------------------------------

    def take(self, index: Any) -> WaveBatch:
        self.settle()
        other = FormBatch(self.states, self, self.waves[index])
        if isinstance(self.calls, list):
            other.calls = shared_calls([self.calls[row] for row in index])
        if not isinstance(self.status, int):
            other.status = number_of(self.status[index])
        other.beside = {name: each.part(index, self.count) for name, each in self.beside.items()}
        return other

    def join(self, others: Iterable[WaveBatch]) -> WaveBatch:
        batches = [self, *others]
        is_alike = all(isinstance(each, FormBatch) and each.states is self.states for each in batches)
        if not is_alike:
            return WaveBatch.join(self, batches[1:])
        joined = self.beside_others(batches[1:])
        self.states.join_known(joined.waves)
        return joined

    def beside_others(self, others: Iterable[Any]) -> FormBatch:
        """Return these waves and others, wherever they are."""
        batches = [self, *others]
        for each in batches:
            each.settle()
        joined = FormBatch(self.states, self, np.concatenate([each.waves for each in batches]))
        joined.status = joined_numbers([each.status for each in batches], [each.count for each in batches])
        joined.spent, joined.passed = max(each.spent for each in batches), NOWHERE
        if isinstance(self.calls, list) or any(each.calls is not self.calls for each in batches):
            joined.calls = shared_calls([calls for each in batches for calls in each.each_calls()])
        joined.beside = self.joined_beside(batches)
        return joined
