"""Files of other machines, of which only the ranges that are used are read.

For each there is a local file of the same size without content. It is filled block by block: when something is read
from it, and when something is touched in a mapping of it. Mappings are protected, so that touching a block that is not
here is a fault (SIGSEGV); the handler fetches the block and lets the instruction go on. So an answer never sees a byte
that was not fetched. What cannot be fetched is noted, and the answer ends with that error before its next row.
"""

from __future__ import annotations

import atexit
import ctypes
import io
import json
import os
import re
import signal
import sys
import tempfile
import weakref
from collections import OrderedDict
from contextlib import contextmanager, suppress
from itertools import count
from typing import IO, TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import regular_files
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
MAP_SHARED, MAP_PRIVATE = 1, 2
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
        raise UsageError(
            f"{url} needs fsspec",
            kind="not_installed",
            hint="`pip install '.[fleet]'` in a checkout of dwarfgpu installs it",
        ) from None
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
    try:
        if any(letter in url.rpartition("/")[2] for letter in "*["):
            known = system.glob(path, detail=True)
        elif url.rstrip("/").endswith(FOLDER) or not url.endswith("/"):
            known = {path: _info(system, path)}
        else:
            known = dict(system.find(path, detail=True))
    except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
        raise MalformedFile("unreadable", f"{url}: {_reason(error)}") from None
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
        try:
            size = self._system.info(self._name).get("size")
            self.size = -1 if size is None else int(size)
        except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
            raise MalformedFile("unreadable", f"{url}: {_reason(error)}") from None
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
        """Fetch what is missing of a range."""
        last = min(-(-end // BLOCK), len(self._here))
        index = start // BLOCK
        while index < last:
            if self._here[index]:
                index += 1
                continue
            self._step = min(self._step * 2, MOST // BLOCK) if index == self._next else 1
            stop = max(index + self._step, min(last, index + MOST // BLOCK))
            following = self._here.find(1, index, stop)
            stop = min(len(self._here), stop if following < 0 else following)
            self._fetch(index, stop)
            self._next = index = stop

    def _fetch(self, first: int, stop: int) -> None:
        start, end = first * BLOCK, min(stop * BLOCK, self.size)
        try:
            data = self._system.cat_file(self._name, start=start, end=end)
        except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
            raise MalformedFile("unreadable", f"{self.url}: {_reason(error)}") from None
        if len(data) != end - start:
            message = f"{self.url}: {end - start} bytes were asked for, {len(data)} came"
            raise MalformedFile("unreadable", message, hint="its server must serve ranges, or the file has changed")
        os.pwrite(self._number, data, start)
        os.utime(self._number, ns=(self._time, self._time))
        self._here[first:stop] = b"\1" * (stop - first)

    def open(self) -> IO[bytes]:
        """Open the file; what is read is fetched first."""
        return io.BufferedReader(_Reader(self), BLOCK)

    def map(self, size: int, *, is_private: bool = False) -> memoryview:
        """Map the first bytes of the file; what is touched is fetched first."""
        if not size:
            return memoryview(b"")
        return _faults().map(self, self._number, size, is_private=is_private)


class _Reader(io.FileIO):
    """The local file, of which each range is fetched before it is read."""

    def __init__(self, remote: RemoteFile) -> None:
        io.FileIO.__init__(self, remote.path, "rb")
        self._remote = remote

    def readinto(self, buffer: Any) -> int:
        start = self.tell()
        self._remote.need(start, min(start + len(memoryview(buffer)), self._remote.size))
        return io.FileIO.readinto(self, buffer) or 0

    def readall(self) -> bytes:
        self._remote.need(self.tell(), self._remote.size)
        return io.FileIO.readall(self) or b""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return self.readall()
        self._remote.need(self.tell(), min(self.tell() + size, self._remote.size))
        return io.FileIO.read(self, size) or b""


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
        library = ctypes.CDLL(None, use_errno=True)
        self._map = library.mmap
        self._map.restype = ctypes.c_void_p
        self._map.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
        self._unmap = library.munmap
        self._unmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._protect = library.mprotect
        self._protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self._regions: dict[int, tuple[int, RemoteFile, int]] = {}
        """Of each mapping by its address: its size, its file, and how it may be used."""
        self._before = _Action()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._handler = kind(self._handle)
        self._action = library.sigaction
        self._action.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        mine = _Action(ctypes.cast(self._handler, ctypes.c_void_p), flags=SA_SIGINFO | SA_NODEFER)
        self._action(int(signal.SIGSEGV), ctypes.byref(mine), ctypes.byref(self._before))

    def map(self, remote: RemoteFile, number: int, size: int, *, is_private: bool) -> memoryview:
        """Map a file without access to it."""
        flags = MAP_PRIVATE if is_private else MAP_SHARED
        address = self._map(None, size, PROT_NONE, flags, number, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise MalformedFile("unreadable", f"{remote.url}: {os.strerror(ctypes.get_errno())}")
        self._regions[address] = size, remote, PROT_READ | (PROT_WRITE if is_private else 0)
        cells = (ctypes.c_ubyte * size).from_address(address)
        weakref.finalize(cells, self._forget, address, size)
        view = memoryview(cells).cast("B")
        return view if is_private else view.toreadonly()

    def _forget(self, address: int, size: int) -> None:
        del self._regions[address]
        self._unmap(address, size)

    def _handle(self, number: int, information: int, _context: int) -> None:
        """Fetch the block that was touched; a fault elsewhere does what it did before."""
        place = ctypes.c_void_p.from_address(information + FAULT_ADDRESS).value or 0
        for address, (size, remote, access) in list(self._regions.items()):
            if address <= place < address + size:
                start = (place - address) // BLOCK * BLOCK
                try:
                    remote.need(start, start + 1)
                except BaseException as error:  # noqa: BLE001 (nothing can be raised at an instruction)
                    message = f"{remote.url}: {_reason(error)}"
                    remote.error = error if isinstance(error, MalformedFile) else MalformedFile("unreadable", message)
                self._protect(address + start, min(BLOCK, size - start), access)
                return
        self._action(number, ctypes.byref(self._before), None)


_known_faults: list[_Faults] = []


def _faults() -> _Faults:
    """Return the handler, which is installed with the first mapping."""
    if not _known_faults:
        if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
            raise UsageError("files of other machines need Linux with 64 bits", hint="copy them to this machine")
        _known_faults.append(_Faults())
    return _known_faults[0]


# --- The files of an input --------------------------------------------------------------------------------------------


class _Mirror:
    """The local files of this process, in a folder in which they have the places that they have in their URLs."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="dwarfgpu-ranges-")
        atexit.register(self.folder.cleanup)
        self.code: OrderedDict[str, str] = OrderedDict()
        """The files of code that stay, by their local paths, the one used last at the end."""

    def local(self, url: str) -> str:
        """Return the local path of a URL."""
        scheme, _, rest = url.partition("://")
        parts = [part for part in rest.split("/") if part not in ("", ".")]
        return os.path.normpath("/".join((self.folder.name, scheme, *parts)))

    def add(self, url: str) -> str:
        """Have the file of a URL here; return its path."""
        path = self.local(url)
        if not path.startswith(f"{self.folder.name}/"):
            raise MalformedFile("unreadable", f"{url}: its path leaves its server")
        if path not in regular_files.remote_files:
            regular_files.remote_files[path] = RemoteFile(url, path)
        return path

    def drop(self, path: str) -> None:
        """Forget a file."""
        self.code.pop(path, None)
        regular_files.remote_files.pop(path, None)
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108

    def keep(self, path: str) -> None:
        """Keep a file of code for the states that follow."""
        self.code[path] = path
        self.code.move_to_end(path)


_mirrors: list[_Mirror] = []


def _mirror() -> _Mirror:
    if not _mirrors:
        _mirrors.append(_Mirror())
    return _mirrors[0]


@contextmanager
def fetched(item: Input) -> Iterator[Input]:
    """Give an input whose files are here, or are fetched as they are used, while the block runs.

    What cannot be found is left as it is; that it cannot be opened is then the answer.
    """
    names = [name for name in (item.code, *item.states) if name is not None]
    if not any(map(is_url, names)):
        yield item
        return
    mirror = _mirror()
    states: list[str] = []
    codes: list[str] = []
    problem: DwarfGpuError | None = None

    def here(name: str, paths: list[str]) -> str:
        if not is_url(name):
            return name
        url, part = _without_part(name)
        if url.rstrip("/").endswith(FOLDER):
            return _folder_here(mirror, url.rstrip("/"), states, codes)
        path = mirror.add(url)
        paths.append(path)
        if not part:
            _code_here(mirror, url, path, codes)
        return path + part

    try:
        local = item
        try:
            code = None if item.code is None else here(item.code, codes if item.states else states)
            local = evolve(item, code=code, states=tuple(here(name, states) for name in item.states))
        except DwarfGpuError as error:
            problem = error
        yield local if problem is None else evolve(item, problem=problem)
    finally:
        for path in codes:
            mirror.keep(path)
        for path in [*states, *(path for path in mirror.code if regular_files.remote_files[path].error is not None)]:
            mirror.drop(path)
        while len(mirror.code) > KEPT_CODE:
            mirror.drop(next(iter(mirror.code)))


def _without_part(url: str) -> tuple[str, str]:
    """Return a URL, and which image in its file is meant: ``@gfx90a``."""
    folder, slash, name = url.rpartition("/")
    base, mark, part = name.partition("@")
    return f"{folder}{slash}{base}", mark + part


def _code_here(mirror: _Mirror, url: str, path: str, codes: list[str]) -> None:
    """Have the files of code here that a snapshot names."""
    with regular_files.open_input(path) as file:
        if file.read(64).lstrip()[:1] != b"{":
            return
    _named_here(mirror, url.rpartition("/")[0], regular_files.read_input(path), codes)


def _named_here(mirror: _Mirror, folder: str, text: bytes, codes: list[str]) -> None:
    try:
        names = [entry["path"] for entry in json.loads(text)["code_objects"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        return  # its answer says what is wrong with it
    for name in names:
        if isinstance(name, str) and not name.startswith("/"):
            with suppress(DwarfGpuError):  # what is not there is told by who opens it
                codes.append(mirror.add(_joined(folder, _without_part(name)[0])))


def _joined(folder: str, name: str) -> str:
    """Return the URL of a path that is relative to a folder."""
    scheme, _, rest = folder.partition("://")
    return f"{scheme}://{os.path.normpath(f'{rest}/{name}')}"


def _folder_here(mirror: _Mirror, url: str, states: list[str], codes: list[str]) -> str:
    """Have the files of a snapshot here that is a folder: those that its manifest names."""
    manifest = mirror.add(f"{url}/{MANIFEST}")
    states.append(manifest)
    text = regular_files.read_input(manifest)
    with suppress(ValueError, RecursionError):
        for name in sorted(_array_names(json.loads(text))):
            with suppress(DwarfGpuError):
                states.append(mirror.add(f"{url}/{name}"))
    _named_here(mirror, url, text, codes)
    return os.path.dirname(manifest)  # noqa: PTH120


def _array_names(node: Any) -> set[str]:
    """Return the names of arrays anywhere in a manifest."""
    if isinstance(node, str):
        return {node} if node.endswith(".npy") and "/" not in node else set()
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return {name for part in parts for name in _array_names(part)}


def check_fetched() -> None:
    """Raise the error of a block that was touched and could not be fetched."""
    for remote in regular_files.remote_files.values():
        if remote.error is not None:
            raise remote.error


def with_urls(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which files are called by their URLs."""
    if not _mirrors:
        return row
    folder = f"{_mirrors[0].folder.name}/"
    for name, value in row.items():
        if isinstance(value, str) and folder in value:
            row[name] = re.sub(f"{re.escape(folder)}([A-Za-z0-9]+)/", r"\1://", value)
    return row
