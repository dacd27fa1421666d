"""Entries: attributes, references, children, parents (DWARF 5, chapter 2)."""

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.indexes.address_index import size_of_type
from dwarfgpu.objfile.indexes.lookup import Dwarf
from tests.builders.dwarf import DictSections, build, die, dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each, some_slow


def only(*parts, **options):
    """The attributes and children of a unit entry as the reader sees them."""
    return dwarf(unit(die("compile_unit", *parts), **options)).units[0]


def test_an_entry_has_tag_and_attributes_in_order():
    found = only(("name", "string", "a"), ("language", "data1", 29), (0x3000, "udata", 5)).root
    assert (found.tag, found.tag_name) == (0x11, "DW_TAG_compile_unit")
    assert [(each.name, each.form_name, each.value) for each in found.attributes] == [
        ("DW_AT_name", "DW_FORM_string", b"a"),
        ("DW_AT_language", "DW_FORM_data1", 29),
        ("DW_AT_unknown_0x3000", "DW_FORM_udata", 5),
    ]
    assert [each.number for each in found.attributes] == [0x03, 0x13, 0x3000]
    assert "DW_AT_name" in found
    assert "DW_AT_type" not in found
    assert found.get("DW_AT_type") is None
    assert found.number(0x13).value == 29


PARTS = [
    ("name", "string", "a"),              ("external", "flag_present", True),   ("decl_line", "implicit_const", -7),
    ("language", "data1", 29),            ("prototyped", "flag_present", True), ("decl_file", "implicit_const", 3),
    ("byte_size", "udata", 500)]  # fmt: skip


@pytest.mark.parametrize("parts", [*permutations(PARTS[:4]), PARTS, PARTS[::-1], PARTS[1:3], PARTS[1:2], PARTS[:1], []])
def test_all_attributes_are_those_that_are_asked_for_one_by_one(parts):
    found = only(*parts).root
    assert len(found.attributes) == len(parts)
    for index, attribute in enumerate(found.attributes):
        one = found._attribute(index)
        assert (attribute.number, attribute.form, attribute.value) == (one.number, one.form, one.value)
        assert (attribute.die, attribute.index) == (found, index)
    texts = [
        attribute.text() if attribute.value_class == "string" else attribute.value for attribute in found.attributes
    ]
    assert list(found.unit.decoded()) == [(found.offset, 0, found.abbreviation, tuple(texts))]


@for_each("form, value, decoded",
    ("indirect/strp", "a", "a"),          ("indirect/data2", 500, 500),         ("line_strp", "b", "b"),
    ("exprloc", b"\x30", b"\x30"),        ("flag", 0, 0),                       ("ref4", "self", 12))  # fmt: skip
def test_decoded_values(form, value, decoded):
    tree = die("compile_unit", ("decl_line", "implicit_const", 3), ("name", form, value), label="self")
    assert [row for _, _, _, row in dwarf(unit(tree)).units[0].decoded()] == [(3, decoded)]


def test_unknown_tags_have_a_name_too():
    assert only(die(0x4090)).root.children().__next__().tag_name == "DW_TAG_unknown_0x4090"


def test_of_two_equal_attributes_the_first_counts():
    found = only(("name", "string", "a"), ("name", "string", "b")).root
    assert found.name == "a"
    assert len(found.attributes) == 2


@for_each("form, value, unsigned, signed",
    ("data1", 0xFF, 0xFF, -1),  ("data2", 0x8000, 0x8000, -0x8000),                     ("data4", 5, 5, 5),
    ("data8", (1 << 64) - 2, (1 << 64) - 2, -2),            ("data16", (1 << 128) - 2, (1 << 128) - 2, -2),
    ("udata", (1 << 64) - 2, (1 << 64) - 2, (1 << 64) - 2), ("sdata", -2, None, -2),    ("sdata", 2, 2, 2),
    ("implicit_const", -2, None, -2),                       ("indirect/data1", 0xFF, 0xFF, -1),
    ("indirect/sdata", -1, None, -1))  # fmt: skip
def test_the_sign_of_a_constant_depends_on_the_context(form, value, unsigned, signed):
    """DWARF 5, 7.5.5: the sign of data1 to data16 is known from the context alone."""
    attribute = only(("const_value", form, value)).root.get("DW_AT_const_value")
    assert attribute.signed() == signed
    if unsigned is None:
        assert "negative" in str(raised(MalformedFile, attribute.unsigned))
    else:
        assert attribute.unsigned() == unsigned


