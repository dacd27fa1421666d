"""From entries to types: `Types` makes the record of an entry, once for each.

What is broken is an error for whoever asks for that type, and for nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.entries import attributes as at
from dwarfgpu.objfile.entries.constants import TAG
from dwarfgpu.objfile.entries.scopes import qualified_name
from dwarfgpu.program.types import aggregates
from dwarfgpu.program.types.bounds import bound, bound_of, dimension, strides
from dwarfgpu.program.types.completing import definition
from dwarfgpu.program.types.model import (
    VOID,
    Array,
    Base,
    Dynamic,
    Enumeration,
    Enumerator,
    Function,
    Lazy,
    MemberPointer,
    Opaque,
    Pointer,
    Qualified,
    String,
    Struct,
    Subrange,
    Type,
    Typedef,
    Unspecified,
)
from dwarfgpu.program.types.naming import canonical, is_cplus

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.objfile.entries.dies import Die

_ENCODING, _BIT_SIZE, _DATA_BIT_OFFSET, _ENDIANITY = 0x3E, 0x0D, 0x6B, 0x65
_ADDRESS_CLASS, _ENUM_CLASS, _PROTOTYPED, _ORDERING = 0x33, 0x6D, 0x27, 0x09
_BINARY_SCALE, _DECIMAL_SCALE, _GNU_VECTOR, _RANK = 0x5B, 0x5C, 0x2107, 0x71
_ALLOCATED, _ASSOCIATED, _DATA_LOCATION, _USE_LOCATION = 0x4E, 0x4F, 0x50, 0x4A
_STRING_LENGTH, _STRING_LENGTH_BITS, _STRING_LENGTH_BYTES = 0x19, 0x6F, 0x70
_FORTRAN = frozenset((0x07, 0x08, 0x0E, 0x22, 0x23, 0x2D))
"""The languages whose arrays have their first dimension contiguous, if they do not say otherwise (DWARF 5, 5.5)."""

_SIGNS = {"pointer_type": "*", "reference_type": "&", "rvalue_reference_type": "&&"}
_WORDS = {
    "const_type": "const",
    "volatile_type": "volatile",
    "restrict_type": "restrict",
    "atomic_type": "_Atomic",
    "packed_type": "",
    "shared_type": "",
    "immutable_type": "",
    "LLVM_ptrauth_type": "",
}
_KINDS = {
    "structure_type": "struct",
    "class_type": "class",
    "union_type": "union",
    "interface_type": "interface",
}


class Types:
    """The types of one file, or of several that know each other. One entry is one record, made when it is asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, int], Type] = {}

    def of(self, die: Die | None) -> Type:
        """The type that an entry describes; None is void. A function's entry gives the type of the function."""
        if die is None:
            return VOID
        key = (die.unit, die.offset)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(die)
        return found

    def type_of(self, die: Die) -> Type:
        """The type that an entry has: that of a variable, parameter, member or constant."""
        return self.of(die.type())

    def lazy(self, die: Die) -> Lazy[Type]:
        """The type that an entry has, when somebody asks."""
        return Lazy((die.unit, die.offset, "type"), lambda: self.of(die.type()))

    # --- By tag ---------------------------------------------------------------------------------------------------

    def _make(self, die: Die) -> Type:
        tag = TAG.get(die.tag, "")[7:]
        if tag in _SIGNS:
            return self._pointer(die, _SIGNS[tag])
        if tag in _WORDS:
            return Qualified(_WORDS[tag], self.lazy(die), die)
        if tag in _KINDS:
            return self._struct(die, _KINDS[tag])
        maker = _MAKERS.get(tag)
        if maker is not None:
            made: Type = maker(self, die)
            return made
        if not tag.endswith("_type"):
            error = MalformedFile("no_type", f"{die.tag_name} is not a type", spec="DWARF 5, 5")
            raise die.unit.error(error, die.offset)
        return Opaque(die.tag_name, qualified_name(die), _number(die, at.BYTE_SIZE), die)

    def _base(self, die: Die) -> Type:
        byte_size, bit_size = _number(die, at.BYTE_SIZE), _number(die, _BIT_SIZE)
        if byte_size is None and bit_size is not None:
            byte_size = (bit_size + 7) // 8
        endianity = _number(die, _ENDIANITY)
        return Base(
            canonical(qualified_name(die) or "(unnamed base)"),
            _number(die, _ENCODING) or 0,
            byte_size,
            bit_size,
            _number(die, _DATA_BIT_OFFSET) or 0,
            _vector_size(die),
            {1: "big", 2: "little"}.get(endianity or 0),  # type: ignore[arg-type]
            _named_number(die, "DW_AT_LLVM_address_space"),
            _signed(die, _BINARY_SCALE),
            _signed(die, _DECIMAL_SCALE),
            die,
        )

    def _pointer(self, die: Die, sign: str) -> Type:
        space = _named_number(die, "DW_AT_LLVM_address_space")
        if space is None:
            space = _number(die, _ADDRESS_CLASS)
        size = _number(die, at.BYTE_SIZE)
        return Pointer(
            sign,
            self.lazy(die),
            die.unit.address_size if size is None else size,
            space,
            _named_number(die, "DW_AT_LLVM_memory_space"),
            die.name,
            die,
        )

    def _member_pointer(self, die: Die) -> Type:
        owner = die.number(at.CONTAINING_TYPE)
        target = die.type()
        size = _number(die, at.BYTE_SIZE)
        if size is None:  # the C++ ABI of Itanium: a difference, or a pair of an address and a difference
            is_method = target is not None and target.tag == _SUBROUTINE
            size = die.unit.address_size * (2 if is_method else 1)
        containing: Lazy[Type] = Lazy.known(VOID)
        if owner is not None:
            containing = Lazy((die.unit, die.offset, "owner"), lambda: self.of(owner.reference()))
        use = bound(die, _USE_LOCATION)
        return MemberPointer(
            self.lazy(die), containing, size, use if isinstance(use, Dynamic) else None, die.name, die
        )

    def _typedef(self, die: Die) -> Type:
        return Typedef(qualified_name(die) or "(unnamed typedef)", self.lazy(die), die)

    def _struct(self, die: Die, kind: str) -> Type:
        die = definition(die)
        die_size = die.number(at.BYTE_SIZE)
        size = None if die_size is None else bound_of(die_size)
        bits = _number(die, _BIT_SIZE)
        if size is None and bits is not None:
            size = (bits + 7) // 8
        return Struct(
            kind,
            _name(die),
            size,
            Lazy((die.unit, die.offset, "body"), lambda: aggregates.body(self, die)),
            die.is_declaration,
            die,
            is_cplus(die.unit),
        )

    def _enumeration(self, die: Die) -> Type:
        die = definition(die)
        underlying = None if die.number(at.TYPE) is None else self.lazy(die)
        name = _name(die)
        is_class = die.flag(_ENUM_CLASS)
        scope = name if is_class else (name or "").rpartition("::")[0]
        return Enumeration(
            name,
            _number(die, at.BYTE_SIZE),
            Lazy((die.unit, die.offset, "enumerators"), lambda: _enumerators(die)),
            underlying,
            is_class,
            f"{scope}::" if scope else "",
            die.is_declaration,
            die,
            is_cplus(die.unit),
        )

    def _function(self, die: Die) -> Type:
        children = [each for each in die.children() if each.tag in (_PARAMETER, _VARIADIC)]
        parameters = tuple(self.lazy(each) for each in children if each.tag == _PARAMETER)
        is_variadic = any(each.tag == _VARIADIC for each in children)
        is_prototyped = die.flag(_PROTOTYPED) or bool(parameters) or is_cplus(die.unit)
        if not is_prototyped and is_variadic and not parameters:
            is_variadic = False  # int f(): nothing is said of its parameters
        return Function(self.lazy(die), Lazy.known(parameters), is_variadic, is_prototyped, die)

    # --- Arrays and strings ---------------------------------------------------------------------------------------

    def _array(self, die: Die) -> Type:
        dimensions = []
        generic = None
        for child in die.children():
            if child.tag == _SUBRANGE:
                dimensions.append(dimension(child))
            elif child.tag == _GENERIC_SUBRANGE:
                generic = dimension(child)
            elif child.tag == _ENUMERATION:  # an array indexed by an enumeration (5.5)
                values = [each.value for each in _enumerators(definition(child))] or [0]
                dimensions.append(_indexed_by(min(values), max(values)))
        ordering = _number(die, _ORDERING)
        column_major = ordering == 1 or (ordering is None and die.unit.root_number(at.LANGUAGE) in _FORTRAN)
        bit_stride, byte_stride = strides(die)
        size = die.number(at.BYTE_SIZE)
        data = bound(die, _DATA_LOCATION)
        return Array(
            self.lazy(die),
            tuple(dimensions),
            column_major,
            die.flag(_GNU_VECTOR),
            bit_stride,
            byte_stride,
            None if size is None else bound_of(size),
            bound(die, _RANK),
            generic,
            data if isinstance(data, Dynamic) else None,
            bound(die, _ALLOCATED),
            bound(die, _ASSOCIATED),
            die.name,
            die,
        )

    def _string(self, die: Die) -> Type:
        size = die.number(at.BYTE_SIZE)
        length = bound(die, _STRING_LENGTH)
        bits = _number(die, _STRING_LENGTH_BITS)
        length_size = _number(die, _STRING_LENGTH_BYTES) if bits is None else (bits + 7) // 8
        data = bound(die, _DATA_LOCATION)
        return String(
            die.name,
            None if size is None else bound_of(size),
            length if isinstance(length, Dynamic) else None,
            length_size,
            data if isinstance(data, Dynamic) else None,
            die,
        )

    def _subrange(self, die: Die) -> Type:
        return Subrange(qualified_name(die), self.lazy(die), dimension(die), _number(die, at.BYTE_SIZE), die)

    def _unspecified(self, die: Die) -> Type:
        return Unspecified(die.name or "(unspecified)", die)


