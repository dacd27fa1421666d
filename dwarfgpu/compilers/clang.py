"""The clang that compiles kernels: where it is, what it can do, and how to get one."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from dwarfgpu import progress
from dwarfgpu.children import Children, PrivateFolder
from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

OLDEST, NEWEST = 13, 24
"""The versions that are looked for by number."""
OF_ROCM = "/opt/rocm/llvm/bin/clang"
INSTALL = {
    "darwin": "brew install llvm lld, and CLANG=$(brew --prefix llvm)/bin/clang (Apple's clang knows no AMD GPUs)",
    "win32": "winget install LLVM.LLVM",
    "fedora": "dnf install clang lld",
    "arch": "pacman -S clang lld",
    "debian": "apt install clang lld",
}
"""How one gets a clang with lld, by system."""
_VERSION = re.compile(r"version (\d+)")
_LONG = 30
"""Seconds after which a user who watches is told how to end it."""


@frozen
class Clang:
    """A clang that can compile for AMD GPUs."""

    path: str
    version: int
    banner: str
    """All that it says of its version, which is what code that it made depends on."""

    def resources(self) -> str:
        """Return the folder of what clang brings along."""
        with PrivateFolder() as children:
            return children.run([self.path, "-print-resource-dir"], limit=20).stdout.decode().strip()

    def run(
        self,
        words: Sequence[str],
        children: Children,
        *,
        doing: str = "",
        takes_long: bool = False,
        limit: float = float("inf"),
    ) -> tuple[int, str]:
        """Run it; return the exit status and what it wrote; raise `TimeoutError` after ``limit`` seconds.

        A terminal shows what it is ``doing``. If that usually takes long, a line says so elsewhere.
        """
        line = progress.begin(f"s: {doing}")
        begun = time.monotonic()

        def show() -> None:
            seconds = int(time.monotonic() - begun)
            line.note = " (^C ends it)" if seconds >= _LONG else ""
            line.advance(seconds - line.done)
            if takes_long and seconds >= progress.DELAY:
                progress.announce(doing)

        try:
            done = children.run(
                [self.path, *words], limit=limit, variables={"LC_ALL": "C"}, is_merged=True, waiting=show
            )
        finally:
            line.end()
        return done.returncode, done.stdout.decode(errors="replace")


def find_clang() -> Clang:
    """Return the clang that CLANG names, else that of ROCm, else the newest one of $PATH that knows AMD GPUs."""
    refused = []
    for path in _candidates():
        try:
            banner, targets = _about(path, Path(path).stat().st_mtime_ns)
        except OSError:
            refused.append(f"{path} does not start")
            continue
        version = _VERSION.search(banner)
        if version is None or "amdgcn" not in targets:
            refused.append(f"{path} knows no AMD GPUs")
        elif int(version[1]) < OLDEST:
            refused.append(f"{path} has version {version[1]}, and {OLDEST} is the oldest that works")
        else:
            return Clang(path, int(version[1]), banner)
    chosen = os.environ.get("CLANG")
    reason = "; ".join(refused) or (f"CLANG={chosen} is not a program" if chosen else "no clang was found")
    raise UsageError(f"a kernel cannot be compiled: {reason}", kind="no_compiler", hint=f"{_install()}; or set CLANG")


@cache
def _about(path: str, _changed: int) -> tuple[str, ...]:
    """Return the version and the targets of a clang, which is asked once unless its file changes."""
    with PrivateFolder() as children:
        answers = [children.run([path, word], limit=20) for word in ("--version", "-print-targets")]
    if any(answer.returncode for answer in answers):
        raise OSError(f"{path} does not say what it is")
    return tuple(answer.stdout.decode(errors="replace") for answer in answers)


def _candidates() -> Iterator[str]:
    chosen = os.environ.get("CLANG")
    newest = (f"clang-{number}" for number in range(NEWEST, OLDEST - 1, -1))
    found = map(shutil.which, [chosen] if chosen else [OF_ROCM, *newest, "clang"])
    yield from filter(None, found)


def _install() -> str:
    system = sys.platform
    if system == "linux":
        system = "debian"
        try:
            with open("/etc/os-release", encoding="utf-8", errors="replace") as file:
                text = file.read()
            system = next((name for name in ("fedora", "arch") if name in text), system)
        except OSError:
            pass
    return INSTALL.get(system, INSTALL["debian"])
