"""Integers in the lanes of waves: read from registers and memory, and computed from each other.

Each column gives the numbers of a batch as an array, for Python, and writes the same for one wave as text of LLVM, for
the forms of instructions with breakpoints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dwarfgpu.execution.batch import NOTHING, UNSET
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device import Device

OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "==": (operator.eq, "icmp eq"), "!=": (operator.ne, "icmp ne"), "<": (operator.lt, "icmp {}lt"),
    "<=": (operator.le, "icmp {}le"), ">": (operator.gt, "icmp {}gt"), ">=": (operator.ge, "icmp {}ge"),
    "+": (operator.add, "add"), "-": (operator.sub, "sub"), "*": (operator.mul, "mul"),
    "&": (operator.and_, "and"), "|": (operator.or_, "or"), "^": (operator.xor, "xor"),
    "&&": (np.logical_and, "and"), "||": (np.logical_or, "or"),
}  # fmt: skip
"""The operators of C for two numbers of one type, or two flags, in numpy and in LLVM."""
FLAG = np.dtype(bool)


class Unplaced(Exception):
    """An expression, or a part of it, is none that can be read as a column."""


class LaneNumbers(Protocol):
    """Integers, or flags, in the lanes of waves."""

    @property
    def type(self) -> np.dtype[Any]:
        """The type of the numbers."""

    def __call__(self, batch: WaveBatch, /) -> Any:
        """Return an array that fits ``[wave, lane]``; raise `Unplaced` where that is not known."""

    def write(self, writer: Any) -> str:
        """Write the numbers of the lanes of a wave as text of a `GuardedForm`, which refuses where they are unknown."""


def _vector(writer: Any, type_: np.dtype[Any]) -> str:
    return f"<{writer.lanes} x i{_bits(type_)}>"


def _bits(type_: np.dtype[Any]) -> int:
    return 1 if type_ == FLAG else 8 * type_.itemsize


def _converted(writer: Any, value: str, before: np.dtype[Any], after: np.dtype[Any]) -> str:
    """Return numbers with other bits, with their sign if they have one."""
    change = _bits(after) - _bits(before)
    if not change:
        return value
    name = "trunc" if change < 0 else "sext" if before.kind == "i" else "zext"
    return str(writer.ir.put(f"{name} {_vector(writer, before)} {value} to {_vector(writer, after)}"))


@frozen
class PrivateColumn:
    """Numbers at one private address of all lanes."""

    device: Device
    address: int
    size: int

    @property
    def type(self) -> np.dtype[Any]:
        return np.dtype(f"u{self.size}")

    def __call__(self, batch: WaveBatch) -> Any:
        count = max(1, self.size // 4)
        words = self.device.memory.private_numbers(batch, self.address, min(self.size, 4), count)
        if words is None:
            raise Unplaced
        return words[0] if count == 1 else words[0] | words[1].astype(np.uint64) << np.uint64(32)

    def write(self, writer: Any) -> str:
        if self.address < 0 or self.address % min(self.size, 4):
            raise UnknownInstruction("a number in private memory that is in two dwords")
        word, low = np.dtype(np.uint32), writer.private_row(self.address & ~3)
        if self.size < 4:
            low = writer.vectors.operate("lshr", "u32", low, writer.vectors.constant(8 * (self.address & 3), "u32"))
        value = _converted(writer, low, word, self.type)
        if self.size > 4:
            high = _converted(writer, writer.private_row(self.address + 4), word, self.type)
            high = writer.vectors.operate("shl", "u64", high, writer.vectors.constant(32, "u64"))
            value = writer.vectors.operate("or", "u64", value, high)
        return str(value)


@frozen
class VectorColumn:
    """A vector register, or the lower bits of it."""

    number: int
    type: np.dtype[Any]

    def __call__(self, batch: WaveBatch) -> Any:
        if batch.vector[self.number] is NOTHING:
            raise Unplaced
        return batch.vector[self.number].astype(self.type)

    def write(self, writer: Any) -> str:
        return _converted(writer, writer.known_row(self.number), np.dtype(np.uint32), self.type)


@frozen
class ScalarColumn:
    """A scalar register, or the lower bits of it, the same in all lanes."""

    number: int
    type: np.dtype[Any]

    def __call__(self, batch: WaveBatch) -> Any:
        value = batch.scalar[self.number]
        if value is UNSET:
            raise Unplaced
        return np.asarray([[value]] if isinstance(value, int) else value).astype(self.type)

    def write(self, writer: Any) -> str:
        every = writer.vectors.spread(writer.known_word(self.number), "u32")
        return _converted(writer, every, np.dtype(np.uint32), self.type)


@frozen(eq=False)
class Constant:
    """A number that is the same in all lanes."""

    number: Any
    """As an array ``[1, 1]``."""

    @property
    def type(self) -> np.dtype[Any]:
        return self.number.dtype  # type: ignore[no-any-return]

    def __call__(self, _batch: WaveBatch) -> Any:
        return self.number

    def write(self, writer: Any) -> str:
        each = f"i{_bits(self.type)} {int(self.number[0, 0])}"
        return f"<{', '.join([each] * writer.lanes)}>"


@frozen(eq=False)
class Viewed:
    """Bits as numbers of another type of the same size."""

    column: LaneNumbers
    type: np.dtype[Any]

    def __call__(self, batch: WaveBatch) -> Any:
        return self.column(batch).view(self.type)

    def write(self, writer: Any) -> str:
        return self.column.write(writer)


@frozen(eq=False)
class Converted:
    """Numbers or flags as numbers of another type."""

    column: LaneNumbers
    type: np.dtype[Any]

    def __call__(self, batch: WaveBatch) -> Any:
        return self.column(batch).astype(self.type, copy=False)

    def write(self, writer: Any) -> str:
        return _converted(writer, self.column.write(writer), self.column.type, self.type)


@frozen(eq=False)
class Combined:
    """Two columns of one type with an operator between them."""

    sign: str
    left: LaneNumbers
    right: LaneNumbers

    @property
    def type(self) -> np.dtype[Any]:
        is_number = OPERATIONS[self.sign][1] in ("add", "sub", "mul", "and", "or", "xor")
        return self.left.type if is_number else FLAG

    def __call__(self, batch: WaveBatch) -> Any:
        return OPERATIONS[self.sign][0](self.left(batch), self.right(batch))

    def write(self, writer: Any) -> str:
        operation = OPERATIONS[self.sign][1].format("s" if self.left.type.kind == "i" else "u")
        left, right = self.left.write(writer), self.right.write(writer)
        return str(writer.ir.put(f"{operation} {_vector(writer, self.left.type)} {left}, {right}"))


def constant(number: int, type_: np.dtype[Any]) -> Constant:
    """Return a number of a type."""
    return Constant(np.array([[number & (1 << 64) - 1]], np.uint64).astype(type_))


def non_zero(column: LaneNumbers) -> LaneNumbers:
    """Return flags of the numbers that are not 0."""
    return column if column.type == FLAG else Combined("!=", column, constant(0, column.type))
