"""Try everything with inputs that no one means well: damaged files, and what is made from nothing.

    python3 tools/dev.py fuzz --seconds 60               all fixtures, damaged, for a minute
    python3 tools/dev.py fuzz --count 500 --seed 7       the same 500 files each time
    python3 tools/dev.py fuzz --file 'asm/*'             some of the fixtures
    python3 tools/dev.py fuzz --replay 7/123~4           what a finding said

Other inputs are those of

    --made        trees of entries in circles, snapshots, cases, scripts, command lines (--kind NAME: only these)
    --kernels     random kernels, compared with the host (--processor NAME; --jit on|forms: and with the interpreter)
    --functions   random functions of LLVM IR, compared with the host (--processor NAME)
    --running     damaged kernels and random instructions that run (--jit on|forms: compared with the interpreter)
    --cores --fleet --pages --judge --memmodel

Each question must end with an answer or with an error of dwarfgpu, within its limits. Anything else is a finding: it is
printed once, with the fewest steps that lead to it, and the exit status is 1. An input depends on its name alone. Turn
findings into small tests, built with tests/builders.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from dwarfgpu.errors import UsageError  # noqa: E402
from fuzz.frame import Drive, Run, Setting  # noqa: E402

DRIVES = {
    "made": "made", "kernels": "kernels", "functions": "functions", "running": "running", "cores": "cores",
    "fleet": "fleet", "pages": "pages", "judge": "judged", "memmodel": "memory_model",
}  # fmt: skip
"""The modules of the options."""


def names(seed: str, count: int | None, seconds: float) -> Iterator[str]:
    """Yield the names of inputs, up to a count or for some time."""
    end = time.monotonic() + seconds
    for number in itertools.count() if count is None else range(count):
        if count is None and time.monotonic() > end:
            return
        yield f"{seed}/{number}"


def main(argv: Sequence[str] | None = None) -> int:
    """Try inputs, or one again."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group()
    for word, module in DRIVES.items():
        chosen.add_argument(f"--{word}", dest="drive", action="store_const", const=module, default="files")
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    parser.add_argument("--count", type=int, metavar="N", help="try so many, however long that takes")
    parser.add_argument("--seed", default="0", help="what the inputs depend on (0)")
    parser.add_argument("--file", "--kind", "--processor", dest="only", action="append", default=[], metavar="GLOB",
                        help="only such; repeatable")  # fmt: skip
    parser.add_argument("--jit", choices=("off", "on"), default="off", help="how kernels are compiled")
    parser.add_argument("--limit", type=float, metavar="S", help="how long one question may take")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes (1)")
    parser.add_argument("--replay", metavar="NAME", help="the input of a finding")
    options = parser.parse_args(argv)
    drive: Drive = importlib.import_module(f"fuzz.{options.drive}").DRIVE
    if options.limit is not None:
        drive = drive._replace(seconds=options.limit)
    try:
        only = tuple(drive.select(options.only))
    except UsageError as error:
        parser.error(str(error))
    run = Run(drive, Setting(Path(), only, options.jit), options.jobs)
    run.all([options.replay] if options.replay else names(options.seed, options.count, options.seconds))
    seconds, question, name = run.longest
    print(f"fuzz: {sum(run.ends.values())} inputs, {len(run.times)} findings ({dict(run.ends.most_common())})")
    print(f"fuzz: the longest question, {question} of {name}, took {seconds:.2f} s")
    for key, times in run.times.most_common():
        print(f"  {times:>5} times {' in '.join(key)}")
    return 1 if run.times else 0


if __name__ == "__main__":
    sys.exit(main())
