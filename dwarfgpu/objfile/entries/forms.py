"""Forms: how the value of an attribute is encoded, and what class it has (DWARF 5 section 7.5.5 and 7.5.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import Unsupported

if TYPE_CHECKING:
    from typing import Any, Literal

    from dwarfgpu.encoding.operands import Format

    Class: TypeAlias = Literal[
        "address",
        "addrptr",
        "block",
        "constant",
        "exprloc",
        "flag",
        "lineptr",
        "loclist",
        "loclistsptr",
        "macptr",
        "reference",
        "rnglist",
        "rnglistsptr",
        "string",
        "stroffsetsptr",
        "unknown",
    ]
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
    """The value of DW_FORM_indirect: the form that stands in the data, and the value in that form."""

    form: int
    value: Any


_ROWS: tuple[tuple[int, str, Encoding, Class], ...] = (
    (0x01, "addr", "address", "address"),
    (0x03, "block2", "block2", "block"),
    (0x04, "block4", "block4", "block"),
    (0x05, "data2", "u2", "constant"),
    (0x06, "data4", "u4", "constant"),
    (0x07, "data8", "u8", "constant"),
    (0x08, "string", "string", "string"),
    (0x09, "block", "block", "block"),
    (0x0A, "block1", "block1", "block"),
    (0x0B, "data1", "u1", "constant"),
    (0x0C, "flag", "u1", "flag"),
    (0x0D, "sdata", "sleb", "constant"),
    (0x0E, "strp", "offset", "string"),
    (0x0F, "udata", "uleb", "constant"),
    (0x10, "ref_addr", "reference", "reference"),
    (0x11, "ref1", "u1", "reference"),
    (0x12, "ref2", "u2", "reference"),
    (0x13, "ref4", "u4", "reference"),
    (0x14, "ref8", "u8", "reference"),
    (0x15, "ref_udata", "uleb", "reference"),
    (0x16, "indirect", "indirect", "unknown"),
    (0x17, "sec_offset", "offset", "unknown"),
    (0x18, "exprloc", "block", "exprloc"),
    (0x19, "flag_present", "nothing", "flag"),
    (0x1A, "strx", "uleb", "string"),
    (0x1B, "addrx", "uleb", "address"),
    (0x1C, "ref_sup4", "u4", "reference"),
    (0x1D, "strp_sup", "offset", "string"),
    (0x1E, "data16", "u16", "constant"),
    (0x1F, "line_strp", "offset", "string"),
    (0x20, "ref_sig8", "u8", "reference"),
    (0x21, "implicit_const", "implicit", "constant"),
    (0x22, "loclistx", "uleb", "loclist"),
    (0x23, "rnglistx", "uleb", "rnglist"),
    (0x24, "ref_sup8", "u8", "reference"),
    (0x25, "strx1", "u1", "string"),
    (0x26, "strx2", "u2", "string"),
    (0x27, "strx3", "u3", "string"),
    (0x28, "strx4", "u4", "string"),
    (0x29, "addrx1", "u1", "address"),
    (0x2A, "addrx2", "u2", "address"),
    (0x2B, "addrx3", "u3", "address"),
    (0x2C, "addrx4", "u4", "address"),
    (0x1F01, "GNU_addr_index", "uleb", "address"),
    (0x1F02, "GNU_str_index", "uleb", "string"),
    (0x1F20, "GNU_ref_alt", "offset", "reference"),
    (0x1F21, "GNU_strp_alt", "offset", "string"),
    (0x2001, "LLVM_addrx_offset", "index_offset", "address"),
)

FORMS = {code: Form(code, f"DW_FORM_{name}", encoding, base) for code, name, encoding, base in _ROWS}
"""Every form of DWARF 2 to 5, of GNU and of LLVM. The drafts of version 6 have not numbered any further one."""

STRING, STRP, LINE_STRP, STRP_SUP, GNU_STRP_ALT = 0x08, 0x0E, 0x1F, 0x1D, 0x1F21
ADDR, ADDRX_OFFSET, FLAG = 0x01, 0x2001, 0x0C
REF_ADDR, REF_SIG8 = 0x10, 0x20
INDIRECT, SEC_OFFSET, FLAG_PRESENT, IMPLICIT_CONST = 0x16, 0x17, 0x19, 0x21
DATA4, DATA8, SDATA, EXPRLOC, LOCLISTX, RNGLISTX = 0x06, 0x07, 0x0D, 0x18, 0x22, 0x23

STRING_INDEX = frozenset((0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02))
"""Strings through ``.debug_str_offsets``."""
ADDRESS_INDEX = frozenset((0x1B, 0x29, 0x2A, 0x2B, 0x2C, 0x1F01))
"""Addresses through ``.debug_addr``."""
REF_UNIT = frozenset((0x11, 0x12, 0x13, 0x14, 0x15))
"""References that count from the beginning of their unit."""
REF_SUPPLEMENTARY = frozenset((0x1C, 0x24, 0x1F20))
"""References to the supplementary object file."""
BLOCKS = frozenset((0x03, 0x04, 0x09, 0x0A))
NO_DATA = frozenset((FLAG_PRESENT, IMPLICIT_CONST))
"""Forms whose value stands in the abbreviation."""

FIXED: dict[str, int] = {"u1": 1, "u2": 2, "u3": 3, "u4": 4, "u8": 8, "u16": 16, "nothing": 0, "implicit": 0}
MAX_INDIRECTION = 8
"""How often DW_FORM_indirect may lead to itself."""


def form(code: int) -> Form:
    """The form with a code; without knowing the form, what stands behind its value cannot be found."""
    found = FORMS.get(code)
    if found is None:
        raise Unsupported(
            "unknown_form",
            f"the form {code:#x} is not known, so its size is not either",
            spec="DWARF 5, 7.5.6",
        )
    return found


def form_name(code: int) -> str:
    """The name of a form, also of an unknown one."""
    found = FORMS.get(code)
    return found.name if found is not None else f"DW_FORM_unknown_{code:#x}"


def fixed_size(encoding: Encoding, format: Format) -> int | None:
    """How many bytes a value has, where the form alone says it."""
    if encoding == "offset":
        return 8 if format.offset_size == 8 else 4
    if encoding == "address":
        return format.address_size
    if encoding == "reference":
        return format.reference_size
    return FIXED.get(encoding)


# --- Classes ------------------------------------------------------------------------------------------------------

# What an offset into a section is the beginning of (DWARF 5, table 7.5, and the GNU attributes).
_POINTERS: dict[int, Class] = {
    0x02: "loclist",  # DW_AT_location
    0x10: "lineptr",  # stmt_list
    0x19: "loclist",  # string_length
    0x2A: "loclist",  # return_addr
    0x2C: "rnglist",  # start_scope
    0x38: "loclist",  # data_member_location
    0x40: "loclist",  # frame_base
    0x43: "macptr",  # macro_info
    0x46: "loclist",  # segment
    0x48: "loclist",  # static_link
    0x4A: "loclist",  # use_location
    0x4D: "loclist",  # vtable_elem_location
    0x55: "rnglist",  # ranges
    0x72: "stroffsetsptr",  # str_offsets_base
    0x73: "addrptr",  # addr_base
    0x74: "rnglistsptr",  # rnglists_base
    0x79: "macptr",  # macros
    0x8C: "loclistsptr",  # loclists_base
    0x2119: "macptr",  # GNU_macros
    0x2132: "rnglistsptr",  # GNU_ranges_base
    0x2133: "addrptr",  # GNU_addr_base
    0x2137: "loclist",  # GNU_locviews
}
_POINTER_NAMES: dict[str, Class] = {
    "DW_AT_LLVM_active_lane": "loclist",
    "DW_AT_LLVM_iterations": "loclist",
    "DW_AT_LLVM_lane_pc": "loclist",
    "DW_AT_LLVM_stmt_sequence": "lineptr",
}
"""The same for attributes whose number depends on the dialect (A.3.3.5)."""

_NUMBERS = frozenset((0x38,))
"""DW_AT_data_member_location: DWARF 3 says that data4 and data8 are the offset of a list here. Compilers write a list
nowhere and offsets of members in these forms, so they are read as numbers in every version."""
_TRUE_BLOCKS = frozenset((0x1C, 0x3D))
"""DW_AT_const_value and DW_AT_discr_list: the blocks of the standard that are no expressions (table 7.5)."""


def class_of(code: int, attribute: int, version: int, name: str = "") -> Class:
    """The class of an attribute's value (DWARF 5, 7.5.5).

    Two kinds of values had no form of their own before version 4: expressions were blocks, and offsets into other
    sections were data4 or data8. Then the attribute decides, as it does for DW_FORM_sec_offset.
    """
    known = FORMS.get(code)
    if known is None:
        return "unknown"
    if code == SEC_OFFSET or (version < 4 and code in (DATA4, DATA8) and attribute not in _NUMBERS):
        pointer = _POINTERS.get(attribute) or _POINTER_NAMES.get(name)
        if pointer is not None:
            return pointer
    elif version < 4 and code in BLOCKS and attribute not in _TRUE_BLOCKS:
        return "exprloc"
    return known.base


# --- Decoding one value -------------------------------------------------------------------------------------------


def read_value(cursor: Cursor, code: int, format: Format, implicit: int = 0) -> Any:
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
        return implicit
    size = fixed_size(encoding, format)
    if size is not None:
        return cursor.unsigned(size)
    return _read_variable(cursor, encoding)


def _read_variable(cursor: Cursor, encoding: Encoding) -> Any:
    if encoding == "uleb":
        return cursor.uleb()
    if encoding == "sleb":
        return cursor.sleb()
    if encoding == "string":
        end = cursor.data.find(0, cursor.position, cursor.end)
        if end < 0:
            raise cursor.fail("truncated", "a string has no end", "DWARF 5, 7.5.5")
        return cursor.bytes(end + 1 - cursor.position)[:-1]
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
        if code != INDIRECT:
            return Indirect(code, read_value(cursor, code, format))
    raise cursor.fail(
        "bad_form", "DW_FORM_indirect must lead to a form with a value", "DWARF 5, 7.5.3", start
    )
