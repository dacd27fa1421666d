# What GDB sources: gdb -x "$(python3 -m dwarfgpu gdb-script)". Any Python 3 must be able to read this file, so that it
# can say what is wrong; nothing above the check may need a newer one.
"""Makes the package importable in the Python of GDB, whichever that is, and installs it."""

import os
import sys

OLDEST = (3, 10)
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def site_packages():
    """Where packages may be that dwarfgpu uses: beside it, in an active environment, in one beside its sources."""
    yield HERE
    for place in os.environ.get("DWARFGPU_PATH", "").split(os.pathsep):
        yield place
    python = "python%d.%d" % sys.version_info[:2]
    for root in (os.environ.get("VIRTUAL_ENV", ""), os.path.join(HERE, ".venv")):
        library = os.path.join(root, "lib")
        if root and os.path.isdir(library):
            names = sorted(os.listdir(library), key=lambda name: name != python)  # that of this version first
            for name in names:
                yield os.path.join(library, name, "site-packages")


def load():
    """Import the package from where this file is, and everything else from what GDB's Python has first."""
    if sys.version_info < OLDEST:
        raise ImportError(
            "dwarfgpu needs Python %d.%d or later, and this GDB has %s" % (OLDEST + (sys.version.split()[0],))
        )
    sys.path.insert(0, HERE)
    try:
        import dwarfgpu.gdbplugin
    finally:
        sys.path.remove(HERE)
    for place in site_packages():
        if os.path.isdir(place) and place not in sys.path:
            sys.path.append(place)
    dwarfgpu.gdbplugin.install()


if __name__ == "__main__":
    load()
