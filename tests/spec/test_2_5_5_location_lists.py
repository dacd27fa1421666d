"""A.2.5.5 DWARF location list expressions.

What the matching entries give is shown by the operations that use the location of a debugging information entry; which
entries match a program location is in tests/objfile/lists/test_lists.py.
"""

from typing import Any

from cases_sections import run_list_case

from tests.builders.cases import Case, table
from tests.builders.lists import loclist

CLAUSE = "A.2.5.5"
WAVE64 = "amdgcn-gfx90a"
WAVE32 = "amdgcn-gfx1100-wave32"
FORM = "DW_OP_LLVM_form_aspace_address"


def entries(*programs: str) -> list[dict[str, str]]:
    """The operation expressions of the entries that match the program location."""
    return [{"ops": program} for program in programs]


def calling(*programs: str, expected: Any, after: str = "", **case: Any) -> Case:
    """DW_OP_call4 of an entry with a location list: its result is pushed (A.2.5.4.2 (5))."""
    dies = {"unit:0x10": {"location": entries(*programs)}}
    return Case(CLAUSE, f"call4 0x10; {after}", expected, **{"rules": "amd", "dies": dies, **case})


def pointing(*programs: str, expected: Any, displacement: int = 0, **case: Any) -> Case:
    """An implicit pointer to an entry with a location list (A.2.5.4.4.5 (3))."""
    dies = {"info:0x10": {"location": entries(*programs)}}
    ops = f"DW_OP_implicit_pointer 0x10 {displacement}; DW_OP_deref"
    return Case(CLAUSE, ops, expected, **{"rules": "amd", "dies": dies, "want": "location", **case})


NO_MATCH = [
    # Without a match the result is one undefined location description.
    calling(expected="undefined"),                           calling(expected="undefined", target=WAVE64),
    calling(expected="undefined", address_size=4, byte_order="big"),
    calling(expected=["undefined"] * 32, target=WAVE32),     calling(expected=("1", "undefined"), initial_stack=[1]),
    calling(expected="undefined_read", after="deref"),       calling(expected="00 undefined ff", read={"bytes": 1}),
    pointing(expected="undefined"),                          pointing(expected="undefined", displacement=4),
]  # fmt: skip
ONE_MATCH = [
    # Otherwise it is the location description that the expression of the entry gives.
    calling("addr 0x1000", expected="mem 0x1000"),            calling("reg5", expected="r5"),
    calling("implicit_value 0102", expected="implicit 0102"), calling("LLVM_undefined", expected="undefined"),
    calling("", expected="undefined"),
    calling("reg5; piece 4; piece 4", expected="{32:r5 32:undefined}"),
    calling("reg5; piece 4", expected="{32:r5}+8", after="LLVM_offset_uconst 1"),
    calling("lit16; deref; stack_value", expected="implicit 0700000000000000",
        memory=[{"space": 0, "address": 16, "bytes": "07" + "00" * 7}]),
    calling("lit1; lit2; reg5", expected=("7", "r5"), initial_stack=[7]),  # the rest is discarded
    pointing("addr 0x1000", expected="mem 0x1004", displacement=4),
    # The result kind is a location description,
    calling("lit16", expected="mem 0x10"),
    calling("breg5 4", expected="mem 0x24", registers={"5": 0x20}),
    calling("const_type 1 05", expected="bad_result_kind", base_types={"1": {"encoding": "signed", "byte_size": 1}}),
    # the object is unspecified,
    calling("push_object_address", expected="object", object=0x2000),
    # the initial stack is empty,
    calling("lit1; plus", expected="stack_underflow", initial_stack=[7]),
    calling("drop", expected="stack_underflow", initial_stack=[7]),
    # and the rest of the context is the current one: frame, lane, unit.
    calling("fbreg 8", expected="mem 0x1008", frame_base=0x1000),
    calling(
        "regx v4; LLVM_push_lane; lit4; mul; LLVM_offset",
        expected=[str(100 + lane) for lane in range(64)], after="deref_size 4",
        registers={"v4": list(range(100, 164))}, target=WAVE64,
    ),
    calling(f"lit16; lit5; {FORM}", expected=[f"private_lane#0x10@{lane}" for lane in range(32)], target=WAVE32),
    calling("addrx 1", expected="mem 0x3000", debug_addr={"1": 0x3000}),
    # Its error is the error of the list.
    calling("lit0; lit0; div", expected="division_by_zero"),  calling("lit1; plus", expected="stack_underflow"),
    calling("LLVM_push_lane", expected="lane", target=WAVE64)]  # fmt: skip
