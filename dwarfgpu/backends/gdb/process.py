"""A process in GDB: its threads, registers, memory and files."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.backends.gdb.backend import LoadedFile, Refused
from dwarfgpu.backends.gdb.contents import assign, number_of
from dwarfgpu.backends.gdb.dispatches import known_dispatches
from dwarfgpu.backends.gdb.objfiles import object_files
from dwarfgpu.backends.gdb.watch import watch
from dwarfgpu.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.backends.gdb.backend import WavePlace
    from dwarfgpu.backends.machine import Dispatch

_WAVE = re.compile(r"AMDGPU Wave (\S+)(?: \((\d+),(\d+),(\d+)\)/(\d+))?")
"""``AMDGPU Wave 1:2:1:1 (0,0,0)/0``: agent, queue, dispatch and wave; the work-group, and the number in it."""
_VECTOR, _LANE_BYTES = "v0", 4
"""A register that every wave has, and how much of it each lane has."""

_files: dict[int, tuple[int, list[LoadedFile]]] = {}
"""The files of each inferior, with how many had been loaded until then."""


class GdbProcess:
    """Some threads of an inferior at the current stop."""

    def __init__(self, inferior: Any, threads: list[Any]) -> None:
        self.inferior = inferior
        self.threads = threads
        titles = [self.title(thread) for thread in threads]
        self.ids = [name_of(*named) for named in zip(threads, titles, strict=True)]
        self.places = [place_of(title) for title in titles]
        self._watch = watch()
        self._runs = self._watch.runs(inferior.num)

    def title(self, thread: Any) -> re.Match[str] | None:
        """Return the title that GDB shows for a wave."""
        for text in (thread.details, getattr(thread, "ptid_string", None)):  # the second one since GDB 14
            match = _WAVE.search(text or "")
            if match is not None:
                return match
        return None

    @property
    def has_moved_on(self) -> bool:
        if not self.inferior.is_valid() or self._runs != self._watch.runs(self.inferior.num):
            return True
        return not self.threads[0].is_valid()

    @property
    def program(self) -> str | None:
        """The file that the process executes, if GDB knows it."""
        path: str | None = self.inferior.progspace.filename
        return next((loaded.name for loaded in self.files() if loaded.debug == path), path)

    def frame(self) -> Any:
        """Return GDB's innermost frame of the selected thread."""
        return innermost_frame()

    def architecture(self, thread: int) -> str:
        """Return GDB's name for the architecture of a thread."""
        with self._selected(thread):
            return str(self.frame().architecture().name())

    def lane_count(self, thread: int) -> int | None:
        """Return the number of lanes of the vector registers of a thread, or None without any."""
        with self._selected(thread):
            try:
                kind = self.frame().read_register(_VECTOR).type
            except ValueError:
                return None
            return int(kind.sizeof) // _LANE_BYTES

    @property
    def changes(self) -> int:
        return self._watch.changes

    def read_register(self, thread: int, name: str) -> int:
        with self._selected(thread):
            try:
                return number_of(self.frame().read_register(name))
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def write_register(self, thread: int, name: str, content: int) -> None:
        with self._selected(thread, innermost=True):
            try:
                assign(name, content)
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def read_memory(self, thread: int, space: str | None, address: int, size: int) -> bytes:
        with self._seeing(thread, space):
            return bytes(self.inferior.read_memory(_address(space, address), size))

    def write_memory(self, thread: int, space: str | None, address: int, data: bytes) -> None:
        with self._seeing(thread, space):
            self.inferior.write_memory(_address(space, address), data)

    @property
    def file_changes(self) -> int:
        return self._watch.files

    def read(self, address: int, size: int) -> bytes:
        """Read memory of the default address space, which all threads share."""
        try:
            return self.read_memory(0, None, address, size)
        except Refused as refused:
            message = f"{size} bytes of memory at {address:#x} are not available: {refused.why}"
            raise EvaluationError("memory_unavailable", message) from None

    def files(self) -> list[LoadedFile]:
        known = _files.get(self.inferior.num)
        if known is None or known[0] != self._watch.files:
            with self._selected(None):
                known = _files[self.inferior.num] = self._watch.files, object_files()
        return known[1]

    def dispatches(self) -> dict[str, Dispatch]:
        """Return what GDB knows of dispatches, by its names for them."""
        with self._selected(None):
            return known_dispatches()

    def _seeing(self, thread: int, space: str | None) -> Any:
        """Select a thread that has an address space in common with ``thread``: any thread for the default one."""
        return self._selected(None if space is None else thread)

    @contextmanager
    def _selected(self, index: int | None, *, innermost: bool = False) -> Iterator[None]:
        """Select a thread, or any of the process, and restore the selection at the end. Errors of GDB become `Refused`.

        The selection stays if it is the right one: GDB finds all frames anew when a thread is selected, and GDB 13 ends
        with an internal error where that happens while it runs a frame filter.
        """
        before = gdb.selected_thread()
        wanted = before if index is None and before in self.threads else self.threads[index or 0]
        frame = None
        try:
            if innermost or before is not wanted:
                frame = selected_frame() if before is not None else None
                wanted.switch()
                innermost_frame().select()
            yield
        except gdb.error as error:
            raise Refused(_one_line(error)) from None
        finally:
            if frame is not None:
                before.switch()
                if frame.is_valid():
                    frame.select()


