"""What dwarfgpu says about a file, as rows: with the reader, and with the listing of expressions."""

from collections.abc import Iterator

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import CodeObject
from tests.comparison.library_lines import line_rows
from tests.comparison.library_lists import list_section_rows, old_list_rows
from tests.comparison.library_opened import Opened
from tests.comparison.library_tables import address_rows, address_set_rows, name_rows, package_rows, string_offset_rows
from tests.comparison.library_units import unit_rows
from tests.comparison.rows import Row


def rows_of(code_object: CodeObject, attributes: str | None = None) -> Iterator[Row]:
    """Everything. Where a section cannot be read, its error is a row, and the other sections follow."""
    file = Opened(code_object, attributes)
    for section in (".debug_info", ".debug_types", ".debug_info.dwo", ".debug_types.dwo"):
        yield from _guarded("dies", section, unit_rows(file, section))
    for suffix in ("", ".dwo"):
        for name in (".debug_loclists", ".debug_rnglists"):
            yield from _guarded("list sections", name + suffix, list_section_rows(file, name + suffix))
        for name in (".debug_loc", ".debug_ranges"):
            yield from _guarded("list sections", name + suffix, old_list_rows(file, name + suffix))
        yield from _guarded("lines", f".debug_line{suffix}", line_rows(file, f".debug_line{suffix}"))
    yield from _guarded("names", ".debug_aranges", address_set_rows(file))
    yield from _guarded("names", ".debug_names", name_rows(file))
    yield from _guarded("tables", ".debug_addr", address_rows(file))
    yield from _guarded("tables", ".debug_str_offsets", string_offset_rows(file))
    for section in (".debug_cu_index", ".debug_tu_index"):
        yield from _guarded("tables", section, package_rows(file, section))


def _guarded(aspect: str, section: str, rows: Iterator[Row]) -> Iterator[Row]:
    try:
        yield from rows
    except DwarfGpuError as error:
        yield Row(aspect, section, f"{error.error_class} {error.kind}")
