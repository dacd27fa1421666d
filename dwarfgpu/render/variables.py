"""Variables and expressions in many lanes, as text and as JSON."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Memory, Register
from dwarfgpu.immutable import asdict, evolve
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.frames.answers import CODES, STATES, WITH_VALUE, AsWritten, LaneAnswer, Values
from dwarfgpu.program.frames.columns import without_padding
from dwarfgpu.program.frames.reasons import NO_LOCATION_HERE, NOT_SET, OPTIMIZED_OUT, Reason
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Enumeration, MemberPointer, Pointer, Struct, Type, resolved
from dwarfgpu.program.values.scalars import Scalar, character_prefix, scalar_of
from dwarfgpu.render.layout import (
    Record,
    beside,
    counted,
    error_json,
    fact,
    lane_masks,
    lanes_text,
    packed,
    room,
    runs,
    shown,
    style,
    wrapped,
)
from dwarfgpu.render.values import Look, launched_note, value_text
from dwarfgpu.render.written_text import StyleName, without_styles
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.expr.location_text import TextRenderer
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Described, Variable
    from dwarfgpu.program.values.storage import Address

    Json = dict[str, Any]


PER_LINE = 8
"""How many lanes a line of a table has, or half of them where they are too wide."""
NOTHING = "-"
"""What a table has for a lane without a value."""
MAX_GROUPS = 6
"""With more different values than this short ones are shown as a table."""
MAX_CELL = 12
NO_VALUE = {"absent": "<absent>", "undefined": "<undefined>", "error": "<error>"}
MISSING_WORDS = frozenset((*NO_VALUE.values(), "<optimized out>", "<not set yet>"))


def missing_word(reason: Reason | None) -> str:
    """Return what is shown in place of a value: what GDB shows where the file says that there is none."""
    if reason is None:
        return NO_VALUE["absent"]
    is_gone = reason.kind in (OPTIMIZED_OUT, NO_LOCATION_HERE, NOT_SET)
    return reason.placeholder if is_gone else NO_VALUE[reason.state]


def kept_text(values: Values) -> str:
    """Return which registers count as kept across a call, behind a value."""
    if not values.kept:
        return ""
    names = ", ".join(dict.fromkeys(name for registers in values.kept.values() for name in registers))
    return f"  (in {names}, kept across the call by its location)"


class VariablesRenderer:
    """Writes answers about a frame."""

    def __init__(
        self, frame: Frame | None, letter: str | None = None, *, locations: bool = False, verbose: bool = False
    ) -> None:
        self.frame = frame
        self.locations = locations
        self.verbose = verbose
        """Whether an answer says what the file alone says of variables that are repaired."""
        self.look = Look(letter=letter, symbol=self._symbol, space_name=self._space_name)

    def with_look(self, look: Look) -> VariablesRenderer:
        """Return the same with another look."""
        renderer = copy(self)
        renderer.look = look
        return renderer

    @cached_property
    def _text(self) -> TextRenderer:
        from dwarfgpu.expr.location_text import TextRenderer

        return TextRenderer("little" if self.frame is None else self.frame.target.byte_order)

    def _symbol(self, address: Address) -> str | None:
        if self.frame is None or not isinstance(address.value, int) or address.space:
            return None
        return self.frame.state.symbol_at(address.value)

    def _space_name(self, number: int) -> str | None:
        space = None if self.frame is None else self.frame.target.space(number)
        return None if space is None else space.name

    # --- Text -----------------------------------------------------------------------------------------------------

    def text(self, values: Values, indent: int = 0) -> list[str]:
        """Return one answer: on one line where all lanes have the same, else a line for each value, or a table."""
        head = " " * indent + style("name", shown(values.text))
        cells = [(answer, self.cell(answer)) for answer in values.by_lane]
        if not cells:
            return [f"{head}: no lane is active"]
        first, text = cells[0]
        same = all(other == text for _each, other in cells)
        if same and (first.value is not None or all(answer.state == first.state for answer, _ in cells)):
            shows_lane = len(cells) == 1 and not first.is_active
            note = f"  (lane {first.lane} is inactive)" if shows_lane else ""
            lines = self._one(values.text, indent, first, text + note)
            if len(cells) > 1:
                idle = sum(not answer.is_active for answer, _ in cells)
                note = f", {idle} of them inactive" if 0 < idle < len(cells) else ""
                note = f"  ({len(cells)} lanes{note})"
                if first.value is None and len(without_styles(lines[-1])) + len(note) > room():
                    lines.append(" " * (indent + 2))
                lines[-1] += style("dim", note)
        else:
            kind = "" if values.type is None else style("dim", f"  {safe_text(values.type)}")
            lines = [f"{head}{kind}", *self._many(cells, indent + 2)]
        if values.kept:
            lines[-1] += style("dim", kept_text(values))
        lines += self.places(values.by_lane, indent + 2) if self.locations else []
        return lines + self.unrepaired(values, indent + 2)

    def unrepaired(self, values: Values, indent: int = 2) -> list[str]:
        """Return what the file alone says of each variable that was repaired, if that is wanted."""
        variables = values.repaired if self.verbose else ()
        return [line for variable in variables for line in self._repaired(variable, values.text, indent)]

    def _repaired(self, unrepaired: AsWritten, text: str, indent: int) -> list[str]:
        """Return which repairs a variable went through, and what it is without them."""
        told: dict[str, None] = {}
        for lane in unrepaired.answer.by_lane:
            told.setdefault(self.cell(lane))
        first, *others = told or ("nothing",)
        more = f", and {counted(len(others), 'other value')} in other lanes" if others else ""
        who = "" if unrepaired.name == text else f"{unrepaired.name}: "
        names = ", ".join(repair_names(unrepaired.repairs))
        words = f"{who}repaired ({names}); as written: {first}{more}"
        return [" " * indent + style("dim", line) for line in wrapped(words, room(indent))]

    def _one(self, name: str, indent: int, answer: LaneAnswer, text: str) -> list[str]:
        head = " " * indent + style("name", shown(name))
        if answer.value is None and answer.reason is not None:
            # the message is wrapped together with what precedes it, of which only the length counts
            before = "x" * (len(shown(name)) + indent + 3)
            first, *rest = wrapped(f"{before} {self._missing(answer.reason)}", room(10))
            first = first.removeprefix(before).strip()
            lines = [f"{head} = {style('error', first)}"]
            return lines + [" " * (indent + 4) + style("error", line) for line in rest]
        return [f"{head} = {text}"]

    def cell(self, answer: LaneAnswer) -> str:
        """Return the value of one lane."""
        if answer.value is None:
            return self._missing(answer.reason)
        return value_text(answer.value, self.look)

    def _missing(self, reason: Reason | None) -> str:
        if reason is None:
            return missing_word(reason)
        note = launched_note(reason, self.look)
        return f"{missing_word(reason)}{note and f'{note}:'} {reason.message}"

    def _many(self, cells: Sequence[tuple[LaneAnswer, str]], indent: int) -> Iterator[str]:
        groups = lane_masks((answer.lane, (answer.state, text)) for answer, text in cells)
        if len(groups) > MAX_GROUPS and all(len(_short(answer, text)) <= MAX_CELL for answer, text in cells):
            yield from self._table(cells, indent)
            return
        names = {key: lanes_text(mask) for key, mask in groups.items()}
        width = min(max(map(len, names.values())), 32)
        for (state, text), name in names.items():
            label = " " * indent + name.ljust(width)
            if len(name) > width:
                yield " " * indent + name
                label = " " * (indent + width)
            words = text if state != "inactive" else f"{text}  (inactive)"
            if state in ("active", "inactive"):
                yield f"{label}  {style('dim', words) if state == 'inactive' else words}"
                continue
            lines = wrapped(words, max(30, room(len(label) + 2)))
            yield from beside(f"{label}  ", (style("error", line) for line in lines), len(label) + 2)

    def _table(self, cells: Sequence[tuple[LaneAnswer, str]], indent: int) -> Iterator[str]:
        """Yield a table, inactive lanes in parentheses, a dash for no value, and below it the reasons."""
        shorts = {answer.lane or 0: (answer, _short(answer, text)) for answer, text in cells}
        width = max(len(text) for _each, text in shorts.values())
        count = PER_LINE if indent + 13 + PER_LINE * (width + 1) <= room() else PER_LINE // 2
        for first in range(0, max(shorts) + 1, count):
            row = [shorts.get(lane) for lane in range(first, first + count)]
            if not any(row):
                continue
            line = []
            for entry in row:
                answer, text = entry if entry is not None else (None, "")
                padded = text.rjust(width)
                if answer is not None and answer.state != "active":
                    padded = style("dim" if answer.state == "inactive" else "error", padded)
                line.append(padded)
            label = f"lanes {first}-{first + count - 1}".ljust(12)
            yield f"{' ' * indent}{label}  {' '.join(line)}".rstrip()
        yield from self._reasons([(answer, text) for answer, text in cells if answer.value is None], indent)

    def _reasons(self, cells: Sequence[tuple[LaneAnswer, str]], indent: int) -> Iterator[str]:
        """Yield why lanes have no value: a line for each kind of reason, with the message of its first lane."""
        groups: dict[tuple[str, str], tuple[str, int]] = {}
        for answer, text in cells:
            key = answer.state, "" if answer.reason is None else answer.reason.kind
            first, mask = groups.get(key, (text, 0))
            groups[key] = first, mask | 1 << (answer.lane or 0)
        for text, mask in groups.values():
            others = {other for answer, other in cells if mask >> (answer.lane or 0) & 1} - {text}
            more = f" (in lane {first_lane(mask)}; the others alike)" if others else ""
            words = f"{NOTHING}  {lanes_text(mask)}: {text}{more}"
            yield from beside(
                " " * indent, (style("error", line) for line in wrapped(words, room(indent + 3))), indent + 3
            )

    def places(self, answers: tuple[LaneAnswer, ...], indent: int) -> Iterator[str]:
        """Return where the value of each lane is; lanes that have it in the same place together."""
        located = [(answer, answer.location) for answer in answers]
        texts = [(answer, at, self._text.entry(at)) for answer, at in located if at is not None]
        is_shared = len(texts) > 1 and len({text for _each, _at, text in texts}) == 1
        groups = lane_masks(
            (answer.lane, written if is_shared else self._own_place(answer, at) or written)
            for answer, at, written in texts
        )
        alone = len(groups) == 1
        for text, mask in groups.items():
            who = "" if alone or answers[0].lane is None else f"{lanes_text(mask)}: "
            first, *rest = wrapped(f"{who}{text}", room(indent + 3))
            yield " " * indent + style("dim", f"at {first}")
            yield from (" " * (indent + 3) + style("dim", line) for line in rest)

    def _own_place(self, answer: LaneAnswer, location: Location) -> str | None:
        """Return a place that belongs to the lane itself in the words that hold for all lanes; None for any other."""
        lane = answer.lane
        place = location.single
        storage: Any = None if place is None else place.storage
        if place is None or lane is None or answer.value is None:
            return None
        if type(storage) is Register and storage.register.lane_bits:
            owner, bit = divmod(int(place.bit_offset), storage.register.lane_bits)
            if owner == lane and bit + answer.value.bits() <= storage.register.lane_bits:
                return f"{storage.register.name}{f' bit {bit}' if bit else ''}, its own lane"
        if type(storage) is Memory and storage.lane is not None and int(storage.lane) == lane:
            address, bit = divmod(int(place.bit_offset), 8)
            if storage.space.scope == Scope.LANE and not bit:
                return f"{storage.space.name}#{address:#x}, its own"
        return None

    def described(self, variable: Variable, indent: int = 0, places: Sequence[Described] | None = None) -> list[str]:
        """Return where the file says a variable is, without a state; ``places`` are the locations to show (all)."""
        head = f"{' ' * indent}{style('name', shown(variable.name))}: {safe_text(variable.type)}"
        lines = [head]
        locations = variable.locations() if places is None else places
        if not locations:
            what = "a constant" if variable.is_here() else "no location: optimized out"
            if variable.is_listed:
                what = "no location here"
            lines[0] += style("dim", f"  ({what})")
        for location in locations:
            where = ""
            if location.is_default:
                where = "elsewhere: "
            elif location.range is not None:
                where = f"{location.range[0]:#x} to {location.range[1]:#x}: "
            lines += _operations(where, location.operations, indent + 2)
            if location.repaired is not None:
                repaired = _operations(repaired_head(location), location.repaired, indent + 4)
                lines += [style("dim", line) for line in repaired]
        return lines

    # --- JSON -----------------------------------------------------------------------------------------------------

    def document(self, values: Values) -> Json:
        """Return an answer about a frame."""
        return next(self.documents(values))

    def documents(self, values: Values) -> Iterator[Json]:
        """Yield an answer wave by wave: the lanes under ``lanes``, or what a machine without lanes has."""
        cells, head = LaneTexts(self, values), self.head(values)
        for wave in range(len(values.waves)):
            place = cells.place(wave)
            if values.by_wave:
                function = None if values.frame is None else values.frame.call.function
                place |= {"pc": values.pc, "function": function}
            lanes = {values.lanes[position]: cells.document(wave, position) for position in cells.shown(wave)}
            is_thread = not values.by_wave and values.lanes == (None,)
            content = lanes[None] if is_thread else {"lanes": {str(lane): each for lane, each in lanes.items()}}
            yield {**place, **head, **content}
            head.pop("repairs", None)  # said once

    def lane_documents(self, values: Values) -> Iterator[Json]:
        """Yield what each lane of each wave has by itself; what is said once is in the first."""
        cells, head = LaneTexts(self, values), self.head(values)
        for wave, position in cells.slots():
            lane = values.lanes[position]
            number = {} if lane is None else {"lane": lane}
            yield {**cells.place(wave), **head, **number, **cells.document(wave, position)}
            head.pop("repairs", None)

    def rows(self, values: Values) -> Iterator[tuple[Any, ...]]:
        """Yield for each lane of each wave: of several waves the wave and the frame, then expression, lane, value."""
        cells = LaneTexts(self, values)
        for wave, position in cells.slots():
            lane = values.lanes[position]
            yield (*cells.place(wave).values(), values.text, "" if lane is None else lane, *cells.row(wave, position))

    def _unrepaired_json(self, unrepaired: AsWritten) -> Json:
        """Return what the file alone says of a variable: in the first lane, or in all if that is wanted."""
        values = unrepaired.answer
        document = self.head(values)
        answers = values.by_lane if self.verbose and not values.by_wave else values.by_lane[:1]
        if values.lanes == (None,):
            return document | self.lane_document(answers[0])
        document["lanes"] = {str(answered.lane): self.lane_document(answered) for answered in answers}
        return ({"wave": values.names[0]} if values.by_wave else {}) | document

    def head(self, values: Values) -> Json:
        """Return what was asked, the type, and which variables were read as their producer means."""
        head: Json = {"expression": values.text, "type": None if values.type is None else safe_text(values.type)}
        if values.possible_repairs:
            head["possible_repairs"] = repair_names(values.possible_repairs)
        if values.repaired:
            head["repairs"] = [
                {
                    "variable": variable.name,
                    "names": repair_names(variable.repairs),
                    "as_written": self._unrepaired_json(variable),
                }
                for variable in values.repaired
            ]
        if values.kept:
            head["kept_registers"] = {name: list(registers) for name, registers in values.kept.items()}
        return head

    def lane_document(self, answer: LaneAnswer) -> Json:
        """Return what one lane has: its state, and a value or a reason."""
        from dwarfgpu.render.values import value_json

        result: Json = {"state": answer.state}
        if answer.value is not None:
            result |= {key: value for key, value in value_json(answer.value, self.look).items() if key != "type"}
        elif answer.reason is not None:
            result["reason"] = _reason_json(answer.reason)
            launched = None if answer.reason.launched is None else answer.reason.launched()
            if launched is not None:
                result["launched_with"] = value_json(launched, self.look)
        if self.locations and answer.location is not None:
            result |= self.location_json(answer)
        return result

    def location_json(self, answer: LaneAnswer) -> Json:
        """Return where the value of a lane is, in words and part by part."""
        location = answer.location
        return {
            "location": None if location is None else self._text.entry(location),
            "sources": [
                {name: value for name, value in asdict(source).items() if value is not None}
                for source in answer.sources()
            ],
        }

    def described_json(self, variable: Variable, places: Sequence[Described] | None = None) -> Json:
        """Return where the file says a variable is; ``places`` are the locations to show (all)."""
        locations = variable.locations() if places is None else places
        head = {"name": variable.name, "kind": variable.kind, "type": safe_text(variable.type)}
        return {**head, "locations": [*map(LOCATION.json, locations)]}


LOCATION = Record(
    "operations range* default=is_default?*",
    fact("repairs?*", value=lambda location: repair_names(location.repairs)),
    "repaired*",
    fact("possible_repairs?*", value=lambda location: repair_names(location.possible_repairs)),
)
FRAME = Record("number function=name pc inlined=is_inlined source=call.source")


def repair_names(repairs: Iterable[Repair]) -> list[str]:
    """Return what repairs are called."""
    return [repair.name for repair in repairs]


MAX_DEPTH = 8
"""How deep a type is searched for what leads to memory."""
_WORD = 64


class LaneTexts:
    """What lanes have, as texts and as JSON. Where the bits of a value of several waves say all, it is written once."""

    def __init__(self, renderer: VariablesRenderer, values: Values) -> None:
        self.values = values
        self.renderer = renderer
        if values.by_wave:
            self.renderer = renderer.with_look(evolve(renderer.look, is_pretty=False, printer=None))
        described, scalar = values.type, None
        try:
            scalar = None if described is None else scalar_of(described)
        except DwarfGpuError:
            described = None  # it cannot be read, as each lane says
        self._is_plain = renderer.look.letter is None and scalar is not None and _is_plain(scalar, described)
        """Whether the numbers of the array are the texts."""
        self._has_parts = scalar is None
        is_narrow = scalar is None or scalar.storage_bits <= _WORD  # a wider number is not exact in the array
        self._are_known = values.by_wave and described is not None and is_narrow and bits_tell(described)
        self._texts: dict[bytes, str] = {}
        self._documents: dict[bytes, Json] = {}
        self._bits: Any = without_padding(values.elements) if self._are_known else None

    @cached_property
    def states(self) -> Any:
        """The codes of the states of the lanes, as an array."""
        return self.values.codes

    @cached_property
    def executing(self) -> Any:
        """Which lanes execute the code, as an array."""
        return self.values.executing

    def place(self, wave: int) -> Json:
        """Return the wave and the frame, where an answer is about several waves."""
        values = self.values
        frame = 0 if values.frame is None else values.frame.number
        return {"wave": values.names[wave], "frame": frame} if values.by_wave else {}

    def shown(self, wave: int) -> Sequence[int]:
        """Return the lanes of a wave that are shown: all, or those that execute the code where no others count."""
        if not (self.values.by_wave and self.values.only_executing):
            return range(len(self.values.lanes))
        return self.executing[wave].nonzero()[0].tolist()  # type: ignore[no-any-return]

    def slots(self) -> Iterator[tuple[int, int]]:
        """Yield the waves with their lanes, by their positions."""
        return ((wave, position) for wave in range(len(self.values.waves)) for position in self.shown(wave))

    def answer(self, wave: int, position: int) -> LaneAnswer:
        """Return what a lane has."""
        return self.values.at(wave, position) if self.values.by_wave else self.values.by_lane[position]

    def key(self, wave: int, positions: Sequence[int]) -> Any:
        """Return what is the same for lanes of which the texts are the same: bits and states, or the texts."""
        states = self.states[wave, positions]
        if self._are_known and all(state in WITH_VALUE for state in states.tolist()):
            return self._bits[wave, positions].tobytes()
        return tuple(self.text(wave, position) for position in positions)

    def _known_bits(self, wave: int, position: int) -> bytes | None:
        """Return the bits of a value of which they say all; None for any other."""
        if not self._are_known or int(self.states[wave, position]) not in WITH_VALUE:
            return None
        bits: bytes = self._bits[wave, position].tobytes()
        return bits

    def text(self, wave: int, position: int) -> str:
        """Return the value of one lane, or a word if there is none."""
        state = int(self.states[wave, position])
        if state not in WITH_VALUE and not (self._has_parts and state == CODES["undefined"]):
            return missing_word(self.answer(wave, position).reason)
        if self._is_plain:
            return str(self.values.elements[wave, position])
        key = self._known_bits(wave, position)
        text = None if key is None else self._texts.get(key)
        if text is None:
            answered = self.answer(wave, position)
            text = missing_word(answered.reason) if answered.value is None else self.renderer.cell(answered)
            if key is not None:
                self._texts[key] = text
        return text

    def row(self, wave: int, position: int) -> tuple[str, str]:
        """Return the state and the value of a lane; no text where there is no value."""
        if self.values.by_wave and (state := int(self.states[wave, position])) in WITH_VALUE:
            return STATES[state], self.text(wave, position)
        answered = self.answer(wave, position)
        return answered.state, "" if answered.value is None else self.renderer.cell(answered)

    def document(self, wave: int, position: int) -> Json:
        """Return what a lane has as JSON: its state, and a value or a reason."""
        key = None if self.renderer.locations else self._known_bits(wave, position)
        if key is None:
            return self.renderer.lane_document(self.answer(wave, position))
        content = self._documents.get(key)
        if content is None:
            content = self._documents[key] = self.renderer.lane_document(self.answer(wave, position))
        return {**content, "state": STATES[int(self.states[wave, position])]}

    def places(self, wave: int) -> tuple[str, ...]:
        """Return where the values of a wave are, if that is wanted."""
        positions = self.shown(wave) if self.renderer.locations and self.values.frame is not None else ()
        answers = tuple(self.answer(wave, position) for position in positions)
        return tuple(self.renderer.places(answers, 0)) if answers else ()


def _is_plain(scalar: Scalar, type: Type | None) -> bool:
    """Return whether a number is written in decimal digits and nothing else."""
    return scalar.kind == "integer" and scalar.scale is None and (type is None or character_prefix(type) is None)


def bits_tell(type: Type, depth: int = 0) -> bool:
    """Return whether the text of a value depends on its bits alone, and not on memory that it leads to."""
    inner = resolved(type)
    if depth > MAX_DEPTH:
        return False
    if isinstance(inner, Pointer):
        return not inner.is_reference and character_prefix(inner.target) is None
    if isinstance(inner, Array):
        return not inner.is_dynamic and bits_tell(inner.element, depth + 1)
    if isinstance(inner, Struct):
        body = inner.body
        if inner.is_incomplete or body.variant_parts or body.statics:
            return False
        parts: list[Any] = [*body.members, *body.bases]
        return all(part.location is None and bits_tell(part.type, depth + 1) for part in parts)
    return isinstance(inner, (Base, Enumeration, MemberPointer))


def repaired_head(location: Described) -> str:
    """Return what precedes the operations that a repair has made."""
    return f"repaired ({', '.join(repair_names(location.repairs))}): "


def _operations(before: str, operations: str, indent: int) -> list[str]:
    """Return operations in lines, each operation on its own line."""
    parts = [f"{operation};" for operation in operations.split("; ")]
    parts[-1] = parts[-1].removesuffix(";")
    parts[0] = before + parts[0]
    return [" " * indent + line for line in packed(parts, room(indent))]


class RepairNotes:
    """The footnote of an answer: which variables were read as their producer means them."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def add(self, name: str, repairs: Sequence[Repair]) -> None:
        """Take note of a variable and its repairs, if it has some."""
        if repairs:
            self._names[name] = None

    def noted(self, values: Values) -> Values:
        """Take note of the repairs in values; return the values."""
        for unrepaired in values.repaired:
            self.add(unrepaired.name, unrepaired.repairs)
        return values

    def lines(self, how: str = "") -> Iterator[str]:
        """Yield the footnote, on as many lines as it takes; ``how`` shows the descriptions and their repairs."""
        if self._names:
            more = f" ({how} shows how)" if how else ""
            names = ", ".join(map(shown, self._names))
            yield from (style("dim", line) for line in wrapped(f"repaired: the compiler misdescribes {names}{more}"))


