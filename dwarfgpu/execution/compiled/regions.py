"""Which code is compiled, and how the waves of a batch enter it and leave it.

Blocks are counted when the interpreter executes them. One that has been executed often is compiled together with all
blocks around it that have been executed: a *region*. Waves leave it where a block has no compiled follower, where an
instruction is to be interpreted, where they part, and where the turn of the batch may end.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.execution.batch import EXEC, EXEC_HI, NOWHERE, VCC, VCC_HI
from dwarfgpu.execution.batch import SCALARS as REGISTERS
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.compiled.block_code import BlockCode, Ending
from dwarfgpu.execution.compiled.layout import ACCUMULATION, MOST_CALLS, SCALARS, SCC, Cell, Exit
from dwarfgpu.execution.compiled.memory_writer import HELPERS, write_memory
from dwarfgpu.execution.compiled.native import CompilerError, NativeFunction, compiler
from dwarfgpu.execution.compiled.region_writer import RegionWriter
from dwarfgpu.execution.faults import MachineFault, UnknownInstruction
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics.llvm import NotWritten

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.device_memory import MemorySegment
    from dwarfgpu.isa.instruction import GpuInstruction

HOT = 100
"""How often the interpreter executes a block before it is compiled; so often always if it is the rest of one."""
MOST_BYTES = 1 << 25
"""The machine code that is kept; LLVM has it twice, as it was compiled and as it is executed."""
MOST_REGIONS = 256
"""The regions that are kept; each needs 50 KB beside its code."""
MOST_BLOCKS = 1 << 14
"""The blocks that are counted, and the instructions of which it is known whether they can be compiled."""
MOST = 4
"""How often a block is compiled; blocks that become hot later leave it where it is."""
LARGEST = 400
"""The instructions of a region, each of which takes a millisecond or two to compile."""
SPAN = 1 << 20
"""The instructions, counted for each wave, after which compiled code lets Python look for ^C."""
IN_PLACE = 1 << 14
"""The bytes of a vector register from which on it is not copied to be read."""
LOW = 0xFFFF_FFFF
_CONDITIONS = {
    "s_cbranch_scc0": "scc0", "s_cbranch_scc1": "scc1", "s_cbranch_vccz": "vccz", "s_cbranch_vccnz": "vccnz",
    "s_cbranch_execz": "execz", "s_cbranch_execnz": "execnz",
}  # fmt: skip
_NEVER = ("s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user")
_MODES = {"s_round_mode": 0, "s_denorm_mode": 4}
"""Instructions that set four bits of MODE, with the first of them."""


@frozen(eq=False)
class CompiledRegion:
    """Compiled blocks."""

    blocks: tuple[BlockCode, ...]
    function: NativeFunction
    columns: tuple[int, ...]
    """The vector registers in memory."""
    slots: dict[int, int]
    """Which of them each is."""
    scalars: tuple[int, ...]
    """The scalar registers that it reads or writes, beside VCC, EXEC and SCC."""
    written_scalars: dict[int, dict[int, int]]
    written_vectors: dict[int, dict[int, int]]
    """The registers that each block writes, with the first instruction that does."""

    written: frozenset[int]
    """The vector registers that any of them writes."""
    overwritten: tuple[frozenset[int], ...]
    """Those that a block writes before it reads them, if all lanes execute."""

    last_vector: int
    last_register: int
    """The last of the vector registers, without and with those of accumulation."""
    longest: int
    """The most instructions between two places where waves may leave at a limit."""

    def unasked(self, since: int) -> int:
        """Return how far from a limit the region may be entered, as the interpreter may stop where it cannot."""
        return 0 if since + self.longest <= LONGEST else self.longest

    def fits(self, batch: WaveBatch) -> bool:
        """Return whether a batch has all registers."""
        return len(batch.vector) > self.last_vector and ACCUMULATION + len(batch.accumulation) > self.last_register


class CompiledRegions:
    """The compiled code of a device."""

    def __init__(self, device: Device, hot: int = HOT) -> None:
        self.device = device
        self._cache = CodeCache("blocks") if device.machine.keeps_code and os.name == "posix" else None
        self._arrival = -(-HOT // hot)
        """What an arrival of waves at a block adds to its heat."""
        self.heat: dict[tuple[int, int], int] = {}
        self.entries: dict[tuple[int, int], tuple[CompiledRegion, int]] = {}
        self._followers: dict[tuple[int, int], set[tuple[int, int]]] = {}
        """Where waves went from each block that was counted, or that they left compiled code from."""
        self._latest: tuple[Any, tuple[int, int]] = None, (0, 0)
        """The batch that was last here, and its block."""
        self.problem = ""
        """Why nothing is compiled any more."""
        self._compilations: dict[tuple[int, int], int] = {}
        """How often each block has been compiled: with each hot block around it anew, up to a limit."""
        self._texts: dict[tuple[bytes, int, int], bool] = {}
        self._cells = (ctypes.c_int64 * len(Cell))()
        self._room, self._room_at = np.empty(0, np.int64), 0
        """Memory for what is not kept: places, scalar registers, addresses and numbers of waves; and its address."""
        self._calls = (ctypes.c_uint64 * (MOST_CALLS + 1))()
        self._cells[Cell.CALLS] = ctypes.addressof(self._calls)
        self._starts: Any = None
        self._kept: tuple[Any, ...] = ()
        self._segments: list[MemorySegment] | None = None
        self._rows, self._table = array("Q"), array("Q")
        """The start, the size, and the address of the host of these segments; and with those of private memory."""
        self.is_possible = True

    @property
    def compiler(self) -> str:
        """What compiles."""
        return compiler()

    # --- Choosing -------------------------------------------------------------------------------------------------

    def _noted(self, key: tuple[int, int], arrival: int) -> tuple[CompiledRegion, int] | None:
        """Heat a block that waves are at, and return where it is compiled once that has been often enough."""
        if self.problem:
            return None
        if max(len(self.heat), len(self._followers)) >= MOST_BLOCKS:
            self.heat.clear()
            self._followers.clear()
            self._compilations.clear()
        heat = self.heat.get(key, 0)
        self.heat[key] = heat + arrival
        if heat < HOT <= heat + arrival:
            try:
                self._compile(key)
            except CompilerError as error:
                self.problem = str(error)
        return self.entries.get(key)

    def forget(self, address: int) -> None:
        """Forget regions that execute an instruction: waves are to stop there."""
        self.entries = {
            key: (region, number)
            for key, (region, number) in self.entries.items()
            if not any(block.start <= address < block.following for block in region.blocks)
        }
        self.heat.clear()
        self._compilations.clear()

    def counted(self) -> tuple[int, int, int]:
        """Return how many regions there are, their instructions, and the bytes of their machine code."""
        regions = {id(region): region for region, _number in self.entries.values()}.values()
        instructions = sum(block.count for region in regions for block in region.blocks)
        return len(regions), instructions, sum(region.function.size for region in regions)

    def _compile(self, key: tuple[int, int]) -> None:
        blocks: list[BlockCode] = []
        known = set(self.heat)
        count, pending = 0, [key]
        seen: set[tuple[int, int]] = set()
        while pending and count < LARGEST:
            start = pending.pop(0)
            if start in seen or self._compilations.get(start, 0) >= MOST:
                continue
            seen.add(start)
            block = self._block(start, known, pending)
            if block is not None:
                blocks.append(block)
                count += block.count
            if start == key:
                if block is not None and block.ending is not None:
                    self._followers.setdefault(key, set()).update(
                        (to, block.ending.mode) for to in block.ending.targets
                    )
                pending += self._around(key)
        if not any((block.start, block.mode) == key for block in blocks):
            return
        for block in blocks:
            self._compilations[block.start, block.mode] = self._compilations.get((block.start, block.mode), 0) + 1
        region = self._region(blocks)
        regions, _instructions, size = self.counted()
        if regions >= MOST_REGIONS or size + region.function.size > MOST_BYTES:
            self.entries.clear()
            self._compilations.clear()
        for number, block in enumerate(blocks):
            self.entries[block.start, block.mode] = region, number

    def _around(self, key: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the blocks to compile with one: those that are nearly as hot, and the loops that it is in.

        What is compiled is compiled again only as part of a loop, and only if all of the loop is one region.
        """
        fresh = [each for each, heat in self.heat.items() if 2 * heat >= HOT and each not in self.entries]
        reached = _reached(key, self._going)
        before: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for each in reached:
            for following in self._going(each):
                before.setdefault(following, set()).add(each)
        loop = [each for each in _reached(key, lambda each: before.get(each, ())) if each in self.entries]
        size = sum(region.blocks[number].count for region, number in map(self.entries.__getitem__, loop))
        return [*fresh, *(loop if size < LARGEST else ())]

    def _going(self, key: tuple[int, int]) -> Iterable[tuple[int, int]]:
        """Return where waves went from a block, and the blocks that are compiled with it."""
        region = self.entries.get(key)
        together = () if region is None else ((block.start, block.mode) for block in region[0].blocks)
        return (*self._followers.get(key, ()), *together)

    def _block(
        self, start: tuple[int, int], known: set[tuple[int, int]], pending: list[tuple[int, int]]
    ) -> BlockCode | None:
        """Return the block from an address on; None if its first instruction is to be interpreted."""
        address, mode = start
        if address in self.device.breakpoints:
            return None
        code: list[tuple[int, GpuInstruction]] = []
        while True:
            if code and ((address, mode) in known or address in self.device.breakpoints or len(code) >= LARGEST):
                return BlockCode(*start, tuple(code), Ending((address,), mode, is_whole=False), address, len(code))
            try:
                instruction = self.device.instruction(address)
            except MachineFault:
                break
            following = address + instruction.size
            ending = self._ending(instruction, address, following, mode)
            if ending is not None:
                return BlockCode(*start, tuple(code), ending, following, len(code) + 1)
            if not self._has_text(instruction, address, mode):
                if (following, mode) not in known:
                    known.add((following, mode))
                    pending.append((following, mode))
                break
            code.append((address, instruction))
            address = following
        return BlockCode(*start, tuple(code), None, address, len(code)) if code else None

    def _ending(self, instruction: GpuInstruction, address: int, following: int, mode: int) -> Ending | None:
        name = instruction.name
        target = address + (instruction.branch or 0)
        if name in _CONDITIONS and target != following:
            return Ending((target, following), mode, _CONDITIONS[name])
        if name == "s_branch":
            return Ending((target,), mode)
        if name in _NEVER or name in _CONDITIONS:
            return Ending((following,), mode)
        if name in ("s_setpc_b64", "s_swappc_b64"):
            link = next(iter(instruction.destinations), None)
            is_far = link is None and self.device.is_far_branch(instruction, address)
            return Ending((), mode, address=instruction.sources[0], is_far_branch=is_far, link=link)
        if name == "s_call_b64":
            return Ending((target,), mode, link=instruction.destinations[0])
        if name in _MODES:
            (value,) = (operand.value for operand in instruction.operands if operand.name == "simm16")
            first = _MODES[name]
            return Ending((following,), mode & ~(15 << first) | (value & 15) << first)
        return None

    def _has_text(self, instruction: GpuInstruction, address: int, mode: int) -> bool:
        """Return whether an instruction can be compiled, by compiling it alone."""
        key = instruction.data, mode, self.device.lanes
        known = self._texts.get(key)
        if known is None:
            writer = self._writer()
            writer.mode, writer.address = mode, address
            try:
                writer.write(instruction)
                writer.end_phase()
            except (UnknownInstruction, NotWritten):
                known = False
            else:
                known = self.device.is_interpreted(instruction, address, mode)
            if len(self._texts) >= MOST_BLOCKS:
                self._texts.clear()
            self._texts[key] = known
        return known

    def _writer(self) -> RegionWriter:
        device = self.device
        return RegionWriter(
            lanes=device.lanes,
            generation=device.generation,
            apertures=device.special_sources(),
            write_memory=write_memory,
        )

    def _region(self, blocks: list[BlockCode]) -> CompiledRegion:
        writer = self._writer()
        targets = {(block.start, block.mode): number for number, block in enumerate(blocks)}
        for number, block in enumerate(blocks):
            writer.begin_block(number, block)
            for index, (address, instruction) in enumerate(block.instructions):
                writer.place, writer.address = number << 16 | index, address
                writer.write(instruction)
            writer.place = number << 16 | len(block.instructions)
            writer.end_block(number, block, targets)
        special = {VCC, VCC_HI, EXEC, SCC} if self.device.lanes == 64 else {EXEC, SCC}
        special |= {EXEC_HI} if self.device.lanes == 64 else set()
        function = NativeFunction(writer.text(len(blocks), "region", HELPERS), "region", self._cache)
        scalars = tuple(sorted(writer.touched_scalars - special))
        written, columns = (writer.written_scalars, writer.written_vectors), writer.columns
        by_block = [frozenset(writer.written_vectors.get(number, ())) for number in range(len(blocks))]
        fresh = tuple(each - writer.needed_vectors.get(number, set()) for number, each in enumerate(by_block))
        changed = frozenset().union(*by_block), fresh
        slots = {register: slot for slot, register in enumerate(columns)}
        vectors = (register for register in columns if register < ACCUMULATION)
        last = max(vectors, default=-1), max(columns, default=0)
        registers = columns, slots, scalars, *written, *changed, *last
        return CompiledRegion(tuple(blocks), function, *registers, _longest(blocks))

    # --- Executing ------------------------------------------------------------------------------------------------

    def run(
        self, batch: WaveBatch, left: int, nearest: int | None, limit: int | None, since: int
    ) -> CompiledRun | None:
        """Let a batch execute compiled code from where it is; return None where it has none.

        The batch has at most ``left`` instructions before its turn ends at the end of a block; so it does where the
        batch comes to the address ``nearest``. It has executed ``since`` instructions of the block of the interpreter,
        and at the end of such a block it leaves once the device has executed as many instructions as the limit.
        """
        memory = self.device.memory
        if memory.watch is not None or memory.watch_waves is not None:
            return None
        key = batch.pc, batch.mode
        if self._latest[0] is batch:
            self._followers.setdefault(self._latest[1], set()).add(key)
        self._latest = batch, key
        found = self.entries.get(key) or self._noted(key, 1 if since else self._arrival)
        if found is None or not self._use_memory():
            return None
        region, number = found
        if not region.fits(batch):  # it was compiled for another kernel, which has more registers
            del self.entries[key]
            self.heat[key] = 0
            return None
        waves, device = batch.count, self.device
        stop = min(left, max(SPAN // waves, 1))
        if limit is not None:
            stop = min(stop, -(-(limit - device.executed) // waves) - region.unasked(since))
        if stop <= 0:
            return None
        cells = self._cells
        following, visited, scalars = self._made_room(batch, len(region.blocks))
        vectors, kept = self._entered(batch, region, region.overwritten[number], scalars)
        cells[Cell.VECTORS] = kept[0].buffer_info()[0]
        cells[Cell.WAVES], cells[Cell.STOP], cells[Cell.ENTRY] = waves, stop, number
        cells[Cell.NEAREST] = -1 if nearest is None else nearest
        cells[Cell.CALL_COUNT] = 1
        reason = Exit(region.function.call(ctypes.addressof(cells)))
        block, index = cells[Cell.PLACE] >> 16, cells[Cell.PLACE] & 0xFFFF
        is_inside = reason is Exit.INSIDE
        self._left(batch, region, scalars, vectors, visited, block, index if is_inside else 0)
        self._note_calls(batch, region.blocks[block], following if reason is Exit.PARTED else None)
        code, count = region.blocks[block], cells[Cell.EXECUTED] + (index if is_inside else 0)
        self._latest = batch, (code.start, code.mode)
        since = (count - cells[Cell.WHOLE] + (0 if cells[Cell.WHOLE] else since)) % LONGEST
        if is_inside:
            batch.mode = code.mode
            batch.pc = code.instructions[index][0] if index < len(code.instructions) else code.following
            return CompiledRun(count, since=since, is_inside=True)
        assert code.ending is not None  # noqa: S101 (else waves leave inside)
        batch.mode = code.ending.mode
        batch.pc = int(following[0])
        parted = following.copy() if reason is Exit.PARTED else None
        return CompiledRun(count, parted, since, is_whole=code.ending.is_whole)

    def _note_calls(self, batch: WaveBatch, last: BlockCode, parting: Any) -> None:
        """Give a batch the calls that compiled code has noted, and that at the end of the last block if waves part."""
        for note in self._calls[1 : self._cells[Cell.CALL_COUNT]]:
            batch.calls = batch.calls_after_jump(note - 1, NOWHERE) if note & 1 else batch.called(note)
        if parting is not None and last.ending is not None and last.ending.link is not None:
            batch.calls = batch.called(last.following)
        elif parting is not None and last.ending is not None and last.ending.address is not None:
            target = NOWHERE if last.ending.is_far_branch else parting
            batch.calls = batch.calls_after_jump(target, last.following)

    def _made_room(self, batch: WaveBatch, blocks: int) -> tuple[Any, Any, Any]:
        """Return memory for where waves go, for the blocks that they execute, and for their scalar registers."""
        waves, cells = batch.count, self._cells
        places, row = 2 * waves * batch.lanes, -(-blocks // 8)
        size = places + row + (4 + SCALARS // 2) * waves
        if len(self._room) < size:
            self._room = np.empty(2 * size, np.int64)
            self._room_at = _address(self._room)
        room, at = self._room, self._room_at
        scalars = room[size - SCALARS // 2 * waves : size].view(np.uint32).reshape(waves, SCALARS)
        next_at = places + row
        following, visited = room[next_at : next_at + waves].view(np.uint64), room[places:next_at].view(np.uint8)
        visited[:] = 0
        room[next_at + waves : next_at + 2 * waves] = self.device.memory.group_of[batch.waves]
        room[next_at + 2 * waves : next_at + 3 * waves] = batch.waves
        cells[Cell.SCALARS] = at + 8 * size - 4 * SCALARS * waves
        cells[Cell.PLACES], cells[Cell.VISITED], cells[Cell.NEXT] = at, at + 8 * places, at + 8 * next_at
        cells[Cell.ROWS] = at + 8 * (next_at + 3 * waves)
        cells[Cell.GROUPS], cells[Cell.NUMBERS] = at + 8 * (next_at + waves), at + 8 * (next_at + 2 * waves)
        return following, visited, scalars

    def _use_memory(self) -> bool:
        """Tell compiled code where memory is; return whether it can reach all of it."""
        memory = self.device.memory
        segments, mapped = memory.memory, memory.mapped
        if segments.starts is self._starts:
            return self.is_possible
        self._starts = segments.starts
        private, shared = (aperture >> 32 for aperture in (memory.private_aperture, memory.shared_aperture))
        cells, count = self._cells, len(self._rows) // 3
        if mapped is not self._segments:
            self._rows, self.is_possible, count = array("Q"), True, 0

        def row(segment: MemorySegment) -> tuple[int, int, int]:
            if any(segment.start >> 32 <= aperture <= segment.end >> 32 for aperture in (private, shared)):
                self.is_possible = False
            return segment.start, segment.end - segment.start, _address(segment.data)

        for each in mapped[count:]:
            self._rows.extend(row(each))
        self._segments, self._table, latest = mapped, self._rows, min(count, max(len(mapped) - 1, 0))
        if len(segments.segments) != len(mapped):  # the window on private memory is another one after each launch
            at = 3 * bisect_right(segments.starts, memory.scratch_base) - 3
            self._table = self._rows[:]
            self._table[at:at] = array("Q", row(segments.segments[at // 3]))
        self._kept = memory.local.data, memory.scratch.data
        cells[Cell.SEGMENTS], cells[Cell.SEGMENT_COUNT] = self._table.buffer_info()[0], len(self._table) // 3
        cells[Cell.LATEST] = latest
        cells[Cell.LOCAL], cells[Cell.LOCAL_SIZE] = _address(memory.local.data), memory.local_size
        cells[Cell.SCRATCH], cells[Cell.SCRATCH_SIZE] = _address(memory.scratch.data), memory.scratch_size
        cells[Cell.SCRATCH_BASE], cells[Cell.SCRATCH_WHOLE] = memory.scratch_base, memory.scratch.data.size
        cells[Cell.SHARED], cells[Cell.PRIVATE] = shared, private
        return self.is_possible

    def _entered(
        self, batch: WaveBatch, region: CompiledRegion, unread: frozenset[int], scalars: Any
    ) -> tuple[Any, list[Any]]:
        """Write the scalar registers of a batch; return vector registers that may be written, and where all are."""
        words, parted = [0] * SCALARS, []
        numbers = [(register, batch.scalar[register]) for register in region.scalars]
        numbers += [(SCC, batch.scc), (EXEC, batch.exec)]
        if batch.lanes == 64:
            numbers.append((VCC, batch.scalar[VCC]))
        for register, number in numbers:
            if not isinstance(number, int):
                parted.append((register, number))
            else:
                words[register] = number & LOW
                if number > LOW:
                    words[register + 1] = number >> 32
        scalars[:] = np.frombuffer(array("I", words), np.uint32)
        for register, number in parted:
            if batch.lanes == 64 and register in (VCC, EXEC):
                scalars[:, register : register + 2] = number.astype("<u8", copy=False).view("<u4")
            else:
                scalars[:, register] = number[:, 0]
        shape, unread = (batch.count, batch.lanes), unread if batch.mask is None else frozenset()
        vectors = np.empty((len(region.columns), *shape), np.uint32)
        first, size = _address(vectors), 4 * batch.count * batch.lanes
        table = array("Q", range(first, first + size * len(vectors), size))
        kept: list[Any] = [table]
        for slot, register in enumerate(region.columns):
            if register in unread:
                continue
            is_vector = register < ACCUMULATION
            column = batch.vector[register] if is_vector else batch.accumulation[register - ACCUMULATION]
            if size >= IN_PLACE and register not in region.written and column.shape == shape and column.flags.carray:
                table[slot] = _address(column)
                kept.append(column)
            else:
                vectors[slot] = column
        return vectors, kept

    def _left(
        self, batch: WaveBatch, region: CompiledRegion, scalars: Any, vectors: Any, visited: Any, block: int, index: int
    ) -> None:
        """Give a batch the registers that compiled code has written."""
        blocks = np.flatnonzero(visited).tolist()
        for register in _written(region.written_vectors, blocks, block, index):
            if register < ACCUMULATION:
                batch.vector[register] = vectors[region.slots[register]]
            else:
                batch.accumulation[register - ACCUMULATION] = vectors[region.slots[register]]
        changed = _written(region.written_scalars, blocks, block, index)
        first, differs = scalars[0].tolist(), set()
        if batch.count > 1 and changed:
            looked = np.array([*changed, VCC, VCC_HI, EXEC, EXEC_HI])
            numbers = scalars[:, looked]
            differs = set(looked[(numbers != numbers[0]).any(axis=0)].tolist())

        def word(register: int) -> Any:
            if register not in differs:
                return first[register]
            return scalars[:, register : register + 1].astype(np.uint64)

        def long(register: int) -> Any:
            low, high = word(register), word(register + 1)
            return low | high << 32 if isinstance(high, int) else low | high << np.uint64(32)

        if batch.lanes == 64 and changed & {VCC, VCC_HI}:
            batch.scalar[VCC] = long(VCC)
            changed -= {VCC, VCC_HI}
        if changed & ({EXEC, EXEC_HI} if batch.lanes == 64 else {EXEC}):
            batch.set_exec(long(EXEC) if batch.lanes == 64 else word(EXEC))
            changed -= {EXEC, EXEC_HI} if batch.lanes == 64 else {EXEC}
        if SCC in changed:
            batch.scc = word(SCC)
        for register in changed:
            if register < REGISTERS:
                batch.scalar[register] = word(register)


@frozen(eq=False)
class CompiledRun:
    """What a batch has done in compiled code."""

    count: int
    """The instructions that each wave has executed."""
    following: Any = None
    """The address of each wave, where they part."""
    since: int = 0
    """How many instructions of a block the interpreter would have executed there."""
    is_inside: bool = False
    """Whether the next instruction is to be interpreted."""
    is_whole: bool = False
    """Whether a block has ended where another batch may get its turn."""


def _reached(
    start: tuple[int, int], going: Callable[[tuple[int, int]], Iterable[tuple[int, int]]]
) -> dict[tuple[int, int], None]:
    """Return the blocks that are reached from one, the nearest first."""
    found, pending = {start: None}, [start]
    for each in pending:
        fresh = dict.fromkeys(following for following in going(each) if following not in found)
        found.update(fresh)
        pending += fresh
    return found


def _longest(blocks: list[BlockCode]) -> int:
    """Return the most instructions up to the end of a block where waves may go different ways."""
    lengths: dict[tuple[int, int], int] = {}
    for block in sorted(blocks, key=lambda block: -block.start):
        ending = block.ending
        behind = 0 if ending is None or ending.is_whole else lengths.get((block.following, ending.mode), 0)
        lengths[block.start, block.mode] = block.count + behind
    return max(lengths.values())


def _written(written: dict[int, dict[int, int]], blocks: list[int], last: int, index: int) -> set[int]:
    """Return the registers that whole blocks have written, and the first instructions of the last one."""
    found: set[int] = set()
    for block in blocks:
        found |= written.get(block, {}).keys()
    return found | {register for register, first in written.get(last, {}).items() if first < index}


def _address(column: Any) -> int:
    """Return the address of the host of an array."""
    address: int = column.__array_interface__["data"][0]
    return address
