"""LLVM's disassembler as an oracle: libLLVM 22 through ctypes, in a child process, for some words make it crash."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import tempfile
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LIBRARIES = (
    "libLLVM.so.22.1",
    "/usr/lib/llvm-22/lib/libLLVM.so.22.1",
    "/usr/lib/x86_64-linux-gnu/libLLVM.so.22.1",
)
TRIPLE = b"amdgcn-amd-amdhsa"
LONGEST = 20

CRASHED = "crashed"
"""The text of words on which the disassembler ends its process."""


class NoOracle(Exception):  # noqa: N818 (it says what is missing)
    """There is no libLLVM of the version that the tables are made from."""


@cache
def _library() -> ctypes.CDLL:
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise NoOracle("libLLVM.so.22.1 is not installed (Debian: llvm-22)")
    for part in ("TargetInfo", "Target", "TargetMC", "Disassembler"):
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    library.LLVMCreateDisasmCPUFeatures.restype = ctypes.c_void_p
    library.LLVMCreateDisasmCPUFeatures.argtypes = [
        *[ctypes.c_char_p] * 3,
        *(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
    ]
    library.LLVMDisasmInstruction.restype = ctypes.c_size_t
    library.LLVMDisasmInstruction.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t)
    ]
    return library


class Oracle:
    """Disassembles the code of one processor with waves of one size."""

    def __init__(self, processor: str, wave_size: int = 0) -> None:
        features = f"+wavefrontsize{wave_size},-wavefrontsize{96 - wave_size}" if wave_size else ""
        self._library = _library()
        self._handle = self._library.LLVMCreateDisasmCPUFeatures(
            TRIPLE, processor.encode(), features.encode(), None, 0, None, None
        )
        if not self._handle:
            raise NoOracle(f"libLLVM does not know {processor}")
        self.processor = processor
        self.wave_size = wave_size

    def texts(self, words: Sequence[bytes]) -> list[tuple[int, str]]:
        """Return size and text of the instruction that begins each of some pieces of code; (0, "") for none.

        The text of a piece on which the disassembler crashes is ``CRASHED``.
        """
        results: list[tuple[int, str]] = []
        while len(results) < len(words):
            results += self._until_crash(words[len(results) :])
            if len(results) < len(words):
                results.append((0, CRASHED))
        return results

    def _until_crash(self, words: Sequence[bytes]) -> list[tuple[int, str]]:
        with tempfile.TemporaryFile() as file:
            child = os.fork()
            if not child:
                try:
                    self._write(file.fileno(), words)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            file.seek(0)
            written = file.read()
        results = []
        for record in written.split(b"\n")[:-1]:
            size, _, text = record.partition(b" ")
            results.append((int(size), text.decode()))
        return results

    def _write(self, descriptor: int, words: Sequence[bytes]) -> None:
        disassemble = self._library.LLVMDisasmInstruction
        buffer = ctypes.create_string_buffer(2048)
        shared = mmap.mmap(-1, 8)
        pending = []
        for code in words:
            # A word may crash: what came before it has to be in the file by then. Likely ones are told by a fork.
            size = disassemble(self._handle, code, len(code), 0, buffer, 2048)
            text = buffer.value.replace(b"\n", b"\\n") if size else b""
            os.write(descriptor, b"%d %s\n" % (size, text.strip().replace(b"\t", b" ")))
        del shared, pending
