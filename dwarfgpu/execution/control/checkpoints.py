"""The past of a kernel that runs: checkpoints, and the way from one of them to any later instruction.

The order in which waves run is the same each time, so a checkpoint and a number of instructions are one state. Time
is `Device.executed`. Where a user has changed the machine, or which waves run, a checkpoint is made, because nothing
before it leads there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from time import process_time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dwarfgpu.execution import halts
from dwarfgpu.execution.block_writer import LONGEST
from dwarfgpu.execution.device import interruptible
from dwarfgpu.execution.turns import WIDEST
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.breakpoints import Breakpoint
    from dwarfgpu.execution.gpu import Gpu

INTERVAL = 10_000
"""The instructions of a wave between two checkpoints at least, as waves run forwards."""
WORTH = 100
"""How many times as long as a checkpoint takes, waves run before it at least."""
SPREAD = 4
"""The factor by which the distance between two checkpoints changes."""
PARTS = 32
"""The parts of a stretch that is searched, at most."""
PARTS_OF_DISTANCE = 16
"""As many parts has what lies between two checkpoints usually, so that waves run longer than a part takes to keep."""
LEAST_LOOKED_AT = 500
"""The instructions of a wave in a part, if somebody looks at each of them, at least."""
LOOK = 2e-6
"""The seconds that this takes for an instruction at least."""
MOST = 64
"""The checkpoints that are kept, besides those that a change of a user has made."""
MOST_FIXED = 4096
"""The checkpoints that are kept where many were made for changes of a user."""
MOST_BYTES = 512 << 20
"""The bytes that checkpoints keep, if two of them do not need more."""
FILL = 0xA5
"""What private memory begins with instead of 0 where a kernel runs once more to find which bytes it has written."""
LONGEST_SEARCH = 2.0
"""The seconds of processor time that this may take."""
LARGEST_SEARCH = 64 << 20
"""The bytes of private memory of which that is found."""
MOST_KEPT = 64 << 20
"""The bytes of memory that are copied at a launch, to find what was never set, and what has changed a variable last."""
CHUNK = 1 << 16
ZEROS = bytes(CHUNK)
KeptMemory: TypeAlias = Mapping[tuple[int, int], tuple[bytes, ...]]
"""The chunks of each writable block, by its address space and its first address."""


@frozen(eq=False)
class Checkpoint:
    """A machine at one time."""

    time: int
    device: dict[str, Any]
    """What `Device.saved` returned."""
    memory: KeptMemory
    """What is in writable memory. Checkpoints share the chunks that are equal."""
    known: tuple[Any, ...]
    """Which registers the machine knew, by their files; waves may have written others since."""
    is_fixed: bool
    """Whether no earlier checkpoint leads here."""
    beside: int
    """The bytes that it keeps besides writable blocks."""


def writable_blocks(machine: Gpu) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield the memory that waves can change, with the address space and the first address of each block."""
    for space, store in machine.memory.stores.items():
        firsts = dict(zip(reversed(store.owners), reversed(store.starts), strict=True))
        for number, block in enumerate(store.blocks):
            data = np.frombuffer(block.buffer, np.uint8)
            if data.flags.writeable and data.size:
                yield (space, firsts[number]), data


def _size_of(device: dict[str, Any]) -> int:
    """Return the bytes of the registers of waves that were saved."""
    batches = [*device["batches"], *device["waiting"], *device["ended"], *device["held"]]
    batches += [batch for batch, _reason in device["stopped"]]
    columns = {id(column): column.nbytes for batch in batches for column in (*batch.vector, *batch.accumulation)}
    return sum(columns.values())


def keep_launch(machine: Gpu) -> None:
    """Remember a machine as it is before it runs, unless it has much memory."""
    if machine.past is None and sum(data.size for _place, data in writable_blocks(machine)) <= MOST_KEPT:
        History(machine)


def bytes_of(memories: Iterable[KeptMemory]) -> int:
    """Return the bytes of memories that share chunks."""
    blocks = {id(block): block for memory in memories for block in memory.values()}
    chunks = {id(chunk): len(chunk) for block in blocks.values() for chunk in block if chunk is not ZEROS}
    return sum(chunks.values())


