"""From entries to types: `Types` makes the record of an entry, once for each.

What is broken is an error for whoever asks for that type, and for nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import (
    DW_ATE_UTF,
    DW_AT_address_class,
    DW_AT_allocated,
    DW_AT_associated,
    DW_AT_binary_scale,
    DW_AT_bit_size,
    DW_AT_byte_size,
    DW_AT_const_value,
    DW_AT_containing_type,
    DW_AT_data_bit_offset,
    DW_AT_data_location,
    DW_AT_decimal_scale,
    DW_AT_encoding,
    DW_AT_endianity,
    DW_AT_enum_class,
    DW_AT_GNU_vector,
    DW_AT_language,
    DW_AT_ordering,
    DW_AT_prototyped,
    DW_AT_rank,
    DW_AT_string_length,
    DW_AT_string_length_bit_size,
    DW_AT_string_length_byte_size,
    DW_AT_type,
    DW_AT_use_location,
    DW_ATE_boolean,
    DW_ATE_unsigned,
    DW_ATE_unsigned_char,
    DW_LANG_Fortran03,
    DW_LANG_Fortran08,
    DW_LANG_Fortran18,
    DW_LANG_Fortran77,
    DW_LANG_Fortran90,
    DW_LANG_Fortran95,
    DW_TAG_base_type,
    DW_TAG_enumeration_type,
    DW_TAG_enumerator,
    DW_TAG_formal_parameter,
    DW_TAG_generic_subrange,
    DW_TAG_subrange_type,
    DW_TAG_subroutine_type,
    DW_TAG_unspecified_parameters,
    names,
)
from dwarfgpu.errors import MalformedFile
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

_FORTRAN = frozenset(
    (
        DW_LANG_Fortran77,
        DW_LANG_Fortran90,
        DW_LANG_Fortran95,
        DW_LANG_Fortran03,
        DW_LANG_Fortran08,
        DW_LANG_Fortran18,
    )
)
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
        tag = names("DW_TAG").get(die.tag, "")[7:]
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
        return Opaque(die.tag_name, qualified_name(die), _number(die, DW_AT_byte_size), die)

    def _base(self, die: Die) -> Type:
        byte_size, bit_size = _number(die, DW_AT_byte_size), _number(die, DW_AT_bit_size)
        if byte_size is None and bit_size is not None:
            byte_size = (bit_size + 7) // 8
        endianity = _number(die, DW_AT_endianity)
        return Base(
            canonical(qualified_name(die) or "(unnamed base)"),
            _number(die, DW_AT_encoding) or 0,
            byte_size,
            bit_size,
            _number(die, DW_AT_data_bit_offset) or 0,
            _vector_size(die),
            {1: "big", 2: "little"}.get(endianity or 0),  # type: ignore[arg-type]
            _named_number(die, "DW_AT_LLVM_address_space"),
            _signed(die, DW_AT_binary_scale),
            _signed(die, DW_AT_decimal_scale),
            die,
        )

    def _pointer(self, die: Die, sign: str) -> Type:
        space = _named_number(die, "DW_AT_LLVM_address_space")
        if space is None:
            space = _number(die, DW_AT_address_class)
        size = _number(die, DW_AT_byte_size)
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
        owner = die.number(DW_AT_containing_type)
        target = die.type()
        size = _number(die, DW_AT_byte_size)
        if size is None:  # the C++ ABI of Itanium: a difference, or a pair of an address and a difference
            is_method = target is not None and target.tag == DW_TAG_subroutine_type
            size = die.unit.address_size * (2 if is_method else 1)
        containing: Lazy[Type] = Lazy.known(VOID)
        if owner is not None:
            containing = Lazy((die.unit, die.offset, "owner"), lambda: self.of(owner.reference()))
        use = bound(die, DW_AT_use_location)
        return MemberPointer(
            self.lazy(die), containing, size, use if isinstance(use, Dynamic) else None, die.name, die
        )

    def _typedef(self, die: Die) -> Type:
        return Typedef(qualified_name(die) or "(unnamed typedef)", self.lazy(die), die)

    def _struct(self, die: Die, kind: str) -> Type:
        die = definition(die)
        die_size = die.number(DW_AT_byte_size)
        size = None if die_size is None else bound_of(die_size)
        bits = _number(die, DW_AT_bit_size)
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
        underlying = None if die.number(DW_AT_type) is None else self.lazy(die)
        name = _name(die)
        is_class = die.flag(DW_AT_enum_class)
        scope = name if is_class else (name or "").rpartition("::")[0]
        return Enumeration(
            name,
            _number(die, DW_AT_byte_size),
            Lazy((die.unit, die.offset, "enumerators"), lambda: _enumerators(die)),
            underlying,
            is_class,
            f"{scope}::" if scope else "",
            die.is_declaration,
            die,
            is_cplus(die.unit),
        )

    def _function(self, die: Die) -> Type:
        children = [
            each
            for each in die.children()
            if each.tag in (DW_TAG_formal_parameter, DW_TAG_unspecified_parameters)
        ]
        parameters = tuple(self.lazy(each) for each in children if each.tag == DW_TAG_formal_parameter)
        is_variadic = any(each.tag == DW_TAG_unspecified_parameters for each in children)
        is_prototyped = die.flag(DW_AT_prototyped) or bool(parameters) or is_cplus(die.unit)
        if not is_prototyped and is_variadic and not parameters:
            is_variadic = False  # int f(): nothing is said of its parameters
        return Function(self.lazy(die), Lazy.known(parameters), is_variadic, is_prototyped, die)

    # --- Arrays and strings ---------------------------------------------------------------------------------------

    def _array(self, die: Die) -> Type:
        dimensions = []
        generic = None
        for child in die.children():
            if child.tag == DW_TAG_subrange_type:
                dimensions.append(dimension(child))
            elif child.tag == DW_TAG_generic_subrange:
                generic = dimension(child)
            elif child.tag == DW_TAG_enumeration_type:  # an array indexed by an enumeration (5.5)
                values = [each.value for each in _enumerators(definition(child))] or [0]
                dimensions.append(_indexed_by(min(values), max(values)))
        ordering = _number(die, DW_AT_ordering)
        column_major = ordering == 1 or (
            ordering is None and die.unit.root_number(DW_AT_language) in _FORTRAN
        )
        bit_stride, byte_stride = strides(die)
        size = die.number(DW_AT_byte_size)
        data = bound(die, DW_AT_data_location)
        return Array(
            self.lazy(die),
            tuple(dimensions),
            column_major,
            die.flag(DW_AT_GNU_vector),
            bit_stride,
            byte_stride,
            None if size is None else bound_of(size),
            bound(die, DW_AT_rank),
            generic,
            data if isinstance(data, Dynamic) else None,
            bound(die, DW_AT_allocated),
            bound(die, DW_AT_associated),
            die.name,
            die,
        )

    def _string(self, die: Die) -> Type:
        size = die.number(DW_AT_byte_size)
        length = bound(die, DW_AT_string_length)
        bits = _number(die, DW_AT_string_length_bit_size)
        length_size = _number(die, DW_AT_string_length_byte_size) if bits is None else (bits + 7) // 8
        data = bound(die, DW_AT_data_location)
        return String(
            die.name,
            None if size is None else bound_of(size),
            length if isinstance(length, Dynamic) else None,
            length_size,
            data if isinstance(data, Dynamic) else None,
            die,
        )

    def _subrange(self, die: Die) -> Type:
        return Subrange(
            qualified_name(die), self.lazy(die), dimension(die), _number(die, DW_AT_byte_size), die
        )

    def _unspecified(self, die: Die) -> Type:
        return Unspecified(die.name or "(unspecified)", die)


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
    size = _number(die, DW_AT_byte_size)
    found = []
    for child in die.children():
        if child.tag == DW_TAG_enumerator:
            value = child.number(DW_AT_const_value)
            number = 0
            if value is not None:
                number = int(value.value) if unsigned else value.signed()
                if unsigned and number < 0 and size:
                    number &= (1 << 8 * size) - 1
            found.append(Enumerator(child.name or "(unnamed)", number))
    return tuple(found)


def _is_unsigned(die: Die) -> bool:
    under = die.type() if die.number(DW_AT_type) is not None else None
    for _ in range(8):
        if under is None or under.tag == DW_TAG_base_type:
            break
        under = under.type()
    encoding = None if under is None else _number(under, DW_AT_encoding)
    return encoding in (DW_ATE_boolean, DW_ATE_unsigned, DW_ATE_unsigned_char, DW_ATE_UTF)
