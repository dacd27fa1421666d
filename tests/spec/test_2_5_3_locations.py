"""A.2.5.3 DWARF location description: several places, whose storage it is, reading and writing."""

from typing import Any

from cases import parse_case
from cases_context import DescribedFrame

from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.locations import Location, Register
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.described import DescribedMachine
from dwarfgpu.machines.protocol import Backend
from dwarfgpu.targets.resolve import resolve
from tests.builders.cases import Rows, answer, base_types, full, memory, notation, parsed, run
from tests.builders.parameters import for_each

CLAUSE = "A.2.5.3"
WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
FORM = "LLVM_form_aspace_address"
UINT32 = base_types("type unsigned32")
rows = Rows("A.2.5.3", vars(), rules="amd")


def reg(number: int, bit_offset: int = 0) -> dict[str, Any]:
    return {"kind": "register", "register": number, "bit_offset": bit_offset}


def vgpr(number: int, bit_offset: int = 0) -> dict[str, Any]:
    return {"kind": "register", "name": f"v{number}", "bit_offset": bit_offset}


def mem(address: int, space: Any = 0, **more: Any) -> dict[str, Any]:
    return {"kind": "memory", "space": space, "address": address, **more}


def places(*locations: Any) -> dict[str, Any]:
    return {"kind": "multiple", "places": list(locations)}


def composite(*parts: tuple[int, Any]) -> dict[str, Any]:
    return {"kind": "composite", "parts": [{"bit_size": size, "location": place} for size, place in parts]}


UNDEFINED = {"kind": "undefined"}
IMPLICIT = {"kind": "implicit", "bytes": "0500000000000000"}
BOTH = places(reg(5), mem(16))
FIVE = "0500000000000000"
KNOWN: dict[str, Any] = {"registers": {"5": 5}, "memory": [memory(16, FIVE)]}
test_reading_several_places = rows.table("""
    # The object can be read from any of its places.
    deref -> 5 where initial_stack=[BOTH], **KNOWN
    => FIVE where initial_stack=[BOTH], read={"bytes": 8}, **KNOWN
    -> 5 where initial_stack=[BOTH], read=UINT32, **KNOWN
    deref_size 1 -> 5 where initial_stack=[places(reg(5), mem(16), IMPLICIT)], **KNOWN
    # ... also where the others cannot be accessed.
    deref -> 5 where initial_stack=[BOTH], registers={"5": 5}
    deref -> 5 where initial_stack=[BOTH], memory=[memory(16, FIVE)]
    deref -> 5 where initial_stack=[BOTH], memory=[memory(16, "00" * 7 + "05")], byte_order="big"
    deref -> register_unavailable where initial_stack=[BOTH]
    lit1; LLVM_offset; deref_size 1 -> 2 where initial_stack=[BOTH], registers={"5": 0x201}
    deref_size 4 => ["register_unavailable"] * 32 where initial_stack=[places(vgpr(4), mem(16))], target=WAVE32
    # The places must hold the same value; otherwise the expression is ill-formed.
    deref -> bad_operand where initial_stack=[BOTH], registers={"5": 5}, memory=[memory(16, "06" + FIVE[2:])]
    -> bad_operand where initial_stack=[BOTH], registers={"5": 5}, memory=[memory(16, "06" + FIVE[2:])],
        read={"bytes": 1}
    -> 00 where initial_stack=[BOTH], registers={"5": 5}, memory=[memory(16, "06" + FIVE[2:])],
        read={"bytes": 1, "offset": 1}
    deref_size 4 -> bad_operand where initial_stack=[places(reg(5), reg(6), reg(7))], registers={"5": 1, "6": 1, "7": 2}
    # ... in the lanes that read different values.
    LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4
        => ["bad_operand" if lane == 7 else str(lane) for lane in range(64)]
        where initial_stack=[places(vgpr(1), vgpr(2))],
        registers={"v1": list(range(64)), "v2": [lane if lane != 7 else 8 for lane in range(64)]}, target=WAVE64
    # ... except for the parts of the value that are uninitialized.
    deref -> 5 where initial_stack=[places(UNDEFINED, reg(5))], **KNOWN
    deref -> 5 where initial_stack=[places(reg(5), UNDEFINED)], **KNOWN
    -> 0102030400000708 undefined 00000000ffff0000 where initial_stack=[places(composite((16, reg(5)), (48,
        UNDEFINED)), composite((16, UNDEFINED), (16, reg(5, 16)), (32, UNDEFINED)), composite((48, UNDEFINED), (16,
        reg(5, 48))))], registers={"5": 0x0807060504030201}, read={"bytes": 8}
    deref => str(0x0807060504030201) where initial_stack=[places(composite((19, reg(5)), (45, UNDEFINED)),
        composite((3, UNDEFINED), (61, reg(5, 3))))], registers={"5": 0x0807060504030201}, byte_order="big"
    -> 00000000 undefined ffffffff where initial_stack=[places(UNDEFINED, UNDEFINED)], read={"bytes": 4}
    deref -> undefined_read where initial_stack=[places(UNDEFINED, UNDEFINED)]
    # It is an evaluation error if a bit lies past the storage specified by any single location description.
    [A.2.5.4.3.4 (4)] deref -> read_past_storage where initial_stack=[BOTH],
        registers={"5": {"bytes": "05000000"}}, memory=[memory(16, FIVE)]
    deref -> read_past_storage where initial_stack=[places(mem(16), reg(5))],
        registers={"5": {"bytes": "05000000"}}, memory=[memory(16, FIVE)]
    deref_size 4 -> 5 where initial_stack=[BOTH], registers={"5": {"bytes": "05000000"}}, memory=[memory(16, FIVE)]
    """)
