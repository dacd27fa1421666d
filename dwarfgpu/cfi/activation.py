"""Activations: the registers of call frames as locations, by the rules of call frame information (A.6.4.1).

An activation is a subprogram that a thread executes. Of the innermost one the registers are those of the thread; those
of any other are where the rules of its callee say. A location is found when it is needed and then kept, for all
lanes of the thread at once: the instructions describe "the actions for the whole target architecture thread"
(A.6.4.2). Only where a rule leads to memory that each lane has for itself is it found lane by lane. Unwinding goes from
the innermost activation of a thread to the outermost one, and says why it ends where it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu import bits as b
from dwarfgpu import budget, dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, MissingContext, Unsupported
from dwarfgpu.expr import locations, table
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context, LoneFrame, UnitInfo, known_register
from dwarfgpu.expr.convert import object_location
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.expr.locations import (
    UNDEFINED,
    Composite,
    Implicit,
    IncompleteComposite,
    Location,
    Memory,
    Register,
    bound,
    is_undefined,
)
from dwarfgpu.expr.pieces import flattened
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.targets.target import Scope, Target, TargetRegister, UnspecifiedRegister

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.cfi import rules
    from dwarfgpu.cfi.rows import UnwindRules
    from dwarfgpu.cfi.rules import ExpressionBytes, RegisterOffset, Rule
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.types import Value
    from dwarfgpu.machines.protocol import Backend


CFA = -(1 << 32)
"""Stands for the CFA where registers are numbers; no register has it."""
BY_CODE = "by the code"
"""The source of rules that reading the code has found."""
AS_EXECUTED = "as executed"
"""How a caller is known whose call the machine has executed, where the file has no rules."""
MAX_NESTING = 40
"""How many registers may depend on each other. Compilers go through two or three; the limit is one of this program."""


class Activation(LoneFrame):
    """A subprogram that a thread executes, with its registers; level 0 is the innermost."""

    why = " to call frame information"

    def __init__(
        self,
        thread: Thread,
        pc: int,
        callee: Activation | None = None,
        *,
        is_call: bool = True,
        is_in_call: bool = False,
    ) -> None:
        self.thread = thread
        self.pc = pc
        """The program location, or that at which execution continues after the call."""
        self.callee = callee
        self.level: int = 0 if callee is None else callee.level + 1
        self.returns: int = 0 if callee is None else callee.returns + 1
        """How many functions must return until this one goes on."""
        self.place = pc - 1 if (is_in_call if callee is None else is_call) else pc
        """The address to look up: of a caller one inside the call, as another function may begin after it."""
        self._known: dict[int, tuple[Location, bool] | DwarfGpuError] = {}
        """For each register the location of its value on entry, and whether that still needs a lane."""
        self.executed: str = ""
        """Its caller, `AS_EXECUTED` and whether the registers tell another one; empty without a recorded call."""
        self._changes = thread.backend.changes
        """The count of writes for which what is known holds."""
        self._busy: set[int] = set()
        self._taken: set[int] | None = None
        """The registers in which others are stored, collected at the first use."""
        self._names_changed = False
        """Whether the rules name the registers that the function has changed."""

    # --- What is known about the code -----------------------------------------------------------------------------

    @property
    def information(self) -> Information:
        """The call frame information at the program location. Raises an error if it is missing or broken."""
        return self.thread.code.information_at(self.place)

    @property
    def found(self) -> str:
        """How it was found if its callee has no call frame information: `AS_EXECUTED` or `BY_CODE`; else empty."""
        if isinstance(self.callee, TailCall):
            return self.callee.found
        return "" if self.callee is None else self.callee.executed or self.callee.information.source

    @property
    def register_rules(self) -> dict[int, Rule]:
        """The rules of registers; empty without information, so that the defaults apply (A.2.5.4.4.1 (5))."""
        try:
            return self.information.row.registers
        except NoInformation:
            return {}

    # --- Registers ------------------------------------------------------------------------------------------------

    def register(self, number: int, lanes: LaneSet) -> Location:
        """Return the location of a register of this activation (A.2.5.4.4.4 (2))."""
        if self.callee is not None:
            return UNDEFINED if number in self._lost else self.callee.entry_register(number, lanes)
        thread = self.thread
        wave = thread.wave if lanes.wave is None else lanes.wave
        location = locations.at(Register(thread.known_register(number), wave))
        return bound(location, thread.backend, lanes) if thread.backend.capabilities.lane_owned else location

    @cached_property
    def _lost(self) -> frozenset[int]:
        """The registers that a called function may have changed before it ended with a tail call."""
        inner = self.callee
        while isinstance(inner, TailCall):
            inner = inner.callee
        try:
            return frozenset() if inner is None else inner.information.lost_in_call(self.place)
        except DwarfGpuError:
            return frozenset()

    def unchanged_register(self, number: int, lanes: LaneSet) -> Location | None:
        """Return where a register is if no inner activation has changed it; None if a rule shows that one has.

        It is used for registers without a rule, which only the code of the activation shows to be kept.
        """
        inner = self
        while inner.callee is not None:
            if number in inner._lost:
                return None
            inner = inner.callee
            is_open = inner.register_rules.get(number) is None
            if not is_open or inner._unspecified_rule(number) != UnspecifiedRegister.UNDEFINED:  # noqa: SLF001
                location = inner.entry_register(number, lanes)
                return None if is_undefined(location) else location
            if inner._taken is not None and number in inner._taken:  # noqa: SLF001
                return None
        return inner.register(number, lanes)

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        """Return the location of the value that a register had on entry and the caller has in it (A.2.5.4.4.1 (5))."""
        return self._location(number, lanes)

    def cfa(self, lanes: LaneSet) -> Location:
        """Return the Canonical Frame Address: a memory byte address in some address space."""
        return self._location(CFA, lanes)

    def _location(self, key: int, lanes: LaneSet) -> Location:
        if self._changes != self.thread.backend.changes:
            self._changes = self.thread.backend.changes
            self._known.clear()
        known = self._known.get(key)
        if known is None:
            known = self._location_or_error(key)
        if isinstance(known, tuple):
            location, is_open = known
            location = self.thread.of_slots(location, lanes)
            return bound(location, self.thread.backend, lanes) if is_open else location
        if isinstance(known, MissingContext) and known.kind == "lane" and lanes.lane is not None:
            return self._find(key, lanes)  # every lane has its own
        raise known.with_traceback(None)

    def _location_or_error(self, key: int) -> tuple[Location, bool] | DwarfGpuError:
        """Return the kept location of a register for the whole thread, or the error that says why it has none."""
        if key != CFA and self._continues(key):
            # the innermost activation first, so that however many there are, none waits for the others
            waiting = []
            inner = self.callee
            while inner is not None and key not in inner._known and inner._continues(key):  # noqa: SLF001
                waiting.append(inner)
                inner = inner.callee
            for activation in reversed(waiting):
                known = activation._remember(key)  # noqa: SLF001
                if key not in activation._known:  # noqa: SLF001 (the budget is spent)
                    return known
        return self._remember(key)

    def _continues(self, number: int) -> bool:
        """Return whether the register may be where it is in this activation, so that the callee's rules count too."""
        try:
            rule = self.register_rules.get(number)
        except DwarfGpuError:
            return False
        if rule is None:
            return self._unspecified_rule(number) == UnspecifiedRegister.SAME_VALUE
        return rule.word in ("same_value", "expression")

    def _remember(self, key: int) -> tuple[Location, bool] | DwarfGpuError:
        known: tuple[Location, bool] | DwarfGpuError
        refusals = budget.refusals()
        try:
            location = self._find(key, self.thread.lanes)
            known = location, is_open(location, self.thread.backend)
        except DwarfGpuError as error:
            known = error
        except (Diverge, LaneFault):
            raise Parted from None
        if budget.refusals() == refusals:
            self._known[key] = known
        return known

    def _find(self, key: int, lanes: LaneSet) -> Location:
        thread = self.thread
        if key in self._busy:
            needed = "the CFA" if key == CFA else f"the value of {self._name(key)} on entry"
            raise IllFormed("cycle", f"the rule for {needed} needs its own result", spec="A.6.4.2")
        if thread.nesting >= MAX_NESTING:
            message = f"more than {MAX_NESTING} registers depend on each other"
            raise EvaluationError("limit_exceeded", message, spec="A.6.4.2")
        self._busy.add(key)
        thread.nesting += 1
        try:
            return self._find_cfa(lanes) if key == CFA else self._previous(key, lanes)
        finally:
            thread.nesting -= 1
            self._busy.discard(key)

    def _name(self, number: int) -> str:
        register = self.thread.register(number)
        return f"register {number}" if register is None else register.name

    # --- The CFA (A.6.4.2.2) --------------------------------------------------------------------------------------

    def _find_cfa(self, lanes: LaneSet) -> Location:
        from dwarfgpu.cfi import rules

        information = self.information
        rule = information.row.cfa
        if rule is None:
            raise no_information(self.place)
        if isinstance(rule, rules.RegisterOffset):
            expression = self.thread.cfa_expression(rule)
        else:
            expression = information.expression(rule.block)
        location = self._evaluate(expression, lanes, "location")
        self._memory_address(location, "A.6.4.2.2 (8)")
        return location  # type: ignore[no-any-return]

    def _memory_address(self, location: Location, spec: str) -> tuple[Memory, Any]:
        """Return the storage and the byte address of a CFA, which must be a memory byte address."""
        place = location.single
        if place is None or type(place.storage) is not Memory or b.set_in_any(place.bit_offset) & 7:
            raise IllFormed("wrong_kind", "the CFA is not a memory byte address", spec=spec)
        return place.storage, b.settled(place.bit_offset >> 3)

    # --- The rules of registers (A.6.4.1) -------------------------------------------------------------------------

    def _previous(self, number: int, lanes: LaneSet) -> Location:
        rule = self.register_rules.get(number)
        if rule is None:
            how = self._unspecified_rule(number)
            if how == UnspecifiedRegister.SAME_VALUE:
                return self.register(number, lanes)
            return self._stack_pointer(number, lanes) if how == UnspecifiedRegister.CFA else UNDEFINED
        location: Location = getattr(self, f"_{rule.word}")(number, rule, lanes)
        return location

    def _unspecified_rule(self, number: int) -> str:
        """Return the default of a register without a rule, one of `UnspecifiedRegister`.

        It is the default of the target, with two exceptions that follow from the other rules. If these name every
        changed register, all others are unchanged; and a register in which another one is stored has changed.
        """
        if self.executed and not self.register_rules:  # nothing tells what the function has changed
            return UnspecifiedRegister.UNDEFINED
        if self._taken is None:
            from dwarfgpu.cfi import rules

            given = self.register_rules
            self._taken = {rule.register for rule in given.values() if isinstance(rule, rules.RegisterRule)}
            self._names_changed = bool(self.thread.target.named_if_changed) and any(
                isinstance(rule, rules.UndefinedRule) and self.thread.untouched(changed)
                for changed, rule in given.items()
            )
        how = self.thread.default_rule(number)
        if number in self._taken and how != UnspecifiedRegister.CFA:
            return UnspecifiedRegister.UNDEFINED
        if how == UnspecifiedRegister.UNDEFINED and self._names_changed and self.thread.untouched(number):
            return UnspecifiedRegister.SAME_VALUE
        return how

    def _stack_pointer(self, number: int, lanes: LaneSet) -> Location:
        """Return the stack pointer at the call site: by definition the address of the CFA (DWARF 5, 6.4)."""
        _storage, address = self._memory_address(self.cfa(lanes), "A.6.4.1")
        size = self.thread.known_register(number).bit_size
        scale = self.thread.target.stack_scale
        value = address if scale == 1 else address // scale
        return locations.at(Implicit(b.resized(b.settled(value), size), size))

    def _undefined(self, _number: int, _rule: rules.UndefinedRule, _lanes: LaneSet) -> Location:
        return UNDEFINED

    def _same_value(self, number: int, _rule: rules.SameValue, lanes: LaneSet) -> Location:
        return self.register(number, lanes)

    def _offset(self, _number: int, rule: rules.Offset, lanes: LaneSet) -> Location:
        return locations.moved(self.cfa(lanes), rule.offset * 8, undefined_size=None, spec="A.6.4.1")

    def _val_offset(self, number: int, rule: rules.ValOffset, lanes: LaneSet) -> Location:
        moved = locations.moved(self.cfa(lanes), rule.offset * 8, undefined_size=None, spec="A.6.4.1")
        storage, address = self._memory_address(moved, "A.6.4.1")
        register = self.thread.known_register(number)
        self._check_size(register, storage.space.address_bits, f"an address of {storage.space.name}")
        return locations.at(Implicit(address, register.bit_size))

    def _register(self, number: int, rule: rules.RegisterRule, lanes: LaneSet) -> Location:
        """Return the location of the other register in this activation.

        The text finds it "using the call frame information for the current frame and current program location", which
        is what it says of DW_OP_regx too. A rule that leads back to itself through others is refused.
        """
        from dwarfgpu.cfi import rules

        register, other = self.thread.known_register(number), self.thread.known_register(rule.register)
        self._check_size(register, other.bit_size, f"{other.name}, in which it is stored,")
        seen = {number}
        following: Rule | None = rule
        while isinstance(following, rules.RegisterRule):
            if following.register in seen:
                raise IllFormed("cycle", f"the rule for {register.name} leads back to itself", spec="A.6.4.1")
            seen.add(following.register)
            following = self.register_rules.get(following.register)
        return self.register(rule.register, lanes)

    def _expression(self, _number: int, rule: rules.ExpressionRule, lanes: LaneSet) -> Location:

        location = self._evaluate(self.information.expression(rule.block), lanes, "location", self.cfa(lanes))
        return flattened(location)

    def _val_expression(self, number: int, rule: rules.ValExpression, lanes: LaneSet) -> Location:
        expression = self.information.expression(rule.block)
        value: Value = self._evaluate(expression, lanes, "value", self.cfa(lanes))
        register = self.thread.known_register(number)
        self._check_size(register, value.type.bit_size, "the value of its rule")
        return locations.at(Implicit(value.bits, register.bit_size))

    def _architectural(self, number: int, rule: rules.Architectural, _lanes: LaneSet) -> Location:
        name = f" {rule.name}" if rule.name else ""
        message = f"{self._name(number)} has the architectural rule{name}, which is not defined"
        raise Unsupported("architectural", message, spec="A.6.4.1")

    def _check_size(self, register: TargetRegister, size: int, what: str) -> None:
        if register.bit_size != size:
            message = f"{register.name} has {register.bit_size} bits, and {what} has {size}"
            raise IllFormed("bad_size", message, spec="A.6.4.1")

    def _evaluate(self, expression: Expression, lanes: LaneSet, kind: Any, *initial: Location) -> Any:
        """Evaluate an expression in the current context, without unit and object (A.6.4.1, A.6.4.2.2 (8))."""
        thread = self.thread
        context = Context(
            thread.target,
            thread.rules,
            thread.backend,
            lanes,
            frame=self,
            pc=self.place,
            result_kind=kind,
            initial_stack=initial,
            in_cfi=True,
        )
        return result_for(evaluate(expression, context, thread.trace))

    # --- What no rule can need (A.6.4.2) -----------------------------------------------------------------------

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        raise MissingContext("thread", "where the thread has its thread-local storage is not known")


