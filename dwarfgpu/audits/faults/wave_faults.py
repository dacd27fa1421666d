"""Why waves have stopped: the access that failed, the lanes that missed memory, and the argument they missed.

A simulated wave stops before the instruction that fails, hardware after it. For hardware, accesses that were
outstanding are examined as well, if the registers of their addresses have not been written since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.faults.lane_addresses import LaneAddresses, added_base, lane_addresses, writes_exec
from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.audits.memory_model.survey import outstanding_at
from dwarfgpu.errors import DwarfGpuError, EvaluationError
from dwarfgpu.execution.faults import NamedBuffer
from dwarfgpu.execution.gpu import Gpu
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.isa import memory_actions as actions
from dwarfgpu.isa.decoder import text as instruction_text
from dwarfgpu.lanes import lanes_in
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.columns import MAX_DEPTH, python_value
from dwarfgpu.program.frames.launch_record import POINTERS
from dwarfgpu.program.frames.local_memory import local_objects
from dwarfgpu.program.frames.wave import Wave, trap_at
from dwarfgpu.program.frames.wave_groups import wave_groups
from dwarfgpu.program.language.named_objects import FIRST, NAME, bases, indexes_in, objects_in
from dwarfgpu.program.types.model import Array, Pointer, Struct, known_size, named_members, resolved
from dwarfgpu.targets.amdgpu import LOCAL, PRIVATE_LANE

if TYPE_CHECKING:
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.machines.protocol import CrashChange, KnownRange, WaveStop
    from dwarfgpu.program.code.scopes import SourceLine
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave_positions import Triple
    from dwarfgpu.states.stopped import Stopped

    Texts = tuple[tuple[str, str], ...]
    """Names with what they have."""

MAX_WAVES = 8
"""Of so many waves at one place, with the same reasons, the registers are read."""
PAGE = 4096
SPACE_NAMES = {actions.LOCAL: "local memory", actions.PRIVATE: "private memory"}
SPACES = {LOCAL: actions.LOCAL, PRIVATE_LANE: actions.PRIVATE}
"""By the number of an address space other than global and generic, the memory of an access."""
ASSERTIONS = frozenset(("__assert_fail", "__assertfail", "__glibcxx_assert_fail"))
"""The functions that failed assertions call."""
NULL = 1 << 16
"""Addresses below this are those of a null pointer, with the offset of an element."""
NEAR = 1 << 16
"""Farther than this from every buffer, an address is said to belong to none."""
FEW, MOST_CHARACTERS = 16, 200
"""The elements of values that are shown, so that a fault fits on one screen, and those of the texts of assertions."""
MOST_CALLS = 1000
"""How many frames are looked at for calls of the same function."""
MAX_CALLERS = 4
"""How many of the calls that led to a place are shown."""
MAX_TRIED = 64
"""How many expressions are compared with the addresses of the lanes."""
_PointerRow = tuple[str, int, "int | None", int]
"""The name, address and size of memory that a pointer has, and its value."""
GLOBAL_SPACES = frozenset((actions.GLOBAL, actions.GENERIC, actions.SCALAR))
MEMORY_REASONS = frozenset(("MEMORY_VIOLATION", "ADDRESS_ERROR"))
RANKED = "its lanes are in the page of the fault", "its lanes have no memory", "its lanes are the nearest to a buffer"
"""Why a candidate is before another, by the parts of its rank."""
ALSO_NULL = "it is null, too"
NEAREST_OF_SOME = "it is the nearest of some lanes"
HIDDEN_OF_NULL = (
    "the compiler has made this address: before GFX9, clang reads hidden arguments of functions at a null pointer "
    "in code objects of version 5 and later; -mcode-object-version=4 is right"
)
"""What is wrong where unoptimized functions of gfx803 look for the place of private memory."""
_POINTER = re.compile(r"(?:^|[^\w\s)\]]|\breturn)\s*\*+\s*([A-Za-z_]\w*)|\b([A-Za-z_]\w*)\s*(?:\[|->)")
_ASSIGNMENT = re.compile(r"(?<![-=<>!+*/%&|^])=(?!=)")
"""The operator that stores to its left side, and loads nothing from there."""


@frozen
class MissedBuffer:
    """Memory that lanes may have missed: of an argument, of a work-group or of a work-item."""

    name: str
    address: int
    size: int | None
    """The bytes it has; None of a pointer that points to no known memory."""
    first: int
    """The address of the lane that is nearest to it."""
    last: int
    """The address of the lane that is farthest from it on the same side."""
    why: str = "it is the nearest"
    """What speaks for it."""
    is_certain: bool = False
    """Whether more speaks for it than that it is near."""
    opposite: int | None = None
    """The address of the farthest lane on the other side of it."""
    memory: str = ""
    """``local`` or ``private``, of a variable or an argument in it."""

    @property
    def buffer(self) -> NamedBuffer:
        """Return it as memory that a fault names."""
        name = f"`{self.name}`" if self.name not in SPACE_NAMES.values() else self.name
        return NamedBuffer(f"{name} [{self.memory}]" if self.memory else name, self.address, self.size or 0)

    @property
    def nearest(self) -> int:
        """How far the nearest lane begins behind the end, or, as a negative number, before the start."""
        return self.buffer.distance(self.first)

    @property
    def farthest(self) -> int:
        """The same of the farthest lane."""
        return self.buffer.distance(self.last)


@frozen
class LanesOutside:
    """The lanes of a wave that access memory that is not there."""

    wave: str
    number: int
    """The index of the wave."""
    work_group: Triple | None
    lanes: tuple[int, ...]
    """Empty for a scalar access, which the whole wave makes."""
    items: tuple[Triple | None, ...] = field(repr=False)
    """The work-item of each lane, where it is known."""
    addresses: tuple[int, ...] = field(default=(), repr=False)
    """The address of each lane, or that of the wave; empty if nothing is accessed."""
    origin: Triple | None = None
    """The global id of the first work-item of the work-group."""

    @property
    def ends(self) -> tuple[Triple | None, Triple | None]:
        """The work-items of the first and the last lane."""
        return (self.items[0], self.items[-1]) if self.items else (None, None)


@frozen
class FailedAccess:
    """A memory instruction that may have failed."""

    address: int
    instruction: str
    source: str | None
    """The line that it is from, if that is not the line of the wave."""
    action: str
    space: str
    size: int
    is_outstanding: bool
    """Whether it was issued before the place where the wave stands."""
    lanes: tuple[LanesOutside, ...]
    missed: tuple[MissedBuffer, ...]
    """The argument that is certain, or several: one of them."""
    is_null: bool = False
    pointer: str | None = None
    """The part of the expression that is null in each lane that failed: an argument, a variable or a member."""
    expression: str | None = None
    """The part of the source line whose address is that of each lane."""
    alignment: int | None = None
    """What the addresses are no multiples of, if they are not as the operation needs them."""
    other_lanes: bool = False
    """Whether EXEC was written since it was issued, so that some of the lanes may not have executed it."""
    overflows: bool = False
    """Whether the stack of a function is what lies outside of private memory."""

    @property
    def is_global(self) -> bool:
        """Whether it is of memory that buffers are in."""
        return self.space in GLOBAL_SPACES


@frozen
class CallingLine:
    """A line with a call that led to the place of a fault."""

    frame: Frame = field(eq=False, repr=False)
    arguments: Texts
    """The parameters of its function, with what they are in the first lane that failed."""
    line: str | None
    """Its text."""
    values: Texts
    """Its variables, with what they are in the lanes that failed."""


@frozen
class ChangeBefore:
    """What changed a variable of the access that failed, or of a call that led there, last."""

    change: CrashChange
    number: int
    """The index of the wave."""
    source: SourceLine | None
    caller: str | None = None
    """The function that has the variable, unless it is the one that failed."""


@frozen
class WaveFault:
    """What is known of waves that stand at one place for the same reasons."""

    waves: tuple[str, ...]
    numbers: tuple[int, ...]
    reasons: tuple[str, ...]
    signal: str | None
    detail: str
    kernel: str | None
    pc: int | None
    frame: Frame = field(eq=False, repr=False)
    source: SourceLine | None
    """The line that failed: of a trap, or of the call of a failed assertion."""
    line: str | None
    """The text of its source line."""
    accesses: tuple[FailedAccess, ...] = ()
    """Those that may have failed, the likeliest first."""
    rank: str | None = None
    """Why the first of several is the likeliest."""
    arguments: Texts = ()
    """The parameters of the function, with what they are in the first lane that failed."""
    values: Texts = ()
    """The variables of the source line, with what they are in the lanes that failed."""
    callers: tuple[CallingLine, ...] = ()
    """The calls that led there, the innermost first, up to the kernel's own."""
    cause: str | None = None
    """What a trap, an assertion or an instruction that is none says."""
    lanes: tuple[LanesOutside, ...] = ()
    """The lanes that executed it."""
    lane: int | None = None
    """The lane of the arguments."""
    examined: int = 0
    """In how many of the waves the registers were read."""
    problems: tuple[str, ...] = ()
    changes: tuple[ChangeBefore, ...] = ()
    """What changed its variables, or those of a caller, last, where that is known."""
    depth: int = 0
    """If private memory overflows in a function that calls itself: how many of its calls have not returned."""
    is_made: bool = False
    """Whether the instruction belongs to no line: `source` is the line before it."""