test_acting_on_several_places = rows.table("""
    # Operations that act on a location description of several places give one of several places.
    dup => ("r5 | mem 0x10", "r5 | mem 0x10") where initial_stack=[BOTH]
    lit2; LLVM_offset -> r5+16 | mem 0x12 where initial_stack=[BOTH]
    lit2; LLVM_bit_offset -> r5+2 | mem 0x10.2 where initial_stack=[BOTH]
    piece 4 -> {32:r5 | mem 0x10} where initial_stack=[BOTH]
    bit_piece 7 9 -> {7:r5+9 | mem 0x11.1} where initial_stack=[BOTH]
    LLVM_extend 32 2 -> {32:r5 | mem 0x10 32:r5 | mem 0x10} where initial_stack=[BOTH]
    reg6; lit1; LLVM_select_bit_piece 16 2 -> {16:r6 16:r5+16 | mem 0x12} where initial_stack=[BOTH]
    reg6; lit2; lit1; LLVM_overlay -> {16:r5 | mem 0x10 8:r6 40:r5+24 | mem 0x13} where initial_stack=[BOTH]
    piece 2; reg6; piece 2; LLVM_piece_end; deref_size 4 => str(0x00070005)
        where initial_stack=[BOTH], registers={"5": 5, "6": 7}
    # They are one entry of the stack, and not a value.
    stack_value -> wrong_kind where initial_stack=[places(mem(16), mem(32))]
    -> r5 | mem 0x10 where initial_stack=[BOTH], want="location"
    """)
test_multiloc = rows.table("""
    # The operation that DWARF 6 has for it, while the text has none but location lists.
    [DWARF 6 (260227.1)] reg5; addr 0x10; multiloc | reg5; lit16; multiloc -> r5 | mem 0x10 where rules="dwarf6"
    reg5; reg6; multiloc; reg7; multiloc; deref -> 5 where rules="dwarf6", registers={"5": 5, "6": 5, "7": 5}
    reg5; reg6; multiloc; deref -> bad_operand where rules="dwarf6", registers={"5": 5, "6": 6}
    reg5; multiloc -> stack_underflow where rules="dwarf6"
    """)
