"""The reader of types, each made once; a broken entry is an error only for those who use its type."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from typing import Any

from dwarfgpu import dialects
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import names
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, noting
from dwarfgpu.objfile.indexes.address_index import FROM_ONE
from dwarfgpu.objfile.indexes.lookup import Dwarf, index_of
from dwarfgpu.objfile.info.dies import Attribute, Die
from dwarfgpu.objfile.info.forms import LLVM_21, LLVM_OLD
from dwarfgpu.objfile.info.scopes import qualified_name, scopes_of
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import MAX_DEPTH, MAX_NUMBER, address_space, byte_size, contradiction

_FORTRAN = frozenset(getattr(dw, f"DW_LANG_Fortran{year}") for year in ("77", "90", "95", "03", "08", "18"))
"""The languages whose arrays have their first dimension contiguous, if they do not say otherwise (DWARF 5, 5.5)."""

SIGNS = {"pointer_type": "*", "reference_type": "&", "rvalue_reference_type": "&&"}
WORDS = {
    "const_type": "const",
    "volatile_type": "volatile",
    "restrict_type": "restrict",
    "atomic_type": "_Atomic",
    "packed_type": "",
    "shared_type": "",
    "immutable_type": "",
    "LLVM_ptrauth_type": "",
}
KINDS = {"structure_type": "struct", "class_type": "class", "union_type": "union", "interface_type": "interface"}


def _tags(*names: str) -> frozenset[int]:
    return frozenset(getattr(dw, f"DW_TAG_{name}") for name in names)


DECLARATORS = _tags(*SIGNS, *WORDS, "array_type", "ptr_to_member_type", "subroutine_type")
TYPES = DECLARATORS | _tags(
    *KINDS, "base_type", "coarray_type", "dynamic_type", "enumeration_type", "file_type", "set_type", "string_type",
    "template_alias", "typedef", "unspecified_type",
)  # fmt: skip
"""The tags of types."""

GENERIC = 1
"""DW_ASPACE_AMDGPU_generic (A.5.3 and AMDGPU usage, DWARF address space mapping)."""

_HIDDEN = (dw.DW_AT_data_location, dw.DW_AT_allocated, dw.DW_AT_associated)
"""The properties that any type may have (DWARF 5, 5.18)."""


class Types:
    """The types of one file, or of several files that share types. Each record is made on first use."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, int], t.Type] = {}
        self._hidden: dict[tuple[Any, int], t.Hidden] = {}

    def of(self, die: Die | None) -> t.Type:
        """Return the type that an entry describes, for a function's entry that of the function; None is void."""
        if die is None:
            return t.VOID
        key = (die.unit, die.offset)
        record = self._known.get(key)
        if record is None:
            record = self._known[key] = self._make(die)
        return record

    def used(self, die: Die | None) -> t.Type:
        """Return the type as objects have it: with its hidden indirection, which arrays and strings have themselves."""
        kind = self.of(die)
        if die is None or isinstance(kind, (t.Array, t.String, t.Function)) or not any(map(die.number, _HIDDEN)):
            return kind
        key = (die.unit, die.offset)
        wrapper = self._hidden.get(key)
        if wrapper is None:
            data, allocated, associated = (bound(die, number) for number in _HIDDEN)
            location = data if isinstance(data, t.Dynamic) else None
            wrapper = t.Hidden("", t.Lazy.known(kind), die, location, allocated, associated)
            self._hidden[key] = wrapper
        return wrapper

    def type_of(self, die: Die) -> t.Type:
        """Return the type that an entry has, such as a variable, parameter, member or constant."""
        return self.used(die.type())

    def lazy(self, die: Die) -> t.Lazy[t.Type]:
        """Return the type that an entry has, to be read on first use."""
        return t.Lazy((die.unit, die.offset, "type"), lambda: self.used(die.type()))

    # --- By tag ---------------------------------------------------------------------------------------------------

    def _make(self, die: Die) -> t.Type:
        tag = names("DW_TAG").get(die.tag, "")[7:]
        if tag in SIGNS:
            return self._pointer(die, SIGNS[tag])
        if tag in WORDS:
            return t.Qualified(WORDS[tag], self.lazy(die), die)
        if tag in KINDS:
            return self._struct(die, KINDS[tag])
        make: Callable[[Die], t.Type] | None = getattr(self, f"_{tag}", None)
        if make is not None:
            return make(die)
        if not tag.endswith("_type"):
            error = MalformedFile("no_type", f"{die.tag_name} is not a type", spec="DWARF 5, 5")
            raise die.unit.error(error, die.offset)
        return t.Opaque(die.tag_name, qualified_name(die), _number(die, dw.DW_AT_byte_size), die)

    def _base_type(self, die: Die) -> t.Type:
        byte_size, bit_size = _number(die, dw.DW_AT_byte_size), _number(die, dw.DW_AT_bit_size)
        if byte_size is None and bit_size is not None:
            byte_size = (bit_size + 7) // 8
        endianity = _number(die, dw.DW_AT_endianity)
        size = _named_number(die, "DW_AT_LLVM_vector_size")
        if size == 0:
            error = MalformedFile("bad_type", "DW_AT_LLVM_vector_size is not greater than 0", spec="A.5.1 (1)")
            raise die.unit.error(error, die.offset)
        return t.Base(
            canonical(qualified_name(die) or "(unnamed base)"),
            _number(die, dw.DW_AT_encoding) or 0,
            byte_size,
            bit_size,
            _number(die, dw.DW_AT_data_bit_offset) or 0,
            size,
            {1: "big", 2: "little"}.get(endianity or 0),  # type: ignore[arg-type]
            _named_number(die, "DW_AT_LLVM_address_space"),
            _signed(die, dw.DW_AT_binary_scale),
            _signed(die, dw.DW_AT_decimal_scale),
            die,
        )

    def _pointer(self, die: Die, sign: str) -> t.Type:
        space = _space(die)
        size, null = _pointer_form(die, space)
        pointer = t.Pointer(
            sign, self.lazy(die), size, space, _named_number(die, "DW_AT_LLVM_memory_space"), die.name, die, null
        )
        error = contradiction(pointer)
        if error is not None:
            die.unit.dwarf.note(error)
        return pointer

    def _ptr_to_member_type(self, die: Die) -> t.Type:
        owner = die.number(dw.DW_AT_containing_type)
        target = die.type()
        size = _number(die, dw.DW_AT_byte_size)
        if size is None:  # the C++ ABI of Itanium: a difference, or a pair of an address and a difference
            is_method = target is not None and target.tag == dw.DW_TAG_subroutine_type
            size = die.unit.address_size * (2 if is_method else 1)
        containing: t.Lazy[t.Type] = t.Lazy.known(t.VOID)
        if owner is not None:
            containing = t.Lazy((die.unit, die.offset, "owner"), lambda: self.of(owner.reference()))
        use = bound(die, dw.DW_AT_use_location)
        return t.MemberPointer(
            self.lazy(die), containing, size, use if isinstance(use, t.Dynamic) else None, die.name, die
        )

    def _typedef(self, die: Die) -> t.Type:
        return t.Typedef(qualified_name(die) or "(unnamed typedef)", self.lazy(die), die)

    _template_alias = _typedef

    def _struct(self, die: Die, kind: str) -> t.Type:
        die = definition(die)
        size = bound(die, dw.DW_AT_byte_size)
        bits = _number(die, dw.DW_AT_bit_size)
        if size is None and bits is not None:
            size = (bits + 7) // 8
        return t.Struct(
            kind,
            _name(die),
            size,
            t.Lazy((die.unit, die.offset, "body"), lambda: body(self, die)),
            die.is_declaration,
            die,
            is_cplus(die.unit),
        )

    def _enumeration_type(self, die: Die) -> t.Type:
        die = definition(die)
        underlying = None if die.number(dw.DW_AT_type) is None else self.lazy(die)
        name = _name(die)
        is_class = die.flag(dw.DW_AT_enum_class)
        scope = name if is_class else _scope(die) if name is None else name.rpartition("::")[0]
        return t.Enumeration(
            name,
            _number(die, dw.DW_AT_byte_size),
            t.Lazy((die.unit, die.offset, "enumerators"), lambda: _enumerators(die)),
            underlying,
            is_class,
            f"{scope}::" if scope else "",
            die.is_declaration,
            die,
            is_cplus(die.unit),
        )

    def _subroutine_type(self, die: Die) -> t.Type:
        children = [
            child
            for child in die.children()
            if child.tag in (dw.DW_TAG_formal_parameter, dw.DW_TAG_unspecified_parameters)
        ]
        parameters = tuple(self.lazy(child) for child in children if child.tag == dw.DW_TAG_formal_parameter)
        is_variadic = any(child.tag == dw.DW_TAG_unspecified_parameters for child in children)
        is_prototyped = die.flag(dw.DW_AT_prototyped) or bool(parameters) or is_cplus(die.unit)
        if not is_prototyped and is_variadic and not parameters:
            is_variadic = False  # int f(): nothing is said of its parameters
        return t.Function(self.lazy(die), t.Lazy.known(parameters), is_variadic, is_prototyped, die)

    _subprogram = _entry_point = _subroutine_type

    # --- Arrays and strings ---------------------------------------------------------------------------------------

    def _array_type(self, die: Die) -> t.Type:
        dimensions = []
        generic = None
        for child in die.children():
            if child.tag == dw.DW_TAG_subrange_type:
                dimensions.append(dimension(child))
            elif child.tag == dw.DW_TAG_generic_subrange:
                generic = dimension(child)
            elif child.tag == dw.DW_TAG_enumeration_type:  # an array indexed by an enumeration (5.5)
                values = [enumerator.value for enumerator in _enumerators(definition(child))] or [0]
                dimensions.append(t.Dimension(min(values), max(values)))
        ordering = _number(die, dw.DW_AT_ordering)
        column_major = ordering == 1 or (ordering is None and die.unit.root_number(dw.DW_AT_language) in _FORTRAN)
        bit_stride, byte_stride = strides(die)
        data = bound(die, dw.DW_AT_data_location)
        return t.Array(
            self.lazy(die),
            tuple(dimensions),
            column_major,
            die.flag(dw.DW_AT_GNU_vector),
            bit_stride,
            byte_stride,
            bound(die, dw.DW_AT_byte_size),
            bound(die, dw.DW_AT_rank),
            generic,
            data if isinstance(data, t.Dynamic) else None,
            bound(die, dw.DW_AT_allocated),
            bound(die, dw.DW_AT_associated),
            die.name,
            die,
        )

    def _string_type(self, die: Die) -> t.Type:
        length = bound(die, dw.DW_AT_string_length)
        bits = _number(die, dw.DW_AT_string_length_bit_size)
        length_size = _number(die, dw.DW_AT_string_length_byte_size) if bits is None else (bits + 7) // 8
        data = bound(die, dw.DW_AT_data_location)
        return t.String(
            die.name,
            bound(die, dw.DW_AT_byte_size),
            length if isinstance(length, t.Dynamic) else None,
            length_size,
            data if isinstance(data, t.Dynamic) else None,
            die,
        )

    def _subrange_type(self, die: Die) -> t.Type:
        return t.Subrange(qualified_name(die), self.lazy(die), dimension(die), _number(die, dw.DW_AT_byte_size), die)

    _generic_subrange = _subrange_type

    def _unspecified_type(self, die: Die) -> t.Type:
        return t.UnspecifiedType(die.name or "(unspecified)", die)


