"""Every arithmetic operation, comparison and conversion against a model of plain Python integers and fractions.

The model is what DWARF 5, 2.5.1.4 to 2.5.1.6 says, written down as simply as it can be. Each comparison is made for one
lane, and for all lanes at once with operands that differ from lane to lane.
"""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import bits as b
from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr import asm, types
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType, Value
from dwarfgpu.lanes import LaneSet
from dwarfgpu.targets.resolve import resolve
from tests.builders import float_models
from tests.builders.cases import answer
from tests.builders.contexts import Unit
from tests.builders.parameters import every, examples, few_or_all, for_each, in_one_test

ONE = ("abs", "neg", "not")
TWO = ("and", "div", "minus", "mod", "mul", "or", "plus", "shl", "shr", "shra", "xor")
RELATIONS = {
    "le": operator.le, "ge": operator.ge, "eq": operator.eq, "lt": operator.lt, "gt": operator.gt, "ne": operator.ne,
}  # fmt: skip


def model(operation, kind, width, left, right=0):
    """The pattern of the result, for patterns of a kind: ``signed``, ``unsigned`` or ``generic``."""
    size = 1 << width
    # as DW_OP_div, DW_OP_abs and comparisons read it: the generic type is signed for them
    x, y = (one - size if kind != "unsigned" and one >= size // 2 else one for one in (left, right))
    if operation in RELATIONS:
        return int(RELATIONS[operation](x, y))
    if operation in ("div", "mod") and right == 0:
        return "division_by_zero"
    results = {
        "abs": lambda: abs(x), "neg": lambda: -x, "not": lambda: size - 1 - left,
        "plus": lambda: left + right, "minus": lambda: left - right, "mul": lambda: left * right,
        "and": lambda: left & right, "or": lambda: left | right, "xor": lambda: left ^ right,
        "shl": lambda: left * 2**right if right < width else 0,
        "shr": lambda: left // 2**right if right < width else 0,
        # for every type: "keep the same sign for the result"
        "shra": lambda: (left - size if left >= size // 2 else left) // 2 ** min(right, width),
        "div": lambda: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        # of the generic type: addressing arithmetic
        "mod": lambda: left % right if kind == "generic" else abs(x) % abs(y) * (-1 if x < 0 else 1),
    }  # fmt: skip
    return results[operation]() % size


FORM = Format()
DIALECT = dialects.get("dwarf5")
_CODE = {}


def code(ops):
    if ops not in _CODE:
        _CODE[ops] = asm.parse(ops, DIALECT, FORM)
    return _CODE[ops]


def type_of(kind, width):
    return types.generic(width // 8) if kind == "generic" else BaseType(kind, width)


def target_of(kind, width):
    return resolve("generic", address_size=width // 8 if kind == "generic" else 8)


def patterns(outcome):
    return outcome.kind if isinstance(outcome, DwarfGpuError) else outcome.bits


def alone(ops, target, *operands, unit=None):
    """What one lane computes: a pattern, or the kind of an error."""
    found = evaluate(code(ops), Context(target, AMD, initial_stack=operands, unit=unit)).of(0)
    if not isinstance(found, DwarfGpuError):
        assert type(found.bits) is int
        assert 0 <= found.bits <= found.type.mask
    return patterns(found)


def together(ops, target, count, *operands, unit=None):
    """What all lanes compute at once."""
    lanes = LaneSet.of(range(count))
    found = evaluate(code(ops), Context(target, AMD, lanes=lanes, initial_stack=operands, unit=unit))
    results = [None] * count
    for group in found.groups:
        positions = range(count) if group.positions is None else group.positions.tolist()
        if group.failed:
            for index, position in enumerate(positions):
                results[position] = group.outcome(index).kind
            continue
        values = group.result.bits
        if type(values) is int:
            values = [values] * len(positions)
        else:
            assert values.dtype == (np.uint64 if group.result.type.bit_size <= 64 else object)
            values = values.tolist()
        for position, value in zip(positions, values, strict=True):
            results[position] = value
    return results


def columns(kind, width, pairs):
    left, right = zip(*pairs, strict=True)
    return Value(kind, b.array(left, width)), Value(kind, b.array(right, width))


KINDS = ("signed", "unsigned", "generic")
WIDTHS = (1, 2, 7, 8, 16, 24, 31, 32, 33, 56, 63, 64, 65, 127, 128, 129, 256, 2048)


def edges(width):
    """Patterns around which something changes: sizes of shifts, signs, carries."""
    size = 1 << width
    found = {0, 1, 2, 3, 5, 7, width - 1, width, width + 1, size // 2 - 1, size // 2, size // 2 + 1, size - 2, size - 1}
    found |= {size // 3, size - size // 3, (1 << width // 2) - 1, 1 << width // 2, (1 << 63) - 1, 1 << 63, 1 << 64}
    return sorted(one for one in found if 0 <= one < size)


SETTINGS = [
    (kind, width) for kind in KINDS for width in WIDTHS if kind != "generic" or width in (8, 16, 24, 32, 56, 64)
]


@pytest.mark.parametrize("kind, width", SETTINGS)
@pytest.mark.sampled(6)
def test_integers_at_the_edges_and_of_other_sizes(kind, width):
    base, target = type_of(kind, width), target_of(kind, width)
    pairs = [(left, right) for left in edges(width) for right in edges(width)]
    for operation in (*TWO, *RELATIONS):
        expected = [model(operation, kind, width, left, right) for left, right in pairs]
        ops = f"DW_OP_{operation}"
        if kind == "unsigned" and operation in RELATIONS:
            target = target_of("generic", 8)  # the result has the generic type, whatever that is
        one = [alone(ops, target, Value(base, left), Value(base, right)) for left, right in pairs]
        assert one == expected, operation
        assert together(ops, target, len(pairs), *columns(base, width, pairs)) == expected, operation
    for operation in ONE:
        expected = [model(operation, kind, width, one) for one in edges(width)]
        ops = f"DW_OP_{operation}"
        assert [alone(ops, target, Value(base, one)) for one in edges(width)] == expected, operation
        stacked = Value(base, b.array(edges(width), width))
        assert together(ops, target, len(edges(width)), stacked) == expected, operation
    source, where = type_of(kind, width), target_of(kind, width)
    numbers = numbers_of(kind, width)
    for other_kind in ("signed", "unsigned"):
        for other in WIDTHS:
            if (kind, width) == (other_kind, other):
                continue
            found = converted(source, BaseType(other_kind, other), edges(width), where)
            assert found == [number % (1 << other) for number in numbers], (other_kind, other)
    for size in (1, 2, 3, 4, 8):
        if kind != "generic":
            found = converted(source, types.generic(size), edges(width), resolve("generic", address_size=size))
            assert found == [number % (1 << 8 * size) for number in numbers], size


@few_or_all(5)
@every(kind=KINDS, operation=[*TWO, *RELATIONS])
def test_pairs_of_8_bits(kind, operation, every):
    # all of them where a single pair can be special
    step = every if operation in ("div", "mod", "mul", "shl", "shr", "shra", "lt") else 5 * every
    base, target = type_of(kind, 8), target_of(kind, 8)
    pairs = [(left, right) for left in range(0, 256, step) for right in range(256)]
    expected = [model(operation, kind, 8, left, right) for left, right in pairs]
    assert together(f"DW_OP_{operation}", target, len(pairs), *columns(base, 8, pairs)) == expected


@pytest.mark.parametrize("kind", ["signed", "unsigned"])
def test_all_pairs_of_4_bits_one_by_one(kind):
    base, target = BaseType(kind, 4), resolve("generic")
    for operation in (*TWO, *RELATIONS):
        for left in range(16):
            for right in range(16):
                found = alone(f"DW_OP_{operation}", target, Value(base, left), Value(base, right))
                assert found == model(operation, kind, 4, left, right), (operation, left, right)


@for_each("kind, width", ("signed", 8), ("generic", 64), ("unsigned", 33), ("signed", 64), ("signed", 128))
def test_one_operand_that_is_the_same_in_all_lanes(kind, width):
    base, target = type_of(kind, width), target_of(kind, width)
    numbers = edges(width)
    lanes = Value(base, b.array(numbers, width))
    for operation in (*TWO, *RELATIONS):
        ops = f"DW_OP_{operation}"
        for one in (0, 1, width, numbers[len(numbers) // 2], numbers[-1]):
            left = together(ops, target, len(numbers), Value(base, one), lanes)
            assert left == [model(operation, kind, width, one, other) for other in numbers], (operation, one)
            right = together(ops, target, len(numbers), lanes, Value(base, one))
            assert right == [model(operation, kind, width, other, one) for other in numbers], (operation, one)


@st.composite
def integer_types(draw):
    kind = draw(st.sampled_from(KINDS))
    width = 8 * draw(st.integers(1, 8)) if kind == "generic" else draw(st.integers(1, 2048))
    return kind, width


def operands(width):
    return st.one_of(st.integers(0, (1 << width) - 1), st.sampled_from(edges(width)))


@examples(300)
@given(st.data())
def test_any_integers(data):
    kind, width = data.draw(integer_types())
    operation = data.draw(st.sampled_from([*TWO, *RELATIONS]))
    pairs = data.draw(st.lists(st.tuples(operands(width), operands(width)), min_size=2, max_size=8))
    base, target = type_of(kind, width), target_of(kind, width)
    expected = [model(operation, kind, width, *pair) for pair in pairs]
    ops = f"DW_OP_{operation}"
    assert [alone(ops, target, *(Value(base, one) for one in pair)) for pair in pairs] == expected
    assert together(ops, target, len(pairs), *columns(base, width, pairs)) == expected


# Several operations, one after another: what one makes is what the next one takes, in every lane.
@examples(200)
@given(st.data())
def test_chains_of_operations(data):
    kind, width = data.draw(integer_types())
    chain = data.draw(st.lists(st.sampled_from([*ONE, *TWO, "swap"]), min_size=2, max_size=6))
    stacks = data.draw(st.lists(st.lists(operands(width), min_size=8, max_size=8), min_size=2, max_size=5))
    base, target = type_of(kind, width), target_of(kind, width)
    expected = [follow(chain, kind, width, list(stack)) for stack in stacks]
    ops = "; ".join(f"DW_OP_{operation}" for operation in chain)
    assert [alone(ops, target, *(Value(base, one) for one in stack)) for stack in stacks] == expected
    lanes = [Value(base, b.array(column, width)) for column in zip(*stacks, strict=True)]
    assert together(ops, target, len(stacks), *lanes) == expected


def follow(chain, kind, width, stack):
    for operation in chain:
        if operation == "swap":
            stack[-1], stack[-2] = stack[-2], stack[-1]
            continue
        taken = [stack.pop()] if operation in ONE else [stack.pop(), stack.pop()][::-1]
        result = model(operation, kind, width, *taken)
        if result == "division_by_zero":
            return result
        stack.append(result)
    return stack[-1]


@given(st.data())
def test_operands_are_added_and_reinterpreted_bits_stay(data):
    kind, width = data.draw(integer_types())
    number = data.draw(st.integers(0, 2**64 - 1))
    values = data.draw(st.lists(operands(width), min_size=2, max_size=4))
    base, target = type_of(kind, width), target_of(kind, width)
    expected = [(value + number) % (1 << width) for value in values]
    ops = f"DW_OP_plus_uconst {number}"
    assert [alone(ops, target, Value(base, one)) for one in values] == expected
    assert together(ops, target, len(values), Value(base, b.array(values, width))) == expected
    base = float_type(data.draw(st.sampled_from(list(FORMATS))))
    pattern = data.draw(st.integers(0, (1 << base.bit_size) - 1))
    target = resolve("generic")
    integer = BaseType("unsigned", base.bit_size)
    there = alone("DW_OP_reinterpret 1", target, Value(integer, pattern), unit=Unit(base))
    assert there == alone("DW_OP_reinterpret 1", target, Value(base, pattern), unit=Unit(integer)) == pattern


# The same through a whole case: operands from registers of which each lane has its own.
@pytest.mark.parametrize("kind, size", [("signed", 1), ("unsigned", 2), ("signed", 4), ("unsigned", 8)])
@pytest.mark.parametrize("operation", ["plus", "mul", "div", "mod", "shra", "lt"])
def test_lanes_of_a_case(kind, size, operation):
    width = 8 * size
    pairs = [(left, right) for left in edges(width)[:8] for right in edges(width)[-8:]]
    found = answer(
        f"DW_OP_regval_type 0 1; DW_OP_regval_type 1 1; DW_OP_{operation}",
        base_types={"1": {"encoding": kind, "byte_size": size}},
        registers={"0": [left for left, _ in pairs], "1": [right for _, right in pairs]},
        lane_count=len(pairs),
        lanes="all",
    )
    for (left, right), one in zip(pairs, found["lanes"].values(), strict=True):
        expected = model(operation, kind, width, left, right)
        if isinstance(expected, str):
            assert one["error"]["kind"] == expected
        else:
            signed = kind == "signed" and operation != "lt" and expected >= 1 << width - 1
            assert one["result"]["value"] == expected - (1 << width if signed else 0)


FORMATS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
NATIVE = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def float_type(name):
    return BaseType("bfloat16", 16) if name == "bfloat16" else BaseType("float", int(name[5:]))


def nearest(number: Fraction, name):
    """The pattern of the number of a format that is nearest to a fraction; of two equally near the even one."""
    return float_models.rounded(number, FORMATS[name])


def decode(pattern, name):
    return float_models.number(pattern, FORMATS[name])


def encode(number, name):
    return float_models.bits_of(number, FORMATS[name])


def float_model(operation, left, right, name):
    """The pattern of a result of two numbers of a format: IEEE 754, exact and then rounded once."""
    if operation in RELATIONS:
        return int(RELATIONS[operation](left, right))
    if operation == "div":
        with np.errstate(all="ignore"):
            found = np.float64(left) / np.float64(right)  # is right where something is no number, infinite or 0
        is_plain = math.isfinite(left) and math.isfinite(right) and left and right
        return nearest(Fraction(left) / Fraction(right), name) if is_plain else encode(float(found), name)
    products = {"plus": [(left,), (right,)], "minus": [(left,), (-right,)], "mul": [(left, right)]}
    return float_models.summed(products[operation], FORMATS[name])


def digits(name):
    return float_models.LETTERS[FORMATS[name]][2]


def float_edges(name):
    """Patterns of zeros, subnormal and normal numbers, infinities and NaNs, of both signs."""
    width = float_type(name).bit_size
    fraction = digits(name) - 1
    one = encode(1.0, name)
    infinity = encode(math.inf, name)
    found = [0, 1, 2, 3, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, infinity - 1, infinity - 2, infinity]
    found += [
        one - 1,                   one,                       one + 1,                   one + 2,
        encode(1.5, name),         encode(2.0, name),         encode(3.0, name),         encode(10.0, name),
    ]  # fmt: skip
    found += [infinity + (1 << fraction - 1), infinity + 1, nearest(Fraction(1, 3), name)]
    return [pattern | sign for pattern in found for sign in (0, 1 << width - 1)]


def same(found, expected, name):
    """Whether two patterns are the same number; all NaNs are the same."""
    return float_models.same(decode(found, name), decode(expected, name))


@every(name=FORMATS, operation=["plus", "minus", "mul", "div", *RELATIONS])
@pytest.mark.sampled(6)
def test_floats_at_the_edges(name, operation):
    base, target = float_type(name), resolve("generic")
    ops = f"DW_OP_{operation}"
    pairs = [(left, right) for left in float_edges(name) for right in float_edges(name)]
    lanes = together(ops, target, len(pairs), *columns(base, base.bit_size, pairs))
    for (left, right), in_lane in zip(pairs, lanes, strict=True):
        one = alone(ops, target, Value(base, left), Value(base, right))
        expected = float_model(operation, decode(left, name), decode(right, name), name)
        assert one == in_lane
        numbers = decode(left, name), decode(right, name)
        assert one == expected or (operation not in RELATIONS and same(one, expected, name)), (numbers, one, expected)


@every(name=NATIVE, operation=["plus", "minus", "mul", "div"])
def test_floats_against_numpy(name, operation):
    base, target = float_type(name), resolve("generic")
    native = {"plus": np.add, "minus": np.subtract, "mul": np.multiply, "div": np.divide}[operation]
    chosen = np.random.default_rng(1).integers(0, 1 << base.bit_size, (4000, 2), dtype=np.uint64, endpoint=False)
    chosen = chosen.astype(f"u{base.bit_size // 8}")
    numbers = chosen.view(NATIVE[name])
    with np.errstate(all="ignore"):
        expected = native(numbers[:, 0], numbers[:, 1])
    assert expected.dtype == NATIVE[name]
    found = together(f"DW_OP_{operation}", target, len(chosen), *columns(base, base.bit_size, chosen.tolist()))
    results = np.array(found, dtype=f"u{base.bit_size // 8}").view(NATIVE[name])
    np.testing.assert_array_equal(results, expected)
    assert (np.isnan(expected) | (np.signbit(results) == np.signbit(expected))).all()


@pytest.mark.parametrize("name", FORMATS)
def test_the_sign_of_a_float(name):
    base, target = float_type(name), resolve("generic")
    sign = 1 << base.bit_size - 1
    for pattern in float_edges(name):
        negated = alone("DW_OP_neg", target, Value(base, pattern))
        magnitude = alone("DW_OP_abs", target, Value(base, pattern))
        if math.isnan(decode(pattern, name)):
            assert math.isnan(decode(negated, name))
            assert math.isnan(decode(magnitude, name))
        else:
            assert negated == pattern ^ sign
            assert magnitude == pattern & ~sign
    stacked = Value(base, b.array(float_edges(name), base.bit_size))
    assert together("DW_OP_neg", target, len(float_edges(name)), stacked) == [
        alone("DW_OP_neg", target, Value(base, pattern)) for pattern in float_edges(name)
    ]


@examples(150)
@given(st.data())
def test_any_floats(data):
    name = data.draw(st.sampled_from(list(FORMATS)))
    operation = data.draw(st.sampled_from(["plus", "minus", "mul", "div"]))
    base, target = float_type(name), resolve("generic")
    pattern = st.integers(0, (1 << base.bit_size) - 1)
    pairs = data.draw(st.lists(st.tuples(pattern, pattern), min_size=2, max_size=4))
    found = together(f"DW_OP_{operation}", target, len(pairs), *columns(base, base.bit_size, pairs))
    for (left, right), one in zip(pairs, found, strict=True):
        assert alone(f"DW_OP_{operation}", target, Value(base, left), Value(base, right)) == one
        assert same(one, float_model(operation, decode(left, name), decode(right, name), name), name)


def converted(source, target_type, values, where=None):
    """DW_OP_convert of patterns: one by one, and all at once; both must be the same."""
    target = where or resolve("generic")
    unit = Unit(target_type)
    ops = f"DW_OP_convert {0 if target_type.is_generic else 1}"
    one = [alone(ops, target, Value(source, value), unit=unit) for value in values]
    assert together(ops, target, len(values), Value(source, b.array(values, source.bit_size)), unit=unit) == one
    return one


def numbers_of(kind, width):
    return [
        pattern - (1 << width) if kind == "signed" and pattern >> width - 1 else pattern for pattern in edges(width)
    ]


@in_one_test("kind, width, name", [(*setting, name) for setting in SETTINGS for name in FORMATS])
def test_integers_to_floats(kind, width, name):
    found = converted(type_of(kind, width), float_type(name), edges(width), target_of(kind, width))
    for pattern, number in zip(found, numbers_of(kind, width), strict=True):
        assert pattern == nearest(Fraction(number), name), (number, decode(pattern, name))


@pytest.mark.parametrize("name", FORMATS)
def test_integers_near_halfway_between_two_floats(name):
    precision = digits(name)
    for extra in (1, 2, 11, 40, 70):
        size = precision + extra
        if size > 2 - precision - float_models.LETTERS[FORMATS[name]][3]:  # the largest exponent
            continue
        width = size + 1
        half = 1 << extra - 1
        numbers = [
            (1 << size - 1) + (steps << extra) + half + delta
            for steps in (0, 1, 2, 3, (1 << precision - 1) - 1)
            for delta in (-1, 0, 1)
        ]
        numbers = [number for number in numbers if number < 1 << width - 1]
        found = converted(BaseType("unsigned", width), float_type(name), numbers)
        assert found == [nearest(Fraction(number), name) for number in numbers], extra


@every(name=FORMATS, kind=["signed", "unsigned"])
def test_floats_to_integers(kind, name):
    for width in (1, 7, 8, 16, 24, 32, 33, 64, 65, 128):
        highest = (1 << width - (kind == "signed")) - 1
        lowest = -highest - 1 if kind == "signed" else 0
        found = converted(float_type(name), BaseType(kind, width), float_edges(name))
        for pattern, one in zip(float_edges(name), found, strict=True):
            number = decode(pattern, name)
            if math.isnan(number):
                expected = 0
            elif math.isinf(number):
                expected = highest if number > 0 else lowest
            else:
                expected = max(lowest, min(highest, math.trunc(Fraction(number))))
            assert one == expected % (1 << width), (width, number)


def narrowed(number, name):
    """The pattern of a number that may have more digits than the format."""
    return nearest(Fraction(number), name) if math.isfinite(number) and number else encode(number, name)


@every(source=FORMATS, target=FORMATS)
def test_floats_to_floats(source, target):
    found = converted(float_type(source), float_type(target), float_edges(source))
    for pattern, one in zip(float_edges(source), found, strict=True):
        number = decode(pattern, source)
        assert same(one, narrowed(number, target), target), (number, decode(one, target))


@pytest.mark.parametrize("target", ["bfloat16", "float32", "float64"])
def test_every_float16_to_other_floats(target):
    step = 7 if target == "bfloat16" else 1  # its model is slow
    values = list(range(0, 1 << 16, step))
    lanes = Value(float_type("float16"), b.array(values, 16))
    found = together("DW_OP_convert 1", resolve("generic"), len(values), lanes, unit=Unit(float_type(target)))
    numbers = np.array(values, dtype=np.uint16).view(np.float16)
    if target == "bfloat16":
        for number, one in zip(numbers.tolist(), found, strict=True):
            assert same(one, narrowed(number, target), target), number
        return
    native = NATIVE[target]
    results = np.array(found, dtype=f"u{np.dtype(native).itemsize}").view(native)
    np.testing.assert_array_equal(results, numbers.astype(native))


# DW_OP_reinterpret keeps every bit.
