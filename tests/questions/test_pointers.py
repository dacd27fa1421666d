"""Pointers into address spaces, as clang writes them: compiled kernels, and the memory that their code leaves."""

import json

import pytest

from dwarfgpu.targets.resolve import resolve
from tests.builders.address_spaces import BASE, LOCAL, PRIVATE, SHARED, StoppedKernel, hip, optimized
from tests.builders.declared import GFX90A, at_data, named, program, typed
from tests.builders.dwarf import die
from tests.builders.parameters import every, for_each
from tests.questions.harness import Run

PROCESSORS = ["gfx90a", "gfx1100-wave32", "gfx1100-wave64", "gfx1200-wave32", "gfx1200-wave64"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, require_tool):
    """Returns the program of a processor, compiled once."""
    known: dict[str, StoppedKernel] = {}

    def get(processor: str = "gfx1100-wave32") -> StoppedKernel:
        if processor not in known:
            known[processor] = StoppedKernel(tmp_path_factory.mktemp("pointers"), require_tool, processor)
        return known[processor]

    return get


@pytest.fixture
def stopped(compiled):
    """Returns a debugger that looks at lane 5 of the function f."""

    def get(processor: str = "gfx1100-wave32", lane: int = 5) -> Run:
        program = compiled(processor)
        run = Run(program.path, program.state)
        run(f"lane {lane}")
        return run

    return get


def values(run: Run, *expressions: str) -> list[str]:
    """What `print` shows, without the numbers of the history."""
    return [run(f"output {expression}").strip() for expression in expressions]


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.sampled(6)
def test_pointers_have_the_size_and_the_place_that_the_code_stores(compiled, stopped, processor):
    """DWARF says nothing of their size; the disassembly shows the stride of arrays and the places of members."""
    program, run = compiled(processor), stopped(processor)
    for name, count, size in (("arr", 3, 4), ("la", 2, 4), ("null_local", 1, 4), ("null_private", 1, 4)):
        at = program.offsets[name]
        assert program.stores(at, count * size) == {at + i * size: size for i in range(count)}
        assert values(run, f"sizeof({name})", f"sizeof {name} / {count}") == [str(count * size), str(size)]
    assert values(run, "sizeof(n)", "sizeof(m)", "sizeof(n.p)", "sizeof(m.any)", "sizeof gen") == [
        "12", "32", "4", "8", "8"]  # fmt: skip
    spaces = ("local", "private_lane", "region", "private_wave", "private_lane3")
    assert values(run, *(f"sizeof(int @{space} *)" for space in spaces)) == ["4"] * 5
    assert values(run, "sizeof(int @global *)", "sizeof(int @generic *)", "sizeof(int *)", "sizeof(&n)") == [
        "8", "8", "8", "4"]  # fmt: skip
    at, run = compiled(processor).offsets, stopped(processor)
    a, b, c = (f"private_lane#{at[name]:#x}" for name in "abc")
    assert values(run, "arr", "*arr[0]", "*arr[1]", "**(arr + 2)") == [f"{{{a}, {b}, {c}}}", "105", "205", "305"]
    assert values(run, "la", "*la[1]", "la[1] - la[0]") == ["{local#0x20, local#0x24}", "5", "1"]
    assert values(run, "n") == [f"{{p = {b}, v = 7, q = local#0x28}}"]
    assert values(run, "*n.p", "n.v", "*n.q", "m.n.v", "*m.g", "*m.any") == ["205", "7", "6", "7", "99", "4"]
    assert values(run, "*shared@3", "shared[1]", "*(shared + 2)") == ["{4, 5, 6}", "5", "6"]


def test_ptype_o_shows_the_places_of_members_behind_pointers(stopped):
    assert stopped()("ptype/o struct N") == (
        "/* offset      |    size */  type = struct N {\n"
        "/*      0      |       4 */    private int *p;\n"
        "/*      4      |       4 */    int v;\n"
        "/*      8      |       4 */    local int *q;\n"
        "\n"
        "                               /* total size (bytes):   12 */\n"
        "                             }\n"
    )


