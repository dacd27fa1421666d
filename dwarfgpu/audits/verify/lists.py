"""The checks of location lists and range lists."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.verify.attribute_rules import SINGLE, UNITS
from dwarfgpu.audits.verify.expressions import ExpressionChecks, has_addresses
from dwarfgpu.audits.verify.file_code import FileCode
from dwarfgpu.audits.verify.findings import ERROR, WARNING, Problem, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import evolve
from dwarfgpu.objfile.contributions import contributions
from dwarfgpu.objfile.info.scopes import AddressSpans
from dwarfgpu.objfile.list_encoding import Bounds, ListContext, RawEntry, raw_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.objfile.contributions import TableHeader
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit

_END = "end the list, and write its entries as table 7.10 says"
RULES = rules(
    "list",
    ("unreadable", ERROR, "DWARF 5, 7.7.3", "A list can be read to its end.", _END),
    ("truncated", ERROR, "DWARF 5, 7.7.3", "A list ends before its section does.", _END),
    ("bad-offset", ERROR, "DWARF 5, 7.5.5", "A list is in its section.", "correct the offset, or the base in the unit",
     "the list is at {offset:#x} of {section}, which has {size} bytes",
     "the list is at {offset:#x} of {section}, where a table has its header and offsets, which end at {lists:#x}"),
    ("bad-index", ERROR, "DWARF 5, 7.5.5", "The index of a list is in the table of offsets.", "correct the index"),
    ("unknown-entry-kind", ERROR, "DWARF 5, 7.7.3", "The standard defines the kind of each entry.", _END),
    ("no-base", ERROR, "DWARF 5, 2.6.2", "An offset is relative to a base address.",
     "give the unit a DW_AT_low_pc, or the list a base address"),
    ("reversed", ERROR, "DWARF 5, 2.6.2", "An entry ends where it begins, or after that.", "correct the addresses",
     "the entry begins at offset {low:#x}, and ends at {high:#x}"),
    ("overlap", WARNING, "DWARF 5, 2.17.3", "Ranges of one list do not overlap.",
     "leave the address range out of one of them",
     "the range at {other:#x} overlaps the one from {low:#x} to {high:#x}"),
    ("address-index", ERROR, "DWARF 5, 7.27", "The index of an address is in the table of the unit.",
     "emit the address to .debug_addr"),
    ("no-table", ERROR, "DWARF 5, 7.28", "DW_AT_loclists_base or DW_AT_rnglists_base names a table of lists.",
     "write the base of the unit's table, which is where its offsets begin"),
    ("several-locations", ERROR, "A.3.3.5", "What is in one place has one entry of a list for each address.",
     "leave the address range out of one of the entries", "{name} has two locations from {low:#x} to {high:#x}"),
    ("several-places", WARNING, "A.2.5.3", "All places in which a variable is at one address have the same value.",
     "end the earlier entry where the other begins, unless the value is in both places; `dwarfgpu judge` reads both",
     "{name} gives two places from {low:#x} to {high:#x}"),
    ("outside", WARNING, "DWARF 5, 2.6.2", "A location is valid within the code of the function of its variable.",
     "end the entry where the function ends", "{low:#x} to {high:#x} is outside of the function, {around}",
     "{low:#x} to {high:#x} is outside of all sections of code"),
    ("empty", WARNING, "DWARF 5, 2.6.2", "A location list has an entry.",
     "write the entries, or leave the attribute out, as compilers do for a variable that has no location",
     "the list of {name} has no entry"),
    ("default-twice", ERROR, "DWARF 5, 2.6.2", "A list has one default location.", "keep the one that is meant",
     "the list has a second default location"),
)  # fmt: skip


_PLACES = {
    "index_out_of_range": "bad-index",
    "loclists_base": "no-table",
    "rnglists_base": "no-table",
    "bad_base": "no-table",
}
"""The rules that errors break of what says where a list is."""
_BOUNDS = {"unit_base": "no-base", "bad_range": "reversed", "bad_index": "address-index", "addr_base": "address-index"}
"""The rules that errors break of the addresses of an entry."""


class ListChecks:
    """The checks of the lists that entries refer to, each once."""

    def __init__(self, expressions: ExpressionChecks) -> None:
        self.expressions = expressions
        self.code = FileCode(expressions.code.file.image)
        self._seen: set[tuple[int, str, int]] = set()
        self._tables: dict[tuple[int, str], list[TableHeader]] = {}
        """The tables of each section of lists."""

    def problems(self, attribute: Attribute, function: Callable[[], Die | None] | None = None) -> Iterator[Problem]:
        """Yield the problems of the list of an attribute; one of locations has the function around the entry."""
        die = attribute.die
        unit = die.unit
        try:
            section, offset = attribute.list_place()
            key = id(unit.dwarf), section, offset
            if key in self._seen:
                return
            self._seen.add(key)
            data = unit.tables.list_data(section)
            if offset >= len(data):
                values = {"offset": offset, "section": section, "size": len(data)}
                yield RULES.problem("bad-offset", section, offset, die, **values)
                return
            table = self._table(unit, section, data, offset)
            if table is not None and offset < table.behind_offsets:
                values = {"offset": offset, "section": section, "lists": table.behind_offsets}
                yield RULES.problem("bad-offset", section, offset, die, **values)
                return
            end = None if table is None else table.end
            entries, _end, error = raw_list(data, offset, section=section, context=_context(unit), end=end)
        except DwarfGpuError as error:
            rule = _PLACES.get(error.kind)
            problem = RULES.unreadable(error, die=die)
            yield problem if rule is None else evolve(problem, rule=RULES[rule], clause=None)
            return
        yield from self._entries(attribute, entries, section, function)
        is_end_known = "lists" in section or self.expressions.code.file.image.is_linked  # not an empty range at 0
        if error is not None:
            yield RULES.unreadable(error, die=die)
        elif is_end_known and function is not None and not entries and self._around(function()) is not None:
            yield RULES.problem("empty", section, offset, die, name=attribute.name)

    def _table(self, unit: Unit, section: str, data: bytes, offset: int) -> TableHeader | None:
        """Return the table that an offset is in, from version 5 on; None where no table is known."""
        if "lists" not in section:
            return None
        key = id(unit.dwarf), section
        tables = self._tables.get(key)
        if tables is None:
            each = contributions(data, unit.format.byte_order, section)
            tables = self._tables[key] = [table for table in each if not isinstance(table, DwarfGpuError)]
        index = bisect_right(tables, offset, key=lambda table: table.start) - 1
        return tables[index] if index >= 0 and offset < tables[index].end else None

    def _entries(
        self, attribute: Attribute, entries: list[RawEntry], section: str, function: Callable[[], Die | None] | None
    ) -> Iterator[Problem]:
        die = attribute.die
        bounds = Bounds(_context(die.unit), section)
        spans: list[tuple[int, int, int]] = []
        defaults = 0
        for entry in entries:
            if entry.kind == dw.DW_LLE_GNU_view_pair:
                continue
            if entry.expression is not None and function is not None:
                place = section, entry.expression_offset
                yield from self.expressions.of_attribute(attribute, entry.expression, place, function)
            if function is not None and entry.kind == dw.DW_LLE_default_location:
                defaults += 1
                if defaults == 2:
                    yield RULES.problem("default-twice", section, entry.offset, die)
                continue
            if not has_addresses(die.unit):
                if entry.kind == dw.DW_RLE_offset_pair and entry.operands[1] < entry.operands[0]:
                    low, high = entry.operands[:2]
                    yield RULES.problem("reversed", section, entry.offset, die, low=low, high=high)
                continue
            try:
                span = bounds.of(entry.kind, entry.operands)
            except DwarfGpuError as error:
                problem = RULES.broken(_BOUNDS.get(error.kind, "unreadable"), error)
                yield evolve(problem, section=section, offset=entry.offset, die=die)
                continue
            if span is not None and span[0] < span[1]:
                spans.append((*span, entry.offset))
        if self.code.are_known:
            expressions = {entry.offset: entry.expression for entry in entries}
            yield from self._spans(attribute, sorted(spans), expressions, section, function)

    def _spans(
        self,
        attribute: Attribute,
        spans: list[tuple[int, int, int]],
        expressions: dict[int, bytes | None],
        section: str,
        function: Callable[[], Die | None] | None,
    ) -> Iterator[Problem]:
        """Yield what is wrong with the addresses of a list; each has its entry as third."""
        die = attribute.die
        around = [] if function is None else self._around(function())
        if around is None:
            return
        if function is None:
            spans = [span for span in spans if not self.code.is_dropped(span[0])]
        clause = SINGLE.get(attribute.name)
        rule = "overlap" if function is None else "several-places" if clause is None else "several-locations"
        for (low, high, first), (other, end, offset) in pairwise(spans):
            is_same = rule == "several-places" and expressions[first] == expressions[offset]
            is_same |= die.tag in UNITS and (low, high) == (other, end)  # functions of which a linker has kept one
            if other < high and not is_same:
                values = {"name": attribute.name, "low": other, "high": min(high, end)}
                values = {"other": other, "low": low, "high": high} if function is None else values
                yield RULES.problem(rule, section, offset, die, clause, **values)
                break
        if function is not None and spans:
            yield from self._outside(spans, section, die, around)

    def _around(self, function: Die | None) -> list[tuple[int, int]] | None:
        """Return the code of a function; None if it cannot be read, or if the linker has dropped it."""
        try:
            around = [] if function is None else function.ranges()
        except DwarfGpuError:
            return None  # which is a problem of the function
        return None if around and all(self.code.is_dropped(low) for low, _high in around) else around

    def _outside(
        self, spans: list[tuple[int, int, int]], section: str, die: Die, around: list[tuple[int, int]]
    ) -> Iterator[Problem]:
        """Yield the first location that is valid where the function has no code, or no function can have some."""
        inside = AddressSpans(around) if around else self.code
        for low, high, offset in spans:
            if not self.code.is_dropped(low) and not inside.cover(low, high):
                text = spans_text(around)
                values = {"low": low, "high": high, **({"around": text} if around else {})}
                yield RULES.problem("outside", section, offset, die, **values)
                return


def spans_text(spans: list[tuple[int, int]]) -> str:
    """Return the first of some addresses of code as text."""
    texts = [f"{low:#x} to {high:#x}" for low, high in spans[:3]]
    return ", ".join(texts) + (", ..." if len(spans) > 3 else "")


def _context(unit: Unit) -> ListContext:
    """Return what the entries of lists depend on, as far as it is known."""
    return unit.list_context if has_addresses(unit) else ListContext(unit.address_size, unit.format.byte_order)