@every(order=["little", "big"], form=["exprloc", "block", "block1", "block2", "block4", "indirect/exprloc"])
@pytest.mark.parametrize("before", [("name", "string", "abc"), ("name", "strp", "abc"), ("byte_size", "udata", 300)])
def test_a_block_knows_where_it_stands(form, before, order):
    """An expression is identified by its section and offset."""
    found = dwarf(
        unit(die("compile_unit", before, ("location", form, b"\x91\x20"), ("decl_line", "data1", 7))), byte_order=order
    )
    block = found.units[0].root.get("DW_AT_location").block()
    assert (block.data, block.section) == (b"\x91\x20", ".debug_info")
    assert found.source.data(".debug_info")[block.offset : block.offset + 2] == b"\x91\x20"
    assert found.source.data(".debug_info")[block.offset + 2] == 7


@for_each("form, meaning",
    ("data1", "text"), ("data1", "address"), ("data1", "reference"), ("data1", "block"), ("data1", "flag"),
    ("data1", "list_place"), ("string", "signed"), ("string", "unsigned"), ("exprloc", "reference"))  # fmt: skip
def test_a_value_has_only_the_meaning_of_its_class(form, meaning):
    attribute = only(("location", form, 1 if form == "data1" else b"x")).root.get("DW_AT_location")
    assert raised(MalformedFile, getattr(attribute, meaning)).where.section == ".debug_info"


def test_resolved_values():
    parts = [
        ("name", "string", "a"),             ("low_pc", "addr", 16),              ("external", "flag_present"),
        ("declaration", "flag", 0),          ("decl_line", "data1", 200),         ("location", "exprloc", b"\x30"),
        ("type", "ref4", "self")]  # fmt: skip
    found = dwarf(unit(die("compile_unit", *parts, label="self"))).units[0].root
    values = [each.resolved() for each in found.attributes]
    assert values[:5] == ["a", 16, True, 0, 200]
    assert values[5].data == b"\x30"
    assert values[6] == found
    assert found.get("DW_AT_external").flag() is True
    assert found.get("DW_AT_declaration").flag() is False
    assert not found.is_declaration


def random_tree(rng, depth=0, count=None):
    parts = [("name", "string", f"n{rng.randrange(100)}")]
    if rng.random() < 0.3:
        parts.append(("location", "exprloc", bytes(rng.randrange(6))))
    if rng.random() < 0.3:
        parts = [("decl_line", "data2", rng.randrange(1000))]
    inner = rng.randrange(5) if depth < 5 else 0
    if count is not None:
        inner = count
    children = [random_tree(rng, depth + 1) for _ in range(inner)]
    return die(
        rng.choice(["namespace", "structure_type", "variable", 0x4090]), *parts, *children, children=rng.random() < 0.2
    )


def shape(tree):
    return (tree.tag, tuple(shape(child) for child in tree.children or ()))


def read_shape(die):
    return (die.tag, tuple(read_shape(child) for child in die.children()))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sampled(6)
def test_a_tree_is_read_as_it_was_written(seed):
    rng = random.Random(seed)
    tree = random_tree(rng, count=rng.choice([1, 10, 60]))
    found = dwarf(unit(tree)).units[0]

    assert read_shape(found.root) == shape(tree)
    dies = list(found.dies())
    parents = {}
    for each in dies:
        for child in each.children():
            parents[child.offset] = each.offset
    offsets = {each.offset for each in dies}
    rng.shuffle(dies)
    for each in dies:
        assert found.die_at(each.offset) == each
        parent = each.parent()
        assert (parent.offset if parent else None) == parents.get(each.offset)
        assert each.parent() == parent
    for offset in range(-2, len(found.data) + 3):
        if offset not in offsets:
            assert not found.tree.contains(offset)
            assert "no entry begins" in str(raised(MalformedFile, found.die_at, offset))
    depths = [(offset, depth) for offset, depth, _, _ in found.entries()]
    assert depths[0] == (found.first, 0)
    for offset, depth in depths[1:]:
        assert len(list(found.die_at(offset).ancestors())) == depth


def with_siblings(tree, names, path="0"):
    """The same tree, in which every entry that owns others says what is beside it, as GCC does."""
    children = tuple(with_siblings(child, names, f"{path}.{i}") for i, child in enumerate(tree.children or ()))
    labelled = []
    for i, child in enumerate(children):
        tells = child.children is not None and i + 1 < len(children)
        sibling = ((0x01, "ref4", f"{path}.{i + 1}"),) if tells else ()
        labelled.append(child._replace(label=f"{path}.{i}", attributes=(*child.attributes, *sibling)))
    return tree._replace(children=tuple(labelled) if tree.children is not None else None)


