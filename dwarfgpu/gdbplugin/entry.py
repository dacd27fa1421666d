"""The entry file that GDB sources, itself or through the script of `dwarfgpu gdb-script`.

It makes the package importable in GDB's Python, and installs it. Any Python since 3.6 must be able to read
this file, so that it can say what is wrong.
"""

import os
import sys

OLDEST = (3, 10)
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(here: str, packages: tuple = ()) -> None:  # type: ignore[type-arg]
    """Import dwarfgpu from its folder, and everything else from GDB's Python first, then from folders of packages."""
    if sys.version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ImportError(f"dwarfgpu needs Python {needed} or later, and this GDB has {sys.version.split()[0]}")
    sys.path.insert(0, here)
    try:
        import dwarfgpu.gdbplugin
    finally:
        sys.path.remove(here)
    for folder in (here, *os.environ.get("DWARFGPU_PATH", "").split(os.pathsep), *packages):
        if folder not in sys.path and os.path.isdir(folder):
            sys.path.append(folder)
    dwarfgpu.gdbplugin.install()


if __name__ == "__main__":
    load(HERE)