SEVERAL_MATCHES = [
    # The union of the single location descriptions of all matching entries: an object in more than one place.
    calling("addr 0x1000", "reg5", expected="mem 0x1000 | r5"),
    calling("reg5", "addr 0x1000", "implicit_value 01", expected="r5 | mem 0x1000 | implicit 01"),
    calling("addr 0x1000", "reg5", expected="mem 0x1002 | r5+16", after="LLVM_offset_uconst 2"),
    calling("addr 0x1000", "reg5", expected="{16:mem 0x1000 | r5}", after="piece 2"),
    calling("reg5", "lit16", expected="r5 | mem 0x10"),       calling("reg5; piece 4", "reg6", expected="{32:r5} | r6"),
    calling("reg5", "", expected="r5 | undefined"),
    calling("reg5", "reg6", expected="5", after="deref", registers={"5": 5, "6": 5}),
    calling("reg5", "reg6", expected="bad_operand", after="deref", registers={"5": 5, "6": 6}),
    calling("reg5", "reg6", expected="07", write="07", read={"bytes": 1}, registers={"5": 5, "6": 6}),
    pointing("addr 0x1000", "reg5", expected="mem 0x1004 | r5+32", displacement=4),
    # It is a union: a single location description that two entries give is one.
    calling("reg5", "reg5", expected="r5"),
    calling("", "LLVM_undefined", "lit1; drop", expected="undefined"),
    calling("", "LLVM_undefined", "lit1; drop", expected="undefined", address_size=4),
    calling("reg5", "addr 0x1000", "regx 5", "addr 0x1000", expected="r5 | mem 0x1000"),
    # Each entry is evaluated by itself: with its own empty stack, and each must succeed.
    calling("lit1; reg5", "drop; reg6", expected="stack_underflow"),
    calling("reg5", "lit0; lit0; div", expected="division_by_zero"),
    # In all lanes, of which some may have no answer.
    calling("regx s4", "lit24; LLVM_push_lane; lit3; and; lit3; minus; abs; div",
        expected=["s4 | mem 0x8", "s4 | mem 0xc", "s4 | mem 0x18", "division_by_zero"] * 8, target=WAVE32),
    calling("regx s4; LLVM_push_lane; LLVM_offset", "regx s5; LLVM_push_lane; lit1; shl; LLVM_offset",
        expected=["s4 | s5", "s4+8 | s5+16", *["offset_out_of_storage"] * 30], target=WAVE32),
    calling(
        "regx v4; LLVM_push_lane; lit4; mul; LLVM_offset",
        f"lit16; lit5; {FORM}",
        expected=[f"v4{f'+{32 * lane}' if lane else ''} | private_lane#0x10@{lane}" for lane in range(32)],
        target=WAVE32,
    ),
    calling(
        "LLVM_push_lane; lit1; and; bra @odd; regx s4; skip @end;odd: regx s5;end: nop",
        "regx s5", expected=["s4 | s5", "s5"] * 16, target=WAVE32)]  # fmt: skip
OVERLAID = "DW_OP_reg5; DW_OP_reg6; DW_OP_lit0; DW_OP_lit1; DW_OP_LLVM_overlay"
NESTED = [
    # An entry may use another list ...
    calling(expected="r5 | r6 | mem 0x10", dies={"unit:0x10": {"location": entries("call4 0x20", "addr 0x10")},
        "unit:0x20": {"location": entries("reg5", "reg6")}}),
    # ... also if both use operations that have no number, and so no bytes.
    calling(expected="{8:r7 56:{8:r6 56:r5+8}+8}",
        dies={"unit:0x10": {"location": entries("call4 0x20; reg7; lit0; lit1; LLVM_overlay")},
        "unit:0x20": {"location": entries(OVERLAID)}}),
    Case(CLAUSE, "implicit_pointer 0x10 0; deref", "{8:r7 56:{8:r6 56:r5+8}+8}", rules="amd", want="location",
        dies={"info:0x10": {"location": entries("implicit_pointer 0x20 0; deref; reg7; lit0; lit1; LLVM_overlay")},
        "info:0x20": {"location": entries(OVERLAID)}}),
    # A list that uses itself never comes to an end.
    calling("call4 0x10", expected="cycle"),
    calling("reg5", "lit1; call4 0x10", expected="cycle"),
    # An expression that is no list is evaluated on the stack of the call, and a constant value becomes a location.
    calling(expected="8", initial_stack=[7], dies={"unit:0x10": {"location": {"ops": "lit1; plus"}}}),
    calling(expected="implicit 0102", dies={"unit:0x10": {"const_value": "0102"}}),
    calling(expected="undefined", dies={"unit:0x10": {}})]  # fmt: skip
test_no_entry_matches = table(NO_MATCH)
test_one_entry_matches = table(ONE_MATCH)
test_several_entries_match = table(SEVERAL_MATCHES)
test_lists_that_use_others = table(NESTED)


def test_a_list_whose_entries_match_gives_the_union_of_their_locations():
    """From the bytes of a list to the location of a variable: an object in two places."""
    data = loclist(
        ("start_end", 0x1000, 0x1010, "50"), ("start_end", 0x1008, 0x1010, "0300200000"), "end_of_list", size=4
    )
    case = {"section": data.hex(), "section_kind": "debug_loclists", "pc": 0x1008, "address_size": 4}
    matching = [entry["expr"] for entry in run_list_case(case, 1)["entries"]]
    Case(
        CLAUSE, "call2 0x10", "r0 | mem 0x2000", rules="amd", address_size=4, dies={"unit:0x10": {"location": matching}}
    ).check()
