"""Notes (gABI, "Note Sections"), and what AMD's say about a code object (AMDGPU usage, "Note Records").

The notes of code object versions 1 and 2 have the owner ``AMD``, the later ones ``AMDGPU``. Their layouts are those of
``amd_hsa_elf.h`` of the HSA runtime.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import ELFOSABI_AMDGPU_HSA, EM_AMDGPU, PT_NOTE, SHT_NOTE, malformed
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image


NT_GNU_BUILD_ID = 3
NT_AMD_HSA_CODE_OBJECT_VERSION = 1
NT_AMD_HSA_HSAIL = 2
NT_AMD_HSA_ISA_VERSION = 3
NT_AMD_HSA_PRODUCER = 4
NT_AMD_HSA_PRODUCER_OPTIONS = 5
NT_AMD_HSA_METADATA = 10
NT_AMD_HSA_ISA_NAME = 11
NT_AMDGPU_METADATA = 32
MAX_NOTES = 1 << 16

_OWNERS = {
    "GNU": "GNU 1=ABI_TAG 3=BUILD_ID 4=GOLD_VERSION 5=PROPERTY_TYPE_0",
    "AMD": "AMD 1=HSA_CODE_OBJECT_VERSION 2=HSA_HSAIL 3=HSA_ISA_VERSION 4=HSA_PRODUCER 5=HSA_PRODUCER_OPTIONS "
    "6=HSA_EXTENSION 10=HSA_METADATA 11=HSA_ISA_NAME 12=PAL_METADATA 101=HSA_HLDEBUG_DEBUG 102=HSA_HLDEBUG_TARGET",
    "AMDGPU": "AMDGPU 32=METADATA 33=KFD_CORE_STATE",
    "LLVMOMPOFFLOAD": "LLVM_OPENMP_OFFLOAD 1=VERSION 2=PRODUCER 3=PRODUCER_VERSION",
}
TYPE_NAMES = {
    (owner, int(number)): f"NT_{words.split()[0]}_{name}"
    for owner, words in _OWNERS.items()
    for number, _, name in (word.partition("=") for word in words.split()[1:])
}


@frozen
class Note:
    """One note: who defined its type, the type, and the descriptor."""

    owner: str
    type: int
    data: bytes
    place: str
    """The section or segment that holds it."""
    offset: int
    """Where the note begins there."""

    @property
    def type_name(self) -> str:
        return TYPE_NAMES.get((self.owner, self.type), str(self.type))


@frozen
class Isa:
    """NT_AMD_HSA_ISA_VERSION: the instruction set of a code object of version 1 or 2."""

    vendor: str
    architecture: str
    major: int
    minor: int
    stepping: int

    @property
    def processor(self) -> str:
        """The processor's name, such as gfx803; minor version and stepping are hexadecimal digits."""
        return f"gfx{self.major}{self.minor:x}{self.stepping:x}"


@frozen
class Producer:
    """NT_AMD_HSA_PRODUCER: the tool that made a code object of version 1 or 2."""

    name: str
    major: int
    minor: int


@frozen
class Hsail:
    """NT_AMD_HSA_HSAIL: what was finalized to a code object of version 1."""

    major: int
    minor: int
    profile: int
    machine_model: int
    default_float_round: int


@frozen
class HsaNotes:
    """What the notes with the owner AMD say; None for what they do not say."""

    code_object_version: tuple[int, int] | None
    isa: Isa | None
    isa_name: str | None
    producer: Producer | None
    producer_options: str | None
    hsail: Hsail | None
    problems: tuple[MalformedFile, ...]


def read_notes(image: Image) -> tuple[tuple[Note, ...], list[DwarfGpuError]]:
    """Return all notes of an image, and errors. A broken note hides those after it in its section."""
    notes: list[Note] = []
    problems: list[DwarfGpuError] = []
    for place, content, align in _places(image, problems):
        try:
            for note in iterate_notes(content, image, place, align):
                notes.append(note)
                if len(notes) > MAX_NOTES:
                    message = f"more than {MAX_NOTES} notes are not read"
                    problems.append(malformed(image.name, "too_large", message, section=place))
                    return tuple(notes), problems
        except MalformedFile as error:
            problems.append(error)
    return tuple(notes), problems


def _places(image: Image, problems: list[DwarfGpuError]) -> Iterator[tuple[str, memoryview, int]]:
    sections = [section for section in image.sections if section.type == SHT_NOTE]
    for section in sections:
        try:
            content = section.view
        except DwarfGpuError as error:
            problems.append(error)
            content = image.data[section.offset : section.offset + section.size]
        yield section.name, content, section.header.align
    if not sections:
        for segment in image.segments:
            if segment.type == PT_NOTE:
                start = segment.offset
                content = image.data[start : start + segment.file_size]
                yield f"PT_NOTE at {start:#x}", content, segment.align


def iterate_notes(content: memoryview, image: Image, place: str, align: int) -> Iterator[Note]:
    """Yield the notes of one section or segment.

    Names and descriptors are padded to 4 bytes, to 8 if the section is aligned so (as GNU property notes are).
    """
    step = 8 if align == 8 else 4
    word = image.layout.word
    position, end = 0, len(content)
    while position < end:
        if position + 12 > end:
            if not any(content[position:end]):
                return  # padding of the section
            message = f"a note needs 12 bytes, {end - position} are left"
            raise malformed(image.name, "truncated", message, section=place, offset=position)
        name_size, size, type_ = (word.unpack_from(content, position + 4 * index)[0] for index in range(3))
        start = position + 12 + name_size
        start += -start % step
        if start + size > end:
            message = f"a note needs {start + size - position} bytes, {end - position} are left"
            raise malformed(image.name, "truncated", message, section=place, offset=position)
        owner = _text(bytes(content[position + 12 : position + 12 + name_size]))
        yield Note(owner, type_, bytes(content[start : start + size]), place, position)
        position = start + size
        position += -position % step


