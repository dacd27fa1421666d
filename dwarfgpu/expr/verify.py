"""What is wrong with an expression, found without evaluating it.

The expression is walked along every path with a stack of *kinds* instead of entries, as far as the rows of the table
tell them. A finding of severity ``error`` is certain on some path: an evaluation that goes there fails. A ``warning``
depends on what only an evaluation knows, or is legal but doubtful. Where nothing is known (after a call, or where too
many paths meet) nothing is reported.

A location that the context gives (an object, the CFA, a frame base) is taken to be a byte address in the default
address space, except on a target that has several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attrs import evolve

from dwarfgpu.errors import Unsupported
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.listing import operands_of, registers_of
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.expr.context import ResultKind
    from dwarfgpu.expr.instruction import Expression, Instruction
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.table import Operation
    from dwarfgpu.targets.target import Target

    _Trail: TypeAlias = "tuple[tuple[Instruction, int], ...]"
    """The positions where a path has gone backward, the last first, and the depth of the stack there."""
    Kind: TypeAlias = "str | int"
    """The kind of an entry: one of the following, or the number of a literal of the generic type."""


MAX_DEPTH = 48
"""How deep expressions in expressions are verified; no evaluation nests deeper (`Limits.nesting`)."""

_MAX_STATES = 32  # so many stacks are followed from one operation; then what is on the stack there is unknown
_MAX_TRAIL = 64  # the number of steps backward on a path that are searched for a loop
_BUDGET = 100_000  # after so many steps only one stack is followed


@frozen
class Finding:
    """Something wrong or doubtful in an expression."""

    severity: str
    """``error`` or ``warning``."""
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
    """
    size = expression.form.address_size if target is None else target.address_size
    walk = _ExpressionWalk(expression, rules, target, address_size or size)
    return walk.findings(initial_depth, result_kind, in_cfi=in_cfi)


