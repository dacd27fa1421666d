"""A process in GDB: its threads, registers, memory and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gdb

from dwarfgpu.errors import EvaluationError
from dwarfgpu.machines.gdb.records import LoadedFile, Refused, WavePlace
from dwarfgpu.machines.machine import Dispatch

_WAVE = re.compile(r"AMDGPU Wave (\S+)(?: \((\d+),(\d+),(\d+)\)/(\d+))?")
"""``AMDGPU Wave 1:2:1:1 (0,0,0)/0``: agent, queue, dispatch and wave; the work-group, and the number in it."""
_VECTOR, _LANE_BYTES = "v0", 4
"""A register that every wave has, and how much of it each lane has."""

_files: dict[int, tuple[int, list[LoadedFile]]] = {}
"""The files of each inferior, with how many had been loaded until then."""


class GdbProcess:
    """Some threads of an inferior at the current stop, counted from 0; every access may raise `Refused`."""

    def __init__(self, inferior: Any, threads: list[Any]) -> None:
        self.inferior = inferior
        self.threads = threads
        self.numbers = {thread: number for number, thread in enumerate(threads)}
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
        """Whether the process has run since, or has ended."""
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
        """The number of writes to registers or memory."""
        return self._watch.changes

    def read_register(self, thread: int, name: str) -> int:
        with self._selected(thread):
            try:
                return number_of(self.frame().read_register(name))
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def write_register(self, thread: int, name: str, content: int) -> None:
        with self._selected(thread, innermost=True):
            self.frame().select()
            try:
                assign(name, content)
            except ValueError:
                raise Refused(f"GDB has no register {name}") from None

    def read_memory(self, thread: int, space: str | None, address: int, size: int) -> bytes:
        """Read memory in an address space, or in the default one (None)."""
        with self._seeing(thread, space):
            return bytes(self.inferior.read_memory(self._address(space, address), size))

    def write_memory(self, thread: int, space: str | None, address: int, data: bytes) -> None:
        with self._seeing(thread, space):
            self.inferior.write_memory(self._address(space, address), data)

    def _address(self, space: str | None, address: int) -> Any:
        """Return an address in GDB's syntax."""
        if space is None:
            return address
        try:
            return gdb.parse_and_eval(f"{space}#{address:#x}")
        except gdb.error as error:
            raise Refused(f"this GDB does not know the address space {space}: {_one_line(error)}") from None

    @property
    def file_changes(self) -> int:
        """The number of times that files of code were loaded or unloaded."""
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
                listed = gdb.execute(INFO_SECTIONS, to_string=True)
                found = listed_objfiles(listed, lambda: gdb.execute("info files", to_string=True))
                known = _files[self.inferior.num] = self._watch.files, found
        return known[1]

    def dispatches(self) -> dict[str, Dispatch]:
        """Return what GDB knows of dispatches, by its names for them."""
        with self._selected(None):
            try:
                text = gdb.execute(INFO_DISPATCHES, to_string=True)
            except gdb.error:  # there is no such command
                return {}
            return listed_dispatches(text)

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
        wanted = before if index is None and before in self.numbers else self.threads[index or 0]
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


class CallerProcess(GdbProcess):
    """A thread as one of its callers has it: with the registers that GDB finds for that frame."""

    def __init__(self, thread: Any, frame: Any) -> None:
        GdbProcess.__init__(self, thread.inferior, [thread])
        self._frame = frame

    def frame(self) -> Any:
        return self._frame


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
    """Return a stamp of the process of a thread, which differs after the process has run or has other threads.

    Events tell of threads, as asking GDB for two thousand of them takes milliseconds.

    While GDB finds out whether a breakpoint's condition holds, its threads count as running, and no event tells that
    they went on because it did not hold.
    """
    if thread.is_running():
        return object()
    inferior, seen = thread.inferior, watch()
    return seen.runs(inferior.num), seen.files, inferior.pid, seen.threads


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


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).removesuffix(".")


