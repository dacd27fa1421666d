"""The entry file that GDB sources: ``gdb -x "$(dwarfgpu gdb-script)"``.

It makes the package importable in GDB's Python, and installs it. Any Python since 3.6 must be able to read
this file, so that it can say what is wrong.
"""

import os
import sys

OLDEST = (3, 10)
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 (start-up time)


def site_packages(here: str) -> list:  # type: ignore[type-arg]
    """Return the folders of packages: beside dwarfgpu, in an active environment, and beside its sources."""
    folders = [here, *os.environ.get("DWARFGPU_PATH", "").split(os.pathsep)]
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for root in (os.environ.get("VIRTUAL_ENV"), f"{here}/.venv"):
        library = f"{root}/lib"
        if root and os.path.isdir(library):  # noqa: PTH112
            names = sorted(os.listdir(library), key=lambda name: name != version)  # noqa: PTH208
            folders += [f"{library}/{name}/site-packages" for name in names]
    return [folder for folder in folders if os.path.isdir(folder)]  # noqa: PTH112


def load(here: str) -> None:
    """Import the package from the folder of this file, and everything else from GDB's Python first."""
    if sys.version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ImportError(f"dwarfgpu needs Python {needed} or later, and this GDB has {sys.version.split()[0]}")
    sys.path.insert(0, here)
    try:
        import dwarfgpu.gdbplugin
    finally:
        sys.path.remove(here)
    sys.path += [place for place in site_packages(here) if place not in sys.path]
    dwarfgpu.gdbplugin.install()


if __name__ == "__main__":
    load(HERE)
