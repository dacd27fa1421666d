"""Stack operations (A.2.5.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import IllFormed
from dwarfgpu.expr.locations import Entry, IncompleteComposite
from dwarfgpu.expr.table import equivalent, operation, section

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation

section("Stack operations (A.2.5.4.1).")


@operation("DW_OP_dup", "A:any -- A:any A:any", "A.2.5.4.1 (1)")
def dup(_ev: Evaluation, entry: Entry) -> tuple[Entry, Entry]:
    """Duplicate the top entry."""
    return entry, entry


@operation("DW_OP_drop", "A:any --", "A.2.5.4.1 (2)")
def drop(_ev: Evaluation, _entry: Entry) -> None:
    """Discard the top entry."""


@operation("DW_OP_pick", "*", "A.2.5.4.1 (3)", "I:u1")
def pick(ev: Evaluation, index: int) -> None:
    """Push a copy of the entry with index I, counted from the top, which has index 0."""
    if index >= len(ev.stack):
        message = f"the stack has {len(ev.stack)} entries, none with index {index}"
        raise IllFormed("stack_underflow", message, spec="A.2.5.4.1 (3)")
    entry = ev.stack[-1 - index]
    if type(entry) is IncompleteComposite:
        raise IllFormed("incomplete_composite", "a composite cannot be copied before it is complete", spec="A.2.5.4.1")
    ev.stack.append(entry)


equivalent("DW_OP_over", "DW_OP_pick 1", "*", "A.2.5.4.1 (4)")


@operation("DW_OP_swap", "A:any B:any -- B:any A:any", "A.2.5.4.1 (5)")
def swap(_ev: Evaluation, second: Entry, top: Entry) -> tuple[Entry, Entry]:
    """Swap the top two entries."""
    return top, second


@operation("DW_OP_rot", "A:any B:any C:any -- C:any A:any B:any", "A.2.5.4.1 (6)")
def rot(_ev: Evaluation, third: Entry, second: Entry, top: Entry) -> tuple[Entry, Entry, Entry]:
    """Rotate the top three entries: the top becomes the third, the second the top, the third the second."""
    return top, third, second