test_writing_several_places = rows.table("""
    # A changed value must be written to all places.
    -> 1122334400000000 where initial_stack=[BOTH], write="11223344", read={"bytes": 8}, registers={"5": 0},
        memory=[memory(16, "00" * 8)]
    # ... whatever they hold before.
    -> 11223344 where initial_stack=[BOTH], write="11223344", read={"bytes": 4}, registers={"5": 1},
        memory=[memory(16, "02" * 8)]
    piece 4; reg5; piece 4; addr 0x10; piece 4 -> 112233441122334411223344 where initial_stack=[BOTH], write="11223344",
        read={"bytes": 12}, registers={"5": 1}, memory=[memory(16, "02" * 8)]
    # the part below is undefined
    bit_piece 5 2; bit_piece 3 0; reg5; piece 1; addr 0x10; piece 1 -> not_writable
        where initial_stack=[BOTH], write="ff", registers={"5": 0}, memory=[memory(16, "00")]
    bit_piece 5 2; reg6; bit_piece 3 0; reg5; piece 1; addr 0x10; piece 1 -> ff7c7c where initial_stack=[BOTH],
        write="ff", read={"bytes": 3}, registers={"5": 0, "6": 0}, memory=[memory(16, "00" * 8)]
    bit_piece 5 2; reg6; bit_piece 3 0; reg5; piece 1; addr 0x10; piece 1 -> ff3e3e where initial_stack=[BOTH],
        write="ff", read={"bytes": 3}, registers={"5": 0, "6": 0}, memory=[memory(16, "00" * 8)], byte_order="big"
    # If one place cannot be written, the value cannot.
    -> not_writable where initial_stack=[places(reg(5), IMPLICIT)], write="06", registers={"5": 5}
    -> not_writable where initial_stack=[places(UNDEFINED, reg(5))], write="06", registers={"5": 5}
    -> memory_unavailable where initial_stack=[BOTH], write="06", registers={"5": 5}
    -> read_past_storage where initial_stack=[BOTH], write="06" * 8, registers={"5": {"bytes": "05000000"}},
        memory=[memory(16, FIVE)]
    """)
BY_LANE = [memory(8, f"{100 + lane:02x}000000", "private_lane", lane=lane) for lane in range(32)]
test_owners = rows.table("""
    # What a location description denotes goes with the context it was created in, not with that of the access.
    deref_size 4 -> 105 where initial_stack=[mem(8, "private_lane", lane=5)], lane=2, target=WAVE32, memory=BY_LANE
    -> private_lane#0x8@5 where initial_stack=[mem(8, "private_lane", lane=5)], lane=2, target=WAVE32
    deref_size 4 => ["105"] * 32 where initial_stack=[mem(8, "private_lane", lane=5)], target=WAVE32, memory=BY_LANE
    push_object_address; deref_size 4 => ["105"] * 32
        where object=mem(8, "private_lane", lane=5), target=WAVE32, memory=BY_LANE
    deref_size 4; lit8; lit5; LLVM_form_aspace_address; deref_size 4; minus
        => [str((5 - lane) % (1 << 64)) for lane in range(32)]
        where initial_stack=[mem(8, "private_lane", lane=5)], target=WAVE32, memory=BY_LANE
    piece 4; lit8; lit5; LLVM_form_aspace_address; piece 4 => [f"69000000{100 + lane:02x}000000" for lane in range(32)]
        where initial_stack=[mem(8, "private_lane", lane=5)], target=WAVE32, memory=BY_LANE, read={"bytes": 8}
    # It needs no lane at the access then.
    deref_size 4 -> 105 where initial_stack=[mem(8, "private_lane", lane=5)], target=WAVE32, memory=BY_LANE
    -> 69000000 where initial_stack=[mem(8, "private_lane", lane=5)], target=WAVE32, memory=BY_LANE, read={"bytes": 4}
    deref_size 4 -> 105 where initial_stack=[mem((2 << 48) + 8, "generic", lane=5)], lane=2, target=WAVE32,
        memory=BY_LANE
    # A location of no particular lane is created for the lane that evaluates.
    deref_size 4 => [str(100 + lane) for lane in range(32)]
        where initial_stack=[mem(8, "private_lane")], target=WAVE32, memory=BY_LANE
    deref_size 4 -> 102 where initial_stack=[mem(8, "private_lane")], lane=2, target=WAVE32, memory=BY_LANE
    deref_size 4 -> lane where initial_stack=[mem(8, "private_lane")], target=WAVE32, memory=BY_LANE
    push_object_address; deref => [str(100 + lane | lane << 32) for lane in range(32)]
        where object=composite((32, mem(8, "private_lane")), (32, mem(0, "private_lane"))), target=WAVE32,
        memory=[*BY_LANE, *(memory(0, f"{lane:02x}000000", "private_lane", lane=lane) for lane in range(32))]
    deref_size 4 => ["105" if lane == 5 else "bad_operand" for lane in range(32)] where initial_stack=[places(mem(8,
        "private_lane"), mem(8, "private_lane", lane=5))], target=WAVE32, memory=BY_LANE
    push_object_address; piece 4 => [f"{{32:private_lane#0x8@{lane} | private_lane#0x8@5}}" for lane in range(32)]
        where object=places(mem(8, "private_lane"), mem(8, "private_lane", lane=5)), target=WAVE32
    # Writing goes to the same storage as reading.
    piece 4; lit8; lit5; LLVM_form_aspace_address; piece 4; lit8; const1u 0x25; LLVM_form_aspace_address; piece 4
        -> aabbccdd66000000aabbccdd where initial_stack=[mem(8, "private_lane", lane=5)], lane=2, target=WAVE32,
        memory=BY_LANE, write="aabbccdd", read={"bytes": 12}
    """)
