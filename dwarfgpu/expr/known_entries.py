"""What is known of stack entries without an evaluation: kinds, the numbers of constants, the sizes of storages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import shown
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.expr.table import Operation
    from dwarfgpu.targets.target import Target


# --- Kinds --------------------------------------------------------------------------------------------------------

GENERIC = "a value of the generic type"
TYPED = "a value of a base type"
VALUE = "a value"
MEMORY = "a memory location"  # a byte address in the default space, which is a value too (A.2.5.4.4.3)
ELSEWHERE = "a memory location in another address space"
CONTEXT = "a location that the context gives"
REGISTER = "a register location"
IMPLICIT = "an implicit location"
POINTER = "an implicit pointer location"  # only of a storage: as an entry it is an implicit location
UNDEFINED = "an undefined location"
COMPOSITE = "a composite location"
LOCATION = "a location"
INCOMPLETE = "an incomplete composite"
ANY = "an entry"
NOTHING = "nothing"

VALUES = frozenset((GENERIC, TYPED, VALUE))
NO_VALUES = frozenset((ELSEWHERE, REGISTER, IMPLICIT, UNDEFINED, COMPOSITE, NOTHING))
MAY_BE_COMPOSITE = frozenset((COMPOSITE, LOCATION, CONTEXT, ANY))
ONE_PLACE = frozenset((MEMORY, ELSEWHERE, REGISTER, IMPLICIT, UNDEFINED, COMPOSITE))
_OF_STORAGE = {
    "memory": MEMORY, "register": REGISTER, "implicit": IMPLICIT, "pointer": IMPLICIT, "undefined": UNDEFINED,
    "composite": COMPOSITE,
}  # fmt: skip


# --- Entries ------------------------------------------------------------------------------------------------------


@frozen
class KnownLocation:
    """A position in a storage whose size is known."""

    storage: str
    """The kind of locations in it."""
    name: str
    """The storage in messages."""
    bit_size: int
    bit_offset: int | None = 0
    """None where only an evaluation knows it."""

    @property
    def left(self) -> int:
        """The number of bits from the position to the end of the storage, or the most that it may be."""
        return self.bit_size - (self.bit_offset or 0)

    def may_hold(self, bits: int) -> bool:
        """Return whether so many bits from the position on may be in the storage; any number of undefined ones is."""
        return bits <= self.left or self.storage == UNDEFINED

    def allows_move(self, bits: int) -> bool:
        """Return whether a position so many bits further on may be in the storage (A.2.5.4.4.1 (1) and (3))."""
        if self.bit_offset is None:
            return abs(bits) < self.bit_size
        return 0 <= self.bit_offset + bits < self.bit_size

    def moved(self, bits: int | None) -> KnownLocation:
        """Return the place so many bits further on; where it may not be there, the offset is not known."""
        is_known = bits is not None and self.bit_offset is not None and self.allows_move(bits)
        return evolve(self, bit_offset=self.bit_offset + bits if is_known else None)  # type: ignore[operator]

    def text(self, bits: int = 0) -> str:
        """Return the place so many bits further on for a message."""
        start = (self.bit_offset or 0) + bits
        name = self.name if self.bit_offset is None or not start else f"{self.name} from bit {shown(start)} on"
        return f"{name}, which has {shown(self.bit_size)} bits"


@frozen
class KnownEntry:
    """What is known of a stack entry on every evaluation that comes to it."""

    kind: str
    number: int | None = None
    """The number of a value of the generic type, unsigned."""
    bit_size: int | None = None
    """The size of a value."""
    places: tuple[KnownLocation, ...] = ()
    """Those of the places of a location whose storage has a known size."""

    @property
    def place(self) -> KnownLocation | None:
        """The only place of a location, if it has only one and that is known."""
        return self.places[0] if len(self.places) == 1 and self.kind in ONE_PLACE else None


class EntryStack:
    """What is known of an entry, and the stack below it. Equal stacks are one object, so they compare by identity."""

    __slots__ = ("below", "depth", "entry", "plain")

    def __init__(self, entry: KnownEntry, below: EntryStack | None = None) -> None:
        self.entry = entry
        self.below: EntryStack = self if below is None else below
        self.depth: int = 0 if below is None else below.depth + 1
        self.plain: EntryStack | None = None
        """The stack with no more than the kinds of the entries, once it is made."""

    @property
    def kind(self) -> str:
        return self.entry.kind


EMPTY = EntryStack(KnownEntry(NOTHING))
UNKNOWN = EntryStack(KnownEntry(NOTHING))  # stays what it is, whatever an operation does to it


class StackInterner:
    """Makes stacks, each once."""

    def __init__(self) -> None:
        self.push: Callable[[EntryStack, KnownEntry], EntryStack] = cache(lambda stack, entry: EntryStack(entry, stack))
        """Returns a stack with an entry more."""

    def plain(self, stack: EntryStack) -> EntryStack:
        """Return a stack with no more than the kinds of the entries."""
        rest = []
        while stack.depth and stack.plain is None:
            rest.append(stack)
            stack = stack.below
        made = stack.plain or stack
        for node in reversed(rest):
            made = node.plain = self.push(made, KnownEntry(node.kind))
        return made


# --- Effects ------------------------------------------------------------------------------------------------------


class Shape:
    """The effect of an operation on the stack, parsed once from its row."""

    def __init__(self, row: Operation) -> None:
        self.row = row
        taken, _, pushed = row.effect.partition("--")
        self.inputs = [item.split(":") for item in taken.split()] if not row.is_raw else []
        self.outputs = [item.split(":") for item in pushed.split()]
        self.names = {operand.name: index for index, operand in enumerate(row.operands)}
        self.branches = any(operand.kind == "branch" for operand in row.operands)
        self.is_literal = row.is_literal
        is_pure = row.run is not None and not row.needs and len(self.outputs) == 1 and bool(self.inputs)
        self.computes = is_pure and all(kind in ("value", "integral") for _, kind in (*self.inputs, *self.outputs))
        """Whether it computes a value of values only."""
        if any(letter == "AS" for letter, _ in self.inputs):  # an address is a value, as its function sees to
            self.inputs = [[letter, "integral"] for letter, _ in self.inputs]

    def operand(self, values: tuple[Any, ...], name: str) -> Any:
        """Return the value of an operand."""
        return values[self.names[name]]

    def value(self, operands: tuple[Any, ...], entries: dict[str, KnownEntry]) -> str:
        """Return the kind of a value that the operation pushes, as far as it is known."""
        row = self.row
        if "DR" in self.names:
            index = self.names["DR"]
            if row.operands[index].kind != "uleb":  # an object, not a type
                return VALUE
            return GENERIC if operands[index] == 0 and "A" in entries else TYPED  # DWARF 5, 2.5.1.6
        if "frame" in row.needs:
            return VALUE
        if row.spec == "A.2.5.4.2 (2)" or "AS" in entries:  # a comparison, or what is read at an address
            return GENERIC
        kinds = {entry.kind for entry in entries.values()}
        return next((kind for kind in (TYPED, VALUE) if kind in kinds), GENERIC)

    def location(self, entries: dict[str, KnownEntry], target: Target | None) -> str:
        """Return the kind of a location that the operation pushes, as far as it is known."""
        row = self.row
        if row.storage:
            return _OF_STORAGE[row.storage]
        if "AS" in entries:
            default = 0 if target is None else target.default_space.number
            space = entries["AS"].number
            return LOCATION if space is None else MEMORY if space == default else ELSEWHERE
        if "L" in entries:  # moved by bytes, or by bits
            kind = entries["L"].kind
            bits = entries["B"].number if row.unit == 1 else 0
            stays = bits is not None and bits % 8 == 0
            return kind if stays or kind not in (MEMORY, CONTEXT) else LOCATION
        is_given = row.needs - {"unit"} and "R" not in self.names  # what a caller's register is in, nobody gives
        return CONTEXT if is_given else LOCATION


_SHAPES: dict[str, Shape] = {}


def shape_of(row: Operation) -> Shape:
    """Return the effect of an operation, of which there is one for each row."""
    shape = _SHAPES.get(row.name)
    if shape is None:
        shape = _SHAPES[row.name] = Shape(row)
    return shape
