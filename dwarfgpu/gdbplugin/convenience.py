"""GDB's convenience variables and its value history in expressions of the library: ``n->d[$i]``, ``$1 + $$2``."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.gdb.process import byte_order, number_of, selected_frame
from dwarfgpu.machines.gdb.records import Refused
from dwarfgpu.program.frames.evaluator import Evaluator, type_named
from dwarfgpu.program.frames.history import MAX_KEPT, NOTHING, Frozen, Kept, Remembered, number
from dwarfgpu.program.types import model
from dwarfgpu.program.types.model import known_size

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object

MAX_ELEMENTS = 1 << 12
"""Before GDB 15, values with more elements and members than this are not copied."""
_FLOATS = {4: "f", 8: "d"}


class GdbRemembered(Remembered):
    """GDB's history and variables. Only variables that GDB cannot represent, or that differ by lane, are kept here."""

    def of_history(self, name: str, evaluator: Evaluator) -> Kept | None:
        digits = name.removeprefix("$")
        if digits and not (digits.isdecimal() and digits.isascii() and len(digits) < 10):
            return None
        number = int(digits) if digits else int(name == "$")
        try:
            value = gdb.history(-number if name.startswith("$") else number)
        except gdb.error as error:
            raise UsageError(str(error).removesuffix("."), kind="no_value") from None
        return kept_value(evaluator, value, f"${name}")

    def variable(self, name: str, evaluator: Evaluator) -> Kept | None:
        try:
            value = gdb.convenience_variable(name)
        except gdb.error as error:
            raise UsageError(f"GDB does not give ${name}: {error}", kind="no_value") from None
        if value is None:
            return Remembered.variable(self, name, evaluator)
        return kept_value(evaluator, value, f"${name}")

    def set(self, name: str, pieces: Iterable[tuple[Any, Object]]) -> None:
        Remembered.set(self, name, pieces)
        kept = self.variables[name].lanes.get(None)
        value = _for_gdb(kept) if isinstance(kept, Frozen) else None
        gdb.set_convenience_variable(name, value)
        if value is not None:
            del self.variables[name]


@cache
def gdb_remembered() -> GdbRemembered:
    """Return the history and the variables of this GDB."""
    return GdbRemembered()


# --- From GDB -----------------------------------------------------------------------------------------------------


def kept_value(evaluator: Evaluator, value: Any, name: str) -> Kept:
    """Return a copy of a value of GDB as a value of the library."""
    frame = evaluator.frame
    order = frame.target.byte_order
    try:
        kind = _type_of(frame, value.type, evaluator.compute.model)
        if kind is model.VOID:
            return NOTHING
        bits = _Bits(order).of(value)
    except (NotHere, Refused, gdb.error) as error:
        why = error.why if isinstance(error, Refused) else str(error)
        raise UsageError(f"GDB's {name} has no value here: {why}", kind="no_value") from None
    return number(kind, bits)


class NotHere(Exception):
    """A value of GDB that the library cannot represent."""


def _type_of(frame: Frame, theirs: Any, data: Any) -> model.Type:
    """Return the program's type for a type of GDB: that of its name and size, else a pointer or integer like it."""
    kind = theirs.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_VOID:
        return model.VOID
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        element = model.Lazy.known(_type_of(frame, kind.target(), data))
        return model.Array(element, (model.Dimension(low, count=high - low + 1),), is_vector="vector_size" in str(kind))
    for text in (str(theirs), str(kind)):
        try:
            ours = type_named(frame, text)
            if known_size(ours) == theirs.sizeof:
                return ours
        except DwarfGpuError:
            continue
    if kind.code == gdb.TYPE_CODE_PTR:
        return data.pointer_to(model.VOID)  # type: ignore[no-any-return]
    if kind.code in _INTEGERS:
        sign = "" if kind.is_signed else "unsigned "
        named = {1: f"{sign or 'signed '}char", 2: f"{sign}short", 4: f"{sign}int", 8: f"{sign}long long"}
        if kind.sizeof in named:
            return data.base(named[kind.sizeof])  # type: ignore[no-any-return]
    raise NotHere(f"the program has no type {theirs}")


_INTEGERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM)


@frozen
class _Bits:
    """Reads the bits of values of GDB, in the order in which they are stored."""

    byte_order: Any

    def of(self, value: Any) -> int:
        kind = value.type.strip_typedefs()
        if kind.sizeof > MAX_KEPT:
            raise NotHere(f"it has {kind.sizeof} bytes; at most {MAX_KEPT} can be copied")
        if value.is_optimized_out:
            raise NotHere("it is optimized out")
        data = getattr(value, "bytes", None)  # since GDB 15
        if data is not None:
            return int.from_bytes(data, self.byte_order)
        return self._of(value, kind, [MAX_ELEMENTS])

    def _of(self, value: Any, kind: Any, left: list[int]) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise NotHere(f"it has more than {MAX_ELEMENTS} elements and members")
        size = 8 * kind.sizeof
        if kind.code == gdb.TYPE_CODE_ARRAY:
            low, high = kind.range()
            element = kind.target().strip_typedefs()
            width = 8 * element.sizeof
            return sum(
                self._of(value[low + index], element, left) << self._shift(index * width, width, size)
                for index in range(high - low + 1)
            )
        if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            bits = 0
            for field in kind.fields():
                if not hasattr(field, "bitpos"):  # a static member
                    continue
                width = field.bitsize or 8 * field.type.sizeof
                part = self._of(value[field], field.type.strip_typedefs(), left) & (1 << width) - 1
                bits |= part << self._shift(field.bitpos, width, size)
            return bits
        if kind.code == gdb.TYPE_CODE_FLT:
            letter = _FLOATS.get(kind.sizeof)
            if letter is None:
                raise NotHere(f"this GDB does not give the bytes of the type {kind}")
            return int.from_bytes(struct.pack(f"<{letter}", float(value)), "little")
        return number_of(value) & (1 << int(size)) - 1

    def _shift(self, offset: int, width: int, size: int) -> int:
        return offset if self.byte_order == "little" else size - width - offset


# --- To GDB -------------------------------------------------------------------------------------------------------


def _for_gdb(kept: Frozen) -> Any:
    """Return a value as one of GDB; None if GDB cannot represent it."""
    from dwarfgpu.gdbplugin.values import NotInGdb, gdb_types

    bits, size = kept.pattern, known_size(kept.type)
    if bits is None or not size:
        return None
    try:
        frame = selected_frame()
        theirs = gdb_types.of(kept.type, frame)
        if theirs.sizeof != size:
            return None
        return gdb.Value(bits.to_bytes(size, byte_order()), theirs)
    except (NotInGdb, gdb.error):
        return None
