import pytest

from dwarfgpu import dialects
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, IllFormed, Unsupported
from dwarfgpu.expr.asm import MAX_DEPTH, assemble, encode, implied_register, parse
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.table import find
from tests.builders.commands import in_python
from tests.builders.contexts import outcome
from tests.builders.errors import raised
from tests.builders.parameters import for_each
from tests.expr.programs import AMDGCN, DIALECTS, DWARF5, DWARF6, FORM, FORM_IDS, FORMS, GNU, LLVM_USER, X86_64


def hexadecimal(program, dialect=LLVM_USER, form=FORM, **options):
    return assemble(program, dialect, form, **options).hex()


@for_each("program, expected",
    ("", ""),                                                (" ;; \n ; ", ""),
    ("DW_OP_lit1; DW_OP_plus_uconst 4", "31 2304"),          ("DW_OP_lit1\nDW_OP_plus_uconst 0x4\n", "31 2304"),
    ("  DW_OP_lit1 ;\r\n\tDW_OP_plus_uconst\t4", "31 2304"),
    ("# a comment, with ; and DW_OP_dup\nDW_OP_lit1 # (one\n", "31"),
    ("DW_OP_const1s -1", "09ff"),         ("DW_OP_const1u 0b101", "0805"),      ("DW_OP_consts -129", "11ff7e"),
    ("DW_OP_fbreg +8", "9108"),           ("DW_OP_bit_piece 4 2", "9d0402"),    ("DW_OP_bit_piece 4, 2", "9d0402"),
    ("DW_OP_bit_piece 4 ,2", "9d0402"),   ("DW_OP_const_type 0x20 01020304", "a420 04 01020304"),
    ("DW_OP_const_type 0x20, 0x01020304", "a420 04 01020304"),
    ("DW_OP_implicit_value 01020304", "9e04 01020304"),      ("DW_OP_implicit_value 0xAbCd", "9e02 abcd"),
    ("DW_OP_implicit_value 0x", "9e00"),  ("DW_OP_implicit_pointer 0x2a -4", "a02a0000007c"),
    ("DW_OP_GNU_encoded_addr 3 0x1000", "f10300100000"),     ("DW_OP_GNU_encoded_addr 0x1b -8", "f11bf8ffffff"),
    ("DW_OP_LLVM_NVIDIA_mux 0102", "e90d0102"),              ("DW_OP_LLVM_NVIDIA_mux 0x", "e90d"),
    ("DW_OP_lit1; (undecoded: e9 0e)", "31 e90e"),           ("(undecoded:)", ""))  # fmt: skip
def test_programs(program, expected):
    assert hexadecimal(program) == expected.replace(" ", "")


@pytest.mark.spec("A.2.5.4.2 (3)")
@for_each("program, expected",
    ("again: DW_OP_dup; DW_OP_bra @again", "12 28fcff"),     ("again:DW_OP_dup; DW_OP_bra @again", "12 28fcff"),
    ("again:\nDW_OP_dup\nDW_OP_bra @again", "12 28fcff"),    ("DW_OP_skip @end; DW_OP_dup; end:", "2f0100 12"),
    ("DW_OP_skip @end; DW_OP_dup\nend:\n", "2f0100 12"),     ("a: b: DW_OP_skip @a; DW_OP_skip @b", "2ffdff 2ffaff"),
    ("DW_OP_skip @.L1; .L1:", "2f0000"),  ("DW_OP_skip 5; DW_OP_bra -3; DW_OP_skip +3", "2f0500 28fdff 2f0300"),
    # a label in an expression is a label of that expression
    ("x: DW_OP_entry_value (x: DW_OP_skip @x); DW_OP_skip @x", "a303 2ffdff 2ff8ff"))  # fmt: skip
def test_branches(program, expected):
    assert hexadecimal(program) == expected.replace(" ", "")


