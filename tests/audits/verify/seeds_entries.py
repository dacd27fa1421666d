from functools import partial
from typing import Any

from tests.builders.dwarf import die
from tests.builders.hostile import CODE, DATA, SIZE, gpu, named, typed, variable
from tests.builders.lists import contribution, rnglist
from tests.builders.seeds import Seed

V0 = b"\x90\x80\x14"
"""DW_OP_regx v0"""


def inside(rule: str, name: str, *locals: Any, **fields: Any) -> Seed:
    """A function that owns entries with a defect."""
    return Seed(f"entry-{rule}", name, partial(gpu, *locals, **fields))


def beside(rule: str, name: str, *types: Any, **fields: Any) -> Seed:
    """A unit that owns entries with a defect."""
    return Seed(f"entry-{rule}", name, partial(gpu, types=types, **fields))


def of_kernel(rule: str, name: str, *attributes: Any, **fields: Any) -> Seed:
    """A function with attributes that have a defect."""
    return Seed(f"entry-{rule}", name, partial(gpu, attributes=attributes, **fields))


def of_unit(rule: str, name: str, *attributes: Any, **fields: Any) -> Seed:
    """A unit with attributes that have a defect."""
    return Seed(f"entry-{rule}", name, partial(gpu, unit_attributes=attributes, **fields))


def at_place(name: str, *attributes: Any) -> Any:
    return die("variable", named(name), typed("int"), *attributes)


def base(*attributes: Any) -> Any:
    """A type of 4 bytes."""
    return die("base_type", named("t"), ("encoding", "data1", 5), ("byte_size", "data1", 4), *attributes)


def pointer(*attributes: Any) -> Any:
    return die("pointer_type", typed("int"), *attributes)


def block(low: int, size: int) -> Any:
    return die("lexical_block", ("low_pc", "addr", low), ("high_pc", "data4", size))


def function(low: int, form: str, high: int, *attributes: Any) -> Any:
    return die("subprogram", named("g"), ("low_pc", "addr", low), ("high_pc", form, high), *attributes)


def variable_at(address: int) -> Any:
    """A variable at an address that other units refer to."""
    return die("variable", named("v"), typed("int"), ("external", "flag_present"),
               ("location", "exprloc", b"\x03" + address.to_bytes(8, "little")))  # fmt: skip


def completed(attribute: str, label: str) -> Any:
    """A function that completes another entry."""
    return die("subprogram", (attribute, "ref4", label), label="g")


def with_member(tag: str, size: int, form: str, offset: int) -> Any:
    member = die("member", named("m"), typed("int"), ("data_member_location", form, offset))
    return die(tag, ("byte_size", "data1", size), member)


def beside_each_other(
    *members: tuple[int, str], tag: str = "structure_type", form: str = "data1", **fields: Any
) -> Any:
    """A structure of 16 bytes, whose members have offsets and types."""
    each = [die("member", named(f"m{at}"), typed(to), ("data_member_location", form, at)) for at, to in members]
    return die(tag, ("byte_size", "data1", 16), *each, **fields)


def of_two(origin: str, *completed: str) -> tuple[Any, ...]:
    """An inlined call of a function, in which entries complete variables of the functions f and g."""
    parts = [die("variable", ("abstract_origin", "ref4", each)) for each in completed]
    code = ("low_pc", "addr", CODE), ("high_pc", "data4", 8)
    return (die("inlined_subroutine", ("abstract_origin", "ref4", origin), *code, die("lexical_block", *parts)),)


def patched(rule: str, name: str, before: bytes, after: bytes, *locals: Any) -> Seed:
    """A file in which some bytes are others."""

    def make() -> bytes:
        data = gpu(*locals)
        assert data.count(before) == 1
        return data.replace(before, after)

    return Seed(f"entry-{rule}", name, make)


