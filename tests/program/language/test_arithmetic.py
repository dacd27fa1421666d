import ctypes
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, UsageError
from dwarfgpu.lanes import LaneFault
from dwarfgpu.program.language.arithmetic import Arithmetic, DataModel, ScalarOperand, converted
from dwarfgpu.program.language.parser import parse
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import Array, Body, Dimension, Enumeration, Enumerator, Lazy, Struct, byte_size
from tests.builders.errors import raised
from tests.builders.parameters import for_each

C = Arithmetic()
CPLUS = Arithmetic(DataModel(is_cplus=True))
BINARY = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]


def of(name, number=0, compute=C):
    kind = compute.model.base(name)
    return converted(ScalarOperand(compute.model.base("long"), number & (1 << 64) - 1), kind)


def literal(text, compute=C):
    return compute.literal(parse(text))


@for_each("text, name",
    ("1", "int"), ("2147483647", "int"), ("2147483648", "long"), ("0x7fffffff", "int"),
    ("0x80000000", "unsigned int"), ("0xffffffffff", "long"), ("0xffffffffffffffff", "unsigned long"),
    ("1u", "unsigned int"), ("4294967296u", "unsigned long"), ("1l", "long"), ("1ul", "unsigned long"),
    ("1ll", "long long"), ("1ull", "unsigned long long"), ("18446744073709551615", "unsigned long"),
    ("1.0", "double"), ("1.0f", "float"), ("1.0l", "long double"), ("'a'", "char"), ("L'a'", "wchar_t"),
    ("u'a'", "char16_t"), ("U'a'", "char32_t"), ("true", "_Bool"), ("nullptr", "void *"))  # fmt: skip
def test_types_of_literals(text, name):
    assert type_text(literal(text).type) == name


def test_a_number_larger_than_any_type_is_refused():
    assert "too large for any type" in str(raised(UsageError, literal, "18446744073709551616"))


@for_each("left, right, name",
    ("char", "char", "int"), ("unsigned char", "short", "int"), ("unsigned short", "unsigned short", "int"),
    ("int", "unsigned int", "unsigned int"), ("int", "long", "long"), ("unsigned int", "long", "long"),
    ("long", "unsigned long", "unsigned long"), ("long", "long long", "long long"),
    ("unsigned long", "long long", "unsigned long long"), ("long long", "unsigned int", "long long"),
    ("_Bool", "_Bool", "int"), ("wchar_t", "char", "int"), ("char32_t", "int", "unsigned int"),
    ("int", "float", "float"), ("float", "double", "double"), ("double", "long double", "long double"),
    ("long", "float", "float"), ("_Float16", "_Float16", "_Float16"), ("_Float16", "float", "float"),
    ("__int128", "unsigned long", "__int128"), ("__int128", "unsigned __int128", "unsigned __int128"))  # fmt: skip
def test_common_types(left, right, name):
    """C23, 6.3.1.8; with the sizes of LP64."""
    assert type_text(C.common(of(left).type, of(right).type)) == name
    assert type_text(C.common(of(right).type, of(left).type)) == name


def test_common_types_where_long_has_the_size_of_int():
    """A signed type of higher rank that cannot hold the unsigned one: both become its unsigned type."""
    compute = Arithmetic(DataModel(long_size=4))
    assert type_text(compute.common(compute.model.base("unsigned int"), compute.model.base("long"))) == "unsigned long"


def test_enumerations_are_integers():
    names = Lazy.known((Enumerator("A", 1),))
    signed = Enumeration("E", 4, Lazy.known((Enumerator("A", -1),)))
    unsigned = Enumeration("F", 4, names, Lazy.known(C.model.base("unsigned int")))
    small = Enumeration("G", 1, names)
    assert [type_text(C.promoted(each)) for each in (signed, unsigned, small)] == ["int", "unsigned int", "int"]


@for_each("name, ctype",
    ("int", ctypes.c_int32),                                 ("unsigned int", ctypes.c_uint32),
    ("long", ctypes.c_int64),                                ("unsigned long", ctypes.c_uint64))  # fmt: skip
@given(st.integers(-(1 << 65), 1 << 65), st.integers(-(1 << 65), 1 << 65), st.sampled_from(BINARY))
def test_integers_are_those_of_c(name, ctype, left, right, operator):
    left, right = ctype(left).value, ctype(right).value
    if operator in ("<<", ">>"):
        right = abs(right) % (8 * ctypes.sizeof(ctype))
    if operator in ("/", "%") and not right:
        right = 3
    found = C.binary(operator, of(name, left), of(name, right)).number()
    if operator == "/":
        expected = abs(left) // abs(right) * (-1 if (left < 0) != (right < 0) else 1)
    elif operator == "%":
        expected = abs(left) % abs(right) * (-1 if left < 0 else 1)
    else:
        expected = int(eval(f"left {operator} right"))
    assert found == (expected if operator in ("==", "!=", "<", "<=", ">", ">=") else ctype(expected).value)


