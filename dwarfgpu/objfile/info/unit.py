"""Units: one contribution to ``.debug_info`` or ``.debug_types`` (DWARF 5 section 3.1 and 7.5.1).

Everything is read on first use, and can be freed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor, Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import check_address_size, following, initial_length
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.readers import FAILURES, truncated
from dwarfgpu.objfile.info.tree import UnitTree
from dwarfgpu.objfile.info.unit_tables import STRING_SECTIONS, UnitTables
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.info.abbrevs import Abbreviation, AbbreviationTable
    from dwarfgpu.objfile.info.debug_file import DebugFile
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.forms import AttributeDialect, Indirect
    from dwarfgpu.objfile.list_encoding import ListContext


_PIECE = 512
"""The unit entry nearly always fits in this many bytes."""


class Unit:
    """One unit. Offsets in it count from its header, unless a name says otherwise."""

    def __init__(
        self, dwarf: DebugFile, header: UnitHeader, contributions: dict[str, tuple[int, int]] | None = None
    ) -> None:
        self.dwarf = dwarf
        self.source = dwarf.source
        self.header = header
        self.contributions = contributions
        """For a unit of a package (.dwp), the start and the size of its part of each section."""
        self.section = header.section
        self.offset = header.offset
        self.format = header.format
        self.version = header.format.version
        self.address_size = header.format.address_size
        self.offset_size = header.format.offset_size
        self.first = header.first
        self.suffix = ".dwo" if header.section.endswith(".dwo") else ""
        self.skeleton: Unit | None = None
        """Its skeleton in the program's file, for a split unit."""
        self.tables = UnitTables(self)
        """The tables that indices in its entries lead into."""
        self._data: bytes | None = None
        self._positions: tuple[int, list[tuple[int, int]]] | None = None
        self.ends: dict[int, int] = {}
        """The ends of what entries own, by the offset of the owner."""
        self.scopes: dict[int, tuple[tuple[str, bool], ...]] = {}
        """The scopes of what entries own, by the offset of the owner (`scopes`)."""

    def __repr__(self) -> str:
        return f"Unit({self.section}+{self.offset:#x}, version {self.version})"

    @property
    def data(self) -> bytes:
        """The bytes from the header to the end. Nothing reads past it, so nothing can leave the unit."""
        if self._data is None:
            self._data = bytes(self.source.view(self.section)[self.offset : self.header.end])
            self.dwarf.recently_used(self)
        return self._data

    @cached_property
    def table(self) -> AbbreviationTable:
        start, section = self.part(".debug_abbrev")
        return self.dwarf.abbreviations(section, start + self.header.abbreviations, self.format)

    @cached_property
    def tree(self) -> UnitTree:
        """Which entry owns which."""
        return UnitTree(self.data, self.first, self.table, self.offset, self.section)

    def part(self, name: str) -> tuple[int, str]:
        """Return where this unit's part of a section begins, and the full name of the section."""
        contribution = None if self.contributions is None else self.contributions.get(name)
        return (0 if contribution is None else contribution[0]), name + self.suffix

    def release(self) -> None:
        """Free the data and what was made of it; what is needed later is read again."""
        self._data = self._positions = None
        self.__dict__.pop("tree", None)
        self.ends.clear()
        self.scopes.clear()

    def drop(self) -> None:
        """Free everything but the header."""
        self.release()
        for part in ("table", "_root_entry"):
            self.__dict__.pop(part, None)
        self.tables.drop()

    def error(self, error: DwarfGpuError, offset: int = 0) -> DwarfGpuError:
        """Say that an error is about this unit."""
        return error.at(section=self.section, offset=self.offset + offset)  # type: ignore[no-any-return]

    def entry(self, offset: int) -> tuple[Abbreviation, tuple[Any, ...], int]:
        """Decode the entry at an offset: abbreviation, values and end. That an entry begins there is not checked."""
        data = self.data
        try:
            abbreviation, start = self.table.at(data, offset)
            end, values = abbreviation.layout.read(data, start)
        except FAILURES:
            raise truncated(self.offset + offset, self.section) from None
        except DwarfGpuError as error:
            raise self.error(error, offset) from None
        if end > len(data):
            raise truncated(self.offset + offset, self.section)
        return abbreviation, values, end

    def entries(self, offset: int = 0) -> Iterator[tuple[int, int, Abbreviation, tuple[Any, ...]]]:
        """Yield all entries as (offset, depth, abbreviation, values), from the unit entry or from another one on.

        This is the fastest way through a unit. It ends with the entry it began with; a unit may end without the null
        entries that should close it.
        """
        position = start = offset or self.first
        data, table = self.data, self.table
        known, rows, end, depth = table.dense, table.rows, len(data), 0
        try:
            while position < end:
                code = data[position]
                if code > 127:
                    code = rows[data[position + 1]][code]
                elif not code:
                    position += 1
                    depth -= 1
                    if depth <= 0:
                        return
                    continue
                abbreviation = known[code]
                start = begin = position
                if abbreviation is None:
                    abbreviation, begin = table.at(data, position)
                layout = abbreviation.layout
                if layout.unpack is not None:
                    values = layout.unpack(data, begin)
                    position = begin + layout.size
                else:
                    position, values = layout.read(data, begin)
                    if position > end:
                        raise truncated(self.offset + start, self.section)
                yield start, depth, abbreviation, values
                if abbreviation.has_children:
                    depth += 1
                elif not depth:
                    return
        except DwarfGpuError as error:
            raise self.error(error, start) from None
        except FAILURES:
            raise truncated(self.offset + start, self.section) from None

    def decoded(self) -> Iterator[tuple[int, int, Abbreviation, tuple[Any, ...]]]:
        """Yield what `entries` yields, with the values of all attributes in order: decoded, as far as a form tells.

        Strings are their texts, and indexes of addresses the addresses. For a library of 658,504 entries this takes
        a third of the time of asking each of `Die.attributes`.
        """
        decoders = Decoders(self)
        for offset, depth, abbreviation, values in self.entries():
            layout = abbreviation.layout
            decoded = abbreviation.all_values(values) if layout.has_constants else values
            if layout.looked_up:
                row = [*decoded]
                for index, form in layout.looked_up:
                    row[index] = decoders[form](row[index])
                decoded = tuple(row)
            yield offset, depth, abbreviation, decoded

    def positions(self, die: Die) -> list[tuple[int, int]]:
        """Return where the value of each attribute of an entry begins and ends.

        Those of the last entry are remembered.
        """
        known = self._positions
        if known is None or known[0] != die.offset:
            _, start = self.table.at(self.data, die.offset)
            self._positions = known = die.offset, die.abbreviation.layout.positions(self.data, start)
        return known[1]

    def dies(self) -> Iterator[Die]:
        """Yield all entries, in order."""
        from dwarfgpu.objfile.info.dies import Die

        for offset, _, abbreviation, values in self.entries():
            yield Die(self, offset, abbreviation, values)

    @property
    def root(self) -> Die:
        """The unit entry."""
        from dwarfgpu.objfile.info.dies import Die

        abbreviation, values = self._root_entry
        return Die(self, self.first, abbreviation, values)

    def die_at(self, offset: int) -> Die:
        """Return the entry at an offset from the header; raise an error if none begins there."""
        if not self.tree.contains(offset):
            raise self.tree.no_entry(offset)
        return self.die_known_at(offset)

    def die_known_at(self, offset: int) -> Die:
        """Return the entry at an offset that is known to be right: it is not checked."""
        from dwarfgpu.objfile.info.dies import Die

        abbreviation, values, _ = self.entry(offset)
        return Die(self, offset, abbreviation, values)

    @cached_property
    def _root_entry(self) -> tuple[Abbreviation, tuple[Any, ...]]:
        size = self.header.end - self.offset
        if self._data is None and size > _PIECE:  # for the unit entry alone the rest need not be read
            start = self.offset
            piece = bytes(self.source.view(self.section)[start : start + _PIECE])
            try:
                abbreviation, position = self.table.at(piece, self.first)
                end, values = abbreviation.layout.read(piece, position)
                if end < _PIECE:
                    return abbreviation, values
            except (*FAILURES, DwarfGpuError):
                pass  # with all of the unit it may be right
        if self.first >= size or not self.data[self.first]:
            raise self.error(MalformedFile("no_unit_entry", "the unit has no entries", spec="DWARF 5, 3.1"), self.first)
        abbreviation, values, _ = self.entry(self.first)
        return abbreviation, values

    def root_value(self, *numbers: int) -> tuple[int, Any] | None:
        """Return form and value of the first of these attributes that the unit entry has."""
        abbreviation, values = self._root_entry
        for number in numbers:
            index = abbreviation.index_of(number)
            if index >= 0:
                form, value = abbreviation.forms[index], abbreviation.value(index, values)
                return (value.form, value.value) if form == dw.DW_FORM_indirect else (form, value)
        return None

    def root_number(self, *numbers: int) -> int | None:
        """Return the first of these attributes that the unit entry has, which must be a number."""
        value = self.root_value(*numbers)
        if value is None or type(value[1]) is int:
            return None if value is None else value[1]
        message = f"an attribute of the unit entry is not a number ({forms.form_name(value[0])})"
        raise self.error(MalformedFile("bad_class", message, spec="DWARF 5, 7.5.5"), self.first)

    def root_text(self, *numbers: int) -> str | None:
        """Return the text of a string attribute of the unit entry."""
        value = self.root_value(*numbers)
        return None if value is None else self.text(*value)

    @property
    def name(self) -> str | None:
        return self.root_text(dw.DW_AT_name)

    @property
    def producer(self) -> str | None:
        return self.root_text(dw.DW_AT_producer)

    @property
    def directory(self) -> str | None:
        """DW_AT_comp_dir, for a split unit that of its skeleton."""
        directory = self.root_text(dw.DW_AT_comp_dir)
        return self.skeleton.directory if directory is None and self.skeleton is not None else directory

    @property
    def split_name(self) -> str | None:
        """DW_AT_dwo_name: the file with the entries of this skeleton."""
        return self.root_text(dw.DW_AT_dwo_name, dw.DW_AT_GNU_dwo_name)

    @property
    def dwo_id(self) -> int | None:
        """The number that a skeleton and its split unit share."""
        if self.header.dwo_id is not None:
            return self.header.dwo_id
        return self.root_number(dw.DW_AT_GNU_dwo_id, dw.DW_AT_dwo_id)

    @property
    def is_skeleton(self) -> bool:
        """Whether the entries are elsewhere."""
        if self.header.unit_type == dw.DW_UT_skeleton:
            return True
        return self.version < 5 and not self.suffix and self.root_value(dw.DW_AT_GNU_dwo_name) is not None

    @property
    def is_split(self) -> bool:
        return bool(self.suffix) or self.header.unit_type in (dw.DW_UT_split_compile, dw.DW_UT_split_type)

    @property
    def low_pc(self) -> int | None:
        """The base address of the unit (DWARF 5, 3.1.1)."""
        if self.skeleton is not None:
            return self.skeleton.low_pc
        value = self.root_value(dw.DW_AT_low_pc, dw.DW_AT_entry_pc)
        return None if value is None else self.address(*value)

    @property
    def list_context(self) -> ListContext:
        """What the entries of its location lists and range lists depend on."""
        from dwarfgpu.objfile.list_encoding import ListContext

        return ListContext(self.address_size, self.format.byte_order, self.low_pc, self.tables.address)

    @property
    def dialect(self) -> AttributeDialect:
        """How the numbers of its attributes are to be read."""
        return self._chosen[0]

    @property
    def dialect_reason(self) -> str:
        """Why they are to be read so."""
        return self._chosen[1]

    @cached_property
    def _chosen(self) -> tuple[AttributeDialect, str]:
        if self.dwarf.dialect is not None:
            return self.dwarf.dialect, "it was asked for"
        try:
            return forms.dialect_for(self.producer, self._old_augmentation())
        except DwarfGpuError as error:
            self.dwarf.note(error)
            return forms.LLVM_CURRENT, "the strings of the unit cannot be read"

    @property
    def augmentation(self) -> str | None:
        """The augmentation string of the unit (A.3.1.1). The current numbering has no such attribute."""
        return self._old_augmentation() if self.dialect in (forms.LLVM_OLD, forms.AMDGPU_2020) else None

    def _old_augmentation(self) -> str | None:
        value = self.root_value(forms.AUGMENTATION_CODE)
        if value is None or forms.class_of(value[0], forms.AUGMENTATION_CODE, self.version) != "string":
            return None
        return self.text(*value)

    def text(self, form: int, value: Any) -> str:
        """Return the text of a value of class string."""
        if form == dw.DW_FORM_string:
            return decode(value)
        source, section, offset = self.tables.string_place(form, value)
        return source.text(section, offset)

    def string(self, form: int, value: Any) -> bytes:
        """Return the bytes of a value of class string, without the end."""
        if form == dw.DW_FORM_string:
            data: bytes = value
            return data
        source, section, offset = self.tables.string_place(form, value)
        return source.string(section, offset)

    def address(self, form: int, value: Any) -> int:
        """Return the address of a value of class address."""
        if form == dw.DW_FORM_addr:
            return int(value)
        if form in forms.ADDRESS_INDEX:
            return self.tables.address(value)
        if form == dw.DW_FORM_LLVM_addrx_offset:
            index, offset = value
            return self.tables.address(index) + int(offset)
        raise self.error(MalformedFile("bad_form", f"{forms.form_name(form)} is not an address", spec="DWARF 5, 7.5.5"))

    def refer(self, form: int, value: int) -> Die:
        """Return the entry that a value of class reference leads to; raise an error if none begins there."""
        if form in forms.REF_UNIT:
            return self.die_at(value)
        if form == dw.DW_FORM_ref_addr:
            return self.dwarf.die_at(value, self.section)
        if form == dw.DW_FORM_ref_sig8:
            return self.dwarf.type_at(value, self)
        if form in forms.REF_SUPPLEMENTARY:
            return self.dwarf.supplementary_file().die_at(value)
        message = f"{forms.form_name(form)} is not a reference"
        raise self.error(MalformedFile("bad_form", message, spec="DWARF 5, 7.5.5"))