# --- Values of GDB as numbers with their bits ---------------------------------------------------------------------
# GDB 13 gives no bytes of a value, and as integers only up to 64 bits of it; as text in hexadecimal it gives
# every bit of every type. What is made of bytes is assigned through a convenience variable, for no method
# does it.

_NUMBER = re.compile(r"0x([0-9a-fA-F]+)")
_VARIABLE = "__dwarfgpu"
_UNIONS = (gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_STRUCT)
_FORMAT: dict[str, Any] = {
    "format": "x",
    "raw": True,
    "max_elements": 0,  # all of them
    "repeat_threshold": 0,  # each of them
    "symbols": False,
    "address": False,
}


def number_of(value: Any) -> int:
    """Return the bits of a value, with those of its first element lowest."""
    kind = value.type.strip_typedefs()
    if kind.code in _UNIONS:  # such as those of vector registers: one member has all the bits
        whole = [member for member in kind.fields() if member.type.sizeof == kind.sizeof]
        if not whole:
            raise Refused(f"GDB shows it as {kind}")
        return number_of(value[whole[-1]])
    text = value.format_string(**_FORMAT)
    numbers = [int(member, 16) for member in _NUMBER.findall(text)]
    inner = kind
    while inner.code == gdb.TYPE_CODE_ARRAY:
        inner = inner.target().strip_typedefs()
    count, size = kind.sizeof // inner.sizeof, inner.sizeof
    if len(numbers) != count:
        raise Refused(text if len(text) < 60 else "a part of it is not available")  # `<unavailable>`
    bits = 0
    for number in reversed(numbers):
        bits = bits << 8 * size | number
    return bits


def assign(name: str, number: int) -> None:
    """Replace the content of a register of the selected frame."""
    kind = gdb.selected_frame().read_register(name).type
    data = (number & (1 << 8 * kind.sizeof) - 1).to_bytes(kind.sizeof, byte_order())
    gdb.set_convenience_variable(_VARIABLE, gdb.Value(data, kind))
    try:
        gdb.execute(f"set variable ${name} = ${_VARIABLE}", to_string=True)
    finally:
        gdb.set_convenience_variable(_VARIABLE, None)


def byte_order() -> Any:
    """Return the byte order of the selected frame."""
    return "little" if int(gdb.Value(b"\1\0\0\0", gdb.lookup_type("int"))) == 1 else "big"


# --- The dispatches that GDB shows --------------------------------------------------------------------------------

INFO_DISPATCHES = "info dispatches"
_ROW = re.compile(
    r"AMDGPU Dispatch (\d+:\d+:(\d+)).*?\s\[(\d+),(\d+),(\d+)\]\s+\[(\d+),(\d+),(\d+)\]\s+(?:[A-Z]\S*\|\S+\s+)?(.*)$",
    re.MULTILINE,
)
"""``AMDGPU Dispatch 1:1:1 (PKID 0) [256,1,1] [128,1,1] B|Aa|Ra saxpy(int)``: grid, work-group, fence, kernel."""


def listed_dispatches(text: str) -> dict[str, Dispatch]:
    """Parse the rows of the table."""
    dispatches = {}
    for row in _ROW.finditer(text):
        numbers = [int(row[index]) for index in range(3, 9)]
        grid, group = numbers[:3], numbers[3:]
        dispatches[row[1]] = Dispatch(int(row[2]), row[9].strip() or None, _triple(grid), _triple(group))
    return dispatches


def _triple(numbers: list[int] | None) -> Any:
    return None if numbers is None else tuple(numbers)


# --- The files of code that GDB has loaded ------------------------------------------------------------------------

INFO_SECTIONS = "maintenance info sections -all-objects CODE"
_FILE = re.compile(r"\S+ file: [`'](.*)', file type .*\.$")
_SYMBOLS = re.compile(r"^Symbols from [\"`'](.*)[\"']\.$", re.MULTILINE)
_PROGRAM = re.compile(r"^Local exec file:\n\s+[`'](.*)', file type .*\.$", re.MULTILINE)
_SECTION = re.compile(r"\s*\[\d+\]\s+0x([0-9a-f]+)->0x([0-9a-f]+) at 0x[0-9a-f]+: (\S+)(.*)$")


