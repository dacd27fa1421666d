"""Expressions to text: the disassembler.

All bytes have a listing: what cannot be decoded is shown as bytes, with the reason. The
text of an expression can be assembled again; what a reader needs beyond that (where a branch goes, what a register is
called) is in notes.
"""

from __future__ import annotations

from collections.abc import Iterator

from dwarfgpu.encoding import BLOCKS
from dwarfgpu.expr.asm import UNDECODED, encode
from dwarfgpu.expr.instruction import Expression, Instruction, decode, implied_register, operands_of, registers_of
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.target import Target

MAX_DEPTH = 16
"""How deep expressions are shown in expressions; below that as bytes."""

_SHORT = 0x10000
"""Numbers from here on are shown in hexadecimal."""


@frozen
class Line:
    """One operation, or the bytes that were not decoded."""

    offset: int
    """The start of the line, in bytes from the start of the expression."""
    bytes: bytes
    """Empty where the dialect has no number for the operation."""
    name: str
    operands: str = ""
    note: str = ""
    """The note: where a branch goes, the names of registers, or why bytes were not decoded."""

    @property
    def text(self) -> str:
        """The line without its note; the assembler reads it."""
        return f"{self.name} {self.operands}" if self.operands else self.name


def lines(expression: Expression, target: Target | None = None) -> list[Line]:
    """Return a line for each operation, and one for the bytes after them that cannot be decoded.

    A branch has its displacement as operand. With ``target``, the note of a line names the registers in it.

    >>> import dwarfgpu as dg
    >>> expression = dg.decode(bytes.fromhex("90811406"), dg.dialect("llvm-user"), dg.Format())
    >>> [(line.offset, line.text, line.note) for line in dg.lines(expression, dg.target("gfx90a"))]
    [(0, 'DW_OP_regx 2561', 'v1'), (3, 'DW_OP_deref', '')]
    """
    data = expression.data
    listed = [
        Line(
            instruction.offset,
            data[instruction.offset : instruction.end],
            instruction.name,
            " ".join(_shown_operands(instruction, expression, 0)),
            _note(instruction, target),
        )
        for instruction in expression.instructions
    ]
    if expression.fault is not None:
        tail = _tail(expression)
        listed.append(Line(expression.end, tail, _undecoded(tail), note=expression.fault.message))
    return listed


def text(expression: Expression, target: Target | None = None) -> str:
    """Return the program in one line, which the assembler reads back: branches go to labels.

    With ``target``, registers have their names, as the assembler reads them for that target.

    >>> import dwarfgpu as dg
    >>> dg.text(dg.decode(bytes.fromhex("313222"), dg.dialect("llvm-user"), dg.Format()))
    'DW_OP_lit1; DW_OP_lit2; DW_OP_plus'
    """
    return "; ".join(statements(expression, target))


def statements(expression: Expression, target: Target | None = None) -> list[str]:
    """Return the statements that `text` joins: an operation, or what was not decoded, in each."""
    return _statements(expression, 0, target)


# --- Programs -----------------------------------------------------------------------------------------------------


def _statements(expression: Expression, depth: int, target: Target | None) -> list[str]:
    targets = {instruction.target for instruction in expression.instructions}
    places = [instruction.offset for instruction in expression.instructions if instruction.offset in targets]
    if expression.end in targets:
        places.append(expression.end)
    labels = {place: f"L{number}" for number, place in enumerate(places, 1)}
    statements = []
    for instruction in expression.instructions:
        words = [instruction.name, *_shown_operands(instruction, expression, depth, labels, target)]
        label = labels.get(instruction.offset)
        statements.append(" ".join(words if label is None else [f"{label}:", *words]))
    if expression.fault is not None:
        statements.append(_undecoded(_tail(expression)))
    label = labels.get(expression.end)
    if label is not None:
        if expression.fault is None:
            statements.append(f"{label}:")
        else:
            statements[-1] = f"{label}: {statements[-1]}"
    return statements


def _tail(expression: Expression) -> bytes:
    return expression.data[expression.end :]


def _undecoded(tail: bytes) -> str:
    return f"{UNDECODED} {tail.hex(' ')})"


# --- Operands -----------------------------------------------------------------------------------------------------


def _shown_operands(
    instruction: Instruction,
    expression: Expression,
    depth: int,
    labels: dict[int, str] | None = None,
    target: Target | None = None,
) -> Iterator[str]:
    """Yield the operands as words that the assembler reads; a displacement follows the name of its register."""
    register = _register_name(implied_register(instruction.operation), target)
    for operand, value in operands_of(instruction):
        if register is not None and operand.kind == "sleb":
            yield f"{register}{value:+d}"
            register = None
            continue
        if register is not None:
            yield register
        register = _register_name(value, target) if operand.name == "R" else None
        if register is not None:
            continue
        if operand.kind in BLOCKS:
            is_nested = operand.kind == "expression"
            yield _nested(value, expression, depth + 1, target) if is_nested else _block(value)
        elif operand.kind == "encoded":
            yield f"{value[0]:#x} {value[1]:#x}"
        elif operand.kind == "branch":
            label = (labels or {}).get(instruction.end + value)
            yield f"{value:+d}" if label is None else f"@{label}"
        else:  # offsets and addresses are hexadecimal
            yield f"{value:#x}" if operand.name in ("DR", "A") or abs(value) >= _SHORT else str(value)
    if register is not None:
        yield register


def _register_name(number: int | None, target: Target | None) -> str | None:
    register = None if number is None or target is None else target.register(number)
    return None if register is None else register.name


def _block(data: bytes) -> str:
    return data.hex() or "0x"


def _nested(data: bytes, outer: Expression, depth: int, target: Target | None) -> str:
    """Return an expression in an expression: in parentheses, if the assembler then makes the same bytes."""
    if depth <= MAX_DEPTH:
        inner = decode(data, outer.dialect, outer.form)
        encoded = (encode(each, outer.dialect, outer.form) for each in inner.instructions)
        if inner.fault is None and b"".join(encoded) == data:
            return f"({'; '.join(_statements(inner, depth, target))})"
    return _block(data)


# --- Notes --------------------------------------------------------------------------------------------------------


def _note(instruction: Instruction, target: Target | None) -> str:
    notes = []
    if instruction.target is not None:
        notes.append(f"-> {instruction.target:#x}")
    if target is not None:
        for number in registers_of(instruction):
            register = target.register(number)
            notes.append(f"no register of {target.name}" if register is None else register.name)
    return ", ".join(notes)