_SUBROUTINE, _PARAMETER, _VARIADIC, _ENUMERATOR, _ENUMERATION = 0x15, 0x05, 0x18, 0x28, 0x04
_SUBRANGE, _GENERIC_SUBRANGE = 0x21, 0x45
_MAKERS: dict[str, Callable[[Types, Die], Any]] = {
    "base_type": Types._base,  # noqa: SLF001 (the table of the class)
    "ptr_to_member_type": Types._member_pointer,  # noqa: SLF001
    "typedef": Types._typedef,  # noqa: SLF001
    "template_alias": Types._typedef,  # noqa: SLF001
    "enumeration_type": Types._enumeration,  # noqa: SLF001
    "array_type": Types._array,  # noqa: SLF001
    "subroutine_type": Types._function,  # noqa: SLF001
    "subprogram": Types._function,  # noqa: SLF001
    "entry_point": Types._function,  # noqa: SLF001
    "string_type": Types._string,  # noqa: SLF001
    "subrange_type": Types._subrange,  # noqa: SLF001
    "generic_subrange": Types._subrange,  # noqa: SLF001
    "unspecified_type": Types._unspecified,  # noqa: SLF001
}


# --- Attributes ---------------------------------------------------------------------------------------------------


def _number(die: Die, number: int) -> int | None:
    """A constant that cannot be negative; None if the entry has none."""
    found = die.number(number)
    return None if found is None or found.value_class != "constant" else found.unsigned()