class Decoders(dict[int, "Callable[[Any], Any]"]):
    """The functions that make texts and addresses of values, by form; each is made when it is first asked for."""

    __slots__ = ("_unit",)

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def __missing__(self, form: int) -> Callable[[Any], Any]:
        unit, section = self._unit, STRING_SECTIONS.get(form)
        if section is not None:
            self[form] = unit.source.texts(section + unit.suffix).__getitem__
        elif form == dw.DW_FORM_indirect:
            self[form] = self._indirect
        else:
            self[form] = partial(unit.text if form in forms.STRINGS else unit.address, form)
        return self[form]

    def _indirect(self, value: Indirect) -> Any:
        return self[value.form](value.value) if value.form in forms.LOOKED_UP else value.value


# --- Unit headers (DWARF 5 section 7.5.1) -------------------------------------------------------------------------
# Version 6 is read as version 5: its drafts, and the compilers that write it, have changed attributes but
# not the header.

SPEC = "DWARF 5, 7.5.1"


@frozen
class UnitHeader:
    """The data before the entries of a unit."""

    section: str
    offset: int
    end: int
    """Where the next unit begins."""
    format: Format
    unit_type: int
    """DW_UT_*. Before version 5 there is no such field: DW_AT_GNU_dwo_id and the section tell."""
    abbreviations: int
    """The offset in ``.debug_abbrev`` (of the contribution, in a package)."""
    first: int
    """Where the unit entry begins, counted from the header."""
    signature: int | None = None
    """The signature of its type, for a type unit."""
    type_offset: int = 0
    """The entry of the type, counted from the header, for a type unit."""
    dwo_id: int | None = None

    @property
    def version(self) -> int:
        return self.format.version

    @property
    def is_type_unit(self) -> bool:
        return self.unit_type in (dw.DW_UT_type, dw.DW_UT_split_type)


