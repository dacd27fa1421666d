"""The table that call frame instructions stand for: what holds at each address (DWARF 5 section 6.4.1, A.6.4).

The initial instructions of the CIE give every register its first rule, then those of the FDE make the rows. Nothing is
built that nobody asks for: `row_at` makes one row, and reads the instructions up to the end of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dwarfgpu.cfi.decode import instructions
from dwarfgpu.cfi.rules import RegisterOffset
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.decode import Instruction
    from dwarfgpu.cfi.rules import CfaRule, Rule
    from dwarfgpu.encoding.frame_format import FrameFormat
    from dwarfgpu.targets.target import Target

MAX_RULES = 1 << 22
"""How many rules all rows of one entry may have together. No function comes near, and a broken one must not fill the
memory."""


class Program(Protocol):
    """What holds instructions: an entry of either kind."""

    @property
    def section(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def format(self) -> FrameFormat | None:
        """None where the augmentation is not known: then the instructions cannot be found."""

    @property
    def instructions(self) -> bytes: ...

    @property
    def instructions_offset(self) -> int: ...


class Common(Program, Protocol):
    """A common information entry."""

    @property
    def augmentation(self) -> str: ...


class Description(Program, Protocol):
    """A frame description entry."""

    @property
    def cie(self) -> Common: ...

    @property
    def low(self) -> int: ...

    @property
    def high(self) -> int: ...


@record
class Row:
    """What holds from ``start`` up to ``end``, which is not part of it."""

    start: int
    end: int
    cfa: CfaRule | None
    """None where no instruction has defined the CFA."""
    registers: dict[int, Rule]
    """The rules of registers by number; a register without one has the default of the target (A.6.4.1)."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no unwind information here: compilers without any write entries that say nothing."""
        return self.cfa is None and not self.registers


class State:
    """The row under construction."""

    __slots__ = (
        "_changes",
        "_initial",
        "_marks",
        "_registers",
        "_snapshot",
        "_spec",
        "_target",
        "cfa",
        "limit",
        "location",
    )

    def __init__(self, target: Target | None = None) -> None:
        self.cfa: CfaRule | None = None
        self.location: int | None = None
        """None in the initial instructions, which stand for no address."""
        self.limit = 0
        """The last address there is."""
        self._target = target
        self._spec = ""
        self._registers: dict[int, Rule] = {}
        self._snapshot: dict[int, Rule] | None = None
        self._initial: dict[int, Rule] = {}
        # What restore_state undoes: the rules that were replaced, and how many there were at each remember_state. So a
        # stack however high takes no more memory than the instructions that built it.
        self._changes: list[tuple[int, Rule | None]] = []
        self._marks: list[tuple[int, CfaRule | None]] = []

    @property
    def default_space(self) -> int:
        """The target architecture default address space identifier."""
        return 0 if self._target is None else self._target.default_space.number

    def run(self, instruction: Instruction) -> None:
        """Do what an instruction says."""
        self._spec = instruction.row.spec
        for operand, value in instruction.pairs():
            if operand.role == "offset" and not -(1 << 63) <= value < 1 << 63:
                message = f"the offset {value:#x} has more than 64 bits"
                raise IllFormed("overflow", message, spec=self._spec)
        instruction.row.run(self, *instruction.operands)

    def begin(self, location: int, limit: int) -> None:
        """Go from the initial instructions, which are done, to those of an FDE."""
        self._initial = self.snapshot()
        self._changes.clear()
        self._marks.clear()
        self.location, self.limit = location, limit

    # --- Location -------------------------------------------------------------------------------------------------

    def location_for(self, what: str) -> int:
        """The current location."""
        if self.location is None:
            message = f"{what} has no place in the initial instructions, which stand for no address"
            raise IllFormed("bad_cie", message, spec="A.6.4.1")
        return self.location

    def go_to(self, location: int) -> None:
        if location > self.limit:
            message = f"the location {location:#x} is behind the last address {self.limit:#x}"
            raise IllFormed("overflow", message, spec=self._spec)
        self.location = location

    # --- The CFA --------------------------------------------------------------------------------------------------

    def cfa_with_register(self) -> RegisterOffset:
        """The CFA rule, which must count from a register."""
        if self.cfa is None:
            raise IllFormed("no_cfa_rule", "there is no current CFA rule", spec=self._spec)
        if not isinstance(self.cfa, RegisterOffset):
            message = "the current CFA rule is an expression"
            raise IllFormed("cfa_rule_is_expression", message, spec=self._spec)
        return self.cfa

    def check_space(self, space: int) -> None:
        """Refuse an address space that the target does not define."""
        if self._target is not None and self._target.space(space) is None:
            message = f"{self._target.name} has no address space {space:#x}"
            raise IllFormed("bad_address_space", message, spec=self._spec)

    # --- Registers ------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[int, Rule]:
        """The rules of registers as they are now; the same object until one changes."""
        if self._snapshot is None:
            self._snapshot = dict(self._registers)
        return self._snapshot

    def set_rule(self, register: int, rule: Rule) -> None:
        if self._marks:
            self._changes.append((register, self._registers.get(register)))
        self._put(register, rule)

    def restore_rule(self, register: int) -> None:
        """Give a register its initial rule, or take away the one it has if there was none."""
        if self.location is None:
            message = "the initial instructions cannot restore what they are about to define"
            raise IllFormed("bad_cie", message, spec=self._spec)
        if self._marks:
            self._changes.append((register, self._registers.get(register)))
        self._put(register, self._initial.get(register))

    def _put(self, register: int, rule: Rule | None) -> None:
        self._snapshot = None
        if rule is None:
            self._registers.pop(register, None)
        else:
            self._registers[register] = rule

    # --- The stack ------------------------------------------------------------------------------------------------

    def remember(self) -> None:
        """Push the rules on the stack."""
        self._marks.append((len(self._changes), self.cfa))

    def restore(self) -> None:
        """Take back the rules of the last `remember`. The CFA rule is one of them, as in every unwinder."""
        if not self._marks:
            message = "no state is remembered"
            raise IllFormed("restore_without_remember", message, spec="DWARF 5, 6.4.2.4 (2)")
        mark, self.cfa = self._marks.pop()
        while len(self._changes) > mark:
            self._put(*self._changes.pop())


