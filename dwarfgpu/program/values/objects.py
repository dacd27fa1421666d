"""Objects: a type and the place of a value, and the ways from one object to the next.

Reading is lazy: the members of a structure are objects themselves, and so is the target of a pointer. What cannot be
read is an error of that object alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from typing import Any

from dwarfgpu.dwarf_constants import DW_TAG_member
from dwarfgpu.errors import DwarfGpuError, EvaluationError, Handle, MalformedFile, UsageError, shown
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Part
from dwarfgpu.immutable import evolve, frozen, immutable
from dwarfgpu.lanes import Diverge, LaneFault
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.program import ShownInNotebooks
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import byte_size, hidden, is_new, known_size, resolved, stripped
from dwarfgpu.program.types.reader import Types
from dwarfgpu.program.values.scalars import Scalar, complex_parts, scalar_of
from dwarfgpu.program.values.storage import Address, Bytes, Located, ObjectPlace, Reading

MOST_SHOWN = 16
"""The members of a structure in its short text."""
MAX_NESTING = 32
"""How deep a name is searched in bases and unnamed members. A broken file may have a class that is its own base."""


@immutable
class Object(ShownInNotebooks, Handle):
    """A value of a type, at a place."""

    type: t.Type
    described: ObjectPlace
    """The place that the description says. The data of a type with a hidden indirection are elsewhere: `place`."""
    bit_size: int | None = None
    """Of a bit-field."""
    container: Object | None = None
    """The object that it is a member of, on which its bounds may depend."""

    def __repr__(self) -> str:
        address = self.address
        where = "" if address is None or not isinstance(address.value, int) else f" at {address.value:#x}"
        return f"<Object {safe_text(self.type)}{where}{self._numbers_text()}>"

    def _numbers_text(self) -> str:
        """Return the numbers in a structure, ``: low = 0.5, count = 3``, as far as one lane has them."""
        if not isinstance(self.inner, t.Struct):
            return ""
        texts = []
        for member in islice(self.members(), MOST_SHOWN):
            with suppress(DwarfGpuError, Diverge, LaneFault):
                value = self.field(member)
                number = None if value.scalar is None else value.number()
                if isinstance(number, (int, float)):
                    is_address = isinstance(value.inner, t.Pointer)
                    texts.append(f"{member.name} = {number:#x}" if is_address else f"{member.name} = {number}")
        return f": {', '.join(texts)}" if texts else ""

    @property
    def place(self) -> ObjectPlace:
        """The place of the data; raise an error where the object has none (DWARF 5, 5.18)."""
        return self.described if hidden(self.type) is None else self._data

    @cached_property
    def _data(self) -> ObjectPlace:
        """The place of the data of a type with a hidden indirection: its object is that of the context (5.18.1)."""
        kind = hidden(self.type)
        if kind is None:
            return self.described
        owner = Object(resolved(self.type), self.described, self.bit_size, self.container)
        state = state_of(owner, kind.associated, kind.allocated)
        if state is not None:
            raise EvaluationError("no_data", state, spec="DWARF 5, 5.18.2")
        if kind.data_location is None:
            return self.described
        place = self.described.storage.place(kind.data_location, self.described)
        return place.of_object(known_size(self.type))

    @property
    def inner(self) -> t.Type:
        """The type without names and qualifiers."""
        return stripped(self.type)

    @property
    def address(self) -> Address | None:
        """The address; None for a register or a bit-field, which have none."""
        if self.bit_size is not None:
            return None
        try:
            return self.place.address
        except EvaluationError as error:
            if error.kind != "no_data":
                raise
            return None

    def beside(self, type: t.Type, place: ObjectPlace) -> Object:
        """Return an object of another type at another place, as a member of the same object."""
        return Object(type, place, container=self.container)

    def as_it_is(self) -> Object:
        """Return the object with what its memory has, even where nothing has set it yet."""
        storage = self.described.storage
        if not isinstance(storage, Located) or storage.around.unset is None:
            return self
        around = evolve(storage.around, unset=None)
        place = ObjectPlace(Located(around, storage.location), self.described.bit_offset)
        return Object(self.type, place, self.bit_size, self.container)

    def bits(self) -> int:
        """Return how many bits the object has."""
        return byte_size(self.type) * 8 if self.bit_size is None else self.bit_size

    # --- Scalars --------------------------------------------------------------------------------------------------

    @cached_property
    def scalar(self) -> Scalar | None:
        """The way the bits are read; None where the value has parts."""
        return scalar_of(self.type, self.place.storage.byte_order, self.bit_size)

    def read(self) -> Reading:
        """Read all bits as they are stored."""
        return self.place.read(self.bits())

    def pattern(self) -> Reading:
        """Read the bits of a scalar's value, without those beside them in the storage."""
        scalar = self._scalar()
        reading = self.place.read(scalar.storage_bits)
        order = self.place.storage.byte_order
        undefined = reading.undefined
        if not (type(undefined) is int and not undefined):
            undefined = scalar.pattern(undefined, order)
        return Reading(scalar.pattern(reading.bits, order), undefined)

    def number(self) -> Any:
        """Read the number of a scalar: an int or a float, or an array with one element a slot."""
        reading = self.pattern()
        if type(reading.undefined) is not int or reading.undefined:
            raise optimized_out()
        return self._scalar().number(reading.bits)

    def _scalar(self) -> Scalar:
        scalar = self.scalar
        if scalar is None:
            raise UsageError(f"a value of the type {safe_text(self.type)} is not a number", kind="not_a_scalar")
        return scalar

    # --- Structures -----------------------------------------------------------------------------------------------

    def base(self, base: t.BaseClass) -> Object:
        """Return the part of the object that is a base class."""
        return Object(base.type, self._part(base), container=self)

    def field(self, member: t.Member) -> Object:
        """Return a member of the object."""
        return Object(member.type, self._part(member), member.bit_size, self)

    def _part(self, part: t.Member | t.BaseClass) -> ObjectPlace:
        if part.location is not None:
            return self.place.storage.place(part.location, self.place)
        return self.place.moved(part.bit_offset or 0)

    def static(self, member: t.StaticMember) -> Object | None:
        """Return the object of a static member; None if it has no location."""
        place = self.place.storage.variable(member.die)
        return None if place is None else Object(member.type, place.of_object(known_size(member.type)))

    def variant_members(self, part: t.VariantPart) -> tuple[t.Member, ...]:
        """Return the members of the variant that the discriminant chooses (DWARF 5, 5.7.10)."""
        if part.discriminant is None:
            return part.variants[0].members if len(part.variants) == 1 else ()
        value = self.field(part.discriminant).number()
        default: tuple[t.Member, ...] = ()
        for variant in part.variants:
            if variant.values is None:
                default = variant.members
            elif any(low <= value <= high for low, high in variant.values):
                return variant.members
        return default

    def members(self) -> Iterator[t.Member]:
        """Yield the members that the object has: those of the structure, and of the variants chosen in it."""
        inner = self.inner
        if not isinstance(inner, t.Struct):
            raise UsageError(f"the type {safe_text(self.type)} has no members", kind="no_member")
        body = inner.body
        yield from body.members
        for part in body.variant_parts:
            yield from self.variant_members(part)

    def member(self, name: str) -> Object:
        """Return the member with a name, also one in a base or in a member without a name."""
        member = self.found(name)
        if member is None:
            raise UsageError(f"there is no member named {name}", kind="no_member", hint=_members_hint(self))
        return member

    def found(self, name: str, depth: int = 0, seen: set[object] | None = None) -> Object | None:
        """Find the member with a name, also in bases and unnamed members; return None if there is none."""
        inner, seen = self.inner, set[object]() if seen is None else seen
        if isinstance(inner, t.Array) and inner.is_vector:
            return _components(self.array(), name)
        if depth > MAX_NESTING or not isinstance(inner, t.Struct) or not is_new(inner, seen):
            return None
        for member in self.members():
            if member.name == name:
                return self.field(member)
        for static in inner.body.statics:
            if static.name == name:
                shared = self.static(static)
                if shared is None:
                    raise optimized_out()
                return shared
        unnamed = (self.field(member) for member in self.members() if member.name is None)
        owners = chain(unnamed, map(self.base, inner.body.bases))
        return next(filter(None, (owner.found(name, depth + 1, seen) for owner in owners)), None)

    # --- Arrays and complex numbers -------------------------------------------------------------------------------

    def array(self) -> Elements:
        """Return the elements of an array, a vector, or a complex number."""
        inner = resolved(self.type)
        if isinstance(inner, t.Array):
            return elements(self, inner)
        if isinstance(inner, t.Base) and inner.vector_size is not None:
            return Elements(self, inner.element, self.place, inner.vector_size, byte_size(inner.element) * 8)
        raise UsageError(f"the type {safe_text(self.type)} has no elements", kind="no_elements")

    def element(self, index: int) -> Object:
        """Return the element with an index as the program counts; a pointer counts in objects from its target."""
        inner = resolved(self.type)
        if isinstance(inner, t.Pointer):
            target = self.dereferenced()
            return Object(target.type, target.described.moved(byte_size(target.type) * 8 * index))
        elements = self.array()
        return elements.at(index - elements.lower)

    def parts(self) -> tuple[Reading, Reading, Scalar] | None:
        """Read the real and the imaginary part of a complex number; return None for other types."""
        inner = resolved(self.type)
        order = self.place.storage.byte_order
        scalar = complex_parts(inner, order) if isinstance(inner, t.Base) else None
        if scalar is None:
            return None
        size = scalar.storage_bits
        readings = [self.place.moved(shift).read(size) for shift in (0, size)]
        real, imaginary = (Reading(scalar.pattern(reading.bits, order), reading.undefined) for reading in readings)
        return real, imaginary, scalar

    # --- Pointers -------------------------------------------------------------------------------------------------

    def pointer(self) -> Address:
        """Read the address that a pointer or reference holds."""
        inner = resolved(self.type)
        if not isinstance(inner, t.Pointer):
            raise UsageError(f"the type {safe_text(self.type)} is not a pointer", kind="not_a_pointer")
        reading = self.pattern()
        if type(reading.undefined) is not int or reading.undefined:
            raise optimized_out()
        return Address(inner.address_space, reading.bits)

    def dereferenced(self) -> Object:
        """Return the target of a pointer or reference."""
        implied = self.implied()
        if implied is not None:
            return implied
        address = self.pointer()
        inner = resolved(self.type)
        assert isinstance(inner, t.Pointer)  # noqa: S101 (`pointer` has checked it)
        return Object(inner.target, self.place.storage.at(address))

    def implied(self) -> Object | None:
        """Return the target of an implicit pointer (A.2.5.4.4.5 (3)); None for other pointers."""
        inner = resolved(self.type)
        if not isinstance(inner, t.Pointer):
            return None
        place = self.place.storage.implied(self.place.bit_offset, self.bits())
        return None if place is None else Object(inner.target, place.of_object(known_size(inner.target)))

    def target(self) -> Object:
        """Return the target of a reference; of any other object, the object itself."""
        inner = self.inner
        return self.dereferenced() if isinstance(inner, t.Pointer) and inner.is_reference else self

    def through(self, pointer: Object) -> Object:
        """Return the member of this object that a pointer to a member selects (A.5.14)."""
        inner = resolved(pointer.type)
        if not isinstance(inner, t.MemberPointer):
            raise UsageError(f"the type {safe_text(pointer.type)} is not a pointer to a member", kind="not_a_pointer")
        value = pointer.number()
        if inner.use_location is not None:
            pattern = pointer.pattern().bits
            return Object(inner.target, self.place.storage.place(inner.use_location, self.place, pattern))
        if isinstance(resolved(inner.target), t.Function):
            raise UsageError("a pointer to a member function has no object to read", kind="not_an_object")
        if value == -1:
            raise EvaluationError("null_pointer", "the pointer to a member is null")
        return Object(inner.target, self.place.moved(8 * value))

    # --- Strings --------------------------------------------------------------------------------------------------

    def string(self) -> tuple[ObjectPlace, int]:
        """Return the place of the characters of a string type, and their number (DWARF 5, 5.11)."""
        inner = resolved(self.type)
        if not isinstance(inner, t.String):
            raise UsageError(f"the type {safe_text(self.type)} is not a string", kind="not_a_string")
        storage = self.place.storage
        place = self.place if inner.data_location is None else storage.place(inner.data_location, self.place)
        if inner.length is None:
            size = inner.byte_size
            length = number(size, self) if isinstance(size, t.Dynamic) else size
        else:
            size = inner.length_size or (inner.byte_size if isinstance(inner.byte_size, int) else 8)
            where = place_of(inner.length, self)
            reading = where.read(8 * max(0, min(size, 8)))
            if reading.undefined:
                raise optimized_out()
            length = int(reading.bits)
        length = length or 0
        if not 0 <= length <= MAX_LENGTH:
            message = f"a string has {shown(length)} characters, which is not possible"
            raise EvaluationError("absurd_size", message, spec="DWARF 5, 5.11")
        return place, length

    # --- Definedness ----------------------------------------------------------------------------------------------

    def is_undefined(self) -> bool:
        """Return whether no bit of the object has a value: "optimized out"."""
        size = known_size(self.type)
        if self.bit_size is None and (size is None or not 0 < size <= MAX_READ):
            return False
        bits = self.bits()
        undefined = self.place.read(bits).undefined
        return type(undefined) is int and undefined == (1 << bits) - 1


