"""What other programs make of the same input, kept in the cache of the tests for later runs."""

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable
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


def built_of_text(words: Iterable[object], text: str, path: Path) -> str:
    """Let a compiler make a file of a text that includes nothing."""
    command = [*map(str, words), "-", "-o", str(path)]

    def make() -> bytes:
        subprocess.run(command, input=text.encode(), check=True, capture_output=True)
        return path.read_bytes()

    path.write_bytes(kept(make, command[0], command[1:-1], str(Path.cwd()), text))
    return str(path)


def built(words: Iterable[object], path: Path | str) -> str:
    """Let a compiler make a file of sources, which include only what the words name or what is beside it."""
    command = [*map(str, words), "-o", str(path)]
    folders = {Path(word).parent for word in command[1:-1] if Path(word).is_file()}
    sources = sorted(each for folder in folders for each in folder.iterdir() if each.suffix in (".cl", ".hip", ".h"))

    def make() -> bytes:
        subprocess.run(command, check=True, capture_output=True)
        return Path(path).read_bytes()

    contents = [hashlib.sha256(each.read_bytes()).hexdigest() for each in sources]
    Path(path).write_bytes(kept(make, command[0], command[1:-1], str(Path.cwd()), sources, contents))
    return str(path)
