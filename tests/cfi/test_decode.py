"""Call frame instructions from bytes: DWARF 5 section 7.24, A.7.24, the LSB and vendors."""

import pytest

from dwarfgpu.cfi import instructions
from dwarfgpu.cfi.instructions import decode
from dwarfgpu.cfi.rules import ExpressionBytes
from dwarfgpu.encoding import Bases, Format, FrameFormat
from dwarfgpu.errors import IllFormed, Unsupported
from tests.builders.frames import INSTRUCTIONS, cfa
from tests.builders.parameters import every, for_each

FORMAT = FrameFormat(Format(8, 4, "little"), code_alignment=4, data_alignment=-8)


def read(data, format=FORMAT, offset=0x100):
    return decode(data, format, section=".debug_frame", offset=offset)


def one(text, format=FORMAT):
    found = read(cfa(text, size=format.form.address_size, order=format.form.byte_order), format)
    assert found.fault is None
    (instruction,) = found
    return instruction


EXPRESSION = ExpressionBytes(bytes.fromhex("3023"), ".debug_frame", 0x102)

# instruction -> operands: what is factored is multiplied by 4 (code) or -8 (data)
OPERANDS = [
    ("set_loc 0x1234", (0x1234,)),        ("advance_loc 63", (252,)),           ("advance_loc1 255", (1020,)),
    ("advance_loc2 0xffff", (0x3FFFC,)),  ("advance_loc4 0xffffffff", (0x3FFFFFFFC,)),
    ("MIPS_advance_loc8 0xffffffffffffffff", (0x3FFFFFFFFFFFFFFFC,)),           ("def_cfa 7 8", (7, 8)),
    ("def_cfa 70000 0xffffffffffffffff", (70000, 0xFFFFFFFFFFFFFFFF)),          ("def_cfa_sf 7 -2", (7, 16)),
    ("def_cfa_register 6", (6,)),         ("def_cfa_offset 16", (16,)),         ("def_cfa_offset_sf -2", (16,)),
    ("def_cfa_expression 3023", (EXPRESSION,)),              ("LLVM_def_aspace_cfa 64 256 6", (64, 256, 6)),
    ("LLVM_def_aspace_cfa_sf 64 -2 6", (64, 16, 6)),         ("undefined 2600", (2600,)),
    ("same_value 17", (17,)),             ("offset 16 1", (16, -8)),
    ("offset_extended 2600 2", (2600, -16)),                 ("offset_extended_sf 2600 -2", (2600, 16)),
    ("val_offset 64 1", (64, -8)),        ("val_offset_sf 64 -1", (64, 8)),     ("register 62 70", (62, 70)),
    ("expression 16 3023", (16, ExpressionBytes(bytes.fromhex("3023"), ".debug_frame", 0x103))),
    ("val_expression 16 -", (16, ExpressionBytes(b"", ".debug_frame", 0x103))), ("restore 16", (16,)),
    ("restore_extended 2600", (2600,)),   ("remember_state", ()),               ("restore_state", ()),
    ("nop", ()),       ("GNU_args_size 24", (24,)),          ("GNU_negative_offset_extended 3 2", (3, 16)),
    ("GNU_window_save", ()),              ("AARCH64_negate_ra_state_with_pc", ()),
    ("AARCH64_set_ra_state 2 -3", (2, -12))]  # fmt: skip


@pytest.mark.parametrize("text, operands", OPERANDS)
def test_operands(text, operands):
    found = one(text)
    assert found.name == f"DW_CFA_{text.split()[0]}"
    assert found.operands == operands
    assert (found.offset, found.end) == (0x100, 0x100 + len(cfa(text)))


def test_every_instruction_is_shown():
    assert {text.split()[0] for text, _ in OPERANDS} == set(INSTRUCTIONS)
    assert {row.name for row in instructions.rows()} == {f"DW_CFA_{name}" for name in INSTRUCTIONS}


def test_rows_have_the_numbers_of_the_text():
    assert {row.code: row.name.removeprefix("DW_CFA_") for row in instructions.rows()} == {
        code: name for name, (code, _) in INSTRUCTIONS.items()
    }
    for row in instructions.rows():
        assert row.spec
        assert all(operand.kind in instructions.KINDS for operand in row.operands)


