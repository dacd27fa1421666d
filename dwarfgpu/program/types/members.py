"""Members of classes by their names, which bases and members without a name may have."""

from __future__ import annotations

from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import stripped

MAX_DEPTH = 16
"""How deep a member is searched in bases and unnamed members."""


def is_new(type: t.Struct, seen: set[object]) -> bool:
    """Return whether a class was not searched before, and remember it: inheritance leads to some again and again."""
    key = id(type) if type.die is None else type.die
    is_new = key not in seen
    seen.add(key)
    return is_new


def member_named(
    type: t.Type, name: str, depth: int = 0, seen: set[object] | None = None
) -> t.Member | t.StaticMember | None:
    """Return the member of a class with a name, its own or that of a base."""
    inner, seen = stripped(type), set[object]() if seen is None else seen
    if not isinstance(inner, t.Struct) or depth > MAX_DEPTH or not is_new(inner, seen):
        return None
    body = inner.body
    parts: list[t.Member | t.StaticMember] = [*body.members, *body.statics]
    own = next((part for part in parts if part.name == name), None)
    if own is not None:
        return own
    inside = [member.type for member in body.members if member.name is None]
    inside += [base.type for base in body.bases]
    members = (member_named(kind, name, depth + 1, seen) for kind in inside)
    return next((member for member in members if member is not None), None)


def methods_named(type: t.Type, name: str) -> list[t.Method]:
    """Return the member functions of a class with a name; those of bases where it has none itself."""
    waiting, seen = [(type, 0)], set[object]()
    while waiting:
        kind, depth = waiting.pop(0)
        inner = stripped(kind)
        if not isinstance(inner, t.Struct) or depth > MAX_DEPTH or not is_new(inner, seen):
            continue
        own = [method for method in inner.body.methods if method.name == name]
        if own:
            return own
        waiting += [(base.type, depth + 1) for base in inner.body.bases]
    return []
