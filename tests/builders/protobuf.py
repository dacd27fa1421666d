"""Messages of protocol buffers, decoded by the wire format alone, and profiles of pprof by its profile.proto."""

import gzip
import struct
from collections.abc import Iterator
from typing import Any


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each field of a message: its number, and an integer or bytes."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, position)[0]
            position += 8
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[position : position + size]
            assert len(data) >= position + size
            position += size


def packed(data: bytes) -> list[int]:
    """The numbers of a packed field: as fields they would be keys."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def pprof(compressed: bytes) -> dict[str, Any]:
    """A profile: what it counts, its samples, and the lines of each address as (function, file, line, column)."""
    parts: dict[int, list[Any]] = {}
    for number, content in fields(gzip.decompress(compressed)):
        parts.setdefault(number, []).append(content)
    strings = [text.decode() for text in parts[6]]
    assert strings[0] == ""
    functions = {}
    for content in parts[5]:
        of = dict(fields(content))
        functions[of[1]] = (strings[of[2]], strings[of[3]], strings[of.get(4, 0)])
    locations = {}
    for content in parts[4]:
        lines, of = [], {}
        for number, value in fields(content):
            if number == 4:
                line = dict(fields(value))
                lines.append((*functions[line[1]], line.get(2, 0), line.get(3, 0)))
            else:
                of[number] = value
        locations[of[1]] = (of.get(3), lines)
    samples = []
    for content in parts[2]:
        of = dict(fields(content))
        samples.append(([locations[number] for number in packed(of[1])], packed(of[2])))
    types = [dict(fields(content)) for content in parts[1]]
    return {
        "types": [(strings[each[1]], strings[each[2]]) for each in types],
        "samples": samples,
        "mapping": dict(fields(parts[3][0])),
        "strings": strings,
    }