def _reason_json(reason: Reason) -> Json:
    """Return why there is no value. A record takes ten times as long, in each lane without a value."""
    result: Json = {"kind": reason.kind, "message": reason.message}
    if reason.before is not None:
        result["before"] = list(reason.before)
    if reason.after is not None:
        result["after"] = list(reason.after)
    return result if reason.error is None else result | error_json(reason.error)


def frame_text(frame: Frame) -> str:
    """Return a frame on one line: its number, its function and where it is in the source."""
    source = frame.call.source
    where = ""
    if source is not None and source.file is not None:
        where = f" at {shown(source.file)}:{source.line}"
    inlined = "  (inlined)" if frame.is_inlined else ""
    return f"#{frame.number}  {style('name', shown(frame.name or '??'))}{where}{style('dim', inlined)}"


def frame_json(frame: Frame) -> Json:
    """Return a frame as JSON."""
    return FRAME.json(frame)


def _short(answer: LaneAnswer, text: str) -> str:
    """Return a value as a table shows it."""
    if answer.value is None:
        return NOTHING
    return text if answer.is_active else f"({text})"


# --- The values of many waves -------------------------------------------------------------------------------------


def heading(values: Values) -> Iterator[str]:
    """Yield how many waves there are, and where they are."""
    from dwarfgpu.render.source_places import source_text

    call = None if values.frame is None else values.frame.call
    where = "at no known place" if values.pc is None else f"at pc {values.pc:#x}"
    if call is not None and call.function is not None:
        source = "" if call.source is None else f" at {source_text(call.source)}"
        where = f"in {shown(call.function)}{source}, pc {values.pc:#x}"
    yield from (style("kind", line) for line in wrapped(f"{counted(len(values.waves), 'wave')} {where}"))


