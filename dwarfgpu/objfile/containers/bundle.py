"""Containers: the images of a file, listed and chosen.

A file is a container of itself, if it is an ELF file, and of what is packed in it: bundles in ``.hip_fatbin``, offload
binaries in ``.llvm.offloading``, sections ``__CLANG_OFFLOAD_BUNDLE__<id>`` of host objects; or it is a bundle itself.

The formats of bundles (Clang, "Offload Bundler") are ``__CLANG_OFFLOAD_BUNDLE__`` ("Bundled Binary File Layout") and
its compressed form ``CCOB`` ("Compressed Offload Bundle"), often several in a row. Offload binaries, magic 10 ff 10 ad,
may be several in a row, too (LLVM, ``OffloadBinary.h``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHT_LLVM_OFFLOADING, malformed
from dwarfgpu.objfile.elf.header import MAGIC as ELF_MAGIC
from dwarfgpu.objfile.place import KINDS, TargetId, file_uri, parse_target, target_matches

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image


BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
OFFLOAD_MAGIC = b"\x10\xff\x10\xad"
SPEC = "Clang, Offload Bundler"
OFFLOAD_SPEC = "LLVM, OffloadBinary.h"

METHODS = {0: "zlib", 1: "zstd"}  # llvm::compression::Format
COMPRESSED_HEADERS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
OFFLOAD_KINDS = {0: "", 1: "openmp", 2: "cuda", 4: "hip", 8: "sycl"}
MAX_ENTRIES = 1 << 16
"""A limit on the entries of one bundle, and on the bundles and entries of one file."""
MAX_STRINGS = 16
"""How many keys of an image in an offload binary are read; producers write two."""
MAX_BROKEN = 100
"""After this many broken bundles a file is not searched any further."""
FIRST_STEP, SEARCH_STEP = 1 << 12, 1 << 20


@frozen
class CompressedHeader:
    """The header of a ``CCOB`` bundle."""

    version: int
    method: str
    size: int
    hash: int
    stream: memoryview
    whole: int
    """The bytes of header and stream; 0 in version 1, whose header does not say."""


class ImagePart:
    """Bytes that hold images: a piece of the file, or what a compressed bundle of it decompresses to."""

    def __init__(self, file: str, raw: memoryview, base: int, note: str) -> None:
        self.file = file
        self.raw = raw
        self.base = base
        """Where it begins in the file."""
        self.note = note
        self.compressed: CompressedHeader | None = None
        self.content_size = len(raw)
        self._content: memoryview | None = None

    def head(self, limit: int) -> memoryview:
        """Return the first bytes of the content."""
        if self.compressed is None or self._content is not None:
            return (self._content or self.raw)[:limit]
        from dwarfgpu.objfile.elf.sections import check_size, decompress_some

        header = self.compressed
        check_size(header.size, len(header.stream), file=self.file, section=None, spec=SPEC)
        limit = min(limit, header.size)
        return memoryview(decompress_some(header.stream, header.method, limit, file=self.file, spec=SPEC))

    def content(self) -> memoryview:
        """Return all bytes, decompressed and checked."""
        if self.compressed is None:
            return self.raw
        if self._content is None:
            self._content = decompressed(self.compressed, self.file, self.base)
        return self._content


@frozen
class Found:
    """An image in a part, before it has its number."""

    part: ImagePart
    id: str
    target: TargetId
    offset: int
    size: int
    note: str
    problem: MalformedFile | None = None
    """Why its bytes cannot be read."""


def compressed_header(raw: memoryview, file: str, offset: int) -> CompressedHeader:
    """Read the header of a compressed bundle: versions 1 to 3 differ in the sizes they give."""
    version = int.from_bytes(raw[4:6], "little")
    layout = COMPRESSED_HEADERS.get(version)
    if layout is None:
        message = f"{file}: compressed bundles of version {version} are not supported"
        error = Unsupported("bundle_version", message, spec=SPEC)
        error.at(offset=offset)
        raise error
    if len(raw) < layout.size:
        raise malformed(file, "truncated", "the header of a compressed bundle is truncated", offset=offset, spec=SPEC)
    _, _, method, *sizes, hash_ = layout.unpack_from(raw)
    whole = sizes[0] if len(sizes) == 2 else 0
    if method not in METHODS:
        raise malformed(file, "bad_compression", f"compression method {method} is not known", offset=offset, spec=SPEC)
    if whole and not layout.size <= whole <= len(raw):
        message = f"a compressed bundle claims {whole} bytes, {len(raw)} are left"
        raise malformed(file, "truncated", message, offset=offset, spec=SPEC)
    stream = raw[layout.size : whole or len(raw)]
    return CompressedHeader(version, METHODS[method], sizes[-1], hash_, stream, whole)


def decompressed(header: CompressedHeader, file: str, offset: int) -> memoryview:
    """Decompress a bundle and compare its hash, the first 8 bytes of the MD5 of its content."""
    import hashlib

    from dwarfgpu.objfile.elf.sections import decompress

    data = decompress(header.stream, header.method, header.size, file=file, spec=SPEC)
    try:
        digest = hashlib.md5(data, usedforsecurity=False).digest()
    except ValueError:  # a Python that offers no MD5
        return memoryview(data)
    if int.from_bytes(digest[:8], "little") != header.hash:
        message = "the content of a compressed bundle does not have the hash in its header"
        raise malformed(file, "hash_mismatch", message, offset=offset, spec=SPEC)
    return memoryview(data)


def next_bundle(data: memoryview, start: int) -> int:
    """Return where the next bundle of either form begins, or -1 if there is no other."""
    keep = len(BUNDLE_MAGIC) - 1
    position, step = start, FIRST_STEP
    while position < len(data):
        chunk = bytes(data[position : position + step + keep])
        indexes = [index for index in (chunk.find(BUNDLE_MAGIC), chunk.find(COMPRESSED_MAGIC)) if index >= 0]
        if indexes:
            return position + min(indexes)
        position, step = position + step, SEARCH_STEP
    return -1


def _offload_strings(data: memoryview, start: int, count: int, stride: int) -> dict[str, str]:
    """Return the keys and values of an image, of which ``triple`` and ``arch`` matter."""
    result: dict[str, str] = {}
    for index in range(min(count, MAX_STRINGS)):
        key, value = struct.unpack_from("<QQ", data, start + index * stride)
        result[_zero_terminated(data, key)] = _zero_terminated(data, value)
    return result


def _zero_terminated(data: memoryview, offset: int) -> str:
    text = bytes(data[offset : offset + 4096]) if offset < len(data) else b""
    return text.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


BUNDLE_SECTION = ".hip_fatbin"
OFFLOAD_SECTION = ".llvm.offloading"
FORMATS = (
    (ELF_MAGIC, "elf"),
    (b"BC\xc0\xde", "bitcode"),
    (b"\xde\xc0\x17\x0b", "bitcode"),
    (b"\x03\x02#\x07", "spirv"),
    (b"!<arch>\n", "archive"),
    (BUNDLE_MAGIC, "bundle"),
    (COMPRESSED_MAGIC, "bundle"),
)
SHOWN = 12
"""How many candidates a message names."""


@frozen
class ContainerEntry:
    """One image of a container, as it is listed."""

    index: int
    id: str
    """What the container calls it; empty for the file itself."""
    kind: str
    """``host``, ``hip``, ``hipv4``, ``openmp``; empty if nothing says so."""
    triple: str
    target_id: str
    """Processor and fixed features: ``gfx90a:xnack+``."""
    offset: int
    """Where it begins in the file, or in its bundle once that is decompressed."""
    size: int
    format: str
    """``elf``, ``bitcode``, ``spirv``, ``compressed`` (nothing more is known yet), ``empty`` or ``unknown``."""
    note: str
    """Where it lies and what is special about it, for people."""
    uri: str | None
    """The code object URI; None for what is compressed or in no file."""


class Container:
    """All images of one file. ``problems`` holds its errors; what can be read is listed.

    ``target_of`` tells the target ID of a bare code object, which no table names; by default its notes do.
    """

    def __init__(
        self,
        data: memoryview,
        *,
        name: str,
        path: str | None = None,
        start: int = 0,
        target_of: Callable[[Image], str | None] | None = None,
    ) -> None:
        self.data = data
        self.name = name
        self.path = path
        self.start = start
        """Where ``data`` begins in the file at ``path``."""
        self.problems: list[DwarfGpuError] = []
        self._target_of = target_of
        self._images = list(islice(self._scan(), MAX_ENTRIES))
        if not self._images:
            raise self.problems[0] if self.problems else self._not_a_container()
        entries = (self._entry(index, image) for index, image in enumerate(self._images))
        self.entries: tuple[ContainerEntry, ...] = tuple(entries)

    def content(self, entry: ContainerEntry) -> memoryview:
        """Return the bytes of an entry, decompressed."""
        image = self._images[entry.index]
        if image.problem is not None:
            raise image.problem.again()
        return image.part.content()[image.offset : image.offset + image.size]

    def image(self, entry: ContainerEntry) -> Image:
        """Open an entry, which must be an ELF file."""
        from dwarfgpu.objfile.elf.image import Image

        content = self.content(entry)
        is_file = entry.index == 0 and not entry.id
        same = sum(other.target_id == entry.target_id for other in self.entries)
        select = entry.target_id if entry.target_id and same == 1 else entry.index
        name = self.name if is_file else f"{self.name}@{select}"
        if content[:4] != ELF_MAGIC:
            kind = _format_of(bytes(content[:8])) if content else "empty"
            message = f"{name}: this image is {kind}, not an ELF file"
            raise Unsupported("format", message, hint="only ELF code objects have debug information that can be read")
        return Image(content, name=name, path=self.path)

    def select(self, select: str | int | None) -> ContainerEntry:
        """Return the entry with an index, or for a target; without either, the only code object there is.

        A target is matched by the rules of target IDs; where several entries fit, one that is called exactly so wins.
        """
        if select is None:
            entries = [entry for entry in self.entries if entry.kind != "host" and entry.size]
            why = "it holds several code objects" if entries else "it holds no code object"
            return self._only(entries, why)
        text = str(select)
        if text.isdecimal() and text.isascii():
            index = int(text) if len(text) < 10 else len(self.entries)
            return self._only(list(self.entries[index : index + 1]), f"there is no entry {text}")
        if not text:
            message = f"{self.name}: the @ must be followed by an index or a target"
            raise UsageError(message, hint=_candidates(self.entries))
        if text in KINDS:
            entries = [entry for entry in self.entries if entry.kind == text]
            if entries and not entries[0].id:  # the host program itself: a bundle may have an empty entry for it
                return entries[0]
        else:
            wanted = parse_target(text)
            matching = [entry for entry in self.entries if target_matches(self._target(entry), wanted)]
            exact = [entry for entry in matching if text == entry.id or wanted.text == self._target(entry).text]
            entries = exact or matching
        entries = [entry for entry in entries if entry.size] or entries
        why = f"several entries are for {text}" if entries else f"no entry is for {text}"
        return self._only(entries, why)

    def _only(self, entries: list[ContainerEntry], message: str) -> ContainerEntry:
        if len(entries) == 1:
            return entries[0]
        kind = "ambiguous" if entries else "no_entry"
        raise UsageError(f"{self.name}: {message}", kind=kind, hint=_candidates(entries or self.entries))

    def _target(self, entry: ContainerEntry) -> TargetId:
        target = self._images[entry.index].target
        if entry.id or target.processor:
            return target
        from dwarfgpu.objfile.elf.image import Image
        from dwarfgpu.objfile.kernels.metadata import target_name

        name = (self._target_of or target_name)(Image(self.data, name=self.name))
        return parse_target(name) if name else target

    def _scan(self) -> Iterator[Found]:
        head = self.data[: len(BUNDLE_MAGIC)]
        if head[:4] == ELF_MAGIC:
            yield from self._scan_elf()
        elif head[:4] == OFFLOAD_MAGIC:
            yield from self._offload_binaries(self.data, self.start, "offload binary")
        elif head[:4] == COMPRESSED_MAGIC or head == BUNDLE_MAGIC:
            yield from self._bundles(self.data, self.start, "bundle")

    def _scan_elf(self) -> Iterator[Found]:
        from dwarfgpu.objfile.elf.image import Image

        image = Image(self.data, name=self.name, path=self.path)
        self.problems += image.problems
        target = TargetId("" if image.machine == EM_AMDGPU else "host", "", "", ())
        part = ImagePart(self.name, self.data, self.start, "the file itself")
        yield Found(part, "", target, 0, len(self.data), part.note)
        for section in image.sections:
            prefix = BUNDLE_MAGIC.decode()
            is_bundle = section.name == BUNDLE_SECTION
            is_binary = section.type == SHT_LLVM_OFFLOADING or section.name == OFFLOAD_SECTION
            if not (is_bundle or is_binary or section.name.startswith(prefix)):
                continue
            try:
                data = section.raw
            except MalformedFile as error:
                self.problems.append(error)
                data = self.data[section.offset :]
            base = self.start + section.offset
            if is_bundle:
                yield from self._bundles(data, base, section.name)
            elif is_binary:
                yield from self._offload_binaries(data, base, section.name)
            else:
                id_ = section.name.removeprefix(prefix)
                part = ImagePart(self.name, data, base, "a section of its own")
                yield Found(part, id_, parse_target(id_), 0, len(data), part.note)

    def _bundles(self, data: memoryview, base: int, where: str) -> Iterator[Found]:
        """Yield the images of bundles that follow one another, with padding between them."""
        position = number = broken = 0
        while broken < MAX_BROKEN and number < MAX_ENTRIES:
            position = next_bundle(data, position)
            if position < 0:
                return
            number += 1
            end = position + 4
            note = where if number == 1 else f"{where}, bundle {number}"
            try:
                part, end = self._bundle(data, position, base, note)
                for image in self._bundle_entries(part):
                    if part.compressed is None:
                        end = max(end, position + image.offset + image.size)
                    yield image
            except DwarfGpuError as error:
                self.problems.append(error)
                broken += 1
            position = min(end, len(data))

    def _bundle(self, data: memoryview, position: int, base: int, note: str) -> tuple[ImagePart, int]:
        raw = data[position:]
        if raw[:4] != COMPRESSED_MAGIC:
            return ImagePart(self.name, raw, base + position, note), position + len(BUNDLE_MAGIC)
        header = compressed_header(raw, self.name, base + position)
        size = header.whole or max(next_bundle(raw, 4), 0) or len(raw)
        note += f", compressed (CCOB {header.version}, {header.method}, {size} -> {header.size} bytes)"
        part = ImagePart(self.name, raw[:size], base + position, note)
        part.compressed = header
        part.content_size = header.size
        return part, position + size

    def _bundle_entries(self, part: ImagePart) -> Iterator[Found]:
        limit = 1 << 14
        head = part.head(limit)
        position = len(BUNDLE_MAGIC) + 8
        if head[: len(BUNDLE_MAGIC)] != BUNDLE_MAGIC:
            message = "a compressed bundle does not hold a bundle"
            raise malformed(self.name, "not_a_bundle", message, offset=part.base, spec=SPEC)
        if len(head) < position:
            raise malformed(self.name, "truncated", "a bundle is truncated", offset=part.base, spec=SPEC)
        count = int.from_bytes(head[position - 8 : position], "little")
        if count > MAX_ENTRIES:
            message = f"the bundle claims {count} entries, more than can be read"
            raise malformed(self.name, "too_large", message, offset=part.base, spec=SPEC)
        for index in range(count):
            while len(head) == limit < part.content_size and position + 4096 > limit:
                limit *= 4
                head = part.head(limit)
            name = position + 24
            offset, size, name_size = struct.unpack_from("<QQQ", head, position) if name <= len(head) else (0, 0, 0)
            position = name + name_size
            if position > len(head):
                message = f"the table of a bundle ends in entry {index} of {count}"
                raise malformed(self.name, "truncated", message, offset=part.base, spec=SPEC)
            id_ = bytes(head[name:position]).decode("utf-8", "backslashreplace")
            yield self._checked(Found(part, id_, parse_target(id_), offset, size, part.note), part.content_size)

    def _checked(self, image: Found, available: int) -> Found:
        """Return an entry that lies inside its part, or one without bytes that keeps the reason."""
        if image.offset + image.size <= available:
            return image
        end = image.offset + image.size
        message = f"entry {image.id or 'without a name'} ends at {end:#x} of {available:#x} bytes"
        problem = malformed(self.name, "truncated", message, offset=image.part.base, spec=SPEC)
        self.problems.append(problem)
        note = f"{image.note}, truncated".removeprefix(", ")
        return Found(image.part, image.id, image.target, image.offset, 0, note, problem)

    def _offload_binaries(self, data: memoryview, base: int, where: str) -> Iterator[Found]:
        """Yield the images of offload binaries that follow one another."""
        position = number = broken = 0
        while position + 32 <= len(data) and number < MAX_ENTRIES and broken < MAX_BROKEN:
            if data[position : position + 4] != OFFLOAD_MAGIC:
                padding = bytes(data[position : position + SEARCH_STEP])
                skipped = (len(padding) - len(padding.lstrip(b"\0"))) & ~7
                if not skipped:
                    self._add("bad_magic", "no offload binary begins here", base + position)
                    return
                position += skipped
                continue
            number += 1
            size: int = struct.unpack_from("<Q", data, position + 8)[0]
            part = ImagePart(self.name, data[position : position + max(size, 32)], base + position, where)
            try:
                yield from self._offload_entries(part)
            except (struct.error, OverflowError):  # an offset outside the binary, or outside any memory
                self._add("truncated", "a table of an offload binary is truncated", part.base)
                broken += 1
            except DwarfGpuError as error:
                self.problems.append(error)
                broken += 1
            position += max(size, 32)
            position += -position % 8

    def _offload_entries(self, part: ImagePart) -> Iterator[Found]:
        data = part.raw
        version, _, start, count = struct.unpack_from("<IQQQ", data, 4)
        if version not in (1, 2):
            message = f"{self.name}: offload binaries of version {version} are not supported"
            raise Unsupported("offload_version", message, spec=OFFLOAD_SPEC)
        if version == 1:
            count = 1  # the field is the size of the only entry
        if count > MAX_ENTRIES:
            message = f"the offload binary claims {count} entries, more than can be read"
            raise malformed(self.name, "too_large", message, offset=part.base, spec=OFFLOAD_SPEC)
        for index in range(count):
            row = struct.unpack_from("<HHIQQQQ", data, start + 40 * index)
            _, kind, _, strings, strings_count, offset, size = row
            texts = _offload_strings(data, strings, strings_count, 16 if version == 1 else 24)
            target = parse_target(texts.get("arch", ""))
            kind_name = OFFLOAD_KINDS.get(kind, str(kind))
            target = TargetId(kind_name, texts.get("triple", ""), target.processor, target.features)
            id_ = "-".join(text for text in (kind_name, target.triple, target.text) if text)
            yield self._checked(Found(part, id_, target, offset, size, part.note), len(data))

    def _add(self, kind: str, message: str, offset: int) -> None:
        self.problems.append(malformed(self.name, kind, message, offset=offset, spec=OFFLOAD_SPEC))

    def _entry(self, index: int, image: Found) -> ContainerEntry:
        target, part = image.target, image.part
        plain = part.compressed is None
        offset = image.offset + (part.base if plain else 0)
        has_uri = plain and image.size
        uri = file_uri(self.path, offset, image.size) if self.path is not None and has_uri else None
        if not image.size:
            kind = "empty"
        else:
            kind = _format_of(bytes(part.raw[image.offset : image.offset + 8])) if plain else "compressed"
        return ContainerEntry(
            index, image.id, target.kind, target.triple, target.text, offset, image.size, kind, image.note, uri
        )

    def _not_a_container(self) -> MalformedFile:
        head = bytes(self.data[:8])
        kind = "JSON" if head.lstrip()[:1] == b"{" else _format_of(head) if head else "empty"
        hints = {
            "archive": "extract a member of the archive first, for example with ar x",
            "bitcode": "compile the bitcode first: it holds no DWARF yet",
            "JSON": "the command needs code; if this is a snapshot, `dwarfgpu debug` and `dwarfgpu waves` take it",
        }
        ending = "" if kind == "unknown" else f"; it is {kind}"
        message = f"{self.name} is neither an ELF file nor an offload bundle{ending}"
        hint = hints.get(kind)
        if self.name.endswith(".s"):
            hint = "assemble it first: clang --target=amdgcn-amd-amdhsa -mcpu=gfx1100 k.s -o k.co"
        return MalformedFile("not_elf", message, hint=hint)


def _format_of(head: bytes) -> str:
    return next((name for magic, name in FORMATS if head.startswith(magic[:8])), "unknown")


def _candidates(entries: Sequence[ContainerEntry]) -> str:
    shown = [f"@{entry.index} ({entry.id or 'the file itself'})" for entry in entries[:SHOWN]]
    more = len(entries) - len(shown)
    return "there are " + ", ".join(shown) + (f" and {more} more" if more > 0 else "")
