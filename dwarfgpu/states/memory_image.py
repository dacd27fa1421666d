"""Code objects as they are loaded in memory: an image without sections, and whether a file is what was loaded."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.elf.header import EM_AMDGPU, PF_W, PF_X, PT_DYNAMIC, PT_LOAD
from dwarfgpu.objfile.elf.image import Image

if TYPE_CHECKING:
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory

HEADER_SIZE = 64
MAX_IMAGE = 1 << 28
"""The bytes of a loaded image that are read."""
MAX_SYMBOLS = 1 << 20
COMPARED = 1 << 16
"""The bytes at both ends of a segment that are compared."""
MAX_PARTS = 16
"""The stretches of a segment that are compared."""
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ = 4, 5, 6, 10
SHT_STRTAB, SHT_DYNSYM = 3, 11
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_SIZE = 24


def image_in_memory(memory: FileMemory, address: int, name: str) -> Image | None:
    """Return the image that is loaded at an address, with the symbols that its dynamic section names.

    It has no other sections: those are not loaded.
    """
    head = memory.read(address, HEADER_SIZE)
    if head is None or head[:6] != b"\x7fELF\x02\x01":
        return None
    offset, stride, count = (struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54))
    table = memory.read(address + offset, stride * count) if stride >= 56 and offset < 1 << 16 else None
    if table is None:
        return None
    data = bytearray(head)
    segments = [struct.unpack_from("<IIQQQQQQ", table, index * stride) for index in range(count)]
    end = max((row[2] + row[5] for row in segments if row[0] == PT_LOAD), default=0)
    if not 0 < end <= MAX_IMAGE:
        return None
    data = data.ljust(end, b"\0")
    for kind, _flags, at, virtual, _physical, size, _memory_size, _align in segments:
        if kind == PT_LOAD:
            for part in memory.stretches(address + virtual, size):
                content = memory.read(part.address, part.size) or b""
                start = at + part.address - address - virtual
                data[start : start + len(content)] = content
    data[offset : offset + len(table)] = table
    data[40:48] = bytes(8)  # the section headers are not loaded
    data[58:64] = bytes(6)
    _add_symbols(data, segments)
    try:
        return Image(bytes(data), name=f"{name or 'code object'} (in memory at {address:#x})")
    except DwarfGpuError:
        return None


def _add_symbols(data: bytearray, segments: list[tuple[int, ...]]) -> None:
    """Add section headers for the symbols of the dynamic section, and for the code they are in."""
    dynamic = next((row for row in segments if row[0] == PT_DYNAMIC), None)
    if dynamic is None:
        return
    content = bytes(data[dynamic[2] : dynamic[2] + min(dynamic[5], 1 << 16)])
    tags = dict(struct.unpack_from("<QQ", content, at) for at in range(0, len(content) - 15, 16))
    places = [_offset(segments, tags.get(tag)) for tag in (DT_HASH, DT_SYMTAB, DT_STRTAB)]
    if None in places:
        return
    hashes, symbols, strings = (place or 0 for place in places)
    count = int.from_bytes(data[hashes + 4 : hashes + 8], "little")
    if count > MAX_SYMBOLS or symbols + count * _SYMBOL_SIZE > len(data):
        return
    rows = [bytes(_SECTION.size)]
    names = b"\0.dynsym\0.dynstr\0.shstrtab\0.text\0"
    end = len(data)
    rows.append(_SECTION.pack(1, SHT_DYNSYM, 2, tags[DT_SYMTAB], symbols, count * _SYMBOL_SIZE, 2, 1, 8, _SYMBOL_SIZE))
    rows.append(_SECTION.pack(9, SHT_STRTAB, 2, tags[DT_STRTAB], strings, tags.get(DT_STRSZ, 0), 0, 0, 1, 0))
    rows.append(_SECTION.pack(17, SHT_STRTAB, 0, 0, end, len(names), 0, 0, 1, 0))
    data += names
    # Symbols name their sections by number, which do not exist here: one section of all memory has them all.
    for at in range(symbols, symbols + count * _SYMBOL_SIZE, _SYMBOL_SIZE):
        index = int.from_bytes(data[at + 6 : at + 8], "little")
        if 0 < index < 0xFF00:
            data[at + 6 : at + 8] = (4).to_bytes(2, "little")
    code = [row for row in segments if row[0] == PT_LOAD]
    low, high = min(row[3] for row in code), max(row[3] + row[6] for row in code)
    rows.append(_SECTION.pack(27, 8, 6, low, 0, high - low, 0, 0, 1, 0))  # SHT_NOBITS: the segments have the bytes
    data += bytes(-len(data) % 8)
    data[40:48] = len(data).to_bytes(8, "little")
    data[58:64] = struct.pack("<HHH", _SECTION.size, len(rows), 3)
    data += b"".join(rows)


def _offset(segments: list[tuple[int, ...]], address: int | None) -> int | None:
    if address is None:
        return None
    for kind, _flags, offset, virtual, _physical, size, *_rest in segments:
        if kind == PT_LOAD and virtual <= address < virtual + size:
            return offset + address - virtual
    return None


def empty_image() -> Image:
    """Return an image without code, for a process of which no code object is known."""
    head = b"\x7fELF" + bytes([2, 1, 1, 64, 2]) + bytes(7)
    return Image(
        head + struct.pack("<HHIQQQIHHHHHH", 3, EM_AMDGPU, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0), name="no code object"
    )


def identifies(image: Image, address: int, memory: FileMemory, loaded: Image | None) -> str | None:
    """Return why a file cannot be what is loaded at an address; None if it can be.

    Build IDs are compared where both have one, else the ends of the segments that nothing writes to. Where nothing of
    the code object is in memory, any file can be it.
    """
    own = image.build_id
    there = None if loaded is None else loaded.build_id
    if own is not None and there is not None:
        return None if own == there else f"its build ID is {own}, and {there} is loaded"
    segments = [segment for segment in image.segments if segment.type == PT_LOAD and segment.file_size]
    if not segments:
        return "it has nothing to load"
    low = min(segment.address for segment in segments)
    high = max(segment.address + segment.memory_size for segment in segments)
    if not memory.stretches(address + low, high - low):
        return None
    for segment in segments:
        if segment.flags & PF_W:
            continue
        parts = memory.stretches(address + segment.address, segment.file_size)
        if not parts and segment.flags & PF_X:
            return f"its code at {segment.address:#x} is not in memory, and other parts are"
        for part in parts[:MAX_PARTS]:
            size = min(part.size, COMPARED)
            for start in {part.address, part.address + part.size - size}:
                inside = start - address - segment.address
                at = segment.offset + inside
                if memory.read(start, size) != bytes(image.data[at : at + size]):
                    return f"the bytes at {segment.address + inside:#x} of it are others than those in memory"
    return None
