"""The loop of fuzzers whose inputs follow from numbers: it tries them in this process, and reports what must not be."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz_limits import TooLong, limit_memory, limited_time

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Try: TypeAlias = Callable[[random.Random], object]
    """Makes one input of random numbers and asks everything about it."""

SECONDS = 5.0
"""The processor time that an input may take."""
MEMORY = 1 << 30
"""The memory that an input may take beyond what good ones do."""
WARM = 3
"""How many inputs are tried before the limit of memory counts, so that what is imported late is there."""


def main(text: str | None, begin: Callable[[Path], Try], words: Sequence[str] | None = None) -> int:
    """Try the inputs that a command line asks for; ``begin`` makes what tries one, given a folder for its files."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--seed", default="0", help="what the inputs depend on (0)")
    parser.add_argument("--replay", metavar="SEED/N", help="the input of a finding")
    options = parser.parse_args(words)
    findings: dict[str, str] = {}
    count, longest, slowest = 0, 0.0, ""
    ends = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        attempt = begin(Path(folder))
        while options.replay is None or not count:
            if time.monotonic() > ends if options.count is None else count >= options.count:
                break
            name = options.replay or f"{options.seed}/{count}"
            started = time.process_time()
            trace = tried(attempt, name)
            seconds = time.process_time() - started
            count += 1
            if seconds > longest:
                longest, slowest = seconds, name
            if trace is not None and (key := "\n".join(trace.splitlines()[-3:])) not in findings:
                findings[key] = name
                print(f"FOUND --replay {name}\n{trace}", flush=True)
            if count == WARM:
                limit_memory(MEMORY)
    print(f"fuzz: {count} inputs, {len(findings)} findings; the longest, {slowest}, took {longest:.2f} s")
    return 1 if findings else 0


def tried(attempt: Try, name: str) -> str | None:
    """Try the input with a name; return the traceback of what must not happen."""
    try:
        with suppress(DwarfGpuError), limited_time(SECONDS):
            attempt(random.Random(name))
    except (Exception, TooLong):  # noqa: BLE001 (what can happen is the question)
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    sys.exit("the fuzzers that use this loop are tools/fuzz_*.py")
