"""Objects: a type and the place of a value, and the ways from one object to the next.

Reading is lazy: the members of a structure are objects themselves, and so is the target of a pointer. What cannot be
read is an error of that object alone.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, EvaluationError, Handle, UsageError, shown
from dwarfgpu.immutable import immutable
from dwarfgpu.notebooks import ShownInNotebooks
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import byte_size, hidden, is_new, known_size, resolved, stripped
from dwarfgpu.program.values import arrays
from dwarfgpu.program.values.scalars import Scalar, complex_parts, scalar_of
from dwarfgpu.program.values.storage import Address, Bytes, ObjectPlace, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        return f"<Object {safe_text(self.type)}{where}>"

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
        state = arrays.state_of(owner, kind.associated, kind.allocated)
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

    def _struct(self) -> t.Struct:
        inner = self.inner
        if not isinstance(inner, t.Struct):
            raise UsageError(f"the type {safe_text(self.type)} has no members", kind="no_member")
        return inner

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
        body = self._struct().body
        yield from body.members
        for part in body.variant_parts:
            yield from self.variant_members(part)

    def member(self, name: str) -> Object:
        """Return the member with a name, also one in a base or in a member without a name."""
        member = self.found(name)
        if member is None:
            message = f"there is no member named {name}"
            raise UsageError(message, kind="no_member", hint=_members_hint(self))
        return member

    def found(self, name: str, depth: int = 0, seen: set[object] | None = None) -> Object | None:
        """Find the member with a name, also in bases and unnamed members; return None if there is none."""
        inner, seen = self.inner, set[object]() if seen is None else seen
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

    def array(self) -> arrays.Elements:
        """Return the elements of an array, a vector, or a complex number."""
        inner = resolved(self.type)
        if isinstance(inner, t.Array):
            return arrays.elements(self, inner)
        if isinstance(inner, t.Base) and inner.vector_size is not None:
            return arrays.Elements(self, inner.element, self.place, inner.vector_size, byte_size(inner.element) * 8)
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
            length = arrays.number(size, self) if isinstance(size, t.Dynamic) else size
        else:
            size = inner.length_size or (inner.byte_size if isinstance(inner.byte_size, int) else 8)
            where = arrays.place_of(inner.length, self)
            reading = where.read(8 * max(0, min(size, 8)))
            if reading.undefined:
                raise optimized_out()
            length = int(reading.bits)
        length = length or 0
        if not 0 <= length <= arrays.MAX_LENGTH:
            message = f"a string has {shown(length)} characters, which is not possible"
            raise EvaluationError("absurd_size", message, spec="DWARF 5, 5.11")
        return place, length

    # --- Definedness ----------------------------------------------------------------------------------------------

    def is_undefined(self) -> bool:
        """Return whether no bit of the object has a value: "optimized out"."""
        size = known_size(self.type)
        if self.bit_size is None and (size is None or not 0 < size <= arrays.MAX_READ):
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
