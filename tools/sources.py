"""Compile every source of kernels in folders, for several processors and levels, and say what was not compiled and why.

    python3 tools/dev.py sources FOLDER... [--targets gfx90a,gfx1100] [--levels 0,2] [-v] [-- OPTIONS OF CLANG]

The sources are those of other projects, which is why none is here. The folder of each and the folders of its includes
are searched for headers. A file that only others include has no kernel and is not counted.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from dwarfgpu.compilers import SOURCES
from dwarfgpu.compilers.sources import NotCompiled, Recipe, compile_source
from dwarfgpu.errors import DwarfGpuError

KERNEL = re.compile(r"\b(?:__)?kernel\b|\b__global__\b")
CAUSES = {
    "use of undeclared identifier": "a name that its host program defines",
    "unknown type name": "a type that its host program defines",
    "file not found": "a header that is elsewhere",
    "is called, and is not defined": "a function that the library does not have",
    "implicit declaration": "a function that nobody declares",
    "undeclared function": "a function that nobody declares",
}
"""Why files are not compiled, by what is in the message."""


def sources_in(folders: list[str]) -> list[Path]:
    """Return the files with kernels."""
    found = []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text("utf-8", "replace"), flags=re.DOTALL)
                if KERNEL.search(text):
                    found.append(path)
    return found


def why_not(path: Path, recipe: Recipe) -> str | None:
    """Return why a file is not compiled; None if it is."""
    try:
        compile_source(str(path), recipe)
    except NotCompiled as error:
        return error.message
    except DwarfGpuError as error:
        return f"{type(error).__name__}: {error.message}"
    return None


def main() -> int:
    """Compile, and print the counts."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="tools/dev.py sources", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--targets", default="gfx90a,gfx1100,gfx1200")
    parser.add_argument("--levels", default="0,2")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each file that was not compiled")
    options = parser.parse_args(words[:split])
    paths = sources_in(options.folders)
    failed = 0
    for target in options.targets.split(","):
        for level in options.levels.split(","):
            started, reasons = time.perf_counter(), {}
            for path in paths:
                recipe = Recipe(target, level, (f"-I{path.parent}", *words[split + 1 :]))
                reason = why_not(path, recipe)
                if reason is not None:
                    reasons[path] = reason
            seconds = time.perf_counter() - started
            print(
                f"{target} -O{level}: {len(paths) - len(reasons)} of {len(paths)} compiled in {seconds:.0f} s",
                flush=True,
            )
            failed += len(reasons)
            causes = Counter(
                next((text for key, text in CAUSES.items() if key in why), "other") for why in reasons.values()
            )
            for cause, count in causes.most_common():
                print(f"  {count} {cause}")
            for path, why in reasons.items() if options.verbose else ():
                print(f"    {os.path.relpath(path)}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