def _signed(die: Die, number: int) -> int | None:
    found = die.number(number)
    return None if found is None else found.signed()


def _named_number(die: Die, name: str) -> int | None:
    """A constant whose attribute has a number that depends on the dialect."""
    found = die.get(name)
    return None if found is None or found.value_class != "constant" else found.unsigned()


def _vector_size(die: Die) -> int | None:
    found = _named_number(die, "DW_AT_LLVM_vector_size")
    if found == 0:
        error = MalformedFile("bad_type", "DW_AT_LLVM_vector_size is not greater than 0", spec="A.5.1 (1)")
        raise die.unit.error(error, die.offset)
    return found


def _name(die: Die) -> str | None:
    name = qualified_name(die)
    return None if name is None else canonical(name)


def _indexed_by(first: int, last: int) -> Any:
    from dwarfgpu.program.types.model import Dimension

    return Dimension(first, last)


def _enumerators(die: Die) -> tuple[Enumerator, ...]:
    """The names of an enumeration. The sign of a value is that of the underlying type, else of the form."""
    unsigned = _is_unsigned(die)
    size = _number(die, at.BYTE_SIZE)
    found = []
    for child in die.children():
        if child.tag == _ENUMERATOR:
            value = child.number(at.CONST_VALUE)
            number = 0
            if value is not None:
                number = int(value.value) if unsigned else value.signed()
                if unsigned and number < 0 and size:
                    number &= (1 << 8 * size) - 1
            found.append(Enumerator(child.name or "(unnamed)", number))
    return tuple(found)


def _is_unsigned(die: Die) -> bool:
    under = die.type() if die.number(at.TYPE) is not None else None
    for _ in range(8):
        if under is None or under.tag == 0x24:
            break
        under = under.type()
    encoding = None if under is None else _number(under, _ENCODING)
    return encoding in (0x02, 0x07, 0x08, 0x10)
