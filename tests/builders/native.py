"""Functions of LLVM IR as functions of Python."""

import ctypes
from collections.abc import Callable

from dwarfgpu.code_cache import CodeCache
from dwarfgpu.execution.forms.native import JitMachine

_KEPT: list[JitMachine] = []


def compiled(text: str, name: str = "f", cache: CodeCache | None = None) -> Callable[[int], int]:
    """Compile a module; return a function of it, of one address."""
    machine = JitMachine()
    machine.load(text, cache=cache)
    _KEPT.append(machine)
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(machine.address(name))
