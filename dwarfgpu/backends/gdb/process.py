"""One process of GDB: what it answers about threads, registers, memory and files."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.backends.gdb.backend import Refused
from dwarfgpu.backends.gdb.contents import assign, number_of
from dwarfgpu.backends.gdb.objfiles import ObjectFile, object_files
from dwarfgpu.backends.gdb.watch import watch

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAVE = re.compile(r"AMDGPU Wave (\S+)")


class GdbProcess:
    """Some threads of an inferior, as they stand now."""

    def __init__(self, inferior: Any, threads: list[Any]) -> None:
        self.inferior = inferior
        self.threads = threads
        self.ids = [name_of(thread) for thread in threads]
        self._watch = watch()
        self._runs = self._watch.runs(inferior.num)

    @property
    def has_moved_on(self) -> bool:
        if self._runs != self._watch.runs(self.inferior.num) or not self.inferior.is_valid():
            return True
        return not self.threads[0].is_valid()

    @property
    def changes(self) -> int:
        return self._watch.changes

    def read_register(self, thread: int, name: str) -> int:
        with self._selected(thread):
            try:
                return number_of(gdb.newest_frame().read_register(name))
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def write_register(self, thread: int, name: str, content: int) -> None:
        with self._selected(thread, innermost=True):
            try:
                assign(name, content)
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def read_memory(self, thread: int, space: str | None, address: int, size: int) -> bytes:
        with self._selected(thread):
            return bytes(self.inferior.read_memory(_address(space, address), size))

    def write_memory(self, thread: int, space: str | None, address: int, data: bytes) -> None:
        with self._selected(thread):
            self.inferior.write_memory(_address(space, address), data)

    @property
    def file_changes(self) -> int:
        return self._watch.files

    def files(self) -> list[ObjectFile]:
        with self._selected(0):
            return object_files()

    @contextmanager
    def _selected(self, index: int, *, innermost: bool = False) -> Iterator[None]:
        """Select a thread, and afterwards what was selected before. What GDB does not do is `Refused`."""
        wanted, before = self.threads[index], gdb.selected_thread()
        frame = None
        try:
            if innermost or before is not wanted:
                frame = gdb.selected_frame() if before is not None else None
                wanted.switch()
                gdb.newest_frame().select()
            yield
        except gdb.error as error:
            raise Refused(_one_line(error)) from None
        finally:
            if frame is not None:
                before.switch()
                if frame.is_valid():
                    frame.select()


def name_of(thread: Any) -> str:
    """What a thread is called: a wave as ROCgdb calls it (``1:2:1:1``), another one by its number in the system."""
    for text in (getattr(thread, "ptid_string", None), thread.details, thread.name):
        found = _WAVE.search(text or "")
        if found is not None:
            return found[1]
    process, light, number = thread.ptid
    return str(light or number or process)


def _address(space: str | None, address: int) -> Any:
    """An address as GDB takes it."""
    if space is None:
        return address
    try:
        return gdb.parse_and_eval(f"{space}#{address:#x}")
    except gdb.error as error:
        why = f"this GDB does not know the address space {space}: {_one_line(error)}"
        raise Refused(why) from None


def _one_line(error: Exception) -> str:
    """What GDB says, without the full stop at its end."""
    return " ".join(str(error).split()).removesuffix(".")
