"""Updates: stores of a number that was computed from what a load has read, as ``x++`` does.

If lanes of one instruction store the same number there, all but one update are lost, unless the operation gives the
same result again: ``x |= 4`` does. The code behind a load is followed as it stands, over branches that are not taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, GpuInstruction, GpuOperand

MOST_FOLLOWED = 128
"""The instructions behind a load that are looked at."""
_REPEATABLE = re.compile(
    r"[sv]_(dual_)?(pk_)?(and|or|or3|min\w*|max\w*|med3|mov|cmov|cmovk|movk|cndmask|cselect|bfe|bfi|perm\w*|align\w+"
    r"|cvt\w*|pack|readlane|readfirstlane|accvgpr_\w+|and_or|not_or|and_not\d|or_not\d|andn2|orn2|swap)_"
)
"""Operations that change nothing when they are done again with their result."""
_CONDITIONS = re.compile(r"[sv]_cmp|s_bitcmp|v_writelane")
_COPIES = re.compile(r"[sv]_(dual_)?mov_b(32|64)$")
_TURNED = 2
"""The ``op_sel`` with which v_pk_mov_b32 copies two registers that follow each other."""
_DATA = ("vdata", "data", "data0", "data1", "sdata")
_PAIRS = re.compile(r"ds_(read2|load_2addr|write2|store_2addr)")
"""Accesses of two places."""
Word = tuple[int, int]
"""A dword that an instruction reads or writes: of which of its places, and its number there."""
Words = frozenset[tuple[Word, bool]]
"""The words of the load that a register was computed from, each with whether a second time gives another result."""


@frozen
class Update:
    """A word that an instruction stores, and the word of a load that it was computed from."""

    store: int
    """The address of the instruction."""
    stored: Word
    read: Word


class UpdatesOfLoads:
    """Finds updates in some code, whose instructions are looked at once."""

    def __init__(self, instruction_at: Callable[[int], GpuInstruction], generation: int) -> None:
        self._instruction_at, self._generation = instruction_at, generation
        self._known: dict[int, FollowedInstruction | None] = {}
        self._stores: dict[int, int] = {}

    def of(self, address: int) -> set[Update]:
        """Return the stores of numbers that an operation has made of words of a load."""
        load = self._instruction_at(address)
        followed, at = _Followed(load), address + load.size
        for _number in range(self._as_far_as(at)):
            step = self._step(at)
            if step is None or not followed.words:
                break
            followed.follow(step.instruction, at, step.action)
            at = step.following
        return followed.found

    def _step(self, at: int) -> FollowedInstruction | None:
        """Return the instruction at an address, or None if it need not be followed."""
        if at not in self._known:
            try:
                instruction = self._instruction_at(at)
            except MachineFault:
                self._known[at] = None
                return None
            name, branch = instruction.name, instruction.branch or 0
            is_end = name.startswith(("s_endpgm", "s_barrier")) or name in CALLS or name in JUMPS
            size = branch if name in BRANCHES else instruction.size
            action = actions.action_of(instruction, self._generation)
            self._known[at] = None if is_end or size <= 0 else FollowedInstruction(instruction, action, at + size)
        return self._known[at]

    def _as_far_as(self, start: int) -> int:
        """Return how many instructions there are to a store, if they can be followed there; then all are looked at."""
        passed, at = list[int](), start
        while at not in self._stores and len(passed) < MOST_FOLLOWED and (step := self._step(at)) is not None:
            if step.is_store:
                self._stores[at] = 1
                break
            passed.append(at)
            at = step.following
        distance = self._stores.get(at, MOST_FOLLOWED + 1)
        for number, each in enumerate(reversed(passed), 1):
            if distance <= MOST_FOLLOWED or len(passed) < MOST_FOLLOWED:
                self._stores[each] = distance + number
        return MOST_FOLLOWED if distance + len(passed) <= MOST_FOLLOWED else 0


@frozen
class FollowedInstruction:
    """An instruction that is followed."""

    instruction: GpuInstruction
    action: actions.MemoryAction
    following: int

    @property
    def is_store(self) -> bool:
        """Whether it may store a number where others see it."""
        action = self.action
        return action.operation == actions.STORE and (action.space != actions.PRIVATE or action.is_by_descriptor)


def _words(operands: list[GpuOperand], name: str) -> Iterator[tuple[Word, actions.Register]]:
    """Yield the registers of what an instruction reads or writes, with the word of each."""
    registers = [register for operand in operands for register in actions.registers_of(operand)]
    size = len(registers) // 2 if _PAIRS.match(name) else len(registers)
    return ((divmod(number, size), register) for number, register in enumerate(registers))


class _Followed:
    """What is in registers and in private memory behind a load."""

    def __init__(self, load: GpuInstruction) -> None:
        self.words: dict[Any, Words] = {
            register: frozenset([(word, False)]) for word, register in _words([*load.destinations], load.name)
        }
        """By register or place, where there are some."""
        self.values: dict[actions.Register, Any] = {}
        """Where the value of a register comes from, if that is not what it had at the load."""
        self.found: set[Update] = set()

    def follow(self, instruction: GpuInstruction, at: int, action: actions.MemoryAction) -> None:
        written = [register for each in instruction.destinations for register in actions.registers_of(each)]
        values = {register: (at, register) for register in written} | self._copied(instruction)
        if action.operation:
            self._follow_access(instruction, at, action, written)
        else:
            self._follow_operation(instruction)
        self.values |= values

    def _copied(self, instruction: GpuInstruction) -> dict[actions.Register, Any]:
        """Return the values that an instruction copies."""
        copied: dict[actions.Register, Any] = {}
        for part in instruction.components or (instruction,):
            is_pair = part.name == "v_pk_mov_b32" and part.modifiers.get("op_sel") == _TURNED
            if is_pair or (_COPIES.match(part.name) and not part.variant):
                (to, *_), (source, *others) = part.destinations, part.sources
                if not others or others[0].text == source.text:
                    registers = actions.registers_of(to), actions.registers_of(source)
                    copied.update((new, self.values.get(old, old)) for new, old in zip(*registers, strict=False))
        return copied

    def _follow_operation(self, instruction: GpuInstruction) -> None:
        """Follow an operation from its sources to its results."""
        results: dict[Any, Words] = {}
        for part in instruction.components or (instruction,):
            registers = [register for each in part.sources for register in actions.registers_of(each)]
            words: Words = frozenset()
            if not self.words.keys().isdisjoint(registers) and not _CONDITIONS.match(part.name):
                changes = not _REPEATABLE.match(part.name)
                words = frozenset(
                    (word, is_changed or changes)
                    for register in registers
                    for word, is_changed in self.words.get(register, ())
                )
            for each in part.destinations:
                for register in actions.registers_of(each):
                    kept = frozenset() if each.half is None else self.words.get(register, frozenset())
                    results[register] = words | kept
        self._put(results)

    def _follow_access(
        self, instruction: GpuInstruction, at: int, action: actions.MemoryAction, written: list[actions.Register]
    ) -> None:
        """Follow an access, where private memory keeps what a register had.

        A generic store may change any variable, and keeps what it writes itself: at -O0, HIP has variables there.
        """
        place, offset = (action.space, *self._address(instruction)), instruction.modifiers.get("offset", 0)
        if action.space == actions.GENERIC and action.operation != actions.LOAD:
            self._put({each: frozenset() for each in self.words if isinstance(each, tuple)})
        data = [operand for operand in instruction.operands if operand.name in _DATA]
        for word, register in _words(data, instruction.name) if action.operation == actions.STORE else ():
            words = self.words.get(register, frozenset())
            if action.space in (actions.PRIVATE, actions.GENERIC):
                self._put({(place, offset + 4 * word[1]): words})
            if action.space != actions.PRIVATE or action.is_by_descriptor:
                self.found |= {Update(at, word, read) for read, is_changed in words if is_changed}
        self._put(
            {register: self.words.get((place, offset + 4 * n), frozenset()) for n, register in enumerate(written)}
        )

    def _address(self, instruction: GpuInstruction) -> Iterator[Any]:
        """Yield the values that an address is computed from, or the texts of operands that are no registers."""
        for operand in instruction.operands:
            if operand.name not in (*_DATA, "vdst", "sdst"):
                registers = actions.registers_of(operand)
                yield from (self.values.get(each, each) for each in registers) if registers else (operand.text,)

    def _put(self, results: dict[Any, Words]) -> None:
        self.words.update(results)
        for register in [each for each, words in results.items() if not words]:
            del self.words[register]
