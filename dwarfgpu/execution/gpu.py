"""A machine that executes kernels: `launch` starts waves on it, then it runs, steps, and stops at breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.machines.protocol import KnownRange

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.breakpoints import Arrival, Breakpoint, Condition
    from dwarfgpu.execution.checks.findings import CheckSettings
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.faults import NamedBuffer
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.execution.starting import StartingWaves
    from dwarfgpu.execution.weak_memory import WeakSettings
    from dwarfgpu.targets.amdgpu.address_spaces import Apertures
    from dwarfgpu.targets.target import Target


class _OfWaves:
    """What a machine has of its waves: those that have run put it there when somebody reads it."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, machine: Gpu, _owner: type) -> Any:
        machine.catch_up()
        return machine.__dict__[self._name]

    def __set__(self, machine: Gpu, value: Any) -> None:
        machine.__dict__[self._name] = value


class Gpu(Machine):
    """A machine whose waves run. What is asked of it is as of the last halt.

    >>> import dwarfgpu as dg
    >>> machine = dg.Machine(dg.target("gfx90a"))
    >>> machine.add_waves(2)
    range(0, 2)
    >>> machine.set_register("v1", [list(range(64)), [7] * 64])
    >>> machine
    <Gpu amdgcn-gfx90a, 2 waves>
    """

    files: Any = _OfWaves()
    _file_of: Any = _OfWaves()
    stops: Any = _OfWaves()
    calls: Any = _OfWaves()
    _unknown_lanes: Any = _OfWaves()
    ahead: Device | None = None
    """What has let waves run whose registers are not here yet."""

    def __init__(self, target: Target, apertures: Apertures | None = None) -> None:
        Machine.__init__(self, target, apertures)
        self.scratch_base = 0
        """The global address of the scratch memory of the first wave."""
        self.host: Any = None
        """What answers calls of kernels (`HostCalls`), for a program that has a host."""
        self.buffers: list[NamedBuffer] = []
        """The memory of the arguments of all launches."""
        self.padded_to = 0
        """The address behind the padding of all of them."""
        self.is_permissive = False
        """Whether accesses outside of local and private memory read 0 and store nothing; else they are faults."""
        self.segments: dict[int, bytes] = {}
        """The kernarg segment of each launch, by the position of its dispatch."""
        self.together: dict[int, tuple[int, tuple[int, int, int]]] = {}
        """How many named barriers its work-groups have, and how many of them a cluster has, likewise."""
        self.passing: list[int] = []
        """Where the memory is that only launches needed whose waves are there."""
        self.seed: int | None = None
        """What chooses the order of waves that run, among all that are possible; None is the usual one."""
        self.weak_memory: WeakSettings | None = None
        """How weak the memory of waves that run is; None for memory that has everything at once."""
        self.checks: CheckSettings | None = None
        """What is checked while waves run; nothing is compiled then."""
        self.source: Any = None
        """What the source says of accesses (`SourceAccesses`), for checks; None if nobody reads it."""
        self.jit = "auto"
        """What executes instructions: compiled functions of their forms, once a process has run for some time
        (``auto``) or at once (``on``), or Python (``off``)."""
        self.jobs: int | None = None
        """How many threads execute work-groups, whatever the kernel does; None for as many as there are processors,
        where the order of work-groups makes no difference, else for one."""
        self.keeps_code = True
        """Whether compiled code is kept on disk for the next time."""
        self.work_ahead: StartingWaves | None = None
        """The work-groups that start when the waves that there are have ended."""
        self.opened: dict[str, tuple[Any, ...]] = {}
        """The files of launches by their names: as they are, as they are loaded, and what changes when they do."""
        self.past: Any = None
        """Its `History`, if that is kept."""
        self._device: Device | None = None
        self._check: str | None = None

    def launched_segment(self, dispatch: int) -> bytes | None:
        return self.segments.get(dispatch)

    def memory_around(self, address: int) -> KnownRange | None:
        for buffer in self.buffers:
            if buffer.holds(address):
                return KnownRange(buffer.address, buffer.size, is_buffer=True)
        return Machine.memory_around(self, address)

    def free(self, address: int) -> None:
        """Free the memory of the buffer of an argument at an address; no later buffer is put there.

        >>> import dwarfgpu as dg
        >>> kernel = dg.launch("blur.co", "blur", [[1, 2, 3, 4], [0, 0, 0, 0], 4], grid=64, work_group=64)
        >>> _ = kernel.run()
        >>> kernel.machine.free(kernel.launched.addresses["in"])
        >>> list(kernel.buffers)
        ['out']
        """
        from dwarfgpu.execution.faults import FREED
        from dwarfgpu.immutable import evolve

        if self.is_running:
            raise UsageError("waves that may use the memory have not ended", hint="run the machine to their end first")
        for number, buffer in enumerate(self.buffers):
            if buffer.address == address:
                if buffer.access == FREED:
                    raise UsageError(f"{buffer.name} at {address:#x} was freed before")
                self.memory.unmap(self.target.default_space, address)
                self.buffers[number] = evolve(buffer, access=FREED)
                return
        raise UsageError(f"no buffer begins at {address:#x}", hint="take it from `Launched.addresses`")

    def forget_launches(self) -> None:
        """Remove the waves, and what only their launches needed."""
        self.remove_waves()
        for address in self.passing:
            self.memory.unmap(self.target.default_space, address)
        for known in (self.passing, self.segments, self.together, self.dispatches, self.traps):
            known.clear()

    @property
    def check(self) -> str | None:
        """What is checked in kernels that are launched later: ``"race,wait"``, ``"all"``, or None for nothing."""
        return self._check

    @check.setter
    def check(self, names: str | None) -> None:
        from dwarfgpu.execution.checks.findings import check_names

        if names is not None:
            check_names(names, is_weak=False)
        if self.wave_count and (self.is_running or not self.has_run):
            raise UsageError("the waves were launched with other checks", hint="set `check` before `launch`")
        self._check = names

    @property
    def device(self) -> Device:
        """The waves as they run; from the first question on the machine has it."""
        if self._device is None:
            from dwarfgpu.execution.device import Device

            hint = "launch a kernel on a machine of its own"
            if not self.wave_count:
                raise UsageError("the machine has no waves that could run", hint="launch a kernel on it")
            if len(set(self.places["dispatch"].tolist())) > 1:
                raise UsageError("waves of several dispatches cannot run together", hint=hint)
            if any(self.program_counter(wave) is None for wave in (0, self.wave_count - 1)):
                raise UsageError("the waves have no program counter, so they cannot run", hint=hint)
            self._device = Device(self)
        return self._device

    @property
    def has_run(self) -> bool:
        """Whether its waves have been run."""
        return self._device is not None

    @property
    def knows_unwritten(self) -> bool:
        return self.past is not None and not self.device.is_busy

    def showing_unwritten(self) -> AbstractContextManager[bool]:
        return self.past.showing_unwritten() if self.knows_unwritten else nullcontext(False)

    @property
    def is_running(self) -> bool:
        """Whether there are waves that have not ended or stopped, in a machine that has run."""
        return self._device is not None and bool(self._device.batches or self._device.waiting or self.work_ahead)

    def catch_up(self) -> None:
        """Take over the registers of waves that have run."""
        if self.ahead is not None:
            device, self.ahead, changes = self.ahead, None, self.changes
            try:
                device.write_registers()
            except BaseException:  # such as ^C: the next question takes them over again
                self.ahead = device
                raise
            finally:
                self.changes = changes

    def remove_waves(self) -> None:
        self.ahead = None
        Machine.remove_waves(self)

    def start_ahead(self) -> range:
        """Start the next work-groups in place of waves that have ended; return the indices of their waves."""
        ahead = self.work_ahead
        if ahead is None:
            return range(0)
        started = ahead.start(self)
        if ahead.is_over:
            self.work_ahead = None
        return started

    def renew_device(self, batches: list[WaveBatch] | None = None) -> None:
        """Begin anew with the waves and the memory that there are now; what is compiled of the code is kept."""
        if self._device is not None:
            self._device.renew(batches)

    def run(
        self,
        *,
        until: int | Iterable[int] | Breakpoint | Callable[[Arrival], Any] | None = None,
        limit: int | None = None,
    ) -> Halt:
        """Run until all waves have ended, one stops at a breakpoint, a fault or a trap, or a limit or ^C stops them.

        ``until`` is an address, or several, at which waves stop this time, a breakpoint, or a function that is asked
        before each instruction, as the condition of a breakpoint is. ``limit`` is a number of instructions, each
        counted once for each wave.
        """
        from dwarfgpu.execution.breakpoints import Breakpoint
        from dwarfgpu.execution.device import interruptible

        device, observer = self.device, self.device.observer
        given = () if until is None or callable(until) else [until] if isinstance(until, int) else until
        end = given if isinstance(given, Breakpoint) else Breakpoint(0, given)
        device.add_breakpoint(end)
        if callable(until):
            end.holds = until
            device.observer = lambda batch: device.stops_at(end, batch) or (observer is not None and observer(batch))
        try:
            with interruptible(device):
                device.run(None if limit is None else device.executed + limit, stops_at_faults=True)
        finally:
            device.observer = observer
            device.remove_breakpoint(end)
            device.write_back()
        return device.halt or device.rest()

    def step(self, wave: int | None = None, *, alone: bool = True) -> Halt:
        """Execute one instruction of a wave, or of all waves that are at its instruction (``alone=False``).

        Without a wave all those go that have the lowest program counter.
        """
        from dwarfgpu.execution.halts import STEP, Halt

        device = self.device
        has_stepped = device.step(wave, alone=alone)
        device.write_back()
        return device.halt or (Halt(STEP, "stepped") if has_stepped else device.rest(wave))

    def break_at(self, address: int, holds: Condition | None = None) -> Breakpoint:
        """Let waves stop before the instruction at an address, where a function says so if there is one.

        The function takes an `Arrival`; it returns True, False, or flags of waves or lanes.
        """
        from dwarfgpu.execution.breakpoints import Breakpoint

        number = max((point.number for points in self.device.breakpoints.values() for point in points), default=0) + 1
        point = Breakpoint(number, [address], holds)
        self.device.add_breakpoint(point)
        return point
