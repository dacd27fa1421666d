"""A trace: each operation of an evaluation with the stack before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.expr import listing
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.values import Value
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.repairs import repairs_of
from dwarfgpu.render.layout import ranges_text, wrapped

if TYPE_CHECKING:
    from typing import TypeAlias

    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.instruction import Expression, Step
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.targets.target import Target

    Entries: TypeAlias = tuple[Entry, ...]

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
class _Step:
    """An operation of the trace."""

    offset: int
    operation: str
    text: str
    lanes: tuple[int, ...]
    before: Entries
    after: Entries
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

    def record(self, ev: Evaluation, expression: Expression, step: Step, before: Entries, after: Entries) -> None:
        lanes = ev.lanes.lane
        slots = () if lanes is None else (lanes,) if isinstance(lanes, int) else tuple(lanes.tolist())
        text = self._text(expression, step)
        where = None
        if self.sections and expression.section:
            where = _Place(expression.section, expression.offset, repairs_of(expression))
        self._steps.append(_Step(step.instruction.offset, step.instruction.name, text, slots, before, after, where))

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
            line = f"{step.offset:#06x}  {step.text:{width}}  {stacks}"
            if longest is None or len(line) <= longest:
                shown.append(line)
                continue
            shown += [
                f"{'' if number else f'{step.offset:#06x}':6}  {'  ' * bool(number)}{part}"
                for number, part in enumerate(wrapped(step.text, longest - 10))
            ]
            shown += [f"            {part}" for part in wrapped(stacks, longest - 12)]
        return shown

    def _stack(self, entries: tuple[Entry, ...], count: int) -> str:
        return "[" + ", ".join(self._entry(entry, count) for entry in entries) + "]"

    def _entry(self, entry: Entry, count: int) -> str:
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
        return [
            {
                **_where_json(step.where),
                "offset": step.offset,
                "operation": step.operation,
                "text": step.text,
                "lanes": list(step.lanes),
                "before": [self._json(entry, len(step.lanes)) for entry in step.before],
                "after": [self._json(entry, len(step.lanes)) for entry in step.after],
            }
            for step in self._steps
        ]

    def _json(self, entry: Entry, count: int) -> Any:
        """Return an entry, or a list with that of each lane if they differ."""
        forms = [self._writer.entry(entry.select(slot)) for slot in range(max(count, 1))]
        return forms[0] if all(form == forms[0] for form in forms) else forms


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
