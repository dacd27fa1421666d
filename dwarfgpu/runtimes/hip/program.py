"""A HIP program: its modules, handles and errors, for the functions of the API."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from dwarfgpu.demangle import demangled
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.checks.findings import RACE
from dwarfgpu.execution.starting import AT_ONCE
from dwarfgpu.immutable import define, field
from dwarfgpu.objfile.containers.bundle import Container
from dwarfgpu.program.code.code_object import target_name_of
from dwarfgpu.regular_files import read_input
from dwarfgpu.runtimes.calling import LAST_ERROR, CallingProgram
from dwarfgpu.runtimes.device import HostLaunch, LoadedModule, ModuleKernel
from dwarfgpu.runtimes.hip import errors
from dwarfgpu.runtimes.hip.ordering import ProgramOrder
from dwarfgpu.runtimes.hip.work import LEGACY_HANDLES, PER_THREAD, Capture, Graph, GraphNode, HipStream
from dwarfgpu.runtimes.prototypes import Api, CallRefused
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.runtimes.connection import HostCall, HostThread
    from dwarfgpu.runtimes.hip.mappings import Reservation

_Kind = TypeVar("_Kind")
API = Api()
USUAL = "gfx1100"
"""The processor of a program that has registered no code yet."""


class Failure(int):
    """An error that a function of the API returns."""


def refuse(error: int) -> NoReturn:
    """End a call with an error; a function that returns nothing has succeeded."""
    raise CallRefused(Failure(error))


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


@define(eq=False)
class HipProgram(CallingProgram):
    """A process that calls functions of HIP."""

    API: ClassVar[Api] = API
    LIBRARY: ClassVar[str] = "libamdhip64.so"
    MISSING: ClassVar[int] = Failure(errors.INVALID_VALUE)

    binaries: dict[int, FatBinary] = field(factory=dict)
    kernels: dict[int, tuple[FatBinary, str]] = field(factory=dict)
    """The kernels by their handles: addresses of the program, or numbers of functions of modules."""
    unregistered: dict[int, str] = field(factory=dict)
    """The kernels that are not there any more."""
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
    reservations: list[Reservation] = field(factory=list)
    """The addresses that the program has reserved."""
    advice: dict[int, dict[int, int]] = field(factory=dict)
    """What is advised of buffers, by their addresses and ``hipMemRangeAttribute``."""
    order: ProgramOrder | None = None
    """What is ordered, if races are looked for."""
    unread: dict[HostThread, list[tuple[HostCall, int]]] = field(factory=dict)
    """By thread, the calls that have failed since it has asked for its last error."""
    _handles: int = 0

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.device.others:
            self.problem("not-supported", f"programs of HIP have one device: {self.device.target}", None)
        if RACE in self.device.checks:
            self.order = ProgramOrder(self.device.arena, self.streams, self.name_of, self.problem)

    # --- What the server asks -----------------------------------------------------------------------------------------

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        self.problem("code", str(error), call)
        return self.end_call(call, Failure(errors.NO_BINARY))

    def ended(self) -> None:
        """Report what the program has left, unless a fault kept it from its end."""
        for call, number in chain.from_iterable(self.unread.values()):
            name = self.name_of_call(call)
            is_launch = name.startswith("hipLaunchKernel")
            if is_launch or self.host.discards(call.frames, name):
                what = "the launch" if is_launch else name
                message = f"{what} fails with {errors.text_of(number)[0]}, and nothing looks at that"
                self.problem("unread-error", message, call)
        for buffer in self.device.leaks():
            is_left = buffer.origin is not None and buffer.address not in self.of_graphs
            if is_left and self.device.failed is None:
                message = f"{self.name_of(buffer)} was not freed: {buffer.size} bytes"
                self.problem("leak", message, None, ("allocated", buffer.origin))
        super().ended()

    def end_call(self, call: HostCall, result: Any) -> int:
        """Keep the error of a call."""
        number = super().end_call(call, result)
        if isinstance(result, Failure):
            call.thread.state[LAST_ERROR] = number
            if number != errors.NOT_SUPPORTED and self.device.failed is None:
                self.unread.setdefault(call.thread, []).append((call, number))
        return number

    def violated(self, call: HostCall, address: int) -> int:
        """Let the host access what it has not waited for, once that is reported."""
        if self.order is not None and self.order.accessed(call, address):
            return 1
        return super().violated(call, address)

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
            refuse(error)
        return found

    def stream(self, handle: int) -> HipStream | None:
        """Return a stream by its handle, None for the legacy one."""
        if handle in LEGACY_HANDLES:
            return None
        if handle not in self.streams:
            refuse(errors.CONTEXT_DESTROYED)
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
        processor = self.processor()
        try:
            return self.device.module(binary.content, f"code {binary.number} of process {self.number}")
        except UsageError as error:
            found = ", ".join(dict.fromkeys(_processors(binary.content)))
            if error.kind != "no_entry" or not found:
                raise
            message = f"the program has code for {found}, and the device is {processor}"
            raise UsageError(message, kind=error.kind) from None

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

    def file(self, name: str) -> bytes | None:
        """Return the content of a file that the program names; None if it cannot be read."""
        try:
            return read_input(str(Path(f"/proc/{self.number}/cwd") / name))
        except (OSError, DwarfGpuError):
            return None

    # --- Launches -----------------------------------------------------------------------------------------------------

    def launch(
        self,
        call: HostCall,
        kernel: ModuleKernel,
        blocks: tuple[int, ...],
        threads: tuple[int, ...],
        segment: bytes,
        shared: int,
        *,
        is_cooperative: bool = False,
    ) -> None:
        """Launch a kernel once the program has its answer; errors of the kernel come later, as with hardware."""
        if not all((*blocks, *threads)):
            text = "x".join(map(str, (*blocks, *threads)))
            self.problem("empty-launch", f"{demangled(kernel.name)} is launched without threads: {text}", call)
            refuse(errors.INVALID_CONFIGURATION)
        count = prod(threads)
        if count > 1024:
            message = f"{demangled(kernel.name)} is launched with {count} threads a block: there can be 1024"
            self.problem("invalid-launch", message, call)
            refuse(errors.INVALID_CONFIGURATION)
        if shared > 1 << 16:
            message = f"{demangled(kernel.name)} is launched with {shared} bytes of shared memory: there are {1 << 16}"
            self.problem("invalid-launch", message, call)
            refuse(errors.INVALID_VALUE)
        if is_cooperative and prod(blocks) * -(-count // 32) > AT_ONCE:
            message = f"{demangled(kernel.name)} is launched with {prod(blocks)} blocks at once: they do not fit"
            self.problem("invalid-launch", message, call)
            refuse(errors.COOPERATIVE_TOO_LARGE)
        grid = tuple(map(int.__mul__, blocks, threads))

        def run() -> HostLaunch:
            return self.device.launch(
                kernel, grid, threads, segment, shared=shared, origin=call, is_cooperative=is_cooperative
            )

        if self.order is not None and self.debugger is None:
            self.order.end(call, run())
        elif os.environ.get("HIP_LAUNCH_BLOCKING", "0") != "0":
            run()
            self.check_device()
        else:
            self.work.append(run)

    def check_device(self) -> None:
        """End a call with the error that every call has after a fault of a kernel."""
        if self.sticky():
            refuse(self.sticky())

    def sticky(self) -> int:
        """Return that error."""
        failed = self.device.failed
        if failed is None:
            return errors.SUCCESS
        is_fault = failed.halt is not None and failed.halt.kind == "fault"
        return errors.ILLEGAL_ADDRESS if is_fault else errors.LAUNCH_FAILURE

    def now(self) -> float:
        """Return the time of events, in milliseconds."""
        return time.perf_counter() * 1000


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
