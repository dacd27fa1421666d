"""Variables and expressions in waves whose state is written by hand, with the truth beside it."""

import struct
from typing import Any

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.errors import UsageError
from dwarfgpu.machines import snapshot
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.types.declaration import safe_text
from tests.builders.folders import FIXTURES
from tests.builders.parameters import for_each
from tests.builders.spread import code_object

LOAD = 0x7F00_0000_0000
LANE_PC = {64: "asm/lane-pc.gfx90a.w64.co", 32: "asm/lane-pc.gfx1100.w32.co"}
TARGETS = {64: "amdgcn-amd-amdhsa--gfx90a", 32: "amdgcn-amd-amdhsa--gfx1100"}
FLAGS = {64: 0x3F, 32: 0x41}
"""EF_AMDGPU_MACH of those processors."""
X = 0x1500
"""Where the function X is in both files."""
EVEN, LEFT, ENTRY = X + 0x48, X + 0x5C, X
LIMIT = 20


def words(*values: int) -> str:
    return struct.pack(f"<{len(values)}I", *(value & 0xFFFFFFFF for value in values)).hex()


def stopped(name: str, target: str, pc: int, exec_mask: int, registers: dict[str, Any], memory: list[Any]) -> Any:
    """One wave of a file, attached."""
    document = {
        "schema": 1,
        "target": target,
        "apertures": {"shared": "0x1000000000000", "private": "0x2000000000000"},
        "code_objects": [{"path": str(FIXTURES / name), "load_address": hex(LOAD)}],
        "dispatches": [{"id": 1, "kernel": "X", "grid": [64, 1, 1], "work_group": [64, 1, 1]}],
        "waves": [{"id": "w", "dispatch": 1, "work_group": [0, 0, 0], "wave_in_group": 0,
            "pc": hex(LOAD + pc)} | {"exec": hex(exec_mask), "registers": registers}],
        "memory": memory}  # fmt: skip
    machine = snapshot.of_document(document, "", "test")
    return dg.open(str(FIXTURES / name)).attach(machine)


def kernel(lanes: int, pc: int, mask: int | None = None) -> Any:
    """The frame of X at a place, as its source makes the variables."""
    every = range(lanes)
    registers: dict[str, Any] = {
        "s4": 0x10000,             "s5": 0,                   "s6": LIMIT,               "s34": 0xFFFFFFFF,
        "s35": 0xFFFFFFFF if lanes == 64 else 0,              "s36": (1 << LIMIT) - 1,   "s37": 0,
        "v0": list(every),         "v1": [lane * 3 for lane in every],
        "v2": [2 * lane + 10 for lane in every],              "v3": [2 * lane for lane in every]}  # fmt: skip
    memory = [
        {"space": "global", "address": "0x10000", "bytes": words(*range(100, 164))},
        *(
            {"space": "private_lane", "wave": "w", "lane": lane, "address": "0x10"}
            | {"bytes": words(*(100 * lane + each for each in range(4)))}
            for lane in every
        ),
    ]
    chosen = (1 << lanes) - 1 if mask is None else mask
    return stopped(LANE_PC[lanes], TARGETS[lanes], pc, chosen, registers, memory)[0].frame(0)


@pytest.fixture(params=[64, 32], ids=["wave64", "wave32"])
def lanes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_every_lane_has_its_own_variables(lanes):
    frame = kernel(lanes, EVEN)
    every = range(lanes)
    assert frame["lane"].values().array.tolist() == list(every)
    assert frame["even"].values().array.tolist() == [2 * lane + 10 for lane in every]
    assert frame["left"].values().array.tolist() == [2 * lane for lane in every]
    assert frame["result"].values().array.tolist() == [3 * lane for lane in every]
    assert frame["limit"].values().array.tolist() == [LIMIT] * lanes
    assert frame["out"].values().array.tolist() == [0x10000] * lanes
    assert frame["slots"].values().array.tolist() == [[100 * lane + each for each in range(4)] for lane in every]
    assert frame["__lex_1_save_exec"].value(0) == (1 << lanes) - 1
    assert [str(frame[name].values().array.dtype) for name in ("lane", "out")] == ["int32", "uint64"]


