"""Location lists and range lists: DWARF 5 sections 2.6.2, 2.17.3, 7.7.3, 7.25, 7.28, 7.29, and A.2.5.5."""

import itertools
import re
import subprocess

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile import list_encoding as lists
from dwarfgpu.objfile.list_encoding import ListContext, list_table, list_tables, raw_list, read_list
from tests.builders import compiled
from tests.builders.errors import raised
from tests.builders.lists import contribution, gnu_loclist, loc, loclist, number, ranges, rnglist, table_of_lists
from tests.builders.parameters import every, for_each
from tests.builders.sources import opened

ADDRESSES = (0x1000, 0x2000, 0x3000)
LAST = (1 << 64) - 1


def address_at(index):
    """Return an address as the tables of a unit do, which refuse an index that they do not have."""
    if index >= len(ADDRESSES):
        raise MalformedFile("index_out_of_range", f"there is no address {index}").at(section=".debug_addr", offset=0)
    return ADDRESSES[index]


def context(base=0x100, size=8, order="little"):
    return ListContext(size, order, base, address_at)


def read(data, *, base=0x100, section=".debug_loclists", size=8, order="little", offset=0):
    return read_list(data, offset, section=section, context=context(base, size, order))


def read_loc(data, **options):
    return read(data, section=".debug_loc", **options)


def read_dwo(data, **options):
    return read(data, section=".debug_loc.dwo", **options)


def read_ranges(data, *, section=".debug_rnglists", base=0x100, size=8, order="little"):
    return read_list(data, 0, section=section, context=context(base, size, order))


def shown(found):
    """The entries of a list as ``start-end expression``."""
    assert found.error is None, found.error
    return [
        f"default {e.expression.hex()}" if e.default else f"{e.start:x}-{e.end:x} {e.expression.hex()}"
        for e in found.entries
    ]


def failed(found):
    """The kind of the error of a list and where it stands."""
    assert isinstance(found.error, DwarfGpuError)
    return found.error.kind, str(found.error.where)


@for_each("entries, expected",
    ([("offset_pair", 0x10, 0x20, "50")], ["110-120 50"]),    ([("start_end", 0x10, 0x20, "50")], ["10-20 50"]),
    ([("start_length", 0x10, 0x20, "50")], ["10-30 50"]),     ([("startx_endx", 0, 2, "50")], ["1000-3000 50"]),
    ([("startx_length", 1, 0x20, "50")], ["2000-2020 50"]),   ([("default_location", "51")], ["default 51"]),
    ([("base_address", 0x700), ("offset_pair", 1, 2, "50")], ["701-702 50"]),
    ([("base_addressx", 2), ("offset_pair", 1, 2, "50")], ["3001-3002 50"]),
    ([("base_address", 0x700), ("base_address", 0x800), ("offset_pair", 1, 2, "")], ["801-802 "]),
    ([("base_address", 0x700), ("start_length", 1, 2, "50")], ["1-3 50"]),
    ([("base_address", 0x700)], []),
    ([], []))  # fmt: skip
@every(order=["little", "big"], size=[4, 8])
def test_every_kind_of_entry(entries, expected, size, order):
    assert shown(read(loclist(*entries, "end_of_list", size=size, order=order), size=size, order=order)) == expected


def test_a_list_says_where_its_entries_and_expressions_stand():
    data = b"\xff" * 3 + loclist(("base_address", 0), ("offset_pair", 0, 0x90, "5051"), "end_of_list") + b"\xff"
    found = read(data, offset=3)
    [entry] = found.entries
    assert (entry.offset, entry.expression_offset, found.end) == (12, 17, 20)
    assert data[entry.expression_offset :][:2] == entry.expression
    assert (found.section, found.offset) == (".debug_loclists", 3)


def test_a_view_pair_belongs_to_the_entry_after_it():
    data = loclist(("GNU_view_pair", 1, 3), ("start_length", 4, 0, "50"), ("start_length", 4, 8, "51"), "end_of_list")
    found = read(data)
    assert shown(found) == ["4-4 50", "4-c 51"]
    assert [entry.views for entry in found.entries] == [(1, 3), None]


