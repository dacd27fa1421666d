"""Pointers to members in expressions: ``&T::x`` of what each object of a class has one of (C++23, 7.6.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.program.source.operands import Operand
from dwarfgpu.program.types.model import Lazy, MemberPointer, Struct
from dwarfgpu.program.types.sizes import stripped
from dwarfgpu.program.variables.names import NamedFunction
from dwarfgpu.program.variables.variable import Variable

if TYPE_CHECKING:
    from dwarfgpu.program.source import syntax as s
    from dwarfgpu.program.types.model import Member, Type
    from dwarfgpu.program.variables.evaluator import Evaluator

MAX_DEPTH = 16
"""How deep bases and unnamed members are looked into."""


def address_of(evaluator: Evaluator, name: s.Name) -> Operand | None:
    """What ``&`` makes of a name if that is of such a member; None for anything else, which has an address."""
    *scopes, last = name.parts
    if name.file is not None or not scopes:
        return None
    frame, size = evaluator.frame, evaluator.compute.model.pointer_size
    named = frame.state.names.type(frame, "::".join(scopes))
    owner = None if named is None else stripped(named)
    if not isinstance(owner, Struct):
        return None
    meaning = evaluator.meaning(name)
    if isinstance(meaning, Variable):
        return None
    if isinstance(meaning, NamedFunction):
        same = [each for each in owner.body.methods if each.name == last]
        if not same or any(each.is_static or each.is_virtual for each in same):
            return (
                None  # a function as any other; of a virtual one the class of the object says which is meant
            )
        method = Lazy.known(frame.state.types.of(meaning.die))
        kind = MemberPointer(method, Lazy.known(owner), 2 * size)  # with what is added to `this`, which is 0
        return Operand(kind, meaning.code.in_program(meaning.address))
    found = _data_member(owner, last, 0)
    if found is None:
        return None
    whole, member, offset = found
    if member.bit_size is not None:
        raise UsageError("there is no pointer to a bit-field", kind="no_address")
    if offset is None:
        raise UsageError("there is no pointer to a member whose place is computed", kind="no_address")
    return Operand(MemberPointer(member.to, Lazy.known(whole), size), offset // 8)


def _data_member(type: Type, name: str, depth: int) -> tuple[Type, Member, int | None] | None:
    """A data member, the class that has it, which may be a base, and where it is in that, in bits."""
    inner = stripped(type)
    if not isinstance(inner, Struct) or depth > MAX_DEPTH:
        return None
    for each in inner.body.members:
        if each.name == name:
            return type, each, each.bit_offset
        found = _data_member(each.type, name, depth + 1) if each.name is None else None
        if found is not None:
            _unnamed, member, offset = found
            return (
                type,
                member,
                None if offset is None or each.bit_offset is None else offset + each.bit_offset,
            )
    bases = (_data_member(base.type, name, depth + 1) for base in inner.body.bases)
    return next((found for found in bases if found is not None), None)
