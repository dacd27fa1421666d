"""How files are damaged: which places matter, in which ways, and how a file is put together again after a change.

A change is an `Edit`: in a layer, some bytes are replaced by others. The layer without a name is the file; the others
are the contents of its sections, decompressed, by the name of the section, and that of a compressed bundle (`BUNDLE`).
A section that is changed is compressed again where it was so, and where its size changes it is put behind the file, so
that nothing else moves. Edits are applied in order, those of the file last.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.containers import bundle
from dwarfgpu.objfile.containers.bundle import BUNDLE_SECTION, Container
from dwarfgpu.objfile.elf.header import MAGIC, SHT_NOBITS
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.info.forms import FORMS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from fuzz.frame import Chance

FOLDER = Path(__file__).resolve().parents[2] / "fixtures"

BUNDLE = "bundle"
"""The layer of a compressed bundle: the file, or the first in its ``.hip_fatbin``."""
_ROWS = ("info", "types", "line", "loclists", "rnglists", "addr", "str_offsets", "names", "aranges", "frame")
HEADERS = frozenset(f".debug_{name}{suffix}" for name in _ROWS for suffix in ("", ".dwo"))
"""Sections that are rows of contributions, each with a header that begins with its length."""
HEADER_SIZE = 48
BLOCK = 256
"""How many bytes an edit copies at most: recipes stay short enough to be copied themselves."""
GROWN = 1 << 16
"""How large a section grows when a block is repeated in it."""
READ = re.compile(
    r"ELF|section headers|bundle|headers in|abbreviations|\.z?debug|\.note|\.rodata|\.symtab|\.rela?\.debug"
)
"""Kinds of regions that a reader of debug information depends on; they are damaged more often than others."""
NUMBERS = (0, 1, 2, 3, 4, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFEF, 0xFFFFFFF0, 0xFFFFFFFE,
           0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF)  # fmt: skip


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


# --- Edits of files with all that they mean -----------------------------------------------------------------------


def mutate(original: Original, kind: str, numbers: random.Random) -> list[Edit]:
    """Return some edits, mostly one or a few, sometimes many; the first in a region of a kind."""
    content = {"": bytearray(original.data)}
    content.update((name, bytearray(each.data)) for name, each in original.layers.items())
    edits: list[Edit] = []
    for number in range(numbers.choice((1, 1, 1, 1, 2, 2, 3, 4, 8, 16))):
        if number:  # where the one before was, or anywhere
            kind = numbers.choice((kind, any_kind(original.regions, numbers)))
        region = numbers.choice(original.regions[kind])
        data = content[region.layer]
        start = min(region.start, max(0, len(data) - 1))
        region = region._replace(start=start, end=max(start, min(region.end, len(data))))
        change = numbers.choices(_CHANGES, _WEIGHTS)[0]
        if region.has_forms and numbers.random() < 0.5:
            change = _form
        edit = change(data, region, original.byte_order, numbers)
        fixed = _with_length(original, edit) if numbers.random() < 0.7 else []
        for each in (edit, *fixed):
            each.apply(data)
            edits.append(each)
    return edits


def any_kind(kinds: Iterable[str], numbers: random.Random) -> str:
    """Return one of some kinds of regions."""
    known = list(kinds)
    return numbers.choices(known, [5 if READ.match(kind) else 1 for kind in known])[0]


def _with_length(original: Original, edit: Edit) -> list[Edit]:
    """Return the edit of a length that makes it right again, where a contribution has grown or become smaller."""
    growth = len(edit.new) * edit.times - (edit.end - edit.start)
    for start, end, size in original.contributions.get(edit.layer, ()) if growth else ():
        if start + size <= edit.start <= end:
            length = max(0, end - start - size + growth)
            width = 4 if size == 4 else 8  # behind the four bytes that say so
            place = start + size - width
            return [Edit(edit.layer, place, place + width, length.to_bytes(width, original.byte_order))]
    return []


# --- Single changes -----------------------------------------------------------------------------------------------


def _place(region: Region, size: int, numbers: random.Random) -> int:
    """Return a place for some bytes in a region, often a multiple of their size from its beginning."""
    place = numbers.randrange(max(1, region.end - region.start - size + 1))
    return region.start + (place - place % size if numbers.random() < 0.5 else place)


def _flip(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another bit."""
    at = _place(region, 1, numbers)
    old = data[at] if at < len(data) else 0
    return Edit(region.layer, at, at + 1, bytes([old ^ 1 << numbers.randrange(8)]))


