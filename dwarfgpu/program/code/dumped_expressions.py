"""The dump of expressions: the operations, and what the operands refer to in the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dwarfgpu import dialects
from dwarfgpu.errors import DwarfGpuError, noting
from dwarfgpu.expr.instruction import Instruction, decode, operands_of, registers_of
from dwarfgpu.expr.listing import statements
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.resolve import resolve

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.targets.target import AddressSpace


MAX_KNOWN = 1 << 14
"""How many expressions are remembered: compilers write the same ones again and again."""


@frozen
class DumpedExpression:
    """A decoded expression."""

    data: bytes
    operations: tuple[str, ...]
    """As the assembler reads them, with the registers of the target by name."""
    notes: tuple[str, ...]
    """The meaning of operands in this file: entries, addresses by index, address spaces."""
    error: DwarfGpuError | None
    """Why the rest, which the operations show as bytes, could not be decoded."""

    @property
    def text(self) -> str:
        """All operations in one line."""
        return "; ".join(self.operations)


class ExpressionDecoder:
    """The decoder of a file's expressions; ``dialect`` replaces the dialect of the target."""

    def __init__(self, file: CodeObject, dialect: str | None = None) -> None:
        self.target = file.target.target
        self.dialect: Dialect = dialects.get(dialect or self.target.default_dialect)
        self._known: dict[tuple[bytes, Format | Unit], DumpedExpression] = {}

    def read(self, data: bytes, form: Format, section: str, offset: int, unit: Unit | None = None) -> DumpedExpression:
        """Decode the expression at an offset of a section; ``unit`` is the unit that it belongs to, if any.

        The same bytes are decoded once, unless an error names their place.
        """
        key = data, form if unit is None else unit
        expression = self._known.get(key)
        if expression is None:
            expression = self._read(data, form, section, offset, unit)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            if expression.error is None:
                self._known[key] = expression
        return expression

    def _read(self, data: bytes, form: Format, section: str, offset: int, unit: Unit | None) -> DumpedExpression:
        decoded = decode(data, self.dialect, form, section=section, offset=offset, known_in=dialects.known_in)
        notes: dict[str, None] = {}
        for i in range(len(decoded.instructions)):
            notes.update(dict.fromkeys(self._notes(decoded.instructions, i, unit)))
        return DumpedExpression(data, tuple(statements(decoded, self.target)), tuple(notes), decoded.fault)

    def _notes(self, program: Sequence[Instruction], i: int, unit: Unit | None) -> Iterator[str]:
        instruction = program[i]
        for number in registers_of(instruction):
            if self.target.register(number) is None:
                yield f"register {number}: {self._elsewhere(number)}"
        if unit is not None and "unit" in instruction.operation.needs:
            for operand, value in operands_of(instruction):
                if operand.name == "DR":
                    yield f"{value:#x}: {_referred(unit, value, instruction, operand.kind)}"
                elif operand.name == "I":
                    yield f"index {value}: {_address(unit, value)}"
        space = self._space(program, i)
        if space is not None:
            yield f"address space {space.number}: {space.name}"

    def _elsewhere(self, number: int) -> str:
        """Return the name that a register, unknown for the target, has in waves of the other size."""
        name = self.target.name
        for size, other in (("32", "64"), ("64", "32")):
            if name.endswith(f"-wave{size}"):
                register = resolve(f"{name.removesuffix(size)}{other}").register(number)
                if register is not None:
                    return f"{register.name} of waves of {other} lanes"
        return f"{name} has no such register"

    def _space(self, program: Sequence[Instruction], i: int) -> AddressSpace | None:
        """Return the address space that an operation takes from the literal before it, as compilers write it."""
        name = program[i].operation.name
        if name.startswith("DW_OP_xderef"):  # the address space is below the address
            literal = program[i - 2] if i > 1 and program[i - 1].operation.name == "DW_OP_swap" else None
        elif name in ("DW_OP_LLVM_form_aspace_address", "DW_OP_LLVM_aspace_bregx"):
            literal = program[i - 1] if i else None
        else:
            return None
        number = None if literal is None else _literal(literal)
        return None if number is None else self.target.space(number)


def _literal(instruction: Instruction) -> int | None:
    name = instruction.operation.name
    if name.startswith("DW_OP_lit"):
        return int(name.removeprefix("DW_OP_lit"))
    if name.startswith("DW_OP_const") and len(instruction.operands) == 1 and name != "DW_OP_constx":
        return int(instruction.operands[0])
    return None


def _referred(unit: Unit, offset: int, instruction: Instruction, kind: str) -> str:
    """Return the target of an operand that is the offset of an entry. 0 for a base type is the generic type."""
    if kind == "uleb" and not offset:
        return "the generic type"
    from dwarfgpu.program.types.declaration import entry_name

    try:
        return entry_name(unit.dwarf.die_at(offset) if kind == "ref" else unit.die_at(offset))
    except DwarfGpuError as error:
        return error.message


def _address(unit: Unit, index: int) -> str:
    with noting(unit.dwarf.note):
        return f"{unit.tables.address(index):#x}"
    return "unknown"
