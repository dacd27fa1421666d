"""Separate debug files: where a stripped file says that its debugging information is.

``.gnu_debuglink`` has the name of the file and the CRC-32 of its content; a build ID names it, too. Both, and the
places where the file is looked for, are GDB's ("Separate Debug Files" in its manual).
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.objfile.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.elf.image import Image

SECTION = ".gnu_debuglink"
ROOT = "/usr/lib/debug"


@frozen
class DebugLink:
    """What a stripped file says about its debug file."""

    name: str | None
    """The name in the section, without a directory."""
    crc: int | None
    build_id: str | None

    def paths(self, program: str) -> Iterator[str]:
        """Yield the paths where the debug file may be, for the program with a path."""
        if self.build_id is not None and len(self.build_id) > 2:
            yield f"{ROOT}/.build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug"
        if self.name is not None:
            folder = os.path.dirname(os.path.abspath(program))  # noqa: PTH100, PTH120 (`pathlib` costs start-up time)
            for place in (folder, f"{folder}/.debug", f"{ROOT}{folder}"):
                yield f"{place}/{self.name}"

    def is_for(self, image: Image) -> bool:
        """Return whether a file is the debug file that is meant, by its build ID or else by its content."""
        build_id = image.build_id
        if self.build_id is not None and build_id is not None:
            return build_id == self.build_id
        return self.crc is not None and zlib.crc32(image.data) == self.crc


def debug_link(image: Image) -> DebugLink | None:
    """Return what a file says about its debug file, or None if it says nothing."""
    section = image.section(SECTION)
    name, crc = None, None
    if section is not None:
        data = bytes(section.partial()[0])
        end = data.find(b"\0")
        start = (end + 4) & ~3  # the checksum is aligned
        if end > 0 and start + 4 <= len(data) and b"/" not in data[:end]:
            name, crc = decode(data[:end]), int.from_bytes(data[start : start + 4], image.byte_order)
    build_id = image.build_id
    return None if name is None and build_id is None else DebugLink(name, crc, build_id)
