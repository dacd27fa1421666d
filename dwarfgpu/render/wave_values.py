"""Values of many waves: waves that have the same in every lane together, and lanes with one value together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.variables.all_waves import CODES, STATES
from dwarfgpu.program.variables.columns import ACTIVE, INACTIVE_STATE
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import WIDTH, counted, lanes_text, plain_style, shown, wrapped
from dwarfgpu.render.variables import MAX_GROUPS, NO_VALUE, reason_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.variables.all_waves import WaveValues
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]

MAX_SHOWN = 16
"""Different values that are shown of a wave."""
HAS_VALUE = frozenset((CODES[ACTIVE], CODES[INACTIVE_STATE]))


class WaveValuesRenderer:
    """Writes what something is in many waves; ``inactive`` lanes too, or those alone that execute the code."""

    def __init__(self, style: Style = plain_style, *, inactive: bool = False) -> None:
        self.style = style
        self.inactive = inactive

    # --- Text -----------------------------------------------------------------------------------------------------

    def text(self, text: str, found: WaveValues) -> Iterator[str]:
        """One place: how many waves, where, and then the values."""
        call = None if found.frame is None else found.frame.call
        where = "at no known place" if found.pc is None else f"at pc {found.pc:#x}"
        if call is not None and call.function is not None:
            source = "" if call.source is None else f" at {source_text(call.source)}"
            where = f"in {shown(call.function)}{source}, pc {found.pc:#x}"
        head = f"{counted(len(found.waves), 'wave')} {where}"
        yield from (self.style("kind", line) for line in wrapped(head))
        kind = "" if found.type is None else self.style("dim", f"  {safe_text(found.type)}")
        yield f"  {self.style('name', shown(text))}{kind}"
        for waves, line in self._rows(found):
            label = shown(waves[0]) + (f" (+{len(waves) - 1})" if len(waves) > 1 else "")
            first, *rest = wrapped(f"{label}: {line}", WIDTH - 4)
            yield f"    {first}"
            yield from (f"      {each}" for each in rest)
        for count, reason in found.reasons():
            what = f"{NO_VALUE[reason.state]} in {counted(count, 'lane')}: {reason.message}"
            yield from (f"    {self.style('error', line)}" for line in wrapped(what, WIDTH - 4))
        for variable in found.repaired:
            names = ", ".join(repair.name for repair in variable.repairs)
            who = "" if variable.name == text else f"{variable.name}: "
            told = found.as_written(variable)
            told = f"{NO_VALUE['error']} {told}" if isinstance(told, Exception) else _value_text(told)
            note = f"{who}repaired ({names}); as written, in lane {found.lanes[0]} of wave {found.names[0]}: {told}"
            yield from (f"    {self.style('dim', line)}" for line in wrapped(note, WIDTH - 4))

    def _rows(self, found: WaveValues) -> list[tuple[list[str], str]]:
        """The waves, those with the same values in every lane together."""
        rows: dict[tuple[bytes, bytes], list[int]] = {}
        array, states = found.array, found.states
        for wave in range(len(found.waves)):
            rows.setdefault((array[wave].tobytes(), states[wave].tobytes()), []).append(wave)
        return [
            ([found.names[wave] for wave in members], self._lanes(found, members[0]))
            for members in rows.values()
        ]

    def _lanes(self, found: WaveValues, wave: int) -> str:
        """The lanes of a wave: ``lanes 0-15: 7, lanes 16,20: 8``; a value that all of them have stands alone."""
        groups: dict[str, int] = {}
        values, states = found.array[wave].tolist(), found.states[wave].tolist()
        for lane, value, state in zip(found.lanes, values, states, strict=True):
            if state == CODES[INACTIVE_STATE] and not self.inactive:
                continue
            text = _value_text(value) if state in HAS_VALUE else NO_VALUE[STATES[state]]
            if state == CODES[INACTIVE_STATE]:
                text = f"({text})"
            groups[text] = groups.get(text, 0) | 1 << lane
        if not groups:
            return "no lane is active"
        if len(groups) == 1:
            return next(iter(groups))
        texts = [f"{lanes_text(mask)}: {text}" for text, mask in groups.items()]
        if len(texts) > MAX_GROUPS:
            if all(mask.bit_count() == 1 for mask in groups.values()):
                texts = [f"[{mask.bit_length() - 1}]={text}" for text, mask in groups.items()]
            if len(texts) > MAX_SHOWN:
                texts[MAX_SHOWN:] = [f"... ({len(groups) - MAX_SHOWN} more values)"]
        return ", ".join(texts)

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
            yield document

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
        for wave, name in enumerate(found.names):
            values, states = found.array[wave].tolist(), found.states[wave].tolist()
            for lane, value, state in zip(found.lanes, values, states, strict=True):
                if state == CODES[INACTIVE_STATE] and not self.inactive:
                    continue
                cell = _value_text(value) if state in HAS_VALUE else ""
                yield ",".join([_cell(name), str(number), _cell(text), str(lane), STATES[state], _cell(cell)])


def _cell(text: str) -> str:
    """A cell of a line with commas, quoted where it must be (RFC 4180)."""
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n\r') else text


def _value_text(value: Any) -> str:
    """A number, or the parts of a structure or an array in braces."""
    if isinstance(value, (tuple, list)):
        return "{" + ", ".join(map(_value_text, value)) + "}"
    return value.hex() if isinstance(value, bytes) else str(value)


def _value_json(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_value_json(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and value - value != 0 else value