class _ExpressionWalk:
    """The verification of an expression."""

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
        self.shapes: dict[str, Shape] = {}
        self.stacks: dict[tuple[Kind, KindStack], KindStack] = {}
        self.seen: list[list[KindStack]] = [[] for _ in range(len(self.instructions) + 1)]
        self.index_at = {instruction.offset: i for i, instruction in enumerate(self.instructions)}
        self.index_at[expression.end] = len(self.instructions)
        self.trail: _Trail = ()
        self.budget = _BUDGET

    def findings(self, initial_depth: int, wanted: str | None, *, in_cfi: bool = False) -> list[Finding]:
        stack = EMPTY
        for _ in range(initial_depth):
            stack = self.push(stack, ANY)
        for last in self.walk(stack):
            self.finish(last, wanted)
        self.check_whole(in_cfi=in_cfi)
        return sorted(self.found.values(), key=lambda finding: (finding.offset, finding.severity))

    def report(self, severity: str, kind: str, message: str, at: Instruction | None, spec: str | None = None) -> None:
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

    def walk(self, start: KindStack) -> Iterator[KindStack]:
        """Follow every path from the first operation, and yield the stacks with which the end is reached."""
        work: list[tuple[int, KindStack, _Trail]] = [(0, start, ())]
        while work:
            index, stack, self.trail = work.pop()
            while self.arrives(index, stack):
                stack = self.seen[index][-1]
                if index == len(self.instructions):
                    yield stack
                    break
                instruction = self.instructions[index]
                shape = self.shape(instruction.operation)
                condition = stack.kind if shape.inputs else 1
                stack = self.apply(instruction, shape, stack)
                if shape.branches:
                    target = self.index_at.get(instruction.target)  # type: ignore[arg-type]
                    if target is not None and condition != 0:
                        work.append((target, *self.followed(instruction, stack, is_backward=target <= index)))
                    if isinstance(condition, int) and condition:
                        break
                index += 1

    def arrives(self, index: int, stack: KindStack) -> bool:
        """Record that a path reaches an operation, and return whether its stack is new. Too many become unknown."""
        known = self.seen[index]
        if not known and index < len(self.instructions):
            self.check(self.instructions[index])
        if stack in known:
            return False
        self.budget -= 1
        if len(known) >= (_MAX_STATES if self.budget > 0 else 1):
            if UNKNOWN in known:
                return False
            stack = UNKNOWN
        known.append(stack)
        return True

    def followed(self, at: Instruction, stack: KindStack, *, is_backward: bool) -> tuple[KindStack, _Trail]:
        """Return the stack and the trail after a branch. A stack that has grown in a loop becomes unknown."""
        if stack is UNKNOWN or not is_backward:
            return stack, self.trail
        for branch, depth in self.trail:
            if branch is at and depth < stack.depth:
                message = f"the stack grows by {stack.depth - depth} each time round the loop"
                self.report("warning", "limit_exceeded", message, at, "A.2.5.4.2")
                return UNKNOWN, self.trail
        return stack, ((at, stack.depth), *self.trail[:_MAX_TRAIL])

    def finish(self, stack: KindStack, wanted: str | None) -> None:
        """Check the result of a path that has reached the end (A.2.5.4)."""
        if stack is UNKNOWN or self.expression.fault is not None:
            return
        below = stack
        while below.depth and below.kind != INCOMPLETE:
            below = below.below
        if 0 < below.depth < stack.depth and self.rules.location_after_pieces == "ill_formed":
            message = "a location after pieces has no piece of its own"
            self.report("path", "bad_piece", message, None, "DWARF 5, 2.6.1.2")
        kind = COMPOSITE if stack.kind == INCOMPLETE else stack.kind
        fits = isinstance(kind, int) or kind not in NO_VALUES
        if wanted == "location":
            fits = kind != TYPED or self.rules.value_as_location == "integral"
        elif wanted == "value or register":  # what an entry value may be (A.2.5.4.3.4 (8))
            fits = kind == REGISTER or (fits and kind not in (MEMORY, CONTEXT, LOCATION))
        if not fits and wanted is not None:
            message = f"a {wanted} is wanted, the result is {kind}"
            self.report("path", "bad_result_kind", message, None, "A.2.5.4")

    # --- What operations do to the stack --------------------------------------------------------------------------

    def push(self, stack: KindStack, kind: Kind) -> KindStack:
        return self.stacks.setdefault((kind, stack), KindStack(kind, stack))

    def shape(self, row: Operation) -> Shape:
        shape = self.shapes.get(row.name)
        if shape is None:
            shape = self.shapes[row.name] = Shape(row)
        return shape

    def apply(self, at: Instruction, shape: Shape, stack: KindStack) -> KindStack:
        """Return the stack after an operation; an error does not change it."""
        if stack is UNKNOWN:
            return stack
        if shape.row.is_raw:
            function = _RAW.get(shape.row.name)
            return UNKNOWN if function is None else function(self, at, stack)
        if stack.depth < len(shape.inputs):
            return self.underflow(at, len(shape.inputs), stack)
        entries: dict[str, Kind] = {}
        for letter, wanted in reversed(shape.inputs):
            entries[letter] = self.taken(at, stack.kind, wanted)
            stack = stack.below
        self.check_entries(at, shape, entries)
        for letter, kind in shape.outputs:
            if kind == "any":
                pushed = entries[letter]
            elif kind == "location":
                pushed = shape.location(entries, self.target)
            else:
                pushed = shape.value(at, entries, self.address_size)
            stack = self.push(stack, pushed)
        return stack

    def underflow(self, at: Instruction, needed: int, stack: KindStack) -> KindStack:
        message = f"{at.name} needs {needed} stack entries, there are {stack.depth}"
        self.report("path", "stack_underflow", message, at)
        return UNKNOWN

    def taken(self, at: Instruction, kind: Kind, wanted: str) -> Kind:
        """Convert the kind of an entry to the one that an operation needs (A.2.5.4.4.3)."""
        if kind == INCOMPLETE:
            message = f"{at.name} cannot use a composite before it is complete"
            self.report("path", "incomplete_composite", message, at, "A.2.5.4.4.6")
            return ANY
        if wanted == "any":
            return kind
        return self.as_location(at, kind) if wanted == "location" else self.as_value(at, kind)

    def as_value(self, at: Instruction, kind: Kind) -> Kind:
        if isinstance(kind, int) or kind in VALUES:
            return kind
        has_spaces = self.target is not None and len(self.target.address_spaces) > 1
        message = f"{at.name} needs a value, found {kind}"
        if kind in NO_VALUES:
            self.report("path", "wrong_kind", message, at, "A.2.5.4.4.3")
        elif kind == LOCATION or (kind == CONTEXT and has_spaces):
            message += ", which is one only if it is a byte address in the default address space"
            self.report("warning", "wrong_kind", message, at, "A.2.5.4.4.3")
        return VALUE if kind in (ANY, *NO_VALUES) else GENERIC

    def as_location(self, at: Instruction, kind: Kind) -> Kind:
        message = f"{at.name} needs a location, found {kind}"
        if kind == TYPED and self.rules.value_as_location == "generic":
            self.report("path", "wrong_kind", message, at, "A.2.5.4.4.3")
        elif kind == TYPED:
            message += ", which is one only if its type is integral"
            self.report("warning", "wrong_kind", message, at, "DWARF 6 (230524.1)")
        if isinstance(kind, int):
            return MEMORY
        # a value may be a pointer that was optimised away, which becomes what it points to
        return LOCATION if kind in (ANY, *VALUES) else kind

    def check_entries(self, at: Instruction, shape: Shape, entries: dict[str, Kind]) -> None:
        """Check what an operation requires of entries besides their kind."""
        space = entries.get("AS")
        if isinstance(space, int) and self.target is not None and self.target.space(space) is None:
            message = f"{space} is not an address space of {self.target.name}"
            self.report("path", "bad_address_space", message, at)
        types = {GENERIC if isinstance(kind, int) else kind for kind in entries.values()}
        is_strict = self.rules.mixed_operands == "ill_formed"
        if is_strict and types == {TYPED, GENERIC} and shape.outputs and shape.outputs[0][0] == "R":
            message = f"both operands must have the same type, found {TYPED} and {GENERIC}"
            self.report("path", "type_mismatch", message, at)
        mask, bits = entries.get("M"), 8 * self.address_size
        if (mask == GENERIC or isinstance(mask, int)) and bits < at.operands[shape.names["C"]]:
            self.report("path", "bad_size", f"the mask has {bits} bits, less than the count", at)

    # --- Operations whose functions look at the stack themselves --------------------------------------------------

    def pick(self, at: Instruction, stack: KindStack) -> KindStack:
        index: int = at.operands[0] if at.operands else 1  # DW_OP_over
        if index >= stack.depth:
            return self.underflow(at, index + 1, stack)
        entry = stack
        for _ in range(index):
            entry = entry.below
        return self.push(stack, self.taken(at, entry.kind, "any"))

    def stack_value(self, at: Instruction, stack: KindStack) -> KindStack:
        if not stack.depth:
            return self.underflow(at, 1, stack)
        self.taken(at, stack.kind, "value")
        return self.push(stack.below, IMPLICIT)

    def piece(self, at: Instruction, stack: KindStack) -> KindStack:
        if not self.rules.incomplete_composites:
            return self.piece_dwarf6(at, stack)
        if stack.depth and stack.kind != INCOMPLETE:  # else a part without a location
            self.taken(at, stack.kind, "location")
            stack = stack.below
        return stack if stack.kind == INCOMPLETE else self.push(stack, INCOMPLETE)

    def piece_dwarf6(self, at: Instruction, stack: KindStack) -> KindStack:
        if stack.depth > 1 and stack.below.kind not in MAY_BE_COMPOSITE:
            message = f"a piece needs a composite below its operand, or nothing; found {stack.below.kind}"
            self.report("path", "bad_piece", message, at, "DWARF 6 (230524.1), 3.12")
            return UNKNOWN
        if stack.depth:
            self.taken(at, stack.kind, "location")
        return self.push(stack.below.below, COMPOSITE)

    def piece_end(self, at: Instruction, stack: KindStack) -> KindStack:
        if not stack.depth:
            return self.underflow(at, 1, stack)
        if stack.kind != INCOMPLETE:  # in DWARF 6 every composite is complete, and accepted at its start
            may_be = not self.rules.incomplete_composites and stack.kind in MAY_BE_COMPOSITE
            message = f"a composite under construction is needed, found {stack.kind}"
            self.report("warning" if may_be else "path", "wrong_kind", message, at)
        return self.push(stack.below, COMPOSITE)

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
                self.report("error", "register_unavailable", message, at)
        if at.operation.ends_location and self.rules.location_ends_expression:
            after = self.index_at[at.end]
            for following in self.instructions[after : after + 1]:
                if not following.operation.follows_location:
                    message = f"{at.name} gives a whole location, which only a piece may follow"
                    self.report("error", "after_location", message, following, "DWARF 5, 2.6.1")

    def check_size(self, at: Instruction, kind: str, size: int) -> None:
        names = self.shape(at.operation).names
        if kind == "u1":  # of a value to be read; the size of a type of its own is not known
            if size == 0 or (size > self.address_size and "DR" not in names):
                is_error = size == 0 or self.rules.wide_dereference == "ill_formed"
                message = f"{size} bytes are not a size of a value of at most {self.address_size} bytes"
                self.report("error" if is_error else "warning", "bad_size", message, at)
        elif kind == "uleb":  # of a part
            bits = size * (at.operands[names["C"]] if "C" in names else 8 if len(names) == 1 else 1)
            if "C" in names and bits == 0:
                self.report("error", "bad_operand", "the element size and the count must not be 0", at)
            limit = 8 << 8 * self.address_size if self.target is None else self.target.max_storage_bits()
            if bits > limit:
                message = f"{bits} bits are more than the largest address space has"
                self.report("error", "bad_piece", message, at)

    def check_nested(self, at: Instruction, block: bytes) -> None:
        """Verify an expression in an expression; its findings have the position of its bytes."""
        if self.nesting == MAX_DEPTH:
            return
        inner = decode(block, self.expression.dialect, self.expression.form)
        walk = _ExpressionWalk(inner, self.rules, self.target, self.address_size, self.nesting + 1)
        for finding in walk.findings(0, "value or register"):
            offset = at.end - len(block) + finding.offset
            self.found[offset, finding.kind] = evolve(finding, offset=offset)

    def check_branch(self, at: Instruction, severity: str) -> None:
        target, tail = at.target, self.expression.tail
        if target is not None and target not in self.index_at and (tail is None or target < tail):
            message = f"the branch goes to {target:#x}, which is neither the start of an operation nor the end"
            self.report(severity, "bad_branch", message, at, "A.2.5.4.2 (3)")

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
            severity = "warning" if isinstance(fault, Unsupported) else "error"
            end = self.expression.end
            finding = Finding(severity, fault.kind, fault.message, end, fault.where.operation, fault.spec)
            self.found[end, fault.kind] = finding
        elif not self.seen[-1] and all(finding.kind != "bad_branch" for finding in self.found.values()):
            self.report("error", "limit_exceeded", "no path reaches the end", None, "A.2.5.4.2")