class TailCall(Activation):
    """A subprogram whose last act was a call: its frame is gone, and its registers are those of the caller.

    Return addresses do not show it. It is found if the call sites leave only one way to the innermost function.
    """

    def __init__(self, thread: Thread, pc: int, callee: Activation, *, is_call: bool) -> None:
        super().__init__(thread, pc, callee, is_call=is_call)
        self.returns = callee.returns

    @property
    def information(self) -> Information:
        raise NoInformation("tail_call", "the frame of a function that made a tail call is gone")

    def cfa(self, lanes: LaneSet) -> Location:
        assert self.callee is not None  # noqa: S101 (it has made a call)
        return self.callee.cfa(lanes)

    def _unspecified_rule(self, number: int) -> str:
        return UnspecifiedRegister.SAME_VALUE


def is_open(location: Location, backend: Backend) -> bool:
    """Return whether a location has no lane yet, and is in registers or an address space where lanes differ."""
    for place in location.places:
        storage: Any = place.storage
        if type(storage) is Memory:
            if storage.lane is None and storage.space.scope == Scope.DEPENDS:
                return True
        elif type(storage) is Register:
            is_owned = backend.capabilities.lane_owned and backend.lane_owned(storage.register)
            if storage.lane is None and is_owned:
                return True
        elif isinstance(storage, (Composite, IncompleteComposite)) and any(
            is_open(part.location, backend) for part in storage.parts
        ):
            return True
    return False