R5 = {"5": 0xF0E1D2C3B4A59687}
test_reading = rows.table("""
    # Bits are read from the bit offset on.
    reg5 -> 8796a5b4c3d2e1f0 where read={"bytes": 8}, registers=R5
    reg5 -> f0e1d2c3b4a59687 where read={"bytes": 8}, registers=R5, byte_order="big"
    reg5; lit4; LLVM_bit_offset -> 68594a where read={"bytes": 3}, registers=R5
    reg5; lit4; LLVM_bit_offset -> 0e1d2c where read={"bytes": 3}, registers=R5, byte_order="big"
    reg5 -> a5b4 where read={"bytes": 2, "offset": 2}, registers=R5
    reg5; lit2; LLVM_offset -> 8796 where read={"bytes": 2, "offset": -2}, registers=R5
    reg5 -> where read={"bytes": 0}, registers=R5
    # A type may have any size and either sign.
    reg5 => str(0x9687 & 0x1FFF) where read={"type": {"encoding": "unsigned", "byte_size": 2, "bit_size": 13}},
        registers=R5
    reg5 => str((0x9687 & 0x1FFF) - 0x2000) where read={"type": {"encoding": "signed", "byte_size": 2,
        "bit_size": 13}}, registers=R5
    reg5 => str(0xF0E1 >> 3) where read={"type": {"encoding": "unsigned", "byte_size": 2, "bit_size": 13}},
        registers=R5, byte_order="big"
    addr 0x10 -> 1.5 where read={"type": {"encoding": "float", "byte_size": 4}}, memory=[memory(16, "0000c03f")]
    addr 0x10 -> [1, 2] where read={"type": {"encoding": "unsigned", "byte_size": 2, "vector_size": 2}},
        memory=[memory(16, "01000200")]
    addr 0x10 -> [1, 2] where read={"type": {"encoding": "unsigned", "byte_size": 2, "vector_size": 2}},
        memory=[memory(16, "00010002")], byte_order="big"
    # A value is no location, but one of the generic type becomes one.
    lit16 -> 05 where read={"bytes": 1}, memory=[memory(16, "05")]
    const_type 1 05 -> wrong_kind where read={"bytes": 1}, base_types={"1": {"encoding": "signed", "byte_size": 1}}
    # Bits without a value are told apart from those that are 0.
    -> 0f00 undefined f00f where initial_stack=[composite((4, reg(5)), (8, UNDEFINED), (4, reg(6)))],
        read={"bytes": 2}, registers={"5": 15, "6": 0}
    -> f00f undefined 0ff0 where initial_stack=[composite((4, reg(5)), (8, UNDEFINED), (4, reg(5)))],
        read={"bytes": 2}, registers={"5": -1}, byte_order="big"
    -> 0102 undefined 0080 where initial_stack=[composite((15, reg(5)), (1, UNDEFINED))], read={"bytes": 2},
        registers={"5": 0x8201}
    -> undefined where initial_stack=[composite((31, reg(5)), (1, UNDEFINED))], read=UINT32, registers=R5
    -> 1 where initial_stack=[composite((32, reg(5)), (1, UNDEFINED))], read=UINT32, registers={"5": 1}
    # Only the storages that bits come from are accessed.
    -> 05000000 where initial_stack=[composite((32, reg(5)), (32, reg(6)))], read={"bytes": 4}, registers={"5": 5}
    -> 05000000 where initial_stack=[composite((32, reg(6)), (32, reg(5)))], read={"bytes": 4, "offset": 4},
        registers={"5": 5}
    -> register_unavailable where initial_stack=[composite((32, reg(5)), (32, reg(6)))], read={"bytes": 5},
        registers={"5": 5}
    LLVM_push_lane; lit4; mul; LLVM_offset; deref_size 4 => [*map(str, range(16)), *["register_unavailable"] * 16] where
        initial_stack=[composite((512, vgpr(1)), (512, vgpr(2)))], target=WAVE32, registers={"v1": list(range(16))}
    # The access ends within the storage, or is an error.
    reg5 -> read_past_storage where read={"bytes": 9}, registers=R5
    reg5; lit1; LLVM_bit_offset -> read_past_storage where read={"bytes": 8}, registers=R5
    implicit_value 0102 -> read_past_storage where read={"bytes": 3}
    -> read_past_storage where initial_stack=[composite((8, reg(5)))], read={"bytes": 2}, registers=R5
    reg5 -> offset_out_of_storage where read={"bytes": 0, "offset": 8}, registers=R5
    reg5 -> offset_out_of_storage where read={"bytes": 1, "offset": -1}, registers=R5
    """)
