from collections.abc import Iterator
from typing import Any

from dwarfgpu.dwarf_constants import DW_FORM_addr, DW_FORM_loclistx, DW_FORM_rnglistx, DW_FORM_string, name_of, names
from dwarfgpu.errors import MissingContext
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import VALUE_KINDS, Attribute, Die
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.objfile.lists.list_encoding import ListContext, raw_list, read_list
from tests.comparison.library_lists import raw_entry
from tests.comparison.library_opened import Opened, format_name, length
from tests.comparison.rows import Row, escaped, header


def unit_rows(file: Opened, section: str) -> Iterator[Row]:
    for unit in file.dwarf.units_of(section):
        yield Row("units", f"{section}+{unit.offset:#x}", _unit(unit))
        for die in unit.dies():
            yield from _entry(file, die)
    broken = [error for error in file.dwarf.problems if error.where.section == section]
    if broken:
        raise broken[0]


def _unit(unit: Unit) -> str:
    found = unit.header
    return header(
        length=length(found.offset, found.end, unit.offset_size),
        format=format_name(unit.offset_size),
        version=found.version,
        type=name_of("DW_UT", found.unit_type),
        abbreviations=unit.part(".debug_abbrev")[0] + found.abbreviations,
        address_size=unit.address_size,
        signature=found.signature,
        type_offset=found.type_offset if found.is_type_unit else None,
        id=found.dwo_id,
        next=found.end,
    )


def _entry(file: Opened, die: Die) -> Iterator[Row]:
    where = f"{die.unit.section}+{die.section_offset:#x}"
    parent = die.parent()
    inside = f" in {parent.section_offset:#x}" if parent is not None else ""
    children = "*" if die.has_children else ""
    yield Row("dies", where, f"{die.tag_name} [{die.abbreviation.code}]{children}{inside}")
    for attribute in die.attributes:
        place = f"{where} {attribute.name}"
        if attribute.value_class == "exprloc":
            yield Row("dies", place, attribute.form_name)
            yield Row("expressions", place, file.operations(attribute.block().data, die.unit.format))
        else:
            yield Row("dies", place, f"{attribute.form_name} {_value(file, attribute)}".rstrip())
            if attribute.value_class in ("loclist", "rnglist"):
                yield from _list_of(file, attribute, place)


def _value(file: Opened, attribute: Attribute) -> str:
    kind, found = attribute.value_class, attribute.value
    if kind == "string":
        return _text(file, attribute)
    if kind == "reference":
        leads = f" -> {attribute.reference().section_offset:#x}" if attribute.form in forms.REF_UNIT else ""
        return f"{found:#x}{leads}"
    if kind == "address":
        return _address(file, attribute)
    if kind == "block":
        return bytes(found).hex(" ")
    if kind in ("loclist", "rnglist"):
        index = f"[{found}] " if attribute.form in (DW_FORM_loclistx, DW_FORM_rnglistx) else ""
        return f"{index}{attribute.list_place()[1]:#x}"
    if kind == "flag":
        return hex(int(found))
    return _constant(file, attribute, attribute.die.unit, found)


def _text(file: Opened, attribute: Attribute) -> str:
    try:
        shown = escaped(attribute.string())
    except MissingContext:  # in a supplementary file
        return hex(attribute.value)
    if attribute.form == DW_FORM_string:
        return shown
    index = attribute.value
    return f"[{index}] {shown}" if attribute.form in forms.STRING_INDEX else f"{index:#x} {shown}"


def _address(file: Opened, attribute: Attribute) -> str:
    found, index = attribute.value, ""
    if isinstance(found, tuple):
        index = f"[{found[0]}] + {found[1]:#x} "
    elif attribute.form != DW_FORM_addr:
        index = f"[{found}] "
    try:
        return f"{index}{attribute.address():#x}"
    except MissingContext:  # in the file of the skeleton
        return f"{index}?"


def _constant(file: Opened, attribute: Attribute, unit: Unit, found: int) -> str:
    if attribute.name in ("DW_AT_decl_file", "DW_AT_call_file"):
        table = file.line_table(unit)
        path = None if table is None else table.path(found, unit.directory or "")
        return hex(found) if path is None else escaped(path.encode())
    if attribute.form_name == "DW_FORM_data16":
        return found.to_bytes(16, unit.format.byte_order).hex()
    return (names(VALUE_KINDS[attribute.name]).get(found) if attribute.name in VALUE_KINDS else None) or hex(found)


def _list_of(file: Opened, attribute: Attribute, place: str) -> Iterator[Row]:
    """The entries of the list of an attribute: as addresses, and as they are encoded where those are not known."""
    unit = attribute.die.unit
    section, offset = attribute.list_place()
    if attribute.name == "DW_AT_GNU_locviews":
        file.has_views = True
        return
    context = ListContext(unit.address_size, unit.format.byte_order, unit.low_pc, unit.tables.address)
    try:
        data = unit.tables.list_data(section)
    except MissingContext:  # the ranges of a split unit of version 4 are in the file of its skeleton
        return
    if attribute.value_class == "loclist":
        file.locations.add((section, offset))
        found: Any = read_list(data, offset, section=section, context=context)
        raw, _, _ = raw_list(data, offset, section=section, context=context)
    else:
        found = read_list(data, offset, section=section, context=context)
        raw, _, _ = raw_list(data, offset, section=section, context=context)
    if isinstance(found.error, MissingContext):
        for number, each in enumerate(raw):
            prefix = "DW_LLE_" if attribute.value_class == "loclist" else "DW_RLE_"
            yield Row("lists", f"{place} #{number}", raw_entry(file, each, unit.format, prefix))
        return
    if found.error is not None:
        yield Row("lists", f"{place} error", found.error.kind)
    for number, each in enumerate(found.entries):
        shown = "default" if getattr(each, "default", False) else f"{each.start:#x}..{each.end:#x}"
        if attribute.value_class == "loclist":
            shown = f"{shown} {file.operations(each.expression, unit.format)}".rstrip()
        yield Row("lists", f"{place} #{number}", shown)
