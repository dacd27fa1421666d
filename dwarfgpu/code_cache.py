"""Code on disk, so that what was compiled once is not compiled again: blocks of kernels, and libraries for clang.

Code that is loaded runs with the rights of the user. So only files are read that the user alone can have written, and
each has the hash of what it is for and of all its bytes. A file that cannot be read or written is as one that is not
there.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dwarfgpu.children import folder_of_run

LIMIT = 1 << 28
"""The bytes of all files; the oldest go first."""
_LOOKS = 64
"""How often all files are looked at while so many bytes are written."""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MAGIC = b"dwarfgpu code 1\n"


class CodeCache:
    """A folder with files of code: one of the user's, by its name, or another."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = _users_folder(folder) if isinstance(folder, str) else folder
        if not hasattr(os, "getuid"):  # nothing says who has written a file
            self.folder = None
        self.problem = "there is no folder for it"
        """Why a file could not be written."""

    def read(self, key: bytes) -> bytes | None:
        """Return the code for a key; None if there is none that can be trusted."""
        with suppress(OSError, MemoryError), self._opened() as folder:
            file = os.open(key.hex(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            with os.fdopen(file, "rb") as opened:
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode) or about.st_uid != os.getuid() or about.st_size > LIMIT:
                    return None
                content = opened.read(LIMIT)
                with suppress(OSError):
                    os.utime(file)
            head, code = content[: len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
            return code if head == _MAGIC + _digest(key, code) else None
        return None

    def write(self, key: bytes, code: bytes) -> None:
        """Keep code, if it can be kept."""
        self.keep(key.hex(), _MAGIC + _digest(key, code) + code)

    def has(self, path: str) -> bool:
        """Return whether a file is in the folder, or in that of this run."""
        folders = (self.folder, folder_of_run() if folder_of_run.cache_info().currsize else None)
        parent = Path(path).resolve().parent
        return any(folder is not None and parent == folder.resolve() for folder in folders)

    def keep(self, name: str, content: bytes) -> Path | None:
        """Write a file, whole or not at all; return where it is, or None if it cannot be written."""
        if self.folder is None:
            return None
        part = f".{name}.{os.getpid()}.{threading.get_ident()}"
        try:
            for each in (self.folder.parent.parent, self.folder.parent, self.folder):
                each.mkdir(0o700, parents=True, exist_ok=True)
            with self._opened() as folder:
                file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
                try:
                    with os.fdopen(file, "wb") as opened:
                        opened.write(content)
                    os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    os.unlink(part, dir_fd=folder)
                    raise
                if time.time_ns() % LIMIT < _LOOKS * len(content):  # by chance, so that no process keeps a count
                    _remove_oldest(folder)
                return self.folder / name
        except (OSError, MemoryError) as error:
            self.problem = f"{self.folder}: {getattr(error, 'strerror', None) or 'others could write there, too'}"
        return None

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the folder; raise an error if somebody else could have written what is in it."""
        if self.folder is None:
            raise FileNotFoundError
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            about = os.fstat(folder)
            is_safe = about.st_uid == os.getuid() and not about.st_mode & _OTHERS
            if not is_safe or any(_is_open(parent.stat()) for parent in [*self.folder.parents][:2]):
                raise PermissionError(self.folder)
            yield folder
        finally:
            os.close(folder)


def _users_folder(name: str) -> Path | None:
    """Return a folder in the cache of the user; None if the user has none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return cache.expanduser() / "dwarfgpu" / name
    except RuntimeError:  # there is no home
        return None


def _is_open(about: os.stat_result) -> bool:
    """Return whether another user could put another folder into a folder."""
    return about.st_uid not in (0, os.getuid()) or bool(about.st_mode & _OTHERS and not about.st_mode & stat.S_ISVTX)


def _digest(key: bytes, code: bytes) -> bytes:
    return hashlib.sha256(key + code).digest()


def _remove_oldest(folder: int) -> None:
    """Remove the files that were not used for longest, until half of the limit is free."""
    files = []
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # another process has removed it
            about = os.stat(name, dir_fd=folder, follow_symlinks=False)
            files.append((about.st_mtime_ns, about.st_size, name))
    total = sum(size for _time, size, _name in files)
    if total <= LIMIT:
        return
    for _time, size, name in sorted(files):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
            total -= size
        if total <= LIMIT // 2:
            break