# --- Attributes of types ------------------------------------------------------------------------------------------


def _number(die: Die, number: int) -> int | None:
    attribute = die.number(number)
    return None if attribute is None or attribute.value_class != "constant" else attribute.unsigned()


def _space(die: Die) -> int | None:
    """Return the address space of a pointer or a reference; None is the default one.

    Pointers of HIP are generic, and clang before LLVM 22 writes no class for that. In OpenCL those without are global.
    """
    space = _named_number(die, "DW_AT_LLVM_address_space")
    if space is None:
        space = die.unit.dialect.space_of_class(_number(die, dw.DW_AT_address_class))
    if space is None and die.unit.dialect in (LLVM_21, LLVM_OLD) and is_cplus(die.unit):
        return None if address_space(die, GENERIC) is None else GENERIC
    return space


def _pointer_form(die: Die, number: int | None) -> tuple[int, int]:
    """Return the bytes and the null of a pointer into an address space.

    A pointer is read as a base type "matching the address size of" its space (A.5.3); its own size is stronger.
    """
    usual, null = die.unit.address_size, 0
    space = address_space(die, number)
    if space is not None:
        usual, null = space.address_bits // 8, space.null or 0
    size, bits = _number(die, dw.DW_AT_byte_size), _number(die, dw.DW_AT_bit_size)
    if size is None and bits is not None:
        size = (bits + 7) // 8
    if size is None:
        return usual, null
    return size, null & (1 << 8 * min(size, 8)) - 1


