"""PNG files (ISO/IEC 15948) of 8 or 16 bits, in gray or in colours, with or without alpha, and not interlaced."""

from __future__ import annotations

import struct
import zlib
from typing import Any

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""How many numbers a pixel has, by the colour type."""
MOST_BYTES = 1 << 28
"""Of the pixels of a file."""


def read_png(data: bytes) -> Any:
    """Return the pixels as an array of rows; each pixel is a number, or several. A ValueError says what is wrong."""
    import numpy as np

    if data[:8] != SIGNATURE:
        raise ValueError("it is not a PNG file")
    chunks = _chunks(data)
    header = chunks.get(b"IHDR", b"")
    if len(header) != 13:
        raise ValueError("it has no header")
    width, height, bits, kind, _method, _filters, interlaced = struct.unpack(">IIBBBBB", header)
    if kind not in CHANNELS or bits not in (8, 16) or interlaced:
        how = "interlaced" if interlaced else "with a palette" if kind == 3 else f"of {bits} bits"
        raise ValueError(f"PNG files {how} cannot be read; those of 8 or 16 bits, gray or in colours, can")
    step = CHANNELS[kind] * bits // 8
    row = width * step
    if not 0 < (row + 1) * height <= MOST_BYTES:
        raise ValueError(f"{width} x {height} pixels are too few or too many")
    try:
        lines = zlib.decompressobj().decompress(chunks.get(b"IDAT", b""), (row + 1) * height)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(lines) != (row + 1) * height:
        raise ValueError("pixels are missing")
    pixels = np.zeros((height, row), np.uint8)
    above = pixels[0]
    for index in range(height):
        start = index * (row + 1)
        line = np.frombuffer(lines, np.uint8, row, start + 1)
        pixels[index] = _unfiltered(lines[start], line, above, step)
        above = pixels[index]
    shape = (height, width) if CHANNELS[kind] == 1 else (height, width, CHANNELS[kind])
    return pixels.view(">u2" if bits == 16 else "u1").astype(f"u{bits // 8}").reshape(shape)


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """Return the contents of chunks by kind; those of one kind are joined."""
    chunks: dict[bytes, bytes] = {}
    position = 8
    while position + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind, end = data[position + 4 : position + 8], position + 8 + length
        if end + 4 > len(data):
            raise ValueError("it is truncated")
        if zlib.crc32(data[position + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            raise ValueError(f"the checksum of {kind.decode('latin-1')} is wrong")
        chunks[kind] = chunks.get(kind, b"") + data[position + 8 : end]
        position = end + 4
    return chunks


def _unfiltered(kind: int, line: Any, above: Any, step: int) -> Any:
    """Return the bytes of a row from the differences that the file has (12.5: none, left, up, average, Paeth)."""
    import numpy as np

    if kind == 0:
        return line
    if kind == 1:
        return np.add.accumulate(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return line + above
    if kind not in (3, 4):
        raise ValueError(f"a row has the filter {kind}, which does not exist")
    row = [0] * step  # as numbers, each of which needs the one to the left
    upper = [0] * step + above.tolist()
    for index, number in enumerate(line.tolist(), step):
        left, up = row[index - step], upper[index]
        if kind == 3:
            guess = left + up >> 1
        else:
            corner = upper[index - step]
            to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
        row.append(number + guess & 0xFF)
    return row[step:]


def png_bytes(pixels: Any) -> bytes:
    """Return the file of an array of rows of unsigned numbers of 8 or 16 bits. A ValueError says what is wrong."""
    kinds = {channels: kind for kind, channels in CHANNELS.items()}
    channels = 1 if pixels.ndim == 2 else pixels.shape[-1]
    if pixels.ndim not in (2, 3) or channels not in kinds or pixels.dtype.kind != "u" or pixels.itemsize > 2:
        shape = " x ".join(map(str, pixels.shape))
        raise ValueError(f"{shape} numbers of type {pixels.dtype.name} are not pixels of a PNG file")
    height, width = pixels.shape[:2]
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, kinds[channels], 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
