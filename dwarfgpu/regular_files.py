"""Files that are read and written whole: regular files of a known size, and outputs that appear whole or not at all.

What a user names may be ``/dev/null``, or a pipe that another program fills (``/dev/stdin``, ``/dev/fd/63``).
Every other device and pipe is refused before it is opened for good: reading one can take all memory, or wait for
ever. A file that is too large to be read is mapped. When it shrinks under a mapping, touching the mapping ends the
process, so `check_mappings` looks for that before each question.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dwarfgpu.errors import MalformedFile, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

MAX_READ = 1 << 28
"""The most bytes that are read of a text, or of what has no size."""
MAP_FROM = 1 << 26
"""Files of this size and more are mapped into memory, smaller ones are read."""
_STEP = 1 << 20
_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")

_mappings: WeakKeyDictionary[mmap, str] = WeakKeyDictionary()


def unreadable(path: str, why: str) -> MalformedFile:
    """Return the error of an input file that cannot be read."""
    return MalformedFile("unreadable", f"{path}: {why}")


def open_input(path: str) -> IO[bytes]:
    """Open a regular file, or the pipe of a stream that the user has named; raise `MalformedFile` for anything else."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0))
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    except ValueError as error:  # a zero byte in the name
        raise UsageError(f"{path!r} is not a file name: {error}") from None
    kind = os.fstat(number).st_mode
    is_stream = stat.S_ISFIFO(kind) and path.startswith(_STREAMS)
    if stat.S_ISREG(kind) or is_stream or path == os.devnull:
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
        size = min(os.fstat(file.fileno()).st_size, limit)
    except OSError:  # a stream of a test has no file
        size = 0
    try:
        data = file.read(size + 1)  # more than its size would ask for a buffer of all that may come
        if len(data) <= size:
            return data
        parts = bytearray(data)  # it has no size, or it grows
        while len(parts) <= limit and (data := file.read(_STEP)):
            parts += data
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    if len(parts) > limit:
        raise MalformedFile("too_large", f"{name}: it has more than {limit} bytes")
    return bytes(parts)


def mapped(file: IO[bytes], size: int, path: str, *, is_private: bool = False) -> memoryview:
    """Map the first bytes of a file. Writes to a private mapping do not reach the file."""
    import mmap

    mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY if is_private else mmap.ACCESS_READ)
    _mappings[mapping] = path
    return memoryview(mapping)


def check_mappings() -> None:
    """Raise an error if a file that is mapped has become shorter since."""
    for mapping, path in list(_mappings.items()):
        if _is_short(mapping):
            message = f"{path}: the file has become shorter since it was opened"
            raise MalformedFile("changed", message, hint="open it again")


def forget_short_mappings() -> None:
    """Forget the mappings that `check_mappings` would find, because other files are looked at now."""
    for mapping in [mapping for mapping in _mappings if _is_short(mapping)]:
        del _mappings[mapping]


def _is_short(mapping: mmap) -> bool:
    try:
        return mapping.size() < len(mapping)
    except ValueError:  # it is closed
        return False


# --- Outputs ------------------------------------------------------------------------------------------------------


def check_output(path: str) -> None:
    """Raise an error if a path is none of the system: such names can be written in a script."""
    if "\0" in path:
        message = f"{path} cannot be written: the name of a file has no NUL character"
        raise UsageError(message, kind="unwritable")


@contextmanager
def whole_output(path: str, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Write a file beside its place and rename it when it is whole; whatever fails, the old file stays.

    A pipe or a device is written as it is.
    """
    check_output(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 (`pathlib` costs start-up time)
            with open(path, mode, **options) as stream:  # noqa: PTH123
                yield stream
            return
        target = os.path.realpath(path)  # a link stays a link
        passing = f"{target}.{os.getpid()}.part"
        with _removed(passing), open(passing, mode.replace("w", "x"), **options) as stream:  # noqa: PTH123
            yield stream
            stream.flush()
            with suppress(OSError):  # the permissions of the file that it replaces
                os.chmod(passing, stat.S_IMODE(os.stat(target).st_mode))  # noqa: PTH101, PTH116
            os.replace(passing, target)  # noqa: PTH105
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
                os.unlink(path)  # noqa: PTH108


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