# --- Threads that are unwound -------------------------------------------------------------------------------------
# This module knows no files: the loader of the code provides the call frame information of an address.


@frozen
class Information:
    """The call frame information about the code at an address."""

    row: UnwindRules
    return_register: int
    """The column of the return address."""
    start: int
    """The start of the entry in the running program, which all code of a function, or of a part of it, shares."""
    expression: Callable[[ExpressionBytes], Expression]
    """Decodes an expression of a rule."""
    is_signal_frame: bool = False
    """Whether the caller was interrupted, and its program location is no call site."""
    source: str = ""
    """How the rules were found, where the file does not have them: `BY_CODE`."""
    follows_call: Callable[[int], bool] = lambda _pc: True
    """Whether an address can be where execution continues after a call, as far as that is known."""
    lost_in_call: Callable[[int], frozenset[int]] = lambda _place: frozenset()
    """The registers of a caller, which called at an address, that the rules cannot show to be kept."""


class NoInformation(EvaluationError):
    """An address has no call frame information. Registers then follow the default rules of the target."""

    def __init__(self, kind: str, message: str, *, hint: str | None = None) -> None:
        EvaluationError.__init__(self, kind, message, spec="A.6.4.1", hint=hint)


class Parted(Exception):
    """Waves that are unwound together differ in more than data: each must be unwound by itself."""


