"""A.6.4.1 and A.6.4.2: each field of a CIE and of an FDE, and each instruction, from bytes written field by field."""

import pytest

from dwarfgpu.cfi import rules
from dwarfgpu.cfi.rows import Tables
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.objfile.call_frames import Cie, Fde, FrameSection
from dwarfgpu.targets.resolve import resolve
from tests.builders.activations import stack
from tests.builders.parameters import for_each

LOW, SIZE = 0x1000, 0x40
FORMATS = [(order, is_wide, size) for order in ("little", "big") for is_wide in (False, True) for size in (4, 8)]
each_format = pytest.mark.parametrize("order, is_wide, size", FORMATS)


def section(
    order="little", is_wide=False, size=8, *, initial=b"", instructions=b"", augmentation=b"", segment=0, factors=None
):
    """Return a section with a CIE and its FDE, each filled with DW_CFA_nop up to a multiple of the address size."""

    def entry(body):
        head = 12 if is_wide else 4
        body += bytes(-(head + len(body)) % size)
        length = len(body).to_bytes(head - 4 if is_wide else 4, order)
        return (b"\xff" * 4 if is_wide else b"") + length + body

    offset_size = 8 if is_wide else 4
    if factors is None:
        factors = b"\x04" + b"\x78" + b"\x10"  # code alignment 4, data alignment -8, return address in column 16
    cie = entry(b"\xff" * offset_size + b"\x04" + augmentation + b"\0" + bytes([size, segment]) + factors + initial)
    location = bytes(segment) + LOW.to_bytes(size, order) + SIZE.to_bytes(size, order)
    fde = entry(bytes(offset_size) + location + instructions)
    return FrameSection(cie + fde, byte_order=order, address_size=8), len(cie), len(cie) + len(fde)


def entries(*arguments, **options):
    """Return the CIE and the FDE of such a section."""
    frames, fde_offset, _ = section(*arguments, **options)
    cie, fde = frames.entry_at(0), frames.entry_at(fde_offset)
    assert isinstance(cie, Cie)
    assert isinstance(fde, Fde)
    return cie, fde


def rows(hexadecimal, initial="0c0708", target=None, **options):
    _, fde = entries(initial=bytes.fromhex(initial), instructions=bytes.fromhex(hexadecimal), **options)
    return list(Tables(target).rows(fde))


def cfa(hexadecimal, initial="0c0708", **options):
    return rows(hexadecimal, initial, **options)[-1].cfa


def rule(hexadecimal, register, initial="0c0708"):
    return rows(hexadecimal, initial)[-1].registers.get(register)


@each_format
def test_the_length_of_a_cie_does_not_count_itself(order, is_wide, size):
    """A.6.4.1 (1): the next entry begins behind the length field and as many bytes as it says."""
    _, fde_offset, _ = section(order, is_wide, size)
    cie, _ = entries(order, is_wide, size)
    assert (cie.offset, cie.end) == (0, fde_offset)
    assert cie.end % size == 0


@each_format
def test_an_id_of_ones_makes_an_entry_a_cie(order, is_wide, size):
    """A.6.4.1 (2): 0xffffffff in the 32-bit format, 0xffffffffffffffff in the 64-bit format."""
    frames, fde_offset, _ = section(order, is_wide, size)
    assert isinstance(frames.entry_at(0), Cie)
    assert isinstance(frames.entry_at(fde_offset), Fde)
    assert frames.entry_at(0).offset_size == (8 if is_wide else 4)


def test_the_id_of_the_other_format_makes_no_cie():
    """A.6.4.1 (2): 0x00000000ffffffff in the 64-bit format is the offset of a CIE, which is not there."""
    body = b"\xff" * 4 + bytes(4) + b"\x04\0\x08\0\x04\x78\x10" + bytes(9)
    frames = FrameSection(b"\xff" * 4 + len(body).to_bytes(8, "little") + body, byte_order="little", address_size=8)
    with pytest.raises(DwarfGpuError):
        frames.entry_at(0)


