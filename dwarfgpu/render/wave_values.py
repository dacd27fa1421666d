"""Values of many waves: waves that have the same in every lane together, and lanes with one value together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from dwarfgpu.program.stack.all_waves import CODES, STATES
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Enumeration, MemberPointer, Pointer, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.values.scalars import character_prefix, scalar_of
from dwarfgpu.program.variables.columns import ACTIVE, INACTIVE_STATE, UNDEFINED, without_padding
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import WIDTH, counted, lanes_text, plain_style, shown, wrapped
from dwarfgpu.render.variables import MAX_GROUPS, NO_VALUE, VariablesRenderer, reason_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.stack.all_waves import WaveValues
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.scalars import Scalar


MAX_SHOWN = 16
"""Different values that are shown of a wave."""


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

    def _rows(self, found: WaveValues) -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
        """The waves, those with the same in every lane together: values, and where they are."""
        texts = Texts(found, self.letter, locations=self.locations)
        alike: dict[Any, list[int]] = {}
        for wave in range(len(found.names)):
            positions = self._shown(found, wave)
            alike.setdefault((*positions, texts.key(wave, positions)), []).append(wave)
        for waves in alike.values():
            line = self._lanes(found, waves[0], texts)
            rows: dict[tuple[str, ...], list[str]] = {}
            for wave in waves:
                places = texts.places(wave, self._shown(found, wave))
                rows.setdefault(places, []).append(found.names[wave])
            for places, names in rows.items():
                yield names, line, places

    def _shown(self, found: WaveValues, wave: int) -> list[int]:
        """The positions of the lanes that are shown."""
        active = found.active[wave].tolist()
        return [position for position in range(len(found.lanes)) if self.inactive or active[position]]

    def _lanes(self, found: WaveValues, wave: int, texts: Texts) -> str:
        """The lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have stands alone.

        Values beyond the limit are counted and not written.
        """
        groups: dict[Any, list[int]] = {}
        for position in self._shown(found, wave):
            key = bool(found.active[wave, position]), texts.key(wave, [position])
            groups.setdefault(key, []).append(position)
        if not groups:
            return "no lane is active"
        masks: dict[str, int] = {}
        for (is_active, _), positions in itertools.islice(groups.items(), MAX_SHOWN):
            text = texts.of(wave, positions[0])
            text = text if is_active else f"({text})"
            masks[text] = masks.get(text, 0) | sum(1 << found.lanes[each] for each in positions)
        more = len(groups) - MAX_SHOWN
        if len(masks) == 1 and more <= 0:
            return next(iter(masks))
        if len(masks) > MAX_GROUPS and all(mask.bit_count() == 1 for mask in masks.values()):
            texts_of = [f"[{mask.bit_length() - 1}]={text}" for text, mask in masks.items()]
        else:
            texts_of = [f"{lanes_text(mask)}: {text}" for text, mask in masks.items()]
        if more > 0:
            texts_of.append(f"... ({more} more values)")
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


# --- The values of many waves as texts ----------------------------------------------------------------

HAS_VALUE = frozenset((CODES[ACTIVE], CODES[INACTIVE_STATE]))
MAX_DEPTH = 8
"""How deep a type is searched for what leads to memory."""
_WORD = 64


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
        is_narrow = scalar is None or scalar.storage_bits <= _WORD  # a wider number is not exact in the array
        self._are_known = found.type is not None and is_narrow and bits_tell(found.type)
        self._known: dict[bytes, str] = {}
        self._bits: Any = without_padding(found.array) if self._are_known else None

    def key(self, wave: int, positions: list[int]) -> Any:
        """What is the same for lanes of which the texts are the same: bits and states, or the texts themselves."""
        states = self.found.states[wave, positions]
        if self._are_known and all(state in HAS_VALUE for state in states.tolist()):
            return self._bits[wave, positions].tobytes()
        return tuple(self.of(wave, position) for position in positions)

    def of(self, wave: int, position: int) -> str:
        """The value of one lane, or in a word that there is none."""
        found = self.found
        state = int(found.states[wave, position])
        if state not in HAS_VALUE and not (self._has_parts and state == CODES[UNDEFINED]):
            return NO_VALUE[STATES[state]]
        if self.are_plain or self._renderer is None:
            return str(found.array[wave, position])
        key = self._bits[wave, position].tobytes() if self._are_known and state in HAS_VALUE else None
        text = None if key is None else self._known.get(key)
        if text is None:
            answer = found.answer(wave, position)
            text = NO_VALUE[answer.state] if answer.value is None else self._renderer.cell(answer)
            if key is not None:
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


def bits_tell(type: Type, depth: int = 0) -> bool:
    """Whether the text of a value depends on its bits alone, and not on memory that it leads to."""
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
        if any(each.location is not None for each in body.members):
            return False
        if any(each.location is not None for each in body.bases):
            return False
        return all(bits_tell(each.type, depth + 1) for each in (*body.members, *body.bases))
    return isinstance(inner, (Base, Enumeration, MemberPointer))
