"""A script that uses Triton: its kernels, its tensors, and what becomes of its launches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from dwarfgpu.execution.faults import READ_ONLY
from dwarfgpu.immutable import define, field
from dwarfgpu.program.values.tensors import SharedLayout, SharedTensor
from dwarfgpu.runtimes.arena import HOST, Allocation
from dwarfgpu.runtimes.calling import CallingProgram
from dwarfgpu.runtimes.pinned import PinnedMemory
from dwarfgpu.runtimes.prototypes import Api

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.runtimes.connection import HostCall
    from dwarfgpu.runtimes.device import HostLaunch, LoadedModule

API = Api()
USUAL = "gfx942"
"""The processor of the device, unless the user names one."""
DEBUG = "DWARFGPU_TRITON_DEBUG"
"""The variable of the environment with which kernels are compiled so that their variables are there."""
POINTER = 8
"""The bytes of a pointer."""


@define(eq=False)
class TensorOrigin:
    """Where memory of a script is from: the tensor that a kernel gets as an argument."""

    name: str
    """The argument of the kernel."""
    kind: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    start: int
    """The address of its first element."""
    size: int
    """The bytes of an element."""
    is_read_only: bool = False
    frames: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"`{self.name}`, {self.kind}[{', '.join(map(str, self.shape))}]"

    def element(self, address: int) -> str | None:
        """Return the element at an address, also one that is behind the last; None if none can be there."""
        place, index = (address - self.start) // self.size, [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            if self.strides[axis] <= 0:
                return None
            index[axis], place = divmod(place, self.strides[axis])
        is_beside = any(not 0 <= at < size for at, size in zip(index[1:], self.shape[1:], strict=True))
        return None if place or is_beside else f"element [{', '.join(map(str, index))}]"


@define
class _TensorMemory:
    """Memory that a kernel may access."""

    start: int
    size: int
    tensor: TensorOrigin

    @property
    def access(self) -> str:
        return READ_ONLY if self.tensor.is_read_only else ""


@define(eq=False)
class TritonProgram(CallingProgram):
    """A process in which Triton launches kernels."""

    API: ClassVar[Api] = API
    LIBRARY: ClassVar[str] = "dwarfgpu"
    MISSING: ClassVar[int] = 0

    modules: list[LoadedModule] = field(factory=list)
    problem_text: str = ""
    """Why the last call was refused."""
    last: HostLaunch | None = None
    _scratch: list[int] = field(factory=list)
    """The memory that only the last launch needed."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.device.target = self.device.target or USUAL

    def refused(self, call: HostCall, error: DwarfGpuError) -> int:
        self.problem_text = str(error)
        return 0

    def name_of(self, buffer: Allocation) -> str:
        return str(buffer.origin) if isinstance(buffer.origin, TensorOrigin) else CallingProgram.name_of(self, buffer)

    def place_in(self, buffer: Allocation, address: int) -> str:
        origin = buffer.origin
        element = origin.element(address) if isinstance(origin, TensorOrigin) else None
        return f"{element} of {origin}" if element is not None else CallingProgram.place_in(self, buffer, address)

    def load(self, request: dict[str, Any]) -> int:
        """Return the number of a module, whose kernel has arguments with the names that the source gives them."""
        module = self.device.module(bytes.fromhex(request["code"]), f"{request['name']}.hsaco")
        module.file.kernels = module.file.kernels.with_arguments(
            [(name, kind or None) for name, kind in request["arguments"]]
        )
        module.file.buffers = tuple(
            SharedTensor(name, address, kind, is_alone, SharedLayout.read(layout, tuple(shape)))
            for name, address, kind, is_alone, shape, layout in request["buffers"]
        )
        self.modules.append(module)
        return len(self.modules) - 1

    def launch(self, call: HostCall, request: dict[str, Any]) -> None:
        """Launch a kernel with the memory of its tensors."""
        self.problem_text, self.last = "", None
        while self._scratch:
            self.device.free(self._scratch.pop())
        kernel = self.modules[request["module"]].kernel(request["name"])
        self._use([_TensorMemory(start, size, TensorOrigin(*origin)) for start, size, *origin in request["tensors"]])
        values = [bytes.fromhex(value) for value in request["values"]]
        programs, scratch = request["grid"], request["scratch"]
        if scratch:
            address = self.device.malloc(scratch * programs[0] * programs[1] * programs[2])
            self._scratch.append(address)
            values.append(address.to_bytes(POINTER, "little"))
        values += [bytes(POINTER)] * (len(kernel.arguments) - len(values))
        items = request["work_items"]
        self.last = self.device.launch(
            kernel,
            (programs[0] * items, *programs[1:]),
            (items, 1, 1),
            kernel.segment(values),
            shared=request["shared"],
            origin=call,
        )

    def answer(self) -> dict[str, Any]:
        """Return what the last launch has come to."""
        launch, text = self.last, self.problem_text
        if launch is not None and launch.error is not None:
            text = f"{launch.name} cannot be launched: {launch.error}"
        elif launch is not None and launch.halt is not None and not launch.has_ended:
            text = f"{launch.name}: {launch.halt.reason}"
        elif launch is not None and launch.halt is None and self.device.failed not in (None, launch):
            text = f"{launch.name} is not executed: {self.device.failed.name} has failed"
        return {"target": self.device.target, "executed": 0 if launch is None else launch.executed, "error": text}

    def _use(self, tensors: Sequence[_TensorMemory]) -> None:
        """Let kernels access the memory of some tensors, and of no others. Ranges that share bytes are one."""
        ranges: list[_TensorMemory] = []
        for tensor in sorted((each for each in tensors if each.size), key=lambda each: each.start):
            if ranges and tensor.start < ranges[-1].start + ranges[-1].size:
                ranges[-1].tensor.is_read_only &= tensor.tensor.is_read_only
                ranges[-1].size = max(ranges[-1].size, tensor.start + tensor.size - ranges[-1].start)
            else:
                ranges.append(tensor)
        wanted = {each.start: (each.size, each.access) for each in ranges}
        for address, memory in [*self.device.pinned.items()]:
            if wanted.get(address) != (memory.buffer.size, memory.buffer.access):
                self.device.forget(address)
        for each in ranges:
            if each.start in self.device.pinned:
                self.device.pinned[each.start].buffer.origin = each.tensor
            else:
                buffer = Allocation(each.start, each.size, HOST, each.tensor, each.access)
                self.device.pin(PinnedMemory(self.number, buffer))


@API("word tritonLoad(const void *request, size_t size)")
async def _load(call: HostCall, request: int, size: int) -> int:
    program: TritonProgram = call.process
    return program.load(json.loads(await call.read(request, size)))


@API("word tritonLaunch(const void *request, size_t size)")
async def _launch(call: HostCall, request: int, size: int) -> int:
    program: TritonProgram = call.process
    program.launch(call, json.loads(await call.read(request, size)))
    return 0


@API("word tritonAnswer(void *text, size_t room)")
def _answer(call: HostCall, text: int, room: int) -> int:
    program: TritonProgram = call.process
    answer = json.dumps(program.answer()).encode()[:room]
    call.write(text, answer)
    return len(answer)
