"""Forms: the size, value and class of each, in every format (DWARF 5, 7.5.5 and 7.5.6)."""

import itertools
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.dwarf_constants import (
    DW_AT_const_value,
    DW_AT_high_pc,
    DW_AT_location,
    DW_AT_low_pc,
    DW_AT_ranges,
    DW_AT_stmt_list,
    DW_AT_str_offsets_base,
    DW_AT_type,
    DW_FORM_sec_offset,
    name_of,
    number_of,
)
from dwarfgpu.encoding import Cursor, Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import VALUE_KINDS
from dwarfgpu.objfile.info.forms import FORMS, Indirect, class_of, read_value
from tests.builders.dwarf import FORM_CODES, build, die, dwarf, unit
from tests.builders.errors import raised
from tests.builders.parameters import for_each, in_one_test

FORMATS = [
    Format(address_size, offset_size, order, version)
    for order, offset_size, address_size, version in itertools.product(("little", "big"), (4, 8), (4, 8), (2, 5))
]

# Each form with values as bytes of a little-endian DWARF32 unit with addresses of 8 bytes, and what they mean.
CASES = [
    (form, data, value)
    for forms, data, value in (
        ("addr", "1032547698badcfe", 0xFEDCBA9876543210),     ("block block1", "03010203", b"\1\2\3"),
        ("block2", "0300010203", b"\1\2\3"),                  ("block4", "03000000010203", b"\1\2\3"),
        ("block", "8300010203", b"\1\2\3"),                   ("exprloc", "00", b""),    ("data1", "ff", 0xFF),
        ("data2", "fffe", 0xFEFF), ("data4", "01000080", 0x80000001),
        ("data8 ref8 ref_sig8 ref_sup8", "0100000000000080", 0x8000000000000001),
        ("data16", "01" + "00" * 14 + "80", 1 << 127 | 1),    ("udata", "ffffffffffffffffff01", (1 << 64) - 1),
        ("udata", "7f", 127),      ("udata", "808000", 0),    ("sdata", "7f", -1),       ("sdata", "3f", 63),
        ("sdata", "40", -64),      ("sdata", "8080808080808080807f", -(1 << 63)),        ("sdata", "ffffff7f", -1),
        ("string", "61c3a900", "aé".encode()),                ("string", "00", b""),
        ("strp line_strp strp_sup GNU_strp_alt", "04030201", 0x01020304),
        ("strx GNU_str_index addrx GNU_addr_index ref_udata loclistx rnglistx", "8101", 129),
        ("strx1 addrx1 ref1", "80", 128),                     ("strx2 addrx2 ref2", "0180", 0x8001),
        ("strx3 addrx3", "010280", 0x800201),
        ("strx4 addrx4 ref4 ref_addr ref_sup4 GNU_ref_alt sec_offset", "01020380", 0x80030201),
        ("LLVM_addrx_offset", "810104000000", (129, 4)),      ("flag", "02", 2),
        ("flag_present", "", True),                           ("indirect", "0b05", Indirect(0x0B, 5)),
        ("indirect", "160b05", Indirect(0x0B, 5)),            ("indirect", "080061", Indirect(0x08, b"")),
    )
    for form in forms.split()
]  # fmt: skip


def cursor(data: bytes, byte_order="little") -> Cursor:
    return Cursor(data, byte_order=byte_order, error=MalformedFile)


@in_one_test("name, data, value", CASES)
def test_every_form_has_its_value(name, data, value):
    reading = cursor(bytes.fromhex(data))
    assert read_value(reading, FORM_CODES[name], Format()) == value
    assert reading.position == len(bytes.fromhex(data)) - (data == "080061")


def test_every_form_is_shown_here():
    assert {name for name, _, _ in CASES} | {"implicit_const"} == set(FORM_CODES)


