"""A.2.5.4.3.3 Type Conversion Operations, which is DWARF 5 section 2.5.1.6."""

import re

import pytest

from tests.builders.cases import KINDS, TypedRows, base_type, table

rows = TypedRows("DWARF 5, 2.5.1.6", vars())
NUMBERS = {"convert": 1, "reinterpret": 2}


def conversions(text):
    """Lines ``operation type value -> type value``, each in both byte orders; ``generic24`` is the type of addresses
    of 24 bits, and an error stands in the place of a value."""
    found = []
    for line in text.strip().splitlines():
        operation, source, word, _, target, expected = line.split("#")[0].split()
        offset = "0" if target.startswith("generic") else f"<{target}>"
        ops = f"<{source}={word}>; {operation} {offset}"
        found += rows.in_both_orders(NUMBERS[operation], ops, [source, target], expected)
    return table(found)


# "converts it to a different type": the number stays if the type has it; of integers the low bits stay.
test_integers = conversions("""
    convert signed8    -1                    -> signed16     -1
    convert signed8    -1                    -> signed64     -1
    convert signed8    -1                    -> unsigned8    255
    convert signed8    -1                    -> unsigned16   65535
    convert signed8    -1                    -> generic64    18446744073709551615
    convert signed8    -1                    -> generic24    16777215
    convert signed8    -1                    -> address64    18446744073709551615
    convert signed8    -1                    -> signed_char8 -1
    convert signed8    65                    -> UTF32        65
    convert unsigned8  255                   -> signed8      -1
    convert unsigned8  255                   -> signed16     255
    convert unsigned8  255                   -> unsigned64   255
    convert unsigned8  255                   -> generic64    255
    convert unsigned8  255                   -> generic8     255
    convert unsigned65 0x10000000000000000   -> unsigned128  18446744073709551616
    convert signed_char8 -56                 -> unsigned_char8 200
    convert unsigned_char8 200               -> signed32     200
    convert boolean8   1                     -> signed32     1
    convert signed32   1                     -> boolean8     1
    convert signed32   0                     -> boolean8     0
    convert UTF32      0x1f600               -> unsigned32   128512
    convert UTF32      0x41                  -> UTF8         65
    convert address64  0xffffffffffffffff    -> generic64    18446744073709551615
    convert address64  0xffffffffffffffff    -> signed64     -1
    convert generic64  -1                    -> address64    18446744073709551615
    convert generic64  -1                    -> signed64     -1
    convert generic64  -1                    -> signed8      -1
    convert generic64  0x1ff                 -> unsigned8    255
    convert generic64  -1                    -> unsigned2048 18446744073709551615   # open: with zeros
    convert generic32  -1                    -> unsigned64   4294967295
    convert generic64  7                     -> generic64    7
    """)

# An integer becomes the nearest number of the format; halfway between two it is the even one.
test_integers_to_floats = conversions("""
    convert signed8    -3                    -> float64    -3.0
    convert unsigned8  255                   -> float16    255.0
    convert boolean8   1                     -> float32    1.0
    convert generic64  5                     -> float64    5.0
    convert generic64  -1                    -> float64    1.8446744073709552e+19
    convert signed64   -1                    -> float32    -1.0
    convert unsigned64 0x8000008000000001    -> float32    9.223373136366404e+18   # above a tie only in its last bit
    convert unsigned64 0x8000008000000000    -> float32    9.223372036854776e+18   # a tie
    convert address64  0x10                  -> float32    16.0
    convert UTF32      0x41                  -> float32    65.0
    convert unsigned128 0xffffffffffffffffffffffffffffffff -> float64 3.402823669209385e+38
    """)

# A float is cut off towards zero. Open: what does not fit becomes the nearest number that does, NaN becomes 0.
test_floats_to_integers = conversions("""
    convert float64    1.9                   -> signed8      1
    convert float64    -1.9                  -> signed8      -1
    convert float64    0.9                   -> unsigned8    0
    convert float64    255.5                 -> unsigned8    255
    convert float64    nan                   -> generic64    0
    convert float64    1e19                  -> generic64    10000000000000000000
    convert float32    2.5                   -> address64    2
    convert float64    1.5                   -> boolean8     1
    """)
