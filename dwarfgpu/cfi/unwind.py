"""Virtual unwinding: from the innermost activation of a thread to the outermost, and why it ends where it does.

"The value of the return address register is used to determine the program location of the caller frame" (A.6.4.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cfi.activation import Activation, NoInformation, no_information
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.activation import Thread
    from dwarfgpu.expr.locations import Location

MAX_FRAMES = 100_000
"""The default of the number of frames at which unwinding ends."""

OUTERMOST = "outermost"
"""The rule of the return address says that the function has no caller."""
NO_INFORMATION = "no_unwind_information"
OUTSIDE_CODE = "outside_code"
CYCLE = "cycle"
SAME_FRAME = "same_frame"
LIMIT = "limit_exceeded"
FAILED = "error"


@frozen
class End:
    """The reason why a call stack ends."""

    kind: str
    message: str
    error: DwarfGpuError | None = None
    """The error, if there was one."""

    @property
    def is_regular(self) -> bool:
        """Whether the call stack is complete."""
        return self.kind == OUTERMOST

    @property
    def is_failure(self) -> bool:
        """Whether something went wrong on the way to a caller."""
        return self.kind == FAILED


class CallStack:
    """The activations of a thread, unwound one by one as they are needed."""

    def __init__(self, thread: Thread, pc: int, max_frames: int = MAX_FRAMES, *, is_in_call: bool = False) -> None:
        self.thread = thread
        self.max_frames = max_frames
        self.end: End | None = None
        """Why the last activation has no caller, once that is known."""
        self._activations = [Activation(thread, pc, is_in_call=is_in_call)]
        self._seen: set[tuple[int, int, int]] = set()

    @property
    def top(self) -> Activation:
        return self._activations[0]

    def __iter__(self) -> Iterator[Activation]:
        level = 0
        activation: Activation | None = self.top
        while activation is not None:
            yield activation
            level += 1
            activation = self.at(level)

    def at(self, level: int) -> Activation | None:
        """Return the activation of a level, or None if the stack ends before it."""
        while level >= len(self._activations) and self.end is None:
            activation = self._next(self._activations[-1])
            if isinstance(activation, End):
                self.end = activation
            else:
                self._activations.append(activation)
        return self._activations[level] if level < len(self._activations) else None

    # --- One step -------------------------------------------------------------------------------------------------

    def _next(self, inner: Activation) -> Activation | End:
        """Return the caller of an activation, or the reason why the stack ends."""
        try:
            information = inner.information
            if information.row.cfa is None:
                raise no_information(inner.place)
            if inner.level == 0:
                self._identify(inner, inner.cfa(self.thread.lanes))
            location = inner.entry_register(information.return_register, self.thread.lanes)
            if is_undefined(location):
                return End(OUTERMOST, "the return address is undefined")
            pc = self._address(information.return_register, location)
        except NoInformation as error:
            return End(error.kind, error.message, error)
        except DwarfGpuError as error:
            return End(FAILED, f"the caller cannot be found: {error}", error)
        if pc is None:
            return End(FAILED, "the caller cannot be found: the return address has bits without a value")
        if inner.level + 1 >= self.max_frames:
            return End(LIMIT, f"there are more than {self.max_frames} frames (`set backtrace limit`)")
        caller = Activation(self.thread, pc, inner, is_call=not information.is_signal_frame)
        return self._checked(caller, inner) or caller

    def _address(self, number: int, location: Location) -> int | None:
        """Read the return address; None if some of its bits have no value."""
        register = self.thread.register(number)
        default = self.thread.target.default_space.address_bits
        size = default if register is None else min(default, register.bit_size)
        reading = self.thread.accessor.read(location, size)
        return None if reading.undefined else int(reading.bits)

    def _checked(self, caller: Activation, inner: Activation) -> End | None:
        """Return the reason why an unwound activation cannot be a caller, or None."""
        try:
            start = caller.information.start
            cfa = caller.cfa(self.thread.lanes)
        except NoInformation as error:
            if error.kind != OUTSIDE_CODE:
                return None  # the frame is kept, but nothing more is known of it
            return End(OUTSIDE_CODE, f"the return address {caller.pc:#x} is not in any loaded code", error)
        except DwarfGpuError:
            return None  # its own step will say what is wrong
        if self._is_same(caller, inner, cfa, start):
            message = f"the CFA does not move from frame {inner.level} to its caller in the same function"
            return End(SAME_FRAME, message)
        if not self._identify(caller, cfa):
            return End(CYCLE, f"frame {caller.level} would be one that is in the stack already")
        return None

    def _is_same(self, caller: Activation, inner: Activation, cfa: Location, start: int) -> bool:
        return start == inner.information.start and cfa == inner.cfa(self.thread.lanes)

    def _identify(self, activation: Activation, cfa: Location) -> bool:
        """Record the CFA and the code of an activation, and return whether no activation before it has both."""
        place: Any = cfa.places[0]
        identity = activation.pc, place.storage.space.number, int(place.bit_offset)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True