def hsa_notes(image: Image) -> HsaNotes:
    """Return what the notes of code object versions 1 and 2 say; also NT_AMD_HSA_ISA_NAME, which later tools kept."""
    contents: dict[int, Any] = {}
    problems: list[MalformedFile] = []
    for note in image.notes():
        read = _READERS.get(note.type) if note.owner == "AMD" else None
        if read is None or note.type in contents:
            continue
        try:
            contents[note.type] = read(note.data, "<" if image.byte_order == "little" else ">")
        except struct.error:
            message = f"{note.type_name} has only {len(note.data)} bytes"
            problems.append(malformed(image.name, "truncated", message, section=note.place, offset=note.offset))
    fields: list[Any] = [*map(contents.get, _READERS), tuple(problems)]
    return HsaNotes(*fields)


def code_object_version(image: Image) -> int | None:
    """Return the code object version, 1 to 6, of an AMDGPU file for HSA; None for any other file.

    AMDGPU usage, "Header": ``e_ident[EI_ABIVERSION]`` is 0 for V2, 1 for V3 and so on; V1 and V2 differ in a note.
    """
    if image.machine != EM_AMDGPU or image.osabi not in (0, ELFOSABI_AMDGPU_HSA):
        return None
    version = hsa_notes(image).code_object_version
    if version is not None and version[0] in (1, 2):
        return version[0]
    return image.abi_version + 2 if image.osabi == ELFOSABI_AMDGPU_HSA else None


def _text(data: bytes) -> str:
    return decode(data.split(b"\0", 1)[0])


def _version(data: bytes, order: str) -> tuple[int, int]:
    major, minor = struct.unpack_from(f"{order}II", data)
    return major, minor


def _isa(data: bytes, order: str) -> Isa:
    vendor_size, architecture_size, major, minor, stepping = struct.unpack_from(f"{order}HHIII", data)
    names = data[16:]
    vendor, architecture = names[:vendor_size], names[vendor_size : vendor_size + architecture_size]
    return Isa(_text(vendor), _text(architecture), major, minor, stepping)


def _producer(data: bytes, order: str) -> Producer:
    size, _, major, minor = struct.unpack_from(f"{order}HHII", data)
    return Producer(_text(data[12 : 12 + size]), major, minor)


def _options(data: bytes, order: str) -> str:
    (size,) = struct.unpack_from(f"{order}H", data)
    return _text(data[2 : 2 + size])


_READERS: dict[int, Callable[[bytes, str], Any]] = {
    NT_AMD_HSA_CODE_OBJECT_VERSION: _version,
    NT_AMD_HSA_ISA_VERSION: _isa,
    NT_AMD_HSA_ISA_NAME: lambda data, _order: _text(data),
    NT_AMD_HSA_PRODUCER: _producer,
    NT_AMD_HSA_PRODUCER_OPTIONS: _options,
    NT_AMD_HSA_HSAIL: lambda data, order: Hsail(*struct.unpack_from(f"{order}IIBBB", data)),
}
"""Readers of descriptors by the type of note, in the order of the fields of `HsaNotes`."""


# --- Separate debug files -----------------------------------------------------------------------------------------
# ``.gnu_debuglink`` has the name of the file and the CRC-32 of its content; a build ID names it, too. Both,
# and the places where the file is looked for, are GDB's ("Separate Debug Files" in its manual).

SECTION = ".gnu_debuglink"
ROOT = "/usr/lib/debug"


@frozen
class DebugLink:
    """The reference of a stripped file to its debug file."""

    name: str | None
    """The name in the section, without a directory."""
    crc: int | None
    build_id: str | None

    def paths(self, program: str) -> Iterator[str]:
        """Yield the paths where the debug file may be, for the program with a path."""
        if self.build_id is not None and len(self.build_id) > 2:
            yield f"{ROOT}/.build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug"
        if self.name is not None:
            folder = os.path.dirname(os.path.abspath(program))
            for place in (folder, f"{folder}/.debug", f"{ROOT}{folder}"):
                yield f"{place}/{self.name}"

    def is_for(self, image: Image) -> bool:
        """Return whether a file is the debug file that is meant, by its build ID or else by its content."""
        build_id = image.build_id
        if self.build_id is not None and build_id is not None:
            return build_id == self.build_id
        return self.crc is not None and zlib.crc32(image.data) == self.crc


def debug_link(image: Image) -> DebugLink | None:
    """Return the reference of a file to its debug file, or None without one."""
    section = image.section(SECTION)
    name, crc = None, None
    if section is not None:
        data = bytes(section.partial()[0])
        end = data.find(b"\0")
        start = (end + 4) & ~3  # the checksum is aligned
        if end > 0 and start + 4 <= len(data) and b"/" not in data[:end]:
            name, crc = decode(data[:end]), int.from_bytes(data[start : start + 4], image.byte_order)
    build_id = image.build_id
    return None if name is None and build_id is None else DebugLink(name, crc, build_id)