@pytest.mark.spec("A.2.5.4.3.4 (8)")
@for_each("program, expected",
    ("DW_OP_entry_value (DW_OP_reg5)", "a301 55"),
    ("DW_OP_entry_value(DW_OP_reg5); DW_OP_stack_value", "a301 55 9f"),
    ("DW_OP_entry_value 55", "a301 55"),
    ("DW_OP_entry_value ()", "a300"),
    ("DW_OP_entry_value (DW_OP_breg5 0; DW_OP_deref)", "a303 7500 06"),
    ("DW_OP_entry_value (\n  DW_OP_breg5 0  # the argument\n  DW_OP_deref\n)", "a303 7500 06"),
    ("DW_OP_GNU_entry_value (DW_OP_entry_value (DW_OP_reg5))", "f303 a301 55"))  # fmt: skip
def test_expressions_in_expressions(program, expected):
    assert hexadecimal(program) == expected.replace(" ", "")


@for_each("program, target, expected",
    ("DW_OP_regx v4", AMDGCN, "908414"),  ("DW_OP_regx V4", AMDGCN, "908414"),  ("DW_OP_regx $v4", AMDGCN, "908414"),
    ("DW_OP_regx 2564", AMDGCN, "908414"),                   ("DW_OP_bregx s32 8", AMDGCN, "924008"),
    ("DW_OP_bregx s32, 8", AMDGCN, "924008"),                ("DW_OP_bregx s32+8", AMDGCN, "924008"),
    ("DW_OP_bregx s32 -8", AMDGCN, "924078"),                ("DW_OP_bregx s32-8", AMDGCN, "924078"),
    ("DW_OP_bregx 64+8", None, "924008"), ("DW_OP_lit6; DW_OP_LLVM_aspace_bregx s33+4", AMDGCN, "36e9094104"),
    ("DW_OP_LLVM_call_frame_entry_reg exec", AMDGCN, "e90711"),
    ("DW_OP_regval_type rdx 0x20", X86_64, "a50120"),        ("DW_OP_reg5 rdi", X86_64, "55"),
    ("DW_OP_breg7 rsp+8", X86_64, "7708"))  # fmt: skip
def test_registers_by_name(program, target, expected):
    assert hexadecimal(program, target=target) == expected


@for_each("program, expected",
    ("DW_OP_breg7 RSP+8, DW_OP_deref, DW_OP_plus_uconst 0x10", "7708 06 2310"),
    ("DW_OP_lit1, DW_OP_bra +3, DW_OP_dup, DW_OP_dup, DW_OP_dup", "31 280300 121212"),
    ("DW_OP_breg7 +8", "7708"),
    ("DW_OP_bregx 0xa00 +8", "92801408"),
    ("DW_OP_implicit_value 0x4 0x01 0x02 0x03 0x04", "9e04 01020304"),
    ("DW_OP_implicit_pointer 0x2a +4", "a02a00000004"),
    ("DW_OP_LLVM_user DW_OP_LLVM_offset_uconst 0x8, DW_OP_deref", "e90508 06"),
    ("DW_OP_entry_value(DW_OP_reg5 RDI), DW_OP_stack_value", "a301 55 9f"),
    ("DW_OP_entry_value(DW_OP_breg5 RDI+0, DW_OP_deref), DW_OP_stack_value", "a303 7500 06 9f"))  # fmt: skip
def test_what_llvm_dwarfdump_prints(program, expected):
    assert hexadecimal(program, target=X86_64) == expected.replace(" ", "")


@pytest.mark.parametrize("form", FORMS, ids=FORM_IDS)
def test_sizes_and_byte_order_are_those_of_the_unit(form):
    order = form.byte_order
    expected = b"\x03" + (0x1234).to_bytes(form.address_size, order)
    expected += b"\x9a" + (0x56).to_bytes(form.reference_size, order)
    expected += b"\x0a" + (0x789A).to_bytes(2, order) + b"\x2f" + (-3).to_bytes(2, order, signed=True)
    program = "DW_OP_addr 0x1234; DW_OP_call_ref 0x56; DW_OP_const2u 0x789a; again: DW_OP_skip @again"
    assert assemble(program, DWARF5, form) == expected


@pytest.mark.parametrize("dialect, expected", [("llvm-user", "e90508 e904 e902"), ("llvm-legacy", "e408 e3 e1")])
def test_the_name_implies_the_number_that_the_dialect_has(dialect, expected):
    program = "DW_OP_LLVM_offset_constu 8; DW_OP_offset; DW_OP_LLVM_user DW_OP_LLVM_form_aspace_address"
    assert hexadecimal(program, dialects.get(dialect)) == expected.replace(" ", "")


