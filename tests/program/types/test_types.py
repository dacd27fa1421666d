import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.rules import AMD
from dwarfgpu.lanes import LaneSet
from dwarfgpu.objfile.info.forms import LLVM_OLD
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import LoadedCode
from dwarfgpu.program.types import model
from dwarfgpu.program.types.declaration import declaration, type_text
from dwarfgpu.program.types.model import Array, Base, Struct, byte_size, known_size, stripped
from dwarfgpu.program.types.reader import Types, canonical, find_type, spellings
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import ObjectSurroundings, variable_place
from dwarfgpu.render.values import Look, ValueWriter, value_text
from tests.builders.dwarf import dwarf, entry, unit
from tests.builders.errors import raised
from tests.builders.parameters import every, for_each
from tests.builders.programs import Dumped

INT = entry("base_type", "int", encoding=5, byte_size=4, label="int")
CHAR = entry("base_type", "char", encoding=6, byte_size=1, label="char")
SIZE = entry("base_type", "long unsigned int", encoding=7, byte_size=8, label="size")
C, CPLUS, FORTRAN = 0x1D, 0x1A, 0x0E


def types_of(*entries, language=C, byte_order="little", version=5, **options):
    """The types of the labelled entries of one unit."""
    root = entry("compile_unit", None, INT, CHAR, SIZE, *entries, language=("data2", language))
    found = dwarf(unit(root, version=version), byte_order=byte_order, **options)
    known = Types()
    dies = {each.tag_name + ":" + (each.name or ""): each for each in found.units[0].dies()}

    def get(name):
        key = next(key for key in dies if key.endswith(f":{name}"))
        return known.of(dies[key])

    get.types = known
    get.dies = dies
    get.dwarf = found
    return get


def test_a_base_type_has_its_attributes():
    get = types_of(entry("base_type", "odd", encoding=7, byte_size=4, bit_size=12, data_bit_offset=3, endianity=1))
    odd = get("odd")
    assert (odd.byte_size, odd.bit_size, odd.data_bit_offset, odd.byte_order) == (4, 12, 3, "big")


def test_a_vector_is_so_many_elements():
    """A.5.1 (1): N contiguous elements, each of the type without the attribute."""
    get = types_of(entry("base_type", "float4", encoding=4, byte_size=4, LLVM_vector_size=4))
    assert byte_size(get("float4")) == 16
    assert byte_size(get("float4").element) == 4


def test_a_vector_of_nothing_is_refused():
    """A.5.1 (1): a size that is not greater than 0 is ill-formed."""
    get = types_of(entry("base_type", "none", encoding=4, byte_size=4, LLVM_vector_size=0))
    assert "greater than 0" in str(raised(MalformedFile, get, "none"))


@for_each("name, expected",
    ("long int", "long"),  ("short unsigned int", "unsigned short"),
    ("long long unsigned int", "unsigned long long"),                    ("unsigned int", "unsigned int"),
    ("char", "char"),      ("long double", "long double"),               ("__int128 unsigned", "__int128 unsigned"),
    ("Buffer<long int, 4>", "Buffer<long, 4>"),   ("f<const short unsigned int>", "f<const unsigned short>"),
    ("long_int", "long_int"),                     ("ns::short_name", "ns::short_name"))  # fmt: skip
def test_names_have_their_usual_words(name, expected):
    assert canonical(name) == expected
    assert name in spellings(expected) or name == expected or "const" in name


def test_pointers_know_their_spaces():
    """A.5.3 and A.2.14: the address space and the memory space of a pointer; none if omitted."""
    get = types_of(
        entry("pointer_type", "new", type="int", LLVM_address_space=3, LLVM_memory_space=3),
        entry("pointer_type", "old", type="int", address_class=("data4", 5), byte_size=4),
        entry("reference_type", "plain", type="int"),
    )
    assert (get("new").address_space, get("new").memory_space, get("new").byte_size) == (3, 3, 8)
    assert (get("old").address_space, get("old").memory_space, get("old").byte_size) == (5, None, 4)
    assert (get("plain").address_space, get("plain").sign) == (None, "&")


