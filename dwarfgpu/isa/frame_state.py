"""Where the code of a function has put what its caller had in registers: a forward reading over all paths.

Functions of AMDGPU compilers are entered with the return address in s[30:31] and the stack pointer in s32, and give
back s32, EXEC and the registers that a callee preserves ("Non-Kernel Functions" in the AMDGPU usage guide). Between,
scalar registers lie in other scalar registers or in lanes of vector registers, and these in slots of scratch memory.

A scalar value is a symbol and a constant. Symbols below 128 are what a register held at entry, `NUMBER` is none, and
others name the instruction, or the join of paths, that made the value. A vector register, or a slot, consists of the
lanes that were active at entry, all other lanes, and single lanes in which scalars were written.
"""

from __future__ import annotations

import re
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import decode
from dwarfgpu.isa.instruction import CALLS, JUMPS, OperandKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand

Scalar: TypeAlias = "tuple[int, int] | None"
"""A symbol and a constant; None is unknown."""
Lanes: TypeAlias = "tuple[int, int, dict[int, Scalar]]"
"""Of the lanes active at entry and of the others, whose register they are (or -1); lanes with a scalar."""

RETURN_LOW, RETURN_HIGH, STACK = 30, 31, 32
EXEC, OUTSIDE, CARRY = 126, 130, 132
"""The first of two registers each; `OUTSIDE` is the symbol of the lanes not active at entry."""
NUMBER = -1
ACCUMULATION = 256
"""The number of a0 among vector registers."""
MAX_INSTRUCTIONS = 1 << 16
"""How long a function may be that is read."""
MAX_DEPTH = 24
"""How many functions that call each other are read for what the first one changes."""
MAX_ROUNDS = 6
WORD = (1 << 32) - 1

_NAMED = frozenset((STACK, 33, 34, EXEC, EXEC + 1))
"""Registers of which unknown values get a symbol: others are found through them, or hold them for a while."""
_UNKNOWN: Lanes = (-1, -1, {})
_ADD = re.compile(r"s_((add|sub)k?_(co_)?[iu]32|(addc|add_co_ci)_u32)$")
_WITH_CARRY = frozenset(("s_addc_u32", "s_add_co_ci_u32"))
_SAVES_MASK = re.compile(r"s_\w+_saveexec_")
_VECTOR_MOVES = ("v_mov_b32", "v_accvgpr_write_b32", "v_accvgpr_read_b32", "v_accvgpr_mov_b32", "v_accvgpr_write",
                 "v_accvgpr_read")  # fmt: skip
_KEEPS_CARRY = re.compile(r"s_(mov|movk|cmov|cselect|getpc|sext|mul|pack|swappc|nop|wait|brev|bitset)")
_SCRATCH = re.compile(r"(?:scratch|buffer)_(load|store)_(dword(?:x[234])?|b(?:32|64|96|128))$")
_INDEXED = re.compile(r"v_mov(rel|able)|s_movreld|s_set_gpr_idx_on|v_swaprel")
_ENDS = frozenset(("s_endpgm", "s_branch", "s_endpgm_saved", "s_endpgm_ordered_ps_done"))


class CodeState:
    """Where registers of the caller are before an instruction. What is absent is as at entry, a slot unknown."""

    __slots__ = ("scalars", "slots", "vectors")

    def __init__(
        self, scalars: dict[int, Scalar], vectors: dict[int, Lanes], slots: dict[tuple[int, int], Lanes]
    ) -> None:
        self.scalars = scalars
        self.vectors = vectors
        self.slots = slots
        """By the symbol of the base and the bytes of the wave behind it."""

    def copy(self) -> CodeState:
        return CodeState(dict(self.scalars), dict(self.vectors), dict(self.slots))

    def scalar(self, register: int) -> Scalar:
        return self.scalars.get(register, (register, 0))

    def vector(self, number: int) -> Lanes:
        return self.vectors.get(number) or (number, number, {})

    def forget(self, symbol: int) -> None:
        """Make unknown what holds a symbol that gets another value."""
        for register, value in self.scalars.items():
            if value is not None and value[0] == symbol:
                self.scalars[register] = None
        for places in (self.vectors, self.slots):
            for key, (entry, outside, lanes) in places.items():
                if any(value is not None and value[0] == symbol for value in lanes.values()):
                    kept = {at: None if value and value[0] == symbol else value for at, value in lanes.items()}
                    places[key] = entry, outside, kept  # type: ignore[index]
        for slot in [slot for slot in self.slots if slot[0] == symbol]:
            del self.slots[slot]


