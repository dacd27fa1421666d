"""A.2.5.2 DWARF Expression Value: types of values, the generic type, integral types; A.5.1 base types."""

import numpy as np
import pytest

from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Register
from dwarfgpu.expr.rules import AMD
from dwarfgpu.expr.types import BaseType
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, answer, base_types, parsed, run, table
from tests.builders.contexts import Frame, Unit
from tests.builders.parameters import every

# Base types by the offset of their entries, by which the programs below name them. In the notation of results a type is
# its encoding and its bit size, so bfloat16 is "bfloat1616".
TYPES = base_types(
    "0x10 signed8, 0x11 signed16, 0x12 signed32, 0x13 signed64, 0x14 signed128, 0x20 unsigned8, 0x21 unsigned16, "
    "0x22 unsigned32, 0x23 unsigned64, 0x24 unsigned128, 0x30 signed_char8, 0x31 unsigned_char8, 0x32 boolean8, "
    "0x33 boolean32, 0x34 address64, 0x35 UTF32, 0x36 UCS16, 0x37 ASCII8, 0x40 float16, 0x41 float32, 0x42 "
    "float64, 0x43 bfloat1616, 0x44 float128, 0x50 unsigned1, 0x51 signed1, 0x52 unsigned7, 0x53 signed7, 0x54 "
    "unsigned24, 0x55 signed24, 0x5a unsigned2040, 0x5b unsigned2048, 0x5c signed2048, 0x60 unsigned8x4, 0x61 "
    "signed16x3, 0x62 float32x2, 0x63 unsigned32x64, 0x64 unsigned32x1, 0x65 bfloat1616x2, 0x66 unsigned128x2, "
    "0x70 complex_float64, 0x71 imaginary_float32, 0x72 packed_decimal16, 0x73 numeric_string16, 0x74 edited16, "
    "0x75 signed_fixed32, 0x76 unsigned_fixed32, 0x77 decimal_float64, 0x56 unsigned33/8, 0x57 signed33/8, 0x58 "
    "unsigned65/16, 0x59 signed65/16, 0x80 unsigned0, 0x81 unsigned17/2, 0x82 unsigned32x0, 0x83 unsigned0/4"
)
rows = Rows("A.2.5.2", vars(), rules="amd", base_types=TYPES)
row = rows.row
test_the_generic_type = table(
    # The generic type "has the size of an address in the target architecture default address space".
    *(
        row("A.2.5.2", "lit0; not", str(256**size - 1), address_size=size, byte_order=order)
        for size in (1, 2, 3, 4, 5, 6, 7, 8)
        for order in ("little", "big")
    ),
    rows("""
    lit0; not => str(2**64 - 1) where target="amdgcn-gfx90a"
    lit0; not => str(2**64 - 1) where target="x86_64"
    # ... it is not the unsigned type of that size: the two have no operation in common.
    lit1; const_type 0x23 0100000000000000; plus | lit1; const_type 0x13 0100000000000000; plus -> type_mismatch
    # "a target architecture defined endianity": an implicit location that holds it, and memory.
    const2u 0x0102; stack_value -> implicit 0201 where address_size=2
    const2u 0x0102; stack_value -> implicit 0102 where address_size=2, byte_order="big"
    addr 0x10; deref -> 66051 where address_size=3, byte_order="big",
        memory=[{"space": 0, "address": 16, "bytes": "010203"}]
    """),
)
test_types_and_literal_values = rows.table("""
    # "A value has a type and a literal value": each encoding.
    [A.2.5.2] const_type 0x10 80 -> -128:signed8              const_type 0x11 feff -> -2:signed16
    const_type 0x12 ffffff7f -> 2147483647:signed32
    const_type 0x13 0000000000000080 -> -9223372036854775808:signed64
    const_type 0x14 {'ff' * 16} -> -1:signed128               const_type 0x20 80 -> 128:unsigned8
    const_type 0x21 feff -> 65534:unsigned16                  const_type 0x22 ffffffff -> 4294967295:unsigned32
    const_type 0x23 0000000000000080 -> 9223372036854775808:unsigned64
    const_type 0x24 {'ff' * 16} => f"{2**128 - 1}:unsigned128"
    const_type 0x30 c8 -> -56:signed_char8                    const_type 0x31 c8 -> 200:unsigned_char8
    const_type 0x32 01 -> 1:boolean8                          const_type 0x33 00000000 -> 0:boolean32
    const_type 0x34 0807060504030201 -> 72623859790382856:address64
    const_type 0x35 00f60100 -> 128512:UTF32                  const_type 0x36 ac20 -> 8364:UCS16
    const_type 0x37 41 -> 65:ASCII8                           const_type 0x40 003c -> 1.0:float16
    # the least subnormal of 16 bits is 2**-24
    const_type 0x40 0100 -> 5.960464477539063e-08:float16     const_type 0x41 0000c0bf -> -1.5:float32
    const_type 0x42 182d4454fb210940 -> 3.141592653589793:float64
    const_type 0x43 803f -> 1.0:bfloat1616                    const_type 0x43 49c0 -> -3.140625:bfloat1616
    const_type 0x41 0000807f -> inf:float32                   const_type 0x42 000000000000f0ff -> -inf:float64
    const_type 0x41 0000c07f -> nan:float32                   const_type 0x41 00000080 -> -0.0:float32
    # "The base type specifies the size": bit sizes that are no bytes, and wide ones.
    const_type 0x50 01 -> 1:unsigned1                         const_type 0x51 01 -> -1:signed1
    const_type 0x52 7f -> 127:unsigned7                       const_type 0x53 7f -> -1:signed7
    const_type 0x54 010203 -> 197121:unsigned24               const_type 0x55 ffffff -> -1:signed24
    const_type 0x56 ffffffff01 -> 8589934591:unsigned33       const_type 0x57 ffffffff01 -> -1:signed33
    const_type 0x58 000000000000000001 -> 18446744073709551616:unsigned65
    const_type 0x59 000000000000000001 -> -18446744073709551616:signed65
    const_type 0x5a {'00' * 254}80 => f"{1 << 2039}:unsigned2040"
    lit1; convert 0x5b -> 1:unsigned2048
    const1s -1; convert 0x13; convert 0x5b => f"{2**2048 - 1}:unsigned2048"
    const_type 0x10 ff; convert 0x5c -> -1:signed2048
    # ... "and endianity": that of the target, unless the type says otherwise (below).
    const_type 0x21 0102 -> 258:unsigned16 where byte_order="big"
    const_type 0x12 fffffffe -> -2:signed32 where byte_order="big"
    const_type 0x41 3f800000 -> 1.0:float32 where byte_order="big"
    const_type 0x43 3f80 -> 1.0:bfloat1616 where byte_order="big"
    const_type 0x54 010203 -> 66051:unsigned24 where byte_order="big"
    const_type 0x56 01ffffffff -> 8589934591:unsigned33 where byte_order="big"
    """)

