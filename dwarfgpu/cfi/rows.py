"""The table that call frame instructions encode: the rules at each address (DWARF 5 section 6.4.1, A.6.4).

The initial instructions of the CIE give every register its first rule, then those of the FDE make the rows. Rows are
made on demand: `row_at` makes one row, and reads no instructions beyond the end of that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from dwarfgpu.budget import remembered
from dwarfgpu.cfi.instructions import DecodedInstruction, instructions
from dwarfgpu.cfi.rules import CfaRule, Initial, Rule, RuleState
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding import FrameFormat
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
    row = instruction.row
    state.spec = row.spec
    try:
        for operand, value in instruction.pairs():
            if operand.role == "offset" and not -(1 << 63) <= value < 1 << 63:
                raise IllFormed("overflow", f"the offset {value:#x} has more than 64 bits", spec=row.spec)
        row.run(state, *instruction.operands)
    except DwarfGpuError as error:
        raise error.at(section=entry.section, offset=instruction.offset, operation=instruction.name) from None