def test_the_version_of_a_cie_is_4():
    """A.6.4.1 (3): the version of call frame information, which has its own numbers."""
    cie, _ = entries()
    assert cie.version == 4


@pytest.mark.parametrize("version", [0, 2, 5, 255])
def test_another_version_of_a_cie_is_refused(version):
    """A.6.4.1 (3): the value of the CIE version number is 4; 1 and 3 are those of earlier standards."""
    body = b"\xff" * 4 + bytes([version]) + b"\0\x08\0\x04\x78\x10" + bytes(5)
    data = len(body).to_bytes(4, "little") + body
    with pytest.raises(DwarfGpuError, match="version"):
        FrameSection(data, byte_order="little", address_size=8).entry_at(0)


def test_a_vendor_string_is_the_augmentation_and_adds_no_fields():
    """A.6.4.1 (4): the recommended format, with the example of the text."""
    text = b"[abc:v0.0][def:v1.2:feature-a=on,feature-b=3]"
    cie, fde = entries(augmentation=text, initial=bytes.fromhex("0c0708"))
    assert cie.augmentation == text.decode()
    assert (cie.return_address, fde.low) == (16, LOW)
    assert next(iter(Tables(None).rows(fde))).cfa == rules.RegisterOffset(7, 8, 0)


def test_of_an_unexpected_augmentation_only_the_fields_of_the_text_are_read():
    """A.6.4.1 (4): length, CIE_id, version, augmentation; length, CIE_pointer, initial_location, address_range."""
    cie, fde = entries(augmentation=b"unexpected", initial=bytes.fromhex("0c0708"), instructions=b"\x07\x03")
    assert (cie.version, cie.augmentation, cie.return_address, cie.instructions) == (4, "unexpected", None, b"")
    assert (fde.cie.offset, fde.low, fde.high) == (0, LOW, LOW + SIZE)
    assert fde.instructions == b""


@pytest.mark.parametrize("size", [4, 8])
def test_addresses_have_the_size_that_the_cie_states(size):
    """A.6.4.1 (5): the file says 8 bytes, the CIE's own field counts for it and its FDEs."""
    cie, fde = entries(size=size)
    assert cie.format.form.address_size == size
    assert (fde.low, fde.high) == (LOW, LOW + SIZE)


@pytest.mark.parametrize("segment", [0, 2, 4, 8])
def test_a_segment_selector_has_the_size_that_the_cie_states(segment):
    """A.6.4.1 (6): the selector stands before the address."""
    _, fde = entries(segment=segment)
    assert (fde.segment, fde.low) == (0 if segment else None, LOW)


@pytest.mark.parametrize("factor, start", [(b"\x01", 3), (b"\x04", 12), (b"\x88\x00", 24)])
def test_advances_are_multiplied_by_the_code_alignment_factor(factor, start):
    """A.6.4.1 (7): operand * code_alignment_factor, an unsigned LEB128 number."""
    found = rows("430e10", factors=factor + b"\x78\x10")  # advance_loc 3; def_cfa_offset 16
    assert [(row.start, row.end) for row in found] == [(LOW, LOW + start), (LOW + start, LOW + SIZE)]


@pytest.mark.parametrize("factor, offset", [(b"\x7c", -12), (b"\x04", 12), (b"\x80\x7f", -384)])
def test_offsets_are_multiplied_by_the_data_alignment_factor(factor, offset):
    """A.6.4.1 (8): operand * data_alignment_factor, a signed LEB128 number."""
    (found,) = rows("8303", factors=b"\x01" + factor + b"\x10")  # offset r3, 3
    assert found.registers == {3: rules.Offset(offset)}


def test_the_column_of_the_return_address_is_a_leb128_number():
    """A.6.4.1 (9): which column of the table represents the return address."""
    cie, _ = entries(factors=b"\x04\x78\xa8\x14")
    assert cie.return_address == 2600