def test_a_pointer_reads_nothing_of_its_target():
    found = types_of(entry("pointer_type", "broken", type=("ref4", 0xFFFFFF)))("broken")
    assert byte_size(found) == 8
    with pytest.raises(DwarfGpuError):
        found.target.name  # noqa: B018


def test_what_points_to_itself_is_no_cycle():
    node = entry("structure_type", "node", member("next", "pointer", 0), byte_size=8, label="node")
    node = types_of(node, entry("pointer_type", type="node", label="pointer"))("node")
    assert node.body.members[0].type.target is node
    assert hash(node) == hash(node)
    assert declaration(node) == "struct node {\n    struct node *next;\n}"


@pytest.mark.parametrize("tag", ["typedef", "const_type"])
def test_a_type_that_is_itself_is_an_error(tag):
    get = types_of(entry(tag, "loop", type="loop", label="loop"))
    for ask in (stripped, byte_size, declaration):
        assert "back to itself" in str(raised(MalformedFile, ask, get("loop")))


def test_an_array_of_itself_is_an_error():
    get = types_of(entry("array_type", "loop", entry("subrange_type", count=2), type="loop", label="loop"))
    raised(MalformedFile, byte_size, get("loop"))
    assert "..." in declaration(get("loop"))


def array(name, *subranges, **attributes):
    return entry("array_type", name, *subranges, type="int", **attributes)


def member(name, type, place, **attributes):
    return entry("member", name, type=type, data_member_location=place, **attributes)


@for_each("attributes, index, length",
    ({"upper_bound": 255}, "size", 256),  # GCC: an unsigned number in a form without a sign
    ({"upper_bound": 255}, "int", 256),  # gfortran: the index is signed, the number is not
    ({"upper_bound": 0xFFFFFFFF}, "int", 0),  # negative in the index type
    ({"upper_bound": 0xFFFFFFFF}, "size", 1 << 32),           ({"upper_bound": (1 << 64) - 1}, "size", 0),
    ({"upper_bound": -1}, "size", 0),                         ({"count": 200}, "size", 200),
    ({"count": (1 << 64) - 1}, "size", None),  # LLVM's older way to say that it is not known
    ({}, "size", None),
    ({"lower_bound": -2, "upper_bound": ("sdata", 2)}, "int", 5))  # fmt: skip
def test_the_number_of_elements(attributes, index, length):
    get = types_of(array("a", entry("subrange_type", type=index, **attributes)))
    assert get("a").dimensions[0].length == length


def test_arrays_of_fortran_begin_with_one_and_are_column_major():
    bounds = entry("subrange_type", upper_bound=3)
    get = types_of(array("a", bounds), language=FORTRAN)
    assert get("a").dimensions[0].lower == 1
    assert get("a").column_major
    get = types_of(array("a", bounds, ordering=0), language=FORTRAN)
    assert not get("a").column_major


def test_sizes_of_arrays():
    get = types_of(
        array("a", entry("subrange_type", count=3), entry("subrange_type", count=4)),
        array("b", entry("subrange_type", count=3, byte_stride=10)),
        array("c", entry("subrange_type", count=9), bit_stride=3),
        array("d", entry("subrange_type", count=b"\x33")),
        array("e", entry("subrange_type")),
    )
    assert [known_size(get(name)) for name in "abcde"] == [48, 30, 4, None, 0]
    assert get("d").is_dynamic
    assert not get("a").is_dynamic


def test_absurd_sizes_are_said_to_be_that():
    huge = entry("subrange_type", count=("udata", 1 << 60))
    get = types_of(array("a", huge, huge))
    assert "has an impossible size" in str(raised(MalformedFile, byte_size, get("a")))