def test_pointers_are_shown_counted_and_compared_in_their_address_space(stopped):
    run = stopped()
    assert values(run, "null_local", "null_private", "null_generic") == [
        "(int *) local#0xffffffff", "(int *) private_lane#0xffffffff", "(int *) generic#0x0",
    ]  # fmt: skip
    assert values(run, "(int @local *) -1", "(int @generic *) -1") == [
        "(int *) local#0xffffffff", "(int *) generic#0xffffffffffffffff",
    ]  # fmt: skip
    assert values(run, "shared - 9", "(int @local *) 0 - 1", "&shared[1] - shared") == [
        "(int *) local#0xfffffffc", "(int *) local#0xfffffffc", "1",
    ]  # fmt: skip
    run = stopped()
    assert values(run, "gen == shared", "shared == gen", "gen != shared + 1", "gen < shared + 1", "genp == arr[0]") == [
        "1", "1", "1", "1", "1"]  # fmt: skip
    assert values(run, "shared + 2 - gen", "gen - (shared + 2)", "genp - arr[1]", "out == (int @generic *) 0x1000") == [
        "2", "-2", "-1", "1"]  # fmt: skip
    expected = ["1", "0", "1", "1"]
    assert values(run, "shared == 0x20", "shared == 0x100000020", "null_local == -1", "shared > 8") == expected
    for expression in ("shared == arr[0]", "shared - arr[0]", "shared < out", "out - shared"):
        assert run.fails(f"print {expression}").kind == "address_space_mismatch"


def test_what_is_behind_a_pointer_is_assigned(compiled, stopped):
    b, c = (f"private_lane#{compiled().offsets[name]:#x}" for name in "bc")
    run = stopped()
    assert values(run, "arr[0] = arr[2]", "arr", "n.p = arr[2]", "n.v") == [
        f"(int *) {c}", f"{{{c}, {b}, {c}}}", f"(int *) {c}", "7"]  # fmt: skip
    a, run = compiled().offsets["a"], stopped()
    assert values(run, f"*(int *) private_lane#{a:#x} = 42", "a", f"&*(int *) private_lane#{a:#x}") == [
        "42", "42", f"(int *) private_lane#{a:#x}",
    ]  # fmt: skip
    assert values(run, "*(int *) local#0x20 = 77", "*shared", "*gen = 78", "*shared") == ["77", "77", "78", "78"]
    assert values(run, "&arr", "&arr[1]", "*&arr[1] == arr[1]") == [
        f"(int *(*)[3]) private_lane#{compiled().offsets['arr']:#x}",
        f"(int **) private_lane#{compiled().offsets['arr'] + 4:#x}", "1",
    ]  # fmt: skip


def test_a_pointer_whose_size_contradicts_its_space_is_read_as_stated_and_told(tmp_path):
    wide = die("pointer_type", typed("int"), ("address_class", "data1", 3), ("byte_size", "data1", 8), label="wide")
    usual = die("pointer_type", typed("int"), ("address_class", "data1", 3), label="usual")
    variables = [
        die("variable", named(name), typed(label), at_data(offset))
        for name, label, offset in (("first", "wide", 0), ("second", "usual", 0))
    ]
    program(tmp_path, wide, usual, *variables, **GFX90A)
    run = Run(tmp_path / "program")
    assert values(run, "first", "second", "sizeof first", "sizeof second") == [
        "(int *) local#0x706050403020100", "(int *) local#0x3020100", "8", "4",
    ]  # fmt: skip
    text = " ".join(run("verify").split())
    assert "a pointer into local has 8 bytes, and an address there has 4" in text
    assert ".debug_info+0x16: error: " in text
    assert "1 file, 7 entries: 1 error, 0 warnings" in text
    # an address is "the least significant S bits" of what it is made of (A.2.5.4.4.3 (3))
    assert run.fails("print *first").message == "Cannot access memory at address local#0x3020100"


