"""LLVM's disassembler as an oracle: libLLVM 22 through ctypes, in a child process, for some words make it crash."""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import mmap
import os
import signal
import struct
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIBRARIES = ("libLLVM.so.22.1", "/usr/lib/llvm-22/lib/libLLVM.so.22.1", "/usr/lib/x86_64-linux-gnu/libLLVM.so.22.1")
TRIPLE = b"amdgcn-amd-amdhsa"
LONGEST = 20
"""Bytes of the longest instruction: image instructions of GFX10 have five words."""
CRASHED = "crashed"
"""The text of words on which the disassembler ends its process."""
LONGEST_TEXT = 2048


class NoOracle(Exception):
    """There is no libLLVM of the version that the tables are made from, or it does not know a processor."""


@cache
def library() -> ctypes.CDLL:
    """Load libLLVM 22. Other versions know fewer processors and end the process when asked for one."""
    for name in LIBRARIES:
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        for part in ("TargetInfo", "Target", "TargetMC", "Disassembler"):
            getattr(loaded, f"LLVMInitializeAMDGPU{part}")()
        loaded.LLVMCreateDisasmCPUFeatures.restype = ctypes.c_void_p
        loaded.LLVMCreateDisasmCPUFeatures.argtypes = [
            *[ctypes.c_char_p] * 3,
            *(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
        ]
        loaded.LLVMDisasmInstruction.restype = ctypes.c_size_t
        loaded.LLVMDisasmInstruction.argtypes = [
            *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t)
        ]
        return loaded
    raise NoOracle("libLLVM.so.22.1 is not installed (Debian: llvm-22)")


class Oracle:
    """Disassembles the code of one processor with waves of one size.

    16-bit operands are halves of registers on GFX11 and GFX12 (their ISA documents, "VGPRs"). LLVM 22 reads them so on
    GFX12 only if asked to.
    """

    def __init__(self, processor: str, wave_size: int = 0) -> None:
        features = f"+wavefrontsize{wave_size},-wavefrontsize{96 - wave_size}" if wave_size else ""
        if processor.startswith("gfx12"):
            features += ",+real-true16"
        self._library = library()
        self._handle = self._library.LLVMCreateDisasmCPUFeatures(
            TRIPLE, processor.encode(), features.encode(), None, 0, None, None
        )
        if not self._handle:
            raise NoOracle(f"libLLVM does not know {processor}")
        self.processor = processor
        self.wave_size = wave_size
        self._progress = mmap.mmap(-1, 8)
        self._child = 0
        self._to = self._from = -1

    def texts(self, pieces: Sequence[bytes]) -> list[tuple[int, str]]:
        """Return size and text of the instruction that begins each of some pieces of code; (0, "") for none.

        The text of a piece on which the disassembler crashes is ``CRASHED``.
        """
        results: list[tuple[int, str]] = []
        for start in range(0, len(pieces), 20_000):
            results += self._batch(pieces[start : start + 20_000])
        return results

    def _batch(self, pieces: Sequence[bytes]) -> list[tuple[int, str]]:
        results: list[tuple[int, str]] = []
        while len(results) < len(pieces):
            rest = pieces[len(results) :]
            answer = self._ask(rest)
            if answer is None:
                done = struct.unpack("<q", self._progress[:8])[0]
                results += self._ask(rest[:done]) or []
                results.append((0, CRASHED))
            else:
                results += answer
        return results

    def _ask(self, pieces: Sequence[bytes]) -> list[tuple[int, str]] | None:
        """Return what the child says; None if it has ended."""
        if not pieces:
            return []
        if not self._child:
            self._start()
        message = b"".join(len(code).to_bytes(1, "little") + code for code in pieces)
        self._progress[:8] = bytes(8)
        os.write(self._to, struct.pack("<ii", len(message), len(pieces)))
        for start in range(0, len(message), 65536):
            os.write(self._to, message[start : start + 65536])
        size = _read(self._from, 4)
        if len(size) < 4:
            os.waitpid(self._child, 0)
            os.close(self._to)
            os.close(self._from)
            self._child = 0
            return None
        written = _read(self._from, struct.unpack("<i", size)[0])
        results = []
        for record in written.split(b"\n")[:-1]:
            length, _, text = record.partition(b" ")
            results.append((int(length), text.decode()))
        return results

    def close(self) -> None:
        """End the child process."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            os.close(self._to)
            os.close(self._from)
            self._child = 0

    def _start(self) -> None:
        atexit.register(self.close)
        requests, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(requests)
            os.close(answers)
            return
        os.close(self._to)
        os.close(self._from)
        faulthandler.disable()  # LLVM ends this process on some words, which is an answer
        try:
            self._serve(requests, answers)
        finally:
            os._exit(0)

    def _serve(self, requests: int, answers: int) -> None:
        while head := _read(requests, 8):
            size, _count = struct.unpack("<ii", head)
            answer = b"".join(self._disassembled(_pieces(_read(requests, size))))
            for part in (struct.pack("<i", len(answer)), answer):
                view = memoryview(part)
                while view:
                    view = view[os.write(answers, view) :]

    def _disassembled(self, pieces: Iterable[bytes]) -> Iterable[bytes]:
        disassemble = self._library.LLVMDisasmInstruction
        buffer = ctypes.create_string_buffer(LONGEST_TEXT)
        for number, code in enumerate(pieces):
            struct.pack_into("<q", self._progress, 0, number)
            size = disassemble(self._handle, code, len(code), 0, buffer, LONGEST_TEXT)
            text = buffer.value.partition(b" ; ")[0].strip().replace(b"\t", b" ") if size else b""
            yield b"%d %s\n" % (size, text.replace(b"\n", b" "))


def _pieces(message: bytes) -> Iterable[bytes]:
    at = 0
    while at < len(message):
        yield message[at + 1 : at + 1 + message[at]]
        at += 1 + message[at]


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(descriptor, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
