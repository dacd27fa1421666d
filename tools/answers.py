#!/usr/bin/env python3
"""Ask the questions in tests/golden/answers again, write down the answers, and name those that have changed.

python3 tools/dev.py answers --golden
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]


def main() -> int:
    """Write the answers of today."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", action="store_true", required=True, help="write the golden answers")
    parser.parse_args()
    from tests.builders import frozen

    for name in frozen.names():
        for command in frozen.answer_again(name):
            print(f"{name}: {command}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