def constant(type: t.Type, data: bytes, byte_order: Any = "little") -> Object:
    """Return an object without a location: a constant, or the result of a computation."""
    return Object(type, ObjectPlace(Bytes(data, byte_order)))


def optimized_out() -> DwarfGpuError:
    """Return the error of a value that is read as a number and of which bits are missing."""
    return EvaluationError("undefined_read", "the value is optimized out", spec="A.2.5.4.2.2")


def _members_hint(owner: Object) -> str | None:
    inner = owner.inner
    if not isinstance(inner, t.Struct):
        return None
    names = [member.name for member in inner.body.members if member.name is not None]
    return f"it has {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" if names else None


# --- Elements of arrays, computed for an object (DWARF 5, 5.5, 5.13, 5.18) --------------------------------------------


HIP_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[234]|__half2|HIP_vector_type<.*>")
"""The names of structures that are vectors in HIP, whose members overlap an array of them."""
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
    element: t.Type
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
        if self.place.storage.is_bounded and not 0 <= position < self.length:
            message = f"there is no element {position + self.lower}: there are {self.length}"
            raise UsageError(message, kind="bad_index")  # beyond a row is the next one
        return self.owner.beside(self.element, self.place.moved(position * self.stride))


def _positions(name: str, count: int) -> list[int]:
    """Return which components of a vector a name selects (OpenCL C 3.0, 6.3.7); none if it is no such name."""
    even = range(0, count + count % 2, 2)  # three components count as four, and the fourth has no value
    half, odd = len(even), [each + 1 for each in even]
    if name in ("lo", "hi", "even", "odd"):
        return [*{"lo": range(half), "hi": range(half, 2 * half), "even": even, "odd": odd}[name]]
    if name[:1] in ("s", "S"):
        name, letters = name[1:].lower(), "0123456789abcdef"
    else:
        letters = "rgba" if name[:1] in ("r", "g", "b", "a") else "xyzw"
    found = [letters.find(each) for each in name]
    return found if all(0 <= each < count for each in found) else []