def test_a_lane_is_answered_as_all_lanes_are(lanes):
    for variable in kernel(lanes, EVEN).variables():
        every = variable.values()
        for lane in range(0, lanes, 7):
            if lane in every.reasons:
                assert variable.why(lane).kind == every.reasons[lane].kind
            else:
                found = variable.value(lane)
                assert np.array_equal(every.array[lane], variable.values([lane]).array[0])
                if isinstance(found, int):
                    assert found == every[lane]


def test_states_are_those_of_the_execution_mask(lanes):
    frame = kernel(lanes, EVEN, 0b10110)
    assert [lane.number for lane in frame.wave.lanes if lane.is_active] == [1, 2, 4]
    values = frame["even"].values()
    assert [lane for lane, state in zip(values.lanes, values.states, strict=True) if state == "active"] == [1, 2, 4]
    assert frame["even"].values("active").lanes == (1, 2, 4)
    assert [each.state for each in answer(frame["lane"], "lane", [0, 1]).by_lane] == ["inactive", "active"]


def test_blocks_that_do_not_hold_the_address_are_not_seen(lanes):
    assert [each.name for each in kernel(lanes, EVEN).variables()][:2] == ["even", "left"]
    assert "even" not in [each.name for each in kernel(lanes, ENTRY).variables()]
    with pytest.raises(dg.UsageError, match="no variable `even` in X, at column 1") as caught:
        kernel(lanes, ENTRY)["even"].value(0)
    assert caught.value.hint == "it is in scope at lines 13 to 15 of src/asm/lane-pc.c"
    with pytest.raises(dg.UsageError, match="no variable `never` in X") as caught:
        kernel(lanes, ENTRY)["never"].value(0)
    assert "there are out, limit, lane" in caught.value.hint


def test_provenance_names_the_register_and_the_lane(lanes):
    frame = kernel(lanes, EVEN)
    (source,) = frame["even"].provenance(9)
    assert (source.register, source.lane, source.bit, source.bit_size) == ("v2", 9, 0, 32)
    low, high = frame["out"].provenance(9)
    assert (low.register, high.register, high.bit_offset) == ("s4", "s5", 32)
    (memory,) = frame["slots"].provenance(9)
    assert (memory.space, memory.address, memory.lane) == ("private_lane", 0x10, 9)


def test_a_place_without_a_location_names_the_nearest_ones(lanes):
    reason = kernel(lanes, ENTRY)["limit"].why(3)
    assert (reason.kind, reason.state) == ("no_location_here", "absent")
    assert reason.before is None
    assert reason.after == (LOAD + X + 0x18, LOAD + X + 0x80)
    assert f"the nearest above is {LOAD + X + 0x18:#x}" in reason.message


def test_what_has_no_location_is_optimized_out(lanes):
    frame = kernel(lanes, EVEN)
    assert frame["unused"].why(0).kind == "optimized_out"
    with pytest.raises(dg.Unavailable, match="neither a location nor a constant value") as caught:
        frame["unused"].value(0)
    assert caught.value.reason.kind == "optimized_out"
    assert set(frame["unused"].values().states) == {"absent"}
    assert safe_text(frame["unused"].type) == "int"


@for_each("text, expected",
    ("lane > 1 ? lane : 0.5", [0.5, 2]),  # in the order of the lanes, and the other way round
    ("lane < 1 ? lane : 0.5", [0, 0.5]),
    ("lane > 1 ? -1 : 4000000000u", [4000000000, -1]),
    ("lane > 1 ? (char)1 : (long)1 << 40", [1 << 40, 1]))  # fmt: skip
def test_lanes_with_values_of_different_types(text, expected):
    state = FIXTURES.parent / "dwarfgpu/examples/variables.json"
    frame = dg.open(FIXTURES / "asm/lane-pc.gfx90a.w64.co").attach(state)[0].frame()
    assert frame.eval(text, lanes=[0, 2]).array.tolist() == expected