def _signed(die: Die, number: int) -> int | None:
    attribute = die.number(number)
    return None if attribute is None else attribute.signed()


def _named_number(die: Die, name: str) -> int | None:
    """Return a constant whose attribute has a number that depends on the dialect."""
    attribute = die.get(name)
    return None if attribute is None or attribute.value_class != "constant" else attribute.unsigned()


def _name(die: Die) -> str | None:
    name = qualified_name(die)
    return None if name is None else canonical(name)


def _scope(die: Die) -> str:
    """Return the scope of the names that an unnamed enumeration of C++ declares; a class without a name gives none."""
    owner = next(iter(die.ancestors()), None)
    if owner is None or not is_cplus(die.unit) or (owner.name is None and owner.tag != dw.DW_TAG_namespace):
        return ""
    return canonical("::".join(scope for scope, _ in scopes_of(die)))


def _enumerators(die: Die) -> tuple[t.Enumerator, ...]:
    """Read the enumerators as numbers of the type; forms without a sign are extended with zeros (`constant_bytes`)."""
    base = base_type_of(die)
    encoding = None if base is None else _number(base, dw.DW_AT_encoding)
    unsigned = encoding in (dw.DW_ATE_boolean, dw.DW_ATE_unsigned, dw.DW_ATE_unsigned_char, dw.DW_ATE_UTF)
    size = min(_number(die, dw.DW_AT_byte_size) or 0, MAX_NUMBER)  # a larger one is an error where it is read
    enumerators = []
    for child in die.children():
        if child.tag == dw.DW_TAG_enumerator:
            value = child.number(dw.DW_AT_const_value)
            number = 0 if value is None else value.integer()
            if size and unsigned:
                number &= (1 << 8 * size) - 1
            elif size and number >= 0:
                pattern = number & ((1 << 8 * size) - 1)
                number = pattern - (pattern >> (8 * size - 1) << 8 * size)
            enumerators.append(t.Enumerator(child.name or "(unnamed)", number))
    return tuple(enumerators)


