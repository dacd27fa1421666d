"""Symbols of an ELF file (gABI, "Symbol Table"; AMDGPU usage, "Symbols").

A table is read row by row on first use. The first few questions for a name or an address are answered by a
search of the bytes, which is several times faster than making an index; for more questions an index is made.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.elf.header import SHN_UNDEF, SHN_XINDEX, ElfLayout, text_at

if TYPE_CHECKING:
    from dwarfgpu.objfile.elf.sections import Section

TYPES = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 3: "SECTION", 4: "FILE", 5: "COMMON", 6: "TLS", 10: "GNU_IFUNC"}
BINDINGS = {0: "LOCAL", 1: "GLOBAL", 2: "WEAK", 10: "GNU_UNIQUE"}

SHN_LORESERVE = 0xFF00
SHN_ABS = 0xFFF1
SHN_COMMON = 0xFFF2
SHN_AMDGPU_LDS = 0xFF00
"""The section of symbols in local memory; also the first of the reserved indexes."""
STT_SECTION, STT_FILE, STT_TLS = 3, 4, 6
STT_AMDGPU_HSA_KERNEL = 10

SEARCHES = 4
"""How many names, and how many addresses, are searched for before there is an index."""
MAX_COPIES = 1000
"""With more copies of a name than this in the string table, also as the end of others, each row is read."""


@frozen
class Symbol:
    """One symbol. ``value`` is an address in a linked file, an offset in ``section`` in a relocatable one.

    For a common symbol and for one in LDS, ``value`` is the alignment it needs (AMDGPU usage, "Symbols").
    """

    index: int
    name: str
    value: int
    size: int
    type_number: int
    bind_number: int
    section_index: int
    """``st_shndx``, or what SHT_SYMTAB_SHNDX says in its place."""
    section: Section | None

    @property
    def demangled(self) -> str:
        """The name as C++ has it, if it is a mangled one."""
        if not self.name.startswith("_Z"):
            return self.name
        from dwarfgpu.demangle import demangled

        return demangled(self.name)

    @property
    def type(self) -> str:
        """The type's name without ``STT_``; 10 is a kernel in AMDGPU files and an indirect function elsewhere."""
        if self.type_number == STT_AMDGPU_HSA_KERNEL and self.section is not None and self.section.is_amdgpu:
            return "AMDGPU_HSA_KERNEL"
        return TYPES.get(self.type_number, str(self.type_number))

    @property
    def bind(self) -> str:
        """The binding's name without ``STB_``."""
        return BINDINGS.get(self.bind_number, str(self.bind_number))

    @property
    def alignment(self) -> int | None:
        """What ``value`` of a symbol without a place is: the alignment of a common one, or of one in LDS."""
        return self.value if self.section_index in (SHN_COMMON, SHN_AMDGPU_LDS) else None

    @property
    def is_local_memory(self) -> bool:
        """Whether it names a variable in LDS, which the loader places (AMDGPU usage, "Symbols")."""
        return self.section_index == SHN_AMDGPU_LDS

    @property
    def is_defined(self) -> bool:
        """Whether the file holds what the symbol names; neither undefined, common nor in LDS."""
        return self.section is not None or self.section_index == SHN_ABS


