"""The kinds of stack entries as far as they are known without an evaluation, and how operations change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dwarfgpu.expr.instruction import Instruction
    from dwarfgpu.expr.table import Operation
    from dwarfgpu.targets.target import Target

    Kind: TypeAlias = "str | int"
    """The kind of an entry: one of the following, or the number of a literal of the generic type."""

GENERIC = "a value of the generic type"
TYPED = "a value of a base type"
VALUE = "a value"
MEMORY = "a memory location"  # a byte address in the default space, which is a value too (A.2.5.4.4.3)
ELSEWHERE = "a memory location in another address space"
CONTEXT = "a location that the context gives"
REGISTER = "a register location"
IMPLICIT = "an implicit location"
UNDEFINED = "an undefined location"
COMPOSITE = "a composite location"
LOCATION = "a location"
INCOMPLETE = "an incomplete composite"
ANY = "an entry"
NOTHING = "nothing"

VALUES = frozenset((GENERIC, TYPED, VALUE))
NO_VALUES = frozenset((ELSEWHERE, REGISTER, IMPLICIT, UNDEFINED, COMPOSITE, NOTHING))
MAY_BE_COMPOSITE = frozenset((COMPOSITE, LOCATION, CONTEXT, ANY))
# The storage of the locations that the operations of section A.2.5.4.4.<n> push.
_STORAGES = {"2": UNDEFINED, "4": REGISTER, "5": IMPLICIT, "6": COMPOSITE}


class KindStack:
    """The kind of an entry and of all below it. Equal stacks are one object, so they are compared by identity."""

    __slots__ = ("below", "depth", "kind")

    def __init__(self, kind: Kind, below: KindStack | None = None) -> None:
        self.kind = kind
        self.below: KindStack = self if below is None else below
        self.depth: int = 0 if below is None else below.depth + 1


EMPTY = KindStack(NOTHING)
UNKNOWN = KindStack(NOTHING)  # stays what it is, whatever an operation does to it


class Shape:
    """The effect of an operation on the stack, parsed once from its row."""

    __slots__ = ("branches", "inputs", "is_literal", "names", "outputs", "row")

    def __init__(self, row: Operation) -> None:
        self.row = row
        taken, _, pushed = row.effect.partition("--")
        self.inputs = [item.split(":") for item in taken.split()] if not row.is_raw else []
        self.outputs = [item.split(":") for item in pushed.split()]
        self.names = {operand.name: index for index, operand in enumerate(row.operands)}
        self.branches = any(operand.kind == "branch" for operand in row.operands)
        numbers = len(row.fixed) + len(row.operands)
        self.is_literal = row.effect == "-- V:value" and not row.needs and numbers == 1
        if any(letter == "AS" for letter, _ in self.inputs):  # an address is a value, as its function sees to
            self.inputs = [[letter, "integral"] for letter, _ in self.inputs]

    def value(self, at: Instruction, entries: dict[str, Kind], address_size: int) -> Kind:
        """Return the kind of a value that an operation pushes, as far as it is known."""
        row = self.row
        if self.is_literal:
            return int((*row.fixed, *at.operands)[0]) & (1 << 8 * address_size) - 1
        if "DR" in self.names:
            index = self.names["DR"]
            if row.operands[index].kind != "uleb":  # an object, not a type
                return VALUE
            return GENERIC if at.operands[index] == 0 and "A" in entries else TYPED  # DWARF 5, 2.5.1.6
        if "frame" in row.needs:
            return VALUE
        if row.spec.startswith("DWARF 5, 2.5.1.5"):  # a comparison
            return GENERIC
        return next((kind for kind in (TYPED, VALUE) if kind in entries.values()), GENERIC)

    def location(self, entries: dict[str, Kind], target: Target | None) -> Kind:
        """Return the kind of a location that an operation pushes, as far as it is known."""
        row = self.row
        section = row.spec.partition(" ")[0].removeprefix("A.2.5.4.4.")
        if "BL" in entries:  # an overlay may cover all of the base, or nothing of it
            return LOCATION
        if section in _STORAGES:
            return _STORAGES[section]
        if "AS" in entries:
            default = 0 if target is None else target.default_space.number
            space = entries["AS"]
            return (MEMORY if space == default else ELSEWHERE) if isinstance(space, int) else LOCATION
        if "L" in entries:  # moved by bytes, or by bits
            bits = entries.get("B", 0) if row.spec == "A.2.5.4.4.1 (3)" else 0
            stays = isinstance(bits, int) and bits % 8 == 0
            return entries["L"] if stays or entries["L"] not in (MEMORY, CONTEXT) else LOCATION
        if row.fixed or "R" in self.names:
            return MEMORY if section == "3" else LOCATION
        if row.needs - {"unit"}:
            return CONTEXT
        return MEMORY if row.operands else LOCATION
