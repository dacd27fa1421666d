"""Virtual functions of objects: the slot of each in the table of its class, and the function in it (A.5.7.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_vtable_elem_location
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import resolved, stripped
from dwarfgpu.program.values.storage import Address, Located, ObjectPlace

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.dies import Attribute
    from dwarfgpu.program.values.objects import Object

DW_OP_CONSTU = 0x10
MAX_DEPTH = 16
"""How deep the classes are searched that an object inherits from."""
POINTERS = ("_vptr", "__vptr", "__vfptr")
"""How compilers begin the names of the members that point to the table."""


@frozen
class VirtualFunction:
    """A virtual function of an object."""

    owner: str
    """The class that declares it."""
    name: str
    slot: int | None
    """Its number in the table, where the entry says that; None where it says the location of the slot."""
    place: ObjectPlace | None = None
    """Where the slot is."""
    address: int | None = None
    """The function that is in the slot."""
    error: DwarfGpuError | None = None


def virtual_functions(value: Object) -> Iterator[VirtualFunction]:
    """Yield the virtual functions of an object: those of its own class first, then those of the classes it inherits."""
    owner = value.target()
    if isinstance(resolved(owner.type), t.Pointer):
        owner = owner.dereferenced().target()
    if not isinstance(stripped(owner.type), t.Struct):
        raise UsageError("this object does not have a virtual function table", kind="no_table")
    yield from _of_class(owner, 0)


def _of_class(owner: Object, depth: int) -> Iterator[VirtualFunction]:
    inner = stripped(owner.type)
    if depth > MAX_DEPTH or not isinstance(inner, t.Struct) or inner.is_incomplete:
        return
    for method in inner.body.methods:
        location = None if method.die is None else method.die.number(DW_AT_vtable_elem_location)
        if method.is_virtual and location is not None:
            yield _virtual(owner, inner.name or "(unnamed)", method.name, location)
    for base in inner.body.bases:
        yield from _of_class(owner.base(base), depth + 1)


def _virtual(owner: Object, owner_name: str, name: str, location: Attribute) -> VirtualFunction:
    slot = slot_of(location)
    try:
        place = owner.place.storage.place(t.Dynamic(location), owner.place) if slot is None else _in_table(owner, slot)
        size = 8 * location.die.unit.address_size
        reading = place.read(size)
        address = None if reading.undefined or not isinstance(reading.bits, int) else reading.bits
    except DwarfGpuError as error:
        return VirtualFunction(owner_name, name, slot, error=error)
    return VirtualFunction(owner_name, name, slot, place, address)


def slot_of(location: Attribute) -> int | None:
    """Return the number of a slot, which compilers write as a lone constant in place of the location of the slot."""
    if location.value_class == "constant":
        return location.unsigned()
    if location.value_class not in ("exprloc", "block"):
        return None
    data = location.block().data
    return Cursor(data, 1).uleb() if len(data) >= 2 and data[0] == DW_OP_CONSTU else None


def _in_table(owner: Object, slot: int) -> ObjectPlace:
    pointer = _pointer(owner, 0)
    if pointer is None:
        raise UsageError("no member of the class points to the table of virtual functions", kind="no_table")
    table = pointer.dereferenced().target().address
    if table is None:
        raise UsageError("the table of virtual functions is not in memory", kind="no_table")
    size, storage = pointer.bits() // 8, owner.place.storage
    if not isinstance(storage, Located):
        raise UsageError("the object is not in memory", kind="no_table")
    return storage.around.memory(Address(table.space, table.value + slot * size))


def _pointer(owner: Object, depth: int) -> Object | None:
    inner = stripped(owner.type)
    if depth > MAX_DEPTH or not isinstance(inner, t.Struct):
        return None
    for member in inner.body.members:
        if (member.name or "").startswith(POINTERS):
            return owner.field(member)
    for base in inner.body.bases:
        pointer = _pointer(owner.base(base), depth + 1)
        if pointer is not None:
            return pointer
    return None
