"""Backtraces and call frames as text and as JSON."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.locations import Implicit, Memory, Register
from dwarfgpu.program.code.code_lookup import begins_line
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.variable import PARAMETER, Variable
from dwarfgpu.program.types.model import Array, Pointer, Struct, Type, known_size, resolved
from dwarfgpu.render.layout import (
    Record,
    beside,
    cut,
    error_json,
    fitted,
    problem_json,
    range_text,
    room,
    runs,
    shown,
    style,
    wrapped,
)
from dwarfgpu.render.source_places import place_text
from dwarfgpu.render.values import OPTIMIZED_OUT, Look, ValueWriter, launched_note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.expr.locations import Location
    from dwarfgpu.program.frames.backtrace import Backtrace, RegisterSpan, Saved, ShownFrame
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.targets.target import Target

    Json = dict[str, Any]


WRAPPER = "clang's wrapper"
SIGNAL_HANDLER = "<signal handler called>"
INDENT = 6
CALL_INDENT = 4
ERROR = "<error>"


FRAME = Record(
    "number pc function=call.function linkage_name=call.linkage_name source=call.source inlined=call.inlined file"
)


class BacktraceRenderer:
    """Writes backtraces for the waves or threads of a target."""

    def __init__(self, target: Target) -> None:
        from dwarfgpu.expr.location_json import JsonWriter

        self.target = target
        self._text = TextRenderer(target.byte_order)
        self._json = JsonWriter(target.byte_order)
        self._noun = "thread" if target.execution_mask is None else "wave"

    # --- Text -----------------------------------------------------------------------------------------------------

    def registers(self, registers: Iterable[Saved], indent: int = INDENT) -> Iterator[str]:
        """Yield the lines that say where registers of a caller are, and which have no value, as a rule says."""
        names = []
        for saved in registers:
            if saved.is_undefined:
                names.append(saved.register.name)
            else:
                yield from self.saved(saved, indent)
        if names:
            yield from beside(" " * indent, wrapped(f"undefined: {names_text(names)}", room(indent)), indent + 2)

    def saved(self, saved: Saved, indent: int = INDENT) -> Iterator[str]:
        """Yield the lines that say where a caller's register is."""
        text = ", ".join(self._spans(saved))
        if saved.error is not None:
            text = f"<error: {saved.error}>"
        yield from beside(" " * indent, wrapped(f"{saved.register.name}: {text}", room(indent)), indent + 2)

    def _spans(self, saved: Saved) -> Iterator[str]:
        """Yield the places of a register; lanes that follow each other in one storage are named together."""
        unit = saved.register.lane_bits
        whole = saved.register.bit_size // (unit or 1) - 1
        groups: dict[Any, list[RegisterSpan]] = {}
        for span in saved.spans:
            groups.setdefault(_base(span, unit or 1), []).append(span)
        for spans in groups.values():
            first = spans[0]
            where = self._register_place(saved, first) or self._text.location(first.location)
            if len(spans) == 1 and first.first == 0 and first.last == whole:
                yield _number(first.location) or where
                continue
            numbers = ",".join(range_text(span.first, span.last) for span in spans)
            yield f"{_noun(unit, spans)} {numbers} {where}"

    def _register_place(self, saved: Saved, span: RegisterSpan) -> str | None:
        """Return a place in whole lanes of a vector register: its name if each is in its own; None for other places."""
        place = span.location.single
        storage: Any = None if place is None else place.storage
        if place is None or type(storage) is not Register or not storage.register.lane_bits:
            return None
        name, lane_bits, offset = storage.register.name, storage.register.lane_bits, int(place.bit_offset)
        unit = saved.register.lane_bits or 1
        if saved.register.lane_bits and offset == span.first * unit:
            return str(name)
        size = (span.last - span.first + 1) * unit
        if offset % lane_bits or size % lane_bits:
            return None
        return f"{name}[{range_text(offset // lane_bits, (offset + size) // lane_bits - 1)}]"

    # --- JSON -----------------------------------------------------------------------------------------------------

    def document(self, backtrace: Backtrace, lane: int | None = None) -> Json:
        """Return one group of threads with their frames as a JSON object."""
        document: Json = {f"{self._noun}s": list(backtrace.waves)}
        if lane is not None:
            document["lane"] = lane
            document["skipped_frames"] = backtrace.skipped
        document["frames"] = [self.frame_json(frame) for frame in backtrace.frames]
        if backtrace.left_out:
            document["frames_left_out"] = backtrace.left_out
        if backtrace.end is not None:
            document["end"] = {"kind": backtrace.end.kind, "message": backtrace.end.message}
        return document | error_json(backtrace.error)

    def frame_json(self, frame: ShownFrame) -> Json:
        """Return a frame, with the CFA and the registers unless it is inlined."""
        document = FRAME.json(frame)
        if frame.lanes is not None and self.target.lane_count > 1:
            document["lanes"] = f"{frame.lanes:#x}"
        if frame.call.inlined:
            return document
        document["signal_handler"] = frame.is_signal_handler
        if frame.found:
            document["found"] = frame.found
        if frame.is_tail_call:
            document["tail_call"] = True
        document["cfa"] = self.cfa_json(frame)
        document |= error_json(frame.cfa_error, "cfa_error")
        if frame.saved is not None:
            document |= self.registers_json(frame.saved)
        return document

    def cfa_json(self, frame: ShownFrame) -> Json | None:
        """Return the canonical frame address; None where it is not known."""
        return None if frame.cfa is None else self._json.location(frame.cfa)

    def registers_json(self, registers: Sequence[Saved], name: str = "registers") -> Json:
        """Return where registers are, which have no value, and of which the rule is wrong."""
        document: Json = {name: {one.register.name: self.saved_json(one) for one in registers if one.spans}}
        undefined = [one.register.name for one in registers if one.is_undefined]
        if undefined:
            document[f"undefined_{name}"] = undefined
        errors = {one.register.name: problem_json(one.error) for one in registers if one.error is not None}
        if errors:
            document[f"wrong_{name}"] = errors
        return document

    def saved_json(self, saved: Saved) -> list[Json]:
        """Return the stretches of a register: the first and last lane (or bit), and where the first is."""
        by = "lanes" if saved.register.lane_bits else "bits"
        return [{by: [span.first, span.last], "location": self._json.location(span.location)} for span in saved.spans]