# "An integral type is a base type that has an encoding of DW_ATE_signed, DW_ATE_signed_char, DW_ATE_unsigned,
# DW_ATE_unsigned_char, DW_ATE_boolean, or any target architecture defined integral encoding"; no target here has more.
# DW_OP_not requires an integral type, and so tells which ones are.
test_integral_types = rows.table("""
    lit1; not => str(2**64 - 2)                               const_type 0x10 01; not -> -2:signed8
    const_type 0x20 01; not -> 254:unsigned8                  const_type 0x30 01; not -> -2:signed_char8
    const_type 0x31 01; not -> 254:unsigned_char8             const_type 0x32 01; not -> 254:boolean8
    const_type 0x51 01; not -> 0:signed1
    # The note leaves open whether DW_ATE_address is one; the list of the text lacks it.
    const_type 0x34 0100000000000000; not | const_type 0x35 01000000; not | const_type 0x36 0100; not |
        const_type 0x37 01; not | const_type 0x40 0100; not | const_type 0x41 01000000; not |
        const_type 0x42 0100000000000000; not | const_type 0x43 0100; not | const_type 0x60 01020304; not |
        const_type 0x64 01020304; not | const_type 0x70 0102030405060708; not | const_type 0x71 01020304; not |
        const_type 0x72 0102; not | const_type 0x73 0102; not | const_type 0x74 0102; not |
        const_type 0x75 01020304; not | const_type 0x76 01020304; not | const_type 0x77 0102030405060708; not
        -> integral_type_required
    """)
test_vectors = rows.table("""
    # "The representation of a vector base type is as N contiguous elements".
    [A.5.1 (1)] const_type 0x60 01020304 -> [1, 2, 3, 4]:unsigned8x4
    const_type 0x60 01020304 -> [1, 2, 3, 4]:unsigned8x4 where byte_order="big"
    const_type 0x61 0100feff0300 -> [1, -2, 3]:signed16x3
    const_type 0x61 0001fffe0003 -> [1, -2, 3]:signed16x3 where byte_order="big"
    const_type 0x62 0000803f00000040 -> [1.0, 2.0]:float32x2
    const_type 0x62 3f80000040000000 -> [1.0, 2.0]:float32x2 where byte_order="big"
    const_type 0x62 0000c07f000080ff -> ['nan', '-inf']:float32x2
    const_type 0x64 07000000 -> [7]:unsigned32x1              const_type 0x65 803f0040 -> [1.0, 2.0]:bfloat1616x2
    const_type 0x66 ffffffffffffffffffffffffffffffff01000000000000000000000000000000
        -> [340282366920938463463374607431768211455, 1]:unsigned128x2
    regval_type v1 0x63 -> [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
        53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]:unsigned32x64
        where target="amdgcn-gfx90a", registers={"v1": list(range(64))}
    # A base type without the attribute "is not a vector type": one with it is another type, also with one element.
    const_type 0x64 01000000; const_type 0x22 01000000; eq -> type_mismatch
    """)
