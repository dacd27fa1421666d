"""Structures as arguments, laid out as the debugging information says."""

import numpy as np
import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch.launch import launch, machine_for

PAIR = {"a": 3, "b": [1, 2], "c": [0, 0, -5]}
MANY = [{"a": 1, "b": [10, 20], "c": [0, 0, 0]}, {"a": 1, "b": [100, 200], "c": [0, 0, 0]}]


def launched(path, **changed):
    machine = machine_for(path, "structs")
    args = {"out": "zeros(8)", "s": PAIR, "many": MANY, **changed}
    return launch(machine, path, "structs", grid=(8,), work_group=(8,), args=args)


@pytest.mark.parametrize(
    "processor",
    ["gfx90a", "gfx1100", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gfx900", "gfx1030", "gfx1200"))],
)
def test_structures_by_value_and_in_memory(built, processor):
    run = launched(built(processor))
    assert run.machine.run().has_ended
    assert run.buffers["out"].tolist() == [3 + 2 * i + (10, 100)[i & 1] - 5 for i in range(8)]


def test_a_structure_as_a_list_or_as_text(built):
    run = launched(built(), s=[3, np.array([1, 2]), [0, 0, -5]], many="[[1,[10,20],[0,0,0]],[1,[100,200],[0,0,0]]]")
    assert run.machine.run().has_ended
    assert run.buffers["out"].tolist() == [3 + 2 * i + (10, 100)[i & 1] - 5 for i in range(8)]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({**PAIR, "d": 1}, "argument 1 (struct pair s) of structs has no member 'd'"),
        ({"a": 1}, "argument 1 (struct pair s) of structs lacks b, c"),
        ({**PAIR, "a": 1.5}, "argument 1 (struct pair s) of structs.a is int, an integer, not 1.5"),
        ({**PAIR, "a": 1 << 40}, "argument 1 (struct pair s) of structs.a is int, which 1099511627776 does not fit"),
        ({**PAIR, "b": [1]}, "argument 1 (struct pair s) of structs.b has 2 elements, and 1 are given"),
        ({**PAIR, "c": [1, 2, 300]}, "argument 1 (struct pair s) of structs.c[2] is char, which 300 does not fit"),
        ([1, 2], "argument 1 (struct pair s) of structs has 3 members, and 2 values are given"),
        (5, "argument 1 (struct pair s) of structs is struct pair, not 5"),
        ("5", "argument 1 (struct pair s) of structs is struct pair, not 5"),
        ({**PAIR, "a": {}}, "argument 1 (struct pair s) of structs.a is int, not {}"),
    ],
)
def test_structures_that_do_not_fit(built, wrong, message):
    with pytest.raises(UsageError) as error:
        launched(built(), s=wrong)
    assert error.value.message == message


@pytest.mark.parametrize(
    "args, message, hint",
    [
        ({"x": 1}, "structs has no argument 'x'", "it takes float* out, struct pair s, struct pair* many"),
        ({"mani": 1}, "structs has no argument 'mani'", "did you mean many?"),
        ({"out": 0}, "no value for s, many of structs", "it takes float* out, struct pair s, struct pair* many"),
    ],
)
def test_names_that_are_not_there(built, args, message, hint):
    with pytest.raises(UsageError) as error:
        launch(machine_for(built(), "structs"), built(), "structs", grid=(8,), work_group=(8,), args=args)
    assert error.value.message == message
    assert error.value.hint.startswith(hint)
