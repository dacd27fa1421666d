"""A dispatch that runs: the waves of a launch, in batches, until they end, stop, or have executed enough.

Waves at the same instruction are one batch. The batch with the lowest address goes first, so waves that went
different ways meet again where the ways do; a batch that has executed many instructions lets all others go first. The
order is the same each time. A machine with a seed has another order for each seed, in which some waves of a batch run
for a while and the others stay.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of what it is given, in each run
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.execution import halts, instructions, turns
from dwarfgpu.execution.barriers import BarrierPart, GroupBarriers
from dwarfgpu.execution.batch import (
    FLAT_SCRATCH,
    M0,
    NO_CALLS,
    NOTHING,
    NOWHERE,
    UNSET,
    VCC,
    VCC_HI,
    WaveBatch,
    return_addresses,
)
from dwarfgpu.execution.block_writer import INDEX_ENABLE, LONGEST, BlockWriter, Clock
from dwarfgpu.execution.breakpoints import Arrival, Breakpoint
from dwarfgpu.execution.by_wave import WaveRounds
from dwarfgpu.execution.device_memory import GlobalMemory, MappedSegments
from dwarfgpu.execution.faults import (
    BROKEN,
    ILLEGAL_INSTRUCTION,
    MEMORY_VIOLATION,
    MachineFault,
    Pause,
    UnknownInstruction,
)
from dwarfgpu.execution.halts import Halt, executing, lane_masks
from dwarfgpu.execution.memory_access import MemoryAccess, local_end
from dwarfgpu.execution.repetition import Repetition
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.isa.decoder import executed, has_banks, with_banks
from dwarfgpu.isa.frame_state import is_far_branch
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind
from dwarfgpu.isa.tables import generation
from dwarfgpu.machines.protocol import (
    HAS_ENDED,
    IS_HALTED,
    OTHER_TRAP,
    TRAP_REASONS,
    UNKNOWN_TRAP,
    WAITS,
    WaveStop,
    trap_inputs,
)
from dwarfgpu.targets.amdgpu import GENERIC, LOCAL, PRIVATE_WAVE

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.compiled_forms import CompiledForms, CompiledRun
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.weak_memory import OutstandingNow
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.machines.protocol import TrapMeaning
    from dwarfgpu.targets.target import TargetRegister

SCALAR_PLACES = {
    **{f"s{number}": number for number in range(VCC)}, **{f"ttmp{number}": 108 + number for number in range(16)},
    "vcc": VCC, "m0": M0, "vcc_hi": VCC_HI,
}  # fmt: skip
"""Where a batch has the scalar registers that are one number of it."""
OTHER_PLACES = "flat_scratch", "pc", "exec", "mode", "barrier_state", "state_priv"
BARRIER_COMPLETE, SCC_BIT = 2, 9
"""The bits of STATE_PRIV that are known ("RDNA4 Instruction Set Architecture", section 3.4)."""
NOTHING_TOGETHER = 0, (1, 1, 1)
"""No named barriers, and clusters of one work-group."""
MOST_BLOCKS = 4096
"""The compiled blocks that are kept; waves that change MODE again and again have other ones each time."""
TURNS = (4, 40, 400)
"""The most instructions of a turn where the order is by chance: each turn has one of these limits."""
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Options of mallopt(3)."""
_FEW = 8
"""As many waves may execute by themselves what Python executes; it takes as long as finding out what has a form."""
ALONE = 1 << 20
"""The instructions, counted for each wave, that the only batch executes before the caller of `Device.run` is told."""


@frozen(eq=False)
class CompiledBlock:
    """Straight code from one address."""

    function: Callable[[WaveBatch], Any]
    addresses: tuple[int, ...]
    """The address of the instruction of each line of the function, from its third line on."""
    instructions: tuple[int, ...]
    """The addresses of all instructions; those that do nothing have no line."""
    count: int
    following: int
    is_whole: bool
    """Whether it ends where waves may go different ways, and not only because it is long or a breakpoint follows.

    Only there another batch gets its turn, so the order does not depend on breakpoints and on who watches.
    """


