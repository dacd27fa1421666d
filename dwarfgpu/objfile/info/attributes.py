"""Attributes: their numbers and names (DWARF 5 section 7.5.4), which for LLVM's depend on the dialect (A.7.5.4).

The attributes of the heterogeneous extensions were numbered anew in 2025. The document this project follows still has
the numbers of before; compilers used those until then, and now use them for other attributes. So a number from 0x3e08
on has two meanings, and the bytes do not tell which: an `AttributeDialect` is chosen by the user, who knows where they
come from, or by the rule of `dialect_for`, and results name it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    LLVM_OLD_ATTRIBUTES,
    DW_AT_LLVM_language_dialect,
    DW_AT_LLVM_ptrauth_isa_pointer,
    names,
)
from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.forms import Class


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


_RENUMBERED = range(DW_AT_LLVM_ptrauth_isa_pointer, DW_AT_LLVM_language_dialect + 1)
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