def read_headers(data: bytes | memoryview, section: str, byte_order: ByteOrder) -> Iterator[UnitHeader | DwarfGpuError]:
    """Yield all unit headers of a section, with an error in place of one that cannot be read."""
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position, section, byte_order)
        except DwarfGpuError as error:
            if not any(data[position:]):
                return  # padding at the end of the section
            yield error
            after = following(data, position, byte_order)
            if after is None:
                return
            position = after
        else:
            yield header
            position = header.end


def read_header(data: bytes | memoryview, offset: int, section: str, byte_order: ByteOrder) -> UnitHeader:
    """Read the header at an offset."""
    cursor = Cursor(cast("bytes", data), offset, byte_order=byte_order, error=MalformedFile, section=section)
    length, offset_size = initial_length(cursor)
    end = cursor.position + length
    if end > cursor.end:
        message = f"a unit of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, SPEC, offset)
    cursor.end = end
    version = cursor.unsigned(2)
    if not 2 <= version <= 6:
        message = f"the unit has the unknown version {version}; the known ones are 2 to 6"
        raise Unsupported("bad_version", message, spec=SPEC).at(section=section, offset=offset)
    if version >= 5:
        unit_type = cursor.unsigned(1)
        address_size = cursor.unsigned(1)
        abbreviations = cursor.unsigned(offset_size)
    else:
        abbreviations = cursor.unsigned(offset_size)
        address_size = cursor.unsigned(1)
        unit_type = dw.DW_UT_type if section.startswith(".debug_types") else dw.DW_UT_compile
    check_address_size(cursor, address_size)
    signature, type_offset, dwo_id = None, 0, None
    if unit_type in (dw.DW_UT_type, dw.DW_UT_split_type):
        signature, type_offset = cursor.unsigned(8), cursor.unsigned(offset_size)
    elif unit_type in (dw.DW_UT_skeleton, dw.DW_UT_split_compile):
        dwo_id = cursor.unsigned(8)
    elif unit_type not in (dw.DW_UT_compile, dw.DW_UT_partial) and unit_type < 0x80:  # then those of vendors
        raise cursor.fail("bad_unit_type", f"the unit type {unit_type:#x} is not known", SPEC, offset)
    format = Format(address_size, offset_size, byte_order, version)  # noqa: A001
    return UnitHeader(
        section, offset, end, format, unit_type, abbreviations, cursor.position - offset, signature, type_offset, dwo_id
    )  # fmt: skip