def innermost_frame() -> Any:
    """Return the innermost frame of the selected thread as GDB has it."""
    return _asked_twice(gdb.newest_frame)


def selected_frame() -> Any:
    """Return GDB's selected frame."""
    return _asked_twice(gdb.selected_frame)


def _asked_twice(ask: Callable[[], Any]) -> Any:
    """Call ``ask`` again after an error: GDB reports an error about the caller of a frame only once."""
    try:
        return ask()
    except gdb.error:
        return ask()


def stamp_of(thread: Any) -> Any:
    """Return a stamp of the process of a thread, which differs after the process has run.

    While GDB finds out whether a breakpoint's condition holds, its threads count as running, and no event tells that
    they went on because it did not hold.
    """
    if thread.is_running():
        return object()
    inferior, seen = thread.inferior, watch()
    return seen.runs(inferior.num), seen.files, inferior.pid, inferior.threads()


def threads_of(inferior: Any) -> list[Any]:
    """Return the threads of an inferior, in the order of their numbers."""
    return sorted(inferior.threads(), key=lambda thread: thread.num)


def is_wave(thread: Any) -> bool:
    """Return whether a thread is a wave of a GPU: ROCgdb gives it the number 1, a stub the name of a wave."""
    process, light, number = thread.ptid
    return (light == 1 != process and number != 0) or _WAVE.search(thread.details or "") is not None


def name_of(thread: Any, title: re.Match[str] | None) -> str:
    """Return the name of a thread: ROCgdb's of a wave (``1:2:1:1``), the system's number of any other thread."""
    if title is not None:
        return title[1]
    process, light, number = thread.ptid
    return str(number if is_wave(thread) else light or number or process)


def place_of(title: re.Match[str] | None) -> WavePlace | None:
    """Return the work-group of a wave and its number there, if GDB tells."""
    if title is None or title[5] is None:
        return None
    x, y, z, wave = (int(title[index]) for index in range(2, 6))
    return (x, y, z), wave


def _address(space: str | None, address: int) -> Any:
    """Return an address in GDB's syntax."""
    if space is None:
        return address
    try:
        return gdb.parse_and_eval(f"{space}#{address:#x}")
    except gdb.error as error:
        why = f"this GDB does not know the address space {space}: {_one_line(error)}"
        raise Refused(why) from None


def _one_line(error: Exception) -> str:
    """Return GDB's message without the full stop at its end."""
    return " ".join(str(error).split()).removesuffix(".")
