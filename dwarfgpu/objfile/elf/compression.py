"""Compressed sections and bundles: zlib and zstd, with a limit on what they may grow to.

gABI, "Compression" (``SHF_COMPRESSED``: a header, then a stream) and the older GNU form (``.zdebug_*``: ``ZLIB``, the
size as 8 big-endian bytes, then a zlib stream). Offload bundles use the same two methods.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import Unsupported
from dwarfgpu.objfile.elf.header import malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.objfile.elf.header import Layout

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


def section_stream(raw: memoryview, layout: Layout, *, gnu: bool, file: str, section: str) -> Stream:
    """Read the header of a compressed section. ``gnu`` says whether it is the one of ``.zdebug_*``."""
    if gnu:
        if len(raw) < GNU_HEADER_SIZE or raw[:4] != GNU_MAGIC:
            message = "a .zdebug section does not begin with ZLIB and a size"
            raise malformed(file, "bad_compression", message, section=section, offset=0, spec="GNU .zdebug")
        return Stream("zlib", int.from_bytes(raw[4:12], "big"), GNU_HEADER_SIZE, gnu=True)
    header = layout.compression
    if len(raw) < header.size:
        message = f"a compression header needs {header.size} bytes, {len(raw)} are left"
        raise malformed(file, "truncated", message, section=section, offset=0, spec=SPEC)
    fields = header.unpack_from(raw)
    method = METHODS.get(fields[0])
    if method is None:
        message = f"compression type {fields[0]} is not known"
        raise malformed(file, "bad_compression", message, section=section, offset=0, spec=SPEC)
    return Stream(method, fields[-2], header.size)


def most_of(size: int) -> int:
    """Return how many bytes at most may be made of ``stream_size`` compressed ones."""
    return min(MAX_SIZE, max(FREE_SIZE, MAX_RATIO * size))


def check_size(size: int, stream_size: int, *, file: str, section: str | None, spec: str) -> None:
    """Refuse to make much of little: a size that no honest stream of ``stream_size`` bytes has."""
    limit = most_of(stream_size)
    if size > limit:
        message = f"{stream_size} compressed bytes claim to be {size}; at most {limit} are accepted"
        raise malformed(
            file,
            "too_large",
            message,
            section=section,
            offset=0,
            spec=spec,
            hint="decompress it with another tool if the size is right",
        )


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
        raise malformed(file, "size_mismatch", message, section=section, offset=0, spec=spec)
    message = f"a {method} stream ends after {len(out)} of {size} bytes"
    raise malformed(file, "truncated", message, section=section, offset=0, spec=spec)


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
    return malformed(
        file, "bad_compression", f"not a {method} stream: {error}", section=section, offset=0, spec=spec
    )


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
