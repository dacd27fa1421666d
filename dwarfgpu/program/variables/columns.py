"""Values in many lanes: one array with an element a lane, and a state for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.lanes import Diverge, LaneFault
from dwarfgpu.program.types.model import Enumeration
from dwarfgpu.program.types.sizes import byte_size, resolved
from dwarfgpu.program.values.objects import optimized_out
from dwarfgpu.program.variables.numpy_types import dtype_of, numpy_name
from dwarfgpu.program.variables.reasons import INACTIVE, Reason, Unavailable, reason_of
from dwarfgpu.program.variables.slots import positions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.lanes import Group
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object

ACTIVE, INACTIVE_STATE, ABSENT, UNDEFINED, ERROR = "active", "inactive", "absent", "undefined", "error"


class Values:
    """What something is in some lanes.

    ``array`` has one element a lane, of a numpy type that is like the type of the program: a number for a scalar, a
    record for a structure, bytes (``V8``) for what numpy has no type for. An element without a value is 0; ``states``
    says so: ``active`` and ``inactive`` lanes have a value, ``absent``, ``undefined`` and ``error`` lanes a reason.
    """

    def __init__(
        self,
        lanes: tuple[int | None, ...],
        groups: list[Group[Object]],
        active: int | None,
        byte_order: ByteOrder,
        select: Callable[[Object, int, int | None], Object],
    ) -> None:
        self.lanes = lanes
        self.groups = groups
        self.byte_order = byte_order
        self._select = select
        """Makes of an object of many lanes that of one: of its number among them, and of the lane."""
        self._position = {lane: position for position, lane in enumerate(lanes)}
        self.states: list[str] = [
            ACTIVE if active is None or lane is None or active >> lane & 1 else INACTIVE_STATE
            for lane in lanes
        ]
        self.reasons: dict[int | None, Reason] = {}
        """Why there is no value, for the lanes without one."""
        self._array: Any = None
        self._fill()

    @property
    def type(self) -> Type | None:
        """The type; None where no lane has a value."""
        return next((each.result.type for each in self.groups if each.result is not None), None)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The values, one a lane."""
        return self._array  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.lanes)

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.lanes)

    def __getitem__(self, lane: int | None) -> Any:
        """The value in a lane as Python has it; the error with its reason where there is none."""
        position = self._position.get(lane)
        if position is None:
            raise UsageError(f"lane {lane} was not asked for", kind="no_lane")
        if lane in self.reasons:
            raise Unavailable(self.reasons[lane])
        found = self._array[position]
        return found.item() if found.dtype.names is None and found.dtype.kind != "V" else found

    # --- Filling --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        import numpy as np

        count = len(self.lanes)
        for group in self.groups:
            if group.result is None:
                for index, position in enumerate(positions_in(group, count)):
                    error = group.outcome(index)
                    assert isinstance(error, DwarfGpuError)  # noqa: S101 (a group without a result has errors)
                    self._refuse(position, reason_of(error))
                continue
            positions = positions_in(group, count)
            try:
                self._put(positions, group.result)
            except DwarfGpuError as error:
                for position in positions:
                    self._refuse(position, reason_of(error))
            except (Diverge, LaneFault):  # what is stored is not there in some lanes
                for index, position in enumerate(positions):
                    self._put_one(position, self._select(group.result, index, self.lanes[position]))
        if self._array is None:
            self._array = np.zeros(count, dtype=np.uint8)

    def _refuse(self, position: int, reason: Reason) -> None:
        self.reasons[self.lanes[position]] = reason
        self.states[position] = reason.state

    def _put_one(self, position: int, found: Object) -> None:
        try:
            self._put([position], found)
        except DwarfGpuError as error:
            self._refuse(position, reason_of(error))

    def _put(self, positions: list[int], found: Object) -> None:
        """Read the value of some lanes, and keep it in the array."""
        import numpy as np

        kind, numbers, undefined = column_of(found, self.byte_order)
        if self._array is None:
            self._array = np.zeros(len(self.lanes), dtype=kind)
        self._array[positions] = numbers
        if type(undefined) is int and not undefined:
            return
        reason = reason_of(optimized_out())
        for index, position in enumerate(positions):
            if b.select(undefined, index):
                self._refuse(position, reason)
                self._array[position] = np.zeros((), dtype=self._array.dtype)


def column_of(found: Object, byte_order: ByteOrder) -> tuple[Any, Any, Any]:
    """What an object is in its lanes: the numpy type, one element or an array, and the bits without a value."""
    import numpy as np

    found = found.target()
    scalar = found.scalar
    if scalar is not None:
        reading = found.pattern()
        return np.dtype(numpy_name(scalar)), scalar.number(reading.bits), reading.undefined
    kind = dtype_of(found.type, byte_order)
    size = byte_size(found.type)
    if not size:
        return kind, np.zeros((), kind), 0
    if found.bit_size is not None or size <= WORD:
        readings = [found.read()]
    else:  # numbers of more than 64 bits would be Python's, one by one
        sizes = [min(WORD, size - at) for at in range(0, size, WORD)]
        readings = [found.place.moved(8 * WORD * i).read(8 * length) for i, length in enumerate(sizes)]
    undefined = readings[0].undefined
    for each in readings[1:]:
        undefined = undefined | (each.undefined != 0)
    return kind, _records([each.bits for each in readings], size, byte_order, kind), undefined


WORD = 8
"""Bytes that are read at once, where there are many."""


def _records(words: list[Any], size: int, byte_order: ByteOrder, kind: Any) -> Any:
    """Patterns, word after word, as records: one that is the same for all, or an array."""
    import numpy as np

    count = max((1 if isinstance(bits, int) else len(bits)) for bits in words)
    raw = np.empty((count, size), dtype=np.uint8)
    for i, bits in enumerate(words):
        length = min(WORD, size - WORD * i)
        raw[:, WORD * i : WORD * i + length] = _bytes_of(bits, length, byte_order)
    records = raw.reshape(-1).view(kind.base).reshape(count, *kind.shape)
    return records[0] if all(isinstance(bits, int) for bits in words) else records


def _bytes_of(bits: Any, size: int, byte_order: ByteOrder) -> Any:
    """Patterns of at most one word as bytes: ``[slot, byte]``."""
    import numpy as np

    if isinstance(bits, int):
        return np.frombuffer(bits.to_bytes(size, byte_order), dtype=np.uint8)
    order = "<" if byte_order == "little" else ">"
    raw = bits.astype(f"{order}u8").view(np.uint8).reshape(-1, WORD)
    return raw[:, :size] if byte_order == "little" else raw[:, WORD - size :]


# --- One value --------------------------------------------------------------------------------------------------


def python_value(found: Object) -> Any:
    """A value as Python has it: the number of a scalar; anything else is the object itself."""
    found = found.target()
    scalar = found.scalar
    if scalar is None:
        return found
    reading = found.pattern()
    if reading.undefined:
        raise optimized_out()
    number = scalar.number(reading.bits)
    if scalar.kind == "boolean" and number in (0, 1) and not isinstance(resolved(found.type), Enumeration):
        return bool(number)
    return number


def inactive(lane: int) -> Reason:
    """The reason of a lane that does not execute the code."""
    return Reason(INACTIVE, f"lane {lane} is not active here")
