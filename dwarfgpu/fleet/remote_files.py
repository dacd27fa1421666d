"""Files on other machines: each file is copied to this machine when it is opened.

The path of a copy follows from its URL, so that a snapshot finds the code that it names beside itself. A file that
cannot be copied is an error of its input.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from dwarfgpu import regular_files
from dwarfgpu.children import folder_of_run
from dwarfgpu.errors import MalformedFile, UsageError

FOLDER = ".dgs"
"""The end of the name of a snapshot that is a folder."""
MANIFEST = "manifest.json"
STEP = 1 << 22
"""How many bytes are copied at once."""
KEPT_CODE = 4
"""How many files of code stay, because states that follow each other mostly have the same."""


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
            known = {path: {}}
            with suppress(Exception):  # that it is not there is what its answer says
                known = {path: dict(system.info(path))}
        else:
            known = dict(system.find(path, detail=True))
    if not known:
        raise UsageError(f"{url}: there are no files", kind="no_file")
    folders = {name.rpartition("/")[0] for name in known if name.endswith(f"/{MANIFEST}")}
    for name in sorted({name for name in known if name.rpartition("/")[0] not in folders} | folders):
        about = known.get(name) or {}
        yield (url if name == path else system.unstrip_protocol(name)), int(about.get("size") or 0)


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


def _copy(url: str, path: str) -> None:
    """Copy a file from another machine to a path on this machine."""
    system, name = file_system(url)
    with _reading(url):
        size = system.info(name).get("size")
        if size is None:
            raise MalformedFile("unreadable", f"{url}: its size is not known", hint="copy it to this machine")
        folder = Path(path).parent
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if size > free:
            raise MalformedFile("too_large", f"{url}: its server claims {size} bytes, and {folder} has room for {free}")
        left = size
        with system.open(name, "rb") as source, Path(path).open("wb") as copy:
            while left and (data := source.read(min(STEP, left))):
                copy.write(data)
                left -= len(data)
    if left:
        raise MalformedFile("unreadable", f"{url}: {size} bytes were asked for, {size - left} came")


# --- The files of an input --------------------------------------------------------------------------------------------


class _Mirror:
    """The copies of this process, in a folder in which they have the places that they have in their URLs."""

    def __init__(self) -> None:
        self.folder = str(folder_of_run())
        self.files: dict[str, MalformedFile | None] = {}
        """The copies by path, the latest last; an error stands for a file that cannot be copied."""
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

    def bring(self, path: str, url: str | None = None) -> None:
        """Copy the file for which a local path stands, once, if it stands for one; without a URL, the path says it."""
        path = os.path.normpath(path)
        scheme, _, rest = path.removeprefix(f"{self.folder}/").partition("/")
        if not path.startswith(f"{self.folder}/") or "\0" in path or scheme not in self.schemes or not rest:
            return
        if path not in self.files:
            try:
                _copy(url or f"{scheme}://{rest}", path)
                self.files[path] = None
            except MalformedFile as error:
                self._drop(path)
                self.files[path] = error
        self.files[path] = known = self.files.pop(path)
        if known is not None:
            raise known

    def end(self, states: list[str]) -> None:
        """Forget the files of states and those that could not be read, and all but the last files of code."""
        for path, error in list(self.files.items()):
            is_state = any(path == state or path.startswith(f"{state}/") for state in states)
            if is_state or error is not None:
                self._drop(path)
        while len(self.files) > KEPT_CODE:
            self._drop(next(iter(self.files)))
        self.schemes.clear()

    def _drop(self, path: str) -> None:
        self.files.pop(path, None)
        with suppress(OSError):
            Path(path).unlink()


@cache
def mirror_of_run() -> _Mirror:
    """Return the copies of this process; from now on a file is copied when its path is opened."""
    mirror = _Mirror()
    regular_files.bring = mirror.bring
    return mirror


def with_urls(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which files are called by their URLs."""
    if regular_files.bring is None:
        return row
    folder = f"{mirror_of_run().folder}/"
    for name, value in row.items():
        if isinstance(value, str) and folder in value:
            row[name] = re.sub(f"{re.escape(folder)}([A-Za-z0-9]+)/", r"\1://", value)
    return row
