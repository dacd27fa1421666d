"""Values in many lanes: one array with an element a lane, and a state for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, UsageError, shown
from dwarfgpu.lanes import Diverge, LaneFault
from dwarfgpu.program.types.model import Array, Base, Enumeration, Struct
from dwarfgpu.program.types.sizes import byte_size, element_bits, known_size, resolved
from dwarfgpu.program.values.arrays import MAX_READ
from dwarfgpu.program.values.objects import optimized_out
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.variables.answers import selected
from dwarfgpu.program.variables.reasons import Reason, Unavailable, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import numpy as np

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.lanes import Group, LaneSet
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.scalars import Scalar
    from dwarfgpu.program.values.storage import Reading


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
                for index, position in enumerate(group.slots(count)):
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


# --- Types of a program as numpy has them -------------------------------------------------------------

MAX_ELEMENTS = 1 << 12
"""Arrays with more elements are kept as bytes."""
MAX_DEPTH = 16


def numpy_name(scalar: Scalar) -> str:
    """The numpy type that holds the numbers of a scalar."""
    if scalar.layout is not None:
        return f"f{scalar.layout.bit_size // 8}" if scalar.layout.code else "f8"
    if scalar.scale is not None:
        return "f8"
    if scalar.kind == "boolean" and scalar.bits == 8:
        return "u1"
    for size in (1, 2, 4, 8):
        if scalar.bits <= 8 * size:
            return f"{'i' if scalar.is_signed else 'u'}{size}"
    return "O"


def dtype_of(type: Type, byte_order: ByteOrder, depth: int = 0) -> Any:
    """The numpy type with the layout of a type of the program; plain bytes where numpy has none."""
    import numpy as np

    size = known_size(type)
    if size is None or size > MAX_READ:
        what = "of a size that depends on the object" if size is None else f"of {shown(size)} bytes"
        raise UsageError(
            f"values {what} have no array",
            kind="no_array",
            hint="ask for one lane, or for a part of the value",
        )
    inner = resolved(type)
    opaque = np.dtype(f"V{size}")
    if depth > MAX_DEPTH:
        return opaque
    if isinstance(inner, Struct):
        return _record_type(inner, size, byte_order, depth) or opaque
    if isinstance(inner, Array):
        return _array_type(inner, size, byte_order, depth) or opaque
    if isinstance(inner, Base) and inner.vector_size is not None:
        return np.dtype((dtype_of(inner.element, byte_order, depth + 1), (inner.vector_size,)))
    return _stored_type(type, size, byte_order) or opaque


def _stored_type(type: Type, size: int, byte_order: ByteOrder) -> Any:
    """The numpy type of a scalar as it is stored; None where numpy has none."""
    import numpy as np

    scalar = scalar_of(type, byte_order)
    if scalar is None or scalar.swapped or scalar.scale is not None or scalar.bits != 8 * size:
        return None
    if size not in (1, 2, 4, 8) or scalar.kind == "bytes":
        return None
    name = numpy_name(scalar)
    if int(name[1:]) != size:
        return None
    return np.dtype(f"{'<' if byte_order == 'little' else '>'}{name}")


def _array_type(type: Array, size: int, byte_order: ByteOrder, depth: int) -> Any:
    import numpy as np

    lengths = [each.length for each in type.dimensions]
    if type.is_dynamic or type.column_major or not lengths or None in lengths:
        return None
    total = 1
    for each in lengths:
        total *= each or 0
    element = byte_size(type.element)
    if not 0 < total <= MAX_ELEMENTS or total * element != size or element_bits(type) != 8 * element:
        return None
    return np.dtype((dtype_of(type.element, byte_order, depth + 1), tuple(lengths)))


def _record_type(type: Struct, size: int, byte_order: ByteOrder, depth: int) -> Any:
    """A record with the members of a structure; None where one of them is none of numpy's."""
    import numpy as np

    body = type.body
    members: list[tuple[str | None, Any]] = [(each.name, each) for each in body.members]
    if body.variant_parts or any(each.is_virtual for each in body.bases) or type.kind == "union":
        return None
    names: list[str] = []
    formats, offsets = [], []
    for name, each in [*members, *((str(getattr(base.type, "name", "")), base) for base in body.bases)]:
        bit_size = getattr(each, "bit_size", None)
        if each.location is not None or each.bit_offset is None or bit_size is not None or not name:
            return None
        if name in names or known_size(each.type) is None or each.bit_offset % 8:
            return None
        names.append(name)
        formats.append(dtype_of(each.type, byte_order, depth + 1))
        offsets.append(each.bit_offset // 8)
    if not names or any(o + f.itemsize > size for o, f in zip(offsets, formats, strict=True)):
        return None
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def without_padding(array: Any) -> Any:
    """An array of records in which the bytes between the members are 0; any other is as it is."""
    if array.dtype.fields is None:
        return array
    raw = array.reshape(-1).view("u1").reshape(array.size, array.dtype.itemsize)
    return (raw * _meant(array.dtype)).reshape(-1).view(array.dtype).reshape(array.shape)


def _meant(kind: Any) -> Any:
    """1 for each byte of a record that belongs to a member, else 0."""
    import numpy as np

    if kind.subdtype is not None:
        element, shape = kind.subdtype
        return np.tile(_meant(element), int(np.prod(shape)))
    found = np.full(kind.itemsize, kind.fields is None, dtype=np.uint8)
    for part, offset, *_ in (kind.fields or {}).values():
        found[offset : offset + part.itemsize] |= _meant(part)
    return found


def save(file: str | BinaryIO, columns: dict[str, Any]) -> None:
    """Write arrays and lists of texts to a file of numpy, or to a stream as its bytes."""
    import numpy as np

    arrays = {name: _plain(each) for name, each in columns.items()}
    if not isinstance(file, str):
        np.savez(file, **arrays)
        return
    try:
        with open(file, "wb") as stream:  # noqa: PTH123 (`pathlib` costs start-up time)
            np.savez(stream, **arrays)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from None


def _plain(values: Any) -> Any:
    """An array that a file of numpy holds without Python objects: numbers beyond 64 bits become text."""
    import numpy as np

    found = np.asarray(values)
    return found.astype(str) if found.dtype == object else found
