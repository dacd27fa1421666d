"""The caches between running waves and global memory: which there are, and what each of them has.

A family has caches of a few kinds, the nearest first, each shared by some compute units. The *reach* of a cache is the
widest scope whose waves all share it: what an instruction does at a wider scope passes the cache by. An invalidate
forgets what is clean, a write-back sends on what is dirty (AMDGPU usage, "Memory Model GFX6-GFX9" to "... GFX12").

What the hardware may do at any time is done by chance: a cache fetches a word just before it changes elsewhere, drops
a clean word, and writes back a dirty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen
from dwarfgpu.isa.tables import is_gfx12_5

if TYPE_CHECKING:
    from dwarfgpu.execution.device_memory import MemorySegment

Words = Any
"""Integers, one for each access: words of 32 bits in global memory, counted over all segments."""

OWN_UNIT, WORK_GROUP, AGENT, SYSTEM = range(4)
"""The scopes, by how far they reach: the waves of a compute unit, of a work-group, of an agent, all."""
UNITS = 4
"""The compute units of an agent. Two make a work-group processor, a shader array, or an XCC."""
FETCHES, KEEPS, EVICTS = 0.5, 0.75, 0.03
"""How likely a cache fetches a word that is about to change, keeps a clean word that is read, evicts dirty words."""
WHOLE = 0xFFFF_FFFF


@frozen
class CacheKind:
    """What a family says of one of its caches."""

    name: str
    reach: int
    units: int
    """How many compute units share one."""
    writes_back: bool = False
    """Whether stores stay in it until they are written back; else they go through it."""


_L0 = CacheKind("L0", OWN_UNIT, 1)
KINDS: dict[str, tuple[CacheKind, ...]] = {
    "GFX9": (CacheKind("L1", OWN_UNIT, 1),),
    "GFX90A": (CacheKind("L1", OWN_UNIT, 1), CacheKind("L2", AGENT, UNITS, writes_back=True)),
    "GFX942": (
        CacheKind("L1", OWN_UNIT, 1),
        CacheKind("L2", WORK_GROUP, 2, writes_back=True),
        CacheKind("agent", AGENT, UNITS, writes_back=True),
    ),
    "GFX10": (_L0, CacheKind("L1", WORK_GROUP, 2)),
    "GFX11": (_L0, CacheKind("L1", WORK_GROUP, 2)),
    "GFX12": (_L0, CacheKind("L2", AGENT, UNITS, writes_back=True)),
    "GFX12.5": (
        _L0,
        CacheKind("L2", WORK_GROUP, 2, writes_back=True),  # an agent may have several
        CacheKind("agent", AGENT, UNITS, writes_back=True),
    ),
}
"""The caches of each family, the nearest first. Where agents see each other's writes without an instruction that
writes back or invalidates L2, since such memory is not cached there, L2 is taken for memory."""


def cached_family(processor: str, generation: int) -> str:
    """Return the name of the family in `KINDS` that a processor is of."""
    if processor == "gfx90a":
        return "GFX90A"
    if processor.startswith(("gfx94", "gfx95", "gfx9-4")):
        return "GFX942"
    if is_gfx12_5(processor):
        return "GFX12.5"
    return f"GFX{min(max(generation, 9), 12)}"


def reach_of_access(family: str, operation: str, modifiers: Mapping[str, int]) -> int:
    """Return how far an access reaches, by its cache bits: caches of a narrower reach are passed by."""
    is_atomic = operation.startswith("rmw")
    if family.startswith("GFX12"):
        return modifiers.get("scope", 0) & 3
    if family == "GFX942":
        if is_atomic:  # sc0 says that the old value is returned
            return SYSTEM if modifiers.get("sc1") else AGENT
        return bool(modifiers.get("sc0")) | bool(modifiers.get("sc1")) << 1
    if is_atomic:
        return AGENT
    if operation == "store":
        return OWN_UNIT  # it goes through, or nothing in it says how far
    if family == "GFX10":
        return (AGENT if modifiers.get("dlc") else WORK_GROUP) if modifiers.get("glc") else OWN_UNIT
    return AGENT if modifiers.get("glc") else OWN_UNIT


def invalidated_kinds(family: str, name: str, modifiers: Mapping[str, int]) -> tuple[int, ...]:
    """Return which caches an instruction invalidates, as indices in `KINDS`."""
    kinds = range(len(KINDS[family]))
    if name in ("buffer_gl0_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol"):
        return (0,)
    if name in ("buffer_gl1_inv", "buffer_invl2"):
        return (1,) if len(kinds) > 1 else ()
    reach = reach_of_control(family, modifiers)
    return tuple(kind for kind in kinds if KINDS[family][kind].reach < reach)


def reach_of_control(family: str, modifiers: Mapping[str, int]) -> int:
    """Return how far a write-back or an invalidate reaches."""
    if family.startswith("GFX12"):
        return modifiers.get("scope", 0) & 3
    if family == "GFX942":
        return bool(modifiers.get("sc0")) | bool(modifiers.get("sc1")) << 1
    return SYSTEM


class CacheLevel:
    """All caches of one kind. A word of a cache is at ``cache * words + word`` of its columns."""

    def __init__(self, kind: CacheKind, units: int, words: int) -> None:
        self.kind = kind
        self.words = words
        self.count = -(-units // kind.units)
        self.data = np.zeros(self.count * words, np.uint32)
        self.stamp = np.zeros(self.count * words, np.int32)
        """The epoch in which a word was fetched; it is valid if that has not passed."""
        self.epoch = np.ones(self.count, np.int32)
        self.dirty = np.zeros(self.count * words if kind.writes_back else 0, np.uint32)
        """The bits that are to be written back."""
        self.written: list[list[Words]] = [[] for _ in range(self.count)]
        """The words of each cache that may be dirty."""

    def places(self, unit: Words, word: Words) -> tuple[Words, Words]:
        """Return where the words are that compute units access, and whether they are valid."""
        cache = unit // self.kind.units
        at = cache * self.words + word
        return at, self.stamp[at] == self.epoch[cache]


class Caches:
    """The caches of all agents, and the memory behind them."""

    def __init__(self, family: str, agents: int, segments: list[MemorySegment], random: np.random.Generator) -> None:
        self.random = random
        self.agents = agents
        self.segments = [segment for segment in segments if segment.views.get(4) is not None]
        sizes = [len(segment.views[4]) for segment in self.segments]
        self.firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.first_of = {id(segment): int(first) for segment, first in zip(self.segments, self.firsts, strict=False)}
        self.words = int(self.firsts[-1])
        self.levels = [CacheLevel(kind, agents * UNITS, self.words) for kind in KINDS[family]]
        self.depth_of_memory = len(self.levels)

    # --- Reading ------------------------------------------------------------------------------------------------------

    def read(self, unit: Words, word: Words, reach: int) -> Words:
        """Return the words that compute units see, at a scope."""
        key, first, back = np.unique(unit * self.words + word, return_index=True, return_inverse=True)
        values: Words = self._read(0, unit[first], key % self.words, reach)
        return values[back.reshape(-1)]

    def _read(self, depth: int, unit: Words, word: Words, reach: int, *, keeps: float = KEEPS) -> Words:
        if depth == self.depth_of_memory:
            return self._memory(word)
        level = self.levels[depth]
        at, is_valid = level.places(unit, word)
        if level.kind.reach < reach:
            self._pass_by(depth, unit, word, at)
            return self._read(depth + 1, unit, word, reach, keeps=keeps)
        if keeps < 1:
            is_kept = self.random.random(len(at)) < keeps
            if level.kind.writes_back:
                is_kept |= level.dirty[at] != 0
            is_valid &= is_kept
        missing = np.flatnonzero(~is_valid)
        if len(missing):
            places = at[missing]
            fetched = self._read(depth + 1, unit[missing], word[missing], reach, keeps=keeps)
            if level.kind.writes_back:
                dirty = level.dirty[places]
                fetched = fetched & ~dirty | level.data[places] & dirty
            level.data[places] = fetched
            level.stamp[places] = level.epoch[unit[missing] // level.kind.units]
        values: Words = level.data[at]
        return values

    def _pass_by(self, depth: int, unit: Words, word: Words, at: Words) -> None:
        """Let a cache forget words that are accessed at a wider scope; what is dirty goes on first."""
        level = self.levels[depth]
        if level.kind.writes_back:
            self._send_on(depth, unit, word, OWN_UNIT)
        level.stamp[at] = 0

    def _memory(self, word: Words) -> Words:
        number = int(np.searchsorted(self.firsts, word[0], side="right")) - 1 if len(word) else 0
        if not len(word) or (word.min() >= self.firsts[number] and word.max() < self.firsts[number + 1]):
            return self.segments[number].views[4][word - self.firsts[number]] if len(word) else word.astype(np.uint32)
        values = np.zeros(len(word), np.uint32)
        numbers = np.searchsorted(self.firsts, word, side="right") - 1
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            values[chosen] = self.segments[number].views[4][word[chosen] - self.firsts[number]]
        return values

    # --- Writing ------------------------------------------------------------------------------------------------------

    def store(self, unit: Words, word: Words, value: Words, bits: Words, reach: int) -> None:
        """Write some bits of words, in their order: of those that write the same bits the last one wins."""
        key = word.astype(np.int64) << 32 | bits.astype(np.int64)
        _key, last = np.unique(key[::-1], return_index=True)
        for chosen in _rounds(word, np.sort(len(word) - 1 - last)):
            self.fetch_before(word[chosen])
            self._store(0, unit[chosen], word[chosen], value[chosen], bits[chosen], reach)

    def _store(self, depth: int, unit: Words, word: Words, value: Words, bits: Words, reach: int) -> None:
        """Write words from a level on; no word twice."""
        value = value & bits
        for level in self.levels[depth:]:
            at, is_valid = level.places(unit, word)
            if level.kind.writes_back and level.kind.reach >= reach:
                level.data[at] = level.data[at] & ~bits | value
                level.dirty[at] |= bits
                caches = unit // level.kind.units
                for cache in np.unique(caches).tolist():
                    level.written[cache].append(word[caches == cache])
                return
            level.data[at] = np.where(is_valid, level.data[at] & ~bits | value, level.data[at])
            if level.kind.writes_back:
                level.dirty[at] &= ~bits
        numbers = np.searchsorted(self.firsts, word, side="right") - 1
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            view, places = self.segments[number].views[4], word[chosen] - self.firsts[number]
            view[places] = view[places] & ~bits[chosen] | value[chosen]

    def change(self, unit: Words, word: Words, reach: int, change: Callable[[Words, Words], None]) -> None:
        """Let a function change words where waves of a scope all see them.

        ``word`` is ``[access, number]``; the function gets the words, ``[place, number]``, and where each access is.
        """
        keeping = [d for d, level in enumerate(self.levels) if level.kind.writes_back and level.kind.reach >= reach]
        depth = keeping[0] if keeping else self.depth_of_memory
        owner = unit // self.levels[depth].kind.units if keeping else np.zeros(len(unit), np.int64)
        _keys, first, place = np.unique(owner * self.words + word[:, 0], return_index=True, return_inverse=True)
        units, words = unit[first], word[first]
        count, width = words.shape
        flat_units, flat = np.repeat(units, width), words.reshape(-1)
        self.fetch_before(flat)
        for level, kind in enumerate(self.levels[:depth]):
            all_units, all_words = np.repeat(unit, width), word.reshape(-1)
            _key, one = np.unique(all_units // kind.kind.units * self.words + all_words, return_index=True)
            at, _valid = kind.places(all_units[one], all_words[one])
            self._pass_by(level, all_units[one], all_words[one], at)
        values = self._read(depth, flat_units, flat, OWN_UNIT).reshape(count, width)
        change(values, place.reshape(-1))
        self._store(depth, flat_units, flat, values.reshape(-1), np.full(flat.shape, WHOLE, np.uint32), OWN_UNIT)

    def fetch_before(self, word: Words) -> None:
        """Let some caches fetch words that are about to change."""
        word = np.unique(word)
        for depth in range(self.depth_of_memory - 1, -1, -1):
            level = self.levels[depth]
            for cache in range(level.count):
                chosen = word[self.random.random(len(word)) < FETCHES]
                unit = np.full(len(chosen), cache * level.kind.units, np.int64)
                self._read(depth, unit, chosen, OWN_UNIT, keeps=1)

    # --- Write-back and invalidate ------------------------------------------------------------------------------------

    def write_back(self, units: Words, reach: int) -> None:
        """Write back what is dirty in the caches of some compute units that a scope does not share."""
        for depth, level in enumerate(self.levels):
            if level.kind.writes_back and level.kind.reach < reach:
                for cache in np.unique(units // level.kind.units).tolist():
                    self._clean(depth, cache, reach)

    def _clean(self, depth: int, cache: int, reach: int, share: float = 1) -> None:
        level = self.levels[depth]
        if not level.written[cache]:
            return
        word = np.unique(np.concatenate(level.written[cache]))
        level.written[cache] = []
        if share < 1:
            chosen = self.random.random(len(word)) < share
            level.written[cache] = [word[~chosen]]
            word = word[chosen]
        if len(word):
            self._send_on(depth, np.full(len(word), cache * level.kind.units, np.int64), word, reach)

    def _send_on(self, depth: int, unit: Words, word: Words, reach: int) -> None:
        """Write words that are dirty in a cache to the next one."""
        level = self.levels[depth]
        at, _valid = level.places(unit, word)
        _at, one = np.unique(at, return_index=True)
        for chosen in _rounds(word, one[level.dirty[at[one]] != 0]):
            places = at[chosen]
            bits, value = level.dirty[places], level.data[places]
            self.fetch_before(word[chosen])
            level.dirty[places] = 0
            self._store(depth + 1, unit[chosen], word[chosen], value, bits, reach)

    def invalidate(self, units: Words, depths: tuple[int, ...]) -> None:
        """Forget what is clean in the caches of some compute units."""
        for depth in depths:
            level = self.levels[depth]
            level.epoch[np.unique(units // level.kind.units)] += 1

    def evict(self) -> None:
        """Write back some dirty words, as any cache may at any time."""
        for depth, level in enumerate(self.levels):
            if level.kind.writes_back:
                for cache in range(level.count):
                    if level.written[cache] and self.random.random() < EVICTS:
                        self._clean(depth, cache, OWN_UNIT, 0.5)

    def clean(self) -> None:
        """Write back all that is dirty, as at the end of a dispatch, and forget the rest."""
        for depth, level in enumerate(self.levels):
            for cache in range(level.count if level.kind.writes_back else 0):
                self._clean(depth, cache, SYSTEM)
            level.epoch += 1

    # --- Going back ---------------------------------------------------------------------------------------------------

    def saved(self) -> list[CacheLevel]:
        """Return what `restore` needs."""
        return deepcopy(self.levels)

    def restore(self, saved: list[CacheLevel]) -> None:
        """Bring all caches back to what they had."""
        self.levels = deepcopy(saved)


def _rounds(word: Words, left: Words) -> Iterator[Words]:
    """Yield indices of writes in rounds that write no word twice."""
    while len(left):
        _word, first = np.unique(word[left], return_index=True)
        first.sort()
        yield left[first]
        left = np.delete(left, first)
