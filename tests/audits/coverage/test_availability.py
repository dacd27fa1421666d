import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.availability import FileAvailability
from dwarfgpu.audits.coverage.code_scope import CodeScope, distinct_names
from dwarfgpu.audits.coverage.kinds import NO_LOCATION
from dwarfgpu.audits.coverage.sums import file_coverage
from dwarfgpu.audits.coverage.tally import Tally
from dwarfgpu.objfile.info.scopes import ranges_of
from dwarfgpu.objfile.opening import open_image
from dwarfgpu.program.code.code_object import AUTO, OFF, CodeObject, opened
from dwarfgpu.program.code.loaded import location_list
from tests.builders.commands import run
from tests.builders.dwarf import die
from tests.builders.hostile import CODE, SIZE, gpu, named, ops, typed, variable
from tests.builders.lists import loclist, rnglist
from tests.builders.parameters import for_each, some_slow, told

FIXTURES = Path("fixtures")
REGISTER = ops("DW_OP_regx s4").hex()
LANE = ops("DW_OP_regx v0; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset").hex()
VALUE = ops("DW_OP_lit1; DW_OP_stack_value").hex()
UNDEFINED = ops("DW_OP_LLVM_undefined").hex()


def listed(name: str, offset: int = 0):
    return die("variable", named(name), typed("int"), ("location", "sec_offset", offset))


def records(*locals, repair=OFF, **options):
    return {record.name: record for record in all_records(*locals, repair=repair, **options)}


def all_records(*locals, repair=OFF, **options):
    return list(FileAvailability(opened(gpu(*locals, **options)), repair=repair))


def in_list(*entries, repair=OFF):
    """The record of a variable with a list; addresses count from the beginning of the kernel."""
    moved = [
        (kind, *(value + CODE if index < 2 and isinstance(value, int) else value for index, value in enumerate(rest)))
        for kind, *rest in entries
    ]
    return records(listed("x"), extra={".debug_loclists": loclist(*moved, ("end_of_list",))}, repair=repair)["x"]


def sums(record):
    return dict(record.written), dict(record.missing)


@pytest.mark.parametrize("text,kind", told("""
    DW_OP_regx s4 | DW_OP_regx v0; DW_OP_LLVM_push_lane; DW_OP_lit2; DW_OP_shl; DW_OP_LLVM_offset -> register
    DW_OP_lit16; DW_OP_lit3; DW_OP_LLVM_form_aspace_address -> memory local
    DW_OP_lit16; DW_OP_lit5; DW_OP_LLVM_form_aspace_address -> memory private_lane
    DW_OP_lit16; DW_OP_lit6; DW_OP_LLVM_form_aspace_address; DW_OP_lit4; DW_OP_LLVM_offset -> memory private_wave
    DW_OP_lit16; DW_OP_bregx s4+0; DW_OP_LLVM_form_aspace_address | DW_OP_call_frame_cfa -> memory
    DW_OP_lit1; DW_OP_stack_value | DW_OP_implicit_value 01020304 -> implicit
    DW_OP_regx s4; DW_OP_piece 4; DW_OP_regx s5; DW_OP_piece 4 -> composite
    DW_OP_regx s4; DW_OP_piece 4; DW_OP_piece 4 | DW_OP_regx s4; DW_OP_piece 4; DW_OP_LLVM_undefined; DW_OP_piece 4
        -> partial composite
    DW_OP_push_object_address |
        DW_OP_bregx s4+0; DW_OP_bra @else; DW_OP_regx s4; DW_OP_skip @end; else: DW_OP_lit1; DW_OP_stack_value; end:
        -> open
    DW_OP_addr 0x10000 | DW_OP_lit16 -> memory global
    """))  # fmt: skip
def test_the_kind_is_told_from_the_operations(text, kind):
    record = records(variable("x", location=text))["x"]
    assert sums(record) == ({kind: SIZE}, {})
    assert record.located == record.size == SIZE


