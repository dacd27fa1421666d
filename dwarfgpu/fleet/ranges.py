"""Files of other machines, of which only the ranges that are used are read.

For each there is a local file of the same size without content, at a place that its URL says. It is made when it is
first opened, and filled block by block: when something is read from it, and when something is touched in a mapping of
it. Mappings are protected, so that touching a block that is not here is a fault (SIGSEGV); the handler fetches the
block and lets the instruction go on. So an answer never sees a byte that was not fetched. What cannot be fetched is
noted, and the answer ends with that error before its next row.
"""

from __future__ import annotations

import ctypes
import io
import os
import re
import signal
import sys
import weakref
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from attrs import evolve

from dwarfgpu import regular_files
from dwarfgpu.children import folder_of_run
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from dwarfgpu.fleet.inputs import Input

FOLDER = ".dgs"
"""The end of the name of a snapshot that is a folder."""
MANIFEST = "manifest.json"
BLOCK = 1 << 16
"""The bytes that are fetched at once, at least."""
MOST = 1 << 22
"""The most that are fetched at once where blocks are used one after the other."""
LARGEST = 1 << 40
"""The most bytes of a file; the table of its blocks is then 16 MB."""
KEPT_CODE = 4
"""How many files of code stay, because states that follow each other mostly have the same."""
PROT_NONE, PROT_READ, PROT_WRITE = 0, 1, 2
SA_SIGINFO, SA_NODEFER = 4, 0x40000000
FAULT_ADDRESS = 16
"""Where the address of a fault is in a ``siginfo_t``."""
_times = count(1_000_000_000_000_000_000, 1_000_000_000)
"""The times of local files, in nanoseconds: each has its own, and that it is filled is no change of it."""


def is_url(word: str) -> bool:
    """Return whether a word is a URL of another file system, such as s3, gs or http.

    `file` is this one, and with a range (``memory://1234#offset=0x1000&size=99``) it names code in a process.
    """
    scheme, mark, rest = word.partition("://")
    return bool(mark) and scheme.isidentifier() and scheme != "file" and not (scheme == "memory" and "#" in rest)


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        hint = "`pip install '.[fleet]'` in a checkout of dwarfgpu installs it"
        raise UsageError(f"{url} needs fsspec", kind="not_installed", hint=hint) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {error}", kind="not_installed") from None
    except Exception as error:  # noqa: BLE001 (an archive is opened, and each has errors of its own)
        raise MalformedFile("unreadable", f"{url}: {_reason(error)}") from None
    return system, path


def expanded(url: str) -> Iterator[tuple[str, int]]:
    """Yield the URLs of the files that a URL, a pattern or a folder names, with their sizes where they are known."""
    system, path = file_system(url)
    with _reading(url):
        if any(letter in url.rpartition("/")[2] for letter in "*["):
            known = system.glob(path, detail=True)
        elif url.rstrip("/").endswith(FOLDER) or not url.endswith("/"):
            known = {path: _info(system, path)}
        else:
            known = dict(system.find(path, detail=True))
    if not known:
        raise UsageError(f"{url}: there are no files", kind="no_file")
    for name in sorted(_snapshots(known)):
        about = known.get(name) or {}
        yield (url if name == path else system.unstrip_protocol(name)), int(about.get("size") or 0)


def _snapshots(names: dict[str, Any]) -> set[str]:
    """Return names, in which the files of a snapshot that is a folder are that folder."""
    folders = {name.rpartition("/")[0] for name in names if name.endswith(f"/{MANIFEST}")}
    return {name for name in names if name.rpartition("/")[0] not in folders} | folders


