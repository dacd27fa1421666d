"""What an index is about: functions, variables, types, namespaces and labels that are defined somewhere.

The rule is that of ``.debug_names`` (DWARF 5 section 6.1.1.1, A.6.1.1.1), with three differences. Inlined calls are not
entries of their own: the function they are calls of is. A function or a variable at namespace scope without code or
location is one too, because "it was optimized out" is an answer. And a local variable belongs to it if its location
begins with an address or a constant, so that it does not depend on a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.objfile.entries import attributes as at
from dwarfgpu.objfile.entries.scan import is_declaration
from dwarfgpu.objfile.entries.scopes import is_local, qualified_name

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.dies import Die

    Kind: TypeAlias = Literal["function", "variable", "type", "namespace", "label"]

KINDS: tuple[Kind, ...] = ("function", "variable", "type", "namespace", "label")

_TAGS: dict[Kind, tuple[int, ...]] = {
    "function": (0x2E, 0x03),  # DW_TAG_subprogram, entry_point
    "variable": (0x34, 0x27),  # variable, constant
    "type": (
        0x01, 0x02, 0x04, 0x0F, 0x10, 0x12, 0x13, 0x15, 0x16, 0x17, 0x1F, 0x20, 0x21, 0x24, 0x26, 0x29, 0x2D, 0x31,
        0x35, 0x37, 0x38, 0x3B, 0x40, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x4B,
    ),  # all types of DWARF 5; only those with a name count
    "namespace": (0x39, 0x1E),  # namespace, module
    "label": (0x0A,),
}  # fmt: skip
KIND_OF: dict[int, Kind] = {tag: kind for kind, tags in _TAGS.items() for tag in tags}

_ADDRESSES = b"\x03\xa1\xfb"  # DW_OP_addr, addrx, GNU_addr_index
_CONSTANTS = bytes(
    (*range(0x08, 0x12), *range(0x30, 0x50), 0xA2, 0xFC)
)  # const*, lit*, constx, GNU_const_index
_STACK_VALUE = 0x9F
_NAMED = (at.NAME, at.SPECIFICATION, at.LINKAGE_NAME, at.MIPS_LINKAGE_NAME)


@frozen
class Entry:
    """One entry of an index."""

    kind: Kind
    die: Die

    @property
    def name(self) -> str | None:
        return self.die.name

    @property
    def qualified_name(self) -> str | None:
        """The name with its scopes, such as ``ns::f``."""
        return qualified_name(self.die)


def is_static(location: bytes) -> bool:
    """Whether a location does not depend on a frame: it begins with an address, or with a constant and is a place."""
    if not location:
        return False
    return location[0] in _ADDRESSES or (location[0] in _CONSTANTS and location[-1] != _STACK_VALUE)


def may_be_entry(abbreviation: Abbreviation) -> bool:
    """Whether entries of an abbreviation can be entries of an index."""
    kind = KIND_OF.get(abbreviation.tag)
    if kind is None or is_declaration(abbreviation):
        return False
    known = abbreviation.attributes
    if kind == "variable":
        return at.ABSTRACT_ORIGIN not in known and any(number in known for number in _NAMED)
    if kind == "function":
        return at.ABSTRACT_ORIGIN in known or any(number in known for number in _NAMED)
    if kind == "label":
        return at.NAME in known and at.LOW_PC in known
    return kind == "namespace" or at.NAME in known


def kind_of(die: Die) -> Kind | None:
    """What an entry is to an index; None when it is none of its entries."""
    if not may_be_entry(die.abbreviation) or die.is_declaration:
        return None
    kind = KIND_OF[die.tag]
    if kind == "variable":
        location = die.number(at.LOCATION)
        if location is not None and location.value_class == "exprloc" and location.value:
            return kind if is_static(location.value) else None
        return None if is_local(die) else kind
    return kind
