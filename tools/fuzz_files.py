"""Files that `tools/fuzz.py` damages: which places matter, and how a file is put together again after a change.

A change is an `Edit`: in a layer, some bytes are replaced by others. The layer without a name is the file; the others
are the contents of its sections, decompressed, by the name of the section, and that of a compressed bundle (`BUNDLE`).
A section that is changed is compressed again where it was so, and where its size changes it is put behind the file, so
that nothing else moves. Edits are applied in order, those of the file last, and are written as
``[LAYER:]START-END=HEX``, with ``*TIMES`` behind it for bytes that are repeated.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from typing import Any, NamedTuple

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.containers import bundle
from dwarfgpu.objfile.containers.bundle import BUNDLE_SECTION, Container
from dwarfgpu.objfile.elf.header import MAGIC, SHT_NOBITS
from dwarfgpu.objfile.elf.image import Image

BUNDLE = "bundle"
"""The layer of a compressed bundle: the file, or the first in its ``.hip_fatbin``."""
_ROWS = ("info", "types", "line", "loclists", "rnglists", "addr", "str_offsets", "names", "aranges", "frame")
HEADERS = frozenset(f".debug_{name}{suffix}" for name in _ROWS for suffix in ("", ".dwo"))
"""Sections that are rows of contributions, each with a header that begins with its length."""
HEADER_SIZE = 48


class Edit(NamedTuple):
    """Replace the bytes from ``start`` to ``end`` of a layer by others."""

    layer: str
    start: int
    end: int
    new: bytes
    times: int = 1

    def __str__(self) -> str:
        layer = f"{self.layer}:" if self.layer else ""
        times = f"*{self.times}" if self.times != 1 else ""
        return f"{layer}{self.start:#x}-{self.end:#x}={self.new.hex()}{times}"

    def apply(self, data: bytearray) -> None:
        """Change the data of the layer."""
        data[self.start : self.end] = self.new * self.times


_EDIT = re.compile(r"(?:(.+):)?(0x[0-9a-f]+)-(0x[0-9a-f]+)=((?:[0-9a-f]{2})*)(?:\*(\d+))?")


def parse_edit(text: str) -> Edit:
    """Return the edit that a text describes; raise ValueError for any other text."""
    found = _EDIT.fullmatch(text)
    if found is None:
        message = f"{text!r} is no edit: one is written as 0x10-0x14=ffffffff or .debug_info:0x10-0x14=ffffffff"
        raise ValueError(message)
    layer, start, end, new, times = found.groups()
    return Edit(layer or "", int(start, 16), int(end, 16), bytes.fromhex(new), int(times or 1))


class Region(NamedTuple):
    """Bytes of a layer that are damaged together."""

    layer: str
    start: int
    end: int
    has_forms: bool = False
    """Whether it declares how the data elsewhere is read."""


class Content(NamedTuple):
    """What a layer holds, and how it is put back."""

    data: bytes
    method: str
    """``zlib``, ``zstd``, or empty where it is not compressed."""
    header: bytes
    """What is before a stream; the sizes and the hash in it are written anew."""
    row: int
    """The offset of the section header; -1 when the content is that of the whole file."""


class Original:
    """A file before it is damaged: its layers, and by kind the regions in them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.layers: dict[str, Content] = {}
        self.regions: dict[str, list[Region]] = {"file": [Region("", 0, len(data))]}
        self.contributions: dict[str, list[tuple[int, int, int]]] = {}
        """By layer the start and end of each contribution, and the size of its length."""
        self.byte_order: Any = "little"
        if data[:4] == MAGIC:
            self._add_image(0, data)
        elif data[:4] == bundle.COMPRESSED_MAGIC:
            self._add_bundle(memoryview(data), -1)
        else:
            self._add("header", "", 0, 512)
        self._add_embedded()

    def _add(self, kind: str, layer: str, start: int, end: int) -> None:
        size = len(self.layers[layer].data if layer else self.data)
        if start < min(end, size):
            region = Region(layer, start, min(end, size), "abbrev" in kind)
            self.regions.setdefault(kind, []).append(region)

    def _add_image(self, base: int, data: bytes | memoryview) -> None:
        """Add the tables and sections of an ELF file at an offset of this one."""
        image = Image(data)
        header = image.header
        self._add("ELF header", "", base, base + 64)
        start, rows = base + header.segment_offset, base + header.section_offset
        self._add("program headers", "", start, start + header.segment_stride * header.segment_count)
        self._add("section headers", "", rows, rows + header.section_stride * header.section_count)
        if not base:
            self.byte_order = image.byte_order
        for section in image.sections:
            if not section.size or section.type == SHT_NOBITS:
                continue
            if base or section.name in self.layers:
                self._add(section.name, "", base + section.offset, base + section.offset + section.size)
                continue
            raw, how = bytes(section.raw), section.compression or ""
            size = 0 if not how else 12 if how == "zlib-gnu" else image.layout.compression.size
            row = rows + section.index * header.section_stride
            content = section.decompressed()
            self.layers[section.name] = Content(content, how.removesuffix("-gnu"), raw[:size], row)
            self._add(section.name, section.name, 0, len(content))
            if section.name.replace(".z", ".") in HEADERS:
                self._add_headers(section.name, content)
            if section.name == ".debug_names":
                self._add_name_abbreviations(section.name, content)
            if section.name == BUNDLE_SECTION and raw[:4] == bundle.COMPRESSED_MAGIC:
                self._add_bundle(memoryview(raw), row)

    def _add_headers(self, layer: str, content: bytes) -> None:
        """Add the headers of the contributions to a section, as their lengths tell."""
        start = 0
        while start + 12 <= len(content):
            length, size = int.from_bytes(content[start : start + 4], self.byte_order), 4
            if length == 0xFFFFFFFF:
                length, size = int.from_bytes(content[start + 4 : start + 12], self.byte_order), 12
            self._add(f"headers in {layer}", layer, start, start + HEADER_SIZE)
            self.contributions.setdefault(layer, []).append((start, start + size + length, size))
            start += size + length

    def _add_name_abbreviations(self, layer: str, content: bytes) -> None:
        """Add the abbreviations of name indices (DWARF 5, 6.1.1.4.7), which are few bytes that much depends on."""
        order = "<" if self.byte_order == "little" else ">"
        for start, _, size in self.contributions.get(layer, ()):
            counts = struct.unpack_from(f"{order}7I", content, start + size + 4)
            units, types, foreign, buckets, names, table, augmentation = counts
            offset = 4 if size == 4 else 8
            place = start + size + 32 + augmentation + (units + types + 2 * names) * offset
            place += 8 * foreign + 4 * buckets + (4 * names if buckets else 0)
            self._add(f"abbreviations in {layer}", layer, place, place + table)

    def _add_bundle(self, raw: memoryview, row: int) -> None:
        header = bundle.compressed_header(raw, "", 0)
        content = bytes(bundle.decompressed(header, "", 0))
        size = bundle.COMPRESSED_HEADERS[header.version].size
        self.layers[BUNDLE] = Content(content, header.method, bytes(raw[:size]), row)
        self._add("bundle", BUNDLE, 0, len(content))
        self._add("bundle header", BUNDLE, 0, 512)

    def _add_embedded(self) -> None:
        """Add code objects in bundles that are not compressed."""
        try:
            container = Container(memoryview(self.data), name="")
        except DwarfGpuError:
            return
        for entry in container.entries:
            if entry.format == "elf" and (entry.index or entry.id):
                self._add_image(entry.offset, container.content(entry))

    def apply(self, edits: list[Edit]) -> bytes:
        """Return the file after some edits."""
        data = bytearray(self.data)
        for name, content in self.layers.items():
            mine = [edit for edit in edits if edit.layer == name]
            if mine:
                changed = bytearray(content.data)
                for edit in mine:
                    edit.apply(changed)
                _put_back(data, content, bytes(changed), self.byte_order)
        for edit in edits:
            if not edit.layer:
                edit.apply(data)
        return bytes(data)


