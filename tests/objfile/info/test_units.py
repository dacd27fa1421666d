"""Units: headers, bases, strings and addresses by index, type units, split units (DWARF 5, 3.1, 7.3 and 7.5.1)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext, Unsupported
from dwarfgpu.objfile import section_source as source_module
from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.info.forms import LOOKED_UP
from dwarfgpu.objfile.info.split import package_parts
from dwarfgpu.objfile.info.unit import read_headers
from dwarfgpu.objfile.section_source import SectionSource
from tests.builders.dwarf import DictSections, build, die, dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.lists import RLE
from tests.builders.parameters import every, for_each

FORMATS = [
    {"version": version, "offset_size": offset_size, "address_size": address_size}
    for version, offset_size, address_size in itertools.product((2, 3, 4, 5, 6), (4, 8), (4, 8))
]
ORDERS = ["little", "big"]
STRINGS = ("str_offsets_base", "sec_offset", "strings")
ADDRESSES = ("addr_base", "sec_offset", "addresses")


def number(value, size, order="little"):
    return value.to_bytes(size, order)


@every(order=ORDERS, format=FORMATS)
def test_every_version_and_format(format, order):
    tree = die(
        "compile_unit",
        ("name", "strp", "main.c"),
        ("low_pc", "addr", 0x1000),
        entry("base_type", "int", label="int"),
        die("variable", ("type", "ref4", "int"), ("specification", "ref_addr", "int")),
    )
    found = dwarf(unit(tree, **format), unit(entry("compile_unit", "other"), **format), byte_order=order)
    first, second = found.units
    assert (first.version, first.offset_size, first.address_size) == tuple(format.values())
    assert first.name == "main.c"
    assert (second.name, second.offset) == ("other", first.header.end)
    assert first.low_pc == 0x1000
    variable = list(first.root.children())[1]
    assert variable.type().name == "int"
    assert variable.get("DW_AT_specification").reference() == variable.type()
    assert found.problems == []


@every(version=[5, 6], kind=["compile", "type", "partial", "skeleton", "split_compile", "split_type", "0x80"])
def test_unit_types(kind, version):
    tree = die("type_unit", entry("structure_type", "S", label="S"))
    found = dwarf(
        unit(tree, kind, version=version, signature=0x1122334455667788, type_label="S", dwo_id=0xABCDEF0123456789)
    )
    (header,) = [each.header for each in found.units]
    types = kind in ("type", "split_type")
    assert (header.is_type_unit, header.signature) == (types, 0x1122334455667788 if types else None)
    assert header.dwo_id == (0xABCDEF0123456789 if kind in ("skeleton", "split_compile") else None)
    if types:
        assert found.units[0].die_at(header.type_offset).name == "S"


def test_a_type_unit_of_version_4_is_in_its_own_section():
    tree = die("type_unit", entry("structure_type", "S", label="S"))
    user = die("compile_unit", die("variable", ("type", "ref_sig8", 77)))
    found = dwarf(
        unit(user, version=4), unit(tree, "type", version=4, section=".debug_types", signature=77, type_label="S")
    )
    assert [each.section for each in found.units] == [".debug_info", ".debug_types"]
    (variable,) = found.units[0].root.children()
    assert variable.type().name == "S"
    assert variable.type().unit is found.type_unit(77)


def test_a_missing_type_unit_is_missing_context():
    (variable,) = dwarf(unit(die("compile_unit", die("variable", ("type", "ref_sig8", 77))))).units[0].root.children()
    assert "0x000000000000004d" in str(raised(MissingContext, variable.type))


@for_each("data, kind",
    ("ffffffff", "truncated"),  ("ffffffffffffffffffffffff", "truncated"),              ("f0ffffff", "bad_length"),
    ("20000000", "truncated"),  ("0000000001", "truncated"),
    ("03000000050001", "truncated"),                        ("0700000004000000000008", None),
    ("0700000004000000000003", "bad_address_size"),         ("0700000001000000000008", "bad_version"),
    ("07000000ffff0000000008", "bad_version"),              ("080000000500070800000000", "bad_unit_type"),
    ("080000000500000800000000", "bad_unit_type"),          ("0b000000050004080000000000000000"[:30], "truncated"),
)  # fmt: skip
def test_broken_headers(data, kind):
    found = list(read_headers(bytes.fromhex(data), ".debug_info", "little"))
    if kind is None:
        assert found[0].end == 11
    else:
        (error,) = found
        assert isinstance(error, MalformedFile | Unsupported)
        assert error.kind == kind
        assert error.where.section == ".debug_info"


def test_a_broken_unit_does_not_hide_the_others():
    """Version 9 is not known, but where the next unit begins is."""
    built = build(*(unit(entry("compile_unit", name)) for name in "abc"))
    data = bytearray(built.sections[".debug_info"])
    second = 4 + data[0]
    data[second + 4] = 9
    found = Dwarf(DictSections({**built.sections, ".debug_info": bytes(data)}))
    assert [each.name for each in found.units] == ["a", "c"]
    (problem,) = found.problems
    assert problem.kind == "bad_version"
    assert problem.where.offset == second


def test_padding_behind_the_last_unit_is_no_problem():
    built = build(unit(die("compile_unit")))
    found = Dwarf(DictSections({**built.sections, ".debug_info": built.sections[".debug_info"] + bytes(7)}))
    assert len(found.units) == 1
    assert found.problems == []


def test_a_broken_section_is_a_problem_and_hides_nothing_else():
    error = MalformedFile("truncated", "the compressed data ends early")
    found = Dwarf(DictSections({".debug_types": error, **build(unit(die("compile_unit"))).sections}))
    assert len(found.units) == 1
    assert found.problems == [error]


def test_absent_sections_are_empty():
    found = Dwarf(DictSections({}))
    assert found.units == found.split_units == ()
    assert found.problems == []
    assert found.index.find("x") == []
    assert found.index.functions_at(0) == []


@given(st.binary(max_size=120), st.sampled_from([".debug_info", ".debug_types"]), st.sampled_from(ORDERS))
def test_any_bytes_are_headers_or_errors(data, section, order):
    for header in read_headers(data, section, order):
        assert isinstance(header, DwarfGpuError) or header.offset < header.end <= len(data)


def test_each_section_is_asked_for_once_and_only_when_needed():
    sections = DictSections(build(unit(die("compile_unit", ("name", "strp", "a")))).sections)
    found = Dwarf(sections)
    assert sections.asked == []
    assert [each.name for each in found.units * 2] == ["a", "a"]
    assert sorted(sections.asked) == [".debug_abbrev", ".debug_info", ".debug_str", ".debug_types"]


def test_dropped_caches_are_read_again():
    built = build(unit(die("compile_unit", ("name", "strp", "a"), entry("variable", "v"))))
    sections = DictSections(built.sections)
    found = Dwarf(sections)
    assert [entry.name for entry in found.index.find("v")] == ["v"]
    before = len(sections.asked)
    found.drop_caches()
    assert [entry.name for entry in found.index.find("v")] == ["v"]
    assert found.units[0].name == "a"
    assert len(sections.asked) > before


def test_a_unit_without_entries_has_no_unit_entry():
    found = dwarf(unit(None), unit(None, trailing=b"\0"), unit(entry("compile_unit", "c")))
    for each in found.units[:2]:
        assert list(each.dies()) == []
        with pytest.raises(MalformedFile, match="no entries"):
            each.root  # noqa: B018
    assert found.units[2].name == "c"
    assert [entry.name for entry in found.index.find("c")] == []


def test_much_data_is_released_in_time(monkeypatch):
    monkeypatch.setattr("dwarfgpu.objfile.info.debug_file.LOADED", 1 << 7)
    found = dwarf(*(unit(entry("compile_unit", "n" * 40)) for _ in range(6)))
    for each in found.units:
        assert len(list(each.dies())) == 1
    assert sum(each._data is not None for each in found.units) <= 3
    assert [len(each.name) for each in found.units] == [40] * 6


@every(order=ORDERS, offset_size=[4, 8], version=[5, 6])
def test_strings_by_index(version, offset_size, order):
    forms = ["strx", "strx1", "strx2", "strx3", "strx4", "strp", "line_strp", "string"]
    names = [die("variable", ("name", form, f"by {form}")) for form in forms]
    trees = [
        unit(
            die("compile_unit", STRINGS, ("name", "strx1", f"unit {i}"), *names),
            version=version,
            offset_size=offset_size,
        )
        for i in range(2)
    ]
    for i, found in enumerate(dwarf(*trees, byte_order=order).units):
        assert found.name == f"unit {i}"
        assert [each.name for each in found.root.children()] == [f"by {form}" for form in forms]
        assert [row for _, depth, _, row in found.decoded() if depth] == [(f"by {form}",) for form in forms]
        assert len(found.tables.string_offsets) == 6


@every(order=ORDERS, address_size=[4, 8])
def test_addresses_by_index(address_size, order):
    forms = ["addrx", "addrx1", "addrx2", "addrx3", "addrx4", "addr"]
    labels = [die("label", ("low_pc", form, 0x1000 + i)) for i, form in enumerate(forms)]
    labels.append(die("label", ("low_pc", "LLVM_addrx_offset", (0x1002, 0x20))))
    tree = die("compile_unit", ADDRESSES, *labels)
    found = dwarf(unit(tree), unit(tree, address_size=address_size), byte_order=order).units[1]
    values = [each.get("DW_AT_low_pc").address() for each in found.root.children()]
    assert values == [0x1000, 0x1001, 0x1002, 0x1003, 0x1004, 0x1005, 0x1022]
    assert [row for _, depth, _, row in found.decoded() if depth] == [(value,) for value in values]


@for_each("attributes, ask, kind",
    ([("name", "strx#", 0)], "DW_AT_name", "str_offsets_base"),
    ([("low_pc", "addrx#", 0)], "DW_AT_low_pc", "addr_base"),
    ([("str_offsets_base", "sec_offset", 8), ("name", "strx#", 7)], "DW_AT_name", "index_out_of_range"),
    ([("str_offsets_base", "sec_offset", 3), ("name", "strx#", 0)], "DW_AT_name", "bad_base"),
    ([("str_offsets_base", "sec_offset", 900), ("name", "strx#", 0)], "DW_AT_name", "bad_base"),
    ([("addr_base", "sec_offset", 8), ("low_pc", "addrx#", 1 << 40)], "DW_AT_low_pc", "index_out_of_range"),
    ([("addr_base", "sec_offset", 7), ("low_pc", "addrx#", 0)], "DW_AT_low_pc", "bad_base"),
    ([("name", "strp", 1 << 20)], "DW_AT_name", "bad_string"),
    ([("name", "line_strp", 1 << 20)], "DW_AT_name", "bad_string"),
    ([("name", "strp_sup", 1)], "DW_AT_name", "supplementary_file"),
    ([("type", "GNU_ref_alt", 1)], "DW_AT_type", "supplementary_file"),
    ([("ranges", "rnglistx", 0)], "DW_AT_ranges", "rnglists_base"),
    ([("rnglists_base", "sec_offset", 12), ("ranges", "rnglistx", 9)], "DW_AT_ranges", "index_out_of_range"),
    ([("name", "data1", 3)], "DW_AT_name", "bad_form"),
    ([("low_pc", "data4", 3)], "DW_AT_low_pc", "bad_form"))  # fmt: skip
def test_indices_and_offsets_that_lead_nowhere(attributes, ask, kind):
    good = die("compile_unit", STRINGS, ADDRESSES, ("name", "strx", "x"), ("low_pc", "addrx", 4))
    lists = bytes.fromhex("10000000 0500 08 00 01000000 04000000 00 00000000")
    found = dwarf(unit(good), unit(die("compile_unit", *attributes)), extra={".debug_rnglists": lists})
    attribute = found.units[1].root.get(ask)
    meaning = {"DW_AT_low_pc": attribute.address, "DW_AT_name": attribute.text}.get(ask, attribute.resolved)
    caught = raised((MalformedFile, MissingContext), meaning)
    assert caught.kind == kind
    assert caught.where.section is not None or kind == "supplementary_file"
    if attribute.form in LOOKED_UP:
        assert str(raised((MalformedFile, MissingContext), list, found.units[1].decoded())) == str(caught)


def test_strings_that_overlap_are_not_all_remembered(monkeypatch):
    monkeypatch.setattr(source_module, "MAX_TEXTS", 1000)
    source = SectionSource(DictSections({".debug_str": b"x" * 300 + b"\0"}))
    for offset in range(300):
        assert source.text(".debug_str", offset) == "x" * (300 - offset)
        assert sum(map(len, source._texts[".debug_str"].values())) <= 2000


def test_a_string_without_an_end():
    built = build(unit(die("compile_unit", ("name", "strp", 1))))
    found = Dwarf(DictSections({**built.sections, ".debug_str": b"abc"}))
    with pytest.raises(MalformedFile, match="no string"):
        found.units[0].name  # noqa: B018


def test_text_that_is_no_utf8_can_be_printed():
    found = dwarf(unit(entry("compile_unit", b"a\xff\xc3\xa9")))
    assert found.units[0].name == "a\\xffé"


def test_the_supplementary_file():
    common = build(unit(die("partial_unit", die("base_type", ("name", "strp", "int"), label="int"))))
    at = common.section_offset("int")
    tree = die(
        "compile_unit",
        ("name", "GNU_strp_alt", common.sections[".debug_str"].index(b"int")),
        die("variable", ("type", "GNU_ref_alt", at)),
        die("variable", ("type", "ref_sup4", at), ("name", "strp_sup", common.sections[".debug_str"].index(b"int"))),
    )
    found = dwarf(unit(tree), supplementary=DictSections(common.sections)).units[0]
    assert found.name == "int"
    assert [each.type().name for each in found.root.children()] == ["int", "int"]


def ranges(*entries, order="little", size=8):
    from tests.builders.lists import _entries

    return _entries(RLE, entries, size, order)


def table(header_size, content, order="little", offset_size=4):
    body = number(5, 2, order) + bytes([8, 0]) + content
    return (number(len(body), 4, order) if offset_size == 4 else b"\xff" * 4 + number(len(body), 8, order)) + body


@pytest.mark.parametrize("offset_size", [4, 8])
def test_ranges_by_index_and_by_offset(offset_size):
    lists = ranges(("offset_pair", 0x10, 0x20), ("startx_length", 0, 8), "end_of_list")
    section = table(0, number(1, 4) + number(offset_size, offset_size) + lists, offset_size=offset_size)
    base = 12 if offset_size == 4 else 20
    tree = die(
        "compile_unit",
        ADDRESSES,
        ("low_pc", "addr", 0x1000),
        ("rnglists_base", "sec_offset", base),
        ("ranges", "rnglistx", 0),
        die("subprogram", ("ranges", "sec_offset", base + offset_size), ("low_pc", "addrx", 0x5000)),
    )
    found = dwarf(unit(tree, offset_size=offset_size), extra={".debug_rnglists": section}).units[0]
    expected = [(0x1010, 0x1020), (0x5000, 0x5008)]
    assert found.root.ranges() == expected
    assert next(found.root.children()).ranges() == expected


@for_each("attributes, expected",
    ([("low_pc", "addr", 16), ("high_pc", "addr", 32)], [(16, 32)]),
    ([("low_pc", "addr", 16), ("high_pc", "data4", 32)], [(16, 48)]),
    ([("low_pc", "addr", 16), ("high_pc", "udata", 32)], [(16, 48)]),
    ([("low_pc", "addr", 16), ("high_pc", "data4", 0)], []),  ([("low_pc", "addr", 16), ("high_pc", "addr", 8)], []),
    ([("low_pc", "addr", 16)], []),                           ([("high_pc", "data4", 16)], []),
    ([("low_pc", "addr", (1 << 64) - 1), ("high_pc", "data4", 4)], []),
    ([("low_pc", "addr", (1 << 64) - 2), ("high_pc", "data4", 4)], []),
    ([], []))  # fmt: skip
def test_low_and_high_pc(attributes, expected):
    found = dwarf(unit(die("compile_unit", die("subprogram", *attributes)))).units[0]
    assert next(found.root.children()).ranges() == expected


def test_ranges_before_version_5():
    pairs = b"".join(number(n, 8) for n in (0x10, 0x20, 0, 0))
    tree = die("compile_unit", ("low_pc", "addr", 0x1000), die("subprogram", ("ranges", "data4", 0)))
    found = dwarf(unit(tree, version=3), extra={".debug_ranges": pairs}).units[0]
    assert next(found.root.children()).ranges() == [(0x1010, 0x1020)]


SKELETON_5 = entry(
    "skeleton_unit",             None,                        ADDRESSES,
    die("label", ("low_pc", "addrx", 0x4444)),
    dwo_name="a.dwo",
    comp_dir="/src",
    low_pc=0x1000)  # fmt: skip
SPLIT_5 = die(
    "compile_unit",
    ("name", "strx", "a.c"),
    die("subprogram", ("name", "strx", "f"), ("low_pc", "addrx#", 0), ("high_pc", "data1", 4)),
    die("variable", ("name", "strp", "v"), ("type", "ref_sig8", 5)))  # fmt: skip
SPLIT_TYPE_5 = die("type_unit", die("base_type", ("name", "strx", "int"), label="int"))
SKELETON_4 = entry(
    "compile_unit",              None,                        ("GNU_dwo_name", "string", "a.dwo"),
    ("GNU_dwo_id", "data8", 42), ("GNU_ranges_base", "sec_offset", 16),
    ("GNU_addr_base", "sec_offset", 0),                       die("label", ("low_pc", "GNU_addr_index", 0x4444)),
    comp_dir="/src",
    low_pc=0x1000)  # fmt: skip
SPLIT_4 = die(
    "compile_unit",              ("name", "GNU_str_index", "a.c"),                         ("GNU_dwo_id", "data8", 42),
    die("subprogram", ("name", "GNU_str_index", "f"), ("low_pc", "GNU_addr_index#", 0), ("ranges", "sec_offset", 0)),
    die("variable", ("name", "GNU_str_index", "v"), ("type", "ref_sig8", 5)))  # fmt: skip


def split_sections(version, order="little"):
    if version == 5:
        trees = [
            unit(SPLIT_5, "split_compile", dwo_id=42, section=".debug_info.dwo"),
            unit(SPLIT_TYPE_5, "split_type", signature=5, type_label="int", section=".debug_info.dwo"),
        ]
    else:
        trees = [
            unit(SPLIT_4, version=4, section=".debug_info.dwo"),
            unit(
                die("type_unit", die("base_type", ("name", "GNU_str_index", "int"), label="int")),
                "type", version=4, signature=5, type_label="int", section=".debug_types.dwo")]  # fmt: skip
    return build(*trees, suffix=".dwo", byte_order=order).sections


def skeleton_sections(version, order="little"):
    if version == 5:
        return build(unit(SKELETON_5, "skeleton", dwo_id=42), byte_order=order).sections
    extra = {".debug_ranges": bytes(16) + b"".join(number(n, 8, order) for n in (0x10, 0x20, 0, 0))}
    return build(unit(SKELETON_4, version=4), byte_order=order, extra=extra).sections


def check_split(found, version, place):
    (skeleton,) = found.units
    assert skeleton.is_skeleton
    split = found.split_unit(skeleton)
    assert split is found.split_unit(skeleton)
    assert split.skeleton is skeleton
    assert split.is_split
    assert split.dwo_id == skeleton.dwo_id == 42
    assert (split.name, split.directory, skeleton.split_name) == ("a.c", "/src", "a.dwo")
    function, variable = split.root.children()
    assert function.name == "f"
    assert function.get("DW_AT_low_pc").address() == 0x4444
    assert function.ranges() == ([(0x4444, 0x4448)] if version == 5 else [(0x1010, 0x1020)])
    assert variable.type().name == "int"
    assert variable.type().unit.dwarf is split.dwarf
    assert place in (split.dwarf.name, "")
    assert [entry.die for entry in found.index.find("f")] == [function]
    assert [entry.kind for entry in found.index.find("int")] == ["type"]
    assert found.index.functions_at(0x4445 if version == 5 else 0x1011) == [function]


@pytest.mark.parametrize("version", [4, 5])
def test_split_units_in_the_same_file(version):
    check_split(Dwarf(DictSections({**skeleton_sections(version), **split_sections(version)})), version, "test")


@every(order=ORDERS, version=[4, 5])
def test_split_units_in_their_own_file(version, order):
    asked = []

    def open_split(wanted):
        asked.append(wanted)
        return DictSections(split_sections(version, order), byte_order=order, name="a.dwo")

    sections = DictSections(skeleton_sections(version, order), byte_order=order)
    check_split(Dwarf(sections, open_split=open_split), version, "a.dwo")
    (wanted,) = asked
    assert (wanted.name, wanted.directory, wanted.dwo_id) == ("a.dwo", "/src", 42)


def package(version, order="little"):
    """A package of two files: the parts of the first push those of the second to other offsets."""
    sections = split_sections(version, order)
    form, unit_id = ("GNU_str_index", [("GNU_dwo_id", "data8", 9)]) if version == 4 else ("strx", [])
    tree = die("compile_unit", ("name", form, "decoy"), *unit_id)
    kind = "split_compile" if version == 5 else "compile"
    decoy = build(
        unit(tree, kind, version=version, dwo_id=9, section=".debug_info.dwo"), suffix=".dwo", byte_order=order
    ).sections
    merged = {name: decoy.get(name, b"") + data for name, data in sections.items()}
    start = len(decoy[".debug_str_offsets.dwo"]) + (8 if version == 5 else 0)
    table = bytearray(merged[".debug_str_offsets.dwo"])
    for i in range(start, len(table), 4):
        table[i : i + 4] = number(int.from_bytes(table[i : i + 4], order) + len(decoy[".debug_str.dwo"]), 4, order)
    merged[".debug_str_offsets.dwo"] = bytes(table)
    return merged, decoy, sections


def index_section(version, ids, columns, rows, order="little"):
    """A package index. ``rows`` has for each id the (offset, size) of each column."""
    slots = 4
    out = number(version, 4, order) if version == 2 else number(5, 2, order) + b"\0\0"
    out += b"".join(number(n, 4, order) for n in (len(columns), len(rows), slots))
    table = [(0, 0)] * slots
    for row, unit_id in enumerate(ids, 1):
        slot, step = unit_id & 3, (unit_id >> 32) & 3 | 1
        while table[slot][1]:
            slot = (slot + step) & 3
        table[slot] = (unit_id, row)
    out += b"".join(number(unit_id, 8, order) for unit_id, _ in table)
    out += b"".join(number(row, 4, order) for _, row in table)
    out += b"".join(number(column, 4, order) for column in columns)
    for part in range(2):
        out += b"".join(number(pair[part], 4, order) for row in rows for pair in row)
    return out


@every(order=ORDERS, version=[4, 5])
def test_split_units_in_a_package(version, order):
    merged, decoy, sections = package(version, order)
    names = {1: ".debug_info.dwo", 3: ".debug_abbrev.dwo", 6: ".debug_str_offsets.dwo"}
    first = {c: (0, len(decoy[name])) for c, name in names.items()}
    second = {c: (len(decoy[name]), len(sections[name])) for c, name in names.items()}
    size = next(read_headers(sections[".debug_info.dwo"], ".debug_info.dwo", order)).end
    info, rest = second[1]
    second[1] = (info, size)
    if version == 5:
        third = {**second, 1: (info + size, rest - size)}
    else:
        third = {**second, 2: (0, len(sections[".debug_types.dwo"]))}
        del third[1]
    number_of_index = 5 if version == 5 else 2
    cu = index_section(number_of_index, [9, 42], [1, 3, 6], [list(first.values()), list(second.values())], order)
    columns = sorted(third)
    tu = index_section(number_of_index, [5], columns, [[third[column] for column in columns]], order)
    merged |= {".debug_cu_index": cu, ".debug_tu_index": tu}
    sections = DictSections(skeleton_sections(version, order), byte_order=order)
    check_split(Dwarf(sections, package=DictSections(merged, byte_order=order, name="a.dwp")), version, "a.dwp")


@for_each("change, kind",
    (lambda data: data[:10], "bad_package_index"),
    (lambda data: number(9, 4) + data[4:], "bad_version"),
    (lambda data: data[:4] + number(1 << 30, 4) + data[8:], "bad_package_index"),
    (lambda data: data[:8] + number(1 << 30, 4) + data[12:], "bad_package_index"),
    (lambda data: data[:12] + number(3, 4) + data[16:], "bad_package_index"),
    (lambda data: data[:-1], "bad_package_index"))  # fmt: skip
def test_broken_package_indices(change, kind):
    good = index_section(5, [9, 42], [1, 3], [[(0, 5), (0, 6)], [(5, 7), (6, 8)]])
    assert package_parts(good, "little", "x") == {
        0: {".debug_info": (0, 5), ".debug_abbrev": (0, 6)},
        5: {".debug_info": (5, 7), ".debug_abbrev": (6, 8)},
    }
    assert raised(DwarfGpuError, package_parts, change(good), "little", ".debug_cu_index").kind == kind


def test_a_missing_split_file_is_missing_context():
    found = Dwarf(DictSections(skeleton_sections(5)), open_split=lambda _: None)
    with pytest.raises(MissingContext, match=r"a\.dwo, which cannot be opened") as caught:
        found.split_unit(found.units[0])
    assert "/src" in caught.value.hint
    assert found.index.find("f") == []
    assert [problem.kind for problem in found.problems] == ["split_file"]


def test_a_split_file_of_another_build_is_refused():
    other = build(unit(SPLIT_5, "split_compile", dwo_id=43, section=".debug_info.dwo"), suffix=".dwo").sections
    found = Dwarf(DictSections(skeleton_sections(5)), open_split=lambda _: DictSections(other, name="a.dwo"))
    assert "no unit with the id 0x2a" in str(raised(MissingContext, found.split_unit, found.units[0]))


def test_a_split_unit_alone_has_no_addresses():
    found = Dwarf(DictSections(split_sections(5), name="a.dwo"))
    function = next(found.split_units[0].root.children())
    assert function.name == "f"
    assert "skeleton" in str(raised(MissingContext, function.ranges))
    assert [entry.name for entry in found.index.find("f")] == ["f"]


def test_a_skeleton_that_is_found_later_brings_its_addresses():
    """Until then that there are none is remembered: a list may ask with each of its entries."""
    found = Dwarf(DictSections({**skeleton_sections(5), **split_sections(5)}))
    function = next(found.split_units[0].root.children())
    errors = set()
    for _ in range(2):
        error = raised(MissingContext, function.ranges)
        assert "skeleton" in str(error)
        errors.add(error)
    found.split_unit(found.units[0])
    assert len(errors) == 1
    assert function.ranges() == [(0x4444, 0x4448)]