@for_each("name, dialect, expected",
    ("DW_OP_GNU_entry_value 55", DWARF5, "a30155"),  # only the standard one has a number
    ("DW_OP_GNU_entry_value 55", GNU, "f30155"),             ("DW_OP_entry_value 55", GNU, "a30155"),
    ("DW_OP_push_object_address", DWARF6, "97"),             ("DW_OP_push_object_location", DWARF5, "97"),
    ("DW_OP_nop", LLVM_USER, "96"),                          ("DW_OP_LLVM_nop", LLVM_USER, "e901"),
    ("DW_OP_LLVM_nop", DWARF5, "96"))  # fmt: skip
def test_an_alias_has_its_own_number_if_there_is_one(name, dialect, expected):
    assert hexadecimal(name, dialect) == expected


def test_a_parsed_operation_keeps_the_name_it_was_given():
    first, second = parse("DW_OP_GNU_entry_value 55; DW_OP_LLVM_offset_constu 8", LLVM_USER, FORM).instructions
    assert (first.name, first.operation.name) == ("DW_OP_GNU_entry_value", "DW_OP_entry_value")
    assert (second.name, second.operation.name) == ("DW_OP_LLVM_offset_constu", "DW_OP_LLVM_offset_uconst")


def test_a_person_at_a_prompt_may_leave_out_the_prefix():
    program = "lit1; PLUS_uconst 4; LLVM_offset_uconst 8; dw_op_Dup; DW_OP_drop"
    assert hexadecimal(program, strict=False) == "312304e905081213"
    names = [one.name for one in parse(program, LLVM_USER, FORM, strict=False).instructions]
    assert names == ["DW_OP_lit1", "DW_OP_plus_uconst", "DW_OP_LLVM_offset_uconst", "DW_OP_dup", "DW_OP_drop"]


@for_each("program, dialect",
    ("DW_OP_LLVM_overlay", "llvm-user"),                     ("DW_OP_LLVM_push_iteration", "llvm-user"),
    ("DW_OP_LLVM_aspace_implicit_pointer 0 0", "llvm-user"), ("DW_OP_LLVM_offset", "gnu"),
    ("DW_OP_LLVM_undefined", "amdgpu-2020"),                 ("DW_OP_LLVM_NVIDIA_mux 01", "llvm-legacy"),
    ("DW_OP_GNU_uninit", "dwarf5"),                          ("DW_OP_offset", "dwarf6"))  # fmt: skip
def test_an_operation_without_a_number_has_no_bytes(program, dialect):
    caught = raised(Unsupported, hexadecimal, f"DW_OP_lit1; {program}", dialects.get(dialect))
    assert caught.kind == "no_encoding"
    name = program.partition(" ")[0]
    assert caught.message == f"{name} has no encoding in the dialect {dialect}, column 13"
    assert caught.where.operation == name


def test_a_program_without_bytes_has_offsets_all_the_same():
    program = "DW_OP_lit1; a: DW_OP_LLVM_aspace_implicit_pointer 0x20 -200; DW_OP_bra @a; DW_OP_skip @b; b:"
    expression = parse(program, DWARF6, Format(offset_size=8))
    assert expression.data == b""
    offsets = [(one.offset, one.end) for one in expression.instructions]
    assert offsets == [(0, 1), (1, 1 + 1 + 8 + 2), (12, 15), (15, 18)]
    assert [one.operands for one in expression.instructions] == [(), (0x20, -200), (-14,), (0,)]
    assert expression.end == 18


def test_a_program_with_bytes_has_them():
    assert parse("DW_OP_lit1; DW_OP_LLVM_offset", LLVM_USER, FORM).data == b"\x31\xe9\x04"


@pytest.mark.spec("A.2.5.4.4.6 (6)")
def test_operations_without_a_number_are_evaluated():
    program = """
        DW_OP_addr 0x10; DW_OP_addr 0x20; DW_OP_lit2; DW_OP_lit4
        DW_OP_LLVM_bit_overlay; DW_OP_skip @end
        DW_OP_plus
        end:
    """
    result = outcome(parse(program, DWARF5, FORM))
    assert [part.bit_size for part in result.places[0].storage.parts][:2] == [2, 4]