def lines_of_waves(renderer: VariablesRenderer, values: Values) -> Iterator[str]:
    """Yield what something is in waves, those with the same in every lane together; below it why values are missing."""
    kind = "" if values.type is None else style("dim", f"  {safe_text(values.type)}")
    yield f"  {style('name', shown(values.text))}{kind}"
    for waves, line, places in grouped(LaneTexts(renderer, values)):
        label = shown(waves[0]) + (f" (+{len(waves) - 1})" if len(waves) > 1 else "")
        yield from beside("    ", wrapped(f"{label}: {line}", room(4)), 6)
        yield from (f"      {place}" for place in places)
    for count, reason in values.missing(inactive=not values.only_executing):
        what = f"{missing_word(reason)} in {counted(count, 'lane')}: {reason.message}"
        yield from (f"    {style('error', text)}" for text in wrapped(what, room(4)))
    for variable in values.repaired if renderer.verbose else ():
        names = ", ".join(repair_names(variable.repairs))
        who = "" if variable.name == values.text else f"{variable.name}: "
        told = renderer.cell(variable.answer.at(0, 0))
        where = f"in lane {values.lanes[0]} of wave {values.names[0]}"
        note = f"{who}repaired ({names}); as written, {where}: {told}"
        yield from (f"    {style('dim', text)}" for text in wrapped(note, room(4)))