def test_initial_instructions_make_the_first_row():
    """A.6.4.1 (10): each column begins as they say, and is undefined by default."""
    found = rows("410703", "0c07089001")  # CIE: def_cfa r7, 8; offset r16, 1; FDE: advance_loc 1; undefined r3
    assert [(row.cfa, dict(row.registers)) for row in found] == [
        (rules.RegisterOffset(7, 8, 0), {16: rules.Offset(-8)}),
        (rules.RegisterOffset(7, 8, 0), {16: rules.Offset(-8), 3: rules.UndefinedRule()}),
    ]


def test_a_column_without_a_rule_is_undefined():
    """A.6.4.1 (10): the default rule before the initial instructions, here of a register of no ABI's own default."""
    made = stack(["LLVM_def_aspace_cfa $s33 0 6"], registers={"s33": 0x400, "s32": 0x800})
    thread = made.thread
    found = made.top.entry_register(thread.target.register_named("v1").number, thread.lanes)
    assert TextRenderer(thread.target.byte_order).location(found) == "undefined"


@each_format
def test_padding_of_a_cie_says_nothing(order, is_wide, size):
    """A.6.4.1 (11): as many DW_CFA_nop instructions as fill the entry."""
    for initial in (b"\x0c\x07\x08", b"\x0c\x07\x08\0", b"\x0c\x07\x08\0\0\0\0\0\0\0\0\0"):
        _, fde = entries(order, is_wide, size, initial=initial)
        (row,) = Tables(None).rows(fde)
        assert (row.cfa, dict(row.registers)) == (rules.RegisterOffset(7, 8, 0), {})


@each_format
def test_the_length_of_an_fde_does_not_count_itself(order, is_wide, size):
    """A.6.4.1 (2-1): the entry ends behind the length field and as many bytes as it says."""
    _, fde_offset, end = section(order, is_wide, size)
    _, fde = entries(order, is_wide, size)
    assert (fde.offset, fde.end) == (fde_offset, end)
    assert fde.end % size == 0


@each_format
def test_an_fde_names_its_cie_by_the_offset_in_the_section(order, is_wide, size):
    """A.6.4.1 (2-2): of two CIEs the one at that offset applies."""
    first, fde_offset, _ = section(order, is_wide, size, factors=b"\x01\x7c\x20")
    cie = bytes(first.data[:fde_offset])
    offset_size = 8 if is_wide else 4
    body = len(cie).to_bytes(offset_size, order) + LOW.to_bytes(size, order) + SIZE.to_bytes(size, order)
    body += bytes(-((12 if is_wide else 4) + len(body)) % size)
    second, start, _ = section(order, is_wide, size)
    head = (b"\xff" * 4 + len(body).to_bytes(8, order)) if is_wide else len(body).to_bytes(4, order)
    data = cie + bytes(second.data[:start]) + head + body
    fde = FrameSection(data, byte_order=order, address_size=8).entry_at(len(cie) + start)
    assert (fde.cie.offset, fde.cie.return_address) == (len(cie), 16)


@each_format
def test_an_fde_begins_at_its_initial_location(order, is_wide, size):
    """A.6.4.1 (2-3): the address of the first location, behind the segment selector if there is one."""
    for segment in (0, 4):
        _, fde = entries(order, is_wide, size, segment=segment)
        assert fde.low == LOW
        assert not fde.covers(LOW - 1)
        assert fde.covers(LOW)


@each_format
def test_an_fde_covers_as_many_bytes_as_its_range(order, is_wide, size):
    """A.6.4.1 (2-4): a number of bytes, not an address."""
    _, fde = entries(order, is_wide, size)
    assert fde.covers(LOW + SIZE - 1)
    assert not fde.covers(LOW + SIZE)


@each_format
def test_instructions_of_an_fde_change_the_initial_row(order, is_wide, size):
    """A.6.4.1 (2-5): a sequence of instructions, in the order of the bytes."""
    _, fde = entries(order, is_wide, size, initial=b"\x0c\x07\x08", instructions=b"\x0e\x10\x41\x0e\x18")
    assert [row.cfa.offset for row in Tables(None).rows(fde)] == [16, 24]