# --- Definitions of declared types --------------------------------------------------------------------------------

_CLASSES = frozenset((dw.DW_TAG_class_type, dw.DW_TAG_structure_type, dw.DW_TAG_interface_type))
"""The tags that count as one: a declaration may have another of them than the definition."""


def definition(die: Die) -> Die:
    """Return the entry that defines what an entry declares; the entry itself if nothing does.

    A signature names a type unit (DWARF 5, 5.7.1); without one the name is all there is, as in C's ``struct node;``.
    """
    signature = die.number(dw.DW_AT_signature)
    if signature is not None:
        return signature.reference()
    if not die.is_declaration:
        return die
    name = qualified_name(die)
    if name is None:
        return die
    fallback = None
    with noting(die.unit.dwarf.note):  # that a unit is broken does not make the declaration so
        for entry in index_of(die.unit).find(f"::{name}"):
            other = entry.die
            is_same_kind = die.tag == other.tag or {die.tag, other.tag} <= _CLASSES
            if entry.kind != "type" or not is_same_kind or other.is_declaration:
                continue
            if other.unit is die.unit:
                return other
            fallback = fallback or other
    return fallback or die


# --- Types by name ------------------------------------------------------------------------------------------------

_CLASS_KEYWORDS = ("struct", "class")


def find_type(dwarf: Dwarf, types: Types, name: str, keyword: str = "") -> t.Type | None:
    """Return the type with a name, preferring a defined one. None if no type has the name.

    ``keyword`` is ``struct``, ``class``, ``union`` or ``enum``. In C the names behind these keywords are apart from all
    others (C23, 6.2.3), so there they must be said; in C++ they need not.
    """
    declared: t.Type | None = None
    for spelling in spellings(canonical(name)):
        for entry in dwarf.index.find(spelling):
            if entry.kind != "type":
                continue
            try:
                kind = types.of(entry.die)
            except DwarfGpuError as error:
                dwarf.note(error)
                continue
            if not _is_meant(kind, keyword):
                continue
            if not kind.is_incomplete:
                return types.used(entry.die)
            declared = declared or kind
    return declared


