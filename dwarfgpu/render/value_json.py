"""Values as JSON: nested as the types are, with exact numbers, or with the reason why there is no value.

Every value is an object with its ``type``. ``value`` is the number of a scalar: an integer, true or false, a float
where a double holds it and text with all digits where none does, ``"nan"``, ``"inf"`` and ``"-inf"``; ``bits`` is the
pattern of a float, ``enumerator`` the name of a value of an enumeration. Structures have ``members`` and ``bases``,
arrays ``elements`` with ``lower`` and ``length`` (``more`` counts those left out), complex numbers ``real`` and
``imaginary``. Without a value there is a ``state``: ``undefined``, ``error`` with the reason, ``omitted`` beyond a
limit, ``repeated`` for a base that is at the place of an equal one before it.

Objects of the C++ library are what they contain: ``summary`` or ``text``, and ``elements``, ``entries`` with
``key`` and ``value``, or ``members``; ``raw`` has them as they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.floats import as_float
from dwarfgpu.program.types import model
from dwarfgpu.program.types.declaration import BROKEN_TYPE, safe_text, type_text
from dwarfgpu.program.types.model import resolved, stripped
from dwarfgpu.program.types.reader import speaks_cplus
from dwarfgpu.program.values.scalars import Scalar, character_prefix
from dwarfgpu.program.values.storage import Address, Reading
from dwarfgpu.render import values
from dwarfgpu.render.layout import problem_json
from dwarfgpu.render.numbers import float_text, signed
from dwarfgpu.render.values import MAX_PARTS, PLAIN, BasesShown, Look, ValueWriter, is_unit

if TYPE_CHECKING:
    from dwarfgpu.program.values.objects import Object


def value_json(value: Object, look: Look = PLAIN) -> dict[str, Any]:
    """Return a value as JSON. Of ``look`` the limits and the names of symbols and spaces count."""
    return _Json(look, is_cplus=speaks_cplus(value.type)).value(value, 0)


class _Json:
    def __init__(self, look: Look, *, is_cplus: bool) -> None:
        self.look = look
        self.is_cplus = is_cplus
        self.left = MAX_PARTS
        self.bases = BasesShown()
        self._types: dict[int, tuple[model.Type, str]] = {}
        self.text = ValueWriter(evolve(look, printer=None), is_cplus=is_cplus)

    def takes(self, depth: int) -> bool:
        """Count a member or an element; return whether it may be written. The text of a deep one is indented far."""
        self.left -= 1
        return self.left >= 0 and budget.take(32 + 4 * depth)

    def _type_text(self, type: model.Type) -> str:
        """Return the text of a type, which many elements share."""
        known = self._types.get(id(type))
        if known is None:
            known = self._types[id(type)] = (type, type_text(type, is_cplus=self.is_cplus))
        return known[1]

    def value(self, value: Object, depth: int) -> dict[str, Any]:
        """Return a value as JSON, or why there is none."""
        head: dict[str, Any] = {"type": BROKEN_TYPE}
        try:
            head["type"] = self._type_text(value.type)
            return head | self._content(value, depth)
        except DwarfGpuError as error:
            if error.kind == "undefined_read":
                return head | {"state": "undefined"}
            return head | {"state": "error", "error": problem_json(error)}

    def _content(self, value: Object, depth: int) -> dict[str, Any]:
        inner = stripped(value.type)
        if depth > self.look.depth or self.left <= 0:
            return {"state": "omitted"}
        if isinstance(inner, model.Struct):
            contents = self._contents(value, inner, depth) if values.is_standard(inner, self.look) else None
            return self._struct(value, inner, depth) if contents is None else contents
        if isinstance(inner, model.Array) or (isinstance(inner, model.Base) and inner.vector_size is not None):
            return self._array(value, depth)
        if isinstance(inner, (model.Function, model.Void)):
            address = value.address
            return {} if address is None else {"address": address.value}
        if isinstance(inner, (model.String, model.MemberPointer)):
            return {"text": self.text.text(value, depth)}
        parts = value.parts()
        if parts is not None:
            real, imaginary, scalar = parts
            return {"real": _part(real, scalar), "imaginary": _part(imaginary, scalar)}
        scalar_found = value.scalar
        if scalar_found is None:
            return {"state": "unsupported"}
        if isinstance(inner, model.Pointer):
            return self._pointer(value, inner, depth)
        reading = value.pattern()
        if reading.undefined:
            return {"state": "undefined", "undefined_bits": hex(int(reading.undefined))}
        return self._scalar(int(reading.bits), scalar_found, value.type)

    def _scalar(self, pattern: int, scalar: Scalar, type: model.Type) -> dict[str, Any]:
        inner = resolved(type)
        if scalar.layout is not None:
            return {"value": _float(pattern, scalar), "bits": hex(pattern)}
        number = signed(pattern, scalar.bits) if scalar.is_signed else pattern
        if scalar.scale is not None:
            return {"value": scalar.number(pattern), "bits": hex(pattern)}
        if scalar.kind == "boolean" and pattern <= 1:
            return {"value": bool(pattern)}
        if isinstance(inner, model.Enumeration):
            return {"value": number, "enumerator": self.text.number(pattern, scalar, type)}
        if is_unit(inner):
            return {"text": "()"}
        if scalar.kind == "character" or character_prefix(type) is not None:
            return {"value": number, "text": self.text.number(pattern, scalar, type).partition(" ")[2]}
        return {"value": number}

    def _pointer(self, value: Object, type: model.Pointer, depth: int) -> dict[str, Any]:
        implied = value.implied()
        if implied is not None:
            return {"implicit": True, "target": self.value(implied, depth + 1)}
        reading = value.pattern()
        if reading.undefined:
            return {"state": "undefined", "undefined_bits": hex(int(reading.undefined))}
        address = Address(type.address_space, int(reading.bits))
        result: dict[str, Any] = {"value": address.value}
        if address.space:
            name = self.look.space_name(address.space)
            result["space"] = address.space if name is None else name
        symbol = None if self.look.symbol is None else self.look.symbol(address)
        if symbol is not None:
            result["symbol"] = symbol
        if type.is_reference:
            result["target"] = self.value(value.dereferenced(), depth + 1)
        elif character_prefix(type.target) is not None and address.value != type.null:
            result["text"] = self.text.pointed_text(value, type)
        return result

    def _array(self, value: Object, depth: int) -> dict[str, Any]:
        array = value.array()
        if array.state is not None:
            return {"state": array.state}
        result: dict[str, Any] = {"lower": array.lower, "length": None if array.is_open else array.length}
        shown = []
        for index in range(min(array.length, self.look.elements)):
            if not self.takes(depth):
                break
            shown.append(self.value(array.at(index), depth + 1))
        result["elements"] = shown
        if len(shown) < array.length:
            result["more"] = array.length - len(shown)
        if not array.is_vector and array.length:
            text = values.characters_of(self.look, array)
            if text is not None:
                result["text"] = text
        return result

    def _struct(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any]:
        if type.is_incomplete:
            return {"state": "incomplete"}
        bases, members = [], []
        for base in type.body.bases:
            if self.bases.has(value, base):
                bases.append({"type": safe_text(base.type), "state": "repeated"})
            elif self.takes(depth):
                bases.append(self._guarded(lambda base=base: value.base(base), base.type, depth))
        for member in value.members():
            if not self.takes(depth):
                break
            content = self._guarded(lambda member=member: value.field(member), member.type, depth)
            members.append({"name": member.name} | content)
        result: dict[str, Any] = {"members": members}
        return {"bases": bases} | result if bases else result

    def _contents(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any] | None:
        """Return an object of the C++ library as what it contains, and as it is stored; None if that is not known."""
        from dwarfgpu.program.values.standard_library import contents_of

        try:
            contents = contents_of(value, type)
        except DwarfGpuError as error:
            if error.kind in values.OTHER_LAYOUT:
                return None
            return {"state": "error", "error": problem_json(error), "raw": self._raw(value, type, depth)}
        if contents is None:
            return None
        raw = {"raw": self._raw(value, type, depth)}
        if contents.characters is not None:
            return {"text": self.text.text(value, depth)} | raw
        result: dict[str, Any] = {"summary": contents.summary} if contents.summary else {}
        parts: list[dict[str, Any]] = []
        is_cut = False
        try:
            for part in contents.parts():
                self.left -= 1
                if len(parts) >= self.look.elements or self.left < 0:
                    is_cut = True
                    break
                content = self.value(part.value, depth + 1)
                if part.key is not None:
                    content = {"key": self.value(part.key, depth + 1), "value": content}
                elif contents.hint != "array":
                    content = {"name": part.name} | content
                parts.append(content)
        except DwarfGpuError as error:
            result["error"] = problem_json(error)
        result[{"array": "elements", "map": "entries"}.get(contents.hint, "members")] = parts
        if len(parts) < contents.count:
            result["more"] = contents.count - len(parts)
        elif is_cut:  # how many only a walk would tell
            result["more"] = None
        return result | raw

    def _raw(self, value: Object, type: model.Struct, depth: int) -> dict[str, Any]:
        """Return an object as it is stored, with those in it."""
        before = self.look
        self.look = evolve(before, is_raw=True)
        try:
            return self._struct(value, type, depth)
        finally:
            self.look = before

    def _guarded(self, make: Any, type: model.Type, depth: int) -> dict[str, Any]:
        """Return a part of a value, or the error of its location."""
        try:
            return self.value(make(), depth + 1)
        except DwarfGpuError as error:
            return {"type": safe_text(type), "state": "error", "error": problem_json(error)}


def _part(reading: Reading, scalar: Scalar) -> Any:
    return None if reading.undefined else _float(int(reading.bits), scalar)


def _float(pattern: int, scalar: Scalar) -> Any:
    """Return a float where a double holds the number, else text with all its digits."""
    layout = scalar.layout
    if layout is None:
        return pattern
    kind = layout.kind(pattern)
    if kind == "nan":
        return "nan"
    number = layout.exact(pattern)
    if kind == "infinite":
        return "-inf" if number < 0 else "inf"
    near = as_float(number)
    return near if near == number else float_text(pattern, layout)
