"""Names in their scopes: ``ns::Type::f``, how such a name is written, split and matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import MalformedFile

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Die

NAMED_SCOPES = dw.numbers(
    "DW_TAG", "namespace module class_type structure_type union_type interface_type enumeration_type"
)
"""Namespaces, modules, classes, structures, unions, interfaces and enumerations: scopes that are part of a name."""
CODE_SCOPES = dw.numbers(
    "DW_TAG", "subprogram inlined_subroutine lexical_block entry_point with_stmt catch_block try_block subroutine_type"
)
"""Functions, blocks and function types: what is declared in them is local."""
ANONYMOUS = "(anonymous namespace)"
"""How an unnamed namespace is named (DWARF 5, 6.1.1.1)."""
MAX_SCOPES = 256
"""Names in more scopes than this are refused: each entry would have a name as long as the file is deep."""
_OPEN, _CLOSE = "<([{", ">)]}"


def scopes_of(die: Die) -> list[tuple[str, bool]]:
    """Return the scopes that are part of an entry's name, outermost first, each with whether a name may leave it out.

    They are those of its declaration. What is local to a function has none above that function.
    """
    *_, first = die.origins()
    scopes: tuple[tuple[str, bool], ...] = ()
    owners: list[Die] = []
    for owner in first.ancestors():
        known = owner.unit.scopes.get(owner.offset)
        if known is not None or owner.tag in CODE_SCOPES:
            scopes = known or ()
            break
        owners.append(owner)
    for owner in reversed(owners):
        if len(scopes) <= MAX_SCOPES:
            scopes = (*scopes, *_scope(owner))
        owner.unit.scopes[owner.offset] = scopes
    if len(scopes) > MAX_SCOPES:
        message = f"a name is in more than {MAX_SCOPES} scopes"
        raise die.unit.error(MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.3"), die.offset)
    return list(scopes)


def _scope(owner: Die) -> tuple[tuple[str, bool], ...]:
    """Return what an entry adds to the names of the entries it owns."""
    if owner.tag not in NAMED_SCOPES:
        return ()
    name = owner.name
    if owner.tag == dw.DW_TAG_namespace:
        return ((name or ANONYMOUS, name is None or owner.number(dw.DW_AT_export_symbols) is not None),)
    if name is None:
        return ()
    return ((name, owner.tag == dw.DW_TAG_enumeration_type and owner.number(dw.DW_AT_enum_class) is None),)


def qualified_name(die: Die) -> str | None:
    """Return the name with its scopes, or None for an entry without a name."""
    name = die.name
    if name is None:
        if die.tag != dw.DW_TAG_namespace:
            return None
        name = ANONYMOUS
    return "::".join([*(scope for scope, _ in scopes_of(die)), name])


def enclosing_function(die: Die) -> Die | None:
    """Return the function that an entry is in, or the inlined copy of one; None outside of functions."""
    functions = (dw.DW_TAG_subprogram, dw.DW_TAG_inlined_subroutine)
    return next((owner for owner in die.ancestors() if owner.tag in functions), None)


def split_name(text: str) -> tuple[str, ...]:
    """Split a qualified name into its parts; an empty first part means the outermost scope.

    ``::`` between brackets belongs to template arguments or a function type, and an operator's name is one part.
    """
    parts: list[str] = []
    depth = start = i = 0
    while i < len(text):
        if text.startswith("operator", i) and (i == 0 or not (text[i - 1].isalnum() or text[i - 1] == "_")):
            after = text[i + 8 : i + 9]
            if not (after.isalnum() or after == "_"):
                return (*parts, text[start:])
        character = text[i]
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE and not (character == ">" and text[i - 1 : i] == "-"):
            depth -= 1
        elif character == ":" and depth <= 0 and text.startswith("::", i):
            parts.append(text[start:i])
            i += 2
            start = i
            continue
        i += 1
    return (*parts, text[start:])


def in_scopes(parts: tuple[str, ...], scopes: list[tuple[str, bool]]) -> bool:
    """Return whether an entry in these scopes can be meant by a name with ``parts`` before the last one.

    The outermost scopes may be missing, unless the name begins with ``::``; inline and unnamed namespaces and
    enumerations that are not classes may be missing everywhere.
    """
    if not parts:
        return True
    anchored = parts[0] == ""
    wanted = list(parts[1:] if anchored else parts)
    for name, optional in reversed(scopes):
        if wanted and wanted[-1] == name:
            wanted.pop()
        elif not optional:
            return not wanted and not anchored
    return not wanted


def is_local(die: Die) -> bool:
    """Return whether an entry is declared in a function."""
    return any(owner.tag in CODE_SCOPES for owner in die.ancestors())