@pytest.mark.parametrize("processor", PROCESSORS)
def test_pointers_convert_through_the_apertures(compiled, stopped, processor):
    a, run = compiled(processor).offsets["a"], stopped(processor)
    assert values(run, "(int @generic *) shared", "(int @generic *) arr[0]", "(int @generic *) out") == [
        f"(int *) generic#{LOCAL + SHARED:#x}", f"(int *) generic#{PRIVATE + a:#x}", "(int *) generic#0x1000",
    ]  # fmt: skip
    assert values(run, "(int @local *) gen", "(int @private_lane *) genp", "(int @global *)(int @generic *) out") == [
        "(int *) local#0x20", f"(int *) private_lane#{a:#x}", "(int *) 0x1000",
    ]  # fmt: skip
    expected = ["4", "4", "105", "105"]
    assert values(run, "*gen", "*(int @generic *) shared", "*genp", "*(int @generic *) arr[0]") == expected
    assert values(run, "(int @local *)(int @generic *) 0x1000000000020") == ["(int *) local#0x20"]
    expected = ["(int *) generic#0x1000000000024", "32"]
    assert values(run, "(int @generic *) &shared[1]", "*(int @generic *) la") == expected


def test_null_is_that_of_the_address_space(stopped):
    run = stopped()
    assert values(run, "(int @generic *) null_local", "(int @generic *) null_private") == ["(int *) generic#0x0"] * 2
    assert values(run, "(int @local *) null_generic") == ["(int *) local#0xffffffff"]
    assert values(run, "(int @private_lane *) null_local", "(int @local *)(int @global *) 0") == [
        "(int *) private_lane#0xffffffff", "(int *) local#0xffffffff",
    ]  # fmt: skip
    assert values(run, "(int @region *) null_generic", "(int @local *) nullptr") == [
        "(int *) region#0xffffffff", "(int *) local#0xffffffff",
    ]  # fmt: skip
    for name in ("null_local", "null_private", "null_generic"):
        conditions = [f"!{name}", f"{name} == 0", f"0 != {name}", f"{name} ? 7 : 8", f"{name} && 1", f"1 || {name}"]
        assert values(run, *conditions, f"{name} == nullptr", f"(_Bool) {name}") == [
            "1", "1", "0", "8", "0", "1", "1", "false"]  # fmt: skip
    for name in ("shared", "arr[0]", "gen", "out", "(int @local *) 0", "(int @private_lane *) 0"):
        conditions = [f"!{name}", f"{name} == 0", f"{name} != 0", f"{name} ? 7 : 8", f"{name} && 1"]
        assert values(run, *conditions, f"(_Bool) ({name})") == ["0", "0", "1", "7", "1", "true"]
    assert values(run, "null_local == null_private", "null_local == null_generic", "shared == null_private") == [
        "1", "1", "0"]  # fmt: skip
    for name, address in (("null_local", "local"), ("null_private", "private_lane")):
        for expression in (f"*{name}", f"{name}[0]", f"*(long *) {name}", f"((struct N *) {name})->v"):
            where = "0x100000003" if "->" in expression else "0xffffffff"
            assert run.fails(f"print {expression}").message == f"Cannot access memory at address {address}#{where}"
    assert run.fails("print *null_generic").message == "Cannot access memory at address generic#0x0"
    assert values(run, "(char *) null_local", "(char *) null_generic") == ["local#0xffffffff", "generic#0x0"]
    assert "Cannot access memory at address local#0x0" in values(run, "(char @local *) 0")[0]


