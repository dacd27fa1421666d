"""The types of a program as immutable records (DWARF 5 chapter 5, A.5), and their sizes.

A record has what its entry states and no more. What lies behind a type, the target of a pointer or the members of a
structure, is `Lazy`: it is read on first use. So a list that points to itself is no cycle here, and
a pointer to a large class costs nothing. Types can also be made without a file, as those of literals and casts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from dwarfgpu.dwarf_constants import DW_AT_vtable_elem_location
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MalformedFile, shown
from dwarfgpu.immutable import evolve, frozen, immutable
from dwarfgpu.targets.resolve import EM_AMDGPU

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.targets.target import AddressSpace


T = TypeVar("T")
DW_OP_CONSTU = 0x10


class Lazy(Generic[T]):
    """A value that is read on first use, once. Two are equal when they have the same key.

    ``key`` is the entry that the value is read from; for a value that exists already (`known`) it is the value itself.
    """

    __slots__ = ("_make", "_value", "key")

    def __init__(self, key: Any, make: Callable[[], T] | None, value: T | None = None) -> None:
        self.key = key
        self._make = make
        self._value = value

    @staticmethod
    def known(value: T) -> Lazy[T]:
        """Return a lazy value that exists already."""
        return Lazy(value, None, value)

    def get(self) -> T:
        if self._make is not None:
            self._value = self._make()
            self._make = None
        return self._value  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lazy) and (other is self or bool(other.key == self.key))

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Lazy({self.key!r})"


class ReadableType:
    """A type of the program, shown as the source writes it; `declaration` sets the function that does."""

    __slots__ = ()
    write: ClassVar[Callable[[Any], str]] = staticmethod(lambda kind: kind.__class__.__name__)

    @property
    def name(self) -> str | None:
        """Its name, for kinds of types that can have one."""
        return None

    def __deepcopy__(self, _known: Any) -> ReadableType:
        return self  # it never changes

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickle the text of a type: the entries behind it are in a file that is open here."""
        return Opaque, ("", type(self).write(self))

    @property
    def die(self) -> Die | None:
        """The entry that it was read from."""
        return None

    @property
    def is_incomplete(self) -> bool:
        """Whether it is only declared, and defined nowhere."""
        return False

    def __repr__(self) -> str:
        return f"<Type {self}>"

    def __str__(self) -> str:
        return type(self).write(self)


class Referring(ReadableType):
    """A type that refers to another: a record with a field ``to``."""

    __slots__ = ()
    to: Lazy[Type]

    @property
    def target(self) -> Type:
        return self.to.get()


class Typed:
    """A record that has a type: one with a field ``to``."""

    __slots__ = ()
    to: Lazy[Type]

    @property
    def type(self) -> Type:
        return self.to.get()


# --- Properties that are computed (DWARF 5, 2.19 and 5.18) --------------------------------------------------------


@frozen
class Dynamic:
    """A property that depends on an object or on the program: an expression, or another entry whose value it is."""

    source: Attribute
    """An expression, a location list, or a reference to the entry."""
    entry: Die | None = None
    """A variable, a member or a DWARF procedure."""

    @property
    def attribute(self) -> str:
        """The name of the attribute."""
        return self.source.name

    @property
    def unit(self) -> Unit:
        return self.source.die.unit

    @property
    def expression(self) -> bytes | None:
        """The bytes of the expression; None where it is something else."""
        return self.source.value if self.source.value_class in ("exprloc", "block") else None


Bound: TypeAlias = "int | Dynamic | None"
"""A number that is known, is to be computed, or is not there."""


# --- Types --------------------------------------------------------------------------------------------------------


@frozen
class Void(ReadableType):
    """No type: the target of ``void *``, and the result of a ``void`` function."""

    name: str = "void"


