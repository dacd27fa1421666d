"""The line number program: from instructions to rows (DWARF 5 section 6.2.5).

A large program has hundreds of thousands of rows, so they are kept as columns of numbers, and the loop that makes
them does as little as it can for each. File and column change less often than address and line, and share a number;
so do the flags, the instruction set, the operation index and the discriminator.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING

from dwarfgpu import budget
from dwarfgpu.dwarf_constants import (
    DW_LNE_define_file,
    DW_LNE_end_sequence,
    DW_LNE_set_address,
    DW_LNE_set_discriminator,
    DW_LNS_advance_line,
    DW_LNS_advance_pc,
    DW_LNS_const_add_pc,
    DW_LNS_copy,
    DW_LNS_fixed_advance_pc,
    DW_LNS_negate_stmt,
    DW_LNS_set_basic_block,
    DW_LNS_set_column,
    DW_LNS_set_epilogue_begin,
    DW_LNS_set_file,
    DW_LNS_set_isa,
    DW_LNS_set_prologue_end,
)
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.contributions import ADDRESS_SIZES
from dwarfgpu.objfile.lines.line_header import FileEntry, LineHeader, file_entry
from dwarfgpu.objfile.section_source import decode

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder

# The low bits of a mark; from bit 8 on it has the operation index, from 16 the isa, from 32 the discriminator.
IS_STMT, BASIC_BLOCK, END_SEQUENCE, PROLOGUE_END, EPILOGUE_BEGIN = 1, 2, 4, 8, 16
_OP_INDEX, _ISA, DISCRIMINATOR = 8, 16, 32

_LAST = {32: (1 << 32) - 1, 16: (1 << 16) - 1}
"""The largest number for a register that is kept in so many bits."""
MAX_DEFINED_FILES = 1 << 20
MAX_ODDITIES = 1000


@frozen
class LineRow:
    """One row of a line table (DWARF 5, 6.2.2)."""

    address: int
    line: int
    column: int
    file: int
    """The number of a row of the file table; the header says whether it counts from 0 or 1."""
    is_stmt: bool = False
    basic_block: bool = False
    end_sequence: bool = False
    prologue_end: bool = False
    epilogue_begin: bool = False
    isa: int = 0
    discriminator: int = 0
    op_index: int = 0


@immutable
class Sequence:
    """The rows of one contiguous piece of code (DWARF 5, 6.2.1)."""

    first: int
    stop: int
    """The row past the last one, which is the end_sequence row unless the program is cut short."""
    origin: int
    """The first address that the program sets in it: that of the code, or a tombstone if the linker dropped it."""


class LineMatrix:
    """The rows of a table in the order of its program, as columns."""

    __slots__ = (
        *("addresses", "defined_files", "error", "is_cut", "lines", "marks", "oddities", "origin", "places"),
        "sequences",
    )

    def __init__(self) -> None:
        self.addresses = array("Q")
        self.lines = array("I")
        self.places = array("Q")
        """File number << 32 | column."""
        self.marks = array("Q")
        self.sequences: list[Sequence] = []
        self.origin: int | None = None
        """The origin of the sequence that is being made."""
        self.defined_files: list[FileEntry] = []
        """The files of DW_LNE_define_file, which follow those of the header."""
        self.error: DwarfGpuError | None = None
        """What stopped the program. The rows before it are good."""
        self.is_cut = False
        """Whether the budget was spent before the end of the program."""
        self.oddities: list[tuple[int, int, int]] = []
        """The extended instructions that are unknown or of another length than theirs: opcode, length, and offset in
        the section. The first of them only."""

    def __len__(self) -> int:
        return len(self.marks)

    def __getitem__(self, index: int) -> LineRow:
        mark, place = self.marks[index], self.places[index]
        return LineRow(
            self.addresses[index],
            self.lines[index],
            place & 0xFFFFFFFF,
            place >> 32,
            bool(mark & IS_STMT),
            bool(mark & BASIC_BLOCK),
            bool(mark & END_SEQUENCE),
            bool(mark & PROLOGUE_END),
            bool(mark & EPILOGUE_BEGIN),
            mark >> _ISA & 0xFFFF,
            mark >> DISCRIMINATOR,
            mark >> _OP_INDEX & 0xFF,
        )

    def __iter__(self) -> Iterator[LineRow]:
        return (self[index] for index in range(len(self)))

    def note(self, payload: bytes, left: int) -> None:
        """Remember an extended instruction that is not as the standard has it, with the bytes left behind it."""
        if len(self.oddities) < MAX_ODDITIES:
            self.oddities.append((payload[0], len(payload), left))

    def close(self) -> bool:
        """End the sequence of the rows since the last one, if there are any."""
        first, origin = self.sequences[-1].stop if self.sequences else 0, self.origin or 0
        self.origin = None
        if first == len(self):
            return False
        self.sequences.append(Sequence(first, len(self), origin))
        return True


def run(data: bytes, header: LineHeader, free: int | None = None) -> LineMatrix:
    """Run the program of a header over the bytes of its section.

    Addresses wrap around at the address size: those of a function that the linker dropped begin at the last one.
    ``free`` says how many bytes of the program cost nothing. A longer one is paid from the budget, or cut.
    """
    rows = LineMatrix()
    end = header.end
    if free is not None and end - header.program > free and not budget.take(end - header.program - free):
        end = header.program + free
        rows.is_cut = True
    rest = iter(data[header.program : end])
    wide = _Wide(header) if header.max_operations > 1 else None
    try:
        _run(rest, header, rows, wide)
    except StopIteration:
        rows.error = _error("truncated", "the program ends inside an instruction", "6.2.5")
    except DwarfGpuError as error:
        rows.error = error
    if rows.close() and rows.error is None:
        rows.error = _error("no_end_sequence", "the last sequence has no end", "6.2.5.3")
    if rows.is_cut:
        rows.error = budget.exceeded("the rest of a compressed line program is left out")
    if rows.error is not None:
        rows.error.at(section=header.section, offset=end - length_hint(rest))
        del rows.addresses[len(rows) :], rows.lines[len(rows) :]  # those of a row that could not be finished
    rows.oddities = [(code, length, end - left - length) for code, length, left in rows.oddities]
    if wide is not None:
        wide.convert(rows)
    last = (1 << 8 * header.address_size) - 1
    if rows.addresses and max(rows.addresses) > last:
        rows.addresses = array("Q", (address & last for address in rows.addresses))
    return rows


def _run(rest: Iterator[int], header: LineHeader, rows: LineMatrix, wide: _Wide | None) -> None:  # noqa: C901, PLR0912, PLR0915
    """Run the loop.

    One function has all registers in local variables: a call would cost more than the row it makes.

    With wide instructions (``wide``) the address register counts operations, and `_Wide` makes addresses of them.
    """
    add_address, add_line = rows.addresses.append, rows.lines.append
    add_place, add_mark = rows.places.append, rows.marks.append
    first_special = header.opcode_base
    step = header.min_instruction_length if wide is None else 1
    address_steps, line_steps = _special_steps(header, step)
    initial = IS_STMT if header.default_is_stmt else 0
    address, line, file, column = 0, 1, 1 << 32, 0
    place = file | column
    mark = lasting = initial  # `lasting` is what a mark is after a row (DWARF 5, 6.2.5.1 (4))
    while True:
        try:
            for op in rest:
                if op >= first_special:
                    address += address_steps[op]
                    line += line_steps[op]
                    add_address(address)
                    add_line(line)
                    add_place(place)
                    add_mark(mark)
                    mark = lasting
                elif op == DW_LNS_set_column:
                    column = next(rest)
                    if column > 0x7F:
                        column = _register(_uleb(rest, column), 32, "column")
                    place = file | column
                elif op == DW_LNS_negate_stmt:
                    mark ^= IS_STMT
                    lasting ^= IS_STMT
                elif op == DW_LNS_advance_line:
                    line += _sleb(rest)
                elif op == 0x00:
                    payload = _extended(rest)
                    code = payload[0]
                    if code == DW_LNE_set_discriminator:
                        number = payload[1] if len(payload) == 2 else _discriminator(rows, payload, rest)
                        mark = mark & 0xFFFFFFFF | _register(number, 32, "discriminator") << DISCRIMINATOR
                    elif code == DW_LNE_end_sequence:
                        if len(payload) != 1:
                            rows.note(payload, length_hint(rest))
                        add_address(address & 0xFFFFFFFFFFFFFFFF)
                        add_line(line)
                        add_place(place)
                        add_mark(mark | END_SEQUENCE)
                        rows.close()
                        address, line, file, column = 0, 1, 1 << 32, 0
                        place = file
                        mark = lasting = initial
                        if wide is not None:
                            wide.begin(len(rows), 0)
                    elif code == DW_LNE_set_address:
                        address = _address(payload, header.byte_order)
                        if len(payload) != header.address_size + 1:
                            rows.note(payload, length_hint(rest))
                        if rows.origin is None:
                            rows.origin = address
                        if wide is not None:
                            wide.begin(len(rows), address)
                            address = 0
                    elif code == DW_LNE_define_file:
                        _define_file(rows, payload)
                        if header.version >= 5:  # which has no such instruction any more
                            rows.note(payload, length_hint(rest))
                    else:
                        rows.note(payload, length_hint(rest))
                elif op == DW_LNS_advance_pc:
                    address += _uleb(rest) * step
                elif op == DW_LNS_copy:
                    add_address(address)
                    add_line(line)
                    add_place(place)
                    add_mark(mark)
                    mark = lasting
                elif op == DW_LNS_const_add_pc:
                    address += address_steps[255]
                elif op == DW_LNS_set_file:
                    file = _register(_uleb(rest), 32, "file") << 32
                    place = file | column
                elif op == DW_LNS_set_prologue_end:
                    mark |= PROLOGUE_END
                elif op == DW_LNS_set_epilogue_begin:
                    mark |= EPILOGUE_BEGIN
                elif op == DW_LNS_set_basic_block:
                    mark |= BASIC_BLOCK
                elif op == DW_LNS_fixed_advance_pc:
                    advance = int.from_bytes((next(rest), next(rest)), header.byte_order)
                    if wide is None:
                        address += advance
                    else:
                        wide.begin(len(rows), wide.address(address) + advance)
                        address = 0
                elif op == DW_LNS_set_isa:
                    isa = _register(_uleb(rest), 16, "isa") << _ISA
                    mark = mark & ~(0xFFFF << _ISA) | isa
                    lasting = lasting & ~(0xFFFF << _ISA) | isa
                else:  # a standard opcode of a later version, or of a vendor
                    for _ in range(header.opcode_lengths[op - 1]):
                        _uleb(rest)
            return
        except OverflowError:  # of the columns
            if len(rows.addresses) > len(rows.lines) or wide is not None:
                raise _error("bad_line", f"line {line} is not a line number", "6.2.2") from None
            address &= 0xFFFFFFFFFFFFFFFF
            add_address(address)
            if not 0 <= line <= _LAST[32]:
                raise _error("bad_line", f"line {line} is not a line number", "6.2.2") from None
            add_line(line)
            add_place(place)
            add_mark(mark)
            mark = lasting
        except IndexError:
            raise _error("bad_line_range", "a special opcode in a table whose line range is 0", "6.2.5.1") from None


def _special_steps(header: LineHeader, step: int) -> tuple[list[int], list[int]]:
    if not header.line_range:
        return [], []
    adjusted = [max(0, op - header.opcode_base) for op in range(256)]
    return (
        [number // header.line_range * step for number in adjusted],
        [header.line_base + number % header.line_range for number in adjusted],
    )


def _uleb(rest: Iterator[int], first: int | None = None) -> int:
    byte = next(rest) if first is None else first
    result = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        byte = next(rest)
        result |= (byte & 0x7F) << shift
        shift += 7
        if result >> 64:
            raise _error("leb128_overflow", "an unsigned LEB128 number has more than 64 bits", "7.6")
    return result


def _sleb(rest: Iterator[int]) -> int:
    byte = next(rest)
    result = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        byte = next(rest)
        if shift < 70:
            result |= (byte & 0x7F) << shift
            shift += 7
        elif byte & 0x7F != (0x7F if result >> 69 else 0):  # only the sign may follow
            raise _error("leb128_overflow", "a signed LEB128 number has more than 64 bits", "7.6")
    if result >> (shift - 1):
        result -= 1 << shift
    if not -(1 << 63) <= result < 1 << 63:
        raise _error("leb128_overflow", "a signed LEB128 number has more than 64 bits", "7.6")
    return result


def _register(value: int, bits: int, name: str) -> int:
    """Refuse a number that is too large for its register; no producer writes one."""
    if value > _LAST[bits]:
        raise _error("register_overflow", f"the {name} {value:#x} has more than {bits} bits", "6.2.2")
    return value


def _extended(rest: Iterator[int]) -> bytes:
    """Return the bytes of an extended instruction after its length; the opcode is the first."""
    length = _uleb(rest)
    if length > length_hint(rest):
        message = f"an extended instruction claims {length} bytes, {length_hint(rest)} are left"
        raise _error("truncated", message, "6.2.5.3")
    if length == 0:
        raise _error("bad_extended_opcode", "an extended instruction has no opcode", "6.2.5.3")
    return bytes(islice(rest, length))


def _address(payload: bytes, byte_order: ByteOrder) -> int:
    size = len(payload) - 1
    if size not in ADDRESS_SIZES:
        raise _error("bad_address_size", f"an address cannot have {size} bytes", "6.2.5.3 (2)")
    return int.from_bytes(payload[1:], byte_order)


def _discriminator(rows: LineMatrix, payload: bytes, rest: Iterator[int]) -> int:
    operand = iter(payload[1:])
    number = _uleb(operand)
    if length_hint(operand):
        rows.note(payload, length_hint(rest))
    return number


def _define_file(rows: LineMatrix, payload: bytes) -> None:
    cursor = Cursor(payload, payload.find(b"\0") + 1, error=MalformedFile)
    if cursor.position == 0 or len(rows.defined_files) >= MAX_DEFINED_FILES:
        raise _error("bad_file", "DW_LNE_define_file has no end, or there are too many", "6.2.5.3")
    name = decode(payload[1 : cursor.position - 1])
    rows.defined_files.append(file_entry(cursor, name))


def _error(kind: str, message: str, section: str) -> MalformedFile:
    return MalformedFile(kind, message, spec=f"DWARF 5, {section}")


class _Wide:
    """Addresses and operation indices of a machine with several operations in an instruction (DWARF 5, 6.2.5.1).

    Since an address was set, ``n`` operations lead to instruction ``n // max_operations`` and operation
    ``n % max_operations`` in it, so the loop need only count them.
    """

    def __init__(self, header: LineHeader) -> None:
        self.max_operations = header.max_operations
        self.length = header.min_instruction_length
        self.parts = [(0, 0)]  # the row from which on operations are counted, and the address they count from

    def begin(self, row: int, address: int) -> None:
        self.parts.append((row, address))

    def address(self, operations: int) -> int:
        return self.parts[-1][1] + operations // self.max_operations * self.length

    def convert(self, rows: LineMatrix) -> None:
        stops = [row for row, _ in self.parts[1:]]
        for (start, base), stop in zip(self.parts, [*stops, len(rows)], strict=True):
            for row in range(start, min(stop, len(rows))):
                instructions, op_index = divmod(rows.addresses[row], self.max_operations)
                rows.addresses[row] = (base + instructions * self.length) & 0xFFFFFFFFFFFFFFFF
                rows.marks[row] |= op_index << _OP_INDEX