def test_bounds_may_be_expressions_and_entries():
    bounds = entry("subrange_type", upper_bound=("ref4", "n"), lower_bound=b"\x31")
    variable = entry("variable", "n", type="int", label="n")
    found = types_of(variable, array("a", bounds, data_location=b"\x97", allocated=b"\x31"))("a")
    assert found.dimensions[0].upper.entry.name == "n"
    assert found.dimensions[0].lower.expression == b"\x31"
    assert found.data_location.attribute == "DW_AT_data_location"
    assert found.allocated.expression == b"\x31"
    assert declaration(found) == "int [variable length]"


def test_a_dimension_may_be_an_enumeration():
    names = [entry("enumerator", name, const_value=value) for name, value in (("X", 3), ("Y", 6))]
    (dimension,) = types_of(array("a", entry("enumeration_type", None, *names, byte_size=4)))("a").dimensions
    assert (dimension.lower, dimension.length) == (3, 4)


@pytest.mark.parametrize("byte_order, expected", [("little", [0, 3, 8]), ("big", [29, 24, 0])])
def test_old_bit_fields_count_from_the_other_end(byte_order, expected):
    """Three fields of a word: DW_AT_bit_offset counts from the most significant bit (DWARF 3, 5.6.6)."""
    members = [
        member(name, "int", 0, byte_size=4, bit_offset=("data1", offset), bit_size=("data1", size))
        for name, offset, size in (("a", 29, 3), ("b", 24, 5), ("c", 0, 24))
    ]
    get = types_of(entry("structure_type", "s", *members, byte_size=4), byte_order=byte_order, version=3)
    assert [each.bit_offset for each in get("s").body.members] == expected


def test_new_bit_fields_count_from_the_beginning():
    field = entry("member", "b", type="int", data_bit_offset=35, bit_size=5)
    (found,) = types_of(entry("structure_type", "s", field, byte_size=8))("s").body.members
    assert (found.bit_offset, found.bit_size) == (35, 5)


@for_each("form, value, offset, is_computed",
    ("data1", 12, 96, False),
    ("block1", b"\x23\x0c", 96, False),  # DW_OP_plus_uconst 12, as DWARF 2 writes it
    ("exprloc", b"\x23\x80\x01", 1024, False),
    ("exprloc", b"\x3c\xe9\x02", 0, True),
    ("exprloc", b"\x23\x0c\x96", 0, True))  # fmt: skip
def test_where_members_are(form, value, offset, is_computed):
    kind = entry("structure_type", "s", member("m", "int", (form, value)), byte_size=99)
    (found,) = types_of(kind, version=3 if form == "block1" else 5)("s").body.members
    assert (found.bit_offset, found.location is not None) == (offset, is_computed)


def test_static_members_before_and_since_version_5():
    old = entry("member", "old", type="int", external=True, declaration=True)
    new = entry("variable", "new", type="int", declaration=True)
    plain = entry("member", "plain", type="int", data_member_location=0)
    get = types_of(entry("class_type", "s", old, plain, new, byte_size=4), language=CPLUS)
    body = get("s").body
    assert [each.name for each in body.statics] == ["old", "new"]
    assert body.order == ("old", 0, "new")
    assert declaration(get("s")) == "class s {\n    static int old;\n    int plain;\n    static int new;\n}"


def test_variants_have_their_values():
    part = entry(
        "variant_part",
        None,
        member("tag", "int", 0, label="tag"),
        entry("variant", None, member("a", "int", 4), discr_value=-1),
        entry("variant", None, member("b", "char", 4), discr_list=("block1", b"\x00\x02\x01\x05\x07")),
        entry("variant", None, member("c", "char", 5)),
        discr="tag",
    )
    found = types_of(entry("structure_type", "s", part, byte_size=8))("s")
    (part,) = found.body.variant_parts
    assert part.discriminant.name == "tag"
    assert [each.values for each in part.variants] == [((-1, -1),), ((2, 2), (5, 7)), None]
    assert "case 2, 5..7:" in declaration(found)


