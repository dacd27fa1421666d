"""What numpy, pandas and a loop make of everything that holds values: values of lanes that count, and nothing else."""

import copy
import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

import dwarfgpu as dg
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.program.frames.all_waves import all_waves
from tests.builders.dwarf import entry
from tests.builders.errors import raised
from tests.builders.hostile import Case, gpu, member, typed, variable
from tests.builders.parameters import for_each

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
LANES = range(64)
EXECUTING = range(0, 20, 2)
"""The lanes of the state that execute the code."""


@pytest.fixture(scope="module")
def attached() -> dg.Attached:
    return dg.open(FILE).attach(STATE)


@pytest.fixture(scope="module")
def frame(attached):
    return attached[0].frame(0)


TWICE = {lane: 2 * lane for lane in LANES}
"""What `2 * $lane` is."""
COUNTED = [TWICE[lane] if lane in EXECUTING else None for lane in LANES]
NANS = [float("nan") if each is None else each for each in COUNTED]
AS_DATA = {
    "a loop": (lambda values: [*values], COUNTED),            "list": (list, COUNTED),     "len": (len, 64),
    "in": (lambda values: (4 in values, 6 in values, 36 in values, 38 in values), (True, False, True, False)),
    "an index": (lambda values: [values[lane] for lane in EXECUTING], [TWICE[lane] for lane in EXECUTING]),
    "array": (lambda values: values.array.tolist(), COUNTED), "its mean": (lambda values: values.array.mean(), 18),
    "numpy.asarray": (lambda values: np.asarray(values).tolist(), NANS),
    "numpy.array of floats": (lambda values: np.array(values, dtype="f4").tolist(), NANS),
    "numpy.nanmax": (lambda values: int(np.nanmax(values)), 36),
    "numpy.nanmean": (np.nanmean, 18),
    "an array on the left": (lambda values: float(np.nansum(np.ones(64) * values)), 180),
    "pandas.Series": (lambda values: pd.Series(values).tolist(), NANS),
    "its sum": (lambda values: pd.Series(values).sum(), 180),
    "pandas.DataFrame": (lambda values: pd.DataFrame({"left": values})["left"].mean(), 18),
    "filled": (lambda values: values.filled(-1).tolist(), [-1 if each is None else each for each in COUNTED]),
    "states": (
        lambda values: values.states,
        ["active" if lane in EXECUTING else "inactive" for lane in LANES])}  # fmt: skip


@pytest.mark.parametrize("use", AS_DATA)
def test_values_of_lanes_that_do_not_execute_do_not_count(frame, use):
    run, expected = AS_DATA[use]
    np.testing.assert_equal(run(frame.expression("2 * $lane").values()), expected)


@pytest.mark.parametrize("lanes", ["all", LANES])
def test_all_lanes_count_if_they_are_named(frame, lanes):
    values = frame.expression("2 * $lane").values(lanes)
    assert list(values) == np.asarray(values).tolist() == list(TWICE.values())
    assert values.array.dtype == np.asarray(values).dtype == np.int32
    assert max(values) == 126
    assert values[1] == 2


def test_max_of_lanes_without_a_value_is_an_error(frame):
    raised(TypeError, max, frame.expression("2 * $lane").values())
    assert max(frame.expression("2 * $lane").values("active")) == 36


def test_a_lane_that_does_not_count_has_a_reason(frame):
    with pytest.raises(dg.Unavailable, match=r"lane 1 does not execute this code; values\(\"all\"\)") as caught:
        frame.expression("2 * $lane").values()[1]
    assert caught.value.reason.kind == "inactive"
    assert frame.expression("2 * $lane").values([1])[1] == 2


def test_numbers_that_nan_has_no_place_among(frame):
    values = frame.expression("2 * $lane").values()
    assert "int64 has no NaN" in str(raised(dg.UsageError, np.asarray, values, dtype=int))
    assert np.asarray(frame.eval("0x20000000000001 + $lane"))[:3].tolist() == [2**53 + 1, None, 2**53 + 3]
    slots = frame["slots"].values()
    assert slots.array[2].tolist() == [20, 21, 22, 23]
    assert list(slots)[1] is None
    assert np.asarray(slots).shape == (64, 4)


