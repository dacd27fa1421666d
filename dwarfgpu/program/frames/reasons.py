"""Why there is no value: one record for text, JSON and library, made of what the evaluation and the file say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext
from dwarfgpu.expr.locations import Implicit, ImplicitPointer, Location, Memory, Register, is_undefined
from dwarfgpu.expr.pieces import stretches_of
from dwarfgpu.immutable import field, frozen
from dwarfgpu.program.code.repairs import repairs_of

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import Activation
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.values.objects import Object


NO_LOCATION_HERE = "no_location_here"
"""Its location list says nothing about the address."""
NOT_IN_SCOPE = "not_in_scope"
"""The lane is at a place where the name means nothing."""
NOT_ENTERED = "not_entered"
"""The lane was not active when the function was called."""
INACTIVE = "inactive"
"""The lane does not execute the code, and was not asked for by its number."""
NO_DATA = "no_data"
"""It is not allocated, or not associated with an object (DWARF 5, 5.18.2 and 5.18.3)."""
OPTIMIZED_OUT = "optimized_out"
"""It has no location and no constant value, or an empty location."""
UNDEFINED_OPERATION = "undefined_operation"
"""Its expression says that there is no value: DW_OP_LLVM_undefined, or a piece without a location."""
UNDEFINED_RULE = "undefined_rule"
"""It is in a register that the call frame information does not keep for this frame."""
UNDEFINED = "undefined"
"""Some of its bits have no value."""
NOT_PASSED = "entry_unknown"
"""It is what a parameter was at the call, which the caller does not tell."""
NO_MEMORY = "memory_unavailable"
NO_REGISTER = "register_unavailable"
NOT_SET = "register_unset"
"""It is where a register says that the wave has not set so far, as at the first instruction of a function."""
LAUNCH_UNKNOWN = "launch_unknown"
"""It is an argument of a launch of which the machine does not know it."""
NOT_LOADED = "not_loaded"
"""It is a word that the loader sets, and the program is a file that has not been loaded."""
MISSING = "missing_context"
"""The question lacks something: a machine, a frame, a lane."""
FAILED = "error"

_OF_REGISTERS = ("DW_OP_regx", "DW_OP_breg", "DW_OP_LLVM_aspace_bregx")
"""How the operations begin whose first operand is a register; all others are made of them."""
_ENTRY_VALUES = ("DW_OP_entry_value", "DW_OP_GNU_entry_value")
_NOT_PASSED = "it is computed from the value of a parameter at the call, which no call site gives"
_ABSENT = frozenset((NO_LOCATION_HERE, NOT_IN_SCOPE, NOT_ENTERED, NO_DATA, OPTIMIZED_OUT))
_UNDEFINED = frozenset((UNDEFINED, UNDEFINED_OPERATION, UNDEFINED_RULE, NOT_PASSED))


@frozen
class Reason:
    """Why there is no value.

    >>> import dwarfgpu as dg
    >>> reason = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)["unused"].why(4)
    >>> reason.kind, str(reason)
    ('optimized_out', 'it has neither a location nor a constant value')
    """

    kind: str
    message: str
    before: tuple[int, int] | None = None
    """The nearest addresses below the place that have a location: the first, and the first past them."""
    after: tuple[int, int] | None = None
    """The nearest above it."""
    error: DwarfGpuError | None = None
    """What went wrong, if something did."""
    launched: Callable[[], Object | None] | None = field(default=None, eq=False, repr=False)
    """Returns what the kernel was launched with, where that is known of a parameter."""

    def __str__(self) -> str:
        return self.message

    @property
    def state(self) -> str:
        """The state of a lane that has it: ``absent``, ``undefined`` or ``error``."""
        if self.kind in _ABSENT:
            return "absent"
        return "undefined" if self.kind in _UNDEFINED else "error"

    @property
    def is_elsewhere(self) -> bool:
        """Whether the lane is not where the name means something."""
        return self.kind in (NOT_IN_SCOPE, NOT_ENTERED)

    @property
    def placeholder(self) -> str:
        """What is shown in place of the value, as GDB does."""
        if self.is_elsewhere:
            return "<not in scope>" if self.kind == NOT_IN_SCOPE else "<not in this call>"
        if self.kind == NO_DATA and self.error is not None:
            return f"<{self.error.message}>"
        if self.kind == NOT_SET:
            return "<not set yet>"
        return "<error>" if self.state == "error" else "<optimized out>"


class Unavailable(EvaluationError):
    """A value that is not there; `reason` says why.

    >>> import dwarfgpu as dg
    >>> try:
    ...     dg.open("lane-pc.co").attach("variables.json")[0].frame(0)["unused"].value(lane=4)
    ... except dg.Unavailable as error:
    ...     print(error.reason.kind)
    optimized_out
    """

    def __init__(self, reason: Reason) -> None:
        error = reason.error
        EvaluationError.__init__(self, reason.kind, reason.message, spec=None if error is None else error.spec)
        self.reason = reason
        if error is not None:
            self.hint = error.hint
            if reason.message == error.message:
                self.where = error.where


def unavailable(kind: str, message: str, **details: Any) -> Unavailable:
    """Return the error of a value that is not there."""
    return Unavailable(Reason(kind, message, **details))


def reason_of(error: DwarfGpuError) -> Reason:
    """Return the reason that an error gives."""
    if isinstance(error, Unavailable):
        return error.reason
    if error.kind == NO_MEMORY:
        return Reason(error.kind, f"{error.message}: the machine state does not have it", error=error)
    if error.kind in (NO_REGISTER, NOT_SET, NOT_LOADED):
        return Reason(error.kind, error.message, error=error)
    if error.where.operation in _ENTRY_VALUES:
        return Reason(NOT_PASSED, _NOT_PASSED, error=error)
    if error.kind == "undefined_read":
        return Reason(UNDEFINED, "some of its bits have no value", error=error)
    if error.kind == NO_DATA:
        return Reason(NO_DATA, f"the object is {error.message}", error=error)
    if error.kind == "no_name":
        return Reason(NOT_IN_SCOPE, error.message, error=error)
    if isinstance(error, MissingContext):
        return Reason(MISSING, error.message, error=error)
    return Reason(FAILED, error.message, error=error)


# --- Reasons from the file ----------------------------------------------------------------------------------------


def not_listed(place: int, ranges: Iterable[tuple[int, int]]) -> Unavailable:
    """Return the error of a location list that does not cover an address, with the nearest ones that it covers."""
    known = sorted(interval for interval in ranges if interval[0] < interval[1])
    before = max(
        (interval for interval in known if interval[1] <= place), key=lambda interval: interval[1], default=None
    )
    after = next((interval for interval in known if interval[0] > place), None)
    near = [
        f"the nearest {where} {interval[0]:#x} to {interval[1]:#x}"
        for where, interval in (("below is", before), ("above is", after))
        if interval is not None
    ]
    text = f"it has no location at {place:#x}: {', '.join(near)}" if near else "its location list is empty"
    return unavailable(NO_LOCATION_HERE, text, before=before, after=after)


def why_undefined(
    expressions: Iterable[Expression], activation: Activation | None, lanes: LaneSet
) -> Unavailable | None:
    """Return why a location is undefined, as its expressions and the inner frames tell; None if they do not."""
    for expression in expressions:
        if not expression.instructions:
            return unavailable(OPTIMIZED_OUT, "its location description is empty here")
        for step in expression.code:
            name = step.operation.name
            if name == "DW_OP_LLVM_undefined":
                repairs = repairs_of(expression)
                meaning = repairs[0].meaning if repairs else f"its location is undefined here ({name})"
                return unavailable(UNDEFINED_OPERATION, meaning)
            if name in _ENTRY_VALUES:
                return unavailable(NOT_PASSED, _NOT_PASSED)
            if name.startswith(_OF_REGISTERS) and activation is not None:
                reason = lost_register(activation, int(step.operands[0]), lanes)
                if reason is not None:
                    return reason
    return None


def lost_register(activation: Activation, number: int, lanes: LaneSet) -> Unavailable | None:
    """Return whether a register has no value in a frame, because nothing of it was kept."""
    try:
        if not is_undefined(activation.register(number, lanes)):
            return None
    except DwarfGpuError as error:
        return Unavailable(reason_of(error))
    register = activation.thread.register(number)
    name = f"register {number}" if register is None else register.name
    below = activation.callee
    has_rule = below is not None and number in below.register_rules
    message = f"it is in {name}, which the callee did not keep: nothing says where it was saved"
    if has_rule and activation.found:  # without call frame information
        message = f"it is in {name}, which the code of the callee may have changed"
    elif has_rule:
        message = f"it is in {name}, which the callee did not keep: call frame information calls it undefined"
    return unavailable(UNDEFINED_RULE, message)


# --- The sources of a value ---------------------------------------------------------------------------------------

MAX_SOURCES = 4096
"""More parts than this are not listed."""


@frozen
class ValueSource:
    """Some bits of a value, and where they are."""

    bit_offset: int
    """Of the value."""
    bit_size: int
    kind: str
    """``register``, ``memory``, ``constant``, ``pointer`` (an implicit one) or ``undefined``."""
    register: str | None = None
    lane: int | None = None
    """The lane of a vector register or of private memory, if there is one."""
    bit: int | None = None
    """The first bit: of the lane of a vector register, else of the register or the constant."""
    space: str | None = None
    address: int | None = None
    """Of memory; ``bit`` says where in the byte it begins, if not at its first bit."""

    def __str__(self) -> str:
        size = f"{self.bit_size // 8} bytes" if not self.bit_size % 8 else f"{self.bit_size} bits"
        bit = f" bit {self.bit}" if self.bit else ""
        if self.kind == "register":
            lane = "" if self.lane is None else f" lane {self.lane}"
            return f"{size} of {self.register}{lane}{bit}"
        if self.kind == "memory":
            return f"{size} at {self.space}#{self.address:#x}{bit}"
        words = {"constant": "of a constant", "pointer": "of an implicit pointer", "undefined": "without a value"}
        return f"{size} {words[self.kind]}"


def sources(location: Location, bit_size: int) -> tuple[ValueSource, ...]:
    """Return where the first bits of a location are. Of several places that hold the same value it is the first."""
    result: list[ValueSource] = []
    position = 0
    for part, size in stretches_of(location, bit_size):
        for source in _of(part, position, size):
            if len(result) >= MAX_SOURCES or not budget.take(24):
                return tuple(result)
            result.append(source)
        position += size
    return tuple(result)


def _of(location: Location, position: int, size: int) -> Iterator[ValueSource]:
    place = location.places[0]
    storage: Any = place.storage
    offset = int(place.bit_offset)
    if type(storage) is Memory:
        lane = None if storage.lane is None else int(storage.lane)
        yield ValueSource(position, size, "memory", None, lane, offset % 8, storage.space.name, offset // 8)
    elif type(storage) is Register:
        yield from _of_register(storage, offset, position, size)
    elif type(storage) is Implicit:
        yield ValueSource(position, size, "constant", bit=offset)
    elif type(storage) is ImplicitPointer:
        yield ValueSource(position, size, "pointer", bit=offset)
    else:  # undefined; or a composite whose offset differs, or with parts in several places
        yield ValueSource(position, size, "undefined")


def _of_register(storage: Register, offset: int, position: int, size: int) -> Iterator[ValueSource]:
    register = storage.register
    unit = register.lane_bits
    if not unit:
        lane = None if storage.lane is None else int(storage.lane)
        yield ValueSource(position, size, "register", register.name, lane, offset)
        return
    while size > 0:  # of a vector register lane by lane
        lane, bit = divmod(offset, unit)
        length = min(size, unit - bit)
        yield ValueSource(position, length, "register", register.name, lane, bit)
        offset, position, size = offset + length, position + length, size - length
