"""The main job on a shipped example: a stopped wave whose lanes have gone different ways, and its variables."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "docs/examples/variables.json"
STEPS = (
    (
        "A wave of 64 lanes stopped inside two nested branches. Where is each of its lanes?",
        f"lanes {FILE} --state {STATE} --group",
    ),
    ("The variable `even` in all of them, and where lane 2 keeps it:", f"eval {FILE} even --state {STATE}"),
    (None, f"eval {FILE} even --lane 2 --location --state {STATE}"),
    ("Why is `unused` not there?", f"eval {FILE} unused --lane 2 --state {STATE}"),
)


def main() -> int:
    """Run the steps."""
    for number, (text, command) in enumerate(STEPS):
        if text is not None:
            print(f"\n{text}" if number else text, flush=True)
        subprocess.run([sys.executable, "-m", "dwarfgpu", *shlex.split(command)], cwd=ROOT, check=False)
    print("docs/tutorial.md goes on from here; docs/variables.md has these commands.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