def _components(vector: Elements, name: str) -> Object | None:
    """Return the component of a vector with a name, or a vector of several; None if the name selects none."""
    found = _positions(name, vector.length)
    if len(found) < 2:
        return vector.at(found[0]) if found else None
    kind = t.Array(t.Lazy.known(vector.element), (t.Dimension(0, count=len(found)),), is_vector=True)
    storage, size, parts = vector.place.storage, 8 * byte_size(vector.element), []
    if not isinstance(storage, Located):
        raise UsageError("the value is in no location, so its components are there only one by one")
    for position in found:
        start = vector.place.bit_offset + position * vector.stride
        parts.append(Part(storage.moved(start) if position < vector.length else locations.UNDEFINED, size))
    location = locations.at(locations.extended(locations.EMPTY, tuple(parts)))
    return vector.owner.beside(kind, ObjectPlace(Located(storage.around, location)))


def elements(owner: Object, array: t.Array) -> Elements:
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
        element = t.Array(array.element_type, dimensions[1:], is_vector=array.is_vector, die=array.die)
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


def section(owner: Object, parts: Sequence[int | tuple[int | None, int | None]]) -> Object:
    """Return a part of an array: an index or a range, its end excluded, for each of the first dimensions."""
    array = resolved(owner.type)
    if not isinstance(array, t.Array):
        hint = "`x[FIRST]@COUNT` shows several elements"
        raise UsageError(f"the type {safe_text(owner.type)} has no sections", kind="no_elements", hint=hint)
    place, dimensions = _as_it_is(owner, array)
    if len(parts) > len(dimensions):
        raise UsageError(f"{len(parts)} indexes are given, and the array has {len(dimensions)}", kind="bad_index")
    left: list[t.Dimension] = []
    for part, dimension in zip(parts, dimensions, strict=False):
        lower, length = int(dimension.lower or 0), dimension.length or 0  # type: ignore[arg-type]
        first, end = (part, part + 1) if isinstance(part, int) else part
        first, end = lower if first is None else first, lower + length if end is None else end
        if not lower <= first <= end <= lower + length or (isinstance(part, int) and first == lower + length):
            text = f"element {first}" if isinstance(part, int) else f"range {first}:{end}"
            raise UsageError(f"there is no {text}: the indexes are {lower} to {lower + length - 1}", kind="bad_index")
        place = place.moved((first - lower) * int(dimension.bit_stride or 0))  # type: ignore[arg-type]
        if not isinstance(part, int):
            left.append(t.Dimension(0, count=end - first, bit_stride=dimension.bit_stride))
    left += dimensions[len(parts) :]
    return owner.beside(t.Array(array.element_type, tuple(left)) if left else array.element, place)