def test_values_are_no_array(frame):
    values = frame.expression("2 * $lane").values()
    for use in (lambda: values + 1, lambda: -values, lambda: values > 1):
        raised(TypeError, use)
    assert "compare their .array" in str(raised(TypeError, lambda: values == 4))
    raised(AttributeError, lambda: values.sum)
    for key in (values, np.arange(3), values.array > 30):
        assert raised(dg.UsageError, lambda key=key: values[key]).hint == "use .array[FIRST:END]"


def test_an_index_is_one_lane(frame):
    assert "an index is one lane" in str(raised(dg.UsageError, lambda: frame["left"].values()[0:4]))


def test_indexes_of_waves(attached):
    values = all_waves(attached, "2 * $lane", lanes=[4, 5])
    assert values[0].tolist() == values["1:1:1:1"].tolist() == [8, 10]
    assert values[0, 4] == values["1:1:1:1", np.int64(4)] == 8
    for key in (slice(1), (slice(1), 4), (0, [4]), (0, 4, 4), None):
        assert raised(dg.UsageError, lambda key=key: values[key]).hint == "use .array[WAVE, FIRST:END]"
    for key in (1, -1, "x", (1, 4), (0, 3)):
        assert "was not asked for" in str(raised(KeyError, lambda key=key: values[key]))


def test_what_is_attached_is_indexed_like_a_list(attached):
    assert attached[-1].id == attached[np.int64(0)].id == attached[:1][0].id == "1:1:1:1"
    assert attached[1:] == []
    assert "Unknown wave -2" in str(raised(IndexError, lambda: attached[-2]))
    error = raised(TypeError, lambda: attached[0]["left"])
    assert str(error) == "a wave has frames, and these have variables: frame(0)['left']"


@for_each(
    "use",
    (lambda each: each > 3),
    (lambda each: each[3]),
    float,
    int,
    np.asarray,
    np.mean,
    lambda each: np.array([each]),
)
def test_a_variable_is_not_its_values(frame, use):  # fmt: skip
    assert "compare its values(), or value(lane=N)" in str(raised(TypeError, use, frame["left"]))
    assert "values() has to_pandas" in str(raised(AttributeError, lambda: frame["left"].to_pandas))


def test_dictionaries_and_tables_of_pandas(frame, attached):
    values = frame.expression("2 * $lane").values()
    assert values.to_dict() == {lane: TWICE[lane] for lane in EXECUTING}
    table = values.to_pandas()
    assert (table.index.name, [*table.columns], len(table)) == ("lane", ["value", "state", "global_x"], 64)
    assert table[table.state == "active"].value.tolist() == [TWICE[lane] for lane in EXECUTING]
    assert table.value.mean() == 18
    absent = frame["even"].values().to_pandas()  # lane 3 is not in scope
    assert (str(absent.value.dtype), absent.value[4], str(absent.value[3])) == ("Int32", 18, "<NA>")
    assert frame["slots"].values().to_pandas().value[2].tolist() == [20, 21, 22, 23]
    assert set(frame["unused"].values().to_pandas().state) == {"absent"}
    waves = all_waves(attached, "2 * $lane")
    assert waves.to_pandas().value["1:1:1:1"].sum() == 180
    assert waves.to_dict()["1:1:1:1", 4] == 8


def test_rows_of_a_table_have_the_global_ids_of_their_work_items():
    file, numbers = "dwarfgpu/examples/kernels.co", ["zeros(48)", "ones(48)", 2, 48]
    machine = machine_for(file, "saxpy")
    launched = launch(machine, file, "saxpy", grid=(48, 2), work_group=(48, 1), args=numbers)
    values = all_waves(dg.Running(launched).attached, "$lane", lanes="all")
    table = values.to_pandas()
    known = [(x, y) for y in range(2) for x in range(48)]
    assert [*table[["global_x", "global_y"]].dropna().itertuples(index=False, name=None)] == known
    assert (len(table), table.global_x.isna().sum()) == (128, 32)  # lanes without a work-item