CLASSES = (
    at_place("a", ("location", "addr", DATA)),                at_place("a", ("location", "flag_present")),
    at_place("a", ("location", "string", "v0")),              at_place("a", ("decl_line", "string", "7")),
    at_place("a", ("decl_line", "exprloc", b"\x37")),         at_place("a", ("external", "data1", 1)),
    at_place("a", ("artificial", "string", "yes")),           at_place("a", ("linkage_name", "data4", 7)),
    at_place("a", ("const_value", "flag_present")),           at_place("a", ("start_scope", "string", "x")),
    die("variable", ("name", "data1", 7), typed("int"), ("location", "exprloc", V0)),
    die("variable", named("a"), ("type", "data4", 7)),        die("variable", named("a"), ("type", "exprloc", V0)),
    die("lexical_block", ("low_pc", "data8", CODE), ("high_pc", "data8", 4)),
    die("lexical_block", ("ranges", "string", "x")),          die("variable", named("a"), ("type", "sec_offset", 0)),
    die("label", named("l"), ("low_pc", "string", "x")))  # fmt: skip
OF_KERNEL = (
    ("frame_base", "data4", 7),           ("frame_base", "addr", 7),            ("inline", "string", "x"),
    ("prototyped", "data1", 1),           ("return_addr", "data4", 7),          ("static_link", "string", "x"),
    ("noreturn", "udata", 1),             ("main_subprogram", "block1", b"x"))  # fmt: skip
FOUR_BYTES = ("byte_size", "data1", 4)
S = die("structure_type", FOUR_BYTES, label="s")
OF_S = ("containing_type", "ref4", "s")
MISSING = {
    "a base type without a size": die("base_type", named("t"), ("encoding", "data1", 5)),
    "a base type without an encoding": die("base_type", named("t"), ("byte_size", "data1", 4)),
    "an array without a type": die("array_type", die("subrange_type", ("count", "data1", 3))),
    "an enumerator without a value": die("enumeration_type", FOUR_BYTES, die("enumerator", named("e"))),
    "an enumerator without a name": die("enumeration_type", FOUR_BYTES, die("enumerator", ("const_value", "data1", 1))),
    "an import of nothing": die("imported_declaration", named("i")),
    "an imported module without its name": die("imported_module"),
    "a member without a type": die("structure_type", FOUR_BYTES, die("member", named("m"))),
    "a variable without a type": die("variable", named("v")),
    "a parameter without a type": die("subprogram", named("g"), die("formal_parameter", named("p"))),
    "a base class without a type": die("structure_type", ("byte_size", "data1", 4), die("inheritance")),
    "a pointer to a member of nothing": die("ptr_to_member_type", typed("int")),
    "a pointer to members of no type": die("namespace", S, die("ptr_to_member_type", OF_S))}  # fmt: skip
PARENTS = {
    "an enumerator in a unit": die("enumerator", named("e"), ("const_value", "data1", 1)),
    "a base class in a namespace": die("namespace", S, die("inheritance", typed("s"))),
    "a parameter in a unit": die("formal_parameter", named("p"), typed("int")),
    "a block in a unit": block(CODE, 4),
    "a label in a unit": die("label", named("l"), ("low_pc", "addr", CODE)),
    "a unit in a unit": die("compile_unit", named("u")),
    "more parameters in a unit": die("unspecified_parameters"),
    "a call in a unit": die("call_site", ("call_return_pc", "addr", CODE)),
    "a variant outside of variants": die("variant", ("discr_value", "data1", 1)),
    "a parameter of a call outside of calls": die("call_site_parameter", ("location", "exprloc", V0)),
    "an inlined call in a unit": die("inlined_subroutine", ("abstract_origin", "ref4", "f")),
    "a generic dimension in a unit": die("generic_subrange", ("lower_bound", "data1", 1))}  # fmt: skip
