"""Source expressions in a frame: parsed once, evaluated for one lane or for all."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.lanes import Group, LaneSet, each_part
from dwarfgpu.program.frames import registers
from dwarfgpu.program.frames.answers import Quantity, store
from dwarfgpu.program.frames.evaluator import Evaluator, Write
from dwarfgpu.program.frames.names import Names, variable_called
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.frames.variable import Variable
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.parser import parse, parse_type
from dwarfgpu.program.language.tokens import ExpressionError
from dwarfgpu.program.types.members import member_named
from dwarfgpu.program.types.model import Array, Pointer, Type, resolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.history import Remembered
    from dwarfgpu.program.values.objects import Object


class SourceExpression(Quantity):
    """An expression such as ``s->a[3] + 1`` in a frame."""

    def __init__(self, frame: Frame, text: str, written: str | None = None) -> None:
        self.frame = frame
        self.text = text
        self.written = text if written is None else written
        """How it was written, with its macros."""
        self.tree: s.SyntaxNode = parse(text, lambda name: frame.state.part(Names).type(frame, name) is not None)

    def __repr__(self) -> str:
        return f"SourceExpression({self.text!r})"

    @property
    def type(self) -> Type:
        """The type of the value; an error where it depends on a value that is missing.

        Where variables are does not matter for it, so names, members and elements need neither lane nor location.
        """
        frame = self.frame
        known = static_type(Evaluator(frame, frame.lane(None), self.text), self.tree)
        if known is not None:
            return known
        lanes = frame.lane_numbers("active") if frame.has_lanes and frame.activation is not None else (None,)
        # what depends on a value is asked where there is one; assignments in it are not made
        return self.evaluate(frame.lane(lanes[0] if lanes else 0))[0].type

    @cached_property
    def depends_on_place(self) -> bool:
        return any(len(node.parts) == 1 and node.file is None for node in _names_in(self.tree))

    def in_frame(self, frame: Frame) -> Quantity:
        return frame.quantity(self.written)

    def check_name(self) -> None:
        Evaluator(self.frame, self.frame.lane(None), self.text).check_name(self.tree)

    def evaluate(self, lanes: LaneSet) -> tuple[Object, Evaluator]:
        """Return the value in some lanes, and the evaluator that has what is to be assigned."""
        evaluator = Evaluator(self.frame, lanes, self.text)
        try:
            return evaluator.object(self.tree), evaluator
        except RecursionError:
            message = "the expression is nested too deep to be computed"
            raise UsageError(message, kind="too_deep", hint="compute it in parts") from None

    def find(self, lanes: LaneSet) -> Object:
        """Return the value as an object, for some lanes. Assignments in it are made."""
        value, evaluator = self.evaluate(lanes)
        finish([evaluator])
        return value

    def groups(self, lanes: LaneSet) -> list[Group[Object]]:
        """Return the value in some lanes. Assignments wait for all lanes: no lane sees those of another."""
        evaluators: dict[int, Evaluator] = {}

        def find(part: LaneSet) -> Object:
            value, evaluator = self.evaluate(part)
            evaluators[id(value)] = evaluator
            return value

        groups = each_part(lanes, find)
        finish([evaluators[id(group.result)] for group in groups if group.result is not None])
        return groups

    def perform(self, numbers: tuple[int | None, ...]) -> None:
        """Evaluate it for its assignments, which are made if it has a value in all of the lanes."""
        evaluators: list[Evaluator] = []
        for place, lanes in self.frame.places_of(numbers, self):
            expression = self if place is self.frame else SourceExpression(place, self.text)
            for chosen, lane_set in place.lane_sets(lanes):
                groups = each_part(lane_set, expression.evaluate)
                evaluators += [_result(group, lane_set, chosen)[1] for group in groups]
        finish(evaluators)

    def explain(self, lanes: LaneSet) -> Unavailable | None:
        """Return why there is no value: the reason of the variable or register that the expression is part of."""
        evaluator = Evaluator(self.frame, lanes, self.text)
        tree = self.tree
        while isinstance(tree, s.Subscript) or (isinstance(tree, s.MemberAccess) and not tree.is_arrow):
            tree = tree.operand
        if isinstance(tree, s.RegisterName):
            return registers.explain(evaluator, tree.name)
        variable = evaluator.named(tree)
        return variable.explain(lanes) if isinstance(variable, Variable) else None


def static_type(evaluator: Evaluator, tree: Any) -> Type | None:
    """Return the type of a tree that declarations alone tell; None where a value is needed."""
    if isinstance(tree, s.Name):
        variable = evaluator.named(tree)
        return None if variable is None else variable.type
    if isinstance(tree, s.Cast):
        return evaluator.built(tree.type)
    if isinstance(tree, s.Assignment):
        return static_type(evaluator, tree.target)
    if isinstance(tree, s.MemberAccess):
        owner = static_type(evaluator, tree.operand)
        member = None if owner is None else member_named(_pointed(owner), tree.name[-1])
        return None if member is None else member.type
    if isinstance(tree, s.Subscript) or (isinstance(tree, s.Unary) and tree.operator == "*"):
        owner = static_type(evaluator, tree.operand)
        return None if owner is None else _element(owner)
    return None


def _pointed(owner: Type) -> Type:
    """Return what a pointer or a reference leads to; any other type as it is."""
    for _ in range(2):  # a reference to a pointer
        inner = resolved(owner)
        if isinstance(inner, Pointer):
            owner = inner.target
    return owner


def _element(owner: Type) -> Type | None:
    """Return the type of an element of an array, or of what a pointer leads to; None where an object tells."""
    inner = resolved(owner)
    if isinstance(inner, Pointer) and inner.is_reference:
        inner = resolved(inner.target)
    if isinstance(inner, Pointer):
        return inner.target
    if not isinstance(inner, Array) or inner.column_major or inner.generic is not None or not inner.dimensions:
        return None
    return inner.element if len(inner.dimensions) == 1 else evolve(inner, dimensions=inner.dimensions[1:])


def finish(evaluators: Iterable[Evaluator]) -> None:
    """Make the assignments of an expression, each evaluator those of its lanes."""
    notes: dict[str, list[tuple[LaneSet, Object]]] = {}
    remembered: Remembered | None = None
    for evaluator in evaluators:
        for write in evaluator.writes:
            store(write.target, write.pattern, write.bit_size, evaluator.frame, evaluator.lanes)
        for name, value in evaluator.notes:
            notes.setdefault(name, []).append((evaluator.lanes, value))
        remembered = evaluator.frame.state.remembered
    for name, pieces in notes.items():
        assert remembered is not None  # noqa: S101 (nothing is noted without)
        remembered.set(name, pieces)


def assign(frame: Frame, target: Quantity, text: str, lanes: Iterable[int] | int | str | None) -> None:
    """Make the assignment ``target = text`` in some lanes, after all values have been computed."""
    numbers = frame.lane_numbers(lanes)
    writes: list[tuple[Write, LaneSet]] = []
    for place, lanes_there in frame.places_of(numbers, target):
        there = target if place is frame else target.in_frame(place)
        writes += _assignments(place, there, text, lanes_there)
    for write, part in writes:
        store(write.target, write.pattern, write.bit_size, frame, part)


def _assignments(
    frame: Frame, target: Quantity, text: str, numbers: tuple[int | None, ...]
) -> Iterator[tuple[Write, LaneSet]]:
    tree = parse(text, lambda name: frame.state.part(Names).type(frame, name) is not None)

    def find(part: LaneSet) -> Any:
        evaluator = Evaluator(frame, part, text)
        evaluator.assign(target.find(part), evaluator.operand(tree))
        return evaluator.writes[-1], part

    for lane_numbers, chosen in frame.lane_sets(numbers):
        yield from (_result(group, chosen, lane_numbers) for group in each_part(chosen, find))


def _result(group: Group[Any], lanes: LaneSet, numbers: Sequence[int | None] | None = None) -> Any:
    """Return the result of a group of lanes, or raise its error with the first of its lanes."""
    if group.result is not None:
        return group.result
    error = group.outcome(0)
    assert isinstance(error, DwarfGpuError)  # noqa: S101 (a group without a result has errors)
    slot = group.slots(lanes.count)[0]
    if numbers is not None:
        lane: Any = numbers[slot]
    else:
        lane = None if lanes.count == 1 else lanes.select(slot).lane
    if lane is not None and not isinstance(error, ExpressionError):
        error.message = f"{error.message} (lane {lane})"
    raise error


def type_named(frame: Frame, name: str) -> Type:
    """Return the type that a text such as ``struct S *`` means in a frame."""
    tree = parse_type(name, lambda word: frame.state.part(Names).type(frame, word) is not None)
    return Evaluator(frame, frame.lane(None), name).built(tree)


def variables_in(frame: Frame, tree: Any) -> list[Variable]:
    """Return the variables that an expression names, each once."""
    variables: dict[Die, Variable] = {}
    for node in _names_in(tree):
        try:
            variable = variable_called(frame, node.parts, node.file)
        except DwarfGpuError:
            variable = None
        if variable is not None:
            variables.setdefault(variable.die, variable)
    return list(variables.values())


def is_constant(tree: Any) -> bool:
    """Return whether an expression names nothing that could change: no variable, register or memory."""
    changing = s.Name, s.RegisterName, s.Subscript, s.MemberAccess, s.Unary
    return not any(isinstance(node, changing) for node in _nodes_in(tree))


def _names_in(tree: Any) -> Iterator[s.Name]:
    yield from (node for node in _nodes_in(tree) if isinstance(node, s.Name))


def _nodes_in(tree: Any) -> Iterator[Any]:
    """Yield the parts of an expression, in the order of the text; nothing is part of a name."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, s.Name):
            continue
        if isinstance(node, tuple):
            waiting += reversed(node)
        elif attrs.has(type(node)):
            waiting += [getattr(node, part.name) for part in reversed(attrs.fields(type(node)))]
