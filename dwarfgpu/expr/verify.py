"""What is wrong with an expression, found without evaluating it.

The expression is walked along every path with a stack of what is *known* of the entries (`known_entries`): their kinds,
the numbers of constants, and where a location is in a storage of known size. A finding of severity ``error`` is
certain on some path: an evaluation that goes there fails. A ``warning`` depends on what only an evaluation knows, or
is legal but doubtful. Where nothing is known (after a call, or where too many paths meet) nothing is reported.

A location that the context gives (an object, the CFA, a frame base) is taken to be a byte address in the default
address space, except on a target that has several. A register is taken to be itself, as in the innermost frame; call
frame information may tell that a caller's is elsewhere (A.2.5.4.4.4 (2)), so in the expression of an entry value, which
is evaluated in the caller, what its size makes wrong is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from dwarfgpu.errors import Unsupported
from dwarfgpu.expr import known_entries as kinds
from dwarfgpu.expr.instruction import Expression, Instruction, decode, operands_of, registers_of
from dwarfgpu.expr.known_effects import ADDRESS_IS_VALUE, INTEGER_IS_LOCATION, KnownEffects
from dwarfgpu.expr.known_entries import EMPTY, UNKNOWN, EntryStack, KnownEntry, Shape, shape_of
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.expr.context import ResultKind
    from dwarfgpu.expr.known_effects import Entries, ReportedSeverity
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.targets.target import Target

    _Trail: TypeAlias = "tuple[tuple[Instruction, int], ...]"
    """The positions where a path has gone backward, the last first, and the depth of the stack there."""


MAX_DEPTH = 48
"""How deep expressions in expressions are verified; no evaluation nests deeper (`Limits.nesting`)."""

_MAX_STATES = 32  # so many stacks are followed from one operation; then what is on the stack there is unknown
_MAX_PRECISE = 16  # so many of them with more than the kinds of the entries
_MAX_TRAIL = 64  # the number of steps backward on a path that are searched for a loop
_BUDGET = 100_000  # after so many steps only one stack is followed

_ENTRY_VALUE = "value or register"  # what the expression of an entry value gives (A.2.5.4.3.4 (8))


@frozen
class Finding:
    """Something wrong or doubtful in an expression."""

    severity: Literal["error", "warning"]
    kind: str
    """The kind of the error that an evaluation ends with; or ``deprecated``, ``unreachable``."""
    message: str
    offset: int
    """In bytes from the start of the expression."""
    operation: str | None = None
    spec: str | None = None


def verify(
    expression: Expression,
    *,
    rules: Rules,
    in_cfi: bool = False,
    address_size: int | None = None,
    initial_depth: int = 0,
    result_kind: ResultKind | None = None,
    target: Target | None = None,
) -> list[Finding]:
    """Return the findings about an expression, in the order of its operations.

    ``initial_depth`` is the number of entries on the stack at the start, of any kind. ``address_size`` is that of
    the target, else of the expression's unit.

    >>> import dwarfgpu as dg
    >>> doubtful = dg.parse("DW_OP_lit1; DW_OP_plus", dg.dialect("llvm-user"), dg.Format())
    >>> [(finding.kind, finding.offset) for finding in dg.verify(doubtful, rules=dg.AMD)]
    [('stack_underflow', 1)]
    """
    size = expression.form.address_size if target is None else target.address_size
    walk = _ExpressionWalk(expression, rules, target, address_size or size)
    return walk.findings(initial_depth, result_kind, in_cfi=in_cfi)


class _ExpressionWalk:
    def __init__(
        self, expression: Expression, rules: Rules, target: Target | None, address_size: int, nesting: int = 0
    ) -> None:
        self.expression = expression
        self.instructions = expression.instructions
        self.rules = rules
        self.target = target
        self.address_size = address_size
        self.nesting = nesting
        self.found: dict[tuple[int, str], Finding] = {}
        order = expression.form.byte_order
        self.effects = KnownEffects(rules, target, address_size, order, self.report, in_caller=nesting > 0)
        self.seen: list[list[EntryStack]] = [[] for _ in range(len(self.instructions) + 1)]
        self.index_at = {instruction.offset: i for i, instruction in enumerate(self.instructions)}
        self.index_at[expression.end] = len(self.instructions)
        self.trail: _Trail = ()
        self.budget = _BUDGET

    def findings(self, initial_depth: int, wanted: str | None, *, in_cfi: bool = False) -> list[Finding]:
        stack = EMPTY
        for _ in range(initial_depth):
            stack = self.effects.stacks.push(stack, KnownEntry(kinds.ANY))
        for end in self.walk(stack, wanted):
            self.finish(end, wanted)
        self.check_whole(in_cfi=in_cfi)
        return sorted(self.found.values(), key=lambda finding: (finding.offset, finding.severity))

    def report(
        self, severity: ReportedSeverity, kind: str, message: str, at: Instruction | None, spec: str | None = None
    ) -> None:
        """Report a finding at an operation, or at the end; the rule is that of the operation, if no other is given."""
        if severity == "path":  # wrong with the stack on this path; how often a loop is executed is not known
            severity = "warning" if self.trail else "error"
            message += " (after going round a loop)" if self.trail else ""
        offset = self.expression.end if at is None else at.offset
        known = self.found.get((offset, kind))
        if known is None or known.severity > severity:  # an error says more than a warning
            name = None if at is None else at.name
            spec = at.operation.spec if spec is None and at is not None else spec
            self.found[offset, kind] = Finding(severity, kind, message, offset, name, spec)

    # --- Paths ----------------------------------------------------------------------------------------------------

    def walk(self, start: EntryStack, wanted: str | None) -> Iterator[EntryStack]:
        """Follow every path from the first operation, and yield the stacks with which the end is reached."""
        end = len(self.instructions)
        work: list[tuple[int, EntryStack, _Trail, Instruction | None]] = [(0, start, (), None)]
        while work:
            index, stack, self.trail, last = work.pop()
            if index == end:
                self.check_last(stack, last, wanted)
            while self.arrives(index, stack):
                stack = self.seen[index][-1]
                if index == end:
                    yield stack
                    break
                last = self.instructions[index]
                shape = shape_of(last.operation)
                condition = stack.entry.number if shape.inputs else 1
                stack = self.effects.apply(last, shape, stack)
                if shape.branches:
                    target = self.index_at.get(last.target)  # type: ignore[arg-type]
                    if target is not None and condition != 0:
                        work.append((target, *self.followed(last, stack, is_backward=target <= index), last))
                    if condition:
                        break
                index += 1
                if index == end:
                    self.check_last(stack, last, wanted)

    def arrives(self, index: int, stack: EntryStack) -> bool:
        """Record that a path reaches an operation, and return whether its stack is new.

        Of many only the kinds of the entries are known, of too many nothing.
        """
        known = self.seen[index]
        if not known and index < len(self.instructions):
            self.check(self.instructions[index])
        if len(known) >= _MAX_PRECISE:
            stack = self.effects.stacks.plain(stack)
        if stack in known:
            return False
        self.budget -= 1
        if len(known) >= (_MAX_STATES if self.budget > 0 else 1):
            if UNKNOWN in known:
                return False
            stack = UNKNOWN
        known.append(stack)
        return True

    def followed(self, at: Instruction, stack: EntryStack, *, is_backward: bool) -> tuple[EntryStack, _Trail]:
        """Return the stack and the trail after a branch. A stack that has grown in a loop becomes unknown."""
        if stack is UNKNOWN or not is_backward:
            return stack, self.trail
        for branch, depth in self.trail:
            if branch is at and depth < stack.depth:
                message = f"the stack grows by {stack.depth - depth} each time round the loop"
                self.report("warning", "limit_exceeded", message, at, "A.2.5.4.2")
                return UNKNOWN, self.trail
        return stack, ((at, stack.depth), *self.trail[:_MAX_TRAIL])

    def check_last(self, stack: EntryStack, last: Instruction | None, wanted: str | None) -> None:
        """Check that a register is the result of an entry value only where its operation is the last (A.2.5.4.3.4 (8)).

        ``last`` is the operation with which a path comes to the end.
        """
        if wanted != _ENTRY_VALUE or stack.kind != kinds.REGISTER or self.expression.fault is not None:
            return
        if last is not None and last.operation.storage != "register":
            message = f"an entry value may be a register only where DW_OP_reg* is the last operation, not {last.name}"
            self.report("path", "bad_result_kind", message, None, "A.2.5.4.3.4 (8)")

    def finish(self, stack: EntryStack, wanted: str | None) -> None:
        """Check the result of a path that has reached the end (A.2.5.4)."""
        if stack is UNKNOWN or self.expression.fault is not None:
            return
        below = stack
        while below.depth and below.kind != kinds.INCOMPLETE:
            below = below.below
        if 0 < below.depth < stack.depth and self.rules.location_after_pieces == "ill_formed":
            message = "a location after pieces has no piece of its own"
            self.report("path", "bad_piece", message, None, "DWARF 5, 2.6.1.2")
        kind = kinds.COMPOSITE if stack.kind == kinds.INCOMPLETE else stack.kind
        spec, doubt = "A.2.5.4", None
        fits = kind not in kinds.NO_VALUES
        if wanted == "location":
            fits = kind != kinds.TYPED
            doubt = INTEGER_IS_LOCATION if self.rules.value_as_location == "integral" else None
        elif wanted == _ENTRY_VALUE:
            fits = kind == kinds.REGISTER or (fits and kind not in (kinds.MEMORY, kinds.CONTEXT, kinds.LOCATION))
            spec = "A.2.5.4.3.4 (8)"
        elif self.effects.may_be_value(kind):
            fits, doubt = False, ADDRESS_IS_VALUE
        if not fits and wanted is not None:
            message = f"a {wanted} is wanted, the result is {kind}{doubt or ''}"
            self.report("warning" if doubt else "path", "bad_result_kind", message, None, spec)

    # --- What holds for an operation by itself --------------------------------------------------------------------

    def check(self, at: Instruction) -> None:
        """Check an operation that is reached, and what follows it."""
        for operand, value in operands_of(at):
            if operand.name == "S":
                self.check_size(at, operand.kind, value)
            elif operand.kind == "expression":
                self.check_nested(at, value)
            elif operand.kind == "branch":
                self.check_branch(at, "error")
        for number in registers_of(at):
            if self.target is not None and self.target.register(number) is None:
                message = f"{self.target.name} has no register {number}"
                self.report("error", "register_unavailable", message, at, "A.2.5.4.4.4 (2)")
            if at.operation.storage == "memory":  # at the address in the register
                self.effects.check_address(at)
        if at.operation.ends_location and self.rules.location_ends_expression:
            after = self.index_at[at.end]
            for following in self.instructions[after : after + 1]:
                if not following.operation.follows_location:
                    message = f"{at.name} gives a whole location, which only a piece may follow"
                    self.report("error", "after_location", message, following, "DWARF 5, 2.6.1")

    def check_size(self, at: Instruction, kind: str, size: int) -> None:
        names = shape_of(at.operation).names
        if kind == "u1":  # of a value to be read; the size of a type of its own is not known
            if size == 0 or (size > self.address_size and "DR" not in names):
                is_error = size == 0 or self.rules.wide_dereference == "ill_formed"
                message = f"{size} bytes are not a size of a value of at most {self.address_size} bytes"
                self.report("error" if is_error else "warning", "bad_size", message, at)
        elif kind == "uleb":  # of a part
            bits = size * (at.operands[names["C"]] if "C" in names else 8 if len(names) == 1 else 1)
            if "C" in names and bits == 0:
                self.report("error", "bad_operand", "the element size and the count must not be 0", at)
            if bits > self.effects.largest_storage:
                message = f"{bits} bits are more than the largest address space has"
                self.report("error", "bad_piece", message, at)

    def check_nested(self, at: Instruction, block: bytes) -> None:
        """Verify an expression in an expression; its findings have the position of its bytes."""
        if self.nesting == MAX_DEPTH:
            return
        inner = decode(block, self.expression.dialect, self.expression.form)
        walk = _ExpressionWalk(inner, self.rules, self.target, self.address_size, self.nesting + 1)
        for finding in walk.findings(0, _ENTRY_VALUE):
            offset = at.end - len(block) + finding.offset
            self.found[offset, finding.kind] = evolve(finding, offset=offset)

    def check_branch(self, at: Instruction, severity: Literal["error", "warning"]) -> None:
        target, tail = at.target, self.expression.tail
        if target is not None and target not in self.index_at and (tail is None or target < tail):
            message = f"the branch goes to {target:#x}, which is neither the start of an operation nor the end"
            self.report(severity, "bad_branch", message, at, at.operation.spec)

    def check_whole(self, *, in_cfi: bool) -> None:
        """Check what holds for every operation, reached or not, and the expression as a whole."""
        is_reached = True
        for index, at in enumerate(self.instructions):
            row = at.operation
            if in_cfi and row.cfi_obstacle is not None:
                message = f"{at.name} is not allowed in call frame information: {row.cfi_obstacle}"
                self.report("error", "not_allowed_in_cfi", message, at, "A.6.4.2")
            if row.deprecated:
                self.report("warning", "deprecated", f"{at.name} is deprecated", at)
            if not self.seen[index]:
                self.check_branch(at, "warning")
                if is_reached:
                    self.report("warning", "unreachable", "no path reaches this operation", at, "A.2.5.4.2")
            is_reached = bool(self.seen[index])
        fault = self.expression.fault
        if fault is not None:
            severity: Literal["error", "warning"] = "warning" if isinstance(fault, Unsupported) else "error"
            end = self.expression.end
            finding = Finding(severity, fault.kind, fault.message, end, fault.where.operation, fault.spec)
            self.found[end, fault.kind] = finding
        elif not self.seen[-1] and all(finding.kind != "bad_branch" for finding in self.found.values()):
            self.report("error", "limit_exceeded", "no path reaches the end", None, "A.2.5.4.2")


# --- Kinds of results ---------------------------------------------------------------------------------------------


@frozen
class ResultKinds:
    """What an expression for a location may result in, as far as that is known without an evaluation."""

    kinds: frozenset[str]
    """The kinds on the top of the stack at the end, one for each way through; `NOTHING` where the stack is empty."""
    spaces: frozenset[int | None]
    """The address spaces of the locations that are formed with one; None for a space that is computed."""
    parts: frozenset[bool]
    """Whether the parts of composites have a location: some True, some False."""
    is_ill_formed: bool
    """Whether an evaluation fails on some path, or on all of them."""


def result_kinds(expression: Expression, *, rules: Rules, target: Target | None = None) -> ResultKinds:
    """Return which kinds of location an expression may result in; a value that a result may be is not converted."""
    return _ResultWalk(expression, rules, target).results()


class _ResultEffects(KnownEffects):
    """Effects that remember the address spaces of locations, and whether parts have a location."""

    spaces: set[int | None]
    parts: set[bool]

    def apply(self, at: Instruction, shape: Shape, stack: EntryStack) -> EntryStack:
        if stack is not UNKNOWN and shape.row.name in ("DW_OP_piece", "DW_OP_bit_piece"):
            self.parts.add(stack.kind not in (kinds.NOTHING, kinds.INCOMPLETE, kinds.UNDEFINED))
        return super().apply(at, shape, stack)

    def check_entries(self, at: Instruction, shape: Shape, entries: Entries) -> None:
        super().check_entries(at, shape, entries)
        if "AS" in entries and any(kind == "location" for _letter, kind in shape.outputs):
            self.spaces.add(entries["AS"].number)


class _ResultWalk(_ExpressionWalk):
    """The kinds of the results of an expression, without a look at the operands of its operations."""

    effects: _ResultEffects

    def __init__(self, expression: Expression, rules: Rules, target: Target | None) -> None:
        size = expression.form.address_size if target is None else target.address_size
        super().__init__(expression, rules, target, size)
        order = expression.form.byte_order
        self.effects = _ResultEffects(rules, target, size, order, self.report, in_caller=False)
        self.effects.spaces, self.effects.parts = set(), set()

    def check(self, at: Instruction) -> None:
        """Check nothing: what operands say is no matter of kinds."""

    def results(self) -> ResultKinds:
        reached: set[str] = set()
        for last in self.walk(EMPTY, "location"):
            self.finish(last, "location")
            reached.add(
                kinds.ANY if last is UNKNOWN else kinds.COMPOSITE if last.kind == kinds.INCOMPLETE else last.kind
            )
        is_ill_formed = any(finding.severity == "error" for finding in self.found.values()) or not reached
        spaces, parts = frozenset(self.effects.spaces), frozenset(self.effects.parts)
        return ResultKinds(frozenset(reached), spaces, parts, is_ill_formed)
