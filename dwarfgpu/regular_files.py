"""Files that are read and written whole: regular files of a known size, and outputs that appear whole or not at all.

What a user names may be ``/dev/null``, or a pipe that another program fills (``/dev/stdin``, ``/dev/fd/63``).
Every other device and pipe is refused before it is opened for good: reading one can take all memory, or wait for
ever. A file that is too large to be read is mapped. Whether it has changed is checked before and after each question
(`check_mappings`), and one that shrinks meanwhile does not end the process.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dwarfgpu.errors import MalformedFile, MissingFile, UsageError

if TYPE_CHECKING:
    from mmap import mmap

MAX_READ = 1 << 28
"""The most bytes that are read of a text, or of what has no size."""
MAP_FROM = 1 << 24
"""Files of this size and more are mapped into memory, because reading all of them takes over 10 ms."""
CHANGED = "changed"
"""The kind of the error of a file that changes while it is read: nothing else that it seems to lack counts."""
_STEP = 1 << 20
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):  # as far as the system has them
    _FLAGS |= getattr(os, _name, 0)
_MOST_LINKS = 40
_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")

bring: Callable[[str], None] | None = None
"""What copies a file of another machine to a path that stands for it, before that path is opened."""


def is_there(path: str) -> bool:
    """Return whether a file is there, or can be had from another machine."""
    with suppress(MalformedFile):
        if bring is not None:
            bring(path)
    return os.path.exists(path)  # `pathlib` raises where a name is too long


def unreadable(path: str, why: str) -> MalformedFile:
    """Return the error of an input file that cannot be read."""
    return MalformedFile("unreadable", f"{path}: {why}")


def open_input(path: str) -> IO[bytes]:
    """Open a regular file, or the pipe of a stream that the user has named; raise `MalformedFile` for anything else."""
    if bring is not None:
        bring(path)
    try:
        number = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        raise MissingFile("unreadable", f"{path}: {error.strerror}") from None
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    except ValueError as error:  # a zero byte in the name
        raise UsageError(f"{path!r} is not a file name: {error}") from None
    kind = os.fstat(number).st_mode
    is_stream = stat.S_ISFIFO(kind) and path.startswith(_STREAMS)
    if stat.S_ISREG(kind) or is_stream or path == os.devnull:
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(number, True)
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(kind):
        raise unreadable(path, "Is a directory")
    what = "a pipe" if stat.S_ISFIFO(kind) else "a device" if stat.S_ISCHR(kind) or stat.S_ISBLK(kind) else "a socket"
    raise unreadable(path, f"it is {what}, not a regular file")


def read_input(path: str, limit: int = MAX_READ) -> bytes:
    """Return the bytes of a file; raise `MalformedFile` if there are more than a limit."""
    with open_input(path) as file:
        return read_stream(file, path, limit)


def read_stream(file: IO[bytes], name: str, limit: int = MAX_READ) -> bytes:
    """Return the bytes of an open file or pipe; raise `MalformedFile` if there are more than a limit."""
    try:
        state = os.fstat(file.fileno())
        size = min(state.st_size, limit)
    except (AttributeError, OSError):  # bytes in memory have no file
        state, size = None, 0
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_size > limit:
        raise MalformedFile("too_large", f"{name}: it has {state.st_size} bytes, more than {limit}")
    try:
        data = file.read(size + 1)  # more than its size would ask for a buffer of all that may come
        if len(data) <= size:
            if state is not None and stat.S_ISREG(state.st_mode):
                now = os.fstat(file.fileno())
                if (now.st_size, now.st_mtime_ns) != (state.st_size, state.st_mtime_ns):
                    raise MalformedFile(CHANGED, f"{name}: the file has changed while it was read")
            return data
        parts = bytearray(data)  # it has no size, or it grows
        while len(parts) <= limit and (data := file.read(_STEP)):
            parts += data
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    if len(parts) > limit:
        raise MalformedFile("too_large", f"{name}: it has more than {limit} bytes")
    return bytes(parts)


# --- Mapped files -------------------------------------------------------------------------------------------------
# Touching a page of a mapping that its file does not have any more raises SIGBUS, which ends a process. A handler puts
# pages of zeros there, so that the instruction goes on, and says so in `lost`: nothing more is written or read then.

lost = ""
"""The file that had become shorter when something in it was read; empty if there is none."""


class _Mapped:
    """What is known of a mapping."""

    def __init__(self, path: str, state: os.stat_result, address: int) -> None:
        self.path = path
        self.stamp = state.st_size, state.st_mtime_ns
        self.identity = state.st_dev, state.st_ino
        self.address = address
        """Where it is in memory; 0 where it is not guarded."""
        self.is_forgotten = False
        """Whether its changes no longer matter."""


_mappings: WeakKeyDictionary[mmap, _Mapped] = WeakKeyDictionary()
_guard: Any = None
"""What handles SIGBUS, once there is a mapping."""


def mapped(file: IO[bytes], size: int, path: str, *, is_private: bool = False) -> memoryview:
    """Map the first bytes of a file. Writes to a private mapping do not reach the file."""
    import mmap

    mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY if is_private else mmap.ACCESS_READ)
    watch(mapping, file.fileno(), path)
    return memoryview(mapping)


def watch(mapping: mmap, number: int, path: str) -> None:
    """Look from now on whether the file of a mapping changes, which is open as a number."""
    address = 0
    if sys.platform == "linux":
        global _guard  # noqa: PLW0603 (a process has one handler of a signal)
        if _guard is None:
            _guard = _Guard()
        address = _guard.address_of(mapping)
    _mappings[mapping] = _Mapped(path, os.fstat(number), address)


class _Guard:
    """The handler of SIGBUS, in C because Python handles a signal only after the instruction that raised it."""

    def __init__(self) -> None:
        import ctypes
        import mmap
        import signal

        self._number = int(signal.SIGBUS)
        self._page = mmap.PAGESIZE
        self._options = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
        self._ctypes = ctypes
        library = ctypes.CDLL(None)
        self._map, self._signal = library.mmap, library.signal
        self._map.restype, self._signal.restype = ctypes.c_void_p, ctypes.c_void_p
        sizes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
        self._map.argtypes, self._signal.argtypes = sizes, (ctypes.c_int, ctypes.c_void_p)
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._replace)
        self._before = self._signal(self._number, ctypes.cast(self._handler, ctypes.c_void_p))

    def address_of(self, mapping: mmap) -> int:
        """Return where a mapping is in memory."""
        ctypes = self._ctypes
        buffer = (ctypes.c_void_p * 32)()  # a Py_buffer begins with the address, and is smaller than this
        call = ctypes.pythonapi.PyObject_GetBuffer
        call.argtypes = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
        call(mapping, ctypes.byref(buffer), 0)
        address = int(buffer[0] or 0)
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
        return address

    def _replace(self, _number: int) -> None:
        """Put zeros where files have become shorter; a signal for another reason does what it did before."""
        global lost  # noqa: PLW0603 (the file that is lost)
        is_ours = False
        for mapping, record in list(_mappings.items()):
            try:
                size = mapping.size()
            except ValueError:  # it is closed
                continue
            begin, end = -(-size // self._page) * self._page, len(mapping)
            if record.address and begin < end:
                is_ours = self._map(record.address + begin, end - begin, *self._options, -1, 0) is not None
                lost = lost if record.is_forgotten else record.path
        if not is_ours:
            self._signal(self._number, self._before)


def check_lost() -> None:
    """Raise an error if something was read that a file does not have any more."""
    if lost:
        raise _changed(lost, "has become shorter")


def check_mappings() -> None:
    """Raise an error if a file that is mapped has changed since."""
    check_lost()
    for mapping, record in list(_mappings.items()):
        what = "" if record.is_forgotten else _change_of(mapping, record)
        if what:
            raise _changed(record.path, what)


def open_anew() -> None:
    """Let files be opened although one is lost; `check_mappings` still finds that it has become shorter."""
    global lost  # noqa: PLW0603 (the file that is lost)
    lost = ""


def forget_changed_mappings() -> None:
    """Forget the mappings that `check_mappings` would find, because other files are read now."""
    open_anew()
    for mapping, record in list(_mappings.items()):
        record.is_forgotten |= bool(_change_of(mapping, record))


def places_of(path: str, moved: Mapping[str, str]) -> Iterator[str]:
    """Yield where a file may be that another machine has at a path, the likeliest place first.

    ``moved`` has for the beginnings of paths what is there instead; a root of the other machine is the rule for ``/``.
    """
    for start in sorted(moved, key=len, reverse=True):
        rest = path.removeprefix(start)
        if path.startswith(start) and (not rest or rest[0] == "/" or start.endswith("/")):
            yield moved[start] + rest
    yield path


def _change_of(mapping: mmap, record: _Mapped) -> str:
    try:
        if mapping.size() < len(mapping):
            return "has become shorter"
        state = os.stat(record.path)
    except (ValueError, OSError):  # it is closed, or the file has another name now, and is the same
        return ""
    is_same = (state.st_dev, state.st_ino) == record.identity
    return "has changed" if is_same and (state.st_size, state.st_mtime_ns) != record.stamp else ""


def _changed(path: str, what: str) -> MalformedFile:
    return MalformedFile(CHANGED, f"{path}: the file {what} since it was opened", hint="open it again")


def check_output(path: str) -> str:
    """Return where the links in a path lead; raise an error if the path must not be written.

    Where everybody may make files, as in /tmp, a link must belong to this user or to the owner of the folder, as Linux
    has it for ``fs.protected_symlinks``: others could choose which file is replaced.
    """
    if "\0" in path:  # any text can be written in a script
        raise UsageError(f"{path} cannot be written: the name of a file has no NUL character", kind="unwritable")
    if sys.platform == "win32":
        return os.path.realpath(path)
    place, names, links = "/" if path.startswith("/") else ".", path.split("/"), 0
    while names:
        name = names.pop(0)
        at = os.path.normpath(os.path.join(place, name))
        try:
            link = os.readlink(at)
        except OSError:  # it is none
            place = at
            continue
        owner, folder = os.lstat(at).st_uid, os.stat(place)
        is_open = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if is_open and owner not in (os.getuid(), folder.st_uid):
            message = f"{path} is not written: another user has made the link {at}, to {link}"
            raise UsageError(message, kind="unwritable", hint="choose another name")
        place, names, links = "/" if link.startswith("/") else place, link.split("/") + names, links + 1
        if links > _MOST_LINKS:
            raise UsageError(f"{path} cannot be written: {os.strerror(errno.ELOOP)}", kind="unwritable")
    return place


class OnlyWrites:
    """A stream that can only be written: to a file numpy writes itself, and then it does not know why that fails."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.write = stream.write


@contextmanager
def whole_output(path: str, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Write a file beside its place and rename it when it is whole; a pipe or a device is written as it is."""
    target = check_output(path)  # a link stays a link
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, mode, **options) as stream:
                yield stream
            return
        passing = f"{target}.{os.getpid()}.part"
        with _removed(passing), open(passing, mode.replace("w", "x"), **options) as stream:
            yield stream
            check_lost()
            stream.flush()
            with suppress(OSError):  # the permissions of the file that it replaces
                os.chmod(passing, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(passing, target)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", kind="unwritable") from None


@contextmanager
def _removed(path: str) -> Iterator[None]:
    """Remove a file at the end if it is still there, also when a signal ends the process."""
    with signals_raise():
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(path)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Have the signals that end a process raise `SystemExit` meanwhile, so that what is half made is removed."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {}
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
