"""Decoding all attributes of many entries: text instead of an offset, an address instead of an index.

`Attribute` says everything about one value, and takes its time. Where all entries of a unit are wanted, each is read
and decoded by one function that is generated from its forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.readers import FAILURES, FEW, truncated
from dwarfgpu.objfile.section_source import MAX_TEXTS, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.readers import Read
    from dwarfgpu.objfile.info.unit import Unit


class Decoder:
    """Decodes the entries of one unit.

    Strings become text, indices of addresses addresses, flags True or False; references within the unit become offsets
    in the section. All else stays as it is: numbers, blocks, offsets of lists, references to other units, signatures.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        source, tables = unit.source, unit.tables
        strings, lines = ".debug_str" + unit.suffix, ".debug_line_str" + unit.suffix
        self._scope = {
            "s": _Remembered(lambda offset: source.text(strings, offset)),
            "l": _Remembered(lambda offset: source.text(lines, offset)),
            "x": _Remembered(lambda index: source.text(strings, tables.string_offset(index))),
            "a": _Remembered(tables.address),
            "u": unit.offset,
            "text": decode,
            "other": self._value,
        }
        self._readers: dict[Abbreviation, Read] = {}
        self._uses: dict[Abbreviation, int] = {}

    def entries(self) -> Iterator[tuple[int, int, Abbreviation, tuple[Any, ...]]]:
        """Yield all entries as (offset, depth, abbreviation, decoded values of all attributes)."""
        unit = self.unit
        position = start = unit.first
        data, table, readers = unit.data, unit.table, self._readers
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
                read = readers.get(abbreviation)
                position, values = (read or self.reader(abbreviation))(data, begin)
                if position > end:
                    raise truncated(unit.offset + start, unit.section)
                yield start, depth, abbreviation, values
                if abbreviation.has_children:
                    depth += 1
                elif not depth:
                    return
        except DwarfGpuError as error:
            raise unit.error(error, start) from None
        except FAILURES:
            raise truncated(unit.offset + start, unit.section) from None

    def reader(self, abbreviation: Abbreviation) -> Read:
        """Return a function that reads and decodes the entries of an abbreviation.

        An abbreviation with many entries gets a function of its own.
        """
        uses = self._uses[abbreviation] = self._uses.get(abbreviation, 0) + 1
        layout = abbreviation.layout
        if uses <= FEW and layout.decoder is None:
            return lambda data, position: self._read(abbreviation, data, position)
        if layout.decoder is None:
            layout.decoder = layout.write_decoder(_WAYS)
        constants = [value for index, value in self._constants(abbreviation)]
        read: Read = layout.decoder(k=constants, **self._scope)
        self._readers[abbreviation] = read
        return read

    def _constants(self, abbreviation: Abbreviation) -> Iterator[tuple[int, Any]]:
        """Yield the values that the abbreviation itself holds, by the index of their attribute."""
        return (
            (index, abbreviation.value(index, ()))
            for index, slot in enumerate(abbreviation.layout.slots)
            if slot < 0
        )

    def _read(self, abbreviation: Abbreviation, data: bytes, position: int) -> tuple[int, tuple[Any, ...]]:
        """Read and decode an entry as a generated function would."""
        after, values = abbreviation.layout.read(data, position)
        pairs = ((form, abbreviation.value(index, values)) for index, form in enumerate(abbreviation.forms))
        return after, tuple(self._value(form, value) for form, value in pairs)

    def _value(self, form: int, value: Any) -> Any:
        if form == dw.DW_FORM_indirect:
            form, value = value.form, value.value
        if form == dw.DW_FORM_flag:
            return bool(value)
        if form in forms.REF_UNIT:
            return self.unit.offset + value
        base = forms.form(form).base
        if base == "string":
            return self.unit.text(form, value)
        return self.unit.address(form, value) if base == "address" else value


class _Remembered(dict[int, "Any"]):
    """A dictionary that computes a value when it is first asked for."""

    def __init__(self, find: Callable[[int], Any]) -> None:
        super().__init__()
        self._find = find
        self._room = MAX_TEXTS

    def __missing__(self, key: int) -> Any:
        value = self._find(key)
        if isinstance(value, str):
            self._room -= len(value)
            if self._room < 0:
                self.clear()
                self._room = MAX_TEXTS
        self[key] = value
        return value


_WAYS = {
    dw.DW_FORM_string: "text({0})",
    dw.DW_FORM_strp: "s[{0}]",
    dw.DW_FORM_line_strp: "l[{0}]",
    dw.DW_FORM_flag: "{0} != 0",
    **dict.fromkeys(forms.STRING_INDEX, "x[{0}]"),
    **dict.fromkeys(forms.ADDRESS_INDEX, "a[{0}]"),
    **dict.fromkeys(forms.REF_UNIT, "u + {0}"),
    **{
        form: f"other({form}, {{0}})"
        for form in (
            dw.DW_FORM_indirect,
            dw.DW_FORM_strp_sup,
            dw.DW_FORM_GNU_strp_alt,
            dw.DW_FORM_LLVM_addrx_offset,
        )
    },
}
"""How values are decoded, for the forms whose values are not taken as they are."""
