"""A.2.5.4.3.2 Arithmetic and Logical Operations, which is DWARF 5 section 2.5.1.4.

``test_arithmetic_model.py`` compares all operations of all widths with a model; here are the rules, one by one.
"""

from tests.builders.cases import TypedRows, table

NUMBERS = {
    "abs": 1, "and": 2, "div": 3, "minus": 4, "mod": 5, "mul": 6, "neg": 7, "not": 8, "or": 9, "plus": 10,
    "plus_uconst": 11, "shl": 12, "shr": 13, "shra": 14, "xor": 15}  # fmt: skip
ONE = ("abs", "neg", "not")
TWO = ("and", "div", "minus", "mod", "mul", "or", "plus", "shl", "shr", "shra", "xor")
INTEGRAL_ONLY = ("and", "mod", "or", "shl", "shr", "shra", "xor")
rows = TypedRows("DWARF 5, 2.5.1.4", vars())
row = rows.row


def lines(text):
    """Lines ``operation type operand operand -> result``, each in both byte orders.

    ``generic24`` is the generic type of addresses of 24 bits. A result has the type of the operands, or is an error.
    """
    found = []
    for line in text.strip().splitlines():
        program, _, expected = line.split("#")[0].partition("->")
        operation, kind, *operands = program.split()
        pushed, immediate = (operands[:1], operands[1:]) if operation == "plus_uconst" else (operands, [])
        ops = "; ".join([*(f"<{kind}={word}>" for word in pushed), " ".join([operation, *immediate])])
        found += rows.in_both_orders(NUMBERS[operation], ops, [kind], expected.strip())
    return found


# "interprets it as a signed value and pushes its absolute value. If the absolute value cannot be represented, the
# result is undefined": then it wraps around. Open: the standard says "signed" of all types; the encoding of a base
# type decides.
test_abs = table(
    lines("""
    abs generic64  5                      -> 5
    abs generic64  -5                     -> 5
    abs signed8    -128                   -> -128
    abs signed8    -127                   -> 127
    abs signed_char8 -3                   -> 3
    abs unsigned8  200                    -> 200
    abs address64  0xffffffffffffffff     -> 18446744073709551615
    abs float64    -1.5                   -> 1.5
    abs float32    -0.0                   -> 0.0
    """)
)
test_bitwise_operations = table(
    lines("""
    and generic64   0xff00ff00ff00ff00 0x0ff00ff00ff00ff0 -> 1080880403494997760
    and generic16   0x1ffff 0xfff0                        -> 65520
    and signed8     -2 0x7f                               -> 126
    and unsigned128 0xffffffffffffffff0000000000000001 3  -> 1
    and boolean8    1 0                                   -> 0
    and unsigned1   1 1                                   -> 1
    and signed1     -1 -1                                 -> -1
    or  generic64   0x0f 0xf0                             -> 255
    or  signed16    -32768 1                              -> -32767
    or  unsigned65  0x10000000000000000 1                 -> 18446744073709551617
    or  boolean8    1 0                                   -> 1
    xor generic64   -1 1                                  -> 18446744073709551614
    xor generic24   -1 1                                  -> 16777214
    xor signed8     -1 -128                               -> 127
    xor unsigned33  0x1ffffffff 0x100000000               -> 4294967295
    not generic64   0                                     -> 18446744073709551615
    not generic8    0x0f                                  -> 240
    not signed8     0                                     -> -1
    not unsigned7   0                                     -> 127
    not unsigned33  0                                     -> 8589934591
    not signed65    0                                     -> -1
    not boolean8    1                                     -> 254
    """)
)

# "Operations do not cause an exception on overflow": the result is taken modulo 2 to the power of the size.
test_plus_minus_mul_neg = table(
    lines("""
    plus  generic64   0xffffffffffffffff 1      -> 0
    plus  generic64   0x7fffffffffffffff 1      -> 9223372036854775808
    plus  signed8     127 1                     -> -128
    plus  signed8     -128 -1                   -> 127
    plus  unsigned8   255 1                     -> 0
    plus  unsigned1   1 1                       -> 0
    plus  address64   0xffffffffffffffff 2      -> 1
    plus  UTF32       0x41 1                    -> 66
    plus  boolean8    1 1                       -> 2
    plus  float32     0.1 0.2                   -> 0.30000001192092896
    plus  float64     0.1 0.2                   -> 0.30000000000000004
    plus  float16     2048 1                    -> 2048.0              # a tie goes to the even one
    minus generic64   3 5                       -> 18446744073709551614
    minus generic64   0 1                       -> 18446744073709551615
    minus signed8     -128 1                    -> 127
    minus unsigned8   0 1                       -> 255
    minus signed7     -64 1                     -> 63
    minus unsigned33  0 1                       -> 8589934591
    minus float64     1 0.9                     -> 0.09999999999999998
    minus float32     inf inf                   -> nan
    mul   generic64   0x100000000 0x100000000   -> 0
    mul   generic64   -1 -1                     -> 1
    mul   signed8     -128 -1                   -> -128
    mul   signed8     100 3                     -> 44
    mul   unsigned8   255 255                   -> 1
    mul   unsigned128 0xffffffffffffffff 0xffffffffffffffff -> 340282366920938463426481119284349108225
    mul   float32     3 0.1                     -> 0.30000001192092896
    mul   float64     1e200 1e200               -> inf
    neg   generic64   1                         -> 18446744073709551615
    neg   generic64   0                         -> 0
    neg   signed8     -128                      -> -128    # it "cannot be represented": it wraps around
    neg   signed8     5                         -> -5
    neg   unsigned8   5                         -> 251
    neg   signed1     -1                        -> -1
    neg   address64   1                         -> 18446744073709551615
    neg   float64     0                         -> -0.0
    neg   float32     inf                       -> -inf
    """)
)