@for_each(
    "data,reason",
    (ops("DW_OP_LLVM_undefined"), "undefined"),             (ops("DW_OP_piece 4; DW_OP_piece 4"), "undefined"),
    (b"", "empty expression"),  (ops("DW_OP_plus"), "ill-formed"),                      (b"\x01", "ill-formed"),
    (ops("DW_OP_fbreg 8"), "ill-formed"),  # no frame base
)  # fmt: skip
def test_an_expression_may_say_that_there_is_no_location(data, reason):
    assert sums(records(variable("x", location=data))["x"]) == ({}, {reason: SIZE})


@for_each("base,kind",
    ("DW_OP_regx s33", "memory global"),  # the address in it (A.3.3.5 (2))
    ("DW_OP_lit0; DW_OP_lit5; DW_OP_LLVM_form_aspace_address", "memory private_lane"),
    ("DW_OP_call_frame_cfa", "memory"))  # fmt: skip
def test_what_counts_from_the_frame_base_is_where_that_is(base, kind):
    attributes = [("frame_base", "exprloc", ops(base))]
    assert sums(records(variable("x", location="DW_OP_fbreg 8"), attributes=attributes)["x"]) == ({kind: SIZE}, {})


def test_written_and_repaired_kinds_are_told_apart():
    text = "DW_OP_fbreg 8; DW_OP_lit5; DW_OP_swap; DW_OP_xderef"
    attributes = [("frame_base", "exprloc", ops("DW_OP_regx s33"))]
    (record,) = all_records(variable("x", location=text), attributes=attributes, repair=AUTO)
    assert dict(record.written) == {"memory global": SIZE}
    assert dict(record.repaired) == {"memory private_lane": SIZE}
    assert record.repairs == ("private-variable",)


def test_a_constant_a_copy_and_no_attribute():
    constant = die("variable", named("x"), typed("int"), ("const_value", "data1", 5))
    assert sums(records(constant)["x"]) == ({"constant": SIZE}, {})
    assert sums(records(die("variable", named("x"), typed("int")))["x"]) == ({}, {"no location": SIZE})


def test_code_before_between_and_after_the_entries():
    record = in_list(("start_end", 0x10, 0x20, REGISTER), ("start_end", 0x30, 0x40, VALUE))
    assert dict(record.written) == {"register": 0x10, "implicit": 0x10}
    expected = {"before its first entry": 0x10, "after its last entry": SIZE - 0x40, "between its entries": 0x10}
    assert dict(record.missing) == expected
    assert [(span.low - CODE, span.high - CODE, span.written, span.reason) for span in record.spans()] == [
        (0, 0x10, None, "before its first entry"),             (0x10, 0x20, "register", None),
        (0x20, 0x30, None, "between its entries"),             (0x30, 0x40, "implicit", None),
        (0x40, SIZE, None, "after its last entry")]  # fmt: skip


@for_each("entries, written, missing",
    ([("start_end", 0x10, 0x20, REGISTER), ("default_location", VALUE)], {"register": 16, "implicit": SIZE - 16}, {}),
    (
        [("start_end", 0, 0x80, REGISTER), ("start_end", 0x40, SIZE, VALUE)],
        {"register": 0x40, "several": 0x40, "implicit": SIZE - 0x80},
        {},
    ),
    ([("start_end", 0, SIZE, REGISTER), ("start_end", 0, SIZE, LANE)], {"register": SIZE}, {}),  # one kind twice
    (
        [("start_end", 0, 0x40, ""), ("start_end", 0x40, SIZE, UNDEFINED)],
        {},
        {"empty expression": 0x40, "undefined": SIZE - 0x40},
    ),
    # An entry that reaches out of the scope counts within.
    ([("start_end", 0x80, 0x1000, REGISTER)], {"register": SIZE - 0x80}, {"before its first entry": 0x80}),
    ([], {}, {"list without entries": SIZE}))  # fmt: skip
def test_entries_of_a_list(entries, written, missing):
    assert sums(in_list(*entries)) == (written, missing)