def test_members_are_columns(tmp_path):
    pair = entry("structure_type", "P", member("a", "int"), member("b", "int", 4), byte_size=8, label="P")
    case = Case(
        tmp_path, gpu(variable("p", "P", "DW_OP_regx v0; DW_OP_piece 4; DW_OP_regx v1; DW_OP_piece 4"), types=[pair])
    )
    table = dg.open(str(case.file)).attach(str(case.state))[0].frame(0)["p"].values().to_pandas()
    assert [*table.columns] == ["a", "b", "state"]  # and no work-items: no launch is known
    assert (table.a.tolist(), table.b.tolist()) == ([*LANES], [1] * 64)


def test_a_vector_of_three_is_three_numbers(tmp_path):
    three = entry("array_type", "", typed("int"), ("GNU_vector", "flag_present", None),
        ("byte_size", "data1", 16), entry("subrange_type", "", ("count", "data1", 3)), label="int3")  # fmt: skip
    two = entry("array_type", "", typed("int3"), entry("subrange_type", "", ("count", "data1", 2)), label="two")
    pair = entry("structure_type", "P", member("v", "int3"), member("n", "int", 16), byte_size=32, label="P")
    registers = [f"DW_OP_regx v{number}; DW_OP_piece 4" for number in (0, 1, 0)]
    both = "; ".join(2 * [*registers, "DW_OP_regx v1; DW_OP_piece 4"])
    alone = variable("v", "int3", "; ".join([*registers, "DW_OP_piece 4"]))  # the padding has no value
    variables = [alone, variable("a", "two", both), variable("p", "P", both)]
    case = Case(tmp_path, gpu(*variables, types=[three, two, pair]))
    frame = dg.open(str(case.file)).attach(str(case.state))[0].frame(0)
    expected = [[lane, 1, lane] for lane in LANES]
    values = frame["v"].values()
    assert (values.array.tolist(), values.array.dtype) == (expected, np.int32)
    assert [each.tolist() for each in values.to_pandas().value] == expected
    assert frame["a"].values().array.tolist() == [[each, each] for each in expected]
    assert frame["p"].values().array["v"].tolist() == expected


def test_members_of_structures_without_a_name_are_members(tmp_path):
    """HIP's vectors are such: in a union with an array, which is another form of the same."""
    inner = entry("structure_type", "", member("x", "int"), member("y", "int", 4), byte_size=8, label="inner")
    array = entry("array_type", "", typed("int"), entry("subrange_type", "", ("count", "data1", 2)), label="two")
    union = entry("union_type", "", member("", "inner"), member("dg", "two"), byte_size=8, label="forms")
    vector = entry("structure_type", "int2", member("n", "int"), member("", "forms", 4), byte_size=12, label="V")
    place = "; ".join(f"DW_OP_regx v{number}; DW_OP_piece 4" for number in (1, 0, 1))
    case = Case(tmp_path, gpu(variable("v", "V", place), types=[inner, array, union, vector]))
    frame = dg.open(str(case.file)).attach(str(case.state))[0].frame(0)
    array = frame["v"].values().array
    assert array.dtype.names == ("n", "x", "y")
    assert array.tolist() == [(1, lane, 1) for lane in LANES]


def test_the_array_of_lanes_that_all_count_is_masked_too(frame):
    values = frame.eval("$lane", lanes=[*EXECUTING])
    assert values.array.compressed().tolist() == [*EXECUTING]
    assert not np.ma.is_masked(values.array)
    assert np.histogram(values.array, 1)[0].tolist() == [len(EXECUTING)]


def test_members_of_zeros_and_of_inactive_lanes_keep_their_type(tmp_path):
    real = entry("base_type", "float", ("encoding", "data1", 4), byte_size=4, label="float")
    pair = entry("structure_type", "P", member("a", "int"), member("b", "float", 4), byte_size=8, label="P")
    file = gpu(variable("p", "P", "DW_OP_regx v0; DW_OP_piece 4; DW_OP_regx v1; DW_OP_piece 4"), types=[real, pair])
    case = Case(tmp_path, file)
    state = json.loads(case.state.read_text())
    state["waves"][0] |= {"exec": "0x6"}
    state["waves"][0]["registers"] |= {"v0": [0] * 64, "v1": [0] * 64}
    case.state.write_text(json.dumps(state))
    table = dg.open(str(case.file)).attach(str(case.state))[0].frame(0)["p"].values().to_pandas()
    assert (str(table.a.dtype), str(table.b.dtype)) == ("Int32", "float32")
    assert (table.a[1], table.b[1]) == (0, 0)
    assert (str(table.a[0]), str(table.b[0]), table.a.count(), table.b.count()) == ("<NA>", "nan", 2, 2)