@each_format
def test_padding_of_an_fde_says_nothing(order, is_wide, size):
    """A.6.4.1 (2-6): as many DW_CFA_nop instructions as fill the entry."""
    for count in range(9):
        _, fde = entries(order, is_wide, size, initial=b"\x0c\x07\x08", instructions=b"\x0e\x10" + bytes(count))
        (row,) = Tables(None).rows(fde)
        assert (row.cfa.offset, dict(row.registers)) == (16, {})


# The clause, the instructions, and the register, displacement and address space of the CFA; it was r7 + 8 before.
@for_each(
    "clause, code, expected",
    ("A.6.4.2.2 (1)", "0c0610", (6, 16, 0)),  # DW_CFA_def_cfa: AS is the default address space
    ("A.6.4.2.2 (1)", "304008060c0610", (6, 16, 0)),
    ("A.6.4.2.2 (2)", "12067e", (6, 16, 0)),  # DW_CFA_def_cfa_sf: -2 * -8
    ("A.6.4.2.2 (2)", "30400806120602", (6, -16, 0)),
    ("A.6.4.2.2 (3)", "30401006", (64, 16, 6)),  # DW_CFA_LLVM_def_aspace_cfa: not factored
    ("A.6.4.2.2 (4)", "31407e06", (64, 16, 6)),  # DW_CFA_LLVM_def_aspace_cfa_sf: signed and factored
    ("A.6.4.2.2 (4)", "31400205", (64, -16, 5)),
    ("A.6.4.2.2 (5)", "0d06", (6, 8, 0)),  # DW_CFA_def_cfa_register: B and AS are the old ones
    ("A.6.4.2.2 (5)", "304010060d06", (6, 16, 6)),
    ("A.6.4.2.2 (6)", "0e10", (7, 16, 0)),  # DW_CFA_def_cfa_offset: R and AS are the old ones, B is not factored
    ("A.6.4.2.2 (6)", "304008060e20", (64, 32, 6)),
    ("A.6.4.2.2 (7)", "137e", (7, 16, 0)),  # DW_CFA_def_cfa_offset_sf: R and AS are the old ones, B is factored
    ("A.6.4.2.2 (7)", "304008061302", (64, -16, 6)),
)
def test_the_cfa(clause, code, expected):
    assert cfa(code) == rules.RegisterOffset(*expected)


@pytest.mark.parametrize("code", ["304010", "31407e"])
def test_a_space_that_the_target_does_not_define_is_ill_formed(code):
    """A.6.4.2.2 (3) and A.6.4.2.2 (4): AS is one of the DW_ASPACE_LLVM values of the architecture."""
    target = resolve("gfx90a")
    for space in (0, 3, 5, 6):
        assert cfa(f"{code}{space:02x}", target=target).space == space
    with pytest.raises(IllFormed):
        cfa(f"{code}04", target=target)  # reserved; 0x20 to 0x5f are the lanes of the private space


@pytest.mark.parametrize("code", ["0d06", "0e10", "137e"])
@pytest.mark.parametrize("before", ["", "0f027700"])
def test_a_change_of_a_cfa_that_is_no_register_is_ill_formed(before, code):
    """A.6.4.2.2 (5), A.6.4.2.2 (6), A.6.4.2.2 (7): no current CFA rule, or one of DW_CFA_def_cfa_expression."""
    with pytest.raises(IllFormed):
        rows(before + code, "")


def test_def_cfa_expression_is_the_place_that_the_expression_gives():
    """A.6.4.2.2 (8): DW_OP_breg7 0 is evaluated when the CFA is needed, with nothing on the stack."""
    found = cfa("0f027700")
    assert isinstance(found, rules.CfaExpression)
    assert found.block.data == b"\x77\x00"
    setting = {"registers": {"s33": 0x400, "s32": 0x800}}
    made = stack(["def_cfa_expression {DW_OP_lit16, DW_OP_lit6, DW_OP_LLVM_form_aspace_address}"], **setting)
    assert TextRenderer(made.thread.target.byte_order).location(made.top.cfa(made.thread.lanes)) == "private_wave#0x10"


