"""Values of arguments: files, functions, JSON, structures; and what is refused."""

import numpy as np
import pytest

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.launch import planning
from dwarfgpu.execution.launch.argument_values import ArgumentType, converted
from dwarfgpu.regular_files import read_input
from tests.builders.parameters import for_each

FLOATS = ArgumentType("float*", is_pointer=True)
UNKNOWN = ArgumentType(None, is_pointer=True)


def value(text, argument=FLOATS):
    return converted(text, argument, "x", read_input)


@for_each(
    "text, wanted",
    ("zeros(3)", np.zeros(3, "f4")),
    ("zeros(0x10,f4)", np.zeros(16, "f4")),
    ("ones(2, float)", np.ones(2, "f4")),
    ("arange(4)", np.arange(4, dtype="f4")),
    ("full(2, -2.5)", np.full(2, -2.5, "f4")),
    ("full(2, 0x10, float32)", np.full(2, 16, "f4")),
    ("random(4)", np.random.default_rng(0).random(4).astype("f4")),
    ("random(4, f4, 9)", np.random.default_rng(9).random(4).astype("f4")),
    ("[1, 2.5]", np.array([1, 2.5], "f4")),
)
def test_functions_and_lists_make_arrays(text, wanted):
    found = value(text)
    assert found.dtype == wanted.dtype
    assert found.tolist() == wanted.tolist()


@for_each(
    "text, wanted",
    *(("float4*", "f4"), ("uint*", "u4"), ("const unsigned char*", "u1"), ("half*", "f2"), ("long*", "i8")),
    *(("struct s*", None), ("void*", None)),
)
def test_the_numbers_that_a_pointer_points_to(text, wanted):
    assert ArgumentType(text, is_pointer=True).element == wanted


def test_random_integers_are_of_the_whole_range():
    found = value("random(1000, i1, 3)", UNKNOWN)
    assert (found.min(), found.max()) == (-128, 127)


@for_each("text, wanted", ("5", 5), ("0x10", 16), ("-2", -2), ("1.5", 1.5), ("true", True), ("null", 0),
                                          ("bytes:0a0b", b"\n\x0b"), ("1e3", 1000.0))  # fmt: skip
def test_scalars(text, wanted):
    assert value(text) == wanted


def test_files(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype="f4").reshape(2, 3))
    assert value(f"@{tmp_path}/a.npy").shape == (2, 3)
    (tmp_path / "a.bin").write_bytes(np.arange(3, dtype="f4").tobytes())
    assert value(f"@{tmp_path}/a.bin").tolist() == [0, 1, 2]
    assert value(f"@{tmp_path}/a.bin", UNKNOWN).dtype == np.uint8
    np.save(tmp_path / "d.npy", np.arange(6.0))
    with pytest.raises(UsageError, match="x points to float32 numbers, and the array has float64"):
        value(f"@{tmp_path}/d.npy")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    for name, message in (("o.npy", "cannot be read"), ("none.npy", "No such file")):
        with pytest.raises(DwarfGpuError, match=message):
            value(f"@{tmp_path}/{name}")
    (tmp_path / "bad.npy").write_bytes(b"not numpy")
    with pytest.raises(UsageError, match="is no file of numpy"):
        value(f"@{tmp_path}/bad.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "d.npy").read_bytes()[:40])
    with pytest.raises(UsageError, match="cannot be read"):
        value(f"@{tmp_path}/cut.npy")


@for_each(
    "text, argument, message, hint",
    ("zeros()", FLOATS, "x: zeros takes other values", "write zeros(COUNT[, TYPE])"),
    ("zeros(many)", FLOATS, "x: 'many' is not a count", "write a number such as 1024"),
    ("zeros(4, flaot)", FLOATS, "x: there is no type 'flaot'", "did you mean float?"),
    ("zeros(4, f8)", FLOATS, "x points to float32 numbers, and the array has float64", None),
    ("zeros(4)", UNKNOWN, "x: the type of its numbers is not known", "write it: zeros(COUNT[, TYPE])"),
    ("zeros(999999999999)", FLOATS, "x: 3999999999996 bytes are too many", None),
    ("full(4, 300, u1)", UNKNOWN, "x: 300 does not fit u1", None),
    ("full(4, 1.5, i4)", UNKNOWN, "x: 1.5 does not fit i4", None),
    ("full(4, y)", FLOATS, "x: 'y' is not a number", None),
    ("[1, ", FLOATS, "x: '[1,' is no JSON", None),
    ("{}", FLOATS, "x: the layout of its type is not known", None),
)
def test_what_is_refused(text, argument, message, hint):
    with pytest.raises(UsageError) as error:
        value(text, argument)
    assert error.value.message.startswith(message)
    assert hint is None or error.value.hint == hint


def test_words_that_are_no_value_and_words_by_name_and_by_position():
    with pytest.raises(UsageError) as error:
        planning.value("zeroes(3)", "argument")
    expected = ("argument 'zeroes(3)' is not a value", "did you mean zeros(COUNT[, TYPE])?")
    assert (error.value.message, error.value.hint) == expected
    assert planning.mixed_arguments(["1", "n=5", "zeros(3)"], "argument") == {0: 1, "n": 5, 1: "zeros(3)"}
    with pytest.raises(UsageError, match="argument n is given twice"):
        planning.mixed_arguments(["n=1", "n=2"], "argument")