@immutable
class Base(ReadableType):
    """A base type (DWARF 5, 5.1 and A.5.1)."""

    name: str
    encoding: int
    """DW_ATE_*."""
    byte_size: int | None
    bit_size: int | None = None
    """How many bits the value has, where they are fewer than those of the storage."""
    data_bit_offset: int = 0
    """Where the value begins in the storage."""
    vector_size: int | None = None
    """DW_AT_LLVM_vector_size: the representation is that of so many contiguous elements."""
    byte_order: ByteOrder | None = None
    """DW_AT_endianity; None is the order of the target."""
    address_space: int | None = None
    """Of an address (A.5.1 (2))."""
    binary_scale: int | None = None
    """Of a fixed-point type: the value is the integer times 2 to this power."""
    decimal_scale: int | None = None
    """The same with a power of 10."""
    die: Die | None = None
    flags: tuple[tuple[str, int], ...] = ()
    """Of a register of flags: the names of its bits; a bit without a name is reserved."""

    @property
    def element(self) -> Base:
        """Of a vector the type of its elements, which is "the same as T without the attribute" (A.5.1 (1))."""
        return Base(
            self.name, self.encoding, self.byte_size, self.bit_size, self.data_bit_offset, None, self.byte_order
        )


@frozen
class Pointer(Referring):
    """A pointer or a reference (DWARF 5, 5.3, A.5.3)."""

    sign: str
    """``*``, ``&`` or ``&&``."""
    to: Lazy[Type]
    byte_size: int
    """What the entry says, else the size of an address in the address space (A.5.3)."""
    address_space: int | None = None
    """DW_AT_LLVM_address_space or, before it, DW_AT_address_class. None is the default address space."""
    memory_space: int | None = None
    """DW_AT_LLVM_memory_space."""
    name: str | None = None
    die: Die | None = None
    null: int = 0
    """The pattern that points nowhere."""

    @property
    def is_reference(self) -> bool:
        return self.sign != "*"


@frozen
class MemberPointer(Referring):
    """A pointer to a member (DWARF 5, 5.14, A.5.14)."""

    to: Lazy[Type]
    owner: Lazy[Type]
    byte_size: int
    use_location: Dynamic | None = None
    name: str | None = None
    die: Die | None = None


@frozen
class Qualified(Referring):
    """A type with a word before it (DWARF 5, 5.3): const, volatile, restrict, _Atomic. Others have no word in C."""

    word: str
    to: Lazy[Type]
    die: Die | None = None


@frozen
class Hidden(Qualified):
    """A type whose objects have their data behind a hidden indirection, or may have none (DWARF 5, 5.18).

    Arrays and strings have the same properties themselves.
    """

    data_location: Dynamic | None = None
    allocated: Bound = None
    associated: Bound = None


@frozen
class Typedef(Referring):
    """A name for a type (DWARF 5, 5.4), a template alias too."""

    name: str
    to: Lazy[Type]
    die: Die | None = None


@frozen
class Dimension:
    """One dimension of an array (DWARF 5, 5.13)."""

    lower: Bound
    upper: Bound = None
    count: Bound = None
    bit_stride: Bound = None
    """From one element of this dimension to the next; a byte stride that is a number is counted in bits too."""
    byte_stride: Dynamic | None = None

    @property
    def length(self) -> int | None:
        """The number of elements, if it is known without an object."""
        if self.count is not None:
            return max(0, self.count) if isinstance(self.count, int) else None
        if isinstance(self.upper, int) and isinstance(self.lower, int):
            return max(0, self.upper - self.lower + 1)
        return None

    @property
    def is_open(self) -> bool:
        """Whether the number of elements is open, as in a flexible array member."""
        return self.count is None and self.upper is None


