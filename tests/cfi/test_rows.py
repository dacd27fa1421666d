"""The table of rules: DWARF 5 section 6.4.1, A.6.4.1 and A.6.4.2, a case for each rule and each ill-formed sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.cfi import rows as cfi_rows
from dwarfgpu.cfi import rules
from dwarfgpu.cfi.instructions import decode
from dwarfgpu.cfi.rows import Tables
from dwarfgpu.encoding import Bases, Format, FrameFormat
from dwarfgpu.errors import DwarfGpuError, IllFormed
from dwarfgpu.objfile.call_frames import Cie, Fde, FdeIndex, FrameSection, read_frame_header
from dwarfgpu.targets.resolve import resolve
from tests.builders.errors import raised
from tests.builders.frames import FrameBuilder, z
from tests.builders.parameters import every, for_each

LOW, SIZE = 0x1000, 0x100
NESTED = "undefined 1; remember_state; undefined 2; remember_state; undefined 3"


def fde_of(initial, instructions, *, low=LOW, size=SIZE, **cie):
    builder = FrameBuilder(size=cie.pop("bytes", 8), order=cie.pop("order", "little"))
    offset = builder.fde(builder.cie(initial, **cie), low, size, instructions)
    return FrameSection(builder.data, byte_order=builder.order, address_size=builder.size).entry_at(offset)


def rows(instructions, initial="def_cfa 7 8", *, target=None, **options):
    return list(Tables(target).rows(fde_of(initial, instructions, **options)))


def last(instructions, initial="def_cfa 7 8", **options):
    return rows(instructions, initial, **options)[-1]


def rule(instructions, register, initial="def_cfa 7 8", **options):
    return last(instructions, initial, **options).registers.get(register)


def cfa(instructions, initial="def_cfa 7 8", **options):
    return last(instructions, initial, **options).cfa


def fault(instructions, initial="def_cfa 7 8", **options):
    caught = raised(IllFormed, rows, instructions, initial, **options)
    assert caught.spec
    assert caught.where.offset is not None
    return caught


def spans(found):
    return [(row.start, row.end) for row in found]


# Where each row begins, and the registers that have a rule in it.
@for_each("text, expected",
    ("", {0x1000: []}),
    (
        "advance_loc 1; undefined 1; set_loc 0x1010; undefined 2; advance_loc 1; undefined 3",
        {0x1000: [], 0x1001: [1], 0x1010: [1, 2], 0x1011: [1, 2, 3]},
    ),
    # an advance of zero makes no row
    ("advance_loc 0; undefined 1; advance_loc 4; advance_loc 0; undefined 2", {0x1000: [1], 0x1004: [1, 2]}),
    # what instructions say about locations behind the end is about nothing
    ("advance_loc1 255; undefined 1; advance_loc1 255; undefined 2", {0x1000: [], 0x10FF: [1]}),
    ("advance_loc2 256; undefined 1", {0x1000: []}),
    # rows before a state is restored keep their rules, and the location is no part of the state
    ("remember_state; advance_loc 1; undefined 3; advance_loc 1; restore_state", {0x1000: [], 0x1001: [3], 0x1002: []}),
    ("remember_state; advance_loc 4; restore_state; advance_loc 4; undefined 1", {0x1000: [], 0x1004: [], 0x1008: [1]}),
    # states nest
    (f"{NESTED}", {0x1000: [1, 2, 3]}),
    (f"{NESTED}; restore_state", {0x1000: [1, 2]}),
    (f"{NESTED}; restore_state; restore_state", {0x1000: [1]}),
    (f"{NESTED}; restore_state; undefined 4; restore_state", {0x1000: [1]}))  # fmt: skip
def test_rows(text, expected):
    found = rows(text)
    assert {row.start: sorted(row.registers) for row in found} == expected
    assert [row.end for row in found] == [*[*expected][1:], LOW + SIZE]


@for_each("text, location",
    ("set_loc 0x1010", 0x1010),           ("advance_loc 4", 0x1010),            ("advance_loc1 4", 0x1010),
    ("advance_loc2 4", 0x1010),           ("advance_loc4 4", 0x1010),           ("MIPS_advance_loc8 4", 0x1010),
)  # fmt: skip
def test_a_row_begins_at_a_new_location(text, location):
    """A.6.4.1 (7): advances are multiplied by the code alignment factor, an address is not."""
    found = rows(f"{text}; def_cfa_offset 16", code=4)
    assert spans(found) == [(LOW, location), (location, LOW + SIZE)]
    assert [row.cfa.offset for row in found] == [8, 16]


def test_an_entry_of_no_bytes_has_no_rows():
    assert rows("advance_loc 4; undefined 1", size=0) == []


@pytest.mark.parametrize("address", [LOW - 1, LOW, 0, 0x1000])
def test_set_loc_backwards(address):
    """DWARF 5, 6.4.2.1 (1): the new location value is always greater than the current one."""
    error = fault(f"advance_loc 4; set_loc {address if address != LOW else LOW + 4}")
    assert error.kind == "location_goes_backwards"
    assert error.where.operation == "DW_CFA_set_loc"


@pytest.mark.parametrize("bytes, low", [(4, 0xFFFFFFF0), (8, (1 << 64) - 16), (2, 0xFFF0)])
def test_an_advance_behind_the_last_address(bytes, low):
    assert fault("advance_loc 15; advance_loc 1", low=low, size=8, bytes=bytes).kind == "overflow"
    assert fault("advance_loc4 0xffffffff", low=low, size=8, bytes=bytes, code=1 << 40).kind == "overflow"
    assert len(rows("advance_loc 4", low=low, size=15, bytes=bytes)) == 2


@pytest.mark.parametrize("text", ["advance_loc 1", "advance_loc4 1", "set_loc 0x1000"])
def test_initial_instructions_have_no_location(text):
    assert fault("", text).kind == "bad_cie"


def test_def_cfa_expression():
    found = cfa("def_cfa_expression 3036")
    assert isinstance(found, rules.CfaExpression)
    assert found.block.data == bytes.fromhex("3036")
    assert cfa("def_cfa_expression 30; def_cfa 7 8; def_cfa_offset 16") == rules.RegisterOffset(7, 16, 0)


CHANGES = ["def_cfa_register 6", "def_cfa_offset 8", "def_cfa_offset_sf 1"]


@every(text=CHANGES, in_cie=[False, True])
def test_a_change_of_no_cfa_rule(text, in_cie):
    """A.6.4.2.2 (5), (6), (7): if the subprogram has no current CFA rule, the DWARF is ill-formed."""
    error = fault("", text) if in_cie else fault(text, "")
    assert error.kind == "no_cfa_rule"
    assert error.where.operation == f"DW_CFA_{text.split()[0]}"
    assert error.spec == f"A.6.4.2.2 ({5 + CHANGES.index(text)})"


@pytest.mark.parametrize("text", CHANGES)
def test_a_change_of_a_cfa_rule_that_is_an_expression(text):
    """A.6.4.2.2 (5), (6), (7): ... or the rule was defined by a DW_CFA_def_cfa_expression instruction."""
    assert fault(text, "def_cfa_expression 30").kind == "cfa_rule_is_expression"
    assert fault(f"def_cfa_expression 30; {text}").kind == "cfa_rule_is_expression"


@pytest.mark.parametrize("text", ["LLVM_def_aspace_cfa 64 0 7", "LLVM_def_aspace_cfa_sf 64 0 7"])
@pytest.mark.parametrize("name", ["amdgcn-gfx90a", "amdgcn-gfx1100-wave32", "x86_64"])
def test_an_address_space_that_the_target_does_not_define(text, name):
    """A.6.4.2.2 (3), (4): if AS is not one of the values defined by the target, the DWARF is ill-formed."""
    assert fault(text, target=resolve(name)).kind == "bad_address_space"
    assert cfa(text).space == 7  # without a target nobody knows


@pytest.mark.parametrize("space", [0, 1, 2, 3, 5, 6])
def test_an_address_space_of_the_target(space):
    assert cfa(f"LLVM_def_aspace_cfa 64 0 {space}", target=resolve("amdgcn-gfx90a")).space == space


@for_each("text", "def_cfa_sf 7 0x10", "def_cfa_offset_sf 0x10", "LLVM_def_aspace_cfa_sf 7 0x10 6", "offset 3 0x10")
def test_a_factored_offset_of_more_than_64_bits(text):
    assert fault(text, data=1 << 60).kind == "overflow"
    assert fault(text, data=-(1 << 60)).kind == "overflow"


@pytest.mark.parametrize("text", ["def_cfa 7 {}", "def_cfa_offset {}", "LLVM_def_aspace_cfa 7 {} 0"])
def test_an_offset_of_more_than_64_bits(text):
    assert cfa(text.format((1 << 63) - 1)).offset == (1 << 63) - 1
    assert fault(text.format(1 << 63)).kind == "overflow"


@for_each("text, register, expected",
    ("undefined 3", 3, rules.UndefinedRule()),               ("same_value 3", 3, rules.SameValue()),
    ("offset 3 2", 3, rules.Offset(-16)),                    ("offset_extended 300 2", 300, rules.Offset(-16)),
    ("offset_extended_sf 300 -2", 300, rules.Offset(16)),    ("val_offset 3 2", 3, rules.ValOffset(-16)),
    ("val_offset_sf 3 -2", 3, rules.ValOffset(16)),          ("register 3 4", 3, rules.RegisterRule(4)),
    ("GNU_negative_offset_extended 3 2", 3, rules.Offset(16)))  # fmt: skip
def test_register_rules(text, register, expected):
    assert rule(text, register) == expected
    assert rule(f"undefined {register}; same_value {register}; {text}", register) == expected
    assert rule("", register, f"def_cfa 7 8; {text}") == expected


@for_each("text, kind", ("expression 3 3023", rules.ExpressionRule), ("val_expression 3 3023", rules.ValExpression))
def test_expression_rules(text, kind):
    found = rule(text, 3)
    assert isinstance(found, kind)
    assert found.block.data == bytes.fromhex("3023")
    assert found.block.section == ".debug_frame"


def test_an_expression_knows_where_it_stands():
    builder = FrameBuilder()
    builder.fde(builder.cie(), 0, 16, "expression 3 3023; def_cfa_expression 77")
    section = FrameSection(builder.data)
    row = next(Tables().rows(section.entry_at(len(builder.data) - 32)))
    for block in (row.registers[3].block, row.cfa.block):
        assert isinstance(block, rules.ExpressionBytes)
        assert builder.data[block.offset : block.offset + len(block.data)] == block.data


@for_each("initial, text, expected",
    ("def_cfa 7 8; offset 3 1", "undefined 3; {}", rules.Offset(-8)),
    ("def_cfa 7 8", "undefined 3; {}", None),  # where there was none
    ("same_value 3", "{}", rules.SameValue()),
    ("def_cfa 7 8", "{}", None),
    ("same_value 3", "undefined 3; remember_state; {}; restore_state", rules.UndefinedRule()))  # fmt: skip
@pytest.mark.parametrize("restore", ["restore 3", "restore_extended 3"])
def test_restore_gives_back_the_initial_rule(restore, initial, text, expected):
    assert rule(text.format(restore), 3, initial) == expected
    assert cfa(f"def_cfa 7 8; def_cfa_offset 16; {restore}", initial) == rules.RegisterOffset(7, 16, 0)
    error = fault("", f"undefined 3; {restore}")  # in a CIE there is nothing to restore
    assert error.kind == "bad_cie"
    assert error.where.operation.startswith("DW_CFA_restore")


def test_restore_state_gives_back_registers_and_cfa():
    found = last("offset 3 1; remember_state; def_cfa 6 16; undefined 3; undefined 4; restore_state")
    assert found.cfa == rules.RegisterOffset(7, 8, 0)
    assert found.registers == {3: rules.Offset(-8)}


@for_each("text", "restore_state", "remember_state; restore_state; restore_state", "undefined 1; restore_state")
def test_restore_state_without_remember_state(text):
    error = fault(text)
    assert error.kind == "restore_without_remember"
    assert error.where.operation == "DW_CFA_restore_state"


def test_a_cie_may_have_states_of_its_own():
    assert cfa("", "def_cfa 7 8; remember_state; def_cfa 6 16; restore_state") == rules.RegisterOffset(7, 8, 0)


@for_each(
    "text, initial, kind, before",
    ("restore_state", "def_cfa 7 8; remember_state", "restore_without_remember", None),  # a state of the CIE
    ("", "restore_state", "restore_without_remember", None),
    (bytes(5) + b"\x41\x0c\x07", "def_cfa 7 8", "truncated", None),  # no room for padding
    (b"\x41\x3f", "def_cfa 7 8", "unknown_instruction", None),
    ("", b"\x3f", "unknown_instruction", 24),  # an error of the CIE is that of its entries
)
def test_what_is_wrong_with_instructions(text, initial, kind, before):
    error = fault(text, initial)
    assert (error.kind, error.error_class) == (kind, "ill_formed")
    assert before is None or error.where.offset < before


def test_an_augmentation_that_is_not_known():
    error = fault("", "", augmentation="unheard")
    assert error.kind == "bad_augmentation"
    assert error.spec.startswith("A.6.4.1")


def test_very_many_states():
    """Remembering costs no more than the instructions do: here every state has a thousand registers."""
    registers = b"".join(bytes([0x07, n & 0x7F | 0x80, n >> 7]) for n in range(1000))
    assert len(last(registers + b"\x0a" * 100_000 + b"\x0b" * 99_999 + b"\x07\x05").registers) == 1000


def test_states_that_change():
    """Each state differs from the one before, and all are given back in turn."""
    count = 20_000
    push = b"".join(b"\x0a\x07" + bytes([n & 0x7F | 0x80, n >> 7 & 0x7F | 0x80, n >> 14]) for n in range(count))
    assert last(push + b"\x0b" * count).registers == {}


@for_each(
    "text", "nop", "GNU_args_size 16", "GNU_window_save", "AARCH64_negate_ra_state_with_pc", "AARCH64_set_ra_state 1 0"
)
def test_instructions_without_an_effect_on_the_table(text):
    """A.6.4.1 (11), A.6.4.1 (2-6): entries are padded with the first."""
    assert rows(f"offset 3 1; {text}") == rows("offset 3 1")


def test_an_entry_that_says_nothing_is_no_error():
    (row,) = rows("", "")
    assert row.is_empty
    assert (row.cfa, row.registers) == (None, {})


def test_a_row_with_some_rule_is_not_empty():
    assert not last("undefined 16", "").is_empty
    assert not last("def_cfa 7 8", "").is_empty


def test_the_first_row_may_be_empty_and_others_not():
    """As Triton writes kernels: nothing is known of the prologue."""
    assert [row.is_empty for row in rows("advance_loc 16; def_cfa_expression 30; undefined 16", "")] == [True, False]


PROGRAM = "advance_loc 1; def_cfa_offset 16; advance_loc 3; offset 6 2; remember_state; advance_loc1 200; restore_state"


@every(bytes=[4, 8], order=["little", "big"])
def test_the_row_at_every_address(bytes, order):
    fde = fde_of("def_cfa 7 8; offset 16 1", PROGRAM, bytes=bytes, order=order)
    table = list(Tables().rows(fde))
    for address in range(LOW, LOW + SIZE):
        (expected,) = [row for row in table if row.start <= address < row.end]
        assert Tables().row_at(fde, address) == expected


@pytest.mark.parametrize("address", [LOW - 1, LOW + SIZE, 0, -1, 1 << 70])
def test_no_row_outside_the_entry(address):
    assert Tables().row_at(fde_of("", PROGRAM.replace("def_cfa_offset 16", "def_cfa 7 16")), address) is None


def test_what_comes_behind_the_row_is_not_read():
    fde = fde_of("def_cfa 7 8", "advance_loc 4; undefined 1; advance_loc 4; restore_state")
    assert Tables().row_at(fde, LOW) is not None
    row = Tables().row_at(fde, LOW + 4)
    assert (row.start, row.end, sorted(row.registers)) == (LOW + 4, LOW + 8, [1])
    raised(IllFormed, Tables().row_at, fde, LOW + 8)


def test_rows_before_an_error_are_right():
    found = []
    entry = fde_of("", "advance_loc 4; undefined 1; advance_loc 4; restore_state")
    caught = raised(IllFormed, found.extend, Tables().rows(entry))
    assert spans(found) == [(LOW, LOW + 4), (LOW + 4, LOW + 8)]
    assert caught.where.section == ".debug_frame"


def test_a_table_too_large_to_be_one():
    """Every location has one register more than the one before."""
    step = b"".join(b"\x07" + bytes([n & 0x7F | 0x80, n >> 7 & 0x7F]) + b"\x41" for n in range(128, 8000))
    with pytest.raises(IllFormed) as caught:
        for _ in Tables().rows(fde_of("", step, size=0x10000)):
            pass
    assert caught.value.kind == "limit_exceeded"
    assert Tables().row_at(fde_of("", step, size=0x10000), LOW + 7000) is not None


def test_equal_rows_share_their_rules():
    first, second = rows("undefined 1; advance_loc 4; def_cfa_offset 16")
    assert first.registers is second.registers


def many(initial, count=50):
    builder = FrameBuilder()
    cie = builder.cie(initial)
    for i in range(count):
        builder.fde(cie, LOW + 16 * i, 16, "advance_loc 4; undefined 3")
    return [entry for entry in FrameSection(builder.data).entries() if isinstance(entry, Fde)]


@pytest.fixture
def decoded(monkeypatch):
    found = []
    decode = cfi_rows.instructions

    def instructions(data, format, **options):
        found.append(options["offset"])
        return decode(data, format, **options)

    monkeypatch.setattr(cfi_rows, "instructions", instructions)
    return found


def test_the_initial_instructions_are_run_once(decoded):
    tables = Tables()
    fdes = many("def_cfa 7 8; offset 16 1")
    found = [list(tables.rows(fde)) for fde in fdes]
    assert decoded == [fdes[0].cie.instructions_offset, *(fde.instructions_offset for fde in fdes)]
    assert all(row.registers[16] == rules.Offset(-8) for rows in found for row in rows)
    assert [3 in rows[0].registers for rows in found] == [False] * len(fdes)


def test_their_error_is_that_of_every_entry(decoded):
    tables = Tables()
    fdes = many("restore_state")
    messages = set()
    for fde in fdes:
        messages.add(str(raised(IllFormed, next, tables.rows(fde))))
    assert len(messages) == 1
    assert decoded == [fdes[0].cie.instructions_offset]


@pytest.mark.parametrize("count, is_allowed", [(4096, True), (4097, False)])
def test_a_cie_has_no_more_rules_than_there_are_registers(count, is_allowed):
    initial = b"".join(b"\x07" + bytes([n & 0x7F | 0x80, n >> 7]) for n in range(count))
    if is_allowed:
        assert len(last("", initial).registers) == count
    else:
        assert fault("", initial).kind == "limit_exceeded"


# --- Any bytes are call frame information: they give entries, rows, or an error that says what is wrong -----------


TARGETS = [None, resolve("amdgcn-gfx90a"), resolve("x86_64")]


def examine(section, target):
    ranges = {}
    for entry in section.entries():
        if isinstance(entry, DwarfGpuError):
            assert str(entry)
            assert entry.where.section == section.name
            continue
        assert entry.offset < entry.end <= len(section.data)
        if isinstance(entry, Cie) and entry.format is not None:
            again = decode(entry.instructions, entry.format, section=entry.section, offset=entry.instructions_offset)
            assert all(a.end == b.offset for a, b in zip(again, list(again)[1:], strict=False))
        if isinstance(entry, Fde):
            ranges[entry.offset] = entry
            check_rows(entry, target)
    check_index(section, ranges)


def attempt(function, *arguments, **options):
    """What a call returns, and the error that it ends with."""
    try:
        return function(*arguments, **options), None
    except DwarfGpuError as error:
        return None, error


def check_rows(fde, target):
    found = []
    _, error = attempt(lambda: found.extend(Tables(target).rows(fde)))
    at = fde.low
    for row in found:
        assert at == row.start < row.end <= fde.high
        at = row.end
        assert Tables(target).row_at(fde, row.start) == row
    assert at == fde.high or error is not None
    if error is not None:
        assert error.error_class in ("ill_formed", "unsupported")
        assert error.where.section == fde.section


def check_index(section, ranges):
    """The index finds every entry with some address; what it finds beside them is broken behind the addresses."""
    index = FdeIndex(section)
    spans = index.ranges.spans()
    for entry in ranges.values():
        if entry.low < entry.high:
            assert (entry.low, entry.high) in spans
            assert entry.offset in [fde.offset for fde in index.fdes_at(entry.low)]
    for low, high in spans:
        found, error = attempt(index.fdes_between, low, high)
        assert error is None or error.where.section == section.name
        assert all(fde.offset in ranges for fde in found or ())


@given(
    st.binary(max_size=120),              st.sampled_from([".debug_frame", ".eh_frame"]),
    st.sampled_from([4, 8]),              st.sampled_from(["little", "big"]),   st.sampled_from(TARGETS))  # fmt: skip
def test_random_sections(data, name, size, order, target):
    examine(FrameSection(data, name, byte_order=order, address_size=size, bases=Bases(0x1000)), target)


@given(
    st.binary(max_size=60),               st.binary(max_size=60),               st.integers(-9, 9),
    st.integers(0, 1 << 64),              st.sampled_from(TARGETS))  # fmt: skip
def test_random_instructions(initial, instructions, factor, low, target):
    builder = FrameBuilder()
    builder.fde(builder.cie(initial, code=abs(factor), data=factor), low, 0x40, instructions)
    examine(FrameSection(builder.data), target)


@given(
    st.text("zRPLSBGx[]:v0.1eh", max_size=6),                                   st.binary(max_size=12),
    st.binary(max_size=24),               st.booleans(),                        st.sampled_from([1, 3, 4]))  # fmt: skip
def test_random_augmentations(text, data, rest, sized, version):
    builder = FrameBuilder("eh_frame")
    cie = builder.cie("def_cfa 7 8", augmentation=text, augmentation_data=z(data) if sized else data, version=version)
    builder.fde(cie, 0, 0, location=rest)
    examine(FrameSection(builder.data, ".eh_frame", bases=Bases(0x1000, 0x2000, 0x3000)), None)


@given(st.data())
def test_changed_bytes(data):
    builder = FrameBuilder("eh_frame", wide=data.draw(st.booleans()))
    cie = builder.cie("def_cfa 7 8; offset 16 1", augmentation="zPLRS", augmentation_data=z(b"\x9b\1\2\3\4\x1b\x1b"))
    for low in (0x1000, 0x2000):
        location = builder.number(low, 4) + builder.number(0x40, 4)
        text = "advance_loc 1; def_cfa_offset 16; offset 6 2; remember_state; advance_loc 8; restore_state"
        builder.fde(cie, 0, 0, text, location=location, augmentation_data=z(bytes(4)))
    changed = bytearray(builder.data)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    examine(FrameSection(bytes(changed), ".eh_frame"), None)


@given(st.binary(max_size=40), st.integers(0, 1 << 64), st.sampled_from([4, 8]))
def test_random_headers(data, address, size):
    header, error = attempt(read_frame_header, b"\x01" + data, address=0x1000, address_size=size)
    if header is not None:
        _, error = attempt(header.find, address)
    assert error is None or error.where.section == ".eh_frame_hdr"


@given(st.binary(max_size=40), st.integers(0, 255))
def test_random_addresses_in_instructions(data, encoding):
    found = decode(b"\x01" + data, FrameFormat(Format(), 1, 1, encoding, Bases(0x1000)), section=".eh_frame")
    assert found.fault is None or found.fault.where.section == ".eh_frame"


@pytest.mark.parametrize("name", [".debug_frame", ".eh_frame"])
def test_every_byte_repeated(name):
    for byte in range(256):
        examine(FrameSection(bytes([byte]) * 4096, name), None)