LOCALS = variable("a", location="DW_OP_fbreg 8"), variable("b", location="DW_OP_fbreg 10")
F = die("subprogram", named("f"), ("inline", "data1", 1), label="f")
OWNERS = {
    "lanes of a variable": at_place("a", ("LLVM_lanes", "data1", 64)),
    "lane program counters of a variable": at_place("a", ("LLVM_lane_pc", "exprloc", V0)),
    "an address space of a base type": base(("LLVM_address_space", "data1", 5)),
    "a vector size of a structure": die("structure_type", ("byte_size", "data1", 4), ("LLVM_vector_size", "data1", 4)),
    "a memory space of a typedef": die("typedef", named("t"), typed("int"), ("LLVM_memory_space", "data1", 1)),
    "a frame base of a variable": at_place("a", ("frame_base", "exprloc", V0)),
    "an encoding of a pointer": pointer(("encoding", "data1", 5)),
    "a line table of a namespace": die("namespace", named("n"), ("stmt_list", "sec_offset", 0)),
    "a folder of a namespace": die("namespace", named("n"), ("comp_dir", "string", "/")),
    "a table of addresses of a namespace": die("namespace", named("n"), ("addr_base", "sec_offset", 8))}  # fmt: skip
REFERENCES = {
    "into the middle of an entry": die("variable", named("a"), ("type", "ref4", 0x15)),
    "past the end of the unit": die("variable", named("a"), ("type", "ref4", 0xFFFF)),
    "to the header of the unit": die("variable", named("a"), ("type", "ref4", 0)),
    "of one byte": die("variable", named("a"), ("type", "ref1", 0)),
    "to an address of no unit": die("variable", named("a"), ("type", "ref_addr", 0xFFFF)),
    "of a specification to nothing": die("subprogram", ("specification", "ref4", 3)),
    "of an abstract origin to nothing": die("subprogram", ("abstract_origin", "ref_udata", 3))}  # fmt: skip
VALUES = {
    "encoding": ("a base type is encoded as 0x3f",
        die("base_type", named("t"), ("encoding", "data1", 0x3F), FOUR_BYTES)),
    "virtuality": ("a virtuality of 9", die("subprogram", named("g"), ("virtuality", "data1", 9))),
    "accessibility": ("an accessibility of 8", at_place("a", ("accessibility", "data1", 8))),
    "visibility": ("a visibility of 9", at_place("a", ("visibility", "data1", 9))),
    "ordering": ("an ordering of 5", die("array_type", typed("int"), ("ordering", "data1", 5),
        die("subrange_type", ("count", "data1", 3)))),
    "endianity": ("a byte order of 7", at_place("a", ("endianity", "data1", 7))),
    "calling": ("a calling convention of 0x20",
        die("subprogram", named("g"), ("calling_convention", "data1", 0x20)))}  # fmt: skip
PLACE = ("location", "exprloc", V0)
LABEL = die("label", named("l"))
MEMBER_OF_F = die("ptr_to_member_type", typed("int"), ("containing_type", "ref4", "f"))
RANGES = rnglist(("start_length", CODE, 4), "end_of_list")
CLANG_14 = "AMD clang version 14.0.0"


def numbers(name: str, encoding: int, size: int, *more: Any) -> Any:
    return die("base_type", named(name), ("encoding", "data1", encoding), ("byte_size", "data1", size), *more)


WIDE = die("member", named("m"), typed("int"), ("bit_size", "data1", 40), ("data_bit_offset", "data1", 0))
FUNCTIONS = [
    die("subprogram", named(name), ("inline", "data1", 1), die("variable", named("v"), typed("int"), label=f"{name}1"),
        label=name) for name in "fg"]  # fmt: skip


SIZED = {
    "a float of 3 bytes": numbers("t", 4, 3),          "two floats of 3": numbers("t", 3, 6),
    "a half of 4": numbers("half", 4, 4),              "an int of 8": numbers("int", 5, 8),
    "an unsigned of 5": numbers("t", 7, 5),            "a truth value of 3": numbers("t", 2, 3),
    "a long of 4": numbers("unsigned long int", 7, 4), "a character of 3": numbers("c", 6, 3),
    "25 bits in 24": numbers("DW_ATE_unsigned_25", 7, 3), "an address of 3": numbers("t", 1, 3),
    "no bytes of an int": numbers("int", 5, 0)}  # fmt: skip