@frozen
class Array(ReadableType):
    """An array (DWARF 5, 5.5): its element and its dimensions, in the order of the declaration."""

    element_type: Lazy[Type]
    dimensions: tuple[Dimension, ...]
    column_major: bool = False
    is_vector: bool = False
    bit_stride: Bound = None
    byte_stride: Dynamic | None = None
    byte_size: Bound = None
    rank: Bound = None
    """How often `generic` counts (5.5)."""
    generic: Dimension | None = None
    """DW_TAG_generic_subrange: the one description of all dimensions."""
    data_location: Dynamic | None = None
    allocated: Bound = None
    associated: Bound = None
    name: str | None = None
    die: Die | None = None

    @property
    def element(self) -> Type:
        return self.element_type.get()

    @property
    def is_dynamic(self) -> bool:
        """Whether bounds or places of the array depend on an object."""
        properties: list[Bound] = [self.rank, self.data_location, self.allocated, self.associated]
        properties += [self.bit_stride, self.byte_stride]
        for dimension in self.dimensions:
            end = dimension.upper if dimension.count is None else dimension.count
            properties += [dimension.lower, end, dimension.bit_stride, dimension.byte_stride]
        return self.generic is not None or any(isinstance(value, Dynamic) for value in properties)


@frozen
class Member(Typed):
    """A data member (DWARF 5, 5.7.6)."""

    name: str | None
    to: Lazy[Type]
    bit_offset: int | None
    """From the beginning of the structure, in the target's order of bits."""
    bit_size: int | None = None
    """Of a bit-field."""
    location: Dynamic | None = None
    """DW_AT_data_member_location, where it is an expression."""
    access: str | None = None
    """``public``, ``protected``, ``private``; None is what the kind of class implies."""
    is_artificial: bool = False
    die: Die | None = None


@frozen
class BaseClass(Typed):
    """A class that another one inherits from (DWARF 5, 5.7.3)."""

    to: Lazy[Type]
    bit_offset: int | None
    location: Dynamic | None = None
    is_virtual: bool = False
    access: str | None = None


@frozen
class StaticMember(Typed):
    """A member that all objects share; its value is that of a variable, or a constant."""

    name: str
    to: Lazy[Type]
    die: Die
    access: str | None = None


@frozen
class Method:
    """A member function: its declaration, and how it is called."""

    name: str
    to: Lazy[Function]
    access: str | None = None
    is_virtual: bool = False
    is_static: bool = False
    is_artificial: bool = False
    object_qualifiers: tuple[str, ...] = ()
    linkage_name: str | None = None
    die: Die | None = None

    @property
    def slot(self) -> int | None:
        """Its number in the table, which compilers write as a lone constant in place of the location of the slot."""
        location = None if self.die is None else self.die.number(DW_AT_vtable_elem_location)
        if location is None or location.value_class == "constant":
            return None if location is None else location.unsigned()
        data = location.block().data if location.value_class in ("exprloc", "block") else b""
        return Cursor(data, 1).uleb() if len(data) >= 2 and data[0] == DW_OP_CONSTU else None


@frozen
class Variant:
    """What a variant part holds for some values of its discriminant (DWARF 5, 5.7.10)."""

    values: tuple[tuple[int, int], ...] | None
    """Ranges, first and last; None is the default."""
    members: tuple[Member, ...]


@frozen
class VariantPart:
    """Groups of members, one of which exists in an object, as a discriminant says."""

    discriminant: Member | None
    variants: tuple[Variant, ...]


@frozen
class TemplateArgument:
    """A type that a template was instantiated with."""

    name: str
    to: Lazy[Type]


@frozen
class Body:
    """The parts of a structure, union or class."""

    bases: tuple[BaseClass, ...] = ()
    members: tuple[Member, ...] = ()
    statics: tuple[StaticMember, ...] = ()
    order: tuple[str | int, ...] = ()
    """How members and static members were declared: indices of members, names of static ones."""
    variant_parts: tuple[VariantPart, ...] = ()
    methods: tuple[Method, ...] = ()
    typedefs: tuple[Typedef, ...] = ()
    arguments: tuple[TemplateArgument, ...] = ()
    pack: tuple[TemplateArgument, ...] = ()
    """The types that a parameter pack stands for."""


@frozen
class Struct(ReadableType):
    """A structure, class, union or interface (DWARF 5, 5.7). ``is_incomplete``: only declared, and defined nowhere."""

    kind: str
    """``struct``, ``class``, ``union`` or ``interface``."""
    name: str | None
    """With its scopes."""
    byte_size: Bound
    contents: Lazy[Body]
    is_incomplete: bool = False
    die: Die | None = None
    is_cplus: bool = False

    @property
    def body(self) -> Body:
        return self.contents.get()


