"""Images: one ELF file, or one that lies inside another, opened for reading.

Everything here is lazy. Opening reads the ELF header and the section headers; a section's content, the symbols and the
notes are read when they are asked for, each on its own, so that what is broken hides nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.objfile.elf import header as elf
from dwarfgpu.objfile.elf.sections import Section
from dwarfgpu.regular_files import MAX_READ

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.elf.notes import Note
    from dwarfgpu.objfile.elf.symbols import Symbol, SymbolTable

T = TypeVar("T")
CODE_ALIGNMENT = 1 << 12
"""The largest alignment of sections that are placed one behind the other, and where the first is."""
BYTES = "<bytes>"
"""The name of an image that is opened from bytes without a name."""


class Image:
    """One ELF file. ``problems`` holds what has been found wrong so far without being in the way."""

    def __init__(
        self, data: bytes | memoryview, *, name: str = BYTES, path: str | None = None, places_code: bool = False
    ) -> None:
        """With ``places_code`` the sections of code of an object have addresses of their own as well."""
        self.data = memoryview(data)
        self.name = name
        self.path = path
        """The file that holds it, if it is in one."""
        self.header = header = elf.read_header(self.data, name)
        self.layout = header.layout
        self.byte_order: ByteOrder = header.layout.byte_order
        self.address_size = header.layout.address_size
        """The bytes of an address by the class of the file, 4 or 8."""
        self.machine = header.machine
        self.osabi = header.osabi
        self.abi_version = header.abi_version
        self.type = header.type
        """``e_type``, an ``ET_`` number."""
        self.flags = header.flags
        self.entry = header.entry
        headers, names_index, problems = elf.read_section_headers(self.data, header, name)
        self.problems: list[DwarfGpuError] = [*problems]
        first = headers[0] if headers else None
        self.segments: tuple[elf.Segment, ...]
        self.segments, problems = elf.read_segments(self.data, header, first, name)
        self.problems += problems
        names = self._names(headers[names_index] if 0 < names_index < len(headers) else None)
        self.sections: tuple[Section, ...] = tuple(
            Section(self, index, elf.text_at(names, row.name), row) for index, row in enumerate(headers)
        )
        """The sections in the order of the file, with the empty first one."""
        self.are_addresses_lost = False
        """Whether several sections of code have the same addresses, and no relocations tell which one is meant."""
        if self.type != elf.ET_REL or places_code:
            self._place_code()
        self._notes: tuple[Note, ...] | None = None
        self._symbol_values: dict[int, tuple[list[int], list[int]]] = {}

    def _place_code(self) -> None:
        """Give each section of code addresses of its own, where several begin at 0 as in cubins and zebins.

        In objects all sections begin at 0, and answers have the offsets in their sections, as other tools say them.
        """
        code = [each for each in self.code_sections if each.is_allocated]
        ordered = sorted(code, key=lambda section: section.address)
        if all(section.address + section.size <= after.address for section, after in pairwise(ordered)):
            return
        debug = {section.index for section in self.sections if section.name.startswith((".debug_", ".zdebug_"))}
        relocations = (section for section in self.sections if section.type in elf.RELOCATIONS)
        if debug and not any(section.header.info in debug for section in relocations):
            self.are_addresses_lost = True
            return
        end = CODE_ALIGNMENT  # where a linked file says 0, a linker has dropped the code
        for section in code:
            align = min(max(section.header.align, 1), CODE_ALIGNMENT)
            address = -(-max(section.header.address, end) // align) * align
            section.moved = address - section.header.address
            section.address = address
            end = address + section.size

    def __repr__(self) -> str:
        return f"Image({self.name!r}, machine={self.machine_name})"

    @property
    def machine_name(self) -> str:
        """The machine's name without ``EM_``."""
        return elf.MACHINES.get(self.machine, str(self.machine))

    @property
    def osabi_name(self) -> str:
        """The name of the OS ABI without ``ELFOSABI_``."""
        osabi = self.osabi
        known = osabi in elf.OS_ABIS and (osabi not in elf.AMDGPU_OS_ABIS or self.machine == elf.EM_AMDGPU)
        return elf.OS_ABIS[osabi] if known else str(osabi)

    @property
    def type_name(self) -> str:
        """The type's name without ``ET_``."""
        return elf.FILE_TYPES.get(self.type, f"{self.type:#x}")

    @property
    def is_linked(self) -> bool:
        """Whether addresses mean something: not in a relocatable file, where every section begins at 0."""
        return self.type != elf.ET_REL and not self.are_addresses_lost

    @property
    def are_sections_placed(self) -> bool:
        """Whether sections of code have other addresses than the file says, since it gives several the same."""
        return any(section.moved for section in self.sections)

    def section(self, name: str) -> Section | None:
        """Return the first section with a name; ``.debug_info`` is also found as ``.zdebug_info``."""
        sections = self.sections_named(name)
        return sections[0] if sections else None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of its bytes, which a launch compares with those of code that is loaded."""
        import hashlib

        return hashlib.sha256(self.data).hexdigest()

    def sections_named(self, name: str) -> tuple[Section, ...]:
        """Return all sections with a name: a relocatable file has one for each group (COMDAT), as type units are."""
        sections = self._by_name.get(name)
        if not sections and name.startswith(".debug_"):
            sections = self._by_name.get(f".z{name[1:]}")
        return tuple(sections or ())

    @cached_property
    def _by_name(self) -> dict[str, list[Section]]:
        return _grouped((section.name, section) for section in self.sections[1:])

    @cached_property
    def code_sections(self) -> tuple[Section, ...]:
        """The sections with instructions."""
        return tuple(section for section in self.sections if section.flags & elf.SHF_EXECINSTR and section.size)

    def code_at(self, address: int) -> Section | None:
        """Return the section of code that an address is in."""
        return next((each for each in self.code_sections if 0 <= address - each.address < each.size), None)

    def relocation_sections(self, index: int) -> list[Section]:
        """Return the sections with the relocations of a section in a file that is not linked.

        In a linked file the linker has applied them.
        """
        return self._relocating.get(index, [])

    @cached_property
    def _relocating(self) -> dict[int, list[Section]]:
        is_needed = self.type == elf.ET_REL or self.are_sections_placed
        relocations = (each for each in self.sections if is_needed and each.type in elf.RELOCATIONS)
        return _grouped((section.header.info, section) for section in relocations)

    def symbol_values(self, link: int) -> tuple[list[int], list[int]]:
        """Return what each symbol of a section adds to a relocated field, and the sizes of the symbols."""
        if link not in self._symbol_values:
            table = self.symbol_table(self.sections[link]) if 0 < link < len(self.sections) else None
            self._symbol_values[link] = (table.values(), table.sizes()) if table is not None else ([], [])
        return self._symbol_values[link]

    def symbols(self) -> Iterator[Symbol]:
        """Yield all symbols, of ``.symtab`` or, without it, of ``.dynsym``."""
        return iter(self._symbol_table)

    def symbol_named(self, name: str) -> Symbol | None:
        """Return the symbol with a name: a defined one before one that is not, a global one before a local one."""
        return self._symbol_table.named(name)

    def symbols_named(self, name: str) -> list[Symbol]:
        """Return all symbols with a name, in their order, without sections and files."""
        return self._symbol_table.all_named(name)

    def symbols_called(self, name: str) -> list[Symbol]:
        """Return the defined symbols of code with a name, with or without parameters, scopes, template arguments.

        A kernel has two symbols, of which the one of its code is returned.
        """
        from dwarfgpu.demangle import short_names, without_parameters

        last = without_parameters(name).rpartition("::")[2].partition("<")[0]
        if not last:
            return []
        if "operator" in name:
            last = "_Z"  # mangled, the name of an operator is two letters
        whole = "".join(name.split()) if name.endswith(")") else None
        return [
            symbol
            for symbol in self._symbol_table.containing(last)
            if symbol.name.startswith("_Z")
            and symbol.is_defined
            and symbol.section in self.code_sections
            and (name in short_names(symbol.name) or whole == "".join(symbol.demangled.split()))
        ]

    def symbols_marked(self, suffix: str, symbol_type: int) -> Iterator[Symbol]:
        """Yield the symbols whose names have a suffix, or that have a type."""
        return self._symbol_table.marked(suffix, symbol_type)

    def symbol_at(self, address: int, section: Section | None = None) -> Symbol | None:
        """Return the symbol whose bytes hold an address. Name the section if the file is not linked."""
        return self._symbol_table.at(address, None if section is None else section.index)

    @cached_property
    def _symbol_table(self) -> SymbolTable:
        from dwarfgpu.objfile.elf.symbols import SymbolTable

        for wanted in (elf.SHT_SYMTAB, elf.SHT_DYNSYM):
            for section in self.sections:
                if section.type != wanted:
                    continue
                try:
                    table = self.symbol_table(section)
                except DwarfGpuError as error:
                    self.problems.append(error)
                    continue
                if table.count > 1:
                    return table
        return SymbolTable(b"", b"", b"", self.sections, self.layout)

    def symbol_table(self, section: Section) -> SymbolTable:
        """Return the symbols of a section. Without readable names it is still a table."""
        from dwarfgpu.objfile.elf.symbols import SymbolTable

        link = section.header.link
        strings = self._names(self.sections[link].header if 0 < link < len(self.sections) else None)
        extended = b""
        for other in self.sections:
            if other.type == elf.SHT_SYMTAB_SHNDX and other.header.link == section.index:
                extended = other.decompressed()
        return SymbolTable(section.decompressed(), strings, extended, self.sections, self.layout)

    def _names(self, row: elf.SectionHeader | None) -> bytes:
        if row is None:
            return b""
        if row.offset + row.size > len(self.data):
            message = f"the string table needs {row.size} bytes, and not all of them are in the file"
            self.problems.append(elf.malformed(self.name, "truncated", message, offset=row.offset))
        return bytes(self.data[row.offset : row.offset + row.size])

    def notes(self) -> tuple[Note, ...]:
        """Return all notes, of the note sections or, without these, of the note segments."""
        if self._notes is None:
            from dwarfgpu.objfile.elf.notes import read_notes

            self._notes, problems = read_notes(self)
            self.problems += problems
        return self._notes

    @property
    def build_id(self) -> str | None:
        """The build ID in hexadecimal digits, if the file has one."""
        from dwarfgpu.objfile.elf.notes import NT_GNU_BUILD_ID

        ids = (note.data.hex() for note in self.notes() if (note.owner, note.type) == ("GNU", NT_GNU_BUILD_ID))
        return next(ids, None)

    def read(self, address: int, size: int) -> bytes:
        """Read the bytes at an address, as a loader would place them: what the file leaves out of a segment is zero."""
        if not self.is_linked:
            message = f"{self.name}: a file that is not linked has no addresses"
            raise UsageError(message, kind="not_linked", hint="read the content of a section")
        section = self.code_at(address) if self.are_sections_placed else None
        if section is not None and address + size <= section.address + section.size:
            return bytes(section.view[address - section.address :][:size])
        if not 0 <= size <= MAX_READ:
            raise UsageError(f"{self.name}: {size} bytes cannot be read at once", kind="too_large")
        for segment in self.segments:
            start = address - segment.address
            if segment.type == elf.PT_LOAD and start >= 0 and start + size <= segment.memory_size:
                there = max(0, min(size, segment.file_size - start))
                offset = segment.offset + start
                data = bytes(self.data[offset : offset + there])
                if len(data) < there:
                    message = f"the segment at {segment.address:#x} reaches past the end of the file"
                    raise elf.malformed(self.name, "truncated", message, offset=offset, spec='gABI, "Program Header"')
                return data + bytes(size - there)
        raise elf.malformed(self.name, "not_mapped", f"{size} bytes at {address:#x} are in no segment")

    def symbol_bytes(self, symbol: Symbol, size: int) -> bytes:
        """Read the first bytes of what a symbol names, in a linked file and in one that is not."""
        section = symbol.section
        if section is None:
            raise elf.malformed(self.name, "not_defined", f"the symbol {symbol.name} has no section")
        start = symbol.value - section.symbol_base
        data = bytes(section.view[start : start + size]) if start >= 0 else b""
        if len(data) < size:
            message = f"the symbol {symbol.name} needs {size} bytes, {len(data)} are left"
            raise elf.malformed(self.name, "truncated", message, section=section.name, offset=max(0, start))
        return data

    def release(self) -> None:
        """Free the memory of everything that can be read again."""
        for section in self.sections:
            section.release()
        self.__dict__.pop("_symbol_table", None)
        self._symbol_values.clear()


def _grouped(pairs: Iterable[tuple[T, Section]]) -> dict[T, list[Section]]:
    groups: dict[T, list[Section]] = {}
    for key, section in pairs:
        groups.setdefault(key, []).append(section)
    return groups
