"""A trace: each operation of an evaluation with the stack before and after it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.expr import listing
from dwarfgpu.expr.location_json import PRICE_AGAIN, JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.repairs import Repair, as_written, repairs_of
from dwarfgpu.render.layout import ranges_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias, TypeVar

    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.instruction import Expression, Step
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.targets.target import Target

    Entries: TypeAlias = tuple[Entry, ...]
    _Made = TypeVar("_Made")

MAX_SHOWN = 16
"""How many entries of a stack are shown, from the top."""
MAX_DIFFERENT = 4
"""How many lanes are shown of an entry that differs from lane to lane."""
LAST = 8
"""How many operations are shown at the end of a trace that is too long."""
MOST = 1 << 14
"""These operations cost no budget, but one whose cost exceeds this is left out, with those before it."""


@frozen
class _Origin:
    """The place of an expression in a file."""

    section: str
    offset: int
    repairs: tuple[Repair, ...] = ()
    """The repairs that changed it from what the file has."""

    def __str__(self) -> str:
        return f"{self.section}+{self.offset:#x}"


@frozen
class _Stack:
    """The entries at the top of a stack, and how many are below."""

    entries: Entries
    below: int


def _top(entries: Entries) -> _Stack:
    return _Stack(entries[-MAX_SHOWN:], max(0, len(entries) - MAX_SHOWN))


@frozen
class _Step:
    """An operation of the trace."""

    offset: int | None
    """None for an operation that a repair has made, which has no bytes in the file."""
    operation: str
    text: str
    lanes: tuple[int, ...]
    before: _Stack
    after: _Stack
    where: _Origin | None = None


class Tracer:
    """Records an evaluation; ``sections`` adds each expression's section and offset, as one may evaluate others."""

    def __init__(self, target: Target, *, sections: bool = False) -> None:
        self.target = target
        self.sections = sections
        self.renderer = TextRenderer(target.byte_order)
        self._writer = JsonWriter(target.byte_order)
        self._listings: dict[int, tuple[Expression, dict[int, str]]] = {}
        self._steps: list[_Step] = []
        self._last: deque[_Step] = deque(maxlen=LAST)
        """The last of the operations that the budget does not cover."""
        self._uncovered = 0
        self._texts: dict[tuple[int, int], str] = {}
        self._documents: dict[tuple[int, int], tuple[Any, int]] = {}

    def record(self, ev: Evaluation, expression: Expression, step: Step, before: Entries, after: Entries) -> None:
        lanes = ev.lanes.lane
        slots = () if lanes is None else (lanes,) if isinstance(lanes, int) else tuple(lanes.tolist())
        text = self._text(expression, step)
        where = None
        if self.sections and expression.section:
            where = _Origin(expression.section, expression.offset, repairs_of(expression))
        original = as_written(expression)
        is_made = original is not expression and all(step.instruction is not each for each in original.instructions)
        offset = None if is_made else step.instruction.offset
        stacks = _top(before), _top(after)
        recorded = _Step(offset, step.instruction.name, text, slots, *stacks, where)
        if not self._uncovered and budget.take_half(4 + 16 * sum(len(stack.entries) for stack in stacks)):
            self._steps.append(recorded)
        else:
            self._uncovered += 1
            self._last.append(recorded)

    def _shown(self, made: Callable[[_Step], tuple[_Made, int]]) -> Iterator[tuple[_Step, _Made] | int]:
        """Yield each operation with the result of ``made``, and pay its cost from the budget.

        If the budget does not cover all, yield how many operations are left out, and then the last few.
        """
        first = 0
        for step in self._steps:
            result, cost = made(step)
            if not budget.take_half(cost):
                break
            yield step, result
            first += 1
        rest: list[tuple[_Step, _Made]] = []
        for step in reversed([*self._steps[max(first, len(self._steps) - LAST) :], *self._last][-LAST:]):
            result, cost = made(step)
            if cost > MOST:
                break
            rest.insert(0, (step, result))
        left_out = len(self._steps) + self._uncovered - first - len(rest)
        if left_out:
            yield left_out
        yield from rest

    def _text(self, expression: Expression, step: Step) -> str:
        """Return the operation as in a listing, with what it is equivalent to in parentheses."""
        known = self._listings.get(id(expression))
        if known is None:
            # instructions made by a repair have no offsets of their own
            texts = {
                id(instruction): line.text
                for instruction, line in zip(expression.instructions, listing.lines(expression), strict=False)
            }
            known = self._listings[id(expression)] = expression, texts
        text = known[1][id(step.instruction)]
        if step.operation is step.instruction.operation:
            return text
        operands = " ".join(str(operand) for operand in step.operands if operand is not None)
        return f"{text} ({step.operation.name} {operands})" if operands else f"{text} ({step.operation.name})"

    def lines(self, longest: int | None = None) -> list[str]:
        """Return a line per operation, wrapped at ``longest``, and headings where lanes or the expression change."""
        shown: list[str] = []
        width = max((len(step.text) for step in self._steps), default=0)
        slots: tuple[int, ...] | None = None
        where: _Origin | None = None
        for each in self._shown(self._stacks):
            if isinstance(each, int):
                shown += wrapped(left_out(each), longest or len(left_out(each)))
                continue
            step, stacks = each
            if step.where != where:
                where = step.where
                shown.append(_head(where))
            if step.lanes != slots and (slots is not None or len(step.lanes) > 1):
                shown.append(f"lanes {ranges_text(step.lanes)}:")
            slots = step.lanes
            offset = f"{'':6}" if step.offset is None else f"{step.offset:#06x}"
            line = f"{offset}  {step.text:{width}}  {stacks}"
            if longest is None or len(line) <= longest:
                shown.append(line)
                continue
            shown += [
                f"{'' if number else offset:6}  {'  ' * bool(number)}{part}"
                for number, part in enumerate(wrapped(step.text, longest - 10))
            ]
            shown += [f"            {part}" for part in wrapped(stacks, longest - 12)]
        return shown

    def _stacks(self, step: _Step) -> tuple[str, int]:
        """Return the stack before and after an operation, and what the text costs."""
        count = len(step.lanes)
        text = f"{self._stack(step.before, count)} -> {self._stack(step.after, count)}"
        return text, len(text) // 8

    def _stack(self, stack: _Stack, count: int) -> str:
        below = [f"{stack.below} more"] if stack.below else []
        return "[" + ", ".join([*below, *(self._entry(entry, count) for entry in stack.entries)]) + "]"

    def _entry(self, entry: Entry, count: int) -> str:
        """Return an entry as text, which is cached; if lanes differ, the texts of the first few lanes."""
        key = id(entry), count
        if key not in self._texts:
            texts = [self._short(entry.select(slot)) for slot in range(max(count, 1))]
            rest = ["..."] if len(texts) > MAX_DIFFERENT else []
            is_same = all(text == texts[0] for text in texts)
            self._texts[key] = texts[0] if is_same else "<" + " | ".join(texts[:MAX_DIFFERENT] + rest) + ">"
        return self._texts[key]

    def _short(self, entry: Entry) -> str:
        if isinstance(entry, Value):
            number = self.renderer.number(entry)
            return number if entry.type.is_generic else f"{number} ({entry.type})"
        return self.renderer.entry(entry)

    def documents(self) -> list[dict[str, Any]]:
        """Return the steps as JSON; only locations of several lanes or parts are paid from the budget."""
        return [
            {"left_out": each, "message": left_out(each)} if isinstance(each, int) else each[1]
            for each in self._shown(self._document)
        ]

    def _document(self, step: _Step) -> tuple[dict[str, Any], int]:
        """Return an operation as JSON, and what the locations in it cost."""
        head = {"offset": step.offset, "operation": step.operation, "text": step.text, "lanes": list(step.lanes)}
        before, before_cost = self._stack_json("before", step.before, len(step.lanes))
        after, after_cost = self._stack_json("after", step.after, len(step.lanes))
        return {**_where_json(step.where), **head, **before, **after}, before_cost + after_cost

    def _stack_json(self, name: str, stack: _Stack, count: int) -> tuple[dict[str, Any], int]:
        """Return the entries at the top of a stack, how many are below if there are more, and what they cost."""
        entries = [self._json(entry, count) for entry in stack.entries]
        below = {f"below_{name}": stack.below} if stack.below else {}
        return {name: [document for document, _ in entries], **below}, sum(cost for _, cost in entries)

    def _json(self, entry: Entry, count: int) -> tuple[Any, int]:
        """Return an entry as JSON, which is cached (a list if lanes differ), and its cost each time it is shown."""
        key = id(entry), count
        if key not in self._documents:
            before = self._writer.count
            first, *others = (entry.select(slot) for slot in range(max(count, 1)))
            is_same = all(other is first or other == first for other in others)
            document = self._writer.entry(first) if is_same else [self._writer.entry(each) for each in (first, *others)]
            self._documents[key] = document, PRICE_AGAIN * max(self._writer.count - before - 1, 0)
        return self._documents[key]


def left_out(count: int) -> str:
    """Return the line in place of operations that are left out of a trace."""
    return f"... {count} operations are left out: the trace costs more than half of the budget ({budget.HINT})"


def _head(where: _Origin | None) -> str:
    if where is None:
        return "in an expression without a place:"
    names = ", ".join(repair.name for repair in where.repairs)
    return f"in {where}, repaired ({names}):" if names else f"in {where}:"


def _where_json(where: _Origin | None) -> dict[str, Any]:
    if where is None:
        return {}
    repairs = {"repairs": [repair.name for repair in where.repairs]} if where.repairs else {}
    return {"expression": str(where), **repairs}