def test_the_raw_entries_are_what_is_encoded():
    data = loclist(("base_addressx", 1), ("offset_pair", 0, 4, "50"), "end_of_list")
    entries, end, error = raw_list(data, 0, section=".debug_loclists", context=ListContext())
    assert error is None
    assert end == len(data)
    assert [(lists.kind_name(e.kind, ".debug_loclists"), e.operands, e.expression, e.offset) for e in entries] == [
        ("DW_LLE_base_addressx", (1,), None, 0),
        ("DW_LLE_offset_pair", (0, 4), b"\x50", 2),
    ]


@for_each(
    "pairs, expected",
    ([(0, 4, "50"), (-1, 0x700), (4, 8, "5152"), (-1, 0), (0x30, 0x31, "")], ["100-104 50", "704-708 5152", "30-31 "]),
    ([(-1, 0x700), (0, 0, "50"), (4, 8, "51")], []),  # a pair of zeros ends the list, whatever the base is
)
@every(order=["little", "big"], size=[4, 8])
def test_pairs_count_from_the_base_address(pairs, expected, size, order):
    assert shown(read_loc(loc(*pairs, size=size, order=order), size=size, order=order)) == expected


def test_the_gnu_form_of_split_units():
    kinds = [("base_addressx", 1), ("offset_pair", 0x10, 0x20, "50"), ("startx_endx", 0, 2, "51")]
    data = gnu_loclist(*kinds, ("startx_length", 2, 0x10, "5253"), "end_of_list")
    assert shown(read_dwo(data)) == ["2010-2020 50", "1000-3000 51", "3000-3010 5253"]
    assert failed(read_dwo(b"\x05")) == ("unknown_entry_kind", ".debug_loc.dwo+0x0")


MATCHING = loclist(
    ("start_end", 0x10, 0x20, "50"),      ("default_location", "5d"),           ("start_length", 0x18, 0x10, "51"),
    ("start_end", 0x30, 0x30, "52"),      "end_of_list",                        ("start_end", 0, 0x100, "53"),
)  # fmt: skip


@for_each("pc, expected",
    (0x0F, "5d"),  # no bounded entry applies
    (0x10, "50"),  # the start is in the range
    (0x18, "50 51"),  # entries that overlap all apply
    (0x20, "51"),  # the end is not in the range; an entry after the default counts as well
    (0x28, "5d"),
    (0x30, "5d"),  # an empty range holds no address
    (LAST, "5d"))  # fmt: skip
def test_the_entries_that_match_a_program_location(pc, expected):
    """A.2.5.5"""
    assert " ".join(entry.expression.hex() for entry in read(MATCHING).matching(pc)) == expected


def test_without_a_default_no_entry_need_match():
    """A.2.5.5: the object is then assumed not to be available."""
    assert read(loclist(("start_end", 1, 2, "50"), "end_of_list")).matching(2) == ()


def test_an_entry_may_end_with_the_last_address_and_offsets_wrap_around():
    found = read(loclist(("start_length", 0xFFFFFFF0, 0x10, "50"), "end_of_list", size=4), size=4)
    assert len(found.matching(0xFFFFFFFF)) == 1
    found = read(loclist(("offset_pair", LAST - 0xF, LAST - 0xB, "50"), "end_of_list"), base=0x110)
    assert shown(found) == ["100-104 50"]


@for_each("entries, expected",
    ([("offset_pair", 0x10, 0x20)], [(0x110, 0x120)]),        ([("start_end", 0x10, 0x20)], [(0x10, 0x20)]),
    ([("start_length", 0x10, 0x20)], [(0x10, 0x30)]),         ([("startx_endx", 0, 2)], [(0x1000, 0x3000)]),
    ([("startx_length", 1, 0x20)], [(0x2000, 0x2020)]),
    ([("base_address", 0x700), ("offset_pair", 1, 2)], [(0x701, 0x702)]),
    ([("base_addressx", 2), ("offset_pair", 1, 2), ("offset_pair", 5, 5)], [(0x3001, 0x3002)]),
    ([], []))  # fmt: skip
@every(order=["little", "big"], size=[4, 8])
def test_every_kind_of_range(entries, expected, size, order):
    data = rnglist(*entries, "end_of_list", size=size, order=order)
    assert read_ranges(data, size=size, order=order).spans() == expected


