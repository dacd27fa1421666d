"""Location list cases: a list in hex and a program location as one JSON object, the entries that apply as another.

The same strictness as in `dwarfgpu.program.cases.run`: what is wrong with the form of a case is a `NotACase`, what is
wrong with the list that it holds is its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.json_node import Node, NotACase, parse_integer, unsigned_or_none
from dwarfgpu.objfile.contributions import ADDRESS_SIZES
from dwarfgpu.objfile.lists.encoding import ListContext
from dwarfgpu.objfile.lists.location_lists import ListEntry, read_location_list
from dwarfgpu.program.cases.json_answers import error_json

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRED = ("section", "section_kind")
OPTIONAL = ("id", "offset", "address_size", "byte_order", "version", "unit_base", "pc", "debug_addr")

SECTION_KINDS = ("debug_loclists", "debug_loc", "debug_loc.dwo")
"""How the section is encoded; the last is the GNU form of split units before version 5."""


def run_list_case(obj: object, line: int) -> dict[str, Any]:
    """The answer to a case, as a JSON object. ``line`` is its number, which it has as ``id`` if it names none.

    Without ``pc`` the answer has all entries. A default entry has neither start nor end.
    """
    try:
        return _run(Node(obj), line)
    except NotACase as error:
        raise error.in_line(line) from None


def _run(node: Node, line: int) -> dict[str, Any]:
    fields = node.fields(REQUIRED, OPTIONAL)
    id_ = fields["id"].value if "id" in fields else line
    section = fields["section"].bytes()
    kind = fields["section_kind"].choice(SECTION_KINDS)
    offset = fields["offset"].unsigned() if "offset" in fields else 0
    _check_version(fields.get("version"))
    context = _context(fields)
    pc = unsigned_or_none(fields.get("pc"), 64)
    try:
        found = read_location_list(section, offset, section=f".{kind}", context=context)
        if found.error is not None:
            raise found.error
    except DwarfGpuError as error:
        return {"id": id_, "status": "error", "error": error_json(error)}
    entries = found.entries if pc is None else found.matching(pc)
    return {"id": id_, "status": "ok", "entries": [_entry(entry) for entry in entries]}


def _check_version(node: Node | None) -> None:
    """The kind of the section says all that a version would; it must only be one that there is."""
    if node is not None and not 2 <= node.integer() <= 6:
        raise node.fail("2 to 6 are the versions that are read")


def _context(fields: dict[str, Node]) -> ListContext:
    address_size = fields["address_size"].unsigned(8) if "address_size" in fields else 8
    if address_size not in ADDRESS_SIZES:
        raise fields["address_size"].fail(f"an address cannot have {address_size} bytes")
    order = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else "little"
    return ListContext(
        address_size,
        "little" if order == "little" else "big",
        unsigned_or_none(fields.get("unit_base"), 8 * address_size),
        _address_at(fields.get("debug_addr"), 8 * address_size),
    )


def _address_at(node: Node | None, bits: int) -> Callable[[int], int]:
    """The addresses of a case by index; a case without any has an empty table."""
    addresses: dict[int, int] = {}
    for key, value in node.entries() if node is not None and node.value is not None else ():
        index = parse_integer(key.value)
        if index is None or index < 0:
            raise key.fail("an index of .debug_addr is needed, such as 3 or 0x3")
        if index in addresses:
            raise key.fail(f"index {index} is given twice")
        addresses[index] = value.unsigned(bits)

    def address_at(index: int) -> int:
        if index not in addresses:
            raise MalformedFile(
                "index_out_of_range", f"there is no address {index} in .debug_addr", spec="DWARF 5, 7.27"
            )
        return addresses[index]

    return address_at


def _entry(entry: ListEntry) -> dict[str, Any]:
    start, end = (None, None) if entry.default else (entry.start, entry.end)
    return {"start": start, "end": end, "default": entry.default, "expr": entry.expression.hex()}
