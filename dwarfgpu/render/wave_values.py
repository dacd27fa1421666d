"""Values of many waves: waves that have the same in every lane together, and lanes with one value together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.frames.answers import CODES, STATES, WITH_VALUE
from dwarfgpu.program.frames.columns import without_padding
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Array, Base, Enumeration, MemberPointer, Pointer, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.values.scalars import character_prefix, scalar_of
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import beside, counted, lanes_text, plain_style, room, shown, wrapped
from dwarfgpu.render.variables import MAX_GROUPS, NO_VALUE, VariablesRenderer, missing_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.scalars import Scalar


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
        verbose: bool = False,
    ) -> None:
        self.style = style
        self.verbose = verbose
        """Whether an answer says what the file alone says of variables that are repaired."""
        self.inactive = inactive
        self.letter = letter
        self.locations = locations

    # --- Text -----------------------------------------------------------------------------------------------------

    def head(self, values: Values) -> Iterator[str]:
        """Return how many waves there are, and where they are."""
        call = None if values.frame is None else values.frame.call
        where = "at no known place" if values.pc is None else f"at pc {values.pc:#x}"
        if call is not None and call.function is not None:
            source = "" if call.source is None else f" at {source_text(call.source)}"
            where = f"in {shown(call.function)}{source}, pc {values.pc:#x}"
        head = f"{counted(len(values.waves), 'wave')} {where}"
        yield from (self.style("kind", line) for line in wrapped(head))

    def text(self, values: Values) -> Iterator[str]:
        kind = "" if values.type is None else self.style("dim", f"  {safe_text(values.type)}")
        yield f"  {self.style('name', shown(values.text))}{kind}"
        cells = WaveCells(values, self.letter, locations=self.locations)
        for waves, line, places in self._rows(cells):
            label = shown(waves[0]) + (f" (+{len(waves) - 1})" if len(waves) > 1 else "")
            yield from beside("    ", wrapped(f"{label}: {line}", room(4)), 6)
            yield from (f"      {self.style('dim', place)}" for place in places)
        for count, reason in values.missing(inactive=self.inactive):
            what = f"{missing_word(reason)} in {counted(count, 'lane')}: {reason.message}"
            yield from (f"    {self.style('error', text)}" for text in wrapped(what, room(4)))
        for variable in values.repaired if self.verbose else ():
            names = ", ".join(repair.name for repair in variable.repairs)
            who = "" if variable.name == values.text else f"{variable.name}: "
            told = cells.renderer.cell(variable.answer.at(0, 0))
            where = f"in lane {values.lanes[0]} of wave {values.names[0]}"
            note = f"{who}repaired ({names}); as written, {where}: {told}"
            yield from (f"    {self.style('dim', text)}" for text in wrapped(note, room(4)))

    def _rows(self, cells: WaveCells) -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
        """Return the waves, those with the same in every lane together: values, and where they are."""
        names = cells.values.names
        alike: dict[Any, list[int]] = {}
        for wave in range(len(names)):
            positions = self._shown(cells, wave)
            alike.setdefault((*positions, cells.key(wave, positions)), []).append(wave)
        for waves in alike.values():
            line = self._lanes(cells, waves[0])
            rows: dict[tuple[str, ...], list[str]] = {}
            for wave in waves:
                places = cells.places(wave, self._shown(cells, wave))
                rows.setdefault(places, []).append(names[wave])
            for places, chosen in rows.items():
                yield chosen, line, places

    def _shown(self, cells: WaveCells, wave: int) -> list[int]:
        executing = cells.executing[wave].tolist()
        return [position for position, is_active in enumerate(executing) if self.inactive or is_active]

    def _lanes(self, cells: WaveCells, wave: int) -> str:
        """Return the lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have is alone."""
        groups: dict[Any, list[int]] = {}
        for position in self._shown(cells, wave):
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
            texts_of = [f"[{mask.bit_length() - 1}]={text}" for text, mask in masks.items()]
        else:
            texts_of = [f"{lanes_text(mask)}: {text}" for text, mask in masks.items()]
        return ", ".join(texts_of)

    # --- JSON and CSV ---------------------------------------------------------------------------------------------

    def documents(self, values: Values) -> Iterator[Json]:
        """Return what is known of each wave: the document of one wave, with where the wave is."""
        cells = WaveCells(values, self.letter, locations=self.locations)
        head = cells.renderer.head(values)
        call = None if values.frame is None else values.frame.call
        for wave in range(len(values.names)):
            place = self._place(values, wave)
            place |= {"pc": values.pc, "function": None if call is None else call.function}
            lanes = {
                str(values.lanes[position]): cells.document(wave, position) for position in self._shown(cells, wave)
            }
            yield {**place, **head, "lanes": lanes}
            head.pop("repairs", None)  # said once

    def lane_documents(self, values: Values) -> Iterator[Json]:
        """Return what is known of each lane of each wave."""
        cells = WaveCells(values, self.letter, locations=self.locations)
        head = cells.renderer.head(values)
        for wave in range(len(values.names)):
            place = self._place(values, wave)
            for position in self._shown(cells, wave):
                yield {**place, **head, "lane": values.lanes[position], **cells.document(wave, position)}
                head.pop("repairs", None)  # said once

    def rows(self, values: Values) -> Iterator[tuple[Any, ...]]:
        """Return for each lane of each wave: the wave, the frame, the expression, the lane, the state and the value."""
        cells = WaveCells(values, self.letter)
        for wave in range(len(values.names)):
            place = tuple(self._place(values, wave).values())
            for position in self._shown(cells, wave):
                yield (*place, values.text, values.lanes[position], *cells.row(wave, position))

    @staticmethod
    def _place(values: Values, wave: int) -> Json:
        frame = 0 if values.frame is None else values.frame.number
        return {"wave": values.names[wave], "frame": frame}


# --- Values of many waves, each formatted once --------------------------------------------------------------------

MAX_DEPTH = 8
"""How deep a type is searched for what leads to memory."""
_WORD = 64


class WaveCells:
    """What lanes of waves have, as texts and as JSON. Where the bits of a value say all, it is written once."""

    def __init__(self, values: Values, letter: str | None = None, *, locations: bool = False) -> None:
        self.values = values
        self.locations = locations
        self.states = values.codes
        self.executing = values.executing
        self.renderer = VariablesRenderer(values.frame, letter, locations=locations)
        scalar = None if values.type is None else scalar_of(values.type)
        self._is_plain = letter is None and scalar is not None and _is_plain(scalar, values.type)
        """Whether the numbers of the array are the texts."""
        self._has_parts = scalar is None
        is_narrow = scalar is None or scalar.storage_bits <= _WORD  # a wider number is not exact in the array
        self._are_known = values.type is not None and is_narrow and bits_tell(values.type)
        self._texts: dict[bytes, str] = {}
        self._documents: dict[bytes, Json] = {}
        self._bits: Any = without_padding(values.elements) if self._are_known else None

    def key(self, wave: int, positions: list[int]) -> Any:
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
        values = self.values
        state = int(self.states[wave, position])
        if state not in WITH_VALUE and not (self._has_parts and state == CODES["undefined"]):
            return NO_VALUE[STATES[state]]
        if self._is_plain:
            return str(values.elements[wave, position])
        key = self._known_bits(wave, position)
        text = None if key is None else self._texts.get(key)
        if text is None:
            answered = values.at(wave, position)
            text = NO_VALUE[answered.state] if answered.value is None else self.renderer.cell(answered)
            if key is not None:
                self._texts[key] = text
        return text

    def row(self, wave: int, position: int) -> tuple[str, str]:
        """Return the state and the value of one lane; no text where there is no value."""
        state = int(self.states[wave, position])
        if state in WITH_VALUE:
            return STATES[state], self.text(wave, position)
        answered = self.values.at(wave, position)
        return answered.state, "" if answered.value is None else self.renderer.cell(answered)

    def document(self, wave: int, position: int) -> Json:
        """Return what one lane has: its state, and a value or a reason."""
        key = None if self.locations else self._known_bits(wave, position)
        if key is None:
            return self.renderer.lane_document(self.values.at(wave, position))
        content = self._documents.get(key)
        if content is None:
            content = self._documents[key] = self.renderer.lane_document(self.values.at(wave, position))
        return {**content, "state": STATES[int(self.states[wave, position])]}

    def places(self, wave: int, positions: list[int]) -> tuple[str, ...]:
        if not self.locations or self.values.frame is None:
            return ()
        answers = tuple(self.values.at(wave, position) for position in positions)
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