@for_each(
    "text, expected", ("lane > 1 ? -1L : ~0UL", [(1 << 64) - 1, -1]), ("lane > 1 ? lane : slots[1]@2", [[1, 2], 2])
)
def test_lanes_whose_values_no_array_has(text, expected):
    """One of them says so, and the other is what it is."""
    state = FIXTURES.parent / "dwarfgpu/examples/variables.json"
    found = dg.open(FIXTURES / "asm/lane-pc.gfx90a.w64.co").attach(state)[0].frame().eval(text, lanes=[0, 2])
    ((bad, reason),) = found.reasons.items()
    assert reason.message == "the value has another type in some lanes"
    assert found.states.count("error") == 1
    good = [0, 2].index(2 - bad)
    assert found.array[good].tolist() == expected[good]


def test_memory_and_registers_that_the_state_does_not_have():
    frame = stopped(LANE_PC[64], TARGETS[64], EVEN, 7, {"v0": [1, 2, 3]}, [])[0].frame(0)
    assert frame["slots"].why(2).kind == "memory_unavailable"
    assert frame["limit"].why(2).kind == "register_unavailable"
    assert frame["lane"].value(2) == 3
    mixed = frame.eval("lane > 1 ? slots[0] : lane")
    assert mixed.states[:4] == ["active", "error", "error", "error"]
    assert mixed.reasons[1].kind == "memory_unavailable"
    assert mixed.reasons[3].message.startswith("the place of the lane is not known: ")
    assert mixed[0] == 1


def test_a_value_that_needs_a_lane_says_so():
    frame = kernel(64, EVEN)
    assert frame["even"].why(None).kind == "missing_context"
    assert frame["limit"].value() == LIMIT
    with pytest.raises(dg.UsageError, match="64 lanes, no lane 64"):
        frame["even"].value(64)


EXPRESSIONS = {
    "even + left": lambda lane: 4 * lane + 10,               "even - left * 2 + $lane": lambda lane: 10 - lane,
    "(lane & 1) == 0 ? even : -left": lambda lane: 2 * lane + 10 if lane % 2 == 0 else -2 * lane,
    "lane > 3 && slots[lane % 4] > 400": lambda lane: int(lane > 3 and 100 * lane + lane % 4 > 400),
    "lane < 2 || lane / 0": lambda lane: 1 if lane < 2 else None,
    "out[lane]": lambda lane: 100 + lane,                    "*(out + lane % 8)": lambda lane: 100 + lane % 8,
    "slots[3] - slots[lane % 3]": lambda lane: 3 - lane % 3, "*&slots[2]": lambda lane: 100 * lane + 2,
    "&slots[2] - &slots[0]": lambda _lane: 2,                "sizeof slots / sizeof slots[0]": lambda _lane: 4,
    "*(int *)private_lane#0x18": lambda lane: 100 * lane + 2,
    "*(int *)global#0x10008": lambda _lane: 102,
    "*(int *)(generic#0x2000000000000 + 0x10)": lambda lane: 100 * lane,
    "(char)even": lambda lane: (2 * lane + 10 + 128) % 256 - 128,
    "(short)0x18000 + lane": lambda lane: -32768 + lane,     "$v2[3]": lambda _lane: 16,
    "$s6": lambda _lane: LIMIT,                              "(out@4)[0] == out": lambda _lane: 1,
    "out[1]@3": None,                                        "X::even": lambda lane: 2 * lane + 10}  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.sampled(6)
def test_expressions_in_every_lane(lanes, text):
    frame = kernel(lanes, EVEN)
    values = frame.eval(text)
    truth = EXPRESSIONS[text]
    if truth is None:
        assert values.array.tolist() == [[101, 102, 103]] * lanes
        return
    for lane in range(lanes):
        expected = truth(lane)
        if expected is None:
            assert values.reasons[lane].error.kind == "division_by_zero"
        else:
            assert values[lane] == expected
            assert frame.expression(text).value(lane) == expected