@every(seed=some_slow(range(6), quick=(0, 3)))
def test_sibling_attributes_change_no_answer(seed):
    rng = random.Random(seed)
    tree = with_siblings(random_tree(rng, count=20), {})
    found = dwarf(unit(tree)).units[0]
    plain = {offset: depth for offset, depth, _, _ in found.entries()}
    assert read_shape(found.root) == shape(tree)
    places = list(range(found.first, len(found.data)))
    rng.shuffle(places)
    for offset in places:
        assert found.tree.contains(offset) == (offset in plain)
        around = max((each for each in plain if each <= offset), default=None)
        assert found.tree.entry_around(offset) in (around, None)
        if offset in plain:
            assert len(list(found.die_at(offset).ancestors())) == plain[offset]


@pytest.mark.parametrize("target", ["self", 3, 0, 0xFFFFFFFF])
def test_a_sibling_must_be_behind_the_entry(target):
    found = only(die("structure_type", ("sibling", "ref4", target), die("member"), label="self"), die("variable"))
    assert raised(MalformedFile, list, found.root.children()).kind == "bad_sibling"


def test_a_unit_may_end_without_null_entries():
    built = build(unit(die("compile_unit", die("namespace", die("variable"), die("variable")))))
    data = built.sections[".debug_info"]
    assert data.endswith(b"\0\0")
    data = (data[0] - 2).to_bytes(4, "little") + data[4:-2]
    found = Dwarf(DictSections({**built.sections, ".debug_info": data})).units[0]
    assert len(list(found.dies())) == 4
    (space,) = found.root.children()
    assert len(list(space.children())) == 2
    assert list(found.dies())[3].parent() == space


def test_what_stands_behind_the_unit_entry_is_no_entry():
    found = dwarf(unit(die("compile_unit", die("variable")), trailing=b"\1\2\3")).units[0]
    assert len(list(found.dies())) == 2
    assert not found.tree.contains(len(found.data) - 3)


def test_a_unit_entry_without_children_is_alone():
    found = dwarf(unit(die("compile_unit"), trailing=b"\1\1\1")).units[0]
    assert len(list(found.dies())) == 1
    assert list(found.root.children()) == []
    assert [found.tree.contains(found.first + i) for i in range(4)] == [True, False, False, False]


def test_a_broken_entry_hides_neither_those_before_it_nor_other_units():
    trees = [unit(die("compile_unit", die("namespace", entry("variable", "v")), die("variable"))) for _ in range(2)]
    built = build(*trees)
    data = bytearray(built.sections[".debug_info"])
    half = len(data) // 2
    data[half - 2] = 0x7E  # the second variable of the first unit
    first, second = Dwarf(DictSections({**built.sections, ".debug_info": bytes(data)})).units
    seen = []
    error = raised(MalformedFile, seen.extend, first.dies())
    assert (error.kind, str(error.where)) == ("unknown_abbreviation", f".debug_info+{half - 2:#x}")
    assert [each.tag_name.removeprefix("DW_TAG_") for each in seen] == ["compile_unit", "namespace", "variable"]
    assert (seen[2].name, seen[2].parent(), seen[1].parent()) == ("v", seen[1], seen[0])
    assert len(list(second.dies())) == 4


def test_type_signatures_may_go_in_a_circle():
    """A type unit whose type is a typedef of itself: whoever follows types must stop."""
    trees = [
        unit(
            die("type_unit", die("typedef", ("type", "ref_sig8", other), label=f"t{own}")),
            "type", signature=own, type_label=f"t{own}",
        )
        for own, other in ((1, 2), (2, 1), (3, 3))
    ]  # fmt: skip
    found = dwarf(*trees)
    for signature in (1, 2, 3):
        kind = found.type_at(signature, found.units[0])
        assert kind.type().type().type().tag_name == "DW_TAG_typedef"
        assert size_of_type(kind) is None


