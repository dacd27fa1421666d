"""A.2.5.4.3.3 Type Conversion Operations, which is DWARF 5 section 2.5.1.6."""

from __future__ import annotations

import struct

import pytest

from tests.builders.cases import Case, run, table

KINDS = {
    "signed8": {"encoding": "signed", "byte_size": 1},
    "signed16": {"encoding": "signed", "byte_size": 2},
    "signed32": {"encoding": "signed", "byte_size": 4},
    "signed64": {"encoding": "signed", "byte_size": 8},
    "signed128": {"encoding": "signed", "byte_size": 16},
    "unsigned8": {"encoding": "unsigned", "byte_size": 1},
    "unsigned16": {"encoding": "unsigned", "byte_size": 2},
    "unsigned32": {"encoding": "unsigned", "byte_size": 4},
    "unsigned64": {"encoding": "unsigned", "byte_size": 8},
    "unsigned128": {"encoding": "unsigned", "byte_size": 16},
    "unsigned2048": {"encoding": "unsigned", "byte_size": 256},
    "signed2048": {"encoding": "signed", "byte_size": 256},
    "signed_char8": {"encoding": "signed_char", "byte_size": 1},
    "unsigned_char8": {"encoding": "unsigned_char", "byte_size": 1},
    "boolean8": {"encoding": "boolean", "byte_size": 1},
    "address64": {"encoding": "address", "byte_size": 8},
    "UTF32": {"encoding": "UTF", "byte_size": 4},
    "UTF8": {"encoding": "UTF", "byte_size": 1},
    "signed1": {"encoding": "signed", "byte_size": 1, "bit_size": 1},
    "unsigned1": {"encoding": "unsigned", "byte_size": 1, "bit_size": 1},
    "signed7": {"encoding": "signed", "byte_size": 1, "bit_size": 7},
    "unsigned7": {"encoding": "unsigned", "byte_size": 1, "bit_size": 7},
    "signed24": {"encoding": "signed", "byte_size": 3},
    "unsigned24": {"encoding": "unsigned", "byte_size": 3},
    "signed33": {"encoding": "signed", "byte_size": 5, "bit_size": 33},
    "unsigned33": {"encoding": "unsigned", "byte_size": 5, "bit_size": 33},
    "signed65": {"encoding": "signed", "byte_size": 9, "bit_size": 65},
    "unsigned65": {"encoding": "unsigned", "byte_size": 9, "bit_size": 65},
    "float16": {"encoding": "float", "byte_size": 2},
    "float32": {"encoding": "float", "byte_size": 4},
    "float64": {"encoding": "float", "byte_size": 8},
    "bfloat1616": {"encoding": "bfloat16", "byte_size": 2},
    "unsigned8x2": {"encoding": "unsigned", "byte_size": 1, "vector_size": 2},
    "unsigned8x4": {"encoding": "unsigned", "byte_size": 1, "vector_size": 4},
    "float32x2": {"encoding": "float", "byte_size": 4, "vector_size": 2},
    "float16x4": {"encoding": "float", "byte_size": 2, "vector_size": 4},
    "float80": {"encoding": "float", "byte_size": 10},
    "unsigned80": {"encoding": "unsigned", "byte_size": 10},
    "complex_float64": {"encoding": "complex_float", "byte_size": 8},
}
OFFSETS = {kind: 0x10 + i for i, kind in enumerate(KINDS)}
TYPES = {str(OFFSETS[kind]): described for kind, described in KINDS.items()}
NUMBERS = {"convert": 1, "reinterpret": 2}
LETTERS = {"float16": "e", "float32": "f", "float64": "d", "bfloat1616": "f"}


def push(kind, word, order):
    """The text that pushes a value: a DW_OP_const8u or s for the generic type, a DW_OP_const_type for any other."""
    if kind.startswith("generic"):
        return f"DW_OP_const8{'s' if word.startswith('-') else 'u'} {word}"
    size = KINDS[kind]["byte_size"]
    if kind in LETTERS:
        data = struct.pack(f">{LETTERS[kind]}", float(word))[:size]
    else:
        data = (int(word, 0) & (1 << 8 * size) - 1).to_bytes(size, "big")
    return f"DW_OP_const_type {OFFSETS[kind]} {(data if order == 'big' else data[::-1]).hex()}"