def test_lists_of_other_addresses_broken_and_long():
    record = in_list(("start_end", 0x1000, 0x2000, REGISTER))
    assert sums(record) == ({}, {"list has other addresses": SIZE})
    assert [span.reason for span in record.spans()] == ["list has other addresses"]
    assert sums(records(listed("x"), extra={".debug_loclists": b"\x07\x00"})["x"]) == ({}, {"list is broken": SIZE})
    entries = [("start_length", CODE + i % SIZE, 1, REGISTER) for i in range(5000)]
    record = records(listed("x"), extra={".debug_loclists": loclist(*entries, ("end_of_list",))})["x"]
    assert sums(record) == ({"register": SIZE}, {})


def block(*parts, low=None, high=None):
    places = () if low is None else (("low_pc", "addr", CODE + low), ("high_pc", "data4", high - low))
    return die("lexical_block", *places, *parts)


def test_a_scope_may_begin_later_or_be_a_block():
    x, y, z = (variable(name, location="DW_OP_regx s4") for name in "xyz")
    known = records(x, block(y, block(z), low=0x10, high=0x30))
    assert [known[name].size for name in "xyz"] == [SIZE, 0x20, 0x20]
    late = die("variable", named("x"), typed("int"), ("start_scope", "data1", 0x40),
               ("location", "exprloc", ops("DW_OP_regx s4")))  # fmt: skip
    record = records(late)["x"]
    assert record.size == SIZE - 0x40
    assert sums(record) == ({"register": SIZE - 0x40}, {})


def test_overlapping_ranges_of_a_scope_count_once():
    ranges = rnglist(
        ("start_length", CODE, 0x20), ("start_length", CODE + 0x10, 0x20), ("start_length", CODE, 0), ("end_of_list",)
    )
    inner = die("lexical_block", ("ranges", "sec_offset", 0), variable("x", location="DW_OP_regx s4"))
    record = records(inner, extra={".debug_rnglists": ranges})["x"]
    assert record.size == 0x30
    assert [(span.low - CODE, span.high - CODE) for span in record.spans()] == [(0, 0x30)]


@pytest.mark.parametrize("low", [CODE, (1 << 64) - 1, (1 << 64) - 2])
def test_a_call_without_code_has_no_variables(low):
    size = 0 if low == CODE else 0x10
    file = opened(gpu(die("inlined_subroutine", ("low_pc", "addr", low), ("high_pc", "data4", size), variable("x"))))
    available = FileAvailability(file)
    assert list(available) == []
    assert available.scopes_without_code == 1
    assert file_coverage(file).sum.share is None


def test_variables_outside_of_functions_are_somewhere_or_nowhere():
    data = gpu(types=[variable("x", location="DW_OP_addr 0x10000"), die("variable", named("y"), typed("int")),
                      die("variable", named("z"), ("declaration", "flag_present"))])  # fmt: skip
    coverage = file_coverage(opened(data))
    assert (coverage.sum.statics, coverage.sum.statics_located, coverage.sum.variables) == (2, 1, 0)


def abstract(*variables, label="f"):
    return die("subprogram", named("f"), ("inline", "data1", 1), *variables, label=label)


def call(*parts, label="f", form="ref4"):
    return die("inlined_subroutine", ("abstract_origin", form, label), ("low_pc", "addr", CODE + 0x10),
               ("high_pc", "data4", 0x20), *parts)  # fmt: skip


X = die("variable", named("x"), typed("int"), label="x")
Y = die("variable", named("y"), typed("int"), label="y")


@pytest.mark.parametrize("is_first", [False, True])
def test_what_a_copy_leaves_out_is_missing_in_it(is_first):
    copy = call(die("variable", ("abstract_origin", "ref4", "x"), ("location", "exprloc", ops("DW_OP_regx s4"))))
    if is_first:
        known = records(copy, types=[abstract(X, die("lexical_block", Y))])
    else:
        known = records(copy, abstract(X, die("lexical_block", Y)))
    assert sums(known["x"]) == ({"register": 0x20}, {})
    assert sums(known["y"]) == ({}, {"not in this copy": 0x20})
    assert known["x"].calls == known["y"].calls == ("k", "f")


