"""Containers: the images of a file, listed and chosen.

A file is a container of itself, if it is an ELF file, and of what is packed in it: bundles in ``.hip_fatbin``, offload
binaries in ``.llvm.offloading``, sections ``__CLANG_OFFLOAD_BUNDLE__<id>`` of host objects; or it is a bundle itself.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.containers import offload
from dwarfgpu.objfile.containers.place import KINDS, TargetId, file_uri, parse_target, target_matches
from dwarfgpu.objfile.elf.header import EM_AMDGPU, SHT_LLVM_OFFLOADING, malformed
from dwarfgpu.objfile.elf.header import MAGIC as ELF_MAGIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.objfile.elf.image import Image

BUNDLE_SECTION = ".hip_fatbin"
OFFLOAD_SECTION = ".llvm.offloading"
FORMATS = (
    (ELF_MAGIC, "elf"),
    (b"BC\xc0\xde", "bitcode"),
    (b"\xde\xc0\x17\x0b", "bitcode"),
    (b"\x03\x02#\x07", "spirv"),
    (b"!<arch>\n", "archive"),
    (offload.BUNDLE_MAGIC, "bundle"),
    (offload.COMPRESSED_MAGIC, "bundle"),
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
        self._images = list(islice(self._scan(), offload.MAX_ENTRIES))
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
        select = entry.index if self._is_ambiguous(entry) else entry.target_id
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

    def _is_ambiguous(self, entry: ContainerEntry) -> bool:
        same = sum(other.target_id == entry.target_id for other in self.entries)
        return same > 1 or not entry.target_id

    def _target(self, entry: ContainerEntry) -> TargetId:
        target = self._images[entry.index].target
        if entry.id or target.processor:
            return target
        from dwarfgpu.objfile.elf.image import Image
        from dwarfgpu.objfile.kernels.metadata import target_name

        name = (self._target_of or target_name)(Image(self.data, name=self.name))
        return parse_target(name) if name else target

    def _scan(self) -> Iterator[offload.Found]:
        scanner = offload.Scanner(self.name, self.problems)
        head = self.data[: len(offload.BUNDLE_MAGIC)]
        if head[:4] == ELF_MAGIC:
            yield from self._scan_elf(scanner)
        elif head[:4] == offload.OFFLOAD_MAGIC:
            yield from scanner.offload_binaries(self.data, self.start, "offload binary")
        elif head[:4] == offload.COMPRESSED_MAGIC or head == offload.BUNDLE_MAGIC:
            yield from scanner.bundles(self.data, self.start, "bundle")

    def _scan_elf(self, scanner: offload.Scanner) -> Iterator[offload.Found]:
        from dwarfgpu.objfile.elf.image import Image

        image = Image(self.data, name=self.name, path=self.path)
        self.problems += image.problems
        target = TargetId("" if image.machine == EM_AMDGPU else "host", "", "", ())
        part = offload.ImagePart(self.name, self.data, self.start, "the file itself")
        yield offload.Found(part, "", target, 0, len(self.data), part.note)
        for section in image.sections:
            prefix = offload.BUNDLE_MAGIC.decode()
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
                yield from scanner.bundles(data, base, section.name)
            elif is_binary:
                yield from scanner.offload_binaries(data, base, section.name)
            else:
                id_ = section.name.removeprefix(prefix)
                part = offload.ImagePart(self.name, data, base, "a section of its own")
                yield offload.Found(part, id_, parse_target(id_), 0, len(data), part.note)

    def _entry(self, index: int, image: offload.Found) -> ContainerEntry:
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
        kind = _format_of(bytes(self.data[:8])) if self.data else "empty"
        hints = {
            "archive": "extract a member of the archive first, for example with ar x",
            "bitcode": "compile the bitcode first: it holds no DWARF yet",
        }
        ending = "" if kind == "unknown" else f"; it is {kind}"
        message = f"this is neither an ELF file nor an offload bundle{ending}"
        return malformed(self.name, "not_elf", message, offset=0, spec="gABI", hint=hints.get(kind))


def _format_of(head: bytes) -> str:
    return next((name for magic, name in FORMATS if head.startswith(magic[:8])), "unknown")


def _candidates(entries: Sequence[ContainerEntry]) -> str:
    shown = [f"@{entry.index} ({entry.id or 'the file itself'})" for entry in entries[:SHOWN]]
    more = len(entries) - len(shown)
    return "there are " + ", ".join(shown) + (f" and {more} more" if more > 0 else "")