class _ResultWalk(_ExpressionWalk):
    """The kinds of the results of an expression, without a look at the operands of its operations."""

    def __init__(self, expression: Expression, rules: Rules, target: Target | None) -> None:
        size = expression.form.address_size if target is None else target.address_size
        super().__init__(expression, rules, target, size)
        self.spaces: set[int | None] = set()
        self.parts: set[bool] = set()

    def apply(self, at: Instruction, shape: Shape, stack: KindStack) -> KindStack:
        if stack is not UNKNOWN and shape.row.name in ("DW_OP_piece", "DW_OP_bit_piece"):
            self.parts.add(stack.kind not in (NOTHING, INCOMPLETE, UNDEFINED))
        return super().apply(at, shape, stack)

    def check(self, at: Instruction) -> None:
        """Check nothing: what operands say is no matter of kinds."""

    def check_entries(self, at: Instruction, shape: Shape, entries: dict[str, Kind]) -> None:
        super().check_entries(at, shape, entries)
        if "AS" in entries and any(kind == "location" for _letter, kind in shape.outputs):
            space = entries["AS"]
            self.spaces.add(space if isinstance(space, int) else None)

    def results(self) -> ResultKinds:
        kinds: set[Kind] = set()
        for last in self.walk(EMPTY):
            self.finish(last, "location")
            kinds.add(ANY if last is UNKNOWN else COMPOSITE if last.kind == INCOMPLETE else last.kind)
        is_ill_formed = any(finding.severity == "error" for finding in self.found.values()) or not kinds
        return ResultKinds(frozenset(kinds), frozenset(self.spaces), frozenset(self.parts), is_ill_formed)


