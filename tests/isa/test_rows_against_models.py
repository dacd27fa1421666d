"""Each row of meanings against a model that does not come from it, and that no row is without one."""

import random

import numpy as np
import pytest

from dwarfgpu.isa.semantics.rows import MEANINGS
from tests.builders import float_models, integer_models
from tests.builders.parameters import in_one_test

MODELS = integer_models.MODELS | float_models.MODELS
ROUNDS = 120
INTEGERS = (0, 1, 2, 7, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            0x200005, 0x110010, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -7.75, 255.5, 65504.0, 1e5, -3e9, 5e-8, 1e-40, 3e38,
          -1e30, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"))  # fmt: skip


def size_of(kind, row):
    if kind in ("mask", "vcc", "scc"):
        return 1
    return int(row.sources[0][1:]) if kind == "exec" else int(kind[1:])


def some(kind, row, numbers):
    """Return the bits of a number: an edge, one of a usual size, or anything."""
    size = size_of(kind, row)
    choice = numbers.random()
    if kind[0] == "f":
        if choice < 0.35:
            with np.errstate(all="ignore"):
                return int(np.array(numbers.choice(FLOATS)).astype(f"f{size // 8}").view(f"u{size // 8}"))
        if choice < 0.75:
            value = numbers.gauss(0, 1) * 2.0 ** numbers.randint(-12, 12)
            return int(np.array(value).astype(f"f{size // 8}").view(f"u{size // 8}"))
        return numbers.getrandbits(size)
    if choice < 0.5:
        return numbers.choice(INTEGERS) & (1 << size) - 1
    return numbers.getrandbits(size)


def column(kind, bits, row):
    """Return numbers as a row of meanings gets them."""
    if kind in ("mask", "vcc"):
        return np.array([bits], bool)
    if row.unit == "scalar" and kind[0] != "f" and row.sources[0][0] == "b":
        return np.array(bits, np.uint64)[:, None]
    size = int(kind[1:]) // 8
    words = np.array([bits], f"u{size}")
    return words if kind[0] == "b" else words.view(f"{kind[0]}{size}")


def results_of(row, columns, count):
    """Return the bits of the results for each lane."""
    with np.errstate(all="ignore"):
        results = row.function(*columns)
    results = results if isinstance(results, tuple) else (results,)
    found = []
    for result in results:
        array = np.asarray(result)
        if array.dtype != bool:
            array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        array = array.reshape(-1)
        found.append([int(word) for word in np.broadcast_to(array, (count,))])
    return list(zip(*found, strict=True))


def agrees(kind, found, wanted):
    if isinstance(wanted, float_models.Near):
        return wanted.accepts(found)
    if kind[0] == "f":
        return float_models.same(float_models.number(found, kind), float_models.number(wanted, kind))
    return found == wanted


BF16_PAIRS = {"v_dot2_bf16_bf16": 1, "v_cvt_pk_bf16_f32": 2}
HALF_PAIRS = {"v_cvt_pk_f16_f32", "v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32", "s_cvt_pk_rtz_f16_f32"}
"""Operations whose results hold floats: a NaN may have any bits."""


def parts_agree(name, found, wanted):
    if name in BF16_PAIRS:
        pieces = [(found >> at & 0xFFFF, wanted >> at & 0xFFFF) for at in range(0, 16 * BF16_PAIRS[name], 16)]
        return all(float_models.same(float_models.bf16(a), float_models.bf16(b)) for a, b in pieces)
    pieces = [(found >> at & 0xFFFF, wanted >> at & 0xFFFF) for at in (0, 16)]
    return all(float_models.same(float_models.half(a), float_models.half(b)) for a, b in pieces)


def test_no_row_is_without_a_model():
    assert sorted(MEANINGS.keys() - MODELS.keys()) == []


@in_one_test("name", sorted(MEANINGS))
def test_a_row_is_as_its_model(name):
    row, model = MEANINGS[name], MODELS[name]
    numbers = random.Random(f"models {name}")
    cases = [[some(kind, row, numbers) for kind in row.sources] for _ in range(ROUNDS)]
    if name.startswith("v_div_scale"):
        cases = [[case[numbers.choice((1, 2))], case[1], case[2]] for case in cases]
    columns = [column(kind, list(bits), row) for kind, bits in zip(row.sources, zip(*cases, strict=True), strict=True)]
    found = results_of(row, columns, ROUNDS)
    kinds = [kind for kind in row.results if kind != "nonzero"]
    for case, results in zip(cases, found, strict=True):
        wanted = model(*case)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for kind, result, expected in zip(kinds, results, wanted, strict=True):
            if name in BF16_PAIRS or name in HALF_PAIRS:
                is_right = parts_agree(name, result, expected)
            else:
                is_right = agrees(kind, result, expected)
            assert is_right, (
                f"{name} {[hex(bits) for bits in case]}: {result:#x}, {getattr(expected, 'value', expected)}"
            )


@pytest.mark.parametrize("count", [1, 3, 16, 40])
@pytest.mark.parametrize("kind, code", [("f16", 0x7D00), ("f32", 0x7F900000), ("f64", 0x7FF4000000000000)])
@pytest.mark.parametrize("name", ["min", "max"])
def test_a_signalling_nan_is_no_number_however_many_lanes_there_are(name, kind, code, count):
    """What the host's instructions give for one depends on how many numbers they take at once."""
    size = int(kind[1:]) // 8
    signalling = np.full((1, count), code, f"u{size}").view(f"f{size}")
    numbers = np.full((1, count), -2.5, f"f{size}")
    function = MEANINGS[f"v_{name}_{kind}"].function
    with np.errstate(all="ignore"):
        assert (function(signalling, numbers) == -2.5).all()
        assert (function(numbers, signalling) == -2.5).all()
