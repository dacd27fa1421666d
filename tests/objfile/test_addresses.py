"""``.debug_addr``: DWARF 5 section 7.27."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import MAX_BROKEN, contribution_with_base, contributions
from dwarfgpu.objfile.info.unit_tables import address_table, addresses_of
from tests.builders.lists import contribution, number
from tests.builders.parameters import every


def addresses(*values, size=8, order="little"):
    return b"".join(number(value, size, order) for value in values)


def tables(data):
    """Return the addresses of all tables of a section, or the error of one."""
    headers = contributions(data, "little", ".debug_addr")
    return [h if isinstance(h, DwarfGpuError) else addresses_of(data, h, "little") for h in headers]


def kind_of(error):
    return error.value.kind


@every(order=["little", "big"], size=[4, 8], wide=[False, True])
def test_a_table_is_named_by_the_offset_past_its_header(order, size, wide):
    first = contribution(addresses(1, 2, size=size, order=order), size=size, order=order, wide=wide)
    second = contribution(addresses(0x10, 0x20, 0x30, size=size, order=order), size=size, order=order, wide=wide)
    base = len(first) + (16 if wide else 8)
    assert list(address_table(first + second, base, Format(size, 8 if wide else 4, order, 5))) == [0x10, 0x20, 0x30]


def test_a_table_of_64_bit_dwarf_is_found_for_a_unit_of_32_bit_dwarf():
    assert address_table(contribution(addresses(7), wide=True), 16, Format())[0] == 7


def test_segment_selectors_are_passed_over():
    data = contribution(b"".join(b"\x01\x02" + number(a, 4) for a in (5, 6)), size=4, segment=2)
    assert list(address_table(data, 8, Format(4))) == [5, 6]


def test_before_version_5_a_table_has_no_header_and_reaches_to_the_end():
    assert list(address_table(addresses(1, 2, 3), 8, Format(version=4))) == [2, 3]


@pytest.mark.parametrize("base", [-1, 0, 4, 9, 1000])
def test_a_base_without_a_header_before_it_is_an_error(base):
    with pytest.raises(MalformedFile) as error:
        address_table(contribution(addresses(1)), base, Format())
    assert kind_of(error) == "bad_base"


def test_a_base_outside_a_section_without_headers_is_an_error():
    with pytest.raises(MalformedFile, match="outside"):
        address_table(b"", 1, Format(version=4))


def test_a_broken_table_does_not_hide_the_next():
    data = contribution(b"", version=9) + contribution(addresses(1), size=3) + contribution(addresses(5))
    first, second, third = tables(data)
    assert (first.kind, first.where.offset) == ("bad_version", 0)
    assert second.kind == "bad_address_size"
    assert list(third) == [5]


def test_a_reserved_length_ends_the_section():
    [error] = tables(contribution(addresses(1), length=0xFFFFFFF0) + contribution(addresses(5)))
    assert (error.kind, str(error.where)) == ("bad_length", ".debug_addr+0x0")


def test_a_table_longer_than_its_section_has_what_is_there():
    [table] = tables(contribution(addresses(1, 2), length=1 << 30))
    assert list(table) == [1, 2]


def test_a_section_of_zeros_is_given_up():
    errors = tables(bytes(1 << 20))
    assert len(errors) == MAX_BROKEN
    assert {error.kind for error in errors} == {"truncated"}


@given(st.binary(max_size=64), st.integers(-8, 80), st.integers(2, 6), st.integers(0, 9))
def test_any_bytes_give_an_address_or_an_error(data, base, version, size):
    for table in tables(data):
        assert isinstance(table, MalformedFile) or len(list(table)) <= len(data)
    try:
        table = address_table(data, base, Format(size, version=version))
    except DwarfGpuError:
        return
    assert all(0 <= address < 1 << 64 for address in table)


def test_lists_and_addresses_share_their_header():
    assert contribution_with_base(contribution(bytes(8), count=2), 12, 4, "little", ".debug_loclists").count == 2