R5_AND_R6 = "reg5; bit_piece 3 5; reg6; bit_piece 5 59"
test_what_cannot_be_written = rows.table("""
    # Implicit storage can only be read, undefined storage neither read nor written.
    implicit_value 00 | lit1; stack_value | LLVM_undefined -> not_writable where write="00"
    -> not_writable where write="00"
    -> not_writable where initial_stack=[composite((4, reg(5)), (4, IMPLICIT))], write="00", registers=R5
    -> not_writable where initial_stack=[composite((16, composite((12, reg(5)), (4, UNDEFINED))))],
        write="0000", registers=R5
    implicit_pointer 0x10 0 -> not_writable where write="00" * 8, dies={"info:0x10": {"location": ""}}
    # ... but a composite can be written where its parts can.
    -> aabb000005000000 where initial_stack=[composite((32, reg(5)), (32, IMPLICIT))], write="aabb",
        read={"bytes": 8}, registers={"5": 0}
    # What is past the storage cannot be written.
    reg5 -> read_past_storage where write="00" * 9, registers=R5
    reg5; lit1; LLVM_bit_offset -> read_past_storage where write="00" * 8, registers=R5
    -> read_past_storage where initial_stack=[composite((15, reg(5)))], write="0000", registers=R5
    # A value is no location.
    reg5; deref_type 1 1 -> wrong_kind where write="00", registers=R5,
        base_types={"1": {"encoding": "signed", "byte_size": 1}}
    """)


def written(ops: str, data: str, order: str = "little", **context: Any) -> tuple[str, str, str]:
    """The kind of the error, or nothing, and what registers 5 and 6 hold after a write."""
    case = parse_case({"ops": full(ops), "rules": "amd", "byte_order": order, "write": data, "context": context}, 1)
    (outcome,) = case.question.answer()
    machine: Any = case.question.context.backend
    contents = [machine.read_register(machine.register(number), 0, None).hex() for number in (5, 6)]
    return (outcome.error.kind if outcome.error else "", *contents)


def registers(r5: str, r6: str = "00" * 8) -> dict[str, Any]:
    return {"5": {"bytes": r5}, "6": {"bytes": r6}}


ONES = "ff" * 8
ZEROS = "00" * 8


@for_each("ops, data, order, before, after",
    ("reg5; lit4; LLVM_bit_offset", "ff", "little", ZEROS, "f00f000000000000"),
    ("reg5; lit4; LLVM_bit_offset", "ff", "big", ZEROS, "0ff0000000000000"),
    ("reg5; lit4; LLVM_bit_offset", "00", "little", ONES, "0ff0ffffffffffff"),
    ("reg5; lit4; LLVM_bit_offset", "00", "big", ONES, "f00fffffffffffff"),
    ("reg5; lit4; LLVM_bit_offset", "a5", "little", ZEROS, "500a000000000000"),
    ("reg5; lit4; LLVM_bit_offset", "a5", "big", ZEROS, "0a50000000000000"),
    ("reg5; lit3; LLVM_offset", "1234", "little", ONES, "ffffff1234ffffff"),
    ("reg5; lit3; LLVM_offset", "1234", "big", ONES, "ffffff1234ffffff"),
    ("reg5", "0102030405060708", "little", ONES, "0102030405060708"),
    ("reg5; const1u 56; LLVM_bit_offset", "00", "little", ONES, "ffffffffffffff00"),
    ("reg5", "", "little", ONES, ONES))  # fmt: skip
