"""The table that call frame instructions encode: the rules at each address (DWARF 5 section 6.4.1, A.6.4).

The initial instructions of the CIE give every register its first rule, then those of the FDE make the rows. Rows are
made on demand: `row_at` makes one row, and reads no instructions beyond the end of that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from attrs import field

from dwarfgpu.budget import remembered
from dwarfgpu.cfi.instructions import DecodedInstruction, instructions
from dwarfgpu.cfi.rules import CfaRule, RegisterOffset, Rule
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding.pointers import FrameFormat
    from dwarfgpu.targets.target import Target


MAX_RULES = 1 << 22
"""The most rules that all rows of one entry may have together. A real function has far fewer; a broken entry is refused
before it fills memory."""
MAX_INITIAL = 1 << 12
"""The most rules that a CIE may define, more than any target has registers; every FDE copies them."""


class Entry(Protocol):
    """A CIE or an FDE: an entry with instructions."""

    @property
    def section(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def format(self) -> FrameFormat | None:
        """The encoding of the instructions; None if the augmentation is unknown, so that they cannot be found."""

    @property
    def instructions(self) -> bytes: ...

    @property
    def instructions_offset(self) -> int: ...


class Common(Entry, Protocol):
    """A common information entry."""

    @property
    def augmentation(self) -> str: ...


class Description(Entry, Protocol):
    """A frame description entry."""

    @property
    def cie(self) -> Common: ...

    @property
    def low(self) -> int: ...

    @property
    def high(self) -> int: ...


@frozen
class UnwindRules:
    """The rules from address ``start`` up to, but not including, ``end``."""

    start: int
    end: int
    cfa: CfaRule | None
    """None where no instruction has defined the CFA."""
    registers: dict[int, Rule]
    """The rules of registers by number; a register without one has the default of the target (A.6.4.1)."""

    @property
    def is_empty(self) -> bool:
        """Whether the row has no rules: compilers write empty entries for code without unwind information."""
        return self.cfa is None and not self.registers


class Tables:
    """Makes rows, and caches the initial rules of each CIE for all its FDEs."""

    def __init__(self, target: Target | None = None) -> None:
        self._target = target

    @remembered
    def initial(self, cie: Common) -> Initial:
        """Return the rules that the initial instructions of a CIE make."""
        state = RuleState(self._target)
        for instruction in instructions_of(cie, cie.augmentation):
            _run(state, instruction, cie)
        registers = state.snapshot()
        if len(registers) > MAX_INITIAL:
            raise _ill_formed("limit_exceeded", f"a CIE makes more than {MAX_INITIAL} rules", cie)
        return Initial(state.cfa, registers)

    def rows(self, fde: Description) -> Iterator[UnwindRules]:
        """Yield the rows of an entry in address order; after the valid rows, raise an error if one occurs."""
        registers, count = None, 0
        state = self._begin(fde)
        for start, end in _spans(fde, state):
            if start >= end:
                continue
            snapshot = state.snapshot()
            if snapshot is not registers:
                registers = snapshot
                count += len(registers)
                if count > MAX_RULES:
                    raise _ill_formed("limit_exceeded", f"the rows of one entry have more than {MAX_RULES} rules", fde)
            yield UnwindRules(start, end, state.cfa, snapshot)

    def row_at(self, fde: Description, address: int) -> UnwindRules | None:
        """Return the row at an address, or None if the entry does not cover it; read nothing after the row."""
        if not fde.low <= address < fde.high:
            return None
        state = self._begin(fde)
        for start, end in _spans(fde, state):
            if start <= address < end:
                return UnwindRules(start, end, state.cfa, state.snapshot())
        # locations only grow, from `low` to `high`
        raise AssertionError("the rows of the entry do not cover its addresses")

    def _begin(self, fde: Description) -> RuleState:
        if fde.format is None:
            raise unknown_augmentation(fde, fde.cie.augmentation)
        last = (1 << 8 * fde.format.form.address_size) - 1
        return RuleState(self._target, self.initial(fde.cie), fde.low, last)


# --- Running ------------------------------------------------------------------------------------------------------


def instructions_of(entry: Entry, augmentation: str) -> Iterator[DecodedInstruction]:
    """Yield the instructions of an entry; raise an error where they cannot be found or decoded."""
    if entry.format is None:
        raise unknown_augmentation(entry, augmentation)
    return instructions(entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset)


def unknown_augmentation(entry: Entry, augmentation: str) -> DwarfGpuError:
    """Return the error of an entry whose instructions cannot be found."""
    message = f"the augmentation {augmentation!r} is not known, so the instructions cannot be found"
    return _ill_formed("bad_augmentation", message, entry)


def _ill_formed(kind: str, message: str, entry: Entry) -> DwarfGpuError:
    error = IllFormed(kind, message, spec="A.6.4.1")
    return error.at(section=entry.section, offset=entry.offset)  # type: ignore[no-any-return]


def _spans(fde: Description, state: RuleState) -> Iterator[tuple[int, int]]:
    """Run the instructions. Yield the start and end of each row; meanwhile ``state`` has the rules of the row."""
    start = fde.low
    for instruction in instructions_of(fde, fde.cie.augmentation):
        _run(state, instruction, fde)
        location = state.location_for(instruction.name)
        if location != start:
            yield start, min(location, fde.high)
            start = location
    yield start, fde.high


def _run(state: RuleState, instruction: DecodedInstruction, entry: Entry) -> None:
    try:
        state.run(instruction)
    except DwarfGpuError as error:
        raise error.at(section=entry.section, offset=instruction.offset, operation=instruction.name) from None


# --- The row under construction -----------------------------------------------------------------------------------


@frozen
class Initial:
    """The rules that the initial instructions of a CIE make, with which every row begins."""

    cfa: CfaRule | None = None
    registers: dict[int, Rule] = field(factory=dict)


class RuleState:
    """The row under construction."""

    def __init__(
        self,
        target: Target | None = None,
        initial: Initial = Initial(),  # noqa: B008 (it is immutable)
        location: int | None = None,
        limit: int = 0,
    ) -> None:
        """Begin with the rules of the CIE at the first address of an FDE; ``limit`` is the highest address.

        Without a location, the state runs the initial instructions of a CIE, which have no address.
        """
        self.cfa = initial.cfa
        self.location = location
        self._limit = limit
        self._target = target
        self._spec = ""
        self._initial = initial.registers
        self._registers = dict(initial.registers)
        self._snapshot: dict[int, Rule] | None = None
        # restore_state undoes the changes recorded since the last remember_state, whose position is in `_marks`. So a
        # deep stack takes no more memory than the instructions that built it.
        self._changes: list[tuple[int, Rule | None]] = []
        self._marks: list[tuple[int, CfaRule | None]] = []

    @property
    def default_space(self) -> int:
        """The number of the target's default address space."""
        return 0 if self._target is None else self._target.default_space.number

    def run(self, instruction: DecodedInstruction) -> None:
        self._spec = instruction.row.spec
        for operand, value in instruction.pairs():
            if operand.role == "offset" and not -(1 << 63) <= value < 1 << 63:
                raise IllFormed("overflow", f"the offset {value:#x} has more than 64 bits", spec=self._spec)
        instruction.row.run(self, *instruction.operands)

    # --- Location -------------------------------------------------------------------------------------------------

    def location_for(self, what: str) -> int:
        """Return the current location; refuse the instruction ``what`` if there is none."""
        if self.location is None:
            message = f"{what} is not allowed in the initial instructions, which have no address"
            raise IllFormed("bad_cie", message, spec="A.6.4.1")
        return self.location

    def go_to(self, location: int) -> None:
        if location > self._limit:
            message = f"the location {location:#x} is after the last address {self._limit:#x}"
            raise IllFormed("overflow", message, spec=self._spec)
        self.location = location

    # --- The CFA --------------------------------------------------------------------------------------------------

    def cfa_with_register(self) -> RegisterOffset:
        """Return the CFA rule, which must use a register."""
        if self.cfa is None:
            raise IllFormed("no_cfa_rule", "there is no current CFA rule", spec=self._spec)
        if not isinstance(self.cfa, RegisterOffset):
            raise IllFormed("cfa_rule_is_expression", "the current CFA rule is an expression", spec=self._spec)
        return self.cfa

    def check_space(self, space: int) -> None:
        """Refuse an address space that the target does not define."""
        if self._target is not None and self._target.space(space) is None:
            message = f"{self._target.name} has no address space {space:#x}"
            raise IllFormed("bad_address_space", message, spec=self._spec)

    # --- Registers ------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[int, Rule]:
        """Return the current rules of registers; the same object until one changes."""
        if self._snapshot is None:
            self._snapshot = dict(self._registers)
        return self._snapshot

    def restore_rule(self, register: int) -> None:
        """Restore the initial rule of a register; if it had none, remove its current rule."""
        if self.location is None:
            message = "the initial instructions define the initial rules, so they cannot restore them"
            raise IllFormed("bad_cie", message, spec=self._spec)
        self.set_rule(register, self._initial.get(register))

    def set_rule(self, register: int, rule: Rule | None) -> None:
        if self._marks:
            self._changes.append((register, self._registers.get(register)))
        self._put(register, rule)

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
        """Restore the rules of the last `remember`, including the CFA rule, as every unwinder does."""
        if not self._marks:
            raise IllFormed("restore_without_remember", "no state is remembered", spec="DWARF 5, 6.4.2.4 (2)")
        mark, self.cfa = self._marks.pop()
        while len(self._changes) > mark:
            self._put(*self._changes.pop())
