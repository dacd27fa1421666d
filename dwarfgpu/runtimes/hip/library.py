"""HIP's library as programs load it."""

from __future__ import annotations

from pathlib import Path

from dwarfgpu.runtimes.doors import build_door
from dwarfgpu.runtimes.hip import (  # noqa: F401 (they declare functions)
    contexts,
    devices,
    graphs,
    lacking,
    memory,
    pointers,
    pools,
    registration,
    reservations,
    rtc,
    streams,
    textures,
)
from dwarfgpu.runtimes.hip.program import API, HipProgram

_VERSIONS = ("hip_4.2", "hip_4.3", "hip_4.4", "hip_4.5", "hip_5.0", "hip_5.1", "hip_5.2", "hip_5.3", "hip_5.5",
             "hip_5.6", *(f"hip_{major}.{minor}" for major in (6, 7) for minor in range(10)))  # fmt: skip
"""The versions of symbols that programs of ROCm 5 to 7 ask for: without one that it asks for, a program does not start."""
_NAMES = ("", ".5", ".6", ".7")
"""What follows the name of the library that programs of some version load."""
_RTC = "libhiprtc.so"
"""The library of hipRTC, which is the same one here."""


def install(folder: Path) -> None:
    """Write the library into a folder, under each name that programs load."""
    library = HipProgram.LIBRARY
    (folder / library).write_bytes(build_door(API, ("hip.c",), library, _VERSIONS))
    for name in (*(f"{library}{ending}" for ending in _NAMES[1:]), *(f"{_RTC}{ending}" for ending in _NAMES)):
        (folder / name).symlink_to(library)