def test_code_in_an_abstract_instance_ends_before_the_rest_of_it():
    inside = die("subprogram", named("inside"), ("low_pc", "addr", CODE + 0x40), ("high_pc", "data4", 0x10), X)
    known = all_records(call(), types=[abstract(inside, Y)])
    expected = [("x", "local", ({}, {"no location": 0x10})), ("y", "local", ({}, {"not in this copy": 0x20}))]
    assert [(record.name, record.kind, sums(record)) for record in known] == expected


def test_a_copy_takes_over_the_location_of_the_abstract_instance():
    static = die("variable", named("x"), typed("int"), ("location", "exprloc", ops("DW_OP_addr 0x10000")), label="x")
    record = records(call(die("variable", ("abstract_origin", "ref4", "x"))), types=[abstract(static)])["x"]
    assert sums(record) == ({"memory global": 0x20}, {})


def test_a_circle_of_abstract_origins_ends():
    first = die("variable", ("abstract_origin", "ref4", "b"), label="a")
    second = die("variable", ("abstract_origin", "ref4", "a"), label="b")
    outer = die("inlined_subroutine", ("abstract_origin", "ref4", "self"), ("low_pc", "addr", CODE),
                ("high_pc", "data4", 8), first, second, label="self")  # fmt: skip
    file = opened(gpu(outer))
    found = list(FileAvailability(file))
    assert [sums(record) for record in found] == [({}, {"list is broken": 8})] * 2
    assert any(error.kind == "reference_cycle" for error in file.dwarf.problems)
    assert {record.name for record in found} == {"(unreadable)"}


def test_a_reference_to_nowhere_hides_nothing_else():
    found = all_records(die("variable", ("abstract_origin", "ref4#", 0xFFFF)), variable("y", location="DW_OP_regx s4"))
    assert [dict(record.written) for record in found] == [{}, {"register": SIZE}]


@pytest.mark.slow
def test_copies_without_end_are_bounded():
    variables = [die("variable", named(f"x{i}"), typed("int")) for i in range(3000)]
    file = opened(gpu(*(call() for _ in range(3000)), types=[abstract(*variables)]))
    assert sum(1 for _ in FileAvailability(file)) < 2_000_000
    assert any(error.kind == "limit_exceeded" for error in file.dwarf.problems)


SAMPLES = (
    *("amdgpu/hip-kernels.gfx90a.w64.O2.v5.co", "amdgpu/cl-kernels.gfx1100.w32.O2.v4.co"),
    *("llvm24/hip-calls.gfx942.w64.O2.co", "compilers/cl.clang13.gfx900.w64.O2.v5.co"),
    *("compilers/hip.clang16.gfx1100.w32.O2.v5.co", "host/optimized.gcc.O2.v5.x86_64"),
    *("host/classes.clang.O2.v5.x86_64", "features/split.v5.co"))  # fmt: skip
EVERY = [path for folder in ("amdgpu", "compilers", "llvm24", "host", "asm", "features")
         for path in sorted((FIXTURES / folder).iterdir())]  # fmt: skip


def exact(record) -> tuple[int, int]:
    """How many addresses of the scope have an entry with a location, each asked for by the exact readers."""
    die = record.die
    if record.reason == "not in this copy":
        return 0, sum(high - low for low, high in ranges_of(record.scope.die))
    owner = next((each for each in die.ancestors() if ranges_of(each)), None)
    addresses = {address for low, high in ranges_of(owner) for address in range(low, high)}
    location = die.find_number(dw.DW_AT_location)
    if location is None:
        return (len(addresses) if die.find_number(dw.DW_AT_const_value) is not None else 0), len(addresses)
    meanings = {meaning.written for _low, _high, meaning in record.entries}
    if location.value_class != "loclist":
        return (0 if meanings & NO_LOCATION else len(addresses)), len(addresses)
    listed = location_list(location)
    assert len(listed.entries) == len(record.entries)
    kinds = {id(entry): mine[2].written for entry, mine in zip(listed.entries, record.entries, strict=True)}
    return sum(
        any(kinds[id(entry)] not in NO_LOCATION for entry in listed.matching(address)) for address in addresses
    ), len(addresses)