def rows(text):
    """Lines ``operation type value -> type value``, each in both byte orders; ``generic24`` is the type of addresses
    of 24 bits, and an error stands in the place of a value."""
    for line in text.strip().splitlines():
        before, _, after = line.split("#")[0].partition("->")
        operation, source, word = before.split()
        target, *expected = after.split(None, 1)
        clause = f"DWARF 5, 2.5.1.6 ({NUMBERS[operation]})"
        address_size = next((int(kind[7:]) // 8 for kind in (source, target) if kind.startswith("generic")), 8)
        offset = 0 if target.startswith("generic") else OFFSETS[target]
        for order in ("little", "big"):
            result = expected[0].strip()
            if result.lstrip("-")[:1].isdigit() or result in ("nan", "inf", "-inf"):
                result += f":{target}" if offset else ""
            yield Case(
                clause,
                f"{push(source, word, order)}; DW_OP_{operation} {offset}",
                result,
                rules="amd",
                base_types=TYPES,
                byte_order=order,
                address_size=address_size,
            )


# "converts it to a different type": the number stays if the type has it; of integers the low bits stay.
INTEGERS = [
    *rows("""
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
]

# An integer becomes the nearest number of the format; halfway between two it is the even one.
TO_FLOATS = [
    *rows("""
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
]

# A float is cut off towards zero. Open: what does not fit becomes the nearest number that does, NaN becomes 0.
FROM_FLOATS = [
    *rows("""
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
]

BETWEEN_FLOATS = [
    *rows("""
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
]

# "reinterprets the bits in its value as a value of a different type".
REINTERPRETED = [
    *rows("""
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
]

# "The type of the operand and result type must have the same size in bits."
SIZES = [
    *rows("""
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
]


def row(number, ops, expected, **case):
    return Case(f"DWARF 5, 2.5.1.6 ({number})", ops, expected, **{"rules": "amd", "base_types": TYPES, **case})


U8X2, U8X4, F32X2, F16X4 = (OFFSETS[kind] for kind in ("unsigned8x2", "unsigned8x4", "float32x2", "float16x4"))

VECTORS = [
    # Vectors have bits, but no conversion: the standard defines none.
    row(2, f"DW_OP_const_type {OFFSETS['unsigned16']} 0102; DW_OP_reinterpret {U8X2}", "[1, 2]:unsigned8x2"),
    row(2, f"DW_OP_const_type {U8X2} 0102; DW_OP_reinterpret {OFFSETS['unsigned16']}", "513:unsigned16"),
    row(
        2,
        f"DW_OP_const_type {U8X2} 0102; DW_OP_reinterpret {OFFSETS['unsigned16']}",
        "258:unsigned16",
        byte_order="big",
    ),
    row(2, f"DW_OP_const_type {U8X2} 0102; DW_OP_reinterpret 0", "513", address_size=2),
    row(2, f"DW_OP_const4u 0x04030201; DW_OP_reinterpret {U8X4}", "[1, 2, 3, 4]:unsigned8x4", address_size=4),
    row(2, f"DW_OP_const_type {F32X2} 0000803f00000040; DW_OP_reinterpret {F16X4}", "[0.0, 1.875, 0.0, 2.0]:float16x4"),
    row(
        2,
        f"DW_OP_const_type {OFFSETS['float80']} {'01' * 10}; DW_OP_reinterpret {OFFSETS['unsigned80']}",
        f"{int('01' * 10, 16)}:unsigned80",
    ),
    row(2, f"DW_OP_const_type {OFFSETS['complex_float64']} 0100000000000000; DW_OP_reinterpret 0", "1"),
    row(1, f"DW_OP_const_type {U8X2} 0102; DW_OP_convert {U8X2}", "[1, 2]:unsigned8x2"),  # no conversion at all
    row(1, f"DW_OP_const_type {U8X2} 0102; DW_OP_convert {OFFSETS['unsigned16']}", "unsupported_type_operation"),
    row(1, f"DW_OP_const_type {U8X2} 0102; DW_OP_convert 0", "unsupported_type_operation"),
    row(1, f"DW_OP_lit1; DW_OP_convert {U8X2}", "unsupported_type_operation"),
    row(1, f"DW_OP_const_type {F32X2} 0000803f00000040; DW_OP_convert {F16X4}", "unsupported_type_operation"),
    row(1, f"DW_OP_lit1; DW_OP_convert {OFFSETS['complex_float64']}", "unsupported_type_operation"),
    row(1, f"DW_OP_lit1; DW_OP_convert {OFFSETS['float80']}", "unsupported_type_operation"),
]

OPERANDS = [
    # "or value 0 which represents the generic type", whatever stands at offset 0
    row(1, f"DW_OP_const_type {OFFSETS['signed8']} ff; DW_OP_convert 0", str(2**64 - 1)),
    row(1, "DW_OP_lit1; DW_OP_convert 0", "1", base_types={"0": KINDS["signed8"]}),
    row(2, "DW_OP_lit1; DW_OP_reinterpret 0", "1", base_types={"0": KINDS["signed8"]}),
    # ... also without a compilation unit that has types
    row(1, "DW_OP_lit1; DW_OP_convert 0", "1", base_types={}),
    row(2, "DW_OP_lit1; DW_OP_reinterpret 0", "1", base_types={}),
    # "If the operand is non-zero, the referenced entry must be a DW_TAG_base_type entry."
    row(1, "DW_OP_lit1; DW_OP_convert 0x99", "bad_type"),
    row(2, "DW_OP_lit1; DW_OP_reinterpret 0x99", "bad_type"),
    row(1, "DW_OP_lit1; DW_OP_convert 0xffffffffffffffff", "bad_type"),
    row(2, "DW_OP_lit1; DW_OP_reinterpret 0xffffffffffffffff", "bad_type"),
    row(1, "DW_OP_lit1; DW_OP_convert 1", "bad_type", base_types={"1": {"encoding": "signed", "byte_size": 0}}),
    # "pops the top stack entry": a value
    row(1, f"DW_OP_lit9; DW_OP_lit1; DW_OP_convert {OFFSETS['signed8']}", ("9", "1:signed8")),
    row(1, f"DW_OP_addr 0x10; DW_OP_convert {OFFSETS['signed8']}", "16:signed8"),
    row(2, f"DW_OP_addr 0x10; DW_OP_reinterpret {OFFSETS['signed64']}", "16:signed64"),
    row(1, "DW_OP_reg1; DW_OP_convert 0", "wrong_kind"),
    row(2, "DW_OP_reg1; DW_OP_reinterpret 0", "wrong_kind"),
    row(1, "DW_OP_implicit_value 01; DW_OP_convert 0", "wrong_kind"),
    row(1, "DW_OP_reg1; DW_OP_piece 4; DW_OP_convert 0", "incomplete_composite"),
    row(1, "DW_OP_convert 0", "stack_underflow"),
    row(2, "DW_OP_reinterpret 0", "stack_underflow"),
    # The older names.
    row(1, f"DW_OP_const1s -1; DW_OP_GNU_convert {OFFSETS['signed8']}", "-1:signed8"),
    row(2, f"DW_OP_const1s -1; DW_OP_GNU_reinterpret {OFFSETS['signed64']}", "-1:signed64"),
    # Values that differ from lane to lane.
    row(
        1,
        f"DW_OP_LLVM_push_lane; DW_OP_neg; DW_OP_convert {OFFSETS['signed8']}",
        ["0:signed8", "-1:signed8"],
        lane_count=2,
    ),
    row(1, f"DW_OP_LLVM_push_lane; DW_OP_convert {OFFSETS['float16']}", ["0.0:float16", "1.0:float16"], lane_count=2),
    row(
        1,
        f"DW_OP_LLVM_push_lane; DW_OP_convert {OFFSETS['unsigned128']}",
        ["0:unsigned128", "1:unsigned128"],
        lane_count=2,
    ),
    row(
        2,
        f"DW_OP_LLVM_push_lane; DW_OP_neg; DW_OP_reinterpret {OFFSETS['signed64']}",
        ["0:signed64", "-1:signed64"],
        lane_count=2,
    ),
]

test_integers = table(INTEGERS)
test_integers_to_floats = table(TO_FLOATS)
test_floats_to_integers = table(FROM_FLOATS)
test_floats_to_floats = table(BETWEEN_FLOATS)
test_reinterpreted_bits = table(REINTERPRETED)
test_reinterpret_needs_the_same_size = table(SIZES)
test_vectors_and_types_without_conversions = table(VECTORS)
test_operands = table(OPERANDS)

# --- The whole matrix ----------------------------------------------------------------------------------------------

BITS = {kind: described.get("bit_size", 8 * described["byte_size"]) for kind, described in KINDS.items()}
SCALARS = [kind for kind in KINDS if "x" not in kind and kind not in ("float80", "complex_float64")]


@pytest.mark.parametrize("source", ["generic64", *SCALARS])
def test_one_is_one_in_every_type(source):
    # -1 where the type has only one bit and a sign
    if "2048" in source:
        return  # wider than any DW_OP_const_type
    for target in ["generic64", *SCALARS]:
        if "float" in source and target == "signed1":
            continue  # which has no 1
        offset = OFFSETS.get(target, 0)
        number = -1 if source == "signed1" or target == "signed1" else 1
        if number < 0 and not target.startswith(("signed", "float", "bfloat")):
            number += 1 << BITS.get(target, 64)
        expected = f"{float(number)}" if "float" in target else str(number)
        found = run(f"{push(source, '1', 'little')}; DW_OP_convert {offset}", base_types=TYPES)
        assert found == expected + (f":{target}" if offset else ""), (source, target)


@pytest.mark.parametrize("source", ["generic64", *SCALARS])
def test_reinterpreting_twice_gives_the_same_value(source):
    if "2048" in source:
        return
    begin = push(source, "1", "little")
    for target in ["generic64", *SCALARS]:
        there, back = OFFSETS.get(target, 0), OFFSETS.get(source, 0)
        found = run(f"{begin}; DW_OP_reinterpret {there}; DW_OP_reinterpret {back}", base_types=TYPES)
        same_size = BITS.get(source, 64) == BITS.get(target, 64)
        assert found == (run(begin, base_types=TYPES) if same_size else "bad_size"), (source, target)