# "divides the former second entry by the former top of the stack using signed division".
# Open: so it is for the generic type, and the encoding of a base type decides; ``INT_MIN / -1`` wraps around; a float
# is divided by zero as IEEE 754 has it, an integer is not.
test_div = table(
    lines("""
    div generic64   7 2                       -> 3
    div generic64   -7 2                      -> 18446744073709551613
    div signed8     -128 -1                   -> -128
    div signed8     -7 2                      -> -3
    div unsigned8   254 2                     -> 127
    div unsigned8   1 255                     -> 0
    div signed_char8 -100 7                   -> -14
    div unsigned_char8 200 7                  -> 28
    div address64   0xfffffffffffffffe 2      -> 9223372036854775807
    div float64     1 3                       -> 0.3333333333333333
    div float32     1 3                       -> 0.3333333432674408
    div generic64   1 0                       -> division_by_zero
    div generic8    1 0x100                   -> division_by_zero
    div signed8     1 0                       -> division_by_zero
    div unsigned8   0 0                       -> division_by_zero
    div unsigned128 1 0                       -> division_by_zero
    div boolean8    1 0                       -> division_by_zero
    div address64   1 0                       -> division_by_zero
    """)
)

# "former second stack entry modulo the former top of the stack". Open: unsigned for the generic type, as "addressing
# arithmetic" is; a signed remainder has the sign of the dividend.
test_mod = table(
    lines("""
    mod generic64   7 3                       -> 1
    mod generic64   -1 10                     -> 5
    mod signed8     -7 3                      -> -1
    mod signed8     7 -3                      -> 1
    mod unsigned8   255 16                    -> 15
    mod unsigned65  0x10000000000000000 10    -> 6
    mod boolean8    1 1                       -> 0
    mod generic64   1 0                       -> division_by_zero
    mod signed8     1 0                       -> division_by_zero
    mod unsigned128 1 0                       -> division_by_zero
    mod float64     1 1                       -> integral_type_required
    mod float32     1 0                       -> integral_type_required
    mod bfloat1616  1 1                       -> integral_type_required
    """)
)

# "adds it to the unsigned LEB128 constant operand interpreted as the same type as the operand popped".
test_plus_uconst = table(
    lines("""
    plus_uconst generic64   1 4                     -> 5
    plus_uconst generic64   -1 1                    -> 0
    plus_uconst signed8     1 255                   -> 0
    plus_uconst signed8     127 1                   -> -128
    plus_uconst unsigned8   255 2                   -> 1
    plus_uconst unsigned7   127 1                   -> 0
    plus_uconst boolean8    0 1                     -> 1
    plus_uconst float64     1.5 2                   -> integral_type_required
    plus_uconst float32     1.5 2                   -> integral_type_required
    plus_uconst bfloat1616  1.5 2                   -> integral_type_required
    plus_uconst address64   1 2                     -> integral_type_required
    plus_uconst UTF32       1 2                     -> integral_type_required
    """)
)

# "left (filling with zero bits)", "right logically (filling with zero bits)", "right arithmetically (divide the
# magnitude by 2, keep the same sign for the result)"; the type plays no part but by its size. Open: a count of the
# size or more shifts everything out, and a count has no sign.
test_shifts = table(
    lines("""
    shl  generic64   1 0                      -> 1
    shl  generic64   1 63                     -> 9223372036854775808
    shl  signed8     1 7                      -> -128
    shl  signed8     1 8                      -> 0
    shl  unsigned8   255 1                    -> 254
    shl  unsigned1   1 0                      -> 1
    shr  generic64   -1 63                    -> 1
    shr  generic64   -1 64                    -> 0
    shr  signed8     -128 7                   -> 1
    shr  signed8     -1 1                     -> 127
    shr  unsigned8   255 4                    -> 15
    shr  unsigned128 0x80000000000000000000000000000000 127 -> 1
    shra generic64   -1 1                     -> 18446744073709551615
    shra generic64   -8 1                     -> 18446744073709551612
    shra signed8     -128 3                   -> -16
    shra signed8     -3 1                     -> -2
    shra unsigned8   128 3                    -> 240
    shra unsigned33  0x100000000 1            -> 6442450944
    """)
)