@frozen
class Clobbers:
    """What a function changes, as far as its callers can see."""

    scalars: frozenset[int]
    active: frozenset[int]
    """Vector registers whose active lanes it may change."""
    whole: frozenset[int]
    """Vector registers of which it may change all lanes."""
    leaves: bool = False
    """Whether it goes to other functions without coming back."""


_PRESERVED = {32, *range(33, 40), *range(48, 56), *range(64, 72), *range(80, 88), *range(96, 104), EXEC, EXEC + 1}
BY_ABI = Clobbers(
    frozenset(range(128)) - _PRESERVED,
    frozenset(n for n in range(512) if n >= ACCUMULATION or n < 40 or (n - 40) % 16 >= 8),
    frozenset(),
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
        self._instructions: dict[int, GpuInstruction] = {}
        self._blocks: dict[int, tuple[int, tuple[int, ...]]] = {}
        """By their start: the address behind the last instruction, and the blocks that may follow."""
        self._before: dict[int, CodeState] = {}
        self.clobbers = BY_ABI
        self._find_blocks()
        for _round in range(MAX_ROUNDS):
            if not self._run():
                break

    # --- Blocks ---------------------------------------------------------------------------------------------------

    def _find_blocks(self) -> None:
        followed: dict[int, tuple[int, ...]] = {}
        leaders, waiting = {self.start}, [self.start]
        while waiting:
            pc = waiting.pop()
            while self.start <= pc < self.end and pc not in self._instructions:
                if len(self._instructions) > MAX_INSTRUCTIONS:
                    return
                try:
                    instruction = self._reading.decoded(self._code, pc - self.start)
                except DwarfGpuError:
                    break
                self._instructions[pc] = instruction
                behind, name = pc + instruction.size, instruction.name
                if instruction.branch is not None and name not in CALLS:
                    target = pc + instruction.branch
                    followed[pc] = (target,) if name in _ENDS else (behind, target)
                    leaders.update(followed[pc])
                    waiting.append(target)
                elif name in _ENDS or name in JUMPS:
                    followed[pc] = ()
                if name in _ENDS or name in JUMPS:
                    break
                pc = behind
        for leader in leaders & self._instructions.keys():
            last = pc = leader
            while pc in self._instructions:
                last, pc = pc, pc + self._instructions[pc].size
                if last in followed or pc in leaders:
                    break
            after = followed.get(last, (pc,))
            self._blocks[leader] = pc, tuple(each for each in after if each in self._instructions)

    def _run(self) -> bool:
        """Find the states of all blocks; return whether another round would find more."""
        if self.start not in self._blocks:  # it is too long, or no code
            return False
        self._before = {self.start: CodeState({}, {}, {})}
        waiting, is_waiting, after = [self.start], {self.start}, {}
        while waiting:
            block = heappop(waiting)
            is_waiting.discard(block)
            end, following = self._blocks[block]
            state = self._before[block].copy()
            for pc in self._addresses(block, end):
                self.step(state, pc)
            after[block] = state
            for each in following:
                if self._join(each, state) and each not in is_waiting:
                    is_waiting.add(each)
                    heappush(waiting, each)
        return self._summarize(after)

    def _addresses(self, pc: int, end: int) -> Iterator[int]:
        while pc < end:
            yield pc
            pc += self._instructions[pc].size

    def _join(self, block: int, state: CodeState) -> bool:
        """Let a state arrive at a block; return whether less is known there than before."""
        known = self._before.get(block)
        if known is None:
            self._before[block] = state.copy()
            return True
        is_changed = False
        for register in known.scalars.keys() | state.scalars.keys():
            old, new = known.scalar(register), state.scalar(register)
            if old is None or old == new:
                continue
            value: Scalar = None
            if register in _NAMED:
                symbol = block << 8 | 128 | register
                value = self._named(symbol, register)
                if value == old:
                    continue
                known.forget(symbol)
            known.scalars[register] = value
            is_changed = True
        for number in known.vectors.keys() | state.vectors.keys():
            one = known.vector(number)
            both = _common(one, state.vector(number))
            if both != one:
                known.vectors[number] = both
                is_changed = True
        for slot, one in list(known.slots.items()):
            both = _common(one, state.slots.get(slot, _UNKNOWN))
            if both != one:
                is_changed = True
                if both == _UNKNOWN:
                    del known.slots[slot]
                else:
                    known.slots[slot] = both
        return is_changed

    def _named(self, symbol: int, register: int) -> Scalar:
        return (register, 0) if register >= EXEC and symbol in self._aliases else (symbol, 0)

    def _summarize(self, after: dict[int, CodeState]) -> bool:
        """Find out what the function changes, and other names of EXEC at entry; return whether there are new ones."""
        scalars: set[int] = set()
        active: set[int] = set()
        whole: set[int] = set()
        found: set[int] = set()
        returns, leaves = 0, False
        for block, state in after.items():
            last = max(self._addresses(block, self._blocks[block][0]))
            if self._instructions[last].name not in JUMPS:
                continue
            if not self._is_return(state, last):
                leaves = True
                continue
            returns += 1
            scalars.update(register for register in state.scalars if state.scalar(register) != (register, 0))
            for number, (entry, outside, lanes) in state.vectors.items():
                if outside != number or lanes:
                    whole.add(number)
                elif entry != number:
                    active.add(number)
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
                for block, (_end, following) in self._blocks.items():
                    value = after[block].scalar(symbol & 127) if block in after and symbol >> 8 in following else None
                    if value is not None and value[0] > 255 and value[0] not in self._aliases:
                        waiting.append(value[0])
        if leaves or not returns:
            scalars |= BY_ABI.scalars
            active |= BY_ABI.active
        self.clobbers = Clobbers(
            frozenset(scalars - {STACK, EXEC, EXEC + 1}), frozenset(active), frozenset(whole), leaves or not returns
        )
        return is_new

    def _is_return(self, state: CodeState, pc: int) -> bool:
        operand = self._instructions[pc].operands[0]
        return [state.scalar(operand.index), state.scalar(operand.index + 1)] == [(RETURN_LOW, 0), (RETURN_HIGH, 0)]

    # --- One instruction ------------------------------------------------------------------------------------------

    def state_at(self, address: int) -> CodeState | None:
        """Return the state before the instruction at an address, or in a call where the address is inside it.

        None is the answer for addresses that no path from the entry reaches.
        """
        block = max((start for start, (end, _after) in self._blocks.items() if start <= address < end), default=None)
        if block is None or block not in self._before:
            return None
        state = self._before[block].copy()
        for pc in self._addresses(block, self._blocks[block][0]):
            if pc == address:
                return state
            instruction = self._instructions[pc]
            if pc < address < pc + instruction.size:
                if instruction.name in CALLS:
                    clobbers = self._reading.clobbers_of(self._target(state, instruction, pc))
                    self._change(state, clobbers if clobbers.leaves else _JUST_CALLED, pc)
                    return state
                return None
            self.step(state, pc)
        return None

    def step(self, state: CodeState, pc: int) -> None:
        """Execute an instruction."""
        instruction = self._instructions[pc]
        run: Any = self._reading.action(instruction)
        run(self, state, instruction, pc)

    @classmethod
    def action(cls, name: str) -> Any:
        """Return the method for the instructions of a name."""
        patterns = ((_ADD, cls._add), (_SCRATCH, cls._scratch), (_INDEXED, cls._indexed), (_SAVES_MASK, cls._save_mask))
        named: dict[str, Any] = {
            **dict.fromkeys(("s_mov_b32", "s_mov_b64", "s_movk_i32"), cls._move),
            **dict.fromkeys(_VECTOR_MOVES, cls._move_vector),
            **dict.fromkeys(CALLS, cls._call),
            "s_getpc_b64": cls._get_pc,
            "s_sext_i32_i16": cls._sign_extend,
            "v_writelane_b32": cls._write_lane,
            "v_readlane_b32": cls._read_lane,
        }
        found = (method for pattern, method in patterns if pattern.match(name))
        return named.get(name) or next(found, cls._other)

    def write(self, state: CodeState, register: int, value: Scalar, pc: int) -> None:
        """Put a value into a scalar register; one that is unknown gets a symbol where it matters."""
        if value is None and register in _NAMED:
            symbol = pc << 8 | register
            state.forget(symbol)
            value = self._named(symbol, register)
        if value == (register, 0):
            state.scalars.pop(register, None)
        else:
            state.scalars[register] = value

    def mask(self, state: CodeState) -> str:
        """Return which lanes an instruction writes: all, entry, outside, part, or any."""
        values = [state.scalar(register) for register in self._mask]
        if all(value == (NUMBER, WORD) for value in values):
            return "all"
        if all(value == (register, 0) for value, register in zip(values, self._mask, strict=True)):
            return "entry"
        if all(value == (register - EXEC + OUTSIDE, 0) for value, register in zip(values, self._mask, strict=True)):
            return "outside"
        is_number = any(value is not None and value[0] == NUMBER and value[1] for value in values)
        return "any" if is_number else "part"

    def put(self, state: CodeState, number: int, new: Lanes) -> None:
        """Write lanes of a vector register under EXEC."""
        state.vectors[number] = _written(state.vector(number), new, self.mask(state))

    def _other(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        """Forget what an instruction writes of which no more is known."""
        if instruction.encoding.startswith("SOP") and not _KEEPS_CARRY.match(instruction.name):
            state.scalars[CARRY] = None
        for part in instruction.components or (instruction,):
            for operand in part.destinations:
                if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
                    for register in range(operand.index, operand.index + operand.count):
                        self.write(state, register, None, pc)
                else:
                    for number in _vectors(operand):
                        self.put(state, number, _UNKNOWN)
        if "cmpx" in instruction.name or "wrexec" in instruction.name:
            for register in self._mask:
                self.write(state, register, None, pc)

    def _move(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        target, source = instruction.operands[:2]
        values = self._values(state, source, target.count)
        for register, value in enumerate(values, target.index):
            self.write(state, register, value, pc)

    def _values(self, state: CodeState, operand: GpuOperand, count: int) -> list[Scalar]:
        if operand.kind in (OperandKind.SGPR, OperandKind.SPECIAL):
            if operand.index > EXEC + 1 or operand.negated or operand.absolute:
                return [None] * count
            return [state.scalar(register) for register in range(operand.index, operand.index + count)]
        if operand.kind in (OperandKind.CONSTANT, OperandKind.LITERAL, OperandKind.IMMEDIATE):
            return [(NUMBER, operand.value >> 32 * each & WORD) for each in range(count)]
        return [None] * count

    def _add(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        """Add or subtract; where both are numbers, with the carry."""
        target, *sources = instruction.operands
        values = [value for source in sources for value in self._values(state, source, 1)]
        one, other = (self._values(state, target, 1)[0], values[0]) if len(values) == 1 else values[:2]
        carry = state.scalar(CARRY) if instruction.name in _WITH_CARRY else (NUMBER, 0)
        state.scalars[CARRY] = None
        if one is not None and one[0] == NUMBER and "sub" not in instruction.name:
            one, other = other, one
        if one is None or other is None or other[0] != NUMBER or carry is None or carry[0] != NUMBER:
            self.write(state, target.index, None, pc)
            return
        total = one[1] + (-other[1] if "sub" in instruction.name else other[1]) + carry[1]
        if one[0] == NUMBER:
            state.scalars[CARRY] = NUMBER, total >> 32 & 1
        self.write(state, target.index, (one[0], total & WORD), pc)

    def _save_mask(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        target, source = instruction.operands[:2]
        saved = [state.scalar(register) for register in self._mask]
        is_all = source.kind is OperandKind.CONSTANT and not (source.value + 1) & WORD
        was_entry = self.mask(state) == "entry"
        state.scalars[CARRY] = None
        for register, value in zip(range(target.index, target.index + len(saved)), saved, strict=True):
            self.write(state, register, value, pc)
        for register in self._mask:
            new: Scalar = None
            if is_all and instruction.name.startswith("s_or_"):
                new = NUMBER, WORD
            elif is_all and instruction.name.startswith("s_xor_") and was_entry:
                new = register - EXEC + OUTSIDE, 0
            self.write(state, register, new, pc)

    def _get_pc(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        address, first = pc + instruction.size, instruction.operands[0].index
        for each in range(2):
            self.write(state, first + each, (NUMBER, address >> 32 * each & WORD), pc)

    def _sign_extend(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        target, source = instruction.operands[:2]
        value = self._values(state, source, 1)[0]
        if value is not None and value[0] == NUMBER:
            value = NUMBER, ((value[1] & 0xFFFF ^ 0x8000) - 0x8000) & WORD
        else:
            value = None
        self.write(state, target.index, value, pc)

    def _target(self, state: CodeState, instruction: GpuInstruction, pc: int) -> int | None:
        if instruction.branch is not None:
            return pc + instruction.branch
        source = instruction.sources[0]
        low, high = self._values(state, source, 2)
        if low is None or high is None or low[0] != NUMBER or high[0] != NUMBER:
            return None
        return high[1] << 32 | low[1]

    def _call(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        self._change(state, self._reading.clobbers_of(self._target(state, instruction, pc)), pc)
        for operand in instruction.destinations:
            for register in range(operand.index, operand.index + operand.count):
                self.write(state, register, None, pc)

    def _change(self, state: CodeState, clobbers: Clobbers, pc: int) -> None:
        for register in {*clobbers.scalars, RETURN_LOW, RETURN_HIGH, CARRY}:
            self.write(state, register, None, pc)
        for number in clobbers.active:
            self.put(state, number, _UNKNOWN)
        for number in clobbers.whole:
            state.vectors[number] = _UNKNOWN

    def _write_lane(self, state: CodeState, instruction: GpuInstruction, _pc: int) -> None:
        target, source, lane = instruction.operands[:3]
        entry, outside, lanes = state.vector(target.index)
        at = self._values(state, lane, 1)[0]
        if at is None or at[0] != NUMBER:
            state.vectors[target.index] = _UNKNOWN
            return
        value = self._values(state, source, 1)[0]
        state.vectors[target.index] = entry, outside, {**lanes, at[1] % self._reading.wave_size: value}

    def _read_lane(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        target, source, lane = instruction.operands[:3]
        at = self._values(state, lane, 1)[0]
        value = None
        if at is not None and at[0] == NUMBER and source.kind is OperandKind.VGPR:
            value = state.vector(source.index)[2].get(at[1] % self._reading.wave_size)
        self.write(state, target.index, value, pc)

    def _move_vector(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        target, source = instruction.operands[:2]
        is_plain = not instruction.variant and not instruction.modifiers and not source.negated and not source.absolute
        if not is_plain or source.bits != 32 or not _vectors(source) or not _vectors(target):
            self._other(state, instruction, pc)
            return
        self.put(state, _vectors(target)[0], state.vector(_vectors(source)[0]))

    def _scratch(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        """Copy between vector registers and slots whose address is the same for all lanes."""
        is_load = "_load_" in instruction.name
        data = instruction.operand("vdata") or instruction.operand("vdst")
        if data is None or any(instruction.modifiers.get(each) for each in ("lds", "tfe", "idxen", "offen")):
            self._other(state, instruction, pc)
            return
        numbers = _vectors(data)
        slot = self._slot(state, instruction)
        mask = self.mask(state)
        for each, number in enumerate(numbers):
            key = None if slot is None else (slot[0], slot[1] + each * 4 * self._reading.wave_size)
            if is_load:
                self.put(state, number, _UNKNOWN if key is None else state.slots.get(key, _UNKNOWN))
            elif key is not None:
                state.slots[key] = _written(state.slots.get(key, _UNKNOWN), state.vector(number), mask)

    def _slot(self, state: CodeState, instruction: GpuInstruction) -> tuple[int, int] | None:
        """Return the slot that an instruction accesses: symbol, and bytes of the wave; None for computed addresses."""
        address = instruction.operand("vaddr")
        base = instruction.operand("soffset") or instruction.operand("saddr")
        if address is None or address.kind is not OperandKind.OFF or base is None:
            return None
        value = self._values(state, base, 1)[0]
        if value is None:
            return None
        offset = instruction.modifiers.get("offset", 0) * self._reading.wave_size
        distance = (value[1] ^ 1 << 31) - (1 << 31)
        return value[0], distance * self._reading.stack_scale + offset

    def _indexed(self, state: CodeState, instruction: GpuInstruction, pc: int) -> None:
        self._other(state, instruction, pc)
        state.vectors.update((number, _UNKNOWN) for number in range(512))
        if instruction.name.startswith("s_movreld"):
            for register in range(106):
                self.write(state, register, None, pc)


_JUST_CALLED = Clobbers(frozenset(), frozenset(), frozenset())


class CodeReading:
    """Reads the functions of one file, each once."""

    def __init__(
        self, processor: str, wave_size: int, stack_scale: int, code_of: Callable[[int], tuple[int, bytes] | None]
    ) -> None:
        self._processor = processor
        self.wave_size = wave_size
        self.stack_scale = stack_scale
        """The bytes of the wave for which the stack pointer counts one."""
        self._code_of = code_of
        """Returns the start and the bytes of the function at an address of the file."""
        self._functions: dict[int, FunctionReading | None] = {}
        self._depth = 0
        self._decoded: dict[bytes, GpuInstruction] = {}
        self._actions: dict[str, Any] = {}

    def function_at(self, address: int) -> FunctionReading | None:
        """Return the function at an address; None where there is none, or it is being read."""
        found = self._code_of(address)
        if found is None:
            return None
        start, code = found
        if start not in self._functions:
            self._functions[start] = None
            self._depth += 1
            self._functions[start] = FunctionReading(code, start, self)
            self._depth -= 1
        return self._functions[start]

    def clobbers_of(self, target: int | None) -> Clobbers:
        """Return what the function that begins at an address changes; where it is not known, what the ABI allows."""
        if target is None or self._depth > MAX_DEPTH:
            return BY_ABI
        function = self.function_at(target)
        return BY_ABI if function is None or function.start != target else function.clobbers

    def decoded(self, code: bytes, offset: int) -> GpuInstruction:
        """Return an instruction, decoded once for the same bytes."""
        known = self._decoded.get(code[offset : offset + 8])
        if known is None:
            known = decode(code, offset, self._processor, self.wave_size)
            if known.size <= 8:
                self._decoded[code[offset : offset + 8]] = known
        return known

    def action(self, instruction: GpuInstruction) -> Any:
        """Return the method that executes instructions of a name."""
        name = instruction.name
        action = self._actions.get(name)
        if action is None:
            action = self._actions[name] = FunctionReading.action(name)
        return action


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
    return {lane: one[lane] if lane in one and one[lane] == other.get(lane) else None for lane in {**one, **other}}


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
    return entry, outside, lanes