class Device:
    """The waves of a machine, running."""

    automatic = "auto"
    """What compiles where the machine leaves it open: ``auto`` forms, once Python has executed for a while."""

    def __init__(self, machine: Gpu) -> None:
        keep_freed_memory()
        self.machine = machine
        target = machine.target
        self.processor = target.processor
        self.lanes = target.lane_count
        self.generation = generation(self.processor)
        machine.find_apertures()
        generic: Any = machine.target.space(GENERIC)
        apertures = generic.alias.apertures
        self._mapped = MappedSegments(machine.memory.store(target.default_space))
        self.memory, self._write_instruction = self._memory(
            GlobalMemory(self._mapped.now()),
            lanes=self.lanes,
            scratch_base=machine.scratch_base,
            apertures=(apertures.shared, apertures.private),
            local_end=local_end(self.processor),
        )
        self.memory.swizzles_dwords = self.generation >= 9
        self.memory.generation = self.generation
        self.apertures = apertures
        self.scalar_places: dict[int | str, TargetRegister] = {
            place: register
            for name, place in (SCALAR_PLACES | {name: name for name in OTHER_PLACES}).items()
            if (register := machine.register_named(name)) is not None
        }
        """The scalar registers of the target, by where a batch has them."""
        self.clock = Clock()
        self.barriers = GroupBarriers()
        for each in (self.barriers, self.barriers.named, self.barriers.clusters):
            each.on_complete = self._release
        self.blocks: dict[tuple[int, int], CompiledBlock] = {}
        self._single: dict[tuple[int, int], CompiledBlock] = {}
        self._of_waves: dict[tuple[int, int], CompiledBlock] = {}
        """The blocks of waves that run one after the other, which end before these meet."""
        self._meetings: dict[tuple[int, int, bool], bool] = {}
        self._barriers: dict[tuple[int, int], BarrierPart | None] = {}
        self._decoded: dict[tuple[int, int], GpuInstruction] | None = None
        """While a block is written, its instructions, and those behind it that checks have looked at."""
        self.breakpoints: dict[int, list[Breakpoint]] = {}
        self.observer: Callable[[WaveBatch], Any] | None = None
        """A function that is told of each instruction before a batch executes it; if it says so, the batch does not.

        One with a `compiled_part` or with `quiet` code is told only of what Python executes, and then told to `settle`;
        its `access` and `access_of_waves` are told of accesses of that.
        """
        self.on_turn: Callable[[Device], Any] | None = None
        """A function that is called now and then."""
        self.halt: Halt | None = None
        """Why not all waves have ended, once `run` is done."""
        self.executed = 0
        self.waves_ended = 0
        self.rounds = 0
        """How often waves have been taken over from the machine, as work-groups start when others have ended."""
        self.is_interrupted = False
        self.stops_at_faults = False
        """Whether nothing runs on when a wave cannot."""
        self._errors: Any = None
        self._looks = False
        """Whether `repetition` is told of turns."""
        self.compiled: CompiledForms | None = None
        """What executes instructions as code of the host."""
        self._jit = "off"
        self._random = None if machine.seed is None else Random(machine.seed)  # noqa: S311 (an order is no secret)
        self.repetition = Repetition(self)
        self._adopt()

    def _memory(self, memory: GlobalMemory, **options: Any) -> tuple[MemoryAccess, Callable[..., bool]]:
        machine, settings = self.machine, self.machine.weak_memory
        if machine.checks is not None:
            from dwarfgpu.execution.checks.checked_memory import CheckedMemory

            checked = CheckedMemory(
                memory, machine, machine.checks, processor=self.processor, generation=self.generation, **options
            )
            return checked, checked.write_instruction
        if settings is None:
            return MemoryAccess(memory, **options), instructions.write_instruction
        from dwarfgpu.execution.weak_memory import WeakMemory

        weak = WeakMemory(memory, settings, processor=self.processor, generation=self.generation, **options)
        return weak, weak.write_instruction

    def use_compiled(self) -> None:
        """Let instructions be compiled, or no more, as the machine says now."""
        checks = self.machine.checks
        jit = self.machine.jit if checks is None or checks.can_be_compiled else "off"
        jit = self.automatic if jit == "auto" else jit
        if jit == self._jit:
            return
        self._jit, self.compiled = jit, None
        from dwarfgpu.execution.forms import native

        problem = "" if jit == "off" else native.hindrance()
        if problem and jit == "on":
            hint = "let Python execute instructions (`off`)"
            raise UsageError(f"kernels cannot be compiled: {problem}", kind="needs_package", hint=hint)
        if problem or jit == "off":
            return
        from dwarfgpu.execution.forms.compiled_forms import CompiledForms

        self.compiled = CompiledForms(self, waits=jit == "auto")

    def forget_compiled(self) -> None:
        """Write forms anew from the next run on, since somebody begins or ends to follow waves."""
        self._jit, self.compiled = "off", None

    def renew(self, batches: list[WaveBatch] | None = None) -> None:
        """Take over the waves and the memory of another launch on the machine.

        If the launch is repeated, ``batches`` are copies of those with which it began the first time.
        """
        machine = self.machine
        if machine.checks is not None or not self.memory.is_like(machine.weak_memory):
            self.__init__(machine)  # type: ignore[misc]
            return
        self.memory.remap(self._mapped.now(), machine.scratch_base)
        self.halt, self.executed, self.waves_ended = None, 0, 0
        self.repetition.start_anew()
        self._random = None if machine.seed is None else Random(machine.seed)  # noqa: S311 (an order is no secret)
        self._adopt(batches)

    def _adopt(self, batches: list[WaveBatch] | None = None) -> None:
        machine = self.machine
        self.memory.memory.buffers, self.memory.is_permissive = machine.buffers, machine.is_permissive
        rows_of_groups = np.unique(machine.groups(), return_inverse=True)[1]
        self.memory.use(_instances(machine, LOCAL), rows_of_groups, _instances(machine, PRIVATE_WAVE))
        self.batches = self._batches_of_machine() if batches is None else batches
        self.waiting: list[WaveBatch] = []
        self.ended: list[WaveBatch] = []
        self.stopped: list[tuple[WaveBatch, str]] = []
        self.stops: dict[int, WaveStop] = {}
        """Why each of the waves in `stopped` has stopped."""
        self.held: list[WaveBatch] = []
        """Waves that do not run while another one runs alone."""
        self.alone: int | None = None
        self.is_busy = False
        """Whether it runs waves now, and somebody looks at them meanwhile."""
        self._going: WaveBatch | None = None
        """The batch whose turn has not ended, and how many blocks are left of it."""
        self._left = 0
        self.rounds += 1
        first = self.batches[0] if self.batches else None
        self._register_counts = {
            OperandKind.VGPR: len(first.vector) if first is not None else 0,
            OperandKind.AGPR: len(first.accumulation) if first is not None else 0,
        }
        self._groups = np.maximum(machine.groups(), 0)
        self._alive = np.bincount(self._groups, minlength=machine.wave_count)
        named, size = machine.together.get(int(machine.dispatch.max(initial=-1)), NOTHING_TOGETHER)
        self.barriers.use(self._groups, self._alive, named, (machine.work_group, size))
        self._written = machine.changes

    @property
    def register_counts(self) -> tuple[int, int]:
        """How many vector and accumulation registers the waves have."""
        return self._register_counts[OperandKind.VGPR], self._register_counts[OperandKind.AGPR]

    def _batches_of_machine(self) -> list[WaveBatch]:
        rows = np.arange(self.machine.wave_count)
        if self.machine.seed is not None:
            np.random.default_rng(self.machine.seed).shuffle(rows)
        return [
            batch
            for first in range(0, len(rows), turns.WIDEST)
            for batch in _batches_of(self.machine, rows[first : first + turns.WIDEST], self.lanes)
        ]

    # --- Running --------------------------------------------------------------------------------------------------

    def run(self, limit: int | None = None, *, stops_at_faults: bool = False) -> None:
        """Run until every wave has ended or stopped, a breakpoint stops one, or `executed` has reached a number.

        With ``stops_at_faults`` nothing runs on when a wave cannot.
        """
        self._refresh()
        self.use_compiled()
        if self.compiled is not None:
            self.compiled.end_guards()
        self.halt = None
        self.is_interrupted = False
        self.stops_at_faults = stops_at_faults
        repetition = self.repetition
        looks = self._looks = stops_at_faults and self._random is None and not self.memory.is_weak
        self._errors = None
        if self.observer is not None or self.on_turn is not None or self.breakpoints:
            self.ignore_errors()
        self.is_busy = True
        rounds = self._rounds(limit)
        try:
            while self.halt is None:
                if self.is_interrupted:
                    self.halt = Halt(halts.INTERRUPT, "interrupted")
                elif limit is not None and self.executed >= limit:
                    self.halt = Halt(halts.LIMIT, f"{self.executed} instructions have been executed")
                elif self.batches:
                    if rounds is not None and not (looks and repetition.is_looking):
                        self._going = None
                        rounds = rounds if rounds.run() else None
                    else:
                        self._turn(repetition.step(limit) if looks else limit)
                    if looks and self.executed >= repetition.due and self.halt is None:
                        self.halt = repetition.look()
                    if self.on_turn is not None:
                        self.on_turn(self)
                elif self.waiting or not self._start_more():
                    break
        finally:
            self.is_busy = False
            if self._errors is not None:
                self._errors.__exit__(None, None, None)

    def _rounds(self, limit: int | None) -> WaveRounds | None:
        """Return how waves run one after the other, where they can and nobody watches their order."""
        compiled, part = self.compiled, self.compiled_part
        has_order = self.observer is not None and (part is None or part.needs_order)
        is_watched = self.breakpoints or has_order or self.alone is not None
        is_seen = self.is_memory_watched or self.memory.is_weak
        machine = self.machine
        is_kept = machine.past is not None or machine.checks is not None
        if compiled is None or is_watched or is_seen or is_kept or self._random is not None:
            return None
        if compiled.problem or not compiled.can_reach_all():
            return None
        return WaveRounds(self, compiled, limit)

    @property
    def is_due(self) -> bool:
        """Whether somebody looks at the waves after this round."""
        return self.on_turn is not None or (self._looks and self.executed >= self.repetition.due)

    @property
    def compiled_part(self) -> Any:
        """What compiled code does for the observer: it counts (`InstructionRecords`) or watches (`WatchedMemory`)."""
        part = getattr(self.observer, "compiled_part", None)
        return part if self.machine.checks is None else None

    @property
    def followed(self) -> Any:
        """What compiled code tells the observer of a wave (`TracedWaves`), or None."""
        return getattr(self.observer, "followed", None)

    @property
    def quiet(self) -> Any:
        """What compiled code executes without telling the observer (`QuietCode`), which looks at all else; or None."""
        return getattr(self.observer, "quiet", None)

    @property
    def is_observed(self) -> bool:
        """Whether somebody is told of each instruction."""
        return self.observer is not None and self.compiled_part is None and self.quiet is None

    @property
    def is_memory_watched(self) -> bool:
        """Whether somebody is told of each access to memory."""
        memory, own = self.memory, None if self.is_observed else self.observer
        known = getattr(own, "access", None), getattr(own, "access_of_waves", None)
        of_waves = None, memory.own_watch_waves, known[1]
        return memory.watch not in (None, known[0]) or memory.watch_waves not in of_waves

    def ignore_errors(self) -> None:
        """Let numpy say nothing of overflows until `run` is done; a kernel that is all compiled never asks for it."""
        if self._errors is None:
            self._errors = np.errstate(all="ignore")
            self._errors.__enter__()

    @property
    def is_within_turn(self) -> bool:
        """Whether the turn of a batch has not ended."""
        return self._going is not None

    def interrupt(self) -> None:
        """Make `run` return before the next block; for handlers of signals."""
        self.is_interrupted = True

    def step(self, wave: int | None = None, *, alone: bool = True) -> bool:
        """Execute one instruction of a wave, or, if it is not alone, of all waves that are at it; say whether it could.

        Without a wave the batch goes that `run` would choose.
        """
        self._refresh()
        if wave is None:
            if not self.batches:
                return False
            batch = self._next()
        else:
            found = [each for each in self.batches if wave in each.waves]
            if not found:
                return False
            (batch,) = found
            self.batches.remove(batch)
            if alone and batch.count > 1:
                self.batches.append(batch.part(batch.waves != wave))
                batch = batch.part(batch.waves == wave)
        batch.passed = NOWHERE
        self.halt = None
        self.stops_at_faults = True
        with np.errstate(all="ignore"):
            if self.execute(batch, self._found_block(batch.pc, batch.mode, single=True)):
                self.batches.append(batch)
        return True

    def _start_more(self) -> bool:
        if not self.held:
            self.memory.finish()
        if self.stopped or self.held or not self.machine.start_ahead():
            return False
        self._adopt()
        return True

    def _next(self) -> WaveBatch:
        """Take the batch whose turn it is, with all others that are at its instruction."""
        batches = self.batches
        if self._random is not None and len(batches) > 1:
            batch = self.memory.chosen(batches, self._random)
        else:
            batch = turns.first_of(batches, self.waiting)
        batches.remove(batch)
        others = turns.joining(batch, batches)
        if others:
            passed = batch.passed
            batch = batch.join(others)
            batch.passed = passed
            self.batches = [each for each in batches if each not in others]
        going = self._some(batch) if self._has_turns else self.memory.going(batch)
        if going is None:
            return batch
        self.batches.append(batch.part(~going))
        return batch.part(going)

    @property
    def _has_turns(self) -> bool:
        """Whether waves get turns of their own, of any length."""
        return self._random is not None and not self.memory.is_weak

    def _some(self, batch: WaveBatch) -> Any:
        """Return flags of the waves of a batch that run while the others stay: all, some, or one; None for all."""
        random = self._random
        assert random is not None  # noqa: S101 (the caller knows)
        share = random.choice((1, 0.5, 0))
        if batch.count == 1 or share == 1:
            return None
        flags = np.frombuffer(random.randbytes(batch.count), np.uint8) < 256 * share
        flags[random.randrange(batch.count)] = True
        return None if flags.all() else flags

    def _turn(self, limit: int | None) -> None:
        """Run the batch with the lowest address until it meets another, parts, or waits."""
        batch, left = self._chosen()
        observer, breakpoints, is_exact = self.observer, self.breakpoints, self._has_turns
        compiled = None if self.is_observed or is_exact or self.memory.is_weak else self.compiled
        since, is_inside, is_cut = 0, False, is_exact  # no block is written from where another one has been cut
        nearest = turns.nearest_of(batch, self.batches)
        while True:
            pc, mode = batch.pc, batch.mode
            batch = self._going = batch if compiled is None else compiled.entered(batch)
            forms = compiled if compiled is not None and compiled.executes(batch) else None
            if breakpoints and pc in breakpoints and batch.passed != pc and self._breaks(batch):
                break
            if observer is not None and (observer.settle() if forms is not None else observer(batch)):  # type: ignore[attr-defined]
                break
            batch.passed = NOWHERE
            execution = None if forms is None or is_inside else forms.run(batch, left, nearest, limit, since)
            if execution is not None:
                count, is_whole, is_inside = execution.count, execution.is_whole, execution.is_inside
                since = execution.since
                goes_on = self._is_together(batch, execution)
            else:
                if observer is not None and forms is not None and observer(batch):
                    break
                is_single = observer is not None or forms is not None
                block = None if is_inside else (self._single if is_single else self.blocks).get((pc, mode))
                block = block or self._found_block(pc, mode, single=is_single or is_inside or is_cut)
                if (is_exact and block.count > left) or since + block.count > LONGEST:
                    block, is_cut = self._found_block(pc, mode, single=True), True
                count, is_whole, is_inside = block.count, block.is_whole, False
                is_cut = (is_exact or is_cut) and not is_whole
                since += count
                self.ignore_errors()
                goes_on = self.execute(batch, block)
            left -= count
            if not goes_on:
                self._going = None
                return
            if left <= 0 if is_exact else is_whole and (left <= 0 or (nearest is not None and batch.pc >= nearest)):
                self._going = None
                break
            if compiled is None or is_whole or since >= LONGEST or batch.pc in breakpoints:
                since, is_cut = 0, is_cut and is_exact  # the block of the interpreter has ended
                if self.is_interrupted or (limit is not None and self.executed >= limit):
                    break
        self._left = left
        self.batches.append(batch)

    def _chosen(self) -> tuple[WaveBatch, int]:
        """Take the batch whose turn it is or has not ended; return it with the instructions that are left to it."""
        batch, left, self._going = self._going, self._left, None
        if batch is not None and any(each is batch for each in self.batches):
            self.batches.remove(batch)
            return batch, left
        batch = self._next()
        return batch, self.patience(batch, is_alone=not self.batches)

    def patience(self, batch: WaveBatch, *, is_alone: bool) -> int:
        """Return how many instructions a batch executes in its turn."""
        if is_alone and not (self._has_turns and batch.count > 1):
            return max(128, ALONE // batch.count)
        if self._random is None:
            return turns.PATIENCE - batch.spent
        return self._random.randint(1, 1 if self.memory.is_weak else self._random.choice(TURNS))

    def execute(self, batch: WaveBatch, block: CompiledBlock) -> bool:
        """Execute a block; return whether the batch is whole and goes on. Else it is where it belongs."""
        try:
            following = block.function(batch)
        except MachineFault as fault:
            self._fault(batch, block, fault)
            return False
        except (UnknownInstruction, *BROKEN) as problem:
            is_unknown = isinstance(problem, UnknownInstruction)
            broken = MachineFault(str(problem) if is_unknown else f"the instruction cannot be executed ({problem})")
            self._fault(batch, block, broken.with_traceback(problem.__traceback__))
            return False
        self.executed += block.count * batch.count
        batch.spent += block.count
        if not isinstance(following, int):
            return self._is_whole(batch, following)
        if following < 0:
            self._pause(batch, following)
            return False
        batch.pc = following
        return True

    def _is_together(self, batch: WaveBatch, execution: CompiledRun) -> bool:
        """Take note of what compiled code has executed; return whether the batch is whole."""
        self.executed += execution.count * batch.count + execution.rest
        batch.spent += execution.count + execution.rest // batch.count
        if execution.following is not None:
            return self._is_whole(batch, execution.following)
        return True

    def _breaks(self, batch: WaveBatch) -> bool:
        arrival = Arrival(self, batch)
        batch.passed = batch.pc  # a condition that fails is not asked again
        hits = {}
        has_lanes = bool(arrival.lanes.any(axis=1).all())
        for point in self.breakpoints[batch.pc]:
            point.is_passed_without_lanes |= not has_lanes
            lanes = lane_masks(batch.waves, point.stopping(arrival)) if point.is_enabled else None
            if lanes and point.counts():
                hits[point] = lanes
        for point in [*hits][:1] if self.halt is None else ():
            self.halt = Halt(halts.BREAKPOINT, point.reason, batch.pc, hits[point], tuple(hits))
        if self.halt is None:
            batch.passed = NOWHERE
            self._guard(batch)
        return self.halt is not None

    def _guard(self, batch: WaveBatch) -> None:
        """Let compiled code pass the breakpoints at an instruction in this run while their conditions are false."""
        compiled = self.compiled
        if compiled is None or batch.pc in compiled.guarded or not compiled.executes(batch):
            return
        enabled = [point for point in self.breakpoints[batch.pc] if point.is_enabled]
        if all(point.is_reached and point.guard is not None for point in enabled):
            guards = [guard for point in enabled if point.guard is not None and (guard := point.guard(batch))]
            if len(guards) == len(enabled):
                compiled.guard(batch, guards)

    def stops_at(self, end: Breakpoint, batch: WaveBatch) -> bool:
        """Stop a batch where a function says so, unless it was asked here before."""
        lanes = {} if batch.has_passed else lane_masks(batch.waves, end.stopping(Arrival(self, batch)))
        if lanes:
            self.halt = Halt(halts.BREAKPOINT, "the condition is fulfilled", batch.pc, lanes, (end,))
            batch.passed = batch.pc
        return bool(lanes)

    def rest(self, wave: int | None = None) -> Halt:
        """Return why nothing runs, or why a wave does not."""
        own = [each for each in self.stopped if wave in each[0].waves]
        failed = [each for each in own or self.stopped if each[1] != IS_HALTED]
        if failed:
            batch, reason = failed[0]
            return Halt(halts.FAULT, reason, batch.pc, dict.fromkeys(batch.waves.tolist(), 0))
        resting, why = [batch for batch, _reason in own or self.stopped], "has halted itself"
        if self.waiting and not own:
            resting, why = self.waiting, "waits at a barrier for waves that do not arrive"
        if resting:
            lanes = {int(number): 0 for batch in resting for number in batch.waves}
            return Halt(halts.STUCK, why, resting[0].pc, lanes)
        return Halt(halts.ENDED, "all waves have ended")

    def let_run(self, wave: int | None) -> bool:
        """Let only one wave run from now on, or all (None); return whether that was different before."""
        if wave == self.alone:
            return False
        self._refresh()
        self.repetition.start_anew()
        self.batches += self.held
        self.held, self.alone = [], wave
        self._hold_others()
        return True

    def _hold_others(self) -> None:
        """Hold all waves but the one that runs alone, if one does."""
        if self.alone is None:
            return
        batches, self.batches = self.batches, []
        for batch in batches:
            own = batch.waves == self.alone
            if own.all() or not own.any():
                (self.batches if own.any() else self.held).append(batch)
            else:
                self.batches.append(batch.part(own))
                self.held.append(batch.part(~own))

    def _is_whole(self, batch: WaveBatch, following: Any) -> bool:
        """Let waves go on where each of them goes; return whether that is one address, so that the turn goes on."""
        first, *others = np.unique(following).tolist()
        if not others:
            batch.pc = first
            return True
        for address in (first, *others):
            part = batch.part(following == address)
            part.pc = address
            self.batches.append(part)
        return False

    def _pause(self, batch: WaveBatch, pause: int) -> None:
        if pause == Pause.END:
            self.ended.append(batch)
            self.waves_ended += batch.count
            if batch.count == len(self._groups):
                self._alive.fill(0)
            else:
                self._alive -= self._by_group(batch)
            if self.generation >= 12:
                self.barriers.check()
            self._release()
        elif pause == Pause.BARRIER:
            self.waiting.append(batch)
            self._release()
        elif pause == Pause.TRAP:
            self._trap(batch)
        elif pause == Pause.MESSAGE:
            problem = "" if self.machine.host is None else self.machine.host.answer(self.memory.memory)
            if problem:
                self._stop(batch, MachineFault(problem, executing(batch)))
            else:
                self.batches.append(batch)
        elif pause == Pause.HALT:
            self.stopped.append((batch, IS_HALTED))
            self.stops.update(dict.fromkeys(batch.waves.tolist(), WaveStop(detail=IS_HALTED, was_halted=True)))
        else:
            self._stop(batch, MachineFault("", executing(batch), kind="FATAL_HALT"))

    def _trap(self, batch: WaveBatch) -> None:
        """Stop waves at a trap. Those of a debugger go on behind it, and only stop if they are watched."""
        instruction = executed(self.code_at(batch.pc), 0, self.processor, self.lanes)
        number = next((operand.value & 0xFF for operand in instruction.operands if operand.name == "simm16"), 0)
        trap = self.machine.traps_at(batch.pc).get(number, UNKNOWN_TRAP)
        reason, inputs = trap.reason, _trap_inputs(trap, batch)
        if reason in ("DEBUG_TRAP", "BREAKPOINT"):
            if self.stops_at_faults and self.halt is None:
                reason = ": ".join(filter(None, (reason, inputs)))
                self.halt = Halt(halts.TRAP, reason, batch.pc, lane_masks(batch.waves, executing(batch)))
            batch.pc += instruction.size
            self.batches.append(batch)
            return
        self._stop(
            batch, MachineFault(inputs, executing(batch), kind=reason), trap=number if 0 < number < 16 else OTHER_TRAP
        )

    def _stop(self, batch: WaveBatch, fault: MachineFault, trap: int | None = None) -> None:
        """Stop waves for good; the fault has the lanes of all of them."""
        self.stopped.append((batch, fault.reason))
        masks = lane_masks(batch.waves, fault.lanes) or dict.fromkeys(batch.waves.tolist(), 0)
        self.stops.update(zip(batch.waves.tolist(), fault.stops(trap), strict=True))
        if not self.stops_at_faults:
            return
        if self.halt is None:
            kind = halts.TRAP if fault.kind in TRAP_REASONS else halts.FAULT
            self.halt = Halt(kind, fault.reason, batch.pc, masks)
        elif (self.halt.kind, self.halt.pc) == (halts.FAULT, batch.pc):  # of a wave that has had its turn before
            self.halt = evolve(self.halt, lanes=(self.halt.lanes or {}) | masks)

    def _by_group(self, batch: WaveBatch) -> Any:
        return np.bincount(self._groups[batch.waves], minlength=len(self._alive))

    def _release(self) -> None:
        """Let the waves go on whose whole work-group is at the barrier, or on GFX12 has signalled."""
        if not self.waiting:
            return
        is_split = self.generation >= 12
        arrived = np.zeros(len(self._alive), np.int64)
        for batch in self.waiting:
            arrived += self._by_group(batch)
        whole = arrived == self._alive
        waiting, self.waiting = self.waiting, []
        for batch in waiting:
            free = self.barriers.go_on(batch) if is_split else whole[self._groups[batch.waves]]
            if free.all():
                self.batches.append(batch)
            elif free.any():
                self.batches.append(batch.part(free))
                self.waiting.append(batch.part(~free))
            else:
                self.waiting.append(batch)
        self._hold_others()

    def _fault(self, batch: WaveBatch, block: CompiledBlock, fault: MachineFault) -> None:
        """Stop the waves that cannot execute an instruction; the others go on with it."""
        trace = fault.__traceback__
        line = 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<block>":
                line = trace.tb_lineno
            trace = trace.tb_next
        batch.pc = block.addresses[line - 3]
        count = block.instructions.index(batch.pc)
        self.executed += batch.count * count
        batch.spent += count
        lanes = fault.lanes
        if lanes is None or lanes.ndim == 1:
            lanes = executing(batch) if lanes is None else executing(batch) & lanes[:, None]
        waves = fault.waves
        addresses = fault.addresses
        stopping = batch
        if waves is not None and not waves.all():
            self.batches.append(batch.part(~waves))
            stopping, lanes = batch.part(waves), lanes[waves]
            addresses = addresses if addresses is None or isinstance(addresses, int) else addresses[waves]
        fault.lanes, fault.addresses = lanes, addresses
        self._stop(stopping, fault)

    # --- Code -----------------------------------------------------------------------------------------------------

    def add_breakpoint(self, point: Breakpoint) -> None:
        """Let waves stop at the addresses of a breakpoint from now on."""
        for address in point.addresses:
            self.breakpoints.setdefault(address, []).append(point)
        self._end_code_before(point.addresses)

    def _end_code_before(self, addresses: Iterable[int]) -> None:
        """Forget what was compiled of code that does not end before some addresses."""
        for address in addresses:
            self.blocks = {
                key: block
                for key, block in self.blocks.items()
                if key[0] == address or address not in block.instructions
            }
            if self.compiled is not None:
                self.compiled.forget(address)

    @contextmanager
    def only_breakpoints(self, points: Iterable[Breakpoint]) -> Iterator[None]:
        """Let waves meanwhile stop at some breakpoints, and at none of those that there are."""
        before, self.breakpoints = self.breakpoints, {}
        for point in points:
            self.add_breakpoint(point)
        try:
            yield
        finally:
            for point in points:
                self.remove_breakpoint(point)
            self.breakpoints = before
            self._end_code_before(before)

    def remove_breakpoint(self, point: Breakpoint) -> None:
        """Let no wave stop there."""
        for address in point.addresses:
            others = [each for each in self.breakpoints.pop(address, ()) if each is not point]
            if others:
                self.breakpoints[address] = others
            else:
                self.blocks = {
                    key: block for key, block in self.blocks.items() if block.is_whole or block.following != address
                }

    def _found_block(self, pc: int, mode: int, *, single: bool = False) -> CompiledBlock:
        blocks = self._single if single else self.blocks
        block = blocks.get((pc, mode))
        if block is None:
            if len(blocks) >= MOST_BLOCKS:
                for key in list(blocks)[: MOST_BLOCKS // 2]:
                    del blocks[key]
            block = blocks[pc, mode] = self._block(pc, mode, 1 if single else LONGEST)
        return block

    @property
    def has_many_waves(self) -> bool:
        """Whether waves meet before each instruction that has no form."""
        return self.machine.wave_count > _FEW

    def waves_meet(self, pc: int, mode: int) -> bool:
        """Return whether waves that run one after the other meet before an instruction.

        Where waves are many, they do so before each that Python executes.
        """
        are_many = self.has_many_waves
        key = pc, mode, are_many
        if key not in self._meetings:
            try:
                instruction = self.instruction(pc, mode)
            except MachineFault:
                return False
            meets = instructions.waves_meet(instruction) or has_banks(mode, self.processor)
            if are_many and self.compiled is not None and not meets:
                meets = not self.compiled.has_form(pc, mode)
            self._meetings[key] = meets
        return self._meetings[key]

    def barrier_part(self, pc: int, mode: int) -> BarrierPart | None:
        """Return what an instruction where waves meet is for the barrier of its work-group."""
        key = pc, mode
        if key not in self._barriers:
            self._barriers[key] = instructions.barrier_part(self.instruction(pc))
        return self._barriers[key]

    def groups_of(self, waves: Any) -> tuple[Any, Any]:
        """Return where work-groups begin among waves in their order, and where the last one ends; and which are whole.

        A group is whole if all its waves are there that have not ended, and none has signalled that it is at a barrier.
        """
        groups = self._groups[waves]
        starts = np.ones(len(groups) + 1, bool)
        np.not_equal(groups[1:], groups[:-1], out=starts[1:-1])
        bounds = np.flatnonzero(starts)
        own = groups[bounds[:-1]]
        is_free = self.generation < 12 or (self.barriers.has_barrier & (self.barriers.signals == 0))[own]
        return bounds, (bounds[1:] - bounds[:-1] == self._alive[own]) & is_free

    def code_around(self, pc: int) -> range:
        """Return the addresses of the piece of memory with an instruction; of no other one where there is no code."""
        segment = self.memory.memory.segment_of(pc, pc)
        return range(pc, pc + 1) if segment is None or pc % 4 else range(segment.start, segment.end)

    def block_of_wave(self, pc: int, mode: int, most: int) -> CompiledBlock:
        """Return straight code of so many instructions at most, which ends where waves meet that run one by one."""
        block = self._of_waves.get((pc, mode)) if most > 1 else None
        if block is None and most > 1:
            block = self._of_waves[pc, mode] = self._block(pc, mode, LONGEST, is_by_wave=True)
        return self._found_block(pc, mode, single=True) if block is None or block.count > most else block

    def straight_code(self, pc: int, mode: int) -> tuple[int, ...]:
        """Return the addresses of the instructions of the block at an address."""
        return self._found_block(pc, mode, single=self.observer is not None).instructions

    def _block(self, pc: int, mode: int, longest: int, *, is_by_wave: bool = False) -> CompiledBlock:
        """Compile the code from an address to the next branch, or to the next breakpoint."""
        writer = self._writer(mode)
        address, is_whole = pc, False
        instructions: list[int] = []
        self._decoded = {}
        while True:
            is_before = address in self.breakpoints or (is_by_wave and self.waves_meet(address, mode))
            if instructions and (len(instructions) == longest or is_before):
                writer.write(f"return {address}")
                break
            writer.address = address
            start = len(writer.lines)
            instructions.append(address)
            try:
                instruction = self.instruction(address, mode)
                ends = self._write_instruction(writer, instruction, address, self.memory)
            except (UnknownInstruction, MachineFault, *BROKEN) as problem:
                del writer.lines[start:], writer.addresses[start:]
                fault = problem if isinstance(problem, MachineFault) else self._unable(problem, address)
                writer.write(f"{writer.name(_raising(fault))}()")
                writer.write(f"return {address}")
                break
            address += instruction.size
            if ends:
                is_whole = True
                break
        self._decoded = None
        return CompiledBlock(
            writer.function(), tuple(writer.addresses), tuple(instructions), len(instructions), address, is_whole
        )

    def _writer(self, mode: int) -> BlockWriter:
        writer = BlockWriter(self.lanes, mode)
        writer.names_of_apertures = self.special_sources()
        writer.processor, writer.generation, writer.clock = self.processor, self.generation, self.clock
        writer.barriers, writer.is_far_branch = self.barriers, self.is_far_branch
        return writer

    def is_interpreted(self, instruction: GpuInstruction, address: int, mode: int) -> bool:
        """Return whether the interpreter can execute an instruction."""
        writer = self._writer(mode)
        writer.address = address
        try:
            self._write_instruction(writer, instruction, address, self.memory)
        except (UnknownInstruction, MachineFault, *BROKEN):
            return False
        return True

    def instruction(self, address: int, mode: int = 0) -> GpuInstruction:
        """Return the instruction at an address as it is in a mode; raise a fault where none can be executed."""
        if self._decoded is not None and (address, mode) in self._decoded:
            return self._decoded[address, mode]
        instruction = executed(self.code_at(address), 0, self.processor, self.lanes)
        if instruction.name == ".long":
            raise MachineFault(f"no instruction: {instruction.data.hex(' ', 4)}", kind=ILLEGAL_INSTRUCTION)
        if has_banks(mode, self.processor):
            instruction = with_banks(instruction, mode)
        for part in (instruction, *instruction.components):
            for operand in part.operands:
                count = self._register_counts.get(operand.kind)
                last = operand.index + max(1, operand.bits // 32) - 1
                if count is not None and last >= count:
                    detail = f"{operand.text} is not among the {count} registers of the wave"
                    raise MachineFault(detail, kind=ILLEGAL_INSTRUCTION)
        if self._decoded is not None:
            self._decoded[address, mode] = instruction
        return instruction

    def _unable(self, problem: Exception, address: int) -> MachineFault:
        code = self.code_at(address)
        instruction = executed(code, 0, self.processor, self.lanes)
        what = str(problem) if isinstance(problem, UnknownInstruction) else f"{instruction.mnemonic} with such operands"
        return MachineFault(f"{what}: {instruction.data.hex(' ', 4)}")

    def code_at(self, address: int) -> bytes:
        """Return the bytes of an instruction, and as many behind it as there may be."""
        segment = self.memory.memory.segment_of(address, address + 3)
        if segment is None:
            raise MachineFault(f"no code at {address:#x}", kind=MEMORY_VIOLATION, addresses=address)
        start = address - segment.start
        code: bytes = segment.data[start : start + 20].tobytes()
        return code

    def is_far_branch(self, jump: GpuInstruction, address: int) -> bool:
        """Return whether a jump is a branch too far for an offset, and so neither a return nor a call."""
        segment = self.memory.memory.segment_of(address, address)
        at = 0 if segment is None else address - segment.start
        before = b"" if segment is None else segment.data[max(at - 32, 0) : at].tobytes()
        return is_far_branch(before, jump, self.processor, self.lanes)

    def special_sources(self) -> dict[str, int]:
        """Return the special registers that are constants."""
        shared, private = self.apertures.shared, self.apertures.private
        return {
            "src_shared_base": shared, "src_private_base": private, "src_shared_base_lo": 0, "src_private_base_lo": 0,
            "src_shared_limit": shared + 0xFFFFFFFF, "src_private_limit": private + 0xFFFFFFFF,
        }  # fmt: skip

    # --- Going back -----------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Take over what has been changed in the machine; return whether something was."""
        changes = self._written
        self._refresh()
        return changes != self._written

    @property
    def is_changed(self) -> bool:
        """Whether somebody has changed the machine since the waves ran."""
        return self._written != self.machine.changes

    def places(self) -> dict[int, int]:
        return {wave: batch.pc for batch, _reason in self.every_batch() for wave in batch.waves.tolist()}

    def saved(self) -> dict[str, Any]:
        """Return what `restore` needs to bring the waves back to where they are now; memory is not among it."""
        order = None if self._random is None else self._random.getstate()
        parts = {"barriers": self.barriers.saved(), "memory": self.memory.saved(), "order": order}
        parts |= {"now": self.clock.now, "host": self.machine.host and self.machine.host.count}
        return _copied(self.__dict__) | parts

    def restore(self, saved: dict[str, Any]) -> None:
        """Bring the waves back to where they were."""
        self.__dict__.update(_copied(saved))
        self.clock.now = saved["now"]
        if saved["host"] is not None:
            self.machine.host.go_back(saved["host"])
        if self._random is not None:
            self._random.setstate(saved["order"])
        self.barriers.restore(saved["barriers"], self._alive)
        self.memory.restore(saved["memory"])
        self.repetition.start_anew()
        self.halt = None
        self._written = self.machine.changes

    # --- The machine ----------------------------------------------------------------------------------------------

    def every_batch(self) -> list[tuple[WaveBatch, str | None]]:
        """Return all waves, with why they do not run."""
        return [
            *((batch, None) for batch in (*self.batches, *self.held)),
            *((batch, WAITS) for batch in self.waiting),
            *self.stopped,
            *((batch, HAS_ENDED) for batch in self.ended),
        ]

    def outstanding(self, wave: int) -> list[OutstandingNow]:
        """Return what a wave has outstanding, the oldest first; nothing where memory has everything at once."""
        return self.memory.outstanding(wave)

    def write_back(self) -> None:
        """Let the machine have the registers of the waves, once somebody reads them; memory is there already."""
        machine = self.machine
        machine.ahead, machine.changes = self, machine.changes + 1
        self._written = machine.changes

    def write_registers(self) -> None:
        """Put the registers of the waves into the machine."""
        machine = self.machine
        machine.stops.clear()
        for batch, reason in self.every_batch():
            self._write(batch)
            if reason is not None:
                machine.stops.update(dict.fromkeys(batch.waves.tolist(), WaveStop(detail=reason)))
        for batch, _reason in self.stopped:
            machine.stops.update((wave, self.stops[wave]) for wave in batch.waves.tolist())
        if self.halt is not None and self.halt.kind == halts.TRAP:  # at one of a debugger they can go on
            for wave, lanes in (self.halt.lanes or {}).items():
                machine.stops.setdefault(wave, WaveStop((self.halt.reason,), lanes))

    def written(self, batch: WaveBatch) -> Gpu:
        """Return the machine with the registers that a batch has now."""
        self._write(batch)
        self.machine.changes += 1
        self._written = self.machine.changes
        return self.machine

    def write_wave(self, wave: int, batch: WaveBatch) -> None:
        """Put the registers of a wave into the machine; it is in the batch whose turn it is if it is in no other."""
        self.written(self.batch_of(wave, batch))

    def batch_of(self, wave: int, turn: WaveBatch) -> WaveBatch:
        """Return the batch that a wave is in: that whose turn it is if it is in no other."""
        return next((known for known, _ in self.every_batch() if wave in known.waves), turn)

    def _write(self, batch: WaveBatch) -> None:
        machine = self.machine
        for file in machine.files:
            columns = {"v0": batch.vector, "a0": batch.accumulation}.get(file.registers[0].name, [])
            for register, column in zip(file.registers, columns, strict=False):
                if column is not NOTHING:
                    machine.put(file, register, column, batch.index)
        machine.set_numbers(self._scalars(batch), batch.index)
        if machine.calls or batch.calls is not NO_CALLS:
            known = {id(calls): return_addresses(calls) for calls in batch.each_calls()}
            found = (known[id(calls)] for calls in batch.each_calls())
            machine.calls.update(zip(batch.waves.tolist(), found, strict=True))

    def _refresh(self) -> None:
        """Take over what has been changed in the machine since the waves were written to it."""
        machine = self.machine
        machine.catch_up()
        if machine.changes == self._written:
            return
        self.repetition.start_anew()
        before = self.batches, self.waiting, self.stopped
        self.batches = [new for batch in before[0] for new in self._read_again(batch)]
        self.held = [new for batch in self.held for new in self._read_again(batch)]
        self.waiting, self.stopped = [], []
        for batch, reason in (*((each, None) for each in before[1]), *before[2]):
            for new in self._read_again(batch):
                if new.pc != batch.pc:  # sent elsewhere, it can go on
                    self.batches.append(new)
                elif reason is None:
                    self.waiting.append(new)
                else:
                    self.stopped.append((new, reason))
        self._written = machine.changes

    def _read_again(self, batch: WaveBatch) -> Iterator[WaveBatch]:
        """Yield the waves of a batch with the registers that the machine has; what it does not have is kept."""
        for new in _batches_of(self.machine, batch.waves, self.lanes):
            kept = batch.part(np.isin(batch.waves, new.waves))
            new.scc, new.calls, new.beside = kept.scc, kept.calls, kept.beside
            if new.pc != batch.pc:
                new.calls = new.calls_after_jump(new.pc, NOWHERE)
            new.mode = new.mode & INDEX_ENABLE * 2 - 1 | kept.mode & ~(INDEX_ENABLE * 2 - 1)
            new.passed = batch.passed
            yield new

    def _scalars(self, batch: WaveBatch) -> Iterator[tuple[TargetRegister, Any]]:
        """Yield the scalar registers that are known, those that the target has."""
        scalar, places = batch.scalar, self.scalar_places
        for place, register in places.items():
            if isinstance(place, int) and scalar[place] is not UNSET:
                yield register, scalar[place]
        if scalar[FLAT_SCRATCH] is not UNSET and "flat_scratch" in places:
            yield places["flat_scratch"], scalar[FLAT_SCRATCH] | scalar[FLAT_SCRATCH + 1] << 32
        yield from ((places["pc"], batch.pc), (places["exec"], batch.exec))
        yield places["mode"], batch.mode & INDEX_ENABLE * 2 - 1
        if "barrier_state" in places:
            yield places["barrier_state"], self.barriers.state(batch, is_group=True)
            yield places["state_priv"], self.barriers.are_complete(batch) << BARRIER_COMPLETE | batch.scc << SCC_BIT


@contextmanager
def interruptible(device: Device) -> Iterator[None]:
    """Let ^C end a run between two blocks of instructions, so that no wave is lost; a second one is the usual one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: Any) -> None:
        device.interrupt()
        _signal.signal(_signal.SIGINT, before)

    before = _signal.signal(_signal.SIGINT, stop)
    before = _signal.default_int_handler if before is None else before  # 0 is SIG_DFL
    try:
        yield
    finally:
        _signal.signal(_signal.SIGINT, before)


@cache
def keep_freed_memory() -> None:
    """Let the allocator of the C library keep what is freed: arrays of a batch come and go with each instruction.

    Else it returns their pages to the system and gets them again, which takes longer than the arithmetic.
    """
    import ctypes

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the C library of GNU; Windows has no library without a name
        return
    for option, size in ((_TRIM_THRESHOLD, 1 << 28), (_MMAP_THRESHOLD, 1 << 25), (_TOP_PAD, 1 << 24)):
        set_option(option, size)


def _copied(device: dict[str, Any]) -> dict[str, Any]:
    """Return where the waves of a device are, as copies that change on their own."""
    copies: dict[int, WaveBatch] = {}

    def copied(batch: WaveBatch) -> WaveBatch:
        if id(batch) not in copies:
            copies[id(batch)] = batch.copy()
            copies[id(batch)].passed = batch.passed
        return copies[id(batch)]

    state = {name: device[name] for name in ("rounds", "alone", "executed", "waves_ended", "_left")}
    state |= {name: [*map(copied, device[name])] for name in ("batches", "waiting", "ended", "held")}
    state["stopped"] = [(copied(batch), reason) for batch, reason in device["stopped"]]
    state["_going"] = copies.get(id(device["_going"]))
    return state | {"_alive": device["_alive"].copy()}


def _raising(fault: MachineFault) -> Any:
    def raise_it() -> None:
        raise MachineFault(fault.detail, kind=fault.kind, addresses=fault.addresses)

    return raise_it


def _trap_inputs(trap: TrapMeaning, batch: WaveBatch) -> str:
    if not (trap.has_argument or trap.has_queue):
        return ""
    flags = executing(batch)
    values = np.unique(np.broadcast_to(batch.vector[0], flags.shape)[flags]).tolist()
    low, high = (int(np.max(batch.scalar[number])) for number in (0, 1))
    return trap_inputs(trap, values, high << 32 | low)


def _instances(machine: Machine, number: int) -> Any:
    """Return the memory of all instances of an address space, ``[instance, byte]``."""
    store = machine.memory.stores.get(number)
    if store is None or not len(store.starts):
        return np.zeros((0, 0), np.uint8)
    (block,) = store.blocks
    return np.frombuffer(block.buffer, np.uint8).reshape(len(store.starts), -1)


def _batches_of(machine: Machine, rows: Any, lanes: int) -> Iterator[WaveBatch]:
    """Yield the waves of a machine with some indices: those at one instruction, with one MODE, together."""
    keys = []
    for name in ("pc", "mode"):
        register = machine.register_named(name)
        is_known = register is not None and machine.knows(register, int(rows[0])) if len(rows) else False
        keys.append(machine.column(name)[rows].astype(np.uint64) if is_known else np.zeros(len(rows), np.uint64))
    pairs = np.stack(keys, axis=1)
    if len(rows) and (pairs == pairs[0]).all():
        yield _batch_of(machine, rows, lanes)
        return
    for pair in np.unique(pairs, axis=0) if len(rows) else ():
        yield _batch_of(machine, rows[(pairs == pair).all(axis=1)], lanes)


def _batch_of(machine: Machine, rows: Any, lanes: int) -> WaveBatch:
    """Return waves of a machine as one batch; they must be at one address."""
    files = {name: file for file in machine.files for name in [file.registers[0].name]}
    vector, accumulation = files.get("v0"), files.get("a0")
    batch = WaveBatch(
        rows, lanes, len(vector.registers) if vector else 0, len(accumulation.registers) if accumulation else 0
    )
    index = batch.index
    for file in machine.files:
        columns = batch.vector if file is vector else batch.accumulation if file is accumulation else None
        known = np.flatnonzero(file.known[index].any(axis=0)).tolist()
        if columns is not None:
            for position in known:
                columns[position] = np.array(file.data[:, position][index])
            continue
        data = file.data[index][:, known]
        first, is_same = data[0, :, 0].tolist(), (data == data[0]).all(axis=(0, 2)).tolist()
        for number, position in enumerate(known):
            value = first[number] if is_same[number] else data[:, number].astype(np.uint64)
            _set(batch, file.registers[position].name, value)
    return batch


def _set(batch: WaveBatch, name: str, number: Any) -> None:
    if name in SCALAR_PLACES:
        batch.scalar[SCALAR_PLACES[name]] = number
    elif name == "exec":
        batch.set_exec(number)
    elif name in ("pc", "mode"):
        setattr(batch, name, int(number))
    elif name == "flat_scratch":
        batch.scalar[FLAT_SCRATCH], batch.scalar[FLAT_SCRATCH + 1] = number & 0xFFFFFFFF, number >> 32
    elif name == "status":
        batch.status = number