@frozen
class ResultKinds:
    """What an expression for a location may result in, as far as that is known without an evaluation."""

    kinds: frozenset[Kind]
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


_RAW = {  # the effect of any other raw operation is not known
    "DW_OP_pick": _ExpressionWalk.pick,
    "DW_OP_over": _ExpressionWalk.pick,
    "DW_OP_piece": _ExpressionWalk.piece,
    "DW_OP_bit_piece": _ExpressionWalk.piece,
    "DW_OP_LLVM_piece_end": _ExpressionWalk.piece_end,
    "DW_OP_stack_value": _ExpressionWalk.stack_value,
}


# --- The kinds of stack entries as far as they are known without an evaluation ------------------------

GENERIC = "a value of the generic type"
TYPED = "a value of a base type"
VALUE = "a value"
MEMORY = "a memory location"  # a byte address in the default space, which is a value too (A.2.5.4.4.3)
ELSEWHERE = "a memory location in another address space"
CONTEXT = "a location that the context gives"
REGISTER = "a register location"
IMPLICIT = "an implicit location"
UNDEFINED = "an undefined location"
COMPOSITE = "a composite location"
LOCATION = "a location"
INCOMPLETE = "an incomplete composite"
ANY = "an entry"
NOTHING = "nothing"

VALUES = frozenset((GENERIC, TYPED, VALUE))
NO_VALUES = frozenset((ELSEWHERE, REGISTER, IMPLICIT, UNDEFINED, COMPOSITE, NOTHING))
MAY_BE_COMPOSITE = frozenset((COMPOSITE, LOCATION, CONTEXT, ANY))
# The storage of the locations that the operations of section A.2.5.4.4.<n> push.
_STORAGES = {"2": UNDEFINED, "4": REGISTER, "5": IMPLICIT, "6": COMPOSITE}


