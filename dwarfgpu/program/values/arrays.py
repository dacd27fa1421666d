"""The elements of arrays: their number and places, computed for an object (DWARF 5, 5.5, 5.13, 5.18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.dwarf_constants import DW_TAG_member
from dwarfgpu.errors import EvaluationError, MalformedFile, shown
from dwarfgpu.immutable import frozen
from dwarfgpu.program.types.model import (
    Array,
    Bound,
    Dimension,
    Dynamic,
    Type,
    byte_size,
    element_bits,
    known_size,
    resolved,
)
from dwarfgpu.program.values.storage import ObjectPlace

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.values.objects import Object

MAX_READ = 1 << 16
"""How many bytes are read at once."""
MAX_RANK = 64
"""How many dimensions an array may have; Fortran allows 15."""
MAX_LENGTH = 1 << 60
"""More elements than any array has."""


@frozen
class Elements:
    """The elements of the outermost dimension."""

    owner: Object
    element: Type
    """What each is: of an array of several dimensions an array of one less."""
    place: ObjectPlace
    """Where the first one is."""
    length: int
    stride: int
    """Bits from one to the next."""
    lower: int = 0
    """The index of the first one."""
    is_vector: bool = False
    is_open: bool = False
    """Whether their number is open."""
    state: str | None = None
    """``not allocated`` or ``not associated``, where there are none for that reason."""

    def at(self, position: int) -> Object:
        """Return the element at a position, counted from 0. As in C, the position may lie past the end, or below 0."""
        if self.state is not None:
            raise EvaluationError("not_allocated", f"the array is {self.state}", spec="DWARF 5, 5.18.2")
        return self.owner.beside(self.element, self.place.moved(position * self.stride))


def elements(owner: Object, array: Array) -> Elements:
    """Return the elements of an array, with its computed properties evaluated for the object."""
    state = _state(owner, array)
    if state is not None:
        return Elements(owner, array.element, owner.place, 0, 0, is_vector=array.is_vector, state=state)
    place, dimensions = _as_it_is(owner, array)
    if not dimensions:
        return Elements(owner, array.element, place, 0, 0, is_open=True)
    first = dimensions[0]
    element = array.element
    if len(dimensions) > 1:
        element = Array(array.element_type, dimensions[1:], is_vector=array.is_vector, die=array.die)
    length = first.length
    return Elements(
        owner,
        element,
        place,
        length or 0,
        first.bit_stride if isinstance(first.bit_stride, int) else 0,
        first.lower if isinstance(first.lower, int) else 0,
        array.is_vector,
        length is None,
    )


def definite(owner: Object) -> Object:
    """Return an object whose array type has its computed bounds as numbers."""
    array = resolved(owner.type)
    if not isinstance(array, Array) or not array.is_dynamic:
        return owner
    state = _state(owner, array)
    if state is not None:
        raise EvaluationError("not_allocated", f"the array is {state}", spec="DWARF 5, 5.18.2")
    place, dimensions = _as_it_is(owner, array)
    kind = Array(array.element_type, dimensions, is_vector=array.is_vector, die=array.die)
    return owner.beside(kind, place)


def _as_it_is(owner: Object, array: Array) -> tuple[ObjectPlace, tuple[Dimension, ...]]:
    """Return the place of the elements, and the dimensions from the outermost one, as numbers with strides."""
    place = owner.place
    if array.data_location is not None:
        place = place.storage.place(array.data_location, owner.place)
    dimensions = [_fixed(dimension, owner) for dimension in _dimensions(owner, array)]
    if array.column_major:
        dimensions.reverse()
    strides = _strides(owner, array, dimensions)
    return place, tuple(
        evolve(dimension, bit_stride=stride) for dimension, stride in zip(dimensions, strides, strict=True)
    )


def _state(owner: Object, array: Array) -> str | None:
    return state_of(owner, array.associated, array.allocated)


def state_of(owner: Object, associated: Bound, allocated: Bound) -> str | None:
    """Return why an object has no data, if so (5.18.2, 5.18.3)."""
    if associated is not None and not number(associated, owner):
        return "not associated"
    if allocated is not None and not number(allocated, owner):
        return "not allocated"
    return None


def _dimensions(owner: Object, array: Array) -> list[tuple[Dimension, tuple[int, ...]]]:
    """Return each dimension with the initial stack of its expressions: for a generic one its number (5.13)."""
    if array.generic is None:
        return [(dimension, ()) for dimension in array.dimensions]
    rank = number(array.rank, owner) if array.rank is not None else 1
    if not 0 <= rank <= MAX_RANK:
        message = f"an array has {shown(rank)} dimensions; at most {MAX_RANK} are supported"
        raise MalformedFile("absurd_size", message, spec="DWARF 5, 5.5")
    return [(array.generic, (index,)) for index in range(rank)]


def _fixed(computed: tuple[Dimension, tuple[int, ...]], owner: Object) -> Dimension:
    dimension, stack = computed
    lower = number(dimension.lower, owner, *stack)
    length: int | None = None
    if dimension.count is not None:
        length = max(0, number(dimension.count, owner, *stack))
    elif dimension.upper is not None:
        length = max(0, number(dimension.upper, owner, *stack) - lower + 1)
    if length is not None and length > MAX_LENGTH:
        message = f"an array has {shown(length)} elements, which is too many"
        raise MalformedFile("absurd_size", message, spec="DWARF 5, 5.13")
    stride: int | None = None
    if dimension.byte_stride is not None:
        stride = 8 * number(dimension.byte_stride, owner, *stack)
    elif dimension.bit_stride is not None:
        stride = number(dimension.bit_stride, owner, *stack)
    return Dimension(lower, count=length, bit_stride=stride)


def _strides(owner: Object, array: Array, dimensions: list[Dimension]) -> list[int]:
    """Return the bits from one element to the next in each dimension: as stated, else the size of the inner ones."""
    if array.byte_stride is not None:
        inner: int | None = 8 * number(array.byte_stride, owner)
    elif isinstance(array.bit_stride, Dynamic):
        inner = number(array.bit_stride, owner)
    else:
        inner = element_bits(array)
    if inner is None:
        inner = 8 * byte_size(array.element)
    strides = []
    for dimension in reversed(dimensions):
        stride = dimension.bit_stride if isinstance(dimension.bit_stride, int) else inner
        strides.append(stride)
        inner = abs(stride) * (dimension.length or 0)
        if inner > 1 << 66:
            message = f"an array has {shown(inner)} bits, which is too many"
            raise MalformedFile("absurd_size", message, spec="DWARF 5, 5.13")
    return strides[::-1]


# --- Computed bounds and places -----------------------------------------------------------------------------------


def number(bound: Bound, owner: Object, *stack: int) -> int:
    """Return a number that is known, or that is computed from the object or from another entry."""
    if isinstance(bound, int):
        return bound
    if bound is None:
        return 0
    if bound.entry is not None:
        return int(_of_entry(bound.entry, owner).number())
    return owner.place.storage.number(bound, owner.place, *stack)


def place_of(dynamic: Dynamic, owner: Object) -> ObjectPlace:
    """Return the place that an expression or another entry names."""
    if dynamic.entry is not None:
        return _of_entry(dynamic.entry, owner).place
    return owner.place.storage.place(dynamic, owner.place)


def _of_entry(die: Die, owner: Object) -> Object:
    """Return the object of an entry: a member of the enclosing structure, or a variable."""
    from dwarfgpu.program.types.reader import Types

    if die.tag == DW_TAG_member:
        parent = die.parent()
        around = owner.container
        while around is not None:
            if around.inner.die == parent:
                from dwarfgpu.program.types.reader import member

                return around.field(member(Types(), die))
            around = around.container
        message = "a bound is a member of a structure that does not contain the array"
        raise die.unit.error(EvaluationError("no_object", message, spec="DWARF 5, 2.19"), die.offset)
    place = owner.place.storage.variable(die)
    if place is None:
        message = f"a bound is the value of {die.name or 'a variable'}, which has no location"
        raise die.unit.error(EvaluationError("no_location", message, spec="DWARF 5, 2.19"), die.offset)
    kind = Types().type_of(die)
    return owner.beside(kind, place.of_object(known_size(kind)))
