"""Commands about values: ``print``, ``eval``, ``info locals``, ``set var``, and what is remembered of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.language.history import Remembered, kept
from dwarfgpu.program.language.tokens import tokens
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.program.types.model import Array, Pointer
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.program.variables.columns import python_value
from dwarfgpu.program.variables.reasons import Unavailable
from dwarfgpu.program.variables.variable import PARAMETER
from dwarfgpu.questions import asking
from dwarfgpu.render.layout import fitted, shown
from dwarfgpu.render.numbers import whole
from dwarfgpu.render.variables import value_in_lanes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.answers import LaneAnswer
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.render.variables import VariablesRenderer


OPTIMIZED_OUT = "<optimized out>"
SHOWN_VALUES = 10


# --- print ----------------------------------------------------------------------------------------------------------


def print_value(debugger: Debugger, arguments: Arguments) -> None:
    """The value is that of the lane that is looked at. Of several lanes it is shown as `{[0-3]=7, [4]=8}`; lanes that
    do not execute the code have theirs in parentheses. Each value gets a number, and $1 is it from then on; $ is the
    last one, $$ the one before, $$3 the third before the last. `print $x = 3` sets a convenience variable. Without
    EXPR the last value is shown again. /F is a letter: x d u o t a c f s z r.
    """
    letter = asking.print_format(arguments)
    values = debugger.state_of(Remembered)
    lanes = asking.lanes_of(debugger, arguments)
    in_each = asking.names_lanes(arguments)
    text = arguments.text or "$"
    if text == "$" and not in_each and None not in (last := values.last().lanes):
        lanes, in_each = [each for each in last if each is not None], True
    found = asking.asked(debugger, text, lanes)
    writer = asking.renderer(debugger, letter)
    if not found.lanes:
        raise UsageError("no lane is active", kind="no_lane")
    if in_each and any(each.value is not None for each in found.by_lane):
        number = values.add(kept(found, in_each_lane=True))
        debugger.output.lines(value_in_lanes(writer, found, f"${number} = ", debugger.output.width))
        return
    one = found.by_lane[0]
    if in_each or one.value is None:
        _show_nothing(debugger, found.text, one)
        return
    number = values.add(kept(found, in_each_lane=False))
    debugger.output.line(f"${number} = {writer.cell(one)}{_note(debugger, one)}")


def _show_nothing(debugger: Debugger, text: str, one: LaneAnswer) -> None:
    """Why there is no value, if that is no error but what the program is like."""
    assert one.reason is not None  # noqa: S101 (it has no value)
    if one.state == "error":
        is_memory = one.reason.kind == "memory_unavailable"
        error = one.reason.error if is_memory and one.reason.error is not None else Unavailable(one.reason)
        raise error.with_traceback(None)
    debugger.output.lines(without_value(debugger, text, f"{why_none(one)}{_note_text(one)}"))


def _note(debugger: Debugger, one: LaneAnswer) -> str:
    return debugger.output.style("dim", text) if (text := _note_text(one)) else ""


def _note_text(one: LaneAnswer) -> str:
    """That the lane does not execute the code."""
    return "" if one.is_active else f"  (lane {one.lane} is inactive)"


# --- eval -----------------------------------------------------------------------------------------------------------


def evaluate(debugger: Debugger, arguments: Arguments) -> None:
    """In the lanes that execute the code, if nothing else is said: lanes with one value are shown together. What has
    no value says why. -trace shows each operation with the stack before and after it, those of frame bases, call frame
    information and call sites too. -ops takes operations such as `DW_OP_lit1; DW_OP_plus_uconst 4`, and -hex bytes,
    which are evaluated in the frame.
    """
    text = arguments.needed()
    letter = asking.print_format(arguments)
    lanes = asking.lanes_of(debugger, arguments, "active")
    frame = frame_repaired(debugger, arguments.get("repair"))
    if arguments.has("ops") or arguments.has("hex"):
        from dwarfgpu.questions.dwarf import evaluate_operations

        evaluate_operations(debugger, arguments, frame, lanes)
        return
    tracer = None
    if arguments.has("trace"):
        from dwarfgpu.render.trace import Tracer

        tracer = Tracer(frame.target, sections=True)
        frame.follow(tracer.record)
    writer = asking.renderer(debugger, letter, frame=frame, locations=arguments.has("location"))
    try:
        quantity: Any = frame[text]
        if debugger.attached is None and arguments.has("location") and hasattr(quantity, "locations"):
            debugger.output.lines(writer.described(quantity))
            return
        found = answer(quantity, text, lanes)
    finally:
        frame.follow(None)
    if tracer is not None:
        debugger.output.lines(tracer.lines())
    debugger.output.lines(writer.text(found))


def frame_repaired(debugger: Debugger, repair: str | None) -> Frame:
    """The frame that is looked at, with other idioms of compilers read as they are meant."""
    if repair is None:
        return debugger.frame
    from dwarfgpu.program.code.repairs import policy_of
    from dwarfgpu.program.program import Program

    policy = policy_of(repair)
    if policy == debugger.opened.repair:
        return debugger.frame
    if debugger.attached is None:
        found = Program(debugger.opened.file, repair=policy).outside
    else:
        machine = debugger.machine.repaired(policy)
        found = machine[debugger.wave.index].frame(debugger.frame_number)
    found.state.remembered = debugger.state_of(Remembered)
    return found


# --- info locals, info args -----------------------------------------------------------------------------------------


def info_locals(debugger: Debugger, arguments: Arguments) -> None:
    """Those of inner blocks first. REGEXP chooses some of them by name, -t by type. With lanes each variable is shown
    with what it is in each of them.
    """
    variables = [each for each in _variables(debugger) if each.kind != PARAMETER]
    _show_variables(debugger, arguments, variables, "locals")


def info_args(debugger: Debugger, arguments: Arguments) -> None:
    """In the order of the source. REGEXP chooses some of them by name, -t by type."""
    variables = [each for each in _variables(debugger) if each.kind == PARAMETER]
    _show_variables(debugger, arguments, variables, "arguments")


def _variables(debugger: Debugger) -> tuple[Variable, ...]:
    frame = debugger.frame
    if frame.place is None:
        hint = "`target snapshot S` attaches a snapshot; `info scope FUNCTION` needs no state"
        raise UsageError("No frame selected.", kind="no_frame", hint=hint)
    if frame.function is None:
        raise UsageError("No symbol table info available.", kind="no_dwarf")
    return frame.variables()


def _show_variables(
    debugger: Debugger, arguments: Arguments, variables: Iterable[Variable], noun: str
) -> None:
    pattern = arguments.pattern()
    kinds = arguments.pattern("t")
    chosen = [each for each in variables if pattern.search(each.name) and _has_type(each, kinds)]
    if not chosen and not arguments.has("q"):
        is_choice = arguments.text or arguments.has("t")
        debugger.output.line(f"No {f'matching {noun}' if is_choice else noun}.")
    if not chosen:
        return
    lanes = asking.lanes_of(debugger, arguments)
    writer = asking.renderer(debugger, asking.print_format(arguments))
    for each in chosen:
        if asking.names_lanes(arguments):
            debugger.output.lines(writer.text(answer(each, each.name, lanes)))
        else:
            debugger.output.lines(variable_lines(debugger, writer, each, lanes))


def _has_type(variable: Variable, pattern: re.Pattern[str]) -> bool:
    return not pattern.pattern or pattern.search(type_text(variable.type)) is not None


def variable_lines(
    debugger: Debugger, writer: VariablesRenderer, variable: Variable, lanes: Any, indent: int = 0
) -> list[str]:
    """``name = value`` for one lane, or why there is none."""
    name = variable.name
    try:
        (one,) = answer(variable, name, lanes).by_lane
    except DwarfGpuError as error:  # of its type
        return without_value(debugger, name, f"<error: {error.message}>", indent)
    if one.value is None:
        return without_value(debugger, name, f"{why_none(one)}{_note_text(one)}", indent)
    head = debugger.output.style("name", shown(name))
    text = f"{head} = {asking.part_text(writer, one.value)}{_note(debugger, one)}"
    return [f"{' ' * indent}{line}" for line in text.split("\n")]


def why_none(one: LaneAnswer) -> str:
    """Why a lane has no value: an error, or that there is none."""
    reason = asking.why(one.reason)
    return f"<error: {reason}>" if one.state == "error" else f"{OPTIMIZED_OUT} ({reason})"


def without_value(debugger: Debugger, text: str, why: str, indent: int = 0) -> list[str]:
    """``name = <optimized out> (why)``, which goes on below itself."""
    style, head = debugger.output.style, f"{' ' * indent}{shown(text)}"
    first, *rest = fitted(f"{head} = {why}", debugger.output.width, indent + 4)
    if first.startswith(head):
        start = " " * indent + style("name", shown(text))
        first = f"{start}{first[len(head) :][:3]}{style('error', first[len(head) + 3 :])}"
    return [first, *(style("error", line) for line in rest)]


# --- set var --------------------------------------------------------------------------------------------------------


def set_var(debugger: Debugger, arguments: Arguments) -> None:
    """It is assigned in the lane that is looked at, if nothing else is said; nothing is written if it has no value in
    one of the lanes. Registers ($v4), memory (*(int *) p) and convenience variables ($x) are assigned to as well.
    """
    text = arguments.needed()
    frame = debugger.frame
    lanes = frame.lane_set(frame.lane_numbers(asking.lanes_of(debugger, arguments)))
    frame.expression(text).perform(lanes)


# --- What is remembered ---------------------------------------------------------------------------------------------


def show_values(debugger: Debugger, arguments: Arguments) -> None:
    """The last ten of them, or ten around N."""
    values = debugger.state_of(Remembered)
    number = arguments.integer()
    count = len(values.history)
    first = max(1, count - SHOWN_VALUES + 1 if number is None else number - SHOWN_VALUES // 2)
    for each in range(first, min(first + SHOWN_VALUES, count + 1)):
        _show_kept(debugger, f"${each}", values.numbered(each).lanes)


def show_convenience(debugger: Debugger, arguments: Arguments) -> None:
    """They are set by `set $x = EXPR`. Those that begin with $_ say what is looked at, and cannot be set."""
    arguments.none()
    values = debugger.state_of(Remembered)
    computed = values.computed()
    if not values.variables and not computed:
        debugger.output.line("No debugger convenience values now defined.")
        debugger.output.line('Convenience variables have prefix characters like "$foo" or "$v1".')
        return
    for name, value in values.variables.items():
        _show_kept(debugger, f"${name}", value.lanes)
    for name in computed:
        _show_kept(debugger, f"${name}", {None: None})


def _show_kept(debugger: Debugger, name: str, lanes: dict[int | None, Any]) -> None:
    numbers = [each for each in lanes if each is not None]
    chosen: Any = numbers or ([debugger.lane] if debugger.lane is not None else None)
    found = answer(debugger.frame.expression(name), name, chosen)
    writer = asking.renderer(debugger)
    if numbers:
        debugger.output.lines(value_in_lanes(writer, found, f"{name} = ", debugger.output.width))
        return
    (one,) = found.by_lane
    text = writer.cell(one) if one.value is not None else f"<error: {one.reason and one.reason.message}>"
    debugger.output.line(f"{name} = {text}")


# --- Commands of scripts that write values ------------------------------------------------------------

LONGEST = 1 << 16
"""A string in memory is written up to so many characters."""
_CONVERSION = re.compile(r"%(%|([-+ #0]*)(\d*)(?:\.(\d*))?(?:hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGp]))")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def output(debugger: Debugger, arguments: Arguments) -> None:
    """For scripts: what `print` shows behind the equals sign. It gets no number in the history."""
    value = _value(debugger, arguments.needed())
    debugger.output.write(asking.renderer(debugger, asking.print_format(arguments)).cell(value))


def printf(debugger: Debugger, arguments: Arguments) -> None:
    """As in C: `printf "%d of %s", i, name`. The values are those of the lane that is looked at."""
    words = tokens(arguments.needed())
    if words[0].kind != "string":
        raise UsageError("Bad format string", kind="bad_format", hint='printf "%d\\n", EXPR')
    template, texts = words[0].value, _split(arguments.text, words)
    conversions = [match for match in _CONVERSION.finditer(template) if match[1] != "%"]
    rest = _CONVERSION.sub("", template)
    if "%" in rest:
        raise UsageError(f"Unrecognized format specifier in {template[:60]!r}", kind="bad_format")
    if len(conversions) != len(texts):
        raise UsageError("Wrong number of arguments for specified format-string", kind="bad_format")
    values = iter([_argument(debugger, *pair) for pair in zip(conversions, texts, strict=True)])
    written = _CONVERSION.sub(lambda match: "%" if match[1] == "%" else next(values), template)
    debugger.output.write(written)


def _split(text: str, words: list[Any]) -> list[str]:
    """The expressions behind a string, which commas part."""
    if words[1].kind == "end":
        return []
    if words[1].text != ",":
        raise UsageError("Invalid argument syntax", kind="bad_format", hint="a comma stands behind the text")
    found = []
    depth, start = 0, words[1].end
    for word in words[2:]:
        if word.kind == "sign":
            depth += _BRACKETS.get(word.text, 0)
        if word.kind == "end" or (word.text == "," and word.kind == "sign" and not depth):
            part = text[start : word.position].strip()
            if part or word.kind != "end":
                found.append(part)
            start = word.end
    return found


def _argument(debugger: Debugger, match: re.Match[str], text: str) -> str:
    flags, width, precision, letter = match[2], match[3], match[4], match[5]
    found = _value(debugger, text).value
    assert found is not None  # noqa: S101 (what has none is an error)
    if letter == "s":
        shown = _string(found)
        shown = shown if precision is None else shown[: int(precision or 0)]
        return shown.ljust(int(width or 0)) if "-" in flags else shown.rjust(int(width or 0))
    number = python_value(found)
    if not isinstance(number, (int, float)):
        raise UsageError(f"Value can't be converted to integer: {text[:60]}", kind="not_a_scalar")
    whole_number = number if isinstance(number, int) else whole(number)
    form = f"%{flags}{width}{'' if precision is None else f'.{precision}'}"
    if letter == "p":
        return f"{whole_number:#x}".rjust(int(width or 0))
    if letter == "c":
        return chr(whole_number & 0xFF).rjust(int(width or 0))
    if letter in "uoxX":
        letter, number = "d" if letter == "u" else letter, whole_number & (1 << found.bits()) - 1
    elif letter in "di":
        number = whole_number
    written: str = f"{form}{letter}" % number
    return written


def _value(debugger: Debugger, text: str) -> Any:
    """What an expression is in the lane that is looked at."""
    one = asking.asked(debugger, text, asking.focus(debugger)).by_lane[0]
    if one.value is None:
        assert one.reason is not None  # noqa: S101 (it has no value)
        raise Unavailable(one.reason)
    return one


def _string(found: Object) -> str:
    """The characters that a pointer leads to, or that an array has, up to a zero."""
    found = found.target()
    inner = resolved(found.type)
    if isinstance(inner, Pointer):
        place, limit = found.dereferenced().place, LONGEST
    elif isinstance(inner, Array):
        place, limit = found.place, found.array().length
    else:
        raise UsageError("%s takes a string", kind="not_a_string")
    codes = bytearray()
    while len(codes) < limit and (code := int(place.moved(8 * len(codes)).read(8).bits)):
        codes.append(code)
    return codes.decode("utf-8", "backslashreplace")