def grouped(cells: LaneTexts) -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
    """Yield the waves, those with the same in every lane together: their names, the values, and where these are."""
    names = cells.values.names
    alike: dict[Any, list[int]] = {}
    for wave in range(len(names)):
        positions = cells.shown(wave)
        alike.setdefault((*positions, cells.key(wave, positions)), []).append(wave)
    for waves in alike.values():
        line = _lanes(cells, waves[0])
        rows: dict[tuple[str, ...], list[str]] = {}
        for wave in waves:
            rows.setdefault(cells.places(wave), []).append(names[wave])
        for places, chosen in rows.items():
            yield chosen, line, places


def _lanes(cells: LaneTexts, wave: int) -> str:
    """Return the lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have is alone."""
    groups: dict[Any, list[int]] = {}
    for position in cells.shown(wave):
        key = bool(cells.executing[wave, position]), cells.key(wave, [position])
        groups.setdefault(key, []).append(position)
    if not groups:
        return "no lane is active"
    masks: dict[str, int] = {}
    lanes = cells.values.lanes
    for (is_active, _), positions in groups.items():
        text = cells.text(wave, positions[0])
        text = text if is_active else f"({text})"
        masks[text] = masks.get(text, 0) | sum(1 << (lanes[position] or 0) for position in positions)
    if len(masks) == 1:
        return next(iter(masks))
    if len(masks) > MAX_GROUPS and all(mask.bit_count() == 1 for mask in masks.values()):
        return ", ".join(f"[{mask.bit_length() - 1}]={text}" for text, mask in masks.items())
    return ", ".join(f"{lanes_text(mask)}: {text}" for text, mask in masks.items())


