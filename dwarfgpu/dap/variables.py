"""Requests about values: scopes, variables in a lane and in all lanes, registers, expressions, and assignments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.code import ClientAddress
from dwarfgpu.dap.session import DebugSession, Viewpoint
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.frames.answers import LaneAnswer, Quantity, answer
from dwarfgpu.program.frames.variable import PARAMETER
from dwarfgpu.program.language.tokens import is_assignment
from dwarfgpu.program.types import model
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import resolved, stripped
from dwarfgpu.program.types.reader import speaks_cplus
from dwarfgpu.questions.registers import RegisterText
from dwarfgpu.questions.variables import why_none
from dwarfgpu.render.layout import shortened
from dwarfgpu.render.values import Look, ValueWriter, is_standard, problem

if TYPE_CHECKING:
    from dwarfgpu.dap.requests import RequestArguments
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.storage import Address

    Json = dict[str, Any]
    ItemsOf = Callable[[int, int], Iterable["Item"]]

LONGEST = 500
"""The characters of a value on its line."""
MOST_ROWS = 10_000
"""The rows of one answer."""
_SIMPLE = re.compile(r"[\w$:]+(?:(?:\.|->)\w+|\[\d+\])*")


@frozen
class Parts:
    """What a client may ask for: the parts of a value, the variables of a scope, the lanes of a variable."""

    place: Viewpoint
    lane: int | None
    rows: ItemsOf
    """Yields the rows from one number up to another."""
    named: int = 0
    indexed: int = 0


@frozen
class Item:
    """A variable as the client shows it."""

    name: str
    value: str
    type: str | None = None
    expression: str | None = None
    """What evaluates to it, and what is assigned to; None where it has no name in the program."""
    parts: Parts | None = None
    address: str | None = None
    """Where it is in memory, or where a pointer leads."""
    lane: int | None = None
    """The lane that it is of, if that is not the one of all."""
    is_idle: bool = False
    """Whether its lane does not execute the code."""


def row_body(session: DebugSession, row: Item, value: str = "value") -> Json:
    """Return a row as the protocol has it; ``value`` is what the text is called."""
    body: Json = {value: row.value, "variablesReference": 0}
    if row.type is not None and session.supports("supportsVariableType"):
        body["type"] = row.type
    if row.parts is not None:
        body["variablesReference"] = session.add_parts(row.parts)
        counts = {"namedVariables": row.parts.named, "indexedVariables": row.parts.indexed}
        body |= {name: number for name, number in counts.items() if number}
    if row.address is not None and session.supports("supportsMemoryReferences"):
        body["memoryReference"] = row.address
    if row.is_idle:
        body["presentationHint"] = {"attributes": ["readOnly"], "visibility": "internal"}
    return body


# --- Values -----------------------------------------------------------------------------------------------------------


class ItemWriter:
    """Makes rows of what there is in a frame, in a lane."""

    def __init__(self, session: DebugSession, frame: Frame, lane: int | None) -> None:
        self.session = session
        self.frame = frame
        self.lane = lane
        self.place = Viewpoint(session.debugger.wave_number or 0, frame.number)
        self._look = evolve(session.debugger.renderer(frame=frame).look, is_pretty=False)

    @property
    def look(self) -> Look:
        """How values look, in the format of the request."""
        letter = self.session.letter
        return self._look if letter is None else evolve(self._look, letter=letter)

    def with_lane(self, lane: int | None) -> ItemWriter:
        """Return a writer for another lane."""
        other = copy(self)
        other.lane = lane
        return other

    def of(self, name: str, quantity: Quantity, expression: str | None) -> Item:
        """Return what something is in the lane; raise an error if the question itself is wrong."""
        found = answer(quantity, name, None if self.lane is None else [self.lane])
        if not found.lanes:
            return Item(name, "<no lane is active>")
        return self.answered(name, found.by_lane[0], expression)

    def variable(self, name: str, quantity: Quantity, expression: str | None) -> Item:
        """Return what a variable is in the lane, or what is wrong with it."""
        try:
            return self.of(name, quantity, expression)
        except DwarfGpuError as error:
            return Item(name, problem(error), expression=expression)

    def answered(self, name: str, found: LaneAnswer, expression: str | None) -> Item:
        """Return what a lane has."""
        if found.value is None:
            return Item(name, why_none(found, self.look), expression=expression, lane=found.lane)
        row = self.value(name, found.value, expression)
        if found.is_active:
            return evolve(row, lane=found.lane)
        return evolve(row, value=f"({row.value})", lane=found.lane, is_idle=True)

    def value(self, name: str, value: Object, expression: str | None) -> Item:
        """Return a value with its parts."""
        try:
            text = ValueWriter(self.look, is_cplus=speaks_cplus(value.type)).text(value, 0, is_top=True)
        except DwarfGpuError as error:
            text = problem(error)
        kind = safe_text(value.type)
        try:
            parts, address = self._parts(value, expression), self._address(value)
        except DwarfGpuError:
            parts = address = None
        is_whole = self.session.is_copying
        return Item(name, text if is_whole else shortened(text, LONGEST), kind, expression, parts, address)

    def _address(self, value: Object) -> str | None:
        inner = resolved(value.type)
        if isinstance(inner, model.Pointer):
            return None if value.implied() is not None else self.memory_reference(value.pointer())
        address = value.address
        return None if address is None else self.memory_reference(address)

    def memory_reference(self, address: Address) -> str | None:
        """Return an address as clients keep it."""
        if not isinstance(address.value, int):
            return None
        space = self.frame.target.space(address.space) if address.space else None
        name = None if space is None or space == self.frame.target.default_space else space.name
        return str(ClientAddress(address.value, name, self.place.wave, self.lane))

    # --- Parts ----------------------------------------------------------------------------------------------------

    def parts(self, rows: ItemsOf, *, named: int = 0, indexed: int = 0) -> Parts:
        """Return parts of the frame."""
        return Parts(self.place, self.lane, rows, named, indexed)

    def _parts(self, value: Object, expression: str | None) -> Parts | None:
        inner = stripped(value.type)
        if isinstance(inner, model.Struct):
            return self._of_struct(value, inner, expression)
        if isinstance(inner, model.Pointer):
            return self._of_pointer(value, inner, expression)
        if isinstance(inner, model.Array) or (isinstance(inner, model.Base) and inner.vector_size is not None):
            elements = value.array()
            if elements.state is not None or elements.is_open or not elements.length:
                return None
            base = _operand(expression)

            def rows(first: int, end: int) -> Iterator[Item]:
                for position in range(first, min(end, elements.length)):
                    name = f"[{position + elements.lower}]"
                    yield self.value(name, elements.at(position), base and f"{base}{name}")

            return self.parts(rows, indexed=elements.length)
        return None

    def _of_pointer(self, value: Object, pointer: model.Pointer, expression: str | None) -> Parts | None:
        target = stripped(pointer.target)
        if isinstance(target, (model.Function, model.Void)) or (
            isinstance(target, model.Struct) and target.is_incomplete
        ):
            return None
        if value.implied() is None and not pointer.is_reference and value.pattern().bits == pointer.null:
            return None
        if pointer.is_reference:
            return self._parts(value.dereferenced(), expression)
        base = None if expression is None else f"*{_operand(expression)}"
        if isinstance(target, model.Struct):
            return self._of_struct(value.dereferenced(), target, base, expression)
        return self.parts(lambda _first, _end: [self.value(base or "*", value.dereferenced(), base)], named=1)

    def _of_struct(
        self, value: Object, kind: model.Struct, expression: str | None, pointer: str | None = None
    ) -> Parts | None:
        if kind.is_incomplete:
            return None
        if is_standard(kind, self.look):
            from dwarfgpu.program.values.standard_library import contents_of

            contents = contents_of(value, kind)
            if contents is not None:
                is_array, count = contents.hint == "array", contents.count

                def contained(first: int, end: int) -> Iterator[Item]:
                    for part in islice(contents.parts(), first, end):
                        yield self.value(part.name, part.value, None)

                if not count:
                    return None
                return self.parts(contained, indexed=count if is_array else 0, named=0 if is_array else count)
        base = f"{_operand(pointer)}->" if pointer is not None else f"{_operand(expression)}." if expression else None
        return self.parts(lambda first, end: islice(self._members(value, kind, expression, base), first, end))

    def _members(self, value: Object, kind: model.Struct, expression: str | None, base: str | None) -> Iterator[Item]:
        for inherited in kind.body.bases:
            name = safe_text(inherited.type)
            try:
                yield self.value(name, value.base(inherited), expression)
            except DwarfGpuError as error:
                yield Item(name, problem(error))
        for member in value.members():
            name = member.name or "<unnamed>"
            try:
                yield self.value(name, value.field(member), base and member.name and f"{base}{name}")
            except DwarfGpuError as error:
                yield Item(name, problem(error))


def _operand(expression: str | None) -> str | None:
    """Return an expression that operators may follow."""
    return expression if expression is None or _SIMPLE.fullmatch(expression) else f"({expression})"


def _json_parts(writer: ItemWriter, value: Any) -> tuple[str, Parts | None]:
    """Return data of an answer as a text, or as what is in it."""
    if isinstance(value, Iterator):
        value = list(value)
    if isinstance(value, dict):
        rows = [*value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(each, (dict, list, tuple)) for each in value):
        rows = [
            (str(each.get("name") or f"[{index}]") if isinstance(each, dict) else f"[{index}]", each)
            for index, each in enumerate(value)
        ]
    else:
        is_list = isinstance(value, (list, tuple))
        return ", ".join(map(str, value)) if is_list else "" if value is None else str(value), None

    def made(first: int, end: int) -> Iterator[Item]:
        for name, each in rows[first:end]:
            text, parts = _json_parts(writer, each)
            yield Item(name, text, parts=parts)

    summary = str(value.get("value") or "") if isinstance(value, dict) else f"{len(rows)}"
    return summary, writer.parts(made, named=len(rows))


# --- Scopes -----------------------------------------------------------------------------------------------------------


def scopes(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the scopes of a frame: what is in them is read when the client asks for it."""
    place = session.frame(arguments)
    if place is None:
        raise arguments.missing("frameId")
    with session.at(place) as debugger:
        frame, lane = debugger.frame, debugger.lane
        writer = ItemWriter(session, frame, lane)
        known = _named(frame)
        groups = {"Arguments": True, "Locals" if lane is None else f"Locals (lane {lane})": False}
        found = []
        for name, is_argument in groups.items():
            chosen = [row for row in known if (row[1].kind == PARAMETER) == is_argument]
            parts = writer.parts(_variables_rows(writer, chosen), named=len(chosen))
            hint = "arguments" if is_argument else "locals"
            found.append(_scope(session, name, parts, hint))
        if frame.has_lanes:
            found.append(_scope(session, "Lanes", writer.parts(_lanes_rows(writer, known), named=len(known))))
        registers = writer.parts(lambda first, end: islice(_registers(session, writer), first, end))
        found.append(_scope(session, "Registers", registers, "registers", is_expensive=True))
        statics = writer.parts(_statics_rows(writer))
        found.append(_scope(session, "Globals", statics, is_expensive=True))
        if debugger.machine.has_waves:
            launch = writer.parts(lambda first, end: _launch_rows(session, writer, first, end))
            found.append(_scope(session, "Launch", launch, is_expensive=True))
    return {"scopes": found}


