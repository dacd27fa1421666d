"""The driver that Triton launches kernels with: it packs arguments, and tells the device which memory belongs to them.

Triton's documentation of `triton.backends`: the entry point has a module ``driver`` with one class of drivers.
"""

from __future__ import annotations

import array
import ctypes
import gc
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.runtimes.triton import torch_device
from dwarfgpu.runtimes.triton.connected import ConnectedDevice, script_frames
from dwarfgpu.runtimes.triton.program import DEBUG

try:
    from triton.backends.driver import decompose_descriptor, expand_signature, wrap_handle_tensordesc_impl
except ImportError:  # before Triton 3.8, where each backend takes descriptors apart by itself

    def expand_signature(kinds: Sequence[Any], _descriptors: object, prefix: str) -> list[Any]:
        """Return the types of arguments, among which no descriptors can be."""
        if any(str(kind).startswith(prefix) for kind in kinds):
            raise TypeError("tensor descriptors as arguments need Triton 3.8 or later") from None
        return [*kinds]

    def wrap_handle_tensordesc_impl(launch: Any, *_others: object) -> Any:
        """Return what launches, as it is."""
        return launch

    decompose_descriptor = None


_FORMATS = {
    "i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "?", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d",
}  # fmt: skip
_TYPES = {
    "i1": "bool", "i8": "char", "i16": "short", "i32": "int", "i64": "long", "u8": "uchar", "u16": "ushort",
    "u32": "uint", "u64": "ulong", "fp16": "half", "fp32": "float", "f32": "float", "fp64": "double",
}  # fmt: skip
"""The types of arguments as OpenCL C calls them, which is how metadata does."""
_LOCAL_SIZES = {"gfx950": 160 << 10, "gfx1250": 320 << 10}
"""The bytes of local memory of a work-group; 64 KiB for others (LLVM's User Guide for AMDGPU, processors)."""
_USUAL_SIZE = 64 << 10
_MOST_WORK_ITEMS = 1024
_MOST_THREADS = 2048
"""The work-items of a compute unit, and its registers, as HIP tells them of these processors."""
_MOST_POINTERS = 8 << 16
"""The bytes of an array that may be one of pointers."""
_LEAST_ADDRESS, _ADDRESSES = 1 << 16, 1 << 47
"""Where memory of a process is: above the pages that a null pointer would reach, in the lower half."""


class KernelFailed(RuntimeError):
    """A kernel has not run to its end."""


class LaunchedOn(Protocol):
    """A device, wherever it is."""

    def load(self, request: dict[str, Any]) -> int:
        """Return the number of a kernel's code."""

    def launch(self, request: dict[str, Any], frames: Sequence[int]) -> None:
        """Launch a kernel."""

    def answer(self) -> dict[str, Any]:
        """Return the processor, and what the last launch has come to."""


class LoadedKernel:
    """A kernel as Triton keeps it: it outlives a device, and is loaded by each one that launches it."""

    def __init__(self, name: str, code: bytes, shared: int) -> None:
        self.name, self.code, self.shared = name, code, shared


