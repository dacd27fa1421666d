"""Variables whose values follow from the source: arguments that are never changed, and what they are initialized with.

A variable that is never assigned behind its declaration has everywhere the value of its initializer, as far as this is
made of such variables, numbers, identifiers of the work-item, and elements of buffers that the kernel has not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from operator import add, floordiv, ge, gt, le, lshift, lt, mul, ne, rshift, sub
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.recorded_values import FLOAT, PointerNames, float_of, leaf_text, number_of, scalar_leaf
from dwarfgpu.audits.judge.rounding import differ_by_rounding, size_of_terms
from dwarfgpu.audits.judge.sightings import Sightings, Subject
from dwarfgpu.audits.judge.source_execution import KnownBuffer, Number, SourceExecution, integer_leaf, read_function
from dwarfgpu.audits.judge.source_syntax import UnreadableSource
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import first_lane, mask_of, outer_of
from dwarfgpu.program.code.kernel_parameters import DescribedKernel, is_body
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.variable import PARAMETER, Variable
from dwarfgpu.program.frames.wave_positions import place_of
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Base, Enumeration, Pointer, Qualified, Type, Typedef, stripped
from dwarfgpu.program.types.reader import Types

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.source_execution import SourceFunction
    from dwarfgpu.audits.judge.source_functions import FunctionText, FunctionTexts
    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.code.scopes import FunctionScope
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object

_AXES = {"x": 0, "y": 1, "z": 2, "0": 0, "1": 1, "2": 2}
_ITEM = re.compile(
    r"\b(?:__builtin_amdgcn_work(?P<builtin>item|group)_id_(?P<axis>[xyz])\s*\(\s*\)"
    r"|get_(?P<opencl>local|group|global)_id\s*\(\s*(?P<number>[012])\s*\)"
    r"|(?P<hip>threadIdx|blockIdx)\s*\.\s*(?P<member>[xyz])\b)"
)
"""What a source calls the identifiers of a work-item."""
_KINDS = {"item": "local", "threadIdx": "local", "blockIdx": "group"}
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_REFUSED = re.compile(r"->|\.|[{}\"']|(?<![=!<>])=(?!=)|\+\+|--|\b[A-Za-z_]\w*\s*\(|\b(?:sizeof|new|half)\b")
"""What an initializer may not have: assignments, calls, members."""
_INTEGERS = r"unsigned|signed|int|long|short|char|uint|ulong|ushort|uchar"
_CAST = re.compile(rf"\(\s*(?:(?:{_INTEGERS}|float|double)\s*)+\)")
_FLOAT = re.compile(r"(?<![\w.])\d+(?:\.\d*(?:[eE][-+]?\d+)?|[eE][-+]?\d+)[fF]?(?!\w)")
_ROUGH = re.compile(rf"[?<>!]|==|&&|\|\||\(\s*(?:{_INTEGERS})\b")
"""What makes a large difference of a small one: comparisons, and conversions to integers."""
_ELEMENT = r"\b{0}\s*\[[^\[\]]*\]"
_READ = rf"(?<!\+\+|--|& )(?<!&){_ELEMENT}(?!\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--|\[|\.|->))"
_HEADER = (
    rf"\bfor\s*\(\s*(?:(?:{_INTEGERS}|size_t)\s+)+{{0}}\s*=\s*([^;=,]+);"
    r"\s*{0}\s*(<=?|>=?|!=)\s*([^;]+);\s*(?:(?P<sign>\+\+|--)\s*{0}|{0}\s*(?:(?P<next>\+\+|--)"
    r"|(?P<by>[-+*/]|<<|>>)=\s*(?P<step>[^);,]+)))\s*\)"
)
"""The head of a loop that counts: the first value, the comparison, and the step."""
_LITERAL = re.compile(r"\d+[uUlL]*")
_STEPS = {"+": add, "-": sub, "*": mul, "/": floordiv, "<<": lshift, ">>": rshift}
_COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne}
_NO_NAMES = PointerNames((), lambda _address: None)
MOST_COUNTED = 4096
"""The values of a counter that are known, at most."""
MOST_SHOWN = 4
"""The values of a variable that a message names, at most."""


@frozen
class KnownValue:
    """What a variable is by the source."""

    text: str
    """An expression of numbers and memory, and of variables whose values are not known."""
    is_fixed: bool
    """Whether it is the same until the wave ends."""
    expression: str = ""
    """What the source has; nothing for an argument."""
    buffers: tuple[str, ...] = ()
    """The pointers in it."""
    terms: tuple[str, ...] = ()
    """The assignments that it is made by."""
    operands: tuple[tuple[str, str], ...] = ()
    """What these have, as the source calls that, each with its text."""
    has_floats: bool = False


@frozen
class LoopCounter:
    """The values of a variable that nothing but the head of its loop changes."""

    head: str
    values: tuple[int, ...]
    is_once: bool
    """Whether the loop is executed once, so that its values follow each other."""


class SourceValues:
    """Judges variables by the values that the source gives them."""

    def __init__(self, run: FollowedRun, sightings: Sightings, texts: FunctionTexts, rule: CheckRule) -> None:
        self.run = run
        self.running = run.running
        self.sightings = sightings
        self.rule = rule
        self._texts = texts
        self._known: dict[Any, KnownValue | LoopCounter | None] = {}
        self._counted: dict[int, dict[tuple[Any, int | None], int]] = {}
        """The last value of a counter in a lane, by wave."""
        self._meant: dict[int, dict[tuple[str, int | None], int]] = {}
        """What is known to be the same until a wave ends."""
        self._types = Types()
        self._kernel: Die | None = None
        self._functions: dict[tuple[Die, str], SourceFunction] = {}
        self._executions: dict[Any, SourceExecution | None] = {}
        """By work-item."""
        self._buffers: set[str] = set()
        """The pointers of the kernel to what these have read."""
        self._arguments = cache(self._find_arguments)
        self._enumerators = cache(_enumerators)
        plan = self.running.launched.plan
        self._blocks = {block.address: block.data for block in plan.blocks}

    def end(self, wave: int) -> None:
        """Forget what a wave that ends has had: another work-group may have its number."""
        for known in (self._counted, self._meant):
            known.pop(wave, None)

    def judge(
        self, arrival: InstructionVisit, row: int, variable: Variable, lanes: list[int], *, is_first: bool
    ) -> None:
        """Compare a variable that has a location with what the source says that it is."""
        frame = variable.frame
        is_own = arrival.call is None and _is_own(frame)
        known = self._value_of(frame, variable, is_own=is_own)
        scope = frame.scope
        if is_own and scope is not None and (self._kernel is None or _is_body(scope)):
            kernel = [*scope.die.origins()][-1]
            if kernel != self._kernel:
                self._kernel = kernel
                self._executions.clear()
        location = variable.definition.find_number(dw.DW_AT_location)
        is_parameter = isinstance(known, KnownValue) and not known.expression
        if not is_parameter and (location is None or location.value_class != "loclist"):
            return  # it is there before it has its value
        chosen: list[int | None] = [*outer_of(lanes)] or [None]
        if self.sightings.has(Subject(self.rule, variable.name, variable.die.offset), arrival.pc):
            return
        found = [*self._wrong_values(arrival, row, variable, known, chosen, is_own=is_own, counts=is_first)]
        if found:
            again = [*self._wrong_values(arrival, row, variable, known, lanes, is_own=is_own, counts=False)]
            wrong = dict((*again, *found))
            mask, said = mask_of(lane for lane in wrong if lane is not None), variable.die.offset
            message = wrong[first_lane(mask) if mask else None]
            self.sightings.see(self.rule, variable.name, arrival, row, message, said=said, lanes=mask)

    def _wrong_values(
        self, arrival: InstructionVisit, row: int, variable: Variable, known: KnownValue | LoopCounter | None,
        lanes: Sequence[int | None], *, is_own: bool, counts: bool,
    ) -> Iterator[tuple[int | None, str]]:  # fmt: skip
        """Yield the lanes in which a variable has a value that the source does not give it, each with why."""
        wave = arrival.wave(row)
        for lane in lanes:
            message = None
            with suppress(DwarfGpuError):
                if isinstance(known, KnownValue):
                    message = self._compare(wave, lane, variable.frame, variable, known)
                elif known is not None and counts:
                    message = self._count(wave, lane, variable, known)
                if message is None and lane is not None:
                    message = self._exclude(wave, lane, variable, is_own=is_own)
            if message is not None:
                yield lane, message

    def _count(self, wave: int, lane: int | None, variable: Variable, counter: LoopCounter) -> str | None:
        """Return what is wrong with the value of a counter: the loop does not take it, or not there."""
        shown = _pattern(answer(variable, variable.name, None if lane is None else [lane]).by_lane[0].value)
        leaf = scalar_leaf(variable.type)
        if shown is None or leaf is None:
            return None
        value = number_of(leaf, shown)
        if value not in counter.values:
            return f"{variable.name} is {value}, which {counter.head} never makes it"
        values = self._counted.setdefault(wave, {})
        last = values.get((variable.die, lane), value)
        values[variable.die, lane] = value
        if counter.is_once and counter.values.index(value) < counter.values.index(last):
            return f"{variable.name} goes back from {last} to {value} in {counter.head}"
        return None

    def _compare(self, wave: int, lane: int | None, frame: Frame, variable: Variable, known: KnownValue) -> str | None:
        """Return the value and the one that is right, if they differ; None where one of them is not known."""
        lanes = None if lane is None else [lane]
        shown, leaf = _pattern(answer(variable, variable.name, lanes).by_lane[0].value), scalar_leaf(variable.type)
        key, fixed = (known.text, lane), self._meant.setdefault(wave, {})
        meant = fixed.get(key)
        if meant is None and all(map(self._is_unchanged, known.buffers)):
            meant = self._evaluated(known.text, wave, lane, frame)
            if meant is not None and known.is_fixed:
                fixed[key] = meant
        if shown is None or leaf is None or meant is None or meant == shown:
            return None
        if leaf.kind == FLOAT:
            cast = f"({safe_text(stripped(variable.type))})"
            values = {name: self._evaluated(f"{cast}({text})", wave, lane, frame) for name, text in known.operands}
            floats = {name: abs(float(float_of(leaf, bits))) for name, bits in values.items() if bits is not None}
            scale = size_of_terms(variable.name, known.terms, floats)
            if differ_by_rounding(float_of(leaf, shown), float_of(leaf, meant), scale):
                return None
        is_now, is_right = (leaf_text(leaf, bits, _NO_NAMES) for bits in (shown, meant))
        why = f": {known.expression}" if known.expression else ", which is its argument"
        return f"{variable.name} is {is_now}, and the source makes it {is_right}{why}"

    def _exclude(self, wave: int, lane: int, variable: Variable, *, is_own: bool) -> str | None:
        """Return which values the source gives a variable in a work-item, if it never has the one that is shown."""
        executed, place = self._executed(wave, lane), self._texts.declared_at(variable.die)
        leaf = scalar_leaf(variable.type)
        if executed is None or place is None or leaf is None or (executed.has_unknown_calls and not is_own):
            return None
        key = (*place, variable.name)
        values = set() if key in executed.open else executed.values.get(key, set())
        shown = _pattern(answer(variable, variable.name, [lane]).by_lane[0].value) if values else None
        if shown is None or number_of(leaf, shown) in values or not all(map(self._is_unchanged, self._buffers)):
            return None
        few = ", ".join(map(str, sorted(values)[:MOST_SHOWN])) + (", ..." if len(values) > MOST_SHOWN else "")
        return f"{variable.name} is {number_of(leaf, shown)}, which the source never makes it: it is only {few}"

    def _evaluated(self, text: str, wave: int, lane: int | None, frame: Frame) -> int | None:
        numbers = self._with_numbers(text, wave, lane)
        result = None if numbers is None else frame.eval(numbers, None if lane is None else [lane])
        return None if result is None else _pattern(result.by_lane[0].value)

    # --- The source, executed -------------------------------------------------------------------------------------

    def _executed(self, wave: int, lane: int) -> SourceExecution | None:
        """Return what the source does for the work-item of a lane; None if that is not known."""
        place = place_of(self.running.machine, wave)
        key = place.work_group, place.item(lane)
        if key not in self._executions:
            self._executions[key] = None
            with suppress(DwarfGpuError, UnreadableSource, RecursionError):
                self._executions[key] = self._execute(wave, lane)
        return self._executions[key]

    def _execute(self, wave: int, lane: int) -> SourceExecution | None:
        text = None if self._kernel is None else self._texts.of(self._kernel)
        kernel = None if self._kernel is None or text is None else self._read(self._kernel, wave, lane)
        if self._kernel is None or text is None or kernel is None:
            return None

        def function(name: str) -> SourceFunction | None:
            die = self._function_called(name)
            return None if die is None else self._read(die, wave, lane)

        constants = self._enumerators(self._kernel.unit.root)
        execution = SourceExecution(function, constants=constants, has_unknown_calls=text.has_references)
        parameters = [die for die in self._kernel.children() if die.tag == dw.DW_TAG_formal_parameter]
        execution.call(kernel, [self._argument(die, text) for die in parameters])
        return execution

    def _read(self, function: Die, wave: int, lane: int) -> SourceFunction:
        text = self._texts.of(function)
        code = None if text is None else self._with_numbers(text.expanded(text.code), wave, lane)
        if text is None or code is None:
            raise UnreadableSource(function.name)
        if (function, code) not in self._functions:
            self._functions[function, code] = read_function(text, function, code, self._types)
        return self._functions[function, code]

    def _function_called(self, name: str) -> Die | None:
        """Return the function of the program with a name; None if the name is one of the language."""
        assert self._kernel is not None  # noqa: S101 (its text is executed)
        functions = (die for die in self._kernel.unit.root.children() if die.tag == dw.DW_TAG_subprogram)
        named = {[*die.origins()][-1] for die in functions if (die.name or "").partition("<")[0] == name}
        if len(named) > 1:
            raise UnreadableSource(name)
        return next(iter(named), None)

    def _argument(self, parameter: Die, text: FunctionText) -> Number | KnownBuffer | None:
        """Return an argument of the kernel that is an integer, or a buffer of integers that the kernel only reads."""
        name, kind = parameter.name or "", stripped(self._types.type_of(parameter))
        argument = self._arguments().get(name)
        pointed = kind.target if isinstance(kind, Pointer) else kind
        leaf = integer_leaf(pointed)
        if argument is None or leaf is None:
            return None
        number = int.from_bytes(argument, "little", signed=leaf.is_signed and pointed is kind)
        if not isinstance(kind, Pointer):
            return Number(number, leaf)
        content = self._blocks.get(number) if _is_only_read(name, kind, text) else None
        places = range(number, number + len(content or b""))
        if content is None or sum(int.from_bytes(each, "little") in places for each in self._arguments().values()) > 1:
            return None
        self._buffers.add(name)
        return KnownBuffer(bytes(content), leaf)

    # --- What is known --------------------------------------------------------------------------------------------

    def _value_of(self, frame: Frame, variable: Variable, *, is_own: bool) -> KnownValue | LoopCounter | None:
        key = variable.die
        if key not in self._known:
            self._known[key] = None
            with suppress(DwarfGpuError):
                self._known[key] = self._find_value(frame, variable, is_own=is_own)
        return self._known[key]

    def _find_value(self, frame: Frame, variable: Variable, *, is_own: bool) -> KnownValue | LoopCounter | None:
        scope = frame.scope
        text = None if scope is None else self._texts.of(scope.die)
        if scope is None or text is None or not variable.name or not _is_scalar(variable.type):
            return None
        if not text.is_constant(variable.name, is_parameter=variable.kind == PARAMETER):
            return self._counter(frame, variable, text, is_own=is_own)
        if scope.is_inlined and not is_own:
            return None  # it may be called in a loop
        if variable.kind == PARAMETER:
            argument = self._arguments().get(variable.name) if is_own else None
            return None if argument is None else KnownValue(_literal_of(argument, variable.type), is_fixed=True)
        line = variable.die.find("DW_AT_decl_line")
        if line is None or text.is_in_loop(int(line.value)):
            return None
        return self._initializer(frame, variable, text, is_own=is_own)

    def _initializer(self, frame: Frame, variable: Variable, text: FunctionText, *, is_own: bool) -> KnownValue | None:
        found = re.search(rf"\b{re.escape(variable.name)}\s*=(?!=)\s*([^;,]*)[;,]", text.code)
        if found is None:
            return None
        known = self._without_names(frame, text.expanded(found[1].strip()), text, is_own=is_own)
        if known is None or (known.has_floats and not _is_float(variable.type)):
            return None  # a float may be rounded otherwise, and then fall on the other side of a number
        terms = f"{variable.name} = {known.expression}", *known.terms
        return evolve(known, text=f"({safe_text(stripped(variable.type))})({known.text})", terms=terms)

    def _without_names(self, frame: Frame, source: str, text: FunctionText, *, is_own: bool) -> KnownValue | None:
        """Return what an expression is, with what is known of its variables in the place of their names."""
        plain = _ITEM.sub("1", _FLOAT.sub("1", _CAST.sub("", source)))
        if source.count("(") != source.count(")") or not source or _REFUSED.search(plain):
            return None
        has_floats = _FLOAT.search(source) is not None or re.search(r"\b(?:float|double)\b", source) is not None
        variables = {each.name: each for each in frame.variables()}
        inner: dict[str, KnownValue] = {}
        buffers: list[str] = []
        for name in {*_NAME.findall(plain)}:
            each = variables.get(name)
            if (
                each is None
                or not text.is_constant(name, is_parameter=each.kind == PARAMETER)
                or not _is_scalar(each.type)
            ):
                return None
            kind, place = stripped(each.type), each.definition.find_number(dw.DW_AT_location)
            known = self._value_of(frame, each, is_own=is_own)
            if isinstance(known, KnownValue):
                inner[name] = known
            elif each.kind != PARAMETER and (place is None or place.value_class != "loclist"):
                return None
            declared = each.die.find("DW_AT_decl_line")
            if each.kind != PARAMETER and (declared is None or text.is_in_loop(int(declared.value))):
                return None
            has_floats |= _is_float(kind.target if isinstance(kind, Pointer) else kind)
            if isinstance(kind, Pointer):
                if each.kind != PARAMETER or name not in self._arguments() or not _is_only_read(name, kind, text):
                    return None
                buffers.append(name)

        def without(part: str) -> str:
            return _NAME.sub(lambda word: inner[word[0]].text if word[0] in inner else word[0], part)

        names = [name for name in _NAME.findall(plain) if name in variables]
        elements = [each for name in buffers for each in re.findall(_ELEMENT.format(name), source)]
        if has_floats and (_ROUGH.search(source) or len(elements) != sum(name in buffers for name in names)):
            return None
        operands = {part: without(part) for part in [*elements, *names] if part not in buffers}
        return KnownValue(
            without(source),
            is_own and inner.keys() == {*names} and all(each.is_fixed for each in inner.values()),
            source,
            (*buffers, *(name for each in inner.values() for name in each.buffers)),
            tuple(term for each in inner.values() for term in each.terms),
            (*operands.items(), *(operand for each in inner.values() for operand in each.operands)),
            has_floats,
        )

    def _counter(self, frame: Frame, variable: Variable, text: FunctionText, *, is_own: bool) -> LoopCounter | None:
        """Return what the head of a loop says of its counter, if nothing else changes that, and it is in a list."""
        key, line = re.escape(variable.name), variable.die.find("DW_AT_decl_line")
        location = variable.definition.find_number(dw.DW_AT_location)
        if line is None or location is None or location.value_class != "loclist":
            return None
        heads = [*re.finditer(_HEADER.format(key), text.code)]
        spans = [range(*head.span()) for head in heads]
        changes = [each.start() for each in text.changes(variable.name)]
        if not all(any(change in span for span in spans) for change in changes):
            return None
        if text.may_change(variable.name):
            return None
        own = [head for head in heads if text.first + text.code.count("\n", 0, head.end()) == int(line.value)]
        if len(own) != 1:
            return None
        first, by = (_literal(text.expanded(part)) for part in (own[0][1], own[0]["step"] or "1"))
        limit = self._limit(frame, text.expanded(own[0][3].strip()), text, is_own=is_own)
        if first is None or limit is None or by is None:
            return None
        step = _STEPS[own[0]["by"] or (own[0]["sign"] or own[0]["next"])[0]]
        values = [first]
        while _COMPARISONS[own[0][2]](values[-1], limit) and len(values) < MOST_COUNTED:
            values.append(step(values[-1], by))
        if len({*values}) != len(values) or len(values) == MOST_COUNTED:
            return None
        is_once = is_own and sum(loop.first <= int(line.value) <= loop.last for loop in text.loops) == 1
        return LoopCounter(own[0][0], tuple(values), is_once)

    def _limit(self, frame: Frame, expression: str, text: FunctionText, *, is_own: bool) -> int | None:
        """Return what a counter is compared with, if that is the same for all work-items, and not negative."""
        known = self._without_names(frame, expression, text, is_own=is_own)
        if known is None or known.buffers or known.has_floats or _NAME.search(_CAST.sub("", known.text)):
            return None
        limit = _pattern(frame.eval(f"(long)({known.text})", None).by_lane[0].value)
        return None if limit is None or limit >> 63 else limit

    def _find_arguments(self) -> Mapping[str, bytes]:
        """Return the arguments of the kernel by the names of its parameters."""
        plan = self.running.launched.plan
        data = self._blocks.get(plan.places.kernarg, b"")
        arguments = {}
        for argument, parameter in DescribedKernel(plan.file, plan.kernel).explicit:
            name = argument.name if parameter is None else parameter.name
            if (
                name
                and argument.offset is not None
                and argument.size
                and argument.value_kind != "dynamic_shared_pointer"
            ):
                arguments[name] = data[argument.offset : argument.offset + argument.size]
        return arguments

    def _is_unchanged(self, name: str) -> bool:
        """Return whether the memory that a pointer of the kernel points to is as it was when the kernel began."""
        address = int.from_bytes(self._arguments()[name], "little")
        data = self._blocks.get(address)
        if data is None:
            return False
        space = self.running.machine.target.space_named("global")
        assert space is not None  # noqa: S101 (every GPU has it)
        return self.running.machine.read_memory(space, address, len(data), 0, None) == data

    def _with_numbers(self, expression: str, wave: int, lane: int | None) -> str | None:
        """Return an expression with numbers in place of the identifiers of a work-item."""
        place = place_of(self.running.machine, wave)
        group, item = place.work_group, None if lane is None else place.item(lane)
        sizes = self.running.launched.geometry.work_group
        if group is None or item is None:
            return None if _ITEM.search(expression) else expression

        def number(match: re.Match[str]) -> str:
            kind = match["builtin"] or match["opencl"] or match["hip"]
            axis = _AXES[match["axis"] or match["number"] or match["member"]]
            kind = _KINDS.get(kind, kind)
            value = {"local": item[axis], "group": group[axis], "global": group[axis] * sizes[axis] + item[axis]}[kind]
            return f"{value}{'ul' if match['opencl'] else 'u'}"

        return _ITEM.sub(number, expression)


def _is_body(scope: FunctionScope) -> bool:
    return is_body(scope.die.linkage_name or scope.die.name)


def _is_own(frame: Frame) -> bool:
    """Return whether a frame of the outermost call is that of the kernel, and not of a function inlined into it."""
    return frame.scope is not None and (_is_body(frame.scope) or not frame.scope.is_inlined)


def _literal(text: str) -> int | None:
    """Return the number that a text is."""
    text = text.strip()
    return int(text.rstrip("uUlL")) if text == "0" or (_LITERAL.fullmatch(text) and text[0] != "0") else None


def _enumerators(unit: Die) -> dict[str, int]:
    """Return the enumerators of a unit that are numbers of type int, by names that mean one of them."""
    found: dict[str, set[int]] = {}
    for kind in unit.children():
        for each in kind.children() if kind.tag == dw.DW_TAG_enumeration_type else ():
            value = each.number(dw.DW_AT_const_value)
            if each.name and value is not None and isinstance(value.value, int):
                found.setdefault(each.name, set()).add(value.value)
    return {name: value for name, (value, *others) in found.items() if not others and -(1 << 31) <= value < 1 << 31}


def _is_only_read(name: str, kind: Pointer, text: FunctionText) -> bool:
    """Return whether a function cannot write by a pointer: its target is const, or all its uses read elements."""
    uses, reads = (len(re.findall(pattern.format(re.escape(name)), text.code)) for pattern in (r"\b{0}\b", _READ))
    return _is_const(kind.target) or uses == reads + 1


def _literal_of(argument: bytes, kind: Type) -> str:
    """Return an argument as an expression."""
    text, number = safe_text(stripped(kind)), f"{int.from_bytes(argument, 'little'):#x}ull"
    if _is_float(kind):
        number = repr(float(np.frombuffer(argument, f"<f{len(argument)}")[0]))
    return f"(({text}){number})"


def _is_scalar(kind: Type) -> bool:
    kind = stripped(kind)
    if isinstance(kind, Pointer):
        return not kind.is_reference
    if isinstance(kind, Base):
        return kind.vector_size is None and (not _is_float(kind) or kind.byte_size in (4, 8))
    return isinstance(kind, Enumeration)


def _is_float(kind: Type) -> bool:
    kind = stripped(kind)
    return isinstance(kind, Base) and kind.encoding == dw.DW_ATE_float


def _is_const(kind: Type) -> bool:
    while isinstance(kind, Typedef) or (isinstance(kind, Qualified) and kind.word != "const"):
        kind = kind.target
    return isinstance(kind, Qualified)


def _pattern(value: Object | None) -> int | None:
    """Return the bits of a scalar; None where one is not known."""
    reading = None if value is None else value.pattern()
    return None if reading is None or int(reading.undefined) else int(reading.bits)
