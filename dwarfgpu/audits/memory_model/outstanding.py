"""What is outstanding at each instruction, over all paths: accesses that are not complete, and registers in flight.

An access is outstanding from its instruction until a wait for each of its counters lets at most as few operations
remain as have begun after it. Where paths meet, it is outstanding if it is so on one of them, with the fewest
operations behind it. So "complete" always means: on every path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dwarfgpu.isa.memory_actions import CounterNames, Register, counters_of, covers

if TYPE_CHECKING:
    from dwarfgpu.audits.memory_model.function_code import FunctionCode

BEFORE = -1
"""What stands for the accesses before the function was called."""
MOST = 63
"""More operations of a kind are never outstanding."""

Obligation = tuple[int, str]
"""An access that later instructions are to complete, and for which scope."""


class OutstandingState:
    """What is outstanding before an instruction."""

    __slots__ = ("flying", "invalidated", "owed", "pending", "written_back")

    def __init__(self) -> None:
        self.pending: dict[str, dict[int, int]] = {}
        """By counter: the instructions whose accesses are outstanding, and how many have begun after each."""
        self.flying: dict[Register, tuple[int, ...]] = {}
        """The registers that outstanding loads write."""
        self.owed: dict[Obligation, tuple[str, ...]] = {}
        """The accesses that an acquire is not complete for, with the invalidates that are missing."""
        self.written_back: frozenset[str] = frozenset()
        """What was written back since the last store."""
        self.invalidated: frozenset[str] = frozenset()
        """What was invalidated since the last access."""

    def copy(self) -> OutstandingState:
        """Return a state that can be changed."""
        state = OutstandingState()
        state.pending = {counter: dict(rows) for counter, rows in self.pending.items()}
        state.flying = dict(self.flying)
        state.owed = dict(self.owed)
        state.written_back, state.invalidated = self.written_back, self.invalidated
        return state

    def is_outstanding(self, index: int, counters: Iterable[str] | None = None) -> bool:
        """Return whether an access counts in one of some counters, or in any."""
        rows = self.pending.values() if counters is None else (self.pending.get(name, {}) for name in counters)
        return any(index in row for row in rows)

    def join(self, other: OutstandingState) -> bool:
        """Add what another path has; return whether that changes anything."""
        changed = False
        for counter, rows in other.pending.items():
            own = self.pending.setdefault(counter, {})
            for index, younger in rows.items():
                if own.get(index, MOST + 1) > younger:
                    own[index] = younger
                    changed = True
        for register, owners in other.flying.items():
            known = self.flying.get(register, ())
            missing = [owner for owner in owners if owner not in known]
            if missing:
                self.flying[register] = (*known, *missing)
                changed = True
        for obligation, missing_parts in other.owed.items():
            if obligation not in self.owed or len(self.owed[obligation]) < len(missing_parts):
                self.owed[obligation] = missing_parts
                changed = True
        written_back, invalidated = self.written_back & other.written_back, self.invalidated & other.invalidated
        if written_back != self.written_back or invalidated != self.invalidated:
            self.written_back, self.invalidated = written_back, invalidated
            changed = True
        return changed


class OutstandingFlow:
    """Follows the accesses of one function along all paths."""

    def __init__(self, function: FunctionCode) -> None:
        self.function = function
        self.names: CounterNames = counters_of(function.major)

    def entry(self) -> OutstandingState:
        """Return the state at the first instruction: of a function, stores of its caller may be outstanding.

        All else that its caller has begun is complete ("Any necessary s_waitcnt has been performed", AMDGPU usage,
        "Call Convention"); compilers wait for loads only.
        """
        state = OutstandingState()
        if not self.function.is_kernel:
            state.pending = {name: {BEFORE: 0} for name in self.names.left}
        return state

    def states(self) -> list[OutstandingState | None]:
        """Return the state at the beginning of each block; None for blocks that no path leads to."""
        blocks = self.function.blocks
        states: list[OutstandingState | None] = [None] * len(blocks)
        if not blocks:
            return states
        states[0] = self.entry()
        waiting = {0}
        while waiting:
            number = min(waiting)
            waiting.discard(number)
            state = states[number]
            assert state is not None  # noqa: S101
            after = state.copy()
            block = blocks[number]
            for index in range(block.first, block.stop):
                self.advance(after, index)
            for following in block.successors:
                known = states[following]
                if known is None:
                    states[following] = after.copy()
                    waiting.add(following)
                elif known.join(after):
                    waiting.add(following)
        return states

    # --- One instruction ----------------------------------------------------------------------------------------------

    def advance(self, state: OutstandingState, index: int) -> None:
        """Change a state to that after an instruction."""
        step = self.function.steps[index]
        action = step.action
        for counter, most in action.waits:
            self.wait(state, counter, most)
        if step.is_call:  # all accesses are complete, except for stores, which are unknown
            state.pending = {name: {index: 0} for name in self.names.left}
            state.flying.clear()
            state.written_back = state.invalidated = frozenset()
        if action.invalidate:
            self.invalidate(state, action.invalidate)
        if not action.counters:
            return
        if action.write_back:
            state.written_back |= {action.write_back}
        elif action.is_shared:
            if action.operation != "load":
                state.written_back = frozenset()
            state.invalidated = frozenset()
        for counter in action.counters:
            rows = state.pending.setdefault(counter, {})
            for other in list(rows):
                if rows[other] >= MOST:
                    del rows[other]
                    self._land(state, other)
                else:
                    rows[other] += 1
            rows[index] = 0
        for register in action.written:
            owners = state.flying.get(register, ())
            if index not in owners:
                state.flying[register] = (*owners, index)

    def wait(self, state: OutstandingState, counter: str, most: int) -> None:
        """Complete what a wait lets no longer remain."""
        rows = state.pending.get(counter)
        if not rows:
            return
        for index in list(rows):
            if rows[index] >= most and (
                most == 0 or (index != BEFORE and self.function.steps[index].action.is_ordered)
            ):
                del rows[index]
                self._land(state, index)

    def _land(self, state: OutstandingState, index: int) -> None:
        """Let go of the registers of an access that is complete."""
        if index == BEFORE or state.is_outstanding(index):
            return
        for register in self.function.steps[index].action.written:
            owners = tuple(owner for owner in state.flying.get(register, ()) if owner != index)
            if owners:
                state.flying[register] = owners
            else:
                state.flying.pop(register, None)

    def invalidate(self, state: OutstandingState, text: str) -> None:
        """Note an invalidate, for the accesses that wait for one and are complete."""
        state.invalidated |= {text}
        for obligation, missing in list(state.owed.items()):
            state.owed[obligation] = tuple(part for part in missing if not covers(text, part))
