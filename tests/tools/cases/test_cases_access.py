import pytest
from cases import run_case

AMD = {"rules": "amd", "dialect": "llvm-user"}
GPU = {"target": "amdgcn-gfx90a"}
BIG = {"byte_order": "big"}
S32 = {"encoding": "signed", "byte_size": 4}
U5 = {"encoding": "unsigned", "byte_size": 1, "bit_size": 5}
F32 = {"encoding": "float", "byte_size": 4}
MEMORY = {"memory": [{"space": 0, "address": 0, "bytes": "000102030405060708090a0b0c0d0e0f"}]}
V4 = {"registers": {"v4": [0, -1, 2, 3]}}


def ask(text, read=None, context=None, **case):
    asked = {"ops": text, "context": context or {}, **case}
    return run_case(asked if read is None else {**asked, "read": read}, 1)


def seen(answer):
    return answer["error"]["kind"] if answer["status"] == "error" else answer["read"]


def of(data, **more):
    return {"bytes": data, **more}


READS = [
    # --- memory
    ("DW_OP_addr 4", {"bytes": 4}, MEMORY, {}, of("04050607")),
    ("DW_OP_addr 4", {"bytes": 0}, MEMORY, {}, of("")),
    ("DW_OP_addr 4", {"bytes": 2, "offset": 3}, MEMORY, {}, of("0708")),
    ("DW_OP_addr 4", {"bytes": 2, "offset": -3}, MEMORY, {}, of("0102")),
    ("DW_OP_addr 4", {"bytes": 2, "offset": "-0x4"}, MEMORY, {}, of("0001")),
    ("DW_OP_addr 4", {"bytes": 2, "offset": -5}, MEMORY, {}, "offset_out_of_storage"),
    ("DW_OP_addr 4", {"bytes": 2, "offset": 11}, MEMORY, {}, "memory_unavailable"),
    ("DW_OP_addr 4", {"type": S32}, MEMORY, {}, of("04050607", value=0x07060504)),
    ("DW_OP_addr 4", {"type": S32}, MEMORY, BIG, of("04050607", value=0x04050607)),
    ("DW_OP_addr 4", {"type": S32, "offset": 4}, MEMORY, {}, of("08090a0b", value=0x0B0A0908)),
    ("DW_OP_addr 4", {"type": "generic"}, MEMORY, {"address_size": 2}, of("0405", value=0x0504)),
    ("DW_OP_addr 0",
     {"type": {**S32, "byte_size": 2, "vector_size": 3}}, MEMORY, {}, of("000102030405", value=[256, 770, 1284])),
    ("DW_OP_addr 0",
     {"type": {**S32, "byte_size": 2, "vector_size": 3}}, MEMORY, BIG, of("000102030405", value=[1, 515, 1029])),
    ("DW_OP_lit4", {"bytes": 2}, MEMORY, {}, of("0405")),
    ("DW_OP_lit4", {"bytes": 2}, MEMORY, AMD, of("0405")),
    ("DW_OP_addr 4; DW_OP_lit4; DW_OP_LLVM_bit_offset", {"bytes": 1}, MEMORY, AMD, of("50")),
    ("DW_OP_addr 4; DW_OP_lit4; DW_OP_LLVM_bit_offset", {"bytes": 1}, MEMORY, {**AMD, **BIG}, of("40")),
    ("DW_OP_addr 255", {"bytes": 2}, MEMORY, {"address_size": 1}, "read_past_storage"),
    ("DW_OP_addr 4", {"bytes": 1 << 40}, MEMORY, {}, "limit_exceeded"),
    # --- bits that do not fill bytes
    ("DW_OP_addr 15", {"type": U5}, MEMORY, {}, of("0f", value=15)),
    ("DW_OP_addr 15", {"type": U5}, MEMORY, BIG, of("08", value=1)),
    ("DW_OP_addr 15; DW_OP_lit3; DW_OP_LLVM_bit_offset", {"type": U5}, MEMORY, {**AMD, **BIG}, of("78", value=15)),
    # --- registers
    ("DW_OP_regx 2564", {"bytes": 8}, V4, GPU, of("00000000ffffffff")),
    ("DW_OP_regx v4; DW_OP_lit4; DW_OP_LLVM_offset", {"type": S32}, V4, GPU, of("ffffffff", value=-1)),
    ("DW_OP_regx v4", {"type": S32, "offset": 8}, V4, GPU, of("02000000", value=2)),
    ("DW_OP_regx v4", {"bytes": 4, "offset": 256}, V4, GPU, "offset_out_of_storage"),
    ("DW_OP_regx v4", {"bytes": 4, "offset": 253}, V4, GPU, "read_past_storage"),
    ("DW_OP_regx v5", {"bytes": 4}, V4, GPU, "register_unavailable"),
    ("DW_OP_reg0", {"bytes": 2}, {"registers": {"0": 0x1234}}, {}, of("3412")),
    ("DW_OP_reg0", {"bytes": 2}, {"registers": {"0": 0x1234}}, BIG, of("1234")),  # `object_of_value_bits`
    ("DW_OP_reg0", {"bytes": 2}, {"registers": {"0": 0x1234}}, {**BIG, **AMD}, of("0000")),
    ("DW_OP_reg0", {"bytes": 2, "offset": 6}, {"registers": {"0": 0x1234}}, BIG, of("1234")),
    # --- implicit storage
    ("DW_OP_lit5; DW_OP_stack_value", {"bytes": 2}, {}, {}, of("0500")),
    ("DW_OP_lit5; DW_OP_stack_value", {"bytes": 9}, {}, {}, "read_past_storage"),
    ("DW_OP_implicit_value 0000803f", {"type": F32}, {}, {}, of("0000803f", value=1.0)),
    ("DW_OP_implicit_value 0000c07f", {"type": F32}, {}, {}, of("0000c07f", value="nan")),
    ("DW_OP_implicit_value ff800000", {"type": F32}, {}, BIG, of("ff800000", value="-inf")),
    # --- undefined storage
    ("", {"bytes": 4}, {}, {}, of("00000000", undefined="ffffffff")),
    ("", {"bytes": 0}, {}, {}, of("")),
    ("", {"type": S32}, {}, {}, of("00000000", undefined="ffffffff", value=None)),
    ("", {"type": S32, "offset": 99}, {}, {}, of("00000000", undefined="ffffffff", value=None)),
    ("", {"type": U5}, {}, BIG, of("00", undefined="f8", value=None)),
    # --- composites
    ("DW_OP_addr 1; DW_OP_piece 2; DW_OP_piece 1; DW_OP_addr 9; DW_OP_piece 1", {"bytes": 4}, MEMORY, {},
     of("01020009", undefined="0000ff00")),
    ("DW_OP_addr 1; DW_OP_piece 2; DW_OP_piece 1; DW_OP_addr 9; DW_OP_piece 1", {"type": S32}, MEMORY, {},
     of("01020009", undefined="0000ff00", value=None)),
    ("DW_OP_addr 1; DW_OP_piece 2; DW_OP_piece 1; DW_OP_addr 9; DW_OP_piece 1",
     {"bytes": 1, "offset": 3}, MEMORY, {}, of("09")),
    ("DW_OP_addr 1; DW_OP_piece 2", {"bytes": 3}, MEMORY, {}, of("010200", undefined="0000ff")),
    ("DW_OP_addr 1; DW_OP_piece 2", {"bytes": 3}, MEMORY, AMD, "read_past_storage"),
    ("DW_OP_addr 1; DW_OP_bit_piece 4 0; DW_OP_bit_piece 4 0", {"bytes": 1}, MEMORY, AMD, of("01", undefined="f0")),
    ("DW_OP_addr 1; DW_OP_bit_piece 4 0; DW_OP_bit_piece 4 0",
     {"bytes": 1}, MEMORY, {**AMD, **BIG}, of("00", undefined="0f")),
    # --- implicit pointers
    ("DW_OP_implicit_pointer 16 0", {"bytes": 8}, {}, {}, "implicit_pointer_misuse"),
    ("DW_OP_implicit_pointer 16 1; DW_OP_deref",
     {"bytes": 1}, {"dies": {"info:16": {"const_value": "0708"}}}, AMD, of("08")),
    # --- what is no location
    ("DW_OP_const_type 1 00000000", {"bytes": 1}, {"base_types": {"1": S32}, **MEMORY}, AMD, "wrong_kind"),
    ("DW_OP_const_type 1 01000000", {"bytes": 1}, {"base_types": {"1": S32}, **MEMORY}, {}, of("01")),
    ("DW_OP_const_type 1 0000803f", {"bytes": 1}, {"base_types": {"1": F32}, **MEMORY}, {}, "wrong_kind"),
    # --- types that are none
    ("DW_OP_addr 0", {"type": {**S32, "byte_size": 0}}, MEMORY, {}, "bad_type"),
    ("DW_OP_addr 0", {"type": {**S32, "vector_size": 0}}, MEMORY, {}, "bad_type"),
    ("DW_OP_addr 0", {"type": {**S32, "bit_size": 33}}, MEMORY, {}, "bad_type"),
    ("DW_OP_addr 0", {"type": {**S32, "byte_size": 4096}}, MEMORY, {}, "bad_type")]  # fmt: skip


