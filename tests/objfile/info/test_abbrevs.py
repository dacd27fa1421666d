"""Abbreviations and the readers made for them (DWARF 5, 7.5.3)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwarfgpu.encoding import Format, encode_signed, encode_unsigned
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.info import readers
from dwarfgpu.objfile.info.abbrevs import MAX_ATTRIBUTES, AbbreviationTable
from dwarfgpu.objfile.info.forms import FORMS, NO_DATA
from dwarfgpu.objfile.info.readers import FAILURES, FEW, EntryLayout, family
from tests.builders.dwarf import FORM_CODES, DictSections, build, die, dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each

NAME, TYPE = 0x03, 0x49


def declaration(code, tag, *specifications, children=0):
    out = encode_unsigned(code) + encode_unsigned(tag) + bytes([children])
    for attribute, form, *implicit in specifications:
        out += encode_unsigned(attribute) + encode_unsigned(FORM_CODES.get(form, form))
        for value in implicit:
            out += encode_signed(value)
    return out + b"\0\0"


def table(data, offset=0, **options):
    return AbbreviationTable(data, offset, Format(**options))


def test_a_declaration_has_code_tag_children_and_attributes():
    data = declaration(1, 0x11, (NAME, "strp"), (TYPE, "ref4"), children=1) + declaration(2, 0x24) + b"\0"
    found = table(data)
    first, second = found.all()
    assert (first.code, first.tag, first.has_children) == (1, 0x11, True)
    assert (first.attributes, first.forms) == ((NAME, TYPE), (0x0E, 0x13))
    assert (second.tag, second.has_children, second.attributes) == (0x24, False, ())
    assert found.get(2) is second
    assert found.problem is None


def test_a_table_ends_with_a_null_entry_or_with_the_section():
    data = declaration(1, 0x11) + b"\0" + declaration(2, 0x24)
    assert [each.code for each in table(data).all()] == [1]
    assert [each.code for each in table(data, len(declaration(1, 0x11)) + 1).all()] == [2]


def test_numbers_of_several_bytes():
    data = declaration(300, 0x4107, (0x3E12, "exprloc"), (NAME, "GNU_str_index")) + b"\0"
    (found,) = table(data).all()
    assert (found.code, found.tag) == (300, 0x4107)
    assert (found.attributes, found.forms) == ((0x3E12, NAME), (0x18, 0x1F02))
    assert found.layout.lead == 2


@pytest.mark.parametrize("value", [0, 1, -1, 33, 12345, -(1 << 63), (1 << 63) - 1])
def test_an_implicit_constant_stands_in_the_abbreviation(value):
    data = declaration(1, 0x34, (0x3B, "implicit_const", value), (NAME, "data1")) + b"\0"
    (found,) = table(data).all()
    after, values = found.layout.read(b"\1\x2a", 0)
    assert (after, values) == (2, (42,))
    assert [found.value(i, values) for i in range(2)] == [value, 42]


def test_padded_numbers_are_read():
    data = b"\x81\x00\x91\x00\x01\x83\x00\x8e\x00\0\0\0"
    (found,) = table(data).all()
    assert (found.code, found.tag, found.attributes, found.forms) == (1, 0x11, (NAME,), (0x0E,))


def test_the_first_of_two_equal_codes_counts():
    assert table(declaration(1, 0x11) + declaration(1, 0x24) + b"\0").get(1).tag == 0x11


@for_each("broken",
    b"\2", b"\2\x24", b"\2\x24\0\3", b"\2\x24\0\3\x0e", b"\2\x24\0\3\x0e\0", b"\2\x24\0\0\x0e\0\0",
    b"\2\x24\0\3\0\0\0", b"\2\x24\0\3\x21\x80", b"\2\x24\0\3\x21" + b"\xff" * 20 + b"\0\0\0", b"\xff" * 30,
    b"\2\x24\0" + b"\3\x0e" * (MAX_ATTRIBUTES + 1) + b"\0\0\0")  # fmt: skip
def test_what_is_broken_does_not_hide_what_is_before_it(broken):
    found = table(declaration(1, 0x11) + broken)
    assert [each.code for each in found.all()] == [1]
    assert found.problem is not None
    caught = raised(MalformedFile, found.get, 2)
    assert caught is found.problem
    assert caught.where.section == ".debug_abbrev"


def test_tables_that_overlap_are_limited():
    """Each of them would have nearly all abbreviations of the section."""
    data = b"".join(declaration(code, 0x24) for code in range(1, 100)) + b"\0"
    room = [len(data)]
    found = [AbbreviationTable(data, offset, Format(), room=room) for offset in range(0, len(data) - 1, 5)]
    assert len(found[0].all()) == 99
    assert sum(len(each.all()) for each in found) == len(data)
    with pytest.raises(MalformedFile, match="overlap") as error:
        found[-1].get(99)
    assert error.value.kind == "limit_exceeded"


def test_few_large_codes_make_no_large_table():
    found = table(declaration(1, 0x24) + declaration(5000, 0x25) + declaration(16000, 0x26) + b"\0")
    assert len(found.dense) == 129
    assert [found.get(code).tag for code in (1, 5000, 16000)] == [0x24, 0x25, 0x26]
    assert found.at(b"\x88\x27", 0)[0].tag == 0x25


def test_a_missing_abbreviation_is_an_error():
    assert raised(MalformedFile, table(declaration(1, 0x11) + b"\0").get, 7).kind == "unknown_abbreviation"


@pytest.mark.parametrize("offset", [-1, 5, 1 << 40])
def test_a_table_must_begin_in_its_section(offset):
    assert "no table" in str(raised(MalformedFile, table, b"\0" * 5, offset))


def test_tables_are_read_only_as_far_as_needed():
    data = declaration(1, 0x11) + declaration(2, 0x24) + b"\3"
    found = table(data)
    assert found.get(1).tag == 0x11
    assert found.problem is None
    assert len(found.all()) == 2
    assert found.problem is not None


@given(st.binary(max_size=60))
@example(b"\1\x11\1" + b"\x80" * 40)
def test_any_bytes_are_a_table_or_an_error(data):
    if not data:
        return
    found = table(data)
    found.all()
    try:
        found.get(99)
    except DwarfGpuError:
        return


def test_reading_a_table_is_linear():
    """No table may take long, whatever it holds: these would take minutes if reading went back."""
    for data in (b"\1\x24\0" + b"\x81" * 200_000, b"\1\x24\0" + b"\3\x0e" * 100_000, b"\x81" * 200_000):
        table(data).all()


FORMATS = [
    Format(address_size, offset_size, order, version)
    for address_size, offset_size, order, version in (
        (8, 4, "little", 5),       (4, 8, "big", 4),          (2, 4, "big", 2),          (8, 8, "little", 3),
    )
]  # fmt: skip


def generated(codes, format, lead=1):
    layout = EntryLayout(lead, codes, family(format))
    layout._reads = layout._skips = FEW
    return layout


def outcome(function):
    try:
        result = function()
    except DwarfGpuError as error:
        return error.kind
    except FAILURES:
        return "end"
    return result


@given(
    st.lists(st.sampled_from(sorted(FORMS)), max_size=8),    st.binary(min_size=1, max_size=80),
    st.sampled_from(FORMATS),                                st.integers(1, 3))  # fmt: skip
def test_a_generated_reader_does_what_the_forms_say(codes, data, format, lead):
    """Reading, skipping and picking agree with `read_value`, on any bytes."""
    codes = tuple(codes)
    data = b"\1" * lead + data
    slow = EntryLayout(lead, codes, family(format))
    expected = outcome(lambda: slow.read(data, 0))
    fast = generated(codes, format, lead)
    found = outcome(lambda: fast.read(data, 0))
    if isinstance(expected, str):
        # at the end of the data a generated reader may also give a position past it
        assert isinstance(found, str) or found[0] > len(data)
        return
    assert found == expected
    after, values = expected
    assert outcome(lambda: generated(codes, format, lead).skip(data, 0)) == after
    present = [i for i, code in enumerate(codes) if code not in NO_DATA]
    for wanted in ((), tuple(present[::2]), tuple(present[1::2]), tuple(present)):
        picked = fast.picker(wanted)(data, 0)
        assert picked == (*(values[fast.slots[i]] for i in wanted), after)
        if fast.size >= 0:
            unpack = fast.picking_unpack(wanted)
            assert unpack is None or unpack(data, 0) == picked[:-1]
    assert [end for _, end in fast.positions(data, 0)][-1:] == [after] * bool(codes)


@every(name=["udata", "sdata", "block", "strx", "exprloc", "LLVM_addrx_offset"], length=[1, 2, 9, 10, 11, 30])
def test_padded_leb128_numbers(name, length):
    codes = (FORM_CODES[name], FORM_CODES["data1"])
    data = b"\1" + b"\x82" + b"\x80" * (length - 2) + b"\0" * (length > 1) if length > 1 else b"\1\2"
    data += b"\x07\x08\x09\x0a\x0b"
    slow, fast = EntryLayout(1, codes, family(Format())), generated(codes, Format())
    assert fast.read(data, 0) == slow.read(data, 0)
    assert fast.skip(data, 0) == slow.read(data, 0)[0]


@pytest.mark.parametrize("value", [0, 1, 63, 64, -1, -64, -65, 127, 128, -(1 << 63), (1 << 63) - 1])
def test_signed_numbers(value):
    data = b"\1" + encode_signed(value)
    assert generated((0x0D,), Format()).read(data, 0) == (len(data), (value,))


def test_a_function_is_generated_after_some_uses_only():
    layout = EntryLayout(1, (FORM_CODES["string"], FORM_CODES["udata"]), family(Format()))
    data = b"\1a\0\5"
    kinds = []
    for _ in range(FEW + 2):
        layout.read(data, 0)
        kinds.append(layout.read.__name__)
    assert (kinds[FEW - 1], kinds[FEW]) == ("_first_reads", "generated")


def test_entries_that_differ_in_fixed_sizes_share_a_skipper():
    one = generated((FORM_CODES["data2"], FORM_CODES["data2"], FORM_CODES["string"]), Format())
    two = generated((FORM_CODES["data4"], FORM_CODES["string"]), Format())
    data = b"\1....ab\0"
    assert one.skip(data, 0) == two.skip(data, 0) == 8
    assert one.skip is two.skip


def test_layouts_are_shared_between_tables():
    data = declaration(1, 0x11, (NAME, "string")) + b"\0" + declaration(1, 0x24, (TYPE, "string")) + b"\0"
    second = data.index(b"\0\1\x24") + 1
    assert table(data).get(1).layout is table(data, second).get(1).layout


def test_caches_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(readers, "MAX_LAYOUTS", 4)
    one = family(Format(8, 4, "little", 6))
    for length in range(1, 12):
        one.layout(1, (FORM_CODES["string"],) * length)
    assert len(one.layouts) <= 6


@pytest.mark.parametrize("count", [3, 127, 128, 129, 300, 17_000])
@pytest.mark.sampled(4)
def test_codes_of_any_length(count):
    """Entries with codes of one, two and three bytes are found by every way through a unit."""
    leaves = [die(0x34, (NAME, "string", f"v{i}"), (0x2100 + i, "flag_present")) for i in range(count)]
    found = dwarf(unit(die("compile_unit", *leaves))).units[0]
    names = [each.name for each in found.dies()]
    assert names == [None, *(f"v{i}" for i in range(count))]
    assert [each.name for each in found.root.children()] == names[1:]
    assert found.die_at(list(found.dies())[-1].offset).parent() == found.root


def test_a_padded_code_is_understood():
    """A producer may write code 1 as 0x81 0x00."""
    abbreviations = declaration(1, 0x11, (NAME, "string"), children=1) + declaration(2, 0x34, (NAME, "data1")) + b"\0"
    body = b"\x81\x80\x00cu\0" + b"\x82\x00\x07" + b"\x02\x08" + b"\0"
    header = (len(body) + 8).to_bytes(4, "little") + b"\5\0\1\x08\0\0\0\0"
    from dwarfgpu.objfile.indexes.lookup import Dwarf

    found = Dwarf(DictSections({".debug_info": header + body, ".debug_abbrev": abbreviations})).units[0]
    assert [each.values for each in found.dies()] == [(b"cu",), (7,), (8,)]
    assert [each.values for each in found.root.children()] == [(7,), (8,)]
    assert found.die_at(18).parent() == found.root


def test_every_unit_of_a_file_has_its_own_codes():
    built = build(unit(entry("compile_unit", "a")), unit(die("type_unit", ("name", "data1", 3))))
    from dwarfgpu.objfile.indexes.lookup import Dwarf

    first, second = Dwarf(DictSections(built.sections)).units
    assert first.table is not second.table
    assert (first.root.tag_name, second.root.tag_name) == ("DW_TAG_compile_unit", "DW_TAG_type_unit")
