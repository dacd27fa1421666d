"""A HIP program: its modules, handles and errors, for the functions of the API."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import define, field

from dwarfgpu.encoding.demangle import demangled
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.checks.findings import RACE
from dwarfgpu.objfile.containers.bundle import Container
from dwarfgpu.program.code.code_object import target_name_of
from dwarfgpu.runtimes.device import HostLaunch, LoadedModule, Misuse, ModuleKernel, ProgramDevice
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.ordering import ProgramOrder
from dwarfgpu.runtimes.hip.work import LEGACY_HANDLES, PER_THREAD, Capture, Graph, GraphNode, HipStream
from dwarfgpu.runtimes.host import HostProgram
from dwarfgpu.runtimes.prototypes import Api, CallRefused
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.children import PrivateFolder
    from dwarfgpu.runtimes.arena import Allocation
    from dwarfgpu.runtimes.connection import Function, HostCall, HostThread

_Kind = TypeVar("_Kind")
LIBRARY = "libamdhip64.so"
API = Api()
LAST_ERROR = "last error"
USUAL = "gfx1100"
"""The processor of a program that has registered no code yet."""


@define(eq=False)
class FatBinary:
    """Code that a program has registered, or loaded: opened at its first use."""

    content: bytes
    number: int
    module: LoadedModule | None = None
    problem: DwarfGpuError | None = None


@define(eq=False)
class DeviceVariable:
    """A variable of a device, by the address of its shadow in the program."""

    binary: FatBinary
    name: str
    size: int


@define(eq=False)
class HipPool:
    """A pool of memory."""

    handle: int = 0
    attributes: dict[int, int] = field(factory=dict)
    """What the program has set."""
    buffers: dict[int, int] = field(factory=dict)
    """The sizes of its buffers by their addresses."""
    most: int = 0
    """The most bytes that it had."""


class HostDebugger(Protocol):
    """What stops a program at its calls."""

    def holds(self, program: HipProgram, call: HostCall) -> bool:
        """Return whether a call waits."""

    def answered(self, send: Callable[[], object]) -> None:
        """Send the answer of a call once the program may go on."""


@define(eq=False)
class HipProgram:
    """A process that calls functions of HIP."""

    number: int
    device: ProgramDevice
    report_problem: Callable[[HipProgram, Misuse], object]
    host: HostProgram = field(init=False)
    binaries: dict[int, FatBinary] = field(factory=dict)
    kernels: dict[int, tuple[FatBinary, str]] = field(factory=dict)
    """The kernels by their handles: addresses of the program, or numbers of functions of modules."""
    variables: dict[int, DeviceVariable] = field(factory=dict)
    streams: dict[int, HipStream] = field(factory=lambda: {PER_THREAD: HipStream()})
    captures: list[Capture] = field(factory=list)
    """What streams are capturing now."""
    captured: int = 0
    """How many captures have begun."""
    objects: dict[int, Any] = field(factory=dict)
    """Events, graphs, nodes and others by their handles."""
    of_graphs: set[int] = field(factory=set)
    """The addresses of buffers that graphs allocate and free."""
    pools: list[HipPool] = field(factory=list)
    """The pools, that of the device first."""
    pool: HipPool | None = None
    """The pool that the program has given the device."""
    advice: dict[int, dict[int, int]] = field(factory=dict)
    """What is advised of buffers, by their addresses and ``hipMemRangeAttribute``."""
    printed: list[bytes] = field(factory=list)
    """What kernels have printed and the program has not yet written."""
    work: list[Callable[[], object]] = field(factory=list)
    """What is to do once the program has its answer."""
    lacking: dict[str, None] = field(factory=dict)
    """The functions that were called and do not exist here."""
    debugger: HostDebugger | None = None
    order: ProgramOrder | None = None
    """What is ordered, if races are looked for."""
    unread: dict[HostThread, list[tuple[HostCall, int]]] = field(factory=dict)
    """By thread, the calls that have failed since it has asked for its last error."""
    folder: PrivateFolder | None = None
    """The sources that the program has compiled."""
    _handles: int = 0
    _strings: dict[str, int] = field(factory=dict)
    _room: tuple[int, int] = (0, 0)

    def __attrs_post_init__(self) -> None:
        self.host = HostProgram(self.number, LIBRARY)
        self.device.report_problem = lambda problem: self.report_problem(self, problem)
        self.device.print_text = lambda text: self.printed.append(text.encode("latin-1", "replace"))
        self.device.name_of = self.name_of
        if RACE in self.device.checks:
            self.order = ProgramOrder(self.device.arena, self.streams, self.name_of, self.problem)

    # --- What the server asks -----------------------------------------------------------------------------------------

    def hello(self) -> tuple[int, int, int]:
        arena = self.device.arena
        return arena.size, arena.base, arena.memory

    def mapped(self, base: int) -> None:
        if not base:
            raise EOFError
        self.device.arena.base = base

    def function(self, number: int) -> Function:
        def called(call: HostCall, *words: int) -> Any:
            if number == 0:
                return self._violated(call, *words)
            if not 1 <= number <= len(API.rows):
                return errors.NOT_SUPPORTED
            return API.called(call, number, words, self._end)

        return called

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        self.problem("code", str(error), call)
        return self._end(call, Failure(errors.NO_BINARY))

    def holds(self, call: HostCall) -> bool:
        return self.debugger is not None and self.debugger.holds(self, call)

    def answered(self, send: Callable[[], object]) -> None:
        if self.debugger is None:
            send()
        self.finish_work()
        if self.debugger is not None:  # the host stays at the launch while its kernel runs
            self.debugger.answered(send)

    def finish_work(self) -> None:
        """Do what was put off until the program has its answer."""
        while self.work:
            self.work.pop(0)()

    def ended(self) -> None:
        """Report what the program has left, unless a fault kept it from its end."""
        for call, number in chain.from_iterable(self.unread.values()):
            name = self.name_of_call(call)
            is_launch = name.startswith("hipLaunchKernel")
            if is_launch or self.host.discards(call.frames, name):
                what = "the launch" if is_launch else name
                message = f"{what} fails with {errors.text_of(number)[0]}, and nothing looks at that"
                self.problem("unread-error", message, call)
        if self.folder is not None:
            self.folder.end()
        for buffer in self.device.leaks():
            is_left = buffer.origin is not None and buffer.address not in self.of_graphs
            if is_left and self.device.failed is None:
                message = f"{self.name_of(buffer)} was not freed: {buffer.size} bytes"
                self.problem("leak", message, None, ("allocated", buffer.origin))

    def name_of_call(self, call: HostCall) -> str:
        """Return the function of a call."""
        return API.rows[call.number - 1][0].name if 1 <= call.number <= len(API.rows) else "an access"

    def _end(self, call: HostCall, result: Any) -> int:
        """Keep the error of a call, and write what kernels have printed."""
        if self.printed:
            call.print(b"".join(self.printed))
            self.printed.clear()
        if isinstance(result, ApiText):
            return self.string(call, result)
        number = int(result or 0)
        if isinstance(result, Failure):
            call.thread.state[LAST_ERROR] = number
            if number != errors.NOT_SUPPORTED and self.device.failed is None:
                self.unread.setdefault(call.thread, []).append((call, number))
        return number

    def _violated(self, call: HostCall, address: int) -> int:
        """Report that the host accesses memory that only the device may."""
        if self.order is not None and self.order.accessed(call, address):
            return 1
        buffer = self.device.arena.holding(address)
        if buffer is None:
            self.problem("host-access", f"the host accesses memory of the device at {address:#x}", call)
            return 0
        freed = () if buffer.freed is None else (("freed", buffer.freed),)
        state = "" if buffer.freed is None else ", which was freed"
        message = f"the host accesses byte {address - buffer.address} of {self.name_of(buffer)}{state}"
        self.problem("host-access", message, call, ("allocated", buffer.origin), *freed)
        return 0

    # --- Problems -----------------------------------------------------------------------------------------------------

    def problem(self, rule: str, message: str, origin: HostCall | None, *more: tuple[str, Any]) -> None:
        """Report something that the program does wrong."""
        self.report_problem(self, Misuse(rule, message, origin, more))

    def name_of(self, buffer: Allocation) -> str:
        """Return how messages name a buffer: by the variable that its allocation sets, and the line."""
        if buffer.origin is None:
            return f"the buffer at {buffer.address:#x}"
        line = self.host.line(buffer.origin.frames)
        name = self.host.named(buffer.origin.frames)
        where = f" from {line.place}" if line is not None else f" at {buffer.address:#x}"
        return f"`{name}`{where}" if name is not None else f"the {buffer.kind} buffer{where}"

    # --- Code ---------------------------------------------------------------------------------------------------------

    def handle(self) -> int:
        """Return a number that names something, and no memory."""
        self._handles += 16
        return self._handles

    def keep(self, found: Any) -> int:
        """Keep an object; return its handle."""
        handle = self.handle()
        self.objects[handle] = found
        return handle

    def keep_node(self, node: GraphNode) -> int:
        """Keep a node; return its handle."""
        node.handle = self.keep(node)
        return node.handle

    def keep_graph(self, graph: Graph) -> int:
        """Keep a graph and its nodes; return its handle."""
        graph.handle = self.keep(graph)
        for node in graph.nodes:
            if not node.handle:
                self.keep_node(node)
        return graph.handle

    def find(self, handle: int, kind: type[_Kind], error: int = errors.INVALID_VALUE) -> _Kind:
        """Return an object by its handle; the call ends with an error if there is none."""
        found = self.objects.get(handle)
        if not isinstance(found, kind):
            raise CallRefused(Failure(error))
        return found

    def stream(self, handle: int) -> HipStream | None:
        """Return a stream by its handle, None for the legacy one."""
        if handle in LEGACY_HANDLES:
            return None
        if handle not in self.streams:
            raise CallRefused(Failure(errors.CONTEXT_DESTROYED))
        return self.streams[handle]

    def register(self, content: bytes) -> int:
        """Keep code; return its handle."""
        handle = self.handle()
        self.binaries[handle] = FatBinary(content, len(self.binaries))
        return handle

    def binary(self, handle: int) -> FatBinary:
        """Return code by its handle."""
        if handle not in self.binaries:
            raise UsageError(f"no code is registered as {handle:#x}")
        return self.binaries[handle]

    def module(self, binary: FatBinary) -> LoadedModule:
        """Return the module of code for the device; raise an error if it has none."""
        if binary.problem is not None:
            raise binary.problem.again()
        if binary.module is None:
            try:
                binary.module = self._opened(binary)
            except DwarfGpuError as error:
                binary.problem = error
                raise
        return binary.module

    def processor(self) -> str:
        """Return the processor of the device."""
        if self.device.target is None:
            for binary in self.binaries.values():
                found = [*_processors(binary.content)]
                if found:
                    self.device.target = _newest(found)
                    break
        return self.device.target or USUAL

    def _opened(self, binary: FatBinary) -> LoadedModule:
        self.processor()
        return self.device.module(binary.content, f"code {binary.number} of process {self.number}")

    def kernel(self, handle: int) -> ModuleKernel | None:
        """Return a kernel by its handle."""
        known = self.kernels.get(handle)
        return None if known is None else self.module(known[0]).kernel(known[1])

    def symbol(self, shadow: int) -> tuple[int, int] | None:
        """Return the address and the size of a variable of the device."""
        variable = self.variables.get(shadow)
        if variable is None:
            return None
        found = self.module(variable.binary).symbol(variable.name)
        return None if found is None else (found[0], variable.size)

    # --- Launches -----------------------------------------------------------------------------------------------------

    def launch(
        self,
        call: HostCall,
        kernel: ModuleKernel,
        blocks: tuple[int, ...],
        threads: tuple[int, ...],
        segment: bytes,
        shared: int,
    ) -> int:
        """Launch a kernel once the program has its answer; errors of the kernel come later, as with hardware."""
        if not all((*blocks, *threads)):
            text = "x".join(map(str, (*blocks, *threads)))
            self.problem("empty-launch", f"{demangled(kernel.name)} is launched without threads: {text}", call)
            return Failure(errors.INVALID_CONFIGURATION)
        count = threads[0] * threads[1] * threads[2]
        if count > 1024:
            message = f"{demangled(kernel.name)} is launched with {count} threads a block: there can be 1024"
            self.problem("invalid-launch", message, call)
            return Failure(errors.INVALID_CONFIGURATION)
        if shared > 1 << 16:
            message = f"{demangled(kernel.name)} is launched with {shared} bytes of shared memory: there are {1 << 16}"
            self.problem("invalid-launch", message, call)
            return Failure(errors.INVALID_VALUE)
        grid = tuple(map(int.__mul__, blocks, threads))

        def run() -> HostLaunch:
            return self.device.launch(kernel, grid, threads, segment, shared=shared, origin=call)

        if self.order is not None and self.debugger is None:
            self.order.end(call, run())
            return errors.SUCCESS
        if os.environ.get("HIP_LAUNCH_BLOCKING", "0") != "0":
            run()
            return self.sticky()
        self.work.append(run)
        return errors.SUCCESS

    def sticky(self) -> int:
        """Return the error that every call returns after a fault of a kernel."""
        failed = self.device.failed
        if failed is None:
            return errors.SUCCESS
        is_fault = failed.halt is not None and failed.halt.kind == "fault"
        return Failure(errors.ILLEGAL_ADDRESS if is_fault else errors.LAUNCH_FAILURE)

    def string(self, call: HostCall, text: str) -> int:
        """Return the address of a text in the program, which stays there."""
        if text not in self._strings:
            self._strings[text] = self.place(call, text.encode() + b"\0")
        return self._strings[text]

    def place(self, call: HostCall, content: bytes) -> int:
        """Put bytes into the program, where they stay; return their address."""
        size = -(-len(content) // 16) * 16
        address, left = self._room
        if left < size:
            left = max(1 << 14, size)
            address = self.device.malloc(left)
            call.protect(address, left, is_open=True)
        call.write(address, content)
        self._room = address + size, left - size
        return address

    def now(self) -> float:
        """Return the time of events, in milliseconds."""
        return time.perf_counter() * 1000


class Failure(int):
    """An error that a function of the API returns."""


class ApiText(str):
    """A text that a function of the API returns."""

    __slots__ = ()


def _processors(content: bytes) -> Iterator[str]:
    """Yield the processors that code is for and that can execute it."""
    try:
        container = Container(memoryview(content), name="code", target_of=target_name_of)
    except DwarfGpuError:
        return
    for entry in container.entries:
        name = entry.target_id.partition(":")[0]
        if entry.kind != "host" and processor_named(name) is not None:
            yield entry.target_id


def _newest(targets: list[str]) -> str:
    """Return the processor of the latest generation; of several, the first."""

    def age(target: str) -> int:
        processor = processor_named(target.partition(":")[0])
        return 0 if processor is None else processor.major

    return max(targets, key=age)