# --- Running ---------------------------------------------------------------------------------------------------------


def initial_state(cie: Common, target: Target | None = None) -> State:
    """What the initial instructions of a CIE make."""
    state = State(target)
    for instruction in instructions_of(cie, cie.augmentation):
        _run(state, instruction, cie)
    return state


def rows(fde: Description, target: Target | None = None) -> Iterator[Row]:
    """The rows of an entry that have addresses, in order. An error comes behind the rows that are right."""
    state = _begin(fde, target)
    registers, count = None, 0
    for start, end in _spans(fde, state):
        if start >= end:
            continue
        snapshot = state.snapshot()
        if snapshot is not registers:
            registers = snapshot
            count += len(registers)
            if count > MAX_RULES:
                message = f"the rows of one entry have more than {MAX_RULES} rules"
                error = IllFormed("limit_exceeded", message, spec="A.6.4.1")
                raise error.at(section=fde.section, offset=fde.offset)
        yield Row(start, end, state.cfa, snapshot)


def row_at(fde: Description, address: int, target: Target | None = None) -> Row | None:
    """The row of an address; None when the entry is not about it. What comes behind the row is not read."""
    if not fde.low <= address < fde.high:
        return None
    state = _begin(fde, target)
    for start, end in _spans(fde, state):
        if start <= address < end:
            return Row(start, end, state.cfa, state.snapshot())
    message = "the rows of the entry do not cover its addresses"  # locations only grow, from `low` to `high`
    raise AssertionError(message)


def instructions_of(entry: Program, augmentation: str) -> Iterator[Instruction]:
    """The instructions of an entry; an error where they cannot be found or decoded."""
    if entry.format is None:
        raise unknown_augmentation(entry, augmentation)
    return instructions(
        entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset
    )


def unknown_augmentation(entry: Program, augmentation: str) -> DwarfGpuError:
    """The error of an entry whose instructions cannot be found."""
    message = f"the augmentation {augmentation!r} is not known, so the instructions cannot be found"
    error: DwarfGpuError = IllFormed("bad_augmentation", message, spec="A.6.4.1")
    return error.at(section=entry.section, offset=entry.offset)  # type: ignore[no-any-return]


def _begin(fde: Description, target: Target | None) -> State:
    state = initial_state(fde.cie, target)
    state.begin(fde.low, (1 << 8 * fde.format.form.address_size) - 1 if fde.format is not None else 0)
    return state


def _spans(fde: Description, state: State) -> Iterator[tuple[int, int]]:
    """Run the instructions; start and end of each row, when the state holds what the row says."""
    start = fde.low
    for instruction in instructions_of(fde, fde.cie.augmentation):
        _run(state, instruction, fde)
        if instruction.row.effect == "location":
            location = state.location_for(instruction.name)
            yield start, min(location, fde.high)
            start = location
    yield start, fde.high


def _run(state: State, instruction: Instruction, entry: Program) -> None:
    try:
        state.run(instruction)
    except DwarfGpuError as error:
        raise error.at(section=entry.section, offset=instruction.offset, operation=instruction.name) from None