@given(
    st.lists(st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1)), min_size=2, max_size=5),
    st.sampled_from(BINARY),
    st.sampled_from(["char", "unsigned int", "long", "float", "double", "_Float16", "__bf16", "long double"]),
    st.sampled_from(["short", "int", "unsigned long", "float", "double"]),
)
def test_all_lanes_are_as_each_lane_alone(pairs, operator, first, second):
    first, second = C.model.base(first), C.model.base(second)
    masks = [(1 << min(8 * byte_size(each), 80)) - 1 for each in (first, second)]
    pairs = [(left & masks[0], right & masks[1]) for left, right in pairs]
    alone = []
    for left, right in pairs:
        try:
            alone.append(C.binary(operator, ScalarOperand(first, left), ScalarOperand(second, right)))
        except (UsageError, EvaluationError) as error:
            alone.append(type(error))
    columns = [
        b.array([pair[side] for pair in pairs], 80 if byte_size(kind) > 8 else 64)
        for side, kind in enumerate((first, second))
    ]
    failing = [slot for slot, each in enumerate(alone) if each is EvaluationError]
    if UsageError in alone or failing:
        fault = raised(
            UsageError if UsageError in alone else LaneFault, C.binary, operator, ScalarOperand(first, columns[0]),
            ScalarOperand(second, columns[1]))  # fmt: skip
        assert not failing or fault.positions.tolist() == failing
        return
    together = C.binary(operator, ScalarOperand(first, columns[0]), ScalarOperand(second, columns[1]))
    for slot, each in enumerate(alone):
        assert (int(b.select(together.bits, slot)), type_text(together.type)) == (each.bits, type_text(each.type))


@for_each("operator, operand, number, name",
    ("-", "5", -5, "int"), ("~", "5", -6, "int"), ("!", "5", 0, "int"), ("+", "'a'", 97, "int"),
    ("-", "1u", 4294967295, "unsigned int"), ("-", "1.5", -1.5, "double"), ("!", "0.0", 1, "int"))  # fmt: skip
def test_unary_operators(operator, operand, number, name):
    found = C.unary(operator, literal(operand))
    assert (found.number(), type_text(found.type)) == (number, name)


def test_conditions_are_bool_in_cplus_and_int_in_c():
    assert type_text(C.binary("<", literal("1"), literal("2")).type) == "int"
    assert type_text(CPLUS.binary("<", literal("1"), literal("2")).type) == "bool"
    assert type_text(CPLUS.logical("&&", literal("1"), literal("2")).type) == "bool"


@for_each("source, target, number",
    ("3.99", "int", 3), ("-3.99", "int", -3), ("1e30", "int", 2147483647), ("-1e30", "int", -2147483648),
    ("-1.5", "unsigned char", 0), ("300", "unsigned char", 44), ("200", "signed char", -56),
    ("0.5", "_Bool", 1), ("0.0", "_Bool", 0), ("256", "_Bool", 1), ("0.1", "float", 0.10000000149011612),
    ("16777217", "float", 16777216.0), ("65504", "_Float16", 65504.0), ("65520", "_Float16", float("inf")),
    ("1", "long double", 1.0), ("0.1l", "double", 0.1), ("-1", "unsigned long", (1 << 64) - 1))  # fmt: skip
def test_casts(source, target, number):
    negative = source.startswith("-")
    operand = literal(source.lstrip("-"))
    if negative:
        operand = C.unary("-", operand)
    assert C.cast(operand, C.model.base(target)).number() == number


def pointer(address, name="int", space=None):
    return ScalarOperand(C.model.pointer_to(C.model.base(name), space), address)


def test_pointers_move_by_objects():
    assert C.binary("+", pointer(0x1000), literal("3")).bits == 0x100C
    assert C.binary("+", literal("3"), pointer(0x1000, "double")).bits == 0x1018
    assert C.binary("-", pointer(0x1000), literal("1")).bits == 0xFFC
    assert C.binary("+", pointer(0x1000), C.unary("-", literal("1"))).bits == 0xFFC
    assert C.binary("-", pointer(0x1010), pointer(0x1000)).number() == 4
    assert C.binary("-", pointer(0x1000), pointer(0x1010)).number() == -4
    moved = C.binary("+", ScalarOperand(C.model.pointer_to(C.model.base("int")), b.array([16, 32], 64)), literal("1"))
    assert moved.bits.tolist() == [20, 36]


@pytest.mark.parametrize("operator, number", [("==", 0), ("!=", 1), ("<", 1), ("<=", 1), (">", 0), (">=", 0)])
def test_pointers_compare_as_addresses(operator, number):
    assert C.binary(operator, pointer(0x1000), pointer(0xFFFFFFFFFFFFF000)).number() == number
    assert C.binary("==", pointer(0), literal("0")).number() == 1