def definite(owner: Object) -> Object:
    """Return an object whose array type has its computed bounds as numbers."""
    array = resolved(owner.type)
    if not isinstance(array, t.Array) or not array.is_dynamic:
        return owner
    state = _state(owner, array)
    if state is not None:
        raise EvaluationError("not_allocated", f"the array is {state}", spec="DWARF 5, 5.18.2")
    place, dimensions = _as_it_is(owner, array)
    kind = t.Array(array.element_type, dimensions, is_vector=array.is_vector, die=array.die)
    return owner.beside(kind, place)


def _as_it_is(owner: Object, array: t.Array) -> tuple[ObjectPlace, tuple[t.Dimension, ...]]:
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


def _state(owner: Object, array: t.Array) -> str | None:
    return state_of(owner, array.associated, array.allocated)


def state_of(owner: Object, associated: t.Bound, allocated: t.Bound) -> str | None:
    """Return why an object has no data, if so (5.18.2, 5.18.3)."""
    if associated is not None and not number(associated, owner):
        return "not associated"
    if allocated is not None and not number(allocated, owner):
        return "not allocated"
    return None


def _dimensions(owner: Object, array: t.Array) -> list[tuple[t.Dimension, tuple[int, ...]]]:
    """Return each dimension with the initial stack of its expressions: for a generic one its number (5.13)."""
    if array.generic is None:
        return [(dimension, ()) for dimension in array.dimensions]
    rank = number(array.rank, owner) if array.rank is not None else 1
    if not 0 <= rank <= MAX_RANK:
        message = f"an array has {shown(rank)} dimensions; at most {MAX_RANK} are supported"
        raise MalformedFile("absurd_size", message, spec="DWARF 5, 5.5")
    return [(array.generic, (index,)) for index in range(rank)]