def check(path: Path) -> None:
    for record in FileAvailability(opened(str(path))):
        if record.scope is None or record.reason == "list is broken":
            continue
        assert (record.located, record.size) == exact(record), record.name
        spans = list(record.spans())
        assert sum(span.high - span.low for span in spans) == record.size
        for kinds, name in ((record.written, "written"), (record.repaired, "repaired"), (record.missing, "reason")):
            counted: dict[str, int] = {}
            for span in spans:
                kind = getattr(span, name)
                if kind is not None:
                    counted[kind] = counted.get(kind, 0) + span.high - span.low
            assert counted == {kind: count for kind, count in kinds if count}, record.name


@pytest.mark.parametrize("path", some_slow(EVERY, quick=[FIXTURES / name for name in SAMPLES]), ids=str)
def test_sums_are_those_of_asking_for_every_address(path):
    check(path)


def counted(content):
    """The sums over a file, its units and its functions, the repairs, and the problems."""
    coverage = file_coverage(opened(content))
    units = [(unit.name, unit.sum) for unit in coverage.units]
    functions = [(function.unit.offset, function.offset, function.sum) for function in coverage.functions]
    return coverage.sum, units, functions, coverage.repairs, [str(problem) for problem in coverage.problems]


def check_sum(content) -> None:
    """Check that the sum over a file is that over its records, as other questions make it."""
    tally = Tally()
    for record in FileAvailability(opened(content)):
        tally.add(record)
    assert counted(content)[0] == tally.sum()


@pytest.mark.parametrize("name", SAMPLES)
def test_sums_of_a_file_are_those_of_its_records(name):
    check_sum(str(FIXTURES / name))


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES[:5])
def test_sums_of_damaged_files_are_those_of_their_records(name):
    whole = (FIXTURES / name).read_bytes()
    image = open_image(str(FIXTURES / name))
    sections = [image.section(kind) for kind in (".debug_info", ".debug_loclists", ".debug_rnglists", ".debug_loc")]
    places = [place for found in sections if found for place in range(found.offset, found.offset + found.size)]
    random = Random(name)
    for _ in range(40):
        damaged = bytearray(whole)
        for place in random.sample(places, random.randint(1, 4)):
            damaged[place] = random.randrange(256)
        check_sum(bytes(damaged))


def test_copies_before_an_entry_that_cannot_be_read_are_counted():
    last = die("variable", named("last"), typed("int"))
    data = bytearray(gpu(call(), last, types=[abstract(X, Y)]))
    at = data.index(b"last\0")
    assert counted(bytes(data))[0].missing == (("no location", SIZE), ("not in this copy", 0x40))
    data[at - 1] = 0x7F  # an abbreviation that does not exist
    found = counted(bytes(data))
    assert found[0].missing == (("not in this copy", 0x40),)
    assert found[4]


def test_a_repaired_variable_that_begins_later_counts_once():
    late = die("variable", named("x"), typed("int"), ("start_scope", "data1", 0x40),
               ("location", "exprloc", ops("DW_OP_regx v0")))  # fmt: skip
    assert counted(gpu(late, variable("y", location="DW_OP_regx v0")))[3] == (("whole-vector-register", 2),)


def test_scopes_of_any_size_do_not_touch_the_number_of_variables():
    huge = (1 << 63) + 5
    function = die("subprogram", named("f"), ("low_pc", "addr", 0x100), ("high_pc", "data8", huge), *(
        variable(f"x{number}", location="DW_OP_regx s4") for number in range(300)
    ))  # fmt: skip
    total = counted(gpu(types=[function]))[0]
    assert (total.variables, total.whole, total.size) == (300, 300, 300 * huge)


