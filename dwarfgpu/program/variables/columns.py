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
from dwarfgpu.program.variables.parting import selected
from dwarfgpu.program.variables.reasons import Reason, Unavailable, reason_of
from dwarfgpu.program.variables.slots import positions_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.lanes import Group, LaneSet
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.scalars import Scalar
    from dwarfgpu.program.values.storage import Reading
    from dwarfgpu.program.variables.frame import Frame

ACTIVE, INACTIVE_STATE, ABSENT, UNDEFINED, ERROR = "active", "inactive", "absent", "undefined", "error"


class Values:
    """What something is in some lanes.

    ``array`` has one element a lane, of a numpy type that is like the type of the program: a number for a scalar, a
    record for a structure, bytes (``V8``) for what numpy has no type for. An element without a value is 0; ``states``
    says so: ``active`` and ``inactive`` lanes have a value, ``absent``, ``undefined`` and ``error`` lanes a reason.
    """

    def __init__(
        self,
        frame: Frame,
        lanes: tuple[int | None, ...],
        chosen: LaneSet,
        groups: list[Group[Object]],
    ) -> None:
        self.lanes = lanes
        self.groups = groups
        self.byte_order = frame.target.byte_order
        self._frame = frame
        self._chosen = chosen
        self.active = frame.active_mask
        """The lanes that execute the code, as a mask; None where that is not known."""
        self.reasons: dict[int | None, Reason] = {}
        """Why there is no value, for the lanes without one."""
        self._array: Any = None
        self._kind: Any = None
        """The numpy type of the elements."""
        self._fill()

    @property
    def states(self) -> list[str]:
        """The state of each lane: ``active``, ``inactive``, ``absent``, ``undefined`` or ``error``."""
        active = self.active
        found = [
            ACTIVE if active is None or lane is None or active >> lane & 1 else INACTIVE_STATE
            for lane in self.lanes
        ]
        for lane, reason in self.reasons.items():
            found[self.lanes.index(lane)] = reason.state
        return found

    @property
    def has_failed(self) -> bool:
        """Whether some lane that executes the code has no value."""
        active = self.active
        return any(active is None or lane is None or active >> lane & 1 for lane in self.reasons)

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
        if lane not in self.lanes:
            raise UsageError(f"lane {lane} was not asked for", kind="no_lane")
        if lane in self.reasons:
            raise Unavailable(self.reasons[lane])
        return self._element(self.lanes.index(lane))

    def _element(self, position: int) -> Any:
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
            positions = group.positions
            part = self._chosen if positions is None else self._chosen.select(positions)
            self._put(positions, part, group.result)
        if self._array is None:
            self._array = np.zeros(count, dtype=np.uint8)

    def _refuse(self, position: int, reason: Reason) -> None:
        self.reasons[self.lanes[position]] = reason

    def _put(self, positions: Any, lanes: LaneSet, found: Object) -> None:
        """Read the value of some lanes, and keep it; where some of them fail or differ, that of each part."""
        try:
            self._read(positions, found)
        except Diverge as split:
            for inner in split.parts:
                self._put_part(positions, lanes, found, inner)
        except LaneFault as fault:
            for each in fault.positions.tolist():
                self._refuse(
                    each if positions is None else int(positions[each]), reason_of(fault.error_at(each))
                )
            rest = b.complement(fault.positions, lanes.count)
            if len(rest):
                self._put_part(positions, lanes, found, rest)
        except DwarfGpuError as error:
            for position in range(len(self.lanes)) if positions is None else positions.tolist():
                self._refuse(position, reason_of(error))

    def _put_part(self, positions: Any, lanes: LaneSet, found: Object, inner: Any) -> None:
        part = lanes.select(inner)
        self._put(
            inner if positions is None else positions[inner], part, selected(found, inner, self._frame, part)
        )

    def _read(self, positions: Any, found: Object) -> None:
        import numpy as np

        found = found.target()
        scalar = found.scalar
        if scalar is None:
            kind = dtype_of(found.type, self.byte_order)
            size = byte_size(found.type)
            reading = found.read()
            numbers: Any = _records(reading.bits, size, self.byte_order, kind)
        else:
            kind = np.dtype(numpy_name(scalar))
            reading = pattern_of(found, scalar)
            numbers = scalar.number(reading.bits)
        if positions is None and scalar is not None and isinstance(numbers, np.ndarray):
            self._array, self._kind = numbers.astype(kind), kind
        else:
            self._make_room(kind)
            self._array[slice(None) if positions is None else positions] = numbers
        undefined = reading.undefined
        if type(undefined) is int and not undefined:
            return
        reason = reason_of(optimized_out())
        for index, position in enumerate(range(len(self.lanes)) if positions is None else positions.tolist()):
            if b.select(undefined, index):
                self._refuse(position, reason)
                self._array[position] = np.zeros((), dtype=self._array.dtype)

    def _make_room(self, kind: Any) -> None:
        """Have an array for elements of a type, too: of `c ? 1 : 0.5` some lanes have an int, and others a double."""
        import numpy as np

        if self._array is None:
            self._array = np.zeros(len(self.lanes), dtype=kind)
            self._kind = kind
        elif self._kind != kind:
            if self._kind.kind not in "iuf" or kind.kind not in "iuf":
                raise other_type()
            both = np.result_type(self._kind, kind)
            if both.kind == "f" and "f" not in (self._kind.kind, kind.kind):
                raise other_type()  # no type of numpy has all numbers of long and unsigned long
            self._array, self._kind = self._array.astype(both), both


def other_type() -> DwarfGpuError:
    """The error of a value that has no place among those of other lanes."""
    return UsageError("the value has another type in some lanes", kind="no_array")


def _records(bits: Any, size: int, byte_order: ByteOrder, kind: Any) -> Any:
    """Patterns of many bits as records; the same one for all, or an array."""
    import numpy as np

    if isinstance(bits, int):
        return np.frombuffer(bits.to_bytes(size, byte_order), dtype=kind)[0] if size else np.zeros((), kind)
    if bits.dtype != object:  # up to 64 bits: the bytes of the numbers
        order = "<" if byte_order == "little" else ">"
        raw = bits.astype(f"{order}u8").view(np.uint8).reshape(-1, 8)
        raw = raw[:, :size] if byte_order == "little" else raw[:, 8 - size :]
        return np.ascontiguousarray(raw).view(kind).reshape(-1)
    data = b"".join([int(each).to_bytes(size, byte_order) for each in bits.tolist()])
    return np.frombuffer(data, dtype=kind)


# --- One value --------------------------------------------------------------------------------------------------


def python_value(found: Object) -> Any:
    """A value as Python has it: the number of a scalar; anything else is the object itself."""
    found = found.target()
    scalar = found.scalar
    if scalar is None:
        return found
    reading = pattern_of(found, scalar)
    if reading.undefined:
        raise optimized_out()
    number = scalar.number(reading.bits)
    if scalar.kind == "boolean" and number in (0, 1) and not isinstance(resolved(found.type), Enumeration):
        return bool(number)
    return number


def pattern_of(found: Object, scalar: Scalar) -> Reading:
    """What `Object.pattern` gives, where how the bits are read is known already."""
    reading = found.place.read(scalar.storage_bits)
    if scalar.bits == scalar.storage_bits and not scalar.swapped:
        return reading
    return found.pattern()