@frozen
class Enumerator:
    """One name of an enumeration."""

    name: str
    value: int


@frozen
class Enumeration(ReadableType):
    """An enumeration (DWARF 5, 5.8)."""

    name: str | None
    byte_size: int | None
    contents: Lazy[tuple[Enumerator, ...]]
    underlying: Lazy[Type] | None = None
    is_class: bool = False
    prefix: str = ""
    """The scope before the names of enumerators."""
    is_incomplete: bool = False
    die: Die | None = None
    is_cplus: bool = False

    @property
    def enumerators(self) -> tuple[Enumerator, ...]:
        return self.contents.get()


@frozen
class Function(ReadableType):
    """The type of a function (DWARF 5, 5.6 and 3.3)."""

    to: Lazy[Type]
    parameters: Lazy[tuple[Lazy[Type], ...]]
    is_variadic: bool = False
    is_prototyped: bool = True
    die: Die | None = None

    @property
    def result(self) -> Type:
        return self.to.get()


@frozen
class String(ReadableType):
    """A string type of Fortran and others (DWARF 5, 5.11)."""

    name: str | None
    byte_size: Bound
    """Of the characters, or of the length where `length` says where that is."""
    length: Dynamic | None = None
    """DW_AT_string_length: the place of the length."""
    length_size: int | None = None
    """How many bytes the length has."""
    data_location: Dynamic | None = None
    die: Die | None = None


@frozen
class Subrange(Referring):
    """A subrange that is a type by itself (DWARF 5, 5.13), as in Ada and Pascal."""

    name: str | None
    to: Lazy[Type]
    dimension: Dimension
    byte_size: int | None = None
    die: Die | None = None


@frozen
class UnspecifiedType(ReadableType):
    """A type that has a name and nothing else (DWARF 5, 5.2): ``decltype(nullptr)``."""

    name: str
    die: Die | None = None


@frozen
class Opaque(ReadableType):
    """A type of which no more than name and size are understood: sets, files, co-arrays, and what vendors add."""

    tag: str
    name: str | None
    byte_size: int | None = None
    die: Die | None = None


Type: TypeAlias = (
    "Void | Base | Pointer | MemberPointer | Qualified | Typedef | Array | Struct | Enumeration"
    " | Function | String | Subrange | UnspecifiedType | Opaque"
)

VOID = Void()


# --- Their sizes, and what is behind names and qualifiers ------------------------------------------------------------

MAX_DEPTH = 64
"""How many types a type may go through: typedefs, qualifiers, arrays of arrays. A broken file may have a cycle."""
MAX_BYTES = 1 << 62
"""The largest size that is accepted; a larger one is an error in the file."""

_NAMED = (Typedef, Qualified)
_NAMED_OR_PART = (*_NAMED, Subrange)


def stripped(kind: Type) -> Type:
    """Return a type without the names and qualifiers in front of it."""
    return _behind(kind, _NAMED) if isinstance(kind, _NAMED) else kind


def resolved(kind: Type) -> Type:
    """Return the stored type: without names and qualifiers, and for a subrange the type it is a part of."""
    return _behind(kind, _NAMED_OR_PART) if isinstance(kind, _NAMED_OR_PART) else kind


def named_members(members: Iterable[Member]) -> Iterator[Member]:
    """Yield the members that have names, also of structures without a name, and of the first form of such a union."""
    for member in members:
        inner = resolved(member.type)
        if member.name:
            yield member
        elif isinstance(inner, Struct):
            for part in named_members(inner.body.members[: 1 if inner.kind == "union" else None]):
                yield evolve(part, bit_offset=(member.bit_offset or 0) + (part.bit_offset or 0))


