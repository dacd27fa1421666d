"""The producer's indices: ``.debug_names`` and ``.debug_aranges`` (DWARF 5, 6.1; A.6.1.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.encoding.cursor import encode_unsigned
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.dwarf import Dwarf
from dwarfgpu.objfile.indexes import debug_names as names_module
from dwarfgpu.objfile.indexes.address_index import AddressSet, read_sets
from dwarfgpu.objfile.indexes.debug_names import hash_of, read_tables
from dwarfgpu.objfile.section_source import SectionSource
from tests.builders.dwarf import FORM_CODES, DictSections, build, die, entry, unit
from tests.builders.errors import raised
from tests.builders.indexes import Names, aranges, number
from tests.builders.parameters import for_each

SUBPROGRAM, VARIABLE, TYPE = 0x2E, 0x34, 0x24
PLAIN = {1: (SUBPROGRAM, (3, "ref4")), 2: (VARIABLE, (1, "data1"), (3, "ref4"))}


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("hashed", [True, False])
def test_names_are_found(order, size, hashed):
    """A.6.1.1.4.1: the augmentation string is that of the header, here in the recommended form."""
    rows = {f"name{i}": [(1, [0x10 + i])] for i in range(40)} | {"both": [(1, [7]), (2, [0, 9])], "größe": [(1, [5])]}
    table = Names(PLAIN, rows, order=order, size=size, hashed=hashed).table()

    for i in range(40):
        (entry,) = table.find(f"name{i}".encode())
        assert (entry.tag, entry.die_offset, entry.unit) == (SUBPROGRAM, 0x10 + i, 0)
    assert [(entry.tag, entry.die_offset) for entry in table.find(b"both")] == [(SUBPROGRAM, 7), (VARIABLE, 9)]
    assert [entry.die_offset for entry in table.find("größe".encode())] == [5]
    assert table.find(b"missing") == table.find(b"ame3") == table.find(b"") == []
    assert sorted(table.names()) == sorted(name.encode() for name in rows)
    assert len(table) == 42
    assert table.augmentation == "[abc:v1.2]"


def test_the_hash_folds_the_case():
    """DWARF 5, 7.33: names that differ in case alone have one hash."""
    assert hash_of(b"Main") == hash_of(b"main") == 2090499946
    table = Names(PLAIN, {"Main": [(1, [1])], "main": [(1, [2])], "MAIN": [(1, [3])]}).table()

    assert [table.find(name)[0].die_offset for name in (b"Main", b"main", b"MAIN")] == [1, 2, 3]


def test_the_only_unit_need_not_be_named():
    several = Names({1: (TYPE, (3, "ref4"))}, {"x": [(1, [4])]}, units=(0, 99)).table()

    assert Names(PLAIN, {"f": [(1, [4])]}, units=(77,)).table().find(b"f")[0].unit == 77
    assert several.find(b"x")[0].unit is None


def test_type_units_of_the_file_and_of_others():
    shape = {1: (TYPE, (2, "data1"), (3, "ref4")), 2: (TYPE, (1, "data1"), (2, "data1"), (3, "ref4"))}
    names = {"mine": [(1, [0, 4])], "foreign": [(2, [1, 1, 5])]}
    table = Names(shape, names, units=(0, 50), types=(100,), foreign=(0xABCDEF,)).table()

    (mine,) = table.find(b"mine")
    (foreign,) = table.find(b"foreign")

    assert (mine.unit, mine.signature) == (100, None)
    assert (foreign.unit, foreign.signature) == (50, 0xABCDEF)


def test_parents_and_gnu_attributes():
    shape = {
        1: (0x39, (3, "ref4"), (4, "flag_present"), (0x2001, "flag_present")),
        2: (SUBPROGRAM, (3, "ref4"), (4, "ref4"), (0x2000, "flag_present")),
    }
    table = Names(shape, {"f": [(2, [8, 0, 1])], "ns": [(1, [4, 1, 1])]}, hashed=False).table()
    (space,) = table.find(b"ns")
    (function,) = table.find(b"f")

    assert space.parent is None
    assert table.entry_at(function.parent) == function  # offset 0 of the pool is that entry itself
    with pytest.raises(MalformedFile, match="no entry"):
        table.entry_at(3)


@for_each(
    "names, abbreviations, kind",
    ({"f": [(1, [4, 9])]}, {1: (SUBPROGRAM, (1, "data1"), (3, "data1"))}, "index_out_of_range"),
    ({"f": [(1, [4, 9])]}, {1: (SUBPROGRAM, (2, "data1"), (3, "data1"))}, "index_out_of_range"),
)
def test_entries_that_lead_nowhere(names, abbreviations, kind):
    caught = raised(MalformedFile, Names(abbreviations, names).table().find, b"f")
    assert caught.kind == kind
    assert caught.where.section == ".debug_names"


@pytest.mark.parametrize("attribute", [1, 2, 3, 4, 0x2000])
@pytest.mark.parametrize("form", ["block1", "string", "exprloc", "indirect"])
def test_the_attributes_of_an_entry_are_numbers(attribute, form):
    names = Names({1: (SUBPROGRAM, (attribute, "data4"))}, {"f": [(1, [0])]})
    declared = bytes([1, SUBPROGRAM]) + encode_unsigned(attribute)
    names.data = names.data.replace(declared + b"\x06", declared + bytes([FORM_CODES[form]]))
    if form == "indirect":  # to a string
        names.data = names.data[:-5] + b"\x08abc\0"

    assert raised(MalformedFile, names.table().find, b"f").kind == "bad_form"


@pytest.mark.parametrize("attribute", [1, 2])
def test_there_is_no_unit_before_the_first(attribute):
    names = Names({1: (SUBPROGRAM, (attribute, "data1"))}, {"f": [(1, [0x7F])]}, units=(0, 1), types=(2, 3))
    names.data = names.data.replace(bytes([1, SUBPROGRAM, attribute, 0x0B]), bytes([1, SUBPROGRAM, attribute, 0x0D]))

    with pytest.raises(MalformedFile) as error:  # -1 as DW_FORM_sdata
        names.table().find(b"f")
    assert error.value.kind == "index_out_of_range"


def test_names_that_share_their_entries_are_limited():
    names = Names(PLAIN, {"f": [(1, [7])] * 40, **{f"other{i}": [] for i in range(40)}}, hashed=False).table()
    names.string_offsets = [names.string_offsets[list(names.names()).index(b"f")]] * 41
    names._entries = [names._entries[0]] * 41

    with pytest.raises(MalformedFile, match="share") as error:
        names.find(b"f")
    assert error.value.kind == "limit_exceeded"


@given(st.data())
def test_any_change_of_an_index_gives_results_or_errors(data):
    built = Names(PLAIN, {f"n{i}": [(1, [i]), (2, [0, i])] for i in range(6)})
    changed = bytearray(built.data)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(changed)))
    changed = bytes(changed if data.draw(st.booleans()) else changed[:size])
    source = SectionSource(DictSections({".debug_names": changed, ".debug_str": bytes(built.strings)}))

    for table in read_tables(source):
        if isinstance(table, DwarfGpuError):
            continue
        try:
            table.find(b"n3")
            list(table.names())
            table.entry_at(100)
        except DwarfGpuError:
            continue


def test_too_many_entries_are_refused(monkeypatch):
    monkeypatch.setattr(names_module, "MAX_ENTRIES", 3)
    with pytest.raises(MalformedFile, match="more than 3"):
        Names(PLAIN, {"f": [(1, [i]) for i in range(5)]}).table().find(b"f")


def test_an_index_of_the_producer_is_used_first():
    """What it lists is found without looking at the units; what it leaves out still is."""
    tree = die(
        "compile_unit",
        die("subprogram", ("name", "strp", "f"), ("low_pc", "addr", 16), label="f"),
        die("variable", ("name", "strp", "lost")),
        die("subprogram", ("name", "strp", "g"), ("inline", "data1", 1), label="g"),
        die(
            "subprogram",
            ("name", "strp", "h"),
            die("inlined_subroutine", ("abstract_origin", "ref4", "g"), label="call"),
        ),
    )
    built = build(unit(tree))
    shape = {**PLAIN, 3: (0x1D, (3, "ref4"))}
    names = Names(shape, {"f": [(1, [built.labels["f"][2]])], "g": [(3, [built.labels["call"][2]])]})
    start = len(built.sections[".debug_str"])
    data = bytearray(names.data)
    place = data.index(b"[abc:v1.2]\0\0") + 12 + 4 + 4 * 1 + 4 * 2
    for i in range(2):  # the strings follow those of the unit
        at = place + 4 * i
        data[at : at + 4] = number(int.from_bytes(data[at : at + 4], "little") + start, 4)
    sections = {
        **built.sections,
        ".debug_names": bytes(data),
        ".debug_str": built.sections[".debug_str"] + names.strings,
    }
    found = Dwarf(DictSections(sections))

    assert [(entry.kind, entry.name) for entry in found.index.find("f")] == [("function", "f")]
    assert [entry.die.tag_name for entry in found.index.find("g")] == ["DW_TAG_subprogram"]
    assert [entry.kind for entry in found.index.find("lost")] == ["variable"]
    assert found.problems == []


def test_a_broken_index_is_a_problem_and_hides_nothing():
    built = build(unit(die("compile_unit", entry("subprogram", "f", label="f"))))
    for broken in (
        b"\x05",
        b"\xff\xff\xff\x00" + bytes(40),
        Names(PLAIN, {"f": [(1, [3])]}).data,
        number(2, 4) + b"\x09\0",
    ):
        found = Dwarf(DictSections({**built.sections, ".debug_names": broken, ".debug_str": b"\0f\0"}))

        assert [entry.name for entry in found.index.find("f")] == ["f"]
        assert found.problems != []


@for_each("change", {4: b"\x09"}, {12 + 4 * 3: b"\xff" * 4}, {12 + 4 * 5: b"\xff" * 4}, {12: b"\xff" * 4})
def test_a_broken_index_does_not_hide_the_next(change):
    good = Names(PLAIN, {"f": [(1, [7])]})
    broken = bytearray(good.data)
    for place, data in change.items():
        broken[place : place + len(data)] = data
    sections = {".debug_names": bytes(broken) + good.data, ".debug_str": bytes(good.strings)}
    first, second = read_tables(SectionSource(DictSections(sections)))

    assert isinstance(first, DwarfGpuError)
    assert [entry.die_offset for entry in second.find(b"f")] == [7]


def test_a_broken_entry_hides_no_other_name():
    table = Names({**PLAIN, 3: (TYPE, (1, "data1"))}, {"f": [(3, [9])], "g": [(1, [7])]}).table()

    with pytest.raises(MalformedFile):
        table.find(b"f")
    assert [entry.die_offset for entry in table.find(b"g")] == [7]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("offset_size", [4, 8])
@pytest.mark.parametrize("address_size, segment_size", [(8, 0), (4, 0), (2, 0), (8, 8), (4, 2)])
def test_address_sets(order, offset_size, address_size, segment_size):
    options = {"order": order, "offset_size": offset_size, "address_size": address_size, "segment_size": segment_size}
    data = aranges((0x10, 0x10), (0x40, 4), unit=7, **options) + aranges((0x80, 1), unit=9, **options)

    first, second = read_sets(data, order)
    assert (first.unit, list(first.ranges())) == (7, [(0x10, 0x20), (0x40, 0x44)])
    assert (second.unit, list(second.ranges())) == (9, [(0x80, 0x81)])
    assert [first.covers(address) for address in (0xF, 0x10, 0x1F, 0x20, 0)] == [False, True, True, False, False]


@pytest.mark.parametrize("broken", [aranges((1, 1), version=3), aranges((1, 1), address_size=4)[:4] + b"\xff" * 20])
def test_a_broken_set_does_not_hide_the_others(broken):
    broken = number(len(broken) - 4, 4) + broken[4:]
    found = list(read_sets(broken + aranges((0x10, 4), unit=3), "little"))

    assert isinstance(found[0], DwarfGpuError)
    assert list(found[1].ranges()) == [(0x10, 0x14)]


@given(st.binary(max_size=80))
def test_any_bytes_are_sets_or_errors(data):
    for each in read_sets(data, "little"):
        assert isinstance(each, DwarfGpuError | AddressSet)


def test_address_sets_lead_to_the_unit():
    def function(i):
        return entry("subprogram", f"f{i}", low_pc=0x1000 * (i + 1), high_pc=16)

    built = build(*[unit(die("compile_unit", function(i))) for i in range(3)])
    second = len(built.sections[".debug_info"]) // 3
    data = aranges((0x2000, 16), unit=second) + aranges((0x5000, 16), unit=1) + aranges((0x1000, 16), unit=second)
    found = Dwarf(DictSections({**built.sections, ".debug_aranges": data}))

    assert [each.name for each in found.index.functions_at(0x2004)] == ["f1"]
    assert found.index.unit_at(0x2004).offset == second
    assert found.units[0]._data is None  # it was not looked at
    assert [each.name for each in found.index.functions_at(0x1004)] == ["f0"]  # the set is wrong
    assert [each.name for each in found.index.functions_at(0x3004)] == ["f2"]  # no set has it
    assert found.index.functions_at(0x5004) == []
    assert [problem.kind for problem in found.problems] == ["bad_reference"]
    for _ in range(8):  # asked often, the sets are sorted
        assert [each.name for each in found.index.functions_at(0x2004)] == ["f1"]
        assert found.index.functions_at(0x5004) == []