def _fixed(computed: tuple[t.Dimension, tuple[int, ...]], owner: Object) -> t.Dimension:
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
    return t.Dimension(lower, count=length, bit_stride=stride)


def _strides(owner: Object, array: t.Array, dimensions: list[t.Dimension]) -> list[int]:
    """Return the bits from one element to the next in each dimension: as stated, else the size of the inner ones."""
    if array.byte_stride is not None:
        inner: int | None = 8 * number(array.byte_stride, owner)
    elif isinstance(array.bit_stride, t.Dynamic):
        inner = number(array.bit_stride, owner)
    else:
        inner = t.element_bits(array)
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


def number(bound: t.Bound, owner: Object, *stack: int) -> int:
    """Return a number that is known, or that is computed from the object or from another entry."""
    if isinstance(bound, int):
        return bound
    if bound is None:
        return 0
    if bound.entry is not None:
        return int(_of_entry(bound.entry, owner).number())
    return owner.place.storage.number(bound, owner.place, *stack)


def place_of(dynamic: t.Dynamic, owner: Object) -> ObjectPlace:
    """Return the place that an expression or another entry names."""
    if dynamic.entry is not None:
        return _of_entry(dynamic.entry, owner).place
    return owner.place.storage.place(dynamic, owner.place)


def _of_entry(die: Die, owner: Object) -> Object:
    """Return the object of an entry: a member of the enclosing structure, or a variable."""
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
