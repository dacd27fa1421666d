"""Opening what a user names: an ELF file, one inside a container, or the container itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.elf.header import MAGIC
from dwarfgpu.objfile.elf.image import BYTES, Image
from dwarfgpu.objfile.place import parse_place, read_place
from dwarfgpu.regular_files import MAX_READ, read_stream

if TYPE_CHECKING:
    from dwarfgpu.objfile.containers.bundle import Container


def open_image(
    source: str | os.PathLike[str] | bytes | memoryview,
    select: str | int | None = None,
    *,
    name: str = BYTES,
    path: str | None = None,
    target_of: Callable[[Image], str | None] | None = None,
) -> Image:
    """Open an ELF file, or one inside a container.

    ``source`` is the bytes of a file, or its name: ``FILE``, ``FILE@gfx90a``, ``FILE@2`` or a code object URI.
    ``select`` is what follows the ``@``: the index of an entry of the container, or a target.
    Without it, an ELF file is opened itself, whatever it contains, and a bundle must hold a single code object.
    ``name`` is what messages call bytes, and ``path`` the file that they are from.
    ``target_of`` tells the target ID of a code object whose notes do not.
    """
    if isinstance(source, (bytes, memoryview)):
        data, start = memoryview(source), 0
    else:
        place = parse_place(os.fspath(source))
        select = place.select if select is None else select
        data, path, name, start = read_place(place), place.path, place.name, place.offset
    if select is None and data[:4] == MAGIC:
        return Image(data, name=name, path=path)
    from dwarfgpu.objfile.containers.bundle import Container

    container = Container(data, name=name, path=path, start=start, target_of=target_of)
    return container.image(container.select(select))


def open_stream(
    stream: IO[bytes], *, limit: int = MAX_READ, target_of: Callable[[Image], str | None] | None = None
) -> Image:
    """Open the ELF file that an open file holds, or one inside a container; the file stays open where it is."""
    given = getattr(stream, "name", None)
    path = given if isinstance(given, str) and os.path.isfile(given) else None
    name = path or BYTES
    position = None
    try:
        if isinstance(stream.read(0), str):
            raise UsageError(f"{name} gives text, and code is bytes", hint="open it with the mode 'rb'")
        with suppress(OSError):  # a pipe has no position
            position = stream.tell()
            stream.seek(0)
        data = read_stream(stream, name, limit)
        if position is not None:
            stream.seek(position)
    except (OSError, ValueError) as error:
        message = f"the bytes of {name} cannot be read: {error}"
        raise UsageError(message, hint="give a file that is still open") from error
    return open_image(data, name=name, path=path, target_of=target_of)


def open_container(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str = "<bytes>",
    target_of: Callable[[Image], str | None] | None = None,
) -> Container:
    """Open a file as a container; ``name`` is what messages call bytes."""
    from dwarfgpu.objfile.containers.bundle import Container

    if isinstance(source, bytes):
        return Container(memoryview(source), name=name, target_of=target_of)
    place = parse_place(os.fspath(source))
    data = read_place(place)
    return Container(data, name=place.name, path=place.path, start=place.offset, target_of=target_of)