def _is_meant(type: t.Type, keyword: str) -> bool:
    if isinstance(type, t.Struct):
        word, is_cplus = type.kind, type.is_cplus
    elif isinstance(type, t.Enumeration):
        word, is_cplus = "enum", type.is_cplus
    else:
        return not keyword
    if not keyword:
        return is_cplus
    return word == keyword or (word in _CLASS_KEYWORDS and keyword in _CLASS_KEYWORDS)


# --- Spellings of type names --------------------------------------------------------------------------------------

_RUN = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?: [A-Za-z_]\w*)*(?![\w:])")
_ARITHMETIC = frozenset(("unsigned", "signed", "long", "short", "int", "char", "double"))
_QUALIFIERS = ("const", "volatile")
_CPLUS_NAMES = ("C_plus_plus", "ObjC_plus_plus", "OpenCL_CPP", "CPP_for_OpenCL", "SYCL", "HIP", "Rust", "D")
"""C++, Objective-C++, C++ for OpenCL, SYCL, HIP; and Rust and D, whose names have scopes as well."""
_CPLUS_VERSIONS = ("C_plus_plus_03", "C_plus_plus_11", "C_plus_plus_14", "C_plus_plus_17", "C_plus_plus_20", "LLVM_HIP")
_CPLUS = frozenset(getattr(dw, f"DW_LANG_{name}") for name in (*_CPLUS_NAMES, *_CPLUS_VERSIONS))
_CPLUS_DWARF6 = frozenset(getattr(dw, f"DW_LNAME_{name}") for name in _CPLUS_NAMES)


def canonical(name: str) -> str:
    """Return a name with each arithmetic type in its shortest usual words, also in template arguments."""
    return _RUN.sub(_shortest, name)


def _shortest(match: re.Match[str]) -> str:
    words = match[0].split()
    front = [word for word in words if word in _QUALIFIERS]
    words = [word for word in words if word not in _QUALIFIERS]
    if not words or not _ARITHMETIC.issuperset(words) or "double" in words or "char" in words:
        return match[0]
    sign = ["unsigned"] if "unsigned" in words else []
    if "short" in words:
        return " ".join([*front, *sign, "short"])
    longs = ["long"] * words.count("long")
    return " ".join([*front, *sign, *(longs or ["int"])])


def is_cplus(unit: Unit) -> bool:
    """Return whether types are named without a keyword, and functions have scopes."""
    language = unit.root_number(dw.DW_AT_language)
    if language is None:
        return unit.root_number(dw.DW_AT_language_name) in _CPLUS_DWARF6
    return language in _CPLUS


def speaks_cplus(kind: t.Type) -> bool:
    """Return whether a type is named as in C++: without ``struct``, and with ``(void)`` for no parameters."""
    for _ in range(MAX_DEPTH):
        if isinstance(kind, (t.Struct, t.Enumeration)):
            return kind.is_cplus
        if kind.die is not None:
            return is_cplus(kind.die.unit)
        if isinstance(kind, t.MemberPointer):
            return True
        if isinstance(kind, (t.Pointer, t.Qualified, t.Typedef)):
            kind = kind.target
        elif isinstance(kind, t.Array):
            kind = kind.element
        elif isinstance(kind, t.Function):
            kind = kind.result
        else:
            break
    return False


_LONGER = {
    "short": "short int",
    "unsigned short": "short unsigned int",
    "long": "long int",
    "unsigned long": "long unsigned int",
    "long long": "long long int",
    "unsigned long long": "long long unsigned int",
}
"""How GCC names the types that have several names."""


def spellings(name: str) -> tuple[str, ...]:
    """Return the ways in which producers write a canonical name: as it is, or as GCC does."""
    longer = _RUN.sub(lambda match: _LONGER.get(match[0], match[0]), name)
    return (name,) if longer == name else (name, longer)