def test_what_is_not_there_is_an_error_of_python(frame, attached):
    values = frame["even"].values()
    assert "lane 64 was not asked for" in str(raised(KeyError, lambda: values[64]))
    assert "lane -1 was not asked for" in str(raised(IndexError, values.of, -1))
    assert "Unknown wave 9" in str(raised(IndexError, lambda: attached[9]))
    assert "Unknown wave x" in str(raised(KeyError, lambda: attached["x"]))
    assert "1:1:1:1 has 1 frame, no frame 9" in str(raised(IndexError, attached[0].frame, 9))
    assert "nothere: No such file" in str(raised(FileNotFoundError, dg.open_core, "nothere"))
    assert "nothere.json: No such file" in str(raised(FileNotFoundError, dg.open(FILE).attach, "nothere.json"))


def test_without_pandas_the_error_says_what_to_do(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pandas is not installed" in str(raised(dg.UsageError, frame["even"].values().to_pandas))


def test_waves_are_rows(attached):
    values = all_waves(attached, "2 * $lane")
    assert len(values) == 1
    assert list(values) == values.array.tolist() == [COUNTED]
    assert np.asarray(values).shape == pd.DataFrame(values).shape == (1, 64)
    every = all_waves(attached, "2 * $lane", lanes="all")
    assert every.array.tolist() == [list(TWICE.values())]


def copies(thing):
    return (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing))


@pytest.mark.parametrize("name", ["left", "even", "slots", "unused", "2 * $lane"])
def test_values_types_and_reasons_are_data(frame, name):
    values = frame[name].values()
    for other in copies(values):
        assert list(map(str, other)) == list(map(str, values))
        assert (other.states, other.lanes, len(other)) == (values.states, values.lanes, len(values))
        assert {lane: str(each) for lane, each in other.reasons.items()} == {
            lane: str(each) for lane, each in values.reasons.items()
        }
        assert repr(other) == repr(values)
    assert [str(each) for each in copies(frame[name].type)] == [str(frame[name].type)] * 2
    for reason in values.reasons.values():
        assert [str(each) for each in copies(reason)] == [str(reason)] * 2


def test_values_of_waves_are_data(attached):
    values = all_waves(attached, "slots[1]")
    for other in copies(values):
        assert (list(other), other.states) == (list(values), values.states)


def test_handles_cannot_be_copied(frame):
    for name in ("Program", "Wave", "Frame", "Variable", "Quantity", "Object"):
        thing = NO_SEQUENCES[name](frame)
        for copied in (pickle.dumps, copy.deepcopy, copy.copy):
            assert "cannot be pickled or copied: take its values" in str(raised(TypeError, copied, thing))


def test_what_is_not_there_is_the_error_that_python_has_for_it(frame):
    missing = raised(FileNotFoundError, dg.open, "nothere")
    assert "nothere: No such file" in str(missing)
    assert isinstance(missing, dg.MalformedFile)
    for place in (frame, dg.open(FILE)):
        with pytest.raises(KeyError, match="no variable `nothere`") as unknown:
            place["nothere"]
        assert isinstance(unknown.value, dg.UsageError)
    assert "nothere" not in frame
    assert "left" in frame
    assert unknown.value._render_traceback_()[0].startswith("UnknownName: no variable")


def test_what_a_prompt_shows_of_large_things_is_one_line(frame):
    machine = machine_for("dwarfgpu/examples/blur.co", "blur")
    launched = launch(machine, "dwarfgpu/examples/blur.co", "blur", grid=64, work_group=64)
    assert repr(launched) == "<Launched blur, 2 waves>"
    assert repr(machine) == "<Gpu amdgcn-gfx1100-wave32, 2 waves>"
    assert repr(results()) == "<LaneResults of 4: Value(type=BaseType(generic), bits=0), ...>"
    assert repr(frame.target) == "Target('amdgcn-gfx90a')"
    assert (str(frame["left"].type), repr(frame["left"].type)) == ("int", "<Type int>")
    assert str(frame["unused"].why(4)) == "it has neither a location nor a constant value"


