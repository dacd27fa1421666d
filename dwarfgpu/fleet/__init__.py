"""Many dumps, many builds, many machines: one question about each of many inputs, answered by the workers of Dask.

- `answers`: a question about one input, and the rows of its answer
- `inputs`: folders, patterns, lists and URLs, as inputs
- `remote_files`: files of other machines, copied when they are opened
- `parts`: the folder of answers, and who works on what
- `cluster`: batches, workers and what happens when one dies
- `summary`: all answers at a glance
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dask.bag import Bag

    from dwarfgpu.fleet.answers import Question, Row
    from dwarfgpu.fleet.inputs import Input

BATCH = 32
"""How many inputs one task of `ask` has, if nothing else is said."""


def ask(
    question: str, inputs: Iterable[str] | str, *words: str, code: str | None = None, batch: int = BATCH, **options: Any
) -> Bag:
    """Return a Dask bag of the rows that the answers for all inputs have, one a lane run; nothing is asked yet.

    ``ask("eval", "dumps/", "rank", lane="all")`` is ``dwarfgpu fleet "eval rank --lane all" dumps/``.
    """
    from dwarfgpu.fleet.answers import make_question
    from dwarfgpu.fleet.cluster import needs_extra
    from dwarfgpu.fleet.inputs import find_inputs

    needs_extra()
    import dask.bag
    from dask.delayed import delayed

    asked = make_question(question, *words, **options)
    found = find_inputs([inputs] if isinstance(inputs, str) else inputs, code)
    size = max(1, batch)
    parts = [tuple(found[start : start + size]) for start in range(0, len(found), size)]
    return dask.bag.from_delayed([delayed(_rows, pure=False)(asked, items) for items in parts])


def _rows(question: Question, items: tuple[Input, ...]) -> list[Row]:
    """Return the rows of some inputs; it runs in a worker."""
    from dwarfgpu.fleet.answers import COLUMNS, rows_of
    from dwarfgpu.fleet.cluster import one_at_a_time
    from dwarfgpu.fleet.inputs import fetched

    rows: list[Row] = []
    with one_at_a_time:
        for item in items:
            with fetched(item) as here:
                for row in rows_of(question, here):
                    row["input"] = item.name
                    rows.append({name: row.get(name) for name in COLUMNS})
    return rows
