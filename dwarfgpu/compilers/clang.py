"""The clang that compiles kernels: where it is, what it can do, and how to get one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import DELAY, announce, begin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
_WAIT = 0.1
"""Seconds between two looks at a process that builds."""


@frozen
class Clang:
    """A clang that can compile for AMD GPUs."""

    path: str
    version: int
    banner: str
    """All that it says of its version, which is what code that it made depends on."""

    def run(self, words: Sequence[str], *, doing: str = "") -> tuple[int, str]:
        """Run it; return the exit status and what it wrote. ``doing`` is told if it takes long."""
        progress = begin(f"s: {doing}")
        told = time.monotonic() + DELAY if doing else float("inf")
        with subprocess.Popen(  # noqa: S603 (the clang of the user)
            [self.path, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
        ) as process:
            parts = []
            try:
                while True:
                    try:
                        parts.append(process.communicate(timeout=_WAIT * 10)[0])
                        break
                    except subprocess.TimeoutExpired:
                        if doing:
                            progress.advance()
                        if time.monotonic() > told:
                            announce(doing)
                            told = float("inf")
            except BaseException:
                process.kill()
                raise
            finally:
                progress.end()
        return process.returncode, b"".join(parts).decode(errors="replace")


def find_clang() -> Clang:
    """Return the clang that CLANG names, else that of ROCm, else the newest one of $PATH that knows AMD GPUs."""
    refused = []
    for path in _candidates():
        try:
            banner, targets = _about(path, Path(path).stat().st_mtime_ns)
        except (OSError, subprocess.SubprocessError):
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
    return tuple(
        subprocess.run([path, word], capture_output=True, text=True, check=True, timeout=20).stdout  # noqa: S603
        for word in ("--version", "-print-targets")
    )


def _candidates() -> Iterator[str]:
    chosen = os.environ.get("CLANG")
    newest = (f"clang-{number}" for number in range(NEWEST, OLDEST - 1, -1))
    found = map(shutil.which, [chosen] if chosen else [OF_ROCM, *newest, "clang"])
    yield from dict.fromkeys(path for path in found if path is not None)


def _install() -> str:
    system = sys.platform
    if system == "linux":
        system = "debian"
        try:
            with open("/etc/os-release", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                text = file.read()
            system = next((name for name in ("fedora", "arch") if name in text), system)
        except OSError:
            pass
    return INSTALL.get(system, INSTALL["debian"])