def _scope(
    session: DebugSession, name: str, parts: Parts, hint: str | None = None, *, is_expensive: bool = False
) -> Json:
    body: Json = {"name": name, "variablesReference": session.add_parts(parts), "expensive": is_expensive}
    body |= {} if hint is None else {"presentationHint": hint}
    return body | ({"namedVariables": parts.named} if parts.named else {})


def _named(frame: Frame, *, statics: bool = False) -> list[tuple[str, Any]]:
    """Return the variables of a frame with names that differ."""
    found = frame.statics() if statics else frame.variables()
    return [(f"{each.name} (shadowed)" if each.is_shadowed else each.name, each) for each in found]


def _variables_rows(writer: ItemWriter, known: Sequence[tuple[str, Any]]) -> ItemsOf:
    return lambda first, end: (
        writer.variable(name, each, None if each.is_shadowed else each.name) for name, each in known[first:end]
    )


def _statics_rows(writer: ItemWriter) -> ItemsOf:
    def rows(first: int, end: int) -> Iterable[Item]:
        return _variables_rows(writer, _named(writer.frame, statics=True))(first, end)

    return rows


def _lanes_rows(writer: ItemWriter, known: Sequence[tuple[str, Any]]) -> ItemsOf:
    """Return the rows of variables, each with its lanes as parts."""
    return lambda first, end: (
        Item(name, f"{writer.frame.target.lane_count} lanes", safe_text(each.type), parts=in_lanes(writer, each, name))
        for name, each in known[first:end]
    )