def test_writing_keeps_the_bits_beside_it(ops, data, order, before, after):
    assert written(ops, data, order, registers=registers(before)) == ("", after, ZEROS)


@for_each("data, order, before, r5, r6",
    # The bits of a5, from the first one on, are 10100101 in both directions.
    ("a5", "little", ZEROS, "a000000000000000", "00000000000000a0"),
    ("a5", "big", ZEROS, "0500000000000000", "0000000000000005"),
    ("a5", "little", ONES, "bfffffffffffffff", "ffffffffffffffa7"),
    ("a5", "big", ONES, "fdffffffffffffff", "ffffffffffffffe5"),
    # Those of 13 are 11001000, and 00010011 on a big-endian target.
    ("13", "little", ZEROS, "6000000000000000", "0000000000000010"),
    ("13", "big", ZEROS, "0000000000000000", "0000000000000013"))  # fmt: skip
def test_writing_goes_to_each_part_of_a_composite(data, order, before, r5, r6):
    assert written(R5_AND_R6, data, order, registers=registers(before, before)) == ("", r5, r6)


@for_each("ops, data, kind",
    ("reg5; piece 4; lit1; stack_value; piece 4", "00" * 8, "not_writable"),
    ("reg5; piece 4; piece 4", "00" * 5, "not_writable"),
    ("reg5; piece 4; reg7; piece 4", "00" * 8, "register_unavailable"),
    ("reg5; piece 4; addr 0x10; piece 4", "00" * 8, "memory_unavailable"),
    ("reg5; piece 4; reg6; piece 4", "00" * 9, "read_past_storage"))  # fmt: skip
def test_a_write_that_fails_changes_nothing(ops, data, kind):
    assert written(ops, data, registers=registers(ONES, ONES)) == (kind, ONES, ONES)


def test_a_write_to_several_places_that_fails_changes_none():
    found = written("push_object_address", "00", registers=registers(ONES), object=places(reg(5), IMPLICIT, reg(6)))
    assert found == ("not_writable", ONES, ZEROS)


def test_all_lanes_write_to_their_own_storage():
    case = parse_case(
        {
            "ops": full("regx v4; LLVM_push_lane; lit4; mul; plus_uconst 1; LLVM_offset"),      "target": WAVE64,
            "lanes": "all",      "write": "abcd",     "context": {"registers": {"v4": list(range(64))}},
        },
        1)  # fmt: skip
    assert [outcome.error for outcome in case.question.answer()] == [None] * 64
    machine: Any = case.question.context.backend
    assert machine.read_register(machine.register(2564), 0, None).hex() == "".join(
        f"{lane:02x}abcd00" for lane in range(64)
    )


STATE: dict[str, Any] = {
    "target": WAVE32,  "lane": 3,         "registers": {"v4": list(range(32)), "s5": 0x11223344, "exec": 0xF0},
    "memory": [memory(0x20, "0102030405060708"), memory(16, "0a0b0c0d", "local"), *BY_LANE],
    "dies": {"info:0x10": {"location": {"ops": "addr 0x20"}}}}  # fmt: skip


@for_each("ops",
    "addr 0x20; lit3; LLVM_bit_offset",                       f"lit16; lit3; {FORM}",      f"lit8; lit5; {FORM}",
    f"constu {(2 << 48) + 8}; lit1; {FORM}",                  "regx v4; LLVM_push_lane; lit4; mul; LLVM_offset",
    "implicit_value 0102030405; lit1; LLVM_offset",           "LLVM_undefined",
    "regx s5; bit_piece 7 3; piece 1; addr 0x20; piece 4",
    "regx v4; LLVM_undefined; lit6; LLVM_select_bit_piece 32 8; LLVM_offset_uconst 4",
    "implicit_pointer 0x10 4")  # fmt: skip
