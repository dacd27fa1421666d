from functools import partial
from typing import Any

from tests.builders.dwarf import die
from tests.builders.hostile import gpu, named, ops, variable
from tests.builders.seeds import Seed


def location(rule: str, name: str, text: str | bytes) -> Seed:
    """A variable whose location has a defect."""
    return Seed(f"expression-{rule}", name, partial(gpu, variable("a", location=text)))


def of_kernel(rule: str, name: str, attribute: str, text: str | bytes, *entries: Any) -> Seed:
    """A function with an expression that has a defect."""
    data = text if isinstance(text, bytes) else ops(text)
    return Seed(f"expression-{rule}", name, partial(gpu, *entries, attributes=[(attribute, "exprloc", data)]))


def of_type(rule: str, name: str, *types: Any) -> Seed:
    """A type with an expression that has a defect."""
    return Seed(f"expression-{rule}", name, partial(gpu, types=types))


def value(attribute: str, text: str | bytes) -> Any:
    data = text if isinstance(text, bytes) else ops(text)
    return die("structure_type", named("s"), (attribute, "exprloc", data))


CALLED = die("dwarf_procedure", ("location", "exprloc", ops("DW_OP_lit1")), label="called")
UNDERFLOWS = (
    *("DW_OP_lit1; DW_OP_plus", "DW_OP_drop", "DW_OP_dup", "DW_OP_swap", "DW_OP_lit1; DW_OP_swap", "DW_OP_deref"),
    *("DW_OP_lit1; DW_OP_lit2; DW_OP_rot", "DW_OP_over", "DW_OP_lit1; DW_OP_pick 1", "DW_OP_stack_value"),
    *("DW_OP_LLVM_offset", "DW_OP_lit0; DW_OP_LLVM_form_aspace_address", "DW_OP_LLVM_extend 32 2"),
    *("DW_OP_regx v0; DW_OP_regx v1; DW_OP_LLVM_select_bit_piece 32 64", "DW_OP_neg", "DW_OP_not", "DW_OP_abs"),
)
WRONG_KINDS = (
    "DW_OP_regx v0; DW_OP_lit1; DW_OP_plus; DW_OP_stack_value",
    "DW_OP_LLVM_undefined; DW_OP_neg; DW_OP_stack_value",
    "DW_OP_implicit_value 01000000; DW_OP_lit1; DW_OP_and; DW_OP_stack_value",
    "DW_OP_lit1; DW_OP_stack_value; DW_OP_lit1; DW_OP_minus; DW_OP_stack_value",
    "DW_OP_regx v0; DW_OP_regx v1; DW_OP_LLVM_offset")  # fmt: skip
