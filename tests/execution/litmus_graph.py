"""The weak machine as a graph of states: which results a litmus test can have, over every order of events.

`traced` runs a test once and keeps which instructions its threads execute and what they access. `Graph` follows all
that can happen then, with everything that the caches of a family may do: results that it does not reach never come out,
and those that it reaches come out of the running machine for some seed. The two are written apart from each other: here
a word of a cache is clear, stale or dirty, and there is no chance. All words go from 0 to 1, once.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from unittest.mock import patch

from dwarfgpu.execution.caches import (
    KINDS,
    OWN_UNIT,
    SYSTEM,
    UNITS,
    cached_family,
    invalidated_kinds,
    reach_of_access,
    reach_of_control,
)
from dwarfgpu.execution.launch.launch import machine_for
from dwarfgpu.execution.weak_memory import WeakMemory
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decode, decoder
from dwarfgpu.isa.instruction import GpuInstruction
from dwarfgpu.isa.memory_actions import action_of
from tests.execution.litmus import FORBIDDEN, TARGETS, Litmus, kernel_place

MOST_PLACES = 6
"""In how many of the patterns of compute units, which are up to 103 for four threads, a test is followed."""
CLEAR, STALE, DIRTY = range(3)
"""What a cache has of a word: nothing that is not behind it, too; the 0 of before; a 1 that is not behind it yet."""


@frozen
class Executed:
    """An instruction of one thread of a test."""

    offset: int
    """In the file."""
    instruction: GpuInstruction
    word: int | None
    """0 if it accesses x, 1 if it accesses y."""
    is_local: bool = False


@frozen
class Issue:
    """An access, or a write-back."""

    kind: str
    """``load``, ``store``, ``add``, ``read``, an atomic operation that changes nothing, or ``write-back``."""
    word: int
    reach: int
    is_local: bool
    result: int
    """Which of the results it is; -1 for none."""


@frozen
class Await:
    """A wait: the events of the thread that are performed before it ends."""

    events: tuple[int, ...]


@frozen
class Invalidate:
    """An invalidate of caches, by their depth."""

    depths: tuple[int, ...]


Thread = tuple[Issue | Await | Invalidate, ...]
Code = tuple[tuple[Executed, ...], ...]
State = tuple[
    tuple[int, ...], tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]
]
"""The positions of the threads, what is issued and not performed, the results, memory, LDS and cells."""
Happening = tuple[str, int, int]
"""What leads from a state to another: ``run`` a thread, ``perform`` an event of a thread, ``forget`` or ``send on``
what a cell has."""
Way = list[tuple[Happening | None, State]]
"""States, each with what leads to it."""
Before = dict[State, tuple[Happening | None, State | None]]
"""For each state, what leads to it, and from which."""


def traced(litmus: Litmus, path: Path) -> Code:
    """Run a test, and return what its threads execute."""
    lanes = TARGETS[litmus.target]
    data = path.read_bytes()
    start, _size = kernel_place(data)
    machine = machine_for(str(path), "litmus")
    launched = litmus.launched(machine, path, 0, litmus.lanes)
    words = {launched.addresses["xs"]: 0, launched.addresses["ys"]: 1}
    order: dict[int, list[int]] = {wave: [] for wave in range(litmus.threads)}
    touched: dict[tuple[int, int], tuple[int, int | None]] = {}
    inner = WeakMemory._tried

    def observe(batch) -> None:
        for wave in batch.waves.tolist():
            order[wave].append(batch.pc)

    def tried(self, batch, instruction):
        places = inner(self, batch, instruction)
        for segment, _mask, offsets, _size in places:
            for wave, offset in zip(batch.waves.tolist(), offsets.min(axis=1).tolist(), strict=True):
                local = offset if segment is self.local else None
                touched[wave, batch.pc] = (-1 if local is not None else words.get(segment.start, -2), local)
        return places

    machine.device.observer = observe
    with patch.object(WeakMemory, "_tried", tried):
        assert machine.run(limit=100000).has_ended
    locals_ = [offset for (_wave, _pc), (word, offset) in touched.items() if word == -1]
    first_local = next((offset for (wave, _pc), (word, offset) in touched.items() if wave == 0 and word == -1), None)
    x_is_local, _y_is_local = (space == "local" for space in litmus.spaces.split())
    decode_at = decoder(litmus.target, lanes).decode
    threads = []
    for wave, addresses in order.items():
        rows = []
        for address in addresses:
            offset = start + address - addresses[0]
            word, local = touched.get((wave, address), (-2, None))
            if word == -1:
                word = (0 if x_is_local else 1) if len(set(locals_)) == 1 else int(local != first_local)
            rows.append(Executed(offset, decode_at(data, offset), word if word >= 0 else None, local is not None))
        threads.append(tuple(rows))
    return tuple(threads)


FIRST_RESULT = {"iriw": (0, 0, 0, 2)}


def threads_of(litmus: Litmus, code: Code, changed: Mapping[int, bytes] = {}) -> tuple[Thread, ...]:
    """Return what the threads of a test do to memory, with some instructions replaced."""
    return tuple(tuple(event for _row, event in rows) for rows in rows_of_events(litmus, code, changed))


def rows_of_events(
    litmus: Litmus, code: Code, changed: Mapping[int, bytes] = {}
) -> tuple[tuple[tuple[int, Issue | Await | Invalidate], ...], ...]:
    """Return what the threads of a test do to memory, each event with the number of its instruction."""
    lanes = TARGETS[litmus.target]
    major = decoder(litmus.target, lanes).major
    family = cached_family(litmus.target, major)
    threads = []
    for role, rows in enumerate(code):
        result = FIRST_RESULT.get(litmus.name, (0, 1 if litmus.name in ("sb", "lb") else 0))[role]
        events: list[tuple[int, Issue | Await | Invalidate]] = []
        counting: dict[str, list[tuple[int | None, bool]]] = {}
        for place, row in enumerate(rows):
            instruction = row.instruction
            if row.offset in changed:
                instruction = decode(changed[row.offset] + bytes(8), 0, litmus.target, lanes)
            action = action_of(instruction, major)
            event: int | None = None
            if action.waits:
                needed: set[int] = set()
                for counter, most in action.waits:
                    issued = counting.get(counter, [])
                    for number, (index, is_ordered) in enumerate(issued):
                        if index is not None and len(issued) - number > most and (most == 0 or is_ordered):
                            needed.add(index)
                if needed:
                    events.append((place, Await(tuple(sorted(needed)))))
            if action.invalidate:
                events.append((place, Invalidate(invalidated_kinds(family, instruction.name, instruction.modifiers))))
            if action.write_back:
                event = len(events)
                reach = reach_of_control(family, instruction.modifiers)
                events.append((place, Issue("write-back", -1, reach, False, -1)))
            elif action.operation and row.word is not None:
                event = len(events)
                kind = action.operation
                if kind.startswith("rmw"):
                    kind = "add" if role == 0 else "read"
                reach = reach_of_access(family, action.operation, instruction.modifiers)
                if litmus.is_fine_grained(row.word):
                    reach = SYSTEM
                own = result if kind in ("load", "read") else -1
                result += own >= 0
                events.append((place, Issue(kind, row.word, reach, row.is_local, own)))
            for counter in action.counters:
                counting.setdefault(counter, []).append((event, action.is_ordered))
        threads.append(tuple(events))
    return tuple(threads)


@cache
def placements(litmus: Litmus) -> tuple[tuple[int, ...], ...]:
    """Return the compute units that the threads of a test can be on, each pattern once."""
    count = litmus.threads
    if litmus.scope != "workgroup":
        units = range(UNITS * (2 if litmus.scope == "system" else 1))
    elif litmus.mode == "cu":
        return ((0,) * count,)
    else:
        units = range(2 if litmus.mode == "wgp" or litmus.family == "GFX942" else UNITS)
    sizes = sorted({kind.units for kind in KINDS[litmus.family]})
    patterns: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}
    for chosen in product(units, repeat=count):
        shared = [[unit // size for unit in chosen] for size in sizes]
        patterns.setdefault(tuple(tuple(map(row.index, row)) for row in shared), chosen)
    found = tuple(patterns.values())
    return found if len(found) <= MOST_PLACES else (*found[:: -(-len(found) // MOST_PLACES)], found[-1])


class Graph:
    """The states of a test whose threads are on some compute units."""

    def __init__(self, family: str, threads: tuple[Thread, ...], units: tuple[int, ...]) -> None:
        self.kinds = KINDS[family]
        self.threads, self.units = threads, units
        self.cells: list[tuple[int, int, int]] = []
        """What caches have: depth, cache, word."""
        for depth, kind in enumerate(self.kinds):
            for number in sorted({unit // kind.units for unit in units}):
                self.cells += [(depth, number, word) for word in (0, 1)]
        self.index = {cell: number for number, cell in enumerate(self.cells)}
        self.below: list[tuple[int, ...]] = []
        """For each cell those behind it, the nearest first."""
        self.path: dict[tuple[int, int], tuple[int, ...]] = {}
        for unit in set(units):
            for word in (0, 1):
                path = tuple(self.index[depth, unit // kind.units, word] for depth, kind in enumerate(self.kinds))
                self.path[unit, word] = path
        by_cell = {}
        for path in self.path.values():
            for place, cell in enumerate(path):
                by_cell[cell] = path[place + 1 :]
        self.below = [by_cell[cell] for cell in range(len(self.cells))]
        self.deepest_first = sorted(range(len(self.cells)), key=lambda cell: -self.cells[cell][0])

        self.readers: list[list[tuple[int, int]]] = [[] for _ in self.cells]
        """For each cell the loads that may read through it: thread and event."""
        self.is_free = []
        """For each thread which of its events take place as soon as they can, since nothing can tell when they do."""
        for number, (thread, unit) in enumerate(zip(threads, units, strict=True)):
            others = {
                event.word
                for other, other_unit, events in zip(range(9), units, threads, strict=False)
                for event in events
                if other != number and other_unit == unit and type(event) is Issue and not event.is_local
            }
            free = []
            for place, event in enumerate(thread):
                if type(event) is Issue and event.result >= 0 and not event.is_local:
                    for cell in self.path[unit, event.word]:
                        self.readers[cell].append((number, place))
                free.append(
                    type(event) is Await or (type(event) is Issue and (event.is_local or event.word not in others))
                )
            self.is_free.append(free)

    def results(self, wanted: Mapping[int, int] | None = None, limit: int = 3_000_000) -> set[tuple[int, ...]]:
        """Return the results that can come out; if some are wanted, no others are looked for."""
        found = set()
        for state in self._ends(wanted or {}, limit):
            found.add(state[2])
            if wanted:
                break
        return found

    def way(self, wanted: Mapping[int, int], limit: int = 3_000_000) -> Way:
        """Return how a wanted result can come out; nothing if it cannot."""
        before: Before = {}
        rows: Way = []
        state = next(self._ends(wanted, limit, before), None)
        while state is not None:
            happening, previous = before.get(state, (None, None))
            rows.append((happening, state))
            state = previous
        return rows[::-1]

    def _ends(self, wanted: Mapping[int, int], limit: int, before: Before | None = None) -> Iterator[State]:
        """Yield the states in which all threads have ended; keep how each state was reached, if that is asked for."""
        start = self.settled(((0,) * len(self.threads), (), (-1,) * 4, (0, 0), (0, 0), (CLEAR,) * len(self.cells)))
        seen, waiting = {start}, [start]
        while waiting:
            state = waiting.pop()
            for happening, reached in self.following(state):
                if any(reached[2][place] not in (-1, value) for place, value in wanted.items()):
                    continue
                following = self.settled(reached)
                if following in seen:
                    continue
                seen.add(following)
                if before is not None:
                    before[following] = happening, state
                if not following[1] and list(following[0]) == [*map(len, self.threads)]:
                    yield following
                else:
                    waiting.append(following)
            assert len(seen) < limit, "the graph is too large"
        self.size = len(seen)

    def settled(self, state):
        """Return a state after all that can take place at once, without what nothing reads any more."""
        positions, issued, results, memory, local, cells = state
        at = list(positions)
        for number, thread in enumerate(self.threads):
            free = self.is_free[number]
            while at[number] < len(thread) and free[at[number]]:
                event = thread[at[number]]
                if type(event) is Issue:
                    issued = (*issued, (number, at[number]))
                elif any(owner == number and index in event.events for owner, index in issued):
                    break
                at[number] += 1
        if STALE in cells:
            kept = list(cells)
            for cell, content in enumerate(cells):
                if content == STALE and not any(
                    place >= at[number] or (number, place) in issued for number, place in self.readers[cell]
                ):
                    kept[cell] = CLEAR
            cells = tuple(kept)
        return tuple(at), issued, results, memory, local, cells

    def following(self, state: State) -> Iterator[tuple[Happening, State]]:
        """Yield the states after one more event, with what it is."""
        positions, issued, results, memory, local, cells = state
        for number, thread in enumerate(self.threads):
            at = positions[number]
            if at == len(thread):
                continue
            event = thread[at]
            moved = (*positions[:number], at + 1, *positions[number + 1 :])
            if type(event) is Issue:
                yield ("run", number, at), (moved, (*issued, (number, at)), results, memory, local, cells)
            elif type(event) is Invalidate:
                unit = self.units[number]
                cleared = [self.path[unit, word][depth] for word in (0, 1) for depth in event.depths]
                for changed in self.cleared(memory, cells, cleared):
                    yield ("run", number, at), (moved, issued, results, memory, local, changed)
        for place, (number, at) in enumerate(issued):
            event = self.threads[number][at]
            if self.waits_for_earlier(issued[:place], number, event):
                continue
            left = issued[:place] + issued[place + 1 :]
            for new in self.performed(state, number, event):
                yield ("perform", number, at), (positions, left, *new)
        for cell, content in enumerate(cells):
            if content == STALE:
                for changed in self.cleared(memory, cells, [cell]):
                    yield ("forget", cell, 0), (positions, issued, results, memory, local, changed)
            elif content == DIRTY:
                for new_memory, changed in self.sent_on(memory, cells, cell, OWN_UNIT):
                    yield ("send on", cell, 0), (positions, issued, results, new_memory, local, changed)

    def waits_for_earlier(self, earlier, number: int, event: Issue) -> bool:
        """Return whether the hardware performs something that was issued before first."""
        for owner, index in earlier:
            other = self.threads[owner][index]
            if event.kind == "write-back" and owner == number and not other.is_local:
                return True
            if event.is_local:
                if other.is_local and owner == number:
                    return True
            elif not other.is_local and other.word == event.word >= 0 and self.units[owner] == self.units[number]:
                return True
        return False

    def performed(self, state, number: int, event: Issue) -> Iterator:
        _positions, _issued, results, memory, local, cells = state
        unit, word = self.units[number], event.word
        if event.kind == "write-back":
            dirty = [
                cell
                for each in (0, 1)
                for depth, cell in enumerate(self.path[unit, each])
                if cells[cell] == DIRTY and self.kinds[depth].reach < event.reach
            ]
            states = {(memory, cells)}
            for cell in sorted(dirty, key=lambda cell: self.cells[cell][0]):
                states = {new for old in states for new in self.sent_on(*old, cell, event.reach)}
            for depth in range(len(self.kinds)):  # what has been sent on to a cache that is written back, too
                for each in (0, 1):
                    cell = self.path[unit, each][depth]
                    if self.kinds[depth].writes_back and self.kinds[depth].reach < event.reach:
                        states = {
                            new
                            for old in states
                            for new in (self.sent_on(*old, cell, event.reach) if old[1][cell] == DIRTY else (old,))
                        }
            for new_memory, new_cells in states:
                yield results, new_memory, local, new_cells
            return
        if event.is_local:
            value = local[word]
            if event.kind in ("store", "add"):
                yield results, memory, _with(local, word, 1), cells
            else:
                yield _with(results, event.result, value), memory, local, cells
            return
        path = self.path[unit, word]
        if event.kind == "store":
            for new_memory, new_cells in self.written(memory, cells, path, word, event.reach):
                yield results, new_memory, local, new_cells
            return
        states = {(memory, cells)}
        depth = 0
        is_atomic = event.kind != "load"
        while depth < len(path) and (
            self.kinds[depth].reach < event.reach or (is_atomic and not self.kinds[depth].writes_back)
        ):
            cell = path[depth]
            passed = set()
            for old in states:
                if old[1][cell] == DIRTY:
                    passed |= set(self.sent_on(*old, cell, OWN_UNIT))
                elif old[1][cell] == STALE:
                    passed |= {(old[0], new) for new in self.cleared(*old, [cell])}
                else:
                    passed.add(old)
            states = passed
            depth += 1
        for old_memory, old_cells in states:
            if event.kind == "add":
                for new_memory, new_cells in self.written(old_memory, old_cells, path[depth:], word, event.reach):
                    yield results, new_memory, local, new_cells
                continue
            value = self.seen(old_memory, old_cells, path[depth:], word)
            yield _with(results, event.result, value), old_memory, local, old_cells

    @staticmethod
    def seen(memory, cells, path, word: int) -> int:
        """Return what is read through some cells."""
        for cell in path:
            if cells[cell] != CLEAR:
                return int(cells[cell] == DIRTY)
        return memory[word]

    def passed(self, cells, path, reach: int) -> int | None:
        """Clear the cells that a written word passes; return the one that keeps it, None if that is memory."""
        for cell in path:
            kind = self.kinds[self.cells[cell][0]]
            if kind.writes_back and kind.reach >= reach:
                return cell
            cells[cell] = CLEAR
        return None

    def written(self, memory, cells, path, word: int, reach: int) -> Iterator:
        """Yield memory and cells after a 1 was written through some cells of one word."""
        new = list(cells)
        keeper = self.passed(new, path, reach)
        own = path if keeper is None else path[: path.index(keeper)]
        if keeper is not None:
            new[keeper] = DIRTY
            new_memory = memory
        else:
            new_memory = _with(memory, word, 1)
        for changed in self.stale_or_not(memory, cells, new_memory, tuple(new), frozenset(own)):
            yield new_memory, changed

    def sent_on(self, memory, cells, cell: int, reach: int) -> Iterator:
        """Yield memory and cells after a dirty word has been written to what is behind its cache."""
        word = self.cells[cell][2]
        below = self.below[cell]
        new = list(cells)
        new[cell] = CLEAR
        keeper = self.passed(new, below, reach)
        own = {cell, *(below if keeper is None else below[: below.index(keeper)])}
        new_memory = memory
        if keeper is not None:
            new[keeper] = DIRTY
        else:
            new_memory = _with(memory, word, 1)
        for changed in self.stale_or_not(memory, cells, new_memory, tuple(new), frozenset(own)):
            yield new_memory, changed

    def cleared(self, memory, cells, chosen) -> Iterator:
        """Yield cells after some have forgotten what is not dirty."""
        new = list(cells)
        for cell in chosen:
            if new[cell] == STALE:
                new[cell] = CLEAR
        yield from self.stale_or_not(memory, cells, memory, tuple(new), frozenset(chosen))

    def stale_or_not(self, memory, cells, new_memory, new, fresh) -> Iterator:
        """Yield cells in which each cache behind which a word has become 1 keeps the 0, or does not."""
        if new == cells and new_memory == memory:
            yield new
            return
        states = [new]
        for cell in self.deepest_first:
            if cell in fresh or new[cell] != CLEAR:
                continue
            word, below = self.cells[cell][2], self.below[cell]
            if cells[cell] != CLEAR or self.seen(memory, cells, below, word):
                continue
            stale = [_with(state, cell, STALE) for state in states if self.seen(new_memory, state, below, word)]
            states += stale
        yield from states


def _with(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


def can_show(litmus: Litmus, code: Code, changed: Mapping[int, bytes] = {}) -> bool:
    """Return whether a forbidden result can come out of a test with some instructions replaced."""
    threads = threads_of(litmus, code, changed)
    return shows(litmus.family, threads, placements(litmus), tuple(FORBIDDEN[litmus.name].items()))


@cache
def shows(family: str, threads: tuple[Thread, ...], chosen: tuple[tuple[int, ...], ...], forbidden) -> bool:
    """Return whether a forbidden result can come out on some of the places where the threads can be."""
    return any(Graph(family, threads, units).results(dict(forbidden)) for units in chosen)