class UnwindCode(Protocol):
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
        code: UnwindCode,
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
        self.register = cache(register or target.register)
        """The register with a DWARF number, or None."""
        self.default_rule = cache(target.unspecified_rule)
        """The default of a register without a rule, one of `UnspecifiedRegister`."""
        self.untouched = cache(target.untouched)
        """Whether a register without a rule is unchanged if the rules name the changed ones."""
        self.cfa_expression = cache(partial(_aspace_bregx, Format(target.address_size)))
        """The expression that a CFA rule with a register is equivalent to (A.6.4.2.2)."""

    def known_register(self, number: int) -> TargetRegister:
        """Return the register with a DWARF number, or raise an error if the target does not have it."""
        return known_register(self.target, self.register(number), number)

    def of_slots(self, location: Location, lanes: LaneSet) -> Location:
        """Select the elements for some slots of a location with one element for each wave of the thread."""
        if isinstance(self.wave, int) or lanes is self.lanes or lanes.wave is None:
            return location
        return location.select(b.positions_in(self.wave, lanes.wave))


def no_information(pc: int) -> NoInformation:
    """Return the error of an address without information about its frame."""
    return NoInformation("no_unwind_information", f"no unwind information for the address {pc:#x}")


def _aspace_bregx(form: Format, rule: RegisterOffset) -> Expression:
    """Return ``DW_OP_constu AS; DW_OP_LLVM_aspace_bregx R, B`` as an expression without an offset."""
    operands = {"DW_OP_constu": (rule.space,), "DW_OP_LLVM_aspace_bregx": (rule.register, rule.offset)}
    instructions = [
        Instruction(table.row(name), name, values, offset, offset + 1)
        for offset, (name, values) in enumerate(operands.items())
    ]
    return Expression(b"", tuple(instructions), form, dialects.get("llvm-user"))