@for_each("text, column, message",
    ("even + nothing", 8, "no variable `nothing` in X"),      ("limit.x", 6, "there is no member named x"),
    ("&(even + 1)", 1, "a computed value has no address"),
    ("&even", 1, "an object that is not in memory has no address"),
    ("$nothing", 1, "there is no register \\$nothing"),
    ("gibberish#1", 1, "Address space gibberish not recognised by the architecture"),
    ("X(1)", 2, "function calls are not supported"),          ("*limit", 1, "is not a pointer"),
    ("(struct nothing)0", 2, "there is no struct named nothing"))  # fmt: skip
def test_errors_point_at_the_column(text, column, message):
    frame = kernel(64, EVEN)
    with pytest.raises(dg.UsageError, match=message) as caught:
        frame.expression(text).value(0)
    assert abs(caught.value.column - column) <= 1


SPACES = ("global", "generic", "region", "local", "private_lane", "private_wave")


def in_all_spaces(lanes: int) -> list[Any]:
    """Memory of each kind. In that of the wave, each lane has one dword in every ``lanes``."""
    private = words(*range(lanes), *range(1000, 1000 + lanes))
    return [
        {"space": "global", "address": "0x40", "bytes": words(1, 2)},
        {"space": "region", "address": "0x40", "bytes": words(3, 4)},
        {"space": "local", "work_group": [0, 0, 0], "address": "0x40", "bytes": words(5, 6)},
        {"space": "private_wave", "wave": "w", "address": hex(0x40 * lanes), "bytes": private},
    ]


def test_all_address_spaces(lanes):
    registers = {"v0": list(range(lanes))}
    frame = stopped(LANE_PC[lanes], TARGETS[lanes], EVEN, 1, registers, in_all_spaces(lanes))[0].frame(0)
    truth = {
        "global#0x44": [2] * lanes,
        "generic#0x44": [2] * lanes,
        "region#0x44": [4] * lanes,
        "local#0x44": [6] * lanes,
        "generic#0x1000000000044": [6] * lanes,
        f"private_wave#{0x40 * lanes + 4:#x}": [1] * lanes,
        "private_lane#0x40": list(range(lanes)),
        "private_lane#0x44": list(range(1000, 1000 + lanes)),
        "generic#0x2000000000044": list(range(1000, 1000 + lanes)),
    }
    for address, expected in truth.items():
        assert frame.eval(f"*(int *){address}", "all").array.tolist() == expected, address
    assert {each.partition("#")[0] for each in truth} == set(SPACES)


def test_variables_in_all_address_spaces(lanes, tmp_path):
    """A kernel with a variable in each space, at an address that its location makes."""
    shared = "DW_OP_const8u 0x1000000000044"
    wave = f"DW_OP_constu {0x40 * lanes + 4}"
    truth = {  # the name, where the location says it is, and what is there
        "in_global": ("DW_OP_const1u 0x44; DW_OP_lit0", "global#0x44", [2] * lanes),
        "in_generic": ("DW_OP_const1u 0x40; DW_OP_lit1", "generic#0x40", [1] * lanes),
        "shared": (f"{shared}; DW_OP_lit1", "generic#0x1000000000044", [6] * lanes),
        "in_region": ("DW_OP_const1u 0x40; DW_OP_lit2", "region#0x40", [3] * lanes),
        "in_local": ("DW_OP_const1u 0x44; DW_OP_lit3", "local#0x44", [6] * lanes),
        "in_lane": ("DW_OP_const1u 0x44; DW_OP_lit5", "private_lane#0x44", list(range(1000, 1000 + lanes))),
        "in_wave": (f"{wave}; DW_OP_lit6", f"private_wave#{0x40 * lanes + 4:#x}", [1] * lanes),
    }
    variables = [(name, "int", f"{place}; DW_OP_LLVM_form_aspace_address") for name, (place, _, _) in truth.items()]
    path = tmp_path / "spaces.co"
    path.write_bytes(code_object(0x1000, variables, TARGETS[lanes], FLAGS[lanes]))
    frame = stopped(str(path), TARGETS[lanes], 0x1010, 1, {"v0": [0] * lanes}, in_all_spaces(lanes))[0].frame(0)
    for name, (_, where, expected) in truth.items():
        variable = frame[name]
        assert variable.values("all").array.tolist() == expected, name
        assert [variable.value(lane) for lane in range(lanes)] == expected, name
        assert frame.eval(f"*&{name}", "all").array.tolist() == expected
        assert frame.eval(f"&{name} == (int *){where}", "all").array.tolist() == [1] * lanes
    assert {where.partition("#")[0] for _, where, _ in truth.values()} == set(SPACES)