def test_bytes_that_are_no_operation_are_a_fault_of_the_expression():
    expression = parse("DW_OP_lit1; (undecoded: 12 ff)", LLVM_USER, FORM)
    assert [one.name for one in expression.instructions] == ["DW_OP_lit1", "DW_OP_dup"]
    assert expression.fault.kind == "unknown_operation"
    expression = parse("DW_OP_lit1; DW_OP_LLVM_NVIDIA_mux 01", LLVM_USER, FORM)
    assert (expression.fault.error_class, expression.tail) == ("unsupported", 1)
    assert "no encoding" in str(raised(Unsupported, parse, "DW_OP_LLVM_offset; (undecoded: ff)", DWARF5, FORM))


def test_an_expression_in_an_expression_must_have_bytes():
    with pytest.raises(Unsupported, match=r"DW_OP_LLVM_overlay has no encoding .* column 20"):
        parse("DW_OP_entry_value (DW_OP_LLVM_overlay)", LLVM_USER, FORM)


def test_encode_gives_the_bytes_of_one_operation():
    (instruction,) = parse("DW_OP_LLVM_extend 32 64", LLVM_USER, FORM).instructions
    assert encode(instruction, LLVM_USER, FORM) == b"\xe9\x0b\x20\x40"
    with pytest.raises(Unsupported, match="DW_OP_LLVM_extend has no encoding in the dialect dwarf5"):
        encode(instruction, DWARF5, FORM)


@for_each("name, register",
    ("DW_OP_reg5", 5),     ("DW_OP_breg31", 31),  ("DW_OP_lit5", None),  ("DW_OP_regx", None),  ("DW_OP_over", None),
)  # fmt: skip
def test_implied_register(name, register):
    assert implied_register(find(name)) == register


