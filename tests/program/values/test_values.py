import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.expr import floats as f
from dwarfgpu.program.types.model import (
    VOID,
    Array,
    Base,
    BaseClass,
    Body,
    Dimension,
    Enumeration,
    Enumerator,
    Function,
    Lazy,
    Member,
    Pointer,
    Qualified,
    Struct,
    Subrange,
    Typedef,
    Variant,
    VariantPart,
)
from dwarfgpu.program.values.objects import Object, constant
from dwarfgpu.program.values.scalars import scalar_of
from dwarfgpu.program.values.storage import Address, Bytes, ObjectPlace, cannot_access
from dwarfgpu.render.values import Look, check_format, general, value_json, value_text
from tests.builders.errors import raised
from tests.builders.parameters import examples, for_each

INT = Base("int", 5, 4)
UNSIGNED = Base("unsigned int", 7, 4)
CHAR = Base("char", 6, 1)
BOOL = Base("bool", 2, 1)
FLOAT, DOUBLE = Base("float", 4, 4), Base("double", 4, 8)


def array(element, *counts, **options):
    return Array(Lazy.known(element), tuple(Dimension(0, count=count) for count in counts), **options)


def struct(name, size, *members, bases=(), parts=(), kind="struct"):
    body = Body(bases, members, order=tuple(range(len(members))), variant_parts=parts)
    return Struct(kind, name, size, Lazy.known(body), is_cplus=True)


def member(name, type, offset, bits=None):
    return Member(name, Lazy.known(type), offset, bits)