@every(order=["little", "big"], size=[4, 8])
def test_pairs_of_ranges_count_from_the_base_address(size, order):
    data = ranges((0, 4), (-1, 0x700), (4, 8), (5, 5), size=size, order=order)
    found = read_ranges(data, section=".debug_ranges", size=size, order=order)
    assert found.spans() == [(0x100, 0x104), (0x704, 0x708)]
    assert [(e.start, e.offset) for e in found.entries] == [(0x100, 0), (0x704, 4 * size), (0x705, 6 * size)]


def test_the_raw_ranges_are_what_is_encoded():
    data = rnglist(("base_address", 16), ("start_length", 0, 4), "end_of_list")
    entries, end, error = raw_list(data, 0, section=".debug_rnglists", context=ListContext())
    assert (end, error) == (len(data), None)
    expected = [("DW_RLE_base_address", (16,)), ("DW_RLE_start_length", (0, 4))]
    assert [(lists.kind_name(e.kind, ".debug_rnglists"), e.operands) for e in entries] == expected


@pytest.mark.parametrize("size", [4, 8])
@for_each("entries",
    [("start_end", -1, 0x20, "50")],
    [("start_length", -1, 0x20, "50")],
    [("base_address", -1), ("offset_pair", 0, 0x20, "50")])  # fmt: skip
def test_an_entry_at_a_tombstone_matches_nothing(entries, size):
    found = read(loclist(*entries, "end_of_list", size=size), size=size)
    [entry] = found.entries
    assert entry.start == entry.end == (1 << 8 * size) - 1
    assert found.matching(0x10) == found.matching(entry.start) == ()


@every(size=[4, 8], pairs=[[(-2, -2)], [(-2, 0x20)], [(-1, -2), (0, 0x20)], [(-1, -1), (0, 0x20)]])
def test_before_version_5_the_tombstone_is_one_less(pairs, size):
    found = read_ranges(ranges(*pairs, size=size), section=".debug_ranges", size=size)
    assert (found.error, found.spans(), len(found.entries)) == (None, [], 1)


def test_an_indexed_address_may_be_a_tombstone():
    dead = ListContext(8, "little", None, lambda _index: LAST)
    data = rnglist(
        ("startx_length", 0, 8), ("base_addressx", 0), ("offset_pair", 0, 8), ("startx_endx", 0, 0), "end_of_list"
    )
    found = read_list(data, 0, section=".debug_rnglists", context=dead)
    assert (found.error, found.spans(), len(found.entries)) == (None, [], 3)


@for_each("data, error",
    (loclist(("start_end", 1, 2, "50")), ("truncated", ".debug_loclists+0x13")),
    (b"", ("truncated", ".debug_loclists+0x0")),
    (loclist(("base_address", 5)), ("truncated", ".debug_loclists+0x9")),
    (loclist(("start_end", 1, 2, "50"))[:-1], ("truncated", ".debug_loclists+0x12")),
    (b"\x0a\x00", ("unknown_entry_kind", ".debug_loclists+0x0")),
    (b"\xff\x00", ("unknown_entry_kind", ".debug_loclists+0x0")),
    (b"\x04\x80\x80", ("truncated", ".debug_loclists+0x1")),
    (b"\x04" + b"\xff" * 10 + b"\x01", ("leb128_overflow", ".debug_loclists+0x1")),
    (b"\x05\xff\xff\xff\x7f", ("truncated", ".debug_loclists+0x5")),
    (loclist(("offset_pair", 5, 4, "50"), "end_of_list"), ("bad_range", ".debug_loclists+0x0")),
    (loclist(("start_end", 5, 4, "50"), "end_of_list"), ("bad_range", ".debug_loclists+0x0")),
    (loclist(("start_length", LAST - 5, 9, "50"), "end_of_list"), ("address_overflow", ".debug_loclists+0x0")),
    (loclist(("startx_endx", 1, 0, "50"), "end_of_list"), ("bad_range", ".debug_loclists+0x0")),
    (loclist(("base_addressx", 3), "end_of_list"), ("index_out_of_range", ".debug_addr+0x0")),
    (loclist(("startx_length", 3, 1, "50"), "end_of_list"), ("index_out_of_range", ".debug_addr+0x0")),
    (loclist(("startx_endx", 0, 1 << 40, "50"), "end_of_list"), ("index_out_of_range", ".debug_addr+0x0")))  # fmt: skip
