"""What a lane has loaded and stored in a line, by the names that the source has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from dwarfgpu.execution.access_shapes import GLOBAL, LOCAL
from dwarfgpu.execution.control.lane_accesses import ATOMIC, LaneAccess
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.work_items import VARIABLES
from dwarfgpu.program.language.named_objects import FIRST, objects_read, objects_stored
from dwarfgpu.program.types.model import Array, Struct, Type, element_bits, known_size, resolved
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Bytes, ObjectPlace

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Die

MOST = 8
"""The objects that are shown of a line which loads or stores more."""
UNSET = "<not set yet>"
"""In place of what nothing has set."""
_BUILT_IN = re.compile(rf"\b(?:{'|'.join(VARIABLES)})\.[xyz]\b")


@frozen
class NamedPlace:
    """An object in memory that has a name."""

    name: str
    type: Type
    kind: str
    """``global``, ``ds`` or ``private``."""
    address: int

    @property
    def size(self) -> int:
        """The bytes of the object."""
        return known_size(self.type) or 0

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size

    def holds(self, kind: str, address: int) -> bool:
        return kind == self.kind and 0 <= address - self.address < self.size

    def part(self, offset: int, size: int) -> NamedPlace:
        """Return the smallest part that has so many bytes from an offset on."""
        name, kind, start = self.name, resolved(self.type), 0
        while True:
            inner = next(_parts(kind, offset - start, size), None)
            if inner is None:
                return NamedPlace(name, kind, self.kind, self.address + start)
            text, kind, at = inner
            name, kind, start = f"{name}{text}", resolved(kind), start + at


def _parts(kind: Type, offset: int, size: int) -> Iterator[tuple[str, Type, int]]:
    """Yield the element or the member of an object that has so many bytes from an offset on, and where it begins."""
    if isinstance(kind, Array) and (bits := element_bits(kind)) and not bits % 8:
        index, rest = divmod(offset, bits // 8)
        at, text = index * (bits // 8), ""
        for dimension in reversed(kind.dimensions[1:]):
            index, inner = divmod(index, dimension.length or 1)
            text = f"[{inner}]{text}"
        if rest + size <= bits // 8:
            yield f"[{index}]{text}", kind.element, at
    elif isinstance(kind, Struct) and kind.kind != "union":
        for member in kind.body.members:
            member_size, start = known_size(member.type), (member.bit_offset or 0) // 8
            if member_size and member.bit_size is None and start <= offset and offset + size <= start + member_size:
                yield f".{member.name}" if member.name else "", member.type, start


class AccessedObject:
    """An object, and what a lane has loaded or stored of it."""

    def __init__(self, place: NamedPlace) -> None:
        self.place = place
        self.old: LaneAccess | None = None
        """The atomic operation that has found something there."""
        self._data, self._known, self._undefined = (bytearray(place.size) for _ in range(3))

    def put(self, access: LaneAccess, undefined: bytes) -> None:
        """Take the bytes of an access that are in it."""
        self.old = access if access.action == ATOMIC else None
        for number, byte in enumerate(access.data or b""):
            at = access.address - self.place.address + number
            if 0 <= at < len(self._data):
                self._data[at], self._known[at] = byte, 1
                self._undefined[at] = undefined[number] if undefined else 0

    def texts(self, text: Callable[[Object], str | None]) -> Iterator[tuple[str, str]]:
        """Yield the name with the value, or those of the parts that were accessed."""
        parts, at, whole = [(self.place, 0)], 0, all(self._known)
        if not whole:
            parts = []
            while (at := self._known.find(1, at)) >= 0:
                part = self.place.part(at, 1)
                parts.append((part, part.address - self.place.address))
                at = max(at + 1, parts[-1][1] + part.size)
        for part, start in parts:
            kept = slice(start, start + part.size)
            undefined = bytes(self._undefined[kept])
            if not part.size or not all(self._known[kept]):
                continue
            value = Object(part.type, ObjectPlace(Bytes(bytes(self._data[kept]), undefined=undefined)))
            shown = UNSET if undefined.count(0xFF) == len(undefined) else text(value)
            if shown is not None:
                old = None if self.old is None else self.old.old
                was = "" if old is None else text(Object(part.type, ObjectPlace(Bytes(old))))
                yield part.name, f"{shown} (atomic, was {was})" if was else shown


class LineAccesses:
    """What a lane has loaded and stored in a line, with the variables that it has read."""

    def __init__(self) -> None:
        self._objects: dict[tuple[bool, str], dict[int, AccessedObject]] = {}
        """By whether they are loaded and their name, and then by their address."""
        self._used: dict[Die, str] = {}
        self._fixed: list[tuple[str, str]] = []

    def use(self, die: Die, name: str) -> None:
        """Take note of a variable that the lane has read."""
        self._used.setdefault(die, name)

    def know(self, values: Iterable[tuple[str, str]]) -> None:
        """Take note of values that are not in memory."""
        self._fixed += values

    def object_at(self, place: NamedPlace, *, is_load: bool, is_other: bool = False) -> AccessedObject | None:
        """Return the object at a place; None if another one has its name, unless both may have it."""
        first = self._objects.setdefault((is_load, place.name), {})
        if first and place.address not in first and not is_other:
            return None
        return first.setdefault(place.address, AccessedObject(place))

    def loaded(self, text: Callable[[Object], str | None]) -> tuple[tuple[str, str], ...]:
        """Return the objects that the lane has loaded, each with its value."""
        return (*self._fixed, *self._texts(text, is_load=True))

    def stored(self, text: Callable[[Object], str | None]) -> tuple[tuple[str, str], ...]:
        """Return the objects that the lane has stored, each with its value."""
        return self._texts(text, is_load=False)

    def used(self, texts: dict[Die, str]) -> tuple[tuple[str, str], ...]:
        """Return the variables that the lane has read, each with its value."""
        return tuple((name, texts[die]) for die, name in self._used.items() if texts.get(die))

    def _texts(self, text: Callable[[Object], str | None], *, is_load: bool) -> tuple[tuple[str, str], ...]:
        named = (found for (load, _name), found in self._objects.items() if load is is_load)
        pairs = [pair for found in named for each in found.values() for pair in each.texts(text)]
        return (*pairs[:MOST], *([("...", f"{len(pairs) - MOST} more")] if len(pairs) > MOST else []))


class AccessNames:
    """Names what lanes access, by the line of the source, or else by the argument that points to the memory."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._lines: dict[str, tuple[list[str], list[str], list[str]]] = {}
        """By the line, the objects that it loads, those that it stores to, and its plain names."""
        self._latest: dict[int, str] = {}
        """By the address of the instruction, the name that its latest access had."""

    @staticmethod
    def built_in(line: str) -> list[str]:
        """Return the positions of a work-item that a line names."""
        return list(dict.fromkeys(_BUILT_IN.findall(line.partition("//")[0])))

    def names(self, line: str, expand: Callable[[str], str], *, is_load: bool) -> list[str]:
        """Return the names in a line that an access may mean, the likeliest first."""
        if line not in self._lines:
            code = line.partition("//")[0]
            plain = [match[0] for match in FIRST.finditer(code) if not code[match.end() :].lstrip().startswith("(")]
            self._lines[line] = objects_read(line, expand), objects_stored(line, expand), list(dict.fromkeys(plain))
        loaded, stored, plain = self._lines[line]
        return list(dict.fromkeys((*loaded, *stored, *plain) if is_load else (*stored, *loaded, *plain)))

    def forget(self, line: str, name: str) -> None:
        """Look no more at a plain name of a line, which means no object."""
        plain = self._lines[line][2]
        if name in plain:
            plain.remove(name)

    def known(self, kind: str, address: int) -> NamedPlace | None:
        """Return the element of an argument's memory, or the variable in local memory, that an address is in."""
        if kind == GLOBAL:
            for buffer in self._running.launched.plan.buffers:
                size = None if buffer.pointed is None else known_size(buffer.pointed)
                offset = address - buffer.address
                if buffer.pointed is not None and size and 0 <= offset < buffer.size:
                    start = offset // size
                    return NamedPlace(f"{buffer.name}[{start}]", buffer.pointed, kind, buffer.address + start * size)
        for each in self._running.local_objects if kind == LOCAL else ():
            inside = each.offset_of(address)
            if inside is not None and each.address is not None:
                if not each.is_argument:
                    return NamedPlace(each.name, each.type, kind, each.address)
                start = inside // (size := known_size(each.type) or each.size)
                return NamedPlace(f"{each.name}[{start}]", each.type, kind, each.address + start * size)
        return None