def test_functions_of_one_name_are_told_apart_by_their_linkage_names():
    def function(name: str, linkage: str | None, low: int) -> CodeScope:
        entry = die("subprogram", named(name), *((("linkage_name", "string", linkage),) if linkage else ()))
        file = CodeObject(open_image(gpu(types=[entry]), name="test"))
        (found,) = [one for unit in file.dwarf.units for one in unit.dies() if one.name == name]
        return CodeScope(found.unit, found.offset, dw.DW_TAG_subprogram, None, [(low, low + 4)])

    functions = [function("f", "_Z1fi", 0), function("f", None, 4), function("f", "f", 8), function("g", "_Z1gv", 12)]
    assert [*distinct_names(functions).values()] == ["f (_Z1fi)", "f", "f", "g"]


@given(st.lists(st.integers(0x80, 0x3FFF), min_size=2, max_size=12, unique=True), st.integers(0, 0x5000))
def test_bytes_of_code_below_an_address(numbers, address):
    edges = sorted(numbers)
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    size = sum(high - low for low, high in spans)
    scope = CodeScope(None, 0, dw.DW_TAG_subprogram, None, spans)
    assert scope.before(address) == sum(low <= place < high for low, high in spans for place in range(low, address))
    assert scope.before(1 << 40) == size
    assert scope.spans == spans


def test_no_code_is_below_any_address():
    assert CodeScope(None, 0, dw.DW_TAG_subprogram, None, ()).before(0x1000) == 0


EXPRESSIONS = (
    "DW_OP_regx s4",
    "DW_OP_reg0",  # the target has no register 0
    "DW_OP_plus",                "DW_OP_regx s4; DW_OP_lit2; DW_OP_LLVM_offset",           "DW_OP_addr 0x10000",
    "DW_OP_lit16",               "DW_OP_lit16; DW_OP_lit4; DW_OP_plus",
    "DW_OP_lit16; DW_OP_lit0; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit16; DW_OP_lit1; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit16; DW_OP_lit2; DW_OP_LLVM_form_aspace_address",
    "DW_OP_lit1; DW_OP_bra @a; DW_OP_regx s4; DW_OP_skip @b; a: DW_OP_lit1; DW_OP_stack_value; b:",
    "DW_OP_lit1; DW_OP_stack_value",                          "DW_OP_implicit_value 01020304",
    "DW_OP_LLVM_undefined",
    "DW_OP_lit1; DW_OP_lit2; DW_OP_drop; DW_OP_drop; DW_OP_LLVM_undefined",
    "DW_OP_regx s4; DW_OP_piece 4; DW_OP_regx s5; DW_OP_piece 4",
    "DW_OP_regx s4; DW_OP_piece 4; DW_OP_piece 4",
    "DW_OP_piece 4; DW_OP_lit1; DW_OP_stack_value; DW_OP_piece 4",
    "DW_OP_regx s4; DW_OP_regx s5; DW_OP_swap; DW_OP_drop")  # fmt: skip


def evaluated(text: str) -> str:
    options = ("--target", "amdgcn-gfx90a", "--want", "location", "--json")
    document = json.loads(run("eval", "--ops", text, *options).stdout)
    if document["status"] != "ok":
        return "ill-formed"
    result = document["result"]
    kind = result["kind"]
    if kind == "memory":
        return f"memory {result['space_name']}"
    if kind == "composite" and any(part["location"]["kind"] == "undefined" for part in result["parts"]):
        return "partial composite"
    return kind


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_kind_is_that_of_the_evaluated_location(text):
    (record,) = FileAvailability(opened(gpu(variable("x", location=text))), repair=OFF)
    (told,) = [kind for kind, _count in (*record.written, *record.missing)]
    assert told == evaluated(text)