_NUMBERED = re.compile(r"([a-z]+)(\d+)")


def names_text(names: Iterable[str]) -> str:
    """Return names of registers, those that follow each other together: ``s4-s29, v40``."""

    def follows(last: str, name: str) -> bool:
        before, match = _NUMBERED.fullmatch(last), _NUMBERED.fullmatch(name)
        if before is None or match is None:
            return False
        return (before[1], int(before[2]) + 1) == (match[1], int(match[2]))

    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs(names, follows))


def _number(location: Location) -> str | None:
    """Return the known value of a register that is stored nowhere; None if it is stored."""
    place = location.single
    if place is None or type(place.storage) is not Implicit or place.bit_offset != 0:
        return None
    return f"value {place.storage.data:#x}"


def _noun(unit: int, spans: Iterable[RegisterSpan]) -> str:
    noun = "lane" if unit else "bit"
    return noun if all(span.first == span.last for span in spans) and len([*spans]) == 1 else f"{noun}s"


def _base(span: RegisterSpan, unit: int) -> Any:
    """Return what the spans of one storage have in common if each lane is where its number says."""
    place = span.location.single
    if place is None or type(place.storage) not in (Memory, Register):
        return span
    return place.storage, int(place.bit_offset) - span.first * unit


# --- Call frames, one on a line -----------------------------------------------------------------------------------


SMALL, SHORT = 64, 40
"""The bytes and the characters that ``short`` structures have at most."""