ENCODED = {
    "a signed unsigned": numbers("unsigned int", 5, 4), "an unsigned long": numbers("long", 7, 8),
    "a float of an int": numbers("float", 5, 4),        "a truth value of an int": numbers("bool", 7, 1),
    "an unsigned signed char": numbers("signed char", 8, 1),
    "a character of a float": numbers("char", 4, 1)}  # fmt: skip
NEXT, B, C = ("sibling", "ref4", "next"), at_place("b"), at_place("c")
LAST = die("variable", named("d"), typed("int"), label="next")
SIBLINGS = {
    "its own child": (die("lexical_block", NEXT, LAST), B),  "one too far": (die("lexical_block", NEXT, B), C, LAST),
    "one in front": (LAST, die("lexical_block", NEXT, B), C),
    "none behind the last": (die("lexical_block", die("lexical_block", NEXT), B), LAST)}  # fmt: skip
STRUCTURE = ("byte_size", "data1", 8)


def bit_field(name: str, first: int, bits: int) -> Any:
    where = ("data_bit_offset", "udata", first), ("bit_size", "udata", bits)
    return die("member", named(name), typed("int"), *where)


OLD_BITS = die("member", named("m"), typed("int"), ("byte_size", "data1", 4), ("bit_size", "data1", 3),
               ("bit_offset", "data1", 30), ("data_member_location", "data1", 0))  # fmt: skip
SAME_CODE = ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE)
CALLED = die("inlined_subroutine", ("abstract_origin", "ref4", "f"), ("low_pc", "addr", CODE), ("high_pc", "data4", 8))
CONCRETE = die("variable", ("abstract_origin", "ref4", "f1"), label="v")
D = die("variable", named("d"), typed("int"), ("declaration", "flag_present"), label="d")
ELSEWHERE = {
    "a place in a structure of a variable": at_place("a", ("data_member_location", "data1", 4)),
    "a bound of an array": die("array_type", typed("int"), ("upper_bound", "data1", 4)),
    "a value of a type": base(("const_value", "data1", 4))}  # fmt: skip
PAST_ENTRY = ("entry_pc", "addr", CODE + SIZE)
ENTERED = die("subprogram", named("g"), PAST_ENTRY, ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE))
INLINED = [die("inlined_subroutine", ("abstract_origin", "ref4", "f"), PAST_ENTRY, ("low_pc", "addr", CODE),
               ("high_pc", "data4", 8))]  # fmt: skip


def method(label: str, parameter: str, target: str) -> Any:
    """A function with a parameter, which operates on the object that an entry with a label is."""
    own = die("formal_parameter", named("this"), typed("int"), label=parameter)
    return die("subprogram", named(label), ("object_pointer", "ref4", target), own)


MISPLACED = {
    "a variable as a dimension": die("array_type", typed("int"), at_place("a")),
    "a member in an array": die("array_type", typed("int"), die("member", named("m"), typed("int"))),
    "a member in a unit": die("member", named("m"), typed("int")),
    "a parameter as a member": die("structure_type", STRUCTURE, die("formal_parameter", named("p"), typed("int"))),
    "a variable in a base type": numbers("t", 5, 4, at_place("a")),
    "a type in a function type": die("subroutine_type", base()),
    "a variable in an enumeration": die("enumeration_type", FOUR_BYTES, at_place("a")),
    "a template's parameter in a unit": die("template_type_parameter", typed("int"))}  # fmt: skip
MISLED = {
    "a base class that is a number": die("structure_type", STRUCTURE, die("inheritance", typed("int"))),
    "members of a number": die("ptr_to_member_type", typed("int"), ("containing_type", "ref4", "int")),
    "an enumeration over a structure": die("enumeration_type", FOUR_BYTES, typed("s")),
    "a dimension over a structure": die("array_type", typed("int"), die("subrange_type", typed("s"))),
    "a bound that is a type": die("array_type", typed("int"), die("subrange_type", ("upper_bound", "ref4", "int"))),
    "an imported type as a module": die("imported_module", ("import", "ref4", "int"))}  # fmt: skip
SELVES = (
    die("array_type", typed("self"), die("subrange_type", ("count", "data1", 2)), label="self"),
    die("structure_type", STRUCTURE, die("member", named("m"), typed("self"), ("data_member_location", "data1", 0)),
        label="self"))  # fmt: skip