def listed_objfiles(text: str, files: Callable[[], str]) -> list[LoadedFile]:
    """Parse the output of the commands. A file with equal sections at equal addresses has the debugging information.

    Symbols that were read from such a file by itself (``symbol-file``) hide the program, which is then added.
    """
    by_sections: dict[tuple[tuple[int, int, str], ...], list[tuple[str, bool]]] = {}
    name = ""
    sections: list[tuple[int, int, str]] = []
    has_contents = False

    def close() -> None:
        if sections:
            by_sections.setdefault(tuple(sections), []).append((name, has_contents))

    for line in text.splitlines():
        head = _FILE.match(line)
        if head is not None:
            close()
            name, sections, has_contents = head[1], [], False
            continue
        row = _SECTION.match(line)
        if row is not None and int(row[1], 16) < int(row[2], 16):
            sections.append((int(row[1], 16), int(row[2], 16), row[3]))
            has_contents = has_contents or " HAS_CONTENTS" in row[4]
    close()
    return [_joined(key, names, files) for key, names in by_sections.items()]


def _joined(
    sections: tuple[tuple[int, int, str], ...], same: list[tuple[str, bool]], files: Callable[[], str]
) -> LoadedFile:
    names = [name for name, has_contents in same if has_contents]
    if not names:
        symbols, program = _SYMBOLS.search(files()), _PROGRAM.search(files())
        is_program = symbols is not None and program is not None and symbols[1] == same[0][0]
        names = [program[1] if program is not None and is_program else same[0][0]]
    others = [name for name, _ in same if name != names[0]]
    code = tuple((low, high) for low, high, _ in sections)
    start, _, section = sections[0]
    return LoadedFile(names[0], others[0] if others else None, code, section, start)


# --- Changes of the processes of GDB ------------------------------------------------------------------------------
# An event does nothing else, so that a program that stops ten thousand times costs little.


class Watch:
    """The counters of events that make cached facts about a process outdated."""

    def __init__(self) -> None:
        self.changes = 0
        """Registers or memory were written."""
        self.files = 0
        """A file was loaded, or all were forgotten."""
        self.threads = 0
        """A thread began or has ended."""
        self._runs: dict[int, int] = {}
        self._everywhere = 0
        events = gdb.events
        for event in (events.cont, events.stop, events.exited):
            event.connect(self._moved)
        for event in (events.memory_changed, events.register_changed, events.inferior_call):
            event.connect(self._changed)
        for event in (events.new_objfile, events.clear_objfiles):
            event.connect(self._loaded)
        events.new_thread.connect(self._threaded)
        if hasattr(events, "thread_exited"):  # GDB 14
            events.thread_exited.connect(self._threaded)
        if hasattr(events, "free_objfile"):  # GDB 13
            events.free_objfile.connect(self._loaded)

    def runs(self, number: int) -> int:
        """Return how often the inferior with a number has begun to run or has stopped."""
        return self._everywhere + self._runs.get(number, 0)

    def _moved(self, event: Any) -> None:
        inferior = getattr(event, "inferior", None)
        thread = getattr(event, "inferior_thread", None)
        if thread is not None:
            inferior = thread.inferior
        if inferior is None:  # all threads, of the selected inferior or of every one
            if gdb.parameter("schedule-multiple"):
                self._everywhere += 1
                return
            inferior = gdb.selected_inferior()
        self._runs[inferior.num] = self._runs.get(inferior.num, 0) + 1

    def _changed(self, _event: Any) -> None:
        self.changes += 1

    def _threaded(self, _event: Any) -> None:
        self.threads += 1

    def _loaded(self, _event: Any) -> None:
        self.files += 1


_watch: list[Watch] = []


def watch() -> Watch:
    """Return the only watch; the first call starts it."""
    if not _watch:
        _watch.append(Watch())
    return _watch[0]
