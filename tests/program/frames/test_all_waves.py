"""A variable in all lanes of all waves: as each wave by itself has it, and asked for once a place."""

import json

import numpy as np
import pytest

import dwarfgpu
from dwarfgpu.errors import DwarfGpuError, UnknownItem, UsageError
from dwarfgpu.machines.machine import Machine
from dwarfgpu.program.frames.all_waves import all_waves, by_place
from dwarfgpu.program.frames.answers import CODES, Values
from dwarfgpu.program.frames.columns import python_value, without_padding
from dwarfgpu.render.variables import LaneTexts, VariablesRenderer, grouped, lines_of_waves
from tests.builders.divergence import FIXTURES, Example, Masks
from tests.builders.errors import raised
from tests.builders.spread import code_object

PLACES = ("lex_1_else", "lex_1_1_else", "lex_1_else", "whole_wave_begin", "lex_1_else", "lex_start")


@pytest.fixture(scope="module", params=["asm/lane-pc.gfx90a.w64.co", "asm/lane-pc.gfx1100.w32.co"])
def attached(request):
    """Waves at several places, with numbers of their own in all registers; the last one has no vector registers."""
    example = Example(request.param, None)
    machine = Machine(example.target)
    machine.add_waves(len(PLACES), work_group=[[number, 0, 0] for number in range(len(PLACES))])
    chance = np.random.default_rng(3)
    count, lanes = len(PLACES), example.lane_count
    for number in range(8):
        machine.set_register(f"v{number}", chance.integers(0, 1 << 32, (count, lanes), dtype=np.uint32))
    for number in range(48):
        machine.set_register(f"s{number}", chance.integers(0, 1 << 32, count, dtype=np.uint32))
    for wave, place in enumerate(PLACES):
        region = place if place.startswith("lex") else "lex_start"
        masks = Masks(0xFF0F & ((1 << lanes) - 1), 0x0F0F + wave, 0x5555)
        example.put(machine, wave, region, masks, example.at(place))
    space = machine.target.space_named("private_wave")
    for wave in range(count - 1):
        machine.memory.map(space, 0, chance.integers(0, 256, 64 * lanes, dtype=np.uint8), instance=wave)
    found = dwarfgpu.open(str(FIXTURES / request.param)).attach(machine)
    found.stopped.loaded = example.loaded
    found.state.loaded = example.loaded
    return found


def places(attached, text):
    return [values for _index, values in by_place(attached, (text,))]


def by_itself(attached, wave, text):
    """The value and the state in each lane, asked of one wave alone."""
    try:
        values = attached[wave].frame().eval(text)
    except DwarfGpuError as error:
        return str(error), None
    return list(values.array.tolist()), values.states