@in_one_test("format, name", product(FORMATS, ["strp", "sec_offset", "line_strp", "GNU_ref_alt", "addr", "ref_addr"]))
def test_sizes_depend_on_the_format(name, format):
    """A.7.5.5: DW_FORM_ref_addr has 4 bytes in the 32-bit format and 8 in the 64-bit format."""
    size = format.offset_size
    if name == "addr" or (name == "ref_addr" and format.version == 2):  # DWARF 3, 7.5.4
        size = format.address_size
    reading = cursor(bytes(range(1, 17)), format.byte_order)
    value = read_value(reading, FORM_CODES[name], format)
    assert reading.position == size
    assert value == int.from_bytes(bytes(range(1, size + 1)), format.byte_order)


@pytest.mark.parametrize("name", ["strx3", "addrx3", "data16", "data2", "ref4", "strx2"])
def test_the_byte_order_is_that_of_the_unit(name):
    data = bytes(range(1, 17))
    size = forms.fixed_size(FORMS[FORM_CODES[name]].encoding, Format())
    value = read_value(cursor(data, "big"), FORM_CODES[name], Format(byte_order="big"))
    assert value == int.from_bytes(data[:size], "big")


@for_each("name, data, kind",
    ("data4", "010203", "truncated"),                        ("block1", "0301", "truncated"),
    ("block4", "ffffffff00", "truncated"),                   ("block", "ffffffffffffffffff0100", "truncated"),
    ("string", "616263", "truncated"),                       ("udata", "8080", "truncated"),
    ("udata", "ffffffffffffffffff02", "leb128_overflow"),    ("sdata", "ffffffffffffffffff01", "leb128_overflow"),
    ("indirect", "16161616161616161616", "bad_form"),        ("indirect", "19", "bad_form"),
    ("indirect", "2101", "bad_form"),                        ("LLVM_addrx_offset", "01020304", "truncated"),
)  # fmt: skip
def test_broken_values_are_errors(name, data, kind):
    assert raised(MalformedFile, read_value, cursor(bytes.fromhex(data)), FORM_CODES[name], Format()).kind == kind


def test_an_unknown_form_is_unsupported():
    assert "0x7f" in str(raised(Unsupported, read_value, cursor(b"\0" * 8), 0x7F, Format()))
    assert forms.form_name(0x7F) == "DW_FORM_unknown_0x7f"


@given(st.sampled_from(sorted(FORMS)), st.binary(max_size=40), st.sampled_from(FORMATS))
def test_any_bytes_are_a_value_or_an_error(code, data, format):
    reading = cursor(data, format.byte_order)
    try:
        read_value(reading, code, format)
    except DwarfGpuError:
        return
    assert reading.position <= len(data)


@for_each("form, attribute, version, expected",
    ("sec_offset", DW_AT_stmt_list, 5, "lineptr"),                       ("sec_offset", DW_AT_location, 4, "loclist"),
    ("sec_offset", DW_AT_ranges, 4, "rnglist"),   ("sec_offset", DW_AT_str_offsets_base, 5, "stroffsetsptr"),
    ("sec_offset", 0x79, 5, "macptr"),            ("sec_offset", 0x3FFF, 5, "unknown"),
    ("data4", DW_AT_location, 2, "loclist"),      ("data8", DW_AT_ranges, 3, "rnglist"),
    ("data4", DW_AT_stmt_list, 3, "lineptr"),     ("data4", DW_AT_location, 4, "constant"),
    ("data4", 0x38, 3, "constant"),  # DW_AT_data_member_location
    ("data4", DW_AT_high_pc, 3, "constant"),
    ("block1", DW_AT_location, 2, "exprloc"),
    ("block", 0x40, 3, "exprloc"),  # DW_AT_frame_base
    ("block1", DW_AT_const_value, 3, "block"),               ("block1", DW_AT_const_value, 5, "block"),
    ("exprloc", DW_AT_location, 5, "exprloc"),               ("loclistx", DW_AT_location, 5, "loclist"),
    ("rnglistx", DW_AT_ranges, 5, "rnglist"),                ("LLVM_addrx_offset", DW_AT_low_pc, 5, "address"),
    ("ref_sig8", DW_AT_type, 4, "reference"),                ("implicit_const", 0x3B, 5, "constant"))  # fmt: skip
