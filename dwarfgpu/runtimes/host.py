"""The program that launches kernels: the lines of its calls, read from its own debugging information."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.program import Program

_LOADED = 1
_HEADERS = (
    "/hip/hip_", "/hip/amd_detail/", "/c++/", "/CL/", "/pycore_", "/Python/", "/Objects/", "/Modules/main.c",
    "/_ctypes/",
)  # fmt: skip
"""Files of wrappers and of the interpreter of Python, which no user has written."""
_INSTALLED = "/site-packages/"
"""Where packages are that the user of a script has not written."""
_LOADER = "/libOpenCL"
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_OF_START = ("_start", "__device_stub__", "___interceptor_", "__interceptor_", "None")
"""How functions begin that no user has written: the start of a program, stubs of kernels, sanitizers, and no name."""
_ALLOCATES = re.compile(r"[Mm]alloc|[Aa]lloc|clCreate|clSVM|\.(?:Buffer|Image|to_device|empty|zeros)\(")
_RESULT = re.compile(r"&\s*([A-Za-z_]\w*(?:(?:\.|->)\w+|\[\w+\])*)\s*,|([A-Za-z_]\w*(?:(?:\.|->)\w+)*)\s*=[^=]")
_VOID = re.compile(r"(?:\(\s*void\s*\)|static_cast<void>\()\s*$")
_STATEMENT = re.compile(r"(?:[;{}):]|\belse|\bdo|^\s*#.*)$")
"""What a statement follows."""
_MOST_LINES = 12
"""The lines of a call."""


_FUTEX = {"x86_64": "202", "aarch64": "98"}
"""The number of the call of the system that waits for another thread, by the machine."""
_FUTEX_WAITS, _FUTEX_PRIVATE = (0, 9), 128


@frozen
class HostLine:
    """A call in the program: its function and line."""

    function: str
    file: str | None = None
    line: int = 0

    def __str__(self) -> str:
        return f"{self.place} in {self.function}" if self.file and self.line else self.function

    @property
    def place(self) -> str:
        """The line, else the function."""
        return f"{os.path.basename(self.file)}:{self.line}" if self.file and self.line else self.function


@frozen
class _MappedFile:
    """A part of a file in the memory of a program."""

    first: int
    end: int
    offset: int
    path: str


class _Range(ctypes.Structure):
    """A range of memory: ``struct iovec``."""

    _fields_ = (("address", ctypes.c_void_p), ("size", ctypes.c_size_t))


@cache
def _reader() -> Callable[..., int]:
    """Return the function of the system that reads the memory of another process."""
    read: Any = ctypes.CDLL(None).process_vm_readv
    read.argtypes = (ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ulong] * 2, ctypes.c_ulong)
    read.restype = ctypes.c_ssize_t
    return read  # type: ignore[no-any-return]


def _scripted(frames: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the lines of a script: the addresses of the names of file and function, and the line."""
    if 0 in frames:
        start = [*frames].index(0) + 1
        yield from zip(frames[start::3], frames[start + 1 :: 3], frames[start + 2 :: 3], strict=False)