PAST = {"8 bytes of s1": "DW_OP_regx s1; DW_OP_deref; DW_OP_stack_value", "an address in s33": "DW_OP_bregx s33 8"}
SEEDS = (
    *(location("stack-underflow", text, text) for text in UNDERFLOWS),
    *(location("wrong-kind", text, text) for text in WRONG_KINDS),
    *(location("read-past-storage", name, text) for name, text in PAST.items()),
    location("offset-out-of-storage", "behind v0", "DW_OP_regx v0; DW_OP_const2u 256; DW_OP_LLVM_offset"),
    location("offset-out-of-storage", "behind a constant", "DW_OP_implicit_value 0102; DW_OP_LLVM_offset_uconst 3"),
    location("division-by-zero", "by DW_OP_div", "DW_OP_lit7; DW_OP_lit0; DW_OP_div; DW_OP_stack_value"),
    location("division-by-zero", "by DW_OP_mod", "DW_OP_lit7; DW_OP_lit0; DW_OP_mod; DW_OP_stack_value"),
    location("unknown-operation", "0x01", b"\x01"),           location("unknown-operation", "0xff", b"\x30\x9f\xff"),
    location("unknown-operation", "an extended operation", b"\xe9\x7f"),
    location("truncated", "an address", b"\x03\x00\x10"),     location("truncated", "a constant", b"\x0c\x01"),
    location("truncated", "a number", b"\x10\x80"),           location("truncated", "a block", b"\x9e\x05\x01"),
    location(
        "incomplete-composite", "a read of pieces", "DW_OP_regx s1; DW_OP_piece 4; DW_OP_deref; DW_OP_stack_value"
    ),
    location("incomplete-composite", "a copy of pieces", "DW_OP_regx s1; DW_OP_piece 4; DW_OP_dup"),
    location("bad-piece", "bits 8 to 40 of s1", "DW_OP_regx s1; DW_OP_bit_piece 32 8; DW_OP_LLVM_piece_end"),
    location("bad-piece", "of 4 bytes of one", "DW_OP_implicit_value 01; DW_OP_piece 4; DW_OP_LLVM_piece_end"),
    location("bad-piece", "of elements behind s1", "DW_OP_regx s1; DW_OP_LLVM_extend 64 2"),
    location("piece-size", "of 100 bytes of an int", "DW_OP_regx s1; DW_OP_piece 4; DW_OP_piece 96"),
    location("bad-branch", "into an operation", "DW_OP_lit0; DW_OP_bra 1; DW_OP_const2u 7; DW_OP_stack_value"),
    location("bad-branch", "behind the end", b"\x30\x2f\x40\x00"),
    location("bad-branch", "before the start", b"\x30\x2f\xf0\xff"),
    location("bad-address-space", "the number 99", "DW_OP_lit0; DW_OP_constu 99; DW_OP_LLVM_form_aspace_address"),
    location("bad-address-space", "of a register", "DW_OP_constu 99; DW_OP_LLVM_aspace_bregx s0 4"),
    location("bad-size", "no bytes", "DW_OP_lit0; DW_OP_deref_size 0; DW_OP_stack_value"),
    location("bad-size", "9 bytes", "DW_OP_lit0; DW_OP_deref_size 9; DW_OP_stack_value"),
    location("bad-operand", "no elements", "DW_OP_regx s1; DW_OP_LLVM_extend 32 0"),
    location("bad-operand", "elements of no bits", "DW_OP_regx s1; DW_OP_LLVM_extend 0 4"),
    location("register-unavailable", "DW_OP_reg0", "DW_OP_reg0"),
    location("register-unavailable", "the number 9999", b"\x90\x8f\x4e"),
    location("register-unavailable", "of waves of 32 lanes", b"\x90\x80\x0c"),
    location("register-unavailable", "with an offset", b"\x92\x8f\x4e\x00"),
    location("limit-exceeded", "a loop that never ends", b"\x30\x2f\xfc\xff"),
    location("unreachable", "behind a skip", "DW_OP_lit0; DW_OP_skip 1; DW_OP_nop; DW_OP_stack_value"),
    location("deprecated", "DW_OP_xderef", "DW_OP_lit1; DW_OP_lit0; DW_OP_xderef; DW_OP_lit0; DW_OP_plus"),
    location("no-frame-base", "of a variable", "DW_OP_fbreg 8"),
    location("no-frame-base", "in a piece", "DW_OP_fbreg 8; DW_OP_piece 4; DW_OP_LLVM_piece_end"),
    of_type("no-frame-base", "of a variable of no function", variable("a", location="DW_OP_fbreg 8")),
    of_kernel("frame-base-cycle", "the frame base itself", "frame_base", "DW_OP_fbreg 8"),
    of_kernel("not-memory", "a frame base that is a constant", "frame_base", "DW_OP_implicit_value 00000000"),
    of_kernel("not-memory", "a frame base at an address", "frame_base", "DW_OP_lit5"),
    of_kernel("not-memory", "a frame base that is undefined", "frame_base", "DW_OP_LLVM_undefined"),
    of_kernel("not-memory", "a return address in a register", "return_addr", "DW_OP_regx s30"),
    of_kernel("not-memory", "a static link in a register", "static_link", "DW_OP_regx s30"),
    of_type("bad-result-kind", "a size in a register", value("byte_size", "DW_OP_regx s1")),
    of_type("bad-result-kind", "a size that is undefined", value("byte_size", "DW_OP_LLVM_undefined")),
    of_type("bad-result-kind", "a constant as a size", value("byte_size", "DW_OP_lit4; DW_OP_stack_value")),
    location("call-target", "no entry of the unit", b"\x99\xff\xff\x00\x00"),
    location("call-target", "two bytes that lead to no entry", b"\x98\x05\x00"),
    location("call-target", "no entry of the file", b"\x9a\xff\xff\x00\x00"),
    location("pointer-target", "no entry", b"\xa0\xff\xff\x00\x00\x00"),
    location("type-operand", "no entry", b"\x30\xa8\x07\x9f"),
    location("type-operand", "of a register", b"\xa5\x21\x07\x9f"),
    location("address-index", "without a table", b"\xa1\x07"),
    location("address-index", "of a constant", b"\xa2\x07\x9f"))  # fmt: skip