test_ill_formed_types = rows.table("""
    # "The DWARF is ill-formed if N is not greater than 0."
    [A.5.1 (1)] const_type 0x82 01000000 -> bad_type
    # Sizes that no base type has (DWARF 5, 5.1).
    [DWARF 5, 5.1] const_type 0x80 0x | const_type 0x81 010203 | const_type 0x83 0x -> bad_type
    # It concerns only an expression that uses the type.
    lit1 -> 1
    # A value that is needed, and a location that no conversion makes one of (A.2.5.4).
    [A.2.5.4] reg0; not -> wrong_kind
    """)


@pytest.mark.parametrize("kind", ["address", "UTF", "UCS", "ASCII"])
def test_a_type_that_is_not_integral_still_has_arithmetic(kind):
    program = "const_type 1 ff; const_type 1 02; plus"
    assert run(program, base_types={"1": {"encoding": kind, "byte_size": 1}}) == f"1:{kind}8"


def test_a_value_without_a_number_is_not_shown_as_one():
    # 128-bit floats can be held, moved and read as bytes; arithmetic and numbers of them are not supported
    held = answer(f"const_type 0x44 {'01' * 16}; stack_value", rules="amd", base_types=TYPES)
    shown = answer(f"const_type 0x44 {'01' * 16}", rules="amd", base_types=TYPES)
    assert held["result"]["bytes"] == "01" * 16
    assert shown["error"]["class"] == "unsupported"


# --- Endianity (DW_AT_endianity) -----------------------------------------------------------------------------------


class Registers(Backend):
    """Every register holds 01 02 03 04 05 06 07 08."""

    def read_register(self, register, wave, lane):
        return bytes(range(1, 9))


def evaluated(ops, order, kind):
    target = resolve("generic", byte_order=order)
    code = parsed(ops, byte_order=order)
    context = Context(target, AMD, Registers(), unit=Unit(kind), frame=Frame(target))
    return evaluate(code, context).one(), Accessor(context.backend, order)


@every(order=["little", "big"], endianity=["little", "big"])
def test_a_type_may_have_a_byte_order_of_its_own(order, endianity):
    kind = BaseType("unsigned", 32, byte_order=endianity)
    number = 0x01020304 if endianity == "big" else 0x04030201
    constant, _ = evaluated("const_type 1 01020304", order, kind)
    register, _ = evaluated("regval_type 0 1", order, kind)
    location, accessor = evaluated("const_type 1 01020304; stack_value", order, kind)
    assert constant.number() == number
    assert register.number() == number
    assert int(accessor.read(location, 32).bits).to_bytes(4, order) == bytes([1, 2, 3, 4])


class Lanes(Backend):
    """A machine in which register r of lane l holds 01 02 03 04 with l in the place of 01."""

    def gather_register(self, register, offsets, size, waves, lanes, count):
        rows = np.array([[int(lane), 2, 3, 4, 5, 6, 7, 8] for lane in lanes], dtype=np.uint8)
        return rows[:, offsets : offsets + size], np.ones(count, dtype=bool)


class LaneFrame(Frame):
    """The frame of such a machine: each lane has its own registers."""

    def register(self, number, lanes):
        return locations.at(Register(self.target.register(number), 0, lanes.lane))


@every(order=["little", "big"], endianity=["little", "big"], bits=[32, 64])
def test_byte_orders_of_values_that_differ_from_lane_to_lane(order, endianity, bits):
    target = resolve("generic", byte_order=order)
    code = parsed("regval_type 0 1", byte_order=order)
    unit, frame = Unit(BaseType("unsigned", bits, byte_order=endianity)), LaneFrame(target)
    found = evaluate(code, Context(target, AMD, Lanes(), LaneSet.of([9, 7]), unit=unit, frame=frame))
    rest = bytes(range(2, bits // 8 + 1))
    assert [one.number() for one in found] == [int.from_bytes(bytes([lane]) + rest, endianity) for lane in (9, 7)]


@pytest.mark.parametrize("order", ["little", "big"])
def test_types_of_different_byte_orders_are_different_types(order):
    kind = BaseType("float", 32, byte_order="big")
    one = (0x3F800000).to_bytes(4, "big").hex()
    value, _ = evaluated(f"const_type 1 {one}", order, kind)
    total, _ = evaluated(f"const_type 1 {one}; dup; plus", order, kind)
    assert value.number() == 1.0
    assert total.number() == 2.0
    assert BaseType("float", 32, byte_order="big") != BaseType("float", 32)
