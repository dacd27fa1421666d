"""A question about all waves: asked once for each place where some stand, and answered for all their lanes together.

What differs between waves that stand at one place is data: a variable is looked up and its location decoded once, and
evaluated over an array of slots. Only where waves differ in more, as in who called them, each is asked by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from dwarfgpu import bits as b
from dwarfgpu.bits import comparable
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.program.language.tokens import is_assignment
from dwarfgpu.program.stack.call_stack import Stack
from dwarfgpu.program.stack.lane_state import Simt
from dwarfgpu.program.stack.wave_groups import WaveGroup, unknown_place, wave_groups
from dwarfgpu.program.stack.wave_positions import unknown_mask, waves_of
from dwarfgpu.program.types.sizes import byte_size
from dwarfgpu.program.values.objects import optimized_out
from dwarfgpu.program.variables.answers import LaneAnswer, checked, each_part, selected
from dwarfgpu.program.variables.columns import (
    ABSENT,
    ACTIVE,
    ERROR,
    INACTIVE_STATE,
    UNDEFINED,
    dtype_of,
    numpy_name,
    other_type,
    pattern_of,
)
from dwarfgpu.program.variables.reasons import Reason, reason_of
from dwarfgpu.program.variables.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from dwarfgpu.bits import Array
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.quantity import Quantity


STATES = (ACTIVE, INACTIVE_STATE, ABSENT, UNDEFINED, ERROR)
"""What the numbers in `WaveValues.states` mean; lanes in the last three have no value, and a reason."""
CODES = {state: code for code, state in enumerate(STATES)}
CHUNK = 16_384
"""Slots that are evaluated together: as many as keep the arrays of all operations in the cache."""


class WaveValues:
    """The values of a question in some lanes of waves at one place."""

    def __init__(
        self,
        names: Sequence[str],
        waves: Array,
        lanes: tuple[int, ...],
        pc: int | None,
        masks: Any,
        frame: Frame | None = None,
    ) -> None:
        import numpy as np

        self.names = names
        """What the waves are called."""
        self.waves = waves
        """Their numbers, ascending."""
        self.lanes = lanes
        self.pc = pc
        self.frame = frame
        """The frame of all of them; None where they have none."""
        self.type: Type | None = None
        self.repaired: tuple[Variable, ...] = ()
        """The variables in it that are read as their producer means; each tells what the text alone says."""
        self.problems: list[DwarfGpuError] = []
        self._array: Any = None
        self._kind: Any = None
        self._reasons: list[tuple[Any, Callable[[int], DwarfGpuError]]] = []
        self._quantity: Quantity | None = None
        self._objects: list[tuple[int, int, Any, Object]] = []
        """The objects that were found: the first slot, how many, the positions among these (None: all), the object."""
        numbers = np.asarray(lanes, dtype=np.uint64)
        if masks is None:
            active = np.ones((len(waves), len(lanes)), dtype=bool)
        else:
            each = np.asarray(masks, dtype=np.uint64).reshape(-1, 1)
            active = np.broadcast_to((each >> numbers) & np.uint64(1) != 0, (len(waves), len(lanes)))
        self.active: Array = active
        """``active[wave, lane]``: whether it executes the code; all of them where that is not known."""
        self.states: Array = np.where(active, np.uint8(CODES[ACTIVE]), np.uint8(CODES[INACTIVE_STATE]))
        """``states[wave, lane]``: numbers of `STATES`."""

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """``array[wave, lane]``: the values; 0 where there is none."""
        import numpy as np

        if self._array is None:
            self._array = np.zeros(self.states.size, dtype=np.uint8)
        shape = (len(self.waves), len(self.lanes))
        return self._array.reshape(shape + self._array.shape[1:])  # type: ignore[no-any-return]

    @property
    def has_failed(self) -> bool:
        """Whether a lane that executes the code has no value."""
        return bool((self.active & (self.states >= CODES[ABSENT])).any())

    def columns(self) -> dict[str, Any]:
        """All of it as arrays: ``wave`` (names), ``lane``, ``pc``, and ``[wave, lane]``: ``value`` and ``state``."""
        lanes, names = list(self.lanes), list(self.names)
        pc = -1 if self.pc is None else self.pc
        return {"wave": names, "lane": lanes, "pc": pc, "value": self.array, "state": self.states}

    def as_written(self, variable: Variable) -> Any:
        """What the text alone says of a variable, in the first lane of the first wave: a value, or the error."""
        order = variable.frame.target.byte_order
        try:
            found = variable.as_written().find(LaneSet.one(self.lanes[0], int(self.waves[0])))
            column = column_of(found, order)
        except (DwarfGpuError, Parted) as error:
            return error
        if column.undefined:
            return optimized_out()
        return column.numbers.tolist() if hasattr(column.numbers, "tolist") else column.numbers

    def reason(self, wave: int, lane: int) -> Reason | None:
        """Why there is no value in a lane of a wave, both by their position here; None where there is one."""
        slot = wave * len(self.lanes) + lane
        for positions, error_at in self._reasons:
            at = int(positions.searchsorted(slot))
            if at < len(positions) and positions[at] == slot:
                return self._explained(reason_of(error_at(at)), slot)
        return None

    def reasons(self, *, inactive: bool = True) -> Iterator[tuple[int, Reason]]:
        """Why there are values missing: for how many lanes, and the reason of the first of them."""
        active = self.active.reshape(-1)
        for positions, error_at in self._reasons:
            counted = positions if inactive else positions[active[positions]]
            if len(counted):
                first = int(counted[0])
                reason = reason_of(error_at(int(positions.searchsorted(first))))
                yield len(counted), self._explained(reason, first)

    def answer(self, wave: int, position: int) -> LaneAnswer:
        """What one lane of one wave has, both by their position here."""
        lane, is_active = self.lanes[position], bool(self.active[wave, position])
        slot = wave * len(self.lanes) + position
        for first, count, positions, found in self._objects:
            if not first <= slot < first + count:
                continue
            index = slot - first if positions is None else int(positions.searchsorted(slot - first))
            if positions is not None and (index == len(positions) or positions[index] != slot - first):
                continue
            if self.frame is None:
                raise AssertionError(found)  # it was found in one
            one = LaneSet.one(lane, int(self.waves[wave]))
            answer = checked(selected(found, index, self.frame, one), lane, is_active=is_active)
            if answer.reason is None:
                return answer
            return LaneAnswer(lane, is_active, None, self._explained(answer.reason, slot))
        return LaneAnswer(lane, is_active, None, self.reason(wave, position))

    def _explained(self, reason: Reason, slot: int) -> Reason:
        """A reason, with what the description of the variable tells of it."""
        if reason.kind != "undefined" or self._quantity is None:
            return reason
        wave, position = divmod(slot, len(self.lanes))
        try:
            found = self._quantity.explain(LaneSet.one(self.lanes[position], int(self.waves[wave])))
        except (DwarfGpuError, Parted):
            return reason
        return reason if found is None else found.reason

    # --- Filling --------------------------------------------------------------------------------------------------

    def put(self, first: int, lanes: LaneSet, quantity: Quantity) -> None:
        """Evaluate for some slots, the first of which has a number."""
        self._quantity = quantity
        order = quantity.frame.target.byte_order

        def column(part: LaneSet) -> Any:
            found = quantity.find(part)
            return found, column_of(found, order)

        for group in each_part(lanes, column):
            positions = b.arange(lanes.count) if group.positions is None else group.positions
            if group.result is None:
                self._refuse(positions + first, group.outcome)
                continue
            found, values = group.result
            self._objects.append((first, lanes.count, group.positions, found))
            self._keep(group.positions, positions, first, lanes.count, values)

    def refuse(self, error: DwarfGpuError) -> None:
        """Say that there is no value at all."""
        self._refuse(b.arange(self.states.size), lambda _index: error)

    def _refuse(self, positions: Array, error_at: Callable[[int], DwarfGpuError]) -> None:
        self.states.reshape(-1)[positions] = CODES[reason_of(error_at(0)).state]
        self._reasons.append((positions, error_at))

    def _keep(self, chosen: Any, positions: Array, first: int, count: int, found: SlotColumn) -> None:
        import numpy as np

        self.type = found.type
        if self._array is None:
            self._array = np.zeros(self.states.size, dtype=found.kind)
            self._kind = found.kind
        elif self._kind != found.kind:
            self._refuse(positions + first, lambda _index: other_type())
            return
        self._array[slice(first, first + count) if chosen is None else positions + first] = found.numbers
        undefined = found.undefined
        if type(undefined) is int and not undefined:
            return
        bad = np.broadcast_to(np.asarray(undefined != 0), (len(positions),)).nonzero()[0]
        if len(bad):
            self._array[positions[bad] + first] = np.zeros((), dtype=self._array.dtype)
            self._refuse(positions[bad] + first, lambda _index: optimized_out())


def all_waves(
    attached: Attached,
    text: str,
    *,
    waves: list[int] | None = None,
    lanes: Sequence[int] | None = None,
    frame: int = 0,
) -> Iterator[WaveValues]:
    """A variable or an expression in all lanes of all waves: for each place where waves stand, one result.

    ``waves`` and ``lanes`` choose some, by number. The results come one after the other, each when it is found.
    """
    for _index, found in by_place(attached, (text,), waves=waves, lanes=lanes, frame=frame):
        yield found


def by_place(
    attached: Attached,
    texts: Sequence[str],
    *,
    waves: list[int] | None = None,
    lanes: Sequence[int] | None = None,
    frame: int = 0,
) -> Iterator[tuple[int, WaveValues]]:
    """The same for several expressions: place by place, and there each with its number."""
    if any(map(is_assignment, texts)):
        raise UsageError("an assignment is made in one wave at a time", hint="ask each wave by itself")
    stopped = attached.stopped
    machine = waves_of(stopped)
    count = machine.target.lane_count
    chosen = tuple(range(count)) if lanes is None else tuple(lanes)
    beyond = [lane for lane in chosen if not 0 <= lane < count]
    if beyond:
        raise UsageError(f"{machine.target.name} has {count} lanes, no lane {beyond[0]}", kind="no_lane")
    for group in wave_groups(stopped, waves):
        for index, text in enumerate(texts):
            for found in _of_group(attached, group, text, chosen, frame):
                yield index, found


def _of_group(
    attached: Attached, group: WaveGroup, text: str, lanes: tuple[int, ...], number: int
) -> Iterator[WaveValues]:
    machine = attached.stopped.machine
    numbers = b.array(group.numbers, 64)
    names = [machine.ids[wave] for wave in group.numbers]
    if group.pc is None:
        result = WaveValues(names, numbers, lanes, None, None)
        result.refuse(unknown_place(machine.ids[group.numbers[0]]))
        yield result
        return
    try:
        yield _together(attached, group, text, lanes, number, names, numbers)
    except (Parted, Diverge, LaneFault):
        for wave in group.numbers:  # each has a caller, and with it a past, of its own
            yield from _of_group(attached, WaveGroup(wave, group.pc), text, lanes, number)


def _together(
    attached: Attached,
    group: WaveGroup,
    text: str,
    lanes: tuple[int, ...],
    number: int,
    names: list[str],
    numbers: Array,
) -> WaveValues:
    """All waves of a group at once; `Parted` where that is not possible."""
    frame = _frame(attached, group, number)
    problems: list[DwarfGpuError] = []
    masks: Any = None
    if frame.activation is not None:
        try:
            masks = Simt(frame).active_mask()
        except DwarfGpuError as error:
            problems.append(unknown_mask(names[0], error))
    result = WaveValues(names, numbers, lanes, group.pc if frame.pc is None else frame.pc, masks, frame)
    result.problems = problems
    try:
        quantity = frame[text]
        frame.repaired.clear()
        step = max(1, CHUNK // len(lanes)) if lanes else 1
        for first in range(0, len(numbers) if lanes else 0, step):
            some = LaneSet.product(numbers[first : first + step], b.array(lanes, 64))
            result.put(first * len(lanes), some, quantity)
        result.repaired = tuple(frame.repaired.values())
        if result.type is None and isinstance(quantity, Variable):
            result.type = quantity.type
    except DwarfGpuError as error:
        if isinstance(error, UsageError):
            raise
        result.refuse(error)
    return result


def _frame(attached: Attached, group: WaveGroup, number: int) -> Frame:
    """The frame of a number, of all waves of a group."""
    if isinstance(group.waves, int):
        return attached[group.waves].frame(number)
    frames = Stack(attached.stopped, group.waves).call(0)
    if number >= len(frames):
        raise Parted
    return frames[number]


# --- An object of many slots as an array --------------------------------------------------------------

WORD = 8
"""Bytes that are read at once: numbers of more than 64 bits would be Python's, one by one."""