test_floats_to_floats = conversions("""
    convert float32    0.5                   -> float64    0.5
    convert float32    0.1                   -> float64    0.10000000149011612
    convert float64    1.00048828125         -> float16    1.0                     # a tie
    convert float64    1.0004882812500002    -> float16    1.0009765625            # just above it
    convert float64    1.00390625            -> bfloat1616 1.0                     # a tie
    """)

# "reinterprets the bits in its value as a value of a different type".
test_reinterpreted_bits = conversions("""
    reinterpret signed8    -1                  -> unsigned8    255
    reinterpret unsigned8  200                 -> signed8      -56
    reinterpret signed8    65                  -> UTF8         65
    reinterpret signed8    -1                  -> boolean8     255
    reinterpret signed_char8 -1                -> unsigned_char8 255
    reinterpret float32    1                   -> unsigned32   1065353216
    reinterpret float32    -0.0                -> signed32     -2147483648
    reinterpret unsigned32 0x3f800000          -> float32      1.0
    reinterpret unsigned32 0x7f800001          -> float32      nan
    reinterpret float64    1                   -> generic64    4607182418800017408
    reinterpret generic64  0x3ff0000000000000  -> float64      1.0
    reinterpret generic64  -1                  -> signed64     -1
    reinterpret generic64  -1                  -> address64    18446744073709551615
    reinterpret address64  1                   -> generic64    1
    reinterpret generic32  0x3f800000          -> float32      1.0
    reinterpret generic24  -1                  -> signed24     -1
    reinterpret generic64  7                   -> generic64    7
    reinterpret float16    1                   -> bfloat1616   0.0078125
    reinterpret bfloat1616 1                   -> float16      1.875
    reinterpret bfloat1616 1                   -> unsigned16   16256
    reinterpret signed33   -1                  -> unsigned33   8589934591
    reinterpret signed32   1                   -> signed32     1
    """)

# "The type of the operand and result type must have the same size in bits."
test_reinterpret_needs_the_same_size = conversions("""
    reinterpret signed8    1                   -> signed16     bad_size
    reinterpret signed16   1                   -> signed8      bad_size
    reinterpret signed8    1                   -> signed7      bad_size    # the same bytes are not enough
    reinterpret signed33   1                   -> signed32     bad_size
    reinterpret float32    1                   -> float64      bad_size
    reinterpret float32    1                   -> generic64    bad_size
    reinterpret generic64  1                   -> float32      bad_size
    reinterpret generic32  1                   -> unsigned64   bad_size
    reinterpret generic24  1                   -> unsigned32   bad_size
    reinterpret generic64  1                   -> unsigned128  bad_size
    reinterpret generic64  1                   -> unsigned8x2  bad_size
    reinterpret unsigned8  1                   -> unsigned8x2  bad_size
    reinterpret signed128  1                   -> signed2048   bad_size
    """)
test_vectors_and_types_without_conversions = rows.table("""
    # Vectors have bits, but no conversion: the standard defines none.
    (2) const_type <unsigned16> 0102; reinterpret <unsigned8x2> -> [1, 2]:unsigned8x2
    const_type <unsigned8x2> 0102; reinterpret <unsigned16> -> 513:unsigned16
    const_type <unsigned8x2> 0102; reinterpret <unsigned16> -> 258:unsigned16 where byte_order="big"
    const_type <unsigned8x2> 0102; reinterpret 0 -> 513 where address_size=2
    const4u 0x04030201; reinterpret <unsigned8x4> -> [1, 2, 3, 4]:unsigned8x4 where address_size=4
    const_type <float32x2> 0000803f00000040; reinterpret <float16x4> -> [0.0, 1.875, 0.0, 2.0]:float16x4
    const_type <float80> 01010101010101010101; reinterpret <unsigned80> -> 4740885567116192841985:unsigned80
    const_type <complex_float64> 0100000000000000; reinterpret 0 -> 1
    # no conversion at all
    (1) const_type <unsigned8x2> 0102; convert <unsigned8x2> -> [1, 2]:unsigned8x2
    const_type <unsigned8x2> 0102; convert <unsigned16> | const_type <unsigned8x2> 0102; convert 0 |
        lit1; convert <unsigned8x2> | const_type <float32x2> 0000803f00000040; convert <float16x4> |
        lit1; convert <complex_float64> | lit1; convert <float80> -> unsupported_type_operation
    """)