@pytest.mark.parametrize("size", range(40))
def test_a_truncated_unit_is_an_error_and_no_wrong_entry(size):
    tree = entry("compile_unit", "ab", die("variable", ("const_value", "block1", b"xyz"), ("type", "ref4", 1)))
    built = build(unit(tree))
    whole = [(each.tag, each.values) for each in Dwarf(DictSections(built.sections)).units[0].dies()]
    data = built.sections[".debug_info"]
    if size + 12 >= len(data):
        return
    cut = (size + 8).to_bytes(4, "little") + data[4 : 12 + size]
    found = Dwarf(DictSections({**built.sections, ".debug_info": cut})).units[0]
    for way in (found.dies, lambda: (each[0] for each in found.root.walk())):
        seen, errors = [], []
        try:
            seen += ((each.tag, each.values) for each in way())
        except MalformedFile as error:
            errors.append(error)
        assert seen == whole[: len(seen)]
        assert {error.kind for error in errors} <= {"truncated", "no_unit_entry"}
        assert {error.where.section for error in errors} <= {".debug_info"}


def test_deep_trees_do_not_exhaust_the_stack():
    depth, table = 5_000, b"\1\x11\1\0\0\2\x0b\1\0\0\0"
    body = b"\1" + b"\2" * depth + b"\0" * (depth + 1)
    header = (len(body) + 8).to_bytes(4, "little") + b"\5\0\1\x08\0\0\0\0"
    found = Dwarf(DictSections({".debug_info": header + body, ".debug_abbrev": table})).units[0]
    assert sum(1 for _ in found.dies()) == depth + 1
    assert len(list(found.die_at(12 + depth).ancestors())) == depth
    assert len(list(found.root.children())) == 1


def test_going_through_a_deep_tree_is_linear():
    """Each level would otherwise be stepped over once for each level above it, which would take minutes."""
    depth, table = 10_000, b"\1\x11\1\0\0\2\x0b\1\0\0\3\x34\0\0\0\0"
    body = b"\1" + b"\2" * depth + b"\3" * 40 + (b"\0" + b"\3" * 3) * depth + b"\0"
    header = (len(body) + 8).to_bytes(4, "little") + b"\5\0\1\x08\0\0\0\0"
    found = Dwarf(DictSections({".debug_info": header + body, ".debug_abbrev": table})).units[0]
    count, waiting = 0, [iter(found.root.children())]
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
        else:
            count += 1
            waiting.append(iter(inner.children()))
    assert count == depth + 40 + 3 * depth


def test_parents_asked_for_on_the_way():
    """What one question has found out does not mislead the next."""
    big = entry("member", "m" * 600)
    inner = entry("structure_type", "inner", big, big)
    found = only(entry("namespace", "a", entry("namespace", "b", inner), big), big)
    dies = list(found.dies())
    assert dies[3].parent() == dies[2]
    assert [[owner.name for owner in each.ancestors()] for each in dies] == [
        [], [None], ["a", None], ["b", "a", None], ["inner", "b", "a", None], ["inner", "b", "a", None],
        ["a", None], [None]]  # fmt: skip


def test_many_large_siblings():
    """The parent of the last of many entries is found without asking for the parents of all before it."""
    leaves = [entry("member", "m" * 300) for _ in range(3)]
    found = only(*(entry("structure_type", f"s{i}", *leaves) for i in range(1500)))
    last = [each for each in found.dies() if each.tag_name == "DW_TAG_structure_type"][-1]
    assert [each.name for each in next(last.children()).ancestors()] == ["s1499", None]


@for_each("form", "ref1", "ref2", "ref4", "ref8", "ref_udata", "ref_addr", "indirect/ref4", "indirect/ref_addr")
@pytest.mark.parametrize("first", [True, False])
def test_references(form, first):
    user = die("variable", ("type", form, "int"), label="user")
    target = entry("base_type", "int", label="int")
    children = [user, target] if first else [target, user]
    found = dwarf(unit(entry("compile_unit", "other")), unit(die("compile_unit", *children)))
    variable = next(each for each in found.units[1].dies() if each.tag_name == "DW_TAG_variable")
    assert variable.type().name == "int"
    assert variable.type().unit is found.units[1]


def test_a_reference_to_another_unit():
    found = dwarf(
        unit(die("compile_unit", die("variable", ("type", "ref_addr", "int")))),
        unit(die("partial_unit", entry("base_type", "int", label="int"))),
    )
    (variable,) = found.units[0].root.children()
    assert variable.type().unit is found.units[1]
    assert found.die_at(variable.type().section_offset) == variable.type()


@every(form=["ref1", "ref4", "ref8", "ref_addr", "ref_udata"], where=[0, 5, 13, 40, 200])
def test_a_reference_to_no_entry_is_an_error(form, where):
    (variable,) = only(die("variable", ("type", form, where)), ("name", "string", "a" * 20)).root.children()
    assert raised(MalformedFile, variable.type).kind == "bad_reference"