class SymbolTable:
    """A symbol table: its rows, the names they have, and the sections they are in."""

    def __init__(
        self, data: bytes, strings: bytes, extended: bytes, sections: tuple[Section, ...], layout: ElfLayout
    ) -> None:
        self._data = data
        self._strings = strings
        self._extended = extended
        self._sections = sections
        self._layout = layout
        self.count = len(data) // layout.symbol.size
        self._names: dict[bytes, int] | None = None
        self._addresses: dict[int, tuple[list[int], list[tuple[int, int, int, int]]]] | None = None
        self._asked_names = self._asked_addresses = 0

    def __iter__(self) -> Iterator[Symbol]:
        return map(self.symbol, range(self.count))

    def symbol(self, index: int) -> Symbol:
        """Return the symbol of one row."""
        name, info, _other, place, value, size = self._row(index)
        symbol_type = info & 0xF
        place, section = self._place(index, place)
        text = text_at(self._strings, name)
        if symbol_type == STT_SECTION and not text and section is not None:
            text = section.name
        value += 0 if section is None else section.moved
        return Symbol(index, text, value, size, symbol_type, info >> 4, place, section)

    def named(self, name: str) -> Symbol | None:
        """Return the symbol with a name: a defined one before one that is not, a global one before a local one."""
        if self._names is None:
            self._asked_names += 1
            if self._asked_names <= SEARCHES:
                index = self._best_named(name)
                return None if index is None else self.symbol(index)
            self._names = self._index_names()
        key = _encoded(name)
        index = self._best_named(name) if key is None else self._names.get(key)
        return None if index is None else self.symbol(index)

    def all_named(self, name: str) -> list[Symbol]:
        """Return all symbols with a name, in their order, without sections and files."""
        return [self.symbol(index) for index, _ in self._search(name)]

    def containing(self, part: str) -> Iterator[Symbol]:
        """Yield the symbols whose names contain the bytes of a text, in their order."""
        wanted = _encoded(part)
        if wanted is None:
            yield from (symbol for symbol in self if part in symbol.name)
            return
        find, matches = self._strings.find, []
        last = self._strings.rfind(b"\0")  # a name without an end is not read
        place = find(wanted, 0, last) if wanted and last > 0 else -1
        while place >= 0:
            matches.append(place)
            place = find(wanted, place + 1, last)
        for index, offset in enumerate(self._name_offsets() if matches else ()):
            first = bisect_left(matches, offset)
            if first < len(matches) and find(b"\0", offset, matches[first]) < 0:
                yield self.symbol(index)

    def marked(self, suffix: str, symbol_type: int) -> Iterator[Symbol]:
        """Yield the symbols whose names end in ``suffix``, or that have a type."""
        types = (symbol_type, STT_SECTION)  # a section may be named where the section is
        size = self._layout.symbol.size
        infos = self._data[4 if self._layout.address_size == 8 else 12 : self.count * size : size]
        names = self._name_offsets()
        ending = self._ending_in(suffix.encode() + b"\0", sorted(names))
        for index, (name, info) in enumerate(zip(names, infos, strict=True)):
            if name in ending or info & 0xF in types:
                symbol = self.symbol(index)
                if symbol.type_number == symbol_type or symbol.name.endswith(suffix):
                    yield symbol

    def _ending_in(self, end: bytes, names: list[int]) -> set[int]:
        """Return those of some offsets of names, which are in order, whose names have an end.

        An offset is past the end of the name before it, so every byte is searched once.
        """
        offsets: set[int] = set()
        find, find_last = self._strings.find, self._strings.rfind
        first = 0
        while first < len(names):
            place = find(end, names[first])
            if place < 0:
                break
            start = find_last(b"\0", names[first], place)
            past = bisect_right(names, place)
            offsets.update(names[bisect_right(names, start) if start >= 0 else first : past])
            first = past
        return offsets

    def at(self, address: int, section_index: int | None) -> Symbol | None:
        """Return the smallest symbol whose bytes hold an address, or a symbol without a size at just that address."""
        self._asked_addresses += 1
        if self._addresses is None and self._asked_addresses > SEARCHES:
            self._addresses = self._index_addresses()
        known = self._index_addresses(address) if self._addresses is None else self._addresses
        places = known if section_index is None else (section_index,)
        keys = [self._at(address, *known[place]) for place in places if place in known]
        best = min((key for key in keys if key is not None), default=None)
        return None if best is None else self.symbol(best[2])

    @staticmethod
    def _at(address: int, starts: list[int], rows: list[tuple[int, int, int, int]]) -> tuple[bool, int, int] | None:
        """Return the best symbol of one section, as (has no size, size, index)."""
        best: tuple[bool, int, int] | None = None
        start = -1
        for position in range(bisect_right(starts, address) - 1, -1, -1):
            value, size, index, reach = rows[position]
            if value < start or (reach <= address and value != address):
                break  # none from here on begins later than the one that was found, or reaches so far
            if address < value + size or address == value:
                key = (size == 0, size, index)
                best = key if best is None else min(best, key)
                if size:
                    start = value
        return best

    def _bases(self) -> list[int]:
        """Return what offsets in each section count from.

        Sections of one name, as groups have them, are read as one piece, so that those behind the first one count from
        where they are in it. Frame sections are read one by one.
        """
        bases = [section.address - section.symbol_base + section.moved for section in self._sections]
        ends: dict[str, int] = {}
        for section in self._sections:
            name = section.name
            if name.startswith(".debug_") and name != ".debug_frame" and not section.is_allocated:
                before = ends.get(name, 0)
                bases[section.index] += before
                with suppress(DwarfGpuError):  # reading the section says so
                    ends[name] = before + section.data_size
        return bases

    def values(self) -> list[int]:
        """Return what each symbol adds to a relocated field: its place in the file, or 0 while it has no place."""
        # in a relocatable file a value is an offset in its section, whose address is nearly always 0; the values of
        # common symbols and of those in LDS are alignments
        bases = self._bases()
        count = min(len(bases), SHN_LORESERVE)
        result = []
        for index, (_, _, place, value, _) in enumerate(self._rows()):
            if 0 < place < count:
                result.append(value + bases[place])
            elif place == SHN_XINDEX:
                _, section = self._place(index, place)
                result.append(0 if section is None else value + bases[section.index])
            else:
                result.append(value if place == SHN_ABS else 0)
        return result

    def sizes(self) -> list[int]:
        """Return the size of each symbol."""
        return [row[4] for row in self._rows()]

    def _rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield all rows as (name, type and binding, section, value, size)."""
        layout = self._layout.symbol
        rows = layout.iter_unpack(memoryview(self._data)[: self.count * layout.size])
        if self._layout.address_size == 8:
            return ((name, info, place, value, size) for name, info, _, place, value, size in rows)
        return ((name, info, place, value, size) for name, value, size, info, _, place in rows)

    def _name_offsets(self) -> list[int]:
        """Return where the name of each symbol is: the first word of a row in files of both classes."""
        word = struct.Struct(f"{self._layout.word.format[0]}I{self._layout.symbol.size - 4}x")
        return [*chain.from_iterable(word.iter_unpack(memoryview(self._data)[: self.count * word.size]))]

    def _row(self, index: int) -> tuple[int, int, int, int, int, int]:
        return self._layout.symbol_row(self._data, index * self._layout.symbol.size)

    def _place(self, index: int, place: int) -> tuple[int, Section | None]:
        if place == SHN_XINDEX:
            offset = index * 4
            if offset + 4 > len(self._extended):
                return place, None
            place = self._layout.word.unpack_from(self._extended, offset)[0]
        elif place >= SHN_LORESERVE:
            return place, None
        return place, self._sections[place] if 0 < place < len(self._sections) else None

    def _search(self, name: str) -> Iterator[tuple[int, int]]:
        places = self._places_of(name)
        if places is None:
            rows = (index for index, row in enumerate(self._rows()) if text_at(self._strings, row[0]) == name)
        elif places:
            rows = (index for index, place in enumerate(self._name_offsets()) if place in places)
        else:
            return
        for index in rows:
            _, info, _, place, _, _ = self._row(index)
            if info & 0xF not in (STT_SECTION, STT_FILE):
                yield index, _rank(info, place)

    def _places_of(self, name: str) -> set[int] | None:
        """Return the offsets of a name in the string table, or None if they cannot be found by its bytes."""
        wanted = _encoded(name)
        if not wanted:
            return None if wanted is None else set()
        offsets: set[int] = set()
        position = self._strings.find(wanted + b"\0")
        while position >= 0:
            offsets.add(position)
            if len(offsets) > MAX_COPIES:
                return None
            position = self._strings.find(wanted + b"\0", position + 1)
        return offsets

    def _best_named(self, name: str) -> int | None:
        best, highest = None, -1
        for index, rank in self._search(name) if name else ():
            if rank > highest:
                best, highest = index, rank
        return best

    def _index_names(self) -> dict[bytes, int]:
        """Return by name the row with the highest rank. Names that are not text are kept as bytes."""
        names: dict[bytes, int] = {}
        ranks: dict[bytes, int] = {}
        strings, end_of = self._strings, self._strings.find
        for index, (name, info, place, _, _) in enumerate(self._rows()):
            if info & 0xF in (STT_SECTION, STT_FILE):
                continue
            text = strings[name : max(name, end_of(b"\0", name))]
            rank = _rank(info, place)
            if text and rank > ranks.get(text, -1):
                names[text], ranks[text] = index, rank
        return names

    def _index_addresses(self, only: int | None = None) -> dict[int, tuple[list[int], list[tuple[int, int, int, int]]]]:
        """Return by section the first addresses in order, and (address, size, index, how far any so far reaches).

        For a single address the symbols that do not hold it are left out.
        """
        by_section: dict[int, list[tuple[int, int, int]]] = {}
        if any(section.moved for section in self._sections):
            only = None
        for index, (_, info, place, value, size) in enumerate(self._rows()):
            if only is not None and not (value <= only < value + size or value == only):
                continue
            inside, section = self._place(index, place)
            if section is not None and info & 0xF not in (STT_SECTION, STT_FILE, STT_TLS):
                by_section.setdefault(inside, []).append((value + section.moved, size, index))
        result = {}
        for place, symbols in by_section.items():
            symbols.sort()
            reach = 0
            rows = []
            for value, size, index in symbols:
                reach = max(reach, value + size)
                rows.append((value, size, index, reach))
            result[place] = ([value for value, _, _ in symbols], rows)
        return result


def _rank(info: int, place: int) -> int:
    """Return the rank of a symbol among those with its name: a defined one counts more, then a global one."""
    return (2 if place not in (SHN_UNDEF, SHN_COMMON) else 0) + (info >> 4 != 0)


def _encoded(name: str) -> bytes | None:
    """Return the only bytes that decode to a name, empty for none, or None if there may be several."""
    if not name or "\\" in name:  # a backslash may be the escape of a byte that is not text
        return None
    try:
        return b"" if "\0" in name else name.encode()
    except UnicodeEncodeError:
        return b""