class HostProgram:
    """A process, by its number."""

    def __init__(self, number: int, library: str) -> None:
        self.number = number
        self._library = library
        """The name of the door's library, whose frames are not the user's."""
        self._mapped: list[_MappedFile] = [*self._read()]  # it may end before its first report
        self._programs: dict[str, Program | None] = {}
        self._known: dict[int, tuple[HostLine, ...]] = {}
        self._sources: dict[str, list[str]] = {}
        self.names: dict[int, str] = {}
        """The names of files and functions of scripts, by their addresses in the program."""

    def stack(self, frames: Sequence[int]) -> list[HostLine]:
        """Return the lines of return addresses, innermost first, without those of wrappers and of the system.

        Where a script has called, they are those of the script.
        """
        scripted = [*_scripted(frames)]
        if scripted:
            lines = (HostLine(self.names.get(name, "?"), self.names.get(file), line) for file, name, line in scripted)
            return [
                line for line in lines if _INSTALLED not in (line.file or "") and not (line.file or "").startswith("<")
            ]
        return [line for frame in frames if frame for line in self.at(frame - 1)]

    def read(self, address: int, size: int) -> bytes | None:
        """Return bytes of its memory; None if they cannot be read from outside, or not all."""
        try:
            content = ctypes.create_string_buffer(size)
        except (MemoryError, OverflowError):
            return None
        own, wanted = _Range(ctypes.addressof(content), size), _Range(address, size)
        count = _reader()(self.number, ctypes.byref(own), 1, ctypes.byref(wanted), 1, 0)
        return content.raw if count == size else None

    def reach(self, address: int, size: int, *, is_written: bool) -> int:
        """Return how many bytes from an address on the program can read, or write."""
        end = address
        for first, last, words in self._ranges():
            if first <= end < last and ("w" if is_written else "r") in words[1]:
                end = last
        return min(end - address, size)

    def mapping(self, address: int) -> str | None:
        """Return the name of memory that the program can read, as the system names it; None if it cannot."""
        for first, last, words in self._ranges():
            if first <= address < last and "r" in words[1]:
                return words[5] if len(words) > 5 else ""
        return None

    def at_access(self, frames: Sequence[int]) -> Sequence[int]:
        """Return the frames of a signal's handler without its own, as if the access were a call."""
        for number, frame in enumerate(frames):
            if self.at(frame):
                return [frame + 1, *frames[number + 1 :]]
        return frames

    def threads(self) -> list[str]:
        """Return the numbers of its threads; none if it has ended or they cannot be seen."""
        try:
            return os.listdir(f"/proc/{self.number}/task")
        except OSError:
            return []

    def sleepers(self) -> dict[str, str]:
        """Return the threads that only another one can wake, each with how long it has run."""
        found, threads = {}, self.threads()
        for thread in threads:
            folder = Path(f"/proc/{self.number}/task/{thread}")
            with suppress(OSError, ValueError):
                number, _address, *words = (folder / "syscall").read_text().split()[:5]
                how, value, limit = (int(word, 16) for word in words)
                is_own = bool(how & _FUTEX_PRIVATE) or str(value) in threads  # the latter waits for the end of a thread
                if number == _FUTEX.get(os.uname().machine) and how & 0x7F in _FUTEX_WAITS and is_own and not limit:
                    found[thread] = (folder / "schedstat").read_text()
        return found

    def unknown(self, frames: Sequence[int]) -> list[int]:
        """Return the addresses of names that were not read yet."""
        return [each for file, name, _line in _scripted(frames) for each in (file, name) if each not in self.names]

    def line(self, frames: Sequence[int]) -> HostLine | None:
        """Return the innermost line of the program itself."""
        return next((line for line in self.stack(frames) if line.line), None)

    def at(self, address: int) -> tuple[HostLine, ...]:
        """Return the calls at an address, inlined ones first."""
        if address not in self._known:
            try:
                self._known[address] = tuple(self._at(address))
            except (DwarfGpuError, OSError):
                self._known[address] = ()
        return self._known[address]

    def named(self, frames: Sequence[int]) -> str | None:
        """Return what the line of an allocation calls its result: ``cells`` of ``hipMalloc(&cells, 400)``."""
        text = self._text(self.line(frames))
        found = _RESULT.search(text) if len(_ALLOCATES.findall(text)) == 1 else None  # else it may be that of another
        return (found[1] or found[2]) if found else None

    def discards(self, frames: Sequence[int], name: str) -> bool:
        """Return whether the source calls a function as a statement, so that nothing sees its result."""
        line = self.line(frames)
        parts = self._text(line).split(f"{name}(")
        return (
            line is not None
            and len(parts) > 1
            and all(
                self._discards(line, f"{name}(".join(parts[:at]), f"{name}(".join(parts[at:]))
                for at in range(1, len(parts))
            )
        )

    def _discards(self, line: HostLine, before: str, behind: str) -> bool:
        """Return whether a call is a statement, by what is before its name and behind its parenthesis."""
        before = _VOID.sub("", before).rstrip()
        if not before:
            lines = (self._text(evolve(line, line=number)) for number in range(line.line - 1, 0, -1))
            before = next((text.partition("//")[0].rstrip() for text in lines if text.partition("//")[0].strip()), ";")
        depth, number = 1, line.line
        while depth and number < line.line + _MOST_LINES:
            for at, character in enumerate(behind):
                depth += (character == "(") - (character == ")")
                if not depth:
                    behind = behind[at + 1 :]
                    break
            else:
                number += 1
                behind = self._text(evolve(line, line=number))
        return not depth and behind.lstrip().startswith(";") and bool(_STATEMENT.search(before))

    def _text(self, line: HostLine | None) -> str:
        """Return the text of a line of the source; nothing if it cannot be read."""
        if line is None or line.file is None:
            return ""
        if line.file not in self._sources:
            try:
                self._sources[line.file] = Path(line.file).read_text(errors="replace").splitlines()
            except OSError:
                self._sources[line.file] = []
        lines = self._sources[line.file]
        return lines[line.line - 1] if 0 < line.line <= len(lines) else ""

    def _at(self, address: int) -> Iterator[HostLine]:
        part = self._part(address)
        if part is None or self._library in part.path or _LOADER in part.path or part.path.startswith(_SYSTEM):
            return
        program = self._program(part.path)
        if program is None:
            return
        place = address - part.first + part.offset
        for segment in program.file.image.segments:
            if segment.type == _LOADED and segment.offset <= place < segment.offset + segment.file_size:
                for frame in program.at(place - segment.offset + segment.address):
                    function, file = str(frame.name), None if frame.file is None else str(frame.file)
                    if not function.startswith(_OF_START) and not any(part in (file or "") for part in _HEADERS):
                        yield HostLine(function, file, frame.line or 0)

    def _program(self, path: str) -> Program | None:
        if path not in self._programs:
            try:
                self._programs[path] = Program(opened(path))
            except (DwarfGpuError, OSError):
                self._programs[path] = None
        return self._programs[path]

    def _part(self, address: int) -> _MappedFile | None:
        found = next((part for part in self._mapped if part.first <= address < part.end), None)
        if found is None:
            self._mapped = [*self._read()] or self._mapped  # what the program has loaded since; it may have ended
            found = next((part for part in self._mapped if part.first <= address < part.end), None)
        return found

    def _ranges(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the memory of the program as the system describes it."""
        try:
            lines = Path(f"/proc/{self.number}/maps").read_text(errors="surrogateescape").splitlines()
        except OSError:
            return
        for line in lines:
            words = line.split(None, 5)
            first, _, end = words[0].partition("-")
            yield int(first, 16), int(end, 16), words

    def _read(self) -> Iterator[_MappedFile]:
        for first, end, words in self._ranges():
            if len(words) == 6 and words[5].startswith("/") and "x" in words[1]:
                yield _MappedFile(first, end, int(words[2], 16), words[5].removesuffix(" (deleted)"))
