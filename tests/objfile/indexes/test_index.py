"""Look-up by name and by address: every way to an answer gives the same answer."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.encoding import encode_unsigned
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile import list_encoding
from dwarfgpu.objfile.indexes import debug_names as names_module
from dwarfgpu.objfile.indexes import lookup as index_module
from dwarfgpu.objfile.indexes import name_search
from dwarfgpu.objfile.indexes.address_index import AddressSet, read_sets
from dwarfgpu.objfile.indexes.debug_names import hash_of, read_tables
from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.indexes.name_index import KINDS, is_static, kind_of
from dwarfgpu.objfile.info import scopes as scopes_module
from dwarfgpu.objfile.info.scopes import in_scopes, qualified_name, split_name
from dwarfgpu.objfile.section_source import SectionSource
from tests.builders.dwarf import FORM_CODES, DictSections, build, die, dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.indexes import Names, aranges, number
from tests.builders.lists import rnglist, table_of_lists
from tests.builders.parameters import every, for_each
from tests.builders.sources import compile_source, opened

STRINGS = ("str_offsets_base", "sec_offset", "strings")
ADDRESSES = ("addr_base", "sec_offset", "addresses")
ADDRESS = b"\x03" + (0x2000).to_bytes(8, "little")


def function(name, low, size, *parts, **options):
    return die(
        "subprogram", ("name", "string", name), ("low_pc", "addr", low), ("high_pc", "data4", size), *parts, **options
    )


def only(*parts, **options):
    return dwarf(unit(die("compile_unit", *parts), **options))


def found(dwarf, name, kinds=KINDS):
    return [(hit.kind, hit.qualified_name) for hit in dwarf.index.find(name, kinds)]


@for_each("tree, kind",
    (function("x", 16, 4), "function"),   (entry("subprogram", "x", inline=1), "function"),
    (entry("subprogram", "x"), "function"),                  (entry("subprogram", "x", declaration=True), None),
    (entry("subprogram", "x", ("declaration", "flag", 1)), None),
    (entry("subprogram", "x", ("declaration", "flag", 0)), "function"),
    (entry("inlined_subroutine", "x"), None),                (entry("variable", "x"), "variable"),
    (entry("variable", "x", location=b""), "variable"),      (entry("variable", "x", location=ADDRESS), "variable"),
    (entry("variable", "x", ("location", "sec_offset", 0)), "variable"),
    (entry("variable", "x", const_value=3), "variable"),     (entry("variable", "x", location=b"\x50"), None),
    (entry("variable", "x", declaration=True), None),        (entry("formal_parameter", "x"), None),
    (entry("member", "x"), None),         (entry("base_type", "x"), "type"),
    (entry("structure_type", "x", declaration=True), None),
    (entry("enumeration_type", "x", entry("enumerator", "y")), "type"),         (entry("typedef", "x"), "type"),
    (die("array_type", ("name", "string", "x"), children=True), "type"),
    (entry("namespace", "x"), "namespace"),                  (entry("label", "x", low_pc=3), "label"),
    (entry("label", "x"), None),          (entry("imported_declaration", "x"), None))  # fmt: skip
def test_what_can_be_found_by_name(tree, kind):
    for way in ("search", "index"):
        one = only(("name", "string", "x"), tree, entry("namespace", "other"))
        if way == "index":
            one.index.build()
        expected = [] if kind is None else [(kind, "x")]
        assert found(one, "x") == expected
        assert found(one, "x", ("type",)) == (expected if kind == "type" else [])
        assert found(one, "y") == []


@pytest.mark.spec("A.6.1.1.1", 1)
@for_each("location, static",
    (ADDRESS, True),
    (b"\xa1\x00", True),  # DW_OP_addrx
    (b"\xfb\x00", True),  # DW_OP_GNU_addr_index
    (b"\xa1\x00\x33\x16\x18", True),  # DW_OP_addrx; lit3; swap; xderef
    (b"\x0e" + bytes(8) + b"\xe0", True),  # DW_OP_const8u; GNU_push_tls_address
    (b"\x0c\0\0\0\0\x9b", True),  # DW_OP_const4u; form_tls_address
    (b"\x30\x33\xe9\x02", True),  # DW_OP_lit0; lit3; LLVM_form_aspace_address
    (b"\x11\x05\x31\x16\x18\x9f", False),  # DW_OP_consts; ...; stack_value: a value, no place
    (b"\x91\x70", False),  # DW_OP_fbreg
    (b"\x91\x70\x35\xe9\x02", False),
    (b"\x50", False),
    (b"", False))  # fmt: skip
def test_a_local_variable_is_an_entry_if_it_is_static(location, static):
    assert is_static(location) == static
    one = only(entry("subprogram", "f", die("lexical_block", entry("variable", "x", location=location))))
    assert found(one, "x") == ([("variable", "x")] if static else [])


def test_a_local_variable_without_location_is_no_entry():
    one = only(entry("subprogram", "f", entry("variable", "x")))
    one.index.build()
    assert found(one, "x") == []
    assert one.index.names() == ["f"]


@for_each("text, parts",
    ("f", ("f",)),              ("::f", ("", "f")),         ("a::b::c", ("a", "b", "c")),
    ("Box<a::b>::get", ("Box<a::b>", "get")),               ("a::operator<", ("a", "operator<")),
    ("a::operator<<", ("a", "operator<<")),                 ("operator a::b", ("operator a::b",)),
    ("a::operator()", ("a", "operator()")),                 ("a::operators::b", ("a", "operators", "b")),
    ("my_operator::b", ("my_operator", "b")),               ("f(a::b)::x", ("f(a::b)", "x")),
    ("(anonymous namespace)::f", ("(anonymous namespace)", "f")),                       ("a::", ("a", "")),
    ("", ("",)),                ("S<(a::b)1>::x", ("S<(a::b)1>", "x")))  # fmt: skip
def test_names_are_split_at_their_scopes(text, parts):
    assert split_name(text) == parts


@for_each("parts, scopes, meant",
    ((), [("a", False)], True),                   (("a",), [("a", False)], True),
    (("b",), [("a", False), ("b", False)], True), (("a",), [("a", False), ("b", False)], False),
    (("a",), [("a", False), ("b", True)], True),  (("a", "b"), [("a", False), ("b", True)], True),
    (("", "a"), [("a", False)], True),            (("", "b"), [("a", False), ("b", False)], False),
    (("", "b"), [("a", True), ("b", False)], True),                      (("",), [], True),
    (("",), [("a", False)], False),               (("",), [("a", True)], True),                 (("a",), [], False),
)  # fmt: skip
def test_scopes_may_be_left_out(parts, scopes, meant):
    assert in_scopes(parts, scopes) == meant


def test_qualified_names():
    one = only(
        entry(
            "namespace",
            "ns",
            entry(
                "structure_type",
                "S",
                entry("subprogram", "f", label="f", declaration=True),
                entry("variable", "s", label="s", declaration=True),
                entry("enumeration_type", "E", entry("enumerator", "one")),
            ),
            die("namespace", entry("variable", "hidden")),
            entry("namespace", "v1", function("versioned", 8, 4), export_symbols=True),
        ),
        entry("subprogram", None, entry("structure_type", "Local"), specification="f", low_pc=16, high_pc=4),
        entry("variable", specification="s", location=ADDRESS),
        entry("variable", "f", linkage_name="_Z1f"),
    )

    assert found(one, "f") == [("function", "ns::S::f"), ("variable", "f")]
    assert found(one, "S::f") == found(one, "ns::S::f") == found(one, "::ns::S::f") == [("function", "ns::S::f")]
    assert found(one, "::f") == [("variable", "f")]
    assert found(one, "ns::f") == found(one, "T::f") == []
    assert found(one, "S::s") == [("variable", "ns::S::s")]
    assert found(one, "ns::hidden") == [("variable", "ns::(anonymous namespace)::hidden")]
    assert found(one, "ns::versioned") == found(one, "ns::v1::versioned") == [("function", "ns::v1::versioned")]
    assert found(one, "(anonymous namespace)") == [("namespace", "ns::(anonymous namespace)")]
    assert found(one, "Local") == [("type", "Local")]
    assert found(one, "ns::S::E") == [("type", "ns::S::E")]
    assert found(one, "_Z1f") == [("variable", "f")]
    enumerator = next(each for each in one.units[0].dies() if each.tag_name == "DW_TAG_enumerator")
    assert qualified_name(enumerator) == "ns::S::E::one"


def test_a_name_in_very_many_scopes_is_refused(monkeypatch):
    """Or each of the entries of a deep file would have a name as long as it is deep."""
    monkeypatch.setattr(scopes_module, "MAX_SCOPES", 20)
    tree = entry("namespace", "a")
    for _ in range(59):
        tree = entry("namespace", "a", tree)
    one = only(tree)
    dies = [each for each in one.units[0].dies() if each.tag_name == "DW_TAG_namespace"]
    assert qualified_name(dies[20]) == "::".join(["a"] * 21)
    for deep in (dies[59], dies[21], dies[40]):
        assert raised(MalformedFile, qualified_name, deep).kind == "limit_exceeded"
    assert len(one.index.find("a::a::a")) == 19
    assert qualified_name(dies[3]) == "a::a::a::a"


def test_concrete_functions_stand_for_their_abstract_instance():
    """DW_AT_abstract_origin: the instance with code is what a name means; without one, the abstract instance is."""
    one = only(
        entry("subprogram", "f", label="f", inline=1),
        entry("subprogram", abstract_origin="f", low_pc=16, high_pc=4),
        entry("subprogram", "g", label="g", inline=1),
        function("main", 32, 8, die("inlined_subroutine", ("abstract_origin", "ref4", "g"))),
    )
    (hit,) = one.index.find("f")
    assert hit.die.ranges() == [(16, 20)]
    (hit,) = one.index.find("g")
    assert hit.die.get("DW_AT_inline").value == 1


def plain(dwarf):
    """What every name means, found by asking every each."""
    answer = {}
    for part in dwarf.index.units:
        for each in part.dies():
            kind = kind_of(each)
            if kind is not None:
                names = {each.name or "(anonymous namespace)" * (kind == "namespace"), each.linkage_name}
                for name in names - {None, ""}:
                    answer.setdefault(name, []).append(each)
    return answer


def answers(dwarf, names, kinds=KINDS):
    return {name: [(each.die.unit.offset, each.die.offset) for each in dwarf.index.find(name, kinds)] for name in names}


def check_all_ways(open_it):
    """Compare searching, indices, and asking every entry; for names that are there and some that are not."""
    expected = plain(open_it())
    names = [*expected, "nothing", "n", "", "int\0", "ns"]
    wanted = {name: {(each.unit.offset, each.offset) for each in expected.get(name, ())} for name in names}

    def check(answer):
        for name in names:
            mine = set(answer[name])
            assert mine <= wanted[name], name
            missing = wanted[name] - mine
            abstract = {each for each in expected.get(name, ()) if "DW_AT_inline" in each}
            assert missing <= {(each.unit.offset, each.offset) for each in abstract}, name

    cold = {name: answers(open_it(), [name])[name] for name in names}
    check(cold)
    built = open_it()
    built.index.build()
    assert answers(built, names) == cold
    warm = open_it()
    for kinds in (KINDS, KINDS[::-1]):  # searched often, a unit gets an index on the way
        assert answers(warm, names, kinds) == cold
    assert {name for name in built.index.names() if cold.get(name)} == {name for name in expected if cold[name]}
    assert built.problems == warm.problems == []


def random_units(seed, version=5, offset_size=4):
    rng = random.Random(seed)
    pool = ["f", "g", "value", "lue", "e", "int", "operator<<", "_ZN1a1fEv"]
    forms = ["strp", "string", "line_strp"] + (["strx", "strx1", "strx2", "strx3", "strx4"] if version >= 5 else [])
    references = ["ref1", "ref2", "ref4", "ref8", "ref_udata"] if seed % 3 else ["ref4", "ref_addr"]
    trees, labels = [], []
    for u in range(rng.randrange(1, 4)):
        parts = [STRINGS] if version >= 5 else []
        for i in range(rng.randrange(4, 30)):
            name = ("name", rng.choice(forms), rng.choice(pool))
            label = f"{u}.{i}"
            mine = [each for each in labels if each.startswith(f"{u}.")]
            kind = rng.randrange(7)
            if kind == 0:
                parts.append(die("subprogram", name, ("declaration", "flag_present"), label=label))
            elif kind == 1 and mine:
                form = rng.choice(references)
                target = rng.choice(labels if form == "ref_addr" else mine)
                what = rng.choice(["specification", "abstract_origin"])
                parts.append(die(rng.choice(["subprogram", "variable"]), (what, form, target), label=label))
            elif kind == 2:
                inner = die("variable", name, ("location", "exprloc", rng.choice([ADDRESS, b"\x91\x10", b""])))
                parts.append(entry("subprogram", rng.choice(pool), inner, label=label))
            elif kind == 3:
                parts.append(die("namespace", name, die("structure_type", name, label=label)))
            elif kind == 4:
                parts.append(die("variable", name, ("linkage_name", "string", rng.choice(pool)), label=label))
            else:
                parts.append(die(rng.choice(["subprogram", "variable", "member"]), name, label=label))
            if kind not in (1, 3) or (kind == 1 and mine):
                labels.append(label)
        trees.append(unit(die("compile_unit", *parts), version=version, offset_size=offset_size))
    return trees


def test_what_was_found_is_kept(monkeypatch):
    monkeypatch.setattr(index_module, "KEPT_NAMES", 2)
    one = only(entry("variable", "x", location=ADDRESS), entry("namespace", "other"))
    (first,) = one.index.find("x")
    assert one.index.find("x")[0] is first
    one.index.find("x").clear()  # a list of one's own
    assert one.index.find("x") == [first]
    assert one.index.find("x", ("type",)) == []
    assert found(one, "other") == [("namespace", "other")]  # no room for a third
    assert one.index.find("x")[0] is not first
    one.drop_caches()
    assert found(one, "x") == [("variable", "x")]


@every(order=["little", "big"], seed=range(14))
def test_searching_and_indices_agree(seed, order):
    version, offset_size = [(5, 4), (5, 8), (4, 4), (3, 8)][seed % 4]
    built = build(*random_units(seed, version, offset_size), byte_order=order)
    check_all_ways(lambda: Dwarf(DictSections(built.sections, byte_order=order)))


def test_only_functions_and_data_can_be_completed():
    """A function cannot complete a type; searching and indices agree on that, too."""
    tree = die(
        "compile_unit", entry("structure_type", "S", label="S"), die("subprogram", ("specification", "ref4", "S"))
    )
    one = dwarf(unit(tree))
    assert found(one, "S") == [("type", "S")]
    one.index.build()
    assert found(one, "S") == [("type", "S")]


def test_a_declaration_that_nothing_completes_is_not_read(monkeypatch):
    declared = die("subprogram", ("name", "strp", "puts"), ("declaration", "flag_present"), label="puts")
    assert found(only(declared, die("subprogram", ("specification", "ref4", "puts"))), "puts")
    monkeypatch.setattr(name_search, "_entry_around", None)
    assert found(only(declared), "puts") == []


@every(name=["strp", "strx4", "string"], reference=["ref4", "ref8"])
def test_names_are_searched_for_behind_codes_of_two_bytes(name, reference):
    shapes = [die("base_type", *[("rank", form, 1) for form in each]) for each in product(("data1", "udata"), repeat=7)]
    declared = ("name", name, "f"), ("declaration", "flag_present")
    parts = (die("subprogram", ("external", "flag_present"), *declared, label="f"),
             die("subprogram", ("byte_size", "data8", 0), ("specification", reference, "f")),
             die("subprogram", declared[0], ("byte_size", "udata", 300)))  # fmt: skip
    check_all_ways(lambda: dwarf(unit(die("compile_unit", STRINGS, *shapes, *parts))))


def test_a_very_long_name_is_found():
    name = "name" * 20_000
    one = only(function(f"other{name}", 16, 4), function(name, 32, 4), function(name[:-1] + "E", 48, 4))
    assert found(one, name) == [("function", name)]
    assert found(one, name + "x") == []


@pytest.mark.parametrize("offset", [1 << 40, 1 << 63, (1 << 64) - 1])
def test_a_unit_whose_abbreviations_are_nowhere_hides_no_other(offset):
    built = build(*[unit(die("compile_unit", function(name, 16, 4)), offset_size=8) for name in "fg"])
    data = bytearray(built.sections[".debug_info"])
    data[16:24] = offset.to_bytes(8, "little")
    one = Dwarf(DictSections({**built.sections, ".debug_info": bytes(data)}))
    assert found(one, "g") == [("function", "g")]
    assert found(one, "f") == []
    assert {error.kind for error in one.problems} == {"bad_offset"}


def test_many_hits_are_looked_at_one_after_the_other(monkeypatch):
    monkeypatch.setattr(name_search, "MAX_HITS", 2)
    monkeypatch.setattr(name_search, "MAX_COPIES", 1)
    monkeypatch.setattr(index_module, "SEARCHES", 1)
    built = build(*random_units(5))
    check_all_ways(lambda: Dwarf(DictSections(built.sections)))


@pytest.mark.slow
@for_each("compilers, options, language",
    (("g++",), ["-gdwarf-5"], "cpp"),
    (("g++",), ["-gdwarf-4", "-O2", "-fdebug-types-section"], "cpp"),
    (("clang++-22", "clang++"), ["-gdwarf-5", "-O2"], "cpp"),
    (("clang++-22", "clang++"), ["-gdwarf-4"], "cpp"),
    (("clang++-22", "clang++"), ["-gdwarf-5", "-gsplit-dwarf"], "cpp"),
    (("gcc",), ["-gdwarf-2"], "c"),
    (("clang-22", "clang"), ["-gdwarf-5"], "cl"))  # fmt: skip
def test_all_ways_agree_on_what_compilers_write(compilers, options, language, tmp_path, require_tool):
    path = compile_source(tmp_path, require_tool(*compilers), ["-g", *options], language)
    check_all_ways(lambda: opened(path))


@pytest.mark.slow
def test_the_index_of_clang_is_part_of_ours(tmp_path, require_tool):
    """.debug_names lists what our own index lists; what is only in ours was optimized out or is abstract."""
    compiler = require_tool("clang++-22", "clang++")
    plain_path = compile_source(tmp_path, compiler, ["-g", "-gdwarf-5", "-O1"], "cpp", "plain")
    listed = opened(compile_source(tmp_path, compiler, ["-g", "-gdwarf-5", "-O1", "-gpubnames"], "cpp", "plain"))
    (table,) = listed.index.tables
    own = opened(plain_path)
    own.index._tables = []
    for name in {name.decode() for name in table.names()}:
        mine = {(entry.kind, entry.die.offset) for entry in own.index.find(name)}
        theirs = {(entry.kind, entry.die.offset) for entry in listed.index.find(name)}
        assert theirs
        assert all(
            name in (each.name, each.die.linkage_name, "(anonymous namespace)") for each in listed.index.find(name)
        )
        assert theirs <= mine, name
        for _, offset in mine - theirs:
            extra = own.units[0].die_at(offset)
            assert "DW_AT_location" not in extra, name
            assert extra.ranges() == [], name


def loaded(dwarf):
    return [i for i, each in enumerate(dwarf.units) if each._data is not None]


def test_a_name_reads_only_the_units_that_have_it():
    trees = [unit(entry("compile_unit", f"u{i}", function(f"f{i}", 0x1000 * i + 16, 4))) for i in range(5)]
    one = dwarf(*trees)
    assert found(one, "f3") == [("function", "f3")]
    assert loaded(one) == [3]
    assert found(one, "f9") == []
    assert loaded(one) == [3]


def test_an_address_reads_unit_entries_and_one_unit():
    trees = [
        unit(
            entry(
                "compile_unit",
                None, function(f"f{i}", 0x1000 * i + 16, 4), function("g", 0x1000 * i + 32, 4), low_pc=0x1000 * i,
                high_pc=0x100,
            )
        )
        for i in range(1, 6)
    ]  # fmt: skip
    one = dwarf(*trees)
    assert [each.name for each in one.index.functions_at(0x3012)] == ["f3"]
    assert list(one.index._addresses) == [one.units[2]]
    assert [each.name for each in one.index.functions_at(0x3023)] == ["g"]
    assert one.index.functions_at(0x3014) == []
    assert one.index.unit_at(0x30FF) is one.units[2]
    assert one.index.unit_at(0x3100) is None


def test_many_questions_about_addresses_have_the_answers_of_the_first_ones(monkeypatch):
    trees = [
        unit(entry("compile_unit", low_pc=low, high_pc=size))
        for low, size in ((0x3000, 0x100), (0x1000, 0x3000), (0x2000, 0x20), (0x2010, 0), (0x9000, 1))
    ]
    first, often = dwarf(*trees), dwarf(*trees)
    monkeypatch.setattr(index_module, "SEARCHES", 1000)
    expected = [[unit.offset for unit in first.index._units_at(at)] for at in range(0xFF0, 0x9010, 8)]
    monkeypatch.setattr(index_module, "SEARCHES", 0)
    assert [[unit.offset for unit in often.index._units_at(at)] for at in range(0xFF0, 0x9010, 8)] == expected
    assert {len(units) for units in expected} == {0, 1, 2}


def test_nested_and_overlapping_functions():
    one = only(
        function("outer", 0x100, 0x100, function("nested", 0x140, 0x10)),
        function("long", 0x180, 0x200),
        function("last", 0x300, 8),
        entry("subprogram", "dead", low_pc=(1 << 64) - 1, high_pc=64),
    )

    def at(address):
        return [each.name for each in one.index.functions_at(address)]

    assert at(0x100) == ["outer"]
    assert at(0x145) == ["outer", "nested"]
    assert at(0x150) == ["outer"]
    assert at(0x190) == ["outer", "long"]
    assert at(0x200) == ["long"]
    assert at(0x304) == ["long", "last"]
    assert at(0x308) == ["long"]
    assert at(0x37F) == ["long"]
    assert at(0x380) == at(0xFF) == at(10) == at((1 << 64) - 1) == []
    assert one.index.spans_of(one.units[0])[0] == (0x100, 0x200)


@for_each("high",
    ("high_pc", "data4", 8),              ("high_pc", "addr", 0x2008),          ("high_pc", "addrx", 0x2008),
    ("high_pc", "sdata", 8),              ("high_pc", "implicit_const", 8))  # fmt: skip
@for_each("low", ("low_pc", "addr", 0x2000), ("low_pc", "addrx", 0x2000), ("low_pc", "indirect/addr", 0x2000))
def test_every_way_to_write_an_address(low, high):
    one = only(ADDRESSES, entry("subprogram", "f", low, high))
    assert [each.name for each in one.index.functions_at(0x2007)] == ["f"]
    assert one.index.functions_at(0x2008) == []


def test_functions_with_ranges():
    import struct

    pairs = struct.pack("<6Q", 0x10, 0x20, 0x40, 0x50, 0, 0)
    tree = die("compile_unit", ("low_pc", "addr", 0x1000), entry("subprogram", "f", ("ranges", "sec_offset", 0)))
    one = dwarf(unit(tree, version=4), extra={".debug_ranges": pairs})
    assert [bool(one.index.functions_at(0x1000 + at)) for at in (0xF, 0x10, 0x1F, 0x20, 0x40, 0x4F, 0x50)] == [
        False, True, True, False, True, True, False]  # fmt: skip


def test_one_broken_function_does_not_hide_the_others():
    one = only(
        entry("subprogram", "bad", ("ranges", "rnglistx", 5)),
        entry("subprogram", "worse", ("low_pc", "addrx#", 99), high_pc=4),
        entry("subprogram", "odd", ("low_pc", "string", "x"), high_pc=b"y"),
        die("subprogram", ("name", "data1", 3), ("low_pc", "addr", 0x900), ("high_pc", "data1", 4)),
        entry("subprogram", None, ("specification", "ref4", 3), low_pc=0xA00, high_pc=4),
        function("good", 0x100, 4),
    )
    one.index.build()
    assert [each.name for each in one.index.functions_at(0x101)] == ["good"]
    assert found(one, "good") == [("function", "good")]
    assert found(one, "worse") == [("function", "worse")]
    assert len(one.problems) >= 4


def test_one_broken_unit_does_not_hide_the_others():
    built = build(
        *(unit(die("compile_unit", function(f"f{i}", 0x100 * (i + 1), 16), ("name", "string", "u"))) for i in range(3))
    )
    data = bytearray(built.sections[".debug_info"])
    second = len(data) // 3
    assert data[second + 12 + 1 : second + 12 + 4] == b"u\0\2"
    data[second + 12 + 3] = 0x7E  # an abbreviation that does not exist
    one = Dwarf(DictSections({**built.sections, ".debug_info": bytes(data)}))
    one.index.build()
    assert [found(one, f"f{i}") for i in range(3)] == [[("function", "f0")], [], [("function", "f2")]]
    assert [each.name for each in one.index.functions_at(0x308)] == ["f2"]
    assert one.problems
    with pytest.raises(MalformedFile):
        list(one.units[1].dies())


def test_functions_that_share_a_list_of_ranges_are_limited(monkeypatch):
    """A hundred functions with a list of a hundred ranges are ten thousand ranges."""
    monkeypatch.setattr(scopes_module, "MIN_RANGES", 500)
    lists = table_of_lists(rnglist(*(("start_length", 0x1000 * i, 8) for i in range(1, 101)), "end_of_list"))
    functions = [entry("subprogram", "f", ("ranges", "sec_offset", 16)) for _ in range(100)]
    one = dwarf(unit(die("compile_unit", *functions)), extra={".debug_rnglists": lists})
    assert len(one.index.functions_at(0x1004)) == 7  # as many ranges as the unit has bytes
    assert [error.kind for error in one.problems] == ["limit_exceeded"]
    assert next(one.units[0].root.children()).ranges()[0] == (0x1000, 0x1008)


@pytest.mark.parametrize("end", [0x1008, 0xFF0])
def test_entries_that_share_a_list_of_ranges_read_it_once(monkeypatch, end):
    """Also where it is broken."""
    asked = []
    read = list_encoding.read_list
    monkeypatch.setattr(list_encoding, "read_list", lambda *a, **k: asked.append(a[1]) or read(*a, **k))
    lists = table_of_lists(rnglist(("start_end", 0x1000, end), "end_of_list"))
    functions = [die("subprogram", ("ranges", "sec_offset", 16)) for _ in range(10)]
    one = dwarf(unit(die("compile_unit", *functions)), extra={".debug_rnglists": lists})
    assert len(one.index.functions_at(0x1004)) == (10 if end > 0x1000 else 0)
    assert asked == [16]


def test_units_that_share_a_list_of_ranges_are_limited(monkeypatch):
    monkeypatch.setattr(scopes_module, "MIN_RANGES", 1050)
    lists = table_of_lists(rnglist(*(("start_length", 0x1000 * i, 8) for i in range(1, 101)), "end_of_list"))
    low = ("low_pc", "addr", 0)
    trees = [unit(die("compile_unit", low, ("ranges", "sec_offset", 16), children=True)) for _ in range(40)]
    one = dwarf(*trees, extra={".debug_rnglists": lists})
    assert one.index.unit_at(0x1004) is one.units[0]
    assert one.index.unit_at(0x999) is None
    assert [bool(one.index.spans_of(each)) for each in one.units] == [True] * 5 + [False] * 35
    assert [error.kind for error in one.problems] == ["limit_exceeded"]


def test_lists_of_ranges_that_overlap_are_limited(monkeypatch):
    """Without an end, each reaches over all that follow it; that they give no ranges does not matter."""
    monkeypatch.setattr(scopes_module, "MIN_RANGES", 50)
    lists = table_of_lists(rnglist(*[("base_address", 0)] * 100, ("start_length", 0x1000, 8), "end_of_list"))
    functions = [die("subprogram", ("ranges", "sec_offset", 16 + 9 * i)) for i in range(100)]
    one = dwarf(unit(die("compile_unit", *functions)), extra={".debug_rnglists": lists})
    assert len(one.index.functions_at(0x1004)) == 4
    assert [error.kind for error in one.problems] == ["limit_exceeded"]


def test_functions_and_names_before_a_broken_entry_are_found():
    """And what is broken is met once, however much is asked."""
    built = build(unit(die("compile_unit", function("f", 16, 4), function("g", 32, 4))))
    data = bytearray(built.sections[".debug_info"])
    data[data.index(b"g\0") - 1] = 0x7E
    one = Dwarf(DictSections({**built.sections, ".debug_info": bytes(data)}))
    one.index.build()
    for _ in range(3):
        assert [each.name for each in one.index.functions_at(17)] == ["f"]
        assert one.index.functions_at(33) == []
        assert (found(one, "f"), found(one, "g")) == ([("function", "f")], [])
    assert {error.kind for error in one.problems} == {"unknown_abbreviation"}
    assert len(one.problems) <= 3


def variable(name, address, kind, suffix=b""):
    place = b"\x03" + address.to_bytes(8, "little") + suffix
    return entry("variable", name, ("type", "ref4", kind), location=place)


def test_variables_by_address():
    one = only(
        entry("base_type", "int", label="int", byte_size=4),
        die("array_type", ("type", "ref4", "typedef"), die("subrange_type", ("upper_bound", "data1", 2)),
            die("subrange_type", ("count", "data1", 2)), label="array"),
        entry("typedef", "t", label="typedef", type="const"),
        die("const_type", ("type", "ref4", "int"), label="const"),
        die("pointer_type", label="pointer"),
        die("array_type", ("type", "ref4", "int"), die("subrange_type"), label="open"),
        variable("one", 0x100, "int"),
        variable("table", 0x104, "array"),
        variable("same", 0x104, "int"),
        variable("pointer", 0x200, "pointer"),
        variable("open", 0x300, "open"),
        variable("shared", 0x400, "int", b"\x31\x16\x18"),
        entry("variable", "register", location=b"\x50"),
        entry("variable", "list", ("location", "sec_offset", 0)),
        entry("variable", "bad", location=b"\x03\x01"),
        entry("variable", "cyclic", type="cycle", location=ADDRESS),
        die("typedef", ("type", "ref4", "cycle"), label="cycle"))  # fmt: skip

    def at(address, *suffixes):
        return [each.name for each in one.index.variables_at(address, (b"", *suffixes))]

    assert at(0x100) == at(0x103) == ["one"]
    assert at(0x104) == ["table", "same"]
    assert at(0x104 + 23) == ["table"]
    assert at(0x104 + 24) == at(0xFF) == []
    assert at(0x207) == ["pointer"]
    assert at(0x300) == ["open"]
    assert at(0x301) == []
    assert at(0x402) == []
    assert at(0x402, b"\x31\x16\x18") == ["shared"]
    assert at(0x2000) == ["cyclic"]
    assert at(0x2001) == []


def test_a_broken_type_hides_no_other_variable():
    one = only(
        entry("base_type", "int", label="int", byte_size=4),
        variable("good", 0x100, "int"),
        variable("broken", 0x100, 0xFFFF),
    )
    assert [each.name for each in one.index.variables_at(0x102)] == ["good"]
    assert [error.kind for error in one.problems] == ["bad_reference"]


def test_names_with_a_prefix():
    one = only(function("alpha", 16, 4), die("variable", ("name", "strp", "alphabet")), entry("base_type", "beta"))
    assert one.index.names() == ["alpha", "alphabet", "beta"]
    assert one.index.names("alpha") == ["alpha", "alphabet"]
    assert one.index.names("alpha", ("function",)) == ["alpha"]
    assert one.index.names("z") == []


def test_dropped_indices_are_made_again():
    one = only(function("f", 16, 4), variable("v", 0x100, 0))
    one.index.build()
    one.drop_caches()
    assert one.index._names == {}
    assert found(one, "f") == [("function", "f")]
    assert [each.name for each in one.index.functions_at(17)] == ["f"]


# --- The producer's indices: ``.debug_names`` and ``.debug_aranges`` (DWARF 5, 6.1; A.6.1.1) ----------------------


SUBPROGRAM, VARIABLE, TYPE = 0x2E, 0x34, 0x24
PLAIN = {1: (SUBPROGRAM, (3, "ref4")), 2: (VARIABLE, (1, "data1"), (3, "ref4"))}


@every(order=["little", "big"], size=[4, 8], hashed=[True, False])
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
    assert "no entry" in str(raised(MalformedFile, table.entry_at, 3))


@for_each("names, abbreviations, kind",
    ({"f": [(1, [4, 9])]}, {1: (SUBPROGRAM, (1, "data1"), (3, "data1"))}, "index_out_of_range"),
    ({"f": [(1, [4, 9])]}, {1: (SUBPROGRAM, (2, "data1"), (3, "data1"))}, "index_out_of_range"))  # fmt: skip
def test_entries_that_lead_nowhere(names, abbreviations, kind):
    caught = raised(MalformedFile, Names(abbreviations, names).table().find, b"f")
    assert caught.kind == kind
    assert caught.where.section == ".debug_names"


@every(attribute=[1, 2, 3, 4, 0x2000], form=["block1", "string", "exprloc", "indirect"])
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
    assert raised(MalformedFile, names.table().find, b"f").kind == "index_out_of_range"


def test_names_that_share_their_entries_are_limited():
    names = Names(PLAIN, {"f": [(1, [7])] * 40, **{f"other{i}": [] for i in range(40)}}, hashed=False).table()
    names.string_offsets = [names.string_offsets[list(names.names()).index(b"f")]] * 41
    names._entries = [names._entries[0]] * 41
    error = raised(MalformedFile, names.find, b"f")
    assert "share" in str(error)
    assert error.kind == "limit_exceeded"


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
        die("subprogram", ("name", "strp", "h"), die("inlined_subroutine", ("abstract_origin", "ref4", "g"),
            label="call")))  # fmt: skip
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
    raised(MalformedFile, table.find, b"f")
    assert [entry.die_offset for entry in table.find(b"g")] == [7]


@every(order=["little", "big"], offset_size=[4, 8])
@pytest.mark.parametrize("address_size, segment_size", [(8, 0), (4, 0), (2, 0), (8, 8), (4, 2)])
def test_address_sets(order, offset_size, address_size, segment_size):
    options = {"order": order, "offset_size": offset_size, "address_size": address_size, "segment_size": segment_size}
    data = aranges((0x10, 0x10), (0x40, 4), unit=7, **options) + aranges((0x80, 1), unit=9, **options)
    first, second = read_sets(data, order)
    assert (first.unit, list(first.ranges())) == (7, [(0x10, 0x20), (0x40, 0x44)])
    assert (second.unit, list(second.ranges())) == (9, [(0x80, 0x81)])


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
