"""Text of LLVM IR as machine code of the host."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from dwarfgpu.execution.compiled.code_cache import CodeCache

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


def llvmlite_version() -> str:
    """Return the version of llvmlite, with that of LLVM in it."""
    import llvmlite

    return f"{llvmlite.__version__} {compiler()}"


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

    It is compiled without LLVM's optimizations: the text has values of LLVM in place of memory already, and they take
    six times as long (0.7 and 4 ms for each instruction) for code that runs 1.3 to 2.1 times as fast.
    """

    def __init__(self, text: str, name: str, cache: CodeCache | None = None) -> None:
        llvm = _binding()
        features = llvm.get_host_cpu_features().flatten()
        host = llvm.get_host_cpu_name(), features, llvm.get_default_triple()
        known = (llvmlite_version(), *host, name, text)
        key = hashlib.sha256("\0".join(known).encode()).digest()
        self._code: bytes | None = None if cache is None else cache.read(key)
        was_known = self._code is not None
        with _LOCK:
            machine = llvm.Target.from_default_triple().create_target_machine(cpu=host[0], features=features, opt=0)
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly("" if was_known else text), machine)
            if was_known:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(self._code))
            else:
                self._engine.set_object_cache(notify_func=self._take)
            self._engine.finalize_object()
            address = self._engine.get_function_address(name)
        self.call: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
        self.size = len(self._code or b"")
        """The bytes of machine code and its tables."""
        if cache is not None and not was_known and self._code is not None:
            cache.write(key, self._code)

    def _take(self, _module: Any, code: bytes) -> None:
        self._code = code
