"""Bytes to call frame instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from dwarfgpu.cfi import table
from dwarfgpu.cfi.rules import Block
from dwarfgpu.dwarf_constants import DW_EH_PE_omit
from dwarfgpu.encoding import operands
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.pointers import read_pointer
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.table import CallFrameInstruction, Operand
    from dwarfgpu.encoding.frame_format import FrameFormat

SPEC = "DWARF 5, 7.24"


@frozen
class Instruction:
    """One instruction, with its operands."""

    row: CallFrameInstruction
    operands: tuple[Any, ...]
    """Numbers, what is factored in bytes; for an expression a `Block`. The row says what they are."""
    offset: int
    """The start of the instruction in the section."""
    end: int
    """The start of the next instruction."""

    @property
    def name(self) -> str:
        return self.row.name

    def pairs(self) -> Iterator[tuple[Operand, Any]]:
        """Return the operands with their values."""
        return zip(self.row.operands, self.operands, strict=True)


@frozen
class Instructions:
    """The instructions of an entry, and the ``fault`` after the last one if the rest cannot be decoded."""

    instructions: tuple[Instruction, ...]
    fault: DwarfGpuError | None = None

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)


def decode(data: bytes, format: FrameFormat, *, section: str | None = None, offset: int = 0) -> Instructions:
    """Decode the instructions of an entry. ``offset`` is where they begin in the section."""
    decoded: list[Instruction] = []
    try:
        decoded.extend(instructions(data, format, section=section, offset=offset))
    except DwarfGpuError as error:
        return Instructions(tuple(decoded), error)
    return Instructions(tuple(decoded))


def instructions(
    data: bytes, format: FrameFormat, *, section: str | None = None, offset: int = 0
) -> Iterator[Instruction]:
    """Yield the instructions one by one, and raise the error of what cannot be decoded."""
    form = format.form
    cursor = Cursor(data, byte_order=form.byte_order)
    reader = _Reader(cursor, format, section, offset)
    while cursor.position < cursor.end:
        start = cursor.position
        opcode = data[start]
        cursor.position = start + 1
        row = table.find(opcode)
        if row is None:
            message = f"{opcode:#04x} is no call frame instruction"
            error: DwarfGpuError = IllFormed("unknown_instruction", message, spec=SPEC)
            raise error.at(section=section, offset=offset + start)
        try:
            values = tuple([reader.operand(operand, opcode) for operand in row.operands])
        except DwarfGpuError as fault:
            fault.where.offset = offset + start  # the instruction counts, not the operand in it
            fault.where.operation = row.name
            raise fault.at(section=section) from None
        yield Instruction(row, values, offset + start, offset + cursor.position)


class _Reader:
    """A reader of operands, which multiplies the factors of the CIE in."""

    __slots__ = ("_cursor", "_factors", "_format", "_offset", "_section")

    def __init__(self, cursor: Cursor, format: FrameFormat, section: str | None, offset: int) -> None:
        self._cursor = cursor
        self._format = format
        self._section = section
        self._offset = offset
        data = format.data_alignment
        self._factors = {"": 1, "code": format.code_alignment, "data": data, "-data": -data}

    def operand(self, operand: Operand, opcode: int) -> Any:
        """Read an operand."""
        encoding = operand.encoding
        if encoding == "low6":
            return (opcode & 0x3F) * self._factors[operand.factor]
        if encoding == "block":
            block: bytes = operands.read("block", self._cursor, self._format.form)
            return Block(block, self._section, self._offset + self._cursor.position - len(block))
        if encoding == "pointer":
            return self._address()
        number: int = operands.read(encoding, self._cursor, self._format.form)
        return number * self._factors[operand.factor]

    def _address(self) -> int:
        """Read a target address, encoded like the location of the entry."""
        how = self._format
        if how.pointers == DW_EH_PE_omit:
            message = "the augmentation omits addresses"
            raise IllFormed("bad_augmentation", message, spec=SPEC)
        bases = evolve(how.bases, section=how.bases.section + self._offset)
        pointer = read_pointer(self._cursor, how.pointers, how.form, bases)
        if pointer.indirect:
            message = f"the location is stored in memory, at {pointer.address:#x}"
            raise Unsupported("pointer_encoding", message, spec="LSB 5.0, 10.5.1")
        return pointer.address
