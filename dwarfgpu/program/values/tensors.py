"""Tensors of Triton's kernels, whose elements lie in all lanes of all waves of a program.

`dwarfgpu/runtimes/triton/variables.py` says what is in memory. A tensor becomes one object, an array in the tensor's
shape. An element has no value where its wave has assigned the variable more or less often than the wave that asks, or
where two lanes that should hold it differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain, product
from operator import xor
from typing import Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.immutable import frozen
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import byte_size
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Bytes, ObjectPlace, Reading

_BASES = re.compile(r"(register|lane|warp) = (\[[\d\[\], ]*\])")
_MOST_ELEMENTS = 1 << 20
"""Triton has no larger tensors (`TRITON_MAX_TENSOR_NUMEL`)."""
_MOST_BITS = 26
"""Those of the numbers of a register, a lane and a warp together: there are up to 32 warps and 64 lanes."""
_UNKNOWN, _CONTRADICTORY = 0xFF, 0xFE
"""What is noted of the bytes of elements without a value."""
_SHAPE = re.compile(r"tensor<((?:\d+x)+)")


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
        strides = [_product(shape[axis + 1 :]) for axis in range(len(shape))]
        if _product(shape) > _MOST_ELEMENTS or any(extent.bit_count() != 1 for extent in shape):
            raise MalformedFile("bad_layout", f"Triton has no tensors of shape {[*shape]}")

        def flat(basis: Sequence[int]) -> int:
            return sum(at * stride for at, stride in zip(basis, strides, strict=True))

        try:
            rows = {name: tuple(map(flat, json.loads(bases))) for name, bases in _BASES.findall(text)}
        except (TypeError, ValueError) as error:
            raise MalformedFile("bad_layout", f"a tensor has no layout of {len(shape)} dimensions") from error
        if max(chain([0], *rows.values())) >= _product(shape) or sum(map(len, rows.values())) > _MOST_BITS:
            raise MalformedFile("bad_layout", f"a layout is none of a tensor of shape {[*shape]}")
        return cls(shape, rows.get("register", ()), rows.get("lane", ()), rows.get("warp", ()))

    def bases(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return what the bits of each kind of number stand for."""
        return ("warp", self.warps), ("lane", self.lanes), ("register", self.registers)

    def element(self, register: int, lane: int, warp: int) -> int:
        """Return which element is there, counted in the order of the elements."""
        parts = zip((self.registers, self.lanes, self.warps), (register, lane, warp), strict=True)
        return reduce(xor, (basis for bases, bits in parts for at, basis in enumerate(bases) if bits >> at & 1), 0)

    def elements(self) -> Iterator[tuple[tuple[int, int, int], int]]:
        """Yield the register, lane and warp of each element that is held, and which one it is."""
        counts = (1 << len(bases) for bases in (self.registers, self.lanes, self.warps))
        for register, lane, warp in product(*map(range, counts)):
            yield (register, lane, warp), self.element(register, lane, warp)

    def holders(self) -> dict[int, list[tuple[int, int, int]]]:
        """Return the warps, lanes and registers that hold each element, the lowest first."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        for (register, lane, warp), element in self.elements():
            found.setdefault(element, []).append((warp, lane, register))
        return {element: sorted(places) for element, places in found.items()}

    def index(self, element: int) -> tuple[int, ...]:
        """Return the index of an element, or of a basis, by its number in the order of the elements."""
        found = []
        for extent in reversed(self.shape):
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
    layout: Layout


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


class GatheredTensor:
    """A tensor whose elements become known wave by wave."""

    def __init__(self, kinds: Sequence[Kind], state: tuple[int, int]) -> None:
        self._kind, self._state = kinds[state[1]], state
        self._size = byte_size(self._kind.element)
        count = self._size * _product(self._kind.layout.shape)
        self._data, self._undefined = bytearray(count), bytearray(b"\xff" * count)

    def add(self, warp: int, memory: Object) -> None:
        """Add the elements that a wave has, if it has assigned the variable as often."""
        if state_of(memory) != self._state:
            return
        layout = self._kind.layout
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
        storage = TensorBytes(bytes(self._data), bytes(undefined), self._kind.layout)
        return Object(self._kind.type, ObjectPlace(storage))


def _kind_of(member: t.Member) -> Kind:
    """Return what the elements in memory are parts of."""
    named = member.type
    array = t.resolved(named)
    assert isinstance(named, t.Typedef)  # noqa: S101 (the names of the structure are ours)
    assert isinstance(array, t.Array)  # noqa: S101 (the same)
    shape = _SHAPE.match(named.name)
    if shape is None:
        return Kind(array.element, array.element, Layout((), (), (), ()))
    extents = tuple(int(extent) for extent in shape[1].split("x")[:-1])
    whole = t.Array(array.element_type, tuple(t.Dimension(0, count=extent) for extent in extents), name=named.name)
    return Kind(whole, array.element, Layout.read(member.name or "", extents))


class TensorBytes(Bytes):
    """The bytes of a tensor, which of them have no value, and where its elements are."""

    __slots__ = ("data", "layout", "undefined")
    is_bounded = True
    without_location = "the value is gathered from all waves of the program, so it has no location to assign to"

    def __init__(self, data: bytes, undefined: bytes, layout: Layout) -> None:
        super().__init__(data, "little", undefined)
        self.data, self.undefined, self.layout = data, undefined, layout

    def read(self, bit_offset: int, bit_size: int) -> Reading:
        """Read bits. The size of a column counts the rest of its last row, which has no value behind the end."""
        left = 8 * len(self.data) - bit_offset
        inside = min(bit_size, left) if left > 0 else bit_size
        found = super().read(bit_offset, inside)
        return Reading(found.bits, found.undefined | (1 << bit_size) - (1 << inside))


def layout_of(tensor: Object) -> tuple[Layout, list[int]] | None:
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
    part: Any = memory.inner
    member = part.body.variant_parts[0].variants[kind].members[0]
    elements = memory.field(member).array()
    return [elements.at(register).read().bits for register in range(count)]