@frozen
class SlotColumn:
    """The values of some slots."""

    type: Type
    kind: Any
    """The numpy type."""
    numbers: Any = field(eq=comparable)
    """One element for all slots, or an array."""
    undefined: Any = field(eq=comparable)
    """Not 0 where bits have no value: one number, or an array."""


def column_of(found: Object, byte_order: ByteOrder) -> SlotColumn:
    """What an object is in its slots."""
    import numpy as np

    declared = found.type
    found = found.target()
    scalar = found.scalar
    if scalar is not None:
        reading = pattern_of(found, scalar)
        return SlotColumn(
            declared, np.dtype(numpy_name(scalar)), scalar.number(reading.bits), reading.undefined
        )
    kind = dtype_of(found.type, byte_order)
    size = byte_size(found.type)
    if not size:
        return SlotColumn(declared, kind, np.zeros((), kind), 0)
    if found.bit_size is not None or size <= WORD:
        readings = [found.read()]
    else:
        sizes = [min(WORD, size - at) for at in range(0, size, WORD)]
        readings = [found.place.moved(8 * WORD * i).read(8 * length) for i, length in enumerate(sizes)]
    undefined = readings[0].undefined
    for each in readings[1:]:
        undefined = undefined | (each.undefined != 0)
    return SlotColumn(
        declared, kind, _joined([each.bits for each in readings], size, byte_order, kind), undefined
    )


def _joined(words: list[Any], size: int, byte_order: ByteOrder, kind: Any) -> Any:
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
