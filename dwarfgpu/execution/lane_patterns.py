"""What the numbers of lanes have in common, so that not each lane has to be asked.

**Rows** are columns whose numbers grow by the same step from lane to lane and from wave to wave, as indices of arrays
and their addresses do. A batch keeps which of its latest columns are rows, as columns never change: the sum of a row
and a number of all lanes is one again.

**Places in local memory** are used again and again where tiles are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dwarfgpu.execution.batch import WaveBatch, as_written
from dwarfgpu.execution.device_memory import first_of_row
from dwarfgpu.isa.semantics import functions
from dwarfgpu.isa.semantics.numbers import LOW
from dwarfgpu.isa.semantics.rows import MEANINGS

Lanes = Any
NO_LANES = np.zeros((1, 1), bool)
NO_LANES.setflags(write=False)
KEPT = 4
"""The rows that a batch keeps."""


# --- Rows ---------------------------------------------------------------------------------------------------------


def keep_row(batch: WaveBatch, column: Lanes, first: int, step: int) -> None:
    """Remember that a column is a row."""
    batch.rows = [*batch.rows[1 - KEPT :], (column, first, step)]


def known_row(batch: WaveBatch, column: Lanes) -> tuple[int, int] | None:
    """Return the first number and the step of a column that is known to be a row."""
    for row, first, step in batch.rows:
        if row is column:
            return first, step
    return None


def start_of_row(batch: WaveBatch, column: Lanes, step: int) -> int | None:
    """Return the first number of a column that is a row with a step; None for others."""
    known = known_row(batch, column)
    if known is None and (first := first_of_row(column, step)) is not None:
        keep_row(batch, column, first, step)
        return first
    return known[0] if known is not None and known[1] == step else None


def shifted_index(batch: WaveBatch, count: Lanes, low: Lanes, high: Lanes) -> Lanes:
    """Return the lower words of numbers shifted left, if the upper words of all are 0 before and after it; else None.

    So indices of arrays become distances in bytes, where the words together would cost many times as much.
    """
    if low.size < functions.MANY or high.size > 1 or count.size > 1 or high[0, 0]:
        return None
    places = int(count[0, 0]) & 63
    first = first_of_row(low, 1) if low.shape == (batch.count, batch.lanes) else None
    highest = int(low.max()) if first is None else first + low.size - 1
    if highest << places > LOW:
        return None
    shifted = low << places
    if first is not None:
        keep_row(batch, shifted, first << places, 1 << places)
    return shifted


def added_to_row(batch: WaveBatch, number: Lanes, column: Lanes, add: Any) -> tuple[Lanes, Lanes]:
    """Return the sums of a number and a column, and flags of the lanes with a carry, as an operation does that adds.

    Those of a row are a row, in which no lane has a carry if the last one has none.
    """
    known = known_row(batch, column) if number.size == 1 else None
    if known is not None:
        first, step = known[0] + int(number[0, 0]), known[1]
        if first + step * (column.size - 1) <= LOW:
            total = number + column
            keep_row(batch, total, first, step)
            return total, NO_LANES
    sums: tuple[Lanes, Lanes] = add(number, column)
    return sums


# --- Signs and carries --------------------------------------------------------------------------------------------

_NO_SIGN = np.zeros((1, 1), np.int32)
_NO_SIGN.setflags(write=False)
_WITHOUT_CARRY = {
    "v_addc_co_u32": "v_add_co_u32", "v_add_co_ci_u32": "v_add_co_u32",
    "v_subb_co_u32": "v_sub_co_u32", "v_sub_co_ci_u32": "v_sub_co_u32",
    "v_subbrev_co_u32": "v_subrev_co_u32", "v_subrev_co_ci_u32": "v_subrev_co_u32",
}  # fmt: skip
"""Operations that read a carry, and those that do the same without."""


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return an operation of the table of meanings, where it pays in a form that looks at all lanes first."""
    function = MEANINGS[name].function
    if MEANINGS[name].formula.text == "D = S0":
        return as_written
    if name == "v_ashrrev_i32":  # of the signs of indices, which are extended to 64 bits
        return lambda count, value: _NO_SIGN if _has_no_sign(count, value) else function(count, value)
    if name in _WITHOUT_CARRY:  # of the upper words of addresses, 64 waves: 1.8 times as fast
        plain = MEANINGS[_WITHOUT_CARRY[name]].function
        return lambda left, right, carry: function(left, right, carry) if carry.any() else plain(left, right)
    return function


def _has_no_sign(count: Lanes, value: Lanes) -> bool:
    """Return whether a shift leaves only signs, and many numbers have none."""
    return value.size >= functions.MANY and count.size == 1 and count[0, 0] & 31 == 31 and bool(value.min() >= 0)