def test_a_location_is_the_same_for_the_next_evaluation(ops):
    """The text: a subsequent evaluation can be given it "as the object context or initial stack context"."""
    first = answer(ops, **STATE)["result"]
    state = {**STATE, "lane": 9}  # another lane: the location stays what it is
    assert run("", **state, initial_stack=[first]) == notation(first)
    assert run("push_object_address", **state, object=first) == notation(first)
    if first["kind"] not in ("undefined", "implicit_pointer"):
        assert run("push_object_address", **state, object=first, read={"bytes": 2}) == run(
            ops, **STATE, read={"bytes": 2}
        )


class FrameOfWave(DescribedFrame):
    """The top frame of each wave."""

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = self.machine.register(number)
        assert register is not None
        assert lanes.wave is not None
        return locations.at(Register(register, lanes.wave))


class TwoWaves(DescribedMachine):
    """A machine of two waves: register 5 holds 1000 and 2000, and private_wave#0x10 the bytes 01 and 02."""

    def read_register(self, register: Any, wave: int, lane: int | None) -> bytes:
        return (1000 * (wave + 1)).to_bytes(-(-register.bit_size // 8), "little")

    def gather_register(self, register: Any, offsets: Any, size: int, waves: Any, lanes: Any, count: int) -> Any:
        return Backend.gather_register(self, register, offsets, size, waves, lanes, count)

    def read_memory(self, space: Any, address: int, size: int, wave: int, lane: int | None) -> bytes:
        return bytes([wave + 1]) * size

    def gather_memory(self, space: Any, addresses: Any, size: int, waves: Any, lanes: Any, count: int) -> Any:
        return Backend.gather_memory(self, space, addresses, size, waves, lanes, count)


def evaluated(ops: str, machine: DescribedMachine, lanes: LaneSet) -> Any:
    target = machine.target
    return evaluate(parsed(ops, target), Context(target, AMD, machine, lanes, frame=FrameOfWave(machine)))


@for_each("ops, wave, lane",
    ("regx s5", 1, None),                                    ("regx v5", 1, None),
    (f"lit16; lit3; {FORM}", 1, None),                       (f"lit16; lit6; {FORM}", 1, None),
    (f"lit16; const1u 0x27; {FORM}", 1, None),               (f"lit16; lit5; {FORM}", 1, 3),
    ("lit16; LLVM_offset_uconst 0", None, None),             (f"lit16; lit2; {FORM}", None, None))  # fmt: skip
def test_a_location_keeps_the_thread_and_the_lane_it_was_made_for(ops, wave, lane):
    """Registers are those "of that thread", memory of a space may be that "associated with that thread and lane"."""
    found = evaluated(ops, TwoWaves(resolve(WAVE32)), LaneSet(1, wave=1, lane=3)).one().single.storage
    assert (found.wave, found.lane) == (wave, lane)


def test_each_wave_reads_its_own_registers_and_memory():
    machine = TwoWaves(resolve(WAVE32))
    lanes = LaneSet.grid(2, 32)
    found = evaluated("regx s5; deref_size 4", machine, lanes)
    memory_found = evaluated(f"lit16; lit6; {FORM}; deref_size 1", machine, lanes)
    assert [one.bits for one in found] == [1000] * 32 + [2000] * 32
    assert [one.bits for one in memory_found] == [1] * 32 + [2] * 32


def test_a_location_of_many_slots_is_read_slot_by_slot():
    """Each slot's location denotes the storage of its own wave and lane, whatever is current when it is read."""
    machine = TwoWaves(resolve(WAVE32))
    found = evaluated("regx s5; piece 4", machine, LaneSet.grid(2, 32))
    accessor = Accessor(machine, "little")
    assert [accessor.read(one, 32).bits for one in found] == [1000] * 32 + [2000] * 32


def test_the_kinds_of_storage():
    """Memory, register, implicit, undefined and composite location storage."""
    machine = TwoWaves(resolve(WAVE32))
    lanes = LaneSet(1, lane=0)
    kinds = [
        type(evaluated(ops, machine, lanes).one().single.storage).__name__
        for ops in ("addr 0", "regx s5", "lit0; stack_value", "LLVM_undefined", "piece 1")
    ]
    assert kinds == ["Memory", "Register", "Implicit", "Undefined", "Composite"]
