"""Commands about values: ``print``, ``eval``, ``info locals``, ``set var``, and what is remembered of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.answers import LaneAnswer, answer
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.history import Remembered
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.language.tokens import tokens
from dwarfgpu.program.types.model import Array, Pointer, resolved
from dwarfgpu.render.values import value_text, whole
from dwarfgpu.render.variables import value_in_lanes
from dwarfgpu.render.written_text import own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments


SHOWN_VALUES = 10


def set_var(debugger: Debugger, arguments: Arguments) -> None:
    text = arguments.needed()
    frame = debugger.frame
    frame.expression(text).perform(frame.lane_numbers(debugger.lanes_of(arguments)))


# --- What is remembered ---------------------------------------------------------------------------------------------


def show_values(debugger: Debugger, arguments: Arguments) -> None:
    values = debugger.state_of(Remembered)
    number = arguments.integer()
    count = len(values.history)
    first = max(1, count - SHOWN_VALUES + 1 if number is None else number - SHOWN_VALUES // 2)
    for number in range(first, min(first + SHOWN_VALUES, count + 1)):
        _show_kept(debugger, f"${number}", values.numbered(number).lanes)


def show_convenience(debugger: Debugger, arguments: Arguments) -> None:
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
    numbers = [number for number in lanes if number is not None]
    chosen: Any = numbers or ([debugger.lane] if debugger.lane is not None else None)
    values_here = answer(debugger.frame.expression(name), name, chosen)
    writer = debugger.renderer()
    if numbers:
        debugger.output.lines(value_in_lanes(writer, values_here, f"{name} = "))
        return
    (lane_answer,) = values_here.by_lane
    reason = lane_answer.reason
    text = writer.cell(lane_answer) if lane_answer.value is not None else f"<error: {reason and reason.message}>"
    debugger.output.line(f"{name} = {text}")


# --- Commands of scripts that write values ------------------------------------------------------------

LONGEST = 1 << 16
"""A string in memory is written up to so many characters."""
_CONVERSION = re.compile(r"%(%|([-+ #0]*)(\d*)(?:\.(\d*))?(?:hh|h|ll|l|z|j|t|L)?([diouxXcsfFeEgGp]))")
_BRACED = re.compile(r"\{([^{}]+)\}")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def output(debugger: Debugger, arguments: Arguments) -> None:
    value = _value(debugger, arguments.needed())
    debugger.output.write(debugger.renderer(arguments.letter).cell(value))


def printf(debugger: Debugger, arguments: Arguments) -> None:
    text = FormattedText.read(arguments.needed())
    debugger.output.write(text.written([_value(debugger, expression) for expression in text.expressions]))


@frozen
class FormattedText:
    """A text of `printf` and `dprintf`: a format with the expressions whose values are in it."""

    template: str
    conversions: tuple[re.Match[str], ...]
    expressions: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> FormattedText:
        """Read a format and the expressions behind it."""
        words = tokens(text)
        if words[0].kind != "string":
            raise UsageError("Bad format string", kind="bad_format", hint='printf "%d\\n", EXPR')
        template, texts = words[0].value, _split(text, words)
        conversions = tuple(match for match in _CONVERSION.finditer(template) if match[1] != "%")
        if "%" in _CONVERSION.sub("", template):
            raise UsageError(f"Unrecognized format specifier in {template[:60]!r}", kind="bad_format")
        if len(conversions) != len(texts):
            raise UsageError("Wrong number of arguments for specified format-string", kind="bad_format")
        if any(len(size) > 6 or int(size) > WIDEST for match in conversions for size in match.group(3, 4) if size):
            raise UsageError(f"a width or a precision is more than {WIDEST}", kind="bad_format")
        return cls(template, conversions, tuple(texts))

    def written(self, answers: Sequence[LaneAnswer]) -> str:
        """Return the text with the values of a lane."""
        triples = zip(self.conversions, self.expressions, answers, strict=True)
        values = iter([_argument(match, text, found) for match, text, found in triples])
        return _CONVERSION.sub(lambda match: "%" if match[1] == "%" else next(values), own(self.template))

    def in_lanes(self, frame: Frame, lanes: list[int]) -> list[str]:
        """Return the text of each lane, or the one that all lanes have; in place of one without a value, why."""
        return _in_lanes(self, frame, lanes, "dprintf")


@frozen
class LogText:
    """A text with expressions in braces, ``{x} of {n}``, whose values are written as `print` does."""

    parts: tuple[str, ...]
    """What is between the expressions."""
    expressions: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> LogText:
        """Read a text."""
        parts = _BRACED.split(text)
        return cls(tuple(parts[::2]), tuple(parts[1::2]))

    def written(self, answers: Sequence[LaneAnswer]) -> str:
        """Return the text with the values of a lane."""
        shown = [_value_text(each) for each in answers]
        return "".join(part for pair in zip(self.parts, (*shown, "\n"), strict=True) for part in pair)

    def in_lanes(self, frame: Frame, lanes: list[int]) -> list[str]:
        """Return the text of each lane, or the one that all lanes have; in place of one without a value, why."""
        return _in_lanes(self, frame, lanes, "log point")


def _value_text(found: LaneAnswer) -> str:
    if found.value is None:
        assert found.reason is not None  # noqa: S101 (it has no value)
        raise Unavailable(found.reason)
    return value_text(found.value)


def _in_lanes(text: FormattedText | LogText, frame: Frame, lanes: list[int], what: str) -> list[str]:
    try:
        columns = [answer(frame.quantity(each), each, lanes).by_lane for each in text.expressions]
    except DwarfGpuError as error:
        return [f"{what}: {error.message}\n"]
    found = []
    for index, lane in enumerate(lanes):
        try:
            found.append(text.written([column[index] for column in columns]))
        except DwarfGpuError as error:
            found.append(f"{what}, lane {lane}: {error.message}\n")
    return found[:1] if len(set(found)) == 1 else found


WIDEST = 1 << 12
"""The largest width and precision of a conversion."""


def _split(text: str, words: list[Any]) -> list[str]:
    """Return the expressions behind a string, which commas part."""
    if words[1].kind == "end":
        return []
    if words[1].text != ",":
        raise UsageError("Invalid argument syntax", kind="bad_format", hint="a comma follows the text")
    return split_expressions(text, words[2:], words[1].end)


def split_expressions(text: str, words: list[Any], start: int = 0) -> list[str]:
    """Return the expressions in the words of a text, from a position on, which commas part."""
    found = []
    depth = 0
    for word in words:
        if word.kind == "sign":
            depth += _BRACKETS.get(word.text, 0)
        if word.kind == "end" or (word.text == "," and word.kind == "sign" and not depth):
            part = text[start : word.position].strip()
            if part or word.kind != "end":
                found.append(part)
            start = word.end
    return found


def _argument(match: re.Match[str], text: str, given: LaneAnswer) -> str:
    flags, width, precision, letter = match[2], match[3], match[4], match[5]
    if given.value is None:
        assert given.reason is not None  # noqa: S101 (it has no value)
        raise Unavailable(given.reason)
    found = given.value
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
    """Return what an expression is in the lane that is selected."""
    lane_answer = debugger.asked(text, debugger.selected_lanes).by_lane[0]
    if lane_answer.value is None:
        assert lane_answer.reason is not None  # noqa: S101 (it has no value)
        raise Unavailable(lane_answer.reason)
    return lane_answer


def _string(found: Object) -> str:
    """Return the characters that a pointer leads to, or that an array has, up to a zero."""
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