ERRORS = [
    # names
    ("DW_OP_lit32", "unknown_operation", "DW_OP_lit32 is not an operation, column 1"),
    ("DW_OP_lit1; plus", "unknown_operation", "plus is not an operation, column 13"),
    ("DW_OP_lit1; dw_op_plus", "unknown_operation", "dw_op_plus is not an operation, column 13"),
    ("DW_OP_lit1\n  frob 7\n", "unknown_operation", "frob is not an operation, line 2, column 3"),
    ("x" * 50, "unknown_operation", "x" * 37 + "... is not an operation, column 1"),
    ("(DW_OP_lit1)", "unknown_operation", "(DW_OP_lit1) is not an operation, column 1"),
    ("DW_OP_LLVM_user", "unknown_operation", "the name of an operation follows, column 1"),
    ("DW_OP_LLVM_user 5 8", "unknown_operation", "the name of an operation follows, column 1"),
    ("DW_OP_LLVM_user DW_OP_dup", "unknown_operation", "the name of an operation follows, column 1"),
    # numbers of operands
    ("DW_OP_const1u", "bad_operand", "DW_OP_const1u has 1 operand, found 0, column 1"),
    ("DW_OP_lit1; DW_OP_dup 7", "bad_operand", "DW_OP_dup has 0 operands, found 1, column 23"),
    ("DW_OP_bit_piece 4", "bad_operand", "DW_OP_bit_piece has 2 operands, found 1, column 1"),
    ("DW_OP_piece 4 5 6", "bad_operand", "DW_OP_piece has 1 operand, found 3, column 15"),
    ("DW_OP_GNU_encoded_addr 3", "bad_operand", "an encoded pointer is two numbers"),
    ("DW_OP_implicit_value", "bad_operand", "DW_OP_implicit_value has 1 operand, found 0, column 1"),
    # operands
    ("DW_OP_piece four", "bad_operand", "four is not a number, column 13"),
    ("DW_OP_piece 08", "bad_operand", "08 is not a number, column 13"),
    ("DW_OP_piece 0x", "bad_operand", "0x is not a number, column 13"),
    ("DW_OP_piece " + "9" * 5000, "bad_operand", "... is not a number, column 13"),
    ("DW_OP_piece @x", "bad_operand", "@x is not a number, column 13"),
    ("DW_OP_convert (0x20)", "bad_operand", "(0x20) is not a number, column 15"),
    ("DW_OP_const1u 256", "bad_operand", "the operand 256 does not fit its encoding (u1), column 15"),
    ("DW_OP_const1u -1", "bad_operand", "the operand -1 does not fit its encoding (u1), column 15"),
    ("DW_OP_const1s 128", "bad_operand", "the operand 128 does not fit its encoding (s1), column 15"),
    ("DW_OP_constu -1", "bad_operand", "does not fit its encoding (uleb), column 14"),
    ("DW_OP_constu 0x10000000000000000", "bad_operand", "does not fit its encoding (uleb), column 14"),
    ("DW_OP_consts 0x8000000000000000", "bad_operand", "does not fit its encoding (sleb), column 14"),
    ("DW_OP_bit_piece 4 -1", "bad_operand", "does not fit its encoding (uleb), column 19"),
    ("DW_OP_addr -1", "bad_operand", "does not fit its encoding (address), column 12"),
    ("DW_OP_call_ref 0x100000000", "bad_operand", "does not fit its encoding (ref), column 16"),
    ("DW_OP_GNU_encoded_addr 256 0", "bad_operand", "an encoded pointer is two numbers"),
    # blocks
    ("DW_OP_implicit_value 1", "bad_operand", "1 is not a block"),
    ("DW_OP_implicit_value 0xg0", "bad_operand", "0xg0 is not a block"),
    ("DW_OP_implicit_value 01 02", "bad_operand", "a block is one word, found 2, column 22"),
    ("DW_OP_implicit_value 0x3 0x01 0x02", "bad_operand", "a block is one word, found 3, column 22"),
    ("DW_OP_implicit_value 0x2 0x01 0x2", "bad_operand", "a block is one word, found 3, column 22"),
    ("DW_OP_implicit_value (DW_OP_reg5)", "bad_operand", "(DW_OP_reg5) is not a block"),
    ("DW_OP_const_type 0 " + "00" * 256, "bad_operand", "does not fit its encoding (u1), column 20"),
    # parentheses
    ("DW_OP_entry_value (DW_OP_reg5", "bad_operand", "a parenthesis is not closed, column 19"),
    ("DW_OP_entry_value (DW_OP_reg5))", "bad_operand", "a parenthesis is closed that is not open, column 31"),
    ("DW_OP_entry_value (DW_OP_reg5) 4", "bad_operand", "a block is one word, found 2, column 19"),
    ("DW_OP_entry_value (lit1)", "unknown_operation", "lit1 is not an operation, column 20"),
    ("DW_OP_entry_value (DW_OP_reg5;\n DW_OP_piece)", "bad_operand", "found 0, line 2, column 2"),
    # branches
    ("DW_OP_skip @x", "bad_branch", "there is no label 'x', column 12"),
    ("x: DW_OP_entry_value (DW_OP_skip @x)", "bad_branch", "there is no label 'x', column 34"),
    ("x: DW_OP_dup\nx: DW_OP_dup", "bad_branch", "the label 'x' is defined twice, line 2, column 1"),
    ("1x: DW_OP_dup", "bad_branch", "'1x' cannot be a label, column 1"),
    ("x-y: DW_OP_dup", "bad_branch", "'x-y' cannot be a label, column 1"),
    (": DW_OP_dup", "bad_branch", "'' cannot be a label, column 1"),
    ("DW_OP_skip 32768", "bad_operand", "the operand 32768 does not fit its encoding (branch), column 12"),
    # registers
    ("DW_OP_regx v4", "bad_operand", "the name v4 means a register only on a target, column 12"),
    ("DW_OP_breg7 RSP+8", "bad_operand", "the name RSP means a register only on a target, column 13"),
    ("DW_OP_regx -1", "bad_operand", "does not fit its encoding (uleb), column 12"),
    # bytes that are no operation
    ("(undecoded: 12); DW_OP_dup", "bad_operand", "nothing can follow undecoded bytes, column 18"),
    ("DW_OP_LLVM_NVIDIA_mux 01; DW_OP_dup", "bad_operand", "nothing can follow"),
    ("(undecoded: 1)", "bad_operand", "is not a block"),
    ("(undecoded: 12) DW_OP_dup", "bad_operand", "DW_OP_dup must be a statement by itself, column 17")]  # fmt: skip


