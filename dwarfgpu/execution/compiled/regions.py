"""Which code is compiled, and how the waves of a batch enter it and leave it.

Blocks are counted when the interpreter executes them. One that has been executed often is compiled together with all
blocks around it that have been executed: a *region*. Waves leave it where a block has no compiled follower, where an
instruction is to be interpreted, where they part, and where the turn of the batch may end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.execution.batch import NOWHERE, WaveBatch
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.compiled.block_code import SPAN, BlockCode, CompiledRegion, CompiledRun, Ending
from dwarfgpu.execution.compiled.entrance import Entrance
from dwarfgpu.execution.compiled.layout import ACCUMULATION, Cell, Exit
from dwarfgpu.execution.compiled.memory_table import MemoryTable
from dwarfgpu.execution.compiled.memory_writer import HELPERS, write_memory
from dwarfgpu.execution.compiled.native import CompilerError, NativeFunction, compiler
from dwarfgpu.execution.compiled.region_writer import RegionWriter
from dwarfgpu.execution.faults import MachineFault, Pause, UnknownInstruction
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.semantics.llvm import NotWritten

if TYPE_CHECKING:
    from dwarfgpu.execution.device import Device
    from dwarfgpu.isa.instruction import GpuInstruction

HOT = 100
"""How often the interpreter executes a block before it is compiled; so often always if it is the rest of one."""
ATOMIC_LANES = 1 << 9
"""The lanes of an atomic operation that the interpreter does in the time in which it executes a small block."""
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
MOST_KERNELS = 64
"""The kernels whose blocks are counted on when they are launched again."""
MOST_LAUNCHED = 1024
"""The waves of a launch up to which compiled code is faster: 1.2 to 2 times with as many, 0.7 to 1 times with more."""
LOOPING = 3
"""The runs of each batch in a region from which on parted waves are in a loop there."""
MOST_DIFFERING = 8
"""The instructions that expect private memory in vain one by one, before all of a region do not."""
MOST_PARTED = 1024
"""The waves that go different ways in one region."""
LONGEST_REST = 15
"""The turns after which waves that left a region soon try again."""
MOST_WAVES = 1 << 15
"""The waves of all entrances that are kept."""
_CONDITIONS = {
    "s_cbranch_scc0": "scc0", "s_cbranch_scc1": "scc1", "s_cbranch_vccz": "vccz", "s_cbranch_vccnz": "vccnz",
    "s_cbranch_execz": "execz", "s_cbranch_execnz": "execnz",
}  # fmt: skip
_ENDS = ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done")
_NEVER = ("s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user")
_MODES = {"s_round_mode": 0, "s_denorm_mode": 4}
"""Instructions that set four bits of MODE, with the first of them."""
_PLACE, _EXECUTED, _WHOLE, _CALL_COUNT, _PASSED, _CHECKED = map(
    int, (Cell.PLACE, Cell.EXECUTED, Cell.WHOLE, Cell.CALL_COUNT, Cell.PASSED, Cell.CHECKED)
)


class CompiledRegions:
    """The compiled code of a device."""

    what, unit = "blocks that run often are", "region"
    has_all_code = False
    """Whether Python executes only single instructions, between two of compiled code."""

    _texts: ClassVar[dict[tuple[str, int, bytes, int], bool]] = {}
    """Whether instructions can be compiled, for all devices: by processor, lanes, bytes and MODE."""

    def __init__(self, device: Device, hot: int = HOT) -> None:
        self.device = device
        self._cache = CodeCache("blocks") if device.machine.keeps_code else None
        self._arrival = -(-HOT // hot)
        """What an arrival of waves at a block adds to its heat."""
        self._heats: dict[int, tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]] = {}
        """The heat of the blocks of each kernel, now and at its latest launch, by where it begins.

        A region has blocks of one kernel.
        """
        self.heat: dict[tuple[int, int], int] = {}
        self._atomic: set[tuple[int, int]] = set()
        """The blocks that atomic operations have heated: however many waves there are, compiled code is faster."""
        self.entries: dict[tuple[int, int], tuple[CompiledRegion, int]] = {}
        self._followers: dict[tuple[int, int], set[tuple[int, int]]] = {}
        """Where waves went from each block that was counted, or that they left compiled code from."""
        self._latest: tuple[Any, tuple[int, int]] = None, (0, 0)
        """The batch that was last here, and its block."""
        self.problem = ""
        """Why nothing is compiled any more."""
        self._compilations: dict[tuple[int, int], int] = {}
        """How often each block has been compiled: with each hot block around it anew, up to a limit."""
        self.differing: set[int] = set()
        """The instructions that found something else than private memory at the one address of all lanes."""
        self.table = MemoryTable()
        self._rest = self._pause = 0
        """How many turns begin before waves run in one region again, and how many did the last time."""
        self._entrances: dict[tuple[CompiledRegion, int], Entrance] = {}
        self.ready: ReadyWaves | None = None
        """The waves of a launch, if they begin in compiled code and nothing has been executed since."""

    @property
    def compiler(self) -> str:
        return compiler()

    # --- Choosing -------------------------------------------------------------------------------------------------

    def begin(self, batches: list[WaveBatch]) -> None:
        """Count the blocks of a kernel on from its latest launch, if the kernel has not too many waves."""
        self.table.can_reach_all(self.device.memory)
        self._latest = None, (0, 0)
        if len(self._heats) >= MOST_KERNELS:
            self._heats.clear()
        self.ready = self._ready(batches)
        if sum(batch.count for batch in batches) > MOST_LAUNCHED:
            self.heat = {key: heat for key, heat in self.heat.items() if key in self._atomic}
            return
        heat, before = self._heats.setdefault(batches[0].pc if batches else NOWHERE, ({}, {}))
        for key, now in heat.items():
            heat[key] = now if now > before.get(key, 0) else 0
        before.clear()
        before.update(heat)
        self.heat = heat

    def _noted(self, key: tuple[int, int], arrival: int) -> tuple[CompiledRegion, int] | None:
        """Heat a block that waves are at, and return where it is compiled once that has been often enough."""
        if self.problem:
            return None
        if max(len(self.heat), len(self._followers)) >= MOST_BLOCKS:
            self.heat.clear()
            self._atomic.clear()
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

    def add_atomics(self, key: tuple[int, int], lanes: int) -> None:
        """Heat a block by the lanes whose atomic operations the interpreter has done."""
        heat = self.heat.get(key, 0)
        if lanes >= ATOMIC_LANES and heat < HOT - 1:  # it is compiled when waves are there again
            self.heat[key] = min(HOT - 1, heat + lanes // ATOMIC_LANES)
            self._atomic.add(key)

    def forget(self, address: int) -> None:
        """Forget regions that execute an instruction: waves are to stop there."""
        self.entries = {
            key: (region, number)
            for key, (region, number) in self.entries.items()
            if not any(block.start <= address < block.following for block in region.blocks)
        }
        self._entrances.clear()
        self.ready = None
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
                pending[:0] = self._branches_behind(block)
            if start == key:
                if block is not None and not block.instructions and block.ending and block.ending.end is not None:
                    return  # waves end as fast in the interpreter
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
        self._entrances.clear()
        for number, block in enumerate(blocks):
            self.entries[block.start, block.mode] = region, number

    def _branches_behind(self, block: BlockCode) -> list[tuple[int, int]]:
        """Return the blocks behind one that do nothing but branch, as at the exits of loops."""
        targets = [(to, block.ending.mode) for to in block.ending.targets] if block.ending is not None else []
        found = ((each, self._block(each, set(), [])) for each in targets)
        return [each for each, following in found if following is not None and not following.instructions]

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
        if name in _ENDS:
            return Ending((), mode, end=address)
        if name == "s_barrier" and self.device.generation < 12:
            return Ending((following,), mode, is_barrier=True)
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
        key = self.device.processor, self.device.lanes, instruction.data, mode
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
            differing=self.differing,
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
        function = NativeFunction(writer.text(len(blocks), "region", HELPERS), "region", self._cache)
        written, columns = (writer.written_scalars, writer.written_vectors), writer.columns
        by_block = [frozenset(writer.written_vectors.get(number, ())) for number in range(len(blocks))]
        fresh = tuple(each - writer.needed_vectors.get(number, set()) for number, each in enumerate(by_block))
        changed = frozenset().union(*by_block), fresh
        slots = {register: slot for slot, register in enumerate(columns)}
        vectors = (register for register in columns if register < ACCUMULATION)
        last = max(vectors, default=-1), max(columns, default=0)
        registers = columns, slots, writer.scalars, *written, *changed, *last
        has_barriers = any(block.ending is not None and block.ending.is_barrier for block in blocks)
        traits = _longest(blocks), writer.asks_for_waves, has_barriers, frozenset(writer.expecting)
        return CompiledRegion(tuple(blocks), function, *registers, *traits)

    def _ready(self, batches: list[WaveBatch]) -> ReadyWaves | None:
        """Let the only batch of a launch enter the region where it begins."""
        if len(batches) != 1 or self.device.machine.seed is not None or self.device.memory.is_weak:
            return None
        (batch,) = batches
        key = batch.pc, batch.mode
        region, number = self.entries.get(key, (None, 0))
        if region is None or not region.fits(batch) or not self.table.can_reach_all(self.device.memory):
            return None
        entrance, left = self.entrance(region, batch.count), self.device.patience(batch, is_alone=True)
        entrance.enter(batch, self.device.memory, number)
        barrier = self.device.patience_at_barriers(batch) if region.has_barriers else 0
        stops = self.stop(region, batch, left, None, 0), -1, barrier
        return ReadyWaves(batch, key, region, number, entrance, left, stops)

    def begin_ready(self, ready: ReadyWaves) -> CompiledRun | None:
        """Let the waves of a launch execute what they are ready for, as `run` does."""
        batch, memory = ready.batch, self.device.memory
        if memory.watch is not None or memory.watch_waves is not None or (batch.pc, batch.mode) != ready.key:
            return None
        reason = ready.entrance.execute(batch, self.table, ready.number, ready.stops)
        return self.result(ready.region, ready.entrance, batch, reason, 0)

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
        if found is None or not self.table.can_reach_all(memory):
            return None
        region, number = found
        if not region.fits(batch):  # it was compiled for another kernel, which has more registers
            del self.entries[key]
            self.heat[key] = 0
            return None
        stop = self.stop(region, batch, left, limit, since)
        if stop <= 0:
            return None
        entrance = self.entrance(region, batch.count)
        barrier = self.device.patience_at_barriers(batch) if region.has_barriers else 0
        stops = stop, -1 if nearest is None else nearest, barrier
        entrance.enter(batch, memory, number)
        reason = entrance.execute(batch, self.table, number, stops)
        return self.result(region, entrance, batch, reason, since)

    def stop(self, region: CompiledRegion, batch: WaveBatch, left: int, limit: int | None, since: int) -> int:
        """Return after how many instructions waves are to leave a region; at once if it is none."""
        stop = min(left, max(SPAN // batch.count, 1))
        if limit is not None:
            stop = min(stop, -(-(limit - self.device.executed) // batch.count) - region.unasked(since))
        return stop

    def result(
        self, region: CompiledRegion, entrance: Entrance, batch: WaveBatch, reason: int, since: int
    ) -> CompiledRun:
        """Return what a batch has done, and let it be where it has left."""
        cells = entrance.cells
        place, count, whole = cells[_PLACE], cells[_EXECUTED], cells[_WHOLE]
        code, index, is_inside = region.blocks[place >> 16], place & 0xFFFF, reason == Exit.INSIDE
        parted = entrance.following[: batch.count].copy() if reason == Exit.PARTED else None
        if cells[_CALL_COUNT] > 1 or parted is not None:
            self._note_calls(batch, cells[_CALL_COUNT], code, parted)
        self._latest = batch, (code.start, code.mode)
        count += index if is_inside else 0
        since = (count - whole + (0 if whole else since)) % LONGEST
        if is_inside:
            batch.mode = code.mode
            batch.pc = code.instructions[index][0] if index < len(code.instructions) else code.following
            if cells[_CHECKED] in region.expecting:
                self._give_up(region, cells[_CHECKED])
            return CompiledRun(count, since=since, is_inside=True, passed=cells[_PASSED])
        assert code.ending is not None  # noqa: S101 (else waves leave inside)
        batch.mode = code.ending.mode
        if code.ending.end is not None:
            batch.pc = code.ending.end
            return CompiledRun(count, pause=Pause.END)
        batch.pc = entrance.following.item(0)
        pause = Pause.BARRIER if code.ending.is_barrier else None
        return CompiledRun(count, parted, since, is_whole=code.ending.is_whole, pause=pause, passed=cells[_PASSED])

    def entered(self, batch: WaveBatch) -> WaveBatch:
        """Return a batch as compiled code takes it."""
        return batch

    def run_together(self, batch: WaveBatch, left: int, limit: int | None) -> tuple[WaveBatch, int, int, bool] | None:
        """Let a batch and others in its region, if there are any, run in turns; return what `PartedWaves` returns."""
        memory, going = self.device.memory, (batch, left, 0, False)
        if self._rest:
            self._rest -= 1
            return going
        region, _number = self.entries.get((batch.pc, batch.mode), (None, 0))
        if region is None or memory.watch is not None or memory.watch_waves is not None:
            return going
        pairs = ((each, self.entries.get((each.pc, each.mode))) for each in self.device.batches)
        batches = [batch, *(each for each, entry in pairs if entry is not None and entry[0] is region)]
        is_few = len(batches) > 1 and sum(each.count for each in batches) <= MOST_PARTED
        if not is_few or not region.fits(batch) or not self.table.can_reach_all(memory):
            return going
        from dwarfgpu.execution.compiled.parted_waves import PartedWaves

        return PartedWaves(self, region, batches).run(left, limit)

    def rest(self, runs: int, batches: int) -> None:
        """Take note of how often waves have run in one region; if they seldom do, they do not try for a while."""
        self._pause = 0 if runs > LOOPING * batches else min(2 * self._pause + 1, LONGEST_REST)
        self._rest = self._pause

    def _give_up(self, region: CompiledRegion, address: int) -> None:
        """Forget a region that expected private memory where there is another one; the next one does not."""
        self.differing |= {address} if len(self.differing) < MOST_DIFFERING else region.expecting
        self.entries = {key: entry for key, entry in self.entries.items() if entry[0] is not region}
        self._entrances.clear()
        for block in region.blocks:
            key = block.start, block.mode
            self.heat[key] = min(self.heat.get(key, 0), HOT - 1)
            self._compilations[key] = 0

    def entrance(self, region: CompiledRegion, waves: int) -> Entrance:
        """Return where so many waves enter a region."""
        entrance = self._entrances.get((region, waves))
        if entrance is None:
            if sum(each.waves for each in self._entrances.values()) + waves > MOST_WAVES:
                self._entrances.clear()
            self.table.make_room(waves, self.device.lanes)
            entrance = self._entrances[region, waves] = Entrance(region, waves, self.device.lanes)
        return entrance

    def _note_calls(self, batch: WaveBatch, count: int, last: BlockCode, parting: Any) -> None:
        """Give a batch the calls that compiled code has noted, and that at the end of the last block if waves part."""
        for note in self.table.calls[1:count]:
            batch.calls = batch.calls_after_jump(note - 1, NOWHERE) if note & 1 else batch.called(note)
        if parting is not None and last.ending is not None and last.ending.link is not None:
            batch.calls = batch.called(last.following)
        elif parting is not None and last.ending is not None and last.ending.address is not None:
            target = NOWHERE if last.ending.is_far_branch else parting
            batch.calls = batch.calls_after_jump(target, last.following)


@frozen(eq=False)
class ReadyWaves:
    """The waves of a launch that begin in compiled code, which has their registers."""

    batch: WaveBatch
    key: tuple[int, int]
    """The address and MODE where they begin."""
    region: CompiledRegion
    number: int
    """The block there."""
    entrance: Entrance
    left: int
    """The instructions of their turn."""
    stops: tuple[int, int, int]
    """Where they stop, as `Entrance.execute` takes it."""


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