@every(order=["little", "big"], size=[1, 2, 4, 8])
def test_addresses_have_the_size_and_the_order_of_the_entry(size, order):
    how = FrameFormat(Format(size, 4, order), 1, 1)
    address = 0x1234567890ABCDEF & (1 << 8 * size) - 1
    assert one(f"set_loc {address}", how).operands == (address,)


@pytest.mark.parametrize("order", ["little", "big"])
def test_advances_have_the_order_of_the_entry(order):
    assert one("advance_loc2 0x102", FrameFormat(Format(8, 4, order))).operands == (0x102,)


def test_set_loc_is_encoded_like_the_location_of_the_entry():
    # pcrel sdata4: the operand stands at offset 0x101 of a section at 0x4000
    how = FrameFormat(Format(), pointers=0x1B, bases=Bases(section=0x4000))
    assert [each.operands for each in read(b"\x01" + (0x20).to_bytes(4, "little"), how)] == [(0x4000 + 0x101 + 0x20,)]


@for_each("pointers, error, kind",
    (0xFF, IllFormed, "bad_augmentation"),
    (0x9B, Unsupported, "pointer_encoding"),  # indirect: memory would have to be read
    (0x2B, Unsupported, "pointer_encoding"),  # textrel, and no base is known
    (0x0D, Unsupported, "pointer_encoding"),
    (0x6B, Unsupported, "pointer_encoding"))  # fmt: skip
def test_set_loc_with_an_encoding_that_cannot_be_read(pointers, error, kind):
    found = read(cfa("set_loc 0x1234"), FrameFormat(pointers=pointers))
    assert isinstance(found.fault, error)
    assert found.fault.kind == kind
    assert found.fault.where.offset == 0x100


def test_several_instructions():
    found = read(cfa("def_cfa 7 8; advance_loc 1; nop; undefined 300"))
    assert [(each.name, each.offset, each.end) for each in found] == [
        ("DW_CFA_def_cfa", 0x100, 0x103),                      ("DW_CFA_advance_loc", 0x103, 0x104),
        ("DW_CFA_nop", 0x104, 0x105),                          ("DW_CFA_undefined", 0x105, 0x108)]  # fmt: skip
    assert len(found) == 4


def test_no_instructions():
    assert len(read(b"")) == 0
    assert read(b"").fault is None


@pytest.mark.parametrize("code", [code for code in range(0x40) if instructions.find(code) is None])
def test_an_unknown_instruction_ends_the_listing(code):
    found = read(cfa("def_cfa 7 8") + bytes([code]) + cfa("nop"))
    assert [each.name for each in found] == ["DW_CFA_def_cfa"]
    assert (found.fault.error_class, found.fault.kind) == ("ill_formed", "unknown_instruction")
    assert (found.fault.where.section, found.fault.where.offset) == (".debug_frame", 0x103)
    assert f"{code:#04x}" in str(found.fault)


@pytest.mark.parametrize("text", [text for text, _ in OPERANDS])
def test_every_instruction_cut_at_every_byte(text):
    whole = cfa(text)
    for size in range(1, len(whole)):
        found = read(cfa("nop") + whole[:size])
        assert len(found) == 1
        assert (found.fault.kind, found.fault.error_class) == ("truncated", "ill_formed")
        assert found.fault.where.operation == f"DW_CFA_{text.split()[0]}"
        assert found.fault.where.offset == 0x101


@pytest.mark.parametrize("name", ["undefined", "def_cfa_offset", "def_cfa_offset_sf"])
@pytest.mark.parametrize("number", [b"\x80" * 9 + b"\x02", b"\xff" * 30 + b"\x01", b"\x80" * 50 + b"\x01"])
def test_numbers_of_more_than_64_bits(name, number):
    found = read(bytes([INSTRUCTIONS[name][0]]) + number)
    assert found.fault.kind == "leb128_overflow"


def test_a_number_with_redundant_bytes():
    assert [each.operands for each in read(b"\x07" + b"\x85" + b"\x80" * 12 + b"\x00")] == [(5,)]


def test_a_block_longer_than_the_entry():
    assert read(b"\x0f\xff\xff\xff\xff\x0f\x30").fault.kind == "truncated"


def test_a_listing_gives_values_that_no_row_could_have():
    # the product has more than 64 bits: it is an error when it is run, and can be listed all the same
    assert one("LLVM_def_aspace_cfa_sf 64 4 6", FrameFormat(data_alignment=-(1 << 62))).operands == (64, -(1 << 64), 6)