@pytest.mark.parametrize("program, kind, message", ERRORS)
def test_errors(program, kind, message):
    for function in (assemble, parse):
        caught = raised(IllFormed, function, program, LLVM_USER, FORM)
        assert caught.kind == kind
        assert message in caught.message
        assert caught.spec
        assert "column" in caught.message


@for_each("program, target, message",
    ("DW_OP_regx v999", AMDGCN, "amdgcn-gfx90a has no register v999, column 12"),
    ("DW_OP_regx xmm", X86_64, "x86_64 has no register xmm, column 12"),
    ("DW_OP_reg5 rsi", X86_64, "DW_OP_reg5 means register 5, not rsi, column 12"),
    ("DW_OP_breg7 rdi+8", X86_64, "DW_OP_breg7 means register 7, not rdi, column 13"),
    ("DW_OP_regx s32+8", AMDGCN, "DW_OP_regx has 1 operand, found 2, column 15"),
    ("DW_OP_bregx s32", AMDGCN, "DW_OP_bregx has 2 operands, found 1, column 1"))  # fmt: skip
def test_errors_about_registers(program, target, message):
    caught = raised(IllFormed, assemble, program, LLVM_USER, FORM, target=target)
    assert (caught.kind, caught.message) == ("bad_operand", message)


@for_each("program, hint",
    ("plus", "write DW_OP_plus"),                 ("DW_OP_PLUS", "write DW_OP_plus"),
    ("llvm_offset", "write DW_OP_LLVM_offset"),   ("DW_OP_plus_const 4", "DW_OP_plus_uconst"),
    ("DW_OP_LLVM_form_aspace_addres", "DW_OP_LLVM_form_aspace_address"), ("DW_OP_regx v4", "name the target"),
    ("DW_OP_implicit_value 01 02", "write its bytes together"))  # fmt: skip
def test_hints(program, hint):
    assert hint in raised(DwarfGpuError, assemble, program, LLVM_USER, FORM).hint


def test_what_is_like_nothing_gets_no_hint():
    assert raised(IllFormed, assemble, "?" * 1000, LLVM_USER, FORM).hint is None


@pytest.mark.spec("A.2.5.4.2 (3)")
@pytest.mark.parametrize("filling, is_near", [(32767, True), (32768, False)])
def test_a_label_can_be_too_far_away(filling, is_near):
    program = "DW_OP_skip @end;" + "DW_OP_nop;" * filling + "end:"
    if is_near:
        assert hexadecimal(program)[:6] == "2fff7f"
    else:
        caught = raised(IllFormed, assemble, program, LLVM_USER, FORM)
        assert "'end' is 32768 bytes away" in str(caught)
        assert caught.kind == "bad_branch"


def test_nesting_has_a_limit():
    def program(depth):
        return "DW_OP_entry_value (" * depth + ")" * depth

    assert decode(assemble(program(MAX_DEPTH), DWARF5, FORM), DWARF5, FORM).fault is None
    assert "nested more than 64 deep" in str(raised(IllFormed, assemble, program(MAX_DEPTH + 1), DWARF5, FORM))
    assert "nested more than 64 deep" in str(raised(IllFormed, assemble, program(20_000), DWARF5, FORM))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_name_of_the_dialect_is_one_of_an_operation(dialect):
    assert all(find(name) is not None for name in dialect.by_name)


# --- The operation table: its rows do not depend on what was imported before it -----------------------------------


LIST = "from dwarfgpu.expr import table; print([(t, [r.name for r in rows]) for t, rows in table.sections()])"


@pytest.mark.parametrize("module", ["dwarfgpu.expr.location_operations", "dwarfgpu.program.values.storage"])
def test_rows_are_in_the_order_of_the_text_whatever_was_imported_before(module):
    """A module of operations that another one imports keeps its section."""

    alone = in_python(LIST)
    assert "DW_OP_deref_size" in alone
    assert in_python(f"import {module}; {LIST}") == alone
