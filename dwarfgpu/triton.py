"""Kernels of Triton without a GPU: they are compiled for a processor, and executed in this process.

>>> import dwarfgpu.triton as dt
>>> with dt.use("gfx942", check="race,bounds") as device:
...     add[(4,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 1000, BLOCK=256)
>>> device.findings
()

Nothing of Triton is imported before `use`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.runtimes.device import ProgramDevice
from dwarfgpu.runtimes.triton.own import OwnDevice
from dwarfgpu.runtimes.triton.program import USUAL

if TYPE_CHECKING:
    from typing_extensions import Self

    from dwarfgpu.execution.control.check_report import NamedFinding
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.runtimes.device import HostLaunch

__all__ = ["Tensor", "UsedDevice", "tensor", "use"]


class TypeName(str):
    """The name of a type of elements, which knows their size."""

    __slots__ = ("itemsize",)
    itemsize: int


class Tensor:
    """An array of numpy as an argument of a kernel, which accesses its memory in place."""

    def __init__(self, array: Any, dtype: str | None = None) -> None:
        self.array = array
        self.dtype = TypeName(dtype or array.dtype)
        self.dtype.itemsize = array.itemsize

    def __repr__(self) -> str:
        return f"Tensor({self.array!r}, {self.dtype!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.array.shape
        return found

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_read_only(self) -> bool:
        return not self.array.flags.writeable

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self.array.ctypes.data)

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return int(self.array.itemsize)

    def stride(self, axis: int | None = None) -> Any:
        """Return how many elements are from one index to the next."""
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self.array.size)


def tensor(array: Any, dtype: str | None = None) -> Tensor:
    """Return an array as an argument of kernels. ``dtype`` names a type that numpy lacks: ``bfloat16``."""
    return Tensor(array, dtype)


class UsedDevice:
    """The device of kernels, until `end` or the end of the ``with`` block."""

    def __init__(self, device: ProgramDevice, *, debug: bool = False) -> None:
        from triton.runtime import driver

        from dwarfgpu.runtimes.triton.driver import TritonDriver

        self._own = OwnDevice(device)
        self._config = driver
        kept = vars(driver)  # `active` of new versions would look for a GPU
        self._before = kept["_active"] if "_active" in kept else kept["active"]
        self._driver = TritonDriver(self._own, debug=debug)
        driver.set_active(self._driver)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """Let Triton launch as it did before."""
        self._driver.end()
        self._config.set_active(self._before)

    @property
    def launches(self) -> tuple[HostLaunch, ...]:
        """All launches, in their order."""
        return (*self._own.launches,)

    @property
    def findings(self) -> tuple[NamedFinding, ...]:
        """What checks have found, in the order of the launches."""
        return (*self._findings(),)

    def _findings(self) -> Iterator[NamedFinding]:
        for launch in self._own.launches:
            yield from launch.findings


def use(
    target: str = USUAL,
    *,
    check: str | None = None,
    seed: int | None = None,
    debug: bool = False,
    at_launch: Callable[[Running], object] | None = None,
) -> UsedDevice:
    """Let Triton compile kernels for a processor, and execute them here, with some checks.

    With ``debug`` kernels keep their variables, as ``-O0`` does for C: the code is slower, and another than that of
    production. ``at_launch`` is called with each kernel, as `dwarfgpu.launch` returns it, before it runs to the end.
    """
    if "DWARFGPU_DEVICE" in os.environ:
        text = "kernels under dwarfgpu.triton.use run in this process: `dwarfgpu exec` does not see or check them"
        warnings.warn(text, stacklevel=2)
    device = ProgramDevice(target=target, check=check, seed=seed)
    if at_launch is not None:

        def execute(device: ProgramDevice, launch: HostLaunch) -> None:
            assert launch.running is not None  # noqa: S101 (it is at its first instruction)
            at_launch(launch.running)
            device.finish(launch)

        device.execute = execute
    return UsedDevice(device, debug=debug)
