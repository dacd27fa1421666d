"""The limits of what is fuzzed: processor time, and memory beyond what a process has already."""

from __future__ import annotations

import resource
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TooLong(BaseException):
    """A run has used up its time. No `except Exception` catches this."""


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in what is done meanwhile once it has taken so many seconds of processor time."""

    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory(size: int) -> None:
    """Allow so many bytes more than the process has now, where the system tells."""
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text("ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + size, resource.RLIM_INFINITY))
