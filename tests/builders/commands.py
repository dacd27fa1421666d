"""The command line in this process: many questions for the price of one start.

What only a process of its own shows, such as closed pipes and what is imported, is tested with one.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from dwarfgpu.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """What ``dwarfgpu WORDS...`` prints when it is started in the checkout, and with which status it ends."""
    out, err = io.BytesIO(), io.BytesIO()
    with _in_the_checkout(env or {}), _streams(stdin, out, err):
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue().decode(), err.getvalue().decode())


@contextlib.contextmanager
def _in_the_checkout(env: dict[str, str]) -> Iterator[None]:
    before = Path.cwd()
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    os.chdir(ROOT)
    try:
        with mock.patch.dict(os.environ, {**plain, "COLUMNS": "80", **env}, clear=True):
            yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _streams(stdin: bytes, out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    """Standard streams as those of a process whose output goes into pipes."""
    read = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    written = [io.TextIOWrapper(each, "utf-8") for each in (out, err)]
    with (
        mock.patch("sys.stdin", read),
        contextlib.redirect_stdout(written[0]),
        contextlib.redirect_stderr(written[1]),
    ):
        yield
    for each in written:
        each.flush()
        each.detach()
