"""How a function uses the lanes of its thread (A.3.3.5 (4) to (7)): how many, which are active, where each one is.

The attributes belong to functions and to inlined calls; the innermost one around a place that has an
attribute counts. Which entry point a function was entered by is not known, so the attributes of entry points
are ignored.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from dwarfgpu import bits as b
from dwarfgpu import budget
from dwarfgpu.cfi.activation import FREE_FRAMES, Activation, Parted
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor, Reading
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.locations import Composite, Implicit, Location, is_undefined
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import LaneSet, each_part
from dwarfgpu.program.code.loaded import FileUnit, LoadedCode

if TYPE_CHECKING:
    from dwarfgpu.expr.context import Context
    from dwarfgpu.machines.protocol import Backend
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.targets.target import Target

    class Executing(Protocol):
        """What the attributes of a function about lanes need of its frame."""

        activation: Activation | None
        code: LoadedCode | None
        place: int | None

        @property
        def pc(self) -> int | None: ...
        @property
        def target(self) -> Target: ...
        @property
        def backend(self) -> Backend: ...
        @property
        def function(self) -> Die | None: ...
        @property
        def inlined_into(self) -> Executing | None: ...
        def context(self, lanes: LaneSet, unit: FileUnit | None = None) -> Context: ...


MAX_LANES = 1024
"""The limit of lanes. No GPU has more than 64 in a wave, and a work-group has no more than this."""


@frozen
class LanePc:
    """Where a lane is, as far as one function says."""

    pc: int | None
    """None where the lane was not active when the function was called."""
    error: DwarfGpuError | None = None
    """Why that is not known."""


class Simt:
    """The attributes of a frame and of those around it; without one the default of the text is the answer."""

    def __init__(self, frame: Executing) -> None:
        if frame.activation is None or frame.pc is None:
            raise AssertionError(frame)  # only what executes has lanes
        self.frame = frame
        self.pc: int = frame.pc
        self.activation = frame.activation
        self.target = frame.target
        functions: list[Die] = []
        around: Executing | None = frame
        while around is not None and around.function is not None:
            functions.append(around.function)
            around = around.inlined_into
        self.scopes = tuple(functions)
        """The function and those that it is inlined into, innermost first."""

    def find(self, name: str) -> Attribute | None:
        """Return an attribute of the innermost function that has it."""
        for die in self.scopes:
            attribute = die.find(name)
            if attribute is not None:
                return attribute
        return None

    # --- DW_AT_LLVM_lanes -----------------------------------------------------------------------------------------

    @property
    def lane_count(self) -> int:
        """How many lanes the function uses.

        OPEN: "If not present, the default value of 1 is used" (A.3.3.5 (4)). Compilers that do not
        know the attribute use all lanes nevertheless, so all lanes of the target count then.
        """
        attribute = self.find("DW_AT_LLVM_lanes")
        if attribute is None:
            return self.target.lane_count
        count = attribute.unsigned()
        if not count:
            raise IllFormed("bad_operand", "DW_AT_LLVM_lanes is 0", spec="A.3.3.5 (4)")
        if count > MAX_LANES:
            message = f"DW_AT_LLVM_lanes is {count}, more than the limit of {MAX_LANES}"
            raise EvaluationError("limit_exceeded", message, spec="A.3.3.5 (4)")
        return count

    # --- DW_AT_LLVM_active_lane -----------------------------------------------------------------------------------

    def active_mask(self, lanes: LaneSet | None = None) -> b.Bits:
        """Return the active lanes, the first one in the lowest bit; for many waves, one mask for each.

        Without the attribute it is the execution mask of the frame, and a target without one has one lane.
        """
        attribute = self.find("DW_AT_LLVM_active_lane")
        thread = self.activation.thread
        lanes = thread.lanes if lanes is None else lanes
        count = self.lane_count
        if attribute is not None:
            location = self._evaluated(attribute, lanes, "A.3.3.5 (6)")
            place = location.single
            if place is None:
                self._not_single("DW_AT_LLVM_active_lane", "A.3.3.5 (6)")
            return self._whole(self._reading(location, count, lanes), "DW_AT_LLVM_active_lane")
        number = self.target.execution_mask
        if number is None:
            return (1 << count) - 1
        size = thread.known_register(number).bit_size
        if count > size:
            message = f"DW_AT_LLVM_lanes is {count}, and the execution mask has {size} bits"
            raise IllFormed("bad_operand", message, spec="A.3.3.5 (6)")
        location = self.activation.register(number, lanes)
        if is_undefined(location):
            level = self.activation.level
            message = f"the execution mask of frame {level} is not known: nothing says where it was saved"
            raise MissingContext("frame", message, spec="A.3.3.5 (6)")
        return self._whole(self._reading(location, count, lanes), "the execution mask")

    def _whole(self, reading: Reading, what: str) -> b.Bits:
        if type(reading.undefined) is not int or reading.undefined:
            raise EvaluationError("undefined_read", f"{what} has bits without a value", spec="A.3.3.5 (6)")
        return reading.bits

    # --- DW_AT_LLVM_lane_pc ---------------------------------------------------------------------------------------

    @property
    def says_places(self) -> bool:
        """Whether the function says where its lanes are."""
        return self.find("DW_AT_LLVM_lane_pc") is not None

    def lane_pcs(self) -> tuple[LanePc, ...]:
        """Return where each lane is: "the thread's current program location" if nothing says otherwise (A.3.3.5 (5)).

        A lane that was not active when an inlined call was entered is looked for in the functions around it.
        """
        count = self.lane_count
        result: list[LanePc] | None = None
        for die in self.scopes:
            attribute = die.find("DW_AT_LLVM_lane_pc")
            if attribute is None:
                continue
            pcs = self._elements(attribute, count)
            if result is None:
                result = list(pcs)
            else:
                result = [
                    outer if known.pc is None and known.error is None else known
                    for known, outer in zip(result, pcs, strict=True)
                ]
            if all(known.pc is not None for known in result):
                break
        return tuple([LanePc(self.pc)] * count if result is None else result)

    def known_places(self, mask: int | None) -> tuple[tuple[LanePc, ...], DwarfGpuError | None]:
        """Return where each lane is, and the error where the attribute cannot be evaluated.

        An active lane is at the place of the wave, whatever else is not known.
        """
        try:
            return self.lane_pcs(), None
        except DwarfGpuError as error:
            active, here, unknown = mask or 0, LanePc(self.pc), LanePc(None, error)
            return tuple(here if active >> lane & 1 else unknown for lane in range(self.lane_count)), error

    def pcs_in_waves(self) -> tuple[b.Array, b.Array]:
        """Return where lanes are in many waves that are at one place, as ``[wave, lane]``: pcs, and which have one.

        Raise `Parted` where each wave must be asked by itself.
        """
        import numpy as np

        waves = self.activation.thread.lanes
        shape = waves.count, self.lane_count
        pcs, known = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=bool)
        for die in self.scopes:
            attribute = die.find("DW_AT_LLVM_lane_pc")
            if attribute is None:
                continue
            for group in each_part(waves, partial(self._columns, attribute)):
                if group.result is None:
                    raise Parted
                where: Any = slice(None) if group.positions is None else group.positions
                for lane, (addresses, undefined) in enumerate(group.result):
                    pcs[where, lane] = np.where(known[where, lane], pcs[where, lane], addresses)
                    known[where, lane] |= np.equal(undefined, 0)
        return pcs, known

    def _columns(self, attribute: Attribute, waves: LaneSet) -> list[tuple[b.Bits, b.Bits]]:
        """Return the elements of the vector in some waves: the bits, and those without a value, all or none."""
        size = 8 * self.target.address_size
        vector = self._evaluated(attribute, waves, "A.3.3.5 (5)")
        self._check_vector(vector, self.lane_count * size)
        columns = []
        for lane in range(self.lane_count):
            element = locations.moved(vector, lane * size, undefined_size=locations.UNDEFINED_BITS, spec="A.3.3.5 (5)")
            reading = self._reading(element, size, waves)
            is_whole = b.is_zero(reading.undefined)
            if not b.all_of(b.either(is_whole, b.equal(reading.undefined, (1 << size) - 1))):
                raise Parted
            columns.append((reading.bits, reading.undefined))
        return columns

    def _elements(self, attribute: Attribute, count: int) -> list[LanePc]:
        """Return the elements of the vector that an attribute describes, evaluated once for all lanes."""
        size = 8 * self.target.address_size
        try:
            vector = self._evaluated(attribute, self.activation.thread.lanes, "A.3.3.5 (5)")
        except MissingContext as error:
            if error.kind != "lane":
                raise
            if self.activation.level >= FREE_FRAMES:
                budget.spend(64 * count)
            return [self._own_element(attribute, lane, size) for lane in range(count)]
        self._check_vector(vector, count * size)
        if self.activation.level >= FREE_FRAMES:
            budget.spend(8 * count)
        return [self._element(vector, lane, size, None) for lane in range(count)]

    def _own_element(self, attribute: Attribute, lane: int, size: int) -> LanePc:
        """Return the element of a lane from a location evaluated for that lane, because it depends on the lane."""
        try:
            vector = self._evaluated(attribute, LaneSet.one(lane, self._wave), "A.3.3.5 (5)")
        except DwarfGpuError as error:
            return LanePc(None, error)
        return self._element(vector, lane, size, lane)

    def _element(self, vector: Location, lane: int, size: int, owner: int | None) -> LanePc:
        try:
            undefined = locations.UNDEFINED_BITS
            element = locations.moved(vector, lane * size, undefined_size=undefined, spec="A.3.3.5 (5)")
            reading = self._reading(element, size, LaneSet.one(owner, self._wave))
        except DwarfGpuError as error:
            return LanePc(None, error)
        if reading.undefined == (1 << size) - 1:
            return LanePc(None)
        if reading.undefined:
            message = f"the place of lane {lane} has bits without a value"
            return LanePc(None, EvaluationError("undefined_read", message, spec="A.3.3.5 (5)"))
        return LanePc(int(reading.bits))

    def _check_vector(self, vector: Location, size: int) -> None:
        place = vector.single
        if place is None:
            self._not_single("DW_AT_LLVM_lane_pc", "A.3.3.5 (5)")
        storage = place.storage
        if isinstance(storage, (Composite, Implicit)):
            available = storage.bit_size - int(b.select(place.bit_offset, 0))
            if available < size:
                message = f"DW_AT_LLVM_lane_pc describes {available} bits, and its vector has {size}"
                raise IllFormed("bad_size", message, spec="A.3.3.5 (5)")

    # --- DW_AT_LLVM_iterations ------------------------------------------------------------------------------------

    def iterations(self) -> int:
        """Return how many iterations of a loop a lane executes at once; 1 if nothing says so (A.3.3.5 (7))."""
        attribute = self.find("DW_AT_LLVM_iterations")
        if attribute is None:
            return 1
        target = self.target
        lanes = self.activation.thread.lanes
        if attribute.value_class == "constant":
            count = attribute.signed()
        else:
            location = self._evaluated(attribute, lanes, "A.3.3.5 (7)")
            place = location.single
            if place is None or type(place.storage) is not Implicit:
                raise IllFormed("wrong_kind", "DW_AT_LLVM_iterations gives no implicit location", spec="A.3.3.5 (7)")
            size = 8 * target.address_size
            reading = self._reading(location, min(size, place.storage.bit_size), lanes)
            count = int(b.signed(b.settled(reading.bits), size))
        if count <= 0:
            raise IllFormed("bad_operand", f"DW_AT_LLVM_iterations is {count}", spec="A.3.3.5 (7)")
        return count

    # --- Evaluation -----------------------------------------------------------------------------------------------

    @property
    def _wave(self) -> Any:
        return self.activation.thread.wave

    def _evaluated(self, attribute: Attribute, lanes: LaneSet, spec: str) -> Location:
        """Return the location that an attribute describes at the place of the frame."""
        frame = self.frame
        if frame.code is None:  # the attribute is one of its entries
            raise AssertionError(attribute)
        unit = FileUnit(attribute.die.unit, frame.code, frame.place)
        expressions = unit.expressions(attribute)
        if isinstance(expressions, tuple):
            if len(expressions) > 1:
                self._not_single(attribute.name, spec)
            if not expressions and attribute.name == "DW_AT_LLVM_lane_pc":
                return locations.UNDEFINED  # A.2.5.5: the result is an undefined location description
            if not expressions:
                # OPEN: a location list that says nothing is the undefined location (A.2.5.5), by which no lane would
                # ever be active; what the list leaves out is rather not known.
                message = f"{attribute.name} says nothing about the address {frame.place:#x}"
                raise MissingContext("pc", message, spec=spec)
            expressions = expressions[0]
        context = evolve(frame.context(lanes, unit), lane_count=self.lane_count)
        location: Location = result_for(evaluate(expressions, context))
        return location

    def _reading(self, location: Location, size: int, lanes: LaneSet) -> Reading:
        return Accessor(self.frame.backend, self.target.byte_order, lanes.count).read(location, size)

    def _not_single(self, name: str, spec: str) -> NoReturn:
        raise IllFormed("wrong_kind", f"{name} must have exactly one single location description", spec=spec)
