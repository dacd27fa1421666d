"""Text of LLVM IR as machine code of the host."""

from __future__ import annotations

import ctypes
import mmap
import threading
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dwarfgpu.code_cache import CodeCache

_LOCK = threading.Lock()
"""Two machines may compile at once, and LLVM is not asked twice at once."""
_FAILURES = (
    RuntimeError, MemoryError, OSError, AttributeError, LookupError, TypeError, ValueError, ctypes.ArgumentError,
)  # fmt: skip
"""What llvmlite raises: where LLVM fails, where the host is unknown, and where another version has other functions."""


class CompilerError(Exception):
    """LLVM cannot compile. It says why in one line."""

    def __init__(self, problem: BaseException) -> None:
        lines = str(problem).splitlines() or [type(problem).__name__]
        super().__init__(lines[0])


@cache
def hindrance() -> str:
    """Return why no kernel can be compiled here; empty if nothing is known.

    llvmlite is imported when something is compiled: that takes longer than a short kernel runs.
    """
    if find_spec("llvmlite") is None:
        return "the package llvmlite is not installed"
    return "" if _can_make_code() else "the system forbids memory that becomes code"


def interpreted_text() -> str:
    """Return what to tell a user who starts kernels; empty if they can be compiled."""
    problem = hindrance()
    return problem and f"kernels are interpreted, 60 to 400 times slower: {problem}. Their results are the same"


def _can_make_code() -> bool:
    """Return whether memory that was written may be executed, which SELinux, systemd and containers can forbid."""
    if not hasattr(mmap, "PROT_EXEC"):
        return True
    page = mmap.mmap(-1, mmap.PAGESIZE)
    start = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return not ctypes.CDLL(None).mprotect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)


@cache
def compiler() -> str:
    """Return what compiles."""
    try:
        return f"LLVM {'.'.join(map(str, _binding().llvm_version_info))}"
    except _FAILURES:
        return "LLVM"


@cache
def _binding() -> Any:
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except (ImportError, *_FAILURES):
        return None
    return llvm


class JitMachine:
    """Functions that are compiled one module after the other, and stay until the process ends."""

    def __init__(self) -> None:
        try:
            with _LOCK:
                self._engine = _binding().create_mcjit_compiler(_binding().parse_assembly(""), _new_machine())
        except _FAILURES as problem:
            raise CompilerError(problem) from problem
        self.size = 0
        """The bytes of machine code, with its tables."""

    def load(self, text: str, level: int = 0, cache: CodeCache | None = None) -> None:
        """Compile a module; what one level more optimizes takes two or three times as long."""
        llvm = _binding()
        try:
            with _LOCK:
                code = _object_code(text, cache, level)
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
                self._engine.finalize_object()
        except _FAILURES as problem:
            raise CompilerError(problem) from problem
        self.size += len(code)

    def address(self, name: str) -> int:
        """Return where a function is."""
        address: int = self._engine.get_function_address(name)
        return address

    def share(self, name: str) -> None:
        """Let later modules call a function by its name."""
        _binding().add_symbol(name, self.address(name))


@cache
def _host() -> tuple[str, str, str]:
    llvm = _binding()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), llvm.get_default_triple()


def _new_machine(level: int = 0) -> Any:
    name, features, _triple = _host()
    target = _binding().Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=level, jit=True)


_writer = cache(_new_machine)
"""What writes machine code; it knows the host, which takes a megabyte that engines with code do not need."""


def _object_code(text: str, cache: CodeCache | None, level: int) -> bytes:
    """Return a module as machine code, from the cache if it has been compiled before."""
    import hashlib

    import llvmlite

    known = llvmlite.__version__, compiler(), *_host(), str(level), text
    key = hashlib.sha256("\0".join(known).encode()).digest()
    code = None if cache is None else cache.read(key)
    if code is None:
        code = _writer(level).emit_object(_binding().parse_assembly(text))
        if cache is not None:
            cache.write(key, code)
    return code