def test_the_name_of_what_is_completed_later():
    """DW_AT_specification and DW_AT_abstract_origin give an entry the attributes it does not have itself."""
    declared = entry("subprogram", "f", linkage_name="_ZN1S1fEv", type="int", declaration=True, label="declared")
    found = only(
        entry("structure_type", "S", declared),
        entry("base_type", "int", label="int"),
        entry("subprogram", specification="declared", inline=1, label="abstract"),
        entry("subprogram", abstract_origin="abstract", low_pc=16, label="concrete"),
    )
    *_, abstract, concrete = found.root.children()
    assert concrete.name == abstract.name == "f"
    assert concrete.linkage_name == "_ZN1S1fEv"
    assert concrete.type().name == "int"
    assert [each.tag for each in concrete.origins()] == [0x2E] * 3
    assert not concrete.is_declaration
    assert concrete.find("DW_AT_inline") is None
    assert concrete.find("DW_AT_declaration") is None
    assert concrete.find("DW_AT_name").text() == "f"
    assert concrete.find("DW_AT_low_pc").address() == 16
    assert abstract.find("DW_AT_low_pc") is None


@pytest.mark.parametrize("kind", ["specification", "abstract_origin"])
def test_a_cycle_of_origins_is_an_error(kind):
    found = only(
        die("subprogram", (kind, "ref4", "b"), label="a"),
        die("subprogram", (kind, "ref4", "a"), label="b"),
        die("subprogram", (kind, "ref4", "self"), label="self"),
    )
    for each in found.root.children():
        with pytest.raises(MalformedFile) as caught:
            each.name  # noqa: B018
        assert caught.value.kind == "reference_cycle"
    assert found.dwarf.index.find("f") == []


def explore(found):
    for each in (*found.units, *found.split_units):
        try:
            for entry in each.dies():
                for attribute in entry.attributes:
                    try:
                        attribute.resolved()
                    except DwarfGpuError:
                        continue
                try:
                    entry.parent()
                    list(zip(range(20), entry.children(), strict=False))
                    str(entry.name), str(entry.linkage_name), entry.ranges()
                    each.tree.contains(entry.offset + 1)
                except DwarfGpuError:
                    continue
            list(each.decoded())
        except DwarfGpuError:
            continue
    for name in ("f", "int", "ns::v", "x"):
        found.index.find(name)
    found.index.functions_at(0x1000)
    found.index.variables_at(0x2000)
    found.index.names()


INNER = (
    die("variable", ("name", "strp", "v"), ("type", "ref4", "int"), ("location", "exprloc", b"\x03\0\x20" + bytes(6))),
    die("subprogram", ("name", "strp", "f"), ("declaration", "flag_present"), label="declared"),
)
BODY = (
    ("low_pc", "addrx", 0x1000),
    ("ranges", "sec_offset", 0),
    die("formal_parameter", ("name", "strx2", "p"), ("location", "exprloc", b"\x91\x70")),
    die("lexical_block", die("variable", ("name", "strx3", "x"), ("const_value", "sdata", -3))))  # fmt: skip
UNIT = (
    ("str_offsets_base", "sec_offset", "strings"),
    ("addr_base", "sec_offset", "addresses"),
    die("base_type", ("name", "strx1", "int"), ("byte_size", "data1", 4), label="int"),
    entry("namespace", "ns", *INNER),
    entry("subprogram", None, *BODY, specification="declared", high_pc=0x20))  # fmt: skip
BASE = build(unit(entry("compile_unit", None, *UNIT, low_pc=0x1000, high_pc=0x100)))


@settings(max_examples=150)
@given(st.data())
def test_any_change_gives_results_or_errors(data):
    """One to four bytes of any section are changed, or a section is cut short."""
    sections = {name: bytearray(content) for name, content in BASE.sections.items()}
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(sorted(sections)))
        if not sections[name]:
            continue
        place = data.draw(st.integers(0, len(sections[name]) - 1))
        if data.draw(st.booleans()):
            sections[name][place] = data.draw(st.integers(0, 255))
        elif data.draw(st.booleans()):
            del sections[name][place:]
        else:
            sections[name][place : place + 4] = data.draw(
                st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\x80" * 4, b"\x7f\xff\xff\xff"])
            )
    explore(Dwarf(DictSections({name: bytes(content) for name, content in sections.items()})))
