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
    convert signed8    -1                    -> signed128    -1
    convert signed8    -1                    -> signed2048   -1
    convert signed8    -1                    -> unsigned8    255
    convert signed8    -1                    -> unsigned16   65535
    convert signed8    -1                    -> unsigned128  340282366920938463463374607431768211455
    convert signed8    -1                    -> generic64    18446744073709551615
    convert signed8    -1                    -> generic24    16777215
    convert signed8    -1                    -> address64    18446744073709551615
    convert signed8    -1                    -> signed_char8 -1
    convert signed8    -1                    -> signed7      -1
    convert signed8    -1                    -> unsigned7    127
    convert signed8    -1                    -> signed1      -1
    convert signed8    -1                    -> unsigned1    1
    convert signed8    -128                  -> signed7      0
    convert signed8    65                    -> UTF32        65
    convert unsigned8  255                   -> signed8      -1
    convert unsigned8  255                   -> signed16     255
    convert unsigned8  255                   -> unsigned64   255
    convert unsigned8  255                   -> generic64    255
    convert unsigned8  255                   -> generic8     255
    convert signed16   -129                  -> signed8      127
    convert signed16   256                   -> unsigned8    0
    convert signed32   -2                    -> signed33     -2
    convert signed32   -2                    -> unsigned33   8589934590
    convert signed33   -4294967296           -> signed32     0
    convert signed33   -1                    -> signed65     -1
    convert signed33   -1                    -> unsigned65   36893488147419103231
    convert signed65   -18446744073709551616 -> signed128    -18446744073709551616
    convert signed65   -18446744073709551616 -> signed64     0
    convert unsigned65 0x1ffffffffffffffff   -> signed65     -1
    convert unsigned65 0x10000000000000000   -> unsigned128  18446744073709551616
    convert signed24   -1                    -> signed32     -1
    convert unsigned24 0xffffff              -> signed24     -1
    convert signed1    1                     -> signed8      -1
    convert unsigned1  1                     -> signed8      1
    convert signed7    64                    -> signed16     -64
    convert unsigned7  64                    -> signed16     64
    convert signed128  -1                    -> signed8      -1
    convert unsigned128 0xffffffffffffffffffffffffffffff80 -> signed8 -128
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
    convert generic64  -1                    -> signed128    18446744073709551615
    convert generic8   -1                    -> signed16     255
    convert generic24  -1                    -> signed32     16777215
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
    convert generic64  -1                    -> float32    1.8446744073709552e+19
    convert generic24  -1                    -> float32    16777215.0
    convert generic8   -1                    -> bfloat1616 255.0
    convert signed64   -1                    -> float32    -1.0
    convert signed64   16777217              -> float32    16777216.0
    convert signed64   16777219              -> float32    16777220.0
    convert signed64   -16777217             -> float32    -16777216.0
    convert signed64   9007199254740993      -> float64    9007199254740992.0
    convert signed64   9007199254740995      -> float64    9007199254740996.0
    convert unsigned64 0x8000008000000001    -> float32    9.223373136366404e+18   # above a tie only in its last bit
    convert unsigned64 0x8000008000000000    -> float32    9.223372036854776e+18   # a tie
    convert signed32   2049                  -> float16    2048.0
    convert signed32   2051                  -> float16    2052.0
    convert signed32   65519                 -> float16    65504.0
    convert signed32   65520                 -> float16    inf
    convert signed32   -65520                -> float16    -inf
    convert signed32   257                   -> bfloat1616 256.0
    convert signed32   259                   -> bfloat1616 260.0
    convert address64  0x10                  -> float32    16.0
    convert UTF32      0x41                  -> float32    65.0
    convert unsigned128 0xffffffffffffffffffffffffffffffff -> float64 3.402823669209385e+38
    convert unsigned128 0xffffffffffffffffffffffffffffffff -> float32 inf
    convert unsigned128 0xffffff80000000000000000000000000 -> float32 inf
    convert unsigned128 0xffffff7fffffffffffffffffffffffff -> float32 3.4028234663852886e+38
    convert signed65   -18446744073709551616 -> float64    -1.8446744073709552e+19
    convert unsigned1  1                     -> float64    1.0
    convert signed1    1                     -> float64    -1.0
    """)

# A float is cut off towards zero. Open: what does not fit becomes the nearest number that does, NaN becomes 0.
test_floats_to_integers = conversions("""
    convert float64    1.9                   -> signed8      1
    convert float64    -1.9                  -> signed8      -1
    convert float64    0.9                   -> unsigned8    0
    convert float64    -0.0                  -> signed8      0
    convert float64    127.9                 -> signed8      127
    convert float64    128                   -> signed8      127
    convert float64    -129                  -> signed8      -128
    convert float64    255.5                 -> unsigned8    255
    convert float64    256                   -> unsigned8    255
    convert float64    -1                    -> unsigned8    0
    convert float64    1e300                 -> signed64     9223372036854775807
    convert float64    1e300                 -> unsigned64   18446744073709551615
    convert float64    inf                   -> signed32     2147483647
    convert float64    -inf                  -> signed32     -2147483648
    convert float64    inf                   -> unsigned128  340282366920938463463374607431768211455
    convert float64    nan                   -> signed32     0
    convert float64    nan                   -> generic64    0
    convert float64    1e20                  -> signed128    100000000000000000000
    convert float64    4294967296            -> unsigned33   4294967296
    convert float64    1e19                  -> generic64    10000000000000000000
    convert float32    16777216              -> generic24    16777215
    convert float32    2.5                   -> generic64    2
    convert float32    2.5                   -> address64    2
    convert float16    65504                 -> unsigned16   65504
    convert float16    -2.5                  -> signed7      -2
    convert bfloat1616 3.984375              -> unsigned1    1
    convert float64    1.5                   -> boolean8     1
    """)

test_floats_to_floats = conversions("""
    convert float32    0.5                   -> float64    0.5
    convert float32    0.1                   -> float64    0.10000000149011612
    convert float64    0.1                   -> float32    0.10000000149011612
    convert float64    0.1                   -> float16    0.0999755859375
    convert float64    0.1                   -> bfloat1616 0.10009765625
    convert float64    1e40                  -> float32    inf
    convert float64    -1e40                 -> float32    -inf
    convert float64    1e-50                 -> float32    0.0
    convert float64    -1e-50                -> float32    -0.0
    convert float64    1e-45                 -> float32    1.401298464324817e-45
    convert float64    65520                 -> float16    inf
    convert float64    65519.99              -> float16    65504.0
    convert float64    1.00048828125         -> float16    1.0                     # a tie
    convert float64    1.0004882812500002    -> float16    1.0009765625            # just above it
    convert float64    3e-8                  -> float16    5.960464477539063e-08
    convert float64    2.9e-8                -> float16    0.0
    convert float64    1.00390625            -> bfloat1616 1.0                     # a tie
    convert float64    1.0039062500000002    -> bfloat1616 1.0078125
    convert float64    1.01171875            -> bfloat1616 1.015625
    convert float64    3.4e38                -> bfloat1616 inf
    convert float64    3.39e38               -> bfloat1616 3.3895313892515355e+38
    convert float16    65504                 -> bfloat1616 65536.0
    convert bfloat1616 256                   -> float16    256.0
    convert bfloat1616 1e5                   -> float16    inf
    convert bfloat1616 1e-40                 -> float32    9.183549615799121e-41
    convert float64    inf                   -> bfloat1616 inf
    convert float32    nan                   -> float64    nan
    convert float64    nan                   -> float16    nan
    convert float64    nan                   -> bfloat1616 nan
    convert float64    -0.0                  -> bfloat1616 -0.0
    convert float32    1.5                   -> float32    1.5
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
    reinterpret generic8   -1                  -> signed8      -1
    reinterpret generic16  0x3c00              -> float16      1.0
    reinterpret generic64  7                   -> generic64    7
    reinterpret float16    1                   -> bfloat1616   0.0078125
    reinterpret bfloat1616 1                   -> float16      1.875
    reinterpret bfloat1616 1                   -> unsigned16   16256
    reinterpret signed33   -1                  -> unsigned33   8589934591
    reinterpret signed65   -1                  -> unsigned65   36893488147419103231
    reinterpret signed1    -1                  -> unsigned1    1
    reinterpret signed7    -1                  -> unsigned7    127
    reinterpret signed128  -1                  -> unsigned128  340282366920938463463374607431768211455
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
    const_type <unsigned8x2> 0102; convert <unsigned16> -> unsupported_type_operation
    const_type <unsigned8x2> 0102; convert 0 -> unsupported_type_operation
    lit1; convert <unsigned8x2> -> unsupported_type_operation
    const_type <float32x2> 0000803f00000040; convert <float16x4> -> unsupported_type_operation
    lit1; convert <complex_float64> -> unsupported_type_operation
    lit1; convert <float80> -> unsupported_type_operation
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
    lit9; lit1; convert <signed8> => ("9", "1:signed8")
    addr 0x10; convert <signed8> -> 16:signed8
    (2) addr 0x10; reinterpret <signed64> -> 16:signed64
    (1) reg1; convert 0 -> wrong_kind
    (2) reg1; reinterpret 0 -> wrong_kind
    (1) implicit_value 01; convert 0 -> wrong_kind
    reg1; piece 4; convert 0 -> incomplete_composite
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
def test_one_is_one_in_every_type(source):
    # -1 where the type has only one bit and a sign
    for target in [*SCALARS, "signed2048", "unsigned2048"]:
        if "float" in source and target == "signed1":
            continue  # which has no 1
        number = -1 if "signed1" in (source, target) else 1
        if number < 0 and not target.startswith(("signed", "float", "bfloat")):
            number += 1 << bits(target)
        checked(f"<{source}=1>; convert {named(target)}", target, number)


@pytest.mark.parametrize("source", SCALARS)
def test_reinterpreting_twice_gives_the_same_value(source):
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
