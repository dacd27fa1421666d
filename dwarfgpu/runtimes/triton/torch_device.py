"""The device "cuda" of torch in scripts that `exec` runs: memory of the host, which kernels access in place.

Where a script gives a function of torch a device, it gets the CPU. What scripts ask `torch.cuda` about the device is
answered, so that they need no change; whatever else needs a GPU raises torch's own error.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

_NOTE = 'note: torch\'s device "cuda" is memory of the host here, which kernels access in place\n'


def is_there() -> bool:
    """Return whether the script has imported torch, and torch has no GPU."""
    return "torch.overrides" in sys.modules and not sys.modules["torch"].cuda.is_available()


def put(properties: Callable[[], Mapping[str, Any]], event: Callable[..., Any]) -> None:
    """Let torch have the device "cuda" in this process, with some properties."""
    import torch
    from torch.overrides import TorchFunctionMode

    told: list[str] = []

    def tell() -> None:
        if not told:
            told.append(_NOTE)
            sys.stderr.write(_NOTE)

    def on_host(value: Any) -> Any:
        """Return a device, or what names it, as that of the host."""
        if isinstance(value, torch.device) and value.type == "cuda":
            value = "cuda"
        if isinstance(value, str) and value.partition(":")[0] == "cuda":
            tell()
            return "cpu"
        return value

    class OnHost(TorchFunctionMode):  # type: ignore[misc]
        """What is called before each function of torch."""

        def __torch_function__(
            self, function: Any, _types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            named = {name: on_host(value) for name, value in (kwargs or {}).items()}
            if isinstance(named.get("device"), int):
                named["device"] = on_host("cuda")
            if function is torch.Tensor.cuda:
                tell()
                return args[0]
            if function == torch.Tensor.is_cuda.__get__:
                return True
            return function(*map(on_host, args), **named)

    def answers(_device: object = None) -> Any:
        return types.SimpleNamespace(**properties())

    stream = types.SimpleNamespace(cuda_stream=0, synchronize=_nothing, wait_stream=_nothing, query=lambda: True)
    for name, value in {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": answers,
        "get_device_name": lambda _device=None: answers().name,
        "get_device_capability": lambda _device=None: (answers().major, answers().minor),
        "current_stream": lambda _device=None: stream,
        "default_stream": lambda _device=None: stream,
        "Event": event,
        "device": lambda _device=None: contextlib.nullcontext(),
        "memory_allocated": lambda _device=None: 0,
        "max_memory_allocated": lambda _device=None: 0,
        **{
            name: partial(_nothing)  # each one of its own: torch's compiler looks them up by the object
            for name in ("synchronize", "empty_cache", "set_device", "init", "manual_seed", "manual_seed_all",
                         "reset_peak_memory_stats")
        },
    }.items():  # fmt: skip
        setattr(torch.cuda, name, value)
    OnHost().__enter__()


def _nothing(*_given: object) -> None:
    """Do nothing: what a script waits for has ended."""