def wave_faults(
    stopped: Stopped,
    source_line: Callable[[Frame, SourceLine | None], str | None],
    address: int | None = None,
    written: Callable[[Any, int], str] = lambda value, _most: str(value),
    arguments: Callable[[Frame, int | None], Iterable[tuple[str, str]]] = lambda _frame, _lane: (),
) -> Iterator[WaveFault]:
    """Yield why waves have stopped, by place and reason; ``address`` is one that a driver has reported.

    ``written`` makes the text of a value with at most so many elements, and ``arguments`` those of the parameters of a
    frame in a lane.

    Memory faults come first, and traps last.
    """
    found: list[tuple[tuple[int, int], int | None, list[int], WaveStop]] = []
    stops = stopped.machine.all_stops()
    for group in wave_groups(stopped):
        by_reason: dict[tuple[str, ...], tuple[list[int], WaveStop]] = {}
        for wave in group.numbers:
            stop = stops[wave]
            if stop is not None and stop.has_failed:
                by_reason.setdefault(stop.reasons or (stop.detail,), ([], stop))[0].append(wave)
        for numbers, stop in by_reason.values():
            rank = 0 if MEMORY_REASONS & set(stop.reasons) else 2 if stop.signal == "SIGTRAP" else 1
            found.append(((rank, numbers[0]), group.pc, numbers, stop))
    checks: dict[str, MemoryCheck] = {}
    lost = [stopped.machine.ids[wave] for _rank, pc, numbers, _stop in found if pc is None for wave in numbers]
    placed = [row for row in found if row[1] is not None] or found
    for _rank, pc, numbers, stop in sorted(placed, key=lambda row: row[0]):
        fault = FaultSearch(stopped, numbers, stop, pc, address, checks, written, arguments).fault(source_line)
        unplaced = f"wave {', '.join(lost)} failed, too, at a place that is not known"
        yield evolve(fault, problems=(*fault.problems, unplaced)) if lost else fault
        lost = []


def certain_lane(stopped: Stopped, number: int, stop: WaveStop) -> int | None:
    """Return the first lane that missed memory in a wave; None where another access may be the one that failed."""
    pc = stopped.machine.program_counter(number)
    with suppress(DwarfGpuError):
        search = FaultSearch(stopped, [number], stop, pc, None, {}, lambda _frame, _value: "", lambda _frame, _lane: ())
        fault = search.fault(lambda _frame, _source: None)
        access = fault.accesses[0] if len(fault.accesses) == 1 and not fault.problems else None
        if access is not None and access.lanes and access.lanes[0].lanes and not access.other_lanes:
            return fault.lane
    return None