# --- The values of lanes in braces --------------------------------------------------------------------------------

LANE_INDENT = 4


def value_in_lanes(writer: VariablesRenderer, values: Values, head: str) -> Iterator[str]:
    """Yield the values of lanes in braces, runs together, inactive ones in parentheses; below it why some have none."""
    line, length = head + "{", len(head) + 1
    alike = [*_runs(writer, values)]
    for index, (first, last, text, state) in enumerate(alike):
        label = f"[{first}]=" if first == last else f"[{first}-{last}]="
        value = f"({text})" if state == "inactive" else text
        end = "}" if index == len(alike) - 1 else ","
        size = len(label) + len(value) + len(end)
        if length + size + (index > 0) > room() and length > LANE_INDENT:
            yield line
            line, length = " " * LANE_INDENT, LANE_INDENT
        elif index:
            line, length = f"{line} ", length + 1
        kind: StyleName = "dim" if state == "inactive" else "plain" if state == "active" else "error"
        line += label + style(kind, value) + end
        length += size
    yield line
    yield from _reasons(writer, values)


def _runs(writer: VariablesRenderer, values: Values) -> Iterator[tuple[int, int, str, str]]:
    """Yield runs of lanes with the same value in the same state: the first, the last, the value, the state."""
    cells = []
    for answer in values.by_lane:
        reason = answer.reason if answer.value is None else None
        text = writer.cell(answer) if reason is None else reason.placeholder
        cells.append((answer.lane or 0, text, answer.state))
    for run in runs(cells, lambda last, cell: cell == (last[0] + 1, *last[1:])):
        first, text, state = run[0]
        yield first, run[-1][0], text, state


def _reasons(writer: VariablesRenderer, values: Values) -> Iterator[str]:
    groups = lane_masks(
        (answer.lane, f"{answer.reason.placeholder} ({answer.reason.message})")
        for answer in values.by_lane
        if answer.value is None and answer.reason is not None
    )
    for text, mask in groups.items():
        lines = wrapped(f"{lanes_text(mask)}: {text}", room(LANE_INDENT))
        yield from beside("  ", (style("error", line) for line in lines), LANE_INDENT)