def hidden(kind: Type) -> Hidden | None:
    """Return the type in front of a type that says where the data of its objects are, or whether they have some."""
    if not isinstance(kind, _NAMED_OR_PART):
        return None
    wrapper: Type = kind
    for _ in range(MAX_DEPTH):
        if isinstance(wrapper, Hidden) or not isinstance(wrapper, _NAMED_OR_PART):
            return wrapper if isinstance(wrapper, Hidden) else None
        wrapper = wrapper.target
    return None


def _behind(kind: Any, wrappers: Any) -> Type:
    start = kind
    for _ in range(MAX_DEPTH):
        if not isinstance(kind, wrappers):
            return kind  # type: ignore[no-any-return]
        kind = kind.target
    raise cycle(start)


def cycle(type: Type) -> DwarfGpuError:
    """Return the error of a type that goes through too many others."""
    message = f"a type leads through more than {MAX_DEPTH} others, or back to itself"
    return _at(MalformedFile("type_cycle", message, spec="DWARF 5, 5.3"), type)


def byte_size(type: Type) -> int:
    """Return the bytes of an object; raise an error if the size depends on the object or is unknown."""
    size = known_size(type)
    if size is None:
        raise _at(EvaluationError("unknown_size", f"the size of {_what(type)} is unknown", spec="DWARF 5, 2.21"), type)
    return size


MAX_NUMBER = 1 << 16
"""More bytes than a number has: a register of a wave has 256."""


def number_size(type: Type) -> int:
    """Return the bytes of a number; raise an error for more than any has, before they are read."""
    size = byte_size(type)
    if size > MAX_NUMBER:
        message = f"{_what(type)} has {shown(size)} bytes, and a number has at most {MAX_NUMBER}"
        raise _at(MalformedFile("absurd_size", message, spec="DWARF 5, 5.1"), type)
    return size


def known_size(type: Type, depth: int = 0) -> int | None:
    """Return the bytes of an object; None if the size depends on the object or is unknown."""
    if depth > MAX_DEPTH:
        raise cycle(type)
    if isinstance(type, (Typedef, Qualified)):
        return known_size(stripped(type), depth + 1)
    if isinstance(type, Base):
        return None if type.byte_size is None else checked(type.byte_size * (type.vector_size or 1), type)
    if isinstance(type, (Pointer, MemberPointer)):
        return checked(type.byte_size, type)
    if isinstance(type, Array):
        return _array_size(type, depth)
    if isinstance(type, Struct):
        return None if type.is_incomplete else _declared(type)
    if isinstance(type, Enumeration):
        if type.byte_size is None and type.underlying is not None:
            return known_size(type.underlying.get(), depth + 1)
        return None if type.byte_size is None else checked(type.byte_size, type)
    if isinstance(type, Subrange):
        return known_size(type.target, depth + 1) if type.byte_size is None else checked(type.byte_size, type)
    if isinstance(type, (String, Opaque)):
        return _declared(type)
    # as GNU C has it, so that pointers to them can be moved
    return 1 if isinstance(type, (Void, Function)) else None


def _declared(type: Struct | String | Opaque) -> int | None:
    size = type.byte_size
    return None if size is None or isinstance(size, Dynamic) else checked(size, type)


def address_space(die: Die, number: int | None) -> AddressSpace | None:
    """Return the address space that a number means in the file of an entry; None where nothing is known of it."""
    if number is None or die.unit.dwarf.machine != EM_AMDGPU:
        return None
    from dwarfgpu.targets.amdgpu.address_spaces import space_numbered

    return space_numbered(number)


def contradiction(type: Type) -> DwarfGpuError | None:
    """Return the error of a pointer, or of an array of them, that is wider or narrower than its address space has it.

    Such a pointer is read in the size that its entry states.
    """
    kind = type
    for _ in range(MAX_DEPTH):
        if not isinstance(kind, Array):
            break
        kind = resolved(kind.element)
    if not isinstance(kind, Pointer) or kind.die is None:
        return None
    space = address_space(kind.die, kind.address_space)
    if space is None or 8 * kind.byte_size == space.address_bits:
        return None
    sizes = f"has {shown(kind.byte_size)} bytes, and an address there has {space.address_bits // 8}"
    return _at(MalformedFile("bad_size", f"a pointer into {space.name} {sizes}", spec="A.5.3"), kind)