def _put_back(data: bytearray, old: Content, new: bytes, byte_order: Any) -> None:
    """Put changed content into the file: where it was, or behind all else where the section header finds it."""
    packed = _packed(old, new, byte_order) if old.method else new
    if old.row < 0:
        data[:] = packed
        return
    wide = data[4] == 2  # ELFCLASS64
    place, size = (old.row + 24, 8) if wide else (old.row + 16, 4)  # sh_offset, then sh_size
    if len(packed) == len(old.data) and not old.method:
        offset = int.from_bytes(data[place : place + size], byte_order)
        data[offset : offset + len(packed)] = packed
        return
    data[place : place + 2 * size] = b"".join(number.to_bytes(size, byte_order) for number in (len(data), len(packed)))
    data += packed


def _packed(old: Content, new: bytes, byte_order: Any) -> bytes:
    """Return header and stream of compressed content."""
    if old.method == "zstd":
        import zstandard

        stream = zstandard.ZstdCompressor(level=1).compress(new)
    else:
        stream = zlib.compress(new, 1)
    header = bytearray(old.header)
    if header[:4] == bundle.COMPRESSED_MAGIC:
        version, method = struct.unpack_from("<HH", header, 4)
        sizes = [len(new)] if version == 1 else [len(header) + len(stream), len(new)]
        checksum = int.from_bytes(hashlib.md5(new, usedforsecurity=False).digest()[:8], "little")
        fields = (bundle.COMPRESSED_MAGIC, version, method, *sizes, checksum)
        return bundle.COMPRESSED_HEADERS[version].pack(*fields) + stream
    if header[:4] == b"ZLIB":
        header[4:12] = len(new).to_bytes(8, "big")
    else:  # ch_size of Elf64_Chdr or Elf32_Chdr
        start, size = (8, 8) if len(header) == 24 else (4, 4)
        header[start : start + size] = len(new).to_bytes(size, byte_order)
    return bytes(header) + stream
