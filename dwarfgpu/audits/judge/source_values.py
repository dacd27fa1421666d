"""Variables whose values follow from the source: arguments that are never changed, and what they are initialized with.

A variable that is never assigned behind its declaration has everywhere the value of its initializer, as far as this is
made of such variables, numbers, identifiers of the work-item, and elements of buffers that the kernel has not written.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from operator import add, floordiv, ge, gt, le, lshift, lt, mul, ne, rshift, sub
from typing import TYPE_CHECKING, Any

from attrs import define

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.kernel_parameters import DescribedKernel, is_body
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.variable import PARAMETER
from dwarfgpu.program.frames.wave_positions import place_of
from dwarfgpu.program.types.model import Base, Enumeration, Pointer, stripped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.sightings import Sightings
    from dwarfgpu.audits.judge.source_places import FunctionText, FunctionTexts
    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
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
_REFUSED = re.compile(r"->|\.|[={}\"'?]|\+\+|--|\b[A-Za-z_]\w*\s*\(|\b(?:sizeof|new|float|double|half)\b")
"""What an initializer may not have: assignments, calls, members, floating-point numbers."""
_CAST = re.compile(r"\(\s*(?:(?:unsigned|signed|int|long|short|char|uint|ulong|ushort|uchar)\s*)+\)")
_CHANGED = r"\b{0}\b\s*(?:[-+*/%&|^]=|<<=|>>=|\+\+|--|=(?!=))|(?:\+\+|--|(?<!&)&)\s*\(?\s*{0}\b"
"""A change of a variable, or its address; a sum with `&` looks like one, which costs a judgement and nothing else."""
_PASSED = r"[(,]\s*{0}\s*[,)]"
_HEADER = (
    r"\bfor\s*\(\s*(?:(?:unsigned|signed|int|long|short|char|uint|ulong|ushort|uchar|size_t)\s+)+{0}\s*=\s*([^;=,]+);"
    r"\s*{0}\s*(<=?|>=?|!=)\s*([^;]+);\s*(?:(?P<sign>\+\+|--)\s*{0}|{0}\s*(?:(?P<next>\+\+|--)"
    r"|(?P<by>[-+*/]|<<|>>)=\s*(?P<step>[^);,]+)))\s*\)"
)
"""The head of a loop that counts: the first value, the comparison, and the step."""
_LITERAL = re.compile(r"\d+[uUlL]*")
_STEPS = {"+": add, "-": sub, "*": mul, "/": floordiv, "<<": lshift, ">>": rshift}
_COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne}
_STORE = re.compile(r"\w+_store_|ds_write")
_UNKNOWN_FLOW = re.compile(r"asm|goto")
MOST_COUNTED = 4096
"""The values of a counter that are known, at most."""


@frozen
class KnownValue:
    """What a variable is by the source: the bytes of an argument, or an expression."""

    argument: bytes | None
    expression: str = ""
    buffers: tuple[str, ...] = ()
    """The pointers in it."""


@frozen
class LoopCounter:
    """The values of a variable that nothing but the head of its loop changes."""

    head: str
    values: tuple[int, ...]
    is_once: bool
    """Whether the loop is executed once, so that no value comes back."""


@define
class CountedRound:
    """What a lane has executed while a counter had one value."""

    value: int
    stores: int = 0


class SourceValues:
    """Judges variables by the values that the source gives them."""

    def __init__(self, run: FollowedRun, sightings: Sightings, texts: FunctionTexts, rule: CheckRule) -> None:
        self.run = run
        self.running = run.running
        self.sightings = sightings
        self.rule = rule
        self._texts = texts
        self._known: dict[Any, KnownValue | LoopCounter | None] = {}
        self._counted: dict[tuple[Any, int, int | None], list[CountedRound]] = {}
        """The values of a counter that a lane had, the last one at the end."""
        self._arguments = cache(self._find_arguments)
        plan = self.running.launched.plan
        self._blocks = {block.address: block.data for block in plan.blocks}

    def judge(self, arrival: InstructionVisit, row: int, frame: Frame, variable: Variable, lanes: list[int]) -> None:
        """Compare a variable that has a location with what the source says that it is."""
        known = self._value_of(frame, variable, is_kernel=arrival.call is None)
        if known is None:
            return
        chosen: list[int | None] = [*lanes] or [None]
        for lane in chosen:
            try:
                if isinstance(known, LoopCounter):
                    message = self._count(arrival, (variable.die, arrival.wave(row), lane), variable, known)
                else:
                    message = self._compare(arrival.wave(row), lane, frame, variable, known)
            except DwarfGpuError:
                continue
            if message is not None:
                self.sightings.see(self.rule, variable.name, arrival, row, message, said=variable.die.offset, lane=lane)
                return

    def _count(
        self, arrival: InstructionVisit, key: tuple[Any, int, int | None], variable: Variable, counter: LoopCounter
    ) -> str | None:
        """Return what is wrong with the value of a counter: the loop does not take it, or not there."""
        lane = key[2]
        shown = _number(answer(variable, variable.name, None if lane is None else [lane]).by_lane[0].value)
        if shown is None:
            return None
        value = shown[0] - (shown[0] >> 8 * shown[1] - 1 << 8 * shown[1]) if shown[2] else shown[0]
        if value not in counter.values:
            return f"{variable.name} is {value}, which {counter.head} never makes it"
        rounds, message = self._counted.setdefault(key, []), None
        if not rounds or value != rounds[-1].value:
            if counter.is_once and value in (each.value for each in rounds):
                message = f"{variable.name} is {value} again, after {rounds[-1].value}, in {counter.head}"
            elif counter.is_once and _left_out(rounds, value, counter):
                message = f"{variable.name} goes from {rounds[-1].value} to {value} in {counter.head}, and was not"
                message += (
                    f" {counter.values[counter.values.index(value) - 1]} when the stores of that round were executed"
                )
            rounds.append(CountedRound(value))
        rounds[-1].stores += _STORE.match(arrival.instruction.name) is not None
        return message

    def _compare(self, wave: int, lane: int | None, frame: Frame, variable: Variable, known: KnownValue) -> str | None:
        """Return the value and the one that is right, if they differ; None where one of them is not known."""
        lanes = None if lane is None else [lane]
        shown = _number(answer(variable, variable.name, lanes).by_lane[0].value)
        if shown is None:
            return None
        bits = (1 << 8 * shown[1]) - 1
        if known.argument is not None:
            meant = int.from_bytes(known.argument, "little") & bits
        else:
            if not all(self._is_unchanged(name) for name in known.buffers):
                return None
            text = self._with_numbers(known.expression, wave, lane)
            result = None if text is None else _number(frame.eval(text, lanes).by_lane[0].value)
            if result is None:
                return None
            meant = result[0] & bits
            if result[0] >> 8 * result[1] - 1 & 1 and result[1] < shown[1] and result[2]:
                meant = (result[0] - (1 << 8 * result[1])) & bits
        if meant == shown[0]:
            return None
        write = hex if isinstance(stripped(variable.type), Pointer) else str
        why = f": {known.expression}" if known.expression else ", which is its argument"
        return f"{variable.name} is {write(shown[0])}, and the source makes it {write(meant)}{why}"

    # --- What is known --------------------------------------------------------------------------------------------

    def _value_of(self, frame: Frame, variable: Variable, *, is_kernel: bool) -> KnownValue | LoopCounter | None:
        key = variable.die
        if key not in self._known:
            try:
                self._known[key] = self._find_value(frame, variable, is_kernel=is_kernel)
            except DwarfGpuError:
                self._known[key] = None
        return self._known[key]

    def _find_value(self, frame: Frame, variable: Variable, *, is_kernel: bool) -> KnownValue | LoopCounter | None:
        scope = frame.scope
        text = None if scope is None else self._texts.of(scope.die)
        if scope is None or text is None or not variable.name or not _is_scalar(variable.type):
            return None
        is_own = is_kernel and (is_body(scope.die.linkage_name or scope.die.name) or not scope.is_inlined)
        if not self._is_constant(variable.name, text):
            return self._counter(variable, text, is_own=is_own)
        if scope.is_inlined and not is_own:
            return None  # it may be called in a loop
        if variable.kind == PARAMETER:
            argument = self._arguments().get(variable.name) if is_own else None
            return None if argument is None else KnownValue(argument)
        location = variable.definition.find_number(dw.DW_AT_location)
        if location is None or location.value_class != "loclist":
            return None  # it is there before it has its value
        return self._initializer(frame, variable, text)

    def _initializer(self, frame: Frame, variable: Variable, text: FunctionText) -> KnownValue | None:
        found = re.search(rf"\b{re.escape(variable.name)}\s*=(?!=)\s*([^;,]*)[;,]", text.code)
        line = variable.die.find("DW_AT_decl_line")
        if found is None or line is None or text.is_in_loop(int(line.value)):
            return None
        expression = text.expanded(found[1].strip())
        depth = expression.count("(") - expression.count(")")
        plain = _ITEM.sub("1", _CAST.sub("", expression))
        if depth or not expression or _REFUSED.search(plain):
            return None
        buffers = []
        variables = {each.name: each for each in frame.variables()}
        for name in {*_NAME.findall(plain)}:
            each = variables.get(name)
            if each is None or not self._is_constant(name, text) or not _is_scalar(each.type):
                return None
            place = each.definition.find_number(dw.DW_AT_location)
            if each.kind != PARAMETER and (place is None or place.value_class != "loclist"):
                return None
            declared = each.die.find("DW_AT_decl_line")
            if each.kind != PARAMETER and (declared is None or text.is_in_loop(int(declared.value))):
                return None
            if isinstance(stripped(each.type), Pointer):
                if each.kind != PARAMETER or name not in self._arguments():
                    return None
                buffers.append(name)
        return KnownValue(None, expression, tuple(buffers))

    def _counter(self, variable: Variable, text: FunctionText, *, is_own: bool) -> LoopCounter | None:
        """Return what the head of a loop says of its counter, if nothing else changes that, and it is in a list."""
        key, line = re.escape(variable.name), variable.die.find("DW_AT_decl_line")
        location = variable.definition.find_number(dw.DW_AT_location)
        if line is None or location is None or location.value_class != "loclist" or _UNKNOWN_FLOW.search(text.code):
            return None
        heads = [*re.finditer(_HEADER.format(key), text.code)]
        spans = [range(*head.span()) for head in heads]
        changes = [each.start() for each in re.finditer(_CHANGED.format(key), text.code)]
        if not all(any(change in span for span in spans) for change in changes):
            return None
        if text.has_references and re.search(_PASSED.format(key), text.code):
            return None
        own = [head for head in heads if text.first + text.code.count("\n", 0, head.end()) == int(line.value)]
        if len(own) != 1:
            return None
        first, limit, by = (_literal(text.expanded(part)) for part in (own[0][1], own[0][3], own[0]["step"] or "1"))
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

    def _is_constant(self, name: str, text: FunctionText) -> bool:
        """Return whether a function changes a variable nowhere but in its declaration."""
        key = re.escape(name)
        changes = [*re.finditer(_CHANGED.format(key), text.code)]
        declared = [each for each in changes if text.is_declaration(each.start())]
        if len(changes) != len(declared) or len(declared) > 1 or _UNKNOWN_FLOW.search(text.code):
            return False
        return not (text.has_references and re.search(_PASSED.format(key), text.code))

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


def _left_out(rounds: Sequence[CountedRound], value: int, counter: LoopCounter) -> bool:
    """Return whether the last value lasted for two rounds: it has the stores of two, and most before those of one."""
    if len(rounds) < 3:
        return False
    *others, last = rounds
    ((stores, count),) = Counter(each.stores for each in others).most_common(1)
    is_next_but_one = counter.values.index(value) - counter.values.index(last.value) == 2
    return is_next_but_one and 1 < count > len(others) / 2 and last.stores == 2 * stores > 0


def _literal(text: str) -> int | None:
    """Return the number that a text is."""
    text = text.strip()
    return int(text.rstrip("uUlL")) if text == "0" or (_LITERAL.fullmatch(text) and text[0] != "0") else None


def _is_scalar(kind: Any) -> bool:
    kind = stripped(kind)
    if isinstance(kind, Pointer):
        return not kind.is_reference
    if isinstance(kind, Base):
        return kind.vector_size is None and kind.encoding != dw.DW_ATE_float
    return isinstance(kind, Enumeration)


def _number(value: Object | None) -> tuple[int, int, bool] | None:
    """Return the bits of a scalar, its size in bytes, and whether it has a sign; None where a bit is not known."""
    if value is None:
        return None
    kind = stripped(value.type)
    size = getattr(kind, "byte_size", None)
    reading = value.pattern()
    if not isinstance(size, int) or int(reading.undefined):
        return None
    signed = isinstance(kind, Base) and kind.encoding in (dw.DW_ATE_signed, dw.DW_ATE_signed_char)
    return int(reading.bits) & (1 << 8 * size) - 1, size, signed