def test_the_class_of_a_value(form, attribute, version, expected):
    assert class_of(FORM_CODES[form], attribute, version) == expected


def test_the_class_of_a_vendor_list_depends_on_its_name():
    assert class_of(DW_FORM_sec_offset, 0x3E12, 5, "DW_AT_LLVM_lane_pc") == "loclist"
    assert class_of(DW_FORM_sec_offset, 0x3E12, 5) == "unknown"


def test_every_form_has_a_class():
    unclear = {FORMS[code].name for code in FORMS if class_of(code, 0, 5) == "unknown"}
    assert unclear == {"DW_FORM_indirect", "DW_FORM_sec_offset"}


@for_each("dialect, code, form, name",
    ("llvm-current", 0x3E11, "data1", "DW_AT_LLVM_lanes"),    ("llvm-current", 0x3E12, "exprloc", "DW_AT_LLVM_lane_pc"),
    ("llvm-current", 0x3E10, "data1", "DW_AT_LLVM_address_space"),
    ("llvm-current", 0x3E0A, "data1", "DW_AT_LLVM_ptrauth_authentication_mode"),
    ("llvm-current", 0x3E0C, "sec_offset", "DW_AT_LLVM_stmt_sequence"),
    ("llvm-old", 0x3E0A, "data1", "DW_AT_LLVM_lanes"),        ("llvm-old", 0x3E0A, "exprloc", "DW_AT_LLVM_iterations"),
    ("llvm-old", 0x3E0B, "exprloc", "DW_AT_LLVM_lane_pc"),    ("llvm-old", 0x3E08, "exprloc", "DW_AT_LLVM_active_lane"),
    ("llvm-old", 0x3E0C, "data1", "DW_AT_LLVM_vector_size"),  ("llvm-old", 0x3E00, "strp", "DW_AT_LLVM_include_path"),
    ("llvm-old", 0x3E0E, "data1", "DW_AT_LLVM_alloc_type"),   ("llvm-old", 0x3E10, "data1", "DW_AT_LLVM_address_space"),
    ("llvm-old", 0x3E11, "data1", "DW_AT_LLVM_lanes"),        ("llvm-old", 0x3E12, "exprloc", "DW_AT_LLVM_lane_pc"),
    ("amdgpu-2020", 0x3E0B, "exprloc", "DW_AT_LLVM_lane_pc"),
    ("llvm-21", 0x3E11, "data1", "DW_AT_LLVM_lanes"))  # fmt: skip
def test_the_numbers_of_llvm_depend_on_the_dialect(dialect, code, form, name):
    """A.2.2 and A.7.5.4: the attributes of the extension, each with the numbers that it has had."""
    built = dwarf(unit(die("compile_unit", (code, form, b"" if form == "exprloc" else 0))), attributes=dialect)
    (attribute,) = built.units[0].root.attributes
    assert attribute.name == name
    assert built.units[0].dialect.name == dialect
    assert built.units[0].dialect_reason == "it was asked for"
    assert name in built.units[0].root
    assert built.units[0].root.get(name).value == attribute.value


@for_each("parts, dialect",
    ([], "llvm-current"),
    ([("producer", "string", "clang version 22.1.8")], "llvm-current"),
    ([("producer", "string", "AMD clang version 17.0.0 (RadeonOpenCompute/llvm-project)")], "llvm-old"),
    ([("producer", "string", "AMD clang version 22.0.0git (roc-7.2)")], "llvm-current"),
    ([("producer", "string", "Apple clang version 15.0.0")], "llvm-current"),
    ([("producer", "string", "Debian clang version 21.1.8")], "llvm-21"),
    ([(0x3E09, "string", "[amdgpu:v0.0]")], "llvm-old"),
    ([(0x3E09, "flag_present")], "llvm-current"))  # fmt: skip
