"""The protocol of a machine: bytes of memory and of registers, and nothing about DWARF.

A backend has only the registers of the innermost frame; the unwinder finds those of callers. It raises
``EvaluationError`` with the kinds ``memory_unavailable``, ``register_unavailable``, ``register_unset``
and ``not_writable``.

`Backend` implements gathered accesses by single ones, so a small backend needs only four methods. A backend that keeps
its machine in columns overrides the gathered ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, NotSetYet, UsageError
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

    TrapTable = Mapping[int, "TrapMeaning"]


# --- Why waves stop, in the words of ROCgdb's library (``amd_dbgapi_wave_stop_reasons_t``) -----------------------

REASONS = (
    "BREAKPOINT", "WATCHPOINT", "SINGLE_STEP", "FP_INPUT_DENORMAL", "FP_DIVIDE_BY_0", "FP_OVERFLOW", "FP_UNDERFLOW",
    "FP_INEXACT", "FP_INVALID_OPERATION", "INT_DIVIDE_BY_0", "DEBUG_TRAP", "ASSERT_TRAP", "TRAP", "MEMORY_VIOLATION",
    "ADDRESS_ERROR", "ILLEGAL_INSTRUCTION", "ECC_ERROR", "FATAL_HALT",
)  # fmt: skip
"""The reasons in the order of their bits."""
EXCEPTIONS = (
    "FP_INVALID_OPERATION", "FP_INPUT_DENORMAL", "FP_DIVIDE_BY_0", "FP_OVERFLOW", "FP_UNDERFLOW", "FP_INEXACT",
    "INT_DIVIDE_BY_0",
)  # fmt: skip
"""The exceptions of arithmetic, bits 0 to 6 of TRAPSTS and of EXCP_FLAG_USER."""


@frozen
class TrapMeaning:
    """The meaning of a number of ``s_trap``."""

    reason: str
    meaning: str
    has_argument: bool = False
    """Whether the handler gets an argument in v0."""
    has_queue: bool = False
    """Whether the handler gets the address of the queue in s[0:1]."""


_LLVM_TRAP = TrapMeaning("ASSERT_TRAP", "llvm.trap: the program ended itself, as abort() and failed assertions do")
_DEBUG_TRAP = TrapMeaning("DEBUG_TRAP", "llvm.debugtrap: a stop for a debugger, which goes on where there is none")
_BREAKPOINT = TrapMeaning("BREAKPOINT", "a breakpoint of a debugger")
_HSA_DEBUG_TRAP = TrapMeaning("DEBUG_TRAP", "llvm.debugtrap with an argument (HSA debugtrap)", True, True)
UNKNOWN_TRAP = TrapMeaning("TRAP", "reserved")
TRAPS: TrapTable = {1: _BREAKPOINT, 2: _LLVM_TRAP, 3: _DEBUG_TRAP}
"""The numbers of ``s_trap`` from code object version 3 on (AMDGPU usage, "Trap Handler ABI")."""
_TRAPS_WITH_QUEUE: TrapTable = {**TRAPS, 2: evolve(_LLVM_TRAP, has_queue=True)}
_TRAPS_V2: TrapTable = {1: _HSA_DEBUG_TRAP, 2: _TRAPS_WITH_QUEUE[2], 3: _DEBUG_TRAP, 7: _BREAKPOINT}
OTHER_TRAP = 4
"""The first number whose reason is TRAP."""
TRAP_REASONS = frozenset((*(trap.reason for trap in TRAPS.values()), UNKNOWN_TRAP.reason))
"""The reasons of waves that have executed ``s_trap``."""


def traps_of(version: int | None, major: int) -> TrapTable:
    """Return the meanings of ``s_trap`` numbers in a code object version for HSA, on a generation.

    The text of 2020 gives llvm.trap the queue; from version 4 on compilers pass it up to GFX8 only.
    """
    if version is None:
        return TRAPS
    if version <= 2:
        return _TRAPS_V2
    return _TRAPS_WITH_QUEUE if version == 3 or major <= 8 else TRAPS


def trap_number(reasons: Collection[str], traps: TrapTable) -> int:
    """Return the number of a trap with one of some reasons; 0 if none has."""
    found = [number for number, trap in traps.items() if trap.reason in reasons and not trap.has_argument]
    return found[0] if found else OTHER_TRAP if UNKNOWN_TRAP.reason in reasons else 0


def trap_inputs(trap: TrapMeaning, values: Collection[int], queue: int | None) -> str:
    """Return the inputs of a trap handler as text: its argument in some lanes, and the queue."""
    low, high = min(values, default=None), max(values, default=None)
    value = "not known" if low is None or high is None else f"{low:#x}" if low == high else f"{low:#x} to {high:#x}"
    given = [f"debugtrap({value})"] if trap.has_argument else []
    given += [f"queue {'not known' if queue is None else f'{queue:#x}'}"] if trap.has_queue else []
    return ", ".join(given)


SIGNALS = (
    (frozenset(("ADDRESS_ERROR",)), "SIGBUS"),
    (frozenset(("MEMORY_VIOLATION",)), "SIGSEGV"),
    (frozenset(("ILLEGAL_INSTRUCTION",)), "SIGILL"),
    (frozenset(EXCEPTIONS), "SIGFPE"),
    (frozenset(("BREAKPOINT", "WATCHPOINT", "SINGLE_STEP", "DEBUG_TRAP", "TRAP")), "SIGTRAP"),
    (frozenset(("ASSERT_TRAP", "FATAL_HALT", "ECC_ERROR")), "SIGABRT"),
)
"""The signals that ROCgdb shows for reasons; the first match counts."""


def signal_of(reasons: tuple[str, ...]) -> str | None:
    """Return the signal that ROCgdb shows for some reasons."""
    return next((name for group, name in SIGNALS if not group.isdisjoint(reasons)), None)


WAITS, HAS_ENDED, IS_HALTED, MAY_SLEEP = QUIET = (
    "waits at a barrier", "has ended", "is halted", "may sleep (s_sleep)",
)  # fmt: skip
"""The details of waves that have not failed; sleep is known from the code, the others from the machine."""


@frozen
class WaveStop:
    """The reason why a wave does not run."""

    reasons: tuple[str, ...] = ()
    """The reasons; for a wave that was not stopped, the exceptions that its registers have recorded."""
    lanes: int | None = None
    """The lanes that raised them, as a mask; None if not known."""
    address: int | None = None
    """The global address that the first of these lanes could not access."""
    detail: str = ""
    """A text in addition to the reasons, such as "waits at a barrier"."""
    is_stopped: bool = True
    """Whether a trap handler or a debugger stopped the wave; else it was saved while it ran."""
    was_halted: bool = False
    """Whether the wave was halted, by itself or otherwise, before it was stopped."""
    never_ran: bool = False
    """Whether the wave was launched halted, and has executed nothing."""
    trap: int | None = None
    """The number of the ``s_trap`` that the wave executed, 0 for none; None if only the reasons are known."""

    @property
    def name(self) -> str:
        """The reasons as a short text, without the details that differ between waves."""
        names = "|".join(self.reasons)
        if self.never_ran:
            return "launched halted, never ran"
        if self.is_stopped:
            return names or self.detail or "stopped"
        return f"not stopped, raised {names}" if names else self.detail or "not stopped"

    @property
    def common(self) -> WaveStop:
        """The part that is equal for all waves that stopped for the same reasons."""
        return evolve(self, lanes=None, address=None, detail="") if self.reasons else self

    @property
    def text(self) -> str:
        return f"{self.name}: {self.detail}" if self.reasons and self.detail else self.name

    @property
    def signal(self) -> str | None:
        """The signal that ROCgdb shows."""
        return signal_of(self.reasons)

    @property
    def has_failed(self) -> bool:
        """Whether the wave has a reason, or a detail other than those of waves at rest."""
        return bool(self.reasons) or self.detail not in ("", *QUIET)

    @property
    def is_at_rest(self) -> bool:
        """Whether the wave, without a reason, is halted or may sleep, and so waits for no other wave."""
        return not self.reasons and self.detail in (IS_HALTED, MAY_SLEEP)

    @property
    def is_crash(self) -> bool:
        """Whether the signal means an error, not a trap or a breakpoint."""
        return self.signal not in (None, "SIGTRAP")


def stop_json(stop: WaveStop | None) -> dict[str, Any]:
    """Return the JSON keys of a stop; none for a wave that was merely halted."""
    entry: dict[str, Any] = {}
    if stop is not None and stop.reasons:
        known = {
            "reasons": list(stop.reasons),
            "signal": stop.signal,
            "lanes": None if stop.lanes is None else hex(stop.lanes),
            "address": None if stop.address is None else hex(stop.address),
        }
        entry["stop"] = {key: value for key, value in known.items() if value is not None}
    if stop is not None and stop.detail:
        entry["stop_detail"] = stop.detail
    return entry


VARIABLE, REGISTER, ADDRESS = "variable", "register", "address"
"""The kinds of changes: of a variable, of the registers that contain it now, of the registers of an address."""


@frozen
class LastChange:
    """The instruction that changed a location in global memory last."""

    address: int
    pc: int | None = None
    """None if nothing has changed it since the launch."""
    waves: tuple[str, ...] = ()
    """The ids of the waves that executed it together: one of them changed the location."""
    lanes: int | None = None
    """The lanes of the wave that may have changed it, as a mask; None if not known."""


@frozen
class CrashChange:
    """The instruction of a crashed wave that changed a variable last, or the registers that contain it."""

    name: str
    """The variable, or the registers of an address."""
    wave: str
    lane: int
    pc: int
    kind: str = VARIABLE
    frame: int = 0
    """The number of the variable's frame when the wave crashed."""
    old: str | None = None
    new: str | None = None