def test_a_declaration_is_completed_by_a_definition_elsewhere():
    declared = entry("structure_type", "s", declaration=True, label="declared")
    first = unit(entry("compile_unit", None, declared, entry("typedef", "t", type="declared"), language=("data2", C)))
    second = unit(entry("compile_unit", None, entry("structure_type", "s", byte_size=24), language=("data2", C)))
    found = dwarf(first, second)
    known = Types()
    assert byte_size({each.name: known.of(each) for each in found.units[0].dies() if each.name}["t"]) == 24
    only = next(known.of(each) for each in dwarf(first).units[0].dies() if each.name == "s")
    assert only.is_incomplete
    assert known_size(only) is None
    assert declaration(only) == "struct s {\n    <incomplete type>\n}"


def test_a_declaration_is_completed_by_a_type_unit():
    defined = entry("structure_type", "s", byte_size=40, label="defined")
    type_unit = unit(
        entry("type_unit", None, defined, language=("data2", CPLUS)), "type", signature=0x1234, type_label="defined"
    )
    declared = entry("structure_type", declaration=True, signature=("ref_sig8", 0x1234))
    found = dwarf(unit(entry("compile_unit", None, declared, language=("data2", CPLUS))), type_unit)
    die_found = next(each for each in found.units[0].dies() if each.tag_name == "DW_TAG_structure_type")
    assert byte_size(Types().of(die_found)) == 40


AMDGPU, X86_64 = 224, 62
SPACES = {0: (8, 0), 1: (8, 0), 2: (4, 0xFFFFFFFF), 3: (4, 0xFFFFFFFF), 5: (4, 0xFFFFFFFF), 6: (4, 0xFFFFFFFF)}
"""The bytes of an address and the null of the address spaces (AMDGPU usage, Address Space Mapping)."""


def pointer_into(*attributes, machine=AMDGPU, tag="pointer_type", dialect=None):
    """A pointer with some attributes, and what was found wrong in reading it."""
    root = entry("compile_unit", None, INT, entry(tag, None, *attributes, type="int"), language=("data2", C))
    found = dwarf(unit(root), machine=machine, **({} if dialect is None else {"attributes": dialect}))
    pointer = next(Types().of(each) for each in found.units[0].dies() if each.tag_name == f"DW_TAG_{tag}")
    return pointer, [str(problem) for problem in found.problems]


@every(tag=["pointer_type", "reference_type", "rvalue_reference_type"], number=[*SPACES, 0x20, 0x5F])
def test_a_pointer_has_the_size_of_the_addresses_of_its_space(tag, number):
    pointer, problems = pointer_into(("address_class", "data4", number), tag=tag)
    assert (pointer.byte_size, pointer.null) == SPACES.get(number, (4, 0xFFFFFFFF))
    assert pointer.address_space == number
    assert byte_size(pointer) == pointer.byte_size
    assert not problems


def test_the_attribute_of_the_extension_is_read_as_the_class_is():
    space = ("LLVM_address_space", "data1", 3)
    for attributes in ((space,), (space, ("address_class", "data1", 1))):
        pointer, problems = pointer_into(*attributes)
        assert (pointer.byte_size, pointer.address_space, problems) == (4, 3, [])


def test_a_pointer_without_a_known_space_has_the_size_of_the_unit():
    for machine, number in ((X86_64, 3), (AMDGPU, 4), (AMDGPU, 0x60), (0, 5)):
        pointer, problems = pointer_into(("address_class", "data4", number), machine=machine)
        assert (pointer.byte_size, pointer.null, problems) == (8, 0, [])
    assert pointer_into()[0].byte_size == 8