def _info(system: Any, path: str) -> dict[str, Any]:
    """Return what is known of a file; that it is not there is what its answer says."""
    with suppress(Exception):
        return dict(system.info(path))
    return {}


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """Turn every error into one of a file that cannot be read: each file system has errors of its own."""
    try:
        yield
    except MalformedFile:
        raise
    except Exception as error:  # noqa: BLE001
        raise MalformedFile("unreadable", f"{url}: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


# --- One file ---------------------------------------------------------------------------------------------------------


class RemoteFile:
    """A file of another machine, with the local one that is filled as it is used."""

    def __init__(self, url: str, path: str) -> None:
        self.url = url
        self.path = path
        self.error: MalformedFile | None = None
        """Why a block could not be fetched."""
        self._system, self._name = file_system(url)
        with _reading(url):
            size = self._system.info(self._name).get("size")
            self.size = -1 if size is None else int(size)
        if self.size < 0:
            raise MalformedFile("unreadable", f"{url}: its size is not known", hint="copy it to this machine")
        if self.size > LARGEST:
            message = f"{url}: its server claims {self.size} bytes, and at most {LARGEST} can be read by ranges"
            raise MalformedFile("unreadable", message)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        self._time = next(_times)
        self._number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        weakref.finalize(self, os.close, self._number)
        try:
            os.truncate(self._number, self.size)
        except OSError as error:  # the file system of this machine has smaller files only
            raise MalformedFile("unreadable", f"{url}: a file of {self.size} bytes: {error.strerror}") from None
        os.utime(self._number, ns=(self._time, self._time))
        self._here = bytearray(-(-self.size // BLOCK))
        """Which blocks are here: 1 for each that is."""
        self._next = -1
        self._step = 1

    def need(self, start: int, end: int) -> None:
        """Fetch what is missing of a range, and more where blocks are used one after the other."""
        last = min(-(-end // BLOCK), len(self._here))
        index = self._here.find(0, start // BLOCK, last)
        while index >= 0:
            self._step = min(self._step * 2, MOST // BLOCK) if index == self._next else 1
            stop = max(index + self._step, min(last, index + MOST // BLOCK))
            following = self._here.find(1, index, stop)
            self._next = min(len(self._here), stop if following < 0 else following)
            self._fetch(index, self._next)
            index = self._here.find(0, self._next, last)

    def _fetch(self, first: int, stop: int) -> None:
        start, end = first * BLOCK, min(stop * BLOCK, self.size)
        with _reading(self.url):
            data = self._system.cat_file(self._name, start=start, end=end)
        if len(data) != end - start:
            message = f"{self.url}: {end - start} bytes were asked for, {len(data)} came"
            raise MalformedFile("unreadable", message, hint="its server must serve ranges, or the file has changed")
        os.pwrite(self._number, data, start)
        os.utime(self._number, ns=(self._time, self._time))
        self._here[first:stop] = b"\1" * (stop - first)

    def open(self) -> IO[bytes]:
        """Open the file; what is read is fetched first."""
        return io.BufferedReader(_FetchedFile(self), BLOCK)

    def guard(self, mapping: mmap, address: int) -> None:
        """Let a mapping of the local file, which is at an address of this process, be fetched where it is touched."""
        _faults().guard(mapping, address, self)


class _FetchedFile(io.FileIO):
    """The local file, of which each range is fetched before it is read."""

    def __init__(self, remote: RemoteFile) -> None:
        io.FileIO.__init__(self, remote.path, "rb")
        self._remote = remote

    def readinto(self, buffer: Any) -> int:
        start = self.tell()
        self._remote.need(start, min(start + len(memoryview(buffer)), self._remote.size))
        return io.FileIO.readinto(self, buffer) or 0

    def read(self, size: int | None = -1, /) -> bytes:
        return io.RawIOBase.read(self, -1 if size is None else size) or b""

    readall = io.RawIOBase.readall


# --- Faults -----------------------------------------------------------------------------------------------------------


class _Action(ctypes.Structure):
    """A ``struct sigaction`` of Linux with 64-bit pointers."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Faults:
    """The handler of faults in mappings of files that are not here: Python, called through C at the instruction."""

    def __init__(self) -> None:
        if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
            raise UsageError("files of other machines need Linux with 64 bits", hint="copy them to this machine")
        library = ctypes.CDLL(None, use_errno=True)
        self._protect = library.mprotect
        self._protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._regions: WeakKeyDictionary[mmap, tuple[int, int, RemoteFile]] = WeakKeyDictionary()
        """Of each mapping: its address, its size, and its file."""
        self._before = _Action()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._handler = kind(self._handle)
        self._action = library.sigaction
        self._action.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        mine = _Action(ctypes.cast(self._handler, ctypes.c_void_p), flags=SA_SIGINFO | SA_NODEFER)
        self._action(int(signal.SIGSEGV), ctypes.byref(mine), ctypes.byref(self._before))

    def guard(self, mapping: mmap, address: int, remote: RemoteFile) -> None:
        """Take the access to a mapping away, block by block until it is fetched."""
        self._regions[mapping] = address, len(mapping), remote
        self._protect(address, len(mapping), PROT_NONE)

    def _handle(self, number: int, information: int, _context: int) -> None:
        """Fetch the block that was touched; a fault elsewhere does what it did before."""
        place = ctypes.c_void_p.from_address(information + FAULT_ADDRESS).value or 0
        for mapping, (address, size, remote) in list(self._regions.items()):
            if address <= place < address + size:
                start = (place - address) // BLOCK * BLOCK
                try:
                    remote.need(start, start + 1)
                except BaseException as error:  # noqa: BLE001 (nothing can be raised at an instruction)
                    message = f"{remote.url}: {_reason(error)}"
                    remote.error = error if isinstance(error, MalformedFile) else MalformedFile("unreadable", message)
                access = PROT_READ if memoryview(mapping).readonly else PROT_READ | PROT_WRITE
                self._protect(address + start, min(BLOCK, size - start), access)
                return
        self._action(number, ctypes.byref(self._before), None)


@cache
def _faults() -> _Faults:
    """Return the handler, which is installed with the first mapping."""
    return _Faults()


# --- The files of an input --------------------------------------------------------------------------------------------


class _Mirror:
    """The local files of this process, in a folder in which they have the places that they have in their URLs."""

    def __init__(self) -> None:
        self.folder = str(folder_of_run())
        self.files: dict[str, RemoteFile | MalformedFile] = {}
        """The files by their local paths, the one used last at the end; an error if it cannot be had."""
        self.schemes: set[str] = set()
        """The schemes of the URLs of the input."""

    def local(self, url: str) -> str:
        """Return the local path of a URL."""
        scheme, _, rest = url.partition("://")
        self.schemes.add(scheme)
        path = os.path.normpath("/".join((self.folder, scheme, *rest.split("/"))))
        if not path.startswith(f"{self.folder}/"):
            raise MalformedFile("unreadable", f"{url}: its path leaves its server")
        return path

    def file(self, path: str, url: str | None = None) -> RemoteFile | None:
        """Return the file for which a local path stands, None for other paths; without a URL, the path says it."""
        if not path.startswith(f"{self.folder}/") or "\0" in path:
            return None
        found = self.files.pop(path, None)
        if found is None:
            scheme, _, rest = path.removeprefix(f"{self.folder}/").partition("/")
            if scheme not in self.schemes or not rest:
                return None
            try:
                found = RemoteFile(url or f"{scheme}://{rest}", path)
            except MalformedFile as error:
                found = error
        self.files[path] = found
        if isinstance(found, MalformedFile):
            raise found
        return found

    def end(self, states: list[str]) -> None:
        """Forget the files of states and those that could not be read, and all but the last files of code."""
        for path, file in list(self.files.items()):
            is_state = any(path == state or path.startswith(f"{state}/") for state in states)
            if is_state or isinstance(file, MalformedFile) or file.error is not None:
                self._drop(path)
        while len(self.files) > KEPT_CODE:
            self._drop(next(iter(self.files)))
        self.schemes.clear()

    def _drop(self, path: str) -> None:
        del self.files[path]
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108


@cache
def _mirror() -> _Mirror:
    """Return the local files of this process; from now on opening one fetches what is used of it."""
    mirror = _Mirror()
    regular_files.find_remote = mirror.file
    return mirror


@contextmanager
def fetched(item: Input) -> Iterator[Input]:
    """Give an input whose files are fetched as they are used, while the block runs, with those that they name."""
    names = [name for name in (item.code, *item.states) if name is not None]
    if not any(map(is_url, names)):
        yield item
        return
    mirror = _mirror()
    states: list[str] = []

    def here(name: str, *, is_state: bool = True) -> str:
        if not is_url(name):
            return name
        url, part = _without_part(name)
        path = mirror.local(url)
        states.extend([path] * is_state)
        if url.rstrip("/").endswith(FOLDER):
            os.makedirs(path, exist_ok=True)  # noqa: PTH103
        else:
            mirror.file(path, url)
        return path + part

    try:
        try:
            code = None if item.code is None else here(item.code, is_state=not item.states)
            local = evolve(item, code=code, states=tuple(here(name) for name in item.states))
        except DwarfGpuError as error:
            local = evolve(item, problem=error)
        yield local
    finally:
        mirror.end(states)


def _without_part(url: str) -> tuple[str, str]:
    """Return a URL, and which image in its file is meant: ``@gfx90a``."""
    folder, slash, name = url.rpartition("/")
    base, mark, part = name.partition("@")
    return f"{folder}{slash}{base}", mark + part


def check_fetched() -> None:
    """Raise the error of a block that was touched and could not be fetched."""
    for file in _mirror().files.values() if regular_files.find_remote is not None else ():
        if isinstance(file, RemoteFile) and file.error is not None:
            raise file.error


def with_urls(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which files are called by their URLs."""
    if regular_files.find_remote is None:
        return row
    folder = f"{_mirror().folder}/"
    for name, value in row.items():
        if isinstance(value, str) and folder in value:
            row[name] = re.sub(f"{re.escape(folder)}([A-Za-z0-9]+)/", r"\1://", value)
    return row
