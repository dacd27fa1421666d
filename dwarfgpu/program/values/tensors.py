"""Tensors of Triton's kernels, whose elements lie in all lanes of all waves of a program.

`dwarfgpu/runtimes/triton/variables.py` says what is in memory. A tensor becomes one object, an array in the tensor's
shape. An element has no value where its wave has assigned the variable more or less often than the wave that asks, or
where two lanes that should hold it differ.

A variable of Gluon can be a buffer in shared memory, which is local memory to the processor, or a part of a buffer. In
memory it is the address of the buffer in its low half, and in its high half which element of the buffer is its first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain, product
from operator import xor
from typing import Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import EvaluationError, MalformedFile, Unsupported
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import byte_size
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Address, Bytes, ObjectPlace, Reading
from dwarfgpu.targets.amdgpu import LOCAL

_BASES = re.compile(r"(\w+) = (\[[\d\[\], ]*\])")
_MOST_ELEMENTS = 1 << 20
"""Triton has no larger tensors (`TRITON_MAX_TENSOR_NUMEL`)."""
_MOST_BITS = 26
"""Those of the numbers of a register, a lane and a warp together: there are up to 32 warps and 64 lanes."""
_UNKNOWN, _CONTRADICTORY = 0xFF, 0xFE
"""What is noted of the bytes of elements without a value."""
_SHAPE = re.compile(r"(?:tensor|memdesc)<((?:\d+x)+)")
_SHARED = "#ttg.shared_linear<"
_ENCODINGS = {"f": dw.DW_ATE_float, "i": dw.DW_ATE_signed}
ENDED = 0xFFFFFFFF
"""How often a variable is assigned whose buffer has ended: from there on its memory may be that of another one."""


@frozen
class Layout:
    """Which register of which lane holds which element: a linear map over GF(2), from bits to bits of the index."""

    shape: tuple[int, ...]
    registers: tuple[int, ...]
    """The index that a set bit of the register's number stands for, as one number in the order of the elements."""
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @classmethod
    def read(cls, text: str, shape: tuple[int, ...]) -> Layout:
        """Read a layout as Triton's compiler writes one: ``#ttg.linear<{register = [[0, 1]], ...}>``."""
        rows = _flat_bases(text, shape, ("register", "lane", "warp"))
        return cls(shape, rows.get("register", ()), rows.get("lane", ()), rows.get("warp", ()))

    def bases(self) -> dict[str, list[tuple[int, ...]]]:
        """Return the index that each bit of each kind of number stands for."""
        rows = {"warp": self.warps, "lane": self.lanes, "register": self.registers}
        return {noun: [*map(self.index, bases)] for noun, bases in rows.items()}

    def element(self, register: int, lane: int, warp: int) -> int:
        """Return which element is there, counted in the order of the elements."""
        parts = zip((self.registers, self.lanes, self.warps), (register, lane, warp), strict=True)
        return reduce(xor, (basis for bases, bits in parts for at, basis in enumerate(bases) if bits >> at & 1), 0)

    def elements(self) -> Iterator[tuple[tuple[int, int, int], int]]:
        """Yield the register, lane and warp of each element that is held, and which one it is."""
        counts = (1 << len(bases) for bases in (self.registers, self.lanes, self.warps))
        for register, lane, warp in product(*map(range, counts)):
            yield (register, lane, warp), self.element(register, lane, warp)

    def holders(self) -> dict[int, list[tuple[int, ...]]]:
        """Return the warps, lanes and registers that hold each element, the lowest first."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for (register, lane, warp), element in self.elements():
            found.setdefault(element, []).append((warp, lane, register))
        return {element: sorted(places) for element, places in found.items()}

    def index(self, element: int) -> tuple[int, ...]:
        """Return the index of an element, or of a basis, by its number in the order of the elements."""
        return index_in(self.shape, element)


@frozen
class SharedLayout:
    """Where the elements of a buffer in shared memory are: a linear map over GF(2), and gaps between them.

    A buffer of more dimensions than the map has several parts, one behind the other, each with the same map.
    """

    shape: tuple[int, ...]
    """Of the buffer, or of the part of it that a variable is."""
    within: tuple[int, ...]
    """The shape of the whole buffer."""
    offsets: tuple[int, ...]
    """The index that each bit of an offset stands for, as one number in the order of the elements of the buffer."""
    padding: tuple[tuple[int, int], ...]
    """After how many elements how many more follow that have no index."""
    first: int = 0
    """Which element of the buffer is the first of the part."""

    @classmethod
    def read(cls, text: str, shape: tuple[int, ...]) -> SharedLayout:
        """Read a layout: ``#ttg.shared_linear<{offset = [[0, 1]], padding = [[32, 4]], within = [16, 64]}>``."""
        try:
            rows = {name: json.loads(numbers) for name, numbers in _BASES.findall(text)}
            within, padding = tuple(rows["within"]), tuple((int(after), int(more)) for after, more in rows["padding"])
            rank = len(rows["offset"][0]) if rows["offset"] else 0
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedFile("bad_layout", "a buffer in shared memory has no layout") from error
        offsets = _flat_bases(text, within[len(within) - rank :], ("offset",))["offset"]
        inner = _product(within[len(within) - rank :])
        parts = tuple(1 << bit for bit in range(inner.bit_length() - 1, _product(within).bit_length() - 1))
        is_part = len(shape) == len(within) and all(map(int.__le__, shape, within))
        if not is_part or 1 << len(offsets) != inner or any(after < 1 or inner % after for after, _more in padding):
            raise MalformedFile("bad_layout", f"a layout is none of a buffer of shape {[*within]}")
        return cls(shape, within, offsets + parts, padding)

    def bases(self) -> dict[str, list[tuple[int, ...]]]:
        """Return the index in the buffer that each bit of an offset stands for."""
        return {"offset": [index_in(self.within, basis) for basis in self.offsets]}

    def holders(self) -> dict[int, list[tuple[int, ...]]]:
        """Return the offset of each element from the begin of the buffer, counted in elements.

        Raises an error if the part does not begin at a multiple of its shape: then the map is another.
        """
        elements = [0]
        for basis in self.offsets:
            elements += [element ^ basis for element in elements]
        offset_of = {element: offset for offset, element in enumerate(elements)}
        if len(offset_of) != len(elements):
            raise MalformedFile("bad_layout", "two places in shared memory have the same index")
        start = index_in(self.within, self.first)
        if any(at % extent for at, extent in zip(start, self.shape, strict=True)):
            raise Unsupported("unaligned_slice", f"the part begins at {[*start]}, no multiple of its shape")
        strides = [_product(self.within[axis + 1 :]) for axis in range(len(self.within))]
        parts = (sum(map(int.__mul__, index, strides)) for index in product(*map(range, self.shape)))
        return {number: [(self.padded(offset_of[self.first + at]),)] for number, at in enumerate(parts)}

    def index(self, element: int) -> tuple[int, ...]:
        """Return the index of an element by its number in the order of the elements."""
        return index_in(self.shape, element)

    def padded(self, offset: int) -> int:
        return offset + sum(offset // after * more for after, more in self.padding)

    @property
    def length(self) -> int:
        """How many elements the buffer has room for, with the gaps between them."""
        return self.padded(_product(self.within) - 1) + 1


@frozen
class SharedTensor:
    """A buffer of a kernel in shared memory, as Triton lays it out."""

    name: str
    address: int
    kind: str
    """The type of an element, as Triton's compiler names it: ``f32``."""
    is_alone: bool
    """Whether nothing else ever has its memory."""
    layout: SharedLayout

    @property
    def element(self) -> t.Base | None:
        """The type of an element; None if only its size is known."""
        encoding = _ENCODINGS.get(self.kind[:1]) if self.kind[1:].isdecimal() else None
        return None if encoding is None else t.Base(self.kind, encoding, self.size)

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return max(8, int(re.findall(r"\d+", self.kind)[0])) // 8

    def part_at(self, address: int) -> str | None:
        """Return the element at an address, as ``c[3, 5]``; None if it is elsewhere."""
        offset = (address - self.address) // self.size
        if not 0 <= offset < self.layout.length:
            return None
        element = next((each for each, ((at,),) in self.layout.holders().items() if at == offset), None)
        return self.name if element is None else f"{self.name}{[*self.layout.index(element)]}"


def _flat_bases(text: str, shape: tuple[int, ...], names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the bases of a linear map, each as one number in the order of the elements."""
    strides = [_product(shape[axis + 1 :]) for axis in range(len(shape))]
    if _product(shape) > _MOST_ELEMENTS or any(extent.bit_count() != 1 for extent in shape):
        raise MalformedFile("bad_layout", f"Triton has no tensors of shape {[*shape]}")

    def flat(basis: Sequence[int]) -> int:
        return sum(at * stride for at, stride in zip(basis, strides, strict=True))

    try:
        rows = {name: tuple(map(flat, json.loads(bases))) for name, bases in _BASES.findall(text) if name in names}
    except (TypeError, ValueError) as error:
        raise MalformedFile("bad_layout", f"a tensor has no layout of {len(shape)} dimensions") from error
    if max(chain([0], *rows.values())) >= _product(shape) or sum(map(len, rows.values())) > _MOST_BITS:
        raise MalformedFile("bad_layout", f"a layout is none of a tensor of shape {[*shape]}")
    return rows


def index_in(shape: Sequence[int], element: int) -> tuple[int, ...]:
    """Return the index of an element of an array by its number in the order of the elements."""
    found = []
    for extent in reversed(shape):
        element, at = divmod(element, extent)
        found.append(at)
    return (*reversed(found),)


def _product(counts: Sequence[int]) -> int:
    """Return the product of some counts."""
    return reduce(int.__mul__, counts, 1)


@frozen
class Kind:
    """One of the types that a variable can have."""

    type: t.Type
    """Of the whole: an array, or the type of a number."""
    element: t.Type
    layout: Layout | SharedLayout


def kinds_of(structure: t.Type) -> tuple[Kind, ...]:
    """Return all types that a variable can have; none if it is not one of a Triton kernel."""
    if not isinstance(structure, t.Struct) or structure.name != "triton.variable":
        return ()
    (part,) = structure.body.variant_parts
    return tuple(_kind_of(variant.members[0]) for variant in part.variants)


def state_of(memory: Object) -> tuple[int, int]:
    """Return how often a wave has assigned the variable, 0 where it has no value, and which of its types it has."""
    numbers = [_same(memory.member(name).number()) for name in ("assigned", "kind")]
    return numbers[0] or 0, numbers[1] or 0


def shared_tensor(
    kind: Kind, layout: SharedLayout, state: tuple[int, int], memory: Object, place_at: Callable[[Address], ObjectPlace]
) -> Object:
    """Return the elements that a buffer in shared memory has now, in its shape; a wave tells where the buffer is."""
    told = _same(_member(memory, state[1]).read().bits)
    if told is None:
        raise EvaluationError("different_buffers", "the lanes of the wave have different buffers")
    layout = evolve(layout, first=told >> 32)
    size, places = byte_size(kind.element), [at for ((at,),) in layout.holders().values()]
    whole = size * (max(places) + 1)
    reading = place_at(Address(LOCAL, told & 0xFFFFFFFF)).read(8 * whole)
    parts = [int(bits).to_bytes(whole, "little") for bits in (reading.bits, reading.undefined)]
    data, undefined = (b"".join(part[size * at : size * (at + 1)] for at in places) for part in parts)
    return Object(kind.type, ObjectPlace(SharedBytes(data, undefined, layout)))


class GatheredTensor:
    """A tensor whose elements become known wave by wave."""

    def __init__(self, kind: Kind, layout: Layout, state: tuple[int, int]) -> None:
        self._kind, self._layout, self._state = kind, layout, state
        self._size = byte_size(self._kind.element)
        count = self._size * _product(layout.shape)
        self._data, self._undefined = bytearray(count), bytearray(b"\xff" * count)

    def add(self, warp: int, memory: Object) -> None:
        """Add the elements that a wave has, if it has assigned the variable as often."""
        if state_of(memory) != self._state:
            return
        layout = self._layout
        registers = _elements(memory, self._state[1], 1 << len(layout.registers))
        for (register, lane, number), index in layout.elements():
            if number == warp & (1 << len(layout.warps)) - 1:
                bits = registers[register]
                value = bits if isinstance(bits, int) else int(bits[lane])
                self._put(index, value.to_bytes(self._size, "little"))

    def _put(self, index: int, content: bytes) -> None:
        """Give an element a value; two that differ leave it without one, for good."""
        at = slice(index * self._size, (index + 1) * self._size)
        if self._undefined[at.start] == _UNKNOWN:
            self._data[at], self._undefined[at] = content, bytes(self._size)
        elif self._data[at] != content:
            self._undefined[at] = bytes([_CONTRADICTORY]) * self._size

    def object(self) -> Object:
        """Return it as an array in its shape."""
        undefined = self._undefined.replace(bytes([_CONTRADICTORY]), bytes([_UNKNOWN]))
        storage = TensorBytes(bytes(self._data), bytes(undefined), self._layout)
        return Object(self._kind.type, ObjectPlace(storage))


def _kind_of(member: t.Member) -> Kind:
    """Return what the elements in memory are parts of."""
    named, layout = member.type, member.name or ""
    inner = t.resolved(named)
    assert isinstance(named, t.Typedef)  # noqa: S101 (the names of the structure are ours)
    assert isinstance(inner, (t.Array, t.Pointer))  # noqa: S101 (the same)
    lazy = inner.to if isinstance(inner, t.Pointer) else inner.element_type
    element, shape = lazy.get(), _SHAPE.match(named.name)
    if shape is None:
        return Kind(element, element, Layout((), (), (), ()))
    extents = tuple(int(extent) for extent in shape[1].split("x")[:-1])
    whole = t.Array(lazy, tuple(t.Dimension(0, count=extent) for extent in extents), name=named.name)
    read = SharedLayout.read if layout.startswith(_SHARED) else Layout.read
    return Kind(whole, element, read(layout, extents))


class TensorBytes(Bytes):
    """The bytes of a tensor, which of them have no value, and where its elements are."""

    __slots__ = ("data", "layout", "undefined")
    is_bounded = True
    without_location = "the value is gathered from all waves of the program, so it has no location to assign to"

    def __init__(self, data: bytes, undefined: bytes, layout: Layout | SharedLayout) -> None:
        super().__init__(data, "little", undefined)
        self.data, self.undefined, self.layout = data, undefined, layout

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        """Read bits. The size of a column counts the rest of its last row, which has no value behind the end."""
        left = 8 * len(self.data) - bit_offset
        inside = min(bit_size, left) if left > 0 else bit_size
        found = super().read(bit_offset, inside)
        return Reading(found.bits, found.undefined | (1 << bit_size) - (1 << inside))


class SharedBytes(TensorBytes):
    """The bytes of a buffer in shared memory, in the order of its elements."""

    __slots__ = ()
    without_location = "the elements are a copy of shared memory, so they have no location to assign to"


def layout_of(tensor: Object) -> tuple[Layout | SharedLayout, list[int]] | None:
    """Return where the elements of a tensor are, and which of them a part of it has; None for other values."""
    storage = tensor.place.storage
    if not isinstance(storage, TensorBytes) or not storage.layout.shape:
        return None
    return storage.layout, [*_numbers(tensor)]


def _numbers(part: Object) -> Iterator[int]:
    """Yield the elements of a part of a tensor, each by its number in the order of all elements."""
    inner = part.inner
    if not isinstance(inner, t.Array):
        yield part.place.bit_offset // (8 * byte_size(inner))
        return
    elements = part.array()
    for position in range(elements.length):
        yield from _numbers(elements.at(position))


def _same(values: Any) -> int | None:
    """Return the number that all lanes have; None where they differ."""
    if isinstance(values, int):
        return values
    first = int(values[0])
    return first if (values == first).all() else None


def _elements(memory: Object, kind: int, count: int) -> list[Any]:
    """Return the bits that each register of each lane holds."""
    elements = _member(memory, kind).array()
    return [elements.at(register).read().bits for register in range(count)]


def _member(memory: Object, kind: int) -> Object:
    """Return what a wave has of a variable that has one of its types."""
    part: Any = memory.inner
    return memory.field(part.body.variant_parts[0].variants[kind].members[0])
