"""The table that call frame instructions encode: the rules at each address (DWARF 5 section 6.4.1, A.6.4).

The initial instructions of the CIE give every register its first rule, then those of the FDE make the rows. Rows are
made on demand: `row_at` makes one row, and reads the instructions up to the end of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from dwarfgpu.cfi.decode import instructions
from dwarfgpu.cfi.state import Initial, State
from dwarfgpu.errors import DwarfGpuError, IllFormed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.decode import Instruction
    from dwarfgpu.cfi.rules import CfaRule, Rule
    from dwarfgpu.encoding.frame_format import FrameFormat
    from dwarfgpu.targets.target import Target

MAX_RULES = 1 << 22
"""How many rules all rows of one entry may have together. No function comes near, and a broken one must not fill the
memory."""
MAX_INITIAL = 1 << 12
"""How many rules a CIE may make. No target has so many registers, and every entry begins with them."""


class Program(Protocol):
    """An entry of either kind, which holds instructions."""

    @property
    def section(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def format(self) -> FrameFormat | None:
        """The encoding of the instructions; None for an unknown augmentation, whose instructions cannot be found."""

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


@frozen
class Row:
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
    """A maker of rows, which keeps the initial rules of each CIE: all its entries begin with them."""

    def __init__(self, target: Target | None = None) -> None:
        self._target = target
        self._initial: dict[Common, Initial | DwarfGpuError] = {}

    def initial(self, cie: Common) -> Initial:
        """Return the initial rules of a CIE."""
        rules = self._initial.get(cie)
        if rules is None:
            try:
                rules = self._run_initial(cie)
            except DwarfGpuError as error:
                rules = error
            self._initial[cie] = rules
        if isinstance(rules, DwarfGpuError):
            raise rules.with_traceback(None)
        return rules

    def rows(self, fde: Description) -> Iterator[Row]:
        """Yield the rows of an entry in the order of addresses. An error is raised after the valid rows."""
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
                    raise _too_many(f"the rows of one entry have more than {MAX_RULES} rules", fde)
            yield Row(start, end, state.cfa, snapshot)

    def row_at(self, fde: Description, address: int) -> Row | None:
        """Return the row at an address, or None if the entry does not cover it. Nothing after the row is read."""
        if not fde.low <= address < fde.high:
            return None
        state = self._begin(fde)
        for start, end in _spans(fde, state):
            if start <= address < end:
                return Row(start, end, state.cfa, state.snapshot())
        message = (
            "the rows of the entry do not cover its addresses"  # locations only grow, from `low` to `high`
        )
        raise AssertionError(message)

    def _run_initial(self, cie: Common) -> Initial:
        state = State(self._target)
        for instruction in instructions_of(cie, cie.augmentation):
            _run(state, instruction, cie)
        registers = state.snapshot()
        if len(registers) > MAX_INITIAL:
            raise _too_many(f"a CIE makes more than {MAX_INITIAL} rules", cie)
        return Initial(state.cfa, registers)

    def _begin(self, fde: Description) -> State:
        if fde.format is None:
            raise unknown_augmentation(fde, fde.cie.augmentation)
        last = (1 << 8 * fde.format.form.address_size) - 1
        return State(self._target, self.initial(fde.cie), fde.low, last)


def rows(fde: Description, target: Target | None = None) -> Iterator[Row]:
    """Return an iterator over the rows of one entry."""
    return Tables(target).rows(fde)


def row_at(fde: Description, address: int, target: Target | None = None) -> Row | None:
    """Return the row of one entry at an address."""
    return Tables(target).row_at(fde, address)


# --- Running ---------------------------------------------------------------------------------------------------------


def instructions_of(entry: Program, augmentation: str) -> Iterator[Instruction]:
    """Yield the instructions of an entry; raise an error where they cannot be found or decoded."""
    if entry.format is None:
        raise unknown_augmentation(entry, augmentation)
    return instructions(
        entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset
    )


def unknown_augmentation(entry: Program, augmentation: str) -> DwarfGpuError:
    """Return the error of an entry whose instructions cannot be found."""
    message = f"the augmentation {augmentation!r} is not known, so the instructions cannot be found"
    error: DwarfGpuError = IllFormed("bad_augmentation", message, spec="A.6.4.1")
    return error.at(section=entry.section, offset=entry.offset)  # type: ignore[no-any-return]


def _too_many(message: str, entry: Program) -> DwarfGpuError:
    error: DwarfGpuError = IllFormed("limit_exceeded", message, spec="A.6.4.1")
    return error.at(section=entry.section, offset=entry.offset)  # type: ignore[no-any-return]


def _spans(fde: Description, state: State) -> Iterator[tuple[int, int]]:
    """Run the instructions, and yield the start and the end of each row while the state holds its rules."""
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
