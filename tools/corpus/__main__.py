"""`python3 tools/dev.py corpus`: see command.py."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from corpus.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
