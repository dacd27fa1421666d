"""Loading: the segments of a linked file as they are in memory, moved to an address and with relocations applied.

gABI, "Program Loading" and "Dynamic Linking"; AMDGPU usage, "Relocation Records". Only what a program header names is
read, as a loader does: section headers may be missing.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.objfile.elf.header import PT_DYNAMIC, PT_LOAD, SHN_UNDEF, SHT_RELA, Segment, malformed
from dwarfgpu.objfile.elf.relocation import ABSOLUTE, BASE, NEEDS_LOAD, NOTHING, RELATIVE, RULES, SPECS, RelocationType

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.image import Image

MAX_LOADED = 1 << 28
"""Bytes that the segments of one file may take in memory."""
MAX_SPAN = 1 << 40
"""How far apart they may be, and the largest alignment."""
MAX_RELOCATIONS = 1 << 20
MAX_COPIED = 1 << 16
"""Bytes of one object that the loader copies from another file."""
WORD = 8
"""Bytes of the widest word that a loader sets."""

DT_PLTRELSZ, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_JMPREL = 2, 6, 7, 8, 23


def span(image: Image) -> tuple[int, int, int]:
    """Return the first address of the loaded segments, the bytes from there to their end, and their alignment."""
    segments = _loadable(image)
    first = min(segment.address for segment in segments)
    end = max(segment.address + segment.memory_size for segment in segments)
    alignment = max(1, *(segment.align for segment in segments))
    if end - first > MAX_SPAN or alignment > MAX_SPAN or alignment & (alignment - 1):
        message = f"segments over {end - first:#x} bytes, aligned to {alignment:#x}, are not loaded"
        raise malformed(image.name, "too_large", message, spec='gABI, "Program Header"')
    return first, end - first, alignment


def load(image: Image, bias: int) -> dict[int, bytes]:
    """Return the segments by their addresses, moved by a number of bytes; what the file leaves out of one is zero."""
    loaded = [(segment, bytearray(_content(image, segment))) for segment in _loadable(image)]
    _Loader(image, bias, loaded).relocate()
    return {segment.address + bias: bytes(data) for segment, data in loaded}


def words_of_loader(image: Image, bias: int) -> dict[int, tuple[bytes, str]]:
    """Return the words that a loader sets, by their addresses in the file, and why one is not known from the file."""
    rules, row = RULES.get(image.machine, {}), image.layout.rela
    words = {}
    for section in image.sections:
        if not section.is_allocated or section.header.type != SHT_RELA or section.size > MAX_RELOCATIONS * row.size:
            continue
        table = image.symbol_table(image.sections[section.header.link]) if section.header.link else None
        values = table.values() if table is not None else []
        for offset, number, kind, addend in image.layout.relocations(bytes(section.data)):
            rule = rules.get(kind)
            if rule is None or rule.formula not in (BASE, ABSOLUTE, NEEDS_LOAD):
                continue
            symbol = table.symbol(number) if table is not None and 0 < number < table.count else None
            value, why = bias + addend, ""
            if rule.formula != BASE and symbol is not None:
                value += values[number]
                if not rule.width or not (symbol.is_defined or values[number]):
                    why = f"{rule.name} needs `{symbol.demangled}` of another file"
            elif rule.formula == NEEDS_LOAD:
                why = f"{rule.name} calls a function"
            size = rule.width or (min(symbol.size, MAX_COPIED) if symbol is not None else 0)
            for place in range(0, size, WORD):  # what R_X86_64_COPY copies has any size
                width = min(WORD, size - place)
                words[offset + place] = (value % (1 << 8 * width)).to_bytes(width, image.layout.byte_order), why
    return words


def _loadable(image: Image) -> list[Segment]:
    if not image.is_linked:
        message = f"{image.name}: a file that is not linked cannot be loaded"
        raise UsageError(message, kind="not_linked", hint="link it, for example with ld.lld -shared")
    segments = [segment for segment in image.segments if segment.type == PT_LOAD and segment.memory_size]
    if not segments:
        raise malformed(image.name, "no_segments", "the file has no segments to load", spec='gABI, "Program Header"')
    if sum(segment.memory_size for segment in segments) > MAX_LOADED:
        message = f"the segments take more than {MAX_LOADED} bytes of memory"
        raise malformed(image.name, "too_large", message, spec='gABI, "Program Header"')
    ordered = sorted(segments, key=lambda segment: segment.address)
    for lower, upper in itertools.pairwise(ordered):
        if lower.address + lower.memory_size > upper.address:
            message = f"the segments at {lower.address:#x} and {upper.address:#x} overlap"
            raise malformed(image.name, "overlap", message, spec='gABI, "Program Header"')
    return ordered


def _content(image: Image, segment: Segment) -> bytes:
    if segment.file_size > segment.memory_size:
        message = f"the segment at {segment.address:#x} has more bytes in the file than in memory"
        raise malformed(image.name, "bad_segment", message, spec='gABI, "Program Header"')
    data = bytes(image.data[segment.offset : segment.offset + segment.file_size])
    if len(data) < segment.file_size:
        message = f"the segment at {segment.address:#x} reaches past the end of the file"
        raise malformed(image.name, "truncated", message, offset=segment.offset, spec='gABI, "Program Header"')
    return data + bytes(segment.memory_size - segment.file_size)


class _Loader:
    def __init__(self, image: Image, bias: int, segments: list[tuple[Segment, bytearray]]) -> None:
        self._image = image
        self._bias = bias
        self._segments = segments
        self._spec = SPECS.get(image.machine, "gABI")

    def relocate(self) -> None:
        dynamic: dict[int, int] = {}
        entry = self._image.layout.rel  # two words as well
        for segment in self._image.segments:
            if segment.type != PT_DYNAMIC:
                continue
            data = bytes(self._image.data[segment.offset : segment.offset + segment.file_size])
            for tag, value in entry.iter_unpack(data[: len(data) // entry.size * entry.size]):
                if tag == 0:
                    break
                dynamic.setdefault(tag, value)
        row = self._image.layout.rela
        for start, size in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
            if not dynamic.get(start) or not dynamic.get(size):
                continue
            count = dynamic[size] // row.size
            if count > MAX_RELOCATIONS:
                raise self._malformed("too_large", f"more than {MAX_RELOCATIONS} relocations are not applied", 0)
            table = self._bytes(dynamic[start], count * row.size, "the relocation table")
            for offset, symbol, number, addend in self._image.layout.relocations(bytes(table)):
                self._apply(offset, number, symbol, addend, dynamic.get(DT_SYMTAB, 0))

    def _apply(self, offset: int, number: int, symbol: int, addend: int, symbols: int) -> None:
        rule = RULES.get(self._image.machine, {}).get(number)
        if rule is None or rule.formula not in (NOTHING, ABSOLUTE, RELATIVE, BASE):
            name = f"type {number}" if rule is None else rule.name
            raise self._malformed("bad_relocation", f"a relocation of {name} cannot be loaded", offset)
        if rule.formula == NOTHING:
            return
        value = self._bias + addend if rule.formula == BASE else self._symbol(symbol, symbols, rule) + addend
        if rule.formula == RELATIVE:
            value -= offset + self._bias
        place = self._bytes(offset, rule.width, rule.name)
        value = value >> rule.shift
        bits = rule.width * 8
        if not rule.wraps and bits < 64 and not -(1 << (bits - 1)) <= value < 1 << bits:
            raise self._malformed("overflow", f"{rule.name} gives {value:#x}, more than {bits} bits", offset)
        place[:] = (value % (1 << bits)).to_bytes(rule.width, self._image.layout.byte_order)

    def _symbol(self, index: int, table: int, rule: RelocationType) -> int:
        if index == 0:
            return self._bias
        row = self._image.layout.symbol
        data = bytes(self._bytes(table + index * row.size, row.size, "the symbol table"))
        _, _, _, section, value, _ = self._image.layout.symbol_row(data, 0)
        if section == SHN_UNDEF:
            raise self._malformed("undefined_symbol", f"{rule.name} needs symbol {index}, which no file defines", table)
        return value + self._bias

    def _bytes(self, address: int, size: int, name: str) -> memoryview:
        for segment, data in self._segments:
            start = address - segment.address
            if start >= 0 and start + size <= len(data):
                return memoryview(data)[start : start + size]
        raise self._malformed("not_mapped", f"{name} is in no segment", address)

    def _malformed(self, kind: str, message: str, offset: int) -> Exception:
        return malformed(self._image.name, kind, message, section="memory", offset=offset, spec=self._spec)
