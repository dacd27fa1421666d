"""Where the code of a function has put what its caller had in registers: a forward reading over all paths.

Functions of AMDGPU compilers are entered with the return address in s[30:31] and the stack pointer in s32, and give
back s32, EXEC and the registers that a callee preserves ("Non-Kernel Functions" in the AMDGPU usage guide). Between,
scalar registers lie in other scalar registers or in lanes of vector registers, and these in slots of scratch memory.

A scalar value is a symbol and a constant. Symbols below 128 are what a register held at entry, `NUMBER` is none, and
others name the instruction, or the join of paths, that made the value. A vector register, or a slot, consists of the
lanes that were active at entry, all other lanes, and single lanes in which scalars were written.

The symbols of masks without a lane that was not active at entry differ from those of other masks (`_is_within`): what
is written under one of the others may be in any lane.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, TypeAlias

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import BankFollower, decode, with_banks
from dwarfgpu.isa.instruction import BRANCHES, CALLS, JUMPS, PC_READS, GpuInstruction, GpuOperand, OperandKind

Scalar: TypeAlias = "tuple[int, int] | None"
"""A symbol and a constant; None is unknown."""
Lanes: TypeAlias = "tuple[int, int, dict[int, Scalar]]"
"""Of the lanes active at entry and of the others, whose register they are (or -1); lanes with a scalar."""
Source: TypeAlias = "range | list[Scalar]"
"""The scalar registers that an operand reads, or the values that it has itself."""
Step: TypeAlias = "tuple[int, GpuInstruction, Any, Any]"
"""An instruction at its address, with the method that executes it and what this needs to know."""

RETURN_LOW, RETURN_HIGH, STACK = 30, 31, 32
EXEC, OUTSIDE, CARRY, WITHIN = 126, 130, 132, 134
"""The first of two registers each; `OUTSIDE` is the symbol of the lanes not active at entry, and `WITHIN` stands for
any mask of lanes that were: two of these need not be equal."""
NUMBER = -1
INVERTED = 1 << 32
"""The constant of a mask of all lanes but those that its symbol has."""
ACCUMULATION = 256
"""The number of a0 among vector registers, or of v256 where there is one."""
MAX_INSTRUCTIONS = 1 << 16
"""How long a function may be that is read."""
MAX_BLOCK = 16
"""How many instructions are between two states that are kept."""
MAX_DEPTH = 24
"""How many functions that call each other are read for what the first one changes."""
MAX_COMPUTED = 8
"""How many instructions before a jump may compute where it goes in its function: a branch too far for an offset."""
MAX_INDEXED = 8
"""How many instructions may be between the start and the end of indexing."""
_INDEXED_DESTINATION = 8
"""The bit of `s_set_gpr_idx_on` by which destinations are indexed."""
MAX_ROUNDS = 6
WORD = (1 << 32) - 1

_ALL: Scalar = (NUMBER, WORD)
_NO_LANES: Scalar = (NUMBER, 0)
_NAMED = frozenset((STACK, 33, 34, EXEC, EXEC + 1))
"""Registers of which unknown values get a symbol: others are found through them, or hold them for a while."""
_UNKNOWN: Lanes = (-1, -1, {})
_NOTHING: Source = [None]
_ADD = re.compile(r"s_((add|sub)k?_(co_)?[iu]32|(addc|add_co_ci)_u32)$")
_WITH_CARRY = frozenset(("s_addc_u32", "s_add_co_ci_u32"))
_SAVES_MASK = re.compile(r"s_(\w+)_saveexec_")
_COMBINES = re.compile(r"s_(and|or|xor|andn2|and_not1|not)_b(?:32|64)$")
_MOVES = frozenset(("s_mov_b32", "s_mov_b64", "s_movk_i32"))
_LOADS = frozenset(("s_load_b64", "s_load_dwordx2"))
_LANES = frozenset(("v_writelane_b32", "v_readlane_b32"))
_VECTOR_MOVES = ("v_mov_b32", "v_accvgpr_write_b32", "v_accvgpr_read_b32", "v_accvgpr_mov_b32", "v_accvgpr_write",
                 "v_accvgpr_read")  # fmt: skip
_KEEPS_CARRY = re.compile(r"s_(mov|movk|cmov|cselect|get_?pc|sext|mul|pack|swap_?pc|nop|wait|brev|bitset)")
_SCRATCH = re.compile(r"(?:scratch|buffer)_(load|store)_(dword(?:x[234])?|b(?:32|64|96|128))$")
_INDEXED = re.compile(r"v_movrel(?!s_)|s_movreld|s_set_gpr_idx_on|v_swaprel")
_COMPUTED = ("lds", "tfe", "idxen", "offen")
_ENDS = BRANCHES | {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"}


_TRAP = 2
"""The number of llvm.trap, behind which is no code of the same path (AMDGPU usage, "Trap Handler ABI").

