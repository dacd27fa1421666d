"""Immutable classes: nothing assigns to a field, and they are equal and hashed by their fields, arrays included."""

import os
import pickle
import subprocess
import sys
from itertools import product

import attrs
import numpy as np
import pytest

from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.types import Value, generic
from dwarfgpu.immutable import asdict, astuple, define, evolve, field, fields, frozen, immutable
from dwarfgpu.lanes import LaneSet
from tests.builders.commands import in_python
from tests.builders.errors import raised

GENERIC = generic(8)
WIDE = [1 << 90, 5]


def per_slot(*numbers, dtype=np.uint64):
    return Value(GENERIC, np.array(numbers, dtype=dtype))


@pytest.mark.parametrize("instance", [Value(GENERIC, 7), LaneSet.one(3), DieReference("info", 9)])
def test_no_field_can_be_assigned_or_deleted(instance):
    name = attrs.fields(type(instance))[0].name
    raised(AttributeError, setattr, instance, name, None)
    raised(AttributeError, delattr, instance, name)
    with pytest.raises(AttributeError):
        instance.newcomer = 1


@pytest.mark.parametrize("freeze, outcome", [("1", "refused"), ("0", "8")])
def test_what_the_evaluator_creates_is_frozen_where_the_environment_says_so(freeze, outcome):
    script = (
        "from dwarfgpu.expr.types import Value\n"
        "value = Value(None, 7)\n"
        "try:\n    value.bits = 8\n    print(value.bits)\nexcept AttributeError:\n    print('refused')"
    )
    environment = {**os.environ, "DWARFGPU_FREEZE": freeze, "PYTHONPATH": os.pathsep.join(sys.path)}
    text = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True)
    assert text.stdout.decode().strip() == outcome


def test_equality_and_hash_are_those_of_the_fields():
    assert Value(GENERIC, 7) == Value(GENERIC, 7) != Value(GENERIC, 8)
    assert hash(Value(GENERIC, 7)) == hash(Value(GENERIC, 7))
    assert Value(GENERIC, 7) != 7
    assert evolve(Value(GENERIC, 7), bits=8) == attrs.evolve(Value(GENERIC, 7), bits=8) == Value(GENERIC, 8)


@pytest.mark.parametrize("other, is_same", [
    (per_slot(1, 2), True), (per_slot(1, 2, dtype=object), True), (per_slot(1, 3), False),
    (per_slot(1, 2, 2), False), (Value(GENERIC, 1), False)])  # fmt: skip
def test_arrays_are_compared_as_a_whole(other, is_same):
    assert (per_slot(1, 2) == other) is is_same
    assert (other == per_slot(1, 2)) is is_same


def test_patterns_of_more_than_64_bits_are_compared_too():
    assert per_slot(*WIDE, dtype=object) == per_slot(*WIDE, dtype=object) != per_slot(1 << 91, 5, dtype=object)


def test_a_value_that_differs_from_slot_to_slot_has_no_hash():
    assert "unhashable" in str(raised(TypeError, hash, per_slot(1, 2)))


@pytest.mark.parametrize("instance", [Value(None, 7), LaneSet.grid(2, 4), DieReference("info", 9)])
def test_instances_can_be_pickled(instance):
    assert pickle.loads(pickle.dumps(instance)) == instance


def made_by(decorator, field=field):
    """Return a class with fields of all sorts, and one that adds a field to it."""

    @decorator
    class Place:
        name: str
        parts: tuple[int, ...] = ()
        note: str = field(default="", eq=False)
        key: object = field(default=None, repr=False)

    @decorator
    class FarPlace(Place):
        distance: int = 0

        def __repr__(self):
            return f"far {super().__repr__()}"

    return Place, FarPlace


SAMPLES = [("a",), ("a", (1,)), ("a", (1,), "noted"), ("a", (1,), "", 5), ("b", (1,), "", 5)]


@pytest.mark.parametrize("decorator", [frozen, immutable])
def test_methods_made_later_answer_what_those_of_attrs_answer(decorator):
    ours = [cls(*sample) for cls in made_by(decorator) for sample in SAMPLES]
    theirs = [cls(*sample) for cls in made_by(attrs.frozen, attrs.field) for sample in SAMPLES]
    for _round in range(2):  # each method when it is called first, and again
        assert [left == right for left, right in product(ours, ours)] == [
            left == right for left, right in product(theirs, theirs)
        ]
        assert [left != right for left, right in product(ours, ours)] == [
            left != right for left, right in product(theirs, theirs)
        ]
        assert [repr(place) for place in ours] == [repr(place) for place in theirs]
        assert len(set(ours)) == len(set(theirs)) < len(SAMPLES) * 2


