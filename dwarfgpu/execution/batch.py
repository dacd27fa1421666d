"""Waves that are at one instruction, in columns, so that an instruction of all of them is one array operation.

A vector register is an array of 32-bit numbers that fits ``[wave, lane]``: an axis of length 1 stands for waves or
lanes that all have the same. A scalar register is an integer if all waves have the same, else an array ``[wave, 1]``
of unsigned 64-bit integers. Neither is ever changed in place: a register that is written gets another array. So a
copy of a batch costs a copy of two lists, and waves that part share what they had.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.isa.frame_state import RETURN_HIGH, RETURN_LOW

if TYPE_CHECKING:
    from dwarfgpu.execution.local_places import LocalPlaces

VCC, VCC_HI, M0, EXEC, EXEC_HI = 106, 107, 124, 126, 127
FLAT_SCRATCH = 130
"""The places of special registers among the scalar ones. VCC of waves of 64 lanes is one number of 64 bits."""
SCALARS = 132


NOWHERE = -1
"""In place of an address: none."""


class _Unset(int):
    """A number that nothing has written.

    For numpy it is the integer 0, which takes the type of the array that it meets; an instance of another class than
    int would be a signed number of 64 bits.
    """

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(function, method)(*(_plain(each) for each in inputs), **options)

    def __array_function__(self, function: Any, _types: Any, arguments: Any, options: Any) -> Any:
        return function(*(_plain(each) for each in arguments), **options)


def _plain(value: Any) -> Any:
    return 0 if isinstance(value, _Unset) else value


UNSET = _Unset(0)
"""What a scalar register holds that nothing has written: it reads as 0. It is told by identity."""

NOTHING = np.zeros((1, 1), np.uint32)
"""What a vector register holds that nothing has written. It is told by identity."""
NOTHING.setflags(write=False)
_ZERO = np.zeros((1, 1), np.uint32)
_ZERO.setflags(write=False)


def as_written(column: Any) -> Any:
    """Return what a register holds to which another one is moved; something has written it, if only the move."""
    return _ZERO if column is NOTHING else column


MOST_CALLS = 1 << 12
"""The calls in each other that are followed; of a wave that goes deeper none is known any more."""
Calls = tuple[int, Any, int]
"""A call that has not returned: the return address, the call that it was made in, and how many calls there are."""
NO_CALLS: Calls = (-1, None, 0)
LOST_CALLS: Calls = (-1, None, -1)
"""The calls of a wave that is not followed any more."""


class WaveBatch:
    """Some waves at one instruction."""

    __slots__ = (
        "_index", "accumulation", "beside", "calls", "count", "exec", "lanes", "local", "mask", "mode", "passed", "pc",
        "scalar", "scc", "spent", "stack", "status", "vector", "waves", "wide_a", "wide_v",
    )  # fmt: skip

    def __init__(self, waves: Any, lanes: int, vectors: int, accumulations: int) -> None:
        self.waves = np.asarray(waves, np.int64)
        """The indices of the waves in the machine."""
        self.count = len(self.waves)
        self.lanes = lanes
        self.pc = 0
        self.passed = NOWHERE
        """The address whose breakpoints have been asked, if they were and nothing was executed since."""
        self.spent = 0
        """The instructions executed since all batches were last equal; a batch that has spent many lets others go."""
        self.scalar: list[Any] = [UNSET] * SCALARS
        self.vector: list[Any] = [NOTHING] * vectors
        self.accumulation: list[Any] = [NOTHING] * accumulations
        self.wide_v: dict[int, Any] = {}
        self.wide_a: dict[int, Any] = {}
        """Pairs of registers that have been read or written as one number, by the first."""
        self.local: list[LocalPlaces] = []
        """The columns that were the latest addresses of local memory, with what is known of them."""
        self.stack: tuple[Any, ...] = (None,) * 6
        """The latest resource of a stack, with what `MemoryAccess.stack_address` knows of it."""
        self._index: Any = None
        self.scc: Any = 0
        self.mode = 0
        self.status: Any = 0
        self.exec: Any = 0
        self.mask: Any = None
        """The executing lanes, as flags that fit ``[wave, lane]``; None if all are."""
        self.calls: Calls | list[Calls] = NO_CALLS
        """The calls that the waves are in: of all of them, or of each."""
        self.beside: dict[str, Any] = {}
        """What checks keep beside the columns, by name: objects with `part(index, count)`, `join(others, counts)`."""

    def set_exec(self, value: Any) -> None:
        """Change the executing lanes."""
        self.exec = value
        self.mask = None if isinstance(value, int) and value == (1 << self.lanes) - 1 else lane_flags(value, self.lanes)

    @property
    def index(self) -> Any:
        """What chooses the rows of the waves in an array with one for each wave of the machine: a slice if it can."""
        if self._index is None:
            first = int(self.waves[0])
            is_range = (self.waves == np.arange(first, first + self.count)).all()
            self._index = slice(first, first + self.count) if is_range else self.waves
        return self._index

    # --- Calls ----------------------------------------------------------------------------------------------------

    def each_calls(self) -> list[Calls]:
        """Return the calls that each wave is in."""
        return self.calls if isinstance(self.calls, list) else [self.calls] * self.count

    def called(self, behind: int) -> Calls | list[Calls]:
        """Return the calls after one that returns to an address."""
        new = {id(calls): called_from(calls, behind) for calls in self.each_calls()}
        return shared_calls([new[id(calls)] for calls in self.each_calls()])

    def calls_after_jump(self, target: Any, behind: int) -> Calls | list[Calls]:
        """Return the calls after a jump to an address, one or each wave's: a return, a call by hand, or neither.

        It is a call by hand if the return address is that behind it. A target of `NOWHERE` is no return.
        """
        link = self.scalar[RETURN_LOW] | self.scalar[RETURN_HIGH] << 32
        columns = (each.reshape(-1).tolist() if hasattr(each, "reshape") else [each] for each in (target, link))
        targets, links = (column * (self.count // len(column)) for column in columns)
        by_hand = (behind if each == behind else NOWHERE for each in links)
        keys = [*zip(map(id, self.each_calls()), targets, by_hand, strict=True)]
        each = dict(zip(keys, self.each_calls(), strict=True))
        new = {key: _jumped(each[key], *key[1:]) for key in each}
        return shared_calls([new[key] for key in keys])

    # --- Parting and joining --------------------------------------------------------------------------------------

    @property
    def has_passed(self) -> bool:
        """Whether the breakpoints at the instruction have been asked."""
        return self.passed == self.pc

    def part(self, flags: Any) -> WaveBatch:
        """Return the waves with a flag, as a batch of their own."""
        return self.take(np.nonzero(flags)[0])

    def take(self, index: Any) -> WaveBatch:
        """Return waves by their positions, in that order, as a batch of their own."""
        other = WaveBatch(self.waves[index], self.lanes, 0, 0)
        other.pc, other.mode, other.passed, other.spent = self.pc, self.mode, self.passed, self.spent
        count = self.count
        for own, others in ((self.vector, other.vector), (self.accumulation, other.accumulation)):
            others += [column[index] if column.shape[0] == count > 1 else column for column in own]
        other.scalar = [number if isinstance(number, int) else _numbers(number, index) for number in self.scalar]
        other.scc = _numbers(self.scc, index)
        other.status = _numbers(self.status, index)
        other.set_exec(_numbers(self.exec, index))
        other.calls = shared_calls([self.calls[row] for row in index]) if isinstance(self.calls, list) else self.calls
        other.beside = {name: each.part(index, count) for name, each in self.beside.items()}
        return other

    def join(self, others: Iterable[WaveBatch]) -> WaveBatch:
        """Return one batch of these waves and others at the same instruction."""
        batches = [self, *others]
        joined = WaveBatch(np.concatenate([batch.waves for batch in batches]), self.lanes, 0, 0)
        joined.pc, joined.mode = self.pc, self.mode
        joined.spent = max(batch.spent for batch in batches)
        counts = [batch.count for batch in batches]
        joined.vector = [
            _stacked(columns, counts) for columns in zip(*(batch.vector for batch in batches), strict=True)
        ]
        joined.accumulation = [
            _stacked(columns, counts) for columns in zip(*(batch.accumulation for batch in batches), strict=True)
        ]
        joined.scalar = [
            joined_numbers(numbers, counts) for numbers in zip(*(batch.scalar for batch in batches), strict=True)
        ]
        joined.scc = joined_numbers([batch.scc for batch in batches], counts)
        joined.status = joined_numbers([batch.status for batch in batches], counts)
        joined.set_exec(joined_numbers([batch.exec for batch in batches], counts))
        joined.calls = self.calls
        if isinstance(self.calls, list) or any(batch.calls is not self.calls for batch in others):
            joined.calls = shared_calls([calls for batch in batches for calls in batch.each_calls()])
        joined.beside = self.joined_beside(batches)
        return joined

    def joined_beside(self, batches: list[WaveBatch]) -> dict[str, Any]:
        """Return what checks keep beside some batches, this one first; waves that have executed nothing have none."""
        counts = [batch.count for batch in batches]
        return {
            name: own.join([batch.beside[name] for batch in batches[1:]], counts)
            for name, own in self.beside.items()
            if all(name in batch.beside for batch in batches)
        }

    def copy(self) -> WaveBatch:
        """Return the same waves, which then change on their own."""
        other = WaveBatch(self.waves, self.lanes, 0, 0)
        other.pc, other.mode, other.scc, other.status = self.pc, self.mode, self.scc, self.status
        other.spent = self.spent
        other.scalar, other.vector, other.accumulation = list(self.scalar), list(self.vector), list(self.accumulation)
        other.exec, other.mask, other.calls = self.exec, self.mask, self.calls
        every = slice(0, self.count)
        other.beside = {name: each.part(every, self.count) for name, each in self.beside.items()}
        return other


def called_from(calls: Calls, behind: int) -> Calls:
    """Return the calls after one that returns to an address."""
    depth = calls[2] + 1
    return (behind, calls, depth) if 0 < depth <= MOST_CALLS else LOST_CALLS


def _jumped(calls: Calls, target: int, behind: int) -> Calls:
    """Return the calls after a jump, which may return from several at once, or be a call by hand."""
    outer: Calls | None = calls if target != NOWHERE else None
    while outer is not None and outer[0] != target:
        outer = outer[1]
    if outer is not None:
        return outer[1]  # type: ignore[no-any-return]
    return calls if behind == NOWHERE else called_from(calls, behind)


def shared_calls(each: list[Calls]) -> Calls | list[Calls]:
    """Return the calls of waves, equal ones as one object; only that if all are equal."""
    distinct: dict[tuple[tuple[int, ...] | None, int], Calls] = {}
    found: dict[int, Calls] = {}
    for calls in each:
        if id(calls) not in found:
            found[id(calls)] = distinct.setdefault((return_addresses(calls), calls[2]), calls)
    return each[0] if len(distinct) == 1 else [found[id(calls)] for calls in each]


def return_addresses(calls: Calls) -> tuple[int, ...] | None:
    """Return where calls return to, the innermost first; None where they are not followed."""
    found: list[int] = []
    while calls[2] > 0:
        found.append(calls[0])
        calls = calls[1]
    return None if calls[2] < 0 else tuple(found)


# --- Masks --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _flags_of(mask: int, lanes: int) -> Any:
    flags = np.array([[mask >> lane & 1 for lane in range(lanes)]], bool)
    flags.setflags(write=False)
    return flags


def lane_flags(mask: Any, lanes: int) -> Any:
    """Return the bits of a mask as flags that fit ``[wave, lane]``."""
    if isinstance(mask, int):
        return _flags_of(mask, lanes)
    words = mask.astype(np.uint64 if lanes == 64 else np.uint32)
    return np.unpackbits(words.reshape(-1).view(np.uint8), bitorder="little").view(bool).reshape(-1, lanes)


def lane_mask(flags: Any, batch: WaveBatch) -> Any:
    """Return flags of the executing lanes as a mask; the other lanes have no bit."""
    if batch.mask is not None:
        flags = flags & batch.mask
    if len(flags) > 1 or flags.shape[1] == 1:
        if not flags.any():
            return 0
        if flags.all():
            return (1 << batch.lanes) - 1
    if flags.shape[1] != batch.lanes:
        flags = np.broadcast_to(flags, (flags.shape[0], batch.lanes))
    if len(flags) == 1:
        return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
    words = np.ascontiguousarray(np.packbits(flags.reshape(-1), bitorder="little")).view(
        np.uint64 if batch.lanes == 64 else np.uint32
    )
    return number_of(words[:, None])


def number_of(column: Any) -> Any:
    """Return a column with one element a wave as a number: an integer if all are the same."""
    first = int(column[0, 0])
    if len(column) == 1 or (column == column[0, 0]).all():
        return first
    return column.astype(np.uint64)


def private_base(batch: WaveBatch, aperture: int) -> Any:
    """Return the generic address of the private memory of each wave, in its first lane, where addresses tell the wave.

    Without an aperture it is 0.
    """
    return aperture and number_of(aperture | batch.waves[:, None] << 32)


_UNSIGNED = {size: np.dtype(f"u{size}") for size in "1248"}


@lru_cache(maxsize=4096)
def _constant(number: int, kind: str) -> Any:
    array = np.array([[number]], _UNSIGNED[kind[1:]])
    array = array if kind[0] == "u" else array.view(kind)
    array.setflags(write=False)
    return array


def uniform(number: Any, kind: str = "u4") -> Any:
    """Return a scalar number for an operation on lanes: an array ``[1, 1]`` or ``[wave, 1]`` of a type."""
    if isinstance(number, int):
        return _constant(number, kind)
    return number.astype(f"u{kind[1:]}").view(kind)


# --- Columns ------------------------------------------------------------------------------------------------------


def _numbers(number: Any, index: Any) -> Any:
    return number if isinstance(number, int) else number_of(number[index])


def joined_numbers(numbers: Any, counts: list[int]) -> Any:
    """Return scalar numbers of batches as one of all their waves."""
    first = numbers[0]
    if isinstance(first, int) and len(set(map(id, numbers))) == 1:
        return first
    if isinstance(first, int) and all(isinstance(number, int) and number == first for number in numbers):
        return int(first)
    return np.concatenate(
        [
            np.full((count, 1), number, np.uint64) if isinstance(number, int) else number
            for number, count in zip(numbers, counts, strict=True)
        ]
    )


def _stacked(columns: Any, counts: list[int]) -> Any:
    first = columns[0]
    if all(column is first for column in columns) and first.shape[0] == 1:
        return first
    width = max(column.shape[1] for column in columns)
    shapes = [(count, width) for count in counts]
    return np.concatenate(
        [
            column if column.shape == shape else np.broadcast_to(column, shape)
            for column, shape in zip(columns, shapes, strict=True)
        ]
    )
