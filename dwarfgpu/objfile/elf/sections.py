"""Sections: what the file holds for each, and what that means once it is decompressed and relocated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf import header as elf

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image


FLAG_LETTERS = (
    (0x1, "W"), (0x2, "A"), (0x4, "X"), (0x10, "M"), (0x20, "S"), (0x40, "I"), (0x80, "L"), (0x100, "O"),
    (0x200, "G"), (0x400, "T"), (0x800, "C"), (0x80000000, "E"),
)  # fmt: skip


class Section:
    """One section of an image. Its content is read on first use."""

    __slots__ = (
        "_data", "_image", "_stream", "address", "flags", "header", "index", "moved", "name", "offset", "size", "type",
    )  # fmt: skip

    def __init__(self, image: Image, index: int, name: str, header: elf.SectionHeader) -> None:
        self._image = image
        self._data: bytes | None = None
        self._stream: Stream | None = None
        self.index = index
        self.name = name
        self.header = header
        self.type = header.type
        self.flags = header.flags
        self.address = header.address
        self.moved = 0
        """How far it is behind the address that the file gives it and other sections."""
        self.offset = header.offset
        self.size = header.size
        """The bytes it has in the file, or would have in memory if the file holds none."""

    def __repr__(self) -> str:
        return f"Section({self.name!r}, index={self.index})"

    @property
    def type_name(self) -> str:
        """The type's name without ``SHT_``."""
        return elf.SECTION_TYPES.get(self.type, f"{self.type:#x}")

    @property
    def flag_letters(self) -> str:
        """The flags as readelf writes them; p for those of the processor, o for those of the OS, x for others."""
        flags = self.flags
        letters = ""
        for bit, letter in FLAG_LETTERS:
            if flags & bit:
                letters += letter
                flags &= ~bit
        groups = ((0x0FF00000, "o"), (0x70000000, "p"))
        letters += "".join(letter for mask, letter in groups if flags & mask)
        return letters + ("x" if flags & ~0x7FF00000 else "")

    @property
    def symbol_base(self) -> int:
        """What the values of its symbols count from: in a file that is not linked they are offsets."""
        return self.moved if self._image.type == elf.ET_REL else self.address

    @property
    def is_allocated(self) -> bool:
        """Whether it is part of the running program."""
        return bool(self.flags & elf.SHF_ALLOC)

    @property
    def is_amdgpu(self) -> bool:
        return self._image.machine == elf.EM_AMDGPU

    @property
    def raw(self) -> memoryview:
        """The bytes of the file, neither decompressed nor relocated."""
        if self.type == elf.SHT_NOBITS:
            return memoryview(b"")
        start, size, data = self.offset, self.size, self._image.data
        if start + size > len(data):
            there = max(0, len(data) - start)
            message = f"section {self.name} needs {size} bytes at {start:#x} of the file, {there} are left"
            spec = 'gABI, "Sections"'
            raise elf.malformed(self._image.name, "truncated", message, section=self.name, offset=there, spec=spec)
        return data[start : start + size]

    @property
    def data(self) -> bytes:
        """The content: decompressed, and relocated if the file is not linked. Kept until ``release``."""
        if self._data is None:
            self._data = self._read()
        return self._data

    @property
    def view(self) -> memoryview:
        """The same content without a copy, where the file holds it as it is."""
        if self._data is None and self.compression is None and not self._image.relocation_sections(self.index):
            return self.raw
        return memoryview(self.data)

    @property
    def compression(self) -> str | None:
        """``zlib``, ``zstd`` or ``zlib-gnu``; None for a section that is not compressed."""
        stream = self._compressed()
        return None if stream is None else "zlib-gnu" if stream.gnu else stream.method

    @property
    def data_size(self) -> int:
        """The bytes that ``data`` has, without reading them."""
        if self.type == elf.SHT_NOBITS:
            return 0
        stream = self._compressed()
        return self.size if stream is None else stream.size

    def partial(self) -> tuple[memoryview, DwarfGpuError | None]:
        """Return the content as far as it can be read, without a copy if possible, and why there is no more.

        What a truncated file holds of a section is shown if it is neither compressed nor relocated.
        """
        try:
            return self.view, None
        except DwarfGpuError as error:
            start = self.offset
            plain = not self.flags & elf.SHF_COMPRESSED and not self.name.startswith(".zdebug")
            if error.kind != "truncated" or not plain or self._image.relocation_sections(self.index):
                return memoryview(b""), error
            return self._image.data[start : start + self.size], error

    def release(self) -> None:
        """Free the memory of ``data``; it is made again if it is needed later."""
        self._data = None

    def _compressed(self) -> Stream | None:
        gnu = self.name.startswith(".zdebug_")
        if not (gnu or self.flags & elf.SHF_COMPRESSED) or self.type == elf.SHT_NOBITS:
            return None
        if self._stream is None:
            image = self._image
            gnu = gnu and not self.flags & elf.SHF_COMPRESSED
            self._stream = section_stream(self.raw, image.layout, gnu=gnu, file=image.name, section=self.name)
        return self._stream

    def decompressed(self) -> bytes:
        """Return the content without its relocations applied.

        Symbol tables and relocations themselves are read from this.
        """
        raw = self.raw
        stream = self._compressed()
        if stream is None:
            return bytes(raw)
        return decompress(raw[stream.start :], stream.method, stream.size, file=self._image.name, section=self.name)

    def _read(self) -> bytes:
        data = self.decompressed()
        sources = self._image.relocation_sections(self.index)
        if not sources or not data:
            return data
        from dwarfgpu.objfile.elf.relocation import relocate

        image = self._image
        if sum(source.size for source in sources) > len(image.data):
            message = f"the relocations of {self.name} overlap: they have more bytes than the file"
            raise elf.malformed(image.name, "too_large", message, section=self.name, spec='gABI, "Relocation"')
        changed = bytearray(data)
        for source in sources:
            relocate(changed, self, source, image)
        return bytes(changed)