def test_without_a_choice_the_strings_of_the_unit_tell(parts, dialect):
    """A.3.1.1 (1): DW_AT_LLVM_augmentation of a unit is a string such as `[amdgpu:v0.0]`."""
    found = dwarf(unit(die("compile_unit", *parts))).units[0]
    assert found.dialect.name == dialect
    assert found.dialect_reason
    assert found.augmentation == ("[amdgpu:v0.0]" if parts and parts[0][1:] == ("string", "[amdgpu:v0.0]") else None)


def test_an_unknown_dialect_is_refused():
    assert "llvm-future" in str(raised(DwarfGpuError, dwarf, unit(die("compile_unit")), attributes="llvm-future"))


@pytest.mark.parametrize("number, name", [(0, "none"), (1, "global"), (2, "constant"), (3, "group"), (4, "private")])
def test_memory_spaces_have_names(number, name):
    """A.2.14, A.4.1 (3) and A.7.15: the numbers of DW_AT_LLVM_memory_space."""
    assert name_of(VALUE_KINDS["DW_AT_LLVM_memory_space"], number) == f"DW_MSPACE_LLVM_{name}"


def test_memory_spaces_of_vendors_have_a_range():
    """A.2.14 and A.7.15: the bounds are no names of a space."""
    assert [number_of(f"DW_MSPACE_LLVM_{bound}_user") for bound in ("lo", "hi")] == [0x8000, 0xFFFF]
    expected = ["DW_MSPACE_LLVM_unknown_0x8000", "DW_MSPACE_LLVM_unknown_0xffff"]
    assert [name_of("DW_MSPACE_LLVM", number) for number in (0x8000, 0xFFFF)] == expected


@for_each("code, name, forms_and_classes",
    (0x3E08, "active_lane", {"exprloc": "exprloc", "sec_offset": "loclist"}),
    (0x3E09, "augmentation", {"string": "string", "strp": "string"}),
    (0x3E0A, "lanes", {"data1": "constant"}),
    (0x3E0B, "lane_pc", {"exprloc": "exprloc", "sec_offset": "loclist"}),
    (0x3E0C, "vector_size", {"data1": "constant"}),
    (0x3E0A, "iterations", {"exprloc": "exprloc", "loclistx": "loclist"}))  # fmt: skip
def test_the_numbers_and_classes_of_the_text(code, name, forms_and_classes):
    """A.2.2 and A.7.5.4: the tables of the text; of two attributes with one number, the class decides."""
    for form, value_class in forms_and_classes.items():
        value = {"exprloc": b"", "string": "a", "strp": "a"}.get(form, 1)
        built = dwarf(unit(die("compile_unit", (code, form, value))), attributes="llvm-old")
        (attribute,) = built.units[0].root.attributes
        assert (attribute.name, attribute.value_class) == (f"DW_AT_LLVM_{name}", value_class)


def test_values_with_names():
    """A.3.1.1 and A.7.12: DW_LANG_LLVM_HIP is 0x8100; and other names."""
    assert name_of(VALUE_KINDS["DW_AT_language"], 0x30) == "DW_LANG_HIP"
    assert name_of(VALUE_KINDS["DW_AT_language"], 0x8100) == "DW_LANG_LLVM_HIP"
    assert name_of(VALUE_KINDS["DW_AT_LLVM_memory_space"], 3) == "DW_MSPACE_LLVM_group"
    assert name_of(VALUE_KINDS["DW_AT_encoding"], 5) == "DW_ATE_signed"


def test_building_is_stable():
    tree = unit(die("compile_unit", ("name", "strp", "a")))
    assert build(tree) == build(tree)
