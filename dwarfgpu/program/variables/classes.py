"""Classes in expressions: whether a name is that of a member, and the part of an object that is a base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import UsageError
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Struct
from dwarfgpu.program.types.sizes import stripped
from dwarfgpu.program.values.objects import Object

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.program.types.model import Member, StaticMember, Type

MAX_DEPTH = 16
"""How deep bases and unnamed members are looked into."""


def member_named(type: Type, name: str, depth: int = 0) -> Member | StaticMember | None:
    """The member of a class with a name, its own or that of a base."""
    inner = stripped(type)
    if not isinstance(inner, Struct) or depth > MAX_DEPTH:
        return None
    body = inner.body
    parts: list[Member | StaticMember] = [*body.members, *body.statics]
    own = next((each for each in parts if each.name == name), None)
    if own is not None:
        return own
    inside = [each.type for each in body.members if each.name is None]
    inside += [base.type for base in body.bases]
    found = (member_named(each, name, depth + 1) for each in inside)
    return next((each for each in found if each is not None), None)


def base_named(found: Object, name: str) -> Object:
    """The part of an object that is a base class."""
    inner = stripped(found.type)
    if not isinstance(inner, Struct):
        raise UsageError(f"the type {safe_text(found.type)} has no bases", kind="no_member")
    if inner.name is not None and inner.name.rpartition("::")[2] == name:
        return found
    for base in inner.body.bases:
        own = str(getattr(stripped(base.type), "name", ""))
        if own == name or own.rpartition("::")[2] == name:
            return found.base(base)
    raise UsageError(f"{safe_text(found.type)} has no base {name}", kind="no_member")


def has_base(pointer: Type, names: tuple[str, ...]) -> bool:
    """Whether names lead from the class that a pointer is to, through itself and its bases, to one of them."""
    target = getattr(stripped(pointer), "target", None)
    for name in names:
        inner = None if target is None else stripped(target)
        if not isinstance(inner, Struct):
            return False
        if (inner.name or "").rpartition("::")[2] == name:
            continue
        named = {
            str(getattr(stripped(each.type), "name", "")).rpartition("::")[2]: each
            for each in inner.body.bases
        }
        if name not in named:
            return False
        target = named[name].type
    return True


def seen_as(found: Object, type: Type) -> Object:
    """An object as one of another type: its part that is a base of that name, or what is in the same place."""
    wanted = getattr(stripped(type), "name", None)
    part = None if wanted is None else _part(found, wanted, 0)
    return Object(type, found.place, container=found.container) if part is None else part


def class_moved(found: Object, type: Type) -> Bits | None:
    """The address of an object as a pointer to another class has it: to a base, or to what it is the base of.

    None where the classes have nothing to do with each other, and the address stays as it is.
    """
    name, wanted = getattr(stripped(found.type), "name", None), getattr(stripped(type), "name", None)
    address = found.address
    if name is None or wanted is None or name == wanted or address is None:
        return None
    part = _part(found, wanted, 0)
    if part is not None:
        moved = part.address
        return None if moved is None else moved.value
    part = _part(Object(type, found.place), name, 0)
    moved = None if part is None else part.address
    if moved is None:
        return None
    mask = (1 << 64) - 1
    return b.sub(address.value, b.sub(moved.value, address.value, mask), mask)


def _part(found: Object, name: str, depth: int) -> Object | None:
    inner = stripped(found.type)
    if not isinstance(inner, Struct) or depth > MAX_DEPTH:
        return None
    if inner.name == name:
        return found
    for base in inner.body.bases:
        part = _part(found.base(base), name, depth + 1)
        if part is not None:
            return part
    return None
