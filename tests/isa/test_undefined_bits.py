"""Undefined bits of results against brute force: bits that other values of undefined bits change must be undefined."""

from functools import cache

import numpy as np
import pytest

from dwarfgpu.isa.formulas import FLAG, bits_of
from dwarfgpu.isa.semantics.rows import MEANINGS
from dwarfgpu.isa.semantics.undefined_bits import undefined_results

COUNT, TRIES = 64, 40
EXACT = "v_and_b32", "v_or_b32", "v_xor_b32", "v_cndmask_b32", "v_add_u32", "v_sub_u32", "v_cmp_lt_i32"
"""Operations of which only those bits are undefined that can change."""


def numpy_kind(kind):
    return np.dtype(bool if kind == FLAG else f"{kind[0]}{bits_of(kind) // 8}")


def unsigned_kind(kind):
    return np.dtype(bool if kind == FLAG else f"u{bits_of(kind) // 8}")


def random_bits(random, kind):
    """Numbers of a type: any bits, small ones, and ones of few bits."""
    if kind == FLAG:
        return random.integers(0, 2, (1, COUNT)).astype(bool)
    whole = random.integers(0, 1 << 64, (1, COUNT), dtype=np.uint64)
    whole = np.where(random.integers(0, 3, (1, COUNT)) == 0, whole & np.uint64(0x1F001F), whole)
    return whole.astype(unsigned_kind(kind))


def random_undefined(random, kind, share):
    if kind == FLAG:
        return random.random((1, COUNT)) < share
    size = bits_of(kind)
    flags = random.random((size, 1, COUNT)) < 3 * share / size
    bits = sum(flag.astype(np.uint64) << np.uint64(bit) for bit, flag in enumerate(flags))
    bits = np.where(random.random((1, COUNT)) < 0.4, 0, bits)
    return np.where(random.random((1, COUNT)) < 0.05, np.uint64((1 << size) - 1), bits).astype(unsigned_kind(kind))


def results_of(meaning, kinds, values):
    """The results as unsigned columns, SCC for ``nonzero`` among them."""
    formula = meaning.formula
    if meaning.unit == "scalar" and meaning.sources[0][0] == "b":
        rows = []
        for lane in range(COUNT):
            found = meaning.function(*(int(value[0, lane]) for value in values))
            rows.append(found if isinstance(found, tuple) else (found,))
        found = [np.array([column], np.uint64) for column in zip(*rows, strict=True)]
    else:
        typed = [
            value if kind == FLAG else value.view(numpy_kind(kind)) for kind, value in zip(kinds, values, strict=True)
        ]
        found = meaning.function(*typed)
        found = [np.broadcast_to(each, (1, COUNT)) for each in (found if isinstance(found, tuple) else (found,))]
    targets = [formula.type_of(kind) for kind in meaning.results if kind != "nonzero"]
    columns = []
    for kind, column in zip(targets, found, strict=True):
        wanted = unsigned_kind(kind)
        is_viewed = column.dtype.itemsize == wanted.itemsize and kind != FLAG
        columns.append(np.ascontiguousarray(column).view(wanted) if is_viewed else column.astype(wanted))
    if "nonzero" in meaning.results:
        columns.append(columns[0] != 0)
    return columns


@cache
def looked_at(name, seed):
    """What other values of undefined bits change, and which bits are undefined."""
    random = np.random.default_rng(seed)
    meaning = MEANINGS[name]
    formula = meaning.formula
    kinds = [formula.type_of(kind) for kind in meaning.sources]
    values = [random_bits(random, kind) for kind in kinds]
    undefined = [random_undefined(random, kind, 0.3) for kind in kinds]
    typed = [value if kind == FLAG else value.view(numpy_kind(kind)) for kind, value in zip(kinds, values, strict=True)]
    with np.errstate(all="ignore"):
        found = undefined_results(formula, typed, undefined)
        before = results_of(meaning, kinds, values)
        changed = [np.zeros_like(column) for column in before]
        for number in range(TRIES):
            flips = [part & random_bits(random, kind) if number else part
                     for kind, part in zip(kinds, undefined, strict=True)]  # fmt: skip
            after = results_of(meaning, kinds, [value ^ flip for value, flip in zip(values, flips, strict=True)])
            changed = [old | (left ^ right) for old, left, right in zip(changed, before, after, strict=True)]
    return changed, [np.broadcast_to(each, (1, COUNT)) for each in found]


@pytest.mark.parametrize("unit", ["scalar", "vector"])
@pytest.mark.sampled(4)
def test_each_bit_that_can_change_is_undefined(unit):
    wrong = {}
    for number, name in enumerate(MEANINGS):
        if MEANINGS[name].unit != unit:
            continue
        changed, found = looked_at(name, number)
        for which, (can, tells) in enumerate(zip(changed, found, strict=True)):
            assert tells.dtype == can.dtype, (name, which, tells.dtype, can.dtype)
            if (missed := can & ~tells).any():
                lane = int(np.flatnonzero(missed)[0])
                wrong[name] = which, lane, hex(int(missed[0, lane]))
    assert wrong == {}


def ones(columns):
    return sum(int(number).bit_count() for column in columns for number in column.reshape(-1).tolist())


@pytest.mark.slow
def test_few_bits_are_undefined_that_cannot_change():
    exact = {name: looked_at(name, 7) for name in EXACT}
    assert {name: [*map(ones, pair)] for name, pair in exact.items() if ones(pair[0]) != ones(pair[1])} == {}
    pairs = [looked_at(name, number) for number, name in enumerate(MEANINGS)]
    can, tells = (sum(map(ones, column)) for column in zip(*pairs, strict=True))
    assert can < tells < 3.5 * can, tells / can