def _byte(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another byte, likely one that means something: forms, tags, operations and kinds of entries are small."""
    at = _place(region, 1, numbers)
    new = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, *range(0x30), *range(0, 256, 4)))
    return Edit(region.layer, at, at + 1, bytes([new]))


def _form(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Another form, or what happens to have the number of one."""
    at = _place(region, 1, numbers)
    return Edit(region.layer, at, at + 1, bytes([numbers.choice([code for code in FORMS if code < 0x80])]))


def _number(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Set an integer to a value at a limit, to the size of something, or to nearly what it was."""
    size = numbers.choice((1, 2, 4, 4, 4, 8, 8))
    at = _place(region, size, numbers)
    old = int.from_bytes(data[at : at + size], byte_order)
    sizes = (len(data), region.end - region.start, region.end, region.end - at)
    near = (*(each - 1 for each in sizes), *(old + step for step in (-8, -4, -1, 1, 4, 8)), 2 * old)
    value = numbers.choice((*NUMBERS, *sizes, *near)) % (1 << 8 * size)
    return Edit(region.layer, at, at + size, value.to_bytes(size, byte_order))


def _run(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Write a run of one byte: zeros, numbers without an end, all ones, entries of one kind."""
    times = numbers.choice((2, 4, 9, 10, 11, 16, 40))
    at = _place(region, times, numbers)
    return Edit(region.layer, at, at + times, bytes([numbers.choice((0, 0x80, 0xFF, numbers.randrange(64)))]), times)


def _copy(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Copy bytes from elsewhere in the region: a plausible number, or a block."""
    size = numbers.choice((1, 2, 4, 4, 8, numbers.randint(1, BLOCK)))
    source, at = _place(region, size, numbers), _place(region, size, numbers)
    new = bytes(data[source : min(source + size, region.end)])
    return Edit(region.layer, at, at + len(new), new)


def _insert(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Insert bytes of the region once more, so that all behind them moves."""
    size = numbers.randint(1, 16)
    at = _place(region, size, numbers)
    return Edit(region.layer, at, at, bytes(data[at : at + size]))


def _repeat(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Write a block of a section over and over: what is slow or takes memory for each of many shows then."""
    size = numbers.choice((1, 2, 3, 4, 8, 16, numbers.randint(1, BLOCK)))
    at = _place(region, size, numbers)
    new = bytes(data[at : at + size])
    return Edit(region.layer, at + len(new), at + len(new), new, GROWN // max(1, len(new)) if region.layer else 1)


def _delete(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Leave out bytes, so that all behind them moves."""
    size = numbers.choice((1, 1, 2, 4, 8, numbers.randint(1, BLOCK)))
    at = _place(region, size, numbers)
    return Edit(region.layer, at, min(at + size, len(data)), b"")


def _truncate(data: bytearray, region: Region, byte_order: Any, numbers: random.Random) -> Edit:
    """Cut off the end, at the beginning of the region or somewhere in it."""
    at = numbers.choice((region.start, region.end, _place(region, 1, numbers)))
    return Edit(region.layer, min(at, len(data)), len(data), b"")


_CHANGES = (_flip, _byte, _number, _run, _copy, _insert, _repeat, _delete, _truncate)
_WEIGHTS = (15, 25, 35, 8, 8, 4, 3, 4, 2)


# --- Bytes of code objects ----------------------------------------------------------------------------------------

EXTREMES = (
    *(0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1),
    1 << 48,
)
PARTS = (".text", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_loclists", ".debug_loc", ".debug_frame")
"""The sections of code objects that are damaged most often."""


class Damaged:
    """A good code object, in which some numbers are replaced by others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = (FOLDER / name).read_bytes()
        sections = Image(self.data, name=name).sections
        parts = [(each.offset, each.size) for each in sections if each.name in PARTS and each.size]
        self.parts = [*parts, *parts, (0, len(self.data))]

    def content(self, chance: Chance) -> bytes:
        """Return the file with some bytes changed."""
        data = bytearray(self.data)
        for edit in chance.kept([self._edit(chance) for _ in range(chance.choice((1, 1, 2, 4, 16)))]):
            edit.apply(data)
        chance.about = f"{self.name}"
        return bytes(data[: len(self.data)])

    def _edit(self, chance: Chance) -> Edit:
        start, size = chance.choice(self.parts)
        width = chance.choice((1, 1, 1, 2, 4, 8))
        at = start + chance.randrange(size)
        value = chance.choice(EXTREMES) if chance.random() < 0.5 else chance.getrandbits(64)
        if chance.random() < 0.3:
            value = int.from_bytes(self.data[at : at + width], "little") ^ 1 << chance.randrange(8 * width)
        return Edit("", at, at + width, (value & (1 << 8 * width) - 1).to_bytes(width, "little"))
