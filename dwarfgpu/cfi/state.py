"""The row under construction: what call frame instructions change (DWARF 5 section 6.4.2, A.6.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from dwarfgpu.cfi.rules import RegisterOffset
from dwarfgpu.errors import IllFormed

if TYPE_CHECKING:
    from dwarfgpu.cfi.decode import Instruction
    from dwarfgpu.cfi.rules import CfaRule, Rule
    from dwarfgpu.targets.target import Target


@frozen
class Initial:
    """The rules that every row of an entry begins with, which the CIE's initial instructions make."""

    cfa: CfaRule | None = None
    registers: dict[int, Rule] = field(factory=dict)


class State:
    """The row under construction."""

    __slots__ = (
        "_changes",
        "_initial",
        "_limit",
        "_marks",
        "_registers",
        "_snapshot",
        "_spec",
        "_target",
        "cfa",
        "location",
    )

    def __init__(
        self,
        target: Target | None = None,
        initial: Initial = Initial(),
        location: int | None = None,
        limit: int = 0,
    ) -> None:
        """Begin with the rules of the CIE at the first address of an FDE; ``limit`` is the highest address.

        Without a location these are the initial instructions themselves, which have no address.
        """
        self.cfa = initial.cfa
        self.location = location
        self._limit = limit
        self._target = target
        self._spec = ""
        self._initial = initial.registers
        self._registers = dict(initial.registers)
        self._snapshot: dict[int, Rule] | None = None
        # What restore_state undoes: the rules that were replaced, and how many there were at each remember_state. So a
        # stack however high takes no more memory than the instructions that built it.
        self._changes: list[tuple[int, Rule | None]] = []
        self._marks: list[tuple[int, CfaRule | None]] = []

    @property
    def default_space(self) -> int:
        """The target architecture default address space identifier."""
        return 0 if self._target is None else self._target.default_space.number

    def run(self, instruction: Instruction) -> None:
        """Run an instruction."""
        self._spec = instruction.row.spec
        for operand, value in instruction.pairs():
            if operand.role == "offset" and not -(1 << 63) <= value < 1 << 63:
                message = f"the offset {value:#x} has more than 64 bits"
                raise IllFormed("overflow", message, spec=self._spec)
        instruction.row.run(self, *instruction.operands)

    # --- Location -------------------------------------------------------------------------------------------------

    def location_for(self, what: str) -> int:
        """Return the current location, which ``what`` needs."""
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
        """Return the current rules of registers; the same object until one changes."""
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
        """Restore the rules of the last `remember`, with the CFA rule, as every unwinder does."""
        if not self._marks:
            message = "no state is remembered"
            raise IllFormed("restore_without_remember", message, spec="DWARF 5, 6.4.2.4 (2)")
        mark, self.cfa = self._marks.pop()
        while len(self._changes) > mark:
            self._put(*self._changes.pop())