# --- Parts of types, and bounds of arrays -----------------------------------------------------------------------------


_ACCESS = {dw.DW_ACCESS_public: "public", dw.DW_ACCESS_protected: "protected", dw.DW_ACCESS_private: "private"}
_PLUS_UCONST = dialects.get("dwarf5").by_name["DW_OP_plus_uconst"].opcode
MAX_MEMBERS = 1 << 16
"""More than any type has: a limit against hostile input."""


def body(types: Types, die: Die) -> t.Body:
    """Read everything that the entry of a structure, class or union owns."""
    parts: defaultdict[str, list[Any]] = defaultdict(list)
    for index, child in enumerate(die.children()):
        if index > MAX_MEMBERS:
            message = f"a type has more than {MAX_MEMBERS} parts"
            raise die.unit.error(MalformedFile("limit_exceeded", message, spec="DWARF 5, 5.7"), die.offset)
        tag = child.tag
        if tag == dw.DW_TAG_inheritance:
            parts["bases"].append(_base(types, child))
        elif tag == dw.DW_TAG_variable or (tag == dw.DW_TAG_member and _is_static(child)):
            name = child.name or "(unnamed)"
            parts["order"].append(name)
            parts["statics"].append(t.StaticMember(name, types.lazy(child), child, _access(child)))
        elif tag == dw.DW_TAG_member:
            parts["order"].append(len(parts["members"]))
            parts["members"].append(member(types, child))
        elif tag == dw.DW_TAG_variant_part:
            parts["variant_parts"].append(_variant_part(types, child))
        elif tag == dw.DW_TAG_subprogram:
            parts["methods"].append(_method(types, child))
        elif tag == dw.DW_TAG_typedef:
            parts["typedefs"].append(types.of(child))
        elif tag == dw.DW_TAG_template_type_parameter:
            parts["arguments"].append(t.TemplateArgument(child.name or "", types.lazy(child)))
        elif tag == dw.DW_TAG_GNU_template_parameter_pack:
            parts["pack"] += [
                t.TemplateArgument(argument.name or "", types.lazy(argument))
                for argument in islice(child.children(), MAX_MEMBERS)
                if argument.tag == dw.DW_TAG_template_type_parameter
            ]
    return t.Body(**{name: tuple(found) for name, found in parts.items()})


def member(types: Types, die: Die) -> t.Member:
    """Read a data member."""
    to = types.lazy(die)
    bits = die.number(dw.DW_AT_bit_size)
    bit_size = None if bits is None else bits.unsigned()
    offset, location = _place(die)
    if location is None:
        offset = _bit_offset(die, to, offset, bit_size)
    return t.Member(die.name, to, offset, bit_size, location, _access(die), die.flag(dw.DW_AT_artificial), die)


def _place(die: Die) -> tuple[int, t.Dynamic | None]:
    """Return the offset that DW_AT_data_member_location states, in bits, or how it is computed; 0 without it."""
    offset = die.number(dw.DW_AT_data_member_location)
    if offset is None:
        return 0, None
    value = bound_of(offset)
    if isinstance(value, int):
        return value * 8, None
    if isinstance(value, t.Dynamic) and value.expression is not None:
        constant = _constant_offset(value.expression)
        if constant is not None:
            return constant * 8, None
    return 0, value


def _constant_offset(data: bytes) -> int | None:
    """Return the offset that a DW_OP_plus_uconst adds, which is how DWARF 2 writes every offset."""
    if data[:1] != _PLUS_UCONST or len(data) > 10:
        return None
    value = 0
    for index, byte in enumerate(data[1:]):
        value |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            return value if index + 2 == len(data) else None
    return None


def _bit_offset(die: Die, to: t.Lazy[t.Type], offset: int, bit_size: int | None) -> int:
    """Return the bit at which a member begins.

    DW_AT_data_bit_offset counts from the beginning of the structure (DWARF 5, 5.7.6). DW_AT_bit_offset counts from the
    most significant bit of the storage unit, whose size is DW_AT_byte_size or that of the type (DWARF 3, 5.6.6).
    """
    new = die.number(dw.DW_AT_data_bit_offset)
    if new is not None:
        value = bound_of(new)
        return offset + value if isinstance(value, int) else offset
    old = die.number(dw.DW_AT_bit_offset)
    if old is None or bit_size is None or old.value_class != "constant":
        return offset
    from_top = old.signed()
    if die.unit.format.byte_order == "big":
        return offset + from_top
    unit_size = die.number(dw.DW_AT_byte_size)
    size = unit_size.unsigned() if unit_size is not None else byte_size(to.get())
    return offset + size * 8 - from_top - bit_size