def test_a_launch_shows_its_kernel_and_its_arguments_in_few_words():
    shown = repr(dg.open_core("dwarfgpu/examples/blur.core")[1].launch)
    assert "kernel=blur, " in shown
    assert "arguments=['in=0x7f0000023300', 'out=0x7f0000043400', 'n=0x32', " in shown
    assert len(shown) < 1500


def test_a_variable_prints_its_values(frame):
    assert str(frame["limit"].values()).startswith("[20 -- 20")
    assert str(frame["limit"]).startswith("limit = [20 -- 20")
    assert {"value", "values", "why"} < {*dir(frame["limit"])} < {*dir(type(frame["limit"]))}  # what scripts ask
    assert str(frame["unused"]).startswith("unused = [--")


def results():
    form = dg.Format(address_size=8)
    expression = dg.parse("DW_OP_LLVM_push_lane", dg.dialect("llvm-user"), form)
    return dg.evaluate(expression, dg.Context(dg.target("amdgcn-gfx90a"), lanes=dg.LaneSet.of(range(4))))


NO_SEQUENCES = {
    "Program": lambda _frame: dg.open(FILE),                 "Wave": lambda _frame: dg.open(FILE).attach(STATE)[0],
    "Frame": lambda frame: frame,                            "Variable": lambda frame: frame["left"],
    "Quantity": lambda frame: frame.expression("left + 1"),  "Object": lambda frame: frame["slots"].object(2),
    "Value": lambda _frame: results().of(0),                 "Location": lambda frame: frame["left"].location(2),
    "LaneSet": lambda _frame: dg.LaneSet.of(range(4)),       "Reason": lambda frame: frame["unused"].why(4),
}  # fmt: skip
"""Numpy and pandas hold these as one object each."""


@pytest.mark.parametrize("name", NO_SEQUENCES)
def test_what_is_one_thing_is_one_object_for_numpy_and_no_loop_runs_over_it(frame, name):
    thing = NO_SEQUENCES[name](frame)
    array = np.asarray(thing, dtype=object)
    assert array.shape == ()
    assert array.item() is thing
    assert pd.Series([thing])[0] is thing
    assert "has no len" in str(raised(TypeError, len, thing))
    if name not in ("Wave", "Frame"):  # which yield their frames, and their variables
        assert "not iterable" in str(raised(TypeError, iter, thing))


@for_each("sequence, count",
    (lambda _frame: results(), 4), (lambda _frame: dg.open(FILE).attach(STATE), 1),
     (lambda frame: frame.expression("2 * $lane").values("active"), len(EXECUTING)),
    ids=["LaneResults", "Attached", "Values"])  # fmt: skip
def test_sequences_are_as_long_for_all(frame, sequence, count):
    thing = sequence(frame)
    assert len(thing) == len(list(thing)) == len(np.asarray(thing)) == len(pd.Series(list(thing))) == count


def test_every_public_class_that_holds_values_is_here():
    classes = {name for name in dg.__all__ if isinstance(getattr(dg, name), type)}
    without = {"Accessor", "Backend", "Context", "DescribedMachine", "Device", "Format", "Limits", "Machine", "Rules"}
    errors = {name for name in classes if issubclass(getattr(dg, name), Exception)}
    assert classes - without - errors - {"Running", "Debugging"} <= {*NO_SEQUENCES, "Values", "LaneResults", "Attached"}


@for_each(
    "compare",
    (lambda each: each == 4),
    (lambda each: each != 4),
    (lambda each: each in [1, 4]),
    (lambda each: np.arange(64) == each),
    (lambda each: each == np.arange(64)),
    (lambda each: each == each.values()),
)
@pytest.mark.parametrize("name", ["Variable", "SourceExpression"])
def test_what_differs_from_lane_to_lane_is_not_compared_with_a_number(frame, name, compare):
    quantity = frame["even"] if name == "Variable" else frame.expression("2 * $lane")
    assert "compare its values()" in str(raised(TypeError, compare, quantity))
    same = quantity
    assert quantity == same
    assert quantity in (None, same)
    assert {quantity: 1}[same] == 1
