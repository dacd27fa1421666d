"""The command line. `main` is the console script; the modules of the commands are imported when they run."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing `typing` would double the time of `dwarfgpu --version`
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-V"]):  # answered before anything else is imported
        from dwarfgpu import __version__

        try:
            sys.stdout.write(f"dwarfgpu {__version__}\n")
            sys.stdout.flush()
        except OSError:  # `run` meets it again, and says it in one line
            pass
        else:
            return 0
    if arguments is None:
        _spare_collections()
    from dwarfgpu.cli.run import run

    return run(words)


def _spare_collections() -> None:
    """Collect garbage seldom, and not at the end: most of what a short command makes are modules and classes."""
    import atexit
    import gc

    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