TEXTS = (
    *("lane", "result", "limit", "slots", "slots[1]", "lane * 2 + limit", "tile[3]"),
    *("unused", "left", "value", "rest"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_all_waves_are_as_each_is_by_itself(attached, text):
    found = all_waves(attached, text)
    assert found.waves.tolist() == [*range(len(PLACES))]
    assert found.array.shape[:2] == (len(PLACES), len(found.lanes))
    for wave in range(len(PLACES)):
        values, states = by_itself(attached, wave, text)
        assert found.names[wave] == attached[wave].id
        if states is None:
            assert str(found.reason_at(wave, 0).message) in values
            assert found.array.mask[wave].all()
            continue
        assert found.states[wave] == list(states)
        assert found.array[wave].tolist() == values or "active" not in states


def test_waves_at_one_place_are_one_group(attached):
    groups = [(found.waves.tolist(), found.frame.name) for found in places(attached, "lane")]
    assert groups == [([0, 2, 4], "X"), ([1], "X"), ([3], "whole_wave"), ([5], "X")]
    found = places(attached, "lane")[0]
    assert found.array.shape == found.codes.shape == (3, len(found.lanes))
    assert found.array.dtype == np.int32
    assert not found.has_failed


def test_waves_and_lanes_can_be_chosen(attached):
    whole = all_waves(attached, "lane", lanes="all").array
    some = all_waves(attached, "lane", waves=[4, 0, 1], lanes=[3, 5])
    assert some.waves.tolist() == [0, 1, 4]
    assert some.array.tolist() == whole[[0, 1, 4]][:, [3, 5]].tolist()
    assert all_waves(attached, "lane", waves=[4], lanes=[5]).array.tolist() == whole[4:5, 5:6].tolist()
    names = [attached[each].id for each in (4, 0, 1)]
    assert all_waves(attached, "lane", waves=names, lanes=[3, 5]).array.tolist() == some.array.tolist()
    with pytest.raises(UnknownItem, match="Unknown wave 9:9"):
        all_waves(attached, "lane", waves=["9:9"])
    assert all_waves(attached, "lane", waves=[]).array.shape == (0, attached.state.target.lane_count)
    assert all_waves(attached, "lane", lanes=[]).array.shape == (len(PLACES), 0)
    with pytest.raises(UsageError, match="no lane 64"):
        all_waves(attached, "lane", lanes=[64])


def test_memory_that_some_waves_lack_is_an_error_of_theirs(attached):
    found = all_waves(attached, "slots[1]")
    assert set(found.states[5]) == {"absent", "error"}
    assert found.reason_at(5, 0).kind == "memory_unavailable"
    assert found.reason_at(0, 0) is None


def test_chunks_change_nothing(attached, monkeypatch):
    whole = [(each.array.tolist(), each.states) for each in places(attached, "slots")]
    monkeypatch.setattr("dwarfgpu.program.frames.all_waves.CHUNK", attached.state.target.lane_count)
    assert [(each.array.tolist(), each.states) for each in places(attached, "slots")] == whole


def test_what_depends_on_callers_is_asked_of_each_wave(attached):
    """A frame that is not there is an error of every wave, which says why."""
    with pytest.raises(UsageError, match="no frame 7"):
        all_waves(attached, "lane", frame=7)


def test_a_name_that_is_not_there_is_an_error_of_its_place(attached):
    assert [each.has_failed for each in places(attached, "value")] == [True, True, False, True]


def test_waves_without_a_program_counter(attached):
    machine = Machine(attached.state.target)
    machine.add_waves(2)
    found = all_waves(attached.program.attach(machine), "lane")
    assert found.waves.tolist() == [0, 1]
    assert found.pc is None
    assert found.reason_at(1, 3).message == "the place of wave 0 is not known: it has no program counter"


def test_a_lane_of_a_wave_by_name(attached):
    values = all_waves(attached, "lane", lanes="all")
    assert isinstance(values, Values)
    assert values.names == [str(wave) for wave in range(len(PLACES))]
    assert (len(values), next(iter(values))[3]) == (len(PLACES), values["0", 3])
    assert values["2", 3] == values.array[2, 3] == python_value(values.of(3, 2).value)
    with pytest.raises(UsageError, match="lane 64 was not asked for"):
        values["1", 64]


def test_random_snapshots_agree(attached):
    """All masks, known and unknown registers: any of it is the same for all and for each."""
    chance = np.random.default_rng(11)
    machine = Machine(attached.stopped.machine.target)
    count = 12
    machine.add_waves(count)
    pcs = [attached.stopped.machine.program_counter(int(each)) for each in chance.integers(0, len(PLACES), count)]
    for wave, pc in enumerate(pcs):
        for name in ("pc", "exec", "s4", "s5", "s6"):
            register = machine.register_named(name)
            if name == "pc" or chance.random() < 0.8:
                value = pc if name == "pc" else int(chance.integers(0, 1 << 32))
                machine.write_register(register, value.to_bytes(register.bit_size // 8, "little"), wave, None)
    machine.set_register("v0", chance.integers(0, 1 << 32, (count, machine.target.lane_count), dtype=np.uint32))
    other = attached.program.attach(machine)
    other.stopped.loaded = other.state.loaded = attached.stopped.loaded
    for text in ("lane", "limit", "out"):
        found = all_waves(other, text)
        for wave in range(count):
            values, states = by_itself(other, wave, text)
            if states is not None:
                assert found.states[wave] == list(states), (text, wave)
                assert found.array[wave].tolist() == values or set(states) <= {"error", "absent"}


@pytest.fixture(scope="module")
def spread():
    """Ten waves of a kernel whose structures are half in vector registers, half in scratch memory."""
    from dwarfgpu.program.code.code_object import opened
    from dwarfgpu.states.program import Program

    program = Program(opened(code_object(0x1000)))
    machine = Machine(program.target)
    chance = np.random.default_rng(5)
    machine.add_waves(10)
    machine.set_register("pc", 0x1010)
    machine.set_register("exec", chance.integers(0, 1 << 63, 10, dtype=np.uint64))
    for number in (5, 6, 7):
        machine.set_register(f"v{number}", chance.integers(0, 1 << 32, (10, 64), dtype=np.uint32))
    space = machine.target.space_named("private_wave")
    for wave in range(9):
        machine.memory.map(space, 0, chance.integers(0, 256, 64 * 64, dtype=np.uint8), instance=wave)
    return program.attach(machine)


@pytest.mark.parametrize("text", ["x", "pair", "four", "spilled", "partly", "pair.second + four.c", "partly.first"])
def test_structures_in_several_places(spread, text):
    found = all_waves(spread, text)
    for wave in range(10):
        values, states = by_itself(spread, wave, text)
        assert found.states[wave] == list(states)
        if set(states) != {"error"}:  # a type of its own has only what has a value
            assert found.array[wave].tolist() == values
    if "four" in text:
        assert set(found.states[9]) == {"error"}
        assert found.reason_at(9, 0).kind == "memory_unavailable"
        assert CODES["error"] not in found.codes[:9]


def test_structures_with_arrays_are_documents_and_texts():
    """Of such a structure an element of the array holds arrays still."""
    program = dwarfgpu.open(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co"))
    machine = Machine(program.target)
    machine.add_waves(2)
    machine.set_register("pc", [0x4DC4] * 2)
    machine.set_register("exec", [0x3, 0x1])
    machine.set_register("s33", [0] * 2)
    space = machine.target.space_named("private_wave")
    for wave in range(2):
        machine.memory.map(space, 0, np.full(64 * 1024, wave + 1, dtype=np.uint8), instance=wave)
    found = all_waves(program.attach(machine), "ring")

    renderer = VariablesRenderer(found.frame)
    documents = list(renderer.documents(found))
    assert json.loads(json.dumps(documents)) == documents
    assert [[lane["state"] for lane in each["lanes"].values()] for each in documents] == [["active"] * 2, ["active"]]
    assert [[member["value"] for member in each["lanes"]["0"]["members"][0]["elements"]] for each in documents] == [
        [257] * 8,
        [514] * 8,
    ]
    assert list(lines_of_waves(renderer, found))[1:3] == [
        "    0: {items = {257, 257, 257, 257, 257, 257, 257, 257}, head = 16843009}",
        "    1: {items = {514, 514, 514, 514, 514, 514, 514, 514}, head = 33686018}",
    ]
    assert [row[:4] for row in renderer.rows(found)] == [("0", 0, "ring", 0), ("0", 0, "ring", 1), ("1", 0, "ring", 0)]


def test_assignments_are_refused(attached):
    with pytest.raises(UsageError, match="one wave at a time"):
        all_waves(attached, "lane = 3")


def test_values_beyond_the_limit_are_counted_and_not_written(monkeypatch):
    """The first row of many waves is there before the others are known, and of each wave no more than is shown."""
    from dwarfgpu.program.code.code_object import opened
    from dwarfgpu.states.program import Program

    program = Program(opened(code_object(0x1000)))
    machine = Machine(program.target)
    machine.add_waves(50)
    machine.set_register("pc", 0x1010)
    machine.set_register("exec", (1 << 64) - 1)
    machine.set_register("v6", np.arange(50 * 64).reshape(50, 64))
    machine.memory.map_rows(machine.target.space_named("private_wave"), np.zeros((50, 4096), dtype=np.uint8))
    found = all_waves(program.attach(machine), "pair")
    asked = []
    original = Values.at
    monkeypatch.setattr(Values, "at", lambda self, *place: asked.append(place) or original(self, *place))
    rows = grouped(LaneTexts(VariablesRenderer(found.frame), found))
    names, line, _ = next(rows)
    assert names == ["0"]
    assert line.startswith("[0]={first = 0, second = 0}, [1]={first = 1, second = 0}")
    assert line.endswith("[63]={first = 63, second = 0}")
    assert len(asked) == 64
    assert len(list(rows)) == 49


def test_bytes_between_members_do_not_tell_waves_apart():
    kind = np.dtype({"names": ["c", "n"], "formats": ["i1", ("<i2", (2,))], "offsets": [0, 4], "itemsize": 8})
    raw = np.arange(16, dtype=np.uint8).view(kind).reshape(1, 2)
    found = without_padding(raw)
    assert found.view(np.uint8).tolist() == [[0, 0, 0, 0, 4, 5, 6, 7, 8, 0, 0, 0, 12, 13, 14, 15]]
    assert found["n"].tolist() == raw["n"].tolist()
    numbers = np.arange(3)
    assert without_padding(numbers) is numbers


def test_waves_without_an_expression_are_items_of_the_state(attached):
    assert "all_waves takes an expression" in str(raised(UsageError, all_waves, attached))
    assert "no variable `nosuch` in" in str(raised(KeyError, all_waves, attached, "nosuch"))
    assert "there is no register $nosuch" in str(raised(KeyError, all_waves, attached, "$nosuch"))
    assert "a str has no waves" in str(raised(UsageError, all_waves, "blur.core", "lane"))


def test_callers_at_one_place_are_one_result():
    core = dwarfgpu.open_core(str(FIXTURES.parent / "dwarfgpu/examples/blur.core"))
    found = all_waves(core, "n", frame=1, lanes="all")
    assert found.waves.tolist() == [0, 1]
    for position, wave in enumerate(core):
        alone = wave.frame(1)["n"].values("all")
        assert (found.names[position], found.array[position].tolist()) == (wave.id, alone.array.tolist())
        assert found.states[position] == alone.states