@pytest.mark.parametrize("text, read, context, case, expected", READS, ids=[f"{i}-{r[0]}" for i, r in enumerate(READS)])
def test_reads(text, read, context, case, expected):
    assert seen(ask(text, read, context, **case)) == expected


def test_places_are_read_written_and_agree():
    held = {"kind": "multiple", "places": [{"kind": "memory", "address": 99}, {"kind": "register", "register": 0}]}
    context = {"object": held, "registers": {"0": 0x0102}}
    assert seen(ask("DW_OP_push_object_address", {"bytes": 2}, context)) == of("0201")
    context["memory"] = [{"space": 0, "address": 99, "bytes": "0201"}]
    assert seen(ask("DW_OP_push_object_address", {"bytes": 1}, context)) == of("02")
    assert seen(ask("DW_OP_push_object_address", {"bytes": 2}, context)) == of("0201")
    held = {"kind": "multiple", "places": [{"kind": "register", "register": 0}, {"kind": "register", "register": 1}]}
    answer = ask("DW_OP_push_object_address", {"bytes": 2}, {"object": held, "registers": {"0": 1, "1": 2}})
    assert (answer["error"]["class"], answer["error"]["spec"]) == ("ill_formed", "A.2.5.3")
    held = {"kind": "multiple", "places": [{"kind": "register", "register": 0}, {"kind": "memory", "address": 4}]}
    context = {"object": held, "registers": {"0": 0}, **MEMORY}
    assert seen(ask("DW_OP_push_object_address", {"bytes": 2}, context, write="0a0b")) == of("0a0b")


