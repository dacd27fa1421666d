"""The objects of OpenCL that a program refers to, and the commands that it enqueues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from dwarfgpu.immutable import define, field, frozen
from dwarfgpu.runtimes.connection import OPEN, READABLE
from dwarfgpu.runtimes.opencl.errors import ClError

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import KernelArgument
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import LoadedModule, ModuleKernel, ProgramDevice
    from dwarfgpu.runtimes.opencl.host_memory import HostBytes, HostMemory
    from dwarfgpu.runtimes.order import Clock, Work

QUEUED, SUBMITTED, RUNNING, COMPLETE = 3, 2, 1, 0
"""The states of a command; errors are negative."""
OUT_OF_ORDER, PROFILING = 1, 2
"""The properties of a queue."""
READ_WRITE, WRITE_ONLY, READ_ONLY, USE_HOST, ALLOC_HOST, COPY_HOST = (1 << bit for bit in range(6))
HOST_WRITE_ONLY, HOST_READ_ONLY, HOST_NO_ACCESS, KERNEL_READ_WRITE = 1 << 7, 1 << 8, 1 << 9, 1 << 12
"""The flags of memory objects."""
MAP_READ, MAP_WRITE, MAP_WRITE_ALL = 1, 2, 4
BUFFER, IMAGE_2D, IMAGE_3D, IMAGE_2D_ARRAY, IMAGE_1D, IMAGE_1D_ARRAY, IMAGE_1D_BUFFER = range(0x10F0, 0x10F7)
"""The types of memory objects."""


@define(eq=False, kw_only=True)
class ClObject:
    """Something that a program refers to by a pointer, and counts its references to."""

    origin: HostCall | None
    """The call that has made it."""
    handle: int = 0
    references: int = 1
    uses: int = 0
    """The commands that use it and have not ended, the parts of a buffer, and the kernels of a program."""
    released: HostCall | None = None
    """The call that has released the last reference."""

    NOUN: ClassVar[str] = "object"
    ERROR: ClassVar[ClError] = ClError.INVALID_VALUE
    """What a function returns that is given none of this kind."""


@define(eq=False, kw_only=True)
class ClPlatform(ClObject):
    """The platform."""

    NOUN: ClassVar[str] = "platform"
    ERROR: ClassVar[ClError] = ClError.INVALID_PLATFORM


@define(eq=False, kw_only=True)
class ClDevice(ClObject):
    """A device."""

    device: ProgramDevice
    processor: str

    NOUN: ClassVar[str] = "device"
    ERROR: ClassVar[ClError] = ClError.INVALID_DEVICE


@define(eq=False, kw_only=True)
class ClContext(ClObject):
    """A context; what is made in it belongs to it."""

    devices: list[ClDevice]
    properties: bytes
    """As they were given."""
    ending: list[tuple[int, int]] = field(factory=list)
    """The functions to call when it ends, each with its data."""

    NOUN: ClassVar[str] = "context"
    ERROR: ClassVar[ClError] = ClError.INVALID_CONTEXT


@define(eq=False, kw_only=True)
class ClQueue(ClObject):
    """A queue of commands."""

    context: ClContext
    device: ClDevice
    flags: int
    properties: bytes
    """As they were given."""
    commands: list[ClCommand] = field(factory=list)
    """Those that have not ended, in order."""

    NOUN: ClassVar[str] = "command queue"
    ERROR: ClassVar[ClError] = ClError.INVALID_COMMAND_QUEUE

    @property
    def is_out_of_order(self) -> bool:
        return bool(self.flags & OUT_OF_ORDER)


@frozen
class ImageForm:
    """What an image is: its kind, its texels, and its extents, which are 1 where it has none."""

    kind: int
    order: int
    type: int
    width: int
    height: int
    depth: int
    layers: int
    texel: int
    """The bytes of a texel."""
    host_row: int
    host_slice: int
    """The pitches of what the host has."""
    gap: int = 0
    """The bytes behind each row, if the image has the memory of a buffer."""

    @property
    def row(self) -> int:
        """The bytes from a row to the next."""
        return self.texel * self.width + self.gap

    @property
    def slice(self) -> int:
        """The bytes from a slice, or a layer, to the next."""
        return self.row * self.height

    @property
    def extents(self) -> tuple[int, int, int]:
        """Its size as regions have it: the layers of a 1D array are its second axis."""
        if self.kind == IMAGE_1D_ARRAY:
            return self.width, self.layers, 1
        return self.width, self.height, self.depth * self.layers

    @property
    def size(self) -> int:
        """The bytes of all texels."""
        return self.slice * self.depth * self.layers


@frozen
class ClMapping:
    """A region of a memory object that the host may access."""

    flags: int
    fetch: Callable[[HostCall], object]
    """Puts it where the host accesses it."""
    store: Callable[[HostCall], object]
    """Puts back what the host has written."""
    call: HostCall
    bytes: range = range(0)
    """Those of a buffer that the host may access."""

    @property
    def is_written(self) -> bool:
        return bool(self.flags & (MAP_WRITE | MAP_WRITE_ALL))

    @property
    def access(self) -> int:
        """What the host may do with it."""
        return OPEN if self.is_written else READABLE


@define(eq=False, kw_only=True)
class ClMemory(ClObject):
    """A buffer, a part of one, or an image."""

    context: ClContext
    flags: int
    size: int
    host: int
    """The pointer that the program has given."""
    address: int
    """The first byte in the memory of the device."""
    description: int = 0
    """Where kernels find what an image is; 0 for a buffer."""
    parent: ClMemory | None = None
    offset: int = 0
    image: ImageForm | None = None
    kind: int = BUFFER
    properties: bytes = b""
    is_shared: bool = False
    """Whether the memory is that of `clSVMAlloc`."""
    mappings: dict[int, list[ClMapping]] = field(factory=dict)
    """The maps that are enqueued, by the pointer that the host has."""
    mapped: list[ClMapping] = field(factory=list)
    """What the host may access now."""
    ending: list[tuple[int, int]] = field(factory=list)
    """The functions to call when it ends, each with its data."""

    NOUN: ClassVar[str] = "memory object"
    ERROR: ClassVar[ClError] = ClError.INVALID_MEM_OBJECT

    of_host: HostMemory | None = None
    """The memory of the host that it uses, where it is followed."""

    @property
    def host_memory(self) -> HostMemory | None:
        """The memory of the host that it uses, also as a part."""
        return self.of_host if self.parent is None else self.parent.host_memory

    @property
    def uses_host(self) -> bool:
        """Whether maps are the memory that the program has given."""
        return bool(self.flags & USE_HOST) and not self.is_shared


@define(eq=False, kw_only=True)
class ClSampler(ClObject):
    """A sampler."""

    context: ClContext
    is_normalized: bool
    addressing: int
    filter: int
    properties: bytes = b""

    NOUN: ClassVar[str] = "sampler"
    ERROR: ClassVar[ClError] = ClError.INVALID_SAMPLER


@define(eq=False)
class ClBuild:
    """What a program is for a device."""

    binary: bytes = b""
    kind: int = 0
    """``CL_PROGRAM_BINARY_TYPE_NONE`` and others."""
    status: int = -1
    """``CL_BUILD_NONE``, _ERROR or _SUCCESS."""
    options: str = ""
    log: str = ""
    module: LoadedModule | None = None


@define(eq=False, kw_only=True)
class ClCode(ClObject):
    """A program: source or binaries, and what it was built to."""

    context: ClContext
    source: str | None = None
    il: bytes = b""
    """The program in SPIR-V."""
    constants: dict[int, bytes] = field(factory=dict)
    """The values of its specialization constants."""
    number: int = 0
    standard: str = ""
    """What ``-cl-std`` says."""
    builds: dict[ClDevice, ClBuild]
    """What it is for its devices."""

    NOUN: ClassVar[str] = "program"
    ERROR: ClassVar[ClError] = ClError.INVALID_PROGRAM

    @property
    def module(self) -> LoadedModule | None:
        """The code for the first device that it was built for."""
        return next((build.module for build in self.builds.values() if build.module is not None), None)


@define(eq=False, kw_only=True)
class ClKernel(ClObject):
    """A kernel with the values of its arguments."""

    code: ClCode
    kernel: ModuleKernel
    """That of the first device."""
    arguments: list[KernelArgument]
    values: dict[int, Any] = field(factory=dict)
    """Bytes, the size of local memory, or an object, by the number of the argument."""

    NOUN: ClassVar[str] = "kernel"
    ERROR: ClassVar[ClError] = ClError.INVALID_KERNEL

    def on(self, device: ClDevice) -> ModuleKernel | None:
        """Return it as it is on a device; None if its program was not built for that."""
        build = self.code.builds.get(device)
        return None if build is None or build.module is None else build.module.kernel(self.kernel.name)


@define(eq=False, kw_only=True)
class ClEvent(ClObject):
    """An event: of a command, or of the user."""

    context: ClContext
    command: ClCommand | None = None
    status_of_user: int = SUBMITTED
    callbacks: list[tuple[int, int, int]] = field(factory=list)
    """The states that are waited for, each with the function to call and its data."""
    clock_of_user: Clock = field(factory=dict)
    """What the host knew to be done when it set the event, where that is followed."""

    NOUN: ClassVar[str] = "event"
    ERROR: ClassVar[ClError] = ClError.INVALID_EVENT

    @property
    def status(self) -> int:
        return self.status_of_user if self.command is None else self.command.status

    @property
    def clock(self) -> Clock:
        """What is done behind it, where that is followed."""
        return self.clock_of_user if self.command is None else self.command.clock

    @property
    def has_ended(self) -> bool:
        return self.status <= COMPLETE


@frozen
class ClWork:
    """What a command does."""

    run: Callable[[HostCall], Any] = lambda _call: None
    """Does it by means of a call, which need not be the one that has enqueued it."""
    uses: tuple[ClObject, ...] = ()
    writes: ClMemory | None = None
    """The memory object that it certainly writes."""
    kernel: str = ""
    """The kernel that it executes."""
    is_access: bool = True
    """Whether it accesses the memory that it uses."""
    host: tuple[int, int] | None = None
    """The address and the size of the memory of the host that it copies."""
    is_blocking: bool = False
    """Whether the call that enqueues it waits for its end."""
    is_barrier: bool = False
    """Whether all commands before it end first, and those behind it begin later."""


@define(eq=False)
class ClCommand:
    """A command in a queue."""

    queue: ClQueue
    kind: int
    """Its number in OpenCL: ``CL_COMMAND_NDRANGE_KERNEL`` and others."""
    call: HostCall
    """The call that has enqueued it."""
    waits: list[ClEvent]
    does: ClWork
    copied: HostBytes | None = None
    """That memory, as long as the host must not change it."""
    event: ClEvent | None = None
    work: Work | None = None
    """Its place in the order of all commands, where that is followed."""
    clock: Clock = field(factory=dict)
    """What is done behind it, likewise."""
    status: int = QUEUED
    times: list[int] = field(factory=lambda: [0, 0, 0, 0])
    """When it was queued, submitted, begun and ended."""

    @property
    def has_ended(self) -> bool:
        return self.status <= COMPLETE

    @property
    def before(self) -> list[ClCommand]:
        """The commands of its queue that end before it begins."""
        commands = self.queue.commands
        earlier = commands[: commands.index(self)]
        while earlier and not (self.does.is_barrier or earlier[-1].does.is_barrier) and self.queue.is_out_of_order:
            earlier.pop()
        return earlier

    @property
    def is_ready(self) -> bool:
        """Whether it may begin: its queue and its events let it."""
        return self.status == QUEUED and not self.before and all(event.has_ended for event in self.waits)


def needed(commands: Iterable[ClCommand]) -> list[ClCommand]:
    """Return commands that have not ended, with those that must end before."""
    found: dict[ClCommand, None] = {}
    left = [*commands]
    while left:
        command = left.pop()
        if not command.has_ended and command not in found:
            found[command] = None
            left += command.before
            left += (event.command for event in command.waits if event.command is not None)
    return [*found]