@for_each(
    "expression, message",
    ("(int @local *) genp", "generic#0x200000000000c is not an address of local"),
    ("(int @private_lane *) gen", "generic#0x1000000000020 is not an address of private_lane"),
    ("(int @local *)(int @generic *) 0x1000", "generic#0x1000 is not an address of local"),
    ("(int @private_lane *) shared", "local#0x20 is not an address of private_lane"),
    ("(int @global *) shared", "local#0x20 is not an address of global"),
    ("(int @global *) gen", "generic#0x1000000000020 is not an address of global"),
    ("(int @generic *)(int @global *) 0x1000000000020", "global#0x1000000000020 is not an address of generic"),
    ("(int @region *) gen", "generic#0x1000000000020 is not an address of region"),
    ("(int @private_wave *) arr[0]", "private_lane#0xc is not an address of private_wave"),
    ("(int @private_lane3 *) arr[0]", "private_lane#0xc is not an address of private_lane3"),
)
def test_an_address_that_is_not_in_the_other_space_is_an_error(stopped, expression, message):
    error = stopped().fails(f"print {expression}")
    assert message in error.message
    assert error.spec == "A.2.13"


def test_a_number_becomes_an_address_as_it_is(stopped):
    run = stopped()
    assert values(run, "(int @local *) 0x10", "(int @local *) 0", "local#0x10", "local#-1", "(long) shared") == [
        "(int *) local#0x10", "(int *) local#0x0", "(void *) local#0x10", "(void *) local#0xffffffff", "32",
    ]  # fmt: skip
    assert values(run, "(int @generic *)(long) shared", "local#(long) shared") == [
        "(int *) generic#0x20", "(void *) local#0x20",
    ]  # fmt: skip
    assert "0x100000010 is not an address of local" in run.fails("print local#0x100000010").message
    assert "an address must be an integer" in run.fails("print local#1.5").message


def test_assignments_convert_to_generic_and_refuse_other_spaces(compiled, stopped):
    """As ROCgdb: everything converts to generic by itself, and nothing to another space."""
    b, run = compiled().offsets["b"], stopped()
    assert values(run, "gen = (int @local *) 0x10", "gen") == ["(int *) generic#0x1000000000010"] * 2
    assert values(run, "gen = arr[1]", "*gen", "gen = null_local", "gen = out") == [
        f"(int *) generic#{PRIVATE + b:#x}", "205", "(int *) generic#0x0", "(int *) generic#0x1000",
    ]  # fmt: skip
    for assignment, names in (
        ("shared = gen", "generic to a pointer into local"),
        ("arr[0] = shared", "local to a pointer into private_lane"),
        ("out = shared", "local to a pointer into global"),
        ("shared = out", "global to a pointer into local"),
    ):
        error = run.fails(f"print {assignment}")
        assert f"cannot convert a pointer into {names}, at column" in error.message
        assert error.kind == "address_space_mismatch"
    assert values(run, "shared = null_local", "shared = 0") == ["(int *) local#0xffffffff"] * 2
    assert values(run, "arr[0] = nullptr", "gen = 0", "shared = 0x24", "*shared") == [
        "(int *) private_lane#0xffffffff", "(int *) generic#0x0", "(int *) local#0x24", "5",
    ]  # fmt: skip


def test_lanes_convert_each_for_itself(stopped):
    """A private address has one generic address in all lanes; what it leads to is that of the lane."""
    run = stopped()
    assert run("print -lane 0,5 *(int @generic *) arr[1]").splitlines()[0].endswith("{[0]=200, [5]=205}")
    run("set var -lane 0 gen = genp")
    error = run("print -lane 0,5 (int @local *) gen")
    assert "[5]=(int *) local#0x20" in error.replace("\n", "")
    assert "not an address of local" in error.replace("\n", " ")


def test_apertures_are_those_of_the_state(compiled, tmp_path):
    program = compiled()
    state = json.loads(program.state.read_text("utf-8"))
    state["apertures"] = {"shared": "0x700000000", "private": "0x900000000"}
    state["code_objects"][0]["path"] = str(program.path)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(state), "utf-8")
    assert values(Run(program.path, path), "(int @generic *) shared", "(int @generic *) arr[0]") == [
        "(int *) generic#0x700000020", f"(int *) generic#{0x900000000 + program.offsets['a']:#x}",
    ]  # fmt: skip


