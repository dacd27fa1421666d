"""The words of names: ``long int`` is ``long``, and which languages are kinds of C++."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_LANG_D,
    DW_LANG_HIP,
    DW_LANG_LLVM_HIP,
    DW_LANG_SYCL,
    DW_LNAME_D,
    DW_LNAME_HIP,
    DW_LNAME_SYCL,
    DW_AT_language,
    DW_AT_language_name,
    DW_LANG_C_plus_plus,
    DW_LANG_C_plus_plus_03,
    DW_LANG_C_plus_plus_11,
    DW_LANG_C_plus_plus_14,
    DW_LANG_C_plus_plus_17,
    DW_LANG_C_plus_plus_20,
    DW_LANG_CPP_for_OpenCL,
    DW_LANG_ObjC_plus_plus,
    DW_LANG_OpenCL_CPP,
    DW_LANG_Rust,
    DW_LNAME_C_plus_plus,
    DW_LNAME_CPP_for_OpenCL,
    DW_LNAME_ObjC_plus_plus,
    DW_LNAME_OpenCL_CPP,
    DW_LNAME_Rust,
)

if TYPE_CHECKING:
    from dwarfgpu.objfile.units.unit import Unit

_RUN = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?: [A-Za-z_]\w*)*(?![\w:])")
_ARITHMETIC = frozenset(("unsigned", "signed", "long", "short", "int", "char", "double"))
_QUALIFIERS = ("const", "volatile")
_CPLUS = frozenset(
    (
        DW_LANG_C_plus_plus,
        DW_LANG_ObjC_plus_plus,
        DW_LANG_C_plus_plus_03,
        DW_LANG_C_plus_plus_11,
        DW_LANG_C_plus_plus_14,
        DW_LANG_C_plus_plus_17,
        DW_LANG_C_plus_plus_20,
        DW_LANG_HIP,
        DW_LANG_OpenCL_CPP,
        DW_LANG_CPP_for_OpenCL,
        DW_LANG_SYCL,
        DW_LANG_LLVM_HIP,
        DW_LANG_Rust,
        DW_LANG_D,
    )
)
"""C++ in its versions, Objective-C++, HIP, C++ for OpenCL, SYCL; and D and Rust, whose names have scopes as well."""
_CPLUS_NAMES = frozenset(
    (
        DW_LNAME_C_plus_plus,
        DW_LNAME_ObjC_plus_plus,
        DW_LNAME_OpenCL_CPP,
        DW_LNAME_CPP_for_OpenCL,
        DW_LNAME_SYCL,
        DW_LNAME_HIP,
        DW_LNAME_D,
        DW_LNAME_Rust,
    )
)
"""The same as DW_LNAME of DWARF 6."""


def canonical(name: str) -> str:
    """A name with each arithmetic type in its shortest usual words, also in the arguments of a template."""
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
    """Whether types are named without a keyword, and functions have scopes."""
    language = unit.root_number(DW_AT_language)
    if language is None:
        return unit.root_number(DW_AT_language_name) in _CPLUS_NAMES
    return language in _CPLUS


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
    """How producers write a canonical name: as it is, or as GCC does."""
    longer = _RUN.sub(lambda match: _LONGER.get(match[0], match[0]), name)
    return (name,) if longer == name else (name, longer)
