"""Formulas as machine code that LLVM makes of them, against the same formulas as functions of columns and numbers."""

import ctypes
from itertools import product

import numpy as np
import pytest

from dwarfgpu.isa.formulas import FLAG, formulas
from dwarfgpu.isa.semantics.columns import dtype_of
from dwarfgpu.isa.semantics.llvm import LlvmText, LlvmWriter, NotWritten
from dwarfgpu.isa.semantics.rows import MEANINGS
from tests.builders.native import compiled

LANES, COUNT = 8, 512
INTEGERS = (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 0x7F, 0xFF, 0x8000, 0x10005, (1 << 31) - 1, 1 << 31, 1 << 63)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.7, 5.0, 6e4, 1e30, 1e-40, 5e-8, np.inf, -np.inf, np.nan)
NOT_WRITTEN = {
    *("sin", "cos", "exp2", "log2", "tanh", "trig_preop", "div_fmas of doubles", "quads", "whole_quads", "replicated"),
    *("bf16", "rtz_f16", "dots"),
}
"""What the interpreter alone computes."""


def operands(kind, count, numbers):
    """Return random numbers and edges of a type."""
    dtype = dtype_of(kind)
    if kind == FLAG:
        return numbers.integers(0, 2, count).astype(bool)
    unsigned = f"u{dtype.itemsize}"
    anything = np.frombuffer(numbers.bytes(count * dtype.itemsize), unsigned)
    with np.errstate(all="ignore"):
        edges = (
            np.array(FLOATS, dtype).view(unsigned) if dtype.kind == "f" else np.array(INTEGERS, "u8").astype(unsigned)
        )
    return np.where(numbers.random(count) < 0.5, anything, edges[numbers.integers(0, len(edges), count)]).view(dtype)


def function_of(formula, lanes):
    """Return a formula as the text of a function of two tables of pointers, and the types of its results."""
    ir = LlvmText()
    writer = LlvmWriter(ir, lanes)
    vectors = writer.vectors

    def pointer(table, number):
        return ir.put(f"load ptr, ptr {ir.put(f'getelementptr i64, ptr %{table}, i64 {number}')}")

    sources = []
    for number, kind in enumerate(map(formula.type_of, formula.sources)):
        stored = "u8" if kind == FLAG else kind
        value = ir.put(f"load {vectors.type(stored)}, ptr {pointer('sources', number)}, align 1")
        sources.append(vectors.cast("trunc", value, "u8", FLAG) if kind == FLAG else value)
    kinds = [formula.type_of(kind) for kind in formula.results if kind != "nonzero"]
    for number, (value, kind) in enumerate(zip(writer.results(formula, sources), kinds, strict=True)):
        stored = ("u8", vectors.cast("zext", value, FLAG, "u8")) if kind == FLAG else (kind, value)
        ir.do(f"store {vectors.type(stored[0])} {stored[1]}, ptr {pointer('results', number)}, align 1")
    lines = [*ir.declared.values(), "define i64 @f(ptr %cells) {", "entry:"]
    lines += [" %sources = load ptr, ptr %cells", " %second = getelementptr i64, ptr %cells, i64 1"]
    return "\n".join([*lines, " %results = load ptr, ptr %second", *ir.lines, " ret i64 0", "}"]), kinds


def computed(formula, lanes, sources):
    """Return the results of the machine code."""
    text, kinds = function_of(formula, lanes)
    function = compiled(text)
    results = [np.zeros(COUNT, np.uint8 if kind == FLAG else dtype_of(kind)) for kind in kinds]
    for at in range(0, COUNT, lanes):
        tables = [(ctypes.c_uint64 * 5)(*(array[at:].ctypes.data for array in arrays)) for arrays in (sources, results)]
        function(ctypes.addressof((ctypes.c_uint64 * 2)(*map(ctypes.addressof, tables))))
    return results


def expected(formula, sources):
    """Return the results of the function that the interpreter calls."""
    function = MEANINGS[formula.name].function
    with np.errstate(all="ignore"):
        if formula.unit == "scalar" and formula.sources[0][0] == "b":
            rows = [function(*numbers) for numbers in zip(*(source.tolist() for source in sources), strict=True)]
            rows = [row if isinstance(row, tuple) else (row,) for row in rows]
            return [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
        results = function(*(source[None] for source in sources))
    results = results if isinstance(results, tuple) else (results,)
    return [np.broadcast_to(np.asarray(result), (1, COUNT))[0] for result in results]


def bits(array):
    """Return numbers as unsigned ones; all NaNs are one, because two of them give either."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
        return array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    return (
        array.astype(np.uint64) if array.dtype.kind != "i" else array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    )


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 24))])
def test_every_row_computes_the_same(part):
    numbers, missing = np.random.default_rng(part), set()
    for name in [*formulas()][part::24]:
        formula = formulas()[name]
        lanes = LANES if formula.unit == "vector" else 1
        sources = [operands(formula.type_of(kind), COUNT, numbers) for kind in formula.sources]
        try:
            results = computed(formula, lanes, sources)
        except NotWritten as reason:
            text = str(reason)
            missing.add("dots" if text.startswith("dot_") else text)
            continue
        for have, want in zip(results, expected(formula, sources), strict=True):
            wrong = np.flatnonzero(bits(have) != bits(want))
            assert not wrong.size, (name, [source[wrong[0]] for source in sources], have[wrong[0]], want[wrong[0]])
    assert missing <= NOT_WRITTEN


@pytest.mark.parametrize(
    "name", [f"v_{name}_{kind}" for name in ("add", "sub", "subrev", "mul") for kind in ("f16", "f32")]
)
def test_of_two_nans_the_left_one_is_the_result(name):
    formula = formulas()[name]
    kind = dtype_of(formula.type_of(formula.sources[0]))
    words, nan = f"u{kind.itemsize}", np.array(np.nan, kind)
    sources = [np.full(COUNT, nan.view(words) + number, words).view(kind) for number in (1, 2)]
    left = sources["rev" in name].view(words)
    for (result,) in (computed(formula, LANES, sources), expected(formula, sources)):
        assert (result.view(words) == left).all()
    first, second = sources
    for shapes in (((7, 1), (1, 9)), ((3, 1), (1, 1)), ((1, 1), (2, 33)), ((5, 17), (5, 1))):
        columns = [
            source[: shape[0] * shape[1]].reshape(shape) for source, shape in zip((first, second), shapes, strict=True)
        ]
        assert (MEANINGS[name].function(*columns).view(words) == left[0]).all(), shapes


@pytest.mark.parametrize("name", ["v_fma_f16", "v_fma_f32", "v_fma_f64"])
def test_a_product_that_is_a_nan_is_the_result_whatever_is_added(name):
    kind = dtype_of(formulas()[name].type_of(formulas()[name].sources[0]))
    words, nan = f"u{kind.itemsize}", np.array(np.nan, kind)
    for shapes in product(((1, 1), (4, 32)), repeat=3):
        first, second, added = (
            np.full(shape, nan.view(words) + place, words).view(kind) for place, shape in enumerate(shapes, 1)
        )
        for left, right, number in ((first, second, 1), (np.ones_like(first), second, 2)):
            result = MEANINGS[name].function(left, right, -added)
            assert (result.view(words) == nan.view(words) + number).all(), shapes
