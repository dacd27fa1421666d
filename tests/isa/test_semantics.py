import ctypes.util
import random
from fractions import Fraction

import numpy as np
import pytest

from dwarfgpu.isa.semantics import floats
from dwarfgpu.isa.semantics.narrow_floats import from_bf16
from dwarfgpu.isa.semantics.rows import MEANINGS
from tests.builders import float_models
from tests.builders.parameters import every, for_each, in_one_test

SCALAR = sorted(name for name, row in MEANINGS.items() if row.unit == "scalar" and row.sources[0][0] == "b")
VECTOR = sorted(name for name, row in MEANINGS.items() if row.unit == "vector")
EDGES = (0, 1, 2, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
ROUNDS = 40


def number(bits, numbers):
    return (numbers.choice(EDGES) if numbers.random() < 0.5 else numbers.getrandbits(64)) & ((1 << bits) - 1)


def size_of(kind, row):
    return 1 if kind == "scc" else int(row.sources[0][1:]) if kind == "exec" else int(kind[1:])


@in_one_test("name", SCALAR)
def test_a_number_of_each_wave_is_as_one_of_all(name):
    row = MEANINGS[name]
    numbers = random.Random(name)
    columns = [[number(size, numbers) for _ in range(ROUNDS)] for size in [size_of(kind, row) for kind in row.sources]]
    alone = [row.function(*values) for values in zip(*columns, strict=True)]
    together = row.function(*(np.array(column, np.uint64)[:, None] for column in columns))
    if not isinstance(together, tuple):
        alone, together = [(result,) for result in alone], (together,)
    for position, column in enumerate(together):
        expected = [int(results[position]) for results in alone]
        assert np.broadcast_to(column, (ROUNDS, 1))[:, 0].tolist() == expected, row.results[position]


@in_one_test("name", SCALAR)
def test_numbers_of_all_waves_meet_those_of_each(name):
    """A result is an integer only if each of its sources is one."""
    row = MEANINGS[name]
    numbers = random.Random(f"mixed {name}")
    for _ in range(8):
        values = [number(size_of(kind, row), numbers) for kind in row.sources]
        alone = row.function(*values)
        for chosen in range(1, 1 << len(values)):
            pairs = [
                np.array([[value], [value]], np.uint64) if chosen >> position & 1 else value
                for position, value in enumerate(values)
            ]
            together = row.function(*pairs)
            results = zip(
                *(found if isinstance(found, tuple) else (found,) for found in (alone, together)), strict=True
            )
            for expected, found in results:
                assert np.broadcast_to(found, (2, 1)).tolist() == [[expected], [expected]], values
                assert isinstance(found, int) or found.dtype == np.uint64


@in_one_test("name", SCALAR)
def test_scalar_results_fit_their_registers(name):
    row = MEANINGS[name]
    numbers = random.Random(name)
    for _ in range(ROUNDS):
        values = [number(size_of(kind, row), numbers) for kind in row.sources]
        results = row.function(*values)
        results = results if isinstance(results, tuple) else (results,)
        for kind, result in zip([kind for kind in row.results if kind != "nonzero"], results, strict=True):
            assert 0 <= result < 1 << size_of(kind, row), (kind, values)


def lanes(kind, numbers, shape):
    if kind in ("mask", "vcc"):
        return np.array([[numbers.random() < 0.5 for _ in range(shape[1])] for _ in range(shape[0])])
    size = int(kind[1:]) // 8
    words = np.array([[number(8 * size, numbers) for _ in range(shape[1])] for _ in range(shape[0])], f"u{size}")
    return words if kind[0] == "b" else words.view(f"{kind[0]}{size}")


BF16_RESULTS = ("v_dot2_bf16_bf16",)
"""Operations whose results, as bits, are bf16 numbers. Which NaN they give depends on the host CPU, as with floats."""


def same(left, right):
    if left.dtype.kind == "f":
        return bool(((left == right) | (np.isnan(left) & np.isnan(right))).all())
    return bool((left == right).all())


@in_one_test("name", VECTOR)
def test_each_lane_is_as_if_alone(name):
    """Lanes do not see each other, and an axis of length 1 stands for many that are the same."""
    row = MEANINGS[name]
    numbers = random.Random(name)
    shape = (3, 32)
    sources = [lanes(kind, numbers, shape) for kind in row.sources]
    kept = [source.copy() for source in sources]
    with np.errstate(all="ignore"):
        together = row.function(*sources)
        parts = [
            row.function(*(source[wave : wave + 1, lane : lane + 1] for source in sources))
            for wave in range(shape[0])
            for lane in range(0, shape[1], 5)
        ]
    together = together if isinstance(together, tuple) else (together,)
    for position, column in enumerate(together):
        column = np.broadcast_to(column, shape)  # noqa: PLW2901
        found = np.array(
            [(part if isinstance(part, tuple) else (part,))[position][0, 0] for part in parts], column.dtype
        )
        if name in BF16_RESULTS:
            assert same(from_bf16(found).reshape(3, -1), from_bf16(column[:, ::5]))
        else:
            assert same(found.reshape(3, -1), column[:, ::5])
        kind = row.results[position]
        if kind == "mask":
            assert column.dtype == bool
        else:
            assert column.dtype.itemsize == int(kind[1:]) // 8
    assert all(np.array_equal(before.view("u1"), after.view("u1")) for before, after in zip(kept, sources, strict=True))


CLAMPED = [  # the clamped results of sources, by the words of the ISA documents
    ("v_add_u32", (0xFFFFFFFF, 2), 0xFFFFFFFF),              ("v_add_i32", (0x7FFFFFFF, 2), 0x7FFFFFFF),
    ("v_sub_u16", (1, 2), 0),                                ("v_sub_i16", (0x8000, 2), 0x8000),
    ("v_mad_i32_i24", (0x800000, 0x7FFFFF, 5), 0x80000000),  ("v_mul_u32_u24", (0xFFFFFF, 0xFFFFFF), 0xFFFFFFFF),
    ("v_sad_u16", (0xFFFF0000, 0x0000FFFF, 0), 0x1FFFE),  # two differences of 16 bits in a sum of 32
    ("v_sad_u16", (0xFFFF0000, 0x0000FFFF, 0xFFFFFFF0), 0xFFFFFFFF)]  # fmt: skip


@pytest.mark.parametrize("name, sources, expected", CLAMPED)
def test_a_clamped_result_is_the_nearest_number(name, sources, expected):
    row = MEANINGS[name]
    sizes = [int(kind[1:]) // 8 for kind in row.sources]
    columns = [
        np.array([[value]], f"u{size}").view(f"{kind[0]}{size}")
        for value, size, kind in zip(sources, sizes, row.sources, strict=True)
    ]
    found = row.clamped(*columns)
    assert int(found.view(f"u{found.itemsize}")[0, 0]) == expected


def rounded(value, kind):
    """The float next to a fraction, ties to even."""
    name = f"f{8 * kind(0).itemsize}"
    return float_models.number(float_models.rounded(value, name), name)


@for_each("function, kind, exponents",
    (floats.fused_single, np.float32, (-40, 40)),            (floats.fused_single, np.float32, (-75, -60)),
    (floats.fused_half, np.float16, (-8, 7)),                (floats.fused_long, np.float64, (-60, 60)),
    (floats.fused_long, np.float64, (-530, -500)),           (floats.fused_long, np.float64, (480, 505)),
    (floats.fused_long, np.float64, (-545, -505)))  # fmt: skip
def test_a_product_and_a_sum_are_rounded_once(function, kind, exponents):
    numbers = np.random.default_rng(3)
    count = 3000
    bits = {np.float16: 11, np.float32: 24, np.float64: 53}[kind]

    def some(low, high):
        whole = numbers.integers(1 << (bits - 1), 1 << bits, count)
        return np.ldexp(whole.astype(np.float64), numbers.integers(low, high, count) - bits).astype(kind)

    left, right = some(*exponents), some(*exponents)
    other = some(2 * exponents[0], 2 * exponents[1])
    near = numbers.random(count) < 0.5
    with np.errstate(all="ignore"):
        product = (left.astype(np.float64) * right.astype(np.float64)).astype(kind)
        other = np.where(near, -product * kind(1 + 2.0 ** -(bits // 2)), other).astype(kind)
        found = function(left[None], right[None], other[None])[0]
    for index in range(count):
        if not np.isfinite(other[index]):
            continue
        exact = Fraction(float(left[index])) * Fraction(float(right[index])) + Fraction(float(other[index]))
        assert found[index] == rounded(exact, kind), (left[index], right[index], other[index])


def test_doubles_of_any_magnitude_are_rounded_as_fractions_are():
    """The summands are far apart, cancel, or end half a unit behind a double, also a denormal one."""
    numbers = np.random.default_rng(5)
    count = 6000
    whole = [numbers.integers(-1 << 53, 1 << 53, count).astype(np.float64) for _ in range(3)]
    whole[0] = np.where(numbers.random(count) < 0.3, 1 << numbers.integers(0, 52, count), whole[0])
    powers = [numbers.integers(-1126, 971, count) for _ in range(3)]
    powers[1] = np.where(numbers.random(count) < 0.7, -1074 - powers[0] + numbers.integers(-120, 60, count), powers[1])
    near = numbers.random(count) < 0.6
    powers[2] = np.where(near, powers[0] + powers[1] + numbers.integers(-60, 170, count), powers[2])
    with np.errstate(all="ignore"):
        left, right, other = (np.ldexp(*pair) for pair in zip(whole, powers, strict=True))
        other = np.where(numbers.random(count) < 0.1, -(left * right), other)
        found = floats.fused_long(left, right, other)
    for row in zip(left.tolist(), right.tolist(), other.tolist(), found.tolist(), strict=True):
        if np.isfinite(row[:3]).all():
            exact = Fraction(row[0]) * Fraction(row[1]) + Fraction(row[2])
            wanted = rounded(exact, np.float64) if exact else np.float64(row[0]) * row[1] + row[2]
            assert (row[3], np.signbit(row[3])) == (wanted, np.signbit(wanted)), row


@every(sign=[1, -1], shift=[0, -100, -126], beside=[-1, 0, 1])
def test_sums_beside_a_tie_of_singles_are_rounded_once(sign, shift, beside):
    """The double next to such a sum is the tie itself, also where the single is denormal."""
    other = np.arange((1 << 23) + 1, (1 << 23) + 2049).astype(np.float64) * 2.0**-23
    other = np.ldexp(other, shift)
    if shift == -126:  # denormal
        other = np.arange((1 << 21) + 1, (1 << 21) + 2049).astype(np.float64) * 2.0**-149
    half = 2.0 ** (shift - 24)
    left = np.full_like(other, half * 2.0**60 * (1 + beside * 2.0**-23))
    right = np.full_like(other, sign * 2.0**-60 * (1 + 2.0**-23 if beside < 0 else 1 - 2.0**-23 if beside else 1))
    left, right, other = (array.astype(np.float32) for array in (left, right, sign * other))
    found = floats.fused_single(left[None], right[None], other[None])[0]
    for factors in zip(left.tolist(), right.tolist(), other.tolist(), found.tolist(), strict=True):
        exact = Fraction(factors[0]) * Fraction(factors[1]) + Fraction(factors[2])
        assert factors[3] == rounded(exact, np.float32), factors


def test_products_and_sums_are_those_of_the_host():
    """Singles of all magnitudes, and ties: products of few bits that end half a unit behind the other number."""
    name = ctypes.util.find_library("m")
    if name is None:
        pytest.skip("there is no libm")
    fused = ctypes.CDLL(name).fmaf
    fused.argtypes, fused.restype = [ctypes.c_float] * 3, ctypes.c_float
    numbers = np.random.default_rng(4)
    shape = 40, 64
    columns = []
    for spread in (1, 8, 40):
        signs = numbers.choice([-1.0, 1.0], (3, *shape))
        whole = numbers.integers(1, 1 << numbers.integers(2, 25, (3, *shape)))
        columns.append(np.ldexp(signs * whole, numbers.integers(-spread, spread + 1, (3, *shape)) - 24))
    other = numbers.integers(1 << 23, 1 << 24, shape) * 2.0**-23
    tie = np.stack([numbers.integers(1, 8, shape) * 2.0**-24, numbers.choice([-1.0, 1.0, 2.0, 0.5], shape), other])
    bits = numbers.integers(0, 1 << 32, (3, *shape)).astype(np.uint32).view(np.float32)
    for triple in (*columns, tie, tie * 2.0**-126, bits):
        with np.errstate(all="ignore"):
            left, right, addend = triple.astype(np.float32)
            found = floats.fused_single(left, right, addend)
        rows = zip(*(column.reshape(-1).tolist() for column in (left, right, addend)), strict=True)
        wanted = np.array([fused(*row) for row in rows], np.float32).reshape(shape)
        is_nan = np.isnan(wanted)
        assert (np.isnan(found) == is_nan).all()
        assert (found.view(np.uint32) == wanted.view(np.uint32))[~is_nan].all()


def test_products_and_sums_of_many_lanes_are_those_of_few():
    numbers = np.random.default_rng(6)
    count = 1030
    left = numbers.random((count, 64), np.float32)
    factors = (
        numbers.random((count, 1), np.float32),
        np.full((1, 1), 2.5, np.float32),
        numbers.random((1, 64), np.float32),
    )
    for factor in (*factors, left + 1):
        for addend in (left[::-1], factor):
            found = floats.fused_single(left, factor, addend)
            assert (found == floats.fused_single(factor, left, addend)).all()
            for row in range(0, count, 100):
                parts = (column[row : row + 1] if len(column) > 1 else column for column in (left, factor, addend))
                assert (found[row] == floats.fused_single(*parts)[0]).all()


def test_quotients_are_rounded_once():
    """The three steps of a division, with the products between them, give the quotient that IEEE 754 wants."""
    numbers = np.random.default_rng(5)
    for kind, size in ((np.float32, 4), (np.float64, 8)):
        left, right = (
            numbers.integers(0, 1 << 63, 20000).astype(np.uint64).view(np.float64)
            if size == 8
            else numbers.integers(0, 1 << 31, 20000).astype(np.uint32).view(np.float32)
            for _ in range(2)
        )
        with np.errstate(all="ignore"):
            found = divided(left[None], right[None], kind)[0]
            wanted = left / right
        agree = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        assert agree.all(), (left[~agree][:3], right[~agree][:3], found[~agree][:3], wanted[~agree][:3])


def divided(left, right, kind):
    """What clang emits for a quotient (AMDGPULegalizerInfo, legalizeFDIV32 and legalizeFDIV64)."""
    name = "f32" if kind is np.float32 else "f64"
    row = {
        operation: MEANINGS[f"v_{operation}_{name}"].function for operation in ("div_scale", "div_fmas", "div_fixup")
    }
    fused = MEANINGS[f"v_fma_{name}"].function
    one = np.ones((1, 1), kind)
    scaled_right, _flags = row["div_scale"](right, right, left)
    scaled_left, flags = row["div_scale"](left, right, left)
    inverse = MEANINGS[f"v_rcp_{name}"].function(scaled_right)
    inverse = fused(fused(-scaled_right, inverse, one), inverse, inverse)
    if kind is np.float64:
        inverse = fused(fused(-scaled_right, inverse, one), inverse, inverse)
    quotient = scaled_left * inverse
    if kind is np.float32:
        quotient = fused(fused(-scaled_right, quotient, scaled_left), inverse, quotient)
    rest = fused(-scaled_right, quotient, scaled_left)
    return row["div_fixup"](row["div_fmas"](rest, inverse, quotient, flags), right, left)


@every(count=[10, 2000], lowest=[0, -5])
def test_the_sign_of_many_numbers(count, lowest):
    numbers = np.random.default_rng(6).integers(lowest, 1 << 30, (1, count)).astype(np.int32)
    numbers[0, 0] = lowest
    found = MEANINGS["v_ashrrev_i32"].function(np.array([[31]], np.int32), numbers)
    assert (np.broadcast_to(found, numbers.shape) == -(numbers < 0).astype(np.int32)).all()


@pytest.mark.parametrize("name, borrows", [("v_addc_co_u32", False), ("v_subb_co_u32", True)])
def test_carries_of_some_lanes_or_of_none(name, borrows):
    random = np.random.default_rng(7)
    left, right = (random.choice(np.array([0, 1, 5, 0xFFFFFFFF], np.uint32), (4, 64)) for _ in range(2))
    for carry in (np.zeros((1, 64), bool), np.ones((1, 64), bool), random.random((4, 64)) < 0.1):
        total, over = MEANINGS[name].function(left, right, carry)
        wide = left.astype(np.int64) + (-1 if borrows else 1) * (right.astype(np.int64) + carry)
        assert (total == (wide & 0xFFFFFFFF)).all()
        assert (over == ((wide < 0) | (wide > 0xFFFFFFFF))).all()