def with_changes(fault: WaveFault, machine: Any, changes: Iterable[CrashChange] | None = None) -> WaveFault:
    """Return a fault with those of some changes that its waves made; by default of those that a snapshot has kept."""
    changes = getattr(machine, "variable_changes", ()) if changes is None else changes
    numbers = ((change, machine.wave_named(change.wave)) for change in changes if change.wave in fault.waves)
    callers = {each.frame.number: each.frame.name for each in fault.callers}
    rows = (
        ChangeBefore(change, number, source_at(fault.frame, change.pc), callers.get(change.frame))
        for change, number in numbers
    )
    return evolve(fault, changes=tuple(rows))


def source_at(frame: Frame, pc: int) -> SourceLine | None:
    """Return the line of an address in the code of a frame's state."""
    code = frame.state.loaded.at(pc)
    return None if code is None else code.calls_at(pc)[0].source


def _accessed(line: str, action: str) -> str:
    """Return the part of a line that names what is stored to, or what is loaded; the line if both may be."""
    sides = _ASSIGNMENT.split(line)
    if len(sides) != 2 or action not in ("load", "store"):
        return line
    target, *index = re.split(r"(?=\[|->|\.)", sides[0].rpartition(";")[2], maxsplit=1)
    return target if action == "store" else " ".join([*index, sides[1]])


def _span(numbers: list[Any]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} .. {high}"


def _begins(variable: Any, source: SourceLine | None) -> bool:
    """Return whether a local variable is declared on a line, so that it has no value where the line fails."""
    line = variable.die.find_number(dw.DW_AT_decl_line) if variable.kind == "local" and source is not None else None
    return line is not None and source is not None and line.unsigned() == source.line


def _has_null_base(function: FunctionCode, at: int) -> bool:
    """Return whether a function before GFX9 loads from an address that the instruction before has as a constant."""
    if function.major >= 9 or at == 0 or function.steps[at].action.space != actions.SCALAR:
        return False
    before, read = function.steps[at - 1].instruction, actions.read_registers(function.steps[at].instruction)
    written = {register for operand in before.destinations for register in actions.registers_of(operand)}
    constant = not any(map(actions.registers_of, before.sources))
    return before.name == "s_mov_b64" and constant and read <= written


def _stores(function: FunctionCode) -> bool:
    """Return whether a function stores to memory that other work-items may see."""
    return any(step.action.is_shared and step.action.operation != "load" for step in function.steps)