def has_dynamic_parts(type: Type) -> bool:
    """Return whether expressions describe bounds or places of an object or of what is in it."""
    left, seen = [type], set()
    while left:
        inner = resolved(left.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, Array):
            if inner.is_dynamic:
                return True
            left.append(inner.element)
        elif isinstance(inner, Struct):
            parts: list[Member | BaseClass] = [*inner.body.members, *inner.body.bases]
            if any(part.location is not None for part in parts):
                return True
            for part in parts:
                with suppress(DwarfGpuError):  # what is wrong with a member is shown in its place
                    left.append(part.to.get())
    return False


def _array_size(type: Array, depth: int) -> int | None:
    if isinstance(type.byte_size, int):
        return checked(type.byte_size, type)
    if type.is_dynamic:
        return None
    bits = element_bits(type, depth)
    if bits is None:
        return None
    for dimension in reversed(type.dimensions if not type.column_major else type.dimensions[::-1]):
        stride = dimension.bit_stride
        bits = (dimension.length or 0) * (abs(stride) if isinstance(stride, int) else bits)
    return checked((bits + 7) // 8, type)


def element_bits(type: Array, depth: int = 0) -> int | None:
    """Return how many bits an element takes in an array."""
    if isinstance(type.bit_stride, int):
        return type.bit_stride
    size = known_size(type.element, depth + 1)
    return None if size is None else size * 8


def checked(size: int, type: Type) -> int:
    """Return a size that an object can have; raise an error for any other."""
    if not 0 <= size <= MAX_BYTES:
        message = f"{_what(type)} has an impossible size of {shown(size)} bytes"
        raise _at(MalformedFile("absurd_size", message, spec="DWARF 5, 2.21"), type)
    return size


def _what(type: Type) -> str:
    if type.name:
        return f"the type {type.name}"
    if isinstance(type, UnspecifiedType):
        return "an unspecified type"
    word = type.__class__.__name__.lower()
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word} type"


def _at(error: DwarfGpuError, type: Type) -> DwarfGpuError:
    return error if type.die is None else type.die.unit.error(error, type.die.offset)


# --- Members of classes by their names --------------------------------------------------------------------------------

MAX_INHERITED = 16
"""How deep a member is searched in bases and unnamed members."""


def is_new(type: Struct, seen: set[object]) -> bool:
    """Return whether a class was not searched before, and remember it: inheritance leads to some again and again."""
    key = id(type) if type.die is None else type.die
    is_new = key not in seen
    seen.add(key)
    return is_new


def member_named(
    type: Type, name: str, depth: int = 0, seen: set[object] | None = None
) -> Member | StaticMember | None:
    """Return the member of a class with a name, its own or that of a base."""
    inner, seen = stripped(type), set[object]() if seen is None else seen
    if not isinstance(inner, Struct) or depth > MAX_INHERITED or not is_new(inner, seen):
        return None
    body = inner.body
    parts: list[Member | StaticMember] = [*body.members, *body.statics]
    own = next((part for part in parts if part.name == name), None)
    if own is not None:
        return own
    inside = [member.type for member in body.members if member.name is None]
    inside += [base.type for base in body.bases]
    members = (member_named(kind, name, depth + 1, seen) for kind in inside)
    return next((member for member in members if member is not None), None)


def methods_named(type: Type, name: str) -> list[Method]:
    """Return the member functions of a class with a name; those of bases where it has none itself."""
    waiting, seen = [(type, 0)], set[object]()
    while waiting:
        kind, depth = waiting.pop(0)
        inner = stripped(kind)
        if not isinstance(inner, Struct) or depth > MAX_INHERITED or not is_new(inner, seen):
            continue
        own = [method for method in inner.body.methods if method.name == name]
        if own:
            return own
        waiting += [(base.type, depth + 1) for base in inner.body.bases]
    return []