@for_each(
    "attribute, size", (("byte_size", "data1", 8), 8), (("bit_size", "data1", 64), 8), (("byte_size", "data1", 2), 2)
)
def test_the_size_of_the_pointer_itself_is_stronger_and_a_contradiction_is_told(attribute, size):
    pointer, problems = pointer_into(("address_class", "data1", 3), attribute)
    assert (pointer.byte_size, pointer.null) == (size, 0xFFFF if size == 2 else 0xFFFFFFFF)
    (problem,) = problems
    assert f"a pointer into local has {size} bytes, and an address there has 4" in problem
    assert "[A.5.3]" in problem
    for space, same in ((3, ("byte_size", "data1", 4)), (5, ("bit_size", "data1", 32)), (1, ("byte_size", "data1", 8))):
        assert not pointer_into(("address_class", "data1", space), same)[1]


def test_structures_and_arrays_count_in_the_size_of_the_space():
    local = entry("pointer_type", type="int", address_class=3, label="local")
    bound = entry("subrange_type", type="size", count=3)
    get = types_of(
        local, entry("array_type", None, bound, type="local"), entry("typedef", "l", type="local"), machine=AMDGPU
    )
    array = next(get.types.of(each) for each in get.dies.values() if each.tag_name == "DW_TAG_array_type")
    assert (byte_size(array), byte_size(get("l"))) == (12, 4)


def test_enumerators_have_the_sign_of_the_underlying_type():
    def enumeration(name, under, value, form="data1"):
        inner = entry("enumerator", "E", const_value=(form, value))
        return entry("enumeration_type", name, inner, byte_size=8, **{"type": under} if under else {})

    get = types_of(
        enumeration("u", "size", 200),                         enumeration("s", "int", 200),
        enumeration("n", None, -7, "sdata"),                   enumeration("w", "size", -1, "sdata"))  # fmt: skip
    # a form without a sign is extended with zeros (test_names.py compares with GDB)
    assert [get(name).enumerators[0].value for name in "usnw"] == [200, 200, -7, (1 << 64) - 1]


@for_each("owner, language, prefix",
    (("structure_type", "A"), CPLUS, "A::"),                                    (("union_type", "A"), CPLUS, "A::"),
    (("namespace", "N"), CPLUS, "N::"),   (("namespace",), CPLUS, "(anonymous namespace)::"),
    (("structure_type",), CPLUS, ""),     (("subprogram", "f"), CPLUS, ""),     (("structure_type", "A"), C, ""),
)  # fmt: skip
def test_enumerators_without_an_enumeration_by_name_have_its_scope(owner, language, prefix):
    """As GDB 13 prints them: the scope of the enumeration, but none for a class that has no name itself."""
    enumeration = entry("enumeration_type", None, entry("enumerator", "X", const_value=0), byte_size=4)
    get = types_of(entry(*owner, *[None] * (2 - len(owner)), enumeration), language=language)
    assert get.types.of(get.dies["DW_TAG_enumeration_type:"]).prefix == prefix


def test_functions():
    variadic = entry("unspecified_parameters")
    get = types_of(
        entry("pointer_type", type="char", label="text"),
        entry("subroutine_type", "f", entry("formal_parameter", type="text"), variadic, prototyped=True, type="int"),
        entry("subroutine_type", "g", prototyped=True),
        entry("subroutine_type", "h", variadic, type="int"),
    )
    assert [type_text(get(name)) for name in "fgh"] == ["int (char *, ...)", "void (void)", "int ()"]


def test_the_owner_of_a_member_is_named_in_one_line():
    get = types_of(
        entry("structure_type", "Named", entry("member", "a", type="int", data_member_location=0), label="named"),
        entry("structure_type", None, entry("member", "a", type="int", data_member_location=0), label="bare"),
        entry("ptr_to_member_type", "n", type="int", containing_type="named"),
        entry("ptr_to_member_type", "b", type="int", containing_type="bare"),
        language=CPLUS,
    )  # fmt: skip
    assert [type_text(get(name)) for name in "nb"] == ["int Named::*", "int struct {...}::*"]


