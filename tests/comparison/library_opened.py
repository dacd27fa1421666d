import contextlib

from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.expr.instruction import decode
from dwarfgpu.objfile.dwarf import Dwarf
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.objfile.line_table import LineTable, line_table
from dwarfgpu.program.code.code_object import CodeObject
from tests.comparison.library_operations import operations_of


class Opened:
    """One file, alone: split files beside it are not looked for."""

    def __init__(self, file: CodeObject, attributes: str | None = None) -> None:
        self.image = file.image
        self.dwarf = Dwarf(file.sections, attributes=attributes)
        self.source = self.dwarf.source
        self.dialect = dialects.get("llvm-user")  # which llvm-dwarfdump reads, whatever the file
        self.locations: set[tuple[str, int]] = set()
        """Where the lists begin that attributes name."""
        self.has_views = False
        """Whether location views stand between the lists (DW_AT_GNU_locviews)."""
        self._line_tables: dict[tuple[str, int], LineTable | None] = {}
        for unit in self.dwarf.units:
            if unit.is_skeleton:
                with contextlib.suppress(MissingContext):  # the split unit is in another file
                    self.dwarf.split_unit(unit)

    def operations(self, data: bytes, form: Format) -> str:
        return operations_of(decode(data, self.dialect, form))

    def string_at(self, form: str, value: int) -> bytes:
        return self.source.string(".debug_line_str" if form == "line_strp" else ".debug_str", value)

    def line_table(self, unit: Unit) -> LineTable | None:
        """The table that a unit names, or the one in its own file."""
        found = unit.root_value(0x10)  # DW_AT_stmt_list
        if found is None:
            return None
        part, section = unit.part(".debug_line")
        key = section, part + int(found[1])
        if key not in self._line_tables:
            data = self.source.data(section)
            try:
                self._line_tables[key] = line_table(
                    data, key[1], byte_order=self.source.byte_order, string_at=self.string_at, section=section
                )
            except DwarfGpuError:
                self._line_tables[key] = None
        return self._line_tables[key]


def format_name(offset_size: int) -> str:
    return "DWARF64" if offset_size == 8 else "DWARF32"


def length(start: int, end: int, offset_size: int) -> int:
    """What the header says about the length of what begins at ``start``."""
    return end - start - (12 if offset_size == 8 else 4)