SEEDS = (
    *(beside("parent", name, entry) for name, entry in MISPLACED.items()),
    *(beside("reference-tag", name, S, entry) for name, entry in MISLED.items()),
    beside("reference-cycle", "an array of itself", SELVES[0]),
    beside("reference-cycle", "a structure in itself", SELVES[1]),
    beside("bit-size", "no bits of a member", die("structure_type", STRUCTURE, bit_field("m", 0, 0))),
    beside("member-outside", "bits", die("structure_type", STRUCTURE, bit_field("m", 60, 5))),
    beside("member-outside", "bits of its storage", die("structure_type", STRUCTURE, OLD_BITS), version=4),
    beside("member-overlap", "bits", die("structure_type", STRUCTURE, bit_field("m", 0, 5), bit_field("n", 4, 5))),
    *(beside("base-size", name, each) for name, each in SIZED.items()),
    *(beside("base-encoding", name, each) for name, each in ENCODED.items()),
    *(inside("sibling", name, *each) for name, each in SIBLINGS.items()),
    inside("empty", "a block without a byte", block(CODE + 4, 0)),
    beside("empty", "a function without a byte", function(CODE + 4, "data4", 0)),
    inside("empty", "a block with an empty list", die("lexical_block", ("ranges", "sec_offset", 12)),
           sections={".debug_rnglists": contribution(rnglist("end_of_list"), count=0)}),
    beside("overlap", "a function in another one", function(CODE + 4, "data4", 8)),
    beside("overlap", "one that goes on in the next", function(CODE, "data4", SIZE // 2)),
    *(inside("attribute-class", f"class {n} of a variable", each) for n, each in enumerate(CLASSES)),
    *(of_kernel("attribute-class", f"{each[0]} with {each[1]}", each) for each in OF_KERNEL),
    of_unit("attribute-class", "a line table by flag", ("stmt_list", "flag_present")),
    of_unit("attribute-class", "a base of addresses by string", ("addr_base", "string", "x")),
    *(beside("attribute-missing", name, each) for name, each in MISSING.items()),
    inside("attribute-missing", "an inlined call of nothing", die("inlined_subroutine")),
    inside("attribute-missing", "a parameter of a call without a place", die("call_site", die("call_site_parameter"))),
    inside("form-version", "a flag in version 3", at_place("a", ("external", "flag_present")), version=3),
    of_unit("form-version", "a constant in version 4", ("decl_line", "implicit_const", 7), version=4),
    patched("after-end", "a unit entry without children", b"\x11\1\x03\x08", b"\x11\0\x03\x08", variable("a")),
    patched("no-end", "a variable with children", b"\x34\0\x03\x08", b"\x34\1\x03\x08", variable("a")),
    *(beside("parent", name, F, each) for name, each in PARENTS.items()),
    inside("parent", "a parameter in a call", die("call_site", die("call_site_parameter", PLACE, LABEL))),
    *(beside("attribute-owner", name, each) for name, each in OWNERS.items()),
    *(inside("reference", name, each) for name, each in REFERENCES.items()),
    inside("reference-tag", "a variable as a type", variable("b"), die("variable", named("a"), typed("b"), label="b")),
    inside("reference-tag", "a variable as a parameter", die("formal_parameter", ("abstract_origin", "ref4", "b")),
           die("variable", named("b"), typed("int"), label="b")),
    beside("reference-tag", "a function as a type", F, die("variable", named("a"), typed("f"))),
    beside("reference-tag", "a type that is completed by a function", completed("specification", "int")),
    beside("reference-tag", "an object pointer to a type",
           die("subprogram", named("g"), ("object_pointer", "ref4", "int"))),
    inside("reference-tag", "a call of a type", die("call_site", ("call_origin", "ref4", "int"))),
    beside("reference-tag", "a pointer to a member of a function", F, MEMBER_OF_F),
    beside("reference-cycle", "a typedef of itself", die("typedef", named("t"), typed("t"), label="t")),
    beside("reference-cycle", "two that are const of each other", die("const_type", typed("v"), label="c"),
           die("volatile_type", typed("c"), label="v")),
    beside("reference-cycle", "a function that completes itself", completed("specification", "g")),
    beside("reference-cycle", "an origin that is its own", completed("abstract_origin", "g")),
    *(beside("value-unknown", name, each) for name, each in VALUES.values()),
    of_unit("value-unknown", "letters of case 7", ("identifier_case", "data1", 7)),
    of_kernel("value-unknown", "inlined in the way 9", ("inline", "data1", 9)),
    of_kernel("lanes", "none", ("LLVM_lanes", "data1", 0)),
    of_kernel("lanes", "minus one", ("LLVM_lanes", "sdata", -1)),
    of_kernel("lanes-of-target", "128 of 64", ("LLVM_lanes", "data1", 128)),
    of_kernel("lanes-of-target", "1024 of 64", ("LLVM_lanes", "udata", 1024)),
    beside("vector-size", "none", base(("LLVM_vector_size", "data1", 0))),
    beside("vector-size", "minus two", base(("LLVM_vector_size", "sdata", -2))),
    beside("address-space", "of a pointer", pointer(("LLVM_address_space", "data1", 99))),
    beside("address-space", "of a reference",
           die("reference_type", typed("int"), ("LLVM_address_space", "udata", 777))),
    beside("address-space", "by class", pointer(("address_class", "data4", 99))),
    beside("memory-space", "of a variable", at_place("a", ("LLVM_memory_space", "udata", 99))),
    beside("memory-space", "of a pointer", pointer(("LLVM_memory_space", "data1", 88))),
    inside("ranges-and-pc", "of a block",
           die("lexical_block", ("low_pc", "addr", CODE), ("high_pc", "data4", 4), ("ranges", "sec_offset", 12)),
           sections={".debug_rnglists": contribution(RANGES, count=0)}),
    inside("pc-alone", "the end of a block", die("lexical_block", ("high_pc", "data4", 4))),
    beside("pc-alone", "the end of a function", die("subprogram", named("g"), ("high_pc", "addr", CODE))),
    inside("pc-alone", "the start of a block", die("lexical_block", ("low_pc", "addr", CODE))),
    beside("pc-alone", "the start of a function", die("subprogram", named("g"), ("low_pc", "addr", CODE))),
    patched("unit-type", "partial", b"\5\0\1\x08", b"\5\0\3\x08", variable("a")),
    *(beside("attribute-tag", name, each) for name, each in ELSEWHERE.items()),
    beside("completed", "a definition", F, completed("specification", "f")),
    inside("completed", "what completes another entry", CONCRETE, die("variable", ("abstract_origin", "ref4", "v")),
           types=FUNCTIONS),
    inside("origin-function", "a variable of no function", *of_two("f", "d"), types=[*FUNCTIONS, D]),
    inside("completed", "a function that is not inlined", CALLED, types=[die("subprogram", named("f"), label="f")]),
    beside("symbol-address", "of a variable", variable_at(CODE + 16), symbols=("k", "v")),
    beside("external", "a function", function(CODE, "data4", SIZE, ("frame_base", "exprloc", V0)), symbols=("k", "g")),
    inside("local-overlap", "two numbers", *LOCALS, attributes=[("frame_base", "exprloc", V0)]),
    beside("reference-tag", "an import of a block", die("subprogram", die("lexical_block", label="b")),
           die("imported_declaration", ("import", "ref4", "b"))),
    beside("member-outside", "without a place",
           die("union_type", ("byte_size", "data1", 2), die("member", typed("int")))),
    beside("declaration", "of a function", die("subprogram", named("g"), *SAME_CODE, ("declaration", "flag_present"))),
    beside("declaration", "of a structure", die("structure_type", FOUR_BYTES, ("declaration", "flag_present"))),
    inside("range-reversed", "of a block",
           die("lexical_block", ("low_pc", "addr", CODE + 8), ("high_pc", "addr", CODE))),
    beside("range-reversed", "of a function", function(CODE + 8, "addr", CODE)),
    inside("range-outside", "a block behind its function", block(CODE + SIZE, 4)),
    inside("range-outside", "a block that ends too late", block(CODE + SIZE - 4, 8)),
    of_unit("range-outside", "a function behind its unit", ("low_pc", "addr", CODE), ("high_pc", "data4", SIZE - 4),
            has_base=False),
    beside("pc-outside", "of a function", ENTERED),
    inside("pc-outside", "of an inlined call", *INLINED, types=FUNCTIONS),
    inside("pc-outside", "of an inlined call without code",
           die("inlined_subroutine", ("abstract_origin", "ref4", "f"), PAST_ENTRY), types=FUNCTIONS),
    beside("address", "of a variable, in no section", variable("a", location=b"\3" + (1 << 40).to_bytes(8, "little"))),
    beside("not-in-code", "a function of nowhere", function(0x900000, "data4", 4)),
    beside("not-in-code", "a function that ends too late", function(CODE, "data4", SIZE + 4)),
    inside("location-and-constant", "of a variable", at_place("a", PLACE, ("const_value", "data1", 1))),
    inside("location-and-constant", "of a parameter",
           die("formal_parameter", named("a"), typed("int"), ("const_value", "data1", 1), PLACE)),
    inside("string", "past its section", die("variable", ("name", "strp", 0xFFFF), typed("int"))),
    inside("string", "of lines past its section", die("variable", ("name", "line_strp", 0xFFFF), typed("int"))),
    inside("string", "without a table", die("variable", ("name", "strx1#", 7), typed("int"))),
    inside("address", "behind all sections", die("label", named("l"), ("low_pc", "addrx", 0x900000)),
           unit_attributes=[("addr_base", "sec_offset", "addresses")]),
    inside("address", "without a table", die("label", named("l"), ("low_pc", "addrx#", 7))),
    inside("attribute-twice", "a name", die("variable", named("a"), named("b"), typed("int"))),
    inside("attribute-twice", "a line", at_place("a", ("decl_line", "data1", 1), ("decl_line", "data1", 1))),
    beside("pointer-size", "8 bytes into 32 bits", pointer(("byte_size", "data1", 8), ("address_class", "data1", 3))),
    beside("pointer-size", "4 bytes into 64 bits", pointer(FOUR_BYTES, ("LLVM_address_space", "data1", 1))),
    beside("member-outside", "behind its structure", with_member("structure_type", 8, "data1", 9)),
    beside("member-outside", "at its end", with_member("structure_type", 8, "data1", 8)),
    beside("member-outside", "with its last bytes", with_member("structure_type", 8, "data1", 5)),
    beside("member-outside", "of a union", with_member("union_type", 4, "udata", 64)),
    beside("member-overlap", "two numbers", beside_each_other((0, "int"), (2, "int"))),
    beside("member-overlap", "one in front", beside_each_other((8, "int"), (0, "int"), (3, "char"), form="udata")),
    beside("bit-size", "40 bits of an int", die("structure_type", ("byte_size", "data1", 8), WIDE)),
    beside("bit-size", "a type of 9 bits in a byte", numbers("t", 7, 1, ("bit_size", "data1", 9))),
    inside("call-outside", "back to where the function begins", die("call_site", ("call_return_pc", "addr", CODE))),
    inside("call-outside", "in the next function", die("call_site", ("call_pc", "addr", CODE + SIZE))),
    inside("call-outside", "of DWARF 4", die("GNU_call_site", ("low_pc", "addr", CODE + SIZE + 1))),
    inside("origin-function", "of a variable", *of_two("f", "f1", "g1"), types=FUNCTIONS),
    beside("unknown-tag", "a number of nobody", die(0x7F, named("t"))),
    of_unit("augmentation", "without brackets", ("LLVM_augmentation", "string", "amdgpu"), producer=CLANG_14),
    of_unit("augmentation", "without a version", ("LLVM_augmentation", "string", "[amdgpu]"), producer=CLANG_14),
)  # fmt: skip