def test_what_is_not_understood_has_its_name_and_size():
    get = types_of(entry("set_type", "days", type="int", byte_size=1))
    assert isinstance(get("days"), model.Opaque)
    assert byte_size(get("days")) == 1


def test_what_is_no_type_is_refused():
    get = types_of(entry("variable", "v", type="int"))
    assert "DW_TAG_variable is not a type" in str(raised(MalformedFile, get, "v"))


def test_the_old_numbers_of_llvm():
    pointer = entry("pointer_type", "p", address_class=3)
    vector = entry("base_type", "v", encoding=4, byte_size=4, LLVM_vector_size=2, dialect=LLVM_OLD)
    found = dwarf(unit(entry("compile_unit", None, pointer, vector, language=("data2", C))), attributes="llvm-old")
    types = {each.name: Types().of(each) for each in found.units[0].dies() if each.name}
    assert types["p"].address_space == 3
    assert types["v"].vector_size == 2


def test_types_are_found_by_the_names_users_write():
    get = types_of(
        entry("structure_type", "s", byte_size=4),
        entry("typedef", "t", type="int"),
        entry("enumeration_type", "e", byte_size=4),
    )
    find = lambda name, keyword="": find_type(get.dwarf, get.types, name, keyword)  # noqa: E731
    assert find("unsigned long").name == "unsigned long"
    assert find("s") is None
    assert find("s", "struct").byte_size == 4
    assert find("s", "union") is None
    assert find("e", "enum").name == "e"
    assert find("t").name == "t"
    assert find("t", "struct") is None
    assert find("nothing") is None


def test_a_function_of_itself_is_cut():
    parameters = [entry("formal_parameter", type="p") for _ in range(6)]
    function = entry("subroutine_type", "f", *parameters, prototyped=True, label="f")
    text = declaration(types_of(function, entry("pointer_type", type="f", label="p"))("f"))
    assert "..." in text
    assert len(text) < 100_000


def test_a_class_that_is_its_own_base_is_cut():
    base = entry("inheritance", type="s", data_member_location=0)
    get = types_of(entry("structure_type", "s", base, byte_size=4, label="s"), language=CPLUS)
    assert declaration(get("s")) == "struct s : public s {\n}"


# --- The types of fixtures/src/asm/types.s: every variable reads as its DW_AT_description says, in both byte orders ---


FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "asm"
FILES = {
    "types.x86_64": "llvm-user",                             "types.powerpc64": "llvm-user",
    "types.gfx90a.w64.co": "llvm-user",                      "types-legacy.gfx90a.w64.co": "llvm-legacy"}  # fmt: skip
RELATIVE = 13  # R_AMDGPU_RELATIVE64
NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