class CallWriter:
    """Writes each frame on one line, with its arguments: ``all``, ``none``, ``scalars``, or ``short`` ones."""

    def __init__(self, lane: int | None, look: Look, arguments: str = "auto") -> None:
        self.lane = lane
        self.look = look
        self.arguments = arguments

    def text(self, frame: Frame) -> str:
        """Return a frame without its number."""
        return " ".join(self._parts(frame)).rstrip()

    def _parts(self, frame: Frame) -> tuple[str, str]:
        """Return the call and its place in the source."""
        if frame.is_signal_frame and not frame.is_inlined:
            return SIGNAL_HANDLER, ""
        notes = [note for note in (WRAPPER if _is_wrapper(frame) else "", frame.found) if note]
        place = f"{place_text(frame)} ({', '.join(notes)})" if notes else place_text(frame)
        return f"{_address(frame)}{self.call(frame)}", place

    def call(self, frame: Frame) -> str:
        """Return the function of a frame with its arguments."""
        return f"{shown(frame.name or '??')} ({self._arguments(frame)})"

    def lines(self, frame: Frame) -> list[str]:
        """Return a frame with its number, in lines that fit the screen."""
        head = f"#{frame.number}".ljust(3) + " "
        call, place = self._parts(frame)
        whole = f"{head}{call} {place}".rstrip()
        if len(whole) > room() >= len(head + call):  # as in GDB, the place goes to the next line
            lines = [head + call, *fitted(" " * CALL_INDENT + place, CALL_INDENT)]
        else:
            lines = fitted(whole, CALL_INDENT)
        name = shown(frame.name or "??")
        before, separator, after = lines[0].partition(f"{name} (")
        if separator:
            lines[0] = f"{before}{style('name', name)} ({after}"
        return lines

    def _arguments(self, frame: Frame) -> str:
        try:
            values = self.values(frame)
        except DwarfGpuError:
            return ERROR
        return arguments_text(values) if self.arguments != "none" or not values else "..."

    def values(self, frame: Frame) -> list[tuple[str, str]]:
        """Return the parameters of the function of a frame, each with its value on one line."""
        parameters = [parameter for parameter in frame.variables() if parameter.kind == PARAMETER]
        is_short = self.arguments == "none"
        return [(shown(each.name), "..." if is_short else self._value(each, frame)) for each in parameters]

    def _value(self, variable: Variable, frame: Frame) -> str:
        """Return the value of an argument in the lane on one line, without the reason if it has no value."""
        try:
            has_parts = self.arguments in ("auto", "scalars") and _has_parts(variable.type)
            if has_parts and (self.arguments == "scalars" or (known_size(variable.type) or SMALL + 1) > SMALL):
                return "..."
            (lane_answer,) = answer(variable, variable.name, None if self.lane is None else [self.lane]).by_lane
            if lane_answer.value is None:
                reason = lane_answer.reason
                return OPTIMIZED_OUT if reason is None else reason.placeholder + launched_note(reason, self.look)
            inner = resolved(variable.type)
            is_top = isinstance(inner, Pointer) and inner.is_reference
            text = ValueWriter(self.look, is_cplus=False).text(lane_answer.value, 0, is_top=is_top)
            return "..." if has_parts and (len(text) > SHORT or "\n" in text) else cut(text)
        except DwarfGpuError:
            return ERROR


def arguments_text(values: Iterable[tuple[str, str]]) -> str:
    """Return the arguments of a call."""
    return ", ".join(f"{name}={value}" for name, value in values)


def _has_parts(kind: Type) -> bool:
    """Whether a value is too large for one line: a structure, an array, or a reference to one."""
    inner = resolved(kind)
    if isinstance(inner, Pointer) and inner.is_reference:
        inner = resolved(inner.target)
    return isinstance(inner, (Struct, Array))


def _address(frame: Frame) -> str:
    """Return the address of a frame in front of its name, or nothing at the first address of a line."""
    if frame.pc is None or frame.code is None:
        return "" if frame.pc is None else f"{frame.pc:#x} in "
    if not frame.is_innermost or (
        frame.pc == frame.place and begins_line(frame.code.file, frame.code.in_file(frame.pc))
    ):
        return ""
    return f"{frame.pc:#x} in "


def _is_wrapper(frame: Frame) -> bool:
    """Return whether a frame is the function that clang wraps around the body of an OpenCL kernel."""
    if not frame.number or frame.wave is None:
        return False
    inner = next(islice(frame.wave, frame.number - 1, None), None)
    return inner is not None and inner.name == frame.name and is_body(inner.call.linkage_name)