def in_lanes(writer: ItemWriter, quantity: Quantity, name: str) -> Parts:
    """Return a variable or an expression in all lanes."""
    count = writer.frame.target.lane_count
    expression = None if name.endswith(")") else name

    def rows(first: int, end: int) -> Iterator[Item]:
        lanes = [*range(first, min(end, count))]
        for found in answer(quantity, name, lanes).by_lane:
            yield writer.with_lane(found.lane).answered(f"[{found.lane}]", found, expression)

    return writer.parts(rows, indexed=count)


def _registers(session: DebugSession, writer: ItemWriter) -> Iterator[Item]:
    """Yield the registers, the vectors last, each with its lanes as parts."""
    text = RegisterText(session.debugger, writer.look.letter)
    for register in map(text.json, text.rows(["general"])):
        value = register.get("value") or f"<{register.get('missing') or 'not saved'}>"
        shown = f"{value}  {register['text']}" if register.get("text") and "value" in register else value
        yield Item(register["name"], shown, expression=f"${register['name']}")
    if writer.frame.has_lanes:
        vectors = writer.parts(lambda first, end: islice(_vectors(session, writer), first, end))
        yield Item("vector registers", "", parts=vectors)


def _vectors(session: DebugSession, writer: ItemWriter) -> Iterator[Item]:
    text = RegisterText(session.debugger, writer.look.letter)
    lane = writer.lane or 0
    for register in map(text.json, text.rows(["vector"])):
        lanes = register.get("lanes")
        if lanes is None:
            yield Item(register["name"], f"<{register.get('missing')}>")
            continue
        yield _vector(writer, register["name"], lanes, lane)


