"""How long users wait, each time as a ratio to a peer that is measured in the same run.

    python3 tools/dev.py bench               all rows
    python3 tools/dev.py bench GROUP...      the rows of some groups

A row names what a user waits for, its peer and its limit. Machines are noisy, so every figure is the best of several
rounds in turns with the peer. A missed limit is marked. The tests never look at the clock.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from bench import files, prompts, running, states  # noqa: E402
from bench.rows import NotHere, compile_all, show  # noqa: E402

GROUPS = files.GROUPS | states.GROUPS | running.GROUPS | prompts.GROUPS


def main() -> int:
    """Print the rows of some groups, or of all."""
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help=f"which rows (all): {', '.join(GROUPS)}")
    options = parser.parse_args()
    compile_all()
    missed = []
    for name in options.group or GROUPS:
        try:
            for row in GROUPS[name]():
                missed += [row.waits] * show(name, row)
        except NotHere as reason:
            print(f"{name}: not measured: {reason}", flush=True)
    print(f"\nmissed: {'; '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