# "Operations other than abs, div, minus, mul, neg and plus require integral types
# of the operand": floats, addresses and characters of UTF are none.
test_operations_that_require_integral_types = table(
    [
        case
        for kind in ("float16", "float32", "float64", "bfloat1616", "address64", "UTF32")
        for operation in (*INTEGRAL_ONLY, "not")
        for case in lines(f"{operation} {kind} {'1' if operation in ONE else '1 1'} -> integral_type_required")
    ]
)

# Types of which the standard says nothing: vectors, and encodings without binary numbers.
test_types_without_arithmetic = table(
    [
        row(
            f"({NUMBERS[operation]})",
            f"const_type <{kind}> {'01' * size}; {'dup; ' if operation in TWO else ''}{operation}",
            "unsupported_type_operation",
        )
        for kind, size in (
            ("unsigned8x2", 2),                ("float32x2", 8),                  ("float80", 10),
            ("complex_float64", 8),            ("packed_decimal16", 2),
        )
        for operation in ("abs", "neg", "plus", "minus", "mul", "div")
    ]
)  # fmt: skip


def each(operations, ops, expected):
    return [row(f"({NUMBERS[one]})", f"{ops}{one}", expected) for one in operations]


# "Operands of an operation with two operands must have the same type, either the same base type or the generic type."
test_operands_of_different_types = table(
    each(TWO, "lit1; const_type <unsigned8> 01; ", "type_mismatch"),
    each(TWO, "const_type <signed8> 01; const_type <unsigned8> 01; ", "type_mismatch"),
    each(("shl", "shr", "shra"), "const_type <signed8> 01; lit1; ", "type_mismatch"),  # also the count of a shift
    rows("""
    (10) const_type <float32> 00000000; const_type <float64> 0000000000000000; plus -> type_mismatch
    const_type <unsigned64> 0100000000000000; lit1; plus -> type_mismatch
    const_type <signed_char8> 01; const_type <signed8> 01; plus -> type_mismatch
    # "either the same base type": two entries with the same attributes are one type
    const_type 1 01; const_type 2 02; plus -> 3:signed8 where base_types=base_types("1 signed8, 2 signed8")
    """),
)
test_operands = table(
    # Operands that are no values.
    each(ONE, "reg1; ", "wrong_kind"),
    each(TWO, "reg1; lit1; ", "wrong_kind"),
    each(TWO, "lit1; reg1; ", "wrong_kind"),
    # Operands that are not there.
    each((*ONE, *TWO), "", "stack_underflow"),
    each(TWO, "lit1; ", "stack_underflow"),
    rows("""
    (11) reg1; plus_uconst 1 -> wrong_kind                    plus_uconst 1 -> stack_underflow
    # Addresses are converted to values of the generic type (A.2.5.4.4.3).
    (10) addr 0x10; addr 0x20; plus -> 48
    (11) addr 0x10; plus_uconst 4 -> 20
    (4) addr 0x10; addr 0x20; minus => str(2**64 - 16)
    # ... and so are not of the same type as a value of a base type.
    (10) addr 0x10; const_type <unsigned64> 0100000000000000; plus -> type_mismatch
    # What lies below the operands stays.
    lit9; lit1; lit2; plus => ("9", "3")
    (7) lit9; lit1; neg; neg => ("9", "1")
    """),
)
test_operands_that_differ_from_lane_to_lane = rows.table("""
    (10) LLVM_push_lane; lit10; plus => ["10", "11", "12"] where lane_count=3
    (4) lit1; LLVM_push_lane; minus => ["1", "0", str(2**64 - 1)] where lane_count=3
    lit1; LLVM_push_lane; minus => ["1", "0", "16777215"] where lane_count=3, address_size=3
    (12) lit1; LLVM_push_lane; const1u 31; mul; shl => ["1", "2147483648", "4611686018427387904", "0"]
        where lane_count=4
    (3) lit12; LLVM_push_lane; div => ["division_by_zero", "12", "6", "4"] where lane_count=4
    (5) lit12; LLVM_push_lane; mod => ["division_by_zero", "0", "0", "0"] where lane_count=4
    (1) LLVM_push_lane; lit2; minus; abs => ["2", "1", "0", "1"] where lane_count=4
    (8) LLVM_push_lane; not => ["255", "254"] where lane_count=2, address_size=1
    (10) LLVM_push_lane; convert <unsigned128>; dup; neg; plus => ["0:unsigned128"] * 2 where lane_count=2
    (3) LLVM_push_lane; convert <float64>; lit1; convert <float64>; swap; div
        => ["inf:float64", "1.0:float64", "0.5:float64"] where lane_count=3
    """)
