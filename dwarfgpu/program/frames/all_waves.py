"""Questions about all waves: evaluated once for each place in the code, for all lanes of the waves that are there.

Waves at one place differ in their data only: a variable is looked up and its location decoded once, and
evaluated over an array of slots. Each wave has its own callers, so these are evaluated wave by wave, and the results
of callers at one place are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, overload

from dwarfgpu import bits as b
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.program.frames.answers import AsWritten, Quantity, Values, table_of
from dwarfgpu.program.frames.frame import Frame, Stack, unknown_place
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.variable import Variable
from dwarfgpu.program.frames.wave_groups import Cohort, wave_groups
from dwarfgpu.program.frames.wave_positions import unknown_mask, waves_of
from dwarfgpu.program.language.tokens import UnknownName, is_assignment
from dwarfgpu.program.types.model import has_dynamic_parts

if TYPE_CHECKING:
    from dwarfgpu.states.program import Attached

    _Members = list[tuple[Frame, Sequence[int]]]
    """Frames at one place in the code, with the waves of each."""


CHUNK = 16_384
"""Slots that are evaluated together: as many as keep the arrays of all operations in the cache."""


class HasWaves(Protocol):
    """What runs or has stopped, with the program that is attached to it."""

    @property
    def attached(self) -> Attached:
        """The program with the machine."""


def attached_of(thing: Attached | HasWaves) -> Attached:
    """Return the waves with their program: of a kernel that runs what is attached to it."""
    found: Any = getattr(thing, "attached", thing)
    if not (hasattr(found, "stopped") and hasattr(found, "program")):
        hint = "pass what `launch` or `open_core` returns, or `open(FILE).attach(STATE)`"
        raise UsageError(f"a {type(thing).__name__} has no waves", hint=hint)
    return found  # type: ignore[no-any-return]


@overload
def all_waves(
    attached: Attached | HasWaves,
    text: str = "",
    *,
    waves: Sequence[int | str] | None = None,
    lanes: Sequence[int] | str | None = None,
    frame: int = 0,
) -> Values: ...


@overload
def all_waves(
    attached: Attached | HasWaves,
    text: list[str],
    *,
    waves: Sequence[int | str] | None = None,
    lanes: Sequence[int] | str | None = None,
    frame: int = 0,
) -> Any: ...


def all_waves(
    attached: Attached | HasWaves,
    text: str | list[str] = "",
    *,
    waves: Sequence[int | str] | None = None,
    lanes: Sequence[int] | str | None = None,
    frame: int = 0,
) -> Any:
    """Evaluate a variable or an expression in all lanes of all waves, in each wave where it is: `array[wave, lane]`.

    ``attached`` is what `launch`, `open_core` or `Program.attach` returns. ``waves`` chooses some, by number from 0 or
    name, ``lanes`` by number: without, those that do not execute the code are masked, with ``all`` none. So are waves
    in which the name means nothing; if it does in none, that is a `KeyError`. A list of texts gives a table of pandas.

    >>> import dwarfgpu as dg
    >>> last = dg.all_waves(dg.open_core("blur.core"), "last")
    >>> last
    <Values last: int, 2 waves, 32 lanes>
    >>> last.array.max(axis=1).tolist()
    [32, 50]
    """
    attached = attached_of(attached)
    if isinstance(text, list):
        return table_of({each: all_waves(attached, each, waves=waves, lanes=lanes, frame=frame) for each in text})
    if not text:
        raise UsageError("all_waves takes an expression, such as 'x'", hint="the first wave is item [0]")
    chosen = None if waves is None else [attached[each].index if isinstance(each, str) else each for each in waves]
    found = [values for _index, values in by_place(attached, (text,), waves=chosen, lanes=lanes, frame=frame)]
    reasons = [next((reason for _count, reason in values.missing()), None) for values in found if values.type is None]
    errors = [reason.error for reason in reasons if reason is not None and isinstance(reason.error, UnknownName)]
    if errors and len(errors) == len(found):  # it means nothing anywhere
        raise errors[0].again()
    if not found:
        return Values(_lanes_of(attached, lanes), None, text=text, waves=b.array([], 64))
    return found[0] if len(found) == 1 else Values.joined(found)


def _lanes_of(attached: Attached, lanes: Sequence[int] | str | None) -> tuple[int, ...]:
    """Return the numbers of lanes: by default, and with ``all``, of every lane of a wave."""
    target = waves_of(attached.stopped).target
    if isinstance(lanes, str) and lanes != "all":
        raise UsageError(f"{lanes!r} names no lanes of waves", hint="give numbers, or all")
    is_every = lanes is None or isinstance(lanes, str)
    return tuple(range(target.lane_count)) if is_every else tuple(target.lane(lane) for lane in lanes or ())


def by_place(
    attached: Attached,
    texts: Sequence[str],
    *,
    waves: Sequence[int] | None = None,
    lanes: Sequence[int] | str | None = None,
    frame: int = 0,
) -> Iterator[tuple[int, Values]]:
    """Evaluate several expressions at each place in the code; yield each result with the index of its expression."""
    chosen = _lanes_of(attached, lanes)
    for group in wave_groups(attached.stopped, waves):
        for index, text in enumerate(texts):
            for values in _of_group(attached, group, text, chosen, frame):
                values.only_executing = lanes is None
                yield index, values


def _of_group(attached: Attached, group: Cohort, text: str, lanes: tuple[int, ...], number: int) -> Iterator[Values]:
    if group.pc is None:
        names = [attached.stopped.machine.ids[wave] for wave in group.numbers]
        values = Values(lanes, None, text=text, waves=b.array(group.numbers, 64), names=names)
        values.refuse(unknown_place(names[0]))
        yield values
        return
    try:
        yield _together(attached, [(frame_of(attached, group, number), group.numbers)], text, lanes, group.pc)
    except (Parted, Diverge, LaneFault):
        if len(group.numbers) == 1:
            raise
        for alike in _by_caller(attached, group, number):
            try:
                yield _together(attached, alike, text, lanes, group.pc)
            except (Parted, Diverge, LaneFault):
                if len(alike) == 1:
                    raise
                for each in alike:
                    yield _together(attached, [each], text, lanes, group.pc)


def _by_caller(attached: Attached, group: Cohort, number: int) -> list[_Members]:
    """Return the frame of each wave, those together that are at one place of one function with a known mask."""
    found: dict[Any, _Members] = {}
    for wave in group.numbers:
        frame = attached[wave].frame(number)
        function = None if frame.function is None else frame.function.offset
        try:
            has_mask = frame.activation is None or Simt(frame).active_mask() is not None
        except DwarfGpuError:
            has_mask = False
        found.setdefault((frame.pc, function, has_mask), []).append((frame, [wave]))
    return list(found.values())


def _masks_of(members: _Members) -> Any:
    """Return the active lanes of the waves: a mask for all of them, or one for each."""
    masks = [Simt(frame).active_mask() for frame, _waves in members]
    return masks[0] if len(masks) == 1 else b.array([int(mask) for mask in masks], 64)


def _together(attached: Attached, members: _Members, text: str, lanes: tuple[int, ...], pc: int) -> Values:
    """Evaluate for all waves at once; raise `Parted` where that is not possible."""
    frame = members[0][0]
    chosen = [wave for _frame, waves in members for wave in waves]
    numbers, names = b.array(chosen, 64), [attached.stopped.machine.ids[wave] for wave in chosen]
    problems: list[DwarfGpuError] = []
    masks: Any = None
    if frame.activation is not None:
        try:
            masks = _masks_of(members)
        except DwarfGpuError as error:
            problems.append(unknown_mask(names[0], error))
    quantity: Quantity | DwarfGpuError
    try:
        quantity = frame.quantity(text)
    except UsageError:
        raise
    except DwarfGpuError as error:
        quantity = error
    if not isinstance(quantity, (Variable, DwarfGpuError)) and is_assignment(text):  # a variable may be called `a=b`
        raise UsageError("an assignment is made in one wave at a time", hint="assign in each wave separately")
    known = None if isinstance(quantity, DwarfGpuError) else quantity
    values = Values(lanes, frame, known, text, active=masks, waves=numbers, names=names)
    values.problems = problems
    values.pc = pc if frame.pc is None else frame.pc
    for each, _waves in members:
        each.repaired.clear()
        each.possible_repairs.clear()
    if isinstance(quantity, DwarfGpuError):
        values.refuse(quantity)
        return values
    first = 0
    for each, waves in members:
        _ask(values, each, first, b.array(waves, 64))
        first += len(waves) * len(lanes)
    if values.type is None and isinstance(quantity, Variable):
        values.type = quantity.type
    if len(numbers) > 1 and values.type is not None and has_dynamic_parts(values.type):
        raise Parted  # expressions ask for the frame while the value is shown, and each wave has its own
    values.possible_repairs = tuple(frame.possible_repairs.values())
    values.repaired = tuple(
        AsWritten(variable.name, variable.repairs, partial(_as_written, variable, values))
        for variable in list(frame.repaired.values())
    )
    return values


def _ask(values: Values, frame: Frame, start: int, numbers: b.Array) -> None:
    """Evaluate in the waves of a frame, whose slots are from ``start`` on."""
    lanes: Any = values.lanes
    quantity = frame.quantity(values.text)
    places = places_of(frame, quantity, lanes, len(numbers))
    if places is not None:
        for place, positions in places:
            _ask_at(values, place, positions + start)
        return
    step = max(1, CHUNK // len(lanes)) if lanes else 1
    for first in range(0, len(numbers) if lanes else 0, step):
        slots = LaneSet.product(numbers[first : first + step], b.array(lanes, 64))
        values.ask(start + first * len(lanes), slots, quantity)
        values.read()  # while it is in the cache


def may_be_apart(frame: Frame, quantity: Quantity) -> bool:
    """Return whether lanes may be at places of their own, on which it depends where a quantity is."""
    stack = frame.stack
    return stack is not None and quantity.depends_on_place and Simt(stack.call(frame.level)[0]).says_places


def places_of(
    frame: Frame, quantity: Quantity, lanes: tuple[int, ...], wave_count: int
) -> list[tuple[Frame | DwarfGpuError, b.Array]] | None:
    """Return where the slots are, lanes of waves: the frames or errors, and which slots; None where all are together.

    "If the current lane is specified and the architecture program location LPC computed by the DW_AT_LLVM_lane_pc
    attribute for the current lane is not the undefined location description, it must be LPC" (A.2.5.1).
    """
    stack = frame.stack
    if stack is None or not may_be_apart(frame, quantity):
        return None
    if isinstance(stack.wave, int):
        return [(place, b.array(positions, 64)) for place, positions in frame.by_place(lanes)]
    import numpy as np

    pcs = np.full((wave_count, len(lanes)), frame.pc, dtype=np.uint64)
    entered = np.ones((wave_count, len(lanes)), dtype=bool)
    all_pcs, all_entered = Simt(stack.call(frame.level)[0]).pcs_in_waves()
    for position, lane in enumerate(lanes):
        if lane < all_pcs.shape[1]:
            pcs[:, position], entered[:, position] = all_pcs[:, lane], all_entered[:, lane]
    flat, is_in = pcs.reshape(-1), entered.reshape(-1)
    inside = is_in.nonzero()[0].astype(np.uint64)
    places: list[tuple[Frame | DwarfGpuError, b.Array]] = [
        (frame.at_pc(int(flat[inside[group[0]]])), inside[group]) for group in b.groups(flat[inside])
    ]
    if len(inside) < len(flat):
        places.append((frame.not_entered(), (~is_in).nonzero()[0].astype(np.uint64)))
    return places


def _ask_at(values: Values, place: Frame | DwarfGpuError, positions: b.Array) -> None:
    if isinstance(place, DwarfGpuError):
        values.refuse(place, positions)
        return
    quantity = place.quantity(values.text)
    lanes = b.array([lane or 0 for lane in values.lanes], 64)
    for first in range(0, len(positions), CHUNK):
        some = positions[first : first + CHUNK]
        waves = values.waves[some // len(lanes)]
        slots = LaneSet(len(some), waves, lanes[some % len(lanes)])
        values.ask(0, slots.select(b.arange(len(some))), quantity, some)
        values.read()


def _as_written(variable: Variable, values: Values) -> Values:
    """Return what the text alone says of a variable, in the first of the waves."""
    quantity = variable.as_written()
    told = Values(
        values.lanes,
        values.frame,
        quantity,
        variable.name,
        active=values.active if values.active is None else b.select(values.active, 0),
        waves=values.waves[:1],
        names=values.names[:1],
    )
    lanes = b.array([lane for lane in values.lanes if lane is not None], 64)
    try:
        told.ask(0, LaneSet.product(values.waves[:1], lanes))
    except Parted as error:
        told.refuse(UsageError(f"the waves must be evaluated one by one: {error}"))
    told.type = told.type or quantity.type
    return told


def frame_of(attached: Attached, group: Cohort, number: int) -> Frame:
    """Return a frame of waves at one place; raise `Parted` if not all have it."""
    if isinstance(group.waves, int):
        return attached[group.waves].frame(number)
    frames = Stack(attached.stopped, group.waves).call(0)
    if number >= len(frames):
        raise Parted
    return frames[number]
