"""The values of many waves as texts, each written once where the bits of a value say all there is to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.types.model import Array, Base, Enumeration, MemberPointer, Pointer, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.values.scalars import character_prefix, scalar_of
from dwarfgpu.program.variables.all_waves import CODES, STATES
from dwarfgpu.program.variables.columns import ACTIVE, INACTIVE_STATE, UNDEFINED
from dwarfgpu.program.variables.numpy_types import without_padding
from dwarfgpu.render.variables import NO_VALUE, VariablesRenderer

if TYPE_CHECKING:
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.scalars import Scalar
    from dwarfgpu.program.variables.all_waves import WaveValues

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
