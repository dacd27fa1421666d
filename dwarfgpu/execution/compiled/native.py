"""Text of LLVM IR as machine code of the host."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from dwarfgpu.errors import UsageError

_LOCK = threading.Lock()
"""Two machines may compile at once, and LLVM is not asked twice at once."""


def is_available(*, is_wanted: bool = False) -> bool:
    """Return whether llvmlite is installed and knows the host; raise an error if it is wanted and is not."""
    if _binding() is None and is_wanted:
        hint = "install the package llvmlite, or let blocks be interpreted"
        raise UsageError("blocks are compiled by llvmlite, which is not installed", kind="needs_package", hint=hint)
    return _binding() is not None


def compiler() -> str:
    """Return what compiles."""
    llvm = _binding()
    return "nothing" if llvm is None else f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


@cache
def _binding() -> Any:
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError):
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


class NativeFunction:
    """A function of machine code, which lives as long as this object.

    It is compiled without LLVM's optimizations: the text has values of LLVM in place of memory already, and they would
    take six times as long (0.7 and 4 ms for each instruction) for code that runs 1.2 times as fast.
    """

    def __init__(self, text: str, name: str) -> None:
        llvm = _binding()
        self.size = 0
        """The bytes of machine code and its tables."""
        with _LOCK:
            machine = llvm.Target.from_default_triple().create_target_machine(
                cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0
            )
            module = llvm.parse_assembly(text)
            self._engine = llvm.create_mcjit_compiler(module, machine)
            self._engine.set_object_cache(notify_func=self._take_size)
            self._engine.finalize_object()
            address = self._engine.get_function_address(name)
        self.call: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)

    def _take_size(self, _module: Any, code: bytes) -> None:
        self.size = len(code)