def joined(image: Image, name: str, parts: Iterable[bytes | memoryview]) -> bytes | memoryview:
    """Return the contents of the sections with a name, joined in their order.

    Section headers may lead to the same bytes again and again, so the whole has a limit as a stream has.
    """
    limit = most_of(len(image.data))
    contents: list[bytes | memoryview] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > limit and contents:
            message = f"the sections {name} have more than {limit} bytes together"
            raise elf.malformed(image.name, "too_large", message, section=name, spec='gABI, "Sections"')
        contents.append(part)
    return contents[0] if len(contents) == 1 else b"".join(contents)


# --- Compressed sections and bundles ------------------------------------------------------------------------------
# gABI, "Compression" (``SHF_COMPRESSED``: a header, then a stream) and the older GNU form (``.zdebug_*``:
# ``ZLIB``, the size as 8 big-endian bytes, then a zlib stream). Offload bundles use the same two methods.

METHODS = {1: "zlib", 2: "zstd"}  # ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD
GNU_MAGIC = b"ZLIB"
GNU_HEADER_SIZE = 12
SPEC = 'gABI, "Compression"'

FREE_SIZE = 16 << 20
"""The decompressed size that is always accepted."""
MAX_RATIO = 250
"""How many times the size of the stream a larger content may be. Debug information gets 3 to 10 times smaller."""
MAX_SIZE = 1 << 30
"""The largest decompressed size."""
ZSTD_MAX_WINDOW = 1 << 27

_ZSTD_HINT = "install the package zstandard, or use Python 3.14 or later"


@frozen
class Stream:
    """A compressed stream: how it is compressed, where it begins, and the size it should have afterwards."""

    method: str
    size: int
    start: int
    gnu: bool = False
    """Whether the header is the old GNU one."""