def test_an_error_of_a_read_is_the_answer():
    assert ask("DW_OP_reg5", {"bytes": 4}) == {
        "id": 1,
        "status": "error",
        "error": {
            "class": "evaluation_error",       "kind": "register_unavailable",
            "message": "the contents of register r5 are not available",           "spec": "A.2.5.4.4.4"}}  # fmt: skip


WRITES = [
    ("DW_OP_addr 4", "aabb", {"bytes": 4}, MEMORY, {}, of("aabb0607")),
    ("DW_OP_addr 4", "", {"bytes": 4}, MEMORY, {}, of("04050607")),
    ("DW_OP_addr 4", "aabb", {"type": S32}, MEMORY, {}, of("aabb0607", value=0x0706BBAA)),
    ("DW_OP_addr 4", "aabb", {"bytes": 4, "offset": -1}, MEMORY, {}, of("03aabb06")),
    ("DW_OP_addr 15", "aabb", {"bytes": 1}, MEMORY, {}, "memory_unavailable"),
    ("DW_OP_addr 4; DW_OP_lit4; DW_OP_LLVM_bit_offset", "ff", {"bytes": 2, "offset": -1}, MEMORY, AMD, of("40ff")),
    ("DW_OP_lit4", "aa", {"bytes": 1}, MEMORY, {}, of("aa")),
    ("DW_OP_regx v4; DW_OP_lit8; DW_OP_LLVM_offset",
     "01020304", {"bytes": 12, "offset": -4}, V4, GPU, of("ffffffff0102030403000000")),
    ("DW_OP_reg0", "0102", {"bytes": 3}, {"registers": {"0": 0}}, {}, of("010200")),
    ("DW_OP_reg0", "0102", {"bytes": 3}, {"registers": {"0": 0}}, BIG, of("000102")),
    ("DW_OP_reg0", "0102", {"bytes": 3}, {"registers": {"0": 0}}, {**BIG, **AMD}, of("010200")),
    ("DW_OP_reg0", "0102", {"bytes": 3}, {}, {}, "register_unavailable"),
    ("DW_OP_reg0", "00" * 9, {"bytes": 3}, {"registers": {"0": 0}}, {}, "read_past_storage"),
    ("DW_OP_addr 1; DW_OP_piece 2; DW_OP_addr 9; DW_OP_piece 1", "a1a2a3", {"bytes": 3}, MEMORY, {}, of("a1a2a3")),
    ("DW_OP_addr 1; DW_OP_piece 2; DW_OP_piece 1", "a1a2a3", {"bytes": 3}, MEMORY, {}, "not_writable"),
    ("DW_OP_lit5; DW_OP_stack_value", "01", {"bytes": 1}, {}, {}, "not_writable"),
    ("", "01", {"bytes": 1}, {}, {}, "not_writable"),
    ("DW_OP_implicit_pointer 16 0", "01", {"bytes": 1}, {}, {}, "not_writable"),
    ("DW_OP_const_type 1 00000000", "01", {"bytes": 1}, {"base_types": {"1": S32}}, AMD, "wrong_kind")]  # fmt: skip


@pytest.mark.parametrize("text, write, read, context, case, expected", WRITES, ids=[row[0] for row in WRITES])
def test_a_read_sees_what_was_written(text, write, read, context, case, expected):
    assert seen(ask(text, read, context, write=write, **case)) == expected


def test_a_write_is_whole_and_answered():
    answer = ask("DW_OP_addr 4", context=MEMORY, write="aa")
    assert (answer["status"], "read" in answer) == ("ok", False)
    assert ask("DW_OP_addr 99", context=MEMORY, write="aa")["error"]["kind"] == "memory_unavailable"
    text = "DW_OP_addr 1; DW_OP_piece 2; DW_OP_addr 99; DW_OP_piece 1; DW_OP_LLVM_piece_end"
    lanes = ask(text, {"bytes": 1}, MEMORY, write="a1a2a3", lanes=[0, 1], **AMD)["lanes"]
    assert {lane["error"]["kind"] for lane in lanes.values()} == {"memory_unavailable"}
    context = {"registers": {"0": 5}}
    assert seen(ask("DW_OP_reg0", {"bytes": 1}, context, write="07")) == of("07")
    assert seen(ask("DW_OP_reg0", {"bytes": 1}, context)) == of("05")
