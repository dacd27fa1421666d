"""Threads that are unwound: the machine, the code and the target that all activations of a thread share.

This module knows no files: the loader of the code provides the call frame information of an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from dwarfgpu import bits as b
from dwarfgpu import dialects
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import EvaluationError, IllFormed
from dwarfgpu.expr import table
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.lanes import LaneSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.backends.protocol import Backend
    from dwarfgpu.bits import Bits
    from dwarfgpu.cfi.rows import Row
    from dwarfgpu.cfi.rules import Block, RegisterOffset
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.targets.target import Register as TargetRegister
    from dwarfgpu.targets.target import Target


@frozen
class Information:
    """The call frame information about the code at an address."""

    row: Row
    return_register: int
    """The column of the return address."""
    start: int
    """The start of the entry in the running program, which all code of a function, or of a part of it, shares."""
    expression: Callable[[Block], Expression]
    """Decodes an expression of a rule."""
    is_signal_frame: bool = False
    """Whether the caller was interrupted, and its program location is no call site."""


class NoInformation(EvaluationError):
    """An address has no call frame information. Registers then follow the default rules of the target."""

    def __init__(self, kind: str, message: str, *, hint: str | None = None) -> None:
        EvaluationError.__init__(self, kind, message, spec="A.6.4.1", hint=hint)


class Parted(Exception):
    """Waves that are unwound together differ in more than data: each must be unwound by itself."""


class Code(Protocol):
    """The loaded code, as far as unwinding needs it."""

    def information_at(self, pc: int) -> Information:
        """Return the call frame information at an address of the running program, or raise `NoInformation`."""


class Thread:
    """A thread (a wave), with everything that all its activations share."""

    def __init__(
        self,
        target: Target,
        rules: Rules,
        backend: Backend,
        code: Code,
        wave: Bits = 0,
        *,
        register: Callable[[int], TargetRegister | None] | None = None,
    ) -> None:
        self.target = target
        self.rules = rules
        self.backend = backend
        self.code = code
        self.wave = wave
        """The index of the wave. Of several at one place, which are unwound together, an ascending array."""
        self.lanes = LaneSet(1 if isinstance(wave, int) else len(wave), wave, None)
        """The thread without a lane: what rules are evaluated for."""
        self.accessor = Accessor(backend, target.byte_order, self.lanes.count)
        self.nesting = 0
        self.trace: Trace | None = None
        """Is told every operation of a rule, a frame base or a call site that is evaluated."""
        self._find_register = register or target.register
        self._registers: dict[int, TargetRegister | None] = {}
        self._defaults: dict[int, str] = {}
        self._untouched: dict[int, bool] = {}
        self._cfa_rules: dict[RegisterOffset, Expression] = {}

    def register(self, number: int) -> TargetRegister | None:
        """Return the register with a DWARF number, or None."""
        if number not in self._registers:
            self._registers[number] = self._find_register(number)
        return self._registers[number]

    def known_register(self, number: int) -> TargetRegister:
        """Return the register with a DWARF number, or raise an error if the target does not have it."""
        register = self.register(number)
        if register is None:
            message = f"{self.target.name} has no register with the DWARF number {number}"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.4.4 (2)")
        return register

    def of_slots(self, location: Location, lanes: LaneSet) -> Location:
        """Select the elements for some slots of a location with one element for each wave of the thread."""
        if isinstance(self.wave, int) or lanes is self.lanes or lanes.wave is None:
            return location
        return location.select(b.positions_in(self.wave, lanes.wave))

    def default_rule(self, number: int) -> str:
        """Return the default of a register without a rule, one of `Unspecified`."""
        rule = self._defaults.get(number)
        if rule is None:
            rule = self._defaults[number] = self.target.unspecified_rule(number)
        return rule

    def untouched(self, number: int) -> bool:
        """Return whether a register without a rule is unchanged if the rules name the changed ones."""
        is_untouched = self._untouched.get(number)
        if is_untouched is None:
            is_untouched = self._untouched[number] = self.target.untouched(number)
        return is_untouched

    def cfa_expression(self, rule: RegisterOffset) -> Expression:
        """Return the expression that a CFA rule with a register is equivalent to (A.6.4.2.2)."""
        expression = self._cfa_rules.get(rule)
        if expression is None:
            expression = self._cfa_rules[rule] = _aspace_bregx(rule, self.target)
        return expression


def no_information(pc: int) -> NoInformation:
    """Return the error of an address without information about its frame."""
    return NoInformation("no_unwind_information", f"no unwind information for the address {pc:#x}")


def _aspace_bregx(rule: RegisterOffset, target: Target) -> Expression:
    """Return ``DW_OP_constu AS; DW_OP_LLVM_aspace_bregx R, B`` as an expression without an offset."""
    operands = {"DW_OP_constu": (rule.space,), "DW_OP_LLVM_aspace_bregx": (rule.register, rule.offset)}
    instructions = []
    dialect = dialects.get("llvm-user")
    for offset, (name, values) in enumerate(operands.items()):
        row = table.find(name)
        if row is None:
            raise AssertionError(name)
        instructions.append(Instruction(row, name, values, offset, offset + 1))
    return Expression(b"", tuple(instructions), Format(target.address_size), dialect)