class KindStack:
    """The kind of an entry and of all below it. Equal stacks are one object, so they are compared by identity."""

    __slots__ = ("below", "depth", "kind")

    def __init__(self, kind: Kind, below: KindStack | None = None) -> None:
        self.kind = kind
        self.below: KindStack = self if below is None else below
        self.depth: int = 0 if below is None else below.depth + 1


EMPTY = KindStack(NOTHING)
UNKNOWN = KindStack(NOTHING)  # stays what it is, whatever an operation does to it


class Shape:
    """The effect of an operation on the stack, parsed once from its row."""

    __slots__ = ("branches", "inputs", "is_literal", "names", "outputs", "row")

    def __init__(self, row: Operation) -> None:
        self.row = row
        taken, _, pushed = row.effect.partition("--")
        self.inputs = [item.split(":") for item in taken.split()] if not row.is_raw else []
        self.outputs = [item.split(":") for item in pushed.split()]
        self.names = {operand.name: index for index, operand in enumerate(row.operands)}
        self.branches = any(operand.kind == "branch" for operand in row.operands)
        numbers = len(row.fixed) + len(row.operands)
        self.is_literal = row.effect == "-- V:value" and not row.needs and numbers == 1
        if any(letter == "AS" for letter, _ in self.inputs):  # an address is a value, as its function sees to
            self.inputs = [[letter, "integral"] for letter, _ in self.inputs]

    def value(self, at: Instruction, entries: dict[str, Kind], address_size: int) -> Kind:
        """Return the kind of a value that an operation pushes, as far as it is known."""
        row = self.row
        if self.is_literal:
            return int((*row.fixed, *at.operands)[0]) & (1 << 8 * address_size) - 1
        if "DR" in self.names:
            index = self.names["DR"]
            if row.operands[index].kind != "uleb":  # an object, not a type
                return VALUE
            return GENERIC if at.operands[index] == 0 and "A" in entries else TYPED  # DWARF 5, 2.5.1.6
        if "frame" in row.needs:
            return VALUE
        if row.spec == "A.2.5.4.2 (2)":  # a comparison
            return GENERIC
        return next((kind for kind in (TYPED, VALUE) if kind in entries.values()), GENERIC)

    def location(self, entries: dict[str, Kind], target: Target | None) -> Kind:
        """Return the kind of a location that an operation pushes, as far as it is known."""
        row = self.row
        section = row.spec.partition(" ")[0].removeprefix("A.2.5.4.4.")
        if "BL" in entries:  # an overlay may cover all of the base, or nothing of it
            return LOCATION
        if section in _STORAGES:
            return _STORAGES[section]
        if "AS" in entries:
            default = 0 if target is None else target.default_space.number
            space = entries["AS"]
            return (MEMORY if space == default else ELSEWHERE) if isinstance(space, int) else LOCATION
        if "L" in entries:  # moved by bytes, or by bits
            bits = entries.get("B", 0) if row.spec == "A.2.5.4.4.1 (3)" else 0
            stays = isinstance(bits, int) and bits % 8 == 0
            return entries["L"] if stays or entries["L"] not in (MEMORY, CONTEXT) else LOCATION
        if row.fixed or "R" in self.names:
            return MEMORY if section == "3" else LOCATION
        if row.needs - {"unit"}:
            return CONTEXT
        return MEMORY if row.operands else LOCATION
