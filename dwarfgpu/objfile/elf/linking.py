"""Linking of one file in memory, so that a file that is not linked can run: where all symbols are in it, that is all.

Allocated sections get addresses, symbols theirs, and relocations are applied (AMDGPU usage, "Relocation Records"). What
depends on where a loader puts the file is left to it: words that hold addresses, among them those of a global offset
table, have dynamic relocations as in a file that a linker made.
"""

from __future__ import annotations

import struct

from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.elf import header as elf
from dwarfgpu.objfile.elf.image import Image
from dwarfgpu.objfile.elf.relocation import ABSOLUTE, AMDGPU, BASE, BRANCH, NEEDS_GOT, RELATIVE, relocate
from dwarfgpu.objfile.elf.sections import Section
from dwarfgpu.objfile.elf.symbols import SHN_ABS

FIRST = 0x1000
"""The address of the first section."""
MAX_LINKED = 1 << 28
"""Bytes that the sections of one file may take in memory."""
MAX_ALIGNMENT = 1 << 16
ABS64, REL32, REL32_LO, REL32_HI, RELATIVE64 = 3, 4, 10, 11, 13
_OF_SLOTS = {7: REL32, 8: REL32_LO, 9: REL32_HI}
"""The relocations of operands that hold the distance of a slot of the table, and what they are once it has a place."""
_LOADED = {ABS64: RELATIVE64}
"""Those of words that hold addresses, and what they are for a loader; others stay as they are."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_LAYOUT = elf.layout_of(8, "little")
_SEGMENT, _SECTION, _SYMBOL, _ROW, _PAIR = _LAYOUT.segment, _LAYOUT.section, _LAYOUT.symbol, _LAYOUT.rela, _LAYOUT.rel
_DT_RELA, _DT_RELASZ, _DT_RELAENT = 7, 8, 9


def linked(image: Image) -> bytes:
    """Return a file that is not linked as a linked one; raise an error if a symbol is in another file."""
    if image.address_size != 8 or image.byte_order != "little":
        message = f"{image.name} is not linked, and AMDGPU has no such ELF files"
        raise UsageError(message, kind="not_linked", hint="link it, for example with ld.lld -shared")
    return _Linker(image).linked()


class _Linker:
    def __init__(self, image: Image) -> None:
        self.image = image
        self.contents = [b"" if each.type == elf.SHT_NOBITS else bytes(each.decompressed()) for each in image.sections]
        self.symbols = list(image.symbols())
        wanted = self._operands()
        at, addresses = FIRST, []
        for section in image.sections:
            is_allocated = bool(section.flags & elf.SHF_ALLOC)
            align = max(section.header.align, 1)
            if is_allocated and (align > MAX_ALIGNMENT or align & (align - 1) or at + section.size > MAX_LINKED):
                message = f"the section {section.name} of {section.size} bytes, aligned to {align}, is not linked"
                raise elf.malformed(image.name, "too_large", message, section=section.name)
            at = -(-at // align) * align if is_allocated else at
            addresses.append(at if is_allocated else 0)
            at += section.size if is_allocated else 0
        self.addresses = tuple(addresses)
        """The address of each section; 0 of one that is not allocated."""
        table = -(-at // 8) * 8
        self.slots = {symbol: table + 8 * number for number, symbol in enumerate(wanted)}
        """The addresses of the slots of the global offset table, by symbol."""
        self.rows = table + 8 * len(self.slots)
        """Where the dynamic relocations are."""

    def linked(self) -> bytes:
        """Return the file, linked."""
        rows = [(place, RELATIVE64, self._value(symbol)) for symbol, place in self.slots.items()]
        for section in self.image.sections:
            if section.type == elf.SHT_RELA and self._is_allocated(section.header.info):
                rows += self._fixed(section)
        stage = Image(self._file(elf.ET_REL, b"", 0), name=self.image.name)
        for source in stage.sections:
            target = source.header.info
            if source.type in (elf.SHT_RELA, elf.SHT_REL) and 0 < target < len(self.contents) and self.contents[target]:
                data = bytearray(self.contents[target])
                relocate(data, stage.sections[target], source, stage)
                self.contents[target] = bytes(data)
        for section in self.image.sections:
            if section.type == elf.SHT_SYMTAB:
                self.contents[section.index] = self._moved(self.contents[section.index])
        return self._file(elf.ET_DYN, self._tail(rows), 8 * len(self.slots) + len(rows) * _ROW.size)

    def _is_allocated(self, index: int) -> bool:
        return 0 < index < len(self.contents) and bool(self.image.sections[index].flags & elf.SHF_ALLOC)

    def _operands(self) -> list[int]:
        """Return the symbols that have slots of the global offset table, after a look at what code and data need."""
        wanted: dict[int, None] = {}
        for section in self.image.sections:
            if section.type not in elf.RELOCATIONS or not self._is_allocated(section.header.info):
                continue
            if section.type != elf.SHT_RELA:
                message = f"the relocations in {section.name} are of type {section.type_name}, and AMDGPU's are RELA"
                raise self._refused(message)
            for offset, info, _addend in self._rows_of(section):
                self._check(info >> 32, section)
                rule = AMDGPU.get(info & 0xFFFFFFFF)
                is_fixed = self.symbols[info >> 32].section_index == SHN_ABS
                if rule is None or rule.formula == BASE or (is_fixed and rule.formula in (RELATIVE, BRANCH)):
                    name = f"of type {info & 0xFFFFFFFF}" if rule is None else rule.name
                    target = self.image.sections[section.header.info].name
                    reason = "has the distance of a fixed address" if is_fixed else "is not one of such files"
                    raise self._refused(f"the relocation {name} at {target}+{offset:#x} {reason}")
                if rule.formula == NEEDS_GOT:
                    wanted[info >> 32] = None
        return list(wanted)

    def _refused(self, reason: str) -> UsageError:
        message = f"{self.image.name} is not linked, and {reason}"
        return UsageError(message, kind="not_linked", hint="link it, for example with ld.lld -shared")

    def _rows_of(self, section: Section) -> list[tuple[int, int, int]]:
        data = self.contents[section.index]
        return list(_ROW.iter_unpack(data[: len(data) // _ROW.size * _ROW.size]))

    def _check(self, number: int, section: Section) -> None:
        if not 0 <= number < len(self.symbols):
            message = f"a relocation names symbol {number}, which does not exist"
            raise elf.malformed(self.image.name, "bad_symbol", message, section=section.name)
        symbol = self.symbols[number]
        if number and not (0 < symbol.section_index < len(self.image.sections) or symbol.section_index == SHN_ABS):
            is_missing = symbol.section_index == elf.SHN_UNDEF
            where = "is not in the file" if is_missing else "has no place before it is linked"
            raise self._refused(f"{symbol.name or 'a symbol'} {where}")

    def _value(self, number: int) -> int:
        symbol = self.symbols[number]
        index = symbol.section_index
        return symbol.value + (self.addresses[index] if index < len(self.addresses) else 0)

    def _fixed(self, section: Section) -> list[tuple[int, int, int]]:
        """Give operands the places of their slots; return the dynamic relocations of words that hold addresses."""
        base, rows, dynamic = self.addresses[section.header.info], [], []
        for offset, info, addend in self._rows_of(section):
            symbol, number = info >> 32, info & 0xFFFFFFFF
            if number in _OF_SLOTS:
                rows.append((offset, _OF_SLOTS[number], self.slots[symbol] + addend))
                continue
            has_place = self.symbols[symbol].section_index not in (elf.SHN_UNDEF, SHN_ABS)
            if AMDGPU[number].formula == ABSOLUTE and has_place:
                # without a symbol a loader adds where it has put the file
                dynamic.append((base + offset, _LOADED.get(number, number), self._value(symbol) + addend))
            rows.append((offset, info, addend))
        self.contents[section.index] = b"".join(_ROW.pack(*row) for row in rows)
        return dynamic

    def _moved(self, table: bytes) -> bytes:
        rows = []
        for name, info, other, index, value, size in _SYMBOL.iter_unpack(
            table[: len(table) // _SYMBOL.size * _SYMBOL.size]
        ):
            base = self.addresses[index] if 0 < index < len(self.addresses) else 0
            rows.append(_SYMBOL.pack(name, info, other, index, value + base & (1 << 64) - 1, size))
        return b"".join(rows)

    def _tail(self, rows: list[tuple[int, int, int]]) -> bytes:
        """Return the global offset table, the dynamic relocations, and where a loader finds them."""
        table = b"".join(self._value(symbol).to_bytes(8, "little") for symbol in self.slots)
        size = len(rows) * _ROW.size
        dynamic = (_DT_RELA, self.rows), (_DT_RELASZ, size), (_DT_RELAENT, _ROW.size), (0, 0)
        return table + b"".join(_ROW.pack(*row) for row in rows) + b"".join(_PAIR.pack(*pair) for pair in dynamic)

    def _file(self, kind: int, tail: bytes, dynamic: int) -> bytes:
        """Return the bytes of a file: the tail and where the dynamic section is in it."""
        data, segments = bytearray(FIRST), []
        offsets: dict[int, int] = {}
        for section in sorted(self.image.sections, key=lambda section: not section.flags & elf.SHF_ALLOC):
            content, address = self.contents[section.index], self.addresses[section.index]
            if section.flags & elf.SHF_ALLOC:  # at the place in the file that its address is
                data += bytes(address - len(data))
                if section.size:
                    segments.append((elf.PT_LOAD, 7, address, address, address, len(content), section.size, 1))
            offsets[section.index] = len(data)
            data += content
            if section.flags & elf.SHF_ALLOC:
                data += bytes(section.size - len(content))
        headers = []
        for section, content in zip(self.image.sections, self.contents, strict=True):
            header = section.header
            size = section.size if section.type == elf.SHT_NOBITS else len(content)
            address = self.addresses[section.index]
            row = header.name, header.type, header.flags & ~elf.SHF_COMPRESSED, address, offsets[section.index], size
            headers.append((*row, header.link, header.info, header.align, header.entry_size))
        if tail:
            start = min([*self.slots.values(), self.rows])
            segments.append((elf.PT_LOAD, 7, len(data), start, start, len(tail), len(tail), 1))
            segments.append((elf.PT_DYNAMIC, 7, len(data) + dynamic, start + dynamic, start + dynamic, 64, 64, 8))
            data += tail
        fields = list(_HEADER.unpack(bytes(self.image.data[: _HEADER.size])))
        fields[1], fields[5], fields[6] = kind, len(data), len(data) + len(segments) * _SEGMENT.size
        fields[9:13] = _SEGMENT.size, len(segments), _SECTION.size, len(headers)
        data += b"".join(_SEGMENT.pack(*row) for row in segments) + b"".join(_SECTION.pack(*row) for row in headers)
        data[: _HEADER.size] = _HEADER.pack(*fields)
        return bytes(data)