def section_stream(raw: memoryview, layout: elf.ElfLayout, *, gnu: bool, file: str, section: str) -> Stream:
    """Read the header of a compressed section. ``gnu`` says whether it is the one of ``.zdebug_*``."""
    if gnu:
        if len(raw) < GNU_HEADER_SIZE or raw[:4] != GNU_MAGIC:
            message = "a .zdebug section does not begin with ZLIB and a size"
            raise elf.malformed(file, "bad_compression", message, section=section, offset=0, spec="GNU .zdebug")
        return Stream("zlib", int.from_bytes(raw[4:12], "big"), GNU_HEADER_SIZE, gnu=True)
    header = layout.compression
    if len(raw) < header.size:
        message = f"a compression header needs {header.size} bytes, {len(raw)} are left"
        raise elf.malformed(file, "truncated", message, section=section, offset=0, spec=SPEC)
    fields = header.unpack_from(raw)
    method = METHODS.get(fields[0])
    if method is None:
        message = f"compression type {fields[0]} is not known"
        raise elf.malformed(file, "bad_compression", message, section=section, offset=0, spec=SPEC)
    return Stream(method, fields[-2], header.size)


def most_of(size: int) -> int:
    """Return how many bytes at most may be made of ``size`` compressed ones."""
    return min(MAX_SIZE, max(FREE_SIZE, MAX_RATIO * size))


def check_size(size: int, stream_size: int, *, file: str, section: str | None, spec: str) -> None:
    """Refuse to make much of little: a size that no honest stream of ``stream_size`` bytes has."""
    limit = most_of(stream_size)
    if size > limit:
        message = f"{stream_size} compressed bytes claim to be {size}; at most {limit} are accepted"
        hint = "decompress it with another tool if the size is right"
        raise elf.malformed(file, "too_large", message, section=section, offset=0, spec=spec, hint=hint)


def decompress(
    stream: memoryview, method: str, size: int, *, file: str, section: str | None = None, spec: str = SPEC
) -> bytes:
    """Decompress ``stream`` to exactly ``size`` bytes. What follows the end of the stream is ignored."""
    check_size(size, len(stream), file=file, section=section, spec=spec)
    out = decompress_some(stream, method, size + 1, file=file, section=section, spec=spec)
    if len(out) == size:
        return out
    if len(out) > size:
        message = f"a {method} stream holds more than the {size} bytes that its header claims"
        raise elf.malformed(file, "size_mismatch", message, section=section, offset=0, spec=spec)
    message = f"a {method} stream ends after {len(out)} of {size} bytes"
    raise elf.malformed(file, "truncated", message, section=section, offset=0, spec=spec)


def decompress_some(
    stream: memoryview, method: str, limit: int, *, file: str, section: str | None = None, spec: str = SPEC
) -> bytes:
    """Return the first ``limit`` bytes of a stream, or all that are there."""
    if method == "zstd":
        return _zstd(stream, limit, lambda why: _broken(method, why, file, section, spec))
    import zlib

    inflater = zlib.decompressobj()
    try:
        return inflater.decompress(stream, limit)
    except zlib.error as error:
        raise _broken(method, error, file, section, spec) from None


def _broken(method: str, error: object, file: str, section: str | None, spec: str) -> Exception:
    message = f"not a {method} stream: {error}"
    return elf.malformed(file, "bad_compression", message, section=section, offset=0, spec=spec)


def _zstd(stream: memoryview, limit: int, broken: Callable[[object], Exception]) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd

        try:
            return zstd.ZstdDecompressor().decompress(stream, limit)
        except zstd.ZstdError as error:
            raise broken(error) from None
    try:
        import zstandard
    except ImportError:
        raise Unsupported("no_zstd", "this Python cannot read zstd streams", hint=_ZSTD_HINT) from None
    decompressor: Any = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
    try:
        out: bytes = decompressor.stream_reader(stream).read(limit)
    except zstandard.ZstdError as error:
        raise broken(error) from None
    return out