def test_what_a_class_writes_itself_stays():
    _place, far = made_by(frozen)
    assert repr(far("a")).startswith("far ")
    assert repr(far("a")) == repr(far("a"))


def test_without_eq_an_instance_is_equal_to_itself_only():
    @frozen(eq=False)
    class Marker:
        names: list[str]

    marker = Marker(["a"])
    assert marker != Marker(["a"])
    assert len({marker, Marker(["a"])}) == 2
    assert repr(marker).endswith("Marker(names=['a'])")


def test_instances_with_what_has_no_hash_have_none():
    @frozen
    class Names:
        names: list[str]

    assert Names(["a"]) == Names(["a"])
    assert "unhashable" in str(raised(TypeError, hash, Names(["a"])))


def test_errors_are_copied_where_tblib_pickles_exceptions():
    """It comes with `distributed`, and sets the notes of each copy."""
    pytest.importorskip("tblib")
    script = """
import copy, pickle
import tblib.pickling_support
from dwarfgpu.errors import UsageError
tblib.pickling_support.install()
error = UsageError("wrong", hint="do this")
print([(str(each), each.hint, each.__notes__) for each in (copy.copy(error), pickle.loads(pickle.dumps(error)))])
"""
    assert in_python(script) == f"{[('wrong', 'do this', ['hint: do this'])] * 2}\n"


def defined_by(define, field):
    """Return a class with fields that get their values in all ways, and one that has more of them."""

    @define
    class Launch:
        _size: int
        parts: list[int] = field(factory=list)
        total: int = field(init=False)
        count: int = field(init=False, default=2)
        name: str = field(default="k", converter=str.upper)
        limit: int = field(default=9, kw_only=True)

        @total.default
        def _total(self):
            return self._size + len(self.parts)

        def __attrs_post_init__(self):
            self.parts.append(self.total)

    @define(kw_only=True)
    class NamedLaunch(Launch):
        label: str
        name: str = "other"

        def show(self):
            return f"{super().__repr__()} of {self.label}"

    return Launch, NamedLaunch


def test_fields_get_the_values_that_attrs_gives_them():
    (ours, named), (theirs, named_theirs) = defined_by(define, field), defined_by(attrs.define, attrs.field)
    for made, expected in (
        (ours(3), theirs(3)), (ours(3, [1], "b", limit=2), theirs(3, [1], "b", limit=2)),
        (ours(size=1, name="c"), theirs(size=1, name="c")),
        (named(4, label="x"), named_theirs(4, label="x")), (named(4, [], name="y", label="x"),
                                                           named_theirs(4, [], name="y", label="x")),
    ):  # fmt: skip
        assert repr(made) == repr(expected)
        assert asdict(made) == attrs.asdict(expected)
        assert astuple(made) == attrs.astuple(expected)
        assert repr(pickle.loads(pickle.dumps(made.parts))) == repr(expected.parts)
        assert repr(evolve(made, size=8)) == repr(attrs.evolve(expected, size=8))
        assert type(made).__match_args__ == type(expected).__match_args__
        assert [each.name for each in fields(type(made))] == [each.name for each in attrs.fields(type(expected))]
    assert named(4, label="x").show() == named_theirs(4, label="x").show()
    assert ours(3) == ours(3) != ours(4)
    for wrong in ((), (1, [], "a", 9), (1, [], "a", 9, 9)):
        raised(TypeError, ours, *wrong)
    raised(TypeError, hash, ours(3))


def test_an_instance_that_contains_itself_is_shown():
    launch = defined_by(define, field)[0](3)
    launch.parts.append(launch)
    assert "parts=[3, ...]" in repr(launch)


def test_the_methods_of_all_classes_can_be_written_without_attrs():
    """A field without a default behind one with a default is an error only when the method is called first."""
    script = """
import gc, importlib, pkgutil, sys
sys.modules["attr"] = sys.modules["attrs"] = None
import dwarfgpu
from dwarfgpu import immutable
for found in pkgutil.walk_packages(dwarfgpu.__path__, "dwarfgpu."):
    if not {"__main__", "examples", "gdbplugin", "triton_fixture"} & {*found.name.split(".")}:
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert error.name in ("gdb", "triton"), error
classes = [each for each in gc.get_objects() if isinstance(each, type) and "__attrs_attrs__" in each.__dict__]
writers = immutable._init, immutable._eq, immutable._hash
print(sum(callable(write(each)) for each in classes for write in writers) > 2000)
"""
    assert in_python(script) == "True\n"