def _base(types: Types, die: Die) -> t.BaseClass:
    offset, location = _place(die)
    return t.BaseClass(types.lazy(die), offset, location, _is_virtual(die) or location is not None, _access(die))


def _is_virtual(die: Die) -> bool:
    virtual = die.number(dw.DW_AT_virtuality)
    return virtual is not None and virtual.value not in (0, None)


def _is_static(die: Die) -> bool:
    """Return whether all objects share a member, which is a declaration before DWARF 5 made it a variable (5.7.7)."""
    return die.is_declaration or (die.flag(dw.DW_AT_external) and die.number(dw.DW_AT_data_member_location) is None)


# --- Variants -----------------------------------------------------------------------------------------------------


def _variant_part(types: Types, die: Die) -> t.VariantPart:
    discriminant = die.number(dw.DW_AT_discr)
    entry = None if discriminant is None else discriminant.reference()
    variants = []
    for child in die.children():
        if child.tag == dw.DW_TAG_variant:
            members = tuple(member(types, entry) for entry in child.children() if entry.tag == dw.DW_TAG_member)
            variants.append(t.Variant(_labels(child), members))
    return t.VariantPart(None if entry is None else member(types, entry), tuple(variants))


def _labels(die: Die) -> tuple[tuple[int, int], ...] | None:
    """Return the values of the discriminant that choose a variant; None for the default variant."""
    value = die.number(dw.DW_AT_discr_value)
    if value is not None:
        number = int(value.value) if value.form == dw.DW_FORM_udata else value.signed()
        return ((number, number),)
    values = die.number(dw.DW_AT_discr_list)
    return None if values is None else _label_list(values.block().data)


def _label_list(data: bytes) -> tuple[tuple[int, int], ...]:
    """Decode DW_AT_discr_list: DW_DSC_label and a value, or DW_DSC_range and two values (7.5.4)."""
    cursor = Cursor(data)
    ranges = []
    while cursor.position < cursor.end:
        kind = cursor.unsigned(1)
        first = cursor.sleb()
        ranges.append((first, cursor.sleb() if kind else first))
    return tuple(ranges)


# --- Methods ------------------------------------------------------------------------------------------------------


def _method(types: Types, die: Die) -> t.Method:
    first = next((child for child in die.children() if child.tag == dw.DW_TAG_formal_parameter), None)
    has_object = die.number(dw.DW_AT_object_pointer) is not None or (
        first is not None and first.flag(dw.DW_AT_artificial)
    )
    qualifiers: tuple[str, ...] = ()
    if has_object and first is not None:
        qualifiers = object_qualifiers(types.type_of(first))
    to: t.Lazy[Any] = t.Lazy((die.unit, die.offset, "function"), lambda: types.of(die))
    return t.Method(
        die.name or "(unnamed)",
        to,
        _access(die),
        _is_virtual(die),
        not has_object,
        die.flag(dw.DW_AT_artificial),
        qualifiers,
        die.linkage_name,
        die,
    )


def object_qualifiers(kind: t.Type) -> tuple[str, ...]:
    """Return the qualifiers of the target of ``this``, which are those of the method."""
    while isinstance(kind, t.Qualified):
        kind = kind.target
    words: list[str] = []
    if isinstance(kind, t.Pointer):
        kind = kind.target
        while isinstance(kind, t.Qualified) and len(words) < 4:
            words.append(kind.word)
            kind = kind.target
    return tuple(words)


def _access(die: Die) -> str | None:
    access = die.number(dw.DW_AT_accessibility)
    return None if access is None else _ACCESS.get(access.value)


# --- Bounds, counts and strides of arrays -------------------------------------------------------------------------

