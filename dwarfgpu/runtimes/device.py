"""A device: what a program has in place of a GPU.

It owns the machine, the memory, the modules and the launches in their order, and passes what goes wrong to a reporter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dwarfgpu.demangle import demangled
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.checks.findings import BOUNDS, INIT, RACE, check_names
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.faults import FREED, NamedBuffer
from dwarfgpu.execution.launch import launch as launching
from dwarfgpu.immutable import define, evolve, field
from dwarfgpu.objfile.containers.bundle import Container
from dwarfgpu.objfile.elf.loading import load, span
from dwarfgpu.program.code.code_object import CodeObject, opened, runnable, target_name_of
from dwarfgpu.program.code.kernel_parameters import explicit_arguments
from dwarfgpu.runtimes.arena import DEVICE, GUARD, PAGE, Allocation, Arena
from dwarfgpu.runtimes.hostcalls import HostCalls, may_call_host
from dwarfgpu.runtimes.pinned import PinnedMemory
from dwarfgpu.runtimes.repeated import RepeatedLaunch, form_of
from dwarfgpu.states.program import Program
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.checked_memory import CheckedMemory
    from dwarfgpu.execution.checks.undefined_memory import UndefinedMemory
    from dwarfgpu.execution.control.check_report import CheckReport, NamedFinding
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.execution.launch.dispatch import PlannedDispatch
    from dwarfgpu.objfile.containers.bundle import ContainerEntry


_AT_ONCE = 1 << 20
"""The bytes that are filled at once."""
_MOST_REPEATED = 64 << 20
"""The bytes of launches that are kept, since others may repeat them."""
_TOGETHER = "hidden_multigrid_sync_arg"
"""The argument that is not 0 in a cooperative launch."""
UNKNOWN = object()
"""Stands for the call that freed a buffer, if it is unknown."""


@define(eq=False)
class Misuse:
    """Something that a program does wrong."""

    rule: str
    """Its name: one of ``runtimes.rules``."""
    message: str
    origin: Any = None
    """The call that did it."""
    more: tuple[tuple[str, Any], ...] = ()
    """Other calls that belong to it, with what they are: ``("allocated", call)``."""

    def refuse(self) -> None:
        """Raise it as an error of the caller."""
        raise UsageError(self.message, kind=self.rule.replace("-", "_"))


@define(eq=False)
class HostLaunch:
    """A launch of a kernel by a program."""

    number: int
    """From 1 on, in the order of the calls."""
    kernel: str
    grid: tuple[int, ...]
    """Its work-items."""
    work_group: tuple[int, ...]
    origin: Any
    """The call that launched it."""
    running: Running | None = None
    """The kernel on the machine, until the launch has ended."""
    halt: Halt | None = None
    error: DwarfGpuError | None = None
    """Why it could not be launched."""
    checked: CheckReport | None = None
    """What checks have found."""
    is_kept: bool = False
    """Whether its memory stays for others that repeat it."""
    executed: int = 0
    """The instructions of its waves."""
    touched: tuple[tuple[int, int, str], ...] = ()
    """The global memory that it has used, if races were looked for: from, to, and what it has done there."""

    @property
    def name(self) -> str:
        """The kernel as the source calls it."""
        return demangled(self.kernel)

    @property
    def short_name(self) -> str:
        """Its name without the types of its parameters."""
        return self.name.partition("(")[0].rpartition(" ")[2]

    def check(self) -> None:
        """Raise the error for which it could not be launched."""
        if self.error is not None:
            raise self.error

    @property
    def findings(self) -> tuple[NamedFinding, ...]:
        """What checks have found."""
        return () if self.checked is None else self.checked.findings

    @property
    def has_ended(self) -> bool:
        """Whether all its waves have ended."""
        return self.halt is not None and self.halt.has_ended


@define(eq=False)
class ModuleKernel:
    """A kernel of a module: its name, and where the arguments are in its segment."""

    module: LoadedModule
    name: str
    arguments: tuple[tuple[int, int], ...]
    """The offset and the size of each."""
    calls_host: bool = False

    @property
    def size(self) -> int:
        """The bytes of all arguments."""
        return max((offset + size for offset, size in self.arguments), default=0)

    def segment(self, values: Sequence[bytes]) -> bytes:
        """Return the arguments as they are in the segment."""
        content = bytearray(self.size)
        for (offset, size), value in zip(self.arguments, values, strict=True):
            content[offset : offset + size] = value
        return bytes(content)


class LoadedModule:
    """A code object of a program, which is loaded at its first use."""

    def __init__(self, device: ProgramDevice, file: CodeObject) -> None:
        self.device = device
        self.file = file
        self.program = Program(file)
        self._kernels: dict[str, ModuleKernel] = {}
        self._bias: int | None = None
        self._parts: list[int] = []
        """Where its code and its variables are in memory."""

    def kernel(self, name: str) -> ModuleKernel:
        """Return a kernel by its name or that of its symbol."""
        if name not in self._kernels:
            found = self.file.kernels_named([name])[0]
            arguments = tuple((each.offset or 0, each.size or 0) for each in explicit_arguments(found))
            calls_host = may_call_host(found, self.file)
            self._kernels[name] = ModuleKernel(self, name, arguments, calls_host)
        return self._kernels[name]

    def symbol(self, name: str) -> tuple[int, int] | None:
        """Return the address and the size of a variable; None if there is none."""
        symbol = self.file.image.symbol_named(name)
        return None if symbol is None else (self.load() + symbol.value, symbol.size)

    def load(self) -> int:
        """Put the code and the variables into memory; return by how much addresses are moved."""
        if self._bias is None:
            arena, machine = self.device.arena, self.device.machine_for(self.file)
            first, size, alignment = span(self.file.image)
            alignment = max(PAGE, alignment)
            self._bias = arena.place_code(size + first % alignment, alignment) + first % alignment - first
            space = machine.target.default_space
            for address, content in load(self.file.image, self._bias).items():
                view = arena.view(address, len(content))
                view[:] = content
                machine.memory.map(space, address, view)
                self._parts.append(address)
            machine.code_objects.append(launching.code_record(self.file, self._bias))
        return self._bias

    def unload(self) -> None:
        """Take it out of memory, since nothing uses it any more; after a fault everything stays as it is."""
        if self._bias is None or self.device.failed is not None:
            return
        machine = self.device.machine_for(self.file)
        self.device.forget_launches(self)
        for address in self._parts:
            machine.memory.unmap(machine.target.default_space, address)
        machine.code_objects = [code for code in machine.code_objects if code.load_address != self._bias]
        self._parts, self._bias = [], None


@define
class ProgramDevice:
    """A GPU that a program uses: memory, modules, and launches in order.

    >>> import dwarfgpu as dg, numpy as np
    >>> device = dg.Device(check="race")
    >>> source, target = device.malloc(200), device.malloc(200)
    >>> device.write(source, np.arange(50, dtype="f4"))
    >>> blur = device.module("blur.co").kernel("blur")
    >>> launch = device.launch(blur, 64, 64, [source, target, 49])
    >>> launch.has_ended, launch.findings
    (True, ())
    >>> float(np.frombuffer(device.read(target, 200), "f4")[20])
    20.0
    """

    target: str | None = None
    """The processor that code is chosen for; None for that of the first module."""
    check: str | None = None
    """What is checked while kernels run."""
    checks: frozenset[str] = field(init=False)
    """The names of the checks. With `init` it is known which bits of memory nothing has written."""
    seed: int | None = None
    permissive: bool = False
    is_checked: Callable[[HostLaunch], bool] = lambda _launch: True
    """Returns whether a launch is checked, if any is."""
    is_traced: Callable[[HostLaunch], bool] = lambda _launch: False
    """Returns whether a launch takes note of bits that nothing has written, although nothing is reported of them."""
    is_lazy: bool = False
    """Whether commands of OpenCL are executed as late as the program lets them."""
    others: tuple[str, ...] = ()
    """The processors of further devices, which programs of OpenCL have."""
    execute: Callable[[ProgramDevice, HostLaunch], object] = lambda device, launch: device.finish(launch)
    """Called with each launch whose waves are at the first instruction, to run it and to `finish` it."""
    report_launch: Callable[[HostLaunch], object] = lambda launch: launch.check()
    """Called after each launch, while the machine is as it left it."""
    report_problem: Callable[[Misuse], object] = lambda problem: problem.refuse()
    print_text: Callable[[str, bool], object] = lambda _text, _to_errors: None
    """Called with what kernels print, and whether that goes to the errors."""
    name_of: Callable[[Allocation], str] = lambda buffer: f"buffer {buffer.address:#x}"
    """Returns how messages name a buffer."""
    arena: Arena = field(factory=Arena)
    machines: dict[str, Gpu] = field(factory=dict)
    """The machines by their processors; each has all buffers."""
    host: HostCalls = field(factory=HostCalls)
    pinned: dict[int, PinnedMemory] = field(factory=dict)
    """The memory of the host that kernels access, by its addresses."""
    failed: HostLaunch | None = None
    """The launch after which nothing works any more."""
    _launches: int = 0
    _named: dict[str, int] = field(factory=dict)
    """How many modules were made of bytes with a name."""
    _repeated: dict[Any, RepeatedLaunch] = field(factory=dict)
    """Launches that are kept to be repeated with other arguments, by all else that must be equal."""
    _places: dict[tuple[int, int], int] = field(factory=dict)
    """The index of each buffer among those of its machine, by machine and address."""

    def __attrs_post_init__(self) -> None:
        self.checks = frozenset() if self.check is None else check_names(self.check, is_weak=False)

    # --- Code -------------------------------------------------------------------------------------------------------

    def module(
        self, code: CodeObject | bytes | str | os.PathLike[str], name: str = "code", target: str | None = None
    ) -> LoadedModule:
        """Load code as a module, from a file or its contents; with code for several processors, that for the device."""
        target = target or self.target
        if isinstance(code, bytes):
            self._named[name] = count = self._named.get(name, 0) + 1
            name = name if count == 1 else f"{name} ({count})"  # each module has variables of its own
            container = Container(memoryview(code), name=name, target_of=target_name_of)
            image = container.image(_entry_for(container, target))
            return LoadedModule(self, runnable(CodeObject(image, None, name)))
        file = code if isinstance(code, CodeObject) else opened(os.fspath(code))
        own = None if target is None else target.partition(":")[0]
        if own is not None and file.target.target_id.partition(":")[0] not in (own, _generic_name(own)):
            raise UsageError(f"{file.name} is for {file.target.target_id}, and the device is {own}")
        return LoadedModule(self, runnable(file))

    def machine_for(self, file: CodeObject) -> Gpu:
        """Return the machine of a processor, which the first code that is loaded for it makes."""
        processor = file.target.target_id.partition(":")[0]
        if processor not in self.machines:
            machine = self.machines[processor] = launching.machine_for(file, file.kernel_names()[0])
            machine.padded_to = self.arena.end  # what a launch needs lies above
            machine.host = self.host
            for buffer in self.arena.buffers:
                self._map(buffer, machine)
            for memory in self.pinned.values():
                self._map(memory.buffer, machine, memoryview(memory.content))
        return self.machines[processor]

    # --- Memory -----------------------------------------------------------------------------------------------------

    def malloc(self, size: int, kind: str = DEVICE, origin: Any = None, access: str = "") -> int:
        """Allocate memory; return its address, 0 if there is no room."""
        buffer = self.arena.allocate(size, kind, origin)
        if buffer is None:
            return 0
        buffer.access = access
        if kind == DEVICE and INIT in self.checks:
            buffer.undefined = bytearray(b"\xff") * size
        for machine in self.machines.values():
            self._map(buffer, machine)
        return buffer.address

    def free(self, address: int, origin: Any = None) -> Allocation | None:
        """Free a buffer and return it; report it and return None if none begins there, or it was freed before."""
        buffer = self.arena.holding(address)
        if buffer is None or buffer.address != address:
            self.report_problem(Misuse("free-unknown", f"{address:#x} is freed, and no buffer begins there", origin))
            return None
        if buffer.freed is not None:
            known = ("freed first", buffer.freed), ("allocated", buffer.origin)
            self.report_problem(Misuse("free-twice", f"{self.name_of(buffer)} is freed twice", origin, known))
            return None
        buffer.freed = origin if origin is not None else UNKNOWN
        self._unmap(address)
        self.arena.discard(buffer)
        return buffer

    def place(self, buffer: Allocation) -> None:
        """Let kernels access a buffer at addresses that are reserved."""
        self.arena.insert(buffer)
        for machine in self.machines.values():
            self._map(buffer, machine)

    def withdraw(self, buffer: Allocation) -> None:
        """Take such a buffer away again."""
        self.arena.remove(buffer)
        self._unmap(buffer.address)
        self._forget_name(buffer.address)

    def pin(self, memory: PinnedMemory) -> None:
        """Let kernels access memory of the host."""
        self.pinned[memory.buffer.address] = memory
        for machine in self.machines.values():
            self._map(memory.buffer, machine, memoryview(memory.content))

    def unpin(self, address: int) -> None:
        """Let kernels access memory of the host no more."""
        del self.pinned[address]
        self._unmap(address)

    def forget(self, address: int) -> None:
        """Let kernels access memory of the host no more, and name it in no message, as other memory may be there."""
        self.unpin(address)
        self._forget_name(address)

    def _forget_name(self, address: int) -> None:
        for machine in self.machines.values():
            number = self._places.pop((id(machine), address))
            del machine.buffers[number]
            for key, place in self._places.items():
                self._places[key] = place - (key[0] == id(machine) and place > number)

    def near(self, address: int) -> Allocation | None:
        """Return the buffer, also a freed one, or the registered memory, that an address is in or closest to."""
        known = *self.arena.around(address), *(memory.buffer for memory in self.pinned.values())
        reached = ((max(each.address - address, address - each.address - each.size + 1, 0), each) for each in known)
        near = [pair for pair in reached if pair[0] < GUARD]
        return min(near, key=itemgetter(0), default=(0, None))[1]

    def memory_at(self, address: int, size: int = 1) -> Allocation | None:
        """Return the buffer that was not freed, or the registered memory, that some bytes are in."""
        for buffer in (self.arena.holding(address), *(memory.buffer for memory in self.pinned.values())):
            is_there = buffer is not None and buffer.freed is None and buffer.address <= address
            if buffer is not None and is_there and address + size <= buffer.address + buffer.size:
                return buffer
        return None

    def buffer(self, address: int, size: int, what: str, origin: Any = None) -> Allocation | None:
        """Return the buffer that some bytes are in; report it and return None if they are not in one."""
        buffer = self.arena.holding(address)
        if buffer is None or address >= buffer.address + buffer.pages + GUARD:
            message = f"{what}: no memory of the device is at {address:#x}"
            self.report_problem(Misuse("bounds-host", message, origin))
            return None
        known = (("allocated", buffer.origin),)
        if buffer.freed is not None:
            message = f"{what} is {self.name_of(buffer)}, which was freed"
            self.report_problem(Misuse("use-after-free", message, origin, (*known, ("freed", buffer.freed))))
            return None
        beyond = address + size - buffer.address - buffer.size
        if beyond > 0:
            start = address - buffer.address
            message = f"{what} goes beyond {self.name_of(buffer)}, which has {buffer.size} bytes"
            where = f"bytes {start} to {start + size - 1}"
            self.report_problem(Misuse("bounds-host", f"{message}: {where}", origin, known))
            return None
        return buffer

    def write(self, address: int, content: Any) -> None:
        """Copy bytes, or an array, into memory of the device."""
        data = memoryview(content).cast("B")
        if self.buffer(address, len(data), "the destination of a copy") is not None:
            self.arena.view(address, len(data))[:] = data
            self.define(address, len(data))

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the memory of the device."""
        self.buffer(address, size, "the source of a copy")
        return bytes(self.arena.view(address, size))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Write a pattern so many times."""
        size, part = len(pattern) * count, pattern * max(1, _AT_ONCE // len(pattern))
        for at in range(0, size, len(part)):
            length = min(len(part), size - at)
            self.arena.view(address + at, length)[:] = part[:length]
        self.define(address, size)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy memory of the device."""
        self.arena.view(to, size)[:] = self.arena.view(source, size)
        if INIT in self.checks:
            known, target = self.arena.holding(source), self.arena.holding(to)
            if target is not None:
                target.set_bits(to, bytes(size) if known is None else known.bits(source, size))

    def define(self, address: int, size: int) -> None:
        """Say that the program has written some bytes."""
        buffer = self.arena.holding(address)
        if buffer is not None and buffer.undefined is not None:
            buffer.set_bits(address, bytes(size))

    def leaks(self) -> list[Allocation]:
        """Return the buffers that were not freed."""
        return [buffer for buffer in self.arena.buffers if buffer.freed is None]

    def _map(self, buffer: Allocation, machine: Gpu, content: memoryview | None = None) -> None:
        """Give a machine a buffer, which has some content where it is not in the arena."""
        access = buffer.access if buffer.freed is None else FREED
        name: Any = _Name(self, buffer)
        named = NamedBuffer(name, buffer.address, buffer.size, GUARD if content is None else 0, access)
        number = self._places.setdefault((id(machine), buffer.address), len(machine.buffers))
        machine.buffers[number : number + 1] = [named]
        if buffer.freed is None:
            view = self.arena.view(buffer.address, buffer.size) if content is None else content
            machine.memory.map(machine.target.default_space, buffer.address, view)

    def _unmap(self, address: int) -> None:
        for machine in self.machines.values():
            machine.memory.unmap(machine.target.default_space, address)
            number = self._places[id(machine), address]
            machine.buffers[number] = evolve(machine.buffers[number], access=FREED)

    # --- Launches ---------------------------------------------------------------------------------------------------

    def launch(
        self,
        kernel: ModuleKernel,
        grid: int | tuple[int, ...],
        work_group: int | tuple[int, ...],
        arguments: Any = None,
        *,
        shared: int = 0,
        offset: tuple[int, ...] = (),
        origin: Any = None,
        is_cooperative: bool = False,
    ) -> HostLaunch:
        """Run a kernel to its end with a grid of work-items; after a fault, no launch is executed any more.

        Arguments are the bytes of their segment, or values as `dwarfgpu.launch` takes them. The work-groups of a
        cooperative launch may wait for each other.
        """
        grid, work_group = (size if isinstance(size, tuple) else (size,) for size in (grid, work_group))
        self._launches += 1
        launch = HostLaunch(self._launches, kernel.name, grid, work_group, origin)
        if self.failed is not None:
            return launch
        for memory in self.pinned.values():
            if not memory.fetch():
                message = f"the host has unmapped {self.name_of(memory.buffer)}, which is registered"
                self.report_problem(Misuse("use-after-free", message, origin, (("registered", memory.buffer.origin),)))
        try:
            kernel.module.load()
            machine = self.machine_for(kernel.module.file)
            if kernel.calls_host:
                self.host.make_room(machine, grid, work_group)
            check = self.check if self.check and self.is_checked(launch) else INIT if self.is_traced(launch) else None
            form = form_of(arguments)
            key = kernel, grid, work_group, shared, offset, check, form
            if key in self._repeated:
                launched = self._repeated[key].launch(arguments)
            else:
                if sum(repeated.size for repeated in self._repeated.values()) >= _MOST_REPEATED:
                    self.forget_launches()
                launched = launching.launch(
                    machine,
                    kernel.module.file,
                    kernel.name,
                    args=arguments,
                    grid=grid,
                    work_group=work_group,
                    dynamic_local=shared or None,
                    global_offset=offset,
                    check=check,
                    seed=self.seed,
                    permissive=self.permissive,
                )
                if form is not None and RepeatedLaunch.is_possible(machine, launched):
                    self._repeated[key] = RepeatedLaunch(machine, launched)
            launch.is_kept = key in self._repeated
            if is_cooperative:
                _let_wait(machine, launched.plan)
        except DwarfGpuError as error:
            launch.error = error
            self.report_launch(launch)
            self.failed = launch
            return launch
        if kernel.calls_host:
            self.host.give(machine, launched.plan)
        launch.running = Running(launched, program=kernel.module.program)
        for buffer in self.arena.buffers if machine.checks is not None and INIT in machine.checks.checks else ():
            if buffer.undefined is not None and buffer.freed is None:
                _undefined_memory(launch).put(buffer.address, buffer.undefined)
        self.execute(self, launch)
        return launch

    def finish(self, launch: HostLaunch) -> None:
        """Run a launch to its end, report what it has come to, and make room for the next one."""
        running = launch.running
        assert running is not None  # noqa: S101 (it was prepared)
        if launch.halt is None:
            launch.halt = running.run() if self.check else running.machine.run()
        launch.executed = running.machine.device.executed
        for memory in self.pinned.values():
            if not memory.store() and BOUNDS not in self.checks:  # which names the line
                message = f"{launch.name} writes to {self.name_of(memory.buffer)}, which is read-only"
                self.report_problem(Misuse("read-only", f"{message}: the program gets none of it", launch.origin))
        for text in running.printed():
            self.print_text(text, False)
        for text, to_errors in self.host.texts():
            self.print_text(text, to_errors)
        self.host.go_back(0)
        if not launch.has_ended:
            self.failed = launch
        checks = running.machine.checks
        if checks is not None and self.check:
            from dwarfgpu.execution.control.check_report import check_report

            launch.checked = check_report(running)
            if RACE in checks.checks:
                launch.touched = (*_checked_memory(launch).races.touched(),)
        self.report_launch(launch)
        if INIT in self.checks:
            is_followed = checks is not None and INIT in checks.checks
            for buffer in self.leaks():  # after a launch without checks, all bytes count as defined
                bits = _undefined_memory(launch).undefined_bits(buffer.address, buffer.size) if is_followed else None
                buffer.undefined = bits
        if launch.has_ended:
            self._forget(running, is_kept=launch.is_kept)
            launch.running = None

    def _forget(self, running: Running, *, is_kept: bool) -> None:
        """Give back what only this launch needed, so that a program may launch as often as it likes."""
        if not is_kept:
            running.machine.passing = [block.address for block in running.launched.plan.blocks]
        running.machine.forget_launches()

    def forget_launches(self, module: LoadedModule | None = None) -> None:
        """Keep no launches that could be repeated, of a module or at all."""
        for key, repeated in [*self._repeated.items()]:
            if module in (None, key[0].module):
                for block in repeated.plan.blocks:
                    repeated.machine.memory.unmap(repeated.machine.target.default_space, block.address)
                del self._repeated[key]