def _pointers_in(name: str, kind: Any, data: bytes, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield the pointers in an object, with their addresses."""
    kind = resolved(kind)
    if isinstance(kind, Pointer):
        yield name, int.from_bytes(data[: known_size(kind)], "little")
    elif isinstance(kind, Struct) and depth < MAX_DEPTH:
        for member in kind.body.members:
            if member.name and member.bit_offset is not None:
                yield from _pointers_in(f"{name}.{member.name}", member.type, data[member.bit_offset // 8 :], depth + 1)


class FaultSearch:
    """The search for what failed in waves at one place."""

    def __init__(
        self, stopped: Stopped, numbers: list[int], stop: WaveStop, pc: int | None, reported: int | None,
        checks: dict[str, MemoryCheck], written: Callable[[Any, int], str],
        arguments: Callable[[Frame, int | None], Iterable[tuple[str, str]]],
    ) -> None:  # fmt: skip
        self.stopped, self.numbers, self.stop, self.pc, self.reported = stopped, numbers, stop, pc, reported
        self.machine: Any = stopped.machine
        self.checks = checks
        self.written, self.arguments = written, arguments
        self.waves = [stopped.wave(number) for number in numbers[:MAX_WAVES]]
        self.frame = self.waves[0].frame(0)
        self.problems: list[str] = []
        self.launch = self.waves[0].launch if self.frame.has_lanes else None

    def fault(self, source_line: Callable[[Frame, SourceLine | None], str | None]) -> WaveFault:
        kernel = None if self.launch is None or self.launch.kernel is None else self.launch.kernel.source_name
        source, cause = self.frame.call.source, None
        if not MEMORY_REASONS & set(self.stop.reasons):
            source, cause = self._cause()
        self.source_line, line = source_line, source_line(self.frame, source)
        shown, is_made = line, source is not None and not source.line and source == self.frame.call.source
        if source is not None and is_made:  # no line accesses that
            source = evolve(source, line=self.frame.nearest_line or 0)
            shown = source_line(self.frame, source)
        accesses: list[FailedAccess] = []
        if MEMORY_REASONS & set(self.stop.reasons) and self.frame.has_lanes:
            accesses = sorted(self._accesses(line), key=self._rank)
            if not accesses and not self.problems:
                self.problems.append("no access was in flight there: the one that failed is not known")
            if any(access.lanes for access in accesses):
                accesses = [access for access in accesses if access.lanes]
            if self.reported is not None and accesses and self._rank(accesses[0])[0]:
                self.problems.append(f"no failed access is in the page of the reported address {self.reported:#x}")
        chosen = accesses[0].lanes[0] if accesses and accesses[0].lanes else None
        frame = self.frame if chosen is None else self.stopped.wave(chosen.number).frame(0)
        lanes = chosen.lanes if chosen is not None else ()
        if not lanes and self.frame.has_lanes:  # no memory instruction, or one of scalar registers
            lanes = self._executing(self.waves[0] if chosen is None else self.stopped.wave(chosen.number)).lanes
        return WaveFault(
            tuple(self.machine.ids[number] for number in self.numbers),
            tuple(self.numbers),
            self.stop.reasons,
            self.stop.signal,
            self.stop.detail,
            kernel,
            self.pc,
            frame,
            source,
            shown,
            tuple(accesses),
            self._reason(accesses) if len(accesses) > 1 else None,
            tuple(self.arguments(frame, lanes[0] if lanes else None)),
            tuple(self._values(line, frame, lanes)),
            tuple(self._callers(frame, lanes, kernel)),
            cause,
            () if accesses or not self.frame.has_lanes else tuple(map(self._executing, self.waves)),
            lanes[0] if lanes else None,
            len(self.waves),
            tuple(self.problems),
            depth=self._depth(frame) if any(access.overflows for access in accesses) else 0,
            is_made=is_made,
        )

    @staticmethod
    def _depth(frame: Frame) -> int:
        """Return how many calls of the function of a frame have not returned; 0 if it is one."""
        named = sum(each.name == frame.name for each in islice(frame.wave or (), MOST_CALLS))
        return named if named > 1 and not is_body(frame.call.linkage_name) else 0

    # --- Traps and assertions -------------------------------------------------------------------------------------

    def _cause(self) -> tuple[SourceLine | None, str | None]:
        """Return the line that a trap, an assertion or an illegal instruction is of, and what it says."""
        frame, code = self.frame, self.frame.code
        trap = trap_at(frame)
        if "ILLEGAL_INSTRUCTION" in self.stop.reasons and code is not None and self.pc is not None:
            with suppress(DwarfGpuError):
                word = int.from_bytes(code.file.image.read(code.in_file(self.pc), 4), "little")
                return frame.call.source, f"the processor cannot execute the instruction that begins with {word:#010x}"
        if trap is None or code is None:
            return frame.call.source, None
        source, meaning = code.calls_at(trap.address)[0].source, f"s_trap {trap.number}: {trap.meaning}"
        while frame.name not in ASSERTIONS:
            if frame.inlined_into is None:
                return source, meaning
            frame = frame.inlined_into
        words = {name: self._word(frame, name) for name in ("assertion", "file", "line", "function")}
        what = f"assertion `{words['assertion']}` failed" if words["assertion"] else "an assertion failed"
        where = f" at {words['file']}:{words['line']}" if words["file"] and words["line"] else ""
        within = f" in {words['function']}" if words["function"] else ""
        unknown = "" if words["assertion"] else " (its text is optimized out)"
        with suppress(DwarfGpuError):
            self.frame = self.waves[0].frame(frame.number + 1)
            source = self.frame.call.source
        return source, f"{what}{within}{where}{unknown} ({meaning})"

    def _word(self, frame: Frame, name: str) -> str | None:
        """Return a parameter of the function that failed assertions call: a number, or the characters of a string."""
        lanes = self._executing(self.waves[0]).lanes
        with suppress(DwarfGpuError):
            for each in answer(frame.quantity(name), name, list(lanes[:1])).by_lane:
                if each.value is not None:
                    text = self.written(each.value, MOST_CHARACTERS)
                    return text.partition('"')[2].rpartition('"')[0] if '"' in text else text
        return None

    def _executing(self, wave: Wave) -> LanesOutside:
        """Return the lanes of a wave that executed the instruction."""
        mask = (wave.stop.lanes if wave.stop is not None else None) or wave.frame(0).active_mask or 0
        place = wave.launch.place
        lanes = tuple(lanes_in(mask & (1 << self.frame.target.lane_count) - 1))
        return LanesOutside(
            wave.id, wave.index, place.work_group, lanes, tuple(map(place.item, lanes)), (), place.origin
        )

    # --- Accesses -------------------------------------------------------------------------------------------------

    def _rank(self, access: FailedAccess) -> tuple[bool, bool, int]:
        """Return the order of candidates, which are in the order of issue: in the page of the report, outside, near."""
        addresses = [at for lanes in access.lanes for at in lanes.addresses]
        reported = self._page()
        last = max(access.size, 1) - 1
        in_page = reported is not None and any(at // PAGE <= reported <= (at + last) // PAGE for at in addresses)
        return not in_page, not addresses, min((abs(row.nearest) for row in access.missed), default=NEAR)

    def _reason(self, accesses: list[FailedAccess]) -> str | None:
        """Return why the first of several candidates is the likeliest."""
        first, second = map(self._rank, accesses[:2])
        reasons = [reason for reason, one, other in zip(RANKED, first, second, strict=True) if one != other]
        return [*reasons, "it is the first in the code"][0]

    def _page(self) -> int | None:
        address = self.reported if self.reported is not None else self.stop.address
        return None if address is None else address // PAGE

    def _accesses(self, line: str | None) -> Iterator[FailedAccess]:
        code = self.frame.code
        if code is None or self.pc is None:
            self.problems.append("the code where the waves stand is not known")
            return
        here = code.in_file(self.pc)
        try:
            check = self.checks.get(code.file.name) or MemoryCheck(code.file)
            self.checks[code.file.name] = check
            function, rows = outstanding_at(check, here)
        except DwarfGpuError as error:
            self.problems.append(f"the accesses at {self.pc:#x} are not known: {error.message}")
            return
        at = function.addresses.index(here)
        own = self._access(function, at, line, is_outstanding=False)
        if own is not None and own.is_null and _has_null_base(function, at):
            self.problems.append(HIDDEN_OF_NULL)
        is_precise = self.stop.lanes is not None or self.stop.address is not None
        if own is not None and is_precise:
            yield own
            return
        lost, called = [], []
        for row in rows:
            index = -1 if row.address is None else function.addresses.index(row.address)
            if index < 0 or function.steps[index].action.space == actions.PRIVATE:
                continue
            place = f"at {code.in_program(row.address or 0):#x}"
            if row.place is not None:
                place = f"of {row.place.path}:{row.place.line}"
            if function.steps[index].is_call:
                called.append(place)
                continue
            written, is_exec = self._written_since(function, index, at)
            if not written.isdisjoint(actions.read_registers(function.steps[index].instruction)):
                lost.append(f"{row.instruction} {place}")
                continue
            other = self._access(function, index, None, is_outstanding=True)
            if other is not None:
                yield evolve(other, other_lanes=is_exec)
        if own is not None:
            yield own
        if called and any(map(_stores, (each for each in check.code.functions() if not each.is_kernel))):
            what = "a store of a function that has returned may have failed, too: the call"
            self.problems.append(f"{what} {', '.join(called)}")
        if lost:
            why = "the registers of the addresses were written since"
            self.problems.append(f"outstanding too, and may have failed: {', '.join(lost)} ({why})")

    @staticmethod
    def _written_since(function: FunctionCode, index: int, at: int) -> tuple[set[actions.Register], bool]:
        """Return the registers that may have been written since an instruction, by itself too, and whether EXEC was."""
        registers: set[actions.Register] = set()
        is_exec = False
        for number in chain.from_iterable(function.between(index, at)):
            whole = function.steps[number].instruction
            is_exec = is_exec or writes_exec(whole)
            for each in whole.components or (whole,):
                registers.update(*map(actions.registers_of, each.destinations))
        return registers, is_exec

    def _access(
        self, function: FunctionCode, index: int, line: str | None, *, is_outstanding: bool
    ) -> FailedAccess | None:
        step = function.steps[index]
        if not step.action.operation:
            return None
        outside, made, shape = [], [], None
        for wave in self.waves:
            mask = wave.frame(0).active_mask
            found = lane_addresses(wave, step.instruction, mask or 0)
            if found is None:
                continue
            if found.base is None and not is_outstanding:
                found = evolve(found, base=added_base(wave, function, index))
            shape = found
            flags = self._outside(wave, found)
            if flags.any():
                shape = found = self._failing_part(wave, found, flags)
                outside.append(self._lanes(wave, found, flags))
                made.append(found)
        address = function.addresses[index]
        code = self.frame.code
        loaded, source = address if code is None else code.in_program(address), None
        if code is not None and is_outstanding:
            place = self.checks[code.file.name].lines.place(address)
            source = None if place is None else f"{place.path}:{place.line}"
            line = self.source_line(self.frame, code.calls_at(loaded)[0].source)
        size = shape.size if shape is not None else 0
        space = shape.space if shape is not None else step.action.space
        action = shape.action if shape is not None else step.action.operation.partition("-")[0]
        every = [at for lanes in outside for at in lanes.addresses]
        line = None if line is None else line.partition("//")[0]
        expression = self._expression(line, outside[0], space) if outside else None
        missed, is_null = self._missed(every, made[0], expression, line, outside[0]) if outside else ((), False)
        if expression is None and line is not None and len(missed) == 1:
            self._note_other_index(line, outside[0], missed[0])
        nulls = {self._null_pointer(expression, each) for each in outside} if space in GLOBAL_SPACES else set()
        pointer = nulls.pop() if len(nulls) == 1 else None
        if pointer is not None:
            missed, is_null = tuple(row for row in missed if not row.address), True
        unit = None
        if outside and "ADDRESS_ERROR" in self.stop.reasons and not missed:
            unit = next((each.unit for each in made if any(at % each.unit for at in every)), None)
        return FailedAccess(
            loaded, instruction_text(step.instruction), source, action, space, size, is_outstanding, tuple(outside),
            missed, is_null, pointer, expression, unit,
            overflows=bool(missed) and missed[0].nearest >= 0 and made[0].is_of_stack,
        )  # fmt: skip

    def _note_other_index(self, line: str, outside: LanesOutside, missed: MissedBuffer) -> None:
        """Note that the index of a line has another value than the one that the address of a lane makes of it."""
        frame, start = self.stopped.wave(outside.number).frame(0), f"{missed.name}["
        named = [each for each in self._variables(frame) if each.name == missed.name]
        kind = self._type(named[0]) if named else None
        size = known_size(kind.target) if isinstance(kind, Pointer) and kind.target is not None else None
        found = [text for text in dict.fromkeys(objects_in(line)) if text.startswith(start) and text.endswith("]")]
        if not size or len(found) != 1:
            return
        index = found[0][len(start) : -1]
        values = self._numbers(frame, index, outside.lanes) or ()
        for lane, at, value in zip(outside.lanes, outside.addresses, values, strict=False):
            element = (at - missed.address) // size
            if value is not None and value != element:
                told = f"`{index}` is {value} in lane {lane}, but the address is that of `{start}{element}]`"
                self.problems.append(f"{told}: the code is optimized, and the variables may be of another moment")
                return

    def _outside(self, wave: Wave, found: LaneAddresses) -> Any:
        """Return flags of the lanes that access memory that is not there, or that the machine says have failed."""
        stop = wave.stop
        if stop is not None and stop.lanes is not None and len(found.lanes):
            return np.array([stop.lanes >> int(lane) & 1 for lane in found.lanes], bool)
        if found.space in SPACE_NAMES:
            room = self._room(wave, found.space)
            flags = (found.addresses < 0) | (room is not None) & (found.addresses + found.size > (room or 0))
        else:
            flags = np.array([not self._is_known(int(at), found.size) for at in found.addresses.tolist()], bool)
            page = self._page()
            if page is not None:
                inside = found.addresses // np.uint64(PAGE) == page
                flags = inside & flags if (inside & flags).any() else flags
        if not flags.any() and "ADDRESS_ERROR" in self.stop.reasons:
            flags = found.addresses % found.addresses.dtype.type(found.unit) != 0
        return flags

    def _failing_part(self, wave: Wave, found: LaneAddresses, flags: Any) -> LaneAddresses:
        """Return the one of several places that lies outside in each lane that failed, if there is one."""
        room = self._room(wave, found.space) if found.space in SPACE_NAMES else None
        for offset, size in found.parts if room is not None else ():
            addresses = found.addresses + offset
            if ((addresses < 0) | (addresses + size > room))[flags].all():
                return evolve(found, addresses=addresses, size=size)
        return found

    def _room(self, wave: Wave, space: str) -> int | None:
        """Return how many bytes of local memory a work-group has, or how many of private memory a work-item.

        Without a dispatch packet the state may have only part of them.
        """
        local = wave.launch.local_size
        if local is None or space == actions.LOCAL:
            return local
        if wave.launch.private_size:
            return wave.launch.private_size
        private: Any = self.machine.target.space(PRIVATE_LANE)
        return self.machine.extent(private, wave.index, 0) or None

    def _is_known(self, address: int, size: int) -> bool:
        around: KnownRange | None = self.machine.memory_around(address)
        if around is not None:
            return address + size <= around.address + around.size
        try:  # memory whose end nobody knows
            self.machine.read_memory(self.machine.target.default_space, address, size, 0, None)
        except EvaluationError:
            return False
        return True

    def _lanes(self, wave: Wave, found: LaneAddresses, flags: Any) -> LanesOutside:
        place: Any = wave.launch.place
        lanes = tuple(found.lanes[flags].tolist()) if len(found.lanes) else ()
        addresses, items = tuple(found.addresses[flags].tolist()), tuple(map(place.item, lanes))
        return LanesOutside(wave.id, wave.index, place.work_group, lanes, items, addresses, place.origin)

    # --- Arguments ------------------------------------------------------------------------------------------------

    def _pointers(self) -> list[_PointerRow]:
        """Return the name, address and size of the memory of each pointer of a launch, and its value.

        Pointers are arguments, or members of structures that a launch has given memory.
        """
        rows = []
        for argument in () if self.launch is None else self.launch.arguments:
            if argument.is_hidden or argument.data is None or argument.number is None:
                continue
            is_pointer, inside = argument.kind in POINTERS, _pointers_in(argument.name, argument.type, argument.data)
            for name, number in [(argument.name, argument.number)] if is_pointer else inside:
                memory = self.machine.memory_around(number)
                rows.append((name, *((number, None) if memory is None else (memory.address, memory.size)), number))
        known = {row[1] for row in rows}
        buffers = self.machine.buffers if isinstance(self.machine, Gpu) else ()
        others = [buffer for buffer in buffers if buffer.address not in known]
        return [*rows, *((str(each.name).strip("`"), each.address, each.size, each.address) for each in others)]

    def _missed(
        self, addresses: list[int], found: LaneAddresses, expression: str | None, line: str | None, first: LanesOutside
    ) -> tuple[tuple[MissedBuffer, ...], bool]:
        """Return the memory that addresses may belong to, one if it is certain, and whether a pointer is null."""
        if found.space in SPACE_NAMES:
            room = self._room(self.waves[0], found.space)
            if room is None or all(0 <= at <= room - found.size for at in addresses):
                return (), False
            objects = self._in_local if found.space == actions.LOCAL else self._in_private
            part = None if line is None else _accessed(line, found.action)
            rows_of = () if found.is_of_stack else objects(addresses, expression, part, first)
            named = [evolve(row, memory=found.space) for row in rows_of]
            why = "its addresses are of this memory"
            whole = self._buffer((SPACE_NAMES[found.space], 0, room, 0), addresses, why, is_certain=True)
            return tuple(named) or (whole,), False
        if all(self._is_known(at, found.size) for at in addresses):
            return (), False
        rows = [*self._pointers(), *self._objects(line, first)]
        chosen, is_certain = self._named(rows, expression, first)
        why, is_null = f"`{expression}` has these addresses", min(addresses) < NULL
        if not is_certain and found.base is not None:
            counted = [row for row in rows if row[3] == found.base]
            if counted:
                chosen, is_certain, why = counted, True, "the instruction counts from its address"
        if not is_certain:
            parts = self._by_lane(addresses, found.size, rows)
            if len(parts) > 1:
                rows_of = chain(*(self._missed(part, found, None, line, first)[0] for part in parts))
                return tuple(evolve(row, why=NEAREST_OF_SOME) if row.address else row for row in rows_of), is_null
            chosen, why = self._likely(rows, addresses, chosen, why, line, first)
        made = tuple(self._buffer(row, addresses, why, is_certain=is_certain) for row in chosen)
        return made, is_null or (bool(made) and all(not row[3] for row in chosen))

    def _by_lane(self, addresses: list[int], size: int, rows: list[_PointerRow]) -> list[list[int]]:
        """Return addresses by what they are near to, if each is near to a null pointer or to one of several buffers."""
        parts: dict[_PointerRow | None, list[int]] = {}
        ordered = sorted(addresses)
        if ordered[0] >= NULL and all(after - before <= size for before, after in pairwise(ordered)):
            return []  # without a gap, as past the end of one
        for at in addresses:
            near = min((row for row in rows if row[2]), key=lambda row: abs(self._reach(row, at)), default=None)
            if at >= NULL and (near is None or abs(self._reach(near, at)) >= PAGE):
                return []
            parts.setdefault(None if at < NULL else near, []).append(at)
        return [*parts.values()]

    @staticmethod
    def _reach(row: _PointerRow, address: int) -> int:
        return NamedBuffer(row[0], row[1], row[2] or 0).distance(address)

    def _likely(
        self, rows: list[_PointerRow], addresses: list[int], chosen: list[_PointerRow], why: str, line: str | None,
        first: LanesOutside,
    ) -> tuple[list[_PointerRow], str]:  # fmt: skip
        """Return the memory that addresses probably belong to, several if the names and the distances differ, and why.

        ``chosen`` is what the expression names.
        """
        words = set() if line is None else {name for names in _POINTER.findall(line) for name in names} - {""}
        named = [row for row in rows if row[0] in words]
        if min(addresses) < NULL:
            null, words = [row for row in rows if not row[3]], words | self._passed()
            named = [row for row in null if row[0] in words]
            return (chosen, why) if chosen else (named, "it is null") if named else (null, ALSO_NULL)
        reached = ((min(abs(self._reach(row, at)) for at in addresses), row) for row in rows if row[2])
        ranked = sorted((pair for pair in reached if pair[0] < NEAR), key=itemgetter(0))
        is_one = bool(ranked) and ranked[0][0] < PAGE and (len(ranked) == 1 or ranked[1][0] >= PAGE)
        near = [row for _distance, row in (ranked[:1] if is_one else ranked)]
        if not chosen and words == {row[0] for row in named}:  # else a variable has the address
            chosen, why = named, "the line names no other"
        if near:
            in_line = [row for row in near if row[0] in NAME.findall(line or "")]
            is_other = len(chosen) == 1 and chosen[0] not in near and near[0] not in in_line
            near = in_line if len(in_line) == 1 else near
            return [*chosen, *near] if is_other else near, "it is the nearest"
        if not chosen:
            frame = self.stopped.wave(first.number).frame(0)
            held = {
                number
                for name in words
                for number in self._numbers(frame, f"(unsigned long) {name}", first.lanes) or ()
            }
            chosen, why = [row for row in rows if row[3] in held], "a pointer of the line has its address"
        passed = self._passed() or (set() if words else set(NAME.findall(line or "")))
        if not chosen and passed:
            words, why = passed, "the line or the call names no other"
            chosen = [row for row in rows if row[0] in words]
        return chosen if len(chosen) == 1 else [], why

    def _passed(self) -> set[str]:
        """Return the names in the call of the innermost function; none of a kernel, which has only a launch."""
        caller = next(islice(self.frame.wave or (), self.frame.number + 1, None), None)
        if caller is None or caller.name == self.frame.name:  # a kernel of clang is inlined into one of its name
            return set()
        line = self.source_line(caller, caller.call.source)
        call = re.search(rf"\b{re.escape(self.frame.name or '?')}\s*\((.*)\)", line or "")
        return set() if call is None else set(NAME.findall(call[1]))

    def _in_local(
        self, addresses: list[int], expression: str | None, line: str | None, first: LanesOutside
    ) -> Iterator[MissedBuffer]:
        """Yield the variable or the argument that addresses of local memory are meant to be in; of several none."""
        frame = self.stopped.wave(first.number).frame(0)
        rows = [] if self.launch is None else local_objects(frame, self.launch)
        base = self._pointer_in(expression or "", frame, first)
        values = None if base is None else self._numbers(frame, f"(unsigned long) ({base})", first.lanes)
        starts = {value & 0xFFFFFFFF for value in values or ()}
        held = [row for row in rows if row.address is not None and starts == {row.address}]
        names = {*NAME.findall(line or ""), *self._passed()}
        why = f"`{expression}` counts from there" if held else "nothing else is in local memory"
        if not held and len(rows) > 1:
            rows, why = [row for row in rows if row.name in names], "the line names no other in local memory"
        for row in held or rows:
            if row.address is not None and len(held or rows) == 1:
                is_certain = bool(held) or (len(rows) == 1 and why.startswith("nothing"))
                yield self._buffer((row.name, row.address, row.size, 0), addresses, why, is_certain=is_certain)

    def _in_private(
        self, addresses: list[int], expression: str | None, line: str | None, first: LanesOutside
    ) -> Iterator[MissedBuffer]:
        """Yield the variable of the frame that an expression with these addresses, or the line alone, names."""
        frame = self.stopped.wave(first.number).frame(0)
        words, found = NAME.findall(line or ""), []
        for variable in self._variables(frame):
            with suppress(DwarfGpuError):
                size, place = known_size(variable.type), variable.object(first.lanes[0]).address
                space = None if place is None else frame.target.space(place.space or 0)
                is_one = place is not None and space is not None and space.number == PRIVATE_LANE
                if is_one and size and variable.name in words and isinstance(self._type(variable), (Array, Struct)):
                    found.append((variable.name, int(place.value), size, 0))
        exact = [row for row in found if expression is not None and re.match(rf"{row[0]}\b", expression)]
        why = f"`{expression}` has these addresses" if exact else "the line names no other in private memory"
        if len(exact or found) == 1:
            yield self._buffer((exact or found)[0], addresses, why, is_certain=bool(exact))

    def _objects(self, line: str | None, first: LanesOutside) -> Iterator[_PointerRow]:
        """Yield the variables outside of functions that a line names, as arguments with the memory that they are."""
        frame = self.stopped.wave(first.number).frame(0)
        own = {each.name for each in self._variables(frame)}
        for name in dict.fromkeys(FIRST.findall(line or "")):
            if name not in own and isinstance(self._type_of(frame, name, first.lanes), (Array, Struct)):
                numbers = [
                    self._numbers(frame, f"(unsigned long) {text}", first.lanes[:1])
                    for text in (f"&{name}", f"sizeof({name})")
                ]
                start, size = (None if each is None else each[0] for each in numbers)
                if start and size and self._is_known(start, 1):
                    yield name, start, size, start

    def _named(
        self, rows: list[_PointerRow], expression: str | None, first: LanesOutside
    ) -> tuple[list[_PointerRow], bool]:
        """Return the arguments that an expression counts from, and whether that is certain.

        A variable may have the name of an argument and hold something else by now, or hold it under another name.
        """
        frame = self.stopped.wave(first.number).frame(0)
        if expression is None:
            return [], False
        base = self._pointer_in(expression, frame, first)
        if base is None:  # an array that is a variable
            start = expression.lstrip("*(")
            pointers = self._pointers()
            arrays = [row for row in rows if re.match(rf"{row[0]}\b", start) and row not in pointers]
            return arrays, bool(arrays)
        values = set(self._numbers(frame, f"(unsigned long) ({base})", first.lanes) or ())
        alike = [row for row in rows if row[0] == base.replace("->", ".")]
        held = [row for row in rows if values == {row[3]}]
        within = [row for row in rows if row in held or all(0 < value - row[1] <= (row[2] or 0) for value in values)]
        both = [row for row in alike if row in within]
        return both or held or within or alike, bool(both)

    def _pointer_in(self, expression: str, frame: Frame, first: LanesOutside) -> str | None:
        """Return the part of an expression that is the pointer it counts from."""
        texts = bases(expression)
        return next((text for text in texts if isinstance(self._type_of(frame, text, first.lanes), Pointer)), None)

    def _null_pointer(self, expression: str | None, first: LanesOutside) -> str | None:
        frame = self.stopped.wave(first.number).frame(0)
        base = self._pointer_in(expression or "", frame, first)
        values = None if base is None else self._numbers(frame, f"(unsigned long) ({base})", first.lanes)
        return base if values is not None and set(values) == {0} else None

    @staticmethod
    def _type_of(frame: Frame, text: str, lanes: tuple[int, ...]) -> Any:
        """Return the type of the value of an expression; None without a value."""
        try:
            (each,) = answer(frame.expression(text), text, list(lanes[:1])).by_lane
            return None if each.value is None else resolved(each.value.type)
        except (DwarfGpuError, ValueError):
            return None

    @staticmethod
    def _buffer(
        row: _PointerRow, addresses: list[int], why: str = "it is the nearest", *,
        is_certain: bool = False,
    ) -> MissedBuffer:  # fmt: skip
        name, start, size, _number = row
        reach = NamedBuffer(name, start, size or 0)
        order = sorted(addresses, key=lambda at: (abs(reach.distance(at)), at))
        sides = [
            [at for at in order if (at < start) == is_before] for is_before in (order[0] < start, order[0] >= start)
        ]
        return MissedBuffer(
            name, start, size, order[0], sides[0][-1], why, is_certain, sides[1][-1] if sides[1] else None
        )

    # --- The source -----------------------------------------------------------------------------------------------

    def _expression(self, line: str | None, outside: LanesOutside, space: str) -> str | None:
        """Return the expression whose address, in the same space, is that of each lane that failed; of several none."""
        if not outside.lanes:
            return None
        if line is not None:
            texts = [*objects_in(line)]
        else:
            variables = self._variables(self.frame)
            pointers = [each.name for each in variables if isinstance(self._type(each), Pointer)]
            numbers = [each.name for each in variables if each.name not in pointers]
            texts = [f"{pointer}[{number}]" for pointer, number in product(pointers, numbers)]
        wanted, own = list(outside.addresses), space if space in SPACE_NAMES else None
        frame = self.stopped.wave(outside.number).frame(0)
        fitting = [
            text
            for text in dict.fromkeys(texts[:MAX_TRIED])
            if self._numbers(frame, f"(unsigned long) &({text})", outside.lanes) == wanted
            and SPACES.get(self._type_of(frame, f"&({text})", outside.lanes).address_space) == own
        ]
        fitting = [text for text in fitting if not any(other != text and other.startswith(text) for other in fitting)]
        names = {match[0] for text in fitting if (match := NAME.search(text)) is not None}
        return "` or `".join(fitting) if len(names) == 1 and (line is not None or len(fitting) == 1) else None

    @staticmethod
    def _type(variable: Any) -> Any:
        try:
            return resolved(variable.type)
        except DwarfGpuError:
            return None

    @staticmethod
    def _numbers(frame: Frame, text: str, lanes: Iterable[int]) -> list[Any] | None:
        """Return what an expression is in some lanes; None unless it is a number in each."""
        try:
            values = answer(frame.expression(text), text, list(lanes)).by_lane
            return [None if each.value is None else python_value(each.value) for each in values]
        except DwarfGpuError:
            return None

    @staticmethod
    def _variables(frame: Frame) -> list[Any]:
        try:
            return [variable for variable in frame.variables() if variable.name]
        except DwarfGpuError:
            return []

    @classmethod
    def _members(cls, frame: Frame, names: set[str]) -> list[Any]:
        """Return those members of the object whose method a frame executes that have one of these names."""
        this = next((each for each in cls._variables(frame) if each.name == "this"), None) if names else None
        pointer = None if this is None else cls._type(this)
        kind = resolved(pointer.target) if isinstance(pointer, Pointer) and pointer.target is not None else None
        return (
            [each for each in named_members(kind.body.members) if each.name in names]
            if isinstance(kind, Struct)
            else []
        )

    def _callers(self, frame: Frame, lanes: tuple[int, ...], kernel: str | None) -> Iterator[CallingLine]:
        """Yield the lines with the calls that led to a frame."""
        for caller in islice(frame.wave or (), 1, MAX_CALLERS + 1):
            if frame.name == kernel:
                return
            frame, line = caller, self.source_line(caller, caller.call.source)
            arguments = tuple(self.arguments(frame, lanes[0] if lanes else None))
            yield CallingLine(frame, arguments, line, tuple(self._values(line, frame, lanes)))

    def _values(self, line: str | None, frame: Frame, lanes: tuple[int, ...]) -> Iterator[tuple[str, str]]:
        """Yield the variables of a line and the indexes that it loads, with their values in some lanes.

        Variables that begin there have no value yet.
        """
        names = None if line is None else set(NAME.findall(line))
        known = [variable for variable in self._variables(frame) if names is None or variable.name in names]
        if names is None or "for" not in names:
            known = [variable for variable in known if not _begins(variable, frame.call.source)]
        shown = {each.name: (self._type(each), frame.quantity) for each in reversed(known)}
        others = (names or set()) - {each.name for each in self._variables(frame)}
        shown |= {each.name: (self._type(each), frame.expression) for each in self._members(frame, others)}
        for name, (kind, quantity) in shown.items():
            if not lanes:
                continue
            with suppress(DwarfGpuError):
                values = answer(quantity(name), name, lanes).by_lane
                objects = [each.value for each in values if each.value is not None]
                if not objects:
                    yield from ((name, each.reason.placeholder) for each in values[:1] if each.reason)
                    continue
                numbers = [python_value(each) for each in objects]
                if all(isinstance(number, (int, float)) for number in numbers) and not isinstance(kind, Pointer):
                    yield name, _span(numbers)
                    continue
                texts = dict.fromkeys(self.written(each, FEW) for each in objects)
                yield name, ", ".join([*texts][:3]) + (", ..." if len(texts) > 3 else "")
        for text in indexes_in(line or "") if lanes else ():
            found = self._numbers(frame, text, lanes)
            if found is not None and None not in found:
                yield text, _span(found)