test_operands = rows.table("""
    # "or value 0 which represents the generic type", whatever stands at offset 0
    (1) const_type <signed8> ff; convert 0 => str(2**64 - 1)
    lit1; convert 0 -> 1 where base_types={"0": base_type("signed8")}
    (2) lit1; reinterpret 0 -> 1 where base_types={"0": base_type("signed8")}
    # ... also without a compilation unit that has types
    (1) lit1; convert 0 -> 1 where base_types={}
    (2) lit1; reinterpret 0 -> 1 where base_types={}
    # "If the operand is non-zero, the referenced entry must be a DW_TAG_base_type entry."
    (1) lit1; convert 0x99 -> bad_type
    (2) lit1; reinterpret 0x99 -> bad_type
    (1) lit1; convert 0xffffffffffffffff -> bad_type
    (2) lit1; reinterpret 0xffffffffffffffff -> bad_type
    (1) lit1; convert 1 -> bad_type where base_types={"1": {"encoding": "signed", "byte_size": 0}}
    # "pops the top stack entry": a value
    lit9; lit1; convert <signed8> => ("9", "1:signed8")       addr 0x10; convert <signed8> -> 16:signed8
    (2) addr 0x10; reinterpret <signed64> -> 16:signed64
    (1) reg1; convert 0 -> wrong_kind
    (2) reg1; reinterpret 0 -> wrong_kind
    (1) implicit_value 01; convert 0 -> wrong_kind            reg1; piece 4; convert 0 -> incomplete_composite
    convert 0 -> stack_underflow
    (2) reinterpret 0 -> stack_underflow
    # The older names.
    (1) const1s -1; GNU_convert <signed8> -> -1:signed8
    (2) const1s -1; GNU_reinterpret <signed64> -> -1:signed64
    # Values that differ from lane to lane.
    (1) LLVM_push_lane; neg; convert <signed8> => ["0:signed8", "-1:signed8"] where lane_count=2
    LLVM_push_lane; convert <float16> => ["0.0:float16", "1.0:float16"] where lane_count=2
    LLVM_push_lane; convert <unsigned128> => ["0:unsigned128", "1:unsigned128"] where lane_count=2
    (2) LLVM_push_lane; neg; reinterpret <signed64> => ["0:signed64", "-1:signed64"] where lane_count=2
    """)
SCALARS = ["generic64"] + [
    kind
    for kind in KINDS
    if not re.search(r"x|float80|complex|decimal|2048", kind)  # wider than any const_type
]


@pytest.mark.parametrize("source", SCALARS)
@pytest.mark.sampled(3)
def test_one_is_one_in_every_type_and_reinterpreting_twice_changes_nothing(source):
    # -1 where the type has only one bit and a sign
    for target in [*SCALARS, "signed2048", "unsigned2048"]:
        if "float" in source and target == "signed1":
            continue  # which has no 1
        number = -1 if "signed1" in (source, target) else 1
        if number < 0 and not target.startswith(("signed", "float", "bfloat")):
            number += 1 << bits(target)
        checked(f"<{source}=1>; convert {named(target)}", target, number)
    for target in SCALARS:
        ops = f"<{source}=1>; reinterpret {named(target)}; reinterpret {named(source)}"
        if bits(source) == bits(target):
            checked(ops, source, -1 if source == "signed1" else 1)
        else:
            rows.row("", ops, "bad_size").check()


def bits(kind):
    described = {"byte_size": 8} if kind == "generic64" else base_type(kind)
    return described.get("bit_size", 8 * described["byte_size"])


def named(kind):
    return "0" if kind == "generic64" else f"<{kind}>"


def checked(ops, kind, number):
    """Check that a program gives a number of a type."""
    value = str(float(number)) if "float" in kind else str(number)
    rows.row("", ops, value if kind == "generic64" else f"{value}:{kind}").check()
