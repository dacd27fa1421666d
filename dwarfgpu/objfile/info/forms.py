"""Attributes and forms: how a value is encoded, what class it has, and which number is which attribute.

Forms and classes are those of DWARF 5 section 7.5.5 and 7.5.6, numbers and names those of 7.5.4, which for LLVM's
depend on the dialect (A.7.5.4).

The attributes of the heterogeneous extensions were numbered anew in 2025. The document this project follows still has
the numbers of before; compilers used those until then, and now use them for other attributes. So a number from 0x3e08
on has two meanings, and the bytes do not tell which: an `AttributeDialect` is chosen by the user, who knows where they
come from, or by the rule of `dialect_for`, and results name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import LLVM_OLD_ATTRIBUTES, name_of, names
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import Unsupported, UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format

    Class: TypeAlias = Literal[
        "address", "addrptr", "block", "constant", "exprloc", "flag", "lineptr", "loclist", "loclistsptr", "macptr",
        "reference", "rnglist", "rnglistsptr", "string", "stroffsetsptr", "unknown",
    ]  # fmt: skip
    Encoding: TypeAlias = Literal[
        "u1", "u2", "u3", "u4", "u8", "u16", "address", "offset", "reference", "uleb", "sleb", "string",
        "block1", "block2", "block4", "block", "nothing", "implicit", "indirect", "index_offset",
    ]  # fmt: skip


@frozen
class Form:
    """One form. ``base`` is the class of its values, unless the attribute decides (`class_of`)."""

    code: int
    name: str
    encoding: Encoding
    base: Class


@frozen
class Indirect:
    """The value of DW_FORM_indirect: the form in the data, and the value in that form."""

    form: int
    value: Any


_ROWS: dict[Class, str] = {
    "address": "addr=address addrx=uleb addrx1=u1 addrx2=u2 addrx3=u3 addrx4=u4 GNU_addr_index=uleb "
    "LLVM_addrx_offset=index_offset",
    "block": "block1=block1 block2=block2 block4=block4 block=block",
    "constant": "data1=u1 data2=u2 data4=u4 data8=u8 data16=u16 sdata=sleb udata=uleb implicit_const=implicit",
    "exprloc": "exprloc=block",
    "flag": "flag=u1 flag_present=nothing",
    "loclist": "loclistx=uleb",
    "reference": "ref_addr=reference ref1=u1 ref2=u2 ref4=u4 ref8=u8 ref_udata=uleb ref_sup4=u4 ref_sup8=u8 "
    "ref_sig8=u8 GNU_ref_alt=offset",
    "rnglist": "rnglistx=uleb",
    "string": "string=string strp=offset line_strp=offset strp_sup=offset GNU_strp_alt=offset strx=uleb strx1=u1 "
    "strx2=u2 strx3=u3 strx4=u4 GNU_str_index=uleb",
    "unknown": "indirect=indirect sec_offset=offset",
}
"""The forms by class, each with its encoding."""


def _forms() -> Iterator[Form]:
    for base, rows in _ROWS.items():
        for row in rows.split():
            name, _, encoding = row.partition("=")
            (code,) = dw.numbers("DW_FORM", name)
            yield Form(code, name_of("DW_FORM", code), cast("Encoding", encoding), base)


FORMS = {form.code: form for form in _forms()}
"""Every form of DWARF 2 to 5, of GNU and of LLVM. The drafts of version 6 have not numbered any further one."""

_INDICES = frozenset(("uleb", "u1", "u2", "u3", "u4"))
STRING_INDEX = frozenset(code for code, form in FORMS.items() if form.base == "string" and form.encoding in _INDICES)
"""Strings through ``.debug_str_offsets``."""
ADDRESS_INDEX = frozenset(code for code, form in FORMS.items() if form.base == "address" and form.encoding in _INDICES)
"""Addresses through ``.debug_addr``."""
STRINGS = frozenset(code for code, form in FORMS.items() if form.base == "string")
LOOKED_UP = STRINGS | ADDRESS_INDEX | {dw.DW_FORM_LLVM_addrx_offset, dw.DW_FORM_indirect}
"""The forms whose values stand for a text or an address, or may do so (`Unit.decoded`)."""
REF_UNIT = dw.numbers("DW_FORM", "ref1 ref2 ref4 ref8 ref_udata")
"""References that count from the beginning of their unit."""
REF_SUPPLEMENTARY = dw.numbers("DW_FORM", "ref_sup4 ref_sup8 GNU_ref_alt")
"""References to the supplementary object file."""
UNSIGNED = dw.numbers("DW_FORM", "data1 data2 data4 data8 udata")
"""Numbers without a sign, such as sizes."""
BLOCKS = dw.numbers("DW_FORM", "block block1 block2 block4")
NO_DATA = dw.numbers("DW_FORM", "flag_present implicit_const")
"""Forms whose value is in the abbreviation."""

FIXED: dict[str, int] = {"u1": 1, "u2": 2, "u3": 3, "u4": 4, "u8": 8, "u16": 16, "nothing": 0, "implicit": 0}
MAX_INDIRECTION = 8
"""How often DW_FORM_indirect may lead to itself."""


def form(code: int) -> Form:
    """Return the form with a code; raise an error if it is unknown, as the size of its value is then unknown, too."""
    known = FORMS.get(code)
    if known is None:
        message = f"the form {code:#x} is unknown, and so is the size of its value"
        raise Unsupported("unknown_form", message, spec="DWARF 5, 7.5.6")
    return known


def form_name(code: int) -> str:
    """Return the name of a form, also of an unknown one."""
    return name_of("DW_FORM", code)


def fixed_size(encoding: Encoding, format: Format) -> int | None:
    """Return how many bytes a value has, if the form alone determines it."""
    if encoding == "offset":
        return 8 if format.offset_size == 8 else 4
    if encoding == "address":
        return format.address_size
    if encoding == "reference":
        return format.reference_size
    return FIXED.get(encoding)


# What an offset into a section is the beginning of (DWARF 5, table 7.5, and the GNU attributes).
_POINTED: dict[Class, str] = {
    "addrptr": "addr_base GNU_addr_base",
    "lineptr": "stmt_list",
    "loclist": "location string_length return_addr data_member_location frame_base segment static_link use_location "
    "vtable_elem_location GNU_locviews",
    "loclistsptr": "loclists_base",
    "macptr": "macro_info macros GNU_macros",
    "rnglist": "start_scope ranges",
    "rnglistsptr": "rnglists_base GNU_ranges_base",
    "stroffsetsptr": "str_offsets_base",
}
_POINTERS = {number: kind for kind, words in _POINTED.items() for number in dw.numbers("DW_AT", words)}
_POINTER_NAMES: dict[str, Class] = {
    "DW_AT_LLVM_active_lane": "loclist",
    "DW_AT_LLVM_iterations": "loclist",
    "DW_AT_LLVM_lane_pc": "loclist",
    "DW_AT_LLVM_stmt_sequence": "lineptr",
}
"""The same for attributes whose number depends on the dialect (A.3.3.5)."""

_NUMBERS = frozenset((dw.DW_AT_data_member_location,))
"""DWARF 3 says that data4 and data8 are the offset of a list here. Compilers write a list
nowhere and offsets of members in these forms, so they are read as numbers in every version."""
_TRUE_BLOCKS = frozenset((dw.DW_AT_const_value, dw.DW_AT_discr_list))
"""The blocks of the standard that are not expressions (table 7.5)."""


def class_of(code: int, attribute: int, version: int, name: str = "") -> Class:
    """Return the class of an attribute's value (DWARF 5, 7.5.5).

    Two kinds of values had no form of their own before version 4: expressions were blocks, and offsets into other
    sections were data4 or data8. Then the attribute decides, as it does for DW_FORM_sec_offset.
    """
    known = FORMS.get(code)
    if known is None:
        return "unknown"
    if code == dw.DW_FORM_sec_offset or (
        version < 4 and code in (dw.DW_FORM_data4, dw.DW_FORM_data8) and attribute not in _NUMBERS
    ):
        pointer = _POINTERS.get(attribute) or _POINTER_NAMES.get(name)
        if pointer is not None:
            return pointer
    elif version < 4 and code in BLOCKS and attribute not in _TRUE_BLOCKS:
        return "exprloc"
    return known.base


def read_value(cursor: Cursor, code: int, format: Format) -> Any:
    """Read one value: an int, bytes (block or string), a bool for flag_present, or `Indirect`.

    An index with an offset (DW_FORM_LLVM_addrx_offset) is the pair of both. This is the plain description of every
    form; whole entries are read by the readers that `readers` generates.
    """
    encoding = form(code).encoding
    if encoding == "indirect":
        return _read_indirect(cursor, format)
    if encoding == "nothing":
        return True
    if encoding == "implicit":
        return 0
    size = fixed_size(encoding, format)
    if size is not None:
        return cursor.unsigned(size)
    if encoding == "uleb":
        return cursor.uleb()
    if encoding == "sleb":
        return cursor.sleb()
    if encoding == "string":
        return cursor.string("a string", "DWARF 5, 7.5.5")
    if encoding == "index_offset":
        index = cursor.uleb()
        return index, cursor.unsigned(4)
    size = cursor.uleb() if encoding == "block" else cursor.unsigned(int(encoding[5:]))
    return cursor.bytes(size)


def _read_indirect(cursor: Cursor, format: Format) -> Indirect:
    start = cursor.position
    for _ in range(MAX_INDIRECTION):
        code = cursor.uleb()
        if code in NO_DATA:
            break
        if code != dw.DW_FORM_indirect:
            return Indirect(code, read_value(cursor, code, format))
    raise cursor.fail("bad_form", "DW_FORM_indirect must lead to a form with a value", "DWARF 5, 7.5.3", start)


@frozen
class AttributeDialect:
    """Which number is which attribute."""

    name: str
    names: dict[int, str]
    codes: dict[str, int]
    by_class: dict[tuple[int, Class], str]
    """Names of numbers that mean two attributes, told apart by the class of the value."""
    source: str
    classes: dict[int | None, int]
    """The address space of each value of DW_AT_address_class that is not its number; None is for a missing one."""

    def space_of_class(self, number: int | None) -> int | None:
        """Return the address space that a DW_AT_address_class names; None for the default one."""
        return self.classes.get(number, number)

    def name_of(self, code: int, value_class: Class) -> str:
        """Return the name of an attribute; for an unknown number a name that shows it."""
        if self.by_class:
            special = self.by_class.get((code, value_class))
            if special is not None:
                return special
        return self.names.get(code) or f"DW_AT_unknown_{code:#x}"

    def __repr__(self) -> str:
        return f"AttributeDialect({self.name})"


def _dialect(
    name: str,
    numbers: dict[str, int],
    source: str,
    by_class: dict[tuple[int, Class], str] | None = None,
    classes: dict[int | None, int] | None = None,
) -> AttributeDialect:
    """Return the dialect with some numbers of its own; a number that it does not use has its present meaning."""
    own = {number: attribute for attribute, number in reversed(numbers.items())}  # the first name counts
    common = {number: attribute for number, attribute in names("DW_AT").items() if number not in own}
    codes = {attribute: number for number, attribute in common.items()}
    return AttributeDialect(name, {**common, **own}, {**codes, **numbers}, by_class or {}, source, classes or {})


_RENUMBERED = range(dw.DW_AT_LLVM_ptrauth_isa_pointer, dw.DW_AT_LLVM_language_dialect + 1)
_ITERATIONS = LLVM_OLD_ATTRIBUTES["DW_AT_LLVM_iterations"]

LLVM_CURRENT = _dialect(
    "llvm-current", {names("DW_AT")[number]: number for number in _RENUMBERED}, "LLVM's Dwarf.def since August 2025"
)

LLVM_21 = _dialect(
    "llvm-21",
    {names("DW_AT")[number]: number for number in _RENUMBERED},
    "LLVM until version 21, clang/lib/Basic/Targets/AMDGPU.h, getDWARFAddressSpace: 1 is private, 2 is local",
    classes={1: 5, 2: 3},
)

# The document gives one number twice: that of lanes is a constant (A.3.3.5), so an expression is that of iterations.
_OLD_BY_CLASS: dict[tuple[int, Class], str] = {
    (_ITERATIONS, "exprloc"): "DW_AT_LLVM_iterations",
    (_ITERATIONS, "loclist"): "DW_AT_LLVM_iterations",
    (_ITERATIONS, "unknown"): "DW_AT_LLVM_iterations",  # an offset, of which the name says what is there
}

LLVM_OLD = _dialect(
    "llvm-old", LLVM_OLD_ATTRIBUTES, "A.7.5.4, compilers of ROCm until version 21 of LLVM", _OLD_BY_CLASS
)

AMDGPU_2020 = _dialect(
    "amdgpu-2020",
    LLVM_OLD_ATTRIBUTES,
    "A.7.5.4, and AMDGPU usage (2020), table AMDGPU DWARF Address Class Mapping: none is generic, 1 and 4 are global",
    _OLD_BY_CLASS,
    {None: 1, 0: 1, 1: 0, 4: 0},
)

DIALECTS = {dialect.name: dialect for dialect in (LLVM_CURRENT, LLVM_21, LLVM_OLD, AMDGPU_2020)}

AUGMENTATION_CODE = LLVM_OLD_ATTRIBUTES["DW_AT_LLVM_augmentation"]
"""DW_AT_LLVM_augmentation in the old numbering. In the current one the number is a flag, so a string tells."""

_ROCM = re.compile(r"(?:AMD |RadeonOpenCompute|ROCm|roc-\d)")
_CLANG = re.compile(r"(?<!Apple )clang version (\d+)")
FIRST_CURRENT = 22
"""The first version of LLVM with the current numbers of attributes and of address classes."""


def dialect(name: str) -> AttributeDialect:
    """Return the dialect with a name."""
    chosen = DIALECTS.get(name)
    if chosen is None:
        raise UsageError(f"there is no attribute dialect {name}", hint=f"the dialects are {', '.join(DIALECTS)}")
    return chosen


def dialect_for(producer: str | None, augmentation: str | None) -> tuple[AttributeDialect, str]:
    """Choose the dialect of a unit for which the user has chosen none, and give the reason.

    The old numbers are meant where a string of the unit says so: an augmentation string in the place where the old
    numbering has it (A.3.1.1), or a producer that is a compiler of ROCm before LLVM 22. Otherwise the current ones are;
    clang of before LLVM 22 has other address classes.
    """
    if augmentation is not None:
        return LLVM_OLD, f"the unit has the augmentation string {augmentation}"
    version = _CLANG.search(producer) if producer else None
    if producer and version is not None and int(version[1]) < FIRST_CURRENT:
        if _ROCM.search(producer):
            return LLVM_OLD, f"the producer is {version[0]} of ROCm"
        return LLVM_21, f"the producer is {version[0]}"
    return LLVM_CURRENT, "nothing in the unit says otherwise"