class History:
    """The checkpoints of a machine, in the order of time."""

    def __init__(self, machine: Gpu, before: KeptMemory | None = None, beside: int = 0) -> None:
        """``before`` is memory that is kept already, whose equal chunks are shared; ``beside`` counts its bytes."""
        self.machine = machine
        self.device = machine.device
        self.checkpoints: list[Checkpoint] = []
        self._beside = beside
        self._changed = inf
        """When a user first changed the machine, or which waves run."""
        self._spread = 1
        """How many intervals lie between two checkpoints now."""
        self._cost = 0.0
        """The seconds that the last checkpoint took."""
        self._unwritten: tuple[int, Any] = (-1, None)
        """The private bytes that nothing had written as of a change of the machine: ones; None if that is not known."""
        self._filled: tuple[Checkpoint, Checkpoint] | None = None
        """The launch, and the machine where private memory began with other bytes, as far as that was executed."""
        self._too_late = inf
        """From which time on a search of them takes too long, or finds nothing."""
        self.device.refresh()
        self.keep(is_fixed=True, before=before)
        machine.past = self

    @property
    def _width(self) -> int:
        """How many waves a batch may have."""
        return max(1, min(self.machine.wave_count, WIDEST))

    @property
    def interval(self) -> int:
        """How many instructions lie between two checkpoints at least."""
        return INTERVAL * self._width

    @property
    def distance(self) -> int:
        """How many instructions lie between two checkpoints now."""
        return self.interval * self._spread

    # --- Keeping --------------------------------------------------------------------------------------------------

    def keep(self, *, is_fixed: bool = False, before: KeptMemory | None = None) -> None:
        """Make a checkpoint; the first one shares what is equal with memory that is given."""
        if self.checkpoints and self.checkpoints[-1].device["rounds"] != self.device.rounds:
            self.checkpoints.clear()  # waves have ended and others have taken their places
            is_fixed = True
        last = self.checkpoints[-1] if self.checkpoints else None
        time = self.device.executed
        if last is not None and last.time == time and not is_fixed:
            return
        begun = process_time()
        known = tuple(file.known.copy() for file in self.machine.files)
        device = self.device.saved()
        beside = self.device.memory.saved_size(device["memory"]) + _size_of(device) + sum(each.nbytes for each in known)
        memory = self._memory((before or {}) if last is None else last.memory)
        self.checkpoints.append(Checkpoint(time, device, memory, known, is_fixed, beside))
        self._thin()
        self._cost = process_time() - begun

    def keep_after(self, seconds: float) -> None:
        """Make a checkpoint after waves have run for so long; compiled code gets fewer, so that they cost little."""
        self.keep()
        taken = WORTH * self._cost
        if 2 * seconds < taken:
            self._spread *= SPREAD
        elif seconds > 2 * SPREAD * taken:
            self._spread = max(self._spread // SPREAD, 1)

    def changed(self, *, is_certain: bool = False) -> None:
        """Take note that the machine has been changed, if so."""
        if self.device.refresh() or is_certain:
            self._changed = min(self._changed, self.device.executed)
            self.keep(is_fixed=True)

    @property
    def is_changed(self) -> bool:
        """Whether a user has changed what the waves would have done by themselves."""
        return self._changed < inf

    def run_to_end(self) -> None:
        """Run to where nothing goes on, without a stop, so that one can go back from there."""
        while True:
            begun = process_time()
            halt = self.machine.run(limit=self.distance)
            if halt.kind == halts.INTERRUPT:
                raise KeyboardInterrupt
            if halt.kind == halts.LIMIT:
                self.keep_after(process_time() - begun)
            elif halt.kind != halts.TRAP or self.device.stopped:
                return

    def _memory(self, before: KeptMemory) -> KeptMemory:
        kept: dict[tuple[int, int], tuple[bytes, ...]] = {}
        for place, data in writable_blocks(self.machine):
            known, chunks = before.get(place, ()), []
            for index, start in enumerate(range(0, data.size, CHUNK)):
                chunk = data[start : start + CHUNK].tobytes()
                if index < len(known) and known[index] == chunk:
                    chunk = known[index]
                elif chunk == ZEROS:
                    chunk = ZEROS
                chunks.append(chunk)
            is_same = len(chunks) == len(known) and all(map(operator.is_, chunks, known))
            kept[place] = known if is_same else tuple(chunks)
        return kept

    @property
    def most_bytes(self) -> int:
        """How many bytes checkpoints may keep, if two of them do not need more."""
        return max(MOST_BYTES - self._beside, 0)

    @property
    def size(self) -> int:
        """The bytes that all checkpoints keep."""
        return bytes_of(point.memory for point in self.checkpoints) + sum(point.beside for point in self.checkpoints)

    def _closeness(self, index: int) -> float:
        """Return how far the checkpoints around one are apart, for how long ago that was."""
        before, behind = (self.checkpoints[index + step].time for step in (-1, 1))
        return (behind - before) / (self.checkpoints[-1].time + 1 - before)

    def _thin(self) -> None:
        """Forget checkpoints while they are too many or too large, first where they are close for their age.

        The first one, which is the launch, goes last.
        """
        points = self.checkpoints
        while len(points) > 2 and (len(points) > MOST or self.size > self.most_bytes):
            loose = [index for index in range(1, len(points) - 1) if not points[index].is_fixed]
            if loose:
                del points[min(loose, key=self._closeness)]
            elif len(points) > MOST_FIXED or self.size > self.most_bytes:
                del points[0]
            else:
                break

    # --- Going there ----------------------------------------------------------------------------------------------

    def _restore(self, point: Checkpoint) -> None:
        self.device.restore(point.device)
        for number, file in enumerate(self.machine.files):  # those that are new hold nothing that was known then
            file.known[...] = point.known[number] if number < len(point.known) else False
        for place, data in writable_blocks(self.machine):
            for index, chunk in enumerate(point.memory[place]):
                data[index * CHUNK : index * CHUNK + len(chunk)] = np.frombuffer(chunk, np.uint8)

    def _replay(self, until: int | None, observer: Callable[[WaveBatch], Any] | None, points: list[Breakpoint]) -> None:
        """Execute up to a time, without a stop; an observer is asked before each instruction."""
        device, before = self.device, self.device.observer
        device.observer = observer
        try:
            with device.only_breakpoints(points), interruptible(device):
                device.run(until)
            if device.halt is not None and device.halt.kind == halts.INTERRUPT:
                raise KeyboardInterrupt
        finally:
            device.observer = before

    def _arrive(self, time: int) -> None:
        """Execute up to a time, to where the batch whose turn it is then is about to execute its next instruction."""
        device = self.device

        def is_there(batch: WaveBatch) -> bool:
            if device.executed < time:
                return False
            device.halt = halts.Halt(halts.STEP, "stepped", batch.pc)
            batch.passed = batch.pc  # a breakpoint here does not stop it before it has gone on
            return True

        slack = LONGEST * self._width  # blocks of instructions may go too far
        if device.executed < time - slack:
            self._replay(time - slack, None, [])
        self._replay(None, is_there, [])

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Come back to the present if the way back ends with an error or ^C."""
        all_points = list(self.checkpoints)  # keeping one may drop others
        self.keep(is_fixed=True)
        present = self.checkpoints.pop()
        try:
            yield
        except BaseException:
            self.checkpoints = all_points
            self._restore(present)
            self.device.write_back()
            raise

    def go_to(self, time: int) -> bool:
        """Bring the machine to an earlier time, and forget what came later; return whether that is kept."""
        while self.checkpoints and self.checkpoints[-1].time > time:
            self.checkpoints.pop()
        if not self.checkpoints or self.checkpoints[-1].device["rounds"] != self.device.rounds:
            return False
        self._changed = inf if time < self._changed else self._changed
        self._restore(self.checkpoints[-1])
        self._arrive(time)
        self.device.write_back()
        return True

    def stretches(
        self, observer: Callable[[WaveBatch], Any] | None, points: list[Breakpoint] | None = None
    ) -> Iterator[None]:
        """Execute the stretches of the past once more, the latest first, and yield after each.

        The observer is called before each instruction, and the conditions of breakpoints where they are. The machine
        is then where the last stretch ends.
        """
        end = now = self.device.executed
        for point in list(reversed(self.checkpoints)):
            if point.time >= end or point.device["rounds"] != self.device.rounds:
                continue
            is_fine = observer is not None or end == now
            yield from self._stretch(point, end, observer, points or [], is_fine=is_fine)
            end = point.time

    def _stretch(
        self,
        point: Checkpoint,
        end: int,
        observer: Callable[[WaveBatch], Any] | None,
        points: list[Breakpoint],
        *,
        is_fine: bool,
    ) -> Iterator[None]:
        """Execute a stretch once more in parts, the latest first.

        Fine parts have few instructions. They are for an observer, whom each one costs much, and for the time just
        before now, when breakpoints that are hit often were hit last.
        """
        least = max(self.distance // PARTS_OF_DISTANCE, 1)
        if is_fine:
            least = self._width * max(LEAST_LOOKED_AT, int(self._cost / LOOK))
        parts = self._parts(point, end, least)
        for part in reversed(parts):
            if is_fine and len(parts) > 1 and end - part.time > 2 * least:
                yield from self._stretch(part, end, observer, points, is_fine=True)
            else:
                self._restore(part)
                self._replay(end, observer, points)
                yield
            is_fine = observer is not None
            end = part.time

    def _parts(self, point: Checkpoint, end: int, least: int) -> list[Checkpoint]:
        """Return a checkpoint and those that divide the stretch from it, which is executed for that."""
        step = max(least, (end - point.time) // PARTS)
        if point.time + step >= end:
            return [point]
        points, self.checkpoints = self.checkpoints, [point]
        try:
            self._restore(point)
            while self.device.executed + step < end:
                self._replay(self.device.executed + step, None, [])
                self.keep()
            return [point, *(each for each in self.checkpoints if point.time < each.time < end)]
        finally:
            self.checkpoints = points

    def fill(self, until: float) -> None:
        """Make the checkpoints that lack between the last one and now; raise `TimeoutError` at a time of the clock."""
        end = self.device.executed
        with self.visiting() as points:
            self._restore(points[-1])
            while self.device.executed + self.interval < end:
                if process_time() > until:
                    raise TimeoutError
                self._replay(self.device.executed + self.interval, None, [])
                self.keep()
            points[:] = self.checkpoints

    @property
    def is_whole(self) -> bool:
        """Whether the launch is known, and nobody has changed the machine since."""
        fixed = [point for point in self.checkpoints if point.is_fixed]
        is_launch = bool(fixed) and not fixed[-1].time and fixed[-1].device["rounds"] == self.device.rounds
        return is_launch and not self.device.memory.is_weak

    @contextmanager
    def visiting(self) -> Iterator[list[Checkpoint]]:
        """Go to the past, which has these checkpoints, and come back to the present, whatever happens."""
        points = list(self.checkpoints)  # keeping one may drop others
        self.keep(is_fixed=True)
        present, halt = self.checkpoints.pop(), self.device.halt
        before = self.machine.changes - self.machine.undone
        try:
            yield points
        finally:
            self.checkpoints = points
            self._restore(present)
            self.device.halt = halt
            self.device.write_back()
            self.machine.undone = self.machine.changes - before

    @contextmanager
    def replayed(self, time: int, observer: Callable[[WaveBatch], Any]) -> Iterator[None]:
        """Execute everything once more up to a time; the machine is there then, and where it was afterwards."""
        with self.visiting() as points:
            self._restore(next(point for point in reversed(points) if point.is_fixed))
            self._replay(time, observer, [])
            self.device.write_back()
            yield

    # --- What was never written -----------------------------------------------------------------------------------

    @contextmanager
    def showing_unwritten(self) -> Iterator[bool]:
        """Let private memory read as ones where no store has been, and as 0 elsewhere; yield whether that is known."""
        if self._unwritten[0] != self.machine.changes:
            flags = self._find_unwritten()
            self._unwritten = self.machine.changes, flags
        known, flags = self._unwritten
        if flags is None or known != self.machine.changes:
            yield False
            return
        private = self.device.memory.scratch.data
        kept = private.copy()
        private[...] = flags
        try:
            yield True
        finally:
            private[...] = kept

    def _find_unwritten(self) -> Any:
        """Execute everything once more where private memory began with other bytes: those that are left are unwritten.

        A kernel that depends on what it has not written may go another way, and then nothing is known.
        """
        device, end = self.device, self.device.executed
        private, until = device.memory.scratch.data, process_time() + LONGEST_SEARCH
        if not 0 < private.size <= LARGEST_SEARCH or not self.is_whole or device.is_changed or end >= self._too_late:
            return None
        before, places = private.copy(), device.places()
        with self.visiting() as points:
            launch = next(point for point in reversed(points) if point.is_fixed)
            filled, self._filled = self._filled, None
            if filled is not None and filled[0] is launch and filled[1].time <= end:  # a script that asks at each stop
                self._restore(filled[1])
            else:
                self._restore(launch)
                private[...] = FILL
            while device.executed + self.interval < end:
                if process_time() > until:
                    self._too_late = end
                    return None
                self._replay(device.executed + self.interval, None, [])
            self._arrive(end)
            if device.places() != places:
                self._too_late = end
                return None
            flags = np.where((private == FILL) & (before == 0), np.uint8(0xFF), np.uint8(0))
            device.write_back()
            self.keep(is_fixed=True)
            self._filled = launch, self.checkpoints.pop()
            return flags

    @property
    def start(self) -> int:
        """The earliest time that can be reached."""
        return self.checkpoints[0].time if self.checkpoints else self.device.executed
