"""The sizes of C's own types, and the types by their names: what a target and a language fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_ATE_UTF,
    DW_ATE_boolean,
    DW_ATE_complex_float,
    DW_ATE_float,
    DW_ATE_signed,
    DW_ATE_signed_char,
    DW_ATE_unsigned,
    DW_ATE_unsigned_char,
)
from dwarfgpu.errors import UsageError
from dwarfgpu.program.types.model import VOID, Base, Lazy, Pointer, Void

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.program.types.model import Type


RANKS = ("_Bool", "char", "short", "int", "long", "long long", "__int128")
"""The integer types by rank (C23, 6.3.1.1): the unsigned ones have that of their signed ones."""


@frozen
class DataModel:
    """What C's types are on a target. The defaults are those of AMDGPU and of x86-64: LP64."""

    is_cplus: bool = False
    pointer_size: int = 8
    long_size: int = 8
    byte_order: ByteOrder = "little"
    char_is_signed: bool = True
    long_double_size: int = 16
    wchar_size: int = 4

    def type(self, name: str) -> Base | Void:
        """A type of the language by its usual name, such as ``unsigned long``."""
        if name == "void":
            return VOID
        found = self._find(name)
        if found is None:
            raise UsageError(f"there is no type named {name}", kind="no_type")
        return found

    def base(self, name: str) -> Base:
        """The same for one that has values."""
        found = self._find(name)
        assert found is not None, name  # noqa: S101 (the names stand in this package)
        return found

    def _find(self, name: str) -> Base | None:
        name = {"bool": "_Bool", "unsigned": "unsigned int", "signed": "int"}.get(name, name)
        if name == "_Bool":
            return Base("bool" if self.is_cplus else "_Bool", DW_ATE_boolean, 1)
        if name == "char":
            return Base(name, DW_ATE_signed_char if self.char_is_signed else DW_ATE_unsigned_char, 1)
        if name in ("signed char", "unsigned char"):
            return Base(name, DW_ATE_signed_char if name[0] == "s" else DW_ATE_unsigned_char, 1)
        sizes = {"short": 2, "int": 4, "long": self.long_size, "long long": 8, "__int128": 16}
        plain = name.removeprefix("unsigned ")
        if plain in sizes:
            return Base(name, DW_ATE_signed if plain == name else DW_ATE_unsigned, sizes[plain])
        floats = {"float": 4, "double": 8, "long double": self.long_double_size, "_Float16": 2, "__bf16": 2}
        if name in floats:
            return Base(name, DW_ATE_float, floats[name])
        part = name.removeprefix("complex ")
        if part != name and part in floats:
            return Base(name, DW_ATE_complex_float, 2 * floats[part])
        characters = {"char8_t": 1, "char16_t": 2, "char32_t": 4}
        if name in characters:
            return Base(name, DW_ATE_UTF, characters[name])
        if name == "wchar_t":
            return Base(name, DW_ATE_signed, self.wchar_size)
        return None

    def pointer_to(self, type: Type, space: int | None = None) -> Pointer:
        """A pointer to a type."""
        return Pointer("*", Lazy.known(type), self.pointer_size, space)

    @property
    def truth(self) -> Base:
        """The type of a comparison: bool in C++, int in C."""
        return self.base("_Bool" if self.is_cplus else "int")

    @property
    def size_type(self) -> Base:
        return self.base("unsigned long")

    @property
    def difference_type(self) -> Base:
        return self.base("long")
