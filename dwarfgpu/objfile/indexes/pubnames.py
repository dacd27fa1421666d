"""``.debug_pubnames`` and ``.debug_pubtypes``: the indices of names before version 5 (DWARF 4 section 6.1.1).

The sections of GNU (``.debug_gnu_pubnames``, ``.debug_gnu_pubtypes``) have a byte of flags before each name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import MalformedFile, Unsupported
from dwarfgpu.objfile.contributions import each_contribution, initial_length
from dwarfgpu.objfile.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.errors import DwarfGpuError

SPEC = "DWARF 4, 6.1.1"

_GNU_KINDS = ("none", "type", "variable", "function", "other")


@frozen
class PublicName:
    """One name."""

    die_offset: int
    """The offset of the entry, counted from the header of its unit."""
    name: str
    kind: str | None = None
    """What it is, where GNU's flags say so: ``type``, ``variable``, ``function`` or ``other``."""
    is_static: bool | None = None


@frozen
class PublicNames:
    """The names of one unit. Some may be missing when there is an ``error``."""

    offset: int
    end: int
    unit: int
    """The offset of the unit's header in ``.debug_info``."""
    unit_size: int
    names: tuple[PublicName, ...]
    error: DwarfGpuError | None = None


def read_public_names(
    data: bytes, byte_order: ByteOrder, section: str
) -> Iterator[PublicNames | DwarfGpuError]:
    """All sets of a section; for one that cannot be read its error, and then the next one."""
    return each_contribution(
        data, byte_order, lambda start: _read_set(data, start, byte_order, section), lambda found: found.end
    )


def _read_set(data: bytes, start: int, byte_order: ByteOrder, section: str) -> PublicNames:
    cursor = Cursor(data, start, byte_order=byte_order, error=MalformedFile, section=section)
    length, offset_size = initial_length(cursor)
    if length > cursor.remaining:
        message = f"a set of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, SPEC, start)
    cursor.end = cursor.position + length
    version = cursor.unsigned(2)
    if version != 2:
        error = Unsupported("bad_version", f"version {version} of public names is not known", spec=SPEC)
        raise error.at(section=section, offset=start)
    unit, unit_size = cursor.unsigned(offset_size), cursor.unsigned(offset_size)
    names: list[PublicName] = []
    problem = None
    try:
        while offset := cursor.unsigned(offset_size):
            flags = cursor.unsigned(1) if section.startswith(".debug_gnu_") else None
            names.append(_name(offset, cursor, flags))
    except MalformedFile as error:
        problem = error.at(section=section, offset=cursor.position)
    return PublicNames(start, cursor.end, unit, unit_size, tuple(names), problem)


def _name(offset: int, cursor: Cursor, flags: int | None) -> PublicName:
    """A name; bits 4 to 6 of GNU's flags are a kind, bit 7 is set for what is static (GDB, "Index Section Format")."""
    end = cursor.data.find(b"\0", cursor.position, cursor.end)
    if end < 0:
        raise cursor.fail("truncated", "a name has no end", SPEC)
    text = decode(cursor.bytes(end + 1 - cursor.position)[:-1])
    if flags is None:
        return PublicName(offset, text)
    kind = flags >> 4 & 7
    return PublicName(
        offset, text, _GNU_KINDS[kind] if kind < len(_GNU_KINDS) else f"kind {kind}", bool(flags & 0x80)
    )
