"""Call frame information cases: a section in hex as one JSON object, the rows of its entries as another.

The same strictness as in `dwarfgpu.program.cases.run`: what is wrong with the form of a case is a `NotACase`, what is
wrong with the section that it holds is its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.cfi.rows import Tables
from dwarfgpu.encoding.pointers import Bases
from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.json_node import Node, NotACase, unsigned_or_none
from dwarfgpu.objfile.contributions import ADDRESS_SIZES
from dwarfgpu.objfile.frames.entries import Cie, Fde
from dwarfgpu.objfile.frames.index import FrameIndex
from dwarfgpu.objfile.frames.section import FrameSection
from dwarfgpu.program.cases.json_answers import error_json
from dwarfgpu.program.files.frames import known_target, rule_json
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.rows import Row
    from dwarfgpu.targets.target import Target

REQUIRED = ("section", "section_kind")
OPTIONAL = ("id", "address_size", "byte_order", "section_address", "target", "pc", "fde")
SECTION_KINDS = ("debug_frame", "eh_frame")


@frozen
class _Question:
    section: FrameSection
    target: Target | None
    pc: int | None
    fde: int | None


def run_frame_case(obj: object, line: int) -> dict[str, Any]:
    """The answer to a case, as a JSON object. ``line`` is its number, which it has as ``id`` if it names none.

    With ``fde`` only the entry with this index is asked, counted from 0 among frame description entries.
    """
    try:
        node = Node(obj)
        fields = node.fields(REQUIRED, OPTIONAL)
        id_ = fields["id"].value if "id" in fields else line
        question = _question(fields)
    except NotACase as error:
        raise error.in_line(line) from None
    try:
        rows = [_row(row) for row in _rows(question)]
    except DwarfGpuError as error:
        return {"id": id_, "status": "error", "error": error_json(error)}
    return {"id": id_, "status": "ok", "rows": rows}


def _question(fields: dict[str, Node]) -> _Question:
    address_size = fields["address_size"].unsigned(8) if "address_size" in fields else 8
    if address_size not in ADDRESS_SIZES:
        raise fields["address_size"].fail(f"an address cannot have {address_size} bytes")
    order = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else "little"
    bits = 8 * address_size
    address = fields["section_address"].unsigned(bits) if "section_address" in fields else 0
    section = FrameSection(
        fields["section"].bytes(),
        f".{fields['section_kind'].choice(SECTION_KINDS)}",
        byte_order="little" if order == "little" else "big",
        address_size=address_size,
        bases=Bases(address),
    )
    target = fields.get("target")
    pc, fde = (unsigned_or_none(fields.get(key), size) for key, size in (("pc", bits), ("fde", 64)))
    return _Question(section, None if target is None else _target(target), pc, fde)


def _target(node: Node) -> Target | None:
    try:
        return known_target(resolve(node.string()))
    except UsageError as error:
        raise node.fail(error.message, hint=error.hint) from None


def _rows(question: _Question) -> Iterator[Row]:
    pc, tables = question.pc, Tables(question.target)
    if question.fde is None and pc is None:
        yield from _all_rows(question.section, tables)
        return
    fde = _numbered(question.section, question.fde) if question.fde is not None else None
    if pc is None:
        if fde is not None:
            yield from tables.rows(fde)
        return
    fde = _covering(question.section, pc) if fde is None else fde
    row = None if fde is None else tables.row_at(fde, pc)
    if row is not None:
        yield row


def _all_rows(section: FrameSection, tables: Tables) -> Iterator[Row]:
    for entry in section.entries():
        if isinstance(entry, DwarfGpuError):
            raise entry
        if isinstance(entry, Fde):
            yield from tables.rows(entry)
        elif isinstance(entry, Cie) and entry.format is not None:
            tables.initial(entry)  # for its errors


def _covering(section: FrameSection, pc: int) -> Fde | None:
    """The entry for an address. Where none is found, it may be one of those that cannot be read."""
    index = FrameIndex(section)
    found = index.fde_at(pc)
    if found is None and index.problems:
        raise index.problems[0]
    return found


def _numbered(section: FrameSection, number: int) -> Fde:
    """The entry with an index; one that cannot be read counts, too."""
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


def _row(row: Row) -> dict[str, Any]:
    registers = {str(number): rule_json(row.registers[number]) for number in sorted(row.registers)}
    cfa = None if row.cfa is None else rule_json(row.cfa)
    return {"start": row.start, "end": row.end, "cfa": cfa, "registers": registers}