def _vector(writer: ItemWriter, name: str, lanes: list[str | None], lane: int) -> Item:
    def rows(first: int, end: int) -> Iterator[Item]:
        for number, value in enumerate(lanes[first:end], first):
            yield Item(f"[{number}]", value or "<not known>", expression=f"${name}[{number}]")

    return Item(name, f"{lanes[lane] or '<not known>'} in lane {lane}", parts=writer.parts(rows, indexed=len(lanes)))


def _launch_rows(session: DebugSession, writer: ItemWriter, first: int, end: int) -> Iterable[Item]:
    """Return what the wave was launched with, as `info dispatch` says it."""
    from dwarfgpu.questions.launching import info_dispatch
    from dwarfgpu.questions.registry import read_arguments

    debugger = session.debugger
    document = info_dispatch(debugger, read_arguments(debugger.registry.commands["info dispatch"], ""))
    _text, parts = _json_parts(writer, document.data)
    return () if parts is None else parts.rows(first, end)


# --- Requests ---------------------------------------------------------------------------------------------------------


def variables(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the parts of something, all or from a number on."""
    parts: Parts = session.parts.get(arguments.number("variablesReference"), "variable")
    first, count = max(0, arguments.number("start", 0)), arguments.number("count", 0)
    kind = arguments.maybe_text("filter")
    if kind not in (None, "indexed", "named"):
        raise UsageError("`variables`: `filter` is indexed or named")
    if kind is not None and (kind == "indexed") != bool(parts.indexed):
        return {"variables": []}
    end = first + (min(count, MOST_ROWS) if count > 0 else MOST_ROWS)
    with session.at(parts.place) as debugger:
        focus = debugger.lane
    with session.at(parts.place, parts.lane):
        rows = list(parts.rows(first, end))
    bodies = []
    for row in rows:
        body = {"name": row.name, **row_body(session, row)}
        if row.expression is not None and (parts.lane if row.lane is None else row.lane) == focus:
            body["evaluateName"] = row.expression  # which is evaluated in the lane of the frame
        bodies.append(body)
    if not count and parts.indexed > end:
        text = f"{parts.indexed - end:,} more: `start` and `count` ask for some of them"
        bodies.append({"name": "...", "value": text, "variablesReference": 0})
    return {"variables": bodies}


def found_row(session: DebugSession, parts: Parts, name: str) -> Item:
    """Return the row with a name."""
    with session.at(parts.place, parts.lane):
        if parts.indexed and (match := re.fullmatch(r"\[(\d{1,9})\]", name)):
            rows: Iterable[Item] = parts.rows(int(match[1]), int(match[1]) + 1)
        else:
            rows = parts.rows(0, MOST_ROWS)
        row = next((row for row in rows if row.name == name), None)
    if row is None:
        raise UsageError(f"there is no variable {name[:60]!r} here", kind="no_name")
    return row


def set_variable(session: DebugSession, arguments: RequestArguments) -> Json:
    """Assign to a variable, or to a part of one, in its lane."""
    parts: Parts = session.parts.get(arguments.number("variablesReference"), "variable")
    name, value = arguments.text("name"), arguments.text("value")
    row = found_row(session, parts, name)
    if row.expression is None:
        raise UsageError(f"{name} cannot be assigned to: it has no name in the program", kind="no_name")
    lane = parts.lane if row.lane is None else row.lane
    body = _assigned(session, parts.place, lane, row.expression, value)
    body.pop("presentationHint", None)  # which only the answers of other requests have
    return body


def set_expression(session: DebugSession, arguments: RequestArguments) -> Json:
    """Assign to what an expression is."""
    place = session.frame(arguments)
    with session.at(place) as debugger:
        lane = debugger.lane
    return _assigned(session, place, lane, arguments.text("expression"), arguments.text("value"))


def _assigned(session: DebugSession, place: Viewpoint | None, lane: int | None, expression: str, value: str) -> Json:
    with session.at(place, lane) as debugger:
        frame = debugger.frame
        lanes = frame.lane_numbers(None if lane is None else [lane])
        frame.expression(f"{expression} = {value}").perform(lanes)
        frame = debugger.frame
        row = ItemWriter(session, frame, lane).of(expression, frame.quantity(expression), expression)
        target = frame.expression(expression).find(frame.lane(lane))
        reference = (
            None if target.address is None else ItemWriter(session, frame, lane).memory_reference(target.address)
        )
        size = target.bits() // 8
    if reference is not None and session.supports("supportsMemoryEvent"):
        written = {"memoryReference": reference, "offset": 0, "count": size}
        session.after.append(lambda: session.wire.event("memory", written))
    session.after.append(lambda: session.changed("variables"))
    return row_body(session, row)


def evaluate(session: DebugSession, arguments: RequestArguments) -> Json:
    """Evaluate an expression; in the console also a command of the debugger."""
    text, context = arguments.text("expression").strip(), arguments.maybe_text("context")
    host, debugger = session.host_frame(arguments) if context != "repl" else None, session.debugger
    if host is not None and text and debugger.ask_host is not None:
        _check_no_assignment(text, context)
        said = debugger.ask_host(f"#{host} print {text}").strip()
        return {"result": said.partition(" = ")[2] or said, "variablesReference": 0}
    place = session.frame(arguments, of_kernel=context != "repl")
    if not text:
        return {"result": "", "variablesReference": 0}
    if context == "repl":
        with session.at(place):
            is_command = _is_command(session, text)
        if is_command:
            return _command(session, text, place)
    elif debugger.attached is None:
        raise UsageError("there is no kernel yet: `launch` or `attach` comes first")
    with session.at(place):
        _check_no_assignment(text, context)
        writer = ItemWriter(session, debugger.frame, debugger.lane)
        before = _changes(session)
        session.is_copying = context == "clipboard"
        row = writer.of(text, debugger.frame.quantity(text), text)
        session.is_copying = False
        if _changes(session) != before:
            session.after.append(lambda: session.changed("variables"))
    return row_body(session, row, "result")


def _check_no_assignment(text: str, context: str | None) -> None:
    if context in ("hover", "variables", "clipboard") and is_assignment(text):
        raise UsageError("an assignment is not evaluated here", kind="cannot_run")


def _changes(session: DebugSession) -> Any:
    debugger = session.debugger
    return None if debugger.attached is None else debugger.attached.state.backend.changes


def _is_command(session: DebugSession, text: str) -> bool:
    """Return whether a line of the console is a command: an expression that begins with a variable is none."""
    debugger = session.debugger
    if text.startswith(("-exec ", "`")):
        return True
    word = re.match(r"[A-Za-z_]\w*", text)
    try:
        if word is not None and any(each.name == word[0] for each in debugger.frame.variables()):
            debugger.frame.expression(text)
            return False
    except DwarfGpuError:
        pass  # it is no expression, or there are no variables
    try:
        debugger.registry.find(text)
    except UsageError:
        return False
    return True


def _command(session: DebugSession, text: str, place: Viewpoint | None) -> Json:
    """Run a command of the debugger, and tell the client what it has changed."""
    from dwarfgpu.dap.steps import tell
    from dwarfgpu.questions.stopping import CommandsOfStops

    debugger = session.debugger
    line = text.removeprefix("-exec ").removeprefix("`")
    if place is not None:
        debugger.wave_number, debugger.frame_number = place.wave, place.frame
    stops = debugger.state_of(CommandsOfStops)
    before = stops.stops, debugger.attached, debugger.wave_number, debugger.lane, _changes(session)
    session.is_running, session.is_pausing, session.can_pause = True, False, False
    with debugger.output.collected() as texts:
        try:
            debugger.execute(line)
        except KeyboardInterrupt:
            texts.append("Quit\n")
        finally:
            session.is_running = False
    halt = stops.halt
    if debugger.attached is not before[1]:
        session.frames.clear()
        session.parts.clear()
        session.after.append(lambda: session.changed("all"))
    if stops.stops != before[0] and halt is not None and debugger.attached is not None:
        session.frames.clear()
        session.parts.clear()
        session.after.append(lambda: tell(session, halt, is_selected=True))
    elif (debugger.wave_number, debugger.lane) != before[2:4]:
        session.after.append(lambda: session.changed("stacks", "variables"))
    elif _changes(session) != before[4]:
        session.after.append(lambda: session.changed("variables"))
    return {"result": "".join(texts).rstrip("\n"), "variablesReference": 0}


def completions(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return what a line of the console can go on with: a command, or an expression."""
    from dwarfgpu.questions.completion import complete

    text, place = arguments.text("text"), session.frame(arguments, of_kernel=False)
    column = max(0, arguments.number("column") - 1 + session.column_base)
    line = text[:column]
    targets: dict[tuple[str, int], Json] = {}
    with session.at(place) as debugger:
        for prefix in ("", "print "):
            start, found = complete(debugger, prefix + line)
            at = start - len(prefix)
            for each in found if at >= 0 else ():
                body = {"label": each.text, "start": at, "length": len(line) - at}
                targets.setdefault((each.text, at), body | ({"detail": each.meta} if each.meta else {}))
    return {"targets": [*targets.values()]}