def test_writes_go_where_a_variable_is(lanes):
    frame = kernel(lanes, EVEN)
    frame["even"].write("left * 50", lanes=[1, 3])
    assert frame["even"].values().array[:4].tolist() == [10, 100, 14, 300]
    frame.expression("slots[1]").write(-5, lanes=2)
    assert frame["slots"].values([2]).array[0].tolist() == [200, -5, 202, 203]
    assert frame["slots"].values([1]).array[0].tolist() == [100, 101, 102, 103]
    frame["limit"].write(7)
    assert frame["limit"].value() == 7
    with pytest.raises(dg.Unavailable, match="neither a location nor a constant value"):
        frame["unused"].write(1)


def write(wave: Any, name: str, value: int) -> None:
    machine = wave.stopped.machine
    register = machine.register_named(name)
    machine.write_register(register, value.to_bytes(register.bit_size // 8, "little"), wave.index, None)


def test_a_wave_has_the_frames_of_where_it_stands_now(lanes):
    frame = kernel(lanes, EVEN)
    wave = frame.wave
    write(wave, "pc", LOAD + LEFT)
    assert wave.frame(0).place == wave.pc == LOAD + LEFT
    assert [each.place for each in wave] == [each.place for each in wave.frames()] == [LOAD + LEFT]
    assert wave.frame(0) is wave.frame(0) is not frame
    assert frame.place == LOAD + EVEN


def test_lanes_are_active_as_the_mask_is_now(lanes):
    frame = kernel(lanes, EVEN)
    assert frame["lane"].values().states[:3] == ["active"] * 3
    write(frame.wave, "exec", 0b101)
    assert frame["lane"].values().states[:4] == ["active", "inactive", "active", "inactive"]
    assert [each.is_active for each in frame.wave.lanes[:3]] == [True, False, True]
    assert len(frame["lane"].values("active")) == 2


def test_calls_are_made_of_frames():
    path = FIXTURES.parent / "dwarfgpu" / "examples" / "calls.json"
    wave = dg.open(str(FIXTURES / "llvm24/hip-calls.gfx1100.w32.O2.co")).attach(str(path))[0]
    assert [each.name for each in wave.call(2)] == ["middle"]
    calls = [wave.call(level) for level in range(5)]
    assert [frame for call in calls for frame in call] == list(wave)
    assert [{frame.level for frame in call} for call in calls] == [{0}, {1}, {2}, {3}, {4}]
    assert wave.call(5) == ()
    before = wave.call(1)
    write(wave, "s33", 209)
    assert wave.call(1)[0] is not before[0]


def test_a_variable_of_a_caller_is_where_its_frame_is_now():
    path = FIXTURES.parent / "dwarfgpu" / "examples" / "calls.json"
    wave = dg.open(str(FIXTURES / "llvm24/hip-calls.gfx1100.w32.O2.co")).attach(str(path))[0]
    inner, outermost = wave.frame(1), wave.frame(4)
    before, saved = inner.cfa(inner.lane(0)), outermost["lane"].location(0)
    write(wave, "s33", 209)  # the frame pointer of `inner`, in units of 32 bytes; it was 208
    assert inner.cfa(inner.lane(0)).single.bit_offset - before.single.bit_offset == 32 * 8
    assert outermost["lane"].location(0) == wave.frame(4)["lane"].location(0) != saved
    assert wave.frame(1) is not inner


def test_assignments_are_made_when_every_lane_is_known(lanes):
    frame = kernel(lanes, EVEN)
    assert frame.eval("out[lane % 2] = out[(lane + 1) % 2]", lanes=[0, 1]).array.tolist() == [101, 100]
    assert [frame.expression(f"out[{index}]").value(0) for index in range(2)] == [101, 100]
    assert frame.eval("even += 5", lanes=[6]).array.tolist() == [27]
    assert frame["even"].value(6) == 27
    assert frame.eval("even++", lanes=[6]).array.tolist() == [27]
    assert frame.eval("--even", lanes=[6]).array.tolist() == [27]
    assert frame.eval("even--", lanes=[6, 8]).array.tolist() == [27, 26]
    assert frame.eval("even", lanes=[6, 8]).array.tolist() == [26, 25]


def test_locations_and_constants_are_known_without_a_machine():
    program = dg.open(str(FIXTURES / LANE_PC[64]))
    (frame,) = program.at(EVEN)
    assert frame["even"].locations()[0].range == (X + 0x44, X + 0x4C)
    assert str(frame["limit"].provenance()[0]) == "4 bytes of s6"
    assert frame["limit"].why().kind == "register_unavailable"
    assert program.eval("sizeof(int [4])") == 16
    assert frame["tile"].location().single.storage.space.name == "local"
    types = dg.open(str(FIXTURES / "asm" / "types.gfx90a.w64.co"))
    assert types.eval("half") == 1.5
    assert types["quad_of_floats"].values().array.tolist() == [[1.0, -1.0, 0.5, 10.0]]


@pytest.mark.slow
def test_every_variable_of_every_fixture_has_an_answer():
    count = 0
    for path in sorted(FIXTURES.glob("*/*")):
        try:
            program = dg.open(str(path))
            units = list(program.file.dwarf.compile_units()) if program.state and program.file.has_dwarf else []
        except dg.DwarfGpuError:
            continue
        for unit in units:
            for die in unit.dies():
                if die.tag != 0x2E or not die.ranges():
                    continue
                low, high = die.ranges()[0]
                for address in {low, (low + high) // 2, high - 1}:
                    for frame in program.at(address):
                        for variable in frame.variables():
                            variable.locations()
                            assert all(each.value or each.reason for each in answer(variable, variable.name).by_lane)
                            count += 1
    assert count > 2000


def test_lanes_without_a_value_are_masked():
    frame = stopped(LANE_PC[64], TARGETS[64], EVEN, 7, {"v0": [1, 2, 3], "s34": 0, "s36": 0, "s38": 0}, [])[0].frame(0)
    array = frame.eval("$v0[$_lane]").array
    assert isinstance(array, np.ma.MaskedArray)
    assert array[:4].tolist() == [1, 2, 3, None]
    assert array.sum() == 6
    missing = frame["unused"].values()
    assert missing.array.mask.all()
    assert np.isnan(frame.eval("$v0[$_lane]").filled()[3:]).all()
    assert frame.eval("$v0[$_lane]").filled(-1)[:4].tolist() == [1, 2, 3, -1]
    assert missing.filled(-1).tolist() == [-1] * 64
    assert np.isnan(missing.filled()).all()
    with pytest.raises(UsageError, match="'x' does not fit into the array, which is of int32"):
        frame.eval("$v0[$_lane]").filled("x")
    with pytest.raises(UsageError, match="4294967296 does not fit into the array"):
        frame.eval("$v0[$_lane]").filled(1 << 32)
    whole = kernel(64, EVEN)["lane"].values()
    assert not np.ma.is_masked(whole.array)
    assert np.shares_memory(whole.filled(), whole.array)


def test_an_unknown_name_is_an_error_and_no_array():
    frame = kernel(64, EVEN)
    with pytest.raises(dg.UsageError, match="no variable `nosuch` in X"):
        frame.eval("nosuch")
    with pytest.raises(dg.UsageError, match="no variable `nosuch` in X"):
        frame["nosuch"].values()
