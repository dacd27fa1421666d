"""A trace: each operation of an evaluation with the stack before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.expr import listing
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.values import Value
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.repairs import Repaired, repairs_of
from dwarfgpu.render.layout import ranges_text, wrapped

if TYPE_CHECKING:
    from typing import TypeAlias

    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.instruction import Expression, Step
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.targets.target import Target

    Entries: TypeAlias = tuple[Entry, ...]

MAX_SHOWN = 16
"""How many entries of a stack are shown, from the top."""
MAX_DIFFERENT = 4
"""How many lanes are shown of an entry that differs from lane to lane."""


@frozen
class _Place:
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
    where: _Place | None = None


class Tracer:
    """Records an evaluation; give `record` to the evaluator.

    With ``sections`` the trace says where each expression is: one that asks for a frame base or a register of
    a caller leads to others.
    """

    def __init__(self, target: Target, *, sections: bool = False) -> None:
        self.target = target
        self.sections = sections
        self.renderer = TextRenderer(target.byte_order)
        self._writer = JsonWriter(target.byte_order)
        self._listings: dict[int, tuple[Expression, dict[int, str]]] = {}
        self._steps: list[_Step] = []
        self._texts: dict[tuple[int, int], str] = {}
        self._documents: dict[tuple[int, int], Any] = {}

    def record(self, ev: Evaluation, expression: Expression, step: Step, before: Entries, after: Entries) -> None:
        lanes = ev.lanes.lane
        slots = () if lanes is None else (lanes,) if isinstance(lanes, int) else tuple(lanes.tolist())
        text = self._text(expression, step)
        where = None
        if self.sections and expression.section:
            where = _Place(expression.section, expression.offset, repairs_of(expression))
        is_made = isinstance(expression, Repaired) and not any(
            step.instruction is instruction for instruction in expression.original.instructions
        )
        offset = None if is_made else step.instruction.offset
        stacks = _top(before), _top(after)
        budget.spend(4 + 16 * sum(len(stack.entries) for stack in stacks))
        self._steps.append(_Step(offset, step.instruction.name, text, slots, *stacks, where))

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
        """Return the trace as lines, one for each operation; a line between them says when other lanes go on.

        With ``longest`` a longer line is wrapped.
        """
        shown: list[str] = []
        width = max((len(step.text) for step in self._steps), default=0)
        slots: tuple[int, ...] | None = None
        where: _Place | None = None
        for step in self._steps:
            if step.where != where:
                where = step.where
                shown.append(_head(where))
            if step.lanes != slots and (slots is not None or len(step.lanes) > 1):
                shown.append(f"lanes {ranges_text(step.lanes)}:")
            slots = step.lanes
            count = len(slots)
            stacks = f"{self._stack(step.before, count)} -> {self._stack(step.after, count)}"
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

    def _stack(self, stack: _Stack, count: int) -> str:
        below = [f"{stack.below} more"] if stack.below else []
        return "[" + ", ".join([*below, *(self._entry(entry, count) for entry in stack.entries)]) + "]"

    def _entry(self, entry: Entry, count: int) -> str:
        """Return an entry as text, which is made once: most entries stay on the stack for many operations."""
        key = id(entry), count
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._of_lanes(entry, count)
        return text

    def _of_lanes(self, entry: Entry, count: int) -> str:
        """Return an entry; if it differs among lanes, the entries of the first few."""
        texts = [self._short(entry.select(slot)) for slot in range(max(count, 1))]
        if all(text == texts[0] for text in texts):
            return texts[0]
        rest = ["..."] if len(texts) > MAX_DIFFERENT else []
        return "<" + " | ".join(texts[:MAX_DIFFERENT] + rest) + ">"

    def _short(self, entry: Entry) -> str:
        """Return an entry; a plain number is a value of the generic type."""
        if isinstance(entry, Value):
            number = self.renderer.number(entry)
            return number if entry.type.is_generic else f"{number} ({entry.type})"
        return self.renderer.entry(entry)

    def documents(self) -> list[dict[str, Any]]:
        """Return the steps as JSON. Entries of several lanes or of many parts are paid from the budget."""
        documents = []
        for step in self._steps:
            before = self._stack_json("before", step.before, len(step.lanes))
            after = self._stack_json("after", step.after, len(step.lanes))
            count = sum(map(_parts_of, before["before"] + after["after"]))
            if count and not budget.take(16 * count):
                break
            head = {"offset": step.offset, "operation": step.operation, "text": step.text, "lanes": list(step.lanes)}
            documents.append({**_where_json(step.where), **head, **before, **after})
        return documents

    def _stack_json(self, name: str, stack: _Stack, count: int) -> dict[str, Any]:
        """Return the entries at the top of a stack, and how many are below if there are more."""
        entries = [self._json(entry, count) for entry in stack.entries]
        return {name: entries} | ({f"below_{name}": stack.below} if stack.below else {})

    def _json(self, entry: Entry, count: int) -> Any:
        """Return an entry as JSON, which is made once."""
        key = id(entry), count
        if key not in self._documents:
            self._documents[key] = self._json_of_lanes(entry, count)
        return self._documents[key]

    def _json_of_lanes(self, entry: Entry, count: int) -> Any:
        """Return an entry, or a list with that of each lane if they differ."""
        forms = [self._writer.entry(entry.select(slot)) for slot in range(max(count, 1))]
        return forms[0] if all(form == forms[0] for form in forms) else forms


def _parts_of(entry: Any) -> int:
    """Return how many parts the JSON of an entry has beyond the first: those of lanes, or of a composite."""
    return len(entry) if isinstance(entry, list) else len(entry.get("parts", ()))


def _head(where: _Place | None) -> str:
    if where is None:
        return "in an expression without a place:"
    names = ", ".join(repair.name for repair in where.repairs)
    return f"in {where}, repaired ({names}):" if names else f"in {where}:"


def _where_json(where: _Place | None) -> dict[str, Any]:
    if where is None:
        return {}
    repairs = {"repairs": [repair.name for repair in where.repairs]} if where.repairs else {}
    return {"expression": str(where), **repairs}
