"""What other programs make of the same input, kept in the cache of the tests for later runs."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path


def kept(make: Callable[[], bytes], program: str, *given: object) -> bytes:
    """What a program makes of what it is given, which is all that the result depends on."""
    known = os.stat(program)
    key = hashlib.sha256(
        repr((os.path.realpath(program), known.st_size, known.st_mtime_ns, given)).encode()
    ).hexdigest()
    path = Path(os.environ["XDG_CACHE_HOME"], "made-in-tests", key)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        made = make()
    path.parent.mkdir(exist_ok=True)
    own = path.with_name(f"{key}.{os.getpid()}")
    own.write_bytes(made)
    own.replace(path)
    return made


@cache
def content_of(*folders: Path) -> str:
    """The hash of all that is in some folders."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"".join(f"{path}\\0".encode() + path.read_bytes() for path in files)).hexdigest()