@pytest.mark.parametrize("operations", ["DW_OP_regx s33", "DW_OP_lit1, DW_OP_stack_value", "DW_OP_dup"])
def test_a_cfa_expression_that_gives_no_memory_is_ill_formed(operations):
    """A.6.4.2.2 (8): neither a register, an implicit value nor an empty initial stack is a memory byte address."""
    made = stack([f"def_cfa_expression {{{operations}}}"], registers={"s33": 0x400, "s32": 0x800})
    with pytest.raises(IllFormed):
        made.top.cfa(made.thread.lanes)


AFTER_8301, AFTER_05A81401 = "0c07088301", "0c070805a81401"  # initial instructions: registers 3 and 2600 are at CFA - 8


# The clause, the instructions, the register and its rule, and the initial instructions where it has a rule by them.
@for_each(
    "clause, code, register, expected, initial",
    ("A.6.4.2.3 (1)", "07a814", 2600, rules.UndefinedRule(), ()),
    ("A.6.4.2.3 (2)", "08a814", 2600, rules.SameValue(), ()),
    ("A.6.4.2.3 (3)", "8302", 3, rules.Offset(-16), ()),  # DW_CFA_offset: unsigned and factored
    ("A.6.4.2.3 (3)", "bf7e", 63, rules.Offset(-126 * 8), ()),
    ("A.6.4.2.3 (4)", "05a8147e", 2600, rules.Offset(-126 * 8), ()),  # DW_CFA_offset_extended: the same
    ("A.6.4.2.3 (5)", "11a8147e", 2600, rules.Offset(16), ()),  # DW_CFA_offset_extended_sf: signed
    ("A.6.4.2.3 (6)", "14037e", 3, rules.ValOffset(-126 * 8), ()),  # DW_CFA_val_offset
    ("A.6.4.2.3 (7)", "15037e", 3, rules.ValOffset(16), ()),  # DW_CFA_val_offset_sf: signed
    ("A.6.4.2.3 (8)", "0903a814", 3, rules.RegisterRule(2600), ()),
    ("A.6.4.2.3 (11)", "8302c3", 3, rules.Offset(-8), (AFTER_8301,)),  # DW_CFA_restore: the initial rule is back
    ("A.6.4.2.3 (11)", "8302c3", 3, None, ()),
    ("A.6.4.2.3 (12)", "05a8140206a814", 2600, rules.Offset(-8), (AFTER_05A81401,)),  # DW_CFA_restore_extended
    ("A.6.4.2.3 (12)", "05a8140206a814", 2600, None, ()),
)
def test_the_rule_of_a_register(clause, code, register, expected, initial):
    assert rule(code, register, *initial) == expected


@pytest.mark.parametrize("code, kind", [("1003022308", rules.ExpressionRule), ("1603022308", rules.ValExpression)])
def test_an_expression_gives_the_place_or_the_value_of_the_register(code, kind):
    """A.6.4.2.3 (9), A.6.4.2.3 (10): expression(E) and val_expression(E); E is a block: DW_OP_plus_uconst 8."""
    found = rule(code, 3)
    assert isinstance(found, kind)
    assert found.block.data == b"\x23\x08"


def test_a_value_of_another_size_than_the_register_is_ill_formed():
    """A.6.4.2.3 (10): s40 has 32 bits, and a value of the generic type 64."""
    made = stack(
        ["LLVM_def_aspace_cfa $s33 0 6; val_expression $s40 {DW_OP_lit1}"], registers={"s33": 0x400, "s32": 0x800}
    )
    thread = made.thread
    with pytest.raises(IllFormed):
        made.top.entry_register(thread.target.register_named("s40").number, thread.lanes)


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_codes_of_the_extension_are_0x30_and_0x31(order):
    """A.7.24: operands of register, offset and space, all LEB128, whatever the byte order."""
    text = bytes.fromhex("30c00180020631c0017e05")
    _, fde = entries(order, instructions=text[:6])
    assert next(iter(Tables(None).rows(fde))).cfa == rules.RegisterOffset(192, 256, 6)
    _, fde = entries(order, instructions=text[6:])
    assert next(iter(Tables(None).rows(fde))).cfa == rules.RegisterOffset(192, 16, 5)