# --- Machines -----------------------------------------------------------------------------------------------------


@frozen
class Capabilities:
    """The capabilities of a backend, for its users, its documentation and the tests that all backends share."""

    name: str
    summary: str
    many_waves: bool
    """Whether it has more than one wave; else 0 is the only index."""
    writes: str
    """The effect of a write."""
    unknown: str
    """The contents that may be unknown, and the result of reading them."""
    gathered: str
    """The way in which it performs one access for many slots."""
    instances: bool
    """Whether each work-group has local memory and each wave private memory; else there is one of each."""
    lane_owned: bool = False
    """Whether a register can belong to a lane: each lane then has its own copy."""


@frozen
class KnownRange:
    """A range of global memory."""

    address: int
    size: int
    is_buffer: bool = False
    """Whether it was allocated as one buffer; else it is the known memory around an address."""


class Backend:
    """A machine. ``wave`` is the index of a wave; ``lane`` is None unless each lane has its own storage.

    >>> import dwarfgpu as dg
    >>> class Ones(dg.Backend):
    ...     def read_memory(self, space, address, size, wave, lane):
    ...         return bytes([1]) * size
    >>> expression = dg.parse("DW_OP_addr 0x1000; DW_OP_deref_size 2", dg.dialect("llvm-user"), dg.Format())
    >>> hex(dg.evaluate(expression, dg.Context(dg.target("gfx90a"), backend=Ones())).one().bits)
    '0x101'
    """

    capabilities: Capabilities
    changes = 0
    """The number of writes. Results that depend on contents are valid while it does not change."""
    undone = 0
    """How many of them were taken back, so that the contents are again what they were before."""

    def lane_owned(self, register: TargetRegister) -> bool:
        """Return whether each lane has its own copy of this register, as a described machine without vectors may."""
        return False

    def stop_of(self, wave: int) -> WaveStop | None:
        """Return why a wave has stopped, or None if the backend does not know."""
        return None

    def calls_of(self, wave: int) -> tuple[int, ...]:
        """Return the return addresses of the calls that a wave was seen to make, innermost first; none if not known."""
        return ()

    def stop_text(self, wave: int) -> str | None:
        """Return why a wave has stopped as a text, or None if the backend does not know."""
        stop = self.stop_of(wave)
        return None if stop is None else stop.text

    def read_memory(self, space: AddressSpace, address: int, size: int, wave: int, lane: int | None) -> bytes:
        raise memory_unavailable(space, address, size)

    def write_memory(self, space: AddressSpace, address: int, data: bytes, wave: int, lane: int | None) -> None:
        raise not_writable(f"memory at {space.name}#{address:#x}")

    def read_register(self, register: TargetRegister, wave: int, lane: int | None) -> bytes:
        """Read the whole register, in memory order."""
        raise register_unavailable(register)

    is_launched = False
    """Whether its waves begin with nothing but what a launch sets."""

    @property
    def knows_unwritten(self) -> bool:
        """Whether it may know which private memory no store has reached."""
        return False

    def showing_unwritten(self) -> AbstractContextManager[bool]:
        """Let private memory read as ones where no store has been, and as 0 elsewhere; yield whether that is known."""
        return nullcontext(False)

    has_gaps = False
    """Whether some registers are known only in some lanes."""

    def unknown_lanes(self, register: TargetRegister, wave: int) -> int:
        """Return the unknown lanes of a vector register of which other lanes are known, as a mask."""
        return 0

    def set_unknown_lanes(self, register: TargetRegister, wave: int, mask: int) -> None:
        """Set the unknown lanes of a vector register of which other lanes are known."""
        raise not_writable(f"register {register.name}")

    def write_register(self, register: TargetRegister, data: bytes, wave: int, lane: int | None) -> None:
        """Replace the whole register."""
        raise not_writable(f"register {register.name}")

    # --- Many slots at once ---------------------------------------------------------------------------------------
    # Addresses, offsets, waves and lanes are one number for all slots, or an array with a number for each slot.

    def gather_memory(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Bits | None, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        """Read ``size`` bytes at an address for each slot: an array ``[slot, byte]``, and flags of the known slots.

        The bytes of a slot without the flag have no meaning; `read_memory` raises the reason.
        """

        def read(slot: int) -> bytes:
            wave, lane = of_slot(waves, slot), of_slot(lanes, slot)
            return self.read_memory(space, int(b.select(addresses, slot)), size, wave or 0, lane)

        return gather(read, size, count)

    def gather_register(
        self, register: TargetRegister, offsets: Bits, size: int, waves: Bits, lanes: Bits | None, count: int
    ) -> tuple[Array, Array]:
        """Read ``size`` bytes at an offset in a register, of one wave for each slot, like `gather_memory`."""

        def read(slot: int) -> bytes:
            first = int(b.select(offsets, slot))
            whole = self.read_register(register, int(b.select(waves, slot)), of_slot(lanes, slot))
            if first + size > len(whole):
                raise register_unavailable(register)
            return whole[first : first + size]

        return gather(read, size, count)


class WaveBackend(Backend):
    """A machine of waves, or of threads, that have names and the registers of one target."""

    target: Target
    ids: list[str]
    """The name of each wave."""

    @property
    def wave_count(self) -> int:
        return len(self.ids)

    def register(self, number: int) -> TargetRegister | None:
        """Return the register of the target with a DWARF number."""
        return self.target.register(number)

    def launched_segment(self, dispatch: int) -> bytes | None:
        """Return the kernarg segment of a dispatch as it was at the launch, if this machine launched the kernel."""
        return None

    def memory_around(self, address: int) -> KnownRange | None:
        """Return the buffer that contains an address, else the known range of global memory around it."""
        return None

    def extent(self, space: AddressSpace, wave: int, lane: int | None = None) -> int:
        """Return the number of known bytes from address 0 of an address space on."""
        return self.reach(space, 0, wave, lane)

    def reach(
        self, space: AddressSpace, address: int, wave: int, lane: int | None = None, *, is_before: bool = False
    ) -> int:
        """Return the number of readable bytes from an address on, or before it, by trying: at most `FARTHEST`."""
        found, step = 0, BLOCK
        while step and found < FARTHEST:
            try:
                self.read_memory(space, address - found - step if is_before else address + found, step, wave, lane)
            except EvaluationError:
                step //= 2
            else:
                found += step
        return found

    def program_counter(self, wave: int) -> int | None:
        """Return the program counter of a wave, or None if it is not known."""
        number = self.target.program_counter
        register = None if number is None else self.register(number)
        try:
            data = None if register is None else self.read_register(register, wave, None)
        except EvaluationError:
            return None
        return None if data is None else int.from_bytes(data, self.target.byte_order)

    def all_stops(self) -> Sequence[WaveStop | None]:
        """Return why each wave has stopped, as `stop_of` does."""
        return [self.stop_of(wave) for wave in range(self.wave_count)]

    def wave_named(self, name: str) -> int | None:
        """Return the index of the wave with a name."""
        return self.ids.index(name) if name in self.ids else None


BLOCK = 1 << 12
"""The bytes of each try to find the end of memory."""
FARTHEST = 1 << 20


def check_size(register: TargetRegister, data: bytes, size: int | None = None) -> None:
    """Refuse data that has not the size of a register or of its storage."""
    size = -(-register.bit_size // 8) if size is None else size
    if len(data) != size:
        raise UsageError(f"{register.name} has {size} bytes, not {len(data)}")


def of_slot(bits: Bits | None, slot: int) -> int | None:
    """Return the element of a slot from bits that may be absent, equal for all slots, or different."""
    return None if bits is None else int(b.select(bits, slot))


def gather(read: Callable[[int], bytes], size: int, count: int) -> tuple[Array, Array]:
    """Gather by reading slot after slot; return the bytes, and flags of the slots that could be read."""
    import numpy as np

    data, done = np.zeros((count, size), dtype=np.uint8), np.ones(count, dtype=bool)
    for slot in range(count):
        try:
            data[slot] = np.frombuffer(read(slot), dtype=np.uint8)
        except DwarfGpuError:
            done[slot] = False
    return data, done


def memory_unavailable(space: AddressSpace, address: int, size: int, why: str = "") -> EvaluationError:
    """Return the error of a backend that lacks some memory."""
    message = f"{size} bytes of memory at {space.name}#{address:#x} are not available"
    return EvaluationError("memory_unavailable", f"{message}: {why}" if why else message, spec="A.2.5.4.4.3")


def register_unavailable(register: TargetRegister, why: str = "", lane: int | None = None) -> EvaluationError:
    """Return the error of a backend that lacks a register, or a lane of a register."""
    what = f"register {register.name}" if lane is None else f"lane {lane} of register {register.name}"
    message = f"the contents of {what} are not available"
    return EvaluationError("register_unavailable", f"{message}: {why}" if why else message, spec="A.2.5.4.4.4")


def register_unset(register: TargetRegister) -> EvaluationError:
    """Return the error of a register that a running wave has not written so far."""
    return not_set_yet(f"register {register.name} is not set yet", spec="A.2.5.4.4.4")


_PROLOGUE = "a breakpoint at the name of the function stops after its beginning, which sets it"


def not_set_yet(message: str, spec: str | None = None, hint: str = _PROLOGUE) -> EvaluationError:
    """Return the error of what the beginning of a function sets, or a declaration."""
    return NotSetYet("register_unset", message, spec=spec, hint=hint)


def not_writable(what: str) -> EvaluationError:
    """Return the error of a storage or a backend that cannot be written."""
    return EvaluationError("not_writable", f"{what} cannot be written", spec="A.2.5.3")