def test_what_is_wrong_with_a_location_list(data, error):
    assert failed(read(data)) == error


def test_entries_before_an_error_are_given_but_the_list_has_no_answer():
    found = read(loclist(("start_end", 1, 2, "50"), ("start_end", 3, 4, "51")))
    assert [entry.start for entry in found.entries] == [1, 3]
    assert "are left" in str(raised(MalformedFile, found.matching, 1))


def test_an_error_that_is_raised_again_holds_on_to_nothing():
    """Python adds the calls that lead to an error to those of the time before."""
    found = read_ranges(b"\x08")
    lengths = set()
    for _ in range(5):
        with pytest.raises(MalformedFile) as error:
            found.spans()
        lengths.add(len(error.traceback))
    assert len(lengths) == 1


def test_an_entry_that_ends_before_it_begins_hides_no_other():
    found = read(
        loclist(("start_end", 1, 2, "50"), ("start_end", 9, 8, "51"), ("start_end", 3, 4, "52"), "end_of_list")
    )
    assert [entry.expression.hex() for entry in found.entries] == ["50", "52"]
    assert failed(found) == ("bad_range", ".debug_loclists+0x13")
    found = read_ranges(rnglist(("start_end", 1, 2), ("start_end", 9, 8), ("start_end", 3, 4), "end_of_list"))
    assert [(entry.start, entry.end) for entry in found.entries] == [(1, 2), (3, 4)]
    assert failed(found) == ("bad_range", ".debug_rnglists+0x11")


@for_each("entries, kind",
    ([("GNU_view_pair", 1, 2), "end_of_list"], None),
    ([("GNU_view_pair", 1, 2), ("GNU_view_pair", 3, 4), "end_of_list"], None),
    ([("GNU_view_pair", 1, 2), ("base_address", 7), "end_of_list"], None),
    ([("GNU_view_pair", (1 << 64) - 1, 0), "end_of_list"], None),
    ([("GNU_view_pair", 1, 2)], "truncated"))  # fmt: skip
def test_a_view_pair_without_an_entry_is_none(entries, kind):
    found = read(loclist(*entries))
    assert (found.entries, found.error and found.error.kind) == ((), kind)


def test_the_views_of_a_broken_entry_belong_to_no_other():
    found = read(loclist(("GNU_view_pair", 1, 2), ("start_end", 9, 8, "50"), ("start_end", 1, 2, "51"), "end_of_list"))
    assert [(entry.start, entry.views) for entry in found.entries] == [(1, None)]


@for_each("entry, kind", (("offset_pair", 0, 4, "50"), "unit_base"), (("startx_length", 0, 4, "50"), "debug_addr"))
def test_offsets_need_a_base_address_and_indices_a_table(entry, kind):
    found = read_list(loclist(entry, "end_of_list"), 0, section=".debug_loclists", context=ListContext())
    assert found.error.error_class == "missing_context"
    assert failed(found) == (kind, ".debug_loclists+0x0")


@pytest.mark.parametrize("cut", range(len(loc((1, 2, "5051")))))
def test_a_debug_loc_cut_anywhere_is_an_error(cut):
    assert failed(read_loc(loc((1, 2, "5051"))[:cut]))[0] == "truncated"


def test_a_base_selection_and_nothing_more_is_an_error():
    assert failed(read_loc(loc((-1, 0x700), end=False))) == ("truncated", ".debug_loc+0x10")


@for_each("data, kind",
    (b"", "truncated"),                                      (b"\x08", "unknown_entry_kind"),
    (b"\x07", "truncated"),                                  (rnglist(("start_end", 2, 1)), "bad_range"))  # fmt: skip
def test_what_is_wrong_with_a_range_list(data, kind):
    found = read_ranges(data)
    assert failed(found)[0] == kind
    raised(MalformedFile, found.spans)


@pytest.mark.parametrize("size", [0, 3, 16, 255])
def test_no_address_has_such_a_size(size):
    assert raised(MalformedFile, read, bytes(64), size=size).kind == "bad_address_size"