_DATA = frozenset((dw.DW_FORM_data1, dw.DW_FORM_data2, dw.DW_FORM_data4, dw.DW_FORM_data8, dw.DW_FORM_data16))
_SIGNED = frozenset((dw.DW_ATE_signed, dw.DW_ATE_signed_char, dw.DW_ATE_signed_fixed))


def bound(die: Die, number: int) -> t.Bound:
    """Return the value of an attribute of an entry, by number; None if the entry does not have it."""
    attribute = die.number(number)
    return None if attribute is None else bound_of(attribute)


def bound_of(attribute: Attribute) -> t.Bound:
    """Return the value of an attribute that may be a number, an expression or a reference (2.19)."""
    kind = attribute.value_class
    if kind == "constant":
        return int(attribute.value)
    if kind == "reference":
        return t.Dynamic(attribute, attribute.reference())
    if kind in ("exprloc", "block", "loclist"):
        return t.Dynamic(attribute)
    message = f"{attribute.name} is neither a number nor computed ({attribute.form_name})"
    error = MalformedFile("bad_class", message, spec="DWARF 5, 2.19")
    raise attribute.die.unit.error(error, attribute.die.offset)


def dimension(die: Die) -> t.Dimension:
    """Read the dimension that a DW_TAG_subrange_type or DW_TAG_generic_subrange describes."""
    lower = _signed_bound(die, dw.DW_AT_lower_bound)
    if lower is None:
        lower = int(die.unit.root_number(dw.DW_AT_language) in FROM_ONE)
    bit_stride, byte_stride = strides(die)
    return t.Dimension(lower, _signed_bound(die, dw.DW_AT_upper_bound), _count(die), bit_stride, byte_stride)


def strides(die: Die) -> tuple[t.Bound, t.Dynamic | None]:
    """Return DW_AT_bit_stride, or DW_AT_byte_stride in bits if it is a number; else how it is computed."""
    stride = die.number(dw.DW_AT_byte_stride)
    if stride is None:
        stride = die.number(dw.DW_AT_bit_stride)
        return (None if stride is None else _constant_signed(stride)), None
    value = _constant_signed(stride)
    return (value * 8, None) if isinstance(value, int) else (None, value)


def _constant_signed(attribute: Attribute) -> t.Bound:
    return attribute.signed() if attribute.value_class == "constant" else bound_of(attribute)


def _count(die: Die) -> t.Bound:
    """Return the number of elements. LLVM once wrote all ones for an array without a count."""
    attribute = die.number(dw.DW_AT_count)
    if attribute is None:
        return None
    value = bound_of(attribute)
    if isinstance(value, int) and (value < 0 or (attribute.form == dw.DW_FORM_data8 and value == (1 << 64) - 1)):
        return None
    return value


def _signed_bound(die: Die, number: int) -> t.Bound:
    """Return a bound with the sign of the index type: producers write bounds in forms without a sign (7.5.5).

    So 0xff in DW_FORM_data1 is 255, whatever the index; but a pattern that is negative in the index type is negative,
    and so is one of 64 bits that begins with a one.
    """
    attribute = die.number(number)
    if attribute is None:
        return None
    value = bound_of(attribute)
    if not isinstance(value, int) or attribute.form not in _DATA or value < 0:
        return value
    bits = 64 if attribute.form == dw.DW_FORM_data8 and value >> 63 else _signed_index_bits(die)
    if bits and value >> (bits - 1) == 1:
        return value - (1 << bits)
    return value


def base_type_of(die: Die) -> Die | None:
    """Return the base type that the type of an entry leads to, through names and qualifiers; None where it does not."""
    for _ in range(9):
        if die.number(dw.DW_AT_type) is None or (target := die.type()) is None:
            return None
        if target.tag == dw.DW_TAG_base_type:
            return target
        die = target
    return None


def _signed_index_bits(die: Die) -> int:
    """Return how many bits the index type of a subrange has if it is signed, else 0."""
    index = base_type_of(die)
    if index is None:
        return 0
    encoding, size = index.number(dw.DW_AT_encoding), index.number(dw.DW_AT_byte_size)
    if encoding is None or size is None or encoding.value not in _SIGNED or type(size.value) is not int:
        return 0
    return 8 * size.value if 0 < size.value <= 16 else 0
