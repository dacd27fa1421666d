"""Bytes to expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.encoding import operands
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.expr import table
from dwarfgpu.expr.dialect import format_path
from dwarfgpu.expr.instruction import Expression, Instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.expr.dialect import Dialect, Path

    Knowers = Callable[[Path], Iterable[str]]


def decode(
    data: bytes,
    dialect: Dialect,
    form: Format,
    *,
    section: str | None = None,
    offset: int = 0,
    known_in: Knowers | None = None,
) -> Expression:
    """Decode an operation expression. What cannot be decoded is kept as the expression's fault, never raised.

    ``known_in`` names the dialects that know a path, as a hint when the wrong one was chosen.
    """
    cursor = Cursor(data, byte_order=form.byte_order)
    instructions: list[Instruction] = []
    fault: DwarfGpuError | None = None
    start = 0
    while cursor.position < cursor.end:
        start = cursor.position
        name = None
        try:
            path = _path(cursor, dialect)
            encoding = dialect.by_path.get(path)
            if encoding is None:
                raise _unknown(path, dialect, known_in)
            name = encoding.name
            row = table.row(name)
            kinds = encoding.operand_kinds
            values = tuple([operands.read(kind, cursor, form) for kind in kinds])
        except DwarfGpuError as error:
            fault = error.at(section=section, offset=offset + start, operation=name)
            fault.where.offset = offset + start  # the operation counts, not the operand in it
            fault.where.operation = name
            break
        instructions.append(Instruction(row, name, values, start, cursor.position))
        if "tail" in kinds:
            message = f"the operands of {name} are not documented, so the rest of the expression is opaque"
            fault = Unsupported(name, message, spec=dialect.source)
            fault.at(section=section, offset=offset + start, operation=name)
            instructions.pop()
            break
    tail = start if fault is not None else None
    return Expression(data, tuple(instructions), form, dialect, fault=fault, tail=tail, section=section, offset=offset)


def _path(cursor: Cursor, dialect: Dialect) -> Path:
    path: Path = (cursor.unsigned(1),)
    while path in dialect.prefixes:
        path = (*path, cursor.uleb())
    return path


def _unknown(path: Path, dialect: Dialect, known_in: Knowers | None) -> IllFormed:
    names = list(known_in(path)) if known_in is not None else []
    reserved = len(path) > 1 and path[-1] == 0
    message = f"{format_path(path)} is not an operation of dialect {dialect.name}"
    if reserved:
        return IllFormed("unknown_operation", f"{message}: the sub-opcode 0 is reserved", spec="A.2.5.4.0")
    hint = f"{format_path(path)} is known in: {', '.join(names)}" if names else None
    return IllFormed("unknown_operation", message, spec="DWARF 5, 7.7.1", hint=hint)