On GFX11 there may be code of its own that halts the wave.
"""


class CodeState:
    """Where registers of the caller are before an instruction. What is absent is as at entry, a slot unknown."""

    __slots__ = ("called", "lost", "mask", "scalars", "slots", "vectors")

    def __init__(
        self, scalars: dict[int, Scalar], vectors: dict[int, Lanes], slots: dict[tuple[int, int], Lanes]
    ) -> None:
        self.scalars = scalars
        self.vectors = vectors
        self.slots = slots
        """By the symbol of the base and the bytes of the wave behind it."""
        self.mask = ""
        """Which lanes an instruction writes, once that was asked for; what changes EXEC makes it empty."""
        self.lost: Clobbers | None = None
        """In a call, what functions may have changed that it made and that are gone: they ended with a call."""
        self.called: int | None = None
        """In a call, the only function that can return there: what is called, if that does not end with a call."""

    def copy(self) -> CodeState:
        return CodeState(dict(self.scalars), dict(self.vectors), dict(self.slots))

    def equals(self, other: CodeState) -> bool:
        return self.scalars == other.scalars and self.vectors == other.vectors and self.slots == other.slots

    def scalar(self, register: int) -> Scalar:
        return self.scalars.get(register, (register, 0))

    def vector(self, number: int) -> Lanes:
        return self.vectors.get(number) or (number, number, {})

    def forget(self, symbol: int, symbols_in: Callable[[dict[int, Scalar]], frozenset[int]]) -> None:
        """Make unknown what holds a symbol that gets another value; a function returns the symbols in lanes."""
        self.mask = ""
        for register, value in self.scalars.items():
            if value is not None and value[0] == symbol:
                self.scalars[register] = _both(value, _NO_LANES)
        for places in (self.vectors, self.slots):
            for key, (entry, outside, lanes) in places.items():
                if lanes and symbol in symbols_in(lanes):
                    lost = [lane for lane, value in lanes.items() if value is not None and value[0] == symbol]
                    faded = {lane: _both(lanes[lane], _NO_LANES) for lane in lost}
                    places[key] = entry, outside, {**lanes, **faded}  # type: ignore[index]
        for slot in [slot for slot in self.slots if slot[0] == symbol]:
            del self.slots[slot]


@frozen
class Clobbers:
    """What a function changes, as far as its callers can see, or an instruction of which no more is known."""

    scalars: frozenset[int]
    active: frozenset[int]
    """Vector registers whose active lanes it may change."""
    whole: frozenset[int] = frozenset()
    """Vector registers of which it may change all lanes."""
    leaves: bool = False
    """Whether it goes to other functions without coming back."""
    returns: bool = True
    """Whether it may return: not if each path ends the wave, traps, or goes round forever."""

    def is_within(self, other: Clobbers) -> bool:
        """Return whether it changes no register that another one keeps."""
        scalars, whole = self.scalars <= other.scalars, self.whole <= other.whole
        return scalars and whole and self.active <= other.active | other.whole

    def with_those_of(self, other: Clobbers) -> Clobbers:
        """Return what one of two changes."""
        scalars, active, whole = self.scalars | other.scalars, self.active | other.active, self.whole | other.whole
        return Clobbers(scalars, active, whole, self.leaves or other.leaves)


_PRESERVED = {32, *range(33, 40), *range(48, 56), *range(64, 72), *range(80, 88), *range(96, 104), EXEC, EXEC + 1}
BY_ABI = Clobbers(
    frozenset(range(128)) - _PRESERVED,
    frozenset(n for n in range(1024) if n >= ACCUMULATION or n < 40 or (n - 40) % 16 >= 8),
    leaves=True,
)
"""What a function may change of which nothing is known, by every edition of the ABI."""


class FunctionReading:
    """The states of one function, kept where its blocks begin."""

    def __init__(self, code: bytes, start: int, reader: CodeReading) -> None:
        self.start = start
        self.end = start + len(code)
        self._code = code
        self._reading = reader
        self._aliases: set[int] = set()
        """Symbols of values that EXEC must have had at entry, because it has them at a return."""
        self._mask = (EXEC, EXEC + 1) if reader.wave_size == 64 else (EXEC,)
        self._masks: dict[str, list[Scalar]] = {
            "entry": [(register, 0) for register in self._mask],
            "all": [_ALL for _register in self._mask],
            "outside": [(register - EXEC + OUTSIDE, 0) for register in self._mask],
        }
        self._blocks: dict[int, tuple[int, tuple[Step, ...], tuple[int, ...]]] = {}
        """By their start: the address behind the last instruction, the instructions, and what may follow."""
        self._starts: list[int] = []
        self._open: set[int] = set()
        """The blocks behind which is no code of the function."""
        self._joins: set[int] = set()
        """The blocks to which more than one way leads."""
        self._before: dict[int, CodeState] = {}
        self._derived: dict[int, tuple[int, int | None]] = {}
        """Masks that are part of another: which, and what the rest of that is, where it is known."""
        self._numbers: dict[tuple[int, int, int | None], int] = {}
        """Their symbols, by the instruction that made them, and by what they are."""
        self._users: dict[int, set[int]] = {}
        """The masks to forget with a symbol."""
        self.rests: dict[int, list[tuple[int, int]]] = {}
        """By a mask, the pairs of masks whose difference it is."""
        self._made: set[int] = set()
        """The symbols that something may hold."""
        self._symbols: dict[int, tuple[dict[int, Scalar], frozenset[int]]] = {}
        """Lanes with scalars, which never change, by their identity, with the symbols in them."""
        self.clobbers = BY_ABI
        self.other_link = ""
        """The registers of its caller that it goes on to in place of a return: it may have been called by them."""
        self._find_blocks()
        for _round in range(MAX_ROUNDS):
            if not self._run():
                break

    # --- Blocks ---------------------------------------------------------------------------------------------------

    def _find_blocks(self) -> None:
        steps: dict[int, Step] = {}
        followed: dict[int, tuple[int, ...]] = {}
        leaders = {self.start}
        if not self._find_steps(self.start, steps, followed, leaders):
            return
        reached = frozenset(steps)
        for pc in reached:
            behind = pc + steps[pc][1].size
            if _is_trap(steps[pc][1]) and behind not in reached:  # what executes where the trap does nothing
                self._find_steps(behind, steps, followed, leaders)
                followed[pc] = (behind,) if behind in steps else ()
                leaders.update(followed[pc])
        for pc in steps.keys() - reached:
            after = followed.get(pc, (pc + steps[pc][1].size,))
            if not reached.isdisjoint(after):
                followed[pc] = tuple(each for each in after if each not in reached)
        for leader in leaders & steps.keys():
            block, pc = [steps[leader]], leader
            while True:
                last, pc = pc, pc + len(block[-1][1].data)
                if last in followed or pc in leaders or pc not in steps:
                    break
                block.append(steps[pc])
            after = followed.get(last, (pc,))
            self._blocks[leader] = pc, tuple(block), tuple(each for each in after if each in steps)
            if not steps.keys() >= {*after} and leader in reached:
                self._open.add(leader)
        self._starts = sorted(self._blocks)
        ways = Counter(each for _end, _steps, following in self._blocks.values() for each in following)
        self._joins = {self.start, *(block for block, count in ways.items() if count > 1)}

    def _find_steps(
        self, start: int, steps: dict[int, Step], followed: dict[int, tuple[int, ...]], leaders: set[int]
    ) -> bool:
        """Add the instructions that are reached from an address; return whether they are not too many."""
        waiting = [start]
        while waiting:
            pc, length = waiting.pop(), 0
            indexed: frozenset[int] = frozenset()
            path: list[Step] = []
            banks = self._reading.banks()
            while self.start <= pc < self.end and pc not in steps:
                if len(steps) > MAX_INSTRUCTIONS:
                    return False
                try:
                    instruction, action, facts = self._reading.prepared(self._code, pc - self.start, banks.mode)
                    banks.follow(instruction)
                except DwarfGpuError:
                    break
                if instruction.name == "s_set_gpr_idx_on":
                    indexed = self._reads_by_index(pc, instruction)
                if pc in indexed:  # it moves from a register that nobody knows
                    action, facts = FunctionReading._lose, _destinations(instruction)
                steps[pc] = pc, instruction, action, facts
                path.append(steps[pc])
                behind = pc + len(instruction.data)
                after = self._followers(path, behind)
                if after is not None:
                    followed[pc] = after
                    leaders.update(after)
                    waiting += [each for each in after if each != behind]
                if (behind,) != followed.get(pc, (behind,))[:1]:
                    break
                pc, length = behind, length + 1
                if length % MAX_BLOCK == 0:
                    leaders.add(pc)
        return True

    def _followers(self, path: list[Step], behind: int) -> tuple[int, ...] | None:
        """Return what may follow the last instruction of a path; None if that is the next one, and no jump."""
        pc, instruction, _action, _facts = path[-1]
        name = instruction.form.name
        if instruction.branch is not None and name not in CALLS:
            target = pc + instruction.branch
            return (target,) if name in _ENDS else (behind, target)
        if name in JUMPS:
            return self._jump_targets(path[-MAX_COMPUTED:])
        return () if (name in _ENDS and name not in BRANCHES) or _is_trap(instruction) else None

    def _reads_by_index(self, pc: int, instruction: GpuInstruction) -> frozenset[int]:
        """Return the instructions from one that starts indexing to the end of that, if they are moves from registers.

        If destinations are indexed, any vector register may be written.
        """
        found: set[int] = set()
        while len(found) < MAX_INDEXED and (not found or instruction.name == "v_mov_b32"):
            if not found and instruction.operands[1].value & _INDEXED_DESTINATION:
                break
            found.add(pc)
            pc += instruction.size
            try:
                instruction = self._reading.prepared(self._code, pc - self.start)[0]
            except DwarfGpuError:
                break
        return frozenset(found) if instruction.name == "s_set_gpr_idx_off" else frozenset()

    def _jump_targets(self, steps: list[Step]) -> tuple[int, ...]:
        """Return where in the function a jump goes by an address that the instructions before it compute."""
        if all(instruction.name not in PC_READS for _pc, instruction, _action, _facts in steps):
            return ()
        state = CodeState({}, {}, {})
        for pc, instruction, action, facts in steps[:-1]:
            if instruction.name in CALLS:
                state = CodeState({}, {}, {})
            else:
                action(self, state, facts, pc)
        target = self._target(state, steps[-1][1], 0)
        return () if target is None or not self.start <= target < self.end else (target,)

    def _run(self) -> bool:
        """Find the states of all blocks; return whether another round would find more."""
        if self.start not in self._blocks:  # it is too long, or no code
            return False
        self._before = {self.start: CodeState({}, {}, {})}
        self._made.clear()
        for kept in (self._derived, self._numbers, self._users, self.rests, self._symbols):
            kept.clear()
        waiting, is_waiting = [self.start], {self.start}
        after: dict[int, CodeState] = {}
        while waiting:
            block = heappop(waiting)
            is_waiting.discard(block)
            _end, steps, following = self._blocks[block]
            state = self._before[block].copy()
            is_last = any(action(self, state, facts, pc) for pc, _instruction, action, facts in steps)
            if is_last:
                after.pop(block, None)
                continue
            after[block] = state
            for each in following:
                if self._join(each, state) and each not in is_waiting:
                    is_waiting.add(each)
                    heappush(waiting, each)
        return self._summarize(after)

    def _join(self, block: int, state: CodeState) -> bool:
        """Let a state arrive at a block; return whether less is known there than before."""
        known = self._before.get(block)
        if block not in self._joins:
            self._before[block] = state
            return known is None or not known.equals(state)
        if known is None:
            self._before[block] = state.copy()
            return True
        is_changed = False
        for register in {register for register, _value in known.scalars.items() ^ state.scalars.items()}:
            old, new = known.scalar(register), state.scalar(register)
            if old is None or old == new:
                continue
            value = _both(old, new)
            if register >= EXEC or (value is None and register in _NAMED):
                symbol = _symbol(block, register, value) | 128
                value = self._named(symbol, register)
                if value == old:
                    continue
                self._make(known, symbol)
            elif value == old:
                continue
            known.scalars[register] = value
            is_changed = True
        for number in known.vectors.keys() | state.vectors.keys():
            if known.vectors.get(number) is state.vectors.get(number):
                continue
            one, other = known.vector(number), state.vector(number)
            if one is not _UNKNOWN and one != (both := _common(one, other)):
                known.vectors[number] = both
                is_changed = True
        for slot, one in list(known.slots.items()):
            other = state.slots.get(slot, _UNKNOWN)
            if one is not other and one != (both := _common(one, other)):
                is_changed = True
                if both is _UNKNOWN:
                    del known.slots[slot]
                else:
                    known.slots[slot] = both
        return is_changed

    def _make(self, state: CodeState, symbol: int) -> None:
        """Give a symbol another value, and so those that are made of it."""
        waiting, done = [symbol], {symbol}
        while waiting:
            each = waiting.pop()
            if each in self._made:
                state.forget(each, self._symbols_in)
                users = self._users.get(each, set()) - done
                waiting += users
                done |= users
        self._made |= done

    def _symbols_in(self, lanes: dict[int, Scalar]) -> frozenset[int]:
        known = self._symbols.get(id(lanes))
        if known is None:
            symbols = frozenset(value[0] for value in lanes.values() if value is not None)
            known = self._symbols[id(lanes)] = lanes, symbols
        return known[1]

    def _named(self, symbol: int, register: int) -> Scalar:
        return (register, 0) if register >= EXEC and symbol in self._aliases else (symbol, 0)

    def _summarize(self, after: dict[int, CodeState]) -> bool:  # noqa: C901 (one thing after the other)
        """Find out what the function changes, and other names of EXEC at entry; return whether there are new ones."""
        scalars: set[int] = set()
        active: set[int] = set()
        whole: set[int] = set()
        found: set[int] = set()
        changed: set[int] = set()
        gone: Clobbers | None = None
        returns, goes_on_by = 0, ""
        for block, state in after.items():
            _end, steps, following = self._blocks[block]
            last = steps[-1][1]
            if last.name not in JUMPS or (following and self._target(state, last, 0) in following):
                continue
            scalars.update(register for register in state.scalars if state.scalar(register) != (register, 0))
            changed.update(register for register in (STACK, *self._mask) if _is_other(register, state.scalar(register)))
            for number, (entry, outside, lanes) in state.vectors.items():
                if outside != number or lanes:
                    whole.add(number)
                elif entry != number:
                    active.add(number)
            if not self._is_return(state, last):
                other = self._reading.clobbers_of(self._target(state, last, 0))
                gone = other if gone is None else gone.with_those_of(other)
                operand = last.operands[0]
                if all(state.scalar(each) == (each, 0) for each in (operand.index, operand.index + 1)):
                    goes_on_by = operand.text
                continue
            returns += 1
            for register in self._mask:
                value = state.scalar(register)
                if value is not None and value[0] > 255:
                    found.add(value[0])
        waiting = list(found - self._aliases)
        is_new = bool(waiting)
        while waiting:  # where a join is EXEC of entry, so is what arrives there
            symbol = waiting.pop()
            self._aliases.add(symbol)
            if symbol & 128:
                for block, (_end, _steps, following) in self._blocks.items():
                    comes = block in after and (symbol >> 8) - 1 in following
                    register = symbol & 127
                    register |= 2 if register >= EXEC - 2 else 0  # without WITHIN
                    value = after[block].scalar(register) if comes else None
                    if value is not None and value[0] > 255 and value[0] not in self._aliases:
                        waiting.append(value[0])
        self.other_link = "" if returns else goes_on_by
        if not returns and gone is None:
            scalars |= BY_ABI.scalars
            active |= BY_ABI.active
        kept = {STACK, EXEC, EXEC + 1} - changed
        leaves = gone is not None or not self._open.isdisjoint(after)
        may_return = leaves or returns > 0
        own = Clobbers(frozenset(scalars - kept), frozenset(active), frozenset(whole), leaves, may_return)
        self.clobbers = own if gone is None else own.with_those_of(gone)
        return is_new

    @staticmethod
    def _is_return(state: CodeState, instruction: GpuInstruction) -> bool:
        operand = instruction.operands[0]
        return [state.scalar(operand.index), state.scalar(operand.index + 1)] == [(RETURN_LOW, 0), (RETURN_HIGH, 0)]

    # --- One instruction ------------------------------------------------------------------------------------------

    def state_at(self, address: int) -> CodeState | None:
        """Return the state before the instruction at an address, or in a call where the address is inside it.

        None is the answer for addresses that no path from the entry reaches.
        """
        before = reversed(self._starts[: bisect_right(self._starts, address)])
        block = next((start for start in before if address < self._blocks[start][0]), None)
        if block is None or block not in self._before:
            return None
        state = self._before[block].copy()
        for pc, instruction, action, facts in self._blocks[block][1]:
            if pc == address:
                return state
            if pc < address < pc + instruction.size:
                if instruction.name in CALLS:
                    target = self._target(state, instruction, pc)
                    clobbers = self._reading.clobbers_of(target)
                    state.lost, state.called = (clobbers, None) if clobbers.leaves else (None, target)
                    self._change(state, state.lost or _JUST_CALLED, pc)
                    return state
                return None
            if action(self, state, facts, pc):
                return None
        return None

    @classmethod
    def prepared(cls, instruction: GpuInstruction, wave_size: int) -> tuple[GpuInstruction, Any, Any]:  # noqa: C901, PLR0911, PLR0912 (one for each form)
        """Return an instruction with the method that executes it, and what this needs to know."""
        name, operands = instruction.name, instruction.operands
        if name in CALLS or name in PC_READS:
            return instruction, cls._call if name in CALLS else cls._get_pc, instruction
        if name in _MOVES:
            return instruction, cls._move, (operands[0].index, _source(operands[1], operands[0].count))
        if name == "s_sext_i32_i16":
            return instruction, cls._sign_extend, (operands[0].index, _source(operands[1]))
        if name in _LOADS and (operands[2].kind is OperandKind.IMMEDIATE or operands[2].register == "null"):
            offset = operands[2].value + instruction.modifiers.get("offset", 0)
            return instruction, cls._load, (operands[0].index, _source(operands[1], 2), offset)
        if name in _LANES:
            source, lane = operands[1], _source(operands[2])
            if name == "v_writelane_b32":
                return instruction, cls._write_lane, (operands[0].index, _source(source), lane)
            if source.kind is OperandKind.VGPR:
                return instruction, cls._read_lane, (operands[0].index, source.index, lane)
        elif name in _VECTOR_MOVES:
            target, source = operands[:2]
            is_plain = not (instruction.variant or instruction.modifiers or source.negated or source.absolute)
            if is_plain and source.bits == 32 and _vectors(source) and _vectors(target):
                return instruction, cls._move_vector, (_vectors(target)[0], _vectors(source)[0])
        elif scratch := _SCRATCH.match(name):
            data = instruction.operand("vdata") or instruction.operand("vdst")
            if data is not None and not any(instruction.modifiers.get(each) for each in _COMPUTED):
                address = instruction.operand("vaddr")
                base = instruction.operand("soffset") or instruction.operand("saddr")
                is_fixed = base is not None and address is not None and address.kind is OperandKind.OFF
                offset = instruction.modifiers.get("offset", 0) * wave_size
                start = _source(base) if base is not None and is_fixed else _NOTHING
                return instruction, cls._scratch, (scratch[1] == "load", tuple(_vectors(data)), start, offset)
        elif _ADD.match(name):
            sources = [_source(operand) for operand in operands[-2:]]
            return instruction, cls._add, (operands[0].index, sources, "sub" in name, name in _WITH_CARRY)
        elif (saves := _SAVES_MASK.match(name)) and operands[0].count == wave_size // 32:
            return instruction, cls._save_mask, (operands[0].index, saves[1], _source(operands[1], operands[0].count))
        elif combines := _COMBINES.match(name):
            count = operands[0].count
            sources = [_source(operand, count) for operand in operands[1:3]]
            if combines[1] == "not":
                return instruction, cls._combine, (operands[0].index, "xor", [*sources, [_ALL] * count])
            return instruction, cls._combine, (operands[0].index, combines[1], sources)
        elif name.startswith("v_cmp"):
            return instruction, cls._compare, (instruction.destinations, "cmpx" in name)
        action = cls._write_by_index if _INDEXED.match(name) else cls._lose
        return instruction, action, _written_by(instruction, wave_size)

    def write(self, state: CodeState, register: int, value: Scalar, pc: int) -> None:
        """Put a value into a scalar register; one that is unknown gets a symbol where it matters."""
        if register in _NAMED if value is None else register >= EXEC and value[0] in (WITHIN, WITHIN + 1):
            symbol = _symbol(pc, register, value)
            self._make(state, symbol)
            value = self._named(symbol, register)
        if register >= EXEC:
            state.mask = ""
        if value == (register, 0):
            state.scalars.pop(register, None)
        else:
            state.scalars[register] = value

    def mask(self, state: CodeState) -> str:
        """Return which lanes an instruction writes: all, entry, outside, part, or any."""
        if not state.mask:
            state.mask = self._lanes_of([state.scalar(register) for register in self._mask])
        return state.mask

    def _lanes_of(self, values: list[Scalar]) -> str:
        for lanes, expected in self._masks.items():
            if values == expected:
                return lanes
        return "part" if all(_is_within(value, word) for word, value in enumerate(values)) else "any"

    def put(self, state: CodeState, number: int, new: Lanes) -> None:
        """Write lanes of a vector register under EXEC."""
        old = state.vector(number)
        if old is not new:
            state.vectors[number] = _written(old, new, self.mask(state))

    def _lose(self, state: CodeState, clobbers: Clobbers, pc: int) -> None:
        """Forget what is written of which no more is known."""
        for number in clobbers.active:
            self.put(state, number, _UNKNOWN)
        for number in clobbers.whole:
            state.vectors[number] = _UNKNOWN
        for register in clobbers.scalars:
            self.write(state, register, None, pc)

    def _move(self, state: CodeState, facts: tuple[int, Source], pc: int) -> None:
        for register, value in enumerate(self._values(state, facts[1]), facts[0]):
            self.write(state, register, value, pc)

    @staticmethod
    def _values(state: CodeState, source: Source) -> Sequence[Scalar]:
        return [state.scalar(register) for register in source] if isinstance(source, range) else source

    def _number(self, state: CodeState, source: Source) -> int | None:
        """Return the number that a source is."""
        (value,) = self._values(state, source)
        return value[1] if value is not None and value[0] == NUMBER else None

    def _add(self, state: CodeState, facts: tuple[int, list[Source], bool, bool], pc: int) -> None:
        """Add or subtract; where both are numbers, with the carry."""
        target, sources, is_sub, with_carry = facts
        one, other = (self._values(state, source)[0] for source in sources)
        carry = state.scalar(CARRY) if with_carry else (NUMBER, 0)
        state.scalars[CARRY] = None
        if one is not None and one[0] == NUMBER and not is_sub:
            one, other = other, one
        if one is None or one[1] > WORD or other is None or other[0] != NUMBER or carry is None or carry[0] != NUMBER:
            self.write(state, target, None, pc)
            return
        total = one[1] + (-other[1] if is_sub else other[1]) + carry[1]
        if one[0] == NUMBER:
            state.scalars[CARRY] = NUMBER, total >> 32 & 1
        self.write(state, target, (one[0], total & WORD), pc)

    def _save_mask(self, state: CodeState, facts: tuple[int, str, Source], pc: int) -> None:
        """Keep EXEC, and combine it with a mask."""
        target, operation, source = facts
        self._make_masks(state, self._mask, pc)
        saved = [state.scalar(register) for register in self._mask]
        pairs = [*zip(self._values(state, source), saved, strict=True)]
        if operation in ("andn1", "and_not0"):
            operation, pairs = "andn2", [(old, new) for new, old in pairs]
        state.scalars[CARRY] = None
        for register, value in enumerate(saved, target):
            self.write(state, register, value, pc)
        new = [self._combined(operation, pair, _symbol(pc, each)) for each, pair in enumerate(pairs, EXEC)]
        for register, value in enumerate(new, EXEC):
            self.write(state, register, value, pc)

    def _combine(self, state: CodeState, facts: tuple[int, str, list[Source]], pc: int) -> None:
        target, operation, sources = facts
        self._make_masks(state, range(target, target + len(sources[0])), pc)
        pairs = zip(*(self._values(state, source) for source in sources), strict=True)
        state.scalars[CARRY] = None
        new = [self._combined(operation, pair, _symbol(pc, each)) for each, pair in enumerate(pairs, target)]
        for register, value in enumerate(new, target):
            self.write(state, register, value, pc)

    def _combined(self, operation: str, pair: tuple[Scalar, Scalar], site: int) -> Scalar:
        """Return what an operation on two words of masks gives, where one is part of the other or becomes so."""
        operation, (left, right) = "andn2" if operation == "and_not1" else operation, pair
        if operation not in ("and", "or", "xor", "andn2"):
            return None
        if operation == "andn2" and not _CONSTANT.isdisjoint(pair):
            operation, right = "and", inverted(right)
        if left in _CONSTANT:
            left, right = right, left
        if right in _CONSTANT:
            if operation == "xor":
                return left if right == _NO_LANES else inverted(left)
            return left if (right == _ALL) == (operation == "and") else right
        if left == right and left is not None and left[0] not in (WITHIN, WITHIN + 1):
            return left if operation in ("and", "or") else _NO_LANES
        one, other = (value[0] if value is not None and _is_mask(value) else None for value in (left, right))
        for part, whole in ((one, other), (other, one)):
            if part is None or whole is None or not self._is_part(part, whole):
                continue
            rest = self._derived[part][1] if self._derived[part][0] == whole else None
            if operation in ("and", "or"):
                return (part if operation == "and" else whole), 0
            if operation == "xor" or whole == one:
                return (rest, 0) if rest is not None else self._derive(site, whole, part)
        for mask, rest in ((one, other), (other, one)):
            if mask in self._derived and self._derived[mask][1] == rest is not None and operation in ("or", "xor"):
                return self._derived[mask][0], 0
        if operation in ("or", "xor"):
            return _both(left, right)
        parts = (left, right) if operation == "and" else (left,)
        best = min(parts, key=lambda value: (_both(value, _NO_LANES) is None, not _is_mask(value)))
        return self._part(site, best) or _both(best, _NO_LANES)

    def _part(self, site: int, mask: Scalar) -> Scalar:
        """Return some lanes of a mask; None where it is no such one."""
        return self._derive(site, mask[0], None) if mask is not None and _is_mask(mask) else None

    def _is_part(self, part: int, whole: int) -> bool:
        while part != whole and part in self._derived:
            part = self._derived[part][0]
        return part == whole

    def _derive(self, site: int, whole: int, rest: int | None) -> Scalar:
        """Return the mask that an instruction makes of a part of another."""
        key = site, whole, rest
        if key not in self._numbers:
            self._numbers[key] = symbol = -4 * (len(self._numbers) + 2) + (whole & 3 ^ (2 if whole > 0 else 0))
            self._derived[symbol] = whole, rest
            for each in (site, whole, *(() if rest is None else (rest,))):
                self._users.setdefault(each, set()).add(symbol)
            if rest is not None:
                self.rests.setdefault(whole, []).append((symbol, rest))
        symbol = self._numbers[key]
        self._made.add(symbol)
        return symbol, 0

    def _make_masks(self, state: CodeState, registers: Iterable[int], pc: int) -> None:
        """Give the masks that an instruction makes of others other values than it gave them before."""
        for register in registers:
            self._make(state, _symbol(pc, register))

    def _compare(self, state: CodeState, facts: tuple[tuple[GpuOperand, ...], bool], pc: int) -> None:
        """Write a bit for each active lane, and 0 for the others."""
        targets, is_exec = facts
        masks = [state.scalar(register) for register in self._mask]
        for target in targets:
            for register, value in enumerate(masks, target.index):
                self.write(state, register, _both(value, _NO_LANES), pc)
        self._make_masks(state, self._mask if is_exec else (), pc)
        for register, value in enumerate(masks, EXEC) if is_exec else ():
            self.write(state, register, self._part(_symbol(pc, register), value), pc)

    def _get_pc(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        address, first = pc + instruction.size, instruction.operands[0].index
        for each in range(2):
            self.write(state, first + each, (NUMBER, address >> 32 * each & WORD), pc)

    def _sign_extend(self, state: CodeState, facts: tuple[int, Source], pc: int) -> None:
        number = self._number(state, facts[1])
        value = None if number is None else (NUMBER, ((number & 0xFFFF ^ 0x8000) - 0x8000) & WORD)
        self.write(state, facts[0], value, pc)

    def _target(self, state: CodeState, instruction: GpuInstruction, pc: int) -> int | None:
        if instruction.branch is not None:
            return pc + instruction.branch
        return self._address(state, _source(instruction.sources[0], 2))

    def _address(self, state: CodeState, source: Source) -> int | None:
        low, high = self._values(state, source)
        if low is None or high is None or low[0] != NUMBER or high[0] != NUMBER:
            return None
        return high[1] << 32 | low[1]

    def _load(self, state: CodeState, facts: tuple[int, Source, int], pc: int) -> None:
        """Load an address that the loader has put into the file, as those of functions are."""
        target, source, offset = facts
        address = self._address(state, source)
        pointer = None if address is None else self._reading.pointer_at(address + offset)
        for each in range(2):
            self.write(state, target + each, None if pointer is None else (NUMBER, pointer >> 32 * each & WORD), pc)

    def _call(self, state: CodeState, instruction: GpuInstruction, pc: int) -> bool:
        """Call a function; return whether it never returns."""
        clobbers = self._reading.clobbers_of(self._target(state, instruction, pc))
        self._change(state, clobbers, pc)
        for operand in instruction.destinations:
            for register in range(operand.index, operand.index + operand.count):
                self.write(state, register, None, pc)
        return not clobbers.returns

    def _write_by_index(self, state: CodeState, clobbers: Clobbers, pc: int) -> None:
        """Forget the vector registers, but not where scalars of the caller are: no array of a program is there."""
        kept: dict[int, dict[int, Scalar]] = {
            number: {lane: value for lane, value in lanes.items() if value is not None and 0 <= value[0] < EXEC}
            for number, (_entry, _outside, lanes) in state.vectors.items()
        }
        self._lose(state, clobbers, pc)
        state.vectors.update((number, (-1, -1, lanes)) for number, lanes in kept.items() if lanes)

    def _change(self, state: CodeState, clobbers: Clobbers, pc: int) -> None:
        self._lose(state, clobbers, pc)
        for register in (RETURN_LOW, RETURN_HIGH, CARRY):
            self.write(state, register, None, pc)

    def _write_lane(self, state: CodeState, facts: tuple[int, Source, Source], _pc: int) -> None:
        target, source, lane = facts
        at = self._number(state, lane)
        if at is None:
            state.vectors[target] = _UNKNOWN
            return
        entry, outside, lanes = state.vector(target)
        (value,) = self._values(state, source)
        state.vectors[target] = entry, outside, {**lanes, at % self._reading.wave_size: value}

    def _read_lane(self, state: CodeState, facts: tuple[int, int, Source], pc: int) -> None:
        target, source, lane = facts
        at = self._number(state, lane)
        value = None if at is None else state.vector(source)[2].get(at % self._reading.wave_size)
        self.write(state, target, value, pc)

    def _move_vector(self, state: CodeState, numbers: tuple[int, int], _pc: int) -> None:
        self.put(state, numbers[0], state.vector(numbers[1]))

    def _scratch(self, state: CodeState, facts: tuple[bool, tuple[int, ...], Source, int], _pc: int) -> None:
        """Copy between vector registers and slots whose address is the same for all lanes."""
        is_load, numbers, base, offset = facts
        (value,) = self._values(state, base)
        if value is None:
            for number in numbers if is_load else ():
                self.put(state, number, _UNKNOWN)
            return
        start = ((value[1] ^ 1 << 31) - (1 << 31)) * self._reading.stack_scale + offset
        for each, number in enumerate(numbers):
            slot = value[0], start + each * 4 * self._reading.wave_size
            old = state.slots.get(slot, _UNKNOWN)
            if is_load:
                self.put(state, number, old)
            elif (new := _written(old, state.vector(number), self.mask(state))) is not _UNKNOWN:
                state.slots[slot] = new
            else:
                state.slots.pop(slot, None)


_BETWEEN = re.compile(rf"{_ADD.pattern}|s_(sext_i32_i16|nop|wait_alu|delay_alu)$")
_MOST_BETWEEN = 28
"""How many bytes from an ``s_getpc_b64`` to the jump of a branch too far for an offset."""


def is_far_branch(before: bytes, jump: GpuInstruction, processor: str, wave_size: int) -> bool:
    """Return whether the instructions before a jump add an offset to the program counter, of which it takes the sum."""
    first = jump.sources[0].index
    for start in range(len(before) % 4, len(before), 4):
        at, is_sum = start, start >= len(before) - _MOST_BETWEEN
        while is_sum and at < len(before):
            try:
                instruction = decode(before, at, processor, wave_size)
            except DwarfGpuError:
                break
            is_start = instruction.name == "s_getpc_b64" and instruction.operands[0].index == first
            is_sum = is_start if at == start else _BETWEEN.match(instruction.name) is not None
            at += len(instruction.data)
        if is_sum and at == len(before):
            return True
    return False


_CONSTANT = frozenset((_ALL, _NO_LANES))


def _symbol(address: int, register: int, value: Scalar = None) -> int:
    """Return the symbol that an instruction, or a join, gives a register; one of EXEC may have a value of `WITHIN`."""
    return address + 1 << 8 | (register - 2 if register >= EXEC and value is None else register)


def _is_mask(value: Scalar) -> bool:
    """Return whether EXEC has had a value, or it is part of such a one."""
    if value is None or value[1]:
        return False
    symbol = value[0]
    return symbol < NUMBER or symbol in (EXEC, EXEC + 1) or (symbol > 255 and symbol & 127 >= EXEC - 2)


def _is_within(value: Scalar, word: int) -> bool:
    """Return whether only lanes of a word of EXEC at entry are in a mask."""
    if value is None or value[1]:
        return False
    symbol = value[0]
    if symbol < 0:
        return symbol == NUMBER or symbol & 3 == word
    is_own = symbol & 1 == word and (_is_mask(value) or symbol in (WITHIN, WITHIN + 1))
    return is_own and symbol & 2 == 2


def inverted(value: Scalar) -> Scalar:
    """Return a mask with all lanes but those of another."""
    if value is None:
        return None
    symbol, constant = value
    if symbol == NUMBER:
        return NUMBER, ~constant & WORD
    if symbol in (EXEC, EXEC + 1, OUTSIDE, OUTSIDE + 1) and not constant:
        return EXEC + OUTSIDE - symbol + 2 * (symbol & 1), 0
    return (symbol, constant ^ INVERTED) if _is_mask((symbol, constant & WORD)) else None


def _is_other(register: int, value: Scalar) -> bool:
    """Return whether a value of EXEC, or of the stack pointer, is certainly not, or part of, that at entry."""
    if value is None:
        return False
    if register == STACK:
        return value[0] in (STACK, NUMBER) and value != (STACK, 0)
    return value[1] != 0 or value[0] < 0 or value[0] in (OUTSIDE, OUTSIDE + 1)


def _both(one: Scalar, other: Scalar) -> Scalar:
    """Return what holds for both of two values."""
    if one == other:
        return one
    return next(((WITHIN + word, 0) for word in (0, 1) if _is_within(one, word) and _is_within(other, word)), None)


def _source(operand: GpuOperand, count: int = 1) -> Source:
    """Return what an operand of an instruction reads."""
    if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
        if operand.index <= EXEC + 1 and not operand.negated and not operand.absolute:
            return range(operand.index, operand.index + count)
    elif operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE):
        return [(NUMBER, operand.value >> 32 * each & WORD) for each in range(count)]
    return [None] * count


def _is_trap(instruction: GpuInstruction) -> bool:
    return instruction.name == "s_trap" and instruction.operands[0].value == _TRAP


def _destinations(instruction: GpuInstruction) -> Clobbers:
    """Return the registers that are the destinations of an instruction."""
    scalars: set[int] = set()
    vectors: set[int] = set()
    for part in instruction.components or (instruction,):
        for operand in part.destinations:
            if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
                scalars.update(range(operand.index, operand.index + operand.count))
            else:
                vectors.update(_vectors(operand))
    return Clobbers(frozenset(scalars), frozenset(vectors))


def _written_by(instruction: GpuInstruction, wave_size: int) -> Clobbers:
    """Return what an instruction writes."""
    name, whole, made = instruction.name, range(0), _destinations(instruction)
    scalars = {*made.scalars}
    if instruction.encoding.startswith("SOP") and not _KEEPS_CARRY.match(name):
        scalars.add(CARRY)
    if "cmpx" in name or "wrexec" in name or "saveexec" in name:
        scalars.update(range(EXEC, EXEC + wave_size // 32))
    if _INDEXED.match(name):
        whole = range(512)
        scalars.update(range(106 if name.startswith("s_movreld") else 0))
    return Clobbers(frozenset(scalars), made.active, frozenset(whole))


_JUST_CALLED = Clobbers(frozenset(), frozenset())


class CodeReading:
    """Reads the functions of one file, each once."""

    def __init__(
        self,
        processor: str,
        wave_size: int,
        stack_scale: int,
        code_of: Callable[[int], tuple[int, bytes] | None],
        pointer_at: Callable[[int], int | None] = lambda _address: None,
    ) -> None:
        self._processor = processor
        self.wave_size = wave_size
        self.stack_scale = stack_scale
        """The bytes of the wave for which the stack pointer counts one."""
        self._code_of = code_of
        """Returns the start and the bytes of the function at an address of the file."""
        self.pointer_at = pointer_at
        """Returns the address that a word of the file has once it is loaded and never changes."""
        self._functions: dict[int, FunctionReading | None] = {}
        self._assumed: dict[int, Clobbers] = {}
        """What functions change, as long as they are read, that call themselves: at first what the ABI allows."""
        self._depth = 0
        self._prepared: dict[int, dict[bytes, tuple[GpuInstruction, Any, Any]]] = defaultdict(dict)

    def function_at(self, address: int) -> FunctionReading | None:
        """Return the function at an address; None where there is none, or it is being read."""
        found = self._code_of(address)
        if found is None:
            return None
        start, code = found
        if start in self._functions:
            return self._functions[start]
        count, function = len(self._functions), None
        while function is None:  # and again, if what was assumed of its calls of itself was too little
            for each in [*self._functions][count:]:  # what was read meanwhile may rest on that
                del self._functions[each]
            function = self._read(start, code)
        self._functions[start] = function
        return function

    def _read(self, start: int, code: bytes) -> FunctionReading | None:
        """Read a function; return None if it changes more than it assumed where it calls itself, and assume that."""
        self._functions[start] = None
        self._depth += 1
        try:
            function = FunctionReading(code, start, self)
        except BaseException:
            del self._functions[start]
            raise
        finally:
            self._depth -= 1
        assumed = self._assumed.get(start)
        if assumed is None or function.clobbers.is_within(assumed):
            return function
        self._assumed[start] = assumed.with_those_of(function.clobbers)
        return None

    def clobbers_of(self, target: int | None) -> Clobbers:
        """Return what the function that begins at an address changes; where it is not known, what the ABI allows."""
        if target is None or self._depth > MAX_DEPTH:
            return BY_ABI
        function = self.function_at(target)
        if function is None:
            return self._assumed.setdefault(target, BY_ABI)
        return function.clobbers if function.start == target else BY_ABI

    def prepared(self, code: bytes, offset: int, mode: int = 0) -> tuple[GpuInstruction, Any, Any]:
        """Return an instruction, decoded once for the same bytes and bits of MODE, with what executes it."""
        every = self._prepared[mode]
        known = every.get(code[offset : offset + 4]) or every.get(code[offset : offset + 8])
        if known is None:
            instruction = decode(code, offset, self._processor, self.wave_size)
            moved = with_banks(instruction, mode) if mode else instruction
            known = every[bytes(instruction.data)] = FunctionReading.prepared(moved, self.wave_size)
        return known

    def banks(self) -> BankFollower:
        """Return what follows the bits of MODE from an instruction on that is jumped to."""
        return BankFollower(self._processor)


def _vectors(operand: GpuOperand) -> range:
    """Return the numbers of the vector registers of an operand; none for others."""
    if operand.kind not in (OperandKind.VGPR, OperandKind.AGPR):
        return range(0)
    first = operand.index + (ACCUMULATION if operand.kind is OperandKind.AGPR else 0)
    return range(first, first + operand.count)


def _common(one: Lanes, other: Lanes) -> Lanes:
    """Return what two paths agree on."""
    if one == other:
        return one
    entry = one[0] if one[0] == other[0] else -1
    outside = one[1] if one[1] == other[1] else -1
    return _known(entry, outside, _agreed(one[2], other[2]))


def _agreed(one: dict[int, Scalar], other: dict[int, Scalar]) -> dict[int, Scalar]:
    if one == other:
        return one
    kept = {lane: _both(value, other.get(lane)) for lane, value in one.items()}
    return {**dict.fromkeys(other), **kept}


def _written(old: Lanes, new: Lanes, mask: str) -> Lanes:
    """Return what a register or slot holds when some of its lanes are written."""
    if mask == "all":
        return new
    if mask == "any":
        return _UNKNOWN
    entry, outside = (old[0], new[1]) if mask == "outside" else (new[0], old[1])
    if mask == "part" and new[0] != old[0]:
        entry = -1
    return _known(entry, outside, _agreed(old[2], new[2]))


def _known(entry: int, outside: int, lanes: dict[int, Scalar]) -> Lanes:
    if entry == outside == -1:
        lanes = {lane: value for lane, value in lanes.items() if value is not None}
        if not lanes:
            return _UNKNOWN
    return entry, outside, lanes
