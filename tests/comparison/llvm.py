"""The output of llvm-dwarfdump as rows.

What it prints besides the content of a file is left out: the names of types that references lead to, the names of
sections that addresses are in, and the names of registers where the operation implies them.
"""

import re
from collections.abc import Callable, Iterator

from dwarfgpu.targets.target import Target
from tests.comparison.llvm_lines import line_rows
from tests.comparison.llvm_lists import location_list_rows, range_list_rows, range_rows
from tests.comparison.llvm_tables import address_rows, address_set_rows, name_rows, package_rows, string_offset_rows
from tests.comparison.llvm_units import unit_rows
from tests.comparison.rows import Row

_SECTION = re.compile(r"^\.(\S+) contents:$")

READERS: dict[str, Callable[[str, list[str], Target], Iterator[Row]]] = {
    ".debug_info": unit_rows,
    ".debug_types": unit_rows,
    ".debug_loc": location_list_rows,
    ".debug_loclists": location_list_rows,
    ".debug_ranges": range_rows,
    ".debug_rnglists": range_list_rows,
    ".debug_line": line_rows,
    ".debug_addr": address_rows,
    ".debug_str_offsets": string_offset_rows,
    ".debug_cu_index": package_rows,
    ".debug_tu_index": package_rows,
    ".debug_aranges": address_set_rows,
    ".debug_names": name_rows,
}
"""What reads the output for a section, or for the section of that name in a split file."""


def rows_of(text: str, target: Target) -> Iterator[Row]:
    """What a golden file says. ``target`` knows the numbers of the registers that are named."""
    section = ""
    lines: list[str] = []
    for line in [*text.splitlines(), "$ "]:
        match = _SECTION.match(line)
        if match or line.startswith("$ "):
            reader = READERS.get(section.removesuffix(".dwo"))
            if reader is not None:
                yield from reader(section, lines, target)
            section, lines = f".{match[1]}" if match else "", []
        elif line and not line.startswith("! "):
            lines.append(line)