class Memory(Bytes):
    """Bytes at an address, as a machine has them."""

    def __init__(self, data, byte_order="little", undefined=b"", base=0x1000):
        Bytes.__init__(self, data, byte_order, undefined)
        self.base = base
        self.size = len(data)

    def read(self, bit_offset, bit_size):
        if not 0 <= bit_offset <= 8 * self.size - bit_size:
            raise cannot_access(self.address_of(bit_offset // 8 * 8))
        return Bytes.read(self, bit_offset, bit_size)

    def at(self, address):
        return ObjectPlace(self, 8 * (address.value - self.base))

    def address_of(self, bit_offset):
        return Address(None, self.base + bit_offset // 8)


def stored(type, data, **options):
    return Object(type, ObjectPlace(Memory(data, **options)))


@for_each("type, data, number, text",
    (INT, b"\xff\xff\xff\xff", -1, "-1"),                     (UNSIGNED, b"\xff\xff\xff\xff", 4294967295, "4294967295"),
    (CHAR, b"A", 65, "65 'A'"),  (CHAR, b"\xe9", -23, r"-23 '\351'"),                      (BOOL, b"\1", 1, "true"),
    (BOOL, b"\7", 7, "7"),       (FLOAT, b"\0\0\x80\x3f", 1.0, "1"),
    (Base("char16_t", 0x10, 2), b"x\0", 120, "120 u'x'"),
    (Base("wchar_t", 5, 4), b"\xac\x20\0\0", 8364, "8364 L'€'"),
    (Base("address", 1, 8), (0x1234).to_bytes(8, "little"), 0x1234, "0x1234"),
    (Base("odd", 7, 4, 12, 3), (0xABC << 3).to_bytes(4, "little"), 0xABC, "2748"),
    (Base("odd", 5, 4, 4, 28), (0xF << 28).to_bytes(4, "little"), -1, "-1"),
    (Base("swapped", 7, 4, byte_order="big"), b"\1\2\3\4", 0x01020304, "16909060"),
    (Base("fixed", 0x0D, 2, binary_scale=-4), (-24).to_bytes(2, "little", signed=True), -1.5, "-1.5"),
    (Base("money", 0x0D, 2, decimal_scale=-2), (1234).to_bytes(2, "little"), 12.34, "12.34"),
    (Base("packed", 0x0A, 2), b"\x12\x34", 0x3412, "0x3412"),
    (Subrange("small", Lazy.known(INT), Dimension(0, 9), 1), b"\7", 7, "7"),
    (Typedef("t", Lazy.known(Qualified("const", Lazy.known(INT)))), b"\5\0\0\0", 5, "5"))  # fmt: skip
def test_scalars(type, data, number, text):
    value = constant(type, data)
    assert value.number() == pytest.approx(number)
    assert value_text(value) == text


def test_both_byte_orders_read_a_value_in_its_storage():
    odd = Base("odd", 7, 2, 5, 2)
    assert constant(odd, (0b10110 << 2).to_bytes(2, "little"), "little").number() == 0b10110
    assert constant(odd, (0b10110 << 9).to_bytes(2, "big"), "big").number() == 0b10110


@pytest.mark.parametrize("byte_order", ["little", "big"])
@pytest.mark.parametrize("kind", [INT, CHAR, DOUBLE, Base("odd", 5, 4, 12, 3), Base("s", 5, 4, byte_order="big")])
def test_storing_is_the_opposite_of_reading(kind, byte_order):
    scalar = scalar_of(kind, byte_order)
    pattern = 0x123456789ABCDEF & ((1 << scalar.bits) - 1)
    assert scalar.pattern(scalar.stored(pattern, byte_order), byte_order) == pattern
    data = scalar.stored(pattern, byte_order).to_bytes(scalar.storage_bits // 8, byte_order)
    assert constant(kind, data, byte_order).pattern().bits == pattern


@given(
    st.lists(st.integers(0, (1 << 32) - 1), min_size=2, max_size=8), st.sampled_from(["int", "float", "odd", "e5m2"])
)
def test_all_lanes_are_as_each_lane_alone(patterns, name):
    kind = {"int": INT, "float": FLOAT, "odd": Base("odd", 5, 4, 12, 3), "e5m2": Base("fp8_e5m2", 4, 1)}[name]
    scalar = scalar_of(kind)
    patterns = [each & ((1 << scalar.storage_bits) - 1) for each in patterns]
    together = scalar.number(scalar.pattern(b.array(patterns, 64), "little"))
    alone = [scalar.number(scalar.pattern(each, "little")) for each in patterns]
    np.testing.assert_array_equal(np.asarray(together), np.asarray(alone))


@pytest.mark.parametrize("layout", [f.HALF, f.SINGLE, f.DOUBLE, f.BFLOAT], ids=lambda each: each.name)
@given(st.integers(0, (1 << 64) - 1))
def test_a_double_is_the_exact_number(layout, pattern):
    pattern &= (1 << layout.bit_size) - 1
    double, exact = layout.decode(pattern), layout.exact(pattern)
    assert double == exact or (math.isnan(double) and math.isnan(exact))


@pytest.mark.parametrize("layout", [f.HALF, f.SINGLE, f.DOUBLE], ids=lambda each: each.name)
@given(st.floats() | st.integers(-(1 << 200), 1 << 200).map(float))
def test_rounding_is_that_of_the_processor(layout, number):
    assert layout.encode(number) == layout.encode_exact(number)


@for_each("layout",
    f.HALF, f.BFLOAT, f.E4M3, f.E4M3_FNUZ, f.E5M2, f.E5M2_FNUZ, f.SINGLE, f.DOUBLE, f.X87, f.QUAD,
    ids=lambda each: each.name)  # fmt: skip
@given(st.integers(0, (1 << 128) - 1))
def test_encoding_is_the_opposite_of_decoding(layout, pattern):
    pattern &= (1 << layout.bit_size) - 1
    number = layout.exact(pattern)
    if layout.kind(pattern) == "finite" and not (layout.leading and _is_unnormal(layout, pattern)):
        assert layout.encode_exact(number) == pattern
        if layout.fits_double:
            assert layout.encode(layout.decode(pattern)) == pattern


def _is_unnormal(layout, pattern):
    """Whether an x87 pattern has a leading bit that contradicts its exponent: such numbers have another pattern too."""
    _, exponent, fraction = layout.fields(pattern)
    return bool(exponent) != bool(fraction >> 63)


@for_each("layout, pattern, number",
    (f.E4M3, 0x7E, 448),                  (f.E4M3, 0x01, Fraction(1, 512)),     (f.E4M3_FNUZ, 0x7F, 240),
    (f.E4M3_FNUZ, 0x01, Fraction(1, 1024)),                                     (f.E5M2, 0x7B, 57344),
    (f.E5M2_FNUZ, 0x7F, 57344),           (f.E5M2_FNUZ, 0x01, Fraction(1, 131072)),
    (f.X87, 0x3FFF8000000000000000, 1),   (f.X87, 0x4000C90FDAA22168C235, Fraction(0xC90FDAA22168C235, 1 << 62)),
)  # fmt: skip
def test_numbers_of_formats(layout, pattern, number):
    """Largest and smallest numbers of the 8-bit formats (OCP 8-bit floating point, table 1; and their fnuz forms)."""
    assert layout.exact(pattern) == number
    assert layout.encode_exact(Fraction(number)) == pattern


@for_each("layout, pattern", (f.E4M3, 0x7F), (f.E4M3, 0xFF), (f.E4M3_FNUZ, 0x80), (f.E5M2_FNUZ, 0x80), (f.E5M2, 0x7D))
def test_what_is_not_a_number(layout, pattern):
    assert layout.kind(pattern) == "nan"


def test_only_names_tell_small_floats_apart():
    assert f.float_format("__fp8_e4m3", 8) is f.E4M3
    assert f.float_format("__hip_fp8_e5m2_fnuz", 8) is f.E5M2_FNUZ
    assert f.float_format("float8_e4m3fnuz", 8) is f.E4M3_FNUZ
    assert f.float_format("mystery", 8) is None
    assert f.float_format("__bf16", 16) is f.BFLOAT
    assert f.float_format("half", 16) is f.HALF
    assert f.float_format("_Float128", 128) is f.QUAD
    assert f.float_format("long double", 128) is f.X87
    assert value_text(constant(Base("mystery", 4, 1), b"\x44")) == "0x44"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_general_is_that_of_c(number):
    if number:
        assert general(Fraction(number), 17) == f"{number:.17g}"
        assert general(number, 9) == general(Fraction(number), 9) == f"{number:.9g}"


POINT = struct("Point", 8, member("x", INT, 0), member("y", INT, 32))


def test_structures_and_their_members():
    value = stored(POINT, b"\1\0\0\0\xfe\xff\xff\xff")
    assert value_text(value) == "{x = 1, y = -2}"
    assert value.member("y").number() == -2
    assert value.member("y").address == Address(None, 0x1004)
    assert "no member named z" in str(raised(UsageError, value.member, "z"))


@for_each("byte_order, data", ("little", 5 | 29 << 3 | 0x123456 << 8), ("big", 5 << 29 | 29 << 24 | 0x123456))
def test_bit_fields_in_both_byte_orders(byte_order, data):
    fields = struct("F", 4, member("a", UNSIGNED, 0, 3), member("b", INT, 3, 5), member("c", UNSIGNED, 8, 24))
    value = stored(fields, data.to_bytes(4, byte_order), byte_order=byte_order)
    assert value_text(value) == "{a = 5, b = -3, c = 1193046}"
    assert value_text(value, Look("x")) == "{a = 0x5, b = 0xfffffffd, c = 0x123456}"


def test_unnamed_members_and_bases_are_searched():
    inner = struct(None, 4, member("deep", INT, 0), kind="union")
    value = stored(struct("D", 12, member(None, inner, 64), bases=(BaseClass(Lazy.known(POINT), 0),)), bytes(range(12)))
    assert value.member("deep").number() == 0x0B0A0908
    assert value.member("y").number() == 0x07060504
    assert value_text(value) == "{<Point> = {x = 50462976, y = 117835012}, {deep = 185207048}}"


def test_a_discriminant_chooses_the_variant():
    part = VariantPart(
        member("tag", CHAR, 0), (Variant(((1, 3),), (member("a", CHAR, 8),)), Variant(None, (member("b", CHAR, 8),)))
    )
    kind = struct("V", 2, parts=(part,))
    assert value_text(stored(kind, b"\2A")) == "{a = 65 'A'}"
    assert value_text(stored(kind, b"\7A")) == "{b = 65 'A'}"


def test_arrays_of_several_dimensions():
    data = b"".join(each.to_bytes(4, "little") for each in range(6))
    assert value_text(stored(array(INT, 2, 3), data)) == "{{0, 1, 2}, {3, 4, 5}}"
    assert value_text(stored(array(INT, 2, 3, column_major=True), data)) == "{{0, 1}, {2, 3}, {4, 5}}"
    assert stored(array(INT, 2, 3), data).element(1).element(2).number() == 5


def test_strides_and_lower_bounds():
    data = b"".join(each.to_bytes(2, "little") for each in range(8))
    short = Base("short", 5, 2)
    value = stored(Array(Lazy.known(short), (Dimension(-1, 2, bit_stride=32),)), data)
    assert value_text(value) == "{0, 2, 4, 6}"
    assert value.element(-1).number() == 0
    backwards = Array(Lazy.known(short), (Dimension(0, 2, bit_stride=-16),))
    assert value_text(Object(backwards, value.place.moved(32))) == "{2, 1, 0}"


@for_each("count, text",
    (10, "{7, 7, 7, 7, 7, 7, 7, 7, 7, 7}"),
    (11, "{7 <repeats 11 times>}"),
    (300, "{7 <repeats 300 times>}"))  # fmt: skip
def test_runs_are_folded(count, text):
    assert value_text(stored(array(INT, count), b"\7\0\0\0" * count)) == text


@for_each("count, after",
    (2, ", <error: Cannot access memory at address 0x1008>"),
    (12, " <repeats 12 times>"),
    (1 << 40, " <repeats 199 times>..."))  # fmt: skip
def test_elements_that_fail_alike_are_folded(count, after):
    text = value_text(stored(array(INT, 1 + count), b"\7\0\0\0"))
    first = "<error: Cannot access memory at address 0x1004>"
    assert text == f"{{7, {first}{after}}}"


def test_limits():
    data = b"".join(each.to_bytes(4, "little") for each in range(300))
    value = stored(array(INT, 300), data)
    assert value_text(value, Look(elements=3)) == "{0, 1, 2...}"
    assert value_text(value).endswith("198, 199...}")
    deep = struct("A", 4, member("b", struct("B", 4, member("c", struct("C", 4, member("d", INT, 0)), 0)), 0))
    assert value_text(stored(deep, data), Look(depth=1)) == "{b = {...}}"
    assert value_text(stored(array(CHAR, 12), b"hello, world"), Look(elements=5)) == '"hello"...'


def test_an_array_without_end_is_shown_in_part():
    """2^60 elements are described in a few bytes."""
    value = stored(array(CHAR, 1 << 60), b"A" * 64)
    assert value_text(value).startswith("<error: Cannot access memory at address 0x1000")
    value = stored(array(INT, 1 << 50), b"\1\0\0\0" * 20)
    assert value_text(value, Look(elements=4)) == "{1, 1, 1, 1...}"
    assert "which is too many" in value_text(stored(array(INT, 1 << 60, 1 << 60), b""))


@pytest.mark.slow
def test_a_small_description_of_very_many_members_is_cut():
    kind = INT
    for level in range(12):
        kind = struct(f"S{level}", 4, *[member(f"m{index}", kind, 0) for index in range(10)])
    text = value_text(stored(kind, b"\1\0\0\0"))
    assert "..." in text
    assert len(text) < 2_000_000


def test_missing_bits_are_optimized_out():
    undefined = b"\0\0\0\0\xff\0\0\0"
    value = stored(POINT, b"\1\0\0\0\2\0\0\0", undefined=undefined)
    assert value_text(value) == "{x = 1, y = <optimized out>}"
    assert "optimized out" in str(raised(EvaluationError, value.member("y").number))
    assert value_text(stored(POINT, bytes(8), undefined=b"\xff" * 8)) == "<optimized out>"
    assert value_text(stored(array(CHAR, 3), b"abc", undefined=b"\0\xff\0")) == "{97 'a', <optimized out>, 99 'c'}"


def test_what_cannot_be_read_says_so():
    assert value_text(stored(POINT, bytes(4))) == "{x = 0, y = <error: Cannot access memory at address 0x1004>}"
    value = stored(Pointer("*", Lazy.known(CHAR), 8), (0x9999).to_bytes(8, "little"))
    assert value_text(value) == "0x9999 <error: Cannot access memory at address 0x9999>"
    assert "Cannot access memory" in str(raised(EvaluationError, value.dereferenced().number))


def test_pointers_are_followed():
    data = (0x1008).to_bytes(8, "little") + b"text\0rest"
    value = stored(Pointer("*", Lazy.known(CHAR), 8), data)
    assert value_text(value) == '0x1008 "text"'
    assert value_text(value, Look(elements=2)) == '0x1008 "te"...'
    assert value_text(value, Look(symbol=lambda each: f"sym+{each.value - 0x1000}")) == '0x1008 <sym+8> "text"'
    assert value.element(2).number() == ord("x")
    assert value_text(stored(Pointer("*", Lazy.known(INT), 8), data)) == "(int *) 0x1008"
    reference = stored(Pointer("&", Lazy.known(CHAR), 8), data)
    assert value_text(reference) == "(char &) @0x1008: 116 't'"
    assert reference.target().number() == ord("t")


def test_addresses_name_their_space():
    value = stored(Pointer("*", Lazy.known(INT), 4, 3), b"\x20\0\0\0")
    assert value_text(value) == "(int *) local#0x20"
    assert value_text(value, Look(space_name={3: "shared"}.get)) == "(int *) shared#0x20"
    assert value_text(value, Look(space_name={}.get)) == "(int *) aspace3#0x20"


def test_misuse_is_told():
    for ask in (
        lambda: constant(POINT, bytes(8)).number(),
        lambda: constant(INT, bytes(4)).member("x"),
        lambda: constant(INT, bytes(4)).array(),
        lambda: constant(INT, bytes(4)).pointer(),
        lambda: constant(INT, bytes(4)).string(),
        lambda: constant(INT, bytes(4)).through(constant(INT, bytes(4))),
        lambda: check_format("q"),
    ):
        raised(UsageError, ask)
    for value in (constant(INT, bytes(2)), constant(array(INT, 2), bytes(8)).element(-9)):
        assert "past the end" in str(raised(DwarfGpuError, value.number))


@for_each("values, number, text",
    ({"A": 0, "B": 5}, 5, "B"), ({"A": 0, "B": 5}, 6, "6"), ({"A": 1, "B": 2, "C": 8}, 9, "(A | C)"),
    ({"A": 1, "B": 2, "C": 8}, 12, "(C | unknown: 0x4)"),   ({"A": 1, "B": 2}, 0, "0"), ({"A": 1, "B": 6}, 7, "7"),
    ({"A": -1, "B": 2}, 3, "3"))  # fmt: skip
def test_enumerations(values, number, text):
    names = tuple(Enumerator(name, value) for name, value in values.items())
    kind = Enumeration("E", 4, Lazy.known(names), prefix="ns::")
    expected = text if text[0].isdigit() else text.replace("A", "ns::A").replace("B", "ns::B").replace("C", "ns::C")
    assert value_text(constant(kind, number.to_bytes(4, "little"))) == expected


def test_the_unit_of_rust_is_no_number():
    unit = Base("()", 7, 0)
    assert value_text(constant(unit, b"")) == "()"
    assert value_text(constant(struct("(i32, ())", 0, member("__1", unit, 0)), b"")) == "{__1 = ()}"
    assert value_json(constant(unit, b"")) == {"type": "()", "text": "()"}


def test_json():
    kind = struct(
        "S",
        32,                                  member("i", INT, 0),                 member("d", DOUBLE, 64),
        member("t", array(CHAR, 4), 128),    member("b", BOOL, 160),
        member("p", Pointer("*", Lazy.known(INT), 4, 3), 192),                    member("u", INT, 224))  # fmt: skip
    data = bytearray(32)
    data[0], data[8:16], data[16:19], data[20], data[24] = 5, b"\0\0\0\0\0\0\xf8\x7f", b"abc", 1, 0x20
    found = value_json(
        stored(kind, bytes(data), undefined=bytes(28) + b"\xff\0\0\0"), Look(space_name={3: "local"}.get)
    )
    assert json.loads(json.dumps(found)) == found
    assert found["type"] == "S"
    assert found["members"] == [
        {"name": "i", "type": "int", "value": 5},
        {"name": "d", "type": "double", "value": "nan", "bits": "0x7ff8000000000000"},
        {
            "name": "t",              "type": "char [4]",       "lower": 0,               "length": 4,
            "elements": [
                {"type": "char", "value": code, "text": text}
                for code, text in [(97, "'a'"), (98, "'b'"), (99, "'c'"), (0, r"'\000'")]
            ],
            "text": '"abc"',
        },
        {"name": "b", "type": "bool", "value": True},
        {"name": "p", "type": "int *", "value": 32, "space": "local"},
        {"name": "u", "type": "int", "state": "undefined", "undefined_bits": "0xff"}]  # fmt: skip


def test_a_member_that_is_an_enumeration_has_both_names_in_json():
    color = Enumeration("E", 4, Lazy.known((Enumerator("A", 3),)))
    found = value_json(constant(struct("S", 4, member("kind", color, 0)), bytes([3, 0, 0, 0])))
    assert found["members"] == [{"name": "kind", "type": "E", "value": 3, "enumerator": "A"}]


def test_json_keeps_numbers_exact():
    wide = Base("long double", 4, 16)
    tenth = f.X87.encode_exact(Fraction(1, 10)).to_bytes(16, "little")
    assert value_json(constant(wide, tenth))["value"] == "0.100000000000000000001"
    assert value_json(constant(wide, f.X87.encode_exact(Fraction(5, 4)).to_bytes(16, "little")))["value"] == 1.25
    assert value_json(constant(Base("u", 7, 16), b"\xff" * 16))["value"] == (1 << 128) - 1
    assert value_json(constant(Base("c", 3, 8), bytes(4) + b"\0\0\x80\x3f")) == {
        "type": "c", "real": 0.0, "imaginary": 1.0}  # fmt: skip


def test_json_says_why_there_is_no_value():
    found = value_json(stored(POINT, bytes(4)))["members"][1]
    assert found["state"] == "error"
    assert found["error"]["kind"] == "memory_unavailable"
    many = value_json(stored(array(INT, 300), bytes(1200)), Look(elements=3))
    assert (len(many["elements"]), many["more"], many["length"]) == (3, 297, 300)


@st.composite
def kinds(draw, depth=0):
    """A type of any kind, also one that makes no sense."""
    sizes = st.sampled_from([0, 1, 2, 4, 7, 8, 16, 1 << 40])
    leaf = st.builds(
        Base, st.sampled_from(["int", "char", "e4m3", "bf16", "wchar_t", ""]), st.integers(0, 0x14),
        st.none() | sizes, st.none() | st.integers(0, 70), st.integers(0, 70), st.none() | st.integers(1, 5),
        st.sampled_from([None, "big", "little"]))  # fmt: skip
    if depth > 3:
        return draw(leaf)
    inner = kinds(depth + 1)
    choice = draw(st.integers(0, 7))
    if choice == 0:
        return Pointer(draw(st.sampled_from(["*", "&", "&&"])), Lazy.known(draw(inner)), draw(sizes))
    if choice == 1:
        bounds = st.none() | st.integers(-5, 40) | st.sampled_from([1 << 61, -(1 << 61)])
        found = draw(st.lists(st.builds(Dimension, st.integers(-3, 3), bounds, bounds, bounds), max_size=3))
        return Array(Lazy.known(draw(inner)), tuple(found), draw(st.booleans()), draw(st.booleans()))
    if choice in (2, 3):
        parts = draw(st.lists(st.tuples(inner, st.integers(0, 200), st.none() | st.integers(0, 70)), max_size=4))
        members = [member(f"m{i}", each, offset, bits) for i, (each, offset, bits) in enumerate(parts)]
        return struct("S", draw(st.none() | sizes), *members)
    if choice == 4:
        return Typedef("t", Lazy.known(draw(inner)))
    if choice == 5:
        return Function(Lazy.known(draw(inner)), Lazy.known(()))
    if choice == 6:
        return Enumeration("E", draw(st.none() | sizes), Lazy.known((Enumerator("A", draw(st.integers(-9, 9))),)))
    return draw(leaf | st.just(VOID))


@examples(100)
@given(kinds(), st.binary(max_size=64), st.sampled_from(["little", "big"]), st.sampled_from([None, *"xduotzfcasr"]))
def test_any_type_and_any_bytes_give_a_text(kind, data, byte_order, letter):
    value = stored(kind, data, byte_order=byte_order, undefined=data[::-1][: len(data) // 2].ljust(len(data), b"\0"))
    assert isinstance(value_text(value, Look(letter, elements=20)), str)
    json.dumps(value_json(value, Look(elements=20)))
