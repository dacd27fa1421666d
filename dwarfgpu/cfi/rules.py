"""The rules of call frame information: how the CFA and each register of the caller are found (A.6.4.1).

A rule is only a description. An expression in it is bytes, decoded when it is evaluated or shown. The ``word`` of a
rule is its name in texts and answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu.errors import IllFormed
from dwarfgpu.immutable import asdict, field, frozen

if TYPE_CHECKING:
    from dwarfgpu.targets.target import Target


@frozen
class ExpressionBytes:
    """The bytes of an expression, and their offset."""

    data: bytes
    section: str | None = None
    offset: int = 0
    """The offset of the first byte in the section."""


# --- The CFA (A.6.4.2.2) ------------------------------------------------------------------------------------------


@frozen
class RegisterOffset:
    """``DW_OP_constu AS; DW_OP_LLVM_aspace_bregx R, B`` as a location description."""

    word = "register_offset"

    register: int
    offset: int
    """In bytes."""
    space: int = 0
    """The address space; that of the target's default address space where the instruction names none."""


@frozen
class CfaExpression:
    """E evaluated with an empty initial stack; its result must be a memory byte address."""

    word = "expression"

    block: ExpressionBytes


CfaRule: TypeAlias = "RegisterOffset | CfaExpression"


# --- Registers (A.6.4.1) ------------------------------------------------------------------------------------------


@frozen
class UndefinedRule:
    """*undefined*: the register has no recoverable value in the previous frame."""

    word = "undefined"


@frozen
class SameValue:
    """*same value*: the register has not been modified from the previous frame."""

    word = "same_value"


@frozen
class Offset:
    """*offset(N)*: saved at N bytes from the CFA."""

    word = "offset"

    offset: int


@frozen
class ValOffset:
    """*val_offset(N)*: its value is the address N bytes from the CFA."""

    word = "val_offset"

    offset: int


@frozen
class RegisterRule:
    """*register(R)*: stored in another register."""

    word = "register"

    register: int


@frozen
class ExpressionRule:
    """*expression(E)*: located where E says, evaluated with the CFA on the stack."""

    word = "expression"

    block: ExpressionBytes


@frozen
class ValExpression:
    """*val_expression(E)*: its value is that of E, evaluated with the CFA on the stack."""

    word = "val_expression"

    block: ExpressionBytes


@frozen
class Architectural:
    """*architectural*: defined externally by the augmenter.

    No instruction makes this rule. It is for callers that know what an augmentation means.
    """

    word = "architectural"

    name: str = ""


Rule: TypeAlias = (
    "UndefinedRule | SameValue | Offset | ValOffset | RegisterRule | ExpressionRule | ValExpression | Architectural"
)


def rule_json(rule: CfaRule | Rule) -> dict[str, Any]:
    """Return a rule in the JSON of cases."""
    result: dict[str, Any] = {"rule": rule.word}
    for name, value in asdict(rule).items():
        result["expr" if name == "block" else name] = value.data.hex() if name == "block" else value
    return result


# --- The row under construction ---------------------------------------------------------------------------------------


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
        self.spec = ""
        """The clause of the instruction that is executed."""
        self._initial = initial.registers
        self._registers = dict(initial.registers)
        self._snapshot: dict[int, Rule] | None = None
        # restore_state undoes the changes recorded since the last remember_state, whose position is in `_marks`. So a
        # deep stack takes no more memory than the instructions that built it.
        self._changes: list[tuple[int, Rule | None]] = []
        self._marks: list[tuple[int, CfaRule | None]] = []

    @property
    def default_space(self) -> int:
        return 0 if self._target is None else self._target.default_space.number

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
            raise IllFormed("overflow", message, spec=self.spec)
        self.location = location

    # --- The CFA --------------------------------------------------------------------------------------------------

    def cfa_with_register(self) -> RegisterOffset:
        """Return the CFA rule, which must use a register."""
        if self.cfa is None:
            raise IllFormed("no_cfa_rule", "there is no current CFA rule", spec=self.spec)
        if not isinstance(self.cfa, RegisterOffset):
            raise IllFormed("cfa_rule_is_expression", "the current CFA rule is an expression", spec=self.spec)
        return self.cfa

    def check_space(self, space: int) -> None:
        """Refuse an address space that the target does not define."""
        if self._target is not None and self._target.space(space) is None:
            message = f"{self._target.name} has no address space {space:#x}"
            raise IllFormed("bad_address_space", message, spec=self.spec)

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
            raise IllFormed("bad_cie", message, spec=self.spec)
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