# --- Unwinding ----------------------------------------------------------------------------------------------------
# "The value of the return address register is used to determine the program location of the caller frame" (A.6.4.1).

FREE_FRAMES = 32
"""Frames beyond this number, as of a stack without an end, are paid from the budget, with the places of their lanes."""
LANE_COST = 4
"""What a frame costs for each lane of a wave."""

OUTERMOST = "outermost"
"""The rule of the return address says that the function has no caller."""
NO_INFORMATION = "no_unwind_information"
OUTSIDE_CODE = "outside_code"
NO_CALL = "no_call"
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


@frozen
class TailCallSite:
    """A call that was the last act of a function."""

    pc: int
    """An address of the program: behind the call, or that of the call itself."""
    is_behind: bool


class CallStack:
    """The activations of a thread, unwound one by one as they are needed."""

    def __init__(
        self,
        thread: Thread,
        pc: int,
        max_frames: int = budget.MAX_FRAMES,
        *,
        is_in_call: bool = False,
        tail_calls: Callable[[int, int], tuple[TailCallSite, ...]] | None = None,
        executed: tuple[int, ...] = (),
    ) -> None:
        self.thread = thread
        self._executed = executed
        """The return addresses of the calls that the thread was seen to make, the innermost first."""
        self._tail_calls = tail_calls
        """Finds the tail calls between a call, by its return address, and the function at a place, innermost first."""
        self._waiting: list[Activation] = []
        """Those that have been found already, further out."""
        self.max_frames = max_frames
        self.end: End | None = None
        """Why the last activation has no caller, once that is known."""
        self._spent: budget.QuestionBudget | None = None
        """The budget that was spent when the end was found: another question looks again."""
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
        if self._spent is not None and self._spent is not budget.asked():
            self.end = self._spent = None
        while level >= len(self._activations) and self.end is None:
            refusals = budget.refusals()
            activation = self._waiting.pop(0) if self._waiting else self._next(self._activations[-1])
            if isinstance(activation, End):
                self.end = activation
                self._spent = None if budget.refusals() == refusals else budget.asked()
            else:
                self._activations.append(activation)
        return self._activations[level] if level < len(self._activations) else None

    # --- One step -------------------------------------------------------------------------------------------------

    def _next(self, inner: Activation) -> Activation | End:
        """Return the caller of an activation, or the reason why the stack ends."""
        pc, end = self._return_address(inner)
        try:
            information = inner.information
        except DwarfGpuError:
            information = None
        executed = self._executed[inner.returns : inner.returns + 1]
        if information is not None and information.source != BY_CODE:  # the rules of the file win
            self._executed = self._executed if executed == (pc,) else ()
        elif executed:
            other = "" if pc in (None, *executed) else f"; the return address is now {pc:#x}"
            inner.executed, pc, end = f"{AS_EXECUTED}{other}", executed[0], None
        if end is not None or pc is None:
            return end or End(FAILED, "the caller cannot be found: the return address has bits without a value")
        if inner.level + 1 >= self.max_frames:
            return End(LIMIT, f"there are more than {self.max_frames} frames (`set backtrace limit`)")
        if inner.level >= FREE_FRAMES and not budget.take_half(LANE_COST * self.thread.target.lane_count):
            return End(LIMIT, f"there are more than {inner.level + 1} frames{budget.exceeded('').message}")
        is_call = information is None or not information.is_signal_frame
        gone: list[Activation] = []
        for site in self._tail_calls(pc, inner.place) if self._tail_calls is not None and is_call else ():
            gone.append(TailCall(self.thread, site.pc, gone[-1] if gone else inner, is_call=site.is_behind))
        caller = Activation(self.thread, pc, gone[-1] if gone else inner, is_call=is_call)
        end = None if inner.executed else self._checked(caller, inner)
        if end is not None:
            return end
        self._waiting = [*gone, caller]
        return self._waiting.pop(0)

    def _return_address(self, inner: Activation) -> tuple[int | None, End | None]:
        """Return the return address that the rules give, or None if bits of it have no value; why the stack ends."""
        try:
            information = inner.information
            if information.row.cfa is None:
                raise no_information(inner.place)
            if inner.level == 0:
                self._identify(inner, inner.cfa(self.thread.lanes))
            location = inner.entry_register(information.return_register, self.thread.lanes)
            if is_undefined(location):
                return None, End(OUTERMOST, "the return address is undefined")
            pc = self._address(information.return_register, location)
        except NoInformation as error:
            return None, End(error.kind, error.message, error)
        except DwarfGpuError as error:
            return None, End(FAILED, f"the caller cannot be found: {error}", error)
        if pc is not None and not information.follows_call(pc):
            why = f"the return address {pc:#x} does not follow a call that leads here: the stack may be damaged"
            return pc, End(NO_CALL, why)
        return pc, None

    def returns_to(self, level: int) -> Activation | None:
        """Return the activation that goes on when that of a level returns: the next one whose frame is not gone."""
        inner = self.at(level)
        caller = self.at(level + 1)
        while isinstance(caller, TailCall):
            caller = self.at(caller.level + 1)
        return None if inner is None else caller

    def _address(self, number: int, location: Location) -> int | None:
        """Read the return address; None if some of its bits have no value."""
        register = self.thread.register(number)
        default = self.thread.target.default_space.address_bits
        size = default if register is None else min(default, register.bit_size)
        thread = self.thread
        location = object_location(location, size, thread.rules, thread.target.byte_order)
        reading = thread.accessor.read(location, size)
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
        if start == inner.information.start and cfa == inner.cfa(self.thread.lanes):
            return End(SAME_FRAME, f"the CFA does not move from frame {inner.level} to its caller in the same function")
        if not self._identify(caller, cfa):
            return End(CYCLE, f"frame {caller.level} repeats an earlier one: the stack may be damaged")
        return None

    def _identify(self, activation: Activation, cfa: Location) -> bool:
        """Record the CFA and the code of an activation, and return whether no activation before it has both."""
        place: Any = cfa.places[0]
        identity = activation.pc, place.storage.space.number, int(place.bit_offset)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True