@every(version=[4, 5], processor=PROCESSORS)
@pytest.mark.sampled(6)
def test_pointers_in_registers_have_the_width_of_a_lane(require_tool, tmp_path, processor, version):
    path, found = optimized(tmp_path, require_tool, processor, version)
    pc = max(low for low, _high, _register in found.values())
    assert set(found) == {"q", "p"}
    assert pc < min(high for _low, high, _register in found.values())
    target = resolve(processor)
    names = {name: target.register(register).name for name, (_low, _high, register) in found.items()}
    memory = [
        {"space": "local", "work_group": [0, 0, 0], "address": 0x40, "bytes": "0b00000016000000"},
        {"space": "private_lane", "wave": "w", "lane": 1, "address": 0x10, "bytes": "21000000"},
    ]
    wave = {"id": "w", "dispatch": 1, "work_group": [0, 0, 0], "wave_in_group": 0, "exec": "0x3"}
    wave |= {"pc": hex(BASE + pc), "registers": {names["q"]: [0x44, 0x40], names["p"]: [0, 0x10]}}
    dispatch = {"id": 1, "kernel": "g", "grid": [32, 1, 1], "work_group": [32, 1, 1]}
    code = {"path": str(path), "load_address": hex(BASE)}
    state = {"schema": 1, "target": f"amdgcn-{processor}", "code_objects": [code], "dispatches": [dispatch]}
    (tmp_path / "state.json").write_text(json.dumps(state | {"waves": [wave], "memory": memory}), "utf-8")
    run = Run(path, tmp_path / "state.json")
    run("lane 1")
    assert values(run, "q", "*q", "q[1]", "p", "*p") == [
        "(int *) local#0x40", "11", "22", "(int *) private_lane#0x10", "33",
    ]  # fmt: skip
    assert run("print -lane 0,1 *q") == "$1 = {[0]=22, [1]=11}\n"
    assert run("print -lane 0,1 (int @generic *) q").split("=", 1)[1].split() == [
        "{[0]=(int", "*)", "generic#0x1000000000044,", "[1]=(int", "*)", "generic#0x1000000000040}",
    ]  # fmt: skip


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.sampled(6)
def test_generic_pointers_of_hip_lead_where_they_point(require_tool, tmp_path, processor):
    path, state, at = hip(tmp_path, require_tool, processor)
    run = Run(path, state)
    run("lane 0")
    a, d = at["a"], at["d"]
    assert values(run, "sizeof(p)", "sizeof(&a)", "r", "&r", "*p", "p == (int @local *) 0", "!none", "none == 0") == [
        "8", "4", f"(int &) @generic#{PRIVATE + a + 8:#x}: 6", f"(int *) generic#{PRIVATE + a + 8:#x}", "7",
        "true", "true", "true"]  # fmt: skip
    assert values(run, "b", "(D *) b", "*(D *) b", "(D @private_lane *) b", "(B2 *) &d", "b == (B2 *) &d") == [
        f"(B2 *) generic#{PRIVATE + d + 4:#x}", f"(D *) generic#{PRIVATE + d:#x}",
        "{<B1> = {x = 1}, <B2> = {y = 2}, z = 3}", f"(D *) private_lane#{d:#x}", f"(B2 *) private_lane#{d + 4:#x}",
        "true"]  # fmt: skip
    assert values(run, "(B2 *) none", "(B2 @private_lane *) none", "(D *)(B2 @private_lane *) none") == [
        "(B2 *) generic#0x0", "(B2 *) private_lane#0xffffffff", "(D *) private_lane#0xffffffff",
    ]  # fmt: skip
    assert values(run, "p = &a[1]", "*p", "p - &a[0]", "&a[0] == p - 1", "r = 9", "a") == [
        f"(int *) generic#{PRIVATE + a + 4:#x}", "5", "1", "true", "9", "{4, 5, 9}",
    ]  # fmt: skip
