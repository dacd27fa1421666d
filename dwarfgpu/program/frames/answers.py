"""A quantity, and the answer to what it is in some lanes of a wave, or of waves that are at one place.

A `Quantity` is a variable, or an expression of the source language.
`Values` knows for every slot, a lane of a wave, the object or why there is none. It is made of as few objects as the
slots have in common, and what faces show is made of it: objects lane by lane, and one array for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from dwarfgpu import bits as b
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError, Handle, MalformedFile, MissingContext, UnknownItem, UsageError
from dwarfgpu.expr.access import Accessor
from dwarfgpu.immutable import evolve, frozen, immutable
from dwarfgpu.lanes import Diverge, Group, LaneFault, LaneSet, each_part, run_in_parts
from dwarfgpu.program import ShownInNotebooks
from dwarfgpu.program.frames import reasons
from dwarfgpu.program.frames.columns import MAX_DEPTH, MAX_ELEMENTS, WORD, Column, column_of, python_value
from dwarfgpu.program.frames.reasons import Reason, Unavailable, ValueSource, reason_of, sources, unavailable
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Struct, Type, known_size, resolved
from dwarfgpu.program.values.objects import MAX_READ, Object, optimized_out
from dwarfgpu.program.values.storage import Address, Located, ObjectPlace

if TYPE_CHECKING:
    import numpy as np

    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable

T = TypeVar("T")

STATES = ("active", "inactive", "absent", "undefined", "error")
"""What the numbers in `Values.codes` mean; lanes in the last three have no value, and a reason."""
CODES = {state: code for code, state in enumerate(STATES)}
NO_NAME = "no_name"
"""The error of a name that means nothing at a place."""
WITH_VALUE = frozenset((CODES["active"], CODES["inactive"]))


@frozen
class LaneAnswer:
    """What something is in one lane."""

    lane: int | None
    is_active: bool
    value: Object | None = None
    reason: Reason | None = None
    """Why there is no value, or why it is only a part of one."""

    @property
    def state(self) -> str:
        """``active`` and ``inactive`` lanes have a value; ``absent``, ``undefined`` and ``error`` lanes a reason."""
        if self.value is None and self.reason is not None:
            return self.reason.state
        return "active" if self.is_active else "inactive"

    @property
    def location(self) -> Location | None:
        """Return where the value is; None where it is in no location."""
        place = None if self.value is None else self.value.place
        if place is None or not isinstance(place.storage, Located):
            return None
        return place.storage.moved(place.bit_offset)

    def sources(self) -> tuple[ValueSource, ...]:
        """Return the registers and addresses that the parts of the value come from."""
        location = self.location
        if location is None or self.value is None:
            return ()
        size = known_size(self.value.type) if self.value.bit_size is None else 0
        return () if size is None else sources(location, self.value.bits())


@frozen
class AsWritten:
    """A variable that was read as its producer means, and what the text alone says of it."""

    name: str
    repairs: tuple[Repair, ...]
    ask: Callable[[], Values]

    @property
    def answer(self) -> Values:
        """What the text alone says, asked now: an answer that nobody reads is not worth its time."""
        return self.ask()


@frozen
class _Same:
    """Returns one error, whatever it is asked for."""

    error: DwarfGpuError

    def __call__(self, _index: int) -> DwarfGpuError:
        return self.error


@immutable
class _Chunk:
    """Slots that were evaluated together."""

    first: int
    """The number of the first slot."""
    lanes: LaneSet
    groups: list[Group[Object]]
    quantity: Quantity
    """What was asked for, at the place of the lanes."""
    positions: Any = None
    """Where its slots are behind the first one, an ascending array; None where they follow each other."""

    def slots(self, positions: Any) -> Any:
        """Return the numbers of some of the slots, or of all."""
        if self.positions is not None:
            own = self.positions if positions is None else self.positions[positions]
            return own.astype("i8") + self.first
        count = self.lanes.count
        return range(self.first, self.first + count) if positions is None else positions.astype("i8") + self.first

    def position_of(self, slot: int) -> int:
        """Return the position of a slot, or -1."""
        if self.positions is not None:
            return _index_in(self.positions, slot - self.first)
        return slot - self.first if self.first <= slot < self.first + self.lanes.count else -1


def _is_key(key: Any) -> bool:
    return isinstance(key, str) or (hasattr(key, "__index__") and not getattr(key, "shape", ()))


class Values(ShownInNotebooks):
    """What something is in some lanes of one wave, or of several waves that are at one place.

    A sequence of the values of lanes. A lane counts if it has a whole value, and executes the code or was asked for by
    its number or by ``all``. The value of any other lane is masked in ``array``, NaN for `numpy.asarray` and `filled`,
    None where the values are iterated, and an error for ``values[lane]``. ``states`` says why: ``active`` and
    ``inactive`` lanes have a value, ``absent``, ``undefined`` and ``error`` lanes a reason. ``of`` gives what one lane
    has as an object, whether it counts or not.

    ``array`` is of a numpy type that is like the type of the program: a number for a scalar, a record for a structure,
    bytes (``V8``) for what numpy has no type for. Without numpy it is a list of numbers, lists and dictionaries.

    Internally every answer has an axis of waves. For one frame its length is 1, and users do not see it (`by_wave`).
    For several waves the array is ``array[wave, lane]``, and lists with an item a lane become one list a wave.

    >>> import dwarfgpu as dg
    >>> values = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)["even"].values()
    >>> list(values)[:4], values[2], values.states[:2]
    ([10, None, 14, None], 14, ['active', 'absent'])
    >>> (values.array + 1)[:4].tolist(), values.array.mean().item(), values.to_dict()[2]
    ([11, None, 15, None], 28.0, 14)
    """

    def __init__(
        self,
        lanes: tuple[int | None, ...],
        frame: Frame | None,
        quantity: Quantity | None = None,
        text: str = "",
        *,
        active: Any = None,
        waves: Any = None,
        names: Sequence[str] = (),
        only_executing: bool = False,
    ) -> None:
        self.lanes = lanes
        self.frame = frame
        """The frame of all waves; None where they have none."""
        self.text = text
        """How it was asked for."""
        self.active: b.Bits | None = active
        """The lanes that execute the code, as a mask, or one for each wave; None where that is not known."""
        self.by_wave = waves is not None
        """Whether the question is about waves, and not about one frame: whether users see the axis of waves."""
        self.waves: Any = (0 if frame is None or frame.stack is None else frame.stack.wave,) if waves is None else waves
        """The numbers of the waves, ascending."""
        self.names = names
        """What the waves are called; empty for a question about one frame."""
        self.only_executing = only_executing
        """Whether the values of lanes that do not execute the code are masked."""
        self.pc: int | None = None
        """Where the waves are; None where that is not known, and for one frame, which knows it."""
        self.type: Type | None = None
        """The type; None where no lane has a value and nothing tells it."""
        self.repaired: tuple[AsWritten, ...] = ()
        """The variables in it that were read as their producer means."""
        self.possible_repairs: tuple[Repair, ...] = ()
        """The repairs that fit a variable in it, but were not applied."""
        self.kept: dict[str, tuple[str, ...]] = {}
        """By variable, the registers that count as kept by a call because its location holds after the call, too."""
        self.problems: list[DwarfGpuError] = []
        self.raises_misuse = False
        """Whether what is wrong with the question or the file is raised, and is no reason of a lane."""
        self._quantity = quantity
        self._chunks: list[_Chunk] = []
        self._read_chunks = 0
        """How many of the chunks are in the array."""
        self._missing: list[tuple[Any, Callable[[int], DwarfGpuError]]] = []
        """The slots that have no whole value, ascending, and the error of each by its position there."""
        self._array: Any = None
        self._is_empty = False
        """Whether no slot has a value, so that the type of the array is not known."""
        self._reasons: dict[Any, Reason] | None = None

    def __repr__(self) -> str:
        kind = "of no type" if self.type is None else safe_text(self.type)
        waves = f"{len(self.waves)} waves, " if self.by_wave else ""
        lanes = "1 lane" if len(self.lanes) == 1 else f"{len(self.lanes)} lanes"
        return f"<Values{self.text and f' {self.text}'}: {kind}, {waves}{lanes}>"

    def __str__(self) -> str:
        return str(self.array)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is known of the values: without the frame, and so without the objects that `of` gives."""
        self.elements  # noqa: B018 (reads what has not been read yet)
        known = {**self.__dict__}
        known.pop("by_lane", None)
        reasons = [
            ([slot], _Same(Unavailable(self._read_from_file(reason_of(error_at(index)), int(slot)))))
            for slots, error_at in self._missing
            for index, slot in enumerate(slots)
        ]
        known |= {"frame": None, "repaired": (), "possible_repairs": (), "_quantity": None, "_chunks": []}
        return known | {"_read_chunks": 0, "_missing": reasons, "_reasons": None}

    @property
    def byte_order(self) -> ByteOrder:
        """The byte order of the target."""
        return "little" if self.frame is None else self.frame.target.byte_order

    # --- Asking ---------------------------------------------------------------------------------------------------

    def ask(self, first: int, lanes: LaneSet, quantity: Quantity | None = None, positions: Any = None) -> None:
        """Evaluate for some slots, of which the first has a number; ``positions`` are those behind it, if not all.

        ``quantity`` is what was asked for at the place of these lanes, where that is not the place of the frame.
        """
        quantity = quantity or self._quantity
        assert quantity is not None  # noqa: S101 (without one there is only an error)
        groups = quantity.groups(lanes)
        self._chunks.append(_Chunk(first, lanes, groups, quantity, positions))
        for group in groups:
            if self.type is None and group.result is not None:
                self.type = group.result.type

    def addresses(self) -> Iterator[tuple[Any, Address]]:
        """Yield the numbers of slots whose objects are in memory, with their addresses there."""
        for chunk in self._chunks:
            for group in chunk.groups:
                address = None if group.result is None else group.result.address
                if address is not None:
                    yield chunk.slots(group.positions), address

    def raise_misuse(self) -> None:
        """Raise what is wrong with the question itself: the error of all lanes, such as that of an unknown name."""
        errors = [group.outcome(0) for chunk in self._chunks for group in chunk.groups if group.result is None]
        known = any(group.result is not None for chunk in self._chunks for group in chunk.groups)
        if errors and not known and isinstance(errors[0], UsageError):
            raise errors[0]

    def refuse(self, error: DwarfGpuError, slots: Any = None) -> None:
        """Give some slots, by their ascending numbers, an error in place of a value; by default all."""
        self._missing.append((range(self.slot_count) if slots is None else slots, _Same(error)))

    @classmethod
    def joined(cls, parts: Sequence[Values]) -> Values:
        """Return the values of waves at several places, in the order of the waves."""
        import numpy as np

        every, first = (1 << 64) - 1, next((part for part in parts if part.frame is not None), parts[0])
        waves = np.concatenate([np.asarray(part.waves, np.uint64) for part in parts])
        active = np.concatenate(
            [np.full(len(part.waves), every if part.active is None else part.active, np.uint64) for part in parts]
        )
        names, order = [name for part in parts for name in part.names], np.argsort(waves)
        whole = cls(
            *(first.lanes, first.frame, None, first.text),
            active=active[order],
            waves=waves[order],
            names=[names[wave] for wave in order],
            only_executing=first.only_executing,
        )
        rows, start = np.argsort(order), 0
        for part in parts:
            whole._take(part, rows[start : start + len(part.waves)])
            start += len(part.waves)
        return whole

    def _take(self, part: Values, rows: Any) -> None:
        """Take over the values of some waves, whose rows are ascending."""
        import numpy as np

        part.read()
        width, missing = len(self.lanes), part._missing

        def moved(slots: Any) -> Any:
            numbers = np.asarray(slots, np.int64)
            return rows[numbers // width] * width + numbers % width

        self._chunks += [evolve(chunk, first=0, positions=moved(chunk.slots(None))) for chunk in part._chunks]
        self._read_chunks = len(self._chunks)
        if part._array is not None:
            error = self._make_room(np.dtype((part._array.dtype, part._array.shape[1:])))
            if error is None:
                self._array[moved(range(part.slot_count))] = part._array
            else:
                missing = [(range(part.slot_count), _Same(error))]
        self._missing += [(moved(slots), error_at) for slots, error_at in missing]
        self.type = self.type or part.type
        self.problems += part.problems
        self.repaired += part.repaired
        self.possible_repairs = tuple(dict.fromkeys((*self.possible_repairs, *part.possible_repairs)))

    # --- Lane by lane ---------------------------------------------------------------------------------------------

    @property
    def slot_count(self) -> int:
        """How many lanes of waves there are."""
        return len(self.lanes) * len(self.waves)

    def _seen(self, rows: Any) -> Any:
        """Return what has one item a wave as users see it: of a frame its only item."""
        return rows if self.by_wave else rows[0]

    def __len__(self) -> int:
        return len(self.waves if self.by_wave else self.lanes)

    def __iter__(self) -> Iterator[Any]:
        """Yield the value of each lane, or None; of several waves a list for each wave."""
        rows = self._rows()
        if not isinstance(rows, list) and rows.dtype.kind != "V":
            rows = rows.tolist()
        return iter(self._seen([_without(*pair) for pair in zip(rows, self._masked(), strict=True)]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        """Return the values for numpy as `filled` does, because `numpy.asarray` forgets masks."""
        import numpy as np

        filled = self.filled()
        if dtype is not None and np.dtype(dtype).kind not in "fcO" and np.any(self._masked()):
            message = f"some lanes have no value that counts, and {np.dtype(dtype)} has no NaN for them"
            raise UsageError(message, kind="no_array", hint="use .array, which is masked, or .filled(0)")
        return np.array(filled, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if self is not other:
            raise TypeError("values are not compared as a whole: compare their .array, lane by lane")
        return True

    __hash__ = None  # type: ignore[assignment]  # as of all that is compared lane by lane

    def __getitem__(self, key: Any) -> Any:
        """Return the value in a lane as a Python object; raise the error with its reason where none counts.

        For several waves ``key`` is a wave, by its number or its name, and the lane; a wave alone has an array.
        """
        parts = key if isinstance(key, tuple) else (key,)
        is_host = key is None and not self.by_wave  # whose code has no lanes
        if not is_host and (len(parts) > 1 + self.by_wave or not all(map(_is_key, parts))):
            what, where = ("a wave and a lane", "WAVE, ") if self.by_wave else ("one lane", "")
            raise UsageError(f"an index is {what}", kind="no_lane", hint=f"use .array[{where}FIRST:END]")
        wave = self._row_of(parts[0]) if self.by_wave else 0
        if self.by_wave and len(parts) == 1:
            return self.array[wave]
        lane = parts[-1]
        if lane not in self.lanes:
            raise UnknownItem(f"lane {lane} was not asked for", kind="no_lane")
        position = self.lanes.index(lane)
        reason = self.reason_at(wave, position) if self.by_wave else self.reasons.get(lane)
        if reason is not None:
            raise Unavailable(reason)
        if self.only_executing and not self.is_active(wave * len(self.lanes) + position):
            message = f'lane {lane} does not execute this code; values("all") has the value of each lane'
            raise Unavailable(Reason(reasons.INACTIVE, message))
        value = self._rows()[wave][position]
        if isinstance(self._array, list) or value.dtype.names is not None or value.dtype.kind == "V":
            return value
        return value.item()

    def _row_of(self, wave: int | str) -> int:
        """Return which row is that of a wave, by its number or its name."""
        if isinstance(wave, str):
            row = list(self.names).index(wave) if wave in self.names else -1
        else:
            row = _index_in(self.waves, wave)
        if row < 0:
            raise UnknownItem(f"wave {wave} was not asked for", kind="no_wave")
        return row

    def of(self, lane: int | None = None, wave: int = 0) -> LaneAnswer:
        """Return what a lane has as an object, or why it has nothing; ``wave`` counts the waves from 0."""
        if lane not in self.lanes:
            raise UnknownItem(f"lane {lane} was not asked for", kind="no_lane")
        return self.at(wave, self.lanes.index(lane))

    def at(self, wave: int, position: int) -> LaneAnswer:
        """Return the answer of a lane, given its position and that of its wave."""
        slot = wave * len(self.lanes) + position
        for chunk in self._chunks:
            inside = chunk.position_of(slot)
            for group in chunk.groups if inside >= 0 else ():
                index = inside if group.positions is None else _index_in(group.positions, inside)
                if index >= 0:
                    return self._lane_answer(chunk, group, index, slot)
        return LaneAnswer(self.lanes[position], self.is_active(slot), None, self.reason_at(wave, position))

    @cached_property
    def by_lane(self) -> tuple[LaneAnswer, ...]:
        """What each lane has, wave by wave."""
        answers: list[Any] = [None] * self.slot_count
        for chunk in self._chunks:
            for group in chunk.groups:
                for index, slot in enumerate(chunk.slots(group.positions)):
                    answers[slot] = self._lane_answer(chunk, group, index, int(slot))
        for slot, answered in enumerate(answers):
            if answered is None:
                answers[slot] = self.at(*divmod(slot, len(self.lanes)))
        return tuple(answers)

    def is_active(self, slot: int) -> bool:
        """Return whether a slot executes the code; it does where that is not known."""
        wave, position = divmod(slot, len(self.lanes))
        lane = self.lanes[position]
        if self.active is None or lane is None:
            return True
        mask = self.active if isinstance(self.active, int) else int(self.active[wave])
        return bool(mask >> lane & 1)

    def _lane_answer(self, chunk: _Chunk, group: Group[Object], index: int, slot: int) -> LaneAnswer:
        lane, is_active = self.lanes[slot % len(self.lanes)], self.is_active(slot)
        value = group.result
        if value is None:
            error: Any = group.outcome(index)
            is_misuse = isinstance(error, (UsageError, MalformedFile)) and self.raises_misuse
            if is_misuse and not (error.kind == NO_NAME and self._is_known_elsewhere):
                raise error
            return LaneAnswer(lane, is_active, None, self._explained(reason_of(error), slot))
        if chunk.lanes.count > 1:
            frame = chunk.quantity.frame
            value = _selected(value, index, frame, self._lane_set(slot, frame))
        error = problem_of(value)
        if error is not None:
            return LaneAnswer(lane, is_active, None, self._explained(reason_of(error), slot))
        return LaneAnswer(lane, is_active, value)

    @cached_property
    def _is_known_elsewhere(self) -> bool:
        """Whether the names of the question mean something at the place of some lane."""
        return any(group.result is not None for chunk in self._chunks for group in chunk.groups)

    def _lane_set(self, slot: int, frame: Frame) -> LaneSet:
        wave, position = divmod(slot, len(self.lanes))
        lane = self.lanes[position]
        return LaneSet.one(lane, int(self.waves[wave])) if self.by_wave else frame.lane(lane)

    def _key(self, slot: int) -> Any:
        """Return what a slot is called: its lane, and before it the name of its wave where there are several."""
        wave, position = divmod(slot, len(self.lanes))
        return (self.names[wave], self.lanes[position]) if self.by_wave else self.lanes[position]

    # --- Which lanes have no whole value --------------------------------------------------------------------------

    @property
    def states(self) -> list[Any]:
        """The state of each lane: ``active``, ``inactive``, ``absent``, ``undefined`` or ``error``."""
        if self.by_wave:
            return [[STATES[code] for code in codes] for codes in self.codes.tolist()]
        states = ["active" if self.is_active(slot) else "inactive" for slot in range(self.slot_count)]
        for lane, reason in self.reasons.items():
            states[self.lanes.index(lane)] = reason.state
        return states

    @property
    def codes(self) -> np.ndarray[Any, Any]:
        """The states as an array of numbers, those of `STATES`."""
        import numpy as np

        self.read()
        codes: np.ndarray[Any, Any] = np.where(
            self._executing(), np.uint8(CODES["active"]), np.uint8(CODES["inactive"])
        )
        for slots, error_at in self._missing:
            codes.reshape(-1)[slots] = CODES[reason_of(error_at(0)).state]
        return self._seen(codes)  # type: ignore[no-any-return]

    @property
    def executing(self) -> np.ndarray[Any, Any]:
        """Whether each lane executes the code, as an array; all of them where that is not known."""
        return self._seen(self._executing())  # type: ignore[no-any-return]

    def _executing(self) -> Any:
        import numpy as np

        shape = len(self.waves), len(self.lanes)
        if self.active is None or self.lanes == (None,):
            return np.ones(shape, dtype=bool)
        masks = np.asarray(self.active, dtype=np.uint64).reshape(-1, 1)
        return np.broadcast_to((masks >> np.asarray(self.lanes, dtype=np.uint64)) & np.uint64(1) != 0, shape)

    @property
    def has_failed(self) -> bool:
        """Whether some lane that executes the code has no whole value."""
        self.read()
        if self.by_wave:  # 70 times as fast as lane by lane, for 3,000 waves
            executing = self._executing().reshape(-1)
            return any(bool(executing[slots].any()) for slots, _error_at in self._missing)
        return any(self.is_active(slot) for slots, _error_at in self._missing for slot in slots)

    @property
    def lacks_objects(self) -> bool:
        """Whether some lane that executes the code has nothing at all of the value."""
        return any(answered.value is None and answered.is_active for answered in self.by_lane)

    @property
    def reasons(self) -> dict[Any, Reason]:
        """Why there is no whole value, for the lanes without one."""
        if self._reasons is None:
            self.read()
            self._reasons = {}
        if self._missing and not self._reasons:
            self._reasons = {
                self._key(slot): self._explained(reason_of(error_at(index)), slot)
                for slots, error_at in self._missing
                for index, slot in enumerate(map(int, slots))
            }
        return self._reasons

    def reason_at(self, wave: int, position: int) -> Reason | None:
        """Return why a lane of a wave has no whole value, both by their position; None where it has one."""
        self.read()
        slot = wave * len(self.lanes) + position
        for slots, error_at in self._missing:
            index = _index_in(slots, slot)
            if index >= 0:
                return self._explained(reason_of(error_at(index)), slot)
        return None

    def missing(self, *, inactive: bool = True, lane: int | None = None) -> Iterator[tuple[int, Reason]]:
        """Return why values are missing: in how many lanes, or waves of one lane, and the reason of the first."""
        self.read()
        for slots, error_at in self._missing:
            chosen = [(i, int(slot)) for i, slot in enumerate(slots) if inactive or self.is_active(int(slot))]
            chosen = [each for each in chosen if lane in (None, self.lanes[each[1] % len(self.lanes)])]
            if chosen:
                index, slot = chosen[0]
                yield len(chosen), self._explained(reason_of(error_at(index)), slot)

    def _explained(self, reason: Reason, slot: int) -> Reason:
        """Return a reason, with what the description of the variable tells of it, and what a launch gave."""
        launched = None if self._quantity is None or self.by_wave else self._quantity.launched
        explained = self._read_from_file(reason, slot)
        return explained if launched is None else evolve(explained, launched=launched)

    def _read_from_file(self, reason: Reason, slot: int) -> Reason:
        if reason.kind != reasons.UNDEFINED:
            return reason
        chunk = next((chunk for chunk in self._chunks if chunk.position_of(slot) >= 0), None)
        if chunk is None:
            return reason
        try:
            explained = chunk.quantity.explain(self._lane_set(slot, chunk.quantity.frame))
        except (DwarfGpuError, Parted):
            return reason
        return reason if explained is None else explained.reason

    # --- The array ------------------------------------------------------------------------------------------------

    def _masked(self) -> Any:
        """Return for each lane of each wave whether its value is masked: an array, or without numpy a list."""
        if isinstance(self._rows(), list):
            gone = {slot for slots, _error_at in self._missing for slot in slots}
            idle = self.only_executing
            return [[slot in gone or (idle and not self.is_active(slot)) for slot in range(self.slot_count)]]
        import numpy as np

        mask = ~self._executing() if self.only_executing else np.zeros((len(self.waves), len(self.lanes)), dtype=bool)
        for slots, _error_at in self._missing:
            mask.reshape(-1)[slots] = True
        return mask

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The values, one for each lane; those that do not count are masked."""
        plain: np.ndarray[Any, Any] = self.elements
        mask = self._seen(self._masked())
        if isinstance(plain, list):
            return _without(plain, mask)
        import numpy as np

        masked: np.ndarray[Any, Any] = np.ma.MaskedArray(plain)
        if mask.any():
            masked[mask] = np.ma.masked
        return masked

    def filled(self, value: Any = None) -> np.ndarray[Any, Any]:
        """Return the values as a plain array in which lanes that do not count have ``value``; by default NaN.

        Where no type of numbers has all values and NaN, the array is one of objects, and those lanes have None.
        """
        plain: np.ndarray[Any, Any] = self.elements
        mask = self._seen(self._masked())
        if isinstance(plain, list):
            return _without(plain, mask, value)
        if not mask.any():
            return plain
        import numpy as np

        if self._is_empty:
            return np.full(plain.shape, np.nan if value is None else value)
        if value is None and (plain.dtype.kind == "f" or _is_exact_as_float(plain)):
            plain = plain.astype(np.result_type(plain.dtype, np.float32))
            value = np.nan
        elif value is None:
            plain = plain.astype(object)
        copy: np.ndarray[Any, Any] = plain.copy()
        try:
            copy[mask] = value
        except (TypeError, ValueError, OverflowError):
            message = f"{value!r:.40} does not fit into the array, which is of {copy.dtype}"
            raise UsageError(message, kind="no_array") from None
        return copy

    def to_dict(self) -> dict[Any, Any]:
        """Return the values that count, by lane; of several waves by the name of the wave and the lane."""
        counted = ((self._key(slot), value) for slot, value in enumerate(self._flat(self)) if value is not None)
        return dict(counted)

    def to_pandas(self) -> Any:
        """Return a table of pandas with a row for each lane: ``value``, or the members of a structure, and ``state``.

        Lanes that do not count have NaN, None, or <NA> among integers, which keep their type. Of several waves the
        index has the name of the wave, too. If the launch is known, `global_x` (with `global_y` and `global_z` if the
        grid has them) is the global id of the work-item.
        """
        import numpy as np

        pd = _pandas("use .to_dict()")
        keys = [self._key(slot) for slot in range(self.slot_count)]
        index = pd.MultiIndex.from_tuples(keys, names=["wave", "lane"]) if self.by_wave else pd.Index(keys, name="lane")
        plain = self.elements.reshape(len(keys), *self._array.shape[1:])
        missing = self._seen(self._masked()).ravel()

        def column(values: Any) -> Any:
            if values.ndim > 1 or values.dtype.kind not in "iuf":
                return _without(values if values.ndim > 1 else values.tolist(), missing)
            if values.dtype.kind == "f":
                return np.where(missing, values.dtype.type(np.nan), values)
            return pd.arrays.IntegerArray(values, missing) if missing.any() else values

        names = plain.dtype.names
        columns = {"value": column(plain)} if names is None else {name: column(plain[name]) for name in names}
        columns |= {"state": self._flat(self.states)}
        for axis, (ids, known) in self._global_ids().items():
            columns[f"global_{axis}"] = ids if known.all() else pd.arrays.IntegerArray(ids, ~known)
        return pd.DataFrame(columns, index=index)

    def _global_ids(self) -> dict[str, tuple[Any, Any]]:
        """Return the global ids of the work-items of all lanes by axis, and which of them are known."""
        import numpy as np

        machine: Any = None if self.frame is None or self.frame.stack is None else self.frame.stack.machine
        if machine is None or machine.target.execution_mask is None:
            return {}
        from dwarfgpu.program.frames.wave_positions import place_of

        places = [place_of(machine, int(wave)) for wave in self.waves]
        if any(place.used is None for place in places):
            return {}
        lanes = np.array(self.lanes)
        ids = np.concatenate([np.transpose(place.global_ids(lanes)) for place in places])
        known = np.concatenate([lanes < place.used for place in places])
        sizes = [max(each) for each in zip(*(place.grid.grid for place in places if place.grid), strict=True)]
        return {axis: (ids[:, at], known) for at, axis in enumerate("xyz") if not at or sizes[at] > 1}

    def _flat(self, rows: Any) -> list[Any]:
        """Return what has one item for each lane of each wave as one list."""
        return [each for row in rows for each in row] if self.by_wave else list(rows)

    @property
    def elements(self) -> Any:
        """The values, one for each lane; 0, or None in a list, where there is none."""
        rows = self._rows()
        return rows if self.by_wave else self._array

    def _rows(self) -> Any:
        """Return the values, one for each lane of each wave: an array, or without numpy a list."""
        self.read()
        if self._array is None and not b.has_arrays():
            self._array = [None] * self.slot_count
        elif self._array is None:
            import numpy as np

            self._array = np.zeros(self.slot_count, dtype=np.uint8)
            self._is_empty = True
        if isinstance(self._array, list):
            return [self._array]
        return self._array.reshape(len(self.waves), len(self.lanes), *self._array.shape[1:])

    def read(self) -> None:
        """Read what has been found into the array; what is written to the machine later does not change it."""
        while self._read_chunks < len(self._chunks):
            chunk = self._chunks[self._read_chunks]
            self._read_chunks += 1
            for group in chunk.groups:
                self._read_group(chunk, group)

    def _read_group(self, chunk: _Chunk, group: Group[Object]) -> None:
        if group.result is None:
            self._missing.append((chunk.slots(group.positions), group.outcome))  # type: ignore[arg-type]
            return
        if not b.has_arrays():
            if self._array is None:
                self._array = [None] * self.slot_count
            try:
                self._array[chunk.first] = listed(group.result)
            except DwarfGpuError as error:
                self.refuse(error, (chunk.first,))
            return
        frame = chunk.quantity.frame
        byte_order = frame.target.byte_order
        try:
            column = column_of(group.result, byte_order)
        except (Diverge, LaneFault, DwarfGpuError):
            pass  # it is read again in parts
        else:
            self._keep(chunk, group.positions, column)
            return
        part = chunk.lanes if group.positions is None else chunk.lanes.select(group.positions)
        for inner in in_parts(group.result, part, frame, lambda value: column_of(value, byte_order)):
            positions: Any = inner.positions
            if positions is None:
                positions = group.positions
            elif group.positions is not None:
                positions = group.positions[positions]
            if inner.result is None:
                self._missing.append((chunk.slots(positions), inner.outcome))  # type: ignore[arg-type]
                continue
            self._keep(chunk, positions, inner.result)

    def _keep(self, chunk: _Chunk, positions: Any, column: Column) -> None:
        import numpy as np

        numbers = column.numbers
        count = chunk.lanes.count if positions is None else len(positions)
        slots = chunk.slots(positions)
        is_one_each = isinstance(numbers, np.ndarray) and not column.kind.shape and numbers.shape == (count,)
        if count == self.slot_count and is_one_each:
            self._array = numbers.astype(column.kind)
        else:
            error = self._make_room(column.kind)
            if error is not None:
                self.refuse(error, slots)
                return
            self._array[slice(slots.start, slots.stop) if isinstance(slots, range) else slots] = numbers
        undefined = column.undefined
        if type(undefined) is int and not undefined:
            return
        bad = np.broadcast_to(np.asarray(undefined != 0), (count,)).nonzero()[0]
        if len(bad):
            missing = np.asarray(slots)[bad]
            self._array[missing] = np.zeros((), dtype=self._array.dtype)
            self._missing.append((missing, lambda _index: optimized_out()))

    def _make_room(self, kind: Any) -> DwarfGpuError | None:
        """Extend the array to another type, too: `c ? 1 : 0.5` is an int in some lanes and a double in others."""
        import numpy as np

        if self._array is None:
            self._array = np.zeros((self.slot_count, *kind.shape), dtype=kind.base)
            return None
        before = self._array.dtype
        if before == kind.base and self._array.shape[1:] == kind.shape:
            return None
        error = UsageError("the value has another type in some lanes", kind="no_array")
        if before.kind not in "iuf" or kind.kind not in "iuf":
            return error
        both = np.result_type(before, kind)
        if both.kind == "f" and "f" not in (before.kind, kind.kind):
            return error  # no type of numpy has all numbers of long and unsigned long
        self._array = self._array.astype(both)
        return None


class Quantity(Handle, ABC):
    """Something with a value in each lane of a frame.

    >>> import dwarfgpu as dg
    >>> frame = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)
    >>> total = frame.expression("left + even")
    >>> total.value(lane=4), [str(source) for source in frame["even"].provenance(lane=4)]
    (26, ['4 bytes of v2 lane 4'])
    """

    frame: Frame
    text: str
    """What it is called: the name of a variable, the text of an expression."""

    __array_ufunc__ = None
    """Arrays leave operators to it, which refuses them."""
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, Quantity):
            return self is other
        return self._refuse()

    def _refuse(self, *_others: object) -> NoReturn:
        raise TypeError(f"{self.text} can differ from lane to lane: compare its values(), or value(lane=N) of one lane")

    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __index__ = __getitem__ = _refuse
    __iter__ = None
    """It has values, and is no sequence of them."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return an array with this one object, if that is asked for; its values are those of `values`."""
        import numpy as np

        if dtype is None or np.dtype(dtype).kind != "O":
            self._refuse()
        array = np.empty((), object)
        array[()] = self
        return array

    def __getattr__(self, name: str) -> Any:
        hint = f": values() has {name}" if name in vars(Values) else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    @abstractmethod
    def type(self) -> Type:
        """The type of the program."""

    @abstractmethod
    def find(self, lanes: LaneSet) -> Object:
        """Return the value as one object for some lanes; raise `lanes.Diverge` where they need different ones."""

    @property
    @abstractmethod
    def depends_on_place(self) -> bool:
        """Whether it names something that can mean another thing, or nothing, at another place of the function."""

    @abstractmethod
    def in_frame(self, frame: Frame) -> Quantity:
        """Return what it is in another frame of the same call, where some lanes are; `Unavailable` if it is not there.

        A name means what it means at that place.
        """

    def check_name(self) -> None:
        """Raise `UnknownName` for a name alone that means nothing in the frame."""

    # --- One lane -------------------------------------------------------------------------------------------------

    def in_lane(self, lane: int | None) -> Quantity:
        """Return what it is where a lane is (A.2.5.1 current program location)."""
        if not self.depends_on_place:
            return self
        frame = self.frame.in_lane(self.frame.selected_lane if lane is None else lane)
        return self if frame is self.frame else self.in_frame(frame)

    def object(self, lane: int | None = None) -> Object:
        """Return the value as an object, with members and elements; raise `Unavailable` where there is none."""
        return self._read(lane, lambda found: found)

    def value(self, lane: int | None = None) -> Any:
        """Return the value as Python has it: the number of a scalar, the object itself of anything else.

        ``lane`` may be left out where there is one, or where the value does not depend on it. An absent value raises
        `Unavailable`, whose `reason` says why.
        """
        return self._read(lane, python_value)

    def _read(self, lane: int | None, read: Callable[[Object], T]) -> T:
        try:
            return read(self.in_lane(lane).find(self.frame.lane(lane)))
        except (Unavailable, UsageError, MalformedFile):
            raise
        except DwarfGpuError as error:
            if isinstance(error, MissingContext) and error.kind == "lane" and lane is None and self.frame.has_lanes:
                error = MissingContext("lane", "it may differ from lane to lane: give lane=N, or ask values()")
            raise self._unavailable(error, lane) from error

    def location(self, lane: int | None = None) -> Location:
        """Return where the value is. A value that was computed is in an implicit location."""
        return location_of(self.object(lane))

    def provenance(self, lane: int | None = None) -> tuple[ValueSource, ...]:
        """Return the register, lane and bit, or the address, that each part of the value comes from."""
        value = self.object(lane)
        return sources(location_of(value), value.bits())

    def why(self, lane: int | None = None) -> Reason | None:
        """Return why there is no value in a lane; None where there is one."""
        try:
            value = self.object(lane).target()
            size = known_size(value.type)
            if value.scalar is not None:
                python_value(value)
            elif size and value.is_undefined():
                return self._explained(reason_of(optimized_out()), lane)
        except UsageError:
            raise
        except DwarfGpuError as error:
            return self._unavailable(error, lane).reason
        return None

    def explain(self, lanes: LaneSet) -> Unavailable | None:
        """Return why nothing of the value is there, as far as its description tells."""
        return None

    @property
    def launched(self) -> Callable[[], Object | None] | None:
        """Returns what a kernel was launched with; None for what is no parameter of a function that may be one."""
        return None

    # --- Many lanes -----------------------------------------------------------------------------------------------

    def groups(self, lanes: LaneSet) -> list[Group[Object]]:
        """Return the value in some lanes, as few objects as they have in common."""
        return each_part(lanes, self.find)

    def values(self, lanes: Iterable[int] | int | str | None = None) -> Values:
        """Return the value in many lanes: an array, and a state for each lane. An unknown name is an error.

        ``lanes`` are numbers, ``active``, or ``all``. By default all lanes have a state, and the values of those that
        do not execute the code are masked. Without numpy the array is a list.
        """
        values = values_of(self, self.text, lanes)
        values.raise_misuse()
        values.read()
        values.reasons  # noqa: B018 (what is written to the machine later does not change them)
        return values

    # --- Writing --------------------------------------------------------------------------------------------------

    def write(self, value: Any, lanes: Iterable[int] | int | str | None = None) -> None:
        """Assign a value, as ``=`` of the source language does: a number, or an expression that is evaluated.

        It is written in the lane or lanes that are named; by default in the active ones.
        """
        text = value if isinstance(value, str) else repr(value)
        self.frame.assign(self, text, lanes)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _unavailable(self, error: DwarfGpuError, lane: int | None) -> Unavailable:
        return Unavailable(self._explained(reason_of(error), lane))

    def _explained(self, reason: Reason, lane: int | None) -> Reason:
        """Return a reason, with what is known beyond the bits that are missing."""
        if reason.kind != "undefined":
            return reason
        explained = self.in_lane(lane).explain(self.frame.lane(lane))
        return reason if explained is None else explained.reason


def _pandas(otherwise: str) -> Any:
    try:
        import pandas as pd
    except ImportError:
        hint = f"install it (pip install pandas), or {otherwise}"
        raise UsageError("pandas is not installed", kind="no_pandas", hint=hint) from None
    return pd


def table_of(answers: Mapping[str, Values]) -> Any:
    """Return a table of pandas with a row for each lane and a column for each answer; structures have several."""
    pd = _pandas("ask for the values of each variable")
    columns: dict[str, Any] = {}
    for name, values in answers.items():
        table = values.to_pandas().drop(columns="state")
        parts = [each for each in table.columns if not each.startswith("global_")]
        columns |= {name if each == "value" and len(parts) == 1 else f"{name}.{each}": table[each] for each in parts}
    return pd.DataFrame(columns)


def location_of(value: Object) -> Location:
    """Return where an object is; raise `Unavailable` for one that is in no location."""
    storage = value.place.storage
    if not isinstance(storage, Located):
        raise unavailable("no_location", storage.without_location)
    return storage.moved(value.place.bit_offset)


def store(value: Object, pattern: Any, bit_size: int, frame: Frame, lanes: LaneSet) -> None:
    """Write the bits of a value to where an object is, lane after lane."""
    location = location_of(value)
    accessor = Accessor(frame.backend, frame.target.byte_order)
    for position in range(lanes.count):
        place = location if lanes.count == 1 else location.select(position)
        accessor.write(place, bit_size, int(b.select(pattern, position)))


def values_of(quantity: Quantity, text: str, lanes: Iterable[int] | int | str | None = None) -> Values:
    """Ask for something in some lanes of its frame, each at its own place (A.2.5.1 current program location)."""
    frame = quantity.frame
    numbers = frame.lane_numbers(lanes)
    values = Values(numbers, frame, quantity, text, active=frame.active_mask, only_executing=lanes is None)
    places = frame.by_place(numbers)
    is_together = len(places) == 1 and places[0][0] is frame
    if not is_together and not quantity.depends_on_place:
        places = [(frame, range(len(numbers)))]
    for place, positions in places:
        if isinstance(place, DwarfGpuError):
            values.refuse(place, positions)
            continue
        try:
            there = quantity if place is frame else quantity.in_frame(place)
        except Unavailable as error:
            values.refuse(error, positions)
            continue
        is_all = len(positions) == len(numbers)
        here = numbers if is_all else tuple(numbers[position] for position in positions)
        first = 0
        for chosen, lane_set in place.lane_sets(here):
            if is_all or len(chosen) == 1:
                values.ask(positions[first], lane_set, there)
            else:
                values.ask(0, lane_set, there, b.array(positions[first : first + lane_set.count], 64))
            first += lane_set.count
    return values


def answer(quantity: Quantity, text: str, lanes: Iterable[int] | int | str | None = None) -> Values:
    """Ask for something in some lanes, as objects. What is wrong with the question or the file is raised."""
    frame = quantity.frame
    frame.repaired.clear()
    frame.possible_repairs.clear()
    frame.kept.clear()
    values = values_of(quantity, text, lanes)
    values.possible_repairs = tuple(frame.possible_repairs.values())
    values.kept = dict(frame.kept)
    values.raises_misuse = True
    values.type = next((answer.value.type for answer in values.by_lane if answer.value is not None), None)
    if values.type is None:
        with suppress(DwarfGpuError):
            values.type = quantity.type
    same = [lane for lane in values.lanes if lane is not None] or None
    values.repaired = tuple(
        AsWritten(name, variable.repairs, partial(_answer_as_written, variable, name, same))
        for name, variable in list(frame.repaired.items())
    )
    return values


def _answer_as_written(variable: Variable, name: str, lanes: list[int] | None) -> Values:
    return answer(variable.as_written(), name, lanes)


def _without(values: Any, mask: Any, other: Any = None) -> Any:
    """Return values as a list in which those that are masked are another one."""
    return [other if gone else value for value, gone in zip(values, mask, strict=True)]


EXACT = 1 << 53
"""Up to here a double has every integer."""


def _is_exact_as_float(array: Any) -> bool:
    """Return whether all numbers of an array are exact as the float of numpy that is wide enough for its type."""
    if array.dtype.kind not in "iu":
        return False
    return bool(array.dtype.itemsize < WORD or not array.size or (array.max() <= EXACT and array.min() >= -EXACT))


def _index_in(slots: Any, slot: int) -> int:
    """Return the position of a number among ascending ones, or -1."""
    index = bisect_left(slots, slot)
    return index if index < len(slots) and slots[index] == slot else -1


def problem_of(value: Object) -> DwarfGpuError | None:
    """Return the error of a value of which nothing can be read; None where some of it can."""
    try:
        target = value.target()
        if known_size(target.type) is None and isinstance(resolved(target.type), Array):
            target.array()  # what its bounds and its place are computed from must be there
        elif target.scalar is not None:
            if target.implied() is None and target.pattern().undefined:
                return optimized_out()
        elif (known_size(target.type) or 0) > MAX_READ:
            target.place.read(8)  # what is too large to be read as a whole must begin somewhere
        elif known_size(target.type) and target.is_undefined():
            return optimized_out()
    except UsageError:
        raise
    except DwarfGpuError as error:
        return None if _is_in_part(value, error) else error
    return None


def _is_in_part(value: Object, error: DwarfGpuError) -> bool:
    """Return whether something of a structure or an array is there, though not all: its beginning, or its end."""
    if error.kind not in (reasons.NO_MEMORY, reasons.NO_REGISTER, reasons.NOT_SET, reasons.NOT_LOADED):
        return False
    try:
        target = value.target()
        bits = target.bits()
    except DwarfGpuError:
        return False
    if target.scalar is not None or bits < 8:
        return False
    for position in (0, bits - 8):
        with suppress(DwarfGpuError):
            if not target.place.moved(position).read(8).undefined:
                return True
    return False


def _selected(value: Object, positions: b.Positions, frame: Frame, lanes: LaneSet) -> Object:
    """Return the object of some of the lanes of an object, those at some positions."""
    storage = value.described.storage
    if not isinstance(storage, Located):
        return value
    container = None if value.container is None else _selected(value.container, positions, frame, lanes)
    location = storage.moved(value.described.bit_offset).select(positions)
    unset = storage.around.unset
    around = evolve(frame.around(lanes), unset=None if unset is None else unset.select(positions))
    return Object(value.type, ObjectPlace(Located(around, location)), value.bit_size, container)


def in_parts(value: Object, lanes: LaneSet, frame: Frame, run: Callable[[Object], T]) -> list[Group[T]]:
    """Run a function with an object of some lanes; where they differ, with the object of each part of them."""

    def choose(state: tuple[LaneSet, Object], positions: Any) -> tuple[LaneSet, Object]:
        part = state[0].select(positions)
        return part, _selected(state[1], positions, frame, part)

    return run_in_parts(lanes.count, (lanes, value), lambda state: run(state[1]), choose)


# --- The values of lanes without numpy ----------------------------------------------------------------------------


def listed(value: Object, depth: int = 0) -> Any:
    """Return an object as lists, dictionaries and numbers; what is too large or too deep stays an object."""
    value = value.target()
    inner = resolved(value.type)
    if depth > MAX_DEPTH:
        return value
    if isinstance(inner, Struct):
        members = list(value.members())
        if all(member.name is not None for member in members):
            return {member.name: listed(value.field(member), depth + 1) for member in members}
        return value
    if isinstance(inner, Array) or (isinstance(inner, Base) and inner.vector_size is not None):
        elements = value.array()
        if elements.is_open or elements.length > MAX_ELEMENTS:
            return value
        return [listed(elements.at(index), depth + 1) for index in range(elements.length)]
    return python_value(value)