def loaded(path: Path) -> Dumped:
    """The sections of a file at their addresses, with the relocations that need no symbol applied."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        stretches = {
            each["sh_addr"]: bytearray(each.data())
            for each in elf.iter_sections()
            if each["sh_flags"] & 2 and each["sh_type"] != "SHT_NOBITS"
        }
        for section in elf.iter_sections():
            if section["sh_type"] != "SHT_RELA":
                continue
            for each in section.iter_relocations():
                if each["r_info_type"] == RELATIVE:
                    for start, data in stretches.items():
                        at = each["r_offset"] - start
                        if 0 <= at < len(data):
                            data[at : at + 8] = each["r_addend"].to_bytes(8, "little")
    return Dumped([(start, bytes(data)) for start, data in stretches.items()])


class Fixture:
    def __init__(self, name: str) -> None:
        attributes = "llvm-old" if "legacy" in name else None
        self.file = opened(str(FIXTURES / name), attributes=attributes)
        self.target = self.file.target.target
        context = Context(target=self.target, rules=AMD, backend=loaded(FIXTURES / name), lanes=LaneSet(1, 0, 0))
        self.around = ObjectSurroundings(context, LoadedCode(self.file, dialect=FILES[name]))
        self.types = Types()
        dies = [die for unit in self.file.dwarf.compile_units() for die in unit.dies() if die.tag == 0x34]
        self.variables = {die.name: die for die in dies}
        self.look = Look(space_name=lambda number: getattr(self.target.space(number), "name", None))

    def object(self, name: str) -> Object:
        die = self.variables[name]
        return Object(self.types.type_of(die), variable_place(self.around, die))


@pytest.fixture(scope="module", params=FILES)
def fixture(request):
    return Fixture(request.param)


def described(fixture: Fixture, name: str) -> str:
    """A variable in the words of its description."""
    value = fixture.object(name)
    inner = value.inner
    if name.startswith("in_"):
        return ValueWriter(fixture.look, is_cplus=False).address(value.address, symbol=False)
    if isinstance(inner, Array) or (isinstance(inner, Base) and inner.vector_size):
        return described_array(value)
    if isinstance(inner, Base):
        number = value.number()
        return str(int(number)) if number == int(number) else str(number)
    return value_text(value, fixture.look)


def described_array(value: Object) -> str:
    """``(lower:upper,...) elements``, the first dimension first; a vector has no bounds."""
    found = value.array()
    if found.state is not None:
        return f"<{found.state}>"
    bounds, texts = [], []

    def walk(each: Object, depth: int) -> None:
        if not isinstance(each.inner, Array) and not (isinstance(each.inner, Base) and each.inner.vector_size):
            number = each.number()
            texts.append(f"{number:g}" if isinstance(number, float) else str(number))
            return
        parts = each.array()
        if len(bounds) == depth:
            bounds.append(f"{parts.lower}:{parts.lower + parts.length - 1}")
        for position in range(parts.length):
            walk(parts.at(position), depth + 1)

    walk(value, 0)
    shown = " ".join(texts)
    return shown if found.is_vector or isinstance(value.inner, Base) else f"({','.join(bounds[::-1])}) {shown}"


OTHERWISE = {
    "array_unallocated": "<not associated>",                 "obj2b": "{n = 3, vec2 = {7, 8, 9}}",
    "counted": '"hello"',                                    "fixed": '"abcdefgh"'}  # fmt: skip
"""Descriptions in other words than the library's."""


def numbers(text: str) -> list[int]:
    return [int(each, 16) if each.startswith("0x") else int(each) for each in NUMBER.findall(text)]


def test_every_variable_reads_as_it_says(fixture):
    wrong = {}
    for name, die in fixture.variables.items():
        wanted = OTHERWISE.get(name) or die.get("DW_AT_description").text().replace("..", ":")
        if fixture.target.space(3) is None:  # such a target has no names for address spaces
            wanted = wanted.replace("local#", "aspace3#").replace("private_lane#", "aspace5#")
            if name in ("in_local", "in_private"):
                continue
        found = described(fixture, name)
        found = re.sub(r"table = 0x\w+, ", "", found)
        if numbers(found) != numbers(wanted) or NUMBER.sub("#", found) != NUMBER.sub("#", wanted):
            wrong[name] = (wanted, found)
    assert not wrong
    assert len(fixture.variables) == 21


def test_pointers_have_their_spaces(fixture):
    """A.2.14: DW_AT_LLVM_memory_space is a number of the language beside the address space."""
    members = {each.name: each.type for each in fixture.object("pointers").inner.body.members}
    assert [each.address_space for each in members.values()] == [0, 3, 5]
    if "legacy" not in fixture.file.name:
        assert [each.memory_space for each in members.values()] == [1, 3, 4]


def test_a_pointer_to_a_member_leads_to_it(fixture):
    derived, pointer = fixture.object("derived"), fixture.object("to_in_derived")
    assert derived.through(pointer).number() == 77


def test_members_are_found_by_name_also_in_a_virtual_base(fixture):
    derived = fixture.object("derived")
    assert derived.member("in_base").number() == 88
    assert isinstance(derived.inner, Struct)
    assert fixture.object("obj2b").member("vec2").element(2).number() == 8
