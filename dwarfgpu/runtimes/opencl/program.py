"""An OpenCL program: its objects, the commands in its queues, and its errors."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dwarfgpu.execution import faults
from dwarfgpu.execution.checks.findings import RACE
from dwarfgpu.immutable import define, field
from dwarfgpu.runtimes.arena import DEVICE, PAGE
from dwarfgpu.runtimes.calling import CallingProgram
from dwarfgpu.runtimes.connection import CLOSED, OPEN, READABLE
from dwarfgpu.runtimes.opencl.errors import ClError, ClFailure, refuse
from dwarfgpu.runtimes.opencl.host_memory import HostBytes, HostMemory, bytes_text
from dwarfgpu.runtimes.opencl.objects import (
    COMPLETE,
    READ_ONLY,
    RUNNING,
    WRITE_ONLY,
    ClCode,
    ClCommand,
    ClContext,
    ClDevice,
    ClEvent,
    ClKernel,
    ClMapping,
    ClMemory,
    ClObject,
    ClPlatform,
    ClQueue,
    needed,
)
from dwarfgpu.runtimes.opencl.ordering import CommandOrder
from dwarfgpu.runtimes.order import READ, WRITE
from dwarfgpu.runtimes.prototypes import Api, CallRefused

if TYPE_CHECKING:
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.runtimes.connection import Function, HostCall
    from dwarfgpu.runtimes.order import Clock

_Kind = TypeVar("_Kind", bound=ClObject)
API = Api()
USUAL = "gfx1100"
"""The processor of the device, unless the user names one."""
_AWAITED = "awaited"
"""What a thread keeps of what its call waits for, by this name."""
STEP = 1000
"""The nanoseconds between two moments of the clock of events."""
MOST_LISTED = 1 << 16
"""The entries of a list that a program gives."""


@define(eq=False)
class OpenClProgram(CallingProgram):
    """A process that calls functions of OpenCL."""

    API: ClassVar[Api] = API
    LIBRARY: ClassVar[str] = "libdwarfgpu-opencl.so"
    MISSING: ClassVar[int] = ClFailure(ClError.INVALID_VALUE)

    objects: dict[int, ClObject] = field(factory=dict)
    """All that were ever made, by their handles: a handle is never used again."""
    platform: ClPlatform = field(init=False, factory=lambda: ClPlatform(origin=None))
    devices: list[ClDevice] = field(init=False)
    dispatch: int = 0
    """The address of the table of functions, which each object begins with."""
    starts_callbacks: int = 0
    """The function of the door that begins the thread for callbacks; 0 once it was called."""
    callbacks: list[tuple[int, tuple[int, ...]]] = field(factory=list)
    """The functions of the program that are to be called, with their arguments."""
    queues: list[ClQueue] = field(factory=list)
    opened: Counter[tuple[int, int]] = field(factory=Counter)
    """How often buffers are mapped, by their addresses and what the host may do with them."""
    sources: dict[Any, int] = field(factory=dict)
    """The numbers of programs, by their source or binary: equal ones have one, and so are compiled once."""
    is_stuck: bool = False
    """Whether all its threads wait for ever, so that it is ended."""
    sleepers: dict[str, str] = field(factory=dict)
    """The threads that waited for others when no call had come for a while."""
    time: int = 0
    """The clock of events, which grows with what is done and so is the same in each run."""
    order: CommandOrder | None = None
    """What is ordered, if races are looked for."""
    exits: int = 0
    """The function of the program that ends it."""
    followed: list[HostBytes] = field(factory=list)
    """The memory of the host that objects use, or commands that have not ended copy."""
    closed: dict[ClCommand, tuple[int, int]] = field(factory=dict)
    """The pages that the host cannot access, since commands that have not ended write them."""
    due: list[ClCommand] = field(factory=list)
    """The commands that the thread for callbacks is to execute."""
    reads: list[ClCommand] = field(factory=list)
    """Those that copy to the host and do not block, where the order is followed."""
    unread: list[tuple[HostCall, int]] = field(factory=list)
    """The calls that have failed."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.device.target = self.device.target or USUAL
        if RACE in self.device.checks:
            self.order = CommandOrder(self.device.arena, self.name_of, self.problem)
        processors = self.device.target, *self.device.others
        self.devices = [ClDevice(origin=None, device=self.device, processor=each) for each in processors]

    @property
    def level(self) -> str:
        """How much clang optimizes, unless an option says it: less takes several times as long to execute.

        Under a debugger variables are to be seen.
        """
        return "1" if self.debugger is None else "0"

    # --- What the server asks -----------------------------------------------------------------------------------------

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        failure = ClFailure(ClError.OUT_OF_RESOURCES)
        failure.message = str(error)
        return self.end_call(call, failure)

    def end_call(self, call: HostCall, result: Any) -> int:
        if isinstance(result, ClFailure):
            self.report_failure(call, result)
            self.unread.append((call, result))
        if self.closed and len(self.host.threads()) == 1:  # others could carry out commands meanwhile
            self._protect_closed(call, CLOSED)
        return super().end_call(call, result)

    def report_failure(self, call: HostCall, failure: ClFailure) -> None:
        """Report why a call fails, if that is for the program to mend."""
        if failure.message is not None:
            self.problem("invalid-call", f"{self.name_of_call(call)}: {failure.message}: {ClError(failure)}", call)

    def function(self, number: int) -> Function:
        called = super().function(number)

        def opened(call: HostCall, *words: int) -> Any:
            if number:
                self._protect_closed(call, OPEN)
            return called(call, *words)

        return opened

    def _protect_closed(self, call: HostCall, access: int) -> None:
        for start, size in self.closed.values():
            call.protect(start, size, access)

    def idle(self) -> None:
        """Do what callbacks wait for; end a program whose threads all wait for what nothing can bring about."""
        commands = [command for queue in self.queues for command in queue.commands]
        called = [command for command in commands if command.event is not None and command.event.callbacks]
        if self.device.is_lazy and any(command.is_ready for command in needed(called)):
            self.due = called
            self.settle()
            return
        if self.is_stuck or not self.waiting or self.debugger is not None:
            return
        before, self.sleepers, threads = self.sleepers, self.host.sleepers(), self.host.threads()
        if before != self.sleepers or not 0 < len(threads) <= len(self.waiting) + len(self.sleepers):
            return
        events = [event for command in commands for event in command.waits]
        events += (
            each for thread in self.waiting for each in thread.state.get(_AWAITED, ()) if isinstance(each, ClEvent)
        )
        for event in [event for event in dict.fromkeys(events) if event.command is None and not event.has_ended]:
            self.is_stuck = True
            call = next((each for thread in self.waiting if (each := thread.call) is not None), None)
            message = f"all threads wait for {self.named(event)}, whose status nothing sets: the program is ended"
            self.problem("endless-wait", message, call, ("created", event.origin))
        self.settle()

    def ended(self) -> None:
        """Report what the program has left, unless a fault kept it from its end."""
        for call, number in self.unread:
            name = self.name_of_call(call)
            if self.host.discards(call.frames, name):
                self.problem("unread-error", f"{name} fails with {ClError(number)}, and nothing looks at that", call)
        for used in self.followed:
            used.end()
        for command in self.reads:
            if (
                self.order is not None
                and command.work is not None
                and not command.work.is_before(self.order.order.host)
            ):
                name = self.name_of_call(command.call)
                message = f"the host never waits until {name} has ended, so it must not use what was read"
                self.problem("host-early", message, command.call)
        for found in self.objects.values():
            if isinstance(found, ClMemory) and found.references > 0 and self.device.failed is None:
                size = f": {found.size} bytes"
                self.problem("leak", f"{self.named(found)} was not released{size}", None, ("created", found.origin))
        super().ended()

    # --- Objects ------------------------------------------------------------------------------------------------------

    def keep(self, call: HostCall, made: _Kind) -> _Kind:
        """Give an object a handle: the address of a pointer to the table of functions."""
        made.handle = self.place(call, self.dispatch.to_bytes(8, "little"))
        self.objects[made.handle] = made
        return made

    def find(self, call: HostCall, handle: int, kind: type[_Kind]) -> _Kind:
        """Return an object by its handle; the call ends with an error if there is none, or it was released."""
        found = self.objects.get(handle)
        if not isinstance(found, kind):
            refuse(kind.ERROR, f"{handle:#x} is no {kind.NOUN}")
        if found.references <= 0:
            message = f"{self.name_of_call(call)}: {self.named(found)} is used, and was released"
            history = (("released", found.released), ("created", found.origin))
            self.problem("use-after-release", message, call, *((what, at) for what, at in history if at is not None))
            refuse(kind.ERROR)
        return found

    async def find_all(self, call: HostCall, count: int, pointer: int, kind: type[_Kind]) -> list[_Kind]:
        """Return the objects of a list that the program has."""
        return [self.find(call, handle, kind) for handle in await self.words_at(call, pointer, count)]

    def named(self, found: ClObject) -> str:
        """Return how messages name an object: by the variable that it was assigned to, and the line."""
        if found.origin is None:
            return f"the {found.NOUN} {found.handle:#x}"
        line, name = self.host.line(found.origin.frames), self.host.named(found.origin.frames)
        where = f" from {line.place}" if line is not None else f" {found.handle:#x}"
        return f"`{name}`{where}" if name is not None else f"the {found.NOUN}{where}"

    def number_of(self, content: Any) -> int:
        """Return the number of programs that are made of a source or a binary."""
        return self.sources.setdefault(content, len(self.sources) + 1)

    def release(self, call: HostCall, found: ClObject) -> None:
        """Remove a reference; what has none is ended as soon as no command uses it."""
        found.references -= 1
        if not found.references:
            found.released = call
            self.end_unused(call, found)

    def end_unused(self, call: HostCall, found: ClObject) -> None:
        """End an object that nothing refers to, nor uses."""
        if found.references > 0 or found.uses > 0:
            return
        if isinstance(found, (ClMemory, ClContext)):
            for function, data in reversed(found.ending):
                self.callbacks.append((function, (found.handle, data)))
        if isinstance(found, ClQueue) and found in self.queues:
            self.queues.remove(found)
        if isinstance(found, ClMemory):
            if found.mappings:
                mapped = next(iter(found.mappings.values()))[0]
                message = f"{self.named(found)} is released while it is mapped"
                self.problem("map", message, call, ("mapped", mapped.call), ("created", found.origin))
            if found.of_host is not None:
                self.followed.remove(found.of_host)
                found.of_host.end()
            own = found.description or (0 if found.is_shared or found.parent is not None else found.address)
            if own:
                buffer = self.device.arena.holding(own)
                if buffer is not None and buffer.freed is None:
                    call.protect(buffer.address, buffer.pages, CLOSED)
                    self.device.free(buffer.address, found.released)
        if isinstance(found, ClCode):
            for build in found.builds.values():
                if build.module is not None:
                    build.module.unload()
            found.builds.clear()
        owner = found.parent if isinstance(found, ClMemory) else found.code if isinstance(found, ClKernel) else None
        if owner is not None:
            owner.uses -= 1
            self.end_unused(call, owner)

    # --- Commands -----------------------------------------------------------------------------------------------------

    def now(self) -> int:
        """Return the time of the clock of events, which goes on."""
        self.time += STEP
        return self.time

    async def enqueue(self, call: HostCall, command: ClCommand, event: int = 0, *, is_blocking: bool = False) -> None:
        """Put a command into its queue, and do what can be done; ``event`` is where the program wants its event."""
        command.times[0] = command.times[1] = self.now()
        for used in command.does.uses:
            used.uses += 1
        if event:
            made = ClEvent(origin=call, context=command.queue.context, command=command)
            command.event = self.keep(call, made)
            call.write_number(event, made.handle)
        command.queue.commands.append(command)
        command.queue.uses += 1
        if self.order is not None:
            self.order.begin(command, self.name_of_call(call), command.waits)
        await self.advance(call, [command] if is_blocking else ())
        if is_blocking:
            await self.wait_for(call, [command])
            self.know(command.clock)
            if command.status < 0:
                refuse(ClError(command.status))
        elif command.does.host is not None and command.does.host[0] not in self.device.arena:
            await self._follow(call, command, *command.does.host)

    async def _follow(self, call: HostCall, command: ClCommand, start: int, size: int) -> None:
        """Follow memory of the host that a command copies until it has ended (OpenCL API 3.0, 5.2.2)."""
        is_read = self.name_of_call(call) == "clEnqueueReadBuffer"
        if is_read and self.order is not None:
            self.reads.append(command)
        content = b"" if command.has_ended else await call.read(start, size)
        if command.has_ended:
            return
        command.copied = HostBytes(start, bytearray(content))
        self.followed.append(command.copied)
        first, end = -(-start // PAGE) * PAGE, (start + size) // PAGE * PAGE
        if self.device.is_lazy and is_read and first < end:
            self.closed[command] = first, end - first

    def know(self, *clocks: Clock) -> None:
        """Let the host know what is done behind commands or events, if races are looked for."""
        if self.order is not None:
            for clock in clocks:
                self.order.synchronize(clock)

    def _ready(self, wanted: Iterable[ClCommand]) -> ClCommand | None:
        """Return a command to do now: in a lazy program one that others need which are wanted."""
        every = (command for queue in self.queues for command in queue.commands)
        return next((each for each in (needed(wanted) if self.device.is_lazy else every) if each.is_ready), None)

    async def advance(self, call: HostCall, wanted: Iterable[ClCommand] = ()) -> None:
        """Do all commands that are ready, by means of a call; a lazy program does those that others need."""
        wanted = [*wanted]
        while (command := self._ready(wanted)) is not None:
            await self._do(call, command)

    async def wait_for(self, call: HostCall, wanted: Iterable[ClCommand | ClEvent]) -> None:
        """Let a call wait for commands and events; what becomes ready meanwhile is done."""
        wanted = call.thread.state[_AWAITED] = [*wanted]
        commands = [*filter(None, (each.command if isinstance(each, ClEvent) else each for each in wanted))]

        def has_ended() -> bool:
            return all(each.has_ended for each in wanted)

        await self.advance(call, commands)
        while not has_ended():
            await self.wait(call, lambda: self.is_stuck or has_ended() or self._ready(commands) is not None)
            if self.is_stuck:
                await call.invoke(self.exits, 1)
            await self.advance(call, commands)

    def check_device(self) -> None:
        """Refuse what comes after a fault: the device does nothing any more, and its memory has no results."""
        if self.device.failed is not None:
            refuse(ClError.OUT_OF_RESOURCES)

    async def _do(self, call: HostCall, command: ClCommand) -> None:
        status: int = ClError.OUT_OF_RESOURCES
        self._protect_closed(call, OPEN)
        self.closed.pop(command, None)
        self._set(command, RUNNING)
        command.times[2] = self.now()
        outer, call.work, call.doing = (call.work, call.doing), command.work, command.call
        try:
            if any(event.status < 0 for event in command.waits):
                refuse(ClError.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
            self.check_device()
            if command.copied is not None:
                self.followed.remove(command.copied)
                changed = await command.copied.changes(call)
                if changed:
                    what = f"{bytes_text(changed)} of the memory of {self.name_of_call(command.call)}"
                    self.problem("host-early", f"the host changes {what}, which has not ended", command.call)
            for used in filter(None, (each.host_memory for each in command.does.uses if isinstance(each, ClMemory))):
                used.unseen = None
            shown = self._check_maps(command)
            done = command.does.run(call)
            if inspect.iscoroutine(done):
                await done
            for memory, mapping, content in shown:
                if self.device.read(memory.address, memory.size) != content:
                    self._report_map(command, memory, mapping)
            await call.done()  # what it copies is there before others know that it has ended
            for followed in self.followed:
                await followed.refresh(call)
            status = COMPLETE
        except CallRefused as refused:
            status = refused.result
            if refused.result.message is not None:
                self.report_failure(command.call, refused.result)
        finally:
            call.work, call.doing = outer
            command.times[3] = self.now()
            command.queue.commands.remove(command)
            self._set(command, status)
            for each in (*command.does.uses, command.queue):
                each.uses -= 1
                self.end_unused(call, each)

    def _check_maps(self, command: ClCommand) -> list[tuple[ClMemory, ClMapping, bytes]]:
        """Report memory that a command uses while the host has it; return what it must not change (API 3.0, 5.5.4)."""
        does, shown = command.does, []
        for memory in (each for each in does.uses if isinstance(each, ClMemory) and does.is_access):
            for mapping in memory.mapped:
                if mapping.is_written or memory is does.writes:
                    self._report_map(command, memory, mapping)
                elif does.kernel:
                    shown.append((memory, mapping, self.device.read(memory.address, memory.size)))
        return shown

    def _report_map(self, command: ClCommand, memory: ClMemory, mapping: ClMapping) -> None:
        verb, purpose = ("uses", "writing") if mapping.is_written else ("writes", "reading")
        name = command.does.kernel or self.name_of_call(command.call)
        message = f"{name} {verb} {self.named(memory)} while it is mapped for {purpose}"
        self.problem("map", message, command.call, ("mapped", mapping.call), ("created", memory.origin))

    def _set(self, command: ClCommand, status: int) -> None:
        command.status = status
        if command.event is not None:
            self.call_back(command.event)

    def call_back(self, event: ClEvent) -> None:
        """Let the functions be called that wait for the state of an event."""
        for waiting in [*event.callbacks]:
            state, function, data = waiting
            if event.status <= state:
                event.callbacks.remove(waiting)
                reached = event.status if event.status < 0 else state
                self.callbacks.append((function, (event.handle, reached & 0xFFFFFFFF, data)))

    async def begin_callbacks(self, call: HostCall) -> None:
        """Begin the thread in which functions of the program are called."""
        if self.starts_callbacks:
            function, self.starts_callbacks = self.starts_callbacks, 0
            await call.invoke(function)

    # --- Memory -------------------------------------------------------------------------------------------------------

    def allocate(self, call: HostCall, size: int, flags: int) -> int:
        """Return the address of new memory of the device, which kernels use as flags say."""
        access = faults.READ_ONLY if flags & READ_ONLY else faults.WRITE_ONLY if flags & WRITE_ONLY else ""
        address = self.device.malloc(size, origin=call, access=access)
        if not address:
            refuse(ClError.MEM_OBJECT_ALLOCATION_FAILURE, f"there is no room for {size} bytes")
        return address

    async def begin_use(self, call: HostCall, memory: ClMemory) -> None:
        """Wait until an object has what its creator gives; follow memory of the host that it uses, but for gaps."""
        await call.done()
        form = memory.image
        has_gaps = form is not None and (form.host_row, form.host_slice) != (form.row, form.slice)
        if not memory.uses_host or has_gaps:
            return
        view = self.device.arena.view(memory.address, memory.size)
        memory.of_host = HostMemory(
            memory.host, bytearray(view), view, bool(memory.flags & WRITE_ONLY), lambda: self.named(memory),
            lambda message, by: self.problem("map", message, by, ("created", memory.origin)),
        )  # fmt: skip
        self.followed.append(memory.of_host)

    def open(self, call: HostCall, memory: ClMemory, access: int = OPEN, change: int = 1) -> None:
        """Let the host access the memory of an object; with ``change`` -1 no more, unless another map needs it."""
        buffer = self.device.arena.holding(memory.address)
        if buffer is not None and buffer.kind == DEVICE:
            self.opened[buffer.address, access] += change
            needed = (each for each in (OPEN, READABLE) if self.opened[buffer.address, each])
            call.protect(buffer.address, buffer.pages, next(needed, CLOSED))

    def violated(self, call: HostCall, address: int) -> int:
        """Let the host access what it may not, if it has the memory, once that is reported (OpenCL API 3.0, 5.5.4)."""
        for command, (start, size) in self.closed.items():
            if start <= address < start + size and command.does.host is not None:
                what = f"byte {address - command.does.host[0]} of the memory of {self.name_of_call(command.call)}"
                self.problem(
                    "host-early", f"the host accesses {what}, which has not ended", call, ("called", command.call)
                )
                call.protect(*self.closed.pop(command), OPEN)
                return 1
        buffer = self.device.arena.holding(address)
        if buffer is None or buffer.freed is not None or address >= buffer.address + buffer.pages:
            return super().violated(call, address)
        if not self.opened[buffer.address, READABLE]:
            super().violated(call, address)
            call.protect(buffer.address, buffer.pages, OPEN)
            return 1
        objects = (each for each in self.objects.values() if isinstance(each, ClMemory) and each.mappings)
        memory = next(each for each in objects if self.device.arena.holding(each.address) is buffer)
        mapped = next(chain.from_iterable(memory.mappings.values())).call
        message = (
            f"the host writes byte {address - memory.address} of {self.named(memory)}, which is mapped for reading"
        )
        self.problem("map", message, call, ("mapped", mapped), ("created", memory.origin))
        call.protect(buffer.address, buffer.pages, OPEN)
        return 1

    async def words_at(self, call: HostCall, pointer: int, count: int) -> list[int]:
        """Return words of 8 bytes that a program has."""
        if count > MOST_LISTED:
            refuse(ClError.INVALID_VALUE, f"{count} entries are given")
        return words_of(await call.read(pointer, 8 * count)) if count else []

    def copy(self, call: HostCall, to: int, source: int, size: int) -> None:
        """Let the program copy bytes; those that it puts into memory of the device count as defined."""
        call.copy(to, source, size)
        if to in self.device.arena:
            self.device.define(to, size)
        for each in self.followed:
            each.exchange(to, size)
            each.exchange(source, size)
        self._use(call, to, size, WRITE)
        self._use(call, source, size, READ)

    def move(self, call: HostCall, to: int, source: int, size: int) -> None:
        """Copy memory of the device."""
        self.device.copy(to, source, size)
        self._use(call, to, size, WRITE)
        self._use(call, source, size, READ)

    def fill(self, call: HostCall, address: int, pattern: bytes, count: int) -> None:
        """Write a pattern so many times into memory of the device."""
        self.device.fill(address, pattern, count)
        self._use(call, address, len(pattern) * count, WRITE)

    def _use(self, call: HostCall, address: int, size: int, kind: str) -> None:
        if self.order is not None:
            self.order.use(call.work, address, size, kind)


def words_of(content: bytes) -> list[int]:
    """Return the words of 8 bytes that some bytes are."""
    return [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content), 8)]
