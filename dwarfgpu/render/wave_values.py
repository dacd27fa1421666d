"""Values of many waves: waves that have the same in every lane together, and lanes with one value together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.values.scalars import character_prefix, scalar_of
from dwarfgpu.program.variables.all_waves import CODES, STATES
from dwarfgpu.program.variables.columns import ACTIVE, INACTIVE_STATE, UNDEFINED
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import WIDTH, counted, lanes_text, plain_style, shown, wrapped
from dwarfgpu.render.variables import MAX_GROUPS, NO_VALUE, VariablesRenderer, reason_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.scalars import Scalar
    from dwarfgpu.program.variables.all_waves import WaveValues
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]

MAX_SHOWN = 16
"""Different values that are shown of a wave."""
HAS_VALUE = frozenset((CODES[ACTIVE], CODES[INACTIVE_STATE]))


class WaveValuesRenderer:
    """Writes what something is in many waves.

    ``inactive`` lanes too, or those alone that execute the code; ``letter`` is one of ``print/x``; ``locations`` says
    where each value is.
    """

    def __init__(
        self,
        style: Style = plain_style,
        *,
        inactive: bool = False,
        letter: str | None = None,
        locations: bool = False,
    ) -> None:
        self.style = style
        self.inactive = inactive
        self.letter = letter
        self.locations = locations

    # --- Text -----------------------------------------------------------------------------------------------------

    def head(self, found: WaveValues) -> Iterator[str]:
        """How many waves there are, and where they stand."""
        call = None if found.frame is None else found.frame.call
        where = "at no known place" if found.pc is None else f"at pc {found.pc:#x}"
        if call is not None and call.function is not None:
            source = "" if call.source is None else f" at {source_text(call.source)}"
            where = f"in {shown(call.function)}{source}, pc {found.pc:#x}"
        head = f"{counted(len(found.waves), 'wave')} {where}"
        yield from (self.style("kind", line) for line in wrapped(head))

    def text(self, text: str, found: WaveValues) -> Iterator[str]:
        """The values at one place."""
        kind = "" if found.type is None else self.style("dim", f"  {safe_text(found.type)}")
        yield f"  {self.style('name', shown(text))}{kind}"
        for waves, line, places in self._rows(found):
            label = shown(waves[0]) + (f" (+{len(waves) - 1})" if len(waves) > 1 else "")
            first, *rest = wrapped(f"{label}: {line}", WIDTH - 4)
            yield f"    {first}"
            yield from (f"      {each}" for each in rest)
            yield from (f"      {self.style('dim', each)}" for each in places)
        for count, reason in found.reasons(inactive=self.inactive):
            what = f"{NO_VALUE[reason.state]} in {counted(count, 'lane')}: {reason.message}"
            yield from (f"    {self.style('error', line)}" for line in wrapped(what, WIDTH - 4))
        for variable in found.repaired:
            names = ", ".join(repair.name for repair in variable.repairs)
            who = "" if variable.name == text else f"{variable.name}: "
            told = found.as_written(variable)
            told = f"{NO_VALUE['error']} {told}" if isinstance(told, Exception) else _value_text(told)
            note = f"{who}repaired ({names}); as written, in lane {found.lanes[0]} of wave {found.names[0]}: {told}"
            yield from (f"    {self.style('dim', line)}" for line in wrapped(note, WIDTH - 4))

    def _rows(self, found: WaveValues) -> list[tuple[list[str], str, tuple[str, ...]]]:
        """The waves, those with the same in every lane together: values, and where they are."""
        texts = Texts(found, self.letter, locations=self.locations)
        rows: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        known: dict[tuple[bytes, bytes], str] = {}
        array, states = found.array, found.states
        for wave, name in enumerate(found.names):
            key = array[wave].tobytes(), states[wave].tobytes()
            line = known.get(key) if texts.are_plain else None
            if line is None:
                line = known[key] = self._lanes(found, wave, texts)
            places = texts.places(wave, self._shown(found, wave))
            rows.setdefault((line, places), []).append(name)
        return [(names, line, places) for (line, places), names in rows.items()]

    def _shown(self, found: WaveValues, wave: int) -> list[int]:
        """The positions of the lanes that are shown."""
        active = found.active[wave].tolist()
        return [position for position in range(len(found.lanes)) if self.inactive or active[position]]

    def _lanes(self, found: WaveValues, wave: int, texts: Texts) -> str:
        """The lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have stands alone."""
        groups: dict[str, int] = {}
        for position in self._shown(found, wave):
            text = texts.of(wave, position)
            if not found.active[wave, position]:
                text = f"({text})"
            groups[text] = groups.get(text, 0) | 1 << found.lanes[position]
        if not groups:
            return "no lane is active"
        if len(groups) == 1:
            return next(iter(groups))
        texts_of = [f"{lanes_text(mask)}: {text}" for text, mask in groups.items()]
        if len(texts_of) > MAX_GROUPS:
            if all(mask.bit_count() == 1 for mask in groups.values()):
                texts_of = [f"[{mask.bit_length() - 1}]={text}" for text, mask in groups.items()]
            if len(texts_of) > MAX_SHOWN:
                texts_of[MAX_SHOWN:] = [f"... ({len(groups) - MAX_SHOWN} more values)"]
        return ", ".join(texts_of)

    # --- JSON and CSV ---------------------------------------------------------------------------------------------

    def documents(self, text: str, found: WaveValues) -> Iterator[Json]:
        """One document a wave. Values without one are null; ``states`` says why, ``reasons`` in words."""
        kind = None if found.type is None else safe_text(found.type)
        call = None if found.frame is None else found.frame.call
        repairs = [self._repair(each, found) for each in found.repaired]
        for wave, name in enumerate(found.names):
            states = found.states[wave].tolist()
            document: Json = {
                "wave": name,
                "frame": 0 if found.frame is None else found.frame.number,
                "pc": found.pc,
                "function": None if call is None else call.function,
                "expression": text,
                "type": kind,
                "lanes": list(found.lanes),
                "states": [STATES[state] for state in states],
                "values": [
                    _value_json(value) if state in HAS_VALUE else None
                    for value, state in zip(found.array[wave].tolist(), states, strict=True)
                ],
            }
            if not HAS_VALUE.issuperset(states):
                document["reasons"] = {
                    str(lane): reason_json(reason)
                    for position, lane in enumerate(found.lanes)
                    if (reason := found.reason(wave, position)) is not None
                }
            if found.repaired:
                document["repairs"] = repairs
            if self.locations and found.frame is not None:
                document["locations"] = self._located(found, wave)
            yield document

    def _located(self, found: WaveValues, wave: int) -> list[Json | None]:
        """Where the value of each lane is; null where there is none."""
        if found.frame is None:
            return []
        renderer = VariablesRenderer(found.frame)
        answers = [found.answer(wave, position) for position in range(len(found.lanes))]
        return [None if each.location is None else renderer.location_json(each) for each in answers]

    def _repair(self, variable: Variable, found: WaveValues) -> Json:
        """A variable that was read as its producer means, and what the text alone says in one lane."""
        told = found.as_written(variable)
        answer: Json = {"wave": found.names[0], "lane": found.lanes[0]}
        answer |= {"error": str(told)} if isinstance(told, Exception) else {"value": _value_json(told)}
        names = [repair.name for repair in variable.repairs]
        return {"variable": variable.name, "names": names, "as_written": answer}

    def csv(self, text: str, found: WaveValues) -> Iterator[str]:
        """A line for each lane of each wave."""
        number = 0 if found.frame is None else found.frame.number
        texts = Texts(found, self.letter)
        for wave, name in enumerate(found.names):
            states = found.states[wave].tolist()
            for position in self._shown(found, wave):
                state = states[position]
                cell = texts.of(wave, position) if state in HAS_VALUE else ""
                lane = found.lanes[position]
                yield ",".join([_cell(name), str(number), _cell(text), str(lane), STATES[state], _cell(cell)])


class Texts:
    """The values of waves as texts. Where the bits of a value say all, each is written once."""

    def __init__(self, found: WaveValues, letter: str | None = None, *, locations: bool = False) -> None:
        self.found = found
        self.locations = locations
        self._renderer = None if found.frame is None else VariablesRenderer(found.frame, letter)
        scalar = None if found.type is None else scalar_of(found.type)
        self.are_plain = letter is None and scalar is not None and _is_plain(scalar, found.type)
        """Whether the numbers of the array are the texts."""
        self._has_parts = scalar is None
        # what a pointer leads to may differ from lane to lane, and an array has no more than 64 bits of a number
        self._are_known = scalar is not None and scalar.kind != "pointer" and scalar.storage_bits <= 64
        self._known: dict[bytes, str] = {}

    def of(self, wave: int, position: int) -> str:
        """The value of one lane, or in a word that there is none."""
        found = self.found
        state = int(found.states[wave, position])
        if state not in HAS_VALUE and not (self._has_parts and state == CODES[UNDEFINED]):
            return NO_VALUE[STATES[state]]
        number = found.array[wave, position]
        if self.are_plain or self._renderer is None:
            return str(number)
        key = number.tobytes()
        text = self._known.get(key) if self._are_known else None
        if text is None:
            answer = found.answer(wave, position)
            text = NO_VALUE[answer.state] if answer.value is None else self._renderer.cell(answer)
            self._known[key] = text
        return text

    def places(self, wave: int, positions: list[int]) -> tuple[str, ...]:
        """Where the values of some lanes are."""
        if not self.locations or self._renderer is None:
            return ()
        answers = tuple(self.found.answer(wave, position) for position in positions)
        return tuple(self._renderer.places(answers, 0)) if answers else ()


def _is_plain(scalar: Scalar, type: Type | None) -> bool:
    """Whether a number is written in decimal digits and nothing else."""
    return (
        scalar.kind == "integer" and scalar.scale is None and (type is None or character_prefix(type) is None)
    )


def _cell(text: str) -> str:
    """A cell of a line with commas, quoted where it must be (RFC 4180)."""
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n\r') else text


def _value_text(value: Any) -> str:
    """A number, or the parts of a structure or an array in braces."""
    value = _plainly(value)
    if isinstance(value, (tuple, list)):
        return "{" + ", ".join(map(_value_text, value)) + "}"
    return value.hex() if isinstance(value, bytes) else str(value)


def _plainly(value: Any) -> Any:
    """A value of an array as Python has it: an array in a structure is one of numpy still."""
    return value.tolist() if hasattr(value, "tolist") else value


def _value_json(value: Any) -> Any:
    value = _plainly(value)
    if isinstance(value, (tuple, list)):
        return [_value_json(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and value - value != 0 else value
