"""Cases of sections: a section in hex as one JSON object, its rows of call frame information or its lists as another.

The same strictness as in `cases.py`: what is wrong with the form of a case is a `NotACase`, what is
wrong with the section that it holds is its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cases_json import table

from dwarfgpu.cfi.rows import Tables
from dwarfgpu.cfi.rules import rule_json
from dwarfgpu.encoding import Bases
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.expr.location_json import error_json
from dwarfgpu.objfile.call_frames import Cie, Fde, FdeIndex, FrameSection
from dwarfgpu.objfile.contributions import ADDRESS_SIZES
from dwarfgpu.objfile.list_encoding import ListContext, read_list
from dwarfgpu.program.code.frame_rows import known_target
from dwarfgpu.strict_json import Node, NotACase, parse_integer
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.cfi.rows import UnwindRules
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.targets.target import Target


REQUIRED = ("section", "section_kind")
FRAME_OPTIONAL = ("id", "address_size", "byte_order", "section_address", "target", "pc", "fde")
FRAME_SECTIONS = ("debug_frame", "eh_frame")


def run_frame_case(obj: object, line: int) -> dict[str, Any]:
    """Return the answer to a case, as JSON. ``line`` is its number, which it has as ``id`` if it names none.

    With ``fde`` only the entry with this index is asked, counted from 0 among frame description entries.
    """
    return _run(obj, line, FRAME_OPTIONAL, _frame_question)


def _unsigned_or_none(node: Node | None, bits: int) -> int | None:
    """Return the number of a field that may be left out, or null."""
    return None if node is None or node.value is None else node.unsigned(bits)


def _run(
    obj: object, line: int, keys: tuple[str, ...], question: Callable[[dict[str, Node]], Callable[[], dict[str, Any]]]
) -> dict[str, Any]:
    """Return the answer to a case; ``question`` reads it and returns what answers it."""
    try:
        fields = Node(obj).fields(REQUIRED, keys)
        answer = question(fields)
    except NotACase as error:
        raise error.in_line(line) from None
    id_ = fields["id"].value if "id" in fields else line
    try:
        return {"id": id_, "status": "ok", **answer()}
    except DwarfGpuError as error:
        return {"id": id_, "status": "error", "error": error_json(error)}


def _frame_question(fields: dict[str, Node]) -> Callable[[], dict[str, Any]]:
    address_size, order = _layout(fields)
    bits = 8 * address_size
    address = fields["section_address"].unsigned(bits) if "section_address" in fields else 0
    section = FrameSection(
        fields["section"].bytes(),
        f".{fields['section_kind'].choice(FRAME_SECTIONS)}",
        byte_order=order,
        address_size=address_size,
        bases=Bases(address),
    )
    target = fields.get("target")
    pc, fde = (_unsigned_or_none(fields.get(key), size) for key, size in (("pc", bits), ("fde", 64)))
    tables = Tables(None if target is None else _target(target))
    return lambda: {"rows": [_row(row) for row in _rows(section, tables, pc, fde)]}


def _layout(fields: dict[str, Node]) -> tuple[int, ByteOrder]:
    address_size = fields["address_size"].unsigned(8) if "address_size" in fields else 8
    if address_size not in ADDRESS_SIZES:
        raise fields["address_size"].fail(f"an address cannot have {address_size} bytes")
    order = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else "little"
    return address_size, "little" if order == "little" else "big"


def _target(node: Node) -> Target | None:
    try:
        return known_target(resolve(node.string()))
    except UsageError as error:
        raise node.fail(error.message, hint=error.hint) from None


def _rows(section: FrameSection, tables: Tables, pc: int | None, number: int | None) -> Iterator[UnwindRules]:
    if number is not None or pc is not None:
        fde = _covering(section, pc or 0) if number is None else _numbered(section, number)
        if pc is not None:
            row = None if fde is None else tables.row_at(fde, pc)
            yield from [] if row is None else [row]
        elif fde is not None:
            yield from tables.rows(fde)
        return
    for entry in section.entries():
        if isinstance(entry, DwarfGpuError):
            raise entry
        if isinstance(entry, Fde):
            yield from tables.rows(entry)
        elif isinstance(entry, Cie) and entry.format is not None:
            tables.initial(entry)  # for its errors


def _covering(section: FrameSection, pc: int) -> Fde | None:
    """Return the entry for an address. Where there is none, an entry that cannot be read is reported."""
    index = FdeIndex(section)
    fde = index.fde_at(pc)
    if fde is None and index.problems:
        raise index.problems[0]
    return fde


def _numbered(section: FrameSection, number: int) -> Fde:
    """Return the entry with an index; an entry that cannot be read counts, too."""
    count = 0
    for entry in section.entries():
        if isinstance(entry, DwarfGpuError) and count == number:
            raise entry
        if isinstance(entry, (Fde, DwarfGpuError)):
            if count == number and isinstance(entry, Fde):
                return entry
            count += 1
    message = f"there is no entry {number}, the section has {count}"
    raise MalformedFile("index_out_of_range", message, spec="A.6.4.1").at(section=section.name)


def _row(row: UnwindRules) -> dict[str, Any]:
    registers = {str(number): rule_json(row.registers[number]) for number in sorted(row.registers)}
    cfa = None if row.cfa is None else rule_json(row.cfa)
    return {"start": row.start, "end": row.end, "cfa": cfa, "registers": registers}


# --- Location list cases ------------------------------------------------------------------------------------------

LIST_OPTIONAL = ("id", "offset", "address_size", "byte_order", "version", "unit_base", "pc", "debug_addr")

LIST_SECTIONS = ("debug_loclists", "debug_loc", "debug_loc.dwo")
"""How the section is encoded; the last is the GNU form of split units before version 5."""


def run_list_case(obj: object, line: int) -> dict[str, Any]:
    """Return the answer to a case, as JSON. ``line`` is its number, which it has as ``id`` if it names none.

    Without ``pc`` the answer has all entries. A default entry has neither start nor end.
    """
    return _run(obj, line, LIST_OPTIONAL, _list_question)


def _list_question(fields: dict[str, Node]) -> Callable[[], dict[str, Any]]:
    section = fields["section"].bytes()
    kind = fields["section_kind"].choice(LIST_SECTIONS)
    offset = fields["offset"].unsigned() if "offset" in fields else 0
    if "version" in fields and not 2 <= fields["version"].integer() <= 6:  # the kind of the section tells all else
        raise fields["version"].fail("2 to 6 are the versions that are read")
    address_size, order = _layout(fields)
    bits = 8 * address_size
    base = _unsigned_or_none(fields.get("unit_base"), bits)
    context = ListContext(address_size, order, base, _address_at(fields.get("debug_addr"), bits))
    pc = _unsigned_or_none(fields.get("pc"), 64)

    def answer() -> dict[str, Any]:
        location_list = read_list(section, offset, section=f".{kind}", context=context)
        if location_list.error is not None:
            raise location_list.error
        found = []
        for entry in location_list.entries if pc is None else location_list.matching(pc):
            start, end = (None, None) if entry.default else (entry.start, entry.end)
            found.append({"start": start, "end": end, "default": entry.default, "expr": entry.expression.hex()})
        return {"entries": found}

    return answer


def _address_index(key: Node) -> int:
    index = parse_integer(key.value)
    if index is None or index < 0:
        raise key.fail("an index of .debug_addr is needed, such as 3 or 0x3")
    return index


def _address_at(node: Node | None, bits: int) -> Callable[[int], int]:
    """Return the addresses of a case by index; a case without any has an empty table."""
    entries = table(
        None if node is None or node.value is None else node, _address_index, lambda index: f"index {index}"
    )
    addresses = {index: value.unsigned(bits) for index, value in entries}

    def address_at(index: int) -> int:
        if index not in addresses:
            message = f"there is no address {index} in .debug_addr"
            raise MalformedFile("index_out_of_range", message, spec="DWARF 5, 7.27")
        return addresses[index]

    return address_at
