"""dwarfgpu inside GDB. The entry file calls `install`; nothing is read before a command asks for it."""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec


def install() -> None:
    """Watch the processes of GDB, register everything that GDB can call, and report what is missing."""
    from dwarfgpu.gdbplugin import commands, parameters
    from dwarfgpu.gdbplugin.commands import LaunchedArguments, ValueFunction
    from dwarfgpu.gdbplugin.frame_filter import FrameFilter
    from dwarfgpu.machines.gdb.process import watch

    watch()
    commands.install()
    parameters.install(FrameFilter())
    LaunchedArguments()
    ValueFunction()
    report()


# --- Optional packages --------------------------------------------------------------------------------------------

OPTIONAL: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # package, its folders with compiled code, what is not possible without it
    ("numpy", ("_core", "core"), "variables are read one lane at a time, and values are lists"),
    ("msgpack", (), "the metadata of code objects is not read"),
    ("zstandard", ("",), "sections that are compressed with zstd are not read"),
)
if sys.version_info >= (3, 14):  # which has zstd itself
    OPTIONAL = OPTIONAL[:-1]


def missing() -> list[tuple[str, str, str]]:
    """Return the packages that cannot be used: the name, the reason, and what does not work without it."""
    reasons = ((name, _why_not(name, folders), meaning) for name, folders, meaning in OPTIONAL)
    return [reason for reason in reasons if reason[1]]


def _why_not(name: str, folders: tuple[str, ...]) -> str:
    spec = find_spec(name)
    if spec is None:
        return "is not installed"
    places = [os.path.join(base, folder) for base in spec.submodule_search_locations or () for folder in folders]
    files = [name for place in places if os.path.isdir(place) for name in os.listdir(place)]
    if not places or any(file[file.find(".") :] in EXTENSION_SUFFIXES for file in files):
        return ""
    return "was built for another version of Python"


def report() -> None:
    """Write one line about the packages that are missing."""
    import gdb

    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    lacks = "; ".join(f"{name} {why}: {meaning}" for name, why, meaning in missing())
    if lacks:
        gdb.write(f"dwarfgpu: GDB has Python {version}. {lacks}\n")
