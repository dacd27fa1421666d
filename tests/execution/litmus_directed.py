"""Directed runs: the running machine follows a way of the graph of states to the forbidden result of a litmus test.

Only chance is replaced. `Director` stands in for the random numbers of a machine with weak memory: it answers each
question of the machine (which wave runs, when an access is performed, what a cache fetches, keeps or writes back) so
that the machine does what the way says. Each answer is one that a random number can be. Waves of further tests in the
same launch let time pass where the way needs it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

from dwarfgpu.execution.caches import FETCHES, KEEPS, KINDS, UNITS
from dwarfgpu.execution.launch.launch import machine_for
from dwarfgpu.execution.weak_memory import LATEST, RESTS, RUNS
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decoder
from dwarfgpu.isa.memory_actions import action_of
from tests.execution.litmus import FORBIDDEN, TARGETS, Litmus
from tests.execution.litmus_graph import (
    STALE,
    Code,
    Executed,
    Graph,
    Happening,
    State,
    Way,
    placements,
    rows_of_events,
    threads_of,
    traced,
)

FURTHER_TESTS = 12
"""How many groups of waves of further tests there are, whose instructions let time pass."""
NEVER, ALWAYS = 0.99, 0.0
"""Random numbers that are below no bound, and below every bound."""
WAITS_ITS_TURN = (RESTS + RUNS) / 2
"""A random number with which a wave neither rests nor runs."""
assert FETCHES < NEVER > KEEPS


@frozen
class Turn:
    """What the machine does for one happening of a way."""

    happening: Happening | None
    rows: tuple[int, ...]
    """How many instructions each thread has executed then."""
    state: State
    takes_time: bool
    """Whether an instruction of a further test is executed, so that time passes."""


def turns_of(litmus: Litmus, code: Code, way: Way) -> list[Turn]:
    """Return what the machine does to follow a way."""
    events = rows_of_events(litmus, code)
    turns = []
    for happening, state in way:
        rows = [events[thread][at - 1][0] + 1 if at else 0 for thread, at in enumerate(state[0])]
        takes_time = happening is not None and happening[0] in ("perform", "send on")
        turns.append(Turn(happening, tuple(rows), state, takes_time))
    return turns


class Director:
    """The random numbers of a machine that follows a way."""

    def __init__(self, litmus: Litmus, code: Code, graph: Graph, turns: list[Turn]) -> None:
        self.litmus, self.graph, self.turns = litmus, graph, turns
        self.at = 0
        """The turn."""
        self.wave = 0
        """The wave that runs."""
        self.entry = 0
        """The address of the first instruction."""
        self.first_words: tuple[int, ...] = ()
        """The words that are x and y of the first lane, as caches count them; -1 in LDS."""
        self.delays = self._delays(code)
        self.will_be_stale = [False] * len(graph.cells)
        self._units = self._answers_for_units()

    def _delays(self, code: Code) -> dict[tuple[int, int], int]:
        """Return how much later an access is performed than issued, by thread and instruction."""
        major = decoder(self.litmus.target, TARGETS[self.litmus.target]).major
        events = rows_of_events(self.litmus, code)
        now, issued, delays = 0, {}, {}
        done = [0] * len(code)
        for turn in self.turns:
            if turn.takes_time:
                now += 1
                kind, thread, place = turn.happening
                if kind == "perform":
                    row = events[thread][place][0]
                    place_of_row = code[thread][row].offset - code[thread][0].offset
                    delays[thread, place_of_row] = now - issued[thread, row]
            for thread, rows in enumerate(turn.rows):
                for row in range(done[thread], rows):
                    action = action_of(code[thread][row].instruction, major)
                    now += bool(action.invalidate) + bool(action.counters or action.write_back)
                    issued[thread, row] = now
                done[thread] = rows
        assert all(0 < delay < LATEST for delay in delays.values())
        return delays

    def _answers_for_units(self) -> list[list[int]]:
        """Return the answers that bring the threads to their compute units, in the order of the questions."""
        units = self.graph.units
        agents, within = [unit // UNITS for unit in units], [unit % UNITS for unit in units]
        if self.litmus.mode == "wgp":
            return [agents, within, [unit % 2 for unit in within]]
        if self.litmus.mode == "tgsplit":
            return [agents, within, within, [unit // 2 for unit in within]]
        return [agents, within]

    def take(self, number: int) -> Turn:
        """Begin a turn, and return it."""
        self.at = number
        for cell in range(len(self.will_be_stale)):
            self.will_be_stale[cell] = any(turn.state[5][cell] == STALE for turn in self.turns[number:])
        return self.turns[number]

    # --- Questions of the machine -------------------------------------------------------------------------------------

    def random(self, count: int | None = None) -> Any:
        """Answer with numbers from 0 to 1."""
        asking = sys._getframe(1)
        names, question = asking.f_locals, asking.f_code.co_name
        if question == "evict":
            return ALWAYS if self._sends_on(names["depth"], names["cache"]) is not None else NEVER
        answers = np.full(count, NEVER)
        if question == "_due":
            answers[:] = NEVER if self._delay(asking) else ALWAYS
        elif question == "going":
            answers[names["batch"].waves != self.wave] = WAITS_ITS_TURN
        elif question == "fetch_before":
            caches = np.full(count, names["cache"])
            for place, cell in self._cells(names["depth"], caches, names["word"]):
                answers[place] = ALWAYS if self.will_be_stale[cell] else NEVER
        elif question == "_read":
            caches = names["unit"] // KINDS[self.litmus.family][names["depth"]].units
            for place, cell in self._cells(names["depth"], caches, names["word"]):
                answers[place] = ALWAYS if self.turns[max(self.at - 1, 0)].state[5][cell] == STALE else NEVER
        elif question == "_clean":
            word = self._sends_on(names["depth"], names["cache"])
            answers[self._is_word(names["word"], word)] = ALWAYS
        elif question not in ("use", "_pause"):
            raise AssertionError(f"{question} asks for a random number, and the director has no answer")
        return answers

    def integers(self, low: int, high: int, count: int) -> Any:
        """Answer with numbers from a range."""
        asking = sys._getframe(1)
        question = asking.f_code.co_name
        answers = np.full(count, low)
        if question == "_due":
            answers[:] = min(self._delay(asking) or 1, high - 1)
        elif question == "use" and self._units and count:
            wanted = self._units.pop(0)
            group_of = asking.f_locals["group_of"]
            for wave, number in enumerate(wanted):
                answers[wave if count == len(group_of) else group_of[wave]] = number
        assert not count or (low <= answers.min() and answers.max() < high)
        return answers

    def permutation(self, count: int) -> Any:
        """Answer with an order."""
        asking = sys._getframe(1)
        order = np.arange(count)
        if asking.f_code.co_name == "chosen":
            has_wave = [self.wave in batch.waves for batch in asking.f_locals["batches"]]
            order = np.argsort(np.logical_not(has_wave), kind="stable")
        return order

    def choice(self, values: Any, count: int) -> Any:
        """Answer with one of some values."""
        return np.full(count, values[0])

    def shuffle(self, _values: Any) -> None:
        """Leave an order as it is."""

    def _delay(self, asking: FrameType) -> int:
        """Return how much later an access is performed that is issued now; 0 for at once."""
        return self.delays.get((self.wave, asking.f_back.f_locals["instruction"].address - self.entry), 0)

    def _sends_on(self, depth: int, cache: int) -> int | None:
        """Return which of x and y a cache writes back now, as it may at any time."""
        happening = self.turns[self.at].happening
        if self.wave < self.litmus.threads or happening is None or happening[0] != "send on":
            return None
        own_depth, own_cache, word = self.graph.cells[happening[1]]
        return word if (own_depth, own_cache) == (depth, cache) else None

    def _is_word(self, words: Any, word: int) -> Any:
        first = self.first_words[word]
        return (first >= 0) & (first <= words) & (words < first + self.litmus.lanes)

    def _cells(self, depth: int, caches: Any, words: Any) -> list[tuple[int, int]]:
        """Return which words of a question are x or y in a cache of the graph: the place, and the cell."""
        found = []
        for word in (0, 1):
            for place in np.flatnonzero(self._is_word(words, word)).tolist():
                cell = self.graph.index.get((depth, int(caches[place]), word))
                if cell is not None:
                    found.append((place, cell))
        return found


def _rows_that_touch_no_cache(litmus: Litmus, rows: tuple[Executed, ...]) -> int:
    """Return after how many instructions a thread has executed its last access before it invalidates or writes back."""
    major = decoder(litmus.target, TARGETS[litmus.target]).major
    last = 0
    for place, row in enumerate(rows):
        action = action_of(row.instruction, major)
        if action.invalidate or action.write_back:
            break
        if action.counters:
            last = place + 1
    return last


class DirectedRun:
    """A machine that follows a way."""

    def __init__(self, litmus: Litmus, path: Path, code: Code, director: Director) -> None:
        self.litmus, self.director = litmus, director
        self.code = code
        self.last_rows = [_rows_that_touch_no_cache(litmus, rows) for rows in code]
        self.machine = machine_for(str(path), "litmus")
        with patch("numpy.random.default_rng", lambda _seed: director):
            self.done = litmus.launched(self.machine, path, 0, litmus.lanes * (1 + FURTHER_TESTS))
            self.device = self.machine.device
        self.memory: Any = self.device.memory
        self.counts = [0] * len(self.memory.units)
        """How many instructions each wave has executed."""
        assert self.memory.random is director
        assert self.memory.units[: litmus.threads].tolist() == list(director.graph.units)
        director.first_words = tuple(map(self._first_word, ("xs", "ys"), litmus.spaces.split()))
        director.entry = self.device.batches[0].pc

    def _first_word(self, name: str, space: str) -> int:
        address = self.done.addresses[name]
        for segment, first in zip(self.memory.caches.segments, self.memory.caches.firsts, strict=False):
            if space == "global" and segment.start <= address < segment.end:
                return int(first) + (address - segment.start) // 4
        return -1

    def step(self, wave: int) -> None:
        """Let a wave execute its instructions up to the next one that ends a block, as each access does."""
        self.director.wave = wave
        before = self.device.executed
        self.device.run(before + 1)
        self.counts[wave] += self.device.executed - before

    def pass_time(self) -> None:
        """Let a wave of a further test execute an instruction that accesses memory."""
        now = self.memory.now
        threads = self.litmus.threads
        while self.memory.now == now:
            rows = self.counts[threads:]
            wave = threads + next(wave for wave, row in enumerate(rows) if row < self.last_rows[wave % threads])
            self.step(wave)
        assert self.memory.now == now + 1

    def advance(self, thread: int, rows: int) -> None:
        """Let a thread execute its instructions up to one."""
        while self.counts[thread] < rows:
            self.step(thread)

    def outcome(self) -> tuple[int, ...]:
        """Follow the way, and return the result."""
        for number in range(len(self.director.turns)):
            turn = self.director.take(number)
            if turn.takes_time:
                self.pass_time()
            for thread, rows in enumerate(turn.rows):
                self.advance(thread, rows)
        for thread, rows in enumerate(self.code):
            self.advance(thread, len(rows))
        halt = self.machine.run(limit=100_000)
        assert halt.has_ended, halt
        results = self.done.buffers["out"].reshape(-1, 4)[: self.litmus.lanes]
        assert (results == results[0]).all()
        return tuple(results[0].tolist())


def ways(litmus: Litmus, code: Code) -> Iterator[tuple[Graph, Way]]:
    """Yield a graph and its way to the forbidden result, for each place of the threads where there is one."""
    threads = threads_of(litmus, code)
    for units in placements(litmus):
        graph = Graph(litmus.family, threads, units)
        way = graph.way(FORBIDDEN[litmus.name])
        if way:
            yield graph, way


def directed_outcome(litmus: Litmus, path: Path, code: Code, graph: Graph, way: Way) -> tuple[int, ...]:
    """Return the result of a machine that follows a way."""
    return DirectedRun(litmus, path, code, Director(litmus, code, graph, turns_of(litmus, code, way))).outcome()


def follows(litmus: Litmus, path: Path) -> bool | None:
    """Return whether the machine follows a way to the forbidden result; nothing if there is no way."""
    code = traced(litmus, path)
    answer = None
    for graph, way in ways(litmus, code):
        if litmus.is_forbidden(directed_outcome(litmus, path, code, graph, way)):
            return True
        answer = False
    return answer
