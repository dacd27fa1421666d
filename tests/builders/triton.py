"""Triton for tests: a copy from PyPI in a folder of its own, which is made once and kept beside the environments."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "triton==3.8.0" if sys.version_info < (3, 11) else "triton==3.9.0"
"""3.9 has no file for Python 3.10."""


def installed_triton(package: str = PACKAGE) -> Path | None:
    """Return the folder that Triton is in; None where it cannot be had for this Python or system."""
    cache = Path(os.environ["XDG_CACHE_HOME"])
    folder = cache / f"{package}-{sys.implementation.cache_tag}"
    if not folder.exists():
        with (cache / "triton.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():  # again: another process may have made it meanwhile
                part = folder.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)
                words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", part, package]
                if subprocess.run(words, check=False, capture_output=True).returncode:
                    return None
                shutil.rmtree(part / "triton/backends/nvidia/bin", ignore_errors=True)  # tools for other GPUs
                part.rename(folder)
    return folder