@pytest.mark.parametrize("offset", [5, 1 << 40])
def test_a_list_outside_its_section(offset):
    assert failed(read(b"\x00", offset=offset)) == ("truncated", f".debug_loclists+{offset:#x}")
    raised(MalformedFile, read, b"\x00", offset=-1)


def test_a_list_ends_with_its_table_where_that_is_known():
    data = loclist(("start_end", 1, 2, "50")) + b"\x00"
    assert failed(read_list(data, 0, section=".debug_loclists", context=context(), end=len(data) - 1))[0] == "truncated"


def test_a_list_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(lists, "MAX_ENTRIES", 3)
    found = read(loclist(*[("default_location", "50")] * 4, "end_of_list"))
    assert failed(found)[0] == "limit_exceeded"
    assert len(found.entries) == 3


@every(order=["little", "big"], wide=[False, True])
def test_an_index_leads_to_a_list(wide, order):
    one, two = loclist(("start_end", 1, 2, "50"), "end_of_list", order=order), b"\x00"
    first, second = table_of_lists(two, order=order), table_of_lists(one, two, order=order, wide=wide)
    base = len(first) + (20 if wide else 12)
    options = {"section": ".debug_loclists", "byte_order": order}
    table = list_table(first + second, base, offset_size=8 if wide else 4, **options)
    assert len(table) == 2
    assert (first + second)[table[0] :].startswith(one)
    assert table[1] == len(first + second) - 1
    assert lists.list_table_at(first + second, len(first), **options) == table
    assert [t.header for t in list_tables(first + second, **options)][1] == table.header
    assert list(table) == [table[0], table[1]]


@for_each("data, index, kind",
    (table_of_lists(b"\x00"), 1, "index_out_of_range"),
    (table_of_lists(b"\x00"), -1, "index_out_of_range"),
    (table_of_lists(), 0, "index_out_of_range"),
    (contribution(number(4, 4), count=0xFFFFFFFF), 0, "bad_offset"),
    (contribution(number(4, 4), count=0xFFFFFFFF), 1, "truncated"),
    (contribution(number(4, 4), count=0xFFFFFFFF), 0xFFFFFFFE, "truncated"),
    (contribution(number(0xFFFFFFFF, 4) + b"\x00", count=1), 0, "bad_offset"))  # fmt: skip
def test_an_index_that_leads_nowhere(data, index, kind):
    table = list_table(data, 12, section=".debug_loclists")
    with pytest.raises(MalformedFile) as error:
        table[index]
    assert (error.value.kind, str(error.value.where)) == (kind, ".debug_loclists+0x0")


def test_a_base_that_is_none():
    with pytest.raises(MalformedFile, match=r"no table of \.debug_rnglists has its base at 0xd"):
        list_table(table_of_lists(b"\x00"), 13, section=".debug_rnglists")


@every(compiler=["x86-64", "gcc", "amdgcn"], version=[4, 5])
def test_lists_of_dropped_functions_match_nothing(compiler, version, tmp_path, require_tool):
    """With the tombstones that lld is told to write, every list is good, and what is alive lies in the code."""
    options = f"-gdwarf-{version} -O2 -ffunction-sections -fvisibility=hidden"
    dead = "-z dead-reloc-in-nonalloc=.debug_*=0xffffffffffffffff"
    if version < 5:
        dead += "".join(f" -z dead-reloc-in-nonalloc=.debug_{s}=0xfffffffffffffffe" for s in ("loc", "ranges"))
    path = compiled.compiled(tmp_path, require_tool, compiler, options, link=f"--gc-sections -e third {dead}")
    empty = full = 0
    with path.open("rb") as stream:
        text = ELFFile(stream).get_section_by_name(".text").header
    for attribute in [each for unit in opened(path).units for entry in unit.dies() for each in entry.attributes]:
        if attribute.value_class not in ("loclist", "rnglist") or attribute.name == "DW_AT_GNU_locviews":
            continue
        unit, (section, offset) = attribute.die.unit, attribute.list_place()
        how = ListContext(unit.address_size, unit.format.byte_order, unit.low_pc, unit.tables.address)
        mine = read_list(unit.tables.list_data(section), offset, section=section, context=how)
        assert mine.error is None
        for entry in mine.entries:
            alive = entry.start < entry.end
            full, empty = full + alive, empty + (not alive)
            assert not alive or text.sh_addr <= entry.start < entry.end <= text.sh_addr + text.sh_size
    assert full
    assert empty