class TensorDescriptor:
    """What GFX12.5 is told of a tensor to move tiles of: those of one wave (TDMCommon.h and driver.c of Triton)."""

    def __init__(self, argument: Any, meta: Any, waves: int) -> None:
        self.tensor = argument.base
        block, count = [*map(int, meta["block_size"])], waves
        for place, size in enumerate(block if len(block) > 1 else []):
            parts = 1
            while count > 1 and parts * 2 <= size:
                parts, count = parts * 2, count // 2
            block[place] = -(-size // parts)
        if len(block) == 1:
            block = [-(-block[0] // waves)]
        tiles, limits, steps = (
            [*map(int, numbers)][::-1] + [0] * (5 - len(block)) for numbers in (block, argument.shape, argument.strides)
        )
        size = int(meta["elem_bits"]) // 8
        form = size.bit_length() - 1 << 16
        for interval, amount in meta.get("interval_padding_pairs") or ():
            if (dwords := interval * size // 4) and (room := amount * size // 4):
                form |= 1 << 20 | dwords.bit_length() - 2 << 22 | room - 1 << 25
        form |= limits[0] << 48 | limits[1] << 80 | tiles[0] << 112 | tiles[1] << 128 | tiles[2] << 144
        form |= steps[1] << 160 | steps[2] << 208
        start = 1 | int(argument.base.data_ptr()) << 64 | 2 << 126
        more = limits[2] | limits[3] << 32 | steps[3] << 64 | tiles[3] << 112
        last = steps[4] | limits[4] << 48 | tiles[4] << 80
        groups = ((start, 16), (form, 32), (more, 16), (last, 16))[: 2 if len(block) < 3 else 4]
        self.data = b"".join(number.to_bytes(length, "little") for number, length in groups)


class Launcher:
    """Launches a kernel that Triton has compiled."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._metadata = metadata
        descriptors = getattr(metadata, "tensordesc_meta", None)
        self._signature = expand_signature(list(src.signature.values()), descriptors, "tensordesc")
        function = getattr(src, "fn", None)
        self._names = [*getattr(function, "arg_names", src.signature)]
        own = dict(src.signature)
        self._lengths = [len(expand_signature([kind], descriptors, "tensordesc")) for kind in own.values()]
        self._launch = wrap_handle_tensordesc_impl(self._launched, own, descriptors, self._of_descriptor)

    def __call__(self, *given: Any) -> None:
        *words, enter, leave = given[:9]
        if enter is not None:
            enter(words[-1])
        self._launch(*words, enter, leave, given[9:])
        if leave is not None:
            leave(words[-1])

    def _of_descriptor(self, argument: Any, meta: Any, _given: object) -> list[Any]:
        """Return the arguments of the kernel that a descriptor of a tensor is."""
        if meta is None:
            return [*decompose_descriptor(argument)]
        return [TensorDescriptor(argument, meta, self._metadata.num_warps), *argument.shape, *argument.strides]

    def _launched(self, *given: Any) -> None:
        programs, kernel, arguments = given[:3], given[4], given[-1]
        driver = active()
        values: list[str] = []
        tensors: list[Any] = []
        names = (name for name, length in zip(self._names, self._lengths, strict=False) for _ in range(length))
        called: list[tuple[str, str]] = []
        for name, kind, argument in _leaves(self._signature, arguments, names):
            called.append((name, _TYPES.get(kind.lstrip("*"), "") + "*" * kind.count("*")))
            if isinstance(argument, TensorDescriptor):
                values.append(argument.data.hex())
                tensors.append(_described(name, argument.tensor))
                continue
            if not kind.startswith("*"):
                values.append(_packed(kind, argument).hex())
                continue
            address = argument if isinstance(argument, int) else 0 if argument is None else int(argument.data_ptr())
            values.append(struct.pack("<Q", address).hex())
            if address and not isinstance(argument, int):
                tensors.append(_described(name, argument))
                tensors += _pointed(*tensors[-1][:4])
        if 0 in programs:
            return
        driver.launch(
            kernel,
            called,
            {
                "grid": programs,
                "work_items": self._metadata.num_warps * self._metadata.warp_size,
                "shared": kernel.shared,
                "scratch": getattr(self._metadata, "global_scratch_size", 0),
                "values": values,
                "tensors": tensors,
            },
            self._metadata,
        )


def _leaves(kinds: Sequence[Any], arguments: Sequence[Any], names: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    """Yield the arguments of the kernel: name, type and value."""
    for kind, argument in zip(kinds, arguments, strict=True):
        name = next(names, "")
        if isinstance(kind, tuple):
            inner = (f"{name}[{number}]" for number in range(len(kind)))
            yield from _leaves(kind, argument, inner)
        elif kind != "constexpr":
            yield name, kind, argument


def _packed(kind: str, value: Any) -> bytes:
    if kind == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        return struct.pack("<H", bits + 0x7FFF + (bits >> 16 & 1) >> 16)
    if kind not in _FORMATS:
        raise TypeError(f"kernels get no argument of type {kind} here")
    return struct.pack(f"<{_FORMATS[kind]}", value)


def _described(name: str, tensor: Any) -> list[Any]:
    """Return the memory of the elements of a tensor, and what it is."""
    while hasattr(tensor, "base") and hasattr(tensor.base, "data_ptr"):
        tensor = tensor.base  # Triton's view as another type
    shape = [*map(int, tensor.shape)]
    strides, size, start = [*map(int, tensor.stride())], int(tensor.element_size()), int(tensor.data_ptr())
    steps = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    first, last = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
    length = (last - first + 1) * size if all(shape) else 0
    kind, is_read_only = str(tensor.dtype).rpartition(".")[2], getattr(tensor, "is_read_only", False)
    return [start + first * size, length, name, kind, shape, strides, start, size, is_read_only]


def _pointed(start: int, length: int, name: str, kind: str) -> Iterator[list[Any]]:
    """Yield the tensors that an array of pointers leads to: those of the script that have such an address."""
    if kind not in ("int64", "uint64") or length > _MOST_POINTERS:
        return
    numbers = array.array("Q", ctypes.string_at(start, length))
    pointers = {number: at for at, number in enumerate(numbers) if _LEAST_ADDRESS < number < _ADDRESSES}
    classes = [sys.modules[module].Tensor for module in ("torch", "dwarfgpu.triton") if module in sys.modules]
    if not pointers or not classes:
        return
    for tensor in gc.get_objects():
        if issubclass(type(tensor), (*classes,)):  # `isinstance` asks objects, some of which then warn
            found = _described("", tensor)
            inside = [at for number, at in pointers.items() if found[0] <= number < found[0] + found[1]]
            if inside:
                found[2] = f"{name}[{min(inside)}]"
                yield found


class _Utils:
    """What Triton asks about the device."""

    def get_device_properties(self, _device: int) -> dict[str, Any]:
        processor = active().processor
        return {
            "max_shared_mem": _LOCAL_SIZES.get(processor, _USUAL_SIZE),
            "multiprocessor_count": 4,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
            "max_num_regs": 1 << 16,
            "max_threads_per_sm": _MOST_THREADS,
            "arch": processor,
            "warpSize": _warp_size(processor),
            "cooperativeLaunch": False,
        }

    def load_binary(self, name: str, code: bytes, shared: int, _device: int) -> tuple[Any, Any, int, int, int]:
        kernel = LoadedKernel(name, code, shared)
        metadata = opened(code).kernels_named([name])[0].metadata
        registers, spilled = (metadata.vgpr_count or 0, metadata.vgpr_spill_count or 0) if metadata else (0, 0)
        return kernel, kernel, registers, spilled, _MOST_WORK_ITEMS

    def unload_module(self, _module: Any) -> None:
        """Do nothing: code stays as long as the device."""


def _warp_size(processor: str) -> int:
    return 64 if processor.startswith("gfx9") else 32


_kinds: list[tuple[str, bool]] = []
"""The processors that were in use, and whether with variables: Triton keeps code by the number of the device."""
_A_MILLISECOND = 1000
"""The instructions that count as one."""
_TOO_OLD = "note: kernels have no variables: this Triton does not tell where the elements of tensors are (3.6 does)\n"
_SLOWER = "note: Triton keeps variables in memory, for a debugger: the code is slower than that of production\n"


class _Event:
    """A point in time, as torch has them on a GPU: how many instructions were executed until then."""

    def __init__(self, *_given: object, **_options: object) -> None:
        self.executed = 0

    def record(self, _stream: object = None) -> None:
        self.executed = active().executed

    def synchronize(self) -> None:
        """Do nothing: launches have ended."""

    def elapsed_time(self, other: _Event) -> float:
        """Return the milliseconds up to another one, which are never 0."""
        return max(other.executed - self.executed, 1) / _A_MILLISECOND


class _Interface:
    """What `triton.testing.do_bench` asks of torch's device."""

    Event = _Event

    @staticmethod
    def synchronize() -> None:
        """Do nothing: a launch returns when it has ended."""


class TritonDriver(DriverBase):  # type: ignore[misc]
    """A driver whose device is that of `dwarfgpu exec`, unless it is given one."""

    def __init__(self, device: LaunchedOn | None = None, *, debug: bool | None = None) -> None:
        super().__init__()
        self._debug = DEBUG in os.environ if debug is None else debug
        self._end_marks: Callable[[], None] | None = None
        if self._debug:
            from dwarfgpu.runtimes.triton.marks import IS_POSSIBLE, marking

            sys.stderr.write(_SLOWER if IS_POSSIBLE else _TOO_OLD)
            self._end_marks = marking() if IS_POSSIBLE else None
        self.device = device or ConnectedDevice(os.environ["DWARFGPU_DEVICE"])
        self.utils, self.launcher_cls = _Utils(), Launcher
        self.processor = str(self.device.answer()["target"]).partition(":")[0]
        self._loaded: dict[LoadedKernel, int] = {}
        self.executed = 0
        """The instructions of all launches."""
        if (self.processor, self._debug) not in _kinds:
            _kinds.append((self.processor, self._debug))

    @classmethod
    def is_active(cls) -> bool:
        return "DWARFGPU_DEVICE" in os.environ

    def end(self) -> None:
        """Let Triton compile as it did before."""
        if self._end_marks is not None:
            self._end_marks()

    def launch(
        self, kernel: LoadedKernel, arguments: Sequence[tuple[str, str]], request: dict[str, Any], metadata: Any
    ) -> None:
        """Launch a kernel, whose arguments have some names; raise an error if it does not end."""
        if kernel not in self._loaded:
            code = {"name": kernel.name, "code": kernel.code.hex(), "arguments": arguments}
            code["buffers"] = self._buffers(metadata) if kernel.shared else []
            self._loaded[kernel] = self.device.load(code)
        self.device.launch({"module": self._loaded[kernel], "name": kernel.name} | request, script_frames())
        answer = self.device.answer()
        self.executed += answer["executed"]
        if answer["error"]:
            raise KernelFailed(answer["error"])

    def _buffers(self, metadata: Any) -> list[list[Any]]:
        """Return the buffers of a kernel in shared memory, by which findings name what is there."""
        try:
            from dwarfgpu.runtimes.triton.shared import kept_buffers

            return kept_buffers(metadata, self.get_current_target())
        except (
            ImportError,
            OSError,
            RuntimeError,
        ):  # an older Triton; a cache that was removed; code that it does not read
            return []

    def map_python_to_cpp_type(self, ty: str) -> NoReturn:
        raise NotImplementedError(ty)

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("hip", self.processor, _warp_size(self.processor))

    def get_current_device(self) -> int:
        return _kinds.index((self.processor, self._debug))

    def set_current_device(self, _device: int) -> None:
        """Do nothing: there is one."""

    def get_current_stream(self, _device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> type[_Interface]:
        return _Interface

    def get_empty_cache_for_benchmark(self) -> None:
        """Return nothing: there is no cache to clear."""

    def clear_cache(self, _cache: object) -> None:
        """Do nothing, either."""

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return what measures a configuration: it runs once, and an instruction takes a microsecond."""

        def measured(call: Callable[[], object], *, quantiles: Sequence[float] | None = None, **_options: Any) -> Any:
            before = self.executed
            call()
            time = (self.executed - before) / _A_MILLISECOND
            return time if quantiles is None else [time] * len(quantiles)

        return measured


def active() -> TritonDriver:
    """Return the driver in use."""
    from triton.runtime import driver

    found = driver.active
    if not isinstance(found, TritonDriver):
        raise KernelFailed("the kernel was compiled for dwarfgpu, which is not in use any more")
    return found


def _with_hint(hook: Callable[..., Any], change: str) -> Callable[..., Any]:
    """Return what writes an error that ends the script, with a hint what to change where it asks torch for a GPU."""

    def told(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        hook(kind, error, trace)
        if "CUDA" in str(error) and "torch" in sys.modules:
            sys.stderr.write(f"hint: torch has no GPU here, and kernels use memory of the host: {change}\n")

    return told


def _properties() -> dict[str, Any]:
    """Return what torch tells of a device."""
    found = _Utils().get_device_properties(0)
    number = int(found["arch"].removeprefix("gfx"), 16)
    return {
        "name": f"{found['arch']} of dwarfgpu",
        "gcnArchName": found["arch"],
        "major": number >> 8,
        "minor": number >> 4 & 15,
        "total_memory": 1 << 36,
        "multi_processor_count": found["multiprocessor_count"],
        "warp_size": found["warpSize"],
        "shared_memory_per_block": found["max_shared_mem"],
    }


if TritonDriver.is_active():
    _change = 'import torch before triton, or write device="cpu"'
    if torch_device.is_there():
        torch_device.put(_properties, _Event)
        _change = 'write device="cpu"'
    sys.excepthook = _with_hint(sys.excepthook, _change)