def _let_wait(machine: Gpu, plan: PlannedDispatch) -> None:
    """Tell a kernel that all its work-groups have started, so that they can wait for each other."""
    if machine.work_ahead is not None:
        raise UsageError(f"the work-groups of {plan.kernel.name} cannot wait for each other: too few fit at once")
    for part in plan.arguments:
        if part.name == _TOGETHER:
            machine.memory.writable(plan.places.kernarg + part.offset, 8)[:] = (1).to_bytes(8, "little")


def _checked_memory(launch: HostLaunch) -> CheckedMemory:
    assert launch.running is not None  # noqa: S101 (it runs)
    memory: Any = launch.running.machine.device.memory
    found: CheckedMemory = memory
    return found


def _undefined_memory(launch: HostLaunch) -> UndefinedMemory:
    check = _checked_memory(launch).init_check
    assert check is not None  # noqa: S101 (it is asked for)
    return check.memory


class _Name:
    """The name of a buffer, which is found when a message needs it."""

    def __init__(self, device: ProgramDevice, buffer: Allocation) -> None:
        self._device = device
        self._buffer = buffer

    def __str__(self) -> str:
        return self._device.name_of(self._buffer)


def _entry_for(container: Container, target: str | None) -> ContainerEntry:
    """Return the code for a target: for its own processor, else for the generic one."""
    try:
        return container.select(target)
    except UsageError as error:
        processor, colon, features = (target or "").partition(":")
        generic = _generic_name(processor)
        if generic is None or error.kind != "no_entry":
            raise
        try:
            return container.select(f"{generic}{colon}{features}")
        except UsageError:
            raise error from None


def _generic_name(processor: str) -> str | None:
    found = processor_named(processor)
    return None if found is None else found.generic_name