def test_lists_with_views_are_what_readelf_prints(tmp_path, require_tool):
    """DW_LLE_GNU_view_pair, which llvm-dwarfdump and pyelftools do not know."""
    readelf = require_tool("readelf")
    path = compiled.compiled(tmp_path, require_tool, "gcc", "-gdwarf-5 -O2 -gvariable-location-views=incompat5")
    shown = subprocess.run([readelf, "--debug-dump=loc", path], check=True, capture_output=True, text=True).stdout
    data, found = compiled.sections(path)[".debug_loclists"], []
    for header in list_tables(data, section=".debug_loclists"):
        offset = header.header.base
        while offset < header.header.end:
            mine = read_list(data, offset, section=".debug_loclists", context=ListContext())
            assert mine.error is None
            found += mine.entries
            offset = mine.end
    entries = re.findall(
        r"(?:v([0-9a-f]+) v([0-9a-f]+) views for:\n)?^ +([0-9a-f]{8}) ([0-9a-f]{16}) ([0-9a-f]{16}) ",
        shown,
        re.MULTILINE,
    )
    entries = [tuple(int(number or "0", 16) for number in numbers) for numbers in entries]
    assert [(*(entry.views or (0, 0)), entry.offset, entry.start, entry.end) for entry in found] == entries
    assert any(entry.views not in {None, (0, 0)} for entry in found)


SECTIONS = (".debug_loclists", ".debug_loc", ".debug_loc.dwo", ".debug_rnglists", ".debug_ranges")
entries = st.one_of(
    st.tuples(st.just("start_end"), st.integers(0, 40), st.integers(0, 40), st.just("50")),
    st.tuples(st.just("start_length"), st.integers(0, 40), st.integers(0, 40), st.just("51")),
    st.tuples(st.just("offset_pair"), st.integers(0, 40), st.integers(0, 40), st.just("52")),
    st.tuples(st.just("base_address"), st.integers(0, 40)),
    st.tuples(st.just("default_location"), st.just("53")))  # fmt: skip


@given(st.lists(entries, max_size=6))
def test_matching_is_what_the_text_says(given_entries):
    """A.2.5.5 once more, entry by entry and address by address."""
    base, bounded, defaults = 0x100, [], []
    for kind, *operands in given_entries:
        if kind == "base_address":
            [base] = operands
        elif kind == "default_location":
            defaults += operands
        else:
            start, end, expression = operands
            shift = base if kind == "offset_pair" else 0
            bounded.append((start + shift, (start if kind == "start_length" else shift) + end, expression))
    found = read(loclist(*given_entries, "end_of_list"))
    if any(start > end for start, end, _ in bounded):
        assert failed(found)[0] == "bad_range"
        return
    for pc in itertools.chain(range(90), range(0xF0, 0x140)):
        expected = [expression for start, end, expression in bounded if start <= pc < end] or defaults
        assert [entry.expression.hex() for entry in found.matching(pc)] == expected


@given(
    st.one_of(st.binary(max_size=80), st.lists(entries, max_size=4).map(lambda e: loclist(*e))),
    st.integers(0, 90),                                      st.sampled_from(SECTIONS),
    st.sampled_from((4, 8)),                                 st.sampled_from(("little", "big")))  # fmt: skip
def test_any_bytes_give_a_list(data, offset, section, size, order):
    found = read_list(data, offset, section=section, context=context(size=size, order=order))
    assert found.error is None or isinstance(found.error, DwarfGpuError)
    assert all(0 <= entry.start <= entry.end <= 1 << 64 for entry in found.entries)
    assert found.end <= max(len(data), offset)


@given(st.binary(max_size=80), st.integers(-4, 90), st.sampled_from((0, 1, 7, 0xFFFFFFFF)))
def test_any_bytes_give_a_table_of_lists(data, base, index):
    for table in list_tables(data, section=".debug_rnglists"):
        assert isinstance(table, MalformedFile) or table.header.end <= len(data)
    try:
        place = list_table(data, base, section=".debug_rnglists")[index]
    except DwarfGpuError:
        return
    assert 0 <= place < len(data)