def test_what_pointers_cannot_do():
    for operator, left, right in (
        ("*", pointer(1), literal("2")),
        ("+", pointer(1), pointer(2)),
        ("-", literal("1"), pointer(2)),
        ("+", pointer(1), literal("1.5")),
        ("%", literal("1.5"), literal("2")),
        ("<<", literal("1.5"), literal("2")),
        ("-", pointer(8), pointer(4, "double")),
    ):
        raised(UsageError, C.binary, operator, left, right)
    for operator in ("-", "~"):
        raised(UsageError, C.unary, operator, pointer(1))
    structure = ScalarOperand(Struct("struct", "S", 4, Lazy.known(Body())), 0)
    assert "cannot be computed with" in str(raised(UsageError, C.binary, "+", structure, literal("1")))


def test_arrays_decay():
    array = Array(Lazy.known(C.model.base("int")), (Dimension(0, count=2), Dimension(0, count=3)))
    assert type_text(C.decayed(array)) == "int (*)[3]"
    assert type_text(C.repeated(C.model.base("int"), 8)) == "int [8]"
    raised(UsageError, C.repeated, C.model.base("int"), 0)


def test_division_by_zero():
    for operator in ("/", "%"):
        assert "divisor is 0" in str(raised(EvaluationError, C.binary, operator, literal("1"), literal("0")))
    assert C.binary("/", literal("1.0"), literal("0")).number() == float("inf")
    assert C.binary("/", literal("1.0l"), literal("0")).number() == float("inf")


def complex_of(real, imaginary):
    kind = C.model.base("complex double")
    parts = [C.literal(parse(text)).bits for text in (real, imaginary)]
    return ScalarOperand(kind, parts[0] | parts[1] << 64)


def parts_of(operand):
    from dwarfgpu.expr.floats import DOUBLE

    return complex(DOUBLE.decode(operand.bits & (1 << 64) - 1), DOUBLE.decode(operand.bits >> 64))


def test_long_double_divided_by_zero_has_the_sign_of_both():
    zero, one = literal("0.0l"), literal("1.0l")
    negative = C.unary("-", zero)
    quotients = [C.binary("/", left, right) for left in (one, C.unary("-", one)) for right in (zero, negative)]
    assert [quotient.number() for quotient in quotients] == [math.inf, -math.inf, -math.inf, math.inf]
    assert math.isnan(C.binary("/", negative, zero).number())


@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
def test_complex_numbers(operator):
    found = C.binary(operator, complex_of("3.0", "4.0"), complex_of("1.0", "2.0"))
    assert parts_of(found) == eval(f"complex(3, 4) {operator} complex(1, 2)")
    assert parts_of(C.binary(operator, complex_of("3.0", "4.0"), literal("2"))) == eval(f"complex(3, 4) {operator} 2")


def test_complex_numbers_compare_and_convert():
    assert C.binary("==", complex_of("1.0", "2.0"), complex_of("1.0", "2.0")).number() == 1
    assert C.binary("!=", complex_of("1.0", "2.0"), literal("1")).number() == 1
    assert parts_of(C.unary("~", complex_of("1.0", "2.0"))) == complex(1, -2)
    assert C.cast(complex_of("3.0", "4.0"), C.model.base("int")).number() == 3
    assert parts_of(C.cast(literal("3"), C.model.base("complex double"))) == 3
    raised(UsageError, C.binary, "<", complex_of("1.0", "2.0"), literal("1"))


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_real_part_of_a_complex_number_is_first_in_memory(order):
    compute = Arithmetic(DataModel(byte_order=order))
    number = compute.cast(literal("3"), compute.model.base("complex double"))
    assert number.bits.to_bytes(16, order) == struct.pack(f"{'<' if order == 'little' else '>'}dd", 3, 0)
    assert compute.unary("+", number).bits == compute.unary("-", compute.unary("-", number)).bits == number.bits


def vector_of(numbers, name="int"):
    element = C.model.base(name)
    bits = sum((number & 0xFFFFFFFF) << 32 * index for index, number in enumerate(numbers))
    return ScalarOperand(Array(Lazy.known(element), (Dimension(0, count=len(numbers)),), is_vector=True), bits)


def test_vectors_are_computed_element_by_element():
    left, right = vector_of([1, -2, 3]), vector_of([10, 20, 30])
    assert C.binary("+", left, right).bits == vector_of([11, 18, 33]).bits
    assert C.binary("*", left, literal("2")).bits == vector_of([2, -4, 6]).bits
    assert C.binary("<", left, literal("2")).bits == vector_of([-1, -1, 0]).bits
    assert C.unary("-", left).bits == vector_of([-1, 2, -3]).bits
    assert "vectors of the same shape" in str(raised(UsageError, C.binary, "+", left, vector_of([1, 2])))
    raised(UsageError, C.unary, "!", left)
